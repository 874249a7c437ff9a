/* Windows that slide over height and width: padding and extents. */
#include "op/window.h"

#include <string.h>

jfl_status jf_check_nchw(const char *data_format)
{
  if (!strcmp(data_format, "NCHW")) return JFL_OK;
  return jf_fail_argument(JFL_ENOSYS, "data_format", "%s is not supported, only NCHW is",
                          data_format);
}

jfl_status jf_check_rank4(const jf_infer *c, int i, const char *what)
{
  const jfl_shape *s = &c->in[i]->shape;
  char buf[JF_SHAPE_STR];
  if (s->n == 4) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must be %s, got %s", what,
                          jf_shape_str(s, buf));
}

jfl_status jf_pair(const char *name, const jf_ints *list, int64_t def,
                   int64_t out[2])
{
  if (list->n > 2)
    return jf_fail_argument(JFL_EINVAL, name, "must be one or two numbers, got %d", list->n);
  for (int i = 0; i < 2; i++) {
    out[i] = list->n ? list->v[list->n == 2 ? i : 0] : def;
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

/* Pads given as a list: n for every side; height, width; top, bottom, left, right; or before and
   after for each of N, C, H, W. */
static jfl_status pads_from_list(const jf_ints *list, int64_t pad[4])
{
  static const int from[9][4] = { [1] = { 0, 0, 0, 0 }, [2] = { 0, 0, 1, 1 },
                                  [4] = { 0, 1, 2, 3 }, [8] = { 4, 5, 6, 7 } };
  int n = list->n;
  if (n != 1 && n != 2 && n != 4 && n != 8)
    return jf_fail_argument(JFL_EINVAL, "padding", "must be a word or a list of 1, 2, 4 (top, "
                            "bottom, left, right) or 8 numbers, got %d", n);
  for (int i = 0; i < 4 && n == 8; i++)
    if (list->v[i])
      return jf_fail_argument(JFL_ENOSYS, "padding", "of the first two axes must be 0, got %lld",
                              (long long)list->v[i]);
  for (int i = 0; i < 4; i++) {
    pad[i] = list->v[from[n][i]];
    if (pad[i] < 0)
      return jf_fail_argument(JFL_EINVAL, "padding", "must not be negative, got %lld",
                              (long long)pad[i]);
  }
  return JFL_OK;
}

/* SAME pads so that there is one output per stride. If the padding is odd, the extra cell goes in
   front for OneFlow's SAME and SAME_LOWER, else behind. */
static void pads_same(jf_window *w, int lower)
{
  for (int i = 0; i < 2; i++) {
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
  if (!p->word) return pads_from_list(&p->list, w->pad);
  if (!strcmp(p->word, "SAME") || !strcmp(p->word, "SAME_LOWER")) pads_same(w, 1);
  else if (!strcmp(p->word, "SAME_UPPER")) pads_same(w, 0);
  else if (strcmp(p->word, "VALID"))
    return jf_fail_argument(JFL_EINVAL, "padding", "must be SAME, SAME_LOWER, SAME_UPPER, VALID "
                            "or a list, got '%.60s'", p->word);
  return JFL_OK;
}

jfl_status jf_window_place(const jf_pad *padding, int flags, jf_window *w)
{
  JF_TRY(pads(padding, w));
  for (int i = 0; i < 2; i++) {
    if (w->in[i] < 1 || w->extent[i] < 1)
      return jf_fail(JFL_ESHAPE, "input and window must have cells, got an input %lld %s and a "
                     "window of %lld", (long long)w->in[i], i ? "wide" : "high",
                     (long long)(w->extent[i] < 1 ? 0 : w->extent[i]));
    int64_t *pad = &w->pad[2 * i], room = w->in[i] + pad[0] + pad[1] - w->extent[i];
    if (room < 0)
      return jf_fail(JFL_ESHAPE, "a window %lld %s does not fit an input %lld %s with padding "
                     "%lld and %lld", (long long)w->extent[i], i ? "wide" : "high",
                     (long long)w->in[i], i ? "wide" : "high", (long long)pad[0],
                     (long long)pad[1]);
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
