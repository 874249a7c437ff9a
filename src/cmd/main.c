/* The jfl command: runs Lua programs as luajit does, with the front end built in. */
#include "cmd/cmd.h"
#include "jfl.h"
#include "system/system.h"
#include "world/launcher.h"

#include <errno.h>
#include <lauxlib.h>
#include <lualib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

typedef struct command {
  jf_options is;               /* what the command line asks for */
  int failed, ended;           /* ended: by this signal, in order */
  int is_walled;               /* it runs in a sandbox */
} command;

/* Adds to the message at 1 what helps where arrays are refused, if there can be any. */
static void add_hint(lua_State *L)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "jfl.base.hints");
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "added");
    lua_pushvalue(L, 1);
    if (!lua_pcall(L, 1, 1, 0)) lua_replace(L, 1);
  }
  lua_settop(L, 1);
}

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
  add_hint(L);
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
    if (!jf_report(message)) fprintf(stderr, "jfl: %s\n", message);
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

/* The value of a global that is not there: the front end for `flow`, which it then is. */
static int front_end(lua_State *L)
{
  if (lua_type(L, 2) != LUA_TSTRING || strcmp(lua_tostring(L, 2), "flow")) return 0;
  lua_getglobal(L, "require");
  lua_pushliteral(L, "jfl");
  lua_call(L, 1, 1);
  lua_pushvalue(L, -1);
  lua_setglobal(L, "flow");
  return 1;
}

/* Has `flow` loaded when a session or a string of the command line names it. */
static void lend_flow(lua_State *L)
{
  lua_pushvalue(L, LUA_GLOBALSINDEX);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, front_end);
  lua_setfield(L, -2, "__index");
  lua_setmetatable(L, -2);
  lua_pop(L, 1);
}

/* Does what -e, -l, -j and -O ask for, in their order. */
static int run_options(lua_State *L, const jf_options *o)
{
  const char *name, *value;
  int i = 1, status = 0;
  while (!status && (name = jf_options_next(o, &i, &value))) {
    const size_t n = strcspn(value, "=");
    if (!strcmp(name, "-e")) status = run_text(L, value, strlen(value), "=(command line)");
    if (!strcmp(name, "-l")) status = run_require(L, value);
    if (!strcmp(name, "-j")) status = run_jit(L, value, n, value + n + (value[n] == '='));
    if (!strcmp(name, "-O")) status = run_jit(L, "opt", 3, value);
  }
  return status;
}

/* arg: the script's name at 0 if there is one, its arguments after, other words before. */
static void set_arg(lua_State *L, const jf_options *o)
{
  int zero = o->script;
  lua_createtable(L, o->argc - zero, zero + 1);
  for (int i = 0; i < o->argc; i++) {
    lua_pushstring(L, o->argv[i]);
    lua_rawseti(L, -2, i - zero);
  }
  lua_setglobal(L, "arg");
}

static int run_script(lua_State *L, const jf_options *o, const char *path)
{
  if (load_file(L, path))
    return 1;
  int n = 0;
  for (int i = o->script + 1; i < o->argc; i++, n++) {
    luaL_checkstack(L, 1, "too many arguments to script");
    lua_pushstring(L, o->argv[i]);
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
static void push_options(lua_State *L, const jf_options *o)
{
  lua_createtable(L, 0, 3);
  if (!o->no_startup && push_startup(L)) lua_setfield(L, -2, "startup");
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
  push_options(L, &c->is);
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

/* Begins a profile, or what tells of other devices; what ends it is left on the stack. */
static int start_tool(lua_State *L, const jf_options *o)
{
  if (o->forecast ? push_tool(L, "jfl.tools.forecast", "start")
                  : push_tool(L, "jfl.tools.profile", "whole"))
    return 1;
  lua_pushstring(L, o->forecast ? o->forecast : *o->profile ? o->profile : NULL);
  return report(L, lua_pcall(L, 1, 1, 0));
}

static int push_arguments(lua_State *L, const jf_options *o, int first)
{
  luaL_checkstack(L, o->argc, "too many arguments");
  for (int i = first; i < o->argc; i++) lua_pushstring(L, o->argv[i]);
  return o->argc - first;
}

static int make_bundle(lua_State *L, const jf_options *o)
{
  if (push_tool(L, "jfl.tools.bundle", "make")) return 1;
  lua_pushstring(L, o->argv[0]);
  jf_push_bundle_tools(L);
  lua_pushstring(L, o->output);
  lua_pushstring(L, o->runtime);
  const int n = push_arguments(L, o, o->bundle);
  return report(L, jf_interrupt_call(L, n + 4, 0, 0));
}

/* Prints what is in an ONNX file; 1: it cannot be read, or jfl lacks some of it. */
static int show_onnx(lua_State *L, const jf_options *o)
{
  if (push_tool(L, "jfl.onnx.check", "show")) return 1;
  lua_pushstring(L, o->onnx);
  const int status = jf_interrupt_call(L, 1, 1, 0);
  return status ? report(L, status) : !lua_toboolean(L, -1);
}

/* Runs the script of a bundle, whose arguments are all of the command line. */
static int run_bundle(lua_State *L, const jf_options *o)
{
  if (push_tool(L, "jfl.tools.bundled", "start")) return 1;
  lua_pushstring(L, o->argv[0]);
  jf_push_bundle_mark(L);
  jf_push_bundle_tools(L);
  const int status = lua_pcall(L, 3, 1, 0);
  if (status) return report(L, status);
  return main_call(L, push_arguments(L, o, 1)) || main_finish(L);
}

static int main_run(lua_State *L, command *c)
{
  const jf_options *o = &c->is;
  if (jf_is_bundle()) return run_bundle(L, o);
  if (o->bundle) return make_bundle(L, o);
  if (o->onnx) return show_onnx(L, o);
  const int script = o->script < o->argc, done = o->chunk || o->version || o->facts;
  int size;
  jf_launched_rank(&size);
  if (size > 1 && (o->interactive || (!script && !done))) {
    fputs("jfl: several processes need a script to run; an interactive session has one\n", stderr);
    return 1;
  }
  const int ask = o->interactive || (!script && !done && isatty(STDIN_FILENO));
  if (o->version || o->facts || ask) jf_print_version(o->facts);
  if (ask && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO))
    puts("? tells what can be typed here; exit or Ctrl-D ends the session");
  if (ask || (o->chunk && !script)) lend_flow(L);
  if ((!o->no_environment && run_environment(L)) || run_options(L, o)) return 1;
  const char *path = script ? o->argv[o->script] : NULL;
  if (script && !strcmp(path, "-") && strcmp(o->argv[o->script - 1], "--")) path = NULL;
  if ((script || (!done && !ask)) && run_script(L, o, path)) return 1;
  return (ask && run_interactive(L, c)) || main_finish(L);
}

/* A profile is printed after an error, too; that the program did not train is no news then. */
static int main_run_tool(lua_State *L, command *c)
{
  if (start_tool(L, &c->is))
    return 1;
  int failed = main_run(L, c);
  if (c->is.forecast) return failed || report(L, lua_pcall(L, 0, 0, 0));
  return main_call(L, 0) || failed;
}

/* For ranks that learn only from the script that they are not the first. */
static int l_quieten(lua_State *L)
{
  (void)L;
  jf_quieten();
  return 0;
}

/* io.open, which gives nil, why and errno. */
static int l_open_file(lua_State *L)
{
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  const char *path = lua_gettop(L) > 1 ? lua_tostring(L, 2) : NULL;
  lua_pushstring(L, path);
  lua_insert(L, 1);            /* while the call lasts */
  lua_call(L, lua_gettop(L) - 2, LUA_MULTRET);
  if (lua_gettop(L) == 4 && lua_isnil(L, 2) && lua_tointeger(L, 4) == EACCES && path) {
    lua_pushfstring(L, "%s: %s", path, jf_trouble(EACCES));
    lua_replace(L, 3);
  }
  return lua_gettop(L) - 1;
}

/* Files that a script opens by itself are refused with the words of all others. */
static void main_explain_refusals(lua_State *L)
{
  lua_getglobal(L, "io");
  lua_getfield(L, -1, "open");
  lua_pushcclosure(L, l_open_file, 1);
  lua_setfield(L, -2, "open");
  lua_pop(L, 1);
}

static int start(lua_State *L)
{
  command *c = lua_touserdata(L, 1);
  if (c->is.no_environment) {
    lua_pushboolean(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
  }
  lua_gc(L, LUA_GCSTOP, 0);
  luaL_openlibs(L);
  luaopen_jfl_preload(L);
  jf_watch_miscompiled(L);
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushboolean(L, 1);
  lua_setfield(L, -2, "jfl.command");          /* for lua/jfl/job/exit.lua */
  lua_settop(L, 0);
  lua_gc(L, LUA_GCRESTART, 0);
  jf_interrupt_open(L);
  lua_pushcfunction(L, l_quieten);
  lua_setfield(L, LUA_REGISTRYINDEX, "jfl.quieten");
  lua_pushcfunction(L, jf_options_push);
  lua_setfield(L, LUA_REGISTRYINDEX, "jfl.options");
  set_arg(L, &c->is);
  if (c->is_walled) main_explain_refusals(L);
  c->failed = (c->is.profile || c->is.forecast ? main_run_tool(L, c) : main_run(L, c)) != 0;
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

/* Whether what was printed could not be written, as on a full disk; tells so. A program that was
   started without an output has none to lose. */
static int main_output_is_lost(void)
{
  const char *why = fflush(stdout) ? strerror(errno) : NULL;
  if (!why && !ferror(stdout)) return 0;
  if (write(STDOUT_FILENO, "", 0) < 0 && errno == EBADF) return 0;
  fprintf(stderr, "jfl: cannot write the output%s%s\n", why ? ": " : "", why ? why : "");
  return 1;
}

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

static int run_ranks(const jf_options *o)
{
  const char *script = o->script < o->argc ? o->argv[o->script] : NULL;
  if (!script && !o->chunk) {
    fputs("jfl: --ranks needs a script to run\n", stderr);
    return EXIT_FAILURE;
  }
  if (script && strcmp(script, "-") && access(script, R_OK)) {
    fprintf(stderr, "jfl: cannot open %s: %s\n", script, strerror(errno));
    return EXIT_FAILURE;
  }
  char **argv = jf_options_of_rank(o);
  const int status = argv ? jf_run_ranks(o->ranks, o->restarts, argv) : EXIT_FAILURE;
  free(argv);
  return status;
}

int main(int argc, char **argv)
{
  jf_begin(&argc, &argv);
  command c = { .is = { .argc = argc, .argv = argv } };
  jf_options *o = &c.is;
  if (jf_is_bundle()) o->no_environment = 1;
  else if (jf_options_read(o)) return EXIT_FAILURE;
  if (o->sandbox) {
    int ended;
    if (jf_sandbox(o, &ended)) return ended;
    if (jf_options_read(o)) return EXIT_FAILURE;
    c.is_walled = 1;
  }
  jf_launched_forget();        /* a sandbox has cleared their secret before, also in its memory */
  if (o->help) return jf_options_help(), main_output_is_lost();
  if (o->ranks) return run_ranks(o);
  int size;
  if (jf_launched_rank(&size)) jf_quieten();
  jf_report_open();
  lua_State *L = new_state();
  if (!L) {
    fputs("jfl: cannot start: out of memory\n", stderr);
    return EXIT_FAILURE;
  }
  int failed = report(L, lua_cpcall(L, start, &c)) || c.failed;
  if (failed) jfl_world_leave(last_error);
  lua_close(L);
  return status_of(&c, main_output_is_lost() || failed);
}
