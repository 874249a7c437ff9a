/* Libraries, the environment, the process. */
#include "system/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
#define __libc_single_threaded 0   /* nobody tells */
#endif

void *jf_so_open(const char *name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }
const char *jf_so_trouble(void) { return dlerror(); }
void *jf_so_find(void *so, const char *name) { return dlsym(so, name); }
void jf_so_close(void *so) { dlclose(so); }

int jf_environment_lend(const char *name, const char *value)
{
  return __libc_single_threaded && !getenv(name) && !setenv(name, value, 1);
}

void jf_environment_take(const char *name) { unsetenv(name); }

const char *jf_home_folder(void) { return getenv("HOME"); }

int jf_random(void *p, size_t n) { return getrandom(p, n, GRND_NONBLOCK) == (ssize_t)n; }

int jf_secret(void *p, size_t n)
{
  for (size_t at = 0; at < n;) {
    const ssize_t some = getrandom((char *)p + at, n - at, 0);
    if (some < 0 && errno != EINTR) return -1;
    if (some > 0) at += (size_t)some;
  }
  return 0;
}

/* Only glibc tells a function that runs at the end the status. A program for another C library may
   be linked so that __wrap_exit is called in place of exit. */
static void (*at_exit)(int status);

#ifdef __GLIBC__
static void process_ends(int status, void *none) { (void)none; at_exit(status); }

void jf_at_exit(void (*fn)(int status))
{
  at_exit = fn;
  on_exit(process_ends, NULL);
}
#else
static int exit_status;

#ifdef JF_WRAPS_EXIT
_Noreturn void __real_exit(int status);
_Noreturn void __wrap_exit(int status);

void __wrap_exit(int status)
{
  exit_status = status;
  __real_exit(status);
}
#endif

static void process_ends(void) { at_exit(exit_status); }

void jf_at_exit(void (*fn)(int status))
{
  at_exit = fn;
  atexit(process_ends);
}
#endif

/* What is opened from here on lies behind the standard descriptors, also where some of these were
   closed: they become such that can neither be read nor written as they are meant to. */
void jf_begin(int *argc, char ***argv)
{
  int fd = 0;
  (void)argc, (void)argv;
  while (fd >= 0 && fd <= STDERR_FILENO)
    fd = fcntl(0, F_GETFD) < 0 ? open("/dev/null", O_WRONLY) : open("/dev/null", O_RDONLY);
  if (fd >= 0) close(fd);
}

long jf_process(void) { return (long)getpid(); }

int jf_program(char *out, size_t size)
{
  static const char path[] = "/proc/self/exe";
  if (size < sizeof path || access(path, R_OK)) return -1;
  memcpy(out, path, sizeof path);
  return 0;
}

void jf_system_name(char *out, size_t size)
{
  struct utsname system;
  if (uname(&system)) snprintf(out, size, "unknown");
  else snprintf(out, size, "%s, %s", system.sysname, system.machine);
}

void jf_machine(char *out, size_t size)
{
  memset(out, 0, size);
  if (gethostname(out, size - 1)) strncpy(out, "localhost", size - 1);
}

int jf_terminal_columns(int fd)
{
  struct winsize size = { 0 };
  if (fd < 0 || !isatty(fd)) return 0;
  return ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* The C locale, whatever the host has set. */
static locale_t plain;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void process_open_locale(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double jf_number_read(const char *s, char **end)
{
  pthread_once(&once, process_open_locale);
  if (plain != (locale_t)0) return strtod_l(s, end, plain);
  *end = (char *)s;
  return 0;
}
