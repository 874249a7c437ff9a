/* Arrays: counted, dense, row-major tensors in host memory; views share their storage. */
#include "dev/dev.h"

#include <string.h>

/* Makes an array object for data in st; it takes over the caller's reference to st. */
static jfl_status wrap(jf_storage *st, void *data, jfl_dtype t, const jfl_shape *s, jfl_array **out)
{
  jfl_array *a = jf_new(sizeof *a);
  if (!a) return jf_fail(JFL_ENOMEM, "out of memory");
  a->tag = JF_TAG_ARRAY;
  a->refs = 1;
  a->storage = st;
  a->data = data;
  a->dtype = t;
  a->shape = *s;
  *out = a;
  return JFL_OK;
}

static jfl_status array_new(jfl_dtype t, const jfl_shape *s, void *(*take)(size_t), jfl_array **out)
{
  char str[JF_SHAPE_STR];
  if ((unsigned)t >= JFL_N_DTYPE)
    return jf_fail_argument(JFL_EDTYPE, "dtype", "must be from 0 to %d, got %d", JFL_N_DTYPE - 1,
                            (int)t);
  JF_TRY(jf_shape_check(s, "array"));
  size_t size = (size_t)jf_numel(s) * jfl_dtype_size(t);
  jf_storage *st = jf_new(sizeof *st);
  void *data = st ? take(size) : NULL;
  if (data) {
    *st = (jf_storage){ 1, size, data, jf_host() };
    if (!wrap(st, data, t, s, out)) return JFL_OK;
  }
  jf_free(data);
  jf_free(st);
  return jf_fail(JFL_ENOMEM, "out of memory: %s array of shape %s takes %zu bytes",
                 jfl_dtype_name(t), jf_shape_str(s, str), size);
}

jfl_status jfl_array_new(jfl_dtype t, const jfl_shape *s, jfl_array **out)
{
  JF_NEED_POINTER(s);
  JF_NEED_POINTER(out);
  return array_new(t, s, jf_new, out);
}

jfl_status jf_array_new_raw(jfl_dtype t, const jfl_shape *s, jfl_array **out)
{
  return array_new(t, s, jf_new_raw, out);
}

jfl_array *jfl_array_ref(jfl_array *a)
{
  if (!JF_IS(ARRAY, a)) return NULL;
  atomic_fetch_add(&a->refs, 1);
  return a;
}

void jfl_array_unref(jfl_array *a)
{
  if (!a || !JF_IS(ARRAY, a) || atomic_fetch_sub(&a->refs, 1) != 1) return;
  a->tag = JF_TAG_FREED;
  jf_storage_unref(a->storage);
  jf_free(a);
}

void jf_arrays_drop(jfl_array **a, int n)
{
  for (int i = 0; i < n; i++) {
    jfl_array_unref(a[i]);
    a[i] = NULL;
  }
}

void *jfl_array_data(const jfl_array *a) { return JF_IS(ARRAY, a) ? a->data : NULL; }
jfl_dtype jfl_array_dtype(const jfl_array *a) { return JF_IS(ARRAY, a) ? a->dtype : JFL_N_DTYPE; }
const jfl_shape *jfl_array_shape(const jfl_array *a) { return JF_IS(ARRAY, a) ? &a->shape : NULL; }
int64_t jfl_array_size(const jfl_array *a) { return JF_IS(ARRAY, a) ? jf_numel(&a->shape) : 0; }

static jfl_status dev_array_view(jfl_array *a, size_t offset, jfl_dtype t, const jfl_shape *s,
                                 jfl_array **out)
{
  JF_TRY(wrap(a->storage, (char *)a->data + offset, t, s, out));
  atomic_fetch_add(&a->storage->refs, 1);
  return JFL_OK;
}

jfl_status jfl_array_rows(jfl_array *a, int64_t first, int64_t count, jfl_array **out)
{
  JF_NEED(ARRAY, a);
  JF_NEED_POINTER(out);
  jfl_shape s = a->shape;
  if (s.n == 0)
    return jf_fail_argument(JFL_ESHAPE, "rows", "must be of an array with axes, got a scalar");
  if (first < 0 || count < 0 || count > s.d[0] || first > s.d[0] - count)
    return jf_fail_argument(JFL_ESHAPE, "rows", "must be within the %lld of the array, got %lld "
                            "from row %lld on", (long long)s.d[0], (long long)count,
                            (long long)first);
  s.d[0] = 1;
  size_t row = (size_t)jf_numel(&s) * jfl_dtype_size(a->dtype);
  s.d[0] = count;
  return dev_array_view(a, (size_t)first * row, a->dtype, &s, out);
}

jfl_status jfl_array_reshape(jfl_array *a, const jfl_shape *s, jfl_array **out)
{
  char from[JF_SHAPE_STR], to[JF_SHAPE_STR];
  JF_NEED(ARRAY, a);
  JF_NEED_POINTER(s);
  JF_NEED_POINTER(out);
  JF_TRY(jf_shape_check(s, "shape"));
  if (jf_numel(s) != jf_numel(&a->shape))
    return jf_fail_argument(JFL_ESHAPE, "shape", "must have %lld elements like %s, got %s",
                            (long long)jf_numel(&a->shape), jf_shape_str(&a->shape, from),
                            jf_shape_str(s, to));
  return dev_array_view(a, 0, a->dtype, s, out);
}

jfl_status jfl_array_view(jfl_array *a, jfl_dtype t, const jfl_shape *s, jfl_array **out)
{
  char to[JF_SHAPE_STR];
  JF_NEED(ARRAY, a);
  JF_NEED_DTYPE(t);
  JF_NEED_POINTER(s);
  JF_NEED_POINTER(out);
  JF_TRY(jf_shape_check(s, "shape"));
  const size_t has = (size_t)jf_numel(&a->shape) * jfl_dtype_size(a->dtype);
  const size_t takes = (size_t)jf_numel(s) * jfl_dtype_size(t);
  if (has == takes) return dev_array_view(a, 0, t, s, out);
  const jfl_shape wide = jf_shape_numbers(t, s);
  return jf_fail_argument(JFL_ESHAPE, "the array", "must have the %zu bytes of %s %s, got %zu",
                          takes, jfl_dtype_name(t), jf_shape_str(&wide, to), has);
}
