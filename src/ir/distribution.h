/* Where the parts of a value lie that is spread over several devices, and how an op's record says
   on which parts it can work.

   A group is a list of devices, its members, which may belong to several processes. A value placed
   on a group has a distribution over its members (jfl_distribution in jfl.h):

     broadcast   each member has the whole value
     split       member i has part i along an axis; of n elements on k members the first n % k have
                 one more than the others
     partial     each member has a tensor of the whole shape; the value is their sum
     mirrored    each member has a value of its own, of the shape that the graph shows

   A node whose values lie so is computed on each member from that member's parts alone. A
   signature says for which distributions of its inputs that is right, and how its outputs then lie;
   a matrix product has (split(0), broadcast) -> split(0), (broadcast, split(1)) -> split(1), and
   (split(1), split(0)) -> partial. The pass spread chooses one for each node and converts what does
   not lie as it wants. Every node can be computed with all of its values broadcast, which no record
   has to say. */
#ifndef JF_DISTRIBUTION_H
#define JF_DISTRIBUTION_H

#include "base/base.h"

struct jf_kind;
struct jf_node;

/* A device of a group: the process that has it, and its place there (jfl_value.place); the place is
   -1 for a device of another process. */
typedef struct jf_group_member { int rank, place; } jf_group_member;
typedef struct jf_group {
  const char *name;            /* "gpu 0:0-3,1:0-3" */
  const struct jf_kind *kind;  /* of the members' devices, also where other processes have all */
  int n;
  jf_group_member *member;
  int turns;                   /* how many times all members are repeated: each device has so many
                                  parts, one after another; 0 as 1 */
  /* Settled when a job is compiled (run/link.c): that is done; the number of the devices by which
     the ranks exchange data, or 0 if the host does; and the place of this rank's one of them. */
  int settled, team, net;
  uint64_t devices;            /* a hash of which devices these join */
} jf_group;
enum { JF_MOST_TURNS = 1024 };

/* Of a variable over a group the part that a physical value is: the group as a place, and which
   member has it. */
typedef struct jf_shard { jfl_distribution distribution; int group, member; } jf_shard;

/* Places from here on are those of groups: JF_GROUPS + i is group i of the session. Values have
   them until the pass spmd has replaced the values by their parts. */
enum { JF_GROUPS = 1 << 16 };
static inline int jf_is_group(int place) { return place >= JF_GROUPS; }

static inline int jf_distribution_eq(jfl_distribution a, jfl_distribution b)
{
  return a.kind == b.kind && (a.kind != JFL_SPLIT || a.axis == b.axis);
}
#define JF_ALONG(i) ((jfl_distribution){ JFL_SPLIT, (i) })
#define JF_ON_ALL ((jfl_distribution){ JFL_BROADCAST, 0 })
#define JF_AS_SUM ((jfl_distribution){ JFL_PARTIAL, 0 })

/* How a node's inputs and outputs lie. */
typedef struct jf_signature { jfl_distribution *in, *out; } jf_signature;

/* The signatures of a node, which a record's rule collects. */
typedef struct jf_signatures {
  jf_arena *arena;
  const struct jf_node *node;
  int parts;                   /* how many members the group has */
  jf_signature *signature; int n, cap;
} jf_signatures;
/* Adds one, whose distributions are all broadcast until the caller changes them. */
jf_signature *jf_signature_add(jf_signatures *c);
/* Adds one whose inputs and outputs are all split along an axis until the caller changes them. */
jf_signature *jf_signature_along(jf_signatures *c, int axis);
/* Adds one by text: "0,B->0" for two inputs and an output; a number is a split along that axis from
   the front, or from the back if it is negative; B, P. What the text lacks is broadcast, and "..."
   after an input or output repeats it for all that are left. Axes may be given as in printf. */
void jf_signature_say(jf_signatures *c, const char *text, ...)
  __attribute__((format(printf, 2, 3)));
/* Splits along an axis of the first input all inputs and outputs that have that axis, with as many
   elements: adds such a signature for each axis but those of `whole` (bit i: axis i). */
void jf_signatures_but(jf_signatures *c, unsigned whole);
/* Adds the signatures of a pointwise op. */
void jf_signatures_pointwise(jf_signatures *c);
/* Adds that of an op that draws its output's random bits element by element: a split along the
   first axis that has more than one element, so that the bits of each part are side by side. */
void jf_signatures_drawn(jf_signatures *c);
/* Collects those of c->node: its record says them, or they follow from facts in the record. What
   cannot be split among so many parts is left out. */
void jf_signatures_of(jf_signatures *c);
/* Appends the text of one, as jf_signature_say takes it. */
void jf_signature_print(jf_text *t, const struct jf_node *n, const jf_signature *s);

/* What changes in the attributes of a node for one member's part of it. */
typedef struct jf_share {
  jf_arena *arena;
  const struct jf_node *node;          /* as a whole */
  const jf_signature *signature;
  int member, parts;
  const jfl_shape *in, *out;           /* of this member's parts */
  const int64_t *first_in, *first_out; /* of split ones: the position of the part's first element
                                          along the axis in the whole; else 0 */
  void *attr;                  /* a copy of the node's attributes, to be changed */
} jf_share;

/* What changes for that member, as the op's record says. */
jf_share jf_share_make(jf_arena *a, const struct jf_node *n, const jf_signature *s, int parts,
                       int member);
/* How many elements of output 0 come before those of this part, of a signature that
   jf_signatures_drawn added. */
int64_t jf_share_first(const jf_share *s);
/* "auto", "broadcast", "split(1)", "partial", "mirrored"; and back, except for the last: 0 if the
   text is none of them. */
const char *jf_distribution_text(jf_arena *a, jfl_distribution d);
int jf_distribution_read(const char *text, jfl_distribution *d);

/* The shape of member i's part of a whole, and the position of its first element along the axis. */
int64_t jf_share_of(const jfl_shape *whole, jfl_distribution d, int parts, int member,
                    jfl_shape *part);

#endif
