/* A fused program, which the pass fuse makes of a chain of nodes. It consists of elementwise loops
   and sums over one space of elements, and does not say how a device runs it. */
#ifndef JF_OP_FUSED_H
#define JF_OP_FUSED_H

#include "dev/kernel.h"

struct jfl_op;

/* How many elements a slot has, and which of them belongs to which element of the space. */
typedef enum jf_slot_kind {
  JF_SLOT_EACH,         /* one element for each of the space, in the same order */
  JF_SLOT_ROW,          /* one element for each row of the space, in the same order */
  JF_SLOT_BROADCAST,    /* an input that is broadcast: index i0, i1, ... of the space reads the
                           element number sum of step[a] * ia */
  JF_SLOT_SUM,          /* a sum in the making: each element of the space is added to the element
                           that step names, as above; no instruction reads it */
  JF_SLOT_NUMBER        /* a constant */
} jf_slot_kind;

typedef struct jf_fused_slot {
  jf_slot_kind kind;
  jfl_dtype dtype;
  int in, out;                 /* number of the op's input or output that the slot is, or -1 */
  double number;
  int64_t step[JFL_MAXDIM];    /* elements to move per index of the space */
} jf_fused_slot;

/* One instruction. If op has a loop, the loop is applied element by element; if out[0] then has one
   element for each row, so have the inputs. Any other op is a sum: out[0] becomes the sum of in[0]
   over some axes, divided by count. */
typedef struct jf_instr {
  const char *name;            /* the node's op, for texts */
  const struct jfl_op *op;
  jfl_dtype key;               /* the dtype for which op is run */
  const void *attr;            /* attributes of op */
  jfl_shape shape;             /* shape that the instruction loops over */
  int n_in, n_out, in[3], out[2];
  double count, flop;          /* flop: operations for all elements */
} jf_instr;

typedef struct jf_fused_arg { jfl_dtype dtype; jfl_shape shape; } jf_fused_arg;

/* Attributes of the op fused. Passes fill them in. */
typedef struct jf_fused {
  const char *program, *title; /* "t2 = exp(t0); ..." and "fused(exp, ...)" */
  jfl_shape space;
  int64_t row;                 /* elements of a row. A row is the axes of the space from some axis
                                  on; 0: no slot has one element for each row */
  int n_slot, n_instr, n_in, n_out;
  jf_fused_slot *slot;
  jf_instr *instr;
  jf_fused_arg *in, out[JF_FUSED_OUTS];
} jf_fused;

/* Writes the constant of slot s to `to`, in the slot's dtype. */
void jf_fused_number(const jf_fused_slot *s, void *to);

/* The plain kernel of the op fused, and the bytes of scratch that it needs (fused_plain.c). */
jfl_status jf_fused_plain(const jf_kargs *k);
size_t jf_fused_plain_scratch(const jf_kargs *k);

#endif
