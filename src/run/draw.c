/* The random bits of a step: they depend on the session's seed, on names, and on the run. */
#include "run/run.h"

void jf_step_draw(jf_execution *e, int step)
{
  const jf_step *st = &e->plan->step[step];
  if (!st->random) return;
  const uint64_t key = jf_hash(e->session->seed, &st->stream, sizeof st->stream);
  e->k[step].random = (jf_random_source){ key, e->number, st->node->first };
}
