/* The expression becomes a program whose threads all read the text at once (Thompson, "Regular
   expression search algorithm", 1968), so that none takes long. The same on all systems: the C
   library's, where there is one, takes time and memory without bound for some. */
#include "bind/regex.h"

#include <string.h>

enum { MOST_STEPS = 1024, MOST_SETS = 128, MOST_DEPTH = 64 };
typedef enum regex_kind { BYTE, ANY, SET, SPLIT, BEGIN, END, DONE } regex_kind;
/* SPLIT goes on at `to` and at `other`; a jump is one whose two are the same. */
typedef struct regex_step { regex_kind kind; int to, other; } regex_step;

static const char TOO_LONG[] = "too many parts";

typedef struct regex {
  const char *at;
  int n, n_set, depth;
  const char *wrong;
  regex_step step[MOST_STEPS];
  unsigned char set[MOST_SETS][32];
} regex;

static int regex_put(regex *r, regex_kind kind, int to, int other)
{
  if (r->n == MOST_STEPS) return r->wrong = TOO_LONG, 0;
  r->step[r->n] = (regex_step){ kind, to, other };
  return r->n++;
}

/* Makes room for a split before what was written from `from` on. */
static void regex_insert(regex *r, int from)
{
  if (!regex_put(r, SPLIT, 0, 0)) return;
  memmove(&r->step[from + 1], &r->step[from], (size_t)(r->n - 1 - from) * sizeof *r->step);
  for (int i = from + 1; i < r->n; i++)
    if (r->step[i].kind == SPLIT) {
      r->step[i].to += r->step[i].to >= from;
      r->step[i].other += r->step[i].other >= from;
    }
}

static void regex_read_set(regex *r)
{
  const int not = *r->at == '^';
  if (r->n_set == MOST_SETS) {
    r->wrong = TOO_LONG;
    return;
  }
  unsigned char *set = r->set[r->n_set];
  memset(set, 0, 32);
  r->at += not;
  for (const char *first = r->at; *r->at && (*r->at != ']' || r->at == first);) {
    const unsigned char low = (unsigned char)*r->at++;
    unsigned char high = low;
    if (*r->at == '-' && r->at[1] && r->at[1] != ']') {
      high = (unsigned char)r->at[1];
      r->at += 2;
    }
    if (high < low) r->wrong = "a range whose end is before its start";
    for (int c = low; c <= high; c++) set[c / 8] |= (unsigned char)(1 << c % 8);
  }
  if (*r->at++ != ']') r->wrong = "a [ without a ]", r->at--;
  for (int i = 0; not && i < 32; i++) set[i] = (unsigned char)~set[i];
  regex_put(r, SET, r->n_set++, 0);
}

static void regex_read_choice(regex *r);

static void regex_read_atom(regex *r)
{
  const char c = *r->at++;
  if (c == '(') {
    if (++r->depth > MOST_DEPTH) r->wrong = TOO_LONG;
    else regex_read_choice(r);
    r->depth--;
    if (!r->wrong && *r->at++ != ')') r->wrong = "a ( without a )";
  } else if (c == '[') regex_read_set(r);
  else if (c == '.') regex_put(r, ANY, 0, 0);
  else if (c == '^') regex_put(r, BEGIN, 0, 0);
  else if (c == '$') regex_put(r, END, 0, 0);
  else if (c == '*' || c == '+' || c == '?') r->wrong = "a * + or ? that follows nothing";
  else if (c == '{') r->wrong = "a {";
  else if (c == '\\' && !*r->at) r->wrong = "a \\ at its end";
  else regex_put(r, BYTE, (unsigned char)(c == '\\' ? *r->at++ : c), 0);
}

static void regex_read_piece(regex *r)
{
  const int from = r->n;
  regex_read_atom(r);
  for (; !r->wrong && *r->at && strchr("*+?", *r->at); r->at++) {
    if (*r->at == '+') {
      regex_put(r, SPLIT, from, r->n + 1);
      continue;
    }
    const int repeats = *r->at == '*';
    regex_insert(r, from);
    if (repeats) regex_put(r, SPLIT, from, from);
    r->step[from] = (regex_step){ SPLIT, from + 1, r->n };
  }
}

/* Alternatives, up to a bracket that closes, or the end. */
static void regex_read_choice(regex *r)
{
  const int from = r->n;
  while (!r->wrong && *r->at && *r->at != '|' && *r->at != ')') regex_read_piece(r);
  if (r->wrong || *r->at != '|') return;
  r->at++;
  regex_insert(r, from);
  const int jump = regex_put(r, SPLIT, 0, 0);
  if (r->wrong) return;
  r->step[from] = (regex_step){ SPLIT, from + 1, r->n };
  regex_read_choice(r);
  r->step[jump] = (regex_step){ SPLIT, r->n, r->n };
}

/* Adds a step, and where it splits those that follow, to the threads. */
static void regex_add(const regex *r, int at, int begins, int ends, unsigned char *threads)
{
  if (threads[at]) return;
  threads[at] = 1;
  const regex_step *s = &r->step[at];
  if (s->kind == SPLIT) {
    regex_add(r, s->to, begins, ends, threads);
    regex_add(r, s->other, begins, ends, threads);
  } else if ((s->kind == BEGIN && begins) || (s->kind == END && ends)) {
    regex_add(r, at + 1, begins, ends, threads);
  }
}

static int regex_takes(const regex *r, const regex_step *s, unsigned char c)
{
  if (s->kind == SET) return r->set[s->to][c / 8] >> c % 8 & 1;
  return s->kind == ANY || (s->kind == BYTE && s->to == c);
}

static int regex_find(const regex *r, const char *text)
{
  unsigned char threads[MOST_STEPS] = { 0 }, after[MOST_STEPS];
  for (const char *p = text;; p++) {
    regex_add(r, 0, p == text, !*p, threads);
    if (threads[r->n - 1]) return 1;
    if (!*p) return 0;
    memset(after, 0, sizeof after);
    for (int i = 0; i < r->n; i++)
      if (threads[i] && regex_takes(r, &r->step[i], (unsigned char)*p))
        regex_add(r, i + 1, 0, !p[1], after);
    memcpy(threads, after, sizeof threads);
  }
}

int jf_regex_matches(const char *expression, const char *text, const char **wrong)
{
  regex r = { .at = expression };
  regex_read_choice(&r);
  if (!r.wrong && *r.at) r.wrong = "a ) without a (";
  regex_put(&r, DONE, 0, 0);
  if (!r.wrong) return regex_find(&r, text);
  return *wrong = r.wrong, -1;
}
