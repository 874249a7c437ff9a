/* Puts channels first where a CPU's convolutions have them last, since the fast loops work on
   blocks of channels, which the pass layout makes of channels that are first. What pools,
   normalizes or computes elements between convolutions goes along, so that a network turns its
   pictures once at its beginning and what it gives at its end. Convolutions of bytes stay as they
   are, with what makes and reads these bytes, since products of integers want channels last. */
#include "op/conv.h"
#include "op/layout.h"
#include "op/quantized_conv.h"
#include "op/reshape.h"
#include "pass/pass.h"

typedef struct first_pass {
  jf_rewrite r;
  const jf_target *target;
  jfl_value **first;           /* by value of the old graph: it with channels first; or NULL */
  const char *bytes;           /* by value: it is computed of bytes, and stays as it is */
} first_pass;

/* ---- which nodes ---- */

/* Whether n makes elements of its result of one element each of what it reads, or moves them. */
static int first_is_simple(const jf_node *n)
{
  return jf_is_pointwise(n->op) || n->op->flags & (JF_MOVES | JF_VIEW);
}

/* Whether n is a convolution that may run on integers: both operands are computed of bytes. */
static int first_of_bytes(const jf_node *n, const char *bytes)
{
  return jf_conv_forward_of(n) && bytes[n->in[0]->id] && bytes[n->in[1]->id];
}

/* By value: whether it is bytes or is computed of bytes element by element. All 0 if the graph has
   no convolutions of such, as other bytes, like those of conditions, are no reason to stay. */
static const char *first_bytes(const jfl_graph *g)
{
  char *bytes = jf_alloc(g->arena, (size_t)g->n_value);
  int any = 0;
  for (int i = 0; i < g->n_value; i++) bytes[i] = (char)jf_is_byte(g->value[i]->dtype);
  for (int i = 0; i < g->n_node; i++) {
    const jf_node *n = g->node[i];
    for (int k = 0; k < n->n_in && n->n_out && first_is_simple(n); k++)
      bytes[n->out[0]->id] |= bytes[n->in[k]->id];
    any |= first_of_bytes(n, bytes);
  }
  return any ? bytes : jf_alloc(g->arena, (size_t)g->n_value);
}

/* Whether the device of n has blocks of channels. Processes that run a job together may be on
   different processors, of which some have none: they decide by the kind of device alone. */
static int first_has_blocks(const first_pass *p, const jf_node *n)
{
  const jf_target *t = p->target;
  const jf_kind *kind = jf_is_group(n->place) ? t->group[n->place - JF_GROUPS]->kind
                                              : t->device[n->place]->kind;
  return kind->channel_block && (t->n_rank || kind->channel_block());
}

static int first_stays(const first_pass *p, const jf_node *n)
{
  if (!n->n_in || !n->n_out || jf_updates(n) || !first_has_blocks(p, n)) return 1;
  for (int k = 0; k < n->n_in; k++)
    if (p->bytes[n->in[k]->id]) return 1;
  return p->bytes[n->out[0]->id];
}

/* Whether something that n reads was made with channels first, or turned. */
static int first_reads(const first_pass *p, const jf_node *n)
{
  for (int k = 0; k < n->n_in; k++)
    if (p->first[n->in[k]->id]) return 1;
  return 0;
}

/* ---- emitting them ---- */

/* v with channels first if it has four axes, turned where it is first needed so. */
static jfl_value *first_turned(first_pass *p, const jfl_value *v)
{
  if (v->shape.n != 4) return jf_current(&p->r, v);
  if (!p->first[v->id])
    p->first[v->id] = jf_emit_turned(p->r.g, jf_current(&p->r, v), 0);
  return p->first[v->id];
}

/* Makes y, which has channels first if it has four axes, stand for an output of n; and turns it for
   other readers. */
static void first_give(first_pass *p, const jfl_value *v, jfl_value *y)
{
  jfl_value *back = v->shape.n == 4 ? jf_emit_turned(p->r.g, y, 1) : y;
  if (!back) return;
  if (v->shape.n == 4) p->first[v->id] = y;
  jf_replace(&p->r, v, back);
}

static void first_emit(first_pass *p, const jf_node *n, const void *attr, jfl_value *const *in)
{
  jfl_value *y = p->r.g->err ? NULL : jf_emit(p->r.g, n->op, attr, in, (size_t)n->n_in);
  if (!y) return;
  jf_stand_for(y->node, n);
  for (int i = 0; i < n->n_out; i++) first_give(p, n->out[i], y->node->out[i]);
}

/* Emits n by the rule of its op, if that serves. */
static int first_by_rule(first_pass *p, const jf_node *n)
{
  if (!n->op->channels_first || n->in[0]->shape.n != 4) return 0;
  jfl_graph *g = p->r.g;
  void *attr = jf_attr_copy(g->arena, n->op->attr, n->op->attr_size, n->attr);
  const jf_first how = n->op->channels_first(n, attr);
  if (how == JF_FIRST_NOT || (how == JF_FIRST_ALONG && !first_reads(p, n))) return 0;
  jfl_value **in = jf_alloc(g->arena, (size_t)n->n_in * sizeof *in);
  for (int k = 0; k < n->n_in; k++) in[k] = first_turned(p, n->in[k]);
  first_emit(p, n, attr, in);
  return 1;
}

/* Whether v, which n computes elements of, can be had with channels first. */
static int first_follows(const jf_node *n, const jfl_value *v)
{
  return v->shape.n == 4 || jf_numel(&v->shape) == 1 || jf_runs_along(v, &n->out[0]->shape, 3);
}

/* Emits n if it computes elements, also with a line along channels. */
static int first_by_element(first_pass *p, const jf_node *n)
{
  jfl_graph *g = p->r.g;
  if (!jf_is_pointwise(n->op) || n->out[0]->shape.n != 4 || !first_reads(p, n)) return 0;
  for (int k = 0; k < n->n_in; k++)
    if (!first_follows(n, n->in[k])) return 0;
  jfl_value **in = jf_alloc(g->arena, (size_t)n->n_in * sizeof *in);
  for (int k = 0; k < n->n_in; k++) {
    const jfl_shape line = { 3, { jf_numel(&n->in[k]->shape), 1, 1 } };
    in[k] = first_turned(p, n->in[k]);
    if (n->in[k]->shape.n < 4 && line.d[0] > 1) in[k] = jf_emit_view(g, in[k], &line);
  }
  first_emit(p, n, n->attr, in);
  return 1;
}

jfl_status jf_pass_channels_first(jfl_graph *g, const jf_target *target)
{
  first_pass p = { .target = target };
  if (target->chooser->flags & JF_REFERENCE) return JFL_OK;
  p.bytes = first_bytes(g);
  jf_rewrite_begin(g, &p.r);
  p.first = jf_alloc(g->arena, (size_t)p.r.n_value * sizeof *p.first);
  for (jf_node *n; (n = jf_rewrite_next(&p.r));)
    if (first_stays(&p, n) || !(first_by_rule(&p, n) || first_by_element(&p, n)))
      jf_rewrite_keep(&p.r, n);
  jf_rewrite_end(&p.r);
  return g->err;
}
