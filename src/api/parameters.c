/* The variables of layers, and the names of what a layer consists of. */
#include "api/layer.h"
#include "system/system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const char *jf_layer_part(jf_layer *l, const char *suffix)
{
  snprintf(l->part, sizeof l->part, "%s%s", l->name, suffix);
  return l->part;
}

const char *jf_layer_op(jf_layer *l, const char *suffix)
{
  return l->is_again ? NULL : jf_layer_part(l, suffix);
}

/* "l2(0.01)" */
static jfl_status parameter_regularizer(jf_layer *l, const char *option, jfl_variable_spec *spec)
{
  const char *text = NULL;
  char *end = NULL;
  double v = 0;
  if (option) JF_TRY(jf_words_string(&l->w, option, &text));
  if (!text) return JFL_OK;
  const int known = !strncmp(text, "l1(", 3) || !strncmp(text, "l2(", 3);
  if (known) v = jf_number_read(text + 3, &end);
  if (!known || end == text + 3 || strcmp(end, ")") || !(v >= 0 && v < INFINITY))
    return jf_fail_argument(JFL_EINVAL, option, "must be l1(v) or l2(v) with a number of at least "
                            "0, got '%.60s'", text);
  *(text[1] == '1' ? &spec->l1 : &spec->l2) = v;
  return JFL_OK;
}

jfl_status jf_layer_make(jf_layer *l, const jf_layer_variable *v, jfl_value **out)
{
  const char *fill = v->fill;
  jfl_variable_spec spec = { .dtype = v->dtype, .shape = v->shape,
                             .trainable = l->trainable && !v->fixed };
  if (v->option) JF_TRY(jf_words_string(&l->w, v->option, &fill));
  JF_TRY(jf_initializer_read(v->option ? v->option : "initializer", fill, v->is_last, &spec));
  JF_TRY(parameter_regularizer(l, v->regularizer, &spec));
  spec.name = jf_layer_part(l, v->suffix);
  if (!l->reuse && jfl_graph_find_variable(l->g, spec.name))
    return jf_fail(JFL_ENAME, "%s: '%s' exists in this job already; another name makes another "
                   "layer, and reuse=true takes the variables of the one that has the name",
                   l->kind, spec.name);
  return jfl_graph_variable(l->g, &spec, out);
}
