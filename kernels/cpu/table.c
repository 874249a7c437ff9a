/* The kernel rows of the CPU. */
#include "dev/cpu/cpu.h"

#define KERNEL(id) extern const jf_kernel_row jf_cpu_##id;
#include "gen/cpulist.h"
#undef KERNEL

const jf_kernel_row *const *jf_cpu_rows(void)
{
  static const jf_kernel_row *const rows[] = {
#define KERNEL(id) &jf_cpu_##id,
#include "gen/cpulist.h"
#undef KERNEL
    NULL
  };
  return rows;
}
