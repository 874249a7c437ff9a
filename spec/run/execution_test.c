/* Executions of a plan: whoever watches a run. */
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "run/run.h"
#include "test.h"

enum { BATCH = 4 };

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
static uint64_t train_watched(const char *device, int is_profiled, int is_checked)
{
  jfl_session *s = open_session(device);
  jfl_plan *p = NULL;
  jfl_profile *f = NULL;
  set(s, "check_finite", 1);
  CHECK_MSG(!model_plan(s, "net", model_lenet, BATCH, 0.9, &p), "%s", jfl_errmsg());
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
  const char *const device[] = { "cpu", "sim:0" };
  for (int i = 0; i < 2; i++) {
    const uint64_t plain = train_watched(device[i], 0, 0);
    for (int how = 1; how < 4; how++)
      CHECK_MSG(train_watched(device[i], how & 1, how >> 1) == plain, "%s %d", device[i], how);
  }
}

int main(void)
{
  RUN(a_watched_run_is_the_same_run);
  return test_done();
}
