/* Dtypes and shapes. */
#include "base/need.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *jfl_dtype_name(jfl_dtype t)
{
#define X(id, name, ...) name,
  static const char *const names[] = { JFL_DTYPES(X) JFL_BLOCK_DTYPES(X) };
#undef X
  return (unsigned)t < JFL_N_DTYPE ? names[t] : "unknown dtype";
}

size_t jfl_dtype_size(jfl_dtype t)
{
#define X(id, name, ctype) sizeof(ctype),
#define BLOCK(id, name, numbers, bytes) bytes,
  static const size_t size[] = { JFL_DTYPES(X) JFL_BLOCK_DTYPES(BLOCK) };
#undef BLOCK
#undef X
  return (unsigned)t < JFL_N_DTYPE ? size[t] : 0;
}

int jfl_dtype_numbers(jfl_dtype t)
{
#define X(id, name, numbers, bytes) case JFL_##id: return numbers;
  switch ((int)t) {
  JFL_BLOCK_DTYPES(X)
  default: return 1;
  }
#undef X
}

int jf_is_block(jfl_dtype t) { return jfl_dtype_numbers(t) > 1; }

jfl_shape jf_shape_numbers(jfl_dtype t, const jfl_shape *s)
{
  jfl_shape out = *s;
  if (out.n) out.d[out.n - 1] *= jfl_dtype_numbers(t);
  return out;
}

jfl_status jf_shape_blocks(jfl_dtype t, const jfl_shape *s, const char *what, jfl_shape *out)
{
  char buf[JF_SHAPE_STR];
  const int block = jfl_dtype_numbers(t);
  *out = *s;
  if (block == 1) return JFL_OK;
  if (!s->n || s->d[s->n - 1] % block)
    return jf_fail_argument(JFL_ESHAPE, what, "must have a last axis of a multiple of %d numbers, "
                            "the block of %s, got shape %s", block, jfl_dtype_name(t),
                            jf_shape_str(s, buf));
  out->d[s->n - 1] /= block;
  return JFL_OK;
}

jfl_status jfl_dtype_parse(const char *name, jfl_dtype *out)
{
  JF_NEED_POINTER(name);
  JF_NEED_POINTER(out);
  if (!strcmp(name, "float")) return *out = JFL_F32, JFL_OK;
  if (!strcmp(name, "double")) return *out = JFL_F64, JFL_OK;
  for (int t = 0; t < JFL_N_DTYPE; t++)
    if (!strcmp(name, jfl_dtype_name((jfl_dtype)t))) return *out = (jfl_dtype)t, JFL_OK;
  return jf_fail_argument(JFL_EDTYPE, "dtype", "must be one of float32, float64, float16, "
                          "bfloat16, int8, uint8, int32, int64, q8_0, q4_0, q4_k, q6_k, "
                          "got '%.60s'", name);
}

int jf_is_float(jfl_dtype t) { return t <= JFL_BF16; }

double jf_clamp(jfl_dtype t, double v)
{
  /* The largest of int64 is the double below 2^63. */
  static const struct { double lo, hi; } range[JFL_N_DTYPE] = {
    [JFL_I8] = { -0x1p7, 0x1p7 - 1 },   [JFL_U8] = { 0, 0x1p8 - 1 },
    [JFL_I32] = { -0x1p31, 0x1p31 - 1 }, [JFL_I64] = { -0x1p63, 0x1.fffffffffffffp62 },
  };
  if (jf_is_float(t)) return v;
  return v != v ? 0 : v < range[t].lo ? range[t].lo : v > range[t].hi ? range[t].hi : v;
}

int jf_holds(jfl_dtype t, double v)
{
  return jf_is_float(t) || (v == trunc(v) && v == jf_clamp(t, v));
}

int64_t jf_numel(const jfl_shape *s)
{
  int64_t n = 1;
  for (int i = 0; i < s->n; i++) n *= s->d[i];
  return n;
}

int jf_shape_eq(const jfl_shape *a, const jfl_shape *b)
{
  return a->n == b->n && !memcmp(a->d, b->d, (size_t)a->n * sizeof *a->d);
}

const char *jf_shape_str(const jfl_shape *s, char *buf)
{
  size_t k = 0, size = JF_SHAPE_STR;
  buf[k++] = '(';
  for (int i = 0; i < s->n; i++)
    k += (size_t)snprintf(buf + k, size - k, "%s%lld", i ? ", " : "", (long long)s->d[i]);
  snprintf(buf + k, size - k, ")");
  return buf;
}

jfl_status jf_shape_check(const jfl_shape *s, const char *what)
{
  const int64_t most = (int64_t)1 << 47;
  if (s->n < 0 || s->n > JFL_MAXDIM)
    return jf_fail_argument(JFL_ESHAPE, what, "must have 0 to %d dimensions, got %d", JFL_MAXDIM,
                            s->n);
  int64_t n = 1;
  for (int i = 0; i < s->n; i++) {
    if (s->d[i] < 0)
      return jf_fail_argument(JFL_ESHAPE, what, "must have no negative extent, got %lld on axis %d",
                              (long long)s->d[i], i);
    if (s->d[i] == 0) continue;
    if (s->d[i] > most / n)
      return jf_fail_argument(JFL_ESHAPE, what, "must have at most 2^47 elements");
    n *= s->d[i];
  }
  return JFL_OK;
}
