/* Counts what a script does, and ends it where that is more than it may.

   A hook looks every few instructions, and loops in C count their steps. Both raise an error once a
   limit is passed, and so does allocation of much. That error ends the script, since whatever
   catches errors asks the meter after each one that it has caught, in a C function, and raises it
   anew. All that catches in LuaJIT, and what asks:

       pcall, xpcall            functions in Lua whose results go through l_caught of catch.c
       handlers of xpcall       l_handle of catch.c, which does not run them once a limit is
                                passed: the hook's error comes to them while no hook is called
       coroutine.resume         l_resume of library.c; where nothing is restricted l_caught
       coroutine.wrap           raises again by itself
       load, loadstring         box_l_load of library.c; where nothing is restricted l_caught
       lua_pcall and others     callers here and in src/script raise what they caught again;
                                jf_script_enter and the way back from one state to the other ask
                                (cross.c)
       the front end of a box   catches in order to put things back, and then asks at that border
       finalizers               none of a text: neither newproxy nor ffi.gc is there
       the compiler             is off

   So a script without an end has hooks that look, or steps that are counted, or errors that are
   caught without end. A hook that finds no room on the stack is one of the last kind: its call
   raises an error before the meter is asked. */
#include "box/box.h"

#include <luajit.h>
#include <math.h>
#include <stdio.h>

/* STRIDE: instructions between two looks. GRACE: those that the front end of a box may still run
   when a limit is passed, before it is ended too and after each time that it was: it is ours, so it
   has an end, and puts things back. ROOMY: bytes that are worth a look for room. COLLECTED: bytes
   that are looked at for garbage in the time of one step. */
enum { STRIDE = 100, GRACE = 100000, ROOMY = 1 << 12, COLLECTED = 64 };

jf_meter *jf_meter_of(lua_State *L)
{
  void *meter;
  lua_getallocf(L, &meter);
  return meter;
}

double jf_meter_left(const jf_meter *m)
{
  const int entered = __atomic_load_n(&m->entered, __ATOMIC_RELAXED);
  double deadline;
  if (entered && __atomic_load_n(&m->over, __ATOMIC_RELAXED)) return 0;
  __atomic_load(&m->deadline, &deadline, __ATOMIC_RELAXED);
  return deadline < INFINITY ? deadline - jf_now() : INFINITY;
}

int jf_meter_is_due(void *meter) { return jf_meter_left(meter) <= 0; }

const char *jf_meter_says(const jf_meter *m, char *out, size_t size)
{
  static const char ran[] = "the script was ended: it ran";
  if (m->over == JF_NOT_OVER) return NULL;
  if (m->over == JF_OVER_ASKED) return "interrupted";
  if (m->over == JF_OVER_SECONDS)
    snprintf(out, size, "%s for more than %g s", ran, m->most_seconds);
  else snprintf(out, size, "%s more than %.0f instructions", ran, m->most_instructions);
  return out;
}

/* ---- looking ---- */

int jf_meter_check(jf_meter *m)
{
  m->instructions += m->owed;
  m->owed = 0;
  if (m->over) return 1;
  jf_over over = JF_NOT_OVER;
  if (m->most_instructions > 0 && m->instructions > m->most_instructions)
    over = JF_OVER_INSTRUCTIONS;
  else if (jf_meter_is_due(m))
    over = JF_OVER_SECONDS;
  else if (m->asked && __atomic_load_n(m->asked, __ATOMIC_RELAXED) > 0)
    over = JF_OVER_ASKED;
  if (over) __atomic_store_n(&m->over, over, __ATOMIC_RELAXED);
  return over != JF_NOT_OVER;
}

void jf_meter_stop_in(jf_meter *m, lua_State *L)
{
  char text[80];
  if (!jf_meter_check(m)) return;
  luaL_where(L, 0);
  lua_pushstring(L, jf_meter_says(m, text, sizeof text));
  lua_concat(L, 2);
  lua_error(L);
}

void jf_meter_stop(lua_State *L) { jf_meter_stop_in(jf_meter_of(L), L); }

void jf_meter_charge(lua_State *L, double steps) { jf_meter_step(jf_meter_of(L), L, steps); }

/* The hook of the state in which the script runs. */
static void text_hook(lua_State *L, lua_Debug *ar)
{
  jf_meter *m = jf_meter_of(L);
  (void)ar;
  m->owed += STRIDE;
  jf_meter_stop_in(m, L);
  jf_meter_relieve(m);
}

/* The hook of the state in which the box's front end runs. */
static void front_hook(lua_State *L, lua_Debug *ar)
{
  jf_meter *m = jf_meter_of(L);
  (void)ar;
  m->owed += STRIDE;
  if (jf_meter_check(m) && (m->grace -= STRIDE) < 0) {
    m->grace = GRACE;
    jf_meter_stop_in(m, L);
  }
  jf_meter_relieve(m);
}

void jf_meter_caught(lua_State *L)
{
  jf_meter *m = jf_meter_of(L);
  m->owed += STRIDE;
  if (lua_type(L, -1) == LUA_TSTRING) m->owed += (double)lua_objlen(L, -1) / JF_STEP_BYTES;
  jf_meter_stop_in(m, L);
  jf_meter_relieve(m);
}

/* ---- memory ---- */

static void collect_both(jf_meter *m)
{
  for (int i = 0; i < 2; i++)
    if (m->state[i]) lua_gc(m->state[i], LUA_GCCOLLECT, 0);
  const uint64_t most = jf_budget_most(m->budget), used = jf_budget_used(m->budget);
  const uint64_t least = most / 4 * 3;
  m->relief = (size_t)(used > least ? used + (most - used) / 2 : least);
}

/* With less than a quarter of the memory left garbage is collected, and again when half of what is
   left then is used. */
void jf_meter_relieve(jf_meter *m)
{
  if (jf_budget_most(m->budget) && jf_budget_used(m->budget) >= m->relief) collect_both(m);
}

void jf_meter_make_room(lua_State *L, double bytes)
{
  jf_meter *m = jf_meter_of(L);
  const double most = (double)jf_budget_most(m->budget), used = (double)jf_budget_used(m->budget);
  if (most <= 0 || bytes < ROOMY || used + bytes <= most) return;
  collect_both(m);
  jf_meter_charge(L, used / COLLECTED);
}

/* ---- entries ---- */

void jf_meter_watch(jf_meter *m, lua_State *L, int i)
{
  m->state[i] = L;
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
}

static void look(jf_meter *m, int on)
{
  const lua_Hook front = m->state[1] ? front_hook : text_hook;
  for (int i = 0; i < 2; i++)
    if (m->state[i]) lua_sethook(m->state[i], !on ? NULL : i ? text_hook : front,
                                 on ? LUA_MASKCOUNT : 0, on ? STRIDE : 0);
}

/* From here on there is as much time as an entry has. */
static void meter_renew(jf_meter *m)
{
  double deadline = m->most_seconds > 0 ? jf_now() + m->most_seconds : INFINITY;
  __atomic_store(&m->deadline, &deadline, __ATOMIC_RELAXED);
}

void jf_meter_begin(jf_meter *m)
{
  m->instructions = m->owed = 0;
  m->grace = GRACE;
  m->over = JF_NOT_OVER;
  meter_renew(m);
  __atomic_store_n(&m->entered, 1, __ATOMIC_RELAXED);
  if (!m->relief) m->relief = (size_t)(jf_budget_most(m->budget) / 4 * 3);
  look(m, 1);
}

void jf_meter_end(jf_meter *m)
{
  __atomic_store_n(&m->entered, 0, __ATOMIC_RELAXED);
  meter_renew(m);
  look(m, 0);
}
