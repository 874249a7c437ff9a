/* Streams of the simulated device: those of dev/stream.h, but late, and with work that is kept. */
#include "dev/sim/sim.h"

#include <unistd.h>

static jfl_status sim_stream_do(void *item)
{
  jf_sim_item *i = item;
  /* Sometimes sleeps, so that whoever does not wait for the stream comes too early. */
  enum { ONE_IN = 4 };
  jf_sim_stream *s = i->stream;
  const jf_philox bits = jf_philox_at(s->pace.seed, s->number, s->n_done++);
  if (s->pace.delay && bits.w[0] % ONE_IN == 0) usleep(bits.w[1] % s->pace.delay + 1);
  return i->run(i);
}

static jfl_status sim_stream_do_kept(void *item) { return sim_stream_do(*(jf_sim_item **)item); }

jfl_status jf_sim_stream_new(const char *name, jf_sim_pace pace, uint64_t number,
                             jf_sim_stream **out)
{
  jf_sim_stream *s = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "out of memory");
  *s = (jf_sim_stream){ .name = name, .pace = pace, .number = number, .forks = jf_forks() };
  const jfl_status st = jf_stream_new(name, JF_PROMPT, &s->stream);
  if (st) jf_free(s);
  else *out = s;
  return st;
}

void jf_sim_stream_free(jf_sim_stream *s)
{
  jf_stream_free(s->stream);
  jf_free(s);
}

jfl_status jf_sim_check(const jf_sim_stream *s)
{
  if (s->forks == jf_forks()) return JFL_OK;
  return jf_fail(JFL_ESTATE, "%s: this process forked from one that uses the device, which is not "
                 "here", s->name);
}

jfl_status jf_sim_room(jf_sim_stream *s, size_t size, void **out)
{
  JF_TRY(jf_sim_check(s));
  *out = s->captured ? jf_new_raw(size) : jf_stream_room(s->stream, size);
  return *out ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

void jf_sim_put(jf_sim_stream *s, jf_sim_item *i, jf_sim_fn run)
{
  jf_sim_work *w = s->captured;
  *i = (jf_sim_item){ NULL, s, run };
  if (!w) {
    jf_stream_put(s->stream, JF_STREAM_WORK, sim_stream_do);
    return;
  }
  if (w->tail) w->tail->next = i;
  else w->head = i;
  w->tail = i;
}

/* ---- work that is repeated ---- */

jfl_status jf_sim_capture(jf_sim_stream *s)
{
  s->captured = jf_new(sizeof *s->captured);
  return s->captured ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

jf_sim_work *jf_sim_captured(jf_sim_stream *s)
{
  jf_sim_work *w = s->captured;
  s->captured = NULL;
  return w;
}

void jf_sim_work_free(jf_sim_work *w)
{
  for (jf_sim_item *i = w->head, *next; i; i = next) {
    next = i->next;
    jf_free(i);
  }
  jf_free(w);
}

jfl_status jf_sim_replay(jf_sim_stream *s, jf_sim_work *w)
{
  JF_TRY(jf_sim_check(s));
  for (jf_sim_item *i = w->head; i; i = i->next)
    JF_TRY(jf_stream_add(s->stream, JF_STREAM_WORK, sim_stream_do_kept, &i, sizeof i));
  return JFL_OK;
}
