/* The memory of a plan: how long each result lives, and where it is. */
#include "plan/builder.h"

/* Values that another stream reads keep their memory until the end of the run: the device that owns
   the memory does not know when the other one has read it. */
static void keep_what_others_read(jf_plan_builder *b)
{
  for (int s = 0; s < b->p->n_step; s++) {
    const jf_step *st = &b->p->step[s];
    for (int k = 0; k < st->node->n_in; k++) {
      const jfl_value *r = jf_plan_reads(b, st, k);
      if (r->place != st->place) b->last_use[r->id] = b->p->n_step;
    }
  }
}

static size_t places_zone(const jf_plan_builder *b)
{
  return b->p->flags & JF_ZONES ? JF_ZONE : 0;
}

static int add_life(jf_plan_builder *b, size_t size, int place, int first, int last)
{
  const size_t whole = size + 2 * places_zone(b);
  b->life[b->n_life] = (jf_life){ .size = whole, .first = first, .last = last };
  b->life_place[b->n_life] = place;
  return b->n_life++;
}

/* Looks for an input that nothing reads after this step and whose memory output 0 may take; gives
   its lifetime, or -1. */
static int reusable(const jf_plan_builder *b, const jf_node *n, int step)
{
  const unsigned inplace = jf_inplace(n);
  for (int k = 0; k < n->n_in && k < JF_MAXIN; k++) {
    const jfl_value *r = b->root[n->in[k]->id];
    const jf_where *w = &b->where[r->id];
    int uses = 0;
    for (int j = 0; j < n->n_in; j++) uses += b->root[n->in[j]->id] == r;
    if ((inplace >> k & 1) && w->memory == JF_AT_ARENA && uses == 1 &&
        b->life[w->index].last == step && w->size == JF_BYTES_OF(n->out[0]))
      return w->index;
  }
  return -1;
}

static void place_temporaries(jf_plan_builder *b)
{
  for (int s = 0; s < b->p->n_step; s++) {
    const jf_node *n = b->p->step[s].node;
    for (int k = 0; k < n->n_out; k++) {
      const jfl_value *v = n->out[k];
      if (b->where[v->id].memory != JF_AT_NONE) continue;
      int last = b->last_use[v->id] > s ? b->last_use[v->id] : s;
      int life = k == 0 && !(b->p->flags & JF_SEPARATE) ? reusable(b, n, s) : -1;
      if (life >= 0) b->life[life].last = last;
      else life = add_life(b, JF_BYTES_OF(v), v->place, s, last);
      b->where[v->id] = jf_plan_at(JF_AT_ARENA, v, life);
    }
  }
}

/* Copies to a step where its operands are, and gives it its scratch. */
static void place_step(jf_plan_builder *b, int step)
{
  jf_step *st = &b->step[step];
  const jf_node *n = st->node;
  st->in = jf_alloc(b->arena, (size_t)n->n_in * sizeof *st->in);
  st->out = jf_alloc(b->arena, (size_t)n->n_out * sizeof *st->out);
  for (int i = 0; i < n->n_in; i++) st->in[i] = b->where[jf_plan_reads(b, st, i)->id];
  for (int i = 0; i < n->n_out; i++) st->out[i] = b->where[b->root[n->out[i]->id]->id];
  const size_t scratch = st->kernel.scratch;
  st->scratch_life = scratch ? add_life(b, scratch, n->place, step, step) : -1;
}

static void add_patch(jf_plan_builder *b, const jf_where *w, int operand)
{
  jfl_plan *p = b->p;
  const jf_patch patch = { operand, w->index, w->offset, w->size };
  if (w->memory == JF_AT_INPUT) b->input[p->n_input_patch++] = patch;
  if (w->memory == JF_AT_OUTPUT) b->output[p->n_output_patch++] = patch;
}

/* Copies offsets from lifetimes to the steps, and lists the addresses to set in each run. */
static void settle(jf_plan_builder *b)
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
      if (w->memory == JF_AT_ARENA) w->offset = b->life[w->index].offset + places_zone(b);
      add_patch(b, w, operand++);
    }
    if (st->scratch_life >= 0)
      st->scratch_offset = b->life[st->scratch_life].offset + places_zone(b);
    if (jf_plan_draws(st->node)) {
      st->stream = jf_hash_str(jf_hash_str(0, b->g->name), jf_logical_name(st->node));
      st->random = 1;
    }
  }
}

/* Packs the arena of one place. */
static void pack_part(jf_plan_builder *b, int place)
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

void jf_plan_place(jf_plan_builder *b)
{
  jfl_plan *p = b->p;
  keep_what_others_read(b);
  jf_plan_place_derived(b);     /* first: other plans use the staging buffer between two runs */
  jf_plan_use_staging(p, b->root, b->where);
  place_temporaries(b);
  for (int s = 0; s < p->n_step; s++) {
    jf_arena_ask(b->arena);
    place_step(b, s);
  }
  for (int i = 0; i < p->n_part; i++) pack_part(b, i);
  settle(b);
}
