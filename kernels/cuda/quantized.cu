/* Numbers of weights that are stored in few bits, and products of a few rows with them: a warp
   makes a number of the result for each of these rows, and reads a row of the weight once. */
#ifndef JF_DEVICE
#include "blocks.cuh"
#include "op/quantized.h"
#endif

/* data is x (rows, width), w (n, width), y (rows, n); or x and y, of n numbers. */
typedef struct quantized_args {
  struct jf_cuda_head head;
  int64_t n, width;
} quantized_args;

#ifdef JF_DEVICE

/* The source is given ROWS, how many x has, and AT_ONCE, how many numbers of a row follow each
   other in a lane; blocks.cuh tells of W and NUMBERS. */
struct quantized_sum {
  static __device__ __forceinline__ float of(float a, float b) { return a + b; }
};

JF_KERNEL quantized_rows(const quantized_args a)
{
  const float *x = (const float *)a.head.data[0];
  const W *w = (const W *)a.head.data[1];
  float *y = (float *)a.head.data[2];
  const int lane = threadIdx.x & 31;
  const int64_t warps = (int64_t)gridDim.x * blockDim.x / 32;
  for (int64_t r = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; r < a.n; r += warps) {
    const W *row = w + r * (a.width / NUMBERS);
    float sum[ROWS] = { 0 };
    for (int64_t at = lane * AT_ONCE; at < a.width; at += 32 * AT_ONCE)
      for (int c = 0; c < AT_ONCE; c++) {
        const float v = block_number(row, at + c);
        for (int i = 0; i < ROWS; i++) sum[i] += x[i * a.width + at + c] * v;
      }
    for (int i = 0; i < ROWS; i++) {
      const float all = jf_warp_join<quantized_sum>(sum[i]);
      if (lane == 0) y[i * a.n + r] = all;
    }
  }
}

JF_KERNEL dequantize(const quantized_args a)
{
  JF_EACH(i, a.n) ((float *)a.head.data[1])[i] = block_number((const W *)a.head.data[0], i);
}

#else

extern const char jf_cuda_blocks[], jf_cuda_text_quantized[];

void jf_blocks_define(jf_text *t, jfl_dtype w)
{
  if (jf_is_block(w)) jf_text_add(t, "#define W jf_%s\n", jfl_dtype_name(w));
  else jf_text_add(t, "#define W %s\n", jf_cuda_stored(w));
  jf_text_add(t, "#define NUMBERS %d\n%s", jfl_dtype_numbers(w), jf_cuda_blocks);
}

enum { MOST_ROWS = 8, AT_ONCE = 4 };

static jfl_status quantized_add(jf_kargs *k, const char *name, const jf_tensor *w, int64_t rows,
                                int64_t threads, const quantized_args *a)
{
  jf_text define = { 0 };
  char *text;
  if (!jf_numel(&k->out[0].shape)) return JFL_OK;
  jf_blocks_define(&define, w->dtype);
  JF_TRY(jf_text_take(&define, &text));
  const jf_cuda_source s = { "quantized", jf_cuda_text_quantized, text,
                             { JF_AS_NUMBER("ROWS", rows),
                               JF_AS_NUMBER("AT_ONCE", a->width % AT_ONCE ? 1 : AT_ONCE) } };
  const jfl_status e = jf_cuda_each(k, &s, name, threads, a, sizeof *a);
  jf_free(text);
  return e;
}

static int64_t quantized_count(const jf_kargs *k)
{
  const int64_t n = k->in[1].shape.d[0];
  return n ? jf_numel(&k->out[0].shape) / n : 0;
}

static int quantized_accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 && quantized_count(k) <= MOST_ROWS;
}

static jfl_status quantized_prepare(jf_kargs *k)
{
  const jf_tensor *w = &k->in[1];
  const quantized_args a = { .n = w->shape.d[0], .width = jf_stored_width(w) };
  return quantized_add(k, "quantized_rows", w, quantized_count(k), 32 * a.n, &a);
}

static jfl_status dequantize_prepare(jf_kargs *k)
{
  const quantized_args a = { .n = jf_numel(&k->out[0].shape), .width = 1 };
  return quantized_add(k, "dequantize", &k->in[0], 1, a.n, &a);
}

JFL_CUDA(cuda_quantized_rows,
  JF_CUDA_LAUNCHED("quantized_matmul", quantized_accepts, quantized_prepare),
  .priority = JF_OWN_FIRST)
JFL_CUDA(cuda_dequantize, JF_CUDA_LAUNCHED("dequantize", NULL, dequantize_prepare))

#endif
