/* Regular expressions of names. */
#include "bind/regex.h"
#include "test.h"

#include <string.h>

static void expressions_match_as_posix_says(void)
{
  static const struct { const char *expression, *text; int found; } cases[] = {
    { "", "abc", 1 }, { "b", "abc", 1 }, { "^b", "abc", 0 }, { "c$", "abc", 1 }, { "b$", "abc", 0 },
    { "a.c", "xabcx", 1 }, { "ab*c", "ac", 1 }, { "ab+c", "ac", 0 }, { "ab+c", "abbbc", 1 },
    { "ab?c", "abbc", 0 }, { "a|b", "xb", 1 }, { "^(a|b)+$", "abba", 1 }, { "^(a|b)+$", "abca", 0 },
    { "[a-c]x", "cx", 1 }, { "[^a-c]x", "cx", 0 }, { "[]x]y", "]y", 1 }, { "a\\.b", "axb", 0 },
    { "^(bias|norm.*weight)$", "norm_1-weight", 1 }, { "(a(b|c)*d|e)f", "abcbcdf", 1 },
    { "^(a*b)*$", "aabab", 1 }, { "^x*$", "", 1 }, { "(^a|b$)", "xb", 1 }, { "a**", "b", 1 },
  };
  const char *wrong = "";
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    CHECK_MSG(jf_regex_matches(cases[i].expression, cases[i].text, &wrong) == cases[i].found,
              "%s in %s: %s", cases[i].expression, cases[i].text, wrong);
}

static void what_cannot_be_read_is_named(void)
{
  static const struct { const char *expression, *wrong; } cases[] = {
    { "(", "a ( without a )" }, { "a)", "a ) without a (" }, { "[a", "a [ without a ]" },
    { "[b-a]", "a range whose end" }, { "a\\", "a \\ at its end" }, { "a{2}", "a {" },
    { "+a", "follows nothing" }, { "(|*)", "follows nothing" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const char *wrong = "";
    CHECK(jf_regex_matches(cases[i].expression, "", &wrong) == -1);
    CHECK_MSG(strstr(wrong, cases[i].wrong), "%s: %s", cases[i].expression, wrong);
  }
}

/* The parts of a text that is one part again and again, of which so many are read and no more. */
static void check_limit(const char *before, const char *part, const char *after, int most)
{
  enum { STARTS = 64 };
  static char text[8192];
  for (int n = most; n <= most + 1; n++) {
    const char *wrong = "";
    size_t at = strlen(strcpy(text, before));
    for (int i = 0; i < n; i++, at += strlen(part)) strcpy(text + at, part);
    for (int i = 0; *after && i < n; i++, at += strlen(after)) strcpy(text + at, after);
    const int found = jf_regex_matches(text, "", &wrong);
    if (n <= most) CHECK_MSG(found == 1, "%d of %s%s: %s", n, part, after, wrong);
    else CHECK_MSG(found < 0 && !strcmp(wrong, "too many parts"), "%d of %s%s", n, part, after);
  }
}

static void limits_are_of_depth_sets_and_steps(void)
{
  char flat[512];
  const char *wrong = "";
  for (size_t i = 0; i < sizeof flat; i++) flat[i] = i % 2 ? ')' : '(';
  flat[sizeof flat - 1] = 0;
  flat[sizeof flat - 2] = 0;
  CHECK_MSG(jf_regex_matches(flat, "", &wrong) == 1, "brackets side by side: %s", wrong);
  check_limit("", "(", ")", 64);
  check_limit("", "[a]?", "", 128);
  check_limit("", "a?", "", 1023 / 2);           /* a step each, and one that splits */
  check_limit("b?", "a?", "", 1023 / 2 - 1);
}

/* What others read for minutes, or by a stack without end. */
static void none_takes_long(void)
{
  static char text[4096], deep[4096];
  const char *wrong;
  memset(text, 'a', sizeof text - 1);
  CHECK(jf_regex_matches("(a*)*b", text, &wrong) == 0);
  CHECK(jf_regex_matches("(((a+)+)+)+$", text, &wrong) == 1);
  memset(deep, '(', sizeof deep - 1);
  CHECK(jf_regex_matches(deep, text, &wrong) == -1 && !strcmp(wrong, "too many parts"));
  memset(deep, '|', sizeof deep - 1);
  CHECK(jf_regex_matches(deep, text, &wrong) == -1 && !strcmp(wrong, "too many parts"));
  for (size_t i = 0; i + 4 < sizeof deep; i += 3) memcpy(deep + i, "a++", 3);
  CHECK(jf_regex_matches(deep, text, &wrong) == -1 && !strcmp(wrong, "too many parts"));
}

int main(void)
{
  RUN(expressions_match_as_posix_says);
  RUN(what_cannot_be_read_is_named);
  RUN(limits_are_of_depth_sets_and_steps);
  RUN(none_takes_long);
  return test_done();
}
