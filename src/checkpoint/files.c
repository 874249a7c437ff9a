/* Files and directories of checkpoints: whole reads and writes, and what a path leads to. */
#include "checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CHUNK = 1 << 30 };

jfl_status jf_file_fail(const char *path, const char *what)
{
  return jf_fail(JFL_EIO, "checkpoint %s: cannot %s: %s", path, what, strerror(errno));
}

jfl_status jf_file_path(const char *a, const char *b, const char *c, char *out)
{
  int n = snprintf(out, PATH_MAX, "%s%s%s", a, b, c);
  if (n >= 0 && n < PATH_MAX) return JFL_OK;
  return jf_fail(JFL_EINVAL, "checkpoint %.64s...: the path must have at most %d bytes", a,
                 PATH_MAX);
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
    ssize_t k = pread(fd, p, n < MAX_CHUNK ? n : MAX_CHUNK, (off_t)at);
    if (k < 0 && errno == EINTR) continue;
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

static int files_put_all(int fd, const void *data, size_t n)
{
  for (const char *p = data; n;) {
    ssize_t k = write(fd, p, n < MAX_CHUNK ? n : MAX_CHUNK);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return -1;
    p += k;
    n -= (size_t)k;
  }
  return 0;
}

/* A write beyond the process's limit of file sizes raises SIGXFSZ in its thread, which would end
   the process. While the signal is blocked the write fails with EFBIG instead and the signal stays
   pending; it is then taken away, unless it was pending before. */
int jf_file_put(int fd, const void *data, size_t n)
{
  sigset_t limit, before, waiting;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  sigpending(&waiting);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  int r = files_put_all(fd, data, n), e = errno;
  if (!sigismember(&waiting, SIGXFSZ)) sigtimedwait(&limit, NULL, &(struct timespec){ 0, 0 });
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = e;
  return r;
}

jfl_status jf_file_write(int fd, const char *path, const void *data, size_t n)
{
  return jf_file_put(fd, data, n) ? jf_file_fail(path, "write") : JFL_OK;
}

int jf_file_same(int fd, int at, const char *path, int flags)
{
  struct stat mine, other;
  return !fstat(fd, &mine) && !fstatat(at, path, &other, flags) && mine.st_ino == other.st_ino &&
         mine.st_dev == other.st_dev;
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

int jf_dir_open(int at, const char *path)
{
  int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0 || errno != EACCES) return fd;
  return openat(at, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* EBADF: opened by O_PATH, as it may not be read. */
int jf_dir_sync(int dir) { return fsync(dir) && errno != EINVAL && errno != EBADF ? -1 : 0; }

jfl_status jf_dir_empty(int dir, const char *path, const char *a, const char *b, int *out)
{
  int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
  if (!d) {
    jfl_status r = jf_file_fail(path, "list the directory");
    if (fd >= 0) close(fd);
    return r;
  }
  int empty = 1;
  for (const struct dirent *e; empty && (e = readdir(d));)
    empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, a) ||
            !strcmp(e->d_name, b);
  closedir(d);
  *out = empty;
  return JFL_OK;
}
