/* A tokenizer's JSON as a tree, but for its words and merges, of which there may be very many:
   these are lists. */
#ifndef JF_TREE_H
#define JF_TREE_H

#include "base/json.h"
#include "text/tokenizer.h"

typedef enum jf_node_kind {
  JF_OBJECT, JF_LIST, JF_STRING, JF_NUMBER, JF_TRUE, JF_FALSE, JF_NULL, JF_MANY_WORDS
} jf_node_kind;

typedef struct jf_tree_node {
  jf_node_kind kind;
  int n;                       /* of what is within */
  const char *name;            /* of a member */
  jf_word text;                /* of a string */
  double number;
  struct jf_tree_node *first, *next;
} jf_tree_node;

typedef struct jf_tree {
  jf_json json;
  jf_keep *keep;
  int64_t n_node;
  jf_word *word; int n_word, cap_word;   /* model.vocab: ids or scores */
  int scored;                  /* it is a list: the words have scores, and ids in their order */
  jf_merge_pair *merge; int n_merge, cap_merge;
  jf_tree_node *root;
} jf_tree;

/* Reads n bytes, in which strings are decoded in place. jf_tree_free frees the lists; the
   nodes are kept. */
jfl_status jf_tree_read(jf_tree *t, char *text, size_t n, jf_keep *keep);
void jf_tree_free(jf_tree *t);

/* The member of an object, or NULL; null counts as none. */
const jf_tree_node *jf_node_get(const jf_tree_node *n, const char *name);
/* What kind of value it is, for messages. */
const char *jf_node_kind_name(const jf_tree_node *n);

/* ---- members of an object; `where` names it in messages ---- */

/* Fails unless all members are among those listed, with spaces around each name. */
jfl_status jf_node_check(const jf_tree_node *n, const char *where, const char *names);
/* A member that may be missing: *out stays then. */
jfl_status jf_node_flag(const jf_tree_node *n, const char *where, const char *name, int *out);
jfl_status jf_node_whole(const jf_tree_node *n, const char *where, const char *name, int64_t most,
                         int64_t *out);
jfl_status jf_node_text(const jf_tree_node *n, const char *where, const char *name, jf_word *out);
/* A text that must not be missing. */
jfl_status jf_node_need_text(const jf_tree_node *n, const char *where, const char *name,
                             jf_word *out);
jfl_status jf_node_need_kind(const jf_tree_node *n, const char *where, const char *name,
                             jf_node_kind kind, const jf_tree_node **out);
/* One of several words, listed with spaces around each, as its place. */
jfl_status jf_node_choice(const jf_tree_node *n, const char *where, const char *name,
                          const char *const *choices, int *out);

/* ---- what a tree asks for (rules.c, models.c) ---- */

jfl_status jf_read_rules(const jf_tree *t, const char *part, jf_keep *keep, jf_rules *out);
jfl_status jf_read_model(const jf_tree *t, jf_model *m);

#endif
