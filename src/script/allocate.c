/* The memory of a script's states. */
#include "script/script.h"

#include <lualib.h>
#include <stdlib.h>
#include <string.h>

/* The host's allocator has no realloc, and what shrinks must not fail: so it stays as it is. */
static void *allocate_move(void *p, size_t old_size, size_t size)
{
  if (p && size && size <= old_size) return p;
  void *q = size ? jf_new_raw(size) : NULL;
  if (size && !q) return NULL;
  if (p && q) memcpy(q, p, old_size);
  jf_free(p);
  return q;
}

/* LuaJIT harms itself where memory runs out while it makes a state, and cannot close a state in
   which it ran out while ffi was made. So what both take lies in one block, which stays as long as
   the script. */
enum { EARLY = 48 << 10, EARLY_ALIGN = 16 };
struct jf_early {
  struct jf_early *next;
  size_t used;
  int open;                    /* a state is being made */
  _Alignas(EARLY_ALIGN) char room[EARLY];
};

static int allocate_is_early(const jfl_script *s, const void *p)
{
  const uintptr_t at = (uintptr_t)p;
  for (const struct jf_early *e = s->early; e; e = e->next)
    if (at >= (uintptr_t)e->room && at < (uintptr_t)e->room + EARLY) return 1;
  return 0;
}

static void *allocate_early(struct jf_early *e, size_t size)
{
  const size_t at = e->used;
  size = (size + EARLY_ALIGN - 1) & ~(size_t)(EARLY_ALIGN - 1);
  if (size > EARLY - at) return NULL;
  e->used = at + size;
  return e->room + at;
}

static void *allocate_resize(jfl_script *s, void *p, size_t old_size, size_t size)
{
  const int is_early = p && allocate_is_early(s, p);
  void *q = NULL;
  if (is_early && size <= old_size) return size ? p : NULL;
  if (size && (is_early || !p) && s->early && s->early->open)
    q = allocate_early(s->early, size);
  if (!q && !is_early) {
    if (s->hosted) return allocate_move(p, old_size, size);
    if (size) return realloc(p, size);
    return free(p), NULL;
  }
  if (!q) q = s->hosted ? jf_new_raw(size) : malloc(size);
  if (q && p) memcpy(q, p, old_size);
  return q;
}

/* The host's allocator counts what the thread takes, as the caller has done by then. */
static void *allocate_uncounted(jfl_script *s, void *p, size_t old_size, size_t size)
{
  jf_budget *const before = jf_memory_charge(NULL);
  void *q = allocate_resize(s, p, old_size, size);
  jf_memory_charge(before);
  return q;
}

/* LuaJIT 2.1.0-beta3 writes behind the end of a stack where a metamethod takes `...` and its caller
   fills the stack (issue 1048: LJ_STACK_EXTRA is a slot too small). So what may be a stack has room
   behind it. No stack has fewer slots than LEAST_STACK. */
enum { SLOT = 8, LEAST_STACK = 40, BEHIND_STACK = 8 };

static size_t with_room(size_t size)
{
  return size < LEAST_STACK * SLOT ? size : size + BEHIND_STACK * SLOT;
}

enum { LONG_WORK = 1 << 16 };      /* bytes whose filling may take a while */

/* Lua's allocator, which counts. What asks for much looks at the clock, as its caller may be a loop
   in which no hook is called. */
static void *allocate(void *ud, void *p, size_t old_size, size_t size)
{
  jfl_script *s = jf_script_with(ud);
  jf_budget *const budget = s->meter.budget;
  old_size = p ? with_room(old_size) : 0;
  size = with_room(size);
  const size_t more = size > old_size ? size - old_size : 0;
  if (more > LONG_WORK && jf_meter_check(&s->meter)) return NULL;
  if (!jf_budget_take(budget, more)) return NULL;
  void *q = s->hosted ? allocate_uncounted(s, p, old_size, size)
                      : allocate_resize(s, p, old_size, size);
  if (size && !q) jf_budget_give(budget, more);
  else if (size < old_size) jf_budget_give(budget, old_size - size);
  return q;
}

/* Makes ffi, for which require looks in the table that is made here. */
static int open_ffi(lua_State *L)
{
  lua_newtable(L);
  lua_setfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_pushcfunction(L, luaopen_ffi);
  lua_call(L, 0, 0);
  return 0;
}

lua_State *jf_script_new_state(jfl_script *s)
{
  jf_budget *const budget = s->meter.budget;
  if (!jf_budget_take(budget, EARLY)) return NULL;
  jf_budget_give(budget, EARLY);
  struct jf_early *e = jf_new_raw(sizeof *e);
  if (!e) return NULL;
  e->used = 0;
  e->open = 1;
  e->next = s->early;
  s->early = e;
  lua_State *L = lua_newstate(allocate, &s->meter);
  if (L) lua_cpcall(L, open_ffi, NULL);
  e->open = 0;
  return L;
}

void jf_script_free_early(jfl_script *s)
{
  for (struct jf_early *e = s->early, *next; e; e = next) {
    next = e->next;
    jf_free(e);
  }
}
