/* Making a plan: steps, lifetimes, offsets, kernels, and the pointers that change with each run. */
#include "plan/plan.h"

#include <string.h>

/* What is known of each value while the plan is made; index by value id. */
typedef struct builder {
  jfl_plan *p;
  jfl_graph *g;
  jf_arena *arena;
  const jfl_value **root;      /* the value whose memory it is */
  jf_where *where;             /* of roots */
  int *last_use;               /* of roots: last step that reads it */
  jf_life *life; int n_life;
} builder;

static size_t plan_bytes_of(const jfl_value *v)
{
  return (size_t)jf_numel(&v->shape) * jfl_dtype_size(v->dtype);
}

static void find_roots(builder *b)
{
  for (int i = 0; i < b->g->n_value; i++) b->root[i] = b->g->value[i];
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (n->op->flags & JF_VIEW) b->root[n->out[0]->id] = b->root[n->in[0]->id];
  }
}

/* Inputs, variables and results are not in the arena. */
static void place_outside(builder *b)
{
  jfl_plan *p = b->p;
  p->variable = jf_alloc(b->arena, (size_t)b->g->n_value * sizeof *p->variable);
  for (int i = 0; i < b->g->n_value; i++) {
    const jfl_value *v = b->g->value[i];
    if (v->origin == JF_INPUT)
      b->where[v->id] = (jf_where){ JF_AT_INPUT, v->index, 0, plan_bytes_of(v) };
    if (v->origin != JF_VARIABLE) continue;
    b->where[v->id] = (jf_where){ JF_AT_VARIABLE, p->n_variable, 0, plan_bytes_of(v) };
    p->variable[p->n_variable++] = v;
  }
  for (int i = 0; i < b->g->n_output; i++) {
    const jfl_value *r = b->root[b->g->output[i]->id];
    b->where[r->id] = (jf_where){ JF_AT_OUTPUT, i, 0, plan_bytes_of(r) };
  }
}

static void make_steps(builder *b)
{
  jfl_plan *p = b->p;
  p->step = jf_alloc(b->arena, (size_t)b->g->n_node * sizeof *p->step);
  for (int i = 0; i < b->g->n_node; i++) {
    const jf_node *n = b->g->node[i];
    if (n->op->flags & JF_VIEW) continue;
    for (int k = 0; k < n->n_in; k++) b->last_use[b->root[n->in[k]->id]->id] = p->n_step;
    p->step[p->n_step++].node = n;
  }
}

static int add_life(builder *b, size_t size, int first, int last)
{
  b->life[b->n_life] = (jf_life){ .size = size, .first = first, .last = last };
  return b->n_life++;
}

/* The lifetime of an input that dies in this step and whose memory output 0 may take, or -1. */
static int reusable(const builder *b, const jf_node *n, int step)
{
  const unsigned inplace = jf_inplace(n);
  for (int k = 0; k < n->n_in && k < JF_MAXIN; k++) {
    const jfl_value *r = b->root[n->in[k]->id];
    const jf_where *w = &b->where[r->id];
    int uses = 0;
    for (int j = 0; j < n->n_in; j++) uses += b->root[n->in[j]->id] == r;
    if ((inplace >> k & 1) && w->place == JF_AT_ARENA && uses == 1 &&
        b->life[w->index].last == step && w->size == plan_bytes_of(n->out[0]))
      return w->index;
  }
  return -1;
}

static void place_temporaries(builder *b)
{
  for (int s = 0; s < b->p->n_step; s++) {
    const jf_node *n = b->p->step[s].node;
    for (int k = 0; k < n->n_out; k++) {
      const jfl_value *v = n->out[k];
      if (b->where[v->id].place != JF_AT_NONE) continue;
      int last = b->last_use[v->id] > s ? b->last_use[v->id] : s;
      int life = k == 0 && !(b->p->flags & JF_SEPARATE) ? reusable(b, n, s) : -1;
      if (life >= 0) b->life[life].last = last;
      else life = add_life(b, plan_bytes_of(v), s, last);
      b->where[v->id] = (jf_where){ JF_AT_ARENA, life, 0, plan_bytes_of(v) };
    }
  }
}

static jf_tensor tensor_of(const jfl_value *v) { return (jf_tensor){ NULL, v->dtype, v->shape }; }

static jf_where where_of(const builder *b, const jfl_value *v)
{
  return b->where[b->root[v->id]->id];
}

static jfl_status fill_step(builder *b, jf_step *st, int index, int threads)
{
  const jf_node *n = st->node;
  jf_kargs *k = &st->k;
  size_t n_in = (size_t)n->n_in, n_out = (size_t)n->n_out, scratch;
  *k = (jf_kargs){ .n_in = n->n_in, .n_out = n->n_out, .attr = n->attr, .threads = threads,
                   .in = jf_alloc(b->arena, n_in * sizeof *k->in),
                   .out = jf_alloc(b->arena, n_out * sizeof *k->out) };
  st->in = jf_alloc(b->arena, n_in * sizeof *st->in);
  st->out = jf_alloc(b->arena, n_out * sizeof *st->out);
  for (int i = 0; i < n->n_in; i++) {
    k->in[i] = tensor_of(n->in[i]);
    st->in[i] = where_of(b, n->in[i]);
  }
  for (int i = 0; i < n->n_out; i++) {
    k->out[i] = tensor_of(n->out[i]);
    st->out[i] = where_of(b, n->out[i]);
  }
  JF_TRY(jf_choose(b->p->device, n->op, b->p->flags, k, &scratch, &st->kernel));
  b->p->work += jf_work(n->op, k);
  if (k->threads > b->p->threads) b->p->threads = k->threads;
  st->scratch_life = scratch ? add_life(b, scratch, index, index) : -1;
  return JFL_OK;
}

static void add_patch(builder *b, const jf_where *w, void **data)
{
  jfl_plan *p = b->p;
  if (w->place == JF_AT_INPUT) p->input[p->n_input_patch++] = (jf_patch){ data, w->index };
  if (w->place == JF_AT_OUTPUT) p->output[p->n_output_patch++] = (jf_patch){ data, w->index };
}

/* Copies offsets from lifetimes to the steps, and lists the pointers to set in each run. */
static void settle(builder *b)
{
  jfl_plan *p = b->p;
  size_t n = 0;
  for (int s = 0; s < p->n_step; s++) n += (size_t)(p->step[s].k.n_in + p->step[s].k.n_out);
  p->input = jf_alloc(b->arena, n * sizeof *p->input);
  p->output = jf_alloc(b->arena, n * sizeof *p->output);
  for (int s = 0; s < p->n_step; s++) {
    jf_step *st = &p->step[s];
    for (int i = 0; i < st->k.n_in + st->k.n_out; i++) {
      jf_where *w = i < st->k.n_in ? &st->in[i] : &st->out[i - st->k.n_in];
      jf_tensor *t = i < st->k.n_in ? &st->k.in[i] : &st->k.out[i - st->k.n_in];
      if (w->place == JF_AT_ARENA) w->offset = b->life[w->index].offset;
      add_patch(b, w, &t->data);
    }
    if (st->scratch_life >= 0) st->scratch_offset = b->life[st->scratch_life].offset;
    if (st->node->op->flags & JF_RANDOM) {
      st->stream = jf_hash_str(jf_hash_str(0, b->g->name), st->node->name);
      st->random = 1;
    }
  }
}

jfl_status jf_plan_new(jfl_graph *g, const jf_device *dev, int flags, int threads, jfl_plan **out)
{
  jf_arena *a = g->arena;
  size_t n = (size_t)g->n_value, n_life = (size_t)g->n_node * (JFL_MAXOUT + 1);
  jfl_plan *p = *out = jf_alloc(a, sizeof *p);
  *p = (jfl_plan){ .graph = g, .device = dev, .flags = flags };
  builder b = { .p = p, .g = g, .arena = a, .root = jf_alloc(a, n * sizeof *b.root),
                .where = jf_alloc(a, n * sizeof *b.where),
                .last_use = jf_alloc(a, n * sizeof *b.last_use),
                .life = jf_alloc(a, n_life * sizeof *b.life) };
  find_roots(&b);
  place_outside(&b);
  make_steps(&b);
  place_temporaries(&b);
  for (int s = 0; s < p->n_step; s++) JF_TRY(fill_step(&b, &p->step[s], s, threads));
  p->arena_size = jf_pack(a, b.life, b.n_life);
  p->arena_bound = jf_pack_bound(a, b.life, b.n_life);
  settle(&b);
  return JFL_OK;
}

void jf_plan_release(jfl_plan *p)
{
  for (int s = 0; p && s < p->n_step; s++) {
    const jf_kernel_row *row = p->step[s].kernel.row;
    if (row && row->release && p->step[s].k.state) row->release(p->step[s].k.state);
    p->step[s].k.state = NULL;
  }
}

static void bind(const jf_where *w, void *arena, void *const *variable, void **data)
{
  if (w->place == JF_AT_ARENA) *data = (char *)arena + w->offset;
  if (w->place == JF_AT_VARIABLE) *data = variable[w->index];
}

void jf_plan_bind(jfl_plan *p, void *arena, void *const *variable)
{
  for (int s = 0; s < p->n_step; s++) {
    jf_step *st = &p->step[s];
    for (int i = 0; i < st->k.n_in; i++) bind(&st->in[i], arena, variable, &st->k.in[i].data);
    for (int i = 0; i < st->k.n_out; i++) bind(&st->out[i], arena, variable, &st->k.out[i].data);
    st->k.scratch = st->scratch_life >= 0 ? (char *)arena + st->scratch_offset : NULL;
  }
  p->bound_arena = arena;
}
