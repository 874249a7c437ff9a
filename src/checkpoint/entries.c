/* The entries of a checkpoint, tensors by name and metadata by key: sorted and found. */
#include "checkpoint/checkpoint.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
  return strcmp(((const jf_entry *)a)->name, ((const jf_entry *)b)->name);
}

static int by_key(const void *a, const void *b)
{
  return strcmp(((const jf_meta *)a)->key, ((const jf_meta *)b)->key);
}

const jf_entry *jf_source_find(const jf_source *s, const char *name)
{
  jf_entry key = { .name = name };
  if (!s->n_tensor) return NULL;
  return bsearch(&key, s->tensor, (size_t)s->n_tensor, sizeof key, by_name);
}

const char *jf_source_meta(const jf_source *s, const char *key)
{
  jf_meta want = { .key = key };
  if (!s->n_meta) return NULL;
  const jf_meta *m = bsearch(&want, s->meta, (size_t)s->n_meta, sizeof want, by_key);
  return m ? m->value : NULL;
}

jfl_status jf_source_order(jf_source *s)
{
  return jf_sort_in_time(s->tensor, (size_t)s->n_tensor, sizeof *s->tensor, by_name);
}

jfl_status jf_source_sort(jf_source *s)
{
  JF_TRY(jf_source_order(s));
  JF_TRY(jf_sort_in_time(s->meta, (size_t)s->n_meta, sizeof *s->meta, by_key));
  for (int i = 1; i < s->n_tensor; i++)
    if (!by_name(&s->tensor[i - 1], &s->tensor[i]))
      return jf_fail(JFL_EDATA, "tensor %s occurs twice", s->tensor[i].name);
  for (int i = 1; i < s->n_meta; i++)
    if (!by_key(&s->meta[i - 1], &s->meta[i]))
      return jf_fail(JFL_EDATA, "metadata %s occurs twice", s->meta[i].key);
  return JFL_OK;
}
