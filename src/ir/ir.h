/* The graph: values, nodes, and the record that defines an op. Only the thread that builds a graph
   may touch it until it is compiled; afterwards it is immutable, and any thread may count
   references. */
#ifndef JF_IR_H
#define JF_IR_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/need.h"
#include "dev/form.h"
#include "dev/kernel.h"
#include "ir/distribution.h"
#include "ir/facts.h"

/* Declared inputs and outputs; a variadic op may be given more, one with JF_MANY may give more. */
enum { JF_MAXIN = 8, JF_MAXOUT = 8 };
/* Whether a record's bits, one for each declared input, have that of input i of a call, which may
   have more. */
static inline int jf_has_input(unsigned bits, int i) { return i < JF_MAXIN && (bits >> i & 1); }

typedef enum jf_origin { JF_INPUT, JF_VARIABLE, JF_RESULT } jf_origin;

struct jfl_value {
  jf_tag tag;
  jfl_graph *graph;
  jf_node *node;               /* the node that makes a JF_RESULT */
  int id, index;               /* index in graph->value; number among outputs or inputs */
  jf_origin origin;
  jfl_dtype dtype;
  jfl_shape shape;
  jf_packing packing;          /* the form in which its elements are stored; passes may change it */
  const jfl_shape *plain;  /* the shape that the user sees, if a pass changed `shape`; or NULL */
  int place;                   /* the device it is stored on, or the group of them: its number in
                                  the session */
  jfl_distribution distribution;       /* over its group; JFL_AUTO: the pass spmd decides it */
  const char *name;
  const char *line;            /* of an input or a variable, as jf_node_source has it for nodes */
  const jfl_variable_spec *variable;   /* of a JF_VARIABLE */
  const jf_shard *shard;               /* of one that is a part of a variable over a group, to which
                                          `variable` belongs; or NULL */
  jfl_value *older;                    /* the one that was made before it, or NULL */
};

/* What a node is for. JF_AGAIN: it computes a value of the body once more, for gradients. */
typedef enum jf_purpose { JF_FORWARD, JF_BACKWARD, JF_AGAIN } jf_purpose;

/* Where a node comes from. Nodes inherit it: those that are made for another node have that node's
   (jf_serve), and so has a node that takes the place of another (jf_stand_for). */
typedef struct jf_node_source {
  const char *line;    /* where the script asked for it, "train.lua:12"; or NULL */
  const char *serves;  /* name of the node that a pass made it for, as for a gradient; or NULL */
  jf_purpose purpose;
  int region;          /* number of the region (jfl_graph_recompute), from 1; or 0 */
  const char *logical; /* of a node that computes one device's part: the name of the node that the
                          body or a pass made, which is that of its random bits; or NULL */
  int64_t first;       /* of such a part: how many elements of the logical result come before its
                          own */
  const char *sharing; /* how the logical node's inputs and outputs are distributed and why, as a
                          text; or NULL */
  int micro_batch;     /* number of the micro-batch (jfl_graph_micro_batches) that it works on, from
                          1; the last one, if it reads several; or 0 */
} jf_node_source;

struct jf_node {
  const jfl_op *op;
  void *attr;
  const char *name;
  jf_node_source source;
  int place;                   /* the place of its outputs */
  int n_in, n_out;
  jfl_value **in, **out;
  const jf_kernel_row *tentative;      /* what a pass found to serve it as it is, so that the plan
                                          must find that too; or NULL */
};

/* Two places with a meaning of their own. JF_DEFAULT_PLACE is that of nodes and variables which the
   body puts on no device, until it is known on which one the session runs jobs. JF_HOST_PLACE is
   the host's, where inputs and results are. */
enum { JF_DEFAULT_PLACE = -1, JF_HOST_PLACE = 0 };
/* How far places are settled. JF_TRACED: only those that the body asked for. JF_RESOLVED: every
   value and node has one. JF_PLACED: in addition each node reads only values of its own place,
   except for transfers. */
typedef enum jf_placing { JF_TRACED, JF_RESOLVED, JF_PLACED } jf_placing;

/* What one call of minimize recorded, for the passes grad and update. */
typedef struct jf_training {
  jfl_minimize asked;                  /* the call's numbers; its lists and values are below */
  jfl_value **loss; int n_loss;
  const jfl_optimizer *optim; const void *attr;
  const char *name;                    /* the optimizer's */
  const char *line;                    /* where the script made the call, or NULL */
  const jfl_op *schedule; const void *schedule_attr;   /* NULL: the rate is `rate` */
  jfl_value *rate, *own_step;          /* given with the call, or NULL */
  jfl_value **variable; int n_variable;   /* the variables that it trains */
  const char *undecayed;               /* of each, whether it has no weight decay */
  jfl_value **grad;                    /* by the pass grad, NULL before: each variable's, or NULL */
  jfl_value *loss_scale;               /* by the pass grad: the variable with it, if it changes */
  jfl_value *step, *set;               /* set by the pass update: the variables that count the steps
                                          and that hold the rate set by the host */
} jf_training;

/* Whether two calls of minimize have the same losses, whose gradients are then computed together.
   */
int jf_same_losses(const jf_training *a, const jf_training *b);

/* A value whose gradient becomes a result of the job, and where the user asked for it:
   "train.lua:12", or "" if that is unknown. */
typedef struct jf_watched { jfl_value *value; const char *where; } jf_watched;

/* An array that a graph keeps, and the hash of its contents. */
typedef struct jf_graph_array { jfl_array *array; uint64_t hash; } jf_graph_array;

struct jfl_graph {
  jf_tag tag;
  atomic_int refs;
  jf_arena *arena;
  const char *name;                    /* of the job */
  jfl_mode mode;
  jfl_value **value; int n_value, cap_value;
  jf_node **node;    int n_node, cap_node;  /* in an order that respects data flow and effects */
  jfl_value **input; int n_input, cap_input;
  jfl_value **output; int n_output, cap_output;
  jf_watched *watched; int n_watched, cap_watched;     /* until the pass grad takes them */
  jf_training **training; int n_training, cap_training;
  jf_graph_array *array; int n_array, cap_array;          /* arrays that attributes hold */
  jf_map names, variables;             /* node names; variable values */
  jfl_value **whole; int n_whole;      /* variables over groups, of which the pass spmd has made
                                          shards */
  jf_map counters;                     /* op name -> last number given to an unnamed node */
  jf_node_source source;               /* of nodes that are added now, unless they serve another */
  const jf_node *served;               /* the node that they serve (jf_serve), or NULL */
  jfl_dtype mixed;                     /* what products round their inputs to */
  int place;                           /* where the body puts nodes that are added now; see jf_at */
  int mirrored;                        /* whether the body is in the mirrored view, where devices
                                          draw random bits of their own */
  int n_region;                        /* how many regions there are */
  int64_t shard;                       /* as jfl_graph_shard says */
  jfl_value **sharded; int n_sharded;  /* the variables of which that is true, if their place allows
                                          it */
  int turns;                           /* into how many parts the batch is cut; 0 as 1 */
  jf_placing placing;
  int updating;                        /* set by the pass update: effects are emitted in order */
  jfl_status err;                      /* first error; once set, jf_emit does nothing */
  uint64_t session;                    /* the id of the one which the places are numbers in, once
                                          one is; or 0 */
  jfl_value *newest;                   /* of all that were made, also those that passes dropped */
  int closed;                          /* set once it is compiled: it takes no more nodes */
  char *traced;                        /* its text as it was then; owned */
  uint64_t shared;                     /* several ranks run it together: a hash of that text, which
                                          they agreed on; else 0 */
};

/* ---- attributes: a plain struct per op, described field by field (attr.c) ---- */

typedef enum jf_attr_type {
  JF_ATTR_INT,      /* int64_t, in the range in .words if that is given */
  JF_ATTR_NUM,      /* double, the same */
  JF_ATTR_BOOL,     /* int */
  JF_ATTR_STR,      /* const char *, one of the words in .words if that is given */
  JF_ATTR_DTYPE,    /* jfl_dtype */
  JF_ATTR_INTS,     /* jf_ints; a single number is a list of one */
  JF_ATTR_NUMS,     /* jf_nums */
  JF_ATTR_PAD,      /* jf_pad */
  JF_ATTR_TENSOR    /* const jfl_array *, which the graph keeps */
} jf_attr_type;

typedef struct jf_attr {
  const char *name;
  jf_attr_type type;
  size_t off;
  const char *def;  /* default as text ("0.5", "true", "SAME", "{1, 1}", "none"); NULL: required */
  const char *doc;
  /* JF_ATTR_STR: the allowed words, separated by spaces; of a number its range, as messages say it:
     "from 0 to 1", "in [0, 1)", "at least 1", "a finite number above 0"; a number is finite */
  const char *words;
} jf_attr;
#define JF_FIELD(T, field, TYPE, def, doc) \
  { #field, JF_ATTR_##TYPE, offsetof(T, field), def, doc, NULL }
#define JF_WORD(T, field, def, words, doc) \
  { #field, JF_ATTR_STR, offsetof(T, field), def, doc, words }
#define JF_RANGE(T, field, TYPE, def, range, doc) \
  { #field, JF_ATTR_##TYPE, offsetof(T, field), def, doc, range }
/* Defines a table of attributes, which it ends: JF_ATTRS(attrs, JF_FIELD(...), JF_FIELD(...)). */
#define JF_ATTRS(id, ...) static const jf_attr id[] = { __VA_ARGS__, {0} };
/* What a record of an op or an optimizer says of its attributes: their table, their struct. */
#define JF_WITH(table, T) .attr = table, .attr_size = sizeof(T)
#define JF_BELOW_ONE "in [0, 1)"
#define JF_AMOUNT "a finite number of at least 0"

/* Fills the struct at `out` from defaults and args. Fails for an argument that is unknown, missing,
   of the wrong type or out of its range, and names it; `who` is the op's name in messages, or NULL.
   Lists are copied to the arena. */
jfl_status jf_attr_read(jf_arena *a, const char *who, const jf_attr *attr, const jfl_arg *arg,
                        int n_arg, void *out);
/* Appends the attributes as text, such as "axis=-1 keepdims=true". */
void jf_attr_print(jf_text *t, const jf_attr *attr, const void *p);
/* Writes the attributes as arguments that read the same, one for each, whose integers in lists are
   numbers in the room given: for so many as jf_attr_numbers says. Other lists, words and arrays are
   the struct's. A word that was left out is NULL. */
size_t jf_attr_numbers(const jf_attr *attr, const void *p);
void jf_attr_write(const jf_attr *attr, const void *p, jfl_arg *out, double *number);
const char *jf_attr_type_name(jf_attr_type t);
int jf_attr_count(const jf_attr *attr);
/* Copies a struct of `size` bytes with its lists; arrays are shared with the original. Returns NULL
   if size is 0. */
void *jf_attr_copy(jf_arena *a, const jf_attr *attr, size_t size, const void *from);
/* Whether two structs of `size` bytes are equal. Described fields are compared by value; all other
   bytes, which infer and passes fill in, one by one, so even different padding bytes count. */
int jf_attr_same(const jf_attr *attr, size_t size, const void *a, const void *b);
/* Hashes what jf_attr_same compares. */
uint64_t jf_attr_hash(const jf_attr *attr, size_t size, const void *p);

/* ---- op records ---- */

/* What an infer rule reads and fills in. It may complete attr, such as making an axis count from 0,
   and it alone fills in fields that no jf_attr describes. */
typedef struct jf_infer {
  const jfl_op *op;
  jf_arena *arena;
  jfl_value *const *in;
  int n_in;
  void *attr;
  int n_out;                   /* outputs of the record; infer may lower it, or see jf_infer_many */
  jfl_dtype *dtype;            /* of each output; in the arena */
  jfl_shape *shape;
} jf_infer;

/* What a gradient rule sees. dy[i] is NULL if the loss does not depend on output i. The rule sets
   dx[i] if input i has a gradient; if dx[i] has a broadcast shape, the grad pass sums it to the
   input's. */
typedef struct jf_gradctx {
  jfl_graph *g;
  const jf_node *node;
  jfl_value *const *in, *const *out, *const *dy;
  jfl_value **dx;
} jf_gradctx;

enum {
  JF_RANDOM = 1,  /* draws from k->random: never merged, repeatable by seed, node name and run */
  JF_EFFECT = 2,       /* changes a variable: never removed, runs after all its readers */
  JF_VIEW = 4,         /* output 0 is input 0's memory under another shape; never runs */
  JF_VARIADIC = 8,     /* the last declared input stands for one or more */
  JF_OPTIONAL = 16,    /* ... or for no input */
  JF_SCHEDULE = 32,    /* a learning rate: train step (int64) -> rate (float64) */
  JF_POINTWISE = 64,   /* element i of the output depends only on element i of the inputs of its
                          shape and on single numbers, so permuting all of them alike changes
                          nothing; ops with a loop are pointwise without the flag, unless they are
                          random */
  JF_COSTLY = 128,     /* an element takes exponentials, much longer than moving it takes */
  JF_COMMUTES = 256,   /* the inputs may change places; no bit of the result but of nan changes */
  JF_INTERNAL = 512,   /* only passes make it; hosts do not see it */
  JF_TRANSFER = 1 << 20,       /* output 0 is a copy of input 0 on another device; devices make it,
                                  not kernels */
  JF_HALVES = 1 << 22, /* its kernels take floats of 16 bits in any input or output; a call of
                          another op with such is computed in float32, see jf_is_widened */
  JF_HALVES_BESIDE = 1 << 27,  /* they take such beside a key of float32 */
  JF_NARROWS = 1 << 26,        /* mixed precision runs it in 16 bits where what it reads is
                                  stored so, as it does with ops that move elements */
  JF_BLOCKS = 1 << 25, /* its inputs and outputs may have dtypes of blocks (JFL_BLOCK_DTYPES) */
  JF_MANY = 1 << 21,   /* the last declared output stands for one or more, as infer says */
  /* Facts about output 0: */
  JF_FILLS = 1 << 10,  /* it is one number throughout, whatever the inputs hold */
  JF_MOVES = 1 << 11,  /* its elements are elements of input 0, unchanged; so for views */
  JF_KEEPS = 1 << 12,  /* if it has as many elements as input 0, it equals that; so for views */
  JF_REPEATS = 1 << 13,        /* it is input 0, broadcast to a shape */
  JF_ADDS = 1 << 14,           /* it is the sum of the two inputs */
  JF_SUMS = 1 << 15,           /* it is sums of input 0 over axes; the attributes are a jf_reduce */
  JF_MEANS = 1 << 16,          /* it is means of input 0 over axes, likewise */
  JF_PICKS = 1 << 17,          /* each element is the largest of some elements of input 0 */
  JF_SCALES = 1 << 23,         /* it is the product of the two inputs, which broadcast */
  JF_TOGETHER = 1 << 24,       /* all processes run it, in the same order: it is never removed,
                                  merged or moved past another such op */
  JF_STORED = 1 << 19,         /* the array of its attributes, a jf_array; the host's kernels read
                                  it there */
  JF_RISES = 1 << 18  /* it is f(x) for each x of the one input, where f never falls; and where f is
                         flat, the gradient is 0 */
};

/* How mixed precision runs an op of float32. A product: it rounds these inputs (bit i: input i) and
   sets the int at `result` in the attributes, which says that the result stays float32. Another op,
   one without `inputs`: it computes in float32, but may have these inputs and results in bfloat16,
   as the jf_halves at `result` says. A row that takes all of `reads` so takes any of them. */
typedef struct jf_mixed { unsigned inputs; size_t result; unsigned reads, writes; } jf_mixed;

/* Which input may be the sum of two tensors, the second of which then is the last input and the int
   at `asked` in the attributes is set; and whether so with these attributes. */
typedef struct jf_sum_in { int input; size_t asked; int (*may)(const void *attr); } jf_sum_in;

struct jf_layout;        /* op/layout.h */
/* Whether a node can have channels first: not; yes, if what it reads has them so; or it had better,
   as it then runs on blocks of channels. */
typedef enum jf_first { JF_FIRST_NOT, JF_FIRST_ALONG, JF_FIRST_BETTER } jf_first;
struct jf_move;          /* ir/moves.h */
struct jf_scalar_op;     /* op/scalar.h */

struct jfl_op {
  jf_tag tag;
  const char *name, *doc;
  const char *path;                       /* front-end names, separated by spaces; NULL: internal */
  const char *in[JF_MAXIN], *out[JF_MAXOUT];
  const jf_attr *attr;                    /* ended by a NULL name */
  size_t attr_size;
  unsigned flags;
  unsigned mutates;                       /* bit i: input i, a variable, is updated in place */
  int (*mutates_of)(const jf_node *n, int i);   /* the same, if it depends on the node */
  unsigned inplace;                       /* bit i: output 0 may use input i's memory */
  unsigned (*inplace_of)(const jf_node *n);     /* the same, where that depends on the node */
  unsigned alike;              /* bit i: input i is converted before a call; see jf_suit */
  unsigned truth;              /* bit i: input i is a condition; see jf_suit */
  int key;  /* number of the input whose dtype chooses the kernel; -1: output 0 does */
  int n_public;                           /* outputs that a front end shows; 0: all */
  jfl_status (*infer)(jf_infer *c);       /* sets dtypes and shapes of the outputs, or fails */
  void (*grad)(jf_gradctx *c);            /* emits nodes; NULL: not differentiable */
  const struct jfl_op *derivative;        /* for that, as op/elementwise.h says */
  jf_neutral neutral;                     /* no input if the bits are 0 */
  struct { double low, high; } bounds;    /* output 0 is input 0 kept between these, which floats of
                                             16 bits hold, too; equal: there are none */
  jfl_value *(*fold)(jf_foldctx *c);      /* NULL: only the facts fold it */
  const jf_line *line;                    /* this and the next two: NULL if it is none */
  const jf_ending *ending;
  const jf_mixed *mixed;                  /* NULL: mixed precision leaves it in float32 */
  const jf_side_sum *side_sum;
  const jf_sum_in *sum_in;                /* NULL: it reads no sums */
  int (*layout)(struct jf_layout *c);     /* how it runs on blocks of channels; returns 0 if it
                                             cannot. NULL: it takes plain tensors only, unless it is
                                             pointwise */
  /* Of a node whose tensors of four axes have channels last: makes its attributes, of which `attr`
     is a copy, those of one that has them first, as op/layout.h says. NULL: there is none, unless
     the op is pointwise. */
  jf_first (*channels_first)(const jf_node *n, void *attr);
  /* Where the elements of the outputs come from, as ir/moves.h says; the shape rule, signatures and
     kernels follow. NULL: the op does not just move elements. */
  int (*moves)(const jf_kargs *k, int i, struct jf_move *m);
  const jf_kernel *cpu;                   /* plain kernels, indexed by dtype of the key */
  size_t (*scratch)(const jf_kargs *k);   /* bytes of k->scratch for these; NULL: none */
  const jf_loop *loop;                    /* elementwise ops: the loops, by the same dtype */
  const char *expr, *second;              /* elementwise ops: the formulas of the outputs, such as
                                             "a + b"; op/elementwise.h says what stands in them */
  const char *define[2];                  /* the body of the function jf_NAME that expr calls, where
                                             O is a floating type, and where it is an integer */
  /* Ops on a few numbers: gives their text, as op/scalar.h says. NULL: it is none of them. */
  void (*small)(const jfl_op *op, const void *attr, struct jf_scalar_op *out);
  const char *(*title)(const void *attr); /* how texts call the op; NULL: by its name */
  const jfl_op *descent;                  /* an op of the same attributes that subtracts this op's
                                             result, times a rate, from a parameter without storing
                                             the result. Its inputs are the parameter, this op's
                                             inputs, and scalars. NULL: there is none */
  double (*flop)(const jf_kargs *k);      /* additions and multiplications of a call, for profiles;
                                             NULL: too few to count */
  int (*draws)(const void *attr);         /* ops with JF_RANDOM: whether a call draws random bits;
                                             NULL: each does */
  /* Adds the signatures of a node (ir/distribution.h), but for the one that is broadcast
     throughout. NULL: those that follow from the facts above. */
  void (*signatures)(jf_signatures *c);
  /* Changes the attributes of a node for a part of it. NULL: they hold for every part. */
  void (*share)(jf_share *s);
  /* Emits nodes that together give what n gives for these inputs, each of which has signatures that
     n lacks; sets out[i]. NULL: there are none. */
  void (*decompose)(jfl_graph *g, const jf_node *n, jfl_value *const *in, jfl_value **out);
  /* Emits elementwise nodes and sums that together give what n gives, and sets out[i]; 0: it emits
     none, such as for rows that are longer than `longest`. NULL: there are none. The pass fuse asks
     for devices that want it (jf_fused_limits). */
  int (*expand)(jfl_graph *g, const jf_node *n, int64_t longest, jfl_value *const *in,
                jfl_value **out);
  /* How output 0 lies, whatever the inputs do: other signatures do not count, and a value that such
     an op reads is converted as soon as it is made. JFL_AUTO: not said; NULL: never said. */
  jfl_distribution (*distribution)(const void *attr);
  /* The op of the same attributes that a call becomes whose input `at` is stored in few bits: in
     blocks, or in floats of 16 bits beside float32 (jf_op_for). NULL: none. */
  struct { const jfl_op *op; int at; } stored;
};

/* Defines an op. The build collects these lines, so they start in column 0. */
#define JFL_OP(id, ...)          \
  extern const jfl_op jf_op_##id; \
  const jfl_op jf_op_##id = { .tag = JF_TAG_OP, .name = #id, __VA_ARGS__ };

/* ---- building (graph.c) ---- */

jfl_status jf_graph_new(jfl_mode mode, jfl_graph **out);
jfl_status jf_graph_input(jfl_graph *g, const char *name, jfl_dtype t, const jfl_shape *s,
                          jfl_value **out);
/* If there is a variable of that name, gives it, provided that shape and dtype agree. */
jfl_status jf_graph_variable(jfl_graph *g, const jfl_variable_spec *spec, jfl_value **out);
/* Adds a variable that a pass needs; returns NULL once the graph has an error. */
jfl_value *jf_state_variable(jfl_graph *g, const jfl_variable_spec *spec);
void jf_graph_output(jfl_graph *g, jfl_value *v);

/* Appends a node. Copies attr and its lists, then infer completes them. If name is NULL, the node
   is numbered by op. On failure the graph stays as it was. */
jfl_status jf_graph_node(jfl_graph *g, const jfl_op *op, const void *attr, jfl_value *const *in,
                         size_t n_in, const char *name, jf_node **out);
/* Does the same for passes and gradient rules: returns the first output, or NULL where there is
   none, and once g->err is set. */
jfl_value *jf_emit(jfl_graph *g, const jfl_op *op, const void *attr, jfl_value *const *in,
                   size_t n_in);
/* Says that nodes which are added from now on are made for n, whose source they inherit; NULL: for
   none. */
void jf_serve(jfl_graph *g, const jf_node *n);
/* The name by which a node draws random bits: its logical node's, or its own. */
static inline const char *jf_logical_name(const jf_node *n)
{
  return n->source.logical ? n->source.logical : n->name;
}
/* The source of what is made for n. */
jf_node_source jf_source_for(const jf_node *n);
/* Adds to an error of a node what is known of the node: op, name, line. */
jfl_status jf_fail_node(jfl_status s, const jf_node *n);
/* Says that n is in the place of another node, whose name and source it takes. */
void jf_stand_for(jf_node *n, const jf_node *other);
/* The micro-batch of what reads these: the last one of theirs, or 0. */
int jf_micro_batch(jfl_value *const *in, size_t n);
/* Says that from now on variables are added at that place, and so are nodes for which nothing else
   decides the place. A node that a pass adds is placed where the node is that it serves, or else
   where its first input is. Once values are placed, a node is always placed with its inputs. */
void jf_at(jfl_graph *g, int place);
/* Sets to[i] to the dtype that input i < n <= JF_MAXIN of a call is converted to, and returns
   whether any differs from in[i]. Inputs that must be alike become the widest of their dtypes, and
   every float counts as wider than every integer; no float is converted. If all are int8 or uint8
   and the op has no kernel for these, they become int32. Conditions become int8: 1 where they are
   not 0. Nothing is converted to a dtype, or from one, that jobs do not compute in. */
int jf_suit(const jfl_op *op, const jfl_dtype *in, int n, jfl_dtype *to);
/* The op that a call is one of, for an op with `stored` in its record: that or op itself, by the
   dtypes of input 0 and of input stored.at. */
const jfl_op *jf_op_for(const jfl_op *op, jfl_dtype first, jfl_dtype stored);
/* An argument list as array and count; sizeof does not evaluate, so nesting is safe. */
#define JF_IN(...)                 \
  (jfl_value *[]){ __VA_ARGS__ },  \
  sizeof((jfl_value *[]){ __VA_ARGS__ }) / sizeof(jfl_value *)
#define JF_EMIT(g, id, attr, ...) jf_emit((g), &jf_op_##id, (attr), JF_IN(__VA_ARGS__))

/* Checks and completes a call of an op that is in no graph: attributes, input count, dtypes,
   shapes. */
jfl_status jf_op_infer(jf_infer *c);
/* If input 1 of n is a line, gives the axis of n's output along which it runs; else -1. */
int jf_line_axis(const jf_node *n);
/* If a node of that op makes v, gives the node; else NULL. */
const jf_node *jf_made_by(const jfl_value *v, const jfl_op *op);
/* Values as kernels see them, without addresses. */
jf_tensor *jf_tensors_of(jf_arena *a, jfl_value *const *v, int n);
/* The value whose memory v uses: v itself unless it is a view. */
const jfl_value *jf_root(const jfl_value *v);
/* Whether an op is pointwise, by its flag or because it has a loop. */
int jf_is_pointwise(const jfl_op *op);
/* Whether n updates its input i in place. */
int jf_mutates(const jf_node *n, int i);
/* Whether n updates any of its inputs in place. */
int jf_updates(const jf_node *n);
/* Whether an input of n before input i is the same value. */
int jf_reads_before(const jf_node *n, int i);
/* Bit i is set if output 0 of n may use the memory of its input i. */
unsigned jf_inplace(const jf_node *n);
/* The node's op as texts show it: its title, or else its name. */
const char *jf_node_title(const jf_node *n);
int jf_op_n_in(const jfl_op *op);
int jf_op_n_out(const jfl_op *op);       /* declared */
/* For infer of an op with JF_MANY: it has n outputs. */
void jf_infer_many(jf_infer *c, int n);
unsigned jf_op_dtypes(const jfl_op *op);
/* Whether a call that has floats of 16 bits is computed in float32, between conversions, since the
   op's plain kernel, which `key` chooses, does not take them. */
int jf_is_widened(const jfl_op *op, jfl_dtype key);
/* Puts float32 in place of such floats in the attributes of a call. */
void jf_attr_widen(const jfl_op *op, void *attr);
/* The dtype that chooses a call's kernel (jfl_op.key): of a call, and of a node as one of `op`. */
jfl_dtype jf_call_key(const jfl_op *op, const jf_kargs *k);
jfl_dtype jf_node_key(const jfl_op *op, const jf_node *n);

/* Shape rules that several ops share (infer.c, moves.c). */
jfl_status jf_infer_dtype(const jf_infer *c, int i, int like);   /* in[i] has that of in[like] */
/* Fail unless in[i] is of that dtype and shape, which are like what `like` names or NULL; has the
   shape of in[like]; has n numbers in one axis, one for each of what `each` names. */
jfl_status jf_infer_is(const jf_infer *c, int i, jfl_dtype t, const jfl_shape *s, const char *like);
jfl_status jf_infer_shape(const jf_infer *c, int i, int like);
jfl_status jf_infer_line(const jf_infer *c, int i, int64_t n, const char *each);
jfl_status jf_infer_same(jf_infer *c);  /* one output like in[0]; all inputs agree with it */
jfl_status jf_infer_broadcast(jf_infer *c);      /* numpy broadcasting; one dtype */
jfl_status jf_infer_moves(jf_infer *c);  /* what the record's moves fill, of the dtype of in[0] */
jfl_status jf_axis(int64_t *axis, int rank);   /* negative counts from the end */

/* ---- looking (print.c, verify.c) ---- */

void jf_graph_print(const jfl_graph *g, jf_text *t);
/* Checks that every value belongs to the graph, is made before it is used and agrees with its
   record's infer, and that every reader of a variable comes before the node that updates it. */
jfl_status jf_graph_verify(const jfl_graph *g);

#endif
