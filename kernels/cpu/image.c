/* Pictures of a batch, in parallel. */
#include "op/image.h"

#include "vector.h"

static void fast_crop_mirror_part(void *ctx, int i) { jf_crop_mirror_pictures(ctx, i, i + 1); }

static jfl_status fast_crop_mirror(const jf_kargs *k)
{
  jf_run_parts(k, (int)k->in[0].shape.d[0], fast_crop_mirror_part, (void *)k);
  return JFL_OK;
}

static void fast_random_crop_part(void *ctx, int i)
{
  const jf_kargs *k = ctx;
  const jf_tensor *y = &k->out[0];
  const size_t size =
      (size_t)(jf_numel(&y->shape) / y->shape.d[0]) * jfl_dtype_size(y->dtype);
  memset((char *)y->data + (size_t)i * size, 0, size);
  jf_random_crop_draw(k, i);
  jf_random_crop_move(k, i, 0);
}

static jfl_status fast_random_crop(const jf_kargs *k)
{
  jf_run_parts(k, (int)k->in[0].shape.d[0], fast_random_crop_part, (void *)k);
  return JFL_OK;
}

static int fast_image_accepts(const jf_kargs *k) { return k->in[0].shape.d[0] < 1 << 24; }

JFL_CPU(threaded_crop_mirror, .op = "crop_mirror_normalize", .accepts = fast_image_accepts,
        .run = fast_crop_mirror)
JFL_CPU(threaded_random_crop, .op = "random_crop", .accepts = fast_image_accepts,
        .run = fast_random_crop)
