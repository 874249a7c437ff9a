/* What processes send each other for a conversion, as one node. */
#include "op/collective.h"
#include "pass/spmd/spmd.h"

static int message_same_box(const spmd_box *a, const spmd_box *b)
{
  if (!jf_shape_eq(&a->size, &b->size)) return 0;
  for (int i = 0; i < a->size.n; i++)
    if (a->first[i] != b->first[i]) return 0;
  return 1;
}

int spmd_message_add(spmd_walk *w, spmd_mail *m, spmd_message x)
{
  for (int i = m->n - 1; i >= 0; i--) {
    const spmd_message *o = &m->message[i];
    if (o->to == x.to && o->from == x.from && o->source == x.source &&
        message_same_box(&o->box, &x.box))
      return i;
  }
  m->message = jf_grow(w->g->arena, m->message, m->n, &m->cap, sizeof *m->message);
  m->message[m->n] = x;
  return m->n++;
}

void spmd_exchange(spmd_walk *w, spmd_mail *m, const jf_group *from, const jf_group *to,
                   jfl_dtype dtype)
{
  const int rank = w->target->rank;
  const size_t n = (size_t)m->n;
  jf_arena *arena = w->g->arena;
  const int linked = from->team == to->team;
  jf_exchange a = { .dtype = dtype, .team = linked ? to->team : 0 };
  jfl_value **in = jf_alloc(arena, n * sizeof *in);
  jf_node *node;
  a.to.v = jf_alloc(arena, n * sizeof *a.to.v);
  a.from.v = jf_alloc(arena, n * sizeof *a.from.v);
  a.shapes.v = jf_alloc(arena, n * (1 + JFL_MAXDIM) * sizeof *a.shapes.v);
  for (int i = 0; i < m->n; i++) {
    const spmd_message *x = &m->message[i];
    if (x->from == rank) in[a.to.n] = x->value, a.to.v[a.to.n++] = x->to;
    if (x->to != rank) continue;
    a.from.v[a.from.n++] = x->from;
    a.shapes.v[a.shapes.n++] = x->box.size.n;
    for (int k = 0; k < x->box.size.n; k++) a.shapes.v[a.shapes.n++] = x->box.size.d[k];
  }
  if (w->g->err || !(a.to.n + a.from.n)) return;
  w->g->err = jf_graph_node(w->g, &jf_op_exchange, &a, in, (size_t)a.to.n, NULL, &node);
  if (w->g->err) return;
  node->place = linked ? spmd_net(w, to) : w->target->net;
  if (node->n_out) spmd_at(node->place, node->out[0]);
  for (int i = 0, k = 0; i < m->n; i++)
    if (m->message[i].to == rank) m->message[i].value = node->out[k++];
}
