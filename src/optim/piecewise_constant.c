/* The schedule piecewise_constant_schedule: values[i] for the first i with step <= boundaries[i],
   else the last value. */
#include "optim/schedule.h"

#include <math.h>

typedef struct piecewise {
  jf_nums boundaries, values;
  jf_warmup warmup;
} piecewise;

static const jf_attr attrs[] = {
  JF_FIELD(piecewise, boundaries, NUMS, NULL, "the last step of each value but the last"),
  JF_FIELD(piecewise, values, NUMS, NULL, "the rates, one more than boundaries"),
  JF_WARMUP_FIELDS(piecewise),
  {0},
};

static jfl_status piecewise_infer(jf_infer *c)
{
  const piecewise *a = c->attr;
  JF_TRY(jf_infer_schedule(c, &a->warmup));
  if (a->values.n != a->boundaries.n + 1)
    return jf_fail_argument(JFL_EINVAL, "values", "must be %d numbers, one more than boundaries, "
                            "got %d", a->boundaries.n + 1, a->values.n);
  for (int i = 0; i < a->boundaries.n; i++)
    if (!(isfinite(a->boundaries.v[i]) && a->boundaries.v[i] >= 0))
      return jf_fail_argument(JFL_EINVAL, "boundaries", "must be steps of at least 0, got %g",
                              a->boundaries.v[i]);
  for (int i = 1; i < a->boundaries.n; i++)
    if (a->boundaries.v[i] <= a->boundaries.v[i - 1])
      return jf_fail_argument(JFL_EINVAL, "boundaries", "must ascend, got %g after %g",
                              a->boundaries.v[i], a->boundaries.v[i - 1]);
  for (int i = 0; i < a->values.n; i++)
    if (!(isfinite(a->values.v[i]) && a->values.v[i] >= 0))
      return jf_fail_argument(JFL_EINVAL, "values", "must be finite numbers of at least 0, got %g",
                              a->values.v[i]);
  return JFL_OK;
}

static jfl_status piecewise_plain(const jf_kargs *k)
{
  const piecewise *a = k->attr;
  int i = 0;
  while (i < a->boundaries.n && (double)jf_schedule_step(k) > a->boundaries.v[i]) i++;
  return jf_schedule_rate(k, &a->warmup, a->values.v[0], a->values.v[i]);
}
static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_I64] = piecewise_plain };

JFL_OP(piecewise_constant_schedule, .doc = "A rate that changes at given steps.",
  .path = "PiecewiseConstantScheduler", .in = {"step"}, .out = {"lr"}, .attr = attrs,
  .attr_size = sizeof(piecewise), .flags = JF_SCHEDULE, .infer = piecewise_infer, .cpu = cpu)
