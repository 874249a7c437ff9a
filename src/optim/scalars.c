/* The op optimizer_scalars: the numbers of a step as one small tensor, which all updates of an
   optimizer read. */
#include "optim/scalars.h"
#include "optim/optim.h"

/* The inputs; those behind the scale may skip the step. */
#define SCALARS_INPUTS enum { STEP, LR, SET, SCALE };
SCALARS_INPUTS

JF_ATTRS(attrs,
  JF_FIELD(jf_optim_choice, optimizer, STR, NULL, "its name"),
  JF_FIELD(jf_optim_choice, options, NUMS, "none", "its options in their order"))

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
  JF_TRY(jf_scalar_check(c));
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

const char jf_step_numbers_text[] = JF_QUOTED(JF_STEP_NUMBERS);
static const char scalars_inputs_text[] = JF_QUOTED(SCALARS_INPUTS JF_RATE_NUMBERS);
/* The output is the last tensor. `own` sets the scalars of the optimizer's rule. */
JF_TWICE(jf_scalars_text,
JF_LOCAL void scalars_run(const void *attr, void *const *at, int n,
                          void (*own)(const void *attr, int64_t t, double *scalar))
{
  const double *set = (const double *)at[SET];
  double *out = (double *)at[n - 1];
  out[JF_SCALE] = n - 1 > SCALE ? *(const double *)at[SCALE] : 1;
  for (int i = SCALE; i < n - 1; i++)
    if (*(const double *)at[i] < 0) out[JF_SCALE] = -1;
  out[JF_RATE] = set[JF_IS_SET] != 0 ? set[JF_SET_RATE] : *(const double *)at[LR];
  own(attr, *(const int64_t *)at[STEP] + 1, out);
})

static jfl_status scalars_plain(const jf_kargs *k)
{
  const jf_optim_choice *a = k->attr;
  void *at[JF_SMALL_TENSORS];
  scalars_run(a->attr, at, jf_scalar_tensors(k, at), a->rule->scalars);
  return JFL_OK;
}

static void scalars_small(const jfl_op *op, const void *attr, jf_scalar_op *s)
{
  const jf_optim_choice *a = attr;
  const jfl_optimizer *o = a->optim;
  int n = 0;
  (void)op;
  *s = (jf_scalar_op){ .run = "scalars_run", .more = a->rule->scalars_name, .attr = a->attr,
                       .attr_size = o->attr_size };
  s->text[n++] = jf_step_numbers_text;
  s->text[n++] = scalars_inputs_text;
  for (const char *const *t = o->text; *t; t++) s->text[n++] = *t;
  s->text[n++] = a->rule->scalars_text;
  s->text[n] = jf_scalars_text;
}

JFL_OP(optimizer_scalars, .doc = "The numbers of a step: scale, rate, the optimizer's scalars.",
  .in = {"step", "lr", "set", "scale"}, .out = {"scalars"}, JF_WITH(attrs, jf_optim_choice),
  .flags = JF_OPTIONAL, .key = LR, .infer = scalars_infer,
  .cpu = JF_KERNELS([JFL_F64] = scalars_plain), .small = scalars_small)
