/* Decompression of data sets' files, compression of pictures, checksums. */
#include "base/need.h"

#include <limits.h>
#include <string.h>
#include <zlib.h>

/* Deflate never expands more than this (zlib.net, technical details), so no hint or file makes us
   ask for more memory than its bytes can fill. */
enum { MAX_RATIO = 1032, FIRST_RATIO = 4, TRUSTED_RATIO = 16, SLACK = 64,
       PIECE = 1 << 20 };      /* bytes between two looks at the time */

/* How zlib is told the container. */
static const int windows[] = { [JFL_GZIP] = 16 + MAX_WBITS, [JFL_ZLIB] = MAX_WBITS,
                               [JFL_RAW] = -MAX_WBITS };

/* What happens at the limit: it is an error that more would come, or the rest is left. */
typedef enum inflate_end { ALL, HEAD } inflate_end;

typedef struct decoder {
  z_stream z;
  jfl_array *out;
  size_t in_left, done, limit;   /* bytes not yet given to z, bytes written, most ever written */
  inflate_end end;
} decoder;

static voidpf inflate_take(voidpf ud, uInt items, uInt size)
{
  (void)ud;
  return jf_new_raw((size_t)items * size);
}

static void inflate_give(voidpf ud, voidpf p)
{
  (void)ud;
  jf_free(p);
}

static jfl_status new_bytes(size_t n, jfl_array **out)
{
  jfl_shape s = { 1, { (int64_t)n } };
  return jfl_array_new(JFL_U8, &s, out);
}

static size_t capacity(const decoder *d) { return (size_t)jfl_array_size(d->out); }

/* Moves what is written to a new array of n bytes. */
static jfl_status resize(decoder *d, size_t n)
{
  jfl_array *a;
  JF_TRY(new_bytes(n, &a));
  memcpy(jfl_array_data(a), jfl_array_data(d->out), d->done);
  jfl_array_unref(d->out);
  d->out = a;
  return JFL_OK;
}

/* One call of zlib, with a piece of the room and of the input. */
static int step(decoder *d, void *to, size_t room)
{
  uInt in = d->in_left < PIECE ? (uInt)d->in_left : PIECE;
  uInt out = room < PIECE ? (uInt)room : PIECE;
  d->z.avail_in = in;
  d->z.avail_out = out;
  d->z.next_out = to;
  int code = inflate(&d->z, Z_NO_FLUSH);
  d->in_left -= in - d->z.avail_in;
  d->done += out - d->z.avail_out;
  return code;
}

/* A gzip file may be several joined, and may be padded with zeros. */
static jfl_status after_end(decoder *d, jfl_deflate kind, int *more)
{
  const Bytef *p = d->z.next_in;
  *more = kind == JFL_GZIP && d->in_left > 1 && p[0] == 0x1f && p[1] == 0x8b;
  if (*more) {
    inflateReset(&d->z);
    return JFL_OK;
  }
  for (size_t i = 0; i < d->in_left; i++)
    if (kind != JFL_GZIP || p[i])
      return jf_fail(JFL_EDATA, "inflate: %zu bytes after the end of the data", d->in_left);
  return JFL_OK;
}

static jfl_status inflate_broken(const decoder *d, int code)
{
  if (code == Z_MEM_ERROR) return jf_fail(JFL_ENOMEM, "inflate: out of memory");
  if (code == Z_BUF_ERROR)
    return jf_fail(JFL_EDATA, "inflate: the data are cut short, %zu bytes came out", d->done);
  return jf_fail(JFL_EDATA, "inflate: %s", code == Z_NEED_DICT ? "the data want a dictionary"
                                         : d->z.msg ? d->z.msg : zError(code));
}

/* Data that are cut, or damaged, at the very limit are told from those that go on. */
static jfl_status inflate_too_much(decoder *d)
{
  unsigned char more;
  int code = step(d, &more, 1);
  if (d->done == d->limit) return inflate_broken(d, code);
  return jf_fail(JFL_EDATA, "inflate: the data must unpack to at most %zu bytes, got more",
                 d->limit);
}

static jfl_status grow(decoder *d)
{
  size_t n = capacity(d);
  if (n >= d->limit) return inflate_too_much(d);
  return resize(d, n < d->limit / 2 ? 2 * n : d->limit);
}

static jfl_status inflate_run(decoder *d, jfl_deflate kind)
{
  for (int more = 1; more && (d->end == ALL || d->done < d->limit);) {
    JF_TRY(jf_time_for(0));
    int code = step(d, (Bytef *)jfl_array_data(d->out) + d->done, capacity(d) - d->done);
    if (code == Z_STREAM_END) JF_TRY(after_end(d, kind, &more));
    else if (code == Z_BUF_ERROR && d->done == capacity(d)) JF_TRY(grow(d));
    else if (code != Z_OK) return inflate_broken(d, code);
  }
  if (!d->done) return jf_fail(JFL_EDATA, "inflate: the data are empty");
  return d->done == capacity(d) ? JFL_OK : resize(d, d->done);
}

/* Room for `expected` bytes is made only if that many may come of so few; else it grows. */
static jfl_status inflate_all(decoder *d, const void *src, size_t n, jfl_deflate kind,
                              size_t expected)
{
  const size_t trusted = n * TRUSTED_RATIO + SLACK;
  size_t first = expected < trusted ? expected : trusted;
  d->z = (z_stream){ .zalloc = inflate_take, .zfree = inflate_give, .next_in = (Bytef *)src };
  d->in_left = n;
  int code = inflateInit2(&d->z, windows[kind]);
  if (code != Z_OK) return inflate_broken(d, code);
  jfl_status r = new_bytes(first < d->limit ? first : d->limit, &d->out);
  if (r == JFL_OK) r = inflate_run(d, kind);
  inflateEnd(&d->z);
  return r;
}

static jfl_status inflate_check(const char *function, const void *src, size_t n, jfl_deflate kind,
                                const void *out)
{
  if (n) JF_TRY(jf_need_pointer(function, "src", src));
  JF_TRY(jf_need_pointer(function, "out", out));
  if ((unsigned)kind > JFL_RAW)
    return jf_fail(JFL_EINVAL, "inflate: kind must be gzip, zlib or raw, got %d", (int)kind);
  if (n <= SIZE_MAX / MAX_RATIO - SLACK) return JFL_OK;
  return jf_fail(JFL_EINVAL, "inflate: data must be at most %zu bytes, got %zu",
                 SIZE_MAX / MAX_RATIO - SLACK, n);
}

static jfl_status inflate_unpack(decoder d, const void *src, size_t n, jfl_deflate kind,
                                 size_t expected, jfl_array **out)
{
  if (d.limit > n * MAX_RATIO + SLACK) d.limit = n * MAX_RATIO + SLACK;
  jfl_status r = inflate_all(&d, src, n, kind, expected);
  if (r == JFL_OK) *out = d.out;
  else jfl_array_unref(d.out);
  return r;
}

jfl_status jfl_inflate(const void *src, size_t n, jfl_deflate kind, size_t size_hint,
                       jfl_array **out)
{
  decoder d = { .limit = SIZE_MAX };
  JF_TRY(inflate_check(__func__, src, n, kind, out));
  return inflate_unpack(d, src, n, kind, size_hint ? size_hint : n * FIRST_RATIO + SLACK, out);
}

jfl_status jfl_inflate_within(const void *src, size_t n, jfl_deflate kind, size_t most,
                              jfl_array **out)
{
  decoder d = { .limit = most };
  JF_TRY(inflate_check(__func__, src, n, kind, out));
  return inflate_unpack(d, src, n, kind, most, out);
}

jfl_status jfl_inflate_head(const void *src, size_t n, jfl_deflate kind, size_t count,
                            jfl_array **out)
{
  decoder d = { .limit = count, .end = HEAD };
  JF_TRY(inflate_check(__func__, src, n, kind, out));
  if (!count) return jf_fail(JFL_EINVAL, "inflate: count must be at least 1, got 0");
  return inflate_unpack(d, src, n, kind, count, out);
}

/* Packs n bytes piece by piece, for which there is room. */
static jfl_status inflate_pack_all(z_stream *z, uInt n)
{
  int code = Z_OK;
  for (uInt piece; code == Z_OK; n -= piece) {
    JF_TRY(jf_time_for(0));
    z->avail_in = piece = n < PIECE ? n : PIECE;
    code = deflate(z, piece == n ? Z_FINISH : Z_NO_FLUSH);
  }
  return code == Z_STREAM_END ? JFL_OK : jf_fail(JFL_EINVAL, "deflate: %s", zError(code));
}

/* Makes room for the worst case first. */
static jfl_status inflate_pack(z_stream *z, uInt n, jfl_array **out)
{
  uLong bound = deflateBound(z, n);
  if (bound > UINT_MAX)
    return jf_fail(JFL_EINVAL, "deflate: data must fit %u bytes packed, got %u", UINT_MAX, n);
  jfl_array *a;
  JF_TRY(new_bytes(bound, &a));
  z->next_out = jfl_array_data(a);
  z->avail_out = (uInt)bound;
  jfl_status r = inflate_pack_all(z, n);
  if (r == JFL_OK) r = new_bytes(z->total_out, out);
  if (r == JFL_OK) memcpy(jfl_array_data(*out), jfl_array_data(a), z->total_out);
  jfl_array_unref(a);
  return r;
}

jfl_status jfl_compress(const void *src, size_t n, jfl_deflate kind, jfl_array **out)
{
  if (n) JF_NEED_POINTER(src);
  JF_NEED_POINTER(out);
  if ((unsigned)kind > JFL_RAW)
    return jf_fail(JFL_EINVAL, "deflate: kind must be gzip, zlib or raw, got %d", (int)kind);
  if (n > UINT_MAX)
    return jf_fail(JFL_EINVAL, "deflate: data must be at most %u bytes, got %zu", UINT_MAX, n);
  z_stream z = { .zalloc = inflate_take, .zfree = inflate_give, .next_in = (Bytef *)src };
  int code = deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, windows[kind], MAX_MEM_LEVEL,
                          Z_DEFAULT_STRATEGY);
  if (code != Z_OK) return jf_fail(JFL_ENOMEM, "deflate: out of memory");
  jfl_status r = inflate_pack(&z, (uInt)n, out);
  deflateEnd(&z);
  return r;
}

uint32_t jfl_crc32(const void *data, size_t n)
{
  if (n && !data) return jf_need_pointer(__func__, "data", data), 0;
  return (uint32_t)crc32_z(0, data, n);
}
