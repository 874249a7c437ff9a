/* Tasks in Lua: saves, readings and settings of variables that take their turn among the runs, and
   whose end is delivered as that of a call is. */
#include "bind/queue.h"

#include <string.h>

/* task(name, class, read | false): stands for a plan where such calls are made. name: what messages
   call it; the rest is as own() says. */
JF_LUA(task)
{
  size_t n;
  const char *name = jf_need_bytes(L, 1, "task", "name", &n);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_settop(L, 3);
  jf_ljob *j = jf_push(L, JF_JOB, sizeof *j + n + 1);
  memcpy(j->name, name, n + 1);
  jf_lplan *p = jf_push(L, JF_PLAN, sizeof *p);
  p->job = j;
  p->is_task = p->owned = 1;
  p->reads = lua_isfunction(L, 3);
  lua_createtable(L, PLAN_SLOTS, 0);
  lua_pushvalue(L, 4);
  lua_rawseti(L, -2, PLAN_JOB);
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, PLAN_CLASS);
  lua_pushvalue(L, 3);
  lua_rawseti(L, -2, PLAN_READ);
  lua_setfenv(L, -2);
  return 1;
}

/* What is asked for: a save where there is a path, a setting where there are values, else a
   reading. */
typedef struct task_wish {
  const char *path;
  int overwrite;
  const jfl_note *notes;
  int n_note;
  const char **names;
  jfl_array **values;
  int n_value;
} task_wish;

static jfl_status task_submit(lua_State *L, const task_wish *w, jfl_request **run)
{
  jfl_session *s = jf_session(L);
  if (w->values) return jfl_variables_set_submit(s, w->names, w->values, w->n_value, run);
  if (!w->path) return jfl_variables_submit(s, run);
  return jfl_checkpoint_submit(s, w->path, w->overwrite, w->notes, w->n_note, run);
}

/* Waits for the oldest call that is made as p says; gives whether there is one. */
static int task_await_room(lua_State *L, const jf_lplan *p)
{
  const jf_lrequest *r = jf_queue_of(L)->head;
  while (r && (r->plan != p || jf_is_over(r))) r = r->next;
  if (r) jf_wait(L, jf_run_of(r), -1);
  return r != NULL;
}

/* Makes the call, whose task is at 1; waits until there is room for it, unless calls never wait. At
   the end of the program, after which nothing may be left, it waits for the call. */
static int task_call(lua_State *L, const task_wish *w)
{
  const jf_queue *q = jf_queue_of(L);
  jf_lrequest *r = jf_push_request(L, 1);
  const int at = lua_gettop(L);
  jfl_request **run = jf_push_run(L, at);
  jfl_status e;
  r->behind = w->path != NULL;
  jf_reserve_call(L);
  do e = task_submit(L, w, run);
  while (e == JFL_EFULL && !q->never_waits && task_await_room(L, r->plan));
  if (e == JFL_EFULL && q->never_waits) {
    lua_pushfstring(L, "%s: busy: no further call has room", r->plan->job->name);
    r->busy = 1;
    jf_refuse(L, at);
  } else {
    jf_check(L, e);
    jf_enqueue(L, at);
    if (q->ending) jf_wait(L, *run, -1);
  }
  lua_settop(L, at);
  return 1;
}

static void task_need(lua_State *L, const char *who)
{
  const jf_lplan *p = jf_test(L, 1, JF_PLAN);
  if (!p || !p->is_task)
    jf_raise(L, "%s: argument 1 must be a task, got %s", who, jf_type_name(L, 1));
}

/* save_behind(task, path, overwrite, keys, values): a request; the lists are those of notes. */
JF_LUA(save_behind)
{
  task_wish w = { 0 };
  task_need(L, "save_behind");
  lua_settop(L, 5);
  w.path = jf_need_string(L, 2, "save", "path");
  w.overwrite = lua_toboolean(L, 3);
  w.notes = jf_push_notes(L, 4, &w.n_note);
  return task_call(L, &w);
}

/* read_behind(task): a request whose value is a table of arrays by the variables' names. */
JF_LUA(read_behind)
{
  task_need(L, "read_behind");
  lua_settop(L, 1);
  return task_call(L, &(task_wish){ 0 });
}

/* set_behind(task, names, arrays, value): a request that sets these variables; in the end it has
   that value. */
JF_LUA(set_behind)
{
  task_wish w = { 0 };
  task_need(L, "set_behind");
  lua_settop(L, 4);
  w.names = jf_push_list(L, 2, "set_behind", "name", &w.n_value);
  w.values = jf_push_arrays(L, 3, "set_behind", w.names, w.n_value);
  task_call(L, &w);
  jf_lrequest *r = lua_touserdata(L, -1);
  lua_pushvalue(L, 4);
  jf_set_slot(L, lua_gettop(L) - 1, REQUEST_READ);
  r->reads = r->is_read = 1;
  return 1;
}
