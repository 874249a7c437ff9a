/* Cutting products, and running pieces, also those of convolutions (pieces_conv.c). The library's
   own threads get equal shares and wait for each other, so that one whose core is busy elsewhere
   holds up all. Here a problem is cut into pieces, each of which runs on one thread, and threads
   that are done take more of them. How a problem is cut does not depend on the number of threads,
   nor do results. */
#include "pieces_cut.h"

#include "finish.h"
#include "vector.h"

#include <stdatomic.h>
#include <string.h>

/* LARGE: arithmetic of a piece which is cut however many there are, since it runs to its end where
   the time of a script is over. NARROW: so many channels, rows or columns are worked on together,
   and fewer take as long. MOVED: arithmetic in the time that an element of a picture may take to be
   brought and arranged (by both libraries, with 1 to 64 channels and kernels of 1 to 31). WIDTH and
   HEIGHT: columns and rows of a product below which a piece would be slow (the library's kernels
   have 48 columns and 8 rows). LONG: products of an element for which it pays to copy it. */
enum { MOST_PIECES = 64, LARGE = 1000000000, NARROW = 16, MOVED = 200, WIDTH = 96, HEIGHT = 32,
       LONG = 256 };

/* How many elements piece n has. */
static int64_t cut_extent(jf_pieces_cut c, int64_t n)
{
  return n == jf_cut_count(c) - 1 ? c.n - n * c.each : c.each;
}

/* Whether piece n has fewer elements than the first. */
static int cut_is_short(jf_pieces_cut c, int64_t n) { return cut_extent(c, n) < cut_extent(c, 0); }

jf_pieces_cut jf_cut_into(int64_t n, int64_t count, int64_t unit)
{
  const int64_t each = (n + count - 1) / count;
  return (jf_pieces_cut){ n, (each + unit - 1) / unit * unit };
}

/* How b is cut: bands share all of it. */
static jf_pieces_cut filters_cut(const jf_pieces *p)
{
  return p->bands ? jf_cut_whole(1) : p->inner;
}

/* How b lies once it is converted: in which pieces, and each as its unit has it. */
static uint64_t pieces_form(const jf_pieces *p)
{
  const jf_pieces_cut cut = filters_cut(p);
  uint64_t h = jf_hash(1, &cut, sizeof cut);
  h = jf_hash(h, &p->by_inner.b, sizeof p->by_inner.b);
  h = jf_hash(h, &p->lib, sizeof p->lib);
  for (int i = 0; i < (p->bands ? 1 : JF_PIECE_KINDS); i++) {
    if (!p->unit[0][i]) continue;
    const uint64_t form = p->lib->form(p->unit[0][i]);
    if (!form) return 0;
    h = jf_hash(h, &form, sizeof form);
  }
  return h;
}

int64_t jf_pieces_wanted(double flop, double least)
{
  int64_t n = flop >= least ? 2 : 1;
  while (n < MOST_PIECES && flop >= 2.0 * (double)n * JF_PIECE) n *= 2;
  while (n < INT32_MAX / 2 && flop >= 2.0 * (double)n * LARGE) n *= 2;
  return n;
}

/* ---- making units ---- */

/* Which of the units for inner pieces piece n needs. */
static int pieces_which(const jf_pieces *p, int64_t n)
{
  if (!p->bands) return cut_is_short(p->inner, n) ? JF_PIECE_LAST : JF_PIECE_FIRST;
  if (n == 0) return JF_PIECE_FIRST;
  return n == jf_cut_count(p->inner) - 1 ? JF_PIECE_LAST : JF_PIECE_BETWEEN;
}

/* Makes the unit that outer piece i and inner piece n need, if there is none yet. */
static jfl_status pieces_unit(jf_pieces *p, jf_pieces_maker make, const void *problem, int64_t i,
                              int64_t n, int workers)
{
  const int last = cut_is_short(p->outer, i), first = !p->unit[0][JF_PIECE_FIRST];
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

jfl_status jf_pieces_fill(jf_pieces *p, jf_pieces_maker make, const void *problem, int workers)
{
  const int64_t outer[] = { 0, jf_cut_count(p->outer) - 1 };
  const int64_t inners = jf_cut_count(p->inner), inner[] = { 0, inners > 2, inners - 1 };
  for (int i = 0; i < 2; i++)
    for (int n = 0; n < JF_PIECE_KINDS; n++)
      JF_TRY(pieces_unit(p, make, problem, outer[i], inner[n], workers));
  return JFL_OK;
}

void jf_pieces_drop(jf_pieces *p)
{
  for (int i = 0; i < 2 * JF_PIECE_KINDS; i++) {
    jf_primitive_any **unit = &p->unit[i / JF_PIECE_KINDS][i % JF_PIECE_KINDS];
    if (*unit) p->lib->release(*unit);
    *unit = NULL;
  }
  p->room = p->ready = 0;
  p->converts = 0;
}

void jf_pieces_release(void *state)
{
  if (!state) return;
  jf_pieces_drop(state);
  jf_free(state);
}

static int64_t pieces_count(const jf_pieces *p)
{
  return jf_cut_count(p->outer) * jf_cut_count(p->inner);
}

void jf_pieces_weigh(jf_pieces *p, double flop, int64_t n, int64_t elements)
{
  if (n < NARROW) flop *= (double)NARROW / (double)n;
  flop += MOVED * (double)elements;
  p->flop = flop / (double)p->outer.n * (double)p->outer.each / (double)p->inner.n *
            (double)p->inner.each;
}

static int64_t pieces_parts(const jf_pieces *p) { return p->sums ? pieces_count(p) : 0; }

/* Bytes of the copy at the start of a worker's scratch. */
static size_t copy_room(const jf_pieces *p)
{
  const size_t size = p->copy == JF_COPY_A ? p->from : p->to;
  return p->copy ? ((size_t)(p->k * p->inner.each) * size + 63) / 64 * 64 : 0;
}

static size_t ready_room(const jf_pieces *p) { return (p->ready + 63) / 64 * 64; }
static size_t all_ready(const jf_pieces *p)
{
  return ready_room(p) * (size_t)jf_cut_count(filters_cut(p));
}
static size_t worker_room(const jf_pieces *p) { return copy_room(p) + p->room; }

jfl_status jf_pieces_give(jf_pieces *p, jfl_status s, int packs, jf_kargs *k)
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

jfl_status jf_pieces_new(const jf_primitives *lib, jfl_dtype from, jfl_dtype to, jf_pieces **out)
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

void jf_pieces_activation(jf_pieces *p, jf_epilogue *e)
{
  p->act = jf_activation_loop(e->act, p->type);
  if (p->act) e->act = NULL;
}

typedef struct matmul_problem {
  const jf_primitives *lib;
  jf_primitive_matmul m;
  int by_rows;
  jf_pieces_copy copy;
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
  if (p->copy == JF_COPY_A) m.a.lead = inner;
  if (p->copy == JF_COPY_C) m.c.lead = inner;
  return p->lib->matmul(&m, make);
}

/* Cuts each matrix into `count` pieces. */
static void cut_matrix(jf_pieces *p, matmul_problem *q, int64_t count)
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
    p->inner = jf_cut_into(m->m, count, 8);
    p->by_inner = (jf_pieces_step){ .a = m->transpose_a ? 1 : m->a.lead, .c = m->c.lead };
  } else {
    p->inner = jf_cut_into(m->n, count, 16);
    p->by_inner = (jf_pieces_step){ .b = m->transpose_b ? m->b.lead : 1, .c = 1, .bias = 1 };
  }
  if (count == 1) return;
  if (!q->by_rows) p->rows = m->m;
  if (copy_a) q->copy = JF_COPY_A;
  else if (!p->lib->strided && !q->by_rows && m->transpose_b && m->k >= LONG && !m->add &&
           !m->epilogue.residual)
    q->copy = JF_COPY_C;
  p->copy = q->copy;
  p->k = copy_a ? m->k : m->m;
  p->lead = copy_a ? m->a.lead : m->c.lead;
}

static double product_work(const jf_primitive_matmul *m)
{
  return 2.0 * (double)m->batch * (double)m->m * (double)m->n * (double)m->k;
}

static void cut_matmul(jf_pieces *p, matmul_problem *q)
{
  const jf_primitive_matmul *m = &q->m;
  const int64_t few = m->m < m->n ? m->m : m->n;
  const double flop = product_work(m) * (few < NARROW ? (double)NARROW / (double)few : 1);
  const int64_t count = jf_pieces_wanted(flop, JF_PAIR);
  p->by_outer = (jf_pieces_step){ .a = m->a.apart, .b = m->b.apart, .c = m->c.apart };
  p->outer = jf_cut_into(m->batch, count < m->batch ? count : m->batch, 1);
  cut_matrix(p, q, p->outer.each == 1 ? count / m->batch : 1);
}

jfl_status jf_pieces_matmul(const jf_primitives *lib, jf_primitive_matmul *m, jf_kargs *k)
{
  jf_pieces *p;
  m->from = k->in[0].dtype;
  m->to = k->out[0].dtype;
  JF_TRY(jf_pieces_new(lib, m->from, m->to, &p));
  m->a = m->transpose_a ? dense(m->k, m->m) : dense(m->m, m->k);
  m->b = m->transpose_b ? dense(m->n, m->k) : dense(m->k, m->n);
  m->c = dense(m->m, m->n);
  jf_pieces_activation(p, &m->epilogue);
  matmul_problem q = { .lib = lib, .m = *m };
  cut_matmul(p, &q);
  jf_pieces_weigh(p, product_work(m), m->m < m->n ? m->m : m->n, 0);
  const jfl_status s = jf_pieces_fill(p, matmul_piece, &q, k->threads);
  const int packs = jf_pieces_may_pack(k) && lib->strided && !q.by_rows;
  if (!packs || jf_cut_count(p->outer) > 1) p->ready = 0;
  return jf_pieces_give(p, s, packs, k);
}

/* ---- runs ---- */

typedef struct pieces_job {
  const jf_pieces *p;
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
  const jf_pieces_step *o = &j->p->by_outer, *i = &j->p->by_inner;
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
static void pieces_lines(const jf_pieces *p, size_t size, int64_t n, const char *from,
                         int64_t from_lead, char *to, int64_t to_lead)
{
  for (int64_t i = 0; i < p->k; i++) {
    memcpy(to, from, (size_t)n * size);
    from += from_lead * (int64_t)size;
    to += to_lead * (int64_t)size;
  }
}

/* Copies a piece's columns of a, times the scale, if a is of float32. */
static void pieces_gather(const jf_pieces *p, int64_t n, const jf_primitive_run *r, void *copy)
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
static void pieces_activate(const jf_pieces *p, void *c, int64_t images, int64_t inner,
                            int64_t wide)
{
  const int64_t rest = p->by_outer.c - inner * p->by_inner.c, some = wide * p->by_inner.c;
  if (p->rows && p->copy == JF_COPY_C) jf_activate(p->act, p->type, c, 1, p->rows * wide, 0);
  else if (p->rows) jf_activate(p->act, p->type, c, p->rows, wide, p->by_outer.c / p->rows);
  else jf_activate(p->act, p->type, c, images, inner + wide < p->inner.n ? some : rest,
                   p->by_outer.c);
}

static void pieces_one(void *ctx, int n, int worker)
{
  pieces_job *j = ctx;
  const jf_pieces *p = j->p;
  const int64_t inners = jf_cut_count(p->inner), outer = n / inners, inner = n % inners;
  const int64_t wide = cut_extent(p->inner, inner);
  char *scratch = j->scratch + (size_t)worker * worker_room(p);
  jf_primitive_run r = pieces_operands(j, outer * p->outer.each, inner * p->inner.each);
  void *c = r.c;
  if (p->sums) {
    r.c = j->sums + n * (p->sums + p->bias_sums);
    r.dbias = p->bias_sums ? (float *)r.c + p->sums : NULL;
  }
  if (p->copy == JF_COPY_A) pieces_gather(p, wide, &r, scratch);
  if (p->copy == JF_COPY_A) r.a = scratch;
  if (p->copy == JF_COPY_C) r.c = scratch;
  jf_primitive_any *unit = p->unit[cut_is_short(p->outer, outer)][pieces_which(p, inner)];
  jfl_status s = p->lib->execute(unit, worker, scratch + copy_room(p), r);
  if (p->act)
    pieces_activate(p, r.c, cut_extent(p->outer, outer), inner * p->inner.each, wide);
  if (p->copy == JF_COPY_C) pieces_lines(p, p->to, wide, r.c, wide, c, p->lead);
  if (s != JFL_OK) atomic_store(&j->failed, (int)s);
}

/* Converts the filters of an inner piece. */
static void pieces_ready(void *ctx, int n, int worker)
{
  pieces_job *j = ctx;
  const jf_pieces *p = j->p;
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
  const jf_pieces *p = j->p;
  const int64_t apart = p->sums + p->bias_sums, parts = pieces_parts(p);
  pieces_total t = { j->sums, j->r.c, p->sums, apart, parts };
  jf_run_parts(k, jf_parts(t.n, JF_PART), add_up(), &t);
  if (!p->bias_sums) return;
  t = (pieces_total){ j->sums + p->sums, j->r.dbias, p->bias_sums, apart, parts };
  for (int i = 0; i < jf_parts(t.n, JF_PART); i++) add_up()(&t, i);
}

int jf_pieces_scale(const void *state)
{
  const jf_pieces *p = state;
  return p->lib->strided || (p->copy == JF_COPY_A && p->from == sizeof(float));
}

jfl_status jf_pieces_pack(const jf_kargs *k)
{
  const jf_pieces *p = k->state;
  pieces_job j = { .p = p, .r = { .b = k->in[0].data, .ready = k->out[0].data } };
  jf_parallel_workers(k->threads, (int)jf_cut_count(filters_cut(p)), pieces_ready, &j);
  return j.failed ? jf_fail((jfl_status)j.failed, "packing failed") : JFL_OK;
}

jfl_status jf_pieces_run(const jf_kargs *k, jf_primitive_run r)
{
  const jf_pieces *p = k->state;
  const int packed = k->in[1].layout.kind == JF_LAYOUT_PACKED;
  pieces_job j = { .p = p, .r = r, .scratch = k->scratch };
  JF_TRY(jf_time_for_call(p->flop));
  char *ready = j.scratch + (size_t)k->threads * worker_room(p);
  j.sums = (float *)(packed ? ready : ready + all_ready(p));
  if (p->ready) j.r.ready = packed ? (void *)r.b : ready;
  if (p->ready && !packed)
    jf_parallel_workers(k->threads, (int)jf_cut_count(filters_cut(p)), pieces_ready, &j);
  jf_parallel_workers(k->threads, (int)pieces_count(p), pieces_one, &j);
  if (j.failed) return jf_fail((jfl_status)j.failed, "a piece of the work failed");
  if (p->sums) pieces_add_up(k, &j);
  return JFL_OK;
}
