/* 2-D pooling and its gradients, planes in parallel. Nothing is kept from the forward pass. */
#include "op/pool2d.h"

#include "vector.h"

/* Planes of in[0] by in[1] are pooled to out[0] by out[1]. A part is a span of planes. */
typedef struct pool {
  const float *x, *dy;             /* what is pooled; the gradient of the pooled */
  float *to;                       /* y, or dx */
  int64_t planes, span, in[2], out[2], kernel[2], stride[2], before[2];
} pool;

/* Rows top..bottom-1 and columns left..right-1 of window (i, j); there is at least one cell. */
typedef struct cells { int64_t top, bottom, left, right; } cells;

JF_BODY int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
JF_BODY int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

JF_BODY cells window(const pool *p, int64_t i, int64_t j)
{
  const int64_t u = i * p->stride[0] - p->before[0], v = j * p->stride[1] - p->before[1];
  return (cells){ most(u, 0), least(u + p->kernel[0], p->in[0]),
                  most(v, 0), least(v + p->kernel[1], p->in[1]) };
}

static pool describe(const jf_kargs *k, const jfl_shape *full, const jfl_shape *pooled)
{
  const jf_pool2d *a = k->attr;
  pool p = { .to = k->out[0].data, .planes = full->d[0] * full->d[1] };
  for (int i = 0; i < 2; i++) {
    p.in[i] = full->d[2 + i];
    p.out[i] = pooled->d[2 + i];
    p.kernel[i] = a->kernel[i];
    p.stride[i] = a->stride[i];
    p.before[i] = a->pad[2 * i];
  }
  p.span = most(JF_PART / (p.in[0] * p.in[1]), 1);
  return p;
}

/* Whether windows are two by two cells of their own, all within the plane. */
static int is_2x2(const pool *p)
{
  for (int a = 0; a < 2; a++)
    if (p->kernel[a] != 2 || p->stride[a] != 2 || p->before[a] || p->in[a] != 2 * p->out[a])
      return 0;
  return 1;
}

static jfl_status run(const jf_kargs *k, pool *p, jf_part part)
{
  jf_run_parts(k, p->planes * p->in[0] * p->in[1], jf_parts(p->planes, p->span), part, p);
  return JFL_OK;
}

static int accepts(const jf_kargs *k) { return k->in[0].dtype == JFL_F32; }

/* Defines name as the parallel form of call, which handles plane r. */
#define PLANES(name, call)                                                    \
  JF_BODY void name##_body(void *ctx, int part)                               \
  {                                                                           \
    const pool *p = ctx;                                                      \
    const int64_t end = jf_to(part, p->span, p->planes);                      \
    for (int64_t r = jf_from(part, p->span); r < end; r++) call(p, r);        \
  }                                                                           \
  JF_VARIANTS(name)

JF_BODY int64_t full(const pool *p) { return p->in[0] * p->in[1]; }
JF_BODY int64_t pooled(const pool *p) { return p->out[0] * p->out[1]; }

/* ---- maximum ---- */

/* The first largest cell of x. */
JF_BODY int64_t find(const pool *p, const float *x, cells c)
{
  int64_t best = c.top * p->in[1] + c.left;
  for (int64_t u = c.top; u < c.bottom; u++)
    for (int64_t v = c.left; v < c.right; v++)
      if (x[u * p->in[1] + v] > x[best]) best = u * p->in[1] + v;
  return best;
}

JF_BODY void max_plane(const pool *p, int64_t r)
{
  const float *x = p->x + r * full(p);
  float *y = p->to + r * pooled(p);
  for (int64_t i = 0; i < p->out[0]; i++)
    for (int64_t j = 0; j < p->out[1]; j++) *y++ = x[find(p, x, window(p, i, j))];
}
PLANES(max_any, max_plane)

/* b only where it is larger, so a NaN in front stays. */
JF_BODY float larger(float a, float b) { return b > a ? b : a; }

JF_BODY void max_plane_2x2(const pool *p, int64_t r)
{
  const int64_t n = p->out[1];
  const float *x = p->x + r * full(p);
  float *y = p->to + r * pooled(p);
  for (int64_t i = 0; i < p->out[0]; i++, x += 4 * n, y += n)
    JF_ALONE for (int64_t j = 0; j < n; j++)
      y[j] = larger(larger(larger(x[2 * j], x[2 * j + 1]), x[2 * (n + j)]), x[2 * (n + j) + 1]);
}
PLANES(max_2x2, max_plane_2x2)

static jfl_status max_run(const jf_kargs *k)
{
  pool p = describe(k, &k->in[0].shape, &k->out[0].shape);
  p.x = k->in[0].data;
  return run(k, &p, is_2x2(&p) ? max_2x2() : max_any());
}

/* dx = sum of dy over the windows whose first largest cell it is. */
JF_BODY void max_grad_plane(const pool *p, int64_t r)
{
  const float *x = p->x + r * full(p), *dy = p->dy + r * pooled(p);
  float *dx = p->to + r * full(p);
  memset(dx, 0, (size_t)full(p) * sizeof *dx);
  for (int64_t i = 0; i < p->out[0]; i++)
    for (int64_t j = 0; j < p->out[1]; j++) dx[find(p, x, window(p, i, j))] += *dy++;
}
PLANES(max_grad_any, max_grad_plane)

JF_BODY void max_grad_plane_2x2(const pool *p, int64_t r)
{
  const int64_t n = p->out[1];
  const float *x = p->x + r * full(p), *dy = p->dy + r * pooled(p);
  float *dx = p->to + r * full(p);
  for (int64_t i = 0; i < p->out[0]; i++, x += 4 * n, dx += 4 * n, dy += n)
    JF_ALONE for (int64_t j = 0; j < n; j++) {
      const float a = x[2 * j], b = x[2 * j + 1], c = x[2 * (n + j)], d = x[2 * (n + j) + 1];
      const float ab = larger(a, b), abc = larger(ab, c), g = dy[j];
      const float in_abc = d > abc ? 0 : g, in_ab = c > ab ? 0 : in_abc;
      dx[2 * j] = b > a ? 0 : in_ab;
      dx[2 * j + 1] = b > a ? in_ab : 0;
      dx[2 * (n + j)] = c > ab ? in_abc : 0;
      dx[2 * (n + j) + 1] = d > abc ? g : 0;
    }
}
PLANES(max_grad_2x2, max_grad_plane_2x2)

static jfl_status max_grad_run(const jf_kargs *k)
{
  pool p = describe(k, &k->in[0].shape, &k->in[1].shape);
  p.x = k->in[0].data;
  p.dy = k->in[2].data;
  return run(k, &p, is_2x2(&p) ? max_grad_2x2() : max_grad_any());
}

JFL_CPU(vec_max_pool2d, .op = "max_pool2d", .accepts = accepts, .run = max_run, .priority = 10)
JFL_CPU(vec_max_pool2d_grad, .op = "max_pool2d_grad", .accepts = accepts, .run = max_grad_run,
  .priority = 10)

/* ---- average ---- */

JF_BODY float share(cells c) { return 1 / (float)((c.bottom - c.top) * (c.right - c.left)); }

/* y = the mean of the window's cells */
JF_BODY void avg_plane(const pool *p, int64_t r)
{
  const float *x = p->x + r * full(p);
  float *y = p->to + r * pooled(p);
  for (int64_t i = 0; i < p->out[0]; i++)
    for (int64_t j = 0; j < p->out[1]; j++) {
      const cells c = window(p, i, j);
      float sum = 0;
      for (int64_t u = c.top; u < c.bottom; u++)
        for (int64_t v = c.left; v < c.right; v++) sum += x[u * p->in[1] + v];
      *y++ = sum * share(c);
    }
}
PLANES(avg, avg_plane)

/* dx = sum over the cell's windows of dy / the window's cells */
JF_BODY void avg_grad_plane(const pool *p, int64_t r)
{
  const float *dy = p->dy + r * pooled(p);
  float *dx = p->to + r * full(p);
  memset(dx, 0, (size_t)full(p) * sizeof *dx);
  for (int64_t i = 0; i < p->out[0]; i++)
    for (int64_t j = 0; j < p->out[1]; j++) {
      const cells c = window(p, i, j);
      const float g = *dy++ * share(c);
      for (int64_t u = c.top; u < c.bottom; u++)
        for (int64_t v = c.left; v < c.right; v++) dx[u * p->in[1] + v] += g;
    }
}
PLANES(avg_grad, avg_grad_plane)

static jfl_status avg_run(const jf_kargs *k)
{
  pool p = describe(k, &k->in[0].shape, &k->out[0].shape);
  p.x = k->in[0].data;
  return run(k, &p, avg());
}

static jfl_status avg_grad_run(const jf_kargs *k)
{
  pool p = describe(k, &k->out[0].shape, &k->in[0].shape);
  p.dy = k->in[0].data;
  return run(k, &p, avg_grad());
}

JFL_CPU(vec_avg_pool2d, .op = "avg_pool2d", .accepts = accepts, .run = avg_run, .priority = 10)
JFL_CPU(vec_avg_pool2d_grad, .op = "avg_pool2d_grad", .accepts = accepts, .run = avg_grad_run,
  .priority = 10)
