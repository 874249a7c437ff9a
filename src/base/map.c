/* Maps from strings to pointers: open addressing in a table that is never more than half full. */
#include "base/base.h"

#include <string.h>

struct jf_map_slot { const char *key; void *value; };

/* The slot of key, or the empty one where it belongs. cap is a power of two. */
static struct jf_map_slot *map_slot(const jf_map *m, const char *key)
{
  size_t mask = (size_t)m->cap - 1, i = (size_t)jf_hash_str(0, key) & mask;
  while (m->slot[i].key && strcmp(m->slot[i].key, key)) i = (i + 1) & mask;
  return &m->slot[i];
}

void *jf_map_get(const jf_map *m, const char *key)
{
  return m->n ? map_slot(m, key)->value : NULL;
}

/* How many slots the map must have to take one more. */
static int slots_for_more(const jf_map *m)
{
  return 2 * (m->n + 1) <= m->cap ? m->cap : m->cap ? 2 * m->cap : 16;
}

/* Moves the entries to cap empty slots. */
static void move_slots(jf_map *m, struct jf_map_slot *slot, int cap)
{
  jf_map wider = { .slot = slot, .cap = cap, .n = m->n };
  for (int i = 0; i < m->cap; i++)
    if (m->slot[i].key) *map_slot(&wider, m->slot[i].key) = m->slot[i];
  *m = wider;
}

void jf_map_put(jf_arena *a, jf_map *m, const char *key, void *value)
{
  const int cap = slots_for_more(m);
  if (cap > m->cap) move_slots(m, jf_alloc(a, (size_t)cap * sizeof *m->slot), cap);
  struct jf_map_slot *s = map_slot(m, key);
  if (!s->key) {
    s->key = jf_strdup(a, key);
    m->n++;
  }
  s->value = value;
}

jfl_status jf_map_add(jf_map *m, const char *key, void *value)
{
  const int cap = slots_for_more(m);
  if (cap > m->cap) {
    struct jf_map_slot *before = m->slot, *wider = jf_new((size_t)cap * sizeof *wider);
    if (!wider) return jf_fail(JFL_ENOMEM, "out of memory");
    move_slots(m, wider, cap);
    jf_free(before);
  }
  *map_slot(m, key) = (struct jf_map_slot){ key, value };
  m->n++;
  return JFL_OK;
}

/* Each entry behind the hole that would not be found any more moves into it. */
void jf_map_remove(jf_map *m, const char *key)
{
  struct jf_map_slot *found = m->n ? map_slot(m, key) : NULL;
  if (!found || !found->key) return;
  const size_t mask = (size_t)m->cap - 1;
  size_t hole = (size_t)(found - m->slot);
  for (size_t i = (hole + 1) & mask; m->slot[i].key; i = (i + 1) & mask) {
    const size_t home = (size_t)jf_hash_str(0, m->slot[i].key) & mask;
    if (((i - home) & mask) < ((i - hole) & mask)) continue;
    m->slot[hole] = m->slot[i];
    hole = i;
  }
  m->slot[hole] = (struct jf_map_slot){0};
  m->n--;
}

void jf_map_free(jf_map *m)
{
  jf_free(m->slot);
  *m = (jf_map){ 0 };
}
