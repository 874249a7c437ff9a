/* Matches of a pattern in a text: its instructions gone through, with a list of the places where
   another way may be tried. A step is a character that is looked at; a pattern that takes far more
   of them than the text has characters is given up. */
#include "text/pattern.h"

enum { STEPS_PER_BYTE = 200, STEPS_MORE = 1 << 20,
       LOOK = 1 << 16 };       /* steps between two looks at the time */

/* Where another way goes on: at `code`, from at, or after MANY also from characters before it, down
   to least. */
typedef struct find_place { int code; size_t at, least; } find_place;

/* Looks at the time now and then; 0: there is none left. */
static int find_in_time(jf_finder *f)
{
  if (f->steps - f->looked <= LOOK) return 1;
  f->looked = f->steps;
  f->late = jf_time_for(0);
  return !f->late;
}

/* How a way ended. */
typedef enum find_end { NO_MATCH, MATCH, WRONG } find_end;

static int find_has(const jf_pattern *p, const jf_class *c, const char *s, size_t *size)
{
  const unsigned char first = (unsigned char)*s;
  if (first < 128) return *size = 1, (int)(c->ascii[first / 64] >> first % 64 & 1);
  const int32_t character = jf_char_at(s, size);
  if (c->n == 1 && c->item[0].kind == JF_CATEGORIES)
    return jf_char_in(character, c->item[0].categories) != (c->item[0].negated != c->negated);
  return jf_class_has(p, c, character);
}

static int find_push(jf_finder *f, int *n, find_place place)
{
  if (*n == f->cap && !jf_make_room(&f->stack, *n, &f->cap, sizeof place)) return 0;
  ((find_place *)f->stack)[(*n)++] = place;
  return 1;
}

/* As many characters as the instruction takes from `at`; NO_MATCH: too few are there. */
static find_end find_many(jf_finder *f, const jf_instruction *i, size_t *at, size_t *least)
{
  const jf_class *c = &f->pattern->classes[i->class_number];
  size_t size;
  int64_t n = 0;
  *least = *at;
  while (n != i->most && *at < f->n && find_has(f->pattern, c, f->s + *at, &size)) {
    *at += size;
    f->steps++;
    if (++n == i->least) *least = *at;
    if (!find_in_time(f)) return WRONG;
  }
  f->steps++;
  return n >= i->least ? MATCH : NO_MATCH;
}

/* Takes the last place where another way begins; 0: there is none. */
static int find_back(jf_finder *f, int *n, int bottom, int *code, size_t *at)
{
  if (*n == bottom) return 0;
  find_place *p = &((find_place *)f->stack)[*n - 1];
  f->steps++;
  *code = p->code;
  *at = p->at;
  if (p->at <= p->least) {
    (*n)--;
    return 1;
  }
  size_t size;
  jf_char_before(f->s + p->at, &size);
  p->at -= size;
  return 1;
}

static int find_behind(const jf_finder *f, const jf_instruction *i, size_t at)
{
  size_t size;
  if (!at) return 0;
  jf_char_before(f->s + at, &size);
  return find_has(f->pattern, &f->pattern->classes[i->class_number], f->s + at - size, &size);
}

static find_end find_way(jf_finder *f, int code, size_t *at, int n);

/* What is looked at ahead, or kept as a whole; n places are taken. */
static find_end find_within(jf_finder *f, const jf_instruction *i, int code, size_t *at, int n)
{
  size_t end = *at;
  const find_end e = find_way(f, code + 1, &end, n);
  if (e == WRONG) return WRONG;
  if (i->op == JF_ATOMIC && e == MATCH) *at = end;
  return (e == MATCH) == (i->op != JF_NOT_AHEAD) ? MATCH : NO_MATCH;
}

/* Does one instruction: moves *code and *at, or gives NO_MATCH. */
static find_end find_step(jf_finder *f, int *code, size_t *at, int *n)
{
  const jf_instruction *i = &f->pattern->code[*code];
  const int here = (*code)++;
  size_t size, least;
  find_end e;
  switch (i->op) {
  case JF_ONE:
    if (*at == f->n ||
        !find_has(f->pattern, &f->pattern->classes[i->class_number], f->s + *at, &size))
      return NO_MATCH;
    *at += size;
    return MATCH;
  case JF_MANY:
    if ((e = find_many(f, i, at, &least)) != MATCH) return e;
    if (i->keeps || *at == least) return MATCH;
    jf_char_before(f->s + *at, &size);
    return find_push(f, n, (find_place){ here + 1, *at - size, least }) ? MATCH : WRONG;
  case JF_SPLIT:
    *code = here + i->a;
    return find_push(f, n, (find_place){ here + i->b, *at, *at }) ? MATCH : WRONG;
  case JF_JUMP:
    *code = here + i->a;
    return MATCH;
  case JF_BEHIND: return find_behind(f, i, *at) ? MATCH : NO_MATCH;
  case JF_NOT_BEHIND: return find_behind(f, i, *at) ? NO_MATCH : MATCH;
  default:
    e = find_within(f, i, here, at, *n);
    *code = here + i->a;
    return e;
  }
}

/* Goes from an instruction to DONE; *at is then the end. The places above n are its own. */
static find_end find_way(jf_finder *f, int code, size_t *at, int n)
{
  const int bottom = n;
  size_t here = *at;
  while (f->pattern->code[code].op != JF_DONE) {
    const find_end e = find_step(f, &code, &here, &n);
    if (e == WRONG || ++f->steps > (int64_t)STEPS_PER_BYTE * (int64_t)f->n + STEPS_MORE ||
        !find_in_time(f))
      return WRONG;
    if (e == NO_MATCH && !find_back(f, &n, bottom, &code, &here)) return NO_MATCH;
  }
  *at = here;
  return MATCH;
}

static find_end find_at(jf_finder *f, size_t from, size_t *to)
{
  const jf_pattern *p = f->pattern;
  const unsigned char first = from < f->n ? (unsigned char)f->s[from] : 128;
  uint32_t begins = p->begins[first < 128 ? first : 128];
  for (int k = 0; begins; k++, begins >>= 1) {
    if (!(begins & 1)) continue;
    *to = from;
    const find_end e = find_way(f, p->choice[k], to, 0);
    if (e != NO_MATCH) return e;
  }
  return NO_MATCH;
}

static jfl_status find_wrong(const jf_finder *f)
{
  if (f->late) return f->late;
  if (f->steps <= (int64_t)STEPS_PER_BYTE * (int64_t)f->n + STEPS_MORE)
    return jf_fail(JFL_ENOMEM, "out of memory");
  return jf_fail(JFL_EDATA, "regex '%.200s' must not need so many attempts, got %lld for a text of "
                 "%zu bytes", f->pattern->text, (long long)f->steps, f->n);
}

int jf_finder_next(jf_finder *f, size_t *from, size_t *to, jfl_status *r)
{
  size_t size = 1;
  for (; f->at <= f->n; f->at += size) {
    f->steps++;
    if (!find_in_time(f)) return *r = f->late, 0;
    const find_end e = find_at(f, f->at, to);
    if (e == WRONG) return *r = find_wrong(f), 0;
    size = 1;
    if (f->at < f->n) jf_char_at(f->s + f->at, &size);
    if (e == NO_MATCH || (*to == f->at && f->has_last && f->last == *to)) continue;
    *from = f->at;
    f->at = *to == f->at ? f->at + size : *to;
    f->last = *to;
    f->has_last = 1;
    return 1;
  }
  return 0;
}

void jf_finder_end(jf_finder *f) { jf_free(f->stack); }
