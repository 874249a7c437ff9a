/* Variables in mapped files: they take no memory but the system's copy of the file, and no time to
   be read. The session has them as they were loaded: a file that is changed or cut fails the runs
   that read it. */
#include "run/run.h"

#include <string.h>

/* Bytes. A run looks at the files that its variables are a part of, which takes some hundredths of
   what it takes to read MAPPED_LEAST. */
enum { MAPPED_LEAST = 1 << 18, MAPPED_ALIGN = 8 };

/* Where a host counts memory or gives it, all of it is of that kind. */
static int mapped_may_be(const jfl_session *s, const jf_var *v, const void *contents)
{
  if (v->is_updated || s->budget || jf_memory_budget() || jf_memory_is_given()) return 0;
  return v->n_shard == 1 && jf_var_data(v) && jf_var_bytes(v) >= MAPPED_LEAST &&
         !((uintptr_t)contents % MAPPED_ALIGN);
}

int jf_var_map(jfl_session *s, jf_var *v, jf_mapping *file, const void *contents)
{
  if (!mapped_may_be(s, v, contents)) return 0;
  jf_storage_map(v->shard[0].storage, file, (void *)(uintptr_t)contents);
  v->mapped = s->changes;
  s->has_mapped = 1;
  s->arenas++;
  return 1;
}

jfl_status jf_var_own(jfl_session *s, jf_var *v)
{
  void *data;
  if (v->n_shard != 1 || !v->shard[0].storage->file) return JFL_OK;
  jf_storage *of = v->shard[0].storage;
  JF_TRY(jf_device_take(of->device, of->size, "its elements", NULL, &data));
  memcpy(data, of->data, of->size);
  const jfl_status st = jf_var_is_whole(v);
  jf_storage_own(of, data);
  v->mapped = 0;
  s->arenas++;
  return st;
}

jfl_status jf_plan_is_whole(const jfl_plan *p)
{
  const jf_mapping *last = NULL;
  for (int i = 0; i < p->n_variable; i++) {
    const jf_var *v = p->var[i];
    if (!jf_var_is_mapped(v) || v->shard[0].storage->file == last) continue;
    JF_TRY(jf_var_is_whole(v));
    last = v->shard[0].storage->file;
  }
  return JFL_OK;
}

/* Whether a step of a run without the prologue reads the plan's variable. */
static int mapped_is_read(const jfl_plan *p, int variable)
{
  for (int s = p->n_prologue; s < p->n_step; s++)
    for (int i = 0; i < p->step[s].k.n_in; i++) {
      const jf_where *w = &p->step[s].in[i];
      if (w->memory == JF_AT_VARIABLE && w->index == variable) return 1;
    }
  return 0;
}

void jf_plan_rest(const jfl_plan *p)
{
  for (int i = 0; i < p->n_variable; i++) {
    const jf_var *v = p->var[i];
    if (!jf_var_is_mapped(v) || mapped_is_read(p, i)) continue;
    jf_mapping_rest(v->shard[0].storage->file, v->shard[0].storage->data, jf_var_bytes(v));
  }
}
