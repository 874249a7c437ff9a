/* Makes a fused program of some nodes. */
#include "pass/fuse/draft.h"
#include "op/reduce.h"

#include <string.h>

/* ---- the space ---- */

/* Whether these steps along the axes of s give one element for each `row` elements of s, in
   order. */
static int is_dense(const jfl_shape *s, const int64_t *step, int64_t row)
{
  int64_t inner = 1, size = 1;
  for (int i = s->n - 1; i >= 0; i--) {
    if (s->d[i] == 1) continue;
    if (step[i] != (inner < row ? 0 : size)) return 0;
    if (inner < row) inner *= s->d[i];
    else size *= s->d[i];
  }
  return inner == row;
}

/* Splits axes of the space so that every axis of s, which has as many elements, is one or several
   axes of the space. Returns 0 if that is impossible. */
static int refine(jfl_shape *space, const jfl_shape *s)
{
  int64_t cut[2 * JFL_MAXDIM], a = 1, b = 1;
  int n = 0, i = space->n, j = s->n;
  for (;;) {
    while (a == 1 && i > 0) a = space->d[--i];
    while (b == 1 && j > 0) b = s->d[--j];
    if (a == 1 || b == 1) break;
    cut[n] = a < b ? a : b;
    if (a % cut[n] || b % cut[n]) return 0;
    a /= cut[n];
    b /= cut[n++];
  }
  if (n > JFL_MAXDIM) return 0;
  *space = (jfl_shape){ n ? n : 1, { 1 } };
  for (int k = 0; k < n; k++) space->d[k] = cut[n - 1 - k];
  return 1;
}

/* Converts steps along axes of s to steps along axes of the space, whose axes are splits of
   those. */
static void map_steps(const jfl_shape *space, const jfl_shape *s, const int64_t *step, int64_t *to)
{
  int64_t done = 1;
  int j = s->n - 1;
  for (int i = space->n - 1; i >= 0; i--) {
    while (j > 0 && done == s->d[j]) {
      j--;
      done = 1;
    }
    to[i] = step[j] * done;
    done *= space->d[i];
  }
}

/* ---- slots ---- */

/* The steps of a slot along the axes of a member's shape. */
typedef struct jf_spread_over { jfl_shape shape; int64_t step[JFL_MAXDIM]; } jf_spread_over;

static void spread_over(jf_draft *d, int s, const jfl_shape *shape, const int64_t *step)
{
  d->over[s].shape = *shape;
  memcpy(d->over[s].step, step, sizeof d->over[s].step);
}

static int is_spread_over(const jf_draft *d, int s, const jfl_shape *shape, const int64_t *step)
{
  return jf_shape_eq(&d->over[s].shape, shape)
      && !memcmp(d->over[s].step, step, sizeof d->over[s].step);
}

static int add_slot(jf_draft *d, const jfl_value *v, jf_slot_kind kind, jfl_dtype t)
{
  const int s = d->f.n_slot++;
  d->slot[s] = (jf_fused_slot){ .kind = kind, .dtype = t, .in = -1, .out = -1 };
  d->value[s] = v;
  d->over[s].shape.n = 0;
  return s;
}

static int has_room(const jf_draft *d)
{
  return d->f.n_slot + JF_DRAFT_SLOTS <= d->limits->slots;
}

/* The slot in which a member has put v, or -1. */
static int made(const jf_draft *d, const jfl_value *v)
{
  for (int s = 0; s < d->f.n_slot; s++)
    if (d->value[s] == v && d->slot[s].in < 0) return s;
  return -1;
}

static int argument(jf_draft *d, const jfl_value *v)
{
  int i = 0;
  while (i < d->f.n_in && d->input[i] != v) i++;
  if (i == d->f.n_in) {
    d->input[d->f.n_in] = v;
    d->arg[d->f.n_in++] = (jf_fused_arg){ v->dtype, v->shape };
  }
  return i;
}

/* The slot of an input from outside that a member of shape s reads. */
static int outside(jf_draft *d, const jf_operand *o, jf_slot_kind kind, const jfl_shape *s)
{
  const int spread = kind == JF_SLOT_BROADCAST;
  for (int i = 0; i < d->f.n_slot; i++)
    if (d->value[i] == o->v && d->slot[i].in >= 0 && d->slot[i].kind == kind
        && (!spread || is_spread_over(d, i, s, o->step))) return i;
  const int i = add_slot(d, o->v, kind, o->dtype);
  d->slot[i].in = argument(d, o->v);
  if (spread) spread_over(d, i, s, o->step);
  return i;
}

static int constant(jf_draft *d, const jf_operand *o)
{
  for (int i = 0; i < d->f.n_slot; i++)
    if (d->slot[i].kind == JF_SLOT_NUMBER && d->slot[i].dtype == o->dtype
        && !memcmp(&d->slot[i].number, &o->number, sizeof o->number)) return i;
  const int i = add_slot(d, NULL, JF_SLOT_NUMBER, o->dtype);
  d->slot[i].number = o->number;
  return i;
}

/* The slot that a member of shape s reads as operand o. It has an element for each of the space, or
   with by_row one for each row. Returns -1 if a program cannot read the operand in that way. */
static int draft_operand(jf_draft *d, const jf_operand *o, const jfl_shape *s, int by_row)
{
  if (!o->v) return constant(d, o);
  const int own = made(d, o->v), dense = is_dense(s, o->step, 1);
  if (own >= 0) {
    const jf_slot_kind kind = d->slot[own].kind;
    if (dense) return kind == (by_row ? JF_SLOT_ROW : JF_SLOT_EACH) ? own : -1;
    return !by_row && kind == JF_SLOT_ROW && is_dense(s, o->step, d->f.row) ? own : -1;
  }
  if (dense) return outside(d, o, by_row ? JF_SLOT_ROW : JF_SLOT_EACH, s);
  if (jf_numel(&o->v->shape) == 1) return outside(d, o, JF_SLOT_BROADCAST, s);
  return !by_row && refine(&d->f.space, s) ? outside(d, o, JF_SLOT_BROADCAST, s) : -1;
}

/* ---- instructions ---- */

/* How many multiplications take as long as an exponential or a random number. */
enum { COSTLY = 32 };

static jf_instr *add_instr(jf_draft *d, const jf_node *n)
{
  jf_instr *p = &d->instr[d->f.n_instr++];
  const double each = n->op->flags & (JF_COSTLY | JF_RANDOM) ? COSTLY : 1;
  *p = (jf_instr){ .name = n->op->name, .op = jf_member_op(n), .key = jf_member_key(n),
                   .attr = n->attr, .shape = *jf_member_shape(n) };
  p->flop = each * (double)jf_numel(&p->shape);
  return p;
}

static int draft_add_loop(jf_draft *d, const jf_node *n)
{
  const jfl_shape *s = jf_member_shape(n);
  const int64_t size = jf_numel(s);
  const int by_row = size != d->size;
  int in[3];
  if (by_row && (!d->f.row || size * d->f.row != d->size)) return 0;
  for (int k = 0; k < n->n_in; k++) {
    jf_operand o;
    jf_operand_of(n, k, &o);
    if ((in[k] = draft_operand(d, &o, s, by_row)) < 0) return 0;
  }
  jf_instr *p = add_instr(d, n);
  p->n_in = n->n_in;
  memcpy(p->in, in, sizeof in);
  p->n_out = n->n_out;
  for (int k = 0; k < n->n_out; k++)
    p->out[k] = add_slot(d, n->out[k], by_row ? JF_SLOT_ROW : JF_SLOT_EACH, n->out[k]->dtype);
  return 1;
}

/* Whether the gathered sums are few compared with the elements. They must be, since a device may
   gather them several times, each time for a part of the space, and add these up. */
static int gathers_little(const jf_draft *d, int64_t sums)
{
  return sums <= d->limits->sums && (d->size / sums >= 16 || d->size <= d->limits->sums);
}

static int draft_add_sum(jf_draft *d, const jf_node *n)
{
  const jfl_shape *s = &n->in[0]->shape;
  const int64_t sums = jf_numel(&n->out[0]->shape);
  int64_t step[JFL_MAXDIM] = { 0 };
  jf_operand o;
  jf_operand_of(n, 0, &o);
  if (jf_numel(s) != d->size || !is_dense(s, o.step, 1)) return 0;
  const int in = draft_operand(d, &o, s, 0);
  const int64_t row = jf_member_sum_steps(n, step);
  const int by_row = row && row == d->f.row;
  if (in < 0 || (!by_row && (!refine(&d->f.space, s) || !gathers_little(d, sums)))) return 0;
  const int out = add_slot(d, n->out[0], by_row ? JF_SLOT_ROW : JF_SLOT_SUM, n->out[0]->dtype);
  jf_instr *p = add_instr(d, n);
  p->n_in = p->n_out = 1;
  p->in[0] = in;
  p->out[0] = out;
  p->count = n->op->flags & JF_MEANS ? (double)jf_mean_count(n->attr, d->size / sums) : 1;
  if (by_row) return 1;
  spread_over(d, out, s, step);
  return 1;
}

/* ---- programs ---- */

static int reads(const jf_draft *d, const jfl_value *v)
{
  for (int i = 0; i < d->n_member; i++)
    for (int k = 0; k < d->member[i]->n_in; k++) {
      jf_operand o;
      jf_operand_of(d->member[i], k, &o);
      if (o.v == v) return 1;
    }
  return 0;
}

/* Finds the size of the space and the length of its rows: the rows of a sum that another member
   reads, else those of any sum. */
static void find_size(jf_draft *d)
{
  int read = 0;
  int64_t step[JFL_MAXDIM];
  d->size = d->f.row = 0;
  for (int i = 0; i < d->n_member; i++) {
    const int64_t size = jf_numel(jf_member_shape(d->member[i]));
    if (size > d->size) d->size = size;
  }
  for (int i = 0; i < d->n_member && !read; i++) {
    const jf_node *n = d->member[i];
    if (jf_member_kind(n) != JF_MEMBER_SUM || jf_numel(&n->in[0]->shape) != d->size) continue;
    const int64_t row = jf_member_sum_steps(n, step);
    if (row < 2 || row > d->limits->row) continue;
    read = reads(d, n->out[0]);
    if (read || !d->f.row) d->f.row = row;
  }
}

/* Numbers the values that become outputs, first those with an element for each of the space. Sums
   that are gathered must be outputs. */
static int find_outputs(jf_draft *d)
{
  for (int s = 0; s < d->f.n_slot; s++) d->slot[s].out = -1;
  d->f.n_out = 0;
  for (int turn = 0; turn < 2; turn++)
    for (int s = 0; s < d->f.n_slot; s++) {
      jf_fused_slot *slot = &d->slot[s];
      const jfl_value *v = d->value[s];
      if (!v || slot->in >= 0 || (slot->kind == JF_SLOT_EACH) == turn) continue;
      if (!d->leaves(d->ctx, v)) {
        if (slot->kind == JF_SLOT_SUM) return 0;
        continue;
      }
      if (d->f.n_out == d->limits->outputs) return 0;
      slot->out = d->f.n_out;
      d->output[d->f.n_out] = v;
      d->f.out[d->f.n_out++] = (jf_fused_arg){ v->dtype, v->shape };
    }
  return d->f.n_out > 0;
}

static int add_member(jf_draft *d, const jf_node *n)
{
  d->n_random += (n->op->flags & JF_RANDOM) != 0;
  if (d->n_random > 1 || !has_room(d)) return 0;
  return jf_member_kind(n) == JF_MEMBER_SUM ? draft_add_sum(d, n) : draft_add_loop(d, n);
}

/* Completes what depends on all members. */
static int finish_draft(jf_draft *d)
{
  for (int s = 0; s < d->f.n_slot; s++) {
    memset(d->slot[s].step, 0, sizeof d->slot[s].step);
    if (d->over[s].shape.n)
      map_steps(&d->f.space, &d->over[s].shape, d->over[s].step, d->slot[s].step);
  }
  return find_outputs(d) && (!d->limits->fits || d->limits->fits(&d->f));
}

jf_draft jf_draft_new(jf_arena *a, const jf_fused_limits *limits)
{
  const size_t n = (size_t)limits->slots;
  return (jf_draft){
    .limits = limits,
    .member = jf_alloc(a, (size_t)limits->instrs * sizeof(jf_node *)),
    .slot = jf_alloc(a, n * sizeof(jf_fused_slot)),
    .instr = jf_alloc(a, (size_t)limits->instrs * sizeof(jf_instr)),
    .arg = jf_alloc(a, n * sizeof(jf_fused_arg)),
    .value = jf_alloc(a, n * sizeof(jfl_value *)),
    .over = jf_alloc(a, n * sizeof(jf_spread_over)),
    .input = jf_alloc(a, n * sizeof(jfl_value *)),
  };
}

int jf_draft_make(jf_draft *d)
{
  d->f = (jf_fused){ .slot = d->slot, .instr = d->instr, .in = d->arg };
  d->n_random = 0;
  find_size(d);
  d->f.space = (jfl_shape){ 1, { d->size } };
  if (d->f.row) d->f.space = (jfl_shape){ 2, { d->size / d->f.row, d->f.row } };
  for (int i = 0; i < d->n_member; i++)
    if (!add_member(d, d->member[i])) return 0;
  return finish_draft(d);
}

/* A sum may change what a row is, and a member of another size changes the space: then the draft
   must be made again. */
int jf_draft_can_extend(const jf_draft *d, const jf_node *last)
{
  return !d->f.row && jf_member_kind(last) == JF_MEMBER_LOOP
      && jf_numel(jf_member_shape(last)) == d->size;
}

int jf_draft_extend(jf_draft *d)
{
  const jf_fused *f = &d->f;
  d->before = (jf_draft_extent){ d->n_member - 1, f->n_slot, f->n_instr, f->n_in, d->n_random,
                                 f->space };
  if (add_member(d, d->member[d->n_member - 1]) && finish_draft(d)) return 1;
  jf_draft_shrink(d);
  return 0;
}

void jf_draft_shrink(jf_draft *d)
{
  d->n_member = d->before.n_member;
  d->f.n_slot = d->before.n_slot;
  d->f.n_instr = d->before.n_instr;
  d->f.n_in = d->before.n_in;
  d->n_random = d->before.n_random;
  d->f.space = d->before.space;
}
