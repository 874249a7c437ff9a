/* Staging buffers: how the inputs of a run come to a device, and its results go from there.

   Where one device does all steps of a plan, inputs, the run's record and results lie in one block
   of its memory, and in pinned memory of the host they lie at the same offsets:

       | input | input | record | result | result | variable that is a result |
       |---- to the device -----|
                       |------ from it -----------|

   So a run is a copy, its steps, and a copy, which the device can repeat as a whole; with two such
   staging buffers the host fills and reads one while the device works on the other. Where the
   device has a run already when the next is sent, and the inputs of that are large, their copy is
   no part of what is repeated: another stream makes it meanwhile. Constants are copied to the
   device by the prologue.

   A plan on several devices has no staging buffer: before its first update the host tells each
   device what the others found wrong (jfl_plan.barrier), so its run is no work that can be repeated
   blindly. */
#include "plan/plan.h"

/* A plan whose inputs and results take more bytes than MOST copies them one by one. */
enum { STAGING_ALIGN = 64, MOST = 1 << 30 };

typedef struct staging_values { const jfl_value *const *root; jf_where *where; } staging_values;

/* The only device that works, if it can be given its work as a whole; else -1. */
static int staging_place(const jfl_plan *p)
{
  int place = -1;
  for (int i = 0; i < p->n_part; i++) {
    if (!p->part[i].n_step) continue;
    if (place >= 0 || !p->part[i].device->kind->pin) return -1;
    place = i;
  }
  return place;
}

static int staging_is_transfer(const jf_step *st)
{
  return (st->node->op->flags & JF_TRANSFER) != 0;
}

/* Where the step's input and output are. */
static jf_where *staging_from(const staging_values *v, const jf_step *st)
{
  return &v->where[v->root[st->node->in[0]->id]->id];
}
static jf_where *staging_to(const staging_values *v, const jf_step *st)
{
  return &v->where[v->root[st->node->out[0]->id]->id];
}

/* Whether all that runs copy are inputs and results. */
static int staging_serves(const jfl_plan *p, const staging_values *v, int place)
{
  for (int s = p->n_prologue; s < p->n_step; s++) {
    const jf_step *st = &p->step[s];
    if (!staging_is_transfer(st)) continue;
    const jf_memory from = staging_from(v, st)->memory, to = staging_to(v, st)->memory;
    if (st->node->place == place ? from != JF_AT_INPUT || to != JF_AT_NONE : to != JF_AT_OUTPUT)
      return 0;
  }
  return 1;
}

/* Gives the next bytes. */
static size_t staging_take(size_t *end, size_t size)
{
  const size_t at = *end;
  *end += (size + STAGING_ALIGN - 1) / STAGING_ALIGN * STAGING_ALIGN;
  return at;
}

static size_t staging_bytes(const jfl_plan *p, const staging_values *v, int place)
{
  size_t n = 0;
  for (int s = p->n_prologue; s < p->n_step; s++) {
    const jf_step *st = &p->step[s];
    if (staging_is_transfer(st))
      staging_take(&n, st->node->place == place ? staging_from(v, st)->size : staging_to(v,
                                                                                         st)->size);
  }
  return n;
}

/* Puts a value that a device has in its part of the staging buffer. */
static void staging_put(jf_where *w, int place, size_t offset, size_t size)
{
  *w = (jf_where){ .memory = JF_AT_STAGING, .place = place, .offset = offset, .size = size };
}

static void staging_inputs(jfl_plan *p, const staging_values *v, int place)
{
  for (int s = p->n_prologue; s < p->n_step; s++) {
    if (!staging_is_transfer(&p->step[s]) || p->step[s].node->place != place) continue;
    jf_where *from = staging_from(v, &p->step[s]);
    from->offset = staging_take(&p->staging.size, from->size);
    staging_put(staging_to(v, &p->step[s]), place, from->offset, from->size);
  }
}

/* Whether the step copies a result of the device's work from where the staging buffer has room for
   it. */
static int staging_has_result(const jfl_plan *p, const jf_where *from, const jf_where *to)
{
  return from->memory == JF_AT_STAGING && from->offset == to->offset &&
         to->offset > p->staging.record;
}

/* A result that is a variable, an input or another result, too, is copied on its own. */
static void staging_results(jfl_plan *p, const staging_values *v, int place, int own)
{
  for (int s = p->n_prologue; s < p->n_step; s++) {
    if (!staging_is_transfer(&p->step[s]) || p->step[s].node->place == place) continue;
    jf_where *from = staging_from(v, &p->step[s]), *to = staging_to(v, &p->step[s]);
    if (own ? staging_has_result(p, from, to) : from->memory != JF_AT_NONE) continue;
    to->offset = staging_take(&p->staging.size, to->size);
    if (!own) staging_put(from, place, to->offset, to->size);
  }
}

void jf_plan_use_staging(jfl_plan *p, const jfl_value *const *root, jf_where *where)
{
  const staging_values v = { root, where };
  const int place = staging_place(p);
  p->staging.place = -1;
  if (place < 0 || p->graph->shared || !staging_serves(p, &v, place)) return;
  if (staging_bytes(p, &v, place) > MOST) return;
  p->staging.place = place;
  staging_inputs(p, &v, place);
  p->staging.record = staging_take(&p->staging.size, sizeof(jf_run_record));
  staging_results(p, &v, place, 0);
  p->staging.end = p->staging.size;
  staging_results(p, &v, place, 1);
}

int jf_staging_covers(const jf_step *st)
{
  const jf_where *from = &st->in[0], *to = &st->out[0];
  return staging_is_transfer(st) &&
         (to->memory == JF_AT_STAGING ||
          (from->memory == JF_AT_STAGING && from->offset == to->offset));
}

int jf_staging_can_repeat(const jfl_plan *p)
{
  if (p->staging.place < 0 || !p->n_step) return 0;
  const jf_kind *k = p->part[p->staging.place].device->kind;
  for (int i = 0; i < p->n_step; i++)
    if ((p->step[i].random && !k->reads_record) || p->step[i].event >= 0 || p->step[i].n_await)
      return 0;
  return k->replay != NULL;
}
