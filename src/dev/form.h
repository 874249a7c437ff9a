/* Forms: how the elements of a tensor can lie in memory. A tensor that is cut into blocks of
   channels has a shape of more axes than its plain one. */
#ifndef JF_FORM_H
#define JF_FORM_H

#include "base/base.h"

/* One line per form but the plain one: its id, the stem of its rules in form.c, and whether a
   session may keep variables in it. With blocks of B channels:
     BLOCKED   activations (N, C, H, W) as (N, C / B, H, W, B)
     PACKED    filters (O, C, U, V) as (O / B, C / B, U, V, B of C, B of O), or where C is no
               multiple of B as (O / B, U, V, C, B of O)
     CHANNELS  a number for each channel, (C), as (C / B, 1, 1, B), which broadcasts over BLOCKED
     BROADCAST what broadcasts over (N, C, H, W), as what broadcasts over BLOCKED */
#define JF_FORMS(X)         \
  X(BLOCKED, blocked, 0)    \
  X(PACKED, packed, 1)      \
  X(CHANNELS, channels, 0)  \
  X(BROADCAST, broadcast, 0)

#define X(id, stem, keeps) JF_##id,
typedef enum jf_form { JF_PLAIN, JF_FORMS(X) JF_N_FORM } jf_form;
#undef X

/* What a tensor is stored in: a form, with blocks of so many channels. Zeroed: plain. */
typedef struct jf_packing { jf_form form; int64_t block; } jf_packing;
int jf_packing_eq(const jf_packing *a, const jf_packing *b);
/* Whether variables may be kept in that form. */
int jf_form_keeps(jf_form form);

/* A conversion: the tensor seen as `split`, its axes in the order perm, the result seen as `to`. */
typedef struct jf_relayout { jfl_shape split, to; int64_t perm[JFL_MAXDIM]; } jf_relayout;
/* From plain to a form; 0 where a tensor of this shape has no such form. */
int jf_relayout_to(const jf_packing *p, const jfl_shape *plain, jf_relayout *out);
/* Back again. */
jf_relayout jf_relayout_back(const jf_relayout *r, const jfl_shape *plain);
/* The shape that a tensor of plain shape has when packed so; 0 where it cannot be. */
int jf_packed_shape(const jf_packing *p, const jfl_shape *plain, jfl_shape *out);
/* The plain shape of a tensor of shape s in JF_BLOCKED or JF_PACKED; 0 where it is not in that
   form. */
int jf_plain_shape(const jf_packing *p, const jfl_shape *s, jfl_shape *out);

#endif
