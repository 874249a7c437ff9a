/* Schedules that are formulas of the step t, counted from 0. Those that have `steps` hold their
   last rate from there on, unless said otherwise. */
#include "optim/schedule.h"

#include <math.h>

/* The attributes of all of them; each has some. */
JF_TWICE(jf_decay_text,
typedef struct decay {
  double base_lr, alpha, num_periods, beta, end_learning_rate, power, decay_rate, multiplier;
  double pct_start, div_factor, final_div_factor, start_multiplier;
  int64_t steps, warmup_steps;
  int cycle, staircase;
  jf_warmup warmup;
} decay;
)

#define BASE JF_RANGE(decay, base_lr, NUM, NULL, JF_AMOUNT, "the rate at first")
#define STEPS(what) JF_RANGE(decay, steps, INT, NULL, "at least 1", what)
#define ALPHA \
  JF_RANGE(decay, alpha, NUM, "0", "a finite number", "the last rate, as a share of base_lr")

static jfl_status decay_infer(jf_infer *c)
{
  return jf_infer_schedule(c, &((decay *)c->attr)->warmup);
}

#define DECAYS(id, attrs) \
  .in = {"step"}, .out = {"lr"}, JF_WITH(attrs, decay), \
  .flags = JF_SCHEDULE, .cpu = id##_cpu, .small = id##_small

/* What the formulas share: t, but at most steps; base_lr times a factor, or what the warm-up says;
   and what goes from 1 to 0 along half a cosine, as x goes from 0 to 1. */
JF_TWICE(jf_decay_shared_text,
JF_LOCAL double steps_done(const decay *a, int64_t t)
{
  return (double)(t < a->steps ? t : a->steps);
}

JF_LOCAL double decay_rate(const decay *a, int64_t t, double factor)
{
  return jf_warmed(&a->warmup, t, a->base_lr, a->base_lr * factor);
}

JF_LOCAL double half_cosine(double x) { return 0.5 * (1 + cos(3.14159265358979323846 * x)); })
#define DECAY(id) JF_SCHEDULE_OP(id, decay, jf_decay_text, jf_decay_shared_text, jf_##id##_text)

/* ---- cosines ---- */

JF_ATTRS(cosine_attrs, BASE, STEPS("how long it falls"), ALPHA, JF_WARMUP_FIELDS(decay))

/* base_lr ((1 - alpha) (1 + cos(pi k / steps)) / 2 + alpha), k = min(t, steps) (Loshchilov and
   Hutter, "SGDR", ICLR 2017, equation 5). */
JF_TWICE(jf_cosine_text,
JF_LOCAL double cosine_rate(const decay *a, int64_t t)
{
  const double fallen = half_cosine(steps_done(a, t) / (double)a->steps);
  return decay_rate(a, t, (1 - a->alpha) * fallen + a->alpha);
})
DECAY(cosine)

JFL_OP(cosine_schedule, .doc = "A rate that falls along half a cosine.",
  .path = "CosineScheduler", .infer = decay_infer, DECAYS(cosine, cosine_attrs))

JF_ATTRS(restarts_attrs,
  BASE, STEPS("how long the first period is"),
  JF_RANGE(decay, multiplier, NUM, "1", "a finite number of at least 1",
           "how many times as long each next period is"),
  ALPHA, JF_WARMUP_FIELDS(decay))

/* How far into its period step t is, from 0 to 1. Period n, of steps m^n, begins at
   steps (m^n - 1) / (m - 1); one begins at the first step that is within rounding of that. */
JF_TWICE(jf_phase_text,
JF_LOCAL double restarts_phase(double t, double steps, double m)
{
  if (t < steps || m == 1) return fmod(t, steps) / steps;
  const double more = fmin(m, 1e200) - 1, growth = log1p(more);
  const double n = floor(log1p(t / steps * more) / growth + 1e-9);
  const double start = steps * expm1(n * growth) / more;
  return fmax((t - start) / (steps * exp(n * growth)), 0);
})

/* How far t is within its period, from 0 to 1, where one period follows the other (SGDR, section
   3). */
JF_TWICE(jf_restarts_text,
JF_LOCAL double restarts_rate(const decay *a, int64_t t)
{
  const double x = restarts_phase((double)t, (double)a->steps, a->multiplier);
  return decay_rate(a, t, (1 - a->alpha) * half_cosine(x) + a->alpha);
})
JF_SCHEDULE_OP(restarts, decay, jf_decay_text, jf_decay_shared_text, jf_phase_text,
               jf_restarts_text)

JFL_OP(cosine_restarts_schedule, .doc = "A rate that falls along half a cosine, again and again.",
  .path = "CosineRestartsScheduler", .infer = decay_infer, DECAYS(restarts, restarts_attrs))

JF_ATTRS(warm_attrs,
  JF_RANGE(decay, base_lr, NUM, NULL, JF_AMOUNT, "the highest rate, at the end of the warm-up"),
  STEPS("how long it lasts, warm-up included"),
  JF_FIELD(decay, warmup_steps, INT, NULL, "how long the rate rises, in a straight line"),
  ALPHA,
  JF_RANGE(decay, start_multiplier, NUM, "0", "a finite number",
           "the first rate, as a share of base_lr"))

static jfl_status warm_infer(jf_infer *c)
{
  const decay *a = c->attr;
  JF_TRY(decay_infer(c));
  if (a->warmup_steps >= 0 && a->warmup_steps < a->steps) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "warmup_steps", "must be from 0 to below steps %lld, got "
                          "%lld", (long long)a->steps, (long long)a->warmup_steps);
}

/* Rises to base_lr in warmup_steps, and falls along half a cosine in the rest of `steps`. */
JF_TWICE(jf_warm_text,
JF_LOCAL double warm_rate(const decay *a, int64_t t)
{
  const double k = steps_done(a, t), rise = (double)a->warmup_steps, s = a->start_multiplier;
  const double fallen = half_cosine((k - rise) / ((double)a->steps - rise));
  return decay_rate(a, t, k < rise ? s + (1 - s) * k / rise : (1 - a->alpha) * fallen + a->alpha);
})
DECAY(warm)

JFL_OP(cosine_warmup_schedule, .doc = "A rate that rises, then falls along half a cosine.",
  .path = "CosineWarmupScheduler", .infer = warm_infer, DECAYS(warm, warm_attrs))

JF_ATTRS(linear_cosine_attrs,
  BASE, STEPS("how long it falls"),
  JF_RANGE(decay, num_periods, NUM, "0.5", "a finite number above 0",
           "how many periods the cosine has"),
  JF_RANGE(decay, alpha, NUM, "0", "a finite number", "what is added to the straight line"),
  JF_RANGE(decay, beta, NUM, "0.001", "a finite number", "what is added to the product"),
  JF_WARMUP_FIELDS(decay))

/* base_lr ((alpha + (steps - k) / steps) (1 + cos(2 pi num_periods k / steps)) / 2 + beta) (Bello
   et al., "Neural optimizer search", ICML 2017, section 4.4). */
JF_TWICE(jf_linear_cosine_text,
JF_LOCAL double linear_cosine_rate(const decay *a, int64_t t)
{
  const double x = steps_done(a, t) / (double)a->steps;
  return decay_rate(a, t, (a->alpha + 1 - x) * half_cosine(2 * a->num_periods * x) + a->beta);
})
DECAY(linear_cosine)

JFL_OP(linear_cosine_schedule, .doc = "A rate that falls along a straight line times a cosine.",
  .path = "LinearCosineScheduler", .infer = decay_infer, DECAYS(linear_cosine, linear_cosine_attrs))

JF_ATTRS(one_cycle_attrs,
  { "max_lr", JF_ATTR_NUM, offsetof(decay, base_lr), NULL, "the highest rate", JF_AMOUNT },
  STEPS("how long the cycle lasts"),
  JF_RANGE(decay, pct_start, NUM, "0.3", "in [0, 1]", "the share of the steps in which it rises"),
  JF_RANGE(decay, div_factor, NUM, "25", "a finite number above 0", "max_lr over the first rate"),
  JF_RANGE(decay, final_div_factor, NUM, "10000", "a finite number above 0",
           "the first rate over the last one"))

/* Half a cosine up to max_lr at step pct_start steps - 1, and half a cosine down to the last rate
   at step `steps` - 1 (Smith and Topin, "Super-convergence", 2018). */
JF_TWICE(jf_one_cycle_text,
JF_LOCAL double one_cycle_rate(const decay *a, int64_t t)
{
  const double top = a->pct_start * (double)a->steps - 1, last = (double)a->steps - 1;
  const double k = fmin((double)t, last);
  const double first = 1 / a->div_factor, end = first / a->final_div_factor;
  if (k <= top && top > 0) return decay_rate(a, t, 1 + (first - 1) * half_cosine(k / top));
  const double x = last > top ? (k - top) / (last - top) : 1;
  return decay_rate(a, t, end + (1 - end) * half_cosine(x));
})
DECAY(one_cycle)

JFL_OP(one_cycle_schedule, .doc = "A rate that rises to max_lr and falls far below the first one.",
  .path = "OneCycleScheduler", .infer = decay_infer, DECAYS(one_cycle, one_cycle_attrs))

/* ---- powers ---- */

JF_ATTRS(polynomial_attrs,
  BASE, STEPS("how long it falls"),
  JF_RANGE(decay, end_learning_rate, NUM, "0.0001", JF_AMOUNT, "the last rate"),
  JF_RANGE(decay, power, NUM, "1", "a finite number above 0", "1: in a straight line"),
  JF_FIELD(decay, cycle, BOOL, "false", "falls from higher up again after each `steps`"),
  JF_WARMUP_FIELDS(decay))

/* (base_lr - end) (1 - k / T)^power + end: T = steps and k = min(t, steps), or with cycle k = t and
   T the next multiple of steps, which for t = 0 is the first. */
JF_TWICE(jf_polynomial_text,
JF_LOCAL double polynomial_rate(const decay *a, int64_t t)
{
  const int64_t cycles = t ? (t + a->steps - 1) / a->steps : 1;
  const double whole = (double)a->steps * (double)(a->cycle ? cycles : 1);
  const double x = (a->cycle ? (double)t : steps_done(a, t)) / whole, end = a->end_learning_rate;
  return jf_warmed(&a->warmup, t, a->base_lr,
                   (a->base_lr - end) * pow(1 - x, a->power) + end);
})
DECAY(polynomial)

JFL_OP(polynomial_schedule, .doc = "A rate that falls to another along a power of the time left.",
  .path = "PolynomialScheduler", .infer = decay_infer, DECAYS(polynomial, polynomial_attrs))

/* ---- without an end ---- */

JF_ATTRS(endless_attrs,
  BASE, STEPS("the unit in which steps are counted"),
  JF_RANGE(decay, decay_rate, NUM, NULL, JF_AMOUNT, "how fast it falls"),
  JF_FIELD(decay, staircase, BOOL, "false", "counts whole units only"),
  JF_WARMUP_FIELDS(decay))

/* t / steps, or the whole number below that. */
JF_TWICE(jf_units_text,
JF_LOCAL double units_done(const decay *a, int64_t t)
{
  const double p = (double)t / (double)a->steps;
  return a->staircase ? floor(p) : p;
})
#define ENDLESS(id) \
  JF_SCHEDULE_OP(id, decay, jf_decay_text, jf_decay_shared_text, jf_units_text, jf_##id##_text)

JF_TWICE(jf_exponential_text,
JF_LOCAL double exponential_rate(const decay *a, int64_t t)
{
  return decay_rate(a, t, pow(a->decay_rate, units_done(a, t)));
})
ENDLESS(exponential)

JFL_OP(exponential_schedule, .doc = "base_lr times decay_rate to the power of t / steps.",
  .path = "ExponentialScheduler", .infer = decay_infer, DECAYS(exponential, endless_attrs))

JF_TWICE(jf_natural_exp_text,
JF_LOCAL double natural_exp_rate(const decay *a, int64_t t)
{
  return decay_rate(a, t, exp(-a->decay_rate * units_done(a, t)));
})
ENDLESS(natural_exp)

JFL_OP(natural_exp_schedule, .doc = "base_lr times exp(-decay_rate t / steps).",
  .path = "NaturalExpScheduler", .infer = decay_infer, DECAYS(natural_exp, endless_attrs))

JF_TWICE(jf_inverse_time_text,
JF_LOCAL double inverse_time_rate(const decay *a, int64_t t)
{
  return decay_rate(a, t, 1 / (1 + a->decay_rate * units_done(a, t)));
})
ENDLESS(inverse_time)

JFL_OP(inverse_time_schedule, .doc = "base_lr over 1 + decay_rate t / steps.",
  .path = "InverseTimeScheduler", .infer = decay_infer, DECAYS(inverse_time, endless_attrs))
