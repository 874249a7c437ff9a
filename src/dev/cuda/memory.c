/* A GPU's memory: from its pool, or plain where it has none. */
#include "dev/cuda/cuda.h"

void jf_cuda_trim(jf_cuda *c)
{
  if (c->pool && !c->api->stream_wait(c->own)) c->api->pool_trim(c->pool, 0);
}

jf_cu jf_cuda_take(jf_cuda *c, size_t size, jf_cu_address *out)
{
  if (!c->pool) return c->api->plain_alloc(out, size);
  const jf_cu e = c->api->alloc(out, size, c->own);
  if (e != JF_CU_OUT_OF_MEMORY) return e;
  jf_cuda_trim(c);
  return c->api->alloc(out, size, c->own);
}

void jf_cuda_drop(jf_cuda *c, jf_cu_address at)
{
  if (c->pool) c->api->free(at, c->own);
  else if (!c->api->stream_wait(c->own)) c->api->plain_free(at);
}
