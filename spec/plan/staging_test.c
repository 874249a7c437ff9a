/* What a device is given as a whole: all of a run's inputs and results go in two copies. */
#include <stdlib.h>

#include "plan/plan.h"
#include "run/run.h"
#include "test.h"

static jfl_session *session;

static jfl_status op(jfl_graph *g, const char *name, jfl_value *x, jfl_value *y, jfl_value **out)
{
  jfl_value *const in[] = { x, y };
  return jfl_graph_op(g, jfl_op_find(name), in, y ? 2 : 1, NULL, 0, NULL, out);
}

/* Two inputs of other sizes and a variable; the results are computed ones and the variable. */
static jfl_status describe(jfl_graph *g)
{
  const jfl_shape many = { 2, { 5, 3 } }, few = { 1, { 3 } };
  jfl_value *x, *y, *v, *z, *w;
  JF_TRY(jfl_graph_input(g, "x", JFL_F32, &many, &x));
  JF_TRY(jfl_graph_input(g, "y", JFL_F32, &few, &y));
  JF_TRY(jfl_graph_place(g, session, "sim:0"));
  JF_TRY(jfl_graph_variable(g, &(jfl_variable_spec){ .name = "v", .dtype = JFL_F32, .shape = few },
                            &v));
  JF_TRY(op(g, "add", x, y, &z));
  JF_TRY(op(g, "add", z, v, &w));
  JF_TRY(jfl_graph_output(g, z));
  JF_TRY(jfl_graph_output(g, w));
  return jfl_graph_output(g, v);
}

static const jfl_plan *compile(void)
{
  jfl_graph *g;
  jfl_job *job;
  jfl_plan *p = NULL;
  CHECK(!jfl_session_new(&session));
  CHECK(!jfl_graph_new("staged", JFL_PREDICT, &g));
  CHECK_MSG(!describe(g), "%s", jfl_errmsg());
  CHECK(!jfl_job_new(session, "staged", JFL_PREDICT, &job));
  CHECK_MSG(!jfl_job_compile(job, g, &p), "%s", jfl_errmsg());
  jfl_graph_unref(g);
  return p;
}

/* Of all that is copied only what lies elsewhere on the device has a copy of its own. */
static void inputs_and_results_go_together(void)
{
  const jfl_plan *p = compile();
  int own = 0, transfers = 0;
  for (int i = 0; p && i < p->n_step; i++) {
    if (!(p->step[i].node->op->flags & JF_TRANSFER)) continue;
    transfers++;
    own += !jf_staging_covers(&p->step[i]);
  }
  CHECK_MSG(p && p->staging.place >= 0 && transfers == 5 && own == 1, "%d of %d by themselves",
            own, transfers);
  if (p) CHECK(p->staging.record > 0 && p->staging.end > p->staging.record);
  jfl_session_free(session);
}

int main(void)
{
  RUN(inputs_and_results_go_together);
  return test_done();
}
