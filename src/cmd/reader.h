/* What the files that read lines share: the editor, and the reader's state. They call each other
   downwards: line.c, keys.c, waiting.c. */
#ifndef JF_READER_H
#define JF_READER_H

#include <lauxlib.h>
#include <signal.h>
#include <stdio.h>
#include <wchar.h>

#include "cmd/cmd.h"

/* The part of libedit's own interface that is used, and its constants. `at` is NULL without it. */
typedef struct EditLine EditLine;
typedef struct History History;
typedef struct { const char *buffer, *cursor, *lastchar; } line_info;
typedef struct { int number; const char *text; } history_event;

enum {
  EL_EDITOR = 2, EL_SIGNAL = 3, EL_BIND = 4, EL_ADDFN = 9, EL_HIST = 10,
  EL_GETCFN = 13, EL_PREP_TERM = 16, EL_REFRESH = 20,
  EL_PROMPT_ESC = 21
};
enum { H_SETSIZE = 1, H_ENTER = 10 };
enum { CC_EOF = 2, CC_REFRESH = 4, CC_ERROR = 6, CC_REDISPLAY = 8 };

typedef struct editor {
  EditLine *at;
  History *past;
  EditLine *(*open)(const char *program, FILE *in, FILE *out, FILE *err);
  void (*close)(EditLine *at), (*resize)(EditLine *at);
  const char *(*gets)(EditLine *at, int *n);
  int (*set)(EditLine *at, int what, ...), (*source)(EditLine *at, const char *path);
  const line_info *(*line)(EditLine *at);
  int (*insert)(EditLine *at, const char *text);
  History *(*history_open)(void);
  void (*history_close)(History *past);
  int (*history)(History *past, history_event *event, int what, ...);
} editor;

enum { LONGEST_KEY = 4, PASTED = 4096 };

/* The reader's state, a userdata: whatever Lua raises, the line is freed with it. */
typedef struct line_reader {
  editor edit;
  jf_history history;
  char *line;
  size_t n_line, cap_line;
  lua_State *L;                /* of the call under way */
  const char *prompt;
  char painted[64];            /* the prompt as the terminal gets it */
  int fd;                      /* of callbacks, or -1 */
  int given_up, ended;         /* ended: by this signal */
  int escape;                  /* how far in a sequence such as that of an arrow key */
  int kept;                    /* a byte that was read too early, or 0 */
  int brackets, colours;       /* whether the terminal may be asked for these */
  char piece[PASTED + LONGEST_KEY + 1];
  wchar_t held;                /* the key after the piece, or 0 */
  sigset_t handled, before;    /* blocked while reading; the mask before that */
} line_reader;

/* Arguments of read() on the Lua stack. */
enum { PROMPT = 1, COMPLETE, FD, DELIVER };

/* The reader of the line being edited: the editor's hooks have no argument for it. */
extern line_reader *jf_reading;

/* ---- waiting.c ---- */

enum { JF_N_SIGNALS = 5 };

/* The signals that are handled while a line is read. */
void jf_list_signals(sigset_t *out);
/* Puts our handlers in the place of those that are there, which are given, and back. */
void jf_take_over(line_reader *r, struct sigaction *theirs);
void jf_hand_back(const line_reader *r, const struct sigaction *theirs);
/* Calls a Lua function with the signals unblocked, so that Ctrl-C interrupts it. Its errors are
   dropped. */
int jf_line_call(line_reader *r, int n_arg, int n_result);
int jf_line_columns(void);
/* Whether the terminal can do no more than print. */
int jf_is_dumb(void);
/* The next byte of standard input; -1 at its end, or when the line was given up. */
int jf_next_byte(line_reader *r);

/* ---- keys.c ---- */

/* Terminals that are asked to send these around a text that is pasted. */
#define PASTE_BEGINS "\33[200~"
#define PASTE_ENDS "\33[201~"
#define PASTE_ON "\33[?2004h"
#define PASTE_OFF "\33[?2004l"

/* Adds a byte to the line in r; 0 if memory runs out. */
int jf_add_byte(line_reader *r, int c);
void jf_bind_keys(editor *e);

#endif
