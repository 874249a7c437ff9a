/* How products and convolutions are cut into pieces, for the files that cut them: pieces.c, which
   also runs them, and pieces_conv.c. */
#ifndef JF_PIECES_CUT_H
#define JF_PIECES_CUT_H

#include "pieces.h"

/* JF_PIECE: arithmetic of a piece, some 50 us of work. JF_PAIR: that of two pieces together, from
   which on results are cut. */
enum { JF_PIECE = 5000000, JF_PAIR = 4000000 };

/* An axis of n elements in pieces of `each`; the last one may have fewer. */
typedef struct jf_pieces_cut { int64_t n, each; } jf_pieces_cut;

static inline int64_t jf_cut_count(jf_pieces_cut c) { return (c.n + c.each - 1) / c.each; }
static inline jf_pieces_cut jf_cut_whole(int64_t n) { return (jf_pieces_cut){ n, n }; }
/* Cuts n elements into at most `count` pieces, whose extents are multiples of `unit`. */
jf_pieces_cut jf_cut_into(int64_t n, int64_t count, int64_t unit);

/* How many elements further a piece's operands lie. */
typedef struct jf_pieces_step { int64_t a, b, c, bias, dbias; } jf_pieces_step;

/* Inner pieces: the first or one like it, one between the first and the last, the last. */
enum { JF_PIECE_FIRST, JF_PIECE_BETWEEN, JF_PIECE_LAST, JF_PIECE_KINDS };

/* The library is fastest on dense matrices, so that for long products each piece has a copy of its
   columns of a, or makes its columns of c elsewhere first. */
typedef enum jf_pieces_copy { JF_COPY_NONE, JF_COPY_A, JF_COPY_C } jf_pieces_copy;

typedef struct jf_pieces {
  const jf_primitives *lib;
  jf_pieces_cut outer, inner;      /* matrices or images; rows, columns or channels */
  jf_pieces_step by_outer, by_inner;       /* from one element of an axis to the next */
  int bands;                       /* whether inner pieces are rows of an image */
  int64_t above;                   /* elements that all bands but the first read before their own */
  jf_primitive_any *unit[2][JF_PIECE_KINDS];       /* for full outer pieces, and for the last */
  size_t room;                     /* bytes of scratch for each worker */
  int converts;                    /* units convert b, */
  size_t ready;                    /* which is done once for all outer pieces, into so many bytes
                                      for each inner piece; or 0 */
  int64_t sums, bias_sums;         /* elements that each piece sums on its own, or 0 */
  jf_pieces_copy copy;
  int64_t k, lead;                 /* lines of a, or lines of c, and how far apart they are */
  jf_loop act;                     /* what is applied to results, or NULL; */
  jfl_dtype type;                  /* these are of that type */
  int64_t rows;                    /* of a matrix whose columns are cut; else 0: the results of a
                                      piece lie together */
  size_t from, to;                 /* bytes of an element of the operands, and of the result */
  double flop;                     /* arithmetic in the time that a full piece may take */
} jf_pieces;

/* How many pieces so much arithmetic is worth: a power of two, so that halves are equal. `least`:
   arithmetic for which there are two. */
int64_t jf_pieces_wanted(double flop, double least);

/* Makes the unit for pieces of so many outer elements, and of `inner` ones from `from` on. */
typedef jfl_status (*jf_pieces_maker)(const void *problem, int64_t outer, int64_t from,
                                      int64_t inner, jf_primitive_make *make);
/* Makes all units; drops them. */
jfl_status jf_pieces_fill(jf_pieces *p, jf_pieces_maker make, const void *problem, int workers);
void jf_pieces_drop(jf_pieces *p);

jfl_status jf_pieces_new(const jf_primitives *lib, jfl_dtype from, jfl_dtype to, jf_pieces **out);
/* Takes an activation that has a fast loop out of the epilogue: it is applied to each piece. */
void jf_pieces_activation(jf_pieces *p, jf_epilogue *e);
/* flop: arithmetic of all pieces, where n channels, rows or columns are worked on together;
   elements: of all pictures. */
void jf_pieces_weigh(jf_pieces *p, double flop, int64_t n, int64_t elements);
/* Whether input 1 may be converted before all runs. */
static inline int jf_pieces_may_pack(const jf_kargs *k)
{
  return k->in[1].layout.kind == JF_LAYOUT_ANY;
}
/* Hands p, or what went wrong with it, to k; with `packs`, input 1 is converted before all runs. */
jfl_status jf_pieces_give(jf_pieces *p, jfl_status s, int packs, jf_kargs *k);

#endif
