/* A C program whose jobs are described in a Lua text: it trains between frames of 16 ms, for at
   most a millisecond of each on its own thread, until the text says that it is enough. The Lua that
   runs it is inside of the library.

     cc -Isrc examples/embed_script.c build/libjfl.a -lluajit-5.1 -l:libz.a -ldl -lm -pthread \
       -o game && ./game examples

   Where jfl is installed, in a folder with embed_script.lua:

     cc embed_script.c $(pkg-config --cflags --libs jfl) -lm -o game && ./game . */
#include "jfl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCH = 64 };

static void check(jfl_status s)
{
  if (s == JFL_OK) return;
  fprintf(stderr, "%s\n", jfl_errmsg());
  exit(1);
}

/* The game, and what it keeps for the next step of training. */
typedef struct game {
  jfl_script *script;
  jfl_script_job *train;
  jfl_array *in[2];
  int steps, done;
  char shown[64];
} game;

/* What the text calls to show a line. */
static jfl_status show(void *ud, const jfl_script_value *arg, int n_arg, jfl_script_value *result)
{
  game *g = ud;
  (void)result;
  if (n_arg != 1 || arg->kind != JFL_SCRIPT_TEXT)
    return jfl_fail(JFL_EINVAL, "show: takes a text");
  snprintf(g->shown, sizeof g->shown, "%s", arg->text);
  return JFL_OK;
}

static void stepped(void *ud, jfl_request *request);

/* Queues a step on new samples; its callback queues the next one, so that one is always out. */
static void submit(game *g)
{
  float *x = jfl_array_data(g->in[0]), *y = jfl_array_data(g->in[1]);
  for (int i = 0; i < BATCH; i++) {
    x[i] = (float)(rand() % 6000) / 1000 - 3;
    y[i] = sinf(x[i]);
  }
  check(jfl_script_submit(g->train, g->in, 2, stepped, g, NULL));
}

/* Runs within jfl_script_poll, on the program's thread. */
static void stepped(void *ud, jfl_request *request)
{
  game *g = ud;
  check(jfl_request_status(request));
  double loss = *(const float *)jfl_array_data(jfl_request_output(request, 0));
  const jfl_script_value arg[] = { { .kind = JFL_SCRIPT_NUMBER, .number = ++g->steps },
                                   { .kind = JFL_SCRIPT_NUMBER, .number = loss } };
  jfl_script_value enough;
  check(jfl_script_invoke(g->script, "report", arg, 2, &enough, 1));
  g->done = enough.number != 0;
  if (!g->done) submit(g);
}

static void ask(jfl_script *s, float value)
{
  jfl_script_job *job;
  jfl_array *x, *y;
  check(jfl_script_job_find(s, "sine-predict", &job));
  check(jfl_array_new(JFL_F32, &(jfl_shape){ 2, { 1, 1 } }, &x));
  *(float *)jfl_array_data(x) = value;
  check(jfl_script_call(job, &x, 1, &y, 1));
  printf("sin(%.1f) is about %.2f\n", value, *(float *)jfl_array_data(y));
  jfl_array_unref(x);
  jfl_array_unref(y);
}

int main(int argc, char **argv)
{
  game g = { 0 };
  char path[1024];
  const jfl_script_options options = { .size = sizeof options, .memory = 256 << 20 };
  check(jfl_script_new(&options, &g.script));
  check(jfl_script_define(g.script, "show", show, &g));
  snprintf(path, sizeof path, "%s/embed_script.lua", argc > 1 ? argv[1] : "examples");
  if (jfl_script_run_file(g.script, path)) {
    fprintf(stderr, "%s\n", jfl_script_traceback(g.script));
    return 1;
  }
  check(jfl_script_job_find(g.script, "sine-train", &g.train));
  for (int i = 0; i < 2; i++)
    check(jfl_array_new(JFL_F32, &(jfl_shape){ 2, { BATCH, 1 } }, &g.in[i]));
  submit(&g);
  int frames = 0;
  for (; !g.done; frames++) {
    /* Here the program would draw, and then wait for the end of the frame. */
    check(jfl_script_poll(g.script, 0.001, NULL));
    nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
  }
  printf("%s, between %d frames\n", g.shown, frames);
  ask(g.script, 0.5f);
  check(jfl_script_save(g.script, "brain", 1));
  jfl_array_unref(g.in[0]);
  jfl_array_unref(g.in[1]);
  jfl_script_free(g.script);
  return 0;
}
