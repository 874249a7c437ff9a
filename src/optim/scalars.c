/* The op optimizer_scalars: the numbers of a step as one small tensor, which all updates of an
   optimizer read. */
#include "optim/scalars.h"
#include "optim/optim.h"

enum { STEP, LR, SET, SCALE };       /* the inputs; those behind the scale may skip the step */

static const jf_attr attrs[] = {
  JF_FIELD(jf_optim_choice, optimizer, STR, NULL, "its name"),
  JF_FIELD(jf_optim_choice, options, NUMS, "none", "its options in their order"),
  {0},
};

static jfl_status infer_rate(const jfl_value *v, const char *what)
{
  char s[JF_SHAPE_STR];
  if (v->dtype == JFL_F64 && jf_numel(&v->shape) == 1) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, what, "must be float64 (1), got %s %s",
                          jfl_dtype_name(v->dtype), jf_shape_str(&v->shape, s));
}

static jfl_status scalars_infer(jf_infer *c)
{
  jf_optim_choice *a = c->attr;
  const jfl_value *step = c->in[STEP], *set = c->in[SET];
  char s[JF_SHAPE_STR];
  if (step->dtype != JFL_I64 || jf_numel(&step->shape) != 1)
    return jf_fail_argument(JFL_ESHAPE, "step", "must be int64 (1), got %s %s",
                            jfl_dtype_name(step->dtype), jf_shape_str(&step->shape, s));
  JF_TRY(infer_rate(c->in[LR], "lr"));
  if (set->dtype != JFL_F64 || jf_numel(&set->shape) != JF_N_SET)
    return jf_fail_argument(JFL_ESHAPE, "set", "must be float64 (%d), got %s %s", JF_N_SET,
                            jfl_dtype_name(set->dtype), jf_shape_str(&set->shape, s));
  for (int i = SCALE; i < c->n_in; i++) JF_TRY(infer_rate(c->in[i], "scale"));
  JF_TRY(jf_optim_read(c->arena, a));
  c->dtype[0] = JFL_F64;
  c->shape[0] = (jfl_shape){ 1, { JF_FIRST_SCALAR + a->rule->n_scalar } };
  return JFL_OK;
}

static jfl_status scalars_plain(const jf_kargs *k)
{
  const jf_optim_choice *a = k->attr;
  const double *set = k->in[SET].data;
  double *out = k->out[0].data;
  out[JF_SCALE] = k->n_in > SCALE ? *(const double *)k->in[SCALE].data : 1;
  for (int i = SCALE; i < k->n_in; i++)
    if (*(const double *)k->in[i].data < 0) out[JF_SCALE] = -1;
  out[JF_RATE] = set[JF_IS_SET] != 0 ? set[JF_SET_RATE] : *(const double *)k->in[LR].data;
  if (a->optim->scalars) a->optim->scalars(a->attr, *(const int64_t *)k->in[STEP].data + 1, out);
  return JFL_OK;
}
static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_F64] = scalars_plain };

JFL_OP(optimizer_scalars, .doc = "The numbers of a step: scale, rate, the optimizer's scalars.",
  .in = {"step", "lr", "set", "scale"}, .out = {"scalars"}, .attr = attrs,
  .attr_size = sizeof(jf_optim_choice), .flags = JF_OPTIONAL, .key = LR, .infer = scalars_infer,
  .cpu = cpu)
