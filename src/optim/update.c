/* The op that updates one or many parameters by the rule of an optimizer. */
#include "optim/optim.h"

static const jf_attr attrs[] = {
  { "optimizer", JF_ATTR_STR, offsetof(jf_update, choice.optimizer), NULL, "its name", NULL },
  { "options", JF_ATTR_NUMS, offsetof(jf_update, choice.options), "none",
    "its options in their order", NULL },
  {0},
};

/* The dtype of tensor j of a parameter: the parameter, its gradient or a slot. */
static jfl_dtype update_dtype(const jf_rule *r, int j, jfl_dtype param)
{
  const jfl_dtype own = j < JF_FIRST_SLOT ? JFL_N_DTYPE : r->slot[j - JF_FIRST_SLOT].dtype;
  return own == JFL_N_DTYPE ? param : own;
}

/* Checks that the gradient and the slots of parameter i have its shape. */
static jfl_status update_infer_tensors(const jf_infer *c, int i)
{
  const jf_update *a = c->attr;
  const jf_rule *r = a->choice.rule;
  jfl_value *const *v = c->in + i * a->stride;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  if (v[0]->dtype != c->in[0]->dtype)
    return jf_fail(JFL_EDTYPE, "parameter %d must be %s like parameter 0, got %s", i,
                   jfl_dtype_name(c->in[0]->dtype), jfl_dtype_name(v[0]->dtype));
  for (int j = 1; j < a->stride; j++) {
    const jfl_dtype want = update_dtype(r, j, v[0]->dtype);
    if (v[j]->dtype == want && jf_shape_eq(&v[j]->shape, &v[0]->shape)) continue;
    return jf_fail(JFL_ESHAPE, "%s of parameter %d must be %s %s, got %s %s",
                   j == JF_GRAD ? "grad" : r->slot[j - JF_FIRST_SLOT].name, i,
                   jfl_dtype_name(want), jf_shape_str(&v[0]->shape, s),
                   jfl_dtype_name(v[j]->dtype), jf_shape_str(&v[j]->shape, t));
  }
  return JFL_OK;
}

static jfl_status update_infer_scalars(const jf_infer *c)
{
  const jf_update *a = c->attr;
  const jfl_value *v = c->in[c->n_in - 1];
  const int64_t want = JF_FIRST_SCALAR + a->choice.rule->n_scalar;
  char s[JF_SHAPE_STR];
  if (v->dtype == JFL_F64 && v->shape.n == 1 && v->shape.d[0] == want) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "scalars", "must be float64 (%d), got %s %s", (int)want,
                          jfl_dtype_name(v->dtype), jf_shape_str(&v->shape, s));
}

static jfl_status update_infer(jf_infer *c)
{
  jf_update *a = c->attr;
  JF_TRY(jf_optim_read(c->arena, &a->choice));
  a->stride = JF_FIRST_SLOT + a->choice.rule->n_slot;
  a->n = (c->n_in - 1) / a->stride;
  if (a->n < 1 || c->n_in != a->n * a->stride + 1)
    return jf_fail(JFL_EINVAL, "inputs must be %d tensors of each parameter of %s, then scalars, "
                   "got %d in all", a->stride, a->choice.optimizer, c->n_in);
  for (int i = 0; i < a->n; i++) JF_TRY(update_infer_tensors(c, i));
  return update_infer_scalars(c);
}

/* Whether input i is changed in place: parameters and slots are. */
static int update_mutates(const jf_node *n, int i)
{
  const jf_update *a = n->attr;
  return i < a->n * a->stride && i % a->stride != JF_GRAD;
}

static jfl_status update_plain(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  const jf_update_loop loop = a->choice.rule->plain[k->in[0].dtype];
  for (int i = 0; i < a->n; i++) {
    const jf_tensor *t = jf_update_tensors(k, i);
    loop(&(jf_update_args){ t, 0, jf_numel(&t->shape), jf_update_scalars(k) });
  }
  return JFL_OK;
}
static const jf_kernel cpu[JFL_N_DTYPE] = { [JFL_F32] = update_plain, [JFL_F64] = update_plain };

JFL_OP(update, .doc = "Steps parameters, each with its gradient and slots; then the numbers of it.",
  .in = {"tensors"}, .attr = attrs, .attr_size = sizeof(jf_update),
  .flags = JF_EFFECT | JF_VARIADIC | JF_POINTWISE, .mutates_of = update_mutates,
  .infer = update_infer, .cpu = cpu)

const jf_update *jf_update_of(const jf_node *n)
{
  return n->op == &jf_op_update ? n->attr : NULL;
}

jfl_value *jf_emit_slot(jfl_graph *g, const jfl_value *param, const jf_slot *slot,
                        const jfl_shape *shape)
{
  return jf_state_variable(g, &(jfl_variable_spec){
    .name = jf_sprintf(g->arena, "%s-%s", param->name, slot->name), .shape = *shape,
    .state = JFL_STATE,
    .dtype = slot->dtype == JFL_N_DTYPE ? param->dtype : slot->dtype,
    .init = JFL_INIT_CONSTANT, .a = slot->init });
}

void jf_emit_update(jfl_graph *g, const jf_step_of *s)
{
  const jf_rule *r = s->choice->rule;
  const jf_update a = { .choice = *s->choice };
  const size_t n = (size_t)(JF_FIRST_SLOT + r->n_slot);
  jfl_value **in = jf_alloc(g->arena, (n + 1) * sizeof *in);
  in[JF_PARAM] = s->param;
  in[JF_GRAD] = s->grad;
  for (int i = 0; i < r->n_slot; i++)
    in[JF_FIRST_SLOT + i] = jf_emit_slot(g, s->param, &r->slot[i], &s->param->shape);
  in[n] = s->scalars;
  jf_emit(g, &jf_op_update, &a, in, n + 1);
}
