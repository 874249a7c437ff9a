/* Numbers as elements of the dtypes. Floats round to the nearest number, halfway cases to even;
   integers drop the fraction and saturate; not-a-number becomes integer 0. */
#ifndef JF_NUMBER_H
#define JF_NUMBER_H

#include "base/base.h"

/* Reads elements at .. at + n - 1 of data as numbers, or writes numbers to them. */
void jf_numbers_get(jfl_dtype t, const void *data, int64_t at, int n, double *v);
void jf_numbers_put(jfl_dtype t, void *data, int64_t at, int n, const double *v);

/* Converts n floats of 16 bits, of dtype t, to float, and back. */
void jf_halves_get(jfl_dtype t, const uint16_t *from, float *to, int64_t n);
void jf_halves_put(jfl_dtype t, uint16_t *to, const float *from, int64_t n);

#endif
