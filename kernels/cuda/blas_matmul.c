/* Matrix products by cuBLASLt, and what follows them: in the same call where the library has that
   epilogue, else by a kernel of our own (conv_ends.cu). */
#include "conv_ends.h"
#include "dev/cuda/blas.h"
#include "op/matmul.h"

typedef struct blas_matmul_call {
  jf_cuda_multiply *multiply;
  jf_conv_ends finish;                   /* the kernel that follows, if one does */
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

static jfl_status blas_matmul_multiply(const jf_kargs *k, const jf_epilogue *e)
{
  const blas_matmul_call *c = k->state;
  const jf_cuda_factors f = {
    .a = k->in[0].data, .b = k->in[1].data, .bias = e ? jf_epilogue_bias(k, e) : NULL,
    .residual = e ? jf_epilogue_residual(k, e) : NULL, .y = k->out[0].data,
    .scratch = k->scratch
  };
  return jf_cuda_multiply_run(k, c->multiply, &f);
}

/* ---- alone ---- */

static jfl_status blas_matmul_prepare(jf_kargs *k)
{
  const jf_cuda_product p = blas_matmul_product_of(k);
  return blas_matmul_make(k, &p);
}

static jfl_status blas_matmul_run(const jf_kargs *k) { return blas_matmul_multiply(k, NULL); }

JFL_CUDA(cublaslt_matmul, .op = "matmul", .accepts = blas_matmul_accepts,
  .prepare = blas_matmul_prepare, .run = blas_matmul_run, .release = blas_matmul_release,
  .priority = JF_LIBRARY)

/* ---- with an epilogue of the library ---- */

static const jf_epilogue *blas_matmul_epilogue(const jf_kargs *k)
{
  return &((const jf_matmul_fused *)k->attr)->epilogue;
}

static jfl_status blas_matmul_fused_prepare(jf_kargs *k)
{
  const jf_epilogue *e = blas_matmul_epilogue(k);
  jf_cuda_product p = blas_matmul_product_of(k);
  p.bias = e->bias;
  p.residual = e->residual;
  p.act = e->act;
  return blas_matmul_make(k, &p);
}

static jfl_status blas_matmul_fused_run(const jf_kargs *k)
{
  return blas_matmul_multiply(k, blas_matmul_epilogue(k));
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
