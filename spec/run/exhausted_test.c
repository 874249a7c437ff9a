/* Every allocation in a job's life fails once: each failure must become a status, and nothing may
   leak. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counter.h"
#include "dev/cpu/cpu.h"
#include "models.h"
#include "scratch.h"
#include "test.h"

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static long left, held;      /* allocations until one fails; bytes in use */

static void *take(void *ud, size_t size)
{
  (void)ud;
  pthread_mutex_lock(&mu);
  void *p = left-- == 0 ? NULL : malloc(size);
  if (p) held += (long)size;
  pthread_mutex_unlock(&mu);
  return p;
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud;
  pthread_mutex_lock(&mu);
  held -= (long)size;
  pthread_mutex_unlock(&mu);
  free(p);
}

static jfl_status run_once(jfl_plan *p, jfl_array *const *in)
{
  jfl_array *out[2];
  jfl_status s = jfl_run(p, in, out);
  if (!s) counter_drop(out);
  return s;
}

static jfl_status run_queued(jfl_session *s, jfl_plan *p, jfl_array *const *in)
{
  jfl_request *r;
  COUNTER_TRY(jfl_submit(p, in, &r));
  jfl_session_wait(s, r, -1);
  jfl_status st = jfl_request_status(r);
  jfl_request_unref(r);
  return st;
}

static jfl_status print_plan(jfl_plan *p)
{
  char *text;
  COUNTER_TRY(jfl_plan_text(p, &text));
  jfl_text_free(text);
  return JFL_OK;
}

static jfl_status read_variable(jfl_session *s)
{
  jfl_array *a;
  COUNTER_TRY(jfl_variable_get(s, "w", &a));
  jfl_array_unref(a);
  return JFL_OK;
}

static jfl_status eager(jfl_session *s, jfl_array *const *in)
{
  jfl_array *pair[] = { in[0], in[0] }, *out[8];
  COUNTER_TRY(jfl_eager(s, jfl_op_find("add"), pair, 2, NULL, 0, out));
  jfl_array_unref(out[0]);
  return JFL_OK;
}

static const jfl_arg queue_all = { .name = "inline_limit", .kind = JFL_ARG_NUMBER };

static jfl_status use(jfl_session *s, jfl_array *const *in)
{
  jfl_plan *p;
  COUNTER_TRY(counter_plan(s, "counter", &p));
  COUNTER_TRY(run_once(p, in));
  COUNTER_TRY(run_queued(s, p, in));
  COUNTER_TRY(jfl_session_set(s, &queue_all));
  COUNTER_TRY(run_queued(s, p, in));
  COUNTER_TRY(print_plan(p));
  COUNTER_TRY(eager(s, in));
  return read_variable(s);
}

static jfl_status life(void)
{
  jfl_session *s;
  jfl_array *in[2];
  COUNTER_TRY(jfl_session_new(&s));
  jfl_status st = counter_inputs(0, in);
  if (!st) {
    st = use(s, in);
    counter_drop(in);
  }
  jfl_session_free(s);
  return st;
}

/* ---- a network in which every pass has work, with variables in packed forms ---- */

enum { BATCH = 2, CHANNELS = 16 };

/* The second convolution is 3x3, between blocks of channels, with a residual. */
static jfl_value *conv_net(model *m, jfl_value *x, int64_t batch)
{
  const jfl_arg same = { .name = "padding", .kind = JFL_ARG_STRING, .string = "SAME" };
  jfl_value *h = model_conv(m, "conv1", x, 1, CHANNELS);
  const jfl_shape filters = { 4, { CHANNELS, CHANNELS, 3, 3 } };
  jfl_value *w = model_variable(m, "conv2", "weight", filters);
  jfl_value *b = model_variable(m, "conv2", "bias", (jfl_shape){ 1, { CHANNELS } });
  jfl_value *y = model_op(m, "bias_add", model_op(m, "conv2d", h, w, &same, 1), b, NULL, 0);
  y = model_op(m, "relu", model_op(m, "add", y, h, NULL, 0), NULL, NULL, 0);
  return model_dense(m, "dense", model_flat(m, y, batch), CHANNELS * 14 * 14, 10);
}

static jfl_status read_back(jfl_session *s, const char *name)
{
  jfl_array *a;
  COUNTER_TRY(jfl_variable_get(s, name, &a));
  jfl_status st = jfl_variable_set(s, name, a);
  jfl_array_unref(a);
  return st;
}

static jfl_status read_and_write(const jfl_checkpoint *c)
{
  const char *name = "name";
  jfl_array *a;
  COUNTER_TRY(jfl_checkpoint_read(c, 0, JFL_F32, NULL, &a));
  jfl_status st = jfl_checkpoint_write(in_scratch("one"), 1, &name, &a, 1);
  jfl_array_unref(a);
  return st;
}

static jfl_status save_and_load(jfl_session *s)
{
  jfl_report *report;
  jfl_checkpoint *c;
  const jfl_note note = { "key", "value" };
  COUNTER_TRY(jfl_checkpoint_save_notes(s, in_scratch("model"), 1, &note, 1));
  COUNTER_TRY(jfl_checkpoint_open(in_scratch("model"), &c));
  jfl_status st = read_and_write(c);
  jfl_checkpoint_close(c);
  COUNTER_TRY(st);
  COUNTER_TRY(jfl_checkpoint_load(s, in_scratch("model"), 1, &report));
  jfl_report_free(report);
  return JFL_OK;
}

/* The hash of a variable's contents, computed while no allocation fails. */
static uint64_t contents(jfl_session *s)
{
  uint64_t sum = 0;
  for (int i = 0; i < s->n_var; i++)
    for (int k = 0; k < s->var[i]->n_shard; k++) {
      const jf_storage *st = s->var[i]->shard[k].storage;
      sum = jf_hash(sum, st->data, st->size);
    }
  return sum;
}

/* Trains; checks that a run that fails changes no variable. */
static jfl_status train(jfl_session *s, jfl_plan *p, jfl_array *const *in)
{
  jfl_array *out[1];
  uint64_t before = contents(s);
  jfl_status st = jfl_run(p, in, out);
  if (st) CHECK(contents(s) == before);
  else jfl_array_unref(out[0]);
  return st;
}

static jfl_status learn(jfl_session *s, jfl_array *const *in)
{
  const jfl_arg plain = { .name = "passes", .kind = JFL_ARG_STRING, .string = "-layout -fuse" };
  jfl_plan *p, *q;
  COUNTER_TRY(model_plan(s, "momentum", conv_net, BATCH, 0.9, &p));
  CHECK(!jf_cpu_channel_block() ||
        jf_session_var(s, "conv2-weight")->shard[0].packing.form == JF_PACKED);
  COUNTER_TRY(train(s, p, in));
  COUNTER_TRY(run_queued(s, p, in));
  COUNTER_TRY(read_back(s, "conv2-weight"));
  COUNTER_TRY(jfl_session_set(s, &plain));
  COUNTER_TRY(model_plan(s, "plain", conv_net, BATCH, 0, &q));
  COUNTER_TRY(train(s, q, in));
  jfl_plan_free(p);
  COUNTER_TRY(save_and_load(s));
  COUNTER_TRY(print_plan(q));
  return train(s, q, in);
}

static jfl_status network(void)
{
  jfl_session *s;
  jfl_array *in[2];
  COUNTER_TRY(jfl_session_new(&s));
  jfl_status st = model_inputs(BATCH, in);
  if (!st) {
    st = learn(s, in);
    model_drop(in);
  }
  jfl_session_free(s);
  return st;
}

/* ---- a job on two devices, which have a copy of each variable, or half of it ---- */

static jfl_value *split_net(model *m, jfl_value *x, int64_t batch)
{
  jfl_value *h = model_dense(m, "hidden", model_flat(m, x, batch), 784, 6);
  jfl_value *w = model_variable(m, "last", "weight", (jfl_shape){ 2, { 6, 10 } });
  if (!m->err) m->err = jfl_value_distribute(w, (jfl_distribution){ JFL_SPLIT, 0 });
  return model_op(m, "matmul", model_op(m, "relu", h, NULL, NULL, 0), w, NULL, 0);
}

static jfl_status learn_together(jfl_session *s, jfl_array *const *in)
{
  const jfl_arg two = { .name = "device", .kind = JFL_ARG_STRING, .string = "sim 0:0-1" };
  jfl_plan *p;
  COUNTER_TRY(jfl_session_set(s, &two));
  COUNTER_TRY(model_plan(s, "together", split_net, BATCH, 0.9, &p));
  CHECK(jf_session_var(s, "last-weight")->n_shard == 2);
  jfl_array *out[1];
  COUNTER_TRY(jfl_run(p, in, out));
  jfl_array_unref(out[0]);
  COUNTER_TRY(run_queued(s, p, in));
  COUNTER_TRY(read_back(s, "last-weight"));
  COUNTER_TRY(read_back(s, "hidden-weight"));
  COUNTER_TRY(print_plan(p));
  return save_and_load(s);
}

static jfl_status together(void)
{
  jfl_session *s;
  jfl_array *in[2];
  COUNTER_TRY(jfl_session_new(&s));
  jfl_status st = model_inputs(BATCH, in);
  if (!st) {
    st = learn_together(s, in);
    model_drop(in);
  }
  jfl_session_free(s);
  return st;
}

/* ---- */

static void fail_each(jfl_status (*fn)(void))
{
  enum { TOO_MANY = 5000 };
  int n = 0;
  for (; n < TOO_MANY; n++) {
    left = n;
    jfl_status s = fn();
    CHECK_MSG(held == 0, "%ld bytes stay behind after failure %d", held, n);
    if (!s) break;
    CHECK_MSG(s == JFL_ENOMEM, "failure %d: %s: %s", n, jfl_status_name(s), jfl_errmsg());
  }
  CHECK_MSG(n > 20 && n < TOO_MANY, "it was done after %d allocations", n);
}

static void every_failure_is_a_status(void) { fail_each(life); }
static void every_failure_of_a_network_is_a_status(void) { fail_each(network); }
static void every_failure_on_two_devices_is_a_status(void) { fail_each(together); }

int main(void)
{
  const char *device = getenv("JFL_DEVICE");
  jfl_set_allocator(&(jfl_allocator){ take, give, NULL });
  scratch_make();
  RUN(every_failure_is_a_status);
  /* It looks into variables, which other devices do not let it. */
  if (!device || !strcmp(device, "cpu")) RUN(every_failure_of_a_network_is_a_status);
  setenv("JFL_SIM_DELAY", "0", 0);
  RUN(every_failure_on_two_devices_is_a_status);
  return test_done();
}
