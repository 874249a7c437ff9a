/* Faults of system calls: functions in place of the C library's that count the calls on files below
   a folder and on sockets, and of which the k-th fails, does only a part of its work, or ends the
   process. A C test that includes this has them in place of its own calls; as build/faults.so they
   are those of a whole program (LD_PRELOAD). A record of all that changes files can be kept too,
   for spec/c/replay.h. */
#ifndef FAULTS_H
#define FAULTS_H

/* Before all other headers: with it some of these functions would be defined there. */
#undef _FORTIFY_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FAULTS_HERE __attribute__((visibility("default")))

/* What a faulty call does; an errno above 0: it fails. One that stops stops the process before the
   call, which SIGCONT lets go on. */
enum { FAULTS_NONE = 0, FAULTS_KILL = -1, FAULTS_SHORT = -2, FAULTS_STOP = -3 };
enum { FAULTS_PIECE = 97, FAULTS_PART = 7, FAULTS_LOG = 8192 };

/* One letter for each kind of call; `which` has those that count, all where it is empty:

     o opens, or makes, a file    l opens a folder    r reads    w writes    f syncs a file
     d syncs a folder    n renames    u removes    m makes a folder    k locks
     c gives rights or an owner    t cuts    x closes

   and in build/faults.so, which has the calls for them:

     L lists a folder    s looks up, as stat does    a allocates    p maps memory
     S binds a socket, or listens there    C connects    A accepts    W sends    R receives
     P polls */
typedef struct faults_state {
  atomic_int on, n;            /* calls that counted so far */
  int at, times, what;         /* calls at .. at + times - 1 are faulty; times 0: all from there */
  int pieces;                  /* writes take so many bytes at most; 0: any */
  char below[PATH_MAX], which[64];
  char log[FAULTS_LOG];        /* the letter of each call */
} faults_state;

static faults_state faults_own;
static faults_state *faults = &faults_own;

/* Called with each change of a file that was made, for a record. */
typedef struct faults_change {
  char kind;                   /* o w f d n u m t, as above; R: removes a folder */
  int fd, to_fd;               /* the file, or the folder in which `name` is */
  const char *name, *to;
  const void *data;
  size_t n;
} faults_change;
static void (*faults_recorder)(const faults_change *c);

static inline void faults_tell(faults_change c)
{
  const int e = errno;
  if (faults_recorder && faults->on) faults_recorder(&c);
  errno = e;
}

/* Whether a call is faulty, and then what is to become of it: 0: nothing. Ends the process where
   that is wanted. */
static inline int faults_step(char letter)
{
  if (!faults->on || (faults->which[0] && !strchr(faults->which, letter))) return 0;
  const int n = atomic_fetch_add(&faults->n, 1) + 1;
  if (n < FAULTS_LOG) faults->log[n - 1] = letter;
  if (!faults->what || n < faults->at || (faults->times && n >= faults->at + faults->times))
    return 0;
  if (faults->what == FAULTS_KILL) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
  }
  if (faults->what == FAULTS_STOP) {
    kill(getpid(), SIGSTOP);
    return 0;
  }
  if (faults->what > 0) errno = faults->what;
  return faults->what;
}

static inline int faults_is_below(const char *path)
{
  const size_t n = strlen(faults->below);
  return n && !strncmp(path, faults->below, n) && (path[n] == '/' || !path[n]);
}

/* What a descriptor stands for: a path, or a text such as "socket:[7]". */
static inline int faults_target(int fd, char *to)
{
  char link[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const ssize_t n = syscall(SYS_readlinkat, AT_FDCWD, link, to, PATH_MAX - 1);
  to[n < 0 ? 0 : n] = '\0';
  return n > 0;
}

/* The same as faults_step, for a call on a descriptor, with another letter on a socket; '\0': those
   do not count. */
static inline int faults_on(int fd, char letter, char on_socket)
{
  char path[PATH_MAX];
  if (!faults->on) return 0;
  const int e = errno;
  const int known = faults_target(fd, path);
  errno = e;
  if (!known) return 0;
  if (!strncmp(path, "socket:", 7)) return on_socket ? faults_step(on_socket) : 0;
  return faults_is_below(path) && letter ? faults_step(letter) : 0;
}

/* The same, for a path from a folder. */
static inline int faults_at(int dir, const char *path, char letter)
{
  char whole[PATH_MAX];
  if (!faults->on || !path) return 0;
  if (*path == '/') return faults_is_below(path) ? faults_step(letter) : 0;
  const int e = errno;
  const int known = dir == AT_FDCWD ? getcwd(whole, sizeof whole) != NULL
                                    : faults_target(dir, whole);
  errno = e;
  return known && faults_is_below(whole) ? faults_step(letter) : 0;
}

/* How many bytes of n a call may take: fewer where it is short. */
static inline size_t faults_part(int fault, size_t n)
{
  return fault == FAULTS_SHORT && n > 1 ? n > FAULTS_PART ? FAULTS_PART : n / 2 : n;
}

/* ---- files ---- */

static inline int faults_openat(int dir, const char *path, int flags, mode_t mode)
{
  const int fault = faults_at(dir, path, flags & O_DIRECTORY ? 'l' : 'o');
  if (fault > 0) return -1;
  const int fd = (int)syscall(SYS_openat, dir, path, flags, mode);
  if (fd >= 0 && flags & (O_CREAT | O_TRUNC))
    faults_tell((faults_change){ .kind = 'o', .fd = fd, .to_fd = dir, .name = path });
  return fd;
}

#define FAULTS_OPEN(call, ...)                                                       \
  va_list ap;                                                                       \
  va_start(ap, flags);                                                              \
  const mode_t mode = flags & O_CREAT ? (mode_t)va_arg(ap, int) : 0;                 \
  va_end(ap);                                                                       \
  return faults_openat(__VA_ARGS__, path, flags, mode)

FAULTS_HERE int openat(int dir, const char *path, int flags, ...) { FAULTS_OPEN(openat, dir); }
FAULTS_HERE int open(const char *path, int flags, ...) { FAULTS_OPEN(open, AT_FDCWD); }
FAULTS_HERE int open64(const char *path, int flags, ...) { FAULTS_OPEN(open64, AT_FDCWD); }
FAULTS_HERE int __openat_2(int dir, const char *path, int flags);
FAULTS_HERE int __openat_2(int dir, const char *path, int flags)
{
  return faults_openat(dir, path, flags, 0);
}
#undef FAULTS_OPEN

FAULTS_HERE ssize_t read(int fd, void *to, size_t n)
{
  const int fault = faults_on(fd, 'r', 'R');
  return fault > 0 ? -1 : syscall(SYS_read, fd, to, faults_part(fault, n));
}

FAULTS_HERE ssize_t pread(int fd, void *to, size_t n, off_t at)
{
  const int fault = faults_on(fd, 'r', 0);
  return fault > 0 ? -1 : syscall(SYS_pread64, fd, to, faults_part(fault, n), at);
}

FAULTS_HERE ssize_t write(int fd, const void *data, size_t n)
{
  const int fault = faults_on(fd, 'w', 'W');
  size_t part = faults_part(fault, n);
  if (fault > 0) return -1;
  if (faults->on && faults->pieces && part > (size_t)faults->pieces) part = (size_t)faults->pieces;
  const ssize_t done = syscall(SYS_write, fd, data, part);
  if (done > 0)
    faults_tell((faults_change){ .kind = 'w', .fd = fd, .data = data, .n = (size_t)done });
  return done;
}

FAULTS_HERE ssize_t writev(int fd, const struct iovec *v, int n)
{
  const int fault = faults_on(fd, 'w', 'W');
  if (fault > 0) return -1;
  return fault == FAULTS_SHORT ? syscall(SYS_write, fd, v[0].iov_base, v[0].iov_len / 2)
                               : syscall(SYS_writev, fd, v, n);
}

/* The disk itself is not waited for: no test crashes a machine. */
FAULTS_HERE int fsync(int fd)
{
  const int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return -1;
  const char letter = flags & O_DIRECTORY ? 'd' : 'f';
  if (faults_on(fd, letter, 0) > 0) return -1;
  faults_tell((faults_change){ .kind = letter, .fd = fd });
  return 0;
}

FAULTS_HERE int fdatasync(int fd) { return fsync(fd); }

FAULTS_HERE int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
  if (faults_at(from_dir, from, 'n') > 0) return -1;
  const int r = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
  if (!r)
    faults_tell((faults_change){ .kind = 'n', .fd = from_dir, .to_fd = to_dir, .name = from,
                                 .to = to });
  return r;
}

FAULTS_HERE int rename(const char *from, const char *to)
{
  return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

FAULTS_HERE int unlinkat(int dir, const char *path, int flags)
{
  if (faults_at(dir, path, 'u') > 0) return -1;
  const int r = (int)syscall(SYS_unlinkat, dir, path, flags);
  if (!r)
    faults_tell((faults_change){ .kind = flags & AT_REMOVEDIR ? 'R' : 'u', .fd = dir,
                                 .name = path });
  return r;
}

FAULTS_HERE int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

FAULTS_HERE int mkdirat(int dir, const char *path, mode_t mode)
{
  if (faults_at(dir, path, 'm') > 0) return -1;
  const int r = (int)syscall(SYS_mkdirat, dir, path, mode);
  if (!r) faults_tell((faults_change){ .kind = 'm', .fd = dir, .name = path });
  return r;
}

FAULTS_HERE int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

FAULTS_HERE int fchmod(int fd, mode_t mode)
{
  return faults_on(fd, 'c', 0) > 0 ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

FAULTS_HERE int fchown(int fd, uid_t owner, gid_t group)
{
  return faults_on(fd, 'c', 0) > 0 ? -1 : (int)syscall(SYS_fchown, fd, owner, group);
}

FAULTS_HERE int ftruncate(int fd, off_t n)
{
  return faults_on(fd, 't', 0) > 0 ? -1 : (int)syscall(SYS_ftruncate, fd, n);
}

FAULTS_HERE int flock(int fd, int how)
{
  return faults_on(fd, 'k', 0) > 0 ? -1 : (int)syscall(SYS_flock, fd, how);
}

/* The file is closed also where the call says that it failed. */
FAULTS_HERE int close(int fd)
{
  const int fault = faults_on(fd, 'x', 'x'), e = errno;
  const int r = (int)syscall(SYS_close, fd);
  return fault > 0 ? (errno = e), -1 : r;
}

/* ---- what tests call ---- */

/* Calls on files below the folder, and on sockets, are counted from now on; of those with a letter
   in `which`, all where it is "", `times` calls from number `at` on become faulty. */
FAULTS_HERE void faults_begin(const char *below, const char *which, int at, int times, int what);
FAULTS_HERE void faults_begin(const char *below, const char *which, int at, int times, int what)
{
  faults->on = 0;
  faults->n = 0;
  faults->at = at;
  faults->times = times;
  faults->what = what;
  memset(faults->log, 0, sizeof faults->log);
  snprintf(faults->below, sizeof faults->below, "%s", below);
  snprintf(faults->which, sizeof faults->which, "%s", which);
  faults->on = 1;
}

/* Counts no more; gives how many there were. Their letters are faults_letters(). */
FAULTS_HERE int faults_end(void);
FAULTS_HERE int faults_end(void)
{
  faults->on = 0;
  return faults->n;
}

FAULTS_HERE const char *faults_letters(void);
FAULTS_HERE const char *faults_letters(void) { return faults->log; }

#endif
