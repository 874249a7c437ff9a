/* Conversion between dtypes. Integers saturate; not-a-number becomes 0. */
#include "op/cast.h"
#include "dev/half.h"
#include "op/elementwise.h"
#include "op/op.h"

#include <string.h>

JF_ATTRS(attrs, JF_FIELD(jf_cast, dtype, DTYPE, NULL, "the dtype of the result"))

static jfl_status cast_infer(jf_infer *c)
{
  c->shape[0] = c->in[0]->shape;
  c->dtype[0] = ((const jf_cast *)c->attr)->dtype;
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

/* LOAD gives an element of dtype FD as a number of type T, STORE a number of type O as an element
   of dtype D. */
#define LOOP(FD, FROM, T, LOAD, D, TO, O_, STORE, BODY, LO, HI)           \
  static inline O_ FD##_to_##D(T a)                                       \
  {                                                                       \
    typedef O_ O;                                                         \
    const O LEAST = LO, MOST = HI;                                        \
    (void)LEAST, (void)MOST;                                              \
    BODY                                                                  \
  }                                                                       \
  JF_BODY void from_##FD##_to_##D##_body(const void *in, void *out, int64_t n) \
  {                                                                       \
    const FROM *x = in;                                                   \
    TO *y = out;                                                          \
    JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[i] = STORE(FD##_to_##D(LOAD(x[i]))); \
  }                                                                       \
  JF_DISPATCH_OF(D)(from_##FD##_to_##D, (const void *in, void *out, int64_t n), (in, out, n))
typedef void (*cast_loop)(const void *in, void *out, int64_t n);
#define SAME(x) x
/* H is the type in which numbers are rounded to a float of 16 bits. */
#define TO_F16(v) _Generic((v), float: jf_to_f16, double: jf_double_to_f16)(v)
#define TO_BF16(v) jf_to_bf16((float)(v))
#define CASTS(FD, FROM, T, H, LOAD)                                                          \
  LOOP(FD, FROM, T, LOAD, F32, float, float, SAME, TO_FLOAT, 0, 0)                           \
  LOOP(FD, FROM, T, LOAD, F64, double, double, SAME, TO_FLOAT, 0, 0)                         \
  LOOP(FD, FROM, T, LOAD, F16, uint16_t, H, TO_F16, TO_FLOAT, 0, 0)                          \
  LOOP(FD, FROM, T, LOAD, BF16, uint16_t, H, TO_BF16, TO_FLOAT, 0, 0)                        \
  LOOP(FD, FROM, T, LOAD, I8, int8_t, int8_t, SAME, TO_INT, INT8_MIN, INT8_MAX)              \
  LOOP(FD, FROM, T, LOAD, U8, uint8_t, uint8_t, SAME, TO_INT, 0, UINT8_MAX)                  \
  LOOP(FD, FROM, T, LOAD, I32, int32_t, int32_t, SAME, TO_INT, INT32_MIN, INT32_MAX)         \
  LOOP(FD, FROM, T, LOAD, I64, int64_t, int64_t, SAME, TO_INT, INT64_MIN, INT64_MAX)         \
  static const cast_loop from_##FD[JFL_N_DTYPE] = { JF_DTYPES(from_##FD##_to_) };             \
  static void loop_##FD(const jf_loop_args *t)                                               \
  {                                                                                          \
    jfl_dtype to = ((const jf_cast *)t->attr)->dtype;                                        \
    size_t size = jfl_dtype_size(to);                                                        \
    from_##FD[to](t->in[0], t->out, t->step[0] ? t->n : 1);                                  \
    for (int64_t i = 1; i < t->n && !t->step[0]; i++)                                        \
      memcpy((char *)t->out + (size_t)i * size, t->out, size);                               \
  }                                                                                          \
  static jfl_status cast_##FD(const jf_kargs *k) { return jf_elementwise(k, loop_##FD); }
CASTS(F32, float, float, float, SAME)
CASTS(F64, double, double, double, SAME)
CASTS(F16, uint16_t, float, float, jf_from_f16)
CASTS(BF16, uint16_t, float, float, jf_from_bf16)
CASTS(I8, int8_t, int8_t, float, SAME)
CASTS(U8, uint8_t, uint8_t, float, SAME)
CASTS(I32, int32_t, int32_t, double, SAME)
CASTS(I64, int64_t, int64_t, double, SAME)

static const jf_loop loop[JFL_N_DTYPE] = { JF_DTYPES(loop_) };

static void cast_signatures(jf_signatures *c)
{
  jf_signatures_pointwise(c);
  if (jf_is_float(c->node->in[0]->dtype) && jf_is_float(c->node->out[0]->dtype))
    jf_signature_say(c, "P->P");
}

jfl_value *jf_emit_as(jfl_graph *g, jfl_value *v, jfl_dtype t)
{
  const jf_cast to = { t };
  return v && v->dtype != t ? JF_EMIT(g, cast, &to, v) : v;
}

JFL_OP(cast, .doc = "x in another dtype; integers saturate.", .path = "cast", .in = {"x"},
  .out = {"y"}, JF_WITH(attrs, jf_cast), .flags = JF_HALVES, .infer = cast_infer, .grad = cast_grad,
  .signatures = cast_signatures, .fold = cast_fold, .cpu = JF_KERNELS(JF_DTYPES(cast_)),
  .loop = loop, .expr = "jf_cast(a)", .define = { JF_STRING(TO_FLOAT), JF_STRING(TO_INT) })
