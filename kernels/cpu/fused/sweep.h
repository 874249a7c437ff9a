/* A fused program made ready to sweep over memory on a processor: the space is cut into tiles that
   fit the first-level cache, and what only the program needs stays in small buffers. */
#ifndef JF_SWEEP_H
#define JF_SWEEP_H

#include "base/walk.h"
#include "op/fused.h"

/* The most that a sweep can hold; what the pass fuse asks of the device (fused.c) says the same. */
enum {
  JF_SWEEP_SLOTS = 64, JF_SWEEP_INSTRS = 32,
  JF_SWEEP_CELLS = 2 * JF_SWEEP_SLOTS,
  JF_SWEEP_STEPS = JF_SWEEP_INSTRS + JF_SWEEP_SLOTS,
  JF_SWEEP_BYTES = 1 << 17     /* of the buffers of a tile, on the stack of each thread */
};

/* What is done to a tile, in order. */
typedef enum jf_sweep_step_kind {
  JF_STEP_SPREAD_INPUT,        /* an input that is broadcast is copied to each element */
  JF_STEP_SPREAD_ROW,          /* what each row has one of is copied to its elements */
  JF_STEP_LOOP,                /* an elementwise loop */
  JF_STEP_SUM_ROWS,            /* the sum of each row */
  JF_STEP_ADD_UP               /* elements are added to the sums that the part gathers */
} jf_sweep_step_kind;
typedef struct jf_sweep_step {
  jf_sweep_step_kind kind;
  int slot;                    /* that is spread, summed, or gathers */
  const jf_instr *instr;
  jf_loop loop;
  int in[3], step[3], out[2];  /* cells; -1: an output that nobody reads */
  int by_row;                  /* a loop over what there is one of in a row */
} jf_sweep_step;

/* A cell is where a slot is in the tile at hand. Cell s is slot s itself; cell JF_SWEEP_SLOTS + s
   is the buffer in which slot s is spread over the tile's elements. */
typedef enum jf_home {
  JF_HOME_NONE,
  JF_HOME_BUFFER, JF_HOME_ROWS,   /* a buffer of elements; of one element a row */
  JF_HOME_NUMBER,                 /* a constant in the sweep */
  JF_HOME_EACH, JF_HOME_PER_ROW, JF_HOME_RUN  /* an argument, from the tile's first element, row or
                                                 run on */
} jf_home;
typedef struct jf_cell { jf_home home; int buffer; } jf_cell;

/* Immutable once made. */
typedef struct jf_sweep {
  const jf_fused *f;
  /* The space as a nest of axes, the last of which is a run: elements side by side for every slot.
     Slots are its operands, and step[s] is that of slot s. */
  jf_nest nest;
  int64_t step[JF_SWEEP_SLOTS][JFL_MAXDIM];
  int64_t run, runs, per_row;  /* elements of a run, runs of the space, runs of a row */
  int64_t tile_runs;           /* runs of a tile, or 1 of which a tile is a chunk */
  int64_t chunk, chunks;       /* elements of a chunk, chunks of a run */
  int64_t tiles, span;         /* tiles of the space, of a part */
  int parts;                   /* threads take parts one by one */
  size_t width;                /* bytes of the largest element */
  int n_buffer, n_rows;        /* buffers of tiles, of rows */
  jf_cell cell[JF_SWEEP_CELLS];
  char once[JF_SWEEP_SLOTS];   /* slots whose spread is the same in every tile */
  double number[JF_SWEEP_SLOTS];                /* the bytes of constants */
  int64_t sum[JF_SWEEP_SLOTS], sums;   /* where a slot gathers, of how many sums in a part */
  jf_sweep_step todo[JF_SWEEP_STEPS];
  int n_todo;
} jf_sweep;

/* Elements of the largest tile, and its rows. */
static inline int64_t jf_tile_elements(const jf_sweep *w) { return w->tile_runs * w->chunk; }
static inline int64_t jf_tile_rows(const jf_sweep *w) { return w->tile_runs / w->per_row; }

/* ---- cut.c ---- */

/* Finds the nest of axes. */
void jf_sweep_nest(jf_sweep *w);
/* Cuts the space into tiles for as many buffers as the sweep has now. */
void jf_sweep_cut_tiles(jf_sweep *w);
void jf_sweep_cut_parts(jf_sweep *w);

/* ---- steps.c ---- */

/* Lists what is done to a tile, and finds a place for each slot. */
void jf_sweep_list_steps(jf_sweep *w);

/* ---- run.c ---- */

/* scratch holds jf_sweep_scratch bytes. */
void jf_sweep_run(const jf_sweep *w, const jf_kargs *k);

/* ---- sweep.c ---- */

/* f must stay as long as the sweep. */
void jf_sweep_make(jf_sweep *w, const jf_fused *f);
/* Bytes of scratch that a run wants: each part's sums. */
size_t jf_sweep_scratch(const jf_sweep *w);

#endif
