/* The order of steps on several streams: which steps wait for those of others. */
#include "plan/builder.h"

/* For each place, the last step on its stream that some step has to wait for; -1: none. */
typedef struct waits {
  jf_plan_builder *b;
  int *want;                   /* by place: for the current step */
  int *known;                  /* by stream and place: 1 + the last step already waited for */
  int *reader;                 /* by value and place: 1 + the last step that reads a variable */
} waits;

static void waits_for(waits *w, int step)
{
  if (step < 0) return;
  int *last = &w->want[w->b->p->step[step].place];
  if (*last < step) *last = step;
}

/* A step waits for the steps that made its inputs, and if it updates a variable, for the steps of
   other streams that read the variable before. */
static void waits_of(waits *w, int step)
{
  jf_plan_builder *b = w->b;
  const jf_node *n = b->p->step[step].node;
  const int n_part = b->p->n_part;
  for (int i = 0; i < n_part; i++) w->want[i] = -1;
  for (int k = 0; k < n->n_in; k++) {
    const jfl_value *r = jf_plan_reads(b, &b->p->step[step], k);
    int *reader = &w->reader[r->id * n_part];
    waits_for(w, b->made_by[r->id]);
    for (int i = 0; i < n_part && jf_mutates(n, k); i++) waits_for(w, reader[i] - 1);
    reader[b->p->step[step].place] = step + 1;
  }
}

/* Stores which steps this one waits for, without those that its stream has waited for before. */
static void waits_note(waits *w, int step)
{
  jfl_plan *p = w->b->p;
  jf_step *st = &w->b->step[step];
  int *known = &w->known[st->place * p->n_part];
  st->await = jf_alloc(w->b->arena, (size_t)p->n_part * sizeof *st->await);
  for (int i = 0; i < p->n_part; i++) {
    if (i == st->place || jf_plan_is_host(p, i) || w->want[i] < known[i]) continue;
    known[i] = w->want[i] + 1;
    st->await[st->n_await++] = w->want[i];
    jf_step *other = &w->b->step[w->want[i]];
    if (other->event < 0) other->event = p->n_event++;
  }
}

void jf_plan_order_streams(jf_plan_builder *b)
{
  jfl_plan *p = b->p;
  size_t n = (size_t)p->n_part;
  int streams = 0;
  p->barrier = -1;
  p->is_shared = b->g->shared != 0;
  for (int i = 0; i < p->n_part; i++) streams += p->part[i].n_step > 0;
  if (streams < 2 && !p->is_shared) return;
  waits w = { b, jf_alloc(b->arena, n * sizeof *w.want),
              jf_alloc(b->arena, n * n * sizeof *w.known),
              jf_alloc(b->arena, n * (size_t)b->n_value * sizeof *w.reader) };
  for (int s = 0; s < p->n_step; s++) {
    waits_of(&w, s);
    waits_note(&w, s);
  }
  if (p->first_update < p->n_step) p->barrier = p->first_update;
}
