/* Running a kernel: block after block, and the threads of a block as fibres that go on in turns.
   A thread runs until it has to wait for others. Blocks whose threads never wait are plain
   loops. */
#include "emulated.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STACK = 64 * 1024, MOST_THREADS = 1024, LANES = 32 };

typedef enum fibre_state { FIBRE_RUNS, FIBRE_AT_BARRIER, FIBRE_IN_WARP, FIBRE_ENDED } fibre_state;

typedef struct fibre {
  void *stack, *at;                /* at: its saved stack pointer */
  fibre_state state;
  emulated_index index;
  int number;
  unsigned mask;                   /* in a warp's exchange: the lanes that take part */
  uint64_t value, got[LANES];      /* what it puts there, and what all have put */
} fibre;

static fibre fibres[MOST_THREADS];
static int n_fibre, current;
static void *scheduler;            /* the saved stack pointer of the loop over fibres */
static emulated_world world;
static const emulated_launch *launch;
static int backwards;              /* in which order fibres go on; it changes at each barrier */

/* One kernel runs at a time, which is all that the CPU could do anyway. */
static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;

/* Saves the registers that a call must preserve, then goes on at the other stack pointer. */
#ifdef __x86_64__
void emulated_switch(void **from, void *to);
__asm__(".text\n.globl emulated_switch\n.hidden emulated_switch\n.type emulated_switch,@function\n"
        "emulated_switch:\n"
        "  endbr64\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
        "  ret\n.size emulated_switch, .-emulated_switch\n");
#else
#error "the emulated GPU switches fibres on x86-64 alone"
#endif

static void fibre_main(void)
{
  launch->function->call((void **)launch->parameter);
  fibres[current].state = FIBRE_ENDED;
  emulated_switch(&fibres[current].at, scheduler);
  abort();
}

static void fibre_start(fibre *f)
{
  if (!f->stack) {
    f->stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (f->stack == MAP_FAILED) abort();
  }
  void **top = (void **)((char *)f->stack + STACK) - 2;
  *top = (void *)fibre_main;       /* where the first switch returns to, with an aligned stack */
  f->at = top - 6;
  f->state = FIBRE_RUNS;
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
  fibre_leave(FIBRE_IN_WARP);
  return f->got[from & (LANES - 1)];
}

static unsigned fibre_ballot(unsigned mask, int value)
{
  fibre *f = &fibres[current];
  unsigned set = 0;
  f->mask = mask;
  f->value = value != 0;
  fibre_leave(FIBRE_IN_WARP);
  for (int i = 0; i < LANES; i++)
    if (mask >> i & 1 && f->got[i]) set |= 1u << i;
  return set;
}

/* ---- who may go on ---- */

/* Lets the lanes of a warp go on whose partners are all there. */
static int fibre_settle_warp(int first)
{
  const int n = n_fibre - first < LANES ? n_fibre - first : LANES;
  int any = 0;
  for (int i = 0; i < n; i++) {
    const fibre *f = &fibres[first + i];
    unsigned there = 0, wanted = 0;
    if (f->state != FIBRE_IN_WARP) continue;
    for (int j = 0; j < n; j++) {
      const fibre *o = &fibres[first + j];
      if (o->state != FIBRE_ENDED) wanted |= 1u << j;
      if (o->state == FIBRE_IN_WARP && o->mask == f->mask) there |= 1u << j;
    }
    wanted &= f->mask;
    if ((there & wanted) != wanted) continue;
    any = 1;
    uint64_t put[LANES] = { 0 };
    for (int j = 0; j < n; j++)
      if (there >> j & 1) put[j] = fibres[first + j].value;
    for (int j = 0; j < n; j++) {
      if (!(there >> j & 1)) continue;
      memcpy(fibres[first + j].got, put, sizeof put);
      fibres[first + j].state = FIBRE_RUNS;
    }
  }
  return any;
}

/* Lets waiting fibres go on; 0 if none can. */
static int fibre_settle(void)
{
  int any = 0, waiting = 0, ended = 0;
  for (int i = 0; i < n_fibre; i += LANES) any |= fibre_settle_warp(i);
  for (int i = 0; i < n_fibre; i++) {
    waiting += fibres[i].state == FIBRE_AT_BARRIER;
    ended += fibres[i].state == FIBRE_ENDED;
  }
  if (waiting && waiting + ended == n_fibre) {
    for (int i = 0; i < n_fibre; i++)
      if (fibres[i].state == FIBRE_AT_BARRIER) fibres[i].state = FIBRE_RUNS;
    backwards = !backwards;
    any = 1;
  }
  return any;
}

static void fibre_go_on(int i)
{
  if (fibres[i].state != FIBRE_RUNS) return;
  current = i;
  world.thread = fibres[i].index;
  emulated_switch(&scheduler, fibres[i].at);
}

static int fibre_all_ended(void)
{
  for (int i = 0; i < n_fibre; i++)
    if (fibres[i].state != FIBRE_ENDED) return 0;
  return 1;
}

/* ---- blocks ---- */

static emulated_index fibre_index(int i, emulated_index size)
{
  const unsigned u = (unsigned)i;
  return (emulated_index){ u % size.x, u / size.x % size.y, u / size.x / size.y };
}

static int fibre_run_meeting_block(void)
{
  for (int i = 0; i < n_fibre; i++) {
    fibres[i].number = i;
    fibres[i].index = fibre_index(i, launch->block);
    fibre_start(&fibres[i]);
  }
  while (!fibre_all_ended()) {
    for (int i = 0; i < n_fibre; i++) fibre_go_on(backwards ? n_fibre - 1 - i : i);
    if (!fibre_all_ended() && !fibre_settle()) {
      fprintf(stderr, "emulated GPU: %s: threads of a block wait for others that never come\n",
              launch->function->name);
      return CU_LAUNCH_FAILED;
    }
  }
  return CU_OK;
}

static int fibre_run_plain_block(void)
{
  for (int i = 0; i < n_fibre; i++) {
    world.thread = fibre_index(i, launch->block);
    launch->function->call((void **)launch->parameter);
  }
  return CU_OK;
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
  const uint64_t blocks = (uint64_t)l->grid.x * l->grid.y * l->grid.z;
  for (uint64_t b = 0; b < blocks && !error; b++) {
    memset(shared, 0xff, l->shared);           /* it holds nothing at first */
    world.block = (emulated_index){ (unsigned)(b % l->grid.x),
                                    (unsigned)(b / l->grid.x % l->grid.y),
                                    (unsigned)(b / l->grid.x / l->grid.y) };
    error = l->function->meets ? fibre_run_meeting_block() : fibre_run_plain_block();
  }
  pthread_mutex_unlock(&one);
  return error;
}
