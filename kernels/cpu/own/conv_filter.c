/* Gradients of convolutions for their filters: products whose rows are channels and taps of x,
   whose columns are channels of dy, and whose sums go over cells. Where channels lie beside each
   other both are read as they are; else they are packed so first. Few channels of x are packed for
   all taps of a line, which are channels then, so that tiles have more rows. */
#include "conv.h"

/* CELLS: how many cells of x and dy stay in the first cache between their uses. FEW: channels which
   are fewer than a vector are packed for all taps of a line if that makes no more than so many. */
enum { CELLS = 192, FEW = 64 };

typedef struct own_conv_filter {
  jf_own_primitive unit;
  jf_primitive_conv c;
  jf_own_images from, x, y;    /* x as it comes in, and as it is read */
  jf_own_axis axis[3], line;   /* of x as it is read; the last one of x as it comes in */
  int64_t run;                 /* channels of x that follow each other in the result, tap by tap */
  int64_t taps, rows;          /* of the result */
  int packs_x, packs;          /* x and dy are packed first */
  int staged;                  /* the result is made elsewhere first */
} own_conv_filter;

/* An image of one group: where its tensors are now. */
typedef struct filter_image {
  const own_conv_filter *p;
  const float *x, *dy;
  float *sums;
  int64_t dy_next, dy_vec;     /* from a cell of dy to the next, and from 16 channels to the next */
  int first;
} filter_image;

/* ---- which cells meet ---- */

static jf_own_range filter_meets(const own_conv_filter *p, int i, int64_t u)
{
  return jf_own_meets(&p->axis[i], p->x.size[i], p->y.size[i], u);
}

static void filter_tap(const own_conv_filter *p, int64_t t, int64_t u[3])
{
  for (int i = 2; i >= 0; t /= p->c.kernel[i--]) u[i] = t % p->c.kernel[i];
}

/* ---- channels beside each other ---- */

/* Adds the products of lines of one depth, for some rows of channel c and tap t. */
static void filter_lines(const filter_image *m, jf_own_tile *t, const int64_t u[3], int64_t depth,
                         jf_own_range lines, int rows, int vectors)
{
  const own_conv_filter *p = m->p;
  const jf_own_axis *a = p->axis;
  const jf_own_range columns = filter_meets(p, 2, u[2]);
  const jf_own_images *x = &p->x;
  const int64_t wide = columns.hi - columns.lo, high = lines.hi - lines.lo;
  const float *from = t->a, *dy = t->b;
  t->groups = wide > 0 && high > 0 ? high : 0;
  t->depth = t->last = wide;
  t->a += (depth * a[0].stride + a[0].shift[u[0]]) * x->step[0] +
          (lines.lo * a[1].stride + a[1].shift[u[1]]) * x->step[1] +
          (columns.lo * a[2].stride + a[2].shift[u[2]]) * x->step[2];
  t->b += ((depth * p->y.size[1] + lines.lo) * p->y.size[2] + columns.lo) * m->dy_next;
  if (t->groups || !t->from) p->unit.loop->run(t, JF_OWN_BY_STEPS, rows, vectors);
  t->from = t->c;
  t->a = from;
  t->b = dy;
}

/* All taps, for the channels of x from c on and those of dy from o on, in some lines of dy. */
static void filter_band(const filter_image *m, int64_t c, int64_t o, int64_t depth,
                        jf_own_range band)
{
  const own_conv_filter *p = m->p;
  const jf_own_loop *loop = p->unit.loop;
  const int64_t channels = jf_own_least(p->x.channels - c, JF_LANES);
  const int64_t most = jf_own_least(8, loop->rows), tiles = (channels + most - 1) / most;
  const int64_t left = (p->y.channels - o + JF_LANES - 1) / JF_LANES;
  const int64_t vectors = jf_own_least(loop->vectors, left);
  for (int64_t tap = 0; tap < p->taps; tap++) {
    int64_t u[3];
    filter_tap(p, tap, u);
    const int64_t at = depth * p->axis[0].stride + p->axis[0].shift[u[0]];
    jf_own_range lines = filter_meets(p, 1, u[1]);
    if (lines.lo < band.lo) lines.lo = band.lo;
    if (lines.hi > band.hi) lines.hi = band.hi;
    if (at < 0 || at >= p->x.size[0]) lines.hi = lines.lo;
    for (int64_t i = 0; i < tiles; i++) {
      const int64_t r = channels * i / tiles, rows = channels * (i + 1) / tiles - r;
      const int64_t row = c / p->run * p->run * p->taps + tap * p->run + c % p->run + r;
      float *sum = m->sums + (o / JF_LANES * p->rows + row) * JF_LANES;
      jf_own_tile t = {
        .a = m->x + c / p->x.run * p->x.by_run + c % p->x.run + r,
        .b = m->dy + o / JF_LANES * m->dy_vec, .c = sum,
        .from = m->first && depth == 0 && band.lo == 0 ? NULL : sum,
        .a_next = p->axis[2].stride * p->x.step[2], .a_group = p->axis[1].stride * p->x.step[1],
        .b_next = m->dy_next, .b_group = p->y.size[2] * m->dy_next, .b_vec = m->dy_vec,
        .c_row = JF_LANES, .c_vec = p->rows * JF_LANES
      };
      filter_lines(m, &t, u, depth, lines, (int)rows, (int)vectors);
    }
  }
}

static void filter_channels(const filter_image *m)
{
  const own_conv_filter *p = m->p;
  const int64_t wide = p->unit.loop->vectors * JF_LANES, high = CELLS / (p->y.size[2] + 1) + 1;
  for (int64_t c = 0; c < p->x.channels; c += JF_LANES)
    for (int64_t o = 0; o < p->y.channels; o += wide)
      for (int64_t d = 0; d < p->y.size[0]; d++)
        for (int64_t i = 0; i < p->y.size[1]; i += high)
          filter_band(m, c, o, d, (jf_own_range){ i, jf_own_least(i + high, p->y.size[1]) });
}

/* ---- channels that lie apart ---- */

static int64_t filter_cells_of(const jf_own_images *y)
{
  return y->size[0] * y->size[1] * y->size[2];
}

/* Packs an image in vectors of channels. */
static void filter_pack(const jf_own_images *y, const float *from, float *to)
{
  const int64_t cells = filter_cells_of(y);
  for (int64_t o = 0; o < y->channels; o += JF_LANES, to += cells * JF_LANES) {
    const int64_t lanes = jf_own_least(y->channels - o, JF_LANES);
    if (y->run == 1 && y->step[2] == 1) {
      jf_own_turn(from + o * cells, cells, lanes, cells, to);
    } else {
      const jf_own_copy c = { from + o, from + o + (cells - 1) * y->step[2] + lanes,
                              to,       y->step[2],
                              JF_LANES, cells,
                              lanes,    1 };
      jf_own_copy_vectors(&c);
    }
  }
}

/* Packs x in vectors of channels, where number u * channels + c is the cell of channel c that tap u
   of a line reads; those outside of x are 0. */
static void filter_pack_taps(const own_conv_filter *p, const float *from, float *to)
{
  const jf_own_images *x = &p->from;
  const int64_t wide = p->x.size[2], apart = p->line.stride * x->step[2];
  memset(to, 0, (size_t)(jf_own_up(p->x.channels) * filter_cells_of(&p->x)) * sizeof *to);
  for (int64_t l = 0; l < x->size[0] * x->size[1]; l++)
    for (int64_t v = 0; v < p->x.channels; v++) {
      const int64_t u = v / x->channels, c = v % x->channels;
      const jf_own_range in = jf_own_meets(&p->line, x->size[2], wide, u);
      const float *cell = from + c * x->by_run + l * x->step[1] + p->line.shift[u] * x->step[2];
      float *at = to + v / JF_LANES * p->x.by_run + l * p->x.step[1] + v % JF_LANES;
      for (int64_t j = in.lo; j < in.hi; j++) at[j * JF_LANES] = cell[j * apart];
    }
}

/* Sets how x is packed. */
static void filter_set_packed(own_conv_filter *p)
{
  static int64_t none[1];
  const int64_t wide = p->c.kernel[2] * p->x.channels;
  if (p->c.kernel[2] > 1 && p->x.channels < JF_LANES && wide <= FEW) {
    p->x.channels = wide;
    p->x.size[2] = p->y.size[2];
    p->axis[2].stride = p->c.kernel[2] = 1;
    p->axis[2].shift = none;
  }
  p->x.run = p->x.step[2] = JF_LANES;
  p->x.step[1] = p->x.step[2] * p->x.size[2];
  p->x.step[0] = p->x.step[1] * p->x.size[1];
  p->x.by_run = p->x.step[0] * p->x.size[0];
}

/* ---- runs ---- */

/* Moves the sums to the filters of one group, whose form may be plain or that of few channels. */
static void filter_unstage(const own_conv_filter *p, const float *sums, float *w)
{
  const int64_t in = p->from.channels, taps = p->rows / in, run = jf_own_least(p->run, in);
  for (int64_t row = 0; row < p->rows; row++) {
    const int64_t part = row / run, tap = part % taps;
    const int64_t c = part / taps * run + row % run;
    for (int64_t o = 0; o < p->y.channels; o++) {
      const float sum = sums[(o / JF_LANES * p->rows + row) * JF_LANES + o % JF_LANES];
      if (p->c.last) w[(o * taps + tap) * in + c] = sum;
      else w[(o * in + c) * taps + tap] = sum;
    }
  }
}

/* dbias[o] = the sum of dy over the cells, of one image. */
static void filter_bias(const filter_image *m, float *dbias)
{
  const jf_own_images *y = &m->p->y;
  const int64_t cells = filter_cells_of(y);
  for (int64_t o = 0; o < y->channels; o += JF_LANES) {
    jf_vec sum = { 0 };
    const float *dy = m->dy + o / JF_LANES * m->dy_vec;
    for (int64_t i = 0; i < cells; i++) sum += JF_LOAD(dy + i * m->dy_next);
    for (int64_t i = 0; i < JF_LANES && o + i < y->channels; i++)
      dbias[o + i] = sum[i] + (m->first ? 0 : dbias[o + i]);
  }
}

/* Floats of scratch: x, dy, sums. */
typedef struct filter_room { int64_t x, dy, sums; } filter_room;
static filter_room filter_room_of(const own_conv_filter *p)
{
  const int64_t columns = jf_own_up(p->y.channels);
  return (filter_room){ p->packs_x ? jf_own_up(p->x.channels) * filter_cells_of(&p->x) : 0,
                        p->packs ? columns * filter_cells_of(&p->y) : 0,
                        p->staged ? columns * p->rows : 0 };
}

static void conv_filter_run(const jf_own_primitive *u, float *scratch, const jf_primitive_run *r)
{
  const own_conv_filter *p = (const own_conv_filter *)u;
  const filter_room room = filter_room_of(p);
  float *dy = scratch + room.x, *sums = dy + room.dy;
  const int64_t each = p->y.channels * p->rows;
  for (int64_t g = 0; g < p->c.groups; g++) {
    float *w = (float *)r->c + g * each;
    for (int64_t n = 0; n < p->c.batch; n++) {
      const float *x = (const float *)r->a + n * p->from.by_image + g * p->from.by_group;
      const float *from = (const float *)r->b + n * p->y.by_image + g * p->y.by_group;
      filter_image m = { .p = p, .x = p->packs_x ? scratch : x, .dy = p->packs ? dy : from,
                         .sums = p->staged ? sums : w, .first = n == 0 };
      m.dy_next = p->packs ? JF_LANES : p->y.step[2];
      m.dy_vec = p->packs ? filter_cells_of(&p->y) * JF_LANES : p->c.last ? JF_LANES : p->y.by_run;
      if (p->packs) filter_pack(&p->y, from, dy);
      if (p->packs_x && p->x.channels == p->from.channels) filter_pack(&p->from, x, scratch);
      else if (p->packs_x) filter_pack_taps(p, x, scratch);
      filter_channels(&m);
      if (r->dbias) filter_bias(&m, (float *)r->dbias + g * p->y.channels);
    }
    if (p->staged) filter_unstage(p, sums, w);
  }
}

static void conv_filter_release(jf_own_primitive *u)
{
  jf_free(((own_conv_filter *)u)->axis[0].start);
}

jfl_status jf_own_conv_filter(const jf_primitive_conv *c, jf_primitive_make *make)
{
  own_conv_filter *p = jf_new(sizeof *p);
  if (!p) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
  p->unit = (jf_own_primitive){ conv_filter_run, NULL, conv_filter_release, 0, *jf_own_loops() };
  p->c = *c;
  p->x = p->from = jf_own_images_of(c, c->in_channels, c->in, c->block_x);
  p->y = jf_own_images_of(c, c->out_channels, c->out, c->block_y);
  p->staged = !c->packed;
  p->packs_x = p->x.run == 1;
  p->packs = p->y.run == 1 || p->y.channels % JF_LANES;
  const jfl_status s = jf_own_axes(c, 0, p->axis);
  if (s != JFL_OK) {
    jf_free(p);
    return s;
  }
  p->line = p->axis[2];
  if (p->packs_x) filter_set_packed(p);
  p->taps = jf_own_taps(&p->c);
  p->rows = p->x.channels * p->taps;
  p->run = c->packed && c->in_channels % JF_LANES == 0 ? JF_LANES : p->x.channels;
  const filter_room room = filter_room_of(p);
  make->unit = p;
  make->scratch = (size_t)(room.x + room.dy + room.sums) * sizeof(float);
  make->ready = 0;
  return JFL_OK;
}
