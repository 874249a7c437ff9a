/* SHA-256 (FIPS 180-4, sections 4.1.2, 5.1.1 and 6.2) and HMAC (RFC 2104, FIPS 198-1). */
#include "base/sha256.h"

#include <string.h>

/* The first 32 bits of the fractions of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t sha256_k[64] = {
  0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
  0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
  0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
  0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
  0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
  0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
  0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
  0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t sha256_turn(uint32_t x, int n) { return x >> n | x << (32 - n); }

static uint32_t sha256_word(const unsigned char *p)
{
  return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The words that a block becomes (6.2.2, step 1). */
static void sha256_schedule(const unsigned char *block, uint32_t w[64])
{
  for (int t = 0; t < 16; t++) w[t] = sha256_word(block + 4 * t);
  for (int t = 16; t < 64; t++) {
    const uint32_t a = w[t - 15], b = w[t - 2];
    w[t] = (sha256_turn(b, 17) ^ sha256_turn(b, 19) ^ b >> 10) + w[t - 7] +
           (sha256_turn(a, 7) ^ sha256_turn(a, 18) ^ a >> 3) + w[t - 16];
  }
}

/* Steps 2 to 4 of 6.2.2: v is a, b, ..., h of the standard. */
static void sha256_mix(uint32_t h[8], const unsigned char *block)
{
  uint32_t w[64], v[8];
  sha256_schedule(block, w);
  memcpy(v, h, sizeof v);
  for (int t = 0; t < 64; t++) {
    const uint32_t e = v[4], a = v[0];
    const uint32_t one = v[7] + (sha256_turn(e, 6) ^ sha256_turn(e, 11) ^ sha256_turn(e, 25)) +
                         ((e & v[5]) ^ (~e & v[6])) + sha256_k[t] + w[t];
    const uint32_t two = (sha256_turn(a, 2) ^ sha256_turn(a, 13) ^ sha256_turn(a, 22)) +
                         ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += one;
    v[0] = one + two;
  }
  for (int i = 0; i < 8; i++) h[i] += v[i];
}

void jf_sha256_begin(jf_sha256 *s)
{
  static const uint32_t first[8] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                     0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
  memcpy(s->h, first, sizeof first);
  s->size = 0;
}

void jf_sha256_add(jf_sha256 *s, const void *data, size_t n)
{
  const unsigned char *p = data;
  while (n) {
    const size_t at = s->size % JF_SHA256_BLOCK, room = JF_SHA256_BLOCK - at;
    const size_t some = n < room ? n : room;
    memcpy(s->block + at, p, some);
    s->size += some;
    p += some;
    n -= some;
    if (some == room) sha256_mix(s->h, s->block);
  }
}

/* Behind the text come a bit, zeros and the text's size in bits, which end a block. */
void jf_sha256_end(jf_sha256 *s, unsigned char out[JF_SHA256])
{
  static const unsigned char padding[JF_SHA256_BLOCK] = { 0x80 };
  unsigned char bits[8];
  for (int i = 0; i < 8; i++) bits[i] = (unsigned char)(s->size * 8 >> (56 - 8 * i));
  const size_t at = s->size % JF_SHA256_BLOCK, end = JF_SHA256_BLOCK - sizeof bits;
  jf_sha256_add(s, padding, at < end ? end - at : end + JF_SHA256_BLOCK - at);
  jf_sha256_add(s, bits, sizeof bits);
  for (int i = 0; i < JF_SHA256; i++) out[i] = (unsigned char)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

/* ---- HMAC ---- */

void jf_hmac_begin(jf_hmac *m, const void *key, size_t n)
{
  unsigned char in[JF_SHA256_BLOCK] = { 0 }, out[JF_SHA256_BLOCK];
  jf_sha256_begin(&m->inner);
  if (n > sizeof in) {
    jf_sha256_add(&m->inner, key, n);
    jf_sha256_end(&m->inner, in);
    jf_sha256_begin(&m->inner);
  } else if (n) {
    memcpy(in, key, n);
  }
  for (size_t i = 0; i < sizeof in; i++) {
    out[i] = in[i] ^ 0x5c;
    in[i] ^= 0x36;
  }
  jf_sha256_begin(&m->outer);
  jf_sha256_add(&m->inner, in, sizeof in);
  jf_sha256_add(&m->outer, out, sizeof out);
}

void jf_hmac_add(jf_hmac *m, const void *data, size_t n) { jf_sha256_add(&m->inner, data, n); }

void jf_hmac_end(jf_hmac *m, unsigned char out[JF_SHA256])
{
  jf_sha256_end(&m->inner, out);
  jf_sha256_add(&m->outer, out, JF_SHA256);
  jf_sha256_end(&m->outer, out);
}

int jf_same_secret(const void *a, const void *b, size_t n)
{
  const volatile unsigned char *x = a, *y = b;
  unsigned char differ = 0;
  for (size_t i = 0; i < n; i++) differ = (unsigned char)(differ | (x[i] ^ y[i]));
  return !differ;
}
