/* What archives pack: members of a tar file, records of an OFRecord file. Only headers are read,
   and every size is checked against the file before it is believed. */
#include "data/data.h"
#include "system/system.h"

#include <string.h>

/* Bytes: of a tar file's blocks; of a name and of what a header may say beside; and members. */
enum { BLOCK = 512, LITTLE = 4096, MOST_EXTRA = 1 << 16, MOST_TOLD = JF_MOST_PATH };
static const int64_t MOST_MEMBERS = (int64_t)1 << 28;

typedef struct pack_member { size_t name; int64_t offset, size; } pack_member;

struct jfl_pack {
  jf_tag tag;
  pack_member *member; int64_t n, cap;
  jf_text names;               /* each ends with a zero byte; a member has where its own begins */
};

/* A file whose headers are read: a piece of it is kept, since small members lie close together. */
typedef struct pack_file { int fd; int64_t size, at, kept; uint8_t piece[1 << 16]; } pack_file;

/* n bytes from `at`; NULL where they cannot be read. After a long member only little is read. */
static const uint8_t *pack_see(pack_file *f, int64_t at, int64_t n)
{
  if (at >= f->at && at + n <= f->at + f->kept) return f->piece + (at - f->at);
  const int64_t skipped = at - (f->at + f->kept), all = (int64_t)sizeof f->piece;
  const int64_t most = skipped >= 0 && skipped < all ? all : n < LITTLE ? LITTLE : n;
  f->at = at;
  f->kept = 0;
  while (f->kept < n) {
    const int64_t got = jf_read_at(f->fd, f->piece + f->kept, (size_t)(most - f->kept),
                                   (uint64_t)(at + f->kept));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return NULL;
    f->kept += got;
  }
  return f->piece;
}

static jfl_status pack_unread(const pack_file *f, int64_t at)
{
  (void)f;
  return jf_fail(JFL_EIO, "it cannot be read at byte %lld", (long long)at);
}

static jfl_status pack_add(jfl_pack *p, const char *name, int64_t offset, int64_t size)
{
  if (p->n == p->cap) {
    const int64_t cap = p->cap ? 2 * p->cap : 64;
    pack_member *v = jf_new_raw((size_t)cap * sizeof *v);
    if (!v || p->n >= MOST_MEMBERS) {
      jf_free(v);
      return jf_fail(JFL_ENOMEM, "out of memory");
    }
    if (p->n) memcpy(v, p->member, (size_t)p->n * sizeof *v);
    jf_free(p->member);
    p->member = v;
    p->cap = cap;
  }
  p->member[p->n++] = (pack_member){ p->names.n, offset, size };
  jf_text_put(&p->names, name, strlen(name) + 1);
  return p->names.failed ? jf_fail(JFL_ENOMEM, "out of memory") : JFL_OK;
}

/* ---- OFRecord: 8 bytes that say how many follow, and those ---- */

static jfl_status records_scan(jfl_pack *p, pack_file *f)
{
  for (int64_t at = 0; at < f->size;) {
    uint64_t size = 0;
    const uint8_t *head = f->size - at < 8 ? NULL : pack_see(f, at, 8);
    if (!head && f->size - at >= 8) return pack_unread(f, at);
    for (int i = 7; head && i >= 0; i--) size = size << 8 | head[i];
    if (!head || size > (uint64_t)(f->size - at - 8))
      return jf_fail(JFL_EDATA, "record %lld, at byte %lld, is cut short, or this is no OFRecord "
                     "file", (long long)p->n + 1, (long long)at);
    if (!size) return jf_fail(JFL_EDATA, "record %lld is empty", (long long)p->n + 1);
    JF_TRY(pack_add(p, "", at + 8, (int64_t)size));
    at += 8 + (int64_t)size;
  }
  return JFL_OK;
}

/* ---- tar ---- */

/* What a header says of the next member. */
typedef struct tar_next { char name[MOST_TOLD]; int64_t size; int has_name, has_size; } tar_next;

/* A number of a header: octal digits, or with the first bit set the bytes themselves; -1: damaged.
*/
static int64_t tar_number(const uint8_t *s, int n)
{
  uint64_t v = 0;
  if (s[0] & 0x80) {
    if (s[0] & 0x7f) return -1;                /* negative, or more than 88 bits */
    for (int i = 1; i < n; i++) {
      if (v >> 55) return -1;
      v = v << 8 | s[i];
    }
    return (int64_t)v;
  }
  int i = 0;
  while (i < n && s[i] == ' ') i++;
  for (; i < n && s[i] >= '0' && s[i] <= '7'; i++) v = v << 3 | (uint64_t)(s[i] - '0');
  while (i < n && (s[i] == ' ' || !s[i])) i++;
  return i == n ? (int64_t)v : -1;
}

/* Whether the header's sum is right; old programs added its bytes as signed ones. */
static int tar_sum_fits(const uint8_t *h)
{
  enum { AT = 148, SIZE = 8 };
  int64_t sum = 0, with_sign = 0;
  for (int i = 0; i < BLOCK; i++) {
    const int own = i >= AT && i < AT + SIZE;
    sum += own ? ' ' : h[i];
    with_sign += own ? ' ' : (int8_t)h[i];
  }
  const int64_t told = tar_number(h + AT, SIZE);
  return told == sum || told == with_sign;
}

static int is_empty_block(const uint8_t *h)
{
  for (int i = 0; i < BLOCK; i++)
    if (h[i]) return 0;
  return 1;
}

static size_t field_length(const uint8_t *s, size_t n)
{
  const uint8_t *end = memchr(s, '\0', n);
  return end ? (size_t)(end - s) : n;
}

/* The name in a header: of POSIX with what stands before it. */
static void tar_name(const uint8_t *h, char *out)
{
  enum { NAME = 100, MAGIC = 257, PREFIX = 345, PREFIX_SIZE = 155 };
  const size_t before = memcmp(h + MAGIC, "ustar\0", 6) ? 0
                      : field_length(h + PREFIX, PREFIX_SIZE);
  const size_t n = field_length(h, NAME);
  memcpy(out, h + PREFIX, before);
  if (before) out[before] = '/';
  memcpy(out + before + (before > 0), h, n);
  out[before + (before > 0) + n] = '\0';
}

static jfl_status tar_take_name(tar_next *next, const uint8_t *s, size_t n, int64_t at)
{
  while (n && !s[n - 1]) n--;
  if (n >= MOST_TOLD || memchr(s, '\0', n))
    return jf_fail(JFL_EDATA, "the name at byte %lld must have at most %d bytes, none of them 0",
                   (long long)at, MOST_TOLD - 1);
  memcpy(next->name, s, n);
  next->name[n] = '\0';
  next->has_name = 1;
  return JFL_OK;
}

static int64_t decimal_of(const uint8_t *s, size_t n)
{
  int64_t v = 0;
  if (!n || n > 18) return -1;
  for (size_t i = 0; i < n; i++) {
    if (s[i] < '0' || s[i] > '9') return -1;
    v = 10 * v + (s[i] - '0');
  }
  return v;
}

static int starts(const uint8_t *s, size_t n, const char *with)
{
  return n >= strlen(with) && !memcmp(s, with, strlen(with));
}

/* Records of POSIX, each "LENGTH KEY=VALUE\n": of these the name and the size are read. */
static jfl_status tar_take_pax(tar_next *next, const uint8_t *s, size_t n, int64_t at)
{
  for (size_t i = 0; i < n && s[i];) {
    const uint8_t *space = memchr(s + i, ' ', n - i);
    const int64_t length = space ? decimal_of(s + i, (size_t)(space - s) - i) : -1;
    const size_t from = space ? (size_t)(space - s) + 1 : n;
    if (length < 0 || (size_t)length > n - i || i + (size_t)length <= from ||
        s[i + (size_t)length - 1] != '\n')
      return jf_fail(JFL_EDATA, "the header at byte %lld is damaged", (long long)at);
    const size_t end = i + (size_t)length - 1;
    if (starts(s + from, end - from, "path="))
      JF_TRY(tar_take_name(next, s + from + 5, end - from - 5, at));
    if (starts(s + from, end - from, "size=")) {
      next->size = decimal_of(s + from + 5, end - from - 5);
      next->has_size = 1;
    }
    i = end + 1;
  }
  return JFL_OK;
}

/* What a header says that is one of another header. */
static jfl_status tar_extra(pack_file *f, int type, int64_t at, int64_t size, tar_next *next)
{
  const uint8_t *s;
  if (type == 'g' || type == 'K') return JFL_OK;     /* of all, such as comments; of links */
  if (size > MOST_EXTRA)
    return jf_fail(JFL_EDATA, "the header at byte %lld must have at most %d bytes, got %lld",
                   (long long)at, MOST_EXTRA, (long long)size);
  s = pack_see(f, at, size);
  if (!s) return pack_unread(f, at);
  return type == 'L' ? tar_take_name(next, s, (size_t)size, at)
                     : tar_take_pax(next, s, (size_t)size, at);
}

/* One header and what follows it; *at moves behind both. */
static jfl_status tar_step(jfl_pack *p, pack_file *f, tar_next *next, int64_t *at)
{
  const uint8_t *h = pack_see(f, *at, BLOCK);
  if (!h) return pack_unread(f, *at);
  if (!tar_sum_fits(h))
    return jf_fail(JFL_EDATA, "the header at byte %lld is damaged, or this is no tar file%s",
                   (long long)*at, starts(h, 2, "\x1f\x8b") && !*at
                   ? ": it is gzipped, and must be unpacked to one" : "");
  const int type = h[156], is_extra = type == 'x' || type == 'g' || type == 'L' || type == 'K';
  const int64_t own = tar_number(h + 124, 12), offset = *at + BLOCK;
  const int64_t size = next->has_size && !is_extra ? next->size : own;
  if (size < 0 || size > f->size - offset)
    return jf_fail(JFL_EDATA, "the member at byte %lld says a size that the file cannot hold",
                   (long long)*at);
  if (!is_extra && !next->has_name) tar_name(h, next->name);
  *at = offset + (size + BLOCK - 1) / BLOCK * BLOCK;
  if (is_extra) return tar_extra(f, type, offset, size, next);
  if (type == '0' || !type || type == '7') JF_TRY(pack_add(p, next->name, offset, size));
  next->has_name = next->has_size = 0;
  return JFL_OK;
}

static jfl_status tar_scan(jfl_pack *p, pack_file *f)
{
  tar_next *next = jf_new(sizeof *next);
  jfl_status r = next ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
  int64_t at = 0;
  if (f->size < BLOCK && r == JFL_OK)
    r = jf_fail(JFL_EDATA, "it is no tar file: it has %lld bytes", (long long)f->size);
  while (r == JFL_OK && at < f->size) {
    const uint8_t *h = f->size - at >= BLOCK ? pack_see(f, at, BLOCK) : NULL;
    if (h && is_empty_block(h)) break;
    r = f->size - at >= BLOCK ? tar_step(p, f, next, &at)
      : jf_fail(JFL_EDATA, "the archive is cut short at byte %lld", (long long)f->size);
  }
  jf_free(next);
  return r;
}

/* ---- the interface ---- */

static jfl_status pack_scan(jfl_pack *p, int fd, jfl_pack_kind kind)
{
  jf_info st;
  if (jf_info_of(fd, &st)) return jf_fail(JFL_EIO, "%s", jf_trouble(errno));
  if (st.kind != JF_FILE) return jf_fail(JFL_EIO, "it is not a file");
  pack_file *f = jf_new_raw(sizeof *f);
  if (!f) return jf_fail(JFL_ENOMEM, "out of memory");
  f->fd = fd;
  f->size = st.size;
  f->at = f->kept = 0;
  const jfl_status r = kind == JFL_TAR ? tar_scan(p, f) : records_scan(p, f);
  jf_free(f);
  return r;
}

jfl_status jfl_pack_open(const char *path, jfl_pack_kind kind, jfl_pack **out)
{
  JF_NEED_POINTERS(path, out);
  JF_NEED_BELOW(kind, JFL_OFRECORD + 1);
  jfl_pack *p = jf_new(sizeof *p);
  if (!p) return jf_fail(JFL_ENOMEM, "out of memory");
  p->tag = JF_TAG_PACK;
  const int fd = jf_open(JF_HERE, path, JF_READ);
  jfl_status r = fd < 0 ? jf_fail(JFL_EIO, "%s", jf_trouble(errno)) : pack_scan(p, fd, kind);
  if (fd >= 0) jf_close(fd);
  if (r == JFL_OK) *out = p;
  else jfl_pack_free(p);
  return r == JFL_OK ? r : jf_blame(r, "%s: ", path);
}

int64_t jfl_pack_count(const jfl_pack *p) { return JF_IS(PACK, p) ? p->n : 0; }

jfl_status jfl_pack_member(const jfl_pack *p, int64_t i, jfl_member *out)
{
  JF_NEED(PACK, p);
  JF_NEED_POINTER(out);
  JF_NEED_BELOW(i, p->n);
  const pack_member *m = &p->member[i];
  *out = (jfl_member){ p->names.s + m->name, m->offset, m->size };
  return JFL_OK;
}

void jfl_pack_free(jfl_pack *p)
{
  if (!JF_IS_LAST(PACK, p)) return;
  jf_free(p->member);
  jfl_text_free(p->names.s);
  jf_free(p);
}
