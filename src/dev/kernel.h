/* The kernel ABI: all that a kernel on any device may know. C++-clean; no graph types. */
#ifndef JF_KERNEL_H
#define JF_KERNEL_H

#include "base/base.h"

typedef struct jf_tensor { void *data; jfl_dtype dtype; jfl_shape shape; } jf_tensor;

/* Random bits of a run: Philox with key `key`, high counter `run`; elements count the low one. */
typedef struct jf_random_source { uint64_t key, run; } jf_random_source;

/* What a run found wrong in its data. A device whose kernels end after they returned keeps one such
   record in its memory, which is zeroed before the first step of a run and read with the results.
   A kernel that finds something wrong fills it in, `what` last, unless an earlier step has; of
   several positions it reports the lowest. Once `what` is set, no kernel changes a variable. */
typedef enum jf_wrong {
  JF_NOTHING_WRONG, JF_WRONG_LABEL, JF_WRONG_INDEX, JF_WRONG_SEGMENT
} jf_wrong;
typedef struct jf_fault {
  int32_t what;            /* a jf_wrong */
  int32_t step;            /* of the plan */
  int64_t value, at;       /* the element that is wrong, and its position in the tensor */
  int64_t limit;           /* it should be from 0 to below this */
} jf_fault;
/* Fails with the message that a fault stands for. */
jfl_status jf_fault_fail(const jf_fault *f);

typedef struct jf_kargs {
  jf_tensor *in, *out;
  int n_in, n_out;
  const void *attr;        /* the op's attribute struct, checked and completed by infer */
  void *state;             /* what prepare made, or NULL */
  void *scratch;           /* the bytes prepare asked for, 64-byte aligned */
  jf_random_source random; /* for ops with JF_RANDOM */
  int threads;             /* how many threads to use at most */
  void *stream;            /* to queue work on; NULL where kernels answer when they return */
  jf_fault *fault;         /* in the device's memory; NULL where kernels answer when they return */
  int step;                /* the number of the call, for jf_fault */
} jf_kargs;

/* Attribute types that are not plain C ones. Lists are of any length; a node's are its own. */
typedef struct jf_ints { int n; int64_t *v; } jf_ints;
typedef struct jf_nums { int n; const double *v; } jf_nums;
/* A list of integers, which lives as long as the block it is written in; what an if or else rules
   without braces is such a block. */
#define JF_INTS(...)                                          \
  ((jf_ints){ sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ } })
/* A padding: a word ("SAME", "VALID", ...) or a flat list of before, after per axis. */
typedef struct jf_pad { const char *word; jf_ints list; } jf_pad;

typedef jfl_status (*jf_kernel)(const jf_kargs *k);

/* One elementwise loop over n elements; step[i] is 1, or 0 for an input that is one scalar. Outputs
   may be inputs, element for element. */
typedef struct jf_loop_args {
  int64_t n;
  const void *in[3];
  int step[3];
  void *out;
  const void *attr;
  void *second;            /* the second output of ops that have one */
  int64_t at;              /* the tensor's element that is the first here, */
  jf_random_source random; /* and its random bits; for ops with JF_RANDOM */
} jf_loop_args;
typedef void (*jf_loop)(const jf_loop_args *t);

/* A kernel of a device. The plan takes the accepting row of the highest priority.
   accepts and prepare see shapes, dtypes and attr; data is NULL. */
typedef struct jf_kernel_row {
  const char *name;        /* of the row, as plans print it: "dnnl_matmul" */
  const char *op;
  int (*accepts)(const jf_kargs *k);                      /* NULL: always */
  /* Sets k->state and *scratch (bytes); NULL: nothing to prepare. JFL_ENOSYS says that the row
     cannot serve this call, so the plan takes the next; another failure ends the compilation. */
  jfl_status (*prepare)(jf_kargs *k, size_t *scratch);
  jf_kernel run;
  void (*release)(void *state);
  int priority;
  int indirect;            /* computes by transforms, farther from exact sums than direct ones */
} jf_kernel_row;

/* What the pass fuse may put into one program for a kind of device. */
struct jf_fused;
enum { JF_FUSED_OUTS = 4 };              /* the most results that a program has */
typedef struct jf_fused_limits {
  int slots, instrs, outputs;  /* the most of each */
  int64_t row;                 /* the longest row whose sum later instructions may read */
  int64_t sums;                /* the most sums that one instruction may gather */
  /* Whether a program that keeps to these can run; NULL: yes. */
  int (*fits)(const struct jf_fused *f);
} jf_fused_limits;

#endif
