/* Functions on axes and on tensors of indices, for the kernels of all devices. */
#ifndef JF_OP_INDEX_H
#define JF_OP_INDEX_H

#include "dev/kernel.h"

/* A shape of three axes: all before axis a joined, axis a (m long), and all after it joined. */
typedef struct jf_axes { int64_t before, m, after; } jf_axes;
jf_axes jf_axes_at(const jfl_shape *s, int64_t axis);

/* Element i of a tensor of int32 or int64. */
int64_t jf_index_at(const jf_tensor *t, int64_t i);

/* Whether elements `from` to `from` + count - 1 of a tensor of int32 or int64 are within 0..n-1. */
int jf_within(const jf_tensor *t, int64_t from, int64_t count, int64_t n);

/* Fails because element i of a tensor of indices is v and not within 0..n-1. Stores this in
   k->fault, too, unless that has an earlier one. */
jfl_status jf_index_fault(const jf_kargs *k, jf_wrong what, int64_t v, int64_t i, int64_t n);
/* Returns JFL_EDATA if an element of t is not within 0..n-1, and stores the first such element in
   k->fault as well. The message names no op: the caller adds that. */
jfl_status jf_check_range(const jf_kargs *k, jf_wrong what, const jf_tensor *t, int64_t n);

/* By dtype: adds n numbers to those at `to`, from the first on; sums of integers wrap. */
typedef void (*jf_increasing)(void *to, const void *more, int64_t n);
extern const jf_increasing jf_increase[JFL_N_DTYPE];

#endif
