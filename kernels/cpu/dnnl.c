/* oneDNN behind dlopen. Built against 2.x or 3.x headers, it opens the library of the same major
   version; built without them, the rows that need it accept nothing. */
#include "dnnl.h"

#ifdef __has_include
#if __has_include(<oneapi/dnnl/dnnl.h>)
#define HAVE_DNNL 1
#endif
#endif

#ifdef HAVE_DNNL

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <string.h>

/* ---- what differs between the versions ---- */

#if DNNL_VERSION_MAJOR >= 3
#define LIBRARY "libdnnl.so.3"
#define VERSION_FUNCTIONS(X)                                                        \
  X(memory_desc_create_with_strides) X(memory_desc_create_with_tag)                 \
  X(memory_desc_destroy) X(matmul_primitive_desc_create)                            \
  X(convolution_forward_primitive_desc_create)                                      \
  X(convolution_backward_data_primitive_desc_create)                                \
  X(convolution_backward_weights_primitive_desc_create)
typedef dnnl_memory_desc_t layout;
typedef const_dnnl_memory_desc_t layout_ref;
#else
#define LIBRARY "libdnnl.so.2"
#define VERSION_FUNCTIONS(X)                                                        \
  X(memory_desc_init_by_strides) X(memory_desc_init_by_tag)                         \
  X(matmul_desc_init) X(primitive_desc_create)                                      \
  X(dilated_convolution_forward_desc_init)                                          \
  X(dilated_convolution_backward_data_desc_init)                                    \
  X(dilated_convolution_backward_weights_desc_init)
typedef dnnl_memory_desc_t layout;
typedef const dnnl_memory_desc_t *layout_ref;
#endif

#define DIRECT dnnl_convolution_direct
#define FUNCTIONS(X)                                                                \
  X(engine_create) X(stream_create) X(primitive_attr_create)                        \
  X(primitive_attr_set_scratchpad_mode) X(primitive_desc_query_md)                  \
  X(primitive_desc_destroy) X(primitive_create) X(primitive_destroy)                \
  X(primitive_execute) X(reorder_primitive_desc_create) X(memory_create)            \
  X(memory_destroy) X(memory_set_data_handle) X(memory_desc_equal)                  \
  X(memory_desc_get_size) VERSION_FUNCTIONS(X)

/* Set once by open_library, immutable afterwards. */
static struct {
#define X(f) __typeof__(&dnnl_##f) f;
  FUNCTIONS(X)
#undef X
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_attr_t attr;       /* scratchpads come from the plan's arena */
  int ready;
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int find_functions(void *so)
{
#define X(f) if (!jf_library_find(so, "dnnl_" #f, &lib.f)) return 0;
  FUNCTIONS(X)
#undef X
  return 1;
}

static void open_library(void)
{
  jf_pool_open();
  void *so = jf_library_open(LIBRARY, NULL);
  if (!so || !find_functions(so)) return;
  if (lib.engine_create(&lib.engine, dnnl_cpu, 0)) return;
  if (lib.stream_create(&lib.stream, lib.engine, dnnl_stream_default_flags)) return;
  if (lib.primitive_attr_create(&lib.attr)) return;
  lib.ready = !lib.primitive_attr_set_scratchpad_mode(lib.attr, dnnl_scratchpad_mode_user);
}

static jfl_status check(dnnl_status_t s, const char *what)
{
  if (s == dnnl_success) return JFL_OK;
  if (s == dnnl_out_of_memory) return jf_fail(JFL_ENOMEM, "onednn: %s: out of memory", what);
  return jf_fail(JFL_ENOSYS, "onednn: %s gave status %d", what, (int)s);
}

/* ---- layouts ---- */

/* A float32 tensor's extents; stride NULL lets the library choose the layout. */
static jfl_status layout_new(layout *l, int n, const dnnl_dims_t dim, const int64_t *stride)
{
#if DNNL_VERSION_MAJOR >= 3
  return check(stride ? lib.memory_desc_create_with_strides(l, n, dim, dnnl_f32, stride)
                      : lib.memory_desc_create_with_tag(l, n, dim, dnnl_f32, dnnl_format_tag_any),
               "layout");
#else
  return check(stride ? lib.memory_desc_init_by_strides(l, n, dim, dnnl_f32, stride)
                      : lib.memory_desc_init_by_tag(l, n, dim, dnnl_f32, dnnl_format_tag_any),
               "layout");
#endif
}

static layout_ref ref(const layout *l)
{
#if DNNL_VERSION_MAJOR >= 3
  return *l;
#else
  return l;
#endif
}

static void layout_free(layout *l)
{
#if DNNL_VERSION_MAJOR >= 3
  if (*l) lib.memory_desc_destroy(*l);
#else
  (void)l;
#endif
}

/* Operands and result of a problem: how the caller has them, and what is asked of the library. */
typedef struct layouts { layout plain[3], asked[3]; } layouts;

static void layouts_free(layouts *l)
{
  for (int i = 0; i < 3; i++) {
    layout_free(&l->plain[i]);
    layout_free(&l->asked[i]);
  }
}

/* ---- states ---- */

/* One tensor of a primitive: the caller's memory and, where the primitive wants another layout,
   memory in scratch with the conversion between them. */
typedef struct tensor {
  dnnl_memory_t plain, inner;
  dnnl_primitive_t convert;
  size_t offset;
  const void *data;                 /* what plain points at now */
} tensor;

typedef struct state {
  dnnl_primitive_t primitive;
  tensor tensor[3];                 /* two operands, the result */
  dnnl_memory_t pad;
  size_t pad_offset;
  char *scratch;                    /* what inner memories and pad are based on now */
  dnnl_exec_arg_t arg[4];
} state;

static void release(void *p)
{
  state *s = p;
  if (!s) return;
  for (int i = 0; i < 3; i++) {
    lib.primitive_destroy(s->tensor[i].convert);
    lib.memory_destroy(s->tensor[i].inner);
    lib.memory_destroy(s->tensor[i].plain);
  }
  lib.memory_destroy(s->pad);
  lib.primitive_destroy(s->primitive);
  jf_free(s);
}

/* Takes bytes of scratch; returns where they start. */
static size_t reserve(size_t *scratch, size_t size)
{
  size_t at = *scratch;
  *scratch += (size + 63) & ~(size_t)63;
  return at;
}

/* The conversion of operand, or with i == 2 of the result. */
static jfl_status convert_new(dnnl_primitive_t *out, int i, layout_ref plain, layout_ref inner)
{
  dnnl_primitive_desc_t pd;
  layout_ref from = i == 2 ? inner : plain, to = i == 2 ? plain : inner;
  JF_TRY(check(lib.reorder_primitive_desc_create(&pd, from, lib.engine, to, lib.engine, NULL),
               "reorder"));
  dnnl_status_t s = lib.primitive_create(out, pd);
  lib.primitive_desc_destroy(pd);
  return check(s, "reorder");
}

static jfl_status tensor_new(state *s, int i, layout_ref plain, layout_ref wanted, size_t *scratch)
{
  tensor *t = &s->tensor[i];
  JF_TRY(check(lib.memory_create(&t->plain, plain, lib.engine, DNNL_MEMORY_NONE), "memory"));
  s->arg[i].memory = t->plain;
  if (lib.memory_desc_equal(plain, wanted)) return JFL_OK;
  JF_TRY(check(lib.memory_create(&t->inner, wanted, lib.engine, DNNL_MEMORY_NONE), "memory"));
  JF_TRY(convert_new(&t->convert, i, plain, wanted));
  t->offset = reserve(scratch, lib.memory_desc_get_size(wanted));
  s->arg[i].memory = t->inner;
  return JFL_OK;
}

static jfl_status fill(state *s, dnnl_primitive_desc_t pd, const layouts *l, size_t *scratch)
{
  JF_TRY(check(lib.primitive_create(&s->primitive, pd), "primitive"));
  for (int i = 0; i < 3; i++) {
    layout_ref wanted = lib.primitive_desc_query_md(pd, dnnl_query_exec_arg_md, s->arg[i].arg);
    JF_TRY(tensor_new(s, i, ref(&l->plain[i]), wanted, scratch));
  }
  layout_ref pad = lib.primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
  JF_TRY(check(lib.memory_create(&s->pad, pad, lib.engine, DNNL_MEMORY_NONE), "memory"));
  s->pad_offset = reserve(scratch, lib.memory_desc_get_size(pad));
  s->arg[3] = (dnnl_exec_arg_t){ DNNL_ARG_SCRATCHPAD, s->pad };
  return JFL_OK;
}

/* Makes k->state of a primitive whose tensors have these argument numbers. */
static jfl_status state_new(dnnl_primitive_desc_t pd, const layouts *l, const int *arg, jf_kargs *k,
                            size_t *scratch)
{
  state *s = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "onednn: out of memory");
  for (int i = 0; i < 3; i++) s->arg[i].arg = arg[i];
  size_t need = 0;
  jfl_status err = fill(s, pd, l, &need);
  if (err != JFL_OK) {
    release(s);
    return err;
  }
  k->state = s;
  *scratch = need;
  return JFL_OK;
}

/* Plans bind their memory anew only when it moves, so handles seldom change. */
static jfl_status point(state *s, const void *const *data, char *scratch)
{
  for (int i = 0; i < 3; i++) {
    tensor *t = &s->tensor[i];
    if (t->data != data[i])
      JF_TRY(check(lib.memory_set_data_handle(t->plain, (void *)data[i]), "data handle"));
    t->data = data[i];
    if (t->inner && s->scratch != scratch)
      JF_TRY(check(lib.memory_set_data_handle(t->inner, scratch + t->offset), "data handle"));
  }
  if (s->scratch != scratch)
    JF_TRY(check(lib.memory_set_data_handle(s->pad, scratch + s->pad_offset), "data handle"));
  s->scratch = scratch;
  return JFL_OK;
}

static jfl_status convert(const tensor *t, dnnl_memory_t from, dnnl_memory_t to)
{
  if (!t->convert) return JFL_OK;
  dnnl_exec_arg_t arg[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };
  return check(lib.primitive_execute(t->convert, lib.stream, 2, arg), "reorder");
}

static jfl_status execute(const jf_kargs *k, jf_dnnl_run r)
{
  state *s = k->state;
  jf_omp_threads(k->threads);
  jf_pool_settle(k->threads);
  JF_TRY(point(s, (const void *const[]){ r.a, r.b, r.c }, k->scratch));
  for (int i = 0; i < 2; i++)
    JF_TRY(convert(&s->tensor[i], s->tensor[i].plain, s->tensor[i].inner));
  JF_TRY(check(lib.primitive_execute(s->primitive, lib.stream, 4, s->arg), "execute"));
  return convert(&s->tensor[2], s->tensor[2].inner, s->tensor[2].plain);
}

/* ---- products ---- */

/* Rows x columns matrices, one after another in memory; transposed swaps their roles in memory. A
   single one is described without the batch axis, which the library serves better. */
static jfl_status matrix(layout *l, int64_t batch, int64_t rows, int64_t columns, int transposed)
{
  int64_t down = transposed ? 1 : columns, across = transposed ? rows : 1;
  dnnl_dims_t dim = { rows, columns }, stride = { down, across };
  dnnl_dims_t dim3 = { batch, rows, columns }, stride3 = { rows * columns, down, across };
  return batch == 1 ? layout_new(l, 2, dim, stride) : layout_new(l, 3, dim3, stride3);
}

static jfl_status matmul_layouts(const jf_dnnl_matmul *m, layouts *l)
{
  JF_TRY(matrix(&l->plain[0], m->batch, m->m, m->k, m->transpose_a));
  JF_TRY(matrix(&l->plain[1], m->batch, m->k, m->n, m->transpose_b));
  return matrix(&l->plain[2], m->batch, m->m, m->n, 0);
}

static dnnl_status_t matmul_pd(dnnl_primitive_desc_t *pd, const layouts *l)
{
  layout_ref a = ref(&l->plain[0]), b = ref(&l->plain[1]), c = ref(&l->plain[2]);
#if DNNL_VERSION_MAJOR >= 3
  return lib.matmul_primitive_desc_create(pd, lib.engine, a, b, NULL, c, lib.attr);
#else
  dnnl_matmul_desc_t d;
  dnnl_status_t s = lib.matmul_desc_init(&d, a, b, NULL, c);
  return s ? s : lib.primitive_desc_create(pd, &d, lib.attr, lib.engine, NULL);
#endif
}

static jfl_status matmul_new(const layouts *l, jf_kargs *k, size_t *scratch)
{
  static const int arg[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };
  dnnl_primitive_desc_t pd;
  JF_TRY(check(matmul_pd(&pd, l), "matmul"));
  jfl_status err = state_new(pd, l, arg, k, scratch);
  lib.primitive_desc_destroy(pd);
  return err;
}

static jfl_status matmul(const jf_dnnl_matmul *m, jf_kargs *k, size_t *scratch)
{
  layouts l;
  memset(&l, 0, sizeof l);
  jf_omp_threads(k->threads);
  jfl_status err = matmul_layouts(m, &l);
  if (err == JFL_OK) err = matmul_new(&l, k, scratch);
  layouts_free(&l);
  return err;
}

/* ---- convolutions ---- */

/* Dense strides of n extents. */
static void dense(int n, const int64_t *dim, int64_t *stride)
{
  int64_t step = 1;
  for (int i = n - 1; i >= 0; i--) {
    stride[i] = step;
    step *= dim[i];
  }
}

static jfl_status both_layouts(layouts *l, int i, int n, const dnnl_dims_t dim)
{
  dnnl_dims_t stride;
  dense(n, dim, stride);
  JF_TRY(layout_new(&l->plain[i], n, dim, stride));
  return layout_new(&l->asked[i], n, dim, NULL);
}

/* Which of the three tensors x, w, y are; the third is the result. */
typedef struct roles { int x, w, y; } roles;
static const roles role_of[] = {
  [JF_DNNL_FORWARD] = { 0, 1, 2 },
  [JF_DNNL_DATA_GRAD] = { 2, 1, 0 },
  [JF_DNNL_FILTER_GRAD] = { 0, 2, 1 }
};

static jfl_status conv_layouts(const jf_dnnl_conv *c, roles r, layouts *l)
{
  int64_t g = c->groups, in = c->in_channels / g, out = c->out_channels / g;
  dnnl_dims_t x = { c->batch, c->in_channels, c->in[0], c->in[1] };
  dnnl_dims_t y = { c->batch, c->out_channels, c->out[0], c->out[1] };
  dnnl_dims_t w = { out, in, c->kernel[0], c->kernel[1] };
  dnnl_dims_t grouped = { g, out, in, c->kernel[0], c->kernel[1] };
  JF_TRY(both_layouts(l, r.x, 4, x));
  JF_TRY(both_layouts(l, r.w, g == 1 ? 4 : 5, g == 1 ? w : grouped));
  return both_layouts(l, r.y, 4, y);
}

/* Makes the descriptor of one kind. */
static dnnl_status_t conv_pd(const jf_dnnl_conv *c, jf_dnnl_kind kind, const layouts *l,
                             dnnl_primitive_desc_t *pd)
{
  roles r = role_of[kind];
  layout_ref x = ref(&l->asked[r.x]), w = ref(&l->asked[r.w]), y = ref(&l->asked[r.y]);
  dnnl_dims_t stride = { c->stride[0], c->stride[1] };
  dnnl_dims_t gap = { c->dilation[0] - 1, c->dilation[1] - 1 };
  dnnl_dims_t before = { c->before[0], c->before[1] }, after = { c->after[0], c->after[1] };
#if DNNL_VERSION_MAJOR >= 3
  if (kind == JF_DNNL_DATA_GRAD)
    return lib.convolution_backward_data_primitive_desc_create(
      pd, lib.engine, DIRECT, x, w, y, stride, gap, before, after, NULL, lib.attr);
  if (kind == JF_DNNL_FILTER_GRAD)
    return lib.convolution_backward_weights_primitive_desc_create(
      pd, lib.engine, DIRECT, x, w, NULL, y, stride, gap, before, after, NULL, lib.attr);
  return lib.convolution_forward_primitive_desc_create(
    pd, lib.engine, dnnl_forward_training, DIRECT, x, w, NULL, y, stride, gap, before, after,
    lib.attr);
#else
  dnnl_convolution_desc_t d;
  dnnl_status_t s;
  if (kind == JF_DNNL_DATA_GRAD)
    s = lib.dilated_convolution_backward_data_desc_init(&d, DIRECT, x, w, y, stride, gap, before,
                                                        after);
  else if (kind == JF_DNNL_FILTER_GRAD)
    s = lib.dilated_convolution_backward_weights_desc_init(&d, DIRECT, x, w, NULL, y, stride, gap,
                                                           before, after);
  else
    s = lib.dilated_convolution_forward_desc_init(&d, dnnl_forward_training, DIRECT, x, w, NULL, y,
                                                  stride, gap, before, after);
  return s ? s : lib.primitive_desc_create(pd, &d, lib.attr, lib.engine, NULL);
#endif
}

static jfl_status conv_state(const jf_dnnl_conv *c, jf_dnnl_kind kind, const layouts *l,
                             jf_kargs *k, size_t *scratch)
{
  static const int arg[][3] = {
    [JF_DNNL_FORWARD] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
    [JF_DNNL_DATA_GRAD] = { DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC },
    [JF_DNNL_FILTER_GRAD] = { DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS }
  };
  dnnl_primitive_desc_t pd;
  JF_TRY(check(conv_pd(c, kind, l, &pd), "convolution"));
  jfl_status err = state_new(pd, l, arg[kind], k, scratch);
  lib.primitive_desc_destroy(pd);
  return err;
}

static jfl_status conv(const jf_dnnl_conv *c, jf_dnnl_kind kind, jf_kargs *k, size_t *scratch)
{
  layouts l;
  memset(&l, 0, sizeof l);
  jf_omp_threads(k->threads);
  jfl_status err = conv_layouts(c, role_of[kind], &l);
  if (err == JFL_OK) err = conv_state(c, kind, &l, k, scratch);
  layouts_free(&l);
  return err;
}

static const jf_dnnl functions = { matmul, conv, execute, release };

const jf_dnnl *jf_dnnl_open(void)
{
  pthread_once(&once, open_library);
  return lib.ready ? &functions : NULL;
}

#else

const jf_dnnl *jf_dnnl_open(void) { return NULL; }

#endif

int jf_dnnl_accepts(const jf_kargs *k)
{
  if (k->in[0].dtype != JFL_F32) return 0;
  for (int i = 0; i < k->n_in + k->n_out; i++)
    if (jf_numel(i < k->n_in ? &k->in[i].shape : &k->out[i - k->n_in].shape) > INT32_MAX) return 0;
  return jf_dnnl_open() != NULL;
}

void jf_dnnl_release(void *p)
{
  const jf_dnnl *d = jf_dnnl_open();
  if (d) d->release(p);
}
