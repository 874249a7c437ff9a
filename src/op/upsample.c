/* Resizing of images by their nearest pixels or by bilinear interpolation. */
#include "op/upsample.h"
#include "op/layout.h"
#include "op/op.h"
#include "op/window.h"

#include <string.h>

#define FIELDS                                                                                \
  JF_FIELD(jf_upsample, size, INTS, NULL, "height and width of the result"),                  \
  JF_WORD(jf_upsample, interpolation, "nearest", "nearest bilinear", "how pixels are made"),  \
  JF_FIELD(jf_upsample, align_corners, BOOL, "false", "corner pixels keep their centres"),    \
  JF_WORD(jf_upsample, data_format, "NCHW", "NCHW NHWC", "the order of axes")
static const jf_attr attrs[] = { FIELDS, {0} };

/* Extents whose products with each other can be counted. */
enum { MOST_EXTENT = 1 << 30 };

static jfl_status upsample_infer(jf_infer *c)
{
  jf_upsample *a = c->attr;
  const int last = !strcmp(a->data_format, "NHWC");
  if (!a->block) JF_TRY(jf_check_rank4(c, 0, last ? "(N, H, W, C)" : "(N, C, H, W)"));
  a->axis = last ? 1 : 2;
  a->linear = !strcmp(a->interpolation, "bilinear");
  if (a->align_corners && !a->linear)
    return jf_fail_argument(JFL_EINVAL, "align_corners", "must be false unless interpolation is "
                            "bilinear");
  return jf_infer_resized(c, &a->size, a->axis, MOST_EXTENT);
}

/* Emits `op` on v with results of the height and width that `like` has. */
static jfl_value *upsample_emit(const jf_gradctx *c, const jfl_op *op, jfl_value *v,
                                const jfl_value *like)
{
  jf_upsample a = *(const jf_upsample *)c->node->attr;
  a.size = (jf_ints){ 2, (int64_t *)like->shape.d + a.axis };
  return jf_emit(c->g, op, &a, JF_IN(v));
}

static void upsample_grad(jf_gradctx *c)
{
  c->dx[0] = upsample_emit(c, &jf_op_upsample_2d_grad, c->dy[0], c->in[0]);
}

static void upsample_grad_grad(jf_gradctx *c)
{
  c->dx[0] = upsample_emit(c, &jf_op_upsample_2d, c->dy[0], c->in[0]);
}

static int upsample_layout(jf_layout *c)
{
  jf_upsample *a = c->attr;
  if (strcmp(a->data_format, "NCHW") || !jf_layout_blocks(c)) return 0;
  a->block = jf_layout_block(c);
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

/* y = the mean of four elements of x, by their shares. */
#define ENLARGE(D, T)                                                                        \
  static jfl_status enlarge_##D(const jf_kargs *k)                                           \
  {                                                                                          \
    const jf_upsample *a = k->attr;                                                          \
    const jf_upsampling u = jf_upsampling_of(a, &k->in[0].shape, &k->out[0].shape);          \
    const T *x = k->in[0].data;                                                              \
    T *y = k->out[0].data;                                                                   \
    for (int64_t r = 0; r < u.outer * u.m[0] && !jf_loop_ends_at(r, u.m[1] * u.inner); r++) { \
      const jf_pixel_source v = jf_upsample_source(a, u.n[0], u.m[0], r % u.m[0]);           \
      const T *low = x + (r / u.m[0] * u.n[0] + v.low) * u.n[1] * u.inner;                   \
      const T *high = low + (v.high - v.low) * u.n[1] * u.inner;                             \
      for (int64_t j = 0; j < u.m[1] && !jf_loop_ends_at(j, u.inner); j++) {                 \
        const jf_pixel_source h = jf_upsample_source(a, u.n[1], u.m[1], j);                  \
        for (int64_t i = 0; i < u.inner; i++) {                                              \
          const int64_t p = h.low * u.inner + i, q = h.high * u.inner + i;                   \
          *y++ = (T)jf_upsample_mix(jf_upsample_mix(low[p], low[q], h.share),                \
                                    jf_upsample_mix(high[p], high[q], h.share), v.share);    \
        }                                                                                    \
      }                                                                                      \
    }                                                                                        \
    return JFL_OK;                                                                           \
  }
/* Each of the four gets its share of dy. Sums are made in double, an image's plane at a time. */
#define RETURN(D, T)                                                                         \
  static jfl_status return_##D(const jf_kargs *k)                                            \
  {                                                                                          \
    const jf_upsample *a = k->attr;                                                          \
    const jf_upsampling u = jf_upsampling_of(a, &k->out[0].shape, &k->in[0].shape);          \
    const int64_t cells = u.n[0] * u.n[1] * u.inner;                                         \
    const T *dy = k->in[0].data;                                                             \
    double *sum = k->scratch;                                                                \
    for (int64_t o = 0; o < u.outer && !jf_loop_ends_at(o, cells); o++) {                    \
      memset(sum, 0, (size_t)cells * sizeof *sum);                                           \
      for (int64_t r = 0; r < u.m[0] && !jf_loop_ends_at(r, u.m[1] * u.inner); r++) {        \
        const jf_pixel_source v = jf_upsample_source(a, u.n[0], u.m[0], r);                  \
        double *low = sum + v.low * u.n[1] * u.inner, *high = sum + v.high * u.n[1] * u.inner;\
        for (int64_t j = 0; j < u.m[1] && !jf_loop_ends_at(j, u.inner); j++) {               \
          const jf_pixel_source h = jf_upsample_source(a, u.n[1], u.m[1], j);                \
          for (int64_t i = 0; i < u.inner; i++) {                                            \
            const int64_t p = h.low * u.inner + i, q = h.high * u.inner + i;                 \
            const double d = *dy++;                                                          \
            const double first = (1 - v.share) * d, second = v.share * d;                    \
            low[p] += (1 - h.share) * first;                                                 \
            if (h.share > 0) low[q] += h.share * first;                                      \
            if (v.share > 0) high[p] += (1 - h.share) * second;                              \
            if (v.share > 0 && h.share > 0) high[q] += h.share * second;                     \
          }                                                                                  \
        }                                                                                    \
      }                                                                                      \
      for (int64_t i = 0; i < cells && !jf_loop_ends_at(i, 1); i++)                          \
        ((T *)k->out[0].data)[o * cells + i] = (T)sum[i];                                    \
    }                                                                                        \
    return JFL_OK;                                                                           \
  }
JF_EACH_FLOAT(ENLARGE)
JF_EACH_FLOAT(RETURN)
static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_F32] = enlarge_F32, [JFL_F64] = enlarge_F64 };
static const jf_kernel grad_cpu[JFL_N_DTYPE] = { [JFL_F32] = return_F32, [JFL_F64] = return_F64 };

static size_t upsample_scratch(const jf_kargs *k)
{
  const jf_upsampling u = jf_upsampling_of(k->attr, &k->out[0].shape, &k->in[0].shape);
  return (size_t)(u.n[0] * u.n[1] * u.inner) * sizeof(double);
}

/* Images and channels. */
static void upsample_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 3u << ((const jf_upsample *)c->node->attr)->axis);
}

JFL_OP(upsample_2d, .doc = "Images at another size: their nearest pixels, or bilinear means.",
       .in = { "x" }, .out = { "y" }, .attr = attrs, .attr_size = sizeof(jf_upsample),
       .infer = upsample_infer, .grad = upsample_grad, .layout = upsample_layout, .cpu = cpu,
       .signatures = upsample_signatures)

JFL_OP(upsample_2d_grad, .doc = "Gradient of upsample_2d.", .in = { "dy" }, .out = { "dx" },
       .attr = attrs, .attr_size = sizeof(jf_upsample), .infer = upsample_infer,
       .grad = upsample_grad_grad, .layout = upsample_layout, .cpu = grad_cpu,
       .scratch = upsample_scratch, .signatures = upsample_signatures)
