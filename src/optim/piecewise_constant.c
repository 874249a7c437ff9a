/* The schedules piecewise_constant_schedule, values[i] for the first i with step <= boundaries[i],
   else the last value; and piecewise_scaling_schedule, which does so with products of one rate. */
#include "optim/schedule.h"

#include <math.h>

JF_TWICE(jf_piecewise_text,
typedef struct piecewise {
  jf_nums boundaries, values;          /* of scaling: `values` are factors, without the first, 1 */
  double base_lr;                      /* of scaling */
  jf_warmup warmup;
} piecewise;
)

JF_ATTRS(attrs,
  JF_FIELD(piecewise, boundaries, NUMS, NULL, "the last step of each value but the last"),
  JF_FIELD(piecewise, values, NUMS, NULL, "the rates, one more than boundaries"),
  JF_WARMUP_FIELDS(piecewise))

JF_ATTRS(scaling_attrs,
  JF_RANGE(piecewise, base_lr, NUM, NULL, JF_AMOUNT, "the rate up to the first boundary"),
  JF_FIELD(piecewise, boundaries, NUMS, NULL, "the last step of each rate but the last"),
  { "scale", JF_ATTR_NUMS, offsetof(piecewise, values), NULL,
    "what base_lr is multiplied by behind each boundary; one number: once more at each", NULL },
  JF_WARMUP_FIELDS(piecewise))

static jfl_status check_boundaries(const jf_nums *b)
{
  for (int i = 0; i < b->n; i++)
    if (!(isfinite(b->v[i]) && b->v[i] >= 0))
      return jf_fail_argument(JFL_EINVAL, "boundaries", "must be steps of at least 0, got %g",
                              b->v[i]);
  for (int i = 1; i < b->n; i++)
    if (b->v[i] <= b->v[i - 1])
      return jf_fail_argument(JFL_EINVAL, "boundaries", "must ascend, got %g after %g", b->v[i],
                              b->v[i - 1]);
  return JFL_OK;
}

static jfl_status check_values(const char *name, const jf_nums *v)
{
  for (int i = 0; i < v->n; i++)
    if (!(isfinite(v->v[i]) && v->v[i] >= 0))
      return jf_fail_argument(JFL_EINVAL, name, "must be finite numbers of at least 0, got %g",
                              v->v[i]);
  return JFL_OK;
}

static jfl_status piecewise_infer(jf_infer *c)
{
  piecewise *a = c->attr;
  JF_TRY(jf_infer_schedule(c, &a->warmup));
  if (a->values.n != a->boundaries.n + 1)
    return jf_fail_argument(JFL_EINVAL, "values", "must be %d numbers, one more than boundaries, "
                            "got %d", a->boundaries.n + 1, a->values.n);
  JF_TRY(check_boundaries(&a->boundaries));
  return check_values("values", &a->values);
}

static jfl_status scaling_infer(jf_infer *c)
{
  piecewise *a = c->attr;
  JF_TRY(jf_infer_schedule(c, &a->warmup));
  if (a->values.n != a->boundaries.n && a->values.n != 1)
    return jf_fail_argument(JFL_EINVAL, "scale", "must be one number or %d, as many as boundaries, "
                            "got %d", a->boundaries.n, a->values.n);
  JF_TRY(check_boundaries(&a->boundaries));
  return check_values("scale", &a->values);
}

/* How many boundaries step t is behind. */
JF_TWICE(jf_piece_text,
JF_LOCAL int piece_of(const piecewise *a, int64_t t)
{
  int i = 0;
  while (i < a->boundaries.n && (double)t > a->boundaries.v[i]) i++;
  return i;
})
#define PIECEWISE(id) \
  JF_SCHEDULE_OP(id, piecewise, jf_piecewise_text, jf_piece_text, jf_##id##_text)

JF_TWICE(jf_piecewise_constant_text,
JF_LOCAL double piecewise_constant_rate(const piecewise *a, int64_t t)
{
  return jf_warmed(&a->warmup, t, a->values.v[0], a->values.v[piece_of(a, t)]);
})
PIECEWISE(piecewise_constant)

JF_TWICE(jf_piecewise_scaling_text,
JF_LOCAL double piecewise_scaling_rate(const piecewise *a, int64_t t)
{
  const int i = piece_of(a, t);
  double scale = 1;
  if (i && a->values.n > 1) scale = a->values.v[i - 1];
  else if (i) scale = pow(a->values.v[0], i);
  return jf_warmed(&a->warmup, t, a->base_lr, a->base_lr * scale);
})
PIECEWISE(piecewise_scaling)

JFL_OP(piecewise_constant_schedule, .doc = "A rate that changes at given steps.",
  .path = "PiecewiseConstantScheduler", .in = {"step"}, .out = {"lr"}, JF_WITH(attrs, piecewise),
  .flags = JF_SCHEDULE, .infer = piecewise_infer, .cpu = piecewise_constant_cpu,
  .small = piecewise_constant_small)

JFL_OP(piecewise_scaling_schedule, .doc = "A rate that is multiplied at given steps.",
  .path = "PiecewiseScalingScheduler", .in = {"step"}, .out = {"lr"},
  JF_WITH(scaling_attrs, piecewise), .flags = JF_SCHEDULE, .infer = scaling_infer,
  .cpu = piecewise_scaling_cpu, .small = piecewise_scaling_small)
