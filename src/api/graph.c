/* Public entries that describe a job's graph. */
#include "api/api.h"
#include "dev/half.h"
#include "op/cast.h"
#include "op/constant.h"
#include "op/op.h"
#include "pass/pass.h"

#include <limits.h>
#include <math.h>
#include <string.h>

jfl_status jf_unwound(jfl_graph *g)
{
  g->arena->unwind = NULL;
  g->err = g->arena->late ? jf_time_is_over() : jf_fail(JFL_ENOMEM, "out of memory");
  return jf_fail_in(g->err, JFL_ERROR_JOB, g->name);
}

static jfl_status set_name(jfl_graph *g, const char *name)
{
  JF_ENTER(g);
  g->name = jf_strdup(g->arena, name);
  return JFL_OK;
}

jfl_status jfl_graph_new(const char *job_name, jfl_mode mode, jfl_graph **out)
{
  jfl_graph *g;
  JF_NEED_NAME("the job's name", job_name);
  JF_NEED_BELOW(mode, JFL_TRAIN + 1);
  JF_NEED_POINTER(out);
  JF_TRY(jf_graph_new(mode, &g));
  jfl_status s = set_name(g, job_name);
  if (s) jfl_graph_unref(g);
  else *out = g;
  return s;
}

jfl_mode jfl_graph_mode(const jfl_graph *g) { return JF_IS(GRAPH, g) ? g->mode : JFL_PREDICT; }

jfl_status jf_api_check_open(const jfl_graph *g)
{
  jfl_status s = g->err      ? jf_fail(g->err, "describing this job failed before")
                 : g->closed ? jf_fail(JFL_ESTATE, "this job is compiled already")
                             : JFL_OK;
  return jf_fail_in(s, JFL_ERROR_JOB, g->name);
}

jfl_status jf_api_check_session(const char *function, const jfl_graph *g, const jfl_session *s)
{
  JF_TRY(jf_api_check_open(g));
  if (!g->session || g->session == s->id) return JFL_OK;
  return jf_need_told(function, jf_fail_argument(JFL_EINVAL, "s", "must be the session that places "
                                                 "were asked of before"));
}

jfl_status jfl_graph_place(jfl_graph *g, jfl_session *s, const char *device)
{
  int place = JF_DEFAULT_PLACE;
  JF_NEED(GRAPH, g);
  JF_NEED(SESSION, s);
  JF_TRY(jf_api_check_session(__func__, g, s));
  if (device) JF_TRY(jf_session_group(s, device, &place));
  g->session = s->id;
  jf_at(g, place);
  return JFL_OK;
}

jfl_status jfl_graph_recompute(jfl_graph *g, int on)
{
  JF_NEED(GRAPH, g);
  JF_TRY(jf_api_check_open(g));
  g->source.region = on ? ++g->n_region : 0;
  return JFL_OK;
}

/* Keeps a line as texts may show it; one that is the last again is kept once. */
static jfl_status graph_set_line(jfl_graph *g, const char *line)
{
  const size_t n = strlen(line), size = jfl_printable(line, n, NULL, 0) + 1;
  JF_ENTER(g);
  char *shown = jf_alloc(g->arena, size);
  jfl_printable(line, n, shown, size);
  g->source.line = shown;
  return JFL_OK;
}

jfl_status jfl_graph_line(jfl_graph *g, const char *line)
{
  JF_NEED(GRAPH, g);
  JF_TRY(jf_api_check_open(g));
  if (line && g->source.line && !strcmp(line, g->source.line)) return JFL_OK;
  if (line) return graph_set_line(g, line);
  g->source.line = NULL;
  return JFL_OK;
}

jfl_status jfl_graph_shard(jfl_graph *g, int64_t least)
{
  JF_NEED(GRAPH, g);
  JF_TRY(jf_api_check_open(g));
  JF_NEED_FROM(least, 0, INT_MAX - 1);
  g->shard = least;
  return JFL_OK;
}

jfl_status jfl_graph_micro_batches(jfl_graph *g, int n)
{
  JF_NEED(GRAPH, g);
  JF_TRY(jf_api_check_open(g));
  JF_NEED_FROM(n, 1, JF_MOST_TURNS);
  g->turns = n;
  return JFL_OK;
}

jfl_status jfl_graph_mixed_precision(jfl_graph *g, jfl_dtype to)
{
  JF_NEED(GRAPH, g);
  JF_TRY(jf_api_check_open(g));
  if (to != JFL_F32 && !jf_is_half(to))
    return jf_need_told(__func__, jf_fail_argument(JFL_EDTYPE, "to", "must be float32, bfloat16 or "
                                                   "float16, got %s", jfl_dtype_name(to)));
  g->mixed = to;
  return JFL_OK;
}

jfl_status jfl_graph_input(jfl_graph *g, const char *name, jfl_dtype t, const jfl_shape *s,
                           jfl_value **out)
{
  JF_NEED(GRAPH, g);
  JF_NEED_NAME("the input's name", name);
  JF_NEED_DTYPE(t);
  JF_NEED_POINTERS(s, out);
  JF_TRY(jf_api_check_open(g));
  if (jf_is_block(t))
    return jf_fail_in(jf_fail(JFL_EDTYPE, "input '%s' must not be %s: only constants and variables "
                              "are stored so", name, jfl_dtype_name(t)), JFL_ERROR_JOB, g->name);
  JF_ENTER(g);
  return jf_fail_in(jf_graph_input(g, name, t, s, out), JFL_ERROR_JOB, g->name);
}

static jfl_status check_variable(const jfl_variable_spec *v)
{
  JF_TRY(jf_need_pointer("jfl_graph_variable", "spec->name", v->name));
  JF_TRY(jfl_name_check("the variable's name", v->name));
  JF_TRY(jf_need_below("jfl_graph_variable", "spec->dtype", v->dtype, JFL_N_DTYPE));
  JF_TRY(jf_need_below("jfl_graph_variable", "spec->init", v->init, JFL_INIT_ORTHOGONAL + 1));
  JF_TRY(jf_need_below("jfl_graph_variable", "spec->state", v->state, JFL_STATE_UNLESS_ZERO + 1));
  if (jf_is_block(v->dtype) && v->trainable)
    return jf_fail(JFL_EDTYPE, "variable '%s' of %s must have trainable = false: weights in blocks "
                   "are not trained; an adapter beside them is, as layers.dense { adapter = { rank "
                   "= 8 } } makes one", v->name, jfl_dtype_name(v->dtype));
  if (jf_is_block(v->dtype) && (v->init != JFL_INIT_CONSTANT || v->a != 0))
    return jf_fail(JFL_EDTYPE, "variable '%s' of %s must begin with zeros; values are set or "
                   "loaded later", v->name, jfl_dtype_name(v->dtype));
  if (isfinite(v->l1) && isfinite(v->l2)) return JFL_OK;
  return jf_fail(JFL_EINVAL, "variable '%s': the regularizer's factors must be finite, got %g and "
                 "%g", v->name, v->l1, v->l2);
}

jfl_status jfl_graph_variable(jfl_graph *g, const jfl_variable_spec *spec, jfl_value **out)
{
  JF_NEED(GRAPH, g);
  JF_NEED_POINTERS(spec, out);
  JF_TRY(check_variable(spec));
  JF_TRY(jf_api_check_open(g));
  JF_ENTER(g);
  return jf_fail_in(jf_graph_variable(g, spec, out), JFL_ERROR_JOB, g->name);
}

jfl_value *jfl_graph_find_variable(jfl_graph *g, const char *name)
{
  if (!JF_IS(GRAPH, g)) return NULL;
  return name ? jf_map_get(&g->variables, name) : (jf_need_pointer(__func__, "name", name), NULL);
}

/* The inputs of a call, converted as its op wants them. */
static jfl_value *const *graph_suited(jfl_graph *g, const jfl_op *op, jfl_value *const *in,
                                      int n_in)
{
  jfl_dtype dtype[JF_MAXIN], to[JF_MAXIN];
  if (!(op->alike | op->truth) || n_in > JF_MAXIN) return in;
  for (int i = 0; i < n_in; i++) dtype[i] = in[i]->dtype;
  if (!jf_suit(op, dtype, n_in, to)) return in;
  jfl_value **suited = jf_alloc(g->arena, (size_t)n_in * sizeof *suited);
  for (int i = 0; i < n_in; i++)
    suited[i] = to[i] == dtype[i] || in[i]->graph != g ? in[i]
      : op->truth >> i & 1 ? JF_EMIT(g, not_equal, NULL, in[i], jf_scalar(g, dtype[i], 0))
                           : JF_EMIT(g, cast, &(jf_cast){ to[i] }, in[i]);
  return suited;
}

static jfl_status graph_add(jfl_graph *g, const jfl_op *op, const void *attr, jfl_value *const *in,
                            int n_in, const char *name, jf_node **out)
{
  jfl_value *const *suited = graph_suited(g, op, in, n_in);
  if (op->stored.op && n_in > op->stored.at)
    op = jf_op_for(op, in[0]->dtype, in[op->stored.at]->dtype);
  return g->err ? g->err : jf_graph_node(g, op, attr, suited, (size_t)n_in, name, out);
}

jfl_status jfl_graph_op(jfl_graph *g, const jfl_op *op, jfl_value *const *in, int n_in,
                        const jfl_arg *arg, int n_arg, const char *name, jfl_value **out)
{
  jf_node *node;
  JF_NEED(GRAPH, g);
  JF_NEED(OP, op);
  JF_NEED_EACH(VALUE, in, n_in);
  JF_NEED_ARGS(arg, n_arg);
  if (name) JF_TRY(jfl_name_check("the node's name", name));
  JF_NEED_POINTER(out);
  JF_TRY(jf_api_check_open(g));
  JF_ENTER(g);
  void *attr = jf_alloc(g->arena, op->attr_size);
  jfl_status s = jf_attr_read(g->arena, op->name, op->attr, arg, n_arg, attr);
  if (!s) s = graph_add(g, op, attr, in, n_in, name, &node);
  if (s) return jf_fail_in(s, JFL_ERROR_JOB, g->name);
  const int declared = jf_op_n_out(op);
  memcpy(out, node->out, (size_t)(node->n_out < declared ? node->n_out : declared) * sizeof *out);
  return JFL_OK;
}

jfl_status jfl_graph_output(jfl_graph *g, jfl_value *v)
{
  JF_NEED(GRAPH, g);
  JF_NEED(VALUE, v);
  JF_TRY(jf_api_check_open(g));
  if (v->graph != g)
    return jf_fail_in(jf_fail(JFL_ESTATE, "the result '%s' must be of this job, got one of job "
                              "'%s'", v->name, v->graph->name), JFL_ERROR_JOB, g->name);
  JF_ENTER(g);
  jf_graph_output(g, v);
  return JFL_OK;
}

static jfl_status check_own(const jfl_graph *g, const char *who, jfl_value *const *v, int n)
{
  for (int i = 0; i < n; i++)
    if (v[i]->graph != g)
      return jf_fail(JFL_ESTATE, "%s: '%s' must be of job '%s', got one of job '%s'", who,
                     v[i]->name, g->name, v[i]->graph->name);
  return JFL_OK;
}

jfl_status jfl_graph_watch_gradient(jfl_graph *g, jfl_value *v, const char *where)
{
  JF_NEED(GRAPH, g);
  JF_NEED(VALUE, v);
  JF_TRY(jf_api_check_open(g));
  JF_TRY(check_own(g, "watch_diff", &v, 1));
  if (g->mode != JFL_TRAIN)
    return jf_fail(JFL_ESTATE,
                   "watch_diff: job '%s' is a predict job, which has no loss, so '%s' has no "
                   "gradient; only a job with type = \"train\" has",
                   g->name, v->name);
  if (!jf_is_float(v->dtype))
    return jf_fail(JFL_EDTYPE, "watch_diff: '%s' must be a float blob, which alone has a gradient, "
                   "got %s", v->name, jfl_dtype_name(v->dtype));
  JF_ENTER(g);
  g->watched = jf_grow(g->arena, g->watched, g->n_watched, &g->cap_watched, sizeof *g->watched);
  g->watched[g->n_watched] = (jf_watched){ v, where ? jf_strdup(g->arena, where) : "" };
  g->n_watched++;
  return JFL_OK;
}

jfl_status jfl_graph_gradients(jfl_graph *g, jfl_value *y, jfl_value *dy, jfl_value *const *x,
                               int n_x, jfl_value **grad)
{
  JF_NEED(GRAPH, g);
  JF_NEED(VALUE, y);
  if (dy) JF_NEED(VALUE, dy);
  JF_NEED_EACH(VALUE, x, n_x);
  if (n_x) JF_NEED_POINTER(grad);
  JF_TRY(jf_api_check_open(g));
  JF_TRY(check_own(g, "gradients", &y, 1));
  JF_TRY(check_own(g, "gradients", x, n_x));
  if (dy) JF_TRY(check_own(g, "gradients", &dy, 1));
  if (dy && (dy->dtype != y->dtype || !jf_shape_eq(&dy->shape, &y->shape)))
    return jf_fail(JFL_ESHAPE, "gradients: dy must be of the dtype and shape of y");
  if (!jf_is_float(y->dtype))
    return jf_fail(JFL_EDTYPE, "gradients: y must be a float blob, got %s",
                   jfl_dtype_name(y->dtype));
  JF_ENTER(g);
  jfl_value **adj = jf_alloc(g->arena, (size_t)g->n_value * sizeof *adj);
  if (!dy) dy = jf_full_like(g, y, 1);
  if (!dy) return g->err;
  jf_backward b = { &y, &dy, 1, x, n_x };
  jfl_status s = jf_gradients(g, &b, adj);
  for (int i = 0; !s && i < n_x; i++) grad[i] = adj[x[i]->id];
  return g->err = s;
}

jfl_status jfl_graph_text(const jfl_graph *g, char **out)
{
  jf_text t = {0};
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(out);
  jf_graph_print(g, &t);
  return jf_text_take(&t, out);
}

jfl_status jfl_graph_traced_text(const jfl_graph *g, char **out)
{
  jf_text t = {0};
  JF_NEED(GRAPH, g);
  if (!g->traced) return jfl_graph_text(g, out);
  JF_NEED_POINTER(out);
  jf_text_put(&t, g->traced, strlen(g->traced));
  return jf_text_take(&t, out);
}

jfl_graph *jfl_value_graph(const jfl_value *v) { return JF_IS(VALUE, v) ? v->graph : NULL; }
jfl_value *jfl_value_output(const jfl_value *v, int i)
{
  if (!JF_IS(VALUE, v)) return NULL;
  return v->node && i >= 0 && i < v->node->n_out ? v->node->out[i] : NULL;
}
jfl_dtype jfl_value_dtype(const jfl_value *v) { return JF_IS(VALUE, v) ? v->dtype : JFL_N_DTYPE; }
const jfl_shape *jfl_value_shape(const jfl_value *v)
{
  return !JF_IS(VALUE, v) ? NULL : v->plain ? v->plain : &v->shape;
}

static jfl_status check_distribution(const jfl_value *v, jfl_distribution d)
{
  JF_TRY(jf_api_check_open(v->graph));
  JF_TRY(jf_need_below("jfl_value_distribute", "d.kind", d.kind, JFL_MIRRORED + 1));
  const int alone = v->place != JF_DEFAULT_PLACE && !jf_is_group(v->place);
  if (v->origin == JF_RESULT && !(d.kind == JFL_MIRRORED && alone))
    return jf_fail(JFL_EINVAL, "distribute: '%s' must be an input or a variable; the op "
                   "parallel_cast distributes other blobs", v->name);
  if (d.kind == JFL_PARTIAL || (d.kind == JFL_MIRRORED && v->origin == JF_VARIABLE))
    return jf_fail(JFL_EINVAL, "distribute: '%s' must be auto, broadcast or split, got %s", v->name,
                   jf_distribution_text(v->graph->arena, d));
  if (d.kind == JFL_SPLIT && (d.axis < 0 || d.axis >= v->shape.n))
    return jf_fail(JFL_ESHAPE, "distribute: the axis to split '%s' along must be from 0 to %d, got "
                   "%d", v->name, v->shape.n - 1, d.axis);
  return JFL_OK;
}

jfl_status jfl_value_distribute(jfl_value *v, jfl_distribution d)
{
  JF_NEED(VALUE, v);
  JF_TRY(jf_fail_in(check_distribution(v, d), JFL_ERROR_JOB, v->graph->name));
  v->distribution = d;
  return JFL_OK;
}

jfl_distribution jfl_value_distribution(const jfl_value *v)
{
  return JF_IS(VALUE, v) ? v->distribution : (jfl_distribution){ JFL_AUTO, 0 };
}

const char *jfl_value_name(const jfl_value *v) { return JF_IS(VALUE, v) ? v->name : NULL; }
