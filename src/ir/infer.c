/* Checking a call of an op, and the shape rules that ops share. */
#include "ir/halves.h"
#include "dev/half.h"

#include <string.h>

int jf_line_axis(const jf_node *n)
{
  return n->op->line ? *(const int *)((const char *)n->attr + n->op->line->axis) : -1;
}

const jf_node *jf_made_by(const jfl_value *v, const jfl_op *op)
{
  return v->origin == JF_RESULT && v->node->op == op ? v->node : NULL;
}

jf_tensor *jf_tensors_of(jf_arena *a, jfl_value *const *v, int n)
{
  jf_tensor *t = jf_alloc(a, (size_t)n * sizeof *t);
  for (int i = 0; i < n; i++) t[i] = (jf_tensor){ .dtype = v[i]->dtype, .shape = v[i]->shape };
  return t;
}

const jfl_value *jf_root(const jfl_value *v)
{
  while (v->origin == JF_RESULT && (v->node->op->flags & JF_VIEW)) v = v->node->in[0];
  return v;
}

int jf_mutates(const jf_node *n, int i)
{
  return n->op->mutates_of ? n->op->mutates_of(n, i) : jf_has_input(n->op->mutates, i);
}

int jf_reads_before(const jf_node *n, int i)
{
  int first = 0;
  while (n->in[first] != n->in[i]) first++;
  return first < i;
}

int jf_updates(const jf_node *n)
{
  if (!n->op->mutates_of && !n->op->mutates) return 0;
  for (int k = 0; k < n->n_in; k++)
    if (jf_mutates(n, k)) return 1;
  return 0;
}

int jf_is_pointwise(const jfl_op *op)
{
  return op->flags & JF_POINTWISE || (op->loop && !(op->flags & JF_RANDOM));
}

unsigned jf_inplace(const jf_node *n)
{
  return n->op->inplace_of ? n->op->inplace_of(n) : n->op->inplace;
}

const char *jf_node_title(const jf_node *n)
{
  return n->op->title ? n->op->title(n->attr) : n->op->name;
}

int jf_op_n_in(const jfl_op *op)
{
  int n = 0;
  while (n < JF_MAXIN && op->in[n]) n++;
  return n;
}

int jf_op_n_out(const jfl_op *op)
{
  int n = 0;
  while (n < JF_MAXOUT && op->out[n]) n++;
  return n;
}

/* What is updated in place is not computed in float32: its changes would be lost in rounding. */
int jf_is_widened(const jfl_op *op, jfl_dtype key)
{
  if (op->flags & (JF_VIEW | JF_TRANSFER | JF_HALVES) || op->mutates || op->mutates_of) return 0;
  if (!op->cpu || (jf_is_half(key) && op->cpu[key])) return 0;
  if (op->flags & JF_HALVES_BESIDE && !jf_is_half(key)) return 0;
  return op->cpu[jf_is_half(key) ? JFL_F32 : key] != NULL;
}

/* A view never runs, so it takes every dtype. */
unsigned jf_op_dtypes(const jfl_op *op)
{
  unsigned bits = op->flags & (JF_VIEW | JF_TRANSFER) ? (1u << JFL_N_DTYPE) - 1 : 0;
  for (int t = 0; op->cpu && t < JFL_N_DTYPE; t++)
    if (op->cpu[t] || (jf_is_half((jfl_dtype)t) && jf_is_widened(op, (jfl_dtype)t)))
      bits |= 1u << t;
  return bits;
}

void jf_attr_widen(const jfl_op *op, void *attr)
{
  for (const jf_attr *f = op->attr; f && f->name; f++) {
    jfl_dtype *t = (jfl_dtype *)(void *)((char *)attr + f->off);
    if (f->type == JF_ATTR_DTYPE && jf_is_half(*t)) *t = JFL_F32;
  }
}

jfl_dtype jf_call_key(const jfl_op *op, const jf_kargs *k)
{
  return op->key < 0 || !k->n_in ? k->out[0].dtype : k->in[op->key].dtype;
}

jfl_dtype jf_node_key(const jfl_op *op, const jf_node *n)
{
  return op->key < 0 || !n->n_in ? n->out[0]->dtype : n->in[op->key]->dtype;
}

static jfl_status check_count(const jf_infer *c)
{
  int variadic = c->op->flags & (JF_VARIADIC | JF_OPTIONAL);
  int want = jf_op_n_in(c->op) - (c->op->flags & JF_OPTIONAL ? 1 : 0);
  if (variadic ? c->n_in >= want : c->n_in == want) return JFL_OK;
  return jf_fail(JFL_EINVAL, "takes %s%d input%s, got %d", variadic ? "at least " : "", want,
                 want == 1 ? "" : "s", c->n_in);
}

/* Fails because something has this dtype, which is none of those served: bit t stands for t. */
static jfl_status fail_dtype(const char *whose, unsigned served, jfl_dtype got)
{
  jf_text names = {0};
  for (int t = 0; t < JFL_N_DTYPE; t++)
    if (served >> t & 1)
      jf_text_add(&names, "%s%s", names.n ? ", " : "", jfl_dtype_name((jfl_dtype)t));
  jfl_status s = jf_fail_argument(JFL_EDTYPE, whose, "must be one of %s, got %s%s",
                                  names.failed ? "other dtypes" : names.s, jfl_dtype_name(got),
                                  jf_is_half(got) ? "; what is updated must have more bits"
                                                  : "; cast converts");
  jfl_text_free(names.s);
  return s;
}

/* Fails for a dtype that no kernel of the op serves, and lists those that are served. */
static jfl_status check_dtype(const jf_infer *c)
{
  const int by_output = c->op->key < 0 || !c->n_in;
  const jfl_dtype key = by_output ? c->dtype[0] : c->in[c->op->key]->dtype;
  unsigned ok = jf_op_dtypes(c->op);
  if (ok >> key & 1) return JFL_OK;
  return fail_dtype(by_output ? c->op->out[0] : c->op->in[c->op->key], ok, key);
}

void jf_infer_many(jf_infer *c, int n)
{
  c->n_out = n;
  c->dtype = jf_alloc(c->arena, (size_t)n * sizeof *c->dtype);
  c->shape = jf_alloc(c->arena, (size_t)n * sizeof *c->shape);
}

/* What gives output i its shape: the attribute of that name, or else the output is named. */
static const char *infer_shape_of(const jf_infer *c, int i)
{
  for (const jf_attr *a = c->op->attr; a && a->name; a++)
    if (!strcmp(a->name, "shape")) return a->name;
  const int declared = jf_op_n_out(c->op);
  return c->op->out[i < declared ? i : declared - 1];
}

/* The name of input i; inputs past the declared ones share the last name. */
static const char *in_name(const jf_infer *c, int i)
{
  int last = jf_op_n_in(c->op) - 1;
  return c->op->in[i < last ? i : last];
}

/* Fails if t has blocks and the op takes none: few do. */
static jfl_status check_blocks(const jf_infer *c, jfl_dtype t, const char *whose)
{
  if (!jf_is_block(t) || c->op->flags & JF_BLOCKS) return JFL_OK;
  return jf_fail_argument(JFL_EDTYPE, whose, "must not be %s: matmul with transpose_b and gather "
                          "take such weights as they are; quantization.dequantize makes them "
                          "float32", jfl_dtype_name(t));
}

static jfl_status infer_checked(jf_infer *c)
{
  JF_TRY(check_count(c));
  for (int i = 0; i < c->n_in; i++) JF_TRY(check_blocks(c, c->in[i]->dtype, in_name(c, i)));
  jf_infer_many(c, jf_op_n_out(c->op));
  JF_TRY(c->op->infer(c));
  for (int i = 0; i < c->n_out; i++) JF_TRY(check_blocks(c, c->dtype[i], "dtype"));
  for (int i = 0; i < c->n_out; i++) JF_TRY(jf_shape_check(&c->shape[i], infer_shape_of(c, i)));
  return check_dtype(c);
}

jfl_status jf_op_infer(jf_infer *c)
{
  return jf_fail_in(infer_checked(c), JFL_ERROR_OP, c->op->name);
}

jfl_status jf_infer_dtype(const jf_infer *c, int i, int like)
{
  if (jf_halves_seen(c, i) == jf_halves_seen(c, like)) return JFL_OK;
  return jf_fail_argument(JFL_EDTYPE, in_name(c, i), "must be %s like %s, got %s; cast converts",
                          jfl_dtype_name(c->in[like]->dtype), in_name(c, like),
                          jfl_dtype_name(c->in[i]->dtype));
}

static jfl_status same_dtype(const jf_infer *c)
{
  for (int i = 1; i < c->n_in; i++) JF_TRY(jf_infer_dtype(c, i, 0));
  return JFL_OK;
}

jfl_status jf_infer_is(const jf_infer *c, int i, jfl_dtype t, const jfl_shape *s, const char *like)
{
  const jfl_value *v = c->in[i];
  char want[JF_SHAPE_STR], got[JF_SHAPE_STR];
  if (v->dtype == t && jf_shape_eq(&v->shape, s)) return JFL_OK;
  return jf_fail_argument(v->dtype == t ? JFL_ESHAPE : JFL_EDTYPE, in_name(c, i),
                          "must be %s %s%s%s, got %s %s", jfl_dtype_name(t), jf_shape_str(s, want),
                          like ? " like " : "", like ? like : "", jfl_dtype_name(v->dtype),
                          jf_shape_str(&v->shape, got));
}

jfl_status jf_infer_shape(const jf_infer *c, int i, int like)
{
  const jfl_shape *want = &c->in[like]->shape, *got = &c->in[i]->shape;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  if (jf_shape_eq(got, want)) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, in_name(c, i), "must be of shape %s like %s, got %s",
                          jf_shape_str(want, s), in_name(c, like), jf_shape_str(got, t));
}

jfl_status jf_infer_line(const jf_infer *c, int i, int64_t n, const char *each)
{
  const jfl_shape *s = &c->in[i]->shape;
  char got[JF_SHAPE_STR];
  if (s->n == 1 && s->d[0] == n) return JFL_OK;
  return jf_fail_argument(JFL_ESHAPE, in_name(c, i), "must be (%lld), one for each %s, got %s",
                          (long long)n, each, jf_shape_str(s, got));
}

jfl_status jf_infer_same(jf_infer *c)
{
  JF_TRY(same_dtype(c));
  for (int i = 1; i < c->n_in; i++) JF_TRY(jf_infer_shape(c, i, 0));
  c->shape[0] = c->in[0]->shape;
  c->dtype[0] = c->in[0]->dtype;
  return JFL_OK;
}

/* Broadcasts *s against *t as numpy does; returns 0 if they do not fit. */
static int infer_broadcast(jfl_shape *s, const jfl_shape *t)
{
  jfl_shape r = { .n = s->n > t->n ? s->n : t->n };
  for (int i = 1; i <= r.n; i++) {
    int64_t a = i <= s->n ? s->d[s->n - i] : 1, b = i <= t->n ? t->d[t->n - i] : 1;
    if (a != b && a != 1 && b != 1) return 0;
    r.d[r.n - i] = a == 1 ? b : a;
  }
  *s = r;
  return 1;
}

jfl_status jf_infer_broadcast(jf_infer *c)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  JF_TRY(same_dtype(c));
  c->dtype[0] = c->in[0]->dtype;
  c->shape[0] = c->in[0]->shape;
  for (int i = 1; i < c->n_in; i++) {
    jfl_shape so_far = c->shape[0];
    if (!infer_broadcast(&c->shape[0], &c->in[i]->shape))
      return jf_fail(JFL_ESHAPE, "shapes %s and %s do not broadcast: extents from the right must "
                     "be equal or 1", jf_shape_str(&so_far, a), jf_shape_str(&c->in[i]->shape, b));
  }
  return JFL_OK;
}

jfl_status jf_axis(int64_t *axis, int rank)
{
  if (!rank)
    return jf_fail_argument(JFL_ESHAPE, "axis", "must not be given for a scalar, got %lld",
                            (long long)*axis);
  if (*axis < -rank || *axis >= rank)
    return jf_fail_argument(JFL_ESHAPE, "axis",
                            "must be from %d to %d, got %lld; axes count from 0", -rank, rank - 1,
                            (long long)*axis);
  if (*axis < 0) *axis += rank;
  return JFL_OK;
}
