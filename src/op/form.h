/* Forms: a tensor cut into blocks of channels is one of plain shape with more axes. */
#ifndef JF_OP_FORM_H
#define JF_OP_FORM_H

#include "dev/kernel.h"

/* With blocks of B channels:
     JF_BLOCKED   activations (N, C, H, W) as (N, C / B, H, W, B)
     JF_PACKED    filters (O, C, U, V) as (O / B, C / B, U, V, B of C, B of O), or where C is no
                  multiple of B as (O / B, U, V, C, B of O)
     JF_CHANNELS  a number for each channel, (C), as (C / B, 1, 1, B), which broadcasts over
                  JF_BLOCKED
     JF_SPREAD    what broadcasts over (N, C, H, W), as what broadcasts over JF_BLOCKED */
typedef enum jf_form { JF_PLAIN, JF_BLOCKED, JF_PACKED, JF_CHANNELS, JF_SPREAD, JF_N_FORM } jf_form;

/* A conversion: the tensor seen as `split`, its axes in the order perm, the result seen as `to`. */
typedef struct jf_relayout { jfl_shape split, to; jf_ints perm; } jf_relayout;
/* From plain to a form; 0 where a tensor of this shape has no such form. */
int jf_relayout_to(jf_form form, int64_t block, const jfl_shape *plain, jf_relayout *out);
/* Back again. */
jf_relayout jf_relayout_back(const jf_relayout *r, const jfl_shape *plain);
/* The plain shape of one in JF_BLOCKED or JF_PACKED; 0 where it is not in that form. */
int jf_plain_shape(jf_form form, int64_t block, const jfl_shape *s, jfl_shape *out);

/* Copies of a whole tensor from its plain shape to its packed one, and back. */
void jf_pack_filters(jfl_dtype t, const jfl_shape *packed, const jfl_shape *plain,
                     const void *from, void *to);
void jf_unpack_filters(jfl_dtype t, const jfl_shape *packed, const jfl_shape *plain,
                       const void *from, void *to);

#endif
