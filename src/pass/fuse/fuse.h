/* What the files of the pass fuse share. A node is known by its place in the graph as it was
   before. */
#ifndef JF_FUSE_H
#define JF_FUSE_H

#include "pass/fuse/draft.h"

/* A list of ints for each i: item[first[i]] up to item[first[i + 1] - 1]. */
typedef struct jf_lists { int *first, *item; } jf_lists;

/* Groups of nodes, each of which may become one program. A group is known by its first node. */
typedef struct jf_groups {
  int *of, *next;              /* by node: its group; the next node of the group, or -1 */
  int *last, *size;            /* by group */
  /* A Fenwick tree of maxima: gives the last node of any group that begins at node i or before. */
  int *last_until;
  /* The current set of nodes: node i is in it if mark[i] == stamp. */
  int *mark, stamp;
} jf_groups;

typedef struct jf_fuser {
  jfl_graph *g;
  jf_rewrite r;
  int n;                       /* number of nodes of the old graph */
  int *maker;                  /* by value: the node that makes it, or -1 */
  jf_member *kind;             /* by node */
  char *result;                /* by value: whether it is a result of the job */
  jf_lists readers;            /* by value: the nodes that read it */
  jf_lists sources;            /* by node: the nodes that make what it would read as a member */
  jf_lists followers;          /* by node: the nodes that must come after it */
  jf_groups groups;
  struct jf_search *search;
  const jf_target *target;
  jf_draft d;                  /* the draft of the current set, */
  int drafted;                 /* or of this group, all of the set but a node; -1: of none */
} jf_fuser;

static inline int *jf_fuse_ints(const jf_fuser *f, int n)
{
  return jf_alloc(f->g->arena, (size_t)n * sizeof(int));
}

/* Makes instructions of ops that say how (expand.c). */
jfl_status jf_fuse_expand(jfl_graph *g, const jf_target *t);

/* ---- follow.c: which nodes must come after which ---- */

void jf_fuse_find_readers(jf_fuser *f);
void jf_fuse_find_sources(jf_fuser *f);
/* Finds the followers: a node must come after the nodes that make what it reads. A member of a
   group reads past views and broadcasts; while groups are not final, both ways of reading count. */
void jf_fuse_find_followers(jf_fuser *f, int groups_are_made);

/* ---- groups.c ---- */

/* Makes each node a group of its own. */
void jf_groups_begin(jf_fuser *f);
/* Whether node i is in a group of several nodes. */
static inline int jf_is_grouped(const jf_groups *s, int i)
{
  return s->of[i] != i || s->next[i] >= 0;
}
/* Makes the nodes of groups a and b (b may be -1) the current set and, in order, the members of the
   draft. */
void jf_groups_gather(jf_fuser *f, int a, int b);
static inline int jf_in_set(const jf_groups *s, int i) { return i >= 0 && s->mark[i] == s->stamp; }
void jf_groups_merge(jf_groups *s, int n, int a, int b);
/* A place from i on that no group reaches across which begins at or before it: the first one, or a
   later one if the first would take long to find. */
int jf_groups_end(const jf_groups *s, int n, int i);

/* ---- cycle.c ---- */

/* Prepares the searches; followers must be known. */
void jf_search_begin(jf_fuser *f);
/* Whether a value that leaves the current set, the nodes of groups a and b, may come back into it
   through a node outside: then the set cannot be one node. Also returns 1 if the search takes too
   long. */
int jf_comes_back(jf_fuser *f, int a, int b);

/* ---- order.c: the new order ---- */

/* The groups that are needed, in an order in which each comes after those that it follows. Each
   time the first group that can come next is taken; nodes with effects come last. */
int *jf_fuse_order(jf_fuser *f, int *n);

#endif
