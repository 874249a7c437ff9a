/* Pooling windows: their shape rule, and which cells they cover. */
#include "op/pool.h"

jfl_status jf_pool_place(const jf_infer *c, const int64_t in[2], int64_t out[2])
{
  jf_pool2d *a = c->attr;
  jf_window w;
  JF_TRY(jf_check_nchw(c, a->data_format));
  JF_TRY(jf_pair(c, "ksize", &a->ksize, 1, a->kernel));
  jf_ints strides = a->strides.n ? a->strides : (jf_ints){ 2, { a->kernel[0], a->kernel[1] } };
  JF_TRY(jf_pair(c, "strides", &strides, 1, a->stride));
  for (int i = 0; i < 2; i++) {
    w.in[i] = in[i];
    w.extent[i] = a->kernel[i];
    w.stride[i] = a->stride[i];
  }
  JF_TRY(jf_window_place(c, &a->padding, a->ceil_mode && !a->padding.word ? JF_CEIL : 0, &w));
  for (int i = 0; i < 4; i++) {
    a->pad[i] = w.pad[i];
    if (i % 2 == 0 && a->pad[i] >= a->kernel[i / 2])
      return jf_fail(JFL_EINVAL, "%s: padding must be below the window's %lld, got %lld",
                     c->op->name, (long long)a->kernel[i / 2], (long long)a->pad[i]);
  }
  for (int i = 0; i < 2; i++) {
    out[i] = w.out[i];
    if ((out[i] - 1) * a->stride[i] >= in[i] + a->pad[2 * i])
      return jf_fail(JFL_EINVAL, "%s: the last window covers nothing but padding", c->op->name);
  }
  return JFL_OK;
}

jfl_status jf_pool_infer(jf_infer *c)
{
  const jfl_shape *x = &c->in[0]->shape;
  int64_t out[2];
  JF_TRY(jf_check_rank4(c, 0, "(N, C, H, W)"));
  JF_TRY(jf_pool_place(c, x->d + 2, out));
  c->shape[0] = (jfl_shape){ 4, { x->d[0], x->d[1], out[0], out[1] } };
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

jf_cells jf_pool_cells(const jf_pool2d *a, int64_t h, int64_t w, int64_t i, int64_t j)
{
  jf_cells r = { i * a->stride[0] - a->pad[0], 0, j * a->stride[1] - a->pad[2], 0 };
  r.bottom = r.top + a->kernel[0];
  r.right = r.left + a->kernel[1];
  if (r.top < 0) r.top = 0;
  if (r.left < 0) r.left = 0;
  if (r.bottom > h) r.bottom = h;
  if (r.right > w) r.right = w;
  return r;
}

void jf_pool_each(const jf_kargs *k, const jfl_shape *full, const jfl_shape *pooled,
                  void (*use)(const jf_kargs *k, const jf_pooling *w))
{
  const int64_t *s = full->d, *d = pooled->d, plane = d[2] * d[3];
  for (int64_t r = 0; r < d[0] * d[1] * plane; r++) {
    jf_pooling w = { r, r / plane * s[2] * s[3], s[3],
                     jf_pool_cells(k->attr, s[2], s[3], r % plane / d[3], r % d[3]) };
    use(k, &w);
  }
}
