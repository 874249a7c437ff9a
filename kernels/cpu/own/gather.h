/* Packing the cells that rows of a convolution read. */
#ifndef JF_OWN_GATHER_H
#define JF_OWN_GATHER_H

#include "conv.h"

enum { JF_OWN_ROWS = 14 };     /* the most rows of a tile */

/* A step of a sum: the tap that it belongs to, where it lies beyond a row's corner, and how many
   steps from this one on are channels beside each other. */
typedef struct jf_own_step { int64_t offset, tap, left; } jf_own_step;

/* The rows of a tile, n steps of their sums, and where they are packed to. Row r begins to read at
   cell corner[r] of image `from`; tap t then reads the cell shift[t] further. A cell that is not in
   the image is 0. */
typedef struct jf_own_gather {
  const jf_own_images *x;
  const float *from;
  const jf_own_step *step;
  const int64_t (*shift)[3], *lowest, *highest;        /* of all taps, the least and the greatest */
  int64_t n, rows, corner[JF_OWN_ROWS][3];
  float *to;
} jf_own_gather;

/* Packs by rows an image whose channels lie beside each other. */
void jf_own_gather_rows(const jf_own_gather *g);

#endif
