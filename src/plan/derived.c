/* Derived values: results of the prologue that later steps read. Plans of one session that derive
   the same of a variable share its memory (run/derived.c), so each says here what it derives. */
#include "plan/builder.h"

/* ---- identities ---- */

/* A value that nobody shares has identity 0, and so has what is made of it. */
static uint64_t derived_variable(uint64_t h, const jfl_value *v)
{
  const int member = v->shard ? v->shard->member : 0;
  h = jf_hash(jf_hash_str(h, v->variable->name), &v->place, sizeof v->place);
  h = jf_hash(jf_hash(h, &member, sizeof member), &v->packing.form, sizeof v->packing.form);
  return jf_hash(h, &v->packing.block, sizeof v->packing.block);
}

/* of: the identities of the steps before this one. */
static uint64_t derived_input(const jf_plan_builder *b, const jf_step *st, int i, uint64_t h,
                              const uint64_t *of)
{
  const jfl_value *v = jf_plan_reads(b, st, i);
  const jf_where *w = &b->where[v->id];
  if (v->origin == JF_VARIABLE) return derived_variable(h, v);
  if (w->memory == JF_AT_CONSTANT) return jf_hash(h, w->data, w->size);
  const int s = st->from[i];
  if (s < 0 || !of[s]) return 0;
  const jf_node *maker = b->p->step[s].node;
  int k = 0;
  while (maker->out[k] != v) k++;
  return jf_hash(jf_hash(h, &of[s], sizeof of[s]), &k, sizeof k);
}

static uint64_t derived_tensors(uint64_t h, const jf_tensor *t, int n)
{
  for (int i = 0; i < n; i++)
    h = jf_hash(jf_hash(h, &t[i].dtype, sizeof t[i].dtype), t[i].shape.d,
                (size_t)t[i].shape.n * sizeof *t[i].shape.d);
  return h;
}

/* What the step does, whatever it reads. How a packed value lies follows from its form alone. */
static uint64_t derived_call(const jf_step *st, uint64_t h)
{
  const jf_kernel_row *row = st->kernel.row;
  const jfl_op *op = st->node->op;
  h = jf_hash(jf_hash_str(h, op->name), &st->place, sizeof st->place);
  h = derived_tensors(derived_tensors(h, st->k.in, st->k.n_in), st->k.out, st->k.n_out);
  if (row && st->kernel.run == row->pack)
    return !st->form ? 0 : jf_hash(jf_hash(h, &row->pack, sizeof row->pack), &st->form,
                                   sizeof st->form);
  const uint64_t attr = op->attr_size ? jf_attr_hash(op->attr, op->attr_size, st->node->attr) : 0;
  h = jf_hash_str(jf_hash(h, &attr, sizeof attr), jf_step_kernel(st));
  return jf_hash(h, &st->k.tf32, sizeof st->k.tf32);
}

/* Hashes all that the results of the prologue's steps depend on. Attributes that point into the
   graph are hashed as they are: no other plan has the same while this graph is there. */
static uint64_t *derived_identities(const jf_plan_builder *b, uint64_t seed)
{
  uint64_t *of = jf_alloc(b->arena, (size_t)b->p->n_prologue * sizeof *of);
  for (int s = 0; s < b->p->n_prologue; s++) {
    const jf_step *st = &b->step[s];
    uint64_t h = derived_call(st, seed);
    for (int i = 0; i < st->k.n_in && h; i++) h = derived_input(b, st, i, h, of);
    of[s] = h;
  }
  return of;
}

/* ---- places ---- */

/* Notes for each step of the prologue which of them make its inputs. */
static void derived_trace(jf_plan_builder *b)
{
  for (int s = 0; s < b->p->n_prologue; s++) {
    jf_step *st = &b->step[s];
    int *from = jf_alloc(b->arena, (size_t)st->node->n_in * sizeof *from);
    for (int i = 0; i < st->node->n_in; i++) {
      const jfl_value *v = jf_plan_reads(b, st, i);
      from[i] = v->origin == JF_RESULT && b->where[v->id].memory != JF_AT_CONSTANT
                    ? b->made_by[v->id] : -1;
    }
    st->from = from;
  }
}

void jf_plan_place_derived(jf_plan_builder *b)
{
  jfl_plan *p = b->p;
  int n = 0;
  for (int s = 0; s < p->n_prologue; s++) n += p->step[s].node->n_out;
  if (!n) return;
  jf_plan_derived *d = jf_alloc(b->arena, (size_t)n * sizeof *d);
  derived_trace(b);
  const uint64_t *first = derived_identities(b, 1), *second = derived_identities(b, 2);
  for (int s = 0; s < p->n_prologue; s++) {
    const jf_node *node = p->step[s].node;
    for (int k = 0; k < node->n_out; k++) {
      const jfl_value *v = node->out[k];
      if (b->where[v->id].memory != JF_AT_NONE || b->last_use[v->id] < p->n_prologue) continue;
      b->where[v->id] = jf_plan_at(JF_AT_DERIVED, v, p->n_derived);
      p->constant_size += b->where[v->id].size;
      d[p->n_derived++] = (jf_plan_derived){ s, k, v->place, b->where[v->id].size,
                                             { first[s], second[s] } };
    }
  }
  p->derived = d;
}
