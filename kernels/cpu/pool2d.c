/* 2-D pooling and its gradients, in parallel. Nothing is kept from the forward pass. */
#include "op/pool2d.h"

#include "vector.h"

/* Planes of in[0] by in[1] cells, each of `inner` floats, and what they are pooled to. A tile is
   some windows of a plane, or backward some of its cells: step[0] by step[1] of them, fewer at the
   end. A part is a span of tiles. */
typedef struct pool {
  const float *x, *dy;             /* what is pooled; the gradient of the pooled */
  float *to;                       /* y, or dx */
  int64_t outer, inner, in[2], out[2], kernel[2], stride[2], before[2];
  int64_t step[2], tiles[2], span;
  int64_t pitch, phase, used, margin, dy_pitch;    /* of lines, in floats; see below */
  int backward, own;               /* own: every cell is in one window */
  enum way { WIDE, SQUARES, PLANES, LINES, SINGLE } way;     /* how windows become vectors */
} pool;

/* Half of a jf_vec: rows of a plane are often short, and channels in blocks of as few. */
typedef float vec __attribute__((vector_size(32)));
typedef int32_t ivec __attribute__((vector_size(32)));
typedef float vec_in_memory __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8 };
typedef int32_t ivec_in_memory __attribute__((vector_size(32), aligned(4), may_alias));
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

JF_BODY int64_t tiles_of(const pool *p) { return p->outer * p->tiles[0] * p->tiles[1]; }

JF_BODY tile tile_of(const pool *p, int64_t i)
{
  const int64_t line = i / p->tiles[1];
  return (tile){ line / p->tiles[0], reach_of(p, 0, line % p->tiles[0]),
                 reach_of(p, 1, i % p->tiles[1]) };
}

/* Makes t, tile i - 1, tile i. Divisions take as long as small planes. */
JF_BODY void next_tile(const pool *p, int64_t i, tile *t)
{
  if (p->tiles[0] * p->tiles[1] == 1) t->plane++;
  else *t = tile_of(p, i);
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

/* The same with loops unrolled for common windows. */
JF_BODY void best_window(const float *x, const taps *t, int rows, int cols, vec *m, ivec *at)
{
  if (rows == 2 && cols == 2) best_of(x, t, 2, 2, m, at);
  else if (rows == 3 && cols == 3) best_of(x, t, 3, 3, m, at);
  else best_of(x, t, rows, cols, m, at);
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

/* ---- single floats, two by two of them in a window of their own ---- */

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

/* The squares of LANES windows, of which n are wanted, side by side: cell (u, v) of each is at 2 u + v
   times LANES. Rows of x are w floats; x may be read up to end. */
enum { SQUARE = 4 * LANES };
static const int64_t square_col[2] = { 0, LANES };

JF_BODY void load_squares(const float *x, int64_t w, const float *end, int64_t n, float *s)
{
  float some[2 * LANES];
  for (int u = 0; u < 2; u++, x += w, s += 2 * LANES)
    part_pairs(end - x < 2 * LANES ? memcpy(some, x, (size_t)(2 * n) * sizeof *x) : x, s, s + LANES);
}

/* The inverse; x may be written up to end, by a row before the next one is. */
JF_BODY void store_squares(float *x, int64_t w, const float *end, int64_t n, const float *s)
{
  float some[2 * LANES];
  for (int u = 0; u < 2; u++, x += w, s += 2 * LANES)
    if (end - x < 2 * LANES) {
      join_pairs(some, s, s + LANES);
      memcpy(x, some, (size_t)(2 * n) * sizeof *x);
    } else {
      join_pairs(x, s, s + LANES);
    }
}

/* Where the vector of windows j starts in a row of n: the last one is full if any is, as windows done
   twice do no harm. */
JF_BODY int64_t vector_at(int64_t j, int64_t n) { return n < LANES ? j : least(j, n - LANES); }

JF_BODY void forward_squares(const pool *p, const tile *t, const float *end, int kind)
{
  const int64_t n = p->out[1], w = p->in[1];
  const float *x_end = p->x + p->outer * p->in[0] * w;
  const taps squares = { 2 * LANES, square_col };
  float s[SQUARE];
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++)
    for (int64_t l = 0; l < n; l += LANES) {
      const int64_t j = vector_at(l, n), some = least(n - j, LANES);
      float *y = cell_of(p->to, p->out, t->plane, i, j, 1);
      load_squares(cell_of((float *)p->x, p->in, t->plane, 2 * i, 2 * j, 1), w, x_end, some, s);
      vec r = (vec){ 0 } + 0.25f;
      pool_one(s, &squares, 2, 2, kind, &r);
      store_part(y, end - y < LANES ? some : LANES, &r);
    }
}

JF_BODY void backward_squares(const pool *p, const tile *t, const float *end, int kind)
{
  const int64_t n = p->out[1], w = p->in[1];
  const float *x_end = p->x + p->outer * p->in[0] * w;
  const float *dy_end = p->dy + p->outer * p->out[0] * n;
  const taps squares = { 2 * LANES, square_col };
  float x[SQUARE], dx[SQUARE];
  const gift g = { x, dx, 0, 2, 1 };
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++)
    for (int64_t l = 0; l < n; l += LANES) {
      const int64_t j = vector_at(l, n), some = least(n - j, LANES);
      const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j, 1);
      vec d;
      load_part(dy, dy_end - dy < LANES ? some : LANES, &d);
      if (kind == AVG) d *= 0.25f;
      else
        load_squares(cell_of((float *)p->x, p->in, t->plane, 2 * i, 2 * j, 1), w, x_end, some, x);
      give_one(&g, &squares, 2, 2, kind, &d);
      store_squares(cell_of(p->to, p->in, t->plane, 2 * i, 2 * j, 1), w, end, some, dx);
    }
}

/* ---- single floats, all of a plane in its only window ---- */

JF_BODY void forward_plane(const pool *p, int64_t plane)
{
  const int64_t n = p->in[0] * p->in[1];
  p->to[plane] = (float)(jf_sum(p->x + plane * n, n) / (double)n);
}

JF_BODY void backward_plane(const pool *p, int64_t plane)
{
  const int64_t n = p->in[0] * p->in[1];
  const float share = p->dy[plane] / (float)n;
  float *dx = p->to + plane * n;
  for (int64_t i = 0; i < n; i++) dx[i] = share;
}

/* ---- windows too large for what follows, one float at a time ---- */

/* A window's cells in rows of `pitch` floats, `step` apart. */
typedef struct area { int64_t rows, cols, pitch, step; } area;

JF_BODY int64_t first_largest(const float *x, const area *a)
{
  int64_t best = 0;
  for (int64_t u = 0; u < a->rows; u++)
    for (int64_t v = 0; v < a->cols; v++)
      if (x[u * a->pitch + v * a->step] > x[best]) best = u * a->pitch + v * a->step;
  return best;
}

JF_BODY float mean(const float *x, const area *a)
{
  double sum = 0;
  for (int64_t u = 0; u < a->rows; u++)
    for (int64_t v = 0; v < a->cols; v++) sum += (double)x[u * a->pitch + v * a->step];
  return (float)(sum / (double)(a->rows * a->cols));
}

JF_BODY void give_all(float *dx, const area *a, float dy)
{
  const float share = dy / (float)(a->rows * a->cols);
  for (int64_t u = 0; u < a->rows; u++)
    for (int64_t v = 0; v < a->cols; v++) dx[u * a->pitch + v * a->step] += share;
}

/* All of a plane. */
JF_BODY void single_plane(const pool *p, int64_t plane, int kind, int backward)
{
  const int64_t full = p->in[0] * p->in[1] * p->inner, pooled = p->out[0] * p->out[1] * p->inner;
  const float *x = p->x + plane * full, *dy = p->dy + plane * pooled;
  float *to = p->to + plane * (backward ? full : pooled);
  if (backward) memset(to, 0, (size_t)full * sizeof *to);
  for (int64_t r = 0; r < pooled; r++) {
    const int64_t cell = r / p->inner;
    const range u = window(p, 0, cell / p->out[1]), v = window(p, 1, cell % p->out[1]);
    const area a = { u.hi - u.lo, v.hi - v.lo, p->in[1] * p->inner, p->inner };
    const int64_t at = (u.lo * p->in[1] + v.lo) * p->inner + r % p->inner;
    if (backward && kind == MAX) to[at + first_largest(x + at, &a)] += dy[r];
    else if (backward) give_all(to + at, &a, dy[r]);
    else to[r] = kind == MAX ? x[at + first_largest(x + at, &a)] : mean(x + at, &a);
  }
}

/* ---- narrow cells: columns come side by side, a step of the windows apart ---- */

/* A row of a tile is copied so that its cell c, counted from where the first window starts, is cell
   c / stride of phase c % stride. So cell v of neighbouring windows is side by side. Phases end in
   floats that vectors may run over. What is beyond a row's ends is, for a maximum, a copy of the cell
   there: never larger than one seen before, or given to the cell copied; for an average it is 0. */
enum { ROOM = 6144 + 64, LINE = 2048 };

typedef struct lines {
  _Alignas(64) float x[ROOM];      /* the tile's rows of x */
  float dy[ROOM];                  /* rows of dy: 0 beyond their windows, and before the first */
  int32_t at[ROOM];                /* which cell of its window that goes to */
  float row[LINE];                 /* of dx */
  float share[LINE];               /* 1 / the columns of each window */
  int64_t col[WIDEST];
  int in_phase[WIDEST];            /* how many columns of a window are in each phase */
} lines;

/* Cells of a row before the plane's first one, those in the plane, and all; where the plane's first
   two go. */
typedef struct line { int64_t lead, cells, all, first, second; } line;

JF_BODY int64_t in_phase(const pool *p, int64_t c)
{
  return c % p->stride[1] * p->phase + c / p->stride[1] * p->inner;
}

JF_BODY line line_of(const pool *p, const reach *r)
{
  const int64_t start = r->windows.lo * p->stride[1] - p->before[1];
  line l = { r->all.lo - start, r->all.hi - r->all.lo, 0, 0, 0 };
  l.all = most(l.lead + l.cells,
               (r->windows.hi - 1 - r->windows.lo) * p->stride[1] + p->kernel[1]);
  l.first = in_phase(p, l.lead);
  l.second = in_phase(p, l.lead + 1);
  return l;
}

/* y = x; y has room for whole vectors, x ends at end. */
JF_BODY void copy_in(float *y, const float *x, const float *end, int64_t n)
{
  for (int64_t i = 0; i < n; i += LANES) {
    vec v;
    load_part(x + i, least(end - x - i, LANES), &v);
    STORE(y + i, v);
  }
}

/* The inverse. */
JF_BODY void copy_out(float *y, const float *end, const float *x, int64_t n)
{
  for (int64_t i = 0; i < n; i += LANES) {
    const vec v = LOAD(x + i);
    store_part(y + i, end - y - i < LANES ? least(n - i, LANES) : LANES, &v);
  }
}

/* Puts the plane's cells of a row into phases; x may be read up to end. */
JF_BODY void split(const pool *p, const line *l, float *row, const float *x, const float *end)
{
  const int64_t s = p->stride[1], g = p->inner, n = l->cells;
  if (s == 1) {
    copy_in(row + l->first, x, end, n * g);
  } else if (s == 2 && g == 1) {
    float some[2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
      const float *from = x + i;
      if (end - from < 2 * LANES) from = memcpy(some, from, (size_t)(end - from) * sizeof *x);
      part_pairs(from, row + l->first + i / 2, row + l->second + i / 2);
    }
  } else {
    for (int64_t q = 0; q < least(s, n); q++) {
      float *to = row + in_phase(p, l->lead + q);
      for (int64_t i = q; i < n; i += s, to += g)
        for (int64_t k = 0; k < g; k++) to[k] = x[i * g + k];
    }
  }
}

/* The inverse for the `cells` cells from the plane's first one on; x may be written up to end. */
JF_BODY void merge(const pool *p, const line *l, const float *row, float *x, const float *end)
{
  const int64_t s = p->stride[1], g = p->inner, n = l->cells;
  if (s == 1) {
    copy_out(x, end, row + l->first, n * g);
  } else if (s == 2 && g == 1) {
    float some[2 * LANES];
    for (int64_t i = 0; i < n; i += 2 * LANES) {
      const float *a = row + l->first + i / 2, *b = row + l->second + i / 2;
      if (end - x - i >= 2 * LANES) {
        join_pairs(x + i, a, b);
      } else {
        join_pairs(some, a, b);
        memcpy(x + i, some, (size_t)least(n - i, 2 * LANES) * sizeof *x);
      }
    }
  } else {
    for (int64_t q = 0; q < least(s, n); q++) {
      const float *from = row + in_phase(p, l->lead + q);
      for (int64_t i = q; i < n; i += s, from += g)
        for (int64_t k = 0; k < g; k++) x[i * g + k] = from[k];
    }
  }
}

/* Fills what a row has beyond the plane. */
JF_BODY void pad(const pool *p, float *row, const line *l, int kind)
{
  const int64_t end = l->lead + l->cells;
  for (int64_t c = l->lead ? 0 : end; c < l->all; c = c + 1 == l->lead ? end : c + 1) {
    const float *like = row + in_phase(p, c < l->lead ? l->lead : end - 1);
    float *to = row + in_phase(p, c);
    for (int64_t i = 0; i < p->inner; i++) to[i] = kind == MAX ? like[i] : 0;
  }
}

/* The tile's rows of x. */
JF_BODY void gather(const pool *p, const tile *t, float *to, int kind)
{
  const line l = line_of(p, &t->column);
  const range rows = t->row.all;
  const float *x = cell_of((float *)p->x, p->in, t->plane, rows.lo, t->column.all.lo, p->inner);
  const float *end = cell_of((float *)p->x, p->in, p->outer, 0, 0, p->inner);
  for (int64_t r = rows.lo; r < rows.hi; r++, to += p->pitch, x += p->in[1] * p->inner) {
    split(p, &l, to, x, end);
    pad(p, to, &l, kind);
  }
}

/* Vectors may be stored up to `end`, or if it is NULL, up to the row's end. */
JF_BODY void forward_lines(const pool *p, const tile *t, lines *b, const float *end, int kind)
{
  const range j = t->column.windows;
  const int64_t n = (j.hi - j.lo) * p->inner;
  const taps w = { p->pitch, b->col };
  gather(p, t, b->x, kind);
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++) {
    const range u = window(p, 0, i);
    const int rows = (int)(u.hi - u.lo);
    const float *from = b->x + (u.lo - t->row.all.lo) * p->pitch;
    float *y = cell_of(p->to, p->out, t->plane, i, j.lo, p->inner);
    const float *limit = end ? end : y + n;
    for (int64_t q = 0; q < n; q += LANES) {
      vec r = LOAD(b->share + q) * (1 / (float)rows);
      pool_window(from + q, &w, rows, (int)p->kernel[1], kind, &r);
      store_part(y + q, limit - y - q < LANES ? least(n - q, LANES) : LANES, &r);
    }
  }
}

/* Copies dy of a row of windows, each divided by their cells for an average, and finds the cells that
   are given it. */
JF_BODY void find_row(const pool *p, const tile *t, lines *b, int64_t i, int kind)
{
  const range u = window(p, 0, i), j = t->column.windows;
  const int rows = (int)(u.hi - u.lo);
  const int64_t n = (j.hi - j.lo) * p->inner, place = p->margin + (i - t->row.windows.lo) * p->dy_pitch;
  const taps w = { p->pitch, b->col };
  const float *x = b->x + (u.lo - t->row.all.lo) * p->pitch;
  const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j.lo, p->inner);
  const float *end = cell_of((float *)p->dy, p->out, p->outer, 0, 0, p->inner);
  for (int64_t q = 0; q < p->used; q += LANES) {
    vec d = { 0 }, m;
    if (q < n) load_part(dy + q, least(least(end - dy, n) - q, LANES), &d);
    if (kind == AVG) d *= LOAD(b->share + q) * (1 / (float)rows);
    STORE(b->dy + place + q, d);
    if (kind == AVG || q >= n) continue;
    ivec at;
    best_window(x + q, &w, rows, (int)p->kernel[1], &m, &at);
    memcpy(b->at + place + q, &at, sizeof at);
  }
}

/* What one row of windows gives to a phase of a row of dx. Of a window's row `cols` cells are in that
   phase, the last numbered `number`, the others `stride` below; of what is given to the last one the
   first is at `place`. */
typedef struct giving { int64_t place; int cols, number, stride; } giving;

JF_BODY void collect(const pool *p, const lines *b, const giving *g, int cols, float *to, int kind)
{
  for (int64_t m = 0; m < p->used; m += LANES) {
    vec sum = LOAD(to + m);
    for (int c = 0; c < cols; c++) {
      const int64_t from = g->place + m + c * p->inner;
      const ivec at = *(const ivec_in_memory *)(b->at + from), d = (ivec)LOAD(b->dy + from);
      sum += kind == MAX ? (vec)(d & (at == g->number - c * g->stride)) : (vec)d;
    }
    STORE(to + m, sum);
  }
}

JF_BODY void collect_from(const pool *p, const tile *t, lines *b, int64_t r, int64_t i, int kind)
{
  const int64_t s = p->stride[1], cols = p->kernel[1];
  const int64_t place = p->margin + (i - t->row.windows.lo) * p->dy_pitch;
  const int number = (int)((r - window(p, 0, i).lo) * cols);
  for (int64_t q = 0; q < least(s, cols); q++) {
    const int n = b->in_phase[q];
    const int64_t last = q + (n - 1) * s;
    const giving g = { place - (n - 1) * p->inner, n, number + (int)last, (int)s };
    float *to = b->row + q * p->phase;
    if (n == 1) collect(p, b, &g, 1, to, kind);
    else if (n == 2) collect(p, b, &g, 2, to, kind);
    else if (n == 3) collect(p, b, &g, 3, to, kind);
    else collect(p, b, &g, n, to, kind);
  }
}

/* What went to copies of a row's first cell is given to that. */
JF_BODY void return_lead(const pool *p, const line *l, float *row)
{
  for (int64_t c = 0; c < l->lead; c++)
    for (int64_t i = 0; i < p->inner; i++) row[l->first + i] += row[in_phase(p, c) + i];
}

/* The cells that a tile writes. */
JF_BODY line written(const pool *p, const tile *t, const line *l)
{
  const range cols = t->column.cells;
  line w = { l->lead + cols.lo - t->column.all.lo, cols.hi - cols.lo, l->all, 0, 0 };
  w.first = in_phase(p, w.lead);
  w.second = in_phase(p, w.lead + 1);
  return w;
}

JF_BODY void backward_lines(const pool *p, const tile *t, lines *b, const float *end, int kind)
{
  const line l = line_of(p, &t->column), own = written(p, t, &l);
  const range windows = t->row.windows;
  if (kind == MAX) gather(p, t, b->x, kind);
  for (int64_t i = windows.lo; i < windows.hi; i++) find_row(p, t, b, i, kind);
  int64_t first = windows.lo;
  for (int64_t r = t->row.cells.lo; r < t->row.cells.hi; r++) {
    float *dx = cell_of(p->to, p->in, t->plane, r, t->column.cells.lo, p->inner);
    memset(b->row, 0, (size_t)p->pitch * sizeof *b->row);
    while (first < windows.hi && window(p, 0, first).hi <= r) first++;
    for (int64_t i = first; i < windows.hi && window(p, 0, i).lo <= r; i++)
      collect_from(p, t, b, r, i, kind);
    if (kind == MAX && !t->column.cells.lo) return_lead(p, &l, b->row);
    merge(p, &own, b->row, dx, end ? end : dx + own.cells * p->inner);
  }
}

/* The same where every cell is in one window. */
JF_BODY void backward_own(const pool *p, const tile *t, lines *b, const float *end, int kind)
{
  const line l = line_of(p, &t->column), own = written(p, t, &l);
  const range windows = t->row.windows, cells = t->row.cells, j = t->column.windows;
  const int64_t n = (j.hi - j.lo) * p->inner;
  const int rows = (int)p->kernel[0], cols = (int)p->kernel[1];
  const float *dy_end = cell_of((float *)p->dy, p->out, p->outer, 0, 0, p->inner);
  const taps w = { p->pitch, b->col };
  if (kind == MAX) gather(p, t, b->x, kind);
  for (int64_t i = windows.lo; i < windows.hi; i++) {
    const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j.lo, p->inner);
    for (int64_t q = 0; q < n; q += LANES) {
      gift g = { b->x + (i * rows - t->row.all.lo) * p->pitch + q, b->dy + q, 0, rows, 1 };
      vec d;
      load_part(dy + q, least(dy_end - dy - q, LANES), &d);
      if (kind == AVG) d *= 1 / (float)(rows * cols);
      give_window(&g, &w, rows, cols, kind, &d);
    }
    for (int64_t r = most(i * rows, cells.lo); r < least((i + 1) * rows, cells.hi); r++) {
      float *dx = cell_of(p->to, p->in, t->plane, r, t->column.cells.lo, p->inner);
      merge(p, &own, b->dy + (r - i * rows) * p->pitch, dx, end ? end : dx + own.cells * p->inner);
    }
  }
}

/* share = 1 / the window's columns, for all columns of outputs of a tile, and 0 beyond. */
JF_BODY void shares(const pool *p, const range *j, float *share)
{
  memset(share, 0, (size_t)p->phase * sizeof *share);
  for (int64_t i = j->lo; i < j->hi; i++) {
    const range v = window(p, 1, i);
    for (int64_t l = 0; l < p->inner; l++) *share++ = 1 / (float)(v.hi - v.lo);
  }
}

/* ---- parts ---- */

/* Where the tiles of a part end in y or dx. */
JF_BODY const float *end_of(const pool *p, int64_t tiles)
{
  const tile after = tile_of(p, tiles);
  const int64_t row = p->backward ? after.row.cells.lo : after.row.windows.lo;
  return cell_of(p->to, p->backward ? p->in : p->out, after.plane, row, 0, p->inner);
}

JF_BODY void wide_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  int64_t col[WIDEST];
  tile t = tile_of(p, from);
  for (int64_t v = 0; v < p->kernel[1]; v++) col[v] = v * p->inner;
  for (int64_t i = from; i < to; next_tile(p, ++i, &t)) {
    if (backward) backward_wide(p, &t, col, kind);
    else forward_wide(p, &t, col, kind);
  }
}

JF_BODY void squares_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  const float *end = end_of(p, to);
  tile t = tile_of(p, from);
  for (int64_t i = from; i < to; next_tile(p, ++i, &t)) {
    if (backward) backward_squares(p, &t, end, kind);
    else forward_squares(p, &t, end, kind);
  }
}

/* Tiles are whole planes. */
JF_BODY void planes_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  for (int64_t i = from; i < to; i++) {
    if (p->way == SINGLE) single_plane(p, i, kind, backward);
    else if (backward) backward_plane(p, i);
    else forward_plane(p, i);
  }
}

JF_BODY void lines_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  const float *end = p->tiles[1] > 1 ? NULL : end_of(p, to);
  tile t = tile_of(p, from);
  lines b;
  memset(b.dy, 0, (size_t)p->margin * sizeof *b.dy);
  memset(b.in_phase, 0, sizeof b.in_phase);
  for (int64_t v = 0; v < p->kernel[1]; v++) {
    b.col[v] = in_phase(p, v);
    b.in_phase[v % p->stride[1]]++;
  }
  shares(p, &t.column.windows, b.share);
  for (int64_t i = from; i < to; next_tile(p, ++i, &t)) {
    if (p->tiles[1] > 1) shares(p, &t.column.windows, b.share);
    if (backward && p->own) backward_own(p, &t, &b, end, kind);
    else if (backward) backward_lines(p, &t, &b, end, kind);
    else forward_lines(p, &t, &b, end, kind);
  }
}

JF_BODY void pool_part(const pool *p, int part, int kind, int backward)
{
  const int64_t from = jf_from(part, p->span), to = jf_to(part, p->span, tiles_of(p));
  if (p->way == WIDE) wide_part(p, from, to, kind, backward);
  else if (p->way == SQUARES) squares_part(p, from, to, kind, backward);
  else if (p->way == LINES) lines_part(p, from, to, kind, backward);
  else planes_part(p, from, to, kind, backward);
}

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
static int cut_rows(pool *p)
{
  const int64_t row = p->in[1] * p->inner;
  cut(p, 1, INT64_MAX, p->in[1]);
  return cut(p, 0, most(JF_PART / row, 8 * p->kernel[0] + p->stride[0]), p->in[0]) > 0;
}

/* Windows that have a cell among so many rows, and one before them. */
static int64_t windows_of(const pool *p, int64_t rows)
{
  return divide_up(rows + p->kernel[0], p->stride[0]) + 1;
}

static int cut_lines(pool *p)
{
  const int64_t s = p->stride[1], g = p->inner, rows = least(p->in[0], touched(p, 0, 1));
  const int64_t phase = least(least(LINE / s, ROOM / s / rows), ROOM / (windows_of(p, rows) + 1));
  const int64_t whole = most(p->in[1] + p->before[1], (p->out[1] - 1) * s + p->kernel[1]);
  const int64_t touches = phase > 2 * LANES ? cut(p, 1, (phase - 2 * LANES) / g * s, whole) : 0;
  if (!touches) return 0;
  p->used = divide_up(touches, s) * g;
  p->dy_pitch = divide_up(p->used, LANES) * LANES;
  p->phase = p->dy_pitch + LANES;
  p->pitch = s * p->phase;
  p->margin = (p->kernel[1] - 1) / s * g;
  const int64_t windows = (ROOM - p->margin) / p->dy_pitch;
  return cut(p, 0, least(ROOM / p->pitch, (windows - 1) * p->stride[0] - p->kernel[0]),
             p->in[0]) > 0;
}

/* Shapes of a call. */
static pool shapes(const jf_kargs *k, int backward)
{
  const jf_pool2d *a = k->attr;
  const jfl_shape *full = backward ? &k->out[0].shape : &k->in[0].shape;
  const jfl_shape *pooled = backward ? &k->in[k->n_in - 1].shape : &k->out[0].shape;
  pool p = {
    .x = k->in[0].data, .dy = k->in[k->n_in - 1].data, .to = k->out[0].data,
    .outer = 1, .inner = 1, .backward = backward, .own = 1
  };
  for (int i = 0; i < a->axis; i++) p.outer *= full->d[i];
  for (int i = a->axis + 2; i < full->n; i++) p.inner *= full->d[i];
  for (int i = 0; i < 2; i++) {
    p.in[i] = full->d[a->axis + i];
    p.out[i] = pooled->d[a->axis + i];
    p.kernel[i] = a->kernel[i];
    p.stride[i] = a->stride[i];
    p.before[i] = a->pad[2 * i];
    p.own &= p.kernel[i] == p.stride[i] && !p.before[i] && p.in[i] == p.out[i] * p.kernel[i];
  }
  return p;
}

/* Whether the only window has all of the plane. */
static int is_global(const pool *p)
{
  for (int i = 0; i < 2; i++) {
    const range r = window(p, i, 0);
    if (p->out[i] != 1 || r.lo || r.hi != p->in[i]) return 0;
  }
  return 1;
}

/* Chooses a way and cuts tiles for it. */
static void plan(pool *p, int kind)
{
  p->way = p->inner >= LANES ? WIDE : LINES;
  if (p->inner == 1 && p->own && p->kernel[0] == 2 && p->kernel[1] == 2) p->way = SQUARES;
  if (p->inner == 1 && kind == AVG && is_global(p)) p->way = PLANES;
  else if (p->kernel[1] > WIDEST) p->way = SINGLE;
  if ((p->way == WIDE || p->way == SQUARES) && !cut_rows(p)) p->way = SINGLE;
  if (p->way == LINES && !cut_lines(p)) p->way = SINGLE;
  for (int i = 0; i < 2 && (p->way == PLANES || p->way == SINGLE); i++)
    cut(p, i, INT64_MAX, p->in[i]);
  p->span = most(JF_PART * p->tiles[0] * p->tiles[1] / (p->in[0] * p->in[1] * p->inner), 1);
}

static jfl_status run(const jf_kargs *k, pool *p, jf_part part)
{
  const int64_t cells = p->outer * p->in[0] * p->in[1];
  jf_run_parts(k, cells * p->inner, jf_parts(tiles_of(p), p->span), part, p);
  return JFL_OK;
}

static int accepts(const jf_kargs *k) { return k->in[0].dtype == JFL_F32; }

#define POOL(op, kind, backward)                                                        \
  JF_BODY void op##_body(void *ctx, int part) { pool_part(ctx, part, kind, backward); } \
  JF_VARIANTS(op)                                                                       \
  static jfl_status op##_run(const jf_kargs *k)                                         \
  {                                                                                     \
    pool p = shapes(k, backward);                                                       \
    plan(&p, kind);                                                                     \
    return run(k, &p, op());                                                            \
  }
POOL(max_pool2d, MAX, 0)
POOL(max_pool2d_grad, MAX, 1)
POOL(avg_pool2d, AVG, 0)
POOL(avg_pool2d_grad, AVG, 1)

JFL_CPU(vec_max_pool2d, .op = "max_pool2d", .accepts = accepts, .run = max_pool2d_run,
  .priority = 10)
JFL_CPU(vec_max_pool2d_grad, .op = "max_pool2d_grad", .accepts = accepts,
  .run = max_pool2d_grad_run, .priority = 10)
JFL_CPU(vec_avg_pool2d, .op = "avg_pool2d", .accepts = accepts, .run = avg_pool2d_run,
  .priority = 10)
JFL_CPU(vec_avg_pool2d_grad, .op = "avg_pool2d_grad", .accepts = accepts,
  .run = avg_pool2d_grad_run, .priority = 10)
