/* Fills the channels of what convolutions make up to whole blocks, where filters change in no run,
   so that 24 channels are worked on as fast as 32. The first channels are there once more behind
   all of them: filters and what runs along channels are repeated, what is computed channel by
   channel carries the copies on, and a convolution that reads a channel twice has half its weights
   at each. So no number arises that would not be there else: with weights of zero an infinity would
   be none. Values that are seen elsewhere stay as they are, and so do all that would have to be
   filled with them. */
#include "op/constant.h"
#include "op/conv.h"
#include "op/layout.h"
#include "op/reduce.h"
#include "op/slice.h"
#include "pass/pass.h"

/* Copies are at most one in MOST of the channels that there are. */
enum { MOST = 3 };

typedef struct channel_pass {
  jf_rewrite r;
  const jf_target *target;
  const char *still;           /* by value: it depends on variables alone */
  int *with;                   /* by value: another that is filled if it is, or itself */
  char *stays;                 /* by the last of those: none of them is filled */
} channel_pass;

/* How many channels v lacks if it may be filled; else 0. */
static int64_t channels_lack(const channel_pass *p, const jfl_value *v)
{
  if (v->shape.n != 4 || v->dtype != JFL_F32 || v->origin != JF_RESULT || jf_is_group(v->place) ||
      p->still[v->id]) return 0;
  const jf_layout c = { .kind = p->target->device[v->place]->kind };
  const int64_t block = jf_layout_block(&c), channels = v->shape.d[1];
  const int64_t lack = block ? (block - channels % block) % block : 0;
  return channels > block && lack * MOST <= channels ? lack : 0;
}

static int channels_last(const channel_pass *p, const jfl_value *v)
{
  int id = v->id;
  while (p->with[id] != id) id = p->with[id];
  return id;
}

static void channels_join(channel_pass *p, const jfl_value *a, const jfl_value *b)
{
  const int from = channels_last(p, a), to = channels_last(p, b);
  p->with[from] = to;
  p->stays[to] |= p->stays[from];
}

static void channels_stay(channel_pass *p, const jfl_value *v)
{
  p->stays[channels_last(p, v)] = 1;
}

/* How many channels v gets. */
static int64_t channels_more(const channel_pass *p, const jfl_value *v)
{
  return p->stays[channels_last(p, v)] ? 0 : channels_lack(p, v);
}

/* ---- which values are filled ---- */

/* Whether a convolution can have filled operands and results. One channel by channel has both or
   none. */
static int channels_see_conv(channel_pass *p, const jf_node *n, const jf_conv *a)
{
  const jfl_value *x = n->in[0], *y = n->out[0];
  if (a->last || !p->still[n->in[1]->id]) return 0;
  if (a->groups == 1) return 1;
  if (a->groups != x->shape.d[1] || a->groups != y->shape.d[1]) return 0;
  if (!channels_lack(p, x) != !channels_lack(p, y)) return 0;
  channels_join(p, x, y);
  return 1;
}

/* The axis along which input k of n, which changes in no run, has a number for each channel of the
   result; or -1. */
static int channels_axis(const channel_pass *p, const jf_node *n, int k)
{
  const jfl_value *v = n->in[k];
  if (!p->still[v->id]) return -1;
  if (n->op->line) return k == 1 && jf_line_axis(n) == 1 ? 0 : -1;
  return jf_runs_along(v, &n->out[0]->shape, 1) ? v->shape.n - 3 : -1;
}

/* Whether n could run on blocks of channels if it had whole ones, so that it computes each channel
   from one. */
static int channels_blocks(const channel_pass *p, const jf_node *n)
{
  jf_arena *arena = p->r.g->arena;
  jfl_shape x = n->in[0]->shape, y = n->out[0]->shape;
  const jfl_shape *in[] = { &x }, *out[] = { &y };
  jf_form form = JF_BLOCKED, made = JF_PLAIN;
  jf_layout c = { .node = n, .kind = p->target->device[n->place]->kind, .in_shape = in,
                  .out_shape = out, .in = &form, .out = &made, .op = n->op, .arena = arena,
                  .attr = jf_attr_copy(arena, n->op->attr, n->op->attr_size, n->attr) };
  x.d[1] += channels_lack(p, n->in[0]);
  y.d[1] += channels_lack(p, n->out[0]);
  return n->op->layout(&c);
}

/* Whether n computes each channel of its result from that of its inputs. */
static int channels_through(const channel_pass *p, const jf_node *n)
{
  const jfl_op *op = n->op->line ? n->op->line->op : n->op;
  const jf_reduce *over = n->attr;
  if (jf_is_pointwise(op)) return 1;
  if (op->flags & JF_MEANS) return over->keepdims && over->axis.n && over->axis.v[0] > 1;
  return op->layout && n->n_in == 1 && !(op->flags & JF_MOVES) && channels_blocks(p, n);
}

static int channels_see_other(channel_pass *p, const jf_node *n)
{
  const jfl_value *y = n->out[0];
  if (n->n_out != 1 || !n->n_in || !channels_lack(p, y)) return 0;
  for (int k = 0; k < n->n_in; k++) {
    const jfl_value *v = n->in[k];
    const int joins = channels_lack(p, v) && v->shape.d[1] == y->shape.d[1];
    if (joins) channels_join(p, v, y);
    if (!joins && channels_axis(p, n, k) < 0 && jf_numel(&v->shape) != 1) return 0;
  }
  return channels_through(p, n);
}

static void channels_see(channel_pass *p, const jf_node *n)
{
  const jf_conv *a = jf_conv_forward_of(n);
  if (a ? channels_see_conv(p, n, a) : channels_see_other(p, n)) return;
  for (int k = 0; k < n->n_in; k++) channels_stay(p, n->in[k]);
  for (int k = 0; k < n->n_out; k++) channels_stay(p, n->out[k]);
}

static void channels_find(channel_pass *p, const jfl_graph *g)
{
  p->with = jf_alloc(g->arena, (size_t)g->n_value * sizeof *p->with);
  p->stays = jf_alloc(g->arena, (size_t)g->n_value);
  for (int i = 0; i < g->n_value; i++) p->with[i] = i;
  for (int i = 0; i < g->n_output; i++) channels_stay(p, g->output[i]);
  for (int i = 0; i < g->n_watched; i++) channels_stay(p, g->watched[i].value);
  for (int i = 0; i < p->r.n_old; i++) channels_see(p, p->r.old[i]);
}

/* ---- filling them ---- */

/* v with the first n of an axis once more behind all of it. */
static jfl_value *channels_repeat(jfl_graph *g, jfl_value *v, int axis, int64_t n)
{
  const jf_join a = { axis, { 2, (int64_t[]){ 0, 0 } },
                      { 2, (int64_t[]){ v->shape.d[axis], n } } };
  return jf_emit(g, &jf_op_join, &a, JF_IN(v, v));
}

/* Filters for inputs of which the first n channels are there twice. */
static jfl_value *channels_halve(jfl_graph *g, jfl_value *v, int64_t n)
{
  const jf_join a = { 1, { 3, (int64_t[]){ 0, n, 0 } },
                      { 3, (int64_t[]){ n, v->shape.d[1] - n, n } } };
  jfl_value *half = JF_EMIT(g, multiply, NULL, v, jf_scalar(g, v->dtype, 0.5));
  return jf_emit(g, &jf_op_join, &a, JF_IN(half, v, half));
}

/* Emits n with filled inputs. */
static void channels_emit(channel_pass *p, const jf_node *n)
{
  jfl_graph *g = p->r.g;
  const jf_conv *a = jf_conv_forward_of(n);
  const int64_t from = channels_more(p, n->in[0]), to = channels_more(p, n->out[0]);
  jfl_value *in[JF_MAXIN];
  for (int k = 0; k < n->n_in; k++) {
    const int axis = a ? -1 : channels_axis(p, n, k);
    in[k] = jf_current(&p->r, n->in[k]);
    if (axis >= 0 && !channels_more(p, n->in[k])) in[k] = channels_repeat(g, in[k], axis, to);
  }
  jf_conv wide;
  if (a) {
    wide = *a;
    if (a->groups > 1) wide.groups += to;
    if (from && a->groups == 1) in[1] = channels_halve(g, in[1], from);
    if (to && in[1]) in[1] = channels_repeat(g, in[1], 0, to);
  }
  jfl_value *y = g->err ? NULL : jf_emit(g, n->op, a ? &wide : n->attr, in, (size_t)n->n_in);
  if (!y) return;
  jf_stand_for(y->node, n);
  jf_replace(&p->r, n->out[0], y);
}

/* Whether a value that n reads or makes is filled. */
static int channels_touch(const channel_pass *p, const jf_node *n)
{
  int64_t more = n->n_out ? channels_more(p, n->out[0]) : 0;
  for (int k = 0; k < n->n_in && !more; k++) more = channels_more(p, n->in[k]);
  return more > 0;
}

jfl_status jf_pass_channels(jfl_graph *g, const jf_target *target)
{
  channel_pass p = { .target = target, .still = jf_still_values(g) };
  if (!p.still || target->chooser->flags & JF_REFERENCE) return JFL_OK;
  jf_rewrite_begin(g, &p.r);
  channels_find(&p, g);
  for (jf_node *n; (n = jf_rewrite_next(&p.r));) {
    if (channels_touch(&p, n)) channels_emit(&p, n);
    else jf_rewrite_keep(&p.r, n);
  }
  jf_rewrite_end(&p.r);
  return g->err;
}
