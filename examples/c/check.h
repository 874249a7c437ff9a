/* What the manual's examples share. Each is a program of its own, whose functions show a few calls;
   it ends with status 0 if all did what the comments say. */
#ifndef CHECK_H
#define CHECK_H

#include "jfl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The library never prints and never ends the program: this is where these programs do. */
static inline void check(jfl_status s)
{
  if (s == JFL_OK) return;
  fprintf(stderr, "%s\n", jfl_errmsg());
  exit(1);
}

static inline void must(int holds, const char *what)
{
  if (holds) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

/* Ends the program unless the condition holds. */
#define EXPECT(condition) must(condition, #condition)

/* A new float32 array of shape (rows, columns) with the numbers 0, 1, 2, ... */
static inline jfl_array *numbers(int64_t rows, int64_t columns)
{
  const jfl_shape shape = { 2, { rows, columns } };
  jfl_array *a;
  check(jfl_array_new(JFL_F32, &shape, &a));
  float *p = jfl_array_data(a);
  for (int64_t i = 0; i < rows * columns; i++) p[i] = (float)i;
  return a;
}

#endif
