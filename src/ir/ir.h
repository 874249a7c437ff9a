/* The graph: values, nodes, and the record that defines an op. Owner thread only until compiled,
   immutable afterwards; any thread may count references. */
#ifndef JF_IR_H
#define JF_IR_H

#include <stdatomic.h>

#include "base/base.h"
#include "dev/form.h"
#include "dev/kernel.h"
#include "ir/facts.h"

/* Declared inputs and outputs; a variadic op may be given more, one with JF_MANY may give more. */
enum { JF_MAXIN = 8, JF_MAXOUT = 8 };

typedef enum jf_origin { JF_INPUT, JF_VARIABLE, JF_RESULT } jf_origin;

struct jfl_value {
  jfl_graph *graph;
  jf_node *node;               /* producer, of a JF_RESULT */
  int id, index;               /* in graph->value; among the producer's outputs, or the inputs */
  jf_origin origin;
  jfl_dtype dtype;
  jfl_shape shape;
  jf_packing packing;          /* the form its elements lie in, which passes may change */
  const jfl_shape *plain;  /* what the user sees as its shape, where a pass changed that; or NULL */
  int place;                   /* the device that it lives on, by its number in the session */
  const char *name;
  const jfl_variable_spec *variable;   /* of a JF_VARIABLE */
};

struct jf_node {
  const jfl_op *op;
  void *attr;
  const char *name;
  const char *serves;  /* the node that a pass made it for, such as that of a gradient; or NULL */
  int place;                   /* of what it gives */
  int n_in, n_out;
  jfl_value **in, **out;
};

/* The place of what a body puts on no device, until it is known which one the session runs jobs on;
   and that of the host, where inputs and results are. */
enum { JF_DEFAULT_PLACE = -1, JF_HOST_PLACE = 0 };
/* What is known of places: those that the body asked for; those of all values, though not of nodes
   to come; and that the inputs of each node but a transfer are where it is. */
typedef enum jf_placing { JF_TRACED, JF_RESOLVED, JF_PLACED } jf_placing;

/* What one call of minimize recorded, for the gradient and update passes. */
typedef struct jf_training {
  jfl_value **loss; int n_loss;
  const jfl_optimizer *optim; const void *attr;
  const jfl_op *schedule; const void *schedule_attr;
  double clip_norm;  /* the most that all gradients' norm may be; 0: not clipped */
  jfl_value **variable; int n_variable;   /* what is trained */
  jfl_value **grad;                    /* the grad pass's: of each variable, or NULL; NULL before */
  jfl_value *step, *set;               /* the update pass's: the variables that count the steps, and
                                          that hold the rate which the host has set */
} jf_training;

/* A value whose gradient is a result of the job, and where that was asked for: "train.lua:12" or
   "". */
typedef struct jf_watched { jfl_value *value; const char *where; } jf_watched;

/* An array of a graph, and the hash of what it holds. */
typedef struct jf_kept { jfl_array *array; uint64_t hash; } jf_kept;

struct jfl_graph {
  atomic_int refs;
  jf_arena *arena;
  const char *name;                    /* of the job */
  jfl_mode mode;
  jfl_value **value; int n_value, cap_value;
  jf_node **node;    int n_node, cap_node;  /* in an order that respects data flow and effects */
  jfl_value **input; int n_input, cap_input;
  jfl_value **output; int n_output, cap_output;
  jf_watched *watched; int n_watched, cap_watched;     /* taken by the grad pass */
  jf_training **training; int n_training, cap_training;
  jf_kept *kept; int n_kept, cap_kept;          /* arrays that attributes hold */
  jf_map names, variables;             /* node names; variable values */
  jf_map counters;                     /* op name -> last number given to an unnamed node */
  const char *serving;                 /* what nodes that are added serve; see jf_serve */
  const jf_node *served;               /* the node they are added for; NULL: none */
  int place;                           /* where the body puts what is added; see jf_at */
  jf_placing placing;
  jfl_status err;                      /* first error; once set, jf_emit does nothing */
  int closed;                          /* compiled: takes no more nodes */
};

/* ---- attributes: a plain struct per op, described field by field (attr.c) ---- */

typedef enum jf_attr_type {
  JF_ATTR_INT,      /* int64_t */
  JF_ATTR_NUM,      /* double */
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
  const char *words;           /* JF_ATTR_STR: the allowed words, separated by spaces */
} jf_attr;
#define JF_FIELD(T, field, TYPE, def, doc) \
  { #field, JF_ATTR_##TYPE, offsetof(T, field), def, doc, NULL }
#define JF_WORD(T, field, def, words, doc) \
  { #field, JF_ATTR_STR, offsetof(T, field), def, doc, words }

/* Fills the struct at out from defaults and args; names an unknown, missing or ill-typed one. `who`
   is the op's name for messages. Lists are copied to the arena. */
jfl_status jf_attr_read(jf_arena *a, const char *who, const jf_attr *attr, const jfl_arg *arg,
                        int n_arg, void *out);
/* Appends "axis=-1 keepdims=true". */
void jf_attr_print(jf_text *t, const jf_attr *attr, const void *p);
const char *jf_attr_type_name(jf_attr_type t);
/* A copy of a struct of `size` bytes whose lists are its own, and arrays those of the other; NULL
   where size is 0. */
void *jf_attr_copy(jf_arena *a, const jf_attr *attr, size_t size, const void *from);
/* Whether two structs of `size` bytes say the same: described fields by their values, and all other
   bytes, which infer and passes set, one by one; so a difference in padding counts as one. */
int jf_attr_same(const jf_attr *attr, size_t size, const void *a, const void *b);
/* A hash of the described fields. */
uint64_t jf_attr_hash(const jf_attr *attr, const void *p);

/* ---- op records ---- */

/* What infer reads and what it fills in. attr may be completed (axes made positive, pads computed);
   fields that no jf_attr describes are infer's to fill. */
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

/* What a gradient rule sees; dy[i] is NULL when output i does not reach the loss. It sets dx[i]
   where input i has a gradient. A dx of a broadcast shape is summed to the input's by the grad
   pass. */
typedef struct jf_gradctx {
  jfl_graph *g;
  const jf_node *node;
  jfl_value *const *in, *const *out, *const *dy;
  jfl_value **dx;
} jf_gradctx;

enum {
  JF_RANDOM = 1,  /* draws from k->random: never merged, repeatable by seed, node name and run */
  JF_EFFECT = 2,       /* changes a variable: never removed, after all readers of what it mutates */
  JF_VIEW = 4,         /* output 0 is input 0's memory under another shape; never runs */
  JF_VARIADIC = 8,     /* the last declared input stands for one or more */
  JF_OPTIONAL = 16,    /* ... or for none */
  JF_SCHEDULE = 32,    /* a learning rate: train step (int64) -> rate (float64) */
  JF_POINTWISE = 64,   /* element i of what it writes comes from element i of the inputs of that
                          shape and from single numbers, so a permutation of all of them changes
                          nothing; ops with a loop are so by themselves, but random ones */
  JF_COSTLY = 128,     /* an element takes exponentials, much longer than moving it does */
  JF_COMMUTES = 256,   /* the two inputs may change places; no bit of a result but of nan changes */
  JF_INTERNAL = 512,   /* only passes can make it: hosts do not see it */
  JF_TRANSFER = 1 << 20,       /* output 0 is a copy of input 0 on another device, which devices
                                  make; kernels do not run it */
  JF_MANY = 1 << 21,   /* the last declared output stands for one or more, as infer says */
  /* What output 0 holds: */
  JF_FILLS = 1 << 10,  /* one number throughout, whatever the inputs hold */
  JF_MOVES = 1 << 11,  /* elements of input 0, as they are; so does every view */
  JF_KEEPS = 1 << 12,  /* all elements of input 0 in order, where it has as many; as views do */
  JF_REPEATS = 1 << 13,        /* input 0, broadcast to a shape */
  JF_ADDS = 1 << 14,           /* the sum of the two inputs */
  JF_SUMS = 1 << 15,           /* sums of input 0 over axes; the attributes are a jf_reduce, */
  JF_MEANS = 1 << 16,          /* or means */
  JF_PICKS = 1 << 17,          /* of some elements of input 0 each time the largest */
  JF_STORED = 1 << 19,         /* the array of its attributes, a jf_array; the host's kernels read
                                  it there */
  JF_RISES = 1 << 18  /* f(x) for each x of the one input, where no larger x gives less; and
                                  the gradient is 0 where f is flat */
};

struct jf_layout;        /* op/layout.h */

struct jfl_op {
  const char *name, *doc;
  const char *path;                       /* front-end names, separated by spaces; NULL: internal */
  const char *in[JF_MAXIN], *out[JF_MAXOUT];
  const jf_attr *attr;                    /* ended by a NULL name */
  size_t attr_size;
  unsigned flags;
  unsigned mutates;                       /* bit i: input i, a variable, is updated in place */
  int (*mutates_of)(const jf_node *n, int i);   /* the same, where that depends on the node */
  unsigned inplace;                       /* bit i: output 0 may use input i's memory */
  unsigned (*inplace_of)(const jf_node *n);     /* the same, where that depends on the node */
  int key;  /* the input whose dtype chooses the kernel; -1: output 0 */
  int n_public;                           /* outputs that a front end shows; 0: all */
  jfl_status (*infer)(jf_infer *c);       /* dtypes and shapes of the outputs, errors with names */
  void (*grad)(jf_gradctx *c);            /* emits nodes; NULL: not differentiable */
  jf_neutral neutral;                     /* no inputs: none of its is */
  jfl_value *(*fold)(jf_foldctx *c);      /* NULL: nothing but the facts above folds it */
  const jf_line *line;                    /* these three NULL: it is none of that */
  const jf_ending *ending;
  const jf_side_sum *side_sum;
  int (*layout)(struct jf_layout *c);     /* how it runs on blocks of channels, or 0: not here.
                                             NULL: on plain tensors only, unless it is pointwise */
  const jf_kernel *cpu;                   /* plain kernels, indexed by dtype of the key */
  size_t (*scratch)(const jf_kargs *k);   /* bytes of k->scratch that these want; NULL: none */
  const jf_loop *loop;                    /* elementwise ops: the loop, indexed likewise */
  const char *expr, *second;              /* elementwise ops: the formulas of the outputs, such as
                                             "a + b"; op/elementwise.h says what stands in them */
  const char *define[2];                  /* the body of the function jf_NAME that expr calls, where
                                             O is a floating type, and where it is an integer */
  const char *(*title)(const void *attr); /* the op with what it is made of; NULL: its name */
  const jfl_op *descent;                  /* with the same attributes: subtracts what this op gives,
                                             times a rate, from a parameter as it is made. Inputs
                                             are the parameter, this op's, and scalars; NULL: none
                                             does */
  double (*flop)(const jf_kargs *k);      /* additions and multiplications of a call, for profiles;
                                             NULL: none to speak of */
  int (*draws)(const void *attr);         /* ops with JF_RANDOM: whether a call draws random bits;
                                             NULL: each does */
};

/* Defines an op. The build collects these lines, so they start in column 0. */
#define JFL_OP(id, ...)          \
  extern const jfl_op jf_op_##id; \
  const jfl_op jf_op_##id = { .name = #id, __VA_ARGS__ };

/* ---- building (graph.c) ---- */

jfl_status jf_graph_new(jfl_mode mode, jfl_graph **out);
jfl_status jf_graph_input(jfl_graph *g, const char *name, jfl_dtype t, const jfl_shape *s,
                          jfl_value **out);
/* A name already there gives the same value, if shape and dtype agree. */
jfl_status jf_graph_variable(jfl_graph *g, const jfl_variable_spec *spec, jfl_value **out);
/* A variable for passes; NULL once the graph has an error. */
jfl_value *jf_state_variable(jfl_graph *g, const jfl_variable_spec *spec);
void jf_graph_output(jfl_graph *g, jfl_value *v);

/* A copy of an array that lives as long as the graph: of one with the same dtype, shape and
   contents there is but one. NULL, with g->err set, where memory is out. */
const jfl_array *jf_graph_keep(jfl_graph *g, const jfl_array *a);
/* Appends a node; attr and its lists are copied, then completed by infer; name NULL: numbered by
   op. A failed node leaves the graph as it was. */
jfl_status jf_graph_node(jfl_graph *g, const jfl_op *op, const void *attr, jfl_value *const *in,
                         size_t n_in, const char *name, jf_node **out);
/* The same, for passes and gradient rules: the first output, or NULL once g->err is set. */
jfl_value *jf_emit(jfl_graph *g, const jfl_op *op, const void *attr, jfl_value *const *in,
                   size_t n_in);
/* From here on nodes are added for the sake of n, or of what that serves; NULL: for none. */
void jf_serve(jfl_graph *g, const jf_node *n);
/* From here on variables are added at that place, and nodes that have no other reason to be at one.
   A node that a pass adds is where the node is that it serves, or else where its first input is;
   once values are placed, it is always with its inputs. */
void jf_at(jfl_graph *g, int place);
/* An argument list as array and count; sizeof does not evaluate, so nesting is safe. */
#define JF_IN(...)                 \
  (jfl_value *[]){ __VA_ARGS__ },  \
  sizeof((jfl_value *[]){ __VA_ARGS__ }) / sizeof(jfl_value *)
#define JF_EMIT(g, id, attr, ...) jf_emit((g), &jf_op_##id, (attr), JF_IN(__VA_ARGS__))

/* Checks and completes a call of op without a graph: attributes, input count, dtypes, shapes. */
jfl_status jf_op_infer(jf_infer *c);
/* The axis of n's output along which its input 1, a line, runs; -1 where it is none. */
int jf_line_axis(const jf_node *n);
/* The node that makes v, if it is of that op; else NULL. */
const jf_node *jf_made_by(const jfl_value *v, const jfl_op *op);
/* The value whose memory v shows: v itself unless it is a view. */
const jfl_value *jf_root(const jfl_value *v);
/* Whether an op is pointwise, as the flag says or because of its loop. */
int jf_is_pointwise(const jfl_op *op);
/* Whether n updates its input i in place. */
int jf_mutates(const jf_node *n, int i);
/* Whether it updates any. */
int jf_updates(const jf_node *n);
/* Bit i: output 0 of n may use the memory of its input i. */
unsigned jf_inplace(const jf_node *n);
/* The op's name, or what stands for it in texts. */
const char *jf_node_title(const jf_node *n);
int jf_op_n_in(const jfl_op *op);
int jf_op_n_out(const jfl_op *op);       /* declared */
/* For infer of an op with JF_MANY: it has n outputs. */
void jf_infer_many(jf_infer *c, int n);
unsigned jf_op_dtypes(const jfl_op *op);
jfl_dtype jf_op_key(const jfl_op *op, const jfl_dtype *in, const jfl_dtype *out);

/* Shape rules that several ops share (infer.c). */
jfl_status jf_infer_same(jf_infer *c);  /* one output like in[0]; all inputs agree with it */
jfl_status jf_infer_broadcast(jf_infer *c);      /* numpy broadcasting; one dtype */
jfl_status jf_axis(int64_t *axis, int rank);   /* negative counts from the end */

/* ---- looking (print.c, verify.c) ---- */

void jf_graph_print(const jfl_graph *g, jf_text *t);
/* Every value is made before it is used, belongs to the graph and agrees with its record's infer;
   every reader of a variable comes before the node that mutates it. */
jfl_status jf_graph_verify(const jfl_graph *g);

#endif
