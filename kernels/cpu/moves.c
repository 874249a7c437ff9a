/* Ops that move elements without looking at them, near the speed of memory: the boxes that their
   records name are copied by runs of bytes, by numbers that lie apart, or, where axes change their
   order, by squares that are read along one axis and written along another. */
#include "base/walk.h"
#include "op/move.h"

#include "square.h"
#include "vector.h"

/* PART: bytes of a part of a loop. FEW: bytes of the rows of which one box after another is copied.
   RUN: bytes of runs that are worth a call each. STRIP: how far a part goes at least along the axis
   along which a box with turned axes is read. */
enum { PART = 1 << 16, FEW = 1 << 14, RUN = 64, STRIP = 64 };

/* A box: its elements, of `size` bytes, over two axes or more. Steps and offsets are in bytes, of
   the input, then of the output. A box of numbers has no input. */
typedef struct moves_box {
  int in, out, n, turned;      /* turned: the input runs on along the axis before the last */
  int parts;                   /* in which a box is copied by itself; of so many elements: */
  int64_t part, count, row;    /* row: elements of a row */
  uint64_t number;
  int64_t size, at[2], d[JFL_MAXDIM], step[2][JFL_MAXDIM];
} moves_box;

/* The boxes of a call. `span`: a part is that many of `rows`, which all boxes have in common, and
   copies what each has of them, so that short runs of several inputs are written in their order, or
   boxes take turns after a `few` rows; 0: a part is of one box. */
typedef struct moves_call {
  int n, begins;               /* begins: the first box comes before the others, which change it */
  int64_t rows, span, few;
  int runs, pairs;             /* whether rows are a run of each box, or a number of each of two */
  moves_box box[];
} moves_call;

/* ---- copying ---- */

/* Part of a box over its last two axes: m lines of n elements. f and t are the steps of the input
   and the output along both. */
typedef struct moves_plane {
  const char *x;
  char *y;
  int64_t m, n, f[2], t[2], size;
  int turned;                  /* read along its first axis */
} moves_plane;

/* Elements may be several numbers, so nothing is known of where they lie. */
#define MOVES_TYPE(T) typedef T moves_##T __attribute__((aligned(1), may_alias));
/* One line of numbers that lie apart, or are repeated. */
#define MOVES_LINE(T)                                                                       \
  JF_BODY void moves_line_##T(const char *from, int64_t f, char *to, int64_t t, int64_t n)  \
  {                                                                                         \
    const moves_##T *x = (const moves_##T *)from;                                           \
    moves_##T *y = (moves_##T *)to;                                                         \
    const int64_t size = sizeof(T), by = f / size;                                          \
    const T one = *x;                                                                       \
    if (t == size && f == 0) for (int64_t i = 0; i < n; i++) y[i] = one;                    \
    else if (t == size && f == -size)                                                       \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[i] = x[-i];                           \
    else if (t == size && f == 2 * size)                                                    \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[i] = x[2 * i];                        \
    else if (t == size && f == by * size)                                                   \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[i] = x[i * by];                       \
    else                                                                                    \
      for (int64_t i = 0; i < n; i++) *(moves_##T *)(to + i * t) =                          \
        *(const moves_##T *)(from + i * f);                                                 \
  }
/* Three lines of n numbers, `apart`, in turn in one or out of it: the colours of pictures. */
#define MOVES_THREE(T)                                                                         \
  JF_BODY void moves_three_##T(char *line, int64_t apart, char *turn, int64_t n, int joins)    \
  {                                                                                            \
    moves_##T *a = (moves_##T *)line, *b = (moves_##T *)(line + apart);                        \
    moves_##T *c = (moves_##T *)(line + 2 * apart), *y = (moves_##T *)turn;                    \
    if (joins)                                                                                 \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++)                                            \
        y[3 * i] = a[i], y[3 * i + 1] = b[i], y[3 * i + 2] = c[i];                             \
    else                                                                                       \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++)                                            \
        a[i] = y[3 * i], b[i] = y[3 * i + 1], c[i] = y[3 * i + 2];                             \
  }
/* A plane that is read along its first axis, by squares; those at an edge are moved back and repeat
   some elements. */
#define MOVES_TURN(T)                                                                         \
  JF_BODY void moves_turn_##T(const moves_plane *p)                                           \
  {                                                                                           \
    const int64_t from = p->f[1], to = p->t[0], size = sizeof(T);                             \
    const int small = p->m < JF_SQUARE || p->n < JF_SQUARE;                                   \
    if (p->n == 3 && to == 3 * size) {                                                        \
      moves_three_##T((char *)p->x, from, p->y, p->m, 1);                                     \
      return;                                                                                 \
    }                                                                                         \
    if (p->m == 3 && from == 3 * size) {                                                      \
      moves_three_##T(p->y, to, (char *)p->x, p->n, 0);                                       \
      return;                                                                                 \
    }                                                                                         \
    for (int64_t j0 = 0; j0 < p->n; j0 += JF_SQUARE)                                          \
      if (small)                                                                              \
        for (int64_t i = 0; i < p->m; i++)                                                    \
          for (int64_t j = j0; j < p->n && j < j0 + JF_SQUARE; j++)                           \
            *(moves_##T *)(p->y + i * to + j * size) =                                        \
              *(const moves_##T *)(p->x + j * from + i * size);                               \
      else                                                                                    \
        for (int64_t i0 = 0; i0 < p->m; i0 += JF_SQUARE) {                                    \
          const int64_t i = i0 + JF_SQUARE > p->m ? p->m - JF_SQUARE : i0;                    \
          const int64_t j = j0 + JF_SQUARE > p->n ? p->n - JF_SQUARE : j0;                    \
          square_##T(p->x + j * from + i * size, from, p->y + i * to + j * size, to);         \
        }                                                                                     \
  }
#define MOVES_PLANE(T)                                                                        \
  JF_BODY void moves_plane_##T(const moves_plane *p)                                          \
  {                                                                                           \
    if (p->turned) moves_turn_##T(p);                                                         \
    else                                                                                      \
      for (int64_t i = 0; i < p->m; i++)                                                      \
        moves_line_##T(p->x + i * p->f[0], p->f[1], p->y + i * p->t[0], p->t[1], p->n);       \
  }
#define MOVES_OF(T) MOVES_TYPE(T) MOVES_LINE(T) MOVES_THREE(T) JF_SQUARE_OF(T) MOVES_TURN(T) \
  MOVES_PLANE(T)
MOVES_OF(uint8_t)
MOVES_OF(uint16_t)
MOVES_OF(uint32_t)
MOVES_OF(uint64_t)

JF_BODY void moves_apart_body(const moves_plane *p)
{
  if (p->size == 4) moves_plane_uint32_t(p);
  else if (p->size == 8) moves_plane_uint64_t(p);
  else if (p->size == 2) moves_plane_uint16_t(p);
  else moves_plane_uint8_t(p);
}
JF_DISPATCH_VECTOR(moves_apart, (const moves_plane *p), (p))

static void moves_copy_plane(const moves_plane *p)
{
  const size_t line = (size_t)(p->n * p->size);
  if (p->f[1] != p->size || p->t[1] != p->size) moves_apart(p);
  else
    for (int64_t i = 0; i < p->m; i++) memcpy(p->y + i * p->t[0], p->x + i * p->f[0], line);
}

/* Where a box begins in its input or output. */
static char *moves_from(const jf_kargs *k, const moves_box *b)
{
  return b->in < 0 ? (char *)&b->number : (char *)k->in[b->in].data + b->at[0];
}
static char *moves_to(const jf_kargs *k, const moves_box *b)
{
  return (char *)k->out[b->out].data + b->at[1];
}

static inline int64_t moves_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Elements `at` to `end` - 1 of a box, in the order of its axes. */
static void moves_range(const jf_kargs *k, const moves_box *b, int64_t at, int64_t end)
{
  if (at >= end) return;
  const int outer = b->n - 2;
  const int64_t high = b->d[outer], line = b->d[outer + 1];
  const char *x = moves_from(k, b);
  char *y = moves_to(k, b);
  jf_nest nest = { .n = outer, .n_op = 2, .step = (int64_t (*)[JFL_MAXDIM])b->step };
  moves_plane p = { .f = { b->step[0][outer], b->step[0][outer + 1] },
                    .t = { b->step[1][outer], b->step[1][outer + 1] },
                    .size = b->size, .turned = b->turned };
  if (x == y) return;                  /* it lies there already */
  memcpy(nest.d, b->d, sizeof nest.d);
  jf_walk w = jf_walk_at(&nest, outer, at / line / high);
  for (int64_t i = at / line % high, skip = at % line; at < end; skip = 0) {
    const int is_line = skip || end - at < line;
    p.m = is_line ? 1 : moves_least(high - i, (end - at) / line);
    p.n = is_line ? moves_least(line - skip, end - at) : line;
    p.x = x + w.off[0] + i * p.f[0] + skip * p.f[1];
    p.y = y + w.off[1] + i * p.t[0] + skip * p.t[1];
    moves_copy_plane(&p);
    at += p.m * p.n;
    i += p.m;
    if (i < high) continue;
    i = 0;
    jf_walk_next(&w);
  }
}

/* Rows r to `to` - 1 of a box. Those of one run or number need no walk. */
static void moves_rows(const jf_kargs *k, const moves_box *b, int64_t r, int64_t to)
{
  if (b->n > 2) {
    moves_range(k, b, r * b->row, to * b->row);
    return;
  }
  const int one = b->d[0] == 1;
  const char *x = moves_from(k, b);
  char *y = moves_to(k, b);
  const moves_plane p = { x + r * b->step[0][one], y + r * b->step[1][one], one ? 1 : to - r,
                          one ? to - r : b->d[1], { b->step[0][0], b->step[0][1] },
                          { b->step[1][0], b->step[1][1] }, b->size, 0 };
  if (x != y && b->count) moves_copy_plane(&p);
}

/* Copies rows of all boxes, which are runs, in the order of rows. */
static void moves_runs(const jf_kargs *k, const moves_call *c, int64_t r, int64_t to)
{
  for (; r < to; r++)
    for (const moves_box *b = c->box, *end = b + c->n; b < end; b++)
      memcpy(moves_to(k, b) + r * b->step[1][0], moves_from(k, b) + r * b->step[0][0],
             (size_t)(b->d[1] * b->size));
}

/* Numbers of two tensors in turn in a third. */
typedef struct moves_pair { char *a, *b, *both; int64_t n, size; int joins; } moves_pair;
#define MOVES_PAIR(T)                                                                         \
  JF_BODY void moves_pair_##T(const moves_pair *p)                                            \
  {                                                                                           \
    moves_##T *a = (moves_##T *)p->a, *b = (moves_##T *)p->b, *y = (moves_##T *)p->both;      \
    const int64_t n = p->n;                                                                   \
    if (p->joins)                                                                             \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[2 * i] = a[i], y[2 * i + 1] = b[i];     \
    else                                                                                      \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++) a[i] = y[2 * i], b[i] = y[2 * i + 1];     \
  }
MOVES_PAIR(uint32_t)
MOVES_PAIR(uint64_t)

JF_BODY void moves_pairs_body(const moves_pair *p)
{
  if (p->size == 4) moves_pair_uint32_t(p);
  else moves_pair_uint64_t(p);
}
JF_DISPATCH_VECTOR(moves_pairs, (const moves_pair *p), (p))

static void moves_in_turn(const jf_kargs *k, const moves_call *c, int64_t r, int64_t to)
{
  const moves_box *b = c->box;
  const int joins = b->step[1][1] > b->size;
  char *(*const apart)(const jf_kargs *, const moves_box *) = joins ? moves_from : moves_to;
  char *both = joins ? moves_to(k, b) : moves_from(k, b);
  const moves_pair p = { apart(k, b) + r * b->size, apart(k, b + 1) + r * b->size,
                         both + 2 * r * b->size, to - r, b->size, joins };
  moves_pairs(&p);
}

typedef struct moves_loop { const jf_kargs *k; const moves_call *call; const moves_box *first; }
  moves_loop;

static void moves_part(void *ctx, int i)
{
  const moves_loop *l = ctx;
  const moves_call *c = l->call;
  const moves_box *b = l->first;
  if (!c->span) {
    while (i >= b->parts) i -= b++->parts;
    moves_range(l->k, b, jf_from(i, b->part), jf_to(i, b->part, b->count));
    return;
  }
  const int64_t from = jf_from(i, c->span), to = jf_to(i, c->span, c->rows);
  if (c->runs) moves_runs(l->k, c, from, to);
  else if (c->pairs) moves_in_turn(l->k, c, from, to);
  else
    for (int64_t r = from; r < to; r += c->few)
      for (int j = 0; j < c->n; j++) moves_rows(l->k, &b[j], r, moves_least(r + c->few, to));
}

static jfl_status moves_run(const jf_kargs *k)
{
  const moves_call *c = k->state;
  moves_loop l = { k, c, c->box };
  int n = 0;
  if (c->span) {
    jf_run_parts(k, jf_parts(c->rows, c->span), moves_part, &l);
    return JFL_OK;
  }
  if (c->begins) jf_run_parts(k, c->box[0].parts, moves_part, &l);
  l.first += c->begins;
  for (const moves_box *b = l.first; b < c->box + c->n; b++) n += b->parts;
  jf_run_parts(k, n, moves_part, &l);
  return JFL_OK;
}

/* ---- preparing ---- */

/* How many of an output's leading axes a move takes whole and in order, from the same axes. */
static int moves_leading(const jf_kargs *k, const jf_move *m)
{
  const jfl_shape *x = m->in < 0 ? NULL : &k->in[m->in].shape, *y = &k->out[m->out].shape;
  int n = 0;
  for (const jf_move_axis *a = m->axis; n < m->n; n++, a++) {
    if (a->to.axis != n || a->to.step != 1 || a->extent != y->d[n]) break;
    if (x && (a->from.axis != n || a->from.step != 1 || a->extent != x->d[n])) break;
  }
  return n;
}

/* Finds how many moves the call has, and how many rows they have in common. */
static void moves_count(const jf_kargs *k, moves_call *c)
{
  jf_move m;
  int leading = JFL_MAXDIM;
  for (; k->op->moves(k, c->n, &m); c->n++) {
    const int n = moves_leading(k, &m);
    if (n < leading) leading = n;
  }
  c->rows = 1;
  for (int i = 0; c->n > 1 && i < leading; i++) c->rows *= k->out[0].shape.d[i];
}

/* Moves the axis along which the input runs on before the last one, along which the output does. */
static void moves_turn(moves_box *b)
{
  const int last = b->n - 1;
  int r = last - 1;
  while (r >= 0 && b->step[0][r] != b->size) r--;
  if (r < 0 || b->step[1][last] != b->size || b->step[0][last] <= b->size) return;
  b->turned = 1;
  int64_t *const list[] = { b->d, b->step[0], b->step[1] };
  for (int i = 0; i < 3; i++) {
    const int64_t v = list[i][r];
    memmove(list[i] + r, list[i] + r + 1, (size_t)(last - 1 - r) * sizeof v);
    list[i][last - 1] = v;
  }
  const int64_t strip = moves_least(b->d[last - 1], STRIP) * b->d[last];
  b->part = (b->part + strip - 1) / strip * strip;
}

/* Gives the box another axis in front, of one index, where it has a single one. */
static void moves_deepen(moves_box *b)
{
  if (b->n > 1) return;
  b->n = 2;
  b->d[1] = b->d[0];
  b->d[0] = 1;
  for (int i = 0; i < 2; i++) b->step[i][1] = b->step[i][0];
}

static void moves_box_of(const jf_kargs *k, const jf_move *m, int64_t rows, moves_box *b)
{
  const jfl_dtype t = k->out[m->out].dtype;
  jf_move_nest nest;
  *b = (moves_box){ .in = m->in, .out = m->out, .size = (int64_t)jfl_dtype_size(t),
                    .count = jf_move_count(m) };
  if (!b->count) return;
  b->row = b->count / rows;
  jf_move_nest_of(k, m, b->row, &nest);
  for (int64_t i = 0; m->in < 0 && i < (int64_t)sizeof b->number / b->size; i++)
    jfl_number_put(t, &b->number, i, m->number);
  b->n = nest.n;
  for (int i = 0; i < 2; i++) {
    b->at[i] = nest.at[i] * b->size;
    for (int j = 0; j < b->n; j++) b->step[i][j] = nest.step[i][j] * b->size;
  }
  memcpy(b->d, nest.d, sizeof b->d);
  const int last = b->n - 1;
  const int64_t run = b->d[last] * b->size;
  const int runs = (m->in < 0 || b->step[0][last] == b->size) && b->step[1][last] == b->size;
  if (last && runs && (run == 2 || run == 4 || run == 8)) {
    b->n--;                            /* short runs are numbers */
    b->size = run;
    b->count /= b->d[last];
    b->row /= b->d[last];
  }
  moves_deepen(b);
  b->part = PART / b->size;
  if (rows == 1) moves_turn(b);
  b->parts = jf_parts(b->count, b->part);
}

/* Whether the elements of two boxes lie in turn on one side, and by themselves on the other. */
static int moves_are_pairs(const moves_box *b)
{
  const int both = b->step[1][1] > b->size;
  if (b->size < 4 || b->size > 8 || b[1].size != b->size || b->in < 0) return 0;
  for (int i = 0; i < 2; i++)
    if (b[i].n > 2 || b[i].d[0] != 1 || b[i].step[both][1] != 2 * b->size ||
        b[i].step[!both][1] != b->size || b[i].at[both] != i * b->size || b[i].at[!both]) return 0;
  return 1;
}

/* Lets parts be some rows, of so many bytes each. */
static void moves_by_rows(moves_call *c, int64_t bytes)
{
  c->span = PART / (bytes + 1) + 1;
  c->few = FEW / (bytes + 1) + 1;
  c->runs = !c->begins && bytes / c->n >= RUN;
  for (const moves_box *b = c->box; b < c->box + c->n; b++)
    c->runs &= b->n == 2 && b->d[0] == c->rows && b->step[0][1] == b->size &&
               b->step[1][1] == b->size;
  c->pairs = c->n == 2 && moves_are_pairs(c->box);
}

static jfl_status moves_prepare(jf_kargs *k)
{
  moves_call found = { 0 };
  int64_t bytes = 0;
  jf_move m;
  moves_count(k, &found);
  moves_call *c = jf_new(sizeof *c + (size_t)found.n * sizeof *c->box);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  *c = found;
  for (int i = 0; k->op->moves(k, i, &m); i++) {
    moves_box_of(k, &m, c->rows, &c->box[i]);
    bytes += c->box[i].count * c->box[i].size;
    if (i == 0) c->begins = c->n > 1 && k->n_out == 1 &&
                            jf_move_count(&m) == jf_numel(&k->out[0].shape);
  }
  if (c->rows > 1 && bytes / c->rows <= PART) moves_by_rows(c, bytes / c->rows);
  k->state = c;
  return JFL_OK;
}

static int moves_accept(const jf_kargs *k) { return k->op->moves && jf_has_vectors(); }

JFL_CPU(moves, .accepts = moves_accept, .prepare = moves_prepare, .run = moves_run,
  .release = jf_free, .priority = JF_BY_RECORD)
