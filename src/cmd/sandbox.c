/* jfl --sandbox: runs a script in a process that the system keeps from all but what is said here.
   The whole of Lua is in it, with its compiler and ffi: the walls stand around the process. */
#include "cmd/cmd.h"
#include "cmd/walls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
  "usage: jfl --sandbox [--read dir]... [--write dir]... [--memory 512M] [--disk 4G]\n"
  "                     [--seconds 60] script [args]\n";

/* ---- options ---- */

static int bad(const char *what, const char *word)
{
  fprintf(stderr, "jfl: --sandbox: %s%s%s\n%s", what, word ? " " : "", word ? word : "", usage);
  return -1;
}

/* "512M", "2G" or bytes; 0: none of these. */
static uint64_t bytes_of(const char *text)
{
  char *end;
  double n = strtod(text, &end);
  if (*end && strchr("KkMmGg", *end)) {
    n *= *end == 'K' || *end == 'k' ? 0x1p10 : *end == 'M' || *end == 'm' ? 0x1p20 : 0x1p30;
    end++;
  }
  return *end || end == text || !(n >= 0x1p24) || n > 0x1p50 ? 0 : (uint64_t)n;
}

static int add_folder(const char **list, int *n, const char *path)
{
  if (*n == JF_MOST_FOLDERS) return bad("there can be 16 folders at most, not also", path);
  list[(*n)++] = path;
  return 0;
}

/* Takes one option with its value. */
static int sandbox_option(jf_walls *w, const char *name, const char *value)
{
  if (!value) return bad("a value must follow", name);
  if (!strcmp(name, "--read")) return add_folder(w->read, &w->n_read, value);
  if (!strcmp(name, "--write")) return add_folder(w->write, &w->n_write, value);
  if (!strcmp(name, "--memory"))
    return (w->memory = bytes_of(value)) ? 0 : bad("--memory must be at least 16M, got", value);
  if (!strcmp(name, "--disk"))
    return (w->disk = bytes_of(value)) ? 0 : bad("--disk must be at least 16M, got", value);
  char *end;
  w->seconds = strtod(value, &end);
  return *end || !(w->seconds > 0 && w->seconds < 1e7)
    ? bad("--seconds must be a number above 0, got", value) : 0;
}

static int is_option(const char *word)
{
  return !strcmp(word, "--read") || !strcmp(word, "--write") || !strcmp(word, "--memory") ||
         !strcmp(word, "--disk") || !strcmp(word, "--seconds");
}

/* Reads the options behind --sandbox and gives the index of the first word after them, or -1. */
static int sandbox_parse(jf_walls *w, int argc, char **argv)
{
  int i = 2;
  for (; i < argc && is_option(argv[i]); i += 2)
    if (sandbox_option(w, argv[i], i + 1 < argc ? argv[i + 1] : NULL)) return -1;
  if (i >= argc) return bad("a script must follow", NULL);
  if (argv[i][0] != '-') w->script = argv[i];
  else if (strcmp(argv[i], "-e")) return bad("unknown option", argv[i]);
  return i;
}

#ifndef __linux__

int jf_sandbox(int *argc, char **argv, int *status)
{
  jf_walls w = { .memory = 512 << 20, .disk = 4ull << 30, .seconds = 60 };
  char why[200] = "";
  *status = EXIT_FAILURE;
  if (sandbox_parse(&w, *argc, argv) >= 0 && jf_walls_raise(&w, why, sizeof why))
    fprintf(stderr, "jfl: --sandbox: %s\n", why);
  return 1;
}

#else

#include "cmd/copies.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the parent ---- */

static volatile sig_atomic_t told;     /* a signal to be passed on to the child */

/* What is typed at the terminal, such as Ctrl-C, comes from the kernel, to both processes. That the
   terminal is gone it may tell this one alone. */
static void on_told(int number, siginfo_t *from, void *context)
{
  (void)context;
  if (from->si_code != SI_KERNEL || number == SIGHUP) told = number;
}

static void pass_on(int number)
{
  struct sigaction a = { .sa_sigaction = on_told, .sa_flags = SA_SIGINFO | SA_RESTART };
  sigaction(number, &a, NULL);
}

static double sandbox_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The bytes that a process has in memory. */
static uint64_t resident(pid_t pid)
{
  char path[64];
  unsigned long long all = 0, in_memory = 0;
  snprintf(path, sizeof path, "/proc/%ld/statm", (long)pid);
  FILE *f = fopen(path, "r");
  if (!f) return 0;
  if (fscanf(f, "%llu %llu", &all, &in_memory) != 2) in_memory = 0;
  fclose(f);
  return in_memory * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* The bytes that a process gave to be written, to whatever; 0 where the system does not count. */
static uint64_t bytes_written(pid_t pid)
{
  char path[64];
  unsigned long long n = 0;
  snprintf(path, sizeof path, "/proc/%ld/io", (long)pid);
  FILE *f = fopen(path, "r");
  if (!f) return 0;
  if (fscanf(f, "rchar: %*u wchar: %llu", &n) != 1) n = 0;
  fclose(f);
  return n;
}

/* The threads of a process, which its entry in /proc counts as folders. */
static unsigned long threads_of(pid_t pid)
{
  char path[64];
  struct stat st;
  snprintf(path, sizeof path, "/proc/%ld/task", (long)pid);
  return stat(path, &st) || st.st_nlink < 2 ? 0 : (unsigned long)st.st_nlink - 2;
}

enum { MOST_THREADS = 1000, LOOK_EVERY = 10 /* ms */ };

/* Waits for the child and ends it where it goes too far; *ended says why it did, or is "". */
static int watch(pid_t child, const jf_walls *w, jf_copies *c, char *ended, size_t size)
{
  const double until = sandbox_now() + w->seconds;
  int how = 0;
  for (pid_t done; (done = waitpid(child, &how, WNOHANG)) != child;) {
    if (done < 0 && errno != EINTR) return EXIT_FAILURE << 8;
    if (told) kill(child, told), told = 0;
    if (*ended) continue;
    if (sandbox_now() > until) snprintf(ended, size, "it ran for more than %g s", w->seconds);
    else if (resident(child) > w->memory)
      snprintf(ended, size, "it used more than %.0f MB", (double)(w->memory >> 20));
    else if (threads_of(child) > MOST_THREADS)
      snprintf(ended, size, "it had more than %d threads", MOST_THREADS);
    else if (bytes_written(child) > w->disk)
      snprintf(ended, size, "it wrote more than %.0f MB", (double)(w->disk >> 20));
    if (*ended) kill(child, SIGKILL);
    jf_copies_pass(c, LOOK_EVERY);
  }
  return how;
}

static int sandbox_wait(pid_t child, const jf_walls *w, jf_copies *c)
{
  char ended[80] = "";
  signal(SIGPIPE, SIG_IGN);
  pass_on(SIGINT);
  pass_on(SIGTERM);
  pass_on(SIGHUP);
  const int how = watch(child, w, c, ended, sizeof ended);
  while (!told && jf_copies_are_left(c)) jf_copies_pass(c, LOOK_EVERY);
  const int lost = jf_copies_end(c);
  if (WIFEXITED(how)) return WEXITSTATUS(how) ? WEXITSTATUS(how) : lost;
  const int number = WTERMSIG(how);
  if (!*ended && number == SIGXCPU) snprintf(ended, sizeof ended, "it used too much of the cores");
  if (!*ended && number == SIGXFSZ) snprintf(ended, sizeof ended, "it wrote too large a file");
  if (!*ended) snprintf(ended, sizeof ended, "it got signal %d (%s)", number, strsignal(number));
  fprintf(stderr, "jfl: the script was ended: %s\n", ended);
  return 128 + number;
}

/* ---- the child ---- */

/* Whether a variable says how programs run, and is nobody's secret. */
static int is_harmless(const char *variable)
{
  static const char *const begins[] = {
    "COLUMNS=", "HOME=", "JFL_", "LANG=", "LANGUAGE=", "LC_", "LD_LIBRARY_PATH=", "LINES=", "LUA_",
    "NO_COLOR=", "OMP_", "ONEDNN_", "OPENBLAS_", "PATH=", "PWD=", "TERM=", "TMPDIR=", "TZ=", "USER="
  };
  if (!strncmp(variable, "JFL_SECRET=", strlen("JFL_SECRET="))) return 0;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (!strncmp(variable, begins[i], strlen(begins[i]))) return 1;
  return 0;
}

/* Takes the rest out of the environment and out of the memory, where ffi would find it. */
static void clear_environment(void)
{
  char **to = environ;
  for (char **v = environ; v && *v; v++) {
    if (is_harmless(*v)) *to++ = *v;
    else memset(*v, 0, strlen(*v));
  }
  if (to) *to = NULL;
}

/* Leaves the program's name and what follows the options of this. */
static void take_out(int *argc, char **argv, int first)
{
  memmove(argv + 1, argv + first, (size_t)(*argc - first + 1) * sizeof *argv);
  *argc -= first - 1;
}

int jf_sandbox(int *argc, char **argv, int *status)
{
  jf_walls w = { .memory = 512 << 20, .disk = 4ull << 30, .seconds = 60 };
  char why[200];
  *status = EXIT_FAILURE;
  const int first = sandbox_parse(&w, *argc, argv);
  if (first < 0) return 1;
  jf_copies c;
  const pid_t parent = getpid(), child = jf_copies_open(&c) ? -1 : fork();
  if (child < 0) return fprintf(stderr, "jfl: --sandbox: %s\n", strerror(errno)), 1;
  if (child) {
    jf_copies_keep(&c);
    *status = sandbox_wait(child, &w, &c);
    return 1;
  }
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent || jf_copies_take(&c)) return 1;
  clear_environment();
  if (jf_walls_raise(&w, why, sizeof why)) {
    fprintf(stderr, "jfl: --sandbox: the script was not run: %s\n", why);
    return 1;
  }
  take_out(argc, argv, first);
  return 0;
}

#endif
