/* Which kernel serves a call of an op. Passes ask what would serve a node if they made it so, and
   the plan asks what serves the nodes that there are: both ask one chooser, whose answer to a call
   is the same each time, so a pass never counts on a kernel that the plan does not take. */
#ifndef JF_CHOOSE_H
#define JF_CHOOSE_H

#include "dev/dev.h"
#include "ir/ir.h"

/* ---- how much work a call is (work.c) ---- */

/* Bytes of a call's inputs and outputs. */
double jf_call_bytes(const jf_kargs *k);
/* The bytes of a call and its arithmetic: a rough measure of how long it takes. */
double jf_work(const jfl_op *op, const jf_kargs *k);
/* The number of threads, at most `most`, with which a call is worth running. */
int jf_worth_threads(const jfl_op *op, const jf_kargs *k, int most);

/* ---- choosing (choose.c) ---- */

/* Flags. JF_REFERENCE: plain kernels only, where the device has them. JF_SEPARATE: no result in the
   memory of an input. JF_DIRECT: no row that is indirect. JF_TF32: as tf32 of jf_kargs. JF_ZONES:
   what lies in an arena has red zones (run/zones.c). */
enum { JF_REFERENCE = 1, JF_SEPARATE = 2, JF_DIRECT = 4, JF_TF32 = 8, JF_ZONES = 16 };

/* What serves a call. */
typedef struct jf_choice {
  jf_kernel run;               /* NULL: nothing does */
  const jf_kernel_row *row;    /* NULL: the op's plain kernel, or there is nothing to compute */
  size_t scratch;              /* the bytes that it needs */
  const char *refused;         /* rows before it that do not serve, and why, where the chooser
                                  tells; or NULL */
} jf_choice;

/* What calls are chosen for: devices by place, flags, the largest number of threads, and how many
   devices that use the processor's cores late share these; 0: none. */
enum { JF_ANSWERS = 64 };
typedef struct jf_chooser {
  jf_device *const *device; int n_device;
  int flags, threads, shares;
  int tells;                   /* whether choices say what was refused */
  jf_arena *arena;             /* lives longer than what is prepared */
  struct jf_awaited *answer[JF_ANSWERS];        /* by hash: those that nobody has taken */
} jf_chooser;

/* Chooses the best kernel of the device for a call of op with tensors k->in, k->out and attributes,
   and prepares it: fills in the rest of k but for addresses. The caller makes it ready before it
   runs, and releases it by jf_choice_release. A call that has floats of 16 bits which no kernel
   takes is left alone: out->run is NULL. */
jfl_status jf_choose(jf_chooser *c, int place, const jfl_op *op, jf_kargs *k, jf_choice *out);
/* Gives what jf_choose will give for that call, which may never be made: what is prepared waits for
   who makes it. */
jfl_status jf_choose_ahead(jf_chooser *c, int place, const jfl_op *op, const jf_kargs *k,
                           const jf_choice **out);
/* Whether a row takes that call, as far as is known before one is prepared. */
int jf_accepts(const jf_chooser *c, int place, const jfl_op *op, jf_kargs *k);
void jf_choice_release(const jf_choice *choice, const jf_kargs *k);
/* Makes n calls ready that were chosen, on up to so many threads: what can be done for many at once
   is left until then. *failed is the first call for which that fails. */
jfl_status jf_make_ready(jf_kargs *const *k, int n, int threads, int *failed);
/* Releases what was prepared for calls that nobody made. */
void jf_chooser_end(jf_chooser *c);

/* A hash of a call of op, and whether a call that was prepared is the same but for addresses. */
uint64_t jf_call_hash(const jfl_op *op, const jf_kargs *k);
int jf_is_call(const jf_kargs *prepared, const jfl_op *op, const jf_kargs *k);
/* Whether a call has floats of 16 bits that the op's plain kernel does not take. */
int jf_widens(const jfl_op *op, const jf_kargs *k);
/* Fails since nothing on the device serves the call. */
jfl_status jf_fail_kernel(const jf_device *d, const jfl_op *op, const jf_kargs *k);

#endif
