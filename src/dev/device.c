/* The table of device kinds, opening devices, and their memory. */
#include "dev/dev.h"
#include "system/system.h"

#include <stdio.h>
#include <string.h>

#define DEVICE(id) extern const jf_kind jf_kind_##id;
#include "gen/devicelist.h"
#undef DEVICE

const jf_kind *const jf_kinds[] = {
#define DEVICE(id) &jf_kind_##id,
#include "gen/devicelist.h"
#undef DEVICE
  NULL
};

const jf_kind *jf_kind_find(const char *name)
{
  for (const jf_kind *const *k = jf_kinds; *k; k++)
    if (!strcmp((*k)->name, name)) return *k;
  return NULL;
}

int jf_kind_count(const jf_kind *k) { return k->count ? k->count() : 1; }

/* Splits "gpu:1" into the kind and the number, which is 0 if there is none; -1 if what follows the
   colon is no number. */
static int device_split(const char *text, char *kind, size_t size)
{
  const char *colon = strchr(text, ':');
  size_t n = colon ? (size_t)(colon - text) : strlen(text);
  int index = 0, end = 0;
  if (n >= size) n = size - 1;
  memcpy(kind, text, n);
  kind[n] = 0;
  if (!colon) return 0;
  if (colon[1] < '0' || colon[1] > '9' || strlen(colon) > 9) return -1;
  return sscanf(colon + 1, "%d%n", &index, &end) == 1 && !colon[1 + end] ? index : -1;
}

jfl_status jf_device_parse(const char *text, const jf_kind **kind, int *index)
{
  char name[24];
  int at = device_split(text, name, sizeof name), n;
  const jf_kind *k = jf_kind_find(name);
  if (!k || at < 0)
    return jf_fail(JFL_ENAME, "device must be a kind and a number, as in cpu:0, got '%.60s'", text);
  n = jf_kind_count(k);
  if (n == 0 && k->absence)
    return jf_fail(JFL_ENAME, "device must be one that is here, got '%.60s': %s", text,
                   k->absence());
  if (at >= n)
    return jf_fail(JFL_ENAME, "device must be one of the %d that %s has, got '%.60s'", n, k->name,
                   text);
  *kind = k;
  *index = at;
  return JFL_OK;
}

jfl_status jf_device_new(const jf_kind *kind, int index, jf_device **out)
{
  jf_device *d = jf_new(sizeof *d);
  if (!d) return jf_fail(JFL_ENOMEM, "out of memory");
  d->kind = kind;
  d->index = index;
  snprintf(d->name, sizeof d->name, "%.12s:%d", kind->name, index);
  jfl_status s = kind->open ? kind->open(d) : JFL_OK;
  if (s) jf_free(d);
  else *out = d;
  return s;
}

void jf_device_free(jf_device *d)
{
  if (!d) return;
  if (d->kind->close) d->kind->close(d);
  jf_free(d);
}

static jfl_status device_is_full(jf_device *d, size_t size, const char *what, const char *help)
{
  size_t unused, all;
  const char *then = help ? "; " : "";
  if (!help) help = "";
  if (!d->kind->memory)
    return jf_fail(JFL_ENOMEM, "out of memory: %s take %zu bytes on %s%s%s", what, size, d->name,
                   then, help);
  JF_TRY(d->kind->memory(d, &unused, &all));
  return jf_fail(JFL_ENOMEM, "out of memory: %s take %zu bytes on %s, where %zu of %zu are free"
                 "%s%s", what, size, d->name, unused, all, then, help);
}

jfl_status jf_device_take(jf_device *d, size_t size, const char *what, const char *help,
                          void **out)
{
  void *p = d->kind->alloc(d, size);
  return p ? (*out = p, JFL_OK) : device_is_full(d, size, what, help);
}

jfl_status jf_storage_new(jf_device *d, size_t size, jf_storage **out)
{
  jf_storage *st = jf_new(sizeof *st);
  void *data = NULL;
  if (!st) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status s = jf_device_take(d, size, "its elements", NULL, &data);
  if (s) return jf_free(st), s;
  *st = (jf_storage){ .size = size, .data = data, .device = d };
  *out = st;
  return JFL_OK;
}

static void storage_give(jf_storage *st)
{
  if (st->file) jf_mapping_drop(st->file);
  else st->device->kind->free(st->device, st->data);
}

void jf_storage_map(jf_storage *st, jf_mapping *file, void *data)
{
  jf_mapping_keep(file);
  storage_give(st);
  st->file = file;
  st->data = data;
}

void jf_storage_own(jf_storage *st, void *data)
{
  storage_give(st);
  st->file = NULL;
  st->data = data;
}

void jf_storage_free(jf_storage *st)
{
  if (!st) return;
  storage_give(st);
  jf_free(st);
}
