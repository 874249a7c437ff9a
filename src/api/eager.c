/* Ops that run at once. */
#include "api/api.h"
#include "dev/half.h"
#include "op/op.h"

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

/* One call, with what the session keeps of its like. */
typedef struct eager_call {
  const jf_api_call *call;
  jfl_graph *g;
  jf_infer inf;
  jf_kargs k;
  int is_wide;                 /* it has to be computed in float32 */
} eager_call;

static jfl_status eager_prepare(eager_call *e)
{
  const jf_api_call *c = e->call;
  jf_infer *inf = &e->inf;
  jf_kargs *k = &e->k;
  JF_TRY(jf_api_infer(c, e->g, inf));
  JF_ENTER(e->g);
  *k = (jf_kargs){ .n_in = c->n_in, .n_out = inf->n_out, .attr = inf->attr,
                   .in = jf_alloc(e->g->arena, (size_t)c->n_in * sizeof *k->in),
                   .out = jf_alloc(e->g->arena, (size_t)inf->n_out * sizeof *k->out) };
  for (int i = 0; i < c->n_in; i++)
    k->in[i] = (jf_tensor){ .dtype = c->in[i]->dtype, .shape = c->in[i]->shape };
  for (int i = 0; i < inf->n_out; i++)
    k->out[i] = (jf_tensor){ .dtype = inf->dtype[i], .shape = inf->shape[i] };
  return JFL_OK;
}

static jfl_status eager_run_kernel(const eager_call *e, jf_ready *r)
{
  const jf_api_call *c = e->call;
  jfl_session *s = c->session;
  jf_kargs *k = &r->k;
  JF_TRY(new_outputs(c, &e->inf));
  for (int i = 0; i < k->n_in; i++) k->in[i].data = c->in[i]->data;
  for (int i = 0; i < k->n_out; i++) k->out[i].data = c->out[i]->data;
  if (c->op->flags & JF_RANDOM)
    k->random = c->random ? *c->random : jf_api_random(s, s->eager_calls++);
  jf_session_acquire(s);
  jf_loops_set(s->settings.background, s->settings.background != 0);
  const jfl_status st = jf_ready_run(s, r);
  jf_session_release(s);
  if (st) jf_arrays_drop(c->out, e->inf.n_out);
  return jf_fail_in(st, JFL_ERROR_OP, c->op->name);
}

static jfl_status eager_make(void *ctx)
{
  eager_call *e = ctx;
  const jfl_op *op = e->call->op;
  jf_ready *r;
  JF_ENTER(e->g);
  JF_TRY(jf_ready_for(e->call->session, e->g, op, &e->k, &r));
  if (r->choice.run) return eager_run_kernel(e, r);
  e->is_wide = jf_widens(op, &e->k);
  return e->is_wide ? JFL_OK : jf_fail_kernel(jf_session_own_site(e->call->session)->device, op,
                                              &e->k);
}

static jfl_status api_op_eager(jfl_session *s, const jfl_op *op, jfl_array *const *in, int n_in,
                               const jfl_arg *arg, int n_arg, jfl_array **out);

static jfl_status eager_cast(jfl_session *s, jfl_array *in, jfl_dtype to, jfl_array **out)
{
  const jfl_arg dtype = { .name = "dtype", .kind = JFL_ARG_STRING, .string = jfl_dtype_name(to) };
  return api_op_eager(s, &jf_op_cast, &in, 1, &dtype, 1, out);
}

static void eager_drop(jfl_array **own, int n)
{
  for (int i = 0; i < n; i++)
    if (own[i]) jfl_array_unref(own[i]);
}

/* Makes the call with the inputs of 16 bits converted, which `in` then has, and its results not yet
   rounded. */
static jfl_status eager_make_wide(const eager_call *e, jfl_array **in, jfl_array **made)
{
  const jf_api_call *c = e->call;
  jf_api_call wide = *c;
  JF_ENTER(e->g);
  wide.attr = jf_attr_copy(e->g->arena, c->op->attr, c->op->attr_size, e->inf.attr);
  jf_attr_widen(c->op, wide.attr);
  wide.in = in;
  wide.out = made;
  for (int i = 0; i < c->n_in; i++) {
    if (jf_is_half(c->in[i]->dtype)) JF_TRY(eager_cast(c->session, c->in[i], JFL_F32, &in[i]));
    else jfl_array_ref(in[i] = c->in[i]);
  }
  return jf_api_call_run(&wide, e->g);
}

/* Floats of 16 bits that no kernel takes are converted to float32, and results rounded, as the pass
   widen does in jobs. */
static jfl_status eager_widen(const eager_call *e)
{
  const jf_api_call *c = e->call;
  const int n = e->inf.n_out;
  jfl_array **in = jf_new((size_t)(c->n_in + n) * sizeof *in);
  if (!in) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_array **made = in + c->n_in;
  jfl_status s = eager_make_wide(e, in, made);
  for (int i = 0; i < n && !s; i++) {
    if (made[i]->dtype != e->inf.dtype[i])
      s = eager_cast(c->session, made[i], e->inf.dtype[i], &c->out[i]);
    else jfl_array_ref(c->out[i] = made[i]);
    if (s) jf_arrays_drop(c->out, i);
  }
  eager_drop(in, c->n_in + n);
  jf_free(in);
  return s;
}

jfl_status jf_api_call_run(const jf_api_call *c, jfl_graph *g)
{
  eager_call e = { .call = c, .g = g };
  JF_TRY(eager_prepare(&e));
  if (c->op->flags & JF_VIEW) return new_outputs(c, &e.inf);
  JF_TRY(jf_with_stack(eager_make, &e));
  return e.is_wide ? eager_widen(&e) : JFL_OK;
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
  jfl_array *two[2] = { in };
  if (!(op->truth >> i & 1)) return eager_cast(s, in, to, out);
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
  eager_drop(own, n_in);
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
  if (op->stored.op && n_in > op->stored.at)
    op = jf_op_for(op, in[0]->dtype, in[op->stored.at]->dtype);
  if (op->alike | op->truth && n_in <= JF_MAXIN)
    return eager_suited(s, op, in, n_in, arg, n_arg, out);
  return api_op_eager(s, op, in, n_in, arg, n_arg, out);
}
