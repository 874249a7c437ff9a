/* jfl_inflate with every container and any size hint, on data that are cut or damaged; and
   jfl_compress. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"
#include "test.h"

enum { N = 200000, GUESS = 0 };
static unsigned char plain[N];

/* Half noise, half zeros: one part that does not shrink and one that shrinks most. */
static void fill(void)
{
  for (uint64_t i = 0; i < N / 2; i++) plain[i] = (unsigned char)jf_philox_at(1, 0, i).w[0];
}

/* Packs n bytes and appends them to what `out` holds; returns the bytes written. */
static size_t pack(const unsigned char *data, size_t n, jfl_deflate kind, unsigned char *out)
{
  z_stream z = {0};
  int window = kind == JFL_GZIP ? 31 : kind == JFL_ZLIB ? 15 : -15;
  if (deflateInit2(&z, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) != Z_OK) abort();
  z.next_in = (Bytef *)data;
  z.avail_in = (uInt)n;
  z.next_out = out;
  z.avail_out = 2 * N;
  if (deflate(&z, Z_FINISH) != Z_STREAM_END) abort();
  size_t size = z.total_out;
  deflateEnd(&z);
  return size;
}

static int unpacks(const unsigned char *src, size_t n, jfl_deflate kind, size_t hint, size_t want)
{
  jfl_array *a;
  if (jfl_inflate(src, n, kind, hint, &a) != JFL_OK) return 0;
  int same = jfl_array_dtype(a) == JFL_U8 && jfl_array_size(a) == (int64_t)want &&
             !memcmp(jfl_array_data(a), plain, want);
  jfl_array_unref(a);
  return same;
}

static int fails(const unsigned char *src, size_t n, jfl_deflate kind, const char *text)
{
  jfl_array *a;
  jfl_status s = jfl_inflate(src, n, kind, GUESS, &a);
  if (s == JFL_OK) jfl_array_unref(a);
  return s == JFL_EDATA && strstr(jfl_errmsg(), text);
}

static void takes_every_kind_with_any_hint(void)
{
  static const size_t hints[] = { GUESS, 1, N - 1, N, N + 1, 3 * N, SIZE_MAX };
  unsigned char *p = malloc(2 * N);
  for (int kind = JFL_GZIP; kind <= JFL_RAW; kind++) {
    size_t n = pack(plain, N, (jfl_deflate)kind, p);
    for (size_t i = 0; i < sizeof hints / sizeof *hints; i++)
      CHECK_MSG(unpacks(p, n, (jfl_deflate)kind, hints[i], N), "%d, %zu: %s", kind, hints[i],
                jfl_errmsg());
  }
  free(p);
}

static void takes_what_shrinks_most(void)
{
  enum { MANY = 1 << 24 };
  unsigned char *zeros = calloc(1, MANY), *p = malloc(2 * N);
  size_t n = pack(zeros, MANY, JFL_RAW, p);
  jfl_array *a = NULL;
  CHECK_MSG(jfl_inflate(p, n, JFL_RAW, GUESS, &a) == JFL_OK, "%s", jfl_errmsg());
  CHECK(a && jfl_array_size(a) == MANY && !memcmp(jfl_array_data(a), zeros, MANY));
  jfl_array_unref(a);
  free(zeros);
  free(p);
}

static void joins_gzip_members(void)
{
  unsigned char *p = malloc(4 * N);
  size_t n = pack(plain, N / 3, JFL_GZIP, p);
  n += pack(plain + N / 3, N - N / 3, JFL_GZIP, p + n);
  memset(p + n, 0, 512);
  CHECK_MSG(unpacks(p, n, JFL_GZIP, GUESS, N), "%s", jfl_errmsg());
  CHECK_MSG(unpacks(p, n + 512, JFL_GZIP, N, N), "%s", jfl_errmsg());
  p[n + 3] = 1;
  CHECK(fails(p, n + 512, JFL_GZIP, "512 bytes after the end"));
  free(p);
}

static void refuses_what_is_cut(void)
{
  unsigned char *p = malloc(2 * N);
  for (int kind = JFL_GZIP; kind <= JFL_RAW; kind++) {
    size_t n = pack(plain, 300, (jfl_deflate)kind, p);
    for (size_t i = 0; i < n; i++)
      CHECK_MSG(fails(p, i, (jfl_deflate)kind, "cut short"), "%zu: %s", i, jfl_errmsg());
    if (kind != JFL_GZIP) CHECK(fails(p, n + 1, (jfl_deflate)kind, "1 bytes after the end"));
  }
  free(p);
}

static void refuses_what_is_damaged(void)
{
  unsigned char *p = malloc(2 * N), *bad = malloc(2 * N);
  size_t n = pack(plain, 3000, JFL_GZIP, p);
  int refused = 0;
  for (uint64_t i = 0; i < 2000; i++) {
    jf_philox r = jf_philox_at(2, 0, i);
    memcpy(bad, p, n);
    bad[10 + r.w[0] % (n - 10)] ^= (unsigned char)(1u << r.w[1] % 8);
    refused += !unpacks(bad, n, JFL_GZIP, GUESS, 3000);
  }
  CHECK_MSG(refused == 2000, "%d", refused);
  CHECK(fails((const unsigned char *)"no gzip file", 12, JFL_GZIP, "incorrect header check"));
  p[n - 8] ^= 1;
  CHECK(fails(p, n, JFL_GZIP, "incorrect data check"));
  free(bad);
  free(p);
}

/* Of N bytes, within every limit around N, and the first few. */
static void stops_where_it_is_told(void)
{
  static const size_t limits[] = { 0, 1, 1000, N - 1, N, N + 1, SIZE_MAX };
  unsigned char *p = malloc(2 * N);
  for (int kind = JFL_GZIP; kind <= JFL_RAW; kind++) {
    size_t n = pack(plain, N, (jfl_deflate)kind, p);
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
      jfl_array *a = NULL;
      size_t most = limits[i], want = most < N ? most : N;
      jfl_status s = jfl_inflate_within(p, n, (jfl_deflate)kind, most, &a);
      CHECK_MSG(s == (most < N ? JFL_EDATA : JFL_OK), "%d, %zu: %s", kind, most, jfl_errmsg());
      CHECK(s == JFL_OK || strstr(jfl_errmsg(), "must unpack to at most"));
      jfl_array_unref(a);
      a = NULL;
      s = jfl_inflate_head(p, n, (jfl_deflate)kind, most, &a);
      CHECK(s == (most ? JFL_OK : JFL_EINVAL));
      CHECK(!a || (jfl_array_size(a) == (int64_t)want && !memcmp(jfl_array_data(a), plain, want)));
      jfl_array_unref(a);
    }
  }
  jfl_array *a;
  size_t n = pack(plain, 3000, JFL_ZLIB, p);
  CHECK(jfl_inflate_within(p, n - 1, JFL_ZLIB, 3000, &a) == JFL_EDATA);
  CHECK_MSG(strstr(jfl_errmsg(), "cut short"), "%s", jfl_errmsg());
  CHECK(jfl_inflate_head(p, n / 2, JFL_ZLIB, 3000, &a) == JFL_EDATA);
  CHECK(jfl_inflate_within(p, n, (jfl_deflate)9, 1, &a) == JFL_EINVAL);
  CHECK(jfl_inflate_head(NULL, n, JFL_RAW, 1, &a) == JFL_EINVAL);
  CHECK(jfl_inflate(p, n, JFL_RAW, 1, NULL) == JFL_EINVAL);
  free(p);
}

static void takes_back_what_was_compressed(void)
{
  static const size_t sizes[] = { 1, 300, N };
  for (int kind = JFL_GZIP; kind <= JFL_RAW; kind++)
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      jfl_array *a;
      CHECK_MSG(jfl_compress(plain, sizes[i], (jfl_deflate)kind, &a) == JFL_OK, "%s", jfl_errmsg());
      size_t n = (size_t)jfl_array_size(a);
      CHECK(n < sizes[i] * 2 / 3 || sizes[i] < N);
      CHECK_MSG(unpacks(jfl_array_data(a), n, (jfl_deflate)kind, GUESS, sizes[i]), "%d, %zu: %s",
                kind, sizes[i], jfl_errmsg());
      jfl_array_unref(a);
    }
  jfl_array *a;
  CHECK(jfl_compress(plain, 1, (jfl_deflate)3, &a) == JFL_EINVAL);
  CHECK(jfl_compress(plain, (size_t)1 << 33, JFL_RAW, &a) == JFL_EINVAL);
}

static void refuses_nothing_at_all(void)
{
  unsigned char p[64];
  size_t n = pack(plain, 0, JFL_GZIP, p);
  CHECK(fails(p, n, JFL_GZIP, "the data are empty"));
  CHECK(fails(p, 0, JFL_RAW, "cut short"));
}

/* ---- a script's time ---- */

enum { LARGE = 20 << 20 };
static int looks;

static double left(void *ctx)
{
  (void)ctx;
  return looks-- > 0 ? 1 : 0;
}

/* Packs and unpacks 20 MB, each with so many looks at the time. */
static jfl_status pack_within(int n_pack, int n_unpack)
{
  unsigned char *zeros = calloc(LARGE, 1);
  jfl_array *packed = NULL, *all = NULL;
  looks = n_pack;
  jfl_status s = jfl_compress(zeros, LARGE, JFL_GZIP, &packed);
  looks = n_unpack;
  if (!s) s = jfl_inflate(jfl_array_data(packed), (size_t)jfl_array_size(packed), JFL_GZIP, GUESS,
                          &all);
  if (!s) CHECK(jfl_array_size(all) == LARGE && !memcmp(jfl_array_data(all), zeros, LARGE));
  jfl_array_unref(packed);
  jfl_array_unref(all);
  free(zeros);
  return s;
}

static void ends_where_time_does(void)
{
  jf_budget *b = jf_budget_new(0);
  jf_budget_limit(b, left, NULL);
  jf_budget *const before = jf_memory_charge(b);
  CHECK(pack_within(1000, 1000) == JFL_OK);
  CHECK(pack_within(15, 1000) == JFL_ELIMIT);
  CHECK(pack_within(1000, 15) == JFL_ELIMIT);
  jf_memory_charge(before);
  jf_budget_drop(b);
}

int main(void)
{
  fill();
  RUN(takes_every_kind_with_any_hint);
  RUN(takes_what_shrinks_most);
  RUN(joins_gzip_members);
  RUN(refuses_what_is_cut);
  RUN(refuses_what_is_damaged);
  RUN(stops_where_it_is_told);
  RUN(takes_back_what_was_compressed);
  RUN(ends_where_time_does);
  RUN(refuses_nothing_at_all);
  return test_done();
}
