/* Batch normalization and its gradient. A unit, one block of channels or one channel of planes, is
   summed and then written while the cache still has it; units run in parallel. */
#include "op/batch_norm.h"

#include "tile.h"

#include <math.h>

/* CHUNK tiles are summed in float lanes; their sums in double. */
enum { TILE = JF_TILE, VECS = JF_TILE_VECS, CHUNK = 128 };

/* The tensors of a call as units. A unit is `runs` runs that are `apart` from each other; a run is
   `rows` tiles that are `stride` apart, then a shorter tile of `tail` floats. Lane i of each tile
   is of channel i % width of the unit. Where channels are innermost and no tile holds a whole
   number of them, a unit is a tile's width of channels instead, and `last` floats are in the last
   one. */
typedef struct fast_batch_plane {
  int64_t units, runs, apart, rows, stride, unit;
  int tail, width, last;
  double count, epsilon;       /* elements of a channel */
  int add, relu, bf16_result;
  const float *x, *gamma, *beta, *extra, *dy, *more, *mean_in, *variance_in;
  float *y, *mean, *variance, *dx, *dgamma, *dbeta, *daddend;
} fast_batch_plane;

static int whole_tiles(int64_t width) { return width <= TILE && TILE % width == 0; }

static fast_batch_plane fast_batch_plane_of(const jf_kargs *k, const jfl_shape *x)
{
  const jf_batch_norm *a = k->attr;
  const jf_batch_plane p = jf_batch_plane_of(x, a);
  fast_batch_plane f = { .epsilon = a->epsilon, .add = a->add, .relu = a->relu,
                         .bf16_result = a->halves.writes & 1 };
  f.count = (double)(p.outer * p.inner);
  if (whole_tiles(p.width)) {
    const int64_t run = p.inner * p.width;
    f.units = p.groups;
    f.runs = p.outer;
    f.unit = run;
    f.apart = p.groups * run;
    f.rows = run / TILE;
    f.stride = TILE;
    f.tail = (int)(run % TILE);
    f.width = (int)p.width;
    f.last = f.width;
    return f;
  }
  f.units = (p.width + TILE - 1) / TILE;
  f.runs = 1;
  f.unit = f.width = TILE;
  f.rows = p.outer * p.inner;
  f.stride = p.width;
  f.last = (int)(p.width - (f.units - 1) * TILE);
  return f;
}

/* A number for each lane of a tile. */
typedef struct lanes { float v[TILE]; } lanes;

/* A number for each channel of a unit, for all lanes. */
static void spread(const fast_batch_plane *p, int n, const float *of, lanes *to)
{
  for (int i = 0; i < TILE; i++) to->v[i] = i % p->width < n ? of[i % p->width] : 0;
}

/* The sum of a channel's lanes. */
static double lane_total(const fast_batch_plane *p, const lanes *l, int channel)
{
  double s = 0;
  for (int i = channel; i < TILE; i += p->width) s += (double)l->v[i];
  return s;
}

/* A chunk: tiles from..to-1 of runs first..end-1, each with its tail if the chunk has the last
   tile. `n` is how many elements of a channel it has. */
typedef struct chunk { int64_t first, end, from, to; int tail; double n; } chunk;

/* Sets c to the next chunk, the first one where c is zeroed; returns 0 after the last. */
static int next_chunk(const fast_batch_plane *p, chunk *c)
{
  const int64_t many = p->rows < CHUNK ? CHUNK / (p->rows + 1) : 1;
  if (c->end && c->to < p->rows) c->from = c->to;
  else {
    c->first = c->end;
    c->from = 0;
  }
  if (c->first >= p->runs) return 0;
  c->end = c->first + many < p->runs ? c->first + many : p->runs;
  c->to = c->from + CHUNK < p->rows ? c->from + CHUNK : p->rows;
  c->tail = c->to == p->rows ? p->tail : 0;
  c->n = (double)((c->end - c->first) * ((c->to - c->from) * TILE + c->tail)) / p->width;
  return 1;
}

/* Runs BODY for each tile of chunk c of unit u: `at` is where it begins, and n how many floats it
   has. */
#define EACH_TILE(p, u, c, FULL, PART)                                                     \
  for (int64_t run = (c).first; run < (c).end; run++) {                                    \
    int64_t at = run * (p)->apart + (u) * (p)->unit + (c).from * (p)->stride;              \
    const int64_t end = at + ((c).to - (c).from) * (p)->stride;                            \
    const int n = (p)->width == TILE && (u) == (p)->units - 1 ? (p)->last : TILE;          \
    for (; n == TILE && at < end; at += (p)->stride) FULL;                                 \
    const int part = n == TILE ? (c).tail : n;                                             \
    for (; part && at < end + (c).tail; at += (p)->stride) PART(part);                     \
  }

#define ALL_LANES(l, j) JF_LOAD((l)->v + (j) * JF_LANES)

/* ---- forward ---- */

/* sum[i] += x[i] */
JF_BODY void tile_sum(const float *x, int n, jf_vec *sum)
{
  jf_vec v;
  JF_EACH_VEC(j) {
    jf_tile_load(x, n, j, &v);
    sum[j] += v;
  }
}

/* sum[i] += (x[i] - mean[i])^2 */
JF_BODY void tile_squares(const float *x, int n, const lanes *mean, jf_vec *sum)
{
  jf_vec v, m;
  JF_EACH_VEC(j) {
    jf_tile_load(x, n, j, &v);
    jf_tile_load(mean->v, n, j, &m);
    v -= m;
    sum[j] += v * v;
  }
}

/* The mean of a channel so far and the sum of squared distances from it, and those of one more
   chunk of n elements (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for
   computing sample variances", 1979). */
typedef struct moment { double n, mean, squares; } moment;
static void moment_join(moment *m, double n, double mean, double squares)
{
  const double all = m->n + n, d = mean - m->mean;
  m->squares += squares + d * d * (m->n * n / all);
  m->mean += d * (n / all);
  m->n = all;
}

#define SUM_FULL tile_sum(p->x + at, TILE, sum)
#define SUM_PART(n) tile_sum(p->x + at, n, sum)
#define SQUARES_FULL tile_squares(p->x + at, TILE, &spread_mean, sum)
#define SQUARES_PART(n) tile_squares(p->x + at, n, &spread_mean, sum)
JF_BODY void unit_moments(const fast_batch_plane *p, int64_t u, moment *m)
{
  lanes l, spread_mean;
  float mean[TILE];
  for (chunk c = { 0 }; next_chunk(p, &c);) {
    jf_vec sum[VECS] = { { 0 } };
    EACH_TILE(p, u, c, SUM_FULL, SUM_PART)
    memcpy(&l, sum, sizeof l);
    for (int i = 0; i < p->width; i++) mean[i] = (float)(lane_total(p, &l, i) / c.n);
    spread(p, p->width, mean, &spread_mean);
    memset(sum, 0, sizeof sum);
    EACH_TILE(p, u, c, SQUARES_FULL, SQUARES_PART)
    lanes squares;
    memcpy(&squares, sum, sizeof squares);
    for (int i = 0; i < p->width; i++) {
      const double exact = lane_total(p, &l, i) / c.n, off = exact - (double)mean[i];
      moment_join(&m[i], c.n, exact, lane_total(p, &squares, i) - c.n * off * off);
    }
  }
}

typedef uint16_t bf16_vec __attribute__((vector_size(32)));

/* Stores vector j of the tile at element `at` of the first result, as bfloat16 if that is asked
   for; see jf_to_bf16. */
JF_BODY void store_result(const fast_batch_plane *p, float *to, int64_t at, int n, int j,
                          const jf_vec *v)
{
  if (!p->bf16_result) {
    jf_tile_store(to + at, n, j, v);
    return;
  }
  const jf_uvec u = (jf_uvec)*v, even = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  const jf_uvec is_nan = (jf_uvec)(*v != *v);
  const bf16_vec b = __builtin_convertvector((even & ~is_nan) | ((u >> 16 | 0x40) & is_nan),
                                             bf16_vec);
  memcpy((uint16_t *)(void *)to + at + j * JF_LANES, &b,
         (size_t)jf_tile_lanes(n, j) * sizeof(uint16_t));
}

/* y = (x - mean) scale + beta. The gradient computes it in the same way. */
JF_BODY void normalized(const jf_vec *x, const jf_vec *mean, const jf_vec *scale,
                        const jf_vec *beta, jf_vec *y)
{
  *y = (*x - *mean) * *scale + *beta;
}

/* What a tile is normalized with. */
typedef struct affine { lanes mean, scale, beta; } affine;

JF_BODY void tile_normalize(const fast_batch_plane *p, int64_t at, int n, const affine *f, int add,
                            int relu)
{
  const jf_vec zero = { 0 };
  jf_vec x, y, v;
  JF_EACH_VEC(j) {
    const jf_vec mean = ALL_LANES(&f->mean, j), scale = ALL_LANES(&f->scale, j);
    const jf_vec beta = ALL_LANES(&f->beta, j);
    jf_tile_load(p->x + at, n, j, &x);
    normalized(&x, &mean, &scale, &beta, &y);
    if (add) {
      jf_tile_load(p->extra + at, n, j, &v);
      y += v;
    }
    if (relu) y = JF_SELECT(y < zero, zero, y);
    store_result(p, p->y, at, n, j, &y);
  }
}

#define NORMALIZE_FULL tile_normalize(p, at, TILE, f, add, relu)
#define NORMALIZE_PART(n) tile_normalize(p, at, n, f, add, relu)
JF_BODY void unit_normalize(const fast_batch_plane *p, int64_t u, const affine *f, int add,
                            int relu)
{
  for (chunk c = { 0 }; next_chunk(p, &c);) EACH_TILE(p, u, c, NORMALIZE_FULL, NORMALIZE_PART)
}

/* Calls a body with `add` and `relu` as constants. */
#define FOR_EPILOGUE(p, CALL)            \
  if (!(p)->add && !(p)->relu) CALL(0, 0) \
  else if (!(p)->add) CALL(0, 1)         \
  else if (!(p)->relu) CALL(1, 0)        \
  else CALL(1, 1)

/* How many channels unit u has; the first is u * width. */
static int unit_channels(const fast_batch_plane *p, int64_t u)
{
  return u == p->units - 1 ? p->last : p->width;
}

static void set_affine(const fast_batch_plane *p, int64_t u, const float *mean,
                       const float *variance, const float *beta, affine *f)
{
  const int n = unit_channels(p, u);
  const int64_t first = u * p->width;
  float scale[TILE];
  for (int i = 0; i < n; i++)
    scale[i] =
        (float)((double)p->gamma[first + i] / sqrt((double)variance[first + i] + p->epsilon));
  spread(p, n, scale, &f->scale);
  spread(p, n, mean + first, &f->mean);
  if (beta) spread(p, n, beta + first, &f->beta);
}

JF_BODY void batch_norm_body(void *ctx, int part)
{
  const fast_batch_plane *p = ctx;
  const int64_t u = part;
  moment m[TILE] = { { 0, 0, 0 } };
  affine f;
  unit_moments(p, u, m);
  for (int i = 0; i < unit_channels(p, u); i++) {
    p->mean[u * p->width + i] = (float)m[i].mean;
    p->variance[u * p->width + i] = (float)(m[i].squares / p->count);
  }
  set_affine(p, u, p->mean, p->variance, p->beta, &f);
#define CALL(add, relu) unit_normalize(p, u, &f, add, relu);
  FOR_EPILOGUE(p, CALL)
#undef CALL
}
JF_VECTOR_VARIANTS(batch_norm)

static int fast_batch_norm_accepts(const jf_kargs *k)
{
  const jf_halves h = ((const jf_batch_norm *)k->attr)->halves;
  return jf_has_vectors() && k->in[0].dtype == JFL_F32 && jf_numel(&k->in[0].shape) > 0 &&
         !h.reads && !(h.writes & ~1);
}

static jfl_status fast_batch_norm_run(const jf_kargs *k)
{
  fast_batch_plane p = fast_batch_plane_of(k, &k->in[0].shape);
  p.x = k->in[0].data;
  p.gamma = k->in[1].data;
  p.beta = k->in[2].data;
  p.extra = p.add ? k->in[3].data : NULL;
  p.y = k->out[0].data;
  p.mean = k->out[1].data;
  p.variance = k->out[2].data;
  jf_run_parts(k, (int)p.units, batch_norm(), &p);
  return JFL_OK;
}

/* ---- backward ---- */

/* What let numbers pass: all of them, those where y computed anew is above 0, those where the given
   y is; and so, of the sum of dy and more. */
enum { ALL, BY_FORMULA, BY_RESULT, BY_RESULT_SUM };

/* d: the gradient before relu; u: x - mean. */
JF_BODY void tile_before(const fast_batch_plane *p, int64_t at, int n, int j, const affine *f,
                         int mode, jf_vec *d, jf_vec *u)
{
  const jf_vec zero = { 0 }, mean = ALL_LANES(&f->mean, j);
  jf_vec x, y;
  jf_tile_load(p->dy + at, n, j, d);
  jf_tile_load(p->x + at, n, j, &x);
  *u = x - mean;
  if (mode == ALL) return;
  if (mode == BY_RESULT_SUM) {
    jf_tile_load(p->more + at, n, j, &y);
    *d += y;
  }
  if (mode >= BY_RESULT) jf_tile_load(p->extra + at, n, j, &y);
  else {
    const jf_vec scale = ALL_LANES(&f->scale, j), beta = ALL_LANES(&f->beta, j);
    normalized(&x, &mean, &scale, &beta, &y);
  }
  *d = JF_SELECT(y > zero, *d, zero);
}

/* sum[i] += d[i], product[i] += d[i] u[i] */
JF_BODY void tile_products(const fast_batch_plane *p, int64_t at, int n, const affine *f, int mode,
                           jf_vec *sum, jf_vec *product)
{
  jf_vec d, u;
  JF_EACH_VEC(j) {
    tile_before(p, at, n, j, f, mode, &d, &u);
    if (mode >= BY_RESULT) jf_tile_store(p->daddend + at, n, j, &d);
    sum[j] += d;
    product[j] += d * u;
  }
}

#define PRODUCTS_FULL tile_products(p, at, TILE, f, mode, sum, product)
#define PRODUCTS_PART(n) tile_products(p, at, n, f, mode, sum, product)
JF_BODY void unit_products(const fast_batch_plane *p, int64_t u, const affine *f, int mode,
                           double *sums, double *products)
{
  lanes l, m;
  for (chunk c = { 0 }; next_chunk(p, &c);) {
    jf_vec sum[VECS] = { { 0 } }, product[VECS] = { { 0 } };
    EACH_TILE(p, u, c, PRODUCTS_FULL, PRODUCTS_PART)
    memcpy(&l, sum, sizeof l);
    memcpy(&m, product, sizeof m);
    for (int i = 0; i < p->width; i++) {
      sums[i] += lane_total(p, &l, i);
      products[i] += lane_total(p, &m, i);
    }
  }
}

/* dx = scale (d - a - u b) */
typedef struct slopes { lanes a, b; } slopes;
JF_BODY void tile_slopes(const fast_batch_plane *p, int64_t at, int n, const affine *f,
                         const slopes *s, int mode)
{
  jf_vec d, u;
  JF_EACH_VEC(j) {
    const jf_vec scale = ALL_LANES(&f->scale, j);
    tile_before(p, at, n, j, f, mode, &d, &u);
    d = scale * (d - ALL_LANES(&s->a, j) - u * ALL_LANES(&s->b, j));
    store_result(p, p->dx, at, n, j, &d);
  }
}

#define SLOPES_FULL tile_slopes(p, at, TILE, f, s, mode)
#define SLOPES_PART(n) tile_slopes(p, at, n, f, s, mode)
JF_BODY void unit_slopes(const fast_batch_plane *p, int64_t u, const affine *f, const slopes *s,
                         int mode)
{
  for (chunk c = { 0 }; next_chunk(p, &c);) EACH_TILE(p, u, c, SLOPES_FULL, SLOPES_PART)
}

/* Stores dgamma and dbeta of unit u and gives what its dx needs. */
static void store_sums(const fast_batch_plane *p, int64_t u, const double *sum,
                       const double *product, slopes *s)
{
  const int n = unit_channels(p, u);
  float a[TILE], b[TILE];
  for (int i = 0; i < n; i++) {
    const int64_t c = u * p->width + i;
    const double square = (double)p->variance_in[c] + p->epsilon;
    p->dgamma[c] = (float)(product[i] / sqrt(square));
    p->dbeta[c] = (float)sum[i];
    a[i] = (float)(sum[i] / p->count);
    b[i] = (float)(product[i] / (square * p->count));
  }
  spread(p, n, a, &s->a);
  spread(p, n, b, &s->b);
}

JF_BODY void fast_batch_norm_grad_body(void *ctx, int part)
{
  const fast_batch_plane *p = ctx;
  const int64_t u = part;
  double sum[TILE] = { 0 }, product[TILE] = { 0 };
  affine f = { 0 };
  slopes s;
  set_affine(p, u, p->mean_in, p->variance_in, p->relu && !p->add ? p->extra : NULL, &f);
  if (!p->relu) unit_products(p, u, &f, ALL, sum, product);
  else if (!p->add) unit_products(p, u, &f, BY_FORMULA, sum, product);
  else if (!p->more) unit_products(p, u, &f, BY_RESULT, sum, product);
  else unit_products(p, u, &f, BY_RESULT_SUM, sum, product);
  store_sums(p, u, sum, product, &s);
  if (!p->add) {
    if (p->relu) unit_slopes(p, u, &f, &s, BY_FORMULA);
    else unit_slopes(p, u, &f, &s, ALL);
    return;
  }
  fast_batch_plane q = *p;      /* the addend's gradient is d */
  q.dy = p->daddend;
  unit_slopes(&q, u, &f, &s, ALL);
}
JF_VECTOR_VARIANTS(fast_batch_norm_grad)

static jfl_status fast_batch_norm_grad_run(const jf_kargs *k)
{
  fast_batch_plane p = fast_batch_plane_of(k, &k->in[1].shape);
  p.dy = k->in[0].data;
  p.x = k->in[1].data;
  p.mean_in = k->in[2].data;
  p.variance_in = k->in[3].data;
  p.gamma = k->in[4].data;
  p.extra = p.relu ? k->in[5].data : NULL;
  p.more = ((const jf_batch_norm *)k->attr)->sum ? k->in[6].data : NULL;
  p.dx = k->out[0].data;
  p.dgamma = k->out[1].data;
  p.dbeta = k->out[2].data;
  p.daddend = p.add ? k->out[3].data : NULL;
  jf_run_parts(k, (int)p.units, fast_batch_norm_grad(), &p);
  return JFL_OK;
}

JFL_CPU(vec_batch_norm, .op = "batch_norm", .accepts = fast_batch_norm_accepts,
        .run = fast_batch_norm_run)
JFL_CPU(vec_batch_norm_grad, .op = "batch_norm_grad", .accepts = fast_batch_norm_accepts,
        .run = fast_batch_norm_grad_run)
