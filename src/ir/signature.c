/* On which parts of its inputs a node can be computed: what records say, and what follows from the
   facts that they state. */
#include "ir/ir.h"
#include "ir/moves.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jfl_distribution *signature_all(jf_arena *a, int n)
{
  jfl_distribution *d = jf_alloc(a, (size_t)n * sizeof *d);
  for (int i = 0; i < n; i++) d[i] = JF_ON_ALL;
  return d;
}

jf_signature *jf_signature_add(jf_signatures *c)
{
  c->signature = jf_grow(c->arena, c->signature, c->n, &c->cap, sizeof *c->signature);
  jf_signature *s = &c->signature[c->n++];
  s->in = signature_all(c->arena, c->node->n_in);
  s->out = signature_all(c->arena, c->node->n_out);
  return s;
}

jf_signature *jf_signature_along(jf_signatures *c, int axis)
{
  jf_signature *s = jf_signature_add(c);
  for (int i = 0; i < c->node->n_in; i++) s->in[i] = JF_ALONG(axis);
  for (int i = 0; i < c->node->n_out; i++) s->out[i] = JF_ALONG(axis);
  return s;
}

/* ---- the text form ---- */

/* Reads one word, "B", "P" or an axis of v, and moves *text behind it. */
static jfl_distribution signature_read(const char **text, const jfl_value *v)
{
  char *end;
  if (**text == 'B') return ++*text, JF_ON_ALL;
  if (**text == 'P') return ++*text, JF_AS_SUM;
  const long axis = strtol(*text, &end, 10);
  assert(end != *text);
  *text = end;
  return JF_ALONG((int)(axis < 0 && v ? axis + v->shape.n : axis));
}

/* Reads the words of n values and moves *text behind them. The text may have words for optional
   inputs that are not given. */
static void signature_read_all(const char **text, jfl_value *const *v, int n, jfl_distribution *d)
{
  for (int i = 0; **text && strncmp(*text, "->", 2); i++) {
    const char *word = *text;
    const jfl_distribution read = signature_read(text, i < n ? v[i] : NULL);
    if (i < n) d[i] = read;
    if (!strncmp(*text, "...", 3)) {
      for (const char *again = word; ++i < n; again = word) d[i] = signature_read(&again, v[i]);
      *text += 3;
    }
    *text += **text == ',';
  }
}

void jf_signature_say(jf_signatures *c, const char *format, ...)
{
  const jf_node *n = c->node;
  jf_signature *s = jf_signature_add(c);
  char buffer[64];
  const char *text = buffer;
  va_list axes;
  va_start(axes, format);
  const int size = vsnprintf(buffer, sizeof buffer, format, axes);
  va_end(axes);
  assert(size >= 0 && (size_t)size < sizeof buffer);
  (void)size;
  signature_read_all(&text, n->in, n->n_in, s->in);
  assert(!strncmp(text, "->", 2));
  text += 2;
  signature_read_all(&text, n->out, n->n_out, s->out);
  assert(!*text);
}

static void signature_print_all(jf_text *t, const jfl_distribution *d, int n)
{
  static const char *const words[] = { [JFL_AUTO] = "A", [JFL_BROADCAST] = "B",
                                       [JFL_PARTIAL] = "P", [JFL_MIRRORED] = "M" };
  for (int i = 0; i < n; i++) {
    if (i) jf_text_add(t, ",");
    if (d[i].kind == JFL_SPLIT) jf_text_add(t, "%d", d[i].axis);
    else jf_text_add(t, "%s", words[d[i].kind]);
  }
}

void jf_signature_print(jf_text *t, const jf_node *n, const jf_signature *s)
{
  signature_print_all(t, s->in, n->n_in);
  jf_text_add(t, "->");
  signature_print_all(t, s->out, n->n_out);
}

/* ---- rules that several ops share ---- */

/* How v is shared where s is split along an axis: along that axis, counted from the back as
   broadcasting does, if v has as many elements there; else each device has all of v. */
static jfl_distribution signature_aligned(const jfl_value *v, const jfl_shape *s, int axis)
{
  const int own = axis - s->n + v->shape.n;
  return own >= 0 && v->shape.d[own] == s->d[axis] ? JF_ALONG(own) : JF_ON_ALL;
}

void jf_signatures_pointwise(jf_signatures *c)
{
  const jf_node *n = c->node;
  const jfl_shape *like = n->n_out ? &n->out[0]->shape : &n->in[0]->shape;
  for (int axis = 0; axis < like->n; axis++) {
    jf_signature *s = jf_signature_add(c);
    for (int i = 0; i < n->n_in; i++) s->in[i] = signature_aligned(n->in[i], like, axis);
    for (int i = 0; i < n->n_out; i++) s->out[i] = JF_ALONG(axis);
  }
}

/* As signature_aligned, for a v that is split only if it has as many axes as s. */
static jfl_distribution signature_same(const jfl_value *v, const jfl_shape *s, int axis)
{
  return v->shape.n == s->n && v->shape.d[axis] == s->d[axis] ? JF_ALONG(axis) : JF_ON_ALL;
}

void jf_signatures_but(jf_signatures *c, unsigned whole)
{
  const jf_node *n = c->node;
  const jfl_shape *like = &n->in[0]->shape;
  for (int axis = 0; axis < like->n; axis++) {
    if (whole >> axis & 1) continue;
    jf_signature *s = jf_signature_add(c);
    for (int i = 0; i < n->n_in; i++) s->in[i] = signature_same(n->in[i], like, axis);
    for (int i = 0; i < n->n_out; i++) s->out[i] = signature_same(n->out[i], like, axis);
  }
}

void jf_signatures_drawn(jf_signatures *c)
{
  const jf_node *n = c->node;
  const jfl_shape *like = &n->out[0]->shape;
  int axis = 0;
  while (axis < like->n - 1 && like->d[axis] == 1) axis++;
  jf_signature *s = jf_signature_add(c);
  for (int i = 0; i < n->n_in; i++) s->in[i] = signature_same(n->in[i], like, axis);
  for (int i = 0; i < n->n_out; i++) s->out[i] = signature_same(n->out[i], like, axis);
}

int64_t jf_share_first(const jf_share *s)
{
  const jfl_distribution d = s->signature->out[0];
  int64_t after = 1;
  if (d.kind != JFL_SPLIT) return 0;
  for (int i = d.axis + 1; i < s->out[0].n; i++) after *= s->out[0].d[i];
  return s->first_out[0] * after;
}

/* ---- index maps ---- */

/* Whether the box has all of that axis, in order. */
static int signature_has_all(const jf_side *s, int64_t extent, const jfl_shape *of)
{
  return s->begin == 0 && s->step == 1 && extent == of->d[s->axis];
}

/* Along an axis of the box both sides are split, or neither is. Returns 0 if that cannot be. */
static int signature_moved(const jf_node *n, const jf_move *m, int i, jf_signature *s)
{
  const jf_move_axis *a = &m->axis[i];
  jfl_distribution none = JF_ON_ALL, *to = &s->out[m->out];
  jfl_distribution *from = m->in < 0 ? &none : &s->in[m->in];
  const int by_to = to->kind == JFL_SPLIT && to->axis == a->to.axis;
  const int by_from = from->kind == JFL_SPLIT && from->axis == a->from.axis;
  if (!by_to && !by_from) return 1;
  if ((to->kind == JFL_SPLIT && !by_to) || (from->kind == JFL_SPLIT && !by_from)) return 0;
  if (!signature_has_all(&a->to, a->extent, &n->out[m->out]->shape)) return 0;
  *to = JF_ALONG(a->to.axis);
  if (a->from.axis < 0) return 1;
  *from = JF_ALONG(a->from.axis);
  return signature_has_all(&a->from, a->extent, &n->in[m->in]->shape);
}

/* Completes a signature of which some outputs are split. */
static int signature_follow(const jf_node *n, const jf_kargs *k, jf_signature *s)
{
  jf_move m;
  for (int i = 0; n->op->moves(k, i, &m); i++)
    for (int j = 0; j < m.n; j++)
      if (!signature_moved(n, &m, j, s)) return 0;
  return 1;
}

/* Adds the signatures of an op that moves elements: along each axis that all moves take whole and
   in order, and as sums if all that it fills in is 0. */
static void signatures_moved(jf_signatures *c)
{
  const jf_node *n = c->node;
  const jf_kargs k = jf_moves_call(c->arena, n->op, n->attr, n->in, n->n_in);
  jf_move m;
  int numbers = 0;
  for (int i = 0; n->op->moves(&k, i, &m); i++) numbers |= m.in < 0 && m.number != 0;
  for (int axis = 0; axis < n->out[0]->shape.n; axis++) {
    jf_signature *s = jf_signature_add(c);
    s->out[0] = JF_ALONG(axis);
    if (!signature_follow(n, &k, s)) c->n--;
  }
  if (numbers) return;
  jf_signature *sum = jf_signature_add(c);
  for (int i = 0; i < n->n_in; i++) sum->in[i] = JF_AS_SUM;
  for (int i = 0; i < n->n_out; i++) sum->out[i] = JF_AS_SUM;
}

/* ---- collecting ---- */

/* Whether all of these can lie so: a split axis has an element for each part, and partial ones are
   of a dtype that is added. */
static int signature_is_possible(jfl_value *const *v, const jfl_distribution *d, int n, int parts)
{
  for (int i = 0; i < n; i++) {
    const jfl_shape *s = &v[i]->shape;
    const jfl_dtype t = v[i]->dtype;
    if (d[i].kind == JFL_PARTIAL && (t == JFL_I8 || t == JFL_U8)) return 0;
    if (d[i].kind != JFL_SPLIT) continue;
    if (d[i].axis < 0 || d[i].axis >= s->n || s->d[d[i].axis] < parts) return 0;
  }
  return 1;
}

void jf_signatures_of(jf_signatures *c)
{
  const jf_node *n = c->node;
  int kept = 0;
  if (n->op->signatures) n->op->signatures(c);
  else if (n->op->moves) signatures_moved(c);
  else if (jf_is_pointwise(n->op)) jf_signatures_pointwise(c);
  else if (n->op->loop) jf_signatures_drawn(c);
  /* Signatures in which the output is a sum because an input is one. */
  const unsigned flags = c->node->op->flags;
  const int moves = flags & JF_MOVES && !c->node->op->moves;
  if (moves || flags & (JF_VIEW | JF_SUMS | JF_MEANS)) jf_signature_say(c, "P->P");
  if (flags & JF_ADDS) jf_signature_say(c, "P,P->P");
  if (flags & JF_SCALES) {
    jf_signature_say(c, "P,B->P");
    jf_signature_say(c, "B,P->P");
  }
  for (int i = 0; i < c->n; i++) {
    const jf_signature s = c->signature[i];
    if (signature_is_possible(n->in, s.in, n->n_in, c->parts)
        && signature_is_possible(n->out, s.out, n->n_out, c->parts))
      c->signature[kept++] = s;
  }
  c->n = kept;
}
