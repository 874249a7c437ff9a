/* The CPU's kernels, for src/dev/cpu and kernels/cpu. */
#ifndef JF_DEV_CPU_H
#define JF_DEV_CPU_H

#include "dev/kernel.h"

/* Defines a CPU kernel row. The build collects these lines, so they start in column 0. */
#define JFL_CPU(id, ...)                   \
  extern const jf_kernel_row jf_cpu_##id;  \
  const jf_kernel_row jf_cpu_##id = { .name = #id, __VA_ARGS__ };

/* The rows of kernels/cpu, ended by NULL. */
const jf_kernel_row *const *jf_cpu_rows(void);
/* How many channels the CPU's convolutions want in a block; 0: they want no blocks. */
int64_t jf_cpu_channel_block(void);
/* Whether products and convolutions can end in the op of that name. */
int jf_cpu_activates(const char *act, jfl_dtype t);
extern const jf_fused_limits jf_cpu_fused_limits;
/* Measures what the processor can do with that many threads: float32 additions and multiplications
   per second in registers, and bytes per second read and written by a loop over large arrays. */
void jf_cpu_peak(int threads, double *flop, double *bytes);

#endif
