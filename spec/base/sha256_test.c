/* SHA-256 and HMAC against the examples of their standards. */
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"
#include "test.h"

static const char *hex(const unsigned char *p)
{
  static char text[2 * JF_SHA256 + 1];
  for (int i = 0; i < JF_SHA256; i++) snprintf(text + 2 * i, 3, "%02x", p[i]);
  return text;
}

/* A text given n times, in pieces of so many bytes. */
static const char *digest(const char *text, int n, size_t piece)
{
  unsigned char out[JF_SHA256];
  const size_t size = strlen(text), all = size * (size_t)n;
  char *copy = malloc(all + 1);
  jf_sha256 s;
  for (int i = 0; i < n; i++) memcpy(copy + (size_t)i * size, text, size);
  jf_sha256_begin(&s);
  for (size_t at = 0; at < all; at += piece)
    jf_sha256_add(&s, copy + at, all - at < piece ? all - at : piece);
  jf_sha256_end(&s, out);
  free(copy);
  return hex(out);
}

/* FIPS 180-2, appendix B, and the empty text of NIST's SHAVS (SHA256ShortMsg). */
static void the_examples_of_the_standard_hold(void)
{
  static const struct { const char *text; int n; const char *digest; } cases[] = {
    { "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
    { "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
    { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    { "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t piece = 1; piece < 200; piece += 31)
      CHECK_MSG(!strcmp(digest(cases[i].text, cases[i].n, piece), cases[i].digest), "case %zu, %zu",
                i, piece);
}

/* Every length about the end of a block is its own digest, in whatever pieces it comes. */
static void texts_about_the_length_of_a_block_differ(void)
{
  char before[2 * JF_SHA256 + 1] = "", whole[2 * JF_SHA256 + 1];
  for (int n = 1; n < 200; n++) {
    strcpy(whole, digest("x", n, 1000));
    CHECK(strcmp(whole, before) && !strcmp(whole, digest("x", n, 7)));
    strcpy(before, whole);
  }
}

static const char *mac(const void *key, size_t n_key, const void *text, size_t n)
{
  unsigned char out[JF_SHA256];
  jf_hmac m;
  jf_hmac_begin(&m, key, n_key);
  for (size_t i = 0; i < n; i++) jf_hmac_add(&m, (const char *)text + i, 1);
  jf_hmac_end(&m, out);
  return hex(out);
}

/* RFC 4231, section 4: cases 1 to 4, 6 and 7; the fifth is about digests that are cut. */
static void the_examples_of_rfc_4231_hold(void)
{
  unsigned char key[131], text[50], count[25];
  const char *const large = "Test Using Larger Than Block-Size Key - Hash Key First";
  const char *const both = "This is a test using a larger than block-size key and a larger than "
    "block-size data. The key needs to be hashed before being used by the HMAC algorithm.";
  memset(key, 0x0b, sizeof key);
  CHECK(!strcmp(mac(key, 20, "Hi There", 8),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"));
  CHECK(!strcmp(mac("Jefe", 4, "what do ya want for nothing?", 28),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"));
  memset(key, 0xaa, sizeof key);
  memset(text, 0xdd, sizeof text);
  CHECK(!strcmp(mac(key, 20, text, sizeof text),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"));
  for (int i = 0; i < 25; i++) count[i] = (unsigned char)(i + 1);
  memset(text, 0xcd, sizeof text);
  CHECK(!strcmp(mac(count, sizeof count, text, sizeof text),
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"));
  CHECK(!strcmp(mac(key, sizeof key, large, strlen(large)),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"));
  CHECK(!strcmp(mac(key, sizeof key, both, strlen(both)),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"));
}

static void secrets_are_the_same_only_where_all_bytes_are(void)
{
  unsigned char a[JF_SHA256] = { 1, 2, 3 }, b[JF_SHA256] = { 1, 2, 3 };
  CHECK(jf_same_secret(a, b, sizeof a) && jf_same_secret(a, "", 0));
  for (size_t bit = 0; bit < 8 * sizeof a; bit++) {
    b[bit / 8] ^= (unsigned char)(1u << bit % 8);
    CHECK(!jf_same_secret(a, b, sizeof a));
    b[bit / 8] ^= (unsigned char)(1u << bit % 8);
  }
}

int main(void)
{
  RUN(the_examples_of_the_standard_hold);
  RUN(texts_about_the_length_of_a_block_differ);
  RUN(the_examples_of_rfc_4231_hold);
  RUN(secrets_are_the_same_only_where_all_bytes_are);
  return test_done();
}
