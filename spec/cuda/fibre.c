/* Running a kernel: block after block, and the threads of a block as fibres that go on in turns. A
   thread runs until it has to wait for others. One that ends without leaves its stack to the next,
   so the threads of a block that never meet are a plain loop.
   Blocks, and threads from each barrier to the next, come in an order that looks random, so that a
   kernel which needs another barrier goes wrong; JFL_EMULATED_SEED=2 gives other orders. Behind an
   atomic other threads go on first. */
#include "emulated.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The stacks begin at different places of their pages, so that caches hold the tops of many. */
enum { STACK = 64 * 1024, SPREAD = 192, SPREADS = 64, MOST_THREADS = 1024, LANES = 32,
       ORDER = 0x2545f491 };

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
  int line;                        /* of the barrier where it waits */
  unsigned meeting;                /* the last exchange of its warp in which it took part */
} fibre;

static fibre fibres[MOST_THREADS];
static int n_fibre, n_ended, current;
static void *stacks[MOST_THREADS];
static int n_stack;                /* how many of them have had a thread of this block */
static void *scheduler;            /* the saved stack pointer of the loop over fibres */
static emulated_world world;
static const emulated_launch *launch;
static unsigned seed = 1, bits;    /* bits: from which the next order is made */
static int failed;                 /* the launch's first error */
static int yielded;                /* whether a thread has let others go on first */
static unsigned epoch, meetings;   /* barriers that have been passed; exchanges of warps */
static int mix, n_turn;            /* thread t ^ mix is the one at turn t, if there is such */

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

/* Draws an order of n things, a power of 2: at turn t comes number t ^ what it gives. Where there
   are enough, neither the first nor the last of them comes first. */
static unsigned fibre_draw(unsigned n)
{
  bits = bits * 1664525u + 1013904223u;
  return n < 4 ? (bits >> 8) % n : 1 + (bits >> 8) % (n - 2);
}

/* Draws the order of warps and that of the threads of a warp. */
static void fibre_mix(void)
{
  unsigned warps = 1;
  while (warps * LANES < (unsigned)n_fibre) warps *= 2;
  n_turn = (int)(warps * LANES);
  mix = (int)(fibre_draw(warps) * LANES + fibre_draw(LANES));
}

/* The thread that comes after thread i, or -1. */
static int fibre_next(int i)
{
  int turn = (i ^ mix) + 1;
  while (turn < n_turn && (turn ^ mix) >= n_fibre) turn++;
  return turn < n_turn ? turn ^ mix : -1;
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

void emulated_blame(int error, const char *format, ...)
{
  va_list arguments;
  if (failed) return;
  failed = error;
  va_start(arguments, format);
  fprintf(stderr, "emulated GPU: %s: ", launch->function->name);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

static int fibre_sync(int line, int put)
{
  fibre *f = &fibres[current];
  f->line = line;
  f->value = (uint64_t)put;
  fibre_leave(FIBRE_AT_BARRIER);
  return (int)f->value;
}

static void fibre_yield(void)
{
  yielded = 1;
  fibre_leave(FIBRE_RUNS);
}

static void fibre_end(void)
{
  n_ended++;
  fibre_leave(FIBRE_ENDED);
}

static void fibre_trap(int error, int line)
{
  emulated_blame(error, "an address in line %d is not aligned as its type is", line);
  fibre_end();
}

static void fibre_touch(const void *at, int size, int how)
{
  const emulated_piece piece[] = { { launch->function->shared, launch->function->shared_size },
                                   { world.shared, launch->shared } };
  emulated_race_touch(piece, (emulated_place){ epoch, fibres[current].meeting, current }, at, size,
                      how);
}

/* Begins an exchange of the calling thread's warp. */
static fibre *fibre_offer(unsigned mask)
{
  fibre *f = &fibres[current];
  f->mask = mask;
  if (mask >> current % LANES & 1) return f;
  emulated_blame(CU_LAUNCH_FAILED, "lane %d calls with mask %#x", current % LANES, mask);
  fibre_end();
  return f;
}

static uint64_t fibre_shuffle(unsigned mask, uint64_t value, int from)
{
  fibre *f = fibre_offer(mask);
  f->value = value;
  f->voted = 0;
  f->from = from & (LANES - 1);
  fibre_leave(FIBRE_IN_WARP);
  return f->value;
}

static unsigned fibre_ballot(unsigned mask, int value)
{
  fibre *f = fibre_offer(mask);
  f->value = value != 0;
  f->voted = 1;
  fibre_leave(FIBRE_IN_WARP);
  return (unsigned)f->value;
}

/* ---- who may go on ---- */

/* Gives the lanes `there` of a warp, all of whose partners are there, what they want. From a lane
   that is not there comes no number. */
static void fibre_exchange(fibre *warp, unsigned there)
{
  uint64_t put[LANES];
  unsigned votes = 0;
  memset(put, 0xff, sizeof put);
  meetings++;
  for (int j = 0; j < LANES; j++) {
    if (!(there >> j & 1)) continue;
    put[j] = warp[j].value;
    votes |= (unsigned)(warp[j].voted && put[j]) << j;
  }
  for (int j = 0; j < LANES; j++) {
    if (!(there >> j & 1)) continue;
    warp[j].value = warp[j].voted ? votes : put[warp[j].from];
    warp[j].state = FIBRE_RUNS;
    warp[j].meeting = meetings;
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
  do {
    for (int turn = 0; turn < LANES; turn++) {
      const int i = first + (turn ^ (mix % LANES));
      if (i < n_fibre) fibre_go_on(i);
    }
  } while (fibre_settle_warp(first));
}

/* Lets the threads go on that wait for a whole block, if all are there, at one barrier. */
static int fibre_pass_barrier(void)
{
  int waiting = 0, line = 0, put = 0;
  for (int i = 0; i < n_fibre; i++) {
    if (fibres[i].state != FIBRE_AT_BARRIER) continue;
    if (waiting++ && fibres[i].line != line)
      emulated_blame(CU_LAUNCH_FAILED, "threads of a block wait at the barriers of lines %d and %d",
                     line, fibres[i].line);
    line = fibres[i].line;
    put |= fibres[i].value != 0;
  }
  if (failed || !waiting || waiting + n_ended < n_fibre) return 0;
  for (int i = 0; i < n_fibre; i++) {
    if (fibres[i].state != FIBRE_AT_BARRIER) continue;
    fibres[i].state = FIBRE_RUNS;
    fibres[i].value = (uint64_t)put;
  }
  epoch++;
  fibre_mix();
  return 1;
}

/* ---- blocks ---- */

__attribute__((constructor)) static void fibre_read_settings(void)
{
  const char *given = getenv("JFL_EMULATED_SEED");
  if (given) seed = (unsigned)atoi(given);
}

static emulated_index fibre_index(int i, emulated_index size)
{
  const unsigned u = (unsigned)i;
  return (emulated_index){ u % size.x, u / size.x % size.y, u / size.x / size.y };
}

/* All threads of a block. */
static int fibre_run_threads(void)
{
  for (int i = 0; i < n_fibre; i++) {
    fibres[i].state = FIBRE_NEW;
    fibres[i].meeting = meetings;
  }
  n_stack = n_ended = 0;
  epoch++;
  fibre_mix();
  do {
    yielded = 0;
    for (int turn = 0; turn < n_turn; turn += LANES) {
      const int first = turn ^ (mix / LANES * LANES);
      if (first < n_fibre) fibre_run_warp(first);
    }
  } while (yielded || fibre_pass_barrier());
  if (n_ended < n_fibre)
    emulated_blame(CU_LAUNCH_FAILED, "threads of a block wait for others that never come");
  return failed;
}

/* Block number b. Shared memory holds nothing at first. */
static int fibre_run_block(uint64_t b)
{
  const emulated_index n = launch->grid;
  memset(world.shared, 0xff, launch->shared);
  memset(launch->function->shared, 0xff, launch->function->shared_size);
  *launch->function->world = &world;           /* it is among these bytes */
  world.block = (emulated_index){ (unsigned)(b % n.x), (unsigned)(b / n.x % n.y),
                                  (unsigned)(b / n.x / n.y) };
  bits = seed + (unsigned)b * 2654435761u;
  return fibre_run_threads();
}

/* All blocks. An odd factor and the bits that are drawn make an order in which now the first of two
   neighbours comes first, now the second. */
static int fibre_run_blocks(void)
{
  const uint64_t blocks = (uint64_t)launch->grid.x * launch->grid.y * launch->grid.z;
  uint64_t turns = 1;
  while (turns < blocks) turns *= 2;
  bits = seed;
  const uint64_t by = fibre_draw((unsigned)turns);
  int error = CU_OK;
  for (uint64_t turn = 0; turn < turns && !error; turn++) {
    const uint64_t b = (turn * ORDER ^ by) & (turns - 1);
    if (b < blocks) error = fibre_run_block(b);
  }
  return error;
}

int emulated_run(const emulated_launch *l)
{
  static char shared[MOST_SHARED] __attribute__((aligned(1024)));
  pthread_mutex_lock(&one);
  launch = l;
  failed = 0;
  world = (emulated_world){ .block_size = l->block, .grid = l->grid, .sync = fibre_sync,
                            .shuffle = fibre_shuffle, .ballot = fibre_ballot, .shared = shared,
                            .yield = fibre_yield, .trap = fibre_trap, .touch = fibre_touch };
  n_fibre = (int)(l->block.x * l->block.y * l->block.z);
  for (int i = 0; i < n_fibre; i++) fibres[i].index = fibre_index(i, l->block);
  const int error = fibre_run_blocks();
  pthread_mutex_unlock(&one);
  return error;
}
