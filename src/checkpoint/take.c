/* What the tensors of an open checkpoint are taken as: under other names, with their axes in
   another order, or not at all. */
#include "checkpoint/checkpoint.h"

#include <string.h>

static jfl_status take_axes(const jf_source *s, jf_entry *t, const jfl_taken *as)
{
  char shape[JF_SHAPE_STR];
  int64_t step[JFL_MAXDIM], plain[JFL_MAXDIM];
  const jf_entry old = *t;
  unsigned seen = 0;
  if (!as->n_axis) return JFL_OK;
  for (int i = 0; i < as->n_axis && as->n_axis == t->shape.n; i++)
    if (as->axis[i] >= 0 && as->axis[i] < t->shape.n) seen |= 1u << as->axis[i];
  if (t->shape.n < 0 || t->dtype == JFL_N_DTYPE || seen != (1u << as->n_axis) - 1)
    return jf_fail(JFL_ESHAPE, "checkpoint %s: tensor %s cannot be transposed so: it has %s %s, "
                   "and the order has %d axes", s->path, t->own,
                   t->dtype != JFL_N_DTYPE ? jfl_dtype_name(t->dtype)
                   : t->dtype_name ? t->dtype_name : "no dtype",
                   t->shape.n < 0 ? "without a shape" : jf_shape_str(&t->shape, shape), as->n_axis);
  if (t->strided) memcpy(step, t->step, sizeof step);
  else jf_entry_plain(t, step);
  for (int i = 0; i < as->n_axis; i++) {
    t->shape.d[i] = old.shape.d[as->axis[i]];
    t->step[i] = step[as->axis[i]];
  }
  jf_entry_plain(t, plain);
  t->strided = 0;
  for (int i = 0; i < as->n_axis; i++) t->strided |= t->shape.d[i] > 1 && t->step[i] != plain[i];
  return JFL_OK;
}

/* Names that are taken, one behind the other. */
static jfl_status take_names(const jf_source *s, const jfl_taken *as, int n, char **out)
{
  size_t size = 0;
  for (int i = 0; i < n; i++) size += as[i].name ? strlen(as[i].name) + 1 : 0;
  if ((*out = jf_new_raw(size))) return JFL_OK;
  return jf_checkpoint_memory(s->path);
}

static jfl_status take_all(jf_source *s, const jfl_taken *as, char *names, jf_source *to)
{
  for (int i = 0; i < s->n_tensor; i++) {
    if (!as[i].name) continue;
    jf_entry *t = &to->tensor[to->n_tensor++];
    *t = s->tensor[i];
    t->name = strcpy(names, as[i].name);
    names += strlen(names) + 1;
    JF_TRY(take_axes(s, t, &as[i]));
  }
  JF_TRY(jf_source_order(to));
  for (int i = 1; i < to->n_tensor; i++) {
    const jf_entry *a = &to->tensor[i - 1], *b = &to->tensor[i];
    if (!strcmp(a->name, b->name))
      return jf_fail(JFL_ENAME, "checkpoint %s: tensors %s and %s must get names of their own, got "
                     "%s for both", s->path, a->own, b->own, a->name);
  }
  return JFL_OK;
}

jfl_status jfl_checkpoint_take(jfl_checkpoint *c, const jfl_taken *as, int n)
{
  JF_NEED(CHECKPOINT, c);
  JF_NEED_LIST(as, n);
  jf_source *s = &c->source;
  char *names = NULL;
  if (n != s->n_tensor)
    return jf_fail_argument(JFL_EINVAL, "n", "the number of tensors, %d, got %d", s->n_tensor, n);
  for (int i = 0; i < n; i++)
    if (as[i].n_axis < 0 || as[i].n_axis > JFL_MAXDIM)
      return jf_fail_argument(JFL_EINVAL, "n_axis", "from 0 to %d, got %d", JFL_MAXDIM,
                              as[i].n_axis);
  jf_source to = { .tensor = jf_new((size_t)n * sizeof *to.tensor) };
  jfl_status r = to.tensor ? take_names(s, as, n, &names)
                           : jf_checkpoint_memory(s->path);
  if (r == JFL_OK) r = take_all(s, as, names, &to);
  if (r != JFL_OK) {
    jf_free(to.tensor);
    jf_free(names);
    return r;
  }
  jf_free(s->tensor);
  jf_free(s->taken);
  s->tensor = to.tensor;
  s->n_tensor = to.n_tensor;
  s->cap_tensor = n;
  s->taken = names;
  return JFL_OK;
}
