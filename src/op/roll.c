/* Moving elements along an axis, of which those that leave it come back at its other end. */
#include "op/roll.h"
#include "op/move.h"

#include <string.h>

static const jf_attr attrs[] = {
  JF_FIELD(jf_roll, shift, INT, NULL, "by how many places; negative: towards the beginning"),
  JF_FIELD(jf_roll, axis, INT, "0", "the axis"),
  {0},
};

static jfl_status roll_infer(jf_infer *c)
{
  jf_roll *a = c->attr;
  JF_TRY(jf_infer_same(c));
  JF_TRY(jf_axis(&a->axis, c->in[0]->shape.n));
  const int64_t n = c->in[0]->shape.d[a->axis];
  a->shift = n ? a->shift % n + (a->shift % n < 0 ? n : 0) : 0;
  return JFL_OK;
}

static void roll_grad(jf_gradctx *c)
{
  jf_roll a = *(const jf_roll *)c->node->attr;
  a.shift = -a.shift;
  c->dx[0] = JF_EMIT(c->g, roll, &a, c->dy[0]);
}

static jfl_value *roll_fold(jf_foldctx *c)
{
  return ((const jf_roll *)c->node->attr)->shift ? NULL : c->node->in[0];
}

/* Lines along the axis with all that follows it: `head` bytes of each come behind the other `tail`.
   A part of the loop is `span` lines. */
typedef struct roll_job { const char *x; char *y; int64_t head, tail, lines, span; } roll_job;

static void roll_part(void *ctx, int i)
{
  const roll_job *j = ctx;
  const int64_t line = j->head + j->tail;
  const int64_t to = (i + 1) * j->span < j->lines ? (i + 1) * j->span : j->lines;
  for (int64_t r = i * j->span; r < to; r++) {
    memcpy(j->y + r * line, j->x + r * line + j->head, (size_t)j->tail);
    memcpy(j->y + r * line + j->tail, j->x + r * line, (size_t)j->head);
  }
}

static jfl_status roll_run(const jf_kargs *k)
{
  enum { PART = 1 << 16 };
  const jf_roll *a = k->attr;
  const jf_axes s = jf_axes_at(&k->in[0].shape, a->axis);
  const int64_t run = s.after * (int64_t)jfl_dtype_size(k->in[0].dtype);
  roll_job j = { k->in[0].data, k->out[0].data, (s.m - a->shift) * run, a->shift * run, s.before,
                 PART / (s.m * run) + 1 };
  jf_parallel(k->threads, (int)((j.lines + j.span - 1) / j.span), roll_part, &j);
  return JFL_OK;
}
static const jf_kernel cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(roll_run) };

static void roll_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 1u << ((const jf_roll *)c->node->attr)->axis);
  jf_signature_say(c, "P->P");
}

JFL_OP(roll, .doc = "x moved along axis; what leaves it comes back at its other end.", .in = {"x"},
  .out = {"y"}, .attr = attrs, .attr_size = sizeof(jf_roll), .infer = roll_infer, .grad = roll_grad,
  .fold = roll_fold, .cpu = cpu, .signatures = roll_signatures)
