/* Sums and products of all elements up to each place along an axis. Those of float32 are kept in
   double. */
#include "op/attrs.h"
#include "op/move.h"

JF_ATTRS(attrs,
  JF_FIELD(jf_cumulate, axis, INT, "0", "the axis along which elements are taken together"),
  JF_FIELD(jf_cumulate, exclusive, BOOL, "false", "leave out the element at the place itself"),
  JF_FIELD(jf_cumulate, reverse, BOOL, "false", "begin at the end of the axis"))

static jfl_status cumulate_infer(jf_infer *c)
{
  JF_TRY(jf_infer_same(c));
  return jf_axis(&((jf_cumulate *)c->attr)->axis, c->in[0]->shape.n);
}

static void cumsum_grad(jf_gradctx *c)
{
  jf_cumulate a = *(const jf_cumulate *)c->node->attr;
  a.reverse = !a.reverse;
  c->dx[0] = JF_EMIT(c->g, cumsum, &a, c->dy[0]);
}

static void cumprod_to_grad(jf_gradctx *c)
{
  c->dx[0] = JF_EMIT(c->g, cumprod_grad, c->node->attr, c->in[0], c->dy[0]);
}

/* A line of m elements that are `step` apart, negative where it is taken from its end. */
#define EACH_LINE(T)                                                            \
  const jf_cumulate *a = k->attr;                                               \
  const jf_axes s = jf_axes_at(&k->in[0].shape, a->axis);                       \
  const int64_t step = a->reverse ? -s.after : s.after, m = s.m;                \
  for (int64_t i = 0; i < s.before * s.after && !jf_loop_ends_at(i, m); i++) {  \
    const int64_t first = i / s.after * m * s.after + i % s.after;              \
    const int64_t at = a->reverse && m ? first + (m - 1) * s.after : first;     \
    const T *x = (const T *)k->in[0].data + at;                                 \
    T *y = (T *)k->out[0].data + at;

#define CUMULATE(id, D, T, A, INIT, STEP)                                       \
  static jfl_status id##_##D(const jf_kargs *k)                                 \
  {                                                                             \
    EACH_LINE(T)                                                                \
      A acc = INIT;                                                             \
      for (int64_t j = 0; j < m && !jf_loop_ends_at(j, 1); j++) {               \
        const A v = (A)x[j * step], before = acc;                               \
        acc = STEP;                                                             \
        y[j * step] = (T)(a->exclusive ? before : acc);                         \
      }                                                                         \
    }                                                                           \
    return JFL_OK;                                                              \
  }
#define BOTH(D, T, A) \
  CUMULATE(cumsum, D, T, A, 0, acc + v) CUMULATE(cumprod, D, T, A, 1, acc * v)
BOTH(F32, float, double)
BOTH(F64, double, double)
BOTH(I32, int32_t, uint64_t)
BOTH(I64, int64_t, uint64_t)

/* dx[i] = P[i] S[i] with P[i], the product of all x before i, and S[i], the sum of what the results
   from i on get, divided by x[i] and what precedes it:
     S[i] = dy[i] + x[i+1] S[i+1], or, if results leave out their own element, dy[i+1] + x[i+1]
     S[i+1].
   So nothing is divided, and zeros need no case of their own. S goes to dx first. */
#define BACK(D, T)                                                              \
  static jfl_status cumprod_back_##D(const jf_kargs *k)                         \
  {                                                                             \
    EACH_LINE(T)                                                                \
      const T *dy = (const T *)k->in[1].data + at;                              \
      double sum = 0, next = 0, before = 1;                                     \
      for (int64_t j = m - 1; j >= 0 && !jf_loop_ends_at(j, 1); j--) {          \
        const double own = (double)dy[j * step], v = (double)x[j * step];       \
        sum = a->exclusive ? next : own + next;                                 \
        next = a->exclusive ? own + v * sum : v * sum;                          \
        y[j * step] = (T)sum;                                                   \
      }                                                                         \
      for (int64_t j = 0; j < m && !jf_loop_ends_at(j, 1); j++) {               \
        y[j * step] = (T)(before * (double)y[j * step]);                        \
        before *= (double)x[j * step];                                          \
      }                                                                         \
    }                                                                           \
    return JFL_OK;                                                              \
  }
JF_EACH_FLOAT(BACK)

static void cumprod_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 1u << ((const jf_cumulate *)c->node->attr)->axis);
}

static void cumsum_signatures(jf_signatures *c)
{
  cumprod_signatures(c);
  jf_signature_say(c, "P->P");
}

JFL_OP(cumsum, .doc = "The sums of all elements of x up to each place along axis.",
  .path = "cumsum math.cumsum", .in = {"x"}, .alike = 1, .out = {"y"}, JF_WITH(attrs, jf_cumulate),
  .inplace = 1, .infer = cumulate_infer, .grad = cumsum_grad, .cpu = JF_KERNELS(JF_NUMS(cumsum_)),
  .signatures = cumsum_signatures)

JFL_OP(cumprod, .doc = "The products of all elements of x up to each place along axis.",
  .path = "cumprod math.cumprod", .in = {"x"}, .alike = 1, .out = {"y"},
  JF_WITH(attrs, jf_cumulate), .inplace = 1, .infer = cumulate_infer, .grad = cumprod_to_grad,
  .cpu = JF_KERNELS(JF_NUMS(cumprod_)), .signatures = cumprod_signatures)

JFL_OP(cumprod_grad, .doc = "Gradient of cumprod at x.", .in = {"x", "dy"}, .out = {"dx"},
  JF_WITH(attrs, jf_cumulate), .infer = cumulate_infer,
  .cpu = JF_KERNELS(JF_FLOATS(cumprod_back_)), .signatures = cumprod_signatures)
