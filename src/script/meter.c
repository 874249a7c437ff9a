/* Counts what a script does, and ends it where that is more than it may. A hook looks every few
   instructions; once a limit is passed it raises its error at each further instruction, so that no
   pcall keeps the script alive. Allocation, and loops in C, look at the clock too. */
#include "script/script.h"

#include <luajit.h>
#include <math.h>
#include <stdio.h>
#include <time.h>

enum { STRIDE = 100 };             /* instructions between two looks */

static double meter_now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

jf_meter *jf_meter_of(lua_State *L)
{
  void *script;
  lua_getallocf(L, &script);
  return &((jfl_script *)script)->meter;
}

int jf_meter_is_due(void *meter)
{
  const jf_meter *m = meter;
  return m->deadline < INFINITY && meter_now() > m->deadline;
}

const char *jf_meter_says(const jf_meter *m, char *out, size_t size)
{
  if (m->over == JF_NOT_OVER) return NULL;
  if (m->over == JF_OVER_SECONDS) snprintf(out, size, "ran for more than %g s", m->most_seconds);
  else snprintf(out, size, "ran more than %.0f instructions", m->most_instructions);
  return out;
}

static void meter_hook(lua_State *L, lua_Debug *ar);

static void look_every(jf_meter *m, int instructions)
{
  for (int i = 0; i < 2; i++)
    if (m->state[i]) lua_sethook(m->state[i], instructions ? meter_hook : NULL,
                                 instructions ? LUA_MASKCOUNT : 0, instructions);
}

int jf_meter_check(jf_meter *m)
{
  if (m->over) return 1;
  if (m->most_instructions > 0 && m->instructions > m->most_instructions)
    m->over = JF_OVER_INSTRUCTIONS;
  else if (jf_meter_is_due(m))
    m->over = JF_OVER_SECONDS;
  if (m->over) look_every(m, 1);
  return m->over != JF_NOT_OVER;
}

static void raise_limit(lua_State *L, const jf_meter *m)
{
  char text[80];
  jf_meter_says(m, text, sizeof text);
  luaL_where(L, 0);
  lua_pushfstring(L, "the script was ended: it %s", text);
  lua_concat(L, 2);
  lua_error(L);
}

static void meter_hook(lua_State *L, lua_Debug *ar)
{
  jf_meter *m = jf_meter_of(L);
  (void)ar;
  m->instructions += STRIDE;
  if (jf_meter_check(m)) raise_limit(L, m);
  jf_meter_relieve(m);
}

void jf_meter_charge(lua_State *L, double instructions)
{
  jf_meter *m = jf_meter_of(L);
  m->instructions += instructions;
  if (jf_meter_check(m)) raise_limit(L, m);
}

void jf_meter_stop(lua_State *L) { jf_meter_charge(L, 0); }

/* With less than a quarter of the memory left garbage is collected, and again when half of what is
   left then is used. */
void jf_meter_relieve(jf_meter *m)
{
  const uint64_t most = jf_budget_most(m->budget);
  if (!most || jf_budget_used(m->budget) < m->relief) return;
  for (int i = 0; i < 2; i++)
    if (m->state[i]) lua_gc(m->state[i], LUA_GCCOLLECT, 0);
  const uint64_t used = jf_budget_used(m->budget), least = most / 4 * 3;
  m->relief = (size_t)(used > least ? used + (most - used) / 2 : least);
}

void jf_meter_watch(jf_meter *m, lua_State *L, int i)
{
  m->state[i] = L;
  luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
}

void jf_meter_begin(jf_meter *m)
{
  m->instructions = 0;
  m->over = JF_NOT_OVER;
  m->deadline = m->most_seconds > 0 ? meter_now() + m->most_seconds : INFINITY;
  m->relief = (size_t)(jf_budget_most(m->budget) / 4 * 3);
  look_every(m, STRIDE);
}

void jf_meter_end(jf_meter *m)
{
  m->deadline = INFINITY;
  look_every(m, 0);
}
