/* Index maps: an op that moves elements without looking at them says which come from where, as
   boxes that are copied. Its shape rule, its signatures and the kernels of all devices follow. */
#ifndef JF_MOVES_H
#define JF_MOVES_H

#include "ir/ir.h"

/* The axis of a tensor along which an axis of a box lies: index i of the box is begin + step * i
   there. axis -1: it lies along none, so all indices are the same elements. */
typedef struct jf_side { int axis; int64_t begin, step; } jf_side;
typedef struct jf_move_axis { int64_t extent; jf_side from, to; } jf_move_axis;

/* A box that is copied from input `in` to output `out`, or is filled with `number` where in is -1.
   Its axes name each axis of the output once, and each of the input that has more than one
   element. */
typedef struct jf_move {
  int in, out, n;
  double number;
  jf_move_axis axis[JFL_MAXDIM];
} jf_move;

/* A record's rule, moves(k, i, m), gives move i of a call, or returns 0 if there are no more; for
   i > 0, *m is the one before. It reads the shapes of inputs, and attributes that infer has
   completed. Moves cover each element of the outputs, and where there are several they cover it
   once, except that the first may fill output 0 whole, or make it all that input 0 is, which later
   ones then change.

   Helpers of rules: input `in`, of shape s, to all of output 0. */
void jf_move_whole(jf_move *m, int in, const jfl_shape *s);
/* Makes it a box of numbers. */
void jf_move_fill(jf_move *m, double number);
/* Move i of input 0, of shape s, to the middle of output 0: how much goes before and after it along
   each axis says `border`, which is filled with `number`. Returns 0 if there are no more. */
typedef struct jf_border { int64_t before, after; } jf_border;
int jf_move_bordered(jf_move *m, int i, const jfl_shape *s, const jf_border *border,
                     double number);

/* What the rule of a call of op reads: shapes of inputs, and attributes. */
jf_kargs jf_moves_call(jf_arena *a, const jfl_op *op, const void *attr, jfl_value *const *in,
                       int n_in);

/* A move as a nest of two operands, the input and the output, with steps and offsets in elements.
   A box of numbers has an input of one element. */
typedef struct jf_move_nest {
  int n;
  int64_t d[JFL_MAXDIM], step[2][JFL_MAXDIM], at[2];
} jf_move_nest;
/* Joins axes that are one for both, as jf_nest_join does. k has the shapes of outputs too. */
void jf_move_nest_of(const jf_kargs *k, const jf_move *m, int64_t border, jf_move_nest *out);
/* How many elements a move has. */
int64_t jf_move_count(const jf_move *m);

#endif
