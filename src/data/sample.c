/* Samples: the bytes of a file, of a part of it or of a feature in a record, made numbers. */
#include "data/data.h"


static const int64_t MOST_FILE = (int64_t)1 << 30, MOST_SAMPLE = (int64_t)1 << 31;

/* ---- what is asked for ---- */

static jfl_status numbers_check(const char *who, const jfl_sample_spec *s)
{
  const jfl_numbers_spec *of = &s->numbers;
  if (!s->feature)
    return jf_need_told(who, jf_fail_argument(JFL_EINVAL, "feature", "must be given for numbers"));
  if ((unsigned)of->dtype >= JFL_N_DTYPE || of->dtype == JFL_F16 || of->dtype == JFL_BF16)
    return jf_need_told(who, jf_fail_argument(JFL_EDTYPE, "dtype", "must be float32, float64, "
                                              "int8, uint8, int32 or int64"));
  JF_TRY(jf_shape_check(&of->shape, "numbers"));
  if (jf_numel(&of->shape) <= MOST_SAMPLE / 8 && of->shape.n < JFL_MAXDIM) return JFL_OK;
  return jf_need_told(who, jf_fail_argument(JFL_ESHAPE, "shape", "must be smaller"));
}

jfl_status jf_sample_check(const char *who, const jfl_sample_spec *s)
{
  JF_TRY(jf_need_pointer(who, "spec", s));
  JF_TRY(jf_need_below(who, "kind", s->kind, JFL_SOUND + 1));
  if (s->kind == JFL_NUMBERS) return numbers_check(who, s);
  if (s->kind == JFL_SOUND) return jf_sound_check(who, &s->sound);
  JF_TRY(jf_picture_check(who, &s->picture));
  JF_TRY(jf_need_below(who, "resizing", s->resizing, JFL_BY_TRIANGLES + 1));
  return jf_colours_check(who, &s->colours);
}

jfl_dtype jf_sample_dtype(const jfl_sample_spec *s)
{
  if (s->kind == JFL_SOUND) return JFL_F32;
  return s->kind == JFL_NUMBERS ? s->numbers.dtype : s->picture.dtype;
}

jfl_shape jf_sample_shape(const jfl_sample_spec *s)
{
  if (s->kind == JFL_SOUND) return jf_sound_shape(&s->sound);
  return s->kind == JFL_NUMBERS ? s->numbers.shape : jf_picture_shape(&s->picture);
}

/* ---- reading ---- */

/* A sample's own bytes, of what was read; of numbers all. */
static jfl_status sample_bytes(const jfl_sample_spec *s, const void **data, size_t *n)
{
  jf_feature f;
  if (!s->feature || s->kind == JFL_NUMBERS) return JFL_OK;
  JF_TRY(jf_feature_find(*data, *n, s->feature, &f));
  return jf_feature_bytes(&f, data, n);
}

/* Writes a sample of its own bytes to out. */
static jfl_status sample_write(jf_decoder *d, const void *data, size_t n, const jfl_sample_spec *s,
                               uint64_t seed, void *out)
{
  jf_feature f;
  if (s->kind == JFL_SOUND) return jf_sound_read(d, data, n, &s->sound, seed, out);
  if (s->kind == JFL_NUMBERS) {
    JF_TRY(jf_feature_find(data, n, s->feature, &f));
    return jf_feature_numbers(&f, &s->numbers, out);
  }
  JF_TRY(jf_picture_read(d, data, n, s, seed, out));
  return jf_colours_change(d, &s->colours, &s->picture, seed, out);
}

static jfl_status sample_room(void *decoder, int64_t size, void **out)
{
  jf_decoder *d = decoder;
  if (size <= 0 || size > MOST_FILE)
    return jf_fail(JFL_EDATA, "it must have from 1 byte to 1 GiB, got %lld bytes",
                   (long long)size);
  *out = jf_room_for(&d->file, (size_t)size);
  return *out ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

static jfl_status sample_read(jf_decoder *d, const jfl_place *at, const jfl_sample_spec *s,
                              void *out)
{
  size_t n = 0;
  if (at->offset || at->size) JF_TRY(jf_input_part(&d->input, at, sample_room, d, &n));
  else JF_TRY(jf_input_read(at->path, sample_room, d, &n));
  const void *data = d->file.p;
  JF_TRY(sample_bytes(s, &data, &n));
  return sample_write(d, data, n, s, at->seed, out);
}

jfl_status jf_sample_load(jf_decoder *d, const jfl_place *at, const jfl_sample_spec *s, void *out)
{
  const jfl_status r = sample_read(d, at, s, out);
  if (r == JFL_OK) return r;
  if (!at->offset && !at->size) return jf_blame(r, "%s: ", at->path);
  return jf_blame(r, "%s: at byte %lld: ", at->path, (long long)at->offset);
}

/* ---- one sample ---- */

/* Sets in the spec what it leaves to the file. */
static jfl_status sample_fit(jf_decoder *d, const void *data, size_t n, jfl_sample_spec *s)
{
  if (s->kind == JFL_PICTURE) return jf_picture_fit(d, data, n, &s->picture);
  return s->kind == JFL_SOUND ? jf_sound_fit(data, n, &s->sound) : JFL_OK;
}

static jfl_status sample_new(jf_decoder *d, const void *data, size_t n, jfl_sample_spec s,
                             uint64_t seed, jfl_array **out)
{
  jfl_array *a;
  JF_TRY(sample_bytes(&s, &data, &n));
  JF_TRY(sample_fit(d, data, n, &s));
  const jfl_shape shape = jf_sample_shape(&s);
  JF_TRY(jfl_array_new(jf_sample_dtype(&s), &shape, &a));
  const jfl_status r = sample_write(d, data, n, &s, seed, jfl_array_data(a));
  if (r == JFL_OK) *out = a;
  else jfl_array_unref(a);
  return r;
}

jfl_status jfl_sample_decode(const void *data, size_t n, const jfl_sample_spec *spec, uint64_t seed,
                             jfl_array **out)
{
  jf_decoder d = { 0 };
  if (n) JF_NEED_POINTER(data);
  JF_NEED_POINTER(out);
  JF_TRY(jf_sample_check(__func__, spec));
  const jfl_status r = sample_new(&d, data, n, *spec, seed, out);
  jf_decoder_free(&d);
  return r;
}
