/* Epilogues: their shape rule, and plain loops that do what the separate ops would do. */
#include "op/epilogue.h"
#include "dev/half.h"
#include "op/op.h"

#include <string.h>

int jf_is_activation(const jfl_op *op)
{
  return op->loop && op->infer == jf_infer_same && jf_op_n_in(op) == 1 && !op->attr_size &&
         !(op->flags & JF_RANDOM);
}

const jfl_op *jf_activation(const char *name)
{
  const jfl_op *const *o = jf_ops;
  while (*o && (strcmp((*o)->name, name) || !jf_is_activation(*o))) o++;
  return *o;
}

static jfl_status find_activation(const jf_infer *c, jf_epilogue *e)
{
  const jfl_op *op = jf_activation(e->act);
  if (op) e->loop = op->loop;
  if (op && e->loop[jf_is_half(c->dtype[0]) ? JFL_F32 : c->dtype[0]]) return JFL_OK;
  return jf_fail(JFL_EINVAL, "'%s' is no elementwise op of one %s input", e->act,
                 jfl_dtype_name(c->dtype[0]));
}

static jfl_status check_extra(const jf_infer *c, const jf_epilogue *e, int64_t channels)
{
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  const jfl_shape *bias = e->bias ? &c->in[2]->shape : NULL;
  const jfl_shape *residual = e->residual ? &c->in[c->n_in - 1]->shape : NULL;
  if (bias && jf_numel(bias) != channels)
    return jf_fail_argument(JFL_ESHAPE, "bias", "must be (%lld), one for each channel, got %s",
                            (long long)channels, jf_shape_str(bias, s));
  if (residual && !jf_shape_eq(residual, &c->shape[0]))
    return jf_fail_argument(JFL_ESHAPE, "residual", "must be %s like the product, got %s",
                            jf_shape_str(&c->shape[0], t), jf_shape_str(residual, s));
  return JFL_OK;
}

jfl_status jf_epilogue_infer(jf_infer *c, jf_epilogue *e, int64_t channels)
{
  int want = 2 + (e->bias ? 1 : 0) + (e->residual ? 1 : 0);
  if (c->n_in != want)
    return jf_fail(JFL_EINVAL, "takes %d inputs, got %d", want, c->n_in);
  for (int i = 2; i < c->n_in; i++)
    if (c->in[i]->dtype != c->dtype[0])
      return jf_fail_argument(JFL_EDTYPE, "extra", "must be %s like the product, got %s",
                              jfl_dtype_name(c->dtype[0]), jfl_dtype_name(c->in[i]->dtype));
  JF_TRY(check_extra(c, e, channels));
  return e->act ? find_activation(c, e) : JFL_OK;
}

jf_channels jf_channels_at(const jfl_shape *s, int axis, int blocked)
{
  int last = s->n - (blocked ? 1 : 0);
  jf_channels c = { .groups = s->d[axis], .inner = 1, .width = blocked ? s->d[s->n - 1] : 1 };
  for (int i = axis + 1; i < last; i++) c.inner *= s->d[i];
  if (c.inner == 1) {
    c.width *= c.groups;
    c.groups = 1;
  }
  c.row = c.width == 1 ? c.inner : c.width;
  c.n_row = c.row ? jf_numel(s) / c.row : 0;
  return c;
}

/* y[i] += v[i] (step 1) or y[i] += v[0] (step 0), for n elements of y from `at` on. */
static void epilogue_add(const jf_tensor *y, int64_t at, int64_t n, const void *v, int step)
{
  char *to = (char *)y->data + at * (int64_t)jfl_dtype_size(y->dtype);
  jf_loop_args t = { .n = n, .in = { to, v }, .step = { 1, step }, .out = to };
  jf_op_add.loop[y->dtype](&t);
}

void jf_epilogue_rows(const jf_kargs *k, const jf_epilogue *e, const jf_channels *c, int64_t from,
                      int64_t to)
{
  const jf_tensor *y = &k->out[0];
  const char *bias = jf_epilogue_bias(k, e), *residual = jf_epilogue_residual(k, e);
  const int64_t size = (int64_t)jfl_dtype_size(y->dtype);
  const int64_t at = from * c->row, n = (to - from) * c->row;
  const int64_t rows_of_group = c->width == 1 ? 1 : c->inner;
  for (int64_t r = from; bias && r < to; r++) {
    int64_t group = r / rows_of_group % c->groups;
    epilogue_add(y, r * c->row, c->row, bias + group * c->width * size, c->width > 1);
  }
  if (residual) epilogue_add(y, at, n, residual + at * size, 1);
  if (!e->act) return;
  char *p = (char *)y->data + at * size;
  jf_loop_args t = { .n = n, .in = { p }, .step = { 1 }, .out = p };
  e->loop[y->dtype](&t);
}

void jf_epilogue_all(const jf_kargs *k, const jf_epilogue *e, const jf_channels *c)
{
  enum { SOME = 1 << 14 };     /* elements between two looks at the deadline */
  const int64_t rows = c->row < SOME ? SOME / (c->row + 1) + 1 : 1;
  for (int64_t r = 0; r < c->n_row && !jf_loop_ends(); r += rows)
    jf_epilogue_rows(k, e, c, r, r + rows < c->n_row ? r + rows : c->n_row);
}
