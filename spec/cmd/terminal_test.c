/* The interactive session on a terminal: editing, history, completion, callbacks and Ctrl-C. */
#include <libgen.h>
#include <limits.h>

#include "scratch.h"
#include "terminal.h"

#define CTRL_C "\3"
#define CTRL_D "\4"
#define UP "\33[A"
#define PASTE(text) "\33[200~" text "\33[201~"
#define BRACKETS "\33[?2004h"      /* asks the terminal to bracket what is pasted */

static char command[PATH_MAX];
static const char *prompt = BRACKETS "> ";      /* as it is where a line begins */

/* Starts a session and waits for its first prompt. */
static terminal start(void)
{
  terminal t = terminal_start((char *[]){ command, NULL });
  expect(&t, "> ");
  return t;
}

/* Ends the session with Ctrl-D. */
static void leave(terminal *t)
{
  send_text(t, CTRL_D);
  int status = terminal_end(t);
  CHECK_MSG(status == 0, "%d:\n%s", status, terminal_tail(t));
  terminal_free(t);
}

/* Types a line and waits until its result and then a prompt are shown. The line itself must not
   contain the result, as its echo would match. The editor may draw its prompt again; a new prompt
   begins a line. */
static void line(terminal *t, const char *text, const char *shown)
{
  send_text(t, text);
  send_text(t, "\r");
  expect(t, shown);
  expect(t, prompt);
}

/* Types Ctrl-C. The terminal drops what is typed just before Ctrl-C takes effect. */
static void give_up(terminal *t)
{
  step(t, CTRL_C, "^C");
  expect(t, "> ");
}

static void results_are_shown(void)
{
  terminal t = start();
  line(&t, "6 * 7", "42");
  line(&t, "'h\xc3\xa9' .. 'h\xe2\x82\xac'", "h\xc3\xa9h\xe2\x82\xac");
  line(&t, "error('b' .. 'ad')", "stdin:1: bad");
  leave(&t);
}

static void history_is_kept_over_sessions(void)
{
  struct stat st;
  const char *path = in_scratch(".jfl_history");
  remove(path);
  terminal t = start();
  line(&t, "x = 5 print(x + 1)", "6");
  send_text(&t, "for i = 1, 2 do\r");
  step(&t, "print('\\\\' .. i + 70)\r", ">> ");
  line(&t, "end", "72");
  leave(&t);
  CHECK(!stat(path, &st) && (st.st_mode & 0777) == 0600);
  t = start();
  line(&t, UP, "\\72");
  line(&t, UP UP, "6");
  leave(&t);
}

static void history_does_without_its_file(void)
{
  static const char odd[] = "\0\377\\9\n\n\\000x\nprint(4 * 11)";
  const char *home = getenv("HOME");
  char keep[PATH_MAX];
  snprintf(keep, sizeof keep, "%s", home);
  setenv("HOME", "/proc/nowhere", 1);
  terminal t = start();
  line(&t, "2 + 3", "5");
  leave(&t);
  setenv("HOME", keep, 1);
  put_file(in_scratch(".jfl_history"), odd, sizeof odd - 1);
  t = start();
  line(&t, UP, "44");
  leave(&t);
  remove(in_scratch(".jfl_history"));
}

/* Starts a session with something else as its history, which must not hold it up. */
static void start_with(const char *path, const char *shown)
{
  terminal t = terminal_start((char *[]){ command, NULL });
  if (shown) expect(&t, shown);
  expect(&t, prompt);
  line(&t, "2 + 40", "42");
  CHECK_MSG(shown || !strstr(t.seen, "history"), "%s", t.seen);
  leave(&t);
  remove(path);
}

static void history_is_a_file_of_ones_own(void)
{
  const char *path = in_scratch(".jfl_history"), *refused = "must be a file of your own";
  remove(path);
  CHECK(!mkfifo(path, 0600));
  start_with(path, refused);
  CHECK(!mkdir(path, 0700));
  start_with(path, refused);
  CHECK(!symlink(path, path));
  start_with(path, refused);
  CHECK(!symlink("/dev/null", path));
  start_with(path, NULL);
  CHECK(!symlink("/proc/nowhere", path));
  start_with(path, NULL);
}

static void history_is_private_and_may_be_a_link(void)
{
  struct stat st;
  const char *path = in_scratch(".jfl_history"), *target = in_scratch("linked");
  put_file(target, "1 + 1\n", 6);
  CHECK(!chmod(target, 0644) && !symlink("linked", path));
  terminal t = start();
  line(&t, "'kept' .. 42", "kept42");
  leave(&t);
  CHECK(!lstat(path, &st) && S_ISLNK(st.st_mode));
  CHECK(!stat(target, &st) && (st.st_mode & 0777) == 0600 && st.st_size == 6 + 13);
  remove(path);
  remove(target);
}

/* The file is too long, so each session that starts writes it anew. */
static void sessions_share_their_history(void)
{
  enum { LINES = 120000, LENGTH = 10 };
  struct stat st;
  const char *path = in_scratch(".jfl_history");
  char *text = malloc(LINES * LENGTH + 1);
  for (int i = 0; i < LINES; i++) sprintf(text + i * LENGTH, "x = %5d\n", i % 90000 + 10000);
  put_file(path, text, LINES * LENGTH);
  terminal a = start(), b = start();
  line(&a, "'first' .. 1", "first1");
  line(&b, "'second' .. 2", "second2");
  line(&a, "'third' .. 3", "third3");
  leave(&a);
  leave(&b);
  CHECK(!stat(path, &st) && st.st_size == 1000 * LENGTH + 13 + 14 + 13);
  a = start();
  line(&a, UP UP, "second2");
  leave(&a);
  remove(path);
  free(text);
}

static void names_and_options_are_completed(void)
{
  terminal t = start();
  step(&t, "string.rev\t", "erse");
  line(&t, "('cba')", "abc");
  step(&t, "flow.layers.dense(1, 10, {use_\t", "bias");
  give_up(&t);
  step(&t, "flow.global_function { func\t", "tion_config");
  give_up(&t);
  step(&t, "math.a\t", "atan2");
  give_up(&t);
  leave(&t);
}

static void lines_go_on_until_they_are_whole(void)
{
  terminal t = start();
  step(&t, "[[one\r", ">> ");
  line(&t, "two]]", "two");
  step(&t, "if true then\r", ">> ");
  give_up(&t);
  line(&t, "'given' .. ' up'", "given up");
  step(&t, "if true then\r", ">> ");
  step(&t, CTRL_D, "'end' expected");
  line(&t, "'gone' .. ' on'", "gone on");
  leave(&t);
}

static void ctrl_c_stops_a_loop(void)
{
  terminal t = start();
  step(&t, "print('be' .. 'gun') while true do end\r", "begun");
  step(&t, CTRL_C, "interrupted");
  line(&t, "7 * 6", "42");
  step(&t, "print('be' .. 'gun') while true do string.rep('x', 10) end\r", "begun");
  step(&t, CTRL_C, "interrupted");
  line(&t, "7 * 6", "42");
  leave(&t);
}

/* Defines a job that takes a second or so: it multiplies zeros. */
static void define_long_job(terminal *t)
{
  line(t, "tp = flow.typing.Numpy a = flow.ndarray.zeros { 700, 700 }", "");
  line(t, "function body(x) for _ = 1, 100 do x = flow.matmul(x, x) end return x end", "");
  line(t, "inputs = { { 'x', tp.Placeholder { 700, 700 } } }", "");
  line(t, "job = flow.global_function { name = 'j', inputs = inputs, body = body,"
          " returns = flow.typing.Callback(tp) } job:compile()", "");
  line(t, "now = flow.global_function { name = 'now', inputs = inputs, body = body,"
          " returns = tp } now:compile()", "");
}

/* Defines calls(), which makes so many that they take longer than a test that is slow itself. */
static void define_many_calls(terminal *t)
{
  line(t, "flow.config.max_inflight(60)", "");
  line(t, "function tell() print('la' .. 'te') end", "");
  line(t, "function calls() for _ = 1, 50 do job(a)(tell) end end", "");
}

/* Takes back those that have not begun, and waits for the one that has. */
static void end_calls(terminal *t)
{
  line(t, "flow.cancel(job) >= 0", "true");
  expect(t, "late");
  line(t, "flow.sync() return 'all' .. ' over'", "all over");
}

static void ctrl_c_gives_up_waiting(void)
{
  terminal t = start();
  define_long_job(&t);
  define_many_calls(&t);
  send_text(&t, "calls() print('be' .. 'gun') flow.sync()\r");
  expect(&t, "begun");
  step(&t, CTRL_C, "interrupted");
  line(&t, "'still' .. ' here'", "still here");
  end_calls(&t);
  line(&t, "flow.poll()", "0");
  leave(&t);
}

static void ctrl_c_gives_up_a_call(void)
{
  terminal t = start();
  define_long_job(&t);
  step(&t, "print('be' .. 'gun') for _ = 1, 2000 do now(a) end\r", "begun");
  step(&t, CTRL_C, "interrupted");
  line(&t, "now(a)[1][1] + 42", "42");
  define_many_calls(&t);
  send_text(&t, "calls() print('be' .. 'gun') now(a)\r");
  expect(&t, "begun");
  step(&t, CTRL_C, "interrupted");
  end_calls(&t);
  line(&t, "now(a)[1][1] + 43", "43");
  leave(&t);
}

static void callbacks_run_while_nothing_is_typed(void)
{
  terminal t = start();
  define_long_job(&t);
  line(&t, "function tell() print('la' .. 'te') if again then job(a)(tell) end end", "");
  line(&t, "again = true job(a)(tell)", "");
  step(&t, "6 *", "6 *");
  expect(&t, "late");
  line(&t, " 7", "42");
  line(&t, "again = false", "");
  line(&t, "job(a)(function() error('in' .. ' it') end)", "");
  expect(&t, "in it");
  line(&t, "6 * 8", "48");
  leave(&t);
}

/* Writes a Lua program that loops in compiled code until it is killed. What it starts says so once
   the program has had the processor for so long that it must be in the loop, where it takes all:
   a fifth of a second, in ticks of 10 ms. */
static void put_endless(const char *path)
{
  static const char text[] =
    "local function spin(n) local x = 0 for i = 1, n do x = x + i end return x end\n"
    "spin(1e5)\n"
    "os.execute [[ticks() { read -r line </proc/$PPID/stat; set -- $line; echo ${14}; }\n"
    "  (first=$(ticks)\n"
    "   while [ -e /proc/$PPID ] && [ $(($(ticks) - first)) -lt 20 ]; do sleep 0.05; done\n"
    "   echo be\"\"gun) &]]\n"
    "spin(math.huge)\n";
  put_file(path, text, sizeof text - 1);
}

/* Each Ctrl-C that is told of asks for another one soon after it, which a busy machine may miss. */
static void twice_ctrl_c_ends_a_compiled_loop(void)
{
  char script[PATH_MAX], typed[2 * PATH_MAX];
  snprintf(script, sizeof script, "%s", in_scratch("endless.lua"));
  put_endless(script);
  for (int in_session = 0; in_session < 2; in_session++) {
    terminal t = in_session ? start() : terminal_start((char *[]){ command, script, NULL });
    snprintf(typed, sizeof typed, "dofile '%s'\r", script);
    if (in_session) send_text(&t, typed);
    expect(&t, "begun");
    step(&t, CTRL_C, "Ctrl-C again");
    do send_text(&t, CTRL_C);
    while (expect_either(&t, "jfl: interrupted", "Ctrl-C again") == 1);
    int status = terminal_end(&t);
    CHECK_MSG(status == 130, "%d:\n%s", status, t.seen);
    terminal_free(&t);
  }
}

static void ctrl_c_ends_a_script(void)
{
  static const char text[] = "print('be' .. 'gun') io.read() print('un' .. 'reached')";
  put_file(in_scratch("wait.lua"), text, sizeof text - 1);
  char *script = (char *)(uintptr_t)in_scratch("wait.lua");
  terminal t = terminal_start((char *[]){ command, script, NULL });
  expect(&t, "begun");
  send_text(&t, CTRL_C);
  int status = terminal_end(&t);
  CHECK_MSG(status == 130, "%d", status);
  CHECK(strstr(t.seen, "jfl: interrupted") && strstr(t.seen, "wait.lua:1: in main chunk"));
  CHECK(!strstr(t.seen, "unreached"));
  terminal_free(&t);
}

static void signals_end_a_session_in_order(void)
{
  static const int numbers[] = { SIGTERM, SIGHUP };
  for (int i = 0; i < 2; i++) {
    terminal t = start();
    line(&t, "p = newproxy(true)", "");
    line(&t, "getmetatable(p).__gc = function() print('col' .. 'lected') end", "");
    step(&t, "1 + ", "1 + ");
    kill(t.pid, numbers[i]);
    expect(&t, "collected");
    int status = terminal_end(&t);
    CHECK_MSG(status == 128 + numbers[i], "%d", status);
    terminal_free(&t);
  }
}

/* Closes the terminal and waits until the program has ended. */
static void close_terminal(terminal *t)
{
  int status, gone = 0;
  double until = terminal_now() + TERMINAL_PATIENCE;
  close(t->fd);
  while (!gone && terminal_now() < until) {
    gone = waitpid(t->pid, &status, WNOHANG) == t->pid;
    poll(NULL, 0, 10);
  }
  CHECK(gone);
  if (!gone) kill(t->pid, SIGKILL);
  terminal_free(t);
}

static void a_closed_terminal_ends_a_session(void)
{
  terminal t = start();
  close_terminal(&t);
}

/* The script may take longer than the test waits. Where the kernel lacks what a sandbox needs the
   command ends by itself. */
static void a_closed_terminal_ends_a_sandbox(void)
{
  static const char text[] = "io.stderr:write('begun') while true do end";
  put_file(in_scratch("forever.lua"), text, sizeof text - 1);
  char *script = (char *)(uintptr_t)in_scratch("forever.lua");
  char *words[] = { command, "--sandbox", "--seconds", "1000", script, NULL };
  terminal t = terminal_start(words);
  const double until = terminal_now() + TERMINAL_PATIENCE;
  while (!strstr(t.seen, "begun") && terminal_read(&t, 100) && terminal_now() < until) {}
  close_terminal(&t);
}

static void a_line_outlives_a_stop_and_a_resize(void)
{
  struct winsize size = { .ws_row = 30, .ws_col = 40 };
  int status;
  terminal t = start();
  step(&t, "41 +", "41 +");
  kill(t.pid, SIGSTOP);
  CHECK(waitpid(t.pid, &status, WUNTRACED) == t.pid && WIFSTOPPED(status));
  kill(t.pid, SIGCONT);
  expect(&t, "41 +");
  ioctl(t.fd, TIOCSWINSZ, &size);
  line(&t, " 1", "42");
  leave(&t);
}

static void anything_may_be_pasted(void)
{
  enum { LONG = 100000 };
  char *text = malloc(LONG + 32);
  terminal t = start();
  send_text(&t, "function pasted(x)\r\tif x then\r\t\treturn 'yes' .. x\r\tend\rend\r");
  line(&t, "pasted('!')", "yes!");
  step(&t, "print('all of it is shown', 'as it is', 6 * 7)",
       "print('all of it is shown', 'as it is', 6 * 7)");
  line(&t, "", "42");
  terminal_type(&t, "1\0 +\0 2", 7);
  line(&t, "", "3");
  strcpy(text, "#'");
  memset(text + 2, 'x', LONG);
  strcpy(text + 2 + LONG, "' + 23");
  line(&t, text, "100023");
  leave(&t);
  free(text);
}

static void a_paste_is_one_input(void)
{
  static const char typed[] =
    PASTE("local flow = require 'jfl'\rlocal function twice(x)\r\treturn 2 * x\rend\r");
  terminal t = start();
  send_text(&t, typed);
  expect(&t, prompt);
  line(&t, "twice(21)", "42");
  step(&t, PASTE("1 + "), "1 +");
  line(&t, "42", "43");
  send_text(&t, PASTE("error('t' .. 'op')\r\nprint('un' .. 'reached')\r\n"));
  expect(&t, "stdin:1: top");
  expect(&t, prompt);
  CHECK(!strstr(t.seen, "unreached"));
  step(&t, PASTE("for i = 1, 2 do\r"), ">> ");
  send_text(&t, PASTE("print(i + 40)\rend\r"));
  expect(&t, "42");
  expect(&t, prompt);
  send_text(&t, PASTE("> x = 40\r> x + 7\r42\r"));
  expect(&t, "47");
  expect(&t, prompt);
  line(&t, PASTE("\33[1m'\377' .."), "");
  line(&t, "'af' .. 'ter'", "after");
  leave(&t);
}

static void colours_are_for_terminals_that_want_them(void)
{
  static const char *const bold = BRACKETS "\33[1m>\33[0m ", *const plain = BRACKETS "> ";
  static const struct { const char *none, *term, *prompt; int has; } cases[] = {
    { "", "xterm", bold, 1 }, { "1", "xterm", plain, 0 }, { "", "dumb", "> ", 0 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    setenv("NO_COLOR", cases[i].none, 1);
    setenv("TERM", cases[i].term, 1);
    terminal t = terminal_start((char *[]){ command, NULL });
    expect(&t, cases[i].prompt);
    step(&t, "6 * 7\r", cases[i].has ? "\33[36m42\33[0m" : "42\r");
    step(&t, "error('b' .. 'ad')\r", cases[i].has ? "\33[31mstdin:1: bad\33[0m" : "stdin:1: bad");
    expect(&t, cases[i].prompt);
    leave(&t);
  }
  setenv("NO_COLOR", "1", 1);
  setenv("TERM", "xterm", 1);
}

/* If input is a pipe, there is no editor, but everything else is the same. */
static void lines_are_read_without_the_editor(void)
{
  char shell[PATH_MAX + 32];
  snprintf(shell, sizeof shell, "%s -i | cat", command);
  terminal t = terminal_start((char *[]){ "/bin/sh", "-c", shell, NULL });
  expect(&t, "> ");
  prompt = "\n> ";
  line(&t, "6 * 7", "42");
  step(&t, "if true then\r", ">> ");
  step(&t, CTRL_D, "'end' expected");
  line(&t, "io.read()\rtyp\303\251d", "typ\303\251d");
  define_long_job(&t);
  line(&t, "job(a)(function() print('la' .. 'te') end)", "");
  expect(&t, "late");
  leave(&t);
}

int main(int argc, char **argv)
{
  char self[PATH_MAX];
  (void)argc;
  if (!realpath(argv[0], self)) return 1;
  snprintf(command, sizeof command, "%s/../../jfl", dirname(self));
  scratch_make();
  setenv("HOME", scratch, 1);
  setenv("TERM", "xterm", 1);
  setenv("NO_COLOR", "1", 1);
  /* for a sanitized command: its stacks end in compiled code, which only the fast unwinder can
     handle safely */
  setenv("ASAN_OPTIONS", "allocator_may_return_null=1", 1);
  RUN(results_are_shown);
  RUN(history_is_kept_over_sessions);
  RUN(history_does_without_its_file);
  RUN(history_is_a_file_of_ones_own);
  RUN(history_is_private_and_may_be_a_link);
  RUN(sessions_share_their_history);
  RUN(names_and_options_are_completed);
  RUN(lines_go_on_until_they_are_whole);
  RUN(ctrl_c_stops_a_loop);
  RUN(ctrl_c_gives_up_waiting);
  RUN(ctrl_c_gives_up_a_call);
  RUN(callbacks_run_while_nothing_is_typed);
  RUN(twice_ctrl_c_ends_a_compiled_loop);
  RUN(ctrl_c_ends_a_script);
  RUN(signals_end_a_session_in_order);
  RUN(a_closed_terminal_ends_a_session);
  RUN(a_closed_terminal_ends_a_sandbox);
  RUN(a_line_outlives_a_stop_and_a_resize);
  RUN(anything_may_be_pasted);
  RUN(a_paste_is_one_input);
  RUN(colours_are_for_terminals_that_want_them);
  RUN(lines_are_read_without_the_editor);
  return test_done();
}
