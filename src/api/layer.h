/* What the files of the layer helper share. They call each other downwards: layer.c; norm.c;
   parameters.c and apply.c; initializer.c; words.c. */
#ifndef JF_LAYER_H
#define JF_LAYER_H

#include "api/words.h"

/* A layer that is being made. */
typedef struct jf_layer {
  jfl_graph *g;
  jfl_value *x;
  const char *kind;
  jf_words w;                  /* options that are not yet taken */
  char name[1024];
  int is_named;                /* by the host */
  int is_again;                /* the graph has its variables, which reuse asked for */
  int reuse, trainable;
  char part[1100];             /* the name that jf_layer_part made last */
} jf_layer;

/* "NAME-suffix"; for ops NULL where the core is to number them. */
const char *jf_layer_part(jf_layer *l, const char *suffix);
const char *jf_layer_op(jf_layer *l, const char *suffix);

/* A variable of a layer: its suffix, shape, what fills it if `option` does not say, whether its
   channels are last. regularizer: the option's name, or NULL. */
typedef struct jf_layer_variable {
  const char *suffix, *option, *fill, *regularizer;
  jfl_shape shape;
  jfl_dtype dtype;
  int is_last, fixed;          /* fixed: it is not trained */
} jf_layer_variable;
jfl_status jf_layer_make(jf_layer *l, const jf_layer_variable *v, jfl_value **out);

/* One op whose first output is wanted. arg are options that are added to those of w, which may be
   NULL. */
typedef struct jf_application {
  const char *op;
  jfl_value *const *in; int n_in;
  jfl_arg arg[6]; int n_arg;
  const jf_words *w;
  const char *name;
} jf_application;
jfl_status jf_apply(jfl_graph *g, const jf_application *a, jfl_value **out);
static inline jfl_arg jf_number_arg(const char *name, double v)
{
  return (jfl_arg){ .name = name, .kind = JFL_ARG_NUMBER, .number = v };
}
static inline jfl_arg jf_flag_arg(const char *name, int v)
{
  return (jfl_arg){ .name = name, .kind = JFL_ARG_BOOL, .number = v != 0 };
}
static inline jfl_arg jf_list_arg(const char *name, const double *list, int n)
{
  return (jfl_arg){ .name = name, .kind = JFL_ARG_LIST, .list = list, .n_list = n };
}

/* Sets what a variable of that shape is filled with, from "truncated_normal(0.1)". argument: the
   message's subject. is_last: its channels are. */
jfl_status jf_initializer_read(const char *argument, const char *text, int is_last,
                               jfl_variable_spec *spec);

/* The normalizations (norm.c). */
jfl_status jf_layer_batch_norm(jf_layer *l, jfl_value **out);
jfl_status jf_layer_norm(jf_layer *l, jfl_value **out);

#endif
