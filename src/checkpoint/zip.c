/* Zip archives, as PyTorch writes them: a list of members at the end, which lie as they are. See
   PKWARE's APPNOTE.TXT, sections 4.3 and 4.5.3. */
#include "checkpoint/checkpoint.h"

#include <stdlib.h>
#include <string.h>

enum {
  END_SIZE = 22, END64_SIZE = 56, LOCATOR_SIZE = 20, ENTRY_SIZE = 46, HEADER_SIZE = 30,
  MOST_COMMENT = 65535, MOST_LIST = 1 << 30
};
static const uint32_t end_mark = 0x06054b50, end64_mark = 0x06064b50, locator_mark = 0x07064b50,
                      entry_mark = 0x02014b50, header_mark = 0x04034b50;

static uint64_t zip_get(const char *p, int n)
{
  uint64_t v = 0;
  while (n--) v = v << 8 | (unsigned char)p[n];
  return v;
}

static jfl_status zip_damaged(const char *path, const char *what)
{
  return jf_fail(JFL_EDATA, "checkpoint %s: damaged zip archive: %s", path, what);
}

/* ---- where the list is ---- */

typedef struct zip_list { uint64_t at, size; } zip_list;

/* Reads the end that is for archives of more than 4 GB; its locator stands before the other end. */
static jfl_status zip_end64(int fd, const char *path, uint64_t end, zip_list *out)
{
  char l[LOCATOR_SIZE], e[END64_SIZE];
  if (end < LOCATOR_SIZE + END64_SIZE) return zip_damaged(path, "its end is missing");
  JF_TRY(jf_file_read(fd, path, l, sizeof l, end - LOCATOR_SIZE));
  const uint64_t at = zip_get(l + 8, 8);
  if (zip_get(l, 4) != locator_mark || at > end - LOCATOR_SIZE - END64_SIZE)
    return zip_damaged(path, "it has no place of its end");
  JF_TRY(jf_file_read(fd, path, e, sizeof e, at));
  if (zip_get(e, 4) != end64_mark) return zip_damaged(path, "its end is not where it is told");
  *out = (zip_list){ zip_get(e + 48, 8), zip_get(e + 40, 8) };
  return JFL_OK;
}

static jfl_status zip_find_list(int fd, const char *path, uint64_t size, zip_list *out)
{
  const size_t most = size < END_SIZE + MOST_COMMENT ? (size_t)size : END_SIZE + MOST_COMMENT;
  char *tail = jf_new_raw(most);
  if (!tail) return jf_checkpoint_memory(path);
  jfl_status r = jf_file_read(fd, path, tail, most, size - most);
  size_t at = r == JFL_OK && most >= END_SIZE ? most - END_SIZE + 1 : 0;
  while (at && zip_get(tail + at - 1, 4) != end_mark) at--;
  const char *e = tail + at - 1;
  if (r == JFL_OK && !at) r = zip_damaged(path, "its end is missing, so it may have been cut");
  if (r == JFL_OK) *out = (zip_list){ zip_get(e + 16, 4), zip_get(e + 12, 4) };
  if (r == JFL_OK && (out->at == UINT32_MAX || out->size == UINT32_MAX))
    r = zip_end64(fd, path, size - most + at - 1, out);
  jf_free(tail);
  if (r != JFL_OK) return r;
  if (out->at <= size && out->size <= size - out->at && out->size < MOST_LIST) return JFL_OK;
  return zip_damaged(path, "its list of members ends behind the file");
}

/* ---- the list ---- */

/* Takes what did not fit in 32 bits from the fields behind the name, where the sizes, plain and
   packed, and the place of the header follow each other, as far as they did not fit. */
static int zip_wide(const char *extra, size_t n, uint64_t packed, jf_zip_member *m)
{
  uint64_t *const wide[] = { &m->size, &packed, &m->header };
  int wants = 0;
  for (int i = 0; i < 3; i++) wants += *wide[i] == UINT32_MAX;
  if (!wants) return 1;
  while (n >= 4 && zip_get(extra, 2) != 1) {
    const size_t size = 4 + (size_t)zip_get(extra + 2, 2);
    if (size > n) return 0;
    extra += size;
    n -= size;
  }
  if (n < 4 || zip_get(extra + 2, 2) > n - 4 || zip_get(extra + 2, 2) < (uint64_t)wants * 8)
    return 0;
  extra += 4;
  for (int i = 0; i < 3; i++) {
    if (*wide[i] != UINT32_MAX) continue;
    *wide[i] = zip_get(extra, 8);
    extra += 8;
  }
  return 1;
}

static jfl_status zip_add(jf_zip *z, const char *path, const char *e, size_t left, char **name,
                          size_t *used)
{
  const size_t n = left < ENTRY_SIZE ? 0 : (size_t)zip_get(e + 28, 2);
  const size_t extra = left < ENTRY_SIZE ? 0 : (size_t)zip_get(e + 30, 2);
  if (left < ENTRY_SIZE || zip_get(e, 4) != entry_mark || n + extra > left - ENTRY_SIZE)
    return zip_damaged(path, "a member of its list is cut");
  jf_zip_member m = {
    .name = *name, .flags = (unsigned)zip_get(e + 8, 2), .method = (unsigned)zip_get(e + 10, 2),
    .size = zip_get(e + 24, 4), .header = zip_get(e + 42, 4)
  };
  memcpy(*name, e + ENTRY_SIZE, n);
  (*name)[n] = '\0';
  *name += n + 1;
  if (!zip_wide(e + ENTRY_SIZE + n, extra, zip_get(e + 20, 4), &m))
    return zip_damaged(path, "a size is missing");
  if (!JF_ROOM(z->v, z->n, z->cap)) return jf_checkpoint_memory(path);
  z->v[z->n++] = m;
  *used = ENTRY_SIZE + n + extra + (size_t)zip_get(e + 32, 2);
  return JFL_OK;
}

static int zip_by_name(const void *a, const void *b)
{
  return strcmp(((const jf_zip_member *)a)->name, ((const jf_zip_member *)b)->name);
}

static jfl_status zip_read(jf_zip *z, const char *path, const char *list, size_t size)
{
  char *name = z->text;
  for (size_t at = 0, used = 0; at < size; at += used) {
    JF_TRY(jf_time_at(z->n));
    JF_TRY(zip_add(z, path, list + at, size - at, &name, &used));
  }
  JF_TRY(jf_sort_in_time(z->v, (size_t)z->n, sizeof *z->v, zip_by_name));
  for (int i = 1; i < z->n; i++)
    if (!zip_by_name(&z->v[i - 1], &z->v[i]))
      return jf_fail(JFL_EDATA, "checkpoint %s: damaged zip archive: member %s occurs twice", path,
                     z->v[i].name);
  return JFL_OK;
}

jfl_status jf_zip_open(int fd, const char *path, uint64_t size, jf_zip *out)
{
  zip_list l = {0};
  *out = (jf_zip){0};
  JF_TRY(zip_find_list(fd, path, size, &l));
  char *list = jf_new_raw((size_t)l.size);
  out->text = jf_new_raw((size_t)l.size + 1);        /* a name and its end are less than a member */
  jfl_status r = list && out->text ? jf_file_read(fd, path, list, (size_t)l.size, l.at)
                                   : jf_checkpoint_memory(path);
  if (r == JFL_OK) r = zip_read(out, path, list, (size_t)l.size);
  jf_free(list);
  return r;
}

void jf_zip_close(jf_zip *z)
{
  jf_free(z->v);
  jf_free(z->text);
  *z = (jf_zip){0};
}

const jf_zip_member *jf_zip_find(const jf_zip *z, const char *name)
{
  const jf_zip_member key = { .name = name };
  return z->n ? bsearch(&key, z->v, (size_t)z->n, sizeof key, zip_by_name) : NULL;
}

jfl_status jf_zip_place(int fd, const char *path, uint64_t size, const jf_zip_member *m,
                        uint64_t *begin)
{
  char h[HEADER_SIZE];
  if (m->method || m->flags & 1)
    return jf_fail(JFL_EDATA, "checkpoint %s: member %s of the zip archive must lie as it is, got "
                   "%s; torch.save writes it so", path, m->name,
                   m->method ? "a packed one" : "an encrypted one");
  if (size < HEADER_SIZE || m->header > size - HEADER_SIZE)
    return zip_damaged(path, "a member lies behind the file");
  JF_TRY(jf_file_read(fd, path, h, sizeof h, m->header));
  const uint64_t at = m->header + HEADER_SIZE + zip_get(h + 26, 2) + zip_get(h + 28, 2);
  if (zip_get(h, 4) != header_mark) return zip_damaged(path, "a member is not where it is told");
  if (at > size || m->size > size - at)
    return jf_fail(JFL_EDATA, "checkpoint %s: damaged zip archive: member %s, of %llu bytes, ends "
                   "behind the file", path, m->name, (unsigned long long)m->size);
  *begin = at;
  return JFL_OK;
}
