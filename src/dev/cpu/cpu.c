/* The CPU as a device: its memory is the host's, and its kernels are done when they return. */
#include "dev/cpu/cpu.h"
#include "dev/dev.h"

static void *cpu_alloc(jf_device *d, size_t size)
{
  (void)d;
  return jf_new(size);
}

static void cpu_free(jf_device *d, void *p)
{
  (void)d;
  jf_free(p);
}

extern const jf_kind jf_kind_core;

JFL_DEVICE(cpu, .host = 1, .parts = &jf_kind_core, .plain = 1, .alloc = cpu_alloc,
  .free = cpu_free, .rows = jf_cpu_rows, .channel_block = jf_cpu_channel_block,
  .activates = jf_cpu_activates, .fused = &jf_cpu_fused_limits, .peak = jf_cpu_peak)

jf_device *jf_host(void)
{
  static jf_device host = { &jf_kind_cpu, 0, "cpu:0", NULL };
  return &host;
}
