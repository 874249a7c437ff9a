/* Orders the nodes of parts of the batch (jfl_graph_micro_batches) so that devices work on several
   parts at once. A device that is the s-th of S does S - s parts forward before it goes back with
   the first one; then it goes forward with one part and back with one in turn ("one forward, one
   backward": Narayanan et al., PipeDream, 2019), so that few parts are in memory at a time. Each
   device keeps the order of its nodes; which comes first among those of several devices does not
   matter, as they wait for each other. */
#include "pass/pass.h"

#include <stdlib.h>

typedef struct turn_node {
  jf_node *n;
  int index, part;             /* part: its micro-batch from 0, or -1 */
  int back;                    /* whether gradients go into it */
  int stage;                   /* of its device; -1: no part is worked on there */
  int slot;                    /* when its device comes to it */
  int waits;                   /* nodes before it that are not emitted */
  int done;
} turn_node;

typedef struct turn_walk {
  jfl_graph *g;
  turn_node *node; int n;      /* those before the first that changes a variable */
  int *maker;                  /* by value: the node that makes it, or -1 */
  int *stage; int n_stage;     /* by place */
  int **queue, *n_queue, *next;        /* by stage: its nodes in order; the first to look at */
  int *reader, *first_reader;  /* by node, as a list: those that read it */
  int *ready;                  /* room for turn_emit */
} turn_walk;

static void turn_look(turn_walk *w, int i)
{
  turn_node *t = &w->node[i];
  const jf_node_source *s = &w->g->node[i]->source;
  *t = (turn_node){ .n = w->g->node[i], .index = i, .part = s->micro_batch - 1 };
  t->back = s->purpose != JF_FORWARD;
  for (int k = 0; k < t->n->n_in; k++) {
    const int maker = w->maker[t->n->in[k]->id];
    if (maker < 0) continue;
    t->back |= w->node[maker].back;
    t->waits++;
  }
  for (int k = 0; k < t->n->n_out; k++) w->maker[t->n->out[k]->id] = i;
  if (t->part >= 0 && !t->back && w->stage[t->n->place] < 0 && s->logical)
    w->stage[t->n->place] = w->n_stage++;
}

static int turn_slot(const turn_walk *w, const turn_node *t)
{
  const int ahead = w->n_stage - 1 - t->stage, part = t->part;
  if (part < 0) return t->back ? w->n + 2 * JF_MOST_TURNS : -1;
  if (t->back) return ahead + 1 + 2 * part;
  return part <= ahead ? part : ahead + 2 * (part - ahead);
}

static int turn_compare(const void *a, const void *b)
{
  const turn_node *x = *(turn_node *const *)a, *y = *(turn_node *const *)b;
  return x->slot != y->slot ? x->slot - y->slot : x->index - y->index;
}

static void turn_queue(turn_walk *w, int stage)
{
  jf_arena *a = w->g->arena;
  turn_node **own = jf_alloc(a, (size_t)w->n * sizeof *own);
  int n = 0;
  for (int i = 0; i < w->n; i++)
    if (w->node[i].stage == stage) own[n++] = &w->node[i];
  qsort(own, (size_t)n, sizeof *own, turn_compare);
  w->queue[stage] = jf_alloc(a, (size_t)n * sizeof **w->queue);
  for (int i = 0; i < n; i++) w->queue[stage][i] = own[i]->index;
  w->n_queue[stage] = n;
}

static void turn_readers(turn_walk *w)
{
  int edges = 0;
  w->first_reader = jf_alloc(w->g->arena, (size_t)(w->n + 2) * sizeof *w->first_reader);
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < w->n; i++)
      for (int k = 0; k < w->node[i].n->n_in; k++) {
        const int maker = w->maker[w->node[i].n->in[k]->id];
        if (maker < 0) continue;
        if (pass == 0) w->first_reader[maker + 2]++, edges++;
        else w->reader[w->first_reader[maker + 1]++] = i;
      }
    if (pass) break;
    w->reader = jf_alloc(w->g->arena, (size_t)edges * sizeof *w->reader);
    for (int i = 2; i <= w->n + 1; i++) w->first_reader[i] += w->first_reader[i - 1];
  }
}

/* Emits node i, and then nodes of no stage that waited for it alone. */
static void turn_emit(turn_walk *w, int i)
{
  int *ready = w->ready, n = 0;
  ready[n++] = i;
  for (int k = 0; k < n; k++) {
    const int at = ready[k];
    w->node[at].done = 1;
    w->g->node[w->g->n_node++] = w->node[at].n;
    for (int j = w->first_reader[at]; j < w->first_reader[at + 1]; j++) {
      turn_node *t = &w->node[w->reader[j]];
      if (--t->waits == 0 && t->stage < 0) ready[n++] = t->index;
    }
  }
}

/* Emits the next node of a stage if it waits for none; with `any`, the first of them that does
   not. */
static int turn_step(turn_walk *w, int stage, int any)
{
  const int *queue = w->queue[stage];
  int *next = &w->next[stage];
  while (*next < w->n_queue[stage] && w->node[queue[*next]].done) ++*next;
  for (int i = *next; i < w->n_queue[stage]; i++) {
    const turn_node *t = &w->node[queue[i]];
    if (!t->done && !t->waits) return turn_emit(w, t->index), 1;
    if (!t->done && !any) return 0;
  }
  return 0;
}

/* Statistics of the whole batch make parts wait for each other, against the order. */
static void turn_order(turn_walk *w)
{
  for (int i = 0; i < w->n; i++)
    if (!w->node[i].done && !w->node[i].waits && w->node[i].stage < 0) turn_emit(w, i);
  for (int any = 0; any < 2;) {
    int moved = 0;
    for (int s = 0; s < w->n_stage; s++) moved |= turn_step(w, s, any);
    any = moved ? 0 : any + 1;
  }
}

static void turn_begin(turn_walk *w, int n_device)
{
  jfl_graph *g = w->g;
  jf_arena *a = g->arena;
  while (w->n < g->n_node && !(g->node[w->n]->op->flags & JF_EFFECT)) w->n++;
  w->node = jf_alloc(a, (size_t)w->n * sizeof *w->node);
  w->maker = jf_alloc(a, (size_t)g->n_value * sizeof *w->maker);
  w->stage = jf_alloc(a, (size_t)n_device * sizeof *w->stage);
  for (int i = 0; i < g->n_value; i++) w->maker[i] = -1;
  for (int i = 0; i < n_device; i++) w->stage[i] = -1;
  for (int i = 0; i < w->n; i++) turn_look(w, i);
  w->queue = jf_alloc(a, (size_t)(w->n_stage + 1) * sizeof *w->queue);
  w->n_queue = jf_alloc(a, (size_t)(w->n_stage + 1) * sizeof *w->n_queue);
  w->next = jf_alloc(a, (size_t)(w->n_stage + 1) * sizeof *w->next);
  for (int i = 0; i < w->n; i++) {
    w->node[i].stage = w->stage[w->node[i].n->place];
    w->node[i].slot = turn_slot(w, &w->node[i]);
  }
  for (int s = 0; s < w->n_stage; s++) turn_queue(w, s);
  turn_readers(w);
  w->ready = jf_alloc(a, (size_t)w->n * sizeof *w->ready);
}

/* All processes must run what they do together in one order, which this would change. */
static int turn_is_shared(const jfl_graph *g)
{
  for (int i = 0; i < g->n_node; i++)
    if (g->node[i]->op->flags & JF_TOGETHER) return 1;
  return 0;
}

jfl_status jf_pass_pipeline(jfl_graph *g, const jf_target *target)
{
  if (g->turns < 2 || turn_is_shared(g)) return JFL_OK;
  turn_walk w = { .g = g };
  jf_node **old = g->node;
  const int n_old = g->n_node;
  turn_begin(&w, target->n_device);
  g->node = jf_alloc(g->arena, (size_t)n_old * sizeof *g->node);
  g->n_node = 0;
  g->cap_node = n_old;
  turn_order(&w);
  for (int i = w.n; i < n_old; i++) g->node[g->n_node++] = old[i];
  return JFL_OK;
}
