/* Pooling windows: their shape rule, and which cells they cover. */
#include "op/pool.h"
#include "op/layout.h"

#include <string.h>

/* Checks the rank of in[0] and finds the axes of height and width by data_format. In blocks of
   channels in[0] has one axis more, the last. */
static jfl_status check_axes(const jf_infer *c)
{
  jf_pool2d *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  char buf[JF_SHAPE_STR];
  const int last = !strcmp(a->data_format, "NHWC");
  a->axis = last ? 1 : 2;
  if (!a->block) return jf_check_rank4(c, 0, last ? "(N, H, W, C)" : "(N, C, H, W)");
  if (!last && s->n == 5 && s->d[4] == a->block) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[0], "must be (N, C / %lld, H, W, %lld), got %s %s",
                          (long long)a->block, (long long)a->block, a->data_format,
                          jf_shape_str(s, buf));
}

/* Checks that every window has at least one valid cell. */
static jfl_status check_covered(const jf_window *w)
{
  for (int i = 0; i < 4; i++)
    if (i % 2 == 0 && w->pad[i] >= w->extent[i / 2])
      return jf_fail_argument(JFL_EINVAL, "padding", "must be below the window's %lld, got %lld",
                              (long long)w->extent[i / 2], (long long)w->pad[i]);
  for (int i = 0; i < 2; i++)
    if ((w->out[i] - 1) * w->stride[i] >= w->in[i] + w->pad[2 * i])
      return jf_fail(JFL_EINVAL, "the last window covers nothing but padding");
  return JFL_OK;
}

jfl_status jf_pool_place(jf_infer *c, const int64_t in[2], int64_t out[2])
{
  jf_pool2d *a = c->attr;
  jf_window w = { .n = 2, .last = a->axis == 1 };
  JF_TRY(jf_extents("ksize", &a->ksize, 1, 2, a->kernel));
  jf_ints strides = a->strides.n ? a->strides : (jf_ints){ 2, a->kernel };
  JF_TRY(jf_extents("strides", &strides, 1, 2, a->stride));
  for (int i = 0; i < 2; i++) {
    w.in[i] = in[i];
    w.extent[i] = a->kernel[i];
    w.stride[i] = a->stride[i];
  }
  JF_TRY(jf_window_place(&a->padding, a->ceil_mode && !a->padding.word ? JF_CEIL : 0, &w));
  JF_TRY(check_covered(&w));
  memcpy(a->pad, w.pad, sizeof a->pad);
  memcpy(out, w.out, 2 * sizeof *out);
  return JFL_OK;
}

jfl_status jf_pool_size(const jf_infer *c, int64_t size[2])
{
  JF_TRY(check_axes(c));
  memcpy(size, c->in[0]->shape.d + ((const jf_pool2d *)c->attr)->axis, 2 * sizeof *size);
  return JFL_OK;
}

void jf_pool_result(jf_infer *c, const int64_t size[2])
{
  c->shape[0] = c->in[0]->shape;
  memcpy(c->shape[0].d + ((const jf_pool2d *)c->attr)->axis, size, 2 * sizeof *size);
  c->dtype[0] = c->in[0]->dtype;
}

jfl_status jf_pool_infer(jf_infer *c)
{
  int64_t in[2], out[2];
  JF_TRY(jf_pool_size(c, in));
  JF_TRY(jf_pool_place(c, in, out));
  jf_pool_result(c, out);
  return JFL_OK;
}

void jf_pool_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 3u << ((const jf_pool2d *)c->node->attr)->axis);
}

static double pool_cells(const jf_kargs *k, const jf_tensor *pooled)
{
  const jf_pool2d *a = k->attr;
  return (double)jf_numel(&pooled->shape) * (double)a->kernel[0] * (double)a->kernel[1];
}

double jf_pool_flop(const jf_kargs *k) { return pool_cells(k, &k->out[0]); }
double jf_pool_grad_flop(const jf_kargs *k) { return pool_cells(k, &k->in[k->n_in - 1]); }

int jf_pool_layout(jf_layout *c)
{
  jf_pool2d *a = c->attr;
  if (strcmp(a->data_format, "NCHW") || !jf_layout_blocks(c)) return 0;
  a->block = jf_layout_block(c);
  jf_layout_all(c, JF_BLOCKED);
  return 1;
}

void jf_pool_each(const jf_kargs *k, const jfl_shape *full, const jfl_shape *pooled,
                  void (*use)(const jf_kargs *k, const jf_pooling *w))
{
  const jf_pool2d *a = k->attr;
  const int64_t *size = full->d + a->axis, *out = pooled->d + a->axis;
  int64_t inner = 1;
  for (int i = a->axis + 2; i < full->n; i++) inner *= full->d[i];
  const int64_t n = jf_numel(pooled);
  for (int64_t r = 0; r < n && !jf_loop_ends(); r++) {
    const int64_t cell = r / inner, plane = cell / (out[0] * out[1]);
    jf_pooling w = {
      r, plane * size[0] * size[1] * inner + r % inner, size[1], inner,
      jf_pool_window(a, 0, size[0], cell / out[1] % out[0]),
      jf_pool_window(a, 1, size[1], cell % out[1])
    };
    use(k, &w);
  }
}
