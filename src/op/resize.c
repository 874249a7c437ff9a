/* image_resize and upsample_2d bring pictures to another size. Each pixel is a sum of a few
   neighbours along both axes; the ops differ in names, defaults and which sums there are. */
#include "op/image.h"
#include "op/layout.h"
#include "op/op.h"
#include "op/window.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_image_resize, size, INTS, NULL, "rows and columns of the result"),
  JF_WORD(jf_image_resize, interpolation, "auto", "auto nearest bilinear area",
          "area: means of what lies under a pixel; auto: area where the picture shrinks, bilinear "
          "where it grows"),
  JF_WORD(jf_image_resize, data_format, "NHWC", "NHWC NCHW", "the order of axes"))
JF_ATTRS(upsample_attrs,
  JF_FIELD(jf_image_resize, size, INTS, NULL, "height and width of the result"),
  JF_WORD(jf_image_resize, interpolation, "nearest", "nearest bilinear", "how pixels are made"),
  JF_FIELD(jf_image_resize, align_corners, BOOL, "false", "corner pixels keep their centres"),
  JF_WORD(jf_image_resize, data_format, "NCHW", "NCHW NHWC", "the order of axes"))

static jfl_status resize_infer(jf_infer *c)
{
  static const char *const words[] = { "nearest", "bilinear", "area", "auto" };
  jf_image_resize *a = c->attr;
  a->axis = strcmp(a->data_format, "NHWC") ? 2 : 1;
  if (!a->block) JF_TRY(jf_check_rank4(c, a->axis == 1 ? "(N, H, W, C)" : "(N, C, H, W)"));
  for (a->filter = JF_NEAREST; strcmp(a->interpolation, words[a->filter]); a->filter++) continue;
  if (a->align_corners && a->filter != JF_BILINEAR)
    return jf_fail_argument(JFL_EINVAL, "align_corners", "must be false unless interpolation is "
                            "bilinear");
  if (a->align_corners) a->filter = JF_CORNERS;
  return jf_infer_resized(c, &a->size, a->axis);
}

/* Emits `op` on dy with results of the rows and columns that x has. */
static void resize_emit(jf_gradctx *c, const jfl_op *op)
{
  jf_image_resize a = *(const jf_image_resize *)c->node->attr;
  a.size = (jf_ints){ 2, (int64_t *)c->in[0]->shape.d + a.axis };
  c->dx[0] = jf_emit(c->g, op, &a, JF_IN(c->dy[0]));
}

static void resize_grad(jf_gradctx *c) { resize_emit(c, &jf_op_image_resize_grad); }
static void resize_grad_grad(jf_gradctx *c) { resize_emit(c, &jf_op_image_resize); }
static void upsample_grad(jf_gradctx *c) { resize_emit(c, &jf_op_upsample_2d_grad); }
static void upsample_grad_grad(jf_gradctx *c) { resize_emit(c, &jf_op_upsample_2d); }

static int resize_layout(jf_layout *c)
{
  jf_image_resize *a = c->attr;
  if (a->axis == 1 || !jf_layout_blocks(c)) return 0;
  a->block = jf_layout_block(c);
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

static jf_first resize_first(const jf_node *n, void *attr)
{
  jf_image_resize *a = attr;
  (void)n;
  if (a->axis != 1) return JF_FIRST_NOT;
  a->data_format = "NCHW";
  return JF_FIRST_ALONG;
}

/* Pictures and channels. */
static void resize_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 3u << ((const jf_image_resize *)c->node->attr)->axis);
}

/* ---- kernels ---- */

int jf_resizes_back(const jf_kargs *k)
{
  return k->op == &jf_op_image_resize_grad || k->op == &jf_op_upsample_2d_grad;
}

jf_resizing jf_resizing_of(const jf_kargs *k)
{
  const jf_image_resize *a = k->attr;
  const int back = jf_resizes_back(k);
  const jfl_shape *x = &(back ? k->out : k->in)[0].shape, *y = &(back ? k->in : k->out)[0].shape;
  jf_resizing r = { 1, x->d[a->axis], x->d[a->axis + 1], 1, y->d[a->axis], y->d[a->axis + 1],
                    { 0 }, { 0 } };
  for (int i = 0; i < a->axis; i++) r.n *= x->d[i];
  for (int i = a->axis + 2; i < x->n; i++) r.inner *= x->d[i];
  r.y = (jf_stretch){ r.to_h, r.h, 0, (double)r.h, a->filter, 0 };
  r.x = (jf_stretch){ r.to_w, r.w, 0, (double)r.w, a->filter, 0 };
  return r;
}

static size_t resize_scratch(const jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k);
  return jf_taps_size(&r.y) + jf_taps_size(&r.x)
         + (jf_resizes_back(k) ? (size_t)(r.h * r.w * r.inner) * sizeof(double)
                               : jf_resize_line(r.w, r.inner));
}

static jfl_status resize_any(const jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k);
  char *room = k->scratch;
  const jf_taps y = jf_taps_in(&r.y, room), x = jf_taps_in(&r.x, room + jf_taps_size(&r.y));
  const size_t size = jfl_dtype_size(k->in[0].dtype);
  for (int64_t i = 0; i < r.n * r.to_h && !jf_loop_ends_at(i, (r.w + r.to_w) * r.inner); i++) {
    const int64_t plane = i / r.to_h, row = i % r.to_h;
    if (r.inner) jf_resize_rows(&(jf_resize){
      .y = &y, .x = &x, .from = k->in[0].dtype, .to = k->in[0].dtype, .channels = r.inner,
      .src = (const char *)k->in[0].data + (size_t)(plane * r.h * r.w * r.inner) * size,
      .src_row = r.w * r.inner, .row = r.to_w * r.inner, .column = r.inner, .channel = 1,
      .dst = (char *)k->out[0].data + (size_t)(plane * r.to_h * r.to_w * r.inner) * size,
      .scale = 1
    }, row, row + 1, room + jf_taps_size(&r.y) + jf_taps_size(&r.x));
  }
  return JFL_OK;
}

/* Adds weight times a row of dy to the columns that it was made of. Sums are made in double. */
#define SPREAD(D, T)                                                                           \
  static void resize_spread_##D(const jf_resizing *r, const jf_taps *x, double weight,         \
                                const T *dy, double *sum)                                      \
  {                                                                                            \
    for (int64_t j = 0; j < r->to_w && !jf_loop_ends_at(j, r->inner * x->width); j++)          \
      for (int64_t q = 0; q < x->width && !jf_loop_ends_at(q, r->inner); q++) {                \
        const double w = weight * x->weight[j * x->width + q];                                 \
        for (int64_t c = 0; w != 0 && c < r->inner; c++)                                       \
          sum[(x->first[j] + q) * r->inner + c] += w * dy[j * r->inner + c];                   \
      }                                                                                        \
  }                                                                                            \
  static jfl_status resize_grad_##D(const jf_kargs *k)                                         \
  {                                                                                            \
    const jf_resizing r = jf_resizing_of(k);                                                   \
    char *room = k->scratch;                                                                   \
    const jf_taps y = jf_taps_in(&r.y, room), x = jf_taps_in(&r.x, room + jf_taps_size(&r.y)); \
    double *sum = (double *)(room + jf_taps_size(&r.y) + jf_taps_size(&r.x));                  \
    const int64_t cells = r.h * r.w * r.inner, line = r.w * r.inner;                           \
    for (int64_t i = 0; i < r.n && !jf_loop_ends_at(i, cells); i++) {                          \
      memset(sum, 0, (size_t)cells * sizeof *sum);                                             \
      for (int64_t at = 0; at < r.to_h && !jf_loop_ends_at(at, r.to_w * y.width); at++)        \
        for (int64_t p = 0; p < y.width && !jf_loop_ends_at(p, r.to_w); p++)                   \
          resize_spread_##D(&r, &x, y.weight[at * y.width + p],                                \
                            (const T *)k->in[0].data + (i * r.to_h + at) * r.to_w * r.inner,   \
                            sum + (y.first[at] + p) * line);                                   \
      for (int64_t j = 0; j < cells && !jf_loop_ends_at(j, 1); j++)                            \
        ((T *)k->out[0].data)[i * cells + j] = (T)sum[j];                                      \
    }                                                                                          \
    return JFL_OK;                                                                             \
  }
JF_EACH_FLOAT(SPREAD)

#define RESIZES(attrs_, grad_, ...)                                                            \
  JF_WITH(attrs_, jf_image_resize), .infer = resize_infer, .grad = grad_,                      \
  .layout = resize_layout, .cpu = JF_KERNELS(__VA_ARGS__), .scratch = resize_scratch,            \
  .signatures = resize_signatures

JFL_OP(image_resize, .doc = "Pictures at another size; those of uint8 are rounded.", .in = { "x" },
       .out = { "y" },
       RESIZES(attrs, resize_grad, JF_EVERY_FLOAT(resize_any), [JFL_U8] = resize_any),
       .channels_first = resize_first)

JFL_OP(image_resize_grad, .doc = "Gradient of image_resize.", .in = { "dy" }, .out = { "dx" },
       RESIZES(attrs, resize_grad_grad, JF_FLOATS(resize_grad_)))

JFL_OP(upsample_2d, .doc = "Images at another size: their nearest pixels, or bilinear means.",
       .in = { "x" }, .out = { "y" },
       RESIZES(upsample_attrs, upsample_grad, JF_EVERY_FLOAT(resize_any)),
       .channels_first = resize_first)

JFL_OP(upsample_2d_grad, .doc = "Gradient of upsample_2d.", .in = { "dy" }, .out = { "dx" },
       RESIZES(upsample_attrs, upsample_grad_grad, JF_FLOATS(resize_grad_)))
