/* Finds the part of a run that a device can repeat as a whole. */
#include "plan/plan.h"

static int repeat_is_transfer(const jf_step *st)
{
  return (st->node->op->flags & JF_TRANSFER) != 0;
}

void jf_plan_find_work(jfl_plan *p)
{
  int first = 0, end = p->n_step;
  const int whole = p->lane.place >= 0;
  p->work_first = p->work_end = -1;
  while (!whole && first < end && repeat_is_transfer(&p->step[first])) first++;
  while (!whole && end > first && repeat_is_transfer(&p->step[end - 1])) end--;
  if (first == end) return;
  const jf_kind *k = p->part[p->step[first].place].device->kind;
  for (int i = first; i < end; i++) {
    const jf_step *st = &p->step[i];
    if (st->place != p->step[first].place || (repeat_is_transfer(st) && !whole)) return;
    if (st->random && !k->reads_record) return;
  }
  if (!k->replay) return;
  p->work_first = first;
  p->work_end = end;
}
