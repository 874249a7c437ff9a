/* Keeps what convolutions read and write in blocks of channels from one to the next, since vector
   units work on blocks; keeps filters packed, in the session too. A conversion is made where a
   value is first needed in another form, and only once. */
#include "op/layout.h"
#include "pass/pass.h"

#include <string.h>

/* What the pass knows of a value of the old graph. */
typedef struct pass_layout_seen {
  jfl_shape shape;             /* its plain shape */
  jf_packing made;             /* the form its producer gives it */
  jfl_value *as[JF_N_FORM];    /* the value in each form that was needed, or NULL */
  jfl_value *source;           /* the value as its producer gives it */
  int free;                    /* whether it is a variable whose form may be chosen */
  int is_result;
  int turned;                  /* whether a turn of channels makes it of what may stand for it */
} pass_layout_seen;

typedef struct pass_layout_walk {
  jfl_graph *g;
  const jf_target *target;
  jf_rewrite r;
  pass_layout_seen *seen;                  /* by value id */
  int rules;                   /* whether ops may run on blocks, not variables alone */
} pass_layout_walk;

static const jf_packing *pass_layout_packing_in(const jf_target *t, const jfl_value *v)
{
  return t->variable ? t->variable(t->session, v) : NULL;
}

static pass_layout_seen *of(const pass_layout_walk *w, const jfl_value *v)
{
  return &w->seen[v->id];
}

static const jf_kind *pass_layout_kind(const pass_layout_walk *w, int place)
{
  return w->target->device[place]->kind;
}

/* A form, with blocks of the size that v's device wants. */
static jf_packing pass_layout_packing(const pass_layout_walk *w, const jfl_value *v, jf_form form)
{
  const jf_layout c = { .kind = pass_layout_kind(w, v->place) };
  return (jf_packing){ form, form == JF_PLAIN ? 0 : jf_layout_block(&c) };
}

/* Gives v that packing and that shape, for this pass and all later ones. */
static void reshape(const pass_layout_walk *w, jfl_value *v, const jf_packing *p,
                    const jfl_shape *s)
{
  v->packing = *p;
  v->plain = jf_shape_eq(s, &of(w, v)->shape) ? NULL : &of(w, v)->shape;
  v->shape = *s;
}

/* Says that v is made in that packing by `made`; forms that were known before are forgotten. */
static void pass_layout_made(pass_layout_walk *w, const jfl_value *v, const jf_packing *p,
                             jfl_value *made)
{
  pass_layout_seen *e = of(w, v);
  const jf_packing here = pass_layout_packing(w, v, p->form);
  e->made = *p;
  e->source = made;
  e->as[JF_PLAIN] = NULL;
  if (jf_packing_eq(p, &here)) e->as[p->form] = made;
}

/* The value in a form that its shape allows, converted if need be. */
static jfl_value *get(pass_layout_walk *w, const jfl_value *v, jf_form form)
{
  pass_layout_seen *s = of(w, v);
  const jf_packing here = pass_layout_packing(w, v, form);
  jf_relayout r;
  if (s->as[form]) return s->as[form];
  if (form == JF_PLAIN) {
    jf_relayout_to(&s->made, &s->shape, &r);
    r = jf_relayout_back(&r, &s->shape);
    return s->as[form] = jf_emit_relayout(w->g, &r, s->source);
  }
  jf_relayout_to(&here, &s->shape, &r);
  return s->as[form] = jf_emit_relayout(w->g, &r, get(w, v, JF_PLAIN));
}

/* What a layout rule is shown: the node with the forms of its inputs. */
static jf_layout pass_layout_look(const pass_layout_walk *w, const jf_node *n)
{
  jf_arena *arena = w->g->arena;
  const jfl_shape **in = jf_alloc(arena, (size_t)n->n_in * sizeof *in);
  const jfl_shape **out = jf_alloc(arena, (size_t)n->n_out * sizeof *out);
  jf_layout c = {
    .node = n, .kind = pass_layout_kind(w, n->place), .in_shape = in, .out_shape = out, .op = n->op,
    .in = jf_alloc(arena, (size_t)n->n_in * sizeof *c.in),
    .out = jf_alloc(arena, (size_t)n->n_out * sizeof *c.out),
    .attr = jf_attr_copy(arena, n->op->attr, n->op->attr_size, n->attr), .arena = arena
  };
  for (int i = 0; i < n->n_in; i++) {
    in[i] = &of(w, n->in[i])->shape;
    c.in[i] = of(w, n->in[i])->made.form;
  }
  for (int i = 0; i < n->n_out; i++) out[i] = &of(w, n->out[i])->shape;
  return c;
}

/* ---- pointwise ops ---- */

/* The form for the values of that shape: that of the variable if one is updated, else that of the
   first input which is not plain. */
static jf_form common_form(const jf_layout *c, const jfl_shape *shape)
{
  jf_form form = JF_PLAIN;
  for (int i = 0; i < c->node->n_in; i++)
    if (jf_mutates(c->node, i)) return c->in[i];
  for (int i = 0; form == JF_PLAIN && i < c->node->n_in; i++)
    if (jf_shape_eq(c->in_shape[i], shape)) form = c->in[i];
  return form;
}

/* Chooses the form of input i of a pointwise op whose result is in `form`. Single numbers stay
   plain; other inputs that broadcast are converted to JF_BROADCAST. Returns 0 if that is
   impossible, as it is for updates. */
static int pass_layout_follow(const pass_layout_walk *w, jf_layout *c, int i,
                              const jfl_shape *shape, jf_form form)
{
  jf_relayout r;
  const jf_packing spread = pass_layout_packing(w, c->node->in[i], JF_BROADCAST);
  const jfl_shape *s = c->in_shape[i];
  if (jf_shape_eq(s, shape)) c->in[i] = form;
  else if (!c->node->n_out || (jf_numel(s) == 1 && s->n <= shape->n)) c->in[i] = JF_PLAIN;
  else if (form != JF_BLOCKED || !jf_relayout_to(&spread, s, &r)) return 0;
  else c->in[i] = JF_BROADCAST;
  return 1;
}

/* Whether n copies between devices that want the same blocks, but for a result of the job, which is
   plain. */
static int pass_layout_copies(const pass_layout_walk *w, const jf_node *n)
{
  if (!(n->op->flags & JF_TRANSFER) || of(w, n->out[0])->is_result) return 0;
  const jf_packing a = pass_layout_packing(w, n->in[0], JF_BLOCKED);
  const jf_packing b = pass_layout_packing(w, n->out[0], JF_BLOCKED);
  return jf_packing_eq(&a, &b);
}

static int pointwise(const pass_layout_walk *w, jf_layout *c)
{
  const jf_node *n = c->node;
  if (!(jf_is_pointwise(n->op) || pass_layout_copies(w, n)) || !n->n_in) return 0;
  const jfl_shape *shape = n->n_out ? c->out_shape[0] : c->in_shape[0];
  jf_form form = common_form(c, shape);
  if (form == JF_PLAIN) return 0;
  for (int i = 0; i < n->n_in; i++)
    if (!pass_layout_follow(w, c, i, shape, form)) return 0;
  for (int i = 0; i < n->n_out; i++) {
    if (!jf_shape_eq(c->out_shape[i], shape)) return 0;
    c->out[i] = form;
  }
  return 1;
}

/* ---- variables ---- */

static void pack_variable(pass_layout_walk *w, jfl_value *v, const jf_packing *p)
{
  jfl_shape packed;
  if (!jf_packed_shape(p, &of(w, v)->shape, &packed)) return;
  reshape(w, v, p, &packed);
  pass_layout_made(w, v, p, v);
}

/* Packs variables that the session has in the form that it keeps them in. */
static void find_variables(pass_layout_walk *w)
{
  for (int i = 0; i < w->g->n_value; i++) {
    jfl_value *v = w->g->value[i];
    if (v->origin != JF_VARIABLE) continue;
    const jf_packing *p = pass_layout_packing_in(w->target, v);
    pass_layout_seen *e = of(w, v);
    if (v->plain) e->shape = *v->plain;
    e->free = !p;
    pack_variable(w, v, p ? p : &v->packing);
  }
}

/* Packs a variable, if its form may still be chosen; also one that v is with its channels first. */
static void pass_layout_pack(pass_layout_walk *w, jfl_value *v, jf_packing p)
{
  if (p.form == JF_PACKED && of(w, v)->turned && jf_turns_channels(v->node, 0)) {
    v = v->node->in[0];
    p.form = JF_PACKED_LAST;
  }
  const pass_layout_seen *e = of(w, v);
  if (v->origin == JF_VARIABLE && e->free && e->made.form == JF_PLAIN) pack_variable(w, v, &p);
}

/* Packs the tensors of an update alike. */
static void pack_together(pass_layout_walk *w, const jf_node *n)
{
  const jfl_value *packed = NULL;
  for (int i = 0; i < n->n_in; i++)
    if (jf_mutates(n, i) && jf_form_keeps(of(w, n->in[i])->made.form)) packed = n->in[i];
  for (int i = 0; packed && i < n->n_in; i++)
    if (jf_mutates(n, i) && jf_shape_eq(&of(w, n->in[i])->shape, &of(w, packed)->shape))
      pass_layout_pack(w, n->in[i], of(w, packed)->made);
}

/* Notes of what n makes whether n may be dropped where it only turns channels. */
static void pass_layout_note_turn(pass_layout_walk *w, const jf_node *n)
{
  if (jf_turns_channels(n, 0) || jf_turns_channels(n, 1))
    of(w, n->out[0])->turned = jf_may_replace(&w->r, n->out[0], n->in[0]);
}

/* Packs new variables where a convolution asks for it. Updates come after the convolutions, and
   pack alike what they change. */
static void choose_forms(pass_layout_walk *w)
{
  for (int i = 0; i < w->r.n_old; i++) {
    const jf_node *n = w->r.old[i];
    pass_layout_note_turn(w, n);
    if (jf_is_pointwise(n->op)) pack_together(w, n);
    if (!w->rules || !n->op->layout) continue;
    jf_layout c = pass_layout_look(w, n);
    if (!n->op->layout(&c)) continue;
    for (int k = 0; k < n->n_in; k++) {
      const jf_packing p = pass_layout_packing(w, n->in[k], c.in[k]);
      if (jf_form_keeps(p.form)) pass_layout_pack(w, n->in[k], p);
    }
  }
}

static jfl_status check_update(const pass_layout_walk *w, const jf_layout *c)
{
  const jf_node *n = c->node;
  for (int i = 0; i < n->n_in; i++) {
    const jf_packing p = pass_layout_packing(w, n->in[i], c->in[i]);
    if (jf_mutates(n, i) && !jf_packing_eq(&of(w, n->in[i])->made, &p))
      return jf_fail(JFL_ESTATE, "variable '%s' and what is updated with it are kept in different "
                     "layouts by jobs compiled before", n->in[i]->name);
  }
  return JFL_OK;
}

/* ---- the walk ---- */

/* Changes a node and its values to what the rule said. */
static jfl_status rearrange(pass_layout_walk *w, jf_node *n, const jf_layout *c)
{
  jfl_graph *g = w->g;
  JF_TRY(check_update(w, c));
  for (int i = 0; i < n->n_in; i++) n->in[i] = get(w, n->in[i], c->in[i]);
  if (g->err) return g->err;
  n->op = c->op;
  n->attr = c->attr;
  jf_infer f = { .op = n->op, .arena = g->arena, .in = n->in, .n_in = n->n_in, .attr = n->attr };
  JF_TRY(jf_op_infer(&f));
  for (int i = 0; i < n->n_out; i++) {
    const jf_packing p = pass_layout_packing(w, n->out[i], c->out[i]);
    reshape(w, n->out[i], &p, &f.shape[i]);
  }
  return JFL_OK;
}

/* Drops n if it only moves the channels of packed filters first or last: they lie alike. */
static int pass_layout_turned(pass_layout_walk *w, const jf_node *n)
{
  if (n->n_out != 1 || !of(w, n->out[0])->turned) return 0;
  const pass_layout_seen *e = of(w, n->in[0]);
  const int to_last = e->made.form == JF_PACKED;
  if (!(to_last || e->made.form == JF_PACKED_LAST) || !jf_turns_channels(n, to_last)) return 0;
  const jf_packing p = { to_last ? JF_PACKED_LAST : JF_PACKED, e->made.block };
  pass_layout_made(w, n->out[0], &p, e->source);
  if (of(w, n->out[0])->is_result) get(w, n->out[0], JF_PLAIN);
  return 1;
}

static void note_outputs(pass_layout_walk *w, const jf_node *n, const jf_layout *c)
{
  for (int i = 0; i < n->n_out; i++) {
    jfl_value *v = n->out[i];
    pass_layout_seen *e = of(w, v);
    jf_relayout r = { .split = e->shape, .to = e->shape };
    const jf_packing p = pass_layout_packing(w, n->out[i], c->out[i]);
    pass_layout_made(w, v, &p, p.form == JF_PLAIN ? jf_emit_relayout(w->g, &r, v) : v);
    if (e->is_result) get(w, v, JF_PLAIN);
  }
}

static jfl_status pass_layout_visit(pass_layout_walk *w, jf_node *n)
{
  if (pass_layout_turned(w, n)) return w->g->err;
  jf_layout c = pass_layout_look(w, n);
  if (!(w->rules && n->op->layout && n->op->layout(&c)) && !pointwise(w, &c)) {
    c = pass_layout_look(w, n);
    for (int i = 0; i < n->n_in; i++) c.in[i] = JF_PLAIN;
  }
  JF_TRY(rearrange(w, n, &c));
  jf_rewrite_keep(&w->r, n);
  note_outputs(w, n, &c);
  return w->g->err;
}

static jfl_status pass_layout_run(jfl_graph *g, const jf_target *target, int rules)
{
  pass_layout_walk w = { .g = g, .target = target, .rules = rules };
  w.seen = jf_alloc(g->arena, (size_t)g->n_value * sizeof *w.seen);
  for (int i = 0; i < g->n_value; i++)
    w.seen[i] = (pass_layout_seen){ .shape = g->value[i]->shape, .as[JF_PLAIN] = g->value[i] };
  for (int i = 0; i < g->n_output; i++) w.seen[g->output[i]->id].is_result = 1;
  find_variables(&w);
  jf_rewrite_begin(g, &w.r);
  choose_forms(&w);
  for (jf_node *n; (n = jf_rewrite_next(&w.r));) JF_TRY(pass_layout_visit(&w, n));
  for (int i = 0; i < g->n_output; i++) g->output[i] = get(&w, g->output[i], JF_PLAIN);
  return g->err;
}

jfl_status jf_pass_layout(jfl_graph *g, const jf_target *target)
{
  return target->chooser->flags & JF_REFERENCE ? JFL_OK : pass_layout_run(g, target, 1);
}

/* Brings variables that are packed in the session into jobs that the pass layout left as they
   were. */
jfl_status jf_pass_forms(jfl_graph *g, const jf_target *target)
{
  int differ = 0;
  for (int i = 0; i < g->n_value; i++) {
    const jfl_value *v = g->value[i];
    const jf_packing *p = v->origin == JF_VARIABLE ? pass_layout_packing_in(target, v) : NULL;
    differ |= p && !jf_packing_eq(p, &v->packing);
  }
  return differ ? pass_layout_run(g, target, 0) : JFL_OK;
}
