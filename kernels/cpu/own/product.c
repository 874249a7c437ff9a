/* Products of matrices: b is packed in blocks that stay in a core's cache, and a in blocks that
   stay there beside them, as in Goto and van de Geijn's "Anatomy of High-Performance Matrix
   Multiplication" (2008). */
#include "own.h"

/* DEEP: steps of a sum between which c is stored. TALL: rows of a that are packed together. WIDE:
   columns of b that are. CACHED: floats of packed b that stay in the first cache. */
enum { DEEP = 256, TALL = 168, WIDE = 512, CACHED = 4096 };

typedef struct own_matmul {
  jf_own_primitive unit;
  jf_primitive_matmul m;
} own_matmul;

/* A block of the problem, and its packed operands. */
typedef struct own_block {
  const own_matmul *p;
  const float *a, *b;          /* of this matrix */
  const jf_primitive_run *run;
  float *c, *packed_a;
  const float *residual, *packed_b;
  int64_t row, rows, column, columns, step, steps;
} own_block;

/* ---- packing ---- */

/* Packs `steps` rows of b from `step` on, in panels of JF_LANES columns. */
static void product_pack_b(const jf_primitive_matmul *m, const float *b, const own_block *at,
                           float *to)
{
  const int64_t lead = m->b.lead;
  for (int64_t j = 0; j < at->columns; j += JF_LANES, to += at->steps * JF_LANES) {
    const int64_t lanes = jf_own_least(at->columns - j, JF_LANES);
    if (m->transpose_b) {
      jf_own_turn(b + (at->column + j) * lead + at->step, lead, lanes, at->steps, to);
    } else {
      const jf_own_copy c = { b + at->step * lead + at->column + j,
                              b + (m->k - 1) * lead + m->n,
                              to,
                              lead,
                              JF_LANES,
                              at->steps,
                              lanes,
                              1 };
      jf_own_copy_vectors(&c);
    }
  }
}

/* Where row `row` of a packed block of a begins. */
static int64_t product_row_at(const own_block *at, int64_t row)
{
  return row * (at->p->m.transpose_a ? at->steps : jf_own_up(at->steps));
}

/* Packs `rows` rows of a, which are one tile high. */
static void product_pack_rows(const own_block *at, int64_t row, int64_t rows)
{
  const jf_primitive_matmul *m = &at->p->m;
  const int64_t lead = m->a.lead, first = at->row + row;
  const float scale = at->run->scale ? *at->run->scale : 1;
  float *to = at->packed_a + product_row_at(at, row);
  if (m->transpose_a) {
    const jf_own_copy c = { at->a + at->step * lead + first,
                            at->a + (m->k - 1) * lead + m->m,
                            to,
                            lead,
                            rows,
                            at->steps,
                            rows,
                            scale };
    jf_own_copy_vectors(&c);
    return;
  }
  const int64_t whole = at->steps / JF_LANES, rest = at->steps % JF_LANES;
  for (int64_t r = 0; r < rows; r++) {
    const float *from = at->a + (first + r) * lead + at->step;
    jf_own_copy c = { from,  from + at->steps, to + r * JF_LANES, JF_LANES, rows * JF_LANES,
                      whole, JF_LANES,         scale };
    jf_own_copy_vectors(&c);
    if (!rest) continue;
    c.from += whole * JF_LANES;
    c.to += whole * rows * JF_LANES;
    c.n = 1;
    c.lanes = rest;
    jf_own_copy_vectors(&c);
  }
}

/* ---- tiles ---- */

/* The tile at the block's row and column, of which `lanes` columns are in c. */
static void product_edge(const own_block *at, jf_own_tile t, jf_own_order order, int rows,
                         int64_t lanes)
{
  float edge[14 * 2 * JF_LANES], bias[2 * JF_LANES];
  const int vectors = (int)((lanes + JF_LANES - 1) / JF_LANES);
  float *c = t.c;
  for (int r = 0; t.from && r < rows; r++)
    memcpy(edge + r * 2 * JF_LANES, t.from + r * t.c_row, (size_t)lanes * sizeof *edge);
  if (t.bias) t.bias = memcpy(bias, t.bias, (size_t)lanes * sizeof *bias);
  if (t.from) t.from = edge;
  const int64_t c_row = t.c_row;
  t.c = edge;
  t.c_row = 2 * JF_LANES;
  at->p->unit.loop->run(&t, order, rows, vectors);
  for (int r = 0; r < rows; r++)
    memcpy(c + r * c_row, edge + r * 2 * JF_LANES, (size_t)lanes * sizeof *c);
}

static void product_tile(const own_block *at, int64_t row, int rows, int64_t column)
{
  const jf_primitive_matmul *m = &at->p->m;
  const int64_t wide = at->p->unit.loop->vectors * JF_LANES;
  const int64_t lanes = jf_own_least(at->columns - column, wide);
  const int64_t c = (at->row + row) * m->c.lead + at->column + column;
  const int first = at->step == 0;
  jf_own_tile t = {
    .a = at->packed_a + product_row_at(at, row), .b = at->packed_b + column * at->steps,
    .c = at->c + c, .from = !first || m->add ? at->c + c : at->residual ? at->residual + c : NULL,
    .bias = first && at->run->bias ? (const float *)at->run->bias + at->column + column : NULL,
    .a_next = m->transpose_a ? rows : 1, .a_group = rows * JF_LANES,
    .b_group = JF_LANES * JF_LANES, .b_next = JF_LANES, .b_vec = at->steps * JF_LANES,
    .c_row = m->c.lead, .c_vec = JF_LANES, .groups = 1, .last = at->steps
  };
  if (!m->transpose_a) {
    t.groups = jf_own_up(at->steps) / JF_LANES;
    t.depth = JF_LANES;
    t.last = at->steps - (t.groups - 1) * JF_LANES;
  }
  const jf_own_order order = m->transpose_a ? JF_OWN_BY_STEPS : JF_OWN_BY_ROWS;
  if (lanes % JF_LANES) product_edge(at, t, order, rows, lanes);
  else at->p->unit.loop->run(&t, order, rows, (int)(lanes / JF_LANES));
}

/* Rows are divided evenly over tiles. */
static void product_block(const own_block *at)
{
  const int64_t most = at->p->unit.loop->rows, n = (at->rows + most - 1) / most;
  const int64_t wide = at->p->unit.loop->vectors * JF_LANES;
  for (int64_t i = 0; i < n; i++) {
    const int64_t row = at->rows * i / n;
    product_pack_rows(at, row, at->rows * (i + 1) / n - row);
  }
  for (int64_t j = 0; j < at->columns; j += wide)
    for (int64_t i = 0; i < n; i++) {
      const int64_t row = at->rows * i / n;
      product_tile(at, row, (int)(at->rows * (i + 1) / n - row), j);
    }
}

/* ---- runs ---- */

/* How many rows of a are packed together from the block's row on: where all of b stays in the first
   cache, those of one tile, so that they are still there too when the tile is computed. */
static int64_t product_rows(const own_block *at)
{
  const int64_t left = at->p->m.m - at->row, most = at->p->unit.loop->rows;
  const int64_t tiles = (left + most - 1) / most;
  const int64_t few = jf_own_up(at->columns) * at->steps <= CACHED;
  return few ? (left + tiles - 1) / tiles : jf_own_least(left, TALL);
}

/* One matrix. b is packed here unless it has been once for many runs. */
static void product_matrix(own_block *at, float *packed_b, const float *ready)
{
  const jf_primitive_matmul *m = &at->p->m;
  for (at->column = 0; at->column < m->n; at->column += WIDE) {
    at->columns = jf_own_least(m->n - at->column, WIDE);
    for (at->step = 0; at->step < m->k; at->step += DEEP) {
      at->steps = jf_own_least(m->k - at->step, DEEP);
      at->packed_b = ready ? ready : packed_b;
      if (ready) ready += jf_own_up(at->columns) * at->steps;
      else product_pack_b(m, at->b, at, packed_b);
      for (at->row = 0; at->row < m->m; at->row += at->rows) {
        at->rows = product_rows(at);
        product_block(at);
      }
    }
  }
}

static int64_t product_a_size(const jf_primitive_matmul *m)
{
  return jf_own_least(m->m, TALL) * jf_own_up(jf_own_least(m->k, DEEP)) + JF_LANES;
}

static void product_run(const jf_own_primitive *u, float *scratch, const jf_primitive_run *r)
{
  const own_matmul *p = (const own_matmul *)u;
  const jf_primitive_matmul *m = &p->m;
  for (int64_t i = 0; i < m->batch; i++) {
    own_block at = { .p = p, .run = r, .a = (const float *)r->a + i * m->a.apart,
                     .b = (const float *)r->b + i * m->b.apart,
                     .c = (float *)r->c + i * m->c.apart, .packed_a = scratch };
    if (r->residual) at.residual = (const float *)r->residual + i * m->c.apart;
    product_matrix(&at, scratch + product_a_size(m), r->ready);
  }
}

static void product_ready(const jf_own_primitive *u, const float *b, float *to)
{
  const jf_primitive_matmul *m = &((const own_matmul *)u)->m;
  own_block at = { 0 };
  for (; at.column < m->n; at.column += WIDE) {
    at.columns = jf_own_least(m->n - at.column, WIDE);
    for (at.step = 0; at.step < m->k; at.step += DEEP) {
      at.steps = jf_own_least(m->k - at.step, DEEP);
      product_pack_b(m, b, &at, to);
      to += jf_own_up(at.columns) * at.steps;
    }
  }
}

/* What product_ready reads of the problem. */
static uint64_t product_form(const jf_primitive_matmul *m)
{
  const int64_t read[] = { m->n, m->k, m->b.lead, m->transpose_b };
  return jf_hash(2, read, sizeof read);
}

jfl_status jf_own_matmul(const jf_primitive_matmul *m, jf_primitive_make *make)
{
  if (m->epilogue.act) return jf_fail(JFL_ENOSYS, "matmul: no activation");
  own_matmul *p = jf_new(sizeof *p);
  if (!p) return jf_fail(JFL_ENOMEM, "matmul: out of memory");
  const int64_t b = jf_own_up(jf_own_least(m->n, WIDE)) * jf_own_least(m->k, DEEP);
  p->unit = (jf_own_primitive){ product_run, product_ready, NULL, product_form(m),
                                *jf_own_loops() };
  p->m = *m;
  make->unit = p;
  make->scratch = (size_t)(product_a_size(m) + b) * sizeof(float);
  make->ready = m->batch == 1 ? (size_t)(jf_own_up(m->n) * m->k) * sizeof(float) : 0;
  return JFL_OK;
}
