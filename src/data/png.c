/* PNG, by libpng's simplified interface, which is opened when the first such picture is read. Its
   struct is declared here as its version 1 is; the library checks the version. */
#include "data/data.h"

#include <string.h>

#define LIBRARY "libpng16.so.16"
enum { LIBRARY_ROOM = 4 << 20 };

/* Of png.h. */
enum { VERSION = 1, HAS_ALPHA = 1, HAS_COLOUR = 2, IS_16BIT_SRGB = 4 };
typedef struct png_file {
  void *opaque;
  uint32_t version, width, height, format, flags, colormap_entries, warning_or_error;
  char message[64];
} png_file;

/* Immutable once png_open succeeded. */
static struct {
  int (*begin)(png_file *f, const void *data, size_t n);
  int (*finish)(png_file *f, const void *background, void *to, int32_t row, void *colormap);
  void (*free)(png_file *f);
} lib;
static jf_library_state state;

static int png_open(void)
{
  void *so = jf_library_open(LIBRARY, NULL, LIBRARY_ROOM);
  return jf_library_find(so, "png_image_begin_read_from_memory", &lib.begin) &&
         jf_library_find(so, "png_image_finish_read", &lib.finish) &&
         jf_library_find(so, "png_image_free", &lib.free);
}

/* ---- what of a file is read ---- */

enum { SIGNATURE = 8, CHUNK = 12 };      /* bytes; those of a chunk besides its data */

static size_t png_chunk_size(const uint8_t *at)
{
  return CHUNK + ((size_t)at[0] << 24 | (size_t)at[1] << 16 | (size_t)at[2] << 8 | at[3]);
}

/* Whether pixels depend on the chunk. The library would unpack each text to 8 MB, a thousand times
   the bytes that it takes, only to drop it. */
static int png_counts(const uint8_t *chunk)
{
  static const char kinds[][5] = { "IHDR", "PLTE", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "sBIT" };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!memcmp(chunk + 4, kinds[i], 4)) return 1;
  return !(chunk[4] & 0x20);           /* whoever does not know such a chunk must refuse the file */
}

/* Leaves out the chunks before the pixels on which these do not depend. *data and *n become what
   is left, which lies in d->other if anything was left out. The library would make room for a chunk
   of 2 GB before it sees that the file ends in it. */
static jfl_status png_strip(jf_decoder *d, const uint8_t **data, size_t *n)
{
  const uint8_t *from = *data;
  size_t at = SIGNATURE, kept = SIGNATURE, size;
  uint8_t *to = NULL;
  for (; at + CHUNK <= *n && memcmp(from + at + 4, "IDAT", 4); at += size) {
    size = png_chunk_size(from + at);
    if (size > *n - at) break;
    const int counts = png_counts(from + at);
    if (!counts && !to) {
      if (!(to = jf_room_for(&d->other, *n))) return jf_fail(JFL_ENOMEM, "out of memory");
      memcpy(to, from, kept);
    }
    if (counts && to) memcpy(to + kept, from + at, size);
    if (counts) kept += size;
  }
  if (at + CHUNK > *n || memcmp(from + at + 4, "IDAT", 4))
    return jf_fail(JFL_EDATA, "the PNG is damaged: it ends before its pixels");
  if (!to) return JFL_OK;
  memcpy(to + kept, from + at, *n - at);
  *n -= at - kept;
  *data = to;
  return JFL_OK;
}

/* ---- reading ---- */

static jfl_status png_broken(const png_file *f)
{
  return jf_fail(JFL_EDATA, "the PNG is damaged: %s", f->message);
}

/* Reads the head; the rest may be read, or f freed, after success. */
static jfl_status png_begin(png_file *f, jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p)
{
  if (!jf_library_ready(&state, png_open))
    return jf_fail(JFL_ENOSYS, "PNG files need the library " LIBRARY ", which Debian's package "
                   "libpng16-16 installs");
  JF_TRY(png_strip(d, &data, &n));
  *f = (png_file){ .version = VERSION };
  if (!lib.begin(f, data, n)) return png_broken(f);
  p->width = f->width;
  p->height = f->height;
  p->channels = (f->format & HAS_COLOUR ? 3 : 1) + (f->format & HAS_ALPHA ? 1 : 0);
  return JFL_OK;
}

jfl_status jf_png_head(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p)
{
  png_file f;
  JF_TRY(png_begin(&f, d, data, n, p));
  lib.free(&f);
  return JFL_OK;
}

jfl_status jf_png_body(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p)
{
  png_file f;
  JF_TRY(png_begin(&f, d, data, n, p));
  uint8_t *to = jf_room_for(&d->pixels, (size_t)(p->width * p->height * p->channels));
  if (!to) {
    lib.free(&f);
    return jf_fail(JFL_ENOMEM, "out of memory");
  }
  f.format &= HAS_COLOUR | HAS_ALPHA;      /* 8 bits, no palette */
  f.flags |= IS_16BIT_SRGB;
  if (!lib.finish(&f, NULL, to, 0, NULL)) return png_broken(&f);
  p->data = to;
  return JFL_OK;
}
