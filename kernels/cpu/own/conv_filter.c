/* Gradients of convolutions for their filters: products whose rows are channels and taps of x,
   whose columns are channels of dy, and whose sums go over cells. Where channels lie beside each
   other both are read as they are; else lines of cells are packed first. */
#include "conv.h"

/* CELLS: how many cells of x and dy stay in the first cache between their uses. */
enum { CELLS = 192, MOST_ROWS = 14 };

typedef struct own_conv_filter {
  jf_own_primitive unit;
  jf_primitive_conv c;
  jf_own_images x, y;
  jf_own_axis axis[3];
  int64_t run;                 /* channels of x that follow each other in the result, tap by tap */
  int64_t taps, rows;          /* of the result */
  int packs;                   /* dy is packed first */
  int staged;                  /* the result is made elsewhere first */
} own_conv_filter;

/* An image of one group: where its tensors are now. */
typedef struct filter_image {
  const own_conv_filter *p;
  const float *x, *dy;
  float *sums, *packed;
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

/* Packs what rows from `row` on read for a line of results; cells outside of x are 0. */
static void filter_pack(const filter_image *m, int64_t row, int64_t rows, int64_t depth,
                        int64_t line)
{
  const own_conv_filter *p = m->p;
  const jf_own_axis *a = p->axis;
  const int64_t apart = a[2].stride * p->x.step[2], wide = p->y.size[2];
  memset(m->packed, 0, (size_t)(jf_own_up(wide) * rows) * sizeof(float));
  for (int64_t r = 0; r < rows; r++) {
    int64_t u[3];
    const int64_t part = (row + r) / p->run, c = part / p->taps * p->run + (row + r) % p->run;
    filter_tap(p, part % p->taps, u);
    const int64_t d = depth * a[0].stride + a[0].shift[u[0]];
    const int64_t l = line * a[1].stride + a[1].shift[u[1]];
    if (d < 0 || d >= p->x.size[0] || l < 0 || l >= p->x.size[1]) continue;
    const jf_own_range in = filter_meets(p, 2, u[2]);
    const float *from = m->x + c * p->x.by_run + d * p->x.step[0] + l * p->x.step[1] +
                        a[2].shift[u[2]] * p->x.step[2];
    for (int64_t k = in.lo; k < in.hi; k++)
      m->packed[k / JF_LANES * rows * JF_LANES + r * JF_LANES + k % JF_LANES] = from[k * apart];
  }
}

/* Adds the products of one line of results. */
static void filter_line(const filter_image *m, int64_t depth, int64_t line)
{
  const own_conv_filter *p = m->p;
  const jf_own_loop *loop = p->unit.loop;
  const int64_t tiles = (p->rows + loop->rows - 1) / loop->rows, wide = p->y.size[2];
  const int64_t groups = jf_own_up(wide) / JF_LANES;
  for (int64_t i = 0; i < tiles; i++) {
    const int64_t row = p->rows * i / tiles, rows = p->rows * (i + 1) / tiles - row;
    filter_pack(m, row, rows, depth, line);
    for (int64_t o = 0; o < p->y.channels; o += loop->vectors * JF_LANES) {
      float *sum = m->sums + (o / JF_LANES * p->rows + row) * JF_LANES;
      const jf_own_tile t = {
        .a = m->packed, .c = sum,
        .b = m->dy + o / JF_LANES * m->dy_vec + (depth * p->y.size[1] + line) * wide * m->dy_next,
        .from = m->first && depth == 0 && line == 0 ? NULL : sum, .a_next = 1,
        .a_group = rows * JF_LANES, .b_next = m->dy_next, .b_group = JF_LANES * m->dy_next,
        .b_vec = m->dy_vec, .c_row = JF_LANES, .c_vec = p->rows * JF_LANES, .groups = groups,
        .depth = JF_LANES, .last = wide - (groups - 1) * JF_LANES
      };
      const int64_t left = (p->y.channels - o + JF_LANES - 1) / JF_LANES;
      loop->run(&t, JF_OWN_BY_ROWS, (int)rows, (int)jf_own_least(loop->vectors, left));
    }
  }
}

static void filter_cells(const filter_image *m)
{
  for (int64_t d = 0; d < m->p->y.size[0]; d++)
    for (int64_t i = 0; i < m->p->y.size[1]; i++) filter_line(m, d, i);
}

/* ---- runs ---- */

static int64_t filter_cells_of(const jf_own_images *y)
{
  return y->size[0] * y->size[1] * y->size[2];
}

/* Packs dy in vectors of channels. */
static void filter_pack_dy(const own_conv_filter *p, const float *dy, float *to)
{
  const jf_own_images *y = &p->y;
  const int64_t cells = filter_cells_of(y);
  for (int64_t o = 0; o < y->channels; o += JF_LANES, to += cells * JF_LANES) {
    const int64_t lanes = jf_own_least(y->channels - o, JF_LANES);
    if (y->run == 1 && y->step[2] == 1) {
      jf_own_turn(dy + o * cells, cells, lanes, cells, to, JF_LANES);
    } else {
      const float *from = dy + o;
      const jf_own_copy c = { from,  from + (cells - 1) * y->step[2] + lanes,
                              to,    y->step[2],
                              JF_LANES, cells,
                              lanes, 1 };
      jf_own_copy_vectors(&c);
    }
  }
}

/* Moves the sums to the filters of one group, whose form may be plain or that of few channels. */
static void filter_unstage(const own_conv_filter *p, const float *sums, float *w)
{
  const int64_t in = p->x.channels, taps = p->taps;
  for (int64_t row = 0; row < p->rows; row++) {
    const int64_t part = row / p->run, tap = part % taps;
    const int64_t c = part / taps * p->run + row % p->run;
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

/* Floats of scratch: a packed line, dy, sums. */
typedef struct filter_room { int64_t packed, dy, sums; } filter_room;
static filter_room filter_room_of(const own_conv_filter *p)
{
  const int64_t columns = jf_own_up(p->y.channels);
  return (filter_room){ MOST_ROWS * jf_own_up(p->y.size[2]),
                        p->packs ? columns * filter_cells_of(&p->y) : 0,
                        p->staged ? columns * p->rows : 0 };
}

static void conv_filter_run(const jf_own_primitive *u, float *scratch, const jf_primitive_run *r)
{
  const own_conv_filter *p = (const own_conv_filter *)u;
  const filter_room room = filter_room_of(p);
  float *dy = scratch + room.packed, *sums = dy + room.dy;
  const int64_t each = p->x.channels * p->y.channels * p->taps;
  for (int64_t g = 0; g < p->c.groups; g++) {
    float *w = (float *)r->c + g * each;
    for (int64_t n = 0; n < p->c.batch; n++) {
      const float *from = (const float *)r->b + n * p->y.by_image + g * p->y.by_group;
      filter_image m = { .p = p, .x = (const float *)r->a + n * p->x.by_image + g * p->x.by_group,
                         .dy = p->packs ? dy : from, .sums = p->staged ? sums : w,
                         .packed = scratch, .first = n == 0 };
      m.dy_next = p->packs ? JF_LANES : p->y.step[2];
      m.dy_vec = p->packs ? filter_cells_of(&p->y) * JF_LANES : p->c.last ? JF_LANES : p->y.by_run;
      if (p->packs) filter_pack_dy(p, from, dy);
      if (p->x.run > 1) filter_channels(&m);
      else filter_cells(&m);
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
  p->x = jf_own_images_of(c, c->in_channels, c->in, c->block_x);
  p->y = jf_own_images_of(c, c->out_channels, c->out, c->block_y);
  p->taps = jf_own_taps(c);
  p->rows = p->x.channels * p->taps;
  p->run = !c->packed ? p->x.run : c->in_channels % JF_LANES ? p->x.channels : JF_LANES;
  p->staged = !c->packed;
  p->packs = p->y.run == 1 || p->y.channels % JF_LANES;
  const jfl_status s = jf_own_axes(c, 0, p->axis);
  if (s != JFL_OK) {
    jf_free(p);
    return s;
  }
  const filter_room room = filter_room_of(p);
  make->unit = p;
  make->scratch = (size_t)(room.packed + room.dy + room.sums) * sizeof(float);
  make->ready = 0;
  return JFL_OK;
}
