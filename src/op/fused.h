/* A fused program: what the pass fuse makes of a chain of nodes. It consists of elementwise loops
   and sums over one space of elements, and says nothing of how a device runs it. */
#ifndef JF_OP_FUSED_H
#define JF_OP_FUSED_H

#include "dev/kernel.h"

struct jfl_op;

/* How many elements a slot has, and which of them belongs to an element of the space. */
typedef enum jf_slot_kind {
  JF_SLOT_EACH,         /* one for each, in the same order */
  JF_SLOT_ROW,          /* one for each row, in the same order */
  JF_SLOT_BROADCAST,    /* an input that is broadcast: index i0, i1, ... reads element
                           sum of step[a] ia */
  JF_SLOT_SUM,          /* gathers sums, at the element that step says likewise; no
                           instruction reads it */
  JF_SLOT_NUMBER        /* a constant */
} jf_slot_kind;

typedef struct jf_fused_slot {
  jf_slot_kind kind;
  jfl_dtype dtype;
  int in, out;                 /* the argument or the result it is, or -1 */
  double number;
  int64_t step[JFL_MAXDIM];    /* elements per index of the space */
} jf_fused_slot;

/* One instruction on slots. Of an elementwise op, which has a loop and a formula: that is applied
   to each element; where out[0] has one element a row the inputs have too. Of any other: out[0] is
   the sum of in[0] over some axes, divided by count. */
typedef struct jf_instr {
  const char *name;            /* of the node's op, for texts */
  const struct jfl_op *op;
  jfl_dtype key;               /* the dtype for which op is run */
  const void *attr;            /* of op */
  jfl_shape shape;             /* of what it goes through */
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
  jf_fused_arg *in, out[JF_FUSED_OUTS];
} jf_fused;

/* Writes the constant of a slot at `to`, in its dtype. */
void jf_fused_number(const jf_fused_slot *s, void *to);

/* The plain kernel of fused, and what it wants for scratch (fused_plain.c). */
jfl_status jf_fused_plain(const jf_kargs *k);
size_t jf_fused_plain_scratch(const jf_kargs *k);

#endif
