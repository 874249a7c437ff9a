/* What update ops share: their shape rule, and running their loops. */
#include "op/update.h"

enum { PARAM, GRAD, LR, SLOT };      /* their inputs; scale comes after the slots */

int jf_update_slots(const jfl_op *op) { return jf_op_n_in(op) - SLOT - 1; }

jfl_status jf_infer_rate(const jfl_value *v, const char *what)
{
  char s[JF_SHAPE_STR];
  if (v->dtype == JFL_F64 && jf_numel(&v->shape) == 1) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, what, "must be float64 (1), got %s %s",
                          jfl_dtype_name(v->dtype), jf_shape_str(&v->shape, s));
}

/* Gradient and slots are like the parameter. */
jfl_status jf_infer_update(jf_infer *c)
{
  const jfl_value *param = c->in[PARAM];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  int most = jf_op_n_in(c->op);
  if (c->n_in > most)
    return jf_fail(JFL_EINVAL, "takes at most %d inputs, got %d", most, c->n_in);
  for (int i = GRAD; i < c->n_in && i < most - 1; i++)
    if (i != LR && (c->in[i]->dtype != param->dtype ||
                    !jf_shape_eq(&c->in[i]->shape, &param->shape)))
      return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be %s %s like param, got %s %s",
                              jfl_dtype_name(param->dtype), jf_shape_str(&param->shape, s),
                              jfl_dtype_name(c->in[i]->dtype), jf_shape_str(&c->in[i]->shape, t));
  if (c->n_in == most) JF_TRY(jf_infer_rate(c->in[most - 1], "scale"));
  return jf_infer_rate(c->in[LR], "lr");
}

jfl_status jf_update_plain(const jf_kargs *k, int slots, jf_update_loop loop)
{
  jf_update_args u = { .n = jf_numel(&k->in[PARAM].shape), .param = k->in[PARAM].data,
                       .grad = k->in[GRAD].data, .lr = *(const double *)k->in[LR].data, .scale = 1,
                       .attr = k->attr };
  for (int i = 0; i < slots; i++) u.slot[i] = k->in[SLOT + i].data;
  if (k->n_in > SLOT + slots) u.scale = *(const double *)k->in[SLOT + slots].data;
  loop(&u);
  return JFL_OK;
}
