/* Where the elements of images lie, and which cells a convolution's taps read. */
#include "conv.h"

jf_own_images jf_own_images_of(const jf_primitive_conv *c, int64_t channels, const int64_t size[3],
                               int blocked)
{
  const int64_t plane = size[0] * size[1] * size[2], each = channels / c->groups;
  jf_own_images x = { .channels = each, .size = { size[0], size[1], size[2] } };
  x.run = blocked ? JF_LANES : c->last ? each : 1;
  x.step[2] = blocked ? JF_LANES : c->last ? channels : 1;
  x.step[1] = x.step[2] * size[2];
  x.step[0] = x.step[1] * size[1];
  x.by_run = c->last ? 0 : plane * x.run;
  x.by_image = channels * plane;
  x.by_group = c->last ? each : each * plane;
  return x;
}

/* Sets the taps of an axis. Tap u of a forward convolution reads cell i stride - before + u
   dilation for result i. Turned, result i gets the products of tap u with cell (i + before - u
   dilation) / stride where that is whole. */
static void geometry_taps(const jf_primitive_conv *c, int i, int turned, jf_own_axis *a)
{
  int64_t n = 0;
  for (int64_t phase = 0; phase < a->phases; phase++) {
    a->start[phase] = n;
    for (int64_t u = 0; u < c->kernel[i]; u++) {
      const int64_t at = phase + c->before[i] - u * c->dilation[i];
      if (turned && at % c->stride[i]) continue;
      a->index[n] = u;
      a->shift[n++] = turned ? at / c->stride[i] : u * c->dilation[i] - c->before[i];
    }
  }
  a->start[a->phases] = n;
}

/* Tables have an entry for each tap and channel, and are made by going through all phases, before
   the memory of results is looked at; beyond this many, 128 MB, the plain kernel, which has none,
   takes the convolution. */
enum { MOST_STEPS = 1 << 24, MOST_PHASES = 1 << 16 };

static int64_t geometry_phases(const jf_primitive_conv *c, int turned, int i)
{
  return turned ? jf_own_least(c->stride[i], c->in[i]) : 1;
}

static int geometry_is_huge(const jf_primitive_conv *c, int turned)
{
  double steps = (double)(c->in_channels > c->out_channels ? c->in_channels : c->out_channels);
  double phases = 1;
  for (int i = 0; i < 3; i++) {
    const double along = (double)geometry_phases(c, turned, i);
    if (along * (double)c->kernel[i] > MOST_STEPS) return 1;
    steps *= (double)c->kernel[i];
    phases *= along;
  }
  return steps > MOST_STEPS || phases > MOST_PHASES;
}

jfl_status jf_own_axes(const jf_primitive_conv *c, int turned, jf_own_axis axis[3])
{
  if (geometry_is_huge(c, turned))
    return jf_fail(JFL_ENOSYS, "convolution: too large a window or stride");
  size_t size = 0;
  for (int i = 0; i < 3; i++) {
    axis[i].phases = geometry_phases(c, turned, i);
    axis[i].stride = turned ? 1 : c->stride[i];
    size += (size_t)(axis[i].phases + 1 + 2 * c->kernel[i]);
  }
  int64_t *at = jf_new(size * sizeof *at);
  if (!at) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
  for (int i = 0; i < 3; i++) {
    axis[i].start = at;
    axis[i].index = at + axis[i].phases + 1;
    axis[i].shift = axis[i].index + c->kernel[i];
    at = axis[i].shift + c->kernel[i];
    geometry_taps(c, i, turned, &axis[i]);
  }
  return JFL_OK;
}

jf_own_range jf_own_meets(const jf_own_axis *a, int64_t from, int64_t to, int64_t u)
{
  const int64_t shift = a->shift[u], last = from - 1 - shift;
  const int64_t lo = shift < 0 ? (-shift + a->stride - 1) / a->stride : 0;
  return (jf_own_range){ lo, jf_own_least(last < 0 ? 0 : last / a->stride + 1, to) };
}
