/* Files. */
#include "system/raw.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CHUNK = 1 << 30 };
_Static_assert(JF_HERE == AT_FDCWD, "the folder that relative paths start from");

int jf_raw_open(int folder, const char *path, int how)
{
  int flags = O_CLOEXEC | O_NOCTTY;
  flags |= how & JF_ADD ? O_WRONLY | O_APPEND | O_CREAT
         : how & JF_WRITE ? how & JF_READ ? O_RDWR : O_WRONLY : O_RDONLY;
  if (how & JF_NEW) flags |= O_CREAT | O_EXCL;
  if (how & JF_NO_LINK) flags |= O_NOFOLLOW;
  if (!(how & JF_WAIT)) flags |= O_NONBLOCK;
  int fd;
  do fd = openat(folder, path, flags, how & JF_PRIVATE ? 0600 : 0666);
  while (fd < 0 && errno == EINTR && !(how & JF_WAIT));
  return fd;
}

int jf_close(int file) { return close(file); }

int64_t jf_read(int file, void *to, size_t n)
{
  ssize_t got;
  do got = read(file, to, n < MAX_CHUNK ? n : MAX_CHUNK);
  while (got < 0 && errno == EINTR);
  return got;
}

int jf_is_ready(int file, double seconds)
{
  struct pollfd p = { .fd = file, .events = POLLIN };
  const int n = poll(&p, 1, (int)(seconds * 1000));
  return n > 0 || (n < 0 && errno != EINTR);      /* what is wrong, reading tells */
}

int64_t jf_read_at(int file, void *to, size_t n, uint64_t at)
{
  ssize_t got;
  do got = pread(file, to, n < MAX_CHUNK ? n : MAX_CHUNK, (off_t)at);
  while (got < 0 && errno == EINTR);
  return got;
}

static int file_put_all(int file, const void *from, size_t n)
{
  for (const char *p = from; n;) {
    ssize_t k = write(file, p, n < MAX_CHUNK ? n : MAX_CHUNK);
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
int jf_write_all(int file, const void *from, size_t n)
{
  sigset_t limit, before, waiting;
  sigemptyset(&limit);
  sigaddset(&limit, SIGXFSZ);
  sigpending(&waiting);
  pthread_sigmask(SIG_BLOCK, &limit, &before);
  int r = file_put_all(file, from, n), e = errno;
  if (!sigismember(&waiting, SIGXFSZ)) sigtimedwait(&limit, NULL, &(struct timespec){ 0, 0 });
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = e;
  return r;
}

int jf_seek(int file, uint64_t at) { return lseek(file, (off_t)at, SEEK_SET) < 0 ? -1 : 0; }

int jf_sync(int file)
{
  int r;
  do r = fsync(file);
  while (r && errno == EINTR);
  return r;
}

int jf_lock(int file)
{
  int r;
  do r = flock(file, LOCK_EX | LOCK_NB);
  while (r && errno == EINTR);
  return r;
}

void jf_unlock(int file) { flock(file, LOCK_UN); }

void jf_touch(int file) { futimens(file, NULL); }

/* ---- what is known of files ---- */

static int file_tell(const struct stat *st, jf_info *out)
{
  *out = (jf_info){
    .kind = S_ISREG(st->st_mode) ? JF_FILE : S_ISDIR(st->st_mode) ? JF_FOLDER
          : S_ISLNK(st->st_mode) ? JF_LINK : JF_SPECIAL,
    .size = st->st_size,
    .changed = (int64_t)st->st_mtim.tv_sec * 1000000000 + st->st_mtim.tv_nsec,
    .id = st->st_ino, .place = st->st_dev, .owner = st->st_uid, .group = st->st_gid,
    .rights = st->st_mode & 07777, .names = (unsigned)st->st_nlink,
    .mine = st->st_uid == geteuid()
  };
  return 0;
}

int jf_info_of(int file, jf_info *out)
{
  struct stat st;
  return fstat(file, &st) ? -1 : file_tell(&st, out);
}

int jf_info_of_folder(int folder, jf_info *out) { return jf_info_of(folder, out); }

int jf_raw_info_at(int folder, const char *path, int how, jf_info *out)
{
  struct stat st;
  const int flags = how & JF_NO_LINK ? AT_SYMLINK_NOFOLLOW : 0;
  return fstatat(folder, path, &st, flags) ? -1 : file_tell(&st, out);
}

/* Who may not give files away cannot keep the owner. */
int jf_inherit(int file, const jf_info *from)
{
  jf_info mine;
  if (jf_info_of(file, &mine)) return -1;
  mode_t mode = from->rights & 0777;
  if (from->owner != mine.owner || from->group != mine.group)
    if (fchown(file, from->owner, from->group) && fchown(file, (uid_t)-1, from->group))
      mode &= ~(mode_t)070;
  if (!fchmod(file, mode)) return 0;
  return errno == EPERM || errno == ENOTSUP || errno == ENOSYS ? 0 : -1;
}
