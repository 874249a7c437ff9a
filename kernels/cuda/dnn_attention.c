/* Attention and its gradients of 16-bit operands by cuDNN, without a mask and without dropout,
   whose random bits would not be those of other kernels. The graphs are those that its engines know
   as attention, whose scores never reach memory (cuDNN documentation, Attention). */
#include "dev/cuda/dnn.h"

#include "conv_ends.h"
#include "op/attention.h"
#include "op/op.h"

#include <float.h>
#include <stdio.h>

enum { Q, K, V, Y, LSE, DY, DQ, DK, DV, MOST_OUT = 3, ALIGNMENT = 256 };

typedef struct dnn_attention {
  jf_dnn_graph graph;
  float scale, hidden;                 /* hidden: the score of a key that may not be seen */
  int n_number;                        /* how many of these two the graph reads */
  int n_wide;                          /* so many results are made in 16 bits, then widened: */
  size_t aside[MOST_OUT];              /* where in scratch they are made, */
  jf_conv_ends widen[MOST_OUT];
} dnn_attention;

static int dnn_attention_accepts(const jf_kargs *k)
{
  enum { MULTIPLE = 8, OLDEST = 80 };
  const int grad = k->n_in > JF_ATTENTION_GRAD_MASK - 1;
  const jf_attention_dims d = jf_attention_dims_of(k);
  const jf_attention *a = k->attr;
  if (!jf_is_float(k->in[0].dtype) || jfl_dtype_size(k->in[0].dtype) != 2) return 0;
  if (a->dropout_rate > 0) return 0;
  if (k->n_in != (grad ? JF_ATTENTION_GRAD_MASK : JF_ATTENTION_MASK)) return 0;
  if ((grad ? k->in[LSE].dtype : k->out[1].dtype) != JFL_F32) return 0;
  if (d.heads != d.groups || d.size != d.v_size || d.size % MULTIPLE || !d.size) return 0;
  return d.batch && d.heads && d.q_len && d.k_len &&
         ((const jf_cuda *)k->device->state)->arch >= OLDEST;
}

/* ---- graphs ---- */

/* A tensor (batch, heads, n, m) of that id; with `turned`, seen as (batch, heads, m, n). */
static jf_dnn_tensor dnn_attention_tensor(const jf_attention_dims *d, int64_t id, int type,
                                          int64_t n, int64_t m, int turned)
{
  jf_dnn_tensor t = { .id = id + 1, .extent = { d->batch, d->heads, n, m }, .n = 4, .type = type,
                      .step = { d->heads * n * m, n * m, m, 1 } };
  if (!turned) return t;
  t.extent[2] = m;
  t.extent[3] = n;
  t.step[2] = 1;
  t.step[3] = m;
  return t;
}

typedef struct dnn_attention_call {
  jf_dnn_graph *g;
  const jf_attention *attr;
  jf_attention_dims d;
  int type;                            /* cuDNN's of the operands */
  int causal;
  jf_dnn_tensor scores, turned, row;   /* forms of what lies nowhere: scores, and one a query */
  jf_dnn_desc *scale, *hidden;
} dnn_attention_call;

/* As what a tensor lies, of q, k, v and y: also a gradient. */
static int dnn_attention_like(int64_t id)
{
  return id >= DQ ? (int)(id - DQ) : id == DY ? Y : (int)id;
}

/* A tensor of k's. */
static jf_dnn_desc *dnn_attention_of(const dnn_attention_call *c, int64_t id, int turned)
{
  const int like = dnn_attention_like(id);
  const int64_t rows = like == K || like == V ? c->d.k_len : c->d.q_len;
  const jf_attention_steps s = jf_attention_steps_of(c->attr, &c->d, like);
  jf_dnn_tensor t = dnn_attention_tensor(&c->d, id, c->type, rows, c->d.size, turned);
  t.step[0] = s.batch;
  t.step[1] = s.head;
  t.step[turned ? 3 : 2] = s.row;
  return jf_dnn_tensor_make(c->g, &t);
}

static jf_dnn_desc *dnn_attention_point(const dnn_attention_call *c, int mode, jf_dnn_desc *x,
                                        jf_dnn_desc *b, const jf_dnn_tensor *like, int type)
{
  jf_dnn_desc *y = jf_dnn_between(c->g, like, type);
  jf_dnn_pointwise(c->g, &(jf_dnn_point){ .mode = mode, .type = JF_DNN_FLOAT, .x = x, .b = b,
                                          .y = y });
  return y;
}

static jf_dnn_desc *dnn_attention_index(const dnn_attention_call *c, jf_dnn_desc *x, int axis)
{
  jf_dnn_desc *y = jf_dnn_between(c->g, &c->scores, JF_DNN_INT32);
  jf_dnn_pointwise(c->g, &(jf_dnn_point){ .mode = JF_DNN_INDEX, .type = JF_DNN_FLOAT, .x = x,
                                          .y = y, .axis = axis });
  return y;
}

/* scale q k^T, where a causal call hides keys behind the query. */
static jf_dnn_desc *dnn_attention_scores(const dnn_attention_call *c)
{
  jf_dnn_desc *product = jf_dnn_between(c->g, &c->scores, JF_DNN_FLOAT);
  jf_dnn_matmul(c->g, dnn_attention_of(c, Q, 0), dnn_attention_of(c, K, 1), product);
  jf_dnn_desc *s = dnn_attention_point(c, JF_DNN_MUL, product, c->scale, &c->scores, JF_DNN_FLOAT);
  if (!c->causal) return s;
  jf_dnn_desc *query = dnn_attention_index(c, s, 2), *key = dnn_attention_index(c, s, 3);
  jf_dnn_desc *seen = jf_dnn_between(c->g, &c->scores, JF_DNN_BOOL);
  jf_dnn_pointwise(c->g, &(jf_dnn_point){ .mode = JF_DNN_AT_LEAST, .type = JF_DNN_BOOL, .x = query,
                                          .b = key, .y = seen });
  jf_dnn_desc *y = jf_dnn_between(c->g, &c->scores, JF_DNN_FLOAT);
  jf_dnn_pointwise(c->g, &(jf_dnn_point){ .mode = JF_DNN_SELECT, .type = JF_DNN_FLOAT, .x = s,
                                          .b = c->hidden, .t = seen, .y = y });
  return y;
}

/* y = softmax(scores) v, lse = max + log sum exp(scores - max). */
static void dnn_attention_forward(const dnn_attention_call *c)
{
  const jf_dnn_tensor *like = &c->scores;
  const jf_dnn_tensor lse = dnn_attention_tensor(&c->d, LSE, JF_DNN_FLOAT, c->d.q_len, 1, 0);
  jf_dnn_desc *s = dnn_attention_scores(c), *most = jf_dnn_between(c->g, &c->row, JF_DNN_FLOAT);
  jf_dnn_reduce(c->g, JF_DNN_MAX, s, most);
  jf_dnn_desc *below = dnn_attention_point(c, JF_DNN_SUB, s, most, like, JF_DNN_FLOAT);
  jf_dnn_desc *e = dnn_attention_point(c, JF_DNN_EXP, below, NULL, like, JF_DNN_FLOAT);
  jf_dnn_desc *sum = jf_dnn_between(c->g, &c->row, JF_DNN_FLOAT);
  jf_dnn_reduce(c->g, JF_DNN_SUM, e, sum);
  jf_dnn_desc *log = dnn_attention_point(c, JF_DNN_LOG, sum, NULL, &c->row, JF_DNN_FLOAT);
  jf_dnn_pointwise(c->g, &(jf_dnn_point){ .mode = JF_DNN_ADD, .type = JF_DNN_FLOAT, .x = most,
                                          .b = log, .y = jf_dnn_tensor_make(c->g, &lse) });
  jf_dnn_desc *p = dnn_attention_point(c, JF_DNN_DIV, e, sum, like, c->type);
  jf_dnn_matmul(c->g, p, dnn_attention_of(c, V, 0), dnn_attention_of(c, Y, 0));
}

/* Scores turned, so that they have a row for each key. */
static jf_dnn_desc *dnn_attention_turn(const dnn_attention_call *c, jf_dnn_desc *x)
{
  jf_dnn_desc *y = jf_dnn_between(c->g, &c->turned, c->type);
  jf_dnn_reshape(c->g, x, y);
  return y;
}

/* With p = exp(scores - lse): dv = p^T dy, ds = p (dy v^T - sum of dy y) scale, dq = ds k,
   dk = ds^T q. */
static void dnn_attention_backward(const dnn_attention_call *c)
{
  const jf_dnn_tensor *like = &c->scores;
  const jf_dnn_tensor wide = dnn_attention_tensor(&c->d, 0, 0, c->d.q_len, c->d.size, 0);
  const jf_dnn_tensor lse = dnn_attention_tensor(&c->d, LSE, JF_DNN_FLOAT, c->d.q_len, 1, 0);
  jf_dnn_desc *dy = dnn_attention_of(c, DY, 0);
  jf_dnn_desc *both = dnn_attention_point(c, JF_DNN_MUL, dy, dnn_attention_of(c, Y, 0), &wide,
                                          JF_DNN_FLOAT);
  jf_dnn_desc *dot = jf_dnn_between(c->g, &c->row, JF_DNN_FLOAT);
  jf_dnn_reduce(c->g, JF_DNN_SUM, both, dot);
  jf_dnn_desc *below = dnn_attention_point(c, JF_DNN_SUB, dnn_attention_scores(c),
                                           jf_dnn_tensor_make(c->g, &lse), like, JF_DNN_FLOAT);
  jf_dnn_desc *p = dnn_attention_point(c, JF_DNN_EXP, below, NULL, like, c->type);
  jf_dnn_matmul(c->g, dnn_attention_turn(c, p), dy, dnn_attention_of(c, DV, 0));
  jf_dnn_desc *dp = jf_dnn_between(c->g, like, JF_DNN_FLOAT);
  jf_dnn_matmul(c->g, dy, dnn_attention_of(c, V, 1), dp);
  jf_dnn_desc *part = dnn_attention_point(c, JF_DNN_SUB, dp, dot, like, JF_DNN_FLOAT);
  jf_dnn_desc *whole = dnn_attention_point(c, JF_DNN_MUL, part, p, like, JF_DNN_FLOAT);
  jf_dnn_desc *ds = dnn_attention_point(c, JF_DNN_MUL, whole, c->scale, like, c->type);
  jf_dnn_matmul(c->g, ds, dnn_attention_of(c, K, 0), dnn_attention_of(c, DQ, 0));
  jf_dnn_matmul(c->g, dnn_attention_turn(c, ds), dnn_attention_of(c, Q, 0),
                dnn_attention_of(c, DK, 0));
}

/* ---- plans ---- */

/* The tensors of a graph: the inputs, then y and lse, or dq, dk and dv. */
static int dnn_attention_made(int grad) { return grad ? MOST_OUT : 2; }

/* The result of k's in which number i of those that the graph makes lies. */
static int dnn_attention_result(const jf_kargs *k, int i) { return i < k->n_out ? i : 0; }

static size_t dnn_attention_bytes(const jf_tensor *t, jfl_dtype dtype)
{
  return (size_t)jf_numel(&t->shape) * jfl_dtype_size(dtype);
}

static jfl_status dnn_attention_plan(const jf_kargs *k, dnn_attention *s, int grad)
{
  const jf_attention *a = k->attr;
  const int n = k->n_in + dnn_attention_made(grad);
  const jf_attention_dims d = jf_attention_dims_of(k);
  size_t size[JF_DNN_TENSORS] = { 0 };
  char name[200];
  JF_TRY(jf_dnn_of(k->device->state, &s->graph.dnn));
  s->scale = (float)a->scale;
  s->hidden = -FLT_MAX;
  s->n_number = a->causal ? 2 : 1;
  dnn_attention_call c = { .g = &s->graph, .attr = a, .d = d, .type = jf_dnn_type(k->in[0].dtype),
    .causal = a->causal, .scores = dnn_attention_tensor(&d, 0, 0, d.q_len, d.k_len, 0),
    .turned = dnn_attention_tensor(&d, 0, 0, d.q_len, d.k_len, 1),
    .row = dnn_attention_tensor(&d, 0, 0, d.q_len, 1, 0) };
  c.scale = jf_dnn_number(c.g, n + 1, &s->scale);
  if (a->causal) c.hidden = jf_dnn_number(c.g, n + 2, &s->hidden);
  (grad ? dnn_attention_backward : dnn_attention_forward)(&c);
  for (int i = 0; i < n; i++) {
    const jf_tensor *t = i < k->n_in ? &k->in[i] : &k->out[dnn_attention_result(k, i - k->n_in)];
    size[i] = dnn_attention_bytes(t, t->dtype);
  }
  snprintf(name, sizeof name, "cuDNN %d attention%s %s %lldx%lld, %lld and %lld of %lld%s%s%s",
           (int)s->graph.dnn->api->version(), grad ? " gradients" : "",
           jfl_dtype_name(k->in[0].dtype), (long long)d.batch, (long long)d.heads,
           (long long)d.q_len, (long long)d.k_len, (long long)d.size, a->causal ? " causal" : "",
           a->by_length ? " by length" : "", a->joint ? " joint" : "");
  return jf_dnn_choose(&s->graph, name, JF_DNN_VARIES | JF_DNN_NARROW_SUMS, n + s->n_number, size);
}

static void dnn_attention_release(void *state)
{
  dnn_attention *s = state;
  if (s->graph.dnn) jf_dnn_graph_free(&s->graph);
  jf_free(s);
}

/* Prepares the widening of results of float32, for which cuDNN has no engines. */
static jfl_status dnn_attention_widen(jf_kargs *k, dnn_attention *s)
{
  const jfl_dtype t = k->in[0].dtype;
  const int made = k->n_out == 2 ? 1 : k->n_out;         /* of a forward call lse is the other */
  k->scratch_size = s->graph.workspace;
  if (!((const jf_attention *)k->attr)->f32_result) return JFL_OK;
  s->n_wide = made;
  for (int i = 0; i < made; i++) {
    s->aside[i] = (k->scratch_size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    k->scratch_size = s->aside[i] + dnn_attention_bytes(&k->out[i], t);
    JF_TRY(jf_widen_prepare(k, t, JFL_F32, jf_numel(&k->out[i].shape), &s->widen[i]));
  }
  return JFL_OK;
}

static jfl_status dnn_attention_prepare(jf_kargs *k)
{
  const int grad = k->op == &jf_op_scaled_dot_product_attention_grad;
  dnn_attention *s = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status e = dnn_attention_plan(k, s, grad);
  if (!e) e = dnn_attention_widen(k, s);
  if (e) dnn_attention_release(s);
  else k->state = s;
  return e;
}

/* Adds to the addresses of tensors where q, k, v and their gradients begin in these. */
static void dnn_attention_seek(const jf_kargs *k, int grad, void **at)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  for (int i = Q; i <= V; i++) {
    const size_t first = 2 * (size_t)jf_attention_steps_of(k->attr, &d, i).first;
    at[i] = (char *)at[i] + first;
    if (grad) at[k->n_in + i] = (char *)at[k->n_in + i] + first;
  }
}

static jfl_status dnn_attention_run(const jf_kargs *k)
{
  dnn_attention *s = k->state;
  const int grad = k->op == &jf_op_scaled_dot_product_attention_grad;
  void *at[JF_DNN_TENSORS];
  int n = 0;
  for (int i = 0; i < k->n_in; i++) at[n++] = k->in[i].data;
  for (int i = 0; i < dnn_attention_made(grad); i++) {
    const int out = dnn_attention_result(k, i);
    at[n++] = out < s->n_wide ? (char *)k->scratch + s->aside[out] : k->out[out].data;
  }
  dnn_attention_seek(k, grad, at);
  at[n++] = &s->scale;
  if (s->n_number > 1) at[n++] = &s->hidden;
  JF_TRY(jf_dnn_run(&s->graph, jf_cuda_queue(k), n, at, k->scratch));
  for (int i = 0; i < s->n_wide; i++)
    JF_TRY(jf_widen(k, &s->widen[i], (char *)k->scratch + s->aside[i], k->out[i].data));
  return JFL_OK;
}

JFL_CUDA(cudnn_attention,
  .op = "scaled_dot_product_attention scaled_dot_product_attention_grad",
  .accepts = dnn_attention_accepts, .prepare = dnn_attention_prepare, .run = dnn_attention_run,
  .release = dnn_attention_release, .priority = JF_LIBRARY)
