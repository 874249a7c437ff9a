/* A tokenizer's JSON as a tree, and its words and merges as lists. */
#include "text/tree.h"

#include <string.h>

enum { MOST_DEPTH = 40, MOST_NODES = 1 << 23, MOST_WORDS = 1 << 26 };

static jfl_status tree_memory(void) { return jf_fail(JFL_ENOMEM, "out of memory"); }

static jfl_status tree_string(jf_tree *t, jf_word *out)
{
  const char *s;
  JF_TRY(jf_json_string(&t->json, &s));
  *out = (jf_word){ s, (uint32_t)t->json.length, 0, 0 };
  return JFL_OK;
}

/* ---- words ---- */

static jfl_status tree_add_word(jf_tree *t, jf_word w)
{
  if (!JF_ROOM(t->word, t->n_word, t->cap_word)) return tree_memory();
  if (t->n_word >= MOST_WORDS)
    return jf_fail(JFL_EDATA, "model: vocab must have at most %d words, got more", MOST_WORDS);
  t->word[t->n_word++] = w;
  return JFL_OK;
}

/* {"a": 0, "b": 1} */
static jfl_status tree_words_by_name(jf_tree *t)
{
  JF_TRY(jf_json_enter(&t->json, '{'));
  for (int more;;) {
    jf_word w = { 0 };
    uint64_t id;
    JF_TRY(jf_json_next(&t->json, '}', &more));
    if (!more) return JFL_OK;
    JF_TRY(jf_json_key(&t->json, &w.s));
    w.n = (uint32_t)t->json.length;
    JF_TRY(jf_json_whole(&t->json, &id));
    if (id > INT32_MAX)
      return jf_fail(JFL_EDATA, "model: vocab: the id of '%.60s' must be below 2^31", w.s);
    w.id = (int32_t)id;
    JF_TRY(tree_add_word(t, w));
  }
}

/* Leaves the list whose last element was read. */
static jfl_status tree_leave(jf_tree *t, const char *what)
{
  int more;
  JF_TRY(jf_json_next(&t->json, ']', &more));
  return more ? jf_fail(JFL_EDATA, "byte %zu: %s must have two elements, got more",
                        jf_json_where(&t->json), what) : JFL_OK;
}

/* Moves to the next element of a list that must have one. */
static jfl_status tree_element(jf_tree *t, const char *what)
{
  int more;
  JF_TRY(jf_json_next(&t->json, ']', &more));
  return more ? JFL_OK : jf_fail(JFL_EDATA, "byte %zu: %s must have two elements, got fewer",
                                 jf_json_where(&t->json), what);
}

/* [["a", -1.5], ["b", -2]] */
static jfl_status tree_words_by_score(jf_tree *t)
{
  JF_TRY(jf_json_enter(&t->json, '['));
  t->scored = 1;
  for (int more;;) {
    jf_word w = { 0 };
    JF_TRY(jf_json_next(&t->json, ']', &more));
    if (!more) return JFL_OK;
    JF_TRY(jf_json_enter(&t->json, '['));
    JF_TRY(tree_element(t, "a word of vocab"));
    JF_TRY(tree_string(t, &w));
    JF_TRY(tree_element(t, "a word of vocab"));
    JF_TRY(jf_json_double(&t->json, &w.score));
    JF_TRY(tree_leave(t, "a word of vocab"));
    w.id = t->n_word;
    JF_TRY(tree_add_word(t, w));
  }
}

/* "a b", in which there is one space, or ["a", "b"]. */
static jfl_status tree_merge(jf_tree *t, jf_merge_pair *p)
{
  jf_word w;
  char c;
  JF_TRY(jf_json_peek(&t->json, &c));
  if (c == '[') {
    JF_TRY(jf_json_enter(&t->json, '['));
    JF_TRY(tree_element(t, "a merge"));
    JF_TRY(tree_string(t, &p->a));
    JF_TRY(tree_element(t, "a merge"));
    JF_TRY(tree_string(t, &p->b));
    return tree_leave(t, "a merge");
  }
  JF_TRY(tree_string(t, &w));
  const char *space = memchr(w.s, ' ', w.n);
  if (!space || memchr(space + 1, ' ', w.n - (size_t)(space + 1 - w.s)))
    return jf_fail(JFL_EDATA, "byte %zu: merge %d must be two words with one space between, got "
                   "'%.60s'", jf_json_where(&t->json), t->n_merge, w.s);
  p->a = (jf_word){ w.s, (uint32_t)(space - w.s), 0, 0 };
  p->b = (jf_word){ space + 1, w.n - p->a.n - 1, 0, 0 };
  return JFL_OK;
}

static jfl_status tree_merges(jf_tree *t)
{
  JF_TRY(jf_json_enter(&t->json, '['));
  for (int more;;) {
    JF_TRY(jf_json_next(&t->json, ']', &more));
    if (!more) return JFL_OK;
    if (!JF_ROOM(t->merge, t->n_merge, t->cap_merge)) return tree_memory();
    JF_TRY(tree_merge(t, &t->merge[t->n_merge]));
    t->n_merge++;
  }
}

/* ---- all else ---- */

static jfl_status tree_value(jf_tree *t, jf_tree_node *n, int depth);

/* Reads a member of `within` that has so many words that it is no tree; *read: whether it is
   such. */
static jfl_status tree_long(jf_tree *t, jf_tree_node *n, const char *within, int depth, int *read)
{
  char c;
  *read = 0;
  if (depth != 2 || !within || strcmp(within, "model")) return JFL_OK;
  JF_TRY(jf_json_peek(&t->json, &c));
  const int words = !strcmp(n->name, "vocab");
  if ((!words && strcmp(n->name, "merges")) || (c != '{' && c != '[')) return JFL_OK;
  *read = 1;
  n->kind = JF_MANY_WORDS;
  if (words ? t->n_word : t->n_merge)
    return jf_fail(JFL_EDATA, "model: '%s' must be there once, got it twice", n->name);
  if (!words) return tree_merges(t);
  return c == '{' ? tree_words_by_name(t) : tree_words_by_score(t);
}

static jfl_status tree_within(jf_tree *t, jf_tree_node *n, char open, int depth)
{
  const char close = open == '{' ? '}' : ']';
  jf_tree_node **last = &n->first;
  n->kind = open == '{' ? JF_OBJECT : JF_LIST;
  if (depth > MOST_DEPTH) return jf_fail(JFL_EDATA, "byte %zu: nested too deeply",
                                         jf_json_where(&t->json));
  JF_TRY(jf_json_enter(&t->json, open));
  for (int more, is_long = 0;;) {
    JF_TRY(jf_json_next(&t->json, close, &more));
    if (!more) return JFL_OK;
    if (++t->n_node > MOST_NODES) return jf_fail(JFL_EDATA, "it has too many values");
    jf_tree_node *each = jf_keep_new(t->keep, sizeof *each);
    if (!each) return tree_memory();
    if (open == '{') JF_TRY(jf_json_key(&t->json, &each->name));
    if (open == '{') JF_TRY(tree_long(t, each, n->name, depth + 1, &is_long));
    if (!is_long) JF_TRY(tree_value(t, each, depth + 1));
    *last = each;
    last = &each->next;
    n->n++;
  }
}

static jfl_status tree_value(jf_tree *t, jf_tree_node *n, int depth)
{
  char c;
  JF_TRY(jf_json_peek(&t->json, &c));
  if (c == '{' || c == '[') return tree_within(t, n, c, depth);
  if (c == '"') {
    n->kind = JF_STRING;
    return tree_string(t, &n->text);
  }
  if (c == '-' || (c >= '0' && c <= '9')) {
    n->kind = JF_NUMBER;
    return jf_json_double(&t->json, &n->number);
  }
  n->kind = c == 't' ? JF_TRUE : c == 'f' ? JF_FALSE : JF_NULL;
  return jf_json_skip(&t->json);
}

jfl_status jf_tree_read(jf_tree *t, char *text, size_t n, jf_keep *keep)
{
  *t = (jf_tree){ .keep = keep };
  jf_json_open(&t->json, text, n, 0);
  t->json.zeros = 1;
  t->root = jf_keep_new(keep, sizeof *t->root);
  if (!t->root) return tree_memory();
  char c;
  JF_TRY(jf_json_peek(&t->json, &c));
  if (c != '{') return jf_json_enter(&t->json, '{');
  JF_TRY(tree_value(t, t->root, 0));
  return jf_json_end(&t->json);
}

void jf_tree_free(jf_tree *t)
{
  jf_free(t->word);
  jf_free(t->merge);
}

/* ---- members ---- */

const char *jf_node_kind_name(const jf_tree_node *n)
{
  static const char *const names[] = { "an object", "a list", "a string", "a number", "true",
                                       "false", "null", "many words" };
  return n ? names[n->kind] : "nothing";
}

const jf_tree_node *jf_node_get(const jf_tree_node *n, const char *name)
{
  const jf_tree_node *found = NULL;
  if (!n || n->kind != JF_OBJECT) return NULL;
  for (const jf_tree_node *m = n->first; m; m = m->next)
    if (!strcmp(m->name, name)) found = m;
  return found && found->kind != JF_NULL ? found : NULL;
}

jfl_status jf_node_check(const jf_tree_node *n, const char *where, const char *names)
{
  for (const jf_tree_node *m = n->first; m; m = m->next) {
    const size_t size = strlen(m->name);
    const int is_word = size && !strchr(m->name, ' ');
    const char *p = is_word ? strstr(names, m->name) : NULL;
    while (p && (p[-1] != ' ' || p[size] != ' ')) p = strstr(p + 1, m->name);
    if (!p) return jf_fail(JFL_EDATA, "%s: '%.60s' is not there; members are%.*s", where, m->name,
                           (int)strlen(names) - 1, names);
  }
  return JFL_OK;
}

static jfl_status node_wrong(const jf_tree_node *m, const char *where, const char *name,
                             const char *must)
{
  return jf_fail(JFL_EDATA, "%s: %s must be %s, got %s", where, name, must, jf_node_kind_name(m));
}

jfl_status jf_node_flag(const jf_tree_node *n, const char *where, const char *name, int *out)
{
  const jf_tree_node *m = jf_node_get(n, name);
  if (!m) return JFL_OK;
  if (m->kind != JF_TRUE && m->kind != JF_FALSE) return node_wrong(m, where, name, "true or false");
  *out = m->kind == JF_TRUE;
  return JFL_OK;
}

jfl_status jf_node_whole(const jf_tree_node *n, const char *where, const char *name, int64_t most,
                         int64_t *out)
{
  const jf_tree_node *m = jf_node_get(n, name);
  if (!m) return JFL_OK;
  if (m->kind != JF_NUMBER) return node_wrong(m, where, name, "a whole number");
  if (!(m->number >= 0 && m->number <= (double)most) || m->number != (double)(int64_t)m->number)
    return jf_fail(JFL_EDATA, "%s: %s must be a whole number from 0 to %lld, got %.17g", where,
                   name, (long long)most, m->number);
  *out = (int64_t)m->number;
  return JFL_OK;
}

jfl_status jf_node_text(const jf_tree_node *n, const char *where, const char *name, jf_word *out)
{
  const jf_tree_node *m = jf_node_get(n, name);
  if (!m) return JFL_OK;
  if (m->kind != JF_STRING) return node_wrong(m, where, name, "a string");
  *out = m->text;
  return JFL_OK;
}

jfl_status jf_node_need_text(const jf_tree_node *n, const char *where, const char *name,
                             jf_word *out)
{
  if (!jf_node_get(n, name)) return node_wrong(NULL, where, name, "a string");
  return jf_node_text(n, where, name, out);
}

jfl_status jf_node_need_kind(const jf_tree_node *n, const char *where, const char *name,
                             jf_node_kind kind, const jf_tree_node **out)
{
  const jf_tree_node *m = jf_node_get(n, name);
  if (!m || m->kind != kind)
    return node_wrong(m, where, name, kind == JF_OBJECT ? "an object" : kind == JF_LIST
                                      ? "a list" : kind == JF_NUMBER ? "a number" : "a string");
  *out = m;
  return JFL_OK;
}

jfl_status jf_node_choice(const jf_tree_node *n, const char *where, const char *name,
                          const char *const *choices, int *out)
{
  jf_word w = { 0 };
  JF_TRY(jf_node_text(n, where, name, &w));
  if (!w.s) return JFL_OK;
  for (int i = 0; choices[i]; i++)
    if (!strcmp(choices[i], w.s)) return *out = i, JFL_OK;
  return jf_fail(JFL_EDATA, "%s: %s '%.60s' is not there; it may be %s, %s and so on", where, name,
                 w.s, choices[0], choices[1]);
}
