/* Runs fused programs in parallel, and says what limits the pass fuse must keep for that. */
#include "dev/cpu/cpu.h"
#include "sweep.h"

static jfl_status fused_prepare(jf_kargs *k)
{
  jf_sweep w;
  jf_sweep_make(&w, k->attr);
  k->scratch_size = jf_sweep_scratch(&w);
  k->state = jf_sweep_copy(&w);
  return k->state ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

static jfl_status fused_run(const jf_kargs *k)
{
  jf_sweep_run(k->state, k);
  return JFL_OK;
}

JFL_CPU(vec_fused, .op = "fused", .prepare = fused_prepare, .run = fused_run, .release = jf_free)

static size_t buffer_bytes(const jf_sweep *w)
{
  return ((size_t)jf_tile_elements(w) * w->width + 63) / 64 * 64 * (size_t)w->n_buffer
       + ((size_t)jf_tile_rows(w) * w->width + 63) / 64 * 64 * (size_t)w->n_rows;
}

/* Whether the buffers of a tile fit on the stack. They do, unless rows force tiles to be larger
   than the first-level cache or there are a great many buffers. */
static int fused_fits(const struct jf_fused *f)
{
  enum { MANY = 40 };
  jf_sweep w;
  if (!f->row && f->n_slot <= MANY) return 1;
  jf_sweep_make(&w, f);
  return buffer_bytes(&w) <= JF_SWEEP_BYTES;
}

const jf_fused_limits jf_cpu_fused_limits = {
  .slots = JF_SWEEP_SLOTS, .instrs = JF_SWEEP_INSTRS, .outputs = 4, .row = 4096,
  .sums = 1 << 15, .fits = fused_fits
};
