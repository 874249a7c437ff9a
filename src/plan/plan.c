/* Makes a plan: chooses the kernels of its steps, and has the other files do the rest in order. */
#include "plan/builder.h"

#include <string.h>

/* What a pass has found for a node holds: else the pass made what this device cannot do, or it was
   misled, and that is to be seen. */
static jfl_status plan_choose(jf_plan_builder *b, jf_step *st)
{
  const jf_node *n = st->node;
  if (n->op->flags & JF_TRANSFER) return JFL_OK;
  JF_TRY(jf_choose(b->chooser, n->place, n->op, &st->k, &st->kernel));
  if (!st->kernel.run) return jf_fail_kernel(b->p->part[n->place].device, n->op, &st->k);
  if (!n->tentative || n->tentative == st->kernel.row) return JFL_OK;
  return jf_fail(JFL_ESTATE, "the kernel of '%s' must be %s, as passes took it for, got %s",
                 n->name, n->tentative->name, jf_step_kernel(st));
}

/* Chooses the kernel of a step, which may have inputs of later steps that are still packed. */
static jfl_status choose_kernel(jf_plan_builder *b, jf_step *st, int may_pack)
{
  const jf_node *n = st->node;
  jf_kargs *k = &st->k;
  *k = (jf_kargs){ .n_in = n->n_in, .n_out = n->n_out, .attr = n->attr,
                   .in = jf_tensors_of(b->arena, n->in, n->n_in),
                   .out = jf_tensors_of(b->arena, n->out, n->n_out) };
  for (int i = 0; i < n->n_in; i++)
    if (may_pack && b->still[n->in[i]->id]) k->in[i].layout.kind = JF_LAYOUT_ANY;
  JF_TRY(plan_choose(b, st));
  for (int i = 0; i < n->n_in; i++)
    if (k->in[i].layout.kind == JF_LAYOUT_ANY) k->in[i].layout.kind = JF_LAYOUT_PLAIN;
  b->p->work += jf_work(n->op, k);
  if (k->threads > b->p->threads) b->p->threads = k->threads;
  return JFL_OK;
}

/* Adds the kernel that a step lacks to the list of missing ones, unless it is there already. */
static const char *plan_lacks(jf_plan_builder *b, const jf_step *st, const char *lacks)
{
  jf_arena *a = b->arena;
  const jfl_op *op = st->node->op;
  const char *dtype = jfl_dtype_name(jf_call_key(op, &st->k));
  const char *own = jf_sprintf(a, "%s (%s) on %s", op->name, dtype,
                               b->p->part[st->place].device->name);
  return !lacks ? own : strstr(lacks, own) ? lacks : jf_sprintf(a, "%s, %s", lacks, own);
}

/* If a device lacks kernels, the message names all of them at once. */
static jfl_status choose_kernels(jf_plan_builder *b)
{
  const char *lacks = NULL;
  for (int s = 0; s < b->p->n_step; s++) {
    jf_arena_ask(b->arena);
    const jfl_status st = choose_kernel(b, &b->step[s], s >= b->p->n_prologue);
    if (st && st != JFL_ENOSYS)
      return jf_fail_in(st, JFL_ERROR_OP, b->p->step[s].node->op->name);
    if (st) lacks = plan_lacks(b, &b->p->step[s], lacks);
  }
  return lacks ? jf_fail(JFL_ENOSYS, "there is no kernel for %s", lacks) : JFL_OK;
}

/* Makes the steps ready that wait for something, all at once. */
static jfl_status plan_make_ready(jf_plan_builder *b)
{
  jf_kargs **k = jf_alloc(b->arena, (size_t)b->p->n_step * sizeof *k);
  int n = 0, failed = 0;
  for (int s = 0; s < b->p->n_step; s++)
    if (b->step[s].k.waits) k[n++] = &b->step[s].k;
  const jfl_status st = jf_make_ready(k, n, b->chooser->threads, &failed);
  return st ? jf_fail_in(st, JFL_ERROR_OP, k[failed]->op->name) : JFL_OK;
}

/* Notes who makes and who reads values, once the order of the steps is known. */
static void number_steps(jf_plan_builder *b)
{
  jfl_plan *p = b->p;
  for (int s = 0; s < p->n_step; s++) {
    jf_step *st = &b->step[s];
    const jf_node *n = st->node;
    st->k.step = s;
    for (int k = 0; k < n->n_in; k++) b->last_use[jf_plan_reads(b, st, k)->id] = s;
    for (int k = 0; k < n->n_out; k++) b->made_by[n->out[k]->id] = s;
    p->n_operand += n->n_in + n->n_out;
    b->part[st->place].n_step++;
  }
}

/* Notes which variables the plan changes. */
static void note_changes(jf_plan_builder *b)
{
  jfl_plan *p = b->p;
  char *changes = jf_alloc(b->arena, (size_t)p->n_variable);
  for (int s = 0; s < p->n_step; s++) {
    const jf_step *st = &p->step[s];
    for (int i = 0; i < st->node->n_in; i++)
      if (st->in[i].memory == JF_AT_VARIABLE && jf_mutates(st->node, i))
        changes[st->in[i].index] = 1;
  }
  p->changes = changes;
}

static jf_plan_builder plan_begin(jfl_graph *g, jf_chooser *c, jfl_plan *p)
{
  jf_arena *a = g->arena;
  /* Values of the graph and packed ones; of all, and of scratch. */
  const size_t n = (size_t)g->n_value + (size_t)g->n_node, n_life = n + 2 * (size_t)g->n_node;
  *p = (jfl_plan){ .tag = JF_TAG_PLAN, .graph = g, .flags = c->flags, .n_part = c->n_device };
  jf_plan_part *part = jf_alloc(a, (size_t)c->n_device * sizeof *part);
  for (int i = 0; i < c->n_device; i++) {
    part[i].device = c->device[i];
    part[i].name = jf_strdup(g->arena, c->device[i]->name);
  }
  p->part = part;
  return (jf_plan_builder){
    .p = p, .g = g, .n_value = g->n_value, .chooser = c, .arena = a, .part = part,
    .root = jf_alloc(a, n * sizeof(jfl_value *)),
    .where = jf_alloc(a, n * sizeof(jf_where)), .last_use = jf_alloc(a, n * sizeof(int)),
    .made_by = jf_alloc(a, n * sizeof(int)), .life = jf_alloc(a, n_life * sizeof(jf_life)),
    .life_place = jf_alloc(a, n_life * sizeof(int))
  };
}

jfl_status jf_plan_new(jfl_graph *g, jf_chooser *c, jfl_plan **out)
{
  jfl_plan *p = *out = jf_alloc(g->arena, sizeof *p);
  jf_plan_builder b = plan_begin(g, c, p);
  jf_plan_make_steps(&b);
  JF_TRY(choose_kernels(&b));
  JF_TRY(plan_make_ready(&b));
  jf_plan_add_packing(&b);
  number_steps(&b);
  jf_plan_place(&b);
  note_changes(&b);
  jf_plan_order_streams(&b);
  p->repeats = jf_staging_can_repeat(p);
  return JFL_OK;
}

void jf_plan_release(const jfl_plan *p)
{
  for (int s = 0; p && s < p->n_step; s++) {
    const jf_choice *c = &p->step[s].kernel;
    if (c->row && c->run == c->row->pack) continue;          /* its state is its reader's */
    jf_choice_release(c, &p->step[s].k);
  }
}
