/* The steps of a plan: the nodes that need one, in order, and what lies outside of arenas. */
#include "op/attrs.h"
#include "plan/builder.h"

static int plan_has_host_memory(const jfl_plan *p, int place)
{
  return jf_has_host_memory(p->part[place].device->kind);
}

/* What find_roots asks of values, by id: whether a view of it, or itself, is a result of the job;
   whether a step changes it. */
typedef struct plan_fate { char *is_result, *changes; } plan_fate;

static plan_fate plan_fates(const jf_plan_builder *b)
{
  const jfl_graph *g = b->g;
  const size_t n = (size_t)g->n_value;
  plan_fate f = { jf_alloc(b->arena, n), jf_alloc(b->arena, n) };
  for (int i = 0; i < g->n_output; i++) f.is_result[jf_root(g->output[i])->id] = 1;
  for (int i = 0; i < g->n_node; i++)
    for (int k = 0; k < g->node[i]->n_in; k++)
      if (jf_mutates(g->node[i], k)) f.changes[jf_root(g->node[i]->in[k])->id] = 1;
  return f;
}

/* Whether a node reads and gives the same memory: it is a view, or a copy between devices that both
   use the host's. A copy is needed where the job's result would be something else as well, or where
   what is copied changes later. */
static int plan_shares(const jf_plan_builder *b, const plan_fate *f, const jf_node *n)
{
  if (n->op->flags & JF_VIEW) return 1;
  if (!(n->op->flags & JF_TRANSFER)) return 0;
  const jfl_value *from = b->root[n->in[0]->id], *to = n->out[0];
  if (!plan_has_host_memory(b->p, from->place) || !plan_has_host_memory(b->p, to->place)) return 0;
  if (!f->is_result[to->id]) return !f->changes[from->id];
  if (from->origin != JF_RESULT || from->node->op->flags & JF_STORED || f->is_result[from->id])
    return 0;
  return f->is_result[from->id] = 1;
}

static void find_roots(jf_plan_builder *b)
{
  const plan_fate f = plan_fates(b);
  b->changes = f.changes;
  for (int i = 0; i < b->g->n_value; i++) b->root[i] = b->g->value[i];
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (plan_shares(b, &f, n)) b->root[n->out[0]->id] = b->root[n->in[0]->id];
  }
}

/* Whether n needs no step, since its output is its input's memory. */
static int plan_is_view(const jf_plan_builder *b, const jf_node *n)
{
  return n->n_out && b->root[n->out[0]->id] != n->out[0];
}

/* Arrays that the graph keeps are read where they lie, unless one is a result of the job: results
   have memory of their own. */
static void place_constants(jf_plan_builder *b)
{
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (!(n->op->flags & JF_STORED) || !jf_plan_is_host(b->p, n->place)) continue;
    jf_where *w = &b->where[n->out[0]->id];
    const void *data = ((const jf_array *)n->attr)->value->data;
    if (w->memory != JF_AT_NONE) continue;
    *w = jf_plan_at(JF_AT_CONSTANT, n->out[0], 0);
    w->data = data;
  }
  for (int i = 0; i < b->g->n_array; i++) {
    const jfl_array *a = b->g->array[i].array;
    b->p->constant_size += (size_t)jfl_array_size(a) * jfl_dtype_size(a->dtype);
  }
}

/* Finds the places of inputs, variables and results, which are not in the arena. */
static void place_outside(jf_plan_builder *b)
{
  jfl_plan *p = b->p;
  const jfl_value **variable = jf_alloc(b->arena, (size_t)b->g->n_value * sizeof *variable);
  p->variable = variable;
  for (int i = 0; i < b->g->n_value; i++) {
    const jfl_value *v = b->g->value[i];
    if (v->origin == JF_INPUT)
      b->where[v->id] = jf_plan_at(JF_AT_INPUT, v, v->index);
    if (v->origin != JF_VARIABLE) continue;
    b->where[v->id] = jf_plan_at(JF_AT_VARIABLE, v, p->n_variable);
    variable[p->n_variable++] = v;
  }
  for (int i = 0; i < b->g->n_output; i++) {
    const jfl_value *r = b->root[b->g->output[i]->id];
    b->where[r->id] = jf_plan_at(JF_AT_OUTPUT, r, i);
  }
}

/* Whether n needs no step, since the graph keeps the array that is its output. */
static int lies_ready(const jf_plan_builder *b, const jf_node *n)
{
  return n->op->flags & JF_STORED && b->where[n->out[0]->id].memory == JF_AT_CONSTANT;
}

/* A run has three stages, so that a device can repeat the second as a whole: devices receive
   inputs, they work, the host receives results. */
typedef enum plan_stage { PLAN_IN, PLAN_WORK, PLAN_OUT, PLAN_N_STAGE } plan_stage;

/* A result that is a variable is read among the work, before the variable is updated. */
static plan_stage plan_stage_of(const jf_plan_builder *b, const jf_node *n, const char *is_read)
{
  if (!(n->op->flags & JF_TRANSFER)) return PLAN_WORK;
  const jfl_value *from = b->root[n->in[0]->id], *to = n->out[0];
  if (from->origin == JF_INPUT || b->where[from->id].memory == JF_AT_CONSTANT) return PLAN_IN;
  int is_result = b->where[to->id].memory == JF_AT_OUTPUT && !is_read[to->id];
  return is_result && from->origin == JF_RESULT ? PLAN_OUT : PLAN_WORK;
}

static void add_step(jf_plan_builder *b, const jf_node *n)
{
  jfl_plan *p = b->p;
  for (int k = 0; k < n->n_out; k++) b->made_by[n->out[k]->id] = p->n_step;
  jf_step *st = &b->step[p->n_step++];
  /* A transfer to the host runs on the stream of its source. */
  const int back = n->op->flags & JF_TRANSFER && jf_plan_is_host(p, n->place);
  *st = (jf_step){ .node = n, .place = back ? n->in[0]->place : n->place, .event = -1 };
  p->is_async |= !jf_plan_is_host(p, st->place);
}

/* A constant of more bytes is made in each run instead of being kept. */
enum { MOST_STILL = 1 << 14 };

/* Whether n copies anything but an array that the graph keeps, which a device has from then on. */
static int plan_is_copied(const jf_plan_builder *b, const jf_node *n)
{
  if (!(n->op->flags & JF_TRANSFER)) return 0;
  return b->where[b->root[n->in[0]->id]->id].memory != JF_AT_CONSTANT;
}

static int plan_is_still(const jf_plan_builder *b, const jf_node *n)
{
  if (jf_plan_draws(n) || n->op->flags & (JF_EFFECT | JF_TOGETHER) || plan_is_copied(b, n))
    return 0;
  for (int k = 0; k < n->n_in; k++)
    if (!b->still[n->in[k]->id]) return 0;
  for (int k = 0; k < n->n_out; k++) {
    if (b->where[b->root[n->out[k]->id]->id].memory == JF_AT_OUTPUT) return 0;
    if (!n->n_in && !lies_ready(b, n) && JF_BYTES_OF(n->out[k]) > MOST_STILL) return 0;
  }
  return 1;
}

/* Whether a value is a variable that no step changes. */
static char plan_is_kept(const jf_plan_builder *b, const jfl_value *v)
{
  return v->origin == JF_VARIABLE && !b->changes[v->id];
}

/* Finds the nodes whose results are the same in every run until one of their variables changes. */
static void find_still(jf_plan_builder *b)
{
  int any = 0;
  b->still = jf_alloc(b->arena, (size_t)b->g->n_value);
  for (int i = 0; i < b->g->n_value; i++) b->still[i] = plan_is_kept(b, b->g->value[i]);
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    const int still = plan_is_still(b, n);
    for (int k = 0; k < n->n_out; k++) b->still[n->out[k]->id] = (char)still;
    any |= still && n->n_in && !plan_is_view(b, n);
  }
  for (int i = 0; i < b->g->n_value && !any; i++)
    b->still[i] = plan_is_kept(b, b->g->value[i]);
}

/* Adds the steps of the prologue: those of still nodes. */
static void add_prologue(jf_plan_builder *b)
{
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (n->n_out && b->still[n->out[0]->id] && !plan_is_view(b, n) && !lies_ready(b, n))
      add_step(b, n);
  }
  b->p->n_prologue = b->p->n_step;
}

static void order_steps(jf_plan_builder *b)
{
  const jfl_graph *g = b->g;
  char *is_read = jf_alloc(b->arena, (size_t)g->n_value);
  b->p->step = b->step = jf_alloc(b->arena, (size_t)g->n_node * sizeof *b->step);
  for (int i = 0; i < g->n_value; i++) b->made_by[i] = -1;
  for (int i = 0; i < g->n_node; i++)
    for (int k = 0; k < g->node[i]->n_in; k++) is_read[b->root[g->node[i]->in[k]->id]->id] = 1;
  find_still(b);
  add_prologue(b);
  for (int stage = 0; stage < PLAN_N_STAGE; stage++)
    for (int i = 0; i < g->n_node; i++)
      if (!plan_is_view(b, g->node[i]) && !lies_ready(b, g->node[i]) &&
          !(g->node[i]->n_out && b->still[g->node[i]->out[0]->id]) &&
          (int)plan_stage_of(b, g->node[i], is_read) == stage)
        add_step(b, g->node[i]);
}

void jf_plan_make_steps(jf_plan_builder *b)
{
  find_roots(b);
  place_outside(b);
  place_constants(b);
  order_steps(b);
}
