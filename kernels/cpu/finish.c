/* Applies bias, residual and activation to a finished product in one sweep. */
#include "finish.h"

#include "dnnl.h"
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
  sweep s = { k, e, jf_channels_at(&k->out[0].shape, axis, blocked), 1 };
  if (s.c.row < JF_PART) s.span = JF_PART / s.c.row;
  jf_run_parts(k, jf_parts(s.c.n_row, s.span), finish_part, &s);
  return JFL_OK;
}

int jf_cpu_activates(const char *act)
{
  const jf_primitives *d = jf_dnnl_open();
  return d && d->activates(act);
}
