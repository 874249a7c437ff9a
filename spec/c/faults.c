/* build/faults.so: the faults of faults.h in a program that was built without them, by LD_PRELOAD.

     JFL_FAULTS=AT:TIMES:WHAT:WHICH:BELOW   as faults_begin takes them, from the program's start;
                                            WHICH "-": all
     JFL_FAULTS_STATE=FILE                  keeps the state there, for the processes that the
                                            program starts, which count together
     JFL_FAULTS_CLOCK=1                     the time of day jumps by ten years at each look, to
                                            and fro; what counts how long something takes does not
     JFL_FAULTS_STACK=1                     says by which way a signal ended the program

   A Lua script calls faults_begin and faults_end by its ffi. */
#include "faults.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

/* ---- listings ---- */

FAULTS_HERE DIR *fdopendir(int fd)
{
  DIR *(*real)(int) = (DIR *(*)(int))dlsym(RTLD_NEXT, "fdopendir");
  return faults_on(fd, 'L', 0) > 0 ? NULL : real(fd);
}

FAULTS_HERE struct dirent *readdir(DIR *d)
{
  struct dirent *(*real)(DIR *) = (struct dirent *(*)(DIR *))dlsym(RTLD_NEXT, "readdir");
  return faults_on(dirfd(d), 'L', 0) > 0 ? NULL : real(d);
}

/* ---- looking up ---- */

#ifdef SYS_newfstatat
FAULTS_HERE int fstat(int fd, struct stat *to)
{
  return faults_on(fd, 's', 0) > 0 ? -1 : (int)syscall(SYS_fstat, fd, to);
}

FAULTS_HERE int fstatat(int dir, const char *restrict path, struct stat *restrict to, int flags)
{
  return faults_at(dir, path, 's') > 0 ? -1 : (int)syscall(SYS_newfstatat, dir, path, to, flags);
}
#endif

/* ---- streams, whose own calls are inside the C library ---- */

static ssize_t stream_read(void *fd, char *to, size_t n) { return read((int)(intptr_t)fd, to, n); }
static int stream_close(void *fd) { return close((int)(intptr_t)fd); }

/* What a stream's write gives must not be less than 0. */
static ssize_t stream_write(void *fd, const char *data, size_t n)
{
  const ssize_t done = write((int)(intptr_t)fd, data, n);
  return done < 0 ? 0 : done;
}

static int stream_seek(void *fd, off64_t *at, int from)
{
  const off_t to = lseek((int)(intptr_t)fd, *at, from);
  if (to < 0) return -1;
  *at = to;
  return 0;
}

static const cookie_io_functions_t stream = { stream_read, stream_write, stream_seek,
                                              stream_close };

/* Only files below the folder become such streams: these have no number. */
FAULTS_HERE FILE *fopen(const char *path, const char *mode)
{
  FILE *(*real)(const char *, const char *) =
    (FILE *(*)(const char *, const char *))dlsym(RTLD_NEXT, "fopen");
  char whole[PATH_MAX];
  if (!faults->on) return real(path, mode);
  if (*path != '/' && getcwd(whole, sizeof whole)) {
    if (!faults_is_below(whole)) return real(path, mode);
  } else if (!faults_is_below(path)) {
    return real(path, mode);
  }
  const int plus = strchr(mode, '+') != NULL;
  int flags = *mode == 'r' ? plus ? O_RDWR : O_RDONLY : plus ? O_RDWR : O_WRONLY;
  if (*mode != 'r') flags |= O_CREAT | (*mode == 'w' ? O_TRUNC : O_APPEND);
  if (strchr(mode, 'x')) flags |= O_EXCL;
  const int fd = faults_openat(AT_FDCWD, path, flags | O_CLOEXEC, 0666);
  return fd < 0 ? NULL : fopencookie((void *)(intptr_t)fd, mode, stream);
}

FAULTS_HERE FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }

/* ---- sockets ---- */

FAULTS_HERE int connect(int fd, const struct sockaddr *to, socklen_t n)
{
  return faults_on(fd, 0, 'C') > 0 ? -1 : (int)syscall(SYS_connect, fd, to, n);
}

FAULTS_HERE int bind(int fd, const struct sockaddr *at, socklen_t n)
{
  return faults_on(fd, 0, 'S') > 0 ? -1 : (int)syscall(SYS_bind, fd, at, n);
}

FAULTS_HERE int listen(int fd, int n)
{
  return faults_on(fd, 0, 'S') > 0 ? -1 : (int)syscall(SYS_listen, fd, n);
}

FAULTS_HERE int accept4(int fd, struct sockaddr *restrict from, socklen_t *restrict n, int flags)
{
  return faults_on(fd, 0, 'A') > 0 ? -1 : (int)syscall(SYS_accept4, fd, from, n, flags);
}

FAULTS_HERE ssize_t send(int fd, const void *data, size_t n, int flags)
{
  const int fault = faults_on(fd, 0, 'W');
  return fault > 0 ? -1 : syscall(SYS_sendto, fd, data, faults_part(fault, n), flags, NULL, 0);
}

FAULTS_HERE ssize_t recv(int fd, void *to, size_t n, int flags)
{
  const int fault = faults_on(fd, 0, 'R');
  return fault > 0 ? -1 : syscall(SYS_recvfrom, fd, to, faults_part(fault, n), flags, NULL, NULL);
}

/* Every wait counts, also one for pipes. */
FAULTS_HERE int poll(struct pollfd *p, nfds_t n, int ms)
{
  const struct timespec t = { ms / 1000, ms % 1000 * 1000000L };
  if (faults_step('P') > 0) return -1;
  return (int)syscall(SYS_ppoll, p, n, ms < 0 ? NULL : &t, NULL, 0);
}

FAULTS_HERE int __poll_chk(struct pollfd *p, nfds_t n, int ms, size_t room);
FAULTS_HERE int __poll_chk(struct pollfd *p, nfds_t n, int ms, size_t room)
{
  return room < n * sizeof *p ? (errno = EINVAL), -1 : poll(p, n, ms);
}

/* ---- memory ---- */

/* Those of the sanitizers are never replaced: what is built with them has its own. */
static struct {
  void *(*malloc)(size_t);
  void *(*calloc)(size_t, size_t);
  void *(*realloc)(void *, size_t);
  void *(*memalign)(size_t, size_t);
} next;

static void find_next(void)
{
  if (next.malloc) return;
  *(void **)&next.calloc = dlsym(RTLD_NEXT, "calloc");
  *(void **)&next.realloc = dlsym(RTLD_NEXT, "realloc");
  *(void **)&next.memalign = dlsym(RTLD_NEXT, "memalign");
  *(void **)&next.malloc = dlsym(RTLD_NEXT, "malloc");
}

/* Whether the loader is at work for this thread, by dlopen: what libraries do as they are opened
   ends the process in many ways, and programs can only make sure that memory is there before. */
static __thread int loading __attribute__((tls_model("initial-exec")));

FAULTS_HERE void *dlopen(const char *name, int how)
{
  static void *(*real)(const char *, int);
  if (!real) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
  loading++;
  void *so = real(name, how);
  loading--;
  return so;
}

/* What the loader itself takes, for a thread's variables of a library, and what GCC's library does
   when LuaJIT tells it of code that it has compiled: neither can be asked for less. */
static int is_loader(const void *caller)
{
  Dl_info info;
  static const void *base;
  if (!base) base = dladdr((void *)_r_debug.r_brk, &info) ? info.dli_fbase : (void *)1;
  if (!dladdr(caller, &info)) return 0;
  return info.dli_fbase == base || (info.dli_fname && strstr(info.dli_fname, "libgcc_s"));
}

/* Only where it is asked for. */
static int faults_memory(char letter, const void *caller)
{
  find_next();
  if (!faults->on || !strchr(faults->which, letter) || loading || is_loader(caller)) return 0;
  if (faults_step(letter) <= 0) return 0;
  errno = ENOMEM;
  return 1;
}

#define CALLER __builtin_return_address(0)
FAULTS_HERE void *malloc(size_t n) { return faults_memory('a', CALLER) ? NULL : next.malloc(n); }
FAULTS_HERE void *calloc(size_t n, size_t size)
{
  return faults_memory('a', CALLER) ? NULL : next.calloc(n, size);
}
FAULTS_HERE void *realloc(void *p, size_t n)
{
  return n && faults_memory('a', CALLER) ? NULL : next.realloc(p, n);
}
FAULTS_HERE void *memalign(size_t align, size_t n);
FAULTS_HERE void *memalign(size_t align, size_t n)
{
  return faults_memory('a', CALLER) ? NULL : next.memalign(align, n);
}
FAULTS_HERE void *aligned_alloc(size_t align, size_t n)
{
  return faults_memory('a', CALLER) ? NULL : next.memalign(align, n);
}
FAULTS_HERE int posix_memalign(void **p, size_t align, size_t n)
{
  void *q = faults_memory('a', CALLER) ? NULL : next.memalign(align, n);
  if (q) *p = q;
  return q ? 0 : ENOMEM;
}

FAULTS_HERE void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
  if (faults_memory('p', CALLER)) return MAP_FAILED;
  return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}
FAULTS_HERE void *mmap64(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
  return mmap(at, n, prot, flags, fd, offset);
}
#undef CALLER

/* ---- the time of day ---- */

static int clock_jumps;

FAULTS_HERE int clock_gettime(clockid_t clock, struct timespec *to)
{
  static atomic_int looks;
  const int r = (int)syscall(SYS_clock_gettime, clock, to);
  if (!r && clock_jumps && clock == CLOCK_REALTIME)
    to->tv_sec += (atomic_fetch_add(&looks, 1) % 3 - 1) * 315360000L;
  return r;
}

FAULTS_HERE int gettimeofday(struct timeval *restrict to, void *restrict zone)
{
  struct timespec t;
  (void)zone;
  clock_gettime(CLOCK_REALTIME, &t);
  *to = (struct timeval){ t.tv_sec, t.tv_nsec / 1000 };
  return 0;
}

FAULTS_HERE time_t time(time_t *to)
{
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  if (to) *to = t.tv_sec;
  return t.tv_sec;
}

/* ---- the beginning ---- */

/* Says by which way the program came to its end, where a fault made a library end it. */
static void tell_stack(int signal_number)
{
  void *at[64];
  static const char head[] = "faults: ended by a signal, from:\n";
  faults->on = 0;
  if (syscall(SYS_write, 2, head, sizeof head - 1) > 0)
    backtrace_symbols_fd(at, backtrace(at, 64), 2);
  signal(signal_number, SIG_DFL);
  raise(signal_number);
}

static void share_state(const char *path)
{
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || syscall(SYS_ftruncate, fd, sizeof(faults_state))) abort();
  void *p = (void *)syscall(SYS_mmap, NULL, sizeof(faults_state), PROT_READ | PROT_WRITE,
                            MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) abort();
  faults = p;
  syscall(SYS_close, fd);
}

__attribute__((constructor)) static void faults_open(void)
{
  const char *plan = getenv("JFL_FAULTS"), *state = getenv("JFL_FAULTS_STATE");
  int at, times, what, n = 0;
  char which[64];
  if (state) share_state(state);
  clock_jumps = getenv("JFL_FAULTS_CLOCK") != NULL;
  if (getenv("JFL_FAULTS_STACK")) {
    void *warm[1];
    backtrace(warm, 1);             /* loads what it needs */
    static char room[1 << 16];      /* where no memory is left for the stack */
    sigaltstack(&(stack_t){ .ss_sp = room, .ss_size = sizeof room }, NULL);
    const struct sigaction tells = { .sa_handler = tell_stack, .sa_flags = SA_ONSTACK };
    sigaction(SIGABRT, &tells, NULL);
    sigaction(SIGSEGV, &tells, NULL);
  }
  if (!plan || faults->below[0]) return;
  if (sscanf(plan, "%d:%d:%d:%63[^:]:%n", &at, &times, &what, which, &n) != 4 || !n) abort();
  faults_begin(plan + n, strcmp(which, "-") ? which : "", at, times, what);
}
