/* Files and directories of checkpoints: whole reads and writes. */
#include "checkpoint/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { PIECE = 1 << 22 };      /* bytes that are read without a look at the time */

jfl_status jf_file_fail(const char *path, const char *what)
{
  return jf_fail(JFL_EIO, "checkpoint %s: cannot %s: %s", path, what, jf_trouble(errno));
}

jfl_status jf_file_path(const char *a, const char *b, const char *c, char *out)
{
  int n = snprintf(out, JF_MOST_PATH, "%s%s%s", a, b, c);
  if (n >= 0 && n < JF_MOST_PATH) return JFL_OK;
  return jf_fail(JFL_EINVAL, "checkpoint %.64s...: the path must have at most %d bytes", a,
                 JF_MOST_PATH);
}

jfl_status jf_file_trim(const char *path, char *out)
{
  size_t n = strlen(path);
  if (!n) return jf_fail(JFL_EINVAL, "checkpoint: the path must not be empty");
  JF_TRY(jf_file_path(path, "", "", out));
  while (n > 1 && out[n - 1] == '/') out[--n] = '\0';
  return JFL_OK;
}

jfl_status jf_file_read(int fd, const char *path, void *out, size_t n, uint64_t at)
{
  for (char *p = out; n;) {
    JF_TRY(jf_time_for(0));
    int64_t k = jf_read_at(fd, p, n < PIECE ? n : PIECE, at);
    if (k < 0) return jf_file_fail(path, "read");
    if (!k)
      return jf_fail(JFL_EDATA, "checkpoint %s: cut at byte %llu: %zu bytes more must follow", path,
                     (unsigned long long)at, n);
    p += k;
    n -= (size_t)k;
    at += (uint64_t)k;
  }
  return JFL_OK;
}

jfl_status jf_file_write(int fd, const char *path, const void *data, size_t n)
{
  return jf_write_all(fd, data, n) ? jf_file_fail(path, "write") : JFL_OK;
}

/* ---- directories ---- */

void jf_file_parent(const char *path, char *out)
{
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) : 0;
  memcpy(out, path, n);
  out[n] = '\0';
  if (!n) strcpy(out, slash ? "/" : ".");
}

jfl_status jf_dir_empty(int dir, const char *path, int (*ours)(const char *name), int *out)
{
  jf_listing *l = jf_listing_open(dir);
  if (!l) return jf_file_fail(path, "list the directory");
  const char *name = jf_listing_next(l);
  while (name && ours(name)) name = jf_listing_next(l);
  jfl_status r = name || !errno ? JFL_OK : jf_file_fail(path, "list the directory");
  jf_listing_close(l);
  if (r == JFL_OK) *out = !name;
  return r;
}

jfl_status jf_checkpoint_memory(const char *path)
{
  return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory", path);
}
