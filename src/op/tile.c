/* Running a fused program tile by tile. Sums of floats are gathered in double, those of integers
   wrap. */
#include "op/elementwise.h"
#include "op/machine.h"

#include <assert.h>
#include <string.h>

/* ---- sums ---- */

typedef union total { double f; uint64_t i; } total;

enum { LANES = 32, LONG = 1024 };

/* Adds n numbers to *to. Up to LONG are added in lanes of type L, these in A. */
#define SUM(D, T, L, A)                                                         \
  JF_BODY void sum_##D##_body(const void *from, int64_t n, void *to)            \
  {                                                                             \
    const T *x = from;                                                          \
    for (; n > 0; x += LONG, n -= LONG) {                                       \
      const int64_t some = n < LONG ? n : LONG;                                 \
      L lane[LANES] = { 0 };                                                    \
      int64_t i = 0;                                                            \
      for (; i + LANES <= some; i += LANES)                                     \
        for (int j = 0; j < LANES; j++) lane[j] += (L)x[i + j];                 \
      for (int j = 0; i + j < some; j++) lane[j] += (L)x[i + j];                \
      for (int w = LANES / 2; w; w /= 2)                                        \
        for (int j = 0; j < w; j++) lane[j] += lane[j + w];                     \
      *(A *)to += (A)lane[0];                                                   \
    }                                                                           \
  }                                                                             \
  JF_DISPATCH(sum_##D, (const void *from, int64_t n, void *to), (from, n, to))

enum { WIDE = 16, TALL = 32 };

/* Adds each of n columns of `rows` rows to its number at to; up to TALL rows are added in L. */
#define COLUMNS(D, T, L, A)                                                     \
  JF_BODY void tall_##D(const T *x, int64_t rows, int64_t n, int wide, A *y)    \
  {                                                                             \
    for (; rows > 0; x += TALL * n, rows -= TALL) {                             \
      const int64_t some = rows < TALL ? rows : TALL;                           \
      L lane[WIDE] = { 0 };                                                     \
      for (int64_t r = 0; r < some; r++)                                        \
        for (int j = 0; j < wide; j++) lane[j] += (L)x[r * n + j];              \
      for (int j = 0; j < wide; j++) y[j] += (A)lane[j];                        \
    }                                                                           \
  }                                                                             \
  JF_BODY void columns_##D##_body(const void *from, int64_t rows, int64_t n, void *to) \
  {                                                                             \
    const T *x = from;                                                          \
    A *y = to;                                                                  \
    int64_t j = 0;                                                              \
    if (rows == 1) {                                                            \
      for (; j < n; j++) y[j] += (A)x[j];                                       \
      return;                                                                   \
    }                                                                           \
    for (; j + WIDE <= n; j += WIDE) tall_##D(x + j, rows, n, WIDE, y + j);     \
    if (j < n) tall_##D(x + j, rows, n, (int)(n - j), y + j);                   \
  }                                                                             \
  JF_DISPATCH(columns_##D, (const void *from, int64_t rows, int64_t n, void *to),   \
              (from, rows, n, to))

/* y[r] = the sum of row r, divided by count; of the sums of parts, which lie `step` apart. */
#define QUOTIENTS(D, T, A, QUOTIENT)                                            \
  JF_BODY void rows_##D##_body(const void *from, int64_t rows, int64_t n, double count, void *to) \
  {                                                                             \
    (void)count;                                                                \
    for (int64_t r = 0; r < rows; r++) {                                        \
      A s = 0;                                                                  \
      sum_##D##_body((const T *)from + r * n, n, &s);                           \
      ((T *)to)[r] = (T)(QUOTIENT);                                             \
    }                                                                           \
  }                                                                             \
  JF_DISPATCH(rows_##D, (const void *from, int64_t rows, int64_t n, double count, void *to), \
              (from, rows, n, count, to))                                       \
  JF_BODY void finish_##D##_body(void *from, int64_t n, int64_t step, int parts, double count,  \
                                 void *to)                                      \
  {                                                                             \
    A *restrict sum = from;                                                     \
    T *restrict y = to;                                                         \
    (void)count;                                                                \
    for (int p = 1; p < parts; p++)                                             \
      JF_EACH_ALONE for (int64_t i = 0; i < n; i++) sum[i] += sum[p * step + i]; \
    for (int64_t i = 0; i < n; i++) {                                           \
      const A s = sum[i];                                                       \
      y[i] = (T)(QUOTIENT);                                                     \
    }                                                                           \
  }                                                                             \
  JF_DISPATCH(finish_##D, (void *from, int64_t n, int64_t step, int parts, double count,        \
                           void *to), (from, n, step, parts, count, to))
#define SUMS(D, T, L, A, QUOTIENT) SUM(D, T, L, A) COLUMNS(D, T, L, A) QUOTIENTS(D, T, A, QUOTIENT)
SUMS(F32, float, float, double, s / count)
SUMS(F64, double, double, double, s / count)
SUMS(I32, int32_t, uint64_t, uint64_t, s)
SUMS(I64, int64_t, uint64_t, uint64_t, s)

static const struct {
  void (*sum)(const void *from, int64_t n, void *to);
  void (*columns)(const void *from, int64_t rows, int64_t n, void *to);
  void (*rows)(const void *from, int64_t rows, int64_t n, double count, void *to);
  void (*finish)(void *from, int64_t n, int64_t step, int parts, double count, void *to);
} adder[JFL_N_DTYPE] = {
#define ADDER(D, T) [JFL_##D] = { sum_##D, columns_##D, rows_##D, finish_##D },
  JF_EACH_NUM(ADDER)
};

/* ---- spreading ---- */

/* `rows` rows of n elements, row r from x + r * row_step on: n numbers, or the same one n times. */
#define SPREAD(B, T)                                                                         \
  JF_BODY void spread_##B##_body(const T *x, T *y, int64_t rows, int64_t row_step, int64_t n,  \
                                 int step)                                                   \
  {                                                                                          \
    for (int64_t r = 0; r < rows; r++, x += row_step, y += n) {                              \
      if (step)                                                                              \
        for (int64_t j = 0; j < n; j++) y[j] = x[j];                                         \
      else                                                                                   \
        for (int64_t j = 0; j < n; j++) y[j] = *x;                                           \
    }                                                                                        \
  }                                                                                          \
  JF_DISPATCH(spread_##B, (const T *restrict x, T *restrict y, int64_t rows, int64_t row_step, \
                           int64_t n, int step), (x, y, rows, row_step, n, step))
SPREAD(1, uint8_t)
SPREAD(2, uint16_t)
SPREAD(4, uint32_t)
SPREAD(8, uint64_t)

/* Spreads from element `off` of x to element `at` of y. */
typedef struct tile_span {
  const void *x;
  void *y;
  int64_t off, at, rows, row_step, n;
  int step;
} tile_span;

static void tile_spread(const tile_span *s, size_t size)
{
#define CASE(B, T)                                                               \
  case B:                                                                        \
    spread_##B((const T *)s->x + s->off, (T *)s->y + s->at, s->rows, s->row_step, s->n, s->step); \
    break;
  switch (size) {
  CASE(1, uint8_t)
  CASE(2, uint16_t)
  CASE(4, uint32_t)
  CASE(8, uint64_t)
  default: break;
  }
}

/* ---- tiles ---- */

/* A part's state: where each cell is, and which elements the tile at hand has. */
typedef struct tile_state {
  const jf_machine *m;
  const jf_kargs *k;
  int64_t first, runs, from, n;  /* its first run, its runs, the first element there, how many */
  total *sums;
  char *cell[JF_CELLS];
} tile_state;

/* Where the element at the start of a run is, for slot s. */
static int64_t offset(const jf_machine *m, int s, int64_t run)
{
  int64_t at = 0;
  for (int i = m->n - 2; i >= 0; i--) {
    at += run % m->d[i] * m->step[s][i];
    run /= m->d[i];
  }
  return at;
}

/* Runs of the tile from `done` on that lie on one line of the nest's last axis but one: how many,
   how far apart they are for slot s, and where the first is. */
typedef struct tile_block { int64_t runs, row_step, off; } tile_block;
static tile_block next_block(const tile_state *w, int s, int64_t done)
{
  const jf_machine *m = w->m;
  if (m->n == 1) return (tile_block){ w->runs, 0, 0 };
  const int64_t line = m->d[m->n - 2], run = w->first + done;
  tile_block b = { line - run % line, m->step[s][m->n - 2], offset(m, s, run) };
  if (b.runs > w->runs - done) b.runs = w->runs - done;
  return b;
}

static void *tile_data_of(const tile_state *w, const jf_fused_slot *s)
{
  return s->in >= 0 ? w->k->in[s->in].data : w->k->out[s->out].data;
}

static void spread_input(const tile_state *w, int s)
{
  const jf_machine *m = w->m;
  const jf_fused_slot *slot = &m->f->slot[s];
  for (int64_t done = 0; done < w->runs;) {
    tile_block b = next_block(w, s, done);
    tile_span r = { tile_data_of(w, slot),
                    w->cell[JF_FUSED_SLOTS + s],
                    b.off,
                    done * m->run,
                    b.runs,
                    b.row_step,
                    m->run,
                    m->step[s][m->n - 1] != 0 };
    tile_spread(&r, jfl_dtype_size(slot->dtype));
    done += b.runs;
  }
}

static void spread_row(const tile_state *w, int s)
{
  const jf_machine *m = w->m;
  tile_span r = { w->cell[s], w->cell[JF_FUSED_SLOTS + s], 0, 0, w->runs / m->per_row, 1, m->f->row,
                  0 };
  tile_spread(&r, jfl_dtype_size(m->f->slot[s].dtype));
}

/* Adds the elements at x to the sums of slot s. */
static void add_up(const tile_state *w, int s, const char *x, jfl_dtype t)
{
  const jf_machine *m = w->m;
  const int64_t run = m->chunks > 1 ? w->n : m->run, step = m->step[s][m->n - 1];
  const size_t size = jfl_dtype_size(t) * (size_t)run;
  for (int64_t done = 0; done < w->runs;) {
    tile_block b = next_block(w, s, done);
    total *to = w->sums + m->sum[s] + b.off + w->from * step;
    if (!b.row_step && step) adder[t].columns(x, b.runs, run, to);
    else if (!b.row_step) adder[t].sum(x, b.runs * run, to);
    else
      for (int64_t r = 0; r < b.runs; r++) {
        if (step) adder[t].columns(x + (size_t)r * size, 1, run, to + r * b.row_step);
        else adder[t].sum(x + (size_t)r * size, run, to + r * b.row_step);
      }
    x += (size_t)b.runs * size;
    done += b.runs;
  }
}

static void sum_rows(const tile_state *w, const jf_micro *u, jfl_dtype t)
{
  adder[t].rows(w->cell[u->in[0]], w->runs / w->m->per_row, w->m->f->row, u->instr->count,
                w->cell[u->slot]);
}

static void run_loop(const tile_state *w, const jf_micro *u)
{
  const jf_machine *m = w->m;
  jf_tile_args t = {
    .n = w->n, .at = w->first * m->run + w->from, .attr = u->instr->attr, .random = w->k->random,
    .out = w->cell[u->out[0]], .second = u->out[1] >= 0 ? w->cell[u->out[1]] : NULL
  };
  if (u->by_row) {
    t.n = w->runs / m->per_row;
    t.at = w->first / m->per_row;
  }
  for (int i = 0; i < u->instr->n_in; i++) {
    t.in[i] = w->cell[u->in[i]];
    t.step[i] = u->step[i];
  }
  u->tile(&t);
}

static void run_micro(const tile_state *w, const jf_micro *u)
{
  const jf_fused_slot *slot = w->m->f->slot;
  switch (u->kind) {
  case JF_SPREAD_INPUT:
    if (!w->m->once[u->slot]) spread_input(w, u->slot);
    break;
  case JF_SPREAD_ROW: spread_row(w, u->slot); break;
  case JF_LOOP: run_loop(w, u); break;
  case JF_ROW_SUM: sum_rows(w, u, slot[u->instr->in[0]].dtype); break;
  case JF_ADD_UP: add_up(w, u->slot, w->cell[u->in[0]], slot[u->instr->in[0]].dtype); break;
  }
}

/* Points the cells of arguments at what the tile has of them. */
static void tile_follow(tile_state *w)
{
  const jf_machine *m = w->m;
  for (int s = 0; s < m->f->n_slot; s++) {
    const jf_fused_slot *slot = &m->f->slot[s];
    int64_t at;
    switch (m->cell[s].home) {
    case JF_HOME_EACH: at = w->first * m->run + w->from; break;
    case JF_HOME_PER_ROW: at = w->first / m->per_row; break;
    case JF_HOME_RUN: at = offset(m, s, w->first) + w->from * m->step[s][m->n - 1]; break;
    default: continue;
    }
    w->cell[s] = (char *)tile_data_of(w, slot) + (size_t)at * jfl_dtype_size(slot->dtype);
  }
}

/* Sets the tile at hand to tile t. */
static void go_to(tile_state *w, int64_t t)
{
  const jf_machine *m = w->m;
  w->first = t / m->chunks * m->tile_runs;
  w->from = t % m->chunks * m->chunk;
  w->runs = m->runs - w->first < m->tile_runs ? m->runs - w->first : m->tile_runs;
  w->n = m->chunks > 1 ? m->run - w->from : w->runs * m->run;
  if (m->chunks > 1 && w->n > m->chunk) w->n = m->chunk;
  tile_follow(w);
}

/* ---- parts ---- */

static char *after(char *p, int64_t n, size_t width)
{
  return p + ((size_t)n * width + 63) / 64 * 64;
}

static void tile_place(tile_state *w, int c, char *const *buffer, char *const *rows)
{
  const jf_machine *m = w->m;
  if (m->cell[c].home == JF_HOME_BUFFER) w->cell[c] = buffer[m->cell[c].buffer];
  if (m->cell[c].home == JF_HOME_ROWS) w->cell[c] = rows[m->cell[c].buffer];
  if (m->cell[c].home == JF_HOME_NUMBER) w->cell[c] = (char *)&m->number[c];
}

/* Gives each buffer its memory. */
static void tile_lay_out(tile_state *w, char *memory)
{
  const jf_machine *m = w->m;
  char *buffer[JF_CELLS], *rows[JF_CELLS], *at = memory;
  for (int i = 0; i < m->n_buffer; i++) at = after(buffer[i] = at, jf_tile_elements(m), m->width);
  for (int i = 0; i < m->n_rows; i++) at = after(rows[i] = at, jf_tile_rows(m), m->width);
  assert(at <= memory + JF_TILE_BYTES);
  for (int s = 0; s < m->f->n_slot; s++) {
    tile_place(w, s, buffer, rows);
    tile_place(w, JF_FUSED_SLOTS + s, buffer, rows);
  }
}

typedef struct tile_job { const jf_machine *m; const jf_kargs *k; } tile_job;

static void tile_run_part(void *ctx, int part)
{
  _Alignas(64) char memory[JF_TILE_BYTES];
  const tile_job *j = ctx;
  const jf_machine *m = j->m;
  tile_state w;
  w.m = m;
  w.k = j->k;
  const int64_t from = part * m->span, to = from + m->span < m->tiles ? from + m->span : m->tiles;
  tile_lay_out(&w, memory);
  w.sums = (total *)w.k->scratch + part * m->sums;
  if (m->sums) memset(w.sums, 0, (size_t)m->sums * sizeof *w.sums);
  for (int64_t t = from; t < to; t++) {
    go_to(&w, t);
    for (int i = 0; i < m->n_micro; i++) {
      if (t == from && m->micro[i].kind == JF_SPREAD_INPUT && m->once[m->micro[i].slot])
        spread_input(&w, m->micro[i].slot);
      run_micro(&w, &m->micro[i]);
    }
  }
}

/* Adds up the parts' sums of slot s, in their order. */
static void tile_finish(const jf_machine *m, const jf_kargs *k, int s, double count)
{
  const jf_fused_slot *slot = &m->f->slot[s];
  adder[slot->dtype].finish((total *)k->scratch + m->sum[s], jf_numel(&k->out[slot->out].shape),
                            m->sums, m->parts, count, k->out[slot->out].data);
}

void jf_machine_run(const jf_machine *m, const jf_kargs *k)
{
  jf_parallel(k->threads, m->parts, tile_run_part, &(tile_job){ m, k });
  for (int i = 0; i < m->n_micro; i++)
    if (m->micro[i].kind == JF_ADD_UP)
      tile_finish(m, k, m->micro[i].slot, m->micro[i].instr->count);
}
