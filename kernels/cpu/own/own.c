/* The table of jf's own products and convolutions. */
#include "conv.h"

static jfl_status own_conv(const jf_primitive_conv *c, jf_primitive_kind kind,
                           jf_primitive_make *make)
{
  if (c->epilogue.act) return jf_fail(JFL_ENOSYS, "convolution: no activation");
  if ((c->block_x || c->block_y || c->packed) && c->block != JF_LANES)
    return jf_fail(JFL_ENOSYS, "convolution: no blocks of %d channels", (int)c->block);
  if (jf_own_is_depthwise(c)) return jf_own_depthwise(c, kind, make);
  if ((c->block_x || c->block_y) && c->groups > 1 && c->in_channels / c->groups % JF_LANES)
    return jf_fail(JFL_ENOSYS, "convolution: no blocks of several groups");
  return kind == JF_UNIT_FILTER_GRAD ? jf_own_conv_filter(c, make)
                                     : jf_own_conv_data(c, kind, make);
}

static jfl_status own_execute(jf_primitive_any *unit, int worker, void *scratch, jf_primitive_run r)
{
  const jf_own_primitive *u = unit;
  (void)worker;
  u->run(u, scratch, &r);
  return JFL_OK;
}

static jfl_status own_ready(jf_primitive_any *unit, int worker, const void *b, void *to)
{
  const jf_own_primitive *u = unit;
  (void)worker;
  u->ready(u, b, to);
  return JFL_OK;
}

static uint64_t own_form(const jf_primitive_any *unit)
{
  return ((const jf_own_primitive *)unit)->form;
}

static void own_release(jf_primitive_any *unit)
{
  jf_own_primitive *u = unit;
  if (u && u->release) u->release(u);
  jf_free(u);
}

static int own_activates(const char *act) { (void)act; return 0; }

static int64_t own_block_size(void) { return JF_LANES; }

const jf_primitives *jf_own_units(void)
{
  static const jf_primitives functions = { jf_own_matmul, own_conv, own_execute, own_release,
                                      own_ready, own_form, own_activates, own_block_size, 1 };
  return &functions;
}
