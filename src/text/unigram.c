/* Unigram: of all ways to make a text of words, the one whose scores, which are logarithms of how
   likely words are, have the largest sum (Kudo, "Subword Regularization", 2018; Viterbi). */
#include "text/tokenizer.h"

enum { UNKNOWN_PENALTY = 10, LOOK = 1 << 14 };      /* LOOK: steps between two looks at the time */

/* The best way to a place in the text, from -1: none yet; and on the best way of all, the next
   place. */
typedef struct unigram_place { double score; int32_t id, from, next; } unigram_place;

jfl_status jf_unigram_new(jf_model *m, const jf_word *words, int n)
{
  for (int i = 0; i < n; i++)
    if (!i || words[i].score < m->least_score) m->least_score = words[i].score;
  return jf_trie_new(&m->trie, words, n);
}

static void unigram_reach(unigram_place *to, double score, int32_t id, int32_t from)
{
  if (to->from >= 0 && score <= to->score) return;
  *to = (unigram_place){ score, id, from, 0 };
}

static jfl_status unigram_no_unknown(void)
{
  return jf_fail(JFL_EDATA, "model: unk_id must be given for texts with unknown characters");
}

/* Finds the best way to each place of n bytes. */
static jfl_status unigram_walk(const jf_model *m, const char *s, size_t n, unigram_place *place)
{
  const double unknown = m->least_score - UNKNOWN_PENALTY;
  for (size_t i = 0; i <= n; i++) place[i].from = -1;
  place[0].score = 0;
  for (size_t at = 0, size, steps = 0; at < n; at += size) {
    const double here = place[at].score;
    int32_t node = 0, id;
    int single = 0;
    jf_char_at(s + at, &size);
    if (steps > LOOK) {
      JF_TRY(jf_time_for(0));
      steps = 0;
    }
    for (size_t i = at; i < n; i++, steps++) {
      node = jf_trie_step(&m->trie, node, (unsigned char)s[i]);
      if (node < 0) break;
      if ((id = jf_trie_word(&m->trie, node)) < 0) continue;
      unigram_reach(&place[i + 1], m->words.by_id[id].score + here, id, (int32_t)at);
      if (i + 1 == at + size) single = 1;
    }
    if (single) continue;
    if (m->unk_id < 0) return unigram_no_unknown();
    unigram_reach(&place[at + size], unknown + here, m->unk_id, (int32_t)at);
  }
  return JFL_OK;
}

/* Adds the tokens of a part of the way: what is no word becomes the tokens of its bytes, or the
   unknown one. */
static jfl_status unigram_put(const jf_model *m, jf_flow *f, size_t from, size_t to)
{
  const char *s = f->line.s;
  const int32_t id = jf_vocabulary_find(&m->words, s + from, to - from);
  int whole = id < 0 && m->byte_fallback;
  for (size_t i = from; whole && i < to; i++)
    whole = m->byte_id[(unsigned char)s[i]] >= 0;
  if (id < 0 && !whole && m->unk_id < 0) return unigram_no_unknown();
  if (!whole) jf_flow_token(f, id < 0 ? m->unk_id : id, from, to);
  for (size_t i = from; whole && i < to; i++)
    jf_flow_token(f, m->byte_id[(unsigned char)s[i]], from, to);
  return JFL_OK;
}

jfl_status jf_unigram_piece(jf_model *m, jf_flow *f, const jf_piece *p)
{
  const size_t n = p->to - p->from;
  unigram_place *place = jf_flow_room(f, (n + 1) * sizeof *place);
  if (!place) return jf_flow_status(f);
  JF_TRY(unigram_walk(m, f->line.s + p->from, n, place));
  for (int32_t to = (int32_t)n; to; to = place[to].from) place[place[to].from].next = to;
  for (int32_t at = 0, to, i = 0; at < (int32_t)n; at = to, i++) {
    JF_TRY(jf_time_at(i));
    to = place[at].next;
    while (m->fuse_unk && place[to].id == m->unk_id && to < (int32_t)n &&
           place[place[to].next].id == m->unk_id)
      to = place[to].next;
    JF_TRY(unigram_put(m, f, p->from + (size_t)at, p->from + (size_t)to));
  }
  return JFL_OK;
}
