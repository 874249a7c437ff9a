/* Reading and writing JSON text. */
#ifndef JF_JSON_H
#define JF_JSON_H

#include "base/base.h"

/* A pull reader over n bytes that need no terminator. Strings are decoded in place, so the text is
   overwritten, and what they give lives as long as it. Errors are JFL_EDATA and name the byte,
   counted from the start of the file that the text stands in. */
typedef struct jf_json {
  char *start, *at, *end;
  size_t looked;               /* how far it was when the time of a script was looked at */
  size_t origin;               /* where the text starts in its file */
  int fresh;                   /* a container was just entered */
  int zeros;                   /* strings may hold zero bytes, as set by whoever reads */
  size_t length;               /* of the string that was read last */
} jf_json;
void jf_json_open(jf_json *j, char *text, size_t n, size_t origin);
/* The byte of the file that is read next. */
size_t jf_json_where(const jf_json *j);
/* The character that the next value begins with, 0 at the end. */
jfl_status jf_json_peek(jf_json *j, char *out);
/* Enters the object or array that `open`, '{' or '[', begins. */
jfl_status jf_json_enter(jf_json *j, char open);
/* Moves to the next element of the container that `close` ends; *more is 0 once it ended. */
jfl_status jf_json_next(jf_json *j, char close, int *more);
/* A member's name and its colon. */
jfl_status jf_json_key(jf_json *j, const char **out);
/* Refuses \u0000, as a name is a C string, unless j->zeros is set. */
jfl_status jf_json_string(jf_json *j, const char **out);
jfl_status jf_json_whole(jf_json *j, uint64_t *out);
/* Any number, as the nearest double. */
jfl_status jf_json_double(jf_json *j, double *out);
/* Skips any value. */
jfl_status jf_json_skip(jf_json *j);
/* Only blanks may be left. */
jfl_status jf_json_end(jf_json *j);
/* Appends s as a JSON string; s is UTF-8. */
void jf_json_put(jf_text *t, const char *s);

#endif
