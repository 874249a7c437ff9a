/* A loader: threads that decode samples ahead of whoever takes them.

   Batches wait in a queue, in the order in which they were wanted. A thread takes the next sample
   that nobody has begun, of the oldest batch that has one, and decodes it into its place in the
   batch. So results do not depend on how many threads there are. Whoever takes the oldest batch
   decodes too while samples of it are left; with no threads it decodes all of them. */
#include "data/data.h"
#include "system/system.h"

#include <pthread.h>
#include <string.h>

enum { MOST_WORKERS = 64, MOST_BATCH = 1 << 20 };

typedef enum loader_state { WAITS, BEGUN, DONE } loader_state;

typedef struct loader_sample {
  jfl_place place;             /* its path is the sample's own */
  loader_state state;
  jfl_status status;
  jf_error *error;             /* where the status is a failure; NULL: memory was out */
} loader_sample;

/* Guarded by the loader's mu, but for the array's memory, of which each sample has a part. */
typedef struct loader_batch {
  struct loader_batch *next;
  jfl_array *out;
  int n, begun, done;
  loader_sample sample[];
} loader_batch;

struct jfl_loader {
  jf_tag tag;
  jfl_sample_spec spec;        /* immutable, with what it points to */
  jfl_mel_spec mel;            /* that of the spec */
  char *feature;
  size_t size;                 /* bytes of a sample; immutable */
  unsigned forks;              /* as of jf_forks, when the threads were started */
  jf_budget *budget;           /* of whoever made it, for whom its threads work; immutable */
  pthread_mutex_t mu; jf_fork_lock at_fork;
  jf_condition wanted, finished;         /* there is a sample to begin; one is done */
  loader_batch *first, *last;  /* guarded by mu */
  int ends;                    /* guarded by mu */
  int n_worker;
  pthread_t worker[MOST_WORKERS];
  jf_decoder decoder;          /* of whoever takes batches */
  loader_batch *taken;         /* whose samples that could not be read may be asked for */
};

/* ---- samples, with mu held ---- */

/* The oldest sample that nobody has begun, and its batch; NULL where all are begun. */
static loader_sample *loader_next(jfl_loader *l, loader_batch **of)
{
  for (loader_batch *b = l->first; b; b = b->next)
    if (b->begun < b->n) {
      *of = b;
      return &b->sample[b->begun];
    }
  return NULL;
}

/* Decodes a sample; mu is given back meanwhile. */
static void loader_decode(jfl_loader *l, loader_batch *b, loader_sample *p, jf_decoder *d)
{
  p->state = BEGUN;
  while (b->begun < b->n && b->sample[b->begun].state != WAITS) b->begun++;
  pthread_mutex_unlock(&l->mu);
  char *to = (char *)jfl_array_data(b->out) + (size_t)(p - b->sample) * l->size;
  jfl_status s = jf_sample_load(d, &p->place, &l->spec, to);
  jf_error *e = s == JFL_OK ? NULL : jf_error_copy();
  pthread_mutex_lock(&l->mu);
  p->status = s;
  p->error = e;
  p->state = DONE;
  if (++b->done == b->n) jf_condition_tell(&l->finished);
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
    loader_sample *p = loader_next(l, &b);
    if (p) loader_decode(l, b, p, &d);
    else jf_condition_wait(&l->wanted, &l->mu);
  }
  pthread_mutex_unlock(&l->mu);
  jf_decoder_free(&d);
  jf_memory_charge(NULL);
  jf_thread_ends("loader");
  return NULL;
}

/* ---- making and ending one ---- */

/* A forked child has no threads, and a sample that one of them had begun is begun anew. A
   file that is open is the parent's, too. */
static void loader_check_fork(jfl_loader *l)
{
  if (l->forks == jf_forks()) return;
  l->forks = jf_forks();
  l->n_worker = 0;
  pthread_mutex_init(&l->mu, NULL);
  l->wanted = l->finished = (jf_condition){ 0 };
  jf_input_close(&l->decoder.input);
  for (loader_batch *b = l->first; b; b = b->next) {
    b->begun = b->done = b->n;
    for (int i = b->n; i-- > 0;)
      if (b->sample[i].state != DONE) {
        b->sample[i].state = WAITS;
        b->begun = i;
        b->done--;
      }
  }
}

/* Keeps what the spec points to. */
static jfl_status loader_keep(jfl_loader *l, const jfl_sample_spec *spec)
{
  l->spec = *spec;
  if (spec->kind == JFL_SOUND && spec->sound.mel) {
    l->mel = *spec->sound.mel;
    l->spec.sound.mel = &l->mel;
  }
  if (!spec->feature) return JFL_OK;
  l->feature = jf_new_raw(strlen(spec->feature) + 1);
  if (!l->feature) return jf_fail(JFL_ENOMEM, "out of memory");
  l->spec.feature = strcpy(l->feature, spec->feature);
  return JFL_OK;
}

static jfl_status loader_check(const char *who, const jfl_sample_spec *spec, int workers)
{
  JF_TRY(jf_sample_check(who, spec));
  if (spec->kind == JFL_PICTURE && spec->picture.fit == JFL_WHOLE)
    return jf_need_told(who, jf_fail_argument(JFL_EINVAL, "fit", "must give every picture the same "
                                              "size"));
  if (spec->kind == JFL_SOUND && (!spec->sound.length || !spec->sound.channels))
    return jf_need_told(who, jf_fail_argument(JFL_EINVAL, "length and channels", "must be the same "
                                              "for every sound"));
  return jf_need_from(who, "workers", workers, 0, MOST_WORKERS);
}

static jfl_status loader_make(const char *who, const jfl_sample_spec *spec, int workers,
                              jfl_loader **out)
{
  JF_TRY(loader_check(who, spec, workers));
  jfl_loader *l = jf_new(sizeof *l);
  if (!l) return jf_fail(JFL_ENOMEM, "out of memory");
  l->tag = JF_TAG_LOADER;
  l->budget = jf_memory_budget();
  pthread_mutex_init(&l->mu, NULL);
  l->forks = jf_forks();
  jf_fork_lock_add(&l->at_fork, &l->mu);
  const jfl_status r = loader_keep(l, spec);
  if (r != JFL_OK) {
    jfl_loader_free(l);
    return r;
  }
  const jfl_shape shape = jf_sample_shape(&l->spec);
  l->size = (size_t)jf_numel(&shape) * jfl_dtype_size(jf_sample_dtype(&l->spec));
  /* Starts as many threads as the system allows. */
  while (l->n_worker < workers &&
         !jf_thread_start(&l->worker[l->n_worker], loader_work, l))
    l->n_worker++;
  *out = l;
  return JFL_OK;
}

jfl_status jfl_loader_new(const jfl_picture_spec *spec, int workers, jfl_loader **out)
{
  JF_NEED_POINTERS(spec, out);
  const jfl_sample_spec of = { .kind = JFL_PICTURE, .picture = *spec };
  return loader_make(__func__, &of, workers, out);
}

jfl_status jfl_loader_of(const jfl_sample_spec *spec, int workers, jfl_loader **out)
{
  JF_NEED_POINTER(out);
  return loader_make(__func__, spec, workers, out);
}

static void loader_batch_free(loader_batch *b)
{
  if (!b) return;
  for (int i = 0; i < b->n; i++) {
    jf_free((char *)b->sample[i].place.path);
    jf_free(b->sample[i].error);
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
  jf_condition_tell(&l->wanted);
  pthread_mutex_unlock(&l->mu);
  for (int i = 0; i < l->n_worker; i++) pthread_join(l->worker[i], NULL);
  for (loader_batch *b = l->first, *next; b; b = next) {
    next = b->next;
    loader_batch_free(b);
  }
  loader_batch_free(l->taken);
  jf_free(l->feature);
  jf_decoder_free(&l->decoder);
  jf_fork_lock_remove(&l->at_fork);
  pthread_mutex_destroy(&l->mu);
  jf_free(l);
}

/* ---- batches ---- */

static jfl_status loader_place(const jfl_place *from, jfl_place *out)
{
  char *path = jf_new_raw(strlen(from->path) + 1);
  if (!path) return jf_fail(JFL_ENOMEM, "out of memory");
  *out = *from;
  out->path = strcpy(path, from->path);
  return JFL_OK;
}

static jfl_status loader_batch_new(const jfl_loader *l, const jfl_place *place, int n,
                                   loader_batch **out)
{
  const jfl_shape one = jf_sample_shape(&l->spec);
  jfl_shape shape = { one.n + 1, { n } };
  for (int i = 0; i < one.n; i++) shape.d[i + 1] = one.d[i];
  loader_batch *b = jf_new(sizeof *b + (size_t)n * sizeof *b->sample);
  if (!b) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status r = jfl_array_new(jf_sample_dtype(&l->spec), &shape, &b->out);
  for (; r == JFL_OK && b->n < n; b->n++) r = loader_place(&place[b->n], &b->sample[b->n].place);
  if (r == JFL_OK) *out = b;
  else loader_batch_free(b);
  return r;
}

static jfl_status loader_want(const char *who, jfl_loader *l, const jfl_place *place, int n)
{
  loader_batch *b = NULL;
  for (int i = 0; i < n; i++) JF_TRY(jf_need_pointer(who, "path", place[i].path));
  loader_check_fork(l);
  JF_TRY(loader_batch_new(l, place, n, &b));
  pthread_mutex_lock(&l->mu);
  if (l->first) l->last->next = b;
  else l->first = b;
  l->last = b;
  jf_condition_tell(&l->wanted);
  pthread_mutex_unlock(&l->mu);
  return JFL_OK;
}

jfl_status jfl_loader_want_places(jfl_loader *l, const jfl_place *place, int n)
{
  JF_NEED(LOADER, l);
  JF_NEED_LIST(place, n);
  JF_NEED_FROM(n, 1, MOST_BATCH);
  return loader_want(__func__, l, place, n);
}

jfl_status jfl_loader_want(jfl_loader *l, const char *const *path, const uint64_t *seed, int n)
{
  JF_NEED(LOADER, l);
  JF_NEED_LIST(path, n);
  JF_NEED_LIST(seed, n);
  JF_NEED_FROM(n, 1, MOST_BATCH);
  jfl_place *place = jf_new((size_t)n * sizeof *place);
  if (!place) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < n; i++) place[i] = (jfl_place){ path[i], 0, 0, seed[i] };
  const jfl_status r = loader_want(__func__, l, place, n);
  jf_free(place);
  return r;
}

/* Takes the oldest batch out of the queue once it is done. */
static loader_batch *loader_finish(jfl_loader *l)
{
  pthread_mutex_lock(&l->mu);
  loader_batch *b = l->first;
  while (b && b->done < b->n) {
    if (b->begun < b->n) loader_decode(l, b, &b->sample[b->begun], &l->decoder);
    else jf_condition_wait(&l->finished, &l->mu);
  }
  if (b) l->first = b->next;
  pthread_mutex_unlock(&l->mu);
  return b;
}

static jfl_status loader_next_batch(jfl_loader *l, loader_batch **out)
{
  loader_check_fork(l);
  *out = loader_finish(l);
  if (*out) return JFL_OK;
  return jf_fail(JFL_ESTATE, "batches must be wanted before they are taken, got none");
}

jfl_status jfl_loader_take(jfl_loader *l, jfl_array **out)
{
  loader_batch *b;
  JF_NEED(LOADER, l);
  JF_NEED_POINTER(out);
  JF_TRY(loader_next_batch(l, &b));
  jfl_status r = JFL_OK;
  for (int i = 0; i < b->n && r == JFL_OK; i++)
    if (b->sample[i].status != JFL_OK)
      r = jf_error_restore(b->sample[i].status, b->sample[i].error);
  if (r == JFL_OK) *out = jfl_array_ref(b->out);
  loader_batch_free(b);
  return r;
}

jfl_status jfl_loader_take_some(jfl_loader *l, jfl_array **out)
{
  loader_batch *b;
  JF_NEED(LOADER, l);
  JF_NEED_POINTER(out);
  JF_TRY(loader_next_batch(l, &b));
  loader_batch_free(l->taken);
  l->taken = b;
  for (int i = 0; i < b->n; i++)
    if (b->sample[i].status == JFL_ENOMEM || b->sample[i].status == JFL_ENOSYS)
      return jf_error_restore(b->sample[i].status, b->sample[i].error);
    else if (b->sample[i].status != JFL_OK)
      memset((char *)jfl_array_data(b->out) + (size_t)i * l->size, 0, l->size);
  *out = jfl_array_ref(b->out);
  return JFL_OK;
}

int jfl_loader_bad(const jfl_loader *l, int which, int *item, const char **why)
{
  if (!JF_IS(LOADER, l) || !l->taken || !item || !why) return 0;
  for (int i = 0; i < l->taken->n; i++) {
    const loader_sample *s = &l->taken->sample[i];
    if (s->status == JFL_OK || which-- > 0) continue;
    *item = i;
    jf_error_restore(s->status, s->error);
    *why = jfl_errmsg();
    return 1;
  }
  return 0;
}
