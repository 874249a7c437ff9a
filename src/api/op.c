/* Public entries of the op table, and ops that run at once. */
#include "api/api.h"
#include "op/op.h"

#include <string.h>

/* The first op that hosts see, from o on. */
static const jfl_op *const *api_op_seen(const jfl_op *const *o)
{
  while (*o && (*o)->flags & JF_INTERNAL) o++;
  return o;
}

int jfl_op_count(void)
{
  int n = 0;
  for (const jfl_op *const *o = api_op_seen(jf_ops); *o; o = api_op_seen(o + 1)) n++;
  return n;
}

const jfl_op *jfl_op_at(int i)
{
  const jfl_op *const *o = api_op_seen(jf_ops);
  if (i < 0) return NULL;
  while (*o && i--) o = api_op_seen(o + 1);
  return *o;
}

const jfl_op *jfl_op_find(const char *name)
{
  if (!name) return jf_need_pointer(__func__, "name", name), NULL;
  for (const jfl_op *const *o = api_op_seen(jf_ops); *o; o = api_op_seen(o + 1))
    if (!strcmp((*o)->name, name)) return *o;
  return NULL;
}

jfl_status jfl_op_describe(const jfl_op *op, jfl_op_info *info)
{
  JF_NEED(OP, op);
  JF_NEED_POINTER(info);
  *info = (jfl_op_info){
    .name = op->name,
    .doc = op->doc,
    .path = op->flags & JF_SCHEDULE ? NULL : op->path,
    .schedule = op->flags & JF_SCHEDULE ? op->path : NULL,
    .in = op->in,
    .out = op->out,
    .n_in = jf_op_n_in(op),
    .n_out = jf_op_n_out(op),
    .variadic = (op->flags & (JF_VARIADIC | JF_OPTIONAL)) != 0,
    .optional = (op->flags & JF_OPTIONAL) != 0,
    .many = (op->flags & JF_MANY) != 0,
    .n_public = op->n_public ? op->n_public : jf_op_n_out(op),
    .differentiable = op->grad != NULL,
    .elementwise = op->loop != NULL,
    .random = (op->flags & JF_RANDOM) != 0,
    .effect = (op->flags & JF_EFFECT) != 0,
    .key = op->in[0] ? op->key : -1,
    .dtypes = jf_op_dtypes(op),
  };
  info->n_param = jf_attr_count(op->attr);
  return JFL_OK;
}

jfl_status jfl_op_param(const jfl_op *op, int i, jfl_param *out)
{
  JF_NEED(OP, op);
  JF_NEED_BELOW(i, jf_attr_count(op->attr));
  JF_NEED_POINTER(out);
  const jf_attr *a = &op->attr[i];
  *out = (jfl_param){ a->name, jf_attr_type_name(a->type), a->def, a->doc };
  return JFL_OK;
}

/* Lets inf see the call's arrays as values. */
static void infer_inputs(const jf_api_call *c, jfl_graph *g, jf_infer *inf)
{
  jfl_value *v = jf_alloc(g->arena, (size_t)c->n_in * sizeof *v);
  jfl_value **in = jf_alloc(g->arena, (size_t)c->n_in * sizeof *in);
  for (int i = 0; i < c->n_in; i++) {
    v[i] = (jfl_value){ .graph = g, .dtype = c->in[i]->dtype, .shape = c->in[i]->shape };
    in[i] = &v[i];
  }
  inf->in = in;
}

static jfl_status new_outputs(const jf_api_call *c, const jf_infer *inf)
{
  for (int i = 0; i < inf->n_out; i++) {
    jfl_status s = inf->op->flags & JF_VIEW
      ? jfl_array_reshape(c->in[0], &inf->shape[0], &c->out[0])
      : jf_array_new_raw(inf->dtype[i], &inf->shape[i], &c->out[i]);
    if (!s) continue;
    jf_arrays_drop(c->out, i);
    return jf_fail_in(s, JFL_ERROR_OP, c->op->name);
  }
  return JFL_OK;
}

jf_random_source jf_api_random(const jfl_session *s, uint64_t call)
{
  return (jf_random_source){ jf_hash_str(s->seed, "eager"), call, 0 };
}

typedef struct kernel_call { const jf_api_call *call; jf_kargs *k; } kernel_call;

static jfl_status run_kernel(void *ctx)
{
  const jf_api_call *c = ((const kernel_call *)ctx)->call;
  jf_kargs *k = ((const kernel_call *)ctx)->k;
  jfl_session *s = c->session;
  jf_choice chosen;
  /* what passes would ask about the call */
  const jf_node node = { .op = c->op, .attr = (void *)k->attr, .n_in = k->n_in };
  jf_site *site = jf_session_own_site(s);
  const int flags = s->settings.kernels | s->settings.tf32;
  size_t scratch;
  JF_TRY(jf_choose(site->device, c->op, flags, k, &scratch, &chosen));
  for (int i = 0; i < k->n_in; i++) k->in[i].data = c->in[i]->data;
  for (int i = 0; i < k->n_out; i++) k->out[i].data = c->out[i]->data;
  if (c->op->flags & JF_RANDOM)
    k->random = c->random ? *c->random : jf_api_random(s, s->eager_calls++);
  jf_session_acquire(s);
  jf_loops_set(s->settings.background, s->settings.background != 0);
  jfl_status st = jf_site_call(site, chosen.run, k, scratch, &node);
  jf_session_release(s);
  if (chosen.row && chosen.row->release && k->state) chosen.row->release(k->state);
  return jf_fail_in(st, JFL_ERROR_OP, c->op->name);
}

jfl_status jf_api_infer(const jf_api_call *c, jfl_graph *g, jf_infer *inf)
{
  JF_ENTER(g);
  *inf = (jf_infer){ .op = c->op, .arena = g->arena, .n_in = c->n_in, .attr = c->attr };
  infer_inputs(c, g, inf);
  if (!c->attr) {
    inf->attr = jf_alloc(g->arena, c->op->attr_size);
    JF_TRY(jf_attr_read(g->arena, c->op->name, c->op->attr, c->arg, c->n_arg, inf->attr));
  }
  return jf_op_infer(inf);
}

static jfl_status api_op_prepare(const jf_api_call *c, jfl_graph *g, jf_infer *inf, jf_kargs *k)
{
  JF_TRY(jf_api_infer(c, g, inf));
  JF_ENTER(g);
  *k = (jf_kargs){ .n_in = c->n_in, .n_out = inf->n_out, .attr = inf->attr,
                   .threads = c->session->settings.threads,
                   .in = jf_alloc(g->arena, (size_t)c->n_in * sizeof *k->in),
                   .out = jf_alloc(g->arena, (size_t)inf->n_out * sizeof *k->out) };
  for (int i = 0; i < c->n_in; i++)
    k->in[i] = (jf_tensor){ .dtype = c->in[i]->dtype, .shape = c->in[i]->shape };
  for (int i = 0; i < inf->n_out; i++)
    k->out[i] = (jf_tensor){ .dtype = inf->dtype[i], .shape = inf->shape[i] };
  return JFL_OK;
}

jfl_status jf_api_call_run(const jf_api_call *c, jfl_graph *g)
{
  jf_infer inf;
  jf_kargs k;
  JF_TRY(api_op_prepare(c, g, &inf, &k));
  JF_TRY(new_outputs(c, &inf));
  const int is_view = (c->op->flags & JF_VIEW) != 0;
  jfl_status s = is_view ? JFL_OK : jf_with_stack(run_kernel, &(kernel_call){ c, &k });
  if (s) jf_arrays_drop(c->out, inf.n_out);
  return s;
}

jfl_status jfl_op_outputs(const jfl_op *op, jfl_array *const *in, int n_in, const jfl_arg *arg,
                          int n_arg, int *out)
{
  jf_api_call c = { .op = op, .in = in, .n_in = n_in, .arg = arg, .n_arg = n_arg };
  jfl_graph *g;
  jf_infer inf;
  JF_NEED(OP, op);
  JF_NEED_EACH(ARRAY, in, n_in);
  JF_NEED_ARGS(arg, n_arg);
  JF_NEED_POINTER(out);
  JF_TRY(jf_graph_new(JFL_PREDICT, &g));
  jfl_status s = jf_api_infer(&c, g, &inf);
  if (!s) *out = inf.n_out;
  jfl_graph_unref(g);
  return s;
}

static jfl_status api_op_eager(jfl_session *s, const jfl_op *op, jfl_array *const *in, int n_in,
                               const jfl_arg *arg, int n_arg, jfl_array **out)
{
  jf_api_call c = { .session = s, .op = op, .in = in, .n_in = n_in, .arg = arg, .n_arg = n_arg,
                    .out = out };
  jfl_graph *g;
  JF_TRY(jf_graph_new(JFL_PREDICT, &g));
  jfl_status st = jf_api_call_run(&c, g);
  jfl_graph_unref(g);
  return st;
}

/* Converts input i of an op to dtype `to`. */
static jfl_status suited(jfl_session *s, const jfl_op *op, jfl_array *in, int i, jfl_dtype to,
                         jfl_array **out)
{
  const jfl_arg dtype = { .name = "dtype", .kind = JFL_ARG_STRING, .string = jfl_dtype_name(to) };
  jfl_array *two[2] = { in };
  if (!(op->truth >> i & 1)) return api_op_eager(s, &jf_op_cast, two, 1, &dtype, 1, out);
  JF_TRY(jfl_array_new(in->dtype, &(jfl_shape){ 1, { 1 } }, &two[1]));
  jfl_status st = api_op_eager(s, &jf_op_not_equal, two, 2, NULL, 0, out);
  jfl_array_unref(two[1]);
  return st;
}

/* Runs an op on inputs that are converted as it wants them. */
static jfl_status eager_suited(jfl_session *s, const jfl_op *op, jfl_array *const *in, int n_in,
                               const jfl_arg *arg, int n_arg, jfl_array **out)
{
  jfl_array *own[JF_MAXIN] = { NULL }, *all[JF_MAXIN];
  jfl_dtype dtype[JF_MAXIN] = { 0 }, to[JF_MAXIN];
  jfl_status st = JFL_OK;
  for (int i = 0; i < n_in; i++) dtype[i] = in[i]->dtype;
  jf_suit(op, dtype, n_in, to);
  for (int i = 0; i < n_in && !st; i++) {
    if (to[i] != dtype[i]) st = suited(s, op, in[i], i, to[i], &own[i]);
    all[i] = own[i] ? own[i] : in[i];
  }
  if (!st) st = api_op_eager(s, op, all, n_in, arg, n_arg, out);
  for (int i = 0; i < n_in; i++)
    if (own[i]) jfl_array_unref(own[i]);
  return st;
}

jfl_status jfl_eager(jfl_session *s, const jfl_op *op, jfl_array *const *in, int n_in,
                     const jfl_arg *arg, int n_arg, jfl_array **out)
{
  JF_NEED(SESSION, s);
  JF_NEED(OP, op);
  JF_NEED_EACH(ARRAY, in, n_in);
  JF_NEED_ARGS(arg, n_arg);
  JF_NEED_POINTER(out);
  if (op->alike | op->truth && n_in <= JF_MAXIN)
    return eager_suited(s, op, in, n_in, arg, n_arg, out);
  return api_op_eager(s, op, in, n_in, arg, n_arg, out);
}
