/* What products with weights in few bits share: quantized.c rounds x, and AVX2 or VNNI multiply it
   with blocks; halves.c has those with floats of 16 bits. */
#ifndef JF_CPU_QUANTIZED_H
#define JF_CPU_QUANTIZED_H

#include "op/quantized.h"
#include "vector.h"

enum { JF_GROUP = 32, JF_CHUNK = 256 };

/* y (m, n) = x (m, k) w^T: w has n rows of so many blocks. Parts are `span` rows of w. A row of x
   has `width` numbers: k, and zeros up to a multiple of JF_CHUNK. They are d q, where each 32 have
   one d; `sum` is d times the sum of q. There is a d and a sum for each `per` of them, 32 or 16. */
typedef struct jf_quantized {
  const float *x;
  const void *w;
  float *y;
  int64_t m, n, k, blocks, span, width;
  int8_t *q;
  float *d, *sum;
  int per;
  jfl_dtype dtype;
  int is_packed;           /* w is what jf_quantized_pack wrote */
  void *packed;            /* where that writes to */
  float *lines;            /* where halves.c packs x */
} jf_quantized;

/* What computes a part of it: where jf_has_vnni, and where jf_has_avx2. */
jf_part jf_quantized_vnni(const jf_quantized *p);
jf_part jf_quantized_avx2(const jf_quantized *p);
/* What packs a part of w, of q4_0, as VNNI reads it faster, and how many bytes that takes. */
jf_part jf_quantized_pack(void);
size_t jf_quantized_pack_size(const jf_quantized *p);

/* Products with weights of 16 bits: how many rows of w a part has, bytes of p->lines, and all. */
int64_t jf_halves_span(const jf_quantized *p);
size_t jf_halves_scratch(const jf_quantized *p);
void jf_halves_run(const jf_kargs *k, jf_quantized *p);

static inline int jf_has_vnni(void)
{
#if defined(__x86_64__)
  return jf_has_avx512() && __builtin_cpu_supports("avx512vnni");
#else
  return 0;
#endif
}

#endif
