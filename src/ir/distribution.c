/* Distributions: shares of a whole, and their texts. */
#include "ir/ir.h"

#include <stdio.h>
#include <string.h>

int64_t jf_share_of(const jfl_shape *whole, jfl_distribution d, int parts, int member,
                    jfl_shape *part)
{
  *part = *whole;
  if (d.kind != JFL_SPLIT) return 0;
  const int64_t n = whole->d[d.axis], each = n / parts, more = n % parts;
  part->d[d.axis] = each + (member < more);
  return member * each + (member < more ? member : more);
}

/* Gives the shapes of a member's parts, and where they begin. */
static const jfl_shape *share_shapes(const jf_share *s, jfl_value *const *v, int n,
                                     const jfl_distribution *d, const int64_t **first)
{
  jfl_shape *shape = jf_alloc(s->arena, (size_t)n * sizeof *shape);
  int64_t *f = jf_alloc(s->arena, (size_t)n * sizeof *f);
  for (int i = 0; i < n; i++)
    f[i] = jf_share_of(&v[i]->shape, d[i], s->parts, s->member, &shape[i]);
  *first = f;
  return shape;
}

jf_share jf_share_make(jf_arena *a, const jf_node *n, const jf_signature *s, int parts, int member)
{
  jf_share share = { .arena = a, .node = n, .signature = s, .member = member, .parts = parts,
                     .attr = jf_attr_copy(a, n->op->attr, n->op->attr_size, n->attr) };
  share.in = share_shapes(&share, n->in, n->n_in, s->in, &share.first_in);
  share.out = share_shapes(&share, n->out, n->n_out, s->out, &share.first_out);
  if (n->op->share && parts > 1) n->op->share(&share);
  return share;
}

const char *jf_distribution_text(jf_arena *a, jfl_distribution d)
{
  static const char *const names[] = { "auto", "broadcast", "split", "partial", "mirrored" };
  return d.kind == JFL_SPLIT ? jf_sprintf(a, "split(%d)", d.axis) : names[d.kind];
}

int jf_distribution_read(const char *text, jfl_distribution *d)
{
  char end;
  *d = (jfl_distribution){ JFL_AUTO, 0 };
  if (!strcmp(text, "auto")) return 1;
  if (!strcmp(text, "broadcast")) d->kind = JFL_BROADCAST;
  else if (!strcmp(text, "partial")) d->kind = JFL_PARTIAL;
  else if (sscanf(text, "split(%d%c", &d->axis, &end) == 2 && end == ')') d->kind = JFL_SPLIT;
  return d->kind != JFL_AUTO;
}
