/* An open checkpoint: its tensors and notes, one by one, without a session. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"

#include <string.h>

jfl_status jfl_checkpoint_open(const char *path, jfl_checkpoint **out)
{
  JF_NEED_POINTERS(path, out);
  jfl_checkpoint *c = jf_new(sizeof *c);
  if (!c) return jf_checkpoint_memory(path);
  c->tag = JF_TAG_CHECKPOINT;
  jfl_status r = jf_source_open(path, &c->source);
  if (r == JFL_OK) *out = c;
  else jf_free(c);
  return r;
}

void jfl_checkpoint_close(jfl_checkpoint *c)
{
  if (!JF_IS_LAST(CHECKPOINT, c)) return;
  jf_source_close(&c->source);
  jf_free(c);
}

int jfl_checkpoint_about(const jfl_checkpoint *c)
{
  return JF_IS(CHECKPOINT, c) ? c->source.about : 0;
}

int jfl_checkpoint_count(const jfl_checkpoint *c)
{
  return JF_IS(CHECKPOINT, c) ? c->source.n_tensor : 0;
}

const char *jfl_checkpoint_tensor(const jfl_checkpoint *c, int i, uint64_t *size, jfl_dtype *dtype,
                                  const jfl_shape **shape)
{
  if (!JF_IS(CHECKPOINT, c) || i < 0 || i >= c->source.n_tensor) return NULL;
  const jf_entry *t = &c->source.tensor[i];
  if (size) *size = t->size;
  if (dtype) *dtype = t->dtype;
  if (shape) *shape = t->shape.n < 0 ? NULL : &t->shape;
  return t->name;
}

const char *jfl_checkpoint_dtype(const jfl_checkpoint *c, int i)
{
  if (!JF_IS(CHECKPOINT, c) || i < 0 || i >= c->source.n_tensor) return NULL;
  const jf_entry *t = &c->source.tensor[i];
  return t->dtype != JFL_N_DTYPE ? jfl_dtype_name(t->dtype) : t->dtype_name;
}

static jfl_status check_known(const jfl_checkpoint *c, const jf_entry *t)
{
  if (t->shape.n < 0 || t->dtype != JFL_N_DTYPE) return JFL_OK;
  return jf_fail(JFL_EDTYPE, "checkpoint %s: %s is of dtype %s, which jfl does not have",
                 c->source.path, t->name, t->dtype_name);
}

jfl_status jfl_checkpoint_read(const jfl_checkpoint *c, int i, jfl_dtype dtype,
                               const jfl_shape *shape, jfl_array **out)
{
  char buf[JF_SHAPE_STR];
  jfl_array *a;
  JF_NEED(CHECKPOINT, c);
  JF_NEED_BELOW(i, c->source.n_tensor);
  JF_NEED_POINTER(out);
  const jf_entry *t = &c->source.tensor[i];
  JF_TRY(check_known(c, t));
  if (t->shape.n >= 0) dtype = t->dtype, shape = &t->shape;
  JF_NEED_DTYPE(dtype);
  JF_NEED_POINTER(shape);
  JF_TRY(jf_shape_check(shape, "shape"));
  if ((uint64_t)jf_numel(shape) * jfl_dtype_size(dtype) != t->size)
    return jf_fail(JFL_ESHAPE, "checkpoint %s: %s: %llu bytes do not hold %s %s", c->source.path,
                   t->name, (unsigned long long)t->size, jfl_dtype_name(dtype),
                   jf_shape_str(shape, buf));
  JF_TRY(jf_array_new_raw(dtype, shape, &a));
  jfl_status r = jf_source_fetch(&c->source, t, a->data, JFL_OK);
  if (r == JFL_OK) *out = a;
  else jfl_array_unref(a);
  return r;
}

/* The first of the metadata, which are sorted, that may be a note. */
static int open_first_note(const jf_source *s)
{
  int from = 0, to = s->n_meta;
  while (from < to) {
    const int half = from + (to - from) / 2;
    if (strcmp(s->meta[half].key, JF_NOTE_PREFIX) < 0) from = half + 1;
    else to = half;
  }
  return from;
}

int jfl_checkpoint_note(const jfl_checkpoint *c, int i, jfl_note *out)
{
  const size_t n = strlen(JF_NOTE_PREFIX);
  if (!JF_IS(CHECKPOINT, c) || i < 0) return 0;
  if (!out) return jf_need_pointer(__func__, "out", out), 0;
  const jf_source *s = &c->source;
  const int first = open_first_note(s);
  if (i >= s->n_meta - first) return 0;
  const jf_meta *m = &s->meta[first + i];
  if (strncmp(m->key, JF_NOTE_PREFIX, n)) return 0;
  *out = (jfl_note){ m->key + n, m->value };
  return 1;
}
