/* What is known of characters. */
#include "text/text.h"

#include <pthread.h>
#include <stdlib.h>

/* Characters from `first` up to the next run's, of those that have a case, or parts. In a list of
   cases each becomes the one that is `to` further; in that of decompositions they follow each other
   and become `each` others, of which the first one's begin at number `to` of char_parts. */
typedef struct jf_char_run { int32_t first, each, to; } jf_char_run;
typedef struct jf_char_triple { int32_t a, b, to; } jf_char_triple;

#include "text/unicode.inc"

/* Syllables of Hangul are made by arithmetic (The Unicode Standard, section 3.12). */
enum { L_FIRST = 0x1100, V_FIRST = 0x1161, T_FIRST = 0x11a7, S_FIRST = 0xac00, N_L = 19, N_V = 21,
       N_T = 28, N_S = N_L * N_V * N_T, N_CHARS = 0x110000 };

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- tables, which are unpacked when the first character is asked for ---- */

static pthread_once_t unpack_once = PTHREAD_ONCE_INIT;
static int unpacked;
static uint8_t char_numbers[N_CHARS];                     /* the record of each */
static int32_t char_parts[N_PARTS];
static jf_char_triple char_compositions[N_COMPOSITIONS];  /* sorted by the two parts */

/* A list of numbers in which -2n stands for n times the one before it, and -2n - 1 for n numbers
   that go on as the last two. */
typedef struct jf_packed { const int32_t *at; int again, alternates; int32_t last[2]; } jf_packed;

static int32_t packed_next(jf_packed *p)
{
  if (!p->again && *p->at < 0) {
    p->again = -*p->at / 2;
    p->alternates = -*p->at++ % 2;
  }
  const int32_t v = p->again ? p->last[p->alternates] : *p->at++;
  p->again -= p->again > 0;
  p->last[1] = p->last[0];
  return p->last[0] = v;
}

static void unpack_numbers(void)
{
  jf_packed p = { .at = packed_numbers };
  for (int32_t c = 0; c < N_CHARS; c++) {
    const int32_t number = packed_next(&p);
    if (number) char_numbers[c] = (uint8_t)number;
    else if (!p.alternates) c += p.again, p.again = 0;    /* not assigned: they are 0 already */
  }
}

static void unpack_parts(void)
{
  jf_packed p = { .at = packed_parts };
  for (size_t i = 0; i < COUNT(char_apart); i++) {
    const jf_char_run *r = &char_apart[i];
    const int end = i + 1 < COUNT(char_apart) ? r[1].to : N_PARTS;
    for (int k = r->to; k < end; k++) {
      const int32_t step = packed_next(&p);
      char_parts[k] = (step & 1 ? -(step + 1) / 2 : step / 2) +
                      (k < r->to + r->each ? 0 : char_parts[k - r->each]);
    }
  }
}

static int compare_pairs(const void *a, const void *b)
{
  const jf_char_triple *x = a, *y = b;
  return x->a != y->a ? (x->a > y->a) - (x->a < y->a) : (x->b > y->b) - (x->b < y->b);
}

static void unpack_compositions(void)
{
  size_t n = 0, skip = 0;
  for (size_t i = 0; i < COUNT(char_apart); i++) {
    const jf_char_run *r = &char_apart[i];
    const int end = i + 1 < COUNT(char_apart) ? r[1].to : N_PARTS;
    int32_t c = r->first;
    for (int k = r->to; k < end && r->each == 2; k += 2, c++) {
      if (!(char_records[char_numbers[c]].flags & JF_CANONICAL)) continue;
      if (skip < COUNT(char_excluded) && char_excluded[skip] == c) skip++;
      else char_compositions[n++] = (jf_char_triple){ char_parts[k], char_parts[k + 1], c };
    }
  }
  qsort(char_compositions, n, sizeof *char_compositions, compare_pairs);
}

static void char_unpack(void)
{
  unpack_numbers();
  unpack_parts();
  unpack_compositions();
  __atomic_store_n(&unpacked, 1, __ATOMIC_RELEASE);
}

const jf_char_record *jf_char(int32_t c)
{
  if (!__atomic_load_n(&unpacked, __ATOMIC_ACQUIRE)) pthread_once(&unpack_once, char_unpack);
  return &char_records[char_numbers[c]];
}

int jf_char_is_space(int32_t c)
{
  return c < 0x80 ? c == ' ' || (c >= 9 && c <= 13) : jf_char(c)->flags & JF_SPACE;
}

int jf_char_is_word(int32_t c)
{
  const jf_char_record *r = jf_char(c);
  return r->flags & JF_ALPHABETIC || c == 0x200c || c == 0x200d ||
         (JF_MARKS | 1 << JF_ND | 1 << JF_PC) >> r->category & 1;
}

int jf_char_is_punctuation(int32_t c)
{
  if (c < 0x80)
    return (c > 32 && c < '0') || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') ||
           (c > 'z' && c < 127);
  return jf_char_in(c, JF_PUNCTUATION);
}

/* The run of a sorted list in which c is. */
static const jf_char_run *char_find(const jf_char_run *list, size_t n, int32_t c)
{
  while (n > 1) {
    const size_t half = n / 2;
    if (list[half].first <= c) list += half, n -= half;
    else n = half;
  }
  return list;
}

int32_t jf_char_lower(int32_t c)
{
  if (c < 0x80) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  if (!(jf_char(c)->flags & JF_HAS_LOWER)) return c;
  return c + char_find(char_lower, COUNT(char_lower), c)->to;
}

int32_t jf_char_upper(int32_t c)
{
  if (c < 0x80) return c >= 'a' && c <= 'z' ? c - 32 : c;
  if (!(jf_char(c)->flags & JF_HAS_UPPER)) return c;
  return c + char_find(char_upper, COUNT(char_upper), c)->to;
}

int jf_char_parts(int32_t c, const int32_t **parts)
{
  const jf_char_run *r = char_find(char_apart, COUNT(char_apart), c);
  *parts = char_parts + r->to + (c - r->first) * r->each;
  return r->each;
}

static int32_t char_compose_hangul(int32_t a, int32_t b)
{
  if (a >= L_FIRST && a < L_FIRST + N_L && b >= V_FIRST && b < V_FIRST + N_V)
    return S_FIRST + ((a - L_FIRST) * N_V + b - V_FIRST) * N_T;
  if (a >= S_FIRST && a < S_FIRST + N_S && (a - S_FIRST) % N_T == 0 && b > T_FIRST &&
      b < T_FIRST + N_T)
    return a + b - T_FIRST;
  return 0;
}

int32_t jf_char_compose(int32_t a, int32_t b)
{
  const jf_char_triple *list = char_compositions;
  size_t n = COUNT(char_compositions);
  if (!(jf_char(b)->flags & JF_SECOND)) return char_compose_hangul(a, b);
  while (n) {
    const size_t half = n / 2;
    const jf_char_triple *t = &list[half];
    if (t->a == a && t->b == b) return t->to;
    if (t->a < a || (t->a == a && t->b < b)) list += half + 1, n -= half + 1;
    else n = half;
  }
  return 0;
}

/* ---- UTF-8 ---- */

int32_t jf_char_before(const char *s, size_t *size)
{
  const char *p = s - 1;
  while ((*p & 0xc0) == 0x80) p--;
  return jf_char_at(p, size);
}

size_t jf_char_put(char *to, int32_t c)
{
  if (c < 0x80) {
    to[0] = (char)c;
    return 1;
  }
  const size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  to[0] = (char)((0xf0 << (4 - n) & 0xff) | c >> 6 * (n - 1));
  for (size_t i = 1; i < n; i++) to[i] = (char)(0x80 | (c >> 6 * (n - 1 - i) & 0x3f));
  return n;
}

/* ---- clusters ---- */

/* Whether a cluster goes on between two characters; picture: it is a picture so far, and what
   extends it. */
static int char_joined(const jf_char_record *a, const jf_char_record *b, int picture)
{
  const int x = a->joins, y = b->joins;
  if (x == JF_IS_CR && y == JF_IS_LF) return 1;
  if ((x >= JF_IS_CR && x <= JF_IS_CONTROL) || (y >= JF_IS_CR && y <= JF_IS_CONTROL)) return 0;
  if (y == JF_EXTENDS || y == JF_IS_ZWJ || y == JF_SPACING || x == JF_PREPENDS) return 1;
  if (x == JF_HANGUL_L && (y == JF_HANGUL_L || y == JF_HANGUL_V || y >= JF_HANGUL_LV)) return 1;
  if ((x == JF_HANGUL_LV || x == JF_HANGUL_V) && (y == JF_HANGUL_V || y == JF_HANGUL_T)) return 1;
  if ((x == JF_HANGUL_LVT || x == JF_HANGUL_T) && y == JF_HANGUL_T) return 1;
  return picture && x == JF_IS_ZWJ && b->flags & JF_PICTURE;
}

size_t jf_char_cluster(const char *s, size_t n)
{
  size_t size, at;
  const jf_char_record *a = jf_char(jf_char_at(s, &at));
  int picture = a->flags & JF_PICTURE;
  while (at < n) {
    const jf_char_record *b = jf_char(jf_char_at(s + at, &size));
    if (!char_joined(a, b, picture)) break;
    if (b->joins != JF_EXTENDS && b->joins != JF_IS_ZWJ) picture = b->flags & JF_PICTURE;
    a = b;
    at += size;
  }
  return at;
}
