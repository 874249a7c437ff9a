/* Pooling, for pool2d.c: tiles of planes, and how a vector of outputs reads its windows. */
#ifndef JF_VEC_POOL2D_H
#define JF_VEC_POOL2D_H

#include "op/pool2d.h"

#include "vector.h"

/* A call: `outer` planes of in[0] by in[1] cells, each of `inner` floats, are pooled to planes of
   out[0] by out[1]. A tile is step[0] by step[1] windows of a plane, or backward as many cells;
   tiles at the end may be smaller. A part is `span` tiles. */
typedef struct pool {
  const jf_pool2d *a;
  const float *x, *dy;             /* the input; the gradient of the output */
  float *to;                       /* y, or dx */
  int64_t outer, inner, in[2], out[2], kernel[2], stride[2], before[2];
  int64_t step[2], tiles[2], span;
  int64_t pitch, phase, used, margin, dy_pitch;    /* of lines, in floats; see pool2d_lines.h */
  int backward, own;               /* own: windows do not overlap */
  enum way { WIDE, SQUARES, PLANES, LINES, SINGLE } way;     /* how windows fill vectors */
} pool;

/* A vector of half the length of a jf_vec, since rows of a plane and blocks of channels are often
   that short. */
typedef float vec __attribute__((vector_size(32)));
typedef int32_t ivec __attribute__((vector_size(32)));
typedef float vec_in_memory __attribute__((vector_size(32), aligned(4), may_alias));
enum { LANES = 8 };
typedef int32_t ivec_in_memory __attribute__((vector_size(32), aligned(4), may_alias));
#define LOAD(p) ((vec)*(const vec_in_memory *)(p))
#define STORE(p, v) (*(vec_in_memory *)(p) = (v))
/* Chooses lanes of a and b; those of b are numbered on from those of a. */
#ifdef __clang__
#define SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (ivec){ __VA_ARGS__ })
#endif

enum { MAX, AVG };                 /* kinds of pooling */
enum { WIDEST = 256 };             /* most columns of a window */

JF_BODY int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
JF_BODY int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

typedef jf_pool_range range;

/* Whether there is no time left before row i, of windows or of cells. */
JF_BODY int row_ends(const pool *p, int64_t i)
{
  return jf_loop_ends_at(i, p->out[1] * p->inner * p->kernel[0] * p->kernel[1]);
}

/* The valid cells of window i along an axis; there is at least one. */
JF_BODY range window(const pool *p, int axis, int64_t i)
{
  return jf_pool_window(p->a, axis, p->in[axis], i);
}

/* A tile along an axis: the windows it needs, the cells it writes, and all cells it touches.
   Backward, the windows are those with a cell that it writes; the first one may end before those
   cells, since gaps between windows must be written too. */
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

JF_BODY tile pool_tile(const pool *p, int64_t i)
{
  const int64_t line = i / p->tiles[1];
  return (tile){ line / p->tiles[0], reach_of(p, 0, line % p->tiles[0]),
                 reach_of(p, 1, i % p->tiles[1]) };
}

/* Turns t from tile i - 1 into tile i, without the divisions that would take as long as a small
   plane. */
JF_BODY void next_tile(const pool *p, int64_t i, tile *t)
{
  if (p->tiles[0] * p->tiles[1] == 1) t->plane++;
  else *t = pool_tile(p, i);
}

/* The address of cell (i, j) of a plane of t, whose planes have size[0] by size[1] cells. */
JF_BODY float *cell_of(float *t, const int64_t size[2], int64_t plane, int64_t i, int64_t j,
                       int64_t inner)
{
  return t + ((plane * size[0] + i) * size[1] + j) * inner;
}

/* The end in y or dx of the last of these tiles. */
JF_BODY const float *pool_end(const pool *p, int64_t tiles)
{
  const tile after = pool_tile(p, tiles);
  const int64_t row = p->backward ? after.row.cells.lo : after.row.windows.lo;
  return cell_of(p->to, p->backward ? p->in : p->out, after.plane, row, 0, p->inner);
}

/* ---- the windows of one vector of outputs ---- */

/* Where a window's cells are: cell (u, v) is `u pitch + col[v]` floats after the first one. */
typedef struct taps { int64_t pitch; const int64_t *col; } taps;

/* Finds the largest cell, the first if there are several, and its number counted row by row. If the
   first cell is a NaN, it counts as the largest. */
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

/* Sets *y to the largest cell, or to *y times the sum of all cells. */
JF_BODY void pool_one(const float *x, const taps *t, int rows, int cols, int kind, vec *y)
{
  vec v;
  ivec at;
  if (kind == MAX) best_of(x, t, rows, cols, y, &at);
  else sum_of(x, t, rows, cols, &v), *y *= v;
}

/* Adds dy to cells of dx in rows from..to-1: to the largest cell of x, or to all cells. Columns are
   done from the last to the first, so that every cell gets its numbers in the order of windows. */
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

/* Calls best_of, pool_one or give_one, with loops unrolled for common windows. */
#define UNROLLED(call, x, t, rows, cols, ...)                          \
  if (rows == 2 && cols == 2) call(x, t, 2, 2, __VA_ARGS__);           \
  else if (rows == 3 && cols == 3) call(x, t, 3, 3, __VA_ARGS__);      \
  else call(x, t, rows, cols, __VA_ARGS__)

/* Loads the first n <= LANES floats of p; the other lanes are 0. */
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

/* Splits x into elements 0, 2, 4... (a) and 1, 3, 5... (b). */
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

/* Keeps lanes lo..hi-1 of v and makes the others 0. */
JF_BODY void keep_lanes(vec *v, int64_t lo, int64_t hi)
{
  const ivec lane = { 0, 1, 2, 3, 4, 5, 6, 7 };
  *v = (vec)((ivec)*v & (lane >= (int)lo) & (lane < (int)(hi < LANES ? hi : LANES)));
}

#endif
