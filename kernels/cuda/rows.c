/* The kernel rows of GPUs. */
#include "dev/cuda/cuda.h"

#define KERNEL(id) extern const jf_kernel_row jf_cuda_##id;
#include "gen/cudalist.h"
#undef KERNEL

const jf_kernel_row *const *jf_cuda_rows(void)
{
  static const jf_kernel_row *const rows[] = {
#define KERNEL(id) &jf_cuda_##id,
#include "gen/cudalist.h"
#undef KERNEL
    NULL
  };
  return rows;
}
