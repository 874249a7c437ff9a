/* How a GPU's threads share the elements of a fused program, and the text of its kernel. */
#ifndef JF_CUDA_CUT_H
#define JF_CUDA_CUT_H

#include "base/walk.h"
#include "formula.h"

enum { JF_CUT_SLOTS = 64 };

/* How a sum that instructions do not read is gathered. Blocks write partial sums to scratch, and a
   second kernel adds these up. */
typedef enum jf_cut_sum {
  JF_CUT_NO_SUM,
  JF_CUT_TOTAL,         /* of all elements: a partial sum for each block */
  JF_CUT_LINES,         /* of elements of the same lines: one for each line and tile */
  JF_CUT_COLUMNS        /* of elements at the same places in lines: one for each part and element */
} jf_cut_sum;

/* The space is `lines` lines of `line` elements: the rows, if the program has rows. A line is cut
   into groups of `vector` elements side by side, which a thread reads at once. A block has `down`
   times `across` threads: so many lines at a time, and so many threads for one. Block number b does
   the groups of tile b % tiles of the lines of part b / tiles; tile t has groups t * across and on,
   and part p has lines p * down and on, in steps of the whole grid. With `turns` the groups of a
   thread have numbers that are known when the kernel is compiled. What several loops over a line
   need is kept meanwhile, if `keeps`, or else computed again. */
typedef struct jf_cut {
  const jf_fused *f;
  jf_nest nest;                        /* the axes of the space, joined */
  int64_t step[JF_CUT_SLOTS][JFL_MAXDIM];
  int inner;                           /* axes of the nest from this one on are those of a line */
  int64_t line, lines, groups;
  int vector, across, down, turns, keeps;
  int loops;                           /* over a line, since later instructions read sums of it */
  int stage[JF_CUT_SLOTS];             /* by slot: the first loop that can read it */
  int first[JF_CUT_SLOTS];             /* by slot: the first loop that needs it */
  unsigned char held[JF_CUT_SLOTS];    /* by slot: kept from that loop to later ones */
  jf_cut_sum sum[JF_CUT_SLOTS];        /* by slot */
  int n_sum;                           /* how many slots have sums that are gathered */
  int64_t tiles, parts;                /* set by jf_cut_grid */
} jf_cut;

/* Chooses all but the grid; 0: such a program does not run here. */
int jf_cut_make(jf_cut *c, const jf_fused *f);
/* Whether sums would take as many partial sums as there are elements. */
int jf_cut_wastes(const jf_cut *c);
/* Chooses how many blocks there are, given the device's multiprocessors. */
void jf_cut_grid(jf_cut *c, int multiprocessors);
/* How many sums slot s of kind SUM has, and how many partial sums. */
int64_t jf_cut_results(const jf_cut *c, int s);
int64_t jf_cut_partials(const jf_cut *c, int s);
/* Sets need[s] for each slot that loop number `loop` over a line needs, also if it is held. */
void jf_cut_needs(const jf_cut *c, int loop, unsigned char *need);
/* Whether slot s is held from an earlier loop. */
int jf_cut_holds(const jf_cut *c, int s, int loop);
/* Whether an instruction is a sum. */
int jf_cut_adds(const jf_instr *p);

/* What a program's text reads as arguments, so that programs which differ in that alone are one:
   the extents of the nest, with what divides by them (jf_over in program.cu), steps of more than
   one element, and numbers. What has no room here is written into the text. */
enum { JF_CUT_STEPS = 32, JF_CUT_NUMBERS = 16 };
typedef struct jf_cut_axis { int64_t extent; uint32_t times, shift; } jf_cut_axis;
typedef struct jf_cut_values {
  jf_cut_axis axis[JFL_MAXDIM];
  int64_t step[JF_CUT_STEPS];
  double number[JF_CUT_NUMBERS];
} jf_cut_values;

/* Writes the kernels `fused` and, if sums are gathered, `finish` of a program; the text of
   kernels/cuda/program.cu stands before them (program_text.c). */
void jf_program_source(jf_text *to, const jf_cut *c, jf_cut_values *out);

#endif
