/* Makes a plan: steps, kernels, lifetimes, offsets, and which addresses change with each run. */
#include "op/array.h"
#include "op/pack.h"
#include "plan/plan.h"

#include <string.h>

/* What is known of each value while the plan is made, by value id. */
typedef struct builder {
  jfl_plan *p;
  jfl_graph *g;
  jf_chooser *chooser;
  jf_arena *arena;
  jf_step *step;               /* the plan's, and its parts and patches, while they are made */
  jf_plan_part *part;
  jf_patch *input, *output;
  const jfl_value **root;      /* the value whose memory it uses */
  jf_where *where;             /* of roots: where their memory is */
  int *last_use;               /* of roots: last step that reads it */
  int *made_by;                /* of roots: the step that makes it, or -1 */
  char *still;                 /* whether it depends on variables alone, which do not change */
  int n_value;                 /* how many there are, with those of packed bytes */
  jf_life *life; int n_life;
  int *life_place;             /* of lifetimes: the place in whose arena they are */
} builder;

static size_t plan_bytes_of(const jfl_value *v)
{
  return (size_t)jf_numel(&v->shape) * jfl_dtype_size(v->dtype);
}

static jf_where plan_at(jf_memory memory, const jfl_value *v, int index)
{
  return (jf_where){ .memory = memory, .place = v->place, .index = index,
                     .size = plan_bytes_of(v) };
}

static int plan_is_host(const jfl_plan *p, int place) { return p->part[place].device->kind->host; }

static int plan_has_host_memory(const jfl_plan *p, int place)
{
  return jf_has_host_memory(p->part[place].device->kind);
}

/* What find_roots asks of values, by id: whether a view of it, or itself, is a result of the job;
   whether a step changes it. */
typedef struct plan_fate { char *is_result, *changes; } plan_fate;

static plan_fate plan_fates(const builder *b)
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
static int plan_shares(const builder *b, const plan_fate *f, const jf_node *n)
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

static void find_roots(builder *b)
{
  const plan_fate f = plan_fates(b);
  for (int i = 0; i < b->g->n_value; i++) b->root[i] = b->g->value[i];
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (plan_shares(b, &f, n)) b->root[n->out[0]->id] = b->root[n->in[0]->id];
  }
}

/* Whether n needs no step, since its output is its input's memory. */
static int plan_is_view(const builder *b, const jf_node *n)
{
  return n->n_out && b->root[n->out[0]->id] != n->out[0];
}

/* Arrays that the graph keeps are read where they lie, unless one is a result of the job: results
   have memory of their own. */
static void place_constants(builder *b)
{
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (!(n->op->flags & JF_STORED) || !plan_is_host(b->p, n->place)) continue;
    jf_where *w = &b->where[n->out[0]->id];
    const void *data = ((const jf_array *)n->attr)->value->data;
    if (w->memory != JF_AT_NONE) continue;
    *w = plan_at(JF_AT_CONSTANT, n->out[0], 0);
    w->data = data;
  }
  for (int i = 0; i < b->g->n_kept; i++) {
    const jfl_array *a = b->g->kept[i].array;
    b->p->constant_size += (size_t)jfl_array_size(a) * jfl_dtype_size(a->dtype);
  }
}

/* Finds the places of inputs, variables and results, which are not in the arena. */
static void place_outside(builder *b)
{
  jfl_plan *p = b->p;
  const jfl_value **variable = jf_alloc(b->arena, (size_t)b->g->n_value * sizeof *variable);
  p->variable = variable;
  for (int i = 0; i < b->g->n_value; i++) {
    const jfl_value *v = b->g->value[i];
    if (v->origin == JF_INPUT)
      b->where[v->id] = plan_at(JF_AT_INPUT, v, v->index);
    if (v->origin != JF_VARIABLE) continue;
    b->where[v->id] = plan_at(JF_AT_VARIABLE, v, p->n_variable);
    variable[p->n_variable++] = v;
  }
  for (int i = 0; i < b->g->n_output; i++) {
    const jfl_value *r = b->root[b->g->output[i]->id];
    b->where[r->id] = plan_at(JF_AT_OUTPUT, r, i);
  }
}

/* The place on whose stream a node runs. A transfer to the host runs on the stream of its
   source. */
static int plan_stream_of(const jfl_plan *p, const jf_node *n)
{
  int back = n->op->flags & JF_TRANSFER && plan_is_host(p, n->place);
  return back ? n->in[0]->place : n->place;
}

/* Whether n needs no step, since the graph keeps the array that is its output. */
static int lies_ready(const builder *b, const jf_node *n)
{
  return n->op->flags & JF_STORED && b->where[n->out[0]->id].memory == JF_AT_CONSTANT;
}

/* A run has three stages, so that a device can repeat the second as a whole: devices receive
   inputs, they work, the host receives results. */
typedef enum plan_stage { PLAN_IN, PLAN_WORK, PLAN_OUT, PLAN_N_STAGE } plan_stage;

/* A result that is a variable is read among the work, before the variable is updated. */
static plan_stage plan_stage_of(const builder *b, const jf_node *n, const char *is_read)
{
  if (!(n->op->flags & JF_TRANSFER)) return PLAN_WORK;
  const jfl_value *from = b->root[n->in[0]->id], *to = n->out[0];
  if (from->origin == JF_INPUT || b->where[from->id].memory == JF_AT_CONSTANT) return PLAN_IN;
  int is_result = b->where[to->id].memory == JF_AT_OUTPUT && !is_read[to->id];
  return is_result && from->origin == JF_RESULT ? PLAN_OUT : PLAN_WORK;
}

static void add_step(builder *b, const jf_node *n)
{
  jfl_plan *p = b->p;
  for (int k = 0; k < n->n_out; k++) b->made_by[n->out[k]->id] = p->n_step;
  jf_step *st = &b->step[p->n_step++];
  *st = (jf_step){ .node = n, .place = plan_stream_of(p, n), .event = -1 };
  p->is_async |= !plan_is_host(p, st->place);
}

/* What a step reads for its node's input k: a value whose memory no view shares. */
static const jfl_value *plan_reads(const builder *b, const jf_step *st, int k)
{
  return st->packed && k == st->packs ? st->packed : b->root[st->node->in[k]->id];
}

/* A constant of more bytes is made in each run instead of being kept. */
enum { MOST_STILL = 1 << 14 };

/* Whether a call of n draws random bits. */
static int plan_draws(const jf_node *n)
{
  return n->op->flags & JF_RANDOM && (!n->op->draws || n->op->draws(n->attr));
}

static int plan_is_still(const builder *b, const jf_node *n)
{
  if (plan_draws(n) || n->op->flags & (JF_EFFECT | JF_TRANSFER | JF_TOGETHER)) return 0;
  for (int k = 0; k < n->n_in; k++)
    if (!b->still[n->in[k]->id]) return 0;
  for (int k = 0; k < n->n_out; k++) {
    if (b->where[b->root[n->out[k]->id]->id].memory == JF_AT_OUTPUT) return 0;
    if (!n->n_in && !lies_ready(b, n) && plan_bytes_of(n->out[k]) > MOST_STILL) return 0;
  }
  return 1;
}

/* Finds the nodes whose results are the same in every run until a variable changes. */
static void find_still(builder *b)
{
  int any = 0;
  b->still = jf_alloc(b->arena, (size_t)b->g->n_value);
  for (int i = 0; i < b->g->n_node; i++)
    b->p->updates |= (b->g->node[i]->op->flags & JF_EFFECT) != 0;
  if (b->p->updates) return;
  for (int i = 0; i < b->g->n_value; i++) b->still[i] = b->g->value[i]->origin == JF_VARIABLE;
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    const int still = plan_is_still(b, n);
    for (int k = 0; k < n->n_out; k++) b->still[n->out[k]->id] = (char)still;
    any |= still && n->n_in && !plan_is_view(b, n);
  }
  for (int i = 0; i < b->g->n_value && !any; i++)
    b->still[i] = b->g->value[i]->origin == JF_VARIABLE;
}

/* Adds the steps of the prologue: those of still nodes. */
static void add_prologue(builder *b)
{
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (n->n_out && b->still[n->out[0]->id] && !plan_is_view(b, n) && !lies_ready(b, n))
      add_step(b, n);
  }
  b->p->n_prologue = b->p->n_step;
}

static void make_steps(builder *b)
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

/* ---- kernels, and what they want packed ---- */

/* What a pass has found for a node holds: else the pass made what this device cannot do, or it was
   misled, and that is to be seen. */
static jfl_status plan_choose(builder *b, jf_step *st)
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
static jfl_status choose_kernel(builder *b, jf_step *st, int may_pack)
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
static const char *plan_lacks(builder *b, const jf_step *st, const char *lacks)
{
  jf_arena *a = b->arena;
  const jfl_op *op = st->node->op;
  const char *dtype = jfl_dtype_name(jf_call_key(op, &st->k));
  const char *own = jf_sprintf(a, "%s (%s) on %s", op->name, dtype,
                               b->p->part[st->place].device->name);
  return !lacks ? own : strstr(lacks, own) ? lacks : jf_sprintf(a, "%s, %s", lacks, own);
}

/* If a device lacks kernels, the message names all of them at once. */
static jfl_status choose_kernels(builder *b)
{
  const char *lacks = NULL;
  for (int s = 0; s < b->p->n_step; s++) {
    const jfl_status st = choose_kernel(b, &b->step[s], s >= b->p->n_prologue);
    if (st && st != JFL_ENOSYS)
      return jf_fail_in(st, JFL_ERROR_OP, b->p->step[s].node->op->name);
    if (st) lacks = plan_lacks(b, &b->p->step[s], lacks);
  }
  return lacks ? jf_fail(JFL_ENOSYS, "there is no kernel for %s", lacks) : JFL_OK;
}

/* The value of packed bytes that a step reads for its input i, made by a node of no graph. */
static jfl_value *packed_value(builder *b, const jf_step *st, int i)
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
static jf_step pack_step(builder *b, jf_step *st, int i)
{
  const jf_kernel_row *row = st->kernel.row;
  const jfl_value *v = packed_value(b, st, i);
  jf_step pack = { .node = v->node, .place = st->place, .event = -1,
                   .kernel = { .run = row->pack, .row = row }, .k = st->k };
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

static packings find_packings(builder *b, const jf_step *step, int n)
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

/* Adds steps that pack what later ones want packed, each behind the step that makes it. */
static void add_packing(builder *b)
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

/* Notes who makes and who reads values, once the order of the steps is known. */
static void number_steps(builder *b)
{
  jfl_plan *p = b->p;
  for (int s = 0; s < p->n_step; s++) {
    jf_step *st = &b->step[s];
    const jf_node *n = st->node;
    st->k.step = s;
    for (int k = 0; k < n->n_in; k++) b->last_use[plan_reads(b, st, k)->id] = s;
    for (int k = 0; k < n->n_out; k++) b->made_by[n->out[k]->id] = s;
    p->n_operand += n->n_in + n->n_out;
    b->part[st->place].n_step++;
  }
}

/* ---- lifetimes and places ---- */

/* Values that another stream reads keep their memory until the end of the run: the device that owns
   the memory does not know when the other one has read it. */
static void keep_what_others_read(builder *b)
{
  for (int s = 0; s < b->p->n_step; s++) {
    const jf_step *st = &b->p->step[s];
    for (int k = 0; k < st->node->n_in; k++) {
      const jfl_value *r = plan_reads(b, st, k);
      if (r->place != st->place) b->last_use[r->id] = b->p->n_step;
    }
  }
}

static int add_life(builder *b, size_t size, int place, int first, int last)
{
  b->life[b->n_life] = (jf_life){ .size = size, .first = first, .last = last };
  b->life_place[b->n_life] = place;
  return b->n_life++;
}

/* Looks for an input that nothing reads after this step and whose memory output 0 may take; gives
   its lifetime, or -1. */
static int reusable(const builder *b, const jf_node *n, int step)
{
  const unsigned inplace = jf_inplace(n);
  for (int k = 0; k < n->n_in && k < JF_MAXIN; k++) {
    const jfl_value *r = b->root[n->in[k]->id];
    const jf_where *w = &b->where[r->id];
    int uses = 0;
    for (int j = 0; j < n->n_in; j++) uses += b->root[n->in[j]->id] == r;
    if ((inplace >> k & 1) && w->memory == JF_AT_ARENA && uses == 1 &&
        b->life[w->index].last == step && w->size == plan_bytes_of(n->out[0]))
      return w->index;
  }
  return -1;
}

enum { PLAN_ALIGN = 64 };

static size_t plan_padded(size_t size) { return (size + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN; }

/* Gives the results of the prologue that later steps read memory of their own. */
static void place_prologue(builder *b)
{
  jfl_plan *p = b->p;
  for (int s = 0; s < p->n_prologue; s++) {
    const jf_node *n = p->step[s].node;
    for (int k = 0; k < n->n_out; k++) {
      const jfl_value *v = n->out[k];
      if (b->where[v->id].memory != JF_AT_NONE || b->last_use[v->id] < p->n_prologue) continue;
      size_t *end = &b->part[v->place].prologue_size;
      b->where[v->id] = plan_at(JF_AT_PROLOGUE, v, 0);
      b->where[v->id].offset = *end;
      *end += plan_padded(plan_bytes_of(v));
    }
  }
  for (int i = 0; i < p->n_part; i++) p->constant_size += b->part[i].prologue_size;
}

static void place_temporaries(builder *b)
{
  for (int s = 0; s < b->p->n_step; s++) {
    const jf_node *n = b->p->step[s].node;
    for (int k = 0; k < n->n_out; k++) {
      const jfl_value *v = n->out[k];
      if (b->where[v->id].memory != JF_AT_NONE) continue;
      int last = b->last_use[v->id] > s ? b->last_use[v->id] : s;
      int life = k == 0 && !(b->p->flags & JF_SEPARATE) ? reusable(b, n, s) : -1;
      if (life >= 0) b->life[life].last = last;
      else life = add_life(b, plan_bytes_of(v), v->place, s, last);
      b->where[v->id] = plan_at(JF_AT_ARENA, v, life);
    }
  }
}

/* Copies to a step where its operands are, and gives it its scratch. */
static void place_step(builder *b, int step)
{
  jf_step *st = &b->step[step];
  const jf_node *n = st->node;
  st->in = jf_alloc(b->arena, (size_t)n->n_in * sizeof *st->in);
  st->out = jf_alloc(b->arena, (size_t)n->n_out * sizeof *st->out);
  for (int i = 0; i < n->n_in; i++) st->in[i] = b->where[plan_reads(b, st, i)->id];
  for (int i = 0; i < n->n_out; i++) st->out[i] = b->where[b->root[n->out[i]->id]->id];
  const size_t scratch = st->kernel.scratch;
  st->scratch_life = scratch ? add_life(b, scratch, n->place, step, step) : -1;
}

static void add_patch(builder *b, const jf_where *w, int operand)
{
  jfl_plan *p = b->p;
  const jf_patch patch = { operand, w->index, w->offset, w->size };
  if (w->memory == JF_AT_INPUT) b->input[p->n_input_patch++] = patch;
  if (w->memory == JF_AT_OUTPUT) b->output[p->n_output_patch++] = patch;
}

/* Copies offsets from lifetimes to the steps, and lists the addresses to set in each run. */
static void settle(builder *b)
{
  jfl_plan *p = b->p;
  while (p->first_update < p->n_step &&
         !(p->step[p->first_update].node->op->flags & JF_EFFECT))
    p->first_update++;
  p->input = b->input = jf_alloc(b->arena, (size_t)p->n_operand * sizeof *b->input);
  p->output = b->output = jf_alloc(b->arena, (size_t)p->n_operand * sizeof *b->output);
  for (int s = 0, operand = 0; s < p->n_step; s++) {
    jf_step *st = &b->step[s];
    for (int i = 0; i < st->k.n_in + st->k.n_out; i++) {
      jf_where *w = i < st->k.n_in ? &st->in[i] : &st->out[i - st->k.n_in];
      if (w->memory == JF_AT_ARENA) w->offset = b->life[w->index].offset;
      add_patch(b, w, operand++);
    }
    if (st->scratch_life >= 0) st->scratch_offset = b->life[st->scratch_life].offset;
    if (plan_draws(st->node)) {
      st->stream = jf_hash_str(jf_hash_str(0, b->g->name), jf_logical_name(st->node));
      st->random = 1;
    }
  }
}

/* ---- streams that wait for each other ---- */

/* For each place, the last step on its stream that some step has to wait for; -1: none. */
typedef struct waits {
  builder *b;
  int *want;                   /* by place: for the current step */
  int *known;                  /* by stream and place: 1 + the last step already waited for */
  int *reader;                 /* by value and place: 1 + the last step that reads a variable */
} waits;

static void waits_for(waits *w, int step)
{
  if (step < 0) return;
  int *last = &w->want[w->b->p->step[step].place];
  if (*last < step) *last = step;
}

/* A step waits for the steps that made its inputs, and if it updates a variable, for the steps of
   other streams that read the variable before. */
static void waits_of(waits *w, int step)
{
  builder *b = w->b;
  const jf_node *n = b->p->step[step].node;
  const int n_part = b->p->n_part;
  for (int i = 0; i < n_part; i++) w->want[i] = -1;
  for (int k = 0; k < n->n_in; k++) {
    const jfl_value *r = plan_reads(b, &b->p->step[step], k);
    int *reader = &w->reader[r->id * n_part];
    waits_for(w, b->made_by[r->id]);
    for (int i = 0; i < n_part && jf_mutates(n, k); i++) waits_for(w, reader[i] - 1);
    reader[b->p->step[step].place] = step + 1;
  }
}

/* Stores which steps this one waits for, without those that its stream has waited for before. */
static void waits_note(waits *w, int step)
{
  jfl_plan *p = w->b->p;
  jf_step *st = &w->b->step[step];
  int *known = &w->known[st->place * p->n_part];
  st->await = jf_alloc(w->b->arena, (size_t)p->n_part * sizeof *st->await);
  for (int i = 0; i < p->n_part; i++) {
    if (i == st->place || plan_is_host(p, i) || w->want[i] < known[i]) continue;
    known[i] = w->want[i] + 1;
    st->await[st->n_await++] = w->want[i];
    jf_step *other = &w->b->step[w->want[i]];
    if (other->event < 0) other->event = p->n_event++;
  }
}

static void order_streams(builder *b)
{
  jfl_plan *p = b->p;
  size_t n = (size_t)p->n_part;
  int streams = 0;
  p->barrier = -1;
  p->is_shared = b->g->shared != 0;
  for (int i = 0; i < p->n_part; i++) streams += p->part[i].n_step > 0;
  if (streams < 2 && !p->is_shared) return;
  waits w = { b, jf_alloc(b->arena, n * sizeof *w.want),
              jf_alloc(b->arena, n * n * sizeof *w.known),
              jf_alloc(b->arena, n * (size_t)b->n_value * sizeof *w.reader) };
  for (int s = 0; s < p->n_step; s++) {
    waits_of(&w, s);
    waits_note(&w, s);
  }
  if (p->first_update < p->n_step) p->barrier = p->first_update;
}

/* ---- the whole plan ---- */

/* Packs the arena of one place. */
static void pack_part(builder *b, int place)
{
  jf_plan_part *part = &b->part[place];
  jf_life *own = jf_alloc(b->arena, (size_t)b->n_life * sizeof *own);
  int n = 0;
  for (int i = 0; i < b->n_life; i++)
    if (b->life_place[i] == place) own[n++] = b->life[i];
  part->arena_size = jf_pack(b->arena, own, n);
  part->arena_bound = jf_pack_bound(b->arena, own, n);
  b->p->arena_size += part->arena_size;
  b->p->arena_bound += part->arena_bound;
  for (int i = b->n_life; i-- > 0;)
    if (b->life_place[i] == place) b->life[i] = own[--n];
}

static builder plan_begin(jfl_graph *g, jf_chooser *c, jfl_plan *p)
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
  return (builder){
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
  builder b = plan_begin(g, c, p);
  find_roots(&b);
  place_outside(&b);
  place_constants(&b);
  make_steps(&b);
  JF_TRY(choose_kernels(&b));
  add_packing(&b);
  number_steps(&b);
  keep_what_others_read(&b);
  place_prologue(&b);            /* first: other plans use the staging buffer between two runs */
  jf_plan_use_staging(p, b.root, b.where);
  place_temporaries(&b);
  for (int s = 0; s < p->n_step; s++) place_step(&b, s);
  for (int i = 0; i < p->n_part; i++) pack_part(&b, i);
  settle(&b);
  order_streams(&b);
  p->repeats = jf_staging_can_repeat(p);
  return JFL_OK;
}

void jf_plan_release(const jfl_plan *p)
{
  for (int s = 0; p && s < p->n_step; s++) {
    const jf_choice *c = &p->step[s].kernel;
    if (c->row && c->run == c->row->pack) continue;          /* its state is its reader's */
    jf_choice_release(c, p->step[s].k.state);
  }
}
