#include "check.h"

static const char text[] =
  "local flow = require 'jfl'\n"
  "local tp = flow.typing\n"
  "train = flow.global_function {\n"
  "  name = 'train', type = 'train', returns = tp.Numpy,\n"
  "  inputs = { { 'x', tp.Numpy.Placeholder({ 8, 1 }) },\n"
  "    { 'y', tp.Numpy.Placeholder({ 8, 1 }) } },\n"
  "  body = function(x, y)\n"
  "    local guess = flow.layers.dense(x, 1, { name = 'line' })\n"
  "    local loss = flow.math.squared_difference(guess, y)\n"
  "    flow.optimizer.SGD(0.05):minimize(loss)\n"
  "    return loss\n"
  "  end,\n"
  "}\n"
  "ask = flow.global_function {\n"
  "  name = 'ask', returns = tp.Dict(tp.Numpy),\n"
  "  inputs = { { 'x', tp.Numpy.Placeholder({ -1, 1 }) } },\n"
  "  body = function(x) return { y = flow.layers.dense(x, 1, { name = 'line' }) } end,\n"
  "}\n"
  "speed = 2\n"
  "function greet(name) return 'hello ' .. name .. ', ' .. distance(3) end\n";

static void print(void *ud, const char *line, size_t n)
{
  printf("%s%.*s", (const char *)ud, (int)n, line);
}

/* A script is made with limits and with what print() does, and then runs a text. */
static jfl_script *script(void)
{
  jfl_script_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;             /* so that newer libraries know its fields */
  options.memory = 256 << 20;                /* Lua may take so many bytes; then the text fails */
  options.print = print;
  options.ud = (void *)"brain: ";
  jfl_script *s;
  check(jfl_script_new(&options, &s));
  check(jfl_script_run(s, text, strlen(text), "=brain"));
  return s;
}

/* A text that fails is a status: the message begins with its line, and the traceback has those that
   led to it. */
static void text_that_runs(void)
{
  jfl_script *s = script();
  EXPECT(jfl_script_run(s, "error('oh')", 11, "=wrong") == JFL_ESCRIPT);
  EXPECT(strstr(jfl_errmsg(), "wrong:1: oh") != NULL);
  EXPECT(strstr(jfl_script_traceback(s), "stack traceback") != NULL);
  FILE *file = fopen("more.lua", "w");
  fputs("print(speed * 10)\n", file);
  fclose(file);
  check(jfl_script_run_file(s, "more.lua"));
  jfl_script_free(s);
}

/* A function of the program that texts call. */
static jfl_status distance(void *ud, const jfl_script_value *arg, int n_arg,
                           jfl_script_value *result)
{
  if (n_arg != 1 || arg->kind != JFL_SCRIPT_NUMBER)
    return jfl_fail(JFL_EINVAL, "distance: takes a number of seconds");
  result->kind = JFL_SCRIPT_NUMBER;
  result->number = arg->number * *(double *)ud;
  return JFL_OK;
}

/* Values go both ways: a variable is read and set, a function of the text is called, and calls one
   of the program. */
static void values_of_a_text(void)
{
  jfl_script *s = script();
  jfl_script_value speed, name, answer;
  check(jfl_script_get(s, "speed", &speed));
  EXPECT(speed.kind == JFL_SCRIPT_NUMBER && speed.number == 2);
  speed.number = 5;
  check(jfl_script_set(s, "speed", &speed));
  check(jfl_script_define(s, "distance", distance, &speed.number));
  memset(&name, 0, sizeof name);
  name.kind = JFL_SCRIPT_TEXT;
  name.text = "Ann";
  check(jfl_script_invoke(s, "greet", &name, 1, &answer, 1));
  EXPECT(!strcmp(answer.text, "hello Ann, 15"));
  jfl_script_value_clear(&answer);           /* a result's text or array is the caller's */
  jfl_script_free(s);
}

/* The jobs of a text are found by name or number, and tell what they take and give. */
static void jobs_of_a_text(void)
{
  jfl_script *s = script();
  jfl_script_job *ask;
  jfl_mode mode;
  jfl_dtype t;
  jfl_shape shape;
  const char *name;
  int n_in, n_out;
  EXPECT(jfl_script_jobs(s) == 2);
  check(jfl_script_job_at(s, 1, &ask));
  EXPECT(!strcmp(jfl_script_job_name(ask), "ask"));
  check(jfl_script_job_about(ask, &mode, &n_in, &n_out));
  EXPECT(mode == JFL_PREDICT && n_in == 1 && n_out == 1);
  check(jfl_script_job_input(ask, 0, &name, &t, &shape));
  EXPECT(!strcmp(name, "x") && t == JFL_F32 && shape.d[0] == -1);      /* any number of rows */
  check(jfl_script_job_bound(ask, 0, &shape));
  EXPECT(shape.d[0] == -1);                            /* and no bound is said */
  check(jfl_script_job_output(ask, 0, &name, &t, &shape));
  EXPECT(!strcmp(name, "y") && shape.n == 2);
  jfl_plan *plan;
  const jfl_shape *of_ten;
  check(jfl_script_job_plan(ask, 10, &plan));
  check(jfl_plan_output(plan, 0, &name, &t, &of_ten));
  EXPECT(of_ten->d[0] == 10);
  jfl_script_free(s);
}

static jfl_array *column(double factor)
{
  const jfl_shape shape = { 2, { 8, 1 } };
  jfl_array *a;
  check(jfl_array_new(JFL_F32, &shape, &a));
  for (int i = 0; i < 8; i++) ((float *)jfl_array_data(a))[i] = (float)(factor * i / 8);
  return a;
}

/* Training and asking, each call waiting for its result; then all is saved and loaded. */
static void training_a_text(void)
{
  jfl_script *s = script();
  jfl_script_job *train, *ask;
  jfl_session *session;
  jfl_array *in[2] = { column(1), column(3) }, *out;
  check(jfl_script_job_find(s, "train", &train));
  check(jfl_script_job_find(s, "ask", &ask));
  for (int i = 0; i < 300; i++) {
    check(jfl_script_call(train, in, 2, &out, 1));
    jfl_array_unref(out);
  }
  check(jfl_script_call(ask, in, 1, &out, 1));
  const float y = ((float *)jfl_array_data(out))[7];
  EXPECT(y > 2.5f && y < 2.8f);              /* 3 x is 2.625 there */
  jfl_array_unref(out);
  check(jfl_script_save(s, "brain", 1));
  check(jfl_script_load(s, "brain", 1));
  check(jfl_script_session(s, &session));    /* for what concerns variables and settings */
  check(jfl_variable_get(session, "line-weight", &out));
  jfl_array_unref(out);
  jfl_array_unref(in[0]);
  jfl_array_unref(in[1]);
  jfl_script_free(s);
}

static void learnt(void *ud, jfl_request *request)
{
  if (!jfl_request_status(request)) ++*(int *)ud;
}

/* Calls that do not wait: each frame of a game runs callbacks for at most a millisecond. A program
   with an event loop waits for the descriptor, too. */
static void frames(void)
{
  jfl_script *s = script();
  jfl_script_job *train;
  jfl_array *in[2] = { column(1), column(3) };
  int done = 0, delivered, fd, taken_back;
  check(jfl_script_job_find(s, "train", &train));
  check(jfl_script_fd(s, &fd));
  check(jfl_script_submit(train, in, 2, learnt, &done, NULL));
  while (jfl_script_pending(s)) check(jfl_script_poll(s, 0.001, &delivered));
  EXPECT(done == 1);
  check(jfl_script_submit(train, in, 2, learnt, &done, NULL));
  check(jfl_script_cancel(train, &taken_back));
  check(jfl_script_sync(s));                 /* waits for what has begun */
  EXPECT(done == 2 - taken_back);
  jfl_array_unref(in[0]);
  jfl_array_unref(in[1]);
  jfl_script_free(s);
}

/* Any thread may ask for the end of what a script does, such as the one that draws a button. Here
   it is asked between two calls, where it means nothing. */
static void end_of_a_call(void)
{
  jfl_script *s = script();
  jfl_script_interrupt(s);
  check(jfl_script_run(s, "x = 1", 5, "=more"));
  jfl_script_free(s);
}

int main(void)
{
  text_that_runs();
  values_of_a_text();
  jobs_of_a_text();
  training_a_text();
  frames();
  end_of_a_call();
  return 0;
}
