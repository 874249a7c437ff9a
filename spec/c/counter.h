/* A train job made through the public API, for tests of the run time: each run returns w and
   w x, then adds 1 to w, as it minimizes -w x. `labels` must be 0, or the run fails. */
#ifndef COUNTER_H
#define COUNTER_H

#include "jfl.h"

#define COUNTER_TRY(e) do { jfl_status s_ = (e); if (s_) return s_; } while (0)

static inline jfl_status counter_op(jfl_graph *g, const char *op, jfl_value *a, jfl_value *b,
                                    jfl_value **out)
{
  jfl_value *in[] = { a, b }, *all[8];
  COUNTER_TRY(jfl_graph_op(g, jfl_op_find(op), in, 2, NULL, 0, NULL, all));
  *out = all[0];
  return JFL_OK;
}

/* w x, and a cross entropy of one class, which is 0 for label 0 and an error for any other. */
static inline jfl_status counter_body(jfl_graph *g)
{
  const jfl_shape one = { 1, { 1 } }, row = { 2, { 1, 1 } };
  const jfl_variable_spec spec = { .name = "w", .dtype = JFL_F64, .shape = row, .trainable = 1 };
  const double rate = 1;
  const jfl_arg momentum = { .name = "momentum", .kind = JFL_ARG_NUMBER };
  const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  jfl_value *x, *labels, *w, *product, *entropy, *sum, *loss;
  COUNTER_TRY(jfl_graph_input(g, "x", JFL_F64, &row, &x));
  COUNTER_TRY(jfl_graph_input(g, "labels", JFL_I32, &one, &labels));
  COUNTER_TRY(jfl_graph_variable(g, &spec, &w));
  COUNTER_TRY(counter_op(g, "multiply", w, x, &product));
  COUNTER_TRY(counter_op(g, "sparse_softmax_cross_entropy_with_logits", labels, x, &entropy));
  COUNTER_TRY(counter_op(g, "add", product, entropy, &sum));
  COUNTER_TRY(counter_op(g, "subtract", entropy, product, &loss));
  COUNTER_TRY(jfl_graph_output(g, w));
  COUNTER_TRY(jfl_graph_output(g, sum));
  return jfl_graph_minimize(g, &(jfl_minimize){
    .loss = &loss, .n_loss = 1, .optimizer = "SGD", .arg = &momentum, .n_arg = 1,
    .schedule = "piecewise_constant_schedule", .schedule_arg = schedule, .n_schedule_arg = 2 });
}

static inline jfl_status counter_plan(jfl_session *s, const char *name, jfl_plan **out)
{
  jfl_graph *g;
  jfl_job *j;
  COUNTER_TRY(jfl_graph_new(name, JFL_TRAIN, &g));
  jfl_status st = counter_body(g);
  if (!st) st = jfl_job_new(s, name, JFL_TRAIN, &j);
  if (!st) st = jfl_job_compile(j, g, out);
  jfl_graph_unref(g);
  return st;
}

/* Makes the arrays for a call: {1} and the label. */
static inline jfl_status counter_inputs(int label, jfl_array *in[2])
{
  const jfl_shape one = { 1, { 1 } }, row = { 2, { 1, 1 } };
  COUNTER_TRY(jfl_array_new(JFL_F64, &row, &in[0]));
  jfl_status s = jfl_array_new(JFL_I32, &one, &in[1]);
  if (s) {
    jfl_array_unref(in[0]);
    return s;
  }
  *(double *)jfl_array_data(in[0]) = 1;
  *(int32_t *)jfl_array_data(in[1]) = label;
  return JFL_OK;
}

/* Releases two arrays: inputs or results. */
static inline void counter_drop(jfl_array *a[2])
{
  jfl_array_unref(a[0]);
  jfl_array_unref(a[1]);
}

#endif
