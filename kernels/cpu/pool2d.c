/* 2-D pooling and its gradients, in parallel. Nothing is kept from the forward pass. */
#include "op/pool2d.h"

#include "vector.h"

/* Planes of in[0] by in[1] cells, each of `inner` floats, and what they are pooled to. A tile is some
   windows of a plane, or backward some of its cells: step[0] by step[1] of them, fewer at the end.
   A part is a span of tiles. */
typedef struct pool {
  const float *x, *dy;             /* what is pooled; the gradient of the pooled */
  float *to;                       /* y, or dx */
  int64_t outer, inner, in[2], out[2], kernel[2], stride[2], before[2];
  int64_t step[2], tiles[2], span;
  int64_t pitch, phase;            /* of lines, in floats; see below */
  int backward, own;               /* own: every cell is in one window */
} pool;

/* Half of a jf_vec: rows of a plane are often short, and channels in blocks of as few. */
typedef float vec __attribute__((vector_size(32)));
typedef int32_t ivec __attribute__((vector_size(32)));
typedef float vec_in_memory __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8 };
#define LOAD(p) ((vec)*(const vec_in_memory *)(p))
#define STORE(p, v) (*(vec_in_memory *)(p) = (v))
/* Lanes of a and b, which are numbered on from those of a. */
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (ivec){ __VA_ARGS__ })
#endif

enum { MAX, AVG };                 /* kinds */
enum { WIDEST = 256 };             /* columns of a window */

JF_BODY int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
JF_BODY int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

typedef struct range { int64_t lo, hi; } range;

/* The valid cells of window i along an axis; there is at least one. */
JF_BODY range window(const pool *p, int axis, int64_t i)
{
  const int64_t at = i * p->stride[axis] - p->before[axis];
  return (range){ most(at, 0), least(at + p->kernel[axis], p->in[axis]) };
}

/* A tile along an axis: its windows, the cells it writes, and all cells it touches. Backward those are
   the windows that have a cell it writes. The first may end before them: one at or before the first
   cell is wanted where windows leave gaps. */
typedef struct reach { range windows, cells, all; } reach;

JF_BODY reach reach_of(const pool *p, int axis, int64_t tile)
{
  const int64_t from = tile * p->step[axis], to = from + p->step[axis];
  const int64_t s = p->stride[axis], b = p->before[axis];
  reach r;
  if (p->backward) {
    r.cells = (range){ from, least(to, p->in[axis]) };
    r.windows.lo = most(least((from + b - p->kernel[axis] + s) / s, (from + b) / s), 0);
    r.windows.hi = most(least((r.cells.hi - 1 + b) / s + 1, p->out[axis]), r.windows.lo);
    r.all = (range){ most(r.windows.lo * s - b, 0), r.cells.hi };
    if (r.windows.hi > r.windows.lo)
      r.all.hi = most(r.all.hi, window(p, axis, r.windows.hi - 1).hi);
  } else {
    r.windows = (range){ from, least(to, p->out[axis]) };
    r.all.lo = window(p, axis, from).lo;
    r.all.hi = window(p, axis, r.windows.hi - 1).hi;
    r.cells = r.all;
  }
  return r;
}

typedef struct tile { int64_t plane; reach row, column; } tile;

JF_BODY tile tile_of(const pool *p, int64_t i)
{
  const int64_t line = i / p->tiles[1];
  return (tile){ line / p->tiles[0], reach_of(p, 0, line % p->tiles[0]),
                 reach_of(p, 1, i % p->tiles[1]) };
}

/* ---- the windows of one vector of outputs ---- */

/* A window's cell (u, v) is `u pitch + col[v]` after its first one. */
typedef struct taps { int64_t pitch; const int64_t *col; } taps;

/* The first largest cell, and its number counted row by row. A NaN in front stays. */
JF_BODY void best_of(const float *x, const taps *t, int rows, int cols, vec *m, ivec *at)
{
  vec best = LOAD(x + t->col[0]);
  ivec number = { 0 };
  for (int u = 0; u < rows; u++)
    for (int v = !u; v < cols; v++) {
      const vec cell = LOAD(x + u * t->pitch + t->col[v]);
      const ivec larger = cell > best;
      best = (vec)(((ivec)cell & larger) | ((ivec)best & ~larger));
      number = (larger & (u * cols + v)) | (number & ~larger);
    }
  *m = best;
  *at = number;
}

JF_BODY void sum_of(const float *x, const taps *t, int rows, int cols, vec *sum)
{
  vec s = { 0 };
  for (int u = 0; u < rows; u++)
    for (int v = 0; v < cols; v++) s += LOAD(x + u * t->pitch + t->col[v]);
  *sum = s;
}

/* *y is the largest cell, or the sum of all times *y. */
JF_BODY void pool_one(const float *x, const taps *t, int rows, int cols, int kind, vec *y)
{
  vec v;
  ivec at;
  if (kind == MAX) best_of(x, t, rows, cols, y, &at);
  else sum_of(x, t, rows, cols, &v), *y *= v;
}

/* Gives dy to the cells of dx in rows from..to-1: to the one that is the largest of x, or to all. The
   last column comes first: so every cell is given to in the order of its windows. */
typedef struct gift { const float *x; float *dx; int from, to, own; } gift;

JF_BODY void give_one(const gift *p, const taps *t, int rows, int cols, int kind, const vec *dy)
{
  vec m;
  ivec at;
  if (kind == MAX) best_of(p->x, t, rows, cols, &m, &at);
  for (int u = p->from; u < p->to; u++)
    for (int v = cols - 1; v >= 0; v--) {
      float *to = p->dx + u * t->pitch + t->col[v];
      const vec g = kind == MAX ? (vec)((ivec)*dy & (at == u * cols + v)) : *dy;
      STORE(to, p->own ? g : LOAD(to) + g);
    }
}

/* The same with loops unrolled for common windows. */
JF_BODY void pool_window(const float *x, const taps *t, int rows, int cols, int kind, vec *y)
{
  if (rows == 2 && cols == 2) pool_one(x, t, 2, 2, kind, y);
  else if (rows == 3 && cols == 3) pool_one(x, t, 3, 3, kind, y);
  else pool_one(x, t, rows, cols, kind, y);
}

JF_BODY void give_window(const gift *p, const taps *t, int rows, int cols, int kind,
                         const vec *dy)
{
  if (rows == 2 && cols == 2) give_one(p, t, 2, 2, kind, dy);
  else if (rows == 3 && cols == 3) give_one(p, t, 3, 3, kind, dy);
  else give_one(p, t, rows, cols, kind, dy);
}

/* The first n <= LANES of p; the other lanes are 0. */
JF_BODY void load_part(const float *p, int64_t n, vec *out)
{
  float l[LANES] = { 0 };
  if (n == LANES) {
    *out = LOAD(p);
    return;
  }
  memcpy(l, p, (size_t)n * sizeof *l);
  memcpy(out, l, sizeof l);
}

JF_BODY void store_part(float *p, int64_t n, const vec *v)
{
  if (n == LANES) STORE(p, *v);
  else memcpy(p, v, (size_t)n * sizeof *p);
}

/* Lanes of v from `lo` to before `hi`, 0 in the others. */
JF_BODY void keep_lanes(vec *v, int64_t lo, int64_t hi)
{
  const ivec lane = { 0, 1, 2, 3, 4, 5, 6, 7 };
  *v = (vec)((ivec)*v & (lane >= (int)lo) & (lane < (int)(hi < LANES ? hi : LANES)));
}

/* ---- wide cells, of at least a vector: their windows are pooled where they are ---- */

JF_BODY float *cell_of(float *t, const int64_t size[2], int64_t plane, int64_t i, int64_t j,
                       int64_t inner)
{
  return t + ((plane * size[0] + i) * size[1] + j) * inner;
}

JF_BODY void forward_wide(const pool *p, const tile *t, const int64_t *col, int kind)
{
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++)
    for (int64_t j = 0; j < p->out[1]; j++) {
      const range u = window(p, 0, i), v = window(p, 1, j);
      const int rows = (int)(u.hi - u.lo), cols = (int)(v.hi - v.lo);
      const taps w = { p->in[1] * p->inner, col };
      const float *x = cell_of((float *)p->x, p->in, t->plane, u.lo, v.lo, p->inner);
      float *y = cell_of(p->to, p->out, t->plane, i, j, p->inner);
      for (int64_t l = 0; l < p->inner; l += LANES) {
        const int64_t at = least(l, p->inner - LANES);
        vec r = (vec){ 0 } + 1 / (float)(rows * cols);
        pool_window(x + at, &w, rows, cols, kind, &r);
        STORE(y + at, r);
      }
    }
}

JF_BODY void backward_wide(const pool *p, const tile *t, const int64_t *col, int kind)
{
  const range own = t->row.cells;
  float *dx = cell_of(p->to, p->in, t->plane, own.lo, 0, p->inner);
  if (!p->own) memset(dx, 0, (size_t)((own.hi - own.lo) * p->in[1] * p->inner) * sizeof *dx);
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++)
    for (int64_t j = 0; j < p->out[1]; j++) {
      const range u = window(p, 0, i), v = window(p, 1, j);
      const int rows = (int)(u.hi - u.lo), cols = (int)(v.hi - v.lo);
      const taps w = { p->in[1] * p->inner, col };
      const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j, p->inner);
      const float *x = kind == MAX ? cell_of((float *)p->x, p->in, t->plane, u.lo, v.lo, p->inner) : NULL;
      dx = cell_of(p->to, p->in, t->plane, u.lo, v.lo, p->inner);
      gift g = { NULL, NULL, (int)most(own.lo - u.lo, 0), (int)(least(own.hi, u.hi) - u.lo), p->own };
      for (int64_t l = 0; l < p->inner; l += LANES) {
        const int64_t at = least(l, p->inner - LANES);
        vec d = LOAD(dy + at);
        if (kind == AVG) d *= 1 / (float)(rows * cols);
        if (at < l && !p->own) keep_lanes(&d, l - at, LANES);
        g.x = x + at;
        g.dx = dx + at;
        give_window(&g, &w, rows, cols, kind, &d);
      }
    }
}

/* ---- narrow cells: columns come side by side, a step of the windows apart ---- */

/* The rows of a tile are copied so that cell c of a row, counted from where the first window starts, is
   cell c / stride of the row's phase c % stride. So cell v of neighbouring windows is side by side.
   A phase is all its rows, pitch apart; then come floats that vectors may run over. What is beyond a
   row's ends is, for a maximum, a copy of the cell there: never larger than one seen, or given to
   the cell copied; for an average it is 0. */
enum { ROOM = 8192, LINE = 2048, SLACK = 2 * LANES };

/* Cells of a row before the plane's first one, those in the plane, and all. */
typedef struct line { int64_t lead, cells, all; } line;

JF_BODY line line_of(const pool *p, const reach *r)
{
  const int64_t start = r->windows.lo * p->stride[1] - p->before[1];
  line l = { r->all.lo - start, r->all.hi - r->all.lo, 0 };
  l.all = most(l.lead + l.cells,
               (r->windows.hi - 1 - r->windows.lo) * p->stride[1] + p->kernel[1]);
  return l;
}

JF_BODY float *phase_of(const pool *p, float *row, int64_t c)
{
  return row + c % p->stride[1] * p->phase + c / p->stride[1] * p->inner;
}

/* x and y may run past n as far as their ends allow. */
JF_BODY void copy(float *y, const float *y_end, const float *x, const float *x_end, int64_t n)
{
  for (int64_t i = 0; i < n; i += LANES) {
    vec v;
    load_part(x + i, least(x_end - x - i, LANES), &v);
    store_part(y + i, y_end - y - i < LANES ? least(n - i, LANES) : LANES, &v);
  }
}

/* a, b = 0, 2, 4... and 1, 3, 5... of x. */
JF_BODY void part_pairs(const float *x, float *a, float *b)
{
  const vec v = LOAD(x), w = LOAD(x + LANES);
  STORE(a, SHUFFLE(v, w, 0, 2, 4, 6, 8, 10, 12, 14));
  STORE(b, SHUFFLE(v, w, 1, 3, 5, 7, 9, 11, 13, 15));
}
JF_BODY void join_pairs(float *x, const float *a, const float *b)
{
  const vec v = LOAD(a), w = LOAD(b);
  STORE(x, SHUFFLE(v, w, 0, 8, 1, 9, 2, 10, 3, 11));
  STORE(x + LANES, SHUFFLE(v, w, 4, 12, 5, 13, 6, 14, 7, 15));
}

/* Puts n cells of x into phases, the first as cell `lead` of its row; x may be read up to end. */
JF_BODY void split(const pool *p, float *row, const float *x, const float *end, int64_t lead,
                   int64_t n)
{
  const int64_t s = p->stride[1], g = p->inner;
  if (s == 1) {
    copy(row + lead * g, row + lead * g + n * g + LANES, x, end, n * g);
  } else if (s == 2 && g == 1) {
    float *a = phase_of(p, row, lead), *b = phase_of(p, row, lead + 1), some[2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
      const float *from = x + i;
      if (end - from < 2 * LANES) from = memcpy(some, from, (size_t)(end - from) * sizeof *x);
      part_pairs(from, a + i / 2, b + i / 2);
    }
  } else {
    for (int64_t q = 0; q < least(s, n); q++) {
      float *to = phase_of(p, row, lead + q);
      for (int64_t i = q; i < n; i += s, to += g)
        for (int64_t l = 0; l < g; l++) to[l] = x[i * g + l];
    }
  }
}

/* The inverse; x may be written up to end. */
JF_BODY void merge(const pool *p, float *row, float *x, const float *end, int64_t lead, int64_t n)
{
  const int64_t s = p->stride[1], g = p->inner;
  if (s == 1) {
    copy(x, end, row + lead * g, row + lead * g + n * g + LANES, n * g);
  } else if (s == 2 && g == 1) {
    float *a = phase_of(p, row, lead), *b = phase_of(p, row, lead + 1), some[2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
      if (end - x - i >= 2 * LANES) {
        join_pairs(x + i, a + i / 2, b + i / 2);
      } else {
        join_pairs(some, a + i / 2, b + i / 2);
        memcpy(x + i, some, (size_t)least(n - i, 2 * LANES) * sizeof *x);
      }
    }
  } else {
    for (int64_t q = 0; q < least(s, n); q++) {
      const float *from = phase_of(p, row, lead + q);
      for (int64_t i = q; i < n; i += s, from += g)
        for (int64_t l = 0; l < g; l++) x[i * g + l] = from[l];
    }
  }
}

/* Fills what a row has beyond the plane. */
JF_BODY void pad(const pool *p, float *row, const line *l, int kind)
{
  const float *first = phase_of(p, row, l->lead), *last = phase_of(p, row, l->lead + l->cells - 1);
  for (int64_t c = 0; c < l->all; c++) {
    if (c == l->lead) c += l->cells;
    if (c >= l->all) break;
    for (int64_t i = 0; i < p->inner; i++)
      phase_of(p, row, c)[i] = kind == AVG ? 0 : c < l->lead ? first[i] : last[i];
  }
}

/* Whether rows follow each other in phases as in the plane. */
JF_BODY int is_flat(const pool *p)
{
  return p->tiles[1] == 1 && !p->before[1] && p->pitch * p->stride[1] == p->in[1] * p->inner;
}

JF_BODY void gather(const pool *p, const tile *t, float *buffer, int kind)
{
  const line l = line_of(p, &t->column);
  const range rows = t->row.all;
  const float *x = cell_of((float *)p->x, p->in, t->plane, rows.lo, t->column.all.lo, p->inner);
  const float *end = cell_of((float *)p->x, p->in, p->outer, 0, 0, p->inner);
  if (is_flat(p)) {
    split(p, buffer, x, end, 0, (rows.hi - rows.lo) * p->in[1]);
    return;
  }
  for (int64_t r = rows.lo; r < rows.hi; r++, buffer += p->pitch, x += p->in[1] * p->inner) {
    split(p, buffer, x, end, l.lead, l.cells);
    pad(p, buffer, &l, kind);
  }
}

/* Vectors may be stored up to `end`, or if it is NULL, up to the row's end. */
JF_BODY void forward_lines(const pool *p, const tile *t, const int64_t *col, const float *share,
                           float *end, float *x, int kind)
{
  const range j = t->column.windows;
  const int64_t n = (j.hi - j.lo) * p->inner;
  gather(p, t, x, kind);
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++) {
    const range u = window(p, 0, i);
    const int rows = (int)(u.hi - u.lo), cols = (int)p->kernel[1];
    const taps w = { p->pitch, col };
    const float *from = x + (u.lo - t->row.all.lo) * p->pitch;
    float *y = cell_of(p->to, p->out, t->plane, i, j.lo, p->inner);
    for (int64_t q = 0; q < n; q += LANES) {
      vec r = LOAD(share + q) * (1 / (float)rows);
      pool_window(from + q, &w, rows, cols, kind, &r);
      store_part(y + q, (end ? end : y + n) - y - q < LANES ? least(n - q, LANES)
                                                                  : LANES, &r);
    }
  }
}

/* Writes the rows of dx; what went to copies of a row's first cell is given to that. */
JF_BODY void scatter(const pool *p, const tile *t, float *buffer, float *end, int kind)
{
  const line l = line_of(p, &t->column);
  const range rows = t->row.cells, cols = t->column.cells;
  const int64_t n = cols.hi - cols.lo, at = l.lead + cols.lo - t->column.all.lo;
  float *dx = cell_of(p->to, p->in, t->plane, rows.lo, cols.lo, p->inner);
  buffer += (rows.lo - t->row.all.lo) * p->pitch;
  if (is_flat(p)) {
    merge(p, buffer, dx, end, 0, (rows.hi - rows.lo) * n);
    return;
  }
  for (int64_t r = rows.lo; r < rows.hi; r++, buffer += p->pitch, dx += p->in[1] * p->inner) {
    for (int64_t c = 0; c < l.lead && kind == MAX && !cols.lo; c++)
      for (int64_t i = 0; i < p->inner; i++)
        phase_of(p, buffer, l.lead)[i] += phase_of(p, buffer, c)[i];
    merge(p, buffer, dx, end ? end : dx + n * p->inner, at, n);
  }
}

JF_BODY void backward_lines(const pool *p, const tile *t, const int64_t *col, const float *share,
                            float *end, float *x, float *dx, int kind)
{
  const range j = t->column.windows;
  const int64_t n = (j.hi - j.lo) * p->inner;
  const float *dy_end = cell_of((float *)p->dy, p->out, p->outer, 0, 0, p->inner);
  if (kind == MAX) gather(p, t, x, kind);
  if (!p->own) memset(dx, 0, (size_t)(p->stride[1] * p->phase) * sizeof *dx);
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++) {
    const range u = window(p, 0, i);
    const int rows = (int)(u.hi - u.lo), cols = (int)p->kernel[1];
    const taps w = { p->pitch, col };
    const int64_t from = (u.lo - t->row.all.lo) * p->pitch;
    const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j.lo, p->inner);
    for (int64_t q = 0; q < n; q += LANES) {
      const int64_t at = p->own && q ? least(q, n - LANES) : q;
      const gift g = { x + from + at, dx + from + at, 0, rows, p->own };
      vec d;
      load_part(dy + at, least(dy_end - dy - at, LANES), &d);
      if (kind == AVG) d *= LOAD(share + at) * (1 / (float)rows);
      if (!p->own && n - at < LANES) keep_lanes(&d, 0, n - at);
      give_window(&g, &w, rows, cols, kind, &d);
    }
  }
  scatter(p, t, dx, end, kind);
}

/* share = 1 / the window's columns, for all columns of outputs of a tile. */
JF_BODY void shares(const pool *p, const range *j, float *share)
{
  for (int64_t i = j->lo; i < j->hi; i++) {
    const range v = window(p, 1, i);
    for (int64_t l = 0; l < p->inner; l++) *share++ = 1 / (float)(v.hi - v.lo);
  }
  memset(share, 0, LANES * sizeof *share);
}

/* ---- parts ---- */

JF_BODY void wide_part(const pool *p, int part, int kind, int backward)
{
  int64_t col[WIDEST], to = jf_to(part, p->span, p->outer * p->tiles[0]);
  for (int64_t v = 0; v < p->kernel[1]; v++) col[v] = v * p->inner;
  for (int64_t i = jf_from(part, p->span); i < to; i++) {
    const tile t = tile_of(p, i);
    if (backward) backward_wide(p, &t, col, kind);
    else forward_wide(p, &t, col, kind);
  }
}

JF_BODY void lines_part(const pool *p, int part, int kind, int backward)
{
  float x[ROOM], dx[ROOM], share[LINE + LANES];
  int64_t col[WIDEST], to = jf_to(part, p->span, p->outer * p->tiles[0] * p->tiles[1]);
  const tile after = tile_of(p, to);
  float *end = cell_of(p->to, backward ? p->in : p->out, after.plane,
                       backward ? after.row.cells.lo : after.row.windows.lo, 0, p->inner);
  if (p->tiles[1] > 1) end = NULL;
  for (int64_t v = 0; v < p->kernel[1]; v++)
    col[v] = v % p->stride[1] * p->phase + v / p->stride[1] * p->inner;
  memset(x, 0, (size_t)(p->stride[1] * p->phase) * sizeof *x);
  for (int64_t i = jf_from(part, p->span); i < to; i++) {
    const tile t = tile_of(p, i);
    if (p->tiles[1] > 1 || i == jf_from(part, p->span)) shares(p, &t.column.windows, share);
    if (backward) backward_lines(p, &t, col, share, end, x, dx, kind);
    else forward_lines(p, &t, col, share, end, x, kind);
  }
}

#define POOL(name, kind, backward)                                  \
  JF_BODY void name##_body(void *ctx, int part)                     \
  {                                                                 \
    const pool *p = ctx;                                            \
    if (p->inner >= LANES) wide_part(p, part, kind, backward);   \
    else lines_part(p, part, kind, backward);                       \
  }                                                                 \
  JF_VARIANTS(name)
POOL(max, MAX, 0)
POOL(max_grad, MAX, 1)
POOL(avg, AVG, 0)
POOL(avg_grad, AVG, 1)

/* ---- rows ---- */

static int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Cells that a tile of `step` may touch along an axis; at least one window, or backward one cell. */
static int64_t touched(const pool *p, int axis, int64_t step)
{
  const int64_t k = p->kernel[axis], s = p->stride[axis];
  return p->backward ? step + 2 * k + s : (step - 1) * s + k;
}

/* Tiles that touch at most `room` cells along an axis, of which all of it touches `whole`. Returns what
   one touches, or 0 where not even the least tile fits. */
static int64_t cut(pool *p, int axis, int64_t room, int64_t whole)
{
  const int64_t n = p->backward ? p->in[axis] : p->out[axis], s = p->stride[axis];
  int64_t step = n;
  if (whole > room) {
    if (touched(p, axis, 1) > room) return 0;
    step = 1 + (room - touched(p, axis, 1)) / (p->backward ? 1 : s);
    if (p->backward && step > s) step -= step % s;
    step = least(step, n);
  }
  p->step[axis] = step;
  p->tiles[axis] = divide_up(n, step);
  return step < n ? room : whole;
}

/* Tiles of some rows: few windows are then seen from two tiles. */
static int cut_wide(pool *p)
{
  const int64_t row = p->in[1] * p->inner;
  cut(p, 1, INT64_MAX, p->in[1]);
  return cut(p, 0, most(JF_PART / row, 8 * p->kernel[0] + p->stride[0]), p->in[0]) > 0;
}

static int cut_lines(pool *p)
{
  const int64_t s = p->stride[1], rows = least(p->in[0], touched(p, 0, 1));
  const int64_t room = ROOM / s - SLACK, columns = least(room / rows, LINE) / p->inner * s;
  const int64_t whole = most(p->in[1] + p->before[1], (p->out[1] - 1) * s + p->kernel[1]);
  if (room <= 0 || !columns) return 0;
  const int64_t touches = cut(p, 1, columns, whole);
  if (!touches) return 0;
  p->pitch = divide_up(touches, s) * p->inner;
  p->phase = cut(p, 0, room / p->pitch, p->in[0]) * p->pitch + SLACK;
  return p->phase > SLACK;
}

/* Shapes and tiles of a call; 0 if its windows are too large. */
static int describe(const jf_kargs *k, int backward, pool *p)
{
  const jf_pool2d *a = k->attr;
  const jfl_shape *full = backward ? &k->out[0].shape : &k->in[0].shape;
  const jfl_shape *pooled = backward ? &k->in[k->n_in - 1].shape : &k->out[0].shape;
  *p = (pool){ .outer = 1, .inner = 1, .backward = backward, .own = 1, .to = k->out[0].data };
  for (int i = 0; i < a->axis; i++) p->outer *= full->d[i];
  for (int i = a->axis + 2; i < full->n; i++) p->inner *= full->d[i];
  for (int i = 0; i < 2; i++) {
    p->in[i] = full->d[a->axis + i];
    p->out[i] = pooled->d[a->axis + i];
    p->kernel[i] = a->kernel[i];
    p->stride[i] = a->stride[i];
    p->before[i] = a->pad[2 * i];
    p->own &= a->kernel[i] == a->stride[i] && !a->pad[2 * i] && p->in[i] == p->out[i] * a->kernel[i];
  }
  if (p->kernel[1] > WIDEST || !(p->inner >= LANES ? cut_wide(p) : cut_lines(p))) return 0;
  p->span = most(JF_PART * p->tiles[0] * p->tiles[1] / (p->in[0] * p->in[1] * p->inner), 1);
  return 1;
}

static jfl_status run(const jf_kargs *k, pool *p, jf_part part)
{
  const int64_t tiles = p->outer * p->tiles[0] * p->tiles[1];
  jf_run_parts(k, jf_parts(tiles, p->span), part, p);
  return JFL_OK;
}

static int accepts(const jf_kargs *k)
{
  pool p;
  return k->in[0].dtype == JFL_F32 && describe(k, 0, &p);
}

static int grad_accepts(const jf_kargs *k)
{
  pool p;
  return k->in[0].dtype == JFL_F32 && describe(k, 1, &p);
}

static jfl_status max_run(const jf_kargs *k)
{
  pool p;
  describe(k, 0, &p);
  p.x = k->in[0].data;
  return run(k, &p, max());
}

static jfl_status avg_run(const jf_kargs *k)
{
  pool p;
  describe(k, 0, &p);
  p.x = k->in[0].data;
  return run(k, &p, avg());
}

static jfl_status max_grad_run(const jf_kargs *k)
{
  pool p;
  describe(k, 1, &p);
  p.x = k->in[0].data;
  p.dy = k->in[2].data;
  return run(k, &p, max_grad());
}

static jfl_status avg_grad_run(const jf_kargs *k)
{
  pool p;
  describe(k, 1, &p);
  p.dy = k->in[0].data;
  return run(k, &p, avg_grad());
}

JFL_CPU(vec_max_pool2d, .op = "max_pool2d", .accepts = accepts, .run = max_run, .priority = 10)
JFL_CPU(vec_max_pool2d_grad, .op = "max_pool2d_grad", .accepts = grad_accepts, .run = max_grad_run,
  .priority = 10)
JFL_CPU(vec_avg_pool2d, .op = "avg_pool2d", .accepts = accepts, .run = avg_run, .priority = 10)
JFL_CPU(vec_avg_pool2d_grad, .op = "avg_pool2d_grad", .accepts = grad_accepts, .run = avg_grad_run,
  .priority = 10)
