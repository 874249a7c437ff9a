/* What is done to a product or convolution before it is written. */
#ifndef JF_OP_EPILOGUE_H
#define JF_OP_EPILOGUE_H

#include "dev/kernel.h"

/* y = act(product + bias + residual). The inputs after the operands are the bias (one number a
   channel, or a column of a matrix), then the residual (like y), where there are any. */
typedef struct jf_epilogue {
  int bias, residual;
  const char *act;               /* an elementwise op of one input without attributes, or NULL */
  const jf_loop *loop;           /* its loops, by dtype; filled by infer */
} jf_epilogue;

/* The fields of an op whose attributes T have an epilogue. */
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
/* Whether an epilogue can end in op. */
int jf_is_activation(const struct jfl_op *op);
/* Checks the inputs after the operands of c, whose output is known, and finds the activation. */
jfl_status jf_epilogue_infer(struct jf_infer *c, jf_epilogue *e, int64_t channels);

/* Where the channels of a result lie: it is (any, groups, inner, width), and channel g width + w is
   at [.., g, .., w]. A row has one bias (width 1; then it is `inner` long) or one an element. */
typedef struct jf_channels { int64_t groups, inner, width, row, n_row; } jf_channels;
/* For channels along axis of s, with blocks of them along the last one too if it is blocked. */
jf_channels jf_channels_at(const jfl_shape *s, int axis, int blocked);
/* Finishes rows from..to-1 of k->out[0], which holds the product, in place. */
void jf_epilogue_rows(const jf_kargs *k, const jf_epilogue *e, const jf_channels *c, int64_t from,
                      int64_t to);

#endif
