/* What learning rate schedules share. Each schedule is an op that gives the rate of a step, in a
   file of its own. All of them can warm up, by the three attributes of JF_WARMUP_FIELDS. */
#ifndef JF_OPTIM_SCHEDULE_H
#define JF_OPTIM_SCHEDULE_H

#include "op/op.h"

/* How the rate starts. While step < steps it is first * multiplier ("constant"), or goes from there
   to `first` in a straight line ("linear"), where first is the schedule's rate at step 0. "none" or
   NULL: there is no warm-up. */
typedef struct jf_warmup {
  const char *kind;
  int64_t steps;
  double multiplier;
} jf_warmup;

/* The attributes of an attribute struct T whose field `warmup` is a jf_warmup. */
#define JF_WARMUP_FIELDS(T)                                                                     \
  { "warmup", JF_ATTR_STR, offsetof(T, warmup.kind), "none", "how the rate starts",             \
    "none constant linear" },                                                                   \
  { "warmup_steps", JF_ATTR_INT, offsetof(T, warmup.steps), "0", "for how many steps", NULL },  \
  { "warmup_multiplier", JF_ATTR_NUM, offsetof(T, warmup.multiplier), "0",                      \
    "what the rate is multiplied by then", NULL }

/* Checks the step and the warm-up, and sets the output's dtype and shape. */
jfl_status jf_infer_schedule(jf_infer *c, const jf_warmup *w);
/* Fails unless the attribute of that name is a rate: finite, and not negative. */
jfl_status jf_check_rate(const char *name, double rate);
/* Writes the rate of k's step: while it warms up, one that starts from `first`; else `rate`. */
jfl_status jf_schedule_rate(const jf_kargs *k, const jf_warmup *w, double first, double rate);
/* The train step that k reads, counted from 0. */
static inline int64_t jf_schedule_step(const jf_kargs *k)
{
  return *(const int64_t *)k->in[0].data;
}

#endif
