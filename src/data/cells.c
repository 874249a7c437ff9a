/* Splits a text into lines and cells, as RFC 4180 describes them: a cell may stand in quotes, where
   it may hold separators, line ends and doubled quotes. */
#include "data/csv.h"

#include <string.h>

int jf_cells_more(jf_cells *c)
{
  for (; c->at < c->end && (*c->at == '\n' || *c->at == '\r'); c->at++) c->line += *c->at == '\n';
  return c->at < c->end;
}

/* Ends a cell at its separator, its line's end or the text's end. */
static void cells_end(jf_cells *c, jf_csv_cell *out)
{
  out->last = c->at >= c->end || *c->at != c->separator;
  if (c->at < c->end && *c->at == '\r') c->at++;
  if (c->at < c->end && *c->at == '\n') c->line++;
  if (c->at < c->end && (!out->last || *c->at == '\n')) c->at++;
}

/* A cell in quotes; at is behind the first of them. */
static jfl_status cells_quoted(jf_cells *c, jf_csv_cell *out)
{
  const int64_t line = c->line;
  const char *p = c->at;
  *out = (jf_csv_cell){ .s = p };
  for (;; p += 2, out->doubled = 1) {
    const char *quote = memchr(p, '"', (size_t)(c->end - p));
    if (!quote) return jf_fail(JFL_EDATA, "line %lld: a quote is not closed", (long long)line);
    for (; p < quote; p++) c->line += *p == '\n';
    if (p + 1 >= c->end || p[1] != '"') break;
  }
  out->n = (size_t)(p - out->s);
  c->at = ++p;
  if (p < c->end && *p != c->separator && *p != '\n' && *p != '\r')
    return jf_fail(JFL_EDATA, "line %lld: a separator must follow a closing quote, got '%c'",
                   (long long)c->line, *p);
  cells_end(c, out);
  return JFL_OK;
}

size_t jf_cells_undouble(char *to, const char *s, size_t n)
{
  size_t at = 0;
  for (size_t i = 0; i < n; i++) {
    to[at++] = s[i];
    i += s[i] == '"' && i + 1 < n && s[i + 1] == '"';
  }
  return at;
}

jfl_status jf_cells_next(jf_cells *c, jf_csv_cell *out)
{
  const char *p = c->at;
  if (p < c->end && *p == '"') {
    c->at++;
    return cells_quoted(c, out);
  }
  while (*p != c->separator && *p != '\n' && (*p || p < c->end)) p++;
  *out = (jf_csv_cell){ .s = c->at, .n = (size_t)(p - c->at) };
  if (out->n && (p >= c->end || *p == '\n') && p[-1] == '\r') out->n--;
  c->at = p;
  cells_end(c, out);
  return JFL_OK;
}
