/* Words by their numbers, and numbers by words. */
#include "text/tokenizer.h"

#include <string.h>

enum { SHOWN = 60, HOLES = 8, HOLES_MORE = 1 << 16 };

/* A part of the hash is compared before the bytes are; id -1: empty. */
typedef struct jf_word_slot { uint32_t hash; int32_t id; } jf_word_slot;

uint64_t jf_word_hash(uint64_t seed, const char *s, size_t n)
{
  uint64_t h = seed ^ n, w;
  for (; n >= 8; n -= 8, s += 8) {
    memcpy(&w, s, 8);
    h = (h ^ w) * 0x9fb21c651e98df25u;
    h ^= h >> 32;
  }
  w = 0;
  for (size_t i = 0; i < n; i++) w |= (uint64_t)(unsigned char)s[i] << 8 * i;
  h = (h ^ w) * 0x9fb21c651e98df25u;
  h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
  return h ^ h >> 29;
}

static jf_word_slot *word_slot(const jf_vocabulary *v, const char *s, size_t n)
{
  const uint64_t h = jf_word_hash(v->seed, s, n);
  const uint32_t mask = v->n_slot - 1;
  for (uint32_t i = (uint32_t)(h >> 32) & mask;; i = (i + 1) & mask) {
    jf_word_slot *slot = &v->slot[i];
    if (slot->id < 0) {
      slot->hash = (uint32_t)h;
      return slot;
    }
    const jf_word *w = &v->by_id[slot->id];
    if (slot->hash == (uint32_t)h && w->n == n && !memcmp(w->s, s, n)) return slot;
  }
}

int32_t jf_vocabulary_find(const jf_vocabulary *v, const char *s, size_t n)
{
  if (!v->n_slot) return JF_NO_ID;
  const uint64_t h = jf_word_hash(v->seed, s, n);
  const uint32_t mask = v->n_slot - 1;
  for (uint32_t i = (uint32_t)(h >> 32) & mask; v->slot[i].id >= 0; i = (i + 1) & mask) {
    const jf_word *w = &v->by_id[v->slot[i].id];
    if (v->slot[i].hash == (uint32_t)h && w->n == n && (!n || !memcmp(w->s, s, n)))
      return v->slot[i].id;
  }
  return JF_NO_ID;
}

/* The last id there is; an id far beyond the number of words would make room for holes alone. */
static jfl_status vocabulary_size(const jf_word *words, int n, int32_t *size)
{
  const int64_t most = (int64_t)n * HOLES + HOLES_MORE;
  *size = 0;
  for (int i = 0; i < n; i++) {
    if (words[i].id >= most)
      return jf_fail(JFL_EDATA, "token '%.*s': its id must be below %lld, got %d",
                     words[i].n < SHOWN ? (int)words[i].n : SHOWN, words[i].s, (long long)most,
                     (int)words[i].id);
    if (words[i].id >= *size) *size = words[i].id + 1;
  }
  return JFL_OK;
}

static jfl_status vocabulary_put(jf_vocabulary *v, const jf_word *w)
{
  jf_word *place = &v->by_id[w->id];
  if (place->s && (place->n != w->n || memcmp(place->s, w->s, w->n)))
    return jf_fail(JFL_EDATA, "token '%.*s': its id must be its own, got %d, which '%.*s' has",
                   w->n < SHOWN ? (int)w->n : SHOWN, w->s, (int)w->id,
                   place->n < SHOWN ? (int)place->n : SHOWN, place->s);
  jf_word_slot *slot = word_slot(v, w->s, w->n);
  v->n += slot->id < 0;
  *place = *w;
  slot->id = w->id;
  return JFL_OK;
}

jfl_status jf_vocabulary_new(jf_vocabulary *v, const jf_word *words, int n)
{
  int32_t size;
  JF_TRY(vocabulary_size(words, n, &size));
  uint32_t n_slot = 16;
  while (n_slot < (uint32_t)n * 2u) n_slot *= 2;
  *v = (jf_vocabulary){ jf_new((size_t)size * sizeof *v->by_id), size, 0,
                        jf_new_raw(n_slot * sizeof *v->slot), n_slot, jf_entropy() };
  if (!v->by_id || !v->slot) return jf_fail(JFL_ENOMEM, "out of memory");
  memset(v->slot, 0xff, n_slot * sizeof *v->slot);
  for (int i = 0; i < n; i++) {
    JF_TRY(jf_time_at(i));
    JF_TRY(vocabulary_put(v, &words[i]));
  }
  return JFL_OK;
}

void jf_vocabulary_free(jf_vocabulary *v)
{
  jf_free(v->by_id);
  jf_free(v->slot);
}
