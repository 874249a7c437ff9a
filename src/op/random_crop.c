/* random_crop takes a part of each picture, at a place of its own. */
#include "op/constant.h"
#include "op/image.h"
#include "op/move.h"
#include "op/window.h"

#include <string.h>

enum { MOST_SIDE = 1 << 24 };

JF_ATTRS(attrs,
  JF_FIELD(jf_random_crop, size, INTS, NULL, "rows and columns of the part"),
  JF_FIELD(jf_random_crop, padding, INTS, "0", "zeros around each picture: rows and columns"),
  JF_RANGE(jf_random_crop, flip, NUM, "0", "from 0 to 1",
           "the probability of being mirrored, left to right"),
  JF_WORD(jf_random_crop, data_format, "NCHW", "NCHW NHWC", "the order of axes"))

static int64_t padding_of(const jf_random_crop *a, int i)
{
  return a->padding.v[a->padding.n == 2 ? i : 0];
}

/* Whether `part` fits into the padded extents of `whole`. */
static jfl_status random_crop_fits(const jf_random_crop *a, const int64_t *whole,
                                   const int64_t *part)
{
  for (int i = 0; i < 2; i++)
    if (part[i] > whole[i] + 2 * padding_of(a, i))
      return jf_fail_argument(JFL_ESHAPE, "size", "must be at most %lld for the %s of a padded "
                              "picture, got %lld", (long long)(whole[i] + 2 * padding_of(a, i)),
                              i ? "columns" : "rows", (long long)part[i]);
  return JFL_OK;
}

/* Infers result 0: the parts of the pictures that are input 0, or with back the pictures of which
   that has the parts. */
static jfl_status random_crop_part(jf_infer *c, int back)
{
  jf_random_crop *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  int64_t v[2];
  a->axis = strcmp(a->data_format, "NHWC") ? 2 : 1;
  JF_TRY(jf_check_rank4(c, a->axis == 1 ? "(N, H, W, C)" : "(N, C, H, W)"));
  JF_TRY(jf_extents("size", &a->size, 2, v));
  if (a->size.n != 2 || v[0] > MOST_SIDE || v[1] > MOST_SIDE)
    return jf_fail_argument(JFL_ESHAPE, "size", "must be two numbers of at most %d, got %d",
                            MOST_SIDE, a->size.n);
  if (a->padding.n < 1 || a->padding.n > 2)
    return jf_fail_argument(JFL_ESHAPE, "padding", "must be one number or two, got %d",
                            a->padding.n);
  for (int i = 0; i < a->padding.n; i++)
    if (a->padding.v[i] < 0 || a->padding.v[i] > MOST_SIDE)
      return jf_fail_argument(JFL_EINVAL, "padding", "must be from 0 to %d, got %lld", MOST_SIDE,
                              (long long)a->padding.v[i]);
  c->dtype[0] = c->in[0]->dtype;
  c->shape[0] = *s;
  memcpy(c->shape[0].d + a->axis, v, sizeof v);
  return back ? random_crop_fits(a, v, s->d + a->axis) : random_crop_fits(a, s->d + a->axis, v);
}

static jfl_status random_crop_infer(jf_infer *c)
{
  JF_TRY(random_crop_part(c, 0));
  c->shape[1] = (jfl_shape){ 2, { c->in[0]->shape.d[0], 3 } };
  c->dtype[1] = JFL_I32;
  return JFL_OK;
}

static jfl_status random_crop_back_infer(jf_infer *c)
{
  const int64_t n = c->in[0]->shape.d[0];
  const jfl_shape *place = &c->in[1]->shape;
  JF_TRY(random_crop_part(c, 1));
  if (c->in[1]->dtype != JFL_I32 || place->n != 2 || place->d[0] != n || place->d[1] != 3)
    return jf_fail_argument(JFL_ESHAPE, "place", "must be int32 (%lld, 3)", (long long)n);
  return JFL_OK;
}

static void random_crop_to_grad(jf_gradctx *c)
{
  jf_random_crop a = *(const jf_random_crop *)c->node->attr;
  const jfl_value *x = c->in[0];
  if (!jf_numel(&x->shape)) {
    c->dx[0] = jf_emit_number(c->g, x->dtype, &x->shape, 0);
    return;
  }
  a.size = (jf_ints){ 2, c->in[0]->shape.d + a.axis };
  c->dx[0] = JF_EMIT(c->g, random_crop_grad, &a, c->dy[0], c->out[1]);
}

/* ---- moving ---- */

/* Puts n cells of `size` bytes at x to y, or with back those at y to x; step: 1, or -1 if the cells
   of y go from the right to the left. */
static void random_crop_cells(char *x, char *y, int64_t n, int64_t size, int step, int back)
{
  if (step == 1) {
    memcpy(back ? x : y, back ? y : x, (size_t)(n * size));
    return;
  }
  for (int64_t j = 0; j < n; j++)
    if (back) memcpy(x + j * size, y - j * size, (size_t)size);
    else memcpy(y - j * size, x + j * size, (size_t)size);
}

/* Columns of y, in the order of x's, that lie within x: from lo up to hi; wherever they begin, as a
   host may give any place. */
typedef struct crop_span { int64_t lo, hi; } crop_span;

static crop_span random_crop_span(int64_t from, int64_t n, int64_t extent)
{
  const int64_t before = from < 0 ? -from : 0, lo = before < n ? before : n;
  const int64_t hi = extent - from < n ? extent - from : n;
  return (crop_span){ lo, hi > lo ? hi : lo };
}

void jf_random_crop_move(const jf_kargs *k, int64_t i, int back)
{
  const jf_random_crop *a = k->attr;
  const jf_tensor *whole = back ? &k->out[0] : &k->in[0], *part = back ? &k->in[0] : &k->out[0];
  const int32_t *place = (const int32_t *)(back ? k->in[1].data : k->out[1].data) + 3 * i;
  const jfl_shape *s = &whole->shape, *t = &part->shape;
  const int64_t planes = a->axis == 2 ? s->d[1] : 1, inner = a->axis == 2 ? 1 : s->d[3];
  const int64_t h = s->d[a->axis], w = s->d[a->axis + 1];
  const int64_t n = t->d[a->axis], m = t->d[a->axis + 1];
  const int64_t size = inner * (int64_t)jfl_dtype_size(part->dtype);
  const int64_t top = place[0] - padding_of(a, 0), left = place[1] - padding_of(a, 1);
  const crop_span rows = random_crop_span(top, n, h), columns = random_crop_span(left, m, w);
  if (columns.hi == columns.lo) return;
  for (int64_t p = 0; p < planes; p++)
    for (int64_t r = rows.lo; r < rows.hi; r++) {
      char *x = (char *)whole->data
                + (((i * planes + p) * h + top + r) * w + left + columns.lo) * size;
      char *y = (char *)part->data + ((i * planes + p) * n + r) * m * size;
      y += (place[2] ? m - 1 - columns.lo : columns.lo) * size;
      random_crop_cells(x, y, columns.hi - columns.lo, size, place[2] ? -1 : 1, back);
    }
}

/* A place from 0 to room. */
static int32_t random_crop_at(uint32_t word, int64_t room)
{
  return (int32_t)(jf_unit(word) * (float)(room + 1) < (float)room
                   ? jf_unit(word) * (float)(room + 1) : (float)room);
}

void jf_random_crop_draw(const jf_kargs *k, int64_t i)
{
  const jf_random_crop *a = k->attr;
  const jfl_shape *s = &k->in[0].shape, *t = &k->out[0].shape;
  const int64_t each = t->d[1] * t->d[2] * t->d[3], first = each ? k->random.first / each : 0;
  const jf_philox r = jf_philox_at(k->random.key, k->random.run, (uint64_t)(first + i));
  int32_t *place = (int32_t *)k->out[1].data + 3 * i;
  for (int axis = 0; axis < 2; axis++)
    place[axis] = random_crop_at(r.w[axis], s->d[a->axis + axis] + 2 * padding_of(a, axis)
                                            - t->d[a->axis + axis]);
  place[2] = jf_unit(r.w[2]) < (float)a->flip;
}

static jfl_status random_crop_any(const jf_kargs *k)
{
  const jf_random_crop *a = k->attr;
  if (padding_of(a, 0) || padding_of(a, 1))
    memset(k->out[0].data, 0, JF_BYTES_OF(&k->out[0]));
  for (int64_t i = 0; i < k->in[0].shape.d[0]; i++) {
    jf_random_crop_draw(k, i);
    jf_random_crop_move(k, i, 0);
  }
  return JFL_OK;
}

static jfl_status random_crop_back(const jf_kargs *k)
{
  memset(k->out[0].data, 0, JF_BYTES_OF(&k->out[0]));
  for (int64_t i = 0; i < k->in[0].shape.d[0]; i++) jf_random_crop_move(k, i, 1);
  return JFL_OK;
}

static void random_crop_signatures(jf_signatures *c) { jf_signature_say(c, "0->0,0"); }

/* Pictures, or their channels. */
static void random_crop_grad_signatures(jf_signatures *c)
{
  const int channels = ((const jf_random_crop *)c->node->attr)->axis == 1 ? 3 : 1;
  jf_signature_say(c, "0,0->0");
  jf_signature_say(c, "%d,B->%d", channels, channels);
}

JFL_OP(random_crop, .doc = "A part of each picture, chosen anew on every run, maybe mirrored.",
       .in = { "x" }, .out = { "y", "place" }, .n_public = 1, JF_WITH(attrs, jf_random_crop),
       .flags = JF_RANDOM, .infer = random_crop_infer, .grad = random_crop_to_grad,
       .cpu = JF_KERNELS(JF_EVERY_DTYPE(random_crop_any)), .signatures = random_crop_signatures)

JFL_OP(random_crop_grad, .doc = "Gradient of random_crop that took the parts at place.",
       .in = { "dy", "place" }, .out = { "dx" }, JF_WITH(attrs, jf_random_crop),
       .infer = random_crop_back_infer, .cpu = JF_KERNELS(JF_EVERY_DTYPE(random_crop_back)),
       .signatures = random_crop_grad_signatures)
