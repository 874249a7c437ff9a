/* crop_mirror_normalize makes float32 planes of pictures as they are decoded. */
#include "op/image.h"
#include "op/op.h"
#include "op/window.h"

#include <math.h>
#include <string.h>

JF_ATTRS(attrs,
  JF_WORD(jf_crop_mirror, color_space, "BGR", "BGR RGB GRAY", "what the channels are"),
  JF_WORD(jf_crop_mirror, output_layout, "NCHW", "NCHW NHWC", "the order of the result's axes"),
  JF_FIELD(jf_crop_mirror, crop_h, INT, "0", "rows of the part that is taken; 0: all"),
  JF_FIELD(jf_crop_mirror, crop_w, INT, "0", "its columns; 0: all"),
  JF_RANGE(jf_crop_mirror, crop_pos_y, NUM, "0.5", "from 0 to 1",
           "where it is, from 0 (top) to 1 (bottom)"),
  JF_RANGE(jf_crop_mirror, crop_pos_x, NUM, "0.5", "from 0 to 1",
           "where it is, from 0 (left) to 1 (right)"),
  JF_FIELD(jf_crop_mirror, mean, NUMS, "{0}", "what is subtracted: a number, or one a channel"),
  JF_FIELD(jf_crop_mirror, std, NUMS, "{1}", "what is divided by: a number, or one a channel"),
  JF_FIELD(jf_crop_mirror, output_dtype, DTYPE, "float32", "its dtype, which must be float32"))

static jfl_status crop_mirror_numbers(const char *name, const jf_nums *list, int64_t channels)
{
  if (list->n != 1 && list->n != channels)
    return jf_fail_argument(JFL_ESHAPE, name, "must have 1 number or %lld, one a channel, got %d",
                            (long long)channels, list->n);
  for (int i = 0; i < list->n; i++)
    if (!isfinite(list->v[i]) || (name[0] == 's' && list->v[i] == 0))
      return jf_fail_argument(JFL_EINVAL, name, "must be finite%s, got %g",
                              name[0] == 's' ? " and not 0" : "", list->v[i]);
  return JFL_OK;
}

/* Sets *crop to the extent n where it is 0. */
static jfl_status crop_mirror_side(const char *name, int64_t *crop, int64_t n)
{
  if (*crop < 0 || *crop > n)
    return jf_fail_argument(JFL_ESHAPE, name, "must be from 0 to %lld, got %lld", (long long)n,
                            (long long)*crop);
  if (!*crop) *crop = n;
  return JFL_OK;
}

static jfl_status crop_mirror_check(const jf_infer *c, int64_t channels)
{
  const jf_crop_mirror *a = c->attr;
  const int64_t wanted = a->color_space[0] == 'G' ? 1 : 3;
  if (channels != wanted)
    return jf_fail_argument(JFL_ESHAPE, "color_space", "must be BGR or RGB for 3 channels and GRAY "
                            "for 1, got %s for %lld", a->color_space, (long long)channels);
  if (a->output_dtype != JFL_F32)
    return jf_fail_argument(JFL_EDTYPE, "output_dtype", "must be float32, got %s",
                            jfl_dtype_name(a->output_dtype));
  JF_TRY(crop_mirror_numbers("mean", &a->mean, channels));
  return crop_mirror_numbers("std", &a->std, channels);
}

static jfl_status crop_mirror_infer(jf_infer *c)
{
  jf_crop_mirror *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  JF_TRY(jf_check_rank4(c, "(N, H, W, C)"));
  if (c->n_in > 2)
    return jf_fail_argument(JFL_EINVAL, "mirror_blob", "must be one tensor, got %d", c->n_in - 1);
  if (c->in[0]->dtype != JFL_U8)
    return jf_fail_argument(JFL_EDTYPE, "input_blob", "must be uint8, got %s",
                            jfl_dtype_name(c->in[0]->dtype));
  JF_TRY(crop_mirror_check(c, s->d[3]));
  JF_TRY(crop_mirror_side("crop_h", &a->crop_h, s->d[1]));
  JF_TRY(crop_mirror_side("crop_w", &a->crop_w, s->d[2]));
  if (c->n_in == 2 && (c->in[1]->dtype != JFL_I8 || c->in[1]->shape.n != 1 ||
                       c->in[1]->shape.d[0] != s->d[0]))
    return jf_fail_argument(JFL_ESHAPE, "mirror_blob", "must be int8 with a number for each of "
                            "%lld pictures", (long long)s->d[0]);
  c->dtype[0] = JFL_F32;
  c->shape[0] = (jfl_shape){ 4, { s->d[0], a->crop_h, a->crop_w, s->d[3] } };
  if (!strcmp(a->output_layout, "NCHW"))
    c->shape[0] = (jfl_shape){ 4, { s->d[0], s->d[3], a->crop_h, a->crop_w } };
  return JFL_OK;
}

/* Picture i. Channel c of a pixel becomes (pixel - mean) * (1 / std). */
static void crop_mirror_picture(const jf_kargs *k, int64_t i)
{
  const jf_crop_mirror *a = k->attr;
  const jfl_shape *s = &k->in[0].shape;
  const int64_t h = s->d[1], w = s->d[2], c = s->d[3], n = a->crop_h, m = a->crop_w;
  const int mirrored = k->n_in > 1 && ((const int8_t *)k->in[1].data)[i];
  const int planes = a->output_layout[1] == 'C';
  const int64_t column = planes ? 1 : c, step = mirrored ? -column : column;
  const int64_t top = (int64_t)(a->crop_pos_y * (double)(h - n));
  const int64_t left = (int64_t)(a->crop_pos_x * (double)(w - m));
  for (int64_t ch = 0; ch < c; ch++) {
    const float mean = (float)a->mean.v[a->mean.n > 1 ? ch : 0];
    const float scale = (float)(1 / a->std.v[a->std.n > 1 ? ch : 0]);
    for (int64_t row = 0; row < n && !jf_loop_ends_at(row, m); row++) {
      const uint8_t *x = k->in[0].data;
      x += ((i * h + top + row) * w + left) * c + ch;
      float *y = (float *)k->out[0].data + i * n * m * c;
      y += planes ? (ch * n + row) * m : row * m * c + ch;
      if (mirrored) y += (m - 1) * column;
      for (int64_t j = 0; j < m; j++) y[j * step] = ((float)x[j * c] - mean) * scale;
    }
  }
}

void jf_crop_mirror_pictures(const jf_kargs *k, int64_t first, int64_t last)
{
  for (int64_t i = first; i < last; i++) crop_mirror_picture(k, i);
}

static jfl_status crop_mirror_U8(const jf_kargs *k)
{
  jf_crop_mirror_pictures(k, 0, k->in[0].shape.d[0]);
  return JFL_OK;
}

/* It has no gradient: its inputs are integers. */
static void crop_mirror_signatures(jf_signatures *c) { jf_signature_say(c, "0,0->0"); }

JFL_OP(crop_mirror_normalize,
       .doc = "(pixels - mean) / std of a part of uint8 pictures, mirrored where mirror_blob is "
              "not 0, as float32 with its axes in the wanted order.",
       .in = { "input_blob", "mirror_blob" }, .out = { "y" }, JF_WITH(attrs, jf_crop_mirror),
       .flags = JF_VARIADIC | JF_OPTIONAL, .infer = crop_mirror_infer,
       .cpu = JF_KERNELS([JFL_U8] = crop_mirror_U8), .signatures = crop_mirror_signatures)
