/* Connectionist temporal classification (Graves et al., ICML 2006): minus the logarithm of the
   probability of all alignments of a target with a sequence. In a path every label of the target
   stands between blanks; a path may stay at a place, go on by one, and skip a blank between two
   different labels. All sums are of logarithms, in double. */
#include "op/ctc_loss.h"
#include "op/elementwise.h"
#include "op/move.h"
#include "op/reshape.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_ctc, blank, INT, "0", "the class that stands for no label"),
  JF_FIELD(jf_ctc, zero_infinity, BOOL, "false", "whether losses of targets that cannot be aligned "
           "are 0 instead of infinite"))

static jfl_status ctc_check_lengths(const jf_infer *c, int input, int64_t samples)
{
  JF_TRY(jf_check_indices(c, input));
  return jf_infer_line(c, input, samples, "sample");
}

static jfl_status ctc_infer(jf_infer *c)
{
  const jf_ctc *a = c->attr;
  const jfl_shape *x = &c->in[JF_CTC_LOG_PROBS]->shape, *t = &c->in[JF_CTC_TARGETS]->shape;
  char text[JF_SHAPE_STR];
  if (x->n != 3 || x->d[2] < 1)
    return jf_fail_argument(JFL_ESHAPE, "log_probs", "must be (times, samples, classes), got %s",
                            jf_shape_str(x, text));
  JF_TRY(jf_check_indices(c, JF_CTC_TARGETS));
  if (t->n != 1 && !(t->n == 2 && t->d[0] == x->d[1]))
    return jf_fail_argument(JFL_ESHAPE, "targets", "must be (%lld, labels), or all labels in one "
                            "axis, got %s", (long long)x->d[1], jf_shape_str(t, text));
  JF_TRY(ctc_check_lengths(c, JF_CTC_INPUT_LENGTHS, x->d[1]));
  JF_TRY(ctc_check_lengths(c, JF_CTC_TARGET_LENGTHS, x->d[1]));
  if (a->blank < 0 || a->blank >= x->d[2])
    return jf_fail_argument(JFL_EINVAL, "blank", "must be from 0 to %lld, got %lld",
                            (long long)x->d[2] - 1, (long long)a->blank);
  c->dtype[0] = c->dtype[1] = c->in[JF_CTC_LOG_PROBS]->dtype;
  c->shape[0] = (jfl_shape){ 1, { x->d[1] } };
  c->shape[1] = *x;
  return JFL_OK;
}

/* The slope was computed along with the loss. */
static void ctc_grad(jf_gradctx *c)
{
  const jfl_shape row = { 3, { 1, c->out[0]->shape.d[0], 1 } };
  if (!c->dy[0]) return;
  jfl_value *dy = jf_emit_view(c->g, c->dy[0], &row);
  c->dx[JF_CTC_LOG_PROBS] = JF_EMIT(c->g, multiply, NULL, c->out[1], dy);
}

int64_t jf_ctc_places(const jf_kargs *k)
{
  const jfl_shape *t = &k->in[JF_CTC_TARGETS].shape;
  return 2 * t->d[t->n - 1] + 1;
}

/* Doubles that a sample needs: alpha for all times, and two rows of beta. */
static int64_t ctc_room(const jf_kargs *k)
{
  return (k->in[JF_CTC_LOG_PROBS].shape.d[0] + 2) * jf_ctc_places(k);
}

/* Where extents are more than any memory holds, so is the size. */
static size_t ctc_scratch(const jf_kargs *k)
{
  const jfl_shape *x = &k->in[JF_CTC_LOG_PROBS].shape;
  const double times = (double)x->d[0] + 2, samples = (double)x->d[1];
  const double size = times * (double)jf_ctc_places(k) * samples * sizeof(double);
  return size < 0x1p62 ? (size_t)size : (size_t)1 << 62;
}

/* A sample: log_probs[t * step + class], and where its labels begin. */
typedef struct ctc_sample {
  const jf_kargs *k;
  int64_t first, labels, places, times, step;
  double *alpha, *beta;
} ctc_sample;

static int64_t ctc_class(const ctc_sample *s, int64_t place)
{
  if (place % 2 == 0) return ((const jf_ctc *)s->k->attr)->blank;
  return jf_index_at(&s->k->in[JF_CTC_TARGETS], s->first + place / 2);
}

/* Whether a path may come to that place from the one two before. */
static int ctc_skips(const ctc_sample *s, int64_t place)
{
  return place > 1 && place % 2 && ctc_class(s, place) != ctc_class(s, place - 2);
}

/* log(exp a + exp b + exp c) */
static double ctc_add(double a, double b, double c)
{
  const double most = a > b ? a > c ? a : c : b > c ? b : c;
  if (most == -INFINITY) return most;
  return most + log(exp(a - most) + exp(b - most) + exp(c - most));
}

#define CTC(D, T)                                                                          \
  /* alpha[t][p]: all ways to be at place p at time t. */                                  \
  static void ctc_forward_##D(const ctc_sample *s, const T *x)                             \
  {                                                                                        \
    for (int64_t t = 0; t < s->times && !jf_loop_ends_at(t, s->places); t++) {             \
      double *a = s->alpha + t * s->places;                                                \
      const double *b = a - s->places;                                                     \
      for (int64_t p = 0; p < s->places; p++) {                                            \
        const double from = t == 0 ? (p < 2 ? 0 : -INFINITY)                               \
          : ctc_add(b[p], p ? b[p - 1] : -INFINITY, ctc_skips(s, p) ? b[p - 2] : -INFINITY); \
        a[p] = from + x[t * s->step + ctc_class(s, p)];                                    \
      }                                                                                    \
    }                                                                                      \
  }                                                                                        \
  /* beta[p]: all ways from place p at time t to the end. The slope of the loss is minus the  \
     share of all ways that pass there. */                                                 \
  static void ctc_backward_##D(const ctc_sample *s, const T *x, T *slope, double all)      \
  {                                                                                        \
    const int64_t n = s->places;                                                           \
    for (int64_t t = s->times - 1; t >= 0 && !jf_loop_ends_at(t, n); t--) {                \
      const double *a = s->alpha + t * n, *next = s->beta + (t + 1) % 2 * n;               \
      double *b = s->beta + t % 2 * n;                                                     \
      for (int64_t p = 0; p < n; p++) {                                                    \
        const int64_t c = ctc_class(s, p);                                                 \
        const double none = -INFINITY;                                                     \
        const double to = t == s->times - 1 ? (p + 2 >= n ? 0 : none)                      \
          : ctc_add(next[p], p + 1 < n ? next[p + 1] : none,                               \
                    p + 2 < n && ctc_skips(s, p + 2) ? next[p + 2] : none);                \
        b[p] = to + x[t * s->step + c];                                                    \
        slope[t * s->step + c] = (T)(slope[t * s->step + c] - exp(a[p] + to - all));       \
      }                                                                                    \
    }                                                                                      \
  }                                                                                        \
  static void ctc_sample_##D(void *ctx, int i)                                             \
  {                                                                                        \
    const jf_kargs *k = ctx;                                                               \
    const ctc_sample s = ctc_at(k, i);                                                     \
    const int64_t at = i * k->in[JF_CTC_LOG_PROBS].shape.d[2];                                    \
    const T *x = (const T *)k->in[JF_CTC_LOG_PROBS].data + at;                                    \
    T *loss = (T *)k->out[0].data + i, *slope = (T *)k->out[1].data + at;                  \
    for (int64_t t = 0; t < k->in[JF_CTC_LOG_PROBS].shape.d[0]; t++)                              \
      memset(slope + t * s.step, 0, (size_t)k->in[JF_CTC_LOG_PROBS].shape.d[2] * sizeof *slope);  \
    ctc_forward_##D(&s, x);                                                                \
    const double all = ctc_all(&s);                                                        \
    if (all > -INFINITY) ctc_backward_##D(&s, x, slope, all);                              \
    *loss = (T)(all == -INFINITY && ((const jf_ctc *)k->attr)->zero_infinity ? 0 : -all);     \
  }                                                                                        \
  static jfl_status ctc_##D(const jf_kargs *k)                                             \
  {                                                                                        \
    JF_TRY(ctc_check(k));                                                                  \
    jf_parallel(k->threads, (int)k->in[JF_CTC_LOG_PROBS].shape.d[1], ctc_sample_##D, (void *)k);  \
    return JFL_OK;                                                                         \
  }

static ctc_sample ctc_at(const jf_kargs *k, int i)
{
  const jfl_shape *x = &k->in[JF_CTC_LOG_PROBS].shape, *t = &k->in[JF_CTC_TARGETS].shape;
  ctc_sample s = { .k = k, .labels = jf_index_at(&k->in[JF_CTC_TARGET_LENGTHS], i),
                   .times = jf_index_at(&k->in[JF_CTC_INPUT_LENGTHS], i), .step = x->d[1] * x->d[2],
                   .alpha = (double *)k->scratch + i * ctc_room(k) };
  s.places = 2 * s.labels + 1;
  s.beta = s.alpha + x->d[0] * s.places;
  if (t->n == 2) s.first = i * t->d[1];
  else for (int j = 0; j < i; j++) s.first += jf_index_at(&k->in[JF_CTC_TARGET_LENGTHS], j);
  return s;
}

/* The logarithm of the probability of all paths. */
static double ctc_all(const ctc_sample *s)
{
  if (!s->times) return s->labels ? -INFINITY : 0;
  const double *last = s->alpha + s->times * s->places - 1;
  return ctc_add(last[0], s->places > 1 ? last[-1] : -INFINITY, -INFINITY);
}

/* Checks all lengths, and the labels within them. */
static jfl_status ctc_check(const jf_kargs *k)
{
  const jfl_shape *x = &k->in[JF_CTC_LOG_PROBS].shape, *t = &k->in[JF_CTC_TARGETS].shape;
  const int64_t samples = x->d[1], most = t->d[t->n - 1];
  int64_t first = 0;
  JF_TRY(jf_check_range(k, JF_WRONG_LENGTH, &k->in[JF_CTC_INPUT_LENGTHS], x->d[0] + 1));
  JF_TRY(jf_check_range(k, JF_WRONG_LENGTH, &k->in[JF_CTC_TARGET_LENGTHS], most + 1));
  for (int64_t i = 0; i < samples; i++) {
    const int64_t n = jf_index_at(&k->in[JF_CTC_TARGET_LENGTHS], i);
    if (t->n == 2) first = i * most;
    else if (first + n > most) return jf_index_fault(k, JF_WRONG_LENGTH, n, i, most - first + 1);
    for (int64_t j = first; j < first + n; j++) {
      const int64_t label = jf_index_at(&k->in[JF_CTC_TARGETS], j);
      if (label < 0 || label >= x->d[2])
        return jf_index_fault(k, JF_WRONG_LABEL, label, j, x->d[2]);
    }
    first += n;
  }
  return JFL_OK;
}

JF_EACH_FLOAT(CTC)

/* Samples may be split, unless the targets of all follow each other in one axis. */
static void ctc_signatures(jf_signatures *c)
{
  if (c->node->in[JF_CTC_TARGETS]->shape.n == 2) jf_signature_say(c, "1,0,0,0->0,1");
}

JFL_OP(ctc_loss, .doc = "Minus the logarithm of the probability that each sequence holds its "
  "target (connectionist temporal classification).", .path = "ctc_loss",
  .in = {"log_probs", "targets", "input_lengths", "target_lengths"}, .out = {"loss", "slope"},
  .n_public = 1, JF_WITH(attrs, jf_ctc), .flags = JF_COSTLY, .infer = ctc_infer, .grad = ctc_grad,
  .cpu = JF_KERNELS(JF_FLOATS(ctc_)), .scratch = ctc_scratch, .signatures = ctc_signatures)
