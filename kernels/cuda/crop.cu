/* random_crop, its gradient and crop_mirror_normalize: parts of pictures, maybe mirrored. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/image.h"

#include <stdio.h>
#include <string.h>
#endif

/* Pictures (n, planes, h, w, inner), of which parts (n, planes, rows, columns, inner) are taken:
   place says where each lies in the picture with its padding, and whether it is mirrored. count:
   elements of the result. room: how many places there are besides the first. */
typedef struct crop_args {
  struct jf_cuda_head head;
  int64_t count, pictures, planes, h, w, rows, columns, inner, pad[2], room[2];
  float flip;
} crop_args;

/* data is pixels (n, h, w, channels), [mirror], y: of each picture the part of so many rows and
   columns from top and left on. */
typedef struct normalize_args {
  struct jf_cuda_head head;
  int64_t count, h, w, channels, rows, columns, top, left, mirrors, by_planes;
  float mean[4], scale[4];
} normalize_args;

#ifdef JF_DEVICE

/* Where an element of (n, planes, rows, columns, inner) is. */
struct crop_place { int64_t picture, plane, row, column, lane; };
JF_INLINE crop_place crop_place_of(const crop_args &a, int64_t i, int64_t rows, int64_t columns)
{
  crop_place p;
  i = jf_divide(i, a.inner, &p.lane);
  i = jf_divide(i, columns, &p.column);
  i = jf_divide(i, rows, &p.row);
  p.picture = jf_divide(i, a.planes, &p.plane);
  return p;
}

JF_INLINE int64_t crop_offset(const crop_args &a, const crop_place &p, int64_t rows,
                              int64_t columns)
{
  return (((p.picture * a.planes + p.plane) * rows + p.row) * columns + p.column) * a.inner
         + p.lane;
}

/* A place from 0 to room. */
JF_INLINE int32_t crop_at(uint32_t word, int64_t room)
{
  const float at = (float)(word >> 8) * 5.9604644775390625e-8f * (float)(room + 1);
  return (int32_t)(at < (float)room ? at : (float)room);
}

/* data is x, y, place. */
JF_KERNEL crop_draw(const crop_args a)
{
  JF_EACH(i, a.pictures) {
    const int64_t first = a.head.first ? a.head.first / (a.count / a.pictures) : 0;
    const jf_words r = jf_philox(jf_random_of(a.head), (uint64_t)(first + i));
    int32_t *place = (int32_t *)a.head.data[2] + 3 * i;
    place[0] = crop_at(r.w[0], a.room[0]);
    place[1] = crop_at(r.w[1], a.room[1]);
    place[2] = (float)(r.w[2] >> 8) * 5.9604644775390625e-8f < a.flip;
  }
}

JF_KERNEL crop_take(const crop_args a)
{
  const V *x = (const V *)a.head.data[0];
  V *y = (V *)a.head.data[1];
  JF_EACH(i, a.count) {
    crop_place p = crop_place_of(a, i, a.rows, a.columns);
    const int32_t *place = (const int32_t *)a.head.data[2] + 3 * p.picture;
    if (place[2]) p.column = a.columns - 1 - p.column;
    p.row += place[0] - a.pad[0];
    p.column += place[1] - a.pad[1];
    const int inside = p.row >= 0 && p.row < a.h && p.column >= 0 && p.column < a.w;
    y[i] = inside ? x[crop_offset(a, p, a.h, a.w)] : (V)0;
  }
}

/* data is dy, place, dx. */
JF_KERNEL crop_give(const crop_args a)
{
  const V *dy = (const V *)a.head.data[0];
  V *dx = (V *)a.head.data[2];
  JF_EACH(i, a.count) {
    crop_place p = crop_place_of(a, i, a.h, a.w);
    const int32_t *place = (const int32_t *)a.head.data[1] + 3 * p.picture;
    p.row -= place[0] - a.pad[0];
    p.column -= place[1] - a.pad[1];
    const int inside = p.row >= 0 && p.row < a.rows && p.column >= 0 && p.column < a.columns;
    if (place[2]) p.column = a.columns - 1 - p.column;
    dx[i] = inside ? dy[crop_offset(a, p, a.rows, a.columns)] : (V)0;
  }
}

JF_KERNEL crop_normalize(const normalize_args a)
{
  const uint8_t *x = (const uint8_t *)a.head.data[0];
  float *y = (float *)a.head.data[a.mirrors ? 2 : 1];
  JF_EACH(i, a.count) {
    int64_t channel, row, column, picture = i;
    if (!a.by_planes) picture = jf_divide(picture, a.channels, &channel);
    picture = jf_divide(picture, a.columns, &column);
    picture = jf_divide(picture, a.rows, &row);
    if (a.by_planes) picture = jf_divide(picture, a.channels, &channel);
    if (a.mirrors && ((const int8_t *)a.head.data[1])[picture]) column = a.columns - 1 - column;
    const int64_t at = (picture * a.h + a.top + row) * a.w + a.left + column;
    y[i] = ((float)x[at * a.channels + channel] - a.mean[channel]) * a.scale[channel];
  }
}

#else

extern const char jf_cuda_text_crop[];

static jfl_status crop_add(jf_kargs *k, size_t element, const char *name, int64_t count,
                           const void *args, size_t size)
{
  const jf_cuda_source s = { "crop", jf_cuda_text_crop, NULL,
                             { JF_AS_TYPE("V", jf_cuda_moved(element)) } };
  return jf_cuda_each(k, &s, name, count, args, size);
}

/* whole: pictures; part: parts of them. */
static crop_args crop_args_of(const jf_kargs *k, const jfl_shape *whole, const jfl_shape *part)
{
  const jf_random_crop *c = k->attr;
  crop_args a = { .count = jf_numel(&k->out[0].shape), .pictures = whole->d[0],
                  .planes = c->axis == 2 ? whole->d[1] : 1,
                  .inner = c->axis == 2 ? 1 : whole->d[3],
                  .h = whole->d[c->axis], .w = whole->d[c->axis + 1],
                  .rows = part->d[c->axis], .columns = part->d[c->axis + 1],
                  .flip = (float)c->flip };
  for (int i = 0; i < 2; i++) {
    a.pad[i] = c->padding.v[c->padding.n == 2 ? i : 0];
    a.room[i] = whole->d[c->axis + i] + 2 * a.pad[i] - part->d[c->axis + i];
  }
  return a;
}

static jfl_status random_crop_prepare(jf_kargs *k)
{
  const crop_args a = crop_args_of(k, &k->in[0].shape, &k->out[0].shape);
  const size_t size = jfl_dtype_size(k->in[0].dtype);
  JF_TRY(crop_add(k, size, "crop_draw", a.pictures, &a, sizeof a));
  return crop_add(k, size, "crop_take", a.count, &a, sizeof a);
}

static jfl_status random_crop_grad_prepare(jf_kargs *k)
{
  const crop_args a = crop_args_of(k, &k->out[0].shape, &k->in[0].shape);
  return crop_add(k, jfl_dtype_size(k->in[0].dtype), "crop_give", a.count, &a, sizeof a);
}

static jfl_status crop_mirror_prepare(jf_kargs *k)
{
  const jf_crop_mirror *c = k->attr;
  const jfl_shape *s = &k->in[0].shape;
  normalize_args a = { .count = jf_numel(&k->out[0].shape), .h = s->d[1], .w = s->d[2],
                       .channels = s->d[3], .rows = c->crop_h, .columns = c->crop_w,
                       .top = (int64_t)(c->crop_pos_y * (double)(s->d[1] - c->crop_h)),
                       .left = (int64_t)(c->crop_pos_x * (double)(s->d[2] - c->crop_w)),
                       .mirrors = k->n_in > 1, .by_planes = c->output_layout[1] == 'C' };
  for (int64_t i = 0; i < a.channels; i++) {
    a.mean[i] = (float)c->mean.v[c->mean.n > 1 ? i : 0];
    a.scale[i] = (float)(1 / c->std.v[c->std.n > 1 ? i : 0]);
  }
  return crop_add(k, 1, "crop_normalize", a.count, &a, sizeof a);
}

JFL_CUDA(cuda_random_crop, JF_CUDA_LAUNCHED("random_crop", NULL, random_crop_prepare))
JFL_CUDA(cuda_random_crop_grad,
  JF_CUDA_LAUNCHED("random_crop_grad", NULL, random_crop_grad_prepare))
JFL_CUDA(cuda_crop_mirror_normalize,
  JF_CUDA_LAUNCHED("crop_mirror_normalize", NULL, crop_mirror_prepare))

#endif
