/* The op parallel_cast: says how a value lies on the devices of its group. */
#include "op/attrs.h"
#include "op/op.h"

JF_ATTRS(attrs,
  JF_FIELD(jf_parallel_cast, distribute, STR, "auto",
           "how y lies: \"auto\" (as x does), \"broadcast\", \"split(axis)\", \"partial\""),
  JF_FIELD(jf_parallel_cast, gradient_distribute, STR, "auto", "how the gradient of x lies"))

static jfl_status parallel_cast_check(const char *name, const char *text, const jfl_shape *s)
{
  jfl_distribution d;
  if (!jf_distribution_read(text, &d))
    return jf_fail_argument(JFL_EINVAL, name, "must be \"auto\", \"broadcast\", \"split(axis)\" or "
                            "\"partial\", got \"%.60s\"", text);
  if (d.kind == JFL_SPLIT && (d.axis < 0 || d.axis >= s->n))
    return jf_fail_argument(JFL_ESHAPE, name, "must split along an axis from 0 to %d, got %d",
                            s->n - 1, d.axis);
  return JFL_OK;
}

static jfl_status parallel_cast_infer(jf_infer *c)
{
  const jf_parallel_cast *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  JF_TRY(parallel_cast_check("distribute", a->distribute, s));
  JF_TRY(parallel_cast_check("gradient_distribute", a->gradient_distribute, s));
  return jf_infer_same(c);
}

static void parallel_cast_grad(jf_gradctx *c)
{
  const jf_parallel_cast *a = c->node->attr;
  const jf_parallel_cast back = { a->gradient_distribute, a->distribute };
  c->dx[0] = JF_EMIT(c->g, parallel_cast, &back, c->dy[0]);
}

/* Once values are placed it says nothing more. */
static jfl_value *parallel_cast_fold(jf_foldctx *c) { return c->node->in[0]; }

static jfl_distribution parallel_cast_distribution(const void *attr)
{
  jfl_distribution d;
  jf_distribution_read(((const jf_parallel_cast *)attr)->distribute, &d);
  return d;
}

/* Of those only the ones remain that give what it says. */
static void parallel_cast_signatures(jf_signatures *c)
{
  for (int i = 0; i < c->node->in[0]->shape.n; i++) jf_signature_along(c, i);
}

JFL_OP(parallel_cast, .doc = "x, lying on the devices of its place as said.", .in = {"x"},
  .out = {"y"}, JF_WITH(attrs, jf_parallel_cast), .flags = JF_VIEW | JF_MOVES | JF_KEEPS,
  .infer = parallel_cast_infer, .grad = parallel_cast_grad, .fold = parallel_cast_fold,
  .signatures = parallel_cast_signatures, .distribution = parallel_cast_distribution)
