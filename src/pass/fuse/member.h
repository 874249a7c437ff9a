/* Nodes as members of a fused program; private to the pass fuse. */
#ifndef JF_FUSE_MEMBER_H
#define JF_FUSE_MEMBER_H

#include "pass/pass.h"

/* What a node can be in a program. */
typedef enum jf_member { JF_NO_MEMBER, JF_MEMBER_LOOP, JF_MEMBER_SUM } jf_member;
jf_member jf_member_kind(const jf_node *n);
/* The op whose loop a member runs, and the dtype for which it runs it. */
const jfl_op *jf_member_op(const jf_node *n);
jfl_dtype jf_member_key(const jf_node *n);
/* The shape over which a member loops. */
const jfl_shape *jf_member_shape(const jf_node *n);
/* For a sum: gives the steps of its result along the axes of its input, 0 along those that are
   summed. Returns the length of the rows that it sums, or 0 if it does not sum whole rows. */
int64_t jf_member_sum_steps(const jf_node *n, int64_t *step);

/* Whether n is a view or a broadcast: members read what lies below it instead. */
int jf_is_seen_through(const jf_node *n);

/* What a member reads as input i, past views and broadcasts: elements of v, with step[a] between
   indices of axis a of the member's shape; or a number, if v is NULL. */
typedef struct jf_operand {
  const jfl_value *v;
  jfl_dtype dtype;
  double number;
  int64_t step[JFL_MAXDIM];
} jf_operand;
void jf_operand_of(const jf_node *n, int i, jf_operand *out);

#endif
