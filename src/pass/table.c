/* The passes in order, and running them. */
#include "pass/pass.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const jf_pass jf_passes[] = {
  { "find_shards", jf_pass_find_shards, "places as the body asked for them", 0 },
  { "resolve", jf_pass_resolve, "the body's graph with its places", 0 },
  { "repeat", jf_pass_repeat, "a place for each node", 0 },
  { "join", jf_pass_join, "places, groups among them; else nothing but what the body says", 0 },
  { "delay_relu", jf_pass_delay_relu,
    "the body's graph without gradients, which read what is moved", 1 },
  { "shard", jf_pass_shard, "the body's graph, whose readers of variables are all there", 0 },
  { "decompose", jf_pass_decompose,
    "the body's graph without gradients, which those of the new nodes are", 0 },
  { "classes", jf_pass_classes,
    "places; no gradient yet, which those of wider products are", 1 },
  { "lengths", jf_pass_lengths,
    "places; no gradient yet, which those of other layouts are", 1 },
  { "channels_first", jf_pass_channels_first,
    "places; no gradient yet, which those of turned convolutions are", 1 },
  { "grad", jf_pass_grad, "the body's graph with its losses", 0 },
  { "recompute", jf_pass_recompute, "gradients stand behind the body and say so", 0 },
  { "output", jf_pass_output, "all reads of variables by the body stand before its updates", 0 },
  { "update", jf_pass_update, "a gradient for every trained variable; results already copied", 0 },
  { "spmd", jf_pass_spmd, "all nodes of the job, whose values get parts here", 0 },
  { "pipeline", jf_pass_pipeline, "nodes of each part of the batch", 0 },
  { "place", jf_pass_place, "all nodes that read variables or change them", 0 },
  { "fold", jf_pass_fold, "gradients and updates are in the graph", 1 },
  { "cse", jf_pass_cse, "what is equal in value is written alike", 1 },
  { "matmul_update", jf_pass_matmul_update,
    "products have their final flags; dce takes away those it folds", JF_MERGES },
  { "slope", jf_pass_slope, "products that no update took; dce takes away those it joins",
    JF_MERGES },
  { "dce", jf_pass_dce, "updates are in the graph, so that what they need is known", 0 },
  { "scale_filters", jf_pass_scale_filters, "no reader of a value that nothing needs", JF_MERGES },
  { "channels", jf_pass_channels,
    "filters are scaled; what follows a convolution is not yet in it", 1 },
  { "epilogue", jf_pass_epilogue, "no reader of a value that nothing needs", JF_MERGES },
  { "integers", jf_pass_integers, "what follows a product is in it, but for rounding",
    JF_MERGES },
  { "panels", jf_pass_panels, "what follows a product is in it; nothing folds it later", 1 },
  { "layout", jf_pass_layout, "updates are in the graph, and what follows a convolution is in it",
    1 },
  { "forms", jf_pass_forms, "variables that layout chose a form for have its shape", 0 },
  { "mixed", jf_pass_mixed,
    "what follows a product is in it; layouts, which conversions take over", 0 },
  { "widen", jf_pass_widen, "all that may read or make floats of 16 bits, but for conversions", 0 },
  { "dce", jf_pass_dce, "conversions of mixed and widen, some of which nothing reads", 0 },
  { "fuse", jf_pass_fuse, "nothing dead: a value that leaves a program is written to memory",
    JF_MERGES },
  { "multi_update", jf_pass_multi_update, "updates that no other pass took", 1 },
  { "inplace", NULL, "is the plan's: results take the memory of inputs that die", 1 },
  { NULL, NULL, NULL, 0 },
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

/* Fails if JFL_DUMP names no pass: otherwise nothing would be printed and the user would not know
   why. */
static jfl_status check_dump(void)
{
  const char *want = getenv("JFL_DUMP");
  jf_text names = {0};
  if (!want || !*want || !strcmp(want, "plan")) return JFL_OK;
  for (const jf_pass *p = jf_passes; p->name; p++) {
    if (!p->run) continue;
    if (!strcmp(p->name, want)) return jfl_text_free(names.s), JFL_OK;
    jf_text_add(&names, names.s ? ", %s" : "%s", p->name);
  }
  jfl_status s = jf_fail(JFL_ENAME, "JFL_DUMP: unknown pass '%s'; passes are %s; or plan", want,
                         names.s ? names.s : "");
  jfl_text_free(names.s);
  return s;
}

static uint64_t table_mix(uint64_t h, uint64_t word) { return (h ^ word) * 0x100000001b3u; }

/* A number that nearly always changes where a pass changes the graph: most passes leave most graphs
   alone, and verifying all each time took a quarter of the time that plans take. */
static uint64_t table_stamp(const jfl_graph *g)
{
  uint64_t h = table_mix((uint64_t)g->n_output, (uint64_t)g->placing);
  for (int i = 0; i < g->n_value; i++) {
    const jfl_value *v = g->value[i];
    h = table_mix(table_mix(h, (uint64_t)v->place), (uint64_t)v->dtype);
    for (int k = 0; k < v->shape.n; k++) h = table_mix(h, (uint64_t)v->shape.d[k]);
  }
  for (int i = 0; i < g->n_node; i++) {
    const jf_node *n = g->node[i];
    h = table_mix(table_mix(h, (uintptr_t)n), (uintptr_t)n->attr ^ (uintptr_t)n->op);
    for (int k = 0; k < n->n_in; k++) h = table_mix(h, (uintptr_t)n->in[k]);
    for (int k = 0; k < n->n_out; k++) h = table_mix(h, (uintptr_t)n->out[k]);
  }
  for (int i = 0; i < g->n_output; i++) h = table_mix(h, (uintptr_t)g->output[i]);
  return h;
}

static jfl_status table_verify(const jfl_graph *g, const char *after)
{
  const jfl_status s = jf_graph_verify(g);
  return s ? jf_fail_in(jf_blame(s, "pass %s left a broken ", after), JFL_ERROR_JOB, g->name) : s;
}

jfl_status jf_run_passes(jfl_graph *g, const jf_target *t)
{
  const char *last = NULL;
  uint64_t stamp = 0;
  for (const jf_pass *p = jf_passes; p->name; p++) {
    if (!p->run || t->off >> (p - jf_passes) & 1) continue;
    jfl_status s = p->run(g, t);
    if (!s) s = g->err;
    if (s) return jf_fail_in(s, JFL_ERROR_JOB, g->name);
    const uint64_t now = table_stamp(g);
    if (now != stamp) JF_TRY(table_verify(g, p->name));
    stamp = now;
    last = p->name;
    dump(g, p->name);
  }
  if (last) JF_TRY(table_verify(g, last));      /* attributes, too, that were changed in place */
  return check_dump();       /* last, since other ranks count on what passes agree with them */
}

/* The bits of the passes of that name; the list may have one name more than once. */
static uint64_t bits_of(const char *name, size_t n)
{
  uint64_t bits = 0;
  for (const jf_pass *p = jf_passes; p->name; p++)
    if (p->optional && strlen(p->name) == n && !memcmp(p->name, name, n))
      bits |= (uint64_t)1 << (p - jf_passes);
  return bits;
}

const char *jf_pass_optional(int i, uint64_t *bits)
{
  for (const jf_pass *p = jf_passes; p->name; p++) {
    if (!p->optional) continue;
    *bits = bits_of(p->name, strlen(p->name));
    int is_first = !(*bits & (((uint64_t)1 << (p - jf_passes)) - 1));
    if (is_first && i-- == 0) return p->name;
  }
  return NULL;
}

static jfl_status leave_out(const char *name, size_t n, uint64_t *off)
{
  uint64_t bits = bits_of(name, n);
  if (!bits)
    return jf_fail(JFL_ENAME, "unknown pass '%.*s', or one that cannot be left out", (int)n, name);
  *off |= bits;
  return JFL_OK;
}

uint64_t jf_passes_merging(void)
{
  uint64_t bits = 0;
  for (const jf_pass *p = jf_passes; p->name; p++)
    if (p->optional == JF_MERGES) bits |= (uint64_t)1 << (p - jf_passes);
  return bits;
}

int jf_pass_is_off(const char *name, uint64_t off)
{
  return (off & bits_of(name, strlen(name))) != 0;
}

jfl_status jf_passes_off(const char *list, uint64_t *off)
{
  uint64_t bits = 0;
  for (const char *p = list; *(p += strspn(p, " ,")); p += strcspn(p, " ,")) {
    if (*p != '-')
      return jf_fail(JFL_EINVAL,
                     "passes must be a list of passes to leave out, as in \"-fuse -cse\", "
                     "got '%.60s'",
                     list);
    p++;
    JF_TRY(leave_out(p, strcspn(p, " ,"), &bits));
  }
  *off = bits;
  return JFL_OK;
}
