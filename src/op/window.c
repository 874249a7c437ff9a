/* Windows that slide over up to three axes: padding and extents. */
#include "op/window.h"

#include <string.h>

jfl_status jf_check_rank4(const jf_infer *c, const char *what)
{
  const jfl_shape *s = &c->in[0]->shape;
  char buf[JF_SHAPE_STR];
  if (s->n == 4) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[0], "must be %s, got %s", what,
                          jf_shape_str(s, buf));
}

jfl_status jf_extents(const char *name, const jf_ints *list, int n, int64_t *out)
{
  static const char *const wanted[] = { NULL, "one number", "one or two numbers",
                                        "one or three numbers" };
  if (list->n > 1 && list->n != n)
    return jf_fail_argument(JFL_EINVAL, name, "must be %s, got %d", wanted[n], list->n);
  for (int i = 0; i < n; i++) {
    out[i] = list->n ? list->v[list->n == n ? i : 0] : 1;
    if (out[i] < 1)
      return jf_fail_argument(JFL_EINVAL, name, "must be at least 1, got %lld", (long long)out[i]);
  }
  return JFL_OK;
}

jfl_status jf_window_extent(int64_t cells, int64_t step, int64_t *out)
{
  const int64_t most = (int64_t)1 << 53;
  if (cells > 1 && step > most / (cells - 1))
    return jf_fail(JFL_EINVAL, "a window of %lld cells that are %lld apart is too large",
                   (long long)cells, (long long)step);
  *out = (cells - 1) * step + 1;
  return JFL_OK;
}

/* Fails for a list of that many numbers. */
static jfl_status bad_list(int axes, int n)
{
  static const char *const wanted[] = {
    NULL, "1, 2 (before, after) or 6", "1, 2, 4 (top, bottom, left, right) or 8",
    "1, 3, 6 (before and after depth, height, width) or 10"
  };
  return jf_fail_argument(JFL_EINVAL, "padding", "must be a word or a list of %s numbers, got %d",
                          wanted[axes], n);
}

/* Pads given as a list: one number for all sides; one for each axis; before and after each axis; or
   before and after each axis of the tensor. */
static jfl_status pads_from_list(const jf_ints *list, jf_window *w)
{
  const int n = list->n, whole = n == 2 * w->n + 4, first = w->last ? 2 : 4;
  if (n != 1 && n != w->n && n != 2 * w->n && !whole) return bad_list(w->n, n);
  for (int i = 0; whole && i < n; i++)
    if (list->v[i] && (i < first || i >= first + 2 * w->n))
      return jf_fail_argument(JFL_ENOSYS, "padding", "of images and channels must be 0, got %lld",
                              (long long)list->v[i]);
  for (int i = 0; i < 2 * w->n; i++) {
    w->pad[i] = list->v[whole ? first + i : n == 1 ? 0 : n == w->n ? i / 2 : i];
    if (w->pad[i] < 0)
      return jf_fail_argument(JFL_EINVAL, "padding", "must not be negative, got %lld",
                              (long long)w->pad[i]);
  }
  return JFL_OK;
}

/* SAME pads so that there is one output per stride. If the padding is odd, the extra cell goes in
   front for OneFlow's SAME and SAME_LOWER, else behind. */
static void pads_same(jf_window *w, int lower)
{
  for (int i = 0; i < w->n; i++) {
    int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i];
    int64_t all = (out - 1) * w->stride[i] + w->extent[i] - w->in[i];
    if (all < 0) all = 0;
    w->pad[2 * i] = lower ? all - all / 2 : all / 2;
    w->pad[2 * i + 1] = all - w->pad[2 * i];
  }
}

static jfl_status pads(const jf_pad *p, jf_window *w)
{
  memset(w->pad, 0, sizeof w->pad);
  if (!p->word) return pads_from_list(&p->list, w);
  if (!strcmp(p->word, "SAME") || !strcmp(p->word, "SAME_LOWER")) pads_same(w, 1);
  else if (!strcmp(p->word, "SAME_UPPER")) pads_same(w, 0);
  else if (strcmp(p->word, "VALID"))
    return jf_fail_argument(JFL_EINVAL, "padding", "must be SAME, SAME_LOWER, SAME_UPPER, VALID "
                            "or a list, got '%.60s'", p->word);
  return JFL_OK;
}

/* Fails unless axis i has cells and its window fits; `along` says how it extends. */
static jfl_status window_fits(const jf_window *w, int i, const char *along)
{
  const int64_t *pad = &w->pad[2 * i];
  if (w->in[i] < 1 || w->extent[i] < 1)
    return jf_fail(JFL_ESHAPE, "input and window must have cells, got an input %lld %s and a "
                   "window of %lld", (long long)w->in[i], along,
                   (long long)(w->extent[i] < 1 ? 0 : w->extent[i]));
  if (w->in[i] + pad[0] + pad[1] < w->extent[i])
    return jf_fail(JFL_ESHAPE, "a window %lld %s does not fit an input %lld %s with padding "
                   "%lld and %lld", (long long)w->extent[i], along, (long long)w->in[i], along,
                   (long long)pad[0], (long long)pad[1]);
  return JFL_OK;
}

jfl_status jf_window_place(const jf_pad *padding, int flags, jf_window *w)
{
  static const char *const along[] = { "deep", "high", "wide" };
  JF_TRY(pads(padding, w));
  for (int i = 0; i < w->n; i++) {
    JF_TRY(window_fits(w, i, along[3 - w->n + i]));
    int64_t *pad = &w->pad[2 * i], room = w->in[i] + pad[0] + pad[1] - w->extent[i];
    w->out[i] = room / w->stride[i] + 1;
    int64_t start = w->out[i] * w->stride[i];              /* where one more window would start */
    if (!(flags & JF_CEIL) || room % w->stride[i] == 0 || start >= w->in[i] + pad[0]) continue;
    w->out[i]++;
    pad[1] = start + w->extent[i] - w->in[i] - pad[0];
  }
  return JFL_OK;
}

/* Rounds a / b up. A stride of 1 is common, and divisions are slow. */
static int64_t window_divide_up(int64_t a, int64_t b)
{
  return b == 1 ? a : a > 0 ? (a + b - 1) / b : -(-a / b);
}

jf_range jf_range_within(int64_t n, int64_t stride, int64_t offset, int64_t lo, int64_t hi)
{
  jf_range r = { window_divide_up(lo - offset, stride), window_divide_up(hi - offset, stride) };
  if (r.lo < 0) r.lo = 0;
  if (r.hi > n) r.hi = n;
  return r;
}

/* Extents whose products with each other can be counted. */
enum { MOST_EXTENT = 1 << 30 };

jfl_status jf_infer_resized(jf_infer *c, const jf_ints *size, int axis)
{
  const jfl_shape *s = &c->in[0]->shape;
  int64_t to[2] = { 0 };
  JF_TRY(jf_extents("size", size, 2, to));
  c->shape[0] = *s;
  c->dtype[0] = c->in[0]->dtype;
  for (int i = 0; i < 2; i++) {
    if (s->d[axis + i] < 1 || s->d[axis + i] > MOST_EXTENT)
      return jf_fail_argument(JFL_ESHAPE, c->op->in[0], "must have from 1 to %d rows and columns, "
                              "got %lld", MOST_EXTENT, (long long)s->d[axis + i]);
    if (to[i] > MOST_EXTENT)
      return jf_fail_argument(JFL_EINVAL, "size", "must be at most %d, got %lld", MOST_EXTENT,
                              (long long)to[i]);
    c->shape[0].d[axis + i] = to[i];
  }
  return JFL_OK;
}
