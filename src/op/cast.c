/* Conversion between dtypes. Integers saturate; not-a-number becomes 0. */
#include "op/cast.h"
#include "op/elementwise.h"

#include <string.h>

static const jf_attr attrs[] = {
  JF_FIELD(jf_cast, dtype, DTYPE, NULL, "the dtype of the result"),
  {0},
};

static jfl_status cast_infer(jf_infer *c)
{
  jfl_dtype to = ((const jf_cast *)c->attr)->dtype;
  if (!(JF_COMPUTED >> to & 1)) return jf_fail_dtype("dtype", JF_COMPUTED, to);
  c->shape[0] = c->in[0]->shape;
  c->dtype[0] = to;
  return JFL_OK;
}

static void cast_grad(jf_gradctx *c)
{
  jf_cast back = { c->in[0]->dtype };
  if (jf_is_float(c->in[0]->dtype) && jf_is_float(c->out[0]->dtype))
    c->dx[0] = JF_EMIT(c->g, cast, &back, c->dy[0]);
}

/* Whether dtype `to` can represent every number of `from`. */
static int holds_all(jfl_dtype to, jfl_dtype from)
{
  static const int digits[] = { [JFL_F32] = 24, [JFL_F64] = 53, [JFL_F16] = 11, [JFL_BF16] = 8,
                                [JFL_I8] = 8, [JFL_U8] = 8, [JFL_I32] = 32, [JFL_I64] = 64 };
  if (to == from) return 1;
  if (jf_is_float(from)) return jf_is_float(to) && digits[to] > digits[from] && digits[to] >= 24;
  return jf_is_float(to) || to == JFL_I32 || to == JFL_I64 ? digits[to] > digits[from] : 0;
}

/* A cast to a dtype that keeps every number, followed by another cast, is that other cast alone. */
static jfl_value *cast_fold(jf_foldctx *c)
{
  jfl_value *x = c->node->in[0];
  const jf_node *before = jf_made_by(x, &jf_op_cast);
  if (x->dtype == c->node->out[0]->dtype) return x;
  if (!before || !holds_all(x->dtype, before->in[0]->dtype)) return NULL;
  return JF_EMIT(c->g, cast, c->node->attr, before->in[0]);
}

/* What jf_cast(a) computes: first where O is a floating type, then where it is an integer. In the
   comparison with a float, LEAST and MOST are converted to float: INT64_MAX becomes 0x1p63, the
   first number that int64 cannot hold. */
#pragma GCC diagnostic ignored "-Wconversion"
#define TO_FLOAT return (O)a;
#define TO_INT return a != a ? 0 : a <= LEAST ? LEAST : a >= MOST ? MOST : (O)a;

#define LOOP(FD, T, D, O_, BODY, LO, HI)                                  \
  static inline O_ FD##_to_##D(T a)                                       \
  {                                                                       \
    typedef O_ O;                                                         \
    const O LEAST = LO, MOST = HI;                                        \
    (void)LEAST, (void)MOST;                                              \
    BODY                                                                  \
  }                                                                       \
  JF_BODY void from_##FD##_to_##D##_body(const void *in, void *out, int64_t n) \
  {                                                                       \
    const T *x = in;                                                      \
    O_ *y = out;                                                          \
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[i] = FD##_to_##D(x[i]); \
  }                                                                       \
  JF_DISPATCH(from_##FD##_to_##D, (const void *in, void *out, int64_t n), (in, out, n))
typedef void (*cast_loop)(const void *in, void *out, int64_t n);
#define CASTS(FD, FT)                                                         \
  LOOP(FD, FT, F32, float, TO_FLOAT, 0, 0)                                    \
  LOOP(FD, FT, F64, double, TO_FLOAT, 0, 0)                                   \
  LOOP(FD, FT, I8, int8_t, TO_INT, INT8_MIN, INT8_MAX)                        \
  LOOP(FD, FT, U8, uint8_t, TO_INT, 0, UINT8_MAX)                             \
  LOOP(FD, FT, I32, int32_t, TO_INT, INT32_MIN, INT32_MAX)                    \
  LOOP(FD, FT, I64, int64_t, TO_INT, INT64_MIN, INT64_MAX)                    \
  static const cast_loop from_##FD[JFL_N_DTYPE] = {                           \
    [JFL_F32] = from_##FD##_to_F32, [JFL_F64] = from_##FD##_to_F64,           \
    [JFL_I8] = from_##FD##_to_I8, [JFL_U8] = from_##FD##_to_U8,               \
    [JFL_I32] = from_##FD##_to_I32, [JFL_I64] = from_##FD##_to_I64,           \
  };
#define KERNEL(D)                                                                   \
  static void loop_##D(const jf_loop_args *t)                                       \
  {                                                                                 \
    jfl_dtype to = ((const jf_cast *)t->attr)->dtype;                               \
    size_t size = jfl_dtype_size(to);                                               \
    from_##D[to](t->in[0], t->out, t->step[0] ? t->n : 1);                          \
    for (int64_t i = 1; i < t->n && !t->step[0]; i++)                               \
      memcpy((char *)t->out + (size_t)i * size, t->out, size);                      \
  }                                                                                 \
  static jfl_status cast_##D(const jf_kargs *k)                                     \
  {                                                                                 \
    from_##D[k->out[0].dtype](k->in[0].data, k->out[0].data, jf_numel(&k->in[0].shape)); \
    return JFL_OK;                                                                  \
  }
CASTS(F32, float)
CASTS(F64, double)
CASTS(I8, int8_t)
CASTS(U8, uint8_t)
CASTS(I32, int32_t)
CASTS(I64, int64_t)
KERNEL(F32)
KERNEL(F64)
KERNEL(I8)
KERNEL(U8)
KERNEL(I32)
KERNEL(I64)

static const jf_kernel cpu[JFL_N_DTYPE] = {
  [JFL_F32] = cast_F32, [JFL_F64] = cast_F64, [JFL_I8] = cast_I8,
  [JFL_U8] = cast_U8, [JFL_I32] = cast_I32, [JFL_I64] = cast_I64,
};
static const jf_loop loop[JFL_N_DTYPE] = {
  [JFL_F32] = loop_F32, [JFL_F64] = loop_F64, [JFL_I8] = loop_I8,
  [JFL_U8] = loop_U8, [JFL_I32] = loop_I32, [JFL_I64] = loop_I64,
};

JFL_OP(cast, .doc = "x in another dtype; integers saturate.", .path = "cast", .in = {"x"},
  .out = {"y"}, .attr = attrs, .attr_size = sizeof(jf_cast), .infer = cast_infer, .grad = cast_grad,
  .fold = cast_fold, .cpu = cpu, .loop = loop, .expr = "jf_cast(a)",
  .define = { JF_STRING(TO_FLOAT), JF_STRING(TO_INT) })
