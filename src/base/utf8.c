/* Texts as UTF-8: whether they are, and how they are shown. */
#include "base/base.h"

#include <stdio.h>
#include <string.h>

size_t jf_utf8_step(const char *text, size_t n)
{
  const unsigned char *s = (const unsigned char *)text;
  if (s[0] < 0x80) return 1;
  size_t len = s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 0;
  if (!len || len > n) return 0;
  unsigned char low = s[0] == 0xe0 ? 0xa0 : s[0] == 0xf0 ? 0x90 : 0x80;
  unsigned char high = s[0] == 0xed ? 0x9f : s[0] == 0xf4 ? 0x8f : 0xbf;
  if (s[1] < low || s[1] > high) return 0;
  for (size_t i = 2; i < len; i++)
    if ((s[i] & 0xc0) != 0x80) return 0;
  return len;
}

int jf_utf8_valid(const char *s)
{
  for (size_t n = strlen(s), len; n; n -= len, s += len) {
    len = jf_utf8_step(s, n);
    if (!len) return 0;
  }
  return 1;
}

/* Whether a terminal or a reader may be misled by the character of len bytes: the control
   characters of ASCII but for line feed and tab, those from U+0080 to U+009F, and what changes the
   direction of writing, U+202A to U+202E and U+2066 to U+2069. */
static int utf8_misleads(const char *text, size_t len)
{
  const unsigned char *s = (const unsigned char *)text;
  if (len == 1) return (s[0] < ' ' && s[0] != '\n' && s[0] != '\t') || s[0] == 0x7f;
  if (len == 2) return s[0] == 0xc2 && s[1] < 0xa0;
  return len == 3 && s[0] == 0xe2 &&
         ((s[1] == 0x80 && s[2] >= 0xaa && s[2] <= 0xae) ||
          (s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9));
}

/* A text that is shown: `used` bytes of `need` had room. */
typedef struct utf8_shown { char *out; size_t size, used, need; } utf8_shown;

static void utf8_put(utf8_shown *t, const char *s, size_t n)
{
  if (t->used == t->need && t->used + n < t->size) {
    memcpy(t->out + t->used, s, n);
    t->used += n;
    t->out[t->used] = '\0';
  }
  t->need += n;
}

static void utf8_put_hex(utf8_shown *t, const char *s, size_t n)
{
  char hex[8];
  for (size_t i = 0; i < n; i++) {
    snprintf(hex, sizeof hex, "\\x%02x", (unsigned char)s[i]);
    utf8_put(t, hex, 4);
  }
}

size_t jfl_printable(const char *text, size_t n, char *out, size_t size)
{
  utf8_shown t = { .out = out, .size = out ? size : 0 };
  if (t.size) *out = '\0';
  if (!text) return 0;
  for (size_t i = 0, len; i < n; i += len) {
    len = jf_utf8_step(text + i, n - i);
    if (len && !utf8_misleads(text + i, len)) {
      utf8_put(&t, text + i, len);
    } else {
      if (!len) len = 1;
      utf8_put_hex(&t, text + i, len);
    }
  }
  return t.need;
}
