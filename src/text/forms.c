/* The four normalization forms of Unicode (Standard Annex 15): characters are taken apart, marks
   sorted by their class, and for the composed forms put together again. */
#include "text/tokenizer.h"

#include <string.h>

enum { S_FIRST = 0xac00, N_S = 11172, L_FIRST = 0x1100, V_FIRST = 0x1161, T_FIRST = 0x11a7,
       N_V = 21, N_T = 28, FEW = 16, CLASSES = 256,
       SOME = 1 << 12 };       /* bytes that stay, copied at once */

/* A character, which takes the place of others as jf_edit_put tells, and its class. */
typedef struct form_char { int32_t c; int change; uint8_t order; } form_char;
typedef struct form_list { form_char *v; int n, cap; } form_list;

typedef struct former {
  jf_edit *e;
  int composes, apart;         /* apart: flags of characters that are taken apart */
  form_list marks;             /* taken apart, since the last character that is no mark */
  form_list kept;              /* marks that are behind `base` and did not join it */
  form_list sorted;
  form_char base;
  int has_base, last;          /* the class of the last mark kept; 0: none is */
} former;

static void form_add(former *f, form_list *l, form_char c)
{
  if (!JF_ROOM(l->v, l->n, l->cap)) f->e->flow->failed = 1;
  else l->v[l->n++] = c;
}

/* ---- putting together ---- */

static void form_flush(former *f)
{
  if (f->has_base) jf_edit_put(f->e, f->base.c, f->base.change);
  for (int i = 0; i < f->kept.n; i++) jf_edit_put(f->e, f->kept.v[i].c, f->kept.v[i].change);
  f->kept.n = f->has_base = f->last = 0;
}

/* Takes the next character in order: it joins the base, unless a mark between them is in its
   way. */
static void form_compose(former *f, form_char c)
{
  if (!f->has_base) {
    if (c.order) {
      jf_edit_put(f->e, c.c, c.change);
      return;
    }
    f->base = c;
    f->has_base = 1;
    return;
  }
  const int blocked = f->kept.n && f->last >= c.order;
  const int32_t joined = blocked ? 0 : jf_char_compose(f->base.c, c.c);
  if (joined) {
    f->base.c = joined;
    f->base.change += c.change - 1;
    return;
  }
  if (!c.order) {
    form_flush(f);
    f->base = c;
    f->has_base = 1;
    return;
  }
  form_add(f, &f->kept, c);
  f->last = c.order;
}

/* ---- taking apart ---- */

/* Sorts marks by class; those of one class stay in their order. */
static const form_char *form_sort(former *f)
{
  form_list *m = &f->marks;
  int at[CLASSES + 1] = { 0 };
  if (m->n <= FEW) {
    for (int i = 1; i < m->n; i++)
      for (int k = i; k && m->v[k - 1].order > m->v[k].order; k--) {
        const form_char c = m->v[k];
        m->v[k] = m->v[k - 1];
        m->v[k - 1] = c;
      }
    return m->v;
  }
  f->sorted.n = 0;
  for (int i = 0; i < m->n; i++) form_add(f, &f->sorted, m->v[i]);
  if (f->sorted.n < m->n) return m->v;
  for (int i = 0; i < m->n; i++) at[m->v[i].order + 1]++;
  for (int i = 0; i < CLASSES; i++) at[i + 1] += at[i];
  for (int i = 0; i < m->n; i++) f->sorted.v[at[m->v[i].order]++] = m->v[i];
  return f->sorted.v;
}

static void form_marks(former *f)
{
  if (!f->marks.n) return;
  const form_char *v = form_sort(f);
  for (int i = 0; i < f->marks.n; i++)
    if (f->composes) form_compose(f, v[i]);
    else jf_edit_put(f->e, v[i].c, v[i].change);
  f->marks.n = 0;
}

static void form_part(former *f, int32_t c, int change, uint8_t order)
{
  const form_char v = { c, change, order };
  if (!order) form_marks(f);
  if (order) form_add(f, &f->marks, v);
  else if (f->composes) form_compose(f, v);
  else jf_edit_put(f->e, c, change);
}

static void form_take(former *f, int32_t c, int change)
{
  const int32_t s = c - S_FIRST, *parts;
  if (s >= 0 && s < N_S) {
    form_part(f, L_FIRST + s / (N_V * N_T), change, 0);
    form_part(f, V_FIRST + s % (N_V * N_T) / N_T, 1, 0);
    if (s % N_T) form_part(f, T_FIRST + s % N_T, 1, 0);
    return;
  }
  const jf_char_record *r = jf_char(c);
  const int n = r->flags & f->apart ? jf_char_parts(c, &parts) : 0;
  if (!n) form_part(f, c, change, r->order);
  for (int i = 0; i < n; i++) form_take(f, parts[i], i ? 1 : change);
}

/* Up to where the text from e->at on stays as it is, whatever follows, or some bytes of that. */
static size_t form_plain(const former *f, const jf_edit *e)
{
  size_t at = e->at, last = e->at, size;
  for (; at < e->n; at += size) {
    if (at - e->at > SOME) return last;
    if (!(e->s[at] & 0x80)) {
      size = 1;
      last = at;
      continue;
    }
    const jf_char_record *r = jf_char(jf_char_at(e->s + at, &size));
    if (r->order || r->flags & (f->apart | JF_SECOND) || r->joins >= JF_HANGUL_L) return last;
    last = at;
  }
  return at;
}

jfl_status jf_edit_form(const jf_text_rule *r, jf_edit *e)
{
  former f = { .e = e, .composes = r->kind == JF_NFC || r->kind == JF_NFKC,
               .apart = JF_CANONICAL | (r->kind == JF_NFKC || r->kind == JF_NFKD
                                        ? JF_COMPATIBLE : 0) };
  for (size_t plain = 1; plain;) {
    plain = form_plain(&f, e) - e->at;
    jf_edit_copy(e, plain);
  }
  for (size_t at = e->at, size, looked = at; at < e->n && !e->flow->failed; at += size) {
    if (jf_time_along(at, &looked)) e->flow->failed = JF_TOO_LATE;
    form_take(&f, jf_char_at(e->s + at, &size), 0);
  }
  form_marks(&f);
  form_flush(&f);
  jf_free(f.marks.v);
  jf_free(f.kept.v);
  jf_free(f.sorted.v);
  return jf_flow_status(e->flow);
}
