/* A fused program prepared to sweep over memory on a CPU: the space is cut into tiles that fit the
   first-level cache, and values that only the program needs stay in small buffers. */
#ifndef JF_SWEEP_H
#define JF_SWEEP_H

#include "base/walk.h"
#include "op/fused.h"

/* The most that a sweep can hold. The limits given to the pass fuse (fused.c) are the same. */
enum {
  JF_SWEEP_SLOTS = 64, JF_SWEEP_INSTRS = 32,
  JF_SWEEP_CELLS = 2 * JF_SWEEP_SLOTS,
  JF_SWEEP_STEPS = JF_SWEEP_INSTRS + JF_SWEEP_SLOTS,
  JF_SWEEP_BYTES = 1 << 17     /* for a tile's buffers, on each thread's stack */
};

/* What can be done to a tile. */
typedef enum jf_sweep_step_kind {
  JF_STEP_SPREAD_INPUT,        /* copies an input that is broadcast to each element */
  JF_STEP_SPREAD_ROW,          /* copies what each row has one of to the row's elements */
  JF_STEP_LOOP,                /* an elementwise loop */
  JF_STEP_SUM_ROWS,            /* sums each row */
  JF_STEP_ADD_UP               /* adds elements to the sums that the part gathers */
} jf_sweep_step_kind;
typedef struct jf_sweep_step {
  jf_sweep_step_kind kind;
  int slot;                    /* the slot that is copied, summed, or gathers sums */
  const jf_instr *instr;
  jf_loop loop;
  int in[3], step[3], out[2];  /* cells; -1: an output without a reader */
  int by_row;                  /* a loop over one element for each row */
} jf_sweep_step;

/* A cell is the place of a slot in the current tile. Cell s is slot s itself; cell JF_SWEEP_SLOTS +
   s is the buffer that holds slot s copied to all elements of the tile. */
typedef enum jf_home {
  JF_HOME_NONE,
  JF_HOME_BUFFER, JF_HOME_ROWS,   /* a buffer with one element each; with one a row */
  JF_HOME_NUMBER,                 /* a constant, held in the sweep */
  JF_HOME_EACH, JF_HOME_PER_ROW, JF_HOME_RUN  /* an input or output, from the tile's first element,
                                                 row or run on */
} jf_home;
typedef struct jf_cell { jf_home home; int buffer; } jf_cell;

/* Immutable once made. */
typedef struct jf_sweep {
  const jf_fused *f;
  /* The space as a nest of axes, whose last axis is a run: elements that lie side by side in every
     slot. The operands of the nest are the slots; step[s] is that of slot s. */
  jf_nest nest;
  int64_t step[JF_SWEEP_SLOTS][JFL_MAXDIM];
  int64_t run, runs, per_row;  /* elements of a run, runs of the space, runs of a row */
  int64_t tile_runs;           /* runs of a tile; if 1, a tile is a chunk of a run */
  int64_t chunk, chunks;       /* elements of a chunk, chunks of a run */
  int64_t tiles, span;         /* tiles of the space, tiles of a part */
  int parts;                   /* threads take parts one by one */
  size_t width;                /* bytes of the largest element */
  int n_buffer, n_rows;        /* buffers with an element each, with one a row */
  jf_cell cell[JF_SWEEP_CELLS];
  char once[JF_SWEEP_SLOTS];   /* whether a slot's copy is the same in every tile */
  double number[JF_SWEEP_SLOTS];                /* constants, as bytes of their dtype */
  int64_t sum[JF_SWEEP_SLOTS], sums;   /* where slots gather sums; sums of a part */
  int n_todo;
  jf_sweep_step todo[JF_SWEEP_STEPS];          /* the last field: a copy ends with the steps */
} jf_sweep;

/* The number of elements of the largest tile, and of its rows. */
static inline int64_t jf_tile_elements(const jf_sweep *w) { return w->tile_runs * w->chunk; }
static inline int64_t jf_tile_rows(const jf_sweep *w) { return w->tile_runs / w->per_row; }

/* ---- cut.c ---- */

/* Finds the nest of axes. */
void jf_sweep_nest(jf_sweep *w);
/* Cuts the space into tiles that suit the current number of buffers. */
void jf_sweep_cut_tiles(jf_sweep *w);
void jf_sweep_cut_parts(jf_sweep *w);

/* ---- steps.c ---- */

/* Lists the steps for a tile and finds a place for each slot. */
void jf_sweep_list_steps(jf_sweep *w);

/* ---- run.c ---- */

/* Runs the sweep; k->scratch must have jf_sweep_scratch bytes. */
void jf_sweep_run(const jf_sweep *w, const jf_kargs *k);

/* ---- sweep.c ---- */

/* Prepares a sweep for f, which must live as long as the sweep. */
void jf_sweep_make(jf_sweep *w, const jf_fused *f);
/* A copy without room for more steps, which jf_free frees; NULL when memory is out. */
jf_sweep *jf_sweep_copy(const jf_sweep *w);
/* How many bytes of scratch a run needs, for the sums of the parts. */
size_t jf_sweep_scratch(const jf_sweep *w);

#endif
