/* Helpers of ops that move elements without looking at them. */
#include "op/move.h"
#include "base/walk.h"

#include <string.h>

jfl_status jf_shape_from(const jf_ints *list, jfl_shape *out)
{
  if (list->n > JFL_MAXDIM)
    return jf_fail(JFL_ESHAPE, "a shape has at most %d dimensions, got %d", (int)JFL_MAXDIM,
                   list->n);
  *out = (jfl_shape){ .n = list->n };
  for (int i = 0; i < list->n; i++) out->d[i] = list->v[i];
  return JFL_OK;
}

jf_ints jf_ints_from(const jfl_shape *s)
{
  return (jf_ints){ s->n, (int64_t *)s->d };
}

void jf_share_extents(jf_share *s)
{
  for (const jf_attr *a = s->node->op->attr; a->name; a++)
    if (!strcmp(a->name, "size") || !strcmp(a->name, "shape"))
      *(jf_ints *)(void *)((char *)s->attr + a->off) = jf_ints_from(&s->out[0]);
}

int jf_keeps_order(const jf_ints *perm, const jfl_shape *s)
{
  int64_t last = -1;
  for (int i = 0; i < perm->n; i++) {
    if (s->d[perm->v[i]] == 1) continue;
    if (perm->v[i] < last) return 0;
    last = perm->v[i];
  }
  return 1;
}

jfl_status jf_check_classes(const jf_infer *c, int input)
{
  const jfl_shape *s = &c->in[input]->shape;
  char buf[JF_SHAPE_STR];
  if (s->n > 0 && s->d[s->n - 1] > 0) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[input],
                          "must have a class or more along its last axis, got %s",
                          jf_shape_str(s, buf));
}

jfl_status jf_check_indices(const jf_infer *c, int input)
{
  jfl_dtype t = c->in[input]->dtype;
  if (t == JFL_I32 || t == JFL_I64) return JFL_OK;
  return jf_fail_argument(JFL_EDTYPE, c->op->in[input], "must be int32 or int64, got %s",
                          jfl_dtype_name(t));
}

/* ---- the plain kernel of all of them ---- */

/* Copies elements of one size, y[to i] = x[from i]. */
#define MOVE_LINE(T)                                                                           \
  static void move_line_##T(const void *x, int64_t from, void *y, int64_t to, int64_t n)       \
  {                                                                                            \
    const T repeated = *(const T *)x;                                                          \
    if (from == 0 && to == 1)                                                                  \
      for (int64_t i = 0; i < n; i++) ((T *)y)[i] = repeated;                                  \
    else                                                                                       \
      for (int64_t i = 0; i < n; i++) ((T *)y)[i * to] = ((const T *)x)[i * from];             \
  }
MOVE_LINE(uint8_t)
MOVE_LINE(uint16_t)
MOVE_LINE(uint32_t)
MOVE_LINE(uint64_t)

static void move_line(size_t size, const void *x, int64_t from, void *y, int64_t to, int64_t n)
{
  if (from == 1 && to == 1) memcpy(y, x, (size_t)n * size);
  else if (size == 4) move_line_uint32_t(x, from, y, to, n);
  else if (size == 8) move_line_uint64_t(x, from, y, to, n);
  else if (size == 2) move_line_uint16_t(x, from, y, to, n);
  else move_line_uint8_t(x, from, y, to, n);
}

/* The lines of a box, elements of `size` bytes along its last axis; a part has `span` of them. */
typedef struct move_lines {
  const jf_move_nest *b;
  jf_nest nest;
  const char *x;
  char *y;
  size_t size;
  int64_t lines, span;
} move_lines;

static void move_part(void *ctx, int part)
{
  const move_lines *l = ctx;
  const jf_move_nest *b = l->b;
  const int last = b->n - 1;
  const int64_t from = part * l->span, left = l->lines - from;
  jf_walk w = jf_walk_at(&l->nest, last, from);
  for (int64_t i = 0; i < l->span && i < left; i++, jf_walk_next(&w))
    move_line(l->size, l->x + (b->at[0] + w.off[0]) * (int64_t)l->size, b->step[0][last],
              l->y + (b->at[1] + w.off[1]) * (int64_t)l->size, b->step[1][last], b->d[last]);
}

/* Copies a box that is not empty; what lies in place already stays. */
static void move_one(const jf_kargs *k, const jf_move *m)
{
  enum { PART = 1 << 16 };     /* bytes */
  const size_t size = jfl_dtype_size(k->out[m->out].dtype);
  uint64_t number = 0;
  jf_move_nest b;
  jf_move_nest_of(k, m, 0, &b);
  if (m->in < 0) jfl_number_put(k->out[m->out].dtype, &number, 0, m->number);
  move_lines l = { .b = &b, .nest = { .n = b.n, .n_op = 2, .step = b.step }, .size = size,
                   .x = m->in < 0 ? (const char *)&number : k->in[m->in].data,
                   .y = k->out[m->out].data, .lines = 1 };
  memcpy(l.nest.d, b.d, sizeof l.nest.d);
  if (l.x == l.y) return;
  for (int i = 0; i < b.n - 1; i++) l.lines *= b.d[i];
  l.span = PART / ((int64_t)size * b.d[b.n - 1]) + 1;
  jf_parallel(k->threads, (int)((l.lines + l.span - 1) / l.span), move_part, &l);
}

static jfl_status move_all(const jf_kargs *k)
{
  jf_move m;
  for (int i = 0; k->op->moves(k, i, &m); i++)
    if (jf_move_count(&m)) move_one(k, &m);
  return JFL_OK;
}
const jf_kernel jf_moves_cpu[JFL_N_DTYPE] = { JF_EVERY_DTYPE(move_all) };
