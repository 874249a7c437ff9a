/* Growable text, for printing graphs, plans and files. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Room for n more bytes and a terminator; 0 once memory is out. */
static int text_reserve(jf_text *t, size_t n)
{
  if (t->failed) return 0;
  if (t->n + n + 1 <= t->cap) return 1;
  size_t cap = 2 * (t->n + n + 1);
  const int is_long = t->most && t->n + n > t->most;
  char *s = is_long ? NULL : jf_new_raw(cap);
  if (s && t->n) memcpy(s, t->s, t->n);
  jf_free(t->s);
  *t = (jf_text){ s, s ? t->n : 0, s ? cap : 0, is_long ? JF_TOO_LONG : !s, t->most };
  return s != NULL;
}

void jf_text_put(jf_text *t, const char *s, size_t n)
{
  if (!text_reserve(t, n)) return;
  memcpy(t->s + t->n, s, n);
  t->n += n;
  t->s[t->n] = '\0';
}

void jf_text_add(jf_text *t, const char *fmt, ...)
{
  const size_t room = t->failed ? 0 : t->cap - t->n;
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(room ? t->s + t->n : NULL, room, fmt, ap);
  va_end(ap);
  if (n < 0 || !text_reserve(t, (size_t)n)) return;
  if ((size_t)n >= room) {
    va_start(ap, fmt);
    vsnprintf(t->s + t->n, (size_t)n + 1, fmt, ap);
    va_end(ap);
  }
  t->n += (size_t)n;
}

jfl_status jf_text_take(jf_text *t, char **out)
{
  jf_text_put(t, "", 0);
  if (t->failed) return jf_fail(JFL_ENOMEM, "out of memory while printing");
  *out = t->s;
  *t = (jf_text){0};
  return JFL_OK;
}

int jf_has_word(const char *words, const char *word)
{
  const size_t n = strlen(word);
  for (const char *w = words; n && (w = strstr(w, word)); w += n)
    if ((w == words || w[-1] == ' ') && (w[n] == ' ' || !w[n])) return 1;
  return 0;
}

int jf_by_text(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}
