/* jfl --sandbox: runs a script in a process that the system keeps from all but what is said here.
   The whole of Lua is in it, with its compiler and ffi: the walls stand around the process. */
#include "cmd/cmd.h"
#include "cmd/walls.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jf_walls walls_of(const jf_options *o)
{
  const char *first = o->argv[o->script];
  return (jf_walls){ .read = o->read, .write = o->write, .memory = o->memory, .disk = o->disk,
                     .seconds = o->seconds, .script = *first == '-' ? NULL : first };
}

#ifndef __linux__

int jf_sandbox(jf_options *o, int *status)
{
  const jf_walls w = walls_of(o);
  char why[200] = "";
  *status = EXIT_FAILURE;
  if (jf_walls_raise(&w, why, sizeof why)) fprintf(stderr, "jfl: --sandbox: %s\n", why);
  return 1;
}

#else

#include "cmd/copies.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "system/clock.h"
#include "system/system.h"

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

/* A number in one of the texts that the system keeps of a process; 0 where there is none. */
__attribute__((format(scanf, 3, 0)))
static uint64_t number_in_proc(pid_t pid, const char *name, const char *form)
{
  char path[64];
  unsigned long long n = 0;
  snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
  FILE *f = fopen(path, "r");
  if (!f) return 0;
  if (fscanf(f, form, &n) != 1) n = 0;
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
  const double until = jf_now() + w->seconds;
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  int how = 0;
  for (pid_t done; (done = waitpid(child, &how, WNOHANG)) != child;) {
    if (done < 0 && errno != EINTR) return EXIT_FAILURE << 8;
    if (told) kill(child, told), told = 0;
    if (*ended) continue;
    if (jf_now() > until) snprintf(ended, size, "it ran for more than %g s", w->seconds);
    else if (number_in_proc(child, "statm", "%*u %llu") * page > w->memory)
      snprintf(ended, size, "it used more than %.0f MB", (double)(w->memory >> 20));
    else if (threads_of(child) > MOST_THREADS)
      snprintf(ended, size, "it had more than %d threads", MOST_THREADS);
    else if (number_in_proc(child, "io", "rchar: %*u wchar: %llu") > w->disk)
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

int jf_sandbox(jf_options *o, int *status)
{
  const jf_walls w = walls_of(o);
  char why[200];
  jf_copies c;
  *status = EXIT_FAILURE;
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
  memmove(o->argv + 1, o->argv + o->script,
          (size_t)(o->argc - o->script + 1) * sizeof *o->argv);
  o->argc -= o->script - 1;
  jf_trouble_set("Permission denied: jfl --sandbox opens what --read DIR and --write DIR name");
  return 0;
}

#endif
