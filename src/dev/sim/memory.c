/* The memory of a simulated device. */
#include "dev/sim/sim.h"
#include "system/system.h"

#include <string.h>

/* What freed memory is filled with: as a float not-a-number, as an integer a negative number. */
enum { POISON = 0xff };

/* How many freed blocks are kept, and how many bytes; beyond that the oldest is really freed. */
enum { MOST_FREED = 256, MOST_FREED_BYTES = 32 << 20 };

void jf_sim_memory_init(jf_sim_memory *m, const char *name)
{
  *m = (jf_sim_memory){ .name = name };
  pthread_mutex_init(&m->mu, NULL);
}

static void sim_memory_release(jf_sim_block *b)
{
  jf_pages_give_back(b->address, b->size);
  jf_free(b->contents);
}

void jf_sim_memory_end(jf_sim_memory *m)
{
  for (int i = 0; i < m->n; i++) sim_memory_release(&m->block[i]);
  jf_free(m->block);
  pthread_mutex_destroy(&m->mu);
}

/* The last block that begins at p or before it; -1: there is none. */
static int sim_memory_before(const jf_sim_memory *m, const void *p)
{
  int lo = 0, hi = m->n;
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    if (m->block[mid].address <= (const char *)p) lo = mid + 1;
    else hi = mid;
  }
  return lo - 1;
}

static int sim_memory_oldest(const jf_sim_memory *m)
{
  int oldest = -1;
  for (int i = 0; i < m->n; i++)
    if (m->block[i].freed && (oldest < 0 || m->block[i].freed < m->block[oldest].freed)) oldest = i;
  return oldest;
}

/* Inserts a block in order of address; there must be room. */
static void sim_memory_insert(jf_sim_memory *m, const jf_sim_block *b)
{
  int i = sim_memory_before(m, b->address) + 1;
  memmove(&m->block[i + 1], &m->block[i], (size_t)(m->n - i) * sizeof *m->block);
  m->block[i] = *b;
  m->n++;
}

void *jf_sim_take(jf_sim_memory *m, size_t size)
{
  jf_sim_block b = { .size = size ? size : 1 };
  b.contents = jf_new(b.size);
  if (!b.contents) return NULL;
  void *address = jf_pages_reserve(b.size);
  pthread_mutex_lock(&m->mu);
  int ok = address && JF_ROOM(m->block, m->n, m->cap);
  b.address = address;
  if (ok) sim_memory_insert(m, &b);
  pthread_mutex_unlock(&m->mu);
  if (ok) return address;
  if (address) jf_pages_give_back(address, b.size);
  jf_free(b.contents);
  return NULL;
}

void jf_sim_drop(jf_sim_memory *m, void *p)
{
  if (!p) return;
  pthread_mutex_lock(&m->mu);
  jf_sim_block *b = &m->block[sim_memory_before(m, p)];
  memset(b->contents, POISON, b->size);
  b->freed = ++m->clock;
  m->n_freed++;
  m->freed_size += b->size;
  while (m->n_freed > MOST_FREED || m->freed_size > MOST_FREED_BYTES) {
    int oldest = sim_memory_oldest(m);
    m->n_freed--;
    m->freed_size -= m->block[oldest].size;
    sim_memory_release(&m->block[oldest]);
    m->n--;
    memmove(&m->block[oldest], &m->block[oldest + 1], (size_t)(m->n - oldest) * sizeof *m->block);
  }
  pthread_mutex_unlock(&m->mu);
}

jfl_status jf_sim_find(jf_sim_memory *m, const void *p, size_t size, void **out)
{
  static _Alignas(64) char nothing[64];
  if (size == 0) return *out = nothing, JFL_OK;        /* an empty tensor has no contents */
  pthread_mutex_lock(&m->mu);
  int i = sim_memory_before(m, p);
  const jf_sim_block *b = i < 0 ? NULL : &m->block[i];
  size_t at = b ? (size_t)((const char *)p - b->address) : 0;
  int inside = b && at <= b->size && size <= b->size - at, freed = inside && b->freed;
  if (inside && !freed) *out = b->contents + at;
  pthread_mutex_unlock(&m->mu);
  if (inside && !freed) return JFL_OK;
  return jf_fail(JFL_EDEVICE, "%s: %zu bytes at address %p %s", m->name, size, p,
                 freed ? "are freed" : "are not its memory");
}
