/* Sounds: samples of a WAV file at the rate, of the length and with the channels that are asked
   for.

   Another rate is made as Smith, "Digital audio resampling" (2002), has it: each result is a sum
   of the samples around it, weighted by a sinc that ends under a window of squared cosine. */
#include "data/data.h"

#include <math.h>
#include <string.h>

/* CROSSINGS: how often the sinc is 0 on either side, at the lower of both rates. ROLL_OFF: the
   share of what that rate can hold which is kept. */
enum { CROSSINGS = 16, MOST_TABLE = 1 << 20, LEAST_RATE = 100, MOST_RATE = 768000,
       LOOK = 1 << 14 };       /* samples between two looks at the time */
static const double ROLL_OFF = 0.97, PI = 3.14159265358979323846;
static const int64_t MOST_LENGTH = (int64_t)1 << 28;

/* ---- another rate ---- */

static int64_t common(int64_t a, int64_t b)
{
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* From `from` samples `to` are made. Result i lies at i * from / to; weights repeat after `to`
   results. */
typedef struct resampling {
  int64_t from, to, width, taps;   /* taps: samples that a result is made of, 2 * width + 2 */
  double base;                 /* zeros of the sinc for each sample */
  float *table;                /* weights of each of `to` results, or NULL */
} resampling;

static int64_t resampled(int64_t n, int64_t from, int64_t to)
{
  const int64_t g = common(from, to);
  return (n * (to / g) + from / g - 1) / (from / g);
}

/* The weight of a sample so many samples off. */
static double sinc_weight(const resampling *r, double off)
{
  const double t = off * r->base;
  if (fabs(t) >= CROSSINGS) return 0;
  const double window = cos(t * PI / CROSSINGS / 2), sinc = t == 0 ? 1 : sin(t * PI) / (t * PI);
  return sinc * window * window * r->base;
}

/* The weights of results that lie at `part` / to behind a sample. */
static void resampling_weights(const resampling *r, int64_t part, float *out)
{
  for (int64_t k = 0; k < r->taps; k++)
    out[k] = (float)sinc_weight(r, (double)(k - r->width) - (double)part / (double)r->to);
}

static jfl_status resampling_begin(jf_decoder *d, int from, int to, int64_t n, resampling *r)
{
  const int64_t g = common(from, to);
  *r = (resampling){ .from = from / g, .to = to / g };
  r->base = ROLL_OFF * fmin(1, (double)to / (double)from);
  r->width = (int64_t)ceil(CROSSINGS / r->base);
  r->taps = 2 * r->width + 2;
  const int repeats = r->to * r->taps <= MOST_TABLE && resampled(n, from, to) > r->to;
  float *table = jf_room_for(&d->taps, (size_t)(repeats ? r->to : 1) * (size_t)r->taps
                             * sizeof *table);
  if (!table) return jf_fail(JFL_ENOMEM, "out of memory");
  r->table = table;
  for (int64_t i = 0; repeats && i < r->to; i++) resampling_weights(r, i, table + i * r->taps);
  if (!repeats) r->to = -r->to;        /* the table has room for one result, made when it is due */
  return JFL_OK;
}

/* Result i of n samples. */
static float resampled_at(resampling *r, const float *in, int64_t n, int64_t i)
{
  const int64_t to = r->to < 0 ? -r->to : r->to, at = i * r->from / to, part = i * r->from % to;
  float *w = r->to < 0 ? r->table : r->table + part * r->taps;
  if (r->to < 0) {
    r->to = to;
    resampling_weights(r, part, w);
    r->to = -to;
  }
  const int64_t first = at - r->width, lo = first < 0 ? -first : 0;
  const int64_t hi = first + r->taps > n ? n - first : r->taps;
  float sum = 0;
  for (int64_t k = lo; k < hi; k++) sum += w[k] * in[first + k];
  return sum;
}

/* Results first .. first + count - 1. */
static jfl_status resample(jf_decoder *d, const float *in, int64_t n, int from, int to,
                           int64_t first, int64_t count, float *out)
{
  resampling r;
  JF_TRY(resampling_begin(d, from, to, n, &r));
  const int64_t some = 1 + LOOK / r.taps;
  for (int64_t i = 0; i < count; i++) {
    if (i % some == 0) JF_TRY(jf_time_for(0));
    out[i] = resampled_at(&r, in, n, first + i);
  }
  return JFL_OK;
}

/* ---- what is asked for ---- */

static int is_rate(int rate) { return rate >= LEAST_RATE && rate <= MOST_RATE; }

jfl_status jf_sound_check(const char *who, const jfl_sound_spec *s)
{
  jfl_status r = JFL_OK;
  if (s->rate && !is_rate(s->rate))
    r = jf_fail_argument(JFL_EINVAL, "rate", "must be 0, or from %d to %d, got %d", LEAST_RATE,
                         MOST_RATE, s->rate);
  else if (s->channels != 0 && s->channels != 1)
    r = jf_fail_argument(JFL_EINVAL, "channels", "must be 0 or 1, got %d", s->channels);
  else if (s->length < 0 || s->length > MOST_LENGTH)
    r = jf_fail_argument(JFL_EINVAL, "length", "must be from 0 to %lld, got %lld",
                         (long long)MOST_LENGTH, (long long)s->length);
  else if (s->mel && (s->channels != 1 || s->mel->rate != s->rate))
    r = jf_fail_argument(JFL_EINVAL, "mel", "must be of the sound's rate, and of 1 channel");
  if (r != JFL_OK) return jf_need_told(who, r);
  return s->mel ? jf_mel_check(who, s->mel) : JFL_OK;
}

jfl_status jf_sound_fit(const void *data, size_t n, jfl_sound_spec *s)
{
  jf_wave w;
  JF_TRY(jf_wave_head(data, n, &w));
  if (!s->rate) s->rate = w.rate;
  if (!s->channels) s->channels = w.channels;
  if (!s->length) s->length = resampled(w.length, w.rate, s->rate);
  if (s->length > MOST_LENGTH)
    return jf_fail(JFL_EDATA, "it must have at most %lld samples, got %lld", (long long)MOST_LENGTH,
                   (long long)s->length);
  return JFL_OK;
}

jfl_shape jf_sound_shape(const jfl_sound_spec *s)
{
  if (!s->mel) return (jfl_shape){ 2, { s->channels, s->length } };
  return (jfl_shape){ 2, { s->mel->bands, jf_mel_windows(s->mel, s->length) } };
}

/* ---- reading ---- */

/* Which result of the whole sound comes first. */
static int64_t sound_first(const jfl_sound_spec *s, int64_t all, uint64_t seed)
{
  if (!s->part || all <= s->length) return 0;
  const double at = (double)jf_unit(jf_philox_at(seed, 2, 0).w[0]) * (double)(all - s->length + 1);
  return (int64_t)at;
}

/* A channel, or with -1 the mean of all, at the rate and of the length that are asked for. */
static jfl_status sound_channel(jf_decoder *d, const jf_wave *w, const jfl_sound_spec *s,
                                int channel, uint64_t seed, float *out)
{
  const int64_t all = resampled(w->length, w->rate, s->rate), first = sound_first(s, all, seed);
  const int64_t n = all - first < s->length ? all - first : s->length;
  memset(out + n, 0, (size_t)(s->length - n) * sizeof *out);
  if (w->rate == s->rate) {
    jf_wave_read(w, channel, first, n, out);
    return JFL_OK;
  }
  float *samples = jf_room_for(&d->pixels, (size_t)w->length * sizeof *samples);
  if (!samples) return jf_fail(JFL_ENOMEM, "out of memory");
  jf_wave_read(w, channel, 0, w->length, samples);
  return resample(d, samples, w->length, w->rate, s->rate, first, n, out);
}

static jfl_status sound_mel(jf_decoder *d, const jf_wave *w, const jfl_sound_spec *s, uint64_t seed,
                            float *out)
{
  if (!d->mel) JF_TRY(jf_mel_new(s->mel, &d->mel));
  float *samples = jf_room_for(&d->other, (size_t)s->length * sizeof *samples);
  if (!samples) return jf_fail(JFL_ENOMEM, "out of memory");
  JF_TRY(sound_channel(d, w, s, w->channels == 1 ? 0 : -1, seed, samples));
  return jf_mel_make(d->mel, samples, s->length, out);
}

jfl_status jf_sound_read(jf_decoder *d, const void *data, size_t n, const jfl_sound_spec *s,
                         uint64_t seed, void *out)
{
  jf_wave w;
  JF_TRY(jf_wave_head(data, n, &w));
  if (s->mel) return sound_mel(d, &w, s, seed, out);
  if (s->channels == 1) return sound_channel(d, &w, s, w.channels == 1 ? 0 : -1, seed, out);
  for (int c = 0; c < s->channels; c++)
    JF_TRY(sound_channel(d, &w, s, c, seed, (float *)out + (int64_t)c * s->length));
  return JFL_OK;
}

/* ---- the interface ---- */

jfl_status jfl_sound_head(const void *data, size_t n, jfl_sound_info *out)
{
  jf_wave w;
  if (n) JF_NEED_POINTER(data);
  JF_NEED_POINTER(out);
  JF_TRY(jf_wave_head(data, n, &w));
  *out = (jfl_sound_info){ w.rate, w.channels, w.length };
  return JFL_OK;
}

static jfl_status resample_check(const jfl_array *sound, int from, int to)
{
  const jfl_shape *s = jfl_array_shape(sound);
  if (jfl_array_dtype(sound) != JFL_F32 || s->n < 1 || s->n > 2 || !jf_numel(s) ||
      s->d[s->n - 1] > MOST_LENGTH)
    return jf_fail_argument(JFL_ESHAPE, "sound", "must be float32 of shape (samples) or (channels, "
                            "samples)");
  if (!is_rate(from) || !is_rate(to))
    return jf_fail_argument(JFL_EINVAL, "rates", "must be from %d to %d, got %d and %d", LEAST_RATE,
                            MOST_RATE, from, to);
  if (resampled(s->d[s->n - 1], from, to) <= MOST_LENGTH) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "sound", "must become at most %lld samples",
                          (long long)MOST_LENGTH);
}

jfl_status jfl_sound_resample(const jfl_array *sound, int from, int to, jfl_array **out)
{
  jf_decoder d = { 0 };
  jfl_array *a;
  JF_NEED(ARRAY, sound);
  JF_NEED_POINTER(out);
  JF_TRY(jf_need_told(__func__, resample_check(sound, from, to)));
  jfl_shape s = *jfl_array_shape(sound);
  const int64_t n = s.d[s.n - 1], rows = s.n == 2 ? s.d[0] : 1, count = resampled(n, from, to);
  s.d[s.n - 1] = count;
  JF_TRY(jfl_array_new(JFL_F32, &s, &a));
  jfl_status r = JFL_OK;
  for (int64_t i = 0; i < rows && r == JFL_OK; i++)
    r = resample(&d, (const float *)jfl_array_data(sound) + i * n, n, from, to, 0, count,
                 (float *)jfl_array_data(a) + i * count);
  jf_decoder_free(&d);
  if (r == JFL_OK) *out = a;
  else jfl_array_unref(a);
  return r;
}
