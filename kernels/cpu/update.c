/* Optimizer updates in one pass over parameter, gradient and slots, in parallel. */
#include "op/sgd.h"

#include "vector.h"

typedef struct update {
  float *w, *m;                /* parameter; momentum, or NULL */
  const float *g;
  float lr, beta, decay;
  int64_t n;
} update;

/* w -= lr (g + decay w) */
JF_BODY void sgd_body(void *ctx, int i)
{
  const update *u = ctx;
  const float lr = u->lr, decay = u->decay, *g = u->g;
  float *w = u->w;
  const int64_t to = jf_to(i, JF_PART, u->n);
  JF_ALONE for (int64_t j = jf_from(i, JF_PART); j < to; j++) w[j] -= lr * (g[j] + decay * w[j]);
}
JF_VARIANTS(sgd)

/* m = beta m - lr g; w += m - lr decay w */
JF_BODY void momentum_body(void *ctx, int i)
{
  const update *u = ctx;
  const float lr = u->lr, beta = u->beta, decay = u->decay, *g = u->g;
  float *w = u->w, *m = u->m;
  const int64_t to = jf_to(i, JF_PART, u->n);
  JF_ALONE for (int64_t j = jf_from(i, JF_PART); j < to; j++) {
    const float v = beta * m[j] - lr * g[j];
    m[j] = v;
    w[j] += v - lr * decay * w[j];
  }
}
JF_VARIANTS(momentum)

static int accepts(const jf_kargs *k) { return k->in[0].dtype == JFL_F32; }

static jfl_status run(const jf_kargs *k, update *u, jf_part part)
{
  u->w = k->in[0].data;
  u->g = k->in[1].data;
  u->lr = (float)*(const double *)k->in[2].data;
  u->n = jf_numel(&k->in[0].shape);
  jf_run_parts(k, u->n, jf_parts(u->n, JF_PART), part, u);
  return JFL_OK;
}

static jfl_status sgd_run(const jf_kargs *k)
{
  const jf_sgd_update *a = k->attr;
  return run(k, &(update){ .decay = (float)a->weight_decay }, sgd());
}

static jfl_status momentum_run(const jf_kargs *k)
{
  const jf_momentum_update *a = k->attr;
  update u = {
    .m = k->in[3].data, .beta = (float)a->beta, .decay = (float)a->weight_decay
  };
  return run(k, &u, momentum());
}

JFL_CPU(vec_sgd_update, .op = "sgd_update", .accepts = accepts, .run = sgd_run, .priority = 10)
JFL_CPU(vec_momentum_update, .op = "momentum_update", .accepts = accepts, .run = momentum_run,
  .priority = 10)
