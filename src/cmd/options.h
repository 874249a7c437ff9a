/* The options of the command, one in each row. From it come reading them (options.c), what --help
   prints, the manual page and the completion of shells (scripts/package). */
#ifndef JF_OPTIONS_H
#define JF_OPTIONS_H

#include <lua.h>

#include "cmd/walls.h"

/* Options of a group stand behind its first one, and are told with it. Those of SANDBOX and BUNDLE
   are known nowhere else. */
typedef enum jf_option_group { MAIN, RANKS, SANDBOX, BUNDLE } jf_option_group;

/* What follows an option, by the type of the field that it is read into. A value stands in the next
   word; behind "=" where the name has two dashes, and directly behind "-e". */
typedef int jf_of_FLAG;        /* nothing; 1 */
typedef int jf_of_EACH;        /* a text; what it asks for is done in the order of the words */
typedef int jf_of_COUNT;       /* a number of processes, 1 or more */
typedef int jf_of_NUMBER;      /* 0 or more */
typedef const char *jf_of_TEXT;
typedef const char *jf_of_FILE;
typedef const char *jf_of_OUTPUT;      /* a file that must be named */
typedef const char *jf_of_OPTIONAL;    /* "--name" or "--name=text"; "": without one */
typedef jf_folders jf_of_FOLDERS;      /* the option can be given again */
typedef uint64_t jf_of_BYTES;  /* 512M; what stands in the row holds without the option */
typedef double jf_of_SECONDS;  /* so it is here */
typedef int jf_of_REST;        /* all other words are its own: where these begin */
typedef int jf_of_WORDS;       /* no option: what follows those of a group */
typedef int jf_of_MARK;        /* "--" and "-" */

/* ROW(group, kind, field, name, what follows it, what it does) */
#define JF_OPTIONS(ROW) \
  ROW(MAIN, EACH, chunk, "-e", "chunk", "run a string") \
  ROW(MAIN, EACH, module, "-l", "name", "require a module") \
  ROW(MAIN, FLAG, interactive, "-i", "", "read lines interactively after the script") \
  ROW(MAIN, FLAG, version, "-v", "", "show the version") \
  ROW(MAIN, FLAG, facts, "--version", "", "show the version, how it was built and what it found") \
  ROW(MAIN, EACH, jit, "-j", "cmd", \
      "control the just-in-time compiler (on, off, flush, v, dump, p)") \
  ROW(MAIN, OPTIONAL, optimize, "-O", "opt", "set optimizations of the compiler") \
  ROW(MAIN, FLAG, no_environment, "-E", "", "ignore LUA_INIT, LUA_PATH and LUA_CPATH") \
  ROW(MAIN, OPTIONAL, profile, "--profile", "file", \
      "print at the end which steps of jobs took how long; file: also write a trace that " \
      "Perfetto and chrome://tracing open; rank 1 of several writes file.1") \
  ROW(RANKS, COUNT, ranks, "--ranks", "n", \
      "run the script in n processes, which share the work of its jobs") \
  ROW(RANKS, NUMBER, restarts, "--restart", "m", \
      "how often all of them are started again after one has failed") \
  ROW(MAIN, TEXT, forecast, "--plan-for", "4x8[,device=h200...]", \
      "print how long a step of the train job would take on 4 hosts of 8 devices, instead of " \
      "training") \
  ROW(MAIN, FILE, onnx, "--onnx", "file", \
      "list what a model in an ONNX file takes, gives and is made of, and what of it jfl lacks; " \
      "fails where that is something") \
  ROW(SANDBOX, REST, sandbox, "--sandbox", "", \
      "run a script that nobody trusts, in a process that reaches nothing else: no other files, " \
      "no network, no other process; the first option (Linux)") \
  ROW(SANDBOX, FOLDERS, read, "--read", "dir", "what it may read; can be given again") \
  ROW(SANDBOX, FOLDERS, write, "--write", "dir", "where it may also write; can be given again") \
  ROW(SANDBOX, BYTES, memory, "--memory", "512M", "how much memory it gets") \
  ROW(SANDBOX, BYTES, disk, "--disk", "4G", "how much it may write in all") \
  ROW(SANDBOX, SECONDS, seconds, "--seconds", "60", "how long it may run") \
  ROW(SANDBOX, WORDS, confined, "script [args]", "", "") \
  ROW(BUNDLE, REST, bundle, "--bundle", "script.lua [files...]", \
      "write one executable with the script, further modules, models and data inside") \
  ROW(BUNDLE, OUTPUT, output, "-o", "app", "the executable to write") \
  ROW(BUNDLE, FILE, runtime, "--runtime", "file", \
      "another jfl to begin it, such as that of another system") \
  ROW(MAIN, FLAG, no_startup, "--no-startup", "", \
      "begin a session without its start-up file, ~/.config/jfl/init.lua or ~/.jflrc.lua") \
  ROW(MAIN, FLAG, help, "-h, --help", "", "show this help") \
  ROW(MAIN, MARK, end, "--", "", "end of options") \
  ROW(MAIN, MARK, input, "-", "", "run standard input")

#define JF_FIELD(group, kind, field, name, value, text) jf_of_##kind field;
typedef struct jf_options {
  int argc;
  char **argv;
  int script;                  /* index of the script in argv, or argc */
  JF_OPTIONS(JF_FIELD)
} jf_options;
#undef JF_FIELD

/* Reads the command line o->argv. 0, or -1: it cannot be so, which this has said on stderr. */
int jf_options_read(jf_options *o);
/* The option at word *i and what follows it, "" for nothing; moves *i behind it. NULL: there are no
   more before the script. */
const char *jf_options_next(const jf_options *o, int *i, const char **value);
/* The command line for each of the ranks, to be freed; NULL: out of memory. */
char **jf_options_of_rank(const jf_options *o);
void jf_options_help(void);
/* Pushes what the manual page and completion are made of: { options = { { name =, usage =,
   value =, text =, with = the option that it belongs to, is_optional =, is_file = }, ... },
   variables = { { usage =, text = }, ... }, usage =, notes = }. */
int jf_options_push(lua_State *L);

#endif
