/* Tokens that were added to a model's: they are cut out of a text before the model sees it. */
#include "text/tokenizer.h"

#include <string.h>

enum { SHOWN = 60, LOOK = 64 };  /* LOOK: beginnings of tokens between two looks at the time */

static jfl_status added_memory(void) { return jf_fail(JFL_ENOMEM, "out of memory"); }

/* ---- what is looked for ---- */

/* The content as the normalizers make it, which is kept. */
static jfl_status added_normalize(jf_added_list *a, const jf_word *w, const jf_rules *normalizers,
                                  jf_flow *f, jf_word *out)
{
  JF_TRY(jf_flow_begin(f, w->s, w->n, 0));
  JF_TRY(jf_normalize(f, normalizers));
  const uint32_t n = f->n_piece ? f->piece[0].to - f->piece[0].from : 0;
  char *s = jf_new_raw(n + !n);
  if (!s) return added_memory();
  if (n) memcpy(s, f->line.s + f->piece[0].from, n);
  *out = (jf_word){ s, n, out->id, 0 };
  a->text[a->n_text++] = *out;
  return JFL_OK;
}

static jfl_status added_tries(jf_added_list *a, const jf_rules *normalizers, jf_flow *f,
                              jf_word *raw, jf_word *normal)
{
  int n_raw = 0, n_normal = 0;
  for (int i = 0; i < a->n; i++) {
    jf_word w = a->v[i].word;
    w.id = i;
    if (a->v[i].normalized) JF_TRY(added_normalize(a, &a->v[i].word, normalizers, f, &w));
    if (!w.n) continue;
    if (a->v[i].normalized) normal[n_normal++] = w;
    else raw[n_raw++] = w;
  }
  JF_TRY(jf_trie_new(&a->raw, raw, n_raw));
  return jf_trie_new(&a->normal, normal, n_normal);
}

jfl_status jf_added_new(jf_added_list *a, const jf_rules *normalizers)
{
  const size_t n = (size_t)a->n;
  jf_word *raw = jf_new_raw(n * sizeof *raw), *normal = jf_new_raw(n * sizeof *normal);
  jf_word *words = jf_new_raw(n * sizeof *words);
  jf_flow f = { 0 };
  a->text = jf_new(n * sizeof *a->text);
  jfl_status s = raw && normal && words && a->text ? JFL_OK : added_memory();
  if (!s) s = added_tries(a, normalizers, &f, raw, normal);
  for (int i = 0; !s && i < a->n; i++) {
    words[i] = a->v[i].word;
    words[i].id = i;
  }
  if (!s) s = jf_vocabulary_new(&a->words, words, a->n);
  for (int i = 0; !s && i < a->n; i++)
    if (jf_vocabulary_find(&a->words, words[i].s, words[i].n) != i)
      s = jf_fail(JFL_EDATA, "added_tokens: '%.*s' must be there once, got it twice",
                  words[i].n < SHOWN ? (int)words[i].n : SHOWN, words[i].s);
  jf_free(raw);
  jf_free(normal);
  jf_free(words);
  jf_flow_free(&f);
  return s;
}

void jf_added_free(jf_added_list *a)
{
  for (int i = 0; i < a->n_text; i++) jf_free((void *)a->text[i].s);
  jf_free(a->text);
  jf_vocabulary_free(&a->words);
  jf_trie_free(&a->raw);
  jf_trie_free(&a->normal);
}

/* ---- cutting ---- */

static int added_in_word(const char *s, size_t n, size_t from, size_t to)
{
  size_t size;
  return (from && jf_char_is_word(jf_char_before(s + from, &size))) ||
         (to < n && jf_char_is_word(jf_char_at(s + to, &size)));
}

/* Cuts one piece; `line` is where its text begins. */
static jfl_status added_cut_piece(const jf_added_list *a, const jf_trie *t, jf_flow *f, jf_piece p,
                                  int skips)
{
  const char *s = f->line.s + p.from;
  const size_t n = p.to - p.from;
  size_t done = 0, size, begun = 0, looked = 0;
  for (size_t at = 0; at < n;) {
    int32_t k = 0;
    JF_TRY(jf_time_along(at, &looked));
    if (t->begin[(unsigned char)s[at]] >= 0 && ++begun % LOOK == 0) JF_TRY(jf_time_for(0));
    const size_t longest = t->begin[(unsigned char)s[at]] < 0
                           ? 0 : jf_trie_longest(t, s + at, n - at, &k);
    if (!longest) {
      at++;
      continue;
    }
    const jf_added *token = &a->v[k];
    size_t from = at, to = at + longest;
    at = to;
    if ((skips && token->special) || (token->single_word && added_in_word(s, n, from, to)))
      continue;
    while (token->left && from > done && jf_char_is_space(jf_char_before(s + from, &size)))
      from -= size;
    if (token->left && from < done) from = done;
    if (from >= to) continue;
    while (token->right && to < n && jf_char_is_space(jf_char_at(s + to, &size))) to += size;
    if (done < from) jf_flow_piece(f, p.from + done, p.from + from, JF_NO_ID);
    jf_flow_piece(f, p.from + from, p.from + to, token->word.id);
    done = to;
  }
  if (done < n) jf_flow_piece(f, p.from + done, p.to, JF_NO_ID);
  return JFL_OK;
}

static jfl_status added_cut_by(const jf_added_list *a, const jf_trie *t, jf_flow *f, int skips)
{
  if (!t->node || t->n <= 1) return JFL_OK;
  for (int i = 0; i < f->n_piece; i++) {
    const jf_piece p = f->piece[i];
    if (p.id == JF_NO_ID) JF_TRY(added_cut_piece(a, t, f, p, skips));
    else jf_flow_piece(f, p.from, p.to, p.id);
  }
  jf_flow_pieces_done(f);
  return jf_flow_status(f);
}

jfl_status jf_added_cut(const jf_added_list *a, jf_flow *f, const jf_rules *normalizers, int skips)
{
  JF_TRY(added_cut_by(a, &a->raw, f, skips));
  JF_TRY(jf_normalize(f, normalizers));
  return added_cut_by(a, &a->normal, f, skips);
}
