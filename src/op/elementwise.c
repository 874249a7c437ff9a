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
static int elementwise_joins(const nest *w, int n_in, int i, int64_t inner, int64_t step[3])
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
    if (w->d[to] == 1 || w->d[i] == 1 || elementwise_joins(w, n_in, i, w->d[to], step)) {
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

/* Elements that a thread takes at a time. */
enum { PART = 1 << 14 };

typedef struct elementwise_walk {
  const jf_kargs *k;
  jf_tile tile;
  nest w;
  int64_t size;
} elementwise_walk;

/* Where each input's element for the start of an output's row is. */
static void go_to_row(const elementwise_walk *l, int64_t row, int64_t *at, const char **in)
{
  for (int j = 0; j < l->k->n_in; j++) in[j] = l->k->in[j].data;
  for (int i = l->w.n - 2; i >= 0; i--) {
    at[i] = row % l->w.d[i];
    row /= l->w.d[i];
    for (int j = 0; j < l->k->n_in; j++) in[j] += at[i] * l->w.step[j][i];
  }
}

static void elementwise_next_row(const elementwise_walk *l, int64_t *at, const char **in)
{
  for (int i = l->w.n - 2; i >= 0; i--) {
    for (int j = 0; j < l->k->n_in; j++) in[j] += l->w.step[j][i];
    if (++at[i] < l->w.d[i]) return;
    for (int j = 0; j < l->k->n_in; j++) in[j] -= l->w.step[j][i] * l->w.d[i];
    at[i] = 0;
  }
}

static void elementwise_run_part(void *ctx, int part)
{
  const elementwise_walk *l = ctx;
  const int inner = l->w.n - 1, n_in = l->k->n_in;
  const int64_t row = l->w.d[inner];
  const char *in[3];
  int64_t at[JFL_MAXDIM], from = (int64_t)part * PART,
                          to = from + PART < l->size ? from + PART : l->size;
  jf_tile_args t = { .attr = l->k->attr };
  for (int j = 0; j < n_in; j++) t.step[j] = l->w.step[j][inner] != 0;
  for (go_to_row(l, from / row, at, in); from < to; from += t.n, elementwise_next_row(l, at, in)) {
    const int64_t skip = from % row;
    t.n = row - skip < to - from ? row - skip : to - from;
    for (int j = 0; j < n_in; j++) t.in[j] = in[j] + skip * l->w.step[j][inner];
    t.out = (char *)l->k->out[0].data + (size_t)from * jfl_dtype_size(l->k->out[0].dtype);
    l->tile(&t);
  }
}

jfl_status jf_elementwise(const jf_kargs *k, jf_tile tile)
{
  const jfl_shape *s = &k->out[0].shape;
  elementwise_walk l = { .k = k, .tile = tile, .size = jf_numel(s) };
  l.w = (nest){ .n = s->n ? s->n : 1, .d = { 1 } };            /* a scalar has one row of one */
  for (int i = 0; i < s->n; i++) l.w.d[i] = s->d[i];
  for (int j = 0; j < k->n_in; j++) steps(&k->in[j], s, l.w.step[j]);
  collapse(&l.w, k->n_in);
  jf_parallel(k->threads, (int)((l.size + PART - 1) / PART), elementwise_run_part, &l);
  return JFL_OK;
}

jfl_value *jf_scalar(jfl_graph *g, jfl_dtype t, double value)
{
  return jf_emit_number(g, t, &(jfl_shape){ 1, { 1 } }, value);
}

void jf_grad_flat(jf_gradctx *c) { (void)c; }
