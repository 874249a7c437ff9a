/* What programs and their scripts ask of the world. */
#include "base/need.h"
#include "world/world.h"

jfl_status jfl_world_join(int *rank, int *size)
{
  JF_NEED_POINTERS(rank, size);
  JF_TRY(jf_world_join());
  *rank = jf_world_rank();
  *size = jf_world_size();
  return JFL_OK;
}

const char *jfl_world_host(int rank) { return jf_world_host(rank); }
const char *jfl_world_trouble(void) { return jf_world_trouble(); }

jfl_status jfl_world_gather(const void *mine, size_t size, void *all)
{
  JF_NEED_POINTERS(mine, all);
  if (!size || size > JF_WORLD_MESSAGE)
    return jf_fail_argument(JFL_EINVAL, "size", "must be from 1 to %d, got %zu", JF_WORLD_MESSAGE,
                            size);
  return jf_world_agree(mine, size, all);
}

void jfl_world_leave(const char *why)
{
  const int rank = jf_world_rank();
  if (why) jf_world_end("rank %d (%s) has ended%s%s", rank, jf_world_host(rank),
                        *why ? ": " : "", why);
}
