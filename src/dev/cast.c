/* Conversion of arrays between dtypes, through double in chunks. */
#include "dev/blocks.h"
#include "dev/dev.h"
#include "dev/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHUNK = 256 };

/* Whether the double v is exactly element `at` of a; integers beyond 2^53 may not be. */
static int is_exact(const jfl_array *a, int64_t at, double v)
{
  return a->dtype != JFL_I64 || (v < 0x1p63 && (int64_t)v == ((const int64_t *)a->data)[at]);
}

/* Fails for element `at`, which the message shows by its indices from 1 on: "[2][1]". */
static jfl_status misfit(const jfl_array *a, int64_t at, double v, jfl_dtype to)
{
  char path[JFL_MAXDIM * 24] = "", value[32];
  size_t n = 0;
  if (a->dtype == JFL_I64)
    snprintf(value, sizeof value, "%lld", (long long)((const int64_t *)a->data)[at]);
  else snprintf(value, sizeof value, "%.16g", v);
  int64_t inner = jfl_array_size(a);
  for (int k = 0; k < a->shape.n; k++) {
    inner /= a->shape.d[k];
    n += (size_t)snprintf(path + n, sizeof path - n, "[%lld]", (long long)(at / inner + 1));
    at %= inner;
  }
  return jf_fail_argument(JFL_EDTYPE, path, "must fit %s, got %s", jfl_dtype_name(to), value);
}

/* Between floats, rounding is allowed and overflow is not; an integer must be kept exactly. */
static jfl_status dev_cast_check(const jfl_array *a, const double *v, jfl_dtype to, int64_t at,
                                 int n)
{
  int floats = jf_is_float(a->dtype) && jf_is_float(to);
  double w[CHUNK];
  if (!floats) {
    char element[CHUNK * sizeof(double)];
    jf_numbers_put(to, element, 0, n, v);
    jf_numbers_get(to, element, 0, n, w);
  }
  for (int i = 0; i < n; i++)
    if (!is_exact(a, at + i, v[i]) || (floats ? !jfl_number_fits(to, v[i]) : w[i] != v[i]))
      return misfit(a, at + i, v[i], to);
  return JFL_OK;
}

static jfl_status dev_cast_convert(const jfl_array *a, int lossless, jfl_array *to)
{
  double v[CHUNK];
  for (int64_t at = 0, size = jfl_array_size(a); at < size; at += CHUNK) {
    int n = size - at < CHUNK ? (int)(size - at) : CHUNK;
    if (at % (64 * CHUNK) == 0) JF_TRY(jf_time_for(0));
    jf_numbers_get(a->dtype, a->data, at, n, v);
    if (lossless) JF_TRY(dev_cast_check(a, v, to->dtype, at, n));
    jf_numbers_put(to->dtype, to->data, at, n, v);
  }
  return JFL_OK;
}

/* To float32, by way of which everything else goes to blocks and comes from them. */
static jfl_status dev_cast_blocks(const jfl_array *a, jfl_dtype t, int lossless, jfl_array **out)
{
  const int from = jf_is_block(a->dtype);
  const jfl_shape s = jf_shape_numbers(a->dtype, &a->shape);
  jfl_shape own;
  jfl_array *wide = NULL, *to = NULL;
  JF_TRY(jf_shape_blocks(t, &s, "shape", &own));
  if (!from && lossless)
    return jf_fail_argument(JFL_EDTYPE, "the array", "must be %s, got %s, which only rounding "
                            "makes that", jfl_dtype_name(t), jfl_dtype_name(a->dtype));
  if (from) JF_TRY(jf_array_new_raw(JFL_F32, &s, &wide));
  else JF_TRY(jfl_array_cast(a, JFL_F32, 0, &wide));
  if (from) jf_blocks_get(a->dtype, a->data, jf_numel(&a->shape), wide->data);
  if (t == JFL_F32) return *out = wide, JFL_OK;
  jfl_status e = jf_is_block(t) ? jf_array_new_raw(t, &own, &to)
                                : jfl_array_cast(wide, t, 0, &to);
  if (!e && jf_is_block(t)) jf_blocks_put(t, wide->data, jf_numel(&own), to->data);
  jfl_array_unref(wide);
  if (!e) *out = to;
  return e;
}

jfl_status jfl_array_cast(const jfl_array *a, jfl_dtype t, int lossless, jfl_array **out)
{
  jfl_array *to;
  JF_NEED(ARRAY, a);
  JF_NEED_DTYPE(t);
  JF_NEED_POINTER(out);
  if (t != a->dtype && (jf_is_block(t) || jf_is_block(a->dtype)))
    return dev_cast_blocks(a, t, lossless, out);
  JF_TRY(jf_array_new_raw(t, &a->shape, &to));
  jfl_status s = JFL_OK;
  if (t == a->dtype) memcpy(to->data, a->data, (size_t)jfl_array_size(a) * jfl_dtype_size(t));
  else s = dev_cast_convert(a, lossless, to);
  if (s) jfl_array_unref(to);
  else *out = to;
  return s;
}
