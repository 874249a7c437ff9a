/* Single elements of arrays: read, written, filled, and what numbers fit a dtype. */
#include "bind/bind.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define NATIVE(X) \
  X(F32, float) X(F64, double) X(I8, int8_t) X(U8, uint8_t) X(I32, int32_t) X(I64, int64_t)

/* IEEE 754 binary16: 1 sign, 5 exponent and 10 fraction bits. */
static double element_half(uint16_t h)
{
  int e = h >> 10 & 31, m = h & 1023;
  double v = e == 0 ? ldexp(m, -24) : e < 31 ? ldexp(1024 + m, e - 25) : m ? NAN : INFINITY;
  return h >> 15 ? -v : v;
}

/* bfloat16: the upper half of a float. */
static double brain(uint16_t h)
{
  uint32_t bits = (uint32_t)h << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return (double)f;
}

double jf_load(const jf_larray *b, int64_t i)
{
  switch (b->dtype) {
#define X(id, T) case JFL_##id: return (double)((const T *)b->data)[i];
    NATIVE(X)
#undef X
  case JFL_F16: return element_half(((const uint16_t *)b->data)[i]);
  case JFL_BF16: return brain(((const uint16_t *)b->data)[i]);
  default: return 0;
  }
}

void jf_store(void *data, jfl_dtype t, int64_t i, double v)
{
  switch (t) {
#define X(id, T) case JFL_##id: ((T *)data)[i] = (T)v; break;
    NATIVE(X)
#undef X
  default: break;
  }
}

/* Smallest and largest whole numbers of an integer dtype, the largest as an exclusive bound. */
static int within(double v, int bits, int is_signed)
{
  double hi = ldexp(1, is_signed ? bits - 1 : bits);
  return v == floor(v) && v >= (is_signed ? -hi : 0) && v < hi;
}

/* Whether a float dtype rounds v to a number; from hi on it rounds to infinity. */
static int below(double v, double hi) { return !isfinite(v) || fabs(v) < hi; }

int jf_fits(jfl_dtype t, double v)
{
  switch (t) {
  case JFL_I8: return within(v, 8, 1);
  case JFL_U8: return within(v, 8, 0);
  case JFL_I32: return within(v, 32, 1);
  case JFL_I64: return within(v, 64, 1);
  case JFL_F32: return below(v, 0x1.ffffffp127);
  case JFL_F16: return below(v, 65520);
  case JFL_BF16: return below(v, 0x1.ffp127);
  default: return 1;
  }
}

/* v as dtype t of two bytes, by way of the core's rounding. */
static uint16_t bind_index_encode(lua_State *L, jfl_dtype t, double v, const char *what)
{
  jfl_shape one = { .n = 1, .d = { 1 } };
  jf_larray *from = jf_push_new(L, JFL_F64, &one);
  *(double *)from->data = v;
  uint16_t h = *(uint16_t *)jf_push_cast(L, from, t, 1, what)->data;
  lua_pop(L, 2);
  return h;
}

static void fill_small(lua_State *L, const jf_larray *b, int64_t first, int64_t n, double v,
                       const char *what)
{
  uint16_t h = bind_index_encode(L, b->dtype, v, what);
  jf_check_freed(L, b, what);
  for (int64_t i = 0; i < n; i++) ((uint16_t *)b->data)[first + i] = h;
}

void jf_fill(lua_State *L, const jf_larray *b, int64_t first, int64_t n, double v, const char *what)
{
  if (!jf_fits(b->dtype, v))
    jf_raise(L, "%s must fit %s, got %f", what, jfl_dtype_name(b->dtype), v);
  switch (b->dtype) {
#define X(id, T) \
  case JFL_##id: for (int64_t i = 0; i < n; i++) ((T *)b->data)[first + i] = (T)v; break;
    NATIVE(X)
#undef X
  default: fill_small(L, b, first, n, v, what);
  }
}
