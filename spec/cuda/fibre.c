/* Running a kernel: block after block, and the threads of a block as fibres that go on in turns. A
   thread runs until it has to wait for others. One that ends without leaves its stack to the next,
   so the threads of a block that never meet are a plain loop. */
#include "emulated.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The stacks begin at different places of their pages, so that caches hold the tops of many. */
enum { STACK = 64 * 1024, SPREAD = 192, SPREADS = 64, MOST_THREADS = 1024, LANES = 32 };

typedef enum fibre_state {
  FIBRE_NEW, FIBRE_RUNS, FIBRE_AT_BARRIER, FIBRE_IN_WARP, FIBRE_ENDED
} fibre_state;

typedef struct fibre {
  void *at;                        /* its saved stack pointer */
  fibre_state state;
  emulated_index index;
  int voted, from;                 /* in a warp's exchange: whether it votes, else whose it wants */
  unsigned mask;                   /* the lanes that take part */
  uint64_t value;                  /* what it puts there, then what it gets */
} fibre;

static fibre fibres[MOST_THREADS];
static int n_fibre, n_ended, current;
static void *stacks[MOST_THREADS];
static int n_stack;                /* how many of them have had a thread of this block */
static void *scheduler;            /* the saved stack pointer of the loop over fibres */
static emulated_world world;
static const emulated_launch *launch;
static int backwards;              /* in which order fibres go on; it changes at each barrier */

/* One kernel runs at a time, which is all that the CPU could do anyway. */
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

/* Saves the registers that a call must preserve, then goes on at the other stack pointer. It jumps
   there, as processors foresee where a return goes by the calls before it. */
#ifdef __x86_64__
void emulated_switch(void **from, void *to);
__asm__(".text\n.globl emulated_switch\n.hidden emulated_switch\n.type emulated_switch,@function\n"
        "emulated_switch:\n"
        "  endbr64\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  popq %rcx\n  notrack jmp *%rcx\n.size emulated_switch, .-emulated_switch\n");
#else
#error "the emulated GPU switches fibres on x86-64 alone"
#endif

/* The thread that comes after thread i, or -1. */
static int fibre_next(int i)
{
  const int next = backwards ? i - 1 : i + 1;
  return next < n_fibre ? next : -1;
}

static void fibre_become(int i)
{
  current = i;
  fibres[i].state = FIBRE_RUNS;
  world.thread = fibres[i].index;
}

/* Runs threads one after the other, until one has to wait, which then keeps this stack. */
static void fibre_main(void)
{
  for (;;) {
    launch->function->call((void **)launch->parameter);
    fibres[current].state = FIBRE_ENDED;
    n_ended++;
    const int next = fibre_next(current);
    if (next < 0 || fibres[next].state != FIBRE_NEW) break;
    fibre_become(next);
  }
  emulated_switch(&fibres[current].at, scheduler);
  abort();
}

static void fibre_start(int i)
{
  void **stack = &stacks[n_stack];
  if (!*stack) {
    *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (*stack == MAP_FAILED) abort();
  }
  void **top = (void **)((char *)*stack + STACK - n_stack++ % SPREADS * SPREAD) - 2;
  *top = (void *)fibre_main;       /* where the first switch returns to, with an aligned stack */
  fibre_become(i);
  emulated_switch(&scheduler, top - 6);
}

static void fibre_leave(fibre_state why)
{
  fibre *f = &fibres[current];
  f->state = why;
  emulated_switch(&f->at, scheduler);
}

static void fibre_sync(void) { fibre_leave(FIBRE_AT_BARRIER); }

static uint64_t fibre_shuffle(unsigned mask, uint64_t value, int from)
{
  fibre *f = &fibres[current];
  f->mask = mask;
  f->value = value;
  f->voted = 0;
  f->from = from & (LANES - 1);
  fibre_leave(FIBRE_IN_WARP);
  return f->value;
}

static unsigned fibre_ballot(unsigned mask, int value)
{
  fibre *f = &fibres[current];
  f->mask = mask;
  f->value = value != 0;
  f->voted = 1;
  fibre_leave(FIBRE_IN_WARP);
  return (unsigned)f->value;
}

/* ---- who may go on ---- */

/* Gives the lanes `there` of a warp, all of whose partners are there, what they want. */
static void fibre_exchange(fibre *warp, unsigned there)
{
  uint64_t put[LANES] = { 0 };
  unsigned votes = 0;
  for (int j = 0; j < LANES; j++) {
    if (!(there >> j & 1)) continue;
    put[j] = warp[j].value;
    votes |= (unsigned)(warp[j].voted && put[j]) << j;
  }
  for (int j = 0; j < LANES; j++) {
    if (!(there >> j & 1)) continue;
    warp[j].value = warp[j].voted ? votes : put[warp[j].from];
    warp[j].state = FIBRE_RUNS;
  }
}

/* Lets the lanes of a warp go on whose partners are all there. */
static int fibre_settle_warp(int first)
{
  const int n = n_fibre - first < LANES ? n_fibre - first : LANES;
  fibre *warp = &fibres[first];
  unsigned alive = 0, waiting = 0;
  int any = 0;
  for (int i = 0; i < n; i++) {
    alive |= (unsigned)(warp[i].state != FIBRE_ENDED) << i;
    waiting |= (unsigned)(warp[i].state == FIBRE_IN_WARP) << i;
  }
  while (waiting) {
    const unsigned mask = warp[__builtin_ctz(waiting)].mask;
    unsigned there = 0;
    for (int j = 0; j < n; j++)
      there |= (unsigned)(waiting >> j & 1 && warp[j].mask == mask) << j;
    waiting &= ~there;
    if ((alive & mask) & ~there) continue;
    fibre_exchange(warp, there);
    any = 1;
  }
  return any;
}

static void fibre_go_on(int i)
{
  if (fibres[i].state == FIBRE_NEW) {
    fibre_start(i);
  } else if (fibres[i].state == FIBRE_RUNS) {
    fibre_become(i);
    emulated_switch(&scheduler, fibres[i].at);
  }
}

/* Lets the threads of a warp go on until each has ended or waits for other warps. */
static void fibre_run_warp(int first)
{
  const int last = first + LANES < n_fibre ? first + LANES - 1 : n_fibre - 1;
  do {
    for (int i = backwards ? last : first; i >= first && i <= last; i += backwards ? -1 : 1)
      fibre_go_on(i);
  } while (fibre_settle_warp(first));
}

/* Lets the threads go on that wait for a whole block, if all are there. */
static int fibre_pass_barrier(void)
{
  int waiting = 0;
  for (int i = 0; i < n_fibre; i++) waiting += fibres[i].state == FIBRE_AT_BARRIER;
  if (!waiting || waiting + n_ended < n_fibre) return 0;
  for (int i = 0; i < n_fibre; i++)
    if (fibres[i].state == FIBRE_AT_BARRIER) fibres[i].state = FIBRE_RUNS;
  backwards = !backwards;
  return 1;
}

/* ---- blocks ---- */

static emulated_index fibre_index(int i, emulated_index size)
{
  const unsigned u = (unsigned)i;
  return (emulated_index){ u % size.x, u / size.x % size.y, u / size.x / size.y };
}

static int fibre_run_block(void)
{
  const int last = (n_fibre - 1) / LANES * LANES;
  for (int i = 0; i < n_fibre; i++) fibres[i].state = FIBRE_NEW;
  n_stack = n_ended = 0;
  do {
    for (int i = 0; i <= last; i += LANES) fibre_run_warp(backwards ? last - i : i);
  } while (fibre_pass_barrier());
  if (n_ended == n_fibre) return CU_OK;
  fprintf(stderr, "emulated GPU: %s: threads of a block wait for others that never come\n",
          launch->function->name);
  return CU_LAUNCH_FAILED;
}

int emulated_run(const emulated_launch *l)
{
  static char shared[MOST_SHARED] __attribute__((aligned(1024)));
  int error = CU_OK;
  pthread_mutex_lock(&one);
  launch = l;
  world = (emulated_world){ .block_size = l->block, .grid = l->grid, .sync = fibre_sync,
                            .shuffle = fibre_shuffle, .ballot = fibre_ballot, .shared = shared };
  *l->function->world = &world;
  n_fibre = (int)(l->block.x * l->block.y * l->block.z);
  for (int i = 0; i < n_fibre; i++) fibres[i].index = fibre_index(i, l->block);
  const uint64_t blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
  for (uint64_t b = 0; b < blocks && !error; b++) {
    memset(shared, 0xff, l->shared);           /* it holds nothing at first */
    world.block = (emulated_index){ (unsigned)(b % l->grid.x),
                                    (unsigned)(b / l->grid.x % l->grid.y),
                                    (unsigned)(b / l->grid.x / l->grid.y) };
    error = fibre_run_block();
  }
  pthread_mutex_unlock(&one);
  return error;
}
