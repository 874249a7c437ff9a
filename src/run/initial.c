/* What variables hold before anything trains them. */
#include "dev/number.h"
#include "dev/variants.h"
#include "run/run.h"

#include <math.h>

/* Random numbers for one element: words of Philox blocks counted by `low`, element by `high`. */
typedef struct draws { uint64_t key, element, block; jf_philox bits; int left; } draws;

static double initial_unit(draws *d)
{
  if (!d->left) {
    d->bits = jf_philox_at(d->key, d->element, d->block++);
    d->left = 2;
  }
  d->left--;
  uint64_t w = (uint64_t)d->bits.w[2 * d->left] << 32 | d->bits.w[2 * d->left + 1];
  return (double)(w >> 11) * 0x1p-53;
}

/* Box and Muller's transform; 1 - u keeps the logarithm finite. */
static double initial_normal(draws *d)
{
  double radius = sqrt(-2 * log(1 - initial_unit(d)));
  return radius * cos(6.283185307179586 * initial_unit(d));
}

static double initial_draw(const jfl_variable_spec *v, uint64_t key, int64_t i)
{
  draws d = { .key = key, .element = (uint64_t)i };
  double z;
  switch (v->init) {
  case JFL_INIT_CONSTANT: return v->a;
  case JFL_INIT_UNIFORM: return v->a + (v->b - v->a) * initial_unit(&d);
  case JFL_INIT_NORMAL: return v->a + v->b * initial_normal(&d);
  case JFL_INIT_ORTHOGONAL: return initial_normal(&d);
  case JFL_INIT_TRUNCATED_NORMAL:
    do z = initial_normal(&d);
    while (fabs(z) >= 2);
    return v->a + v->b * z;
  }
  return 0;
}

/* Elements depend on seed, name and position alone: not on threads, nor on what was made before.
   bound: what uniform elements stay below; not-a-number where there is no such bound. */
typedef struct initial_fill {
  const jfl_variable_spec *spec;
  void *data;
  int64_t n;
  uint64_t key;
  double bound;
} initial_fill;
enum { CHUNK = 4096, FEW = 64 };

/* v as an element of that dtype has it. */
static double initial_rounded(jfl_dtype t, double v)
{
  double room;
  jf_numbers_put(t, &room, 0, 1, &v);
  jf_numbers_get(t, &room, 0, 1, &v);
  return v;
}

/* A range whose ends round to one number has no element below its upper end. */
static double initial_bound(const jfl_variable_spec *v)
{
  if (v->init != JFL_INIT_UNIFORM || !jf_is_float(v->dtype)) return NAN;
  const double top = initial_rounded(v->dtype, v->b);
  return initial_rounded(v->dtype, v->a) < top ? top : NAN;
}

/* Draws again for those of n elements from i on that were rounded up to the bound. */
static void initial_redraw(const initial_fill *f, int64_t i, int n)
{
  const jfl_variable_spec *spec = f->spec;
  double v[FEW];
  jf_numbers_get(spec->dtype, f->data, i, n, v);
  for (int j = 0; j < n; j++) {
    draws d = { .key = f->key, .element = (uint64_t)(i + j), .block = 1 };
    if (!(v[j] >= f->bound)) continue;
    do v[j] = initial_rounded(spec->dtype, spec->a + (spec->b - spec->a) * initial_unit(&d));
    while (v[j] >= f->bound);
    jf_numbers_put(spec->dtype, f->data, i + j, 1, &v[j]);
  }
}

static void initial_chunk(void *ctx, int chunk)
{
  const initial_fill *f = ctx;
  int64_t i = (int64_t)chunk * CHUNK, end = i + CHUNK;
  if (end > f->n) end = f->n;
  for (int n = 0; i < end; i += n) {
    double v[FEW];
    for (n = 0; n < FEW && i + n < end; n++) {
      v[n] = initial_draw(f->spec, f->key, i + n);
      if (!jf_is_float(f->spec->dtype)) v[n] = floor(v[n]);
    }
    jf_numbers_put(f->spec->dtype, f->data, i, n, v);
    if (!isnan(f->bound)) initial_redraw(f, i, n);
  }
}

/* Draws for an integer variable are rounded down, so their range must be one of integers. */
static jfl_status initial_check_whole(const jfl_variable_spec *v)
{
  int range = v->init == JFL_INIT_UNIFORM;
  if (jf_is_float(v->dtype)) return JFL_OK;
  if (!range && v->init != JFL_INIT_CONSTANT)
    return jf_fail(JFL_EDTYPE, "variable '%s': the initializer must be constant or uniform for %s",
                   v->name, jfl_dtype_name(v->dtype));
  if (jf_holds(v->dtype, v->a) && (!range || jf_holds(v->dtype, v->b))) return JFL_OK;
  return jf_fail(JFL_EDTYPE, "variable '%s': the initializer's value must fit %s, got %.14g",
                 v->name, jfl_dtype_name(v->dtype), jf_holds(v->dtype, v->a) ? v->b : v->a);
}

jfl_status jf_initial_check(const jfl_variable_spec *v)
{
  char s[JF_SHAPE_STR];
  JF_TRY(initial_check_whole(v));
  if (v->init == JFL_INIT_ORTHOGONAL && v->shape.n < 2)
    return jf_fail(JFL_ESHAPE, "variable '%s': the orthogonal initializer takes shapes of two or "
                   "more axes, got %s", v->name, jf_shape_str(&v->shape, s));
  if (v->init == JFL_INIT_CONSTANT || (isfinite(v->a) && isfinite(v->b))) return JFL_OK;
  return jf_fail(JFL_EINVAL, "variable '%s': the initializer's parameters must be finite", v->name);
}

/* By how many threads, and after which seed. */
typedef struct initial_draws { int threads; uint64_t seed; } initial_draws;

/* Fills data with draws of its own; fails where the time of a script is over. */
static jfl_status initial_fill_all(const initial_draws *d, const jfl_variable_spec *spec,
                                   void *data)
{
  initial_fill f = { spec, data, jf_numel(&spec->shape), jf_hash_str(d->seed, spec->name),
                     initial_bound(spec) };
  jf_parallel(f.n < 16 * CHUNK ? 1 : d->threads, (int)((f.n + CHUNK - 1) / CHUNK),
                    initial_chunk, &f);
  return jf_loops_whole(JFL_OK);
}

/* ---- orthogonal matrices ----

   They are what Saxe, McClelland and Ganguli begin training with: "Exact solutions to the nonlinear
   dynamics of learning in deep linear neural networks" (2014). */

enum { SUMS = 16, PANEL = 16 };

/* n vectors of `extent` numbers each; those from `first` up to `last` are orthonormal. */
typedef struct initial_vectors { double *v; int64_t n, extent, first, last; } initial_vectors;

JF_BODY double initial_dot(const double *a, const double *b, int64_t n)
{
  double sum[SUMS] = { 0 }, all = 0;
  int64_t i = 0;
  for (; i + SUMS <= n; i += SUMS)
    for (int j = 0; j < SUMS; j++) sum[j] += a[i + j] * b[i + j];
  for (; i < n; i++) all += a[i] * b[i];
  for (int j = 0; j < SUMS; j++) all += sum[j];
  return all;
}

/* Subtracts from vector number `at` its parts along the vectors from first up to last. */
JF_BODY void initial_reduce_body(const initial_vectors *o, int64_t at)
{
  double *v = o->v + at * o->extent;
  for (int64_t k = o->first; k < o->last; k++) {
    const double *q = o->v + k * o->extent, part = initial_dot(q, v, o->extent);
    JF_EACH_ALONE for (int64_t i = 0; i < o->extent; i++) v[i] -= part * q[i];
  }
}
JF_DISPATCH_FEW(initial_reduce, (const initial_vectors *o, int64_t at), (o, at))

static void initial_later(void *ctx, int i)
{
  const initial_vectors *o = ctx;
  initial_reduce(o, o->last + i);
}

/* Gram and Schmidt's method, modified, some vectors at a time: these alone first, then their parts
   are taken from all later ones. */
static jfl_status initial_sweep(initial_vectors o, int threads)
{
  for (int64_t panel = 0; panel < o.n; panel += PANEL) {
    o.first = panel;
    for (o.last = panel; o.last < o.n && o.last < panel + PANEL; o.last++) {
      double *v = o.v + o.last * o.extent;
      initial_reduce(&o, o.last);
      const double norm = sqrt(initial_dot(v, v, o.extent));
      for (int64_t i = 0; i < o.extent; i++) v[i] /= norm;
    }
    jf_parallel(threads, (int)(o.n - o.last), initial_later, &o);
    JF_TRY(jf_loops_whole(JFL_OK));
  }
  return JFL_OK;
}

/* Normal numbers, made orthonormal twice: what rounding leaves of a first sweep is small enough for
   a second one (Giraud, Langou and Rozloznik, "The loss of orthogonality in the Gram-Schmidt
   orthogonalization process", 2005). The directions are those of a QR decomposition whose R has a
   positive diagonal. */
static jfl_status initial_orthogonal(const initial_draws *d, const jfl_variable_spec *spec,
                                     void *data)
{
  const int64_t all = jf_numel(&spec->shape), rows = spec->shape.d[0], columns = all / rows;
  const int64_t extent = rows > columns ? rows : columns;
  initial_vectors o = { .v = jf_new_raw((size_t)all * sizeof *o.v), all / extent, extent, 0, 0 };
  jfl_variable_spec numbers = *spec;
  if (!o.v) return jf_fail(JFL_ENOMEM, "out of memory: orthogonal numbers take %zu bytes",
                           (size_t)all * sizeof *o.v);
  numbers.dtype = JFL_F64;
  jfl_status st = initial_fill_all(d, &numbers, o.v);
  for (int sweep = 0; sweep < 2 && !st; sweep++) st = initial_sweep(o, d->threads);
  for (int64_t i = 0; i < all && !st; i++) {
    const double v = spec->a * o.v[rows > columns ? i % columns * rows + i / columns : i];
    jf_numbers_put(spec->dtype, data, i, 1, &v);
  }
  jf_free(o.v);
  return st;
}

jfl_status jf_initial_fill(const jfl_session *s, uint64_t seed, const jfl_variable_spec *spec,
                           void *data)
{
  const initial_draws d = { s->settings.threads, seed };
  if (spec->init == JFL_INIT_ORTHOGONAL && jf_numel(&spec->shape) > 0)
    return initial_orthogonal(&d, spec, data);
  return initial_fill_all(&d, spec, data);
}
