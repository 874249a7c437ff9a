/* Colours of a decoded picture: changed by random factors, and brought to the range that a network
   takes. The changes and their order are those of flow.image.color_jitter. */
#include "data/data.h"

#include <math.h>

/* ITU-R BT.601's shares of red, green and blue in brightness. */
static const float luma[3] = { 0.299f, 0.587f, 0.114f };

/* A picture of floats from 0 to 1: steps between pixels and between channels. */
typedef struct colours_of { float *v; int64_t n; int channels; int64_t pixel, channel; } colours_of;

static int is_share(double v) { return v >= 0 && isfinite(v); }

jfl_status jf_colours_check(const char *who, const jfl_colours *c)
{
  jfl_status r = JFL_OK;
  if (!is_share(c->brightness) || !is_share(c->contrast) || !is_share(c->saturation))
    r = jf_fail_argument(JFL_EINVAL, "colours", "must change by numbers of at least 0, got %g, %g "
                         "and %g", c->brightness, c->contrast, c->saturation);
  else if (!(c->hue >= 0 && c->hue <= 0.5))
    r = jf_fail_argument(JFL_EINVAL, "hue", "must be from 0 to 0.5, got %g", c->hue);
  for (int i = 0; i < 3 && r == JFL_OK; i++)
    if (!isfinite(c->mean[i]) || !isfinite(c->std[i]))
      r = jf_fail_argument(JFL_EINVAL, "mean and std", "must be finite, got %g and %g", c->mean[i],
                           c->std[i]);
  return r == JFL_OK ? r : jf_need_told(who, r);
}

static float within(float v) { return v < 0 ? 0 : v > 1 ? 1 : v; }

static float grey_at(const colours_of *p, const float *v)
{
  if (p->channels == 1) return v[0];
  return luma[0] * v[0] + luma[1] * v[p->channel] + luma[2] * v[2 * p->channel];
}

/* The mean brightness of all pixels. */
static float grey_mean(const colours_of *p)
{
  double sum = 0;
  for (int64_t i = 0; i < p->n; i++) sum += (double)grey_at(p, p->v + i * p->pixel);
  return (float)(sum / (double)p->n);
}

typedef enum blend_with { BLACK, MEAN, GREY } blend_with;

/* Draws every pixel to something by a factor, or from it. */
static void colours_blend(const colours_of *p, blend_with with, float factor)
{
  const float mean = with == MEAN ? grey_mean(p) : 0;
  for (int64_t i = 0; i < p->n; i++) {
    float *v = p->v + i * p->pixel;
    const float other = (1 - factor) * (with == GREY ? grey_at(p, v) : mean);
    for (int c = 0; c < p->channels; c++)
      v[c * p->channel] = within(factor * v[c * p->channel] + other);
  }
}

/* Where a colour stands on the circle of six arcs, Smith, "Color gamut transform pairs" (1978). */
static float hue_of(float r, float g, float b, float most, float chroma)
{
  if (chroma <= 0) return 0;
  if (most == r) return (g - b) / chroma;
  return most == g ? (b - r) / chroma + 2 : (r - g) / chroma + 4;
}

static void colours_turn(const colours_of *p, float turn)
{
  static const float first[3] = { 5, 3, 1 };
  for (int64_t i = 0; i < p->n; i++) {
    float *v = p->v + i * p->pixel;
    const float r = v[0], g = v[p->channel], b = v[2 * p->channel];
    const float most = fmaxf(fmaxf(r, g), b), chroma = most - fminf(fminf(r, g), b);
    const float at = hue_of(r, g, b, most, chroma) + 6 * turn;
    for (int c = 0; c < 3; c++) {
      float k = fmodf(at + first[c], 6);
      if (k < 0) k += 6;
      v[c * p->channel] = most - chroma * within(fminf(k, 4 - k));
    }
  }
}

/* A factor from 1 - s, 0 at least, to 1 + s. */
static float factor_of(double s, uint32_t w)
{
  const double low = fmax(0, 1 - s);
  return (float)(low + (double)jf_unit(w) * (1 + s - low));
}

static void colours_jitter(const colours_of *p, const jfl_colours *c, uint64_t seed)
{
  const jf_philox r = jf_philox_at(seed, 1, 0);
  if (c->brightness > 0) colours_blend(p, BLACK, factor_of(c->brightness, r.w[0]));
  if (c->contrast > 0) colours_blend(p, MEAN, factor_of(c->contrast, r.w[1]));
  if (p->channels == 1) return;
  if (c->saturation > 0) colours_blend(p, GREY, factor_of(c->saturation, r.w[2]));
  if (c->hue > 0) colours_turn(p, (float)(c->hue * (2 * (double)jf_unit(r.w[3]) - 1)));
}

static void colours_normalize(const colours_of *p, const jfl_colours *c)
{
  for (int k = 0; k < p->channels; k++) {
    const float mean = (float)c->mean[k], scale = (float)(1 / c->std[k]);
    float *v = p->v + k * p->channel;
    for (int64_t i = 0; i < p->n; i++) v[i * p->pixel] = (v[i * p->pixel] - mean) * scale;
  }
}

#define SWAP(D, T)                                                                   \
  static void colours_swap_##D(T *v, int64_t n, int64_t pixel, int64_t channel)      \
  {                                                                                  \
    for (int64_t i = 0; i < n; i++, v += pixel) {                                    \
      const T red = v[0];                                                            \
      v[0] = v[2 * channel];                                                         \
      v[2 * channel] = red;                                                          \
    }                                                                                \
  }
SWAP(U8, uint8_t)
SWAP(F32, float)

/* Changes bytes by way of floats. */
static jfl_status jitter_bytes(jf_decoder *d, const colours_of *as, const jfl_colours *c,
                               uint64_t seed, uint8_t *v)
{
  const int64_t n = as->n * as->channels;
  colours_of p = *as;
  p.v = jf_room_for(&d->other, (size_t)n * sizeof(float));
  if (!p.v) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int64_t i = 0; i < n; i++) p.v[i] = (float)v[i] / 255;
  colours_jitter(&p, c, seed);
  for (int64_t i = 0; i < n; i++) v[i] = (uint8_t)(p.v[i] * 255 + 0.5f);
  return JFL_OK;
}

jfl_status jf_colours_change(jf_decoder *d, const jfl_colours *c, const jfl_picture_spec *s,
                             uint64_t seed, void *picture)
{
  const int64_t n = s->height * s->width;
  const int jitters = c->brightness > 0 || c->contrast > 0 || c->saturation > 0 || c->hue > 0;
  const colours_of p = { picture, n, s->channels, s->planes ? 1 : s->channels, s->planes ? n : 1 };
  if (s->channels != 1 && s->channels != 3) return JFL_OK;
  if (s->dtype == JFL_U8) {
    if (jitters) JF_TRY(jitter_bytes(d, &p, c, seed, picture));
    if (c->bgr && s->channels == 3) colours_swap_U8(picture, n, p.pixel, p.channel);
    return JFL_OK;
  }
  if (jitters) colours_jitter(&p, c, seed);
  if (c->std[0] != 0) colours_normalize(&p, c);
  if (c->bgr && s->channels == 3) colours_swap_F32(picture, n, p.pixel, p.channel);
  return JFL_OK;
}
