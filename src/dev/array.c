/* Arrays: counted, dense, row-major tensors in host memory; views share their elements. */
#include "dev/dev.h"


/* Where the elements of an array that owns them lie in its block. */
enum { DATA = 128 };
_Static_assert(sizeof(jfl_array) <= DATA, "the elements lie behind the array");

/* An array that owns its elements is one block with them: most are small, and a block less to take
   and to free is what counts there. */
static jfl_status array_new(jfl_dtype t, const jfl_shape *s, void *(*take)(size_t), jfl_array **out)
{
  char str[JF_SHAPE_STR];
  if ((unsigned)t >= JFL_N_DTYPE)
    return jf_fail_argument(JFL_EDTYPE, "dtype", "must be from 0 to %d, got %d", JFL_N_DTYPE - 1,
                            (int)t);
  JF_TRY(jf_shape_check(s, "array"));
  size_t size = (size_t)jf_numel(s) * jfl_dtype_size(t);
  jfl_array *a = take(DATA + size);
  if (!a)
    return jf_fail(JFL_ENOMEM, "out of memory: %s array of shape %s takes %zu bytes",
                   jfl_dtype_name(t), jf_shape_str(s, str), size);
  *a = (jfl_array){ .tag = JF_TAG_ARRAY, .refs = 1, .data = (char *)a + DATA, .dtype = t,
                    .shape = *s };
  *out = a;
  return JFL_OK;
}

jfl_status jfl_array_new(jfl_dtype t, const jfl_shape *s, jfl_array **out)
{
  JF_NEED_POINTERS(s, out);
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
  jfl_array *owner = a->owner;
  a->tag = JF_TAG_FREED;
  jf_free(a);
  jfl_array_unref(owner);
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
  jfl_array *view = jf_new_raw(sizeof *view);
  if (!view) return jf_fail(JFL_ENOMEM, "out of memory");
  *view = (jfl_array){ .tag = JF_TAG_ARRAY, .refs = 1, .data = (char *)a->data + offset,
                       .owner = jfl_array_ref(a->owner ? a->owner : a), .dtype = t, .shape = *s };
  *out = view;
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
  JF_NEED_POINTERS(s, out);
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
  JF_NEED_POINTERS(s, out);
  JF_TRY(jf_shape_check(s, "shape"));
  const size_t has = JF_BYTES_OF(a);
  const size_t takes = (size_t)jf_numel(s) * jfl_dtype_size(t);
  if (has == takes) return dev_array_view(a, 0, t, s, out);
  const jfl_shape wide = jf_shape_numbers(t, s);
  return jf_fail_argument(JFL_ESHAPE, "the array", "must have the %zu bytes of %s %s, got %zu",
                          takes, jfl_dtype_name(t), jf_shape_str(&wide, to), has);
}
