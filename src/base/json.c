/* A strict pull reader of JSON, safe on any bytes, and the writer of its strings. */
#include "base/json.h"
#include "system/system.h"

#include <string.h>

enum { MAX_DEPTH = 64, LONGEST_NUMBER = 400 };

size_t jf_json_where(const jf_json *j) { return j->origin + (size_t)(j->at - j->start); }

static jfl_status json_want(const jf_json *j, const char *what)
{
  if (j->at == j->end)
    return jf_fail(JFL_EDATA, "byte %zu: %s must follow, got the end of the text", jf_json_where(j),
                   what);
  unsigned char c = (unsigned char)*j->at;
  if (c < 0x20 || c > 0x7e)
    return jf_fail(JFL_EDATA, "byte %zu: %s must follow, got the byte 0x%02x", jf_json_where(j),
                   what, c);
  return jf_fail(JFL_EDATA, "byte %zu: %s must follow, got '%c'", jf_json_where(j), what, c);
}

static int here(const jf_json *j, char c) { return j->at < j->end && *j->at == c; }

/* Called by each loop over the text: looks at the time now and then. */
static jfl_status in_time(jf_json *j)
{
  return jf_time_along((size_t)(j->at - j->start), &j->looked);
}

static jfl_status blanks(jf_json *j)
{
  while (here(j, ' ') || here(j, '\n') || here(j, '\t') || here(j, '\r')) {
    JF_TRY(in_time(j));
    j->at++;
  }
  return in_time(j);
}

void jf_json_open(jf_json *j, char *text, size_t n, size_t origin)
{
  *j = (jf_json){ .start = text, .at = text, .end = text + n, .origin = origin };
}

jfl_status jf_json_peek(jf_json *j, char *out)
{
  JF_TRY(blanks(j));
  *out = j->at < j->end ? *j->at : '\0';
  return JFL_OK;
}

jfl_status jf_json_enter(jf_json *j, char open)
{
  JF_TRY(blanks(j));
  if (!here(j, open)) return json_want(j, open == '{' ? "an object" : "an array");
  j->at++;
  j->fresh = 1;
  return JFL_OK;
}

jfl_status jf_json_next(jf_json *j, char close, int *more)
{
  JF_TRY(blanks(j));
  int ended = here(j, close);
  if (!ended && !j->fresh && !here(j, ','))
    return json_want(j, close == '}' ? "',' or '}'" : "',' or ']'");
  if (ended || !j->fresh) j->at++;
  j->fresh = 0;
  *more = !ended;
  return JFL_OK;
}

/* ---- strings ---- */

static char *put_utf8(char *w, uint32_t c)
{
  if (c < 0x80) {
    *w++ = (char)c;
    return w;
  }
  int rest = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  *w++ = (char)((0xf0u << (3 - rest) & 0xff) | c >> 6 * rest);
  while (rest--) *w++ = (char)(0x80 | (c >> 6 * rest & 0x3f));
  return w;
}

/* The four digits of a \u escape. */
static jfl_status hex4(jf_json *j, uint32_t *out)
{
  uint32_t v = 0;
  for (int i = 0; i < 4; i++, j->at++) {
    char c = j->at < j->end ? *j->at : '\0';
    int digit = c >= '0' && c <= '9';
    if (!digit && !((c | 32) >= 'a' && (c | 32) <= 'f')) return json_want(j, "a hexadecimal digit");
    v = v << 4 | (uint32_t)(digit ? c - '0' : (c | 32) - 'a' + 10);
  }
  *out = v;
  return JFL_OK;
}

static jfl_status unicode(jf_json *j, char **w)
{
  uint32_t c = 0, low = 0;
  JF_TRY(hex4(j, &c));
  if (!c && !j->zeros)
    return jf_fail(JFL_EDATA, "byte %zu: a name must not hold a zero byte", jf_json_where(j) - 6);
  if (c >> 11 == 0xd800 >> 11) {
    if (c >= 0xdc00 || j->end - j->at < 2 || j->at[0] != '\\' || j->at[1] != 'u')
      return jf_fail(JFL_EDATA, "byte %zu: half of a surrogate pair", jf_json_where(j) - 6);
    j->at += 2;
    JF_TRY(hex4(j, &low));
    if (low >> 10 != 0xdc00 >> 10)
      return jf_fail(JFL_EDATA, "byte %zu: half of a surrogate pair", jf_json_where(j) - 12);
    c = 0x10000 + ((c & 0x3ff) << 10 | (low & 0x3ff));
  }
  *w = put_utf8(*w, c);
  return JFL_OK;
}

static jfl_status escape(jf_json *j, char **w)
{
  static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
  j->at++;
  if (here(j, 'u')) {
    j->at++;
    return unicode(j, w);
  }
  const char *k = j->at < j->end && *j->at ? strchr(from, *j->at) : NULL;
  if (!k) return json_want(j, "an escape");
  *(*w)++ = to[k - from];
  j->at++;
  return JFL_OK;
}

static jfl_status json_plain(jf_json *j, char **w)
{
  const unsigned char c = (unsigned char)*j->at;
  if (c >= 0x20 && c < 0x80) {
    *(*w)++ = *j->at++;
    return JFL_OK;
  }
  size_t len = c < 0x20 ? 0 : jf_utf8_step(j->at, (size_t)(j->end - j->at));
  if (!len) return json_want(j, "UTF-8 text");
  while (len--) *(*w)++ = *j->at++;
  return JFL_OK;
}

/* Decodes in place: the result is never longer than its source, and its terminator takes the place
   of the closing quote. */
jfl_status jf_json_string(jf_json *j, const char **out)
{
  JF_TRY(blanks(j));
  if (!here(j, '"')) return json_want(j, "a string");
  char *w = ++j->at;
  *out = w;
  while (!here(j, '"')) {
    if (j->at == j->end) return json_want(j, "the end of a string");
    JF_TRY(in_time(j));
    JF_TRY(here(j, '\\') ? escape(j, &w) : json_plain(j, &w));
  }
  *w = '\0';
  j->length = (size_t)(w - *out);
  j->at++;
  return JFL_OK;
}

jfl_status jf_json_key(jf_json *j, const char **out)
{
  JF_TRY(jf_json_string(j, out));
  JF_TRY(blanks(j));
  if (!here(j, ':')) return json_want(j, "':'");
  j->at++;
  return JFL_OK;
}

void jf_json_put(jf_text *t, const char *s)
{
  jf_text_put(t, "\"", 1);
  for (; *s; s++) {
    if ((unsigned char)*s < 0x20) {
      jf_text_add(t, "\\u%04x", (unsigned char)*s);
      continue;
    }
    if (*s == '"' || *s == '\\') jf_text_put(t, "\\", 1);
    jf_text_put(t, s, 1);
  }
  jf_text_put(t, "\"", 1);
}

/* ---- numbers and all else ---- */

static int digit(const jf_json *j) { return j->at < j->end && *j->at >= '0' && *j->at <= '9'; }

jfl_status jf_json_whole(jf_json *j, uint64_t *out)
{
  JF_TRY(blanks(j));
  if (!digit(j)) return json_want(j, "a whole number");
  size_t first = jf_json_where(j);
  int zero = here(j, '0');
  uint64_t v = 0;
  for (; digit(j); j->at++) {
    JF_TRY(in_time(j));
    uint64_t d = (uint64_t)(*j->at - '0');
    if (v > (UINT64_MAX - d) / 10) return jf_fail(JFL_EDATA, "byte %zu: number too large", first);
    v = 10 * v + d;
  }
  if ((zero && jf_json_where(j) - first > 1) || here(j, '.') || here(j, 'e') || here(j, 'E'))
    return jf_fail(JFL_EDATA, "byte %zu: a whole number must follow", first);
  *out = v;
  return JFL_OK;
}

static jfl_status digits(jf_json *j)
{
  if (!digit(j)) return json_want(j, "a digit");
  for (; digit(j); j->at++) JF_TRY(in_time(j));
  return JFL_OK;
}

static jfl_status json_number(jf_json *j)
{
  if (here(j, '-')) j->at++;
  int zero = here(j, '0');
  char *first = j->at;
  JF_TRY(digits(j));
  if (zero && j->at - first > 1) return json_want(j, "no digit after a leading zero");
  if (here(j, '.')) {
    j->at++;
    JF_TRY(digits(j));
  }
  if (!here(j, 'e') && !here(j, 'E')) return JFL_OK;
  j->at++;
  if (here(j, '+') || here(j, '-')) j->at++;
  return digits(j);
}

jfl_status jf_json_double(jf_json *j, double *out)
{
  char text[LONGEST_NUMBER + 1], *end;
  JF_TRY(blanks(j));
  const char *from = j->at;
  JF_TRY(json_number(j));
  const size_t n = (size_t)(j->at - from);
  if (n > LONGEST_NUMBER)
    return jf_fail(JFL_EDATA, "byte %zu: a number must have at most %d characters",
                   jf_json_where(j), LONGEST_NUMBER);
  memcpy(text, from, n);
  text[n] = '\0';
  *out = jf_number_read(text, &end);
  return JFL_OK;
}

static jfl_status json_word(jf_json *j)
{
  static const char *const words[] = { "true", "false", "null" };
  for (int i = 0; i < 3; i++) {
    size_t n = strlen(words[i]);
    if ((size_t)(j->end - j->at) < n || memcmp(j->at, words[i], n)) continue;
    j->at += n;
    return JFL_OK;
  }
  return json_want(j, "a value");
}

static jfl_status skip(jf_json *j, int depth)
{
  const char *ignored;
  JF_TRY(blanks(j));
  if (here(j, '"')) return jf_json_string(j, &ignored);
  if (here(j, '-') || digit(j)) return json_number(j);
  if (!here(j, '{') && !here(j, '[')) return json_word(j);
  if (depth == MAX_DEPTH)
    return jf_fail(JFL_EDATA, "byte %zu: nested too deeply", jf_json_where(j));
  char close = here(j, '{') ? '}' : ']';
  JF_TRY(jf_json_enter(j, *j->at));
  for (int more;;) {
    JF_TRY(jf_json_next(j, close, &more));
    if (!more) return JFL_OK;
    if (close == '}') JF_TRY(jf_json_key(j, &ignored));
    JF_TRY(skip(j, depth + 1));
  }
}

jfl_status jf_json_skip(jf_json *j) { return skip(j, 0); }

jfl_status jf_json_end(jf_json *j)
{
  JF_TRY(blanks(j));
  return j->at == j->end ? JFL_OK : json_want(j, "the end of the text");
}
