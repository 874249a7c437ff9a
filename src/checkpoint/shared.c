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
  return t->failed ? jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory", s->path) : JFL_OK;
}

static const char *shared_get_text(const char **at)
{
  const char *s = *at;
  *at += strlen(s) + 1;
  return s;
}

static void shared_get_entry(const char **at, jf_entry *t)
{
  memcpy(t, *at, sizeof *t);
  *at += sizeof *t;
  t->name = t->own = shared_get_text(at);
  t->in = NULL;
  t->dtype_name = shared_get_text(at);
  if (!*t->dtype_name) t->dtype_name = NULL;
}

/* What rank 0 reads for this one. */
static void shared_close(jf_source *s) { jf_free(s->text); }
static const jf_format shared_format = { .close = shared_close };

/* Takes the bytes over. */
static jfl_status shared_get(char *bytes, jf_source *s)
{
  shared_head h;
  const char *at = bytes + sizeof h;
  memcpy(&h, bytes, sizeof h);
  *s = (jf_source){ .format = &shared_format, .fd = -1, .text = bytes, .about = h.about };
  strcpy(s->path, h.path);
  s->tensor = jf_new((size_t)h.n_tensor * sizeof *s->tensor);
  s->meta = jf_new((size_t)h.n_meta * sizeof *s->meta);
  if (!s->tensor || !s->meta) return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory", s->path);
  for (; s->n_tensor < h.n_tensor; s->n_tensor++) shared_get_entry(&at, &s->tensor[s->n_tensor]);
  for (; s->n_meta < h.n_meta; s->n_meta++) {
    const char *key = shared_get_text(&at);
    s->meta[s->n_meta] = (jf_meta){ key, shared_get_text(&at) };
  }
  return JFL_OK;
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
  else if (!st) st = shared_get(bytes, source);
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
  JF_NEED_POINTER(path);
  JF_NEED_POINTER(out);
  jf_behind_wait(s);                   /* a save that is on its way may be of this path */
  if (jf_world_size() == 1) return jfl_checkpoint_open(path, out);
  jfl_checkpoint *c = jf_new(sizeof *c);
  if (!c) return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory", path);
  c->tag = JF_TAG_CHECKPOINT;
  jf_session_acquire(s);
  jfl_status st = shared_open(s, path, &c->source);
  jf_session_release(s);
  if (st) jf_free(c);
  else *out = c;
  return st;
}
