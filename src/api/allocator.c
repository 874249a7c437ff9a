/* The public entry that sets the host's allocator. */
#include "base/need.h"

jfl_status jfl_set_allocator(const jfl_allocator *a)
{
  if (a && (!a->alloc || !a->free))
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "a", "must have both functions, "
                                                   "alloc and free, got NULL for one"));
  jf_memory_from(a);
  return JFL_OK;
}
