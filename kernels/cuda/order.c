/* Launches that put words in order (order.cuh). */
#include "order.cuh"

extern const char jf_cuda_order[];

jfl_status jf_order_define(const char *define, int wide, char **out)
{
  jf_text t = { 0 };
  jf_text_add(&t, "typedef %s K;\n%s%s", wide ? "uint64_t" : "uint32_t", define, jf_cuda_order);
  return jf_text_take(&t, out);
}

jfl_status jf_order_chunks(jf_kargs *k, const jf_cuda_source *s, const jf_cuda_type *types,
                           const char *name, order_args *o, const void *args, size_t size)
{
  enum { WAVES = 32 };
  const int64_t most = (int64_t)((const jf_cuda *)k->device->state)->multiprocessors * WAVES;
  o->chunks = (o->m + ORDER_CHUNK - 1) / ORDER_CHUNK;
  const int64_t n = o->lines * o->chunks;
  return jf_cuda_prepare(k, s, types, name,
                         (jf_cuda_grid){ n < most ? n : most, ORDER_THREADS, 0 }, args, size);
}

jfl_status jf_order_merges(jf_kargs *k, const jf_cuda_source *s, const jf_cuda_type *types,
                           order_args *o)
{
  for (o->run = ORDER_CHUNK; o->run < o->m; o->run *= 2) {
    JF_TRY(jf_order_chunks(k, s, types, "order_merge", o, o, sizeof *o));
    const int64_t was = o->from;
    o->from = o->to;
    o->to = was;
  }
  return JFL_OK;
}

jfl_status jf_order_add(jf_kargs *k, const jf_cuda_source *s, const jf_cuda_type *types,
                        order_args *o)
{
  const int64_t other = o->to;
  o->keep = ORDER_CHUNK;
  o->to = o->from;
  JF_TRY(jf_order_chunks(k, s, types, "order_chunks", o, o, sizeof *o));
  o->to = other;
  return jf_order_merges(k, s, types, o);
}
