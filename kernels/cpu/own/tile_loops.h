/* The tiles of one instruction set. OWN_NAME: how their functions end. OWN_WIDTH: floats of a
   register; compilers keep in registers what is no wider. OWN_ROWS, OWN_VECTORS: the largest tile.
   OWN_FOR: for which processor. */
#define OWN_JOIN(a, b) a##_##b
#define OWN_OF(a, b) OWN_JOIN(a, b)
#define OWN(a) OWN_OF(a, OWN_NAME)

enum { OWN(OWN_PARTS) = JF_LANES / OWN_WIDTH };
typedef float OWN(own_register) __attribute__((vector_size(OWN_WIDTH * sizeof(float))));
typedef float OWN(own_memory)
  __attribute__((vector_size(OWN_WIDTH * sizeof(float)), aligned(4), may_alias));

/* Goes before what is done with each register j of a line. */
#define OWN_EACH_REGISTER \
  _Pragma("GCC unroll 8") for (int j = 0; j < vectors * OWN(OWN_PARTS); j++)
#define OWN_EACH_ROW _Pragma("GCC unroll 14") for (int r = 0; r < rows; r++)
/* Register j of a line whose vectors are `apart`. */
#define OWN_AT(type, p, apart)                            \
  (*(type OWN(own_memory) *)((p) + j / OWN(OWN_PARTS) * (apart) + \
                             j % OWN(OWN_PARTS) * OWN_WIDTH))

/* `rows` and `vectors` are constants, so that sums stay in registers. */
JF_BODY void OWN(own_block)(const jf_own_tile *t, int a_row, int rows, int vectors)
{
  OWN(own_register) sum[OWN_ROWS][OWN_VECTORS * OWN(OWN_PARTS)];
  OWN_EACH_ROW OWN_EACH_REGISTER {
    sum[r][j] = (OWN(own_register)){ 0 };
    if (t->from) sum[r][j] += OWN_AT(const, t->from + r * t->c_row, t->c_vec);
    if (t->bias) sum[r][j] += OWN_AT(const, t->bias, JF_LANES);
  }
  for (int64_t g = 0; g < t->groups; g++) {
    const float *a = t->a + (t->a_at ? t->a_at[g] : g * t->a_group), *b = t->b + g * t->b_group;
    const int64_t depth = g + 1 < t->groups ? t->depth : t->last;
    for (int64_t k = depth; k > 0; k--, a += t->a_next, b += t->b_next) {
      OWN(own_register) line[OWN_VECTORS * OWN(OWN_PARTS)];
      OWN_EACH_REGISTER line[j] = OWN_AT(const, b, t->b_vec);
      OWN_EACH_ROW OWN_EACH_REGISTER sum[r][j] += a[r * a_row] * line[j];
    }
  }
  OWN_EACH_ROW OWN_EACH_REGISTER OWN_AT(, t->c + r * t->c_row, t->c_vec) = sum[r][j];
}

#define OWN_CELLS(n)                         \
  case n:                                    \
    if (n <= OWN_ROWS) OWN(own_cells)(c, n); \
    break;

/* Chooses the block. */
#define OWN_CASE(n)                                                                    \
  case n:                                                                              \
    if (n <= OWN_ROWS && vectors == 1) OWN(own_block)(t, a_row, n, 1);                 \
    else if (n <= OWN_ROWS && OWN_VECTORS == 2) OWN(own_block)(t, a_row, n, 2);        \
    break;
JF_BODY void OWN(own_choose)(const jf_own_tile *t, int a_row, int rows, int vectors)
{
  switch (rows) {
  OWN_CASE(1) OWN_CASE(2) OWN_CASE(3) OWN_CASE(4) OWN_CASE(5) OWN_CASE(6) OWN_CASE(7)
  OWN_CASE(8) OWN_CASE(9) OWN_CASE(10) OWN_CASE(11) OWN_CASE(12) OWN_CASE(13) OWN_CASE(14)
  default: break;
  }
}

OWN_FOR static void OWN(own_tile)(const jf_own_tile *t, jf_own_order order, int rows, int vectors)
{
  if (order == JF_OWN_BY_ROWS) OWN(own_choose)(t, JF_LANES, rows, vectors);
  else OWN(own_choose)(t, 1, rows, vectors);
}

/* Channel by channel: `rows` is a constant. */
JF_BODY void OWN(own_cells)(const jf_own_cells *c, int rows)
{
  enum { vectors = 1 };
  OWN(own_register) sum[OWN_ROWS][OWN(OWN_PARTS)];
  OWN_EACH_ROW OWN_EACH_REGISTER {
    sum[r][j] = (OWN(own_register)){ 0 };
    if (c->bias) sum[r][j] += OWN_AT(const, c->bias, 0);
    if (c->residual) sum[r][j] += OWN_AT(const, c->residual + r * c->to_next, 0);
  }
  for (int64_t t = 0; t < c->taps; t++) {
    const float *from = c->from + c->tap[t].from, *w = c->w + c->tap[t].w;
    OWN(own_register) factor[OWN(OWN_PARTS)];
    OWN_EACH_REGISTER factor[j] = OWN_AT(const, w, 0);
    OWN_EACH_ROW {
      OWN_EACH_REGISTER sum[r][j] += factor[j] * OWN_AT(const, from, 0);
      from += c->from_next;
    }
  }
  OWN_EACH_ROW OWN_EACH_REGISTER OWN_AT(, c->to + r * c->to_next, 0) = sum[r][j];
}

OWN_FOR static void OWN(own_some_cells)(const jf_own_cells *c, int rows)
{
  switch (rows) {
  OWN_CELLS(1) OWN_CELLS(2) OWN_CELLS(3) OWN_CELLS(4) OWN_CELLS(5) OWN_CELLS(6) OWN_CELLS(7)
  OWN_CELLS(8) OWN_CELLS(9) OWN_CELLS(10) OWN_CELLS(11) OWN_CELLS(12) OWN_CELLS(13) OWN_CELLS(14)
  default: break;
  }
}

static const jf_own_loop OWN(own_loop) = { OWN_ROWS, OWN_VECTORS, OWN(own_tile),
                                           OWN(own_some_cells) };

#undef OWN_CASE
#undef OWN_CELLS
#undef OWN_AT
#undef OWN_EACH_ROW
#undef OWN_EACH_REGISTER
#undef OWN
#undef OWN_OF
#undef OWN_JOIN
#undef OWN_NAME
#undef OWN_FOR
#undef OWN_WIDTH
#undef OWN_ROWS
#undef OWN_VECTORS
