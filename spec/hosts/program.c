/* A C program with LuaJIT inside that uses jfl as spec/hosts/programs_spec.lua asks:
     program ROOT FOLDER MODE
   The modes are what hosts do to themselves: see `modes` below. It says "well" at its end. */
#include <lauxlib.h>
#include <lualib.h>

#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static const char *root, *folder;

static void need(int ok, const char *what)
{
  if (ok) return;
  fprintf(stderr, "program: %s\n", what);
  exit(1);
}

/* wait(fd): returns once the descriptor is readable. */
static int l_wait(lua_State *L)
{
  struct pollfd due = { .fd = (int)lua_tointeger(L, 1), .events = POLLIN };
  int n;
  do n = poll(&due, 1, 300000);
  while (n < 0 && errno == EINTR);
  need(n == 1, "no callback came");
  return 0;
}

static lua_State *opened(void)
{
  lua_State *L = luaL_newstate();
  need(L != NULL, "no state");
  luaL_openlibs(L);
  lua_getglobal(L, "package");
  lua_pushfstring(L, "%s/?.lua", root);
  lua_setfield(L, -2, "path");
  lua_pushfstring(L, "%s/build/?.so", root);
  lua_setfield(L, -2, "cpath");
  lua_pop(L, 1);
  lua_register(L, "wait", l_wait);
  return L;
}

static void run(lua_State *L, const char *text)
{
  if (luaL_dostring(L, text)) need(0, lua_tostring(L, -1));
}

/* Trains, asks, saves and loads in a state. */
static void use(lua_State *L, int number)
{
  lua_pushfstring(L, "%s/saved%d", folder, number);
  lua_setglobal(L, "saved");
  run(L, "guest = require 'spec.hosts.guest'  guest.all(saved, wait)");
}

static void use_and_close(int number)
{
  lua_State *L = opened();
  use(L, number);
  lua_close(L);
}

static void plain(void) { use_and_close(0); }

/* ---- threads ---- */

static void *one_thread(void *ctx)
{
  use_and_close(*(int *)ctx);
  return NULL;
}

static void in_threads(size_t stack)
{
  enum { N = 4 };
  pthread_t thread[N];
  pthread_attr_t attr;
  int number[N];
  pthread_attr_init(&attr);
  if (stack) need(!pthread_attr_setstacksize(&attr, stack), "stack size");
  for (int i = 0; i < N; i++) {
    number[i] = i;
    need(!pthread_create(&thread[i], &attr, one_thread, &number[i]), "no thread");
  }
  for (int i = 0; i < N; i++) pthread_join(thread[i], NULL);
}

static void threads(void) { in_threads(0); }
static void small_stacks(void) { in_threads(64 << 10); }

/* A state that one thread opens, another uses and a third closes, one at a time. */
static lua_State *handed;

static void *hand_open(void *ctx) { (void)ctx; handed = opened(); use(handed, 0); return NULL; }
static void *hand_use(void *ctx) { (void)ctx; use(handed, 1); return NULL; }
static void *hand_close(void *ctx) { (void)ctx; lua_close(handed); return NULL; }

static void handed_on(void)
{
  void *(*const step[])(void *) = { hand_open, hand_use, hand_close };
  for (int i = 0; i < 3; i++) {
    pthread_t t;
    need(!pthread_create(&t, NULL, step[i], NULL), "no thread");
    pthread_join(t, NULL);
  }
}

/* A host that runs Lua on stacks of its own making, as games do with fibres. */
static ucontext_t outside, inside;

static void in_fibre(void) { use_and_close(0); }

static void fibre(void)
{
  const size_t size = 64 << 10;
  char *stack = malloc(size);
  need(stack && !getcontext(&inside), "getcontext");
  inside.uc_stack.ss_sp = stack;
  inside.uc_stack.ss_size = size;
  inside.uc_link = &outside;
  makecontext(&inside, in_fibre, 0);
  need(!swapcontext(&outside, &inside), "swapcontext");
  free(stack);
}

/* ---- forks ---- */

static void child_ends_well(pid_t child, const char *what)
{
  int status;
  need(child >= 0 && waitpid(child, &status, 0) == child, "fork");
  need(WIFEXITED(status) && WEXITSTATUS(status) == 0, what);
}

/* Children go on with what the parent has, and are told of the calls that stay its own. */
static void forks(void)
{
  lua_State *L = opened();
  use(L, 0);
  for (int i = 1; i <= 3; i++) {
    run(L, "guest.submit(20)");
    pid_t child = fork();
    if (!child) {
      run(L, "pcall(require('jfl').sync)  assert(math.abs(guest.predict(1.2) - 0.93) < 0.3)");
      use(L, i);
      lua_close(L);
      _exit(0);
    }
    child_ends_well(child, "the child failed");
    run(L, "local flow = require 'jfl'  flow.sync()  guest.train(5)");
  }
  lua_close(L);
}

/* A child that ends by exit runs what the parent has registered for its end. */
static void forks_and_exits(void)
{
  lua_State *L = opened();
  use(L, 0);
  pid_t child = fork();
  if (!child) exit(0);
  child_ends_well(child, "the child failed at its end");
  use(L, 1);
  lua_close(L);
}

static int inherited(void)
{
  int n = -1;
  FILE *list = popen("ls /proc/self/fd | wc -l", "r");
  need(list && fscanf(list, "%d", &n) == 1, "popen");
  pclose(list);
  return n;
}

/* Programs that the host starts get none of jfl's descriptors. */
static void starts_programs(void)
{
  const int before = inherited();
  lua_State *L = opened();
  use(L, 0);
  run(L, "guest.submit(10)");
  need(inherited() == before, "a program that was started has a descriptor of jfl's");
  lua_close(L);
}

/* ---- ends ---- */

/* Ends with a state that is open, calls in flight and callbacks due. */
static void left_open(void)
{
  lua_State *L = opened();
  use(L, 0);
  run(L, "guest.submit(100)");
}

static lua_State *late;

static void close_late(void) { lua_close(late); }

/* Closes at the very end, when the library's own handlers may have run. */
static void closed_late(void)
{
  late = opened();
  atexit(close_late);
  use(late, 0);
  run(late, "guest.submit(100)");
}

/* A state that is closed unloads its modules; the next one loads them again. */
static void again(void)
{
  for (int i = 0; i < 5; i++) use_and_close(i);
}

/* ---- surroundings ---- */

static void german(void)
{
  need(setlocale(LC_ALL, "de_DE.UTF-8") != NULL, "no such locale");
  need(localeconv()->decimal_point[0] == ',', "the locale has a point");
  use_and_close(0);
  need(localeconv()->decimal_point[0] == ',', "the locale was changed");
}

/* Without standard files, whose numbers then belong to what is opened next. */
static void closed_files(void)
{
  int out = dup(1);
  for (int i = 0; i < 3; i++) close(i);
  use_and_close(0);
  need(dup2(out, 1) == 1, "dup2");
}

static void elsewhere(void)
{
  lua_State *L = opened();
  run(L, "guest = require('spec.hosts.guest').define()  guest.train(1)");
  need(!chdir("/"), "chdir");
  use(L, 0);
  lua_close(L);
}

/* With less address space than a process with large arrays takes. */
static void little_memory(void)
{
  const struct rlimit most = { 700u << 20, 700u << 20 };
  lua_State *L = opened();
  use(L, 0);
  need(!setrlimit(RLIMIT_AS, &most), "setrlimit");
  run(L, "local ok, why = pcall(require('jfl').ndarray.zeros, { 400, 1024, 1024 })\n"
         "assert(not ok and tostring(why):find 'memory', why)");
  use(L, 1);
  lua_close(L);
}

/* Lua's memory comes from the host, which gives at most so many bytes. */
static size_t held, blocks, most;

static void *given(void *ud, void *at, size_t old, size_t size)
{
  (void)ud;
  if (!at) old = 0;
  if (size > old && held + size - old > most) return NULL;
  void *p = size ? realloc(at, size) : (free(at), NULL);
  if (p || !size) held += size - old;
  if (!at) blocks += p != NULL;
  else if (!size) blocks--;
  return p;
}

/* What `use` does, under lua_cpcall: without memory it raises an error. The JIT compiler is off:
   LuaJIT 2.1.0-beta3 reads a stale frame when a compiled trace runs out of memory. */
static int l_use(lua_State *L)
{
  luaL_loadstring(L, "local root, saved, wait = ...  jit.off()\n"
                     "package.path, package.cpath = root .. '/?.lua', root .. '/build/?.so'\n"
                     "require('spec.hosts.guest').all(saved, wait)");
  lua_pushstring(L, root);
  lua_pushfstring(L, "%s/saved", folder);
  lua_pushcfunction(L, l_wait);
  lua_call(L, 3, 0);
  return 0;
}

/* LuaJIT loses two blocks where memory runs out while it opens ffi, so it has any number here. */
static lua_State *roomy_state(size_t *limit)
{
  const size_t keep = *limit;
  *limit = (size_t)-1;
  lua_State *L = lua_newstate(given, NULL);
  need(L != NULL, "no state");
  luaL_openlibs(L);
  need(luaL_dostring(L, "require 'ffi'") == 0, "no ffi");
  *limit = keep;
  return L;
}

/* The most is raised until it is enough; less is an error that says so, and the state closes. */
static void own_allocator(void)
{
  int refused = 0, status;
  for (most = 64 << 10;; most += 128 << 10) {
    lua_State *L = roomy_state(&most);
    status = lua_cpcall(L, l_use, NULL);
    if (status) {
      const char *why = lua_tostring(L, -1);
      need(why && strstr(why, "memory"), why ? why : "an error that is no text");
    }
    lua_close(L);
    need(blocks == 0, "memory of a closed state was not given back");
    held = 0;                        /* after an error LuaJIT may tell sizes a little wrong */
    if (!status) break;
    refused++;
    need(most < 64 << 20, "64 MB were not enough");
  }
  need(refused > 5, "no state was refused memory");
}

static volatile sig_atomic_t alarms;
static pthread_t owner;
static volatile sig_atomic_t strays;

static void on_alarm(int signal)
{
  (void)signal;
  alarms++;
  strays += !pthread_equal(owner, pthread_self());
}

/* A timer that interrupts every millisecond, on the host's threads alone, and handlers of its own
   for what other programs may mean by these signals. */
static void alarmed(void)
{
  const struct itimerval each = { { 0, 1000 }, { 0, 1000 } }, none = { { 0, 0 }, { 0, 0 } };
  const int own[] = { SIGALRM, SIGINT, SIGTERM, SIGCHLD, SIGPIPE, SIGUSR1, SIGSEGV };
  struct sigaction act = { .sa_handler = on_alarm }, now;
  owner = pthread_self();
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) sigaction(own[i], &act, NULL);
  setitimer(ITIMER_REAL, &each, NULL);
  for (int i = 0; i < 3; i++) use_and_close(i);
  setitimer(ITIMER_REAL, &none, NULL);
  need(alarms > 10, "no alarms");
  need(strays == 0, "a signal came to a thread that is not the host's");
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    sigaction(own[i], NULL, &now);
    need(now.sa_handler == on_alarm, "a handler was changed");
  }
}

static const struct mode { const char *name; void (*fn)(void); } modes[] = {
  { "plain", plain }, { "threads", threads }, { "small stacks", small_stacks },
  { "handed on", handed_on }, { "fibre", fibre }, { "starts programs", starts_programs },
  { "own allocator", own_allocator }, { "forks", forks }, { "forks and exits", forks_and_exits },
  { "left open", left_open }, { "closed late", closed_late }, { "again", again },
  { "german", german }, { "closed files", closed_files }, { "elsewhere", elsewhere },
  { "little memory", little_memory }, { "alarmed", alarmed }
};

int main(int argc, char **argv)
{
  need(argc == 4, "program ROOT FOLDER MODE");
  root = argv[1];
  folder = argv[2];
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    if (strcmp(modes[i].name, argv[3])) continue;
    modes[i].fn();
    puts("well");
    return 0;
  }
  need(0, "no such mode");
}
