/* Learning rates as functions of the train step, computed in double, and the step itself. */
#include "op/schedule.h"
#include "op/op.h"

#include <string.h>

static const jf_attr piecewise_attrs[] = {
  JF_FIELD(jf_piecewise, boundaries, NUMS, NULL, "the last step of each piece but the last one"),
  JF_FIELD(jf_piecewise, values, NUMS, NULL, "the rate of each piece"),
  JF_WORD(jf_piecewise, warmup, "none", "none constant linear", "how the rate starts"),
  JF_FIELD(jf_piecewise, warmup_steps, INT, "0", "for how many steps"),
  JF_FIELD(jf_piecewise, warmup_multiplier, NUM, "0", "what the rate is multiplied by then"),
  {0},
};

static jfl_status check_warmup(const jf_piecewise *w)
{
  if (!w->warmup || !strcmp(w->warmup, "none")) return JFL_OK;
  if (w->warmup_steps < 1)
    return jf_fail_argument(JFL_EINVAL, "warmup_steps", "must be at least 1, got %lld",
                            (long long)w->warmup_steps);
  if (!(w->warmup_multiplier >= 0 && w->warmup_multiplier < 1))
    return jf_fail_argument(JFL_EINVAL, "warmup_multiplier", "must be in [0, 1), got %g",
                            w->warmup_multiplier);
  return JFL_OK;
}

static jfl_status check_step(jf_infer *c)
{
  char s[JF_SHAPE_STR];
  if (jf_numel(&c->in[0]->shape) == 1) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "step", "must be (1), got %s",
                          jf_shape_str(&c->in[0]->shape, s));
}

static jfl_status piecewise_infer(jf_infer *c)
{
  const jf_piecewise *a = c->attr;
  JF_TRY(check_step(c));
  JF_TRY(check_warmup(a));
  if (a->values.n != a->boundaries.n + 1)
    return jf_fail_argument(JFL_EINVAL, "values", "must be %d numbers, one more than boundaries, "
                            "got %d", a->boundaries.n + 1, a->values.n);
  for (int i = 1; i < a->boundaries.n; i++)
    if (a->boundaries.v[i] <= a->boundaries.v[i - 1])
      return jf_fail_argument(JFL_EINVAL, "boundaries", "must ascend, got %g after %g",
                              a->boundaries.v[i], a->boundaries.v[i - 1]);
  c->dtype[0] = JFL_F64;
  c->shape[0] = (jfl_shape){ 1, { 1 } };
  return JFL_OK;
}

/* Whether step t warms up; then *rate is what base becomes. */
static int warms_up(const jf_piecewise *w, int64_t t, double base, double *rate)
{
  if (!w->warmup || !strcmp(w->warmup, "none") || t >= w->warmup_steps) return 0;
  double m = w->warmup_multiplier;
  if (!strcmp(w->warmup, "linear")) m += (1 - m) * (double)t / (double)w->warmup_steps;
  *rate = base * m;
  return 1;
}

static jfl_status piecewise(const jf_kargs *k)
{
  const jf_piecewise *a = k->attr;
  int64_t t = *(const int64_t *)k->in[0].data;
  int i = 0;
  double rate;
  while (i < a->boundaries.n && (double)t > a->boundaries.v[i]) i++;
  if (!warms_up(a, t, a->values.v[0], &rate)) rate = a->values.v[i];
  *(double *)k->out[0].data = rate;
  return JFL_OK;
}

static jfl_status increment(const jf_kargs *k)
{
  ++*(int64_t *)k->in[0].data;
  return JFL_OK;
}

static const jf_kernel piecewise_cpu[JFL_N_DTYPE] = { [JFL_I64] = piecewise };
static const jf_kernel increment_cpu[JFL_N_DTYPE] = { [JFL_I64] = increment };

JFL_OP(piecewise_constant_schedule,
  .doc = "values[i] for the first i with step <= boundaries[i], else the last.",
  .in = {"step"}, .out = {"lr"}, .attr = piecewise_attrs, .attr_size = sizeof(jf_piecewise),
  .flags = JF_SCHEDULE, .infer = piecewise_infer, .cpu = piecewise_cpu)

JFL_OP(train_step_increment, .doc = "Counts a train step.", .in = {"step"}, .flags = JF_EFFECT,
  .mutates = 1, .infer = check_step, .cpu = increment_cpu)
