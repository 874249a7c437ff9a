/* The passes in order, and running them. */
#include "pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const jf_pass jf_passes[] = {
  { "grad", jf_pass_grad, "the body's graph with its losses" },
  { "output", jf_pass_output, "all reads of variables by the body stand before its updates" },
  { "update", jf_pass_update, "a gradient for every trained variable; results already copied" },
  { "dce", jf_pass_dce, "updates are in the graph, so that what they need is known" },
  { NULL, NULL, NULL },
};

static void dump(const jfl_graph *g, const char *pass)
{
  const char *want = getenv("JFL_DUMP");
  if (!want || strcmp(want, pass)) return;
  jf_text t = {0};
  jf_graph_print(g, &t);
  fprintf(stderr, "-- after pass %s\n%s", pass, t.s ? t.s : "");
  jfl_text_free(t.s);
}

jfl_status jf_run_passes(jfl_graph *g)
{
  for (const jf_pass *p = jf_passes; p->name; p++) {
    jfl_status s = p->run(g);
    if (!s) s = g->err;
    if (s) return jf_blame(s, "%s: ", g->name);
    if ((s = jf_graph_verify(g))) return jf_blame(s, "%s: pass %s left a broken ", g->name, p->name);
    dump(g, p->name);
  }
  return JFL_OK;
}
