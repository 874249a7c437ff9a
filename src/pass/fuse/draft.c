/* Making a fused program of some nodes. */
#include "pass/fuse/draft.h"

#include "op/reduce.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- nodes as members ---- */

static int is_sum(const jf_node *n) { return (n->op->flags & (JF_SUMS | JF_MEANS)) != 0; }

/* The op whose loop a member runs. */
static const jfl_op *loop_op(const jf_node *n)
{
  return n->op->line ? n->op->line->op : n->op;
}

/* The dtype for which that op is run. */
static jfl_dtype key_of(const jf_node *n)
{
  const jfl_op *op = loop_op(n);
  return op->key < 0 ? n->out[0]->dtype : n->in[op->key]->dtype;
}

static int has_loop(const jf_node *n)
{
  const jfl_op *op = loop_op(n);
  return op->tile && op->tile[key_of(n)];
}

jf_member jf_member_kind(const jf_node *n)
{
  if (n->op->flags & JF_EFFECT) return JF_NO_MEMBER;
  if (is_sum(n))
    return jf_numel(&n->in[0]->shape) > jf_numel(&n->out[0]->shape) ? JF_MEMBER_SUM : JF_NO_MEMBER;
  if (n->n_in < 1 || n->n_in > 3 || n->n_out > 2 || !has_loop(n)) return JF_NO_MEMBER;
  return JF_MEMBER_LOOP;
}

int jf_is_seen_through(const jf_node *n)
{
  return (n->op->flags & (JF_VIEW | JF_REPEATS)) != 0;
}

const jfl_shape *jf_member_shape(const jf_node *n)
{
  return is_sum(n) ? &n->in[0]->shape : &n->out[0]->shape;
}

/* Steps of a dense tensor of shape s as axes of `to` see it; 0 along those it is broadcast over. */
static void dense_steps(const jfl_shape *s, const jfl_shape *to, int64_t *step)
{
  int64_t size = 1;
  for (int i = to->n - 1; i >= 0; i--) {
    const int j = i - (to->n - s->n);
    step[i] = j < 0 || s->d[j] == 1 ? 0 : size;
    if (j >= 0) size *= s->d[j];
  }
}

/* The steps of v as axes of `to` see it, past a broadcast, then views, which keep the order. */
static const jfl_value *see_through(const jfl_value *v, const jfl_shape *to, int64_t *step)
{
  const jf_node *n = v->node;
  const jfl_value *from = n && n->op->flags & JF_REPEATS ? n->in[0] : v;
  dense_steps(&from->shape, to, step);
  return jf_root(from);
}

void jf_operand_of(const jf_node *n, int i, jf_operand *out)
{
  const jfl_value *v = n->in[i], *from = v;
  const int line = i == 1 ? jf_line_axis(n) : -1;
  *out = (jf_operand){ .dtype = v->dtype };
  while (from->node && jf_is_seen_through(from->node)) from = from->node->in[0];
  if (jf_number(from, &out->number)) return;
  if (line >= 0) {
    out->v = see_through(v, &v->shape, out->step);
    out->step[line] = out->step[0];
    for (int a = 0; a < n->out[0]->shape.n; a++)
      if (a != line) out->step[a] = 0;
  } else {
    out->v = see_through(v, jf_member_shape(n), out->step);
  }
}

/* ---- the space ---- */

/* Whether tensors of shape s with these steps have one element per row of n, in order. */
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

/* Cuts axes of the space so that every axis of s, of the same size, is one or several of them; 0
   where that does not work out. */
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

/* Steps along axes of s as steps along those of the space, which refines it. */
static void map_steps(const jfl_shape *space, const jfl_shape *s, int64_t *step)
{
  int64_t to[JFL_MAXDIM] = { 0 }, done = 1;
  int j = s->n - 1;
  for (int i = space->n - 1; i >= 0; i--) {
    while (j > 0 && done == s->d[j]) {
      j--;
      done = 1;
    }
    to[i] = step[j] * done;
    done *= space->d[i];
  }
  memcpy(step, to, sizeof to);
}

/* ---- slots ---- */

static int add_slot(jf_draft *d, const jfl_value *v, jf_slot_kind kind, jfl_dtype t)
{
  const int s = d->f.n_slot++;
  d->slot[s] = (jf_fused_slot){ .kind = kind, .dtype = t, .in = -1, .out = -1 };
  d->value[s] = v;
  d->over[s].n = 0;
  return s;
}

static int has_room(const jf_draft *d) { return d->f.n_slot + 4 <= d->limits->slots; }

/* The slot that a member made of v, or -1. */
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

/* The slot of an input at some kind; steps matter where it is spread over the axes of s. */
static int outside(jf_draft *d, const jf_operand *o, jf_slot_kind kind, const jfl_shape *s)
{
  for (int i = 0; i < d->f.n_slot; i++)
    if (d->value[i] == o->v && d->slot[i].in >= 0 && d->slot[i].kind == kind
        && (kind != JF_SLOT_BROADCAST || (jf_shape_eq(&d->over[i], s)
                                   && !memcmp(d->slot[i].step, o->step, sizeof o->step))))
      return i;
  const int i = add_slot(d, o->v, kind, o->dtype);
  d->slot[i].in = argument(d, o->v);
  if (kind != JF_SLOT_BROADCAST) return i;
  memcpy(d->slot[i].step, o->step, sizeof o->step);
  d->over[i] = *s;
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

/* The slot that a member over shape s reads, which has one element for each of the space's or one
   for each row; -1 where a program cannot read so. */
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

/* An exponential or random number takes about as long as this many products. */
enum { COSTLY = 32 };

static jf_instr *add_instr(jf_draft *d, const jf_node *n)
{
  jf_instr *p = &d->instr[d->f.n_instr++];
  const double each = n->op->flags & (JF_COSTLY | JF_RANDOM) ? COSTLY : 1;
  *p = (jf_instr){ .name = n->op->name, .flop = each * (double)jf_numel(jf_member_shape(n)) };
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
  p->op = loop_op(n);
  p->key = key_of(n);
  p->attr = n->attr;
  p->n_in = n->n_in;
  memcpy(p->in, in, sizeof in);
  p->n_out = n->n_out;
  for (int k = 0; k < n->n_out; k++)
    p->out[k] = add_slot(d, n->out[k], by_row ? JF_SLOT_ROW : JF_SLOT_EACH, n->out[k]->dtype);
  return 1;
}

/* Which axes of its input a sum keeps, as steps of its result. Returns the length of the rows that
   it adds up, or 0 where what it adds up is not rows. */
static int64_t sum_steps(const jf_node *n, int64_t *step)
{
  const jfl_shape *s = &n->in[0]->shape;
  const jf_ints *axis = &((const jf_reduce *)n->attr)->axis;
  int64_t size = 1, row = 1;
  for (int i = s->n - 1, j = axis->n - 1; i >= 0; i--) {
    const int gone = j >= 0 && axis->v[j] == i;
    step[i] = gone ? 0 : size;
    j -= gone;
    if (!gone) size *= s->d[i];
    else if (size == 1) row *= s->d[i];
    else if (s->d[i] > 1) row = 0;
  }
  return row;
}

/* A sum of which each part of the space gathers its own must be small beside what it adds up. */
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
  const int64_t row = sum_steps(n, step);
  const int by_row = row && row == d->f.row;
  if (in < 0 || (!by_row && (!refine(&d->f.space, s) || !gathers_little(d, sums)))) return 0;
  const int out = add_slot(d, n->out[0], by_row ? JF_SLOT_ROW : JF_SLOT_SUM, n->out[0]->dtype);
  jf_instr *p = add_instr(d, n);
  p->n_in = p->n_out = 1;
  p->in[0] = in;
  p->out[0] = out;
  p->count = n->op->flags & JF_MEANS ? (double)d->size / (double)sums : 1;
  if (by_row) return 1;
  memcpy(d->slot[out].step, step, sizeof step);
  d->over[out] = *s;
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

/* The size of the space, and its rows: those of a sum that another member reads, else of any. */
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
    const int64_t row = sum_steps(n, step);
    if (row < 2 || row > d->limits->row) continue;
    read = reads(d, n->out[0]);
    if (read || !d->f.row) d->f.row = row;
  }
}

/* Numbers the values that leave: those of each element first. */
static int find_outputs(jf_draft *d)
{
  for (int turn = 0; turn < 2; turn++)
    for (int s = 0; s < d->f.n_slot; s++) {
      jf_fused_slot *slot = &d->slot[s];
      const jfl_value *v = d->value[s];
      if (!v || slot->in >= 0 || (slot->kind == JF_SLOT_EACH) == turn) continue;
      if (!d->leaves(d->ctx, v)) continue;
      if (d->f.n_out == d->limits->outputs) return 0;
      slot->out = d->f.n_out;
      d->output[d->f.n_out] = v;
      d->f.out[d->f.n_out++] = (jf_fused_arg){ v->dtype, v->shape };
    }
  return d->f.n_out > 0;
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
    .over = jf_alloc(a, n * sizeof(jfl_shape)),
    .input = jf_alloc(a, n * sizeof(jfl_value *)),
  };
}

int jf_draft_make(jf_draft *d)
{
  int random = 0;
  d->f = (jf_fused){ .slot = d->slot, .instr = d->instr, .in = d->arg };
  find_size(d);
  d->f.space = (jfl_shape){ 1, { d->size } };
  if (d->f.row) d->f.space = (jfl_shape){ 2, { d->size / d->f.row, d->f.row } };
  for (int i = 0; i < d->n_member; i++) {
    const jf_node *n = d->member[i];
    random += (n->op->flags & JF_RANDOM) != 0;
    if (!has_room(d)) return 0;
    if (!(jf_member_kind(n) == JF_MEMBER_SUM ? draft_add_sum(d, n) : draft_add_loop(d, n)))
      return 0;
  }
  for (int s = 0; s < d->f.n_slot; s++)
    if (d->over[s].n) map_steps(&d->f.space, &d->over[s], d->slot[s].step);
  for (int s = 0; s < d->f.n_slot; s++)       /* what is gathered is a result */
    if (d->slot[s].kind == JF_SLOT_SUM && !d->leaves(d->ctx, d->value[s])) return 0;
  if (random > 1 || !find_outputs(d)) return 0;
  return !d->limits->fits || d->limits->fits(&d->f);
}

/* ---- texts ---- */

/* Longer ones are cut off. */
typedef struct line { char s[2048]; size_t n; } line;

__attribute__((format(printf, 2, 3))) static void draft_add(line *t, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  const int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
  va_end(ap);
  t->n += n > 0 ? (size_t)n : 0;
  if (t->n >= sizeof t->s) t->n = sizeof t->s - 1;
}

/* Inputs have the first numbers, then results. */
static void add_slot_name(line *t, const jf_draft *d, int s)
{
  int number = d->f.n_in;
  for (int i = 0; i < s; i++) number += d->slot[i].in < 0 && d->slot[i].kind != JF_SLOT_NUMBER;
  if (d->slot[s].kind == JF_SLOT_NUMBER) draft_add(t, "%.9g", d->slot[s].number);
  else draft_add(t, "t%d", d->slot[s].in >= 0 ? d->slot[s].in : number);
}

static void add_list(line *t, const jf_draft *d, const int *slot, int n)
{
  for (int k = 0; k < n; k++) {
    if (k) draft_add(t, ", ");
    add_slot_name(t, d, slot[k]);
  }
}

/* "t2 = relu_grad(t0, t1); t3 = reduce_sum(t2)" */
static void write_program(line *t, const jf_draft *d)
{
  for (int i = 0; i < d->f.n_instr; i++) {
    const jf_instr *p = &d->instr[i];
    if (i) draft_add(t, "; ");
    add_list(t, d, p->out, p->n_out);
    draft_add(t, " = %s(", p->name);
    add_list(t, d, p->in, p->n_in);
    draft_add(t, ")");
  }
}

/* "fused(relu_grad, reduce_sum)"; of many instructions some. */
static void write_title(line *t, const jf_draft *d)
{
  enum { SOME = 4 };
  const int n = d->f.n_instr, shown = n > SOME ? SOME - 1 : n;
  draft_add(t, "fused(");
  for (int i = 0; i < shown; i++) draft_add(t, "%s%s", i ? ", " : "", d->instr[i].name);
  if (n > shown) draft_add(t, ", %d more", n - shown);
  draft_add(t, ")");
}

static const char *text(const jf_draft *d, jf_arena *a, void (*write)(line *t, const jf_draft *d))
{
  line t = { "", 0 };
  write(&t, d);
  return jf_strdup(a, t.s);
}

static void *draft_copy(jf_arena *a, const void *p, size_t n)
{
  return memcpy(jf_alloc(a, n), p, n);
}

jf_fused *jf_draft_keep(const jf_draft *d, jf_arena *a)
{
  jf_fused *f = draft_copy(a, &d->f, sizeof d->f);
  f->slot = draft_copy(a, d->slot, (size_t)f->n_slot * sizeof *f->slot);
  f->instr = draft_copy(a, d->instr, (size_t)f->n_instr * sizeof *f->instr);
  f->in = draft_copy(a, d->arg, (size_t)f->n_in * sizeof *f->in);
  f->program = text(d, a, write_program);
  f->title = text(d, a, write_title);
  return f;
}
