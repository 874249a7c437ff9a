/* Saving a session as a checkpoint. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"
#include "world/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static jfl_status save_no_memory(const char *path)
{
  return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory", path);
}

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

static void put_format(jf_text *meta)
{
  jf_safetensors_meta(meta, "format", "jfl");
  put_count(meta, "", "version", JF_CHECKPOINT_VERSION);
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

/* Everything of the session but the contents of its variables. */
static jfl_status checkpoint_session_describe(const jfl_session *s, const char *path, jf_text *meta)
{
  put_format(meta);
  put_count(meta, "", "seed", s->seed);
  put_count(meta, "", "eager_calls", s->eager_calls);
  for (const jfl_job *j = s->jobs; j; j = j->next) {
    if (!jf_utf8_valid(j->name))
      return jf_fail(JFL_ENAME, "checkpoint %s: job %s: the name must be UTF-8", path, j->name);
    put_count(meta, JF_RUN_PREFIX, j->name, j->run);
  }
  for (int i = 0; i < s->n_ahead; i++)
    if (!jf_session_job(s, s->ahead[i].job))
      put_count(meta, JF_RUN_PREFIX, s->ahead[i].job, s->ahead[i].n);
  for (int i = 0; i < s->n_var; i++)
    if (s->var[i]->spec.state && is_saved(s->var[i]))
      put_count(meta, "state.", s->var[i]->spec.name, 1);
  return JFL_OK;
}

typedef struct extras { const jfl_note *v; int n; } extras;

/* What of the session is written; all variables are in the order of their making. */
static int save_list(const jfl_session *s, jf_entry *t)
{
  int n = 0;
  for (int i = 0; i < s->n_var; i++) {
    jf_var *v = s->var[i];
    if (!is_saved(v)) continue;
    t[n++] = (jf_entry){ .name = v->spec.name, .dtype = v->spec.dtype, .shape = v->spec.shape,
                        .data = jf_var_data(v), .variable = v };
  }
  return n;
}

static jfl_status save_describe(const jfl_session *s, const jf_stage *st, extras extra,
                                jf_text *meta)
{
  JF_TRY(checkpoint_session_describe(s, st->target, meta));
  for (int i = 0; i < extra.n; i++) JF_TRY(put_note(meta, st->target, extra.v, &extra.v[i]));
  return JFL_OK;
}

static jfl_status write_session(jfl_session *together, const jfl_session *s, const jf_stage *st,
                                extras extra)
{
  jf_text meta = {0};
  jf_entry *t = jf_new((size_t)s->n_var * sizeof *t);
  jfl_status r = t ? save_describe(s, st, extra, &meta) : save_no_memory(st->target);
  if (together) r = jf_session_agree_status(together, r);
  if (!r)
    r = jf_safetensors_write(together, st->model.fd, st->file, t, save_list(s, t), &meta);
  jf_free(meta.s);
  jf_free(t);
  return r;
}

/* Several processes save together: rank 0 has the stage, and all learn how it ended. */
static jfl_status save_together(jfl_session *s, const char *path, int overwrite, extras extra)
{
  jf_stage st = { .model.fd = -1 };
  const int writes = !jf_world_rank();
  JF_TRY(jf_session_agree_to(s, "save checkpoint", path));
  jfl_status r = writes ? jf_stage_open(path, overwrite, &st) : jf_file_trim(path, st.target);
  const int is_open = writes && !r;
  r = jf_session_agree_status(s, r);
  if (!r) r = write_session(s, s, &st, extra);
  if (is_open) r = jf_stage_close(&st, r);
  return jf_session_agree_status(s, r);
}

jfl_status jfl_checkpoint_save_notes(jfl_session *s, const char *path, int overwrite,
                                     const jfl_note *notes, int n_note)
{
  jf_stage st;
  jfl_status r;
  const extras extra = { notes, n_note };
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(path);
  JF_NEED_LIST(notes, n_note);
  for (int i = 0; i < n_note; i++) {
    JF_TRY(jf_need_pointer(__func__, "notes[].key", notes[i].key));
    JF_TRY(jf_need_pointer(__func__, "notes[].value", notes[i].value));
  }
  const int alone = jf_world_size() == 1;
  if (alone) JF_TRY(jf_stage_open(path, overwrite, &st));
  jf_session_acquire(s);
  r = alone ? write_session(NULL, s, &st, extra) : save_together(s, path, overwrite, extra);
  jf_session_release(s);
  return alone ? jf_stage_close(&st, r) : r;
}

jfl_status jfl_checkpoint_save(jfl_session *s, const char *path, int overwrite)
{
  return jfl_checkpoint_save_notes(s, path, overwrite, NULL, 0);
}

jfl_status jfl_checkpoint_write(const char *path, int overwrite, const char *const *names,
                                jfl_array *const *values, int n)
{
  jf_stage st;
  jf_text meta = {0};
  JF_NEED_POINTER(path);
  JF_NEED_LIST(names, n);
  JF_NEED_EACH(ARRAY, values, n);
  for (int i = 0; i < n; i++) JF_TRY(jf_need_pointer(__func__, "names[]", names[i]));
  jf_entry *t = jf_new((size_t)n * sizeof *t);
  if (!t) return save_no_memory(path);
  for (int i = 0; i < n; i++)
    t[i] = (jf_entry){ .name = names[i], .dtype = values[i]->dtype, .shape = values[i]->shape,
                       .data = values[i]->data };
  put_format(&meta);
  jfl_status r = jf_source_sort(&(jf_source){ .tensor = t, .n_tensor = n });
  if (r != JFL_OK) r = jf_blame(r, "checkpoint %s: ", path);
  else r = jf_stage_open(path, overwrite, &st);
  if (r == JFL_OK) {
    r = jf_safetensors_write(NULL, st.model.fd, st.file, t, n, &meta);
    r = jf_stage_close(&st, r);
  }
  jf_free(meta.s);
  jf_free(t);
  return r;
}
