/* Sums over ranks and messages between them by NCCL, on the devices of the kind that it has. */
#include "dev/cuda/nccl.h"

#include "op/collective.h"
#include "op/move.h"

static int nccl_accepts(const jf_kargs *k) { return k->device->kind->join != NULL; }

static jfl_status nccl_queue(const jf_kargs *k, int64_t team, jf_nccl_calls calls)
{
  return jf_nccl_queue(jf_cuda_of(k), jf_cuda_queue(k), team, calls, k);
}

static int nccl_type(jfl_dtype t)
{
  static const int type[JFL_N_DTYPE] = {
    [JFL_F32] = JF_NCCL_F32, [JFL_F64] = JF_NCCL_F64, [JFL_I32] = JF_NCCL_I32,
    [JFL_I64] = JF_NCCL_I64, [JFL_I8] = JF_NCCL_I8, [JFL_U8] = JF_NCCL_U8,
    [JFL_F16] = JF_NCCL_F16, [JFL_BF16] = JF_NCCL_BF16,
  };
  return type[t];
}

/* ---- all_reduce ---- */

static jf_nccl_status all_reduce_calls(const jf_cuda_team *t, const jf_kargs *k, jf_cu_stream *s)
{
  jf_nccl_status e = 0;
  for (int i = 0; i < k->n_in && !jf_nccl_failed(e); i++) {
    const size_t n = (size_t)jf_numel(&k->in[i].shape);
    if (n) e = t->api->all_reduce(k->in[i].data, k->out[i].data, n, nccl_type(k->in[i].dtype),
                                  JF_NCCL_SUM, t->comm, s);
  }
  return e;
}

static jfl_status all_reduce_run(const jf_kargs *k)
{
  return nccl_queue(k, ((const jf_all_reduce *)k->attr)->team, all_reduce_calls);
}

JFL_CUDA(nccl_all_reduce, .op = "all_reduce", .accepts = nccl_accepts, .run = all_reduce_run)

/* ---- reduce_scatter ---- */

/* The parts lie behind each other; they need not be of one size. */
static jf_nccl_status reduce_scatter_calls(const jf_cuda_team *t, const jf_kargs *k,
                                           jf_cu_stream *s)
{
  const jf_reduce_scatter *a = k->attr;
  const size_t one = (size_t)jf_axes_at(&k->in[0].shape, a->axis).after;
  const int type = nccl_type(k->in[0].dtype);
  const char *part = k->in[0].data;
  jf_nccl_status e = 0;
  int even = 1;
  for (int i = 1; i < a->sizes.n; i++) even &= a->sizes.v[i] == a->sizes.v[0];
  if (even)
    return t->api->reduce_scatter(part, k->out[0].data, (size_t)a->sizes.v[0] * one, type,
                                  JF_NCCL_SUM, t->comm, s);
  for (int i = 0; i < a->sizes.n && !jf_nccl_failed(e); i++) {
    const size_t n = (size_t)a->sizes.v[i] * one;
    if (n) e = t->api->reduce(part, k->out[0].data, n, type, JF_NCCL_SUM, i, t->comm, s);
    part += n * jfl_dtype_size(k->in[0].dtype);
  }
  return e;
}

static jfl_status reduce_scatter_run(const jf_kargs *k)
{
  return nccl_queue(k, ((const jf_reduce_scatter *)k->attr)->team, reduce_scatter_calls);
}

JFL_CUDA(nccl_reduce_scatter, .op = "reduce_scatter", .accepts = nccl_accepts,
  .run = reduce_scatter_run)

/* ---- exchange ---- */

static size_t exchange_bytes(const jf_tensor *t)
{
  return (size_t)jf_numel(&t->shape) * jfl_dtype_size(t->dtype);
}

static jf_nccl_status exchange_calls(const jf_cuda_team *t, const jf_kargs *k, jf_cu_stream *s)
{
  const jf_exchange *a = k->attr;
  jf_nccl_status e = 0;
  for (int i = 0; i < k->n_in && !jf_nccl_failed(e); i++) {
    const size_t n = exchange_bytes(&k->in[i]);
    if (n) e = t->api->send(k->in[i].data, n, JF_NCCL_BYTES, jf_cuda_team_seat(t, a->to.v[i]),
                            t->comm, s);
  }
  for (int i = 0; i < a->from.n && !jf_nccl_failed(e); i++) {
    const size_t n = exchange_bytes(&k->out[i]);
    if (n) e = t->api->receive(k->out[i].data, n, JF_NCCL_BYTES,
                               jf_cuda_team_seat(t, a->from.v[i]), t->comm, s);
  }
  return e;
}

static jfl_status exchange_run(const jf_kargs *k)
{
  return nccl_queue(k, ((const jf_exchange *)k->attr)->team, exchange_calls);
}

JFL_CUDA(nccl_exchange, .op = "exchange", .accepts = nccl_accepts, .run = exchange_run)
