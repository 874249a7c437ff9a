/* Reads the options of the command and tells of them, as the rows of options.h have it. */
#include "cmd/options.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum option_kind {
  IS_FLAG, IS_EACH, IS_COUNT, IS_NUMBER, IS_TEXT, IS_FILE, IS_OUTPUT, IS_OPTIONAL, IS_FOLDERS,
  IS_BYTES, IS_SECONDS, IS_REST, IS_WORDS, IS_MARK
} option_kind;

typedef struct option_row {
  jf_option_group group;
  option_kind kind;
  size_t field;
  const char *name, *after, *text;
} option_row;

#define ROW(group, kind, field, name, after, text) \
  { group, IS_##kind, offsetof(jf_options, field), name, after, text },
static const option_row rows[] = { JF_OPTIONS(ROW) };
enum { N_ROWS = sizeof rows / sizeof *rows };

static const struct { const char *name, *text; } variables[] = {
  { "JFL_DATA", "the folder of data sets" },
  { "JFL_DEVICE", "where jobs compute what they put on no device: cpu, sim" },
  { "JFL_CPU_DEVICES", "into how many devices the processor's cores are divided" },
  { "JFL_KERNELS", "fast; direct: no convolutions by transforms; reference: plain kernels" },
  { "JFL_LIBRARIES", "none: as if oneDNN, OpenBLAS, libturbojpeg and libpng were not installed; "
                     "all: oneDNN and OpenBLAS too where memory is limited (ulimit -v)" },
  { "JFL_PASSES", "passes of the compiler to leave out: \"-fold -cse\"" },
  { "JFL_DUMP", "print each job's graph after this pass; plan: its plan" },
  { "JFL_PRINT", "all: not only the first of several processes prints" },
  { "NO_COLOR", "no colours" },
};

static const char usage[] = "jfl [options] [script [args]]";
static const char notes[] =
  "Without a script, a terminal gets an interactive session; other input is run as a script.\n"
  "In a session, ? tells what can be typed; flow.help() lists what there is.\n";

/* ---- values ---- */

static int take_word(void *field, const char *value) { return *(const char **)field = value, 0; }
static int take_mark(void *field, const char *value) { return (void)value, *(int *)field = 1, 0; }

static int take_number(void *field, const char *value, long least)
{
  char *end;
  const long v = strtol(value, &end, 10);
  *(int *)field = (int)v;
  return !*value || *end || v < least || v > 65536 ? -1 : 0;
}

static int take_count(void *field, const char *value) { return take_number(field, value, 1); }
static int take_any(void *field, const char *value) { return take_number(field, value, 0); }

/* "512M", "2G" or bytes. */
static int take_bytes(void *field, const char *value)
{
  char *end;
  double n = strtod(value, &end);
  if (*end && strchr("KkMmGg", *end)) {
    n *= *end == 'K' || *end == 'k' ? 0x1p10 : *end == 'M' || *end == 'm' ? 0x1p20 : 0x1p30;
    end++;
  }
  if (*end || end == value || !(n >= 0x1p24) || n > 0x1p50) return -1;
  return *(uint64_t *)field = (uint64_t)n, 0;
}

static int take_seconds(void *field, const char *value)
{
  char *end;
  const double v = *(double *)field = strtod(value, &end);
  return *end || !(v > 0 && v < 1e7) ? -1 : 0;
}

static int take_folder(void *field, const char *value)
{
  jf_folders *f = field;
  return f->n == JF_MOST_FOLDERS ? -1 : (f->at[f->n++] = value, 0);
}

/* What each kind takes, what is said where it is not there, and what it must be; NULL: nothing must
   follow, and anything is right. */
static const struct {
  int (*take)(void *field, const char *value);
  const char *wants, *must;
} kinds[] = {
  [IS_FLAG] = { take_mark, NULL, NULL },
  [IS_EACH] = { take_mark, "an argument is missing after", NULL },
  [IS_COUNT] = { take_count, "a number of processes must follow", NULL },
  [IS_NUMBER] = { take_any, "a number must follow", NULL },
  [IS_TEXT] = { take_word, "an argument is missing after", NULL },
  [IS_FILE] = { take_word, "a file must follow", NULL },
  [IS_OUTPUT] = { take_word, "a file must follow", NULL },
  [IS_OPTIONAL] = { take_word, NULL, NULL },
  [IS_FOLDERS] = { take_folder, "a value must follow", "can be given 16 times at most" },
  [IS_BYTES] = { take_bytes, "a value must follow", "must be at least 16M" },
  [IS_SECONDS] = { take_seconds, "a value must follow", "must be a number above 0" },
  [IS_REST] = { take_mark, NULL, NULL },
  [IS_MARK] = { take_mark, NULL, NULL },
};

/* ---- telling of them ---- */

static const option_row *head_of(jf_option_group group)
{
  const option_row *row = rows;
  while (row->group != group) row++;
  return row;
}

static int is_head(const option_row *row)
{
  return row->group == MAIN || row == head_of(row->group);
}

/* An option with what follows it: "--ranks n", "--profile[=file]". */
static int write_form(char *to, size_t size, const option_row *row)
{
  const char *before = row->kind != IS_OPTIONAL ? *row->after ? " " : ""
                     : row->name[1] == '-' ? "[=" : "[";
  return snprintf(to, size, "%s%s%s%s", row->name, before, row->after,
                  row->kind == IS_OPTIONAL ? "]" : "");
}

/* An option and, where it begins a group, the other options of that; in brackets those that can be
   left out. */
static void write_usage(char *to, size_t size, const option_row *head)
{
  size_t n = (size_t)write_form(to, size, head);
  if (head->group == MAIN || !is_head(head)) return;
  for (const option_row *row = head + 1; row < rows + N_ROWS; row++) {
    char form[64];
    const int must = row->kind == IS_OUTPUT || row->kind == IS_WORDS;
    if (row->group != head->group) break;
    write_form(form, sizeof form, row);
    n += (size_t)snprintf(to + n, size - n, must ? " %s" : " [%s]", form);
  }
}

enum { MOST_USAGE = 256, WIDTH = 97 };

/* Prints a text whose first line begins in column `at`, and others in column `indent`. */
static void print_wrapped(const char *text, int at, int indent)
{
  for (const char *end; *text; text = end + (*end == ' ')) {
    end = text + strcspn(text, " ");
    const int n = (int)(end - text), is_first = at == indent;
    if (!is_first && at + 1 + n > WIDTH) {
      printf("\n%*s", indent, "");
      at = indent;
    } else if (!is_first) {
      putchar(' ');
      at++;
    }
    printf("%.*s", n, text);
    at += n;
  }
  putchar('\n');
}

/* A name, and its text beside it where there is room. */
static void print_item(const char *name, const char *text, int indent)
{
  const int n = printf("  %s", name);
  if (n < indent - 1) printf("%*s", indent - n, "");
  else printf("\n%*s", indent, "");
  print_wrapped(text, indent, indent);
}

void jf_options_help(void)
{
  char form[MOST_USAGE];
  printf("usage: %s\n", usage);
  for (const option_row *row = rows; row < rows + N_ROWS; row++) {
    if (is_head(row)) {
      write_usage(form, sizeof form, row);
      print_item(form, row->text, 12);
    } else if (*row->text) {
      print_wrapped(row->text, printf("%12s%s:", "", row->name), 12);
    }
  }
  printf("%s\nenvironment:\n", notes);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    print_item(variables[i].name, variables[i].text, 15);
}

static void push_of(lua_State *L, const char *name, const char *text)
{
  if (*text) lua_pushstring(L, text), lua_setfield(L, -2, name);
}

static void push_row(lua_State *L, const option_row *row)
{
  char form[MOST_USAGE];
  const int is_file = row->kind == IS_FILE || row->kind == IS_OUTPUT || row->kind == IS_FOLDERS ||
                      row->kind == IS_REST || !strcmp(row->after, "file");
  lua_newtable(L);
  write_usage(form, sizeof form, row);
  push_of(L, "usage", form);
  push_of(L, "name", row->name);
  push_of(L, "value", row->after);
  push_of(L, "text", row->text);
  push_of(L, "with", is_head(row) ? "" : head_of(row->group)->name);
  lua_pushboolean(L, row->kind == IS_OPTIONAL);
  lua_setfield(L, -2, "is_optional");
  lua_pushboolean(L, is_file);
  lua_setfield(L, -2, "is_file");
}

int jf_options_push(lua_State *L)
{
  lua_newtable(L);
  push_of(L, "usage", usage);
  push_of(L, "notes", notes);
  lua_newtable(L);
  for (int i = 0, n = 0; i < N_ROWS; i++)
    if (rows[i].kind != IS_WORDS) push_row(L, &rows[i]), lua_rawseti(L, -2, ++n);
  lua_setfield(L, -2, "options");
  lua_newtable(L);
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    lua_newtable(L);
    push_of(L, "usage", variables[i].name);
    push_of(L, "text", variables[i].text);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "variables");
  return 1;
}

/* ---- reading them ---- */

/* Says what is wrong; all of the help would move that out of sight. */
__attribute__((format(printf, 2, 3)))
static int refuse(jf_option_group group, const char *why, ...)
{
  char form[MOST_USAGE];
  const option_row *head = group == SANDBOX || group == BUNDLE ? head_of(group) : NULL;
  va_list ap;
  if (head) write_usage(form, sizeof form, head);
  fprintf(stderr, "jfl: %s%s", head ? head->name : "", head ? ": " : "");
  va_start(ap, why);
  vfprintf(stderr, why, ap);
  va_end(ap);
  fprintf(stderr, "\nusage: %s%s\njfl --help tells all options\n", head ? "jfl " : "",
          head ? form : usage);
  return -1;
}

/* Whether a word is this option; *value is what stands in it behind the name, or NULL. */
static int option_is(const option_row *row, const char *word, const char **value)
{
  for (const char *name = row->name; *name; name += strspn(name, ", ")) {
    const size_t n = strcspn(name, ",");
    const char *rest = word + n;
    *value = NULL;
    if (!strncmp(word, name, n)) {
      if (!*rest) return 1;
      const int takes = kinds[row->kind].wants || row->kind == IS_OPTIONAL;
      if (takes && name[1] != '-') return *value = rest, 1;
      if (takes && *rest == '=' && (rest[1] || row->kind != IS_OPTIONAL))
        return *value = rest + 1, 1;
    }
    name += n;
  }
  return 0;
}

/* The option at a word, or two. row: NULL where it is none of the group. */
typedef struct option_given { const option_row *row; const char *value; int n; } option_given;

static option_given read_word(const jf_options *o, int i, jf_option_group group)
{
  option_given g = { .n = 1 };
  for (g.row = rows; g.row < rows + N_ROWS; g.row++) {
    const int is_known = group > RANKS ? g.row->group == group && g.row->kind != IS_REST
                                       : g.row->group <= RANKS || g.row->kind == IS_REST;
    if (!is_known || g.row->kind == IS_WORDS || !option_is(g.row, o->argv[i], &g.value)) continue;
    if (!g.value && kinds[g.row->kind].wants) {
      g.value = i + 1 < o->argc ? o->argv[i + 1] : NULL;
      g.n = 2;
    }
    return g;
  }
  return (option_given){ NULL, NULL, 1 };
}

static int option_take(jf_options *o, option_given g)
{
  const char *wants = kinds[g.row->kind].wants, *must = kinds[g.row->kind].must;
  const char *value = g.value ? g.value : "", *quote = *value ? "'" : "";
  if (wants && !g.value) return refuse(g.row->group, "%s %s", wants, g.row->name);
  if (!kinds[g.row->kind].take((char *)o + g.row->field, value)) return 0;
  if (must) return refuse(g.row->group, "%s %s, got %s", g.row->name, must, value);
  return refuse(g.row->group, "%s %s%s%s%s%s", wants, g.row->name, *value ? ", got " : "", quote,
                value, quote);
}

static int read_sandbox(jf_options *o)
{
  int i = 2;
  for (option_given g; i < o->argc && (g = read_word(o, i, SANDBOX)).row; i += g.n)
    if (option_take(o, g)) return -1;
  o->sandbox = o->script = i;
  if (i >= o->argc) return refuse(SANDBOX, "a script must follow");
  if (o->argv[i][0] == '-' && strcmp(o->argv[i], "-e"))
    return refuse(SANDBOX, "unknown option %s", o->argv[i]);
  return 0;
}

/* Options may stand behind other words, which are moved together. */
static int read_bundle(jf_options *o, int first)
{
  int n = first;
  for (int i = first; i < o->argc;) {
    const option_given g = read_word(o, i, BUNDLE);
    if (!g.row && o->argv[i][0] == '-' && o->argv[i][1])
      return refuse(BUNDLE, "unknown option %s", o->argv[i]);
    if (g.row && option_take(o, g)) return -1;
    if (!g.row) o->argv[n++] = o->argv[i];
    i += g.n;
  }
  o->argc = n;
  o->bundle = o->script = first;
  if (n == first) return refuse(BUNDLE, "a script must follow");
  return o->output ? 0 : refuse(BUNDLE, "where to write it must be said by -o");
}

static int is_option(const jf_options *o, int i)
{
  return i < o->argc && o->argv[i][0] == '-' && o->argv[i][1];
}

int jf_options_read(jf_options *o)
{
  int i = 1;
  *o = (jf_options){ .argc = o->argc, .argv = o->argv };
  /* What stands in the rows of bytes and seconds holds where nothing else is said. */
  for (const option_row *row = rows; row < rows + N_ROWS; row++)
    if (row->kind == IS_BYTES || row->kind == IS_SECONDS)
      kinds[row->kind].take((char *)o + row->field, row->after);
  for (option_given g; is_option(o, i) && !o->end; i += g.n) {
    const char *word = o->argv[i];
    g = read_word(o, i, MAIN);
    if (g.row && g.row->kind == IS_REST && g.row->group == BUNDLE) return read_bundle(o, i + 1);
    if (g.row && g.row->kind == IS_REST && i == 1) return read_sandbox(o);
    if (g.row && g.row->kind != IS_REST) {
      if (option_take(o, g)) return -1;
    } else if (!o->help) {
      return refuse(MAIN, "%s %s",
                    word[1] == 'b' ? "bytecode is not supported:" : "unknown option", word);
    }
  }
  o->script = i;
  return o->restarts && !o->ranks ? refuse(MAIN, "--ranks n is missing for --restart") : 0;
}

const char *jf_options_next(const jf_options *o, int *i, const char **value)
{
  if (*i >= o->script) return NULL;
  const option_given g = read_word(o, *i, MAIN);
  *i += g.n;
  *value = g.value ? g.value : "";
  return g.row ? g.row->name : "";
}

char **jf_options_of_rank(const jf_options *o)
{
  char **argv = calloc((size_t)o->argc + 1, sizeof *argv);
  int n = 0;
  for (int i = 0; argv && i < o->argc;) {
    const option_given g = i && i < o->script ? read_word(o, i, MAIN)
                                              : (option_given){ NULL, NULL, 1 };
    for (int k = 0; k < g.n; k++)
      if (!g.row || g.row->group != RANKS) argv[n++] = o->argv[i + k];
    i += g.n;
  }
  return argv;
}
