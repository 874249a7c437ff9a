/* Pictures: which part of a file is wanted, decoding it, and bringing it to its size. */
#include "data/data.h"
#include "data/resample.h"

#include <math.h>
#include <string.h>

/* TRIES: how often a random part is drawn that lies within the picture. MOST_RATIO: deflate never
   packs more bytes into one. MOST_PIXELS: a JPEG takes a bit or more for each block of 64. */
enum { TRIES = 10, MOST_RATIO = 1032, MOST_PIXELS = 8 * 64 };

void *jf_room_for(jf_room *r, size_t n)
{
  if (n <= r->size && r->p) return r->p;
  jf_free(r->p);
  r->p = jf_new_raw(n);
  r->size = r->p ? n : 0;
  return r->p;
}

void jf_decoder_free(jf_decoder *d)
{
  jf_jpeg_free(d->jpeg);
  jf_input_close(&d->input);
  jf_mel_free(d->mel);
  jf_room *const rooms[] = { &d->pixels, &d->other, &d->taps, &d->line, &d->file };
  for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++) jf_free(rooms[i]->p);
  *d = (jf_decoder){ 0 };
}

/* ---- what is asked for ---- */

static int picture_is_side(int64_t n) { return n > 0 && n < JF_MOST_SIDE; }

static jfl_status picture_check_part(const jfl_picture_spec *s)
{
  if (!(s->area[0] > 0 && s->area[0] <= s->area[1] && s->area[1] <= 1))
    return jf_fail_argument(JFL_EINVAL, "area", "must be two numbers from above 0 to 1, the "
                            "smaller one first, got %g and %g", s->area[0], s->area[1]);
  if (!(s->aspect[0] > 0 && s->aspect[0] <= s->aspect[1] && isfinite(s->aspect[1])))
    return jf_fail_argument(JFL_EINVAL, "aspect", "must be two numbers above 0, the smaller one "
                            "first, got %g and %g", s->aspect[0], s->aspect[1]);
  return JFL_OK;
}

jfl_status jf_picture_check(const char *who, const jfl_picture_spec *s)
{
  jfl_status r = JFL_OK;
  JF_TRY(jf_need_pointer(who, "spec", s));
  if ((unsigned)s->fit > JFL_RANDOM)
    r = jf_fail_argument(JFL_EINVAL, "fit", "must be from 0 to 3, got %d", (int)s->fit);
  else if (s->channels != 1 && s->channels != 3 && (s->channels || s->fit != JFL_WHOLE))
    r = jf_fail_argument(JFL_EINVAL, "channels", "must be 1 (grey) or 3 (RGB), got %d",
                         s->channels);
  else if (s->dtype != JFL_U8 && s->dtype != JFL_F32)
    r = jf_fail_argument(JFL_EDTYPE, "dtype", "must be uint8 or float32");
  else if (s->fit != JFL_WHOLE && (!picture_is_side(s->height) || !picture_is_side(s->width)))
    r = jf_fail_argument(JFL_ESHAPE, "size", "must be height and width from 1 to %d, got %lld and "
                         "%lld", JF_MOST_SIDE - 1, (long long)s->height, (long long)s->width);
  else if (s->fit == JFL_RANDOM) r = picture_check_part(s);
  return r == JFL_OK ? r : jf_need_told(who, r);
}

/* ---- the part of a picture ---- */

typedef struct picture_part { double x, y, width, height; } picture_part;

/* The part that torchvision cuts out of the middle: of the picture whose shorter side has so many
   pixels and the other as many whole ones as fit, and which begins at a whole one. */
static picture_part part_of_resized(const jfl_picture_spec *s, const jf_pixels *p)
{
  const double w = (double)p->width, h = (double)p->height, by = (double)s->shorter / fmin(w, h);
  const double to_w = floor(w * by + 1e-9), to_h = floor(h * by + 1e-9);
  const double fx = w / to_w, fy = h / to_h;
  const double width = (double)s->width, height = (double)s->height;
  return (picture_part){ fx * nearbyint((to_w - width) / 2), fy * nearbyint((to_h - height) / 2),
                         fx * width, fy * height };
}

/* The largest part around the middle whose sides are as those of the spec, or, where the shorter
   side of the picture is to be of so many pixels first, what the spec's sides are of that. */
static picture_part part_in_middle(const jfl_picture_spec *s, const jf_pixels *p)
{
  const double w = (double)p->width, h = (double)p->height;
  double scale = fmin(w / (double)s->width, h / (double)s->height);
  if (s->shorter > 0) scale = fmin(scale, fmin(w, h) / (double)s->shorter);
  const double width = scale * (double)s->width, height = scale * (double)s->height;
  return (picture_part){ (w - width) / 2, (h - height) / 2, width, height };
}

/* A part of random area, aspect and place, as Szegedy et al., "Going deeper with convolutions"
   (2014, section 6), draw it; where none fits, the middle with the nearest aspect. */
static picture_part part_at_random(const jfl_picture_spec *s, const jf_pixels *p, uint64_t seed)
{
  const double w = (double)p->width, h = (double)p->height;
  for (int i = 0; i < TRIES; i++) {
    const jf_philox r = jf_philox_at(seed, 0, (uint64_t)i + 1);
    const double area = w * h * (s->area[0] + jf_unit(r.w[0]) * (s->area[1] - s->area[0]));
    const double low = log(s->aspect[0]), high = log(s->aspect[1]);
    const double aspect = exp(low + jf_unit(r.w[1]) * (high - low));
    const double pw = fmax(1, round(sqrt(area * aspect))), ph = fmax(1, round(sqrt(area / aspect)));
    if (pw > w || ph > h) continue;
    return (picture_part){ floor(jf_unit(r.w[2]) * (w - pw + 1)),
                           floor(jf_unit(r.w[3]) * (h - ph + 1)), pw, ph };
  }
  const double aspect = fmin(fmax(w / h, s->aspect[0]), s->aspect[1]);
  const double pw = fmin(w, h * aspect), ph = pw / aspect;
  return (picture_part){ (w - pw) / 2, (h - ph) / 2, pw, ph };
}

/* Whether torchvision could cut the middle out: no side of it is longer than the shorter one. */
static int is_within(const jfl_picture_spec *s)
{
  return s->shorter >= s->width && s->shorter >= s->height;
}

static picture_part picture_part_of(const jfl_sample_spec *of, const jf_pixels *p, uint64_t seed)
{
  const jfl_picture_spec *s = &of->picture;
  if (s->fit == JFL_CENTER && of->resizing == JFL_BY_TRIANGLES && is_within(s))
    return part_of_resized(s, p);
  if (s->fit == JFL_CENTER) return part_in_middle(s, p);
  if (s->fit == JFL_RANDOM) return part_at_random(s, p, seed);
  return (picture_part){ 0, 0, (double)p->width, (double)p->height };
}

/* How much smaller a JPEG may be decoded so that the part keeps at least the wanted sides. */
static int shrink_for(const jfl_sample_spec *of, const picture_part *part)
{
  const jfl_picture_spec *s = &of->picture;
  int k = 8;
  if (s->fit == JFL_WHOLE || of->resizing != JFL_BY_MEANS) return 1;
  while (k > 1 && (part->width < (double)(k * s->width) || part->height < (double)(k * s->height)))
    k /= 2;
  return k;
}

/* ---- decoding ---- */

static int is_png(const uint8_t *data, size_t n)
{
  return n >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8);
}

static jfl_status picture_head(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p)
{
  const int png = is_png(data, n);
  if (!png && (n < 3 || memcmp(data, "\xff\xd8\xff", 3)))
    return jf_fail(JFL_EDATA, "it is neither a JPEG nor a PNG");
  JF_TRY(png ? jf_png_head(d, data, n, p) : jf_jpeg_head(d, data, n, p));
  if (!picture_is_side(p->width) || !picture_is_side(p->height) ||
      p->width * p->height > JF_MOST_PIXELS)
    return jf_fail(JFL_EDATA, "its sides must be below %d and its pixels at most %d, got %lld by "
                   "%lld", JF_MOST_SIDE, JF_MOST_PIXELS, (long long)p->width,
                   (long long)p->height);
  const int64_t least = png ? p->width / 8 * p->height / MOST_RATIO
                            : p->width * p->height / MOST_PIXELS;
  if ((size_t)least > n)
    return jf_fail(JFL_EDATA, "its %zu bytes cannot hold %lld by %lld pixels", n,
                   (long long)p->width, (long long)p->height);
  return JFL_OK;
}

/* ITU-R BT.601's brightness, as JPEG has it. */
static uint8_t grey_of(const uint8_t *v)
{
  return (uint8_t)((19595u * v[0] + 38470u * v[1] + 7471u * v[2] + 32768u) >> 16);
}

/* Leaves the picture with 1 or 3 channels: alpha is dropped. */
static jfl_status picture_recolour(jf_decoder *d, int channels, jf_pixels *p)
{
  const int64_t n = p->width * p->height;
  const int from = p->channels;
  if (!channels || channels == from) return JFL_OK;
  uint8_t *to = jf_room_for(&d->other, (size_t)(n * channels));
  if (!to) return jf_fail(JFL_ENOMEM, "out of memory");
  const uint8_t *v = p->data;
  for (int64_t i = 0; i < n; i++, v += from)
    if (channels == 1) to[i] = from < 3 ? v[0] : grey_of(v);
    else for (int c = 0; c < 3; c++) to[3 * i + c] = v[from < 3 ? 0 : c];
  p->data = to;
  p->channels = channels;
  return JFL_OK;
}

/* Writes a part of the picture, from the right to the left if it is mirrored. */
static jfl_status picture_write(jf_decoder *d, const jf_pixels *p, const picture_part *part,
                                const jfl_sample_spec *of, int mirror, void *out)
{
  const jfl_picture_spec *s = &of->picture;
  const jf_filter how = of->resizing == JFL_BY_TRIANGLES ? JF_TRIANGLE : JF_AUTO;
  const int beyond = s->fit == JFL_CENTER;
  const jf_stretch y = { s->height, p->height, part->y, part->height, how, beyond };
  const jf_stretch x = { s->width, p->width, part->x, part->width, how, beyond };
  char *taps = jf_room_for(&d->taps, jf_taps_size(&y) + jf_taps_size(&x));
  void *line = jf_room_for(&d->line, jf_resize_line(p->width, p->channels));
  if (!taps || !line) return jf_fail(JFL_ENOMEM, "out of memory");
  const jf_taps rows = jf_taps_in(&y, taps), columns = jf_taps_in(&x, taps + jf_taps_size(&y));
  const int64_t c = p->channels, column = s->planes ? 1 : c;
  const size_t size = jfl_dtype_size(s->dtype);
  jf_resize_rows(&(jf_resize){
    .y = &rows, .x = &columns, .src = p->data, .from = JFL_U8, .to = s->dtype, .channels = c,
    .src_row = p->width * c, .row = s->width * column, .column = mirror ? -column : column,
    .channel = s->planes ? s->height * s->width : 1, .scale = s->dtype == JFL_U8 ? 1 : 1 / 255.0,
    .dst = (char *)out + (mirror ? (size_t)((s->width - 1) * column) * size : 0)
  }, 0, s->height, line);
  return JFL_OK;
}

static jfl_status picture_decode(jf_decoder *d, const uint8_t *data, size_t n,
                                 const jfl_sample_spec *of, picture_part *part, jf_pixels *p)
{
  const jfl_picture_spec *s = &of->picture;
  const int shrink = shrink_for(of, part);
  const double width = (double)p->width, height = (double)p->height;
  if (!is_png(data, n) && s->channels == 1 && p->channels == 3) p->channels = 1;
  JF_TRY(is_png(data, n) ? jf_png_body(d, data, n, p) : jf_jpeg_body(d, data, n, shrink, p));
  const double fx = (double)p->width / width, fy = (double)p->height / height;
  *part = (picture_part){ part->x * fx, part->y * fy, part->width * fx, part->height * fy };
  return picture_recolour(d, s->channels, p);
}

jfl_status jf_picture_read(jf_decoder *d, const void *data, size_t n, const jfl_sample_spec *s,
                           uint64_t seed, void *out)
{
  jf_pixels p = { 0 };
  JF_TRY(picture_head(d, data, n, &p));
  picture_part part = picture_part_of(s, &p, seed);
  JF_TRY(picture_decode(d, data, n, s, &part, &p));
  const int mirror = s->picture.flip && jf_philox_at(seed, 0, 0).w[0] >> 31;
  return picture_write(d, &p, &part, s, mirror, out);
}

/* ---- the whole picture ---- */

jfl_status jf_picture_fit(jf_decoder *d, const void *data, size_t n, jfl_picture_spec *s)
{
  jf_pixels p = { 0 };
  if (s->fit != JFL_WHOLE) return JFL_OK;
  JF_TRY(picture_head(d, data, n, &p));
  s->height = p.height;
  s->width = p.width;
  if (!s->channels) s->channels = p.channels == 4 && !is_png(data, n) ? 3 : p.channels;
  return JFL_OK;
}

jfl_shape jf_picture_shape(const jfl_picture_spec *s)
{
  if (s->planes) return (jfl_shape){ 3, { s->channels, s->height, s->width } };
  return (jfl_shape){ 3, { s->height, s->width, s->channels } };
}

jfl_status jfl_picture_decode(const void *data, size_t n, const jfl_picture_spec *spec,
                              uint64_t seed, jfl_array **out)
{
  JF_NEED_POINTER(spec);
  JF_TRY(jf_picture_check(__func__, spec));
  return jfl_sample_decode(data, n, &(jfl_sample_spec){ .kind = JFL_PICTURE, .picture = *spec },
                           seed, out);
}
