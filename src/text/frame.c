/* Tokens of a text, or of two, as a list: cut to a length, with special tokens around, and
   padding. */
#include "text/tokenizer.h"

#include <string.h>

/* One of the texts: its tokens from..to-1. */
typedef struct frame_text { const jf_flow *flow; int64_t from, to; } frame_text;

/* ---- offsets ---- */

/* Where a token comes from; a place without a text is nowhere. */
static jf_span frame_span(const jf_flow *f, const jf_token *t)
{
  if (!f->line.span || t->from == t->to) return (jf_span){ 0, 0 };
  return (jf_span){ f->line.span[t->from].from, f->line.span[t->to - 1].to };
}

static int frame_is_blank(int32_t c) { return c == 0x120 || jf_char_is_space(c); }

/* Moves a place by so many characters on, or back, as far as there are any; gives whether there
   were as many. */
static int frame_move(const jf_flow *f, int64_t *place, int64_t by)
{
  size_t size;
  for (; by > 0 && *place < (int64_t)f->n_given; by--, *place += (int64_t)size)
    jf_char_at(f->given + *place, &size);
  for (; by < 0 && *place > 0; by++, *place -= (int64_t)size)
    jf_char_before(f->given + *place, &size);
  return by == 0;
}

/* The name of a token; of one that was added and takes spaces beside it, all that it took. */
static jf_word frame_name(const jfl_tokenizer *t, const jf_flow *f, const jf_token *token)
{
  const jf_word *w = &t->by_id[token->id];
  const int32_t k = jf_vocabulary_find(&t->added.words, w->s, w->n);
  if (k >= 0 && (t->added.v[k].left || t->added.v[k].right))
    return (jf_word){ f->line.s + token->from, token->to - token->from, token->id, 0 };
  return *w;
}

/* Leaves spaces out on both sides of a token's place: those are signs of a space, or spaces, in its
   name. One that was put before the text is no part of it. */
static void frame_trim(const jf_flow *f, jf_word name, int prefixed, int first, jfl_token *token)
{
  int64_t left = 0, right = 0, to = token->to;
  size_t size;
  for (size_t i = 0; i < name.n && frame_is_blank(jf_char_at(name.s + i, &size)); i += size) left++;
  for (size_t i = name.n; i && frame_is_blank(jf_char_before(name.s + i, &size)); i -= size)
    right++;
  if (left == 1 && prefixed && (first || !token->from)) left = 0;
  frame_move(f, &token->from, left);
  if (token->from > token->to) token->from = token->to;
  if (right && frame_move(f, &to, -right)) token->to = to > token->from ? to : token->from;
}

/* ---- lists ---- */

static jfl_status frame_put(jf_tokens *l, jfl_token token)
{
  JF_TRY(jf_time_at(l->n));
  if (l->n == l->cap) {
    const int64_t cap = l->cap ? 2 * l->cap : 32;
    jfl_token *v = jf_new_raw((size_t)cap * sizeof *v);
    if (!v) return jf_fail(JFL_ENOMEM, "out of memory");
    if (l->n) memcpy(v, l->v, (size_t)l->n * sizeof *v);
    jf_free(l->v);
    l->v = v;
    l->cap = cap;
  }
  l->v[l->n++] = token;
  return JFL_OK;
}

/* The rule that trims offsets, and the template; either may be missing. */
typedef struct frame_rules { const jf_text_rule *trims, *parts; } frame_rules;

static frame_rules frame_find_rules(const jfl_tokenizer *t)
{
  frame_rules r = { NULL, NULL };
  for (int i = 0; i < t->framers.n; i++) {
    const jf_text_rule *v = &t->framers.v[i];
    if (v->trims && v->kind != JF_TEMPLATE) r.trims = v;
    if (v->kind != JF_TRIM) r.parts = v;
  }
  return r;
}

static jfl_status frame_text_put(const jfl_tokenizer *t, const frame_text *x, const jf_part *p,
                                 const jf_text_rule *trims, jf_tokens *out)
{
  for (int64_t i = x->from; i < x->to; i++) {
    const jf_token *token = &x->flow->token[i];
    const jf_span span = frame_span(x->flow, token);
    jfl_token v = { token->id, p->type, 1, 0, p->sequence, span.from, span.to };
    if (trims && x->flow->spans)
      frame_trim(x->flow, frame_name(t, x->flow, token), trims->prefix == JF_ALWAYS, !i, &v);
    JF_TRY(frame_put(out, v));
  }
  return JFL_OK;
}

static jfl_status frame_part(const jfl_tokenizer *t, const frame_text *texts, const jf_part *p,
                             const frame_rules *r, jf_tokens *out)
{
  if (p->sequence >= 0) return frame_text_put(t, &texts[p->sequence], p, r->trims, out);
  for (int i = 0; i < p->n; i++)
    JF_TRY(frame_put(out, (jfl_token){ p->ids[i], p->type, 1, 1, -1, 0, 0 }));
  return JFL_OK;
}

/* ---- truncation ---- */

static void frame_cut(frame_text *x, int64_t n, int left)
{
  if (x->to - x->from <= n) return;
  if (left) x->from = x->to - n;
  else x->to = x->from + n;
}

/* Cuts both texts so that the shorter one loses nothing while the other is longer. */
static void frame_cut_longest(frame_text *x, int64_t most, int left)
{
  int64_t n[2] = { x[0].to - x[0].from, x[1].to - x[1].from };
  const int longer = n[0] > n[1] ? 0 : 1;
  const int64_t shorter = n[!longer];
  n[longer] = shorter > most || shorter > most - shorter ? shorter : most - shorter;
  if (n[0] + n[1] > most) {
    n[!longer] = most / 2;
    n[longer] = most / 2 + most % 2;
  }
  frame_cut(&x[0], n[0], left);
  frame_cut(&x[1], n[1], left);
}

static jfl_status frame_truncate(const jfl_tokenizer *t, frame_text *x, int n, int64_t most,
                                 int left)
{
  const int64_t all = x[0].to - x[0].from + (n > 1 ? x[1].to - x[1].from : 0);
  const jf_strategy s = t->truncates ? t->truncation.strategy : JF_LONGEST_FIRST;
  if (all <= most) return JFL_OK;
  if (s == JF_LONGEST_FIRST || !most) {
    if (n > 1) frame_cut_longest(x, most, left);
    else frame_cut(x, most, left);
    return JFL_OK;
  }
  const int k = s == JF_ONLY_SECOND;
  if (k >= n)
    return jf_fail(JFL_EINVAL, "truncation is to cut the second text alone, and there is none");
  const int64_t size = x[k].to - x[k].from, over = all - most;
  if (size <= over)
    return jf_fail(JFL_EINVAL, "truncation to %lld tokens is to cut the %s text alone, which has "
                   "%lld where %lld must go", (long long)most, k ? "second" : "first",
                   (long long)size, (long long)over);
  frame_cut(&x[k], size - over, left);
  return JFL_OK;
}

/* How many tokens a template adds. */
static int64_t frame_added(const jf_parts *p)
{
  int64_t n = 0;
  for (int i = 0; i < p->n; i++) n += p->v[i].n;
  return n;
}

jfl_status jf_frame(jfl_tokenizer *t, int n_flow, const jfl_encode_spec *spec, jf_tokens *out)
{
  static const jf_part plain[] = { { 0, 0, NULL, 0 }, { 1, 1, NULL, 0 } };
  const jf_parts none = { (jf_part *)plain, n_flow };
  const frame_rules r = frame_find_rules(t);
  const jf_parts parts = !r.parts ? none : n_flow > 1 ? r.parts->pair : r.parts->single;
  frame_text x[2] = { { &t->flow[0], 0, t->flow[0].n_token },
                      { &t->flow[1], 0, t->flow[1].n_token } };
  const int left = spec->cut ? spec->cut == JFL_SIDE_LEFT : t->truncates && t->truncation.left;
  int64_t most = spec->most ? spec->most : t->truncates ? t->truncation.most : -1;
  if (most >= 0) {
    const int64_t added = spec->bare ? 0 : frame_added(&parts);
    if (added > most)
      return jf_fail(JFL_EINVAL, "truncation to %lld tokens leaves no room for the %lld that are "
                     "added around a text", (long long)most, (long long)added);
    JF_TRY(frame_truncate(t, x, n_flow, most - added, left));
  }
  for (int i = 0; i < parts.n; i++)
    if (parts.v[i].sequence >= 0 || !spec->bare) JF_TRY(frame_part(t, x, &parts.v[i], &r, out));
  return JFL_OK;
}

jfl_status jf_pad(const jfl_tokenizer *t, const jfl_encode_spec *spec, int64_t length,
                  jf_tokens *out)
{
  const int64_t n = out->n;
  const int left = spec->pad ? spec->pad == JFL_SIDE_LEFT : t->pads && t->padding.left;
  const jfl_token pad = { t->pads ? t->padding.id : 0, t->pads ? t->padding.type : 0, 0, 1, -1, 0,
                          0 };
  if (n >= length) return JFL_OK;
  for (int64_t i = n; i < length; i++) JF_TRY(frame_put(out, pad));
  if (!left) return JFL_OK;
  memmove(out->v + length - n, out->v, (size_t)n * sizeof *out->v);
  for (int64_t i = 0; i < length - n; i++) out->v[i] = pad;
  return JFL_OK;
}
