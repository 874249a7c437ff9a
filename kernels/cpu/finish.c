/* Applies bias, residual and activation to a finished product in one sweep, and activations that
   are bounds to parts of one. */
#include "finish.h"

#include "dev/number.h"
#include "dnnl.h"
#include "vector.h"

#include <math.h>
#include <string.h>

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
  sweep s = { k, e, jf_channels_at(&k->out[0].shape, axis, blocked), 1 };
  if (s.c.row < JF_PART) s.span = JF_PART / s.c.row;
  jf_run_parts(k, jf_parts(s.c.n_row, s.span), finish_part, &s);
  return JFL_OK;
}

/* ---- bounds ---- */

int jf_bounds_of(const char *act, jf_bounds *b)
{
  const int is_relu = act && !strcmp(act, "relu"), is_relu6 = act && !strcmp(act, "relu6");
  *b = (jf_bounds){ 0, is_relu6 ? 6 : INFINITY };
  return is_relu || is_relu6;
}

typedef struct bound_run { jf_bounds b; float *y; int64_t n; } bound_run;

#define BOUNDED(v) ((v) < low ? low : (v) > high ? high : (v))
JF_BODY void bound_floats_body(void *ctx, int part)
{
  const bound_run *r = ctx;
  const float low = r->b.low, high = r->b.high;
  const jf_vec lows = (jf_vec){ 0 } + low, highs = (jf_vec){ 0 } + high;
  int64_t j = 0;
  (void)part;
  for (; j + JF_LANES <= r->n; j += JF_LANES) {
    const jf_vec v = JF_LOAD(r->y + j), some = JF_SELECT(v < lows, lows, v);
    JF_STORE(r->y + j, JF_SELECT(some > highs, highs, some));
  }
  for (; j < r->n; j++) r->y[j] = BOUNDED(r->y[j]);
}
JF_VARIANTS(bound_floats)

static void bound_halves(const jf_bounds *b, jfl_dtype t, uint16_t *y, int64_t n)
{
  float some[512];
  for (int64_t at = 0, each = sizeof some / sizeof *some; at < n; at += each) {
    bound_run r = { *b, some, n - at < each ? n - at : each };
    jf_halves_get(t, y + at, some, r.n);
    bound_floats()(&r, 0);
    jf_halves_put(t, y + at, some, r.n);
  }
}

void jf_bound(const jf_bounds *b, jfl_dtype t, void *y, int64_t lines, int64_t n, int64_t apart)
{
  for (int64_t i = 0; i < lines; i++) {
    if (t != JFL_F32) bound_halves(b, t, (uint16_t *)y + i * apart, n);
    else bound_floats()(&(bound_run){ *b, (float *)y + i * apart, n }, 0);
  }
}

int jf_cpu_activates(const char *act)
{
  const jf_primitives *d = jf_dnnl_open();
  jf_bounds b;
  return jf_bounds_of(act, &b) || (d && d->activates(act));
}
