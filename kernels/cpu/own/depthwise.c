/* Convolutions whose groups are single channels, and their gradients. Where 16 channels lie beside
   each other, the sums of some cells of the result stay in registers; cells that the same taps
   serve are done together. The gradient for the filters, and single channels, go line by line and
   tap by tap; the gradient first copies images whose channels do not lie so. */
#include "conv.h"
#include "tile.h"

#include "base/walk.h"

typedef struct own_depthwise {
  jf_own_primitive unit;
  jf_primitive_conv c;
  jf_primitive_kind kind;
  jf_own_images x, y;
  jf_own_axis axis[3];
  int64_t lanes;               /* 16 channels or one at a time */
  int by_cells;                /* results cell by cell; axes are those of the result then */
  int copies;                  /* 16 channels of an image are copied to scratch before use; steps of
                                  x and y are those of the copies */
} own_depthwise;

/* COPY_BYTES: the most memory for the copies of a worker. */
enum { COPY_BYTES = 1 << 23 };

static int64_t depthwise_cells_of(const jf_own_images *x)
{
  return x->size[0] * x->size[1] * x->size[2];
}

/* How many channels of those from c on are done together. */
static int64_t depthwise_wide(const own_depthwise *p, int64_t c)
{
  return p->c.in_channels - c < p->lanes ? p->c.in_channels - c : p->lanes;
}

/* ---- cell by cell ---- */

/* Results that the same taps serve, of a phase along each axis. */
typedef struct depthwise_part { int64_t phase[3], count[3], lo[3], hi[3]; } depthwise_part;

static const jf_own_images *depthwise_from(const own_depthwise *p)
{
  return p->kind == JF_UNIT_DATA_GRAD ? &p->y : &p->x;
}

static const jf_own_images *depthwise_to(const own_depthwise *p)
{
  return p->kind == JF_UNIT_DATA_GRAD ? &p->x : &p->y;
}

/* The results along axis i that tap u serves. */
static jf_own_range depthwise_serves(const own_depthwise *p, const depthwise_part *part, int i,
                                     int64_t u)
{
  return jf_own_meets(&p->axis[i], depthwise_from(p)->size[i], part->count[i], u);
}

/* Ends the part, along axis i, where another tap begins to serve or one ceases to. */
static void depthwise_end(const own_depthwise *p, int i, depthwise_part *part)
{
  const jf_own_axis *a = &p->axis[i];
  const int64_t at = part->lo[i];
  part->hi[i] = part->count[i];
  for (int64_t u = a->start[part->phase[i]]; u < a->start[part->phase[i] + 1]; u++) {
    const jf_own_range in = depthwise_serves(p, part, i, u);
    if (in.lo > at && in.lo < part->hi[i]) part->hi[i] = in.lo;
    if (in.hi > at && in.hi < part->hi[i]) part->hi[i] = in.hi;
  }
}

/* Lists the taps from axis i on that serve the part; `at` is where the axes before it lead. */
static jf_own_tap *depthwise_list(const own_depthwise *p, const depthwise_part *part, int i,
                                  jf_own_tap at, jf_own_tap *list)
{
  if (i == 3) {
    *list = (jf_own_tap){ at.from, at.w * JF_LANES };
    return list + 1;
  }
  const jf_own_axis *a = &p->axis[i];
  for (int64_t u = a->start[part->phase[i]]; u < a->start[part->phase[i] + 1]; u++) {
    const jf_own_range in = depthwise_serves(p, part, i, u);
    if (part->lo[i] < in.lo || part->lo[i] >= in.hi) continue;
    const jf_own_tap next = { at.from + a->shift[u] * depthwise_from(p)->step[i],
                              at.w * p->c.kernel[i] + a->index[u] };
    list = depthwise_list(p, part, i + 1, next, list);
  }
  return list;
}

/* The cells of a part along axis i, where the other axes are at `at`, in tiles of equal size. */
static void depthwise_row(const own_depthwise *p, const depthwise_part *part, int i,
                          const int64_t at[3], jf_own_cells c)
{
  const int64_t n = part->hi[i] - part->lo[i], most = p->unit.loop->rows;
  const int64_t tiles = (n + most - 1) / most;
  int64_t from = 0, to = 0;
  for (int j = 0; j < 3; j++) {
    from += at[j] * p->axis[j].stride * depthwise_from(p)->step[j];
    to += (at[j] * p->axis[j].phases + part->phase[j]) * depthwise_to(p)->step[j];
  }
  c.from_next = p->axis[i].stride * depthwise_from(p)->step[i];
  c.to_next = p->axis[i].phases * depthwise_to(p)->step[i];
  for (int64_t t = 0; t < tiles; t++) {
    const int64_t first = n * t / tiles, rows = n * (t + 1) / tiles - first;
    jf_own_cells tile = c;
    tile.from += from + first * c.from_next;
    tile.to += to + first * c.to_next;
    if (c.residual) tile.residual += to + first * c.to_next;
    p->unit.loop->cells(&tile, (int)rows);
  }
}

/* A part of an image, along its longer axis. */
static void depthwise_part_of(const own_depthwise *p, const depthwise_part *part, jf_own_tap *tap,
                              jf_own_cells c)
{
  const int along = part->hi[1] - part->lo[1] > part->hi[2] - part->lo[2] ? 1 : 2;
  const int across = 3 - along;
  int64_t at[3];
  c.taps = depthwise_list(p, part, 0, (jf_own_tap){ 0, 0 }, tap) - tap;
  c.tap = tap;
  at[along] = part->lo[along];
  for (at[0] = part->lo[0]; at[0] < part->hi[0]; at[0]++)
    for (at[across] = part->lo[across]; at[across] < part->hi[across]; at[across]++)
      depthwise_row(p, part, along, at, c);
}

/* The results of 16 channels of an image. */
static void depthwise_cells(const own_depthwise *p, jf_own_tap *tap, const jf_own_cells *c)
{
  const jf_own_axis *a = p->axis;
  for (int64_t n = 0; n < a[0].phases * a[1].phases * a[2].phases; n++) {
    depthwise_part part = { .phase = { n / (a[1].phases * a[2].phases),
                                       n / a[2].phases % a[1].phases, n % a[2].phases } };
    for (int i = 0; i < 3; i++) part.count[i] = jf_own_count(&a[i], depthwise_to(p)->size[i],
                                                             part.phase[i]);
    for (part.lo[0] = 0; part.lo[0] < part.count[0]; part.lo[0] = part.hi[0]) {
      depthwise_end(p, 0, &part);
      for (part.lo[1] = 0; part.lo[1] < part.count[1]; part.lo[1] = part.hi[1]) {
        depthwise_end(p, 1, &part);
        for (part.lo[2] = 0; part.lo[2] < part.count[2]; part.lo[2] = part.hi[2]) {
          depthwise_end(p, 2, &part);
          depthwise_part_of(p, &part, tap, *c);
        }
      }
    }
  }
}

/* ---- tap by tap ---- */

/* What the loops below work on: n cells, from one to the next `to_next` and `from_next` floats. */
typedef struct depthwise_line {
  float *to;
  const float *from;
  float *w;
  int64_t to_next, from_next, n;
} depthwise_line;

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

/* to += w from, of one channel */
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

/* w += to from, of one channel */
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
  if (!sums) depthwise_add_one(l);
  else (p->lanes == 1 ? depthwise_sum_one : depthwise_sum)(l);
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

/* The cells of a channel of the result begin as the bias and the residual, or 0. */
static void depthwise_begin(const own_depthwise *p, const float *bias, const float *residual,
                            float *to)
{
  const jf_own_images *y = depthwise_to(p);
  for (int64_t j = 0; j < depthwise_cells_of(y); j++)
    to[j * y->step[2]] = (bias ? *bias : 0) + (residual ? residual[j * y->step[2]] : 0);
}

/* dbias of n channels of an image. */
static void depthwise_bias(const own_depthwise *p, const float *dy, int64_t n, int first,
                           float *dbias)
{
  const int64_t cells = depthwise_cells_of(&p->y);
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < cells; j++) sum += dy[j * p->y.step[2] + i];
    dbias[i] = (float)sum + (first ? 0 : dbias[i]);
  }
}

/* Where the filters, which are plain or have channels last, keep a tap of channel c: they are of
   one channel each, so both are the same. */
static void depthwise_turn(const own_depthwise *p, float *filters, int64_t c, float *w, int back)
{
  const int64_t taps = jf_own_taps(&p->c), n = depthwise_wide(p, c);
  for (int64_t i = 0; i < n; i++)
    for (int64_t t = 0; t < taps; t++) {
      float *at = filters + (c + i) * taps + t;
      if (back) *at = w[t * p->lanes + i];
      else w[t * p->lanes + i] = *at;
    }
}

/* Copies the channels of an image from c on, which begin at `from`, to lie beside each other. */
static float *depthwise_copy(const own_depthwise *p, const jf_own_images *x, int64_t c,
                             const float *from, float *to)
{
  const int64_t cells = depthwise_cells_of(x), all = p->c.in_channels, n = depthwise_wide(p, c);
  const jf_own_copy last = { from, from - c + cells * all, to, all, JF_LANES, cells, n, 1 };
  if (p->c.last) jf_own_copy_vectors(&last);
  else jf_own_turn(from, cells, n, cells, to);
  return to;
}

static int64_t depthwise_copy_size(const own_depthwise *p, const jf_own_images *x)
{
  return p->copies ? depthwise_cells_of(x) * JF_LANES : 0;
}

/* Some channels of image n; `w` has their taps, and behind these is room for a list of taps, or for
   copies. */
static void depthwise_one(const own_depthwise *p, const jf_primitive_run *r, int64_t n, int64_t c,
                          float *w, float *room)
{
  const int grad = p->kind == JF_UNIT_FILTER_GRAD, back = p->kind == JF_UNIT_DATA_GRAD;
  const int64_t x = n * p->x.by_image + c * p->x.by_group, y = n * p->y.by_image +
                                                                 c * p->y.by_group;
  float *at_x = (back ? (float *)r->c : (float *)r->a) + x;
  float *at_y = (back ? (float *)r->a : grad ? (float *)r->b : (float *)r->c) + y;
  const float *residual = r->residual ? (const float *)r->residual + y : NULL;
  const float *bias = r->bias ? (const float *)r->bias + c : NULL;
  if (p->by_cells) {
    const jf_own_cells cells = { .from = back ? at_y : at_x, .to = back ? at_x : at_y, .w = w,
                                 .bias = bias, .residual = residual };
    depthwise_cells(p, (jf_own_tap *)(void *)room, &cells);
    return;
  }
  if (!grad) depthwise_begin(p, bias, residual, back ? at_x : at_y);
  if (p->copies) at_x = depthwise_copy(p, &p->x, c, at_x, room);
  if (p->copies) at_y = depthwise_copy(p, &p->y, c, at_y, room + depthwise_copy_size(p, &p->x));
  depthwise_image(p, at_x, at_y, w);
  if (r->dbias) depthwise_bias(p, at_y, depthwise_wide(p, c), n == 0, (float *)r->dbias + c);
}

static int64_t depthwise_w_size(const own_depthwise *p) { return jf_own_taps(&p->c) * p->lanes; }

static void depthwise_run(const jf_own_primitive *u, float *scratch, const jf_primitive_run *r)
{
  const own_depthwise *p = (const own_depthwise *)u;
  const int grad = p->kind == JF_UNIT_FILTER_GRAD;
  float *filters = grad ? r->c : (float *)r->b;
  float *room = scratch + jf_own_up(depthwise_w_size(p));
  for (int64_t c = 0; c < p->c.in_channels; c += p->lanes) {
    if (grad) memset(scratch, 0, (size_t)depthwise_w_size(p) * sizeof *scratch);
    else depthwise_turn(p, filters, c, scratch, 0);
    for (int64_t n = 0; n < p->c.batch; n++) depthwise_one(p, r, n, c, scratch, room);
    if (grad) depthwise_turn(p, filters, c, scratch, 1);
  }
}

static void depthwise_release(jf_own_primitive *u) { jf_free(((own_depthwise *)u)->axis[0].start); }

int jf_own_is_depthwise(const jf_primitive_conv *c)
{
  return c->groups > 1 && c->groups == c->in_channels && c->groups == c->out_channels &&
         c->block_x == c->block_y;
}

/* Whether the gradient for the filters copies 16 channels of each image first. */
static int depthwise_copies(const own_depthwise *p)
{
  const int64_t cells = depthwise_cells_of(&p->x) + depthwise_cells_of(&p->y);
  return p->kind == JF_UNIT_FILTER_GRAD && p->lanes == 1 &&
         cells <= COPY_BYTES / JF_LANES / (int64_t)sizeof(float);
}

static void depthwise_set_copies(own_depthwise *p)
{
  jf_own_images *const images[] = { &p->x, &p->y };
  p->lanes = JF_LANES;
  p->copies = 1;
  for (int i = 0; i < 2; i++)
    jf_dense_steps(3, images[i]->size, JF_LANES, images[i]->step);
}

jfl_status jf_own_depthwise(const jf_primitive_conv *c, jf_primitive_kind kind,
                            jf_primitive_make *make)
{
  own_depthwise *p = jf_new(sizeof *p);
  if (!p) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
  p->unit = (jf_own_primitive){ depthwise_run, NULL, depthwise_release, 0, *jf_own_loops() };
  p->c = *c;
  p->kind = kind;
  p->x = jf_own_images_of(c, c->in_channels, c->in, c->block_x);
  p->y = jf_own_images_of(c, c->out_channels, c->out, c->block_y);
  p->lanes = c->block_x || (c->last && c->in_channels % JF_LANES == 0) ? JF_LANES : 1;
  if (depthwise_copies(p)) depthwise_set_copies(p);
  p->by_cells = p->lanes == JF_LANES && kind != JF_UNIT_FILTER_GRAD;
  const jfl_status s = jf_own_axes(c, p->by_cells && kind == JF_UNIT_DATA_GRAD, p->axis);
  if (s != JFL_OK) {
    jf_free(p);
    return s;
  }
  make->unit = p;
  make->scratch = (size_t)(jf_own_up(depthwise_w_size(p)) + depthwise_copy_size(p, &p->x) +
                           depthwise_copy_size(p, &p->y)) * sizeof(float) +
                  (size_t)(p->by_cells ? jf_own_taps(c) : 0) * sizeof(jf_own_tap);
  make->ready = 0;
  return JFL_OK;
}
