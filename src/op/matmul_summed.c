/* The op matmul_summed: a matrix product, and sums of one of its factors, as the gradients of a
   layer's weights and of its bias are. Sums are in double. */
#include "op/matmul.h"
#include "op/op.h"

JF_ATTRS(attrs, JF_MATMUL_ATTRS(jf_matmul_summed, product.),
  { "of_b", JF_ATTR_BOOL, offsetof(jf_matmul_summed, of), "false", "b is summed, not a", NULL })

static jfl_status matmul_summed_infer(jf_infer *c)
{
  const jf_matmul_summed *a = c->attr;
  char s[JF_SHAPE_STR];
  JF_TRY(jf_op_matmul.infer(c));
  const jfl_shape *of = &c->in[a->of]->shape;
  if (jf_matmul_sum_axis(&a->product, of, a->of) < 0)
    return jf_fail_argument(JFL_ESHAPE, a->of ? "b" : "a",
                            "must be a matrix whose first axis is what the product sums over, "
                            "got %s", jf_shape_str(of, s));
  c->shape[1] = (jfl_shape){ .n = 1, .d = { of->d[1] } };
  c->dtype[1] = c->dtype[0];
  return JFL_OK;
}

#define KERNEL(D, T)                                                              \
  static jfl_status matmul_summed_##D(const jf_kargs *k)                          \
  {                                                                               \
    const jf_tensor *of = &k->in[((const jf_matmul_summed *)k->attr)->of];        \
    const int64_t lines = of->shape.d[0], columns = of->shape.d[1];               \
    const T *x = of->data;                                                        \
    T *sums = k->out[1].data;                                                     \
    for (int64_t j = 0; j < columns && !jf_loop_ends_at(j, lines); j++) {         \
      double sum = 0;                                                             \
      for (int64_t i = 0; i < lines; i++) sum += x[i * columns + j];              \
      sums[j] = (T)sum;                                                           \
    }                                                                             \
    return jf_numel(&k->out[0].shape) ? jf_op_matmul.cpu[JFL_##D](k) : JFL_OK;    \
  }
JF_EACH_FLOAT(KERNEL)

JFL_OP(matmul_summed, .doc = "matmul, and sums of a factor.", .in = { "a", "b" },
       .out = { "y", "sums" }, JF_WITH(attrs, jf_matmul_summed),
       .infer = matmul_summed_infer, .cpu = JF_KERNELS(JF_FLOATS(matmul_summed_)),
       JF_OF_PRODUCT)
