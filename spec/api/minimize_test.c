/* What minimizing and gradients are refused for, by each field of what is asked; and what is just
   within a bound. */
#include <math.h>
#include <string.h>

#include "counter.h"
#include "test.h"

static const jfl_shape square = { 2, { 2, 2 } }, one = { 1, { 1 } };
static const double rate = 1;
static const jfl_arg schedule[] = {
  { .name = "boundaries", .kind = JFL_ARG_LIST },
  { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
};

/* A graph whose loss is input times v times w; far is an input of another one. */
typedef struct job {
  jfl_graph *g, *other;
  jfl_value *x, *v, *w, *loss, *far, *count, *real;
} job;

static jfl_status describe(job *j)
{
  jfl_variable_spec spec = { .name = "v", .dtype = JFL_F32, .shape = square, .trainable = 1 };
  COUNTER_TRY(jfl_graph_input(j->g, "x", JFL_F32, &square, &j->x));
  COUNTER_TRY(jfl_graph_input(j->g, "count", JFL_I64, &one, &j->count));
  COUNTER_TRY(jfl_graph_input(j->g, "real", JFL_F32, &one, &j->real));
  COUNTER_TRY(jfl_graph_variable(j->g, &spec, &j->v));
  spec.name = "w";
  COUNTER_TRY(jfl_graph_variable(j->g, &spec, &j->w));
  COUNTER_TRY(counter_op(j->g, "matmul", j->x, j->v, &j->loss));
  COUNTER_TRY(counter_op(j->g, "matmul", j->loss, j->w, &j->loss));
  return jfl_graph_input(j->other, "far", JFL_F32, &one, &j->far);
}

static job begin(jfl_mode mode)
{
  job j = { 0 };
  CHECK(!jfl_graph_new("here", mode, &j.g) && !jfl_graph_new("there", JFL_TRAIN, &j.other));
  CHECK_MSG(!describe(&j), "%s", jfl_errmsg());
  return j;
}

static void end(job *j)
{
  jfl_graph_unref(j->g);
  jfl_graph_unref(j->other);
}

static jfl_minimize good(const job *j)
{
  return (jfl_minimize){ .loss = &j->loss, .n_loss = 1, .optimizer = "SGD",
                         .schedule = "piecewise_constant_schedule", .schedule_arg = schedule,
                         .n_schedule_arg = 2 };
}

#define REFUSED(text, ...) do { \
  jfl_minimize m = good(&j); \
  __VA_ARGS__; \
  CHECK_MSG(jfl_graph_minimize(j.g, &m) && strstr(jfl_errmsg(), text), "%s", jfl_errmsg()); \
} while (0)

/* Only the first optimizer of a variable is taken, so each has a job. */
#define TAKEN(...) do { \
  j = begin(JFL_TRAIN); \
  jfl_minimize m = good(&j); \
  __VA_ARGS__; \
  CHECK_MSG(!jfl_graph_minimize(j.g, &m), "%s", jfl_errmsg()); \
  end(&j); \
} while (0)

static void bounds_of_numbers(void)
{
  job j = begin(JFL_TRAIN);
  static const double wrong[] = { -1, -1e-300, NAN };
  for (int i = 0; i < 3; i++) {
    REFUSED("clip_norm must be 0 or more", m.clip_norm = wrong[i]);
    REFUSED("clip_each_norm must be 0 or more", m.clip_each_norm = wrong[i]);
    REFUSED("clip_value must be 0 or more", m.clip_value = wrong[i]);
    REFUSED("loss_scale must be a finite number above 0", m.loss_scale = wrong[i]);
    REFUSED("average must be in [0, 1), got", m.average = wrong[i]);
  }
  REFUSED("accumulate must be 0 or more, got -1", m.accumulate = -1);
  REFUSED("loss_scale must be a finite number above 0, got inf", m.loss_scale = INFINITY);
  REFUSED("loss_scale must be a finite number above 0, got 0", m.scale_period = 1;
          m.scale_multiplier = 2);
  REFUSED("increment_period", m.loss_scale = 1; m.scale_period = -1; m.scale_multiplier = 2);
  REFUSED("multiplier must be a finite number above 1, got 1", m.loss_scale = 1;
          m.scale_period = 1; m.scale_multiplier = 1);
  REFUSED("average must be in [0, 1), got 1", m.average = 1);
  end(&j);
  TAKEN(m.clip_norm = 0);
  TAKEN(m.clip_norm = 1e-300; m.clip_each_norm = 1e-300; m.clip_value = 1e-300);
  TAKEN(m.loss_scale = 1e-300);
  TAKEN(m.loss_scale = 0.5; m.scale_period = 1; m.scale_multiplier = 1.0001);
  TAKEN(m.average = 0.9999);
  TAKEN(m.average = 1e-300);
}

static void values_of_the_job(void)
{
  job j = begin(JFL_TRAIN);
  jfl_value *const mixed[] = { j.loss, j.real }, *const twice[] = { j.w, j.w };
  REFUSED("losses must hold one or more, got none", m.n_loss = 0);
  REFUSED("the loss 'far' must be of job 'here', got one of job 'there'", m.loss = &j.far);
  REFUSED("the loss 'count' must be a float blob, got int64", m.loss = &j.count);
  REFUSED("losses must have one shape, got (2, 2) and (1)", m.loss = mixed; m.n_loss = 2);
  REFUSED("unknown optimizer 'Sgd'", m.optimizer = "Sgd");
  REFUSED("unknown learning rate schedule 'tanh'", m.schedule = "tanh");
  REFUSED("unknown learning rate schedule 'odd'", m.schedule = "odd");
  REFUSED("rate must be of job 'here', got 'far' of job 'there'", m.rate = j.far);
  REFUSED("rate must be one float, got 'count' int64 (1)", m.rate = j.count);
  REFUSED("rate must be one float, got 'x' float32 (2, 2)", m.rate = j.x);
  REFUSED("step must be of job 'here', got 'far' of job 'there'", m.step = j.far);
  REFUSED("step must be one int64 number, got 'real' float32 (1)", m.step = j.real);
  REFUSED("step must be the job's own where the loss scale is dynamic", m.step = j.count;
          m.loss_scale = 1; m.scale_period = 1; m.scale_multiplier = 2);
  REFUSED("'x' must be a variable of this job", m.variable = &j.x; m.n_variable = 1);
  REFUSED("'far' must be a variable of this job", m.variable = &j.far; m.n_variable = 1);
  REFUSED("variable 'w' is given twice", m.variable = twice; m.n_variable = 2);
  REFUSED("SGD has no weight decay of which variables could be spared", m.undecayed = &j.w;
          m.n_undecayed = 1);
  end(&j);
  j = begin(JFL_PREDICT);
  REFUSED("job 'here' is a predict job; define it with type = \"train\"", (void)0);
  end(&j);
  TAKEN(m.rate = j.real; m.step = j.count);
  TAKEN(m.optimizer = "AdamW"; m.undecayed = &j.w; m.n_undecayed = 1);
}

/* Of one loss there are gradients of one kind, of others there may be others. */
static void several_optimizers(void)
{
  for (int of_another = 0; of_another < 2; of_another++)
    for (int field = 0; field < 5; field++) {
      job j = begin(JFL_TRAIN);
      jfl_value *loss = j.loss;
      jfl_minimize m = good(&j);
      m.loss_scale = 4, m.scale_period = 2, m.scale_multiplier = 2, m.accumulate = 2;
      m.variable = &j.v, m.n_variable = 1;
      CHECK_MSG(!jfl_graph_minimize(j.g, &m), "%s", jfl_errmsg());
      m.variable = &j.w;
      if (of_another) CHECK(!counter_op(j.g, "matmul", j.x, j.w, &loss));
      m.loss = &loss;
      if (field == 1) m.loss_scale = 5;
      if (field == 2) m.scale_period = 3;
      if (field == 3) m.scale_multiplier = 3;
      if (field == 4) m.accumulate = 3;
      const int taken = !jfl_graph_minimize(j.g, &m);
      CHECK_MSG(taken == (!field || of_another), "%d: %s", field, jfl_errmsg());
      CHECK(taken || strstr(jfl_errmsg(), "must have one loss scale policy and accumulate as"));
      end(&j);
    }
}

static void what_has_gradients(void)
{
  job j = begin(JFL_PREDICT);
  jfl_value *dx;
  CHECK(jfl_graph_gradients(j.g, j.count, NULL, &j.x, 1, &dx) == JFL_EDTYPE &&
        strstr(jfl_errmsg(), "gradients: y must be a float blob, got int64"));
  CHECK(jfl_graph_gradients(j.g, j.loss, j.real, &j.x, 1, &dx) == JFL_ESHAPE &&
        strstr(jfl_errmsg(), "gradients: dy must be of the dtype and shape of y"));
  CHECK(jfl_graph_gradients(j.g, j.real, j.count, &j.x, 1, &dx) == JFL_ESHAPE);
  CHECK(!jfl_graph_gradients(j.g, j.loss, j.x, &j.x, 1, &dx) && dx);
  CHECK(!jfl_graph_gradients(j.g, j.loss, j.x, &j.real, 1, &dx) && !dx);
  end(&j);
}

int main(void)
{
  RUN(bounds_of_numbers);
  RUN(values_of_the_job);
  RUN(several_optimizers);
  RUN(what_has_gradients);
  return test_done();
}
