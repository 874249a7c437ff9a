/* The device table, the CPU and the null device. */
#include "dev/dev.h"

#include <string.h>

static void *null_alloc(size_t size)
{
  static char nothing;
  (void)size;
  return &nothing;
}

static void null_free(void *p) { (void)p; }

const jf_device jf_dev_cpu = {
  .name = "cpu", .alloc = jf_new, .free = jf_free, .rows = jf_cpu_rows, .plain = 1,
  .channel_block = jf_cpu_channel_block,
  .activates = jf_cpu_activates, .fused = &jf_cpu_fused_limits,
};

/* Numbers that the plain kernel would serve with; nothing runs them. */
static const jf_fused_limits null_fused = {
  .slots = 64, .instrs = 32, .outputs = JFL_MAXOUT, .row = 4096, .sums = 1 << 15,
};

const jf_device jf_dev_null = { .name = "null", .alloc = null_alloc, .free = null_free,
                                .fused = &null_fused };

const jf_device *const jf_devices[] = { &jf_dev_cpu, &jf_dev_null, NULL };

const jf_device *jf_device_find(const char *name)
{
  for (const jf_device *const *d = jf_devices; *d; d++)
    if (!strcmp((*d)->name, name)) return *d;
  return NULL;
}
