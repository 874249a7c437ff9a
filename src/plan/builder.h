/* What the parts of making a plan share: what is known of each value meanwhile. They come in the
   order in which plan.c calls them. */
#ifndef JF_PLAN_BUILDER_H
#define JF_PLAN_BUILDER_H

#include "plan/plan.h"

/* What is known of each value while the plan is made, by value id. */
typedef struct jf_plan_builder {
  jfl_plan *p;
  jfl_graph *g;
  jf_chooser *chooser;
  jf_arena *arena;
  jf_step *step;               /* the plan's, and its parts and patches, while they are made */
  jf_plan_part *part;
  jf_patch *input, *output;
  const jfl_value **root;      /* the value whose memory it uses */
  jf_where *where;             /* of roots: where their memory is */
  int *last_use;               /* of roots: last step that reads it */
  int *made_by;                /* of roots: the step that makes it, or -1 */
  const char *changes;         /* of roots: whether a step changes it */
  char *still;                 /* whether it depends alone on variables that no step changes */
  int n_value;                 /* how many there are, with those of packed bytes */
  jf_life *life; int n_life;
  int *life_place;             /* of lifetimes: the place in whose arena they are */
} jf_plan_builder;

static inline jf_where jf_plan_at(jf_memory memory, const jfl_value *v, int index)
{
  return (jf_where){ .memory = memory, .place = v->place, .index = index,
                     .size = JF_BYTES_OF(v) };
}

static inline int jf_plan_is_host(const jfl_plan *p, int place)
{
  return p->part[place].device->kind->host;
}

/* What a step reads for its node's input k: a value whose memory no view shares. */
static inline const jfl_value *jf_plan_reads(const jf_plan_builder *b, const jf_step *st, int k)
{
  return st->packed && k == st->packs ? st->packed : b->root[st->node->in[k]->id];
}

/* Whether a call of n draws random bits. */
static inline int jf_plan_draws(const jf_node *n)
{
  return n->op->flags & JF_RANDOM && (!n->op->draws || n->op->draws(n->attr));
}

/* Finds whose memory each value uses, places what is outside of arenas, and puts nodes in order as
   steps, first those of the prologue (steps.c). */
void jf_plan_make_steps(jf_plan_builder *b);
/* Adds steps that pack what kernels want packed, each behind the step that makes it (packing.c). */
void jf_plan_add_packing(jf_plan_builder *b);
/* Places derived values (derived.c). */
void jf_plan_place_derived(jf_plan_builder *b);
/* Gives results, temporaries and scratch their memory (places.c). */
void jf_plan_place(jf_plan_builder *b);
/* Has streams wait for each other's steps (streams.c). */
void jf_plan_order_streams(jf_plan_builder *b);

#endif
