/* Tiles: JF_TILE floats beside each other, or fewer at an edge, as JF_TILE_VECS vectors. */
#ifndef JF_VEC_TILE_H
#define JF_VEC_TILE_H

#include "vector.h"

enum { JF_TILE = 64, JF_TILE_VECS = JF_TILE / JF_LANES };

/* Goes before what is done with each vector j of a tile. */
#define JF_EACH_VEC(j) for (int j = 0; j < JF_TILE_VECS; j++)

/* How many lanes of vector j are in use, if the tile has n floats. */
static inline int jf_tile_lanes(int n, int j)
{
  n -= j * JF_LANES;
  return n < 0 ? 0 : n < JF_LANES ? n : JF_LANES;
}

/* Vector j of the n floats at p. Lanes beyond them are 0. */
JF_BODY void jf_tile_load(const float *p, int n, int j, jf_vec *v)
{
  const int m = jf_tile_lanes(n, j);
  if (n == JF_TILE) *v = JF_LOAD(p + j * JF_LANES);
  else jf_load_part(p + (m ? j * JF_LANES : 0), m, 0, v);
}

JF_BODY void jf_tile_store(float *p, int n, int j, const jf_vec *v)
{
  const int m = jf_tile_lanes(n, j);
  if (n == JF_TILE) JF_STORE(p + j * JF_LANES, *v);
  else if (m) jf_store_part(p + j * JF_LANES, m, v);
}

#endif
