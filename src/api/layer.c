/* Layers of C hosts: what flow.layers makes, from the same names and with the same defaults. */
#include "api/api.h"
#include "api/layer.h"

#include <stdio.h>
#include <string.h>

static int layer_has(jf_layer *l, const char *suffix)
{
  return jfl_graph_find_variable(l->g, jf_layer_part(l, suffix)) != NULL;
}

/* The name, or the first of dense_1, dense_2 ... whose variables the graph does not have. */
static jfl_status layer_name(jf_layer *l, const char *first)
{
  const char *given = NULL;
  JF_TRY(jf_words_string(&l->w, "name", &given));
  l->is_named = given != NULL;
  if (given) JF_TRY(jfl_name_check("name", given));
  if (given) snprintf(l->name, sizeof l->name, "%s", given);
  int i = 0;
  do {
    if (!given) snprintf(l->name, sizeof l->name, "%s_%d", l->kind, ++i);
  } while (!given && layer_has(l, first));
  l->is_again = l->reuse && layer_has(l, first);
  return JFL_OK;
}

/* ---- what dense layers and convolutions share ---- */

static jfl_status layer_bias(jf_layer *l, int64_t units, const char *format, jfl_value **y)
{
  int use = 1;
  jfl_value *in[2] = { *y };
  JF_TRY(jf_words_flag(&l->w, "use_bias", &use));
  if (!use) return JFL_OK;
  const jf_layer_variable bias = { .suffix = "-bias", .option = "bias_initializer", .fill = "zeros",
                                   .regularizer = "bias_regularizer", .shape = { 1, { units } },
                                   .dtype = jfl_value_dtype(*y) };
  JF_TRY(jf_layer_make(l, &bias, &in[1]));
  jf_application a = { .op = "bias_add", .in = in, .n_in = 2, .name = jf_layer_op(l, "-bias_add") };
  if (format) a.arg[a.n_arg++] = (jfl_arg){ .name = "data_format", .kind = JFL_ARG_STRING,
                                            .string = format };
  return jf_apply(l->g, &a, y);
}

static jfl_status layer_activate(jf_layer *l, const char *activation, jfl_value **y)
{
  if (!activation) return JFL_OK;
  const jf_application a = { .op = activation, .in = y, .n_in = 1,
                             .name = jf_layer_op(l, "-activation") };
  const jfl_status code = jf_apply(l->g, &a, y);
  return code == JFL_ENAME && !strcmp(jfl_error_part(JFL_ERROR_ARGUMENT), "op")
           ? jf_fail_argument(JFL_ENAME, "activation", "must be the name of an op such as relu, "
                              "got '%.60s'", activation)
           : code;
}

/* ---- dense ---- */

static jfl_status layer_reshape(jf_layer *l, const double *extents, int n, const char *suffix,
                                jfl_value **y)
{
  const jf_application a = { .op = "reshape", .in = y, .n_in = 1, .n_arg = 1,
                             .arg = { jf_list_arg("shape", extents, n) },
                             .name = jf_layer_op(l, suffix) };
  return jf_apply(l->g, &a, y);
}

/* Axes before the last are put together, and taken apart again. */
static jfl_status layer_dense(jf_layer *l, jfl_value **out)
{
  const jfl_shape x = *jfl_value_shape(l->x);
  const char *activation = NULL;
  int64_t units = 0;
  if (x.n < 2)
    return jf_fail_argument(JFL_ESHAPE, "x", "must have two or more axes, got %d", x.n);
  JF_TRY(layer_name(l, "-weight"));
  JF_TRY(jf_words_whole(&l->w, "units", 1, &units));
  JF_TRY(jf_words_string(&l->w, "activation", &activation));
  const double flat[] = { -1, (double)x.d[x.n - 1] };
  jfl_value *in[2] = { l->x };
  if (x.n > 2) JF_TRY(layer_reshape(l, flat, 2, "-reshape", &in[0]));
  const jf_layer_variable weight = { .suffix = "-weight", .option = "kernel_initializer",
                                     .fill = "glorot_uniform", .regularizer = "kernel_regularizer",
                                     .shape = { 2, { units, x.d[x.n - 1] } },
                                     .dtype = jfl_value_dtype(l->x) };
  JF_TRY(jf_layer_make(l, &weight, &in[1]));
  jf_application a = { .op = "matmul", .in = in, .n_in = 2, .n_arg = 1,
                       .arg = { jf_flag_arg("transpose_b", 1) },
                       .name = jf_layer_op(l, "-matmul") };
  JF_TRY(jf_apply(l->g, &a, out));
  JF_TRY(layer_bias(l, units, NULL, out));
  JF_TRY(jf_words_end(&l->w));
  JF_TRY(layer_activate(l, activation, out));
  double back[JFL_MAXDIM];
  for (int i = 0; i < x.n; i++) back[i] = (double)x.d[i];
  back[x.n - 1] = (double)units;
  return x.n > 2 ? layer_reshape(l, back, x.n, "-reshape_back", out) : JFL_OK;
}

/* ---- convolutions ---- */

/* The extents of a kernel: a number, or one for each axis. */
static jfl_status layer_kernel(jf_layer *l, int n, int64_t *out)
{
  jfl_arg a = { .kind = JFL_ARG_NUMBER };
  const double one = 1;
  if (!jf_words_take(&l->w, "kernel_size", &a)) a.list = &one, a.n_list = 1;
  int right = (a.kind == JFL_ARG_NUMBER || a.kind == JFL_ARG_LIST) &&
              (a.n_list == 1 || a.n_list == n);
  for (int i = 0; right && i < n; i++) {
    const double v = a.list[a.n_list > 1 ? i : 0];
    right = v >= 1 && jf_holds(JFL_I64, v) && v < 1e9;
    out[i] = right ? (int64_t)v : 1;
  }
  return right ? JFL_OK
               : jf_fail_argument(JFL_EINVAL, "kernel_size", "must be a whole number of at least 1,"
                                  " or %d of them, got '%.60s'", n, a.string);
}

/* Takes out of the options those that the op takes; the front end calls its dilations otherwise. */
static void layer_split(jf_layer *l, const jfl_op *op, jf_words *own)
{
  jfl_param param;
  jfl_op_info info;
  own->n = 0;
  if (jfl_op_describe(op, &info)) return;
  for (int i = 0; i < info.n_param; i++) {
    if (jfl_op_param(op, i, &param)) continue;
    const char *name = strcmp(param.name, "dilations") ? param.name : "dilation_rate";
    if (!jf_words_take(&l->w, name, &own->arg[own->n])) continue;
    own->arg[own->n++].name = param.name;
  }
}

static const jfl_arg *layer_find(const jf_words *w, const char *name)
{
  for (int i = 0; i < w->n; i++)
    if (!strcmp(w->arg[i].name, name)) return &w->arg[i];
  return NULL;
}

/* The extents of the weight: (filters, channels / groups, ...) or, with channels last, (filters,
   ..., channels / groups). */
static jfl_status layer_filters(jf_layer *l, int n, const jf_words *own, int is_last,
                                int64_t filters, jfl_shape *out)
{
  int64_t kernel[3];
  const jfl_arg *given = layer_find(own, "groups");
  const jfl_shape *x = jfl_value_shape(l->x);
  if (x->n != n + 2)
    return jf_fail_argument(JFL_ESHAPE, "x", "must have %d axes, got %d", n + 2, x->n);
  const int64_t channels = x->d[is_last ? n + 1 : 1];
  const int64_t groups = !given ? 1 : given->number >= 1 && given->number < 1e9
                                      ? (int64_t)given->number : 0;
  JF_TRY(layer_kernel(l, n, kernel));
  if (groups < 1 || channels % groups || filters % groups)
    return jf_fail_argument(JFL_EINVAL, "groups", "must divide %lld filters and %lld channels, got "
                            "%lld", (long long)filters, (long long)channels, (long long)groups);
  *out = (jfl_shape){ .n = n + 2, .d = { filters } };
  for (int i = 0; i < n; i++) out->d[i + (is_last ? 1 : 2)] = kernel[i];
  out->d[is_last ? n + 1 : 1] = channels / groups;
  return JFL_OK;
}

static jfl_status layer_conv(jf_layer *l, jfl_value **out)
{
  const char *activation = NULL;
  int64_t filters = 0;
  jf_words own = { .what = l->kind };
  JF_TRY(layer_name(l, "-weight"));
  JF_TRY(jf_words_whole(&l->w, "filters", 1, &filters));
  JF_TRY(jf_words_string(&l->w, "activation", &activation));
  layer_split(l, jfl_op_find(l->kind), &own);
  const jfl_arg *given = layer_find(&own, "data_format");
  const char *format = given ? given->string : NULL;
  const int is_last = format && format[strlen(format) - 1] == 'C';
  jf_layer_variable weight = { .suffix = "-weight", .option = "kernel_initializer",
                               .fill = "glorot_uniform", .regularizer = "kernel_regularizer",
                               .dtype = jfl_value_dtype(l->x), .is_last = is_last };
  jfl_value *in[2] = { l->x };
  JF_TRY(layer_filters(l, l->kind[4] - '0', &own, is_last, filters, &weight.shape));
  JF_TRY(jf_layer_make(l, &weight, &in[1]));
  const jf_application a = { .op = l->kind, .in = in, .n_in = 2, .w = &own,
                             .name = l->is_named ? jf_layer_op(l, "") : NULL };
  JF_TRY(jf_apply(l->g, &a, out));
  JF_TRY(layer_bias(l, filters, is_last ? format : NULL, out));
  JF_TRY(jf_words_end(&l->w));
  return layer_activate(l, activation, out);
}

/* ---- embeddings ---- */

static jfl_status layer_embedding(jf_layer *l, jfl_value **out)
{
  int64_t vocabulary = 0, units = 0;
  jfl_value *in[2] = { NULL, l->x };
  JF_TRY(layer_name(l, "-weight"));
  JF_TRY(jf_words_whole(&l->w, "vocabulary", 1, &vocabulary));
  JF_TRY(jf_words_whole(&l->w, "units", 1, &units));
  const jf_layer_variable weight = { .suffix = "-weight", .option = "embeddings_initializer",
                                     .fill = "random_uniform(-0.05,0.05)",
                                     .regularizer = "embeddings_regularizer",
                                     .shape = { 2, { vocabulary, units } } };
  JF_TRY(jf_layer_make(l, &weight, &in[0]));
  JF_TRY(jf_words_end(&l->w));
  const jf_application a = { .op = "gather", .in = in, .n_in = 2,
                             .name = jf_layer_op(l, "-gather") };
  return jf_apply(l->g, &a, out);
}

/* ---- all ---- */

static jfl_status layer_batch_norm(jf_layer *l, jfl_value **out)
{
  JF_TRY(layer_name(l, "-moving_mean"));
  return jf_layer_batch_norm(l, out);
}

static jfl_status layer_norm(jf_layer *l, jfl_value **out)
{
  const jfl_arg *scale = layer_find(&l->w, "scale");
  const int has_gamma = !scale || scale->kind != JFL_ARG_BOOL || scale->number != 0;
  JF_TRY(layer_name(l, has_gamma ? "-gamma" : "-beta"));
  return jf_layer_norm(l, out);
}

/* count: what layers without a name are called. */
static const struct layer_row {
  const char *kind, *count;
  jfl_status (*make)(jf_layer *l, jfl_value **out);
} kinds[] = {
  { "dense", "dense", layer_dense },
  { "conv1d", "conv1d", layer_conv },
  { "conv2d", "conv2d", layer_conv },
  { "conv3d", "conv3d", layer_conv },
  { "batch_normalization", "batch_norm", layer_batch_norm },
  { "layer_norm", "layer_norm", layer_norm },
  { "embedding", "embedding", layer_embedding },
};

static jfl_status layer_start(jf_layer *l, const char *kind, const char *options, jfl_value **out)
{
  const struct layer_row *row = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(kinds[i].kind, kind)) row = &kinds[i];
  if (!row)
    return jf_fail_argument(JFL_ENAME, "kind", "must be dense, conv1d, conv2d, conv3d, "
                            "batch_normalization, layer_norm or embedding, got '%.60s'", kind);
  l->kind = row->count;
  JF_TRY(jf_words_read(row->kind, options, &l->w));
  JF_TRY(jf_words_flag(&l->w, "trainable", &l->trainable));
  JF_TRY(jf_words_flag(&l->w, "reuse", &l->reuse));
  return row->make(l, out);
}

jfl_status jfl_layer(jfl_graph *g, const char *kind, jfl_value *x, const char *options,
                     jfl_value **out)
{
  JF_NEED(GRAPH, g);
  JF_NEED_POINTER(kind);
  JF_NEED(VALUE, x);
  JF_NEED_POINTER(out);
  jfl_value *y = NULL;
  jf_layer l = { .g = g, .x = x, .trainable = 1 };
  const jfl_status code = layer_start(&l, kind, options, &y);
  jf_words_free(&l.w);
  if (!code) *out = y;
  return code;
}
