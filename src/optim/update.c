/* The op that updates one or many parameters by the rule of an optimizer. */
#include "optim/optim.h"

JF_ATTRS(attrs,
  { "optimizer", JF_ATTR_STR, offsetof(jf_update, choice.optimizer), NULL, "its name", NULL },
  { "options", JF_ATTR_NUMS, offsetof(jf_update, choice.options), "none",
    "its options in their order", NULL },
  JF_FIELD(jf_update, averages, BOOL, "false", "whether each has a moving average"))

/* The slot that tensor j of a parameter is, or NULL: it is the parameter or its gradient. */
static const jf_slot *update_slot(const jf_rule *r, int j)
{
  if (j < JF_FIRST_SLOT) return NULL;
  return j - JF_FIRST_SLOT < r->n_slot ? &r->slot[j - JF_FIRST_SLOT] : jf_average->slot;
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
    const jf_slot *slot = update_slot(r, j);
    const jfl_dtype want = slot && slot->dtype != JFL_N_DTYPE ? slot->dtype : v[0]->dtype;
    if (v[j]->dtype == want && jf_shape_eq(&v[j]->shape, &v[0]->shape)) continue;
    return jf_fail(JFL_ESHAPE, "%s of parameter %d must be %s %s, got %s %s",
                   slot ? slot->name : "grad", i,
                   jfl_dtype_name(want), jf_shape_str(&v[0]->shape, s),
                   jfl_dtype_name(v[j]->dtype), jf_shape_str(&v[j]->shape, t));
  }
  return JFL_OK;
}

static jfl_status update_infer_numbers(const jfl_value *v, const char *name, int want)
{
  char s[JF_SHAPE_STR];
  if (v->dtype == JFL_F64 && v->shape.n == 1 && v->shape.d[0] == want) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, name, "must be float64 (%d), got %s %s", want,
                          jfl_dtype_name(v->dtype), jf_shape_str(&v->shape, s));
}

static jfl_status update_infer(jf_infer *c)
{
  jf_update *a = c->attr;
  JF_TRY(jf_optim_read(c->arena, &a->choice));
  a->stride = JF_FIRST_SLOT + a->choice.rule->n_slot + (a->averages != 0);
  a->n = (c->n_in - jf_update_rest(a)) / a->stride;
  if (a->n < 1 || c->n_in != a->n * a->stride + jf_update_rest(a))
    return jf_fail(JFL_EINVAL, "inputs must be %d tensors of each parameter of %s, then %s, "
                   "got %d in all", a->stride, a->choice.optimizer,
                   a->averages ? "share and scalars" : "scalars", c->n_in);
  for (int i = 0; i < a->n; i++) JF_TRY(update_infer_tensors(c, i));
  if (a->averages) JF_TRY(update_infer_numbers(c->in[c->n_in - 2], "share", 1));
  return update_infer_numbers(c->in[c->n_in - 1], "scalars",
                              JF_FIRST_SCALAR + a->choice.rule->n_scalar);
}

/* Whether input i is changed in place: parameters and slots are. */
static int update_mutates(const jf_node *n, int i)
{
  const jf_update *a = n->attr;
  return i < a->n * a->stride && i % a->stride != JF_GRAD;
}

static void update_parameter(const jf_kargs *k, int i)
{
  const jf_update *a = k->attr;
  const jf_rule *r = a->choice.rule;
  const jf_tensor *t = jf_update_tensors(k, i);
  double sum[JF_MOST_SUMS] = { 0 };
  const jf_update_args u = { t, 0, jf_numel(&t->shape), jf_update_scalars(k), sum };
  if (r->n_sum) r->measure_plain[t->dtype](&u);
  r->plain[t->dtype](&u);
  if (!a->averages) return;
  jf_average_args average;
  jf_average_of(k, &u, &average);
  jf_average->plain[t->dtype](&average.args);
}

static jfl_status update_plain(const jf_kargs *k)
{
  for (int i = 0; i < ((const jf_update *)k->attr)->n && !jf_update_skips(k); i++)
    update_parameter(k, i);
  return JFL_OK;
}

/* Whether all parameters have that axis. */
static int update_has_axis(const jf_node *n, const jf_update *a, int axis)
{
  for (int i = 0; i < a->n; i++)
    if (axis >= n->in[i * a->stride]->shape.n) return 0;
  return 1;
}

/* A parameter may be split along any axis, with its gradient and slots, unless the rule looks at
   all of it. */
static void update_signatures(jf_signatures *c)
{
  const jf_update *a = c->node->attr;
  for (int axis = 0; !a->choice.rule->n_sum && update_has_axis(c->node, a, axis); axis++) {
    jf_signature *s = jf_signature_add(c);
    for (int i = 0; i < a->n * a->stride; i++) s->in[i] = JF_ALONG(axis);
  }
}

JFL_OP(update, .doc = "Steps parameters, each with its gradient and slots; then the numbers of it.",
  .in = {"tensors"}, JF_WITH(attrs, jf_update), .flags = JF_EFFECT | JF_VARIADIC | JF_POINTWISE,
  .mutates_of = update_mutates, .infer = update_infer,
  .cpu = JF_KERNELS(JF_EVERY_FLOAT(update_plain)), .signatures = update_signatures)

const jf_update *jf_update_of(const jf_node *n)
{
  return n->op == &jf_op_update ? n->attr : NULL;
}

jfl_value *jf_emit_slot(jfl_graph *g, const jfl_value *param, const jf_slot *slot,
                        const jfl_shape *shape)
{
  jfl_value *v = jf_state_variable(g, &(jfl_variable_spec){
    .name = jf_sprintf(g->arena, "%s-%s", param->name, slot->name), .shape = *shape,
    .state = JFL_STATE,
    .dtype = slot->dtype == JFL_N_DTYPE ? param->dtype : slot->dtype,
    .init = JFL_INIT_CONSTANT, .a = slot->init });
  if (v && jf_shape_eq(shape, &param->shape)) v->distribution = param->distribution;
  return v;
}

void jf_emit_update(jfl_graph *g, const jf_step_of *s)
{
  const jf_rule *r = s->choice->rule;
  const jf_update a = { .choice = *s->choice, .averages = s->share != NULL };
  jfl_value **in = jf_alloc(g->arena, (size_t)(JF_FIRST_SLOT + r->n_slot + 3) * sizeof *in);
  size_t n = 0;
  in[n++] = s->param;
  in[n++] = s->grad;
  for (int i = 0; i < r->n_slot; i++)
    in[n++] = jf_emit_slot(g, s->param, &r->slot[i], &s->param->shape);
  if (s->share) {
    in[n++] = jf_emit_slot(g, s->param, jf_average->slot, &s->param->shape);
    in[n++] = s->share;
  }
  in[n++] = s->scalars;
  jf_emit(g, &jf_op_update, &a, in, n);
}
