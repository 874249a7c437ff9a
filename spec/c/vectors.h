/* With `make VECTORS=256` programs find a processor without AVX-512, with 128 one without AVX2,
   too: included before all sources then. */
#ifndef JF_SPEC_VECTORS_H
#define JF_SPEC_VECTORS_H

static inline int vectors_has(const char *set)
{
  const int is_512 = set[0] == 'a' && set[3] == '5', is_avx = set[0] == 'a' || set[0] == 'f';
  return !is_512 && (JF_VECTORS >= 256 || !is_avx);
}
#define __builtin_cpu_supports(set) (vectors_has(set) && __builtin_cpu_supports(set))

#endif
