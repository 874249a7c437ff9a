/* Normalizations of C hosts. */
#include "api/api.h"
#include "api/layer.h"

#include <stdio.h>

typedef struct norm_options {
  double axis, momentum, epsilon;
  int center, scale, training;
  jfl_shape shape;             /* of gamma and beta */
} norm_options;

/* An axis counted from 0, of a number that may count from the end. */
static jfl_status norm_axis(const jf_layer *l, const char *name, double given, int *out)
{
  const int n = jfl_value_shape(l->x)->n;
  if (!(given >= -n && given < n) || given != (double)(int)given)
    return jf_fail_argument(JFL_EINVAL, name, "must be from %d to %d, got %g", -n, n - 1, given);
  *out = (int)given + (given < 0 ? n : 0);
  return JFL_OK;
}

/* A variable, filled with zeros or ones unless its option says otherwise. */
static jfl_status norm_variable(jf_layer *l, const jfl_shape *shape, const char *part,
                                const char *fill, int fixed, jfl_value **out)
{
  char suffix[32], option[48], regularizer[48];
  snprintf(suffix, sizeof suffix, "-%s", part);
  snprintf(option, sizeof option, "%s_initializer", part);
  snprintf(regularizer, sizeof regularizer, "%s_regularizer", part);
  const jf_layer_variable v = { .suffix = suffix, .option = option, .fill = fill,
                                .regularizer = fixed ? NULL : regularizer, .shape = *shape,
                                .dtype = jfl_value_dtype(l->x), .fixed = fixed };
  return jf_layer_make(l, &v, out);
}

/* Gamma and beta, NULL where the layer does without. */
static jfl_status norm_parts(jf_layer *l, const norm_options *o, jfl_value **gamma,
                             jfl_value **beta)
{
  *gamma = *beta = NULL;
  if (o->scale) JF_TRY(norm_variable(l, &o->shape, "gamma", "ones", 0, gamma));
  return o->center ? norm_variable(l, &o->shape, "beta", "zeros", 0, beta) : JFL_OK;
}

static jfl_status norm_op(jf_layer *l, const char *op, jfl_value *a, jfl_value *b, const char *name,
                          jfl_value **out)
{
  jfl_value *const in[] = { a, b };
  const jf_application p = { .op = op, .in = in, .n_in = b ? 2 : 1, .name = name };
  return jf_apply(l->g, &p, out);
}

/* ---- batches ---- */

/* A line of one number for each channel. */
static jfl_status norm_constant(jf_layer *l, double v, const jfl_shape *shape, jfl_value **out)
{
  const double extent = (double)shape->d[0];
  const jf_application a = {
    .op = "constant", .n_arg = 3,
    .arg = { jf_number_arg("value", v), jf_list_arg("shape", &extent, 1),
             { .name = "dtype", .kind = JFL_ARG_STRING,
               .string = jfl_dtype_name(jfl_value_dtype(l->x)) } },
  };
  return *out ? JFL_OK : jf_apply(l->g, &a, out);
}

static jfl_status norm_move(jf_layer *l, jfl_value *moving, jfl_value *of_batch, double momentum)
{
  jfl_value *unused, *const in[] = { moving, of_batch };
  const jf_application a = { .op = "moving_average", .in = in, .n_in = 2, .n_arg = 1,
                             .arg = { jf_number_arg("momentum", momentum) } };
  return jf_apply(l->g, &a, &unused);
}

/* By the statistics of the batch, which move those that are kept. */
static jfl_status norm_train(jf_layer *l, const norm_options *o, int axis, jfl_value *const *kept,
                             jfl_value *gamma, jfl_value *beta, jfl_value **out)
{
  JF_TRY(norm_constant(l, 1, &o->shape, &gamma));
  JF_TRY(norm_constant(l, 0, &o->shape, &beta));
  jfl_value *const in[] = { l->x, gamma, beta };
  const jf_application a = { .op = "batch_norm", .in = in, .n_in = 3, .n_arg = 2,
                             .arg = { jf_number_arg("axis", axis),
                                      jf_number_arg("epsilon", o->epsilon) },
                             .name = jf_layer_op(l, "") };
  JF_TRY(jf_apply(l->g, &a, out));
  for (int i = 0; i < 2; i++)
    JF_TRY(norm_move(l, kept[i], jfl_value_output(*out, i + 1), o->momentum));
  return JFL_OK;
}

static jfl_status norm_spread(jf_layer *l, int axis, jfl_value **line)
{
  double extents[JFL_MAXDIM];
  const jfl_shape *x = jfl_value_shape(l->x);
  for (int i = 0; i < x->n; i++) extents[i] = i == axis ? (double)x->d[i] : 1;
  const jf_application a = { .op = "reshape", .in = line, .n_in = 1, .n_arg = 1,
                             .arg = { jf_list_arg("shape", extents, x->n) } };
  return jf_apply(l->g, &a, line);
}

/* y = x f + o with f = gamma / sqrt(variance + epsilon) and o = beta - mean f. */
static jfl_status norm_predict(jf_layer *l, const norm_options *o, int axis, jfl_value *const *kept,
                               jfl_value *gamma, jfl_value *beta, jfl_value **out)
{
  jfl_value *f = NULL, *shift, *y;
  JF_TRY(norm_constant(l, o->epsilon, &o->shape, &f));
  JF_TRY(norm_op(l, "add", kept[1], f, NULL, &f));
  JF_TRY(norm_op(l, "rsqrt", f, NULL, NULL, &f));
  if (gamma) JF_TRY(norm_op(l, "multiply", gamma, f, NULL, &f));
  JF_TRY(norm_op(l, "multiply", kept[0], f, NULL, &shift));
  JF_TRY(norm_op(l, "negative", shift, NULL, NULL, &shift));
  if (beta) JF_TRY(norm_op(l, "add", beta, shift, NULL, &shift));
  JF_TRY(norm_spread(l, axis, &f));
  JF_TRY(norm_spread(l, axis, &shift));
  JF_TRY(norm_op(l, "multiply", l->x, f, NULL, &y));
  return norm_op(l, "add", y, shift, jf_layer_op(l, ""), out);
}

jfl_status jf_layer_batch_norm(jf_layer *l, jfl_value **out)
{
  norm_options o = { .axis = -1, .momentum = 0.99, .epsilon = 0.001, .center = 1, .scale = 1,
                     .training = 1 };
  const jfl_shape *x = jfl_value_shape(l->x);
  jfl_value *gamma, *beta, *kept[2];
  int axis;
  if (x->n < 2)
    return jf_fail_argument(JFL_ESHAPE, "x", "must have two or more axes, got %d", x->n);
  JF_TRY(jf_words_number(&l->w, "axis", &o.axis));
  JF_TRY(jf_words_number(&l->w, "momentum", &o.momentum));
  JF_TRY(jf_words_number(&l->w, "epsilon", &o.epsilon));
  JF_TRY(jf_words_flag(&l->w, "center", &o.center));
  JF_TRY(jf_words_flag(&l->w, "scale", &o.scale));
  JF_TRY(jf_words_flag(&l->w, "training", &o.training));
  JF_TRY(norm_axis(l, "axis", o.axis, &axis));
  o.shape = (jfl_shape){ 1, { x->d[axis] } };
  JF_TRY(norm_parts(l, &o, &gamma, &beta));
  JF_TRY(norm_variable(l, &o.shape, "moving_mean", "zeros", 1, &kept[0]));
  JF_TRY(norm_variable(l, &o.shape, "moving_variance", "ones", 1, &kept[1]));
  JF_TRY(jf_words_end(&l->w));
  return l->g->mode == JFL_TRAIN && o.training && l->trainable
           ? norm_train(l, &o, axis, kept, gamma, beta, out)
           : norm_predict(l, &o, axis, kept, gamma, beta, out);
}

/* ---- rows ---- */

jfl_status jf_layer_norm(jf_layer *l, jfl_value **out)
{
  norm_options o = { .axis = 1, .epsilon = 1e-5, .center = 1, .scale = 1 };
  double first = -1;
  jfl_value *in[3] = { l->x };
  int axis, params, n = 1;
  const jfl_shape *x = jfl_value_shape(l->x);
  JF_TRY(jf_words_number(&l->w, "begin_norm_axis", &o.axis));
  JF_TRY(jf_words_number(&l->w, "begin_params_axis", &first));
  JF_TRY(jf_words_number(&l->w, "epsilon", &o.epsilon));
  JF_TRY(jf_words_flag(&l->w, "center", &o.center));
  JF_TRY(jf_words_flag(&l->w, "scale", &o.scale));
  JF_TRY(norm_axis(l, "begin_norm_axis", o.axis, &axis));
  JF_TRY(norm_axis(l, "begin_params_axis", first, &params));
  o.shape.n = x->n - params;
  for (int i = 0; i < o.shape.n; i++) o.shape.d[i] = x->d[params + i];
  jfl_value *gamma, *beta;
  JF_TRY(norm_parts(l, &o, &gamma, &beta));
  JF_TRY(jf_words_end(&l->w));
  if (gamma) in[n++] = gamma;
  if (beta) in[n++] = beta;
  const jf_application a = { .op = "row_norm", .in = in, .n_in = n, .n_arg = 4,
                             .arg = { jf_number_arg("axis", axis),
                                      jf_number_arg("epsilon", o.epsilon),
                                      jf_flag_arg("scale", gamma != NULL),
                                      jf_flag_arg("shift", beta != NULL) },
                             .name = jf_layer_op(l, "") };
  return jf_apply(l->g, &a, out);
}
