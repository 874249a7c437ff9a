/* The null device computes nothing. Plans for it show that shapes and memory work out. */
#include "dev/dev.h"

enum { N_NULL = 8 };

static int null_count(void) { return N_NULL; }

static void *null_alloc(jf_device *d, size_t size)
{
  static char nothing;
  (void)d;
  (void)size;
  return &nothing;
}

static void null_free(jf_device *d, void *p)
{
  (void)d;
  (void)p;
}

/* Limits that the plain kernel of fused programs could serve; nothing runs them here. */
static const jf_fused_limits null_fused = {
  .slots = 64, .instrs = 32, .outputs = 4, .row = 4096, .sums = 1 << 15,
};

JFL_DEVICE(null, .count = null_count, .alloc = null_alloc, .free = null_free, .fused = &null_fused)
