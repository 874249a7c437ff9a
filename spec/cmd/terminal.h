/* Runs a program on a terminal of its own, types into it, and waits for what it should show. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

enum { TERMINAL_PATIENCE = 600 };      /* seconds; only a failing test waits as long */

/* seen: everything that was shown; what is expected next is searched from `at` on. */
typedef struct terminal {
  pid_t pid;
  int fd;
  char *seen;
  size_t n, cap, at;
} terminal;

static inline double terminal_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline void terminal_become(int fd, char *const *words)
{
  const char *name = ptsname(fd);
  setsid();
  int tty = name ? open(name, O_RDWR) : -1;
  if (tty < 0 || ioctl(tty, TIOCSCTTY, 0)) _exit(126);
  for (int i = 0; i < 3; i++) dup2(tty, i);
  if (tty > 2) close(tty);
  signal(SIGHUP, SIG_DFL);     /* it is ignored where the test was started by nohup */
  execv(words[0], words);
  _exit(127);
}

/* Starts the program words[0] with these words, which end with NULL. */
static inline terminal terminal_start(char *const *words)
{
  terminal t = { .fd = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), .cap = 1 << 16 };
  struct winsize size = { .ws_row = 24, .ws_col = 80 };
  if (t.fd < 0 || grantpt(t.fd) || unlockpt(t.fd)) {
    perror("terminal");
    exit(1);
  }
  ioctl(t.fd, TIOCSWINSZ, &size);
  t.seen = calloc(1, t.cap);
  t.pid = fork();
  if (!t.pid) terminal_become(t.fd, words);
  return t;
}

/* Reads what is shown within that time; returns 0 when the program has closed its side. */
static inline int terminal_read(terminal *t, int milliseconds)
{
  struct pollfd p = { .fd = t->fd, .events = POLLIN };
  if (poll(&p, 1, milliseconds) <= 0) return 1;
  if (t->cap - t->n < 4096) t->seen = realloc(t->seen, t->cap *= 2);
  ssize_t n = read(t->fd, t->seen + t->n, t->cap - t->n - 1);
  if (n <= 0) return 0;
  for (ssize_t i = 0; i < n; i++)
    if (!t->seen[t->n + (size_t)i]) t->seen[t->n + (size_t)i] = '0';
  t->n += (size_t)n;
  t->seen[t->n] = '\0';
  return 1;
}

/* Types n bytes as fast as the terminal takes them. */
static inline void terminal_type(terminal *t, const char *text, size_t n)
{
  double until = terminal_now() + TERMINAL_PATIENCE;
  fcntl(t->fd, F_SETFL, O_NONBLOCK);
  while (n > 0 && terminal_now() < until) {
    ssize_t done = write(t->fd, text, n < 1000 ? n : 1000);
    if (done > 0) text += done, n -= (size_t)done;
    terminal_read(t, done > 0 ? 0 : 10);
  }
  fcntl(t->fd, F_SETFL, 0);
}

static inline void send_text(terminal *t, const char *text)
{
  terminal_type(t, text, strlen(text));
}

/* The last part of what was shown after the text found so far, for messages. */
static inline const char *terminal_tail(const terminal *t)
{
  return t->seen + (t->n - t->at > 1000 ? t->n - 1000 : t->at);
}

/* Waits until one of the texts is shown, after what was expected before; gives which one, the first
   where there are both. */
static inline int expect_either(terminal *t, const char *one, const char *other)
{
  double until = terminal_now() + TERMINAL_PATIENCE;
  const char *const text[] = { one, other }, *found = NULL;
  int open = 1, which;
  for (;;) {
    for (which = 0; which < 2 && !(found = strstr(t->seen + t->at, text[which])); which++) {}
    if (found || !open || terminal_now() >= until) break;
    open = terminal_read(t, 100);
  }
  CHECK_MSG(found, "nowhere '%s' in the end of:\n%s", one, terminal_tail(t));
  if (found) t->at = (size_t)(found - t->seen) + strlen(text[which]);
  return which;
}

/* Waits until the text is shown, after the text that was expected before. */
static inline void expect(terminal *t, const char *text) { expect_either(t, text, text); }

/* Types a text and waits for another. */
static inline void step(terminal *t, const char *text, const char *shown)
{
  send_text(t, text);
  expect(t, shown);
}

/* Waits for the program to end; returns its exit status, or 128 plus the signal that killed it. */
static inline int terminal_end(terminal *t)
{
  double until = terminal_now() + TERMINAL_PATIENCE;
  int status = 0, gone = 0;
  while (!gone && terminal_now() < until) {
    gone = waitpid(t->pid, &status, WNOHANG) == t->pid;
    if (!gone && !terminal_read(t, 20)) poll(NULL, 0, 20);
  }
  if (!gone) {
    kill(t->pid, SIGKILL);
    waitpid(t->pid, &status, 0);
  }
  struct pollfd more = { t->fd, POLLIN, 0 };
  while (gone && terminal_read(t, 0) && t->n < t->cap && poll(&more, 1, 0) > 0) {}
  close(t->fd);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static inline void terminal_free(terminal *t) { free(t->seen); }

#endif
