/* What the files of the pass fuse share. Nodes are known by their places in the graph as it was. */
#ifndef JF_FUSE_H
#define JF_FUSE_H

#include "pass/fuse/draft.h"

/* Lists of ints by an int: those of i are item[first[i]] up to item[first[i + 1]]. */
typedef struct jf_lists { int *first, *item; } jf_lists;

/* Groups of nodes, each of which may become one program. A group is known by its first node. */
typedef struct jf_groups {
  int *of, *next;              /* of nodes: its group; the next node of that, or -1 */
  int *last, *size;            /* of groups */
  /* A Fenwick tree of maxima: the last node of any group that begins at node i or before. */
  int *last_until;
  /* The set at hand: mark[i] == stamp says that node i is in it. */
  int *mark, stamp;
} jf_groups;

typedef struct jf_fuser {
  jfl_graph *g;
  jf_rewrite r;
  int n;                       /* nodes of the graph as it was */
  int *maker;                  /* of a value: the node that makes it, or -1 */
  jf_member *kind;             /* of nodes */
  char *result;                /* of values: whether it is a result of the job */
  jf_lists readers;            /* of values: the nodes that read it */
  jf_lists sources;            /* of nodes: those that make what it reads as a member */
  jf_lists followers;          /* of nodes: those that must come after */
  jf_groups groups;
  struct jf_search *search;
  const jf_target *target;
  jf_draft d;                  /* of the set at hand, */
  int drafted;                 /* or of the group that it is most of; -1: of none */
} jf_fuser;

static inline int *jf_fuse_ints(const jf_fuser *f, int n)
{
  return jf_alloc(f->g->arena, (size_t)n * sizeof(int));
}

/* ---- follow.c: what must come after what ---- */

void jf_fuse_find_readers(jf_fuser *f);
void jf_fuse_find_sources(jf_fuser *f);
/* A node follows those that make what it reads. As a member it reads past views and broadcasts: as
   long as groups are not made it may come to either. */
void jf_fuse_find_followers(jf_fuser *f, int groups_are_made);

/* ---- groups.c ---- */

/* Each node a group of its own. */
void jf_groups_begin(jf_fuser *f);
/* Whether node i stands with others. */
static inline int jf_is_grouped(const jf_groups *s, int i)
{
  return s->of[i] != i || s->next[i] >= 0;
}
/* Makes the nodes of groups a and b, or of a where b is -1, the set at hand and, in their order,
   the draft's members. */
void jf_groups_gather(jf_fuser *f, int a, int b);
static inline int jf_in_set(const jf_groups *s, int i) { return i >= 0 && s->mark[i] == s->stamp; }
void jf_groups_merge(jf_groups *s, int n, int a, int b);
/* A place that no group reaches over which begins at node i or before; or a later such place. */
int jf_groups_end(const jf_groups *s, int n, int i);

/* ---- cycle.c ---- */

/* Prepares the searches; followers are known. */
void jf_search_begin(jf_fuser *f);
/* Whether a value that leaves the set at hand, the nodes of groups a and b, may come back into it
   through a node outside: then the set cannot be one node of the graph. A search that takes long
   gives 1 too. */
int jf_comes_back(jf_fuser *f, int a, int b);

/* ---- order.c: the new order ---- */

/* The groups that somebody needs, in an order that respects what follows what: each time the first
   of those that nothing holds back, and nodes with effects when nothing else is left. */
int *jf_fuse_order(jf_fuser *f, int *n);

#endif
