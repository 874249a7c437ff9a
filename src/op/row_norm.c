/* Normalization of rows: layer, group, instance and root mean square normalization are made of it.
   Sums are in double. */
#include "op/row_norm.h"
#include "dev/number.h"
#include "ir/halves.h"
#include "op/cast.h"
#include "op/constant.h"
#include "op/op.h"
#include "op/reduce.h"
#include "op/reshape.h"

#include <math.h>
#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_row_norm, axis, INT, "-1", "the first axis of a row, or that of the channels"),
  JF_FIELD(jf_row_norm, groups, INT, "0", "of channels; 0: rows have all channels"),
  JF_RANGE(jf_row_norm, epsilon, NUM, "1e-5", "a number of at least 0", "added to the variance"),
  JF_FIELD(jf_row_norm, center, BOOL, "true", "whether the mean is subtracted"),
  JF_FIELD(jf_row_norm, scale, BOOL, "false", "whether gamma is given"),
  JF_FIELD(jf_row_norm, shift, BOOL, "false", "whether beta is given"))

jf_rows jf_rows_of(const jfl_shape *x, const jf_row_norm *a, int64_t n_param)
{
  jf_rows s = { .n = a->groups ? a->groups : 1, .groups = a->groups, .n_param = n_param };
  for (int i = 0; i < a->axis; i++) s.n *= x->d[i];
  s.length = s.n ? jf_numel(x) / s.n : 0;
  s.step = !a->groups;
  s.pieces = 1;
  s.piece = s.length;
  if (!n_param || !s.length) return s;
  if (a->groups) s.pieces = n_param / a->groups;
  else if (n_param < s.length) s.pieces = s.length / n_param;
  s.piece = s.length / s.pieces;
  return s;
}

static int is_end_of(const jfl_shape *p, const jfl_shape *x)
{
  return p->n >= 1 && p->n <= x->n &&
         !memcmp(p->d, x->d + x->n - p->n, (size_t)p->n * sizeof *p->d);
}

/* Checks params, inputs from `first` on, and gives how many elements each has. */
static jfl_status row_norm_params(const jf_infer *c, int first, const jfl_shape *x, int64_t *n)
{
  const jf_row_norm *a = c->attr;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  *n = 0;
  for (int i = first; i < c->n_in; i++) {
    const jfl_shape *p = &c->in[i]->shape;
    const int64_t channels = x->d[a->axis];
    if (a->groups && p->n == 1 && (p->d[0] == channels || p->d[0] == a->groups)) continue;
    if (!a->groups && is_end_of(p, x)) continue;
    if (a->groups)
      return jf_fail_argument(JFL_ESHAPE, "params", "must be (%lld) or (%lld), one for each "
                              "channel or group, got %s", (long long)channels,
                              (long long)a->groups, jf_shape_str(p, s));
    return jf_fail_argument(JFL_ESHAPE, "params", "must be like the last axes of x %s, got %s",
                            jf_shape_str(x, t), jf_shape_str(p, s));
  }
  if (c->n_in > first) *n = jf_numel(&c->in[first]->shape);
  if (c->n_in > first + 1 && !jf_shape_eq(&c->in[first]->shape, &c->in[first + 1]->shape))
    return jf_fail_argument(JFL_ESHAPE, "params", "must be alike, got %s and %s",
                            jf_shape_str(&c->in[first]->shape, s),
                            jf_shape_str(&c->in[first + 1]->shape, t));
  return JFL_OK;
}

/* Checks the attributes, the number of inputs and their dtypes. */
static jfl_status row_norm_check(const jf_infer *c, const jfl_shape *x, int n_in)
{
  jf_row_norm *a = c->attr;
  JF_TRY(jf_axis(&a->axis, x->n));
  if (a->groups < 0 || (a->groups && x->d[a->axis] % a->groups))
    return jf_fail_argument(JFL_ESHAPE, "groups", "must divide the %lld channels, got %lld",
                            (long long)x->d[a->axis], (long long)a->groups);
  if (c->n_in != n_in) return jf_fail(JFL_EINVAL, "takes %d inputs, got %d", n_in, c->n_in);
  for (int i = 1; i < c->n_in; i++) JF_TRY(jf_infer_dtype(c, i, 0));
  return JFL_OK;
}

static jfl_status row_norm_infer(jf_infer *c)
{
  const jf_row_norm *a = c->attr;
  const jfl_shape *x = &c->in[0]->shape;
  int64_t n_param;
  JF_TRY(row_norm_check(c, x, 1 + a->scale + a->shift));
  JF_TRY(row_norm_params(c, 1, x, &n_param));
  c->shape[0] = *x;
  c->shape[1] = c->shape[2] = (jfl_shape){ 1, { jf_rows_of(x, a, n_param).n } };
  jf_halves_infer(c, jf_halves_seen(c, 0));
  return JFL_OK;
}

/* The gradient takes gamma, or where there is none beta, for its shape. */
static jfl_status row_norm_grad_infer(jf_infer *c)
{
  const jf_row_norm *a = c->attr;
  const jfl_shape *x = &c->in[1]->shape;
  int64_t n_param;
  JF_TRY(row_norm_check(c, x, 4 + (a->scale || a->shift)));
  JF_TRY(row_norm_params(c, 4, x, &n_param));
  JF_TRY(jf_infer_shape(c, 0, 1));
  for (int i = 2; i < 4; i++) JF_TRY(jf_infer_line(c, i, jf_rows_of(x, a, n_param).n, "row"));
  c->n_out = 1 + a->scale + a->shift;
  for (int i = 0; i < c->n_out; i++) c->shape[i] = i ? c->in[4]->shape : *x;
  jf_halves_infer(c, jf_halves_seen(c, 0));
  return JFL_OK;
}

/* Mean and inverse pass no gradient on: they are for the gradient itself. */
static void row_norm_grad(jf_gradctx *c)
{
  const jf_row_norm *a = c->node->attr;
  const int any = a->scale || a->shift;
  if (!c->dy[0]) return;
  jfl_value *in[5] = { c->dy[0], c->in[0], c->out[1], c->out[2], any ? c->in[1] : NULL };
  jfl_value *dx = jf_emit(c->g, &jf_op_row_norm_grad, a, in, any ? 5 : 4);
  for (int i = 0; dx && i < dx->node->n_out; i++) c->dx[i] = dx->node->out[i];
}

/* ---- plain kernels ---- */

/* Reads a whole tensor, or elements at .. at + n - 1, as numbers. */
static void row_norm_read(const jf_tensor *t, int64_t at, int64_t n, double *v)
{
  jf_numbers_get(t->dtype, t->data, at, (int)n, v);
}

/* Index of the param of element j of row r. */
static int64_t param_at(const jf_rows *s, int64_t r, int64_t j)
{
  return jf_piece_param(s, r, j / s->piece) + s->step * (j % s->piece);
}

static void row_norm_moments(const double *x, int64_t n, int center, double *mean, double *variance)
{
  double sum = 0, squares = 0;
  for (int64_t j = 0; center && j < n && !jf_loop_ends_at(j, 1); j++) sum += x[j];
  *mean = center && n ? sum / (double)n : 0;
  for (int64_t j = 0; j < n && !jf_loop_ends_at(j, 1); j++)
    squares += (x[j] - *mean) * (x[j] - *mean);
  *variance = n ? squares / (double)n : 0;
}

static jfl_status row_norm_plain(const jf_kargs *k)
{
  const jf_row_norm *a = k->attr;
  const int64_t n_param = k->n_in > 1 ? jf_numel(&k->in[1].shape) : 0;
  const jf_rows s = jf_rows_of(&k->in[0].shape, a, n_param);
  double *x = k->scratch, *gamma = x + s.length, *beta = gamma + n_param;
  if (a->scale) row_norm_read(&k->in[1], 0, n_param, gamma);
  if (a->shift) row_norm_read(&k->in[k->n_in - 1], 0, n_param, beta);
  for (int64_t r = 0; r < s.n && !jf_loop_ends_at(r, s.length); r++) {
    double mean, variance;
    row_norm_read(&k->in[0], r * s.length, s.length, x);
    row_norm_moments(x, s.length, a->center, &mean, &variance);
    const double inverse = 1 / sqrt(variance + a->epsilon);
    for (int64_t j = 0; j < s.length && !jf_loop_ends_at(j, 1); j++) {
      const int64_t p = n_param ? param_at(&s, r, j) : 0;
      x[j] = (x[j] - mean) * inverse * (a->scale ? gamma[p] : 1) + (a->shift ? beta[p] : 0);
    }
    jf_numbers_put(k->out[0].dtype, k->out[0].data, r * s.length, (int)s.length, x);
    jf_numbers_put(k->out[1].dtype, k->out[1].data, r, 1, &mean);
    jf_numbers_put(k->out[2].dtype, k->out[2].data, r, 1, &inverse);
  }
  return JFL_OK;
}

/* With g = gamma dy, u = x - mean, i the inverse and L the length of a row:
     dx = i (g - sum g / L - u i^2 sum(g u) / L),  dgamma = sum dy u i,  dbeta = sum dy,
   where the term sum g is left out if the mean was not subtracted. */
static jfl_status row_norm_grad_plain(const jf_kargs *k)
{
  const jf_row_norm *a = k->attr;
  const int64_t n_param = k->n_in > 4 ? jf_numel(&k->in[4].shape) : 0;
  const jf_rows s = jf_rows_of(&k->in[1].shape, a, n_param);
  double *d = k->scratch, *u = d + s.length, *gamma = u + s.length;
  double *dgamma = gamma + n_param, *dbeta = dgamma + n_param;
  if (n_param) row_norm_read(&k->in[4], 0, n_param, gamma);
  memset(dgamma, 0, 2 * (size_t)n_param * sizeof *dgamma);
  for (int64_t r = 0; r < s.n && !jf_loop_ends_at(r, s.length); r++) {
    double mean, inverse, sum = 0, product = 0;
    row_norm_read(&k->in[0], r * s.length, s.length, d);
    row_norm_read(&k->in[1], r * s.length, s.length, u);
    row_norm_read(&k->in[2], r, 1, &mean);
    row_norm_read(&k->in[3], r, 1, &inverse);
    for (int64_t j = 0; j < s.length && !jf_loop_ends_at(j, 1); j++) {
      const int64_t p = n_param ? param_at(&s, r, j) : 0;
      u[j] -= mean;
      if (n_param) {
        dgamma[p] += d[j] * u[j] * inverse;
        dbeta[p] += d[j];
      }
      if (a->scale) d[j] *= gamma[p];
      sum += d[j];
      product += d[j] * u[j];
    }
    const double slope = product * inverse * inverse / (double)s.length;
    if (!a->center) sum = 0;
    for (int64_t j = 0; j < s.length && !jf_loop_ends_at(j, 1); j++)
      d[j] = inverse * (d[j] - sum / (double)s.length - u[j] * slope);
    jf_numbers_put(k->out[0].dtype, k->out[0].data, r * s.length, (int)s.length, d);
  }
  for (int i = 1; i < k->n_out; i++)
    jf_numbers_put(k->out[i].dtype, k->out[i].data, 0, (int)n_param,
                   i == 1 && a->scale ? dgamma : dbeta);
  return JFL_OK;
}

static size_t row_norm_scratch(const jf_kargs *k)
{
  const int64_t n_param = k->n_in > 1 ? jf_numel(&k->in[k->n_in - 1].shape) : 0;
  const jf_rows s = jf_rows_of(&k->in[k->n_in < 4 ? 0 : 1].shape, k->attr, 0);
  return (size_t)(2 * s.length + 3 * n_param) * sizeof(double);
}

static const jf_mixed mixed = { 0, offsetof(jf_row_norm, halves), 0x1, 0x1 };      /* x; y */
static const jf_mixed grad_mixed = { 0, offsetof(jf_row_norm, halves), 0x3, 0x1 }; /* dy, x; dx */

/* Rows may be split along axis 0, if that ends between rows. mean and inverse lie as rows do, so
   the parts of both must have the same rows. */
static int row_norm_splits(const jf_signatures *c, const jfl_value *x, const jfl_value *mean,
                           int n_param_axes)
{
  const jf_row_norm *a = c->node->attr;
  const int64_t n = x->shape.d[0], rows = mean->shape.d[0];
  return a->axis > 0 && n_param_axes < x->shape.n && (rows == n || n % c->parts == 0);
}

static void row_norm_signatures(jf_signatures *c)
{
  const jf_node *n = c->node;
  const int axes = n->n_in > 1 ? n->in[1]->shape.n : 0;
  if (row_norm_splits(c, n->in[0], n->out[1], axes)) jf_signature_say(c, "0->0,0,0");
}

static void row_norm_grad_signatures(jf_signatures *c)
{
  const jf_node *n = c->node;
  const int axes = n->n_in > 4 ? n->in[4]->shape.n : 0;
  if (row_norm_splits(c, n->in[1], n->in[2], axes)) jf_signature_say(c, "0,0,0,0->0,P,P");
}

/* ---- as elementwise ops and sums, which become part of programs ---- */

#define EMIT(id, ...) JF_EMIT(g, id, NULL, __VA_ARGS__)

/* The mean of each row of v; and the sum of all rows. */
static jfl_value *row_norm_mean(jfl_graph *g, const jf_row_norm *a, jfl_value *v)
{
  int64_t axis[JFL_MAXDIM];
  jf_reduce r = { .axis = { 0, axis }, .keepdims = 1 };
  for (int i = (int)a->axis; i < v->shape.n; i++) axis[r.axis.n++] = i;
  return JF_EMIT(g, reduce_mean, &r, v);
}
static jfl_value *row_norm_down(jfl_graph *g, const jf_row_norm *a, jfl_value *v)
{
  int64_t axis[JFL_MAXDIM];
  const jf_reduce r = { .axis = { (int)a->axis, axis } };
  for (int i = 0; i < a->axis; i++) axis[i] = i;
  return JF_EMIT(g, reduce_sum, &r, v);
}

/* Whether programs compute such a call: there are several rows, of axes that gamma and beta have,
   too. Numbers of a row are of dtype t. */
static int row_norm_expands(const jf_node *n, const jfl_value *x, int first_param, jfl_dtype t,
                            int64_t longest)
{
  const jf_row_norm *a = n->attr;
  int64_t length = 1;
  for (int i = (int)a->axis; i < x->shape.n; i++) length *= x->shape.d[i];
  if (a->groups || !a->axis || (t != JFL_F32 && t != JFL_F64)) return 0;
  if (n->n_in > first_param && n->in[first_param]->shape.n != x->shape.n - a->axis) return 0;
  return length > 1 && length <= longest && jf_numel(&x->shape) > 0;
}

/* The mean is subtracted in two turns, the second of which takes what rounding has left. */
static int row_norm_expand(jfl_graph *g, const jf_node *n, int64_t longest, jfl_value *const *in,
                           jfl_value **out)
{
  const jf_row_norm *a = n->attr;
  const jfl_dtype t = n->out[1]->dtype;
  jfl_value *mean = NULL, *u;
  if (!row_norm_expands(n, in[0], 1, t, longest)) return 0;
  u = jf_emit_as(g, in[0], t);
  for (int turn = 0; turn < 2 && a->center; turn++) {
    jfl_value *rest = row_norm_mean(g, a, u);
    mean = mean ? EMIT(add, mean, rest) : rest;
    u = EMIT(subtract, u, rest);
  }
  jfl_value *variance = row_norm_mean(g, a, EMIT(square, u));
  jfl_value *inverse = EMIT(rsqrt, EMIT(add, variance, jf_scalar(g, t, a->epsilon)));
  jfl_value *y = EMIT(multiply, u, inverse);
  if (a->scale) y = EMIT(multiply, y, jf_emit_as(g, in[1], t));
  if (a->shift) y = EMIT(add, y, jf_emit_as(g, in[n->n_in - 1], t));
  out[0] = jf_emit_as(g, y, n->out[0]->dtype);
  out[1] = mean ? jf_emit_view(g, mean, &n->out[1]->shape)
                : jf_emit_number(g, t, &n->out[1]->shape, 0);
  out[2] = jf_emit_view(g, inverse, &n->out[2]->shape);
  return 1;
}

/* As in row_norm_grad_plain. Sums for params come first, so that they are made of few values. */
static int row_norm_grad_expand(jfl_graph *g, const jf_node *n, int64_t longest,
                                jfl_value *const *in, jfl_value **out)
{
  const jf_row_norm *a = n->attr;
  const jfl_dtype t = n->in[2]->dtype;
  if (!row_norm_expands(n, in[1], 4, t, longest)) return 0;
  jfl_shape rows = in[1]->shape;
  for (int i = (int)a->axis; i < rows.n; i++) rows.d[i] = 1;
  jfl_value *d = jf_emit_as(g, in[0], t), *u = jf_emit_as(g, in[1], t);
  jfl_value *inverse = jf_emit_view(g, in[3], &rows);
  u = EMIT(subtract, u, jf_emit_view(g, in[2], &rows));         /* 0 where it is not centered */
  jfl_value *product = EMIT(multiply, d, u);
  if (a->shift) out[1 + a->scale] = row_norm_down(g, a, d);
  if (a->scale) {
    jfl_value *gamma = jf_emit_as(g, in[4], t);
    out[1] = row_norm_down(g, a, EMIT(multiply, product, inverse));
    d = EMIT(multiply, d, gamma);
    product = EMIT(multiply, product, gamma);
  }
  jfl_value *slope = EMIT(multiply, row_norm_mean(g, a, product), inverse);
  jfl_value *rest = EMIT(multiply, u, EMIT(multiply, slope, inverse));
  if (a->center) d = EMIT(subtract, d, row_norm_mean(g, a, d));
  d = EMIT(multiply, EMIT(subtract, d, rest), inverse);
  out[0] = jf_emit_as(g, d, n->out[0]->dtype);
  return 1;
}

JFL_OP(row_norm, .doc = "x normalized by the mean and variance of each row, times gamma, plus "
       "beta.", .in = { "x", "params" }, .out = { "y", "mean", "inverse" },
       JF_WITH(attrs, jf_row_norm), .flags = JF_VARIADIC | JF_OPTIONAL, .inplace = 1,
       .infer = row_norm_infer, .grad = row_norm_grad, .scratch = row_norm_scratch,
       .cpu = JF_KERNELS(JF_EVERY_FLOAT(row_norm_plain)), .mixed = &mixed,
       .signatures = row_norm_signatures, .expand = row_norm_expand)

JFL_OP(row_norm_grad, .doc = "Gradients of row_norm for x, gamma and beta.",
  .in = {"dy", "x", "mean", "inverse", "params"}, .out = {"dx", "dgamma", "dbeta"},
  JF_WITH(attrs, jf_row_norm), .flags = JF_VARIADIC | JF_OPTIONAL, .inplace = 1,
  .infer = row_norm_grad_infer, .scratch = row_norm_scratch,
  .cpu = JF_KERNELS(JF_EVERY_FLOAT(row_norm_grad_plain)), .mixed = &grad_mixed,
  .signatures = row_norm_grad_signatures, .expand = row_norm_grad_expand)
