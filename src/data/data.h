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

/* A file of which parts are read: it stays open for the next part. Zeroed it is ready. */
typedef struct jf_input { char *path; int fd; int64_t size; } jf_input;
void jf_input_close(jf_input *in);
/* Reads `size` bytes from `offset`, 0: all from there; a part that the file does not have is an
   error. */
jfl_status jf_input_part(jf_input *in, const jfl_place *place, jf_input_room room, void *ctx,
                         size_t *n);

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
  jf_input input;
  struct jf_mel *mel;          /* made at first need */
} jf_decoder;
void jf_decoder_free(jf_decoder *d);

jfl_status jf_picture_check(const char *who, const jfl_picture_spec *spec);
/* Decodes n bytes, and writes the picture as the spec says, whose extents are given, to out. */
jfl_status jf_picture_read(jf_decoder *d, const void *data, size_t n, const jfl_sample_spec *spec,
                           uint64_t seed, void *out);
/* Gives a spec that keeps a picture's extents those of this one. */
jfl_status jf_picture_fit(jf_decoder *d, const void *data, size_t n, jfl_picture_spec *spec);
/* The shape of a picture. */
jfl_shape jf_picture_shape(const jfl_picture_spec *spec);

/* Changes a picture that jf_picture_read has written as the spec says (colours.c). */
jfl_status jf_colours_check(const char *who, const jfl_colours *c);
jfl_status jf_colours_change(jf_decoder *d, const jfl_colours *c, const jfl_picture_spec *spec,
                             uint64_t seed, void *picture);

/* ---- formats (jpeg.c, png.c) ---- */

/* The extents and channels of a file; p->data is left alone. */
jfl_status jf_jpeg_head(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p);
jfl_status jf_png_head(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p);
/* The pixels, in d->pixels. A JPEG is decoded 1/shrink as wide and high, shrink being 1, 2, 4, 8.
   p is what the head gave, and takes what it is then. */
jfl_status jf_jpeg_body(jf_decoder *d, const uint8_t *data, size_t n, int shrink, jf_pixels *p);
jfl_status jf_png_body(jf_decoder *d, const uint8_t *data, size_t n, jf_pixels *p);
void jf_jpeg_free(void *handle);

/* ---- samples (sample.c) ---- */

jfl_status jf_sample_check(const char *who, const jfl_sample_spec *s);
/* The dtype and the shape of a sample whose extents the spec gives. */
jfl_dtype jf_sample_dtype(const jfl_sample_spec *s);
jfl_shape jf_sample_shape(const jfl_sample_spec *s);
/* Reads a sample from its place and writes it to out; errors name the file. */
jfl_status jf_sample_load(jf_decoder *d, const jfl_place *place, const jfl_sample_spec *s,
                          void *out);

/* ---- records (ofrecord.c) ---- */

typedef enum jf_feature_kind {
  JF_FEATURE_BYTES = 1, JF_FEATURE_FLOAT, JF_FEATURE_DOUBLE, JF_FEATURE_I32, JF_FEATURE_I64
} jf_feature_kind;
/* A feature's list, as it is encoded. */
typedef struct jf_feature { jf_feature_kind kind; const uint8_t *data; size_t n; } jf_feature;
jfl_status jf_feature_find(const void *record, size_t n, const char *name, jf_feature *out);
/* Its first bytes. */
jfl_status jf_feature_bytes(const jf_feature *f, const void **data, size_t *n);
jfl_status jf_feature_numbers(const jf_feature *f, const jfl_numbers_spec *spec, void *out);

/* ---- sounds (wav.c, sound.c, mel.c) ---- */

/* How samples of a WAV file lie. */
typedef struct jf_wave {
  int rate, channels, bits, is_float;
  int64_t length;              /* samples of each channel */
  const uint8_t *data;
} jf_wave;
jfl_status jf_wave_head(const void *data, size_t n, jf_wave *out);
/* Samples first .. first + n - 1 of a channel, or with channel -1 their mean, from -1 to 1. */
void jf_wave_read(const jf_wave *w, int channel, int64_t first, int64_t n, float *out);

jfl_status jf_sound_check(const char *who, const jfl_sound_spec *s);
/* The spec with what it leaves to the file. */
jfl_status jf_sound_fit(const void *data, size_t n, jfl_sound_spec *s);
jfl_shape jf_sound_shape(const jfl_sound_spec *s);
jfl_status jf_sound_read(jf_decoder *d, const void *data, size_t n, const jfl_sound_spec *s,
                         uint64_t seed, void *out);

/* Tables for a spec. */
typedef struct jf_mel jf_mel;
jfl_status jf_mel_check(const char *who, const jfl_mel_spec *s);
jfl_status jf_mel_new(const jfl_mel_spec *s, jf_mel **out);
void jf_mel_free(jf_mel *m);
/* How many windows so many samples have. */
int64_t jf_mel_windows(const jfl_mel_spec *s, int64_t length);
/* (bands, windows) of n samples. */
jfl_status jf_mel_make(jf_mel *m, const float *sound, int64_t n, float *out);

#ifdef __cplusplus
}
#endif
#endif
