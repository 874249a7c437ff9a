/* Mixed precision: products and convolutions read floats of 16 bits and add up in float32;
   everything else stays in float32, variables and losses among it (Micikevicius et al., "Mixed
   Precision Training", 2018). bfloat16, whose range needs no scaling of losses, is for speed, and
   read where the device has kernels for it. float16 is read by all: where there are no kernels for
   it, widen rounds to it and computes in float32. Each value is converted once, so a variable once
   in a step; conversions are elementwise, so that fusion lets what makes a value convert it. Some
   other ops write bfloat16 themselves, where nothing reads their result as float32. On a device
   whose rows do all the work, a GPU, values that products and elementwise ops alone read are stored
   in bfloat16 and nowhere in float32: memory is what such ops wait for there. */
#include "dev/half.h"
#include "ir/bf16_result.h"
#include "pass/pass.h"

/* The least additions and multiplications per byte of what is converted that make up for the
   conversion, and how much less a conversion counts that is made once for many runs. */
enum { MIXED_WORTH = 24, STILL_LESS = 4 };

typedef struct mixer {
  jfl_graph *g;
  const jf_target *target;
  jf_rewrite r;
  jfl_value **half;           /* by value of the old graph: it in 16 bits, or NULL */
  char *takes;                 /* by number of an old node: whether it will read 16 bits */
  const jf_kernel_row **row;   /* likewise, the row that then serves it, if that was asked */
  int *reads;                  /* by value: how often such nodes read it as that */
  char *still;                 /* by value: whether it is converted once for many runs; or NULL */
  char *stored;                /* by value: whether it is stored in 16 bits alone */
} mixer;

static int mixed_reads(const jf_mixed *m, int i) { return jf_has_input(m->inputs, i); }

/* Whether all inputs that the node would read in 16 bits are of float32. */
static int mixed_can(const jf_node *n)
{
  for (int i = 0; i < n->n_in; i++)
    if (mixed_reads(n->op->mixed, i) && n->in[i]->dtype != JFL_F32) return 0;
  return 1;
}

/* The attributes of n once it reads 16 bits. */
static void *mixed_attr(const mixer *w, const jf_node *n)
{
  char *attr = jf_attr_copy(w->g->arena, n->op->attr, n->op->attr_size, n->attr);
  *(int *)(void *)(attr + n->op->mixed->result) = 1;
  return attr;
}

/* The row that serves the node if it reads bfloat16, or NULL if it does not gain by that.
   Convolutions by transforms do not: those of float32 are as fast as direct ones of bfloat16. */
static const jf_kernel_row *mixed_gains(const mixer *w, const jf_node *n)
{
  double bytes = 0, number;
  if (!n->op->flop) return NULL;
  jf_kargs k = jf_call_of(w->g->arena, n);
  const jf_kernel_row *now = jf_row_for(w->target, n, &k);
  if (now && now->indirect) return NULL;
  for (int i = 0; i < n->n_in; i++) {
    if (!mixed_reads(n->op->mixed, i)) continue;
    if (jf_number(n->in[i], &number)) return NULL;
    const int still = w->still && w->still[n->in[i]->id];
    bytes += (double)jf_numel(&n->in[i]->shape) * sizeof(float) / (still ? STILL_LESS : 1);
    k.in[i].dtype = JFL_BF16;
  }
  if (!(bytes > 0 && n->op->flop(&k) >= MIXED_WORTH * bytes)) return NULL;
  k.attr = mixed_attr(w, n);
  return jf_row_for(w->target, n, &k);
}

/* The value in 16 bits; its name says so, which plans show. */
static jfl_value *mixed_half(mixer *w, jfl_value *v)
{
  jfl_value **known = v->id < w->r.n_value ? &w->half[v->id] : NULL;
  if (known && *known) return *known;
  jfl_value *c = jf_emit_cast(w->g, v, w->g->mixed);
  if (!c) return v;
  c->name = c->node->name = jf_sprintf(w->g->arena, "%s-%s", v->name, jfl_dtype_name(w->g->mixed));
  if (known) *known = c;
  return c;
}

static void mixed_change(mixer *w, jf_node *n)
{
  n->attr = mixed_attr(w, n);
  n->tentative = w->row[w->r.next - 1];
  for (int i = 0; i < n->n_in; i++)
    if (mixed_reads(n->op->mixed, i)) n->in[i] = mixed_half(w, n->in[i]);
}

static int mixed_takes(const mixer *w, int i)
{
  const jf_node *n = w->r.old[i];
  if (!n->op->mixed || !n->op->mixed->inputs || !mixed_can(n)) return 0;
  if (w->g->mixed == JFL_F16) return 1;
  w->row[i] = mixed_gains(w, n);
  return w->row[i] != NULL;
}

/* ---- values that are stored in 16 bits alone ---- */

static int mixed_is_each(const jf_node *n) { return n->op->expr && n->op->loop; }

/* The row that makes the result of a product in 16 bits, of operands that are all in 16 bits, or
   NULL; what it adds to the sum must be variables, which are not rounded again and again. */
static const jf_kernel_row *mixed_can_store(const mixer *w, const jf_node *n)
{
  jf_kargs k = jf_call_of(w->g->arena, n);
  if (n->n_out != 1) return NULL;
  for (int i = 0; i < n->n_in; i++) {
    if (n->in[i]->dtype != JFL_F32) continue;
    if (!mixed_reads(n->op->mixed, i) && n->in[i]->origin != JF_VARIABLE) return NULL;
    k.in[i].dtype = w->g->mixed;
  }
  k.out[0].dtype = w->g->mixed;
  return jf_row_for(w->target, n, &k);
}

static int mixed_is_view(const jf_node *n)
{
  return n->op->flags & JF_VIEW && n->n_in == 1 && n->n_out == 1;
}

/* Whether all that reads v is a product that rounds it anyway, or elementwise, so that it converts
   as it reads, or a view that only those read. */
static int mixed_may_store(const mixer *w, const jfl_value *v, const int *each)
{
  const int uses = w->r.uses[v->id];
  return v->dtype == JFL_F32 && uses > 0 && each[v->id] + w->reads[v->id] == uses;
}

/* Counts the elementwise readers of each value, and those of its views as its own. */
static int *mixed_count(mixer *w)
{
  int *each = jf_alloc(w->g->arena, (size_t)w->r.n_value * sizeof *each);
  for (int i = w->r.n_old - 1; i >= 0; i--) {
    const jf_node *n = w->r.old[i];
    for (int k = 0; k < n->n_in; k++) each[n->in[k]->id] += mixed_is_each(n);
    if (!mixed_is_view(n) || !mixed_may_store(w, n->out[0], each)) continue;
    if (w->reads[n->out[0]->id]) w->reads[n->in[0]->id]++;
    else each[n->in[0]->id]++;
  }
  return each;
}

/* Whether the result of a node that takes 16 bits is stored so. */
static char mixed_store(const mixer *w, int i)
{
  const jf_kernel_row *row = mixed_can_store(w, w->r.old[i]);
  if (row) w->row[i] = row;
  return row != NULL;
}

static void mixed_find_stored(mixer *w)
{
  w->stored = jf_alloc(w->g->arena, (size_t)w->r.n_value);
  if (w->g->mixed != JFL_BF16) return;
  const int *each = mixed_count(w);
  for (int i = 0; i < w->r.n_old; i++) {
    const jf_node *n = w->r.old[i];
    if (!n->n_out || w->target->device[n->place]->kind->plain) continue;
    const jfl_value *v = n->out[0];
    if (!mixed_may_store(w, v, each)) continue;
    if (w->takes[i]) w->stored[v->id] = mixed_store(w, i);
    else if (mixed_is_view(n)) w->stored[v->id] = w->stored[n->in[0]->id];
    else w->stored[v->id] = mixed_is_each(n) && w->reads[v->id] > 0;
  }
}

/* Lets an elementwise op convert what is stored in 16 bits alone. Each has conversions of its own:
   one that two of them share would be stored in float32. */
static void mixed_read_stored(mixer *w, jf_node *n)
{
  for (int i = 0; i < n->n_in && !w->g->err; i++) {
    const jfl_value *v = n->in[i];
    if (v->id >= w->r.n_value || !w->stored[v->id]) continue;
    jfl_value *c = jf_emit_cast(w->g, w->half[v->id], JFL_F32);
    for (int k = i; k < n->n_in && c; k++)
      if (n->in[k] == v) n->in[k] = c;
  }
}

/* Makes a product or a view, in place of n, whose result is in 16 bits. */
static void mixed_make_stored(mixer *w, const jf_node *n)
{
  const jfl_value *v = n->out[0];
  jfl_value **in = jf_alloc(w->g->arena, (size_t)n->n_in * sizeof *in);
  for (int i = 0; i < n->n_in; i++)
    in[i] = n->in[i]->dtype == JFL_F32 ? mixed_half(w, n->in[i]) : jf_current(&w->r, n->in[i]);
  jfl_value *y = jf_emit(w->g, n->op, n->attr, in, (size_t)n->n_in);
  if (!y) return;
  y->node->tentative = w->row[w->r.next - 1];
  y->name = y->node->name = jf_sprintf(w->g->arena, "%s-%s", v->name,
                                       jfl_dtype_name(w->g->mixed));
  w->half[v->id] = y;
}

static void mixed_find(mixer *w)
{
  w->takes = jf_alloc(w->g->arena, (size_t)w->r.n_old);
  w->row = jf_alloc(w->g->arena, (size_t)w->r.n_old * sizeof *w->row);
  w->reads = jf_alloc(w->g->arena, (size_t)w->r.n_value * sizeof *w->reads);
  for (int i = 0; i < w->r.n_old; i++) {
    const jf_node *n = w->r.old[i];
    w->takes[i] = (char)mixed_takes(w, i);
    for (int k = 0; k < n->n_in && w->takes[i]; k++)
      w->reads[n->in[k]->id] += mixed_reads(n->op->mixed, k);
  }
}

/* Lets n write its first result as bfloat16, if it can and that is what all readers want. */
static void mixed_write(mixer *w, jf_node *n)
{
  if (w->g->mixed != JFL_BF16 || !jf_bf16_result(n->op, n->attr)) return;
  jfl_value *v = n->out[0];
  if (v->dtype != JFL_F32 || !w->reads[v->id] || w->reads[v->id] != w->r.uses[v->id]) return;
  n->attr = jf_attr_copy(w->g->arena, n->op->attr, n->op->attr_size, n->attr);
  *jf_bf16_result(n->op, n->attr) = 1;
  v->dtype = JFL_BF16;
  w->half[v->id] = v;
}

jfl_status jf_pass_mixed(jfl_graph *g, const jf_target *target)
{
  mixer w = { .g = g, .target = target };
  if (!jf_is_half(g->mixed)) return JFL_OK;
  w.half = jf_alloc(g->arena, (size_t)g->n_value * sizeof *w.half);
  w.still = jf_still_values(g);
  jf_rewrite_begin(g, &w.r);
  mixed_find(&w);
  mixed_find_stored(&w);
  for (jf_node *n; (n = jf_rewrite_next(&w.r));) {
    const int stored = n->n_out > 0 && w.stored[n->out[0]->id], takes = w.takes[w.r.next - 1];
    if (stored && (takes || mixed_is_view(n))) {
      mixed_make_stored(&w, n);
      continue;
    }
    if (takes) mixed_change(&w, n);
    else mixed_write(&w, n);
    mixed_read_stored(&w, n);
    jf_rewrite_keep(&w.r, n);
    if (stored) mixed_half(&w, n->out[0]);
  }
  jf_rewrite_end(&w.r);
  return g->err;
}
