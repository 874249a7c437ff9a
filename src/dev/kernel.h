/* The kernel ABI: all that a kernel on any device may know. It compiles as C++ and has no graph
   types. */
#ifndef JF_KERNEL_H
#define JF_KERNEL_H

#include "base/base.h"

/* How a tensor lies in memory: as its shape says; or as the row that reads it wants it, in `size`
   bytes that the row's `pack` has written; `form` is a hash of how, which differs where calls of
   this `pack` would write something else, or 0: this call's bytes are for no other. JF_LAYOUT_ANY,
   while a row is chosen: the input stays the same for many runs, so that the row may have it packed
   (jf_kernel_row.prepare). */
typedef enum jf_layout_kind { JF_LAYOUT_PLAIN, JF_LAYOUT_ANY, JF_LAYOUT_PACKED } jf_layout_kind;
typedef struct jf_tensor {
  void *data; jfl_dtype dtype; jfl_shape shape;
  struct { jf_layout_kind kind; size_t size; uint64_t form; } layout;
} jf_tensor;

/* Random bits of a run: Philox with key `key` and high counter `run`; the low counter counts
   elements. `first` is the number of the call's first element: more than 0 for a part of a tensor,
   which draws what the whole would draw there. */
typedef struct jf_random_source { uint64_t key, run; int64_t first; } jf_random_source;

/* What a run found wrong in its data. A device whose kernels end after they returned keeps one such
   record in its memory, in a jf_run_record, and it is read together with the results. A kernel that
   finds something wrong fills in the record, `what` last, unless an earlier step has done so; of
   several wrong elements it reports the one with the lowest position. Once `what` is set, no kernel
   changes a variable. */
typedef enum jf_wrong {
  JF_NOTHING_WRONG, JF_WRONG_LABEL, JF_WRONG_INDEX, JF_WRONG_SEGMENT, JF_WRONG_LENGTH
} jf_wrong;
typedef struct jf_fault {
  int32_t what;            /* a jf_wrong */
  int32_t step;            /* number of the step in the plan */
  int64_t value, at;       /* the wrong element, and its position in the tensor */
  int64_t limit;           /* the element must be at least 0 and below this */
} jf_fault;
/* What differs from run to run though the kernels' arguments do not: written before the first step
   of a run, to memory of a device whose kernels end after they returned. */
typedef struct jf_run_record {
  jf_fault fault;          /* zeroed */
  uint64_t number;         /* the run's, which jf_random_source has as `run` */
} jf_run_record;
/* Fails with the message for that fault. */
jfl_status jf_fault_fail(const jf_fault *f);

typedef struct jf_kargs {
  jf_tensor *in, *out;
  int n_in, n_out;
  const void *attr;        /* the op's attribute struct, checked and completed by infer */
  void *state;             /* set by prepare, or NULL; several threads may run with it at once */
  void *scratch;           /* as many bytes as prepare asked for, aligned to 64 bytes, */
  size_t scratch_size;     /* which it says here; 0 before */
  void *waits;             /* what prepare has left for the kind's `ready`, freed by jf_free; or
                              NULL: the call can run */
  jf_random_source random; /* for ops with JF_RANDOM */
  int threads;             /* how many threads to use at most */
  int tf32;                /* products of float32 may read 10 bits of each mantissa (TF32) */
  void *stream;            /* stream to queue work on; NULL if kernels are done when they return */
  /* The first field of a jf_run_record, in the device's memory; NULL if kernels are done when they
     return. */
  jf_fault *fault;
  int step;                /* number of the call's step, for jf_fault */
  const struct jfl_op *op; /* these two are set when a kernel is chosen */
  struct jf_device *device;
} jf_kargs;

/* Attribute types other than plain C types. Lists have any length; a node owns its lists. */
typedef struct jf_ints { int n; int64_t *v; } jf_ints;
typedef struct jf_nums { int n; const double *v; } jf_nums;
/* Makes a list of integers that lives as long as the enclosing block. The branch of an if or else
   without braces is a block of its own. */
#define JF_INTS(...)                                          \
  ((jf_ints){ sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ } })
/* A padding: a word ("SAME", "VALID", ...) or a list of numbers before and after each axis. */
typedef struct jf_pad { const char *word; jf_ints list; } jf_pad;
/* Of an op that computes in float32: the inputs and the results that are bfloat16 all the same (bit
   i: number i), as mixed precision says. */
typedef struct jf_halves { int reads, writes; } jf_halves;

typedef jfl_status (*jf_kernel)(const jf_kargs *k);
/* Runs it on the calling thread, where floats are computed as usual meanwhile. */
jfl_status jf_kernel_run(jf_kernel run, const jf_kargs *k);

/* One elementwise loop over n elements. step[i] is 1, or 0 for an input that is one number. An
   output may be an input, element for element. */
typedef struct jf_loop_args {
  int64_t n;
  const void *in[3];
  int step[3];
  void *out;
  const void *attr;
  void *second;            /* the second output of ops that have one */
  int64_t at;              /* which element of the tensor in[0][0] is, */
  jf_random_source random; /* and its random bits; both for ops with JF_RANDOM */
} jf_loop_args;
typedef void (*jf_loop)(const jf_loop_args *t);

/* Priorities of rows, a ladder of which the highest that accepts a call wins. */
enum {
  JF_LAST = -20,           /* serves ops of many kinds, at no great speed */
  JF_BY_RECORD = -10,      /* serves all ops whose records say what it asks for */
  JF_OWN = 0,              /* a kernel of jfl's: that of a row which states no priority */
  JF_OWN_FIRST = 10,       /* one that comes before another of jfl's, or before OpenBLAS */
  JF_LIBRARY = 20,
  JF_SHAPED = 30,          /* for calls at which it is faster than libraries */
  JF_IN_TWO = -5           /* added to a rung: does in two steps what others there do in one */
};

/* A row: a kernel of a device. Of the rows that accept a call the plan takes the one of the highest
   priority. accepts and prepare see shapes, dtypes and attr; data is NULL. */
typedef struct jf_kernel_row {
  const char *name;        /* name that plans print: "dnnl_matmul" */
  const char *op;          /* names of the ops that it serves; NULL: any; accepts decides */
  int (*accepts)(const jf_kargs *k);                      /* NULL: always */
  /* Sets k->state, k->scratch_size and k->waits; NULL: nothing to prepare. If it returns
     JFL_ENOSYS, the row cannot serve this call and the plan tries the next one; any other failure
     ends compilation. Of one input that may have any layout it may say that it is to be packed,
     in how many bytes, and in which form. */
  jfl_status (*prepare)(jf_kargs *k);
  jf_kernel run;
  /* Packs input 0, the plain tensor, into output 0 for the call whose state and attributes it has,
     which are not changed; it has no scratch. NULL: the row packs nothing. */
  jf_kernel pack;
  /* `run` reads the plain tensor, too, slower and to the same results: a variable is packed while
     runs go on, so that the first one does not wait for it. */
  int runs_plain;
  void (*release)(void *state);
  int priority;            /* JF_OWN and so on */
  int indirect;            /* uses transforms, so results are farther from exact than direct sums */
} jf_kernel_row;
/* Whether a row does in two steps what others on its rung, a multiple of 10, do in one. */
static inline int jf_is_in_two(const jf_kernel_row *r) { return r->priority % 10 != 0; }

/* The limits of programs that the pass fuse may make for a kind of device. */
struct jf_fused;
enum { JF_FUSED_OUTS = 6 };              /* the most results that a program has */
typedef struct jf_fused_limits {
  int slots, instrs, outputs;  /* the largest number of each */
  int64_t row;                 /* the longest row whose sum later instructions may read */
  int64_t sums;                /* the largest number of sums that one instruction may gather */
  int expands;                 /* whether an op that has `expand` becomes instructions */
  /* Whether a program within these limits can run; NULL: every one can. */
  int (*fits)(const struct jf_fused *f);
} jf_fused_limits;

#endif
