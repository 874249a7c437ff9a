/* A loader: threads that decode pictures ahead of whoever takes them.

   Batches wait in a queue, in the order in which they were wanted. A thread takes the next picture
   that nobody has begun, of the oldest batch that has one, and decodes it into its place in the
   batch. So results do not depend on how many threads there are. Whoever takes the oldest batch
   decodes too while pictures of it are left; with no threads it decodes all of them. */
#include "data/data.h"
#include "system/system.h"

#include <pthread.h>
#include <string.h>

enum { MOST_WORKERS = 64, MOST_BATCH = 1 << 20 };

typedef enum loader_state { WAITS, BEGUN, DONE } loader_state;

typedef struct loader_picture {
  char *path;
  uint64_t seed;
  loader_state state;
  jfl_status status;
  jf_error *error;             /* where the status is a failure; NULL: memory was out */
} loader_picture;

/* Guarded by the loader's mu, but for the array's memory, of which each picture has a part. */
typedef struct loader_batch {
  struct loader_batch *next;
  jfl_array *out;
  int n, begun, done;
  loader_picture picture[];
} loader_batch;

struct jfl_loader {
  jf_tag tag;
  jfl_picture_spec spec;       /* immutable */
  size_t size;                 /* bytes of a picture; immutable */
  unsigned forks;              /* as of jf_forks, when the threads were started */
  jf_budget *budget;           /* of whoever made it, for whom its threads work; immutable */
  pthread_mutex_t mu;
  pthread_cond_t wanted, finished;       /* there is a picture to begin; one is done */
  loader_batch *first, *last;  /* guarded by mu */
  int ends;                    /* guarded by mu */
  int n_worker;
  pthread_t worker[MOST_WORKERS];
  jf_decoder decoder;          /* of whoever takes batches */
};

/* ---- pictures, with mu held ---- */

/* The oldest picture that nobody has begun, and its batch; NULL where all are begun. */
static loader_picture *loader_next(jfl_loader *l, loader_batch **of)
{
  for (loader_batch *b = l->first; b; b = b->next)
    if (b->begun < b->n) {
      *of = b;
      return &b->picture[b->begun];
    }
  return NULL;
}

/* Decodes a picture; mu is given back meanwhile. */
static void loader_decode(jfl_loader *l, loader_batch *b, loader_picture *p, jf_decoder *d)
{
  p->state = BEGUN;
  while (b->begun < b->n && b->picture[b->begun].state != WAITS) b->begun++;
  pthread_mutex_unlock(&l->mu);
  char *to = (char *)jfl_array_data(b->out) + (size_t)(p - b->picture) * l->size;
  jfl_status s = jf_picture_load(d, p->path, &l->spec, p->seed, to);
  jf_error *e = s == JFL_OK ? NULL : jf_error_copy();
  pthread_mutex_lock(&l->mu);
  p->status = s;
  p->error = e;
  p->state = DONE;
  if (++b->done == b->n) pthread_cond_broadcast(&l->finished);
}

static void *loader_work(void *arg)
{
  jfl_loader *l = arg;
  jf_decoder d = { 0 };
  jf_thread_begins("loader");
  jf_memory_charge(l->budget);
  pthread_mutex_lock(&l->mu);
  while (!l->ends) {
    loader_batch *b;
    loader_picture *p = loader_next(l, &b);
    if (p) loader_decode(l, b, p, &d);
    else pthread_cond_wait(&l->wanted, &l->mu);
  }
  pthread_mutex_unlock(&l->mu);
  jf_decoder_free(&d);
  jf_memory_charge(NULL);
  jf_thread_ends("loader");
  return NULL;
}

/* ---- making and ending one ---- */

/* Starts as many threads as the system allows. */
static void loader_start(jfl_loader *l, int workers)
{
  l->forks = jf_forks();
  while (l->n_worker < workers &&
         !jf_thread_start(&l->worker[l->n_worker], loader_work, l))
    l->n_worker++;
}

/* A forked child has no threads, and a picture that one of them had begun is begun anew. */
static void loader_check_fork(jfl_loader *l)
{
  if (l->forks == jf_forks()) return;
  l->forks = jf_forks();
  l->n_worker = 0;
  pthread_mutex_init(&l->mu, NULL);
  pthread_cond_init(&l->wanted, NULL);
  pthread_cond_init(&l->finished, NULL);
  for (loader_batch *b = l->first; b; b = b->next) {
    b->begun = b->done = b->n;
    for (int i = b->n; i-- > 0;)
      if (b->picture[i].state != DONE) {
        b->picture[i].state = WAITS;
        b->begun = i;
        b->done--;
      }
  }
}

jfl_status jfl_loader_new(const jfl_picture_spec *spec, int workers, jfl_loader **out)
{
  JF_NEED_POINTER(out);
  JF_TRY(jf_picture_check(__func__, spec));
  if (spec->fit == JFL_WHOLE)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "fit", "must give every picture the "
                                                   "same size"));
  if (workers < 0 || workers > MOST_WORKERS)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "workers", "must be from 0 to %d, "
                                                   "got %d", MOST_WORKERS, workers));
  jfl_loader *l = jf_new(sizeof *l);
  if (!l) return jf_fail(JFL_ENOMEM, "out of memory");
  l->tag = JF_TAG_LOADER;
  l->budget = jf_memory_budget();
  l->spec = *spec;
  l->size = (size_t)(spec->height * spec->width * spec->channels) * jfl_dtype_size(spec->dtype);
  pthread_mutex_init(&l->mu, NULL);
  pthread_cond_init(&l->wanted, NULL);
  pthread_cond_init(&l->finished, NULL);
  loader_start(l, workers);
  *out = l;
  return JFL_OK;
}

static void loader_batch_free(loader_batch *b)
{
  for (int i = 0; i < b->n; i++) {
    jf_free(b->picture[i].path);
    jf_free(b->picture[i].error);
  }
  jfl_array_unref(b->out);
  jf_free(b);
}

void jfl_loader_free(jfl_loader *l)
{
  if (!JF_IS_LAST(LOADER, l)) return;
  loader_check_fork(l);
  pthread_mutex_lock(&l->mu);
  l->ends = 1;
  pthread_cond_broadcast(&l->wanted);
  pthread_mutex_unlock(&l->mu);
  for (int i = 0; i < l->n_worker; i++) pthread_join(l->worker[i], NULL);
  for (loader_batch *b = l->first, *next; b; b = next) {
    next = b->next;
    loader_batch_free(b);
  }
  jf_decoder_free(&l->decoder);
  pthread_mutex_destroy(&l->mu);
  pthread_cond_destroy(&l->wanted);
  pthread_cond_destroy(&l->finished);
  jf_free(l);
}

/* ---- batches ---- */

static jfl_status loader_batch_new(const jfl_loader *l, const char *const *path,
                                   const uint64_t *seed, int n, loader_batch **out)
{
  const jfl_picture_spec *s = &l->spec;
  jfl_shape shape = { 4, { n, s->height, s->width, s->channels } };
  if (s->planes) shape = (jfl_shape){ 4, { n, s->channels, s->height, s->width } };
  loader_batch *b = jf_new(sizeof *b + (size_t)n * sizeof *b->picture);
  if (!b) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status r = jfl_array_new(s->dtype, &shape, &b->out);
  for (; r == JFL_OK && b->n < n; b->n++) {
    const size_t size = strlen(path[b->n]) + 1;
    loader_picture *p = &b->picture[b->n];
    p->path = jf_new_raw(size);
    p->seed = seed[b->n];
    if (p->path) memcpy(p->path, path[b->n], size);
    else r = jf_fail(JFL_ENOMEM, "out of memory");
  }
  if (r == JFL_OK) *out = b;
  else loader_batch_free(b);
  return r;
}

jfl_status jfl_loader_want(jfl_loader *l, const char *const *path, const uint64_t *seed, int n)
{
  loader_batch *b = NULL;
  JF_NEED(LOADER, l);
  JF_NEED_LIST(path, n);
  JF_NEED_LIST(seed, n);
  if (n < 1 || n > MOST_BATCH)
    return jf_need_told(__func__, jf_fail_argument(JFL_EINVAL, "n", "must be from 1 to %d, got %d",
                                                   MOST_BATCH, n));
  for (int i = 0; i < n; i++) JF_TRY(jf_need_pointer(__func__, "path", path[i]));
  loader_check_fork(l);
  JF_TRY(loader_batch_new(l, path, seed, n, &b));
  pthread_mutex_lock(&l->mu);
  if (l->first) l->last->next = b;
  else l->first = b;
  l->last = b;
  pthread_cond_broadcast(&l->wanted);
  pthread_mutex_unlock(&l->mu);
  return JFL_OK;
}

/* Takes the oldest batch out of the queue once it is done. */
static loader_batch *loader_finish(jfl_loader *l)
{
  pthread_mutex_lock(&l->mu);
  loader_batch *b = l->first;
  while (b && b->done < b->n) {
    if (b->begun < b->n) loader_decode(l, b, &b->picture[b->begun], &l->decoder);
    else pthread_cond_wait(&l->finished, &l->mu);
  }
  if (b) l->first = b->next;
  pthread_mutex_unlock(&l->mu);
  return b;
}

jfl_status jfl_loader_take(jfl_loader *l, jfl_array **out)
{
  JF_NEED(LOADER, l);
  JF_NEED_POINTER(out);
  loader_check_fork(l);
  loader_batch *b = loader_finish(l);
  if (!b) return jf_fail(JFL_ESTATE, "batches must be wanted before they are taken, got none");
  jfl_status r = JFL_OK;
  for (int i = 0; i < b->n && r == JFL_OK; i++)
    if (b->picture[i].status != JFL_OK)
      r = jf_error_restore(b->picture[i].status, b->picture[i].error);
  if (r == JFL_OK) *out = jfl_array_ref(b->out);
  loader_batch_free(b);
  return r;
}
