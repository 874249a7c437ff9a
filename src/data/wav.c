/* WAV files: a RIFF of chunks, of which "fmt " says how samples lie and "data" has them. */
#include "data/data.h"

#include <string.h>

enum { HEAD = 12, CHUNK = 8, PCM = 1, FLOAT = 3, EXTENSIBLE = 0xFFFE };
enum { MOST_CHANNELS = 64, LEAST_RATE = 100, MOST_RATE = 768000 };

static uint32_t u16_at(const uint8_t *s) { return s[0] | (uint32_t)s[1] << 8; }
static uint32_t u32_at(const uint8_t *s) { return u16_at(s) | u16_at(s + 2) << 16; }

/* How samples lie; a longer "fmt " has the format in its first bytes that tell formats apart. */
static jfl_status wave_format(const uint8_t *s, size_t n, jf_wave *w)
{
  if (n < 16) return jf_fail(JFL_EDATA, "the WAV is damaged: its format is cut short");
  uint32_t format = u16_at(s);
  if (format == EXTENSIBLE && n >= 26) format = u16_at(s + 24);
  w->channels = (int)u16_at(s + 2);
  w->bits = (int)u16_at(s + 14);
  w->is_float = format == FLOAT;
  const uint32_t rate = u32_at(s + 4), frame = u16_at(s + 12);
  const int known = format == PCM ? w->bits == 8 || w->bits == 16 || w->bits == 24 || w->bits == 32
                                  : format == FLOAT && (w->bits == 32 || w->bits == 64);
  if (!known)
    return jf_fail(JFL_EDATA, "its samples must be of 8, 16, 24 or 32 bits, or floats of 32 or 64, "
                   "got %d bits of format %u", w->bits, format);
  if (w->channels < 1 || w->channels > MOST_CHANNELS || rate < LEAST_RATE || rate > MOST_RATE)
    return jf_fail(JFL_EDATA, "it must have 1 to %d channels at %d to %d Hz, got %d at %u",
                   MOST_CHANNELS, LEAST_RATE, MOST_RATE, w->channels, rate);
  w->rate = (int)rate;
  if (frame == (uint32_t)(w->channels * w->bits / 8)) return JFL_OK;
  return jf_fail(JFL_EDATA, "the WAV is damaged: a sample of all channels must take %d bytes, got "
                 "%u", w->channels * w->bits / 8, frame);
}

/* A program that was interrupted, or writes to a pipe, leaves the size of the data open. */
static int is_open_size(uint32_t size) { return !size || size == UINT32_MAX; }

jfl_status jf_wave_head(const void *data, size_t n, jf_wave *out)
{
  const uint8_t *s = data;
  jf_wave w = { 0 };
  if (n < HEAD || memcmp(s, "RIFF", 4) || memcmp(s + 8, "WAVE", 4))
    return jf_fail(JFL_EDATA, "it is no WAV file");
  for (size_t at = HEAD; n - at >= CHUNK;) {
    const uint32_t told = u32_at(s + at + 4);
    const size_t left = n - at - CHUNK;
    const int is_data = !memcmp(s + at, "data", 4);
    if (told > left && !(is_data && is_open_size(told)))
      return jf_fail(JFL_EDATA, "the WAV is cut short: at byte %zu %u bytes must follow, got %zu",
                     at, told, left);
    if (is_data && w.rate) {
      const size_t size = is_open_size(told) ? left : told;
      w.data = s + at + CHUNK;
      w.length = (int64_t)(size / (size_t)(w.channels * w.bits / 8));
      if (!w.length) return jf_fail(JFL_EDATA, "the WAV has no samples");
      return *out = w, JFL_OK;
    }
    if (!memcmp(s + at, "fmt ", 4)) JF_TRY(wave_format(s + at + CHUNK, told, &w));
    if (told + (told & 1) > left) break;
    at += CHUNK + told + (told & 1);
  }
  return jf_fail(JFL_EDATA, "the WAV must have a format and then data, got %s",
                 w.rate ? "no data" : "no format");
}

static float wave_float(const uint8_t *s, int bits)
{
  uint64_t v = u32_at(s);
  if (bits == 64) {
    double d;
    v |= (uint64_t)u32_at(s + 4) << 32;
    memcpy(&d, &v, 8);
    return (float)d;
  }
  float f;
  const uint32_t word = (uint32_t)v;
  memcpy(&f, &word, 4);
  return f;
}

/* A sample from -1 to 1: bytes have no sign, wider ones do. */
static float wave_sample(const uint8_t *s, const jf_wave *w)
{
  if (w->is_float) return wave_float(s, w->bits);
  if (w->bits == 8) return (float)((int)s[0] - 128) / 128.0f;
  if (w->bits == 16) return (float)(int16_t)u16_at(s) / 32768.0f;
  if (w->bits == 24) return (float)((int32_t)((u16_at(s) << 8 | (uint32_t)s[2] << 24))) * 0x1p-31f;
  return (float)((double)(int32_t)u32_at(s) * 0x1p-31);
}

void jf_wave_read(const jf_wave *w, int channel, int64_t first, int64_t n, float *out)
{
  const size_t width = (size_t)w->bits / 8, frame = width * (size_t)w->channels;
  const uint8_t *s = w->data + (size_t)first * frame;
  for (int64_t i = 0; i < n; i++, s += frame) {
    if (channel >= 0) {
      out[i] = wave_sample(s + (size_t)channel * width, w);
      continue;
    }
    float sum = 0;
    for (int c = 0; c < w->channels; c++) sum += wave_sample(s + (size_t)c * width, w);
    out[i] = sum / (float)w->channels;
  }
}
