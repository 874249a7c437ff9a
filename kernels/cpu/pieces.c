/* Cutting products and convolutions. The library's own threads get equal shares and wait for each
   other, so that one whose core is busy elsewhere holds up all. Here a problem is cut into pieces,
   each of which runs on one thread, and threads that are done take more of them. How a problem is
   cut does not depend on the number of threads, nor do results. */
#include "pieces.h"

#include "finish.h"
#include "vector.h"

#include <stdatomic.h>
#include <string.h>

/* PIECE: arithmetic of a piece, some 50 us of work. PAIR: that of two pieces together, from which
   on results are cut. LARGE: that of a piece which is cut however many there are, since it runs
   to its end where the time of a script is over. NARROW: so many channels, rows or columns are
   worked on together, and fewer take as long. MOVED: arithmetic in the time that an element of a
   picture may take to be brought and arranged (by both libraries, with 1 to 64 channels and
   kernels of 1 to 31). WIDTH and HEIGHT: columns and rows of a product below which a piece would
   be slow (the library's kernels have 48 columns and 8 rows). LONG: products of an element for
   which it pays to copy it. ENOUGH: results of a channel for which it pays to convert filters.
   MOST_PARTS and PART_BYTES: how many sums a gradient is gathered in, and the memory for them.
   CACHED: bytes of a sum that stays in a core's cache; a larger one should take in AMPLE products
   of an element. */
enum { PIECE = 5000000, PAIR = 4000000, MOST_PIECES = 64, LARGE = 1000000000, NARROW = 16,
       MOVED = 200, WIDTH = 96, HEIGHT = 32, LONG = 256, ENOUGH = 2000, MOST_PARTS = 16,
       PART_BYTES = 1 << 25, CACHED = 1 << 17, AMPLE = 1000 };

/* An axis of n elements in pieces of `each`; the last one may have fewer. */
typedef struct pieces_cut { int64_t n, each; } pieces_cut;

/* How many elements further a piece's operands lie. */
typedef struct pieces_step { int64_t a, b, c, bias, dbias; } pieces_step;

/* Inner pieces: the first or one like it, one between the first and the last, the last. */
enum { FIRST, BETWEEN, LAST, N_WHICH };

/* The library is fastest on dense matrices, so that for long products each piece has a copy of its
   columns of a, or makes its columns of c elsewhere first. */
typedef enum pieces_copy { COPY_NONE, COPY_A, COPY_C } pieces_copy;

typedef struct pieces {
  const jf_primitives *lib;
  pieces_cut outer, inner;         /* matrices or images; rows, columns or channels */
  pieces_step by_outer, by_inner;  /* from one element of an axis to the next */
  int bands;                       /* whether inner pieces are rows of an image */
  int64_t above;                   /* elements that all bands but the first read before their own */
  jf_primitive_any *unit[2][N_WHICH];      /* for full outer pieces, and for the last */
  size_t room;                     /* bytes of scratch for each worker */
  int converts;                    /* units convert b, */
  size_t ready;                    /* which is done once for all outer pieces, into so many bytes
                                      for each inner piece; or 0 */
  int64_t sums, bias_sums;         /* elements that each piece sums on its own, or 0 */
  pieces_copy copy;
  int64_t k, lead;                 /* lines of a, or lines of c, and how far apart they are */
  jf_loop act;                     /* what is applied to results, or NULL; */
  jfl_dtype type;                  /* these are of that type */
  int64_t rows;                    /* of a matrix whose columns are cut; else 0: the results of a
                                      piece lie together */
  size_t from, to;                 /* bytes of an element of the operands, and of the result */
  double flop;                     /* arithmetic in the time that a full piece may take */
} pieces;

static int64_t cut_count(pieces_cut c) { return (c.n + c.each - 1) / c.each; }

/* How many elements piece n has. */
static int64_t cut_extent(pieces_cut c, int64_t n)
{
  return n == cut_count(c) - 1 ? c.n - n * c.each : c.each;
}

/* Whether piece n has fewer elements than the first. */
static int cut_is_short(pieces_cut c, int64_t n) { return cut_extent(c, n) < cut_extent(c, 0); }

/* Cuts n elements into at most `count` pieces, whose extents are multiples of `unit`. */
static pieces_cut cut_into(int64_t n, int64_t count, int64_t unit)
{
  const int64_t each = (n + count - 1) / count;
  return (pieces_cut){ n, (each + unit - 1) / unit * unit };
}

static pieces_cut whole(int64_t n) { return (pieces_cut){ n, n }; }

/* How b is cut: bands share all of it. */
static pieces_cut filters_cut(const pieces *p) { return p->bands ? whole(1) : p->inner; }

/* How b lies once it is converted: in which pieces, and each as its unit has it. */
static uint64_t pieces_form(const pieces *p)
{
  const pieces_cut cut = filters_cut(p);
  uint64_t h = jf_hash(1, &cut, sizeof cut);
  h = jf_hash(h, &p->by_inner.b, sizeof p->by_inner.b);
  h = jf_hash(h, &p->lib, sizeof p->lib);
  for (int i = 0; i < (p->bands ? 1 : N_WHICH); i++) {
    if (!p->unit[0][i]) continue;
    const uint64_t form = p->lib->form(p->unit[0][i]);
    if (!form) return 0;
    h = jf_hash(h, &form, sizeof form);
  }
  return h;
}

/* How many pieces so much arithmetic is worth: a power of two, so that halves are equal. `least`:
   arithmetic for which there are two. */
static int64_t pieces_wanted(double flop, double least)
{
  int64_t n = flop >= least ? 2 : 1;
  while (n < MOST_PIECES && flop >= 2.0 * (double)n * PIECE) n *= 2;
  while (n < INT32_MAX / 2 && flop >= 2.0 * (double)n * LARGE) n *= 2;
  return n;
}

/* ---- making units ---- */

/* Makes the unit for pieces of so many outer elements, and of `inner` ones from `from` on. */
typedef jfl_status (*pieces_maker)(const void *problem, int64_t outer, int64_t from, int64_t inner,
                                   jf_primitive_make *make);

/* Which of the units for inner pieces piece n needs. */
static int pieces_which(const pieces *p, int64_t n)
{
  if (!p->bands) return cut_is_short(p->inner, n) ? LAST : FIRST;
  return n == 0 ? FIRST : n == cut_count(p->inner) - 1 ? LAST : BETWEEN;
}

/* Makes the unit that outer piece i and inner piece n need, if there is none yet. */
static jfl_status pieces_unit(pieces *p, pieces_maker make, const void *problem, int64_t i,
                              int64_t n, int workers)
{
  const int last = cut_is_short(p->outer, i), first = !p->unit[0][FIRST];
  jf_primitive_any **unit = &p->unit[last][pieces_which(p, n)];
  if (*unit) return JFL_OK;
  jf_primitive_make m = { .workers = workers };
  JF_TRY(make(problem, cut_extent(p->outer, i), n * p->inner.each, cut_extent(p->inner, n), &m));
  *unit = m.unit;
  /* The unit for the last outer piece might want another layout. */
  if (last || !m.ready || (!first && !p->ready)) p->ready = 0;
  else if (m.ready > p->ready) p->ready = m.ready;
  p->converts |= m.ready > 0;
  if (m.scratch > p->room) p->room = m.scratch;
  return JFL_OK;
}

static jfl_status pieces_fill(pieces *p, pieces_maker make, const void *problem, int workers)
{
  const int64_t outer[] = { 0, cut_count(p->outer) - 1 };
  const int64_t inners = cut_count(p->inner), inner[] = { 0, inners > 2, inners - 1 };
  for (int i = 0; i < 2; i++)
    for (int n = 0; n < N_WHICH; n++)
      JF_TRY(pieces_unit(p, make, problem, outer[i], inner[n], workers));
  return JFL_OK;
}

static void drop_units(pieces *p)
{
  for (int i = 0; i < 2 * N_WHICH; i++) {
    jf_primitive_any **unit = &p->unit[i / N_WHICH][i % N_WHICH];
    if (*unit) p->lib->release(*unit);
    *unit = NULL;
  }
  p->room = p->ready = 0;
  p->converts = 0;
}

void jf_pieces_release(void *state)
{
  if (!state) return;
  drop_units(state);
  jf_free(state);
}

static int64_t pieces_count(const pieces *p) { return cut_count(p->outer) * cut_count(p->inner); }

/* flop: arithmetic of all pieces, where n channels, rows or columns are worked on together;
   elements: of all pictures. */
static void pieces_weigh(pieces *p, double flop, int64_t n, int64_t elements)
{
  if (n < NARROW) flop *= (double)NARROW / (double)n;
  flop += MOVED * (double)elements;
  p->flop = flop / (double)p->outer.n * (double)p->outer.each / (double)p->inner.n *
            (double)p->inner.each;
}

static int64_t pieces_parts(const pieces *p) { return p->sums ? pieces_count(p) : 0; }

/* Bytes of the copy at the start of a worker's scratch. */
static size_t copy_room(const pieces *p)
{
  const size_t size = p->copy == COPY_A ? p->from : p->to;
  return p->copy ? ((size_t)(p->k * p->inner.each) * size + 63) / 64 * 64 : 0;
}

static size_t ready_room(const pieces *p) { return (p->ready + 63) / 64 * 64; }
static size_t all_ready(const pieces *p)
{
  return ready_room(p) * (size_t)cut_count(filters_cut(p));
}
static size_t worker_room(const pieces *p) { return copy_room(p) + p->room; }

/* Whether input 1 may be converted before all runs. */
static int pieces_may_pack(const jf_kargs *k) { return k->in[1].layout.kind == JF_LAYOUT_ANY; }

/* Hands p, or what went wrong with it, to k; with `packs`, input 1 is converted before all runs. */
static jfl_status pieces_give(pieces *p, jfl_status s, int packs, jf_kargs *k)
{
  if (s != JFL_OK) {
    jf_pieces_release(p);
    return s;
  }
  const size_t part = (size_t)(p->sums + p->bias_sums) * sizeof(float);
  k->state = p;
  k->scratch_size = (size_t)k->threads * worker_room(p) + (size_t)pieces_parts(p) * part;
  if (packs && p->ready) {
    k->in[1].layout.kind = JF_LAYOUT_PACKED;
    k->in[1].layout.size = all_ready(p);
    k->in[1].layout.form = pieces_form(p);
  } else {
    k->scratch_size += all_ready(p);
  }
  return JFL_OK;
}

static jfl_status pieces_new(const jf_primitives *lib, jfl_dtype from, jfl_dtype to, pieces **out)
{
  *out = jf_new(sizeof **out);
  if (!*out) return jf_fail(JFL_ENOMEM, "out of memory");
  (*out)->lib = lib;
  (*out)->from = jfl_dtype_size(from);
  (*out)->to = jfl_dtype_size(to);
  (*out)->type = to;
  return JFL_OK;
}

/* ---- products ---- */

static jf_primitive_lines dense(int64_t rows, int64_t columns)
{
  return (jf_primitive_lines){ columns, rows * columns };
}

/* Takes an activation that has a fast loop out of the epilogue: it is applied to each piece. */
static void take_activation(pieces *p, jf_epilogue *e)
{
  p->act = jf_activation_loop(e->act, p->type);
  if (p->act) e->act = NULL;
}

typedef struct matmul_problem {
  const jf_primitives *lib;
  jf_primitive_matmul m;
  int by_rows;
  pieces_copy copy;
} matmul_problem;

static jfl_status matmul_piece(const void *problem, int64_t outer, int64_t from, int64_t inner,
                               jf_primitive_make *make)
{
  (void)from;
  const matmul_problem *p = problem;
  jf_primitive_matmul m = p->m;
  m.batch = outer;
  if (p->by_rows) m.m = inner;
  else m.n = inner;
  if (m.panel) {
    m.b.lead = inner;
    m.transpose_b = 0;
  }
  if (p->copy == COPY_A) m.a.lead = inner;
  if (p->copy == COPY_C) m.c.lead = inner;
  return p->lib->matmul(&m, make);
}

/* Cuts each matrix into `count` pieces. */
static void cut_matrix(pieces *p, matmul_problem *q, int64_t count)
{
  const jf_primitive_matmul *m = &q->m;
  const int copy_a = !p->lib->strided && m->transpose_a && !m->transpose_b && m->n >= LONG &&
                     m->m >= LONG;
  q->by_rows = copy_a || (m->n < 2 * WIDTH && m->m >= 2 * HEIGHT && !m->panel);
  const int64_t most = q->by_rows ? m->m / HEIGHT : m->n / WIDTH;
  while (count > most) count /= 2;
  if (m->panel) count = m->n / m->panel;
  if (count < 1) count = 1;
  if (q->by_rows) {
    p->inner = cut_into(m->m, count, 8);
    p->by_inner = (pieces_step){ .a = m->transpose_a ? 1 : m->a.lead, .c = m->c.lead };
  } else {
    p->inner = cut_into(m->n, count, 16);
    p->by_inner = (pieces_step){ .b = m->transpose_b ? m->b.lead : 1, .c = 1, .bias = 1 };
  }
  if (count == 1) return;
  if (!q->by_rows) p->rows = m->m;
  if (copy_a) q->copy = COPY_A;
  else if (!p->lib->strided && !q->by_rows && m->transpose_b && m->k >= LONG && !m->add &&
           !m->epilogue.residual)
    q->copy = COPY_C;
  p->copy = q->copy;
  p->k = copy_a ? m->k : m->m;
  p->lead = copy_a ? m->a.lead : m->c.lead;
}

static double product_work(const jf_primitive_matmul *m)
{
  return 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
}

static void cut_matmul(pieces *p, matmul_problem *q)
{
  const jf_primitive_matmul *m = &q->m;
  const int64_t few = m->m < m->n ? m->m : m->n;
  const double flop = product_work(m) * (few < NARROW ? (double)NARROW / (double)few : 1);
  const int64_t count = pieces_wanted(flop, PAIR);
  p->by_outer = (pieces_step){ .a = m->a.apart, .b = m->b.apart, .c = m->c.apart };
  p->outer = cut_into(m->batch, count < m->batch ? count : m->batch, 1);
  cut_matrix(p, q, p->outer.each == 1 ? count / m->batch : 1);
}

jfl_status jf_pieces_matmul(const jf_primitives *lib, jf_primitive_matmul *m, jf_kargs *k)
{
  pieces *p;
  m->from = k->in[0].dtype;
  m->to = k->out[0].dtype;
  JF_TRY(pieces_new(lib, m->from, m->to, &p));
  m->a = m->transpose_a ? dense(m->k, m->m) : dense(m->m, m->k);
  m->b = m->transpose_b ? dense(m->n, m->k) : dense(m->k, m->n);
  m->c = dense(m->m, m->n);
  take_activation(p, &m->epilogue);
  matmul_problem q = { .lib = lib, .m = *m };
  cut_matmul(p, &q);
  pieces_weigh(p, product_work(m), m->m < m->n ? m->m : m->n, 0);
  const jfl_status s = pieces_fill(p, matmul_piece, &q, k->threads);
  const int packs = pieces_may_pack(k) && lib->strided && !q.by_rows;
  if (!packs || cut_count(p->outer) > 1) p->ready = 0;
  return pieces_give(p, s, packs, k);
}

/* ---- convolutions ---- */

typedef struct conv_problem {
  const jf_primitives *lib;
  jf_primitive_conv c;
  jf_primitive_kind kind;
  int bands;
} conv_problem;

/* The outermost axis of an image. */
static int conv_axis(const jf_primitive_conv *c)
{
  return c->in[0] > 1 || c->out[0] > 1 ? 0 : c->in[1] > 1 || c->out[1] > 1 ? 1 : 2;
}

static int64_t conv_reach(const jf_primitive_conv *c, int axis)
{
  return (c->kernel[axis] - 1) * c->dilation[axis] + 1;
}

void jf_primitive_band(jf_primitive_conv *c, int axis, int64_t from, int64_t n)
{
  const int64_t low = from * c->stride[axis] - c->before[axis];
  const int64_t high = low + (n - 1) * c->stride[axis] + conv_reach(c, axis);
  c->before[axis] = low < 0 ? -low : 0;
  c->after[axis] = high > c->in[axis] ? high - c->in[axis] : 0;
  c->in[axis] = high - low - c->before[axis] - c->after[axis];
  c->out[axis] = n;
}

static jfl_status conv_piece(const void *problem, int64_t outer, int64_t from, int64_t inner,
                             jf_primitive_make *make)
{
  const conv_problem *p = problem;
  jf_primitive_conv c = p->c;
  c.batch = outer;
  if (p->bands) {
    jf_primitive_band(&c, conv_axis(&c), from, inner);
    return p->lib->conv(&c, p->kind, make);
  }
  c.out_channels = inner;
  if (c.groups > 1 && inner < p->c.out_channels)         /* cut_conv: as many channels in as out */
    c.groups = inner * c.groups / c.in_channels, c.in_channels = inner;
  return p->lib->conv(&c, p->kind, make);
}

/* Elements of an image, whose channels may be padded to whole blocks. */
static int64_t image(int64_t channels, const int64_t size[3], int64_t block)
{
  if (block) channels = (channels + block - 1) / block * block;
  return channels * size[0] * size[1] * size[2];
}

/* From one image, and from one channel of the results, to the next. */
static void conv_steps(pieces *p, const jf_primitive_conv *c, jf_primitive_kind kind)
{
  const int64_t x = image(c->in_channels, c->in, c->block_x ? c->block : 0);
  const int64_t y = image(c->out_channels, c->out, c->block_y ? c->block : 0);
  const int64_t w = image(c->in_channels / c->groups, c->kernel, 0);
  const int64_t plane = image(1, c->out, 0);
  switch (kind) {
  case JF_UNIT_FORWARD:
    p->by_outer = (pieces_step){ .a = x, .c = y };
    p->by_inner = (pieces_step){ .a = c->groups > 1 ? image(1, c->in, 0) : 0, .b = w, .c = plane,
                                 .bias = 1 };
    break;
  case JF_UNIT_DATA_GRAD:
    p->by_outer = (pieces_step){ .a = y, .c = x };
    p->by_inner = (pieces_step){ .a = plane, .b = w };
    break;
  case JF_UNIT_FILTER_GRAD:
    p->by_outer = (pieces_step){ .a = x, .b = y };
    p->by_inner = (pieces_step){ .b = plane, .c = w, .dbias = 1 };
    break;
  }
}

/* How many sums of so many elements there may be, where an element has so many products. */
static int64_t parts_of(int64_t sums, int64_t products)
{
  const int64_t bytes = sums * (int64_t)sizeof(float);
  int64_t most = bytes * MOST_PARTS < PART_BYTES ? MOST_PARTS : PART_BYTES / (bytes + 1) + 1;
  while (most > 2 && bytes > CACHED && products < most * AMPLE) most /= 2;
  return most;
}

static double filter_work(const jf_primitive_conv *c)
{
  return 2.0 * (double)image(c->in_channels / c->groups, c->kernel, 0) *
         (double)image(c->out_channels, c->out, 0) * (double)c->batch;
}

/* How many channels are worked on together: those of the result; in the gradient of filters, which
   has both, and in groups the fewer ones. */
static int64_t conv_width(const jf_primitive_conv *c, jf_primitive_kind kind)
{
  const int64_t in = c->in_channels / c->groups, out = c->out_channels / c->groups;
  if (c->groups == 1 && kind == JF_UNIT_FORWARD) return out;
  if (c->groups == 1 && kind == JF_UNIT_DATA_GRAD) return in;
  return in < out ? in : out;
}

/* Whether some channels of a result are a convolution on their own, of so many at a time. */
static int conv_cuts_channels(const jf_primitive_conv *c, jf_primitive_kind kind, int64_t some)
{
  const int forward = kind == JF_UNIT_FORWARD;
  if (c->last || (c->out_channels % some && !forward)) return 0;
  if (c->groups == 1) return 1;
  return forward && c->in_channels == c->out_channels && some * c->groups % c->in_channels == 0;
}

/* Whether the rows of an image lie behind each other: all channels are beside each other. */
static int conv_has_rows(const jf_primitive_conv *c)
{
  return c->last || (c->block_x && c->block_y && c->in_channels <= c->block &&
                     c->out_channels <= c->block);
}

/* Cuts images into bands of rows, where all between the first and the last are alike. */
static void cut_bands(pieces *p, const jf_primitive_conv *c, int64_t count)
{
  enum { ROWS = 4 };           /* in a band, at least */
  const int axis = conv_axis(c);
  while (count > 1 && c->out[axis] / count < ROWS) count /= 2;
  const pieces_cut cut = cut_into(c->out[axis], count, 1);
  const int64_t end = (cut_count(cut) - 1) * cut.each;         /* of all but the last */
  const int64_t read = (end - 1) * c->stride[axis] - c->before[axis] + conv_reach(c, axis);
  if (count < 2 || !conv_has_rows(c) || cut.each * c->stride[axis] < c->before[axis] ||
      read > c->in[axis] || c->in[axis] <= end * c->stride[axis] - c->before[axis]) return;
  const int64_t x = p->by_outer.a / c->in[axis], y = p->by_outer.c / c->out[axis];
  p->bands = 1;
  p->inner = cut;
  p->by_inner = (pieces_step){ .a = c->stride[axis] * x, .c = y };
  p->above = c->before[axis] * x;
}

/* Images are cut first. The channels of one image lie together, so that these can be cut as well;
   those of several images do not. Where there are too few, rows are. Convolutions of groups take
   three times as long for their arithmetic as others. */
static void cut_conv(pieces *p, const jf_primitive_conv *c, jf_primitive_kind kind)
{
  enum { SOME = 16 };          /* channels that the libraries work on together */
  const int forward = kind == JF_UNIT_FORWARD;
  int64_t count = pieces_wanted((c->groups > 1 ? 3 : 1) * filter_work(c),
                                forward ? PAIR : 2 * PIECE);
  const int64_t most = kind == JF_UNIT_FILTER_GRAD
                     ? parts_of(p->sums, image(c->batch, c->out, 0)) : count;
  p->outer = cut_into(c->batch, count < most ? count < c->batch ? count : c->batch
                                             : most < c->batch ? most : c->batch, 1);
  p->inner = whole(c->out_channels);
  const int one_image = forward ? p->outer.each == 1 : c->batch == 1;
  if (!one_image) return;
  count /= c->batch;
  if (forward && conv_has_rows(c)) cut_bands(p, c, count);
  if (p->bands || !conv_cuts_channels(c, kind, SOME)) return;
  const int64_t products = image(c->out_channels, c->kernel, 0);
  const int64_t few = kind == JF_UNIT_DATA_GRAD ? parts_of(p->sums, products) : count;
  if (count > few) count = few;
  const int64_t n = (c->out_channels + SOME - 1) / SOME, least = forward && n < 4 ? 1 : 2;
  while (count > 1 && n / count < least) count /= 2;
  if (count > 1) p->inner = cut_into(c->out_channels, count, SOME);
}

/* Whether the units of bands read filters that were converted for the first of them. */
static int bands_are_alike(const pieces *p)
{
  const uint64_t form = p->lib->form(p->unit[0][FIRST]);
  for (int i = 0; i < 2 * N_WHICH; i++) {
    const jf_primitive_any *unit = p->unit[i / N_WHICH][i % N_WHICH];
    if (unit && p->converts && (!form || p->lib->form(unit) != form)) return 0;
  }
  return 1;
}

/* Makes the units. Filters that are to be converted are so once for all pieces; with `packs`, once
   for all runs. Where that cannot be, and every piece would have to and is too small for that,
   pieces are made larger. */
static jfl_status conv_fill(pieces *p, conv_problem *q, int workers, int packs)
{
  q->bands = p->bands;
  JF_TRY(pieces_fill(p, conv_piece, q, workers));
  if (p->bands && !bands_are_alike(p)) {
    drop_units(p);
    p->bands = q->bands = 0;
    p->inner = whole(q->c.out_channels);
    JF_TRY(pieces_fill(p, conv_piece, q, workers));
  }
  if (q->kind == JF_UNIT_FILTER_GRAD || (cut_count(p->outer) == 1 && !packs)) p->ready = 0;
  const int64_t plane = image(1, q->c.out, 0), least = (ENOUGH + plane - 1) / plane;
  const int again = q->kind != JF_UNIT_FILTER_GRAD && cut_count(p->inner) == 1 &&
                    p->outer.each < least && p->outer.each < p->outer.n && p->converts &&
                    !p->ready;
  if (!again) return JFL_OK;
  drop_units(p);
  p->outer.each = least < p->outer.n ? least : p->outer.n;
  return pieces_fill(p, conv_piece, q, workers);
}

jfl_status jf_pieces_conv(const jf_primitives *lib, const jf_primitive_conv *c,
                          jf_primitive_kind kind, jf_kargs *k)
{
  pieces *p;
  conv_problem q = { .lib = lib, .c = *c, .kind = kind };
  const jf_tensor *dbias = c->epilogue.bias && kind == JF_UNIT_FILTER_GRAD ? &k->out[1] : NULL;
  q.c.from = k->in[0].dtype;
  q.c.to = k->out[0].dtype;
  JF_TRY(pieces_new(lib, q.c.from, q.c.to, &p));
  if (kind == JF_UNIT_FORWARD) take_activation(p, &q.c.epilogue);
  p->sums = jf_numel(&k->out[0].shape);
  conv_steps(p, c, kind);
  cut_conv(p, c, kind);
  /* The gradient of filters sums over images, that of data over channels of results. */
  const pieces_cut over = kind == JF_UNIT_FILTER_GRAD ? p->outer : p->inner;
  if (kind == JF_UNIT_FORWARD || cut_count(over) == 1) p->sums = 0;
  if (p->sums && dbias) p->bias_sums = jf_numel(&dbias->shape);
  const int packs = kind == JF_UNIT_FORWARD && pieces_may_pack(k);
  const jfl_status s = conv_fill(p, &q, k->threads, packs);
  pieces_weigh(p, filter_work(c), conv_width(c, kind),
               c->batch * (image(c->in_channels, c->in, 0) + image(c->out_channels, c->out, 0)));
  return pieces_give(p, s, packs, k);
}

/* ---- runs ---- */

typedef struct pieces_job {
  const pieces *p;
  jf_primitive_run r;
  char *scratch;               /* of the first worker */
  float *sums;                 /* of the first part; each has those of the bias behind it */
  atomic_int failed;           /* the status of a piece that failed */
} pieces_job;

static const void *further(const void *at, int64_t elements, size_t size)
{
  return at ? (const char *)at + elements * (int64_t)size : NULL;
}

/* The operands of the piece that begins at these elements. */
static jf_primitive_run pieces_operands(const pieces_job *j, int64_t outer, int64_t inner)
{
  const pieces_step *o = &j->p->by_outer, *i = &j->p->by_inner;
  const int64_t c = outer * o->c + inner * i->c, above = inner > 0 ? j->p->above : 0;
  return (jf_primitive_run){
    .a = further(j->r.a, outer * o->a + inner * i->a - above, j->p->from),
    .b = further(j->r.b, outer * o->b + inner * i->b, j->p->from),
    .c = (void *)further(j->r.c, c, j->p->to),
    .bias = further(j->r.bias, inner * i->bias, j->p->to),
    .residual = further(j->r.residual, c, j->p->to),
    .dbias = (void *)further(j->r.dbias, inner * i->dbias, j->p->to),
    .ready = (void *)further(j->r.ready, j->p->bands ? 0 : inner / j->p->inner.each,
                             ready_room(j->p)),
    .scale = j->r.scale
  };
}

/* Copies lines of n elements; lines lie so many elements apart. */
static void pieces_lines(const pieces *p, size_t size, int64_t n, const char *from,
                         int64_t from_lead, char *to, int64_t to_lead)
{
  for (int64_t i = 0; i < p->k; i++) {
    memcpy(to, from, (size_t)n * size);
    from += from_lead * (int64_t)size;
    to += to_lead * (int64_t)size;
  }
}

/* Copies a piece's columns of a, times the scale, if a is of float32. */
static void pieces_gather(const pieces *p, int64_t n, const jf_primitive_run *r, void *copy)
{
  const float *from = r->a, scale = r->scale ? *r->scale : 1;
  float *to = copy;
  if (p->from != sizeof(float)) {
    pieces_lines(p, p->from, n, r->a, p->lead, copy, n);
    return;
  }
  for (int64_t i = 0; i < p->k; i++, from += p->lead, to += n)
    for (int64_t j = 0; j < n; j++) to[j] = scale * from[j];
}

/* Applies the activation to the results of a piece, while they are in the core's cache. The piece
   begins with element `inner` of its axis and has `wide` ones. */
static void pieces_activate(const pieces *p, void *c, int64_t images, int64_t inner, int64_t wide)
{
  const int64_t rest = p->by_outer.c - inner * p->by_inner.c, some = wide * p->by_inner.c;
  if (p->rows && p->copy == COPY_C) jf_activate(p->act, p->type, c, 1, p->rows * wide, 0);
  else if (p->rows) jf_activate(p->act, p->type, c, p->rows, wide, p->by_outer.c / p->rows);
  else jf_activate(p->act, p->type, c, images, inner + wide < p->inner.n ? some : rest,
                   p->by_outer.c);
}

static void pieces_one(void *ctx, int n, int worker)
{
  pieces_job *j = ctx;
  const pieces *p = j->p;
  const int64_t inners = cut_count(p->inner), outer = n / inners, inner = n % inners;
  const int64_t wide = cut_extent(p->inner, inner);
  char *scratch = j->scratch + (size_t)worker * worker_room(p);
  jf_primitive_run r = pieces_operands(j, outer * p->outer.each, inner * p->inner.each);
  void *c = r.c;
  if (p->sums) {
    r.c = j->sums + n * (p->sums + p->bias_sums);
    r.dbias = p->bias_sums ? (float *)r.c + p->sums : NULL;
  }
  if (p->copy == COPY_A) pieces_gather(p, wide, &r, scratch);
  if (p->copy == COPY_A) r.a = scratch;
  if (p->copy == COPY_C) r.c = scratch;
  jf_primitive_any *unit = p->unit[cut_is_short(p->outer, outer)][pieces_which(p, inner)];
  jfl_status s = p->lib->execute(unit, worker, scratch + copy_room(p), r);
  if (p->act)
    pieces_activate(p, r.c, cut_extent(p->outer, outer), inner * p->inner.each, wide);
  if (p->copy == COPY_C) pieces_lines(p, p->to, wide, r.c, wide, c, p->lead);
  if (s != JFL_OK) atomic_store(&j->failed, (int)s);
}

/* Converts the filters of an inner piece. */
static void pieces_ready(void *ctx, int n, int worker)
{
  pieces_job *j = ctx;
  const pieces *p = j->p;
  const jf_primitive_run r = pieces_operands(j, 0, n * p->inner.each);
  const jfl_status s = p->lib->ready(p->unit[0][pieces_which(p, n)], worker, r.b, r.ready);
  if (s != JFL_OK) atomic_store(&j->failed, (int)s);
}

/* Adds up elements of the parts' sums, in the order of parts. */
typedef struct pieces_total { const float *from; float *to; int64_t n, apart, parts; } pieces_total;

JF_BODY void add_up_body(void *ctx, int i)
{
  const pieces_total *t = ctx;
  for (int64_t j = jf_from(i, JF_PART), end = jf_to(i, JF_PART, t->n); j < end; j++) {
    float sum = t->from[j];
    for (int64_t q = 1; q < t->parts; q++) sum += t->from[q * t->apart + j];
    t->to[j] = sum;
  }
}
JF_VARIANTS(add_up)

static void pieces_add_up(const jf_kargs *k, const pieces_job *j)
{
  const pieces *p = j->p;
  const int64_t apart = p->sums + p->bias_sums, parts = pieces_parts(p);
  pieces_total t = { j->sums, j->r.c, p->sums, apart, parts };
  jf_run_parts(k, jf_parts(t.n, JF_PART), add_up(), &t);
  if (!p->bias_sums) return;
  t = (pieces_total){ j->sums + p->sums, j->r.dbias, p->bias_sums, apart, parts };
  for (int i = 0; i < jf_parts(t.n, JF_PART); i++) add_up()(&t, i);
}

int jf_pieces_scale(const void *state)
{
  const pieces *p = state;
  return p->lib->strided || (p->copy == COPY_A && p->from == sizeof(float));
}

jfl_status jf_pieces_pack(const jf_kargs *k)
{
  const pieces *p = k->state;
  pieces_job j = { .p = p, .r = { .b = k->in[0].data, .ready = k->out[0].data } };
  jf_parallel_workers(k->threads, (int)cut_count(filters_cut(p)), pieces_ready, &j);
  return j.failed ? jf_fail((jfl_status)j.failed, "packing failed") : JFL_OK;
}

jfl_status jf_pieces_run(const jf_kargs *k, jf_primitive_run r)
{
  const pieces *p = k->state;
  const int packed = k->in[1].layout.kind == JF_LAYOUT_PACKED;
  pieces_job j = { .p = p, .r = r, .scratch = k->scratch };
  JF_TRY(jf_time_for_call(p->flop));
  char *ready = j.scratch + (size_t)k->threads * worker_room(p);
  j.sums = (float *)(packed ? ready : ready + all_ready(p));
  if (p->ready) j.r.ready = packed ? (void *)r.b : ready;
  if (p->ready && !packed)
    jf_parallel_workers(k->threads, (int)cut_count(filters_cut(p)), pieces_ready, &j);
  jf_parallel_workers(k->threads, (int)pieces_count(p), pieces_one, &j);
  if (j.failed) return jf_fail((jfl_status)j.failed, "a piece of the work failed");
  if (p->sums) pieces_add_up(k, &j);
  return JFL_OK;
}
