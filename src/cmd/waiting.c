/* Waiting for keys, signals and callbacks that are due, while a line is read.

   The signals that matter are blocked except while the reader waits, so that none interrupts the
   editor at work. */
#include "cmd/reader.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

line_reader *jf_reading;

static const int signals[JF_N_SIGNALS] = { SIGINT, SIGTERM, SIGHUP, SIGCONT, SIGWINCH };

/* The signals that came while the reader waited: bit i stands for entry i of the table. */
static volatile sig_atomic_t arrived;

static void line_note(int number)
{
  for (int i = 0; i < JF_N_SIGNALS; i++)
    if (signals[i] == number) arrived |= 1 << i;
}

static int has_arrived(int number)
{
  for (int i = 0; i < JF_N_SIGNALS; i++)
    if (signals[i] == number) return arrived >> i & 1;
  return 0;
}

void jf_list_signals(sigset_t *out)
{
  sigemptyset(out);
  for (int i = 0; i < JF_N_SIGNALS; i++) sigaddset(out, signals[i]);
}

void jf_take_over(line_reader *r, struct sigaction *theirs)
{
  struct sigaction ours = { .sa_handler = line_note, .sa_flags = SA_ONSTACK };
  sigprocmask(SIG_BLOCK, &r->handled, &r->before);
  for (int i = 0; i < JF_N_SIGNALS; i++) sigaction(signals[i], &ours, &theirs[i]);
  arrived = r->given_up = r->ended = 0;
}

void jf_hand_back(const line_reader *r, const struct sigaction *theirs)
{
  for (int i = 0; i < JF_N_SIGNALS; i++) sigaction(signals[i], &theirs[i], NULL);
  sigprocmask(SIG_SETMASK, &r->before, NULL);
}

int jf_line_call(line_reader *r, int n_arg, int n_result)
{
  sigprocmask(SIG_SETMASK, &r->before, NULL);
  int status = jf_interrupt_call(r->L, n_arg, n_result, 0);
  sigprocmask(SIG_BLOCK, &r->handled, NULL);
  if (status) lua_pop(r->L, 1);
  return status == 0;
}

int jf_line_columns(void)
{
  struct winsize size = { 0 };
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || !size.ws_col ? 80 : size.ws_col;
}

/* Moves the place *at, in columns from the beginning of the first row, behind UTF-8 text of n
   bytes. */
static void pass_text(const char *text, size_t n, int columns, int *at)
{
  while (n > 0) {
    wchar_t c;
    int size = mbtowc(&c, text, n), wide = size > 0 ? wcwidth(c) : 1;
    if (size <= 0) size = 1;
    if (*text == '\n') *at += columns - *at % columns;
    else if (*text == '\t') *at += 8 - *at % columns % 8;
    else *at += wide > 0 ? wide : 0;
    text += size;
    n -= (size_t)size;
  }
}

int jf_is_dumb(void)
{
  const char *term = getenv("TERM");
  return !term || !*term || !strcmp(term, "dumb");
}

int jf_has_colours(int fd)
{
  const char *none = getenv("NO_COLOR");
  return isatty(fd) && !jf_is_dumb() && !(none && *none);
}

/* Clears the prompt and the line from the screen, if the terminal can do that. */
static void clear_line(line_reader *r)
{
  if (!r->edit.at || jf_is_dumb()) {
    putchar('\n');
    return;
  }
  const line_info *line = r->edit.line(r->edit.at);
  int at = 0, columns = jf_line_columns();
  pass_text(r->prompt, strlen(r->prompt), columns, &at);
  pass_text(line->buffer, (size_t)(line->cursor - line->buffer), columns, &at);
  if (at >= columns) printf("\33[%dA", at / columns);
  fputs("\r\33[J", stdout);
}

static void draw_line(line_reader *r)
{
  fflush(stdout);
  if (r->edit.at) {
    r->edit.set(r->edit.at, EL_REFRESH);
    return;
  }
  fputs(r->prompt, stdout);
  fflush(stdout);
}

/* Runs the callbacks that are due. What they print takes the place of the line, which is drawn
   again below. */
static void deliver(line_reader *r)
{
  uint64_t count;
  if (read(r->fd, &count, sizeof count) < 0 && errno != EAGAIN) {
    r->fd = -1;
    return;
  }
  int terminal = isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
  if (terminal) clear_line(r);
  fflush(stdout);
  lua_pushvalue(r->L, DELIVER);
  jf_line_call(r, 0, 0);
  if (terminal) draw_line(r);
  fflush(stdout);
}

/* Acts on the signals that came; gives 0 when the line is given up or the session ends. */
static int heed(line_reader *r)
{
  int size = has_arrived(SIGWINCH), back = has_arrived(SIGCONT);
  r->given_up = has_arrived(SIGINT);
  r->ended = has_arrived(SIGHUP) ? SIGHUP : has_arrived(SIGTERM) ? SIGTERM : 0;
  arrived = 0;
  if (size && r->edit.at) r->edit.resize(r->edit.at);
  if (back && r->edit.at) {
    r->edit.set(r->edit.at, EL_PREP_TERM, 0);      /* the shell may have changed the terminal */
    r->edit.set(r->edit.at, EL_PREP_TERM, 1);
  }
  if (back) draw_line(r);
  return !r->given_up && !r->ended;
}

/* Lets blocked signals through: ppoll does not do so while there is input. */
static void take_signals(const line_reader *r)
{
  static const struct timespec none;
  sigset_t pending;
  if (sigpending(&pending) || sigisemptyset(&pending))
    return;
  for (int number; (number = sigtimedwait(&r->handled, NULL, &none)) > 0;) line_note(number);
}

int jf_next_byte(line_reader *r)
{
  unsigned char c;
  for (;;) {
    struct pollfd p[2] = { { .fd = STDIN_FILENO, .events = POLLIN },
                           { .fd = r->fd, .events = POLLIN } };
    take_signals(r);
    int n = arrived ? 0 : ppoll(p, 2, NULL, &r->before);
    if (arrived) {
      if (!heed(r)) return -1;
    } else if (n > 0 && p[0].revents) {
      ssize_t got = read(STDIN_FILENO, &c, 1);
      if (got == 1) return c;
      if (got == 0 || errno != EINTR) return -1;
    } else if (n > 0 && p[1].revents) {
      deliver(r);
    } else if (n < 0 && errno != EINTR) {
      return -1;
    }
  }
}
