/* What cuts a text into pieces: words, numbers, punctuation. */
#include "text/tokenizer.h"

#include <string.h>

const char jf_byte_level_pattern[] =
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/* ---- pieces of matches, and of what is between them ---- */

/* Takes the parts of a piece in their order, matches and what is between. */
typedef struct splitter {
  jf_flow *flow;
  jf_behaviour behaviour;
  int inverted, was;           /* whether the part before was a match */
  uint32_t from, to; int has;  /* a piece that may go on */
} splitter;

static void split_flush(splitter *s)
{
  if (s->has) jf_flow_piece(s->flow, s->from, s->to, JF_NO_ID);
  s->has = 0;
}

static void split_begin(splitter *s, size_t from, size_t to)
{
  split_flush(s);
  s->from = (uint32_t)from;
  s->to = (uint32_t)to;
  s->has = 1;
}

static void split_part(splitter *s, size_t from, size_t to, int is_match)
{
  const int match = is_match != s->inverted;
  int joins = 0;
  switch (s->behaviour) {
  case JF_REMOVED:
    split_flush(s);
    if (match) return;
    break;
  case JF_ISOLATED: break;
  case JF_WITH_PREVIOUS: joins = match && !s->was; break;
  case JF_WITH_NEXT: joins = !match && s->was; break;
  default: joins = match == s->was; break;
  }
  if (joins && s->has) s->to = (uint32_t)to;
  else split_begin(s, from, to);
  s->was = match;
}

/* Cuts each piece by the matches that next() gives, from `at` on. */
typedef int (*split_next)(const jf_text_rule *r, jf_finder *f, size_t *from, size_t *to,
                          jfl_status *s);

static jfl_status split_all(jf_flow *f, const jf_text_rule *r, jf_behaviour behaviour, int inverted,
                            split_next next)
{
  jfl_status status = JFL_OK;
  void *stack = f->stack;
  int cap = f->cap_stack;
  for (int i = 0; i < f->n_piece && !status; i++) {
    const jf_piece p = f->piece[i];
    if ((status = jf_time_at(i))) break;
    if (p.id != JF_NO_ID) {
      jf_flow_piece(f, p.from, p.to, p.id);
      continue;
    }
    splitter s = { .flow = f, .behaviour = behaviour, .inverted = inverted };
    jf_finder finder = { .pattern = r->pattern, .s = f->line.s + p.from, .n = p.to - p.from,
                         .stack = stack, .cap = cap };
    size_t done = 0, from = 0, to = 0;
    while (next(r, &finder, &from, &to, &status)) {
      if (from > done) split_part(&s, p.from + done, p.from + from, 0);
      split_part(&s, p.from + from, p.from + to, 1);
      done = to;
    }
    if (done < finder.n) split_part(&s, p.from + done, p.to, 0);
    split_flush(&s);
    stack = finder.stack;
    cap = finder.cap;
  }
  f->stack = stack;
  f->cap_stack = cap;
  jf_flow_pieces_done(f);
  return status ? status : jf_flow_status(f);
}

static int split_by_pattern(const jf_text_rule *r, jf_finder *f, size_t *from, size_t *to,
                            jfl_status *s)
{
  (void)r;
  return jf_finder_next(f, from, to, s);
}

static int split_by_text(const jf_text_rule *r, jf_finder *f, size_t *from, size_t *to,
                         jfl_status *s)
{
  if (!jf_text_find(&r->text, f->s, f->n, f->at, from, s)) return 0;
  *to = f->at = *from + r->text.n;
  return 1;
}

static int split_is_at(const jf_text_rule *r, int32_t c)
{
  switch (r->kind) {
  case JF_BERT: case JF_WHITESPACE_SPLIT: return jf_char_is_space(c);
  case JF_DIGITS: return jf_char_in(c, JF_NUMBERS);
  case JF_PUNCTUATION_SPLIT: return jf_char_is_punctuation(c);
  default: return c == r->character;
  }
}

/* Each character of a kind is a match. */
static int split_by_character(const jf_text_rule *r, jf_finder *f, size_t *from, size_t *to,
                              jfl_status *s)
{
  size_t size;
  for (; f->at < f->n; f->at += size) {
    if ((*s = jf_time_along(f->at, &f->looked_at))) return 0;
    if (!split_is_at(r, jf_char_at(f->s + f->at, &size))) continue;
    *from = f->at;
    *to = f->at += size;
    return 1;
  }
  return 0;
}

/* 0: a space, 1: a part of a word, 2: what is neither. */
static int split_class(int32_t c)
{
  if (c < 0x80) {
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_')
      return 1;
    return c == ' ' || (c >= 9 && c <= 13) ? 0 : 2;
  }
  return jf_char_is_word(c) ? 1 : jf_char_is_space(c) ? 0 : 2;
}

/* Words, and what is between them but spaces: \w+|[^\w\s]+ */
static int split_by_word(const jf_text_rule *r, jf_finder *f, size_t *from, size_t *to,
                         jfl_status *s)
{
  size_t size;
  int kind = 0;
  (void)r;
  for (; f->at < f->n; f->at += size) {
    if ((*s = jf_time_along(f->at, &f->looked_at))) return 0;
    const int next = split_class(jf_char_at(f->s + f->at, &size));
    if (kind && next != kind) break;
    if (!kind && next) *from = f->at;
    kind = next;
  }
  *to = f->at;
  return kind != 0;
}

static int split_by_length(const jf_text_rule *r, jf_finder *f, size_t *from, size_t *to,
                           jfl_status *s)
{
  size_t size;
  *from = f->at;
  for (int i = 0; i < r->left && f->at < f->n; i++, f->at += size) {
    if ((*s = jf_time_along(f->at, &f->looked_at))) return 0;
    jf_char_at(f->s + f->at, &size);
  }
  *to = f->at;
  return *to > *from;
}

/* ---- Metaspace, ByteLevel: a text is changed, then cut ---- */

static int split_starts_with(const jf_edit *e, int32_t c)
{
  size_t size;
  return e->n && jf_char_at(e->s, &size) == c;
}

/* Adds c at the front, as a part of what the first character comes from. */
static void split_prefix(jf_edit *e, int32_t c)
{
  size_t size;
  if (!e->n) return;
  const int32_t first = jf_char_at(e->s, &size);
  jf_edit_put(e, c, 0);
  jf_edit_put(e, first, 1);
}

static jfl_status split_metaspace(const jf_text_rule *r, jf_edit *e)
{
  if (e->n && e->s[0] != ' ' && !split_starts_with(e, r->character) &&
      (r->prefix == JF_ALWAYS || (r->prefix == JF_FIRST && e->span[0].from == 0)))
    split_prefix(e, r->character);
  while (e->at < e->n) {
    const char *space = memchr(e->s + e->at, ' ', e->n - e->at);
    jf_edit_copy(e, space ? (size_t)(space - e->s) - e->at : e->n - e->at);
    if (space) jf_edit_put(e, r->character, 0);
  }
  return JFL_OK;
}

static jfl_status split_space_before(const jf_text_rule *r, jf_edit *e)
{
  (void)r;
  if (e->s[0] != ' ') split_prefix(e, ' ');
  jf_edit_copy(e, e->n - e->at);
  return JFL_OK;
}

static jfl_status split_byte_level(jf_flow *f, const jf_text_rule *r)
{
  if (r->prefix == JF_ALWAYS) JF_TRY(jf_flow_edit(f, r, split_space_before));
  if (r->splits) JF_TRY(split_all(f, r, JF_ISOLATED, 0, split_by_pattern));
  return jf_flow_edit(f, r, jf_edit_bytes);
}

static jfl_status split_bert(jf_flow *f, const jf_text_rule *r)
{
  const jf_text_rule punctuation = { .kind = JF_PUNCTUATION_SPLIT };
  JF_TRY(split_all(f, r, JF_REMOVED, 0, split_by_character));
  return split_all(f, &punctuation, JF_ISOLATED, 0, split_by_character);
}

static jfl_status split_rule(jf_flow *f, const jf_text_rule *r)
{
  switch (r->kind) {
  case JF_BYTE_LEVEL: return split_byte_level(f, r);
  case JF_BERT: return split_bert(f, r);
  case JF_WHITESPACE: return split_all(f, r, JF_REMOVED, 1, split_by_word);
  case JF_WHITESPACE_SPLIT: case JF_DELIMITER:
    return split_all(f, r, JF_REMOVED, 0, split_by_character);
  case JF_METASPACE:
    JF_TRY(jf_flow_edit(f, r, split_metaspace));
    return r->splits ? split_all(f, r, JF_WITH_NEXT, 0, split_by_character) : JFL_OK;
  case JF_DIGITS:
    return split_all(f, r, r->splits ? JF_ISOLATED : JF_CONTIGUOUS, 0, split_by_character);
  case JF_PUNCTUATION_SPLIT: return split_all(f, r, r->behaviour, 0, split_by_character);
  case JF_LENGTH: return split_all(f, r, JF_ISOLATED, 0, split_by_length);
  default:
    return split_all(f, r, r->behaviour, r->inverted,
                     r->pattern ? split_by_pattern : split_by_text);
  }
}

jfl_status jf_split(jf_flow *f, const jf_rules *rules)
{
  for (int i = 0; i < rules->n; i++) JF_TRY(split_rule(f, &rules->v[i]));
  return JFL_OK;
}
