/* 2-D pooling and its gradients, in parallel. Nothing is kept from the forward pass. */
#include "pool2d_lines.h"

/* ---- wide cells, of at least a vector: windows are pooled in place ---- */

JF_BODY void forward_wide(const pool *p, const tile *t, const int64_t *col, int kind)
{
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi && !row_ends(p, i); i++)
    for (int64_t j = 0; j < p->out[1]; j++) {
      const range u = window(p, 0, i), v = window(p, 1, j);
      const int rows = (int)(u.hi - u.lo), cols = (int)(v.hi - v.lo);
      const taps w = { p->in[1] * p->inner, col };
      const float *x = cell_of((float *)p->x, p->in, t->plane, u.lo, v.lo, p->inner);
      float *y = cell_of(p->to, p->out, t->plane, i, j, p->inner);
      for (int64_t l = 0; l < p->inner; l += LANES) {
        const int64_t at = least(l, p->inner - LANES);
        vec r = (vec){ 0 } + 1 / (float)(rows * cols);
        UNROLLED(pool_one, x + at, &w, rows, cols, kind, &r);
        STORE(y + at, r);
      }
    }
}

JF_BODY void backward_wide(const pool *p, const tile *t, const int64_t *col, int kind)
{
  const range own = t->row.cells;
  float *dx = cell_of(p->to, p->in, t->plane, own.lo, 0, p->inner);
  if (!p->own) memset(dx, 0, (size_t)((own.hi - own.lo) * p->in[1] * p->inner) * sizeof *dx);
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi && !row_ends(p, i); i++)
    for (int64_t j = 0; j < p->out[1]; j++) {
      const range u = window(p, 0, i), v = window(p, 1, j);
      const int rows = (int)(u.hi - u.lo), cols = (int)(v.hi - v.lo);
      const taps w = { p->in[1] * p->inner, col };
      const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j, p->inner);
      const float *x = cell_of((float *)p->x, p->in, t->plane, u.lo, v.lo, p->inner);
      dx = cell_of(p->to, p->in, t->plane, u.lo, v.lo, p->inner);
      gift g = {
        .from = (int)most(own.lo - u.lo, 0), .to = (int)(least(own.hi, u.hi) - u.lo), .own = p->own
      };
      for (int64_t l = 0; l < p->inner; l += LANES) {
        const int64_t at = least(l, p->inner - LANES);
        vec d = LOAD(dy + at);
        if (kind == AVG) d *= 1 / (float)(rows * cols);
        if (at < l && !p->own) keep_lanes(&d, l - at, LANES);
        g.x = x + at;
        g.dx = dx + at;
        UNROLLED(give_one, &g, &w, rows, cols, kind, &d);
      }
    }
}

/* ---- single floats in windows of 2 x 2 or 1 x 2 that do not overlap ---- */

/* Loads n of LANES neighbouring windows of `rows` rows: cell (u, v) of every window goes to LANES
   lanes from (2 u + v) LANES on. Rows of x are w floats long; x may be read up to `end`. */
enum { SQUARE = 4 * LANES };
static const int64_t square_col[2] = { 0, LANES };

JF_BODY void load_squares(const float *x, int64_t w, const float *end, int64_t n, int rows,
                          float *s)
{
  float some[2 * LANES];
  for (int u = 0; u < rows; u++, x += w, s += 2 * LANES)
    if (end - x < 2 * LANES) {
      memcpy(some, x, (size_t)(2 * n) * sizeof *x);
      part_pairs(some, s, s + LANES);
    } else {
      part_pairs(x, s, s + LANES);
    }
}

/* The reverse: stores the cells to x, which may be written up to `end`, provided that the row after
   is written later. */
JF_BODY void store_squares(float *x, int64_t w, const float *end, int64_t n, int rows,
                           const float *s)
{
  float some[2 * LANES];
  for (int u = 0; u < rows; u++, x += w, s += 2 * LANES)
    if (end - x < 2 * LANES) {
      join_pairs(some, s, s + LANES);
      memcpy(x, some, (size_t)(2 * n) * sizeof *x);
    } else {
      join_pairs(x, s, s + LANES);
    }
}

/* Where the vector for the windows from j on starts, in a row of n windows. If n fills a vector,
   the last one is moved back to be full: computing a window twice does no harm. */
JF_BODY int64_t vector_at(int64_t j, int64_t n) { return n < LANES ? j : least(j, n - LANES); }

JF_BODY void forward_squares(const pool *p, const tile *t, const float *end, int kind, int rows)
{
  const int64_t n = p->out[1], w = p->in[1];
  const float *x_end = p->x + p->outer * p->in[0] * w;
  const taps squares = { 2 * LANES, square_col };
  float s[SQUARE];
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++)
    for (int64_t l = 0; l < n; l += LANES) {
      const int64_t j = vector_at(l, n), some = least(n - j, LANES);
      float *y = cell_of(p->to, p->out, t->plane, i, j, 1);
      const float *x = cell_of((float *)p->x, p->in, t->plane, rows * i, 2 * j, 1);
      load_squares(x, w, x_end, some, rows, s);
      vec r = (vec){ 0 } + 0.5f / (float)rows;
      pool_one(s, &squares, rows, 2, kind, &r);
      store_part(y, end - y < LANES ? some : LANES, &r);
    }
}

JF_BODY void backward_squares(const pool *p, const tile *t, const float *end, int kind, int rows)
{
  const int64_t n = p->out[1], w = p->in[1];
  const float *x_end = p->x + p->outer * p->in[0] * w;
  const float *dy_end = p->dy + p->outer * p->out[0] * n;
  const taps squares = { 2 * LANES, square_col };
  float x[SQUARE], dx[SQUARE];
  const gift g = { x, dx, 0, rows, 1 };
  for (int64_t i = t->row.windows.lo; i < t->row.windows.hi; i++)
    for (int64_t l = 0; l < n; l += LANES) {
      const int64_t j = vector_at(l, n), some = least(n - j, LANES);
      const float *dy = cell_of((float *)p->dy, p->out, t->plane, i, j, 1);
      vec d;
      load_part(dy, dy_end - dy < LANES ? some : LANES, &d);
      if (kind == AVG) d *= 0.5f / (float)rows;
      else
        load_squares(cell_of((float *)p->x, p->in, t->plane, rows * i, 2 * j, 1), w, x_end, some,
                     rows, x);
      give_one(&g, &squares, rows, 2, kind, &d);
      store_squares(cell_of(p->to, p->in, t->plane, rows * i, 2 * j, 1), w, end, some, rows, dx);
    }
}

/* ---- single floats; the only window covers the whole plane ---- */

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

/* ---- one float at a time: windows that fill no vector or are too large for one ---- */

/* The cells of a window: rows are `pitch` floats apart, cells in a row `step` floats. */
typedef struct pool2d_area { int64_t rows, cols, pitch, step; } pool2d_area;

JF_BODY int64_t first_largest(const float *x, const pool2d_area *a)
{
  int64_t best = 0;
  for (int64_t u = 0; u < a->rows; u++)
    for (int64_t v = 0; v < a->cols; v++)
      if (x[u * a->pitch + v * a->step] > x[best]) best = u * a->pitch + v * a->step;
  return best;
}

JF_BODY float mean(const float *x, const pool2d_area *a)
{
  double sum = 0;
  for (int64_t u = 0; u < a->rows; u++)
    for (int64_t v = 0; v < a->cols; v++) sum += (double)x[u * a->pitch + v * a->step];
  return (float)(sum / (double)(a->rows * a->cols));
}

JF_BODY void give_all(float *dx, const pool2d_area *a, float dy)
{
  const float share = dy / (float)(a->rows * a->cols);
  for (int64_t u = 0; u < a->rows; u++)
    for (int64_t v = 0; v < a->cols; v++) dx[u * a->pitch + v * a->step] += share;
}

/* Pools window (i, j) of a plane, once for each float of a cell. */
JF_BODY void single_windows(const pool *p, int64_t plane, int64_t i, int64_t j, int kind,
                            int backward)
{
  const range u = window(p, 0, i), v = window(p, 1, j);
  const pool2d_area a = { u.hi - u.lo, v.hi - v.lo, p->in[1] * p->inner, p->inner };
  const float *x = cell_of((float *)p->x, p->in, plane, u.lo, v.lo, p->inner);
  const float *dy = cell_of((float *)p->dy, p->out, plane, i, j, p->inner);
  float *y = cell_of(p->to, p->out, plane, i, j, p->inner);
  float *dx = cell_of(p->to, p->in, plane, u.lo, v.lo, p->inner);
  for (int64_t l = 0; l < p->inner; l++) {
    if (backward && kind == MAX) dx[l + first_largest(x + l, &a)] += dy[l];
    else if (backward) give_all(dx + l, &a, dy[l]);
    else y[l] = kind == MAX ? x[l + first_largest(x + l, &a)] : mean(x + l, &a);
  }
}

JF_BODY void single_plane(const pool *p, int64_t plane, int kind, int backward)
{
  const int64_t full = p->in[0] * p->in[1] * p->inner;
  if (backward) memset(p->to + plane * full, 0, (size_t)full * sizeof *p->to);
  const int64_t n = p->out[0] * p->out[1], cells = p->kernel[0] * p->kernel[1] * p->inner;
  for (int64_t i = 0; i < n && !jf_loop_ends_at(i, cells); i++)
    single_windows(p, plane, i / p->out[1], i % p->out[1], kind, backward);
}

/* ---- parts ---- */

JF_BODY void wide_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  int64_t col[WIDEST];
  tile t = pool_tile(p, from);
  for (int64_t v = 0; v < p->kernel[1]; v++) col[v] = v * p->inner;
  for (int64_t i = from; i < to; next_tile(p, ++i, &t)) {
    if (backward) backward_wide(p, &t, col, kind);
    else forward_wide(p, &t, col, kind);
  }
}

JF_BODY void squares_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  const float *end = pool_end(p, to);
  const int flat = p->kernel[0] == 1;
  tile t = pool_tile(p, from);
  for (int64_t i = from; i < to; next_tile(p, ++i, &t)) {
    if (backward && flat) backward_squares(p, &t, end, kind, 1);
    else if (backward) backward_squares(p, &t, end, kind, 2);
    else if (flat) forward_squares(p, &t, end, kind, 1);
    else forward_squares(p, &t, end, kind, 2);
  }
}

/* For ways whose tiles are whole planes. */
JF_BODY void planes_part(const pool *p, int64_t from, int64_t to, int kind, int backward)
{
  for (int64_t i = from; i < to; i++) {
    if (p->way == SINGLE) single_plane(p, i, kind, backward);
    else if (backward) backward_plane(p, i);
    else forward_plane(p, i);
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

/* ---- cutting into tiles, and the kernel rows ---- */

static int64_t pool2d_divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* The most cells that a tile of `step` windows (backward, of `step` cells) touches along an
   axis. */
static int64_t touched(const pool *p, int axis, int64_t step)
{
  const int64_t k = p->kernel[axis], s = p->stride[axis];
  return p->backward ? step + 2 * k + s : (step - 1) * s + k;
}

/* Cuts an axis into tiles that touch at most `room` cells; a tile of the whole axis touches
   `whole`. Returns how many cells one tile may touch, or 0 if not even the smallest tile fits. */
static int64_t pool2d_cut(pool *p, int axis, int64_t room, int64_t whole)
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
  p->tiles[axis] = pool2d_divide_up(n, step);
  return step < n ? room : whole;
}

/* Cuts planes into tiles of several rows, so that few windows belong to two tiles. */
static int cut_rows(pool *p)
{
  const int64_t row = p->in[1] * p->inner;
  pool2d_cut(p, 1, INT64_MAX, p->in[1]);
  return pool2d_cut(p, 0, most(JF_PART / row, 8 * p->kernel[0] + p->stride[0]), p->in[0]) > 0;
}

/* The most windows that have a cell among that many rows, and one more in front. */
static int64_t windows_of(const pool *p, int64_t rows)
{
  return pool2d_divide_up(rows + p->kernel[0], p->stride[0]) + 1;
}

static int cut_lines(pool *p)
{
  const int64_t s = p->stride[1], g = p->inner, rows = least(p->in[0], touched(p, 0, 1));
  const int64_t phase = least(least(LINE / s, ROOM / s / rows), ROOM / (windows_of(p, rows) + 1));
  const int64_t whole = most(p->in[1] + p->before[1], (p->out[1] - 1) * s + p->kernel[1]);
  const int64_t touches =
      phase > 2 * LANES ? pool2d_cut(p, 1, (phase - 2 * LANES) / g * s, whole) : 0;
  if (!touches) return 0;
  p->used = pool2d_divide_up(touches, s) * g;
  p->dy_pitch = pool2d_divide_up(p->used, LANES) * LANES;
  p->phase = p->dy_pitch + LANES;
  p->pitch = s * p->phase;
  p->margin = (p->kernel[1] - 1) / s * g;
  const int64_t windows = (ROOM - p->margin) / p->dy_pitch;
  return pool2d_cut(p, 0, least(ROOM / p->pitch, (windows - 1) * p->stride[0] - p->kernel[0]),
             p->in[0]) > 0;
}

/* Reads the shapes of a call. */
static pool shapes(const jf_kargs *k, int backward)
{
  const jf_pool2d *a = k->attr;
  const jfl_shape *full = backward ? &k->out[0].shape : &k->in[0].shape;
  const jfl_shape *pooled = backward ? &k->in[k->n_in - 1].shape : &k->out[0].shape;
  pool p = {
    .a = a, .x = k->in[0].data, .dy = k->in[k->n_in - 1].data, .to = k->out[0].data,
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

/* Whether there is one window that covers the whole plane. */
static int is_global(const pool *p)
{
  for (int i = 0; i < 2; i++) {
    const range r = window(p, i, 0);
    if (p->out[i] != 1 || r.lo || r.hi != p->in[i]) return 0;
  }
  return 1;
}

/* the least floats in a row of y for which a mostly idle vector is still faster */
enum { FEWEST = 3 };

/* Chooses the way of pooling and cuts tiles for it. */
static void plan(pool *p, int kind)
{
  p->way = p->inner >= LANES ? WIDE : LINES;
  if (p->inner == 1 && p->own && p->kernel[0] <= 2 && p->kernel[1] == 2) p->way = SQUARES;
  if (p->inner == 1 && kind == AVG && is_global(p)) p->way = PLANES;
  else if (p->kernel[1] > WIDEST || p->out[1] * p->inner < FEWEST) p->way = SINGLE;
  if ((p->way == WIDE || p->way == SQUARES) && !cut_rows(p)) p->way = SINGLE;
  if (p->way == LINES && !cut_lines(p)) p->way = SINGLE;
  for (int i = 0; i < 2 && (p->way == PLANES || p->way == SINGLE); i++)
    pool2d_cut(p, i, INT64_MAX, p->in[i]);
  p->span = most(JF_PART * p->tiles[0] * p->tiles[1] / (p->in[0] * p->in[1] * p->inner), 1);
}

static int pool2d_accepts(const jf_kargs *k)
{
  return jf_has_vectors() && k->in[0].dtype == JFL_F32;
}

#define POOL(op, kind, backward)                                                        \
  JF_BODY void op##_body(void *ctx, int part) { pool_part(ctx, part, kind, backward); } \
  JF_VECTOR_VARIANTS(op)                                                                \
  static jfl_status op##_run(const jf_kargs *k)                                         \
  {                                                                                     \
    pool p = shapes(k, backward);                                                       \
    plan(&p, kind);                                                                     \
    jf_run_parts(k, jf_parts(tiles_of(&p), p.span), op(), &p);                          \
    return JFL_OK;                                                                      \
  }
POOL(max_pool2d, MAX, 0)
POOL(max_pool2d_grad, MAX, 1)
POOL(avg_pool2d, AVG, 0)
POOL(avg_pool2d_grad, AVG, 1)

JFL_CPU(vec_max_pool2d, .op = "max_pool2d", .accepts = pool2d_accepts, .run = max_pool2d_run)
JFL_CPU(vec_max_pool2d_grad, .op = "max_pool2d_grad", .accepts = pool2d_accepts,
  .run = max_pool2d_grad_run)
JFL_CPU(vec_avg_pool2d, .op = "avg_pool2d", .accepts = pool2d_accepts, .run = avg_pool2d_run)
JFL_CPU(vec_avg_pool2d_grad, .op = "avg_pool2d_grad", .accepts = pool2d_accepts,
  .run = avg_pool2d_grad_run)
