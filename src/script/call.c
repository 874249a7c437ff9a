/* Calls of a script's jobs from C, and the delivery of their results. */
#include "script/script.h"
#include "bind/queue.h"

#include <math.h>
#include <string.h>

typedef struct script_call {
  jfl_script_job *job;
  jfl_array *const *in; int n_in;
  jf_prepared prepared;
  jfl_array **results;         /* of one that waits, */
  jfl_script_done done; void *ud;      /* and of one that does not: what is called, or NULL, */
  jfl_request **request;       /* and what takes the request, or NULL */
  jfl_status code;             /* JFL_OK once it was made */
  int n;                       /* calls that were taken back */
} script_call;

/* The end of a public function that makes a call. */
static jfl_status call_left(script_call *c, jfl_status code)
{
  if (code && c->prepared.n_rate) jf_job_recount(c->job);
  jf_prepared_drop(&c->prepared);
  return jf_script_left(c->job->script, code);
}

/* ---- calls that wait ---- */

static int call_l_prepare(lua_State *L)
{
  script_call *c = jf_script_of(L)->arg;
  jf_job_prepare(L, c->job, c->in, c->n_in, &c->prepared);
  return 0;
}

/* Shows values to handlers of Lua, as a call there does. */
static int call_l_watched(lua_State *L)
{
  const script_call *c = jf_script_of(L)->arg;
  const jf_prepared *p = &c->prepared;
  jf_push_host(L, jf_script_of(L), "run_watched");
  luaL_checkstack(L, p->n_in + 16, "too many arguments");
  lua_pushstring(L, c->job->name);
  for (int i = 0; i < p->n_in; i++) {
    jf_larray *b = jf_push_array(L);
    jf_set_array(b, jfl_array_ref(p->in[i]));
    jf_account(L, b);
  }
  lua_call(L, p->n_in + 1, 1);
  for (int i = 0; i < p->n_result; i++) {
    lua_rawgeti(L, 1, i + 1);
    c->results[i] = jfl_array_ref(jf_need_array(L, -1, "run_watched")->array);
    lua_pop(L, 1);
  }
  return 0;
}

static jfl_status call_wait(script_call *c)
{
  jfl_script *s = c->job->script;
  const jf_prepared *p = &c->prepared;
  if (p->watched) return jf_script_enter(s, call_l_watched, c, 0);
  const jfl_status code = jfl_run(p->plan, p->in, c->results);
  return code && jf_script_is_asked(s) ? jf_fail(JFL_ESCRIPT, "interrupted") : code;
}

jfl_status jfl_script_call(jfl_script_job *j, jfl_array *const *in, int n_in, jfl_array **out,
                           int n_out)
{
  JF_NEED_JOB(j);
  JF_NEED_EACH(ARRAY, in, n_in);
  JF_NEED_LIST(out, n_out);
  script_call c = { .job = j, .in = in, .n_in = n_in, .results = out };
  if (n_out) memset(out, 0, (size_t)n_out * sizeof *out);
  jfl_status code = jf_script_enter(j->script, call_l_prepare, &c, 0);
  if (!code && n_out != c.prepared.n_result)
    code = jf_fail_argument(JFL_EINVAL, "n_out", "must be %d, as many results as the job gives, "
                            "got %d", c.prepared.n_result, n_out);
  return call_left(&c, code ? code : call_wait(&c));
}

/* ---- calls that do not ---- */

/* Makes a request as calls of the texts do, and puts it among theirs. What the run takes is the
   host's. */
static int call_l_submit(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  script_call *c = s->arg;
  call_l_prepare(L);
  if (c->prepared.watched) {
    c->code = jf_fail(JFL_ENOSYS, "%s: functions of the script are shown values of this job, so it "
                      "is called by jfl_script_call alone", c->job->name);
    return 0;
  }
  jf_lrequest *r = jf_push_request(L, 1);
  const int at = lua_gettop(L);
  jfl_request **run = jf_push_run(L, at);
  jf_reserve_call(L);
  jf_budget *const own = jf_memory_charge(s->outer);
  c->code = jfl_submit(c->prepared.plan, c->prepared.in, run);
  jf_memory_charge(own);
  if (c->code) return 0;
  if (c->request) *c->request = jfl_request_ref(*run);
  r->done = c->done;
  r->ud = c->ud;
  if (c->done) jf_enqueue(L, at);
  return 0;
}

jfl_status jfl_script_submit(jfl_script_job *j, jfl_array *const *in, int n_in,
                             jfl_script_done done, void *ud, jfl_request **out)
{
  JF_NEED_JOB(j);
  JF_NEED_EACH(ARRAY, in, n_in);
  script_call c = { .job = j, .in = in, .n_in = n_in, .done = done, .ud = ud, .request = out,
                    .code = JFL_ESTATE };
  const jfl_status code = jf_script_enter(j->script, call_l_submit, &c, 0);
  return call_left(&c, c.code && code ? code : c.code);      /* a limit may be met behind it */
}

static int call_l_cancel(lua_State *L)
{
  script_call *c = jf_script_of(L)->arg;
  jf_push_host(L, jf_script_of(L), "cancel");
  lua_pushstring(L, c->job->name);
  lua_call(L, 1, 1);
  c->n = (int)lua_tointeger(L, -1);
  return 0;
}

jfl_status jfl_script_cancel(jfl_script_job *j, int *n)
{
  JF_NEED_JOB(j);
  script_call c = { .job = j };
  const jfl_status code = jf_script_enter(j->script, call_l_cancel, &c, 0);
  if (n) *n = c.n;
  return jf_script_left(j->script, code);
}

/* ---- delivery ---- */

/* Calls a function of jfl.core with two numbers; gives what it does. */
static double call_core(lua_State *L, const char *name, double a, double b)
{
  luaopen_jfl_core(L);
  lua_getfield(L, -1, name);
  lua_pushnumber(L, a);
  lua_pushnumber(L, b);
  lua_call(L, 2, 1);
  const double got = lua_tonumber(L, -1);
  lua_settop(L, 0);
  return got;
}

/* A delivery: of calls up to the last one, until the time is up. */
typedef struct delivery {
  uint64_t last;
  double stop;
  int n;                       /* callbacks that ran */
  jfl_request *run;            /* of the call of C whose callback is next, counted; or NULL */
  jfl_script_done done; void *ud;
} delivery;

static int is_late(const delivery *d) { return d->n && jf_now() >= d->stop; }

/* Whether the oldest call is of C, and its callback may begin. */
static int is_own_due(const jf_queue *q, const delivery *d)
{
  const jf_lrequest *r = q->head;
  return r && r->done && r->number <= d->last && jf_is_over(r) && !is_late(d);
}

/* Runs callbacks of texts that are due and come before the next one of C. Where there is no time
   left, errors that were kept are raised all the same. */
static void deliver_texts(lua_State *L, const jf_queue *q, delivery *d)
{
  const double left = d->stop - jf_now();
  const jf_lrequest *r = q->head;
  uint64_t last = is_late(d) ? 0 : d->last;
  while (r && !r->done) r = r->next;
  if (r && r->number <= last) last = r->number - 1;
  d->n += (int)call_core(L, "poll", left > 0 ? left : 0, (double)last);
}

/* Takes the oldest call out of the queue if it is of C and due, after those of the texts. */
static int call_l_next(lua_State *L)
{
  delivery *d = jf_script_of(L)->arg;
  jf_queue *q = jf_queue_of(L);
  if (!is_own_due(q, d)) deliver_texts(L, q, d);
  if (!is_own_due(q, d)) return 0;
  jf_lrequest *r = q->head;
  jf_push_call(L, q, r);
  jf_dequeue(L, q, r);
  d->run = jf_take_run(L, lua_gettop(L));
  d->done = r->done;
  d->ud = r->ud;
  return 0;
}

/* Runs callbacks in the order of the calls. Those of C run outside of Lua. */
static jfl_status deliver_all(jfl_script *s, delivery *d)
{
  do {
    d->run = NULL;
    JF_TRY(jf_script_enter(s, call_l_next, d, 0));
    if (!d->run) return JFL_OK;
    s->delivering++;
    d->n++;
    d->done(d->ud, d->run);
    jfl_request_unref(d->run);
    s->delivering--;
  } while (!s->freed);
  return JFL_OK;
}

jfl_status jfl_script_poll(jfl_script *s, double seconds, int *delivered)
{
  JF_NEED_SCRIPT(s);
  if (seconds != seconds)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "seconds", "must be a number, got "
                                                   "not-a-number"));
  delivery d = { .last = s->state->queue.calls,
                 .stop = seconds < 0 ? INFINITY : jf_now() + seconds };
  const jfl_status code = s->delivering ? JFL_OK : deliver_all(s, &d);
  if (delivered) *delivered = d.n;
  return jf_script_left(s, code);
}

/* Waits for the oldest call, if that is among the first so many, or for all runs. */
static int call_l_wait(lua_State *L)
{
  const jfl_script *s = jf_script_of(L);
  const uint64_t *last = s->arg;
  const jf_lrequest *r = s->state->queue.head;
  jf_heed_interrupt(L);
  if (!s->state->session) return 0;
  if (!r || r->number > *last) jf_wait_for_all(L);
  else if (!jf_is_over(r)) jf_wait(L, jf_run_of(r), -1);
  return 0;
}

static int call_l_sync(lua_State *L) { return call_core(L, "sync", 0, 0), 0; }

static jfl_status call_sync(jfl_script *s)
{
  const jf_queue *q = &s->state->queue;
  delivery d = { .last = q->calls, .stop = INFINITY };
  while (!s->freed && q->head && q->head->number <= d.last) {
    JF_TRY(jf_script_enter(s, call_l_wait, &d.last, 0));
    JF_TRY(deliver_all(s, &d));
  }
  if (!s->freed) JF_TRY(jf_script_enter(s, call_l_sync, NULL, 0));
  return s->freed ? JFL_OK : jf_script_enter(s, call_l_wait, &d.last, 0);
}

jfl_status jfl_script_sync(jfl_script *s)
{
  JF_NEED_SCRIPT(s);
  return s->delivering ? JFL_OK : jf_script_left(s, call_sync(s));
}

int jfl_script_pending(jfl_script *s)
{
  return jf_script_check(__func__, s) ? 0 : s->state->queue.length;
}

static int call_l_fd(lua_State *L)
{
  return *(int *)jf_script_of(L)->arg = (int)call_core(L, "fd", 0, 0), 0;
}

jfl_status jfl_script_fd(jfl_script *s, int *out)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(out);
  return jf_script_left(s, jf_script_enter(s, call_l_fd, out, 0));
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
