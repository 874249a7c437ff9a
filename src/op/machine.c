/* Making a fused program ready: cutting its space into tiles, and finding a place for each slot. */
#include "op/machine.h"

#include <string.h>

/* ---- the space as a nest of axes ---- */

static int machine_moves(const jf_fused_slot *s)
{
  return s->level == JF_SPREAD || s->level == JF_SUM;
}

/* Whether axis i runs on where axis i + 1 ends, for every slot, and no row ends between them. */
static int machine_joins(const jf_machine *m, int i, int64_t inner)
{
  if (m->f->row && inner == m->f->row) return 0;
  for (int s = 0; s < m->f->n_slot; s++)
    if (machine_moves(&m->f->slot[s]) && m->step[s][i] != m->step[s][i + 1] * m->d[i + 1]) return 0;
  return 1;
}

/* Merges axis i + 1 into axis i. */
static void machine_merge(jf_machine *m, int i)
{
  m->d[i] *= m->d[i + 1];
  for (int s = 0; s < m->f->n_slot; s++) m->step[s][i] = m->step[s][i + 1];
  m->n--;
  for (int a = i + 1; a < m->n; a++) {
    m->d[a] = m->d[a + 1];
    for (int s = 0; s < m->f->n_slot; s++) m->step[s][a] = m->step[s][a + 1];
  }
}

static void make_nest(jf_machine *m)
{
  const jf_fused *f = m->f;
  m->n = f->space.n;
  memcpy(m->d, f->space.d, sizeof m->d);
  for (int s = 0; s < f->n_slot; s++) memcpy(m->step[s], f->slot[s].step, sizeof m->step[s]);
  int64_t inner = m->d[m->n - 1];
  for (int i = m->n - 2; i >= 0; i--) {
    int64_t all = inner * m->d[i];
    if (machine_joins(m, i, inner)) machine_merge(m, i);
    inner = all;
  }
  m->run = m->d[m->n - 1];
  m->runs = inner / m->run;
  m->per_row = f->row ? f->row / m->run : 1;
}

/* ---- cutting it ---- */

enum { L1 = 1 << 15, LEAST = 256, MOST = 2048, PART = 1 << 14 };

/* How many elements a tile should have, so that all it touches stays in the first-level cache. */
static int64_t machine_wanted(const jf_machine *m)
{
  int streams = m->n_buffer;
  for (int s = 0; s < m->f->n_slot; s++) {
    const jf_fused_slot *slot = &m->f->slot[s];
    const int argument = slot->in >= 0 || slot->out >= 0;
    streams += slot->level == JF_SPREAD || (slot->level == JF_EACH && argument);
  }
  int64_t n = L1 / ((int64_t)m->width * (streams + 1));
  return n < LEAST ? LEAST : n > MOST ? MOST : n & ~(int64_t)63;
}

static void cut_tiles(jf_machine *m)
{
  int64_t want = machine_wanted(m);
  m->chunk = m->run;
  m->chunks = 1;
  m->tile_runs = m->per_row;
  if (m->run > want + want / 2 && !m->f->row) {
    m->chunks = (m->run + want - 1) / want;
    m->chunk = ((m->run + m->chunks - 1) / m->chunks + 15) & ~(int64_t)15;
    m->chunks = (m->run + m->chunk - 1) / m->chunk;
  } else if (want > m->run * m->per_row) {
    m->tile_runs = want / (m->run * m->per_row) * m->per_row;
    if (m->tile_runs > m->runs) m->tile_runs = m->runs;
  }
  m->tiles = (m->runs + m->tile_runs - 1) / m->tile_runs * m->chunks;
}

/* Parts depend on the program alone, so that sums do not depend on who adds them up. Where sums are
   gathered each part has its own, which should be few beside the elements. */
static void cut_parts(jf_machine *m)
{
  enum { MOST_PARTS = 1 << 16, FEW = 64, SHARE = 16 };
  int64_t all = m->runs * m->run, parts = all / PART + 1, most = MOST_PARTS;
  if (m->sums) most = all / m->sums / SHARE < FEW ? all / m->sums / SHARE + 1 : FEW;
  if (parts > most) parts = most;
  m->span = (m->tiles + parts - 1) / parts;
  m->parts = (int)((m->tiles + m->span - 1) / m->span);
}

/* ---- what is done to a tile ---- */

/* Whether operands are spread over tiles of several runs before they are used. */
static int spreads(const jf_machine *m) { return m->tile_runs > 1; }

static int is_still(const jf_machine *m, int s)
{
  for (int i = 0; i < m->n; i++)
    if (m->step[s][i]) return 0;
  return 1;
}

static jf_micro *machine_append(jf_machine *m, jf_micro_kind kind, int slot)
{
  jf_micro *u = &m->micro[m->n_micro++];
  *u = (jf_micro){ .kind = kind, .slot = slot };
  return u;
}

/* The cell of slot s, spread over the elements of a tile if need be, and its step. */
static void use_each(jf_machine *m, int s, int *cell, int *step)
{
  const jf_level level = m->f->slot[s].level;
  *cell = s;
  *step = level == JF_EACH || (level == JF_SPREAD && m->step[s][m->n - 1]);
  if (level == JF_EACH || level == JF_NUMBER || !spreads(m)) return;
  if (level == JF_ROW ? jf_tile_rows(m) == 1 : is_still(m, s)) return;
  *cell = JF_FUSED_SLOTS + s;
  *step = 1;
  if (m->cell[*cell].home) return;
  m->cell[*cell].home = JF_HOME_BUFFER;
  machine_append(m, level == JF_ROW ? JF_SPREAD_ROW : JF_SPREAD_INPUT, s);
}

static jf_tile tile_of(const jf_fused *f, const jf_instr *p, jf_fast_tile fast)
{
  jf_tile t = fast && p->n_in ? fast(p->op, f->slot[p->in[0]].dtype) : NULL;
  return t ? t : p->tile;
}

static void machine_add_loop(jf_machine *m, const jf_instr *p, jf_fast_tile fast)
{
  int cell[3], step[3], by_row = m->f->slot[p->out[0]].level == JF_ROW;
  for (int i = 0; i < p->n_in; i++) {
    if (!by_row) use_each(m, p->in[i], &cell[i], &step[i]);
    else step[i] = m->f->slot[cell[i] = p->in[i]].level == JF_ROW;
  }
  jf_micro *u = machine_append(m, JF_LOOP, -1);
  u->instr = p;
  u->tile = tile_of(m->f, p, fast);
  u->by_row = by_row;
  memcpy(u->in, cell, sizeof u->in);
  memcpy(u->step, step, sizeof u->step);
  for (int i = 0; i < 2; i++) u->out[i] = i < p->n_out ? p->out[i] : -1;
}

static void machine_add_sum(jf_machine *m, const jf_instr *p)
{
  const int row = m->f->slot[p->out[0]].level == JF_ROW;
  jf_micro *u = machine_append(m, row ? JF_ROW_SUM : JF_ADD_UP, p->out[0]);
  u->instr = p;
  u->in[0] = p->in[0];
}

/* ---- where slots are ---- */

static jf_home home_of(const jf_fused_slot *s)
{
  const int argument = s->in >= 0 || s->out >= 0;
  switch (s->level) {
  case JF_EACH: return argument ? JF_HOME_EACH : JF_HOME_BUFFER;
  case JF_ROW: return argument ? JF_HOME_PER_ROW : JF_HOME_ROWS;
  case JF_SPREAD: return JF_HOME_RUN;
  case JF_NUMBER: return JF_HOME_NUMBER;
  case JF_SUM: break;
  }
  return JF_HOME_NONE;
}

/* The last micro that uses a cell. */
static int last_use(const jf_machine *m, int cell)
{
  for (int i = m->n_micro - 1; i >= 0; i--) {
    const jf_micro *u = &m->micro[i];
    for (int k = 0; u->instr && k < u->instr->n_in; k++)
      if (u->in[k] == cell) return i;
  }
  return -1;
}

/* Takes the first buffer that is free at micro `at`, until micro `last`. */
static int machine_take(jf_machine *m, int *until, int at, int last)
{
  int b = 0;
  while (b < m->n_buffer && until[b] >= at) b++;
  if (b == m->n_buffer) m->n_buffer++;
  until[b] = last > at ? last : at;
  return b;
}

/* A buffer is free again for what is made after its last use. */
static void place_cell(jf_machine *m, int *until, int cell, int at)
{
  jf_cell *c = &m->cell[cell];
  const int spread = cell >= JF_FUSED_SLOTS;
  if (c->home == JF_HOME_ROWS) c->buffer = m->n_rows++;
  if (c->home != JF_HOME_BUFFER) return;
  const int once = spread && m->once[cell - JF_FUSED_SLOTS];
  c->buffer = machine_take(m, until, once ? -1 : at, once ? JF_MICROS : last_use(m, cell));
}

static void place_cells(jf_machine *m)
{
  int until[JF_CELLS];
  m->n_buffer = m->n_rows = 0;
  for (int i = 0; i < m->n_micro; i++)
    if (m->micro[i].kind == JF_SPREAD_INPUT && m->once[m->micro[i].slot])
      place_cell(m, until, JF_FUSED_SLOTS + m->micro[i].slot, i);
  for (int i = 0; i < m->n_micro; i++) {
    const jf_micro *u = &m->micro[i];
    if (u->kind == JF_SPREAD_ROW || (u->kind == JF_SPREAD_INPUT && !m->once[u->slot]))
      place_cell(m, until, JF_FUSED_SLOTS + u->slot, i);
    if (u->kind == JF_ROW_SUM) place_cell(m, until, u->slot, i);
    for (int k = 0; u->kind == JF_LOOP && k < 2; k++)
      if (u->out[k] >= 0) place_cell(m, until, u->out[k], i);
  }
}

/* A spread input is the same in every tile where only its place in the run matters. */
static void find_once(jf_machine *m)
{
  for (int s = 0; s < m->f->n_slot; s++) {
    int outer = 0;
    for (int i = 0; i < m->n - 1; i++) outer |= m->step[s][i] != 0;
    m->once[s] = m->f->slot[s].level == JF_SPREAD && !outer;
  }
}

static void list_micros(jf_machine *m, jf_fast_tile fast)
{
  m->n_micro = 0;
  memset(m->cell, 0, sizeof m->cell);
  for (int s = 0; s < m->f->n_slot; s++) m->cell[s].home = home_of(&m->f->slot[s]);
  for (int i = 0; i < m->f->n_instr; i++) {
    const jf_instr *p = &m->f->instr[i];
    if (p->tile) machine_add_loop(m, p, fast);
    else machine_add_sum(m, p);
  }
  place_cells(m);
}

/* ---- all of it ---- */

static void write_number(double *to, jfl_dtype t, double v)
{
#define WRITE(D, T) case JFL_##D: { T n = (T)v; memcpy(to, &n, sizeof n); break; }
  switch (t) {
  JF_EACH_TYPE(WRITE)
  default: break;
  }
}

static void machine_find_slots(jf_machine *m)
{
  const jf_fused *f = m->f;
  for (int s = 0; s < f->n_slot; s++) {
    const jf_fused_slot *slot = &f->slot[s];
    if (jfl_dtype_size(slot->dtype) > m->width) m->width = jfl_dtype_size(slot->dtype);
    if (slot->level == JF_NUMBER) write_number(&m->number[s], slot->dtype, slot->number);
    if (slot->level != JF_SUM) continue;
    m->sum[s] = m->sums;
    m->sums += jf_numel(&f->out[slot->out].shape);
  }
}

static void machine_make(jf_machine *m, const jf_fused *f, jf_fast_tile fast)
{
  *m = (jf_machine){ .f = f };
  make_nest(m);
  find_once(m);
  machine_find_slots(m);
  m->tile_runs = m->per_row;     /* the tiles' size depends on how many buffers there are */
  list_micros(m, fast);
  cut_tiles(m);
  list_micros(m, fast);
  cut_parts(m);
}

static size_t buffer_bytes(const jf_machine *m)
{
  return ((size_t)jf_tile_elements(m) * m->width + 63) / 64 * 64 * (size_t)m->n_buffer
       + ((size_t)jf_tile_rows(m) * m->width + 63) / 64 * 64 * (size_t)m->n_rows;
}

int jf_fused_fits(const jf_fused *f)
{
  jf_machine m;
  machine_make(&m, f, NULL);
  return buffer_bytes(&m) <= JF_TILE_BYTES;
}

jf_machine *jf_machine_new(const jf_fused *f, jf_fast_tile fast)
{
  jf_machine *m = jf_new_raw(sizeof *m);
  if (m) machine_make(m, f, fast);
  return m;
}

size_t jf_machine_scratch(const jf_machine *m)
{
  return (size_t)m->sums * (size_t)m->parts * sizeof(double);
}

size_t jf_fused_plain_scratch(const jf_kargs *k)
{
  jf_machine m;
  machine_make(&m, k->attr, NULL);
  return jf_machine_scratch(&m);
}

jfl_status jf_fused_plain(const jf_kargs *k)
{
  jf_machine m;
  jf_kargs alone = *k;
  machine_make(&m, k->attr, NULL);
  alone.threads = 1;
  jf_machine_run(&m, &alone);
  return JFL_OK;
}
