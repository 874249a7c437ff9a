/* Loops that sweeps need besides those of ops: sums, and copies of numbers to many elements. */
#ifndef JF_SWEEP_LOOPS_H
#define JF_SWEEP_LOOPS_H

#include "dev/kernel.h"

/* A sum in the making: floats are summed in double, integers wrap. */
typedef union jf_total { double f; uint64_t i; } jf_total;

/* The summing loops of one dtype. `to` are totals, except that `rows` writes numbers of the
   dtype. */
typedef struct jf_adder {
  /* Adds n numbers to one total. */
  void (*sum)(const void *from, int64_t n, void *to);
  /* Adds each of n columns of `rows` rows to its total. */
  void (*columns)(const void *from, int64_t rows, int64_t n, void *to);
  /* Writes the sum of each row of n numbers, divided by count. */
  void (*rows)(const void *from, int64_t rows, int64_t n, double count, void *to);
  /* Adds up total i of all parts, for n totals, and divides by count; neighbouring parts' totals
     are `step` apart. */
  void (*finish)(void *from, int64_t n, int64_t step, int parts, double count, void *to);
} jf_adder;
extern const jf_adder jf_adders[JFL_N_DTYPE];

/* Copies from element `off` of x to element `at` of y: `rows` rows of n elements, each read
   row_step after the one before. A row is n numbers (step 1) or the same number n times (step
   0). */
typedef struct jf_spread {
  const void *x;
  void *y;
  int64_t off, at, rows, row_step, n;
  int step;
} jf_spread;
void jf_spread_run(const jf_spread *s, size_t size);

#endif
