/* The model that a tokenizer.json asks for. */
#include "text/tree.h"

#include <stdio.h>
#include <string.h>

enum { MOST_AFFIX = 100, LOOK = 64 };       /* LOOK: pieces between two looks at the time */

typedef struct model_row {
  const char *type, *members;
  jf_model_kind kind;
} model_row;

static const model_row model_rows[] = {
  { "BPE", " type dropout unk_token continuing_subword_prefix end_of_word_suffix fuse_unk "
    "byte_fallback ignore_merges vocab merges ", JF_MODEL_BPE },
  { "WordPiece", " type unk_token continuing_subword_prefix max_input_chars_per_word vocab ",
    JF_MODEL_WORDPIECE },
  { "Unigram", " type unk_id vocab byte_fallback ", JF_MODEL_UNIGRAM },
  { "WordLevel", " type vocab unk_token ", JF_MODEL_WORDS }
};

/* Files of old say no type: what is there tells which it is. */
static const char *model_type(const jf_tree *t, const jf_tree_node *n)
{
  const jf_tree_node *type = jf_node_get(n, "type");
  if (type) return type->kind == JF_STRING ? type->text.s : jf_node_kind_name(type);
  if (jf_node_get(n, "merges")) return "BPE";
  if (t->scored) return "Unigram";
  return jf_node_get(n, "continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

static jfl_status model_find_row(const char *type, const model_row **out)
{
  for (size_t i = 0; i < sizeof model_rows / sizeof *model_rows; i++)
    if (!strcmp(model_rows[i].type, type)) return *out = &model_rows[i], JFL_OK;
  return jf_fail(JFL_EDATA, "model: '%.60s' is not there; known are BPE, WordPiece, Unigram, "
                 "WordLevel", type);
}

static jfl_status model_affix(const jf_tree_node *n, const char *name, jf_word *out)
{
  JF_TRY(jf_node_text(n, "model", name, out));
  return out->n <= MOST_AFFIX ? JFL_OK : jf_fail(JFL_EDATA, "model: %s must have at most %d bytes, "
                                                 "got %u", name, MOST_AFFIX, out->n);
}

/* Dropout makes tokens at random, for training alone. */
static jfl_status model_no_dropout(const jf_tree_node *n)
{
  const jf_tree_node *dropout = jf_node_get(n, "dropout");
  if (!dropout || (dropout->kind == JF_NUMBER && dropout->number == 0)) return JFL_OK;
  return jf_fail(JFL_EDATA, "model: dropout must be null or 0, as tokens are not drawn at random");
}

static jfl_status model_options(jf_model *m, const jf_tree_node *n)
{
  int64_t most = 100, unk = JF_NO_ID;
  if (m->kind == JF_MODEL_WORDPIECE) {
    m->prefix = (jf_word){ "##", 2, 0, 0 };
    m->unk = (jf_word){ "[UNK]", 5, 0, 0 };
  }
  JF_TRY(model_no_dropout(n));
  JF_TRY(jf_node_text(n, "model", "unk_token", &m->unk));
  JF_TRY(model_affix(n, "continuing_subword_prefix", &m->prefix));
  JF_TRY(model_affix(n, "end_of_word_suffix", &m->suffix));
  JF_TRY(jf_node_flag(n, "model", "fuse_unk", &m->fuse_unk));
  JF_TRY(jf_node_flag(n, "model", "byte_fallback", &m->byte_fallback));
  JF_TRY(jf_node_flag(n, "model", "ignore_merges", &m->ignore_merges));
  JF_TRY(jf_node_whole(n, "model", "max_input_chars_per_word", INT64_C(1) << 53, &most));
  JF_TRY(jf_node_whole(n, "model", "unk_id", INT32_MAX, &unk));
  m->most_characters = (int32_t)(most < INT32_MAX ? most : INT32_MAX);
  m->unk_id = (int32_t)unk;
  return JFL_OK;
}

/* Fills byte_id. */
static void model_bytes(jf_model *m)
{
  char name[8];
  for (int i = 0; i < 256; i++) {
    snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
    m->byte_id[i] = jf_vocabulary_find(&m->words, name, 6);
  }
}

static jfl_status model_build(const jf_tree *t, jf_model *m)
{
  switch (m->kind) {
  case JF_MODEL_BPE: return jf_bpe_new(m, t->merge, t->n_merge);
  case JF_MODEL_WORDPIECE: return jf_wordpiece_new(m, t->word, t->n_word);
  case JF_MODEL_UNIGRAM:
    m->fuse_unk = 1;
    if (m->unk_id >= m->words.size)
      return jf_fail(JFL_EDATA, "model: unk_id must be below %d, as many words are there, got %d",
                     (int)m->words.size, (int)m->unk_id);
    return jf_unigram_new(m, t->word, t->n_word);
  default: return JFL_OK;
  }
}

jfl_status jf_read_model(const jf_tree *t, jf_model *m)
{
  const jf_tree_node *n;
  const model_row *row = NULL;
  JF_TRY(jf_node_need_kind(t->root, "it", "model", JF_OBJECT, &n));
  JF_TRY(model_find_row(model_type(t, n), &row));
  char where[40];
  snprintf(where, sizeof where, "model: %s", row->type);
  JF_TRY(jf_node_check(n, where, row->members));
  m->kind = row->kind;
  if (!jf_node_get(n, "vocab") || jf_node_get(n, "vocab")->kind != JF_MANY_WORDS ||
      t->scored != (m->kind == JF_MODEL_UNIGRAM))
    return jf_fail(JFL_EDATA, "%s: vocab must be %s", where, m->kind == JF_MODEL_UNIGRAM
                   ? "a list of words with scores" : "an object of words with ids");
  JF_TRY(model_options(m, n));
  if (m->kind == JF_MODEL_BPE && !jf_node_get(n, "merges"))
    return jf_fail(JFL_EDATA, "%s: merges must be a list, got nothing", where);
  JF_TRY(jf_vocabulary_new(&m->words, t->word, t->n_word));
  if (m->unk.s) m->unk_id = jf_vocabulary_find(&m->words, m->unk.s, m->unk.n);
  model_bytes(m);
  return model_build(t, m);
}

void jf_model_free(jf_model *m)
{
  jf_vocabulary_free(&m->words);
  jf_trie_free(&m->trie);
  jf_trie_free(&m->inner);
  jf_merges_free(m->merges);
}

jfl_status jf_model_run(jf_model *m, jf_flow *f)
{
  for (int i = 0; i < f->n_piece; i++) {
    if (i % LOOK == 0) JF_TRY(jf_time_for(0));
    const jf_piece *p = &f->piece[i];
    if (p->id != JF_NO_ID) jf_flow_token(f, p->id, p->from, p->to);
    else if (m->kind == JF_MODEL_BPE) JF_TRY(jf_bpe_piece(m, f, p));
    else if (m->kind == JF_MODEL_UNIGRAM) JF_TRY(jf_unigram_piece(m, f, p));
    else JF_TRY(jf_wordpiece_piece(m, f, p));
  }
  return jf_flow_status(f);
}
