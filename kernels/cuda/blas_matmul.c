/* Matrix products by cuBLASLt, and what follows them: in the same call where the library has that
   epilogue, else by a kernel of our own (conv_ends.cu). */
#include "conv_ends.h"
#include "dev/cuda/blas.h"
#include "op/matmul.h"

#include <string.h>

typedef struct blas_matmul_call {
  jf_cuda_multiply *multiply;
  jf_conv_ends finish, act;              /* the kernels that follow, if any do */
  size_t aside;                          /* where in scratch `finish` has its own */
} blas_matmul_call;

static void blas_matmul_release(void *state)
{
  blas_matmul_call *c = state;
  jf_cuda_product_free(c->multiply);
  jf_free(c);
}

static int blas_matmul_accepts(const jf_kargs *k)
{
  const jf_matmul *a = k->attr;
  return jf_is_float(k->in[0].dtype) && !a->panel && jf_numel(&k->out[0].shape) > 0 &&
         jf_numel(&k->in[0].shape) > 0;
}

static jf_cuda_product blas_matmul_product_of(const jf_kargs *k)
{
  const jf_matmul *a = k->attr;
  const jfl_shape *x = &k->in[0].shape, *y = &k->out[0].shape;
  jf_cuda_product p = {
    .batch = 1, .m = y->d[y->n - 2], .n = y->d[y->n - 1],
    .k = x->d[a->transpose_a ? x->n - 2 : x->n - 1], .transpose_a = a->transpose_a,
    .transpose_b = a->transpose_b, .in = k->in[0].dtype, .out = k->out[0].dtype, .tf32 = k->tf32
  };
  for (int i = 0; i < y->n - 2; i++) p.batch *= y->d[i];
  return p;
}

static jfl_status blas_matmul_make(jf_kargs *k, const jf_cuda_product *p)
{
  blas_matmul_call *c = jf_new(sizeof *c);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  const jfl_status s = jf_cuda_product_new(k->device->state, p, &c->multiply, &k->scratch_size);
  if (s) blas_matmul_release(c);
  else k->state = c;
  return s;
}

/* Queues the product; `with` has the tensors beside the factors and the result. */
static jfl_status blas_matmul_multiply(const jf_kargs *k, jf_cuda_factors with)
{
  const blas_matmul_call *c = k->state;
  with.a = k->in[0].data;
  with.b = k->in[1].data;
  with.y = k->out[0].data;
  with.scratch = k->scratch;
  return jf_cuda_multiply_run(k, c->multiply, &with);
}

/* ---- alone ---- */

static jfl_status blas_matmul_prepare(jf_kargs *k)
{
  const jf_cuda_product p = blas_matmul_product_of(k);
  return blas_matmul_make(k, &p);
}

static jfl_status blas_matmul_run(const jf_kargs *k)
{
  return blas_matmul_multiply(k, (jf_cuda_factors){ 0 });
}

JFL_CUDA(cublaslt_matmul, .op = "matmul", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_prepare, .run = blas_matmul_run, .release = blas_matmul_release,
  .priority = JF_LIBRARY)

/* ---- with an epilogue of the library ---- */

static const jf_epilogue *blas_matmul_epilogue(const jf_kargs *k)
{
  return &((const jf_matmul_fused *)k->attr)->epilogue;
}

static jf_cuda_product blas_matmul_fused_product(const jf_kargs *k)
{
  const jf_epilogue *e = blas_matmul_epilogue(k);
  jf_cuda_product p = blas_matmul_product_of(k);
  p.bias = e->bias;
  p.residual = e->residual;
  p.act = e->act;
  return p;
}

static jfl_status blas_matmul_fused_prepare(jf_kargs *k)
{
  const jf_cuda_product p = blas_matmul_fused_product(k);
  return blas_matmul_make(k, &p);
}

/* The tensors that the epilogue adds. */
static jf_cuda_factors blas_matmul_extra(const jf_kargs *k)
{
  const jf_epilogue *e = blas_matmul_epilogue(k);
  return (jf_cuda_factors){ .bias = jf_epilogue_bias(k, e),
                            .residual = jf_epilogue_residual(k, e) };
}

static jfl_status blas_matmul_fused_run(const jf_kargs *k)
{
  return blas_matmul_multiply(k, blas_matmul_extra(k));
}

JFL_CUDA(cublaslt_matmul_fused, .op = "matmul_fused", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_fused_prepare,
  .run = blas_matmul_fused_run, .release = blas_matmul_release, .priority = JF_LIBRARY)

/* ---- with a kernel of our own behind it ---- */

static jfl_status blas_matmul_then_prepare(jf_kargs *k)
{
  const jf_cuda_product p = blas_matmul_product_of(k);
  JF_TRY(blas_matmul_make(k, &p));
  blas_matmul_call *c = k->state;
  const jfl_status s = jf_matmul_finish_prepare(k, blas_matmul_epilogue(k), &c->finish);
  if (s) blas_matmul_release(c);
  return s;
}

static jfl_status blas_matmul_then_run(const jf_kargs *k)
{
  const blas_matmul_call *c = k->state;
  JF_TRY(blas_matmul_run(k));
  return jf_conv_finish(k, &c->finish, k->out[0].data);
}

JFL_CUDA(cublaslt_matmul_then, .op = "matmul_fused", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_then_prepare,
  .run = blas_matmul_then_run, .release = blas_matmul_release, .priority = JF_LIBRARY + JF_IN_TWO)

/* ---- with what a gradient reads later ---- */

/* Whether the library has an epilogue for act, which must be `is`, beside a product of matrices.
   Compute capability 9.0 or later, since other programs leave such epilogues out before: nobody
   has measured them here. */
static int blas_matmul_has(const jf_kargs *k, const char *act, const char *is)
{
  const jf_cuda *c = k->device->state;
  return blas_matmul_accepts(k) && k->out[0].shape.n == 2 && act && !strcmp(act, is) &&
         c->arch >= 90;
}

static int blas_matmul_kept_accepts(const jf_kargs *k)
{
  return blas_matmul_has(k, blas_matmul_epilogue(k)->act, "gelu_tanh");
}

static jfl_status blas_matmul_kept_prepare(jf_kargs *k)
{
  jf_cuda_product p = blas_matmul_fused_product(k);
  p.keeps = 1;
  return blas_matmul_make(k, &p);
}

static jfl_status blas_matmul_kept_run(const jf_kargs *k)
{
  jf_cuda_factors with = blas_matmul_extra(k);
  with.kept = k->out[1].data;
  return blas_matmul_multiply(k, with);
}

JFL_CUDA(cublaslt_matmul_kept, .op = "matmul_kept", .accepts = blas_matmul_kept_accepts,
  .prepare = blas_matmul_kept_prepare, .run = blas_matmul_kept_run,
  .release = blas_matmul_release, .priority = JF_LIBRARY)

/* The call of matmul_fused whose result is what is kept. */
static jf_kargs blas_matmul_without_act(const jf_kargs *k)
{
  jf_kargs first = *k;
  first.out = &k->out[1];
  first.n_out = 1;
  return first;
}

static jfl_status blas_matmul_kept_then_prepare(jf_kargs *k)
{
  jf_kargs first = blas_matmul_without_act(k);
  jf_matmul_fused linear = *(const jf_matmul_fused *)k->attr;
  const jf_epilogue act = { .act = linear.epilogue.act };
  linear.epilogue.act = NULL;
  first.attr = &linear;
  jfl_status s = blas_matmul_fused_prepare(&first);
  if (s == JFL_ENOSYS) s = blas_matmul_then_prepare(&first);
  if (s) return s;
  blas_matmul_call *c = k->state = first.state;
  k->scratch_size = first.scratch_size;
  k->waits = first.waits;
  s = jf_matmul_finish_prepare(k, &act, &c->act);
  if (s) blas_matmul_release(c);
  return s;
}

static jfl_status blas_matmul_kept_then_run(const jf_kargs *k)
{
  const blas_matmul_call *c = k->state;
  const jf_kargs first = blas_matmul_without_act(k);
  JF_TRY(c->finish.work ? blas_matmul_then_run(&first) : blas_matmul_fused_run(&first));
  return jf_conv_finish(k, &c->act, k->out[1].data);
}

JFL_CUDA(cublaslt_matmul_kept_then, .op = "matmul_kept", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_kept_then_prepare, .run = blas_matmul_kept_then_run,
  .release = blas_matmul_release, .priority = JF_LIBRARY + JF_IN_TWO)

/* ---- times a slope ---- */

static int blas_matmul_slope_accepts(const jf_kargs *k)
{
  return blas_matmul_has(k, ((const jf_matmul_slope *)k->attr)->act, "gelu_tanh_slope");
}

static jfl_status blas_matmul_slope_prepare(jf_kargs *k)
{
  jf_cuda_product p = blas_matmul_product_of(k);
  if (k->in[2].dtype != k->out[0].dtype) return JFL_ENOSYS;
  p.slopes = 1;
  return blas_matmul_make(k, &p);
}

static jfl_status blas_matmul_slope_run(const jf_kargs *k)
{
  return blas_matmul_multiply(k, (jf_cuda_factors){ .kept = k->in[2].data });
}

JFL_CUDA(cublaslt_matmul_slope, .op = "matmul_slope", .accepts = blas_matmul_slope_accepts,
  .prepare = blas_matmul_slope_prepare, .run = blas_matmul_slope_run,
  .release = blas_matmul_release, .priority = JF_LIBRARY)

static jfl_status blas_matmul_slope_then_prepare(jf_kargs *k)
{
  const jf_matmul_slope *a = k->attr;
  JF_TRY(blas_matmul_prepare(k));
  blas_matmul_call *c = k->state;
  const jfl_status s = jf_matmul_slope_prepare(k, a->act, &c->finish);
  if (s) blas_matmul_release(c);
  return s;
}

JFL_CUDA(cublaslt_matmul_slope_then, .op = "matmul_slope", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_slope_then_prepare, .run = blas_matmul_then_run,
  .release = blas_matmul_release, .priority = JF_LIBRARY + JF_IN_TWO)

/* ---- with sums of a factor ---- */

static jfl_status blas_matmul_summed_prepare(jf_kargs *k)
{
  jf_cuda_product p = blas_matmul_product_of(k);
  p.sums = 1 + ((const jf_matmul_summed *)k->attr)->of;
  return blas_matmul_make(k, &p);
}

static jfl_status blas_matmul_summed_run(const jf_kargs *k)
{
  return blas_matmul_multiply(k, (jf_cuda_factors){ .sums = k->out[1].data });
}

JFL_CUDA(cublaslt_matmul_summed, .op = "matmul_summed", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_summed_prepare, .run = blas_matmul_summed_run,
  .release = blas_matmul_release, .priority = JF_LIBRARY)

static jfl_status blas_matmul_summed_then_prepare(jf_kargs *k)
{
  enum { ALIGNMENT = 256 };
  JF_TRY(blas_matmul_prepare(k));
  blas_matmul_call *c = k->state;
  c->aside = (k->scratch_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  const jfl_status s =
    jf_matmul_sums_prepare(k, ((const jf_matmul_summed *)k->attr)->of, &c->finish);
  if (s) return blas_matmul_release(c), s;
  k->scratch_size += c->aside;
  return JFL_OK;
}

static jfl_status blas_matmul_summed_then_run(const jf_kargs *k)
{
  const blas_matmul_call *c = k->state;
  jf_kargs sums = *k;
  sums.scratch = (char *)k->scratch + c->aside;
  JF_TRY(blas_matmul_run(k));
  return jf_conv_bias_grad(&sums, &c->finish);
}

JFL_CUDA(cublaslt_matmul_summed_then, .op = "matmul_summed", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_summed_then_prepare, .run = blas_matmul_summed_then_run,
  .release = blas_matmul_release, .priority = JF_LIBRARY + JF_IN_TWO)
