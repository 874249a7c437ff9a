/* non_max_suppression: of boxes that overlap those with the best scores. */
#include "op/attrs.h"
#include "op/op.h"

#include <math.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_suppress, max_output, INT, NULL, "how many boxes of each class are wanted at most"),
  JF_FIELD(jf_suppress, iou_threshold, NUM, "0.5", "the share of two boxes' area together that "
           "both cover, above which the one with the lower score is left out"),
  JF_FIELD(jf_suppress, score_threshold, NUM, "-inf", "scores that are not above it are left out"))

static jfl_status suppress_infer(jf_infer *c)
{
  const jf_suppress *a = c->attr;
  const jfl_shape *b = &c->in[0]->shape, *s = &c->in[1]->shape;
  char text[JF_SHAPE_STR], other[JF_SHAPE_STR];
  if (b->n != 3 || b->d[2] != 4)
    return jf_fail_argument(JFL_ESHAPE, "boxes", "must be (batch, boxes, 4), got %s",
                            jf_shape_str(b, text));
  if (s->n != 3 || s->d[0] != b->d[0] || s->d[2] != b->d[1])
    return jf_fail_argument(JFL_ESHAPE, "scores", "must be (batch, classes, boxes) for boxes %s, "
                            "got %s", jf_shape_str(b, text), jf_shape_str(s, other));
  for (int i = 0; i < 2; i++)
    if (c->in[i]->dtype != JFL_F32)
      return jf_fail_argument(JFL_EDTYPE, c->op->in[i], "must be float32, got %s",
                              jfl_dtype_name(c->in[i]->dtype));
  if (s->d[2] > INT32_MAX)
    return jf_fail(JFL_ESHAPE, "there are %lld boxes, whose positions int32 cannot count",
                   (long long)s->d[2]);
  if (a->max_output < 0 || a->max_output > s->d[2])
    return jf_fail_argument(JFL_EINVAL, "max_output", "must be from 0 to %lld, the number of "
                            "boxes, got %lld", (long long)s->d[2], (long long)a->max_output);
  c->shape[0] = (jfl_shape){ 3, { s->d[0], s->d[1], a->max_output } };
  c->dtype[0] = JFL_I32;
  return JFL_OK;
}

static size_t suppress_scratch(const jf_kargs *k)
{
  return (size_t)k->in[1].shape.d[2] * sizeof(int32_t);
}

/* Where a box begins and ends along an axis: it is two corners, in any order. */
static float suppress_low(const float *box, int i) { return fminf(box[i], box[i + 2]); }
static float suppress_high(const float *box, int i) { return fmaxf(box[i], box[i + 2]); }

/* Whether what both boxes cover, divided by what either does, is above the threshold. */
static int suppress_overlap(const float *a, const float *b, float threshold)
{
  float both[2], own = 1, other = 1;
  for (int i = 0; i < 2; i++) {
    both[i] = fminf(suppress_high(a, i), suppress_high(b, i))
              - fmaxf(suppress_low(a, i), suppress_low(b, i));
    own *= suppress_high(a, i) - suppress_low(a, i);
    other *= suppress_high(b, i) - suppress_low(b, i);
  }
  if (!(both[0] > 0 && both[1] > 0)) return 0;
  const float area = both[0] * both[1], either = own + other - area;
  return either > 0 && area / either > threshold;
}

/* The boxes of a line that may still be taken, in their order, and which of them is the best. */
typedef struct suppress_list {
  int32_t *at;
  int64_t n, best;
} suppress_list;

static void suppress_add(suppress_list *l, const float *scores, int32_t at)
{
  if (!l->n || scores[at] > scores[l->at[l->best]]) l->best = l->n;
  l->at[l->n++] = at;
}

/* Takes the best box and leaves out those that it overlaps, until none is left. */
static void suppress_line(const jf_suppress *a, const float *boxes, const float *scores, int64_t n,
                          int32_t *scratch, int32_t *y)
{
  const float overlap = (float)a->iou_threshold, least = (float)a->score_threshold;
  suppress_list l = { .at = scratch };
  int64_t taken = 0;
  for (int64_t i = 0; i < n && !jf_loop_ends_at(i, 1); i++)
    if (scores[i] > least) suppress_add(&l, scores, (int32_t)i);
  while (l.n && taken < a->max_output && !jf_loop_ends_at(taken, l.n)) {
    const int32_t top = l.at[l.best];
    const int64_t were = l.n;
    y[taken++] = top;
    l.n = 0;
    for (int64_t i = 0; i < were; i++) {
      const int64_t at = l.at[i];
      if (at != top && !suppress_overlap(boxes + 4 * (int64_t)top, boxes + 4 * at, overlap))
        suppress_add(&l, scores, (int32_t)at);
    }
  }
  while (taken < a->max_output) y[taken++] = -1;
}

static jfl_status suppress(const jf_kargs *k)
{
  const jf_suppress *a = k->attr;
  const int64_t *d = k->in[1].shape.d;
  const float *boxes = k->in[0].data, *scores = k->in[1].data;
  int32_t *y = k->out[0].data;
  for (int64_t i = 0; i < d[0] * d[1]; i++)
    suppress_line(a, boxes + i / d[1] * d[2] * 4, scores + i * d[2], d[2], k->scratch,
                  y + i * a->max_output);
  return JFL_OK;
}

static void suppress_signatures(jf_signatures *c)
{
  jf_signature_along(c, 0);
  jf_signature_say(c, "B,1->1");
}

JFL_OP(non_max_suppression, .doc = "The boxes of each class with the best scores, best first, "
       "without those that overlap a better one: their positions (batch, classes, max_output), and "
       "-1 behind the last.", .path = "image.non_max_suppression", .in = { "boxes", "scores" },
       .out = { "y" }, JF_WITH(attrs, jf_suppress), .infer = suppress_infer,
       .scratch = suppress_scratch,
       .cpu = JF_KERNELS([JFL_F32] = suppress), .signatures = suppress_signatures)
