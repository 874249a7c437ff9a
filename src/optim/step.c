/* What a train job counts: its steps, the calls whose gradients one step takes together, and the
   scale of its losses. */
#include "op/scalar.h"
#include "optim/loss_scale.h"
#include "optim/optim.h"

#include <math.h>
#include <string.h>

/* ---- steps ---- */

static jfl_status step_need(const jfl_value *v, const char *name, jfl_dtype dtype, int many)
{
  char s[JF_SHAPE_STR];
  const int64_t n = jf_numel(&v->shape);
  if (v->dtype == dtype && (many ? n > 0 : n == 1)) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, name, "must be %s%s, got %s %s", jfl_dtype_name(dtype),
                          many ? " of one number or more" : " (1)", jfl_dtype_name(v->dtype),
                          jf_shape_str(&v->shape, s));
}

static jfl_status increment_infer(jf_infer *c)
{
  JF_TRY(jf_scalar_check(c));
  JF_TRY(step_need(c->in[0], "step", JFL_I64, 0));
  for (int i = 1; i < c->n_in; i++) JF_TRY(step_need(c->in[i], "scalars", JFL_F64, 1));
  return JFL_OK;
}

/* An optimizer makes its step if its scale is not negative; without one, the step is made. */
JF_TWICE(jf_increment_text,
JF_LOCAL void increment_run(const void *attr, void *const *at, int n)
{
  int any = n == 1;
  (void)attr;
  for (int i = 1; i < n; i++) any |= ((const double *)at[i])[JF_SCALE] >= 0;
  *(int64_t *)at[0] += any;
})
JF_SCALAR_OP(increment, jf_step_numbers_text, jf_increment_text)

JFL_OP(train_step_increment, .doc = "Counts a train step, unless every optimizer skips it.",
  .in = {"step", "scalars"}, .flags = JF_EFFECT | JF_OPTIONAL, .mutates = 1,
  .infer = increment_infer, .cpu = JF_KERNELS([JFL_I64] = increment_plain),
  .small = increment_small)

/* ---- gradients of several calls ---- */

JF_TWICE(jf_accumulation_text, typedef struct accumulation { int64_t calls; } accumulation;)
JF_ATTRS(accumulation_attrs,
  JF_FIELD(accumulation, calls, INT, NULL, "how many calls a step takes together"))

static jfl_status turn_infer(jf_infer *c)
{
  JF_TRY(step_need(c->in[0], "count", JFL_I64, 0));
  c->dtype[0] = JFL_F64;
  c->shape[0] = (jfl_shape){ 1, { 1 } };
  return JFL_OK;
}

JF_TWICE(jf_turn_text,
JF_LOCAL void turn_run(const void *attr, void *const *at, int n)
{
  const int64_t count = *(const int64_t *)at[0] + 1;
  (void)n;
  *(double *)at[1] = count >= ((const accumulation *)attr)->calls ? 1 : -1;
})
JF_SCALAR_OP(turn, jf_accumulation_text, jf_turn_text)

JFL_OP(step_turn, .doc = "1 in the call that makes a step of several calls' gradients, else -1.",
  .in = {"count"}, .out = {"turn"}, JF_WITH(accumulation_attrs, accumulation),
  .infer = turn_infer, .cpu = JF_KERNELS([JFL_I64] = turn_plain), .small = turn_small)

static jfl_status count_infer(jf_infer *c)
{
  JF_TRY(step_need(c->in[0], "count", JFL_I64, 0));
  return step_need(c->in[1], "turn", JFL_F64, 0);
}

JF_TWICE(jf_count_text,
JF_LOCAL void count_run(const void *attr, void *const *at, int n)
{
  int64_t *count = (int64_t *)at[0];
  (void)attr;
  (void)n;
  *count = *(const double *)at[1] > 0 ? 0 : *count + 1;
})
JF_SCALAR_OP(count, jf_count_text)

JFL_OP(step_turn_count, .doc = "Counts a call of those that make a step.", .in = {"count", "turn"},
  .flags = JF_EFFECT, .mutates = 1, .infer = count_infer,
  .cpu = JF_KERNELS([JFL_I64] = count_plain), .small = count_small)

/* carry(kept, total, turn): kept becomes total, or 0 in the call that makes the step. */
static jfl_status carry_infer(jf_infer *c)
{
  JF_TRY(step_need(c->in[2], "turn", JFL_F64, 0));
  return jf_infer_is(c, 1, c->in[0]->dtype, &c->in[0]->shape, c->op->in[0]);
}

static jfl_status carry_plain(const jf_kargs *k)
{
  const jf_tensor *kept = &k->in[0];
  const size_t n = JF_BYTES_OF(kept);
  if (*(const double *)k->in[2].data > 0) memset(kept->data, 0, n);
  else memcpy(kept->data, k->in[1].data, n);
  return JFL_OK;
}

JFL_OP(carry, .doc = "Keeps a sum of gradients for the next call, until a step is made of it.",
  .in = {"kept", "total", "turn"}, .flags = JF_EFFECT | JF_POINTWISE, .mutates = 1,
  .infer = carry_infer, .cpu = JF_KERNELS(JF_EVERY_FLOAT(carry_plain)))

/* ---- dynamic loss scale ---- */

#define LOSS_SCALE_INPUTS enum { SCALE, GOOD, TURN, FACTORS };
LOSS_SCALE_INPUTS
static const char loss_scale_inputs_text[] = JF_QUOTED(LOSS_SCALE_INPUTS JF_LOSS_SCALE);

JF_ATTRS(scale_attrs,
  JF_FIELD(jf_loss_scale, increment_period, INT, "2000", "good steps before the scale grows"),
  JF_FIELD(jf_loss_scale, multiplier, NUM, "2", "what it grows by, and shrinks by"))

static jfl_status loss_scale_infer(jf_infer *c)
{
  const jf_loss_scale *a = c->attr;
  JF_TRY(jf_scalar_check(c));
  JF_TRY(step_need(c->in[SCALE], "scale", JFL_F32, 0));
  JF_TRY(step_need(c->in[GOOD], "good", JFL_I64, 0));
  JF_TRY(step_need(c->in[TURN], "turn", JFL_F64, 0));
  for (int i = FACTORS; i < c->n_in; i++) JF_TRY(step_need(c->in[i], "factors", JFL_F64, 0));
  return jf_check_loss_scale(a);
}

jfl_status jf_check_loss_scale(const jf_loss_scale *a)
{
  if (a->increment_period < 1)
    return jf_fail_argument(JFL_EINVAL, "increment_period", "must be at least 1, got %lld",
                            (long long)a->increment_period);
  if (a->multiplier > 1 && isfinite(a->multiplier)) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "multiplier", "must be a finite number above 1, got %.14g",
                          a->multiplier);
}

JF_TWICE(jf_loss_scale_text,
JF_LOCAL void loss_scale_run(const void *attr, void *const *at, int n)
{
  const jf_loss_scale *a = (const jf_loss_scale *)attr;
  const double most = 3.4028234663852886e38;
  float *scale = (float *)at[SCALE];
  int64_t *good = (int64_t *)at[GOOD];
  int bad = 0;
  if (*(const double *)at[TURN] < 0) return;
  for (int i = FACTORS; i < n; i++) bad |= *(const double *)at[i] < 0;
  *good = bad ? 0 : *good + 1;
  if (bad) *scale = (float)fmax(*scale / a->multiplier, 1);
  if (*good < a->increment_period) return;
  *good = 0;
  *scale = (float)fmin(*scale * a->multiplier, most);
})
JF_SCALAR_OP(loss_scale, loss_scale_inputs_text, jf_loss_scale_text)

JFL_OP(loss_scale_update, .doc = "Shrinks the scale of losses after a step that was skipped, and "
  "lets it grow after many that were not.", .in = {"scale", "good", "turn", "factors"},
  JF_WITH(scale_attrs, jf_loss_scale), .flags = JF_EFFECT | JF_VARIADIC,
  .mutates = 1 << SCALE | 1 << GOOD, .infer = loss_scale_infer,
  .cpu = JF_KERNELS([JFL_F32] = loss_scale_plain), .small = loss_scale_small)
