/* Saving a session as a checkpoint. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"
#include "world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Adds a number under a key made of a kind, which may be "", and a name: "run.train_job". */
static void put_named(jf_text *meta, const char *kind, const char *name, const char *value)
{
  jf_text key = {0};
  jf_text_add(&key, "%s%s", kind, name);
  if (key.failed) meta->failed = 1;
  else jf_safetensors_meta(meta, key.s, value);
  jf_free(key.s);
}

static void put_count(jf_text *meta, const char *kind, const char *name, uint64_t n)
{
  char digits[24];
  snprintf(digits, sizeof digits, "%" PRIu64, n);
  put_named(meta, kind, name, digits);
}

/* A note that stands behind others, which must have other keys. */
static jfl_status put_note(jf_text *meta, const char *path, const jfl_note *first,
                           const jfl_note *note)
{
  if (!jf_utf8_valid(note->key) || !jf_utf8_valid(note->value))
    return jf_fail(JFL_ENAME, "checkpoint %s: note %s must be UTF-8", path, note->key);
  for (; first < note; first++)
    if (!strcmp(first->key, note->key))
      return jf_fail(JFL_ENAME, "checkpoint %s: note %s must occur once, got two", path,
                     note->key);
  put_named(meta, JF_NOTE_PREFIX, note->key, note->value);
  return JFL_OK;
}

static int is_saved(const jf_var *v)
{
  return v->written || v->spec.state != JFL_STATE_UNLESS_ZERO;
}

/* What of the session its own thread changes without the run token. */
static void put_counts(const jfl_session *s, jf_text *meta)
{
  jf_safetensors_format(meta);
  put_count(meta, "", "seed", s->seed);
  put_count(meta, "", "eager_calls", s->eager_calls);
}

/* How often jobs ran. Under mu, as the session's own thread adds jobs. */
static jfl_status put_runs(const jfl_session *s, const char *path, jf_text *meta)
{
  for (const jfl_job *j = s->jobs; j; j = j->next) {
    if (!jf_utf8_valid(j->name))
      return jf_fail(JFL_ENAME, "checkpoint %s: job %s: the name must be UTF-8", path, j->name);
    put_count(meta, JF_RUN_PREFIX, j->name, j->run);
  }
  for (int i = 0; i < s->n_ahead; i++)
    if (!jf_session_job(s, s->ahead[i].job))
      put_count(meta, JF_RUN_PREFIX, s->ahead[i].job, s->ahead[i].n);
  return JFL_OK;
}

/* All else but the contents of variables. */
static jfl_status put_rest(jfl_session *s, const char *path, jf_text *meta)
{
  jf_session_lock(s);
  const jfl_status st = put_runs(s, path, meta);
  jf_session_unlock(s);
  if (st) return st;
  for (int i = 0; i < s->n_var; i++)
    if (s->var[i]->spec.state && is_saved(s->var[i]))
      put_count(meta, "state.", s->var[i]->spec.name, 1);
  return JFL_OK;
}

typedef struct extras { const jfl_note *v; int n; uint64_t shard_bytes; } extras;

/* What of the session is written; all variables are in the order of their making. */
static int save_list(const jfl_session *s, jf_entry *t)
{
  int n = 0;
  for (int i = 0; i < s->n_var; i++) {
    jf_var *v = s->var[i];
    if (!is_saved(v)) continue;
    t[n++] = (jf_entry){ .name = v->spec.name, .dtype = v->spec.dtype, .shape = v->spec.shape,
                        .data = jf_var_is_mapped(v) ? NULL : jf_var_data(v),
                        .variable = v };
  }
  return n;
}

static jfl_status save_describe(jfl_session *s, const jf_stage *st, extras extra, jf_text *meta)
{
  put_counts(s, meta);
  JF_TRY(put_rest(s, st->target, meta));
  for (int i = 0; i < extra.n; i++) JF_TRY(put_note(meta, st->target, extra.v, &extra.v[i]));
  return JFL_OK;
}

static jfl_status write_session(jfl_session *together, jfl_session *s, const jf_stage *st,
                                extras extra)
{
  jf_text meta = {0};
  jf_entry *t = jf_new((size_t)s->n_var * sizeof *t);
  jfl_status r = t ? save_describe(s, st, extra, &meta) : jf_checkpoint_memory(st->target);
  if (together) r = jf_session_agree_status(together, r);
  if (!r)
    r = jf_stage_write(together, st, t, save_list(s, t), &meta);
  jf_free(meta.s);
  jf_free(t);
  return r;
}

/* Several processes save together: rank 0 has the stage, and all learn how it ended. */
static jfl_status save_together(jfl_session *s, const char *path, int overwrite, extras extra)
{
  jf_stage st = { .model.fd = -1, .shard_bytes = extra.shard_bytes };
  const int writes = !jf_world_rank();
  JF_TRY(jf_session_agree_to(s, "save checkpoint", path));
  jfl_status r = writes ? jf_stage_open(path, overwrite, extra.shard_bytes, &st)
                        : jf_file_trim(path, st.target);
  const int is_open = writes && !r;
  r = jf_session_agree_status(s, r);
  if (!r) r = write_session(s, s, &st, extra);
  if (is_open) r = jf_stage_close(&st, r);
  return jf_session_agree_status(s, r);
}

static jfl_status save_need(const char *function, const jfl_note *notes, int n)
{
  JF_TRY(jf_need_list(function, "notes", notes, n));
  for (int i = 0; i < n; i++) {
    JF_TRY(jf_need_pointer(function, "notes[].key", notes[i].key));
    JF_TRY(jf_need_pointer(function, "notes[].value", notes[i].value));
  }
  return JFL_OK;
}

static jfl_status save_session(jfl_session *s, const char *path, int overwrite, extras extra)
{
  jf_stage st;
  jfl_status r;
  const int alone = jf_world_size() == 1;
  jf_behind_wait(s);                   /* one that is on its way may be of this path */
  if (alone) JF_TRY(jf_stage_open(path, overwrite, extra.shard_bytes, &st));
  jf_session_acquire(s);
  r = alone ? write_session(NULL, s, &st, extra) : save_together(s, path, overwrite, extra);
  jf_session_release(s);
  return alone ? jf_stage_close(&st, r) : r;
}

jfl_status jfl_checkpoint_save_notes(jfl_session *s, const char *path, int overwrite,
                                     const jfl_note *notes, int n_note)
{
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(path);
  JF_TRY(save_need(__func__, notes, n_note));
  return save_session(s, path, overwrite, (extras){ notes, n_note, 0 });
}

jfl_status jfl_checkpoint_save_shards(jfl_session *s, const char *path, uint64_t shard_bytes,
                                      const jfl_note *notes, int n_note)
{
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(path);
  JF_TRY(save_need(__func__, notes, n_note));
  return save_session(s, path, 0, (extras){ notes, n_note, shard_bytes });
}

jfl_status jfl_checkpoint_save(jfl_session *s, const char *path, int overwrite)
{
  return jfl_checkpoint_save_notes(s, path, overwrite, NULL, 0);
}

/* ---- written behind ---- */

/* A save on its way: at first what was asked for, then also what the session was in its turn. */
typedef struct saving {
  char *path;
  int overwrite;
  jf_text notes;               /* as members of the metadata */
  jf_text meta;
  jf_entry *t; int n;          /* with names and contents of their own */
} saving;

static void saving_free(void *state)
{
  saving *g = state;
  for (int i = 0; i < g->n; i++) {
    jf_free((char *)g->t[i].name);
    jf_free((void *)g->t[i].data);
  }
  jf_free(g->t);
  jf_free(g->meta.s);
  jf_free(g->notes.s);
  jf_free(g->path);
  jf_free(g);
}

static jfl_status saving_copy(saving *g, jf_entry *t)
{
  const jf_var *v = t->variable;
  void *data = jf_new_raw(jf_var_bytes(v));
  *t = (jf_entry){ .name = jf_name_copy(t->name), .dtype = t->dtype, .shape = t->shape,
                   .data = data };
  g->n++;
  return t->name && data ? jf_var_read(v, data) : jf_checkpoint_memory(g->path);
}

/* Copies the session: what comes after this call changes nothing of it. */
static jfl_status saving_take(jfl_request *r)
{
  saving *g = r->state;
  jfl_session *s = r->session;
  JF_TRY(put_rest(s, g->path, &g->meta));
  if (g->notes.n) jf_text_add(&g->meta, ",%s", g->notes.s);
  if (!(g->t = jf_new((size_t)s->n_var * sizeof *g->t))) return jf_checkpoint_memory(g->path);
  const int n = save_list(s, g->t);
  while (g->n < n) JF_TRY(saving_copy(g, &g->t[g->n]));
  return JFL_OK;
}

static jfl_status saving_write(jfl_request *r)
{
  saving *g = r->state;
  jf_stage st;
  JF_TRY(jf_stage_open(g->path, g->overwrite, 0, &st));
  const jfl_status s = jf_stage_write(NULL, &st, g->t, g->n, &g->meta);
  return jf_stage_close(&st, s);
}

static const jf_task save_task = {
  .many = "saves", .take = saving_take, .finish = saving_write, .free = saving_free
};

static jfl_status saving_new(const jfl_session *of, const char *path, int overwrite, extras extra,
                             saving **out)
{
  char trimmed[JF_MOST_PATH];
  JF_TRY(jf_file_trim(path, trimmed));
  saving *g = jf_new(sizeof *g);
  if (!g) return jf_checkpoint_memory(path);
  g->overwrite = overwrite;
  g->path = jf_name_copy(path);
  put_counts(of, &g->meta);
  jfl_status s = JFL_OK;
  for (int i = 0; i < extra.n && !s; i++) s = put_note(&g->notes, path, extra.v, &extra.v[i]);
  if (!s && (!g->path || g->notes.failed)) s = jf_checkpoint_memory(path);
  if (s) saving_free(g);
  else *out = g;
  return s;
}

/* Ranks write together, which takes all of them: the save is made at once. */
static jfl_status save_submit_together(jfl_session *s, const char *path, int overwrite,
                                       extras extra, jfl_request **out)
{
  saving *g;
  JF_TRY(saving_new(s, path, overwrite, extra, &g));
  JF_TRY(jf_request_new_task(s, &save_task, g, out));
  jf_request_set(*out, jfl_checkpoint_save_notes(s, path, overwrite, extra.v, extra.n));
  atomic_store(&(*out)->done, 1);
  return JFL_OK;
}

jfl_status jfl_checkpoint_submit(jfl_session *s, const char *path, int overwrite,
                                 const jfl_note *notes, int n_note, jfl_request **out)
{
  saving *g;
  const extras extra = { notes, n_note, 0 };
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(path);
  JF_TRY(save_need(__func__, notes, n_note));
  JF_NEED_POINTER(out);
  if (jf_world_size() > 1) return save_submit_together(s, path, overwrite, extra, out);
  JF_TRY(saving_new(s, path, overwrite, extra, &g));
  return jf_task_submit(s, &save_task, g, &s->n_saves, out);
}

/* ---- arrays ---- */

static jfl_status save_arrays(const char *path, int overwrite, extras extra, jf_entry *t, int n)
{
  jf_stage st;
  jf_text meta = {0};
  jf_safetensors_format(&meta);
  jfl_status r = jf_source_sort(&(jf_source){ .tensor = t, .n_tensor = n });
  if (r != JFL_OK) r = jf_blame(r, "checkpoint %s: ", path);
  for (int i = 0; i < extra.n && r == JFL_OK; i++)
    r = put_note(&meta, path, extra.v, &extra.v[i]);
  if (r == JFL_OK) r = jf_stage_open(path, overwrite, extra.shard_bytes, &st);
  if (r == JFL_OK) {
    r = jf_stage_write(NULL, &st, t, n, &meta);
    r = jf_stage_close(&st, r);
  }
  jf_free(meta.s);
  return r;
}

jfl_status jfl_checkpoint_write_notes(const char *path, int overwrite, uint64_t shard_bytes,
                                      const char *const *names, jfl_array *const *values, int n,
                                      const jfl_note *notes, int n_note)
{
  JF_NEED_POINTER(path);
  JF_NEED_LIST(names, n);
  JF_NEED_EACH(ARRAY, values, n);
  for (int i = 0; i < n; i++) JF_TRY(jf_need_pointer(__func__, "names[]", names[i]));
  JF_TRY(save_need(__func__, notes, n_note));
  jf_entry *t = jf_new((size_t)n * sizeof *t);
  if (!t) return jf_checkpoint_memory(path);
  for (int i = 0; i < n; i++)
    t[i] = (jf_entry){ .name = names[i], .dtype = values[i]->dtype, .shape = values[i]->shape,
                       .data = values[i]->data };
  const jfl_status r = save_arrays(path, overwrite, (extras){ notes, n_note, shard_bytes }, t, n);
  jf_free(t);
  return r;
}

jfl_status jfl_checkpoint_write(const char *path, int overwrite, const char *const *names,
                                jfl_array *const *values, int n)
{
  return jfl_checkpoint_write_notes(path, overwrite, 0, names, values, n, NULL, 0);
}
