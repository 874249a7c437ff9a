/* The kernel ABI: all that a kernel on any device may know. C++-clean; no graph types. */
#ifndef JF_KERNEL_H
#define JF_KERNEL_H

#include "base/base.h"

typedef struct jf_tensor { void *data; jfl_dtype dtype; jfl_shape shape; } jf_tensor;

/* Random bits of a run: Philox with key `key`, high counter `run`; elements count the low one. */
typedef struct jf_random_source { uint64_t key, run; } jf_random_source;

typedef struct jf_kargs {
  jf_tensor *in, *out;
  int n_in, n_out;
  const void *attr;        /* the op's attribute struct, checked and completed by infer */
  void *state;             /* what prepare made, or NULL */
  void *scratch;           /* the bytes prepare asked for, 64-byte aligned */
  jf_random_source random;        /* for ops with JF_RANDOM */
  int threads;             /* how many threads to use at most */
} jf_kargs;

/* Attribute types that are not plain C ones. */
typedef struct jf_ints { int n; int64_t v[2 * JFL_MAXDIM]; } jf_ints;
typedef struct jf_nums { int n; const double *v; } jf_nums;
/* A padding: a word ("SAME", "VALID", ...) or a flat list of before, after per axis. */
typedef struct jf_pad { const char *word; jf_ints list; } jf_pad;

typedef jfl_status (*jf_kernel)(const jf_kargs *k);

/* One elementwise loop over n elements; step[i] is 1, or 0 for an input that is one scalar. Outputs
   may be inputs, element for element. */
typedef struct jf_tile_args {
  int64_t n;
  const void *in[3];
  int step[3];
  void *out;
  const void *attr;
  void *second;            /* the second output of ops that have one */
  int64_t at;              /* the tensor's element that is the first here, */
  jf_random_source random;        /* and its random bits; for ops with JF_RANDOM */
} jf_tile_args;
typedef void (*jf_tile)(const jf_tile_args *t);

/* A kernel of a device. The plan takes the accepting row of the highest priority.
   accepts and prepare see shapes, dtypes and attr; data is NULL. */
typedef struct jf_kernel_row {
  const char *name;        /* of the row, as plans print it: "dnnl_matmul" */
  const char *op;
  int (*accepts)(const jf_kargs *k);                      /* NULL: always */
  /* Sets k->state and *scratch (bytes); NULL: nothing to prepare. A failure makes the plan take the
     next row, but for JFL_ENOMEM, which ends it. */
  jfl_status (*prepare)(jf_kargs *k, size_t *scratch);
  jf_kernel run;
  void (*release)(void *state);
  int priority;
  int indirect;            /* computes by transforms, farther from exact sums than direct ones */
} jf_kernel_row;

/* What the pass fuse may put into one program for a kind of device. */
struct jf_fused;
typedef struct jf_fused_limits {
  int slots, instrs, outputs;  /* the most of each */
  int64_t row;                 /* the longest row whose sum later instructions may read */
  int64_t sums;                /* the most sums that one instruction may gather */
  int (*fits)(const struct jf_fused *f);  /* whether a program that keeps to these can run; NULL: yes */
} jf_fused_limits;

/* What the processor does at best with that many threads: float32 additions and multiplications per
   second in registers, bytes per second read and written by a loop over large arrays. */
void jf_cpu_peak(int threads, double *flop, double *bytes);

/* Defines a CPU kernel row. The build collects these lines, so they start in column 0. */
#define JFL_CPU(id, ...)                   \
  extern const jf_kernel_row jf_cpu_##id;  \
  const jf_kernel_row jf_cpu_##id = { .name = #id, __VA_ARGS__ };

/* The rows of kernels/cpu, ended by NULL. */
const jf_kernel_row *const *jf_cpu_rows(void);
/* How many channels its convolutions want side by side; 0: they have no such wish. */
int64_t jf_cpu_channel_block(void);
/* Whether products and convolutions can end in that op. */
int jf_cpu_activates(const char *act);
extern const jf_fused_limits jf_cpu_fused_limits;

#endif
