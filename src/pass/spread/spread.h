/* What the files of the pass spread share. A logical value is one of the graph before the pass; a
   part is a value of the graph after it, on one device. */
#ifndef JF_SPREAD_H
#define JF_SPREAD_H

#include "pass/pass.h"

/* How a logical value lies: the parts of a group's members, in their order. A part may be on
   another device than the member's, which the pass place brings it to; NULL: another process has
   it. Members on one device share a part where each has the whole. */
typedef struct spread_lie {
  const jf_group *group;
  jfl_distribution d;
  jfl_value **part;
  struct spread_lie *next;     /* another way in which the value lies, too */
} spread_lie;

/* A sum over processes that is still to be made. */
typedef struct spread_sum {
  const jfl_value *of;
  const spread_lie *from;
} spread_sum;

typedef struct spread_walk {
  jfl_graph *g;
  const jf_target *target;
  int n_rank;                  /* processes; 1 for one that is alone */
  jf_node **old; int n_old;    /* the logical nodes */
  int n_value;                 /* logical values */
  spread_lie **lie;            /* by their ids, how each was made first; NULL: it is not made */
  const jf_node **cast;        /* by the same: a reader whose op says how it lies, or NULL */
  jf_group **plain;            /* by place: the group of that device alone (spread_group_at) */
  /* Computes a node without inputs so that v, an output, lies so, or if it cannot, broadcast. */
  jfl_status (*make)(struct spread_walk *w, const jfl_value *v, const jf_group *g,
                     jfl_distribution d);
  spread_sum *sum; int n_sum, cap_sum; /* waiting to be made together (bucket.c) */
  size_t sum_size;
} spread_walk;

/* ---- groups and values (lie.c) ---- */

/* The group that a place stands for. A device's stands for that device of each process. */
const jf_group *spread_group_at(spread_walk *w, int place);
/* Whether this process has the member. */
int spread_has(const spread_walk *w, const jf_group *g, int member);
/* The place at which the processes of a group exchange data. */
int spread_net(const spread_walk *w, const jf_group *g);
/* The first member before `member` that is on the same device of this process, or `member`. */
int spread_twin(const spread_walk *w, const jf_group *g, int member);
/* Adds a way in which v lies, whose parts are to be set. */
spread_lie *spread_lie_new(spread_walk *w, const jfl_value *v, const jf_group *g,
                           jfl_distribution d);
/* The way in which v lies so, if it does. */
spread_lie *spread_lie_find(const spread_walk *w, const jfl_value *v, const jf_group *g,
                            jfl_distribution d);
/* Whether v is made without inputs, where and how it is read. */
int spread_is_source(const jfl_value *v);
/* How v lies where it is made, or for an input of the job how it is best read on a group. */
jfl_distribution spread_made(const spread_walk *w, const jfl_value *v, const jf_group *g);
size_t spread_bytes(const jfl_value *v);

/* ---- choosing (choose.c) ---- */

/* Chooses how n is computed on a group, and *how says why; fails where there is no way. */
jfl_status spread_choose(spread_walk *w, const jf_node *n, const jf_group *g, jf_signature *out,
                         const char **how);
/* The signature with which n's output i lies so, or NULL. */
const jf_signature *spread_giving(spread_walk *w, const jf_node *n, int i, int parts,
                                  jfl_distribution d);

/* ---- converting (convert.c, reduce.c, bucket.c, message.c, part.c) ---- */

/* Gives v as it lies on that group in that way; NULL once the graph has an error. */
spread_lie *spread_bring(spread_walk *w, jfl_value *v, const jf_group *g, jfl_distribution d);
/* Lets v, which is to be broadcast, wait for other sums over processes, if it is a small one; else
   gives 0. */
int spread_wait(spread_walk *w, const jfl_value *v, const jf_group *g);
/* Whether a sum of v waits; and makes those that wait. */
int spread_waits(const spread_walk *w, const jfl_value *v);
void spread_make_sums(spread_walk *w);
/* Makes the sum over the members, of partial parts, or of mirrored ones their mean, so that it lies
   on the same group: split, in one process; split, over several, for a group that is ordered;
   broadcast, in one process; broadcast, over several. */
spread_lie *spread_reduce_parts(spread_walk *w, const jfl_value *v, const spread_lie *from,
                                jfl_distribution d);
spread_lie *spread_reduce_scatter(spread_walk *w, const jfl_value *v, const spread_lie *from,
                                  jfl_distribution d);
spread_lie *spread_reduce_here(spread_walk *w, const jfl_value *v, const spread_lie *from);
spread_lie *spread_sum_now(spread_walk *w, const jfl_value *v, const spread_lie *from);
/* Makes a member's mean of a sum, where it is one. */
jfl_value *spread_scale(spread_walk *w, const spread_lie *from, int member, jfl_value *v);
/* Whether the members of a group are of several processes; and stand in the order of these. */
int spread_is_wide(const jf_group *g);
int spread_is_ordered(const jf_group *g);
/* Whether the members that this process has use the host's memory. */
int spread_has_host_memory(const spread_walk *w, const jf_group *g);
/* The processes of its members, ascending. */
jf_ints spread_ranks(spread_walk *w, const jf_group *g);
/* A box of a value: what is from first[i] on, of the extents `size`. */
typedef struct spread_box { jfl_shape size; int64_t first[JFL_MAXDIM]; } spread_box;
/* That of a member's part. */
spread_box spread_box_of(const jfl_shape *whole, jfl_distribution d, int parts, int member);
/* Cuts a box, which counts from the beginning of v, out of v. */
jfl_value *spread_cut(spread_walk *w, jfl_value *v, const spread_box *box);
/* Places the node that makes v, and gives v; NULL for NULL. */
jfl_value *spread_at(int place, jfl_value *v);
/* The sum of the parts that this process has, on one of its devices; NULL: it has none. */
jfl_value *spread_local_sum(spread_walk *w, const spread_lie *from);
/* The sum of n values at a place, from the first on. */
jfl_value *spread_add(spread_walk *w, int place, jfl_value *const *v, int n);

/* Boxes that this process sends to others or gets from them for one conversion. All processes list
   theirs in the same order, in which a pair of them has the same boxes. */
typedef struct spread_message {
  int from, to;                /* processes */
  int source;                  /* whose box it is: a member of the group that sends */
  spread_box box;              /* in the whole */
  jfl_value *value;            /* at the sender, what to send; then at the receiver what came */
} spread_message;
typedef struct spread_mail { spread_message *message; int n, cap; } spread_mail;
/* The number of the message with that box from the same process to the same process, which is added
   unless there is one. What lies between the two in the list must not count: each process lists
   only its own messages. */
int spread_message_add(spread_walk *w, spread_mail *m, spread_message x);
/* Sends what this process has to send from one group to another, and sets the values that come. */
void spread_exchange(spread_walk *w, spread_mail *m, const jf_group *from, const jf_group *to,
                     jfl_dtype dtype);

/* ---- expanding (expand.c) ---- */

/* Computes a logical node on the members of its group. */
jfl_status spread_node(spread_walk *w, jf_node *n);
/* What `make` of a walk is. */
jfl_status spread_source(spread_walk *w, const jfl_value *v, const jf_group *g,
                         jfl_distribution d);

#endif
