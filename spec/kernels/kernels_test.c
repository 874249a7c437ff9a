/* kernels/cpu: every fast row agrees with its op's plain kernel, on shapes that are no multiples of
   vector and part sizes, with any number of threads, at any memory address, and while another
   thread runs it with the same state. */
#include "dev/cpu/cpu.h"
#include "dev/dev.h"
#include "op/attrs.h"
#include "op/cast.h"
#include "op/clip_scale.h"
#include "op/conv.h"
#include "op/cross_entropy.h"
#include "op/dropout.h"
#include "op/matmul.h"
#include "op/op.h"
#include "op/pool2d.h"
#include "op/reduce.h"
#include "op/transpose.h"
#include "optim/matmul_update.h"
#include "optim/optim.h"
#include "test.h"

#include <assert.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 16 };

/* A call of op: inputs, completed attributes, and the results of the plain kernel. */
typedef struct call {
  const jfl_op *op;
  union { char bytes[1024]; double align; } attr;
  jf_tensor in[MAX], before[MAX], out[MAX];
  int n_in, n_out;
  jf_arena arena;              /* holds what infer adds to the attributes */
  double tolerance;            /* relative to the largest magnitude */
} call;

static size_t bytes_of(const jf_tensor *t)
{
  return (size_t)jf_numel(&t->shape) * jfl_dtype_size(t->dtype);
}

/* Makes a tensor of random numbers from a seed: in -1..1, or 0..9 for integers. */
static jf_tensor fill(jfl_dtype t, const jfl_shape *s, uint64_t seed)
{
  jf_tensor r = { .dtype = t, .shape = *s };
  r.data = jf_new(bytes_of(&r));
  for (int64_t i = 0; i < jf_numel(s); i++) {
    uint32_t w = jf_philox_at(seed, 0, (uint64_t)i).w[0];
    double v = (double)w * 0x1p-31 - 1;
    if (t == JFL_F32) ((float *)r.data)[i] = (float)v;
    else if (t == JFL_F64) ((double *)r.data)[i] = v;
    else if (t == JFL_I32) ((int32_t *)r.data)[i] = (int32_t)(w % 10);
    else if (t == JFL_I64) ((int64_t *)r.data)[i] = (int64_t)(w % 10);
    else ((uint8_t *)r.data)[i] = t == JFL_U8 ? (uint8_t)w : (uint8_t)(w & 1);
  }
  return r;
}

static jf_tensor copy(const jf_tensor *t)
{
  jf_tensor r = *t;
  r.data = jf_new_raw(bytes_of(t));
  memcpy(r.data, t->data, bytes_of(t));
  return r;
}

static inline double at(const jf_tensor *t, int64_t i)
{
  if (t->dtype == JFL_F32) return (double)((const float *)t->data)[i];
  switch (t->dtype) {
  case JFL_F64: return ((const double *)t->data)[i];
  case JFL_I32: return ((const int32_t *)t->data)[i];
  case JFL_I64: return (double)((const int64_t *)t->data)[i];
  case JFL_U8: return ((const uint8_t *)t->data)[i];
  default: return ((const int8_t *)t->data)[i];
  }
}

/* Compares within the tolerance; numbers that are not finite must be the same. */
static int close_to(const jf_tensor *a, const jf_tensor *b, double tolerance)
{
  const int64_t n = jf_numel(&a->shape);
  double scale = 1e-30;
  if (!memcmp(a->data, b->data, bytes_of(a))) return 1;       /* most are, and this is quick */
  for (int64_t i = 0; i < n; i++) {
    const double x = fabs(at(a, i));
    if (x > scale && x < INFINITY) scale = x;
  }
  for (int64_t i = 0; i < n; i++) {
    const double x = at(a, i), y = at(b, i);
    if (!(fabs(x - y) <= tolerance * scale || x == y || (isnan(x) && isnan(y)))) return 0;
  }
  return 1;
}

/* Completes the attributes with the op's shape rule and makes the outputs. */
static int complete(call *c)
{
  jfl_value value[MAX], *in[MAX];
  for (int i = 0; i < c->n_in; i++) {
    value[i] = (jfl_value){ .dtype = c->in[i].dtype, .shape = c->in[i].shape };
    in[i] = &value[i];
  }
  jf_infer f = {
    .op = c->op, .arena = &c->arena, .in = in, .n_in = c->n_in, .attr = c->attr.bytes,
    .n_out = jf_op_n_out(c->op)
  };
  CHECK_MSG(jf_op_infer(&f) == JFL_OK, "%s", jfl_errmsg());
  c->n_out = f.n_out;
  for (int i = 0; i < f.n_out; i++)
    c->out[i] = (jf_tensor){ .dtype = f.dtype[i], .shape = f.shape[i] };
  return f.n_out > 0 || c->op->flags & JF_EFFECT;
}

/* Behind the tensors of a call a row finds none: neither a dtype nor memory. */
static void end_list(jf_tensor *t, int n)
{
  memset(t + n, 0xff, (size_t)(MAX - n) * sizeof *t);
}

/* Copies the arguments to memory of their own; with `share`, output 0 is in place of an input. */
static jf_kargs arguments(const call *c, jf_tensor *in, jf_tensor *out, int threads)
{
  for (int i = 0; i < c->n_in; i++) in[i] = copy(&c->before[i]);
  for (int i = 0; i < c->n_out; i++) {
    out[i] = c->out[i];
    out[i].data = jf_new(bytes_of(&out[i]));
  }
  end_list(in, c->n_in);
  end_list(out, c->n_out);
  return (jf_kargs){ .in = in, .out = out, .n_in = c->n_in, .n_out = c->n_out,
                     .attr = c->attr.bytes, .random = { 7, 3 }, .threads = threads, .op = c->op };
}

static void release(const call *c, jf_tensor *in, jf_tensor *out)
{
  for (int i = 0; i < c->n_in; i++) jf_free(in[i].data);
  for (int i = 0; i < c->n_out; i++) jf_free(out[i].data);
}

/* Runs the plain kernel: c->in and c->out become the tensors after its run. */
static void reference(call *c)
{
  for (int i = 0; i < c->n_in; i++) c->before[i] = c->in[i];
  jf_kargs k = arguments(c, c->in, c->out, 1);
  CHECK(c->op->cpu[jf_call_key(c->op, &k)](&k) == JFL_OK);
}

/* Whether this run of a row left the same tensors as the plain kernel. */
static int agrees(const call *c, const jf_tensor *in, const jf_tensor *out)
{
  const jf_node node = { .op = c->op, .attr = (void *)c->attr.bytes, .n_in = c->n_in };
  for (int i = 0; i < c->n_in; i++)
    if (jf_mutates(&node, i) && !close_to(&c->in[i], &in[i], c->tolerance)) return 0;
  for (int i = 0; i < c->n_out; i++)
    if (!close_to(&c->out[i], &out[i], c->tolerance)) return 0;
  return 1;
}

/* The input that a prepared row wants packed, or NULL; others are plain. */
static jf_tensor *wants_packed(const jf_kargs *k)
{
  jf_tensor *packed = NULL;
  for (int i = 0; i < k->n_in; i++) {
    if (k->in[i].layout.kind == JF_LAYOUT_PACKED) packed = &k->in[i];
    else k->in[i].layout.kind = JF_LAYOUT_PLAIN;
  }
  return packed;
}

/* Makes the input that a row wants packed so; gives the plain one. */
static jf_tensor pack(const jf_kernel_row *row, const jf_kargs *prepared, jf_tensor *in, int i)
{
  jf_tensor plain = in[i], packed = prepared->in[i];
  jf_kargs k = *prepared;
  packed.data = jf_new_raw(packed.layout.size);
  k.in = &plain;
  k.out = &packed;
  k.n_in = k.n_out = 1;
  CHECK_MSG(row->pack(&k) == JFL_OK, "%s: %s", row->name, jfl_errmsg());
  in[i] = packed;
  return plain;
}

static void unpack(jf_tensor *in, jf_tensor plain)
{
  jf_free(in->data);
  *in = plain;
}

/* One of two threads that run a row with the same state, and number and plain contents of the input
   that it has packed. */
typedef struct runner {
  pthread_t thread;
  const jf_kernel_row *row;
  jf_kargs k;
  jf_tensor in[MAX], out[MAX], plain;
  jfl_status s;
} runner;

/* Runs of two threads meet where one is long; short ones are repeated. */
static void *run_one(void *ctx)
{
  runner *r = ctx;
  const int times = r->k.n_out && jf_numel(&r->k.out[0].shape) > 10000 ? 1 : 3;
  for (int i = 0; i < times && !r->s; i++) r->s = r->row->run(&r->k);
  return NULL;
}

/* As executions of one plan do: each has memory of its own. Calls that change an input run once. */
static void run_two(const call *c, const jf_kernel_row *row, const jf_kargs *prepared, int packed)
{
  runner r[2];
  if (c->op->flags & JF_EFFECT) return;
  for (int i = 0; i < 2; i++) {
    r[i] = (runner){ .row = row };
    r[i].k = arguments(c, r[i].in, r[i].out, prepared->threads);
    r[i].k.state = prepared->state;
    r[i].k.scratch = jf_new_raw(prepared->scratch_size);
    if (packed >= 0) r[i].plain = pack(row, prepared, r[i].in, packed);
  }
  for (int i = 0; i < 2; i++)
    if (pthread_create(&r[i].thread, NULL, run_one, &r[i])) abort();
  for (int i = 0; i < 2; i++) {
    pthread_join(r[i].thread, NULL);
    if (packed >= 0) unpack(&r[i].in[packed], r[i].plain);
    CHECK_MSG(!r[i].s && agrees(c, r[i].in, r[i].out), "%s at once with itself", row->name);
    jf_free(r[i].k.scratch);
    release(c, r[i].in, r[i].out);
  }
}

/* Runs the row twice on different memory, then once in place if the op allows it, then on two
   threads at once. With `packs`, inputs may be packed. Returns 0 if the row leaves the call to the
   next one. */
static int run_row(const call *c, const jf_kernel_row *row, int threads, int packs)
{
  char shape[JF_SHAPE_STR];
  jf_tensor in[MAX], out[MAX], wanted[MAX], plain;
  jf_kargs k = arguments(c, in, out, threads);
  for (int i = 0; i < c->n_in && packs; i++) in[i].layout.kind = JF_LAYOUT_ANY;
  jfl_status s = row->prepare ? row->prepare(&k) : JFL_OK;
  if (s == JFL_ENOSYS) {
    release(c, in, out);
    return 0;
  }
  CHECK_MSG(s == JFL_OK, "%s", jfl_errmsg());
  const jf_tensor *wants = wants_packed(&k);
  const int packed = wants ? (int)(wants - in) : -1;
  if (packs && packed < 0) {               /* which is tried with plain inputs */
    if (row->release) row->release(k.state);
    release(c, in, out);
    return 1;
  }
  jf_kargs prepared = k;
  prepared.in = memcpy(wanted, in, sizeof in);
  for (int turn = 0; turn < 3; turn++) {
    void *state = k.state, *own = NULL;
    if (turn == 2 && !(c->op->inplace & 1)) break;
    if (turn) k = arguments(c, in, out, threads);
    if (turn == 2) {
      own = out[0].data;
      out[0].data = in[0].data;
    }
    k.state = state;
    k.scratch = jf_new_raw(prepared.scratch_size);
    memset(k.scratch, 0xff, prepared.scratch_size);
    if (packed >= 0) plain = pack(row, &prepared, in, packed);
    CHECK_MSG(row->run(&k) == JFL_OK, "%s: %s", row->name, jfl_errmsg());
    if (packed >= 0) unpack(&in[packed], plain);
    CHECK_MSG(agrees(c, in, out), "%s, %d threads, turn %d, in[0] %s", row->name, threads, turn,
              jf_shape_str(&in[0].shape, shape));
    jf_free(k.scratch);
    if (own) out[0].data = own;
    release(c, in, out);
  }
  run_two(c, row, &prepared, packed);
  if (row->release) row->release(k.state);
  return 1;
}

/* Runs every row of the op that takes the call, and gives how many there are. */
static int run_rows(const call *c, int packs)
{
  int n = 0;
  jf_tensor in[MAX];
  for (int i = 0; i < c->n_in; i++) {
    in[i] = c->in[i];
    in[i].layout.kind = packs ? JF_LAYOUT_ANY : JF_LAYOUT_PLAIN;
  }
  end_list(in, c->n_in);
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++) {
    jf_kargs k = { .in = in, .out = (jf_tensor *)c->out, .n_in = c->n_in, .n_out = c->n_out,
                   .attr = c->attr.bytes, .threads = 2, .op = c->op };
    if ((*r)->op && !jf_has_word((*r)->op, c->op->name)) continue;
    if ((*r)->accepts && !(*r)->accepts(&k)) continue;
    n += run_row(c, *r, 1, packs) && run_row(c, *r, 2, packs);
  }
  return n;
}

/* Checks the rows, with plain inputs and with inputs that they may have packed. At least `rows`
   must take the call. */
static void check(call *c, int rows)
{
  if (!complete(c)) return;
  reference(c);
  const int n = run_rows(c, 0), n_packed = run_rows(c, 1);
  CHECK_MSG(n >= rows && n_packed >= n, "%s: %d rows, %d packed", c->op->name, n, n_packed);
  release(c, c->in, c->out);
  for (int i = 0; i < c->n_in; i++) jf_free(c->before[i].data);
  jf_arena_free(&c->arena);
}

/* ---- cases ---- */

extern const jf_kernel_row jf_cpu_vec_clip_scale, jf_cpu_vec_update, jf_cpu_dnnl_matmul_then;

#define SHAPE(...) \
  { sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), { __VA_ARGS__ } }

typedef struct input { jfl_dtype dtype; jfl_shape shape; } input;

static void try_op(const jfl_op *op, const void *attr, const input *in, int n, double tolerance,
                   int rows)
{
  call c = { .op = op, .n_in = n, .tolerance = tolerance };
  assert(op->attr_size <= sizeof c.attr);
  if (attr) memcpy(c.attr.bytes, attr, op->attr_size);
  for (int i = 0; i < n; i++) c.in[i] = fill(in[i].dtype, &in[i].shape, 11u + (uint64_t)i);
  check(&c, rows);
}
#define TRY(op, attr, tolerance, rows, ...)                                \
  try_op(&jf_op_##op, attr, (input[]){ __VA_ARGS__ },                      \
         sizeof((input[]){ __VA_ARGS__ }) / sizeof(input), tolerance, rows)
#define F32(...) { JFL_F32, SHAPE(__VA_ARGS__) }
#define F64(...) { JFL_F64, SHAPE(__VA_ARGS__) }
#define I8(...) { JFL_I8, SHAPE(__VA_ARGS__) }
#define U8(...) { JFL_U8, SHAPE(__VA_ARGS__) }
#define I32(...) { JFL_I32, SHAPE(__VA_ARGS__) }
#define I64(...) { JFL_I64, SHAPE(__VA_ARGS__) }

/* Rows that need a library are expected only if it is installed. */
static struct { int dnnl, blas; } libraries;

static void find_libraries(void)
{
#if __has_include(<dnnl.h>) || __has_include(<oneapi/dnnl/dnnl.h>)
  libraries.dnnl = dlopen("libdnnl.so.3", RTLD_LAZY) || dlopen("libdnnl.so.2", RTLD_LAZY);
#endif
  libraries.blas = dlopen("libopenblas.so.0", RTLD_LAZY) != NULL;
}

static void product(int64_t m, int64_t k, int64_t n)
{
  for (int i = 0; i < 4; i++) {
    jf_matmul a = { .transpose_a = i & 1, .transpose_b = i >> 1 };
    int64_t d[4] = { m, k, k, n };
    if (a.transpose_a) d[0] = k, d[1] = m;
    if (a.transpose_b) d[2] = n, d[3] = k;
    TRY(matmul, &a, 2e-6, libraries.dnnl | libraries.blas, F32(d[0], d[1]), F32(d[2], d[3]));
    TRY(matmul_update, &a, 2e-6, libraries.dnnl | libraries.blas, F32(m, n), F32(d[0], d[1]),
        F32(d[2], d[3]), F64(2));
    TRY(matmul_update, &a, 1e-14, libraries.blas, F64(m, n), F64(d[0], d[1]), F64(d[2], d[3]),
        F64(2));
    TRY(matmul, &a, 1e-14, libraries.blas, F64(d[0], d[1]), F64(d[2], d[3]));
    TRY(matmul, &a, 2e-6, libraries.dnnl, F32(2, 3, d[0], d[1]), F32(2, 3, d[2], d[3]));
    jf_matmul_fused f = { a, { .bias = 1, .residual = 1, .act = i ? "tanh" : "relu" } };
    int rows = (libraries.dnnl ? i ? 2 : 1 : 0) + libraries.blas;
    TRY(matmul_fused, &f, 2e-5, rows, F32(d[0], d[1]), F32(d[2], d[3]), F32(n), F32(m, n));
    TRY(matmul_fused, &f, 1e-14, libraries.blas, F64(d[0], d[1]), F64(d[2], d[3]), F64(n),
        F64(m, n));
  }
}

static void product_in_panels(int64_t m, int64_t k, int64_t n, int panel)
{
  const jf_matmul a = { .transpose_b = 1, .panel = panel };
  const jf_matmul_fused f = { a, { .bias = 1, .residual = 1, .act = "tanh" } };
  TRY(matmul, &a, 2e-6, libraries.dnnl, F32(m, k), F32(n, k));
  TRY(matmul_fused, &f, 2e-5, libraries.dnnl ? 2 : 0, F32(m, k), F32(n, k), F32(n), F32(m, n));
}

/* What the library cannot append to a product is applied to float32 alone, whatever products it has
   in other dtypes. */
static void appends_by_itself_in_float32_alone(void)
{
  const jf_matmul_fused f = { { .panel = 0 }, { .act = "tanh" } };
  const jfl_dtype dtypes[] = { JFL_F32, JFL_F64, JFL_F16, JFL_BF16 };
  jf_tensor in[MAX], out[MAX];
  end_list(in, 2);
  end_list(out, 1);
  for (int i = 0; i < 4; i++) {
    in[0] = in[1] = out[0] = (jf_tensor){ .dtype = dtypes[i], .shape = SHAPE(8, 8) };
    const jf_kargs k = { .in = in, .out = out, .n_in = 2, .n_out = 1, .attr = &f, .threads = 1,
                         .op = &jf_op_matmul_fused };
    const int accepts = jf_cpu_dnnl_matmul_then.accepts(&k);
    CHECK_MSG(accepts == (dtypes[i] == JFL_F32), "%s: %d", jfl_dtype_name(dtypes[i]), accepts);
  }
}

static void multiplies_matrices(void)
{
  product(1, 1, 1);
  product(3, 5, 7);
  product(1, 784, 33);
  product(33, 100, 1);
  product(230, 65, 197);
  product(97, 1, 111);
  product_in_panels(50, 300, 288, 96);
  product_in_panels(1, 40, 160, 80);
}

typedef struct geometry { int64_t n, c, h, w, o, kh, kw, g, s, d, pad; } geometry;

static void convolve(const geometry *q)
{
  jf_conv a = { .groups = q->g, .data_format = "NCHW", .strides = JF_INTS(q->s),
                  .dilations = JF_INTS(q->d) };
  a.padding.list = JF_INTS(q->pad, 0, 0, q->pad);
  if (q->pad < 0) a.padding = (jf_pad){ .word = "SAME" };
  call c = { .op = &jf_op_conv2d, .n_in = 2, .tolerance = 2e-6 };
  memcpy(c.attr.bytes, &a, sizeof a);
  jfl_shape x = SHAPE(q->n, q->c, q->h, q->w), w = SHAPE(q->o, q->c / q->g, q->kh, q->kw);
  c.in[0] = fill(JFL_F32, &x, 1);
  c.in[1] = fill(JFL_F32, &w, 2);
  const int made = complete(&c);
  jfl_shape y = c.out[0].shape;
  jf_arena_free(&c.arena);
  jf_free(c.in[0].data);
  jf_free(c.in[1].data);
  if (!made) return;
  a.size = JF_INTS(q->h, q->w);
  TRY(conv2d, &a, 2e-6, libraries.dnnl, { JFL_F32, x }, { JFL_F32, w });
  a.epilogue = (jf_epilogue){ .bias = 1, .residual = 1, .act = q->s == 1 ? "sigmoid" : "relu" };
  TRY(conv2d_fused, &a, 2e-5, libraries.dnnl, { JFL_F32, x }, { JFL_F32, w }, F32(q->o),
      { JFL_F32, y });
  TRY(conv2d_data_grad, &a, 2e-6, libraries.dnnl, { JFL_F32, w }, { JFL_F32, y });
  a.size = JF_INTS(q->kh, q->kw);
  TRY(conv2d_filter_grad, &a, 4e-6, libraries.dnnl, { JFL_F32, x }, { JFL_F32, y });
  a.epilogue = (jf_epilogue){ 0 };
  TRY(conv2d_filter_grad, &a, 4e-6, libraries.dnnl, { JFL_F32, x }, { JFL_F32, y });
}

static void convolves(void)
{
  static const geometry q[] = {
    /* n c   h   w   o  kh kw g  s  d  pad */
    { 2, 1, 28, 28, 32, 5, 5, 1, 1, 1, -1 }, { 3, 32, 14, 14, 64, 5, 5, 1, 1, 1, -1 },
    { 1, 3, 17, 19, 5, 3, 3, 1, 2, 1, -1 },  { 2, 4, 9, 8, 6, 3, 2, 2, 1, 2, 1 },
    { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0 },     { 2, 16, 7, 7, 16, 1, 1, 16, 1, 1, 0 },
    { 1, 5, 12, 40, 17, 4, 4, 1, 3, 1, 2 },  { 2, 2, 6, 33, 3, 2, 7, 1, 1, 1, -1 },
  };
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) convolve(&q[i]);
}

/* Blocks of 16 channels and packed filters, which the rows of some processors need. */
static void convolve_blocks(const geometry *q, int rows)
{
  jf_conv a = { .groups = 1, .data_format = "NCHW", .strides = JF_INTS(1),
                  .dilations = JF_INTS(1),
                  .padding.list = JF_INTS(q->pad, q->pad / 2, q->pad, q->kw - 1),
                  .block = 16, .block_x = 1, .block_y = 1, .packed = 1 };
  const jf_conv plain = a;
  int64_t high = q->h + q->pad + q->pad / 2 - q->kh + 1, wide = q->w + q->pad;
  input x = F32(q->n, q->c / 16, q->h, q->w, 16), y = F32(q->n, q->o / 16, high, wide, 16);
  input w = F32(q->o / 16, q->c / 16, q->kh, q->kw, 16, 16), bias = F32(q->o);
  TRY(conv2d, &a, 1e-5, rows, x, w);
  a.epilogue.bias = a.epilogue.residual = 1;
  TRY(conv2d_fused, &a, 1e-5, rows, x, w, bias, y);
  a.epilogue = (jf_epilogue){ .act = "relu" };
  TRY(conv2d_fused, &a, 1e-5, 0, x, w);
  a = plain;
  a.size = JF_INTS(q->h, q->w);
  TRY(conv2d_data_grad, &a, 1e-5, rows, w, y);
  a.size = JF_INTS(q->kh, q->kw);
  TRY(conv2d_filter_grad, &a, 1e-5, rows, x, y);
  a.epilogue.bias = 1;
  TRY(conv2d_filter_grad, &a, 1e-5, rows, x, y);
}

static void convolves_blocks(void)
{
  /* enough samples for rows that take only large calls */
  static const geometry q[] = {
    { 6, 32, 14, 14, 64, 5, 5, 1, 1, 1, 2 },  { 31, 16, 9, 12, 80, 3, 3, 1, 1, 1, 1 },
    { 160, 48, 6, 5, 16, 3, 3, 1, 1, 1, 0 },  { 54, 16, 1, 3, 16, 5, 5, 1, 1, 1, 4 },
    { 9, 16, 13, 23, 112, 3, 3, 1, 1, 1, 2 },
  };
  int rows = 0;
#if defined(__x86_64__)
  rows = __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") ? 1 : 0;
#endif
  for (size_t i = 0; i < sizeof q / sizeof *q; i++) convolve_blocks(&q[i], rows + libraries.dnnl);
  /* small ones, for filters that do not change */
  convolve_blocks(&(geometry){ 1, 32, 7, 9, 80, 3, 3, 1, 1, 1, 1 }, libraries.dnnl);
  convolve_blocks(&(geometry){ 3, 80, 6, 4, 16, 3, 3, 1, 1, 1, 2 }, libraries.dnnl);
}

/* The layout of channels: NCHW if block is 0, NHWC if it is -1, else blocks of that many. */
typedef struct planes { int64_t n, c, h, w, block; } planes;

static jfl_shape planes_shape(const planes *q)
{
  if (q->block < 0) return (jfl_shape)SHAPE(q->n, q->h, q->w, q->c);
  if (q->block) return (jfl_shape)SHAPE(q->n, q->c / q->block, q->h, q->w, q->block);
  return (jfl_shape)SHAPE(q->n, q->c, q->h, q->w);
}

/* Leaves few different numbers, so that windows have several largest cells, and unless `finite`
   some that are not finite. */
static void roughen(jf_tensor *x, int finite)
{
  static const float odd[] = { NAN, INFINITY, -INFINITY, -0.0f };
  float *v = x->data;
  for (int64_t i = 0; i < jf_numel(&x->shape); i++) {
    uint32_t w = jf_philox_at(4, 0, (uint64_t)i).w[0];
    v[i] = !finite && w % 5 == 0 ? odd[w / 5 % 4] : (float)(w / 5 % 3) - 1;
  }
}

/* Calls the op on inputs of these shapes; the constant says how rough x is. */
enum { SMOOTH, TIES, ODD };
static void try_pool(const jfl_op *op, const jf_pool2d *a, const jfl_shape *s, int n, int rough)
{
  call c = { .op = op, .n_in = n, .tolerance = 1e-6 };
  memcpy(c.attr.bytes, a, sizeof *a);
  for (int i = 0; i < n; i++) c.in[i] = fill(JFL_F32, &s[i], 11u + (uint64_t)i);
  if (rough) roughen(&c.in[0], rough == TIES);
  check(&c, 1);
}

static void pool(jf_pool2d a, const planes *q)
{
  call c = { .op = &jf_op_max_pool2d, .n_in = 1 };
  jfl_shape x = planes_shape(q);
  a.data_format = q->block < 0 ? "NHWC" : "NCHW";
  a.block = q->block < 0 ? 0 : q->block;
  memcpy(c.attr.bytes, &a, sizeof a);
  c.in[0] = (jf_tensor){ .dtype = JFL_F32, .shape = x };
  const int made = complete(&c);
  jfl_shape y = c.out[0].shape;
  jf_arena_free(&c.arena);
  if (!made) return;
  a.size = JF_INTS(q->h, q->w);
  try_pool(&jf_op_avg_pool2d, &a, &x, 1, SMOOTH);
  try_pool(&jf_op_avg_pool2d_grad, &a, &y, 1, SMOOTH);
  for (int rough = SMOOTH; rough <= ODD; rough++) {
    try_pool(&jf_op_max_pool2d, &a, &x, 1, rough);
    try_pool(&jf_op_max_pool2d_grad, &a, (jfl_shape[]){ x, y, y }, 3, rough);
  }
}

/* Windows of kh x kw cells, sh and sw apart. p is the number of cells of padding above and left; -1
   stands for the padding SAME, -2 for a partial last window that counts. */
typedef struct windows { int64_t kh, kw, sh, sw, p; } windows;

static void pool_windows(const windows *w, const planes *q)
{
  jf_pool2d a = { .ksize = JF_INTS(w->kh, w->kw), .strides = JF_INTS(w->sh, w->sw),
                  .ceil_mode = w->p == -2 };
  const jf_ints none = JF_INTS(0), some = JF_INTS(w->p, w->p / 2, w->p, w->p / 2);
  if (w->p == -1) a.padding.word = "SAME";
  else a.padding.list = w->p == -2 ? none : some;
  if (w->p < 0 || (q->h + w->p + w->p / 2 >= w->kh && q->w + w->p + w->p / 2 >= w->kw))
    if (w->p != -2 || (q->h >= w->kh && q->w >= w->kw)) pool(a, q);
}

static void pools(void)
{
  static const windows w[] = {
    { 2, 2, 2, 2, 0 }, { 2, 2, 2, 2, -1 }, { 2, 2, 2, 2, -2 }, { 2, 2, 1, 1, 0 },
    { 3, 3, 2, 2, 1 }, { 3, 3, 1, 1, -1 }, { 3, 3, 2, 2, -2 }, { 3, 2, 2, 1, -1 },
    { 3, 3, 4, 4, 0 }, { 1, 1, 1, 1, 0 },  { 1, 1, 3, 2, 0 },  { 4, 5, 2, 3, 3 },
    { 3, 3, 3, 3, 0 }, { 7, 7, 1, 1, 0 },  { 5, 3, 1, 2, 2 },  { 2, 7, 3, 3, -1 },
  };
  static const planes q[] = {
    { 2, 3, 14, 14, 0 },  { 1, 5, 7, 7, 0 },    { 2, 2, 28, 36, 0 }, { 3, 1, 1, 1, 0 },
    { 1, 2, 1, 19, 0 },   { 1, 2, 23, 1, 0 },   { 1, 32, 9, 12, 16 }, { 2, 16, 7, 7, 8 },
    { 1, 8, 11, 6, 4 },   { 2, 3, 13, 17, -1 }, { 1, 21, 9, 8, -1 },  { 1, 8, 1, 5, -1 },
  };
  for (size_t i = 0; i < sizeof w / sizeof *w; i++)
    for (size_t j = 0; j < sizeof q / sizeof *q; j++) pool_windows(&w[i], &q[j]);
}

/* Planes that are cut into tiles: along rows, along columns and along both. */
static void pools_large_planes(void)
{
  static const windows w[] = {
    { 2, 2, 2, 2, 0 }, { 3, 3, 2, 2, 1 }, { 3, 3, 1, 1, -1 }, { 2, 3, 5, 4, 0 }, { 9, 8, 3, 3, 5 },
  };
  static const planes q[] = {
    { 1, 2, 150, 130, 0 },  { 1, 1, 40, 1500, 0 }, { 1, 1, 700, 30, 0 }, { 1, 16, 90, 70, 16 },
    { 1, 3, 90, 260, -1 }, { 1, 7, 60, 120, -1 },
  };
  for (size_t i = 0; i < sizeof w / sizeof *w; i++)
    for (size_t j = 0; j < sizeof q / sizeof *q; j++) pool_windows(&w[i], &q[j]);
  pool_windows(&(windows){ 20, 20, 3, 3, 5 }, &(planes){ 1, 2, 150, 130, 0 });
  pool_windows(&(windows){ 1, 250, 1, 1, 0 }, &(planes){ 1, 1, 3, 600, 0 });
  pool_windows(&(windows){ 56, 56, 56, 56, 0 }, &(planes){ 2, 3, 56, 56, 0 });
  pool_windows(&(windows){ 30, 300, 1, 1, 0 }, &(planes){ 1, 8, 30, 310, 8 });
}

static void casts_images(void) { TRY(cast, &(jf_cast){ JFL_F32 }, 0, 1, U8(50007)); }

/* The element of t that belongs to element i of an output of shape s, to which t is broadcast. */
static float broadcast_at(const jf_tensor *t, const jfl_shape *s, int64_t i)
{
  int64_t at = 0, size = 1;
  for (int a = s->n - 1, b = t->shape.n - 1; a >= 0; i /= s->d[a--], b--) {
    if (b < 0) continue;
    if (t->shape.d[b] != 1) at += i % s->d[a] * size;
    size *= t->shape.d[b];
  }
  return ((const float *)t->data)[at];
}

/* Elementwise loops are cut into parts, which may begin and end within rows. */
static void works_element_by_element(void)
{
  static const jfl_shape q[][3] = {           /* inputs and output */
    { SHAPE(77, 1001), SHAPE(77, 1001), SHAPE(77, 1001) },
    { SHAPE(13), SHAPE(13), SHAPE(13) },
    { SHAPE(40001), SHAPE(1), SHAPE(40001) },
    { SHAPE(3, 1, 20011), SHAPE(5, 1), SHAPE(3, 5, 20011) },
    { SHAPE(1, 9), SHAPE(7000, 1), SHAPE(7000, 9) },
    { SHAPE(50, 40, 31), SHAPE(31), SHAPE(50, 40, 31) },
    { SHAPE(7, 1, 300, 1), SHAPE(1, 11, 1, 13), SHAPE(7, 11, 300, 13) },
  };
  for (size_t c = 0; c < sizeof q / sizeof *q; c++)
    for (int threads = 1; threads <= 3; threads++) {
      const jfl_shape s = q[c][2];
      jf_tensor in[2] = { fill(JFL_F32, &q[c][0], 5), fill(JFL_F32, &q[c][1], 6) };
      jf_tensor out = fill(JFL_F32, &s, 7);
      jf_kargs k = { .in = in, .out = &out, .n_in = 2, .n_out = 1, .threads = threads };
      CHECK(jf_op_subtract.cpu[JFL_F32](&k) == JFL_OK);
      int64_t wrong = 0;
      for (int64_t i = 0; i < jf_numel(&s); i++)
        wrong +=
            ((float *)out.data)[i] != broadcast_at(&in[0], &s, i) - broadcast_at(&in[1], &s, i);
      CHECK_MSG(wrong == 0, "case %zu, %d threads: %lld wrong", c, threads, (long long)wrong);
      jf_free(in[0].data);
      jf_free(in[1].data);
      jf_free(out.data);
    }
}

static void adds_biases(void)
{
  jf_bias_add nchw = { .data_format = "NCHW" }, nhwc = { .data_format = "NHWC" };
  TRY(bias_add, &nchw, 0, 1, F32(10, 32, 28, 29), F32(32));
  TRY(bias_add, &nchw, 0, 1, F32(33, 1500), F32(1500));
  TRY(bias_add, &nhwc, 0, 1, F32(10, 28, 29, 7), F32(7));
  TRY(bias_add, &nchw, 0, 1, F32(2, 3), F32(3));
}

static void reduces(void)
{
  const struct { jf_ints axis; jfl_shape x; } q[] = {
    { { 0, NULL }, SHAPE(100003) },          { JF_INTS(0), SHAPE(100, 513) },
    { JF_INTS(1), SHAPE(100, 513) }, { JF_INTS(0, 2, 3), SHAPE(20, 32, 14, 15) },
    { JF_INTS(1), SHAPE(3, 40, 777) }, { JF_INTS(1, 3), SHAPE(5, 6, 7, 8) },
    { JF_INTS(0), SHAPE(1, 5) },     { JF_INTS(0, 2), SHAPE(3, 1, 4) },
    { JF_INTS(0), SHAPE(5000, 3) },  { JF_INTS(0, 2, 3), SHAPE(9, 2, 14, 15, 16) },
    { JF_INTS(0), SHAPE(300, 1001) }, { JF_INTS(0, 2), SHAPE(7, 3, 5000, 5) },
    { JF_INTS(1), SHAPE(4, 33000, 20) }, { JF_INTS(0, 2), SHAPE(40, 300, 3, 2) },
  };
  for (size_t i = 0; i < sizeof q / sizeof *q; i++)
    for (int keep = 0; keep < 2; keep++) {
      jf_reduce a = { q[i].axis, keep, 0 };
      TRY(reduce_sum, &a, 1e-6, 1, { JFL_F32, q[i].x });
      TRY(reduce_mean, &a, 1e-6, 1, { JFL_F32, q[i].x });
    }
}

static void normalises_lines(void)
{
  static const int64_t n[] = { 1, 2, 10, 16, 17, 1000, 5001 };
  for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
    jf_softmax a = { -1 };
    TRY(softmax, &a, 1e-6, 1, F32(37, n[i]));
    TRY(softmax_grad, &a, 1e-6, 1, F32(37, n[i]), F32(37, n[i]));
    if (n[i] < 10) continue;
    jf_cross_entropy by = { .scale = 0.25 };
    TRY(sparse_softmax_cross_entropy_with_logits, &by, 1e-6, 1, I32(37), F32(37, n[i]));
    TRY(sparse_softmax_cross_entropy_grad, &by, 1e-6, 1, I64(37), F32(37, n[i]), F32(37), F32(37),
        F32(37));
    TRY(sparse_softmax_cross_entropy_grad, &by, 1e-6, 1, I64(37), F32(37, n[i]), F32(37), F32(37));
  }
}

/* Logits that are far apart, equal, infinite and tiny. */
static void survives_extreme_logits(void)
{
  const float x[] = { 1e30f, -1e30f, 88, -88, 0, -104, 3e38f, -3e38f, -INFINITY, 1e-40f };
  call c = { .op = &jf_op_softmax, .n_in = 1, .tolerance = 1e-6 };
  jfl_shape s = SHAPE(11, 10);
  jf_softmax a = { -1 };
  memcpy(c.attr.bytes, &a, sizeof a);
  c.in[0] = fill(JFL_F32, &s, 1);
  for (int i = 0; i < 110; i++) ((float *)c.in[0].data)[i] = x[(i + i / 10) % (i / 10 + 1) % 10];
  check(&c, 1);
}

/* Small probabilities, down to denormal ones, are accurate in themselves, not only relative to the
   largest one. */
static void keeps_small_probabilities(void)
{
  jfl_shape s = SHAPE(1030, 2);
  jf_softmax a = { 1 };
  jf_tensor x = fill(JFL_F32, &s, 1), y = fill(JFL_F32, &s, 1);
  float *v = x.data, *p = y.data;
  for (int i = 0; i < 1030; i++) {
    v[2 * i] = 0;
    v[2 * i + 1] = -0.1f * (float)i;
  }
  jf_kargs k = { .in = &x, .out = &y, .n_in = 1, .n_out = 1, .attr = &a, .threads = 1 };
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++) {
    if (strcmp((*r)->name, "vec_softmax")) continue;
    CHECK((*r)->run(&k) == JFL_OK);
    for (int i = 0; i < 1030; i++) {
      double e = exp((double)v[2 * i + 1]), want = e / (1 + e);
      CHECK_MSG(fabs((double)p[2 * i + 1] - want) <= 3e-7 * want + 1.5e-45, "exp(%g) gave %g",
                (double)v[2 * i + 1], (double)p[2 * i + 1]);
    }
  }
  jf_free(x.data);
  jf_free(y.data);
}

static void names_a_wrong_label(void)
{
  jfl_shape samples = SHAPE(4), lines = SHAPE(4, 10);
  jf_tensor in[] = { fill(JFL_I32, &samples, 1), fill(JFL_F32, &lines, 2) };
  jf_tensor out[3];
  for (int i = 0; i < 3; i++) out[i] = fill(JFL_F32, &samples, 1);
  ((int32_t *)in[0].data)[2] = 10;
  const jf_cross_entropy a = { 0 };
  jf_kargs k = { .in = in, .out = out, .n_in = 2, .n_out = 3, .attr = &a, .threads = 1 };
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++)
    if (!strcmp((*r)->name, "vec_sparse_softmax_cross_entropy")) {
      CHECK((*r)->run(&k) == JFL_EDATA);
      CHECK_MSG(strstr(jfl_errmsg(), "label at position 2"), "%s", jfl_errmsg());
    }
  for (int i = 0; i < 2; i++) jf_free(in[i].data);
  for (int i = 0; i < 3; i++) jf_free(out[i].data);
}

static void draws_the_plain_mask(void)
{
  static const int64_t n[] = { 1, 31, 32, 33, 16384 + 5, 70003 };
  for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
    TRY(dropout, &(jf_dropout){ 0.3 }, 1e-7, 1, F32(n[i]));
    TRY(dropout_grad, &(jf_dropout){ 0.3 }, 1e-7, 1, F32(n[i]), I8(n[i]));
  }
}

/* Updates several tensors whose sizes are no multiples of a part. */
static void updates(void)
{
  const double none[] = { 0 }, beta[] = { 0.9 };
  jf_update sgd = { .choice = { .optimizer = "SGD", .options = { 1, none } } };
  jf_update momentum = { .choice = { .optimizer = "SGD", .options = { 1, beta } } };
  TRY(update, &sgd, 1e-6, 1, F32(123, 457), F32(123, 457), F64(2));
  TRY(update, &sgd, 1e-6, 1, F32(3), F32(3), F32(123, 457), F32(123, 457), F32(1), F32(1), F64(2));
  TRY(update, &sgd, 1e-15, 1, F64(3), F64(3), F64(123, 457), F64(123, 457), F64(2));
  TRY(update, &momentum, 1e-6, 1, F32(3), F32(3), F32(3), F32(123, 457), F32(123, 457),
      F32(123, 457), F64(3));
  jf_update lars = { .choice = { .optimizer = "LARS" } };
  jf_update averages = { .choice = { .optimizer = "LARS" }, .averages = 1 };
  TRY(update, &lars, 1e-6, 1, F32(3), F32(3), F32(3), F32(123, 457), F32(123, 457), F32(123, 457),
      F64(7));
  TRY(update, &lars, 1e-12, 1, F64(16384), F64(16384), F64(16384), F64(5), F64(5), F64(5), F64(7));
  TRY(update, &averages, 1e-6, 1, F32(9), F32(9), F32(9), F32(9), F32(123, 457), F32(123, 457),
      F32(123, 457), F32(123, 457), F64(1), F64(7));
  TRY(update, &momentum, 1e-15, 1, F64(16384), F64(16384), F64(16384), F64(5), F64(5), F64(5),
      F64(3));
}

static void measures_norms(void)
{
  jf_clip_scale a = { 0.5, 0 };
  TRY(clip_scale, &a, 1e-13, 1, F64(1), F32(3), F32(123, 457), F32(1), F32(16384));
  TRY(clip_scale, &a, 1e-13, 1, F64(1), F64(3), F64(123, 457), F32(7));
}

static void reorders_axes(void)
{
  const jf_transpose blocked = { JF_INTS(0, 1, 3, 4, 2) };
  const jf_transpose plain = { JF_INTS(0, 1, 4, 2, 3) };
  const jf_transpose packed = { JF_INTS(0, 2, 4, 5, 3, 1) };
  const jf_transpose back = { JF_INTS(0, 5, 1, 4, 2, 3) };
  const jf_transpose swap = { JF_INTS(1, 0) }, same = { JF_INTS(0, 1) };
  const jf_transpose outer = { JF_INTS(1, 0, 2) }, round = { JF_INTS(2, 0, 1) };
#define EACH(...)                                                                               \
  TRY(transpose, &blocked, 0, 1, __VA_ARGS__(3, 2, 16, 7, 9));                                  \
  TRY(transpose, &blocked, 0, 1, __VA_ARGS__(2, 3, 8, 28, 28));                                 \
  TRY(transpose, &plain, 0, 1, __VA_ARGS__(3, 2, 7, 9, 16));                                    \
  TRY(transpose, &packed, 0, 1, __VA_ARGS__(2, 16, 3, 16, 5, 5));                               \
  TRY(transpose, &packed, 0, 1, __VA_ARGS__(2, 16, 2, 16, 1, 1));                               \
  TRY(transpose, &back, 0, 1, __VA_ARGS__(2, 3, 5, 5, 16, 16));                                 \
  TRY(transpose, &swap, 0, 1, __VA_ARGS__(301, 205));                                           \
  TRY(transpose, &swap, 0, 1, __VA_ARGS__(3, 70));                                              \
  TRY(transpose, &swap, 0, 1, __VA_ARGS__(1, 1));                                               \
  TRY(transpose, &same, 0, 1, __VA_ARGS__(37, 1001));                                           \
  TRY(transpose, &outer, 0, 1, __VA_ARGS__(37, 101, 11));                                       \
  TRY(transpose, &round, 0, 1, __VA_ARGS__(37, 33, 65))
  EACH(F32);
  EACH(F64);
  EACH(I8);
#undef EACH
}

/* Sums are the same for any number of threads. */
static void ignores_the_thread_count(void)
{
  jfl_shape s = SHAPE(200000);
  jf_reduce a = { JF_INTS(0), 0, 0 };
  float y[2] = { 0 };
  jf_tensor x = fill(JFL_F32, &s, 5);
  jf_tensor out = { .data = y, .dtype = JFL_F32, .shape = SHAPE(1) };
  for (const jf_kernel_row *const *r = jf_cpu_rows(); *r; r++) {
    if (strcmp((*r)->name, "vec_reduce_sum")) continue;
    for (int threads = 1; threads <= 2; threads++) {
      out.data = &y[threads - 1];
      jf_kargs k = { .in = &x, .out = &out, .n_in = 1, .n_out = 1, .attr = &a, .threads = threads };
      CHECK(!(*r)->prepare || (*r)->prepare(&k) == JFL_OK);
      k.scratch = jf_new_raw(k.scratch_size);
      CHECK((*r)->run(&k) == JFL_OK);
      jf_free(k.scratch);
    }
    CHECK(!memcmp(&y[0], &y[1], sizeof *y));
  }
  jf_free(x.data);
}

static void norms_ignore_the_thread_count(void)
{
  jfl_shape s[] = { SHAPE(7), SHAPE(200000), SHAPE(40001) };
  jf_clip_scale a = { 1e-3, 0 };
  double y[2] = { 0 }, by = 2;
  jf_tensor x[4] = { { .data = &by, .dtype = JFL_F64, .shape = SHAPE(1) } };
  jf_tensor out = { .data = y, .dtype = JFL_F64, .shape = SHAPE(1) };
  for (int i = 0; i < 3; i++) x[i + 1] = fill(JFL_F32, &s[i], 5);
  for (int threads = 1; threads <= 2; threads++) {
    jf_kargs k = { .in = x, .out = &out, .n_in = 4, .n_out = 1, .attr = &a, .threads = threads };
    out.data = &y[threads - 1];
    CHECK(jf_cpu_vec_clip_scale.prepare(&k) == JFL_OK);
    k.scratch = jf_new_raw(k.scratch_size);
    CHECK(jf_cpu_vec_clip_scale.run(&k) == JFL_OK);
    jf_free(k.scratch);
  }
  CHECK(y[0] > 0 && !memcmp(&y[0], &y[1], sizeof *y));
  for (int i = 1; i < 4; i++) jf_free(x[i].data);
}

/* An update by norms of whole parameters is the same for any number of threads. */
static void steps_ignore_the_thread_count(void)
{
  enum { TENSORS = 3, STRIDE = 4, SIZE = 200000 };
  static const int64_t n[] = { 7, SIZE, 40001 };
  double scalar[] = { 0.5, 0.1, 0.9, 0.1, 0.99, 0.01, 1e-6, 0.1, 1.2, 3 };
  jf_update a = { .choice = { .optimizer = "LAMB" } };
  float *w[2] = { jf_new_raw(SIZE * sizeof **w), jf_new_raw(SIZE * sizeof **w) };
  jf_arena arena = {0};
  CHECK(!jf_optim_read(&arena, &a.choice));
  a.stride = STRIDE;
  a.n = TENSORS;
  for (int threads = 1; threads <= 2; threads++) {
    jf_tensor x[TENSORS * STRIDE + 1];
    jf_kargs k = { .in = x, .n_in = TENSORS * STRIDE + 1, .attr = &a, .threads = threads };
    for (int i = 0; i < TENSORS * STRIDE; i++) {
      const jfl_shape s = SHAPE(n[i / STRIDE]);
      x[i] = fill(JFL_F32, &s, 5);
      for (int64_t j = 0; j < s.d[0] && i % STRIDE == STRIDE - 1; j++)
        ((float *)x[i].data)[j] = fabsf(((float *)x[i].data)[j]);
    }
    x[TENSORS * STRIDE] = (jf_tensor){ .data = scalar, .dtype = JFL_F64, .shape = SHAPE(10) };
    CHECK(jf_cpu_vec_update.prepare(&k) == JFL_OK);
    k.scratch = jf_new_raw(k.scratch_size);
    CHECK(jf_cpu_vec_update.run(&k) == JFL_OK);
    jf_free(k.scratch);
    memcpy(w[threads - 1], x[STRIDE].data, SIZE * sizeof **w);
    for (int i = 0; i < TENSORS * STRIDE; i++) jf_free(x[i].data);
  }
  CHECK(isfinite(w[0][0]) && !memcmp(w[0], w[1], SIZE * sizeof **w));
  jf_arena_free(&arena);
  jf_free(w[0]);
  jf_free(w[1]);
}

int main(void)
{
  find_libraries();
  RUN(multiplies_matrices);
  RUN(appends_by_itself_in_float32_alone);
  RUN(convolves);
  RUN(convolves_blocks);
  RUN(pools);
  RUN(pools_large_planes);
  RUN(casts_images);
  RUN(works_element_by_element);
  RUN(adds_biases);
  RUN(reduces);
  RUN(normalises_lines);
  RUN(survives_extreme_logits);
  RUN(keeps_small_probabilities);
  RUN(names_a_wrong_label);
  RUN(draws_the_plain_mask);
  RUN(updates);
  RUN(reorders_axes);
  RUN(measures_norms);
  RUN(ignores_the_thread_count);
  RUN(norms_ignore_the_thread_count);
  RUN(steps_ignore_the_thread_count);
  return test_done();
}
