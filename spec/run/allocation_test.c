/* Running a plan allocates nothing, neither from the library's allocator nor anywhere else in the
   process. There is one exception that we cannot remove: oneDNN keeps the arguments of each
   primitive it runs in a map of its own, and more for some of them; see `grant`. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "models.h"
#include "run/run.h"
#include "test.h"

/* Sanitizers bring their own allocator; with them only the library's calls are counted. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { WHOLE_PROCESS = 0 };
#else
enum { WHOLE_PROCESS = 1 };
#endif

/* Calls of the library's allocator, calls in the whole process, the bytes they asked for, and calls
   that gave memory back. */
static atomic_long own, all, all_bytes, freed;

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/* These functions replace libc's, for libraries that are opened later too. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);
void __libc_free(void *p);

static void count(size_t n)
{
  atomic_fetch_add(&all, 1);
  atomic_fetch_add(&all_bytes, (long)n);
}

JFL_API void *malloc(size_t n)
{
  count(n);
  return __libc_malloc(n);
}

JFL_API void *calloc(size_t n, size_t size)
{
  count(n * size);
  return __libc_calloc(n, size);
}

JFL_API void *realloc(void *p, size_t n)
{
  count(n);
  return __libc_realloc(p, n);
}

JFL_API void free(void *p)
{
  if (p) atomic_fetch_add(&freed, 1);
  __libc_free(p);
}

JFL_API void *memalign(size_t align, size_t n);
void *memalign(size_t align, size_t n)
{
  count(n);
  return __libc_memalign(align, n);
}

JFL_API void *aligned_alloc(size_t align, size_t n) { return memalign(align, n); }

JFL_API int posix_memalign(void **p, size_t align, size_t n)
{
  void *q = memalign(align, n);
  if (q) *p = q;
  return q ? 0 : ENOMEM;
}

JFL_API void *mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
  count(n);
  return (void *)syscall(SYS_mmap, at, n, prot, flags, fd, offset);
}
#endif

static void *take(void *ud, size_t n)
{
  (void)ud;
  atomic_fetch_add(&own, 1);
  return malloc(n);
}

static void give(void *ud, void *p, size_t n)
{
  (void)ud;
  (void)n;
  free(p);
}

static const int64_t batches[] = { 1, 100 };
enum { WARM_UP = 5, RUNS = 20, N_BATCHES = 2 };

static jfl_session *open_session(int threads)
{
  jfl_session *s = NULL;
  jfl_arg a = { .name = "threads", .kind = JFL_ARG_NUMBER, .number = threads };
  CHECK(!jfl_session_new(&s));
  CHECK(!jfl_session_set(s, &a));
  return s;
}

/* What oneDNN may allocate for one of the shards that a problem is cut into, and must give back: a
   map of up to four arguments (nodes and two tables), what converts before and after it, and, for
   products of matrices that lie apart, copies of both in an order of its own. */
enum { PIECES = 64, PIECE_CALLS = 7, PIECE_BYTES = 300, CONVERSIONS = 20, COPIES = 1 << 17 };

/* How much a step may allocate. */
static void grant(const jf_step *st, long *calls, long *bytes)
{
  const int dnnl = !strncmp(jf_step_kernel(st), "dnnl_", 5);
  *calls = dnnl ? PIECES * PIECE_CALLS + CONVERSIONS : 0;
  *bytes = dnnl ? PIECES * (PIECE_BYTES + COPIES) : 0;
}

static long own_before, all_before, bytes_before, back;

static jfl_status before_step(jf_execution *e, int step, int *done)
{
  (void)e;
  (void)step;
  (void)done;
  own_before = own;
  all_before = all;
  bytes_before = all_bytes;
  back = freed;
  return JFL_OK;
}

static jfl_status after_step(jf_execution *e, int step)
{
  const jfl_plan *p = e->plan;
  const jf_step *st = &p->step[step];
  const long calls = all - all_before, bytes = all_bytes - bytes_before;
  long most_calls, most_bytes;
  grant(st, &most_calls, &most_bytes);
  CHECK_MSG(own == own_before, "%s: %ld calls", st->node->name, own - own_before);
  CHECK_MSG(calls <= most_calls && bytes <= most_bytes, "%s of %s: %ld calls, %ld bytes",
            st->node->name, p->graph->name, calls, bytes);
  CHECK_MSG(calls == freed - back, "%s of %s: %ld calls, %ld given back", st->node->name,
            p->graph->name,
            calls, freed - back);
  return JFL_OK;
}

static const jf_observer counts = { .before = before_step, .after = after_step };

/* Whether runs come to give back all they take. A helper that first finds work late makes what
   oneDNN keeps for each thread only then, so that a few runs may keep something. */
static int keeps_nothing(jfl_plan *p, jfl_array *const *in, jfl_array *const *out, long live)
{
  for (int tries = 0; all - freed != live; tries++) {
    if (tries == 10) return 0;
    live = all - freed;
    for (int i = 0; i < RUNS; i++) CHECK(!jf_execute(p, in, out));
  }
  return 1;
}

/* Runs the plan as a whole, then step by step. */
static void execute(jfl_plan *p, jfl_array *const *in, jfl_array *const *out)
{
  for (int i = 0; i < WARM_UP; i++) CHECK(!jf_execute(p, in, out));
  own_before = own;
  long live = all - freed;
  for (int i = 0; i < RUNS; i++) CHECK(!jf_execute(p, in, out));
  CHECK_MSG(own == own_before, "%s: %ld calls in %d runs", p->graph->name, own - own_before,
            (int)RUNS);
  CHECK_MSG(keeps_nothing(p, in, out, live), "%s: %ld kept, %ld before", p->graph->name,
            all - freed, live);
  CHECK(!jf_steps(p->execution[0], 0, (const jf_observer *[]){ &counts, NULL }));
}

static void check_model(const char *name, model_net net, int64_t batch, double momentum,
                        int threads)
{
  jfl_session *s = open_session(threads);
  jfl_plan *p;
  jfl_array *in[2], *out[1];
  CHECK_MSG(!model_plan(s, name, net, batch, momentum, &p), "%s", jfl_errmsg());
  CHECK(!model_inputs(batch, in));
  CHECK(!jf_plan_outputs_new(p, out));
  execute(p, in, out);
  model_drop(in);
  jfl_array_unref(out[0]);
  jfl_session_free(s);
}

static void check_models(int threads)
{
  for (int i = 0; i < N_BATCHES; i++)
    for (double momentum = 0; momentum < 1; momentum += 0.9) {
      check_model("linear", model_linear, batches[i], momentum, threads);
      check_model("mlp", model_mlp, batches[i], momentum, threads);
      check_model("lenet", model_lenet, batches[i], momentum, threads);
    }
}

static void a_run_on_one_thread_allocates_nothing(void) { check_models(1); }
static void a_run_on_two_threads_allocates_nothing(void) { check_models(2); }

/* An array takes one allocation, with its elements. */
static void a_call_allocates_its_results_alone(void)
{
  jfl_session *s = open_session(1);
  jfl_plan *p;
  jfl_array *in[2], *out[1];
  CHECK(!model_plan(s, "mlp", model_mlp, 8, 0, &p));
  CHECK(!model_inputs(8, in));
  for (int i = 0; i < RUNS; i++) {
    long before = own;
    CHECK(!jfl_run(p, in, out));
    CHECK_MSG(own - before == 1, "%ld calls", own - before);
    jfl_array_unref(out[0]);
  }
  model_drop(in);
  jfl_session_free(s);
}

/* Without this the test could count nothing: libraries must use the replaced functions. */
static void allocations_of_libraries_are_counted(void)
{
  if (!WHOLE_PROCESS) return;
  long before = all;
  jfl_session_free(open_session(1));
  char *copy = strdup("counted");
  CHECK(all - before >= 2);
  free(copy);
}

int main(void)
{
  jfl_set_allocator(&(jfl_allocator){ take, give, NULL });
  RUN(allocations_of_libraries_are_counted);
  RUN(a_run_on_one_thread_allocates_nothing);
  RUN(a_run_on_two_threads_allocates_nothing);
  RUN(a_call_allocates_its_results_alone);
  return test_done();
}
