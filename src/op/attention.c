/* Attention: softmax(scale q k^T + mask) v, one score at a time, so that no matrix of scores is
   made. Its second result, the logarithm of the sum of exp of each query's scores, lets the
   gradients compute any weight anew (Dao, Fu, Ermon, Rudra and Re, FlashAttention, 2022). Here are
   shape rules, gradients and records; how tensors lie and plain kernels are in
   attention_plain.c. */
#include "op/attention.h"
#include "dev/half.h"
#include "op/move.h"

#include <math.h>

/* Scores of float32 must stay within its range. */
#define MOST_SCALE 1e30

JF_ATTRS(attrs,
  JF_FIELD(jf_attention, scale, NUM, "0", "what scores are multiplied by; 0: 1 / sqrt(size)"),
  JF_FIELD(jf_attention, causal, BOOL, "false", "query i sees keys 0 to i only"),
  JF_FIELD(jf_attention, dropout_rate, NUM, "0", "the share of weights to zero, in [0, 1); if not "
           "0, one int64 behind the mask is the seed"))

int jf_attention_takes_lengths(const jf_node *n)
{
  const jf_attention *a = n->attr;
  return n->op == &jf_op_scaled_dot_product_attention && !a->by_length;
}

/* ---- shapes ---- */

static jfl_status attention_check_rank(const jf_infer *c, int i)
{
  char s[JF_SHAPE_STR];
  JF_TRY(jf_infer_dtype(c, i, 0));
  if (c->in[i]->shape.n == 4) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, c->op->in[i], "must have four axes (batch, heads, length, "
                          "size), got %s", jf_shape_str(&c->in[i]->shape, s));
}

static jfl_status attention_check_mask(const jf_infer *c, int i)
{
  const jfl_value *m = c->in[i];
  const jfl_shape q = jf_attention_turned(c->attr, &c->in[0]->shape, JF_ATTENTION_Q);
  const jfl_shape keys = jf_attention_turned(c->attr, &c->in[1]->shape, JF_ATTENTION_K);
  const int64_t want[] = { q.d[0], q.d[1], q.d[2], keys.d[2] };
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  const int narrower = ((const jf_attention *)c->attr)->f32_result && m->dtype == JFL_F32;
  if (m->dtype != JFL_I8 && m->dtype != c->in[0]->dtype && !narrower)
    return jf_fail_argument(JFL_EDTYPE, "mask", "must be int8 (0 hides a key) or %s (numbers to "
                            "add to scores), got %s", jfl_dtype_name(c->in[0]->dtype),
                            jfl_dtype_name(m->dtype));
  int fit = m->shape.n <= 4;
  for (int j = 0; fit && j < m->shape.n; j++)
    fit = m->shape.d[j] == 1 || m->shape.d[j] == want[4 - m->shape.n + j];
  if (fit) return JFL_OK;
  const jfl_shape scores = { 4, { want[0], want[1], want[2], want[3] } };
  return jf_fail_argument(JFL_ESHAPE, "mask", "must broadcast to the scores %s, got %s",
                          jf_shape_str(&scores, s), jf_shape_str(&m->shape, t));
}

/* Checks the mask, which is input `mask` if there is one, and the seed behind it. */
static jfl_status attention_check_more(const jf_infer *c, int mask)
{
  const jf_attention *a = c->attr;
  char s[JF_SHAPE_STR];
  if (!(a->dropout_rate >= 0 && a->dropout_rate < 1))
    return jf_fail_argument(JFL_EINVAL, "dropout_rate", "must be in [0, 1), got %g",
                            a->dropout_rate);
  const int seeds = jf_attention_seeds(a), masks = c->n_in - mask - seeds;
  if (masks < 0)
    return jf_fail_argument(JFL_EINVAL, "seed", "must be given, as dropout_rate is not 0");
  if (masks > 1)
    return jf_fail_argument(JFL_EINVAL, "mask", "must be one tensor, got %d", masks);
  const jfl_value *seed = seeds ? c->in[c->n_in - 1] : NULL;
  if (seed && (seed->dtype != JFL_I64 || jf_numel(&seed->shape) != 1))
    return jf_fail_argument(JFL_ESHAPE, "seed", "must be one int64, got %s %s",
                            jfl_dtype_name(seed->dtype), jf_shape_str(&seed->shape, s));
  return masks ? attention_check_mask(c, mask) : JFL_OK;
}

jfl_status jf_attention_check_scale(jf_attention *a, int64_t size)
{
  if (!(fabs(a->scale) <= MOST_SCALE))
    return jf_fail_argument(JFL_EINVAL, "scale", "must be a number from -1e30 to 1e30, got %g",
                            a->scale);
  if (a->scale == 0) a->scale = size ? 1 / sqrt((double)size) : 1;
  return JFL_OK;
}

/* Checks q, k, v and what comes behind other inputs, from number `mask` on; completes the
   scale. */
static jfl_status attention_check(jf_infer *c, int mask)
{
  jf_attention *a = c->attr;
  for (int i = 0; i < 3; i++) JF_TRY(attention_check_rank(c, i));
  jfl_shape shape[3];
  for (int i = 0; i < 3; i++) shape[i] = jf_attention_turned(a, &c->in[i]->shape, i);
  const jfl_shape *q = &shape[0], *k = &shape[1], *v = &shape[2];
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  const int heads = k->d[1] ? q->d[1] % k->d[1] == 0 : q->d[1] == 0;
  if (k->d[0] != q->d[0] || k->d[3] != q->d[3] || !heads)
    return jf_fail_argument(JFL_ESHAPE, "k", "must have the batch and the size of q %s, and its "
                            "heads or a divisor of them, got %s", jf_shape_str(q, s),
                            jf_shape_str(k, t));
  if (v->d[0] != k->d[0] || v->d[1] != k->d[1] || v->d[2] != k->d[2])
    return jf_fail_argument(JFL_ESHAPE, "v", "must have the batch, heads and length of k %s, "
                            "got %s", jf_shape_str(k, s), jf_shape_str(v, t));
  JF_TRY(jf_attention_check_scale(a, q->d[3]));
  return attention_check_more(c, mask);
}

/* The dtype of results, and that of lse, which is at least float32. */
static jfl_dtype attention_result(const jf_infer *c)
{
  return ((const jf_attention *)c->attr)->f32_result ? JFL_F32 : c->in[0]->dtype;
}
static jfl_dtype attention_lse(const jf_infer *c)
{
  return jf_is_half(c->in[0]->dtype) ? JFL_F32 : c->in[0]->dtype;
}

/* The shape of y. */
static jfl_shape attention_y(const jf_infer *c)
{
  const jf_attention *a = c->attr;
  jfl_shape s = c->in[0]->shape;
  if (a->joint) s.d[2] -= 2 * a->joint;
  s.d[3] = c->in[2]->shape.d[3];
  return s;
}

static jfl_status attention_infer(jf_infer *c)
{
  JF_TRY(attention_check(c, JF_ATTENTION_MASK));
  c->shape[0] = attention_y(c);
  c->shape[1] = jf_attention_turned(c->attr, &c->in[0]->shape, JF_ATTENTION_Q);
  c->shape[1].n = 3;
  c->dtype[0] = attention_result(c);
  c->dtype[1] = attention_lse(c);
  return JFL_OK;
}

/* Checks what the gradients read beside the op's inputs. */
static jfl_status attention_check_grad(jf_infer *c)
{
  JF_TRY(attention_check(c, JF_ATTENTION_GRAD_MASK));
  jfl_shape lse = jf_attention_turned(c->attr, &c->in[0]->shape, JF_ATTENTION_Q);
  const int wide = c->in[JF_ATTENTION_LSE]->dtype == attention_lse(c);
  const jfl_dtype t = c->in[0]->dtype;
  const jfl_shape y = attention_y(c);
  lse.n = 3;
  JF_TRY(jf_infer_is(c, JF_ATTENTION_Y, t, &y, NULL));
  JF_TRY(jf_infer_is(c, JF_ATTENTION_LSE, wide ? attention_lse(c) : t, &lse, NULL));
  return jf_infer_is(c, JF_ATTENTION_DY, t, &y, NULL);
}

static jfl_status attention_grad_infer(jf_infer *c)
{
  JF_TRY(attention_check_grad(c));
  c->n_out = ((const jf_attention *)c->attr)->joint ? 1 : 3;
  for (int i = 0; i < c->n_out; i++) {
    c->shape[i] = c->in[i]->shape;
    c->dtype[i] = attention_result(c);
  }
  return JFL_OK;
}

static jfl_status attention_mask_grad_infer(jf_infer *c)
{
  JF_TRY(attention_check_grad(c));
  if (c->n_in - jf_attention_seeds(c->attr) <= JF_ATTENTION_GRAD_MASK ||
      !jf_is_float(c->in[JF_ATTENTION_GRAD_MASK]->dtype))
    return jf_fail_argument(JFL_EINVAL, "mask", "must be numbers to add to scores");
  c->shape[0] = c->in[JF_ATTENTION_GRAD_MASK]->shape;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

static double attention_flop(const jf_kargs *k)
{
  const jf_attention_dims d = jf_attention_dims_of(k);
  const double half = ((const jf_attention *)k->attr)->causal ? 0.5 : 1;
  const double rows = (double)(d.batch * d.heads * d.q_len);
  return half * 2 * rows * (double)d.k_len * (double)(d.size + d.v_size);
}

static double attention_grad_flop(const jf_kargs *k) { return 2.5 * attention_flop(k); }

/* ---- gradients ---- */

static void attention_grad(jf_gradctx *c)
{
  const jf_node *n = c->node;
  jfl_value *in[JF_ATTENTION_GRAD_MASK + 2] = { c->in[0], c->in[1], c->in[2], c->out[0], c->out[1],
                                                c->dy[0] };
  const int more = n->n_in - JF_ATTENTION_MASK;            /* a mask and a seed, if there are any */
  for (int i = 0; i < more; i++) in[JF_ATTENTION_GRAD_MASK + i] = c->in[JF_ATTENTION_MASK + i];
  const size_t n_in = JF_ATTENTION_GRAD_MASK + (size_t)more;
  if (!c->dy[0]) return;
  jfl_value *dq = jf_emit(c->g, &jf_op_scaled_dot_product_attention_grad, n->attr, in, n_in);
  for (int i = 0; dq && i < dq->node->n_out; i++) c->dx[i] = dq->node->out[i];
  if (more > jf_attention_seeds(n->attr) && jf_is_float(c->in[JF_ATTENTION_MASK]->dtype))
    c->dx[3] = jf_emit(c->g, &jf_op_scaled_dot_product_attention_mask_grad, n->attr, in, n_in);
}

/* Mixed precision rounds q, k and v, and for the gradients y and dy too. */
static const jf_mixed mixed = { .inputs = 0x07, .result = offsetof(jf_attention, f32_result) };
static const jf_mixed grad_mixed = { .inputs = 0x2f,
                                     .result = offsetof(jf_attention, f32_result) };

#define ATTENTION(rule) \
  JF_WITH(attrs, jf_attention), .flags = JF_VARIADIC | JF_OPTIONAL, .infer = rule, \
  .share = attention_share
/* Behind the mask there may be a seed. */
#define ATTENTION_GRAD_IN .in = { "q", "k", "v", "y", "lse", "dy", "mask" }

/* Makes the mask, input i if there is one, lie along that axis of the scores; gives how. */
static jfl_distribution attention_split_mask(const jf_node *n, int i, int axis, jf_signature *s)
{
  if (n->n_in - jf_attention_seeds(n->attr) <= i) return JF_ON_ALL;
  const int own = axis - 4 + n->in[i]->shape.n;
  if (own >= 0 && n->in[i]->shape.d[own] > 1) s->in[i] = JF_ALONG(own);
  return s->in[i];
}

/* Adds a split of all but the mask along an axis: 0, the batch, or 1, heads. */
static jf_signature *attention_along(jf_signatures *c, int axis, int mask, jfl_distribution *masked)
{
  jf_signature *s = jf_signature_add(c);
  for (int i = 0; i < mask; i++) s->in[i] = JF_ALONG(axis);
  for (int i = 0; i < c->node->n_out; i++) s->out[i] = JF_ALONG(axis);
  *masked = attention_split_mask(c->node, mask, axis, s);
  return s;
}

/* Whether heads may be split: each part has the keys that its queries read, and no weights of it
   are dropped, as their queries do not follow each other in the whole. */
static int attention_splits_heads(const jf_signatures *c)
{
  const int64_t heads = c->node->in[JF_ATTENTION_Q]->shape.d[1];
  const int64_t groups = c->node->in[JF_ATTENTION_K]->shape.d[1];
  if (((const jf_attention *)c->node->attr)->by_length) return 0;
  return !jf_attention_seeds(c->node->attr)
         && (heads == groups || (heads % c->parts == 0 && groups % c->parts == 0));
}

/* Queries may be split too, unless one's number says which keys it sees. */
static void attention_signatures(jf_signatures *c)
{
  jfl_distribution masked;
  for (int axis = 0; axis < 1 + attention_splits_heads(c); axis++)
    attention_along(c, axis, JF_ATTENTION_MASK, &masked);
  const jf_attention *a = c->node->attr;
  if (jf_attention_seeds(a) || a->causal || a->by_length) return;
  jf_signature *s = attention_along(c, 2, JF_ATTENTION_MASK, &masked);
  s->in[JF_ATTENTION_K] = s->in[JF_ATTENTION_V] = JF_ON_ALL;
}

static void attention_grad_signatures(jf_signatures *c)
{
  jfl_distribution masked;
  for (int axis = 0; axis < 1 + attention_splits_heads(c); axis++)
    attention_along(c, axis, JF_ATTENTION_GRAD_MASK, &masked);
}

/* Where all parts read the same mask, its gradient is the sum of theirs. */
static void attention_mask_grad_signatures(jf_signatures *c)
{
  jfl_distribution masked;
  for (int axis = 0; axis < 1 + attention_splits_heads(c); axis++) {
    jf_signature *s = attention_along(c, axis, JF_ATTENTION_GRAD_MASK, &masked);
    s->out[0] = masked.kind == JFL_SPLIT ? masked : JF_AS_SUM;
  }
}

/* Weights are dropped as in the whole. */
static void attention_share(jf_share *s)
{
  const jfl_distribution q = s->signature->in[JF_ATTENTION_Q];
  const int64_t *d = s->node->in[JF_ATTENTION_Q]->shape.d;
  jf_attention *a = s->attr;
  if (q.kind != JFL_SPLIT || q.axis != 0) return;
  a->rows = d[0] * d[1] * d[2];
  a->first = s->first_in[JF_ATTENTION_Q] * d[1] * d[2];
}

JFL_OP(scaled_dot_product_attention,
  .doc = "For each query the mean of the values v, weighted by softmax(scale q k^T + mask).",
  .in = {"q", "k", "v", "mask"}, .out = {"y", "lse"}, .n_public = 1, ATTENTION(attention_infer),
  .grad = attention_grad, .cpu = jf_attention_cpu, .scratch = jf_attention_scratch,
  .flop = attention_flop, .mixed = &mixed, .signatures = attention_signatures)

JFL_OP(scaled_dot_product_attention_grad,
  .doc = "Gradients of scaled_dot_product_attention at output y, whose scores have the logarithm "
         "of the sum of exponentials lse.",
  ATTENTION_GRAD_IN, .out = {"dq", "dk", "dv"}, ATTENTION(attention_grad_infer),
  .cpu = jf_attention_grad_cpu, .scratch = jf_attention_grad_scratch,
  .flop = attention_grad_flop, .mixed = &grad_mixed, .signatures = attention_grad_signatures)

JFL_OP(scaled_dot_product_attention_mask_grad,
  .doc = "Gradient of scaled_dot_product_attention for a mask of numbers.",
  ATTENTION_GRAD_IN, .out = {"dmask"}, ATTENTION(attention_mask_grad_infer),
  .cpu = jf_attention_mask_grad_cpu, .scratch = jf_attention_mask_scratch,
  .signatures = attention_mask_grad_signatures)
