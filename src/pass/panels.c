/* Where no variable changes, puts the weights of large products into panels that kernels read from
   end to end. The plan keeps panels from run to run until a variable changes; then making them
   takes about as long as one product of 128 rows. */
#include "dev/half.h"
#include "op/matmul.h"
#include "op/reshape.h"
#include "op/transpose.h"
#include "pass/pass.h"

/* How wide panels may be, and by how much these widths differ. Fewer rows of results, or lines
   shorter or fewer than MANY, are not worth a copy of the weights. */
enum { WIDEST = 96, NARROWEST = 48, UNIT = 16, ROWS = 16, MANY = 256 };

/* The width for a product's weights, a variable with a line for each column of results; or 0. */
static int64_t panels_width(const jf_node *n)
{
  if (!jf_matmul_takes_panels(n)) return 0;
  const jfl_shape *x = &n->in[0]->shape, *w = &n->in[1]->shape;
  if (n->in[1]->origin != JF_VARIABLE || n->in[1]->dtype != JFL_F32) return 0;
  if (x->d[0] < ROWS || w->d[0] < MANY || w->d[1] < MANY) return 0;
  for (int64_t p = WIDEST; p >= NARROWEST; p -= UNIT)
    if (w->d[0] % p == 0) return p;
  return 0;
}

static jfl_value *panels_of(jfl_graph *g, jfl_value *w, int64_t width)
{
  const jfl_shape split = { 3, { w->shape.d[0] / width, width, w->shape.d[1] } };
  int64_t *perm = jf_alloc(g->arena, 3 * sizeof *perm);
  perm[1] = 2;
  perm[2] = 1;
  const jf_transpose a = { { .v = perm, .n = 3 } };
  jfl_value *turned = JF_EMIT(g, transpose, &a, jf_emit_view(g, w, &split));
  return turned ? jf_emit_view(g, turned, &w->shape) : NULL;
}

/* Lets n read its weights in panels, if a kernel does. */
static int panels_serve(const jf_target *target, jf_node *n)
{
  jf_arena *arena = n->out[0]->graph->arena;
  const int64_t width = n->n_out ? panels_width(n) : 0;
  if (!width) return 0;
  jf_matmul *a = jf_attr_copy(arena, n->op->attr, n->op->attr_size, n->attr);
  jf_kargs k = jf_call_of(arena, n);
  k.attr = a;
  a->panel = (int)width;
  n->tentative = jf_row_for(target, n, &k);
  if (n->tentative) n->attr = a;
  return n->tentative != NULL;
}

jfl_status jf_pass_panels(jfl_graph *g, const jf_target *target)
{
  jf_rewrite r;
  if (jf_is_half(g->mixed) || jf_changes_variables(g)) return JFL_OK;
  jf_rewrite_begin(g, &r);
  jfl_value **made = jf_alloc(g->arena, (size_t)r.n_value * sizeof *made);
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    if (panels_serve(target, n)) {
      const int id = n->in[1]->id;
      if (!made[id]) made[id] = panels_of(g, n->in[1], ((const jf_matmul *)n->attr)->panel);
      if (made[id]) n->in[1] = made[id];
    }
    jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return g->err;
}
