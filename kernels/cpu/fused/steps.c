/* Lists what is done to each tile of a fused program, and chooses where its slots are meanwhile. */
#include "sweep.h"

#include "op/op.h"
#include "cpu/functions.h"

#include <string.h>

/* ---- what is done to a tile ---- */

/* Whether operands must be copied to all elements of a tile before use: they must if a tile has
   several runs. */
static int spreads(const jf_sweep *w) { return w->tile_runs > 1; }

static int is_still(const jf_sweep *w, int s)
{
  for (int i = 0; i < w->nest.n; i++)
    if (w->step[s][i]) return 0;
  return 1;
}

static jf_sweep_step *steps_append(jf_sweep *w, jf_sweep_step_kind kind, int slot)
{
  jf_sweep_step *u = &w->todo[w->n_todo++];
  *u = (jf_sweep_step){ .kind = kind, .slot = slot };
  return u;
}

/* Finds the cell and step to read slot s with an element for each of the tile, copying it if need
   be. */
static void use_each(jf_sweep *w, int s, int *cell, int *step)
{
  const jf_slot_kind kind = w->f->slot[s].kind;
  *cell = s;
  *step = kind == JF_SLOT_EACH || (kind == JF_SLOT_BROADCAST && w->step[s][w->nest.n - 1]);
  if (kind == JF_SLOT_EACH || kind == JF_SLOT_NUMBER || !spreads(w)) return;
  if (kind == JF_SLOT_ROW ? jf_tile_rows(w) == 1 : is_still(w, s)) return;
  *cell = JF_SWEEP_SLOTS + s;
  *step = 1;
  if (w->cell[*cell].home) return;
  w->cell[*cell].home = JF_HOME_BUFFER;
  steps_append(w, kind == JF_SLOT_ROW ? JF_STEP_SPREAD_ROW : JF_STEP_SPREAD_INPUT, s);
}

/* The loop of an instruction: the CPU's own fast one, or that of the op's record. */
static jf_loop steps_loop_of(const jf_fused *f, const jf_instr *p)
{
  jf_loop t = p->n_in ? jf_vec_loop(p->op->name, f->slot[p->in[0]].dtype) : NULL;
  return t ? t : p->op->loop[p->key];
}

static void steps_add_loop(jf_sweep *w, const jf_instr *p)
{
  int cell[3] = { 0 }, step[3] = { 0 }, by_row = w->f->slot[p->out[0]].kind == JF_SLOT_ROW;
  for (int i = 0; i < p->n_in; i++) {
    if (!by_row) use_each(w, p->in[i], &cell[i], &step[i]);
    else step[i] = w->f->slot[cell[i] = p->in[i]].kind == JF_SLOT_ROW;
  }
  jf_sweep_step *u = steps_append(w, JF_STEP_LOOP, -1);
  u->instr = p;
  u->loop = steps_loop_of(w->f, p);
  u->by_row = by_row;
  memcpy(u->in, cell, sizeof u->in);
  memcpy(u->step, step, sizeof u->step);
  for (int i = 0; i < 2; i++) u->out[i] = i < p->n_out ? p->out[i] : -1;
}

static void steps_add_sum(jf_sweep *w, const jf_instr *p)
{
  const int row = w->f->slot[p->out[0]].kind == JF_SLOT_ROW;
  jf_sweep_step *u = steps_append(w, row ? JF_STEP_SUM_ROWS : JF_STEP_ADD_UP, p->out[0]);
  u->instr = p;
  u->in[0] = p->in[0];
}

/* ---- where slots are ---- */

static jf_home home_of(const jf_fused_slot *s)
{
  const int argument = s->in >= 0 || s->out >= 0;
  switch (s->kind) {
  case JF_SLOT_EACH: return argument ? JF_HOME_EACH : JF_HOME_BUFFER;
  case JF_SLOT_ROW: return argument ? JF_HOME_PER_ROW : JF_HOME_ROWS;
  case JF_SLOT_BROADCAST: return JF_HOME_RUN;
  case JF_SLOT_NUMBER: return JF_HOME_NUMBER;
  case JF_SLOT_SUM: break;
  }
  return JF_HOME_NONE;
}

/* The last step that uses a cell. */
static int last_use(const jf_sweep *w, int cell)
{
  for (int i = w->n_todo - 1; i >= 0; i--) {
    const jf_sweep_step *u = &w->todo[i];
    for (int k = 0; u->instr && k < u->instr->n_in; k++)
      if (u->in[k] == cell) return i;
  }
  return -1;
}

/* Takes the first buffer that is free from step `at` on, and keeps it until step `last`. */
static int steps_take(jf_sweep *w, int *until, int at, int last)
{
  int b = 0;
  while (b < w->n_buffer && until[b] >= at) b++;
  if (b == w->n_buffer) w->n_buffer++;
  until[b] = last > at ? last : at;
  return b;
}

/* Chooses a place for a cell that is written at step `at`; its buffer is free again after the
   cell's last use. */
static void place_cell(jf_sweep *w, int *until, int cell, int at)
{
  jf_cell *c = &w->cell[cell];
  const int spread = cell >= JF_SWEEP_SLOTS;
  if (c->home == JF_HOME_ROWS) c->buffer = w->n_rows++;
  if (c->home != JF_HOME_BUFFER) return;
  const int once = spread && w->once[cell - JF_SWEEP_SLOTS];
  c->buffer = steps_take(w, until, once ? -1 : at, once ? JF_SWEEP_STEPS : last_use(w, cell));
}

static void place_cells(jf_sweep *w)
{
  int until[JF_SWEEP_CELLS];
  w->n_buffer = w->n_rows = 0;
  for (int i = 0; i < w->n_todo; i++)
    if (w->todo[i].kind == JF_STEP_SPREAD_INPUT && w->once[w->todo[i].slot])
      place_cell(w, until, JF_SWEEP_SLOTS + w->todo[i].slot, i);
  for (int i = 0; i < w->n_todo; i++) {
    const jf_sweep_step *u = &w->todo[i];
    if (u->kind == JF_STEP_SPREAD_ROW || (u->kind == JF_STEP_SPREAD_INPUT && !w->once[u->slot]))
      place_cell(w, until, JF_SWEEP_SLOTS + u->slot, i);
    if (u->kind == JF_STEP_SUM_ROWS) place_cell(w, until, u->slot, i);
    for (int k = 0; u->kind == JF_STEP_LOOP && k < 2; k++)
      if (u->out[k] >= 0) place_cell(w, until, u->out[k], i);
  }
}

void jf_sweep_list_steps(jf_sweep *w)
{
  w->n_todo = 0;
  memset(w->cell, 0, sizeof w->cell);
  for (int s = 0; s < w->f->n_slot; s++) w->cell[s].home = home_of(&w->f->slot[s]);
  for (int i = 0; i < w->f->n_instr; i++) {
    const jf_instr *p = &w->f->instr[i];
    if (p->op->loop) steps_add_loop(w, p);
    else steps_add_sum(w, p);
  }
  place_cells(w);
}
