/* The random bits of a step: they depend on the session's seed, on names, and on the run. */
#include "run/run.h"

void jf_step_draw(const jfl_plan *p, jf_step *st)
{
  if (!st->random) return;
  st->k.random = (jf_random_source){ jf_hash(p->job->session->seed, &st->stream,
                                             sizeof st->stream), p->job->run,
                                     st->node->source.first };
}
