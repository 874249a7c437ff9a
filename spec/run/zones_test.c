/* Red zones around what lies in an arena: a kernel that writes beside it is named. */
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "run/run.h"
#include "test.h"

enum { N = 5 };

/* Kernels in place of row_norm's, of which some write where they must not. */
static jfl_status writes(const jf_kargs *k, void *to, int at)
{
  memset(k->out[0].data, 0, N * sizeof(float));
  ((char *)to)[at] = 1;
  return JFL_OK;
}
static jfl_status right(const jf_kargs *k) { return writes(k, k->out[0].data, 0); }
static jfl_status behind(const jf_kargs *k) { return writes(k, k->out[0].data, N * 4); }
static jfl_status before(const jf_kargs *k) { return writes(k, k->out[0].data, -12); }
static jfl_status beside_input(const jf_kargs *k) { return writes(k, k->in[0].data, N * 4 + 100); }
static jfl_status beside_scratch(const jf_kargs *k) { return writes(k, k->scratch, -1); }

static jfl_session *session;
static jfl_plan *plan;

static jfl_status describe(jfl_graph *g, const char *device)
{
  static const char *const ops[] = { "negative", "row_norm", "negative" };
  const jfl_shape shape = { 1, { N } };
  jfl_value *x[3];             /* row_norm has as many results */
  JF_TRY(jfl_graph_input(g, "x", JFL_F32, &shape, x));
  JF_TRY(jfl_graph_place(g, session, device));
  for (int i = 0; i < 3; i++)
    JF_TRY(jfl_graph_op(g, jfl_op_find(ops[i]), x, 1, NULL, 0, NULL, x));
  return jfl_graph_output(g, x[0]);
}

static void open_plan(const char *device)
{
  const jfl_arg settings[] = {
    { .name = "passes", .kind = JFL_ARG_STRING, .string = "-fold -fuse -inplace" },
    { .name = "kernels", .kind = JFL_ARG_STRING, .string = "reference" }
  };
  jfl_graph *g;
  jfl_job *job;
  CHECK(!jfl_session_new(&session));
  for (int i = 0; i < 2; i++) CHECK(!jfl_session_set(session, &settings[i]));
  CHECK(!jfl_graph_new("zoned", JFL_PREDICT, &g));
  CHECK_MSG(!describe(g, device), "%s", jfl_errmsg());
  CHECK(!jfl_job_new(session, "zoned", JFL_PREDICT, &job));
  CHECK_MSG(!jfl_job_compile(job, g, &plan), "%s", jfl_errmsg());
  jfl_graph_unref(g);
}

/* Runs a plan whose second op has that kernel, twice, since some devices repeat what they ran. */
static jfl_status ran(const char *device, jf_kernel kernel)
{
  const jfl_shape shape = { 1, { N } };
  jfl_status s = JFL_OK;
  open_plan(device);
  for (int i = 0; i < plan->n_step; i++)
    if (!strcmp(plan->step[i].node->op->name, "row_norm"))
      ((jf_step *)&plan->step[i])->kernel.run = kernel;
  for (int i = 0; i < 2 && !s; i++) {
    jfl_array *x, *y = NULL;
    CHECK(!jfl_array_new(JFL_F32, &shape, &x));
    s = jfl_run(plan, &x, &y);
    jfl_array_unref(x);
    jfl_array_unref(y);
  }
  jfl_session_free(session);
  return s;
}

static void check(jf_kernel kernel, const char *says)
{
  static const char *const devices[] = { "cpu:0", "sim:0" };
  for (int i = 0; i < 2; i++) {
    const jfl_status s = ran(devices[i], kernel);
    if (!says) CHECK_MSG(!s, "%s", jfl_errmsg());
    else CHECK_MSG(s == JFL_EDATA && strstr(jfl_errmsg(), says), "%s: %s", devices[i],
                   jfl_errmsg());
  }
}

static void names_what_was_written_beside(void)
{
  setenv("JFL_RED_ZONES", "0", 1);
  CHECK_MSG(!ran("cpu:0", behind), "nobody looks: %s", jfl_errmsg());
  setenv("JFL_RED_ZONES", "1", 1);
  check(right, NULL);
  check(behind, "zoned: row_norm_1: the kernel wrote byte 20 of row_norm_1, which has 20 bytes");
  check(before, "the kernel wrote byte -12 of row_norm_1, which has 20 bytes");
  check(beside_input, "the kernel wrote byte 120 of negative_1, which has 20 bytes");
  check(beside_scratch, "the kernel wrote byte -1 of its scratch, which has");
}

static void refuses_other_words(void)
{
  setenv("JFL_RED_ZONES", "yes", 1);
  CHECK(jfl_session_new(&session) == JFL_EINVAL);
  CHECK_MSG(strstr(jfl_errmsg(), "JFL_RED_ZONES: red_zones must be 0 or 1, got 'yes'"), "%s",
            jfl_errmsg());
}

int main(void)
{
  RUN(names_what_was_written_beside);
  RUN(refuses_other_words);
  return test_done();
}
