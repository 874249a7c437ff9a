/* A text on its way to tokens. */
#include "text/tokenizer.h"

#include <string.h>

/* ---- memory that is kept ---- */

enum { KEEP = 1 << 14,
       LOOK = 1 << 16 };       /* bytes of edits between two looks at the time */

typedef struct jf_keep_block { struct jf_keep_block *next; size_t used, size; } jf_keep_block;

void *jf_keep_new(jf_keep *k, size_t n)
{
  jf_keep_block *b = k->head;
  n = (n + 15) / 16 * 16;
  if (!b || b->size - b->used < n) {
    const size_t size = n > KEEP ? n : KEEP;
    b = jf_new(sizeof *b + size);
    if (!b) return NULL;
    *b = (jf_keep_block){ k->head, 0, size };
    k->head = b;
  }
  b->used += n;
  return (char *)(b + 1) + b->used - n;
}

void jf_keep_free(jf_keep *k)
{
  for (jf_keep_block *b = k->head, *next; b; b = next) {
    next = b->next;
    jf_free(b);
  }
  k->head = NULL;
}

/* ---- lines ---- */

static void line_free(jf_text_line *l)
{
  jf_free(l->s);
  jf_free(l->span);
}

/* Room for n bytes more. */
static int line_room(jf_flow *f, jf_text_line *l, size_t n)
{
  if (l->cap - l->n >= n && (!f->spans || l->span)) return 1;
  const size_t cap = l->n + n + l->cap;
  char *s = f->failed || cap > INT32_MAX ? NULL : jf_new_raw(cap);
  jf_span *span = s && f->spans ? jf_new_raw(cap * sizeof *span) : NULL;
  if (!s || (f->spans && !span)) {
    jf_free(s);
    f->failed = 1;
    return 0;
  }
  if (l->n) memcpy(s, l->s, l->n);
  if (l->n && span) memcpy(span, l->span, l->n * sizeof *span);
  line_free(l);
  *l = (jf_text_line){ s, span, l->n, cap };
  return 1;
}

jfl_status jf_flow_begin(jf_flow *f, const char *s, size_t n, int spans)
{
  f->line.n = f->next.n = 0;
  f->n_piece = f->n_more = f->n_token = f->failed = 0;
  f->spans = spans;
  f->most = jf_text_most(n);
  f->given = s;
  f->n_given = n;
  if (!spans) {
    jf_free(f->line.span);
    jf_free(f->next.span);
    f->line.span = f->next.span = NULL;
  }
  if (!line_room(f, &f->line, n + !n)) return jf_flow_status(f);
  if (n) memcpy(f->line.s, s, n);
  for (size_t i = 0, size, looked = 0; spans && i < n; i += size) {
    JF_TRY(jf_time_along(i, &looked));
    jf_char_at(s + i, &size);
    for (size_t k = i; k < i + size; k++)
      f->line.span[k] = (jf_span){ (uint32_t)i, (uint32_t)(i + size) };
  }
  f->line.n = n;
  jf_flow_piece(f, 0, n, JF_NO_ID);
  jf_flow_pieces_done(f);
  return jf_flow_status(f);
}

void jf_flow_free(jf_flow *f)
{
  line_free(&f->line);
  line_free(&f->next);
  jf_free(f->piece);
  jf_free(f->more);
  jf_free(f->token);
  jf_free(f->stack);
  jf_free(f->nodes);
}

jfl_status jf_flow_status(const jf_flow *f)
{
  if (f->failed == JF_TOO_LONG)
    return jf_fail(JFL_EDATA, "its rules must not make a text of %zu bytes more than 64 times as "
                   "long", f->n_given);
  if (f->failed == JF_TOO_LATE) return jf_time_is_over();
  return f->failed ? jf_fail(JFL_ENOMEM, "out of memory") : JFL_OK;
}

void *jf_flow_room(jf_flow *f, size_t size)
{
  if (size <= f->nodes_size && f->nodes) return f->nodes;
  jf_free(f->nodes);
  f->nodes_size = size + size / 2;
  f->nodes = jf_new_raw(f->nodes_size);
  if (!f->nodes) f->failed = 1;
  return f->nodes;
}

void jf_flow_token(jf_flow *f, int32_t id, size_t from, size_t to)
{
  if (!JF_ROOM(f->token, f->n_token, f->cap_token)) f->failed = 1;
  else f->token[f->n_token++] = (jf_token){ id, (uint32_t)from, (uint32_t)to };
}

void jf_flow_piece(jf_flow *f, size_t from, size_t to, int32_t id)
{
  if (from == to) return;
  if (!JF_ROOM(f->more, f->n_more, f->cap_more)) f->failed = 1;
  else f->more[f->n_more++] = (jf_piece){ (uint32_t)from, (uint32_t)to, id };
}

void jf_flow_pieces_done(jf_flow *f)
{
  jf_piece *v = f->piece;
  const int cap = f->cap_piece;
  f->piece = f->more;
  f->n_piece = f->n_more;
  f->cap_piece = f->cap_more;
  f->more = v;
  f->n_more = 0;
  f->cap_more = cap;
}

/* ---- edits ---- */

jfl_status jf_flow_edit(jf_flow *f, const jf_text_rule *r, jf_edit_fn fn)
{
  f->next.n = 0;
  if (!line_room(f, &f->next, f->line.n + f->line.n / 4 + 16)) return jf_flow_status(f);
  for (int i = 0; i < f->n_piece; i++) {
    JF_TRY(jf_time_at(i));
    const jf_piece *p = &f->piece[i];
    const size_t from = f->next.n;
    jf_edit e = { f, f->line.s + p->from, f->line.span ? f->line.span + p->from : NULL,
                  p->to - p->from, 0 };
    if (p->id != JF_NO_ID) jf_edit_copy(&e, e.n);
    else JF_TRY(fn(r, &e));
    jf_flow_piece(f, from, f->next.n, p->id);
  }
  const jf_text_line l = f->line;
  f->line = f->next;
  f->next = l;
  jf_flow_pieces_done(f);
  return jf_flow_status(f);
}

/* Where a character that is added beside others comes from: where the last one before it did. */
static jf_span edit_beside(const jf_edit *e)
{
  if (e->at) return e->span[e->at - 1];
  return e->n ? (jf_span){ e->span[0].from, e->span[0].from } : (jf_span){ 0, 0 };
}

/* Some looks at the time, in edits that go through n bytes each. */
static void edit_look(jf_flow *f, size_t n)
{
  f->edited += n + 1;
  if (f->edited < LOOK || f->failed) return;
  f->edited = 0;
  if (jf_time_for(0)) f->failed = JF_TOO_LATE;
}

/* Room for n bytes more of what the text becomes; 0: the edit is over. */
static int edit_room(jf_edit *e, size_t n)
{
  jf_flow *f = e->flow;
  edit_look(f, n);
  if (!f->failed && f->next.n + n > f->most) f->failed = JF_TOO_LONG;
  if (!f->failed && line_room(f, &f->next, n)) return 1;
  e->at = e->n;                /* so that whoever goes through the piece ends */
  return 0;
}

static void edit_pass(jf_edit *e)
{
  size_t size;
  if (e->at == e->n) return;
  jf_char_at(e->s + e->at, &size);
  e->at += size;
}

void jf_edit_put(jf_edit *e, int32_t c, int change)
{
  jf_text_line *to = &e->flow->next;
  if (!edit_room(e, 4)) return;
  const size_t n = jf_char_put(to->s + to->n, c);
  if (e->span) {
    const jf_span span = change > 0 || e->at == e->n ? edit_beside(e) : e->span[e->at];
    for (size_t i = 0; i < n; i++) to->span[to->n + i] = span;
  }
  to->n += n;
  for (; change <= 0; change++) edit_pass(e);
}

void jf_edit_copy(jf_edit *e, size_t n)
{
  jf_text_line *to = &e->flow->next;
  if (!n || !edit_room(e, n)) return;
  memcpy(to->s + to->n, e->s + e->at, n);
  if (e->span) memcpy(to->span + to->n, e->span + e->at, n * sizeof *to->span);
  to->n += n;
  e->at += n;
}

void jf_edit_skip(jf_edit *e, size_t n)
{
  edit_look(e->flow, n);
  e->at = e->flow->failed ? e->n : e->at + n;
}
