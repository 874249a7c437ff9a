/* The texts that a restricted script is made of, on their way into LuaJIT's compiler.

   That of 2.1.0-beta3 looks at the first instruction of what follows `in`, to tell pairs() and
   next. Where it is nil there may be none, since nil joins an instruction before it: `local d for a
   in nil do end`. Then the compiler takes what an earlier function left there, follows it out of
   its tables and crashes (issues 1054 and 1226). So each `for` gets a statement before it that nil
   cannot join, in the same line, and which does nothing. */
#include "box/box.h"

#include <string.h>

static const char barrier[] = "repeat until true ";

/* ---- where each `for` is ---- */

static int is_of_word(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         (unsigned char)c >= 0x80;
}

/* Behind a long bracket that opens at p, or NULL where none does. One without an end takes all. */
static const char *behind_long(const char *p, const char *end)
{
  const char *q = p + 1;
  while (q < end && *q == '=') q++;
  if (q == end || *q != '[') return NULL;
  const ptrdiff_t n = q - p;
  while (q < end && (q = memchr(q, ']', (size_t)(end - q)))) {
    const char *r = q + 1;
    while (r < end && *r == '=' && r - q < n) r++;
    if (r < end && *r == ']' && r - q == n) return r + 1;
    q++;
  }
  return end;
}

static const char *behind_quoted(const char *p, const char *end)
{
  const char quote = *p++;
  while (p < end && *p != quote) p += *p == '\\' && end - p > 1 ? 2 : 1;
  return p < end ? p + 1 : end;
}

static const char *behind_comment(const char *p, const char *end)
{
  const char *q = p + 2 < end && p[2] == '[' ? behind_long(p + 2, end) : NULL;
  if (q) return q;
  while (p < end && *p != '\n' && *p != '\r') p++;
  return p;
}

/* The next `for` from p on, where something of the language begins; end where there is none. */
static const char *next_for(const char *p, const char *end)
{
  while (p < end) {
    const char *word = p, *q;
    while (p < end && is_of_word(*p)) p++;
    if (p - word == 3 && !memcmp(word, "for", 3)) return word;
    if (p > word) continue;
    if (*p == '"' || *p == '\'') p = behind_quoted(p, end);
    else if (*p == '-' && end - p > 1 && p[1] == '-') p = behind_comment(p, end);
    else p = *p == '[' && (q = behind_long(p, end)) ? q : p + 1;
  }
  return end;
}

/* Behind what LuaJIT skips first: the mark of UTF-8, and a line that begins with #. */
static const char *behind_head(const char *p, const char *end)
{
  if (end - p >= 3 && !memcmp(p, "\xef\xbb\xbf", 3)) p += 3;
  if (p < end && *p == '#')
    while (p < end && *p != '\n' && *p != '\r') p++;
  return p;
}

/* ---- reading ---- */

/* A text that is read piece by piece, each of which is counted, up to the next `for`, where the
   barrier is a piece of its own. The compiler catches the error of a limit, so its caller asks
   again. */
typedef struct reading { const char *at, *stop, *end; } reading;

static const char *next_piece(lua_State *L, void *ud, size_t *n)
{
  reading *r = ud;
  const char *piece = r->at;
  if (r->at == r->stop && r->at < r->end) {
    r->stop = next_for(r->at + 3, r->end);
    *n = sizeof barrier - 1;
    jf_meter_charge(L, (double)*n);
    return barrier;
  }
  const size_t left = (size_t)(r->stop - r->at);
  *n = left < JF_STEPS ? left : JF_STEPS;
  jf_meter_charge(L, (double)*n);
  r->at += *n;
  return *n ? piece : NULL;
}

int jf_box_load(lua_State *L, const char *text, size_t n, const char *name)
{
  reading r = { text, text, text + n };
  r.stop = next_for(behind_head(r.at, r.end), r.end);
  const int status = lua_loadx(L, next_piece, &r, name, "t");
  jf_meter_stop(L);
  return status;
}
