/* Statuses and the last error of each thread, in parts. */
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { NAME_MAX_SIZE = 160, TEXT_MAX_SIZE = 1024 };

/* The parts beside the text are names, "" where the error has none. Longer names are cut. */
struct jf_error {
  jfl_status code;
  char name[JFL_ERROR_LINE + 1][NAME_MAX_SIZE];
  char text[TEXT_MAX_SIZE];
};
static _Thread_local jf_error last;

const char *jfl_version(void) { return JFL_VERSION; }

const char *jfl_status_name(jfl_status s)
{
#define X(id, text) text,
  static const char *const name[] = { "ok", JFL_STATUSES(X) };
#undef X
  return (unsigned)s < JFL_N_STATUS ? name[s] : "unknown status";
}

jfl_status jfl_error_code(void) { return last.code; }

const char *jfl_error_part(jfl_part part)
{
  if (part == JFL_ERROR_TEXT) return last.text;
  return (unsigned)part <= JFL_ERROR_LINE && *last.name[part] ? last.name[part] : NULL;
}

/* "job: node: argument text; see line"; the op stands where no node is known. */
const char *jfl_errmsg(void)
{
  static _Thread_local char message[(JFL_ERROR_LINE + 1) * NAME_MAX_SIZE + TEXT_MAX_SIZE];
  const char *job = last.name[JFL_ERROR_JOB], *argument = last.name[JFL_ERROR_ARGUMENT];
  const char *node = last.name[JFL_ERROR_NODE], *step = *node ? node : last.name[JFL_ERROR_OP];
  const char *line = last.name[JFL_ERROR_LINE];
  snprintf(message, sizeof message, "%s%s%s%s%s%s%s%s%s", job, *job ? ": " : "", step,
           *step ? ": " : "", argument, *argument ? " " : "", last.text, *line ? "; see " : "",
           line);
  return message;
}

/* Cuts a text that was longer than its room where a character ends. */
static void status_trim(char *text, size_t size)
{
  size_t n = strlen(text), end = n;
  if (n + 1 < size) return;
  while (end > 0 && n - end < 4 && (text[end - 1] & 0xc0) == 0x80) end--;
  if (end > 0 && (text[end - 1] & 0x80) && !jf_utf8_step(text + end - 1, n - end + 1))
    text[end - 1] = '\0';
}

/* Copies a text that may hold what a file said, made harmless, to room for `size` bytes. */
static void status_copy(char *to, size_t size, const char *text)
{
  jfl_printable(text, strlen(text), to, size);
}

static void status_format(char text[TEXT_MAX_SIZE], const char *fmt, va_list ap)
{
  char raw[TEXT_MAX_SIZE];
  vsnprintf(raw, sizeof raw, fmt, ap);
  status_trim(raw, sizeof raw);
  status_copy(text, TEXT_MAX_SIZE, raw);
}

/* Formats into a second buffer, so that parts of the last error may be among the arguments. */
static jfl_status status_record(jfl_status s, const char *argument, const char *fmt, va_list ap)
{
  jf_error e = { .code = s };
  status_format(e.text, fmt, ap);
  status_copy(e.name[JFL_ERROR_ARGUMENT], NAME_MAX_SIZE, argument);
  last = e;
  return s;
}

void jf_error_clear(void)
{
  last.code = JFL_OK;
  *last.text = '\0';
  for (int i = 0; i <= JFL_ERROR_LINE; i++) *last.name[i] = '\0';
}

jfl_status jf_fail(jfl_status s, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  status_record(s, "", fmt, ap);
  va_end(ap);
  return s;
}

jfl_status jf_fail_argument(jfl_status s, const char *argument, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  status_record(s, argument, fmt, ap);
  va_end(ap);
  return s;
}

/* Appends s, cut to the room that is left. */
static void status_append(char text[TEXT_MAX_SIZE], const char *s)
{
  size_t used = strlen(text), n = strlen(s);
  if (n > TEXT_MAX_SIZE - 1 - used) n = TEXT_MAX_SIZE - 1 - used;
  memcpy(text + used, s, n);
  text[used + n] = '\0';
}

jfl_status jf_blame(jfl_status s, const char *fmt, ...)
{
  char text[TEXT_MAX_SIZE], *argument = last.name[JFL_ERROR_ARGUMENT];
  va_list ap;
  va_start(ap, fmt);
  status_format(text, fmt, ap);
  va_end(ap);
  status_append(text, argument);
  if (*argument) status_append(text, " ");
  status_append(text, last.text);
  memcpy(last.text, text, sizeof text);
  *argument = '\0';
  return s;
}

jfl_status jf_fail_in(jfl_status s, jfl_part part, const char *name)
{
  if (s != JFL_OK && name && !*last.name[part]) status_copy(last.name[part], NAME_MAX_SIZE, name);
  return s;
}

jf_error *jf_error_copy(void)
{
  jf_error *e = jf_new_raw(sizeof *e);
  if (e) *e = last;
  return e;
}

jfl_status jf_error_restore(jfl_status s, const jf_error *e)
{
  if (!e) return jf_fail(s, "out of memory");
  last = *e;
  return s;
}
