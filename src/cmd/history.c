/* The lines of earlier sessions: a file that every session appends to. */
#include "cmd/cmd.h"
#include "jfl.h"
#include "system/system.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
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

/* ---- the file ---- */

/* Opens the file, or gives -1; *refused becomes 1 where there is something that cannot be used. It
   must be a regular file of the user: anything else might block, or belong to somebody else. Others
   lose the right to read it. A device, such as /dev/null, is how a user turns the history off. */
static int history_fd(const char *path, int flags, int *refused)
{
  struct stat st;
  int fd = open(path, flags | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
  *refused = fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != EACCES;
  if (fd < 0) return -1;
  int known = !fstat(fd, &st), own = known && S_ISREG(st.st_mode) && st.st_uid == geteuid();
  if (own && (!(st.st_mode & 077) || !fchmod(fd, st.st_mode & 0700))) return fd;
  *refused = !known || !S_ISCHR(st.st_mode);
  close(fd);
  return -1;
}

enum { PATIENCE = 50 };          /* times 2 ms: how long another session may hold the lock */

/* Locks the file against other sessions, for a moment at most: a line that is lost is better than a
   session that hangs. */
static void lock(int fd)
{
  for (int i = 0; i < PATIENCE && flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK; i++)
    poll(NULL, 0, 2);
}

/* Whether the file at fd is still the one at that path, which another session may have replaced. */
static int is_current(int fd, const char *path)
{
  struct stat here, there;
  return !fstat(fd, &here) && !stat(path, &there) && here.st_ino == there.st_ino &&
         here.st_dev == there.st_dev;
}

/* Opens the file to append to it, locked. */
static int open_locked(const char *path)
{
  int refused;
  for (int i = 0; i < 3; i++) {
    int fd = history_fd(path, O_RDWR | O_CREAT | O_APPEND, &refused);
    if (fd < 0) return -1;
    lock(fd);
    if (is_current(fd, path)) return fd;
    close(fd);
  }
  return -1;
}

static int write_lines(jfl_output *to, char *const *line, size_t from, size_t n)
{
  for (size_t i = from; i < n; i++)
    if (jfl_output_write(to, line[i % MANY], strlen(line[i % MANY]))) return -1;
  return 0;
}

/* Replaces the file, which is locked, by one with these lines; a failure leaves it as it was. A
   link to it stays. */
static void shorten(const jf_history *h, char *const *line, size_t from, size_t n)
{
  jfl_output *to;
  if (jfl_output_open(h->path, &to)) return;
  if (write_lines(to, line, from, n)) jfl_output_drop(to);
  else if (jfl_output_keep(to)) { /* a later session will try again */ }
}

static void find_path(jf_history *h)
{
  const char *home = getenv("HOME");
  int n = home ? snprintf(h->path, sizeof h->path, "%s/.jfl_history", home) : 0;
  if (n <= 0 || (size_t)n >= sizeof h->path)
    h->path[0] = '\0';
}

/* Opens the history's file to be read; NULL where there is none. */
static FILE *history_file(jf_history *h)
{
  int refused = 0, fd = h->path[0] ? history_fd(h->path, O_RDONLY, &refused) : -1;
  if (refused) {
    fprintf(stderr, "jfl: history: %s must be a file of your own; lines are not kept\n", h->path);
    h->path[0] = '\0';
  }
  if (fd < 0) return NULL;
  lock(fd);
  return fdopen(fd, "r");
}

void jf_history_open(jf_history *h, int (*add)(const char *entry))
{
  size_t n;
  find_path(h);
  FILE *f = history_file(h);
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

/* Whether the file ends within a line, as a session leaves it that ended while it wrote. */
static int ends_in_a_line(int fd, off_t size)
{
  char last = '\n';
  return size > 0 && pread(fd, &last, 1, size - 1) == 1 && last != '\n';
}

/* Adds a line to the file, whole or not at all. */
static void history_add(int fd, const char *text, size_t n)
{
  struct stat st;
  if (fstat(fd, &st)) return;
  const int bad = (ends_in_a_line(fd, st.st_size) && jf_write_all(fd, "\n", 1)) ||
                  jf_write_all(fd, text, n);
  if (bad && ftruncate(fd, st.st_size)) { /* the next session ends the line */ }
}

int jf_history_keep(jf_history *h, const char *entry)
{
  if (h->last && !strcmp(h->last, entry))
    return 0;
  free(h->last);
  h->last = strdup(entry);
  if (!h->path[0] || strlen(entry) > LONGEST) return 1;
  size_t n = 0;
  const int fd = open_locked(h->path);
  char *text = fd >= 0 ? history_encode(entry, &n) : NULL;
  if (text) history_add(fd, text, n);
  free(text);
  if (fd >= 0) close(fd);
  return 1;
}

void jf_history_close(jf_history *h)
{
  free(h->last);
  h->last = NULL;
}
