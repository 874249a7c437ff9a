/* Attributes of pad and pad_grad. */
#ifndef JF_OP_PAD_H
#define JF_OP_PAD_H

#include "dev/kernel.h"

/* paddings: before and after the first axis, then those of the second, ... */
typedef struct jf_pad_sides {
  jf_ints paddings;
  const char *mode;
  double constant_value;
} jf_pad_sides;

/* Where elements of padding come from: the number constant_value, the mirrored inside, the nearest
   element of it, or its other end. */
typedef enum jf_pad_mode { JF_PAD_CONSTANT, JF_PAD_REFLECT, JF_PAD_REPLICATE, JF_PAD_CIRCULAR }
jf_pad_mode;
jf_pad_mode jf_pad_mode_of(const jf_pad_sides *a);

/* The index, along an axis of extent n, of what stands `at` from its beginning, which may be
   negative; -1: the constant. */
static inline int64_t jf_pad_from(jf_pad_mode mode, int64_t at, int64_t n)
{
  if (at >= 0 && at < n) return at;
  if (mode == JF_PAD_REFLECT) return at < 0 ? -at : 2 * (n - 1) - at;
  if (mode == JF_PAD_REPLICATE) return at < 0 ? 0 : n - 1;
  return mode == JF_PAD_CONSTANT ? -1 : at < 0 ? at + n : at - n;
}

/* Where row r of the padded tensor comes from: the number of the row of the one without padding, or
   -1 for a row of constants. A row runs along the last axis. */
int64_t jf_pad_row(const jfl_shape *inside, const jfl_shape *padded, const jf_ints *paddings,
                   jf_pad_mode mode, int64_t r);

#endif
