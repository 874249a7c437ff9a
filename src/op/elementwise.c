/* Broadcasting for elementwise loops, and what their gradient rules share. */
#include "op/elementwise.h"

#include "op/constant.h"

/* The loop nest over the output: extents, and how far each input moves, in bytes, per index. */
typedef struct nest {
  int n;
  int64_t d[JFL_MAXDIM], step[3][JFL_MAXDIM];
} nest;

/* Byte steps of t as seen from an output of shape s; 0 along axes that t is broadcast over. */
static void steps(const jf_tensor *t, const jfl_shape *s, int64_t *step)
{
  int64_t size = (int64_t)jfl_dtype_size(t->dtype);
  for (int i = s->n - 1; i >= 0; i--) {
    int j = i - (s->n - t->shape.n);
    step[i] = j < 0 || t->shape.d[j] == 1 ? 0 : size;
    if (j >= 0) size *= t->shape.d[j];
  }
}

/* Whether axis i of the nest runs on where axis i + 1 ends, for every input. */
static int joins(const nest *w, int n_in, int i, int64_t inner, int64_t step[3])
{
  for (int j = 0; j < n_in; j++)
    if (w->step[j][i] != inner * step[j]) return 0;
  return 1;
}

/* Merges neighbouring axes, innermost first, so that rows are as long as they can be. */
static void collapse(nest *w, int n_in)
{
  int to = w->n - 1;
  for (int i = w->n - 2; i >= 0; i--) {
    int64_t step[3];
    for (int j = 0; j < n_in; j++) step[j] = w->step[j][to];
    if (w->d[to] == 1 || w->d[i] == 1 || joins(w, n_in, i, w->d[to], step)) {
      if (w->d[to] == 1)
        for (int j = 0; j < n_in; j++) w->step[j][to] = w->step[j][i];
      w->d[to] *= w->d[i];
    } else {
      to--;
      w->d[to] = w->d[i];
      for (int j = 0; j < n_in; j++) w->step[j][to] = w->step[j][i];
    }
  }
  w->n -= to;
  for (int i = 0; i < w->n; i++) {
    w->d[i] = w->d[i + to];
    for (int j = 0; j < n_in; j++) w->step[j][i] = w->step[j][i + to];
  }
}

/* Steps to the next row; 0 after the last. */
static int next(const nest *w, int n_in, int64_t *at, const char **in)
{
  for (int i = w->n - 2; i >= 0; i--) {
    for (int j = 0; j < n_in; j++) in[j] += w->step[j][i];
    if (++at[i] < w->d[i]) return 1;
    for (int j = 0; j < n_in; j++) in[j] -= w->step[j][i] * w->d[i];
    at[i] = 0;
  }
  return 0;
}

jfl_status jf_elementwise(const jf_kargs *k, jf_tile tile)
{
  const jfl_shape *s = &k->out[0].shape;
  nest w = { .n = s->n };
  const char *in[3];
  int64_t at[JFL_MAXDIM] = { 0 };
  for (int i = 0; i < s->n; i++) w.d[i] = s->d[i];
  for (int j = 0; j < k->n_in; j++) {
    steps(&k->in[j], s, w.step[j]);
    in[j] = k->in[j].data;
  }
  collapse(&w, k->n_in);
  jf_tile_args t = { .n = w.d[w.n - 1], .attr = k->attr };
  for (int j = 0; j < k->n_in; j++) t.step[j] = w.step[j][w.n - 1] != 0;
  int64_t row = t.n * (int64_t)jfl_dtype_size(k->out[0].dtype);
  char *out = k->out[0].data;
  do {
    for (int j = 0; j < k->n_in; j++) t.in[j] = in[j];
    t.out = out;
    tile(&t);
    out += row;
  } while (next(&w, k->n_in, at, in));
  return JFL_OK;
}

jfl_value *jf_scalar(jfl_graph *g, jfl_dtype t, double value)
{
  jf_constant a = { .value = value, .dtype = t, .shape = { 1, { 1 } } };
  return jf_emit(g, &jf_op_constant, &a, NULL, 0);
}

void jf_grad_flat(jf_gradctx *c) { (void)c; }
