/* The op assign writes a variable. Optimizers use it for slots that their formula does not
   change. */
#include "op/op.h"

#include <string.h>

static jfl_status assign_infer(jf_infer *c)
{
  const jfl_value *to = c->in[0], *value = c->in[1];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  if (value->dtype == to->dtype && jf_shape_eq(&value->shape, &to->shape)) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "value", "must be %s %s like variable, got %s %s",
                          jfl_dtype_name(to->dtype), jf_shape_str(&to->shape, s),
                          jfl_dtype_name(value->dtype), jf_shape_str(&value->shape, t));
}

static jfl_status assign(const jf_kargs *k)
{
  const jf_tensor *to = &k->in[0];
  memcpy(to->data, k->in[1].data, JF_BYTES_OF(to));
  return JFL_OK;
}

JFL_OP(assign, .doc = "Writes value into variable.", .in = {"variable", "value"},
  .flags = JF_EFFECT | JF_POINTWISE, .mutates = 1, .infer = assign_infer,
  .cpu = JF_KERNELS(JF_EVERY_DTYPE(assign)))
