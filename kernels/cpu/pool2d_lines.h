/* Pooling of cells narrower than a vector, for pool2d.c: rows are rearranged so that neighbouring
   windows find their cells side by side. */
#ifndef JF_VEC_POOL2D_LINES_H
#define JF_VEC_POOL2D_LINES_H

#include "pool2d.h"

/* Rows of a tile are copied so that cell c, counted from the start of the first window, becomes
   cell c / stride of phase c % stride. Then column v of neighbouring windows lies side by side.
   Each phase ends in floats that vectors may run over. Cells outside the plane are, for an average,
   0; for a maximum they are copies of the nearest cell inside, which never beat that cell, and
   whose gradient is added to it. */
enum { ROOM = 6144 + 64, LINE = 2048 };

typedef struct pool_lines {
  _Alignas(64) float x[ROOM];      /* the tile's rows of x */
  float dy[ROOM];                  /* rows of dy; 0 beyond their windows and in front */
  int32_t at[ROOM];                /* which cell of its window each of them goes to */
  float row[LINE];                 /* a row of dx */
  float share[LINE];               /* 1 / the number of columns of each window */
  int64_t col[WIDEST];
  int in_phase[WIDEST];            /* how many columns of a window are in each phase */
} pool_lines;

/* Cells of a row in front of the plane, cells in the plane, and all cells; where the plane's first
   two cells go. */
typedef struct pool_line { int64_t lead, cells, all, first, second; } pool_line;

JF_BODY int64_t in_phase(const pool *p, int64_t c)
{
  return c % p->stride[1] * p->phase + c / p->stride[1] * p->inner;
}

JF_BODY pool_line line_of(const pool *p, const reach *r)
{
  const int64_t start = r->windows.lo * p->stride[1] - p->before[1];
  pool_line l = { r->all.lo - start, r->all.hi - r->all.lo, 0, 0, 0 };
  l.all = most(l.lead + l.cells,
               (r->windows.hi - 1 - r->windows.lo) * p->stride[1] + p->kernel[1]);
  l.first = in_phase(p, l.lead);
  l.second = in_phase(p, l.lead + 1);
  return l;
}

/* y = x for n floats; y has room for whole vectors, x may be read up to `end`. */
JF_BODY void pool_copy(float *y, const float *x, const float *end, int64_t n)
{
  for (int64_t i = 0; i < n; i += LANES) {
    vec v;
    load_part(x + i, least(end - x - i, LANES), &v);
    STORE(y + i, v);
  }
}

/* The reverse: x may be read in whole vectors, y written up to `end`. */
JF_BODY void copy_out(float *y, const float *end, const float *x, int64_t n)
{
  for (int64_t i = 0; i < n; i += LANES) {
    const vec v = LOAD(x + i);
    store_part(y + i, end - y - i < LANES ? least(n - i, LANES) : LANES, &v);
  }
}

/* Distributes the plane's cells of a row over the phases; x may be read up to `end`. */
JF_BODY void split(const pool *p, const pool_line *l, float *row, const float *x, const float *end)
{
  const int64_t s = p->stride[1], g = p->inner, n = l->cells;
  if (s == 1) {
    pool_copy(row + l->first, x, end, n * g);
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

/* The reverse, for `cells` cells from the plane's first one on; x may be written up to `end`. */
JF_BODY void merge(const pool *p, const pool_line *l, const float *row, float *x, const float *end)
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

/* Fills the cells of a row that are outside the plane. */
JF_BODY void pad(const pool *p, float *row, const pool_line *l, int kind)
{
  const int64_t end = l->lead + l->cells;
  for (int64_t c = l->lead ? 0 : end; c < l->all; c = c + 1 == l->lead ? end : c + 1) {
    const float *like = row + in_phase(p, c < l->lead ? l->lead : end - 1);
    float *to = row + in_phase(p, c);
    for (int64_t i = 0; i < p->inner; i++) to[i] = kind == MAX ? like[i] : 0;
  }
}

/* Copies the tile's rows of x to phases. */
JF_BODY void pool_gather(const pool *p, const tile *t, float *to, int kind)
{
  const pool_line l = line_of(p, &t->column);
  const range rows = t->row.all;
  const float *x = cell_of((float *)p->x, p->in, t->plane, rows.lo, t->column.all.lo, p->inner);
  const float *end = cell_of((float *)p->x, p->in, p->outer, 0, 0, p->inner);
  for (int64_t r = rows.lo; r < rows.hi; r++, to += p->pitch, x += p->in[1] * p->inner) {
    split(p, &l, to, x, end);
    pad(p, to, &l, kind);
  }
}

/* Pools the tile. Vectors may be stored up to `end`, or if it is NULL, up to the row's end. */
JF_BODY void forward_lines(const pool *p, const tile *t, pool_lines *b, const float *end, int kind)
{
  const range j = t->column.windows;
  const int64_t n = (j.hi - j.lo) * p->inner;
  const taps w = { p->pitch, b->col };
  pool_gather(p, t, b->x, kind);
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi && !row_ends(p, i); i++) {
    const range u = window(p, 0, i);
    const int rows = (int)(u.hi - u.lo), cols = (int)p->kernel[1];
    const float *from = b->x + (u.lo - t->row.all.lo) * p->pitch;
    float *y = cell_of(p->to, p->out, t->plane, i, j.lo, p->inner);
    const float *limit = end ? end : y + n;
    for (int64_t q = 0; q < n; q += LANES) {
      vec r = LOAD(b->share + q) * (1 / (float)rows);
      UNROLLED(pool_one, from + q, &w, rows, cols, kind, &r);
      store_part(y + q, limit - y - q < LANES ? least(n - q, LANES) : LANES, &r);
    }
  }
}

/* Copies dy of a row of windows, for an average divided by the number of cells, and for a maximum
   finds the cell that gets it. */
JF_BODY void find_row(const pool *p, const tile *t, pool_lines *b, int64_t i, int kind)
{
  const range u = window(p, 0, i), j = t->column.windows;
  const int rows = (int)(u.hi - u.lo), cols = (int)p->kernel[1];
  const int64_t n = (j.hi - j.lo) * p->inner;
  const int64_t place = p->margin + (i - t->row.windows.lo) * p->dy_pitch;
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
    UNROLLED(best_of, x + q, &w, rows, cols, &m, &at);
    memcpy(b->at + place + q, &at, sizeof at);
  }
}

/* What a row of windows adds to one phase of a row of dx. `cols` columns of a window are in that
   phase. The last of them has number `number`, the others are `stride` apart below it. `place` is
   where the first dy for the last column is. */
typedef struct giving { int64_t place; int cols, number, stride; } giving;

JF_BODY void collect(const pool *p, const pool_lines *b, const giving *g, int cols, float *to,
                     int kind)
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

JF_BODY void collect_from(const pool *p, const tile *t, pool_lines *b, int64_t r, int64_t i,
                          int kind)
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

/* Adds what went to copies of a row's first cell to that cell. */
JF_BODY void return_lead(const pool *p, const pool_line *l, float *row)
{
  for (int64_t c = 0; c < l->lead; c++)
    for (int64_t i = 0; i < p->inner; i++) row[l->first + i] += row[in_phase(p, c) + i];
}

/* The cells that a tile writes. */
JF_BODY pool_line written(const pool *p, const tile *t, const pool_line *l)
{
  const range cols = t->column.cells;
  pool_line w = { l->lead + cols.lo - t->column.all.lo, cols.hi - cols.lo, l->all, 0, 0 };
  w.first = in_phase(p, w.lead);
  w.second = in_phase(p, w.lead + 1);
  return w;
}

JF_BODY void backward_lines(const pool *p, const tile *t, pool_lines *b, const float *end, int kind)
{
  const pool_line l = line_of(p, &t->column), own = written(p, t, &l);
  const range windows = t->row.windows;
  if (kind == MAX) pool_gather(p, t, b->x, kind);
  for (int64_t i = windows.lo; i < windows.hi && !row_ends(p, i); i++) find_row(p, t, b, i, kind);
  int64_t first = windows.lo;
  for (int64_t r = t->row.cells.lo; r < t->row.cells.hi && !row_ends(p, r); r++) {
    float *dx = cell_of(p->to, p->in, t->plane, r, t->column.cells.lo, p->inner);
    memset(b->row, 0, (size_t)p->pitch * sizeof *b->row);
    while (first < windows.hi && window(p, 0, first).hi <= r) first++;
    for (int64_t i = first; i < windows.hi && window(p, 0, i).lo <= r; i++)
      collect_from(p, t, b, r, i, kind);
    if (kind == MAX && !t->column.cells.lo) return_lead(p, &l, b->row);
    merge(p, &own, b->row, dx, end ? end : dx + own.cells * p->inner);
  }
}

/* The gradient of a tile whose windows do not overlap. */
JF_BODY void backward_own(const pool *p, const tile *t, pool_lines *b, const float *end, int kind)
{
  const pool_line l = line_of(p, &t->column), own = written(p, t, &l);
  const range windows = t->row.windows, cells = t->row.cells, j = t->column.windows;
  const int64_t n = (j.hi - j.lo) * p->inner;
  const int rows = (int)p->kernel[0], cols = (int)p->kernel[1];
  const float *dy_end = cell_of((float *)p->dy, p->out, p->outer, 0, 0, p->inner);
  const taps w = { p->pitch, b->col };
  if (kind == MAX) pool_gather(p, t, b->x, kind);
  for (int64_t i = windows.lo; i < windows.hi && !row_ends(p, i); i++) {
    const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j.lo, p->inner);
    for (int64_t q = 0; q < n; q += LANES) {
      gift g = { b->x + (i * rows - t->row.all.lo) * p->pitch + q, b->dy + q, 0, rows, 1 };
      vec d;
      load_part(dy + q, least(dy_end - dy - q, LANES), &d);
      if (kind == AVG) d *= 1 / (float)(rows * cols);
      UNROLLED(give_one, &g, &w, rows, cols, kind, &d);
    }
    for (int64_t r = most(i * rows, cells.lo); r < least((i + 1) * rows, cells.hi); r++) {
      float *dx = cell_of(p->to, p->in, t->plane, r, t->column.cells.lo, p->inner);
      merge(p, &own, b->dy + (r - i * rows) * p->pitch, dx, end ? end : dx + own.cells * p->inner);
    }
  }
}

/* share[q] = 1 / the number of columns of the window to which output q belongs, 0 beyond the
   tile. */
JF_BODY void shares(const pool *p, const range *j, float *share)
{
  memset(share, 0, (size_t)p->phase * sizeof *share);
  for (int64_t i = j->lo; i < j->hi; i++) {
    const range v = window(p, 1, i);
    for (int64_t l = 0; l < p->inner; l++) *share++ = 1 / (float)(v.hi - v.lo);
  }
}

JF_BODY void lines_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  const float *end = p->tiles[1] > 1 ? NULL : pool_end(p, to);
  tile t = pool_tile(p, from);
  pool_lines b;
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

#endif
