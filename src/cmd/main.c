/* The jfl command: runs Lua programs as luajit does, with the front end built in. */
#include "cmd/cmd.h"
#include "jfl.h"
#include "system/system.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
  "usage: jfl [options] [script [args]]\n"
  "  -e chunk  run a string\n"
  "  -l name   require a module\n"
  "  -i        read lines interactively after the script\n"
  "  -v        show the version; --version: also how it was built and what it found\n"
  "  -j cmd    control the just-in-time compiler (on, off, flush, v, dump, p)\n"
  "  -O[opt]   set optimizations of the compiler\n"
  "  -E        ignore LUA_INIT, LUA_PATH and LUA_CPATH\n"
  "  --profile[=file]\n"
  "            print at the end which steps of jobs took how long; file: also write a trace\n"
  "            that Perfetto and chrome://tracing open; rank 1 of several writes file.1\n"
  "  --ranks n [--restart m]\n"
  "            run the script in n processes, which share the work of its jobs; m: how often\n"
  "            all are started again after one has failed\n"
  "  --plan-for 4x8[,device=h200...]\n"
  "            print how long a step of the train job would take on 4 hosts of 8 devices,\n"
  "            instead of training\n"
  "  --sandbox [--read dir] [--write dir] [--memory 512M] [--disk 4G] [--seconds 60]\n"
  "            script [args]\n"
  "            run a script that nobody trusts, in a process that reaches nothing else: no other\n"
  "            files, no network, no other process; the first option (Linux)\n"
  "  --bundle script.lua [files...] -o app [--runtime file]\n"
  "            write one executable with the script, further modules, models and data inside;\n"
  "            file: another jfl to begin it, such as that of another system\n"
  "  --no-startup\n"
  "            begin a session without its start-up file, ~/.config/jfl/init.lua or ~/.jflrc.lua\n"
  "  -h        show this help, as --help does\n"
  "  --        end of options\n"
  "  -         run standard input\n"
  "Without a script, a terminal gets an interactive session; other input is run as a script.\n"
  "In a session, ? tells what can be typed; flow.help() lists what there is.\n"
  "\n"
  "environment:\n"
  "  JFL_DATA     the folder of data sets\n"
  "  JFL_DEVICE   where jobs compute what they put on no device: cpu, sim\n"
  "  JFL_CPU_DEVICES\n"
  "               into how many devices the processor's cores are divided\n"
  "  JFL_KERNELS  fast; direct: no convolutions by transforms; reference: plain kernels\n"
  "  JFL_LIBRARIES\n"
  "               none: as if oneDNN, OpenBLAS, libturbojpeg and libpng were not installed;\n"
  "               all: oneDNN and OpenBLAS too where memory is limited (ulimit -v)\n"
  "  JFL_PASSES   passes of the compiler to leave out: \"-fold -cse\"\n"
  "  JFL_DUMP     print each job's graph after this pass\n"
  "  JFL_PRINT    all: not only the first of several processes prints\n"
  "  NO_COLOR     no colours\n";

/* name[=args] of -j: a function of jit, or start() of a module jit.name. */
static const char jit_control[] =
  "local name, rest = ...\n"
  "local args = {}\n"
  "for word in rest:gmatch('[^,]+') do args[#args + 1] = word end\n"
  "local f = jit[name]\n"
  "if type(f) == 'table' then f = f.start end\n"
  "if type(f) ~= 'function' then\n"
  "  local ok, module = pcall(require, 'jit.' .. name)\n"
  "  if not ok then error(\"jit command '\" .. name .. \"' is unknown or not installed\", 0) end\n"
  "  f = module.start\n"
  "end\n"
  "return f(unpack(args))\n";

/* What the command line asks for. Options up to `script` are run in order by run_options. */
typedef struct command {
  int argc;
  char **argv;
  int script;                  /* index of the script in argv, or argc */
  int bundling;                /* index of the first argument of --bundle, or 0 */
  int ranks, restarts;         /* of --ranks and --restart, or 0 */
  int chunk, interactive, version, help, no_env, no_startup, profile, libraries;
  const char *bad;             /* what is wrong with the options, and the one, or NULL */
  const char *wrong, *found;   /* found: what followed it, or NULL */
  const char *trace;           /* file of --profile=file, or NULL */
  const char *forecast;        /* the text behind --plan-for, or NULL */
  int failed, ended;           /* ended: by this signal, in order */
} command;

/* Message handler: adds a traceback to texts and to error objects that have __tostring. */
static int traceback(lua_State *L)
{
  if (!lua_isstring(L, 1)) {
    if (lua_isnoneornil(L, 1) || !luaL_callmeta(L, 1, "__tostring") || !lua_isstring(L, -1)) {
      lua_settop(L, 1);
      return 1;
    }
    lua_replace(L, 1);
  }
  luaL_traceback(L, L, lua_tostring(L, 1), 1);
  return 1;
}

/* What other ranks hear when this one fails: the first line of its last error. */
static char last_error[200];

/* Prints and pops the error that a failed call left; nil is an error that asks for silence. */
static int report(lua_State *L, int status)
{
  if (status == 0)
    return 0;
  if (!lua_isnil(L, -1)) {
    const char *message = lua_tostring(L, -1);
    fflush(stdout);
    if (!message) message = "(error object is not a string)";
    fprintf(stderr, "jfl: %s\n", message);
    snprintf(last_error, sizeof last_error, "%.*s", (int)strcspn(message, "\n"), message);
  }
  lua_pop(L, 1);
  return status;
}

/* Calls the function below its n_arg arguments, with tracebacks and Ctrl-C. */
static int main_call(lua_State *L, int n_arg)
{
  int base = lua_gettop(L) - n_arg;
  lua_pushcfunction(L, traceback);
  lua_insert(L, base);
  int status = jf_interrupt_call(L, n_arg, 0, base);
  lua_remove(L, base);
  return report(L, status);
}

static int run_text(lua_State *L, const char *text, size_t size, const char *name)
{
  int status = luaL_loadbufferx(L, text, size, name, "t");
  return status ? report(L, status) : main_call(L, 0);
}

static int run_require(lua_State *L, const char *name)
{
  lua_getglobal(L, "require");
  lua_pushstring(L, name);
  return main_call(L, 1);
}

static int run_jit(lua_State *L, const char *name, size_t n_name, const char *args)
{
  if (report(L, luaL_loadbuffer(L, jit_control, sizeof jit_control - 1, "=jit")))
    return 1;
  lua_pushlstring(L, name, n_name);
  lua_pushstring(L, args);
  return report(L, lua_pcall(L, 2, 0, 0));
}

/* Text only: crafted bytecode crashes the virtual machine. NULL: standard input. */
static int load_file(lua_State *L, const char *path)
{
  int status = luaL_loadfilex(L, path, "t");
  if (status == LUA_ERRSYNTAX && strstr(lua_tostring(L, -1), "wrong mode"))
    lua_pushfstring(L, "%s: expected Lua text, found bytecode", path ? path : "stdin");
  return report(L, status);
}

static int run_environment(lua_State *L)
{
  const char *init = getenv("LUA_INIT");
  if (!init)
    return 0;
  if (init[0] != '@')
    return run_text(L, init, strlen(init), "=LUA_INIT");
  return load_file(L, init + 1) ? 1 : main_call(L, 0);
}

/* --profile or --profile=file; option begins after the first dash. */
static int parse_profile(command *c, const char *option)
{
  static const char name[] = "-profile";
  const size_t n = sizeof name - 1;
  if (strncmp(option, name, n) || (option[n] && (option[n] != '=' || !option[n + 1])))
    return 0;
  c->trace = option[n] ? option + n + 1 : NULL;
  return c->profile = 1;
}

/* "--ranks n" or "--ranks=n": its number, at least `least`, into *out; gives how many words more it
   took, or -1 where it is another option. */
static int parse_number(command *c, int i, const char *name, int least, int *out)
{
  const char *option = c->argv[i] + 1, *text;
  const size_t n = strlen(name);
  char *end;
  if (strncmp(option, name, n) || (option[n] && option[n] != '=')) return -1;
  text = option[n] ? option + n + 1 : i + 1 < c->argc ? c->argv[i + 1] : "";
  const long v = strtol(text, &end, 10);
  if (!*text || *end || v < least || v > 65536) {
    c->bad = least ? "a number of processes must follow" : "a number must follow";
    c->wrong = least ? "--ranks" : "--restart";
    c->found = *text ? text : NULL;
  }
  *out = (int)v;
  return option[n] == 0;
}

/* --plan-for=4x8, or the value in the next word. */
static int parse_forecast(command *c, const char *option, int *i)
{
  static const char name[] = "-plan-for";
  const size_t n = sizeof name - 1;
  if (strncmp(option, name, n) || (option[n] && option[n] != '=')) return 0;
  if (!option[n] && ++*i == c->argc) {
    c->bad = "an argument is missing after";
    return 0;
  }
  c->forecast = option[n] ? option + n + 1 : c->argv[*i];
  return 1;
}

/* Reads the options. A value stands in the same word as its option or in the next one. */
static void main_parse(command *c)
{
  int i = 1;
  for (; i < c->argc && c->argv[i][0] == '-' && c->argv[i][1]; i++) {
    const char *option = c->argv[i] + 1;
    int value = strchr("elj", *option) != NULL;
    if (!strcmp(option, "-")) {
      i++;
      break;
    }
    if (!strcmp(option, "-bundle")) {
      c->bundling = c->script = i + 1;
      return;
    }
    int more = parse_number(c, i, "-ranks", 1, &c->ranks);
    if (more < 0) more = parse_number(c, i, "-restart", 0, &c->restarts);
    if (c->bad) return;
    if (more >= 0) {
      i += more;
      continue;
    }
    c->help |= !strcmp(option, "h") || !strcmp(option, "-help");
    c->interactive |= !strcmp(option, "i");
    c->version |= !strcmp(option, "v") || !strcmp(option, "i");
    c->no_env |= !strcmp(option, "E");
    int no_startup = !strcmp(option, "-no-startup"), version = !strcmp(option, "-version");
    c->no_startup |= no_startup;
    c->libraries |= version;
    c->version |= version;
    c->chunk |= *option == 'e';
    int known = c->help || no_startup || version || *option == 'O' || value ||
                (strchr("ivE", *option) && !option[1]) || parse_profile(c, option) ||
                parse_forecast(c, option, &i);
    if (value && !option[1] && ++i == c->argc) {
      c->bad = "an argument is missing after";
      known = 0;
    }
    if (!known) {
      c->wrong = option - 1;
      if (!c->bad) c->bad = *option == 'b' ? "bytecode is not supported:" : "unknown option";
      return;
    }
  }
  c->script = i;
  if (c->restarts && !c->ranks) {
    c->bad = "--ranks n is missing for";
    c->wrong = "--restart";
  }
}

/* Runs -e, -l, -j and -O in their order. */
static int run_options(lua_State *L, const command *c)
{
  for (int i = 1; i < c->script; i++) {
    char option = c->argv[i][1];
    const char *value = c->argv[i] + 2;
    if (strchr("elj", option) && !*value)
      value = c->argv[++i];
    size_t n = strcspn(value, "=");
    int status = option == 'e'   ? run_text(L, value, strlen(value), "=(command line)")
                 : option == 'l' ? run_require(L, value)
                 : option == 'j' ? run_jit(L, value, n, value + n + (value[n] == '='))
                 : option == 'O' ? run_jit(L, "opt", 3, value)
                                 : 0;
    if (status)
      return status;
  }
  return 0;
}

/* arg: the script's name at 0 if there is one, its arguments after, other words before. */
static void set_arg(lua_State *L, const command *c)
{
  int zero = c->script;
  lua_createtable(L, c->argc - zero, zero + 1);
  for (int i = 0; i < c->argc; i++) {
    lua_pushstring(L, c->argv[i]);
    lua_rawseti(L, -2, i - zero);
  }
  lua_setglobal(L, "arg");
}

static int run_script(lua_State *L, const command *c, const char *path)
{
  if (load_file(L, path))
    return 1;
  int n = 0;
  for (int i = c->script + 1; i < c->argc; i++, n++) {
    luaL_checkstack(L, 1, "too many arguments to script");
    lua_pushstring(L, c->argv[i]);
  }
  return main_call(L, n);
}

/* Pushes the path of folder/name if there is such a file. */
static int push_file(lua_State *L, const char *folder, const char *name)
{
  jf_info st;
  if (!folder || !*folder) return 0;
  const char *path = lua_pushfstring(L, "%s/%s", folder, name);
  if (!jf_info_at(JF_HERE, path, 0, &st) && st.kind == JF_FILE) return 1;
  lua_pop(L, 1);
  return 0;
}

/* Pushes the path of the start-up file, if there is one. */
static int push_startup(lua_State *L)
{
  const char *home = jf_home_folder(), *config = getenv("XDG_CONFIG_HOME");
  int found = config && *config ? push_file(L, config, "jfl/init.lua")
                                : push_file(L, home, ".config/jfl/init.lua");
  return found || push_file(L, home, ".jflrc.lua");
}

/* Pushes what the session is told: { startup =, colour =, colour_errors = }. */
static void push_options(lua_State *L, const command *c)
{
  lua_createtable(L, 0, 3);
  if (!c->no_startup && push_startup(L)) lua_setfield(L, -2, "startup");
  lua_pushboolean(L, jf_has_colours(STDOUT_FILENO));
  lua_setfield(L, -2, "colour");
  lua_pushboolean(L, jf_has_colours(STDERR_FILENO));
  lua_setfield(L, -2, "colour_errors");
}

static int run_interactive(lua_State *L, command *c)
{
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jfl.repl.session");
  int status = lua_pcall(L, 1, 1, 0);
  if (status)
    return report(L, status);
  jf_push_line_reader(L);
  push_options(L, c);
  status = jf_interrupt_call(L, 3, 1, 0);
  if (status)
    return report(L, status);
  c->ended = (int)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return 0;
}

/* Runs the callbacks of asynchronous calls that are still out, if the program made any. */
static int main_finish(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "jfl.job.queue");
  lua_remove(L, -2);
  if (!lua_istable(L, -1)) {
    lua_pop(L, 1);
    return 0;
  }
  lua_getfield(L, -1, "finish");
  lua_remove(L, -2);
  return main_call(L, 0);
}

/* Begins a profile, or what tells of other devices; what ends it is left on the stack. */
static int start_tool(lua_State *L, const command *c)
{
  lua_getglobal(L, "require");
  lua_pushstring(L, c->forecast ? "jfl.tools.forecast" : "jfl.tools.profile");
  int status = lua_pcall(L, 1, 1, 0);
  if (status)
    return report(L, status);
  lua_getfield(L, -1, c->forecast ? "start" : "whole");
  lua_pushstring(L, c->forecast ? c->forecast : c->trace);
  return report(L, lua_pcall(L, 1, 1, 0));
}

/* Pushes a function of a module of the front end. */
static int push_tool(lua_State *L, const char *module, const char *function)
{
  lua_getglobal(L, "require");
  lua_pushstring(L, module);
  const int status = lua_pcall(L, 1, 1, 0);
  if (status) return report(L, status);
  lua_getfield(L, -1, function);
  lua_remove(L, -2);
  return 0;
}

static int push_arguments(lua_State *L, const command *c, int first)
{
  luaL_checkstack(L, c->argc, "too many arguments");
  for (int i = first; i < c->argc; i++) lua_pushstring(L, c->argv[i]);
  return c->argc - first;
}

static int make_bundle(lua_State *L, const command *c)
{
  if (push_tool(L, "jfl.tools.bundle", "make")) return 1;
  lua_pushstring(L, c->argv[0]);
  jf_push_bundle_tools(L);
  const int n = push_arguments(L, c, c->bundling);
  return report(L, jf_interrupt_call(L, n + 2, 0, 0));
}

/* Runs the script of a bundle, whose arguments are all of the command line. */
static int run_bundle(lua_State *L, const command *c)
{
  if (push_tool(L, "jfl.tools.bundled", "start")) return 1;
  lua_pushstring(L, c->argv[0]);
  jf_push_bundle_mark(L);
  jf_push_bundle_tools(L);
  const int status = lua_pcall(L, 3, 1, 0);
  if (status) return report(L, status);
  return main_call(L, push_arguments(L, c, 1)) || main_finish(L);
}

static int main_run(lua_State *L, command *c)
{
  if (jf_is_bundle()) return run_bundle(L, c);
  if (c->bundling) return make_bundle(L, c);
  int script = c->script < c->argc;
  int done = c->chunk || c->version;
  int size;
  jf_rank_of_environment(&size);
  if (size > 1 && (c->interactive || (!script && !done))) {
    fputs("jfl: several processes need a script to run; an interactive session has one\n", stderr);
    return 1;
  }
  int ask = c->interactive || (!script && !done && isatty(STDIN_FILENO));
  if (c->version || ask) jf_print_version(c->libraries);
  if (ask && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
    puts("? tells what can be typed here; exit or Ctrl-D ends the session");
  if ((!c->no_env && run_environment(L)) || run_options(L, c))
    return 1;
  const char *path = script ? c->argv[c->script] : NULL;
  if (script && !strcmp(path, "-") && strcmp(c->argv[c->script - 1], "--"))
    path = NULL;
  if ((script || (!done && !ask)) && run_script(L, c, path))
    return 1;
  return (ask && run_interactive(L, c)) || main_finish(L);
}

/* A profile is printed after an error, too; that the program did not train is no news then. */
static int main_run_tool(lua_State *L, command *c)
{
  if (start_tool(L, c))
    return 1;
  int failed = main_run(L, c);
  if (c->forecast) return failed || report(L, lua_pcall(L, 0, 0, 0));
  return main_call(L, 0) || failed;
}

/* For ranks that learn only from the script that they are not the first. */
static int l_quieten(lua_State *L)
{
  (void)L;
  jf_quieten();
  return 0;
}

static int start(lua_State *L)
{
  command *c = lua_touserdata(L, 1);
  if (c->no_env) {
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  lua_gc(L, LUA_GCSTOP, 0);
  luaL_openlibs(L);
  luaopen_jfl_preload(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "jfl.command");          /* for lua/jfl/job/exit.lua */
  lua_settop(L, 0);
  lua_gc(L, LUA_GCRESTART, 0);
  jf_interrupt_open(L);
  lua_pushcfunction(L, l_quieten);
  lua_setfield(L, LUA_REGISTRYINDEX, "jfl.quieten");
  set_arg(L, c);
  c->failed = (c->profile || c->forecast ? main_run_tool(L, c) : main_run(L, c)) != 0;
  return 0;
}

#ifdef JF_DEBUG
/* The Lua heap from malloc, so that leak checkers follow what it refers to. */
static void *reallocate(void *ud, void *p, size_t old_size, size_t size)
{
  (void)ud, (void)old_size;
  if (size)
    return realloc(p, size);
  free(p);
  return NULL;
}

static lua_State *new_state(void) { return lua_newstate(reallocate, NULL); }
#else
static lua_State *new_state(void) { return luaL_newstate(); }
#endif

/* 128 and the number of the signal, as shells say it. */
static int status_of(const command *c, int failed)
{
  int interrupted = jf_interrupt_came();
  if (c->ended)
    return 128 + c->ended;
  if (failed && interrupted)
    return 128 + SIGINT;
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* The same command line without the options of this. */
static int run_ranks(command *c)
{
  int n = 1;
  if (c->script == c->argc && !c->chunk) {
    fputs("jfl: --ranks needs a script to run\n", stderr);
    return EXIT_FAILURE;
  }
  if (c->script < c->argc && strcmp(c->argv[c->script], "-") && access(c->argv[c->script], R_OK)) {
    fprintf(stderr, "jfl: cannot open %s: %s\n", c->argv[c->script], strerror(errno));
    return EXIT_FAILURE;
  }
  char **argv = calloc((size_t)c->argc + 1, sizeof *argv);
  if (!argv) return EXIT_FAILURE;
  argv[0] = c->argv[0];
  for (int i = 1; i < c->argc; i++) {
    int ignored, more = -1;
    if (i < c->script) more = parse_number(c, i, "-ranks", 1, &ignored);
    if (i < c->script && more < 0) more = parse_number(c, i, "-restart", 0, &ignored);
    if (more < 0) argv[n++] = c->argv[i];
    else i += more;
  }
  const int status = jf_run_ranks(c->ranks, c->restarts, argv);
  free(argv);
  return status;
}

/* Says what is wrong with the options. All of the usage would move that out of sight. */
static int refuse(const command *c)
{
  const char *quote = c->found ? "'" : "";
  fprintf(stderr, "jfl: %s %s%s%s%s%s\n%.*sjfl --help tells all options\n", c->bad, c->wrong,
          c->found ? ", got " : "", quote, c->found ? c->found : "", quote,
          (int)(strchr(usage, '\n') + 1 - usage), usage);
  return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
  jf_begin(&argc, &argv);
  int ended;
  if (!jf_is_bundle() && argc > 1 && !strcmp(argv[1], "--sandbox") &&
      jf_sandbox(&argc, argv, &ended))
    return ended;
  jf_forget_ranks();           /* a sandbox has cleared their secret before, also in its memory */
  command c = { .argc = argc, .argv = argv };
  int size;
  if (jf_is_bundle()) c.no_env = 1;
  else main_parse(&c);
  if (c.bad) return refuse(&c);
  if (c.help) return fputs(usage, stdout), EXIT_SUCCESS;
  if (c.ranks) return run_ranks(&c);
  if (jf_rank_of_environment(&size)) jf_quieten();
  lua_State *L = new_state();
  if (!L) {
    fputs("jfl: cannot start: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  int failed = report(L, lua_cpcall(L, start, &c)) || c.failed;
  if (failed) jfl_world_leave(last_error);
  lua_close(L);
  return status_of(&c, failed);
}
