/* Layers described in C: what they make is what the front end makes in Lua, name by name. */
#include "jfl.h"
#include "lua_test.h"
#include "scratch.h"

#include <math.h>
#include <string.h>

#define MUST(e) do { if (e) { fprintf(stderr, "%s\n", jfl_errmsg()); abort(); } } while (0)

static int says(const char *part) { return strstr(jfl_errmsg(), part) != NULL; }

/* ---- the same network in two languages ---- */

/* A job of one input: its shape and dtype, its body in Lua, and the same in C. */
typedef struct network {
  const char *shape, *dtype, *body;
  jfl_shape s;
  jfl_dtype t;
  jfl_mode mode;
  void (*build)(jfl_graph *g, jfl_value *x);
} network;

static jfl_value *layer(jfl_graph *g, const char *kind, jfl_value *x, const char *options)
{
  jfl_value *y = NULL;
  CHECK_MSG(!jfl_layer(g, kind, x, options, &y), "%s", jfl_errmsg());
  return y;
}

static jfl_value *apply(jfl_graph *g, const char *op, jfl_value *x, const char *options)
{
  jfl_value *y = NULL;
  CHECK_MSG(!jfl_apply(g, op, &x, 1, options, &y), "%s", jfl_errmsg());
  return y;
}

static void minimize(jfl_graph *g, jfl_value *y, const char *optimizer, const char *options)
{
  CHECK_MSG(!jfl_train(g, y, optimizer, 0.1, options), "%s", jfl_errmsg());
  CHECK(!jfl_graph_output(g, y));
}

static void build_dense(jfl_graph *g, jfl_value *x)
{
  x = layer(g, "dense", x, "units=4 activation=relu");
  x = layer(g, "dense", x, "units=3 use_bias=false name=hidden kernel_initializer=ones");
  x = layer(g, "dense", x, "units=2 bias_initializer=constant(0.5) kernel_regularizer=l2(0.01)");
  minimize(g, x, "SGD", NULL);
}

static void build_deep(jfl_graph *g, jfl_value *x)
{
  minimize(g, layer(g, "dense", x, "units=3 activation=tanh name=deep"), "Adam",
           "beta1=0.8 clip_norm=1");
}

static void build_conv(jfl_graph *g, jfl_value *x)
{
  x = layer(g, "conv2d", x, "filters=4 kernel_size=3 padding=SAME activation=relu name=conv1");
  x = apply(g, "nn.max_pool2d", x, "ksize=2 strides=2");
  x = layer(g, "conv2d", x, "filters=8 kernel_size=3,1 strides=2 groups=2 use_bias=false");
  x = layer(g, "conv2d", x, "filters=2 dilation_rate=1 kernel_initializer=truncated_normal(0.1)");
  minimize(g, x, "SGD", "momentum=0");
}

static void build_last(jfl_graph *g, jfl_value *x)
{
  CHECK(!jfl_graph_output(g, layer(g, "conv2d", x,
                                   "filters=4 kernel_size=3 data_format=NHWC name=conv1")));
}

static void build_norm(jfl_graph *g, jfl_value *x)
{
  x = layer(g, "batch_normalization", x, "axis=1 name=norm");
  x = layer(g, "batch_normalization", x, "scale=false momentum=0.9");
  x = layer(g, "layer_norm", x, "begin_norm_axis=-1");
  x = apply(g, "dropout", x, "rate=0.5");
  minimize(g, x, "SGD", NULL);
}

static void build_words(jfl_graph *g, jfl_value *x)
{
  x = layer(g, "embedding", x, "vocabulary=9 units=4 name=words");
  x = layer(g, "dense", x, "units=2");
  CHECK(!jfl_graph_output(g, apply(g, "nn.dropout", x, "rate=0.5")));
}

#define RETURN_LOSS(optimizer) "flow.optimizer." optimizer ":minimize(x)\n return x\n"
static const network networks[] = {
  { "{ 5, 3 }", "float32",
    "x = flow.layers.dense(x, 4, { activation = flow.nn.relu })\n"
    "x = flow.layers.dense(x, 3, { use_bias = false, name = 'hidden',\n"
    "  kernel_initializer = flow.ones_initializer() })\n"
    "x = flow.layers.dense(x, 2, { bias_initializer = flow.constant_initializer(0.5),\n"
    "  kernel_regularizer = flow.regularizers.l2(0.01) })\n" RETURN_LOSS("SGD(0.1)"),
    { 2, { 5, 3 } }, JFL_F32, JFL_TRAIN, build_dense },
  { "{ 2, 3, 4 }", "float64",
    "x = flow.layers.dense(x, 3, { activation = flow.math.tanh, name = 'deep' })\n"
    RETURN_LOSS("Adam(0.1, { beta1 = 0.8, grad_clipping ="
                " flow.optimizer.grad_clipping.by_global_norm(1) })"),
    { 3, { 2, 3, 4 } }, JFL_F64, JFL_TRAIN, build_deep },
  { "{ 2, 2, 8, 8 }", "float32",
    "x = flow.layers.conv2d(x, 4, 3, { padding = 'SAME', activation = flow.nn.relu,\n"
    "  name = 'conv1' })\n"
    "x = flow.nn.max_pool2d(x, { ksize = 2, strides = 2 })\n"
    "x = flow.layers.conv2d(x, 8, { 3, 1 }, { strides = 2, groups = 2, use_bias = false })\n"
    "x = flow.layers.conv2d(x, 2, { dilation_rate = 1,\n"
    "  kernel_initializer = flow.truncated_normal(0.1) })\n"
    RETURN_LOSS("SGD(0.1, { momentum = 0 })"),
    { 4, { 2, 2, 8, 8 } }, JFL_F32, JFL_TRAIN, build_conv },
  { "{ 2, 8, 8, 3 }", "float32",
    "return flow.layers.conv2d(x, 4, 3, { data_format = 'NHWC', name = 'conv1' })\n",
    { 4, { 2, 8, 8, 3 } }, JFL_F32, JFL_PREDICT, build_last },
  { "{ 4, 3, 5 }", "float32",
    "x = flow.layers.batch_normalization(x, { axis = 1, name = 'norm' })\n"
    "x = flow.layers.batch_normalization(x, { scale = false, momentum = 0.9 })\n"
    "x = flow.layers.layer_norm(x, { begin_norm_axis = -1 })\n"
    "x = flow.nn.dropout(x, 0.5)\n" RETURN_LOSS("SGD(0.1)"),
    { 3, { 4, 3, 5 } }, JFL_F32, JFL_TRAIN, build_norm },
  { "{ 2, 3 }", "int32",
    "x = flow.layers.embedding(x, 9, 4, { name = 'words' })\n"
    "return flow.nn.dropout(flow.layers.dense(x, 2), 0.5)\n",
    { 2, { 2, 3 } }, JFL_I32, JFL_PREDICT, build_words },
};

/* The job in Lua, and its graph as a text. */
static jfl_script *in_lua(const network *n, char **graph)
{
  char text[4096];
  jfl_script *s;
  jfl_script_value v;
  snprintf(text, sizeof text,
           "local flow = require 'jfl'\n"
           "local job = flow.global_function { name = 'job', type = '%s',\n"
           "  inputs = { { 'x', flow.typing.Numpy.Placeholder(%s, flow.%s) } },\n"
           "  returns = flow.typing.Numpy, body = function(x) %s end }\n"
           "function graph() return job:graph() end\n",
           n->mode == JFL_TRAIN ? "train" : "predict", n->shape, n->dtype, n->body);
  MUST(jfl_script_new(NULL, &s));
  MUST(jfl_script_run(s, text, strlen(text), "=job"));
  MUST(jfl_script_invoke(s, "graph", NULL, 0, &v, 1));
  *graph = strdup(v.text);
  jfl_script_value_clear(&v);
  return s;
}

/* The same in C. */
static jfl_session *in_c(const network *n, jfl_plan **plan, char **graph)
{
  jfl_session *s;
  jfl_graph *g;
  jfl_value *x;
  MUST(jfl_session_new(&s));
  MUST(jfl_graph_new("job", n->mode, &g));
  MUST(jfl_graph_input(g, "x", n->t, &n->s, &x));
  n->build(g, x);
  jfl_graph_ref(g);
  MUST(jfl_session_define(s, g, plan));
  MUST(jfl_graph_traced_text(g, graph));
  jfl_graph_unref(g);
  return s;
}

static void describes_what_lua_does(void)
{
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    char *lua, *c;
    jfl_plan *plan;
    jfl_script *script = in_lua(&networks[i], &lua);
    jfl_session *s = in_c(&networks[i], &plan, &c);
    CHECK_MSG(!strcmp(lua, c), "%zu:\n%s\nbut:\n%s", i, c, lua);
    free(lua);
    jfl_text_free(c);
    jfl_script_free(script);
    jfl_session_free(s);
  }
}

/* Both run the same numbers on the same weights, which go from one to the other by a file. */
static void loads_what_lua_has_trained(void)
{
  char path[4200];
  scratch_make();
  for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
    const network *n = &networks[i];
    char *lua, *c;
    jfl_plan *plan;
    jfl_script_job *job;
    jfl_report *report;
    jfl_array *x, *a, *b;
    jfl_script *script = in_lua(n, &lua);
    jfl_session *s = in_c(n, &plan, &c);
    snprintf(path, sizeof path, "%s/%zu", scratch, i);
    MUST(jfl_array_new(n->t, &n->s, &x));
    for (int64_t k = 0; k < jfl_array_size(x); k++)
      jfl_number_put(n->t, jfl_array_data(x), k, (double)(k % 7));
    MUST(jfl_script_job_find(script, "job", &job));
    MUST(jfl_script_call(job, &x, 1, &a, 1));
    jfl_array_unref(a);
    MUST(jfl_script_save(script, path, 0));
    CHECK_MSG(!jfl_checkpoint_load(s, path, 1, &report), "%zu: %s", i, jfl_errmsg());
    jfl_report_free(report);
    MUST(jfl_script_call(job, &x, 1, &a, 1));
    CHECK_MSG(!jfl_run(plan, &x, &b), "%zu: %s", i, jfl_errmsg());
    const size_t bytes = (size_t)jfl_array_size(a) * jfl_dtype_size(jfl_array_dtype(a));
    CHECK_MSG(!memcmp(jfl_array_data(a), jfl_array_data(b), bytes), "%zu", i);
    jfl_array_unref(a);
    jfl_array_unref(b);
    jfl_array_unref(x);
    free(lua);
    jfl_text_free(c);
    jfl_script_free(script);
    jfl_session_free(s);
  }
}

/* ---- predictions of a normalization, which has other ops in Lua ---- */

static void normalizes_by_what_is_kept(void)
{
  const jfl_shape shape = { 2, { 2, 2 } }, two = { 1, { 2 } };
  jfl_session *s;
  jfl_graph *g;
  jfl_plan *plan;
  jfl_value *x;
  jfl_array *in, *v, *y;
  MUST(jfl_session_new(&s));
  MUST(jfl_graph_new("predict", JFL_PREDICT, &g));
  MUST(jfl_graph_input(g, "x", JFL_F64, &shape, &x));
  MUST(jfl_graph_output(g, layer(g, "batch_normalization", x, "name=norm epsilon=1")));
  MUST(jfl_session_define(s, g, &plan));
  MUST(jfl_array_new(JFL_F64, &two, &v));
  MUST(jfl_array_new(JFL_F64, &shape, &in));
  double *p = jfl_array_data(v), *q = jfl_array_data(in);
  static const struct { const char *name; double v[2]; } parts[] = {
    { "norm-gamma", { 2, 3 } }, { "norm-beta", { 1, -1 } }, { "norm-moving_mean", { 4, 5 } },
    { "norm-moving_variance", { 3, 8 } },
  };
  for (int i = 0; i < 4; i++) {
    memcpy(p, parts[i].v, sizeof parts[i].v);
    MUST(jfl_variable_set(s, parts[i].name, v));
    q[i] = i;
  }
  MUST(jfl_run(plan, &in, &y));
  const double *r = jfl_array_data(y);
  for (int i = 0; i < 4; i++) {
    const int c = i % 2;
    const double want = parts[0].v[c] * (q[i] - parts[2].v[c]) / sqrt(parts[3].v[c] + 1)
                        + parts[1].v[c];
    CHECK_MSG(fabs(r[i] - want) < 1e-12, "%d: %g, not %g", i, r[i], want);
  }
  jfl_array_unref(in);
  jfl_array_unref(v);
  jfl_array_unref(y);
  jfl_session_free(s);
}

static void numbers_and_shares_norms_without_gamma(void)
{
  const jfl_shape shape = { 2, { 2, 3 } };
  jfl_graph *g;
  jfl_value *x;
  MUST(jfl_graph_new("norms", JFL_TRAIN, &g));
  MUST(jfl_graph_input(g, "x", JFL_F32, &shape, &x));
  for (int i = 0; i < 2; i++) {
    layer(g, "layer_norm", x, "scale=false");
    layer(g, "layer_norm", x, "scale=false name=own reuse=true");
  }
  CHECK(jfl_graph_find_variable(g, "layer_norm_2-beta") != NULL);
  CHECK(!jfl_graph_find_variable(g, "layer_norm_3-beta"));
  jfl_graph_unref(g);
}

/* ---- what is wrong ---- */

/* A job that cannot be compiled is not made, so its name can be used. */
static void defines_a_job_after_one_failed(void)
{
  const jfl_shape shape = { 2, { 2, 3 } };
  jfl_session *s;
  jfl_plan *plan;
  MUST(jfl_session_new(&s));
  for (int has_loss = 0; has_loss < 2; has_loss++) {
    jfl_graph *g;
    jfl_value *x;
    MUST(jfl_graph_new("train", JFL_TRAIN, &g));
    MUST(jfl_graph_input(g, "x", JFL_F32, &shape, &x));
    x = layer(g, "dense", x, "units=2");
    if (has_loss) minimize(g, x, "SGD", NULL);
    const jfl_status code = jfl_session_define(s, g, &plan);
    if (has_loss) CHECK_MSG(!code, "%s", jfl_errmsg());
    else CHECK_MSG(code == JFL_EINVAL && says("loss"), "%s", jfl_errmsg());
  }
  jfl_session_free(s);
}

static void names_what_is_wrong(void)
{
  static const struct { const char *kind, *options, *says; } wrong[] = {
    { "danse", NULL, "dense" }, { "dense", NULL, "units must be given" },
    { "dense", "units", "name=value" }, { "dense", "units=0", "units must be" },
    { "dense", "units=2.5", "2.5" }, { "dense", "units=four", "'four'" },
    { "dense", "units=2 unts=3", "'unts'" }, { "dense", "units=2 units=3", "twice" },
    { "dense", "units=2 activation=rellu", "activation must be" },
    { "dense", "units=2 use_bias=1", "use_bias must be true or false" },
    { "dense", "units=2 kernel_initializer=glorot", "kernel_initializer must be" },
    { "dense", "units=2 kernel_initializer=constant(1,2)", "kernel_initializer must be" },
    { "dense", "units=2 kernel_regularizer=l3(1)", "kernel_regularizer must be" },
    { "dense", "units=2 kernel_regularizer=l2()", "kernel_regularizer must be" },
    { "dense", "units=2 name=first", "exists in this job" },
    { "conv2d", "filters=2", "axes" }, { "layer_norm", "begin_norm_axis=2", "begin_norm_axis" },
    { "batch_normalization", "axis=0.5", "axis must be" }, { "embedding", "vocabulary=3", "units" },
  };
  const jfl_shape shape = { 2, { 2, 3 } };
  jfl_graph *g;
  jfl_value *x, *y;
  MUST(jfl_graph_new("wrong", JFL_TRAIN, &g));
  MUST(jfl_graph_input(g, "x", JFL_F32, &shape, &x));
  layer(g, "dense", x, "units=2 name=first");
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_MSG(jfl_layer(g, wrong[i].kind, x, wrong[i].options, &y), "%s", wrong[i].options);
    CHECK_MSG(says(wrong[i].says), "%s: %s", wrong[i].options, jfl_errmsg());
  }
  CHECK(!jfl_layer(g, "dense", x, "units=2 name=first reuse=true", &y));
  CHECK(jfl_apply(g, "relu6x", &x, 1, NULL, &y) == JFL_ENAME && says("relu6x"));
  CHECK(jfl_apply(g, "softmax", &x, 1, "axes=1", &y) && says("axes"));
  CHECK(jfl_train(g, y, "Adaam", 0.1, NULL) && says("Adaam"));
  CHECK(jfl_train(g, y, "Adam", 0.1, "beta=1") && says("beta"));
  CHECK(jfl_parameter(g, "p", JFL_F32, &shape, "tiny", &y) && says("tiny"));
  CHECK(!jfl_parameter(g, "p", JFL_F32, &shape, "orthogonal(2)", &y));
  CHECK(!jfl_apply(g, "assign", (jfl_value *[]){ y, x }, 2, NULL, &y) && !y);
  jfl_graph_unref(g);
}

int main(void)
{
  RUN(describes_what_lua_does);
  RUN(loads_what_lua_has_trained);
  RUN(normalizes_by_what_is_kept);
  RUN(numbers_and_shares_norms_without_gamma);
  RUN(defines_a_job_after_one_failed);
  RUN(names_what_is_wrong);
  return test_done();
}
