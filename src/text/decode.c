/* What makes a text of tokens. Each decoder changes the tokens, and in the end they are joined. */
#include "text/tokenizer.h"

#include <string.h>

/* Tokens on their way: each is text in one of two buffers, which take turns. */
typedef struct decoding {
  jf_word *token; int n;       /* changed in place; those that went have s NULL */
  jf_text text, next;          /* where they lie, and where a decoder writes */
  size_t *end;                 /* of each token in `next`, while it is written */
  size_t read, looked;         /* bytes of tokens, and how many when the time was looked at */
  jfl_status late;
} decoding;

/* Whether there is an i-th token, and time for it. */
static int decode_has(decoding *d, int i)
{
  if (i >= d->n || d->late) return 0;
  d->read += d->token[i].n + 1;
  d->late = jf_time_along(d->read, &d->looked);
  return !d->late;
}

/* Ends the i-th token of those that are written. */
static void decode_end(decoding *d, int i) { d->end[i] = d->next.n; }

/* Makes the n tokens that were written the present ones. */
static void decode_done(decoding *d, int n)
{
  const jf_text t = d->text;
  d->text = d->next;
  d->next = t;
  d->next.n = 0;
  d->n = d->text.failed || d->late ? 0 : n;
  for (int i = 0; i < d->n; i++) {
    const size_t from = i ? d->end[i - 1] : 0;
    const char *s = d->text.s ? d->text.s + from : "";
    d->token[i] = (jf_word){ s, (uint32_t)(d->end[i] - from), 0, 0 };
  }
}

static void decode_char(decoding *d, int32_t c)
{
  char utf8[4];
  jf_text_put(&d->next, utf8, jf_char_put(utf8, c));
}

/* Writes s with `to` in place of each `from`. */
static void decode_replaced(jf_text *out, const jf_word *w, const jf_word *from, const jf_word *to,
                            jfl_status *late)
{
  size_t at = 0, place, looked = 0;
  while (!*late && jf_text_find(from, w->s, w->n, at, &place, late)) {
    if ((*late = jf_time_along(place, &looked))) return;
    jf_text_put(out, w->s + at, place - at);
    jf_text_put(out, to->s, to->n);
    at = place + from->n;
  }
  jf_text_put(out, w->s + at, w->n - at);
}

/* ---- bytes ---- */

/* Adds bytes as UTF-8; what is none becomes U+FFFD, once for each longest beginning of a character
   (The Unicode Standard, section 3.9). */
static jfl_status decode_lossy(jf_text *out, const unsigned char *s, size_t n)
{
  for (size_t at = 0, size, looked = 0; at < n; at += size) {
    JF_TRY(jf_time_along(at, &looked));
    size = jf_utf8_step((const char *)s + at, n - at);
    if (size) {
      jf_text_put(out, (const char *)s + at, size);
      continue;
    }
    jf_text_put(out, "\xef\xbf\xbd", 3);
    const unsigned char c = s[at];
    const size_t most = c >= 0xf0 && c <= 0xf4 ? 3 : c >= 0xe0 && c < 0xf0 ? 2 : 1;
    size = 1;
    while (c >= 0xc2 && size < most && at + size < n && (s[at + size] & 0xc0) == 0x80) {
      const unsigned char second = s[at + 1];
      if (size == 1 && ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
                        (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f)))
        break;
      size++;
    }
  }
  return JFL_OK;
}

/* A token whose characters stand for bytes becomes those; one with others stays. */
static void decode_token_bytes(const jf_word *w, jf_text *out)
{
  const size_t before = out->n;
  for (size_t i = 0, size; i < w->n; i += size) {
    const int byte = jf_char_byte(jf_char_at(w->s + i, &size));
    if (byte < 0) {
      out->n = before;
      jf_text_put(out, w->s, w->n);
      return;
    }
    const char c = (char)byte;
    jf_text_put(out, &c, 1);
  }
}

static void decode_bytes(const jf_text_rule *r, decoding *d)
{
  jf_text bytes = { 0 };
  (void)r;
  for (int i = 0; decode_has(d, i); i++) decode_token_bytes(&d->token[i], &bytes);
  if (bytes.failed) d->next.failed = 1;
  else if (!d->late) d->late = decode_lossy(&d->next, (const unsigned char *)bytes.s, bytes.n);
  jf_free(bytes.s);
  decode_end(d, 0);
  decode_done(d, 1);
}

/* The byte of a token such as <0x0A>, or -1. */
static int decode_byte_of(const jf_word *w)
{
  int v = 0;
  if (w->n != 6 || memcmp(w->s, "<0x", 3) || w->s[5] != '>') return -1;
  for (int i = 3; i < 5; i++) {
    const char c = w->s[i], low = (char)(c | 32);
    if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'f'))) return -1;
    v = v << 4 | (c <= '9' ? c - '0' : low - 'a' + 10);
  }
  return v;
}

/* Bytes beside each other become a text, or if that is no UTF-8 each becomes U+FFFD. */
static void decode_flush(decoding *d, const jf_text *bytes, int *n)
{
  size_t at = 0;
  if (!bytes->n) return;
  for (size_t size; at < bytes->n; at += size)
    if (!(size = jf_utf8_step(bytes->s + at, bytes->n - at))) break;
  if (at == bytes->n) jf_text_put(&d->next, bytes->s, bytes->n);
  else
    for (at = 0; at < bytes->n; at++) decode_char(d, 0xfffd);
  decode_end(d, (*n)++);
}

static void decode_fallback(const jf_text_rule *r, decoding *d)
{
  jf_text bytes = { 0 };
  int n = 0;
  (void)r;
  for (int i = 0; decode_has(d, i); i++) {
    const int byte = decode_byte_of(&d->token[i]);
    const char c = (char)byte;
    if (byte >= 0) {
      jf_text_put(&bytes, &c, 1);
      continue;
    }
    decode_flush(d, &bytes, &n);
    bytes.n = 0;
    jf_text_put(&d->next, d->token[i].s, d->token[i].n);
    decode_end(d, n++);
  }
  decode_flush(d, &bytes, &n);
  if (bytes.failed) d->next.failed = 1;
  jf_free(bytes.s);
  decode_done(d, n);
}

/* ---- words ---- */

/* English as it is written: no space before a point and such. */
static void decode_clean(jf_text *t, size_t from, jfl_status *late)
{
  static const char *const pairs[][2] = {
    { " .", "." }, { " ?", "?" }, { " !", "!" }, { " ,", "," }, { " ' ", "'" }, { " n't", "n't" },
    { " 'm", "'m" }, { " do not", " don't" }, { " 's", "'s" }, { " 've", "'ve" }, { " 're", "'re" }
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !t->failed && !*late; i++) {
    const jf_word a = { pairs[i][0], (uint32_t)strlen(pairs[i][0]), 0, 0 };
    const jf_word b = { pairs[i][1], (uint32_t)strlen(pairs[i][1]), 0, 0 };
    const jf_word w = { t->s + from, (uint32_t)(t->n - from), 0, 0 };
    size_t place;
    if (!jf_text_find(&a, w.s, w.n, 0, &place, late)) continue;
    jf_text out = { 0 };
    decode_replaced(&out, &w, &a, &b, late);
    t->n = from;
    t->failed |= out.failed;
    if (!out.failed) jf_text_put(t, out.s, out.n);
    jf_free(out.s);
  }
}

static int decode_begins(const jf_word *w, const jf_word *prefix)
{
  return w->n >= prefix->n && !memcmp(w->s, prefix->s, prefix->n);
}

static void decode_wordpiece(const jf_text_rule *r, decoding *d)
{
  for (int i = 0; decode_has(d, i); i++) {
    const jf_word *w = &d->token[i];
    const size_t from = d->next.n;
    const uint32_t skip = i && decode_begins(w, &r->text) ? r->text.n : 0;
    if (i && !decode_begins(w, &r->text)) jf_text_put(&d->next, " ", 1);
    jf_text_put(&d->next, w->s + skip, w->n - skip);
    if (r->trims) decode_clean(&d->next, from, &d->late);
    decode_end(d, i);
  }
  decode_done(d, d->n);
}

/* The sign of a space becomes one; at the front of the text it goes. */
static void decode_metaspace(const jf_text_rule *r, decoding *d)
{
  for (int i = 0; decode_has(d, i); i++) {
    for (size_t k = 0, size, looked = 0; k < d->token[i].n; k += size) {
      if ((d->late = jf_time_along(k, &looked))) break;
      const int32_t c = jf_char_at(d->token[i].s + k, &size);
      if (c != r->character) jf_text_put(&d->next, d->token[i].s + k, size);
      else if (i || r->prefix == JF_NEVER) jf_text_put(&d->next, " ", 1);
    }
    decode_end(d, i);
  }
  decode_done(d, d->n);
}

static void decode_bpe(const jf_text_rule *r, decoding *d)
{
  const jf_word space = { " ", 1, 0, 0 }, nothing = { "", 0, 0, 0 };
  for (int i = 0; decode_has(d, i); i++) {
    decode_replaced(&d->next, &d->token[i], &r->text, i + 1 < d->n ? &space : &nothing,
                    &d->late);
    decode_end(d, i);
  }
  decode_done(d, d->n);
}

static void decode_fuse(const jf_text_rule *r, decoding *d)
{
  (void)r;
  for (int i = 0; decode_has(d, i); i++) jf_text_put(&d->next, d->token[i].s, d->token[i].n);
  decode_end(d, 0);
  decode_done(d, 1);
}

/* Takes away up to so many of a character on either side. */
static void decode_strip(const jf_text_rule *r, decoding *d)
{
  for (int i = 0; decode_has(d, i); i++) {
    const jf_word *w = &d->token[i];
    size_t from = 0, to = w->n, size;
    for (int k = 0; k < r->left && from < to && jf_char_at(w->s + from, &size) == r->character; k++)
      from += size;
    for (int k = 0; k < r->right && to > from &&
                    jf_char_before(w->s + to, &size) == r->character; k++)
      to -= size;
    jf_text_put(&d->next, w->s + from, to - from);
    decode_end(d, i);
  }
  decode_done(d, d->n);
}

static jfl_status decode_by_pattern(const jf_text_rule *r, const jf_word *w, jf_text *out)
{
  jf_finder f = { .pattern = r->pattern, .s = w->s, .n = w->n };
  size_t from, to, done = 0;
  jfl_status s = JFL_OK;
  while (jf_finder_next(&f, &from, &to, &s)) {
    jf_text_put(out, w->s + done, from - done);
    jf_text_put(out, r->content.s, r->content.n);
    done = to;
  }
  jf_finder_end(&f);
  jf_text_put(out, w->s + done, w->n - done);
  return s;
}

static jfl_status decode_replace(const jf_text_rule *r, decoding *d)
{
  for (int i = 0; decode_has(d, i); i++) {
    if (r->pattern) JF_TRY(decode_by_pattern(r, &d->token[i], &d->next));
    else decode_replaced(&d->next, &d->token[i], &r->text, &r->content, &d->late);
    decode_end(d, i);
  }
  decode_done(d, d->n);
  return JFL_OK;
}

static int decode_same(const jf_word *a, const jf_word *b)
{
  return a->n == b->n && !memcmp(a->s, b->s, a->n);
}

/* Speech: what repeats is one, padding goes, and a sign stands for spaces. */
static void decode_ctc(const jf_text_rule *r, decoding *d)
{
  const jf_word nothing = { "", 0, 0, 0 }, space = { " ", 1, 0, 0 };
  int n = 0;
  for (int i = 0; decode_has(d, i); i++) {
    const size_t from = d->next.n;
    if (i && decode_same(&d->token[i], &d->token[i - 1])) continue;
    decode_replaced(&d->next, &d->token[i], &r->text, &nothing, &d->late);
    if (r->trims && !d->next.failed && d->next.n > from) {
      decode_clean(&d->next, from, &d->late);
      jf_text t = { 0 };
      const jf_word w = { d->next.s + from, (uint32_t)(d->next.n - from), 0, 0 };
      decode_replaced(&t, &w, &r->content, &space, &d->late);
      d->next.n = from;
      d->next.failed |= t.failed;
      if (!t.failed) jf_text_put(&d->next, t.s, t.n);
      jf_free(t.s);
    }
    if (d->next.n > from) decode_end(d, n++);
  }
  decode_done(d, n);
}

static jfl_status decode_rule(const jf_text_rule *r, decoding *d)
{
  switch (r->kind) {
  case JF_FROM_BYTES: decode_bytes(r, d); break;
  case JF_FROM_WORDPIECE: decode_wordpiece(r, d); break;
  case JF_FROM_METASPACE: decode_metaspace(r, d); break;
  case JF_FROM_FALLBACK: decode_fallback(r, d); break;
  case JF_FUSE: decode_fuse(r, d); break;
  case JF_FROM_STRIP: decode_strip(r, d); break;
  case JF_FROM_BPE: decode_bpe(r, d); break;
  case JF_FROM_CTC: decode_ctc(r, d); break;
  default: return decode_replace(r, d);
  }
  return JFL_OK;
}

/* How many bytes the rules may make of tokens. */
static size_t decode_most(const jf_word *tokens, int n)
{
  size_t all = 0;
  for (int i = 0; i < n; i++) all += tokens[i].n + 1;
  return jf_text_most(all);
}

jfl_status jf_decode(const jf_rules *rules, int has, jf_word *tokens, int n, jf_text *out)
{
  decoding d = { .token = tokens, .n = n, .end = jf_new_raw(((size_t)n + 1) * sizeof(size_t)) };
  jfl_status s = d.end ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
  d.text.most = d.next.most = decode_most(tokens, n);
  for (int i = 0; !s && i < rules->n; i++) {
    s = jf_time_for(0);
    if (!s) s = decode_rule(&rules->v[i], &d);
    if (!s) s = d.late;
    if (!s && d.text.failed == JF_TOO_LONG)
      s = jf_fail(JFL_EDATA, "decoder: its rules must not make a text more than 64 times as long");
  }
  for (int i = 0; !s && i < d.n; i++) {
    if (i && !has) jf_text_put(out, " ", 1);
    jf_text_put(out, d.token[i].s, d.token[i].n);
  }
  if (d.text.failed || d.next.failed) out->failed = 1;
  jf_free(d.text.s);
  jf_free(d.next.s);
  jf_free(d.end);
  return s;
}
