/* The lines of earlier sessions: a file that every session appends to. */
#include "cmd/cmd.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How many entries are read, how long an entry may be, and at what size the file is written
   anew. */
enum { MANY = 1000, LONGEST = 1 << 16, LARGEST = 1 << 20 };

static int is_plain(unsigned char c) { return c >= 32 && c != 127 && c != '\\'; }

/* The entry with a newline, escaped; NULL if memory is out. */
static char *history_encode(const char *entry, size_t *n)
{
  char *text = malloc(4 * strlen(entry) + 2), *end = text;
  if (!text)
    return NULL;
  for (const char *s = entry; *s; s++)
    if (is_plain((unsigned char)*s)) *end++ = *s;
    else end += sprintf(end, "\\%03o", (unsigned)(unsigned char)*s);
  *end++ = '\n';
  *n = (size_t)(end - text);
  return text;
}

static int is_octal(const char *s)
{
  return s[0] >= '0' && s[0] <= '3' && strspn(s, "01234567") >= 3;
}

/* Undoes the escapes in place and drops the newline. \000 stays, since it would end the text. */
static void decode(char *line)
{
  char *end = line;
  for (const char *s = line; *s && *s != '\n'; s++) {
    int c = *s == '\\' && is_octal(s + 1) ? (s[1] - '0') * 64 + (s[2] - '0') * 8 + s[3] - '0' : 0;
    *end++ = c ? (char)c : *s;
    if (c) s += 3;
  }
  *end = '\0';
}

/* Reads the last MANY lines of f into a ring; *n is the number of all lines. */
static char **read_lines(FILE *f, size_t *n)
{
  char **line = calloc(MANY, sizeof *line), *text = NULL;
  size_t cap = 0;
  *n = 0;
  for (; line && getline(&text, &cap, f) >= 0; text = NULL, cap = 0) {
    free(line[*n % MANY]);
    line[(*n)++ % MANY] = text;
  }
  free(text);
  return line;
}

static int open_new(const char *path, int flags)
{
  return open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
}

/* Replaces the file by one with these lines; a failure leaves the file as it was. */
static void shorten(const jf_history *h, char *const *line, size_t from, size_t to)
{
  char path[sizeof h->path + 16];
  snprintf(path, sizeof path, "%s.%ld", h->path, (long)getpid());
  int fd = open_new(path, O_EXCL);
  if (fd < 0)
    return;
  int good = 1;
  for (size_t i = from; i < to; i++) {
    size_t n = strlen(line[i % MANY]);
    good &= write(fd, line[i % MANY], n) == (ssize_t)n;
  }
  good &= close(fd) == 0;
  if (!good || rename(path, h->path))
    unlink(path);
}

static void find_path(jf_history *h)
{
  const char *home = getenv("HOME");
  int n = home ? snprintf(h->path, sizeof h->path, "%s/.jfl_history", home) : 0;
  if (n <= 0 || (size_t)n >= sizeof h->path)
    h->path[0] = '\0';
}

void jf_history_open(jf_history *h, int (*add)(const char *entry))
{
  size_t n;
  find_path(h);
  FILE *f = h->path[0] ? fopen(h->path, "re") : NULL;
  if (!f)
    return;
  char **line = read_lines(f, &n);
  size_t from = n > MANY ? n - MANY : 0;
  if (line && ftell(f) > LARGEST)
    shorten(h, line, from, n);
  fclose(f);
  for (size_t i = from; line && i < n; i++) {
    decode(line[i % MANY]);
    if (line[i % MANY][0]) add(line[i % MANY]);
    if (i + 1 == n) h->last = line[i % MANY];
    else free(line[i % MANY]);
  }
  free(line);
}

static void history_append(const jf_history *h, const char *entry)
{
  size_t n = 0;
  int fd = open_new(h->path, O_APPEND | O_NOCTTY | O_NONBLOCK);
  char *text = fd >= 0 ? history_encode(entry, &n) : NULL;
  if (text && write(fd, text, n) != (ssize_t)n) { /* the next session will do without it */ }
  free(text);
  if (fd >= 0)
    close(fd);
}

int jf_history_keep(jf_history *h, const char *entry)
{
  if (h->last && !strcmp(h->last, entry))
    return 0;
  free(h->last);
  h->last = strdup(entry);
  if (h->path[0] && strlen(entry) <= LONGEST)
    history_append(h, entry);
  return 1;
}

void jf_history_close(jf_history *h)
{
  free(h->last);
  h->last = NULL;
}
