/* What a tokenizer.json asks for besides its model, as rules. Sequences become one list. */
#include "text/tree.h"

#include <stdio.h>
#include <string.h>

/* One kind of rule: the file's name for it and its members, with spaces around each. */
typedef struct rule_reader rule_reader;
typedef struct rule_kind {
  const char *type, *members;
  jf_rule_kind kind;
  jfl_status (*read)(rule_reader *r, const jf_tree_node *n, jf_text_rule *out);
} rule_kind;

struct rule_reader {
  char where[100];             /* "normalizer: Strip" */
  jf_keep *keep;
  jf_rules *rules;
  const rule_kind *kinds;
  int depth;
};

enum { MOST_DEPTH = 20, MOST_LENGTH = 1 << 30, MOST_SPECIAL = 1 << 16, MOST_TEXTS = 64 };

static jfl_status rules_add(rule_reader *r, const jf_text_rule *rule)
{
  if (!JF_ROOM(r->rules->v, r->rules->n, r->rules->cap)) {
    jf_pattern_free(rule->pattern);
    return jf_fail(JFL_ENOMEM, "out of memory");
  }
  r->rules->v[r->rules->n++] = *rule;
  return JFL_OK;
}

void jf_rules_free(jf_rules *r)
{
  for (int i = 0; i < r->n; i++) jf_pattern_free(r->v[i].pattern);
  jf_free(r->v);
}

/* ---- members that several kinds have ---- */

/* A string of one character. */
static jfl_status rule_character(rule_reader *r, const jf_tree_node *n, const char *name,
                                 int32_t *out)
{
  jf_word w = { 0 };
  size_t size = 0;
  JF_TRY(jf_node_need_text(n, r->where, name, &w));
  if (w.n) *out = jf_char_at(w.s, &size);
  return w.n && size == w.n ? JFL_OK
         : jf_fail(JFL_EDATA, "%s: %s must be one character, got '%.60s'", r->where, name, w.s);
}

/* pattern: a text, or {"String": text}, or {"Regex": expression} */
static jfl_status rule_pattern(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  const jf_tree_node *p = jf_node_get(n, "pattern");
  jf_word regex = { 0 };
  if (p && p->kind == JF_STRING) {
    out->text = p->text;
    return JFL_OK;
  }
  JF_TRY(jf_node_need_kind(n, r->where, "pattern", JF_OBJECT, &p));
  JF_TRY(jf_node_check(p, r->where, " String Regex "));
  JF_TRY(jf_node_text(p, r->where, "Regex", &regex));
  if (regex.s) return jf_pattern_new(r->where, regex.s, regex.n, &out->pattern);
  return jf_node_need_text(p, r->where, "String", &out->text);
}

static jfl_status rule_behaviour(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  static const char *const names[] = { "Removed", "Isolated", "MergedWithPrevious",
                                       "MergedWithNext", "Contiguous", NULL };
  int v = (int)out->behaviour;
  JF_TRY(jf_node_choice(n, r->where, "behavior", names, &v));
  out->behaviour = (jf_behaviour)v;
  return JFL_OK;
}

/* ---- normalizers ---- */

static jfl_status rule_replace(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  JF_TRY(jf_node_need_text(n, r->where, "content", &out->content));
  return rule_pattern(r, n, out);
}

static jfl_status rule_prepend(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  return jf_node_need_text(n, r->where, "prepend", &out->content);
}

static jfl_status rule_strip(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  out->left = out->right = 1;
  JF_TRY(jf_node_flag(n, r->where, "strip_left", &out->left));
  return jf_node_flag(n, r->where, "strip_right", &out->right);
}

static jfl_status rule_bert_normalizer(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  static const jf_rule_kind steps[] = { JF_CLEAN, JF_CHINESE, JF_NFD, JF_STRIP_MARKS,
                                        JF_LOWERCASE };
  int clean = 1, chinese = 1, lower = 1, strips = -1;
  JF_TRY(jf_node_flag(n, r->where, "clean_text", &clean));
  JF_TRY(jf_node_flag(n, r->where, "handle_chinese_chars", &chinese));
  JF_TRY(jf_node_flag(n, r->where, "lowercase", &lower));
  JF_TRY(jf_node_flag(n, r->where, "strip_accents", &strips));
  if (strips < 0) strips = lower;
  const int wanted[] = { clean, chinese, strips, strips, lower };
  for (int i = 0; i < 5; i++) {
    out->kind = steps[i];
    if (wanted[i]) JF_TRY(rules_add(r, out));
  }
  return JFL_OK;
}

static int rule_base64_digit(char c)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const char *p = c ? strchr(digits, c) : NULL;
  return p ? (int)(p - digits) : -1;
}

/* Decodes base64; gives how many bytes there are, or -1. */
static int64_t rule_base64(const jf_word *w, unsigned char *to)
{
  int64_t n = 0;
  uint32_t bits = 0;
  size_t end = w->n;
  while (end && w->s[end - 1] == '=') end--;
  for (size_t i = 0; i < end; i++) {
    const int digit = rule_base64_digit(w->s[i]);
    if (digit < 0) return -1;
    bits = bits << 6 | (uint32_t)digit;
    if (i % 4) to[n++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
  }
  return end % 4 == 1 ? -1 : n;
}

static uint32_t rule_number(const unsigned char *p)
{
  return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* How many bytes its trie has, four of each unit; then the units and the texts, as UTF-8. */
static jfl_status rule_charsmap(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  jf_word w = { 0 };
  JF_TRY(jf_node_need_text(n, r->where, "precompiled_charsmap", &w));
  unsigned char *bytes = jf_keep_new(r->keep, (size_t)w.n + 4);
  if (!bytes) return jf_fail(JFL_ENOMEM, "out of memory");
  const int64_t size = rule_base64(&w, bytes);
  const int64_t trie = size < 4 ? -1 : (int64_t)rule_number(bytes);
  if (trie < 4 || trie % 4 || trie > size - 4)
    return jf_fail(JFL_EDATA, "%s: precompiled_charsmap must be a map of SentencePiece as base64",
                   r->where);
  uint32_t *units = jf_keep_new(r->keep, (size_t)trie);
  if (!units) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int64_t i = 0; i < trie / 4; i++) units[i] = rule_number(bytes + 4 + 4 * i);
  out->units = units;
  out->n_unit = (size_t)trie / 4;
  out->content = (jf_word){ (const char *)bytes + 4 + trie, (uint32_t)(size - 4 - trie), 0, 0 };
  for (size_t i = 0, step; i < out->content.n; i += step) {
    step = jf_utf8_step(out->content.s + i, out->content.n - i);
    if (!step) return jf_fail(JFL_EDATA, "%s: precompiled_charsmap must have texts in UTF-8",
                              r->where);
  }
  return JFL_OK;
}

/* ---- what cuts ---- */

static jfl_status rule_byte_level(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  int prefix = 1;
  out->trims = out->splits = 1;
  JF_TRY(jf_node_flag(n, r->where, "add_prefix_space", &prefix));
  JF_TRY(jf_node_flag(n, r->where, "trim_offsets", &out->trims));
  JF_TRY(jf_node_flag(n, r->where, "use_regex", &out->splits));
  out->prefix = prefix ? JF_ALWAYS : JF_NEVER;
  if (out->kind != JF_BYTE_LEVEL || !out->splits) return JFL_OK;
  return jf_pattern_new(r->where, jf_byte_level_pattern, strlen(jf_byte_level_pattern),
                        &out->pattern);
}

static jfl_status rule_metaspace(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  static const char *const schemes[] = { "never", "always", "first", NULL };
  int prefix = 1, scheme;
  out->splits = 1;
  JF_TRY(rule_character(r, n, "replacement", &out->character));
  JF_TRY(jf_node_flag(n, r->where, "add_prefix_space", &prefix));
  JF_TRY(jf_node_flag(n, r->where, "split", &out->splits));
  scheme = prefix ? JF_ALWAYS : JF_NEVER;
  JF_TRY(jf_node_choice(n, r->where, "prepend_scheme", schemes, &scheme));
  out->prefix = (jf_prefix)scheme;
  return JFL_OK;
}

static jfl_status rule_split(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  JF_TRY(jf_node_flag(n, r->where, "invert", &out->inverted));
  JF_TRY(rule_behaviour(r, n, out));
  return rule_pattern(r, n, out);
}

static jfl_status rule_digits(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  return jf_node_flag(n, r->where, "individual_digits", &out->splits);
}

static jfl_status rule_punctuation(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  out->behaviour = JF_ISOLATED;
  return rule_behaviour(r, n, out);
}

static jfl_status rule_delimiter(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  return rule_character(r, n, "delimiter", &out->character);
}

static jfl_status rule_length(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  int64_t length = 5;
  JF_TRY(jf_node_whole(n, r->where, "length", MOST_LENGTH, &length));
  out->left = (int)length;
  return length ? JFL_OK : jf_fail(JFL_EDATA, "%s: length must be at least 1, got 0", r->where);
}

/* ---- what makes texts ---- */

static jfl_status rule_from_wordpiece(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  out->text = (jf_word){ "##", 2, 0, 0 };
  out->trims = 1;
  JF_TRY(jf_node_text(n, r->where, "prefix", &out->text));
  return jf_node_flag(n, r->where, "cleanup", &out->trims);
}

static jfl_status rule_from_strip(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  int64_t left = 0, right = 0;
  JF_TRY(rule_character(r, n, "content", &out->character));
  JF_TRY(jf_node_whole(n, r->where, "start", MOST_LENGTH, &left));
  JF_TRY(jf_node_whole(n, r->where, "stop", MOST_LENGTH, &right));
  out->left = (int)left;
  out->right = (int)right;
  return JFL_OK;
}

static jfl_status rule_from_bpe(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  out->text = (jf_word){ "</w>", 4, 0, 0 };
  return jf_node_text(n, r->where, "suffix", &out->text);
}

static jfl_status rule_from_ctc(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  out->text = (jf_word){ "<pad>", 5, 0, 0 };
  out->content = (jf_word){ "|", 1, 0, 0 };
  out->trims = 1;
  JF_TRY(jf_node_text(n, r->where, "pad_token", &out->text));
  JF_TRY(jf_node_text(n, r->where, "word_delimiter_token", &out->content));
  return jf_node_flag(n, r->where, "cleanup", &out->trims);
}

/* ---- what adds tokens around ---- */

/* [token, id] */
static jfl_status rule_pair(rule_reader *r, const jf_tree_node *n, const char *name, int32_t *id)
{
  const jf_tree_node *list;
  JF_TRY(jf_node_need_kind(n, r->where, name, JF_LIST, &list));
  const jf_tree_node *number = list->n == 2 ? list->first->next : NULL;
  if (!number || number->kind != JF_NUMBER || !(number->number >= 0) || number->number > INT32_MAX)
    return jf_fail(JFL_EDATA, "%s: %s must be a token and its id", r->where, name);
  *id = (int32_t)number->number;
  return JFL_OK;
}

static jf_part rule_special_part(const int32_t *ids, int n, int32_t type)
{
  return (jf_part){ JF_NO_ID, type, ids, n };
}

/* [CLS] A [SEP] B [SEP]; with RoBERTa two separators between, and all of type 0. */
static jfl_status rule_bert(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  const int roberta = out->kind == JF_ROBERTA_PAIR, second = !roberta;
  int32_t *id = jf_keep_new(r->keep, 2 * sizeof *id);
  jf_part *v = jf_keep_new(r->keep, 9 * sizeof *v);
  int prefix = 1;
  if (!id || !v) return jf_fail(JFL_ENOMEM, "out of memory");
  JF_TRY(rule_pair(r, n, "cls", &id[0]));
  JF_TRY(rule_pair(r, n, "sep", &id[1]));
  out->trims = roberta;
  JF_TRY(jf_node_flag(n, r->where, "trim_offsets", &out->trims));
  JF_TRY(jf_node_flag(n, r->where, "add_prefix_space", &prefix));
  out->prefix = prefix ? JF_ALWAYS : JF_NEVER;
  const jf_part cls = rule_special_part(&id[0], 1, 0), sep = rule_special_part(&id[1], 1, 0);
  const jf_part parts[] = { cls, { 0, 0, NULL, 0 }, sep, cls, { 0, 0, NULL, 0 }, sep, sep,
                            { 1, second, NULL, 0 }, rule_special_part(&id[1], 1, second) };
  memcpy(v, parts, sizeof parts);
  out->single = (jf_parts){ v, 3 };
  out->pair = (jf_parts){ v + 3, 6 };
  if (roberta) return JFL_OK;
  memmove(v + 6, v + 7, 2 * sizeof *v);
  out->pair.n = 5;
  return JFL_OK;
}

/* The ids of a special token of a template, which special_tokens has. */
static jfl_status rule_special(rule_reader *r, const jf_tree_node *all, const jf_word *name,
                               jf_part *out)
{
  const jf_tree_node *special = jf_node_get(jf_node_get(all, "special_tokens"), name->s), *ids;
  if (!special)
    return jf_fail(JFL_EDATA, "%s: special_tokens must have '%.60s', which the template names",
                   r->where, name->s);
  JF_TRY(jf_node_need_kind(special, r->where, "ids", JF_LIST, &ids));
  int32_t *v = jf_keep_new(r->keep, (size_t)ids->n * sizeof *v);
  if (!v) return jf_fail(JFL_ENOMEM, "out of memory");
  int n = 0;
  for (const jf_tree_node *id = ids->first; id; id = id->next) {
    if (id->kind != JF_NUMBER || !(id->number >= 0) || id->number > INT32_MAX)
      return jf_fail(JFL_EDATA, "%s: ids of '%.60s' must be whole numbers, got %s", r->where,
                     name->s, jf_node_kind_name(id));
    v[n++] = (int32_t)id->number;
  }
  out->sequence = JF_NO_ID;
  out->ids = v;
  out->n = n;
  return JFL_OK;
}

/* {"Sequence": {"id": "A", "type_id": 0}} or {"SpecialToken": {"id": "[CLS]", "type_id": 0}} */
static jfl_status rule_part(rule_reader *r, const jf_tree_node *all, const jf_tree_node *n,
                            jf_part *out)
{
  const jf_tree_node *sequence = jf_node_get(n, "Sequence");
  const jf_tree_node *special = jf_node_get(n, "SpecialToken");
  jf_word name = { 0 };
  int64_t type = 0;
  if (!sequence && !special)
    return jf_fail(JFL_EDATA, "%s: a part of a template must be a Sequence or a SpecialToken",
                   r->where);
  const jf_tree_node *part = sequence ? sequence : special;
  JF_TRY(jf_node_need_text(part, r->where, "id", &name));
  JF_TRY(jf_node_whole(part, r->where, "type_id", INT32_MAX, &type));
  out->type = (int32_t)type;
  if (special) return rule_special(r, all, &name, out);
  if (strcmp(name.s, "A") && strcmp(name.s, "B"))
    return jf_fail(JFL_EDATA, "%s: a Sequence must be A or B, got '%.60s'", r->where, name.s);
  out->sequence = name.s[0] == 'B';
  return JFL_OK;
}

static jfl_status rule_parts(rule_reader *r, const jf_tree_node *n, const char *name, jf_parts *out)
{
  const jf_tree_node *list;
  JF_TRY(jf_node_need_kind(n, r->where, name, JF_LIST, &list));
  out->v = jf_keep_new(r->keep, (size_t)list->n * sizeof *out->v);
  if (!out->v) return jf_fail(JFL_ENOMEM, "out of memory");
  int64_t special = 0, texts = 0;      /* a part may name a long list, or a text, again and again */
  for (const jf_tree_node *part = list->first; part; part = part->next) {
    JF_TRY(rule_part(r, n, part, &out->v[out->n]));
    texts += out->v[out->n].sequence != JF_NO_ID;
    special += out->v[out->n++].n;
    if (texts > MOST_TEXTS)
      return jf_fail(JFL_EDATA, "%s: %s must name sequences at most %d times", r->where, name,
                     MOST_TEXTS);
    if (special > MOST_SPECIAL)
      return jf_fail(JFL_EDATA, "%s: %s must add at most %d tokens", r->where, name, MOST_SPECIAL);
  }
  return JFL_OK;
}

static jfl_status rule_template(rule_reader *r, const jf_tree_node *n, jf_text_rule *out)
{
  JF_TRY(rule_parts(r, n, "single", &out->single));
  JF_TRY(rule_parts(r, n, "pair", &out->pair));
  for (int i = 0; i < out->single.n; i++)
    if (out->single.v[i].sequence == 1)
      return jf_fail(JFL_EDATA, "%s: single must name the sequence A alone", r->where);
  return JFL_OK;
}

/* ---- the kinds ---- */

#define LEVEL " add_prefix_space trim_offsets use_regex "

static const rule_kind normalizer_kinds[] = {
  { "NFC", " ", JF_NFC, NULL }, { "NFD", " ", JF_NFD, NULL }, { "NFKC", " ", JF_NFKC, NULL },
  { "NFKD", " ", JF_NFKD, NULL }, { "Lowercase", " ", JF_LOWERCASE, NULL },
  { "StripAccents", " ", JF_STRIP_ACCENTS, NULL }, { "Nmt", " ", JF_NMT, NULL },
  { "BertNormalizer", " clean_text handle_chinese_chars strip_accents lowercase ", JF_CLEAN,
    rule_bert_normalizer },
  { "Replace", " pattern content ", JF_REPLACE, rule_replace },
  { "Prepend", " prepend ", JF_PREPEND, rule_prepend },
  { "Strip", " strip_left strip_right ", JF_STRIP, rule_strip },
  { "Precompiled", " precompiled_charsmap ", JF_CHARSMAP, rule_charsmap },
  { "ByteLevel", LEVEL, JF_BYTES, NULL }, { NULL, NULL, 0, NULL }
};
static const rule_kind splitter_kinds[] = {
  { "ByteLevel", LEVEL, JF_BYTE_LEVEL, rule_byte_level },
  { "BertPreTokenizer", " ", JF_BERT, NULL }, { "Whitespace", " ", JF_WHITESPACE, NULL },
  { "WhitespaceSplit", " ", JF_WHITESPACE_SPLIT, NULL },
  { "Metaspace", " replacement add_prefix_space prepend_scheme split str_rep ", JF_METASPACE,
    rule_metaspace },
  { "Split", " pattern behavior invert ", JF_SPLIT_AT, rule_split },
  { "Digits", " individual_digits ", JF_DIGITS, rule_digits },
  { "Punctuation", " behavior ", JF_PUNCTUATION_SPLIT, rule_punctuation },
  { "CharDelimiterSplit", " delimiter ", JF_DELIMITER, rule_delimiter },
  { "FixedLength", " length ", JF_LENGTH, rule_length }, { NULL, NULL, 0, NULL }
};
static const rule_kind framer_kinds[] = {
  { "TemplateProcessing", " single pair special_tokens ", JF_TEMPLATE, rule_template },
  { "ByteLevel", LEVEL, JF_TRIM, rule_byte_level },
  { "BertProcessing", " sep cls ", JF_BERT_PAIR, rule_bert },
  { "RobertaProcessing", " sep cls trim_offsets add_prefix_space ", JF_ROBERTA_PAIR, rule_bert },
  { NULL, NULL, 0, NULL }
};
static const rule_kind decoder_kinds[] = {
  { "ByteLevel", LEVEL, JF_FROM_BYTES, NULL },
  { "WordPiece", " prefix cleanup ", JF_FROM_WORDPIECE, rule_from_wordpiece },
  { "Metaspace", " replacement add_prefix_space prepend_scheme split str_rep ", JF_FROM_METASPACE,
    rule_metaspace },
  { "ByteFallback", " ", JF_FROM_FALLBACK, NULL }, { "Fuse", " ", JF_FUSE, NULL },
  { "Strip", " content start stop ", JF_FROM_STRIP, rule_from_strip },
  { "Replace", " pattern content ", JF_FROM_REPLACE, rule_replace },
  { "BPEDecoder", " suffix ", JF_FROM_BPE, rule_from_bpe },
  { "CTC", " pad_token word_delimiter_token cleanup ", JF_FROM_CTC, rule_from_ctc },
  { NULL, NULL, 0, NULL }
};

/* What a part of the file is called, the kinds it knows, and the member that has a sequence. */
static const struct { const char *part, *list; const rule_kind *kinds; } rule_parts_known[] = {
  { "normalizer", "normalizers", normalizer_kinds },
  { "pre_tokenizer", "pretokenizers", splitter_kinds },
  { "post_processor", "processors", framer_kinds }, { "decoder", "decoders", decoder_kinds }
};

static jfl_status rules_unknown(const rule_reader *r, const char *part, const char *type)
{
  jf_text t = { 0 };
  for (const rule_kind *k = r->kinds; k->type; k++) jf_text_add(&t, "%s, ", k->type);
  const jfl_status s = jf_fail(JFL_EDATA, "%s: '%.60s' is not there; known are %sSequence", part,
                               type, t.failed ? "" : t.s);
  jf_free(t.s);
  return s;
}

static jfl_status rules_one(rule_reader *r, const char *part, const jf_tree_node *n,
                            const char *type)
{
  const rule_kind *k = r->kinds;
  char members[200];
  while (k->type && strcmp(k->type, type)) k++;
  if (!k->type) return rules_unknown(r, part, type);
  snprintf(r->where, sizeof r->where, "%s: %s", part, type);
  snprintf(members, sizeof members, " type%s", k->members);
  JF_TRY(jf_node_check(n, r->where, members));
  jf_text_rule rule = { .kind = k->kind };
  const jfl_status s = k->read ? k->read(r, n, &rule) : JFL_OK;
  if (s) jf_pattern_free(rule.pattern);
  if (s || k->read == rule_bert_normalizer) return s;
  return rules_add(r, &rule);
}

static jfl_status rules_node(rule_reader *r, const char *part, const char *list,
                             const jf_tree_node *n)
{
  jf_word type = { 0 };
  const jf_tree_node *items;
  if (n->kind != JF_OBJECT)
    return jf_fail(JFL_EDATA, "%s: it must be an object, got %s", part, jf_node_kind_name(n));
  JF_TRY(jf_node_need_text(n, part, "type", &type));
  if (strcmp(type.s, "Sequence")) return rules_one(r, part, n, type.s);
  if (++r->depth > MOST_DEPTH) return jf_fail(JFL_EDATA, "%s: nested too deeply", part);
  JF_TRY(jf_node_need_kind(n, part, list, JF_LIST, &items));
  for (const jf_tree_node *i = items->first; i; i = i->next) JF_TRY(rules_node(r, part, list, i));
  r->depth--;
  return JFL_OK;
}

jfl_status jf_read_rules(const jf_tree *t, const char *part, jf_keep *keep, jf_rules *out)
{
  const jf_tree_node *n = jf_node_get(t->root, part);
  size_t k = 0;
  if (!n) return JFL_OK;
  while (strcmp(rule_parts_known[k].part, part)) k++;
  rule_reader r = { .keep = keep, .rules = out, .kinds = rule_parts_known[k].kinds };
  return rules_node(&r, part, rule_parts_known[k].list, n);
}
