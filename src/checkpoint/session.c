/* Loading a checkpoint into a session. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LISTED = 5 };

/* ---- reports ---- */

typedef struct item { char *name; jfl_loaded what; int state; } item;

struct jfl_report { jf_tag tag; item *v; int n, cap; };

int jfl_report_count(const jfl_report *r) { return JF_IS(REPORT, r) ? r->n : 0; }

const char *jfl_report_name(const jfl_report *r, int i, jfl_loaded *what, int *state)
{
  if (!JF_IS(REPORT, r) || i < 0 || i >= r->n) return NULL;
  if (what) *what = r->v[i].what;
  if (state) *state = r->v[i].state;
  return r->v[i].name;
}

void jfl_report_free(jfl_report *r)
{
  if (!JF_IS_LAST(REPORT, r)) return;
  for (int i = 0; i < r->n; i++) jf_free(r->v[i].name);
  jf_free(r->v);
  jf_free(r);
}

static jfl_status checkpoint_session_note(jfl_report *r, const char *path, const char *name,
                                          jfl_loaded what, int state)
{
  char *copy = JF_ROOM(r->v, r->n, r->cap) ? jf_new_raw(strlen(name) + 1) : NULL;
  if (!copy) return jf_checkpoint_memory(path);
  strcpy(copy, name);
  r->v[r->n++] = (item){ copy, what, state };
  return JFL_OK;
}

/* ---- loading ---- */

/* Whether a checkpoint without the variable means that it is zero. */
static int stands_for_zeros(const jf_var *v) { return v->spec.state == JFL_STATE_UNLESS_ZERO; }

/* In their order, and none begins with another. */
typedef struct prefixes { const char **v; int n; } prefixes;

static int begins_with(const char *name, const char *prefix)
{
  return !strncmp(name, prefix, strlen(prefix));
}

static jfl_status prefixes_sort(const char *const *only, int n, prefixes *out)
{
  const char **v = jf_new_raw((size_t)n * sizeof *v);
  if (!v) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < n; i++) v[i] = only[i];
  qsort(v, (size_t)n, sizeof *v, jf_by_text);
  out->v = v;
  for (int i = 0; i < n; i++)
    if (!out->n || !begins_with(v[i], v[out->n - 1])) v[out->n++] = v[i];
  return JFL_OK;
}

/* All that a load needs. Contents go to `fresh` first, one for each variable of the session or
   NULL, so that a failure on the way leaves the session as it was. */
typedef struct checkpoint_session_loader {
  jfl_session *session;
  const jf_source *source;
  const char *path;
  prefixes only;
  jfl_report *report;
  void **fresh;
} checkpoint_session_loader;

/* Whether a name takes part. */
static int checkpoint_session_wanted(const checkpoint_session_loader *l, const char *name)
{
  const prefixes *p = &l->only;
  int at = 0, end = p->n;      /* where the first one is that comes after the name */
  while (at < end) {
    const int mid = (at + end) / 2;
    if (strcmp(p->v[mid], name) <= 0) at = mid + 1;
    else end = mid;
  }
  return !p->n || (at && begins_with(name, p->v[at - 1]));
}

/* The tensor of a variable, NULL where there is none or it takes no part. For a variable in blocks
   of which the file has the tensor it is made, in *raw, what lies in the file. */
static const jf_entry *source(const checkpoint_session_loader *l, const jf_var *v, jf_entry *raw)
{
  const char *name = v->spec.name;
  const jf_entry *t = checkpoint_session_wanted(l, name) ? jf_source_find(l->source, name) : NULL;
  if (!t || !t->blocks || t->blocks != v->spec.dtype || t->strided) return t;
  *raw = *t;
  raw->dtype = t->blocks;
  raw->blocks = 0;
  raw->shape.d[t->shape.n - 1] /= jfl_dtype_numbers(t->blocks);
  raw->size = (uint64_t)jf_numel(&raw->shape) * jfl_dtype_size(t->blocks);
  return raw;
}

/* What a tensor of the file is, for messages. */
static const char *say(const jf_entry *t, char *buf, size_t size)
{
  char shape[JF_SHAPE_STR];
  if (t->shape.n < 0) snprintf(buf, size, "%llu bytes", (unsigned long long)t->size);
  else
    snprintf(buf, size, "%.32s %s",
             t->dtype == JFL_N_DTYPE ? t->dtype_name : jfl_dtype_name(t->dtype),
             jf_shape_str(&t->shape, shape));
  return buf;
}

/* Whether a tensor of the file may be a variable's contents: one number may be (1) or a scalar, as
   other programs write it. */
static int stands_for(const jfl_shape *file, const jfl_shape *variable)
{
  const int short_ones = file->n <= 1 && variable->n <= 1;
  return jf_shape_eq(file, variable) ||
         (short_ones && jf_numel(file) == 1 && jf_numel(variable) == 1);
}

static jfl_status checkpoint_session_check(const checkpoint_session_loader *l, const jf_var *v,
                                           const jf_entry *t)
{
  char has[JF_SHAPE_STR + 40], shape[JF_SHAPE_STR];
  const jfl_variable_spec *w = &v->spec;
  uint64_t size = JF_BYTES_OF(w);
  jfl_status s = t->shape.n < 0 ? (t->size == size ? JFL_OK : JFL_ESHAPE)
               : t->dtype != w->dtype && !jf_dtype_widens(t->dtype, w->dtype) ? JFL_EDTYPE
               : stands_for(&t->shape, &w->shape) ? JFL_OK : JFL_ESHAPE;
  if (s == JFL_OK) return s;
  const int turned = t->shape.n == 2 && w->shape.n == 2 && t->shape.d[0] == w->shape.d[1] &&
                     t->shape.d[1] == w->shape.d[0];
  return jf_fail(s, "checkpoint %s: variable %s must be %s %s, got %s in the file%s", l->path,
                 w->name, jfl_dtype_name(w->dtype), jf_shape_str(&w->shape, shape),
                 say(t, has, sizeof has), s == JFL_ESHAPE && turned ? ", whose transpose would fit"
                                                                   : "");
}

static jfl_status match(checkpoint_session_loader *l)
{
  const jfl_session *s = l->session;
  for (int i = 0; i < s->n_var; i++) {
    const jf_var *v = s->var[i];
    if (!checkpoint_session_wanted(l, v->spec.name)) continue;
    jf_entry raw;
    const jf_entry *t = source(l, v, &raw);
    if (!t && stands_for_zeros(v)) continue;
    if (t) JF_TRY(checkpoint_session_check(l, v, t));
    JF_TRY(checkpoint_session_note(l->report, l->path, v->spec.name, t ? JFL_LOADED : JFL_MISSING,
                                   v->spec.state != 0));
  }
  for (int i = 0; i < l->source->n_tensor; i++) {
    const jf_entry *t = &l->source->tensor[i];
    if (!checkpoint_session_wanted(l, t->name) || jf_session_var(s, t->name)) continue;
    JF_TRY(checkpoint_session_note(l->report, l->path, t->name, JFL_UNEXPECTED, t->state));
  }
  return JFL_OK;
}

/* Appends " lacks a, b" or the like for the names of a kind, if there are any. Optimizer state that
   no job knows is left out: predict jobs may load what train jobs saved. */
static void list(jf_text *t, const jfl_report *r, jfl_loaded what, const char *verb)
{
  int n = 0;
  for (int i = 0; i < r->n; i++) {
    if (r->v[i].what != what || (what == JFL_UNEXPECTED && r->v[i].state)) continue;
    if (n++ >= MAX_LISTED) continue;
    if (n == 1) jf_text_add(t, "%s%s ", t->n ? "; " : " ", verb);
    jf_text_add(t, "%s%s", n > 1 ? ", " : "", r->v[i].name);
  }
  if (n > MAX_LISTED) jf_text_add(t, " and %d more", n - MAX_LISTED);
}

static jfl_status be_strict(const checkpoint_session_loader *l)
{
  jf_text t = {0};
  list(&t, l->report, JFL_MISSING, "it lacks");
  list(&t, l->report, JFL_UNEXPECTED, "no job knows");
  jfl_status r = t.failed ? jf_checkpoint_memory(l->path)
               : !t.n ? JFL_OK
               : jf_fail(JFL_ENAME, "checkpoint %s: every name must match in strict loading:%s",
                         l->path, t.s);
  jf_free(t.s);
  return r;
}

/* Zeroed room for the contents that variable v is to get. */
static jfl_status checkpoint_session_room(const checkpoint_session_loader *l, const jf_var *v,
                                          void **out)
{
  const size_t size = JF_BYTES_OF(&v->spec);
  *out = jf_new(size);
  if (*out) return JFL_OK;
  return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory for %zu bytes of %s", l->path, size,
                 v->spec.name);
}

/* Whether a tensor is to be converted to be a variable's contents. */
static int checkpoint_session_converts(const jf_var *v, const jf_entry *t)
{
  return t->shape.n >= 0 && t->dtype != v->spec.dtype;
}

/* Where the file lies in memory from which a variable gets its contents at once, in the end and in
   one copy; NULL: they are to be made ready before. */
static const void *checkpoint_session_direct(const checkpoint_session_loader *l, const jf_var *v,
                                             const jf_entry *t)
{
  const void *from = t && !l->source->shared ? jf_entry_mapped(l->source, t) : NULL;
  const int as_it_is = from && !t->strided && !checkpoint_session_converts(v, t);
  if (as_it_is && jf_var_takes_plain(v)) return from;
  return v->n_shard == 1 && jf_var_data(v) ? from : NULL;
}

static jfl_status checkpoint_session_put(const checkpoint_session_loader *l, jf_var *v,
                                         const jf_entry *t, const void *from)
{
  const jf_source *in = t->in ? t->in : l->source;
  if (t->strided || checkpoint_session_converts(v, t)) {
    jf_entry_copy(t, from, v->spec.dtype, jf_var_data(v));
    return JFL_OK;
  }
  return jf_var_map(l->session, v, in->map, from) ? JFL_OK : jf_var_store(v, from);
}

/* Reads a tensor of the dtype of the file, and converts it. */
static jfl_status checkpoint_session_read(const checkpoint_session_loader *l, const jf_var *v,
                                          const jf_entry *t, void *out, jfl_status r)
{
  if (!checkpoint_session_converts(v, t)) return jf_source_fetch(l->source, t, out, r);
  void *raw = r ? NULL : jf_new_raw((size_t)t->size);
  if (!r && !raw) r = jf_checkpoint_memory(l->path);
  r = jf_source_fetch(l->source, t, raw, r);
  jf_entry plain = *t;
  plain.strided = 0;
  if (!r) jf_entry_copy(&plain, raw, v->spec.dtype, out);
  jf_free(raw);
  return r;
}

/* What variable i is to get, in the form of its shards; all that share the source come here. */
static jfl_status checkpoint_session_fetch_one(const checkpoint_session_loader *l, int i,
                                               jfl_status r)
{
  const jf_var *v = l->session->var[i];
  jf_entry raw;
  const jf_entry *t = source(l, v, &raw);
  const int zeros = stands_for_zeros(v) && v->written;
  if (!t && !(zeros && checkpoint_session_wanted(l, v->spec.name))) return r;
  if (!r && checkpoint_session_direct(l, v, t)) return r;
  if (!r) r = checkpoint_session_room(l, v, &l->fresh[i]);
  if (t) r = checkpoint_session_read(l, v, t, l->fresh[i], r);
  return r ? r : jf_var_pack(v, &l->fresh[i]);
}

static jfl_status checkpoint_session_fetch(checkpoint_session_loader *l, jfl_status r)
{
  const int n = l->session->n_var, shared = l->source->shared != NULL;
  if (!r) l->fresh = jf_new((size_t)n * sizeof *l->fresh);
  if (!r && !l->fresh) r = jf_checkpoint_memory(l->path);
  if (shared) r = jf_session_agree_status(l->session, r);
  for (int i = 0; i < n && !r; i++) {
    r = checkpoint_session_fetch_one(l, i, r);
    if (shared) r = jf_session_agree_status(l->session, r);
  }
  return r;
}

/* Reads a count of the metadata. *out stays as it is if there is none, as in files of other
   programs. */
static jfl_status checkpoint_session_count(const checkpoint_session_loader *l, const char *key,
                                           uint64_t *out)
{
  char *end;
  const char *text = jf_source_meta(l->source, key);
  if (!text) return JFL_OK;
  errno = 0;
  uint64_t v = strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || errno)
    return jf_fail(JFL_EDATA, "checkpoint %s: metadata %s must be a whole number, got \"%.40s\"",
                   l->path, key, text);
  *out = v;
  return JFL_OK;
}

/* The counters of runs, which stay as they are where the file does not have them. */
typedef struct counters {
  int told;
  uint64_t seed, eager_calls;
  jf_runs *run; int n_run;     /* of every job that the file knows */
} counters;

static jfl_status read_runs(const checkpoint_session_loader *l, counters *c)
{
  c->run = jf_new((size_t)l->source->n_meta * sizeof *c->run);
  if (!c->run) return jf_checkpoint_memory(l->path);
  for (int i = 0; i < l->source->n_meta; i++) {
    const char *key = l->source->meta[i].key;
    if (strncmp(key, JF_RUN_PREFIX, sizeof JF_RUN_PREFIX - 1)) continue;
    jf_runs *r = &c->run[c->n_run];
    JF_TRY(checkpoint_session_count(l, key, &r->n));
    r->job = jf_name_copy(key + sizeof JF_RUN_PREFIX - 1);
    if (!r->job) return jf_checkpoint_memory(l->path);
    c->n_run++;
  }
  return JFL_OK;
}

/* Reads every counter before any is set. */
static jfl_status read_counters(const checkpoint_session_loader *l, counters *c)
{
  uint64_t version = JF_CHECKPOINT_VERSION;
  const char *format = jf_source_meta(l->source, "format");
  *c = (counters){ .seed = l->session->seed, .eager_calls = l->session->eager_calls };
  if (l->only.n || !format || strcmp(format, "jfl")) return JFL_OK;
  c->told = 1;
  JF_TRY(checkpoint_session_count(l, "version", &version));
  if (version > JF_CHECKPOINT_VERSION)
    return jf_fail(JFL_ENOSYS, "checkpoint %s: its version must be at most %d, got %llu", l->path,
                   JF_CHECKPOINT_VERSION, (unsigned long long)version);
  JF_TRY(checkpoint_session_count(l, "seed", &c->seed));
  JF_TRY(checkpoint_session_count(l, "eager_calls", &c->eager_calls));
  return read_runs(l, c);
}

/* Gives the counts to the session's jobs and takes them out of c->run; the rest is for jobs that
   are defined later. */
static void set_runs(const jfl_session *s, counters *c)
{
  int left = 0;
  for (int i = 0; i < c->n_run; i++) {
    jfl_job *j = jf_session_job(s, c->run[i].job);
    if (j) {
      j->run = c->run[i].n;
      jf_free(c->run[i].job);
    } else {
      c->run[left++] = c->run[i];
    }
  }
  c->n_run = left;
}

/* From here on nothing fails, unless a device does. */
static jfl_status checkpoint_session_apply(checkpoint_session_loader *l, counters *c)
{
  jfl_session *s = l->session;
  s->disturbances++;
  s->changes++;
  for (int i = 0; i < s->n_var; i++) {
    jf_var *v = s->var[i];
    jf_entry raw;
    const jf_entry *t = source(l, v, &raw);
    const void *from = l->fresh[i] ? NULL : checkpoint_session_direct(l, v, t);
    if (!from && !l->fresh[i]) continue;
    JF_TRY(from ? checkpoint_session_put(l, v, t, from) : jf_var_store(v, l->fresh[i]));
    v->written = 1;
    v->changed = s->changes;
  }
  if (!s->seeded) s->seed = c->seed;
  s->eager_calls = c->eager_calls;
  if (!c->told) return JFL_OK;
  set_runs(s, c);
  jf_runs_free(s->ahead, s->n_ahead);
  s->ahead = c->n_run ? c->run : NULL;
  s->n_ahead = c->n_run;
  if (!c->n_run) jf_free(c->run);
  *c = (counters){0};
  return JFL_OK;
}

static jfl_status checkpoint_session_load(checkpoint_session_loader *l, int strict)
{
  counters c = {0};
  jfl_status r = match(l);
  if (!r && strict) r = be_strict(l);
  if (!r) r = read_counters(l, &c);
  r = checkpoint_session_fetch(l, r);
  if (!r && !l->source->shared) r = jf_source_still(l->source);
  if (!r) {
    r = checkpoint_session_apply(l, &c);
    if (l->source->shared) r = jf_session_agree_status(l->session, r);
  }
  for (int i = 0; l->fresh && i < l->session->n_var; i++) jf_free(l->fresh[i]);
  jf_free(l->fresh);
  jf_runs_free(c.run, c.n_run);
  return r;
}

jfl_status jfl_checkpoint_apply(jfl_session *s, const jfl_checkpoint *c, int strict,
                                const char *const *only, int n_only, jfl_report **out)
{
  JF_NEED(SESSION, s);
  JF_NEED(CHECKPOINT, c);
  JF_NEED_LIST(only, n_only);
  for (int i = 0; i < n_only; i++) JF_TRY(jf_need_pointer(__func__, "only[]", only[i]));
  JF_NEED_POINTER(out);
  checkpoint_session_loader l = {
    .session = s, .source = &c->source, .path = c->source.path
  };
  JF_TRY(prefixes_sort(only, n_only, &l.only));
  l.report = jf_new(sizeof *l.report);
  jfl_status r = l.report ? JFL_OK : jf_checkpoint_memory(l.path);
  if (!r) {
    l.report->tag = JF_TAG_REPORT;
    jf_session_acquire(s);
    r = checkpoint_session_load(&l, strict);
    jf_session_release(s);
  }
  jf_free(l.only.v);
  if (r == JFL_OK) *out = l.report;
  else jfl_report_free(l.report);
  return r;
}

jfl_status jfl_checkpoint_load(jfl_session *s, const char *path, int strict, jfl_report **out)
{
  jfl_checkpoint *c = NULL;
  JF_NEED(SESSION, s);
  JF_NEED_POINTERS(path, out);
  JF_TRY(jfl_checkpoint_open_shared(s, path, &c));
  jfl_status r = jfl_checkpoint_apply(s, c, strict, NULL, 0, out);
  jfl_checkpoint_close(c);
  return r;
}
