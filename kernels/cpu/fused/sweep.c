/* Prepares a fused program for sweeping over memory. */
#include "sweep.h"

#include <string.h>

static void sweep_find_slots(jf_sweep *w)
{
  const jf_fused *f = w->f;
  for (int s = 0; s < f->n_slot; s++) {
    const jf_fused_slot *slot = &f->slot[s];
    if (jfl_dtype_size(slot->dtype) > w->width) w->width = jfl_dtype_size(slot->dtype);
    if (slot->kind == JF_SLOT_NUMBER) jf_fused_number(slot, &w->number[s]);
    if (slot->kind != JF_SLOT_SUM) continue;
    w->sum[s] = w->sums;
    w->sums += jf_numel(&f->out[slot->out].shape);
  }
}

/* Finds broadcast inputs whose copy is the same in every tile, because only the position within a
   run matters. */
static void find_once(jf_sweep *w)
{
  for (int s = 0; s < w->f->n_slot; s++) {
    int outer = 0;
    for (int i = 0; i < w->nest.n - 1; i++) outer |= w->step[s][i] != 0;
    w->once[s] = w->f->slot[s].kind == JF_SLOT_BROADCAST && !outer;
  }
}

void jf_sweep_make(jf_sweep *w, const jf_fused *f)
{
  *w = (jf_sweep){ .f = f };
  jf_sweep_nest(w);
  find_once(w);
  sweep_find_slots(w);
  w->tile_runs = w->per_row;     /* a start: tiles' size depends on the number of buffers */
  jf_sweep_list_steps(w);
  jf_sweep_cut_tiles(w);
  jf_sweep_list_steps(w);
  jf_sweep_cut_parts(w);
}

jf_sweep *jf_sweep_copy(const jf_sweep *w)
{
  const size_t size = offsetof(jf_sweep, todo) + (size_t)w->n_todo * sizeof *w->todo;
  jf_sweep *copy = jf_new_raw(size);
  if (!copy) return NULL;
  memcpy(copy, w, size);
  copy->nest.step = copy->step;
  return copy;
}

size_t jf_sweep_scratch(const jf_sweep *w)
{
  return (size_t)w->sums * (size_t)w->parts * sizeof(double);
}
