/* The walls of jfl --sandbox: Landlock keeps files, seccomp the system's calls, limits the rest. */
#include "cmd/walls.h"

#include <stdio.h>

/* The static build has no headers of the kernel. */
#if defined __linux__ && defined __has_include
#if __has_include(<linux/landlock.h>) && __has_include(<linux/seccomp.h>)
#define HAS_WALLS 1
#endif
#endif

#ifndef HAS_WALLS

int jf_walls_raise(const jf_walls *w, char *why, size_t size)
{
  (void)w;
  snprintf(why, size, "this jfl cannot do it; one that was built on Linux can");
  return -1;
}

#else

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/futex.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

/* ---- files: Landlock ---- */

#define FILE_RIGHTS (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE)
#define READING (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITING                                                                            \
  (READING | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |               \
   LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG | \
   LANDLOCK_ACCESS_FS_REFER | TRUNCATE)
#define TRUNCATE (1ull << 14)      /* of the third version, IOCTL_DEV of the fifth */
#define IOCTL_DEV (1ull << 15)

/* All rights that a version of Landlock knows. */
static uint64_t rights_of(long version)
{
  uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
  if (version >= 2) all |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) all |= TRUNCATE;
  if (version >= 5) all |= IOCTL_DEV;
  return all;
}

/* Allows what is in `rights` below a path; a path that is not there is an error if `needed`. */
static int allow(int rules, const char *path, uint64_t rights, uint64_t handled, int needed)
{
  struct stat st;
  const int fd = open(path, O_PATH | O_CLOEXEC);
  if (fd < 0) return needed ? -1 : 0;
  if (fstat(fd, &st)) st.st_mode = 0;
  if (!S_ISDIR(st.st_mode)) rights &= FILE_RIGHTS;
  struct landlock_path_beneath_attr rule = { .allowed_access = rights & handled, .parent_fd = fd };
  const long failed = syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  close(fd);
  return failed ? -1 : 0;
}

static int allow_all(int rules, const jf_walls *w, uint64_t handled, const char **wrong)
{
  static const char *const libraries[] = {
    "/usr/lib", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64", "/etc/ld.so.cache",
    "/sys/devices/system/cpu", "/dev/urandom", "/dev/zero"
  };
  for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
    if (allow(rules, *wrong = libraries[i], READING, handled, 0)) return -1;
  if (allow(rules, *wrong = "/dev/null", READING | LANDLOCK_ACCESS_FS_WRITE_FILE, handled, 0))
    return -1;
  for (int i = 0; i < w->read.n; i++)
    if (allow(rules, *wrong = w->read.at[i], READING, handled, 1)) return -1;
  for (int i = 0; i < w->write.n; i++)
    if (allow(rules, *wrong = w->write.at[i], WRITING, handled, 1)) return -1;
  return w->script ? allow(rules, *wrong = w->script, READING, handled, 1) : 0;
}

static int keep_files(const jf_walls *w, char *why, size_t size)
{
  const long version = syscall(SYS_landlock_create_ruleset, NULL, 0, 1);
  if (version < 1) {
    snprintf(why, size, "this kernel has no Landlock (Linux 5.13), which keeps files from it: %s",
             strerror(errno));
    return -1;
  }
  struct landlock_ruleset_attr all = { .handled_access_fs = rights_of(version) };
  const int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
  const char *wrong = "the rules";
  const int failed = rules < 0 || allow_all(rules, w, all.handled_access_fs, &wrong) ||
                     syscall(SYS_landlock_restrict_self, rules, 0);
  if (failed) snprintf(why, size, "%s: %s", wrong, strerror(errno));
  if (rules >= 0) close(rules);
  return failed ? -1 : 0;
}

/* ---- calls: seccomp ---- */

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* Calls that any argument is harmless to. Those of files are kept by Landlock. */
static const int harmless[] = {
  SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_preadv, SYS_pwritev,
  SYS_lseek, SYS_close, SYS_fstat, SYS_statx, SYS_newfstatat, SYS_faccessat, SYS_faccessat2,
  SYS_readlinkat, SYS_getdents64, SYS_getcwd, SYS_dup, SYS_dup3, SYS_mkdirat, SYS_unlinkat,
  SYS_renameat, SYS_ftruncate, SYS_fsync, SYS_fdatasync, SYS_fadvise64, SYS_flock,
  SYS_fstatfs, SYS_munmap, SYS_mremap, SYS_brk, SYS_mprotect,
  SYS_set_robust_list, SYS_rseq, SYS_set_tid_address, SYS_sched_yield, SYS_sched_getaffinity,
  SYS_sched_getscheduler, SYS_sched_getparam, SYS_exit, SYS_exit_group, SYS_gettid, SYS_getpid,
  SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getcpu, SYS_rt_sigaction,
  SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_rt_sigtimedwait, SYS_restart_syscall,
  SYS_membarrier, SYS_clock_gettime, SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep,
  SYS_gettimeofday, SYS_times, SYS_getrusage, SYS_setitimer, SYS_getrandom, SYS_uname,
  SYS_sysinfo, SYS_eventfd2, SYS_ppoll, SYS_pselect6, SYS_pipe2,
#ifdef SYS_open                    /* older forms, which new architectures lack */
  SYS_stat, SYS_lstat, SYS_access, SYS_readlink, SYS_dup2, SYS_mkdir, SYS_rmdir, SYS_unlink,
  SYS_rename, SYS_poll, SYS_select, SYS_pipe, SYS_time, SYS_arch_prctl,
  SYS_getrlimit,
#endif
};

/* Calls that seem to succeed: who saves a file gives it rights and times, which is not worth an
   error, and by these a file that may only be read could be changed. */
static const int ignored[] = { SYS_fchmod, SYS_fchown, SYS_utimensat };

enum { MOST = 512 };
typedef struct filter { struct sock_filter at[MOST]; unsigned short n; } filter;

#define ADD(f, code, jt, jf, k) \
  ((f)->at[(f)->n++] = (struct sock_filter){ (unsigned short)(code), jt, jf, k })
#define WORD (BPF_LD | BPF_W | BPF_ABS)
#define LOW(i) (unsigned)(offsetof(struct seccomp_data, args) + 8 * (i))
#define REFUSE (SECCOMP_RET_ERRNO | EPERM)

static void add_return(filter *f, int number, unsigned what)
{
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, (unsigned)number);
  ADD(f, BPF_RET | BPF_K, 0, 0, what);
}

/* Allows a call whose i-th argument, but for the bits `without`, is one of n values; else it is
   refused. */
static void add_values_but(filter *f, int number, int i, unsigned without, const unsigned *value,
                           int n)
{
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, (unsigned char)(2 * n + 3), (unsigned)number);
  ADD(f, WORD, 0, 0, LOW(i));
  ADD(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, ~without);
  for (int k = 0; k < n; k++) add_return(f, (int)value[k], SECCOMP_RET_ALLOW);
  ADD(f, BPF_RET | BPF_K, 0, 0, REFUSE);
}

static void add_values(filter *f, int number, int i, const unsigned *value, int n)
{
  add_values_but(f, number, i, 0, value, n);
}

/* Allows a call whose i-th argument, a pointer, is NULL: in both of its halves. */
static void add_null(filter *f, int number, int i)
{
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 6, (unsigned)number);
  ADD(f, WORD, 0, 0, LOW(i));
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 3, 0);
  ADD(f, WORD, 0, 0, LOW(i) + 4);
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  ADD(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  ADD(f, BPF_RET | BPF_K, 0, 0, REFUSE);
}

/* Allows a call if the bits `mask` of its i-th argument are `is`. */
static void add_bits(filter *f, int number, int i, unsigned mask, unsigned is)
{
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 5, (unsigned)number);
  ADD(f, WORD, 0, 0, LOW(i));
  ADD(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, mask);
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, is);
  ADD(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  ADD(f, BPF_RET | BPF_K, 0, 0, REFUSE);
}

/* Allows to open a file, its flags being the i-th argument, but not to cut it without opening it to
   write: Landlock's first versions let that pass. Linux opens for neither reading nor writing where
   all bits of O_ACCMODE are set, and still cuts the file. Nor to make one that others run with the
   rights of its owner: the mode, which is the next argument, has none of these bits. */
static void add_open(filter *f, int number, int i)
{
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 9, (unsigned)number);
  ADD(f, WORD, 0, 0, LOW(i));
  ADD(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, O_TRUNC | O_ACCMODE);
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 5, 0, O_TRUNC | O_RDONLY);
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 4, 0, O_TRUNC | O_ACCMODE);
  ADD(f, WORD, 0, 0, LOW(i + 1));
  ADD(f, BPF_ALU | BPF_AND | BPF_K, 0, 0, S_ISUID | S_ISGID | S_ISVTX);
  ADD(f, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
  ADD(f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  ADD(f, BPF_RET | BPF_K, 0, 0, REFUSE);
}

/* A thread as the C libraries start one, glibc and musl, and no space of names of its own. */
#define THREAD (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | \
                CLONE_SETTLS | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* Advice of Linux 6.13, by which glibc guards stacks. */
enum { GUARD = 102, NO_GUARD = 103 };

/* Calls about threads and memory. Advice can also break pages of the machine or compare them with
   those of others, and a futex make a thread of somebody else more urgent. */
static void add_threads(filter *f)
{
  static const unsigned thread[] = { THREAD, THREAD | CLONE_DETACHED };
  static const unsigned futex[] = { FUTEX_WAIT, FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE,
                                    FUTEX_WAKE_OP, FUTEX_WAIT_BITSET, FUTEX_WAKE_BITSET };
  static const unsigned advice[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED,
                                     MADV_DONTNEED, MADV_FREE, MADV_HUGEPAGE, MADV_NOHUGEPAGE,
                                     MADV_DONTDUMP, MADV_DODUMP, GUARD, NO_GUARD };
  const unsigned me = 0;
  add_values(f, SYS_clone, 0, thread, sizeof thread / sizeof *thread);
  add_return(f, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);     /* glibc takes clone then */
  add_values_but(f, SYS_futex, 1, FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME, futex,
                 sizeof futex / sizeof *futex);
  add_values(f, SYS_madvise, 2, advice, sizeof advice / sizeof *advice);
  add_values(f, SYS_sched_setaffinity, 0, &me, 1);
  add_bits(f, SYS_mmap, 3, MAP_SHARED | MAP_HUGETLB, 0);
}

/* Calls that are allowed with certain arguments. Memory that is shared is in no limit. Nothing
   changes how a descriptor works, which the terminal's is shared with who started this. */
static void add_some(filter *f)
{
  static const unsigned control[] = { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL,
                                      F_GETLK, F_SETLK, F_SETLKW };
  static const unsigned terminal[] = { TCGETS, TIOCGWINSZ, FIONREAD, FIOCLEX };
  static const unsigned process[] = { PR_SET_NAME, PR_GET_NAME };
  static const unsigned rename[] = { 0, RENAME_NOREPLACE };
  const unsigned self = (unsigned)getpid();
  add_values(f, SYS_fcntl, 1, control, sizeof control / sizeof *control);
  add_values(f, SYS_ioctl, 1, terminal, sizeof terminal / sizeof *terminal);
  add_values(f, SYS_prctl, 0, process, sizeof process / sizeof *process);
  add_values(f, SYS_kill, 0, &self, 1);
  add_values(f, SYS_tgkill, 0, &self, 1);
  add_values(f, SYS_renameat2, 4, rename, sizeof rename / sizeof *rename);
  add_null(f, SYS_prlimit64, 2);
  add_open(f, SYS_openat, 2);
#ifdef SYS_open
  add_open(f, SYS_open, 1);
#endif
}

static int keep_calls(char *why, size_t size)
{
#ifdef ARCHITECTURE
  filter f = { .n = 0 };
  ADD(&f, WORD, 0, 0, offsetof(struct seccomp_data, arch));
  ADD(&f, BPF_JMP | BPF_JEQ | BPF_K, 1, 0, ARCHITECTURE);
  ADD(&f, BPF_RET | BPF_K, 0, 0, SECCOMP_RET_KILL_PROCESS);
  ADD(&f, WORD, 0, 0, offsetof(struct seccomp_data, nr));
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    add_return(&f, harmless[i], SECCOMP_RET_ALLOW);
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
    add_return(&f, ignored[i], SECCOMP_RET_ERRNO);
  add_some(&f);
  add_threads(&f);
  ADD(&f, BPF_RET | BPF_K, 0, 0, REFUSE);
  struct sock_fprog program = { f.n, f.at };
  if (!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 0;
  snprintf(why, size, "this kernel does not filter system calls: %s", strerror(errno));
#else
  snprintf(why, size, "it is not supported on this processor");
#endif
  return -1;
}

/* ---- limits ---- */

static int limit(int what, uint64_t most)
{
  struct rlimit l;
  if (getrlimit(what, &l)) return -1;
  if (most < l.rlim_max) l.rlim_max = most;
  l.rlim_cur = l.rlim_max;
  return setrlimit(what, &l);
}

/* Memory of its own is within the limit; what is mapped besides, such as libraries, gets more. */
static int keep_limits(const jf_walls *w, char *why, size_t size)
{
  const uint64_t seconds = (uint64_t)(w->seconds * 64) + 2;  /* the parent has the clock */
  if (!limit(RLIMIT_DATA, w->memory) && !limit(RLIMIT_AS, w->memory + (1ull << 30)) &&
      !limit(RLIMIT_CPU, seconds) && !limit(RLIMIT_FSIZE, 1ull << 30) &&
      !limit(RLIMIT_NOFILE, 64) && !limit(RLIMIT_CORE, 0) && !limit(RLIMIT_MEMLOCK, 0) &&
      !limit(RLIMIT_MSGQUEUE, 0))
    return 0;
  snprintf(why, size, "limits: %s", strerror(errno));
  return -1;
}

/* Takes all that root may do beyond other users, but for the files of these, which the rules keep:
   a call that is allowed may mean more for one who has such rights. */
static int keep_rights(char *why, size_t size)
{
  enum { FILES = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH };
  struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
  struct __user_cap_data_struct has[2] = { { 0 } }, keeps[2] = { { 0 } };
  const int failed = (int)syscall(SYS_capget, &head, has);
  keeps[0].effective = has[0].effective & FILES;
  keeps[0].permitted = has[0].permitted & FILES;
  if (!failed && !syscall(SYS_capset, &head, keeps)) return 0;
  snprintf(why, size, "rights of root: %s", strerror(errno));
  return -1;
}

int jf_walls_raise(const jf_walls *w, char *why, size_t size)
{
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_close_range, 3, ~0u, 0)) {
    snprintf(why, size, "rights and files: %s", strerror(errno));
    return -1;
  }
  return keep_files(w, why, size) || keep_limits(w, why, size) || keep_rights(why, size) ||
         keep_calls(why, size) ? -1 : 0;
}

#endif
