/* The op matmul_update: a parameter's step along a matrix product. Sums of float32 are accumulated
   in double. */
#include "optim/matmul_update.h"
#include "optim/optim.h"

JF_ATTRS(attrs,
  JF_FIELD(jf_matmul, transpose_a, BOOL, "false", "read a in reverse"),
  JF_FIELD(jf_matmul, transpose_b, BOOL, "false", "the same for b"))

/* Checks that the product of a and b has the parameter's shape. */
static jfl_status matmul_update_infer(jf_infer *c)
{
  const jfl_value *param = c->in[JF_STEP_PARAM];
  const jfl_value *scalars = c->in[JF_STEP_SCALARS];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  jf_infer product = { .op = &jf_op_matmul, .in = c->in + JF_STEP_A, .n_in = 2, .attr = c->attr,
                       .arena = c->arena };
  jf_infer_many(&product, 1);
  JF_TRY(product.op->infer(&product));
  if (param->shape.n != 2 || param->dtype != product.dtype[0] ||
      !jf_shape_eq(&param->shape, &product.shape[0]))
    return jf_fail_argument(JFL_ESHAPE, "param", "must be %s %s like the product, both one "
                            "matrix, got %s %s", jfl_dtype_name(product.dtype[0]),
                            jf_shape_str(&product.shape[0], t), jfl_dtype_name(param->dtype),
                            jf_shape_str(&param->shape, s));
  if (scalars->dtype == JFL_F64 && jf_numel(&scalars->shape) == JF_FIRST_SCALAR) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "scalars", "must be float64 (%d), got %s %s",
                          JF_FIRST_SCALAR, jfl_dtype_name(scalars->dtype),
                          jf_shape_str(&scalars->shape, s));
}

/* How many elements lie between neighbouring rows of a factor, and between neighbouring columns. */
typedef struct strides { int64_t row, column; } strides;

static strides strides_of(const jf_tensor *t, int transposed)
{
  return transposed ? (strides){ 1, t->shape.d[1] } : (strides){ t->shape.d[1], 1 };
}

enum { WIDTH = 256 };

/* w[i, j] -= rate * (sum over l of a[i, l] b[l, j]), for columns j0 to j0 + width - 1 of row i. */
#define STRETCH(D, T)                                                                        \
  static void matmul_update_stretch_##D(const jf_kargs *k, int64_t i, int64_t j0, int width, \
                                         T rate)                                             \
  {                                                                                          \
    const jf_matmul *p = k->attr;                                                            \
    const jf_tensor *in = k->in;                                                             \
    const strides sa = strides_of(&in[JF_STEP_A], p->transpose_a);                           \
    const strides sb = strides_of(&in[JF_STEP_B], p->transpose_b);                           \
    const T *a = (const T *)in[JF_STEP_A].data + i * sa.row, *b = in[JF_STEP_B].data;        \
    T *w = (T *)in[JF_STEP_PARAM].data + i * in[JF_STEP_PARAM].shape.d[1] + j0;              \
    double sum[WIDTH] = { 0 };                                                               \
    for (int64_t l = 0, n = in[JF_STEP_A].shape.d[!p->transpose_a]; l < n; l++)              \
      for (int j = 0; j < width; j++)                                                        \
        sum[j] += (double)a[l * sa.column] * (double)b[l * sb.row + (j0 + j) * sb.column];   \
    for (int j = 0; j < width; j++) w[j] -= rate * (T)sum[j];                                \
  }
#define KERNEL(D, T)                                                                   \
  static jfl_status step_##D(const jf_kargs *k)                                        \
  {                                                                                    \
    const int64_t *d = k->in[JF_STEP_PARAM].shape.d;                                   \
    for (int64_t i = 0; i < d[0]; i++)                                                 \
      for (int64_t j = 0; j < d[1] && !jf_loop_ends(); j += WIDTH)                     \
        matmul_update_stretch_##D(k, i, j, d[1] - j < WIDTH ? (int)(d[1] - j) : WIDTH, \
                                  (T)jf_step_rate(k));                                 \
    return JFL_OK;                                                                     \
  }
JF_EACH_FLOAT(STRETCH)
JF_EACH_FLOAT(KERNEL)

static double matmul_update_flop(const jf_kargs *k)
{
  const jf_matmul *p = k->attr;
  return 2 * (double)jf_numel(&k->in[JF_STEP_PARAM].shape) *
         (double)k->in[JF_STEP_A].shape.d[!p->transpose_a];
}

JFL_OP(matmul_update, .doc = "param -= lr scale (a b), for matrices.",
  .in = {"param", "a", "b", "scalars"}, JF_WITH(attrs, jf_matmul),
  .flags = JF_EFFECT, .mutates = 1 << JF_STEP_PARAM, .infer = matmul_update_infer,
  .cpu = JF_KERNELS(JF_FLOATS(step_)), .flop = matmul_update_flop)
