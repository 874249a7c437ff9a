/* Numbers as elements of the dtypes. Floats are rounded to the nearest, halfway to the even one;
   integers drop the fraction and saturate, and not-a-number becomes 0. */
#ifndef JF_NUMBER_H
#define JF_NUMBER_H

#include "base/base.h"

/* Elements at .. at + n - 1 of data as numbers, and numbers as these elements. */
void jf_numbers_get(jfl_dtype t, const void *data, int64_t at, int n, double *v);
void jf_numbers_put(jfl_dtype t, void *data, int64_t at, int n, const double *v);

#endif
