/* What learning rate schedules share: they are ops that give the rate of a step, each in a file of
   its own. All can warm up, by the three attributes JF_WARMUP_FIELDS. */
#ifndef JF_OPTIM_SCHEDULE_H
#define JF_OPTIM_SCHEDULE_H

#include "op/op.h"

/* While step < steps the rate is the schedule's first rate times multiplier ("constant"), or goes
   from there to the first rate in a straight line ("linear"); "none" or NULL: no such start. */
typedef struct jf_warmup {
  const char *kind;
  int64_t steps;
  double multiplier;
} jf_warmup;

/* For an attribute struct T whose field `warmup` is a jf_warmup. */
#define JF_WARMUP_FIELDS(T)                                                                     \
  { "warmup", JF_ATTR_STR, offsetof(T, warmup.kind), "none", "how the rate starts",             \
    "none constant linear" },                                                                   \
  { "warmup_steps", JF_ATTR_INT, offsetof(T, warmup.steps), "0", "for how many steps", NULL },  \
  { "warmup_multiplier", JF_ATTR_NUM, offsetof(T, warmup.multiplier), "0",                      \
    "what the rate is multiplied by then", NULL }

/* Checks the step and the warm-up, and says what comes out. */
jfl_status jf_infer_schedule(jf_infer *c, const jf_warmup *w);
/* Writes the rate of the step that k has: `rate`, but where it warms up, from the first rate. */
jfl_status jf_schedule_rate(const jf_kargs *k, const jf_warmup *w, double first, double rate);
/* The step that k has, from 0. */
static inline int64_t jf_schedule_step(const jf_kargs *k)
{
  return *(const int64_t *)k->in[0].data;
}

#endif
