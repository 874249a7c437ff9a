/* Calls of a script's jobs from C, and the delivery of their results. */
#include "script/script.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- calls that wait ---- */

typedef struct watched_call {
  const char *job;
  const jf_prepared *p;
  jfl_array **out;
} watched_call;

/* Shows values to handlers of Lua, as a call there does. */
static int call_l_watched(lua_State *L)
{
  const watched_call *c = jf_script_of(L)->arg;
  jf_push_host(L, jf_script_of(L), "run_watched");
  luaL_checkstack(L, c->p->n_in + 16, "too many arguments");
  lua_pushstring(L, c->job);
  for (int i = 0; i < c->p->n_in; i++) {
    jf_larray *b = jf_push_array(L);
    jf_set_array(b, jfl_array_ref(c->p->in[i]));
    jf_account(L, b);
  }
  lua_call(L, c->p->n_in + 1, 1);
  for (int i = 0; i < c->p->n_result; i++) {
    lua_rawgeti(L, 1, i + 1);
    c->out[i] = jfl_array_ref(jf_need_array(L, -1, "run_watched")->array);
    lua_pop(L, 1);
  }
  return 0;
}

static jfl_status call_wait(const jfl_script_job *j, const jf_prepared *p, jfl_array **out)
{
  jfl_script *s = j->script;
  watched_call c = { j->name, p, out };
  if (p->watched) return jf_script_enter(s, call_l_watched, &c, 0);
  const jfl_status code = jfl_run(p->plan, p->in, out);
  return code && jf_script_is_asked(s) ? jf_fail(JFL_ESCRIPT, "interrupted") : code;
}

jfl_status jfl_script_call(jfl_script_job *j, jfl_array *const *in, int n_in, jfl_array **out,
                           int n_out)
{
  JF_NEED_JOB(j);
  JF_NEED_EACH(ARRAY, in, n_in);
  JF_NEED_LIST(out, n_out);
  jf_prepared p;
  if (n_out) memset(out, 0, (size_t)n_out * sizeof *out);
  jfl_status code = jf_job_prepare(j, in, n_in, &p);
  if (!code && n_out != p.n_result)
    code = jf_fail_argument(JFL_EINVAL, "n_out", "must be %d, as many results as the job gives, "
                            "got %d", p.n_result, n_out);
  if (!code) code = call_wait(j, &p, out);
  if (code && p.n_rate) jf_job_recount(j);
  jf_prepared_drop(&p);
  return jf_script_left(j->script, code);
}

/* ---- calls that do not ---- */

static jfl_status call_submit(jfl_script_job *j, const jf_prepared *p, jfl_request **out)
{
  if (!p->watched) return jfl_submit(p->plan, p->in, out);
  return jf_fail(JFL_ENOSYS, "%s: functions of the script are shown values of this job, so it is "
                 "called by jfl_script_call alone", j->name);
}

static void call_append(jfl_script *s, jf_pending *p)
{
  p->number = ++s->state->queue.calls;
  if (s->tail) s->tail->next = p;
  else s->head = p;
  s->tail = p;
}

jfl_status jfl_script_submit(jfl_script_job *j, jfl_array *const *in, int n_in,
                             jfl_script_done done, void *ud, jfl_request **out)
{
  JF_NEED_JOB(j);
  JF_NEED_EACH(ARRAY, in, n_in);
  jf_prepared p;
  jfl_request *request = NULL;
  jf_pending *node = jf_new(sizeof *node);
  if (!node) return jf_fail(JFL_ENOMEM, "out of memory for a call");
  jfl_status code = jf_job_prepare(j, in, n_in, &p);
  if (!code) code = call_submit(j, &p, &request);
  if (code && p.n_rate) jf_job_recount(j);
  jf_prepared_drop(&p);
  if (!code && out) *out = jfl_request_ref(request);
  if (!code && done) {
    *node = (jf_pending){ .request = request, .job = j, .done = done, .ud = ud };
    call_append(j->script, node);
  } else {
    jfl_request_unref(request);
    jf_free(node);
  }
  return jf_script_left(j->script, code);
}

typedef struct cancel_call { const char *job; int n; } cancel_call;

static int call_l_cancel(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  cancel_call *c = s->arg;
  jf_push_host(L, s, "cancel");
  lua_pushstring(L, c->job);
  lua_call(L, 1, 1);
  c->n += (int)lua_tointeger(L, -1);
  return 0;
}

jfl_status jfl_script_cancel(jfl_script_job *j, int *n)
{
  JF_NEED_JOB(j);
  jfl_script *s = j->script;
  cancel_call c = { .job = j->name };
  for (const jf_pending *p = s->head; p; p = p->next) {
    int cancelled = 0;
    if (p->job != j || jfl_request_done(p->request)) continue;
    JF_TRY(jfl_request_cancel(p->request, &cancelled));
    c.n += cancelled;
  }
  const jfl_status code = jf_script_enter(s, call_l_cancel, &c, 0);
  if (n) *n = c.n;
  return jf_script_left(s, code);
}

/* ---- delivery ---- */

/* Runs the oldest callback of C. */
static void deliver_own(jfl_script *s)
{
  jf_pending *p = s->head;
  s->delivering++;
  s->head = p->next;
  if (!s->head) s->tail = NULL;
  p->done(p->ud, p->request);
  jfl_request_unref(p->request);
  jf_free(p);
  s->delivering--;
}

/* Calls a function of jfl.core with a number, and that of the last call that counts; gives what it
   does. */
typedef struct queue_call { const char *name; double seconds, last, got; } queue_call;

static int call_l_queue(lua_State *L)
{
  queue_call *c = jf_script_of(L)->arg;
  luaopen_jfl_core(L);
  lua_getfield(L, -1, c->name);
  lua_pushnumber(L, c->seconds);
  lua_pushnumber(L, c->last);
  lua_call(L, 2, 1);
  c->got = lua_tonumber(L, -1);
  return 0;
}

/* The oldest call of texts, or NULL. */
static const jf_lrequest *text_head(const jfl_script *s) { return s->state->queue.head; }

static int is_own_first(const jfl_script *s)
{
  return s->head && (!text_head(s) || s->head->number < text_head(s)->number);
}

/* The number of the oldest call whose callback has not run; 0: there is none. */
static uint64_t first_number(const jfl_script *s)
{
  return is_own_first(s) ? s->head->number : text_head(s) ? text_head(s)->number : 0;
}

/* Runs callbacks of texts that are due and come before the next one of C; gives how many. */
static jfl_status deliver_texts(jfl_script *s, uint64_t last, double seconds, int *n)
{
  queue_call c = { .name = "poll", .seconds = seconds > 0 ? seconds : 0, .last = (double)last };
  if (s->head && s->head->number <= last) c.last = (double)(s->head->number - 1);
  const jfl_status code = jf_script_enter(s, call_l_queue, &c, 0);
  *n = (int)c.got;
  return code;
}

/* Runs callbacks that are due and belong to calls up to `last`, in the order of the calls, until
   the time is up; counts them. Those of C run outside of Lua. */
static jfl_status deliver_in_turn(jfl_script *s, uint64_t last, double stop, int *n)
{
  for (int own = 1; !s->freed && (own || is_own_first(s)) && (!*n || jf_now() < stop);) {
    int some = 1;
    own = is_own_first(s);
    if (!own) JF_TRY(deliver_texts(s, last, stop - jf_now(), &some));
    else if (s->head->number > last || !jfl_request_done(s->head->request)) break;
    else deliver_own(s);
    *n += some;
  }
  return JFL_OK;
}

jfl_status jfl_script_poll(jfl_script *s, double seconds, int *delivered)
{
  JF_NEED_SCRIPT(s);
  if (seconds != seconds)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "seconds", "must be a number, got "
                                                   "not-a-number"));
  jfl_status code = JFL_OK;
  int n = 0;
  if (!s->delivering) {
    const double stop = seconds < 0 ? INFINITY : jf_now() + seconds;
    code = deliver_in_turn(s, s->state->queue.calls, stop, &n);
    int none;                  /* but an error that was kept, and the descriptor */
    if (!code && !s->freed) code = deliver_texts(s, 0, 0, &none);
  }
  if (delivered) *delivered = n;
  return jf_script_left(s, code);
}

/* Waits for the oldest call, if that is among the first so many, or for all runs. */
static int call_l_wait(lua_State *L)
{
  const jfl_script *s = jf_script_of(L);
  const uint64_t *last = s->arg;
  const jfl_request *run = is_own_first(s) ? s->head->request
                           : text_head(s)  ? jf_run_of(text_head(s)) : NULL;
  jf_heed_interrupt(L);
  if (!s->state->session) return 0;
  if (!first_number(s) || first_number(s) > *last) jf_wait_for_all(L);
  else if (run && !jfl_request_done(run)) jf_wait(L, run, -1);
  return 0;
}

static jfl_status call_sync(jfl_script *s, uint64_t last)
{
  queue_call c = { .name = "sync" };
  int n = 0;
  while (!s->freed && s->head && s->head->number <= last) {
    const uint64_t before = first_number(s);
    JF_TRY(jf_script_enter(s, call_l_wait, &last, 0));
    JF_TRY(deliver_in_turn(s, last, INFINITY, &n));
    if (!s->freed && first_number(s) == before) break;      /* a callback of the texts runs */
  }
  if (!s->freed) JF_TRY(jf_script_enter(s, call_l_queue, &c, 0));
  return s->freed ? JFL_OK : jf_script_enter(s, call_l_wait, &last, 0);
}

jfl_status jfl_script_sync(jfl_script *s)
{
  JF_NEED_SCRIPT(s);
  return s->delivering ? JFL_OK : jf_script_left(s, call_sync(s, s->state->queue.calls));
}

int jfl_script_pending(jfl_script *s)
{
  int n = 0;
  if (jf_script_check(__func__, s)) return 0;
  for (const jf_pending *p = s->head; p; p = p->next) n++;
  for (const jf_lrequest *r = s->state->queue.head; r; r = r->next) n++;
  return n;
}

jfl_status jfl_script_fd(jfl_script *s, int *out)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(out);
  queue_call c = { .name = "fd" };
  const jfl_status code = jf_script_enter(s, call_l_queue, &c, 0);
  if (!code) s->watched = 1;
  if (!code) *out = (int)c.got;
  return jf_script_left(s, code);
}

/* ---- checkpoints ---- */

typedef struct path_call { const char *name, *path; int flag; } path_call;

/* (f, ...): calls a function of jfl.core as the host does, whose files are not those of the texts.
   It must run none of these. */
static int call_l_outside(lua_State *L)
{
  jf_budget *const own = jf_memory_charge(jf_script_of(L)->outer);
  const int status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  jf_memory_charge(own);
  return status ? lua_error(L) : lua_gettop(L);
}

static int call_l_path(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  const path_call *c = s->arg;
  jf_push_host(L, s, c->name);
  lua_pushstring(L, c->path);
  lua_pushboolean(L, c->flag);
  lua_pushlightuserdata(L, s->state);
  lua_pushlightuserdata(L, s);
  lua_pushcclosure(L, call_l_outside, 2);
  lua_call(L, 3, 0);
  return 0;
}

jfl_status jfl_script_save(jfl_script *s, const char *path, int overwrite)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(path);
  path_call c = { "save", path, overwrite != 0 };
  return jf_script_left(s, jf_script_enter(s, call_l_path, &c, 0));
}

jfl_status jfl_script_load(jfl_script *s, const char *path, int strict)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(path);
  path_call c = { "load", path, strict != 0 };
  return jf_script_left(s, jf_script_enter(s, call_l_path, &c, 0));
}
