/* What becomes of objects when those that they were made with go first, in whatever order, and of
   one that several threads free. */
#include "counter.h"
#include "lua_test.h"
#include "scratch.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MUST(e) do { if (e) { fprintf(stderr, "%s\n", jfl_errmsg()); abort(); } } while (0)

/* ---- allocators ---- */

enum { MOST_BLOCKS = 1 << 16 };

/* One that gives back no memory before the test's end, so that what was freed can be looked at, and
   counts how often each block is freed; or, if it is `eager`, one that hands out at once what was
   freed last. */
static struct { void *p; size_t size; int freed; } block[MOST_BLOCKS];
static int n_block, eager, twice;
static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;

static void *take(void *ud, size_t size)
{
  (void)ud;
  pthread_mutex_lock(&mu);
  int i = n_block;
  for (int k = n_block; eager && k--;)
    if (block[k].freed && block[k].size == size) i = k;
  if (i == n_block) {
    if (i == MOST_BLOCKS) abort();
    block[i].p = malloc(block[i].size = size);
    n_block++;
  }
  block[i].freed = 0;
  pthread_mutex_unlock(&mu);
  return block[i].p;
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud, (void)size;
  pthread_mutex_lock(&mu);
  for (int i = n_block; i--;)
    if (block[i].p == p) twice += block[i].freed++ > 0;
  pthread_mutex_unlock(&mu);
}

static void keep_memory(int at_once)
{
  eager = at_once;
  twice = 0;
  MUST(jfl_set_allocator(&(jfl_allocator){ take, give, NULL }));
}

static void drop_memory(void)
{
  MUST(jfl_set_allocator(NULL));
  while (n_block) free(block[--n_block].p);
}

/* ---- sessions that go first ---- */

static jfl_session *session_with(int cpu_devices)
{
  const jfl_arg devices = { .name = "cpu_devices", .number = cpu_devices };
  jfl_session *s;
  MUST(jfl_session_new(&s));
  MUST(jfl_session_set(s, &devices));
  return s;
}

/* Places are numbers in a session, which mean nothing in another that got its memory. */
static void a_graph_knows_its_session_from_the_next(void)
{
  const jfl_shape shape = { 1, { 4 } };
  jfl_graph *g;
  jfl_value *x, *y;
  jfl_members m;
  jfl_job *j;
  jfl_plan *p;
  keep_memory(1);
  jfl_session *first = session_with(4);
  MUST(jfl_graph_new("job", JFL_PREDICT, &g));
  CHECK_MSG(!jfl_graph_place(g, first, "cpu:1-2"), "%s", jfl_errmsg());
  MUST(jfl_graph_input(g, "x", JFL_F32, &shape, &x));
  MUST(jfl_graph_op(g, jfl_op_find("relu"), &x, 1, NULL, 0, NULL, &y));
  MUST(jfl_graph_output(g, y));
  jfl_session_free(first);
  jfl_session *next = session_with(1);
  CHECK_MSG(next == first, "the allocator did not give it the same memory");
  CHECK(jfl_graph_members(g, next, &m) == JFL_EINVAL);
  CHECK(jfl_graph_place(g, next, NULL) == JFL_EINVAL);
  CHECK(!jfl_job_new(next, "job", JFL_PREDICT, &j) && jfl_job_compile(j, g, &p) == JFL_EINVAL);
  CHECK(jfl_session_define(next, g, &p) != JFL_OK);
  jfl_session_free(next);
  drop_memory();
}

static void a_request_outlives_its_session(void)
{
  jfl_session *s = session_with(1);
  const jfl_arg queued = { .name = "inline_limit" };
  jfl_array *in[2];
  jfl_request *r[2];
  jfl_plan *p;
  int cancelled = 7;
  MUST(counter_plan(s, "job", &p));
  MUST(counter_inputs(0, in));
  MUST(jfl_session_set(s, &queued));
  for (int i = 0; i < 2; i++) MUST(jfl_submit(p, in, &r[i]));
  jfl_session_free(s);
  for (int i = 0; i < 2; i++) {
    const jfl_status st = jfl_request_status(r[i]);
    CHECK(jfl_request_done(r[i]) && (st == JFL_OK || st == JFL_ESTATE));
    CHECK((jfl_request_output(r[i], 0) != NULL) == (st == JFL_OK));
    CHECK(!jfl_request_cancel(r[i], &cancelled) && cancelled == 0);
    jfl_request_unref(r[i]);
  }
  counter_drop(in);
}

/* ---- one object, several threads ---- */

enum { THREADS = 4, ROUNDS = 100 };

static struct { void *object; void (*drop)(void *p); pthread_barrier_t gate; } shared;

static void *drop_shared(void *arg)
{
  (void)arg;
  for (int i = 0; i < ROUNDS; i++) {
    pthread_barrier_wait(&shared.gate);        /* until there is an object */
    shared.drop(shared.object);
    pthread_barrier_wait(&shared.gate);
  }
  return NULL;
}

/* All threads free what `make` gives, at once. */
static void free_together(const char *what, void *(*make)(void), void (*drop)(void *p))
{
  pthread_t t[THREADS];
  keep_memory(0);
  shared.drop = drop;
  pthread_barrier_init(&shared.gate, NULL, THREADS + 1);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&t[i], NULL, drop_shared, NULL)) abort();
  for (int i = 0; i < ROUNDS; i++) {
    shared.object = make();
    pthread_barrier_wait(&shared.gate);
    pthread_barrier_wait(&shared.gate);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  pthread_barrier_destroy(&shared.gate);
  CHECK_MSG(!twice, "%s: %d blocks were freed more than once", what, twice);
  drop_memory();
}

static void *make_table(void)
{
  jfl_csv *t;
  MUST(jfl_csv_read(in_scratch("a.csv"), &(jfl_csv_spec){ .separator = ',', .header = 1 }, &t));
  return t;
}
static void drop_table(void *p) { jfl_csv_free(p); }

static void *make_checkpoint(void)
{
  jfl_checkpoint *c;
  MUST(jfl_checkpoint_open(in_scratch("saved"), &c));
  return c;
}
static void drop_checkpoint(void *p) { jfl_checkpoint_close(p); }

static jfl_session *owner;

static void *make_report(void)
{
  jfl_report *r;
  MUST(jfl_checkpoint_load(owner, in_scratch("saved"), 0, &r));
  return r;
}
static void drop_report(void *p) { jfl_report_free(p); }

static void *make_profile(void)
{
  jfl_profile *p;
  MUST(jfl_profile_start(owner, 4));
  MUST(jfl_profile_stop(owner, &p));
  return p;
}
static void drop_profile(void *p) { jfl_profile_free(p); }

static void *make_output(void)
{
  jfl_output *o;
  MUST(jfl_output_open(in_scratch("written"), &o));
  return o;
}
static void drop_output(void *p) { jfl_output_drop(p); }
static void keep_output(void *p) { jfl_output_keep(p); }

static void *make_loader(void)
{
  jfl_loader *l;
  const jfl_picture_spec spec = { .channels = 3, .fit = JFL_STRETCH, .height = 2, .width = 2 };
  MUST(jfl_loader_new(&spec, 1, &l));
  return l;
}
static void drop_loader(void *p) { jfl_loader_free(p); }

static void *make_session(void) { return session_with(1); }
static void drop_session(void *p) { jfl_session_free(p); }

static void *make_array(void)
{
  jfl_array *a;
  MUST(jfl_array_new(JFL_F32, &(jfl_shape){ 1, { 4 } }, &a));
  return a;
}
static void drop_array(void *p) { jfl_array_unref(p); }

static void one_of_several_threads_frees_an_object(void)
{
  static const struct { const char *what; void *(*make)(void); void (*drop)(void *p); } kinds[] = {
    { "table", make_table, drop_table }, { "checkpoint", make_checkpoint, drop_checkpoint },
    { "report", make_report, drop_report }, { "profile", make_profile, drop_profile },
    { "output", make_output, drop_output }, { "kept output", make_output, keep_output },
    { "loader", make_loader, drop_loader }, { "session", make_session, drop_session },
    { "array", make_array, drop_array },
  };
  FILE *file = fopen(in_scratch("a.csv"), "w");
  fputs("a,b\nx,1\n", file);
  fclose(file);
  owner = session_with(1);
  MUST(jfl_checkpoint_save(owner, in_scratch("saved"), 1));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    free_together(kinds[i].what, kinds[i].make, kinds[i].drop);
  jfl_session_free(owner);
}

/* ---- callbacks ---- */

static void say_again(void *ud, const char *text)
{
  ++*(int *)ud;
  CHECK(!jfl_warn(text));
}

static void a_warning_within_a_warning_is_not_told(void)
{
  int said = 0;
  MUST(jfl_set_log(&(jfl_log){ say_again, &said }));
  CHECK(jfl_warn("careful") && said == 1 && jfl_warn("careful") && said == 2);
  MUST(jfl_set_log(NULL));
}

int main(void)
{
  scratch_make();
  RUN(a_graph_knows_its_session_from_the_next);
  RUN(a_request_outlives_its_session);
  RUN(a_warning_within_a_warning_is_not_told);
  RUN(one_of_several_threads_frees_an_object);
  return test_done();
}
