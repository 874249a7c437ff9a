/* How the calling thread's processor rounds, and what it interrupts. */
#include "system/system.h"

#if defined(__x86_64__)
#include <xmmintrin.h>

/* To the nearest, with numbers close to 0, and no traps; flags tell which exceptions there were. */
enum { USUAL = 0x1f80, FLAGS = 0x3f };

unsigned jf_float_usual(void)
{
  const unsigned mode = _mm_getcsr();
  if ((mode & ~(unsigned)FLAGS) != USUAL) _mm_setcsr(USUAL);
  return mode;
}

void jf_float_restore(unsigned mode)
{
  if ((mode & ~(unsigned)FLAGS) != USUAL) _mm_setcsr(mode);
}

#elif defined(__aarch64__)

static void set_mode(unsigned mode) { __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode)); }

unsigned jf_float_usual(void)
{
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  if (mode) set_mode(0);
  return (unsigned)mode;
}

void jf_float_restore(unsigned mode) { if (mode) set_mode(mode); }

#else

unsigned jf_float_usual(void) { return 0; }
void jf_float_restore(unsigned mode) { (void)mode; }

#endif
