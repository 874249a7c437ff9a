/* Cuts the space of a fused program into tiles and parts. */
#include "sweep.h"

#include <string.h>

/* ---- the space as a nest of axes ---- */

void jf_sweep_nest(jf_sweep *w)
{
  const jf_fused *f = w->f;
  w->nest = (jf_nest){ .n = f->space.n, .n_op = f->n_slot, .step = w->step };
  memcpy(w->nest.d, f->space.d, sizeof w->nest.d);
  for (int s = 0; s < f->n_slot; s++) memcpy(w->step[s], f->slot[s].step, sizeof w->step[s]);
  jf_nest_join(&w->nest, f->row);
  w->run = w->nest.d[w->nest.n - 1];
  w->runs = jf_numel(&f->space) / w->run;
  w->per_row = f->row ? f->row / w->run : 1;
}

/* ---- cutting it ---- */

enum { CACHE = 1 << 15, LEAST = 256, MOST = 2048, PART = 1 << 14 };

/* How many elements a tile should have so that all data of a tile fit the first-level cache. */
static int64_t cut_wanted(const jf_sweep *w)
{
  int streams = w->n_buffer;
  for (int s = 0; s < w->f->n_slot; s++) {
    const jf_fused_slot *slot = &w->f->slot[s];
    const int argument = slot->in >= 0 || slot->out >= 0;
    streams += slot->kind == JF_SLOT_BROADCAST || (slot->kind == JF_SLOT_EACH && argument);
  }
  int64_t n = CACHE / ((int64_t)w->width * (streams + 1));
  return n < LEAST ? LEAST : n > MOST ? MOST : n & ~(int64_t)63;
}

void jf_sweep_cut_tiles(jf_sweep *w)
{
  int64_t want = cut_wanted(w);
  w->chunk = w->run;
  w->chunks = 1;
  w->tile_runs = w->per_row;
  if (w->run > want + want / 2 && !w->f->row) {
    w->chunks = (w->run + want - 1) / want;
    w->chunk = ((w->run + w->chunks - 1) / w->chunks + 15) & ~(int64_t)15;
    w->chunks = (w->run + w->chunk - 1) / w->chunk;
  } else if (want > w->run * w->per_row) {
    w->tile_runs = want / (w->run * w->per_row) * w->per_row;
    if (w->tile_runs > w->runs) w->tile_runs = w->runs;
  }
  w->tiles = (w->runs + w->tile_runs - 1) / w->tile_runs * w->chunks;
}

/* Cuts the tiles into parts. Parts depend on the program alone, not on the number of threads, so
   that sums are always added in the same order. Each part gathers sums of its own, so sums should
   be few compared with elements. */
void jf_sweep_cut_parts(jf_sweep *w)
{
  enum { MOST_PARTS = 1 << 16, FEW = 64, SHARE = 16 };
  int64_t all = w->runs * w->run, parts = all / PART + 1, most = MOST_PARTS;
  if (w->sums) most = all / w->sums / SHARE < FEW ? all / w->sums / SHARE + 1 : FEW;
  if (parts > most) parts = most;
  w->span = (w->tiles + parts - 1) / parts;
  w->parts = (int)((w->tiles + w->span - 1) / w->span);
}
