/* Making a fused program of some nodes: private to the pass fuse. */
#ifndef JF_DRAFT_H
#define JF_DRAFT_H

#include "op/fused.h"
#include "pass/pass.h"

/* What a node can be in a program. */
typedef enum jf_member { JF_NO_MEMBER, JF_MEMBER_LOOP, JF_MEMBER_SUM } jf_member;
jf_member jf_member_kind(const jf_node *n);
/* Whether n is a view or a broadcast, past which members read. */
int jf_is_seen_through(const jf_node *n);

/* What a member reads as input i, past views and broadcasts: elements of v, step[a] apart per index
   of axis a of what the member loops over; or a number where v is NULL. */
typedef struct jf_operand {
  const jfl_value *v;
  jfl_dtype dtype;
  double number;
  int64_t step[JFL_MAXDIM];
} jf_operand;
void jf_operand_of(const jf_node *n, int i, jf_operand *out);
/* The shape that a member loops over. */
const jfl_shape *jf_member_shape(const jf_node *n);

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
  jfl_shape *over;                              /* what axes a slot's steps are of, as given */
  const jfl_value **input, *output[JFL_MAXOUT];
  int64_t size;                                 /* elements of the space */
} jf_draft;
/* An empty one for programs within limits, in arena a. */
jf_draft jf_draft_new(jf_arena *a, const jf_fused_limits *limits);
/* 0 where the members make no program. */
int jf_draft_make(jf_draft *d);
/* The program in arena a, with its texts. */
jf_fused *jf_draft_keep(const jf_draft *d, jf_arena *a);

#endif
