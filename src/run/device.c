/* What a run has of a device: a stream, memory for temporaries and staging buffers, and a record of
   what the device finds wrong. */
#include "run/run.h"

#include <string.h>

/* ---- opening and closing ---- */

jfl_status jf_site_set_up(jf_site *t)
{
  const jf_kind *k = t->device->kind;
  if (k->host) return JFL_OK;
  JF_TRY(k->stream_new(t->device, &t->stream));
  void *record;
  JF_TRY(jf_device_take(t->device, sizeof *t->record, "records of runs", NULL,
                        &record));
  t->record = record;
  return JFL_OK;
}

static void site_close(jf_site *t)
{
  const jf_kind *k = t->device->kind;
  if (t->copies) k->stream_free(t->device, t->copies);
  k->free(t->device, t->arena);
  if (!k->host) {
    jf_lanes_free(t);
    k->free(t->device, t->block);
    k->free(t->device, t->record);
    if (t->stream) k->stream_free(t->device, t->stream);
  }
}

void jf_site_free(jf_site *t)
{
  if (!t) return;
  if (t->device) site_close(t);
  jf_free(t);
}

jfl_status jf_site_beside(const jf_site *t, jf_site **out)
{
  jf_site *own = jf_new(sizeof *own);
  if (!own) return jf_fail(JFL_ENOMEM, "out of memory");
  own->device = t->device;
  own->place = t->place;
  const jfl_status st = jf_site_set_up(own);
  if (st) jf_site_free(own);
  else *out = own;
  return st;
}

/* ---- records ---- */

jfl_status jf_site_begin(jf_site *t, jf_run_record *to, uint64_t number)
{
  t->begin = (jf_run_record){ .number = number };
  return t->device->kind->put(t->device, t->stream, to, &t->begin, sizeof t->begin);
}

jfl_status jf_site_settle(jf_site *t, const jf_run_record *r)
{
  const jf_kind *k = t->device->kind;
  t->found = (jf_fault){ 0 };
  jfl_status read = k->get(t->device, t->stream, &t->found, &r->fault, sizeof t->found);
  jfl_status done = k->wait(t->device, t->stream);
  if (t->found.what) return jf_fault_fail(&t->found);
  return done ? done : read;
}

/* ---- copies ---- */

/* The error of a copy, or of the wait for it. */
static jfl_status site_finish(jf_site *t, jfl_status copied)
{
  jfl_status waited = t->device->kind->wait(t->device, t->stream);
  return copied ? copied : waited;
}

jfl_status jf_site_put(jf_site *t, void *to, const void *from, size_t size)
{
  const jf_kind *k = t->device->kind;
  if (!k->host) return site_finish(t, k->put(t->device, t->stream, to, from, size));
  memcpy(to, from, size);
  return JFL_OK;
}

jfl_status jf_site_get(jf_site *t, void *to, const void *from, size_t size)
{
  const jf_kind *k = t->device->kind;
  if (!k->host) return site_finish(t, k->get(t->device, t->stream, to, from, size));
  memcpy(to, from, size);
  return JFL_OK;
}
