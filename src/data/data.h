/* What brings files of others into arrays: pictures, tables. Every function may be called on any
   thread; a jf_decoder and what it holds belong to one thread at a time. */
#ifndef JF_DATA_H
#define JF_DATA_H

#include "base/base.h"
#include "base/need.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory that is used again (picture.c) ---- */

typedef struct jf_room { void *p; size_t size; } jf_room;
/* Room for n bytes, whose contents are lost where it grows; NULL without memory. */
void *jf_room_for(jf_room *r, size_t n);

/* ---- files read whole (input.c) ---- */

/* Gives room for a file of so many bytes, or fails. */
typedef jfl_status (*jf_input_room)(void *ctx, int64_t size, void **out);
/* Reads the file; *n is how many bytes it had. Errors do not name it. */
jfl_status jf_input_read(const char *path, jf_input_room room, void *ctx, size_t *n);

/* ---- pictures (picture.c) ---- */

/* Sides and pixels of a picture are limited, so that a file of a few bytes does not take gigabytes:
   the least side that no format of ours can hold, and 128 Mi pixels. */
enum { JF_MOST_SIDE = 65536, JF_MOST_PIXELS = 1 << 27 };

/* A picture of 8 bits a channel, row by row. 1 channel is grey, 3 are RGB; 2 and 4 have alpha
   too. */
typedef struct jf_pixels { int64_t width, height; int channels; const uint8_t *data; } jf_pixels;

/* What decoding needs and keeps for the next picture. Zeroed it is ready. */
typedef struct jf_decoder {
  void *jpeg;                  /* libturbojpeg's, made at first need */
  jf_room pixels, other, taps, line, file;
} jf_decoder;
void jf_decoder_free(jf_decoder *d);

jfl_status jf_picture_check(const char *who, const jfl_picture_spec *spec);
/* Decodes n bytes, and writes the picture as the spec says, whose extents are given, to out. */
jfl_status jf_picture_read(jf_decoder *d, const void *data, size_t n, const jfl_picture_spec *spec,
                           uint64_t seed, void *out);
/* The same for a file, which errors name. */
jfl_status jf_picture_load(jf_decoder *d, const char *path, const jfl_picture_spec *spec,
                           uint64_t seed, void *out);

/* ---- formats (jpeg.c, png.c) ---- */

/* The extents and channels of a file; p->data is left alone. */
jfl_status jf_jpeg_head(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p);
jfl_status jf_png_head(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p);
/* The pixels, in d->pixels. A JPEG is decoded 1/shrink as wide and high, shrink being 1, 2, 4, 8.
   p is what the head gave, and takes what it is then. */
jfl_status jf_jpeg_body(jf_decoder *d, const uint8_t *data, size_t n, int shrink, jf_pixels *p);
jfl_status jf_png_body(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p);
void jf_jpeg_free(void *handle);

#ifdef __cplusplus
}
#endif
#endif
