/* The op that steps parameters: its inputs are the tensors of each parameter in turn, which are the
   parameter, its gradient and its slots, then the numbers of the step (scalars.h). It changes
   parameters and slots in place. */
#ifndef JF_OPTIM_UPDATE_H
#define JF_OPTIM_UPDATE_H

#include "dev/kernel.h"

/* The tensors of a parameter, and the numbers of a step. */
enum { JF_PARAM, JF_GRAD, JF_FIRST_SLOT };
enum { JF_SCALE, JF_RATE, JF_FIRST_SCALAR };

/* Elements `from` to `from` + n of a parameter, its gradient and its slots. */
typedef struct jf_update_args {
  const jf_tensor *tensor;
  int64_t from, n;
  const double *scalar;        /* what gradients are multiplied by, the rate, the rule's own */
} jf_update_args;
typedef void (*jf_update_loop)(const jf_update_args *u);

/* What is kept for each element of a parameter: a state variable "<parameter>-<name>". */
typedef struct jf_slot {
  const char *name;
  jfl_dtype dtype;             /* JFL_N_DTYPE: the parameter's */
  double init;                 /* what all its elements are at first */
} jf_slot;

/* One formula: what a step does to one element. JF_RULE of rule.h makes it. */
typedef struct jf_rule {
  const char *formula;
  const jf_slot *slot; int n_slot;
  const char *const *scalar; int n_scalar;     /* names of those after JF_RATE */
  const jf_update_loop *plain, *best;          /* by dtype of the parameter */
  int descends;                /* the formula is w -= lr * g, so where g is a product it can be
                                  subtracted from w while it is made */
} jf_rule;

/* An optimizer and its options, as the ops of this folder say them. */
typedef struct jf_optim_choice {
  const char *optimizer;
  jf_nums options;             /* in the order of the record; those not given have their defaults */
  const jfl_optimizer *optim;        /* infer's: the record, */
  const void *attr;            /* its attribute struct, */
  const jf_rule *rule;         /* and the rule that it follows with these */
} jf_optim_choice;

typedef struct jf_update {
  jf_optim_choice choice;
  int stride, n;               /* infer's: tensors of each parameter; parameters */
} jf_update;

/* The tensors of parameter i. */
static inline const jf_tensor *jf_update_tensors(const jf_kargs *k, int i)
{
  return k->in + i * ((const jf_update *)k->attr)->stride;
}

/* The numbers of the step. */
static inline const double *jf_update_scalars(const jf_kargs *k)
{
  return (const double *)k->in[k->n_in - 1].data;
}

#endif
