/* Matrix products: float32 by oneDNN or, where it is not installed, by jfl's own loops; float64 by
   OpenBLAS. */
#include "op/op.h"
#include "optim/matmul_update.h"

#include "blas.h"
#include "dnnl.h"
#include "finish.h"
#include "own/own.h"
#include "pieces.h"

static jf_primitive_matmul fast_matmul_extents(const jf_kargs *k)
{
  const jf_matmul *a = k->attr;
  const jfl_shape *x = &k->in[0].shape, *y = &k->out[0].shape;
  int n = y->n;
  jf_primitive_matmul m = {
    .batch = 1, .m = y->d[n - 2], .k = x->d[a->transpose_a ? n - 2 : n - 1], .n = y->d[n - 1],
    .transpose_a = a->transpose_a, .transpose_b = a->transpose_b, .panel = a->panel
  };
  for (int i = 0; i < n - 2; i++) m.batch *= y->d[i];
  return m;
}

/* Whether jf's own loops take the call. */
static int own_matmul_accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 && !((const jf_matmul *)k->attr)->panel;
}

static int own_update_accepts(const jf_kargs *k)
{
  const jf_kargs p = jf_step_product(k);
  return own_matmul_accepts(&p);
}

/* What the call does to its product. */
static const jf_epilogue *fast_matmul_epilogue(const jf_kargs *k)
{
  static const jf_epilogue none;
  return k->op == &jf_op_matmul_fused ? &((const jf_matmul_fused *)k->attr)->epilogue : &none;
}

static jfl_status matmul_prepare(const jf_primitives *lib, jf_kargs *k)
{
  jf_primitive_matmul m = fast_matmul_extents(k);
  m.epilogue = *fast_matmul_epilogue(k);
  return jf_pieces_matmul(lib, &m, k);
}

static jfl_status fast_matmul_run(const jf_kargs *k)
{
  const jf_epilogue *e = fast_matmul_epilogue(k);
  jf_primitive_run r = {
    .a = k->in[0].data, .b = k->in[1].data, .c = k->out[0].data,
    .bias = jf_epilogue_bias(k, e), .residual = jf_epilogue_residual(k, e)
  };
  return jf_pieces_run(k, r);
}

/* ---- with an epilogue that the library does not know ---- */

static jfl_status fast_matmul_finish(const jf_kargs *k)
{
  const jf_matmul_fused *a = k->attr;
  return jf_finish(k, &a->epilogue, k->out[0].shape.n - 1, 0);
}

static int dnnl_then_accepts(const jf_kargs *k)
{
  return k->out[0].dtype == JFL_F32 && jf_dnnl_accepts(k);
}

static jfl_status matmul_then_prepare(const jf_primitives *lib, jf_kargs *k)
{
  jf_primitive_matmul m = fast_matmul_extents(k);
  return jf_pieces_matmul(lib, &m, k);
}

static jfl_status matmul_then_run(const jf_kargs *k)
{
  JF_TRY(jf_pieces_run(k, (jf_primitive_run){ .a = k->in[0].data, .b = k->in[1].data,
                                              .c = k->out[0].data }));
  return fast_matmul_finish(k);
}

/* ---- with a step along the product ---- */

/* The smaller factor, 0 or 1. The rate is multiplied into a copy of it at the start of scratch, or
   into the first factor where that is copied anyhow. */
static int lesser(const jf_kargs *p)
{
  return jf_numel(&p->in[1].shape) < jf_numel(&p->in[0].shape);
}

static size_t copy_size(const jf_kargs *p)
{
  if (jf_pieces_scale(p->state)) return 0;
  const size_t size = (size_t)jf_numel(&p->in[lesser(p)].shape) * sizeof(float);
  return (size + 63) / 64 * 64;
}

static jfl_status matmul_update_run(const jf_kargs *k)
{
  jf_kargs p = jf_step_product(k);
  const int i = lesser(&p);
  const float *from = p.in[i].data, rate = (float)-jf_step_rate(k);
  float *to = k->scratch;
  p.scratch = (char *)k->scratch + copy_size(&p);
  const void *factor[] = { p.in[0].data, p.in[1].data };
  const int scales = jf_pieces_scale(p.state);
  for (int64_t j = 0, n = scales ? 0 : jf_numel(&p.in[i].shape); j < n; j++) to[j] = rate * from[j];
  if (!scales) factor[i] = to;
  return jf_pieces_run(&p, (jf_primitive_run){ .a = factor[0], .b = factor[1], .c = p.out[0].data,
                                          .scale = scales ? &rate : NULL });
}

static jfl_status matmul_update_prepare(const jf_primitives *lib, jf_kargs *k)
{
  jf_kargs p = jf_step_product(k);
  jf_primitive_matmul m = fast_matmul_extents(&p);
  m.add = 1;
  JF_TRY(jf_pieces_matmul(lib, &m, &p));
  k->state = p.state;
  k->scratch_size = p.scratch_size + copy_size(&p);
  return JFL_OK;
}

/* ---- rows ---- */

/* The functions that prepare a call, for one of the libraries. */
#define PREPARES(id, kind, lib) \
  static jfl_status id##_##kind(jf_kargs *k) { return matmul_##kind(lib, k); }
#define PREPARES_ALL(id, lib) \
  PREPARES(id, prepare, lib) PREPARES(id, then_prepare, lib) PREPARES(id, update_prepare, lib)
PREPARES_ALL(dnnl, jf_dnnl_open())
PREPARES_ALL(own, jf_own_units())

JFL_CPU(dnnl_matmul, .op = "matmul matmul_fused", .accepts = jf_dnnl_accepts,
        .prepare = dnnl_prepare, .run = fast_matmul_run, JF_BY_PIECES, .priority = JF_LIBRARY)
JFL_CPU(dnnl_matmul_then, .op = "matmul_fused", .accepts = dnnl_then_accepts,
        .prepare = dnnl_then_prepare, .run = matmul_then_run, JF_BY_PIECES,
        .priority = JF_LIBRARY + JF_IN_TWO)
JFL_CPU(dnnl_matmul_update, .op = "matmul_update", .accepts = jf_dnnl_accepts,
        .prepare = dnnl_update_prepare, .run = matmul_update_run, JF_BY_PIECES,
        .priority = JF_LIBRARY)

JFL_CPU(own_matmul, .op = "matmul matmul_fused", .accepts = own_matmul_accepts,
        .prepare = own_prepare, .run = fast_matmul_run, JF_BY_PIECES, .priority = JF_OWN_FIRST)
JFL_CPU(own_matmul_then, .op = "matmul_fused", .accepts = own_matmul_accepts,
        .prepare = own_then_prepare, .run = matmul_then_run, JF_BY_PIECES,
        .priority = JF_OWN_FIRST + JF_IN_TWO)
JFL_CPU(own_matmul_update, .op = "matmul_update", .accepts = own_update_accepts,
        .prepare = own_update_prepare, .run = matmul_update_run, JF_BY_PIECES,
        .priority = JF_OWN_FIRST)

/* ---- OpenBLAS ---- */

/* Each tile of c is computed by one thread. Tiles have a fixed size, so sums do not depend on the
   number of threads, and OpenBLAS needs no threads of its own. */
enum { TILE_M = 192, TILE_N = 192 };

typedef struct blas_job {
  jf_blas multiply;
  jf_primitive_matmul m;
  const double *a, *b;
  double *c;
  double alpha, beta;          /* c = alpha a b + beta c */
  int64_t rows, columns;       /* how many tiles one matrix has, down and across */
} blas_job;

static void tile(void *ctx, int i)
{
  const blas_job *j = ctx;
  const jf_primitive_matmul *m = &j->m;
  int64_t at = i % (j->rows * j->columns), batch = i / (j->rows * j->columns);
  int64_t r = at / j->columns * TILE_M, c = at % j->columns * TILE_N;
  jf_gemm g = {
    .trans_a = m->transpose_a, .trans_b = m->transpose_b,
    .m = (int)(m->m - r < TILE_M ? m->m - r : TILE_M),
    .n = (int)(m->n - c < TILE_N ? m->n - c : TILE_N), .k = (int)m->k,
    .lda = (int)(m->transpose_a ? m->m : m->k), .ldb = (int)(m->transpose_b ? m->k : m->n),
    .ldc = (int)m->n, .alpha = j->alpha, .beta = j->beta
  };
  int64_t a = batch * m->m * m->k + (m->transpose_a ? r : r * m->k);
  int64_t b = batch * m->k * m->n + (m->transpose_b ? c * m->k : c);
  g.a = j->a + a;
  g.b = j->b + b;
  g.c = j->c + batch * m->m * m->n + r * m->n + c;
  j->multiply(&g);
}

static int blas_accepts(const jf_kargs *k)
{
  jf_primitive_matmul m = fast_matmul_extents(k);
  if (k->in[0].dtype != JFL_F64 || m.panel) return 0;
  if (m.batch * (m.m / TILE_M + 1) * (m.n / TILE_N + 1) > INT32_MAX) return 0;
  return m.m <= INT32_MAX && m.n <= INT32_MAX && m.k <= INT32_MAX && jf_blas_open() != NULL;
}

static jfl_status blas_product(const jf_kargs *k, double alpha, double beta)
{
  jf_primitive_matmul m = fast_matmul_extents(k);
  blas_job j = {
    .multiply = jf_blas_open(), .m = m, .alpha = alpha, .beta = beta,
    .a = k->in[0].data, .b = k->in[1].data, .c = k->out[0].data,
    .rows = (m.m + TILE_M - 1) / TILE_M, .columns = (m.n + TILE_N - 1) / TILE_N
  };
  JF_TRY(jf_time_for_call(2.0 * TILE_M * TILE_N * (double)m.k));
  jf_parallel(k->threads, (int)(m.batch * j.rows * j.columns), tile, &j);
  return JFL_OK;
}

static jfl_status blas_run(const jf_kargs *k)
{
  JF_TRY(blas_product(k, 1, 0));
  return k->op == &jf_op_matmul_fused ? fast_matmul_finish(k) : JFL_OK;
}

JFL_CPU(blas_matmul, .op = "matmul matmul_fused", .accepts = blas_accepts, .run = blas_run)

static int blas_update_accepts(const jf_kargs *k)
{
  const jf_kargs p = jf_step_product(k);
  return blas_accepts(&p);
}

static jfl_status blas_update_run(const jf_kargs *k)
{
  const jf_kargs p = jf_step_product(k);
  return blas_product(&p, -jf_step_rate(k), 1);
}

JFL_CPU(blas_matmul_update, .op = "matmul_update", .accepts = blas_update_accepts,
  .run = blas_update_run)
