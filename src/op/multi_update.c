/* Updates of many tensors as one step. */
#include "op/multi_update.h"

#include <string.h>

static const jf_attr attrs[] = {
  JF_FIELD(jf_multi_update, update, STR, NULL, "the op that says how one tensor is updated"),
  JF_FIELD(jf_multi_update, options, NUMS, "none", "its options in their order"),
  {0},
};

static jfl_status find_op(jf_multi_update *a)
{
  a->op = NULL;
  for (const jfl_op *const *o = jf_ops; *o; o++)
    if ((*o)->update && !strcmp((*o)->name, a->update)) a->op = *o;
  if (a->op) return JFL_OK;
  return jf_fail_argument(JFL_ENAME, "update", "must be an op of updates, got '%.60s'", a->update);
}

static jfl_status read_options(jf_arena *arena, jf_multi_update *a)
{
  int n = 0;
  while (a->op->attr[n].name) n++;
  if (a->options.n > n)
    return jf_fail_argument(JFL_EINVAL, "options", "must be the %d numbers of %s, got %d", n,
                            a->update, a->options.n);
  jfl_arg *arg = jf_alloc(arena, (size_t)n * sizeof *arg);
  for (int i = 0; i < a->options.n; i++)
    arg[i] = (jfl_arg){ .name = a->op->attr[i].name, .kind = JFL_ARG_NUMBER,
                        .number = a->options.v[i] };
  void *attr = jf_alloc(arena, a->op->attr_size);
  a->attr = attr;
  return jf_attr_read(arena, a->update, a->op->attr, arg, a->options.n, attr);
}

/* The tensors of parameter i, as the op of its update takes them. */
static jfl_status infer_tensor(const jf_infer *c, int i)
{
  const jf_multi_update *a = c->attr;
  jfl_value *const *mine = c->in + i * a->stride, *in[JF_MAXIN] = { mine[0], mine[1] };
  in[2] = c->in[a->n * a->stride];
  for (int j = 2; j < a->stride; j++) in[j + 1] = mine[j];
  jf_infer one = { .op = a->op, .in = in, .n_in = a->stride + 1 };
  if (mine[0]->dtype != c->in[0]->dtype)
    return jf_fail(JFL_EDTYPE, "tensor %d must be %s like tensor 0, got %s", i,
                   jfl_dtype_name(c->in[0]->dtype), jfl_dtype_name(mine[0]->dtype));
  jfl_status s = jf_infer_update(&one);
  return s ? jf_blame(s, "tensor %d: ", i) : JFL_OK;
}

static jfl_status multi_update_infer(jf_infer *c)
{
  jf_multi_update *a = c->attr;
  JF_TRY(find_op(a));
  JF_TRY(read_options(c->arena, a));
  a->stride = 2 + jf_update_slots(a->op);
  a->n = (c->n_in - 1) / a->stride;
  int rest = c->n_in - a->n * a->stride;
  if (a->n < 1 || rest > 2)
    return jf_fail(JFL_EINVAL, "takes %d inputs for each tensor of %s, then lr and perhaps scale, "
                   "got %d", a->stride, a->update, c->n_in);
  for (int i = 0; i < a->n; i++) JF_TRY(infer_tensor(c, i));
  return rest == 2 ? jf_infer_rate(c->in[c->n_in - 1], "scale") : JFL_OK;
}

/* All but the gradients. */
static int mutates_of(const jf_node *n, int i)
{
  const jf_multi_update *a = n->attr;
  return i < a->n * a->stride && i % a->stride != 1;
}

jf_update_args jf_multi_update_args(const jf_kargs *k, int i)
{
  const jf_multi_update *a = k->attr;
  const jf_tensor *mine = k->in + i * a->stride, *lr = k->in + a->n * a->stride;
  jf_update_args u = { .n = jf_numel(&mine->shape), .param = mine[0].data, .grad = mine[1].data,
                       .attr = a->attr, .scale = 1 };
  for (int j = 2; j < a->stride; j++) u.slot[j - 2] = mine[j].data;
  u.lr = *(const double *)lr->data;
  if (lr + 1 < k->in + k->n_in) u.scale = *(const double *)lr[1].data;
  return u;
}

/* Tensor after tensor, by the plain kernel of the update. */
static jfl_status multi_update_plain(const jf_kargs *k)
{
  const jf_multi_update *a = k->attr;
  jf_tensor in[JF_MAXIN];
  jf_kargs one = {
    .in = in, .n_in = k->n_in - (a->n - 1) * a->stride, .attr = a->attr, .threads = 1
  };
  for (int i = 0; i < a->n; i++) {
    const jf_tensor *mine = k->in + i * a->stride, *lr = k->in + a->n * a->stride;
    in[0] = mine[0];
    in[1] = mine[1];
    in[2] = lr[0];
    for (int j = 2; j < a->stride; j++) in[j + 1] = mine[j];
    if (lr + 1 < k->in + k->n_in) in[a->stride + 1] = lr[1];
    JF_TRY(a->op->cpu[in[0].dtype](&one));
  }
  return JFL_OK;
}
static const jf_kernel cpu[JFL_N_DTYPE] = {
  [JFL_F32] = multi_update_plain, [JFL_F64] = multi_update_plain
};

JFL_OP(multi_update,
       .doc = "Updates param, grad and slots of many tensors by one op; then lr, [scale].",
       .in = { "tensors" }, .attr = attrs, .attr_size = sizeof(jf_multi_update),
       .flags = JF_EFFECT | JF_VARIADIC | JF_POINTWISE, .mutates_of = mutates_of,
       .infer = multi_update_infer, .cpu = cpu)
