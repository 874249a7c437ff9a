/* Convolutions whose groups are single channels, and their gradients: line by line and tap by tap,
   for 16 channels that lie beside each other or for one channel. */
#include "conv.h"

typedef struct own_depthwise {
  jf_own_unit unit;
  jf_unit_conv c;
  jf_unit_kind kind;
  jf_own_images x, y;
  jf_own_axis axis[3];
  int64_t lanes;               /* 16 channels or one at a time */
} own_depthwise;

/* What the loops below work on: n cells, from one to the next `to_next` and `from_next` floats. */
typedef struct depthwise_line {
  float *to;
  const float *from;
  float *w;
  int64_t to_next, from_next, n;
} depthwise_line;

/* to += w from */
JF_BODY void depthwise_add_body(const depthwise_line *l)
{
  float w[JF_LANES], *restrict to = l->to;
  const float *restrict from = l->from;
  for (int i = 0; i < JF_LANES; i++) w[i] = l->w[i];
  for (int64_t j = 0; j < l->n; j++, to += l->to_next, from += l->from_next)
    for (int i = 0; i < JF_LANES; i++) to[i] += w[i] * from[i];
}
JF_DISPATCH(depthwise_add, (const depthwise_line *l), (l))

/* w += to from */
JF_BODY void depthwise_sum_body(const depthwise_line *l)
{
  float w[JF_LANES];
  const float *to = l->to, *from = l->from;
  for (int i = 0; i < JF_LANES; i++) w[i] = l->w[i];
  for (int64_t j = 0; j < l->n; j++, to += l->to_next, from += l->from_next)
    for (int i = 0; i < JF_LANES; i++) w[i] += to[i] * from[i];
  for (int i = 0; i < JF_LANES; i++) l->w[i] = w[i];
}
JF_DISPATCH(depthwise_sum, (const depthwise_line *l), (l))

/* The same of one channel. */
JF_BODY void depthwise_add_one_body(const depthwise_line *l)
{
  float *restrict to = l->to;
  const float *restrict from = l->from, w = *l->w;
  if (l->to_next == 1 && l->from_next == 1)
    for (int64_t j = 0; j < l->n; j++) to[j] += w * from[j];
  else
    for (int64_t j = 0; j < l->n; j++) to[j * l->to_next] += w * from[j * l->from_next];
}
JF_DISPATCH(depthwise_add_one, (const depthwise_line *l), (l))

static void depthwise_sum_one(const depthwise_line *l)
{
  double sum = 0;
  for (int64_t j = 0; j < l->n; j++)
    sum += (double)l->to[j * l->to_next] * l->from[j * l->from_next];
  *l->w += (float)sum;
}

static void depthwise_do(const own_depthwise *p, const depthwise_line *l)
{
  const int sums = p->kind == JF_UNIT_FILTER_GRAD;
  if (p->lanes == 1) (sums ? depthwise_sum_one : depthwise_add_one)(l);
  else (sums ? depthwise_sum : depthwise_add)(l);
}

/* One tap, for a line of y. */
static void depthwise_tap(const own_depthwise *p, const int64_t u[3], const int64_t line[2],
                          float *x, float *y, float *w)
{
  int64_t at = 0;
  for (int i = 0; i < 2; i++) {
    const int64_t cell = line[i] * p->axis[i].stride + p->axis[i].shift[u[i]];
    if (cell < 0 || cell >= p->x.size[i]) return;
    at += cell * p->x.step[i];
  }
  const jf_own_range in = jf_own_meets(&p->axis[2], p->x.size[2], p->y.size[2], u[2]);
  if (in.lo >= in.hi) return;
  x += at + (in.lo * p->axis[2].stride + p->axis[2].shift[u[2]]) * p->x.step[2];
  y += in.lo * p->y.step[2];
  const int64_t x_next = p->axis[2].stride * p->x.step[2], y_next = p->y.step[2];
  const int back = p->kind == JF_UNIT_DATA_GRAD;
  const depthwise_line l = { back ? x : y,           back ? y : x,           w,
                             back ? x_next : y_next, back ? y_next : x_next, in.hi - in.lo };
  depthwise_do(p, &l);
}

/* Channels of one image; w has their taps, `lanes` numbers each. */
static void depthwise_image(const own_depthwise *p, float *x, float *y, float *w)
{
  const int64_t *n = p->c.kernel;
  for (int64_t d = 0; d < p->y.size[0]; d++)
    for (int64_t h = 0; h < p->y.size[1]; h++) {
      const int64_t line[2] = { d, h };
      float *to = y + d * p->y.step[0] + h * p->y.step[1];
      for (int64_t t = 0; t < jf_own_taps(&p->c); t++) {
        const int64_t u[3] = { t / (n[1] * n[2]), t / n[2] % n[1], t % n[2] };
        depthwise_tap(p, u, line, x, to, w + t * p->lanes);
      }
    }
}

/* The cells of the result begin as the bias and the residual, or 0. */
static void depthwise_begin(const own_depthwise *p, const float *bias, const float *residual,
                            float *to)
{
  const jf_own_images *y = p->kind == JF_UNIT_DATA_GRAD ? &p->x : &p->y;
  const int64_t cells = y->size[0] * y->size[1] * y->size[2];
  for (int64_t j = 0; j < cells; j++)
    for (int64_t i = 0; i < p->lanes; i++) {
      const int64_t at = j * y->step[2] + i;
      to[at] = (bias ? bias[i] : 0) + (residual ? residual[at] : 0);
    }
}

/* dbias of some channels of an image. */
static void depthwise_bias(const own_depthwise *p, const float *dy, int first, float *dbias)
{
  const int64_t cells = p->y.size[0] * p->y.size[1] * p->y.size[2];
  for (int64_t i = 0; i < p->lanes; i++) {
    double sum = 0;
    for (int64_t j = 0; j < cells; j++) sum += dy[j * p->y.step[2] + i];
    dbias[i] = (float)sum + (first ? 0 : dbias[i]);
  }
}

/* Where the filters, which are plain or have channels last, keep a tap of channel c: they are of
   one channel each, so both are the same. */
static void depthwise_turn(const own_depthwise *p, float *filters, int64_t c, float *w, int back)
{
  const int64_t taps = jf_own_taps(&p->c);
  for (int64_t i = 0; i < p->lanes; i++)
    for (int64_t t = 0; t < taps; t++) {
      float *at = filters + (c + i) * taps + t;
      if (back) *at = w[t * p->lanes + i];
      else w[t * p->lanes + i] = *at;
    }
}

static void depthwise_channels(const own_depthwise *p, const jf_unit_run *r, int64_t c, float *w)
{
  const int grad = p->kind == JF_UNIT_FILTER_GRAD, back = p->kind == JF_UNIT_DATA_GRAD;
  float *filters = grad ? r->c : (float *)r->b;
  if (grad) memset(w, 0, (size_t)(jf_own_taps(&p->c) * p->lanes) * sizeof *w);
  else depthwise_turn(p, filters, c, w, 0);
  for (int64_t n = 0; n < p->c.batch; n++) {
    const int64_t x = n * p->x.by_image + c * p->x.by_group, y = n * p->y.by_image +
                                                                   c * p->y.by_group;
    float *at_x = (back ? (float *)r->c : (float *)r->a) + x;
    float *at_y = (back ? (float *)r->a : grad ? (float *)r->b : (float *)r->c) + y;
    const float *residual = r->residual ? (const float *)r->residual + y : NULL;
    if (!grad)
      depthwise_begin(p, r->bias ? (const float *)r->bias + c : NULL, residual, back ? at_x : at_y);
    depthwise_image(p, at_x, at_y, w);
    if (r->dbias) depthwise_bias(p, at_y, n == 0, (float *)r->dbias + c);
  }
  if (grad) depthwise_turn(p, filters, c, w, 1);
}

static void depthwise_run(const jf_own_unit *u, float *scratch, const jf_unit_run *r)
{
  const own_depthwise *p = (const own_depthwise *)u;
  for (int64_t c = 0; c < p->c.in_channels; c += p->lanes) depthwise_channels(p, r, c, scratch);
}

static void depthwise_release(jf_own_unit *u) { jf_free(((own_depthwise *)u)->axis[0].start); }

int jf_own_is_depthwise(const jf_unit_conv *c)
{
  return c->groups > 1 && c->groups == c->in_channels && c->groups == c->out_channels &&
         c->block_x == c->block_y;
}

jfl_status jf_own_depthwise(const jf_unit_conv *c, jf_unit_kind kind, jf_unit_make *make)
{
  own_depthwise *p = jf_new(sizeof *p);
  if (!p) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
  p->unit = (jf_own_unit){ depthwise_run, NULL, depthwise_release, NULL };
  p->c = *c;
  p->kind = kind;
  p->x = jf_own_images_of(c, c->in_channels, c->in, c->block_x);
  p->y = jf_own_images_of(c, c->out_channels, c->out, c->block_y);
  p->lanes = c->block_x || (c->last && c->in_channels % JF_LANES == 0) ? JF_LANES : 1;
  const jfl_status s = jf_own_axes(c, 0, p->axis);
  if (s != JFL_OK) {
    jf_free(p);
    return s;
  }
  make->unit = p;
  make->scratch = (size_t)(jf_own_taps(c) * p->lanes) * sizeof(float);
  make->ready = 0;
  return JFL_OK;
}
