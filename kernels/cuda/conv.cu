/* Convolutions over one, two or three axes, and their gradients, as direct sums: one thread for
   each element of a result, one block for each element of a filter's gradient. */
#ifndef JF_DEVICE
#include "conv_ends.h"
#include "formula.h"
#include "op/conv.h"

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

/* T is the elements' type, O that of the result, A that in which act works. Sums are in double, as
   those of plain kernels: where terms cancel, sums of 800 floats are 0.00002 off. X, F and Y are
   the places of x, f and y in data, whichever of them the op makes; BIAS, RESIDUAL and act are as
   in matmul. */

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

/* Which element of x, along axis k, a filter's cell meets for element `at` of y; below 0: none. */
struct conv_to_x {
  static __device__ __forceinline__ int64_t of(const conv_args &p, int k, int64_t at, int64_t cell)
  {
    const int64_t i = at * p.stride[k] - p.pad[k] + cell * p.dilation[k];
    return i < p.x.d[2 + k] ? i : -1;
  }
};

/* For which element of y that cell meets element `at` of x. */
struct conv_to_y {
  static __device__ __forceinline__ int64_t of(const conv_args &p, int k, int64_t at, int64_t cell)
  {
    const int64_t reach = at + p.pad[k] - cell * p.dilation[k], i = reach / p.stride[k];
    return reach >= 0 && reach == i * p.stride[k] && i < p.y.d[2 + k] ? i : -1;
  }
};

/* The sum over a filter's cells of their products with what they meet in a channel of `t`. */
template <class To>
JF_INLINE double conv_window(const conv_args &p, const conv_tensor &t, const T *channel, const T *f,
                        const int64_t *at)
{
  double sum = 0;
  int64_t cell[3];
  for (cell[0] = 0; cell[0] < p.f.d[2]; cell[0]++)
    for (cell[1] = 0; cell[1] < p.f.d[3]; cell[1]++)
      for (cell[2] = 0; cell[2] < p.f.d[4]; cell[2]++) {
        int64_t from = 0, w = 0;
        int inside = 1;
        for (int k = 0; k < 3; k++) {
          const int64_t i = To::of(p, k, at[2 + k], cell[k]);
          inside &= i >= 0;
          from += i * t.step[2 + k];
          w += cell[k] * p.f.step[2 + k];
        }
        if (inside) sum += (double)jf_load(channel[from]) * (double)jf_load(f[w]);
      }
  return sum;
}

JF_KERNEL conv(const conv_args p)
{
  const T *x = (const T *)p.head.data[X], *f = (const T *)p.head.data[F];
  O *y = (O *)p.head.data[Y];
  JF_EACH(i, p.count) {
    int64_t at[5];
    conv_index(p.y, i, at);
    const int64_t to = conv_offset(p.y, at);
    const T *from = x + at[0] * p.x.step[0] + at[1] / p.y_group * p.x_group * p.x.step[1];
    double sum = 0;
    for (int64_t c = 0; c < p.x_group; c++)
      sum += conv_window<conv_to_x>(p, p.x, from + c * p.x.step[1],
                                    f + at[1] * p.f.step[0] + c * p.f.step[1], at);
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
    int64_t at[5];
    conv_index(p.x, i, at);
    const int64_t first = at[1] / p.x_group * p.y_group, c = at[1] % p.x_group;
    double sum = 0;
    for (int64_t o = first; o < first + p.y_group; o++)
      sum += conv_window<conv_to_y>(p, p.y, dy + at[0] * p.y.step[0] + o * p.y.step[1],
                                    f + o * p.f.step[0] + c * p.f.step[1], at);
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
  conv_tensor places = p.y;            /* images and places of one channel */
  places.d[1] = 1;
  const int64_t count = p.y.d[0] * p.y.d[2] * p.y.d[3] * p.y.d[4];
  for (int64_t i = blockIdx.x; i < p.count; i += gridDim.x) {
    int64_t cell[5], at[5];
    conv_index(p.f, i, cell);
    const int64_t channel = cell[0] / p.y_group * p.x_group + cell[1];
    double sum = 0;
    for (int64_t j = threadIdx.x; j < count; j += blockDim.x) {
      conv_index(places, j, at);
      int64_t from = at[0] * p.x.step[0] + channel * p.x.step[1];
      int inside = 1;
      for (int k = 0; k < 3; k++) {
        const int64_t met = conv_to_x::of(p, k, at[2 + k], cell[2 + k]);
        inside &= met >= 0;
        from += met * p.x.step[2 + k];
      }
      at[1] = cell[0];
      if (inside) sum += (double)jf_load(x[from]) * (double)jf_load(dy[conv_offset(p.y, at)]);
    }
    sum = jf_block_join<conv_sum>(sum, 0.0);
    if (threadIdx.x == 0) jf_store(&df[conv_offset(p.f, cell)], (A)sum);
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

static conv_args conv_args_of(const jf_kargs *c, const jf_tensor *x, const jf_tensor *f,
                              const jf_tensor *y)
{
  const jf_conv *a = c->attr;
  conv_args r = { .count = jf_numel(&c->out[0].shape), .x = conv_tensor_of(a, &x->shape),
                  .f = conv_tensor_of(a, &f->shape),
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

/* Adds the kernel `name`: place has those of x, f and y in data. */
static jfl_status conv_add(jf_kargs *k, const char *name, const int *place, const jf_epilogue *e,
                           jf_cuda_grid grid, const conv_args *a)
{
  const jfl_dtype t = k->out[0].dtype;
  jf_text text = { 0 };
  char *define;
  jfl_status s = jf_formula_act(&text, e->act, t);
  JF_TRY(jf_text_take(&text, &define));
  const jf_cuda_source source = { "convolution", jf_cuda_text_conv, define, {
    JF_AS_DTYPE("T", k->in[0].dtype), JF_AS_DTYPE("O", t),
    JF_AS_NUMBER("X", place[0]), JF_AS_NUMBER("F", place[1]), JF_AS_NUMBER("Y", place[2]),
    JF_AS_NUMBER("BIAS", e->bias ? 2 : 0),
    JF_AS_NUMBER("RESIDUAL", e->residual ? 2 + (e->bias != 0) : 0) } };
  if (!s && a->count) s = jf_cuda_prepare(k, &source, name, grid, a, sizeof *a);
  jf_free(define);
  return s;
}

static const jf_epilogue conv_no_epilogue;

static jfl_status conv_prepare(jf_kargs *k)
{
  const jf_conv *a = k->attr;
  const int place[] = { 0, 1, k->n_in };
  const jf_epilogue *e = k->n_in > 2 || a->epilogue.act ? &a->epilogue : &conv_no_epilogue;
  const conv_args c = conv_args_of(k, &k->in[0], &k->in[1], &k->out[0]);
  return conv_add(k, "conv", place, e, jf_cuda_grid_of(k, c.count), &c);
}

static jfl_status conv_data_prepare(jf_kargs *k)
{
  const int place[] = { 2, 0, 1 };
  const conv_args c = conv_args_of(k, &k->out[0], &k->in[0], &k->in[1]);
  return conv_add(k, "conv_data_grad", place, &conv_no_epilogue, jf_cuda_grid_of(k, c.count), &c);
}

static jfl_status conv_filter_prepare(jf_kargs *k)
{
  enum { THREADS = 256, WAVES = 512 };
  const int place[] = { 0, 2, 1 };
  const conv_args c = conv_args_of(k, &k->in[0], &k->out[0], &k->in[1]);
  JF_TRY(conv_add(k, "conv_filter_grad", place, &conv_no_epilogue,
                  jf_cuda_grid_within(k, c.count, THREADS, WAVES), &c));
  return k->n_out > 1 ? jf_conv_bias_grad_add(k) : JFL_OK;
}

JFL_CUDA(cuda_conv,
  JF_CUDA_LAUNCHED("conv1d conv2d conv3d conv2d_fused", conv_accepts, conv_prepare))
JFL_CUDA(cuda_conv_data_grad,
  JF_CUDA_LAUNCHED("conv1d_data_grad conv2d_data_grad conv3d_data_grad", conv_accepts,
                   conv_data_prepare))
JFL_CUDA(cuda_conv_filter_grad,
  JF_CUDA_LAUNCHED("conv1d_filter_grad conv2d_filter_grad conv3d_filter_grad", conv_accepts,
                   conv_filter_prepare))

#endif
