/* Matrix products, one or a batch, and what is added and applied to them. Each block makes a square
   of the result; its threads keep 4 x 4 sums each, and read both operands through shared memory. */
#ifndef JF_DEVICE
#include "blocks.cuh"
#include "formula.h"
#include "op/op.h"
#include "op/quantized.h"
#include "optim/matmul_update.h"

#include <stdio.h>
#endif

enum { MATMUL_SIDE = 64, MATMUL_DEPTH = 16, MATMUL_THREADS = 256 };

/* y is m x n, so many squares down and across; operands have k columns and rows, and lie with these
   steps, in elements. */
typedef struct matmul_args {
  struct jf_cuda_head head;
  int64_t batch, m, n, k, down, across;
  int64_t a_row, a_column, b_row, b_column;
} matmul_args;

#ifdef JF_DEVICE

/* The source is given T, the operands' type; P, that of products and sums; A, that in which act
   works; O, the result's; places in data: A_AT, B_AT, Y, BIAS and RESIDUAL or 0; STEP, the place of
   the numbers of a step along the product, of which RATE and SCALE are two, or 0; and act(a). At
   KEEP what act reads is written, too; at KEPT, of type K, lies what act reads whose result the
   product is multiplied by; and at SUMS the sums of a, or of b if OF_B, are written; each is 0 if
   there is none. With NUMBERS b has rows in few bits (blocks.cuh). */
template <class N> struct matmul_sum {
  N sum;
  JF_INLINE void begin() { sum = 0; }
  JF_INLINE void add(N v) { sum += v; }
  JF_INLINE N value() const { return sum; }
};

/* Sums of float of a tile are joined with what rounding lost of them (Knuth's two-sum), which is
   nearly as exact as a double and fast on every GPU. */
template <> struct matmul_sum<float> {
  float sum, lost;
  JF_INLINE void begin() { sum = lost = 0; }
  JF_INLINE void add(float v)
  {
    const float to = sum + v, part = to - sum;
    lost += (sum - (to - part)) + (v - part);
    sum = to;
  }
  /* Where sums overflow, what they lost is no number. */
  JF_INLINE float value() const { return lost - lost == 0 ? sum + lost : sum; }
};

/* Element (l, column) of b. */
JF_INLINE P matmul_right(const matmul_args &p, int64_t number, int64_t l, int64_t column)
{
#ifdef NUMBERS
  return block_number((const W *)p.head.data[B_AT] + column * (p.k / NUMBERS), l);
#endif
#ifndef NUMBERS
  const T *b = (const T *)p.head.data[B_AT] + number * p.k * p.n;
  return (P)jf_load(b[l * p.b_row + column * p.b_column]);
#endif
}

/* Reads a tile of a and one of b, both from depth k0 on, and 0 beyond the ends. Neighbouring
   threads read neighbouring elements. */
JF_INLINE void matmul_read(const matmul_args &p, int64_t number, int64_t row0, int64_t column0,
                           int64_t k0, P (*a_tile)[MATMUL_SIDE + 1], P (*b_tile)[MATMUL_SIDE + 1])
{
  const T *a = (const T *)p.head.data[A_AT] + number * p.m * p.k;
  for (int i = threadIdx.x; i < MATMUL_SIDE * MATMUL_DEPTH; i += MATMUL_THREADS) {
    const int al = p.a_column == 1 ? i % MATMUL_DEPTH : i / MATMUL_SIDE;
    const int ar = p.a_column == 1 ? i / MATMUL_DEPTH : i % MATMUL_SIDE;
    const int bl = p.b_column == 1 ? i / MATMUL_SIDE : i % MATMUL_DEPTH;
    const int bc = p.b_column == 1 ? i % MATMUL_SIDE : i / MATMUL_DEPTH;
    a_tile[al][ar] = row0 + ar < p.m && k0 + al < p.k
      ? (P)jf_load(a[(row0 + ar) * p.a_row + (k0 + al) * p.a_column]) : (P)0;
    b_tile[bl][bc] = column0 + bc < p.n && k0 + bl < p.k
      ? matmul_right(p, number, k0 + bl, column0 + bc) : (P)0;
  }
}

JF_INLINE void matmul_write(const matmul_args &p, int64_t number, int64_t row, int64_t column,
                            P sum)
{
  const int64_t at = number * p.m * p.n + row * p.n + column;
  O *y = (O *)p.head.data[Y] + at;
  A v = (A)sum;
  if (STEP) {
    const double *scalar = (const double *)p.head.data[STEP];
    v = (A)jf_load(*y) - (A)(scalar[RATE] * scalar[SCALE]) * v;
  }
  if (BIAS) v += (A)jf_load(((const O *)p.head.data[BIAS])[column]);
  if (RESIDUAL) v += (A)jf_load(((const O *)p.head.data[RESIDUAL])[at]);
  if (KEEP) jf_store((O *)p.head.data[KEEP] + at, v);
  jf_store(y, KEPT ? v * act((A)jf_load(((const K *)p.head.data[KEPT])[at])) : act(v));
}

/* Adds up what a tile of the factor that is summed has in this thread's line. */
JF_INLINE void matmul_add_line(const P (*tile)[MATMUL_SIDE + 1], matmul_sum<P> &line)
{
  P part = 0;
  if (threadIdx.x >= MATMUL_SIDE) return;
  for (int l = 0; l < MATMUL_DEPTH; l++) part += tile[l][threadIdx.x];
  line.add(part);
}

/* The first blocks across, or down, write the sums of all lines of a, or of b. */
JF_INLINE void matmul_write_line(const matmul_args &p, int64_t row0, int64_t column0, P sum)
{
  const int64_t at = (OF_B ? column0 : row0) + threadIdx.x;
  if (threadIdx.x >= MATMUL_SIDE || (OF_B ? row0 : column0) || at >= (OF_B ? p.n : p.m)) return;
  jf_store((O *)p.head.data[SUMS] + at, (A)sum);
}

JF_KERNEL matmul(const matmul_args p)
{
  __shared__ P a_tile[MATMUL_DEPTH][MATMUL_SIDE + 1], b_tile[MATMUL_DEPTH][MATMUL_SIDE + 1];
  const int64_t squares = p.down * p.across;
  const int64_t number = blockIdx.x / squares, square = blockIdx.x % squares;
  const int64_t row0 = square / p.across * MATMUL_SIDE, column0 = square % p.across * MATMUL_SIDE;
  const int ty = threadIdx.x / 16, tx = threadIdx.x % 16;
  matmul_sum<P> sum[4][4], line;
  line.begin();
  if (STEP && jf_halted(p.head)) return;
  for (int i = 0; i < 16; i++) sum[i / 4][i % 4].begin();
  for (int64_t k0 = 0; k0 < p.k; k0 += MATMUL_DEPTH) {
    P part[4][4] = { { 0 } };
    matmul_read(p, number, row0, column0, k0, a_tile, b_tile);
    __syncthreads();
    for (int l = 0; l < MATMUL_DEPTH; l++)
      for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) part[i][j] += a_tile[l][ty + 16 * i] * b_tile[l][tx + 16 * j];
    if (SUMS) matmul_add_line(OF_B ? b_tile : a_tile, line);
    __syncthreads();
    for (int i = 0; i < 16; i++) sum[i / 4][i % 4].add(part[i / 4][i % 4]);
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      const int64_t row = row0 + ty + 16 * i, column = column0 + tx + 16 * j;
      if (row < p.m && column < p.n) matmul_write(p, number, row, column, sum[i][j].value());
    }
  if (SUMS) matmul_write_line(p, row0, column0, line.value());
}

#else

extern const char jf_cuda_text_matmul[];

static int matmul_accepts(const jf_kargs *k)
{
  const jf_matmul *a = k->attr;
  return !a->panel && jf_numel(&k->out[0].shape) > 0;
}

/* A product of which only sums are left has squares, too. */
static int matmul_summed_accepts(const jf_kargs *k)
{
  const jf_matmul *a = k->attr;
  return !a->panel && jf_numel(&k->out[0].shape) + jf_numel(&k->out[1].shape) > 0;
}

static int64_t matmul_squares(int64_t lines)
{
  return lines > MATMUL_SIDE ? (lines + MATMUL_SIDE - 1) / MATMUL_SIDE : 1;
}

static matmul_args matmul_args_of(const jf_kargs *k)
{
  const jf_matmul *p = k->attr;
  const jfl_shape *y = &k->out[0].shape, *a = &k->in[0].shape;
  matmul_args r = { .batch = 1, .m = y->d[y->n - 2], .n = y->d[y->n - 1] };
  r.k = a->d[p->transpose_a ? a->n - 2 : a->n - 1];
  r.down = matmul_squares(r.m);
  r.across = matmul_squares(r.n);
  for (int i = 0; i < y->n - 2; i++) r.batch *= y->d[i];
  r.a_row = p->transpose_a ? 1 : r.k;
  r.a_column = p->transpose_a ? r.m : 1;
  r.b_row = p->transpose_b ? 1 : r.n;
  r.b_column = p->transpose_b ? r.k : 1;
  return r;
}

/* The places in data of the factors and the product, and of what a call has beside them; 0: it has
   no such tensor. */
typedef struct matmul_places {
  int a, b, y, bias, residual, step, keep, kept, sums, of_b;
} matmul_places;

static matmul_places matmul_places_of(const jf_kargs *k, const jf_epilogue *e)
{
  return (matmul_places){ .b = 1, .y = k->n_in, .bias = e->bias ? 2 : 0,
                          .residual = e->residual ? 2 + (e->bias != 0) : 0 };
}

/* Prepares k, whose product as a call of matmul is `product`. Sums of integers wrap around. */
static jfl_status matmul_make(jf_kargs *k, const jf_kargs *product, const char *act,
                              const matmul_places *p, jf_text *define)
{
  const jfl_dtype in = product->in[0].dtype, out = product->out[0].dtype;
  const matmul_args a = matmul_args_of(product);
  const jf_cuda_grid grid = { a.down * a.across * a.batch, MATMUL_THREADS, 0 };
  char *text;
  jfl_status s = jf_formula_act(define, act, out);
  JF_TRY(jf_text_take(define, &text));
  const jf_cuda_source source = { "matmul", jf_cuda_text_matmul, text, {
    JF_AS_DTYPE("T", in), JF_AS_DTYPE("O", out),
    JF_AS_DTYPE("K", p->kept ? k->in[p->kept].dtype : out),
    JF_AS_TYPE("P", in == JFL_F64 ? "double" : jf_is_float(in) ? "float" : "uint64_t"),
    JF_AS_NUMBER("A_AT", p->a), JF_AS_NUMBER("B_AT", p->b), JF_AS_NUMBER("Y", p->y),
    JF_AS_NUMBER("BIAS", p->bias), JF_AS_NUMBER("RESIDUAL", p->residual),
    JF_AS_NUMBER("STEP", p->step), JF_AS_NUMBER("KEEP", p->keep), JF_AS_NUMBER("KEPT", p->kept),
    JF_AS_NUMBER("SUMS", p->sums), JF_AS_NUMBER("OF_B", p->of_b),
    JF_AS_NUMBER("RATE", JF_RATE), JF_AS_NUMBER("SCALE", JF_SCALE) } };
  if (!s) s = jf_cuda_prepare(k, &source, "matmul", grid, &a, sizeof a);
  jf_free(text);
  return s;
}

static jfl_status matmul_prepare(jf_kargs *k, const matmul_places *p, const char *act)
{
  return matmul_make(k, k, act, p, &(jf_text){ 0 });
}

static jfl_status matmul_prepare_alone(jf_kargs *k)
{
  return matmul_prepare(k, &(matmul_places){ .b = 1, .y = k->n_in }, NULL);
}

static jfl_status matmul_prepare_fused(jf_kargs *k)
{
  const jf_epilogue *e = &((const jf_matmul_fused *)k->attr)->epilogue;
  const matmul_places p = matmul_places_of(k, e);
  return matmul_prepare(k, &p, e->act);
}

static jfl_status matmul_prepare_kept(jf_kargs *k)
{
  const jf_epilogue *e = &((const jf_matmul_fused *)k->attr)->epilogue;
  matmul_places p = matmul_places_of(k, e);
  p.keep = k->n_in + 1;
  return matmul_prepare(k, &p, e->act);
}

static jfl_status matmul_prepare_slope(jf_kargs *k)
{
  return matmul_prepare(k, &(matmul_places){ .b = 1, .y = k->n_in, .kept = 2 },
                        ((const jf_matmul_slope *)k->attr)->act);
}

static jfl_status matmul_prepare_summed(jf_kargs *k)
{
  const matmul_places p = { .b = 1, .y = k->n_in, .sums = k->n_in + 1,
                            .of_b = ((const jf_matmul_summed *)k->attr)->of };
  return matmul_prepare(k, &p, NULL);
}

static int matmul_stored_accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 && jf_numel(&k->out[0].shape) > 0;
}

/* A product of all rows of x with rows in few bits. */
static jfl_status matmul_prepare_stored(jf_kargs *k)
{
  const int64_t n = k->in[1].shape.d[0], rows = jf_numel(&k->out[0].shape) / n;
  jf_kargs p = *k;
  jf_tensor x = k->in[0], y = k->out[0];
  jf_text define = { 0 };
  x.shape = (jfl_shape){ 2, { rows, jf_stored_width(&k->in[1]) } };
  y.shape = (jfl_shape){ 2, { rows, n } };
  p.in = &x;
  p.out = &y;
  jf_blocks_define(&define, k->in[1].dtype);
  return matmul_make(k, &p, NULL, &(matmul_places){ .b = 1, .y = k->n_in }, &define);
}

static int matmul_update_accepts(const jf_kargs *k) { return !((const jf_matmul *)k->attr)->panel; }

static jfl_status matmul_prepare_update(jf_kargs *k)
{
  const jf_kargs p = jf_step_product(k);
  const matmul_places places = { .a = JF_STEP_A, .b = JF_STEP_B, .y = JF_STEP_PARAM,
                                 .step = JF_STEP_SCALARS };
  if (jf_numel(&p.out[0].shape) == 0) return JFL_OK;      /* there is nothing to change */
  return matmul_make(k, &p, NULL, &places, &(jf_text){ 0 });
}

JFL_CUDA(cuda_matmul, JF_CUDA_LAUNCHED("matmul", matmul_accepts, matmul_prepare_alone))
JFL_CUDA(cuda_matmul_fused, JF_CUDA_LAUNCHED("matmul_fused", matmul_accepts, matmul_prepare_fused))
JFL_CUDA(cuda_matmul_kept, JF_CUDA_LAUNCHED("matmul_kept", matmul_accepts, matmul_prepare_kept))
JFL_CUDA(cuda_matmul_slope, JF_CUDA_LAUNCHED("matmul_slope", matmul_accepts, matmul_prepare_slope))
JFL_CUDA(cuda_matmul_summed, JF_CUDA_LAUNCHED("matmul_summed", matmul_summed_accepts,
                                              matmul_prepare_summed))
JFL_CUDA(cuda_quantized_matmul, JF_CUDA_LAUNCHED("quantized_matmul", matmul_stored_accepts,
                                                 matmul_prepare_stored))
JFL_CUDA(cuda_matmul_update, JF_CUDA_LAUNCHED("matmul_update", matmul_update_accepts,
                                              matmul_prepare_update))

#endif
