/* The jobs that texts have defined, as C sees them: by their names, so that one which is defined
   anew stays the same. What Lua knows of them is asked of jfl.job.host. */
#include "script/script.h"

#include <string.h>

void jf_push_host(lua_State *L, jfl_script *s, const char *name)
{
  if (!s->host) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "jfl.job.host");
    lua_call(L, 1, 1);
    s->host = luaL_ref(L, LUA_REGISTRYINDEX);
  }
  lua_rawgeti(L, LUA_REGISTRYINDEX, s->host);
  lua_getfield(L, -1, name);
  lua_remove(L, -2);
}

/* Reads the extents of a table at i. */
static void job_read_shape(lua_State *L, int i, jfl_shape *out)
{
  *out = (jfl_shape){ .n = (int)lua_objlen(L, i) };
  for (int k = 0; k < out->n && k < JFL_MAXDIM; k++) {
    lua_rawgeti(L, i, k + 1);
    out->d[k] = (int64_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
}

/* ---- finding them ---- */

static int job_l_count(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  jf_push_host(L, s, "count");
  lua_call(L, 0, 1);
  *(int *)s->arg = (int)lua_tointeger(L, -1);
  return 0;
}

int jfl_script_jobs(jfl_script *s)
{
  int n = 0;
  if (jf_script_check(__func__, s)) return 0;
  return jf_script_left(s, jf_script_enter(s, job_l_count, &n, 0)) ? 0 : n;
}

/* The handle of a job of that name, made at its first use. */
static jfl_status job_handle(jfl_script *s, const char *name, jfl_script_job **out)
{
  jfl_script_job *j = s->jobs;
  while (j && strcmp(j->name, name)) j = j->next;
  if (!j) {
    const size_t n = strlen(name) + 1;
    if (!(j = jf_new(sizeof *j + n))) return jf_fail(JFL_ENOMEM, "out of memory for a job");
    *j = (jfl_script_job){ JF_TAG_SCRIPT_JOB, s, s->jobs };
    memcpy(j->name, name, n);
    s->jobs = j;
  }
  *out = j;
  return JFL_OK;
}

typedef struct job_sought {
  const char *name;            /* or NULL: the i-th */
  int i;
  jfl_script_job **out;
  jfl_status got;
} job_sought;

static int job_l_find(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  job_sought *c = s->arg;
  jf_push_host(L, s, c->name ? "check" : "name_of");
  if (c->name) lua_pushstring(L, c->name);
  else lua_pushinteger(L, c->i);
  lua_call(L, 1, 1);
  c->got = job_handle(s, c->name ? c->name : lua_tostring(L, -1), c->out);
  return 0;
}

static jfl_status job_seek(const char *function, jfl_script *s, job_sought c)
{
  JF_TRY(jf_need_pointer(function, "out", c.out));
  const jfl_status code = jf_script_enter(s, job_l_find, &c, 0);
  return jf_script_left(s, jf_need_told(function, code ? code : c.got));
}

jfl_status jfl_script_job_at(jfl_script *s, int i, jfl_script_job **out)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_BELOW(i, jfl_script_jobs(s));
  return job_seek(__func__, s, (job_sought){ .i = i, .out = out });
}

jfl_status jfl_script_job_find(jfl_script *s, const char *name, jfl_script_job **out)
{
  JF_NEED_SCRIPT(s);
  JF_NEED_POINTER(name);
  const jfl_status code = job_seek(__func__, s, (job_sought){ .name = name, .out = out });
  return code == JFL_ESCRIPT ? jf_fail(JFL_ENAME, "%s", jfl_error_part(JFL_ERROR_TEXT)) : code;
}

const char *jfl_script_job_name(const jfl_script_job *j)
{
  return JF_IS(SCRIPT_JOB, j) ? j->name : NULL;
}

/* ---- what they are ---- */

jfl_status jf_job_check(const char *function, const jfl_script_job *j)
{
  JF_TRY(jf_need(function, "j", j, JF_TAG_SCRIPT_JOB));
  return jf_script_check(function, j->script);
}

typedef struct job_asked {
  jfl_script_job *job;
  int i; int64_t rows;
  int trains, n_in, n_out;
  int n;                       /* how many there are of those of which the i-th is asked for */
  jfl_plan *plan;
  const char *name; jfl_dtype dtype; jfl_shape shape;
} job_asked;

/* Calls a function of jfl.job.host with the job's name and the number on top. */
static void job_call(lua_State *L, jfl_script *s, const job_asked *c, const char *name, int n)
{
  jf_push_host(L, s, name);
  lua_pushstring(L, c->job->name);
  lua_pushnumber(L, (double)(c->rows ? c->rows : c->i));
  lua_call(L, 2, n);
}

static void job_take_plan(lua_State *L, job_asked *c)
{
  c->plan = jf_need_plan(L, -2, "plan")->plan;
  c->n_out = (int)lua_tointeger(L, -1);
}

static int job_l_about(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  job_asked *c = s->arg;
  job_call(L, s, c, "about", 2);
  c->trains = lua_toboolean(L, -2);
  c->n_in = (int)lua_tointeger(L, -1);
  if (!c->rows) return 0;
  job_call(L, s, c, "plan", 2);
  job_take_plan(L, c);
  return 0;
}

static jfl_status job_ask(const char *function, job_asked *c, lua_CFunction entry)
{
  const jfl_status code = jf_script_enter(c->job->script, entry, c, 0);
  return jf_script_left(c->job->script, jf_need_told(function, code));
}

jfl_status jfl_script_job_about(jfl_script_job *j, jfl_mode *mode, int *n_in, int *n_out)
{
  JF_NEED_JOB(j);
  JF_NEED_POINTERS(mode, n_in);
  job_asked c = { .job = j, .rows = n_out ? 1 : 0 };
  JF_TRY(job_ask(__func__, &c, job_l_about));
  *mode = c.trains ? JFL_TRAIN : JFL_PREDICT;
  *n_in = c.n_in;
  if (n_out) *n_out = c.n_out;
  return JFL_OK;
}

static int job_l_plan(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  job_asked *c = s->arg;
  job_call(L, s, c, "plan", 2);
  job_take_plan(L, c);
  return 0;
}

jfl_status jfl_script_job_plan(jfl_script_job *j, int64_t rows, jfl_plan **out)
{
  JF_NEED_JOB(j);
  JF_NEED_BELOW(rows, (int64_t)1 << 47);
  JF_NEED_POINTER(out);
  job_asked c = { .job = j, .rows = rows ? rows : 1 };
  JF_TRY(job_ask(__func__, &c, job_l_plan));
  *out = c.plan;
  return JFL_OK;
}

/* ---- their arguments and results ---- */

/* Asks a function of jfl.job.host for an argument's name, dtype and shape. */
static int job_take_input(lua_State *L, const char *ask)
{
  jfl_script *s = jf_script_of(L);
  job_asked *c = s->arg;
  job_call(L, s, c, "about", 2);
  c->n = (int)lua_tointeger(L, -1);
  if (c->i < 0 || c->i >= c->n) return 0;
  job_call(L, s, c, ask, 3);
  c->name = lua_tostring(L, -3);
  c->dtype = jf_need_dtype(L, lua_gettop(L) - 1, "input");
  job_read_shape(L, lua_gettop(L), &c->shape);
  return 0;
}

static int job_l_input(lua_State *L) { return job_take_input(L, "input"); }
static int job_l_bound(lua_State *L) { return job_take_input(L, "bound"); }

static int job_l_output(lua_State *L)
{
  const jfl_shape *shape;
  const char *node;
  jfl_script *s = jf_script_of(L);
  job_asked *c = s->arg;
  const int i = c->i;
  c->rows = 1;
  job_call(L, s, c, "plan", 2);
  job_take_plan(L, c);
  c->n = c->n_out;
  if (i < 0 || i >= c->n) return 0;
  jf_check(L, jfl_plan_output(c->plan, i, &node, &c->dtype, &shape));
  c->shape = *shape;
  c->rows = 0;
  job_call(L, s, c, "result_name", 1);
  c->name = lua_tostring(L, -1);
  return 0;
}

/* Where a public function writes what it tells of an argument or a result. */
typedef struct job_place { const char **name; jfl_dtype *t; jfl_shape *shape; } job_place;

static jfl_status job_tell(const char *function, jfl_script_job *j, int i, lua_CFunction entry,
                           job_place out)
{
  job_asked c = { .job = j, .i = i };
  JF_TRY(jf_job_check(function, j));
  JF_TRY(jf_need_pointer(function, "name", out.name));
  JF_TRY(jf_need_pointer(function, "t", out.t));
  JF_TRY(jf_need_pointer(function, "shape", out.shape));
  JF_TRY(job_ask(function, &c, entry));
  JF_TRY(jf_need_below(function, "i", i, c.n));
  *out.name = c.name;
  *out.t = c.dtype;
  *out.shape = c.shape;
  return JFL_OK;
}

jfl_status jfl_script_job_input(jfl_script_job *j, int i, const char **name, jfl_dtype *t,
                                jfl_shape *shape)
{
  return job_tell(__func__, j, i, job_l_input, (job_place){ name, t, shape });
}

jfl_status jfl_script_job_bound(jfl_script_job *j, int i, jfl_shape *shape)
{
  const char *name;
  jfl_dtype t;
  return job_tell(__func__, j, i, job_l_bound, (job_place){ &name, &t, shape });
}

jfl_status jfl_script_job_output(jfl_script_job *j, int i, const char **name, jfl_dtype *t,
                                 jfl_shape *shape)
{
  return job_tell(__func__, j, i, job_l_output, (job_place){ name, t, shape });
}

/* ---- what a call runs ---- */

/* Of the arguments only the shapes go to Lua, which a job needs whose extents vary. */
void jf_job_prepare(lua_State *L, const jfl_script_job *j, jfl_array *const *in, int n_in,
                    jf_prepared *p)
{
  luaL_checkstack(L, n_in + 16, "too many arguments");
  jf_push_host(L, jf_script_of(L), "prepare");
  lua_pushstring(L, j->name);
  for (int i = 0; i < n_in; i++) jf_push_shape(L, jfl_array_shape(in[i]));
  lua_call(L, n_in + 1, LUA_MULTRET);
  p->plan = jf_need_plan(L, 1, "prepare")->plan;
  p->n_result = (int)lua_tointeger(L, 2);
  p->watched = lua_toboolean(L, 3);
  p->n_rate = lua_gettop(L) - 3;
  p->n_in = n_in + p->n_rate;
  if (!(p->in = jf_new((size_t)p->n_in * sizeof *p->in))) luaL_error(L, "not enough memory");
  for (int i = 0; i < n_in; i++) p->in[i] = in[i];
  for (int i = 0; i < p->n_rate; i++)
    p->in[n_in + i] = jfl_array_ref(((jf_larray *)lua_touserdata(L, i + 4))->array);
}

void jf_prepared_drop(jf_prepared *p)
{
  if (!p->in) return;
  for (int i = p->n_in - p->n_rate; i < p->n_in; i++) jfl_array_unref(p->in[i]);
  jf_free(p->in);
}

static int job_l_recount(lua_State *L)
{
  jfl_script *s = jf_script_of(L);
  jf_push_host(L, s, "recount");
  lua_pushstring(L, ((const jfl_script_job *)s->arg)->name);
  lua_call(L, 1, 0);
  return 0;
}

void jf_job_recount(jfl_script_job *j)
{
  jf_error *e = jf_error_copy();
  jf_script_enter(j->script, job_l_recount, j, 0);
  jf_error_restore(JFL_OK, e);
  jf_free(e);
}
