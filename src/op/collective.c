/* Sums over ranks of the world, and messages between them. All ranks that take part have such a
   node, and they reach those that they share in the same order (JF_TOGETHER). */
#include "op/collective.h"
#include "ir/ir.h"
#include "op/move.h"
#include "world/collective.h"

#include <string.h>

static jf_addition collective_adder(jfl_dtype t)
{
  return (jf_addition){ jfl_dtype_size(t), jf_increase[t] };
}

static jfl_status collective_check_ranks(const jf_ints *ranks)
{
  int ascend = ranks->n > 0 && ranks->v[0] >= 0;
  for (int i = 1; i < ranks->n; i++) ascend &= ranks->v[i] > ranks->v[i - 1];
  if (ascend) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "ranks", "must be one or more ranks in ascending order");
}

/* ---- all_reduce ---- */

#define COLLECTIVE_TEAM(T) \
  JF_FIELD(T, team, INT, "0", "the number of the devices that do it; 0: the host does")

JF_ATTRS(all_reduce_attrs,
  JF_FIELD(jf_all_reduce, ranks, INTS, NULL, "the ranks whose tensors are added, ascending"),
  COLLECTIVE_TEAM(jf_all_reduce))

static jfl_status all_reduce_infer(jf_infer *c)
{
  JF_TRY(collective_check_ranks(&((const jf_all_reduce *)c->attr)->ranks));
  jf_infer_many(c, c->n_in);
  for (int i = 0; i < c->n_in; i++) {
    if (c->in[i]->dtype != c->in[0]->dtype)
      return jf_fail(JFL_EDTYPE, "input %d must be %s like input 1, got %s", i + 1,
                     jfl_dtype_name(c->in[0]->dtype), jfl_dtype_name(c->in[i]->dtype));
    c->dtype[i] = c->in[i]->dtype;
    c->shape[i] = c->in[i]->shape;
  }
  return JFL_OK;
}

static size_t all_reduce_bytes(const jf_kargs *k)
{
  size_t bytes = 0;
  for (int i = 0; i < k->n_in; i++) bytes += JF_BYTES_OF(&k->in[i]);
  return bytes;
}

/* Several tensors are added as one: so small ones cost no message each. */
static size_t all_reduce_scratch(const jf_kargs *k)
{
  return k->n_in > 1 ? all_reduce_bytes(k) : 0;
}

static jfl_status all_reduce(const jf_kargs *k)
{
  const jf_all_reduce *a = k->attr;
  const jf_ranks team = { a->ranks.n, a->ranks.v };
  const jf_addition t = collective_adder(k->in[0].dtype);
  char *data = k->n_in > 1 ? k->scratch : k->out[0].data;
  size_t at = 0, n = 0;
  for (int i = 0; i < k->n_in; i++, at += n)
    if ((n = JF_BYTES_OF(&k->in[i])) && data + at != (char *)k->in[i].data)
      memcpy(data + at, k->in[i].data, n);
  JF_TRY(jf_world_all_reduce(&team, data, (int64_t)(at / t.size), &t));
  if (k->n_in == 1) return JFL_OK;
  at = 0;
  for (int i = 0; i < k->n_in; i++, at += n)
    if ((n = JF_BYTES_OF(&k->in[i]))) memcpy(k->out[i].data, data + at, n);
  return JFL_OK;
}

JFL_OP(all_reduce, .doc = "The sums of tensors over ranks.", .in = { "tensors" },
       .out = { "sums" }, JF_WITH(all_reduce_attrs, jf_all_reduce),
       .flags = JF_VARIADIC | JF_MANY | JF_INTERNAL | JF_TOGETHER | JF_HALVES, .inplace = 1,
       .infer = all_reduce_infer,
       .cpu = JF_KERNELS(JF_EVERY_DTYPE(all_reduce)), .scratch = all_reduce_scratch)

/* ---- reduce_scatter ---- */

JF_ATTRS(reduce_scatter_attrs,
  JF_FIELD(jf_reduce_scatter, ranks, INTS, NULL, "the ranks whose tensors are added, ascending"),
  JF_FIELD(jf_reduce_scatter, sizes, INTS, NULL, "the extent of each rank's part along axis"),
  JF_FIELD(jf_reduce_scatter, member, INT, NULL, "which of these ranks this one is, from 0"),
  JF_FIELD(jf_reduce_scatter, axis, INT, "0", "the axis along which the sum is cut into parts"),
  COLLECTIVE_TEAM(jf_reduce_scatter))

static jfl_status reduce_scatter_infer(jf_infer *c)
{
  jf_reduce_scatter *a = c->attr;
  int64_t left = 0;
  JF_TRY(collective_check_ranks(&a->ranks));
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n));
  if (a->sizes.n != a->ranks.n)
    return jf_fail_argument(JFL_EINVAL, "sizes", "must have one number for each of %d ranks, got "
                            "%d", a->ranks.n, a->sizes.n);
  if (a->member < 0 || a->member >= a->ranks.n)
    return jf_fail_argument(JFL_EINVAL, "member", "must be below %d, got %lld", a->ranks.n,
                            (long long)a->member);
  left = c->in[0]->shape.d[a->axis];
  for (int i = 0; i < a->sizes.n && left >= 0; i++)
    left = a->sizes.v[i] < 0 ? -1 : left - a->sizes.v[i];
  if (left)
    return jf_fail_argument(JFL_ESHAPE, "sizes", "must add up to the axis's extent %lld",
                            (long long)c->in[0]->shape.d[a->axis]);
  c->dtype[0] = c->in[0]->dtype;
  c->shape[0] = c->in[0]->shape;
  c->shape[0].d[a->axis] = a->sizes.v[a->member];
  return JFL_OK;
}

/* The tensor is added up part by part, so it is copied to where the parts follow each other. */
static size_t reduce_scatter_scratch(const jf_kargs *k) { return JF_BYTES_OF(&k->in[0]); }

static void reduce_scatter_pack(const jf_kargs *k, const jf_reduce_scatter *a)
{
  const jf_axes s = jf_axes_at(&k->in[0].shape, a->axis);
  const size_t one = (size_t)s.after * jfl_dtype_size(k->in[0].dtype), row = (size_t)s.m * one;
  const char *x = k->in[0].data;
  char *to = k->scratch;
  size_t begin = 0;
  for (int i = 0; i < a->sizes.n; i++) {
    const size_t run = (size_t)a->sizes.v[i] * one;
    for (int64_t j = 0; run && j < s.before; j++, to += run)
      memcpy(to, x + (size_t)j * row + begin, run);
    begin += run;
  }
}

static jfl_status reduce_scatter(const jf_kargs *k)
{
  enum { SOME = 64 };
  const jf_reduce_scatter *a = k->attr;
  const jf_ranks team = { a->ranks.n, a->ranks.v };
  const jf_addition t = collective_adder(k->in[0].dtype);
  const jf_axes s = jf_axes_at(&k->in[0].shape, a->axis);
  int64_t some[SOME], *count = some;
  if (a->sizes.n > SOME && !(count = jf_new((size_t)a->sizes.n * sizeof *count)))
    return jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; i < a->sizes.n; i++) count[i] = a->sizes.v[i] * s.before * s.after;
  reduce_scatter_pack(k, a);
  const jfl_status st = jf_world_reduce_scatter(&team, k->scratch, k->out[0].data, count, &t);
  if (count != some) jf_free(count);
  return st;
}

JFL_OP(reduce_scatter, .doc = "This rank's part of the sum of a tensor over ranks.", .in = { "x" },
       .out = { "part" }, JF_WITH(reduce_scatter_attrs, jf_reduce_scatter),
       .flags = JF_INTERNAL | JF_TOGETHER | JF_HALVES, .infer = reduce_scatter_infer,
       .cpu = JF_KERNELS(JF_EVERY_DTYPE(reduce_scatter)), .scratch = reduce_scatter_scratch)

/* ---- exchange ---- */

JF_ATTRS(exchange_attrs,
  JF_FIELD(jf_exchange, to, INTS, NULL, "the rank that each input is sent to"),
  JF_FIELD(jf_exchange, from, INTS, NULL, "the rank that each result comes from"),
  JF_FIELD(jf_exchange, shapes, INTS, NULL, "of each result the number of axes, and the extents"),
  JF_FIELD(jf_exchange, dtype, DTYPE, NULL, "of what is sent and received"),
  COLLECTIVE_TEAM(jf_exchange))

static jfl_status exchange_shape(const jf_ints *v, int *at, jfl_shape *out)
{
  const int64_t n = *at < v->n ? v->v[(*at)++] : -1;
  if (n < 0 || n > JFL_MAXDIM || n > v->n - *at)
    return jf_fail_argument(JFL_ESHAPE, "shapes", "must have the number of axes and the extents of "
                            "each result");
  *out = (jfl_shape){ .n = (int)n };
  for (int i = 0; i < out->n; i++) out->d[i] = v->v[(*at)++];
  return jf_shape_check(out, "part");
}

/* A call that receives nothing has an empty result, as each node has one. */
static jfl_status exchange_infer(jf_infer *c)
{
  const jf_exchange *a = c->attr;
  int at = 0;
  if (a->to.n != c->n_in)
    return jf_fail_argument(JFL_EINVAL, "to", "must have a rank for each of %d inputs, got %d",
                            c->n_in, a->to.n);
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i]->dtype != a->dtype)
      return jf_fail(JFL_EDTYPE, "input %d must be %s, got %s", i + 1, jfl_dtype_name(a->dtype),
                     jfl_dtype_name(c->in[i]->dtype));
  jf_infer_many(c, a->from.n ? a->from.n : 1);
  c->dtype[0] = a->dtype;
  c->shape[0] = (jfl_shape){ 1, { 0 } };
  for (int i = 0; i < a->from.n; i++) {
    c->dtype[i] = a->dtype;
    JF_TRY(exchange_shape(&a->shapes, &at, &c->shape[i]));
  }
  return JFL_OK;
}

static size_t exchange_scratch(const jf_kargs *k)
{
  return (size_t)(k->n_in + k->n_out) * sizeof(jf_mail);
}

static jfl_status exchange(const jf_kargs *k)
{
  const jf_exchange *a = k->attr;
  jf_mail *send = k->scratch, *receive = send + k->n_in;
  int n_send = 0, n_receive = 0;
  for (int i = 0; i < k->n_in; i++) {
    const jf_mail m = { (int)a->to.v[i], k->in[i].data, JF_BYTES_OF(&k->in[i]) };
    if (m.size) send[n_send++] = m;
  }
  for (int i = 0; i < a->from.n; i++) {
    const jf_mail m = { (int)a->from.v[i], k->out[i].data, JF_BYTES_OF(&k->out[i]) };
    if (m.size) receive[n_receive++] = m;
  }
  return jf_world_exchange(send, n_send, receive, n_receive);
}

JFL_OP(exchange, .doc = "Tensors that other ranks send, while the inputs are sent to others.",
       .in = { "tensors" }, .out = { "parts" }, JF_WITH(exchange_attrs, jf_exchange),
       .flags = JF_VARIADIC | JF_OPTIONAL | JF_MANY | JF_INTERNAL | JF_TOGETHER | JF_HALVES,
       .infer = exchange_infer,
       .cpu = JF_KERNELS(JF_EVERY_DTYPE(exchange)), .scratch = exchange_scratch)
