/* Byte pair encoding: of the neighbours in a word those are joined that come first in a list, until
   none is left that is in it (Sennrich et al., "Neural Machine Translation of Rare Words with
   Subword Units", 2016). */
#include "text/tokenizer.h"

#include <string.h>

/* Short words look at all neighbours for the first, long ones keep them in a heap, so that a word
   of n bytes takes n log n. */
enum { FEW = 24, DIRECT = 512, CACHED = 1 << 14, CACHED_BYTES = 24, CACHED_TOKENS = 8,
       SHOWN = 60, END = -1 };

/* A part of a word; parts that were joined to the one before have n 0. */
typedef struct bpe_part { int32_t id, before, after; uint32_t n; } bpe_part;
typedef struct bpe_slot { uint64_t pair; int32_t rank, id; } bpe_slot;
typedef struct bpe_place { int32_t rank, id, at; } bpe_place;
/* A word that was seen, and its tokens. */
typedef struct bpe_seen {
  uint64_t hash;
  uint8_t n, n_token;
  char s[CACHED_BYTES];
  uint8_t size[CACHED_TOKENS];
  int32_t id[CACHED_TOKENS];
} bpe_seen;

typedef struct jf_merges {
  bpe_slot *slot; uint32_t n_slot;
  uint64_t seed;
  int32_t direct[DIRECT];      /* ids of the first characters */
  bpe_seen *seen;
} jf_merges;

/* ---- the list of pairs ---- */

static uint64_t bpe_pair(int32_t a, int32_t b) { return (uint64_t)(uint32_t)a << 32 | (uint32_t)b; }

static bpe_slot *bpe_find(const jf_merges *m, uint64_t pair)
{
  uint64_t h = (pair ^ m->seed) * 0x9fb21c651e98df25u;
  const uint32_t mask = m->n_slot - 1;
  uint32_t i = (uint32_t)((h ^ h >> 29) >> 16) & mask;
  while (m->slot[i].rank >= 0 && m->slot[i].pair != pair) i = (i + 1) & mask;
  return &m->slot[i];
}

static jfl_status bpe_missing(const jf_word *w, int rank)
{
  return jf_fail(JFL_EDATA, "model: merge %d: '%.*s' must be in the vocabulary", rank,
                 w->n < SHOWN ? (int)w->n : SHOWN, w->s);
}

/* The id of a pair's words joined; b's prefix goes. */
static jfl_status bpe_joined(const jf_model *m, const jf_merge_pair *p, int rank, jf_text *t,
                             int32_t *id)
{
  const uint32_t skip = m->prefix.n < p->b.n ? m->prefix.n : p->b.n;
  t->n = 0;
  jf_text_put(t, p->a.s, p->a.n);
  jf_text_put(t, p->b.s + skip, p->b.n - skip);
  if (t->failed) return jf_fail(JFL_ENOMEM, "out of memory");
  *id = jf_vocabulary_find(&m->words, t->s, t->n);
  const jf_word joined = { t->s, (uint32_t)t->n, 0, 0 };
  return *id < 0 ? bpe_missing(&joined, rank) : JFL_OK;
}

static jfl_status bpe_add(jf_model *m, const jf_merge_pair *p, int rank, jf_text *t)
{
  const int32_t a = jf_vocabulary_find(&m->words, p->a.s, p->a.n);
  const int32_t b = jf_vocabulary_find(&m->words, p->b.s, p->b.n);
  int32_t id = JF_NO_ID;
  JF_TRY(jf_time_at(rank));
  if (a < 0 || b < 0) return bpe_missing(a < 0 ? &p->a : &p->b, rank);
  JF_TRY(bpe_joined(m, p, rank, t, &id));
  bpe_slot *slot = bpe_find(m->merges, bpe_pair(a, b));
  *slot = (bpe_slot){ bpe_pair(a, b), rank, id };
  return JFL_OK;
}

jfl_status jf_bpe_new(jf_model *m, const jf_merge_pair *pairs, int n)
{
  jf_merges *merges = jf_new(sizeof *merges);
  m->merges = merges;
  if (!merges) return jf_fail(JFL_ENOMEM, "out of memory");
  merges->seed = jf_entropy();
  merges->n_slot = 16;
  while ((uint64_t)merges->n_slot * 2 < (uint64_t)n * 3) merges->n_slot *= 2;
  merges->slot = jf_new_raw(merges->n_slot * sizeof *merges->slot);
  if (!merges->slot) return jf_fail(JFL_ENOMEM, "out of memory");
  memset(merges->slot, 0xff, merges->n_slot * sizeof *merges->slot);
  jf_text t = { 0 };
  jfl_status s = JFL_OK;
  for (int i = 0; !s && i < n; i++) s = bpe_add(m, &pairs[i], i, &t);
  jf_free(t.s);
  for (int32_t c = 0; c < DIRECT; c++) {
    char utf8[4];
    merges->direct[c] = jf_vocabulary_find(&m->words, utf8, jf_char_put(utf8, c));
  }
  return s;
}

void jf_merges_free(jf_merges *m)
{
  if (!m) return;
  jf_free(m->slot);
  jf_free(m->seen);
  jf_free(m);
}

/* ---- a word's first parts ---- */

typedef struct bpe_word {
  jf_model *m;
  jf_flow *f;
  bpe_part *part; int n;
  uint32_t unknown; int has_unknown;     /* bytes that an unknown token is yet to stand for */
} bpe_word;

static void bpe_part_add(bpe_word *w, int32_t id, size_t n)
{
  w->part[w->n] = (bpe_part){ id, w->n - 1, w->n + 1, (uint32_t)n };
  w->n++;
}

static void bpe_flush_unknown(bpe_word *w)
{
  if (w->has_unknown) bpe_part_add(w, w->m->unk_id, w->unknown);
  w->has_unknown = 0;
}

/* The id of a character with the prefix of words that go on, and the suffix of those that end. */
static int32_t bpe_character(const jf_model *m, const char *s, size_t n, int first, int last)
{
  const jf_word *before = first || !m->prefix.n ? NULL : &m->prefix;
  const jf_word *after = last && m->suffix.n ? &m->suffix : NULL;
  char text[256];
  size_t size = 0;
  if (!before && !after) {
    size_t ignored;
    const int32_t c = jf_char_at(s, &ignored);
    return c < DIRECT ? m->merges->direct[c] : jf_vocabulary_find(&m->words, s, n);
  }
  if (before) memcpy(text, before->s, before->n), size = before->n;
  memcpy(text + size, s, n);
  size += n;
  if (after) memcpy(text + size, after->s, after->n), size += after->n;
  return jf_vocabulary_find(&m->words, text, size);
}

/* What a character becomes that is no token: tokens of its bytes, the unknown one, or nothing.
   Prefix and suffix have bytes, too. */
static jfl_status bpe_strange(bpe_word *w, const char *s, size_t n, int first, int last)
{
  const jf_model *m = w->m;
  const jf_word parts[3] = { first ? (jf_word){ 0 } : m->prefix, { s, (uint32_t)n, 0, 0 },
                             last ? m->suffix : (jf_word){ 0 } };
  int whole = m->byte_fallback;
  for (int k = 0; k < 3; k++)
    for (uint32_t i = 0; whole && i < parts[k].n; i++)
      whole = m->byte_id[(unsigned char)parts[k].s[i]] >= 0;
  for (int k = 0; whole && k < 3; k++)
    for (uint32_t i = 0; i < parts[k].n; i++)
      bpe_part_add(w, m->byte_id[(unsigned char)parts[k].s[i]], 1);
  if (whole || !m->unk.s) return JFL_OK;
  if (m->unk_id < 0)
    return jf_fail(JFL_EDATA, "model: unk_token must be a token of the vocabulary, got '%.*s'",
                   (int)m->unk.n, m->unk.s);
  if (!m->fuse_unk) bpe_flush_unknown(w);
  w->unknown = (w->has_unknown ? w->unknown : 0) + (uint32_t)n;
  w->has_unknown = 1;
  return JFL_OK;
}

static jfl_status bpe_begin(bpe_word *w, const char *s, size_t n)
{
  for (size_t at = 0, size, looked = 0; at < n; at += size) {
    JF_TRY(jf_time_along(at, &looked));
    jf_char_at(s + at, &size);
    const int first = !at, last = at + size == n;
    const int32_t id = bpe_character(w->m, s + at, size, first, last);
    if (id < 0) {
      JF_TRY(bpe_strange(w, s + at, size, first, last));
      continue;
    }
    bpe_flush_unknown(w);
    bpe_part_add(w, id, size);
  }
  bpe_flush_unknown(w);
  if (w->n) w->part[w->n - 1].after = END;
  return JFL_OK;
}

/* ---- joining ---- */

static void bpe_join(bpe_part *v, int at, int32_t id)
{
  const int next = v[at].after;
  v[at].id = id;
  v[at].n += v[next].n;
  v[at].after = v[next].after;
  v[next].n = 0;
  if (v[at].after != END) v[v[at].after].before = at;
}

/* Joins the parts of a short word. The ranks of its neighbours are kept as they are. */
static void bpe_merge_few(const jf_merges *m, bpe_part *v, int n)
{
  const bpe_slot *slot[FEW];
  for (int i = 0; i + 1 < n; i++) slot[i] = bpe_find(m, bpe_pair(v[i].id, v[i + 1].id));
  for (int left = n; left > 1; left--) {
    int best = END;
    for (int i = 0; i + 1 < left; i++)
      if (slot[i]->rank >= 0 && (best < 0 || slot[i]->rank < slot[best]->rank)) best = i;
    if (best < 0) break;
    v[best].id = slot[best]->id;
    v[best].n += v[best + 1].n;
    memmove(v + best + 1, v + best + 2, (size_t)(left - best - 2) * sizeof *v);
    v[left - 1].n = 0;
    if (best + 2 < left) {
      memmove(slot + best, slot + best + 1, (size_t)(left - best - 2) * sizeof *slot);
      slot[best] = bpe_find(m, bpe_pair(v[best].id, v[best + 1].id));
    }
    if (best) slot[best - 1] = bpe_find(m, bpe_pair(v[best - 1].id, v[best].id));
  }
}

static int bpe_before(const bpe_place *a, const bpe_place *b)
{
  return a->rank < b->rank || (a->rank == b->rank && a->at < b->at);
}

static void bpe_heap_push(bpe_place *heap, int *n, bpe_place p)
{
  int i = (*n)++;
  for (; i && bpe_before(&p, &heap[(i - 1) / 2]); i = (i - 1) / 2) heap[i] = heap[(i - 1) / 2];
  heap[i] = p;
}

static bpe_place bpe_heap_pop(bpe_place *heap, int *n)
{
  const bpe_place top = heap[0], last = heap[--*n];
  int i = 0;
  for (int k; (k = 2 * i + 1) < *n; i = k) {
    if (k + 1 < *n && bpe_before(&heap[k + 1], &heap[k])) k++;
    if (!bpe_before(&heap[k], &last)) break;
    heap[i] = heap[k];
  }
  if (*n) heap[i] = last;
  return top;
}

static void bpe_offer(const jf_merges *m, const bpe_part *v, int at, bpe_place *heap, int *n)
{
  const bpe_slot *s = bpe_find(m, bpe_pair(v[at].id, v[v[at].after].id));
  if (s->rank >= 0) bpe_heap_push(heap, n, (bpe_place){ s->rank, s->id, at });
}

/* Joins the parts of a long word; each join offers two places more, so 3 n are room enough. */
static jfl_status bpe_merge_many(const jf_merges *m, bpe_part *v, int n, bpe_place *heap)
{
  int n_heap = 0;
  for (int i = 0; i + 1 < n; i++) {
    JF_TRY(jf_time_at(i));
    bpe_offer(m, v, i, heap, &n_heap);
  }
  for (int64_t i = 1; n_heap; i++) {
    JF_TRY(jf_time_at(i));
    const bpe_place p = bpe_heap_pop(heap, &n_heap);
    if (!v[p.at].n || v[p.at].after == END) continue;
    const bpe_slot *s = bpe_find(m, bpe_pair(v[p.at].id, v[v[p.at].after].id));
    if (s->rank < 0 || s->id != p.id) continue;
    bpe_join(v, p.at, p.id);
    if (v[p.at].before >= 0) bpe_offer(m, v, v[p.at].before, heap, &n_heap);
    if (v[p.at].after != END) bpe_offer(m, v, p.at, heap, &n_heap);
  }
  return JFL_OK;
}

/* ---- words ---- */

/* Adds the tokens of n bytes from a place of the line on. */
static jfl_status bpe_word_new(jf_model *m, jf_flow *f, size_t from, size_t n)
{
  const char *s = f->line.s + from;
  /* A character has at most a part for each byte, those of prefix and suffix included. */
  const size_t most = m->byte_fallback ? n * (1 + m->prefix.n) + m->suffix.n + 1 : n + 1;
  bpe_part few[FEW], *part = few;
  if (most > FEW) {
    part = jf_flow_room(f, most * (sizeof *part + 3 * sizeof(bpe_place)));
    if (!part) return jf_flow_status(f);
  }
  bpe_word w = { .m = m, .f = f, .part = part };
  JF_TRY(bpe_begin(&w, s, n));
  if (w.n <= FEW) bpe_merge_few(m->merges, part, w.n);
  else JF_TRY(bpe_merge_many(m->merges, part, w.n, (bpe_place *)(part + most)));
  size_t at = from;
  for (int i = 0; i < w.n; i++) {
    if (!part[i].n) continue;
    jf_flow_token(f, part[i].id, at, at + part[i].n);
    at += part[i].n;
  }
  return JFL_OK;
}

static void bpe_remember(bpe_seen *seen, uint64_t hash, const char *s, size_t n,
                         const jf_token *token, int n_token)
{
  if (n_token > CACHED_TOKENS) return;
  *seen = (bpe_seen){ .hash = hash, .n = (uint8_t)n, .n_token = (uint8_t)n_token };
  memcpy(seen->s, s, n);
  for (int i = 0; i < n_token; i++) {
    seen->id[i] = token[i].id;
    seen->size[i] = (uint8_t)(token[i].to - token[i].from);
  }
}

jfl_status jf_bpe_piece(jf_model *m, jf_flow *f, const jf_piece *p)
{
  const size_t n = p->to - p->from;
  const char *s = f->line.s + p->from;
  if (m->ignore_merges) {
    const int32_t id = jf_vocabulary_find(&m->words, s, n);
    if (id >= 0) return jf_flow_token(f, id, p->from, p->to), JFL_OK;
  }
  if (n > CACHED_BYTES) return bpe_word_new(m, f, p->from, n);
  if (!m->merges->seen) m->merges->seen = jf_new(CACHED * sizeof(bpe_seen));
  if (!m->merges->seen) return jf_fail(JFL_ENOMEM, "out of memory");
  const uint64_t hash = jf_word_hash(m->merges->seed, s, n);
  bpe_seen *seen = &m->merges->seen[hash >> 40 & (CACHED - 1)];
  if (seen->hash == hash && seen->n == n && !memcmp(seen->s, s, n)) {
    for (size_t i = 0, at = p->from; i < seen->n_token; at += seen->size[i++])
      jf_flow_token(f, seen->id[i], at, at + seen->size[i]);
    return JFL_OK;
  }
  const int n_token = f->n_token;
  JF_TRY(bpe_word_new(m, f, p->from, n));
  if (!f->failed) bpe_remember(seen, hash, s, n, f->token + n_token, f->n_token - n_token);
  return JFL_OK;
}
