/* src/base/json.c: what the reader accepts, what it refuses, and that no input crashes it. */
#include "base/json.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

/* A copy without a terminator, so that sanitizers notice a read past the end. */
static char *copy_of(const char *text, size_t n)
{
  char *p = malloc(n ? n : 1);
  memcpy(p, text, n);
  return p;
}

static jfl_status skip_all(const char *text, size_t n)
{
  jf_json j;
  char *p = copy_of(text, n);
  jf_json_open(&j, p, n, 0);
  jfl_status s = jf_json_skip(&j);
  if (s == JFL_OK) s = jf_json_end(&j);
  free(p);
  return s;
}

static int takes(const char *text) { return skip_all(text, strlen(text)) == JFL_OK; }

static int decodes(const char *text, const char *want)
{
  jf_json j;
  const char *s;
  char *p = copy_of(text, strlen(text));
  jf_json_open(&j, p, strlen(text), 0);
  int same = jf_json_string(&j, &s) == JFL_OK && !strcmp(s, want);
  free(p);
  return same;
}

static void takes_json(void)
{
  static const char *const good[] = {
    "{}", "[]", " \t\r\n[ ] ", "\"\"", "0", "-0", "10.5e-3", "1E+9", "true", "false", "null",
    "{\"a\":1,\"b\":[1,2,{\"c\":null}],\"\":{}}", "[[],[[]],{}]", "\"\\u00e9 \\ud83d\\ude00\"",
    "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "18446744073709551616",
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++)
    CHECK_MSG(takes(good[i]), "%s: %s", good[i], jfl_errmsg());
}

static void refuses_all_else(void)
{
  static const char *const bad[] = {
    "", " ", "{", "}", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "{\"a\"}", "{\"a\":}",
    "{\"a\":1,}", "{a:1}", "{1:1}", "'a'", "\"", "\"a", "\"\\", "\"\\x\"", "\"\\u12\"",
    "\"\\u12g4\"", "\"\n\"",
    "\"\\u0000\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\\ud800\"", "\"\xff\"",
    "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"", "01", "-", "1.",
    ".5", "1e", "+1", "NaN", "Infinity", "tru", "nul", "[] []", "{}x", "[}", "{]", "[1]]",
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK_MSG(!takes(bad[i]), "took %s", bad[i]);
  CHECK(skip_all("\"a\0b\"", 5) == JFL_EDATA);
}

static void decodes_strings_in_place(void)
{
  CHECK(decodes("\"plain\"", "plain"));
  CHECK(decodes("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t"));
  CHECK(decodes("\"\\u0041\\u00E9\\u20ac\\uD83D\\uDE00\"",
                "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  CHECK(decodes("\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"",
                "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf"));
}

static void reads_whole_numbers(void)
{
  static const struct { const char *text; uint64_t v; } good[] = {
    { "0", 0 }, { " 42", 42 }, { "18446744073709551615", UINT64_MAX },
  };
  static const char *const bad[] = {
    "-1", "1.5", "1e3", "00", "18446744073709551616", "\"1\"", ""
  };
  jf_json j;
  uint64_t v;
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    jf_json_open(&j, (char *)good[i].text, strlen(good[i].text), 0);
    CHECK(jf_json_whole(&j, &v) == JFL_OK && v == good[i].v);
  }
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    jf_json_open(&j, (char *)bad[i], strlen(bad[i]), 0);
    CHECK_MSG(jf_json_whole(&j, &v) == JFL_EDATA, "took %s", bad[i]);
  }
}

static void names_the_byte(void)
{
  jf_json j;
  char text[] = "{\"a\" 1}";
  const char *key;
  int more;
  jf_json_open(&j, text, strlen(text), 8);
  CHECK(jf_json_enter(&j, '{') == JFL_OK && jf_json_next(&j, '}', &more) == JFL_OK && more);
  CHECK(jf_json_key(&j, &key) == JFL_EDATA);
  CHECK_MSG(!strcmp(jfl_errmsg(), "byte 13: ':' must follow, got '1'"), "%s", jfl_errmsg());
}

/* A byte that is no sign of ASCII is told of by its number. */
static void shows_the_byte(void)
{
  for (int c = 0; c < 256; c++) {
    char text[] = { (char)c, '\0' }, shown[16];
    jf_json j;
    if (c && strchr(" \n\t\r[", c)) continue;
    snprintf(shown, sizeof shown, c > ' ' && c < 0x7f ? "got '%c'" : "got the byte 0x%02x", c);
    jf_json_open(&j, text, 1, 0);
    CHECK(jf_json_enter(&j, '[') == JFL_EDATA);
    CHECK_MSG(strstr(jfl_errmsg(), shown), "%s", jfl_errmsg());
  }
}

static void bounds_its_depth(void)
{
  enum { DEPTH = 1 << 20 };
  char *p = malloc(DEPTH);
  memset(p, '[', DEPTH);
  CHECK(skip_all(p, DEPTH) == JFL_EDATA);
  CHECK(strstr(jfl_errmsg(), "too deeply") != NULL);
  free(p);
}

static const char sample[] =
  "{\"__metadata__\":{\"a\\u00e9\":\"b\"},\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],"
  "\"data_offsets\":[0,24]},\"x\":[null,true,-1.5e3,{\"y\":\"\xf0\x9f\x98\x80\"}]}";

static void refuses_every_prefix(void)
{
  for (size_t n = 0; n < sizeof sample - 1; n++)
    CHECK_MSG(skip_all(sample, n) == JFL_EDATA, "%zu", n);
  CHECK(takes(sample));
}

static void survives_any_bytes(void)
{
  char text[sizeof sample];
  int taken = 0;
  for (uint64_t i = 0; i < 50000; i++) {
    jf_philox r = jf_philox_at(1, 0, i);
    memcpy(text, sample, sizeof sample);
    for (uint32_t k = 0; k <= r.w[0] % 3; k++)
      text[r.w[k + 1] % (sizeof sample - 1)] = (char)(r.w[k + 1] >> 24);
    taken += skip_all(text, sizeof sample - 1) == JFL_OK;
  }
  CHECK_MSG(taken > 0 && taken < 50000, "%d", taken);
}

static void writes_what_it_reads(void)
{
  char raw[300];
  int n = 0;
  for (int c = 1; c < 0x80; c++) raw[n++] = (char)c;
  strcpy(raw + n, "\xc3\xa9\xf0\x9f\x98\x80");
  jf_text t = {0};
  jf_json_put(&t, raw);
  CHECK(decodes(t.s, raw));
  jf_free(t.s);
  CHECK(jf_utf8_valid(raw) && jf_utf8_valid("") && !jf_utf8_valid("a\x80"));
}

int main(void)
{
  RUN(takes_json);
  RUN(refuses_all_else);
  RUN(decodes_strings_in_place);
  RUN(reads_whole_numbers);
  RUN(names_the_byte);
  RUN(shows_the_byte);
  RUN(bounds_its_depth);
  RUN(refuses_every_prefix);
  RUN(survives_any_bytes);
  RUN(writes_what_it_reads);
  return test_done();
}
