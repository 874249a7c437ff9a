/* The devices that a session uses, each opened when it is first wanted. */
#include "run/run.h"

/* The session's own sites have opened their devices. */
static void site_end(jf_site *t)
{
  jf_device *d = t->device;
  jf_site_free(t);
  if (d && d != jf_host()) jf_device_free(d);
}

void jf_sites_free(jfl_session *s)
{
  for (int i = 0; i < s->n_site; i++) site_end(s->site[i]);
  jf_free(s->site);
}

static jfl_status site_open(jf_site *t, const jf_kind *kind, int index)
{
  if (!kind->rows && !kind->plain)
    return jf_fail(JFL_EINVAL, "device %s:%d computes nothing", kind->name, index);
  if (kind == jf_host()->kind && index == jf_host()->index) t->device = jf_host();
  else JF_TRY(jf_device_new(kind, index, &t->device));
  return jf_site_set_up(t);
}

static jfl_status site_add(jfl_session *s, const jf_kind *kind, int index)
{
  if (!JF_ROOM(s->site, s->n_site, s->cap_site)) return jf_fail(JFL_ENOMEM, "out of memory");
  jf_site *t = jf_new(sizeof *t);
  if (!t) return jf_fail(JFL_ENOMEM, "out of memory");
  t->place = s->n_site;
  jfl_status st = site_open(t, kind, index);
  if (st) site_end(t);
  else s->site[s->n_site++] = t;
  return st;
}

jfl_status jf_session_site(jfl_session *s, const char *name, jf_site **out)
{
  const jf_kind *kind;
  int index;
  JF_TRY(jf_device_parse(name, &kind, &index));
  if (kind == jf_host()->kind->parts && index >= s->settings.cpu_devices)
    return jf_fail(JFL_ENAME, "device must be one of the %d that the setting cpu_devices asks for, "
                   "got '%.60s'", s->settings.cpu_devices, name);
  for (int i = 0; i < s->n_site; i++)
    if (s->site[i]->device->kind == kind && s->site[i]->device->index == index)
      return *out = s->site[i], JFL_OK;
  jf_session_acquire(s);                   /* runs look sites up */
  jfl_status st = site_add(s, kind, index);
  jf_session_release(s);
  if (!st) *out = s->site[s->n_site - 1];
  return st;
}

int jfl_device_count(const char *kind)
{
  if (!kind) return jf_need_pointer(__func__, "kind", kind), 0;
  const jf_kind *k = jf_kind_find(kind);
  return k && (k->rows || k->plain) ? jf_kind_count(k) : 0;
}

const char *jfl_device_absence(const char *kind)
{
  if (!kind) return jf_need_pointer(__func__, "kind", kind), NULL;
  const jf_kind *k = jf_kind_find(kind);
  return k && !jf_kind_count(k) && k->absence ? k->absence() : NULL;
}
