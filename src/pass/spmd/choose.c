/* Chooses how a node is computed: the signature whose inputs lie as they are made, or else the one
   for which the least has to be moved. */
#include "pass/spmd/spmd.h"

#include <stdlib.h>
#include <string.h>

/* What a choice is made by: 10 off for each input that lies so; bytes to be moved; how many inputs
   are not as they lie. */
typedef struct choose_cost { int order; double bytes; int moved; } choose_cost;

/* Bytes to be moved so that a value that lies one way on a group lies another way. A part of what
   each member has is there already. */
static double choose_bytes(const jfl_value *v, jfl_distribution from, jfl_distribution to)
{
  const double bytes = (double)JF_BYTES_OF(v);
  if (from.kind == JFL_BROADCAST) return 0;
  if (from.kind == JFL_PARTIAL && to.kind == JFL_BROADCAST) return 2 * bytes;
  return bytes;
}

/* Adds what it costs that input i is read so; 0: it cannot be. */
static int choose_input(spmd_walk *w, const jf_node *n, int i, const jf_group *g,
                        jfl_distribution to, choose_cost *c)
{
  const jfl_value *v = n->in[i];
  if (spmd_is_source(v)) return to.kind != JFL_PARTIAL;
  const jfl_distribution from = spmd_made(w, v, g);
  const jf_group *on = w->sharding[v->id]->group;
  const int here = on == g || v->origin == JF_INPUT;
  if (jf_distribution_eq(from, to) && (here || on->n == g->n)) {
    c->order -= 10;
    if (!here) c->bytes += (double)JF_BYTES_OF(v);
    return here || to.kind != JFL_PARTIAL;
  }
  c->moved++;
  c->bytes += here ? choose_bytes(v, from, to) : (double)JF_BYTES_OF(v);
  return to.kind != JFL_PARTIAL && to.kind != JFL_MIRRORED && !jf_mutates(n, i);
}

static int choose_cost_of(spmd_walk *w, const jf_node *n, const jf_group *g,
                          const jf_signature *s, choose_cost *c)
{
  *c = (choose_cost){ 0, 0, 0 };
  for (int i = 0; i < n->n_in; i++)
    if (!choose_input(w, n, i, g, s->in[i], c)) return 0;
  return 1;
}

static int choose_is_less(const choose_cost *a, const choose_cost *b)
{
  return a->order < b->order || (a->order == b->order && a->bytes < b->bytes);
}

/* What output 0 has to be, or JFL_AUTO. */
static jfl_distribution choose_said(const jf_node *n)
{
  return n->op->distribution ? n->op->distribution(n->attr) : (jfl_distribution){ JFL_AUTO, 0 };
}

/* Whether an input is mirrored, and no signature says what becomes of that. */
static int choose_is_mirrored(spmd_walk *w, const jf_node *n)
{
  int any = 0;
  for (int i = 0; i < n->n_in; i++)
    any |= w->sharding[n->in[i]->id] && w->sharding[n->in[i]->id]->d.kind == JFL_MIRRORED;
  return any && choose_said(n).kind == JFL_AUTO;
}

/* A mirrored node is computed on each member from what that has, and from what all have. */
static void choose_mirrored(spmd_walk *w, const jf_node *n, jf_signature *s)
{
  for (int i = 0; i < n->n_in; i++)
    if (w->sharding[n->in[i]->id] && w->sharding[n->in[i]->id]->d.kind == JFL_MIRRORED)
      s->in[i].kind = JFL_MIRRORED;
  for (int i = 0; i < n->n_out; i++) s->out[i].kind = JFL_MIRRORED;
}

static jf_signatures choose_candidates(spmd_walk *w, const jf_node *n, int parts)
{
  jfl_distribution said = choose_said(n);
  jf_signatures c = { .arena = w->g->arena, .node = n, .parts = parts };
  if (parts == 1 && (said.kind == JFL_SPLIT || said.kind == JFL_PARTIAL))
    said = JF_ON_ALL;          /* one device has the whole */
  if (choose_is_mirrored(w, n)) {
    choose_mirrored(w, n, jf_signature_add(&c));
    return c;
  }
  if (parts > 1) jf_signatures_of(&c);
  jf_signature_add(&c);
  int kept = 0;
  for (int i = 0; i < c.n; i++)
    if (said.kind == JFL_AUTO || jf_distribution_eq(c.signature[i].out[0], said))
      c.signature[kept++] = c.signature[i];
  c.n = kept;
  return c;
}

const jf_signature *spmd_giving(spmd_walk *w, const jf_node *n, int i, int parts,
                                jfl_distribution d)
{
  const jf_signatures c = choose_candidates(w, n, parts);
  for (int k = 0; k < c.n; k++)
    if (jf_distribution_eq(c.signature[k].out[i], d)) return &c.signature[k];
  return NULL;
}

/* The number that JFL_SIGNATURE, "matmul:1,relu:0", says for an op, counted as candidates are; the
   last one for every op that "broadcast" names or leaves out; else -1. */
static int choose_forced(const jf_node *n, int last)
{
  const char *text = getenv("JFL_SIGNATURE");
  const size_t length = strlen(n->op->name);
  for (const char *p = text; p && *p; p += strcspn(p, ","), p += *p == ',') {
    if (!strncmp(p, "broadcast", 9) && (!p[9] || p[9] == ',')) return last;
    if (!strncmp(p, n->op->name, length) && p[length] == ':') return atoi(p + length + 1);
  }
  return -1;
}

static jfl_status choose_none(const jf_node *n, const jf_group *g)
{
  for (int i = 0; i < n->n_in; i++)
    if (jf_mutates(n, i) && n->in[i]->distribution.kind == JFL_SPLIT)
      return jf_fail(JFL_ENOSYS, "'%s' is split over %s, but what is read to update it, such as "
                     "its norm, must be known of the whole; let it lie broadcast", n->in[i]->name,
                     g->name);
  const jfl_distribution said = choose_said(n);
  if (said.kind == JFL_SPLIT)
    return jf_fail(JFL_ESHAPE, "'%s': axis %d must have an element for each of the %d devices of "
                   "%s, got %lld", n->in[0]->name, said.axis, g->n, g->name,
                   (long long)n->in[0]->shape.d[said.axis]);
  return jf_fail(JFL_ENOSYS, "'%s': %s cannot be computed on %s from inputs that lie so", n->name,
                 n->op->name, g->name);
}

static void choose_print(const spmd_walk *w, jf_text *t, const jfl_distribution *d, int n)
{
  jf_text_add(t, n == 1 ? "" : "(");
  for (int i = 0; i < n; i++)
    jf_text_add(t, "%s%s", i ? ", " : "", jf_distribution_text(w->g->arena, d[i]));
  jf_text_add(t, n == 1 ? "" : ")");
}

/* "(split(0), broadcast) -> split(0): inputs lie so" */
static const char *choose_tell(spmd_walk *w, const jf_node *n, const jf_signature *s,
                               const char *why)
{
  jf_text t = { 0 };
  choose_print(w, &t, s->in, n->n_in);
  jf_text_add(&t, " -> ");
  choose_print(w, &t, s->out, n->n_out);
  jf_text_add(&t, ": %s", why);
  const char *how = jf_strdup(w->g->arena, t.s ? t.s : "");
  jfl_text_free(t.s);
  return how;
}

static const char *choose_why(spmd_walk *w, const jf_node *n, const jf_signatures *c,
                              const choose_cost *cost)
{
  if (choose_is_mirrored(w, n)) return "mirrored";
  if (choose_said(n).kind != JFL_AUTO) return "as it says";
  if (c->n == 1) return "it has no other way";
  if (!cost->moved) return "inputs lie so";
  return cost->bytes > 0 ? jf_sprintf(w->g->arena, "the least to move, %.4g KB", cost->bytes / 1e3)
                         : "nothing has to be moved";
}

/* Whether nothing says how a node is computed: all of its inputs are made where they are read. */
static int choose_is_free(const jf_node *n)
{
  for (int i = 0; i < n->n_in; i++)
    if (!spmd_is_source(n->in[i])) return 0;
  return choose_said(n).kind == JFL_AUTO;
}

/* The number of the candidate that costs least, or -1. */
static int choose_least(spmd_walk *w, const jf_node *n, const jf_group *g,
                        const jf_signatures *c, choose_cost *best)
{
  int chosen = -1;
  for (int i = 0; i < c->n; i++) {
    choose_cost cost;
    if (!choose_cost_of(w, n, g, &c->signature[i], &cost)) continue;
    if (chosen >= 0 && !choose_is_less(&cost, best)) continue;
    chosen = i;
    *best = cost;
  }
  return chosen;
}

jfl_status spmd_choose(spmd_walk *w, const jf_node *n, const jf_group *g, jf_signature *out,
                       const char **how)
{
  choose_cost cost = { 0, 0, 0 }, unused;
  /* What is on no group is computed by each process alone, from the whole. */
  const jf_signatures c = choose_candidates(w, n, jf_is_group(n->place) ? g->n : 1);
  const int forced = choose_forced(n, c.n - 1);
  const int is_forced = forced >= 0 && forced < c.n
                     && choose_cost_of(w, n, g, &c.signature[forced], &unused);
  const int chosen = is_forced ? forced
                   : choose_is_free(n) ? c.n - 1
                   : choose_least(w, n, g, &c, &cost);
  if (chosen < 0) return choose_none(n, g);
  *out = c.signature[chosen];
  *how = choose_tell(w, n, out, is_forced ? "as JFL_SIGNATURE says" : choose_why(w, n, &c, &cost));
  return JFL_OK;
}
