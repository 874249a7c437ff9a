/* The keys of the editor: characters, pasted texts, completion. */
#include "cmd/reader.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { FAST = 16 };

int jf_add_byte(line_reader *r, int c)
{
  if (r->n_line == r->cap_line) {
    size_t cap = r->cap_line ? 2 * r->cap_line : 256;
    char *line = realloc(r->line, cap);
    if (!line)
      return 0;
    r->line = line;
    r->cap_line = cap;
  }
  r->line[r->n_line++] = (char)c;
  return 1;
}

/* How many bytes wait to be read. More than a few were pasted, not typed. */
static int waiting(void)
{
  int n = 0;
  return ioctl(STDIN_FILENO, FIONREAD, &n) ? 0 : n;
}

/* Reads a character of UTF-8 into text and ends it there; 0 at the end. A byte that begins another
   one stays to be read. */
static int next_character(line_reader *r, char text[LONGEST_KEY + 1])
{
  int n = 0, c = r->kept ? r->kept : jf_next_byte(r);
  int more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
  r->kept = 0;
  if (c < 0) return 0;
  text[n++] = (char)c;
  while (n <= more && (c = jf_next_byte(r)) >= 0 && (c & 0xc0) == 0x80) text[n++] = (char)c;
  if (n <= more && c > 0) r->kept = c;
  text[n] = '\0';
  return c >= 0;
}

/* Its code point, or that of a question mark in a box where it is none. */
static int code_of(const char *text)
{
  int c = (unsigned char)text[0], n = 0;
  while ((text[n + 1] & 0xc0) == 0x80) n++;
  if (c < 0x80 && n == 0) return c;
  if (n == 0 || n > 3 || c >> (6 - n) != (0xff >> (6 - n) & ~1)) return 0xfffd;
  c &= 0x3f >> n;
  for (int i = 1; i <= n; i++) c = c << 6 | (text[i] & 0x3f);
  return c;
}

/* Whether a character belongs to a sequence that begins with escape. */
static int in_sequence(line_reader *r, char c)
{
  int was = r->escape, opens = c == '[' || c == 'O';
  r->escape = c == 27 || (was == 1 && opens) || (was == 2 && !(c >= 64 && c < 127));
  if (r->escape && c != 27) r->escape = 2;
  return was || r->escape;
}

static int is_text(const char *key) { return (unsigned char)key[0] >= ' ' && key[0] != 127; }

/* Adds a character of a pasted text to the line in r. Ends of lines come as carriage returns; other
   control characters would move the terminal's cursor. */
static int add_pasted(line_reader *r, const char *text)
{
  static const char unknown[] = "\357\277\275";
  if (*text == '\r') text = "\n";
  if ((unsigned char)*text < ' ' && *text != '\n' && *text != '\t') return 1;
  if (*text == 127) return 1;
  for (const char *s = code_of(text) == 0xfffd ? unknown : text; *s; s++)
    if (!jf_add_byte(r, (unsigned char)*s)) return 0;
  return 1;
}

/* Reads a pasted text up to its end into the line in r; 0 where it does not come. Its last
   character, an escape, stays if memory runs out. */
static int read_paste(line_reader *r)
{
  static const char end[] = PASTE_ENDS;
  char key[LONGEST_KEY + 1];
  size_t seen = 0;                 /* characters of `end` */
  int after_return = 0;
  r->n_line = 0;
  while (end[seen]) {
    if (!next_character(r, key)) return 0;
    if (key[0] == end[seen] && !key[1]) {
      seen++;
      continue;
    }
    for (size_t i = 1; i < seen; i++)
      if (!jf_add_byte(r, end[i])) return 0;
    seen = key[0] == end[0];
    if (!seen && !(after_return && key[0] == '\n') && !add_pasted(r, key)) return 0;
    after_return = key[0] == '\r';
  }
  return jf_add_byte(r, '\0');
}

/* Inserts a pasted text. Where it ends a line, that is entered, so that all of it is one input. */
static unsigned char insert_paste(EditLine *at, int key)
{
  line_reader *r = jf_reading;
  (void)key;
  if (!read_paste(r)) return r->given_up || r->ended ? CC_EOF : CC_ERROR;
  size_t n = r->n_line - 1;
  int enter = n > 0 && r->line[n - 1] == '\n';
  while (n > 0 && r->line[n - 1] == '\n') n--;
  r->line[n] = '\0';
  if (n && r->edit.insert(at, r->line)) return CC_ERROR;
  r->held = enter ? '\r' : 0;
  return CC_REFRESH;
}

/* The key that stands for a pasted piece: a control character that no keyboard sends. */
enum { PIECE_KEY = 0x80 };

static unsigned char insert_piece(EditLine *at, int key)
{
  line_reader *r = jf_reading;
  (void)key;
  int wrong = r->piece[0] && r->edit.insert(at, r->piece);
  r->piece[0] = '\0';
  return wrong ? CC_ERROR : CC_REFRESH;
}

/* The editor's next key. It draws the line for each, so of a text that is pasted it gets all but
   the last character in one piece. A pasted tab does not ask for completion. */
static int next_key(EditLine *at, wchar_t *out)
{
  line_reader *r = jf_reading;
  char key[LONGEST_KEY + 1];
  size_t n = 0;
  (void)at;
  for (*out = r->held; !r->held;) {
    if (!next_character(r, key)) return 0;
    *out = (wchar_t)code_of(key);
    if (in_sequence(r, key[0])) break;
    if (key[0] == '\t' && waiting()) *out = key[0] = ' ';
    if (!is_text(key) || n >= PASTED || waiting() < FAST) break;
    memcpy(r->piece + n, key, strlen(key));
    n += strlen(key);
  }
  r->held = n ? *out : 0;
  r->piece[n] = '\0';
  if (n) *out = PIECE_KEY;
  return 1;
}

/* ---- completion ---- */

/* Pushes the results of complete(before): what to insert, and a list of what could follow, which is
   "" where only one thing could. */
static int ask(line_reader *r)
{
  const line_info *line = r->edit.line(r->edit.at);
  lua_settop(r->L, DELIVER);
  if (!lua_isfunction(r->L, COMPLETE))
    return 0;
  lua_pushvalue(r->L, COMPLETE);
  lua_pushlstring(r->L, line->buffer, (size_t)(line->cursor - line->buffer));
  lua_pushinteger(r->L, jf_line_columns());
  return jf_line_call(r, 2, 2) && lua_isstring(r->L, -1) && lua_isstring(r->L, -2);
}

static unsigned char line_complete(EditLine *at, int key)
{
  line_reader *r = jf_reading;
  (void)key;
  if (!ask(r))
    return CC_ERROR;
  const char *rest = lua_tostring(r->L, -2), *list = lua_tostring(r->L, -1);
  if (*rest)
    return r->edit.insert(at, rest) ? CC_ERROR : CC_REFRESH;
  if (!*list)
    return CC_ERROR;
  printf("\n%s\n", list);
  fflush(stdout);
  return CC_REDISPLAY;
}

void jf_bind_keys(editor *e)
{
  e->set(e->at, EL_GETCFN, next_key);
  e->set(e->at, EL_EDITOR, "emacs");
  e->set(e->at, EL_ADDFN, "jfl-complete", "Complete a name", line_complete);
  e->set(e->at, EL_ADDFN, "jfl-insert", "Insert a pasted piece", insert_piece);
  e->set(e->at, EL_ADDFN, "jfl-paste", "Insert a pasted text", insert_paste);
  e->source(e->at, NULL);
  e->set(e->at, EL_BIND, "^I", "jfl-complete", NULL);
  e->set(e->at, EL_BIND, "\\200", "jfl-insert", NULL);
  e->set(e->at, EL_BIND, PASTE_BEGINS, "jfl-paste", NULL);
  e->set(e->at, EL_BIND, "^R", "em-inc-search-prev", NULL);
  e->set(e->at, EL_BIND, "\33[3~", "ed-delete-next-char", NULL);
  e->set(e->at, EL_BIND, "\33[1;5C", "em-next-word", NULL);
  e->set(e->at, EL_BIND, "\33[1;5D", "ed-prev-word", NULL);
}
