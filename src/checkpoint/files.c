/* Files and directories of checkpoints: whole reads and writes, and stages that replace a
   checkpoint in one step. */
#include "checkpoint/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CHUNK = 1 << 30, MAX_TRIES = 16 };

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

static jfl_status files_write_all(int fd, const char *path, const void *data, size_t n)
{
  for (const char *p = data; n;) {
    ssize_t k = write(fd, p, n < MAX_CHUNK ? n : MAX_CHUNK);
    if (k < 0 && errno == EINTR) continue;
    if (k < 0) return jf_file_fail(path, "write");
    p += k;
    n -= (size_t)k;
  }
  return JFL_OK;
}

/* A write beyond the process's limit of file sizes raises SIGXFSZ in its thread, which would end
   the process. While the signal is blocked the write fails with EFBIG instead and the signal stays
   pending; it is then taken away, unless it was pending before. */
jfl_status jf_file_write(int fd, const char *path, const void *data, size_t n)
{
  sigset_t limit, before, waiting;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  sigpending(&waiting);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  jfl_status r = files_write_all(fd, path, data, n);
  if (!sigismember(&waiting, SIGXFSZ)) sigtimedwait(&limit, NULL, &(struct timespec){ 0, 0 });
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return r;
}

/* ---- directories ---- */

/* Makes the names in dir durable. It is no error that a file system cannot sync directories
   (EINVAL), or that dir cannot be opened because it may be written but not read. */
static jfl_status sync_dir(const char *dir)
{
  int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return errno == EACCES ? JFL_OK : jf_file_fail(dir, "open");
  jfl_status r = fsync(fd) && errno != EINVAL ? jf_file_fail(dir, "sync") : JFL_OK;
  close(fd);
  return r;
}

void jf_file_parent(const char *path, char *out)
{
  const char *slash = strrchr(path, '/');
  size_t n = slash ? (size_t)(slash - path) : 0;
  memcpy(out, path, n);
  out[n] = '\0';
  if (!n) strcpy(out, slash ? "/" : ".");
}

static jfl_status make_dir(const char *path)
{
  if (!mkdir(path, 0777) || errno == EEXIST) return JFL_OK;
  return jf_file_fail(path, "make the directory");
}

static jfl_status sync_parent(const char *path)
{
  char parent[PATH_MAX];
  jf_file_parent(path, parent);
  return sync_dir(parent);
}

static jfl_status make_parents(const char *target)
{
  char part[PATH_MAX];
  struct stat st;
  for (const char *p = strchr(target + 1, '/'); p; p = strchr(p + 1, '/')) {
    size_t n = (size_t)(p - target);
    memcpy(part, target, n);
    part[n] = '\0';
    if (!stat(part, &st) || errno != ENOENT) continue;
    JF_TRY(make_dir(part));
    JF_TRY(sync_parent(part));
  }
  return JFL_OK;
}

/* Whether dir holds nothing, not counting what a crashed save may have left in it, nor the file
   `besides`. */
static jfl_status is_empty(const char *dir, const char *besides, int *out)
{
  DIR *d = opendir(dir);
  if (!d) return jf_file_fail(dir, "list the directory");
  int empty = 1;
  for (const struct dirent *e; empty && (e = readdir(d));)
    empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || !strcmp(e->d_name, besides) ||
            !strcmp(e->d_name, JF_MODEL_FILE JF_STAGE_SUFFIX);
  closedir(d);
  *out = empty;
  return JFL_OK;
}

/* ---- stages ---- */

static jfl_status refuse(const char *target)
{
  return jf_fail(JFL_ESTATE, "checkpoint %s: the directory exists and is not empty; choose "
                 "another, or save with overwrite to replace the checkpoint", target);
}

/* Decides what is staged, from what the target is now. */
static jfl_status files_place(jf_stage *st, int overwrite)
{
  struct stat info;
  st->fresh = stat(st->target, &info) != 0;
  if (st->fresh) {
    if (errno != ENOENT) return jf_file_fail(st->target, "look up");
    JF_TRY(jf_file_path(st->target, JF_STAGE_SUFFIX, "", st->dir));
    return jf_file_path(st->dir, "/", JF_MODEL_FILE, st->file);
  }
  if (!S_ISDIR(info.st_mode))
    return jf_fail(JFL_ESTATE, "checkpoint %s: the path must be a directory, got a file",
                   st->target);
  int empty = 0;
  JF_TRY(is_empty(st->target, "", &empty));
  if (!empty && !overwrite) return refuse(st->target);
  strcpy(st->dir, st->target);
  return jf_file_path(st->dir, "/", JF_MODEL_FILE JF_STAGE_SUFFIX, st->file);
}

/* After a failed open: if the directory is missing, another save has just removed it. */
static jfl_status abandon(const jf_stage *st)
{
  if (errno == ENOENT) return JFL_OK;
  jfl_status r = jf_file_fail(st->file, "open");
  if (st->fresh) rmdir(st->dir);
  return r;
}

/* Opens and locks the staged file. *held is 0 if another save moved it away meanwhile. On a file
   system without locks the file is used without one. */
static jfl_status files_lock(jf_stage *st, int *held)
{
  struct stat mine, now;
  *held = 0;
  if (st->fresh) JF_TRY(make_dir(st->dir));
  st->fd = open(st->file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (st->fd < 0) return abandon(st);
  if (flock(st->fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) {
    close(st->fd);
    return jf_fail(JFL_ESTATE, "checkpoint %s: another save to it is in progress", st->target);
  }
  *held = !fstat(st->fd, &mine) && !stat(st->file, &now) && mine.st_ino == now.st_ino &&
          mine.st_dev == now.st_dev;
  if (!*held) close(st->fd);
  return JFL_OK;
}

/* Removes what is staged, while it is still locked. */
static void files_drop(const jf_stage *st)
{
  unlink(st->file);
  if (st->fresh) rmdir(st->dir);
  close(st->fd);
}

/* Makes one attempt. *held is 0 if another save interfered, and the caller is to try again. Only
   the holder of the lock renames, so what is found out about the target under the lock stays
   true. */
static jfl_status try_open(jf_stage *st, int overwrite, int *held)
{
  *held = 0;
  JF_TRY(files_place(st, overwrite));
  JF_TRY(files_lock(st, held));
  if (!*held) return JFL_OK;
  jf_stage locked = *st;
  jfl_status r = files_place(st, overwrite);
  *held = r == JFL_OK && st->fresh == locked.fresh;
  if (!*held) files_drop(&locked);
  return r;
}

jfl_status jf_stage_open(const char *path, int overwrite, jf_stage *out)
{
  JF_TRY(jf_file_trim(path, out->target));
  JF_TRY(make_parents(out->target));
  int held = 0;
  for (int i = 0; !held && i < MAX_TRIES; i++) JF_TRY(try_open(out, overwrite, &held));
  if (!held)
    return jf_fail(JFL_ESTATE, "checkpoint %s: other saves to it are in progress", out->target);
  if (!ftruncate(out->fd, 0)) return JFL_OK;
  jfl_status r = jf_file_fail(out->file, "empty the file");
  files_drop(out);
  return r;
}

static jfl_status commit(const jf_stage *st)
{
  char final[PATH_MAX];
  if (fsync(st->fd)) return jf_file_fail(st->file, "sync");
  if (st->fresh) {
    JF_TRY(sync_dir(st->dir));
    if (!rename(st->dir, st->target)) return JFL_OK;
    return errno == ENOTEMPTY || errno == EEXIST ? refuse(st->target)
                                                 : jf_file_fail(st->target, "rename to it");
  }
  JF_TRY(jf_file_path(st->target, "/", JF_MODEL_FILE, final));
  return rename(st->file, final) ? jf_file_fail(final, "rename to it") : JFL_OK;
}

jfl_status jf_stage_close(jf_stage *st, jfl_status s)
{
  if (s == JFL_OK) s = commit(st);
  if (s != JFL_OK) {
    files_drop(st);
    return s;
  }
  close(st->fd);
  return st->fresh ? sync_parent(st->target) : sync_dir(st->target);
}

/* ---- removing ---- */

/* Removes a file of dir, which a live save keeps locked; a missing one is fine. */
static jfl_status remove_file(const char *dir, const char *name)
{
  char path[PATH_MAX];
  JF_TRY(jf_file_path(dir, "/", name, path));
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (fd < 0) return errno == ENOENT ? JFL_OK : jf_file_fail(path, "open");
  int busy = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
  jfl_status r = busy ? jf_fail(JFL_ESTATE, "checkpoint %s: a save to it is in progress", dir)
               : unlink(path) ? jf_file_fail(path, "remove") : JFL_OK;
  close(fd);
  return r;
}

static jfl_status remove_checkpoint(const char *dir)
{
  int ours = 0;
  JF_TRY(is_empty(dir, JF_MODEL_FILE, &ours));
  if (!ours)
    return jf_fail(JFL_ESTATE, "checkpoint %s: not removed, as it holds more than a checkpoint",
                   dir);
  JF_TRY(remove_file(dir, JF_MODEL_FILE JF_STAGE_SUFFIX));
  JF_TRY(remove_file(dir, JF_MODEL_FILE));
  return rmdir(dir) ? jf_file_fail(dir, "remove the directory") : JFL_OK;
}

jfl_status jfl_checkpoint_remove(const char *path)
{
  char dir[PATH_MAX], staged[PATH_MAX];
  struct stat st;
  JF_NEED_POINTER(path);
  JF_TRY(jf_file_trim(path, dir));
  JF_TRY(jf_file_path(dir, JF_STAGE_SUFFIX, "", staged));
  if (!lstat(staged, &st) && S_ISDIR(st.st_mode)) JF_TRY(remove_checkpoint(staged));
  if (lstat(dir, &st)) return errno == ENOENT ? JFL_OK : jf_file_fail(dir, "look up");
  if (S_ISDIR(st.st_mode)) return remove_checkpoint(dir);
  return jf_fail(JFL_ESTATE, "checkpoint %s: not removed, as it is not a directory", dir);
}
