/* Runs elementwise loops on broadcast inputs, and holds what their gradient rules share. */
#include "op/elementwise.h"

#include "base/walk.h"

#include <string.h>

/* How many elements a thread takes at a time, and of copies of a short row. */
enum { PART = 1 << 14, COPIES = 256 };

/* A call: its inputs, broadcast to the output's shape. Steps are in bytes. */
typedef struct elementwise_job {
  const jf_kargs *k;
  jf_loop loop;
  jf_nest nest;
  int64_t step[JF_WALK_OPERANDS][JFL_MAXDIM];
  int64_t size;                /* number of elements of the output */
  int64_t row, most;           /* elements of the row that some inputs repeat, and of its copies */
  int repeats[JF_WALK_OPERANDS];
} elementwise_job;

/* Where rows are short and some inputs have the same one all along the axis outside, as the factors
   of channels in blocks are the same for each pixel: joins both axes, so that loops run over copies
   of the row. */
static void join_repeated(elementwise_job *l)
{
  jf_nest *nest = &l->nest;
  const int inner = nest->n - 1, outer = inner - 1;
  if (outer < 0 || 2 * nest->d[inner] > COPIES) return;
  int repeats[JF_WALK_OPERANDS] = { 0 };
  for (int j = 0; j < nest->n_op; j++) {
    const int64_t far = nest->step[j][outer], near = nest->step[j][inner];
    repeats[j] = far == 0 && near != 0;
    if (!repeats[j] && far != nest->d[inner] * near) return;
  }
  for (int j = 0; j < nest->n_op; j++)
    nest->step[j][outer] = repeats[j] ? 0 : nest->step[j][inner];
  memcpy(l->repeats, repeats, sizeof repeats);
  l->row = nest->d[inner];
  l->most = COPIES / l->row * l->row;
  nest->d[outer] *= l->row;
  nest->n--;
}

static void repeat_row(const elementwise_job *l, const char *row, int64_t size, char *to)
{
  for (int64_t i = 0; i < l->most; i += l->row)
    memcpy(to + i * size, row, (size_t)(l->row * size));
}

static void elementwise_run_part(void *ctx, int part)
{
  const elementwise_job *l = ctx;
  const int inner = l->nest.n - 1, n_in = l->k->n_in;
  const int64_t row = l->nest.d[inner], size = (int64_t)jfl_dtype_size(l->k->out[0].dtype);
  double copies[JF_WALK_OPERANDS][COPIES];       /* of the widest type */
  int64_t from = (int64_t)part * PART, to = from + PART < l->size ? from + PART : l->size;
  jf_loop_args t = { .attr = l->k->attr };
  jf_walk w = jf_walk_at(&l->nest, inner, from / row);
  for (int j = 0; j < n_in; j++) t.step[j] = l->step[j][inner] != 0 || l->repeats[j];
  for (int fresh = 1; from < to; from += t.n) {
    const int64_t skip = from % row;
    t.n = row - skip < to - from ? row - skip : to - from;
    if (l->row && t.n > l->most - skip % l->row) t.n = l->most - skip % l->row;
    for (int j = 0; j < n_in; j++) {
      const int64_t each = (int64_t)jfl_dtype_size(l->k->in[j].dtype);
      const char *at = (const char *)l->k->in[j].data + w.off[j];
      t.in[j] = at + skip * l->step[j][inner];
      if (!l->repeats[j]) continue;
      if (fresh) repeat_row(l, at, each, (char *)copies[j]);
      t.in[j] = (char *)copies[j] + skip % l->row * each;
    }
    t.out = (char *)l->k->out[0].data + from * size;
    l->loop(&t);
    fresh = skip + t.n == row;
    if (fresh) jf_walk_next(&w);
  }
}

jfl_status jf_elementwise(const jf_kargs *k, jf_loop loop)
{
  const jfl_shape *s = &k->out[0].shape;
  elementwise_job l = { .k = k, .loop = loop, .size = jf_numel(s) };
  l.nest = (jf_nest){ .n = s->n, .n_op = k->n_in, .step = l.step };
  for (int i = 0; i < s->n; i++) l.nest.d[i] = s->d[i];
  for (int j = 0; j < k->n_in; j++)
    jf_broadcast_steps(&k->in[j].shape, s, (int64_t)jfl_dtype_size(k->in[j].dtype), l.step[j]);
  jf_nest_join(&l.nest, 0);
  join_repeated(&l);
  jf_parallel(k->threads, (int)((l.size + PART - 1) / PART), elementwise_run_part, &l);
  return JFL_OK;
}

void jf_grad_flat(jf_gradctx *c) { (void)c; }

void jf_grad_times(jf_gradctx *c, jfl_value *slope)
{
  c->dx[0] = JF_EMIT(c->g, multiply, NULL, c->dy[0], slope);
}

void jf_grad_slope(jf_gradctx *c)
{
  const jf_node *n = c->node;
  jf_grad_times(c, jf_emit(c->g, n->op->derivative, n->attr, JF_IN(c->in[0])));
}

void jf_grad_output(jf_gradctx *c)
{
  const jf_node *n = c->node;
  c->dx[0] = jf_emit(c->g, n->op->derivative, n->attr, JF_IN(c->out[0], c->dy[0]));
}
