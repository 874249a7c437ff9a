/* Tiles of sums for each instruction set. */
#include "tile.h"

#include "cpu/square.h"

JF_SQUARE_OF(float)

#if defined(__x86_64__)
#define OWN_NAME avx512
#define OWN_FOR JF_AVX512
#define OWN_WIDTH 16
#define OWN_ROWS 14
#define OWN_VECTORS 2
#include "tile_loops.h"
#define OWN_NAME avx2
#define OWN_FOR JF_AVX2
#define OWN_WIDTH 8
#define OWN_ROWS 6
#define OWN_VECTORS 1
#include "tile_loops.h"
#define OWN_NAME base
#define OWN_FOR
#define OWN_WIDTH 4
#define OWN_ROWS 3
#define OWN_VECTORS 1
#include "tile_loops.h"

const jf_own_loop *const *jf_own_loops(void)
{
  static const jf_own_loop *const all[] = { &own_loop_avx512, &own_loop_avx2, &own_loop_base,
                                            NULL };
  return all + (jf_has_avx512() ? 0 : jf_has_avx2() ? 1 : 2);
}
#else
#define OWN_NAME base
#define OWN_FOR
#define OWN_WIDTH 4
#define OWN_ROWS 6
#define OWN_VECTORS 1
#include "tile_loops.h"

const jf_own_loop *const *jf_own_loops(void)
{
  static const jf_own_loop *const all[] = { &own_loop_base, NULL };
  return all;
}
#endif

JF_BODY void own_turn_body(const float *from, int64_t from_row, int64_t rows, int64_t columns,
                           float *to)
{
  int64_t c = 0;
  if (rows == JF_LANES)
    for (; c + JF_LANES <= columns; c += JF_LANES)
      square_float((const char *)(from + c), from_row * (int64_t)sizeof *from,
                   (char *)(to + c * JF_LANES), JF_LANES * (int64_t)sizeof *to);
  for (; c < columns; c++) {
    float *line = to + c * JF_LANES;
    for (int64_t r = 0; r < rows; r++) line[r] = from[r * from_row + c];
    for (int64_t r = rows; r < JF_LANES; r++) line[r] = 0;
  }
}
JF_DISPATCH(own_turn, (const float *from, int64_t from_row, int64_t rows, int64_t columns,
                       float *to), (from, from_row, rows, columns, to))

void jf_own_turn(const float *from, int64_t from_row, int64_t rows, int64_t columns, float *to)
{
  own_turn(from, from_row, rows, columns, to);
}

JF_BODY void own_copy_body(const jf_own_copy *c)
{
  static const jf_ivec number = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
  const jf_ivec used = number < (jf_ivec){ 0 } + (int32_t)c->lanes;
  const float *from = c->from;
  float *to = c->to;
  const int plain = c->lanes == JF_LANES && c->scale == 1;
  for (int64_t i = 0; plain && i < c->n; i++)
    JF_STORE(to + i * c->to_step, JF_LOAD(from + i * c->from_step));
  for (int64_t i = 0; !plain && i < c->n; i++, from += c->from_step, to += c->to_step) {
    jf_vec v;
    if (c->end - from >= JF_LANES) v = (jf_vec)((jf_ivec)JF_LOAD(from) & used);
    else jf_load_part(from, c->lanes, 0, &v);
    JF_STORE(to, v * c->scale);
  }
}
JF_DISPATCH(own_copy, (const jf_own_copy *c), (c))

void jf_own_copy_vectors(const jf_own_copy *c) { own_copy(c); }
