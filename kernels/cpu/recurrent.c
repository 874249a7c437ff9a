/* Steps of recurrent layers. Rows of the batch do not depend on each other, so that each thread
   takes some rows through all steps, without waiting for others in between. Where there are too few
   rows for that, threads share the units of each step. */
#include "op/recurrent.h"

#include "tiles.h"

/* The weights are copied once a call to panels of WIDE columns, each a product's second factor with
   its rows side by side. SHARED: how many weights a step has at least
   whose units threads share. */
enum { WIDE = 2 * JF_LANES, MOST_PARTS = 4, SHARED = 1 << 18 };

typedef struct recurrent_job {
  const jf_kargs *k;
  const jf_recurrent *a;
  jf_recurrent_dims d;
  int64_t columns, depth;      /* of the product of a step */
  int64_t panels, wide;        /* how many there are; columns with those that fill the last */
  int64_t rows;                /* that a thread takes together */
  float *panel;
  char *lanes;                 /* scratch of the first worker */
  size_t room;                 /* bytes of a worker */
} recurrent_job;

static int64_t recurrent_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* Whether there is no time left before the n-th step. */
static int recurrent_ends(const recurrent_job *j, int64_t n)
{
  return jf_loop_ends_at(n, j->rows * j->columns * j->depth);
}

/* Copies panel i of the weight (gates, units), whose columns are its rows: s = h W^T. */
JF_BODY void recurrent_turn_body(void *ctx, int i)
{
  const recurrent_job *j = ctx;
  const float *w = (const float *)j->k->in[JF_RNN_WEIGHT].data + (int64_t)i * WIDE * j->depth;
  jf_tile_turn(w, j->depth, recurrent_least(j->columns - (int64_t)i * WIDE, WIDE), j->depth, 1,
               j->panel + (int64_t)i * WIDE * j->depth, WIDE);
}
JF_VECTOR_VARIANTS(recurrent_turn)

/* Copies columns of the weight as they lie, for dh = ds W. */
JF_BODY void recurrent_copy_body(void *ctx, int i)
{
  const recurrent_job *j = ctx;
  const float *w = (const float *)j->k->in[JF_BACK_WEIGHT].data + (int64_t)i * WIDE;
  const int64_t n = recurrent_least(j->columns - (int64_t)i * WIDE, WIDE);
  float *to = j->panel + (int64_t)i * WIDE * j->depth;
  for (int64_t r = 0; r < j->depth; r++) {
    memcpy(to + r * WIDE, w + r * j->columns, (size_t)n * sizeof *to);
    memset(to + r * WIDE + n, 0, (size_t)(WIDE - n) * sizeof *to);
  }
}
JF_VECTOR_VARIANTS(recurrent_copy)

/* What is read after a product: n floats, which may be none. */
typedef struct recurrent_next { const float *x; int64_t n; } recurrent_next;

/* Has the memory fetch part p of `parts` of them. */
JF_BODY void recurrent_fetch(recurrent_next next, int64_t p, int64_t parts)
{
  for (int64_t i = next.n * p / parts; i < next.n * (p + 1) / parts; i += JF_LANES)
    __builtin_prefetch(next.x + i, 0, 2);
}

/* to (+)= from W for some rows and panels; rows of `to` are j->wide floats apart. */
JF_BODY void recurrent_product(const recurrent_job *j, const float *from, int64_t from_row,
                               int64_t rows, float *to, int add, recurrent_next next,
                               int64_t first, int64_t end)
{
  for (int64_t p = first; p < end; p++) {
    recurrent_fetch(next, p, j->panels);
    const int64_t n = recurrent_least(j->columns - p * WIDE, WIDE);
    jf_tile_product(&(jf_tile){ .a = from, .a_row = from_row, .a_next = 1,
                                .b = j->panel + p * WIDE * j->depth, .b_row = WIDE,
                                .c = to + p * WIDE, .c_row = j->wide, .depth = j->depth,
                                .add = add }, rows, (n + JF_LANES - 1) / JF_LANES);
  }
}

JF_BODY void recurrent_sigmoid(jf_vec *x)
{
  *x = -*x;
  jf_exp(x);
  *x = 1 / (1 + *x);
}

/* tanh x = 2 sigmoid(2 x) - 1. It is off by less than the last place of 1. */
JF_BODY void recurrent_tanh(jf_vec *x)
{
  *x += *x;
  recurrent_sigmoid(x);
  *x += *x - 1;
}

/* tanh x, and its slope without cancellation: with e = exp(-2 |x|), 4 e / (1 + e)^2. */
JF_BODY void recurrent_tanh_slope(jf_vec *x, jf_vec *slope)
{
  const jf_ivec negative = *x < 0;
  jf_vec e = JF_SELECT(negative, *x + *x, -(*x + *x));
  jf_exp(&e);
  const jf_vec share = 1 / (1 + e), t = (1 - e) * share;
  *x = JF_SELECT(negative, -t, t);
  *slope = 4 * e * share * share;
}

/* ---- forward ---- */

/* A vector of units of a row: what comes in, and where what the step makes goes. x: from the
   inputs; s: from the state, where it is not in x. */
typedef struct unit_vec { jf_vec x[MOST_PARTS], s[MOST_PARTS], h, c; } unit_vec;

/* As unit_forward of op/recurrent.c; gates are left in x, and for GRU s_n in x[3]. */
JF_BODY void unit_vec_forward(jf_recurrent_cell kind, unit_vec *u)
{
  jf_vec *x = u->x, t;
  switch (kind) {
  case JF_RNN_TANH:
    recurrent_tanh(&x[0]);
    u->h = x[0];
    return;
  case JF_RNN_RELU: u->h = JF_SELECT(x[0] < 0, (jf_vec){ 0 }, x[0]); return;
  case JF_LSTM:
    recurrent_sigmoid(&x[0]);
    recurrent_sigmoid(&x[1]);
    recurrent_tanh(&x[2]);
    recurrent_sigmoid(&x[3]);
    u->c = x[1] * u->c + x[0] * x[2];
    t = u->c;
    recurrent_tanh(&t);
    u->h = x[3] * t;
    return;
  case JF_GRU:
    x[0] += u->s[0];
    x[1] += u->s[1];
    recurrent_sigmoid(&x[0]);
    recurrent_sigmoid(&x[1]);
    x[3] = u->s[2];
    x[2] += x[0] * x[3];
    recurrent_tanh(&x[2]);
    u->h = (1 - x[1]) * x[2] + x[1] * u->h;
    return;
  }
}

/* Units of one row, which is `row` of all steps; s: products with the state before, h; c: the cells
   before. */
JF_BODY void recurrent_units(const recurrent_job *j, int64_t row, const float *s, const float *h,
                             const float *c, int64_t first, int64_t end)
{
  const int64_t n = j->d.units, gates = j->d.gates, saved = j->d.saved;
  const float *x = (const float *)j->k->in[JF_RNN_X].data + row * gates * n;
  float *y = (float *)j->k->out[0].data + row * n;
  float *keep = saved ? (float *)j->k->out[1].data + row * saved * n : NULL;
  for (int64_t at = first; at < end; at += JF_LANES) {
    const int64_t some = recurrent_least(end - at, JF_LANES);
    unit_vec u;
    jf_load_part(h + at, some, 0, &u.h);
    if (c) jf_load_part(c + at, some, 0, &u.c);
    for (int64_t i = 0; i < gates; i++) {
      jf_load_part(x + i * n + at, some, 0, &u.x[i]);
      jf_load_part(s + i * n + at, some, 0, &u.s[i]);
      if (j->a->kind != JF_GRU) u.x[i] += u.s[i];
    }
    unit_vec_forward(j->a->kind, &u);
    jf_store_part(y + at, some, &u.h);
    for (int64_t i = 0; i < saved; i++) jf_store_part(keep + i * n + at, some, &u.x[i]);
    if (c) jf_store_part((float *)j->k->out[2].data + row * n + at, some, &u.c);
  }
}

/* What a worker does of step n: some rows, and of these the units from..end - 1, which are all or
   whole panels of each gate. */
typedef struct recurrent_span { int64_t n, first, rows, from, end; } recurrent_span;

/* s = h W^T + bias, for the units of the span. */
JF_BODY void recurrent_gates(const recurrent_job *j, const recurrent_span *a, const float *h,
                             float *s, recurrent_next next)
{
  const jf_recurrent_dims *d = &j->d;
  const float *bias = j->a->kind == JF_GRU ? j->k->in[JF_RNN_EXTRA].data : NULL;
  const int all = a->end - a->from == d->units;
  for (int64_t g = 0; g < (all ? 1 : d->gates); g++) {
    const int64_t at = g * d->units + a->from, n = all ? j->columns : a->end - a->from;
    for (int64_t r = 0; bias && r < a->rows; r++)
      memcpy(s + r * j->wide + at, bias + at, (size_t)n * sizeof *s);
    recurrent_product(j, h, d->units, a->rows, s, bias != NULL, next, at / WIDE,
                      (at + n + WIDE - 1) / WIDE);
  }
}

JF_BODY void recurrent_step(const recurrent_job *j, const recurrent_span *a, float *s)
{
  const jf_recurrent_dims *d = &j->d;
  const jf_tensor *in = j->k->in, *out = j->k->out;
  const int64_t t = jf_recurrent_step(j->a, d->length, a->n);
  const int64_t before = jf_recurrent_before(j->a, d->length, t);
  const int64_t old = ((before < 0 ? 0 : before * d->batch) + a->first) * d->units;
  const float *h = (const float *)(before < 0 ? in[JF_RNN_H0].data : out[0].data) + old;
  const float *c = NULL;
  if (j->a->kind == JF_LSTM)
    c = (const float *)(before < 0 ? in[JF_RNN_EXTRA].data : out[2].data) + old;
  const int64_t x_row = d->gates * d->units;
  const float *x = (const float *)in[JF_RNN_X].data + (t * d->batch + a->first) * x_row;
  recurrent_gates(j, a, h, s, (recurrent_next){ x, a->rows * x_row });
  for (int64_t r = 0; r < a->rows; r++)
    recurrent_units(j, t * d->batch + a->first + r, s + r * j->wide, h + r * d->units,
                    c ? c + r * d->units : NULL, a->from, a->end);
}

/* What runs on a worker: rows of part i of the job, with the worker's scratch; or, of step n, a
   share of all rows' units. */
typedef struct recurrent_piece {
  const recurrent_job *j;
  float *scratch;
  int64_t n;
} recurrent_piece;

JF_BODY void recurrent_part_body(void *ctx, int i)
{
  const recurrent_piece *piece = ctx;
  const recurrent_job *j = piece->j;
  const int64_t first = i * j->rows, rows = recurrent_least(j->d.batch - first, j->rows);
  recurrent_span a = { 0, first, rows, 0, j->d.units };
  for (; a.n < j->d.length && !recurrent_ends(j, a.n); a.n++) recurrent_step(j, &a, piece->scratch);
}
JF_VECTOR_VARIANTS(recurrent_part)

JF_BODY void recurrent_share_body(void *ctx, int i)
{
  const recurrent_piece *piece = ctx;
  const recurrent_job *j = piece->j;
  const int64_t panels = j->d.units / WIDE, n = j->k->threads;
  const recurrent_span a = { piece->n, 0, j->d.batch, panels * i / n * WIDE,
                             panels * (i + 1) / n * WIDE };
  if (a.from < a.end) recurrent_step(j, &a, piece->scratch);
}
JF_VECTOR_VARIANTS(recurrent_share)

/* ---- backward ---- */

/* As unit_backward of op/recurrent.c: x has the gates and gets the gradients, s likewise those of
   products with the state; h and c as there. */
typedef struct unit_vec_back { unit_vec u; jf_vec c_before, dh, dc; } unit_vec_back;

JF_BODY void unit_vec_backward(jf_recurrent_cell kind, unit_vec_back *b)
{
  jf_vec *x = b->u.x, t = b->u.c, slope, dh = b->dh;
  const jf_vec i = x[0], f = x[1], g = x[2], o = x[3];
  b->dh = (jf_vec){ 0 };
  switch (kind) {
  case JF_RNN_TANH: x[0] = dh * (1 - b->u.h * b->u.h); break;
  case JF_RNN_RELU: x[0] = JF_SELECT(b->u.h > 0, dh, (jf_vec){ 0 }); break;
  case JF_LSTM:
    recurrent_tanh_slope(&t, &slope);
    b->dc += dh * o * slope;
    x[0] = b->dc * g * i * (1 - i);
    x[1] = b->dc * b->c_before * f * (1 - f);
    x[2] = b->dc * i * (1 - g * g);
    x[3] = dh * t * o * (1 - o);
    b->dc *= f;
    break;
  case JF_GRU:
    x[2] = dh * (1 - f) * (1 - g * g);
    x[1] = dh * (b->u.h - g) * f * (1 - f);
    x[0] = x[2] * o * i * (1 - i);
    b->u.s[2] = x[2] * i;
    b->dh = dh * f;
    break;
  }
}

/* Where a row's gradients of states are: those that come from the step after, and of the cells. */
typedef struct recurrent_carry { float *dh, *dc; } recurrent_carry;

/* Back through a step of one row; h, c and c_before as in unit_backward. */
JF_BODY void recurrent_units_back(const recurrent_job *j, int64_t row, const float *h,
                                  const float *c_before, recurrent_carry carry)
{
  const int64_t n = j->d.units, gates = j->d.gates, saved = j->d.saved;
  const jf_tensor *in = j->k->in, *out = j->k->out;
  const int gru = j->a->kind == JF_GRU;
  const float *keep = saved ? (const float *)in[JF_BACK_GATES].data + row * saved * n : NULL;
  const float *dy = (const float *)in[JF_BACK_DY].data + row * n, *dc = NULL;
  if (j->k->n_in > JF_BACK_DCELLS) dc = (const float *)in[JF_BACK_DCELLS].data + row * n;
  for (int64_t at = 0; at < n; at += JF_LANES) {
    const int64_t some = recurrent_least(n - at, JF_LANES);
    unit_vec_back b;
    jf_vec more = { 0 };
    memset(&b, 0, sizeof b);
    jf_load_part(h + at, some, 0, &b.u.h);
    jf_load_part(dy + at, some, 0, &b.dh);
    b.dh += JF_LOAD(carry.dh + at);
    b.dc = JF_LOAD(carry.dc + at);
    if (dc) jf_load_part(dc + at, some, 0, &more);
    b.dc += more;
    for (int64_t i = 0; i < saved; i++) jf_load_part(keep + i * n + at, some, 0, &b.u.x[i]);
    if (c_before) {
      jf_load_part((const float *)in[JF_BACK_CELLS].data + row * n + at, some, 0, &b.u.c);
      jf_load_part(c_before + at, some, 0, &b.c_before);
    }
    unit_vec_backward(j->a->kind, &b);
    for (int64_t i = 0; i < gates; i++) {
      float *dx = (float *)out[0].data + (row * gates + i) * n + at;
      jf_store_part(dx, some, &b.u.x[i]);
      if (gru)
        jf_store_part((float *)out[2].data + (row * gates + i) * n + at, some,
                      i == 2 ? &b.u.s[2] : &b.u.x[i]);
    }
    JF_STORE(carry.dh + at, b.dh);
    JF_STORE(carry.dc + at, b.dc);
  }
}

JF_BODY void recurrent_back_step(const recurrent_job *j, int64_t t, int64_t first, int64_t rows,
                                 recurrent_carry carry)
{
  const jf_recurrent_dims *d = &j->d;
  const jf_tensor *in = j->k->in;
  const int gru = j->a->kind == JF_GRU;
  const int64_t before = jf_recurrent_before(j->a, d->length, t), at = t * d->batch + first;
  const int64_t old = ((before < 0 ? 0 : before * d->batch) + first) * d->units;
  const float *h = (const float *)in[JF_BACK_Y].data + at * d->units, *c = NULL;
  if (gru) h = (const float *)in[before < 0 ? JF_BACK_H0 : JF_BACK_Y].data + old;
  if (j->a->kind == JF_LSTM)
    c = (const float *)in[before < 0 ? JF_BACK_C0 : JF_BACK_CELLS].data + old;
  for (int64_t r = 0; r < rows; r++)
    recurrent_units_back(j, at + r, h + r * d->units, c ? c + r * d->units : NULL,
                         (recurrent_carry){ carry.dh + r * j->wide, carry.dc + r * j->wide });
  const float *ds = (const float *)j->k->out[gru ? 2 : 0].data + at * j->depth;
  recurrent_product(j, ds, j->depth, rows, carry.dh, gru, (recurrent_next){ 0 }, 0, j->panels);
}

JF_BODY void recurrent_back_part_body(void *ctx, int i)
{
  const recurrent_piece *piece = ctx;
  const recurrent_job *j = piece->j;
  const jf_recurrent_dims *d = &j->d;
  const int64_t first = i * j->rows, rows = recurrent_least(d->batch - first, j->rows);
  const recurrent_carry carry = { piece->scratch, piece->scratch + j->rows * j->wide };
  memset(piece->scratch, 0, j->room);
  for (int64_t n = d->length - 1; n >= 0 && !recurrent_ends(j, n); n--)
    recurrent_back_step(j, jf_recurrent_step(j->a, d->length, n), first, rows, carry);
  const size_t line = (size_t)d->units * sizeof(float);
  for (int64_t r = 0; r < rows; r++) {
    const int64_t to = (first + r) * d->units;
    memcpy((float *)j->k->out[1].data + to, carry.dh + r * j->wide, line);
    if (j->a->kind == JF_LSTM)
      memcpy((float *)j->k->out[2].data + to, carry.dc + r * j->wide, line);
  }
}
JF_VECTOR_VARIANTS(recurrent_back_part)

/* ---- rows ---- */

static recurrent_job recurrent_job_of(const jf_kargs *k, int backward)
{
  recurrent_job j = { .k = k, .a = k->attr };
  j.d = jf_recurrent_dims_of(j.a, &k->in[backward ? JF_BACK_Y : JF_RNN_X].shape,
                             &k->in[backward ? JF_BACK_H0 : JF_RNN_H0].shape);
  j.columns = backward ? j.d.units : j.d.gates * j.d.units;
  j.depth = backward ? j.d.gates * j.d.units : j.d.units;
  j.panels = (j.columns + WIDE - 1) / WIDE;
  j.wide = j.panels * WIDE;
  j.rows = ((j.d.batch + k->threads - 1) / k->threads + 3) / 4 * 4;
  j.room = (size_t)(j.rows * j.wide * (backward ? 2 : 1)) * sizeof(float);
  return j;
}

static size_t recurrent_panel_size(const recurrent_job *j)
{
  return (size_t)(j->wide * j->depth) * sizeof(float);
}

static int recurrent_accepts(const jf_kargs *k)
{
  return jf_has_vectors() && k->in[0].dtype == JFL_F32 && jf_numel(&k->out[0].shape) > 0;
}

static jfl_status recurrent_room(jf_kargs *k, int backward)
{
  const recurrent_job j = recurrent_job_of(k, backward);
  k->scratch_size = recurrent_panel_size(&j) + (size_t)k->threads * j.room;
  return JFL_OK;
}

static jfl_status recurrent_prepare(jf_kargs *k)
{
  return recurrent_room(k, 0);
}

static jfl_status recurrent_back_prepare(jf_kargs *k)
{
  return recurrent_room(k, 1);
}

static void recurrent_lane(const recurrent_job *j, jf_part part, int i, int worker)
{
  recurrent_piece p = { j, (float *)(j->lanes + (size_t)worker * j->room), 0 };
  part(&p, i);
}

static void recurrent_forward_lane(void *ctx, int i, int worker)
{
  recurrent_lane(ctx, recurrent_part(), i, worker);
}

static void recurrent_backward_lane(void *ctx, int i, int worker)
{
  recurrent_lane(ctx, recurrent_back_part(), i, worker);
}

/* Whether threads should share the units of each step. */
static int recurrent_shares(const recurrent_job *j)
{
  return j->k->threads > 1 && j->d.batch <= j->rows && j->d.units % WIDE == 0 &&
         j->columns * j->depth >= SHARED;
}

static void recurrent_by_steps(const recurrent_job *j)
{
  recurrent_piece p = { j, (float *)j->lanes, 0 };
  for (; p.n < j->d.length && !recurrent_ends(j, p.n); p.n++)
    jf_parallel(j->k->threads, j->k->threads, recurrent_share(), &p);
}

static jfl_status recurrent_go(const jf_kargs *k, int backward)
{
  recurrent_job j = recurrent_job_of(k, backward);
  j.panel = k->scratch;
  j.lanes = (char *)k->scratch + recurrent_panel_size(&j);
  jf_run_parts(k, (int)j.panels, backward ? recurrent_copy() : recurrent_turn(), &j);
  if (!backward && recurrent_shares(&j)) return recurrent_by_steps(&j), JFL_OK;
  jf_parallel_workers(k->threads, (int)((j.d.batch + j.rows - 1) / j.rows),
                    backward ? recurrent_backward_lane : recurrent_forward_lane, &j);
  return JFL_OK;
}

static jfl_status recurrent_run(const jf_kargs *k) { return recurrent_go(k, 0); }
static jfl_status recurrent_back_run(const jf_kargs *k) { return recurrent_go(k, 1); }

JFL_CPU(vec_recurrent, .op = "recurrent", .accepts = recurrent_accepts,
        .prepare = recurrent_prepare, .run = recurrent_run)
JFL_CPU(vec_recurrent_grad, .op = "recurrent_grad", .accepts = recurrent_accepts,
        .prepare = recurrent_back_prepare, .run = recurrent_back_run)
