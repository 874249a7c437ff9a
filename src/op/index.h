/* Axes and indices, for plain kernels and those of devices. */
#ifndef JF_OP_INDEX_H
#define JF_OP_INDEX_H

#include "dev/kernel.h"

/* A shape seen along one axis: before x s->d[axis] x after. */
typedef struct jf_axes { int64_t before, m, after; } jf_axes;
jf_axes jf_axes_at(const jfl_shape *s, int64_t axis);

/* Element i of an integer tensor. */
int64_t jf_index_at(const jf_tensor *t, int64_t i);

/* JFL_EDATA for the first element of t outside 0..n-1, which is put into k->fault, too. Kernels'
   messages name no op: whoever runs them does. */
jfl_status jf_check_range(const jf_kargs *k, jf_wrong what, const jf_tensor *t, int64_t n);

#endif
