/* Initializers by name, as the front end has them: what a variable is filled with at first. */
#include "api/api.h"
#include "system/system.h"

#include <math.h>
#include <string.h>

/* The standard deviation of a standard normal distribution that is cut off at -2 and 2. */
static const double cut_deviation = 0.87962566103423978;

/* The number of inputs and of outputs of one unit. Weights are (out, in) or (out, in, ...). */
static void initializer_fans(const jfl_shape *s, double *in, double *out)
{
  double all = 1, field = 1;
  for (int i = 1; i < s->n; i++) all *= (double)s->d[i];
  for (int i = 2; i < s->n; i++) field *= (double)s->d[i];
  *in = s->n < 2 ? s->n ? (double)s->d[0] : 1 : all;
  *out = s->n < 2 ? *in : (double)s->d[0] * (s->n > 2 ? field : 1);
}

typedef enum initializer_kind {
  CONSTANT, UNIFORM, NORMAL, CUT, GLOROT_UNIFORM, GLOROT_NORMAL, KAIMING, ORTHOGONAL
} initializer_kind;

/* What stands between the parentheses, and what it is if nothing does. */
static const struct initializer_row {
  const char *name;
  initializer_kind kind;
  int n;
  double v[2];
} rows[] = {
  { "zeros", CONSTANT, 0, { 0 } },
  { "ones", CONSTANT, 0, { 1 } },
  { "constant", CONSTANT, 1, { 0 } },
  { "random_uniform", UNIFORM, 2, { 0, 1 } },
  { "random_normal", NORMAL, 2, { 0, 1 } },
  { "truncated_normal", CUT, 1, { 1 } },
  { "glorot_uniform", GLOROT_UNIFORM, 0, { 0 } },
  { "glorot_normal", GLOROT_NORMAL, 0, { 0 } },
  { "xavier_uniform", GLOROT_UNIFORM, 0, { 0 } },
  { "xavier_normal", GLOROT_NORMAL, 0, { 0 } },
  { "kaiming", KAIMING, 0, { 0 } },
  { "orthogonal", ORTHOGONAL, 1, { 1 } },
};

static const struct initializer_row *initializer_find(const char *text, size_t n)
{
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (strlen(rows[i].name) == n && !strncmp(rows[i].name, text, n)) return &rows[i];
  return NULL;
}

/* Reads "(0.1)" or "(-1,1)"; whether it is that. */
static int initializer_numbers(const char *text, int n, double *v)
{
  if (!*text) return 1;
  if (*text++ != '(') return 0;
  for (int i = 0; i < n; i++) {
    char *end;
    v[i] = jf_number_read(text, &end);
    if (end == text || !(fabs(v[i]) < INFINITY)) return 0;
    text = end;
    if (*text == ',' && i + 1 < n) text++;
    else break;
  }
  return !strcmp(text, ")");
}

static void initializer_fill(const struct initializer_row *r, const double *v,
                             jfl_variable_spec *spec)
{
  double in, out;
  initializer_fans(&spec->shape, &in, &out);
  const double variance = 1 / fmax(1, (in + out) / 2), bound = sqrt(3 * variance);
  spec->a = v[0];
  spec->b = v[1];
  switch (r->kind) {
  case CONSTANT: spec->init = JFL_INIT_CONSTANT; break;
  case UNIFORM: spec->init = JFL_INIT_UNIFORM; break;
  case NORMAL: spec->init = JFL_INIT_NORMAL; break;
  case CUT: spec->init = JFL_INIT_TRUNCATED_NORMAL, spec->a = 0, spec->b = v[0]; break;
  case GLOROT_UNIFORM: spec->init = JFL_INIT_UNIFORM, spec->a = -bound, spec->b = bound; break;
  case GLOROT_NORMAL:
    spec->init = JFL_INIT_TRUNCATED_NORMAL;
    spec->a = 0;
    spec->b = sqrt(variance) / cut_deviation;
    break;
  case KAIMING: spec->init = JFL_INIT_NORMAL, spec->a = 0, spec->b = sqrt(2 / fmax(1, in)); break;
  case ORTHOGONAL: spec->init = JFL_INIT_ORTHOGONAL; break;
  }
}

/* Sets what a variable of spec's shape is filled with, from "truncated_normal(0.1)". */
static jfl_status initializer_read(const char *text, jfl_variable_spec *spec)
{
  const size_t n = strcspn(text, "(");
  const struct initializer_row *r = initializer_find(text, n);
  double v[2] = { 0, 0 };
  if (r) memcpy(v, r->v, sizeof v);
  if (!r || !initializer_numbers(text + n, r->n, v))
    return jf_fail_argument(JFL_EINVAL, "initializer", "must be one such as zeros, glorot_uniform "
                            "or truncated_normal(0.1), got '%.60s'", text);
  if (r->kind == ORTHOGONAL && spec->shape.n < 2)
    return jf_fail_argument(JFL_ESHAPE, "initializer", "must be another one than orthogonal for a "
                            "variable of fewer than two axes, got that");
  initializer_fill(r, v, spec);
  return JFL_OK;
}

jfl_status jfl_parameter(jfl_graph *g, const char *name, jfl_dtype t, const jfl_shape *shape,
                         const char *initializer, jfl_value **out)
{
  JF_NEED(GRAPH, g);
  JF_NEED_POINTERS(shape, initializer);
  jfl_variable_spec spec = { .name = name, .dtype = t, .shape = *shape, .trainable = 1 };
  JF_TRY(jf_shape_check(shape, "shape"));
  JF_TRY(initializer_read(initializer, &spec));
  return jfl_graph_variable(g, &spec, out);
}
