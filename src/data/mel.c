/* Mel spectrograms: spectra of windows of a sound, summed under triangles on the mel scale. */
#include "data/data.h"

#include <math.h>
#include <string.h>

enum { MOST_FFT = 1 << 16, MOST_BANDS = 1024, MOST_RATE = 768000, MOST_FACTORS = 32 };
static const double PI = 3.14159265358979323846, LEAST = 1e-10;

typedef struct complex_number { double re, im; } complex_number;
/* A band's weights for the frequencies from `first` on. */
typedef struct mel_band { int first, n; double *weight; } mel_band;

struct jf_mel {
  jfl_mel_spec spec;
  int n_bin, factor[MOST_FACTORS];     /* factors of n_fft, which end with 1 */
  double *window, *power, *weights;
  complex_number *root, *in, *out, *line;    /* root[k]: e^(-2 pi i k / n_fft) */
  mel_band *band;
};

/* ---- the Fourier transform ---- */

static void factors_of(int n, int *out)
{
  int k = 0;
  for (int f = 2; n > 1; f++)
    for (; n % f == 0; n /= f) out[k++] = f;
  out[k] = 1;
}

/* The sums of p parts of a transform of n numbers: result q * m + j adds part r, turned r times by
   the root of j + q m. */
static void fft_join(const jf_mel *f, complex_number *x, int n, int p)
{
  const int m = n / p, all = f->spec.n_fft, step = all / n;
  complex_number *v = f->line;
  for (int j = 0; j < m; j++) {
    for (int r = 0; r < p; r++) v[r] = x[r * m + j];
    for (int q = 0; q < p; q++) {
      complex_number sum = v[0];
      for (int r = 1; r < p; r++) {
        const complex_number w = f->root[(int64_t)r * (q * m + j) * step % all];
        sum.re += v[r].re * w.re - v[r].im * w.im;
        sum.im += v[r].re * w.im + v[r].im * w.re;
      }
      x[q * m + j] = sum;
    }
  }
}

/* The transform of n numbers of `in`, each `step` behind the one before, by Cooley and Tukey, "An
   algorithm for the machine calculation of complex Fourier series" (1965). */
static void fft(const jf_mel *f, const complex_number *in, int step, int n, const int *factor,
                complex_number *out)
{
  const int p = *factor, m = n / p;
  if (n == 1) {
    *out = *in;
    return;
  }
  for (int r = 0; r < p; r++) fft(f, in + (int64_t)r * step, step * p, m, factor + 1, out + r * m);
  fft_join(f, out, n, p);
}

/* ---- the scale ---- */

/* Slaney's scale ("Auditory toolbox", 1998) is straight up to 1000 Hz, and logarithmic above. */
static const double SLANEY_STEP = 200.0 / 3, SLANEY_BREAK = 1000;
static double slaney_log_step(void) { return log(6.4) / 27; }

static double mel_of(jfl_mel_scale scale, double hz)
{
  if (scale == JFL_HTK) return 2595 * log10(1 + hz / 700);
  if (hz < SLANEY_BREAK) return hz / SLANEY_STEP;
  return SLANEY_BREAK / SLANEY_STEP + log(hz / SLANEY_BREAK) / slaney_log_step();
}

static double hz_of(jfl_mel_scale scale, double mel)
{
  const double at = SLANEY_BREAK / SLANEY_STEP;
  if (scale == JFL_HTK) return 700 * (pow(10, mel / 2595) - 1);
  if (mel < at) return mel * SLANEY_STEP;
  return SLANEY_BREAK * exp(slaney_log_step() * (mel - at));
}

static double mel_high(const jfl_mel_spec *s) { return s->high > 0 ? s->high : s->rate / 2.0; }

/* The frequency of edge i of bands + 2, which lie at equal distances on the scale. */
static double mel_edge(const jfl_mel_spec *s, int i)
{
  const double low = mel_of(s->scale, s->low), high = mel_of(s->scale, mel_high(s));
  return hz_of(s->scale, low + (high - low) * i / (s->bands + 1));
}

/* Fills the weights of band i, of which those at either end may be 0. */
static void mel_triangle(jf_mel *m, int i)
{
  const jfl_mel_spec *s = &m->spec;
  const double left = mel_edge(s, i), mid = mel_edge(s, i + 1), right = mel_edge(s, i + 2);
  const double height = s->unit_area ? 2 / (right - left) : 1;
  mel_band *b = &m->band[i];
  *b = (mel_band){ .weight = m->weights + (int64_t)i * m->n_bin };
  for (int k = 0; k < m->n_bin; k++) {
    const double hz = (double)k * s->rate / s->n_fft;
    const double w = fmax(0, fmin((hz - left) / (mid - left), (right - hz) / (right - mid)));
    if (w <= 0) continue;
    if (!b->n) b->first = k;
    b->n = k - b->first + 1;
    b->weight[b->n - 1] = height * w;
  }
}

/* ---- making one ---- */

jfl_status jf_mel_check(const char *who, const jfl_mel_spec *s)
{
  jfl_status r = JFL_OK;
  JF_TRY(jf_need_from(who, "rate", s->rate, 1, MOST_RATE));
  JF_TRY(jf_need_from(who, "bands", s->bands, 1, MOST_BANDS));
  if (s->n_fft < 2 || s->n_fft > MOST_FFT || s->hop < 1 || s->hop > MOST_FFT)
    r = jf_fail_argument(JFL_EINVAL, "n_fft and hop", "must be from 2 and 1 to %d, got %d and %d",
                         MOST_FFT, s->n_fft, s->hop);
  else if (!(s->low >= 0 && s->low < mel_high(s) && mel_high(s) <= s->rate / 2.0))
    r = jf_fail_argument(JFL_EINVAL, "low and high", "must be from 0 to %g Hz, the lower one first,"
                         " got %g and %g", s->rate / 2.0, s->low, mel_high(s));
  else if ((unsigned)s->scale > JFL_HTK || (unsigned)s->log > JFL_MEL_WHISPER)
    r = jf_fail_argument(JFL_EINVAL, "scale and log", "must be one of those of jfl.h");
  return r == JFL_OK ? r : jf_need_told(who, r);
}

jfl_status jf_mel_new(const jfl_mel_spec *s, jf_mel **out)
{
  const size_t n = (size_t)s->n_fft, bins = n / 2 + 1, bands = (size_t)s->bands;
  jf_mel *m = jf_new(sizeof *m);
  char *room = jf_new((4 * n) * sizeof(complex_number) + bands * sizeof(mel_band)
                      + (n + bins + bands * bins) * sizeof(double));
  if (!m || !room) {
    jf_free(m);
    jf_free(room);
    return jf_fail(JFL_ENOMEM, "out of memory");
  }
  m->spec = *s;
  m->n_bin = (int)bins;
  m->root = (complex_number *)room;
  m->in = m->root + n;
  m->out = m->in + n;
  m->line = m->out + n;
  m->band = (mel_band *)(m->line + n);
  m->window = (double *)(m->band + bands);
  m->power = m->window + n;
  m->weights = m->power + bins;
  factors_of(s->n_fft, m->factor);
  for (size_t k = 0; k < n; k++) {
    const double turn = 2 * PI * (double)k / (double)n;
    m->root[k] = (complex_number){ cos(turn), -sin(turn) };
    m->window[k] = 0.5 - 0.5 * cos(turn);
  }
  for (int i = 0; i < s->bands; i++) mel_triangle(m, i);
  *out = m;
  return JFL_OK;
}

void jf_mel_free(jf_mel *m)
{
  if (m) jf_free(m->root);
  jf_free(m);
}

int64_t jf_mel_windows(const jfl_mel_spec *s, int64_t length)
{
  const int64_t all = 1 + length / s->hop;
  return s->log == JFL_MEL_WHISPER && all > 1 ? all - 1 : all;
}

/* ---- sounds ---- */

/* Sample i of a sound that goes on mirrored at its ends. */
static double mirrored(const float *sound, int64_t n, int64_t i)
{
  const int64_t period = 2 * (n - 1);
  if (n == 1) return sound[0];
  i %= period;
  if (i < 0) i += period;
  return sound[i < n ? i : period - i];
}

/* The squared spectrum of the window whose middle is sample `at`. */
static void mel_spectrum(jf_mel *m, const float *sound, int64_t n, int64_t at)
{
  const int size = m->spec.n_fft;
  const int64_t first = at - size / 2;
  const int inside = first >= 0 && first + size <= n;
  for (int i = 0; i < size; i++) {
    const double v = inside ? sound[first + i] : mirrored(sound, n, first + i);
    m->in[i] = (complex_number){ v * m->window[i], 0 };
  }
  fft(m, m->in, 1, size, m->factor, m->out);
  for (int k = 0; k < m->n_bin; k++)
    m->power[k] = m->out[k].re * m->out[k].re + m->out[k].im * m->out[k].im;
}

static void mel_logarithms(const jfl_mel_spec *s, float *v, int64_t n)
{
  float most = -INFINITY;
  if (s->log == JFL_MEL_POWER) return;
  for (int64_t i = 0; i < n; i++) {
    const double at_least = fmax((double)v[i], LEAST);
    v[i] = (float)(s->log == JFL_MEL_WHISPER ? log10(at_least) : log(at_least));
    most = fmaxf(most, v[i]);
  }
  if (s->log != JFL_MEL_WHISPER) return;
  for (int64_t i = 0; i < n; i++) v[i] = (fmaxf(v[i], most - 8) + 4) / 4;
}

/* The steps of a transform: each of its numbers is a sum of as many as each factor has, once for
   each factor. A product of such a sum takes 1 ns at least. */
static double mel_steps(const jf_mel *m)
{
  double products = 0;
  for (const int *f = m->factor; *f > 1; f++) products += (double)*f * m->spec.n_fft;
  return products * JF_STEPS_A_SECOND / 1e9;
}

jfl_status jf_mel_make(jf_mel *m, const float *sound, int64_t n, float *out)
{
  const int64_t windows = jf_mel_windows(&m->spec, n);
  JF_TRY(jf_time_for(mel_steps(m) * (double)windows));
  for (int64_t w = 0; w < windows; w++) {
    JF_TRY(jf_time_for(0));
    mel_spectrum(m, sound, n, w * m->spec.hop);
    for (int i = 0; i < m->spec.bands; i++) {
      const mel_band *b = &m->band[i];
      double sum = 0;
      for (int k = 0; k < b->n; k++) sum += b->weight[k] * m->power[b->first + k];
      out[i * windows + w] = (float)sum;
    }
  }
  mel_logarithms(&m->spec, out, m->spec.bands * windows);
  return JFL_OK;
}

static jfl_status mel_new_array(const jfl_array *sound, const jfl_mel_spec *s, jfl_array **out)
{
  const jfl_shape *from = jfl_array_shape(sound);
  if (jfl_array_dtype(sound) != JFL_F32 || from->n < 1 || from->n > 2 || !jf_numel(from))
    return jf_fail_argument(JFL_ESHAPE, "sound", "must be float32 of shape (samples) or (channels, "
                            "samples)");
  const int64_t windows = jf_mel_windows(s, from->d[from->n - 1]);
  jfl_shape shape = { 2, { s->bands, windows } };
  if (from->n == 2) shape = (jfl_shape){ 3, { from->d[0], s->bands, windows } };
  return jfl_array_new(JFL_F32, &shape, out);
}

jfl_status jfl_mel(const jfl_array *sound, const jfl_mel_spec *spec, jfl_array **out)
{
  jf_mel *m;
  jfl_array *a;
  JF_NEED(ARRAY, sound);
  JF_NEED_POINTERS(spec, out);
  JF_TRY(jf_mel_check(__func__, spec));
  JF_TRY(jf_need_told(__func__, mel_new_array(sound, spec, &a)));
  jfl_status r = jf_mel_new(spec, &m);
  if (r != JFL_OK) {
    jfl_array_unref(a);
    return r;
  }
  const jfl_shape *s = jfl_array_shape(sound);
  const int64_t n = s->d[s->n - 1], rows = s->n == 2 ? s->d[0] : 1;
  const int64_t size = jfl_array_size(a) / rows;
  for (int64_t i = 0; i < rows && r == JFL_OK; i++)
    r = jf_mel_make(m, (const float *)jfl_array_data(sound) + i * n, n,
                    (float *)jfl_array_data(a) + i * size);
  jf_mel_free(m);
  if (r == JFL_OK) *out = a;
  else jfl_array_unref(a);
  return r;
}
