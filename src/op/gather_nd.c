/* Slices chosen by tuples of indices: gather_nd picks them, scatter_nd adds them among zeros,
   tensor_scatter_nd_update and tensor_scatter_nd_add put them into a tensor. */
#include "op/constant.h"
#include "op/gather.h"
#include "op/move.h"

#include <string.h>

typedef struct scatter_nd { jf_ints shape; } scatter_nd;

JF_ATTRS(scatter_attrs, JF_FIELD(scatter_nd, shape, INTS, NULL, "the extents of the result"))

/* Checks indices (..., n), whose tuples of n numbers count along the first n axes of s; `whole`
   names what has shape s. *slice: the indices' shape without its last axis, and then what is left
   of s. */
static jfl_status nd_slices(const jf_infer *c, int input, const char *whole, const jfl_shape *s,
                            jfl_shape *slice)
{
  const jfl_shape *ids = &c->in[input]->shape;
  char x[JF_SHAPE_STR], y[JF_SHAPE_STR];
  JF_TRY(jf_check_indices(c, input));
  const int64_t n = ids->n ? ids->d[ids->n - 1] : -1;
  if (n < 0 || n > s->n)
    return jf_fail_argument(JFL_ESHAPE, "indices", "must have along the last axis a number for "
                            "each of the first axes of %s %s, got %s", whole, jf_shape_str(s, x),
                            jf_shape_str(ids, y));
  slice->n = ids->n - 1 + s->n - (int)n;
  if (slice->n > JFL_MAXDIM)
    return jf_fail(JFL_ESHAPE, "slices would have %d dimensions, at most %d are possible",
                   slice->n, (int)JFL_MAXDIM);
  for (int i = 0; i < ids->n - 1; i++) slice->d[i] = ids->d[i];
  for (int i = (int)n; i < s->n; i++) slice->d[ids->n - 1 + i - n] = s->d[i];
  return JFL_OK;
}

static jfl_status gather_nd_infer(jf_infer *c)
{
  c->dtype[0] = c->in[0]->dtype;
  return nd_slices(c, 1, "params", &c->in[0]->shape, &c->shape[0]);
}

static jfl_status scatter_nd_infer(jf_infer *c)
{
  jfl_shape slice;
  c->dtype[0] = c->in[1]->dtype;
  JF_TRY(jf_shape_from(&((const scatter_nd *)c->attr)->shape, &c->shape[0]));
  JF_TRY(jf_shape_check(&c->shape[0], "shape"));
  JF_TRY(nd_slices(c, 0, "shape", &c->shape[0], &slice));
  return jf_infer_is(c, 1, c->dtype[0], &slice, NULL);
}

static jfl_status tensor_scatter_infer(jf_infer *c)
{
  jfl_shape slice;
  c->dtype[0] = c->in[0]->dtype;
  c->shape[0] = c->in[0]->shape;
  JF_TRY(nd_slices(c, 1, "params", &c->shape[0], &slice));
  return jf_infer_is(c, 2, c->dtype[0], &slice, NULL);
}

static void gather_nd_grad(jf_gradctx *c)
{
  scatter_nd a = { jf_ints_from(&c->in[0]->shape) };
  c->dx[0] = JF_EMIT(c->g, scatter_nd, &a, c->in[1], c->dy[0]);
}

static void scatter_nd_grad(jf_gradctx *c)
{
  c->dx[1] = JF_EMIT(c->g, gather_nd, NULL, c->dy[0], c->in[0]);
}

/* Where several updates have one place, each gets the gradient of that place. */
static void nd_update_grad(jf_gradctx *c)
{
  const jfl_value *u = c->in[2];
  jfl_value *zeros = jf_emit_number(c->g, u->dtype, &u->shape, 0);
  c->dx[0] = JF_EMIT(c->g, tensor_scatter_nd_update, NULL, c->dy[0], c->in[1], zeros);
  c->dx[2] = JF_EMIT(c->g, gather_nd, NULL, c->dy[0], c->in[1]);
}

static void nd_add_grad(jf_gradctx *c)
{
  c->dx[0] = c->dy[0];
  c->dx[2] = JF_EMIT(c->g, gather_nd, NULL, c->dy[0], c->in[1]);
}

jf_tuples jf_tuples_of(const jf_tensor *ids, const jfl_shape *whole)
{
  jf_tuples t = { .ids = ids, .whole = whole, .n = (int)ids->shape.d[ids->shape.n - 1],
                  .count = 1, .run = 1 };
  for (int i = 0; i < ids->shape.n - 1; i++) t.count *= ids->shape.d[i];
  for (int i = t.n; i < whole->n; i++) t.run *= whole->d[i];
  int64_t size = t.run;
  for (int i = t.n - 1; i >= 0; size *= whole->d[i--]) t.step[i] = size;
  return t;
}

/* The first element of the slice that tuple j stands for. */
static int64_t nd_place(const jf_tuples *t, int64_t j)
{
  int64_t at = 0;
  for (int i = 0; i < t->n; i++) at += jf_index_at(t->ids, j * t->n + i) * t->step[i];
  return at;
}

jfl_status jf_tuples_check(const jf_kargs *k, const jf_tuples *t)
{
  for (int64_t i = 0; i < t->count * t->n; i++) {
    if (jf_loop_ends_at(i, 1)) return jf_time_is_over();
    const int64_t v = jf_index_at(t->ids, i), limit = t->whole->d[i % t->n];
    if (v < 0 || v >= limit) return jf_index_fault(k, JF_WRONG_INDEX, v, i, limit);
  }
  return JFL_OK;
}

static jfl_status nd_gather(const jf_kargs *k)
{
  const jf_tensor *x = &k->in[0];
  const jf_tuples t = jf_tuples_of(&k->in[1], &x->shape);
  const size_t size = jfl_dtype_size(x->dtype), run = (size_t)t.run * size;
  char *y = k->out[0].data;
  JF_TRY(jf_tuples_check(k, &t));
  for (int64_t j = 0; j < t.count && !jf_loop_ends_at(j, t.run); j++, y += run)
    memcpy(y, (const char *)x->data + (size_t)nd_place(&t, j) * size, run);
  return JFL_OK;
}

/* Makes the result a copy of input 0, unless it has that memory already. */
static void nd_begin(const jf_kargs *k)
{
  const jf_tensor *x = &k->in[0], *y = &k->out[0];
  if (y->data != x->data)
    memcpy(y->data, x->data, JF_BYTES_OF(x));
}

/* Puts updates in their order, so that the last one stays. */
static jfl_status nd_put(const jf_kargs *k)
{
  const jf_tensor *y = &k->out[0];
  const jf_tuples t = jf_tuples_of(&k->in[1], &y->shape);
  const size_t size = jfl_dtype_size(y->dtype), run = (size_t)t.run * size;
  const char *u = k->in[2].data;
  JF_TRY(jf_tuples_check(k, &t));
  nd_begin(k);
  for (int64_t j = 0; j < t.count && !jf_loop_ends_at(j, t.run); j++, u += run)
    memcpy((char *)y->data + (size_t)nd_place(&t, j) * size, u, run);
  return JFL_OK;
}

/* y[place of tuple j] += u[j], in the order of j. */
static void nd_sum(const jf_tensor *y, const jf_tuples *t, const char *u)
{
  const size_t size = jfl_dtype_size(y->dtype);
  for (int64_t j = 0; j < t->count && !jf_loop_ends_at(j, t->run); j++, u += (size_t)t->run * size)
    jf_increase[y->dtype]((char *)y->data + (size_t)nd_place(t, j) * size, u, t->run);
}

static jfl_status nd_add(const jf_kargs *k)
{
  const jf_tuples t = jf_tuples_of(&k->in[1], &k->out[0].shape);
  JF_TRY(jf_tuples_check(k, &t));
  nd_begin(k);
  nd_sum(&k->out[0], &t, k->in[2].data);
  return JFL_OK;
}

static jfl_status nd_scatter(const jf_kargs *k)
{
  const jf_tensor *y = &k->out[0];
  const jf_tuples t = jf_tuples_of(&k->in[0], &y->shape);
  JF_TRY(jf_tuples_check(k, &t));
  memset(y->data, 0, (size_t)jf_numel(&y->shape) * jfl_dtype_size(y->dtype));
  nd_sum(y, &t, k->in[1].data);
  return JFL_OK;
}

/* How many axes the tuples of v name. */
static int nd_named(const jfl_value *v) { return (int)v->shape.d[v->shape.n - 1]; }

static void gather_nd_signatures(jf_signatures *c)
{
  const jfl_value *params = c->node->in[0], *ids = c->node->in[1];
  const int named = nd_named(ids), tuples = ids->shape.n - 1;
  for (int i = 0; i < tuples; i++) jf_signature_say(c, "B,%d->%d", i, i);
  for (int i = named; i < params->shape.n; i++)
    jf_signature_say(c, "%d,B->%d", i, i - named + tuples);
  jf_signature_say(c, "P,B->P");
}

static void scatter_nd_signatures(jf_signatures *c)
{
  const jfl_value *ids = c->node->in[0];
  const int named = nd_named(ids), tuples = ids->shape.n - 1;
  for (int i = named; i < c->node->out[0]->shape.n; i++)
    jf_signature_say(c, "B,%d->%d", i - named + tuples, i);
  for (int i = 0; i < tuples; i++) jf_signature_say(c, "%d,%d->P", i, i);
  jf_signature_say(c, "B,P->P");
}

static void scatter_nd_share(jf_share *s)
{
  ((scatter_nd *)s->attr)->shape = jf_ints_from(&s->out[0]);
}

static void tensor_scatter_signatures(jf_signatures *c)
{
  const jfl_value *ids = c->node->in[1];
  const int named = nd_named(ids), tuples = ids->shape.n - 1;
  for (int i = named; i < c->node->in[0]->shape.n; i++)
    jf_signature_say(c, "%d,B,%d->%d", i, i - named + tuples, i);
  jf_signature_say(c, "P,B,P->P");
}

JFL_OP(gather_nd, .doc = "Slices of params at the tuples along the last axis of indices.",
  .path = "gather_nd", .in = {"params", "indices"}, .out = {"y"}, .infer = gather_nd_infer,
  .grad = gather_nd_grad, .cpu = JF_KERNELS(JF_EVERY_DTYPE(nd_gather)),
  .signatures = gather_nd_signatures)

JFL_OP(scatter_nd, .doc = "A tensor of zeros to which updates are added at the tuples of indices.",
  .path = "scatter_nd", .in = {"indices", "updates"}, .out = {"y"},
  JF_WITH(scatter_attrs, scatter_nd), .key = 1, .infer = scatter_nd_infer, .grad = scatter_nd_grad,
  .cpu = JF_KERNELS(JF_EVERY_NUM(nd_scatter)), .signatures = scatter_nd_signatures,
  .share = scatter_nd_share)

JFL_OP(tensor_scatter_nd_update,
  .doc = "params with updates at the tuples of indices; of several at one place the last stays.",
  .path = "tensor_scatter_nd_update", .in = {"params", "indices", "updates"}, .out = {"y"},
  .inplace = 1, .infer = tensor_scatter_infer, .grad = nd_update_grad,
  .cpu = JF_KERNELS(JF_EVERY_DTYPE(nd_put)), .signatures = tensor_scatter_signatures)

JFL_OP(tensor_scatter_nd_add, .doc = "params, plus updates at the tuples of indices.",
  .path = "tensor_scatter_nd_add", .in = {"params", "indices", "updates"}, .out = {"y"},
  .inplace = 1, .infer = tensor_scatter_infer, .grad = nd_add_grad,
  .cpu = JF_KERNELS(JF_EVERY_NUM(nd_add)), .signatures = tensor_scatter_signatures)
