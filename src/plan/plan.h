/* The plan: a linear list of steps with kernels chosen and memory laid out. It is immutable; what
   its runs change, an execution has (run/execution.c), of which a plan may have several. */
#ifndef JF_PLAN_H
#define JF_PLAN_H

#include "choose/choose.h"

/* ---- packing lifetimes into one block (memory.c) ---- */

/* A buffer of `size` bytes, alive from step first to step last, both included. */
typedef struct jf_life { size_t size; int first, last; size_t offset; } jf_life;
/* Sets each offset so that buffers which live at the same time do not overlap; returns the bytes
   needed. Offsets are multiples of 64. It places buffers in several orders, each at the lowest
   offset that is free, and keeps the best layout. With many buffers the orders are those of birth
   and of death. */
size_t jf_pack(jf_arena *a, jf_life *life, int n);
/* The largest sum of the sizes that live at one step: no layout can need less. */
size_t jf_pack_bound(jf_arena *a, const jf_life *life, int n);
/* The bytes that a buffer takes: its size, rounded up to a multiple of 64. */
size_t jf_life_bytes(const jf_life *l);
/* Packs buffers in the order of their birth; with `backward`, in the reverse order of their death
   (sweep.c). */
size_t jf_sweep(jf_arena *a, jf_life *life, int n, int backward);

/* Bytes before and behind what lies in an arena, in a plan of JF_ZONES. */
enum { JF_ZONE = 256 };

/* ---- plans (plan.c) ---- */

typedef enum jf_memory {
  JF_AT_NONE, JF_AT_ARENA, JF_AT_INPUT, JF_AT_OUTPUT, JF_AT_VARIABLE,
  JF_AT_CONSTANT,              /* an array that the graph keeps, on the host */
  JF_AT_STAGING,               /* in the device's part of the plan's staging buffer */
  JF_AT_DERIVED                /* a derived value, by its number */
} jf_memory;

/* Where a value's memory is. Inputs and outputs of the job are arrays on the host; in a plan with a
   staging buffer the host's part of that holds them, at the offset. */
typedef struct jf_where {
  jf_memory memory;
  int place;                   /* the device, by its place */
  int index;                   /* input, output, variable or derived number; lifetime number in the
                                  arena */
  const void *data;            /* of a constant */
  size_t offset, size;
} jf_where;

typedef struct jf_step {
  const jf_node *node;
  jf_choice kernel;            /* unset for a transfer, which devices make */
  jf_kargs k;                  /* the call but for its addresses, which each execution has */
  jf_where *in, *out;          /* where k.in and k.out are */
  /* What the node's input number `packs` became for the kernel, or NULL. */
  const jfl_value *packed; int packs;
  uint64_t form;               /* of a step that packs, of what it makes (jf_tensor) */
  const int *from;             /* in the prologue: which steps make its inputs, or -1 */
  int scratch_life; size_t scratch_offset;     /* lifetime -1: none */
  int random; uint64_t stream;                 /* random: draws bits; stream: hash of names */
  int place;                   /* the device on whose stream it runs */
  int event;                   /* number of the event that it records at its end, or -1 */
  int *await; int n_await;     /* steps of other streams for whose events it waits first */
} jf_step;

/* An operand whose address changes with each run: it is that of input or output number `index`, or
   in a plan with a staging buffer the one at `offset` in that. Operands of all steps are counted,
   in their order, the inputs of each first. */
typedef struct jf_patch { int operand, index; size_t offset, size; } jf_patch;

/* The memory through which inputs come to the only device that works, and results go from there
   (staging.c). */
typedef struct jf_plan_staging {
  int place;                   /* the device's; -1: the plan has no staging buffer */
  size_t record, end, size;    /* where the jf_run_record is; the end of what is copied back with
                                  it; bytes in all */
} jf_plan_staging;
enum { JF_STAGING_BUFFERS = 2 }; /* how many runs a device has at once, one of them waiting */
/* Decides whether a plan, of which the steps are known and only values outside of arenas are
   placed, has a staging buffer, and places what is in it. */
void jf_plan_use_staging(jfl_plan *p, const jfl_value *const *root, jf_where *where);
/* Whether the device of a plan with a staging buffer, whose steps are complete, can repeat a run as
   a whole: where steps draw random bits, their kernels must read the run's number in its record. */
int jf_staging_can_repeat(const jfl_plan *p);
/* Whether a step's copy is part of the staging buffer's. */
int jf_staging_covers(const jf_step *st);

/* What a plan has on one device. */
typedef struct jf_plan_part {
  jf_device *device;
  const char *name;            /* the device's, which outlives it */
  int n_step;
  size_t arena_size, arena_bound;
} jf_plan_part;

/* A derived value: a result of the prologue that later steps read, number `out` of its step.
   Sessions share it among plans that have it with the same identity, which is a hash of all that it
   depends on but the contents of variables; 0: nobody else has it (derived.c). */
typedef struct jf_plan_derived {
  int step, out, place;
  size_t size;
  uint64_t identity[2];
} jf_plan_derived;

typedef struct jf_execution jf_execution;
struct jf_var;

struct jfl_plan {
  jf_tag tag;
  jfl_graph *graph;            /* the graph, whose arena holds the plan */
  const jf_plan_part *part; int n_part;        /* by place */
  const jf_step *step; int n_step;
  int n_operand;               /* of all steps */
  const jfl_value *const *variable; int n_variable;
  const char *changes;         /* of each: whether a step changes it */
  const jf_patch *input, *output; int n_input_patch, n_output_patch;
  jf_plan_staging staging;
  size_t arena_size, arena_bound;              /* sums over all devices */
  size_t constant_size;        /* bytes of the arrays that the graph keeps, and derived ones */
  /* The prologue: the first n_prologue steps, which depend alone on variables that the plan does
     not change. Runs leave them out while nobody else changes one; what later steps read of their
     results is not in the arena. */
  int n_prologue;
  const jf_plan_derived *derived; int n_derived;
  int first_update;            /* the first step that changes a variable, or n_step */
  double work;                 /* sum over all steps */
  int threads;                 /* the largest number that a step takes */
  int flags;
  int is_async;                /* some device queues work instead of doing it at once */
  int repeats;                 /* its staging buffer's device can repeat a run as a whole */
  int n_event;                 /* steps that record one */
  /* If several devices or ranks work: the first step that changes a variable, else -1. Before it is
     queued, it must be known whether they found something wrong so far. */
  int barrier;
  int is_shared;               /* several ranks run it together */
  /* Set once, when the plan is given to a job (run/job.c): its variables; what runs it, with a
     staging buffer one for each run there is at once. */
  jfl_job *job;
  struct jf_var **var;
  jf_execution *execution[JF_STAGING_BUFFERS];
};

/* Makes a plan in g's arena, with what the chooser chooses. *out is set first, so that the caller
   can release what was prepared if this fails. */
jfl_status jf_plan_new(jfl_graph *g, jf_chooser *c, jfl_plan **out);
/* Releases the kernels' states; the memory is the graph's. */
void jf_plan_release(const jfl_plan *p);
/* The name of the row that runs a step; "plain" for the op's plain kernel. */
const char *jf_step_kernel(const jf_step *st);
void jf_plan_print(const jfl_plan *p, jf_text *t);
/* Lists the kernels that come before those that serve, and why they do not; what holds for several
   steps is told of the first. */
void jf_plan_print_refused(const jfl_plan *p, jf_text *t);

#endif
