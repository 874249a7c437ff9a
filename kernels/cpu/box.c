/* Slices and their gradients in parallel: boxes of elements that lie in a tensor at equal distances
   along each axis. */
#include "base/walk.h"
#include "op/slice.h"
#include "op/strided.h"

#include "vector.h"

/* Copies between a tensor and a box; `takes`: from the tensor. A unit is up to BOX_LINE elements of
   the innermost axis at one index of the others; the loop's parts are `span` units. */
typedef struct box_job {
  jf_strided_box box;
  char *whole, *part;
  size_t size;
  int takes;
  int64_t blocks, units, span;
} box_job;

enum { BOX_LINE = 1 << 14 };

#define BOX_STEPS(T)                                                                       \
  JF_BODY void box_##T(char *whole, int64_t step, char *part, int64_t n, int takes)        \
  {                                                                                        \
    T *x = (T *)whole, *y = (T *)part;                                                     \
    if (!takes) for (int64_t i = 0; i < n; i++) x[i * step] = y[i];                        \
    else if (step == -1) JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[i] = x[-i];       \
    else if (step == 2) JF_EACH_ALONE for (int64_t i = 0; i < n; i++) y[i] = x[2 * i];     \
    else for (int64_t i = 0; i < n; i++) y[i] = x[i * step];                               \
  }
BOX_STEPS(uint8_t)
BOX_STEPS(uint16_t)
BOX_STEPS(uint32_t)
BOX_STEPS(uint64_t)

JF_BODY void box_line(const box_job *j, char *whole, int64_t step, char *part, int64_t n)
{
  if (step == 1)
    memcpy(j->takes ? part : whole, j->takes ? whole : part, (size_t)n * j->size);
  else if (j->size == 4) box_uint32_t(whole, step, part, n, j->takes);
  else if (j->size == 8) box_uint64_t(whole, step, part, n, j->takes);
  else if (j->size == 2) box_uint16_t(whole, step, part, n, j->takes);
  else box_uint8_t(whole, step, part, n, j->takes);
}

JF_BODY void box_units_body(void *ctx, int i)
{
  const box_job *j = ctx;
  const jf_nest *nest = &j->box.nest;
  const int inner = nest->n - 1;
  const int64_t n = nest->d[inner], size = (int64_t)j->size;
  int64_t u = jf_from(i, j->span);
  const int64_t to = jf_to(i, j->span, j->units);
  jf_walk w = jf_walk_at(nest, inner, u / j->blocks);
  for (int64_t block = u % j->blocks; u < to; u++) {
    const int64_t first = block * BOX_LINE, left = n - first;
    box_line(j, j->whole + (w.off[0] + first * nest->step[0][inner]) * size,
             nest->step[0][inner], j->part + (w.off[1] + first) * size,
             left < BOX_LINE ? left : BOX_LINE);
    if (++block < j->blocks) continue;
    block = 0;
    jf_walk_next(&w);
  }
}
JF_VARIANTS(box_units)

static void box_copy(const jf_kargs *k, const jf_tensor *whole, const jf_tensor *part,
                     const jf_ints *begin, const jf_ints *step, int takes)
{
  const int64_t all = jf_numel(&part->shape);
  box_job j = { .part = part->data, .size = jfl_dtype_size(whole->dtype), .takes = takes };
  if (!all) return;
  jf_strided_find(&whole->shape, &part->shape, begin, step, &j.box);
  j.whole = (char *)whole->data + j.box.begin * (int64_t)j.size;
  const int64_t n = j.box.nest.d[j.box.nest.n - 1];
  j.blocks = (n + BOX_LINE - 1) / BOX_LINE;
  j.units = all / n * j.blocks;
  j.span = n < BOX_LINE ? BOX_LINE / n : 1;
  jf_run_parts(k, jf_parts(j.units, j.span), box_units(), &j);
}

/* Fills a tensor with zeros, or with the elements of another. */
typedef struct box_base { const char *from; char *to; int64_t n; } box_base;
enum { BOX_BYTES = 1 << 17 };

static void box_fill(void *ctx, int i)
{
  const box_base *b = ctx;
  const int64_t at = jf_from(i, BOX_BYTES), n = jf_to(i, BOX_BYTES, b->n) - at;
  if (b->from) memcpy(b->to + at, b->from + at, (size_t)n);
  else memset(b->to + at, 0, (size_t)n);
}

static void box_begin(const jf_kargs *k, const jf_tensor *y, const void *from)
{
  box_base b = { from, y->data, jf_numel(&y->shape) * (int64_t)jfl_dtype_size(y->dtype) };
  if (from != y->data) jf_run_parts(k, jf_parts(b.n, BOX_BYTES), box_fill, &b);
}

/* Steps of 1 along all axes. */
static const jf_ints box_ones = { JFL_MAXDIM, (int64_t[JFL_MAXDIM]){ 1, 1, 1, 1, 1, 1, 1, 1 } };

static jfl_status box_slice(const jf_kargs *k)
{
  box_copy(k, k->in, k->out, &((const jf_slice *)k->attr)->begin, &box_ones, 1);
  return JFL_OK;
}

static jfl_status box_slice_grad(const jf_kargs *k)
{
  box_begin(k, k->out, NULL);
  box_copy(k, k->out, k->in, &((const jf_slice_grad *)k->attr)->begin, &box_ones, 0);
  return JFL_OK;
}

static jfl_status box_strided(const jf_kargs *k)
{
  const jf_strided *a = k->attr;
  box_copy(k, k->in, k->out, &a->begin, &a->step, 1);
  return JFL_OK;
}

static jfl_status box_strided_grad(const jf_kargs *k)
{
  const jf_strided_grad *a = k->attr;
  box_begin(k, k->out, NULL);
  box_copy(k, k->out, k->in, &a->begin, &a->step, 0);
  return JFL_OK;
}

static jfl_status box_update(const jf_kargs *k)
{
  const jf_strided_update *a = k->attr;
  box_begin(k, k->out, k->in[0].data);
  box_copy(k, k->out, &k->in[1], &a->begin, &a->step, 0);
  return JFL_OK;
}

JFL_CPU(fast_slice, .op = "slice", .run = box_slice, .priority = 10)
JFL_CPU(fast_slice_grad, .op = "slice_grad", .run = box_slice_grad, .priority = 10)
JFL_CPU(fast_strided_slice, .op = "strided_slice", .run = box_strided, .priority = 10)
JFL_CPU(fast_strided_grad, .op = "strided_slice_grad", .run = box_strided_grad, .priority = 10)
JFL_CPU(fast_strided_update, .op = "strided_slice_update", .run = box_update, .priority = 10)
