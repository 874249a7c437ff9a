/* Matrix products, one or a batch, and what is added and applied to them. Each block makes a square
   of the result; its threads keep 4 x 4 sums each, and read both operands through shared memory. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "formula.h"
#include "op/op.h"
#include "optim/matmul_update.h"

#include <stdio.h>
#endif

enum { MATMUL_SIDE = 64, MATMUL_DEPTH = 16, MATMUL_THREADS = 256 };

/* y is m x n; operands have k columns and rows, and lie with these steps, in elements. */
typedef struct matmul_args {
  struct jf_cuda_head head;
  int64_t batch, m, n, k;
  int64_t a_row, a_column, b_row, b_column;
} matmul_args;

#ifdef JF_DEVICE

/* The source is given T, the operands' type; A, that in which act works; S, that of products and
   sums, which is double for floats, as plain kernels have it; O, the result's; Y, its place in data;
   BIAS and RESIDUAL, their places or 0; and act(a). */
JF_INLINE void matmul_tiles(const matmul_args &p, const T *a, const T *b, int64_t row0,
                            int64_t column0, S (*sum)[4])
{
  __shared__ A a_tile[MATMUL_DEPTH][MATMUL_SIDE + 1], b_tile[MATMUL_DEPTH][MATMUL_SIDE + 1];
  const int t = threadIdx.x, ty = t / 16, tx = t % 16;
  for (int64_t k0 = 0; k0 < p.k; k0 += MATMUL_DEPTH) {
    for (int i = t; i < MATMUL_SIDE * MATMUL_DEPTH; i += MATMUL_THREADS) {
      /* Neighbouring threads read neighbouring elements. */
      const int al = p.a_column == 1 ? i % MATMUL_DEPTH : i / MATMUL_SIDE;
      const int ar = p.a_column == 1 ? i / MATMUL_DEPTH : i % MATMUL_SIDE;
      const int bl = p.b_column == 1 ? i / MATMUL_SIDE : i % MATMUL_DEPTH;
      const int bc = p.b_column == 1 ? i % MATMUL_SIDE : i / MATMUL_DEPTH;
      a_tile[al][ar] = row0 + ar < p.m && k0 + al < p.k
        ? (A)jf_load(a[(row0 + ar) * p.a_row + (k0 + al) * p.a_column]) : (A)0;
      b_tile[bl][bc] = column0 + bc < p.n && k0 + bl < p.k
        ? (A)jf_load(b[(k0 + bl) * p.b_row + (column0 + bc) * p.b_column]) : (A)0;
    }
    __syncthreads();
    for (int l = 0; l < MATMUL_DEPTH; l++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
          sum[i][j] += (S)a_tile[l][ty + 16 * i] * (S)b_tile[l][tx + 16 * j];
    __syncthreads();
  }
}

/* The square of a block: its number in the batch, and its first row and column. */
struct matmul_square { int64_t number, row0, column0; };

JF_INLINE matmul_square matmul_square_of(const matmul_args &p)
{
  const int64_t down = (p.m + MATMUL_SIDE - 1) / MATMUL_SIDE;
  const int64_t across = (p.n + MATMUL_SIDE - 1) / MATMUL_SIDE;
  const int64_t square = blockIdx.x % (down * across);
  return { blockIdx.x / (down * across), square / across * MATMUL_SIDE,
           square % across * MATMUL_SIDE };
}

#ifdef Y

JF_KERNEL matmul(const matmul_args p)
{
  const matmul_square q = matmul_square_of(p);
  S sum[4][4] = { { 0 } };
  matmul_tiles(p, (const T *)p.head.data[0] + q.number * p.m * p.k,
               (const T *)p.head.data[1] + q.number * p.k * p.n, q.row0, q.column0, sum);
  O *y = (O *)p.head.data[Y] + q.number * p.m * p.n;
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const int64_t row = q.row0 + threadIdx.x / 16 + 16 * i;
      const int64_t column = q.column0 + threadIdx.x % 16 + 16 * j;
      if (row >= p.m || column >= p.n) continue;
      S v = sum[i][j];
      if (BIAS) v += (S)jf_load(((const O *)p.head.data[BIAS])[column]);
      const int64_t at = row * p.n + column;
      if (RESIDUAL)
        v += (S)jf_load(((const O *)p.head.data[RESIDUAL])[q.number * p.m * p.n + at]);
      jf_store(&y[at], act((A)v));
    }
}

#endif
#ifndef Y

/* A parameter's step along a product; data is the parameter, both operands, the step's numbers. */
JF_KERNEL matmul_update(const matmul_args p)
{
  const double *scalar = (const double *)p.head.data[3];
  if (jf_halted(p.head) || scalar[JF_SCALE] < 0) return;
  const matmul_square q = matmul_square_of(p);
  const T rate = (T)(scalar[JF_RATE] * scalar[JF_SCALE]);
  S sum[4][4] = { { 0 } };
  matmul_tiles(p, (const T *)p.head.data[1], (const T *)p.head.data[2], q.row0, q.column0, sum);
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const int64_t row = q.row0 + threadIdx.x / 16 + 16 * i;
      const int64_t column = q.column0 + threadIdx.x % 16 + 16 * j;
      if (row < p.m && column < p.n)
        ((T *)p.head.data[0])[row * p.n + column] -= rate * (T)sum[i][j];
    }
}

#endif

#else

extern const char jf_cuda_text_matmul[];

static int matmul_accepts(const jf_kargs *k)
{
  const jf_matmul *a = k->attr;
  const jfl_dtype t = k->in[0].dtype;
  return (jf_is_float(t) || t == JFL_I32 || t == JFL_I64) && !a->panel;
}

static int matmul_accepts_float(const jf_kargs *k)
{
  return jf_is_float(k->in[0].dtype) && matmul_accepts(k);
}

static matmul_args matmul_args_of(const jf_kargs *k)
{
  const jf_matmul *p = k->attr;
  const jfl_shape *y = &k->out[0].shape, *a = &k->in[0].shape;
  matmul_args r = { .batch = 1, .m = y->d[y->n - 2], .n = y->d[y->n - 1] };
  r.k = a->d[p->transpose_a ? a->n - 2 : a->n - 1];
  for (int i = 0; i < y->n - 2; i++) r.batch *= y->d[i];
  r.a_row = p->transpose_a ? 1 : r.k;
  r.a_column = p->transpose_a ? r.m : 1;
  r.b_row = p->transpose_b ? 1 : r.n;
  r.b_column = p->transpose_b ? r.k : 1;
  return r;
}

static jf_cuda_grid matmul_grid(const matmul_args *a)
{
  const int64_t squares = ((a->m + MATMUL_SIDE - 1) / MATMUL_SIDE) *
                          ((a->n + MATMUL_SIDE - 1) / MATMUL_SIDE);
  return (jf_cuda_grid){ squares * a->batch, MATMUL_THREADS, 0 };
}

/* Writes the types of sums and of products, and act. Integers wrap. */
static jfl_status matmul_types(jf_text *to, const char *act, jfl_dtype t)
{
  jf_text_add(to, "typedef %s S;\n", jf_is_float(t) ? "double" : "uint64_t");
  if (jf_is_float(t)) return jf_formula_act(to, act, t);
  jf_text_add(to, "typedef uint64_t A;\nJF_INLINE %s act(const A a) { return (%s)a; }\n",
              jf_cuda_stored(t), jf_cuda_stored(t));
  return JFL_OK;
}

static jfl_status matmul_make(jf_kargs *k, const jf_epilogue *e)
{
  const jf_cuda_type types[] = { { "T", k->in[0].dtype }, { "O", k->out[0].dtype },
                                 { NULL, JFL_F32 } };
  const matmul_args a = matmul_args_of(k);
  if (!matmul_grid(&a).blocks) return JFL_OK;
  jf_text define = { 0 };
  char *text;
  jf_text_add(&define, "#define Y %d\n#define BIAS %d\n#define RESIDUAL %d\n", k->n_in,
              e->bias ? 2 : 0, e->residual ? 2 + (e->bias != 0) : 0);
  jfl_status s = matmul_types(&define, e->act, k->out[0].dtype);
  jfl_status taken = jf_text_take(&define, &text);
  if (taken) return taken;
  const jf_cuda_source source = { "matmul", jf_cuda_text_matmul, text };
  if (!s) s = jf_cuda_prepare(k, &source, types, "matmul", matmul_grid(&a), &a, sizeof a);
  jf_free(text);
  return s;
}

static jfl_status matmul_prepare_alone(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return matmul_make(k, &(jf_epilogue){ 0 });
}

static jfl_status matmul_prepare_fused(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return matmul_make(k, &((const jf_matmul_fused *)k->attr)->epilogue);
}

JFL_CUDA(cuda_matmul, JF_CUDA_LAUNCHED("matmul", matmul_accepts, matmul_prepare_alone))
JFL_CUDA(cuda_matmul_fused,
  JF_CUDA_LAUNCHED("matmul_fused", matmul_accepts_float, matmul_prepare_fused))

/* ---- steps along a product ---- */

static int matmul_update_accepts(const jf_kargs *k)
{
  const jf_kargs p = jf_step_product(k);
  const jfl_dtype t = k->in[0].dtype;
  return (t == JFL_F32 || t == JFL_F64) && matmul_accepts_float(&p);
}

static jfl_status cuda_matmul_update_prepare(jf_kargs *k, size_t *scratch)
{
  const jf_kargs p = jf_step_product(k);
  const matmul_args a = matmul_args_of(&p);
  if (!matmul_grid(&a).blocks) return JFL_OK;
  const jf_cuda_type types[] = { { "T", k->in[0].dtype }, { "A", k->in[0].dtype },
                                 { NULL, JFL_F32 } };
  char define[128];
  (void)scratch;
  snprintf(define, sizeof define, "typedef double S;\n%s;\n", jf_step_numbers_text);
  const jf_cuda_source source = { "matmul_update", jf_cuda_text_matmul, define };
  return jf_cuda_prepare(k, &source, types, "matmul_update", matmul_grid(&a), &a, sizeof a);
}

JFL_CUDA(cuda_matmul_update,
  JF_CUDA_LAUNCHED("matmul_update", matmul_update_accepts, cuda_matmul_update_prepare))

#endif
