/* Convolutions and their gradients for the data, as products: rows are cells of the result, columns
   its channels, and a sum goes over the channels and taps of the source. Its cells are gathered
   into packed tiles a few rows at a time, tap by tap; or the lines that a band of results reads are
   packed once for all taps, where channels lie apart, or where results have so few channels that a
   tile is read once. A gradient for the data is a convolution with the filters turned round; where
   the stride is s, each cell belongs to one of s phases per axis, which have taps of their own. */
#include "gather.h"
#include "lines.h"

/* DEEP: steps of a sum between which results are stored. TILES: tiles of rows packed together. */
enum { DEEP = 256, TILES = 8, MOST_ROWS = JF_OWN_ROWS };

typedef struct own_conv {
  jf_own_primitive unit;
  jf_primitive_conv c;
  int turned;                  /* the gradient for the data */
  jf_own_images from, to;
  jf_own_axis axis[3];
  int64_t run;                 /* channels that follow each other in a sum, tap by tap */
  int as_they_are;             /* filters are packed as the tiles read them */
  int staged;                  /* results are made elsewhere first */
  jf_own_order order;
  jf_own_step *step;           /* for gathering */
  int64_t (*shift)[3];
  int lines;                   /* lines are packed; then: */
  jf_own_reach reach[3];
  int64_t each;                /* how many channels of a place lie beside each other */
  int64_t *at;                 /* where each such run of steps of a phase reads, as seen from the
                                  first */
} own_conv;

/* One phase: which it is along each axis, its cells and its taps. */
typedef struct conv_phase {
  int64_t phase[3], count[3], taps[3], all_taps, steps;
  int64_t deep;                /* steps between which results are stored */
  const jf_own_step *step;
  const int64_t (*shift)[3], *at;
  int64_t lowest[3], highest[3];
} conv_phase;

/* The work on some rows of an image: `wide` cells of each of some lines, which are divided evenly
   over `across` tiles, or any cells in one line of tiles. */
typedef struct conv_block {
  const own_conv *p;
  const conv_phase *ph;
  const float *from, *filters, *bias, *residual;
  float *to, *packed, *stage;
  int64_t first, rows, wide, across, tiles;
  int64_t step, steps;
} conv_block;

/* ---- phases ---- */

static conv_phase conv_phase_of(const own_conv *p, int64_t number)
{
  conv_phase ph = { .all_taps = 1 };
  for (int i = 2; i >= 0; i--) {
    const jf_own_axis *a = &p->axis[i];
    const int64_t at = number % a->phases;
    ph.phase[i] = at;
    ph.count[i] = jf_own_count(a, p->to.size[i], at);
    ph.taps[i] = a->start[at + 1] - a->start[at];
    ph.all_taps *= ph.taps[i];
    number /= a->phases;
  }
  ph.steps = p->from.channels * ph.all_taps;
  ph.deep = DEEP;
  if (p->lines && ph.all_taps) {
    const int64_t whole = p->run * ph.all_taps;
    ph.deep = whole < DEEP ? DEEP / whole * whole : whole;
  }
  return ph;
}

static int64_t conv_phases(const own_conv *p)
{
  return p->axis[0].phases * p->axis[1].phases * p->axis[2].phases;
}

/* Tap t of a phase: its number along each axis. */
static void conv_tap(const own_conv *p, const conv_phase *ph, int64_t t, int64_t out[3])
{
  for (int i = 2; i >= 0; i--) {
    out[i] = p->axis[i].start[ph->phase[i]] + t % ph->taps[i];
    t /= ph->taps[i];
  }
}

/* ---- filters ---- */

/* Where the filters have the tap t of a phase, in taps. */
static int64_t conv_tap_index(const own_conv *p, const conv_phase *ph, int64_t t)
{
  int64_t at[3];
  conv_tap(p, ph, t, at);
  for (int i = 0; i < 3; i++) at[i] = p->axis[i].index[at[i]];
  return (at[0] * p->c.kernel[1] + at[1]) * p->c.kernel[2] + at[2];
}

/* The filters' element for output channel o, input channel c and a tap. Packed filters lie in
   blocks of 16 output channels; input channels are in blocks too unless they are few. */
static float conv_filter(const own_conv *p, const float *w, int64_t o, int64_t c, int64_t tap)
{
  const int64_t in = p->turned ? p->to.channels : p->from.channels, taps = jf_own_taps(&p->c);
  const int64_t block = o / JF_LANES, lane = o % JF_LANES;
  if (!p->c.packed)
    return p->c.last ? w[(o * taps + tap) * in + c] : w[(o * in + c) * taps + tap];
  if (in % JF_LANES) return w[((block * taps + tap) * in + c) * JF_LANES + lane];
  const int64_t square = (block * (in / JF_LANES) + c / JF_LANES) * taps + tap;
  return w[(square * JF_LANES + c % JF_LANES) * JF_LANES + lane];
}

/* Puts a tap of one channel of the source, for the columns of a panel, side by side. */
static void conv_lay_tap(const own_conv *p, const float *w, int64_t channel, int64_t column,
                         int64_t tap, float *to)
{
  const int64_t lanes = jf_own_least(p->to.channels - column, JF_LANES);
  for (int64_t i = 0; i < JF_LANES; i++) {
    const int64_t o = p->turned ? channel : column + i, c = p->turned ? column + i : channel;
    to[i] = i < lanes ? conv_filter(p, w, o, c, tap) : 0;
  }
}

/* Turns a tap of all channels of a block of packed filters, for the gradient. */
static void conv_turn_block(const own_conv *p, const float *w, int64_t channel, int64_t column,
                            int64_t tap, float *to)
{
  const int64_t blocks = p->to.channels / JF_LANES, taps = jf_own_taps(&p->c);
  const int64_t at = (channel / JF_LANES * blocks + column / JF_LANES) * taps + tap;
  jf_own_turn(w + at * JF_LANES * JF_LANES, JF_LANES, JF_LANES, JF_LANES, to);
}

/* Lays the filters of one group out in panels of columns, phase by phase. */
static float *conv_lay_phase(const own_conv *p, const conv_phase *ph, const float *w, float *to)
{
  const int64_t run = p->run;
  const int blocks = p->c.packed && p->turned && run == JF_LANES &&
                     p->to.channels % JF_LANES == 0;
  for (int64_t n = 0; n < p->to.channels; n += JF_LANES)
    for (int64_t c = 0; c < p->from.channels; c += run)
      for (int64_t t = 0; t < ph->all_taps; t++) {
        const int64_t tap = conv_tap_index(p, ph, t);
        if (blocks) conv_turn_block(p, w, c, n, tap, to);
        for (int64_t i = 0; !blocks && i < run; i++)
          conv_lay_tap(p, w, c + i, n, tap, to + i * JF_LANES);
        to += run * JF_LANES;
      }
  return to;
}

static int64_t conv_filters_size(const own_conv *p)
{
  return jf_own_up(p->to.channels) * p->from.channels * jf_own_taps(&p->c);
}

static void conv_ready(const jf_own_primitive *u, const float *w, float *to)
{
  const own_conv *p = (const own_conv *)u;
  const int64_t each = p->from.channels * p->to.channels * jf_own_taps(&p->c);
  for (int64_t g = 0; g < p->c.groups; g++) {
    float *at = to + g * conv_filters_size(p);
    for (int64_t i = 0; i < conv_phases(p); i++) {
      const conv_phase ph = conv_phase_of(p, i);
      at = conv_lay_phase(p, &ph, w + g * each, at);
    }
  }
}

/* ---- gathering ---- */

/* Sets the steps and the shifts of all phases, which lie behind each other. */
static void conv_set_steps(own_conv *p)
{
  jf_own_step *step = p->step;
  int64_t (*shift)[3] = p->shift;
  for (int64_t i = 0; i < conv_phases(p); i++) {
    const conv_phase ph = conv_phase_of(p, i);
    for (int64_t t = 0; t < ph.all_taps; t++) {
      conv_tap(p, &ph, t, shift[t]);
      for (int j = 0; j < 3; j++) shift[t][j] = p->axis[j].shift[shift[t][j]];
    }
    for (int64_t k = 0; k < ph.steps; k++, step++) {
      const int64_t part = k / p->run, c = part / ph.all_taps * p->run + k % p->run;
      step->tap = part % ph.all_taps;
      step->left = p->run - k % p->run;
      step->offset = c / p->from.run * p->from.by_run + c % p->from.run +
                     jf_own_cell(&p->from, shift[step->tap]);
    }
    shift += ph.all_taps;
  }
}

/* The bounds of a phase's shifts. */
static void conv_bounds(const int64_t (*shift)[3], int64_t n, int64_t lowest[3],
                        int64_t highest[3])
{
  for (int i = 0; i < 3; i++) {
    lowest[i] = highest[i] = n ? shift[0][i] : 0;
    for (int64_t t = 1; t < n; t++) {
      if (shift[t][i] < lowest[i]) lowest[i] = shift[t][i];
      if (shift[t][i] > highest[i]) highest[i] = shift[t][i];
    }
  }
}

/* The cells of the source at which rows from `row` on begin to read. */
static void conv_corners(const conv_block *b, int64_t row, int64_t rows, int64_t (*out)[3])
{
  const int64_t *count = b->ph->count;
  int64_t at[3] = { row / (count[1] * count[2]), row / count[2] % count[1], row % count[2] };
  for (int64_t r = 0; r < rows; r++) {
    for (int i = 0; i < 3; i++) out[r][i] = at[i] * b->p->axis[i].stride;
    if (++at[2] < count[2]) continue;
    at[2] = 0;
    if (++at[1] < count[1]) continue;
    at[1] = 0;
    at[0]++;
  }
}

static void conv_gather(const conv_block *b, int64_t row, int64_t rows, float *to)
{
  const own_conv *p = b->p;
  jf_own_gather g = { .x = &p->from, .from = b->from, .step = b->ph->step + b->step,
                      .shift = b->ph->shift, .lowest = b->ph->lowest, .highest = b->ph->highest,
                      .n = b->steps, .rows = rows, .to = to };
  conv_corners(b, row, rows, g.corner);
  jf_own_gather_rows(&g);
}

/* ---- lines ---- */

/* How many places lines have, those of a plane, and those of a channel. */
typedef struct conv_places { int64_t line, plane, all; } conv_places;
static conv_places conv_places_of(const own_conv *p, const conv_phase *ph)
{
  const jf_own_reach *r = p->reach;
  const int64_t line = r[2].places[ph->phase[2]], plane = line * r[1].places[ph->phase[1]];
  return (conv_places){ line, plane, plane * r[0].places[ph->phase[0]] };
}

/* Sets where the runs of steps of all phases read, which lie behind each other. */
static void conv_set_places(own_conv *p)
{
  int64_t *at = p->at;
  for (int64_t i = 0; i < conv_phases(p); i++) {
    const conv_phase ph = conv_phase_of(p, i);
    const conv_places n = conv_places_of(p, &ph);
    for (int64_t k = 0; k < ph.steps; k += p->each) {
      const int64_t part = k / p->run, c = part / ph.all_taps * p->run + k % p->run;
      int64_t tap[3];
      conv_tap(p, &ph, part % ph.all_taps, tap);
      *at++ = c * n.all + p->each * (p->reach[0].place[tap[0]] * n.plane +
                                     p->reach[1].place[tap[1]] * n.line +
                                     p->reach[2].place[tap[2]]);
    }
  }
}

/* Sizes of the bands whose lines are packed, and what these read. */
static jfl_status conv_set_lines(own_conv *p)
{
  const int64_t wide = jf_own_count(&p->axis[2], p->to.size[2], 0);
  const int64_t high = jf_own_count(&p->axis[1], p->to.size[1], 0);
  const int64_t most = TILES * p->unit.loop->rows, lines = wide < most ? most / wide : 1;
  const int64_t many[3] = { 1, jf_own_least(high, lines), jf_own_least(wide, most) };
  return jf_own_reaches(&p->c, p->axis, many, p->reach);
}

/* How many floats the packed lines of a band have at most. */
static int64_t conv_lines_size(const own_conv *p)
{
  int64_t most = 0;
  for (int64_t i = 0; i < conv_phases(p); i++) {
    const conv_phase ph = conv_phase_of(p, i);
    if (!ph.all_taps) continue;
    const int64_t channels = jf_own_least(ph.deep / ph.all_taps, p->from.channels);
    const int64_t size = channels * conv_places_of(p, &ph).all;
    if (size > most) most = size;
  }
  return most;
}

static void conv_pack_lines(const conv_block *b)
{
  const own_conv *p = b->p;
  const conv_phase *ph = b->ph;
  if (!b->steps) return;
  jf_own_band band = { .x = &p->from, .axis = p->axis, .reach = p->reach,
                       .channel = b->step / ph->all_taps, .channels = b->steps / ph->all_taps,
                       .each = p->each, .from = b->from, .to = b->packed };
  memcpy(band.phase, ph->phase, sizeof band.phase);
  conv_corners(b, b->first, 1, &band.corner);
  jf_own_pack_band(&band);
}

/* ---- products ---- */

/* The first row of tile i. */
static int64_t conv_row_at(const conv_block *b, int64_t i)
{
  return i / b->across * b->wide + b->wide * (i % b->across) / b->across;
}

/* How many floats a packed row has at most. */
static int64_t conv_row_size(const own_conv *p)
{
  return jf_own_up(jf_own_least(DEEP, p->from.channels * jf_own_taps(&p->c)));
}

static float *conv_packed_at(const conv_block *b, int64_t row)
{
  if (!b->p->lines) return b->packed + row * conv_row_size(b->p);
  const int64_t line = b->p->reach[2].places[b->ph->phase[2]];
  return b->packed + (row / b->wide * line + row % b->wide) * b->p->each;
}

static void conv_tile(const conv_block *b, int64_t row, int rows, int64_t column)
{
  const own_conv *p = b->p;
  const int64_t all = b->ph->steps, block = column / JF_LANES;
  const int64_t vectors = jf_own_least(p->unit.loop->vectors, jf_own_up(p->to.channels) / JF_LANES
                                       - block);
  jf_own_tile t = {
    .a = conv_packed_at(b, row), .b = b->filters + (block * all + b->step) * JF_LANES,
    .bias = b->step == 0 && b->bias ? b->bias + column : NULL, .a_next = 1,
    .a_group = rows * JF_LANES, .b_next = JF_LANES, .b_group = JF_LANES * JF_LANES,
    .b_vec = all * JF_LANES, .groups = jf_own_up(b->steps) / JF_LANES, .depth = JF_LANES
  };
  t.last = b->steps - (t.groups - 1) * JF_LANES;
  if (p->lines) {
    t.a_at = b->ph->at;
    t.groups = b->steps / p->each;
    t.depth = t.last = p->each;
    t.b_group = p->each * JF_LANES;
  }
  if (p->staged) {
    t.c_row = JF_LANES;
    t.c_vec = TILES * MOST_ROWS * JF_LANES;
    t.c = b->stage + block * t.c_vec + row * JF_LANES;
  } else {
    t.c_row = p->to.step[2];
    t.c_vec = p->to.run > JF_LANES ? JF_LANES : p->to.by_run;
    t.c = b->to + block * t.c_vec + (b->first + row) * t.c_row;
  }
  t.from = b->step ? t.c : b->residual ? b->residual + (t.c - b->to) : NULL;
  p->unit.loop->run(&t, p->order, rows, (int)vectors);
}

/* Moves finished rows to where they belong. */
static void conv_unstage(const conv_block *b)
{
  const jf_own_images *y = &b->p->to;
  for (int64_t r = 0; r < b->rows; r++) {
    int64_t at[3], row = b->first + r;
    for (int i = 2; i >= 0; i--) {
      at[i] = row % b->ph->count[i] * b->p->axis[i].phases + b->ph->phase[i];
      row /= b->ph->count[i];
    }
    float *to = b->to + jf_own_cell(y, at);
    for (int64_t c = 0; c < y->channels; c += JF_LANES) {
      const float *from = b->stage + (c * TILES * MOST_ROWS + r * JF_LANES);
      const int64_t lanes = jf_own_least(y->channels - c, JF_LANES);
      if (y->run > 1 && lanes == JF_LANES)
        JF_STORE(to + c / y->run * y->by_run + c % y->run, JF_LOAD(from));
      else
        for (int64_t i = 0; i < lanes; i++)
          to[(c + i) / y->run * y->by_run + (c + i) % y->run] = from[i];
    }
  }
}

static void conv_rows(conv_block *b)
{
  const own_conv *p = b->p;
  const int64_t wide = p->unit.loop->vectors * JF_LANES;
  b->step = 0;
  do {
    b->steps = jf_own_least(b->ph->steps - b->step, b->ph->deep);
    if (p->lines) conv_pack_lines(b);
    for (int64_t i = 0; !p->lines && i < b->tiles; i++) {
      const int64_t row = conv_row_at(b, i), rows = conv_row_at(b, i + 1) - row;
      conv_gather(b, b->first + row, rows, conv_packed_at(b, row));
    }
    for (int64_t j = 0; j < p->to.channels; j += wide)
      for (int64_t i = 0; i < b->tiles; i++) {
        const int64_t row = conv_row_at(b, i);
        conv_tile(b, row, (int)(conv_row_at(b, i + 1) - row), j);
      }
    b->step += b->steps;
  } while (b->step < b->ph->steps);
  if (p->staged) conv_unstage(b);
}

/* Chooses how many rows there are: whole lines, a part of one or, where cells are gathered, any. */
static void conv_choose_rows(conv_block *b, int64_t all)
{
  const own_conv *p = b->p;
  const int64_t *count = b->ph->count, rows = p->unit.loop->rows;
  const int64_t line = p->lines ? count[2] : all, left = line - b->first % line;
  const int64_t below = count[1] - b->first / line % count[1];
  b->wide = jf_own_least(left, p->lines ? p->reach[2].many : TILES * rows);
  const int64_t high = p->lines && b->wide == line ? jf_own_least(below, p->reach[1].many) : 1;
  b->across = (b->wide + rows - 1) / rows;
  b->tiles = b->across * high;
  b->rows = b->wide * high;
}

/* One image of one group. */
static void conv_image(conv_block *b)
{
  const own_conv *p = b->p;
  const float *filters = b->filters;
  const jf_own_step *step = p->step;
  const int64_t (*shift)[3] = (const int64_t (*)[3])p->shift, *at = p->at;
  for (int64_t i = 0; i < conv_phases(p); i++) {
    conv_phase ph = conv_phase_of(p, i);
    ph.step = step;
    ph.shift = shift;
    ph.at = at;
    if (!p->lines) conv_bounds(shift, ph.all_taps, ph.lowest, ph.highest);
    const int64_t all = ph.count[0] * ph.count[1] * ph.count[2];
    b->ph = &ph;
    b->filters = filters;
    for (b->first = 0; b->first < all; b->first += b->rows) {
      conv_choose_rows(b, all);
      conv_rows(b);
    }
    filters += jf_own_up(p->to.channels) * ph.steps;
    if (p->lines) at += ph.steps / p->each;
    else step += ph.steps, shift += ph.all_taps;
  }
}

/* ---- runs ---- */

/* Floats of scratch: rows or lines that are packed, results that are staged, bias, filters. */
typedef struct conv_room { int64_t packed, stage, bias, filters; } conv_room;

static conv_room conv_room_of(const own_conv *p)
{
  const int64_t rows = TILES * MOST_ROWS, columns = jf_own_up(p->to.channels);
  const int64_t packed = p->lines ? conv_lines_size(p) : rows * conv_row_size(p);
  return (conv_room){ jf_own_up(packed) + JF_LANES, p->staged ? rows * columns : 0,
                      columns * p->c.groups,
                      p->as_they_are ? 0 : p->c.groups * conv_filters_size(p) };
}

/* The bias of each group begins at a whole vector. */
static void conv_lay_bias(const own_conv *p, const float *bias, float *to)
{
  const int64_t n = p->to.channels, columns = jf_own_up(n);
  for (int64_t g = 0; g < p->c.groups; g++)
    for (int64_t i = 0; i < columns; i++) to[g * columns + i] = i < n ? bias[g * n + i] : 0;
}

static void conv_run(const jf_own_primitive *u, float *scratch, const jf_primitive_run *r)
{
  const own_conv *p = (const own_conv *)u;
  const conv_room room = conv_room_of(p);
  float *stage = scratch + room.packed, *bias = stage + room.stage, *own = bias + room.bias;
  const float *filters = p->as_they_are ? r->b : r->ready ? r->ready : own;
  if (filters == own) conv_ready(u, r->b, own);
  if (r->bias) conv_lay_bias(p, r->bias, bias);
  for (int64_t n = 0; n < p->c.batch; n++)
    for (int64_t g = 0; g < p->c.groups; g++) {
      const int64_t to = n * p->to.by_image + g * p->to.by_group;
      conv_block b = { .p = p, .packed = scratch, .stage = stage, .to = (float *)r->c + to };
      b.from = (const float *)r->a + n * p->from.by_image + g * p->from.by_group;
      b.filters = filters + g * conv_filters_size(p);
      if (r->bias) b.bias = bias + g * jf_own_up(p->to.channels);
      if (r->residual) b.residual = (const float *)r->residual + to;
      conv_image(&b);
    }
}

/* ---- making units ---- */

static void conv_release(jf_own_primitive *u)
{
  own_conv *p = (own_conv *)u;
  jf_free(p->axis[0].start);
  jf_free(p->reach[0].stretch);
  jf_free(p->step);
  jf_free(p->at);
}

/* How channels follow each other in the sums, and whether the filters lie so already. */
static jfl_status conv_choose(own_conv *p)
{
  const int64_t taps = jf_own_taps(&p->c), steps = taps * p->from.channels;
  const int few = p->c.packed && p->c.in_channels % JF_LANES;
  p->run = few && !p->turned ? p->from.channels : p->from.run;
  p->as_they_are = p->c.packed && !p->turned && p->c.groups == 1 &&
                   p->run == (few ? p->from.channels : JF_LANES);
  const int once = p->to.channels <= p->unit.loop->vectors * JF_LANES;
  p->each = p->from.run < JF_LANES ? 1 : JF_LANES;
  p->lines = p->each == 1 || (p->from.run == JF_LANES && once);
  p->order = p->each == 1 ? JF_OWN_BY_STEPS : JF_OWN_BY_ROWS;
  p->staged = p->to.run == 1 || p->to.channels % JF_LANES || conv_phases(p) > 1;
  if (p->staged && p->c.epilogue.residual)
    return jf_fail(JFL_ENOSYS, "convolution: no sum with what lies apart");
  if (p->lines) {
    JF_TRY(conv_set_lines(p));
    p->at = jf_new((size_t)steps * sizeof *p->at);
    if (!p->at) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
    conv_set_places(p);
    return JFL_OK;
  }
  p->step = jf_new((size_t)steps * sizeof *p->step + (size_t)taps * sizeof *p->shift);
  if (!p->step) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
  p->shift = (int64_t (*)[3])(p->step + steps);
  conv_set_steps(p);
  return JFL_OK;
}

/* What conv_ready reads of the problem, of which the gradient reads more. */
static uint64_t conv_form(const own_conv *p)
{
  const jf_primitive_conv *c = &p->c;
  const int64_t read[] = { c->groups, c->in_channels, c->out_channels, c->kernel[0], c->kernel[1],
                           c->kernel[2], c->last, c->packed, p->run };
  return p->turned ? 0 : jf_hash(3, read, sizeof read);
}

jfl_status jf_own_conv_data(const jf_primitive_conv *c, jf_primitive_kind kind,
                            jf_primitive_make *make)
{
  own_conv *p = jf_new(sizeof *p);
  if (!p) return jf_fail(JFL_ENOMEM, "convolution: out of memory");
  p->unit = (jf_own_primitive){ conv_run, conv_ready, conv_release, 0, *jf_own_loops() };
  p->c = *c;
  p->turned = kind == JF_UNIT_DATA_GRAD;
  const jf_own_images x = jf_own_images_of(c, c->in_channels, c->in, c->block_x);
  const jf_own_images y = jf_own_images_of(c, c->out_channels, c->out, c->block_y);
  p->from = p->turned ? y : x;
  p->to = p->turned ? x : y;
  jfl_status s = jf_own_axes(c, p->turned, p->axis);
  if (s == JFL_OK) s = conv_choose(p);
  if (s != JFL_OK) {
    conv_release(&p->unit);
    jf_free(p);
    return s;
  }
  const conv_room room = conv_room_of(p);
  p->unit.form = conv_form(p);
  make->unit = p;
  make->scratch = (size_t)(room.packed + room.stage + room.bias + room.filters) * sizeof(float);
  make->ready = p->as_they_are ? 0 : (size_t)(c->groups * conv_filters_size(p)) * sizeof(float);
  return JFL_OK;
}
