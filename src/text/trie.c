/* Words in a tree by their bytes, for what a text begins with. The nodes that follow one lie beside
   each other, in the order of their bytes. */
#include "text/tokenizer.h"

#include <string.h>

enum { FEW = 8 };

typedef struct jf_trie_node {
  int32_t id;                  /* of the word that ends here, or -1 */
  int32_t first;               /* of those that follow */
  uint16_t n;
  unsigned char byte;
} jf_trie_node;

/* The words that a node has in common, while the tree is made. */
typedef struct trie_range { int from, to; } trie_range;

typedef struct trie_maker {
  jf_trie *trie;
  jf_word *word;
  trie_range *range;           /* of each node */
  int cap, cap_range;
} trie_maker;

static int trie_order(const void *a, const void *b)
{
  const jf_word *x = a, *y = b;
  const uint32_t n = x->n < y->n ? x->n : y->n;
  const int c = n ? memcmp(x->s, y->s, n) : 0;
  if (c) return c;
  if (x->n != y->n) return x->n < y->n ? -1 : 1;
  return x->id < y->id ? -1 : x->id > y->id;
}

static jfl_status trie_add(trie_maker *m, unsigned char byte, trie_range range)
{
  jf_trie *t = m->trie;
  if (!JF_ROOM(t->node, t->n, m->cap)) return jf_fail(JFL_ENOMEM, "out of memory");
  if (!JF_ROOM(m->range, t->n, m->cap_range)) return jf_fail(JFL_ENOMEM, "out of memory");
  t->node[t->n] = (jf_trie_node){ JF_NO_ID, 0, 0, byte };
  m->range[t->n++] = range;
  return JFL_OK;
}

/* Adds what follows node i, whose words agree in so many bytes. */
static jfl_status trie_follow(trie_maker *m, int i, uint32_t depth)
{
  jf_trie *t = m->trie;
  trie_range r = m->range[i];
  while (r.from < r.to && m->word[r.from].n == depth) t->node[i].id = m->word[r.from++].id;
  t->node[i].first = t->n;
  while (r.from < r.to) {
    const unsigned char byte = (unsigned char)m->word[r.from].s[depth];
    int to = r.from + 1;
    while (to < r.to && (unsigned char)m->word[to].s[depth] == byte) to++;
    JF_TRY(trie_add(m, byte, (trie_range){ r.from, to }));
    t->node[i].n++;
    r.from = to;
  }
  return JFL_OK;
}

/* Goes through the nodes, level after level. */
static jfl_status trie_make(trie_maker *m, int n)
{
  uint32_t depth = 0;
  JF_TRY(trie_add(m, 0, (trie_range){ 0, n }));
  for (int i = 0, level_end = 1; i < m->trie->n; i++) {
    if (i == level_end) {
      depth++;
      level_end = m->trie->n;
    }
    JF_TRY(jf_time_at(i));
    JF_TRY(trie_follow(m, i, depth));
  }
  return JFL_OK;
}

jfl_status jf_trie_new(jf_trie *t, const jf_word *words, int n)
{
  trie_maker m = { .trie = t, .word = jf_new_raw((size_t)n * sizeof *words) };
  if (!m.word) return jf_fail(JFL_ENOMEM, "out of memory");
  if (n) memcpy(m.word, words, (size_t)n * sizeof *words);
  jfl_status s = jf_sort_in_time(m.word, (size_t)n, sizeof *m.word, trie_order);
  if (!s) s = trie_make(&m, n);
  jf_free(m.word);
  jf_free(m.range);
  for (int i = 0; i < 256; i++) t->begin[i] = JF_NO_ID;
  for (int i = 0; !s && i < t->node[0].n; i++)
    t->begin[t->node[t->node[0].first + i].byte] = t->node[0].first + i;
  return s;
}

void jf_trie_free(jf_trie *t) { jf_free(t->node); }

int32_t jf_trie_step(const jf_trie *t, int32_t node, unsigned char byte)
{
  if (!node) return t->begin[byte];
  const jf_trie_node *p = &t->node[node];
  int32_t from = p->first, to = p->first + p->n;
  while (to - from > FEW) {
    const int32_t half = from + (to - from) / 2;
    if (t->node[half].byte <= byte) from = half;
    else to = half;
  }
  for (; from < to; from++)
    if (t->node[from].byte == byte) return from;
  return JF_NO_ID;
}

int32_t jf_trie_word(const jf_trie *t, int32_t node) { return t->node[node].id; }

size_t jf_trie_longest(const jf_trie *t, const char *s, size_t n, int32_t *id)
{
  size_t longest = 0;
  int32_t node = 0;
  for (size_t i = 0; i < n; i++) {
    node = jf_trie_step(t, node, (unsigned char)s[i]);
    if (node < 0) break;
    const int32_t word = jf_trie_word(t, node);
    if (word >= 0) *id = word, longest = i + 1;
  }
  return longest;
}
