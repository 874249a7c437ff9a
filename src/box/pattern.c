/* Lua's patterns (section 5.4.1 of its manual) for texts that nobody trusts: find, match, gmatch
   and gsub. Matching can take a time that grows exponentially; here each step of it is counted by
   the meter, which ends what takes too long. */
#include "box/box.h"

#include <ctype.h>
#include <string.h>

enum { MOST_CAPTURES = 32, DEEPEST = 180, OPEN = -1, POSITION = -2 };
/* Bytes that are looked at in the time of one step: in a set, and compared at once. */
enum { IN_SET = 16, COMPARED = 256 };
static const char magic[] = "^$*+?.([%-";

typedef struct match_state {
  lua_State *L;
  const char *text, *text_end, *pattern_end;
  int level;                   /* captures begun */
  int depth;
  jf_meter *meter;             /* which counts the steps */
  struct { const char *at; ptrdiff_t n; } capture[MOST_CAPTURES];
} match_state;

static const char *match_here(match_state *m, const char *s, const char *p);

static void count_steps(match_state *m, size_t n) { jf_meter_step(m->meter, m->L, (double)n); }

static void count(match_state *m) { count_steps(m, 1); }

/* ---- single characters ---- */

/* The end of the item that begins at p: a character, a class or a set. */
static const char *item_end(match_state *m, const char *p)
{
  const char *end = m->pattern_end, *begin = p;
  if (*p++ == '%') {
    if (p == end) luaL_error(m->L, "malformed pattern (ends with '%%')");
    return p + 1;
  }
  if (p[-1] != '[') return p;
  if (p < end && *p == '^') p++;
  do {                         /* a ] that comes first is one of the set */
    if (p >= end) luaL_error(m->L, "malformed pattern (missing ']')");
    if (*p++ == '%') {
      if (p >= end) luaL_error(m->L, "malformed pattern (missing ']')");
      p++;
    }
  } while (p >= end || *p != ']');
  count_steps(m, (size_t)(p - begin) / IN_SET);
  return p + 1;
}

static int in_class(int c, int letter)
{
  int is;
  switch (tolower(letter)) {
  case 'a': is = isalpha(c); break;
  case 'c': is = iscntrl(c); break;
  case 'd': is = isdigit(c); break;
  case 'g': is = isgraph(c); break;
  case 'l': is = islower(c); break;
  case 'p': is = ispunct(c); break;
  case 's': is = isspace(c); break;
  case 'u': is = isupper(c); break;
  case 'w': is = isalnum(c); break;
  case 'x': is = isxdigit(c); break;
  case 'z': is = c == 0; break;
  default: return letter == c;
  }
  return isupper(letter) ? !is : is != 0;
}

/* Whether c is in the set from p, its '[', to last, its ']'. */
static int in_set(int c, const char *p, const char *last)
{
  const int is = p[1] != '^';
  for (p += is ? 1 : 2; p < last; p++) {
    if (*p == '%') {
      if (in_class(c, (unsigned char)*++p)) return is;
    } else if (p[1] == '-' && p + 2 < last) {
      if ((unsigned char)p[0] <= c && c <= (unsigned char)p[2]) return is;
      p += 2;
    } else if ((unsigned char)*p == c) {
      return is;
    }
  }
  return !is;
}

/* Whether the item p, which ends at `end`, takes the character at s. */
static int takes(match_state *m, const char *s, const char *p, const char *end)
{
  count_steps(m, 1 + (size_t)(end - p) / IN_SET);
  if (s >= m->text_end) return 0;
  const int c = (unsigned char)*s;
  switch (*p) {
  case '.': return 1;
  case '%': return in_class(c, (unsigned char)p[1]);
  case '[': return in_set(c, p, end - 1);
  default: return (unsigned char)*p == c;
  }
}

/* ---- captures and what is no single character ---- */

static const char *match_balanced(match_state *m, const char *s, const char *p)
{
  if (p + 2 > m->pattern_end) luaL_error(m->L, "malformed pattern (missing arguments to '%%b')");
  if (s >= m->text_end || *s != p[0]) return NULL;
  for (int open = 1; ++s < m->text_end;) {
    count(m);
    if (*s == p[1]) {
      if (--open == 0) return s + 1;
    } else if (*s == p[0]) {
      open++;
    }
  }
  return NULL;
}

/* %f[set]: the place where what is in the set begins. */
static const char *match_frontier(match_state *m, const char *s, const char *p)
{
  if (p >= m->pattern_end || *p != '[')
    luaL_error(m->L, "missing '[' after '%%f' in pattern");
  const char *end = item_end(m, p);
  const int before = s == m->text ? 0 : (unsigned char)s[-1];
  const int here = s < m->text_end ? (unsigned char)*s : 0;
  if (in_set(before, p, end - 1) || !in_set(here, p, end - 1)) return NULL;
  return match_here(m, s, end);
}

static const char *match_again(match_state *m, const char *s, int digit)
{
  const int i = digit - '1';
  if (i < 0 || i >= m->level || m->capture[i].n == OPEN)
    luaL_error(m->L, "invalid capture index");
  if (m->capture[i].n == POSITION) return NULL;
  const size_t n = (size_t)m->capture[i].n;
  count_steps(m, n / COMPARED);
  if ((size_t)(m->text_end - s) < n || memcmp(s, m->capture[i].at, n)) return NULL;
  return s + n;
}

static const char *begin_capture(match_state *m, const char *s, const char *p, ptrdiff_t what)
{
  if (m->level >= MOST_CAPTURES) luaL_error(m->L, "too many captures");
  m->capture[m->level].at = s;
  m->capture[m->level++].n = what;
  const char *end = match_here(m, s, p);
  if (!end) m->level--;
  return end;
}

static const char *end_capture(match_state *m, const char *s, const char *p)
{
  int i = m->level - 1;
  while (i >= 0 && m->capture[i].n != OPEN) i--;
  if (i < 0) luaL_error(m->L, "invalid pattern capture");
  m->capture[i].n = s - m->capture[i].at;
  const char *end = match_here(m, s, p);
  if (!end) m->capture[i].n = OPEN;
  return end;
}

/* ---- the matcher ---- */

/* item* and item+: as many as can be, but as few as the rest needs. */
static const char *match_most(match_state *m, const char *s, const char *p, const char *end)
{
  ptrdiff_t n = 0;
  while (takes(m, s + n, p, end)) n++;
  for (; n >= 0; n--) {
    const char *rest = match_here(m, s + n, end + 1);
    if (rest) return rest;
  }
  return NULL;
}

/* item-: as few as the rest needs. */
static const char *match_least(match_state *m, const char *s, const char *p, const char *end)
{
  for (;;) {
    const char *rest = match_here(m, s, end + 1);
    if (rest) return rest;
    if (!takes(m, s, p, end)) return NULL;
    s++;
  }
}

/* An item with what says how often; *next: where to go on without a call, or NULL. */
static const char *match_item(match_state *m, const char *s, const char *p, const char **next)
{
  const char *end = item_end(m, p), *rest;
  const char often = end < m->pattern_end ? *end : 0;
  *next = NULL;
  switch (often) {
  case '*': return match_most(m, s, p, end);
  case '-': return match_least(m, s, p, end);
  case '+': return takes(m, s, p, end) ? match_most(m, s + 1, p, end) : NULL;
  case '?':
    if (takes(m, s, p, end) && (rest = match_here(m, s + 1, end + 1))) return rest;
    *next = end + 1;
    return s;
  default:
    if (!takes(m, s, p, end)) return NULL;
    *next = end;
    return s + 1;
  }
}

/* What begins with % but is no class; *p is moved behind it where matching goes on from there. */
static const char *match_escape(match_state *m, const char *s, const char **p, int *done)
{
  const char kind = *p + 1 < m->pattern_end ? (*p)[1] : 0;
  *done = kind == 'f';
  if (kind == 'f') return match_frontier(m, s, *p + 2);
  s = kind == 'b' ? match_balanced(m, s, *p + 2) : match_again(m, s, kind);
  *p += kind == 'b' ? 4 : 2;
  return s;
}

static int is_escape(const match_state *m, const char *p)
{
  return *p == '%' && p + 1 < m->pattern_end &&
         (p[1] == 'b' || p[1] == 'f' || isdigit((unsigned char)p[1]));
}

/* The end of what matches the pattern from p on at s; NULL: it does not. */
static const char *match_from(match_state *m, const char *s, const char *p)
{
  while (s && p < m->pattern_end) {
    int done;
    count(m);
    if (*p == '(' && p + 1 < m->pattern_end && p[1] == ')')
      return begin_capture(m, s, p + 2, POSITION);
    if (*p == '(') return begin_capture(m, s, p + 1, OPEN);
    if (*p == ')') return end_capture(m, s, p + 1);
    if (*p == '$' && p + 1 == m->pattern_end) return s == m->text_end ? s : NULL;
    if (is_escape(m, p)) {
      s = match_escape(m, s, &p, &done);
      if (done) return s;
      continue;
    }
    const char *next;
    s = match_item(m, s, p, &next);
    if (!next) return s;
    p = next;
  }
  return s;
}

static const char *match_here(match_state *m, const char *s, const char *p)
{
  if (++m->depth > DEEPEST) luaL_error(m->L, "pattern too complex");
  const char *end = match_from(m, s, p);
  m->depth--;
  return end;
}

static const char *try_at(match_state *m, const char *s, const char *p)
{
  m->level = m->depth = 0;
  return match_here(m, s, p);
}

/* ---- what Lua sees ---- */

static void push_bytes(match_state *m, const char *s, size_t n)
{
  count_steps(m, 1 + n / JF_STEP_BYTES);
  lua_pushlstring(m->L, s, n);
}

/* Pushes capture i of a match from s to e, which is the whole match where there are none. */
static void push_capture(match_state *m, int i, const char *s, const char *e)
{
  if (i >= m->level) {
    if (i) luaL_error(m->L, "invalid capture index");
    push_bytes(m, s, (size_t)(e - s));
  } else if (m->capture[i].n == POSITION) {
    lua_pushinteger(m->L, m->capture[i].at - m->text + 1);
  } else {
    if (m->capture[i].n == OPEN) luaL_error(m->L, "unfinished capture");
    push_bytes(m, m->capture[i].at, (size_t)m->capture[i].n);
  }
}

static int push_captures(match_state *m, const char *s, const char *e, int whole)
{
  const int n = m->level == 0 && whole ? 1 : m->level;
  luaL_checkstack(m->L, n, "too many captures");
  for (int i = 0; i < n; i++) push_capture(m, i, s, e);
  return n;
}

static match_state match_over(lua_State *L, int text, int pattern, const char **p)
{
  size_t n, n_pattern;
  match_state m = { .L = L, .text = luaL_checklstring(L, text, &n), .meter = jf_meter_of(L) };
  *p = luaL_checklstring(L, pattern, &n_pattern);
  m.text_end = m.text + n;
  m.pattern_end = *p + n_pattern;
  return m;
}

/* Where `find` begins: init counts from 1, or from the end where it is negative. */
static size_t first_of(lua_State *L, int i, size_t n)
{
  const lua_Number init = luaL_optnumber(L, i, 1);
  if (init > (lua_Number)n) return n;
  if (init >= 1) return (size_t)init - 1;
  if (init < 0 && -init <= (lua_Number)n) return n - (size_t)-init;
  return 0;
}

static int has_magic(match_state *m, const char *p)
{
  const char *const begin = p;
  while (p < m->pattern_end && !(*p && strchr(magic, *p))) p++;
  count_steps(m, (size_t)(p - begin) / IN_SET);
  return p < m->pattern_end;
}

/* Where the n bytes at p are first from s on; NULL: nowhere. */
static const char *find_bytes(match_state *m, const char *s, const char *p, size_t n)
{
  if (n == 0) return s;
  for (const char *at; (size_t)(m->text_end - s) >= n; s = at + 1) {
    const size_t left = (size_t)(m->text_end - s) - n + 1;
    at = memchr(s, *p, left);
    count_steps(m, 1 + ((at ? (size_t)(at - s) : left) + n) / COMPARED);
    if (!at || !memcmp(at, p, n)) return at;
  }
  return NULL;
}

static int find_plain(match_state *m, const char *s, const char *p)
{
  const size_t n = (size_t)(m->pattern_end - p);
  const char *at = find_bytes(m, s, p, n);
  if (!at) return lua_pushnil(m->L), 1;
  lua_pushinteger(m->L, at - m->text + 1);
  lua_pushinteger(m->L, at - m->text + (ptrdiff_t)n);
  return 2;
}

static int find_or_match(lua_State *L, int find)
{
  const char *p, *e;
  match_state m = match_over(L, 1, 2, &p);
  const char *s = m.text + first_of(L, 3, (size_t)(m.text_end - m.text));
  if (find && (lua_toboolean(L, 4) || !has_magic(&m, p))) return find_plain(&m, s, p);
  const int anchored = p < m.pattern_end && *p == '^';
  do {
    if (!(e = try_at(&m, s, p + anchored))) continue;
    if (!find) return push_captures(&m, s, e, 1);
    lua_pushinteger(L, s - m.text + 1);
    lua_pushinteger(L, e - m.text);
    return push_captures(&m, s, e, 0) + 2;
  } while (s++ < m.text_end && !anchored);
  return lua_pushnil(L), 1;
}

static int l_find(lua_State *L) { return find_or_match(L, 1); }
static int l_match(lua_State *L) { return find_or_match(L, 0); }

/* The iterator; its upvalues are text, pattern and where to go on. */
static int gmatch_next(lua_State *L)
{
  const char *p, *e;
  match_state m = match_over(L, lua_upvalueindex(1), lua_upvalueindex(2), &p);
  const char *s = m.text + (size_t)lua_tonumber(L, lua_upvalueindex(3));
  for (; s <= m.text_end; s++) {
    if (!(e = try_at(&m, s, p))) continue;
    lua_pushnumber(L, (lua_Number)(e - m.text + (e == s)));
    lua_replace(L, lua_upvalueindex(3));
    return push_captures(&m, s, e, 1);
  }
  lua_pushnumber(L, (lua_Number)(m.text_end - m.text + 1));
  lua_replace(L, lua_upvalueindex(3));
  return 0;
}

static int l_gmatch(lua_State *L)
{
  luaL_checkstring(L, 1);
  luaL_checkstring(L, 2);
  lua_settop(L, 2);
  lua_pushinteger(L, 0);
  lua_pushcclosure(L, gmatch_next, 3);
  return 1;
}

static void add_bytes(match_state *m, luaL_Buffer *b, const char *text, size_t n)
{
  count_steps(m, 1 + n / JF_STEP_BYTES);
  luaL_addlstring(b, text, n);
}

/* Adds the replacement text at 3 with its %0 to %9. */
static void add_text(match_state *m, luaL_Buffer *b, const char *s, const char *e)
{
  size_t n;
  const char *text = lua_tolstring(m->L, 3, &n), *const end = text + n;
  for (const char *p; (p = memchr(text, '%', (size_t)(end - text))) && p + 1 < end; text = p + 2) {
    add_bytes(m, b, text, (size_t)(p - text));
    if (p[1] == '0') {
      add_bytes(m, b, s, (size_t)(e - s));
    } else if (isdigit((unsigned char)p[1])) {
      push_capture(m, p[1] - '1', s, e);
      lua_tostring(m->L, -1);
      luaL_addvalue(b);
    } else {
      add_bytes(m, b, p + 1, 1);
    }
  }
  add_bytes(m, b, text, (size_t)(end - text));
}

static int l_index(lua_State *L)
{
  lua_gettable(L, 1);
  return 1;
}

/* Leaves on the stack what the table or function at 3 gives for a match. */
static void push_replacement(match_state *m, const char *s, const char *e)
{
  lua_State *L = m->L;
  if (lua_istable(L, 3)) {
    lua_pushcfunction(L, l_index);
    lua_pushvalue(L, 3);
    push_capture(m, 0, s, e);
    jf_box_call(L, 2, 1);
  } else {
    lua_pushvalue(L, 3);
    jf_box_call(L, push_captures(m, s, e, 1), 1);
  }
  if (!lua_toboolean(L, -1)) {
    lua_pop(L, 1);
    push_bytes(m, s, (size_t)(e - s));
  } else if (!lua_isstring(L, -1)) {
    luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
  }
  count_steps(m, lua_objlen(L, -1) / JF_STEP_BYTES);
}

/* The pieces of the result are in the table at 5, so that calls nest without their buffers. */
static void gsub_add(match_state *m, int *pieces, const char *s, const char *e)
{
  lua_State *L = m->L;
  if (lua_type(L, 3) == LUA_TSTRING || lua_type(L, 3) == LUA_TNUMBER) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    add_text(m, &b, s, e);
    luaL_pushresult(&b);
  } else {
    push_replacement(m, s, e);
  }
  lua_rawseti(L, 5, ++*pieces);
}

static void gsub_keep(match_state *m, int *pieces, const char *from, const char *to)
{
  if (from == to) return;
  push_bytes(m, from, (size_t)(to - from));
  lua_rawseti(m->L, 5, ++*pieces);
}

static int l_gsub(lua_State *L)
{
  const char *p, *e;
  int pieces = 0;
  lua_Number n = 0;
  lua_settop(L, 4);
  const int kind = lua_type(L, 3);
  luaL_argcheck(L, kind == LUA_TSTRING || kind == LUA_TNUMBER || kind == LUA_TTABLE ||
                kind == LUA_TFUNCTION, 3, "string/function/table expected");
  if (kind == LUA_TNUMBER) lua_tostring(L, 3);
  match_state m = match_over(L, 1, 2, &p);
  const lua_Number most = luaL_optnumber(L, 4, (lua_Number)(m.text_end - m.text) + 1);
  const int anchored = p < m.pattern_end && *p == '^';
  const char *s = m.text, *kept = s;
  lua_newtable(L);
  while (n < most) {
    if ((e = try_at(&m, s, p + anchored))) {
      gsub_keep(&m, &pieces, kept, s);
      gsub_add(&m, &pieces, s, e);
      kept = e;
      n++;
    }
    if (e && e > s) s = e;
    else if (s++ >= m.text_end) break;
    if (anchored) break;
  }
  gsub_keep(&m, &pieces, kept, m.text_end);
  /* Pushes the pieces as one text. */
  lua_pushvalue(L, lua_upvalueindex(1));
  lua_pushvalue(L, 5);
  lua_call(L, 1, 1);
  lua_pushnumber(L, n);
  return 2;
}

const luaL_Reg jf_pattern_functions[] = {
  { "find", l_find }, { "match", l_match }, { "gmatch", l_gmatch }, { "gsub", l_gsub },
  { NULL, NULL }
};
