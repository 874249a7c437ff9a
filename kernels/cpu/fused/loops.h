/* Loops that a sweep needs besides those of ops: sums, and copies to every element. */
#ifndef JF_SWEEP_LOOPS_H
#define JF_SWEEP_LOOPS_H

#include "dev/kernel.h"

/* A sum on its way: those of floats are gathered in double, those of integers wrap. */
typedef union jf_total { double f; uint64_t i; } jf_total;

/* Sums of one dtype; `to` are totals but for `rows`, whose results are numbers of the dtype. */
typedef struct jf_adder {
  /* Adds n numbers to one total. */
  void (*sum)(const void *from, int64_t n, void *to);
  /* Adds each of n columns of `rows` rows to its total. */
  void (*columns)(const void *from, int64_t rows, int64_t n, void *to);
  /* The sum of each row of n numbers, divided by count. */
  void (*rows)(const void *from, int64_t rows, int64_t n, double count, void *to);
  /* The n totals of each part, which lie `step` apart: added up, divided by count. */
  void (*finish)(void *from, int64_t n, int64_t step, int parts, double count, void *to);
} jf_adder;
extern const jf_adder jf_adders[JFL_N_DTYPE];

/* From element `off` of x to element `at` of y: `rows` rows of n elements, each from x row_step
   after the one before. A row is n numbers (step 1), or the same number n times (step 0). */
typedef struct jf_spread {
  const void *x;
  void *y;
  int64_t off, at, rows, row_step, n;
  int step;
} jf_spread;
void jf_spread_run(const jf_spread *s, size_t size);

#endif
