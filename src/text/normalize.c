/* Normalizers: what a text becomes before it is cut into pieces. */
#include "text/tokenizer.h"

#include <string.h>

enum { CAPITAL_I_DOT = 0x130, DOT_ABOVE = 0x307,
       MOST_RUN = 1 << 12 };   /* bytes that stay, copied at once */

int jf_text_find(const jf_word *text, const char *s, size_t n, size_t at, size_t *from,
                 jfl_status *r)
{
  size_t compared = 0, looked = 0;
  while (text->n && at + text->n <= n) {
    const char *p = memchr(s + at, text->s[0], n - at - text->n + 1);
    if (!p) return 0;
    if (!memcmp(p, text->s, text->n)) return *from = (size_t)(p - s), 1;
    at = (size_t)(p - s) + 1;
    compared += text->n;
    if ((*r = jf_time_along(compared, &looked))) return 0;
  }
  return 0;
}

/* ---- characters that go, or become others ---- */

static int normalize_is_control(int32_t c)
{
  return c != '\t' && c != '\n' && c != '\r' && jf_char_in(c, JF_OTHERS & ~(1u << JF_CN));
}

/* Whether a character is left out, or what it becomes. */
static int normalize_one(const jf_text_rule *r, int32_t *c)
{
  const int32_t v = *c;
  switch (r->kind) {
  case JF_CLEAN:
    if (!v || v == 0xfffd || normalize_is_control(v)) return 0;
    if (jf_char_is_space(v)) *c = ' ';
    return 1;
  case JF_STRIP_ACCENTS: return !jf_char_in(v, JF_MARKS);
  case JF_STRIP_MARKS: return jf_char(v)->category != JF_MN;
  case JF_NMT:
    if ((v >= 1 && v <= 8) || v == 0xb || (v >= 0xe && v <= 0x1f) || v == 0x7f || v == 0x8f ||
        v == 0x9f)
      return 0;
    if (v == 9 || v == 0xa || v == 0xc || v == 0xd || v == 0x1680 || (v >= 0x200b && v <= 0x200f) ||
        v == 0x2028 || v == 0x2029 || v == 0x2581 || v == 0xfeff || v == 0xfffd)
      *c = ' ';
    return 1;
  default: return 1;
  }
}

static jfl_status normalize_each(const jf_text_rule *r, jf_edit *e)
{
  size_t size;
  while (e->at < e->n) {
    const int32_t was = jf_char_at(e->s + e->at, &size);
    int32_t c = was;
    if (!normalize_one(r, &c)) jf_edit_skip(e, size);
    else if (c == was) jf_edit_copy(e, size);
    else jf_edit_put(e, c, 0);
  }
  return JFL_OK;
}

static jfl_status normalize_lower(const jf_text_rule *r, jf_edit *e)
{
  size_t size;
  (void)r;
  while (e->at < e->n) {
    const int32_t c = jf_char_at(e->s + e->at, &size);
    jf_edit_put(e, c == CAPITAL_I_DOT ? 'i' : jf_char_lower(c), 0);
    if (c == CAPITAL_I_DOT) jf_edit_put(e, DOT_ABOVE, 1);
  }
  return JFL_OK;
}

/* ---- spaces around ideographs ---- */

static int normalize_is_ideograph(int32_t c)
{
  static const int32_t ranges[][2] = {
    { 0x3400, 0x4dbf }, { 0x4e00, 0x9fff }, { 0xf900, 0xfaff }, { 0x20000, 0x2a6df },
    { 0x2a700, 0x2b73f }, { 0x2b740, 0x2b81f }, { 0x2b920, 0x2ceaf }, { 0x2f800, 0x2fa1f }
  };
  for (size_t i = 0; c >= 0x3400 && i < sizeof ranges / sizeof *ranges; i++)
    if (c >= ranges[i][0] && c <= ranges[i][1]) return 1;
  return 0;
}

static jfl_status normalize_ideographs(const jf_text_rule *r, jf_edit *e)
{
  size_t size;
  (void)r;
  while (e->at < e->n) {
    const int32_t c = jf_char_at(e->s + e->at, &size);
    if (!normalize_is_ideograph(c)) {
      jf_edit_copy(e, size);
      continue;
    }
    jf_edit_put(e, ' ', 0);
    jf_edit_put(e, c, 1);
    jf_edit_put(e, ' ', 1);
  }
  return JFL_OK;
}

/* ---- texts that take the place of others ---- */

/* Writes the content for the n bytes that come next. */
static void normalize_put(jf_edit *e, const jf_word *content, size_t n)
{
  size_t size;
  jf_edit_skip(e, n);
  for (size_t i = 0; i < content->n; i += size)
    jf_edit_put(e, jf_char_at(content->s + i, &size), 1);
}

static jfl_status normalize_replace(const jf_text_rule *r, jf_edit *e)
{
  size_t from, to;
  jfl_status s = JFL_OK;
  if (!r->pattern) {
    while (jf_text_find(&r->text, e->s, e->n, e->at, &from, &s)) {
      jf_edit_copy(e, from - e->at);
      normalize_put(e, &r->content, r->text.n);
    }
    jf_edit_copy(e, e->n - e->at);
    return s;
  }
  jf_finder f = { .pattern = r->pattern, .s = e->s, .n = e->n };
  while (jf_finder_next(&f, &from, &to, &s)) {
    jf_edit_copy(e, from - e->at);
    normalize_put(e, &r->content, to - from);
  }
  jf_finder_end(&f);
  jf_edit_copy(e, e->n - e->at);
  return s;
}

static jfl_status normalize_prepend(const jf_text_rule *r, jf_edit *e)
{
  size_t size = 0, first;
  if (!e->n) return JFL_OK;
  const int32_t next = jf_char_at(e->s, &first);
  for (size_t i = 0; i < r->content.n; i += size)
    jf_edit_put(e, jf_char_at(r->content.s + i, &size), i > 0);
  if (r->content.n) jf_edit_put(e, next, 1);
  jf_edit_copy(e, e->n - e->at);
  return JFL_OK;
}

static jfl_status normalize_strip(const jf_text_rule *r, jf_edit *e)
{
  size_t from = 0, to = e->n, size, looked = 0;
  while (r->left && from < to && jf_char_is_space(jf_char_at(e->s + from, &size))) {
    JF_TRY(jf_time_along(from, &looked));
    from += size;
  }
  looked = 0;
  while (r->right && to > from && jf_char_is_space(jf_char_before(e->s + to, &size))) {
    JF_TRY(jf_time_along(e->n - to, &looked));
    to -= size;
  }
  jf_edit_skip(e, from);
  jf_edit_copy(e, to - from);
  return JFL_OK;
}

/* ---- bytes as characters ---- */

/* Printable characters of Latin-1 stand for themselves; other bytes are counted from 256 on. */
static int byte_is_printable(int byte)
{
  return (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

/* The character that stands for a byte. */
static int32_t byte_char(unsigned char byte)
{
  if (byte_is_printable(byte)) return byte;
  return 256 + (byte <= 0x20 ? byte : byte <= 0xa0 ? byte - 0x7f + 33 : 67);
}

int jf_char_byte(int32_t c)
{
  if (c < 256) return byte_is_printable(c) ? c : -1;
  const int k = c - 256;
  return k <= 0x20 ? k : k <= 66 ? k - 33 + 0x7f : k == 67 ? 0xad : -1;
}

jfl_status jf_edit_bytes(const jf_text_rule *r, jf_edit *e)
{
  (void)r;
  while (e->at < e->n) {
    size_t size;
    const int32_t c = jf_char_at(e->s + e->at, &size);
    const char *s = e->s + e->at;
    if (size == 1 && c > ' ' && c < 127) {
      size_t n = 1;
      while (e->at + n < e->n && n < MOST_RUN && s[n] > ' ' && s[n] < 127) n++;
      jf_edit_copy(e, n);
      continue;
    }
    for (size_t i = 0; i < size; i++)
      jf_edit_put(e, byte_char((unsigned char)s[i]), i > 0);
  }
  return JFL_OK;
}

jfl_status jf_normalize(jf_flow *f, const jf_rules *rules)
{
  static const jf_edit_fn edits[] = {
    [JF_NFC] = jf_edit_form, [JF_NFD] = jf_edit_form, [JF_NFKC] = jf_edit_form,
    [JF_NFKD] = jf_edit_form, [JF_LOWERCASE] = normalize_lower,
    [JF_STRIP_ACCENTS] = normalize_each, [JF_CLEAN] = normalize_each,
    [JF_CHINESE] = normalize_ideographs, [JF_STRIP_MARKS] = normalize_each,
    [JF_REPLACE] = normalize_replace, [JF_PREPEND] = normalize_prepend,
    [JF_STRIP] = normalize_strip, [JF_CHARSMAP] = jf_edit_charsmap, [JF_NMT] = normalize_each,
    [JF_BYTES] = jf_edit_bytes
  };
  for (int i = 0; i < rules->n; i++)
    JF_TRY(jf_flow_edit(f, &rules->v[i], edits[rules->v[i].kind]));
  return JFL_OK;
}
