/* The steps of recurrent layers, by the formulas of PyTorch, so that weights can be carried over.
   The product of the inputs with their weights, for all steps at once, is an op of its own; this
   one adds the product of the state before:
     rnn    h = tanh(x + h W^T), or relu
     lstm   i, f, g, o = x + h W^T; c = sigmoid(f) c + sigmoid(i) tanh(g); h = sigmoid(o) tanh(c)
     gru    r, z, n of x and of s = h W^T + bias; n = tanh(x_n + sigmoid(r) s_n);
            h = (1 - sigmoid(z)) n + sigmoid(z) h
   Sums are in double. */
#include "op/recurrent.h"
#include "op/constant.h"
#include "op/matmul.h"
#include "op/reduce.h"
#include "op/reshape.h"
#include "op/slice.h"
#include "op/scalar.h"
#include "op/transpose.h"

#include <math.h>
#include <string.h>

JF_ATTRS(attrs,
  JF_WORD(jf_recurrent, cell, NULL, "rnn_tanh rnn_relu lstm gru", "what a step computes"),
  JF_FIELD(jf_recurrent, reverse, BOOL, "false", "goes from the last step to the first"))

/* ---- shapes ---- */

jf_recurrent_dims jf_recurrent_dims_of(const jf_recurrent *a, const jfl_shape *steps,
                                       const jfl_shape *state)
{
  static const int64_t gates[] = { 1, 1, 4, 3 }, saved[] = { 0, 0, 4, 4 };
  return (jf_recurrent_dims){
    steps->d[0], steps->d[1], state->d[1], gates[a->kind], saved[a->kind]
  };
}

static void find_cell(jf_recurrent *a)
{
  static const char *const name[] = { "rnn_tanh", "rnn_relu", "lstm", "gru" };
  while (strcmp(name[a->kind], a->cell)) a->kind++;
}

static jfl_status recurrent_need(const jf_infer *c, int i, const jfl_shape *want)
{
  return jf_infer_is(c, i, c->in[0]->dtype, want, NULL);
}

static jfl_status recurrent_need_rank(const jf_infer *c, int i, int rank)
{
  char s[JF_SHAPE_STR];
  if (c->in[i]->shape.n == rank && c->in[i]->shape.d[0] > 0) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must have %d axes, the first not of extent 0, "
                          "got %s", rank, jf_shape_str(&c->in[i]->shape, s));
}

static jfl_status recurrent_need_count(const jf_infer *c, int least, int most)
{
  if (c->n_in >= least && c->n_in <= most) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, c->op->in[jf_op_n_in(c->op) - 1],
                          "must be %d tensors for %s, got %d", least - jf_op_n_in(c->op) + 1,
                          ((const jf_recurrent *)c->attr)->cell, c->n_in - jf_op_n_in(c->op) + 1);
}

static void recurrent_set(jf_infer *c, int i, jfl_shape s)
{
  c->shape[i] = s;
  c->dtype[i] = c->in[0]->dtype;
}

static jfl_status recurrent_infer(jf_infer *c)
{
  jf_recurrent *a = c->attr;
  find_cell(a);
  JF_TRY(recurrent_need_rank(c, JF_RNN_X, 3));
  JF_TRY(recurrent_need_rank(c, JF_RNN_H0, 2));
  const int extra = a->kind == JF_LSTM || a->kind == JF_GRU;
  JF_TRY(recurrent_need_count(c, JF_RNN_EXTRA + extra, JF_RNN_EXTRA + extra));
  const jf_recurrent_dims d = jf_recurrent_dims_of(a, &c->in[JF_RNN_X]->shape,
                                                   &c->in[JF_RNN_H0]->shape);
  JF_TRY(recurrent_need(c, JF_RNN_X, &(jfl_shape){ 3, { d.length, d.batch, d.gates * d.units } }));
  JF_TRY(recurrent_need(c, JF_RNN_WEIGHT, &(jfl_shape){ 2, { d.gates * d.units, d.units } }));
  JF_TRY(recurrent_need(c, JF_RNN_H0, &(jfl_shape){ 2, { d.batch, d.units } }));
  if (a->kind == JF_LSTM)
    JF_TRY(recurrent_need(c, JF_RNN_EXTRA, &(jfl_shape){ 2, { d.batch, d.units } }));
  if (a->kind == JF_GRU)
    JF_TRY(recurrent_need(c, JF_RNN_EXTRA, &(jfl_shape){ 1, { d.gates * d.units } }));
  recurrent_set(c, 0, (jfl_shape){ 3, { d.length, d.batch, d.units } });
  recurrent_set(c, 1, (jfl_shape){ 3, { d.length, d.batch, d.saved * d.units } });
  recurrent_set(c, 2, c->shape[0]);
  c->n_out = a->kind == JF_LSTM ? 3 : a->kind == JF_GRU ? 2 : 1;
  return JFL_OK;
}

static jfl_status recurrent_grad_infer(jf_infer *c)
{
  jf_recurrent *a = c->attr;
  find_cell(a);
  JF_TRY(recurrent_need_rank(c, JF_BACK_Y, 3));
  JF_TRY(recurrent_need_rank(c, JF_BACK_H0, 2));
  static const int least[] = { JF_BACK_GATES, JF_BACK_GATES, JF_BACK_DCELLS, JF_BACK_CELLS };
  JF_TRY(recurrent_need_count(c, least[a->kind], least[a->kind] + (a->kind == JF_LSTM)));
  const jf_recurrent_dims d = jf_recurrent_dims_of(a, &c->in[JF_BACK_Y]->shape,
                                                   &c->in[JF_BACK_H0]->shape);
  const jfl_shape state = { 2, { d.batch, d.units } }, y = { 3, { d.length, d.batch, d.units } };
  const jfl_shape gates = { 3, { d.length, d.batch, d.saved * d.units } };
  const jfl_shape weight = { 2, { d.gates * d.units, d.units } };
  const jfl_shape *const want[] = { &weight, &state, &y, &y, &gates, &y, &state, &y };
  for (int i = 0; i < c->n_in; i++) JF_TRY(recurrent_need(c, i, want[i]));
  recurrent_set(c, 0, (jfl_shape){ 3, { d.length, d.batch, d.gates * d.units } });
  recurrent_set(c, 1, state);
  recurrent_set(c, 2, a->kind == JF_GRU ? c->shape[0] : state);
  c->n_out = a->kind == JF_LSTM || a->kind == JF_GRU ? 3 : 2;
  return JFL_OK;
}

/* ---- a step of a unit ---- */

const char jf_recurrent_cells_text[] = JF_QUOTED(JF_RECURRENT_CELLS);
typedef double real;

/* What a unit of a row reads and makes in a step; `gate` is what the gradient needs. And what a
   step back starts from: dh and dc are gradients of the states. */
JF_TWICE(jf_unit_text,
typedef struct unit { real x[4]; real s[4]; real h; real c; real gate[4]; } unit;
typedef struct unit_back { unit u; real c_before; real dh; real dc; } unit_back;
)

/* x: what comes from the inputs; s: from the state; h and c: before the step, then after it. */
JF_TWICE(jf_unit_forward_text,
JF_LOCAL real sigma(real x) { return 1 / (1 + exp(-x)); }
JF_LOCAL void unit_forward(jf_recurrent_cell kind, unit *u)
{
  real *g = u->gate;
  switch (kind) {
  case JF_RNN_TANH: u->h = tanh(u->x[0] + u->s[0]); return;
  case JF_RNN_RELU:
    u->h = u->x[0] + u->s[0];
    if (u->h < 0) u->h = 0;
    return;
  case JF_LSTM:
    for (int i = 0; i < 4; i++) g[i] = i == 2 ? tanh(u->x[i] + u->s[i]) : sigma(u->x[i] + u->s[i]);
    u->c = g[1] * u->c + g[0] * g[2];
    u->h = g[3] * tanh(u->c);
    return;
  case JF_GRU:
    for (int i = 0; i < 2; i++) g[i] = sigma(u->x[i] + u->s[i]);
    g[3] = u->s[2];
    g[2] = tanh(u->x[2] + g[0] * g[3]);
    u->h = (1 - g[1]) * g[2] + g[1] * u->h;
    return;
  }
})

/* Given dh and dc of what the step made, sets x and s to the gradients of what came in, and dh and
   dc to those that go to the state before without the weights. h is the state before (for rnn that
   after); c and c_before are the cells. */
JF_TWICE(jf_unit_backward_text,
JF_LOCAL void unit_backward(jf_recurrent_cell kind, unit_back *b)
{
  const real *g = b->u.gate;
  const real dh = b->dh;
  real *d = b->u.x;
  if (kind == JF_GRU) {
    d[2] = dh * (1 - g[1]) * (1 - g[2] * g[2]);
    d[1] = dh * (b->u.h - g[2]) * g[1] * (1 - g[1]);
    d[0] = d[2] * g[3] * g[0] * (1 - g[0]);
    b->dh = dh * g[1];
  } else if (kind == JF_LSTM) {
    const real t = tanh(b->u.c);
    const real dc = b->dc + dh * g[3] * (1 - t * t);
    d[0] = dc * g[2] * g[0] * (1 - g[0]);
    d[1] = dc * b->c_before * g[1] * (1 - g[1]);
    d[2] = dc * g[0] * (1 - g[2] * g[2]);
    d[3] = dh * t * g[3] * (1 - g[3]);
    b->dc = dc * g[1];
    b->dh = 0;
  } else {
    d[0] = kind == JF_RNN_TANH ? dh * (1 - b->u.h * b->u.h) : b->u.h > 0 ? dh : 0;
    b->dh = 0;
  }
  for (int i = 0; i < 4; i++) b->u.s[i] = kind == JF_GRU && i == 2 ? d[2] * g[0] : d[i];
})

/* ---- plain kernels ---- */

#define AT(T, tensor) ((T *)(tensor).data)

/* A step of one row: h and c are the states before it; y, gates and cells get what it makes. */
#define RECURRENT_ROW(D, T)                                                            \
  static void recurrent_row_##D(const jf_kargs *k, const jf_recurrent_dims *d, int64_t row, \
                                const T *h, const T *c)                                \
  {                                                                                    \
    const jf_recurrent_cell kind = ((const jf_recurrent *)k->attr)->kind;                        \
    const T *x = AT(const T, k->in[JF_RNN_X]) + row * d->gates * d->units;             \
    const T *bias = kind == JF_GRU ? AT(const T, k->in[JF_RNN_EXTRA]) : NULL;          \
    double *s = k->scratch;                                                            \
    for (int64_t i = 0; i < d->gates * d->units && !jf_loop_ends_at(i, d->units); i++) { \
      const T *w = AT(const T, k->in[JF_RNN_WEIGHT]) + i * d->units;                   \
      s[i] = bias ? (double)bias[i] : 0;                                               \
      for (int64_t j = 0; j < d->units; j++) s[i] += (double)w[j] * (double)h[j];      \
    }                                                                                  \
    for (int64_t j = 0; j < d->units && !jf_loop_ends_at(j, 8); j++) {                 \
      unit u = { .h = (double)h[j], .c = c ? (double)c[j] : 0 };                       \
      for (int64_t i = 0; i < d->gates; i++) {                                         \
        u.x[i] = (double)x[i * d->units + j];                                          \
        u.s[i] = s[i * d->units + j];                                                  \
      }                                                                                \
      unit_forward(kind, &u);                                                          \
      AT(T, k->out[0])[row * d->units + j] = (T)u.h;                                   \
      for (int64_t i = 0; i < d->saved; i++)                                           \
        AT(T, k->out[1])[(row * d->saved + i) * d->units + j] = (T)u.gate[i];          \
      if (c) AT(T, k->out[2])[row * d->units + j] = (T)u.c;                            \
    }                                                                                  \
  }
#define RECURRENT_FORWARD(D, T)                                                        \
  static jfl_status recurrent_forward_##D(const jf_kargs *k)                           \
  {                                                                                    \
    const jf_recurrent *a = k->attr;                                                   \
    const jf_recurrent_dims d = jf_recurrent_dims_of(a, &k->in[JF_RNN_X].shape,        \
                                                     &k->in[JF_RNN_H0].shape);         \
    const int lstm = a->kind == JF_LSTM;                                               \
    for (int64_t n = 0; n < d.length * d.batch && !jf_loop_ends_at(n, d.units * d.units); n++) { \
      const int64_t t = jf_recurrent_step(a, d.length, n / d.batch), b = n % d.batch;  \
      const int64_t before = jf_recurrent_before(a, d.length, t);                      \
      const T *h = AT(const T, k->in[JF_RNN_H0]) + b * d.units;                        \
      const T *c = lstm ? AT(const T, k->in[JF_RNN_EXTRA]) + b * d.units : NULL;       \
      if (before >= 0) h = AT(const T, k->out[0]) + (before * d.batch + b) * d.units;  \
      if (before >= 0 && lstm)                                                         \
        c = AT(const T, k->out[2]) + (before * d.batch + b) * d.units;                 \
      recurrent_row_##D(k, &d, t * d.batch + b, h, c);                                 \
    }                                                                                  \
    return JFL_OK;                                                                     \
  }
/* Back through a step of row b, whose dh and dc go from the states after to those before. */
#define RECURRENT_BACK(D, T)                                                           \
  static void recurrent_back_##D(const jf_kargs *k, const jf_recurrent_dims *d, int64_t t, \
                                 int64_t b, double *dh, double *dc)                    \
  {                                                                                    \
    const jf_recurrent *a = k->attr;                                                   \
    const int64_t n = d->units, row = (t * d->batch + b) * n;                          \
    const int64_t before = jf_recurrent_before(a, d->length, t);                       \
    const int64_t old = before < 0 ? b * n : (before * d->batch + b) * n;              \
    const int lstm = a->kind == JF_LSTM, gru = a->kind == JF_GRU;                      \
    const T *y = AT(const T, k->in[JF_BACK_Y]), *h = y + row;                          \
    if (gru) h = before < 0 ? AT(const T, k->in[JF_BACK_H0]) + old : y + old;          \
    double *s = k->scratch;                                                            \
    for (int64_t j = 0; j < n && !jf_loop_ends_at(j, 8); j++) {                        \
      unit_back u = { .u.h = (double)h[j], .dc = dc[j] };                              \
      u.dh = dh[j] + (double)AT(const T, k->in[JF_BACK_DY])[row + j];                  \
      for (int64_t i = 0; i < d->saved; i++)                                           \
        u.u.gate[i] = (double)AT(const T, k->in[JF_BACK_GATES])[row * d->saved + i * n + j]; \
      if (lstm) {                                                                      \
        const T *cells = AT(const T, k->in[JF_BACK_CELLS]);                            \
        u.u.c = (double)cells[row + j];                                                \
        u.c_before = (double)(before < 0 ? AT(const T, k->in[JF_BACK_C0]) : cells)[old + j]; \
        if (k->n_in > JF_BACK_DCELLS)                                                  \
          u.dc += (double)AT(const T, k->in[JF_BACK_DCELLS])[row + j];                 \
      }                                                                                \
      unit_backward(a->kind, &u);                                                      \
      for (int64_t i = 0; i < d->gates; i++) {                                         \
        s[i * n + j] = u.u.s[i];                                                       \
        AT(T, k->out[0])[row * d->gates + i * n + j] = (T)u.u.x[i];                    \
        if (gru) AT(T, k->out[2])[row * d->gates + i * n + j] = (T)u.u.s[i];           \
      }                                                                                \
      dh[j] = u.dh;                                                                    \
      dc[j] = u.dc;                                                                    \
    }                                                                                  \
    for (int64_t i = 0; i < d->gates * n && !jf_loop_ends_at(i, n); i++)               \
      for (int64_t j = 0; j < n; j++)                                                  \
        dh[j] += s[i] * (double)AT(const T, k->in[JF_BACK_WEIGHT])[i * n + j];         \
  }
#define RECURRENT_BACKWARD(D, T)                                                       \
  static jfl_status recurrent_backward_##D(const jf_kargs *k)                          \
  {                                                                                    \
    const jf_recurrent *a = k->attr;                                                   \
    const jf_recurrent_dims d = jf_recurrent_dims_of(a, &k->in[JF_BACK_Y].shape,       \
                                                     &k->in[JF_BACK_H0].shape);        \
    double *dh = (double *)k->scratch + d.gates * d.units, *dc = dh + d.units;         \
    for (int64_t b = 0; b < d.batch; b++) {                                            \
      memset(dh, 0, (size_t)(2 * d.units) * sizeof *dh);                               \
      for (int64_t n = d.length - 1; n >= 0 && !jf_loop_ends_at(n, d.units * d.units); n--) \
        recurrent_back_##D(k, &d, jf_recurrent_step(a, d.length, n), b, dh, dc);       \
      for (int64_t j = 0; j < d.units; j++) {                                          \
        AT(T, k->out[1])[b * d.units + j] = (T)dh[j];                                  \
        if (a->kind == JF_LSTM) AT(T, k->out[2])[b * d.units + j] = (T)dc[j];          \
      }                                                                                \
    }                                                                                  \
    return JFL_OK;                                                                     \
  }
JF_EACH_FLOAT(RECURRENT_ROW)
JF_EACH_FLOAT(RECURRENT_FORWARD)
JF_EACH_FLOAT(RECURRENT_BACK)
JF_EACH_FLOAT(RECURRENT_BACKWARD)

/* The products of a row with the weight, and the gradients of its states. */
static size_t recurrent_scratch(const jf_kargs *k)
{
  const int64_t *weight = k->in[k->in[0].shape.n == 2 ? JF_BACK_WEIGHT : JF_RNN_WEIGHT].shape.d;
  return (size_t)(weight[0] + 2 * weight[1]) * sizeof(double);
}

static double recurrent_flop(const jf_kargs *k)
{
  const jfl_shape *x = &k->in[JF_RNN_X].shape;
  return 2 * (double)jf_numel(x) * (double)k->in[JF_RNN_H0].shape.d[1];
}

static double recurrent_grad_flop(const jf_kargs *k)
{
  return 2 * (double)jf_numel(&k->out[0].shape) * (double)k->in[JF_BACK_H0].shape.d[1];
}

/* ---- gradient ---- */

/* The steps of v, (length, batch, n), as rows. On several devices, each of which has some of the
   batch, samples come first: then each device has whole rows. */
static jfl_value *recurrent_rows(jf_gradctx *c, jfl_value *v)
{
  const jf_transpose swap = { JF_INTS(1, 0, 2) };
  if (!v) return NULL;
  const jfl_shape flat = { 2, { v->shape.d[0] * v->shape.d[1], v->shape.d[2] } };
  if (jf_is_group(c->node->place)) v = JF_EMIT(c->g, transpose, &swap, v);
  return jf_emit_view(c->g, v, &flat);
}

/* The states before each step, as (length * batch, units). */
static jfl_value *recurrent_states(jf_gradctx *c, const jf_recurrent_dims *d)
{
  const jf_recurrent *a = c->node->attr;
  const jfl_shape first = { 3, { 1, d->batch, d->units } };
  jfl_value *h0 = jf_emit_view(c->g, c->in[JF_RNN_H0], &first);
  if (d->length == 1) return recurrent_rows(c, h0);
  const jf_slice rest = { .begin = JF_INTS(a->reverse ? 1 : 0, 0, 0),
                          .size = JF_INTS(d->length - 1, d->batch, d->units) };
  jfl_value *y = JF_EMIT(c->g, slice, &rest, c->out[0]);
  jf_concat along = { 0 };
  return recurrent_rows(c, a->reverse ? JF_EMIT(c->g, concat, &along, y, h0)
                                      : JF_EMIT(c->g, concat, &along, h0, y));
}

/* The node that goes back through the steps. */
static const jf_node *recurrent_steps_back(jf_gradctx *c)
{
  const jf_recurrent *a = c->node->attr;
  jfl_value *dy = c->dy[0], *in[8] = { c->in[JF_RNN_WEIGHT], c->in[JF_RNN_H0], c->out[0] };
  size_t n = JF_BACK_GATES;
  if (!dy) dy = jf_emit_number(c->g, c->out[0]->dtype, &c->out[0]->shape, 0);
  in[JF_BACK_DY] = dy;
  if (a->kind == JF_LSTM || a->kind == JF_GRU) in[n++] = c->out[1];
  if (a->kind == JF_LSTM) {
    in[n++] = c->out[2];
    in[n++] = c->in[JF_RNN_EXTRA];
    if (c->dy[2]) in[n++] = c->dy[2];
  }
  jfl_value *dx = jf_emit(c->g, &jf_op_recurrent_grad, a, in, n);
  return dx ? dx->node : NULL;
}

static void recurrent_grad(jf_gradctx *c)
{
  const jf_recurrent *a = c->node->attr;
  const jf_recurrent_dims d = jf_recurrent_dims_of(a, &c->in[JF_RNN_X]->shape,
                                                   &c->in[JF_RNN_H0]->shape);
  const jf_node *back = recurrent_steps_back(c);
  if (!back) return;
  jfl_value *ds = recurrent_rows(c, back->out[a->kind == JF_GRU ? 2 : 0]);
  jf_matmul product = { .transpose_a = 1 };
  jf_reduce rows = { .axis = JF_INTS(0) };
  c->dx[JF_RNN_X] = back->out[0];
  c->dx[JF_RNN_WEIGHT] = JF_EMIT(c->g, matmul, &product, ds, recurrent_states(c, &d));
  c->dx[JF_RNN_H0] = back->out[1];
  if (a->kind == JF_LSTM) c->dx[JF_RNN_EXTRA] = back->out[2];
  if (a->kind == JF_GRU) c->dx[JF_RNN_EXTRA] = JF_EMIT(c->g, reduce_sum, &rows, ds);
}

#define RECURRENT(rule) JF_WITH(attrs, jf_recurrent), \
  .flags = JF_VARIADIC | JF_OPTIONAL, .infer = rule, .scratch = recurrent_scratch

/* Sequences of a batch may be split: axis 1 of what has steps, axis 0 of states. */
static void recurrent_signatures(jf_signatures *c)
{
  const int lstm = ((const jf_recurrent *)c->node->attr)->kind == JF_LSTM;
  jf_signature_say(c, lstm ? "1,B,0,0->1,1,1" : "1,B,0->1,1,1");
}

static void recurrent_grad_signatures(jf_signatures *c)
{
  const int gru = ((const jf_recurrent *)c->node->attr)->kind == JF_GRU;
  jf_signature_say(c, gru ? "B,0,1,1,1,1,0,1->1,0,1" : "B,0,1,1,1,1,0,1->1,0,0");
}

JFL_OP(recurrent, .doc = "The steps of a recurrent layer, for inputs x times their weights.",
  .in = {"x", "weight", "h0", "extra"}, .out = {"y", "gates", "cells"},
  RECURRENT(recurrent_infer), .grad = recurrent_grad,
  .cpu = JF_KERNELS(JF_FLOATS(recurrent_forward_)), .flop = recurrent_flop,
  .signatures = recurrent_signatures)

JFL_OP(recurrent_grad, .doc = "Gradients of recurrent for x, h0 and what the cell has beside them.",
  .in = {"weight", "h0", "y", "dy", "saved"}, .out = {"dx", "dh0", "dextra"},
  RECURRENT(recurrent_grad_infer),
  .cpu = JF_KERNELS(JF_FLOATS(recurrent_backward_)), .flop = recurrent_grad_flop,
  .signatures = recurrent_grad_signatures)
