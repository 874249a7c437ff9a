/* The plan: a linear list of steps with kernels chosen and memory laid out. Immutable once built,
   but for the data pointers, which jf_plan_bind sets before a run. */
#ifndef JF_PLAN_H
#define JF_PLAN_H

#include "dev/dev.h"
#include "ir/ir.h"

/* ---- packing lifetimes into one block (memory.c) ---- */

/* A buffer of `size` bytes, alive from step first to step last, both included. */
typedef struct jf_life { size_t size; int first, last; size_t offset; } jf_life;
/* Sets each offset so that buffers alive together do not overlap; returns the bytes needed. Offsets
   are multiples of 64. Greedy in several orders, lowest fitting offset first; the best is kept. Of
   many buffers the orders are those of birth and of death. */
size_t jf_pack(jf_arena *a, jf_life *life, int n);
/* The largest sum of live sizes over the steps: no layout needs less. */
size_t jf_pack_bound(jf_arena *a, const jf_life *life, int n);
/* The bytes that a buffer takes: its size, up to the next multiple of 64. */
size_t jf_life_bytes(const jf_life *l);
/* Packs in the order of birth, or backward in that of death (sweep.c). */
size_t jf_sweep(jf_arena *a, jf_life *life, int n, int backward);

/* ---- how much work a step is (work.c) ---- */

/* Bytes of a call's operands. */
double jf_call_bytes(const jf_kargs *k);
/* Those plus its arithmetic: a rough measure of how long it takes. */
double jf_work(const jfl_op *op, const jf_kargs *k);
/* How many threads, up to `most`, make a call quicker than fewer do. */
int jf_worth_threads(const jfl_op *op, const jf_kargs *k, int most);

/* ---- choosing kernels (choose.c) ---- */

/* The best row of dev for a call of op, prepared: k->state and *scratch are set, and k->threads is
   lowered to what the call is worth. row is NULL where the op's plain kernel serves. */
typedef struct jf_choice { jf_kernel run; const jf_kernel_row *row; } jf_choice;
/* Flags: plain kernels only, where a device has them; no result in the memory of an input; no row
   that is indirect. */
enum { JF_REFERENCE = 1, JF_SEPARATE = 2, JF_DIRECT = 4 };
jfl_status jf_choose(const jf_device *dev, const jfl_op *op, int flags, jf_kargs *k,
                     size_t *scratch, jf_choice *out);

/* The dtype that chooses the kernel. */
jfl_dtype jf_choose_key(const jfl_op *op, const jf_kargs *k);

/* ---- plans (plan.c) ---- */

typedef enum jf_memory {
  JF_AT_NONE, JF_AT_ARENA, JF_AT_INPUT, JF_AT_OUTPUT, JF_AT_VARIABLE,
  JF_AT_CONSTANT               /* an array that the graph keeps, on the host */
} jf_memory;

/* Where a value's memory is. Inputs and outputs are the host's arrays. */
typedef struct jf_where {
  jf_memory memory;
  int place;                   /* on which device, by place */
  int index;                   /* input, output or variable number; lifetime number in the arena */
  const void *data;            /* of a constant */
  size_t offset, size;
} jf_where;

typedef struct jf_step {
  const jf_node *node;
  jf_choice kernel;            /* nothing for a transfer, which devices make */
  jf_kargs k;
  jf_where *in, *out;          /* of k.in and k.out */
  int scratch_life; size_t scratch_offset;     /* lifetime -1: none */
  int random; uint64_t stream;                 /* random: draws bits; stream: of job and node */
  int place;                   /* the device on whose stream it is done */
  int event;                   /* that it records once it is done, or -1 */
  int *await; int n_await;     /* steps of other streams whose events it waits for first */
} jf_step;

/* A data pointer that changes with each run: step argument -> input or output number. */
typedef struct jf_patch { void **data; int index; } jf_patch;

/* What a plan is on one device. */
typedef struct jf_plan_part {
  jf_device *device;
  int n_step;
  size_t arena_size, arena_bound;
  void *arena;                 /* the run layer's */
} jf_plan_part;

struct jfl_plan {
  jfl_graph *graph;            /* in whose arena it lies */
  jfl_job *job;                /* the run layer's; NULL in planner tests */
  jf_plan_part *part; int n_part;   /* by place */
  jf_step *step; int n_step;
  const jfl_value **variable; int n_variable;
  void **data;                 /* of the variables; the run layer's */
  jf_patch *input, *output; int n_input_patch, n_output_patch;
  size_t arena_size, arena_bound;              /* of all devices */
  size_t constant_size;                        /* of the arrays that the graph keeps */
  double work;                 /* of all steps */
  int threads;                 /* the most that a step takes */
  int flags;
  int is_late;                 /* some device works behind the caller's back */
  /* The steps from work_first to before work_end are the work of one device, the same in every run:
     launches that draw no random bits. -1: there is no such part that is worth it. */
  int work_first, work_end;
  void *captured; int is_warm; /* the run layer's: that work, kept by the device, or NULL; it ran */
  int n_event; void **event;   /* the run layer's, one for each step that records one */
  /* The first step that changes a variable, where several devices work: what they found wrong until
     then is to be known before it; else -1. */
  int barrier;
  uint64_t bound;              /* the run layer's: of which arenas its pointers are */
};

/* What a plan is made for: devices by place, flags of jf_choose, and the most threads. */
typedef struct jf_plan_options {
  jf_device *const *device; int n_device;
  int flags, threads;
} jf_plan_options;
/* Makes a plan in g's arena. *out is set first, so that a caller can release what was prepared when
   this fails or the arena unwinds. */
jfl_status jf_plan_new(jfl_graph *g, const jf_plan_options *o, jfl_plan **out);
/* Releases kernel states; the memory goes with the graph. */
void jf_plan_release(jfl_plan *p);
/* The name of a step's kernel row; "plain" where the op's own kernel serves. */
const char *jf_step_kernel(const jf_step *st);
void jf_plan_print(const jfl_plan *p, jf_text *t);
/* Points temporaries into the arenas of the parts, and variables at their data. */
void jf_plan_bind(jfl_plan *p, void *const *variable);

#endif
