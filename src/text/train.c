/* Learns a vocabulary of byte pairs: of all neighbours in the words of some texts the pair that
   occurs most becomes a token, again and again. Of pairs that occur as often the one with the
   smaller numbers comes first, so that the same texts give the same tokens anywhere. */
#include "base/json.h"
#include "text/tokenizer.h"

#include <string.h>

enum { BYTES = 256, FIRST_SLOTS = 1 << 12, MOST_SIZE = 1 << 24, NONE = -1 };

/* A word, how often it occurs, and its tokens, which become fewer. */
typedef struct train_word { jf_word text; int64_t count; int32_t *part; int n; } train_word;
/* A pair, how often it occurs, and the words that had it when they last changed. */
typedef struct train_pair {
  int32_t a, b;
  int64_t count;
  int32_t *word; int n, cap;
  int touched;                 /* it occurs at new places since the heap was told */
} train_pair;
typedef struct train_entry { int64_t count; int32_t pair; } train_entry;

typedef struct trainer {
  const jfl_bpe_spec *spec;
  jf_flow flow;
  jf_rules rules;              /* cuts texts into words of characters that stand for bytes */
  jf_keep keep;
  uint64_t seed;
  train_word *word; int n_word, cap_word;
  int32_t *word_slot; uint32_t n_word_slot;
  train_pair *pair; int n_pair, cap_pair;
  int32_t *pair_slot; uint32_t n_pair_slot;
  train_entry *heap; int n_heap, cap_heap;
  int32_t *touched; int n_touched, cap_touched;    /* pairs */
  jf_word *token; int n_token, cap_token;          /* special ones, bytes, and those learned */
  int32_t *token_slot; uint32_t n_token_slot;
  jf_merge_pair *merge; int n_merge, cap_merge;
  int n_special;
  int32_t byte_token[BYTES];
  int64_t n_step;
  int failed;                  /* there is no memory, or as `late` says no time */
  jfl_status late;
} trainer;

/* One of many small steps, which a script may have no time for. */
static void train_step(trainer *t)
{
  if (t->late) return;
  t->late = jf_time_at(t->n_step++);
  t->failed |= t->late != JFL_OK;
}

static jfl_status train_outcome(const trainer *t)
{
  if (t->late) return t->late;
  return t->failed ? jf_fail(JFL_ENOMEM, "out of memory") : JFL_OK;
}

/* ---- lists and slots ---- */

/* Makes room for one more in a list of n. */
#define ROOM(t, v, n, cap) (JF_ROOM(v, n, cap) || ((t)->failed = 1, 0))

/* Empty slots for twice as many; 0 without memory. */
static int train_slots(trainer *t, int32_t **slot, uint32_t *n)
{
  const uint32_t more = *n ? 2 * *n : FIRST_SLOTS;
  int32_t *v = jf_new_raw(more * sizeof *v);
  if (!v) return t->failed = 1, 0;
  memset(v, 0xff, more * sizeof *v);
  jf_free(*slot);
  *slot = v;
  *n = more;
  return 1;
}

static int32_t *train_pair_slot(const trainer *t, int32_t a, int32_t b)
{
  const uint32_t mask = t->n_pair_slot - 1;
  const int32_t both[2] = { a, b };
  uint32_t i = (uint32_t)(jf_word_hash(t->seed, (const char *)both, sizeof both) >> 32) & mask;
  for (int32_t k; (k = t->pair_slot[i]) >= 0; i = (i + 1) & mask)
    if (t->pair[k].a == a && t->pair[k].b == b) break;
  return &t->pair_slot[i];
}

/* The place of a pair, which is added where it is new. */
static int32_t train_pair_of(trainer *t, int32_t a, int32_t b)
{
  if ((uint32_t)t->n_pair * 2 >= t->n_pair_slot) {
    if (!train_slots(t, &t->pair_slot, &t->n_pair_slot)) return NONE;
    for (int i = 0; i < t->n_pair; i++) *train_pair_slot(t, t->pair[i].a, t->pair[i].b) = i;
  }
  int32_t *slot = train_pair_slot(t, a, b);
  if (*slot >= 0) return *slot;
  if (!ROOM(t, t->pair, t->n_pair, t->cap_pair)) return NONE;
  t->pair[t->n_pair] = (train_pair){ .a = a, .b = b };
  return *slot = t->n_pair++;
}

/* ---- words ---- */

static int32_t *train_word_slot(const trainer *t, const char *s, size_t n)
{
  const uint32_t mask = t->n_word_slot - 1;
  uint32_t i = (uint32_t)(jf_word_hash(t->seed, s, n) >> 32) & mask;
  for (int32_t k; (k = t->word_slot[i]) >= 0; i = (i + 1) & mask)
    if (t->word[k].text.n == n && !memcmp(t->word[k].text.s, s, n)) break;
  return &t->word_slot[i];
}

static void train_word_add(trainer *t, const char *s, size_t n)
{
  train_step(t);
  if ((uint32_t)t->n_word * 2 >= t->n_word_slot) {
    if (!train_slots(t, &t->word_slot, &t->n_word_slot)) return;
    for (int i = 0; i < t->n_word; i++)
      *train_word_slot(t, t->word[i].text.s, t->word[i].text.n) = i;
  }
  int32_t *slot = train_word_slot(t, s, n);
  if (*slot >= 0) {
    t->word[*slot].count++;
    return;
  }
  char *copy = jf_keep_new(&t->keep, n + n * sizeof(int32_t) + sizeof(int32_t));
  if (!copy || !ROOM(t, t->word, t->n_word, t->cap_word)) {
    t->failed = 1;
    return;
  }
  int32_t *part = (int32_t *)copy;
  memcpy(part + n, s, n);
  t->word[t->n_word] = (train_word){ { (char *)(part + n), (uint32_t)n, 0, 0 }, 1, part, 0 };
  *slot = t->n_word++;
}

static jfl_status train_count(trainer *t, const jfl_text *x)
{
  JF_TRY(jf_text_check(x));
  JF_TRY(jf_flow_begin(&t->flow, x->s ? x->s : "", x->n, 0));
  JF_TRY(jf_split(&t->flow, &t->rules));
  for (int i = 0; i < t->flow.n_piece && !t->failed; i++) {
    const jf_piece *p = &t->flow.piece[i];
    train_word_add(t, t->flow.line.s + p->from, p->to - p->from);
  }
  return train_outcome(t);
}

/* ---- pairs ---- */

static int train_before(const trainer *t, const train_entry *x, const train_entry *y)
{
  const train_pair *a = &t->pair[x->pair], *b = &t->pair[y->pair];
  if (x->count != y->count) return x->count > y->count;
  return a->a < b->a || (a->a == b->a && a->b < b->b);
}

static void train_push(trainer *t, train_entry e)
{
  if (!ROOM(t, t->heap, t->n_heap, t->cap_heap)) return;
  int i = t->n_heap++;
  for (; i && train_before(t, &e, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
    t->heap[i] = t->heap[(i - 1) / 2];
  t->heap[i] = e;
}

static train_entry train_pop(trainer *t)
{
  const train_entry top = t->heap[0], last = t->heap[--t->n_heap];
  int i = 0;
  for (int k; (k = 2 * i + 1) < t->n_heap; i = k) {
    if (k + 1 < t->n_heap && train_before(t, &t->heap[k + 1], &t->heap[k])) k++;
    if (!train_before(t, &t->heap[k], &last)) break;
    t->heap[i] = t->heap[k];
  }
  if (t->n_heap) t->heap[i] = last;
  return top;
}

/* Counts one place more, or with sign -1 fewer, where a word has a and then b. */
static void train_tell(trainer *t, int32_t word, int32_t a, int32_t b, int sign)
{
  train_step(t);
  const int32_t k = train_pair_of(t, a, b);
  if (k < 0) return;
  train_pair *p = &t->pair[k];
  p->count += sign * t->word[word].count;
  if (sign < 0) return;
  if (!p->touched && ROOM(t, t->touched, t->n_touched, t->cap_touched)) {
    p->touched = 1;
    t->touched[t->n_touched++] = k;
  }
  if (p->n && p->word[p->n - 1] == word) return;
  if (ROOM(t, p->word, p->n, p->cap)) p->word[p->n++] = word;
}

/* Tells the heap of the pairs that occur at new places. */
static void train_settle(trainer *t)
{
  for (int i = 0; i < t->n_touched; i++) {
    train_pair *p = &t->pair[t->touched[i]];
    p->touched = 0;
    if (p->count > 0) train_push(t, (train_entry){ p->count, t->touched[i] });
  }
  t->n_touched = 0;
}

/* Joins a pair wherever a word has it; `to` is how much of the word is written anew. */
static void train_join(trainer *t, int32_t word, int32_t a, int32_t b, int32_t joined)
{
  train_word *w = &t->word[word];
  int to = 0;
  for (int i = 0; i < w->n && !t->failed; i++) {
    if (i + 1 == w->n || w->part[i] != a || w->part[i + 1] != b) {
      w->part[to++] = w->part[i];
      continue;
    }
    if (to) {
      train_tell(t, word, w->part[to - 1], a, -1);
      train_tell(t, word, w->part[to - 1], joined, 1);
    }
    train_tell(t, word, a, b, -1);
    if (i + 2 < w->n) {
      train_tell(t, word, b, w->part[i + 2], -1);
      train_tell(t, word, joined, w->part[i + 2], 1);
    }
    w->part[to++] = joined;
    i++;
  }
  w->n = to;
}

/* ---- tokens ---- */

static int32_t *train_token_slot(const trainer *t, const char *s, size_t n)
{
  const uint32_t mask = t->n_token_slot - 1;
  uint32_t i = (uint32_t)(jf_word_hash(t->seed, s, n) >> 32) & mask;
  for (int32_t k; (k = t->token_slot[i]) >= 0; i = (i + 1) & mask)
    if (t->token[k].n == n && !memcmp(t->token[k].s, s, n)) break;
  return &t->token_slot[i];
}

/* The number of a token whose text is a and then b; it may be there already. */
static int32_t train_token(trainer *t, const jf_word *a, const jf_word *b)
{
  char *s = jf_keep_new(&t->keep, (size_t)a->n + b->n + 1);
  if (!s || !ROOM(t, t->token, t->n_token, t->cap_token))
    return t->failed = 1, NONE;
  if ((uint32_t)t->n_token * 2 >= t->n_token_slot) {
    if (!train_slots(t, &t->token_slot, &t->n_token_slot)) return NONE;
    for (int32_t i = 0; i < t->n_token; i++)
      *train_token_slot(t, t->token[i].s, t->token[i].n) = i;
  }
  memcpy(s, a->s, a->n);
  memcpy(s + a->n, b->s, b->n);
  int32_t *slot = train_token_slot(t, s, (size_t)a->n + b->n);
  if (*slot >= 0) return *slot;
  t->token[t->n_token] = (jf_word){ s, a->n + b->n, t->n_token, 0 };
  return *slot = t->n_token++;
}

/* Special tokens, then a token for each byte in the order of the characters that stand for them. */
static void train_alphabet(trainer *t)
{
  const jf_word nothing = { "", 0, 0, 0 };
  char utf8[4];
  for (int i = 0; i < t->spec->n_special; i++) {
    const jf_word w = { t->spec->special[i].s, (uint32_t)t->spec->special[i].n, 0, 0 };
    train_token(t, &w, &nothing);
  }
  t->n_special = t->n_token;
  for (int32_t c = 0; c < 2 * BYTES && !t->failed; c++) {
    const int byte = jf_char_byte(c);
    const jf_word w = { utf8, (uint32_t)jf_char_put(utf8, c), 0, 0 };
    if (byte >= 0) t->byte_token[byte] = train_token(t, &w, &nothing);
  }
}

static void train_begin(trainer *t)
{
  for (int32_t k = 0; k < t->n_word && !t->failed; k++) {
    train_word *w = &t->word[k];
    for (size_t i = 0, size; i < w->text.n && !t->failed; i += size, train_step(t))
      w->part[w->n++] = t->byte_token[jf_char_byte(jf_char_at(w->text.s + i, &size))];
    for (int i = 0; i + 1 < w->n && !t->failed; i++)
      train_tell(t, k, w->part[i], w->part[i + 1], 1);
  }
  train_settle(t);
}

/* Makes a token of the pair, and joins it everywhere. */
static void train_merge(trainer *t, int32_t k)
{
  const int32_t a = t->pair[k].a, b = t->pair[k].b;
  const int n = t->pair[k].n;
  int32_t *words = t->pair[k].word;
  const jf_word wa = t->token[a], wb = t->token[b];
  const int32_t joined = train_token(t, &wa, &wb);
  if (!ROOM(t, t->merge, t->n_merge, t->cap_merge) || joined < 0) return;
  t->merge[t->n_merge++] = (jf_merge_pair){ wa, wb };
  t->pair[k].word = NULL;
  t->pair[k].n = t->pair[k].cap = 0;
  for (int i = 0; i < n && !t->failed; i++) train_join(t, words[i], a, b, joined);
  jf_free(words);
  train_settle(t);
}

static jfl_status train_learn(trainer *t)
{
  const int64_t least = t->spec->least ? t->spec->least : 2;
  train_alphabet(t);
  train_begin(t);
  while (!t->failed && t->n_heap && t->n_token < t->spec->size) {
    JF_TRY(jf_time_for(0));
    train_entry e = train_pop(t);
    const int64_t now = t->pair[e.pair].count;
    if (e.count != now) {
      e.count = now;
      if (now > 0) train_push(t, e);
      continue;
    }
    if (e.count < least) break;
    train_merge(t, e.pair);
  }
  return train_outcome(t);
}

/* ---- the file ---- */

static void train_put_special(const trainer *t, jf_text *out)
{
  jf_text_add(out, "  \"added_tokens\": [");
  for (int i = 0; i < t->n_special; i++) {
    jf_text_add(out, "%s\n    {\"id\": %d, \"content\": ", i ? "," : "", i);
    jf_json_put(out, t->token[i].s);
    jf_text_add(out, ", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                "\"normalized\": false, \"special\": true}");
  }
  jf_text_add(out, "],\n");
}

static void train_put_splitter(const trainer *t, jf_text *out)
{
  static const char level[] = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
    "\"trim_offsets\": true, \"use_regex\": %s}";
  jf_text_add(out, "  \"pre_tokenizer\": ");
  if (t->spec->pattern) {
    jf_text_add(out, "{\"type\": \"Sequence\", \"pretokenizers\": [\n    {\"type\": \"Split\", "
                "\"pattern\": {\"Regex\": ");
    jf_json_put(out, t->spec->pattern);
    jf_text_add(out, "}, \"behavior\": \"Isolated\", \"invert\": false},\n    ");
  }
  jf_text_add(out, level, t->spec->pattern ? "false" : "true");
  jf_text_add(out, t->spec->pattern ? "]},\n" : ",\n");
}

static void train_put_model(const trainer *t, jf_text *out)
{
  jf_text_add(out, "  \"model\": {\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null,\n"
              "    \"continuing_subword_prefix\": null, \"end_of_word_suffix\": null,\n"
              "    \"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false,\n"
              "    \"vocab\": {");
  for (int i = 0; i < t->n_token; i++) {
    jf_text_put(out, i ? ",\n      " : "\n      ", i ? 8 : 7);
    jf_json_put(out, t->token[i].s);
    jf_text_add(out, ": %d", i);
  }
  jf_text_add(out, "},\n    \"merges\": [");
  for (int i = 0; i < t->n_merge; i++) {
    jf_text_put(out, i ? ",\n      [" : "\n      [", i ? 9 : 8);
    jf_json_put(out, t->merge[i].a.s);
    jf_text_put(out, ", ", 2);
    jf_json_put(out, t->merge[i].b.s);
    jf_text_put(out, "]", 1);
  }
  jf_text_add(out, "]}\n}\n");
}

static jfl_status train_write(const trainer *t, jfl_tokenizer **out)
{
  jf_text json = { 0 };
  jf_text_add(&json, "{\n  \"version\": \"1.0\", \"truncation\": null, \"padding\": null,\n");
  train_put_special(t, &json);
  jf_text_add(&json, "  \"normalizer\": null,\n");
  train_put_splitter(t, &json);
  jf_text_add(&json, "  \"post_processor\": null,\n  \"decoder\": {\"type\": \"ByteLevel\", "
              "\"add_prefix_space\": true, \"trim_offsets\": true, \"use_regex\": true},\n");
  train_put_model(t, &json);
  const jfl_status s = json.failed ? jf_fail(JFL_ENOMEM, "out of memory")
                       : jfl_tokenizer_parse(json.s, json.n, out);
  jf_free(json.s);
  return s;
}

/* ---- the entry ---- */

static jfl_status train_check(const jfl_bpe_spec *spec)
{
  if (spec->size < BYTES + spec->n_special || spec->size > MOST_SIZE)
    return jf_fail_argument(JFL_EINVAL, "size", "must be from %d, a token for each byte and those "
                            "that are special, to %d, got %d", BYTES + spec->n_special, MOST_SIZE,
                            (int)spec->size);
  if (spec->least < 0)
    return jf_fail_argument(JFL_EINVAL, "least", "must be at least 0, got %lld",
                            (long long)spec->least);
  for (int i = 0; i < spec->n_special; i++) {
    const jfl_text *x = &spec->special[i];
    JF_TRY(jf_text_check(x));
    if (!x->n || memchr(x->s, '\0', x->n))
      return jf_fail_argument(JFL_EINVAL, "special", "must be texts of one byte or more without "
                              "zero bytes");
  }
  return JFL_OK;
}

/* The rules that cut: by the pattern, and to characters that stand for bytes. */
static jfl_status train_rules(trainer *t)
{
  const char *pattern = t->spec->pattern ? t->spec->pattern : jf_byte_level_pattern;
  t->rules.v = jf_new(2 * sizeof *t->rules.v);
  if (!t->rules.v) return jf_fail(JFL_ENOMEM, "out of memory");
  t->rules.n = 2;
  t->rules.v[0] = (jf_text_rule){ .kind = JF_SPLIT_AT, .behaviour = JF_ISOLATED };
  t->rules.v[1] = (jf_text_rule){ .kind = JF_BYTE_LEVEL, .prefix = JF_NEVER };
  return jf_pattern_new("pattern", pattern, strlen(pattern), &t->rules.v[0].pattern);
}

static jfl_status train_all(trainer *t, const jfl_text *texts, int n, jfl_tokenizer **out)
{
  JF_TRY(train_check(t->spec));
  JF_TRY(train_rules(t));
  for (int i = 0; i < n; i++) {
    const jfl_status s = train_count(t, &texts[i]);
    if (s) return jf_blame(s, "text %d: ", i + 1);
  }
  JF_TRY(train_learn(t));
  return train_write(t, out);
}

jfl_status jfl_tokenizer_train(const jfl_text *texts, int n, const jfl_bpe_spec *spec,
                               jfl_tokenizer **out)
{
  JF_NEED_LIST(texts, n);
  JF_NEED_POINTERS(spec, out);
  JF_NEED_LIST(spec->special, spec->n_special);
  trainer t = { .spec = spec, .seed = jf_entropy() };
  const jfl_status s = train_all(&t, texts, n, out);
  for (int i = 0; i < t.n_pair; i++) jf_free(t.pair[i].word);
  jf_flow_free(&t.flow);
  jf_rules_free(&t.rules);
  jf_keep_free(&t.keep);
  jf_free(t.word);
  jf_free(t.word_slot);
  jf_free(t.pair);
  jf_free(t.pair_slot);
  jf_free(t.heap);
  jf_free(t.touched);
  jf_free(t.token_slot);
  jf_free(t.token);
  jf_free(t.merge);
  return s == JFL_EINVAL ? jf_need_told(__func__, s) : s;
}
