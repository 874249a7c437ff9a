/* Makes a fused program of some nodes; private to the pass fuse. */
#ifndef JF_FUSE_DRAFT_H
#define JF_FUSE_DRAFT_H

#include "op/fused.h"
#include "pass/fuse/member.h"

/* How many slots a member takes at most, with those of what it reads. */
enum { JF_DRAFT_SLOTS = 4 };

/* How much a draft holds. */
typedef struct jf_draft_extent {
  int n_member, n_slot, n_instr, n_in, n_random;
  jfl_shape space;
} jf_draft_extent;

/* A program in the making. One draft serves for many attempts, all in the same memory. */
typedef struct jf_draft {
  const jf_fused_limits *limits;
  const jf_node **member;                       /* the nodes, each after those that make what it
                                                   reads */
  int n_member;
  int (*leaves)(void *ctx, const jfl_value *v); /* whether nodes outside, or the caller, need v */
  void *ctx;

  jf_fused f;                                   /* what follows is set by jf_draft_make */
  jf_fused_slot *slot;
  jf_instr *instr;
  jf_fused_arg *arg;
  const jfl_value **value;                      /* by slot: the value it holds; NULL: a number */
  struct jf_spread_over *over;                  /* by slot: its steps along a member's shape */
  const jfl_value **input, *output[JF_FUSED_OUTS];
  int64_t size;                                 /* elements of the space */
  int n_random;                                 /* how many members draw random numbers */
  jf_draft_extent before;                       /* what it held before it was last extended */
} jf_draft;
/* Makes an empty draft in arena a, with room for programs within limits. */
jf_draft jf_draft_new(jf_arena *a, const jf_fused_limits *limits);
/* Makes a program of the members; returns 0 if they cannot be one. */
int jf_draft_make(jf_draft *d);
/* These add a last member to a program that was made of the others. jf_draft_can_extend says
   whether that is possible without making the program anew. jf_draft_extend adds the member, or
   returns 0 and leaves the program as it was. jf_draft_shrink removes the member again. */
int jf_draft_can_extend(const jf_draft *d, const jf_node *last);
int jf_draft_extend(jf_draft *d);
void jf_draft_shrink(jf_draft *d);
/* Copies the program to arena a and writes its texts (text.c). */
jf_fused *jf_draft_keep(const jf_draft *d, jf_arena *a);

#endif
