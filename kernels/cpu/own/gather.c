/* Packing the cells that rows of a convolution read. */
#include "gather.h"

/* Whether row r reads cells within the source for every tap. */
static int gather_inside(const jf_own_gather *g, int64_t r)
{
  for (int i = 0; i < 3; i++)
    if (g->corner[r][i] + g->lowest[i] < 0 || g->corner[r][i] + g->highest[i] >= g->x->size[i])
      return 0;
  return 1;
}

static int gather_within(const jf_own_gather *g, int64_t r, const int64_t shift[3])
{
  for (int i = 0; i < 3; i++)
    if ((uint64_t)(g->corner[r][i] + shift[i]) >= (uint64_t)g->x->size[i]) return 0;
  return 1;
}

/* Copies n channels of a tap for each row. */
JF_BODY void gather_run(const jf_own_gather *g, const jf_own_step *s, int64_t n,
                        const int64_t *cell, int inside, float *to)
{
  const float *from = g->from + s->offset;
  for (int64_t r = 0; r < g->rows; r++, to += JF_LANES) {
    const int none = !inside && !gather_within(g, r, g->shift[s->tap]);
    if (none) memset(to, 0, (size_t)n * sizeof *to);
    else if (n == JF_LANES) JF_STORE(to, JF_LOAD(from + cell[r]));
    else memcpy(to, from + cell[r], (size_t)n * sizeof *to);
  }
}

JF_BODY void gather_rows_body(const jf_own_gather *g)
{
  int64_t cell[JF_OWN_ROWS];
  int inside = 1;
  for (int64_t r = 0; r < g->rows; r++) {
    cell[r] = jf_own_cell(g->x, g->corner[r]);
    inside &= gather_inside(g, r);
  }
  for (int64_t k = 0, n; k < g->n; k += n) {
    n = JF_LANES - k % JF_LANES;
    if (n > g->step[k].left) n = g->step[k].left;
    if (n > g->n - k) n = g->n - k;
    float *to = g->to + k / JF_LANES * g->rows * JF_LANES + k % JF_LANES;
    gather_run(g, &g->step[k], n, cell, inside, to);
  }
}
JF_DISPATCH(gather_rows, (const jf_own_gather *g), (g))

void jf_own_gather_rows(const jf_own_gather *g) { gather_rows(g); }
