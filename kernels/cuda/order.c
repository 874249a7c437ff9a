/* Launches that put words in order (order.cuh). */
#include "order.cuh"

jfl_status jf_order_chunks(jf_kargs *k, const jf_cuda_source *s, const char *name, order_args *o,
                           const void *args, size_t size)
{
  enum { WAVES = 32 };
  o->chunks = (o->m + ORDER_CHUNK - 1) / ORDER_CHUNK;
  return jf_cuda_prepare(k, s, name,
                         jf_cuda_grid_within(k, o->lines * o->chunks, ORDER_THREADS, WAVES), args,
                         size);
}

jfl_status jf_order_merges(jf_kargs *k, const jf_cuda_source *s, order_args *o)
{
  for (o->run = ORDER_CHUNK; o->run < o->m; o->run *= 2) {
    JF_TRY(jf_order_chunks(k, s, "order_merge", o, o, sizeof *o));
    const int64_t was = o->from;
    o->from = o->to;
    o->to = was;
  }
  return JFL_OK;
}

jfl_status jf_order_add(jf_kargs *k, const jf_cuda_source *s, order_args *o)
{
  const int64_t other = o->to;
  o->keep = ORDER_CHUNK;
  o->to = o->from;
  JF_TRY(jf_order_chunks(k, s, "order_chunks", o, o, sizeof *o));
  o->to = other;
  return jf_order_merges(k, s, o);
}
