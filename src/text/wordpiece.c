/* Models whose words are looked for as they are: WordPiece, where the longest that the rest of a
   piece begins with is taken, and whole words. */
#include "text/tokenizer.h"

#include <string.h>

enum { LONG = 1 << 12 };       /* a piece that may take so long that the time is looked at */

jfl_status jf_wordpiece_new(jf_model *m, const jf_word *words, int n)
{
  jf_word *inner = jf_new_raw((size_t)n * sizeof *inner);
  int n_inner = 0;
  if (!inner) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < n; i++)
    if (words[i].n > m->prefix.n && !memcmp(words[i].s, m->prefix.s, m->prefix.n))
      inner[n_inner++] = (jf_word){ words[i].s + m->prefix.n, words[i].n - m->prefix.n,
                                    words[i].id, 0 };
  jfl_status s = jf_trie_new(&m->trie, words, n);
  if (s == JFL_OK) s = jf_trie_new(&m->inner, inner, n_inner);
  jf_free(inner);
  return s;
}

static jfl_status wordpiece_unknown(const jf_model *m, jf_flow *f, const jf_piece *p)
{
  if (m->unk_id < 0)
    return jf_fail(JFL_EDATA, "model: unk_token must be a token of the vocabulary for texts with "
                   "other words, got '%.*s'", (int)m->unk.n, m->unk.s ? m->unk.s : "");
  jf_flow_token(f, m->unk_id, p->from, p->to);
  return JFL_OK;
}

static int wordpiece_is_long(const jf_model *m, const char *s, size_t n)
{
  int64_t count = 0;
  for (size_t i = 0; i < n; i++) count += (s[i] & 0xc0) != 0x80;
  return count > m->most_characters;
}

jfl_status jf_wordpiece_piece(jf_model *m, jf_flow *f, const jf_piece *p)
{
  const char *s = f->line.s;
  const int n_token = f->n_token;
  int32_t id = JF_NO_ID;
  if (m->kind == JF_MODEL_WORDS) {
    id = jf_vocabulary_find(&m->words, s + p->from, p->to - p->from);
    if (id < 0) return wordpiece_unknown(m, f, p);
    jf_flow_token(f, id, p->from, p->to);
    return JFL_OK;
  }
  if (wordpiece_is_long(m, s + p->from, p->to - p->from)) return wordpiece_unknown(m, f, p);
  for (size_t at = p->from; at < p->to;) {
    const jf_trie *t = at == p->from ? &m->trie : &m->inner;
    const size_t n = jf_trie_longest(t, s + at, p->to - at, &id);
    if (p->to - p->from > LONG) JF_TRY(jf_time_for(0));
    if (!n) {
      f->n_token = n_token;
      return wordpiece_unknown(m, f, p);
    }
    jf_flow_token(f, id, at, at + n);
    at += n;
  }
  return JFL_OK;
}
