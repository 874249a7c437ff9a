/* Mixed precision: products and convolutions read floats of 16 bits and add up in float32;
   everything else stays in float32, variables and losses among it (Micikevicius et al., "Mixed
   Precision Training", 2018). bfloat16, whose range needs no scaling of losses, is for speed, and
   read where the device has kernels for it. float16 is read by all: where there are no kernels for
   it, widen rounds to it and computes in float32. Each value is converted once, so a variable once
   in a step; conversions are elementwise, so that fusion lets what makes a value convert it. */
#include "dev/half.h"
#include "pass/pass.h"

/* The least additions and multiplications per byte of what is converted that make up for the
   conversion. */
enum { MIXED_WORTH = 24 };

typedef struct mixer {
  jfl_graph *g;
  const jf_target *target;
  jf_rewrite r;
  jfl_value **brief;           /* by value of the old graph: it in 16 bits, or NULL */
} mixer;

static int mixed_reads(const jf_mixed *m, int i) { return jf_has_input(m->inputs, i); }

/* Whether all inputs that the node would read in 16 bits are of float32. */
static int mixed_can(const jf_node *n)
{
  for (int i = 0; i < n->n_in; i++)
    if (mixed_reads(n->op->mixed, i) && n->in[i]->dtype != JFL_F32) return 0;
  return 1;
}

/* Whether the node gains by reading bfloat16. Convolutions by transforms do not: those of float32
   are as fast as direct ones of bfloat16. */
static int mixed_gains(const mixer *w, const jf_node *n)
{
  double bytes = 0, number;
  if (!n->op->flop) return 0;
  jf_kargs k = jf_call_of(w->g->arena, n);
  const jf_kernel_row *now = jf_row_for(w->target, n, &k);
  if (now && now->indirect) return 0;
  for (int i = 0; i < n->n_in; i++) {
    if (!mixed_reads(n->op->mixed, i)) continue;
    if (jf_number(n->in[i], &number)) return 0;
    bytes += (double)jf_numel(&n->in[i]->shape) * sizeof(float);
    k.in[i].dtype = JFL_BF16;
  }
  const int worth = bytes > 0 && n->op->flop(&k) >= MIXED_WORTH * bytes;
  return worth && jf_row_for(w->target, n, &k) != NULL;
}

/* The value in 16 bits; its name says so, which plans show. */
static jfl_value *mixed_brief(mixer *w, jfl_value *v)
{
  jfl_value **known = v->id < w->r.n_value ? &w->brief[v->id] : NULL;
  if (known && *known) return *known;
  jfl_value *c = jf_emit_cast(w->g, v, w->g->mixed);
  if (!c) return v;
  c->name = c->node->name = jf_sprintf(w->g->arena, "%s-%s", v->name, jfl_dtype_name(w->g->mixed));
  if (known) *known = c;
  return c;
}

static void mixed_change(mixer *w, jf_node *n)
{
  const jf_mixed *m = n->op->mixed;
  char *attr = jf_attr_copy(w->g->arena, n->op->attr, n->op->attr_size, n->attr);
  *(int *)(void *)(attr + m->wide) = 1;
  n->attr = attr;
  for (int i = 0; i < n->n_in; i++)
    if (mixed_reads(m, i)) n->in[i] = mixed_brief(w, n->in[i]);
}

jfl_status jf_pass_mixed(jfl_graph *g, const jf_target *target)
{
  mixer w = { .g = g, .target = target };
  if (!jf_is_half(g->mixed)) return JFL_OK;
  w.brief = jf_alloc(g->arena, (size_t)g->n_value * sizeof *w.brief);
  jf_rewrite_begin(g, &w.r);
  for (int i = 0; i < w.r.n_old && !g->err; i++) {
    jf_node *n = w.r.old[i];
    jf_serve(g, n);
    if (n->op->mixed && mixed_can(n) && (g->mixed == JFL_F16 || mixed_gains(&w, n)))
      mixed_change(&w, n);
    jf_rewrite_keep(&w.r, n);
  }
  jf_serve(g, NULL);
  jf_rewrite_end(&w.r);
  return g->err;
}
