/* Products and convolutions by a library, cut into pieces that threads take one after another. */
#ifndef JF_PIECES_H
#define JF_PIECES_H

#include "primitives.h"

/* For rows: set k->state and k->scratch_size for a problem. Matrices are dense; where the lines
   of m are is set here. */
jfl_status jf_pieces_matmul(const jf_primitives *lib, jf_primitive_matmul *m, jf_kargs *k);
jfl_status jf_pieces_conv(const jf_primitives *lib, const jf_primitive_conv *c,
                          jf_primitive_kind kind, jf_kargs *k);
/* The library's description of a convolution of x, w and y. The padding behind is chosen so that
   the extent of y comes out: padding that no window reaches does not matter. */
struct jf_conv;
jf_primitive_conv jf_conv_geometry(const struct jf_conv *a, const jf_tensor *in,
                                   const jf_tensor *filters, const jf_tensor *out);
/* Whether the numbers of the geometry are so small that sums of a few of them within a library fit
   an int. */
int jf_conv_is_bounded(const struct jf_conv *a);
/* Leaves n results of an axis from `from` on, and what they read: from index
   from * stride - before of the input on, or its first. */
void jf_primitive_band(jf_primitive_conv *c, int axis, int64_t from, int64_t n);
/* Runs k->state on these operands. */
jfl_status jf_pieces_run(const jf_kargs *k, jf_primitive_run r);
/* Of rows whose state this is. Input 1 is what they pack. */
jfl_status jf_pieces_pack(const jf_kargs *k);
void jf_pieces_release(void *state);
#define JF_BY_PIECES .pack = jf_pieces_pack, .release = jf_pieces_release
/* Whether runs of this state can scale a. */
int jf_pieces_scale(const void *state);

#endif
