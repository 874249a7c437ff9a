/* Jobs described in C by ops and parameters: what they make is what the front end makes in Lua. */
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

/* A variable of a layer that Lua calls `name`. */
static jfl_value *parameter(jfl_graph *g, const char *name, jfl_dtype t, jfl_shape shape,
                            const char *initializer)
{
  jfl_value *v = NULL;
  CHECK_MSG(!jfl_parameter(g, name, t, &shape, initializer, &v), "%s", jfl_errmsg());
  return v;
}

static jfl_value *apply2(jfl_graph *g, const char *op, jfl_value *a, jfl_value *b,
                         const char *options)
{
  jfl_value *y = NULL;
  CHECK_MSG(!jfl_apply(g, op, (jfl_value *[]){ a, b }, 2, options, &y), "%s", jfl_errmsg());
  return y;
}

static void build_dense(jfl_graph *g, jfl_value *x)
{
  jfl_value *w = parameter(g, "hidden-weight", JFL_F32, (jfl_shape){ 2, { 4, 3 } },
                           "glorot_uniform");
  x = apply2(g, "matmul", x, w, "transpose_b=true name=hidden-matmul");
  jfl_value *b = parameter(g, "hidden-bias", JFL_F32, (jfl_shape){ 1, { 4 } }, "constant(0.5)");
  x = apply2(g, "bias_add", x, b, "name=hidden-bias_add");
  minimize(g, apply(g, "relu", x, "name=hidden-activation"), "SGD", NULL);
}

static void build_clipped(jfl_graph *g, jfl_value *x)
{
  jfl_value *w = parameter(g, "deep-weight", JFL_F64, (jfl_shape){ 2, { 3, 4 } },
                           "truncated_normal(0.1)");
  x = apply2(g, "matmul", x, w, "transpose_b=true name=deep-matmul");
  minimize(g, apply(g, "math.tanh", x, "name=deep-activation"), "Adam", "beta1=0.8 clip_norm=1");
}

static void build_conv(jfl_graph *g, jfl_value *x)
{
  jfl_value *w = parameter(g, "conv1-weight", JFL_F32, (jfl_shape){ 4, { 4, 2, 3, 3 } }, "kaiming");
  x = apply2(g, "conv2d", x, w, "padding=SAME strides=1,2 name=conv1");
  x = apply(g, "nn.max_pool2d", x, "ksize=2 strides=2");
  minimize(g, apply(g, "dropout", x, "rate=0.5"), "SGD", "momentum=0");
}

static void build_words(jfl_graph *g, jfl_value *x)
{
  jfl_value *w = parameter(g, "words-weight", JFL_F32, (jfl_shape){ 2, { 9, 4 } },
                           "random_uniform(-0.05,0.05)");
  x = apply2(g, "gather", w, x, "name=words-gather");
  CHECK(!jfl_graph_output(g, apply(g, "nn.dropout", x, "rate=0.5")));
}

#define RETURN_LOSS(optimizer) "flow.optimizer." optimizer ":minimize(x)\n return x\n"
static const network networks[] = {
  { "{ 5, 3 }", "float32",
    "x = flow.layers.dense(x, 4, { activation = flow.nn.relu, name = 'hidden',\n"
    "  bias_initializer = flow.constant_initializer(0.5) })\n" RETURN_LOSS("SGD(0.1)"),
    { 2, { 5, 3 } }, JFL_F32, JFL_TRAIN, build_dense },
  { "{ 2, 4 }", "float64",
    "x = flow.layers.dense(x, 3, { activation = flow.math.tanh, name = 'deep', use_bias = false,\n"
    "  kernel_initializer = flow.truncated_normal(0.1) })\n"
    RETURN_LOSS("Adam(0.1, { beta1 = 0.8, grad_clipping ="
                " flow.optimizer.grad_clipping.by_global_norm(1) })"),
    { 2, { 2, 4 } }, JFL_F64, JFL_TRAIN, build_clipped },
  { "{ 2, 2, 8, 8 }", "float32",
    "x = flow.layers.conv2d(x, 4, 3, { padding = 'SAME', strides = { 1, 2 }, use_bias = false,\n"
    "  kernel_initializer = flow.kaiming_initializer { 4, 2, 3, 3 }, name = 'conv1' })\n"
    "x = flow.nn.max_pool2d(x, { ksize = 2, strides = 2 })\n"
    "x = flow.nn.dropout(x, 0.5)\n" RETURN_LOSS("SGD(0.1, { momentum = 0 })"),
    { 4, { 2, 2, 8, 8 } }, JFL_F32, JFL_TRAIN, build_conv },
  { "{ 2, 3 }", "int32",
    "return flow.nn.dropout(flow.layers.embedding(x, 9, 4, { name = 'words' }), 0.5)\n",
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

/* ---- initializers ---- */

/* What each text says: a kind, and two numbers of it, where the inputs of a unit are `in` and its
   outputs `out`. */
static void parameters_begin_as_texts_say(void)
{
  static const struct { jfl_shape shape; double in, out; } shapes[] = {
    { { 0 }, 1, 1 }, { { 1, { 6 } }, 6, 6 }, { { 2, { 4, 6 } }, 6, 4 },
    { { 3, { 4, 6, 5 } }, 30, 20 }, { { 4, { 4, 6, 5, 3 } }, 90, 60 }, { { 2, { 4, 0 } }, 0, 4 },
    { { 5, { 4, 6, 5, 3, 2 } }, 180, 120 },
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    const double cut = 0.87962566103423978;      /* the deviation of what is cut off at 2 */
    const double in = shapes[i].in, mean = fmax(1, (in + shapes[i].out) / 2);
    const struct { const char *text; int init; double a, b; } rows[] = {
      { "zeros", JFL_INIT_CONSTANT, 0, 0 }, { "ones", JFL_INIT_CONSTANT, 1, 0 },
      { "constant", JFL_INIT_CONSTANT, 0, 0 }, { "constant(-3)", JFL_INIT_CONSTANT, -3, 0 },
      { "random_uniform", JFL_INIT_UNIFORM, 0, 1 },
      { "random_uniform(2,3)", JFL_INIT_UNIFORM, 2, 3 },
      { "random_uniform(-1)", JFL_INIT_UNIFORM, -1, 1 },
      { "random_normal", JFL_INIT_NORMAL, 0, 1 },
      { "random_normal(2,0.5)", JFL_INIT_NORMAL, 2, 0.5 },
      { "truncated_normal", JFL_INIT_TRUNCATED_NORMAL, 0, 1 },
      { "truncated_normal(0.1)", JFL_INIT_TRUNCATED_NORMAL, 0, 0.1 },
      { "glorot_uniform", JFL_INIT_UNIFORM, -sqrt(3 / mean), sqrt(3 / mean) },
      { "xavier_uniform", JFL_INIT_UNIFORM, -sqrt(3 / mean), sqrt(3 / mean) },
      { "glorot_normal", JFL_INIT_TRUNCATED_NORMAL, 0, sqrt(1 / mean) / cut },
      { "xavier_normal", JFL_INIT_TRUNCATED_NORMAL, 0, sqrt(1 / mean) / cut },
      { "kaiming", JFL_INIT_NORMAL, 0, sqrt(2 / fmax(1, in)) },
      { "orthogonal", JFL_INIT_ORTHOGONAL, 1, 0 }, { "orthogonal(2)", JFL_INIT_ORTHOGONAL, 2, 0 },
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
      jfl_graph *g;
      jfl_value *p;
      MUST(jfl_graph_new("begin", JFL_PREDICT, &g));
      const jfl_status e = jfl_parameter(g, "p", JFL_F32, &shapes[i].shape, rows[k].text, &p);
      if (rows[k].init == JFL_INIT_ORTHOGONAL && shapes[i].shape.n < 2) CHECK(e == JFL_ESHAPE);
      else {
        MUST(e);
        const jfl_variable_spec *spec = jfl_value_variable(p);
        CHECK_MSG((int)spec->init == rows[k].init && fabs(spec->a - rows[k].a) < 1e-12 &&
                  fabs(spec->b - rows[k].b) < 1e-12, "%s of %d axes: (%g, %g), not (%g, %g)",
                  rows[k].text, shapes[i].shape.n, spec->a, spec->b, rows[k].a, rows[k].b);
      }
      jfl_graph_unref(g);
    }
  }
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
    jfl_value *w = parameter(g, "w", JFL_F32, (jfl_shape){ 2, { 3, 2 } }, "ones");
    x = apply2(g, "matmul", x, w, NULL);
    if (has_loss) minimize(g, x, "SGD", NULL);
    const jfl_status code = jfl_session_define(s, g, &plan);
    if (has_loss) CHECK_MSG(!code, "%s", jfl_errmsg());
    else CHECK_MSG(code == JFL_EINVAL && says("loss"), "%s", jfl_errmsg());
  }
  jfl_session_free(s);
}

static void names_what_is_wrong(void)
{
  static const struct { const char *options, *says; } wrong[] = {
    { "axis", "name=value" }, { "axis=1 axis=1", "twice" }, { "axes=1", "axes" },
    { "axis=one", "axis" }, { "=1", "name=value" },
  };
  static const char *const unknown[] = { "glorot", "constant(1,2)", "constant(x)", "tiny",
    "constant(1", "random_uniform(1,2,3)", "random_normal(1,)", "constant(inf)", "zeros(1)",
    "ones()x" };
  const jfl_shape shape = { 2, { 2, 3 } };
  jfl_graph *g;
  jfl_value *x, *y;
  MUST(jfl_graph_new("wrong", JFL_TRAIN, &g));
  MUST(jfl_graph_input(g, "x", JFL_F32, &shape, &x));
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_MSG(jfl_apply(g, "softmax", &x, 1, wrong[i].options, &y), "%s", wrong[i].options);
    CHECK_MSG(says(wrong[i].says), "%s: %s", wrong[i].options, jfl_errmsg());
  }
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
    CHECK_MSG(jfl_parameter(g, "p", JFL_F32, &shape, unknown[i], &y) && says(unknown[i]), "%s",
              jfl_errmsg());
  MUST(jfl_apply(g, "softmax", &x, 1, NULL, &y));
  CHECK(jfl_apply(g, "relu6x", &x, 1, NULL, &y) == JFL_ENAME && says("relu6x"));
  CHECK(jfl_train(g, y, "Adaam", 0.1, NULL) && says("Adaam"));
  CHECK(jfl_train(g, y, "Adam", 0.1, "beta=1") && says("beta"));
  CHECK(jfl_train(g, y, "Adam", 0.1, "clip_norm=x") && says("clip_norm"));
  CHECK(jfl_train(g, y, "Adam", 0.1, "accumulate=-1") && says("accumulate"));
  CHECK(!jfl_parameter(g, "p", JFL_F32, &shape, "orthogonal(2)", &y));
  CHECK(!jfl_apply(g, "assign", (jfl_value *[]){ y, x }, 2, NULL, &y) && !y);
  jfl_graph_unref(g);
}

int main(void)
{
  RUN(describes_what_lua_does);
  RUN(loads_what_lua_has_trained);
  RUN(parameters_begin_as_texts_say);
  RUN(defines_a_job_after_one_failed);
  RUN(names_what_is_wrong);
  return test_done();
}
