/* Convolutions of numbers of 8 bits by oneDNN, cut into images or bands of an image's rows. Sums
   are whole numbers, so that results do not depend on how a call is cut. */
#include "op/quantized_conv.h"

#include "dnnl.h"
#include "pieces.h"

#include <pthread.h>
#include <stdatomic.h>

/* PIECE: arithmetic of a piece, some 20 us of work. LARGE: that of a piece that is cut whatever the
   number of threads, since it runs to its end where the time of a script is over. SLOWER: how many
   times as long convolutions of one channel each take for it. */
enum { PIECE = 4000000, LARGE = 1000000000, SLOWER = 5, MOST_UNITS = 8 };

/* Images, and rows of y in each, with what they read: x from row `from` on, so many rows, and
   padding before and behind these. */
typedef struct band { int64_t images, rows, from, in, before, after; } band;

/* A piece: its unit, and how many elements into x and y its operands lie. */
typedef struct piece { int unit; int64_t x, y; } piece;

typedef struct int8_conv {
  const jf_primitives *lib;
  jf_primitive_conv c;
  jf_primitive_any *unit[MOST_UNITS];
  band of[MOST_UNITS];             /* what each unit computes; `from` does not count */
  int n_unit, n;
  piece *piece;
  size_t room, ready;              /* bytes of scratch a worker; of converted filters, or 0 */
  size_t size, residual;           /* bytes of an element of y, of the residual */
  float shift;                     /* what is added to the residual */
  double flop;                     /* of a piece */
  pthread_mutex_t converting;      /* the library's conversions use memory of their own */
} int8_conv;

static void drop_pieces(int8_conv *s)
{
  for (int i = 0; i < s->n_unit; i++) s->lib->release(s->unit[i]);
  jf_free(s->piece);
  s->piece = NULL;
  s->n = s->n_unit = 0;
  s->room = s->ready = 0;
}

static void int8_release(void *state)
{
  int8_conv *s = state;
  if (!s) return;
  drop_pieces(s);
  pthread_mutex_destroy(&s->converting);
  jf_free(s);
}

static int int8_accepts(const jf_kargs *k)
{
  return jf_conv_is_bounded(&((const jf_quantized_conv *)k->attr)->conv)
         && jf_dnnl_accepts_bytes(k);
}

static void int8_geometry(const jf_kargs *k, jf_primitive_conv *c)
{
  const jf_quantized_conv *a = k->attr;
  const int residual = k->n_in > 4;
  *c = jf_conv_geometry(&a->conv, &k->in[0], &k->in[1], &k->out[0]);
  c->from = k->in[0].dtype;
  c->to = a->dtype;
  c->scaled = 1;
  c->relu = a->relu;
  c->zero = (int)a->zero;
  c->first = a->first;
  c->first_zero = (int)a->first_zero;
  c->epilogue = (jf_epilogue){ .bias = 1, .residual = residual };
  c->residual = residual ? k->in[4].dtype : JFL_F32;
}

/* Rows `from` to below `to` of y. All of them read x as it is. */
static band band_of(const jf_primitive_conv *c, int64_t images, int64_t from, int64_t to)
{
  jf_primitive_conv b = *c;
  if (to - from < c->out[1]) jf_primitive_band(&b, 1, from, to - from);
  return (band){ images, to - from, from * c->stride[1] - c->before[1] + b.before[1], b.in[1],
                 b.before[1], b.after[1] };
}

static int is_same(const band *a, const band *b)
{
  return a->images == b->images && a->rows == b->rows && a->in == b->in && a->before == b->before &&
         a->after == b->after;
}

/* Gives the number of the unit for a band, which is made where there is none yet. */
static jfl_status unit_for(int8_conv *s, const band *b, int workers, int *out)
{
  for (*out = 0; *out < s->n_unit; ++*out)
    if (is_same(&s->of[*out], b)) return JFL_OK;
  if (s->n_unit == MOST_UNITS || b->in < 1)
    return jf_fail(JFL_ENOSYS, "rows cannot be cut so");
  jf_primitive_conv c = s->c;
  jf_primitive_make make = { .workers = workers };
  c.batch = b->images;
  c.in[1] = b->in;
  c.out[1] = b->rows;
  c.before[1] = b->before;
  c.after[1] = b->after;
  JF_TRY(s->lib->conv(&c, JF_UNIT_FORWARD, &make));
  s->of[s->n_unit] = *b;
  s->unit[s->n_unit++] = make.unit;
  if (make.scratch > s->room) s->room = make.scratch;
  s->ready = make.ready;
  return JFL_OK;
}

/* Adds the pieces of some images, each of `rows` rows. */
static jfl_status add_pieces(int8_conv *s, int64_t first, int64_t images, int64_t rows, int workers)
{
  const jf_primitive_conv *c = &s->c;
  const int64_t line = c->in[2] * c->in_channels, y_line = c->out[2] * c->out_channels;
  for (int64_t r = 0; r < c->out[1]; r += rows) {
    const int64_t to = r + rows < c->out[1] ? r + rows : c->out[1];
    const band b = band_of(c, images, r, to);
    piece *p = &s->piece[s->n++];
    JF_TRY(unit_for(s, &b, workers, &p->unit));
    p->x = (first * c->in[1] + b.from) * line;
    p->y = (first * c->out[1] + r) * y_line;
  }
  return JFL_OK;
}

/* Cuts a call into pieces of so many images and rows each. */
static jfl_status cut_images(int8_conv *s, int64_t each, int64_t rows, int threads)
{
  const jf_primitive_conv *c = &s->c;
  const int64_t n = (c->batch + each - 1) / each * ((c->out[1] + rows - 1) / rows);
  s->piece = jf_new((size_t)n * sizeof *s->piece);
  if (!s->piece) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int64_t i = 0; i < c->batch; i += each)
    JF_TRY(add_pieces(s, i, c->batch - i < each ? c->batch - i : each, rows, threads));
  return JFL_OK;
}

/* Whether all units read filters that were converted for one of them; gives their form. */
static int is_alike(const int8_conv *s, uint64_t *form)
{
  *form = s->lib->form(s->unit[0]);
  for (int i = 1; i < s->n_unit; i++)
    if (!*form || s->lib->form(s->unit[i]) != *form) return 0;
  return 1;
}

/* Cuts a call of so much arithmetic into pieces: of some images each, or of rows of an image; or
   where those would want filters in several forms, into one. */
static jfl_status int8_cut(int8_conv *s, double flop, int threads, uint64_t *form)
{
  const jf_primitive_conv *c = &s->c;
  const double image = (c->groups == c->in_channels ? SLOWER : 1) * flop / (double)c->batch;
  int64_t each = image < PIECE ? (int64_t)(PIECE / (image + 1)) + 1 : 1, bands = 1;
  if (each > (c->batch + threads - 1) / threads) each = (c->batch + threads - 1) / threads;
  if (c->batch < threads && image > 1.25 * PIECE) bands = threads;
  if (image / (double)bands > LARGE) bands = (int64_t)(image / LARGE) + 1;
  JF_TRY(cut_images(s, each, (c->out[1] + bands - 1) / bands, threads));
  if (!is_alike(s, form)) {
    drop_pieces(s);
    JF_TRY(cut_images(s, c->batch, c->out[1], threads));
    is_alike(s, form);
  }
  s->flop = flop / s->n;
  return JFL_OK;
}

static jfl_status int8_prepare(jf_kargs *k)
{
  int8_conv *s = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "out of memory");
  pthread_mutex_init(&s->converting, NULL);
  s->lib = jf_dnnl_open();
  int8_geometry(k, &s->c);
  s->size = jfl_dtype_size(k->out[0].dtype);
  s->residual = k->n_in > 4 ? jfl_dtype_size(k->in[4].dtype) : 0;
  s->shift = -(float)((const jf_quantized_conv *)k->attr)->residual_zero;
  const double work = 2 * (double)jf_numel(&k->out[0].shape) * (double)jf_numel(&k->in[1].shape) /
                      (double)s->c.out_channels;
  uint64_t form;
  const jfl_status err = int8_cut(s, work, k->threads, &form);
  if (err) return int8_release(s), err;
  k->state = s;
  k->scratch_size = (size_t)k->threads * s->room;
  if (k->in[1].layout.kind == JF_LAYOUT_ANY && s->ready) {
    k->in[1].layout.kind = JF_LAYOUT_PACKED;
    k->in[1].layout.size = s->ready;
    k->in[1].layout.form = form;
  } else {
    k->scratch_size += s->ready;
  }
  return JFL_OK;
}

/* ---- runs ---- */

typedef struct int8_run {
  const jf_kargs *k;
  const int8_conv *s;
  void *ready;                     /* the filters as units read them, or NULL */
  atomic_int failed;
} int8_run;

static void run_piece(void *ctx, int n, int worker)
{
  int8_run *j = ctx;
  const jf_kargs *k = j->k;
  const int8_conv *s = j->s;
  const piece *p = &s->piece[n];
  const int more = k->n_in > 4;
  const jf_primitive_run r = {
    .a = (const char *)k->in[0].data + p->x, .b = k->in[1].data,
    .c = (char *)k->out[0].data + (size_t)p->y * s->size,
    .factor = k->in[2].data, .bias = k->in[3].data,
    .residual = more ? (const char *)k->in[4].data + (size_t)p->y * s->residual : NULL,
    .number = more ? k->in[5].data : NULL, .ratio = k->n_in > 6 ? k->in[6].data : NULL,
    .shift = more ? &s->shift : NULL, .ready = j->ready
  };
  char *scratch = (char *)k->scratch + (size_t)worker * s->room;
  const jfl_status err = s->lib->execute(s->unit[p->unit], worker, scratch, r);
  if (err) atomic_store(&j->failed, (int)err);
}

static jfl_status int8_convert(int8_conv *s, const void *filters, void *to)
{
  pthread_mutex_lock(&s->converting);
  const jfl_status err = s->lib->ready(s->unit[0], 0, filters, to);
  pthread_mutex_unlock(&s->converting);
  return err;
}

static jfl_status int8_execute(const jf_kargs *k)
{
  int8_conv *s = k->state;
  int8_run j = { .k = k, .s = s };
  JF_TRY(jf_time_for_call(s->flop));
  if (k->in[1].layout.kind == JF_LAYOUT_PACKED) {
    j.ready = k->in[1].data;
  } else if (s->ready) {
    j.ready = (char *)k->scratch + (size_t)k->threads * s->room;
    JF_TRY(int8_convert(s, k->in[1].data, j.ready));
  }
  jf_parallel_workers(k->threads, s->n, run_piece, &j);
  return j.failed ? jf_fail((jfl_status)j.failed, "a piece of the work failed") : JFL_OK;
}

static jfl_status int8_pack(const jf_kargs *k)
{
  return int8_convert(k->state, k->in[0].data, k->out[0].data);
}

JFL_CPU(dnnl_quantized_conv2d, .op = "quantized_conv2d", .accepts = int8_accepts,
        .prepare = int8_prepare, .run = int8_execute, .pack = int8_pack, .release = int8_release,
        .priority = JF_LIBRARY)
