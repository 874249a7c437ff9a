/* Making a fused program of some nodes: private to the pass fuse. */
#ifndef JF_FUSE_DRAFT_H
#define JF_FUSE_DRAFT_H

#include "op/fused.h"
#include "pass/fuse/member.h"

/* How much of a draft there is. */
typedef struct jf_draft_extent {
  int n_member, n_slot, n_instr, n_in, n_random;
  jfl_shape space;
} jf_draft_extent;

/* A program in the making. Drafts are made over and over in the same memory. */
typedef struct jf_draft {
  const jf_fused_limits *limits;
  const jf_node **member;                       /* in an order that respects data flow */
  int n_member;
  int (*leaves)(void *ctx, const jfl_value *v); /* whether others need v, which a member makes */
  void *ctx;

  jf_fused f;                                   /* what follows is filled in */
  jf_fused_slot *slot;
  jf_instr *instr;
  jf_fused_arg *arg;
  const jfl_value **value;                      /* of slots; NULL: a number */
  struct jf_spread_over *over;                  /* of slots: how they lie to a member's shape */
  const jfl_value **input, *output[JF_FUSED_OUTS];
  int64_t size;                                 /* elements of the space */
  int n_random;                                 /* members that draw random numbers */
  jf_draft_extent before;                       /* as it was before it was last extended */
} jf_draft;
/* An empty one with room for programs within limits, in arena a. */
jf_draft jf_draft_new(jf_arena *a, const jf_fused_limits *limits);
/* Makes a program of the members; 0 where they make none. */
int jf_draft_make(jf_draft *d);
/* The members but for the last have made a program. jf_draft_can_extend says whether the last can
   be added to it as it is. Then jf_draft_extend adds it, or gives 0 and leaves the program without
   it; and jf_draft_shrink takes it out again. */
int jf_draft_can_extend(const jf_draft *d, const jf_node *last);
int jf_draft_extend(jf_draft *d);
void jf_draft_shrink(jf_draft *d);
/* The program in arena a, with its texts (text.c). */
jf_fused *jf_draft_keep(const jf_draft *d, jf_arena *a);

#endif
