/* The position of the largest or smallest element along an axis. */
#include "op/attrs.h"
#include "op/move.h"

JF_ATTRS(attrs, JF_FIELD(jf_argmax, axis, INT, "-1", "the axis to search"))

static jfl_status argmax_infer(jf_infer *c)
{
  jf_argmax *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  char text[JF_SHAPE_STR];
  JF_TRY(jf_axis(&a->axis, s->n));
  if (s->d[a->axis] > INT32_MAX)
    return jf_fail(JFL_ESHAPE, "axis %lld has %lld elements, whose positions int32 cannot count",
                   (long long)a->axis, (long long)s->d[a->axis]);
  jfl_shape y = { 0 };
  for (int i = 0; i < s->n; i++)
    if (i != a->axis) y.d[y.n++] = s->d[i];
  c->shape[0] = y.n ? y : (jfl_shape){ 1, { 1 } };
  c->dtype[0] = JFL_I32;
  if (s->d[a->axis] > 0 || !jf_numel(&c->shape[0])) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "axis %lld must have elements, got %s", (long long)a->axis,
                 jf_shape_str(s, text));
}

typedef int64_t (*search)(const void *x, int64_t m, int64_t step);

/* Searches each line of x along the axis; `size` is the bytes of an element. */
static jfl_status search_lines(const jf_kargs *k, int64_t size, search line)
{
  jf_axes s = jf_axes_at(&k->in[0].shape, ((const jf_argmax *)k->attr)->axis);
  int32_t *y = k->out[0].data;
  for (int64_t i = 0; i < s.before * s.after && !jf_loop_ends_at(i, s.m); i++) {
    int64_t at = i / s.after * s.m * s.after + i % s.after;
    y[i] = (int32_t)line((const char *)k->in[0].data + at * size, s.m, s.after);
  }
  return JFL_OK;
}

/* Finds the first position whose element no other one beats; a NaN beats any number. */
#define SEARCH(id, D, T, better)                                          \
  static int64_t id##_line_##D(const void *in, int64_t m, int64_t step)   \
  {                                                                       \
    const T *x = in; int64_t best = 0;                                    \
    for (int64_t j = 1; j < m && !jf_loop_ends_at(j, 1); j++) {           \
      T v = x[j * step], b = x[best * step];                              \
      if (v better b || (v != v && b == b)) best = j;                     \
    }                                                                     \
    return best;                                                          \
  }                                                                       \
  static jfl_status id##_##D(const jf_kargs *k)                           \
  {                                                                       \
    return search_lines(k, sizeof(T), id##_line_##D);                     \
  }
#define MAX(D, T) SEARCH(argmax, D, T, >)
#define MIN(D, T) SEARCH(argmin, D, T, <)
JF_EACH_TYPE(MAX)
JF_EACH_TYPE(MIN)

static void argmax_signatures(jf_signatures *c)
{
  const int axis = (int)((const jf_argmax *)c->node->attr)->axis;
  for (int i = 0; i < c->node->in[0]->shape.n; i++)
    if (i != axis) jf_signature_say(c, "%d->%d", i, i - (i > axis));
}

JFL_OP(argmax, .doc = "The position (int32) of the first largest element along axis.",
  .path = "math.argmax argmax", .in = {"input"}, .out = {"y"}, JF_WITH(attrs, jf_argmax),
  .infer = argmax_infer, .cpu = JF_KERNELS(JF_TYPES(argmax_)), .signatures = argmax_signatures)

JFL_OP(argmin, .doc = "The position (int32) of the first smallest element along axis.",
  .path = "math.argmin argmin", .in = {"input"}, .out = {"y"}, JF_WITH(attrs, jf_argmax),
  .infer = argmax_infer, .cpu = JF_KERNELS(JF_TYPES(argmin_)), .signatures = argmax_signatures)
