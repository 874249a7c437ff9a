/* Epilogues: what an op does to its product or convolution before it writes the result. */
#ifndef JF_OP_EPILOGUE_H
#define JF_OP_EPILOGUE_H

#include "dev/kernel.h"

/* y = act(product + bias + residual). The inputs after the two operands are the bias, if there is
   one (a number for each channel or column), then the residual, if there is one (of y's shape). */
typedef struct jf_epilogue {
  int bias, residual;
  const char *act;               /* an elementwise op of one input without attributes, or NULL */
  const jf_loop *loop;           /* the loops of that op by dtype; set by infer */
} jf_epilogue;

/* The attributes of an op whose attribute struct T has a field `epilogue`. */
#define JF_EPILOGUE_ATTRS(T)                                                                    \
  { "bias", JF_ATTR_BOOL, offsetof(T, epilogue.bias), "false",                                  \
    "the first of extra is added, a number a channel", NULL },                                  \
  { "residual", JF_ATTR_BOOL, offsetof(T, epilogue.residual), "false",                          \
    "then the last of extra is added, which is like the result", NULL },                        \
  { "act", JF_ATTR_STR, offsetof(T, epilogue.act), "none",                                      \
    "then this op is applied, as \"tanh\"", NULL }

static inline const void *jf_epilogue_bias(const jf_kargs *k, const jf_epilogue *e)
{
  return e->bias ? k->in[2].data : NULL;
}
static inline const void *jf_epilogue_residual(const jf_kargs *k, const jf_epilogue *e)
{
  return e->residual ? k->in[e->bias ? 3 : 2].data : NULL;
}

struct jf_infer;
struct jfl_op;
/* Whether an epilogue may use op as its activation: it computes a number of the same dtype from
   each number. */
int jf_is_activation(const struct jfl_op *op);
/* The op of that name that an epilogue may use, or NULL. */
const struct jfl_op *jf_activation(const char *name);
/* Checks the inputs after the operands and finds the activation's loops. The shape of c's output
   must be set already. */
jfl_status jf_epilogue_infer(struct jf_infer *c, jf_epilogue *e, int64_t channels);

/* Where the channels of a result lie. Seen as (any, groups, inner, width), channel g * width + w
   has the elements [.., g, .., w]. The epilogue works on rows: with width 1 a row is `inner`
   elements of one channel, else it is `width` elements of one channel each. */
typedef struct jf_channels { int64_t groups, inner, width, row, n_row; } jf_channels;
/* Finds the channels of a tensor of shape s along the axis; if `blocked`, the last axis holds
   channels too. */
jf_channels jf_channels_at(const jfl_shape *s, int axis, int blocked);
/* Applies the epilogue in place to rows from..to-1 of k->out[0], which holds the product. */
void jf_epilogue_rows(const jf_kargs *k, const jf_epilogue *e, const jf_channels *c, int64_t from,
                      int64_t to);
/* Applies it to all rows, for plain kernels. */
void jf_epilogue_all(const jf_kargs *k, const jf_epilogue *e, const jf_channels *c);

#endif
