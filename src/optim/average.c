/* Exponential moving averages of parameters, which an update moves right after its step, and the op
   that says how far. */
#include "optim/average.h"
#include "op/scalar.h"
#include "optim/rule.h"

#define average_slots(S) S(ema, LIKE, 0)
#define average_scalars(S) S(share, *a)
JF_RULE(average, double, 0, ema += share * (w - ema))

const jf_rule *const jf_average = &average_rule;

void jf_average_of(const jf_kargs *k, const jf_update_args *u, jf_average_args *out)
{
  const jf_update *a = k->attr;
  out->tensor[JF_PARAM] = u->tensor[JF_PARAM];
  out->tensor[JF_GRAD] = u->tensor[JF_GRAD];
  out->tensor[JF_FIRST_SLOT] = u->tensor[a->stride - 1];
  out->scalar[JF_SCALE] = 1;
  out->scalar[JF_RATE] = 0;
  average_set_scalars(k->in[k->n_in - 2].data, 0, out->scalar);
  out->args = (jf_update_args){ out->tensor, u->from, u->n, out->scalar, NULL };
}

JF_ATTRS(attrs,
  JF_RANGE(jf_average_share, decay, NUM, NULL, JF_BELOW_ONE, "how much an average keeps of itself"),
  JF_FIELD(jf_average_share, warms_up, BOOL, "false", "keeps less of itself at first"))

static jfl_status average_share_infer(jf_infer *c)
{
  char s[JF_SHAPE_STR];
  const jfl_value *count = c->in[0];
  if (count->dtype != JFL_I64 || jf_numel(&count->shape) != 1)
    return jf_fail_argument(JFL_ESHAPE, "count", "must be int64 (1), got %s %s",
                            jfl_dtype_name(count->dtype), jf_shape_str(&count->shape, s));
  c->dtype[0] = JFL_F64;
  c->shape[0] = (jfl_shape){ 1, { 1 } };
  return JFL_OK;
}

/* The first step of all makes the averages what the parameters are. */
static const char average_attributes_text[] = JF_QUOTED(JF_AVERAGE_SHARE);
JF_TWICE(jf_average_share_text,
JF_LOCAL void average_share_run(const void *attr, void *const *at, int n)
{
  const jf_average_share *a = (const jf_average_share *)attr;
  const double t = (double)*(const int64_t *)at[0], rising = (1 + t) / (10 + t);
  const double keeps = a->warms_up && rising < a->decay ? rising : a->decay;
  (void)n;
  *(double *)at[1] = t == 0 ? 1 : 1 - keeps;
})
JF_SCALAR_OP(average_share, average_attributes_text, jf_average_share_text)

JFL_OP(average_share, .doc = "What averages take of parameters, after count steps.",
  .in = {"count"}, .out = {"share"}, JF_WITH(attrs, jf_average_share), .infer = average_share_infer,
  .cpu = JF_KERNELS([JFL_I64] = average_share_plain), .small = average_share_small)
