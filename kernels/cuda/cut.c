/* Chooses how a GPU's threads share the elements of a fused program. */
#include "cut.h"

#include "op/op.h"

#include <string.h>

enum { WARP = 32, BLOCK = 256, ROW_BLOCK = 128, MOST_BLOCK = 1024, MOST_VECTOR = 8, BYTES = 16 };

int jf_cut_adds(const jf_instr *p) { return !p->op->loop; }

static int64_t cut_up(int64_t n, int64_t unit) { return (n + unit - 1) / unit; }
static int64_t cut_least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t cut_some(int64_t n) { return n > 1 ? n : 1; }

/* The least power of two that is at least n, up to a warp. */
static int cut_lanes(int64_t n)
{
  int lanes = 1;
  while (lanes < n && lanes < WARP) lanes *= 2;
  return lanes;
}

/* ---- lines ---- */

static jf_cut_sum cut_sum_of(const jf_cut *c, int s, int inner)
{
  int outside = 0, within = 0;
  for (int a = 0; a < c->nest.n; a++)
    if (c->step[s][a]) *(a < inner ? &outside : &within) = 1;
  if (outside && within) return JF_CUT_NO_SUM;
  return outside ? JF_CUT_LINES : within ? JF_CUT_COLUMNS : JF_CUT_TOTAL;
}

/* Sets how sums are gathered if lines are the axes from `inner` on; 0: not all of them can be. */
static int cut_sums(jf_cut *c, int inner)
{
  c->inner = inner;
  for (int s = 0; s < c->f->n_slot; s++) {
    if (c->f->slot[s].kind != JF_SLOT_SUM) continue;
    if (!(c->sum[s] = cut_sum_of(c, s, inner))) return 0;
  }
  return 1;
}

static int cut_has(const jf_cut *c, jf_cut_sum kind)
{
  for (int s = 0; s < c->f->n_slot; s++)
    if (c->sum[s] == kind) return 1;
  return 0;
}

/* Lines are rows. Without them they are as short as the sums allow, or all is one line. */
static int cut_into_lines(jf_cut *c)
{
  int inner = c->nest.n;
  int64_t size = 1;
  if (c->f->row) {
    while (inner > 0 && size < c->f->row) size *= c->nest.d[--inner];
    return cut_sums(c, inner);
  }
  if (c->n_sum)
    while (--inner > 0)
      if (cut_sums(c, inner) && (cut_has(c, JF_CUT_LINES) || cut_has(c, JF_CUT_COLUMNS))) return 1;
  return cut_sums(c, 0);
}

static void cut_axes(jf_cut *c)
{
  const jf_fused *f = c->f;
  c->nest = (jf_nest){ .n = f->space.n, .n_op = f->n_slot, .step = c->step };
  memcpy(c->nest.d, f->space.d, sizeof c->nest.d);
  for (int s = 0; s < f->n_slot; s++) {
    memcpy(c->step[s], f->slot[s].step, sizeof c->step[s]);
    c->n_sum += f->slot[s].kind == JF_SLOT_SUM;
  }
  jf_nest_join(&c->nest, f->row);
}

/* So many elements that the widest take 16 bytes, if those side by side come in such groups. */
static void cut_groups(jf_cut *c)
{
  size_t widest = 1;
  for (int s = 0; s < c->f->n_slot; s++) {
    const jf_fused_slot *slot = &c->f->slot[s];
    const size_t size = jfl_dtype_size(slot->dtype);
    if (slot->kind == JF_SLOT_EACH && (slot->in >= 0 || slot->out >= 0) && size > widest)
      widest = size;
  }
  c->vector = (int)cut_least((int64_t)(BYTES / widest), MOST_VECTOR);
  while (c->nest.d[c->nest.n - 1] % c->vector) c->vector /= 2;
  c->line = c->lines = 1;
  for (int a = 0; a < c->nest.n; a++) *(a < c->inner ? &c->lines : &c->line) *= c->nest.d[a];
  c->groups = c->line / c->vector;
}

/* ---- threads ---- */

static void cut_threads(jf_cut *c, int across, int down, int turns)
{
  c->across = across;
  c->down = down;
  c->turns = turns;
}

/* A few lanes, a warp for up to so many groups, or a block for each row, which then is kept in
   registers; rows that are too long for that are read again in each loop. */
static void cut_row_threads(jf_cut *c, int64_t for_warp)
{
  const int64_t n = c->groups;
  if (n <= WARP) {
    cut_threads(c, cut_lanes(n), ROW_BLOCK / cut_lanes(n), 1);
  } else if (n <= for_warp) {
    cut_threads(c, WARP, ROW_BLOCK / WARP, (int)cut_up(n, WARP));
  } else if (n <= 4 * MOST_BLOCK) {
    const int turns = n <= MOST_BLOCK / 2 ? 1 : n <= MOST_BLOCK ? 2 : 4;
    cut_threads(c, (int)cut_up(cut_up(n, turns), WARP) * WARP, 1, turns);
  } else {
    cut_threads(c, MOST_BLOCK, 1, 0);
  }
}

/* A thread that gathers columns has one group of each line. */
static void cut_other_threads(jf_cut *c)
{
  const int lanes = cut_lanes(c->groups);
  if (cut_has(c, JF_CUT_COLUMNS)) cut_threads(c, lanes, BLOCK / lanes, 1);
  else if (c->n_sum && c->groups <= 2 * BLOCK) cut_threads(c, lanes, BLOCK / lanes, 0);
  else cut_threads(c, BLOCK, 1, 0);
}

/* ---- loops over a line ---- */

static void cut_stages(jf_cut *c)
{
  const jf_fused *f = c->f;
  c->loops = 1;
  for (int i = 0; i < f->n_instr; i++) {
    const jf_instr *p = &f->instr[i];
    int stage = 0;
    for (int k = 0; k < p->n_in; k++)
      if (c->stage[p->in[k]] > stage) stage = c->stage[p->in[k]];
    const int by_row = f->slot[p->out[0]].kind == JF_SLOT_ROW;
    if ((!by_row || jf_cut_adds(p)) && stage >= c->loops) c->loops = stage + 1;
    for (int k = 0; k < p->n_out; k++) c->stage[p->out[k]] = stage + (by_row && jf_cut_adds(p));
  }
}

int jf_cut_holds(const jf_cut *c, int s, int loop) { return c->held[s] && c->first[s] < loop; }

/* Whether an instruction must be done in a loop that needs these slots. */
static int cut_does(const jf_cut *c, const jf_instr *p, int loop, const unsigned char *need)
{
  for (int k = 0; k < p->n_out; k++)
    if (need[p->out[k]] && !(c->keeps && c->first[p->out[k]] < loop)) return 1;
  return 0;
}

/* The last loop writes all results and gathers all sums, since a result may take the memory of an
   input that other loops read. */
void jf_cut_needs(const jf_cut *c, int loop, unsigned char *need)
{
  const jf_fused *f = c->f;
  const int last = loop == c->loops - 1;
  memset(need, 0, (size_t)f->n_slot);
  for (int s = 0; s < f->n_slot && last; s++)
    need[s] = f->slot[s].kind == JF_SLOT_EACH && f->slot[s].out >= 0;
  for (int i = f->n_instr - 1; i >= 0; i--) {
    const jf_instr *p = &f->instr[i];
    const jf_slot_kind kind = f->slot[p->out[0]].kind;
    if (kind == JF_SLOT_SUM ? last : kind == JF_SLOT_ROW && jf_cut_adds(p)
        && c->stage[p->in[0]] == loop) need[p->in[0]] = 1;
  }
  for (int i = f->n_instr - 1; i >= 0; i--) {
    const jf_instr *p = &f->instr[i];
    if (f->slot[p->out[0]].kind != JF_SLOT_EACH || !cut_does(c, p, loop, need)) continue;
    for (int k = 0; k < p->n_in; k++) need[p->in[k]] = 1;
  }
}

/* How many registers a thread needs to keep slot s for each of its elements. */
static int cut_slot_registers(const jf_cut *c, int s)
{
  const int wide = jfl_dtype_size(c->f->slot[s].dtype) > 4;
  return (1 + wide) * c->turns * c->vector;
}

/* Finds what later loops need again, and gives how many registers that takes. */
static int cut_hold(jf_cut *c)
{
  unsigned char need[JF_CUT_SLOTS];
  int registers = 0;
  for (int s = 0; s < c->f->n_slot; s++) c->first[s] = c->loops;
  memset(c->held, 0, sizeof c->held);
  for (int loop = 0; loop < c->loops; loop++) {
    jf_cut_needs(c, loop, need);
    for (int s = 0; s < c->f->n_slot; s++) {
      if (!need[s] || c->f->slot[s].kind != JF_SLOT_EACH) continue;
      if (c->first[s] > loop) c->first[s] = loop;
      else if (c->keeps) c->held[s] = 1;
    }
  }
  for (int s = 0; s < c->f->n_slot; s++)
    if (c->held[s]) registers += cut_slot_registers(c, s);
  return registers;
}

/* Whether what a thread gathers fits its registers; decides whether what it has read does too. */
static int cut_registers(jf_cut *c)
{
  const int room = c->across * c->down > 2 * BLOCK ? 24 : 64;
  int columns = 0;
  for (int s = 0; s < c->f->n_slot; s++)
    if (c->sum[s] == JF_CUT_COLUMNS) columns += 2 * c->turns * c->vector;    /* of 8 bytes */
  c->keeps = c->turns > 0;
  if (cut_hold(c) + columns > room) {
    c->keeps = 0;
    cut_hold(c);
  }
  return columns <= room && !(cut_has(c, JF_CUT_COLUMNS) && !c->turns);
}

/* Sums of floats, and sums of integers but not their means. */
static int cut_accepts_sums(const jf_fused *f)
{
  for (int i = 0; i < f->n_instr; i++) {
    const jfl_dtype t = f->slot[f->instr[i].out[0]].dtype;
    if (!jf_cut_adds(&f->instr[i]) || jf_is_float(t)) continue;
    if (f->instr[i].count != 1) return 0;
  }
  return 1;
}

int jf_cut_make(jf_cut *c, const jf_fused *f)
{
  memset(c, 0, sizeof *c);
  c->f = f;
  cut_axes(c);
  if (!cut_accepts_sums(f) || !cut_into_lines(c)) return 0;
  cut_groups(c);
  if (f->row) cut_row_threads(c, ROW_BLOCK);
  else cut_other_threads(c);
  cut_stages(c);
  if (cut_registers(c)) return 1;
  if (!f->row || c->turns < 2 || c->across > WARP) return 0;
  cut_row_threads(c, 0);               /* a thread of a block gathers fewer columns */
  return cut_registers(c);
}

int jf_cut_wastes(const jf_cut *c) { return c->inner == 0 && cut_has(c, JF_CUT_COLUMNS); }

/* ---- blocks ---- */

/* Enough blocks for all multiprocessors, but with sums no more than so many, since each has partial
   sums of its own. */
void jf_cut_grid(jf_cut *c, int multiprocessors)
{
  enum { WAVES = 32, TURNS = 4 };
  const int64_t threads = (int64_t)c->across * c->down, down = c->down, across = c->across;
  const int64_t full = (int64_t)multiprocessors * cut_some(2 * MOST_BLOCK / threads);
  const int64_t most = cut_has(c, JF_CUT_COLUMNS) ? full : (int64_t)multiprocessors * WAVES;
  const int64_t lines = cut_some(cut_up(c->lines, down)), wide = cut_up(c->groups, across);
  c->tiles = 1;
  if (!c->f->row && c->turns) c->tiles = wide;
  else if (!c->n_sum && !c->f->row) c->tiles = cut_least(wide, most);
  else if (!c->f->row) c->tiles = cut_least(cut_up(wide, TURNS), cut_up(full, lines));
  c->tiles = cut_some(c->tiles);
  c->parts = cut_least(lines, cut_some(most / c->tiles));
  if (cut_has(c, JF_CUT_COLUMNS)) c->parts = cut_least(c->parts, cut_up(lines, TURNS));
}

int64_t jf_cut_results(const jf_cut *c, int s)
{
  int64_t n = 1;
  for (int a = 0; a < c->nest.n; a++)
    if (c->step[s][a]) n *= c->nest.d[a];
  return n;
}

int64_t jf_cut_partials(const jf_cut *c, int s)
{
  if (c->sum[s] == JF_CUT_TOTAL) return c->tiles * c->parts;
  return c->sum[s] == JF_CUT_LINES ? c->lines * c->tiles : c->parts * c->line;
}
