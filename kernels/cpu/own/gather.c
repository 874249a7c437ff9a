/* Packing the cells that rows of a convolution read. */
#include "gather.h"

static int64_t gather_cell(const jf_own_images *x, const int64_t at[3])
{
  return at[0] * x->step[0] + at[1] * x->step[1] + at[2] * x->step[2];
}

/* ---- channels beside each other ---- */

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
    cell[r] = gather_cell(g->x, g->corner[r]);
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

/* ---- channels that lie apart ---- */

/* The rows from lo to hi read cells within the source. */
typedef struct gather_range { int64_t lo, hi; } gather_range;
static gather_range gather_meets(const jf_own_gather *g, const int64_t shift[3])
{
  const int64_t *size = g->x->size, first = g->corner[0][2] + shift[2];
  const int64_t last = first + (g->rows - 1) * g->stride;
  gather_range in = { 0, g->rows };
  for (int i = 0; i < 2; i++)
    if ((uint64_t)(g->corner[0][i] + shift[i]) >= (uint64_t)size[i]) return (gather_range){ 0, 0 };
  if (first >= 0 && last < size[2]) return in;
  if (g->stride == 1) {
    if (first < 0) in.lo = -first < g->rows ? -first : g->rows;
    if (last >= size[2]) in.hi = size[2] - first;
    return in;
  }
  while (in.lo < in.hi && first + in.lo * g->stride < 0) in.lo++;
  while (in.lo < in.hi && first + (in.hi - 1) * g->stride >= size[2]) in.hi--;
  return in;
}

/* Loads 16 cells, `apart` from each other: 1 or 2. */
JF_BODY void gather_load(const float *from, int64_t apart, jf_vec *v)
{
  *v = JF_LOAD(from);
  if (apart == 1) return;
  const jf_vec more = JF_LOAD(from + JF_LANES);
  *v = __builtin_shufflevector(*v, more, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
}

/* Makes lanes before lo and from hi on 0. */
JF_BODY void gather_keep(gather_range in, jf_vec *v)
{
  static const int32_t lanes[3][JF_LANES] = {
    { 0 }, { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 }, { 0 }
  };
  const float *ones = (const float *)lanes[1];
  *v = (jf_vec)((jf_ivec)*v & (jf_ivec)JF_LOAD(ones - in.lo) &
                (jf_ivec)JF_LOAD(ones + JF_LANES - in.hi));
}

/* One step: whole vectors where memory allows, of which the step after this overwrites a part. */
JF_BODY void gather_step(const jf_own_gather *g, const float *from, int64_t apart, gather_range in,
                         float *to)
{
  const int64_t n = in.hi - in.lo;
  if (n > 0 && apart <= 2 && from >= g->begin && g->end - from >= apart * JF_LANES) {
    jf_vec v;
    gather_load(from, apart, &v);
    if (n < g->rows) gather_keep(in, &v);
    JF_STORE(to, v);
    return;
  }
  if (n <= 0) memset(to, 0, (size_t)g->rows * sizeof *to);
  else for (int64_t r = 0; r < g->rows; r++)
    to[r] = r >= in.lo && r < in.hi ? from[r * apart] : 0;
}

JF_BODY void gather_cells_body(const jf_own_gather *g)
{
  const int64_t apart = g->stride * g->x->step[2], corner = gather_cell(g->x, g->corner[0]);
  int64_t tap = -1;
  gather_range in = { 0, 0 };
  float *to = g->to;
  for (int64_t k = 0; k < g->n; k++, to += g->rows) {
    const jf_own_step *s = &g->step[k];
    if (s->tap != tap) in = gather_meets(g, g->shift[tap = s->tap]);
    gather_step(g, g->from + s->offset + corner, apart, in, to);
  }
}
JF_DISPATCH(gather_cells, (const jf_own_gather *g), (g))

void jf_own_gather_rows(const jf_own_gather *g) { gather_rows(g); }
void jf_own_gather_cells(const jf_own_gather *g) { gather_cells(g); }
