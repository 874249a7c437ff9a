/* Helpers of ops that move elements without looking at them. */
#include "op/move.h"

jfl_status jf_shape_from(const jf_ints *list, jfl_shape *out)
{
  if (list->n > JFL_MAXDIM)
    return jf_fail(JFL_ESHAPE, "a shape has at most %d dimensions, got %d", (int)JFL_MAXDIM,
                   list->n);
  *out = (jfl_shape){ .n = list->n };
  for (int i = 0; i < list->n; i++) out->d[i] = list->v[i];
  return JFL_OK;
}

jf_ints jf_ints_from(const jfl_shape *s)
{
  return (jf_ints){ s->n, (int64_t *)s->d };
}

int jf_keeps_order(const jf_ints *perm, const jfl_shape *s)
{
  int64_t last = -1;
  for (int i = 0; i < perm->n; i++) {
    if (s->d[perm->v[i]] == 1) continue;
    if (perm->v[i] < last) return 0;
    last = perm->v[i];
  }
  return 1;
}

jfl_status jf_check_classes(const jf_infer *c, int input)
{
  const jfl_shape *s = &c->in[input]->shape;
  char buf[JF_SHAPE_STR];
  if (s->n > 0 && s->d[s->n - 1] > 0) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[input],
                          "must have a class or more along its last axis, got %s",
                          jf_shape_str(s, buf));
}

jfl_status jf_check_indices(const jf_infer *c, int input)
{
  jfl_dtype t = c->in[input]->dtype;
  if (t == JFL_I32 || t == JFL_I64) return JFL_OK;
  return jf_fail_argument(JFL_EDTYPE, c->op->in[input], "must be int32 or int64, got %s",
                          jfl_dtype_name(t));
}
