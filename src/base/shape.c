/* Dtypes and shapes. */
#include "base/need.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *jfl_dtype_name(jfl_dtype t)
{
#define X(id, name, ctype) name,
  static const char *const names[] = { JFL_DTYPES(X) };
#undef X
  return (unsigned)t < JFL_N_DTYPE ? names[t] : "unknown dtype";
}

size_t jfl_dtype_size(jfl_dtype t)
{
#define X(id, name, ctype) sizeof(ctype),
  static const size_t size[] = { JFL_DTYPES(X) };
#undef X
  return (unsigned)t < JFL_N_DTYPE ? size[t] : 0;
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
                          "bfloat16, int8, uint8, int32, int64, got '%.60s'", name);
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
