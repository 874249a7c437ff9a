/* Mixed precision: products and convolutions read floats of 16 bits and add up in float32;
   everything else is computed in float32, variables and losses among it (Micikevicius et al.,
   "Mixed Precision Training", 2018). bfloat16, whose range needs no scaling of losses, is for
   speed, and read where the device has kernels for it. float16 is read by all: where there are no
   kernels for it, widen rounds to it and computes in float32. Each value is converted once, so a
   variable once in a step; conversions are elementwise, so that fusion lets what makes a value
   convert it.
   What only products read, ops write as bfloat16 themselves if their records say that they may. On
   a device whose rows do all the work, a GPU, memory is what other ops wait for: values that are
   read by products, elementwise ops, sums, pools, ops that move elements, and those whose record
   says so, are stored in bfloat16 and nowhere in float32, if a product makes them, if only products
   read them, or if all that they are made of is stored so. Hence sums that start in float32, such
   as those around the layers of a transformer, stay in it. */
#include "dev/half.h"
#include "ir/halves.h"
#include "pass/pass.h"

/* The least additions and multiplications per byte of what is converted that make up for the
   conversion, on a processor and on a GPU, whose other ops wait for a value that a product reads
   in float32; and how much less a conversion counts that is made once for many runs. */
enum { MIXED_WORTH = 24, GPU_WORTH = 8, STILL_LESS = 4 };

/* How a node deals with values in 16 bits. */
typedef enum mixed_way {
  MIXED_NOT,                   /* it takes none */
  MIXED_PRODUCT,               /* it rounds what it reads */
  MIXED_EACH,                  /* it is elementwise, and converts as it reads and writes */
  MIXED_SUM,                   /* it is sums, and converts as it reads */
  MIXED_MOVE,                  /* it moves them as they are, or computes in 16 bits as JF_NARROWS */
  MIXED_HALF                   /* it reads and writes them as its record says */
} mixed_way;

typedef struct mixer {
  jfl_graph *g;
  const jf_target *target;
  jf_rewrite r;
  jfl_value **half;            /* by value of the old graph: it in 16 bits, or NULL */
  char *still;                 /* by value: whether it is converted once for many runs; or NULL */
  /* By number of an old node: */
  mixed_way *way;
  const jf_kernel_row **row;   /* the row that serves it if it reads 16 bits, if that was asked */
  jf_halves *halves;           /* of one of way MIXED_HALF: what it may read, and what it writes */
  /* By value: */
  int *rounds;                 /* how many nodes round it: products, or what moves it to them */
  int *takes;                  /* how many others would take it in 16 bits */
  int *asks;                   /* how many of these are of way MIXED_HALF */
  char *stored;                /* whether it is stored in 16 bits alone */
} mixer;

static int mixed_reads(const jf_mixed *m, int i) { return jf_has_input(m->inputs, i); }

/* Whether these inputs, which the node would read in 16 bits, are of float32. */
static int mixed_can(const jf_node *n, unsigned inputs)
{
  for (int i = 0; i < n->n_in; i++)
    if (jf_has_input(inputs, i) && n->in[i]->dtype != JFL_F32) return 0;
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
    k.in[i].dtype = JFL_BF16;
    if (jf_reads_before(n, i)) continue;
    bytes += (double)jf_numel(&n->in[i]->shape) * sizeof(float) / (still ? STILL_LESS : 1);
  }
  const int worth = w->target->device[n->place]->kind->plain ? MIXED_WORTH : GPU_WORTH;
  if (!(bytes > 0 && n->op->flop(&k) >= worth * bytes)) return NULL;
  k.attr = mixed_attr(w, n);
  return jf_row_for(w->target, n, &k);
}

/* The name of v in 16 bits, which plans show. */
static const char *mixed_name(const mixer *w, const jfl_value *v)
{
  return jf_sprintf(w->g->arena, "%s-%s", v->name, jfl_dtype_name(w->g->mixed));
}

static jfl_value *mixed_half(mixer *w, jfl_value *v)
{
  jfl_value **known = v->id < w->r.n_value ? &w->half[v->id] : NULL;
  if (known && *known) return *known;
  jfl_value *c = jf_emit_cast(w->g, v, w->g->mixed);
  if (!c) return v;
  c->name = c->node->name = mixed_name(w, v);
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

/* ---- how nodes deal with 16 bits ---- */

static int mixed_is_product(const mixer *w, int i)
{
  const jf_node *n = w->r.old[i];
  if (!mixed_can(n, n->op->mixed->inputs)) return 0;
  if (w->g->mixed == JFL_F16) return 1;
  w->row[i] = mixed_gains(w, n);
  return w->row[i] != NULL;
}

/* Whether a row moves what is in 16 bits, or narrows. A view needs none. */
static int mixed_is_move(const mixer *w, const jf_node *n)
{
  jf_kargs k = jf_call_of(w->g->arena, n);
  if (n->op->flags & JF_VIEW) return n->n_in == 1 && n->n_out == 1;
  for (int i = 0; i < n->n_in; i++)
    if (k.in[i].dtype == JFL_F32) k.in[i].dtype = w->g->mixed;
  for (int i = 0; i < n->n_out; i++)
    if (k.out[i].dtype == JFL_F32) k.out[i].dtype = w->g->mixed;
  return (n->op->moves || n->op->flags & JF_NARROWS) &&
         jf_accepts(w->target->chooser, n->place, n->op, &k);
}

/* Whether a row serves the node if it reads and writes 16 bits so. */
static int mixed_serves(const mixer *w, const jf_node *n, jf_halves h)
{
  jf_kargs k = jf_call_of(w->g->arena, n);
  k.attr = jf_attr_copy(w->g->arena, n->op->attr, n->op->attr_size, n->attr);
  *jf_halves_of(n->op, k.attr) = h;
  for (int i = 0; i < n->n_in; i++)
    if (jf_has_input(h.reads, i)) k.in[i].dtype = JFL_BF16;
  for (int i = 0; i < n->n_out; i++)
    if (jf_has_input(h.writes, i)) k.out[i].dtype = JFL_BF16;
  return jf_accepts(w->target->chooser, n->place, n->op, &k);
}

static mixed_way mixed_half_way(mixer *w, int i)
{
  const jf_node *n = w->r.old[i];
  const jf_halves h = { (int)n->op->mixed->reads & ((1 << n->n_in) - 1), 0 };
  if (!mixed_can(n, n->op->mixed->reads)) return MIXED_NOT;
  if (mixed_serves(w, n, h)) w->halves[i] = h;
  return MIXED_HALF;
}

static mixed_way mixed_find_way(mixer *w, int i)
{
  const jf_node *n = w->r.old[i];
  if (n->op->mixed && n->op->mixed->inputs)
    return mixed_is_product(w, i) ? MIXED_PRODUCT : MIXED_NOT;
  if (w->g->mixed != JFL_BF16) return MIXED_NOT;
  if (n->op->mixed) return mixed_half_way(w, i);
  if (w->target->device[n->place]->kind->plain) return MIXED_NOT;
  if (n->op->expr && n->op->loop) return MIXED_EACH;
  if (n->op->flags & (JF_SUMS | JF_MEANS)) return MIXED_SUM;
  return mixed_is_move(w, n) ? MIXED_MOVE : MIXED_NOT;
}

/* ---- which values are stored in 16 bits alone ---- */

/* Whether all that reads v rounds it anyway, or takes it so. */
static char mixed_may_store(const mixer *w, const jfl_value *v)
{
  const int uses = w->r.uses[v->id];
  return v->dtype == JFL_F32 && uses > 0 && w->takes[v->id] + w->rounds[v->id] == uses;
}

/* Whether that is so of all results that are read. */
static int mixed_may_store_all(const mixer *w, const jf_node *n)
{
  for (int i = 0; i < n->n_out; i++)
    if (w->r.uses[n->out[i]->id] && !mixed_may_store(w, n->out[i])) return 0;
  return 1;
}

static int mixed_rounds_any(const mixer *w, const jf_node *n)
{
  for (int i = 0; i < n->n_out; i++)
    if (w->rounds[n->out[i]->id]) return 1;
  return 0;
}

/* Counts the readers of each value, and those of what it is moved to as its own. */
static void mixed_count(mixer *w)
{
  for (int i = w->r.n_old - 1; i >= 0; i--) {
    const jf_node *n = w->r.old[i];
    const mixed_way way = w->way[i];
    const int moves = way == MIXED_MOVE && mixed_may_store_all(w, n);
    const int rounds = moves && mixed_rounds_any(w, n);
    for (int k = 0; k < n->n_in; k++) {
      const int id = n->in[k]->id, asks = jf_has_input(w->halves[i].reads, k);
      w->rounds[id] += way == MIXED_PRODUCT ? mixed_reads(n->op->mixed, k) : rounds;
      w->takes[id] += way == MIXED_EACH || way == MIXED_SUM || asks || (moves && !rounds);
      w->asks[id] += asks;
    }
  }
}

/* Whether one of these inputs of float32 is stored in 16 bits; and whether all are, or are
   numbers. */
static int mixed_any_stored(const mixer *w, const jf_node *n)
{
  for (int i = 0; i < n->n_in; i++)
    if (w->stored[n->in[i]->id]) return 1;
  return 0;
}
static int mixed_all_stored(const mixer *w, const jf_node *n, unsigned inputs)
{
  double number;
  for (int i = 0; i < n->n_in; i++) {
    const jfl_value *v = n->in[i];
    if (!jf_has_input(inputs, i) || v->dtype != JFL_F32 || w->stored[v->id]) continue;
    if (!jf_number(v, &number)) return 0;
  }
  return mixed_any_stored(w, n);
}

/* Whether a product is to read input i in 16 bits so that its results are: what it reads beside its
   operands is so if it is a variable, or moved from one, which is not rounded again and again. */
static int mixed_narrows(const jf_node *n, int i)
{
  const jfl_value *v = n->in[i];
  if (v->dtype != JFL_F32 || mixed_reads(n->op->mixed, i)) return v->dtype == JFL_F32;
  while (v->origin == JF_RESULT && v->node->n_in == 1 &&
         (v->node->op->moves || v->node->op->flags & JF_VIEW))
    v = v->node->in[0];
  return v->origin == JF_VARIABLE;
}

/* The row that makes results of a product in 16 bits, or NULL. */
static const jf_kernel_row *mixed_can_store(const mixer *w, const jf_node *n)
{
  unsigned halves = 0;
  jf_kargs k;
  for (int i = 0; i < n->n_in && i < JF_MAXIN; i++)
    if (mixed_narrows(n, i)) halves |= 1u << i;
  if (jf_call_as(w->g->arena, n, halves, w->g->mixed, &k)) return NULL;
  for (int i = 0; i < n->n_out; i++) {
    const jfl_value *v = n->out[i];
    if (k.out[i].dtype != v->dtype && w->r.uses[v->id] && !mixed_may_store(w, v)) return NULL;
  }
  return jf_row_for(w->target, n, &k);
}

static void mixed_store_product(mixer *w, int i)
{
  const jf_node *n = w->r.old[i];
  if (!mixed_may_store(w, n->out[0])) return;
  const jf_kernel_row *row = mixed_can_store(w, n);
  if (!row) return;
  w->row[i] = row;
  for (int k = 0; k < n->n_out; k++) w->stored[n->out[k]->id] = mixed_may_store(w, n->out[k]);
}

/* What the node writes in 16 bits, of what its record says that it may. */
static void mixed_store_half(mixer *w, int i)
{
  const jf_node *n = w->r.old[i];
  const int all = mixed_all_stored(w, n, n->op->mixed->reads);
  jf_halves h = { 0, 0 };
  for (int k = 0; k < n->n_in; k++)
    if (w->stored[n->in[k]->id]) h.reads |= 1 << k;
  for (int k = 0; k < n->n_out; k++) {
    const jfl_value *v = n->out[k];
    const jf_halves more = { h.reads, h.writes | 1 << k };
    if (!jf_has_input(n->op->mixed->writes, k) || !mixed_may_store(w, v)) continue;
    if (!(all || w->rounds[v->id]) || !mixed_serves(w, n, more)) continue;
    h = more;
    w->stored[v->id] = 1;
  }
  w->halves[i] = h;
}

/* Whether storing the result of an elementwise op in 16 bits rounds nothing that counts: all its
   readers round it, or all that it is made of is stored so, and not elementwise ops alone read it,
   which one program may compute. */
static char mixed_rounds_nothing(const mixer *w, const jf_node *n)
{
  const int id = n->out[0]->id;
  if (!w->takes[id]) return 1;
  return (w->rounds[id] || w->asks[id]) && mixed_all_stored(w, n, ~0u);
}

/* Whether what n moves may be rounded before as well as after: only products read it, and it is no
   part of what n reads, all of which would be rounded. */
static int mixed_rounds_before(const mixer *w, const jf_node *n)
{
  int64_t more = 0;
  for (int k = 0; k < n->n_in; k++) {
    if (n->in[k]->dtype != JFL_F32) return 0;
    more -= jf_numel(&n->in[k]->shape);
  }
  for (int k = 0; k < n->n_out; k++) {
    const jfl_value *v = n->out[k];
    if (w->r.uses[v->id] != w->rounds[v->id] || !mixed_may_store(w, v)) return 0;
    more += jf_numel(&v->shape);
  }
  return more >= 0;
}

static void mixed_store(mixer *w, int i)
{
  const jf_node *n = w->r.old[i];
  const jfl_value *v = n->n_out ? n->out[0] : NULL;
  if (w->way[i] == MIXED_HALF) mixed_store_half(w, i);
  if (!v || w->target->device[n->place]->kind->plain) return;
  if (w->way[i] == MIXED_PRODUCT) mixed_store_product(w, i);
  if (w->way[i] == MIXED_MOVE && (mixed_any_stored(w, n) || mixed_rounds_before(w, n)))
    for (int k = 0; k < n->n_out; k++) w->stored[n->out[k]->id] = mixed_may_store(w, n->out[k]);
  if (w->way[i] == MIXED_EACH && mixed_may_store(w, v))
    w->stored[v->id] = mixed_rounds_nothing(w, n);
}

static void mixed_find(mixer *w)
{
  const size_t n = (size_t)w->r.n_old, values = (size_t)w->r.n_value;
  w->way = jf_alloc(w->g->arena, n * sizeof *w->way);
  w->row = jf_alloc(w->g->arena, n * sizeof *w->row);
  w->halves = jf_alloc(w->g->arena, n * sizeof *w->halves);
  w->rounds = jf_alloc(w->g->arena, values * sizeof *w->rounds);
  w->takes = jf_alloc(w->g->arena, values * sizeof *w->takes);
  w->asks = jf_alloc(w->g->arena, values * sizeof *w->asks);
  w->stored = jf_alloc(w->g->arena, values);
  for (int i = 0; i < w->r.n_old; i++) w->way[i] = mixed_find_way(w, i);
  mixed_count(w);
  for (int i = 0; i < w->r.n_old && w->g->mixed == JFL_BF16; i++) mixed_store(w, i);
}

/* ---- making nodes anew ---- */

/* Lets an elementwise op or a sum convert what is stored in 16 bits alone. Each has conversions of
   its own: one that two of them share would be stored in float32. */
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

/* Makes a product or what moves elements, in place of n, whose results are in 16 bits. */
static void mixed_make_stored(mixer *w, const jf_node *n)
{
  const int moves = w->way[w->r.next - 1] == MIXED_MOVE;
  jfl_value **in = jf_alloc(w->g->arena, (size_t)n->n_in * sizeof *in);
  for (int i = 0; i < n->n_in; i++) {
    const int narrows = moves ? n->in[i]->dtype == JFL_F32 : mixed_narrows(n, i);
    in[i] = narrows ? mixed_half(w, n->in[i]) : jf_current(&w->r, n->in[i]);
  }
  jfl_value *y = jf_emit(w->g, n->op, n->attr, in, (size_t)n->n_in);
  if (!y) return;
  y->node->tentative = w->row[w->r.next - 1];
  for (int i = 0; i < n->n_out; i++) {
    const jfl_value *v = n->out[i];
    jfl_value *by = y->node->out[i];
    const int is_half = by->dtype != v->dtype;
    by->name = is_half ? mixed_name(w, v) : v->name;
    if (is_half) w->half[v->id] = by;
    else jf_replace(&w->r, v, by);
  }
  y->node->name = y->name;
}

/* Lets n read and write 16 bits where mixed_store_half found it to. */
static void mixed_narrow(mixer *w, jf_node *n)
{
  const jf_halves h = w->halves[w->r.next - 1];
  if (!h.reads && !h.writes) return;
  n->attr = jf_attr_copy(w->g->arena, n->op->attr, n->op->attr_size, n->attr);
  *jf_halves_of(n->op, n->attr) = h;
  for (int i = 0; i < n->n_in; i++)
    if (jf_has_input(h.reads, i)) n->in[i] = mixed_half(w, n->in[i]);
  for (int i = 0; i < n->n_out; i++) {
    jfl_value *v = n->out[i];
    if (!jf_has_input(h.writes, i)) continue;
    v->dtype = JFL_BF16;
    v->name = mixed_name(w, v);
    w->half[v->id] = v;
  }
}

static void mixed_make(mixer *w, jf_node *n)
{
  const mixed_way way = w->way[w->r.next - 1];
  const int stored = n->n_out > 0 && w->stored[n->out[0]->id];
  if ((stored && way == MIXED_PRODUCT) ||
      (way == MIXED_MOVE && (stored || mixed_any_stored(w, n)))) {
    mixed_make_stored(w, n);
    return;
  }
  if (way == MIXED_PRODUCT) mixed_change(w, n);
  if (way == MIXED_HALF) mixed_narrow(w, n);
  if (way == MIXED_EACH || way == MIXED_SUM) mixed_read_stored(w, n);
  jf_rewrite_keep(&w->r, n);
  if (stored && way == MIXED_EACH) mixed_half(w, n->out[0]);
}

jfl_status jf_pass_mixed(jfl_graph *g, const jf_target *target)
{
  mixer w = { .g = g, .target = target };
  if (!jf_is_half(g->mixed)) return JFL_OK;
  w.half = jf_alloc(g->arena, (size_t)g->n_value * sizeof *w.half);
  w.still = jf_still_values(g);
  jf_rewrite_begin(g, &w.r);
  mixed_find(&w);
  for (jf_node *n; (n = jf_rewrite_next(&w.r));) mixed_make(&w, n);
  jf_rewrite_end(&w.r);
  return g->err;
}
