/* Appends each optimizer's updates, the numbers of the step that they read, and what counts
   steps. */
#include "op/cast.h"
#include "op/clip_scale.h"
#include "op/reshape.h"
#include "optim/average.h"
#include "optim/loss_scale.h"
#include "optim/scalars.h"
#include "pass/pass.h"

/* What the updates of one optimizer are made of. */
typedef struct update_parts {
  const jf_training *t;
  int number;                  /* of the optimizer in the job, from 0 */
  jfl_value *by;               /* float64 (1): how many times too large gradients are; NULL: once */
  double by_number;            /* the same number; 0: it changes in runs */
  double calls, scale;         /* of which that is the product; scale 0: it changes in runs */
  jfl_value *lr;
  jfl_value *turn, *count;     /* of the calls whose gradients a step takes together; or NULL */
  jfl_value **total;           /* then: the sum of each variable's gradients, or NULL */
  jfl_value *factor;           /* takes `by` out and clips; NULL: no factor, or one a variable */
  jfl_value *finite;           /* of a scale that changes: negative unless all gradients are
                                  finite */
  jfl_value *scalars;          /* the numbers of a step, if all variables have the same */
  jfl_value *share, *averaged; /* of moving averages, and the variable that counts them; or NULL */
} update_parts;

static const jfl_shape ONE = { 1, { 1 } };

static jfl_value *update_number(jfl_graph *g, jfl_dtype dtype, double value)
{
  return jf_emit_number(g, dtype, &ONE, value);
}

/* A state variable of one optimizer: "System-Train-<what><number>-<job><rest>". */
static jfl_value *update_state(jfl_graph *g, const update_parts *u, const char *what,
                               const char *rest)
{
  const char *number = u->number ? jf_sprintf(g->arena, "%d", u->number + 1) : "";
  return jf_state_variable(g, &(jfl_variable_spec){
    .name = jf_sprintf(g->arena, "System-Train-%s%s-%s%s", what, number, g->name, rest),
    .dtype = JFL_I64, .shape = ONE, .state = JFL_STATE });
}

/* ---- gradients ---- */

/* `value` times as large as the gradients of one call are. */
static jfl_value *update_scaled(jfl_graph *g, const update_parts *u, jfl_dtype dtype, double value)
{
  if (u->scale != 0) return update_number(g, dtype, value * u->scale);
  return JF_EMIT(g, multiply, NULL, jf_emit_as(g, u->t->loss_scale, dtype),
                 update_number(g, dtype, value));
}

/* Adds to gradient d what the variable's regularizer adds: l2 w + l1 sign(w). */
static jfl_value *update_regularized(jfl_graph *g, const update_parts *u, jfl_value *w,
                                     jfl_value *d)
{
  const jfl_variable_spec *s = w->variable;
  jf_at(g, w->place);
  if (s->l2 != 0)
    d = JF_EMIT(g, add, NULL, d,
                JF_EMIT(g, multiply, NULL, w, update_scaled(g, u, w->dtype, s->l2)));
  if (s->l1 != 0)
    d = JF_EMIT(g, add, NULL, d,
                JF_EMIT(g, multiply, NULL, JF_EMIT(g, sign, NULL, w),
                        update_scaled(g, u, w->dtype, s->l1)));
  return d;
}

static jfl_value *update_bounded(jfl_graph *g, const update_parts *u, jfl_value *w, jfl_value *d)
{
  const double most = u->t->asked.clip_value * u->calls;
  jf_at(g, w->place);
  d = JF_EMIT(g, minimum, NULL, d, update_scaled(g, u, d->dtype, most));
  return JF_EMIT(g, maximum, NULL, d, update_scaled(g, u, d->dtype, -most));
}

/* Brings the gradients into the form in which norms are taken of them. */
static void update_gradients(jfl_graph *g, update_parts *u)
{
  const jf_training *t = u->t;
  const int place = g->place;
  u->total = jf_alloc(g->arena, (size_t)t->n_variable * sizeof *u->total);
  for (int i = 0; i < t->n_variable; i++) {
    jfl_value *w = t->variable[i], *d = t->grad[i];
    if (!d) continue;
    d = update_regularized(g, u, w, d);
    if (u->turn) {      /* adds what gradients of former calls have left */
      jf_at(g, w->place);
      jfl_value *left = jf_emit_slot(g, w, &jf_accumulated, &w->shape);
      d = u->total[i] = JF_EMIT(g, add, NULL, left, d);
    }
    t->grad[i] = d;
    jf_at(g, place);
  }
}

static void update_bound_all(jfl_graph *g, const update_parts *u)
{
  const jf_training *t = u->t;
  const int place = g->place;
  for (int i = 0; i < t->n_variable; i++) {
    if (t->grad[i]) t->grad[i] = update_bounded(g, u, t->variable[i], t->grad[i]);
    jf_at(g, place);
  }
}

/* ---- numbers of a step ---- */

/* What gradients are multiplied by: the scale of their losses and how many calls are taken
   together. */
static void update_by(jfl_graph *g, update_parts *u)
{
  const jfl_minimize *m = &u->t->asked;
  u->calls = m->accumulate > 1 ? (double)m->accumulate : 1;
  u->scale = u->t->loss_scale ? 0 : m->loss_scale > 0 ? m->loss_scale : 1;
  u->by_number = u->calls * u->scale;
  if (u->by_number != 1) u->by = update_scaled(g, u, JFL_F64, u->calls);
}

/* The factor that takes `by` out of n gradients and clips them together. */
static jfl_value *update_factor(jfl_graph *g, const update_parts *u, jfl_value *const *grad,
                                size_t n, double clip)
{
  const jf_clip_scale a = { clip, u->t->loss_scale != NULL };
  jfl_value **in = jf_alloc(g->arena, (n + JF_CLIP_FIRST) * sizeof *in);
  if (clip == 0 && !a.skips) return u->by ? update_number(g, JFL_F64, 1 / u->by_number) : NULL;
  in[JF_CLIP_BY] = u->by ? u->by : update_number(g, JFL_F64, 1);
  for (size_t i = 0; i < n; i++) in[JF_CLIP_FIRST + i] = grad[i];
  return jf_emit(g, &jf_op_clip_scale, &a, in, n + JF_CLIP_FIRST);
}

static jfl_value *update_factor_of_all(jfl_graph *g, const update_parts *u, double clip)
{
  const jf_training *t = u->t;
  jfl_value **grad = jf_alloc(g->arena, (size_t)t->n_variable * sizeof *grad);
  size_t n = 0;
  for (int i = 0; i < t->n_variable; i++)
    if (t->grad[i]) grad[n++] = t->grad[i];
  return update_factor(g, u, grad, n, clip);
}

/* Clips the gradients. With a scale that changes, a step is made of all of them or not at all, so
   they are looked at as they are, before anything bounds them or treats them one by one. */
static void update_clip(jfl_graph *g, update_parts *u)
{
  const jfl_minimize *m = &u->t->asked;
  const int each = m->clip_each_norm != 0, bounds = m->clip_value > 0;
  if (u->t->loss_scale && (each || bounds)) u->finite = update_factor_of_all(g, u, 0);
  if (bounds) update_bound_all(g, u);
  if (!each) u->factor = u->finite && m->clip_norm == 0
                         ? u->finite : update_factor_of_all(g, u, m->clip_norm);
  if (u->t->loss_scale && !u->finite) u->finite = u->factor;
}

/* The state variable with which the host sets the rate of an optimizer of the job. */
static jfl_value *update_set(jfl_graph *g, int number)
{
  const char *text = number ? jf_sprintf(g->arena, "%d", number + 1) : "";
  return jf_state_variable(g, &(jfl_variable_spec){
    .name = jf_sprintf(g->arena, JF_RATE_PREFIX "%s-%s", text, g->name), .dtype = JFL_F64,
    .shape = { 1, { JF_N_SET } }, .state = JFL_STATE_UNLESS_ZERO });
}

static jfl_value *update_rate(jfl_graph *g, const jf_training *t)
{
  if (t->rate) return jf_emit_view(g, jf_emit_as(g, t->rate, JFL_F64), &ONE);
  return jf_emit(g, t->schedule, t->schedule_attr, JF_IN(t->step));
}

/* The numbers of a step whose gradients have that factor, or NULL. Optimizers of the same losses
   make their steps together or none, as their gradients come from one scale. */
static jfl_value *update_scalars(jfl_graph *g, const update_parts *all, const update_parts *u,
                                 const jf_optim_choice *c, jfl_value *factor)
{
  enum { FIXED = 6 };
  const jf_training *t = u->t;
  jfl_value **in = jf_alloc(g->arena, (size_t)(FIXED + g->n_training) * sizeof *in);
  size_t n = 0;
  in[n++] = t->step;
  in[n++] = u->lr;
  in[n++] = t->set;
  if (factor) in[n++] = factor;
  if (u->turn) in[n++] = u->turn;
  if (u->finite && u->finite != factor) in[n++] = u->finite;
  for (int i = 0; t->loss_scale && i < g->n_training; i++)
    if (&all[i] != u && all[i].t->loss_scale == t->loss_scale) in[n++] = all[i].finite;
  return jf_emit(g, &jf_op_optimizer_scalars, c, in, n);
}

static void update_begin(jfl_graph *g, update_parts *u, jfl_value *step)
{
  jf_training *t = g->training[u->number];
  u->t = t;
  g->source.line = t->line;
  t->step = t->own_step ? t->own_step : step;
  t->set = update_set(g, u->number);
  if (t->asked.accumulate > 1) {
    u->count = update_state(g, u, "Accumulated", "");
    u->turn = jf_emit(g, &jf_op_step_turn, &t->asked.accumulate, JF_IN(u->count));
  }
  if (t->asked.average > 0) {
    const jf_average_share a = { t->asked.average, t->asked.average_warms_up };
    u->averaged = update_state(g, u, "Averaged", "");
    u->share = JF_EMIT(g, average_share, &a, u->averaged);
  }
  update_by(g, u);
  update_gradients(g, u);
  update_clip(g, u);
}

/* ---- updates ---- */

static void update_emit(jfl_graph *g, const update_parts *all, update_parts *u)
{
  const jf_training *t = u->t;
  const double clip = t->asked.clip_each_norm;
  const jf_optim_choice choice[] = {
    jf_optim_choose(g, t->optim, t->attr),
    jf_optim_choose(g, t->optim, jf_optim_undecayed(g, t->optim, t->attr)) };
  jfl_value *scalars[2] = { NULL, NULL };
  g->source.line = t->line;
  u->lr = update_rate(g, t);
  u->scalars = scalars[0] = update_scalars(g, all, u, &choice[0], u->factor);
  for (int i = 0; i < t->n_variable && !g->err; i++) {
    const int spared = t->undecayed[i];
    const jf_optim_choice *c = &choice[spared];
    if (!t->grad[i]) continue;
    if (!scalars[spared]) scalars[spared] = update_scalars(g, all, u, c, u->factor);
    jfl_value *own = clip == 0 ? scalars[spared] : update_scalars(
      g, all, u, c, update_factor(g, u, &t->grad[i], 1, clip));
    jf_at(g, t->variable[i]->place);
    const jf_step_of s = { c, t->variable[i], t->grad[i], own, u->share };
    if (t->optim->emit) t->optim->emit(g, &s);
    else jf_emit_update(g, &s);
  }
}

/* Keeps the sums of gradients for the next call, or begins them anew. */
static void update_keep_totals(jfl_graph *g, const update_parts *u)
{
  const jf_training *t = u->t;
  for (int i = 0; u->turn && i < t->n_variable && !g->err; i++)
    if (u->total[i])
      JF_EMIT(g, carry, NULL, u->total[i]->node->in[0], u->total[i], u->turn);
  if (u->turn) JF_EMIT(g, step_turn_count, NULL, u->count, u->turn);
}

/* Changes the scale of losses once for all optimizers that share it. */
static void update_loss_scale(jfl_graph *g, const update_parts *all, const update_parts *u)
{
  enum { FIXED = 3 };
  const jf_training *t = u->t;
  const jf_loss_scale a = { t->asked.scale_period, t->asked.scale_multiplier };
  jfl_value **in = jf_alloc(g->arena, (size_t)(FIXED + g->n_training) * sizeof *in);
  size_t n = 0;
  if (!t->loss_scale) return;
  for (int i = 0; i < u->number; i++)
    if (all[i].t->loss_scale == t->loss_scale) return;
  in[n++] = t->loss_scale;
  in[n++] = update_state(g, u, "DynamicLossScale", "-GoodStepCounter");
  in[n++] = u->turn ? u->turn : update_number(g, JFL_F64, 1);
  for (int i = u->number; i < g->n_training; i++)
    if (all[i].t->loss_scale == t->loss_scale) in[n++] = all[i].finite;
  jf_emit(g, &jf_op_loss_scale_update, &a, in, n);
}

/* Counts the step in the job's variable, unless every optimizer that reads it may skip and does. */
static void update_count(jfl_graph *g, const update_parts *all, jfl_value *step)
{
  jfl_value **in = jf_alloc(g->arena, (size_t)(1 + g->n_training) * sizeof *in);
  size_t n = 0;
  int always = 0, any = 0;
  in[n++] = step;
  for (int i = 0; i < g->n_training; i++) {
    if (g->training[i]->step != step) continue;
    any = 1;
    if (!all[i].turn && !all[i].t->loss_scale) always = 1;
    else in[n++] = all[i].scalars;
  }
  if (any) jf_emit(g, &jf_op_train_step_increment, NULL, in, always ? 1 : n);
}

static void update_variables(jfl_graph *g)
{
  const char *name = jf_sprintf(g->arena, "System-Train-TrainStep-%s", g->name);
  const int place = g->place, n = g->n_training;
  update_parts *u = jf_alloc(g->arena, (size_t)n * sizeof *u);
  jfl_value *step = jf_state_variable(g, &(jfl_variable_spec){
    .name = name, .dtype = JFL_I64, .shape = ONE, .state = JFL_STATE });
  for (int i = 0; i < n && !g->err; i++) {
    u[i].number = i;
    update_begin(g, &u[i], step);
  }
  for (int i = 0; i < n && !g->err; i++) {
    update_emit(g, u, &u[i]);
    jf_at(g, place);
  }
  for (int i = 0; i < n && !g->err; i++) {
    g->source.line = u[i].t->line;
    update_keep_totals(g, &u[i]);
    update_loss_scale(g, u, &u[i]);
    if (u[i].share) JF_EMIT(g, train_step_increment, NULL, u[i].averaged, u[i].scalars);
  }
  update_count(g, u, step);
  g->source.line = NULL;
}

/* Updates come after everything that reads the variables, regularizers included. What the body
   itself does to variables comes last. */
jfl_status jf_pass_update(jfl_graph *g, const jf_target *target)
{
  int n = g->n_node, end = n;
  g->updating = 1;
  while (n > 0 && g->node[n - 1]->op->flags & JF_EFFECT) n--;
  jf_node **own = jf_alloc(g->arena, (size_t)(end - n) * sizeof *own);
  for (int i = n; i < end; i++) own[i - n] = g->node[i];
  g->n_node = n;
  if (g->n_training) update_variables(g);
  for (int i = n; i < end; i++) {
    g->node = jf_grow(g->arena, g->node, g->n_node, &g->cap_node, sizeof *g->node);
    g->node[g->n_node++] = own[i - n];
  }
  jf_keep_places(g, target);
  return g->err;
}
