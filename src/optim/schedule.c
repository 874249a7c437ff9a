/* Learning rates as functions of the train step, computed in double. */
#include "optim/schedule.h"

#include <string.h>

static int warms_up(const jf_warmup *w) { return w->kind && strcmp(w->kind, "none") != 0; }

static jfl_status check_warmup(const jf_warmup *w)
{
  if (!warms_up(w)) return JFL_OK;
  if (w->steps < 1)
    return jf_fail_argument(JFL_EINVAL, "warmup_steps", "must be at least 1, got %lld",
                            (long long)w->steps);
  if (!(w->multiplier >= 0 && w->multiplier < 1))
    return jf_fail_argument(JFL_EINVAL, "warmup_multiplier", "must be in [0, 1), got %g",
                            w->multiplier);
  return JFL_OK;
}

static jfl_status check_step(jf_infer *c)
{
  char s[JF_SHAPE_STR];
  if (jf_numel(&c->in[0]->shape) == 1) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "step", "must be (1), got %s",
                          jf_shape_str(&c->in[0]->shape, s));
}

jfl_status jf_infer_schedule(jf_infer *c, jf_warmup *w)
{
  JF_TRY(check_step(c));
  JF_TRY(check_warmup(w));
  w->way = !warms_up(w) ? JF_WARM_NONE : strcmp(w->kind, "linear") ? JF_WARM_CONSTANT
                                                                   : JF_WARM_LINEAR;
  c->dtype[0] = JFL_F64;
  c->shape[0] = (jfl_shape){ 1, { 1 } };
  return JFL_OK;
}

const char jf_warmup_text[] = JF_QUOTED(JF_WARMUP JF_WARMUP_WAYS);
JF_TWICE(jf_warmed_text,
JF_GLOBAL double jf_warmed(const jf_warmup *w, int64_t t, double first, double rate)
{
  double m = w->multiplier;
  if (w->way == JF_WARM_NONE || t >= w->steps) return rate;
  if (w->way == JF_WARM_LINEAR) m += (1 - m) * (double)t / (double)w->steps;
  return first * m;
})
