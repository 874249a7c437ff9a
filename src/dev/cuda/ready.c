/* Making calls ready: the sources that they wait for are compiled side by side. */
#include "dev/cuda/image.h"
#include "system/system.h"

#include <stdlib.h>
#include <string.h>

/* A source on its way to one device. */
typedef struct ready_job {
  jf_cuda *cuda;
  jf_cuda_image *image;
  size_t size;                         /* of the text */
  jfl_status status;
  jf_error *error;
} ready_job;

/* The jobs of some calls. Those of the same source and architecture stand side by side: one thread
   does all of them, and compiles once. */
typedef struct ready_list {
  ready_job *job;
  int n, cap;
  atomic_int next;                     /* the first that no thread has taken */
  jf_budget *budget;                   /* that of the thread which waits */
  int low;                             /* its helpers run at the lowest priority */
} ready_list;

/* ---- which ---- */

static int ready_has(const ready_list *r, const jf_cuda *c, const jf_cuda_image *i)
{
  for (int j = 0; j < r->n; j++)
    if (r->job[j].image == i && r->job[j].cuda == c) return 1;
  return 0;
}

static jfl_status ready_add(ready_list *r, jf_cuda *c, jf_cuda_image *i)
{
  size_t size = 0;
  if (ready_has(r, c, i) || jf_cuda_image_is_loaded(c, i, &size)) return JFL_OK;
  if (!JF_ROOM(r->job, r->n, r->cap)) return jf_fail(JFL_ENOMEM, "out of memory");
  r->job[r->n++] = (ready_job){ .cuda = c, .image = i, .size = size };
  return JFL_OK;
}

static jfl_status ready_gather(ready_list *r, jf_kargs *const *k, int n)
{
  for (int i = 0; i < n; i++) {
    const jf_cuda_waits *w = k[i]->waits;
    for (int j = 0; w && j < w->n; j++) JF_TRY(ready_add(r, k[i]->device->state, w->image[j]));
  }
  return JFL_OK;
}

static int ready_compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

/* Long texts come first, as they tend to take longest and should not be begun last. */
static int ready_order(const void *a, const void *b)
{
  const ready_job *x = a, *y = b;
  int d = ready_compare(y->size, x->size);
  if (!d) d = ready_compare(x->image->hash, y->image->hash);
  if (!d) d = ready_compare(x->image->second, y->image->second);
  return d ? d : x->cuda->arch - y->cuda->arch;
}

/* Whether a job takes what the one before it has compiled. */
static int ready_follows(const ready_list *r, int i)
{
  return i > 0 && !ready_order(&r->job[i - 1], &r->job[i]);
}

/* ---- the work ---- */

static void ready_load(ready_job *j, jf_cuda_code *code)
{
  j->status = jf_time_for(0);
  if (!j->status) j->status = jf_cuda_image_load(j->cuda, j->image, code);
  if (j->status) j->error = jf_error_copy();
}

static void ready_work(ready_list *r)
{
  for (int i; (i = atomic_fetch_add(&r->next, 1)) < r->n;) {
    jf_cuda_code code = { NULL, 0, 0 };
    if (ready_follows(r, i)) continue;
    do ready_load(&r->job[i], &code);
    while (++i < r->n && ready_follows(r, i));
    jf_free(code.image);
  }
}

static void *ready_help(void *ctx)
{
  ready_list *r = ctx;
  jf_thread_begins("helper");
  if (r->low) jf_thread_lower();
  jf_memory_charge(r->budget);
  ready_work(r);
  jf_memory_charge(NULL);
  jf_thread_ends("helper");
  return NULL;
}

/* Does all jobs on the caller and up to threads - 1 helpers: fewer, where the system gives none.
   They are not those of loops, which are not to wait for the disk or for a lock. */
static void ready_run(ready_list *r, int threads)
{
  enum { MOST = 64 };
  pthread_t helper[MOST];
  int most, n = 0;
  jf_loops_get(&most, &r->low);
  if (most && threads > most) threads = most;
  if (threads > MOST) threads = MOST;
  if (threads > r->n) threads = r->n;
  r->budget = jf_memory_budget();
  while (n < threads - 1 && !jf_thread_start(&helper[n], ready_help, r)) n++;
  ready_work(r);
  for (int i = 0; i < n; i++) pthread_join(helper[i], NULL);
}

/* ---- how it ended ---- */

static const ready_job *ready_failed(const ready_list *r, const jf_kargs *k)
{
  const jf_cuda_waits *w = k->waits;
  for (int i = 0; w && i < w->n; i++)
    for (int j = 0; j < r->n; j++)
      if (r->job[j].image == w->image[i] && r->job[j].status) return &r->job[j];
  return NULL;
}

/* Fails as the first of the calls did that has a source which failed. */
static jfl_status ready_tell(const ready_list *r, jf_kargs *const *k, int n, int *failed)
{
  for (int i = 0; i < n; i++) {
    const ready_job *j = ready_failed(r, k[i]);
    if (!j) continue;
    *failed = i;
    return jf_error_restore(j->status, j->error);
  }
  return JFL_OK;
}

jfl_status jf_cuda_ready(jf_kargs *const *k, int n, int threads, int *failed)
{
  ready_list r = { .job = NULL };
  jfl_status s = ready_gather(&r, k, n);
  if (!s && r.n) {
    qsort(r.job, (size_t)r.n, sizeof *r.job, ready_order);
    ready_run(&r, threads);
    s = ready_tell(&r, k, n, failed);
  }
  for (int i = 0; i < r.n; i++) jf_free(r.job[i].error);
  jf_free(r.job);
  return s;
}
