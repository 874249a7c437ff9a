/* Convolutions over one, two or three axes, and their gradients, as direct sums: one thread for
   each element of a result, one block for each element of a filter's gradient. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "formula.h"
#include "op/conv.h"
#include "op/op.h"

#include <string.h>
#endif

/* A tensor's extents and steps, in elements, along images or filters, channels, depth, height,
   width, whatever the order of its axes in memory. */
typedef struct conv_tensor { int64_t d[5], step[5]; } conv_tensor;

/* x, filters f and y as in op/conv.h. */
typedef struct conv_args {
  struct jf_cuda_head head;
  conv_tensor x, f, y;
  int64_t stride[3], dilation[3], pad[3];      /* pad: before each axis */
  int64_t x_group, y_group;                    /* channels of a group */
  int64_t count;                               /* elements of the result */
} conv_args;

#ifdef JF_DEVICE

/* T is the elements' type, O that of the result, A that in which act works; sums are in double.
   X, F and Y are the places of x, f and y in data, whichever of them the op makes; BIAS, RESIDUAL
   and act are as in matmul. */

/* Splits element i of a tensor into its index along the five axes. */
JF_INLINE void conv_index(const conv_tensor &t, int64_t i, int64_t *at)
{
  for (int k = 4; k >= 0; k--) {
    at[k] = i % t.d[k];
    i /= t.d[k];
  }
}

JF_INLINE int64_t conv_offset(const conv_tensor &t, const int64_t *at)
{
  int64_t offset = 0;
  for (int k = 0; k < 5; k++) offset += at[k] * t.step[k];
  return offset;
}

JF_INLINE double conv_product(T a, T b) { return (double)jf_load(a) * (double)jf_load(b); }

JF_KERNEL conv(const conv_args p)
{
  const T *x = (const T *)p.head.data[X], *f = (const T *)p.head.data[F];
  O *y = (O *)p.head.data[Y];
  JF_EACH(i, p.count) {
    int64_t at[5], from[5], cell[5];
    conv_index(p.y, i, at);
    const int64_t channel0 = at[1] / p.y_group * p.x_group;
    double sum = 0;
    from[0] = at[0];
    cell[0] = at[1];
    for (cell[1] = 0; cell[1] < p.x_group; cell[1]++)
      for (cell[2] = 0; cell[2] < p.f.d[2]; cell[2]++)
        for (cell[3] = 0; cell[3] < p.f.d[3]; cell[3]++)
          for (cell[4] = 0; cell[4] < p.f.d[4]; cell[4]++) {
            int inside = 1;
            from[1] = channel0 + cell[1];
            for (int k = 0; k < 3; k++) {
              from[2 + k] = at[2 + k] * p.stride[k] - p.pad[k] + cell[2 + k] * p.dilation[k];
              inside &= from[2 + k] >= 0 && from[2 + k] < p.x.d[2 + k];
            }
            if (inside)
              sum += conv_product(x[conv_offset(p.x, from)], f[conv_offset(p.f, cell)]);
          }
    const int64_t to = conv_offset(p.y, at);
    if (BIAS) sum += (double)jf_load(((const O *)p.head.data[BIAS])[at[1]]);
    if (RESIDUAL) sum += (double)jf_load(((const O *)p.head.data[RESIDUAL])[to]);
    jf_store(&y[to], act((A)sum));
  }
}

/* Here data[X] is written, and data[Y] is the gradient of y. */
JF_KERNEL conv_data_grad(const conv_args p)
{
  const T *dy = (const T *)p.head.data[Y], *f = (const T *)p.head.data[F];
  O *dx = (O *)p.head.data[X];
  JF_EACH(i, p.count) {
    int64_t at[5], from[5], cell[5];
    conv_index(p.x, i, at);
    const int64_t group = at[1] / p.x_group;
    double sum = 0;
    from[0] = at[0];
    cell[1] = at[1] % p.x_group;
    for (int64_t o = 0; o < p.y_group; o++)
      for (cell[2] = 0; cell[2] < p.f.d[2]; cell[2]++)
        for (cell[3] = 0; cell[3] < p.f.d[3]; cell[3]++)
          for (cell[4] = 0; cell[4] < p.f.d[4]; cell[4]++) {
            int inside = 1;
            cell[0] = from[1] = group * p.y_group + o;
            for (int k = 0; k < 3; k++) {
              const int64_t reach = at[2 + k] + p.pad[k] - cell[2 + k] * p.dilation[k];
              from[2 + k] = reach / p.stride[k];
              inside &= reach >= 0 && reach % p.stride[k] == 0 && from[2 + k] < p.y.d[2 + k];
            }
            if (inside)
              sum += conv_product(dy[conv_offset(p.y, from)], f[conv_offset(p.f, cell)]);
          }
    jf_store(&dx[conv_offset(p.x, at)], (A)sum);
  }
}

struct conv_sum {
  static __device__ __forceinline__ double of(double a, double b) { return a + b; }
};

/* Here data[F] is written: a block for each of its elements adds up over images and places. */
JF_KERNEL conv_filter_grad(const conv_args p)
{
  const T *x = (const T *)p.head.data[X], *dy = (const T *)p.head.data[Y];
  O *df = (O *)p.head.data[F];
  const int64_t places = p.y.d[0] * p.y.d[2] * p.y.d[3] * p.y.d[4];
  for (int64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
    int64_t cell[5], at[5], from[5];
    conv_index(p.f, i, cell);
    from[1] = cell[0] / p.y_group * p.x_group + cell[1];
    at[1] = cell[0];
    double sum = 0;
    for (int64_t j = threadIdx.x; j < places; j += blockDim.x) {
      int64_t rest = j;
      int inside = 1;
      for (int k = 4; k >= 2; k--) {
        at[k] = rest % p.y.d[k];
        rest /= p.y.d[k];
      }
      from[0] = at[0] = rest;
      for (int k = 0; k < 3; k++) {
        from[2 + k] = at[2 + k] * p.stride[k] - p.pad[k] + cell[2 + k] * p.dilation[k];
        inside &= from[2 + k] >= 0 && from[2 + k] < p.x.d[2 + k];
      }
      if (inside)
        sum += conv_product(x[conv_offset(p.x, from)], dy[conv_offset(p.y, at)]);
    }
    sum = jf_block_join<conv_sum>(sum, 0.0);
    if (threadIdx.x == 0) jf_store(&df[conv_offset(p.f, cell)], (A)sum);
  }
}

/* The sums of dy over all but channels; it is the output behind df. */
JF_KERNEL conv_bias_grad(const conv_args p)
{
  const T *dy = (const T *)p.head.data[Y];
  O *db = (O *)p.head.data[F + 1];
  const int64_t places = p.y.d[0] * p.y.d[2] * p.y.d[3] * p.y.d[4];
  for (int64_t o = blockIdx.x; o < p.y.d[1]; o += gridDim.x) {
    double sum = 0;
    for (int64_t j = threadIdx.x; j < places; j += blockDim.x) {
      int64_t rest = j, at[5];
      for (int k = 4; k >= 2; k--) {
        at[k] = rest % p.y.d[k];
        rest /= p.y.d[k];
      }
      at[0] = rest;
      at[1] = o;
      sum += (double)jf_load(dy[conv_offset(p.y, at)]);
    }
    sum = jf_block_join<conv_sum>(sum, 0.0);
    if (threadIdx.x == 0) jf_store(&db[o], (A)sum);
  }
}

#else

extern const char jf_cuda_text_conv[];

/* Blocks of channels are the CPU's. */
static int conv_accepts(const jf_kargs *k)
{
  const jf_conv *a = k->attr;
  return jf_is_float(k->in[0].dtype) && !a->block_x && !a->block_y && !a->packed;
}

static conv_tensor conv_tensor_of(const jf_conv *a, const jfl_shape *s)
{
  const jf_conv_extents e = jf_conv_extents_of(a, s);
  conv_tensor t;
  int64_t step = a->last ? e.d[1] : 1;
  memcpy(t.d, e.d, sizeof t.d);
  for (int k = 4; k >= 2; k--) {
    t.step[k] = step;
    step *= t.d[k];
  }
  t.step[1] = a->last ? 1 : step;
  t.step[0] = a->last ? step : step * t.d[1];
  return t;
}

static conv_args conv_args_of(const jf_conv *a, const jf_tensor *x, const jf_tensor *f,
                              const jf_tensor *y)
{
  conv_args r = { .x = conv_tensor_of(a, &x->shape), .f = conv_tensor_of(a, &f->shape),
                  .y = conv_tensor_of(a, &y->shape) };
  for (int k = 0; k < 3; k++) {
    r.stride[k] = a->stride[k];
    r.dilation[k] = a->dilation[k];
    r.pad[k] = a->pad[2 * k];
  }
  r.x_group = r.x.d[1] / a->groups;
  r.y_group = r.y.d[1] / a->groups;
  return r;
}

/* Writes the types, the places of x, f and y in data, and the epilogue. */
static jfl_status conv_define(jf_text *to, const jf_kargs *k, const int *place,
                              const jf_epilogue *e)
{
  const jfl_dtype t = k->out[0].dtype;
  jf_text_add(to, "typedef %s T;\ntypedef %s O;\n#define X %d\n#define F %d\n#define Y %d\n"
              "#define BIAS %d\n#define RESIDUAL %d\n", jf_cuda_stored(k->in[0].dtype),
              jf_cuda_stored(t), place[0], place[1], place[2], e->bias ? 2 : 0,
              e->residual ? 2 + (e->bias != 0) : 0);
  return jf_formula_act(to, e->act, t);
}

typedef struct cuda_conv {
  jf_cu_function *work, *bias;
  jf_cuda_grid grid;
  conv_args args;
} cuda_conv;

static jfl_status conv_find(const jf_kargs *k, const char *define, const char *name,
                            jf_cu_function **out)
{
  const jf_cuda_source s = { "convolution", jf_cuda_text_conv, define };
  return jf_cuda_function(k->device->state, &s, name, out);
}

/* Prepares the kernel `name`, and with `bias` that of the bias's gradient. */
static jfl_status conv_make(jf_kargs *k, const char *name, const int *place, const jf_epilogue *e,
                            const cuda_conv *what, int bias)
{
  jf_text text = { 0 };
  char *define;
  cuda_conv *c = jf_new(sizeof *c);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  *c = *what;
  jfl_status s = conv_define(&text, k, place, e), taken = jf_text_take(&text, &define);
  if (taken) return jf_free(c), taken;
  if (!s) s = conv_find(k, define, name, &c->work);
  if (!s && bias) s = conv_find(k, define, "conv_bias_grad", &c->bias);
  jf_free(define);
  if (s) jf_free(c);
  else k->state = c;
  return s;
}

static jfl_status conv_prepare(jf_kargs *k, size_t *scratch)
{
  static const jf_epilogue none;
  const jf_conv *a = k->attr;
  const int place[] = { 0, 1, k->n_in };
  cuda_conv c = { .args = conv_args_of(a, &k->in[0], &k->in[1], &k->out[0]) };
  (void)scratch;
  c.args.count = jf_numel(&k->out[0].shape);
  c.grid = jf_cuda_grid_of(k->device->state, c.args.count);
  return conv_make(k, "conv", place, k->n_in > 2 || a->epilogue.act ? &a->epilogue : &none, &c, 0);
}

static jfl_status conv_data_prepare(jf_kargs *k, size_t *scratch)
{
  static const jf_epilogue none;
  const int place[] = { 2, 0, 1 };
  cuda_conv c = { .args = conv_args_of(k->attr, &k->out[0], &k->in[0], &k->in[1]) };
  (void)scratch;
  c.args.count = jf_numel(&k->out[0].shape);
  c.grid = jf_cuda_grid_of(k->device->state, c.args.count);
  return conv_make(k, "conv_data_grad", place, &none, &c, 0);
}

static jfl_status conv_filter_prepare(jf_kargs *k, size_t *scratch)
{
  enum { THREADS = 256, MOST = 1 << 16 };
  static const jf_epilogue none;
  const int place[] = { 0, 2, 1 };
  cuda_conv c = { .args = conv_args_of(k->attr, &k->in[0], &k->out[0], &k->in[1]) };
  (void)scratch;
  c.args.count = jf_numel(&k->out[0].shape);
  c.grid = (jf_cuda_grid){ c.args.count < MOST ? c.args.count : MOST, THREADS, 0 };
  return conv_make(k, "conv_filter_grad", place, &none, &c, k->n_out > 1);
}

static jfl_status conv_run(const jf_kargs *k)
{
  const cuda_conv *c = k->state;
  conv_args a = c->args;
  int n = 0;
  for (int i = 0; i < k->n_in; i++) a.head.data[n++] = k->in[i].data;
  for (int i = 0; i < k->n_out; i++) a.head.data[n++] = k->out[i].data;
  if (c->grid.blocks) JF_TRY(jf_cuda_launch(k, c->work, c->grid, &a));
  if (!c->bias) return JFL_OK;
  return jf_cuda_launch(k, c->bias, (jf_cuda_grid){ a.y.d[1], 256, 0 }, &a);
}

#define CONVS(op_, prepare_) \
  .op = op_, .accepts = conv_accepts, .prepare = prepare_, .run = conv_run, .release = jf_free, \
  .priority = 10
JFL_CUDA(cuda_conv1d, CONVS("conv1d", conv_prepare))
JFL_CUDA(cuda_conv2d, CONVS("conv2d", conv_prepare))
JFL_CUDA(cuda_conv3d, CONVS("conv3d", conv_prepare))
JFL_CUDA(cuda_conv2d_fused, CONVS("conv2d_fused", conv_prepare))
JFL_CUDA(cuda_conv1d_data_grad, CONVS("conv1d_data_grad", conv_data_prepare))
JFL_CUDA(cuda_conv2d_data_grad, CONVS("conv2d_data_grad", conv_data_prepare))
JFL_CUDA(cuda_conv3d_data_grad, CONVS("conv3d_data_grad", conv_data_prepare))
JFL_CUDA(cuda_conv1d_filter_grad, CONVS("conv1d_filter_grad", conv_filter_prepare))
JFL_CUDA(cuda_conv2d_filter_grad, CONVS("conv2d_filter_grad", conv_filter_prepare))
JFL_CUDA(cuda_conv3d_filter_grad, CONVS("conv3d_filter_grad", conv_filter_prepare))

#endif
