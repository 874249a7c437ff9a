/* Applies bias, residual and activation to a finished product in one sweep, and activations to
   parts of one. */
#include "finish.h"

#include "dev/number.h"
#include "op/op.h"

#include "dnnl.h"
#include "functions.h"
#include "vector.h"

typedef struct sweep {
  const jf_kargs *k;
  const jf_epilogue *e;
  jf_channels c;
  int64_t span;                /* rows in a part */
} sweep;

static void finish_part(void *ctx, int i)
{
  const sweep *s = ctx;
  jf_epilogue_rows(s->k, s->e, &s->c, jf_from(i, s->span), jf_to(i, s->span, s->c.n_row));
}

jfl_status jf_finish(const jf_kargs *k, const jf_epilogue *e, int axis, int blocked)
{
  const jfl_dtype t = k->out[0].dtype;
  jf_loop loop[JFL_N_DTYPE] = { [JFL_F32] = jf_activation_loop(e->act, JFL_F32) };
  jf_epilogue fast = *e;
  if (t == JFL_F32 && loop[t]) fast.loop = loop;
  sweep s = { k, &fast, jf_channels_at(&k->out[0].shape, axis, blocked), 1 };
  if (s.c.row < JF_PART) s.span = JF_PART / s.c.row;
  jf_run_parts(k, jf_parts(s.c.n_row, s.span), finish_part, &s);
  return JFL_OK;
}

/* ---- activations of parts ---- */

jf_loop jf_activation_loop(const char *act, jfl_dtype t)
{
  const jfl_op *op = act ? jf_activation(act) : NULL;
  const int is_half = t == JFL_F16 || t == JFL_BF16;
  if (!op || (is_half && op->bounds.low == op->bounds.high)) return NULL;
  const jf_loop fast = jf_vec_loop(act, JFL_F32);
  return fast || op->flags & JF_COSTLY ? fast : op->loop[JFL_F32];
}

static void activate_floats(jf_loop act, float *y, int64_t n)
{
  act(&(jf_loop_args){ .n = n, .in = { y }, .step = { 1 }, .out = y });
}

static void activate_halves(jf_loop act, jfl_dtype t, uint16_t *y, int64_t n)
{
  float some[512];
  for (int64_t at = 0, each = sizeof some / sizeof *some; at < n; at += each) {
    const int64_t now = n - at < each ? n - at : each;
    jf_halves_get(t, y + at, some, now);
    activate_floats(act, some, now);
    jf_halves_put(t, y + at, some, now);
  }
}

void jf_activate(jf_loop act, jfl_dtype t, void *y, int64_t lines, int64_t n, int64_t apart)
{
  for (int64_t i = 0; i < lines; i++) {
    if (t == JFL_F32) activate_floats(act, (float *)y + i * apart, n);
    else activate_halves(act, t, (uint16_t *)y + i * apart, n);
  }
}

int jf_cpu_activates(const char *act, jfl_dtype t)
{
  const jf_primitives *d = jf_dnnl_open();
  return jf_activation_loop(act, t) || (d && d->activates(act));
}
