/* Runs a fused program over memory, tile by tile. */
#include "sweep.h"

#include "loops.h"

#include <assert.h>
#include <string.h>

/* ---- tiles ---- */

/* The state of a part: which elements the current tile has, and where each cell is. */
typedef struct at_hand {
  const jf_sweep *w;
  const jf_kargs *k;
  int64_t first, runs, from, n;  /* its first run, runs; first element, elements of a run */
  jf_total *sums;                /* sums that the part gathers */
  char *cell[JF_SWEEP_CELLS];
} at_hand;

/* The offset for slot s of the element at the start of a run. */
static int64_t run_offset(const jf_sweep *w, int s, int64_t run)
{
  return jf_nest_offset(&w->nest, s, w->nest.n - 1, run);
}

/* Runs of the tile, from run `done` on, that are evenly spaced for slot s, as they lie on one line
   of the nest's last axis but one: how many, how far apart, and the offset of the first. */
typedef struct run_block { int64_t runs, row_step, off; } run_block;
static run_block next_block(const at_hand *h, int s, int64_t done)
{
  const jf_sweep *w = h->w;
  if (w->nest.n == 1) return (run_block){ h->runs, 0, 0 };
  const int64_t line = w->nest.d[w->nest.n - 2], run = h->first + done;
  run_block b = { line - run % line, w->step[s][w->nest.n - 2], run_offset(w, s, run) };
  if (b.runs > h->runs - done) b.runs = h->runs - done;
  return b;
}

static void *run_data_of(const at_hand *h, const jf_fused_slot *s)
{
  return s->in >= 0 ? h->k->in[s->in].data : h->k->out[s->out].data;
}

static void spread_input(const at_hand *h, int s)
{
  const jf_sweep *w = h->w;
  const jf_fused_slot *slot = &w->f->slot[s];
  for (int64_t done = 0; done < h->runs;) {
    run_block b = next_block(h, s, done);
    jf_spread r = {
      .x = run_data_of(h, slot), .y = h->cell[JF_SWEEP_SLOTS + s], .off = b.off,
      .at = done * w->run, .rows = b.runs, .row_step = b.row_step, .n = w->run,
      .step = w->step[s][w->nest.n - 1] != 0
    };
    jf_spread_run(&r, jfl_dtype_size(slot->dtype));
    done += b.runs;
  }
}

static void spread_row(const at_hand *h, int s)
{
  const jf_sweep *w = h->w;
  jf_spread r = {
    .x = h->cell[s], .y = h->cell[JF_SWEEP_SLOTS + s], .rows = h->runs / w->per_row,
    .row_step = 1, .n = w->f->row
  };
  jf_spread_run(&r, jfl_dtype_size(w->f->slot[s].dtype));
}

/* Adds the elements at x to the sums that slot s gathers. */
static void add_up(const at_hand *h, int s, const char *x, jfl_dtype t)
{
  const jf_sweep *w = h->w;
  const int64_t run = w->chunks > 1 ? h->n : w->run, step = w->step[s][w->nest.n - 1];
  const size_t size = jfl_dtype_size(t) * (size_t)run;
  for (int64_t done = 0; done < h->runs;) {
    run_block b = next_block(h, s, done);
    jf_total *to = h->sums + w->sum[s] + b.off + h->from * step;
    if (!b.row_step && step) jf_adders[t].columns(x, b.runs, run, to);
    else if (!b.row_step) jf_adders[t].sum(x, b.runs * run, to);
    else
      for (int64_t r = 0; r < b.runs; r++) {
        if (step) jf_adders[t].columns(x + (size_t)r * size, 1, run, to + r * b.row_step);
        else jf_adders[t].sum(x + (size_t)r * size, run, to + r * b.row_step);
      }
    x += (size_t)b.runs * size;
    done += b.runs;
  }
}

static void sum_rows(const at_hand *h, const jf_sweep_step *u, jfl_dtype t)
{
  jf_adders[t].rows(h->cell[u->in[0]], h->runs / h->w->per_row, h->w->f->row, u->instr->count,
                h->cell[u->slot]);
}

static void run_loop(const at_hand *h, const jf_sweep_step *u)
{
  const jf_sweep *w = h->w;
  jf_loop_args t = {
    .n = h->n, .at = h->first * w->run + h->from, .attr = u->instr->attr, .random = h->k->random,
    .out = h->cell[u->out[0]], .second = u->out[1] >= 0 ? h->cell[u->out[1]] : NULL
  };
  if (u->by_row) {
    t.n = h->runs / w->per_row;
    t.at = h->first / w->per_row;
  }
  for (int i = 0; i < u->instr->n_in; i++) {
    t.in[i] = h->cell[u->in[i]];
    t.step[i] = u->step[i];
  }
  u->loop(&t);
}

static void run_step(const at_hand *h, const jf_sweep_step *u)
{
  const jf_fused_slot *slot = h->w->f->slot;
  switch (u->kind) {
  case JF_STEP_SPREAD_INPUT:
    if (!h->w->once[u->slot]) spread_input(h, u->slot);
    break;
  case JF_STEP_SPREAD_ROW: spread_row(h, u->slot); break;
  case JF_STEP_LOOP: run_loop(h, u); break;
  case JF_STEP_SUM_ROWS: sum_rows(h, u, slot[u->instr->in[0]].dtype); break;
  case JF_STEP_ADD_UP: add_up(h, u->slot, h->cell[u->in[0]], slot[u->instr->in[0]].dtype); break;
  }
}

/* Points the cells of inputs and outputs to their elements of the current tile. */
static void point_cells(at_hand *h)
{
  const jf_sweep *w = h->w;
  for (int s = 0; s < w->f->n_slot; s++) {
    const jf_fused_slot *slot = &w->f->slot[s];
    int64_t at;
    switch (w->cell[s].home) {
    case JF_HOME_EACH: at = h->first * w->run + h->from; break;
    case JF_HOME_PER_ROW: at = h->first / w->per_row; break;
    case JF_HOME_RUN: at = run_offset(w, s, h->first) + h->from * w->step[s][w->nest.n - 1]; break;
    default: continue;
    }
    h->cell[s] = (char *)run_data_of(h, slot) + (size_t)at * jfl_dtype_size(slot->dtype);
  }
}

/* Makes tile t the current one. */
static void go_to(at_hand *h, int64_t t)
{
  const jf_sweep *w = h->w;
  h->first = t / w->chunks * w->tile_runs;
  h->from = t % w->chunks * w->chunk;
  h->runs = w->runs - h->first < w->tile_runs ? w->runs - h->first : w->tile_runs;
  h->n = w->chunks > 1 ? w->run - h->from : h->runs * w->run;
  if (w->chunks > 1 && h->n > w->chunk) h->n = w->chunk;
  point_cells(h);
}

/* ---- parts ---- */

static char *after(char *p, int64_t n, size_t width)
{
  return p + ((size_t)n * width + 63) / 64 * 64;
}

static void place_in(at_hand *h, int c, char *const *buffer, char *const *rows)
{
  const jf_sweep *w = h->w;
  if (w->cell[c].home == JF_HOME_BUFFER) h->cell[c] = buffer[w->cell[c].buffer];
  if (w->cell[c].home == JF_HOME_ROWS) h->cell[c] = rows[w->cell[c].buffer];
  if (w->cell[c].home == JF_HOME_NUMBER) h->cell[c] = (char *)&w->number[c];
}

/* Gives each buffer its part of the memory. */
static void lay_out_buffers(at_hand *h, char *memory)
{
  const jf_sweep *w = h->w;
  char *buffer[JF_SWEEP_CELLS], *rows[JF_SWEEP_CELLS], *at = memory;
  for (int i = 0; i < w->n_buffer; i++) at = after(buffer[i] = at, jf_tile_elements(w), w->width);
  for (int i = 0; i < w->n_rows; i++) at = after(rows[i] = at, jf_tile_rows(w), w->width);
  assert(at <= memory + JF_SWEEP_BYTES);
  for (int s = 0; s < w->f->n_slot; s++) {
    place_in(h, s, buffer, rows);
    place_in(h, JF_SWEEP_SLOTS + s, buffer, rows);
  }
}

typedef struct run_job { const jf_sweep *w; const jf_kargs *k; } run_job;

static void run_sweep_part(void *ctx, int part)
{
  _Alignas(64) char memory[JF_SWEEP_BYTES];
  const run_job *j = ctx;
  const jf_sweep *w = j->w;
  at_hand h;
  h.w = w;
  h.k = j->k;
  const int64_t from = part * w->span, to = from + w->span < w->tiles ? from + w->span : w->tiles;
  lay_out_buffers(&h, memory);
  h.sums = (jf_total *)h.k->scratch + part * w->sums;
  if (w->sums) memset(h.sums, 0, (size_t)w->sums * sizeof *h.sums);
  for (int64_t t = from; t < to; t++) {
    go_to(&h, t);
    for (int i = 0; i < w->n_todo; i++) {
      if (t == from && w->todo[i].kind == JF_STEP_SPREAD_INPUT && w->once[w->todo[i].slot])
        spread_input(&h, w->todo[i].slot);
      run_step(&h, &w->todo[i]);
    }
  }
}

/* Adds up the sums that the parts gathered for slot s, in the order of parts. */
static void finish_sums(const jf_sweep *w, const jf_kargs *k, int s, double count)
{
  const jf_fused_slot *slot = &w->f->slot[s];
  const jf_tensor *y = &k->out[slot->out];
  jf_adders[slot->dtype].finish((jf_total *)k->scratch + w->sum[s], jf_numel(&y->shape), w->sums,
                                w->parts, count, y->data);
}

void jf_sweep_run(const jf_sweep *w, const jf_kargs *k)
{
  jf_parallel(k->threads, w->parts, run_sweep_part, &(run_job){ w, k });
  for (int i = 0; i < w->n_todo; i++)
    if (w->todo[i].kind == JF_STEP_ADD_UP)
      finish_sums(w, k, w->todo[i].slot, w->todo[i].instr->count);
}
