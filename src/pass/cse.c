/* Removes common subexpressions: of nodes that compute the same from the same values, the first one
   stays. */
#include "pass/pass.h"

/* The nodes kept so far, in a hash table with open addressing. Its size is a power of two, and it
   is never full. */
typedef struct table { const jf_node **slot; uint64_t mask; } table;

static uint64_t hash_of(const jf_node *n)
{
  uint64_t ids = 0;
  for (int k = 0; k < n->n_in; k++) {
    uint64_t id = (uint64_t)n->in[k]->id + 1;
    /* Inputs that may change places must hash alike in both orders. */
    ids = n->op->flags & JF_COMMUTES ? ids + id * id : jf_hash(ids, &id, sizeof id);
  }
  return jf_hash(ids ^ jf_attr_hash(n->op->attr, n->op->attr_size, n->attr), &n->op, sizeof n->op);
}

static int same_inputs(const jf_node *a, const jf_node *b)
{
  int straight = a->n_in == b->n_in, crossed = straight && a->n_in == 2;
  for (int k = 0; straight && k < a->n_in; k++) straight = a->in[k] == b->in[k];
  for (int k = 0; crossed && k < 2; k++) crossed = a->in[k] == b->in[1 - k];
  return straight || (crossed && a->op->flags & JF_COMMUTES);
}

static int same(const jf_node *a, const jf_node *b)
{
  return a->op == b->op && a->place == b->place && same_inputs(a, b) && jf_may_join(a, b)
      && jf_attr_same(a->op->attr, a->op->attr_size, a->attr, b->attr);
}

/* The slot of the node that computes the same as n, or the empty slot where n belongs. */
static const jf_node **cse_find(const table *t, const jf_node *n)
{
  uint64_t i = hash_of(n) & t->mask;
  while (t->slot[i] && !same(t->slot[i], n)) i = (i + 1) & t->mask;
  return &t->slot[i];
}

static int cse_merge(jf_rewrite *r, const jf_node *n, const jf_node *first)
{
  for (int k = 0; k < n->n_out; k++)
    if (!jf_may_replace(r, n->out[k], first->out[k])) return 0;
  for (int k = 0; k < n->n_out; k++) jf_replace(r, n->out[k], first->out[k]);
  return 1;
}

jfl_status jf_pass_cse(jfl_graph *g, const jf_target *target)
{
  (void)target;
  const unsigned alone = JF_RANDOM | JF_EFFECT | JF_TOGETHER;
  jf_rewrite r;
  table t = { NULL, 15 };
  jf_rewrite_begin(g, &r);
  while (t.mask < 2 * (uint64_t)r.n_old) t.mask = 2 * t.mask + 1;
  t.slot = jf_alloc(g->arena, (t.mask + 1) * sizeof *t.slot);
  for (int i = 0; i < r.n_old; i++) {
    jf_node *n = r.old[i];
    for (int k = 0; k < n->n_in; k++) n->in[k] = jf_current(&r, n->in[k]);
    const jf_node **first = n->op->flags & alone ? NULL : cse_find(&t, n);
    if (first && *first && cse_merge(&r, n, *first)) continue;
    if (first && !*first) *first = n;
    jf_rewrite_keep(&r, n);
  }
  jf_rewrite_end(&r);
  return JFL_OK;
}
