/* image_resize brings pictures to another size. */
#include "op/image.h"
#include "op/move.h"
#include "op/window.h"

#include <string.h>

enum { MOST_SIDE = 1 << 20 };

static const jf_attr attrs[] = {
  JF_FIELD(jf_image_resize, size, INTS, NULL, "rows and columns of the result"),
  JF_WORD(jf_image_resize, interpolation, "auto", "auto nearest bilinear area",
          "area: means of what lies under a pixel; auto: area where the picture shrinks, bilinear "
          "where it grows"),
  JF_WORD(jf_image_resize, data_format, "NHWC", "NHWC NCHW", "the order of axes"),
  {0},
};

static jfl_status image_resize_infer(jf_infer *c)
{
  static const char *const words[] = { "nearest", "bilinear", "area", "auto" };
  jf_image_resize *a = c->attr;
  a->axis = strcmp(a->data_format, "NHWC") ? 2 : 1;
  JF_TRY(jf_check_rank4(c, 0, a->axis == 1 ? "(N, H, W, C)" : "(N, C, H, W)"));
  for (a->filter = JF_NEAREST; strcmp(a->interpolation, words[a->filter]); a->filter++) continue;
  return jf_infer_resized(c, &a->size, a->axis, MOST_SIDE);
}

/* Emits `op` on v with results of the rows and columns that `like` has. */
static jfl_value *image_resize_emit(const jf_gradctx *c, const jfl_op *op, jfl_value *v,
                                    const jfl_value *like)
{
  jf_image_resize a = *(const jf_image_resize *)c->node->attr;
  a.size = (jf_ints){ 2, (int64_t *)like->shape.d + a.axis };
  return jf_emit(c->g, op, &a, JF_IN(v));
}

static void image_resize_to_grad(jf_gradctx *c)
{
  c->dx[0] = image_resize_emit(c, &jf_op_image_resize_grad, c->dy[0], c->in[0]);
}

static void image_resize_grad_grad(jf_gradctx *c)
{
  c->dx[0] = image_resize_emit(c, &jf_op_image_resize, c->dy[0], c->in[0]);
}

/* ---- kernels ---- */

jf_resizing jf_resizing_of(const jf_image_resize *a, const jfl_shape *x, const jfl_shape *y)
{
  jf_resizing r = { x->d[0], x->d[a->axis], x->d[a->axis + 1], 1, y->d[a->axis],
                    y->d[a->axis + 1], { 0 }, { 0 } };
  if (a->axis == 1) r.inner = x->d[3];
  else r.n *= x->d[1];
  r.y = (jf_stretch){ r.to_h, r.h, 0, (double)r.h, a->filter, 0 };
  r.x = (jf_stretch){ r.to_w, r.w, 0, (double)r.w, a->filter, 0 };
  return r;
}

static size_t image_resize_scratch(const jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k->attr, &k->in[0].shape, &k->out[0].shape);
  return jf_taps_size(&r.y) + jf_taps_size(&r.x) + jf_resize_line(r.w, r.inner);
}

static jfl_status image_resize_any(const jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k->attr, &k->in[0].shape, &k->out[0].shape);
  char *room = k->scratch;
  const jf_taps y = jf_taps_in(&r.y, room), x = jf_taps_in(&r.x, room + jf_taps_size(&r.y));
  const size_t size = jfl_dtype_size(k->in[0].dtype);
  for (int64_t i = 0; i < r.n && r.inner; i++)
    jf_resize_rows(&(jf_resize){
      .y = &y, .x = &x, .from = k->in[0].dtype, .to = k->in[0].dtype, .channels = r.inner,
      .src = (const char *)k->in[0].data + (size_t)(i * r.h * r.w * r.inner) * size,
      .src_row = r.w * r.inner, .row = r.to_w * r.inner, .column = r.inner, .channel = 1,
      .dst = (char *)k->out[0].data + (size_t)(i * r.to_h * r.to_w * r.inner) * size, .scale = 1
    }, 0, r.to_h, room + jf_taps_size(&r.y) + jf_taps_size(&r.x));
  return JFL_OK;
}

static size_t image_resize_grad_scratch(const jf_kargs *k)
{
  const jf_resizing r = jf_resizing_of(k->attr, &k->out[0].shape, &k->in[0].shape);
  return jf_taps_size(&r.y) + jf_taps_size(&r.x)
         + (size_t)(r.h * r.w * r.inner) * sizeof(double);
}

/* Adds weight times a pixel of dy to the columns that it was made of. */
#define SPREAD(D, T)                                                                           \
  static void image_resize_spread_##D(const jf_resizing *r, const jf_taps *x, double weight,      \
                                      const T *dy, double *sum)                                \
  {                                                                                            \
    for (int64_t j = 0; j < r->to_w && !jf_loop_ends_at(j, r->inner * x->width); j++)          \
      for (int64_t q = 0; q < x->width && !jf_loop_ends_at(q, r->inner); q++) {                \
        const double w = weight * x->weight[j * x->width + q];                                 \
        for (int64_t c = 0; c < r->inner; c++)                                                 \
          sum[(x->first[j] + q) * r->inner + c] += w * dy[j * r->inner + c];                   \
      }                                                                                        \
  }                                                                                            \
  static jfl_status image_resize_grad_##D(const jf_kargs *k)                                   \
  {                                                                                            \
    const jf_resizing r = jf_resizing_of(k->attr, &k->out[0].shape, &k->in[0].shape);          \
    char *room = k->scratch;                                                                   \
    const jf_taps y = jf_taps_in(&r.y, room), x = jf_taps_in(&r.x, room + jf_taps_size(&r.y)); \
    double *sum = (double *)(room + jf_taps_size(&r.y) + jf_taps_size(&r.x));                  \
    const int64_t cells = r.h * r.w * r.inner, line = r.w * r.inner;                           \
    for (int64_t i = 0; i < r.n && !jf_loop_ends_at(i, cells); i++) {                          \
      memset(sum, 0, (size_t)cells * sizeof *sum);                                             \
      for (int64_t at = 0; at < r.to_h && !jf_loop_ends_at(at, r.to_w * y.width); at++)         \
        for (int64_t p = 0; p < y.width && !jf_loop_ends_at(p, r.to_w); p++)                    \
          image_resize_spread_##D(&r, &x, y.weight[at * y.width + p],                          \
                                  (const T *)k->in[0].data + (i * r.to_h + at) * r.to_w * r.inner, \
                                  sum + (y.first[at] + p) * line);                             \
      for (int64_t j = 0; j < cells && !jf_loop_ends_at(j, 1); j++)                          \
        ((T *)k->out[0].data)[i * cells + j] = (T)sum[j];                                      \
    }                                                                                          \
    return JFL_OK;                                                                             \
  }
JF_EACH_FLOAT(SPREAD)

static const jf_kernel cpu[JFL_N_DTYPE] = {
  [JFL_U8] = image_resize_any, [JFL_F32] = image_resize_any, [JFL_F64] = image_resize_any
};
static const jf_kernel grad_cpu[JFL_N_DTYPE] = {
  [JFL_F32] = image_resize_grad_F32, [JFL_F64] = image_resize_grad_F64
};

/* Pictures and channels. */
static void image_resize_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 3u << ((const jf_image_resize *)c->node->attr)->axis);
}

JFL_OP(image_resize, .doc = "Pictures at another size; those of uint8 are rounded.", .in = { "x" },
       .out = { "y" }, .attr = attrs, .attr_size = sizeof(jf_image_resize),
       .infer = image_resize_infer, .grad = image_resize_to_grad, .cpu = cpu,
       .scratch = image_resize_scratch, .signatures = image_resize_signatures)

JFL_OP(image_resize_grad, .doc = "Gradient of image_resize.", .in = { "dy" }, .out = { "dx" },
       .attr = attrs, .attr_size = sizeof(jf_image_resize), .infer = image_resize_infer,
       .grad = image_resize_grad_grad, .cpu = grad_cpu, .scratch = image_resize_grad_scratch,
       .signatures = image_resize_signatures)
