/* SHA-256 and what proves with it that two processes know the same secret. C++-clean. */
#ifndef JF_SHA256_H
#define JF_SHA256_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A digest that is being made, of the bytes that were added so far. */
enum { JF_SHA256 = 32, JF_SHA256_BLOCK = 64 };
typedef struct jf_sha256 {
  uint32_t h[8];
  uint64_t size;
  unsigned char block[JF_SHA256_BLOCK];
} jf_sha256;
void jf_sha256_begin(jf_sha256 *s);
void jf_sha256_add(jf_sha256 *s, const void *data, size_t n);
void jf_sha256_end(jf_sha256 *s, unsigned char out[JF_SHA256]);

/* HMAC-SHA-256: what only who knows the key can say of a text. */
typedef struct jf_hmac { jf_sha256 inner, outer; } jf_hmac;
void jf_hmac_begin(jf_hmac *m, const void *key, size_t n);
void jf_hmac_add(jf_hmac *m, const void *data, size_t n);
void jf_hmac_end(jf_hmac *m, unsigned char out[JF_SHA256]);

/* Whether n bytes are the same, in a time that does not tell which of them differ. */
int jf_same_secret(const void *a, const void *b, size_t n);

#ifdef __cplusplus
}
#endif

#endif
