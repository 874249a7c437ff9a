/* What a tokenizer is made of: rules in the order in which a file has them, words and a model. */
#ifndef JF_TOKENIZER_H
#define JF_TOKENIZER_H

#include "text/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory that lives as long as a tokenizer (line.c) ---- */

typedef struct jf_keep { struct jf_keep_block *head; } jf_keep;
/* Zeroed; NULL without memory. */
void *jf_keep_new(jf_keep *k, size_t n);
void jf_keep_free(jf_keep *k);

/* ---- words and their numbers (vocabulary.c) ---- */

typedef struct jf_word { const char *s; uint32_t n; int32_t id; double score; } jf_word;

/* Words by id, and ids by word. */
typedef struct jf_vocabulary {
  jf_word *by_id; int32_t size;          /* those that are no word have s NULL */
  int32_t n;                   /* how many words there are */
  struct jf_word_slot *slot; uint32_t n_slot;
  uint64_t seed;               /* so that nobody knows which words meet in a slot */
} jf_vocabulary;
uint64_t jf_word_hash(uint64_t seed, const char *s, size_t n);
/* Makes it of n words, whose bytes it borrows; a word that occurs again has its last id, and an id
   with two words is an error. */
jfl_status jf_vocabulary_new(jf_vocabulary *v, const jf_word *words, int n);
void jf_vocabulary_free(jf_vocabulary *v);
/* The id, or -1. */
int32_t jf_vocabulary_find(const jf_vocabulary *v, const char *s, size_t n);

/* ---- words by what a text begins with (trie.c) ---- */

typedef struct jf_trie { struct jf_trie_node *node; int n; int32_t begin[256]; } jf_trie;
jfl_status jf_trie_new(jf_trie *t, const jf_word *words, int n);
void jf_trie_free(jf_trie *t);
/* Goes on from a node, at first 0, by a byte: the next node, or -1. */
int32_t jf_trie_step(const jf_trie *t, int32_t node, unsigned char byte);
/* The id of the word that ends there, or -1. */
int32_t jf_trie_word(const jf_trie *t, int32_t node);
/* How many bytes the longest word has with which a text begins, 0: none; *id is the word. */
size_t jf_trie_longest(const jf_trie *t, const char *s, size_t n, int32_t *id);

/* ---- a text on its way (line.c) ---- */

typedef struct jf_span { uint32_t from, to; } jf_span;
/* n bytes; span says of each from which bytes of the first text it comes, where that is wanted. */
typedef struct jf_text_line { char *s; jf_span *span; size_t n, cap; } jf_text_line;
/* A part of the line: a text still, or one token. */
typedef struct jf_piece { uint32_t from, to; int32_t id; } jf_piece;
typedef struct jf_token { int32_t id; uint32_t from, to; } jf_token;

enum { JF_NO_ID = -1 };

typedef struct jf_flow {
  jf_text_line line, next;
  jf_piece *piece, *more; int n_piece, cap_piece, n_more, cap_more;
  jf_token *token; int n_token, cap_token;
  const char *given; size_t n_given;     /* the first text, while its tokens are made */
  int spans;                   /* whether they are kept */
  int failed;                  /* memory or time is out: what follows is left out */
  size_t edited;               /* bytes since edits looked at the time */
  size_t most;                 /* bytes that rules may make of the first text */
  void *stack; int cap_stack;            /* of finders */
  void *nodes; size_t nodes_size;        /* room of a model (jf_flow_room) */
} jf_flow;
jfl_status jf_flow_begin(jf_flow *f, const char *s, size_t n, int spans);
void jf_flow_free(jf_flow *f);
enum { JF_TOO_LATE = JF_TOO_LONG + 1 };
/* JFL_ENOMEM where memory was out, JFL_EDATA where the text became too long, JFL_ELIMIT where the
   script has no time left. */
jfl_status jf_flow_status(const jf_flow *f);
/* How many bytes the rules of a file may make of so many: each rule may make a text longer, so a
   few of them would fill any memory. */
static inline size_t jf_text_most(size_t n) { return 64 * n + 4096; }
void *jf_flow_room(jf_flow *f, size_t size);
void jf_flow_token(jf_flow *f, int32_t id, size_t from, size_t to);
/* Adds a piece to those that take the place of the present ones, unless it is empty. */
void jf_flow_piece(jf_flow *f, size_t from, size_t to, int32_t id);
void jf_flow_pieces_done(jf_flow *f);

/* One piece that is written anew: s up to n is what it was, `at` is how much of that is done. */
typedef struct jf_edit {
  jf_flow *flow;
  const char *s; const jf_span *span; size_t n, at;
} jf_edit;
struct jf_text_rule;
typedef jfl_status (*jf_edit_fn)(const struct jf_text_rule *r, jf_edit *e);
/* Calls fn for each piece that is text. */
jfl_status jf_flow_edit(jf_flow *f, const struct jf_text_rule *r, jf_edit_fn fn);
/* Adds c: for the next character and -change more of them, or, with 1, beside them. */
void jf_edit_put(jf_edit *e, int32_t c, int change);
/* Adds the next n bytes as they are; leaves them out. */
void jf_edit_copy(jf_edit *e, size_t n);
void jf_edit_skip(jf_edit *e, size_t n);

/* ---- rules ---- */

typedef enum jf_rule_kind {
  /* normalizers */
  JF_NFC, JF_NFD, JF_NFKC, JF_NFKD, JF_LOWERCASE, JF_STRIP_ACCENTS, JF_CLEAN, JF_CHINESE,
  JF_STRIP_MARKS, JF_REPLACE, JF_PREPEND, JF_STRIP, JF_CHARSMAP, JF_NMT, JF_BYTES,
  /* what cuts into pieces */
  JF_BYTE_LEVEL, JF_BERT, JF_WHITESPACE, JF_WHITESPACE_SPLIT, JF_METASPACE, JF_SPLIT_AT, JF_DIGITS,
  JF_PUNCTUATION_SPLIT, JF_DELIMITER, JF_LENGTH,
  /* what adds tokens around */
  JF_TEMPLATE, JF_TRIM, JF_BERT_PAIR, JF_ROBERTA_PAIR,
  /* what makes a text of tokens */
  JF_FROM_BYTES, JF_FROM_WORDPIECE, JF_FROM_METASPACE, JF_FROM_FALLBACK, JF_FUSE, JF_FROM_STRIP,
  JF_FROM_REPLACE, JF_FROM_BPE, JF_FROM_CTC
} jf_rule_kind;

typedef enum jf_behaviour {
  JF_REMOVED, JF_ISOLATED, JF_WITH_PREVIOUS, JF_WITH_NEXT, JF_CONTIGUOUS
} jf_behaviour;

typedef enum jf_prefix { JF_NEVER, JF_ALWAYS, JF_FIRST } jf_prefix;

/* A part of a template: a text, 0 or 1, or special tokens. */
typedef struct jf_part { int sequence; int32_t type; const int32_t *ids; int n; } jf_part;
typedef struct jf_parts { jf_part *v; int n; } jf_parts;

typedef struct jf_text_rule {
  jf_rule_kind kind;
  jf_word text, content;       /* what is looked for and what takes its place, a prefix or suffix */
  jf_pattern *pattern;         /* in place of text */
  int32_t character;           /* of Metaspace, Strip, CharDelimiterSplit */
  jf_prefix prefix;
  jf_behaviour behaviour;
  int inverted, trims, splits; /* of a split; of offsets; of Metaspace, ByteLevel, Digits */
  int left, right;             /* of Strip; of the decoder: how many */
  const uint32_t *units; size_t n_unit;  /* of a charsmap, and its texts in content */
  jf_parts single, pair;       /* of a template */
} jf_text_rule;

typedef struct jf_rules { jf_text_rule *v; int n, cap; } jf_rules;
void jf_rules_free(jf_rules *r);

/* ---- normalizers (normalize.c, forms.c, charsmap.c) ---- */

jfl_status jf_normalize(jf_flow *f, const jf_rules *r);
jfl_status jf_edit_form(const jf_text_rule *r, jf_edit *e);
jfl_status jf_edit_charsmap(const jf_text_rule *r, jf_edit *e);
jfl_status jf_edit_bytes(const jf_text_rule *r, jf_edit *e);
/* The byte for which that character stands; -1: for none. */
int jf_char_byte(int32_t c);
/* The next place of `text` in s from `at` on; 0: there is none, or *r is a failure. */
int jf_text_find(const jf_word *text, const char *s, size_t n, size_t at, size_t *from,
                 jfl_status *r);

/* ---- pieces (split.c) ---- */

jfl_status jf_split(jf_flow *f, const jf_rules *r);
/* The pattern of GPT-2. */
extern const char jf_byte_level_pattern[];

/* ---- models (bpe.c, wordpiece.c, unigram.c) ---- */

typedef enum jf_model_kind { JF_MODEL_BPE, JF_MODEL_WORDPIECE, JF_MODEL_UNIGRAM,
                             JF_MODEL_WORDS } jf_model_kind;

typedef struct jf_merge_pair { jf_word a, b; } jf_merge_pair;

typedef struct jf_model {
  jf_model_kind kind;
  jf_vocabulary words;
  jf_word unk;                 /* its text; s NULL: none */
  int32_t unk_id;              /* or JF_NO_ID */
  int fuse_unk, byte_fallback, ignore_merges;
  jf_word prefix, suffix;      /* of words that go on, and of those that end */
  int32_t byte_id[256];        /* of <0x00> and so on; where byte_fallback is asked for */
  int32_t most_characters;
  double least_score;
  jf_trie trie, inner;         /* words; those with the prefix, without it */
  struct jf_merges *merges;
} jf_model;
jfl_status jf_bpe_new(jf_model *m, const jf_merge_pair *pairs, int n);
jfl_status jf_wordpiece_new(jf_model *m, const jf_word *words, int n);
jfl_status jf_unigram_new(jf_model *m, const jf_word *words, int n);
void jf_model_free(jf_model *m);
void jf_merges_free(struct jf_merges *m);
/* Makes tokens of all pieces. */
jfl_status jf_model_run(jf_model *m, jf_flow *f);
jfl_status jf_bpe_piece(jf_model *m, jf_flow *f, const jf_piece *p);
jfl_status jf_wordpiece_piece(jf_model *m, jf_flow *f, const jf_piece *p);
jfl_status jf_unigram_piece(jf_model *m, jf_flow *f, const jf_piece *p);

/* ---- added tokens (added.c) ---- */

typedef struct jf_added {
  jf_word word;
  int special, single_word, left, right, normalized;
} jf_added;
typedef struct jf_added_list {
  jf_added *v; int n;
  jf_vocabulary words;         /* whose ids are places in v, as those of the tries are */
  jf_trie raw, normal;
  jf_word *text; int n_text;   /* normalized contents, owned */
} jf_added_list;
jfl_status jf_added_new(jf_added_list *a, const jf_rules *normalizers);
void jf_added_free(jf_added_list *a);
/* Cuts the tokens out of the line; normalizes what is left. skips: special ones are left as
   texts. */
jfl_status jf_added_cut(const jf_added_list *a, jf_flow *f, const jf_rules *normalizers, int skips);

/* ---- tokens around a text, truncation (frame.c) ---- */

typedef enum jf_strategy { JF_LONGEST_FIRST, JF_ONLY_FIRST, JF_ONLY_SECOND } jf_strategy;
typedef struct jf_truncation { int64_t most; jf_strategy strategy; int left; } jf_truncation;
typedef struct jf_padding {
  int64_t fixed, multiple;     /* 0: as long as the longest; 0: none */
  int left;
  int32_t id, type;
} jf_padding;

/* Tokens that grow, as of jfl_encoding. */
typedef struct jf_tokens { jfl_token *v; int64_t n, cap; } jf_tokens;

struct jfl_encoding { jf_tag tag; jf_tokens tokens; };

/* Puts the tokens of both flows, the second of which may be missing, with those around them into
   out, cut to at most `most` (-1: any number). */
jfl_status jf_frame(jfl_tokenizer *t, int n_flow, const jfl_encode_spec *spec, jf_tokens *out);
/* Adds padding up to a length. */
jfl_status jf_pad(const jfl_tokenizer *t, const jfl_encode_spec *spec, int64_t length,
                  jf_tokens *out);

/* ---- the tokenizer (tokenizer.c) ---- */

struct jfl_tokenizer {
  jf_tag tag;
  char *json; size_t json_size;          /* as it was read */
  char *text;                  /* the same, in which strings were decoded */
  jf_keep keep;
  jf_rules normalizers, splitters, framers, decoders;
  int has_decoder;
  jf_model model;
  jf_added_list added;
  jf_truncation truncation; int truncates;
  jf_padding padding; int pads;
  int needs_spans;             /* whatever whoever encodes wants */
  jf_flow flow[2];             /* of a text and of the one beside it */
  jf_word *by_id; int32_t size;          /* of all tokens */
};

/* Fails unless a text is UTF-8 and not too long. */
jfl_status jf_text_check(const jfl_text *x);
/* Reads t->text into a tokenizer that has nothing else (read.c). */
jfl_status jf_tokenizer_build(jfl_tokenizer *t);
/* The text that decoders make of n tokens, of which the list has room for n + 1 (decode.c). */
jfl_status jf_decode(const jf_rules *decoders, int has, jf_word *tokens, int n, jf_text *out);

#ifdef __cplusplus
}
#endif
#endif
