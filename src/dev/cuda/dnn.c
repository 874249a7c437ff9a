/* Opening cuDNN, and its graphs of operations: making, planning and running them. */
#include "dev/cuda/dnn.h"

#include "base/library.h"
#include "dev/cuda/choice.h"

#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 16, MOST_CONFIGS = 32, MOST_PLANS = 8 };
static const size_t MOST_WORKSPACE = (size_t)1 << 30;

/* ---- the library, and its handle of a device ---- */

static struct { int is; jf_dnn_api api; } dnn;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void dnn_open_once(void)
{
  void *so = jf_library_try("libcudnn.so.9");
#define FIND(result, field, symbol, parameters) && jf_library_find(so, #symbol, &dnn.api.field)
  dnn.is = so JF_DNN(FIND);
#undef FIND
  if (!dnn.is)
    jf_library_lacks("libcudnn.so.9", so ? "it has not all functions of cuDNN 9"
                                         : "it is not installed; NVIDIA's cuDNN 9 has it");
}

const jf_dnn_api *jf_dnn_open(void)
{
  pthread_once(&once, dnn_open_once);
  return dnn.is ? &dnn.api : NULL;
}

/* Makes the handle, or notes why there is none. */
static jfl_status dnn_start(jf_cuda *c, jf_dnn **out)
{
  char why[160];
  JF_TRY(jf_cuda_enter(c));
  jf_dnn *d = jf_new(sizeof *d);
  if (d) {
    *d = (jf_dnn){ .api = &dnn.api, .cuda = c };
    pthread_mutex_init(&d->mu, NULL);
    d->refused = d->api->handle_new(&d->handle);
    snprintf(why, sizeof why, "it does not start on %s: %s", c->name,
             d->api->error_text(d->refused));
    if (d->refused) jf_library_lacks("libcudnn.so.9", why);
  }
  jf_cuda_leave(c);
  *out = d;
  return d ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

jfl_status jf_dnn_of(jf_cuda *c, jf_dnn **out)
{
  if (c->dnn || jf_dnn_open()) {
    pthread_mutex_lock(&c->mu);
    const jfl_status s = c->dnn ? JFL_OK : dnn_start(c, &c->dnn);
    pthread_mutex_unlock(&c->mu);
    if (s) return s;
  } else {
    return jf_fail(JFL_ENOSYS, "there is no libcudnn.so.9");
  }
  *out = c->dnn;
  if (!c->dnn->refused) return JFL_OK;
  return jf_fail(JFL_ENOSYS, "cuDNN does not start: %s", c->dnn->api->error_text(c->dnn->refused));
}

void jf_dnn_close(jf_cuda *c)
{
  if (!c->dnn) return;
  if (!c->dnn->refused) c->dnn->api->handle_free(c->dnn->handle);
  pthread_mutex_destroy(&c->dnn->mu);
  jf_free(c->dnn);
}

/* ---- making ---- */

void jf_dnn_graph_free(jf_dnn_graph *g)
{
  if (g->pack) g->dnn->api->unmake(g->pack);
  while (g->n_made) g->dnn->api->unmake(g->made[--g->n_made]);
  jf_free(g->made);
}

jf_dnn_desc *jf_dnn_make(jf_dnn_graph *g, int sort)
{
  enum { NO_MEMORY = 4003 };
  jf_dnn_desc *d = NULL;
  if (g->error) return NULL;
  g->error = JF_ROOM(g->made, g->n_made, g->cap_made) ? g->dnn->api->make(sort, &d) : NO_MEMORY;
  if (!g->error) g->made[g->n_made++] = d;
  return g->error ? NULL : d;
}

static void dnn_unmake(jf_dnn_graph *g, jf_dnn_desc *d)
{
  int i = g->n_made - 1;
  while (i >= 0 && g->made[i] != d) i--;
  if (i < 0) return;
  g->dnn->api->unmake(d);
  g->made[i] = g->made[--g->n_made];
}

void jf_dnn_set(jf_dnn_graph *g, jf_dnn_desc *d, int name, int type, int64_t n, const void *values)
{
  if (!g->error) g->error = g->dnn->api->set(d, name, type, n, values);
}

void jf_dnn_set_mode(jf_dnn_graph *g, jf_dnn_desc *d, int name, int type, int value)
{
  jf_dnn_set(g, d, name, type, 1, &value);
}

void jf_dnn_set_desc(jf_dnn_graph *g, jf_dnn_desc *d, int name, jf_dnn_desc *value)
{
  jf_dnn_set(g, d, name, JF_DNN_T_DESC, 1, &value);
}

void jf_dnn_finish(jf_dnn_graph *g, jf_dnn_desc *d)
{
  if (!g->error) g->error = g->dnn->api->finish(d);
}

int jf_dnn_type(jfl_dtype t)
{
  switch (t) {
  case JFL_F32: return 0;
  case JFL_F64: return 1;
  case JFL_F16: return 2;
  case JFL_BF16: return 9;
  default: return -1;
  }
}

static jf_dnn_desc *dnn_tensor(jf_dnn_graph *g, const jf_dnn_tensor *t, int how)
{
  const int64_t alignment = ALIGNMENT;
  const unsigned char yes = 1;
  jf_dnn_desc *d = jf_dnn_make(g, JF_DNN_TENSOR);
  jf_dnn_set(g, d, JF_DNN_TENSOR_ID, JF_DNN_T_INT, 1, &t->id);
  jf_dnn_set_mode(g, d, JF_DNN_TENSOR_TYPE, JF_DNN_T_DTYPE, t->type);
  jf_dnn_set(g, d, JF_DNN_TENSOR_EXTENTS, JF_DNN_T_INT, t->n, t->extent);
  jf_dnn_set(g, d, JF_DNN_TENSOR_STEPS, JF_DNN_T_INT, t->n, t->step);
  jf_dnn_set(g, d, JF_DNN_TENSOR_ALIGNMENT, JF_DNN_T_INT, 1, &alignment);
  if (how) jf_dnn_set(g, d, how, JF_DNN_T_BOOL, 1, &yes);
  jf_dnn_finish(g, d);
  return d;
}

jf_dnn_desc *jf_dnn_tensor_make(jf_dnn_graph *g, const jf_dnn_tensor *t)
{
  return dnn_tensor(g, t, 0);
}

jf_dnn_desc *jf_dnn_between(jf_dnn_graph *g, const jf_dnn_tensor *t, int type)
{
  enum { FIRST = 100 };
  jf_dnn_tensor v = *t;
  v.id = FIRST + g->n_made;
  v.type = type;
  return dnn_tensor(g, &v, JF_DNN_TENSOR_VIRTUAL);
}

jf_dnn_desc *jf_dnn_number(jf_dnn_graph *g, int64_t id, const float *at)
{
  const jf_dnn_tensor t = { id, { 1, 1, 1, 1 }, { 1, 1, 1, 1 }, 4, JF_DNN_FLOAT };
  g->number[id - 1] = at;
  return dnn_tensor(g, &t, JF_DNN_TENSOR_BY_VALUE);
}

void jf_dnn_add(jf_dnn_graph *g, jf_dnn_desc *op)
{
  jf_dnn_finish(g, op);
  g->op[g->n_op++] = op;
}

void jf_dnn_pointwise(jf_dnn_graph *g, const jf_dnn_point *p)
{
  const int64_t axis = p->axis;
  jf_dnn_desc *d = jf_dnn_make(g, JF_DNN_POINTWISE);
  jf_dnn_set_mode(g, d, JF_DNN_POINTWISE_MODE, JF_DNN_T_POINTWISE, p->mode);
  jf_dnn_set_mode(g, d, JF_DNN_POINTWISE_TYPE, JF_DNN_T_DTYPE, p->type);
  if (p->mode == JF_DNN_INDEX) jf_dnn_set(g, d, JF_DNN_POINTWISE_AXIS, JF_DNN_T_INT, 1, &axis);
  jf_dnn_finish(g, d);
  jf_dnn_desc *op = jf_dnn_make(g, JF_DNN_OP_POINTWISE);
  jf_dnn_set_desc(g, op, JF_DNN_OP_POINTWISE_DESC, d);
  jf_dnn_set_desc(g, op, JF_DNN_OP_POINTWISE_X, p->x);
  if (p->b) jf_dnn_set_desc(g, op, JF_DNN_OP_POINTWISE_B, p->b);
  if (p->t) jf_dnn_set_desc(g, op, JF_DNN_OP_POINTWISE_T, p->t);
  jf_dnn_set_desc(g, op, JF_DNN_OP_POINTWISE_Y, p->y);
  jf_dnn_add(g, op);
}

void jf_dnn_matmul(jf_dnn_graph *g, jf_dnn_desc *a, jf_dnn_desc *b, jf_dnn_desc *c)
{
  jf_dnn_desc *d = jf_dnn_make(g, JF_DNN_MATMUL);
  jf_dnn_set_mode(g, d, JF_DNN_MATMUL_TYPE, JF_DNN_T_DTYPE, JF_DNN_FLOAT);
  jf_dnn_finish(g, d);
  jf_dnn_desc *op = jf_dnn_make(g, JF_DNN_OP_MATMUL);
  jf_dnn_set_desc(g, op, JF_DNN_OP_MATMUL_A, a);
  jf_dnn_set_desc(g, op, JF_DNN_OP_MATMUL_B, b);
  jf_dnn_set_desc(g, op, JF_DNN_OP_MATMUL_C, c);
  jf_dnn_set_desc(g, op, JF_DNN_OP_MATMUL_DESC, d);
  jf_dnn_add(g, op);
}

void jf_dnn_reduce(jf_dnn_graph *g, int mode, jf_dnn_desc *x, jf_dnn_desc *y)
{
  const unsigned char same = 1;
  jf_dnn_desc *d = jf_dnn_make(g, JF_DNN_REDUCTION);
  jf_dnn_set_mode(g, d, JF_DNN_REDUCTION_MODE, JF_DNN_T_REDUCTION, mode);
  jf_dnn_set_mode(g, d, JF_DNN_REDUCTION_TYPE, JF_DNN_T_DTYPE, JF_DNN_FLOAT);
  jf_dnn_set(g, d, JF_DNN_REDUCTION_SAME, JF_DNN_T_BOOL, 1, &same);
  jf_dnn_finish(g, d);
  jf_dnn_desc *op = jf_dnn_make(g, JF_DNN_OP_REDUCTION);
  jf_dnn_set_desc(g, op, JF_DNN_OP_REDUCTION_X, x);
  jf_dnn_set_desc(g, op, JF_DNN_OP_REDUCTION_Y, y);
  jf_dnn_set_desc(g, op, JF_DNN_OP_REDUCTION_DESC, d);
  jf_dnn_add(g, op);
}

void jf_dnn_reshape(jf_dnn_graph *g, jf_dnn_desc *x, jf_dnn_desc *y)
{
  jf_dnn_desc *op = jf_dnn_make(g, JF_DNN_OP_RESHAPE);
  jf_dnn_set_desc(g, op, JF_DNN_OP_RESHAPE_X, x);
  jf_dnn_set_desc(g, op, JF_DNN_OP_RESHAPE_Y, y);
  jf_dnn_add(g, op);
}

/* ---- planning ---- */

static void dnn_finish_graph(jf_dnn_graph *g)
{
  if (g->graph) return;
  g->graph = jf_dnn_make(g, JF_DNN_GRAPH);
  jf_dnn_set(g, g->graph, JF_DNN_GRAPH_OPS, JF_DNN_T_DESC, g->n_op, g->op);
  if (g->dnn->handle)
    jf_dnn_set(g, g->graph, JF_DNN_GRAPH_HANDLE, JF_DNN_T_HANDLE, 1, &g->dnn->handle);
  jf_dnn_finish(g, g->graph);
}

/* Asks for engines, the likely fastest first; gives how many there are. */
static int dnn_configs(jf_dnn_graph *g, int mode, jf_dnn_desc **config)
{
  int64_t n = 0;
  jf_dnn_desc *h = jf_dnn_make(g, JF_DNN_HEURISTICS);
  jf_dnn_set_desc(g, h, JF_DNN_HEURISTICS_GRAPH, g->graph);
  jf_dnn_set_mode(g, h, JF_DNN_HEURISTICS_MODE, JF_DNN_T_HEURISTICS, mode);
  if (g->dnn->device) jf_dnn_set_desc(g, h, JF_DNN_HEURISTICS_DEVICE, g->dnn->device);
  jf_dnn_finish(g, h);
  for (int i = 0; i < MOST_CONFIGS; i++) config[i] = jf_dnn_make(g, JF_DNN_CONFIG);
  if (!g->error)
    g->error = g->dnn->api->get(h, JF_DNN_HEURISTICS_RESULTS, JF_DNN_T_DESC, MOST_CONFIGS, &n,
                                config);
  return g->error ? 0 : (int)n;
}

/* The notes of a configuration's engine; all of them where cuDNN does not say. */
static unsigned dnn_notes(jf_dnn_graph *g, const jf_dnn_desc *config)
{
  enum { MOST = 16 };
  const jf_dnn_api *api = g->dnn->api;
  unsigned set = 0;
  int64_t n = 0;
  int note[MOST];
  jf_dnn_desc *engine = jf_dnn_make(g, JF_DNN_ENGINE);
  if (!engine) return ~0u;
  jf_dnn_status e = api->get(config, JF_DNN_CONFIG_ENGINE, JF_DNN_T_DESC, 1, &n, &engine);
  if (!e) e = api->get(engine, JF_DNN_ENGINE_NOTES, JF_DNN_T_NOTE, MOST, &n, note);
  for (int64_t i = 0; i < n && !e; i++) set |= 1u << note[i];
  dnn_unmake(g, engine);
  return e ? ~0u : set;
}

/* Makes the plan of a configuration; NULL: that cannot be, or it needs too much memory. */
static jf_dnn_desc *dnn_plan(jf_dnn_graph *g, jf_dnn_desc *config, size_t *workspace,
                             jf_dnn_status *error)
{
  int64_t n = 0, bytes = 0;
  jf_dnn_desc *p = jf_dnn_make(g, JF_DNN_PLAN);
  jf_dnn_set_desc(g, p, JF_DNN_PLAN_CONFIG, config);
  if (g->dnn->handle) jf_dnn_set(g, p, JF_DNN_PLAN_HANDLE, JF_DNN_T_HANDLE, 1, &g->dnn->handle);
  else jf_dnn_set_desc(g, p, JF_DNN_PLAN_DEVICE, g->dnn->device);
  jf_dnn_finish(g, p);
  if (!g->error)
    g->error = g->dnn->api->get(p, JF_DNN_PLAN_WORKSPACE, JF_DNN_T_INT, 1, &n, &bytes);
  *workspace = (size_t)bytes;
  *error = g->error;
  g->error = 0;                          /* other configurations may do */
  if (!*error && *workspace <= MOST_WORKSPACE) return p;
  dnn_unmake(g, p);
  return NULL;
}

/* Plans of which one is chosen. */
typedef struct dnn_plans {
  jf_dnn_graph *graph;
  int n, n_at;
  jf_dnn_desc *plan[MOST_PLANS];
  size_t workspace[MOST_PLANS];
  jf_dnn_status error;                   /* why the last that cannot be made cannot */
  void **at, *scratch;                   /* where tensors are while plans are measured */
} dnn_plans;

static void dnn_find_plans(jf_dnn_graph *g, unsigned refused, dnn_plans *p)
{
  static const int mode[] = { JF_DNN_LIKELY, JF_DNN_FALLBACK };
  jf_dnn_desc *config[MOST_CONFIGS];
  for (int m = 0; m < 2 && !p->n; m++) {
    const int n = dnn_configs(g, mode[m], config);
    g->error = 0;
    for (int i = 0; i < n && p->n < MOST_PLANS; i++) {
      if (dnn_notes(g, config[i]) & refused) continue;
      jf_dnn_desc *plan = dnn_plan(g, config[i], &p->workspace[p->n], &p->error);
      if (plan) p->plan[p->n++] = plan;
    }
  }
}

/* ---- running ---- */

/* Makes the variant pack: which tensors are where. */
static jf_dnn_status dnn_pack(jf_dnn_graph *g, int n, void *const *at, void *scratch)
{
  static const int64_t ids[JF_DNN_TENSORS] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
  const jf_dnn_api *api = g->dnn->api;
  if (g->pack && scratch == g->scratch && !memcmp(at, g->at, (size_t)n * sizeof *at)) return 0;
  if (g->pack) api->unmake(g->pack);
  g->pack = NULL;
  jf_dnn_status e = api->make(JF_DNN_PACK, &g->pack);
  if (!e) e = api->set(g->pack, JF_DNN_PACK_IDS, JF_DNN_T_INT, n, ids);
  if (!e) e = api->set(g->pack, JF_DNN_PACK_POINTERS, JF_DNN_T_POINTER, n, at);
  if (!e) e = api->set(g->pack, JF_DNN_PACK_WORKSPACE, JF_DNN_T_POINTER, 1, &scratch);
  if (!e) e = api->finish(g->pack);
  if (e && g->pack) {
    api->unmake(g->pack);
    g->pack = NULL;
  }
  memcpy(g->at, at, (size_t)n * sizeof *at);
  g->scratch = scratch;
  return e;
}

static jf_dnn_status dnn_execute(jf_dnn_graph *g, const jf_dnn_desc *plan, jf_cu_stream *s, int n,
                                 void *const *at, void *scratch)
{
  jf_dnn *d = g->dnn;
  jf_dnn_status e = dnn_pack(g, n, at, scratch);
  if (e) return e;
  pthread_mutex_lock(&d->mu);
  e = d->api->handle_stream(d->handle, s);
  if (!e) e = d->api->execute(d->handle, plan, g->pack);
  pthread_mutex_unlock(&d->mu);
  return e;
}

jfl_status jf_dnn_run(jf_dnn_graph *g, jf_cu_stream *s, int n, void *const *at, void *scratch)
{
  jf_cuda *c = g->dnn->cuda;
  JF_TRY(jf_cuda_enter(c));
  const jf_dnn_status e = dnn_execute(g, g->plan, s, n, at, scratch);
  jf_cuda_leave(c);
  if (!e) return JFL_OK;
  return jf_fail(JFL_EDEVICE, "%s: cuDNN failed: %s (cuDNN error %d)", c->name,
                 g->dnn->api->error_text(e), e);
}

/* ---- choosing ---- */

static int dnn_way(void *ctx, int i, jf_cu_stream *s)
{
  dnn_plans *p = ctx;
  return !dnn_execute(p->graph, p->plan[i], s, p->n_at, p->at, p->scratch);
}

static size_t dnn_room(size_t size) { return (size + 255) / 256 * 256; }

/* Measures the plans on memory that is taken for that; without it the first one is chosen. */
static int dnn_measure(dnn_plans *p, const char *work, const size_t *size)
{
  jf_cuda *c = p->graph->dnn->cuda;
  void *at[JF_DNN_TENSORS];
  const float *const *number = p->graph->number;
  size_t all = 0, most = 0;
  jf_cu_address memory;
  for (int i = 0; i < p->n_at; i++) all += dnn_room(size[i]);
  for (int i = 0; i < p->n; i++) most = most > p->workspace[i] ? most : p->workspace[i];
  if (jf_cuda_take(c, all + dnn_room(most) + 1, &memory)) return 0;
  char *next = (char *)(uintptr_t)memory;
  for (int i = 0; i < p->n_at; next += dnn_room(size[i++]))
    at[i] = number[i] ? (void *)number[i] : next;
  p->at = at;
  p->scratch = next;
  const int choice = c->api->fill(memory, JF_CUDA_TRIAL, all, c->own) ? 0
      : jf_cuda_choose(c, work, p->n, dnn_way, p);
  c->api->stream_wait(c->own);
  jf_cuda_drop(c, memory);
  jf_cuda_trim(c);
  return choice;
}

jfl_status jf_dnn_choose(jf_dnn_graph *g, const char *work, unsigned refused, int n,
                         const size_t *size)
{
  dnn_plans p = { .graph = g, .n_at = n };
  int choice = 0;
  dnn_finish_graph(g);
  if (g->error) return jf_fail(JFL_ENOSYS, "cuDNN refuses the graph: %s",
                               g->dnn->api->error_text(g->error));
  if (g->dnn->handle) JF_TRY(jf_cuda_enter(g->dnn->cuda));
  dnn_find_plans(g, refused, &p);
  if (p.n > 1 && g->dnn->handle) choice = dnn_measure(&p, work, size);
  if (g->dnn->handle) jf_cuda_leave(g->dnn->cuda);
  if (!p.n)
    return jf_fail(JFL_ENOSYS, "cuDNN has no engine for the graph: %s",
                   p.error ? g->dnn->api->error_text(p.error) : "none is listed");
  for (int i = 0; i < p.n; i++)
    if (i != choice) dnn_unmake(g, p.plan[i]);
  g->plan = p.plan[choice];
  g->workspace = p.workspace[choice];
  return JFL_OK;
}
