/* Normalization of rows and its gradient, rows in parallel. A row is read from memory once: what
   follows the sums finds it in the cache. Few floats are added in float lanes, and their sums in
   double. */
#include "op/row_norm.h"

#include "vector.h"

#include <math.h>

/* VECS vectors are summed side by side, BLOCK floats before their sums become doubles. */
enum { VECS = 4, STEP = VECS * JF_LANES, BLOCK = 4096 };

typedef struct fast_rows {
  jf_rows s;
  jf_row_norm a;
  int64_t span;                /* rows in a part */
  int parts;
  const float *x, *gamma, *beta, *dy, *mean_in, *inverse_in;
  float *y, *mean, *inverse, *dx, *dgamma, *dbeta;
  double *sums;                /* of dgamma and dbeta: for each part 2 n_param doubles, */
  float *few;                  /* and those of its last few rows: 2 n_param floats */
} fast_rows;

/* ---- forward ---- */

/* The sum of (x - mean)^2. */
JF_BODY double row_squares(const float *x, int64_t n, float mean)
{
  double s = 0;
  for (int64_t i = 0, to; i < n; i = to) {
    jf_vec v[VECS] = { { 0 } };
    to = n - i < BLOCK ? n : i + BLOCK;
    for (; i + STEP <= to; i += STEP)
      for (int j = 0; j < VECS; j++) {
        const jf_vec d = JF_LOAD(x + i + j * JF_LANES) - mean;
        v[j] += d * d;
      }
    for (; i + JF_LANES <= to; i += JF_LANES) {
      const jf_vec d = JF_LOAD(x + i) - mean;
      v[0] += d * d;
    }
    v[0] += v[1] + (v[2] + v[3]);
    float rest = 0;
    for (; i < to; i++) rest += (x[i] - mean) * (x[i] - mean);
    s += (double)(jf_lane_sum(v) + rest);
  }
  return s;
}

/* y = (x - mean) scale + shift, where scale and shift are numbers. */
JF_BODY void piece_alone(const float *x, float *y, int64_t n, float mean, float scale, float shift)
{
  JF_EACH_ALONE for (int64_t j = 0; j < n; j++) y[j] = (x[j] - mean) * scale + shift;
}

/* y = (x - mean) inverse gamma + beta, where gamma and beta, which may be NULL, have a number for
   each element. */
JF_BODY void piece_along(const float *x, float *y, int64_t n, float mean, float inverse,
                         const float *gamma, const float *beta)
{
  if (gamma && beta)
    JF_EACH_ALONE for (int64_t j = 0; j < n; j++)
      y[j] = (x[j] - mean) * inverse * gamma[j] + beta[j];
  else if (gamma)
    JF_EACH_ALONE for (int64_t j = 0; j < n; j++) y[j] = (x[j] - mean) * inverse * gamma[j];
  else
    JF_EACH_ALONE for (int64_t j = 0; j < n; j++) y[j] = (x[j] - mean) * inverse + beta[j];
}

JF_BODY void row_apply(const fast_rows *p, int64_t r, float mean, float inverse)
{
  for (int64_t i = 0; i < p->s.pieces; i++) {
    const int64_t at = r * p->s.length + i * p->s.piece, first = jf_piece_param(&p->s, r, i);
    const float *gamma = p->gamma ? p->gamma + first : NULL;
    const float *beta = p->beta ? p->beta + first : NULL;
    if (p->s.step && (gamma || beta))
      piece_along(p->x + at, p->y + at, p->s.piece, mean, inverse, gamma, beta);
    else
      piece_alone(p->x + at, p->y + at, p->s.piece, mean, inverse * (gamma ? *gamma : 1),
                  beta ? *beta : 0);
  }
}

JF_BODY void fast_row_norm_body(void *ctx, int part)
{
  const fast_rows *p = ctx;
  const int64_t to = jf_to(part, p->span, p->s.n), n = p->s.length;
  for (int64_t r = jf_from(part, p->span); r < to; r++) {
    const float *x = p->x + r * n;
    const double exact = p->a.center ? jf_sum(x, n) / (double)n : 0;
    const float mean = (float)exact;
    const double off = exact - (double)mean;
    const double square = row_squares(x, n, mean) / (double)n - off * off;
    const float inverse = (float)(1 / sqrt((square < 0 ? 0 : square) + p->a.epsilon));
    p->mean[r] = mean;
    p->inverse[r] = inverse;
    row_apply(p, r, mean, inverse);
  }
}
JF_VECTOR_VARIANTS(fast_row_norm)

static int fast_row_norm_accepts(const jf_kargs *k)
{
  const jf_halves h = ((const jf_row_norm *)k->attr)->halves;
  return jf_has_vectors() && k->in[0].dtype == JFL_F32 && jf_numel(&k->in[0].shape) > 0 &&
         !h.reads && !h.writes;
}

static jfl_status fast_row_norm_run(const jf_kargs *k)
{
  fast_rows p = { .a = *(const jf_row_norm *)k->attr };
  p.s = jf_rows_of(&k->in[0].shape, &p.a, k->n_in > 1 ? jf_numel(&k->in[1].shape) : 0);
  p.span = p.s.length < JF_PART ? JF_PART / p.s.length : 1;
  p.x = k->in[0].data;
  p.gamma = p.a.scale ? k->in[1].data : NULL;
  p.beta = p.a.shift ? k->in[k->n_in - 1].data : NULL;
  p.y = k->out[0].data;
  p.mean = k->out[1].data;
  p.inverse = k->out[2].data;
  jf_run_parts(k, jf_parts(p.s.n, p.span), fast_row_norm(), &p);
  return JFL_OK;
}

/* ---- backward ---- */

/* Gradients of params are summed over FEW rows in floats, and over a part in doubles. */
enum { FEW = 64, MOST_PARTS = 64 };

/* The sums over a row, or a piece of one, that its gradient needs: of g = gamma dy and of g u,
   where u = x - mean. */
typedef struct row_sums { double g, gu; } row_sums;

/* Adds the sums of a piece to s, and to dgamma and dbeta, unless they are NULL, dy u inverse and
   dy. gamma, unless it is NULL, has a number for each element. */
JF_BODY void piece_sums(const float *dy, const float *x, int64_t n, float mean, float inverse,
                        const float *gamma, float *dgamma, float *dbeta, row_sums *s)
{
  for (int64_t i = 0, to; i < n; i = to) {
    jf_vec g[2] = { { 0 } }, gu[2] = { { 0 } };
    to = n - i < BLOCK ? n : i + BLOCK;
    for (int64_t left; (left = to - i) > 0; i += 2 * JF_LANES)
      for (int j = 0; j < 2 && left > j * JF_LANES; j++) {
        const int64_t at = i + j * JF_LANES;
        const int64_t m = left - j * JF_LANES < JF_LANES ? left - j * JF_LANES : JF_LANES;
        jf_vec d, u, v;
        jf_load_part(dy + at, m, 0, &d);
        jf_load_part(x + at, m, 0, &u);
        u -= mean;
        if (dgamma) {
          jf_load_part(dgamma + at, m, 0, &v);
          v += d * u * inverse;
          jf_store_part(dgamma + at, m, &v);
          jf_load_part(dbeta + at, m, 0, &v);
          v += d;
          jf_store_part(dbeta + at, m, &v);
        }
        if (gamma) {
          jf_load_part(gamma + at, m, 0, &v);
          d *= v;
        }
        g[j] += d;
        gu[j] += d * u;
      }
    i = to;
    g[0] += g[1];
    gu[0] += gu[1];
    s->g += (double)jf_lane_sum(g);
    s->gu += (double)jf_lane_sum(gu);
  }
}

/* dx = f gamma dy - a - (x - mean) b, where gamma may be NULL. */
JF_BODY void piece_slopes(const float *dy, const float *x, float *dx, int64_t n, float mean,
                          float f, const float *gamma, float a, float b)
{
  if (gamma)
    JF_EACH_ALONE for (int64_t j = 0; j < n; j++)
      dx[j] = f * gamma[j] * dy[j] - a - (x[j] - mean) * b;
  else
    JF_EACH_ALONE for (int64_t j = 0; j < n; j++) dx[j] = f * dy[j] - a - (x[j] - mean) * b;
}

/* A param that a whole piece shares multiplies the piece's sums. Where it is infinite, the row's
   gradient is a difference of infinities, which is no number. */
JF_BODY row_sums row_totals(const fast_rows *p, int64_t r, double *sums, float *few)
{
  const float mean = p->mean_in[r], inverse = p->inverse_in[r];
  row_sums all = { 0, 0 };
  for (int64_t i = 0; i < p->s.pieces; i++) {
    const int64_t at = r * p->s.length + i * p->s.piece, first = jf_piece_param(&p->s, r, i);
    const float *dy = p->dy + at, *x = p->x + at;
    const int along = p->s.step && p->s.n_param;
    row_sums s = { 0, 0 };
    piece_sums(dy, x, p->s.piece, mean, inverse, along && p->gamma ? p->gamma + first : NULL,
               along ? few + first : NULL, along ? few + p->s.n_param + first : NULL, &s);
    if (!along && p->s.n_param) {
      sums[first] += s.gu * (double)inverse;
      sums[p->s.n_param + first] += s.g;
    }
    const double shared = !along && p->gamma ? (double)p->gamma[first] : 1;
    all.g += shared * s.g;
    all.gu += shared * s.gu + (shared - shared);
  }
  return all;
}

JF_BODY void row_slopes(const fast_rows *p, int64_t r, row_sums s)
{
  const double n = (double)p->s.length, inverse = (double)p->inverse_in[r];
  const float a = p->a.center ? (float)(inverse * s.g / n) : 0;
  const float b = (float)(inverse * inverse * inverse * s.gu / n);
  for (int64_t i = 0; i < p->s.pieces; i++) {
    const int64_t at = r * p->s.length + i * p->s.piece, first = jf_piece_param(&p->s, r, i);
    const float *gamma = p->gamma ? p->gamma + first : NULL;
    const float f = p->inverse_in[r] * (gamma && !p->s.step ? *gamma : 1);
    piece_slopes(p->dy + at, p->x + at, p->dx + at, p->s.piece, p->mean_in[r], f,
                 p->s.step ? gamma : NULL, a, b);
  }
}

/* sums += few; few = 0 */
JF_BODY void few_to_sums(double *sums, float *few, int64_t n)
{
  for (int64_t i = 0; i < n; i++) sums[i] += (double)few[i];
  if (n) memset(few, 0, (size_t)n * sizeof *few);
}

JF_BODY void fast_row_norm_grad_body(void *ctx, int part)
{
  const fast_rows *p = ctx;
  const int64_t to = jf_to(part, p->span, p->s.n), n = 2 * p->s.n_param;
  double *sums = p->sums + part * n;
  float *few = p->few + part * n;
  if (n) memset(sums, 0, (size_t)n * sizeof *sums);
  if (n) memset(few, 0, (size_t)n * sizeof *few);
  for (int64_t r = jf_from(part, p->span), i = 1; r < to; r++, i++) {
    row_slopes(p, r, row_totals(p, r, sums, few));
    if (p->s.step && (i % FEW == 0 || r == to - 1)) few_to_sums(sums, few, n);
  }
}
JF_VECTOR_VARIANTS(fast_row_norm_grad)

/* Adds the parts' sums of JF_PART params. */
JF_BODY void params_body(void *ctx, int part)
{
  const fast_rows *p = ctx;
  const int64_t n = p->s.n_param, to = jf_to(part, JF_PART, n);
  for (int64_t i = jf_from(part, JF_PART); i < to; i++) {
    double gamma = 0, beta = 0;
    for (int j = 0; j < p->parts; j++) {
      gamma += p->sums[2 * j * n + i];
      beta += p->sums[(2 * j + 1) * n + i];
    }
    if (p->dgamma) p->dgamma[i] = (float)gamma;
    if (p->dbeta) p->dbeta[i] = (float)beta;
  }
}
JF_VECTOR_VARIANTS(params)

/* The rows in parts, of which there are few where there are many params. */
static fast_rows fast_row_norm_parts(const jf_kargs *k)
{
  fast_rows p = { .a = *(const jf_row_norm *)k->attr };
  p.s = jf_rows_of(&k->in[1].shape, &p.a, k->n_in > 4 ? jf_numel(&k->in[4].shape) : 0);
  int64_t most = p.s.n_param ? (int64_t)MOST_PARTS * JF_PART / p.s.n_param : INT32_MAX;
  if (p.s.n_param && most > MOST_PARTS) most = MOST_PARTS;
  p.span = p.s.length < JF_PART ? JF_PART / p.s.length : 1;
  if (most < 1) most = 1;
  if (p.s.n > p.span * most) p.span = (p.s.n + most - 1) / most;
  p.parts = jf_parts(p.s.n, p.span);
  return p;
}

static jfl_status fast_row_norm_grad_prepare(jf_kargs *k)
{
  const fast_rows p = fast_row_norm_parts(k);
  k->scratch_size = 2 * (size_t)p.parts * (size_t)p.s.n_param * (sizeof *p.sums + sizeof *p.few);
  return JFL_OK;
}

static jfl_status fast_row_norm_grad_run(const jf_kargs *k)
{
  fast_rows p = fast_row_norm_parts(k);
  p.dy = k->in[0].data;
  p.x = k->in[1].data;
  p.mean_in = k->in[2].data;
  p.inverse_in = k->in[3].data;
  p.gamma = p.a.scale ? k->in[4].data : NULL;
  p.dx = k->out[0].data;
  p.dgamma = p.a.scale ? k->out[1].data : NULL;
  p.dbeta = p.a.shift ? k->out[k->n_out - 1].data : NULL;
  p.sums = k->scratch;
  p.few = (float *)(p.sums + 2 * p.parts * p.s.n_param);
  jf_run_parts(k, p.parts, fast_row_norm_grad(), &p);
  jf_parallel(p.s.n_param * p.parts < JF_PART ? 1 : k->threads, jf_parts(p.s.n_param, JF_PART),
              params(), &p);
  return JFL_OK;
}

JFL_CPU(vec_row_norm, .op = "row_norm", .accepts = fast_row_norm_accepts, .run = fast_row_norm_run)
JFL_CPU(vec_row_norm_grad, .op = "row_norm_grad", .accepts = fast_row_norm_accepts,
        .prepare = fast_row_norm_grad_prepare, .run = fast_row_norm_grad_run)
