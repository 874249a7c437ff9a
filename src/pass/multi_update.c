/* Merges updates by the same op, attributes, rate and scale into one node each, which stands where
   the last of them stood. */
#include "op/multi_update.h"
#include "pass/pass.h"

/* A gradient that is itself a variable might be another's parameter: such an update stays where it
   is. */
static int mergeable(const jf_node *n)
{
  return n->op->update && jf_root(n->in[1])->origin != JF_VARIABLE;
}

static int alike(const jf_node *a, const jf_node *b)
{
  int last = jf_op_n_in(a->op) - 1;
  return a->op == b->op && a->place == b->place && a->n_in == b->n_in && a->in[2] == b->in[2] &&
         (a->n_in == last || a->in[last] == b->in[last]) && a->in[0]->dtype == b->in[0]->dtype &&
         jf_attr_same(a->op->attr, a->op->attr_size, a->attr, b->attr);
}

/* The options of an update, which are all numbers. */
static jf_nums options_of(jfl_graph *g, const jf_node *n)
{
  int count = 0;
  while (n->op->attr[count].name) count++;
  double *v = jf_alloc(g->arena, (size_t)count * sizeof *v);
  for (int i = 0; i < count; i++)
    v[i] = *(const double *)((const char *)n->attr + n->op->attr[i].off);
  return (jf_nums){ count, v };
}

static void pass_multi_update_emit(jf_rewrite *r, jf_node *const *member, int n)
{
  const jf_node *first = member[0];
  const jfl_op *op = first->op;
  int slots = jf_update_slots(op), scaled = first->n_in == jf_op_n_in(op), n_in = 0;
  jfl_value **in = jf_alloc(r->g->arena, ((size_t)n * (size_t)(2 + slots) + 2) * sizeof *in);
  for (int m = 0; m < n; m++)
    for (int i = 0; i < 3 + slots; i++)
      if (i != 2) in[n_in++] = jf_current(r, member[m]->in[i]);
  in[n_in++] = jf_current(r, first->in[2]);
  if (scaled) in[n_in++] = jf_current(r, first->in[first->n_in - 1]);
  jf_multi_update a = { .update = op->name, .options = options_of(r->g, first) };
  jf_emit(r->g, &jf_op_multi_update, &a, in, (size_t)n_in);
}

/* Emits the group of node i, if that is its last member. */
static void pass_multi_update_visit(jf_rewrite *r, int i, jf_node **member)
{
  int n = 0;
  for (int j = i + 1; j < r->n_old; j++)
    if (mergeable(r->old[j]) && alike(r->old[i], r->old[j])) return;
  for (int j = 0; j <= i; j++)
    if (mergeable(r->old[j]) && alike(r->old[i], r->old[j])) member[n++] = r->old[j];
  pass_multi_update_emit(r, member, n);
}

jfl_status jf_pass_multi_update(jfl_graph *g, const jf_target *target)
{
  jf_rewrite r;
  (void)target;
  jf_rewrite_begin(g, &r);
  jf_node **member = jf_alloc(g->arena, (size_t)r.n_old * sizeof *member);
  for (int i = 0; i < r.n_old && !g->err; i++) {
    if (mergeable(r.old[i])) pass_multi_update_visit(&r, i, member);
    else jf_rewrite_keep(&r, r.old[i]);
  }
  jf_rewrite_end(&r);
  return g->err;
}
