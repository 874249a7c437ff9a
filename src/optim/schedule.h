/* What learning rate schedules share. Each schedule is an op that gives the rate of a step, in a
   file of its own. All of them can warm up, by the three attributes of JF_WARMUP_FIELDS. */
#ifndef JF_OPTIM_SCHEDULE_H
#define JF_OPTIM_SCHEDULE_H

#include "op/scalar.h"

/* How the rate starts. While step < steps it is first * multiplier ("constant"), or goes from there
   to `first` in a straight line ("linear"), where first is the schedule's rate at step 0. "none" or
   NULL: there is no warm-up. */
#define JF_WARMUP \
  typedef struct jf_warmup {                                            \
    const char *kind; int64_t steps; double multiplier; int way;        \
  } jf_warmup;
JF_WARMUP
/* What `way` says, which infer sets. */
#define JF_WARMUP_WAYS enum { JF_WARM_NONE, JF_WARM_CONSTANT, JF_WARM_LINEAR };
JF_WARMUP_WAYS

/* The attributes of an attribute struct T whose field `warmup` is a jf_warmup. */
#define JF_WARMUP_FIELDS(T)                                                                     \
  { "warmup", JF_ATTR_STR, offsetof(T, warmup.kind), "none", "how the rate starts",             \
    "none constant linear" },                                                                   \
  { "warmup_steps", JF_ATTR_INT, offsetof(T, warmup.steps), "0", "for how many steps", NULL },  \
  { "warmup_multiplier", JF_ATTR_NUM, offsetof(T, warmup.multiplier), "0",                      \
    "what the rate is multiplied by then", NULL }

/* Checks the step and the warm-up, and sets the output's dtype and shape. */
jfl_status jf_infer_schedule(jf_infer *c, jf_warmup *w);
/* The rate of step t: while it warms up, one that starts from `first`; else `rate`. */
double jf_warmed(const jf_warmup *w, int64_t t, double first, double rate);
/* The texts of these (op/scalar.h). */
extern const char jf_warmup_text[], jf_warmed_text[];
/* Defines the kernel and the texts of a schedule whose rate at step t, warm-up included, the
   function id_rate(attributes, t) gives. */
#define JF_SCHEDULE_OP(id, T, ...)                                              \
  JF_TWICE(jf_##id##_run_text,                                                  \
    JF_LOCAL void id##_run(const void *attr, void *const *at, int n)            \
    {                                                                           \
      (void)n;                                                                  \
      *(double *)at[1] = id##_rate((const T *)attr, *(const int64_t *)at[0]);   \
    })                                                                          \
  JF_SCALAR_OP(id, jf_warmup_text, jf_warmed_text, __VA_ARGS__, jf_##id##_run_text) \
  static const jf_kernel id##_cpu[JFL_N_DTYPE] = { [JFL_I64] = id##_plain };

#endif
