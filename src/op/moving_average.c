/* The op that moves a variable towards a value, as batch normalization does with its statistics. */
#include "op/attrs.h"
#include "op/op.h"

JF_ATTRS(attrs,
  JF_RANGE(jf_moving_average, momentum, NUM, NULL, "from 0 to 1",
           "the share of the variable that is kept"))

static jfl_status moving_average_infer(jf_infer *c) { return jf_op_assign.infer(c); }

/* variable = momentum variable + (1 - momentum) value */
#define MOVING_AVERAGE(D, T)                                                      \
  static jfl_status moving_average_##D(const jf_kargs *k)                         \
  {                                                                               \
    const double m = ((const jf_moving_average *)k->attr)->momentum;              \
    T *to = k->in[0].data;                                                        \
    const T *value = k->in[1].data;                                               \
    for (int64_t i = 0, n = jf_numel(&k->in[0].shape); i < n && !jf_loop_ends_at(i, 1); i++) \
      to[i] = (T)(m * to[i] + (1 - m) * value[i]);                                \
    return JFL_OK;                                                                \
  }
JF_EACH_FLOAT(MOVING_AVERAGE)

JFL_OP(moving_average, .doc = "Moves variable towards value.", .in = { "variable", "value" },
       JF_WITH(attrs, jf_moving_average), .flags = JF_EFFECT | JF_POINTWISE,
       .mutates = 1, .infer = moving_average_infer, .cpu = JF_KERNELS(JF_FLOATS(moving_average_)))
