/* Checkpoints that several processes read together: rank 0 opens and reads them, and the others get
   from it what is there. They need no file system in common. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"
#include "world/world.h"

#include <string.h>

/* A source as bytes: this head, then for each tensor its record, its name and the name of its
   dtype, which is empty where there is none, then key and value of each shard of metadata. */
typedef struct shared_head { int n_tensor, n_meta, about; char path[JF_MOST_PATH]; } shared_head;

static void shared_put_text(jf_text *t, const char *s)
{
  jf_text_put(t, s ? s : "", s ? strlen(s) + 1 : 1);
}

static jfl_status shared_put(const jf_source *s, jf_text *t)
{
  shared_head h = { .n_tensor = s->n_tensor, .n_meta = s->n_meta, .about = s->about };
  strcpy(h.path, s->path);
  jf_text_put(t, (const char *)&h, sizeof h);
  for (int i = 0; i < s->n_tensor; i++) {
    jf_text_put(t, (const char *)&s->tensor[i], sizeof s->tensor[i]);
    shared_put_text(t, s->tensor[i].name);
    shared_put_text(t, s->tensor[i].dtype_name);
  }
  for (int i = 0; i < s->n_meta; i++) {
    shared_put_text(t, s->meta[i].key);
    shared_put_text(t, s->meta[i].value);
  }
  return t->failed ? jf_checkpoint_memory(s->path) : JFL_OK;
}

/* What is left of the bytes that came from rank 0, which may say anything. */
typedef struct shared_rest { const char *at, *end; } shared_rest;

static int shared_get_bytes(shared_rest *r, void *out, size_t n)
{
  if ((size_t)(r->end - r->at) < n) return 0;
  memcpy(out, r->at, n);
  r->at += n;
  return 1;
}

static const char *shared_get_text(shared_rest *r)
{
  const char *s = r->at, *end = memchr(s, '\0', (size_t)(r->end - s));
  if (end) r->at = end + 1;
  return end ? s : NULL;
}

static int shared_makes_sense(const jf_entry *t)
{
  if ((unsigned)t->dtype > JFL_N_DTYPE || (unsigned)t->blocks > JFL_N_DTYPE) return 0;
  if (t->shape.n < 0) return t->shape.n == -1;
  if (jf_shape_check(&t->shape, "shape")) return 0;
  return t->dtype == JFL_N_DTYPE ||
         t->size == JF_BYTES_OF(t);
}

static int shared_get_entry(shared_rest *r, jf_entry *t)
{
  if (!shared_get_bytes(r, t, sizeof *t)) return 0;
  t->name = t->own = shared_get_text(r);
  t->dtype_name = t->name ? shared_get_text(r) : NULL;
  if (!t->dtype_name || !shared_makes_sense(t)) return 0;
  if (!*t->dtype_name) t->dtype_name = NULL;
  t->in = NULL;
  t->data = NULL;
  t->variable = NULL;
  return 1;
}

static int shared_get_all(shared_rest *r, const shared_head *h, jf_source *s)
{
  for (; s->n_tensor < h->n_tensor; s->n_tensor++)
    if (!shared_get_entry(r, &s->tensor[s->n_tensor])) return 0;
  for (; s->n_meta < h->n_meta; s->n_meta++) {
    const char *key = shared_get_text(r), *value = key ? shared_get_text(r) : NULL;
    if (!value) return 0;
    s->meta[s->n_meta] = (jf_meta){ key, value };
  }
  return r->at == r->end;
}

/* No more of them than bytes of which each takes some. */
static int shared_head_fits(const shared_head *h, size_t n)
{
  return h->n_tensor >= 0 && h->n_meta >= 0 && (size_t)h->n_tensor <= n / sizeof(jf_entry) &&
         (size_t)h->n_meta <= n && memchr(h->path, '\0', sizeof h->path);
}

/* Takes the bytes over. */
static jfl_status shared_get(char *bytes, size_t n, jf_source *s)
{
  shared_head h;
  shared_rest r = { bytes, bytes + n };
  *s = (jf_source){ .fd = -1, .text = bytes };
  if (!shared_get_bytes(&r, &h, sizeof h) || !shared_head_fits(&h, n))
    return jf_fail(JFL_EDATA, "rank 0 (%s) tells of a checkpoint what makes no sense",
                   jf_world_host(0));
  s->about = h.about;
  strcpy(s->path, h.path);
  s->tensor = jf_new((size_t)h.n_tensor * sizeof *s->tensor);
  s->meta = jf_new((size_t)h.n_meta * sizeof *s->meta);
  if (!s->tensor || !s->meta) return jf_checkpoint_memory(s->path);
  if (shared_get_all(&r, &h, s)) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: rank 0 (%s) tells of it what makes no sense", s->path,
                 jf_world_host(0));
}

/* Gives the others what rank 0 has opened. */
static jfl_status shared_hand_out(jfl_session *s, jf_source *source)
{
  jf_text t = {0};
  const int first = !jf_world_rank();
  jfl_status st = jf_session_agree_status(s, first ? shared_put(source, &t) : JFL_OK);
  void *bytes = t.s;
  size_t size = t.n;
  if (!st) st = jf_hand_out_block(s, &bytes, &size);
  if (first) jf_free(t.s);
  else if (!st) st = shared_get(bytes, size, source);
  return jf_session_agree_status(s, st);
}

static jfl_status shared_open(jfl_session *s, const char *path, jf_source *out)
{
  *out = (jf_source){ .fd = -1 };
  JF_TRY(jf_session_agree_to(s, "read checkpoint", path));
  jfl_status st = jf_world_rank() ? JFL_OK : jf_source_open(path, out);
  st = jf_session_agree_status(s, st);
  if (!st) st = shared_hand_out(s, out);
  if (st) jf_source_close(out);
  else out->shared = s;
  return st;
}

jfl_status jfl_checkpoint_open_shared(jfl_session *s, const char *path, jfl_checkpoint **out)
{
  JF_NEED(SESSION, s);
  JF_NEED_POINTERS(path, out);
  jf_behind_wait(s);                   /* a save that is on its way may be of this path */
  if (jf_world_size() == 1) return jfl_checkpoint_open(path, out);
  jfl_checkpoint *c = jf_new(sizeof *c);
  if (!c) return jf_checkpoint_memory(path);
  c->tag = JF_TAG_CHECKPOINT;
  jf_session_acquire(s);
  jfl_status st = shared_open(s, path, &c->source);
  jf_session_release(s);
  if (st) jf_free(c);
  else *out = c;
  return st;
}
