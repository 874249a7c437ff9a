/* Hashing and counter-based random bits. */
#include "base/base.h"
#include "system/system.h"

#include <string.h>
#include <time.h>

/* FNV-1a over the bytes, finished with the 64-bit mixer of MurmurHash3. */
uint64_t jf_hash(uint64_t seed, const void *p, size_t n)
{
  const unsigned char *b = p;
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * 0x100000001b3u;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 33;
}

uint64_t jf_hash_str(uint64_t seed, const char *s) { return jf_hash(seed, s, strlen(s)); }

jf_philox jf_philox_at(uint64_t key, uint64_t hi, uint64_t lo)
{
  uint32_t c0 = (uint32_t)lo, c1 = (uint32_t)(lo >> 32), c2 = (uint32_t)hi,
           c3 = (uint32_t)(hi >> 32);
  uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
  for (int round = 0; round < 10; round++) {
    uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
    uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
    c1 = (uint32_t)p1;
    c3 = (uint32_t)p0;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return (jf_philox){ { c0, c1, c2, c3 } };
}

uint64_t jf_entropy(void)
{
  uint64_t e;
  if (jf_random(&e, sizeof e)) return e;
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  return jf_hash((uint64_t)(uintptr_t)&t, &t, sizeof t);
}
