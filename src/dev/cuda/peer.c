/* Copies on a GPU and between two, without the host where they can reach each other's memory. */
#include "dev/cuda/cuda.h"

/* What cuMemPoolSetAccess is told about one device (CUDA driver API, CUmemAccessDesc). */
typedef struct peer_access { int sort, device, flags; } peer_access;
enum { PEER_DEVICE = 1, PEER_READS_AND_WRITES = 3 };

/* Whether the driver says that the two cannot have what copies are only faster with, or have it
   already, perhaps from another session. */
static int peer_is_settled(jf_cu e)
{
  return e == JF_CU_NO_PEER || e == JF_CU_PEER_ALREADY || e == JF_CU_MANY_PEERS;
}

/* Lets c, which was entered, read and write memory of the other device. */
static jfl_status peer_reach(jf_cuda *c, const jf_cuda *other)
{
  const peer_access access = { PEER_DEVICE, c->ordinal, PEER_READS_AND_WRITES };
  int can = 0;
  jf_cu e = c->api->can_peer(&can, c->ordinal, other->ordinal);
  if (!e && can) e = c->api->peer(other->context, 0);
  if (peer_is_settled(e)) e = 0;
  if (!e && can && other->pool) e = c->api->pool_access(other->pool, &access, 1);
  return jf_cuda_check(c, e, "reaching another device");
}

static jfl_status peer_move(jf_cuda *c, jf_cu_stream *s, void *to, const jf_cuda *other,
                            const void *from, size_t size)
{
  if (c->ordinal == other->ordinal)
    return jf_cuda_check(c, c->api->copy((jf_cu_address)(uintptr_t)to,
                                         (jf_cu_address)(uintptr_t)from, size, s), "copying on it");
  const uint64_t bit = (uint64_t)1 << (other->ordinal % 64);
  if (!(c->peers & bit)) JF_TRY(peer_reach(c, other));
  c->peers |= bit;
  return jf_cuda_check(c, c->api->move((jf_cu_address)(uintptr_t)to, c->context,
                                       (jf_cu_address)(uintptr_t)from, other->context, size, s),
                       "copying between devices");
}

jfl_status jf_cuda_move(jf_device *d, void *stream, void *to, jf_device *source, const void *from,
                        size_t size)
{
  jf_cuda *c = d->state;
  if (size == 0) return JFL_OK;
  JF_TRY(jf_cuda_enter(c));
  const jfl_status s = peer_move(c, jf_cuda_stream_of(stream), to, source->state, from, size);
  jf_cuda_leave(c);
  return s;
}
