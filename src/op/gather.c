/* gather picks slices by number, also of weights in blocks, unsorted_segment_sum adds slices by
   number, one_hot writes numbers as vectors. */
#include "op/gather.h"
#include "dev/blocks.h"
#include "op/constant.h"
#include "op/move.h"
#include "op/reshape.h"

#include <string.h>

JF_ATTRS(gather_attrs,
  JF_FIELD(jf_gather, axis, INT, "0",
           "the axis that indices count along; batch_dims where it is less than that"),
  JF_FIELD(jf_gather, batch_dims, INT, "0",
           "how many leading axes params and indices share, each index of which picks for itself"),
  JF_FIELD(jf_gather, padding_idx, INT, "-1",
           "the index whose slices get no gradient; -1: all get theirs"))
JF_ATTRS(sum_attrs,
  JF_RANGE(jf_segment_sum, num_segments, INT, NULL, "at least 0", "how many sums there are"),
  JF_FIELD(jf_segment_sum, axis, INT, "0",
           "the axis of data that segment_ids start at; batch_dims where it is less than that"),
  JF_FIELD(jf_segment_sum, batch_dims, INT, "0",
           "how many leading axes data and segment_ids share, each index with sums of its own"),
  JF_FIELD(jf_segment_sum, ignored, INT, "-1", "the segment that stays 0; -1: none does"))
JF_ATTRS(one_hot_attrs,
  JF_RANGE(jf_one_hot, depth, INT, NULL, "at least 1", "how many classes there are"),
  JF_FIELD(jf_one_hot, on_value, NUM, "1", "the number at an index"),
  JF_FIELD(jf_one_hot, off_value, NUM, "0", "the number elsewhere"),
  JF_FIELD(jf_one_hot, axis, INT, "-1", "where the classes stand in the result"),
  JF_FIELD(jf_one_hot, dtype, DTYPE, "float32", "the dtype of the result"))

/* Replaces axes axis .. axis + drop - 1 of *s by those of t. */
static jfl_status splice(const jfl_shape *s, int axis, int drop,
                         const jfl_shape *t, jfl_shape *out)
{
  jfl_shape y = { .n = s->n - drop + t->n };
  if (y.n > JFL_MAXDIM)
    return jf_fail(JFL_ESHAPE, "the result would have %d dimensions, at most %d are possible", y.n,
                   (int)JFL_MAXDIM);
  for (int i = 0; i < axis; i++) y.d[i] = s->d[i];
  for (int i = 0; i < t->n; i++) y.d[axis + i] = t->d[i];
  for (int i = axis + drop; i < s->n; i++) y.d[i - drop + t->n] = s->d[i];
  *out = y;
  return JFL_OK;
}

/* Checks that inputs 0 and 1 have batch_dims leading axes in common, and makes *axis count from 0
   and at least batch_dims; rank: how many axes it counts among. */
static jfl_status check_batch(const jf_infer *c, int64_t batch_dims, int rank, int64_t *axis)
{
  const jfl_shape *s = &c->in[0]->shape, *ids = &c->in[1]->shape;
  char x[JF_SHAPE_STR], y[JF_SHAPE_STR];
  const int most = ids->n < rank - 1 ? ids->n : rank - 1;
  if (batch_dims < 0 || (batch_dims && batch_dims > most))
    return jf_fail_argument(JFL_EINVAL, "batch_dims", "must be from 0 to %d, got %lld",
                            most > 0 ? most : 0, (long long)batch_dims);
  JF_TRY(jf_axis(axis, rank));
  if (*axis < batch_dims) *axis = batch_dims;
  int fit = 1;
  for (int i = 0; i < batch_dims; i++) fit &= s->d[i] == ids->d[i];
  if (fit) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[1], "must have the first %lld extents of %s %s, "
                          "got %s", (long long)batch_dims, c->op->in[0], jf_shape_str(s, x),
                          jf_shape_str(ids, y));
}

/* The axes of ids after those of the batch. */
static jfl_shape ids_after(const jfl_shape *ids, int64_t batch_dims)
{
  jfl_shape s = { .n = ids->n - (int)batch_dims };
  for (int i = 0; i < s.n; i++) s.d[i] = ids->d[i + batch_dims];
  return s;
}

static jfl_status gather_infer(jf_infer *c)
{
  jf_gather *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  JF_TRY(jf_check_indices(c, 1));
  JF_TRY(check_batch(c, a->batch_dims, s->n, &a->axis));
  const jfl_shape ids = ids_after(&c->in[1]->shape, a->batch_dims);
  if (a->padding_idx < -1 || a->padding_idx >= s->d[a->axis])
    return jf_fail_argument(JFL_EINVAL, "padding_idx", "must be -1 or an index of axis %lld of "
                            "extent %lld, got %lld", (long long)a->axis,
                            (long long)s->d[a->axis], (long long)a->padding_idx);
  c->dtype[0] = c->in[0]->dtype;
  return splice(s, (int)a->axis, 1, &ids, &c->shape[0]);
}

static jfl_status sum_infer(jf_infer *c)
{
  jf_segment_sum *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  char x[JF_SHAPE_STR], y[JF_SHAPE_STR];
  JF_TRY(jf_check_indices(c, 1));
  const int lone = c->in[1]->shape.n <= a->batch_dims;
  JF_TRY(check_batch(c, a->batch_dims, s->n + lone, &a->axis));
  const jfl_shape ids = ids_after(&c->in[1]->shape, a->batch_dims);
  int fit = a->axis + ids.n <= s->n;
  for (int i = 0; fit && i < ids.n; i++) fit = s->d[a->axis + i] == ids.d[i];
  if (!fit)
    return jf_fail_argument(JFL_ESHAPE, "data", "must have the extents of segment_ids %s from "
                            "axis %lld on, got %s", jf_shape_str(&ids, y), (long long)a->axis,
                            jf_shape_str(s, x));
  if (a->ignored != -1 && (a->ignored < 0 || a->ignored >= a->num_segments))
    return jf_fail_argument(JFL_EINVAL, "ignored", "must be -1 or one of %lld segments, got %lld",
                            (long long)a->num_segments, (long long)a->ignored);
  c->dtype[0] = c->in[0]->dtype;
  return splice(s, (int)a->axis, ids.n, &(jfl_shape){ 1, { a->num_segments } }, &c->shape[0]);
}

static jfl_status one_hot_infer(jf_infer *c)
{
  jf_one_hot *a = c->attr;
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n + 1));
  if (!jf_holds(a->dtype, a->on_value) || !jf_holds(a->dtype, a->off_value))
    return jf_fail(JFL_EINVAL, "on_value and off_value must fit %s, got %.17g and %.17g",
                   jfl_dtype_name(a->dtype), a->on_value, a->off_value);
  c->dtype[0] = a->dtype;
  return splice(&c->in[0]->shape, (int)a->axis, 0, &(jfl_shape){ 1, { a->depth } },
                &c->shape[0]);
}

static void gather_grad(jf_gradctx *c)
{
  const jf_gather *a = c->node->attr;
  jf_segment_sum sum = { c->in[0]->shape.d[a->axis], a->axis, a->batch_dims, a->padding_idx };
  c->dx[0] = JF_EMIT(c->g, unsorted_segment_sum, &sum, c->dy[0], c->in[1]);
}

/* The gradient of what is ignored is 0, which a gather from a result that is 0 there gives. */
static void gather_sum_grad(jf_gradctx *c)
{
  const jf_segment_sum *s = c->node->attr;
  jf_gather a = { s->axis, s->batch_dims, s->ignored };
  jfl_value *dy = c->dy[0];
  if (s->ignored >= 0) {
    jf_one_hot one = { s->num_segments, 0, 1, 0, dy->dtype };
    jfl_shape line = { .n = dy->shape.n - (int)s->axis };
    for (int i = 0; i < line.n; i++) line.d[i] = i ? 1 : s->num_segments;
    jfl_value *at = jf_emit_number(c->g, JFL_I64, &(jfl_shape){ 0 }, (double)s->ignored);
    jfl_value *keep = jf_emit_view(c->g, JF_EMIT(c->g, one_hot, &one, at), &line);
    dy = JF_EMIT(c->g, multiply, NULL, dy, keep);
  }
  c->dx[0] = JF_EMIT(c->g, gather, &a, dy, c->in[1]);
}

jf_picks jf_picks_of(const jfl_shape *whole, const jfl_shape *ids, int64_t axis,
                     int64_t batch_dims)
{
  jf_picks p = { 1, 1, whole->d[axis], 1, 1 };
  for (int i = 0; i < whole->n; i++) {
    if (i < batch_dims) p.batches *= whole->d[i];
    else if (i < axis) p.outer *= whole->d[i];
    else if (i > axis) p.run *= whole->d[i];
  }
  for (int i = (int)batch_dims; i < ids->n; i++) p.n *= ids->d[i];
  return p;
}

/* y[b, i, j] = x[b, i, id[b, j]], each a run of elements, which take `size` bytes each in y. `copy`
   brings n of them there. */
static jfl_status gather_runs(const jf_kargs *k, size_t size,
                              void (*copy)(jfl_dtype t, const void *from, int64_t n, void *to))
{
  const jf_gather *a = k->attr;
  const jf_tensor *x = &k->in[0], *ids = &k->in[1];
  const jf_picks p = jf_picks_of(&x->shape, &ids->shape, a->axis, a->batch_dims);
  const size_t run = (size_t)p.run * jfl_dtype_size(x->dtype);
  char *y = k->out[0].data;
  JF_TRY(jf_check_range(k, JF_WRONG_INDEX, ids, p.m));
  for (int64_t i = 0; i < p.batches * p.outer && !jf_loop_ends_at(i, p.n * p.run); i++)
    for (int64_t j = 0; j < p.n && !jf_loop_ends_at(j, p.run); j++, y += (size_t)p.run * size) {
      const int64_t id = jf_index_at(ids, i / p.outer * p.n + j);
      copy(x->dtype, (const char *)x->data + (size_t)(i * p.m + id) * run, p.run, y);
    }
  return JFL_OK;
}

static void gather_copy(jfl_dtype t, const void *from, int64_t n, void *to)
{
  memcpy(to, from, (size_t)n * jfl_dtype_size(t));
}

static jfl_status gather(const jf_kargs *k)
{
  return gather_runs(k, jfl_dtype_size(k->in[0].dtype), gather_copy);
}

static jfl_status rows_infer(jf_infer *c)
{
  const jf_gather *a = c->attr;
  JF_TRY(gather_infer(c));
  if (a->axis == c->in[0]->shape.n - 1)
    return jf_fail_argument(JFL_EINVAL, "axis", "must not be the last of params of %s, which lie "
                            "in blocks along it", jfl_dtype_name(c->in[0]->dtype));
  c->shape[0] = jf_shape_numbers(c->in[0]->dtype, &c->shape[0]);
  c->dtype[0] = JFL_F32;
  return JFL_OK;
}

static void gather_unpack(jfl_dtype t, const void *from, int64_t n, void *to)
{
  jf_blocks_get(t, from, n, to);
}

static jfl_status stored_rows(const jf_kargs *k)
{
  return gather_runs(k, (size_t)jfl_dtype_numbers(k->in[0].dtype) * sizeof(float), gather_unpack);
}

/* y[b, i, id[b, j]] = sum of x[b, i, j], each a run, added in the tensor's dtype and in the order
   of j. */
static jfl_status gather_sum(const jf_kargs *k)
{
  const jf_segment_sum *a = k->attr;
  const jf_tensor *y = &k->out[0], *ids = &k->in[1];
  const jf_picks p = jf_picks_of(&y->shape, &ids->shape, a->axis, a->batch_dims);
  const size_t run = (size_t)p.run * jfl_dtype_size(y->dtype);
  const char *x = k->in[0].data;
  JF_TRY(jf_check_range(k, JF_WRONG_SEGMENT, ids, p.m));
  memset(y->data, 0, JF_BYTES_OF(y));
  for (int64_t i = 0; i < p.batches * p.outer && !jf_loop_ends_at(i, p.n * p.run); i++)
    for (int64_t j = 0; j < p.n && !jf_loop_ends_at(j, p.run); j++, x += run) {
      const int64_t id = jf_index_at(ids, i / p.outer * p.n + j);
      if (id == a->ignored) continue;
      jf_increase[y->dtype]((char *)y->data + (size_t)(i * p.m + id) * run, x, p.run);
    }
  return JFL_OK;
}

#define ONE_HOT(D, T)                                                           \
  static void mark_##D(const jf_kargs *k)                                       \
  {                                                                             \
    const jf_one_hot *a = k->attr;                                              \
    jf_axes s = jf_axes_at(&k->out[0].shape, a->axis);                          \
    T *y = k->out[0].data, on = (T)a->on_value, off = (T)a->off_value;          \
    for (int64_t i = 0, n = jf_numel(&k->out[0].shape); i < n && !jf_loop_ends_at(i, 1); i++) \
      y[i] = off;                                                               \
    for (int64_t i = 0; i < s.before * s.after && !jf_loop_ends_at(i, s.m); i++) \
      y[(i / s.after * s.m + jf_index_at(&k->in[0], i)) * s.after + i % s.after] = on; \
  }
JF_EACH_TYPE(ONE_HOT)

/* The kernel is chosen by the dtype of indices, so it looks at the dtype of the result itself. */
static jfl_status one_hot(const jf_kargs *k)
{
  static void (*const mark[JFL_N_DTYPE])(const jf_kargs *) = { JF_TYPES(mark_) };
  JF_TRY(jf_check_range(k, JF_WRONG_INDEX, &k->in[0], ((const jf_one_hot *)k->attr)->depth));
  mark[k->out[0].dtype](k);
  return JFL_OK;
}

/* y has the axes of params, but at `axis` those of indices behind batch_dims. */
static void gather_signatures(jf_signatures *c)
{
  const jf_gather *a = c->node->attr;
  const int batch = (int)a->batch_dims, axis = (int)a->axis;
  const int ids = c->node->in[1]->shape.n - batch;
  for (int i = 0; i < batch; i++) jf_signature_along(c, i);
  for (int i = 0; i < ids; i++) jf_signature_say(c, "B,%d->%d", batch + i, axis + i);
  for (int i = batch; i < c->node->in[0]->shape.n; i++)
    if (i != axis) jf_signature_say(c, "%d,B->%d", i, i < axis ? i : i - 1 + ids);
  jf_signature_say(c, "P,B->P");
}

/* The result has the axes of data, but one of segments for those of segment_ids behind
   batch_dims. */
static void sum_signatures(jf_signatures *c)
{
  const jf_segment_sum *a = c->node->attr;
  const int batch = (int)a->batch_dims, axis = (int)a->axis;
  const int ids = c->node->in[1]->shape.n - batch;
  for (int i = 0; i < batch; i++) jf_signature_along(c, i);
  for (int i = 0; i < ids; i++) jf_signature_say(c, "%d,%d->P", axis + i, batch + i);
  for (int i = batch; i < c->node->in[0]->shape.n; i++)
    if (i < axis || i >= axis + ids)
      jf_signature_say(c, "%d,B->%d", i, i < axis ? i : i - ids + 1);
  jf_signature_say(c, "P,B->P");
}

static void one_hot_signatures(jf_signatures *c)
{
  for (int i = 0; i < c->node->in[0]->shape.n; i++)
    jf_signature_say(c, "%d->%d", i, i + (i >= ((const jf_one_hot *)c->node->attr)->axis));
}

JFL_OP(gather, .doc = "Slices of params along axis, chosen by indices, which replace that axis.",
  .path = "gather", .in = {"params", "indices"}, .out = {"y"}, JF_WITH(gather_attrs, jf_gather),
  .infer = gather_infer, .grad = gather_grad, .cpu = JF_KERNELS(JF_EVERY_DTYPE(gather)),
  .signatures = gather_signatures, .stored = { &jf_op_quantized_gather, 0 })

JFL_OP(quantized_gather, .doc = "gather of params that are stored in few bits, as float32.",
       .in = { "params", "indices" }, .out = { "y" }, JF_WITH(gather_attrs, jf_gather),
       .flags = JF_BLOCKS | JF_INTERNAL, .infer = rows_infer,
       .cpu = JF_KERNELS(JF_EVERY_BLOCK(stored_rows)))

JFL_OP(unsorted_segment_sum, .doc = "Sums of the slices of data that have the same segment id.",
       .path = "math.unsorted_segment_sum", .in = { "data", "segment_ids" }, .out = { "y" },
       JF_WITH(sum_attrs, jf_segment_sum), .infer = sum_infer,
       .grad = gather_sum_grad, .descent = &jf_op_segment_update,
       .cpu = JF_KERNELS(JF_EVERY_NUM(gather_sum)), .signatures = sum_signatures)

JFL_OP(one_hot, .doc = "For each index a line with on_value at the index and off_value elsewhere.",
  .path = "one_hot", .in = {"indices"}, .out = {"y"}, JF_WITH(one_hot_attrs, jf_one_hot),
  .infer = one_hot_infer, .cpu = JF_KERNELS([JFL_I32] = one_hot, [JFL_I64] = one_hot),
  .signatures = one_hot_signatures)
