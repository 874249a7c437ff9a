/* Forms: the ways in which the elements of a tensor can lie in memory. A tensor that is cut into
   blocks of channels has a shape of more axes than its plain shape. */
#ifndef JF_FORM_H
#define JF_FORM_H

#include "base/base.h"

/* One line per form but the plain one: its id, the stem of its rules in form.c, and whether a
   session may keep variables in it. With blocks of B channels:
     BLOCKED      activations (N, C, H, W) as (N, C / B, H, W, B)
     PACKED       filters (O, C, U, V) as (O / B, C / B, U, V, B of C, B of O), or where C is no
                  multiple of B as (O / B, U, V, C, B of O)
     PACKED_LAST  filters (O, U, V, C) as they lie in PACKED with their channels first
     CHANNELS     a number for each channel, (C), as (C / B, 1, 1, B), which broadcasts over BLOCKED
     BROADCAST    what broadcasts over (N, C, H, W), as what broadcasts over BLOCKED */
#define JF_FORMS(X)              \
  X(BLOCKED, blocked, 0)         \
  X(PACKED, packed, 1)           \
  X(PACKED_LAST, packed_last, 1) \
  X(CHANNELS, channels, 0)       \
  X(BROADCAST, broadcast, 0)

#define X(id, stem, keeps) JF_##id,
typedef enum jf_form { JF_PLAIN, JF_FORMS(X) JF_N_FORM } jf_form;
#undef X

/* How a tensor is stored: its form and the number of channels in a block. Zeroed: plain. */
typedef struct jf_packing { jf_form form; int64_t block; } jf_packing;
int jf_packing_eq(const jf_packing *a, const jf_packing *b);
/* Whether a session may keep variables in that form. */
int jf_form_keeps(jf_form form);

/* A conversion: see the tensor as shape `split`, permute its axes by perm, see the result as shape
   `to`. */
typedef struct jf_relayout { jfl_shape split, to; int64_t perm[JFL_MAXDIM]; } jf_relayout;
/* Gives the conversion from plain to a form; returns 0 if a tensor of this shape cannot have the
   form. */
int jf_relayout_to(const jf_packing *p, const jfl_shape *plain, jf_relayout *out);
/* Gives the reverse of conversion r of a tensor of that plain shape. */
jf_relayout jf_relayout_back(const jf_relayout *r, const jfl_shape *plain);
/* Gives the shape of a tensor, whose plain shape is given, in that packing; returns 0 if it cannot
   be packed so. */
int jf_packed_shape(const jf_packing *p, const jfl_shape *plain, jfl_shape *out);
/* Gives the plain shape of a tensor whose shape is s in JF_BLOCKED or JF_PACKED; returns 0 if s is
   no such shape. */
int jf_plain_shape(const jf_packing *p, const jfl_shape *s, jfl_shape *out);

#endif
