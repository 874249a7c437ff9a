/* What the files of the pass spmd share. A logical value is one of the graph before the pass; a
   part is a value of the graph after it, on one device. */
#ifndef JF_SPMD_H
#define JF_SPMD_H

#include "pass/pass.h"

/* How a logical value lies: the parts of a group's members, in their order. A part may be on
   another device than the member's, which the pass place brings it to; NULL: another process has
   it. Members on one device share a part where each has the whole. */
typedef struct spmd_sharding {
  const jf_group *group;
  jfl_distribution d;
  jfl_value **part;
  struct spmd_sharding *next;  /* another way in which the value lies, too */
} spmd_sharding;

/* A sum over processes that is still to be made. */
typedef struct spmd_sum {
  const jfl_value *of;
  const spmd_sharding *from;
} spmd_sum;

typedef struct spmd_walk {
  jfl_graph *g;
  const jf_target *target;
  int n_rank;                  /* processes; 1 for one that is alone */
  jf_node **old; int n_old;    /* the logical nodes */
  int n_value;                 /* logical values */
  spmd_sharding **sharding;    /* by their ids, how each was made first; NULL: it is not made */
  const jf_node **cast;        /* by the same: a reader whose op says how it lies, or NULL */
  jf_group **plain;            /* by place: the group of that device alone (spmd_group_at) */
  /* Computes a node without inputs so that v, an output, lies so, or if it cannot, broadcast. */
  jfl_status (*make)(struct spmd_walk *w, const jfl_value *v, const jf_group *g,
                     jfl_distribution d);
  spmd_sum *sum; int n_sum, cap_sum; /* waiting to be made together (bucket.c) */
  size_t sum_size;
} spmd_walk;

/* ---- groups and values (sharding.c) ---- */

/* The group that a place stands for. A device's stands for that device of each process. */
const jf_group *spmd_group_at(spmd_walk *w, int place);
/* Whether this process has the member. */
int spmd_has(const spmd_walk *w, const jf_group *g, int member);
/* The place at which the processes of a group exchange data. */
int spmd_net(const spmd_walk *w, const jf_group *g);
/* The first member before `member` that is on the same device of this process, or `member`. */
int spmd_twin(const spmd_walk *w, const jf_group *g, int member);
/* Adds a way in which v lies, whose parts are to be set. */
spmd_sharding *spmd_sharding_new(spmd_walk *w, const jfl_value *v, const jf_group *g,
                                 jfl_distribution d);
/* The way in which v lies so, if it does. */
spmd_sharding *spmd_sharding_find(const spmd_walk *w, const jfl_value *v, const jf_group *g,
                                  jfl_distribution d);
/* Whether v is made without inputs, where and how it is read. */
int spmd_is_source(const jfl_value *v);
/* How v lies where it is made, or for an input of the job how it is best read on a group. */
jfl_distribution spmd_made(const spmd_walk *w, const jfl_value *v, const jf_group *g);

/* ---- choosing (choose.c) ---- */

/* Chooses how n is computed on a group, and *how says why; fails where there is no way. */
jfl_status spmd_choose(spmd_walk *w, const jf_node *n, const jf_group *g, jf_signature *out,
                       const char **how);
/* The signature with which n's output i lies so, or NULL. */
const jf_signature *spmd_giving(spmd_walk *w, const jf_node *n, int i, int parts,
                                jfl_distribution d);

/* ---- converting (convert.c, reduce.c, bucket.c, message.c, part.c) ---- */

/* Gives v as it lies on that group in that way; NULL once the graph has an error. */
spmd_sharding *spmd_bring(spmd_walk *w, jfl_value *v, const jf_group *g, jfl_distribution d);
/* Lets v, which is to be broadcast, wait for other sums over processes, if it is a small one; else
   gives 0. */
int spmd_wait(spmd_walk *w, const jfl_value *v, const jf_group *g);
/* Whether a sum of v waits; and makes those that wait. */
int spmd_waits(const spmd_walk *w, const jfl_value *v);
void spmd_make_sums(spmd_walk *w);
/* Makes the sum over the members, of partial parts, or of mirrored ones their mean, so that it lies
   on the same group: split, in one process; split, over several, for a group that is ordered;
   broadcast, in one process; broadcast, over several. */
spmd_sharding *spmd_reduce_parts(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                 jfl_distribution d);
spmd_sharding *spmd_reduce_scatter(spmd_walk *w, const jfl_value *v, const spmd_sharding *from,
                                   jfl_distribution d);
spmd_sharding *spmd_reduce_here(spmd_walk *w, const jfl_value *v, const spmd_sharding *from);
spmd_sharding *spmd_sum_now(spmd_walk *w, const jfl_value *v, const spmd_sharding *from);
/* Makes a member's mean of a sum, where it is one. */
jfl_value *spmd_scale(spmd_walk *w, const spmd_sharding *from, int member, jfl_value *v);
/* Whether the members of a group are of several processes; and stand in the order of these. */
int spmd_spans_ranks(const jf_group *g);
int spmd_is_ordered(const jf_group *g);
/* Whether the members that this process has use the host's memory. */
int spmd_has_host_memory(const spmd_walk *w, const jf_group *g);
/* The processes of its members, ascending. */
jf_ints spmd_ranks(spmd_walk *w, const jf_group *g);
/* A box of a value: what is from first[i] on, of the extents `size`. */
typedef struct spmd_box { jfl_shape size; int64_t first[JFL_MAXDIM]; } spmd_box;
/* The box of a member's part. */
spmd_box spmd_box_of(const jfl_shape *whole, jfl_distribution d, int parts, int member);
/* Cuts a box, which counts from the beginning of v, out of v. */
jfl_value *spmd_cut(spmd_walk *w, jfl_value *v, const spmd_box *box);
/* Places the node that makes v, and gives v; NULL for NULL. */
jfl_value *spmd_at(int place, jfl_value *v);
/* The sum of the parts that this process has, on one of its devices; NULL: it has none. */
jfl_value *spmd_local_sum(spmd_walk *w, const spmd_sharding *from);
/* The sum of n values at a place, from the first on. */
jfl_value *spmd_add(spmd_walk *w, int place, jfl_value *const *v, int n);

/* Boxes that this process sends to others or gets from them for one conversion. All processes list
   theirs in the same order, in which a pair of them has the same boxes. */
typedef struct spmd_message {
  int from, to;                /* processes */
  int source;                  /* whose box it is: a member of the group that sends */
  spmd_box box;              /* in the whole */
  jfl_value *value;            /* at the sender, what to send; then at the receiver what came */
} spmd_message;
typedef struct spmd_mail { spmd_message *message; int n, cap; } spmd_mail;
/* The number of the message with that box from the same process to the same process, which is added
   unless there is one. What lies between the two in the list must not count: each process lists
   only its own messages. */
int spmd_message_add(spmd_walk *w, spmd_mail *m, spmd_message x);
/* Sends what this process has to send from one group to another, and sets the values that come. */
void spmd_exchange(spmd_walk *w, spmd_mail *m, const jf_group *from, const jf_group *to,
                   jfl_dtype dtype);

/* ---- expanding (expand.c) ---- */

/* Computes a logical node on the members of its group. */
jfl_status spmd_node(spmd_walk *w, jf_node *n);
/* What `make` of a walk is. */
jfl_status spmd_source(spmd_walk *w, const jfl_value *v, const jf_group *g,
                       jfl_distribution d);

#endif
