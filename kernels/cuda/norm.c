/* Normalizations and their gradients, as programs whose sums are over rows or channels. They
   compute in float32 or float64; what mixed precision says is read and written in bfloat16. */
#include "op/batch_norm.h"
#include "op/op.h"
#include "op/row_norm.h"
#include "program.h"

static int norm_serves(const jf_kargs *k, const jf_halves *h)
{
  const jfl_dtype t = k->in[0].dtype;
  return (t == JFL_F32 || t == JFL_F64 || h->reads & 1) && jf_numel(&k->in[0].shape) > 0;
}
static int norm_row_accepts(const jf_kargs *k)
{
  return norm_serves(k, &((const jf_row_norm *)k->attr)->halves);
}
static int norm_channel_accepts(const jf_kargs *k)
{
  return norm_serves(k, &((const jf_batch_norm *)k->attr)->halves);
}

/* The dtype that is computed in where a tensor has that one. */
static jfl_dtype norm_wide(jfl_dtype t) { return t == JFL_BF16 ? JFL_F32 : t; }

/* Input `from` of the call, and the first result, which is written in another dtype than it is
   computed in. */
static int norm_input(jf_recipe *r, const jf_kargs *k, int from, jf_slot_kind kind,
                      const int64_t *step)
{
  const jfl_dtype t = k->in[from].dtype;
  return jf_recipe_cast(r, jf_recipe_in(r, from, t, kind, step), norm_wide(t));
}
static void norm_output(jf_recipe *r, const jf_kargs *k, int a)
{
  jf_recipe_out(r, jf_recipe_cast(r, a, k->out[0].dtype), k->n_in);
}

/* ---- rows ---- */

/* A call of row_norm or its gradient. */
typedef struct norm_rows {
  const jf_row_norm *a;
  const jf_kargs *k;
  jf_rows rows;
  jfl_dtype t;
  jfl_shape space;
  int64_t param[JFL_MAXDIM];           /* the steps of gamma and beta along its axes, */
  int64_t row[JFL_MAXDIM];             /* and those of what has a number for each row */
} norm_rows;

static norm_rows norm_rows_of(const jf_kargs *k, const jf_tensor *x, int first_param)
{
  const int64_t n_param = k->n_in > first_param ? jf_numel(&k->in[first_param].shape) : 0;
  norm_rows c = { .a = k->attr, .k = k, .t = norm_wide(x->dtype) };
  const jf_rows s = c.rows = jf_rows_of(&x->shape, k->attr, n_param);
  if (n_param && !s.step) {
    c.space = (jfl_shape){ 4, { s.n / s.groups, s.groups, s.pieces, s.piece } };
    c.param[1] = s.pieces;
    c.row[0] = s.groups;
  } else if (n_param > s.length) {
    c.space = (jfl_shape){ 3, { s.n * s.length / n_param, n_param / s.length, s.length } };
    c.param[1] = s.length;
    c.row[0] = n_param / s.length;
  } else {
    c.space = (jfl_shape){ 3, { s.n, s.pieces, s.piece } };
    c.row[0] = 1;
  }
  c.param[2] = n_param > 0;
  c.row[1] = n_param > 0 && (!s.step || n_param > s.length);
  return c;
}

static int norm_in(jf_recipe *r, const norm_rows *c, int from, jf_slot_kind kind)
{
  return norm_input(r, c->k, from, kind, c->param);
}

/* The mean is subtracted in two turns, the second of which takes what rounding has left: where a
   mean is large that would show. */
static void norm_row_forward(jf_recipe *r, const jf_kargs *k, const norm_rows *c)
{
  const jf_row_norm *a = c->a;
  jf_recipe_begin(r, "row_norm", &c->space, c->rows.length);
  const int x = norm_in(r, c, 0, JF_SLOT_EACH), none = jf_recipe_number(r, c->t, 0);
  int mean = jf_recipe_op(r, &jf_op_add, none, none), u = x;
  for (int turn = 0; turn < 2 && a->center; turn++) {
    const int rest = jf_recipe_row_mean(r, u);
    mean = jf_recipe_op(r, &jf_op_add, mean, rest);
    u = jf_recipe_op(r, &jf_op_subtract, u, rest);
  }
  const int variance = jf_recipe_row_mean(r, jf_recipe_op(r, &jf_op_square, u, -1));
  const int epsilon = jf_recipe_number(r, c->t, a->epsilon);
  const int inverse = jf_recipe_op(r, &jf_op_rsqrt, jf_recipe_op(r, &jf_op_add, variance, epsilon),
                                   -1);
  int y = jf_recipe_op(r, &jf_op_multiply, u, inverse);
  if (a->scale) y = jf_recipe_op(r, &jf_op_multiply, y, norm_in(r, c, 1, JF_SLOT_BROADCAST));
  if (a->shift) y = jf_recipe_op(r, &jf_op_add, y, norm_in(r, c, k->n_in - 1, JF_SLOT_BROADCAST));
  norm_output(r, k, y);
  jf_recipe_out(r, mean, k->n_in + 1);
  jf_recipe_out(r, inverse, k->n_in + 2);
}

enum { NORM_DX = 1, NORM_PARAMS = 2 };

/* With g = gamma dy, u = x - mean and i the inverse:
     dx = i (g - mean of g - u i^2 mean of (g u)),  dgamma = sum of dy u i,  dbeta = sum of dy.
   The sums for params that are not of rows may have a program of their own, over no rows. */
static void norm_row_backward(jf_recipe *r, const jf_kargs *k, const norm_rows *c, int what)
{
  const jf_row_norm *a = c->a;
  const jf_slot_kind row = what & NORM_DX ? JF_SLOT_ROW : JF_SLOT_BROADCAST;
  jf_recipe_begin(r, "row_norm_grad", &c->space, what & NORM_DX ? c->rows.length : 0);
  const int dy = norm_in(r, c, 0, JF_SLOT_EACH), x = norm_in(r, c, 1, JF_SLOT_EACH);
  const int mean = jf_recipe_in(r, 2, c->t, row, c->row);
  const int inverse = jf_recipe_in(r, 3, c->t, row, c->row);
  const int u = jf_recipe_op(r, &jf_op_subtract, x, mean);
  if (what & NORM_DX) {
    int g = dy;
    if (a->scale) g = jf_recipe_op(r, &jf_op_multiply, dy, norm_in(r, c, 4, JF_SLOT_BROADCAST));
    const int product = jf_recipe_row_mean(r, jf_recipe_op(r, &jf_op_multiply, g, u));
    const int once = jf_recipe_op(r, &jf_op_multiply, product, inverse);
    const int slope = jf_recipe_op(r, &jf_op_multiply, once, inverse);
    const int rest = jf_recipe_op(r, &jf_op_multiply, u, slope);
    if (a->center) g = jf_recipe_op(r, &jf_op_subtract, g, jf_recipe_row_mean(r, g));
    g = jf_recipe_op(r, &jf_op_subtract, g, rest);
    norm_output(r, k, jf_recipe_op(r, &jf_op_multiply, g, inverse));
  }
  if (!(what & NORM_PARAMS)) return;
  if (a->scale) {
    const int all = jf_recipe_op(r, &jf_op_multiply, jf_recipe_op(r, &jf_op_multiply, dy, u),
                                 inverse);
    jf_recipe_sum(r, all, c->param, c->t, 1, k->n_in + 1);
  }
  if (a->shift) jf_recipe_sum(r, dy, c->param, c->t, 1, k->n_in + 1 + a->scale);
}

static jfl_status row_norm_list(jf_recipes *l, jf_kargs *k)
{
  const norm_rows c = norm_rows_of(k, &k->in[0], 1);
  jf_recipe r;
  norm_row_forward(&r, k, &c);
  return jf_recipes_add(l, k, &r);
}

static jfl_status row_norm_grad_list(jf_recipes *l, jf_kargs *k)
{
  const norm_rows c = norm_rows_of(k, &k->in[1], 4);
  const int any = c.a->scale || c.a->shift;
  jf_recipe r;
  norm_row_backward(&r, k, &c, NORM_DX | (any ? NORM_PARAMS : 0));
  const jfl_status s = jf_recipes_add(l, k, &r);
  if (s != JFL_ENOSYS) return s;
  /* dx may be written over dy. */
  norm_row_backward(&r, k, &c, NORM_PARAMS);
  JF_TRY(jf_recipes_add(l, k, &r));
  norm_row_backward(&r, k, &c, NORM_DX);
  return jf_recipes_add(l, k, &r);
}

/* ---- channels ---- */

/* A call of batch_norm or its gradient, over the axes outer, groups, inner and width. */
typedef struct norm_channels {
  const jf_batch_norm *a;
  const jf_kargs *k;
  jfl_dtype t;
  jfl_shape space;
  int64_t step[4];                     /* of what has a number for each channel */
  double count;                        /* elements of a channel */
} norm_channels;

static norm_channels norm_channels_of(const jf_kargs *k, const jf_tensor *x)
{
  const jf_batch_plane p = jf_batch_plane_of(&x->shape, k->attr);
  return (norm_channels){ k->attr, k, norm_wide(x->dtype),
                          { 4, { p.outer, p.groups, p.inner, p.width } },
                          { 0, p.width, 0, 1 }, (double)(p.outer * p.inner) };
}

/* A number for each channel: an input, or a result or what is in scratch. */
static int norm_line(jf_recipe *r, const norm_channels *c, int from)
{
  if (from < c->k->n_in) return norm_input(r, c->k, from, JF_SLOT_BROADCAST, c->step);
  return jf_recipe_in(r, from, c->t, JF_SLOT_BROADCAST, c->step);
}
static int norm_each(jf_recipe *r, const norm_channels *c, int from)
{
  return norm_input(r, c->k, from, JF_SLOT_EACH, NULL);
}

/* What programs leave in scratch, a number for each channel. */
enum { NORM_FIRST = JF_RECIPE_OWN, NORM_SECOND, NORM_SCALE, NORM_INVERSE, NORM_OWN = 4 };

static void norm_scratch(jf_recipes *l, const norm_channels *c, size_t *scratch)
{
  enum { ALIGNMENT = 64 };
  const size_t bytes = (size_t)(c->space.d[1] * c->space.d[3]) * sizeof(double);
  for (int i = 0; i < NORM_OWN; i++)
    l->at[i] = (size_t)i * ((bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
  *scratch = NORM_OWN * ((bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

/* Writes 1 / sqrt(variance + epsilon), and gamma times that, for a program over channels, in double
   so that each is rounded once. */
static void norm_scale(jf_recipe *r, const norm_channels *c, int variance, int gamma)
{
  const int epsilon = jf_recipe_number(r, JFL_F64, c->a->epsilon);
  const int sum = jf_recipe_op(r, &jf_op_add, jf_recipe_cast(r, variance, JFL_F64), epsilon);
  const int inverse = jf_recipe_op(r, &jf_op_rsqrt, sum, -1);
  const int factor = jf_recipe_cast(r, norm_each(r, c, gamma), JFL_F64);
  const int scale = jf_recipe_op(r, &jf_op_multiply, factor, inverse);
  jf_recipe_out(r, jf_recipe_cast(r, inverse, c->t), NORM_INVERSE);
  jf_recipe_out(r, jf_recipe_cast(r, scale, c->t), NORM_SCALE);
}

/* The means of x and d^2, where d is x without the channel's first element: so one sweep gives the
   variance without the loss of digits that squares of x itself would have. */
static void norm_moments(jf_recipe *r, const norm_channels *c)
{
  const int64_t *n = c->space.d, first[4] = { 0, n[2] * n[3], 0, 1 };
  jf_recipe_begin(r, "batch_norm", &c->space, 0);
  const int x = norm_each(r, c, 0), shift = norm_input(r, c->k, 0, JF_SLOT_BROADCAST, first);
  const int d = jf_recipe_op(r, &jf_op_subtract, x, shift);
  const int square = jf_recipe_op(r, &jf_op_square, d, -1);
  jf_recipe_sum(r, x, c->step, JFL_F64, c->count, NORM_FIRST);
  jf_recipe_sum(r, square, c->step, JFL_F64, c->count, NORM_SECOND);
}

/* Mean, variance and scale of each channel, from those moments. */
static void norm_statistics(jf_recipe *r, const jf_kargs *k, const norm_channels *c)
{
  const int64_t *n = c->space.d, first[2] = { n[2] * n[3], 1 };
  const jfl_shape channels = { 2, { n[1], n[3] } };
  jf_recipe_begin(r, "batch_norm", &channels, 0);
  const int mean = jf_recipe_in(r, NORM_FIRST, JFL_F64, JF_SLOT_EACH, NULL);
  const int squares = jf_recipe_in(r, NORM_SECOND, JFL_F64, JF_SLOT_EACH, NULL);
  const int x = norm_input(r, k, 0, JF_SLOT_BROADCAST, first);
  const int d = jf_recipe_op(r, &jf_op_subtract, mean, jf_recipe_cast(r, x, JFL_F64));
  const int less = jf_recipe_op(r, &jf_op_subtract, squares, jf_recipe_op(r, &jf_op_square, d, -1));
  const int above = jf_recipe_op(r, &jf_op_relu, less, -1);
  const int variance = jf_recipe_cast(r, above, c->t);
  const int result = jf_recipe_op(r, &jf_op_add, mean, jf_recipe_number(r, JFL_F64, 0));
  jf_recipe_out(r, jf_recipe_cast(r, result, c->t), k->n_in + 1);
  jf_recipe_out(r, variance, k->n_in + 2);
  norm_scale(r, c, variance, 1);
}

static void norm_apply(jf_recipe *r, const jf_kargs *k, const norm_channels *c)
{
  jf_recipe_begin(r, "batch_norm", &c->space, 0);
  const int x = norm_each(r, c, 0), mean = norm_line(r, c, k->n_in + 1);
  const int u = jf_recipe_op(r, &jf_op_subtract, x, mean);
  int y = jf_recipe_op(r, &jf_op_multiply, u, norm_line(r, c, NORM_SCALE));
  y = jf_recipe_op(r, &jf_op_add, y, norm_line(r, c, 2));
  if (c->a->add) y = jf_recipe_op(r, &jf_op_add, y, norm_each(r, c, 3));
  if (c->a->relu) y = jf_recipe_op(r, &jf_op_relu, y, -1);
  norm_output(r, k, y);
}

static jfl_status batch_norm_list(jf_recipes *l, jf_kargs *k)
{
  const norm_channels c = norm_channels_of(k, &k->in[0]);
  jf_recipe r;
  norm_scratch(l, &c, &k->scratch_size);
  norm_moments(&r, &c);
  JF_TRY(jf_recipes_add(l, k, &r));
  norm_statistics(&r, k, &c);
  JF_TRY(jf_recipes_add(l, k, &r));
  norm_apply(&r, k, &c);
  return jf_recipes_add(l, k, &r);
}

/* u = x - mean, and what relu lets pass of dy. */
static int norm_passed(jf_recipe *r, const norm_channels *c, int *u)
{
  int dy = norm_each(r, c, 0);
  *u = jf_recipe_op(r, &jf_op_subtract, norm_each(r, c, 1), norm_line(r, c, 2));
  if (c->a->sum) dy = jf_recipe_op(r, &jf_op_add, dy, norm_each(r, c, 6));
  if (!c->a->relu) return dy;
  if (c->a->add) return jf_recipe_op(r, &jf_op_relu_grad, norm_each(r, c, 5), dy);
  const int y = jf_recipe_op(r, &jf_op_multiply, *u, norm_line(r, c, NORM_SCALE));
  return jf_recipe_op(r, &jf_op_relu_grad, jf_recipe_op(r, &jf_op_add, y, norm_line(r, c, 5)), dy);
}

/* With an addend, what relu lets pass is its gradient: it is written here for the next program,
   which then reads one tensor in place of two or three. */
static void norm_channel_sums(jf_recipe *r, const jf_kargs *k, const norm_channels *c)
{
  int u;
  jf_recipe_begin(r, "batch_norm_grad", &c->space, 0);
  int d = norm_passed(r, c, &u);
  if (c->a->add) {
    const jfl_dtype t = k->out[3].dtype;
    d = jf_recipe_cast(r, d, t);
    jf_recipe_out(r, d, k->n_in + 3);
    d = jf_recipe_cast(r, d, c->t);
  }
  const int product = jf_recipe_op(r, &jf_op_multiply, jf_recipe_op(r, &jf_op_multiply, d, u),
                                   norm_line(r, c, NORM_INVERSE));
  jf_recipe_sum(r, product, c->step, c->t, 1, k->n_in + 1);
  jf_recipe_sum(r, d, c->step, c->t, 1, k->n_in + 2);
}

/* As norm_passed, where the first program has written what relu lets pass. */
static int norm_kept(jf_recipe *r, const norm_channels *c, int *u)
{
  const jfl_dtype t = c->k->out[3].dtype;
  *u = jf_recipe_op(r, &jf_op_subtract, norm_each(r, c, 1), norm_line(r, c, 2));
  return jf_recipe_cast(r, jf_recipe_in(r, c->k->n_in + 3, t, JF_SLOT_EACH, NULL), c->t);
}

/* dx = gamma / s (d - dbeta / count - u / s dgamma / count), with s the standard deviation. */
static void norm_slopes(jf_recipe *r, const jf_kargs *k, const norm_channels *c)
{
  int u;
  jf_recipe_begin(r, "batch_norm_grad", &c->space, 0);
  const int d = c->a->add ? norm_kept(r, c, &u) : norm_passed(r, c, &u);
  const int share = jf_recipe_number(r, c->t, 1 / c->count);
  const int dgamma = jf_recipe_op(r, &jf_op_multiply, norm_line(r, c, k->n_in + 1), share);
  const int dbeta = jf_recipe_op(r, &jf_op_multiply, norm_line(r, c, k->n_in + 2), share);
  const int unit = jf_recipe_op(r, &jf_op_multiply, u, norm_line(r, c, NORM_INVERSE));
  const int rest = jf_recipe_op(r, &jf_op_multiply, unit, dgamma);
  const int less = jf_recipe_op(r, &jf_op_subtract, jf_recipe_op(r, &jf_op_subtract, d, dbeta),
                                rest);
  const int dx = jf_recipe_op(r, &jf_op_multiply, less, norm_line(r, c, NORM_SCALE));
  norm_output(r, k, dx);
}

static jfl_status batch_norm_grad_list(jf_recipes *l, jf_kargs *k)
{
  const norm_channels c = norm_channels_of(k, &k->in[1]);
  const jfl_shape channels = { 2, { c.space.d[1], c.space.d[3] } };
  jf_recipe r;
  norm_scratch(l, &c, &k->scratch_size);
  jf_recipe_begin(&r, "batch_norm_grad", &channels, 0);
  norm_scale(&r, &c, norm_each(&r, &c, 3), 4);
  JF_TRY(jf_recipes_add(l, k, &r));
  norm_channel_sums(&r, k, &c);
  JF_TRY(jf_recipes_add(l, k, &r));
  norm_slopes(&r, k, &c);
  return jf_recipes_add(l, k, &r);
}

/* ---- rows of kernels ---- */

static jfl_status cuda_norm_prepare(jf_kargs *k)
{
  static const struct {
    const jfl_op *op;
    jfl_status (*list)(jf_recipes *l, jf_kargs *k);
  } norms[] = {
    { &jf_op_row_norm, row_norm_list }, { &jf_op_row_norm_grad, row_norm_grad_list },
    { &jf_op_batch_norm, batch_norm_list }, { &jf_op_batch_norm_grad, batch_norm_grad_list },
  };
  jf_recipes *l = jf_new(sizeof *l);
  if (!l) return jf_fail(JFL_ENOMEM, "out of memory");
  int i = 0;
  while (norms[i].op != k->op) i++;
  const jfl_status s = norms[i].list(l, k);
  if (s) jf_recipes_free(l);
  else k->state = l;
  return s;
}

#define NORMS(op_, accepts_) .op = op_, .accepts = accepts_, .prepare = cuda_norm_prepare, \
  .run = jf_recipes_run, .release = jf_recipes_free, .priority = JF_OWN_FIRST
JFL_CUDA(cuda_row_norm, NORMS("row_norm row_norm_grad", norm_row_accepts))
JFL_CUDA(cuda_batch_norm, NORMS("batch_norm batch_norm_grad", norm_channel_accepts))
