/* Convolutions and their gradients by cuDNN. */
#include "dev/cuda/dnn.h"

#include "conv_ends.h"
#include "op/op.h"

#include <string.h>

enum { ALIGNMENT = 256 };

/* One of cuDNN's ops on x, filters w and y, and its attributes. */
typedef struct dnn_conv_sort { int op, x, w, y, conv, alpha, beta; } dnn_conv_sort;
static const dnn_conv_sort dnn_forward = { JF_DNN_OP_FORWARD, JF_DNN_FORWARD_X, JF_DNN_FORWARD_W,
  JF_DNN_FORWARD_Y, JF_DNN_FORWARD_CONV, JF_DNN_FORWARD_ALPHA, JF_DNN_FORWARD_BETA };
static const dnn_conv_sort dnn_data = { JF_DNN_OP_DATA, JF_DNN_DATA_X, JF_DNN_DATA_W,
  JF_DNN_DATA_Y, JF_DNN_DATA_CONV, JF_DNN_DATA_ALPHA, JF_DNN_DATA_BETA };
static const dnn_conv_sort dnn_filter = { JF_DNN_OP_FILTER, JF_DNN_FILTER_X, JF_DNN_FILTER_W,
  JF_DNN_FILTER_Y, JF_DNN_FILTER_CONV, JF_DNN_FILTER_ALPHA, JF_DNN_FILTER_BETA };

/* A convolution as cuDNN is told of it. */
typedef struct dnn_conv_call {
  const dnn_conv_sort *sort;
  const jf_conv *attr;
  jf_dnn_tensor x, w, y, bias, residual;
  const jf_epilogue *epilogue;         /* NULL: none that is in the graph */
  int compute;                         /* the type of sums and of what follows them */
} dnn_conv_call;

typedef struct dnn_conv {
  jf_dnn_graph graph;
  int n, place[5];                     /* the tensors of the graph among k's, inputs first */
  jf_conv_ends finish, bias_grad;      /* what follows; work is NULL: nothing does */
  jfl_dtype made;                      /* of what the graph writes */
  size_t aside;                        /* where in scratch it writes that, if not to the output */
  size_t scratch;
} dnn_conv;

/* cuDNN counts in 32 bits. */
static int dnn_conv_is_small(const jf_conv *a)
{
  for (int i = 0; i < 3; i++)
    if (a->pad[2 * i] > UINT16_MAX || a->pad[2 * i + 1] > UINT16_MAX ||
        a->stride[i] > UINT16_MAX || a->dilation[i] > UINT16_MAX)
      return 0;
  return 1;
}

static int dnn_conv_accepts(const jf_kargs *k)
{
  const jf_conv *a = k->attr;
  for (int i = 0; i < k->n_in + k->n_out; i++) {
    const jf_tensor *t = i < k->n_in ? &k->in[i] : &k->out[i - k->n_in];
    if (jf_numel(&t->shape) == 0 || jf_dnn_type(t->dtype) < 0) return 0;
  }
  return !a->block_x && !a->block_y && !a->packed && dnn_conv_is_small(a);
}

/* ---- the graph ---- */

/* A tensor of extents d, of which cuDNN wants two or three along space: depth is left out where no
   tensor of the op has it. It is the next of the graph, and number `place` of k's tensors. */
static jf_dnn_tensor dnn_conv_tensor(dnn_conv *c, const jf_conv *a, const int64_t *d, jfl_dtype t,
                                     int place)
{
  jf_dnn_tensor r = { .id = c->n + 1, .type = jf_dnn_type(t) };
  c->place[c->n++] = place;
  int64_t step = a->last ? d[1] : 1;
  int from[JF_DNN_AXES];
  for (int i = 0; i < 5; i++)
    if (i != 2 || a->axes == 3) from[r.n++] = i;
  for (int i = r.n - 1; i >= 0; i--) r.extent[i] = d[from[i]];
  for (int i = r.n - 1; i >= 2; i--) {
    r.step[i] = step;
    step *= r.extent[i];
  }
  r.step[1] = a->last ? 1 : step;
  r.step[0] = a->last ? step : step * r.extent[1];
  return r;
}

/* The tensor that is number `place` of k's, inputs first. */
static const jf_tensor *dnn_conv_at(const jf_kargs *k, int place)
{
  return place < k->n_in ? &k->in[place] : &k->out[place - k->n_in];
}

static jf_dnn_tensor dnn_conv_of(dnn_conv *c, const jf_kargs *k, int place)
{
  const jf_tensor *t = dnn_conv_at(k, place);
  const jfl_dtype dtype = place < k->n_in ? t->dtype : c->made;
  return dnn_conv_tensor(c, k->attr, jf_conv_extents_of(k->attr, &t->shape).d, dtype, place);
}

static jf_dnn_desc *dnn_conv_desc(jf_dnn_graph *g, const dnn_conv_call *c)
{
  const jf_conv *a = c->attr;
  const int64_t axes = a->axes == 3 ? 3 : 2, first = 3 - axes;
  int64_t before[3], after[3];
  for (int i = 0; i < 3; i++) {
    before[i] = a->pad[2 * i];
    after[i] = a->pad[2 * i + 1];
  }
  jf_dnn_desc *d = jf_dnn_make(g, JF_DNN_CONVOLUTION);
  jf_dnn_set(g, d, JF_DNN_CONV_AXES, JF_DNN_T_INT, 1, &axes);
  jf_dnn_set_mode(g, d, JF_DNN_CONV_TYPE, JF_DNN_T_DTYPE, c->compute);
  jf_dnn_set_mode(g, d, JF_DNN_CONV_MODE, JF_DNN_T_CONV_MODE, JF_DNN_CROSS_CORRELATION);
  jf_dnn_set(g, d, JF_DNN_CONV_STRIDES, JF_DNN_T_INT, axes, a->stride + first);
  jf_dnn_set(g, d, JF_DNN_CONV_DILATIONS, JF_DNN_T_INT, axes, a->dilation + first);
  jf_dnn_set(g, d, JF_DNN_CONV_BEFORE, JF_DNN_T_INT, axes, before + first);
  jf_dnn_set(g, d, JF_DNN_CONV_AFTER, JF_DNN_T_INT, axes, after + first);
  jf_dnn_finish(g, d);
  return d;
}

/* Sets a factor, which is a double where sums are. */
static void dnn_conv_factor(jf_dnn_graph *g, jf_dnn_desc *op, int name, int type, double v)
{
  const float narrow = (float)v;
  if (type == jf_dnn_type(JFL_F64)) jf_dnn_set(g, op, name, JF_DNN_T_DOUBLE, 1, &v);
  else jf_dnn_set(g, op, name, JF_DNN_T_FLOAT, 1, &narrow);
}

static void dnn_conv_op(jf_dnn_graph *g, const dnn_conv_call *c, jf_dnn_desc *y)
{
  const dnn_conv_sort *sort = c->sort;
  jf_dnn_desc *x = jf_dnn_tensor_make(g, &c->x), *w = jf_dnn_tensor_make(g, &c->w);
  jf_dnn_desc *conv = dnn_conv_desc(g, c), *op = jf_dnn_make(g, sort->op);
  jf_dnn_set_desc(g, op, sort->conv, conv);
  jf_dnn_set_desc(g, op, sort->x, x);
  jf_dnn_set_desc(g, op, sort->w, w);
  jf_dnn_set_desc(g, op, sort->y, y);
  dnn_conv_factor(g, op, sort->alpha, c->compute, 1);
  dnn_conv_factor(g, op, sort->beta, c->compute, 0);
  jf_dnn_add(g, op);
}

/* Adds y = x + b, or relu(x) where b is NULL. */
static void dnn_conv_then(jf_dnn_graph *g, const dnn_conv_call *c, jf_dnn_desc *x, jf_dnn_desc *b,
                          jf_dnn_desc *y)
{
  jf_dnn_pointwise(g, &(jf_dnn_point){ .mode = b ? JF_DNN_ADD : JF_DNN_RELU, .type = c->compute,
                                       .x = x, .b = b, .y = y });
}

/* Adds the convolution and its epilogue. cuDNN's engines take the residual before the bias. */
static void dnn_conv_build(jf_dnn_graph *g, const dnn_conv_call *c)
{
  const jf_epilogue *e = c->epilogue;
  jf_dnn_desc *y = jf_dnn_tensor_make(g, &c->y);
  if (!e) {
    dnn_conv_op(g, c, y);
    return;
  }
  jf_dnn_desc *at = jf_dnn_between(g, &c->y, c->compute);
  dnn_conv_op(g, c, at);
  if (e->residual) {
    jf_dnn_desc *sum = jf_dnn_between(g, &c->y, c->compute);
    dnn_conv_then(g, c, at, jf_dnn_tensor_make(g, &c->residual), sum);
    at = sum;
  }
  jf_dnn_desc *sum = e->act ? jf_dnn_between(g, &c->y, c->compute) : y;
  dnn_conv_then(g, c, at, jf_dnn_tensor_make(g, &c->bias), sum);
  if (e->act) dnn_conv_then(g, c, sum, NULL, y);
}

/* ---- the plan ---- */

/* Engines that are not used: those whose results differ from run to run or are farther from exact
   ones, and for float32 those that round operands, unless the setting allows TF32. */
static unsigned dnn_conv_refused(const jf_kargs *k)
{
  const unsigned always = JF_DNN_VARIES | JF_DNN_NARROW_SUMS | JF_DNN_FFT | JF_DNN_WINOGRAD;
  if (k->in[0].dtype != JFL_F32) return always;
  return always | (k->tf32 ? 0 : JF_DNN_TENSOR_CORE | JF_DNN_NARROWS);
}

static void dnn_conv_list(jf_text *to, const char *what, int n, const int64_t *v)
{
  jf_text_add(to, " %s", what);
  for (int i = 0; i < n; i++) jf_text_add(to, "%c%lld", i ? 'x' : ' ', (long long)v[i]);
}

/* Says which convolution it is, for the choice of its engine to be kept. */
static jfl_status dnn_conv_name(const jf_kargs *k, const dnn_conv_call *c, char **out)
{
  jf_text to = { 0 };
  const jf_conv *a = c->attr;
  jf_text_add(&to, "cuDNN %d %s %s %s%s", (int)jf_dnn_open()->version(), k->op->name,
              jfl_dtype_name(k->in[0].dtype), jfl_dtype_name(k->out[0].dtype),
              a->last ? " channels last" : "");
  dnn_conv_list(&to, "x", c->x.n, c->x.extent);
  dnn_conv_list(&to, "filters", c->w.n, c->w.extent);
  dnn_conv_list(&to, "y", c->y.n, c->y.extent);
  dnn_conv_list(&to, "stride", 3, a->stride);
  dnn_conv_list(&to, "dilation", 3, a->dilation);
  dnn_conv_list(&to, "pad", 6, a->pad);
  if (c->epilogue)
    jf_text_add(&to, " bias%s %s", c->epilogue->residual ? " residual" : "",
                c->epilogue->act ? c->epilogue->act : "");
  jf_text_add(&to, " %u", dnn_conv_refused(k));
  return jf_text_take(&to, out);
}

static jfl_status dnn_conv_plan(const jf_kargs *k, const dnn_conv_call *call, dnn_conv *c)
{
  size_t size[8];
  char *name;
  for (int i = 0; i < c->n; i++) {
    const jf_tensor *t = dnn_conv_at(k, c->place[i]);
    size[i] = (size_t)jf_numel(&t->shape) * jfl_dtype_size(t->dtype);
  }
  /* cuDNN has no engines whose results are wider than operands. */
  const size_t made = c->made == k->out[0].dtype ? 0
      : (size_t)jf_numel(&k->out[0].shape) * jfl_dtype_size(c->made);
  JF_TRY(jf_dnn_of(k->device->state, &c->graph.dnn));
  dnn_conv_build(&c->graph, call);
  JF_TRY(dnn_conv_name(k, call, &name));
  const jfl_status s = jf_dnn_choose(&c->graph, name, dnn_conv_refused(k), c->n, size);
  jf_free(name);
  c->aside = (c->graph.workspace + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  c->scratch = made ? c->aside + made : c->graph.workspace;
  return s;
}

static void dnn_conv_free(dnn_conv *c)
{
  if (c->graph.dnn) jf_dnn_graph_free(&c->graph);
  *c = (dnn_conv){ .made = c->made };
}

static void dnn_conv_release(void *state)
{
  dnn_conv_free(state);
  jf_free(state);
}

static dnn_conv_call dnn_conv_call_of(const jf_kargs *k, const dnn_conv_sort *sort)
{
  const jfl_dtype t = k->out[0].dtype;
  return (dnn_conv_call){ .sort = sort, .attr = k->attr,
                          .compute = jf_dnn_type(t == JFL_F64 ? t : JFL_F32) };
}

/* Makes the state by `make`, which gets it zeroed. */
static jfl_status dnn_conv_state(jf_kargs *k, jfl_status (*make)(jf_kargs *k, dnn_conv *c))
{
  static const jf_epilogue none;
  dnn_conv *c = jf_new(sizeof *c);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  c->made = k->in[0].dtype;
  jfl_status s = make(k, c);
  if (!s && c->made != k->out[0].dtype && !c->finish.work)
    s = jf_conv_finish_prepare(k, &none, c->made, &c->finish);
  if (s) return dnn_conv_release(c), s;
  if (c->scratch > k->scratch_size) k->scratch_size = c->scratch;
  k->state = c;
  return JFL_OK;
}

/* Whether cuDNN's engines can end a convolution so: act(y + residual + bias), act being relu. */
static int dnn_conv_ends_so(const jf_kargs *k, const jf_epilogue *e)
{
  return e->bias && (!e->act || !strcmp(e->act, "relu")) && k->in[0].dtype == k->out[0].dtype;
}

/* Plans the convolution, with that epilogue if it is not NULL. */
static jfl_status dnn_conv_forward(const jf_kargs *k, dnn_conv *c, const jf_epilogue *e)
{
  dnn_conv_call call = dnn_conv_call_of(k, &dnn_forward);
  call.epilogue = e;
  call.x = dnn_conv_of(c, k, 0);
  call.w = dnn_conv_of(c, k, 1);
  call.y = dnn_conv_of(c, k, k->n_in);
  const int64_t channels[5] = { 1, call.y.extent[1], 1, 1, 1 };
  if (e) call.bias = dnn_conv_tensor(c, k->attr, channels, k->out[0].dtype, 2);
  if (e && e->residual) call.residual = dnn_conv_of(c, k, 3);
  return dnn_conv_plan(k, &call, c);
}

static jfl_status dnn_conv_make(jf_kargs *k, dnn_conv *c)
{
  const jf_epilogue *e = &((const jf_conv *)k->attr)->epilogue;
  if (dnn_conv_ends_so(k, e)) {
    const jfl_status s = dnn_conv_forward(k, c, e);
    if (s != JFL_ENOSYS) return s;
    dnn_conv_free(c);
  }
  JF_TRY(dnn_conv_forward(k, c, NULL));
  return k->n_in > 2 || e->act ? jf_conv_finish_prepare(k, e, c->made, &c->finish)
                                : JFL_OK;
}

static jfl_status dnn_conv_data_make(jf_kargs *k, dnn_conv *c)
{
  dnn_conv_call call = dnn_conv_call_of(k, &dnn_data);
  call.w = dnn_conv_of(c, k, 0);
  call.y = dnn_conv_of(c, k, 1);
  call.x = dnn_conv_of(c, k, 2);
  return dnn_conv_plan(k, &call, c);
}

static jfl_status dnn_conv_filter_make(jf_kargs *k, dnn_conv *c)
{
  dnn_conv_call call = dnn_conv_call_of(k, &dnn_filter);
  call.x = dnn_conv_of(c, k, 0);
  call.y = dnn_conv_of(c, k, 1);
  call.w = dnn_conv_of(c, k, 2);
  JF_TRY(dnn_conv_plan(k, &call, c));
  return k->n_out > 1 ? jf_conv_bias_grad_prepare(k, &c->bias_grad) : JFL_OK;
}

static jfl_status dnn_conv_prepare(jf_kargs *k)
{
  return dnn_conv_state(k, dnn_conv_make);
}

static jfl_status dnn_conv_data_prepare(jf_kargs *k)
{
  return dnn_conv_state(k, dnn_conv_data_make);
}

static jfl_status dnn_conv_filter_prepare(jf_kargs *k)
{
  return dnn_conv_state(k, dnn_conv_filter_make);
}

static jfl_status dnn_conv_run(const jf_kargs *k)
{
  dnn_conv *c = k->state;
  void *at[8];
  const int wide = c->made != k->out[0].dtype;
  void *made = wide ? (char *)k->scratch + c->aside : k->out[0].data;
  for (int i = 0; i < c->n; i++)
    at[i] = c->place[i] == k->n_in ? made : dnn_conv_at(k, c->place[i])->data;
  JF_TRY(jf_dnn_run(&c->graph, jf_cuda_queue(k), c->n, at, k->scratch));
  if (c->finish.work) JF_TRY(jf_conv_finish(k, &c->finish, made));
  return c->bias_grad.work ? jf_conv_bias_grad(k, &c->bias_grad) : JFL_OK;
}

#define DNN_CONVS(op_, prepare_)                                                               \
  .op = op_, .accepts = dnn_conv_accepts, .prepare = prepare_, .run = dnn_conv_run,            \
  .release = dnn_conv_release, .priority = JF_LIBRARY
JFL_CUDA(cudnn_conv, DNN_CONVS("conv1d conv2d conv3d conv2d_fused", dnn_conv_prepare))
JFL_CUDA(cudnn_conv_data_grad,
  DNN_CONVS("conv1d_data_grad conv2d_data_grad conv3d_data_grad", dnn_conv_data_prepare))
JFL_CUDA(cudnn_conv_filter_grad,
  DNN_CONVS("conv1d_filter_grad conv2d_filter_grad conv3d_filter_grad", dnn_conv_filter_prepare))
