/* A fused program made ready: private to machine.c, which makes it, and tile.c, which runs it. */
#ifndef JF_OP_MACHINE_H
#define JF_OP_MACHINE_H

#include "op/fused.h"

enum {
  JF_CELLS = 2 * JF_FUSED_SLOTS,
  JF_MICROS = JF_FUSED_INSTRS + JF_FUSED_SLOTS,
  JF_TILE_BYTES = 1 << 17      /* of buffers, on the stack of each thread */
};

/* What is done to a tile, in order. A cell is where a slot is in the tile at hand: cell s is the
   slot's own, cell JF_FUSED_SLOTS + s the buffer in which it is spread over the tile's elements. */
typedef enum jf_micro_kind {
  JF_SPREAD_INPUT, JF_SPREAD_ROW, JF_LOOP, JF_ROW_SUM, JF_ADD_UP
} jf_micro_kind;
typedef struct jf_micro {
  jf_micro_kind kind;
  int slot;                    /* that is spread, summed, or gathers */
  const jf_instr *instr;
  jf_tile tile;
  int in[3], step[3], out[2];  /* cells; -1: an output that nobody reads */
  int by_row;                  /* a loop over what there is one of in a row */
} jf_micro;

/* How a cell finds its memory. */
typedef enum jf_home {
  JF_HOME_NONE, JF_HOME_BUFFER, JF_HOME_ROWS,   /* buffers of elements, of one element a row */
  JF_HOME_NUMBER,
  JF_HOME_EACH, JF_HOME_PER_ROW, JF_HOME_RUN  /* arguments, at the tile's first element, row, run */
} jf_home;
typedef struct jf_cell { jf_home home; int buffer; } jf_cell;

struct jf_machine {
  const jf_fused *f;
  /* The space as a nest of n axes, the last of which is a run: elements side by side for every
     slot. step[s] is that of slot s along these axes. */
  int n;
  int64_t d[JFL_MAXDIM], step[JF_FUSED_SLOTS][JFL_MAXDIM];
  int64_t run, runs, per_row;  /* elements of a run, runs of the space, runs of a row */
  int64_t tile_runs;           /* runs of a tile, or 1 of which a tile is a chunk */
  int64_t chunk, chunks;
  int64_t tiles, span;         /* tiles of the space, of a part */
  int parts;
  size_t width;                /* bytes of the largest element */
  int n_buffer, n_rows;        /* buffers of tiles, of rows */
  jf_cell cell[JF_CELLS];
  char once[JF_FUSED_SLOTS];   /* slots whose spread is the same in every tile */
  double number[JF_FUSED_SLOTS];                /* the bytes of constants */
  int64_t sum[JF_FUSED_SLOTS], sums;   /* where a slot gathers, of how many sums in a part */
  jf_micro micro[JF_MICROS];
  int n_micro;
};

/* Elements of the largest tile, and its rows. */
static inline int64_t jf_tile_elements(const jf_machine *m) { return m->tile_runs * m->chunk; }
static inline int64_t jf_tile_rows(const jf_machine *m) { return m->tile_runs / m->per_row; }

#endif
