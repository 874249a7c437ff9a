/* Train steps made through the public API, for tests of the run time: LeNet, a perceptron with one
   hidden layer, and one without. Also makes arrays to run them on. */
#ifndef MODELS_H
#define MODELS_H

#include "jfl.h"

#include <stdio.h>

/* A graph that is being described; after the first failure nothing is added. */
typedef struct model { jfl_graph *g; jfl_status err; } model;

static inline jfl_value *model_op(model *m, const char *op, jfl_value *a, jfl_value *b,
                                  const jfl_arg *arg, int n_arg)
{
  jfl_value *in[] = { a, b }, *all[8] = { NULL };
  if (!m->err)
    m->err = jfl_graph_op(m->g, jfl_op_find(op), in, b ? 2 : 1, arg, n_arg, NULL, all);
  return all[0];
}

static inline jfl_value *model_variable(model *m, const char *layer, const char *what, jfl_shape s)
{
  char name[64];
  jfl_value *v = NULL;
  snprintf(name, sizeof name, "%s-%s", layer, what);
  if (!m->err)
    m->err = jfl_graph_variable(m->g, &(jfl_variable_spec){
      .name = name, .shape = s, .init = JFL_INIT_NORMAL, .b = 0.1, .trainable = 1 }, &v);
  return v;
}

/* x (batch, in) -> (batch, units) */
static inline jfl_value *model_dense(model *m, const char *layer, jfl_value *x, int64_t in,
                                     int64_t units)
{
  const jfl_arg transpose = { .name = "transpose_b", .kind = JFL_ARG_BOOL, .number = 1 };
  jfl_value *w = model_variable(m, layer, "weight", (jfl_shape){ 2, { units, in } });
  jfl_value *b = model_variable(m, layer, "bias", (jfl_shape){ 1, { units } });
  return model_op(m, "bias_add", model_op(m, "matmul", x, w, &transpose, 1), b, NULL, 0);
}

/* A 5x5 convolution, relu, and 2x2 max pooling. */
static inline jfl_value *model_conv(model *m, const char *layer, jfl_value *x, int64_t in,
                                    int64_t out)
{
  const double two = 2;
  const jfl_arg same = { .name = "padding", .kind = JFL_ARG_STRING, .string = "SAME" };
  const jfl_arg pool[] = { { .name = "ksize", .kind = JFL_ARG_LIST, .list = &two, .n_list = 1 },
                           { .name = "strides", .kind = JFL_ARG_LIST, .list = &two, .n_list = 1 },
                           same };
  jfl_value *w = model_variable(m, layer, "weight", (jfl_shape){ 4, { out, in, 5, 5 } });
  jfl_value *b = model_variable(m, layer, "bias", (jfl_shape){ 1, { out } });
  jfl_value *y = model_op(m, "bias_add", model_op(m, "conv2d", x, w, &same, 1), b, NULL, 0);
  return model_op(m, "max_pool2d", model_op(m, "relu", y, NULL, NULL, 0), NULL, pool, 3);
}

static inline jfl_value *model_flat(model *m, jfl_value *x, int64_t batch)
{
  const double shape[] = { (double)batch, -1 };
  return model_op(m, "reshape", x, NULL,
                  &(jfl_arg){ .name = "shape", .kind = JFL_ARG_LIST, .list = shape, .n_list = 2 },
                  1);
}

/* Gives the class scores of images. */
typedef jfl_value *(*model_net)(model *m, jfl_value *images, int64_t batch);

static inline jfl_value *model_linear(model *m, jfl_value *x, int64_t batch)
{
  return model_dense(m, "linear", model_flat(m, x, batch), 784, 10);
}

static inline jfl_value *model_mlp(model *m, jfl_value *x, int64_t batch)
{
  jfl_value *h = model_dense(m, "hidden", model_flat(m, x, batch), 784, 512);
  return model_dense(m, "output", model_op(m, "relu", h, NULL, NULL, 0), 512, 10);
}

static inline jfl_value *model_lenet(model *m, jfl_value *x, int64_t batch)
{
  const jfl_arg half = { .name = "rate", .kind = JFL_ARG_NUMBER, .number = 0.5 };
  jfl_value *f = model_conv(m, "conv2", model_conv(m, "conv1", x, 1, 32), 32, 64);
  jfl_value *h = model_dense(m, "dense1", model_flat(m, f, batch), 3136, 512);
  h = model_op(m, "dropout", model_op(m, "relu", h, NULL, NULL, 0), NULL, &half, 1);
  return model_dense(m, "dense2", h, 512, 10);
}

static inline jfl_status model_body(model *m, model_net net, int64_t batch, double momentum)
{
  const double rate = 1e-3;
  const jfl_arg decay = { .name = "momentum", .kind = JFL_ARG_NUMBER, .number = momentum };
  const jfl_arg schedule[] = {
    { .name = "boundaries", .kind = JFL_ARG_LIST },
    { .name = "values", .kind = JFL_ARG_LIST, .list = &rate, .n_list = 1 },
  };
  jfl_value *images = NULL, *labels = NULL;
  const jfl_shape shape = { 4, { batch, 1, 28, 28 } };
  m->err = jfl_graph_input(m->g, "images", JFL_F32, &shape, &images);
  const jfl_shape one = { 1, { batch } };
  if (!m->err) m->err = jfl_graph_input(m->g, "labels", JFL_I32, &one, &labels);
  jfl_value *loss = model_op(m, "sparse_softmax_cross_entropy_with_logits", labels,
                             net(m, images, batch), NULL, 0);
  if (!m->err) m->err = jfl_graph_output(m->g, loss);
  if (m->err) return m->err;
  return jfl_graph_minimize(m->g, &(jfl_minimize){
    .loss = &loss, .n_loss = 1, .optimizer = "SGD", .arg = &decay, .n_arg = 1,
    .schedule = "piecewise_constant_schedule", .schedule_arg = schedule, .n_schedule_arg = 2 });
}

/* Makes the plan of a train step; its inputs are images and labels, its result is the loss. */
static inline jfl_status model_plan(jfl_session *s, const char *name, model_net net, int64_t batch,
                                    double momentum, jfl_plan **out)
{
  model m = { NULL, JFL_OK };
  jfl_job *j;
  jfl_status st = jfl_graph_new(name, JFL_TRAIN, &m.g);
  if (st) return st;
  st = model_body(&m, net, batch, momentum);
  if (!st) st = jfl_job_new(s, name, JFL_TRAIN, &j);
  if (!st) st = jfl_job_compile(j, m.g, out);
  jfl_graph_unref(m.g);
  return st;
}

/* Makes images and labels for a batch. */
static inline jfl_status model_inputs(int64_t batch, jfl_array *in[2])
{
  jfl_status s = jfl_array_new(JFL_F32, &(jfl_shape){ 4, { batch, 1, 28, 28 } }, &in[0]);
  if (s) return s;
  s = jfl_array_new(JFL_I32, &(jfl_shape){ 1, { batch } }, &in[1]);
  if (s) {
    jfl_array_unref(in[0]);
    return s;
  }
  float *x = jfl_array_data(in[0]);
  int32_t *label = jfl_array_data(in[1]);
  for (int64_t i = 0; i < jfl_array_size(in[0]); i++) x[i] = (float)(i * 7919 % 1009) / 1009;
  for (int64_t i = 0; i < batch; i++) label[i] = (int32_t)(i % 10);
  return JFL_OK;
}

static inline void model_drop(jfl_array *in[2])
{
  jfl_array_unref(in[0]);
  jfl_array_unref(in[1]);
}

#endif
