/* Order along an axis: sort gives the elements, argsort their positions, top_k the positions of the
   largest. Equal elements keep their order; a NaN counts as larger than any number. */
#include "op/attrs.h"
#include "op/constant.h"
#include "op/move.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_sort, axis, INT, "-1", "the axis along which elements are put in order"),
  JF_WORD(jf_sort, direction, "ASCENDING", "ASCENDING DESCENDING", "what the order begins with: "
          "ASCENDING: the smallest, DESCENDING: the largest"))
JF_ATTRS(top_attrs,
  JF_FIELD(jf_top_k, axis, INT, "-1", "the axis to search"),
  JF_FIELD(jf_top_k, k, INT, "1", "how many are wanted"),
  JF_FIELD(jf_top_k, sorted, BOOL, "true", "whether the order matters; it begins with the largest"))

static jfl_status sort_axis(const jf_infer *c, int64_t *axis)
{
  const jfl_shape *s = &c->in[0]->shape;
  JF_TRY(jf_axis(axis, s->n));
  if (s->d[*axis] <= INT32_MAX) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "axis %lld has %lld elements, whose positions int32 cannot count",
                 (long long)*axis, (long long)s->d[*axis]);
}

static jfl_status sort_infer(jf_infer *c)
{
  JF_TRY(sort_axis(c, &((jf_sort *)c->attr)->axis));
  for (int i = 0; i < c->n_out; i++) c->shape[i] = c->in[0]->shape;
  c->dtype[0] = c->in[0]->dtype;
  c->dtype[c->n_out - 1] = JFL_I32;
  return JFL_OK;
}

static jfl_status top_k_infer(jf_infer *c)
{
  jf_top_k *a = c->attr;
  JF_TRY(sort_axis(c, &a->axis));
  c->shape[0] = c->in[0]->shape;
  const int64_t n = c->shape[0].d[a->axis];
  if (a->k < 0 || a->k > n)
    return jf_fail_argument(JFL_EINVAL, "k", "must be from 0 to %lld, the extent of axis %lld, got "
                            "%lld", (long long)n, (long long)a->axis, (long long)a->k);
  c->shape[0].d[a->axis] = a->k;
  c->dtype[0] = JFL_I32;
  return JFL_OK;
}

static void sort_grad(jf_gradctx *c)
{
  const jfl_value *x = c->in[0];
  jf_dim_gather along = { ((const jf_sort *)c->node->attr)->axis };
  jfl_value *zeros = jf_emit_number(c->g, x->dtype, &x->shape, 0);
  c->dx[0] = JF_EMIT(c->g, dim_scatter_add, &along, zeros, c->out[1], c->dy[0]);
}

/* One line of m elements that are `step` apart: sorts their positions into `order`, which has room
   for 2 m. */
typedef void (*sort_line)(const void *x, int64_t m, int64_t step, int32_t *order);

/* Merges runs of positions that are in order, of twice the length each time. */
#define LINE(id, D, T, BEFORE)                                                          \
  static void id##_line_##D(const void *line, int64_t m, int64_t step, int32_t *order)  \
  {                                                                                     \
    const T *x = line;                                                                  \
    int32_t *from = order, *to = order + m;                                             \
    for (int64_t i = 0; i < m; i++) from[i] = (int32_t)i;                               \
    for (int64_t run = 1; run < m; run *= 2) {                                          \
      for (int64_t low = 0; low < m; low += 2 * run) {                                  \
        if (jf_loop_ends_at(low / (2 * run), 2 * run)) return;                          \
        const int64_t middle = low + run < m ? low + run : m;                           \
        const int64_t high = middle + run < m ? middle + run : m;                       \
        int64_t i = low, j = middle;                                                    \
        for (int64_t at = low; at < high; at++) {                                       \
          const T a = i < middle ? x[from[i] * step] : 0, b = j < high ? x[from[j] * step] : 0; \
          to[at] = i < middle && (j >= high || !(BEFORE)) ? from[i++] : from[j++];      \
        }                                                                               \
      }                                                                                 \
      int32_t *other = from;                                                            \
      from = to;                                                                        \
      to = other;                                                                       \
    }                                                                                   \
    if (from != order) memcpy(order, from, (size_t)m * sizeof *order);                  \
  }
/* BEFORE: whether b, which stands behind a, belongs before it. */
#define LINES(D, T)                                           \
  LINE(rise, D, T, b < a || (a != a && b == b))               \
  LINE(fall, D, T, b > a || (b != b && a == a))
JF_EACH_TYPE(LINES)
static const sort_line rise[JFL_N_DTYPE] = { JF_TYPES(rise_line_) };
static const sort_line fall[JFL_N_DTYPE] = { JF_TYPES(fall_line_) };

static size_t sort_scratch_of(const jf_kargs *k, int64_t axis)
{
  return 2 * (size_t)k->in[0].shape.d[axis] * sizeof(int32_t);
}
static size_t sort_scratch(const jf_kargs *k)
{
  return sort_scratch_of(k, ((const jf_sort *)k->attr)->axis);
}
static size_t top_k_scratch(const jf_kargs *k)
{
  return sort_scratch_of(k, ((const jf_top_k *)k->attr)->axis);
}

/* Writes the first n positions of each line along the axis in order to `at`; where y is not NULL,
   the elements that stand there to y. */
static void sort_lines(const jf_kargs *k, int64_t axis, sort_line line, int64_t n, int32_t *at,
                       char *y)
{
  const jf_tensor *x = &k->in[0];
  const jf_axes s = jf_axes_at(&x->shape, axis);
  const size_t size = jfl_dtype_size(x->dtype);
  int32_t *order = k->scratch;
  for (int64_t i = 0; i < s.before * s.after && !jf_loop_ends_at(i, s.m); i++) {
    const char *from = (const char *)x->data
                       + (size_t)(i / s.after * s.m * s.after + i % s.after) * size;
    const int64_t to = i / s.after * n * s.after + i % s.after;
    line(from, s.m, s.after, order);
    if (jf_loop_ends()) return;          /* order may hold anything */
    for (int64_t j = 0; j < n; j++) {
      at[to + j * s.after] = order[j];
      if (y) memcpy(y + (size_t)(to + j * s.after) * size,
                    from + (size_t)(order[j] * s.after) * size, size);
    }
  }
}

static jfl_status sort_all(const jf_kargs *k)
{
  const jf_sort *a = k->attr;
  const sort_line line = (jf_sort_falls(a) ? fall : rise)[k->in[0].dtype];
  sort_lines(k, a->axis, line, k->in[0].shape.d[a->axis], k->out[k->n_out - 1].data,
             k->n_out > 1 ? k->out[0].data : NULL);
  return JFL_OK;
}

static jfl_status sort_top(const jf_kargs *k)
{
  const jf_top_k *a = k->attr;
  sort_lines(k, a->axis, fall[k->in[0].dtype], a->k, k->out[0].data, NULL);
  return JFL_OK;
}
#define ALL_ROW(D, T) [JFL_##D] = sort_all,
#define TOP_ROW(D, T) [JFL_##D] = sort_top,
static const jf_kernel all_cpu[JFL_N_DTYPE] = { JF_EACH_TYPE(ALL_ROW) };

static void sort_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 1u << ((const jf_sort *)c->node->attr)->axis);
}

static void top_k_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 1u << ((const jf_top_k *)c->node->attr)->axis);
}

JFL_OP(sort, .doc = "The elements of input in order along axis.", .path = "sort",
  .in = {"input"}, .out = {"y", "positions"}, .n_public = 1, JF_WITH(attrs, jf_sort),
  .flags = JF_COSTLY, .infer = sort_infer, .grad = sort_grad, .cpu = all_cpu,
  .scratch = sort_scratch, .signatures = sort_signatures)

JFL_OP(argsort, .doc = "The positions (int32) along axis at which the elements of input stand in "
  "order.", .path = "argsort", .in = {"input"}, .out = {"y"}, JF_WITH(attrs, jf_sort),
  .flags = JF_COSTLY, .infer = sort_infer, .cpu = all_cpu, .scratch = sort_scratch,
  .signatures = sort_signatures)

JFL_OP(top_k, .doc = "The positions (int32) of the k largest elements along axis.",
  .path = "math.top_k", .in = {"input"}, .out = {"y"}, JF_WITH(top_attrs, jf_top_k),
  .flags = JF_COSTLY, .infer = top_k_infer, .cpu = JF_KERNELS(JF_EACH_TYPE(TOP_ROW)),
  .scratch = top_k_scratch, .signatures = top_k_signatures)
