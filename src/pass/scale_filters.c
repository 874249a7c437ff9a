/* Multiplies the filters of a convolution by a line instead of its result, where the line depends
   on variables alone and no variable changes, as after a batch normalization with moving averages.
   The plan keeps such filters from run to run until a variable changes. Every product whose record
   says how to scale it, and every multiplication that the records mark JF_SCALES, counts. */
#include "op/reshape.h"
#include "pass/pass.h"

typedef struct scaling {
  jf_rewrite r;
  const jf_target *target;
  char *still;                 /* by value id: it depends on variables alone */
} scaling;

/* Whether n is a product that can be scaled, by a factor that does not change, in the host's
   memory, where the plan keeps what is scaled. */
static int is_scalable(const scaling *s, const jf_node *n)
{
  return n && jf_has_host_memory(s->target->device[n->place]->kind) && n->op->ending &&
         n->op->ending->scaled && s->still[n->in[1]->id];
}

/* If node a adds a still line to a product that only it reads, gives the product; else NULL. */
static const jf_node *below_bias(const scaling *s, const jf_node *a)
{
  const jfl_op *op = a->op->line ? a->op->line->op : a->op;
  const jf_node *p = op->flags & JF_ADDS ? jf_sole_maker(&s->r, a->in[0]) : NULL;
  if (!is_scalable(s, p) || !jf_shape_eq(&a->out[0]->shape, &p->out[0]->shape)) return NULL;
  const int axis = p->op->ending->axis(p);
  const int along = a->op->line ? jf_line_axis(a) == axis
                                : jf_runs_along(a->in[1], &p->out[0]->shape, axis);
  return along && s->still[a->in[1]->id] ? p : NULL;
}

/* What is turned into a product of scaled filters: line * (product + bias), or line * product. */
typedef struct multiple { const jf_node *product, *bias; jfl_value *line; } multiple;

/* Whether node n is such a multiple. */
static int is_multiple(const scaling *s, const jf_node *n, multiple *m)
{
  if (!(n->op->flags & JF_SCALES)) return 0;
  for (int i = 0; i < 2; i++) {
    const jfl_value *v = n->in[i], *line = n->in[1 - i];
    const jf_node *p = jf_sole_maker(&s->r, v), *below = p ? below_bias(s, p) : NULL;
    *m = (multiple){ below ? below : p, below ? p : NULL, (jfl_value *)line };
    if (!is_scalable(s, m->product) || !jf_shape_eq(&v->shape, &n->out[0]->shape)) continue;
    const int axis = m->product->op->ending->axis(m->product);
    if (s->still[line->id] && jf_runs_along(line, &v->shape, axis)) return 1;
  }
  return 0;
}

/* Emits a multiple as a product of scaled filters, plus a scaled bias, in the place of v. */
static void emit_scaled(scaling *s, const multiple *m, const jfl_value *v)
{
  jfl_graph *g = s->r.g;
  const jf_node *p = m->product, *a = m->bias;
  const jfl_shape flat = { 1, { jf_numel(&m->line->shape) } };
  jf_serve(g, p);
  jfl_value *line = jf_emit_view(g, jf_current(&s->r, m->line), &flat);
  jfl_value *f = line ? p->op->ending->scaled(g, p, jf_current(&s->r, p->in[1]), line) : NULL;
  jfl_value *bias = a ? jf_emit_view(g, jf_current(&s->r, a->in[1]), &flat) : NULL;
  if (bias) bias = JF_EMIT(g, multiply, NULL, bias, line);
  if (g->err) return;
  jfl_value *y = jf_emit(g, p->op, p->attr, JF_IN(jf_current(&s->r, p->in[0]), f));
  if (!y) return;
  jf_stand_for(y->node, p);
  if (a) y = jf_emit(g, a->op, a->attr, JF_IN(y, jf_emit_view(g, bias, &a->in[1]->shape)));
  if (a && y) y->node->source = a->source;
  if (y) jf_replace(&s->r, v, y);
}

jfl_status jf_pass_scale_filters(jfl_graph *g, const jf_target *target)
{
  scaling s = { .target = target, .still = jf_still_values(g) };
  if (!s.still) return JFL_OK;
  jf_rewrite_begin(g, &s.r);
  char *moved = jf_alloc(g->arena, (size_t)s.r.n_value);
  multiple *found = jf_alloc(g->arena, (size_t)s.r.n_old * sizeof *found);
  for (int i = 0; i < s.r.n_old; i++) {
    multiple m;
    if (!is_multiple(&s, s.r.old[i], &m)) continue;
    found[i] = m;
    moved[m.product->out[0]->id] = 1;
    if (m.bias) moved[m.bias->out[0]->id] = 1;
  }
  for (jf_node *n; (n = jf_rewrite_next(&s.r));) {
    const multiple *m = &found[s.r.next - 1];
    if (m->product) emit_scaled(&s, m, n->out[0]);
    else if (!n->n_out || !moved[n->out[0]->id]) jf_rewrite_keep(&s.r, n);
  }
  jf_rewrite_end(&s.r);
  return g->err;
}
