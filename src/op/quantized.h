/* Weights that are stored in few bits: products with them, and their numbers. */
#ifndef JF_OP_QUANTIZED_H
#define JF_OP_QUANTIZED_H

#include "dev/blocks.h"
#include "op/matmul.h"

/* quantized_matmul(x, w) -> y = x w^T, where x is (..., k) of float32 and w is (n, k) of blocks or
   of floats of 16 bits: what matmul with transpose_b becomes for such a w. */

/* Writes numbers from .. from + n - 1 of row r of w as float32; both are multiples of a block. */
void jf_stored_row(const jf_tensor *w, int64_t r, int64_t from, int64_t n, float *to);
/* How many numbers a row of w has. */
int64_t jf_stored_width(const jf_tensor *w);

#endif
