/* Nests of axes, and walks over them. */
#include "base/walk.h"

#include <assert.h>

void jf_dense_steps(int n, const int64_t *d, int64_t size, int64_t *step)
{
  for (int i = n - 1; i >= 0; size *= d[i--]) step[i] = size;
}

void jf_broadcast_steps(const jfl_shape *s, const jfl_shape *to, int64_t size, int64_t *step)
{
  for (int i = to->n - 1; i >= 0; i--) {
    const int j = i - (to->n - s->n);
    step[i] = j < 0 || s->d[j] == 1 ? 0 : size;
    if (j >= 0) size *= s->d[j];
  }
}

/* Whether axis i runs on where axis `inner` ends. */
static int nest_runs_on(const jf_nest *w, int i, int inner)
{
  for (int j = 0; j < w->n_op; j++)
    if (w->step[j][i] != w->d[inner] * w->step[j][inner]) return 0;
  return 1;
}

static void move_axis(jf_nest *w, int from, int to)
{
  w->d[to] = w->d[from];
  for (int j = 0; j < w->n_op; j++) w->step[j][to] = w->step[j][from];
}

void jf_nest_join(jf_nest *w, int64_t border)
{
  int to = w->n;               /* axes from here on are done, but the first of them may grow */
  int64_t inner = 1;           /* their elements */
  for (int i = w->n - 1; i >= 0; i--) {
    const int64_t extent = w->d[i];
    if (extent == 1) continue;
    if (to < w->n && inner != border && nest_runs_on(w, i, to)) w->d[to] *= extent;
    else move_axis(w, i, --to);
    inner *= extent;
  }
  for (int i = to; i < w->n; i++) move_axis(w, i, i - to);
  w->n -= to;
  if (w->n) return;
  w->d[w->n++] = 1;
  for (int j = 0; j < w->n_op; j++) w->step[j][0] = 0;
}

int64_t jf_nest_offset(const jf_nest *w, int op, int n, int64_t index)
{
  int64_t at = 0;
  for (int i = n - 1; i >= 0 && index; index /= w->d[i--])
    at += index % w->d[i] * w->step[op][i];
  return at;
}

jf_walk jf_walk_at(const jf_nest *nest, int n, int64_t index)
{
  jf_walk w = { .nest = nest, .n = n };
  assert(nest->n_op <= JF_WALK_OPERANDS);
  for (int j = 0; j < nest->n_op; j++) w.off[j] = jf_nest_offset(nest, j, n, index);
  for (int i = n - 1; i >= 0 && index; index /= nest->d[i--]) w.at[i] = index % nest->d[i];
  return w;
}
