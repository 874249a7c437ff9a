/* Cutting convolutions and their gradients: into images, channels, or bands of an image's rows. */
#include "pieces_cut.h"

/* ENOUGH: results of a channel for which it pays to convert filters. MOST_PARTS and PART_BYTES: how
   many sums a gradient is gathered in, and the memory for them. CACHED: bytes of a sum that stays
   in a core's cache; a larger one should take in AMPLE products of an element. */
enum { ENOUGH = 2000, MOST_PARTS = 16, PART_BYTES = 1 << 25, CACHED = 1 << 17, AMPLE = 1000 };

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
static void conv_steps(jf_pieces *p, const jf_primitive_conv *c, jf_primitive_kind kind)
{
  const int64_t x = image(c->in_channels, c->in, c->block_x ? c->block : 0);
  const int64_t y = image(c->out_channels, c->out, c->block_y ? c->block : 0);
  const int64_t w = image(c->in_channels / c->groups, c->kernel, 0);
  const int64_t plane = image(1, c->out, 0);
  switch (kind) {
  case JF_UNIT_FORWARD:
    p->by_outer = (jf_pieces_step){ .a = x, .c = y };
    p->by_inner = (jf_pieces_step){ .a = c->groups > 1 ? image(1, c->in, 0) : 0, .b = w, .c = plane,
                                 .bias = 1 };
    break;
  case JF_UNIT_DATA_GRAD:
    p->by_outer = (jf_pieces_step){ .a = y, .c = x };
    p->by_inner = (jf_pieces_step){ .a = plane, .b = w };
    break;
  case JF_UNIT_FILTER_GRAD:
    p->by_outer = (jf_pieces_step){ .a = x, .b = y };
    p->by_inner = (jf_pieces_step){ .b = plane, .c = w, .dbias = 1 };
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
static void cut_bands(jf_pieces *p, const jf_primitive_conv *c, int64_t count)
{
  enum { ROWS = 4 };           /* in a band, at least */
  const int axis = conv_axis(c);
  while (count > 1 && c->out[axis] / count < ROWS) count /= 2;
  const jf_pieces_cut cut = jf_cut_into(c->out[axis], count, 1);
  const int64_t end = (jf_cut_count(cut) - 1) * cut.each;         /* of all but the last */
  const int64_t read = (end - 1) * c->stride[axis] - c->before[axis] + conv_reach(c, axis);
  if (count < 2 || !conv_has_rows(c) || cut.each * c->stride[axis] < c->before[axis] ||
      read > c->in[axis] || c->in[axis] <= end * c->stride[axis] - c->before[axis]) return;
  const int64_t x = p->by_outer.a / c->in[axis], y = p->by_outer.c / c->out[axis];
  p->bands = 1;
  p->inner = cut;
  p->by_inner = (jf_pieces_step){ .a = c->stride[axis] * x, .c = y };
  p->above = c->before[axis] * x;
}

/* Images are cut first. The channels of one image lie together, so that these can be cut as well;
   those of several images do not. Where there are too few, rows are. Convolutions of groups take
   three times as long for their arithmetic as others. */
static void cut_conv(jf_pieces *p, const jf_primitive_conv *c, jf_primitive_kind kind)
{
  enum { SOME = 16 };          /* channels that the libraries work on together */
  const int forward = kind == JF_UNIT_FORWARD;
  int64_t count = jf_pieces_wanted((c->groups > 1 ? 3 : 1) * filter_work(c),
                                   forward ? JF_PAIR : 2 * JF_PIECE);
  const int64_t most = kind == JF_UNIT_FILTER_GRAD
                     ? parts_of(p->sums, image(c->batch, c->out, 0)) : count;
  p->outer = jf_cut_into(c->batch, count < most ? count < c->batch ? count : c->batch
                                                 : most < c->batch ? most : c->batch, 1);
  p->inner = jf_cut_whole(c->out_channels);
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
  if (count > 1) p->inner = jf_cut_into(c->out_channels, count, SOME);
}

/* Whether the units of bands read filters that were converted for the first of them. */
static int bands_are_alike(const jf_pieces *p)
{
  const uint64_t form = p->lib->form(p->unit[0][JF_PIECE_FIRST]);
  for (int i = 0; i < 2 * JF_PIECE_KINDS; i++) {
    const jf_primitive_any *unit = p->unit[i / JF_PIECE_KINDS][i % JF_PIECE_KINDS];
    if (unit && p->converts && (!form || p->lib->form(unit) != form)) return 0;
  }
  return 1;
}

/* Makes the units. Filters that are to be converted are so once for all pieces; with `packs`, once
   for all runs. Where that cannot be, and every piece would have to and is too small for that,
   pieces are made larger. */
static jfl_status conv_fill(jf_pieces *p, conv_problem *q, int workers, int packs)
{
  q->bands = p->bands;
  JF_TRY(jf_pieces_fill(p, conv_piece, q, workers));
  if (p->bands && !bands_are_alike(p)) {
    jf_pieces_drop(p);
    p->bands = q->bands = 0;
    p->inner = jf_cut_whole(q->c.out_channels);
    JF_TRY(jf_pieces_fill(p, conv_piece, q, workers));
  }
  if (q->kind == JF_UNIT_FILTER_GRAD || (jf_cut_count(p->outer) == 1 && !packs)) p->ready = 0;
  const int64_t plane = image(1, q->c.out, 0), least = (ENOUGH + plane - 1) / plane;
  const int again = q->kind != JF_UNIT_FILTER_GRAD && jf_cut_count(p->inner) == 1 &&
                    p->outer.each < least && p->outer.each < p->outer.n && p->converts &&
                    !p->ready;
  if (!again) return JFL_OK;
  jf_pieces_drop(p);
  p->outer.each = least < p->outer.n ? least : p->outer.n;
  return jf_pieces_fill(p, conv_piece, q, workers);
}

jfl_status jf_pieces_conv(const jf_primitives *lib, const jf_primitive_conv *c,
                          jf_primitive_kind kind, jf_kargs *k)
{
  jf_pieces *p;
  conv_problem q = { .lib = lib, .c = *c, .kind = kind };
  const jf_tensor *dbias = c->epilogue.bias && kind == JF_UNIT_FILTER_GRAD ? &k->out[1] : NULL;
  q.c.from = k->in[0].dtype;
  q.c.to = k->out[0].dtype;
  JF_TRY(jf_pieces_new(lib, q.c.from, q.c.to, &p));
  if (kind == JF_UNIT_FORWARD) jf_pieces_activation(p, &q.c.epilogue);
  p->sums = jf_numel(&k->out[0].shape);
  conv_steps(p, c, kind);
  cut_conv(p, c, kind);
  /* The gradient of filters sums over images, that of data over channels of results. */
  const jf_pieces_cut over = kind == JF_UNIT_FILTER_GRAD ? p->outer : p->inner;
  if (kind == JF_UNIT_FORWARD || jf_cut_count(over) == 1) p->sums = 0;
  if (p->sums && dbias) p->bias_sums = jf_numel(&dbias->shape);
  const int packs = kind == JF_UNIT_FORWARD && jf_pieces_may_pack(k);
  const jfl_status s = conv_fill(p, &q, k->threads, packs);
  jf_pieces_weigh(p, filter_work(c), conv_width(c, kind),
                  c->batch * (image(c->in_channels, c->in, 0) + image(c->out_channels, c->out, 0)));
  return jf_pieces_give(p, s, packs, k);
}
