/* The op segment_update: a parameter's step along sums of slices, such as the gradient of the rows
   that a gather picked. */
#include "optim/segment_update.h"
#include "optim/optim.h"
#include "op/index.h"

JF_ATTRS(attrs,
  JF_FIELD(jf_segment_sum, num_segments, INT, NULL, "how many sums there are"),
  JF_FIELD(jf_segment_sum, axis, INT, "0", "the axis of data that segment_ids start at"),
  JF_FIELD(jf_segment_sum, batch_dims, INT, "0", "how many leading axes both share"),
  JF_FIELD(jf_segment_sum, ignored, INT, "-1", "the segment that takes no step; -1: none"))

/* Checks that the sums have the parameter's shape. */
static jfl_status segment_update_infer(jf_infer *c)
{
  const jfl_value *param = c->in[JF_SEGMENT_PARAM], *scalars = c->in[JF_SEGMENT_SCALARS];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  jf_infer sum = { .op = &jf_op_unsorted_segment_sum, .in = c->in + JF_SEGMENT_DATA, .n_in = 2,
                   .attr = c->attr, .arena = c->arena };
  jf_infer_many(&sum, 1);
  JF_TRY(sum.op->infer(&sum));
  if (param->dtype != sum.dtype[0] || !jf_shape_eq(&param->shape, &sum.shape[0]))
    return jf_fail_argument(JFL_ESHAPE, "param", "must be %s %s like the sums, got %s %s",
                            jfl_dtype_name(sum.dtype[0]), jf_shape_str(&sum.shape[0], t),
                            jfl_dtype_name(param->dtype), jf_shape_str(&param->shape, s));
  if (scalars->dtype == JFL_F64 && jf_numel(&scalars->shape) == JF_FIRST_SCALAR) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, "scalars", "must be float64 (%d), got %s %s",
                          JF_FIRST_SCALAR, jfl_dtype_name(scalars->dtype),
                          jf_shape_str(&scalars->shape, s));
}

/* w[b, i, id[b, j]] -= rate * x[b, i, j], each a run, in the order of j */
#define STEP(D, T)                                                                         \
  static jfl_status segment_step_##D(const jf_kargs *k)                                    \
  {                                                                                        \
    const jf_segment_sum *a = k->attr;                                                     \
    const jf_tensor *w = &k->in[JF_SEGMENT_PARAM], *ids = &k->in[JF_SEGMENT_IDS];          \
    const jf_picks p = jf_picks_of(&w->shape, &ids->shape, a->axis, a->batch_dims);        \
    const double *scalar = jf_update_scalars(k);                                           \
    const T rate = (T)(scalar[JF_RATE] * scalar[JF_SCALE]);                                \
    const T *x = k->in[JF_SEGMENT_DATA].data;                                              \
    JF_TRY(jf_check_range(k, JF_WRONG_SEGMENT, ids, p.m));                                 \
    for (int64_t i = 0; i < p.batches * p.outer && !jf_loop_ends_at(i, p.n * p.run); i++)  \
      for (int64_t j = 0; j < p.n && !jf_loop_ends_at(j, p.run); j++, x += p.run) {        \
        const int64_t id = jf_index_at(ids, i / p.outer * p.n + j);                        \
        T *y = (T *)w->data + (i * p.m + id) * p.run;                                      \
        for (int64_t l = 0; id != a->ignored && l < p.run; l++) y[l] -= rate * x[l];       \
      }                                                                                    \
    return JFL_OK;                                                                         \
  }
JF_EACH_FLOAT(STEP)

JFL_OP(segment_update, .doc = "param -= lr scale unsorted_segment_sum(data, segment_ids).",
  .in = {"param", "data", "segment_ids", "scalars"}, JF_WITH(attrs, jf_segment_sum),
  .flags = JF_EFFECT, .mutates = 1 << JF_SEGMENT_PARAM, .infer = segment_update_infer,
  .cpu = JF_KERNELS(JF_FLOATS(segment_step_)))
