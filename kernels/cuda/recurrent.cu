/* The steps of recurrent layers: a launch for each. It multiplies the state before with the weights
   and goes on to what the step does to each unit (op/recurrent.c), so that a block has all gates of
   its rows and units. Steps are in one order on a stream, and sums too. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "recurrent.h"
#endif

/* Rows of the batch in a block; units of a block, forward and back; how much of a sum is read at
   once. */
enum { RNN_ROWS = 32, RNN_UNITS = 16, RNN_BACK_UNITS = 32, RNN_DEPTH = 32, RNN_THREADS = 256 };

/* Addresses of the op's tensors, NULL where the cell has none. t: the step, -1 behind the last one
   on the way back; before: the step taken before it, or -1; back: on the way back, the step that
   was gone through before it, or -1. */
typedef struct recurrent_args {
  const void *x, *weight, *h0, *c0, *bias, *y, *dy, *gates, *cells, *dcells;
  void *to, *to_gates, *to_cells;      /* y and so on, or dx, dh0 and dextra */
  void *dh, *dc;                       /* gradients of the states, between launches */
  int64_t batch, units, t, before, back;
} recurrent_args;

#ifdef JF_DEVICE

/* real is the type of elements and of sums; CELL, GATES and SAVED are given too. */
JF_INLINE const real *recurrent_at(const void *p, int64_t row, int64_t width)
{
  return (const real *)p + row * width;
}

/* Products of the rows of h, one behind the other, with those of the weight for each gate of a
   thread's unit. A thread has rows `row` and `row` + 16 of the block's. */
JF_INLINE void recurrent_products(const recurrent_args &a, const real *h, int64_t row0,
                                  int64_t unit0, real (*sum)[GATES])
{
  __shared__ real left[RNN_ROWS][RNN_DEPTH + 1], right[GATES][RNN_UNITS][RNN_DEPTH + 1];
  const int row = threadIdx.x / RNN_UNITS, unit = threadIdx.x % RNN_UNITS;
  for (int64_t from = 0; from < a.units; from += RNN_DEPTH) {
    __syncthreads();
    for (int i = threadIdx.x; i < RNN_ROWS * RNN_DEPTH; i += RNN_THREADS) {
      const int r = i / RNN_DEPTH, d = i % RNN_DEPTH;
      left[r][d] = row0 + r < a.batch && from + d < a.units
                 ? h[(row0 + r) * a.units + from + d] : (real)0;
    }
    for (int i = threadIdx.x; i < GATES * RNN_UNITS * RNN_DEPTH; i += RNN_THREADS) {
      const int g = i / (RNN_UNITS * RNN_DEPTH), u = i / RNN_DEPTH % RNN_UNITS, d = i % RNN_DEPTH;
      right[g][u][d] = unit0 + u < a.units && from + d < a.units
        ? recurrent_at(a.weight, g * a.units + unit0 + u, a.units)[from + d] : (real)0;
    }
    __syncthreads();
    for (int d = 0; d < RNN_DEPTH; d++) {
      const real one = left[row][d], other = left[row + RNN_ROWS / 2][d];
      for (int g = 0; g < GATES; g++) {
        sum[0][g] += one * right[g][unit][d];
        sum[1][g] += other * right[g][unit][d];
      }
    }
  }
}

JF_KERNEL __launch_bounds__(RNN_THREADS) recurrent_step(const recurrent_args a)
{
  const int64_t n = a.units, across = (n + RNN_UNITS - 1) / RNN_UNITS;
  const int64_t row0 = blockIdx.x / across * RNN_ROWS, unit0 = blockIdx.x % across * RNN_UNITS;
  const int64_t j = unit0 + threadIdx.x % RNN_UNITS;
  const real *h = a.before < 0 ? (const real *)a.h0 : recurrent_at(a.to, a.before * a.batch, n);
  const real *c = CELL != JF_LSTM ? NULL : a.before < 0 ? (const real *)a.c0
                : recurrent_at(a.to_cells, a.before * a.batch, n);
  real sum[2][GATES] = { { 0 } };
  recurrent_products(a, h, row0, unit0, sum);
  for (int half = 0; half < 2; half++) {
    const int64_t b = row0 + threadIdx.x / RNN_UNITS + half * (RNN_ROWS / 2);
    const int64_t row = a.t * a.batch + b;
    if (b >= a.batch || j >= n) continue;
    unit u;
    u.h = h[b * n + j];
    u.c = CELL == JF_LSTM ? c[b * n + j] : (real)0;
    for (int g = 0; g < GATES; g++) {
      u.x[g] = recurrent_at(a.x, row, GATES * n)[g * n + j];
      u.s[g] = sum[half][g] + (CELL == JF_GRU ? ((const real *)a.bias)[g * n + j] : (real)0);
    }
    unit_forward(CELL, &u);
    ((real *)a.to)[row * n + j] = u.h;
    for (int g = 0; g < SAVED; g++) ((real *)a.to_gates)[(row * SAVED + g) * n + j] = u.gate[g];
    if (CELL == JF_LSTM) ((real *)a.to_cells)[row * n + j] = u.c;
  }
}

/* ---- back ---- */

/* Products of rows of s, GATES * units long, with the weight's columns. A thread has a unit, and
   every eighth row of the block's. */
JF_INLINE void recurrent_back_products(const recurrent_args &a, const real *s, int64_t row0,
                                       int64_t unit0, real *sum)
{
  __shared__ real left[RNN_ROWS][RNN_DEPTH + 1], right[RNN_DEPTH][RNN_BACK_UNITS];
  enum { GROUPS = RNN_THREADS / RNN_BACK_UNITS };
  const int64_t m = GATES * a.units;
  const int group = threadIdx.x / RNN_BACK_UNITS, unit = threadIdx.x % RNN_BACK_UNITS;
  for (int64_t from = 0; from < m; from += RNN_DEPTH) {
    __syncthreads();
    for (int i = threadIdx.x; i < RNN_ROWS * RNN_DEPTH; i += RNN_THREADS) {
      const int r = i / RNN_DEPTH, d = i % RNN_DEPTH;
      left[r][d] = row0 + r < a.batch && from + d < m ? s[(row0 + r) * m + from + d] : (real)0;
      const int l = i / RNN_BACK_UNITS, u = i % RNN_BACK_UNITS;
      right[l][u] = from + l < m && unit0 + u < a.units
                  ? recurrent_at(a.weight, from + l, a.units)[unit0 + u] : (real)0;
    }
    __syncthreads();
    for (int d = 0; d < RNN_DEPTH; d++)
      for (int i = 0; i < RNN_ROWS / GROUPS; i++)
        sum[i] += left[group + i * GROUPS][d] * right[d][unit];
  }
}

/* Goes back through step t of unit j of row b, to whose state dh goes. */
JF_INLINE void recurrent_back_unit(const recurrent_args &a, int64_t b, int64_t j, real dh)
{
  const int64_t n = a.units, row = a.t * a.batch + b, at = b * n + j;
  const int64_t old = a.before < 0 ? at : a.before * a.batch * n + at;
  const real *y = (const real *)a.y, *cells = (const real *)a.cells;
  unit_back u;
  u.u.h = y[row * n + j];
  if (CELL == JF_GRU) u.u.h = a.before < 0 ? ((const real *)a.h0)[at] : y[old];
  u.dh = dh + ((const real *)a.dy)[row * n + j];
  u.dc = CELL != JF_LSTM || a.back < 0 ? (real)0 : ((real *)a.dc)[at];
  for (int g = 0; g < SAVED; g++)
    u.u.gate[g] = ((const real *)a.gates)[(row * SAVED + g) * n + j];
  if (CELL == JF_LSTM) {
    u.u.c = cells[row * n + j];
    u.c_before = a.before < 0 ? ((const real *)a.c0)[at] : cells[old];
    if (a.dcells) u.dc += ((const real *)a.dcells)[row * n + j];
  }
  unit_backward(CELL, &u);
  for (int g = 0; g < GATES; g++) {
    ((real *)a.to)[(row * GATES + g) * n + j] = u.u.x[g];
    if (CELL == JF_GRU) ((real *)a.to_cells)[(row * GATES + g) * n + j] = u.u.s[g];
  }
  ((real *)a.dh)[at] = u.dh;
  if (CELL == JF_LSTM) ((real *)a.dc)[at] = u.dc;
}

JF_KERNEL __launch_bounds__(RNN_THREADS) recurrent_back(const recurrent_args a)
{
  enum { GROUPS = RNN_THREADS / RNN_BACK_UNITS };
  const int64_t n = a.units, across = (n + RNN_BACK_UNITS - 1) / RNN_BACK_UNITS;
  const int64_t row0 = blockIdx.x / across * RNN_ROWS, unit0 = blockIdx.x % across * RNN_BACK_UNITS;
  const int64_t j = unit0 + threadIdx.x % RNN_BACK_UNITS;
  real sum[RNN_ROWS / GROUPS] = { 0 };
  if (a.back >= 0)
    recurrent_back_products(a, recurrent_at(CELL == JF_GRU ? a.to_cells : a.to,
                                            a.back * a.batch, GATES * n), row0, unit0, sum);
  for (int i = 0; i < RNN_ROWS / GROUPS; i++) {
    const int64_t b = row0 + threadIdx.x / RNN_BACK_UNITS + i * GROUPS;
    if (b >= a.batch || j >= n) continue;
    const real dh = sum[i] + (a.back < 0 ? (real)0 : ((real *)a.dh)[b * n + j]);
    if (a.t >= 0) {
      recurrent_back_unit(a, b, j, dh);
      continue;
    }
    ((real *)a.to_gates)[b * n + j] = dh;
    if (CELL == JF_LSTM) ((real *)a.to_cells)[b * n + j] = ((real *)a.dc)[b * n + j];
  }
}

#else

extern const char jf_cuda_text_recurrent[];

typedef struct recurrent_call { jf_cuda_kernel *kernel; jf_recurrent_dims d; } recurrent_call;

static int recurrent_accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64;
}

void jf_recurrent_define(jf_text *to, jfl_dtype t, jf_recurrent_cell kind,
                         const jf_recurrent_dims *d)
{
  jf_text_add(to, "#define JF_LOCAL JF_INLINE\ntypedef %s real;\n%s\n%s\n%s\n%s\n"
              "#define CELL ((jf_recurrent_cell)%d)\nenum { GATES = %d, SAVED = %d };\n",
              t == JFL_F64 ? "double" : "float", jf_recurrent_cells_text, jf_unit_text,
              jf_unit_forward_text, jf_unit_backward_text, (int)kind, (int)d->gates,
              (int)d->saved);
}

static jfl_status recurrent_make(jf_kargs *k, jf_recurrent_dims d, const char *name)
{
  recurrent_call *c = jf_new(sizeof *c);
  jf_text text = { 0 };
  char *define;
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  c->d = d;
  jf_recurrent_define(&text, k->in[0].dtype, ((const jf_recurrent *)k->attr)->kind, &d);
  jfl_status e = jf_text_take(&text, &define);
  if (!e) {
    const jf_cuda_source s = { .what = "recurrent layer", .text = jf_cuda_text_recurrent,
                               .define = define };
    e = jf_cuda_find(k, &s, name, &c->kernel);
    jf_free(define);
  }
  if (e) jf_free(c);
  else k->state = c;
  return e;
}

static jfl_status recurrent_prepare(jf_kargs *k)
{
  return recurrent_make(k, jf_recurrent_dims_of(k->attr, &k->in[JF_RNN_X].shape,
                                                &k->in[JF_RNN_H0].shape), "recurrent_step");
}

static jfl_status recurrent_back_prepare(jf_kargs *k)
{
  const jf_tensor *h0 = &k->in[JF_BACK_H0];
  k->scratch_size = 2 * (size_t)jf_numel(&h0->shape) * jfl_dtype_size(h0->dtype);
  return recurrent_make(k, jf_recurrent_dims_of(k->attr, &k->in[JF_BACK_Y].shape, &h0->shape),
                        "recurrent_back");
}

static jf_cuda_grid recurrent_grid(const jf_recurrent_dims *d, int64_t units)
{
  return (jf_cuda_grid){ (d->batch + RNN_ROWS - 1) / RNN_ROWS * ((d->units + units - 1) / units),
                         RNN_THREADS, 0 };
}

/* The data of output i, which a cell may not have. */
static void *recurrent_out(const jf_kargs *k, int i)
{
  return i < k->n_out ? k->out[i].data : NULL;
}

static jfl_status cuda_recurrent_run(const jf_kargs *k)
{
  const jf_recurrent *a = k->attr;
  const recurrent_call *c = k->state;
  const jf_cuda_grid grid = recurrent_grid(&c->d, RNN_UNITS);
  recurrent_args r = { .x = k->in[JF_RNN_X].data, .weight = k->in[JF_RNN_WEIGHT].data,
                       .h0 = k->in[JF_RNN_H0].data, .to = k->out[0].data,
                       .to_gates = recurrent_out(k, 1), .to_cells = recurrent_out(k, 2),
                       .batch = c->d.batch, .units = c->d.units };
  if (a->kind == JF_LSTM) r.c0 = k->in[JF_RNN_EXTRA].data;
  if (a->kind == JF_GRU) r.bias = k->in[JF_RNN_EXTRA].data;
  for (int64_t n = 0; n < c->d.length && grid.blocks; n++) {
    r.t = jf_recurrent_step(a, c->d.length, n);
    r.before = jf_recurrent_before(a, c->d.length, r.t);
    JF_TRY(jf_cuda_launch(k, c->kernel, grid, &r));
  }
  return JFL_OK;
}

static recurrent_args recurrent_back_args(const jf_kargs *k, const jf_recurrent_dims *d)
{
  const jf_recurrent *a = k->attr;
  char *scratch = k->scratch;
  recurrent_args r = { .weight = k->in[JF_BACK_WEIGHT].data, .h0 = k->in[JF_BACK_H0].data,
                       .y = k->in[JF_BACK_Y].data, .dy = k->in[JF_BACK_DY].data,
                       .to = k->out[0].data, .to_gates = k->out[1].data,
                       .to_cells = recurrent_out(k, 2), .dh = scratch,
                       .batch = d->batch, .units = d->units };
  r.dc = scratch + (size_t)(d->batch * d->units) * jfl_dtype_size(k->in[0].dtype);
  if (d->saved) r.gates = k->in[JF_BACK_GATES].data;
  if (a->kind != JF_LSTM) return r;
  r.cells = k->in[JF_BACK_CELLS].data;
  r.c0 = k->in[JF_BACK_C0].data;
  if (k->n_in > JF_BACK_DCELLS) r.dcells = k->in[JF_BACK_DCELLS].data;
  return r;
}

static jfl_status cuda_recurrent_back_run(const jf_kargs *k)
{
  const jf_recurrent *a = k->attr;
  const recurrent_call *c = k->state;
  const jf_cuda_grid grid = recurrent_grid(&c->d, RNN_BACK_UNITS);
  recurrent_args r = recurrent_back_args(k, &c->d);
  r.back = -1;
  for (int64_t n = c->d.length - 1; n >= -1 && grid.blocks; n--) {
    r.t = n < 0 ? -1 : jf_recurrent_step(a, c->d.length, n);
    r.before = n < 0 ? -1 : jf_recurrent_before(a, c->d.length, r.t);
    JF_TRY(jf_cuda_launch(k, c->kernel, grid, &r));
    r.back = r.t;
  }
  return JFL_OK;
}

#define RECURRENTS(op_, prepare_, run_) \
  .op = op_, .accepts = recurrent_accepts, .prepare = prepare_, .run = run_, .release = jf_free
JFL_CUDA(cuda_recurrent, RECURRENTS("recurrent", recurrent_prepare, cuda_recurrent_run))
JFL_CUDA(cuda_recurrent_grad,
  RECURRENTS("recurrent_grad", recurrent_back_prepare, cuda_recurrent_back_run))

#endif
