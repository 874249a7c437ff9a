/* The prompt's history while each call on its file fails, is interrupted, does a part of its work,
   or is the last one: what was there stays, a line is added whole or not at all, and nothing is
   left beside the file. */
#include "faults.h"

#include "cmd/history.c"

#include <sys/wait.h>

#include "scratch.h"
#include "test.h"

enum { LONG = 20, LENGTH = 60000, SHORT = 1200, FEW = 40 };

static const struct mode { int times, what; const char *which; } modes[] = {
  { 1, EIO, "" }, { 0, ENOSPC, "" }, { 0, FAULTS_SHORT, "rw" }, { 3, EINTR, "wf" },
  { 1, FAULTS_KILL, "" }
};

static int hear(const char *entry) { return *entry != '\0'; }

/* A session of one line. */
static void session(const char *entry)
{
  jf_history h = { .last = NULL };
  jf_history_open(&h, hear);
  jf_history_keep(&h, entry);
  jf_history_close(&h);
}

/* The same with a faulty call; gives how many calls there were, or -1: it was ended. */
static int faulty_session(const struct mode *m, int at)
{
  int status = 0, n = 0;
  if (m->what == FAULTS_KILL) {
    const pid_t pid = fork();
    if (!pid) {
      faults_begin(scratch, m->which, at, m->times, m->what);
      session("second");
      _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return WIFSIGNALED(status) ? -1 : 0;
  }
  faults_begin(scratch, m->which, at, m->times, m->what);
  session("second");
  n = faults_end();
  return n >= at ? n : 0;
}

static int names_in_scratch(void)
{
  int n = 0;
  DIR *d = opendir(scratch);
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n - 2;
}

/* Whether the text is whole lines, of which the last ones are these. */
static int ends_with(const char *text, size_t n, const char *last)
{
  const size_t size = strlen(last);
  return n >= size && !memcmp(text + n - size, last, size);
}

static void try(const char *text, size_t size, const struct mode *m, int at, int *came)
{
  size_t n;
  const char *path = in_scratch(".jfl_history");
  put_file(path, text, size);
  *came = faulty_session(m, at);
  session("third");
  char *now = get_file(path, &n);
  CHECK_MSG(ends_with(now, n, "first\nsecond\nthird\n") || ends_with(now, n, "first\nthird\n"),
            "%d at %d: ...%.60s", m->what, at, now + (n > 60 ? n - 60 : 0));
  CHECK_MSG(names_in_scratch() == 1, "%d at %d: %d names", m->what, at, names_in_scratch());
  free(now);
}

static void each_call(const char *text, size_t size)
{
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    put_file(in_scratch(".jfl_history"), text, size);
    faults_begin(scratch, modes[i].which, 0, 0, FAULTS_NONE);
    session("second");
    const int n = faults_end(), step = n > FEW ? n / FEW : 1;
    CHECK(n > 0);
    int came = 1;
    for (int at = 1; at <= n; at += at + FEW / 2 < n && at > FEW / 2 ? step : 1)
      try(text, size, &modes[i], at, &came);
  }
}

static void lines_are_added_whole(void) { each_call("zero\nfirst\n", 11); }

/* Long lines that go, before more short ones than are kept. */
static void a_long_file_is_shortened_whole(void)
{
  char *text = malloc(LONG * LENGTH + SHORT * 10 + 7), *end = text;
  for (int i = 0; i < LONG; i++) end += sprintf(end, "%0*d\n", LENGTH - 1, i);
  for (int i = 0; i < SHORT; i++) end += sprintf(end, "x = %5d\n", i);
  end += sprintf(end, "first\n");
  each_call(text, (size_t)(end - text));
  free(text);
}

/* What a session left that was ended within a line is a line of its own. */
static void half_a_line_is_ended(void)
{
  size_t n;
  const char *path = in_scratch(".jfl_history");
  put_file(path, "first\nsec", 9);
  session("third");
  char *now = get_file(path, &n);
  CHECK_MSG(n == 16 && !memcmp(now, "first\nsec\nthird\n", n), "%.*s", (int)n, now);
  free(now);
}

int main(void)
{
  scratch_make();
  setenv("HOME", scratch, 1);
  RUN(lines_are_added_whole);
  RUN(a_long_file_is_shortened_whole);
  RUN(half_a_line_is_ended);
  return test_done();
}
