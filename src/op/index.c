/* Functions on axes and on tensors of indices. */
#include "op/index.h"
#include "dev/half.h"
#include "dev/variants.h"
#include "op/op.h"

jf_axes jf_axes_at(const jfl_shape *s, int64_t axis)
{
  jf_axes a = { 1, s->d[axis], 1 };
  for (int i = 0; i < axis; i++) a.before *= s->d[i];
  for (int i = (int)axis + 1; i < s->n; i++) a.after *= s->d[i];
  return a;
}

int64_t jf_index_at(const jf_tensor *t, int64_t i)
{
  return t->dtype == JFL_I32 ? ((const int32_t *)t->data)[i] : ((const int64_t *)t->data)[i];
}

/* Whether all elements are within 0..n-1; quicker than to look for the first that is not. */
#define WITHIN(D, T, U)                                                        \
  JF_BODY void within_##D##_body(const T *v, int64_t size, int64_t n, int *out) \
  {                                                                            \
    const U most = (U)(n - 1);                                                 \
    U wrong = 0;                                                               \
    for (int64_t i = 0; i < size; i++) wrong |= (U)v[i] > most;                \
    *out = !wrong;                                                             \
  }                                                                            \
  JF_DISPATCH(within_##D, (const T *v, int64_t size, int64_t n, int *out), (v, size, n, out))
WITHIN(I32, int32_t, uint32_t)
WITHIN(I64, int64_t, uint64_t)

int jf_within(const jf_tensor *t, int64_t from, int64_t count, int64_t n)
{
  if (n < 1 || (t->dtype == JFL_I32 && n > INT32_MAX)) return 0;
  int all;
  if (t->dtype == JFL_I32) within_I32((const int32_t *)t->data + from, count, n, &all);
  else within_I64((const int64_t *)t->data + from, count, n, &all);
  return all;
}

jfl_status jf_index_fault(const jf_kargs *k, jf_wrong what, int64_t v, int64_t i, int64_t n)
{
  const jf_fault f = { what, k->step, v, i, n };
  if (k->fault && !k->fault->what) *k->fault = f;
  return jf_fault_fail(&f);
}

jfl_status jf_check_range(const jf_kargs *k, jf_wrong what, const jf_tensor *t, int64_t n)
{
  const int64_t size = jf_numel(&t->shape);
  if (jf_within(t, 0, size, n)) return JFL_OK;
  for (int64_t i = 0; i < size; i++) {
    int64_t v = jf_index_at(t, i);
    if (v < 0 || v >= n) return jf_index_fault(k, what, v, i, n);
  }
  return JFL_OK;
}

/* T: for integers the unsigned type, whose sums wrap. */
#define ADD(D, T, GET, PUT)                                             \
  static void add_##D(void *to, const void *more, int64_t n)            \
  {                                                                     \
    T *restrict y = to;                                                 \
    const T *restrict x = more;                                         \
    for (int64_t i = 0; i < n; i++) y[i] = PUT(GET(y[i]) + GET(x[i]));  \
  }
ADD(F32, float, , )
ADD(F64, double, , )
ADD(I32, uint32_t, , )
ADD(I64, uint64_t, , )
ADD(I8, uint8_t, , (uint8_t))
ADD(U8, uint8_t, , (uint8_t))
ADD(F16, uint16_t, jf_from_f16, jf_to_f16)
ADD(BF16, uint16_t, jf_from_bf16, jf_to_bf16)
const jf_increasing jf_increase[JFL_N_DTYPE] = { JF_DTYPES(add_) };
