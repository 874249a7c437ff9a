/* Scripts: Lua texts that a C program runs. */
#include "base/base.h"
#include "jfl.h"
#include "lua_test.h"
#include "scratch.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static jfl_script *open_script(void)
{
  jfl_script *s = NULL;
  CHECK_MSG(!jfl_script_new(NULL, &s), "%s", jfl_errmsg());
  return s;
}

static jfl_status run(jfl_script *s, const char *text)
{
  return jfl_script_run(s, text, strlen(text), "=test");
}

static int says(const char *part) { return strstr(jfl_errmsg(), part) != NULL; }

/* ---- texts ---- */

static const char trains[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "flow.random.seed(1)\n"
  "train = flow.global_function {\n"
  "  name = 'train', type = 'train',\n"
  "  inputs = { { 'x', tp.Numpy.Placeholder({ 4, 2 }) },\n"
  "    { 'y', tp.Numpy.Placeholder({ 4, 1 }) } },\n"
  "  returns = tp.Numpy,\n"
  "  body = function(x, y)\n"
  "    local loss = flow.math.squared_difference(flow.layers.dense(x, 1, { name = 'line' }), y)\n"
  "    flow.optimizer.SGD(0.1):minimize(loss)\n"
  "    return loss\n"
  "  end,\n"
  "}\n"
  "local x, y = { { 0, 0 }, { 0, 1 }, { 1, 0 }, { 1, 1 } }, { { 1 }, { 3 }, { 2 }, { 4 } }\n"
  "for _ = 1, 500 do train(x, y) end\n"
  "assert(train(x, y):mean() < 1e-3)\n";

static void runs_a_text_that_trains(void)
{
  jfl_script *s = open_script();
  jfl_session *session;
  jfl_array *bias;
  CHECK_MSG(!run(s, trains), "%s", jfl_errmsg());
  CHECK(!jfl_script_session(s, &session));
  CHECK_MSG(!jfl_variable_get(session, "line-bias", &bias), "%s", jfl_errmsg());
  const double v = jfl_number_get(JFL_F32, jfl_array_data(bias), 0);
  CHECK_MSG(v > 0.9 && v < 1.1, "%g", v);
  jfl_array_unref(bias);
  jfl_script_free(s);
}

static void tells_what_failed(void)
{
  jfl_script *s = open_script();
  CHECK(run(s, "x = = 1") == JFL_ESCRIPT && says("test:1:"));
  CHECK(run(s, "local function f() error('oh') end f()") == JFL_ESCRIPT && says("test:1: oh"));
  CHECK_MSG(strstr(jfl_script_traceback(s), "stack traceback"), "%s", jfl_script_traceback(s));
  CHECK(jfl_script_run_file(s, "no/such/file.lua") == JFL_EIO);
  CHECK_MSG(strstr(jfl_script_traceback(s), "no/such/file.lua: cannot be opened"), "%s",
            jfl_script_traceback(s));
  CHECK(run(s, "error({})") == JFL_ESCRIPT && says("table"));
  CHECK(run(s, "error()") == JFL_ESCRIPT && says("nil"));
  CHECK(run(s, "\33LJ\2") == JFL_ESCRIPT && says("bytecode"));
  CHECK(run(s, "require('jfl').train.CheckPoint():load('/nowhere')") == JFL_EIO);
  CHECK(says("test:1:") && says("/nowhere"));
  CHECK(run(s, "os.exit(3)") == JFL_ESCRIPT && says("os.exit"));
  CHECK(jfl_script_run_file(s, "/nowhere.lua") == JFL_EIO && says("/nowhere.lua"));
  CHECK(!run(s, "y = 1"));
  jfl_script_free(s);
}

static void runs_a_file(void)
{
  char path[4200];
  jfl_script *s = open_script();
  jfl_script_value v;
  snprintf(path, sizeof path, "%s/a.lua", scratch);
  FILE *file = fopen(path, "w");
  fputs("#!/usr/bin/jfl\nx = 5\nfunction fails() error('oh') end\n", file);
  fclose(file);
  CHECK_MSG(!jfl_script_run_file(s, path), "%s", jfl_errmsg());
  CHECK(!jfl_script_get(s, "x", &v) && v.number == 5);
  CHECK(jfl_script_invoke(s, "fails", NULL, 0, NULL, 0) == JFL_ESCRIPT && says("a.lua:3: oh"));
  jfl_script_free(s);
}

static void print_to(void *ud, const char *text, size_t n)
{
  strncat(ud, text, n);
}

static void prints_to_the_program(void)
{
  char printed[64] = "";
  jfl_script *s;
  CHECK(!jfl_script_new(&(jfl_script_options){ .size = sizeof(jfl_script_options),
                                               .print = print_to, .ud = printed }, &s));
  CHECK(!run(s, "print(1, 'two', nil) print()"));
  CHECK_MSG(!strcmp(printed, "1\ttwo\tnil\n\n"), "%s", printed);
  jfl_script_free(s);
}

static void ends_where_memory_does(void)
{
  jfl_script *s;
  CHECK(!jfl_script_new(&(jfl_script_options){ .size = sizeof(jfl_script_options),
                                               .memory = 16 << 20 }, &s));
  CHECK(!run(s, "jit.on() assert(not jit.status())"));
  for (int i = 0; i < 3; i++) {
    CHECK(run(s, "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(i) end") == JFL_ENOMEM);
    CHECK_MSG(!run(s, "y = ('x'):rep(1000)"), "%s", jfl_errmsg());
  }
  jfl_script_free(s);
  for (uint64_t least = 1; least < 4 << 20; least *= 3) {
    const jfl_script_options few = { .size = sizeof few, .memory = least };
    if (!jfl_script_new(&few, &s)) jfl_script_free(s);
    else CHECK_MSG(jfl_error_code() == JFL_ENOMEM, "%s", jfl_errmsg());
  }
}

/* ---- values ---- */

static const char functions[] =
  "score, rates = 7, { hidden = 0.5 }\n"
  "function add(a, b) return a + b, 'sum', a > b end\n"
  "function double(array) return array * 2 end\n"
  "function fails() error('on purpose') end\n"
  "function host(x) return ask(x, 'why', nil) end\n";

static jfl_script_value number(double v)
{
  return (jfl_script_value){ .kind = JFL_SCRIPT_NUMBER, .number = v };
}

static void gets_and_sets_variables(void)
{
  jfl_script *s = open_script();
  jfl_script_value v, text = { .kind = JFL_SCRIPT_TEXT, .text = "fog", .n_text = 2 };
  CHECK(!run(s, functions));
  CHECK(!jfl_script_get(s, "score", &v) && v.kind == JFL_SCRIPT_NUMBER && v.number == 7);
  CHECK(!jfl_script_get(s, "rates.hidden", &v) && v.number == 0.5);
  CHECK(!jfl_script_get(s, "rates.none", &v) && v.kind == JFL_SCRIPT_NIL);
  CHECK(!jfl_script_get(s, "rates", &v) && v.kind == JFL_SCRIPT_OTHER);
  CHECK(!jfl_script_set(s, "rates.word", &text) && !run(s, "assert(rates.word == 'fo')"));
  CHECK(!jfl_script_get(s, "rates.word", &v) && v.kind == JFL_SCRIPT_TEXT);
  CHECK(v.n_text == 2 && !strcmp(v.text, "fo"));
  jfl_script_value_clear(&v);
  CHECK(v.kind == JFL_SCRIPT_NIL && !v.text);
  CHECK(jfl_script_get(s, "score.deep", &v) == JFL_ESCRIPT && says("'score' must be a table"));
  CHECK(jfl_script_set(s, "none.deep", &text) == JFL_ESCRIPT && says("'none' must be a table"));
  jfl_script_free(s);
}

static void calls_functions_of_a_text(void)
{
  jfl_script *s = open_script();
  jfl_array *a;
  jfl_script_value out[4], in[2] = { number(1), number(2) };
  CHECK(!run(s, functions));
  CHECK(!jfl_script_invoke(s, "add", in, 2, out, 4));
  CHECK(out[0].number == 3 && !strcmp(out[1].text, "sum") && out[2].kind == JFL_SCRIPT_BOOL);
  CHECK(!out[2].number && out[3].kind == JFL_SCRIPT_NIL);
  for (int i = 0; i < 4; i++) jfl_script_value_clear(&out[i]);
  CHECK(!jfl_array_new(JFL_F32, &(jfl_shape){ 1, { 3 } }, &a));
  jfl_number_put(JFL_F32, jfl_array_data(a), 1, 4);
  CHECK(!jfl_script_invoke(s, "double", &(jfl_script_value){ .kind = JFL_SCRIPT_ARRAY,
                                                             .array = a }, 1, out, 1));
  jfl_array_unref(a);
  CHECK(out->kind == JFL_SCRIPT_ARRAY && jfl_array_size(out->array) == 3);
  CHECK(jfl_number_get(JFL_F32, jfl_array_data(out->array), 1) == 8);
  jfl_script_value_clear(out);
  CHECK(jfl_script_invoke(s, "fails", NULL, 0, NULL, 0) == JFL_ESCRIPT && says("on purpose"));
  CHECK(jfl_script_invoke(s, "score", NULL, 0, NULL, 0) == JFL_ESCRIPT && says("function"));
  jfl_script_free(s);
}

/* What a function of the host's is called with. */
static struct { jfl_script *s; double number; char text[8]; int n; jfl_status inside; } seen;

static jfl_status ask(void *ud, const jfl_script_value *arg, int n_arg, jfl_script_value *result)
{
  if (ud != &seen) return jfl_fail(JFL_EINVAL, "not mine");
  seen.n = n_arg;
  seen.number = arg[0].number;
  strcpy(seen.text, arg[1].text);
  seen.inside = run(seen.s, "x = 1");
  if (seen.number < 0) return jfl_fail(JFL_EDATA, "x must be 0 or more, got less");
  *result = number(seen.number * 10);
  return JFL_OK;
}

static void lets_a_text_call_the_program(void)
{
  jfl_script *s = seen.s = open_script();
  jfl_script_value out, in = number(4);
  CHECK(!run(s, functions));
  CHECK(!jfl_script_define(s, "ask", ask, &seen));
  CHECK_MSG(!jfl_script_invoke(s, "host", &in, 1, &out, 1), "%s", jfl_errmsg());
  CHECK(out.number == 40 && seen.n == 3 && !strcmp(seen.text, "why"));
  CHECK(seen.inside == JFL_ESTATE);
  in = number(-1);
  CHECK(jfl_script_invoke(s, "host", &in, 1, &out, 1) == JFL_EDATA && says("0 or more"));
  jfl_script_free(s);
}

/* What functions of the program that finalizers call have come to. */
static struct { jfl_script *s; int calls; } left;

static jfl_status leave(void *ud, const jfl_script_value *arg, int n, jfl_script_value *result)
{
  (void)ud, (void)arg, (void)n, (void)result;
  left.calls++;
  CHECK(run(left.s, "x = 1") == JFL_ESTATE);
  jfl_script_free(left.s);
  return JFL_OK;
}

static const char finalizers[] =
  "function made()\n"
  "  local p = newproxy(true)\n"
  "  getmetatable(p).__gc = leave\n"
  "  return p\n"
  "end\n";

static void does_without_a_script_in_its_finalizers(void)
{
  left.calls = 0;
  left.s = open_script();
  CHECK(!jfl_script_define(left.s, "leave", leave, NULL));
  CHECK_MSG(!run(left.s, finalizers) && !run(left.s, "kept = made()"), "%s", jfl_errmsg());
  jfl_script_free(left.s);
  CHECK(left.calls == 1);
}

/* Garbage is collected after that: what it drops may free the script, which ends with the call. */
static void does_without_it_where_memory_has_run_out(void)
{
  left.calls = 0;
  CHECK(!jfl_script_new(&(jfl_script_options){ .size = sizeof(jfl_script_options),
                                               .memory = 16 << 20 }, &left.s));
  CHECK(!jfl_script_define(left.s, "leave", leave, NULL) && !run(left.s, finalizers));
  CHECK(run(left.s, "local p, t = made(), {} for i = 1, 1e9 do t[i] = ('x'):rep(i) end")
        == JFL_ENOMEM);
  CHECK_MSG(left.calls == 1 && says("memory"), "%d: %s", left.calls, jfl_errmsg());
}

static jfl_status refuse(void *code, const jfl_script_value *arg, int n, jfl_script_value *result)
{
  (void)arg, (void)n, (void)result;
  return *(const jfl_status *)code;
}

static void tells_of_functions_that_say_nothing(void)
{
  jfl_status code = JFL_EDATA;
  jfl_script *s = open_script();
  CHECK(!jfl_script_define(s, "refuse", refuse, &code));
  CHECK(run(s, "refuse()") == JFL_EDATA && says("test:1: ") && says("out of range"));
  CHECK(run(s, "refuse()") == JFL_EDATA && says("out of range"));
  code = JFL_N_STATUS;
  CHECK(run(s, "refuse()") == JFL_ESCRIPT && says("of the program failed"));
  jfl_script_free(s);
}

static void forgets_lines_where_memory_runs_out(void)
{
  jfl_script *s;
  CHECK(!jfl_script_new(&(jfl_script_options){ .size = sizeof(jfl_script_options),
                                               .memory = 16 << 20 }, &s));
  CHECK(run(s, "error('oh')") == JFL_ESCRIPT && strstr(jfl_script_traceback(s), "oh"));
  CHECK(run(s, "local t = {} for i = 1, 1e9 do t[i] = ('x'):rep(i) end") == JFL_ENOMEM);
  CHECK_MSG(!strstr(jfl_script_traceback(s), "oh"), "%s", jfl_script_traceback(s));
  jfl_script_free(s);
}

/* ---- jobs ---- */

static const char jobs[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "local function job(name, shape, returns, body)\n"
  "  return flow.global_function { name = name, returns = returns, body = body,\n"
  "    inputs = { { 'x', tp.Numpy.Placeholder(shape) } } }\n"
  "end\n"
  "double = job('double', { 2 }, tp.Callback(tp.Numpy), function(x) return x * 2 end)\n"
  "ends = job('ends', { -1, 2 }, tp.Dict(tp.Tuple(tp.Numpy, tp.Numpy)), function(x)\n"
  "  return { a = { x, flow.math.reduce_sum(x, 1) }, b = { x * 2, x * 3 } }\n"
  "end)\n"
  "train = flow.global_function { name = 'train', type = 'train',\n"
  "  inputs = { { 'x', tp.Numpy.Placeholder({ 2 }) } }, returns = tp.Numpy,\n"
  "  body = function(x)\n"
  "    local ones = flow.ones_initializer()\n"
  "    local loss = x * flow.get_variable('w', { shape = { 2 }, initializer = ones })\n"
  "    flow.optimizer.SGD(function(step) return step < 2 and 1 or 0 end, { momentum = 0 })"
  ":minimize(loss)\n"
  "    return loss\n"
  "  end }\n"
  "order = ''\n"
  "function told(y) order = order .. y[2] end\n"
  "function start() double({ 1, 2 })(told) end\n"
  "function breaks() double({ 1, 2 })(function(y) error('broken') end) end\n";

static jfl_array *array_of(const jfl_shape *shape)
{
  jfl_array *a;
  if (jfl_array_new(JFL_F32, shape, &a)) abort();
  for (int64_t i = 0; i < jfl_array_size(a); i++)
    jfl_number_put(JFL_F32, jfl_array_data(a), i, (double)i + 1);
  return a;
}

static double element(const jfl_array *a, int64_t i)
{
  return jfl_number_get(JFL_F32, jfl_array_data(a), i);
}

static jfl_script_job *job_of(jfl_script *s, const char *name)
{
  jfl_script_job *j = NULL;
  CHECK_MSG(!jfl_script_job_find(s, name, &j), "%s", jfl_errmsg());
  return j;
}

static jfl_script *script_with_jobs(void)
{
  jfl_script *s = open_script();
  CHECK_MSG(!run(s, jobs), "%s", jfl_errmsg());
  return s;
}

static void tells_of_jobs(void)
{
  jfl_script *s = script_with_jobs();
  jfl_script_job *j;
  jfl_mode mode;
  jfl_dtype t;
  jfl_shape shape;
  const char *name;
  int n_in, n_out;
  CHECK(jfl_script_jobs(s) == 3);
  CHECK(!jfl_script_job_at(s, 1, &j) && !strcmp(jfl_script_job_name(j), "ends"));
  CHECK(j == job_of(s, "ends"));
  CHECK(jfl_script_job_at(s, 3, &j) == JFL_EINVAL);
  CHECK(jfl_script_job_find(s, "end", &j) == JFL_ENAME && says("ends"));
  CHECK(!jfl_script_job_about(j, &mode, &n_in, &n_out));
  CHECK_MSG(mode == JFL_PREDICT && n_in == 1 && n_out == 4, "%d %d", n_in, n_out);
  CHECK(!jfl_script_job_input(j, 0, &name, &t, &shape) && !strcmp(name, "x") && t == JFL_F32);
  CHECK(shape.n == 2 && shape.d[0] == -1 && shape.d[1] == 2);
  CHECK(jfl_script_job_input(j, 1, &name, &t, &shape) == JFL_EINVAL);
  CHECK_MSG(!jfl_script_job_output(j, 1, &name, &t, &shape), "%s", jfl_errmsg());
  CHECK_MSG(!strcmp(name, "a.2") && shape.n == 1, "%s", name);
  CHECK(jfl_script_job_output(j, 4, &name, &t, &shape) == JFL_EINVAL);
  CHECK(!jfl_script_job_about(job_of(s, "train"), &mode, &n_in, NULL) && mode == JFL_TRAIN);
  CHECK(!jfl_script_job_output(job_of(s, "train"), 0, &name, &t, &shape) && !*name);
  jfl_script_free(s);
}

static void calls_jobs(void)
{
  jfl_script *s = script_with_jobs();
  jfl_array *x = array_of(&(jfl_shape){ 2, { 3, 2 } }), *out[4], *y;
  CHECK_MSG(!jfl_script_call(job_of(s, "ends"), &x, 1, out, 4), "%s", jfl_errmsg());
  CHECK(element(out[1], 2) == 11 && element(out[3], 5) == 18);
  for (int i = 0; i < 4; i++) jfl_array_unref(out[i]);
  CHECK(jfl_script_call(job_of(s, "ends"), &x, 1, out, 3) == JFL_EINVAL && says("must be 4"));
  CHECK(jfl_script_call(job_of(s, "ends"), NULL, 0, out, 4) != JFL_OK && says("ends: takes 1"));
  CHECK(jfl_script_call(job_of(s, "double"), &x, 1, &y, 1) == JFL_ESHAPE);
  jfl_array_unref(x);
  x = array_of(&(jfl_shape){ 1, { 2 } });
  CHECK(!jfl_script_call(job_of(s, "double"), &x, 1, &y, 1) && element(y, 1) == 4);
  jfl_array_unref(y);
  /* A rate that Lua gives for each step: 1, 1, then 0. */
  const double losses[] = { 2, 0, -2, -2 };
  for (int i = 0; i < 4; i++) {
    CHECK_MSG(!jfl_script_call(job_of(s, "train"), &x, 1, &y, 1), "%s", jfl_errmsg());
    CHECK_MSG(element(y, 1) == losses[i], "%d: %g", i, element(y, 1));
    jfl_array_unref(y);
  }
  jfl_array_unref(x);
  jfl_script_free(s);
}

static const char lengths_text[] =
  "local flow = require 'jfl'\n"
  "local length = { max = 6, name = 'length' }\n"
  "flow.global_function { name = 'mean', inputs = { x = flow.float32 { -1, length },\n"
  "    mask = flow.float32 { -1, length } },\n"
  "  body = function(x, mask)\n"
  "    return flow.math.reduce_sum(x * mask, 1) / x.shape[2], x\n"
  "  end }\n";

static void takes_arguments_up_to_a_bound(void)
{
  jfl_script *s = open_script();
  CHECK_MSG(!run(s, lengths_text), "%s", jfl_errmsg());
  jfl_script_job *j = job_of(s, "mean");
  const char *name;
  jfl_dtype t;
  jfl_shape shape;
  CHECK(!jfl_script_job_input(j, 0, &name, &t, &shape) && shape.d[0] == -1 && shape.d[1] == -1);
  CHECK(!jfl_script_job_bound(j, 1, &shape) && shape.n == 2 && shape.d[0] == -1 && shape.d[1] == 6);
  CHECK(jfl_script_job_bound(j, 2, &shape) == JFL_EINVAL);
  CHECK(!jfl_script_job_output(j, 1, &name, &t, &shape) && shape.d[0] == 1 && shape.d[1] == 6);
  for (int n = 1; n <= 7; n++) {
    jfl_array *x = array_of(&(jfl_shape){ 2, { 2, n } }), *in[2] = { x, x }, *out[2];
    const jfl_status st = jfl_script_call(j, in, 2, out, 2);
    jfl_array_unref(x);
    if (n == 7) CHECK(st && says("mean: x: dimension 2 must be 1 to 6 long, got 7"));
    if (st) break;
    CHECK((int)(6 * element(out[0], 0) + 0.5) == (n + 1) * (2 * n + 1));
    CHECK(jfl_array_shape(out[1])->d[1] == n);
    for (int i = 0; i < 2; i++) jfl_array_unref(out[i]);
  }
  jfl_array *in[2], *out[2];
  for (int i = 0; i < 2; i++) in[i] = array_of(&(jfl_shape){ 2, { 1, 2 + i } });
  CHECK(jfl_script_call(j, in, 2, out, 2) && says("got 2 in x and 3 in mask"));
  for (int i = 0; i < 2; i++) jfl_array_unref(in[i]);
  jfl_script_free(s);
}

static struct { jfl_script *s; char order[64]; int frees; } told;

static void note(void *ud, jfl_request *r)
{
  char one[32] = "!";
  if (!jfl_request_status(r)) snprintf(one, sizeof one, "%s%g", (const char *)ud,
                                       element(jfl_request_output(r, 0), 1));
  strcat(told.order, one);
  int n = 7;
  CHECK(!jfl_script_poll(told.s, -1, &n) && n == 0);
  if (told.frees) jfl_script_free(told.s);
}

static jfl_script *telling_script(void)
{
  memset(&told, 0, sizeof told);
  return told.s = script_with_jobs();
}

static int readable(int fd)
{
  struct pollfd p = { .fd = fd, .events = POLLIN };
  return poll(&p, 1, 0) == 1;
}

static void delivers_in_the_order_of_calls(void)
{
  jfl_script *s = telling_script();
  jfl_script_job *j = job_of(s, "double");
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  jfl_request *r;
  jfl_script_value v;
  int n, fd;
  CHECK(!jfl_script_fd(s, &fd) && !readable(fd));
  CHECK_MSG(!jfl_script_submit(j, &x, 1, note, "a", NULL), "%s", jfl_errmsg());
  CHECK(!run(s, "start()") && !jfl_script_submit(j, &x, 1, note, "b", &r));
  CHECK(jfl_script_pending(s) == 3 && !*told.order);
  while (!readable(fd)) {}
  CHECK(!jfl_script_poll(s, 0, &n) && n == 1 && !strcmp(told.order, "a4"));
  CHECK(readable(fd));
  CHECK(!jfl_script_sync(s) && !strcmp(told.order, "a4b4") && jfl_script_pending(s) == 0);
  CHECK(!jfl_script_poll(s, -1, &n) && n == 0 && !readable(fd));
  CHECK(!jfl_script_get(s, "order", &v) && !strcmp(v.text, "4"));
  CHECK(jfl_request_done(r) && element(jfl_request_output(r, 0), 0) == 2);
  jfl_script_value_clear(&v);
  jfl_request_unref(r);
  jfl_array_unref(x);
  jfl_script_free(s);
}

static int order_is(jfl_script *s, const char *own, const char *texts)
{
  jfl_script_value v;
  CHECK(!jfl_script_get(s, "order", &v));
  const int same = !strcmp(told.order, own) && !strcmp(v.text, texts);
  CHECK_MSG(same, "%s, %s", told.order, v.text);
  jfl_script_value_clear(&v);
  return same;
}

/* Calls of C and of the texts by turns, whose runs are over. */
static jfl_script *called_by_turns(void)
{
  jfl_script *s = telling_script();
  jfl_session *session;
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  const jfl_arg many = { .name = "max_inflight", .kind = JFL_ARG_NUMBER, .number = 8 };
  const jfl_arg never = { .name = "inline_limit", .kind = JFL_ARG_NUMBER };
  CHECK(!jfl_script_session(s, &session) && !jfl_session_set(session, &many));
  CHECK(!jfl_session_set(session, &never));
  for (int i = 0; i < 2; i++) {
    CHECK(!jfl_script_submit(job_of(s, "double"), &x, 1, note, i ? "b" : "a", NULL));
    CHECK(!run(s, "calls = calls or {} calls[#calls + 1] = double({ 1, 2 })"));
  }
  while (jfl_session_pending(session)) jfl_session_wait(session, NULL, -1);
  CHECK(!run(s, "for _, call in ipairs(calls) do call(told) end"));
  jfl_array_unref(x);
  return s;
}

static void takes_turns_in_the_order_of_calls(void)
{
  static const char *const own[] = { "a4", "a4", "a4b4", "a4b4" };
  static const char *const texts[] = { "", "4", "4", "44" };
  int n = 0;
  jfl_script *s = called_by_turns();
  for (int i = 0; i < 4; i++)
    CHECK(!jfl_script_poll(s, 0, &n) && n == 1 && order_is(s, own[i], texts[i]));
  jfl_script_free(s);
  s = called_by_turns();
  CHECK(!jfl_script_poll(s, -1, &n) && n == 4 && order_is(s, "a4b4", "44"));
  jfl_script_free(s);
  s = called_by_turns();
  CHECK(!jfl_script_sync(s) && order_is(s, "a4b4", "44") && !jfl_script_pending(s));
  jfl_script_free(s);
}

static void keeps_callbacks_of_texts_out_of_its_calls(void)
{
  jfl_session *session;
  jfl_script *s = called_by_turns();
  jfl_arg seconds = { .name = "callback_seconds", .kind = JFL_ARG_NUMBER };
  double got = 1;
  int n;
  CHECK(!jfl_script_session(s, &session) && !jfl_session_set(session, &seconds));
  CHECK(!jfl_session_get(session, "callback_seconds", &got) && got == 0);
  CHECK(!run(s, "ends({ { 1, 2 } }) double({ 1, 2 })") && order_is(s, "", ""));
  seconds.number = 1e-9;
  CHECK(!jfl_session_set(session, &seconds));
  CHECK(!run(s, "ends({ { 1, 2 } })") && order_is(s, "", "4"));
  CHECK(!jfl_script_poll(s, -1, &n) && order_is(s, "a4b4", "44"));
  seconds.number = -1;
  CHECK(jfl_session_set(session, &seconds) == JFL_EINVAL && says("callback_seconds must be"));
  jfl_script_free(s);
}

/* What a text waits for are its own calls: those of C are the host's. */
static void leaves_callbacks_of_c_to_the_host(void)
{
  int n;
  jfl_script *s = called_by_turns();
  CHECK(!run(s, "require('jfl').sync()") && order_is(s, "", "44"));
  CHECK(jfl_script_pending(s) == 2);
  CHECK(!jfl_script_poll(s, -1, &n) && n == 2 && order_is(s, "a4b4", "44"));
  jfl_script_free(s);
}

/* One that ends long after its turn keeps no later call waiting, but where all are waited for. */
static void lets_calls_of_c_overtake_a_save(void)
{
  char text[4400];
  int n;
  jfl_script_value v;
  jfl_script *s = telling_script();
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  snprintf(text, sizeof text, "saved = '' require('jfl').checkpoint.save('%s/behind', "
           "{ async = true })(function() saved = 'yes' end)", scratch);
  CHECK_MSG(!run(s, text), "%s", jfl_errmsg());
  CHECK(!jfl_script_submit(job_of(s, "double"), &x, 1, note, "a", NULL));
  while (!jfl_script_poll(s, 0, &n) && !*told.order) {}
  CHECK(!jfl_script_sync(s) && !jfl_script_pending(s) && !strcmp(told.order, "a4"));
  CHECK(!jfl_script_get(s, "saved", &v) && !strcmp(v.text, "yes"));
  jfl_script_value_clear(&v);
  jfl_array_unref(x);
  jfl_script_free(s);
}

static void hear(void *ud, const char *text)
{
  strncat(ud, text, 100);
}

static void keeps_callbacks_where_one_fails(void)
{
  jfl_script *s = telling_script();
  jfl_script_value v;
  char heard[128] = "";
  CHECK(!jfl_set_log(&(jfl_log){ hear, heard }));
  CHECK(!run(s, "breaks() start()"));
  CHECK_MSG(strstr(heard, "broken"), "%s", heard);
  CHECK(!jfl_set_log(NULL) && !jfl_warn("nobody hears this"));
  CHECK(jfl_script_sync(s) == JFL_ESCRIPT && says("broken"));
  CHECK(!jfl_script_sync(s) && !jfl_script_get(s, "order", &v) && !strcmp(v.text, "4"));
  jfl_script_value_clear(&v);
  jfl_script_free(s);
}

static void takes_calls_back(void)
{
  jfl_script *s = telling_script();
  jfl_session *session;
  jfl_script_job *j = job_of(s, "double");
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  const jfl_arg never = { .name = "inline_limit", .kind = JFL_ARG_NUMBER };
  const jfl_arg many = { .name = "max_inflight", .kind = JFL_ARG_NUMBER, .number = 8 };
  int n = 0, total = 0;
  CHECK(!jfl_script_session(s, &session) && !jfl_session_set(session, &never));
  CHECK(!jfl_session_set(session, &many));
  for (int i = 0; i < 8; i++) CHECK(!jfl_script_submit(j, &x, 1, note, "a", NULL));
  CHECK(!jfl_script_cancel(j, &n) && n <= 8);
  CHECK(!jfl_script_sync(s));
  for (const char *c = told.order; *c; c++) total += *c == '!';
  CHECK_MSG(total == n, "%s, %d", told.order, n);
  jfl_array_unref(x);
  jfl_script_free(s);
}

/* Those that nobody hears of, too. */
static void waits_for_all_calls(void)
{
  jfl_script *s = telling_script();
  jfl_session *session;
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  const jfl_arg never = { .name = "inline_limit", .kind = JFL_ARG_NUMBER };
  CHECK(!jfl_script_session(s, &session) && !jfl_session_set(session, &never));
  CHECK(!jfl_script_submit(job_of(s, "double"), &x, 1, note, "a", NULL));
  CHECK(!jfl_script_submit(job_of(s, "double"), &x, 1, NULL, NULL, NULL));
  CHECK(!jfl_script_sync(s) && !jfl_session_pending(session) && !strcmp(told.order, "a4"));
  jfl_array_unref(x);
  jfl_script_free(s);
}

static void may_be_freed_in_its_callback(void)
{
  jfl_script *s = telling_script();
  jfl_script_job *j = job_of(s, "double");
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  for (int i = 0; i < 2; i++) CHECK(!jfl_script_submit(j, &x, 1, note, "a", NULL));
  told.frees = 1;
  CHECK(!jfl_script_sync(s) && !strcmp(told.order, "a4"));
  jfl_array_unref(x);
}

static void saves_and_loads(void)
{
  jfl_script *s = script_with_jobs(), *other = script_with_jobs();
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } }), *y;
  char path[4200];
  snprintf(path, sizeof path, "%s/saved", scratch);
  CHECK(!jfl_script_call(job_of(s, "train"), &x, 1, &y, 1));
  jfl_array_unref(y);
  CHECK_MSG(!jfl_script_save(s, path, 0), "%s", jfl_errmsg());
  CHECK(jfl_script_save(s, path, 0) == JFL_ESTATE);
  CHECK_MSG(!jfl_script_load(other, path, 1), "%s", jfl_errmsg());
  CHECK(!jfl_script_call(job_of(other, "train"), &x, 1, &y, 1) && element(y, 1) == 0);
  jfl_array_unref(y);
  CHECK(jfl_script_load(other, "/nowhere", 0) == JFL_EIO);
  jfl_array_unref(x);
  jfl_script_free(s);
  jfl_script_free(other);
}

static void shows_watched_values(void)
{
  jfl_script *s = open_script();
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } }), *y;
  jfl_script_value v;
  CHECK_MSG(!run(s, "local flow = require 'jfl'\n"
                    "seen = 0\n"
                    "flow.global_function { name = 'watched', returns = flow.typing.Numpy,\n"
                    "  inputs = { { 'x', flow.typing.Numpy.Placeholder({ 2 }) } },\n"
                    "  body = function(x)\n"
                    "    local y = x * 3\n"
                    "    flow.watch(y, function(value) seen = seen + value[2] end)\n"
                    "    return y + 1\n"
                    "  end }\n"), "%s", jfl_errmsg());
  CHECK_MSG(!jfl_script_call(job_of(s, "watched"), &x, 1, &y, 1), "%s", jfl_errmsg());
  CHECK(element(y, 1) == 7);
  CHECK(!jfl_script_get(s, "seen", &v) && v.number == 6);
  CHECK(jfl_script_submit(job_of(s, "watched"), &x, 1, NULL, NULL, NULL) == JFL_ENOSYS);
  jfl_array_unref(x);
  jfl_array_unref(y);
  jfl_script_free(s);
}

/* A text that is not trusted exchanges values, and its jobs are called, all the same. */
static void calls_into_a_restricted_text(void)
{
  const jfl_script_options o = { .size = sizeof o, .restricted = 1, .memory = 64 << 20,
                                 .instructions = 1e7, .seconds = 200 };
  jfl_script *s;
  jfl_script_value v, in = number(4);
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } }), *y;
  CHECK_MSG(!jfl_script_new(&o, &s), "%s", jfl_errmsg());
  CHECK_MSG(!run(s, jobs), "%s", jfl_errmsg());
  CHECK_MSG(!run(s, functions), "%s", jfl_errmsg());
  CHECK(!jfl_script_get(s, "rates.hidden", &v) && v.number == 0.5);
  CHECK_MSG(!jfl_script_set(s, "score", &in) && !run(s, "assert(score == 4)"), "%s", jfl_errmsg());
  seen.s = s;
  CHECK_MSG(!jfl_script_define(s, "ask", ask, &seen), "%s", jfl_errmsg());
  CHECK_MSG(!jfl_script_invoke(s, "host", &in, 1, &v, 1) && v.number == 40, "%s", jfl_errmsg());
  CHECK_MSG(!jfl_script_call(job_of(s, "double"), &x, 1, &y, 1), "%s", jfl_errmsg());
  CHECK(element(y, 1) == 4);
  CHECK(run(s, "while true do end") == JFL_ELIMIT);
  CHECK(run(s, "local f = io.open('/etc/passwd')") == JFL_ESCRIPT);
  CHECK_MSG(!jfl_script_set(s, "rates.hidden", &in), "%s", jfl_errmsg());
  CHECK(!jfl_script_define(s, "rates.ask", ask, &seen));
  CHECK_MSG(!run(s, "assert(rates.hidden == 4 and rates.ask(1, 'why') == 10)"), "%s", jfl_errmsg());
  const jfl_script_value asked[] = { in, { .kind = JFL_SCRIPT_TEXT, .text = "why" } };
  CHECK(!jfl_script_invoke(s, "rates.ask", asked, 2, &v, 1) && v.number == 40);
  CHECK(jfl_script_set(s, "none.deep", &in) == JFL_ESCRIPT && says("'none' must be a table"));
  jfl_array_unref(x);
  jfl_array_unref(y);
  jfl_script_free(s);
}

/* ---- threads ---- */

static struct { int started, stopped; } workers;

static void starts(void *ud, const char *what)
{
  if (ud == &workers && !strcmp(what, "worker"))
    __atomic_fetch_add(&workers.started, 1, __ATOMIC_RELAXED);
}

static void stops(void *ud, const char *what)
{
  if (ud == &workers && !strcmp(what, "worker"))
    __atomic_fetch_add(&workers.stopped, 1, __ATOMIC_RELAXED);
}

static void tells_of_threads(void)
{
  CHECK(!jfl_set_thread_hooks(&(jfl_thread_hooks){ starts, stops, &workers }));
  takes_calls_back();
  CHECK(workers.started == 1 && workers.stopped == 1);
  CHECK(!jfl_set_thread_hooks(NULL));
}

static void *thread_enters(void *s)
{
  CHECK(run(s, "x = 1") == JFL_ESTATE && says("thread"));
  jfl_script_free(s);
  CHECK(jfl_error_code() == JFL_ESTATE);
  return NULL;
}

static void *thread_trains(void *unused)
{
  (void)unused;
  runs_a_text_that_trains();
  calls_jobs();
  return NULL;
}

static void belongs_to_a_thread(void)
{
  jfl_script *s = open_script();
  pthread_t t[2];
  pthread_create(t, NULL, thread_enters, s);
  pthread_join(*t, NULL);
  CHECK(!run(s, "x = 1"));
  jfl_script_free(s);
  for (int i = 0; i < 2; i++) pthread_create(&t[i], NULL, thread_trains, NULL);
  for (int i = 0; i < 2; i++) pthread_join(t[i], NULL);
}

static int was_interrupted;

/* Again and again: it does nothing while no call is under way. */
static void *thread_interrupts(void *s)
{
  do {
    nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
    jfl_script_interrupt(s);
  } while (!__atomic_load_n(&was_interrupted, __ATOMIC_ACQUIRE));
  return NULL;
}

/* What `calls` does until it is ended while another thread asks for that. */
static void is_interrupted(jfl_script *s, jfl_status (*calls)(jfl_script *s))
{
  pthread_t t;
  was_interrupted = 0;
  pthread_create(&t, NULL, thread_interrupts, s);
  CHECK(calls(s) == JFL_ESCRIPT);
  CHECK_MSG(says("interrupted"), "%s", jfl_errmsg());
  __atomic_store_n(&was_interrupted, 1, __ATOMIC_RELEASE);
  pthread_join(t, NULL);
  CHECK(!jfl_script_sync(s));
}

/* Each wait of the text's and each run asks. */
static jfl_status wait_in_a_text(jfl_script *s)
{
  return run(s, "while true do start() require('jfl').sync() end");
}

static void is_interrupted_in_a_wait(void)
{
  jfl_script *s = script_with_jobs();
  is_interrupted(s, wait_in_a_text);
  jfl_script_free(s);
}

static jfl_status wait_for_calls(jfl_script *s)
{
  jfl_script_job *j = job_of(s, "double");
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  jfl_status code = JFL_OK;
  while (!code) {
    *told.order = '\0';
    code = jfl_script_submit(j, &x, 1, note, "a", NULL);
    if (!code) code = jfl_script_sync(s);
  }
  jfl_array_unref(x);
  return code;
}

static void is_interrupted_in_a_wait_for_calls_of_c(void)
{
  jfl_script *s = telling_script();
  is_interrupted(s, wait_for_calls);
  jfl_script_free(s);
}

/* Calls another job, and then asks for the end of the call that it is in. */
static void interrupt_after_a_call(void *script, jfl_request *r)
{
  jfl_array *x = jfl_request_output(r, 0), *y;
  CHECK_MSG(!jfl_script_call(job_of(script, "double"), &x, 1, &y, 1), "%s", jfl_errmsg());
  jfl_array_unref(y);
  jfl_script_interrupt(script);
}

static void is_interrupted_by_a_callback_that_makes_a_call(void)
{
  jfl_script *s = script_with_jobs();
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } });
  CHECK(!jfl_script_submit(job_of(s, "double"), &x, 1, interrupt_after_a_call, s, NULL));
  CHECK_MSG(jfl_script_sync(s) == JFL_ESCRIPT && says("interrupted"), "%s", jfl_errmsg());
  CHECK_MSG(!jfl_script_sync(s), "%s", jfl_errmsg());
  jfl_array_unref(x);
  jfl_script_free(s);
}

/* Where it has limits it is ended anywhere in a text, whatever that catches. */
static jfl_status loop_for_ever(jfl_script *s)
{
  return run(s, "while true do pcall(function() while true do pcall(error) end end) end");
}
static jfl_status wait_and_catch(jfl_script *s)
{
  return run(s, "while true do pcall(function() start() require('jfl').sync() end) end");
}

static void is_interrupted_anywhere_in_a_text_with_limits(void)
{
  const jfl_script_options all[] = { { .size = sizeof *all, .seconds = 600 },
    { .size = sizeof *all, .instructions = 1e15 },
    { .size = sizeof *all, .restricted = 1, .seconds = 600 } };
  for (int i = 0; i < 3; i++) {
    jfl_script *s = NULL;
    CHECK(!jfl_script_new(&all[i], &s));
    is_interrupted(s, loop_for_ever);
    CHECK(!run(s, "start = function() end"));
    is_interrupted(s, wait_and_catch);
    jfl_script_free(s);
  }
}

/* Runs that the program makes itself are no calls of the script. */
static void is_not_interrupted_between_calls(void)
{
  jfl_script *s = script_with_jobs();
  jfl_array *x = array_of(&(jfl_shape){ 1, { 2 } }), *y;
  jfl_plan *plan;
  CHECK(!jfl_script_job_plan(job_of(s, "double"), 0, &plan));
  jfl_script_interrupt(s);
  CHECK_MSG(!jfl_run(plan, &x, &y), "%s", jfl_errmsg());
  jfl_array_unref(x);
  jfl_array_unref(y);
  jfl_script_free(s);
}

/* ---- texts that nobody trusts ---- */

static jfl_script *open_restricted(uint64_t memory, double instructions, double seconds)
{
  jfl_script_options o = { .size = sizeof o, .restricted = 1, .memory = memory,
                           .instructions = instructions, .seconds = seconds };
  jfl_script *s = NULL;
  CHECK_MSG(!jfl_script_new(&o, &s), "%s", jfl_errmsg());
  return s;
}

static void keeps_a_restricted_text_in(void)
{
  jfl_script *s = open_restricted(64 << 20, 0, 100);
  CHECK_MSG(!run(s, trains), "%s", jfl_errmsg());
  CHECK(run(s, "io.open('/etc/passwd')") == JFL_ESCRIPT && says("test:1:"));
  CHECK(run(s, "require 'ffi'") == JFL_ESCRIPT && says("not there"));
  CHECK(run(s, "require('jfl').env.rank()") == JFL_ESCRIPT && says("flow.env"));
  CHECK(run(s, "\33LJ\2") == JFL_ESCRIPT);
  CHECK(run(s, "x = = 1") == JFL_ESCRIPT && says("test:1:"));
  CHECK(!run(s, "assert(train)"));
  jfl_script_free(s);
}

/* Whether a text comes to its end again, after some tries: on a busy machine the clock may go on by
   more than the limit while the script waits for a core. */
static int lives(jfl_script *s)
{
  for (int i = 0; i < 1000; i++) {
    const jfl_status status = run(s, "y = 1");
    if (status != JFL_ELIMIT) return status == JFL_OK;
  }
  return 0;
}

/* One text given many times is many of the caller's. */
/* A program may charge what a thread takes to a budget of its own, as a text does that runs. */
static void leaves_the_budget_of_its_thread(void)
{
  const jfl_script_value in = number(4);
  jf_budget *own = jf_budget_new(0), *before = jf_memory_charge(own);
  for (int restricted = 0; restricted < 2; restricted++) {
    const jfl_script_options o = { .size = sizeof o, .restricted = restricted };
    jfl_script_value v;
    jfl_script *s = NULL;
    CHECK(!jfl_script_new(&o, &s) && jf_memory_budget() == own);
    CHECK(!run(s, "function f(x) return x end") && jf_memory_budget() == own);
    CHECK(run(s, "error('no')") == JFL_ESCRIPT && jf_memory_budget() == own);
    CHECK(!jfl_script_set(s, "x", &in) && jf_memory_budget() == own);
    CHECK(!jfl_script_get(s, "x", &v) && jf_memory_budget() == own);
    CHECK(!jfl_script_invoke(s, "f", &in, 1, &v, 1) && jf_memory_budget() == own);
    jfl_script_free(s);
    CHECK(jf_memory_budget() == own);
  }
  CHECK(jf_memory_charge(before) == own);
  jf_budget_drop(own);
}

static void gives_no_more_than_its_memory(void)
{
  jfl_script_value out[8];
  jfl_script *s = open_restricted(4 << 20, 0, 0);
  CHECK(!run(s, "local t = ('x'):rep(1e6) function f() return t, t, t, t, t, t, t, t end"));
  CHECK(!jfl_script_invoke(s, "f", NULL, 0, out, 3) && out[2].n_text == 1000000);
  for (int i = 0; i < 3; i++) jfl_script_value_clear(&out[i]);
  CHECK(jfl_script_invoke(s, "f", NULL, 0, out, 8) == JFL_ENOMEM);
  CHECK(out[0].kind == JFL_SCRIPT_NIL && lives(s));
  jfl_script_free(s);
}

static void ends_a_restricted_text_at_its_limits(void)
{
  jfl_script *s = open_restricted(32 << 20, 0, 0.05);
  for (int i = 0; i < 3; i++) {
    CHECK(run(s, "while true do pcall(error) end") == JFL_ELIMIT && says("more than 0.05 s"));
    CHECK(run(s, "local t = {} for i = 1, 1e9 do t[i] = {} end") == JFL_ENOMEM ||
          says("more than 0.05 s"));
    CHECK_MSG(lives(s), "%s", jfl_errmsg());
  }
  jfl_script_free(s);
  s = open_restricted(0, 1e5, 0);
  CHECK(run(s, "while true do end") == JFL_ELIMIT && says("100000 instructions"));
  CHECK(!run(s, "y = 1"));
  jfl_script_free(s);
}

/* What was queued has as much time after an entry as an entry has. A run of this job takes several
   seconds, since no library multiplies numbers of 64 bits in convolutions. */
static void ends_what_a_restricted_text_has_queued(void)
{
  static const char slow[] =
    "local flow = require 'jfl' "
    "local P = flow.typing.Numpy.Placeholder "
    "flow.global_function { name = 'slow', returns = flow.typing.Numpy, "
    "  inputs = { { 'x', P({ 1, 64, 300, 300 }, 'float64') } }, body = function(x) "
    "    local w = flow.get_variable { name = 'w', shape = { 64, 64, 9, 9 }, dtype = 'float64', "
    "      initializer = flow.zeros_initializer() } "
    "    return flow.math.reduce_sum(flow.nn.conv2d(x, w, 1, 'VALID')) end }";
  jfl_script *s = open_restricted(1 << 30, 0, 1);
  jfl_array *x = NULL;
  jfl_request *r = NULL;
  jfl_status status = JFL_ELIMIT;
  CHECK(!jfl_array_new(JFL_F64, &(jfl_shape){ 4, { 1, 64, 300, 300 } }, &x));
  for (int i = 0; i < 100 && run(s, slow) == JFL_ELIMIT; i++) {}
  for (int i = 0; i < 100 && status == JFL_ELIMIT; i++)
    status = jfl_script_submit(job_of(s, "slow"), &x, 1, NULL, NULL, &r);
  CHECK_MSG(!status, "%s", jfl_errmsg());
  while (!jfl_request_done(r)) {}
  CHECK(jfl_request_status(r) == JFL_ELIMIT);
  CHECK_MSG(lives(s), "%s", jfl_errmsg());
  jfl_request_unref(r);
  jfl_array_unref(x);
  jfl_script_free(s);
}

/* Limits also hold for texts that are trusted. */
static void ends_a_text_at_its_limits(void)
{
  jfl_script_options o = { .size = sizeof o, .seconds = 0.05 };
  jfl_script *s = NULL;
  CHECK(!jfl_script_new(&o, &s));
  static const char *const endless[] = {
    "while true do end", "local function f() pcall(f) return f() end f()",
    "local function f() xpcall(f, error) return f() end f()",
    "xpcall(function() while true do end end, function() while true do end end)",
    "while true do load(function() while true do end end) end",
    "coroutine.resume(coroutine.create(function() while true do end end))"
  };
  for (size_t i = 0; i < sizeof endless / sizeof *endless; i++) {
    CHECK_MSG(run(s, endless[i]) == JFL_ELIMIT && says("more than 0.05 s"), "%s", endless[i]);
    CHECK_MSG(lives(s), "%s", jfl_errmsg());
  }
  jfl_script_free(s);
  o.seconds = 1000;
  CHECK(!jfl_script_new(&o, &s));
  CHECK_MSG(!run(s, "assert(io and require 'ffi')"), "%s", jfl_errmsg());
  jfl_script_free(s);
}

int main(void)
{
  scratch_make();
  RUN(keeps_a_restricted_text_in);
  RUN(leaves_the_budget_of_its_thread);
  RUN(gives_no_more_than_its_memory);
  RUN(ends_a_restricted_text_at_its_limits);
  RUN(ends_what_a_restricted_text_has_queued);
  RUN(ends_a_text_at_its_limits);
  RUN(delivers_in_the_order_of_calls);
  RUN(takes_turns_in_the_order_of_calls);
  RUN(keeps_callbacks_of_texts_out_of_its_calls);
  RUN(leaves_callbacks_of_c_to_the_host);
  RUN(lets_calls_of_c_overtake_a_save);
  RUN(keeps_callbacks_where_one_fails);
  RUN(takes_calls_back);
  RUN(waits_for_all_calls);
  RUN(may_be_freed_in_its_callback);
  RUN(saves_and_loads);
  RUN(shows_watched_values);
  RUN(calls_into_a_restricted_text);
  RUN(tells_of_threads);
  RUN(belongs_to_a_thread);
  RUN(is_interrupted_in_a_wait);
  RUN(is_interrupted_in_a_wait_for_calls_of_c);
  RUN(is_interrupted_by_a_callback_that_makes_a_call);
  RUN(is_interrupted_anywhere_in_a_text_with_limits);
  RUN(is_not_interrupted_between_calls);
  RUN(gets_and_sets_variables);
  RUN(calls_functions_of_a_text);
  RUN(lets_a_text_call_the_program);
  RUN(does_without_a_script_in_its_finalizers);
  RUN(does_without_it_where_memory_has_run_out);
  RUN(tells_of_functions_that_say_nothing);
  RUN(forgets_lines_where_memory_runs_out);
  RUN(tells_of_jobs);
  RUN(calls_jobs);
  RUN(takes_arguments_up_to_a_bound);
  RUN(runs_a_text_that_trains);
  RUN(tells_what_failed);
  RUN(runs_a_file);
  RUN(prints_to_the_program);
  RUN(ends_where_memory_does);
  return test_done();
}
