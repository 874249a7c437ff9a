/* The steps that pack weights as the kernels of later steps read them. */
#include "op/pack.h"
#include "plan/builder.h"

/* The value of packed bytes that a step reads for its input i, made by a node of no graph. */
static jfl_value *packed_value(jf_plan_builder *b, const jf_step *st, int i)
{
  const jf_node *n = st->node;
  jfl_value *from = n->in[i], *v = jf_alloc(b->arena, sizeof *v);
  jf_node *pack = jf_alloc(b->arena, sizeof *pack);
  *v = (jfl_value){ .tag = JF_TAG_VALUE, .graph = b->g, .node = pack, .id = b->n_value++,
                    .origin = JF_RESULT, .dtype = JFL_U8, .place = n->place,
                    .shape = { 1, { (int64_t)st->k.in[i].layout.size } },
                    .name = jf_sprintf(b->arena, "%s-packed", from->name) };
  *pack = (jf_node){ .op = jf_packer(), .attr = n->attr, .name = v->name, .place = n->place,
                     .source = jf_source_for(n), .n_in = 1, .n_out = 1,
                     .in = jf_alloc(b->arena, sizeof *pack->in),
                     .out = jf_alloc(b->arena, sizeof *pack->out) };
  pack->in[0] = from;
  pack->out[0] = v;
  return b->root[v->id] = v, v;
}

/* Gives the step that packs input i of a step. The state is that step's. */
static jf_step pack_step(jf_plan_builder *b, jf_step *st, int i)
{
  const jf_kernel_row *row = st->kernel.row;
  const jfl_value *v = packed_value(b, st, i);
  jf_step pack = { .node = v->node, .place = st->place, .event = -1,
                   .kernel = { .run = row->pack, .row = row }, .k = st->k,
                   .form = st->k.in[i].layout.form };
  st->packed = v;
  st->packs = i;
  pack.k.n_in = pack.k.n_out = 1;
  pack.k.in = jf_tensors_of(b->arena, v->node->in, 1);
  pack.k.out = jf_tensors_of(b->arena, v->node->out, 1);
  pack.k.op = v->node->op;
  return pack;
}

/* The input that a step has packed, or -1. */
static int packed_input(const jf_step *st)
{
  for (int i = 0; i < st->k.n_in; i++)
    if (st->k.in[i].layout.kind == JF_LAYOUT_PACKED) return i;
  return -1;
}

/* For each step of the prologue, and first for variables, the steps that have its results packed,
   as lists: the first one, and to each the next; -1: none. */
typedef struct packings { int *first, *next; } packings;

static packings find_packings(jf_plan_builder *b, const jf_step *step, int n)
{
  const int n_first = b->p->n_prologue + 1;
  packings l = { jf_alloc(b->arena, (size_t)n_first * sizeof *l.first),
                 jf_alloc(b->arena, (size_t)n * sizeof *l.next) };
  for (int m = 0; m < n_first; m++) l.first[m] = -1;
  for (int s = n - 1; s >= b->p->n_prologue; s--) {
    const int i = packed_input(&step[s]);
    if (i < 0) continue;
    int *first = &l.first[1 + b->made_by[b->root[step[s].node->in[i]->id]->id]];
    l.next[s] = *first;
    *first = s;
  }
  return l;
}

void jf_plan_add_packing(jf_plan_builder *b)
{
  jfl_plan *p = b->p;
  jf_step *old = b->step;
  const int n = p->n_step, n_prologue = p->n_prologue;
  int n_packed = 0;
  for (int s = 0; s < n; s++) n_packed += packed_input(&old[s]) >= 0;
  if (!n_packed) return;
  const packings l = find_packings(b, old, n);
  jf_step *to = jf_alloc(b->arena, (size_t)(n + n_packed) * sizeof *to);
  p->n_step = 0;
  for (int m = 0; m <= n_prologue; m++) {
    if (m) to[p->n_step++] = old[m - 1];
    for (int s = l.first[m]; s >= 0; s = l.next[s])
      to[p->n_step++] = pack_step(b, &old[s], packed_input(&old[s]));
  }
  p->n_prologue = p->n_step;
  for (int s = n_prologue; s < n; s++) to[p->n_step++] = old[s];
  p->step = b->step = to;
}
