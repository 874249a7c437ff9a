/* Executions of a plan: two of one plan at once, and whoever watches a run. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "op/cast.h"
#include "run/run.h"
#include "test.h"

enum { BATCH = 3, INPUTS = 3 };

static void set(jfl_session *s, const char *name, double v)
{
  CHECK(!jfl_session_set(s, &(jfl_arg){ .name = name, .kind = JFL_ARG_NUMBER, .number = v }));
}

static void set_text(jfl_session *s, const char *name, const char *v)
{
  CHECK(!jfl_session_set(s, &(jfl_arg){ .name = name, .kind = JFL_ARG_STRING, .string = v }));
}

static jfl_session *open_session(const char *device)
{
  jfl_session *s;
  if (jfl_session_new(&s)) abort();
  set_text(s, "device", device);
  set(s, "seed", 3);
  set(s, "threads", 2);
  return s;
}

/* The simulated device computes by plain kernels, so it gets the smaller network; without dropout,
   whose random bits it would not find there, it repeats runs as a whole. */
typedef struct place { const char *device; model_net net; int n; } place;
static const place places[] = { { "cpu", model_lenet, 60 }, { "sim:0", model_mlp, 12 } };

/* ---- two at once ---- */

/* A network's scores, also in float16. */
static jfl_status scores(model *m, model_net net, int64_t batch)
{
  const jfl_arg half = { .name = "dtype", .kind = JFL_ARG_STRING, .string = "float16" };
  jfl_value *x;
  JF_TRY(jfl_graph_input(m->g, "x", JFL_F32, &(jfl_shape){ 4, { batch, 1, 28, 28 } }, &x));
  jfl_value *y = net(m, x, batch);
  jfl_value *z = model_op(m, "softmax", model_op(m, "cast", y, NULL, &half, 1), NULL, NULL, 0);
  if (m->err) return m->err;
  JF_TRY(jfl_graph_output(m->g, y));
  return jfl_graph_output(m->g, z);
}

static jfl_plan *predicting(jfl_session *s, model_net net, int64_t batch)
{
  model m = { NULL, JFL_OK };
  jfl_job *j;
  jfl_plan *p = NULL;
  if (jfl_graph_new("scores", JFL_PREDICT, &m.g)) abort();
  CHECK_MSG(!scores(&m, net, batch), "%s", jfl_errmsg());
  CHECK(!jfl_job_new(s, "scores", JFL_PREDICT, &j));
  CHECK_MSG(!jfl_job_compile(j, m.g, &p), "%s", jfl_errmsg());
  jfl_graph_unref(m.g);
  return p;
}

/* One of two threads: it runs an execution of its own on all inputs in turn, as often as it is
   told, and counts the runs whose results are not those that are wanted. */
typedef struct runner {
  pthread_t thread;
  jf_execution *e;
  jfl_array *const *in;
  jfl_array *(*want)[2];
  int n, wrong;
} runner;

static int differs(const jfl_array *a, const jfl_array *b)
{
  return memcmp(jfl_array_data((jfl_array *)a), jfl_array_data((jfl_array *)b),
                (size_t)jfl_array_size(a) * jfl_dtype_size(jfl_array_dtype(a))) != 0;
}

static void *run_all(void *ctx)
{
  runner *r = ctx;
  jfl_array *out[2];
  if (jf_plan_outputs_new(r->e->plan, out)) abort();
  for (int i = 0; i < r->n; i++) {
    const int k = i % INPUTS;
    r->wrong += jf_execution_run(r->e, (uint64_t)k, &r->in[k], out, JF_ASKS_NEVER) ||
                differs(out[0], r->want[k][0]) || differs(out[1], r->want[k][1]);
  }
  jf_arrays_drop(out, 2);
  return NULL;
}

static void make_inputs(jfl_plan *p, int64_t batch, jfl_array **in, jfl_array *(*want)[2])
{
  for (int i = 0; i < INPUTS; i++) {
    CHECK(!jfl_array_new(JFL_F32, &(jfl_shape){ 4, { batch, 1, 28, 28 } }, &in[i]));
    float *x = jfl_array_data(in[i]);
    for (int64_t k = 0; k < jfl_array_size(in[i]); k++)
      x[k] = (float)((k + i) * 7919 % 1009) / 1009;
    CHECK_MSG(!jfl_run(p, &in[i], want[i]), "%s", jfl_errmsg());
  }
}

static void run_two(jfl_plan *p, int64_t batch, int n)
{
  jfl_array *in[INPUTS], *want[INPUTS][2];
  runner r[2];
  make_inputs(p, batch, in, want);
  CHECK(differs(want[0][0], want[1][0]) && differs(want[0][1], want[1][1]));
  for (int i = 0; i < 2; i++) {
    r[i] = (runner){ .in = in, .want = want, .n = n };
    CHECK_MSG(!jf_execution_new_separate(p, &r[i].e), "%s", jfl_errmsg());
  }
  for (int i = 0; i < 2; i++)
    if (pthread_create(&r[i].thread, NULL, run_all, &r[i])) abort();
  for (int i = 0; i < 2; i++) {
    pthread_join(r[i].thread, NULL);
    CHECK_MSG(!r[i].wrong, "%d of %d runs", r[i].wrong, n);
    jf_execution_free(r[i].e);
  }
  for (int i = 0; i < INPUTS; i++) {
    jf_arrays_drop(want[i], 2);
    jfl_array_unref(in[i]);
  }
}

static void two_executions_run_one_plan_at_once(void)
{
  for (int i = 0; i < 2; i++) {
    jfl_session *s = open_session(places[i].device);
    jfl_plan *p = predicting(s, places[i].net, BATCH);
    CHECK(p != NULL);
    if (p) run_two(p, BATCH, places[i].n);
    jfl_session_free(s);
  }
}

/* ---- a call that two threads make ---- */

enum { WIDE = 1000, WIDE_RUNS = 20000 };

/* A call of numbers of float16 that count from `first` on. */
typedef struct wide_call {
  pthread_t thread;
  jf_kargs k;
  jf_tensor in, out;
  jf_kernel run;
  uint16_t x[WIDE], y[WIDE], want[WIDE];
  int wrong;
} wide_call;

static void wide_prepare(wide_call *w, const jf_kargs *k, jf_kernel run, size_t scratch, int first)
{
  w->k = *k;
  w->run = run;
  w->in = k->in[0];
  w->out = k->out[0];
  w->k.in = &w->in;
  w->k.out = &w->out;
  w->in.data = w->x;
  w->out.data = w->y;
  w->k.scratch = jf_new_raw(scratch);
  for (int i = 0; i < WIDE; i++) w->x[i] = (uint16_t)(0x3000 + (i + first) % 0x1000);
  CHECK(!run(&w->k));
  memcpy(w->want, w->y, sizeof w->y);
}

static void *run_wide(void *ctx)
{
  wide_call *w = ctx;
  for (int i = 0; i < WIDE_RUNS; i++) {
    memset(w->y, 0, sizeof w->y);
    w->wrong += w->run(&w->k) || memcmp(w->y, w->want, sizeof w->y);
  }
  return NULL;
}

static void two_threads_convert_what_each_has(void)
{
  static wide_call w[2];
  jf_tensor x = { .dtype = JFL_F16, .shape = { 1, { WIDE } } }, y = x;
  const jf_cast to = { JFL_BF16 };
  y.dtype = to.dtype;
  jf_kargs k = { .in = &x, .out = &y, .n_in = 1, .n_out = 1, .attr = &to };
  jf_device *host = jf_host();
  jf_arena arena = { 0 };
  jf_chooser chooser = { .device = &host, .n_device = 1, .threads = 1, .arena = &arena };
  jf_choice c;
  CHECK(!jf_choose(&chooser, 0, jfl_op_find("cast"), &k, &c) && c.run);
  for (int i = 0; i < 2; i++) wide_prepare(&w[i], &k, c.run, c.scratch, 100 * i);
  CHECK(memcmp(w[0].want, w[1].want, sizeof w[0].want));
  for (int i = 0; i < 2; i++)
    if (pthread_create(&w[i].thread, NULL, run_wide, &w[i])) abort();
  for (int i = 0; i < 2; i++) {
    pthread_join(w[i].thread, NULL);
    CHECK_MSG(!w[i].wrong, "%d of %d runs", w[i].wrong, WIDE_RUNS);
    jf_free(w[i].k.scratch);
  }
  jf_choice_release(&c, &k);
  jf_arena_free(&arena);
}

/* ---- who watches ---- */

static int always(void *ctx)
{
  (void)ctx;
  return 1;
}

/* Trains a little, with a run that is stopped and one that fails; gives a hash of the losses. */
static uint64_t train(jfl_session *s, jfl_plan *p)
{
  jfl_array *in[2], *loss;
  uint64_t sum = 0;
  if (model_inputs(BATCH, in)) abort();
  for (int i = 0; i < 6; i++) {
    const int stops = i == 1 || i == 4, fails = i == 3;
    if (stops) jfl_session_stop_when(s, always, NULL);
    ((int32_t *)jfl_array_data(in[1]))[2] = fails ? 77 : 2;
    const jfl_status st = jfl_run(p, in, &loss);
    jfl_session_stop_when(s, NULL, NULL);
    CHECK_MSG(st == (stops ? JFL_ESTATE : fails ? JFL_EDATA : JFL_OK), "run %d: %s", i,
              st ? jfl_errmsg() : "made");
    CHECK(!stops || (st && strstr(jfl_errmsg(), "stopped")));
    CHECK(!fails || (st && strstr(jfl_errmsg(), "got 77") && jfl_error_part(JFL_ERROR_NODE)));
    if (st) continue;
    sum = jf_hash(sum, jfl_array_data(loss), BATCH * sizeof(float));
    jfl_array_unref(loss);
  }
  model_drop(in);
  return sum;
}

/* Losses are the same, whatever is watched; runs that are stopped or fail are not made. */
static uint64_t train_watched(const place *at, int is_profiled, int is_checked)
{
  jfl_session *s = open_session(at->device);
  jfl_plan *p = NULL;
  jfl_profile *f = NULL;
  set(s, "check_finite", 1);
  CHECK_MSG(!model_plan(s, "net", at->net, BATCH, 0.9, &p), "%s", jfl_errmsg());
  set(s, "check_finite", is_checked);
  if (is_profiled) CHECK(!jfl_profile_start(s, 1000));
  const uint64_t sum = train(s, p);
  if (is_profiled) CHECK(!jfl_profile_stop(s, &f));
  jfl_profile_row row;
  CHECK(!f || (!jfl_profile_at(f, 0, &row) && row.runs == 3));
  if (f) jfl_profile_free(f);
  jfl_session_free(s);
  return sum;
}

static void a_watched_run_is_the_same_run(void)
{
  for (int i = 0; i < 2; i++) {
    const uint64_t plain = train_watched(&places[i], 0, 0);
    for (int how = 1; how < 4; how++)
      CHECK_MSG(train_watched(&places[i], how & 1, how >> 1) == plain, "%s %d", places[i].device,
                how);
  }
}

int main(void)
{
  RUN(two_executions_run_one_plan_at_once);
  RUN(two_threads_convert_what_each_has);
  RUN(a_watched_run_is_the_same_run);
  return test_done();
}
