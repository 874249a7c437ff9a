/* Reorders axes near the speed of memory: runs that stay together are copied, everything else goes
   through tiles that are read along one axis and written along another. */
#include "base/walk.h"
#include "op/transpose.h"

#include "square.h"
#include "vector.h"

enum { TILE = JF_SQUARE, STRIP = 64 };

/* An axis: its extent, and how far apart neighbouring elements are in x and in y. */
typedef struct fast_transpose_axis { int64_t n, from, to; } fast_transpose_axis;

/* `read` is the axis along which elements of x lie side by side, `write` the one along which
   elements of y do; loops over the outer axes enclose both. If they are the same axis, it is
   `write` and read.n is 1. A unit is a strip of `read` at one index of the outer axes. */
typedef struct fast_transpose_job {
  const char *x;
  char *y;
  fast_transpose_axis outer[JFL_MAXDIM], read, write;
  int n_outer;
  int64_t size, strips, units, span;      /* size: bytes of an element; span: units in a part */
} fast_transpose_job;

/* The axes of y without those of extent 1; axes that are neighbours in x too are joined. */
static int fast_transpose_join(const jf_kargs *k, fast_transpose_axis *out)
{
  const jfl_shape *x = &k->in[0].shape, *y = &k->out[0].shape;
  const jf_ints *perm = &((const jf_transpose *)k->attr)->perm;
  int64_t of_x[JFL_MAXDIM], step[1][JFL_MAXDIM], to = 1;
  jf_nest w = { .n = y->n, .n_op = 1, .step = step };
  jf_dense_steps(x->n, x->d, 1, of_x);
  for (int i = 0; i < y->n; i++) {
    w.d[i] = y->d[i];
    step[0][i] = of_x[perm->v[i]];
  }
  jf_nest_join(&w, 0);
  if (w.d[0] == 1) return 0;
  for (int i = w.n - 1; i >= 0; to *= w.d[i--])
    out[i] = (fast_transpose_axis){ w.d[i], step[0][i], to };
  return w.n;
}

static fast_transpose_job job_of(const jf_kargs *k)
{
  fast_transpose_axis a[JFL_MAXDIM] = { { 0 } };
  int n = fast_transpose_join(k, a), r = n - 1;
  fast_transpose_job j = {
    .x = k->in[0].data, .y = k->out[0].data, .read = { 1, 1, 1 }, .write = { 1, 1, 1 }
  };
  j.size = (int64_t)jfl_dtype_size(k->in[0].dtype);
  while (r >= 0 && a[r].from != 1) r--;
  if (n) j.write = a[n - 1];
  if (n && r < n - 1) j.read = a[r];
  j.units = j.strips = (j.read.n + STRIP - 1) / STRIP;
  for (int i = 0; i < n - 1; i++) {
    if (i == r) continue;
    j.outer[j.n_outer++] = a[i];
    j.units *= a[i].n;
  }
  int64_t unit = (j.read.n < STRIP ? j.read.n : STRIP) * j.write.n;
  j.span = unit < JF_PART ? JF_PART / unit : 1;
  return j;
}

/* y[q to + p] = x[p from + q] for p < n and q < m. */
#define LOOP(T)                                                                              \
  JF_BODY void loop_##T(const fast_transpose_job *j, const T *x, T *y, int64_t m, int64_t n) \
  {                                                                                          \
    for (int64_t p0 = 0; p0 < n; p0 += TILE)                                                 \
      for (int64_t q = 0; q < m; q++)                                                        \
        for (int64_t p = p0; p < n && p < p0 + TILE; p++)                                    \
          y[q * j->read.to + p] = x[p * j->write.from + q];                                  \
  }

/* The same by squares; squares at an edge are moved back and repeat some elements. */
#define SQUARES(T)                                                                           \
  JF_BODY void squares_##T(const fast_transpose_job *j, const char *from, char *to, int64_t m, \
                           int64_t n)                                                        \
  {                                                                                          \
    const T *x = (const T *)from;                                                            \
    T *y = (T *)to;                                                                          \
    if (m < TILE || n < TILE) {                                                              \
      loop_##T(j, x, y, m, n);                                                               \
      return;                                                                                \
    }                                                                                        \
    for (int64_t p0 = 0; p0 < n; p0 += TILE)                                                 \
      for (int64_t q0 = 0; q0 < m; q0 += TILE) {                                             \
        const int64_t p = p0 + TILE > n ? n - TILE : p0, q = q0 + TILE > m ? m - TILE : q0;  \
        square_##T(x + p * j->write.from + q, j->write.from, y + q * j->read.to + p, j->read.to); \
      }                                                                                      \
  }
#define EACH(T) LOOP(T) JF_SQUARE_OF(T) SQUARES(T)
EACH(uint8_t)
EACH(uint16_t)
EACH(uint32_t)
EACH(uint64_t)

JF_BODY void strip(const fast_transpose_job *j, const char *x, char *y, int64_t m)
{
  const int64_t n = j->write.n;
  if (j->write.from == 1) memcpy(y, x, (size_t)(n * j->size));
  else if (j->size == 4) squares_uint32_t(j, x, y, m, n);
  else if (j->size == 8) squares_uint64_t(j, x, y, m, n);
  else if (j->size == 2) squares_uint16_t(j, x, y, m, n);
  else squares_uint8_t(j, x, y, m, n);
}

JF_BODY void fast_transpose_units_body(void *ctx, int i)
{
  const fast_transpose_job *j = ctx;
  const int64_t to = jf_to(i, j->span, j->units);
  for (int64_t u = jf_from(i, j->span); u < to; u++) {
    int64_t q = u % j->strips * STRIP, x = q, y = q * j->read.to, rest = u / j->strips;
    for (int a = j->n_outer - 1; a >= 0; rest /= j->outer[a--].n) {
      x += rest % j->outer[a].n * j->outer[a].from;
      y += rest % j->outer[a].n * j->outer[a].to;
    }
    const int64_t m = j->read.n - q < STRIP ? j->read.n - q : STRIP;
    strip(j, j->x + x * j->size, j->y + y * j->size, m);
  }
}
JF_WIDE_VARIANTS(fast_transpose_units)

static jfl_status fast_transpose_run(const jf_kargs *k)
{
  fast_transpose_job j = job_of(k);
  jf_run_parts(k, jf_parts(j.units, j.span), fast_transpose_units(), &j);
  return JFL_OK;
}

static int fast_transpose_accepts(const jf_kargs *k)
{
  (void)k;
  return jf_has_wide();
}

JFL_CPU(vec_transpose, .op = "transpose", .accepts = fast_transpose_accepts,
        .run = fast_transpose_run, .priority = 10)
