/* The op that updates parameters. For each parameter its inputs are the parameter, its gradient,
   its slots, and its moving average if it has one; after those of all parameters come the averages'
   share, if there are any, and the numbers of the step (scalars.h). It changes all but gradients in
   place, unless the step is to be skipped. */
#ifndef JF_OPTIM_UPDATE_H
#define JF_OPTIM_UPDATE_H

#include "dev/kernel.h"

/* The tensors of one parameter, and the numbers of a step, by index. A step whose scale is negative
   is skipped. */
enum { JF_PARAM, JF_GRAD, JF_FIRST_SLOT };
#define JF_STEP_NUMBERS enum { JF_SCALE, JF_RATE, JF_FIRST_SCALAR };
JF_STEP_NUMBERS
extern const char jf_step_numbers_text[];      /* the text of that, for op/scalar.h */

/* One call of a loop: elements `from` to `from` + n - 1 of a parameter, its gradient and its
   slots. */
typedef struct jf_update_args {
  const jf_tensor *tensor;
  int64_t from, n;
  const double *scalar;        /* the numbers of the step: scale, rate, the rule's own */
  double *sum;                 /* of rules with n_sum: what measure adds to, and the loop reads */
} jf_update_args;
typedef void (*jf_update_loop)(const jf_update_args *u);

/* A number kept for each element of a parameter, in a state variable "<parameter>-<name>". */
typedef struct jf_slot {
  const char *name;
  jfl_dtype dtype;             /* JFL_N_DTYPE: the parameter's */
  double init;                 /* first value of all elements */
} jf_slot;
/* What gradients of former calls have left, where a step takes the sum of several. */
extern const jf_slot jf_accumulated;
/* Whether some rule keeps a slot of that name. */
int jf_is_slot(const char *name);

enum { JF_MOST_SUMS = 4 };
/* A formula that says what a step does to one element. JF_RULE of rule.h makes it. */
typedef struct jf_rule {
  const char *formula;
  const jf_slot *slot; int n_slot;
  const char *const *scalar; int n_scalar;     /* names of the scalars after JF_RATE */
  /* Sets them for step t, counted from 1, with the options in attr; its name, and its text for
     devices (op/scalar.h). */
  void (*scalars)(const void *attr, int64_t t, double *scalar);
  const char *scalars_name, *scalars_text;
  const jf_update_loop *plain, *best;          /* by dtype of the parameter */
  const char *measure, *derive;        /* what goes before the formula if n_sum, as rule.h says */
  const char *const *sum; int n_sum;   /* names of the sums over a whole parameter */
  const jf_update_loop *measure_plain, *measure_best;
  int descends;                /* the formula is w -= lr * g, so where g is a product it can be
                                  subtracted from w while it is computed */
} jf_rule;

/* An optimizer and its options, as attributes of the ops of this folder. */
typedef struct jf_optim_choice {
  const char *optimizer;
  jf_nums options;             /* in the record's order; the rest have their defaults */
  const jfl_optimizer *optim;        /* set by infer: the record, */
  const void *attr;            /* its attribute struct, */
  const jf_rule *rule;         /* and the rule that these attributes choose */
} jf_optim_choice;

typedef struct jf_update {
  jf_optim_choice choice;
  int averages;                /* whether each parameter has a moving average behind its slots */
  int stride, n;               /* set by infer: tensors for each parameter; parameters */
} jf_update;

/* The first of the tensors of parameter i. */
static inline const jf_tensor *jf_update_tensors(const jf_kargs *k, int i)
{
  return k->in + i * ((const jf_update *)k->attr)->stride;
}

/* How many inputs come behind the tensors. */
static inline int jf_update_rest(const jf_update *a) { return a->averages ? 2 : 1; }

/* The numbers of the step. */
static inline const double *jf_update_scalars(const jf_kargs *k)
{
  return (const double *)k->in[k->n_in - 1].data;
}

/* Whether nothing is to be changed. */
static inline int jf_update_skips(const jf_kargs *k) { return jf_update_scalars(k)[JF_SCALE] < 0; }

/* The rule that moves averages (average.c): its only scalar is the averages' share. */
extern const jf_rule *const jf_average;
/* One call of its loop, for the same elements as a call of the optimizer's; it lies in a struct of
   its own, as the loop reads tensors and scalars that the other has elsewhere. */
typedef struct jf_average_args {
  jf_update_args args;
  jf_tensor tensor[JF_FIRST_SLOT + 1];
  double scalar[JF_FIRST_SCALAR + 1];
} jf_average_args;
void jf_average_of(const jf_kargs *k, const jf_update_args *u, jf_average_args *out);

#endif
