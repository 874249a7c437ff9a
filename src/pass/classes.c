/* Gives the logits of a GPU's cross entropy in bfloat16 as many columns as their products want: a
   multiple of 8, so that rows begin where 16 bytes do. Products with others move elements one by
   one, and the three of a large vocabulary are much of a step. The weights and the bias get zeros,
   whose logits the loss leaves out. */
#include "op/cross_entropy.h"
#include "op/matmul.h"
#include "op/pad.h"
#include "op/reshape.h"
#include "pass/pass.h"

/* Columns become a multiple of UNIT; fewer than MANY are not worth a copy of the weights. */
enum { UNIT = 8, MANY = 256 };

typedef struct class_pass {
  jf_rewrite r;
  int64_t more;                /* how many columns the logits at hand get */
} class_pass;

/* How many columns the logits of n lack; 0: n is no loss of that kind. */
static int64_t classes_lack(const jf_target *target, const jf_node *n)
{
  if (!jf_entropy_counts(n) || jf_is_group(n->place)) return 0;
  const jfl_value *x = n->in[1];
  const int64_t classes = x->shape.d[x->shape.n - 1];
  if (target->device[n->place]->kind->plain || x->dtype != JFL_F32 || classes < MANY) return 0;
  return (UNIT - classes % UNIT) % UNIT;
}

/* What makes v, if that has one reader, is at this place, and can be made wider: a product, a line
   that is added to one, or a view of such. */
static const jf_node *classes_maker(const class_pass *p, const jfl_value *v, int place)
{
  const jf_node *n = jf_sole_maker(&p->r, v);
  const int last = v->shape.n - 1;
  if (!n || n->place != place) return NULL;
  if (jf_matmul_columns(n) >= 0) return n;
  if (jf_line_axis(n) == last && n->op->line->op->flags & JF_ADDS)
    return classes_maker(p, n->in[0], place) ? n : NULL;
  const jfl_shape *s = &n->in[0]->shape;
  const int keeps = n->op->flags & JF_VIEW && s->n > 0 && s->d[s->n - 1] == v->shape.d[last];
  return keeps && classes_maker(p, n->in[0], place) ? n : NULL;
}

/* Emits what gives v with more columns; `n` makes v. */
static jfl_value *classes_wider(class_pass *p, const jf_node *n)
{
  jfl_graph *g = p->r.g;
  const int columns = jf_matmul_columns(n);
  if (g->err) return NULL;
  if (columns >= 0) {
    jfl_value *weights = jf_emit_longer(g, jf_current(&p->r, n->in[1]), columns, p->more);
    return weights ? JF_EMIT(g, matmul, n->attr, jf_current(&p->r, n->in[0]), weights) : NULL;
  }
  jfl_value *x = classes_wider(p, n->in[0]->node);
  if (!x) return NULL;
  if (n->op->flags & JF_VIEW) {
    jfl_shape s = n->out[0]->shape;
    s.d[s.n - 1] += p->more;
    return jf_emit_view(g, x, &s);
  }
  jfl_value *line = jf_emit_longer(g, jf_current(&p->r, n->in[1]), 0, p->more);
  return line ? jf_emit(g, n->op, n->attr, JF_IN(x, line)) : NULL;
}

/* Emits the loss n of logits with more columns. */
static void classes_replace(class_pass *p, const jf_node *n, const jf_node *maker)
{
  jf_cross_entropy a = *(const jf_cross_entropy *)n->attr;
  const jfl_shape *s = &n->in[1]->shape;
  a.classes = s->d[s->n - 1];
  jfl_value *x = classes_wider(p, maker);
  jfl_value *loss = x ? jf_emit(p->r.g, n->op, &a, JF_IN(jf_current(&p->r, n->in[0]), x)) : NULL;
  if (!loss) return;
  jf_stand_for(loss->node, n);
  for (int i = 0; i < n->n_out; i++) jf_replace(&p->r, n->out[i], loss->node->out[i]);
}

jfl_status jf_pass_classes(jfl_graph *g, const jf_target *target)
{
  class_pass p = { .more = 0 };
  if (g->mixed != JFL_BF16) return JFL_OK;
  jf_rewrite_begin(g, &p.r);
  for (jf_node *n; (n = jf_rewrite_next(&p.r));) {
    p.more = classes_lack(target, n);
    const jf_node *maker = p.more ? classes_maker(&p, n->in[1], n->place) : NULL;
    if (maker) classes_replace(&p, n, maker);
    else jf_rewrite_keep(&p.r, n);
  }
  jf_rewrite_end(&p.r);
  return g->err;
}
