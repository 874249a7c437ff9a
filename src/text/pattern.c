/* Regular expressions made into instructions.

   There is no engine for all of them: what tokenizers ask for is here, and what is not is refused
   by its name. Groups that repeat are unrolled or become loops; a character or a class that repeats
   is one instruction, so that most expressions keep hardly any places to return to. */
#include "text/pattern.h"

#include <limits.h>
#include <string.h>

enum { MOST_CODE = 4096, MOST_TIMES = 1000, MOST_DEPTH = 32, END = -1 };

typedef struct pattern_reader {
  jf_pattern *p;
  const char *what, *start, *s, *end;
  int folds, depth;
} pattern_reader;

static jfl_status pattern_fail(const pattern_reader *r, const char *why)
{
  return jf_fail(JFL_EDATA, "%s: regex '%.200s', byte %d: %s", r->what, r->p->text,
                 (int)(r->s - r->start), why);
}

static jfl_status pattern_memory(void) { return jf_fail(JFL_ENOMEM, "out of memory"); }

static int pattern_peek(const pattern_reader *r)
{
  size_t size;
  return r->s < r->end ? jf_char_at(r->s, &size) : END;
}

static int pattern_next(pattern_reader *r)
{
  size_t size;
  if (r->s == r->end) return END;
  const int c = jf_char_at(r->s, &size);
  r->s += size;
  return c;
}

static int pattern_take(pattern_reader *r, const char *text)
{
  const size_t n = strlen(text);
  if ((size_t)(r->end - r->s) < n || memcmp(r->s, text, n)) return 0;
  r->s += n;
  return 1;
}

/* ---- code ---- */

static jf_instruction pattern_op(int op, int a, int b)
{
  return (jf_instruction){ .op = op, .a = a, .b = b };
}

/* Makes room for an instruction at a place, behind which the others move. */
static jfl_status pattern_insert(pattern_reader *r, int at, jf_instruction i)
{
  jf_pattern *p = r->p;
  if (p->n >= MOST_CODE) return pattern_fail(r, "it is too long");
  if (!JF_ROOM(p->code, p->n, p->cap)) return pattern_memory();
  memmove(p->code + at + 1, p->code + at, (size_t)(p->n - at) * sizeof *p->code);
  p->code[at] = i;
  p->n++;
  return JFL_OK;
}

static jfl_status pattern_add(pattern_reader *r, jf_instruction i)
{
  return pattern_insert(r, r->p->n, i);
}

/* Adds the instructions from..to-1 once more. */
static jfl_status pattern_repeat(pattern_reader *r, int from, int to)
{
  for (int i = from; i < to; i++) JF_TRY(pattern_add(r, r->p->code[i]));
  return JFL_OK;
}

/* ---- classes ---- */

static jfl_status pattern_class(pattern_reader *r, int *number)
{
  if (!JF_ROOM(r->p->classes, r->p->n_class, r->p->cap_class)) return pattern_memory();
  r->p->classes[r->p->n_class] = (jf_class){ .folds = r->folds };
  *number = r->p->n_class++;
  return JFL_OK;
}

static jfl_status pattern_item(pattern_reader *r, int number, jf_class_item item)
{
  jf_class *c = &r->p->classes[number];
  if (!JF_ROOM(c->item, c->n, c->cap)) return pattern_memory();
  c->item[c->n++] = item;
  return JFL_OK;
}

static int class_item_has(const jf_pattern *p, const jf_class_item *i, int32_t c)
{
  switch (i->kind) {
  case JF_RANGE: return c >= i->a && c <= i->b;
  case JF_CATEGORIES: return jf_char_in(c, i->categories);
  case JF_WORDS: return jf_char_is_word(c) && c != 0x200c && c != 0x200d;
  case JF_SPACES: return jf_char_is_space(c) != 0;
  default: return jf_class_has(p, &p->classes[i->a], c);
  }
}

static int class_items_have(const jf_pattern *p, const jf_class *c, int32_t character)
{
  for (int i = 0; i < c->n; i++)
    if (class_item_has(p, &c->item[i], character) != c->item[i].negated) return 1;
  return 0;
}

int jf_class_has(const jf_pattern *p, const jf_class *c, int32_t character)
{
  int has = class_items_have(p, c, character);
  if (!has && c->folds) {
    const int32_t lower = jf_char_lower(jf_char_upper(character));
    has = class_items_have(p, c, lower) || class_items_have(p, c, jf_char_upper(lower));
  }
  return has != c->negated;
}

/* To be called once a class is whole. */
static void pattern_settle(pattern_reader *r, int number)
{
  jf_class *c = &r->p->classes[number];
  for (int32_t i = 0; i < 128; i++)
    if (jf_class_has(r->p, c, i)) c->ascii[i / 64] |= UINT64_C(1) << i % 64;
}

/* What \p{...} may name: a category, or by its first letter all of a kind. */
static uint32_t pattern_categories(const char *s, size_t n)
{
  static const char names[] = "CnCcCfCoCsLlLmLoLtLuMcMeMnNdNlNoPcPdPePfPiPoPsScSkSmSoZlZpZs";
  uint32_t set = 0;
  for (int i = 0; names[2 * i]; i++)
    if ((n == 2 && !memcmp(s, names + 2 * i, 2)) || (n == 1 && s[0] == names[2 * i]))
      set |= UINT32_C(1) << i;
  return set;
}

static jfl_status pattern_property(pattern_reader *r, int negated, jf_class_item *out)
{
  static const struct { const char *name, *category; } known[] = {
    { "Letter", "L" }, { "Mark", "M" }, { "Number", "N" }, { "Punctuation", "P" },
    { "Symbol", "S" }, { "Separator", "Z" }, { "Other", "C" }, { "Lowercase_Letter", "Ll" },
    { "Uppercase_Letter", "Lu" }
  };
  const char *name = r->s + 1;
  const char *close = pattern_peek(r) == '{' ? memchr(r->s, '}', (size_t)(r->end - r->s)) : NULL;
  if (!close) return pattern_fail(r, "'{' and '}' must follow \\p");
  if (*name == '^') name++, negated = !negated;
  size_t n = (size_t)(close - name);
  *out = (jf_class_item){ JF_CATEGORIES, .negated = negated };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (n == strlen(known[i].name) && !memcmp(name, known[i].name, n))
      name = known[i].category, n = strlen(name);
  out->categories = pattern_categories(name, n);
  if (!out->categories)
    return pattern_fail(r, "general categories such as L or Nd are there alone");
  r->s = close + 1;
  return JFL_OK;
}

static jfl_status pattern_hex(pattern_reader *r, int most, int32_t *out)
{
  const int braces = pattern_take(r, "{");
  int32_t v = 0;
  int n = 0;
  for (; n < (braces ? 8 : most); n++, r->s++) {
    const char c = r->s < r->end ? *r->s : '\0', low = (char)(c | 32);
    if (!((c >= '0' && c <= '9') || (low >= 'a' && low <= 'f'))) break;
    v = v << 4 | (c <= '9' ? c - '0' : low - 'a' + 10);
    if (v > 0x10ffff) return pattern_fail(r, "a character must be at most 10ffff");
  }
  if (!n || (braces && !pattern_take(r, "}"))) return pattern_fail(r, "digits of \\x must follow");
  *out = v;
  return JFL_OK;
}

static jf_class_item pattern_range(int32_t a, int32_t b)
{
  return (jf_class_item){ JF_RANGE, .a = a, .b = b };
}

/* What follows a backslash: one character, which *single tells, or a class. */
static jfl_status pattern_escape(pattern_reader *r, jf_class_item *out, int *single)
{
  static const char from[] = "nrtfvae0", to[] = "\n\r\t\f\v\a\033";
  const int c = pattern_next(r);
  const char *k = c > 0 && c < 128 ? strchr(from, c) : NULL;
  int32_t v = c;
  *single = 0;
  switch (c) {
  case 's': case 'S': *out = (jf_class_item){ JF_SPACES, .negated = c == 'S' }; return JFL_OK;
  case 'w': case 'W': *out = (jf_class_item){ JF_WORDS, .negated = c == 'W' }; return JFL_OK;
  case 'd': case 'D':
    *out = (jf_class_item){ JF_CATEGORIES, .negated = c == 'D', .categories = 1 << JF_ND };
    return JFL_OK;
  case 'p': case 'P': return pattern_property(r, c == 'P', out);
  default: break;
  }
  *single = 1;
  if (k) v = to[k - from];
  else if (c == 'x') JF_TRY(pattern_hex(r, 2, &v));
  else if (c == 'u') JF_TRY(pattern_hex(r, 4, &v));
  else if (c == END || (c < 128 && jf_char_is_word(c) && c != '_'))
    return pattern_fail(r, "this escape is not there");
  *out = pattern_range(v, v);
  return JFL_OK;
}

static jfl_status pattern_brackets(pattern_reader *r, int *number);

/* One item of a class: a character or a range, an escape, a class within. */
static jfl_status pattern_member(pattern_reader *r, int number)
{
  jf_class_item item, last;
  int single = 1, inner = 0;
  if (pattern_take(r, "[:")) return pattern_fail(r, "classes such as [:alpha:] are not there");
  if (pattern_take(r, "&&")) return pattern_fail(r, "&& is not there");
  if (pattern_take(r, "[")) {
    JF_TRY(pattern_brackets(r, &inner));
    return pattern_item(r, number, (jf_class_item){ JF_CLASS, .a = inner });
  }
  if (pattern_take(r, "\\")) JF_TRY(pattern_escape(r, &item, &single));
  else {
    const int c = pattern_next(r);
    if (c == END) return pattern_fail(r, "']' must follow");
    item = pattern_range(c, c);
  }
  if (single && r->end - r->s > 1 && r->s[0] == '-' && r->s[1] != ']') {
    r->s++;
    int c = pattern_next(r);
    last = pattern_range(c, c);
    if (c == '\\') JF_TRY(pattern_escape(r, &last, &single));
    if (!single || c == '[' || last.a < item.a)
      return pattern_fail(r, "a range must end with a later character");
    item.b = last.a;
  }
  return pattern_item(r, number, item);
}

/* The class behind '['. */
static jfl_status pattern_brackets(pattern_reader *r, int *number)
{
  if (++r->depth > MOST_DEPTH) return pattern_fail(r, "it is nested too deeply");
  JF_TRY(pattern_class(r, number));
  const int negated = pattern_take(r, "^");
  do JF_TRY(pattern_member(r, *number));
  while (!pattern_take(r, "]"));
  r->p->classes[*number].negated = negated;
  pattern_settle(r, *number);
  r->depth--;
  return JFL_OK;
}

/* ---- groups ---- */

static jfl_status pattern_choices(pattern_reader *r, int outermost);

static jfl_status pattern_one(pattern_reader *r, jf_class_item item)
{
  int number = 0;
  JF_TRY(pattern_class(r, &number));
  JF_TRY(pattern_item(r, number, item));
  pattern_settle(r, number);
  return pattern_add(r, (jf_instruction){ JF_ONE, .class_number = number });
}

/* Adds the group up to ')', as instructions that end with DONE and are named by the one before. */
static jfl_status pattern_inner(pattern_reader *r, int op)
{
  const int at = r->p->n;
  JF_TRY(pattern_add(r, pattern_op(op, 0, 0)));
  JF_TRY(pattern_choices(r, 0));
  JF_TRY(pattern_add(r, pattern_op(JF_DONE, 0, 0)));
  r->p->code[at].a = r->p->n - at;
  return JFL_OK;
}

/* (?<=x) and (?<!x), where x must match a single character. */
static jfl_status pattern_behind(pattern_reader *r, int op)
{
  const int at = r->p->n;
  JF_TRY(pattern_choices(r, 0));
  if (r->p->n != at + 1 || r->p->code[at].op != JF_ONE)
    return pattern_fail(r, "looking back for more than one character is not there");
  r->p->code[at].op = op;
  return JFL_OK;
}

static jfl_status pattern_group(pattern_reader *r)
{
  const int folds = r->folds;
  jfl_status s;
  if (++r->depth > MOST_DEPTH) return pattern_fail(r, "it is nested too deeply");
  if (pattern_take(r, "?i)")) {
    r->folds = 1;
    r->depth--;
    return JFL_OK;
  }
  if (pattern_take(r, "?=")) s = pattern_inner(r, JF_AHEAD);
  else if (pattern_take(r, "?!")) s = pattern_inner(r, JF_NOT_AHEAD);
  else if (pattern_take(r, "?>")) s = pattern_inner(r, JF_ATOMIC);
  else if (pattern_take(r, "?<=")) s = pattern_behind(r, JF_BEHIND);
  else if (pattern_take(r, "?<!")) s = pattern_behind(r, JF_NOT_BEHIND);
  else {
    if (pattern_take(r, "?i:")) r->folds = 1;
    else if (!pattern_take(r, "?:") && pattern_peek(r) == '?')
      return pattern_fail(r, "this kind of group is not there");
    s = pattern_choices(r, 0);
  }
  JF_TRY(s);
  if (!pattern_take(r, ")")) return pattern_fail(r, "')' must follow");
  r->folds = folds;
  r->depth--;
  return JFL_OK;
}

static jfl_status pattern_atom(pattern_reader *r)
{
  jf_class_item item;
  int number = 0, single;
  const int c = pattern_next(r);
  switch (c) {
  case '(': return pattern_group(r);
  case '[':
    JF_TRY(pattern_brackets(r, &number));
    return pattern_add(r, (jf_instruction){ JF_ONE, .class_number = number });
  case '\\':
    JF_TRY(pattern_escape(r, &item, &single));
    return pattern_one(r, item);
  case '.':
    item = pattern_range('\n', '\n');
    item.negated = 1;
    return pattern_one(r, item);
  case '^': case '$': return pattern_fail(r, "'^' and '$' are not there");
  case '*': case '+': case '?': return pattern_fail(r, "nothing stands there to repeat");
  default: return pattern_one(r, pattern_range(c, c));
  }
}

/* ---- quantifiers ---- */

static int pattern_digits(pattern_reader *r, int *out)
{
  const char *from = r->s;
  int v = 0;
  while (r->s < r->end && *r->s >= '0' && *r->s <= '9' && v <= MOST_TIMES)
    v = 10 * v + *r->s++ - '0';
  if (r->s > from) *out = v;
  return r->s > from;
}

/* Reads *, +, ? or {n,m}; 0: none stands there. */
static int pattern_times(pattern_reader *r, int *least, int *most)
{
  const char *from = r->s;
  *least = 0;
  *most = -1;
  if (pattern_take(r, "*")) return 1;
  if (pattern_take(r, "+")) return *least = 1;
  if (pattern_take(r, "?")) return *most = 1;
  if (!pattern_take(r, "{")) return 0;
  const int first = pattern_digits(r, least);
  int second = 0;
  if (pattern_take(r, ",")) second = pattern_digits(r, most);
  else *most = *least;
  if ((first || second) && pattern_take(r, "}")) return 1;
  r->s = from;
  return 0;
}

/* Whether `to` may be reached without a character; a loop around such would not end. */
static int pattern_passes(const jf_pattern *p, int at, int to, int depth)
{
  const jf_instruction *i = &p->code[at];
  if (at == to || depth > MOST_DEPTH) return 1;
  switch (i->op) {
  case JF_ONE: return 0;
  case JF_MANY: return !i->least && pattern_passes(p, at + 1, to, depth + 1);
  case JF_SPLIT:
    return pattern_passes(p, at + i->a, to, depth + 1) ||
           pattern_passes(p, at + i->b, to, depth + 1);
  case JF_JUMP: case JF_AHEAD: case JF_NOT_AHEAD:
    return pattern_passes(p, at + i->a, to, depth + 1);
  case JF_ATOMIC:
    return pattern_passes(p, at + 1, at + i->a - 1, depth + 1) &&
           pattern_passes(p, at + i->a, to, depth + 1);
  default: return pattern_passes(p, at + 1, to, depth + 1);
  }
}

/* Makes the instructions from `at` on repeat: unrolled, then as an optional rest or as a loop. */
static jfl_status pattern_unroll(pattern_reader *r, int at, int least, int most, int lazy)
{
  const int end = r->p->n, size = end - at;
  if (most < 0 && pattern_passes(r->p, at, end, 0))
    return pattern_fail(r, "what repeats must not be empty");
  for (int i = 1; i < least; i++) JF_TRY(pattern_repeat(r, at, end));
  for (int i = least; i < (most < 0 ? least + 1 : most); i++) {
    const int from = i ? r->p->n : at;
    if (i) JF_TRY(pattern_repeat(r, at, end));
    const int skip = most < 0 ? size + 2 : size + 1;
    JF_TRY(pattern_insert(r, from, pattern_op(JF_SPLIT, lazy ? skip : 1, lazy ? 1 : skip)));
    if (most < 0) JF_TRY(pattern_add(r, pattern_op(JF_JUMP, -(size + 1), 0)));
    if (!i) return most > 1 ? pattern_fail(r, "a group that repeats {0,n} times is not there")
                            : JFL_OK;
  }
  if (!most) r->p->n = at;
  return JFL_OK;
}

static jfl_status pattern_quantify(pattern_reader *r, int at)
{
  int least, most;
  if (!pattern_times(r, &least, &most)) return JFL_OK;
  if (least > MOST_TIMES || most > MOST_TIMES || (most >= 0 && most < least))
    return pattern_fail(r, "this number of times is not there");
  const int lazy = pattern_take(r, "?"), simple = r->s[-1] != '}';
  const int keeps = !lazy && simple && pattern_take(r, "+");
  const char *from = r->s;
  int other;
  if (r->p->n == at || pattern_times(r, &other, &other)) {
    r->s = from;
    return pattern_fail(r, "nothing stands there to repeat");
  }
  jf_instruction *i = &r->p->code[at];
  if (r->p->n == at + 1 && i->op == JF_ONE && !lazy) {
    *i = (jf_instruction){ JF_MANY, .class_number = i->class_number, .least = least, .most = most,
                           .keeps = keeps };
    return JFL_OK;
  }
  JF_TRY(pattern_unroll(r, at, least, most, lazy));
  if (!keeps) return JFL_OK;
  JF_TRY(pattern_insert(r, at, pattern_op(JF_ATOMIC, r->p->n - at + 2, 0)));
  return pattern_add(r, pattern_op(JF_DONE, 0, 0));
}

/* ---- alternatives ---- */

static jfl_status pattern_sequence(pattern_reader *r)
{
  while (r->s < r->end && *r->s != '|' && *r->s != ')') {
    const int at = r->p->n;
    JF_TRY(pattern_atom(r));
    JF_TRY(pattern_quantify(r, at));
  }
  return JFL_OK;
}

/* Alternatives up to ')' or the end. The outermost each end with DONE. */
static jfl_status pattern_choices(pattern_reader *r, int outermost)
{
  const int begin = r->p->n;
  int at = begin;
  for (;;) {
    if (outermost && r->p->n_choice == JF_MOST_CHOICES)
      return pattern_fail(r, "it has too many alternatives");
    if (outermost) r->p->choice[r->p->n_choice++] = at;
    JF_TRY(pattern_sequence(r));
    if (outermost) JF_TRY(pattern_add(r, pattern_op(JF_DONE, 0, 0)));
    if (!pattern_take(r, "|")) break;
    if (!outermost) {
      JF_TRY(pattern_insert(r, at, pattern_op(JF_SPLIT, 1, r->p->n - at + 2)));
      JF_TRY(pattern_add(r, pattern_op(JF_JUMP, INT_MAX, 0)));
    }
    at = r->p->n;
  }
  for (int i = begin; i < r->p->n; i++)
    if (r->p->code[i].op == JF_JUMP && r->p->code[i].a == INT_MAX) r->p->code[i].a = r->p->n - i;
  return JFL_OK;
}

/* ---- what alternatives begin with ---- */

/* Adds to `ascii` what may be at the start of a match from there on; 0: anything may. */
static int pattern_first(const jf_pattern *p, int at, uint64_t ascii[2], int depth)
{
  const jf_instruction *i = &p->code[at];
  if (depth > MOST_DEPTH) return 0;
  switch (i->op) {
  case JF_ONE: case JF_MANY:
    ascii[0] |= p->classes[i->class_number].ascii[0];
    ascii[1] |= p->classes[i->class_number].ascii[1];
    return (i->op == JF_MANY && !i->least) ? pattern_first(p, at + 1, ascii, depth + 1) : 1;
  case JF_SPLIT:
    return pattern_first(p, at + i->a, ascii, depth + 1) &&
           pattern_first(p, at + i->b, ascii, depth + 1);
  case JF_JUMP: return pattern_first(p, at + i->a, ascii, depth + 1);
  case JF_ATOMIC: return pattern_first(p, at + 1, ascii, depth + 1);
  case JF_DONE: return 0;
  default: return 0;
  }
}

static void pattern_index(jf_pattern *p)
{
  for (int k = 0; k < p->n_choice; k++) {
    uint64_t ascii[2] = { 0 };
    if (!pattern_first(p, p->choice[k], ascii, 0)) ascii[0] = ascii[1] = UINT64_MAX;
    for (int c = 0; c < 128; c++)
      if (ascii[c / 64] >> c % 64 & 1) p->begins[c] |= UINT32_C(1) << k;
    p->begins[128] |= UINT32_C(1) << k;
  }
}

void jf_pattern_free(jf_pattern *p)
{
  if (!p) return;
  for (int i = 0; i < p->n_class; i++) jf_free(p->classes[i].item);
  jf_free(p->classes);
  jf_free(p->code);
  jf_free(p->text);
  jf_free(p);
}

jfl_status jf_pattern_new(const char *what, const char *s, size_t n, jf_pattern **out)
{
  jf_pattern *p = jf_new(sizeof *p);
  pattern_reader r = { p, what, s, s, s + n, 0, 0 };
  if (p) p->text = jf_new(n + 1);
  if (!p || !p->text) {
    jf_pattern_free(p);
    return pattern_memory();
  }
  memcpy(p->text, s, n);
  jfl_status status = pattern_choices(&r, 1);
  if (!status && r.s < r.end) status = pattern_fail(&r, "'(' must stand before ')'");
  if (status) {
    jf_pattern_free(p);
    return status;
  }
  pattern_index(p);
  *out = p;
  return JFL_OK;
}
