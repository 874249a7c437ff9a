/* Tokenizers, as the public interface has them. */
#include "text/tokenizer.h"
#include "data/data.h"

#include <string.h>

enum { MOST_FILE = 1 << 30, MOST_TEXT = 1 << 30 };

static jfl_status tokenizer_memory(void) { return jf_fail(JFL_ENOMEM, "out of memory"); }

/* ---- making and ending one ---- */

static void tokenizer_drop(jfl_tokenizer *t)
{
  jf_rules_free(&t->normalizers);
  jf_rules_free(&t->splitters);
  jf_rules_free(&t->framers);
  jf_rules_free(&t->decoders);
  jf_model_free(&t->model);
  jf_added_free(&t->added);
  jf_flow_free(&t->flow[0]);
  jf_flow_free(&t->flow[1]);
  jf_keep_free(&t->keep);
  jf_free(t->json);
  jf_free(t->text);
  jf_free(t);
}

static jfl_status tokenizer_room(void *tokenizer, int64_t size, void **out)
{
  jfl_tokenizer *t = tokenizer;
  if (size > MOST_FILE)
    return jf_fail(JFL_EDATA, "it must have at most %d bytes, got %lld", MOST_FILE,
                   (long long)size);
  *out = t->json = jf_new_raw((size_t)size + 1);
  return t->json ? JFL_OK : tokenizer_memory();
}

/* Whether normalizers or Metaspace may ask where a character was in the first text. */
static int tokenizer_needs_spans(const jfl_tokenizer *t)
{
  for (int i = 0; i < t->splitters.n; i++)
    if (t->splitters.v[i].kind == JF_METASPACE && t->splitters.v[i].prefix == JF_FIRST) return 1;
  return 0;
}

/* Reads t->json, of which strings are decoded in a copy. */
static jfl_status tokenizer_build(jfl_tokenizer *t)
{
  t->json[t->json_size] = '\0';
  t->text = jf_new_raw(t->json_size + 1);
  if (!t->text) return tokenizer_memory();
  memcpy(t->text, t->json, t->json_size + 1);
  JF_TRY(jf_tokenizer_build(t));
  t->needs_spans = tokenizer_needs_spans(t);
  return JFL_OK;
}

static jfl_status tokenizer_new(jfl_tokenizer **out)
{
  *out = jf_new(sizeof **out);
  if (!*out) return tokenizer_memory();
  (*out)->tag = JF_TAG_TOKENIZER;
  return JFL_OK;
}

jfl_status jfl_tokenizer_read(const char *path, jfl_tokenizer **out)
{
  jfl_tokenizer *t;
  JF_NEED_POINTERS(path, out);
  JF_TRY(tokenizer_new(&t));
  jfl_status s = jf_input_read(path, tokenizer_room, t, &t->json_size);
  if (!s) s = tokenizer_build(t);
  if (s) {
    tokenizer_drop(t);
    return jf_blame(s, "%s: ", path);
  }
  *out = t;
  return JFL_OK;
}

jfl_status jfl_tokenizer_parse(const void *json, size_t n, jfl_tokenizer **out)
{
  jfl_tokenizer *t;
  void *to;
  JF_NEED_POINTERS(json, out);
  JF_TRY(tokenizer_new(&t));
  jfl_status s = tokenizer_room(t, n < INT64_MAX ? (int64_t)n : INT64_MAX, &to);
  if (!s) {
    memcpy(to, json, n);
    t->json_size = n;
    s = tokenizer_build(t);
  }
  if (s) {
    tokenizer_drop(t);
    return s;
  }
  *out = t;
  return JFL_OK;
}

void jfl_tokenizer_free(jfl_tokenizer *t)
{
  if (JF_IS_LAST(TOKENIZER, t)) tokenizer_drop(t);
}

/* ---- the vocabulary ---- */

jfl_status jfl_tokenizer_json(const jfl_tokenizer *t, const char **json, size_t *n)
{
  JF_NEED(TOKENIZER, t);
  JF_NEED_POINTERS(json, n);
  *json = t->json;
  *n = t->json_size;
  return JFL_OK;
}

int32_t jfl_tokenizer_size(const jfl_tokenizer *t) { return JF_IS(TOKENIZER, t) ? t->size : 0; }

jfl_status jfl_tokenizer_token(const jfl_tokenizer *t, int32_t id, const char **text, size_t *n)
{
  JF_NEED(TOKENIZER, t);
  JF_NEED_POINTERS(text, n);
  const int has = id >= 0 && id < t->size;
  *text = has ? t->by_id[id].s : NULL;
  *n = has ? t->by_id[id].n : 0;
  return JFL_OK;
}

int32_t jfl_tokenizer_id(const jfl_tokenizer *t, const void *token, size_t n)
{
  if (!JF_IS(TOKENIZER, t) || !token) return JF_NO_ID;
  const int32_t added = jf_vocabulary_find(&t->added.words, token, n);
  if (added >= 0) return t->added.v[added].word.id;
  return jf_vocabulary_find(&t->model.words, token, n);
}

/* ---- texts to tokens ---- */

jfl_status jf_text_check(const jfl_text *x)
{
  size_t size;
  if (x->n > MOST_TEXT)
    return jf_fail(JFL_EINVAL, "a text must have at most %d bytes, got %zu", MOST_TEXT, x->n);
  for (size_t at = 0, looked = 0; at < x->n; at += size) {
    JF_TRY(jf_time_along(at, &looked));
    if ((unsigned char)x->s[at] < 0x80) {
      size = 1;
      continue;
    }
    size = jf_utf8_step(x->s + at, x->n - at);
    if (!size)
      return jf_fail(JFL_EDATA, "a text must be UTF-8, got the byte 0x%02x at place %zu",
                     (unsigned char)x->s[at], at + 1);
  }
  return JFL_OK;
}

static jfl_status tokenizer_flow(jfl_tokenizer *t, jf_flow *f, const jfl_text *x, int literal,
                                 int spans)
{
  JF_TRY(jf_text_check(x));
  JF_TRY(jf_flow_begin(f, x->s ? x->s : "", x->n, spans || t->needs_spans));
  JF_TRY(jf_added_cut(&t->added, f, &t->normalizers, literal));
  JF_TRY(jf_split(f, &t->splitters));
  return jf_model_run(&t->model, f);
}

/* Makes the tokens of a text and of the one beside it, without padding. */
static jfl_status tokenizer_tokens(jfl_tokenizer *t, const jfl_text *text, const jfl_text *pair,
                                   const jfl_encode_spec *spec, int spans, jf_tokens *out)
{
  t->flow[1].n_token = 0;
  JF_TRY(tokenizer_flow(t, &t->flow[0], text, spec->literal, spans));
  if (pair) JF_TRY(tokenizer_flow(t, &t->flow[1], pair, spec->literal, spans));
  return jf_frame(t, pair ? 2 : 1, spec, out);
}

/* How many tokens texts get, of which the longest has so many. */
static int64_t tokenizer_length(const jfl_tokenizer *t, const jfl_encode_spec *spec,
                                int64_t longest)
{
  int64_t n = spec->length > 0 ? spec->length
              : spec->length < 0 || !t->pads || !t->padding.fixed ? longest : t->padding.fixed;
  if (n < longest) n = longest;
  const int64_t by = !spec->length && t->pads ? t->padding.multiple : 0;
  return by > 1 ? (n + by - 1) / by * by : n;
}

static const jfl_encode_spec tokenizer_default;

static jfl_status tokenizer_check_spec(const char *function, const jfl_encode_spec *s)
{
  JF_TRY(jf_need_from(function, "most", s->most, -1, INT32_MAX));
  JF_TRY(jf_need_from(function, "length", s->length, -1, INT32_MAX));
  JF_TRY(jf_need_below(function, "cut", s->cut, 3));
  return jf_need_below(function, "pad", s->pad, 3);
}

jfl_status jfl_tokenizer_encode(jfl_tokenizer *t, const jfl_text *text, const jfl_text *pair,
                                const jfl_encode_spec *spec, jfl_encoding **out)
{
  JF_NEED(TOKENIZER, t);
  JF_NEED_POINTERS(text, out);
  if (!spec) spec = &tokenizer_default;
  JF_TRY(tokenizer_check_spec(__func__, spec));
  jfl_encoding *e = jf_new(sizeof *e);
  if (!e) return tokenizer_memory();
  e->tag = JF_TAG_ENCODING;
  jfl_status s = tokenizer_tokens(t, text, pair, spec, 1, &e->tokens);
  if (!s) s = jf_pad(t, spec, tokenizer_length(t, spec, t->pads ? e->tokens.n : 0), &e->tokens);
  if (s) jfl_encoding_free(e);
  else *out = e;
  return s;
}

void jfl_encoding_free(jfl_encoding *e)
{
  if (!JF_IS_LAST(ENCODING, e)) return;
  jf_free(e->tokens.v);
  jf_free(e);
}

int64_t jfl_encoding_tokens(const jfl_encoding *e, const jfl_token **tokens)
{
  if (!JF_IS(ENCODING, e)) return 0;
  if (tokens) *tokens = e->tokens.v;
  return e->tokens.n;
}

/* ---- batches ---- */

/* The tokens of all texts, one after the other; end: where each ends. */
typedef struct tokenizer_rows { jf_tokens all; int64_t *end; int64_t longest; } tokenizer_rows;

static jfl_status tokenizer_fill(jfl_tokenizer *t, const jfl_text *texts, const jfl_text *pairs,
                                 int n, const jfl_encode_spec *spec, tokenizer_rows *r)
{
  for (int i = 0; i < n; i++) {
    const int64_t from = r->all.n;
    const jfl_text *pair = pairs ? &pairs[i] : NULL;
    const jfl_status s = tokenizer_tokens(t, &texts[i], pair, spec, 0, &r->all);
    if (s) return n > 1 ? jf_blame(s, "text %d: ", i + 1) : s;
    r->end[i] = r->all.n;
    if (r->all.n - from > r->longest) r->longest = r->all.n - from;
  }
  return JFL_OK;
}

/* Writes the rows: padding on one side, tokens on the other. */
static jfl_status tokenizer_write(const jfl_tokenizer *t, const tokenizer_rows *r, int64_t n,
                                  int64_t length, int left, const jfl_batch *b)
{
  int32_t *ids = jfl_array_data(b->ids), *mask = jfl_array_data(b->mask);
  int32_t *types = jfl_array_data(b->types);
  const int32_t id = t->pads ? t->padding.id : 0, type = t->pads ? t->padding.type : 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t from = i ? r->end[i - 1] : 0, size = r->end[i] - from;
    const int64_t skip = left ? length - size : 0;
    for (int64_t k = 0; k < length; k++) {
      JF_TRY(jf_time_at(i * length + k));
      const int there = k >= skip && k < skip + size;
      const jfl_token *v = there ? &r->all.v[from + k - skip] : NULL;
      ids[i * length + k] = there ? v->id : id;
      mask[i * length + k] = there;
      types[i * length + k] = there ? v->type : type;
    }
  }
  return JFL_OK;
}

static jfl_status tokenizer_arrays(const jfl_tokenizer *t, const tokenizer_rows *r, int n,
                                   const jfl_encode_spec *spec, jfl_batch *out)
{
  const int64_t length = tokenizer_length(t, spec, r->longest);
  const jfl_shape shape = { 2, { n, length } };
  const int left = spec->pad ? spec->pad == JFL_SIDE_LEFT : t->pads && t->padding.left;
  jfl_batch b = { 0 };
  jfl_status s = jfl_array_new(JFL_I32, &shape, &b.ids);
  if (!s) s = jfl_array_new(JFL_I32, &shape, &b.mask);
  if (!s) s = jfl_array_new(JFL_I32, &shape, &b.types);
  if (!s) s = tokenizer_write(t, r, n, length, left, &b);
  if (s) {
    jfl_array_unref(b.ids);
    jfl_array_unref(b.mask);
    jfl_array_unref(b.types);
    return s;
  }
  *out = b;
  return JFL_OK;
}

jfl_status jfl_tokenizer_batch(jfl_tokenizer *t, const jfl_text *texts, const jfl_text *pairs,
                               int n, const jfl_encode_spec *spec, jfl_batch *out)
{
  tokenizer_rows r = { 0 };
  JF_NEED(TOKENIZER, t);
  JF_NEED_LIST(texts, n);
  JF_NEED_POINTER(out);
  if (!spec) spec = &tokenizer_default;
  JF_TRY(tokenizer_check_spec(__func__, spec));
  r.end = jf_new_raw((size_t)n * sizeof *r.end);
  jfl_status s = r.end ? tokenizer_fill(t, texts, pairs, n, spec, &r) : tokenizer_memory();
  if (!s) s = tokenizer_arrays(t, &r, n, spec, out);
  jf_free(r.all.v);
  jf_free(r.end);
  return s;
}

/* ---- tokens to texts ---- */

static int tokenizer_is_special(const jfl_tokenizer *t, const jf_word *w)
{
  const int32_t k = jf_vocabulary_find(&t->added.words, w->s, w->n);
  return k >= 0 && t->added.v[k].special;
}

static jfl_status tokenizer_collect(const jfl_tokenizer *t, const int32_t *ids, int64_t n,
                                    int skips, jf_word *token, int *count)
{
  for (int64_t i = 0; i < n; i++) {
    JF_TRY(jf_time_at(i));
    const jf_word *w = ids[i] >= 0 && ids[i] < t->size ? &t->by_id[ids[i]] : NULL;
    if (!w || !w->s)
      return jf_fail(JFL_EINVAL, "token %lld must be a number of the vocabulary, below %d, got %d",
                     (long long)i + 1, (int)t->size, (int)ids[i]);
    if (!skips || !tokenizer_is_special(t, w)) token[(*count)++] = *w;
  }
  return JFL_OK;
}

jfl_status jfl_tokenizer_decode(jfl_tokenizer *t, const int32_t *ids, int64_t n, int skips,
                                char **text, size_t *size)
{
  jf_text out = { 0 };
  int count = 0;
  JF_NEED(TOKENIZER, t);
  JF_NEED_POINTERS(text, size);
  JF_NEED_FROM(n, 0, INT32_MAX);
  if (n) JF_NEED_POINTER(ids);
  jf_word *token = jf_new_raw(((size_t)n + 1) * sizeof *token);
  jfl_status s = token ? tokenizer_collect(t, ids, n, skips, token, &count) : tokenizer_memory();
  if (!s) s = jf_decode(&t->decoders, t->has_decoder, token, count, &out);
  jf_free(token);
  *size = out.n;
  if (!s) s = jf_text_take(&out, text);
  jf_free(out.s);
  return s;
}
