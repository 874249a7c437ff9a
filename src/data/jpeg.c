/* JPEG, by libturbojpeg, which is opened when the first such picture is read or written. The
   declarations are those of its interface, which every release since 1.5.90 has. */
#include "data/data.h"

#include <string.h>

#define LIBRARY "libturbojpeg.so.0"
enum { LIBRARY_ROOM = 8 << 20 };

/* Of turbojpeg.h: how pixels lie, colours in a file, scans of progressive files that are read at
   most 500 of, no upsampling of colours for grey, warnings. */
enum { PF_RGB = 0, PF_GRAY = 6, PF_CMYK = 11 };
enum { CS_GRAY = 2, CS_CMYK = 3, CS_YCCK = 4 };
enum { SAMP_444 = 0, SAMP_420 = 2, SAMP_GRAY = 3 };
enum { FLAG_LIMIT_SCANS = 32768, ERR_WARNING = 0 };

#define FUNCTIONS(X)                                                                       \
  X(void *, InitDecompress, (void))                                                        \
  X(void *, InitCompress, (void))                                                          \
  X(int, Destroy, (void *h))                                                               \
  X(int, DecompressHeader3, (void *h, const unsigned char *data, unsigned long n, int *w,  \
                             int *height, int *samp, int *colours))                        \
  X(int, Decompress2, (void *h, const unsigned char *data, unsigned long n,                \
                       unsigned char *out, int w, int pitch, int height, int pf, int flags)) \
  X(int, Compress2, (void *h, const unsigned char *src, int w, int pitch, int height,      \
                     int pf, unsigned char **out, unsigned long *size, int samp,           \
                     int quality, int flags))                                              \
  X(void, Free, (unsigned char *p))                                                        \
  X(char *, GetErrorStr2, (void *h))                                                       \
  X(int, GetErrorCode, (void *h))

/* Immutable once jpeg_open succeeded. */
static struct {
#define X(type, name, args) type (*name) args;
  FUNCTIONS(X)
#undef X
} lib;
static jf_library_state state;

static int jpeg_open(void)
{
  void *so = jf_library_open(LIBRARY, NULL, LIBRARY_ROOM);
#define X(type, name, args) if (!jf_library_find(so, "tj" #name, &lib.name)) return 0;
  FUNCTIONS(X)
#undef X
  return 1;
}

static jfl_status jpeg_need(void)
{
  if (jf_library_ready(&state, jpeg_open)) return JFL_OK;
  return jf_fail(JFL_ENOSYS, "JPEG files need the library " LIBRARY ", which Debian's package "
                 "libturbojpeg0 installs");
}

void jf_jpeg_free(void *handle)
{
  if (handle) lib.Destroy(handle);
}

static jfl_status jpeg_broken(void *handle)
{
  return jf_fail(JFL_EDATA, "the JPEG is damaged: %s", lib.GetErrorStr2(handle));
}

jfl_status jf_jpeg_head(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p)
{
  JF_TRY(jpeg_need());
  if (!d->jpeg) d->jpeg = lib.InitDecompress();
  if (!d->jpeg) return jf_fail(JFL_ENOMEM, "out of memory");
  int width, height, samp, colours;
  if (lib.DecompressHeader3(d->jpeg, data, (unsigned long)n, &width, &height, &samp, &colours))
    return jpeg_broken(d->jpeg);
  p->width = width;
  p->height = height;
  p->channels = colours == CS_GRAY ? 1 : colours == CS_CMYK || colours == CS_YCCK ? 4 : 3;
  return JFL_OK;
}

/* Programs write the four inks inverted: 255 is no ink. */
static void jpeg_from_inks(uint8_t *v, int64_t n)
{
  for (int64_t i = 0; i < n; i++)
    for (int c = 0; c < 3; c++) v[3 * i + c] = (uint8_t)(v[4 * i + c] * v[4 * i + 3] / 255);
}

/* A file that was cut short still gives pixels, grey where it ends; that is an error here. Other
   warnings, such as of bytes between its parts, are common and harmless. */
static int is_cut(void *handle)
{
  return lib.GetErrorCode(handle) != ERR_WARNING ||
         strstr(lib.GetErrorStr2(handle), "remature end") != NULL;
}

jfl_status jf_jpeg_body(jf_decoder *d, const uint8_t *data, size_t n, int shrink, jf_pixels *p)
{
  const int64_t width = (p->width + shrink - 1) / shrink;
  const int64_t height = (p->height + shrink - 1) / shrink;
  static const int pf[] = { [1] = PF_GRAY, [3] = PF_RGB, [4] = PF_CMYK };
  uint8_t *to = jf_room_for(&d->pixels, (size_t)(width * height * p->channels));
  if (!to) return jf_fail(JFL_ENOMEM, "out of memory");
  if (lib.Decompress2(d->jpeg, data, (unsigned long)n, to, (int)width, 0, (int)height,
                      pf[p->channels], FLAG_LIMIT_SCANS) && is_cut(d->jpeg))
    return jpeg_broken(d->jpeg);
  if (p->channels == 4) jpeg_from_inks(to, width * height);
  *p = (jf_pixels){ width, height, p->channels == 4 ? 3 : p->channels, to };
  return JFL_OK;
}

static jfl_status jpeg_check(const jfl_array *pixels, int quality)
{
  const jfl_shape *s = jfl_array_shape(pixels);
  if (jfl_array_dtype(pixels) != JFL_U8 || s->n != 3 || (s->d[2] != 1 && s->d[2] != 3) ||
      !jf_numel(s) || s->d[0] >= JF_MOST_SIDE || s->d[1] >= JF_MOST_SIDE)
    return jf_need_told("jfl_jpeg_encode", jf_fail_argument(JFL_ESHAPE, "pixels",
      "must be uint8 of shape (height, width, 1 or 3) with sides below 65536"));
  return jf_need_from("jfl_jpeg_encode", "quality", quality, 1, 100);
}

/* Copies what the library made, and frees it. */
static jfl_status jpeg_take(unsigned char *from, unsigned long size, jfl_array **out)
{
  jfl_status s = jfl_array_new(JFL_U8, &(jfl_shape){ 1, { (int64_t)size } }, out);
  if (s == JFL_OK) memcpy(jfl_array_data(*out), from, size);
  lib.Free(from);
  return s;
}

jfl_status jfl_jpeg_encode(const jfl_array *pixels, int quality, jfl_array **out)
{
  JF_NEED(ARRAY, pixels);
  JF_NEED_POINTER(out);
  JF_TRY(jpeg_check(pixels, quality));
  JF_TRY(jpeg_need());
  void *handle = lib.InitCompress();
  if (!handle) return jf_fail(JFL_ENOMEM, "out of memory");
  const jfl_shape *s = jfl_array_shape(pixels);
  const int grey = s->d[2] == 1, samp = grey ? SAMP_GRAY : quality >= 90 ? SAMP_444 : SAMP_420;
  unsigned char *made = NULL;
  unsigned long size = 0;
  jfl_status r = lib.Compress2(handle, jfl_array_data(pixels), (int)s->d[1], 0, (int)s->d[0],
                               grey ? PF_GRAY : PF_RGB, &made, &size, samp, quality, 0)
               ? jf_fail(JFL_EINVAL, "jpeg: %s", lib.GetErrorStr2(handle))
               : jpeg_take(made, size, out);
  lib.Destroy(handle);
  return r;
}
