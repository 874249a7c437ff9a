/* A tokenizer made of the text of its file. */
#include "text/tree.h"

#include <string.h>

#define TOP " version truncation padding added_tokens normalizer pre_tokenizer post_processor " \
  "decoder model "

enum { SHOWN = 60, MOST_ADDED = 1024,
       MOST_PADDING = 1 << 20 };       /* tokens that a file may have a text filled up to */

/* ---- added tokens ---- */

/* The number that a token gets: that of the model, or the next that is free. The file's must be the
   same, as other programs go by their own. */
static jfl_status read_id(const jfl_tokenizer *t, const jf_tree_node *n, int32_t next, jf_word *w)
{
  int64_t id = -1;
  const int32_t known = jf_vocabulary_find(&t->model.words, w->s, w->n);
  w->id = known >= 0 ? known : next;
  JF_TRY(jf_node_whole(n, "added_tokens", "id", INT32_MAX, &id));
  if (id == w->id) return JFL_OK;
  return jf_fail(JFL_EDATA, "added_tokens: the id of '%.*s' must be %d, %s, got %lld",
                 w->n < SHOWN ? (int)w->n : SHOWN, w->s, (int)w->id,
                 known >= 0 ? "as in the vocabulary" : "the next that is free", (long long)id);
}

static jfl_status read_added_one(jfl_tokenizer *t, const jf_tree_node *n, int32_t *next)
{
  static const char where[] = "added_tokens";
  jf_added *a = &t->added.v[t->added.n];
  JF_TRY(jf_time_at(t->added.n));
  if (n->kind != JF_OBJECT)
    return jf_fail(JFL_EDATA, "%s: each must be an object, got %s", where, jf_node_kind_name(n));
  JF_TRY(jf_node_check(n, where, " id content single_word lstrip rstrip normalized special "));
  JF_TRY(jf_node_need_text(n, where, "content", &a->word));
  JF_TRY(jf_node_flag(n, where, "special", &a->special));
  a->normalized = !a->special;
  JF_TRY(jf_node_flag(n, where, "single_word", &a->single_word));
  JF_TRY(jf_node_flag(n, where, "lstrip", &a->left));
  JF_TRY(jf_node_flag(n, where, "rstrip", &a->right));
  JF_TRY(jf_node_flag(n, where, "normalized", &a->normalized));
  if (!a->word.n || a->word.n > MOST_ADDED)
    return jf_fail(JFL_EDATA, "%s: content must have 1 to %d bytes, got %u", where, MOST_ADDED,
                   a->word.n);
  JF_TRY(read_id(t, n, *next, &a->word));
  if (a->word.id >= *next) *next = a->word.id + 1;
  t->added.n++;
  return JFL_OK;
}

static jfl_status read_added(jfl_tokenizer *t, const jf_tree *tree)
{
  const jf_tree_node *list = jf_node_get(tree->root, "added_tokens");
  int32_t next = t->model.words.n;
  if (list && list->kind != JF_LIST)
    return jf_fail(JFL_EDATA, "added_tokens: it must be a list, got %s", jf_node_kind_name(list));
  t->added.v = jf_keep_new(&t->keep, (size_t)(list ? list->n : 0) * sizeof *t->added.v);
  if (!t->added.v) return jf_fail(JFL_ENOMEM, "out of memory");
  for (const jf_tree_node *n = list ? list->first : NULL; n; n = n->next)
    JF_TRY(read_added_one(t, n, &next));
  return jf_added_new(&t->added, &t->normalizers);
}

/* ---- truncation and padding ---- */

static jfl_status read_truncation(jfl_tokenizer *t, const jf_tree *tree)
{
  static const char where[] = "truncation";
  static const char *const strategies[] = { "LongestFirst", "OnlyFirst", "OnlySecond", NULL };
  static const char *const directions[] = { "Right", "Left", NULL };
  const jf_tree_node *n = jf_node_get(tree->root, where);
  int strategy = 0;
  int64_t most = 512, stride = 0;
  if (!n) return JFL_OK;
  JF_TRY(jf_node_check(n, where, " direction max_length strategy stride "));
  JF_TRY(jf_node_choice(n, where, "direction", directions, &t->truncation.left));
  JF_TRY(jf_node_choice(n, where, "strategy", strategies, &strategy));
  JF_TRY(jf_node_whole(n, where, "max_length", INT64_C(1) << 53, &most));
  JF_TRY(jf_node_whole(n, where, "stride", INT64_C(1) << 53, &stride));
  t->truncation.strategy = (jf_strategy)strategy;
  t->truncation.most = most;
  t->truncates = 1;
  return JFL_OK;
}

/* "BatchLongest" or {"Fixed": 128} */
static jfl_status read_padding_strategy(jfl_tokenizer *t, const jf_tree_node *n)
{
  const jf_tree_node *strategy = jf_node_get(n, "strategy");
  if (strategy && strategy->kind == JF_OBJECT) {
    JF_TRY(jf_node_check(strategy, "padding", " Fixed "));
    return jf_node_whole(strategy, "padding", "Fixed", MOST_PADDING, &t->padding.fixed);
  }
  jf_word w = { 0 };
  JF_TRY(jf_node_text(n, "padding", "strategy", &w));
  if (w.s && strcmp(w.s, "BatchLongest"))
    return jf_fail(JFL_EDATA, "padding: strategy must be BatchLongest or Fixed, got '%.60s'", w.s);
  return JFL_OK;
}

static jfl_status read_padding(jfl_tokenizer *t, const jf_tree *tree)
{
  static const char where[] = "padding";
  static const char *const directions[] = { "Right", "Left", NULL };
  const jf_tree_node *n = jf_node_get(tree->root, where);
  int64_t id = 0, type = 0;
  if (!n) return JFL_OK;
  JF_TRY(jf_node_check(n, where, " strategy direction pad_to_multiple_of pad_id pad_type_id "
                       "pad_token "));
  JF_TRY(read_padding_strategy(t, n));
  JF_TRY(jf_node_choice(n, where, "direction", directions, &t->padding.left));
  JF_TRY(jf_node_whole(n, where, "pad_to_multiple_of", MOST_PADDING, &t->padding.multiple));
  JF_TRY(jf_node_whole(n, where, "pad_id", INT32_MAX, &id));
  JF_TRY(jf_node_whole(n, where, "pad_type_id", INT32_MAX, &type));
  t->padding.id = (int32_t)id;
  t->padding.type = (int32_t)type;
  t->pads = 1;
  return JFL_OK;
}

/* ---- the whole ---- */

/* Tokens by their numbers: the model's, and over them those that were added. */
static jfl_status read_by_id(jfl_tokenizer *t)
{
  const jf_vocabulary *m = &t->model.words;
  t->size = m->size;
  for (int i = 0; i < t->added.n; i++)
    if (t->added.v[i].word.id >= t->size) t->size = t->added.v[i].word.id + 1;
  t->by_id = jf_keep_new(&t->keep, (size_t)t->size * sizeof *t->by_id);
  if (!t->by_id) return jf_fail(JFL_ENOMEM, "out of memory");
  if (m->size) memcpy(t->by_id, m->by_id, (size_t)m->size * sizeof *t->by_id);
  for (int i = 0; i < t->added.n; i++) t->by_id[t->added.v[i].word.id] = t->added.v[i].word;
  return JFL_OK;
}

/* What templates and padding add must be tokens. */
static jfl_status read_check_parts(const jfl_tokenizer *t, const jf_parts *p)
{
  for (int i = 0; i < p->n; i++)
    for (int k = 0; k < p->v[i].n; k++)
      if (p->v[i].ids[k] >= t->size)
        return jf_fail(JFL_EDATA, "post_processor: ids must be those of tokens, below %d, got %d",
                       (int)t->size, (int)p->v[i].ids[k]);
  return JFL_OK;
}

static jfl_status read_check_framers(const jfl_tokenizer *t)
{
  int templates = 0;
  for (int i = 0; i < t->framers.n; i++) {
    const jf_text_rule *r = &t->framers.v[i];
    JF_TRY(read_check_parts(t, &r->single));
    JF_TRY(read_check_parts(t, &r->pair));
    templates += r->kind != JF_TRIM;
  }
  return templates <= 1 ? JFL_OK
         : jf_fail(JFL_EDATA, "post_processor: one part must add tokens, got %d", templates);
}

static jfl_status read_tree(jfl_tokenizer *t, jf_tree *tree)
{
  JF_TRY(jf_tree_read(tree, t->text, t->json_size, &t->keep));
  JF_TRY(jf_node_check(tree->root, "it", TOP));
  JF_TRY(jf_read_model(tree, &t->model));
  JF_TRY(jf_read_rules(tree, "normalizer", &t->keep, &t->normalizers));
  JF_TRY(jf_read_rules(tree, "pre_tokenizer", &t->keep, &t->splitters));
  JF_TRY(jf_read_rules(tree, "post_processor", &t->keep, &t->framers));
  JF_TRY(jf_read_rules(tree, "decoder", &t->keep, &t->decoders));
  t->has_decoder = jf_node_get(tree->root, "decoder") != NULL;
  JF_TRY(read_added(t, tree));
  JF_TRY(read_truncation(t, tree));
  JF_TRY(read_padding(t, tree));
  JF_TRY(read_by_id(t));
  return read_check_framers(t);
}

jfl_status jf_tokenizer_build(jfl_tokenizer *t)
{
  jf_tree tree = { 0 };
  const jfl_status s = read_tree(t, &tree);
  jf_tree_free(&tree);
  return s;
}
