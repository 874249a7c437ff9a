/* A program of elementwise loops and sums over one space of elements, run tile by tile so that what
   only the program needs never leaves the cache. */
#ifndef JF_OP_FUSED_H
#define JF_OP_FUSED_H

#include "dev/kernel.h"

enum {
  JF_FUSED_SLOTS = 64, JF_FUSED_INSTRS = 32,
  JF_FUSED_ROW = 4096,         /* the longest row whose sum later instructions may read */
  JF_FUSED_SUMS = 1 << 15      /* the most sums that one instruction may gather */
};

/* How the elements of a slot lie to those of the space. */
typedef enum jf_level {
  JF_EACH,         /* one for each, in the same order */
  JF_ROW,          /* one for each row, in the same order */
  JF_SPREAD,       /* an input that is broadcast: index i0, i1, ... reads element
                      sum of step[a] ia */
  JF_SUM,          /* gathers sums, at the element that step says likewise; no
                      instruction reads it */
  JF_NUMBER        /* a constant */
} jf_level;

typedef struct jf_fused_slot {
  jf_level level;
  jfl_dtype dtype;
  int in, out;                 /* the argument or the result it is, or -1 */
  double number;
  int64_t step[JFL_MAXDIM];    /* elements per index of the space */
} jf_fused_slot;

/* One instruction on slots: a loop, or without one the sum of in[0] divided by count. Where out[0]
   has one element a row the inputs have too, but for that of a sum. */
typedef struct jf_instr {
  const char *op;
  jf_tile tile;
  const void *attr;
  int n_in, n_out, in[3], out[2];
  double count, flop;          /* flop: of all elements */
} jf_instr;

typedef struct jf_fused_arg { jfl_dtype dtype; jfl_shape shape; } jf_fused_arg;

/* The attributes of the op fused; passes make them. */
typedef struct jf_fused {
  const char *program, *title; /* "t2 = exp(t0); ..." and "fused(exp, ...)" */
  jfl_shape space;
  int64_t row;                 /* elements of a row, which is axes of the space from some
                                  axis on; 0: no slot has one for each */
  int n_slot, n_instr, n_in, n_out;
  jf_fused_slot *slot;
  jf_instr *instr;
  jf_fused_arg *in, out[JFL_MAXOUT];
} jf_fused;

/* ---- running (machine.c, tile.c) ---- */

/* A program made ready: how the space is cut, and where each slot is in a tile. Immutable. */
typedef struct jf_machine jf_machine;

/* Gives a faster loop for an op on inputs of dtype t, or NULL. */
typedef jf_tile (*jf_fast_tile)(const char *op, jfl_dtype t);

/* NULL where memory is out; freed by jf_free. fast may be NULL. */
jf_machine *jf_machine_new(const jf_fused *f, jf_fast_tile fast);
/* Bytes of scratch that a run wants. */
size_t jf_machine_scratch(const jf_machine *m);
void jf_machine_run(const jf_machine *m, const jf_kargs *k);
/* Whether the program's tiles fit the memory that a thread has for them. */
int jf_fused_fits(const jf_fused *f);

/* The plain kernel of fused, and what it wants for scratch. */
jfl_status jf_fused_plain(const jf_kargs *k);
size_t jf_fused_plain_scratch(const jf_kargs *k);

#endif
