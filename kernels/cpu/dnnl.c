/* oneDNN, opened with dlopen. Built with headers of version 2.x or 3.x, this opens the library of
   the same major version; built without headers, the rows that need the library accept nothing. */
#include "dnnl.h"
#include "base/walk.h"
#include "op/quantized_conv.h"

#ifdef __has_include
#if __has_include(<oneapi/dnnl/dnnl.h>)
#define HAVE_DNNL 1
#endif
#endif

#ifdef HAVE_DNNL

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

/* Bytes that must be free when the library is opened, and when it makes a kernel. It is C++, and
   where memory fails within it the process ends, but for what is kept aside (base.h). */
enum { LIBRARY_ROOM = 96 << 20, UNIT_ROOM = 16 << 20 };

/* ---- what differs between the versions ---- */

#if DNNL_VERSION_MAJOR >= 3
#define LIBRARY "libdnnl.so.3"
#define VERSION_FUNCTIONS(X)                                                        \
  X(memory_desc_create_with_strides) X(memory_desc_create_with_tag)                 \
  X(memory_desc_destroy) X(matmul_primitive_desc_create)                            \
  X(convolution_forward_primitive_desc_create)                                      \
  X(convolution_backward_data_primitive_desc_create)                                \
  X(convolution_backward_weights_primitive_desc_create)
typedef const_dnnl_memory_desc_t layout_ref;
#else
#define LIBRARY "libdnnl.so.2"
#define VERSION_FUNCTIONS(X)                                                        \
  X(memory_desc_init_by_strides) X(memory_desc_init_by_tag)                         \
  X(matmul_desc_init) X(primitive_desc_create)                                      \
  X(dilated_convolution_forward_desc_init)                                          \
  X(dilated_convolution_backward_data_desc_init)                                    \
  X(dilated_convolution_backward_weights_desc_init)
typedef const dnnl_memory_desc_t *layout_ref;
#endif
typedef dnnl_memory_desc_t onednn_layout;

#define DIRECT dnnl_convolution_direct
#define FUNCTIONS(X)                                                                \
  X(engine_create) X(stream_create) X(primitive_attr_create)                        \
  X(primitive_attr_destroy) X(primitive_attr_set_scratchpad_mode)                   \
  X(primitive_attr_set_post_ops) X(post_ops_create) X(post_ops_destroy)             \
  X(post_ops_append_sum) X(post_ops_append_binary) X(post_ops_append_eltwise)       \
  X(primitive_desc_query_md) X(primitive_desc_query) X(primitive_desc_destroy)      \
  X(primitive_create) X(primitive_destroy) X(primitive_execute)                     \
  X(reorder_primitive_desc_create) X(memory_create)                                 \
  X(memory_destroy) X(memory_set_data_handle) X(memory_get_memory_desc)             \
  X(memory_desc_equal)                                                              \
  X(memory_desc_get_size) VERSION_FUNCTIONS(X)

/* Set once by onednn_open_library, immutable afterwards. */
static struct {
#define X(f) __typeof__(&dnnl_##f) f;
  FUNCTIONS(X)
#undef X
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  int64_t block;                    /* channels that convolutions want in a block, or 0 */
  int (*get_threads)(void);         /* OpenMP's setting for the calling thread; it may be absent */
  void (*set_threads)(int n);
  int ready;
} lib;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int one_thread(void) { return 1; }

static int find_functions(void *so)
{
#define X(f) if (!jf_library_find(so, "dnnl_" #f, &lib.f)) return 0;
  FUNCTIONS(X)
#undef X
  if (!jf_library_find(so, "omp_get_max_threads", &lib.get_threads) ||
      !jf_library_find(so, "omp_set_num_threads", &lib.set_threads))
    lib.get_threads = one_thread;
  return 1;
}

static void find_block(void);

static void onednn_open_library(void)
{
  if (!jf_library_safe(LIBRARY)) return;
  jf_library_guard(jf_library_try("libstdc++.so.6"));    /* operator new */
  void *so = jf_library_spare() ? jf_library_open(LIBRARY, NULL, LIBRARY_ROOM) : NULL;
  if (!so || !find_functions(so)) return;
  jf_library_guard(so);
  jf_library_guard(jf_library_try("libgomp.so.1"));
  if (lib.engine_create(&lib.engine, dnnl_cpu, 0)) return;
  if (lib.stream_create(&lib.stream, lib.engine, dnnl_stream_default_flags)) return;
  find_block();
  lib.ready = 1;
}

static jfl_status onednn_check(dnnl_status_t s, const char *what)
{
  if (s == dnnl_success) return JFL_OK;
  if (s == dnnl_out_of_memory) return jf_fail(JFL_ENOMEM, "onednn: %s: out of memory", what);
  if (s == dnnl_runtime_error) return jf_fail(JFL_EDEVICE, "onednn: %s failed", what);
  return jf_fail(JFL_ENOSYS, "onednn: %s gave status %d", what, (int)s);
}

/* ---- layouts ---- */

static dnnl_data_type_t onednn_type(jfl_dtype t)
{
  return t == JFL_BF16 ? dnnl_bf16 : t == JFL_I8 ? dnnl_s8 : t == JFL_U8 ? dnnl_u8 : dnnl_f32;
}

/* Describes a tensor of these extents. If stride is NULL, the order of axes is that of the tag, or
   the library's choice. */
static jfl_status layout_new(onednn_layout *l, jfl_dtype dtype, int n, const dnnl_dims_t dim,
                             const int64_t *stride, dnnl_format_tag_t tag)
{
  const dnnl_data_type_t t = onednn_type(dtype);
#if DNNL_VERSION_MAJOR >= 3
  return onednn_check(stride ? lib.memory_desc_create_with_strides(l, n, dim, t, stride)
                      : lib.memory_desc_create_with_tag(l, n, dim, t, tag), "layout");
#else
  return onednn_check(stride ? lib.memory_desc_init_by_strides(l, n, dim, t, stride)
                      : lib.memory_desc_init_by_tag(l, n, dim, t, tag), "layout");
#endif
}

static layout_ref ref(const onednn_layout *l)
{
#if DNNL_VERSION_MAJOR >= 3
  return *l;
#else
  return l;
#endif
}

static void layout_free(onednn_layout *l)
{
#if DNNL_VERSION_MAJOR >= 3
  if (*l) lib.memory_desc_destroy(*l);
#else
  (void)l;
#endif
}

/* The tensors of a problem. Each has an argument number in the library, a place in
   jf_primitive_run, the layout that the caller has it in, and the layout that the library is asked
   for. */
typedef enum onednn_slot {
  A, B, C, BIAS, RESIDUAL, DBIAS, FACTOR, NUMBER, RATIO, SHIFT, N_SLOT
} onednn_slot;
typedef struct onednn_operand {
  int arg;
  onednn_slot slot;
  onednn_layout given, asked;
} onednn_operand;

/* What is asked of the library. To a product it adds what is in memory, adds or multiplies by the
   tensors that are of post-operations, and applies an activation, or relu; then it rounds to whole
   numbers that stand for 0 by `zero`, if that is not 0. Where `first` is int8 or uint8, it rounds
   to that after it has multiplied by FACTOR, less first_zero. */
typedef struct problem {
  jf_primitive_kind kind;
  onednn_operand v[N_SLOT]; int n;
  int fixed;                        /* all layouts are the caller's, none the library's choice */
  int quick;                        /* nothing but generated code will do */
  int add, relu, zero, first_zero;
  jfl_dtype first;
  const char *act;
} problem;

static int is_written(onednn_slot s) { return s == C || s == DBIAS; }

static onednn_operand *add_operand(problem *p, int arg, onednn_slot s)
{
  p->v[p->n] = (onednn_operand){ .arg = arg, .slot = s };
  return &p->v[p->n++];
}

static onednn_operand *operand_at(problem *p, onednn_slot s)
{
  for (int i = 0; i < p->n; i++)
    if (p->v[i].slot == s) return &p->v[i];
  return NULL;
}

/* The layout that the library is asked for; NULL if there is no such tensor. */
static layout_ref asked_layout(problem *p, onednn_slot s)
{
  const onednn_operand *o = operand_at(p, s);
  return o ? ref(&o->asked) : NULL;
}

/* Describes a tensor that the library takes as it is. */
static jfl_status plain_layout(onednn_operand *o, jfl_dtype t, int n, const dnnl_dims_t dim,
                               const int64_t *stride)
{
  JF_TRY(layout_new(&o->given, t, n, dim, stride, dnnl_format_tag_undef));
  return layout_new(&o->asked, t, n, dim, stride, dnnl_format_tag_undef);
}

static void problem_free(problem *p)
{
  for (int i = 0; i < p->n; i++) {
    layout_free(&p->v[i].given);
    layout_free(&p->v[i].asked);
  }
}

/* ---- attributes ---- */

/* The library's number for an activation, or 0. Relu has none here: the library's relu makes 0 of a
   NaN, which would hide that training has failed. */
static dnnl_alg_kind_t activation(const char *act)
{
  static const struct { const char *op; dnnl_alg_kind_t kind; } table[] = {
    { "tanh", dnnl_eltwise_tanh }, { "sigmoid", dnnl_eltwise_logistic },
    { "gelu", dnnl_eltwise_gelu_erf },
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (!strcmp(table[i].op, act)) return table[i].kind;
  return dnnl_alg_kind_undef;
}

static int activates(const char *act) { return activation(act) != dnnl_alg_kind_undef; }

static jfl_status append_function(dnnl_post_ops_t ops, dnnl_alg_kind_t f, float alpha, float beta)
{
#if DNNL_VERSION_MAJOR >= 3
  return onednn_check(lib.post_ops_append_eltwise(ops, f, alpha, beta), "function");
#else
  return onednn_check(lib.post_ops_append_eltwise(ops, 1, f, alpha, beta), "function");
#endif
}

/* Makes the primitive add its result to what is in memory. */
static jfl_status append_sum(dnnl_post_ops_t ops)
{
#if DNNL_VERSION_MAJOR >= 3
  return onednn_check(lib.post_ops_append_sum(ops, 1, 0, dnnl_data_type_undef), "sum");
#else
  return onednn_check(lib.post_ops_append_sum(ops, 1), "sum");
#endif
}

/* Rounds to integers of p->first, less the one that stands for 0. */
static jfl_status append_first(dnnl_post_ops_t ops, const problem *p)
{
  const float least = (float)(jf_least_byte(p->first) - p->first_zero);
  JF_TRY(append_function(ops, dnnl_eltwise_round, 0, 0));
  return append_function(ops, dnnl_eltwise_clip, least, least + 255);
}

/* The operands of post-operations are in their order. */
static jfl_status onednn_append(dnnl_post_ops_t ops, const problem *p)
{
  if (p->add) JF_TRY(append_sum(ops));
  for (const onednn_operand *o = p->v; o < p->v + p->n; o++) {
    const int adds = o->slot == RESIDUAL || o->slot == SHIFT;
    if (!adds && o->slot != FACTOR && o->slot != NUMBER && o->slot != RATIO) continue;
    const dnnl_alg_kind_t kind = adds ? dnnl_binary_add : dnnl_binary_mul;
    JF_TRY(onednn_check(lib.post_ops_append_binary(ops, kind, ref(&o->asked)), "operation"));
    if (o->slot == FACTOR && jf_is_byte(p->first)) JF_TRY(append_first(ops, p));
  }
  if (p->act) {
    if (!activates(p->act)) return jf_fail(JFL_ENOSYS, "onednn: no activation '%s'", p->act);
    JF_TRY(append_function(ops, activation(p->act), 0, 0));
  }
  if (p->relu) JF_TRY(append_function(ops, dnnl_eltwise_relu, 0, 0));
  if (!p->zero) return JFL_OK;
  JF_TRY(append_function(ops, dnnl_eltwise_round, 0, 0));
  return append_function(ops, dnnl_eltwise_linear, 1, (float)p->zero);
}

/* Makes the attributes of a primitive: what it does to a product, and scratchpads that the caller
   provides. */
static jfl_status attr_new(const problem *p, dnnl_primitive_attr_t *out)
{
  dnnl_post_ops_t ops;
  if (!jf_library_spare() || !jf_library_room(UNIT_ROOM))
    return jf_fail(JFL_ENOMEM, "onednn: out of memory: too little is free to make a kernel");
  JF_TRY(onednn_check(lib.primitive_attr_create(out), "attributes"));
  jfl_status err =
      onednn_check(lib.primitive_attr_set_scratchpad_mode(*out, dnnl_scratchpad_mode_user),
                   "scratchpad");
  if (err == JFL_OK) err = onednn_check(lib.post_ops_create(&ops), "post-operations");
  if (err == JFL_OK) {
    err = onednn_append(ops, p);
    if (err == JFL_OK)
      err = onednn_check(lib.primitive_attr_set_post_ops(*out, ops), "post-operations");
    lib.post_ops_destroy(ops);
  }
  if (err != JFL_OK) lib.primitive_attr_destroy(*out);
  return err;
}

/* ---- units ---- */

/* One tensor of a primitive and, if the primitive wants another layout than the caller's, the
   conversion between the two and the place of the converted tensor in scratch. */
typedef struct tensor {
  onednn_slot slot;
  dnnl_primitive_t convert;
  size_t offset, size;
} tensor;

/* What a worker has of its own: memories, which know the addresses that they are set to now.
   `inner` is what the primitive works on where that is not `given`. A plan may run several times at
   once: whoever finds a worker taken uses one of `more`, which are made then. */
typedef struct onednn_worker {
  atomic_int taken;
  struct onednn_worker *_Atomic more;
  dnnl_memory_t given[N_SLOT], inner[N_SLOT], pad;
  const void *data[N_SLOT];
  char *scratch;
  void *ready;
  int threads;                      /* OpenMP's setting before */
  dnnl_exec_arg_t arg[N_SLOT + 1];  /* the tensors, then pad */
} onednn_worker;

typedef struct onednn_primitive {
  dnnl_primitive_t primitive;
  tensor tensor[N_SLOT];
  int n, b;                         /* how many; which of them is the factor b */
  size_t pad_offset;
  int n_worker;
  onednn_worker worker[];
} onednn_primitive;

static void onednn_end(const onednn_primitive *u, onednn_worker *l)
{
  for (int i = 0; i < u->n; i++) {
    lib.memory_destroy(l->inner[i]);
    lib.memory_destroy(l->given[i]);
  }
  lib.memory_destroy(l->pad);
}

static void onednn_release(jf_primitive_any *unit)
{
  onednn_primitive *u = unit;
  if (!u) return;
  for (onednn_worker *l = u->worker; l < u->worker + u->n_worker; l++) {
    for (onednn_worker *more = l->more, *next; more; more = next) {
      next = more->more;
      onednn_end(u, more);
      jf_free(more);
    }
    onednn_end(u, l);
  }
  for (int i = 0; i < u->n; i++) lib.primitive_destroy(u->tensor[i].convert);
  lib.primitive_destroy(u->primitive);
  jf_free(u);
}

/* Adds `size` bytes to the scratch that is needed; returns where they start. */
static size_t onednn_reserve(size_t *scratch, size_t size)
{
  size_t at = *scratch;
  *scratch += (size + 63) & ~(size_t)63;
  return at;
}

static jfl_status convert_new(dnnl_primitive_t *out, layout_ref from, layout_ref to)
{
  dnnl_primitive_desc_t pd;
  JF_TRY(
      onednn_check(lib.reorder_primitive_desc_create(&pd, from, lib.engine, to, lib.engine, NULL),
                   "reorder"));
  dnnl_status_t s = lib.primitive_create(out, pd);
  lib.primitive_desc_destroy(pd);
  return onednn_check(s, "reorder");
}

/* Makes a memory of that layout as argument i of a worker. */
static jfl_status memory_new(onednn_worker *l, dnnl_memory_t *m, layout_ref layout, int i, int arg)
{
  JF_TRY(onednn_check(lib.memory_create(m, layout, lib.engine, DNNL_MEMORY_NONE), "memory"));
  l->arg[i] = (dnnl_exec_arg_t){ arg, *m };
  return JFL_OK;
}

static jfl_status memory_copy(const onednn_primitive *u, onednn_worker *l, dnnl_memory_t from,
                              dnnl_memory_t *to, int i)
{
  layout_ref layout;
  if (!from) return JFL_OK;
  JF_TRY(onednn_check(lib.memory_get_memory_desc(from, &layout), "memory"));
  return memory_new(l, to, layout, i, u->worker->arg[i].arg);
}

/* Makes a worker like the first one. */
static jfl_status onednn_worker_copy(const onednn_primitive *u, onednn_worker *l)
{
  for (int i = 0; i < u->n; i++) {
    JF_TRY(memory_copy(u, l, u->worker->given[i], &l->given[i], i));
    JF_TRY(memory_copy(u, l, u->worker->inner[i], &l->inner[i], i));
  }
  return memory_copy(u, l, u->worker->pad, &l->pad, u->n);
}

static jfl_status tensor_new(onednn_primitive *u, const onednn_operand *o, dnnl_primitive_desc_t pd,
                             size_t *scratch)
{
  int i = u->n++;
  tensor *t = &u->tensor[i];
  layout_ref given = ref(&o->given);
  layout_ref wanted = lib.primitive_desc_query_md(pd, dnnl_query_exec_arg_md, o->arg);
  t->slot = o->slot;
  if (o->slot == B) u->b = i;
  JF_TRY(memory_new(u->worker, &u->worker->given[i], given, i, o->arg));
  if (lib.memory_desc_equal(given, wanted)) return JFL_OK;
  JF_TRY(memory_new(u->worker, &u->worker->inner[i], wanted, i, o->arg));
  JF_TRY(is_written(o->slot) ? convert_new(&t->convert, wanted, given)
                             : convert_new(&t->convert, given, wanted));
  t->size = lib.memory_desc_get_size(wanted);
  t->offset = onednn_reserve(scratch, t->size);
  return JFL_OK;
}

static jfl_status onednn_fill(onednn_primitive *u, dnnl_primitive_desc_t pd, const problem *p,
                              size_t *scratch)
{
  JF_TRY(onednn_check(lib.primitive_create(&u->primitive, pd), "primitive"));
  for (int i = 0; i < p->n; i++) JF_TRY(tensor_new(u, &p->v[i], pd, scratch));
  layout_ref pad = lib.primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
  JF_TRY(memory_new(u->worker, &u->worker->pad, pad, u->n, DNNL_ARG_SCRATCHPAD));
  for (int j = 1; j < u->n_worker; j++) JF_TRY(onednn_worker_copy(u, &u->worker[j]));
  u->pad_offset = onednn_reserve(scratch, lib.memory_desc_get_size(pad));
  return JFL_OK;
}

static jfl_status unit_new(dnnl_primitive_desc_t pd, const problem *p, jf_primitive_make *make)
{
  onednn_primitive *u = jf_new(sizeof *u + (size_t)make->workers * sizeof *u->worker);
  if (!u) return jf_fail(JFL_ENOMEM, "onednn: out of memory");
  size_t need = 0;
  u->n_worker = make->workers;
  jfl_status err = onednn_fill(u, pd, p, &need);
  if (err != JFL_OK) {
    onednn_release(u);
    return err;
  }
  make->unit = u;
  make->scratch = need;
  make->ready = u->tensor[u->b].size;
  return JFL_OK;
}

/* Whether the name of the library's implementation begins with these letters. "jit", "brgconv" and
   "brdgmm" are generated code, which runs post-operations on the fly; other implementations add a
   residual in a slow loop. "ref" are plain loops, which accept any layout. */
static int begins(dnnl_primitive_desc_t pd, const char *with)
{
  const char *name = "";
  lib.primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name);
  return !strncmp(name, with, strlen(with));
}

/* Asks for a primitive by a function that describes one of `what`. */
typedef dnnl_status_t (*onednn_describe)(const void *what, problem *p, dnnl_primitive_attr_t attr,
                                         dnnl_primitive_desc_t *pd);
static jfl_status problem_solve(problem *p, onednn_describe describe, const void *what,
                                jf_primitive_make *make)
{
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr;
  JF_TRY(attr_new(p, &attr));
  jfl_status err = onednn_check(describe(what, p, attr, &pd), "description");
  lib.primitive_attr_destroy(attr);
  if (err != JFL_OK) return err;
  if (p->quick && !begins(pd, "jit") && !begins(pd, "br"))
    err = jf_fail(JFL_ENOSYS, "onednn: nothing but plain loops");
  else if (p->fixed && begins(pd, "ref"))
    err = jf_fail(JFL_ENOSYS, "onednn: nothing fast in these layouts");
  else err = unit_new(pd, p, make);
  lib.primitive_desc_destroy(pd);
  return err;
}

static onednn_worker *onednn_worker_new(const onednn_primitive *u)
{
  onednn_worker *l = jf_new(sizeof *l);
  if (!l || !onednn_worker_copy(u, l)) return l;
  onednn_end(u, l);
  jf_free(l);
  return NULL;
}

/* The worker after this one; NULL when memory is out. */
static onednn_worker *onednn_worker_more(const onednn_primitive *u, onednn_worker *l)
{
  onednn_worker *more = l->more, *own;
  if (more || !(own = onednn_worker_new(u))) return more;
  if (atomic_compare_exchange_strong(&l->more, &more, own)) return own;
  onednn_end(u, own);
  jf_free(own);
  return more;
}

/* The worker, or one after it that nobody has. */
static onednn_worker *onednn_take(onednn_primitive *u, int worker)
{
  onednn_worker *l = &u->worker[worker];
  while (l && atomic_exchange(&l->taken, 1)) l = onednn_worker_more(u, l);
  return l;
}

static jfl_status point(dnnl_memory_t m, const void *to)
{
  return onednn_check(lib.memory_set_data_handle(m, (void *)to), "data handle");
}

/* Sets the addresses of the tensors. Plans seldom move their memory, so most calls change
   nothing. */
static jfl_status onednn_point(const onednn_primitive *u, onednn_worker *l,
                               const void *const *data, char *scratch, void *ready)
{
  const int moved = l->scratch != scratch || l->ready != ready;
  for (int i = 0; i < u->n; i++) {
    const tensor *t = &u->tensor[i];
    const void *to = data[t->slot];
    if (l->data[i] != to) JF_TRY(point(l->given[i], to));
    l->data[i] = to;
    if (t->convert && moved)
      JF_TRY(point(l->inner[i], ready && i == u->b ? ready : scratch + t->offset));
  }
  if (moved) JF_TRY(point(l->pad, scratch + u->pad_offset));
  l->scratch = scratch;
  l->ready = ready;
  return JFL_OK;
}

/* Converts tensor i for the primitive, or from what it wrote. */
static jfl_status onednn_convert(const onednn_primitive *u, const onednn_worker *l, int i)
{
  const int written = is_written(u->tensor[i].slot);
  dnnl_exec_arg_t arg[] = { { DNNL_ARG_FROM, written ? l->inner[i] : l->given[i] },
                            { DNNL_ARG_TO, written ? l->given[i] : l->inner[i] } };
  return onednn_check(lib.primitive_execute(u->tensor[i].convert, lib.stream, 2, arg), "reorder");
}

/* Converts the tensors that the primitive reads, or with `written` those that it wrote. */
static jfl_status onednn_convert_all(const onednn_primitive *u, const onednn_worker *l, int written)
{
  for (int i = 0; i < u->n; i++)
    if (u->tensor[i].convert && is_written(u->tensor[i].slot) == written &&
        !(l->ready && i == u->b))
      JF_TRY(onednn_convert(u, l, i));
  return JFL_OK;
}

static jfl_status run_alone(const onednn_primitive *u, onednn_worker *l, const void *const *data,
                            char *scratch, void *ready)
{
  JF_TRY(onednn_point(u, l, data, scratch, ready));
  JF_TRY(onednn_convert_all(u, l, 0));
  JF_TRY(
      onednn_check(lib.primitive_execute(u->primitive, lib.stream, u->n + 1, l->arg), "execute"));
  return onednn_convert_all(u, l, 1);
}

/* The library would run loops on threads of its own, as many as OpenMP is set to on the calling
   thread. */
static int alone(void)
{
  int before = lib.get_threads();
  if (before != 1) lib.set_threads(1);
  return before;
}

static void not_alone(int before)
{
  if (before != 1) lib.set_threads(before);
}

/* Takes a worker and sets the threads. */
static jfl_status onednn_enter(onednn_primitive *u, int worker, onednn_worker **l)
{
  if (!jf_library_spare() || !(*l = onednn_take(u, worker)))
    return jf_fail(JFL_ENOMEM, "onednn: out of memory");
  (*l)->threads = alone();
  return JFL_OK;
}

static jfl_status onednn_leave(onednn_worker *l, jfl_status s)
{
  not_alone(l->threads);
  atomic_store(&l->taken, 0);
  return s;
}

static jfl_status execute(jf_primitive_any *unit, int worker, void *scratch, jf_primitive_run r)
{
  const void *const data[N_SLOT] = { [A] = r.a, [B] = r.b, [C] = r.c, [BIAS] = r.bias,
                                     [RESIDUAL] = r.residual, [DBIAS] = r.dbias,
                                     [FACTOR] = r.factor, [NUMBER] = r.number,
                                     [RATIO] = r.ratio, [SHIFT] = r.shift };
  onednn_worker *l;
  JF_TRY(onednn_enter(unit, worker, &l));
  return onednn_leave(l, run_alone(unit, l, data, scratch, r.ready));
}

static jfl_status onednn_convert_b(const onednn_primitive *u, onednn_worker *l, const void *b,
                                   void *to)
{
  l->data[u->b] = NULL;
  l->scratch = NULL;               /* the next run sets all addresses */
  JF_TRY(point(l->given[u->b], b));
  JF_TRY(point(l->inner[u->b], to));
  return onednn_convert(u, l, u->b);
}

static jfl_status onednn_ready(jf_primitive_any *unit, int worker, const void *b, void *to)
{
  onednn_worker *l;
  JF_TRY(onednn_enter(unit, worker, &l));
  return onednn_leave(l, onednn_convert_b(unit, l, b, to));
}

/* Hashes a layout that is plain or in blocks; 0: it is another. */
static uint64_t layout_hash(uint64_t h, layout_ref l)
{
#if DNNL_VERSION_MAJOR >= 3
  return (void)h, (void)l, 0;
#else
  const dnnl_blocking_desc_t *b = &l->format_desc.blocking;
  const size_t axes = (size_t)l->ndims * sizeof(dnnl_dim_t);
  const size_t blocks = (size_t)b->inner_nblks * sizeof(dnnl_dim_t);
  if (!h || l->format_kind != dnnl_blocked || l->offset0) return 0;
  h = jf_hash(jf_hash(h, &l->extra.flags, sizeof l->extra.flags), &l->extra.compensation_mask,
              sizeof l->extra.compensation_mask);
  h = jf_hash(jf_hash(h, &l->data_type, sizeof l->data_type), l->dims, axes);
  h = jf_hash(jf_hash(h, l->padded_dims, axes), b->strides, axes);
  return jf_hash(jf_hash(h, b->inner_blks, blocks), b->inner_idxs, blocks);
#endif
}

static uint64_t onednn_form(const jf_primitive_any *unit)
{
  const onednn_primitive *u = unit;
  layout_ref from, to;
  if (!u->tensor[u->b].convert ||
      lib.memory_get_memory_desc(u->worker->given[u->b], &from) ||
      lib.memory_get_memory_desc(u->worker->inner[u->b], &to)) return 0;
  return layout_hash(layout_hash(5, from), to);
}

/* ---- products ---- */

/* Describes matrices, each `apart` elements after the one before, whose lines are `lead` elements
   apart; with `transposed`, they are stored by columns. Those of a single product are described
   without a batch axis, as the library is faster then. */
static jfl_status matrix(onednn_operand *o, const jf_primitive_matmul *m, jfl_dtype t,
                         const int64_t size[3], jf_primitive_lines at, int transposed)
{
  const int64_t step[] = { at.apart, transposed ? 1 : at.lead, transposed ? at.lead : 1 };
  const int n = m->batch == 1 ? 2 : 3;
  dnnl_dims_t dim = { 0 }, stride = { 0 };
  for (int i = 0; i < n; i++) {
    dim[i] = size[3 - n + i];
    stride[i] = step[3 - n + i];
  }
  return plain_layout(o, t, n, dim, stride);
}

static jfl_status matmul_operands(const jf_primitive_matmul *m, problem *p)
{
  const int64_t a[] = { m->batch, m->m, m->k }, b[] = { m->batch, m->k, m->n };
  const int64_t c[] = { m->batch, m->m, m->n }, bias[] = { 1, 1, m->n };
  JF_TRY(matrix(add_operand(p, DNNL_ARG_SRC, A), m, m->from, a, m->a, m->transpose_a));
  JF_TRY(matrix(add_operand(p, DNNL_ARG_WEIGHTS, B), m, m->from, b, m->b, m->transpose_b));
  JF_TRY(matrix(add_operand(p, DNNL_ARG_DST, C), m, m->to, c, m->c, 0));
  if (m->epilogue.bias)
    JF_TRY(matrix(add_operand(p, DNNL_ARG_BIAS, BIAS), m, m->to, bias,
                  (jf_primitive_lines){ m->n, m->n }, 0));
  if (!m->epilogue.residual) return JFL_OK;
  return matrix(add_operand(p, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, RESIDUAL), m,
                m->to, c, m->c, 0);
}

static dnnl_status_t matmul_describe(const void *what, problem *p, dnnl_primitive_attr_t attr,
                                     dnnl_primitive_desc_t *pd)
{
  layout_ref a = asked_layout(p, A), b = asked_layout(p, B);
  layout_ref c = asked_layout(p, C), bias = asked_layout(p, BIAS);
  (void)what;
#if DNNL_VERSION_MAJOR >= 3
  return lib.matmul_primitive_desc_create(pd, lib.engine, a, b, bias, c, attr);
#else
  dnnl_matmul_desc_t d;
  dnnl_status_t s = lib.matmul_desc_init(&d, a, b, bias, c);
  return s ? s : lib.primitive_desc_create(pd, &d, attr, lib.engine, NULL);
#endif
}

static jfl_status onednn_matmul(const jf_primitive_matmul *m, jf_primitive_make *make)
{
  problem p = { .add = m->add, .act = m->epilogue.act };
  int before = alone();
  jfl_status err = matmul_operands(m, &p);
  if (err == JFL_OK) err = problem_solve(&p, matmul_describe, m, make);
  not_alone(before);
  problem_free(&p);
  return err;
}

/* ---- convolutions ---- */

/* Which tensors x, w and y are, and their argument numbers in the library. */
typedef struct roles { onednn_slot x, w, y; int arg_x, arg_w, arg_y; } roles;
static const roles role_of[] = {
  [JF_UNIT_FORWARD] = { A, B, C, DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST },
  [JF_UNIT_DATA_GRAD] = { C, B, A, DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST },
  [JF_UNIT_FILTER_GRAD] = { A, C, B, DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST }
};

/* The extents of a tensor in the library's order of axes, and the steps of the caller's. */
typedef struct onednn_axes { int n; dnnl_dims_t dim, stride; } onednn_axes;

/* A tensor of images or filters, channels and the convolution's spatial axes. With more than one
   group, these are an axis in front. */
static onednn_axes axes_of(const jf_primitive_conv *c, int64_t groups, int64_t n, int64_t channels,
                           const int64_t size[3])
{
  const int first = groups > 1;
  onednn_axes x = { .n = first + 2 + c->axes };
  int64_t step = c->last ? channels : 1;
  for (int i = 0; i < c->axes; i++) {
    const int axis = x.n - 1 - i;
    x.dim[axis] = size[2 - i];
    x.stride[axis] = step;
    step *= size[2 - i];
  }
  x.dim[first + 1] = channels;
  x.stride[first + 1] = c->last ? 1 : step;
  x.dim[first] = n;
  x.stride[first] = c->last ? step : step * channels;
  x.dim[0] = first ? groups : n;
  x.stride[0] = first ? n * x.stride[first] : x.stride[first];
  return x;
}

/* Describes an operand in the caller's layout, which is that of a tag or plain. For a plain one, or
   with `free` for any, the library may choose another layout; but channels that are last stay so
   unless `free` is set. */
static jfl_status conv_operand(onednn_operand *o, const jf_primitive_conv *c, const onednn_axes *x,
                               dnnl_format_tag_t tag, int free)
{
  const int plain = tag == dnnl_format_tag_any, kept = plain && c->last && !free;
  const jfl_dtype t = o->slot == B && c->scaled ? JFL_I8
                    : o->slot == A || o->slot == B ? c->from
                    : o->slot == RESIDUAL && c->scaled ? c->residual : c->to;
  JF_TRY(layout_new(&o->given, t, x->n, x->dim, plain ? x->stride : NULL, tag));
  return layout_new(&o->asked, t, x->n, x->dim, kept ? x->stride : NULL,
                    free ? dnnl_format_tag_any : tag);
}

static dnnl_format_tag_t onednn_blocked(int64_t block)
{
  return block == 16 ? dnnl_aBcd16b : block == 8 ? dnnl_aBcd8b : dnnl_format_tag_undef;
}

/* The tag of packed filters: both kinds of channels in blocks, or output channels alone. */
static dnnl_format_tag_t onednn_packed(int64_t block, int both)
{
  if (block == 16) return both ? dnnl_ABcd16b16a : dnnl_Acdb16a;
  return block == 8 ? both ? dnnl_ABcd8b8a : dnnl_Acdb8a : dnnl_format_tag_undef;
}

static jfl_status vector(onednn_operand *o, const jf_primitive_conv *c)
{
  const dnnl_dims_t dim = { c->out_channels }, stride = { 1 };
  return plain_layout(o, c->scaled ? JFL_F32 : c->to, 1, dim, stride);
}

static jfl_status conv_filters(const jf_primitive_conv *c, onednn_operand *o, int free)
{
  const int64_t g = c->groups, in = c->in_channels / g;
  const onednn_axes w = axes_of(c, g, c->out_channels / g, in, c->kernel);
  dnnl_format_tag_t tag =
      c->packed ? onednn_packed(c->block, in % c->block == 0) : dnnl_format_tag_any;
  return conv_operand(o, c, &w, tag, free || c->last || (o->slot == B && c->from == JFL_BF16));
}

/* A tensor of float32 with n channels that broadcasts: what a scaled convolution multiplies by as
   post-operation number i. */
static jfl_status scaled_line(problem *p, int i, onednn_slot slot, int64_t n)
{
  onednn_operand *o = add_operand(p, DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1, slot);
  const dnnl_dims_t dim = { 1, n, 1, 1 }, stride = { n, 1, n, n };    /* channels last */
  return plain_layout(o, JFL_F32, 4, dim, stride);
}

/* A shift is a tensor, too, since oneDNN 2.6 confuses two linear functions of a primitive. */
static jfl_status scaled_operands(const jf_primitive_conv *c, const onednn_axes *y, problem *p)
{
  JF_TRY(vector(add_operand(p, DNNL_ARG_BIAS, BIAS), c));
  JF_TRY(scaled_line(p, 0, FACTOR, c->out_channels));
  if (!c->epilogue.residual) return JFL_OK;
  int i = 1;
  if (jf_is_byte(c->first)) {
    i += 2;                            /* rounding and clipping */
    JF_TRY(scaled_line(p, i++, RATIO, 1));
  }
  onednn_operand *o = add_operand(p, DNNL_ARG_ATTR_MULTIPLE_POST_OP(i) | DNNL_ARG_SRC_1, RESIDUAL);
  JF_TRY(conv_operand(o, c, y, dnnl_format_tag_any, 0));
  JF_TRY(scaled_line(p, ++i, SHIFT, 1));
  return scaled_line(p, ++i, NUMBER, 1);
}

/* Describes x, w and y, then the tensors that the epilogue adds. Filters of bfloat16 lie in pairs
   of input channels, so they are always converted. */
static jfl_status conv_operands(const jf_primitive_conv *c, int free, problem *p)
{
  const roles r = role_of[p->kind];
  const jf_epilogue *e = &c->epilogue;
  const onednn_axes x = axes_of(c, 1, c->batch, c->in_channels, c->in);
  const onednn_axes y = axes_of(c, 1, c->batch, c->out_channels, c->out);
  dnnl_format_tag_t tag_y = c->block_y ? onednn_blocked(c->block) : dnnl_format_tag_any;
  JF_TRY(conv_operand(add_operand(p, r.arg_x, r.x), c, &x,
                      c->block_x ? onednn_blocked(c->block) : dnnl_format_tag_any, free));
  JF_TRY(conv_filters(c, add_operand(p, r.arg_w, r.w), free || p->kind == JF_UNIT_DATA_GRAD));
  JF_TRY(conv_operand(add_operand(p, r.arg_y, r.y), c, &y, tag_y, free));
  if (c->scaled) return scaled_operands(c, &y, p);
  if (e->bias)
    JF_TRY(vector(p->kind == JF_UNIT_FILTER_GRAD ? add_operand(p, DNNL_ARG_DIFF_BIAS, DBIAS)
                                                 : add_operand(p, DNNL_ARG_BIAS, BIAS), c));
  if (!e->residual) return JFL_OK;
  return conv_operand(add_operand(p, DNNL_ARG_ATTR_MULTIPLE_POST_OP(0) | DNNL_ARG_SRC_1, RESIDUAL),
                      c, &y, tag_y, free);
}

static dnnl_status_t conv_describe(const void *what, problem *p, dnnl_primitive_attr_t attr,
                                   dnnl_primitive_desc_t *pd)
{
  const jf_primitive_conv *c = what;
  const jf_primitive_kind kind = p->kind;
  const roles r = role_of[kind];
  layout_ref x = asked_layout(p, r.x), w = asked_layout(p, r.w);
  layout_ref y = asked_layout(p, r.y);
  layout_ref bias = asked_layout(p, kind == JF_UNIT_FORWARD ? BIAS : DBIAS);
  dnnl_dims_t stride, gap, before, after;
  for (int i = 0, from = 3 - c->axes; i < c->axes; i++) {
    stride[i] = c->stride[from + i];
    gap[i] = c->dilation[from + i] - 1;
    before[i] = c->before[from + i];
    after[i] = c->after[from + i];
  }
#if DNNL_VERSION_MAJOR >= 3
  if (kind == JF_UNIT_DATA_GRAD)
    return lib.convolution_backward_data_primitive_desc_create(
      pd, lib.engine, DIRECT, x, w, y, stride, gap, before, after, NULL, attr);
  if (kind == JF_UNIT_FILTER_GRAD)
    return lib.convolution_backward_weights_primitive_desc_create(
      pd, lib.engine, DIRECT, x, w, bias, y, stride, gap, before, after, NULL, attr);
  return lib.convolution_forward_primitive_desc_create(
    pd, lib.engine, dnnl_forward_training, DIRECT, x, w, bias, y, stride, gap, before, after, attr);
#else
  dnnl_convolution_desc_t d;
  dnnl_status_t s;
  if (kind == JF_UNIT_DATA_GRAD)
    s = lib.dilated_convolution_backward_data_desc_init(&d, DIRECT, x, w, y, stride, gap, before,
                                                        after);
  else if (kind == JF_UNIT_FILTER_GRAD)
    s = lib.dilated_convolution_backward_weights_desc_init(&d, DIRECT, x, w, bias, y, stride, gap,
                                                           before, after);
  else
    s = lib.dilated_convolution_forward_desc_init(&d, dnnl_forward_training, DIRECT, x, w, bias, y,
                                                  stride, gap, before, after);
  return s ? s : lib.primitive_desc_create(pd, &d, attr, lib.engine, NULL);
#endif
}

static jfl_status conv_try(const jf_primitive_conv *c, jf_primitive_kind kind, int free,
                           jf_primitive_make *make)
{
  const int by_channel = c->groups > 1 && c->groups == c->in_channels;
  problem p = { .kind = kind, .fixed = !free, .act = c->epilogue.act, .relu = c->relu,
                .zero = c->zero, .first = c->scaled ? c->first : JFL_F32,
                .first_zero = c->first_zero };
  p.quick = c->scaled || c->epilogue.residual || (by_channel && kind == JF_UNIT_FILTER_GRAD);
  jfl_status err = conv_operands(c, free, &p);
  if (err == JFL_OK) err = problem_solve(&p, conv_describe, c, make);
  problem_free(&p);
  return err;
}

/* Makes a convolution in the caller's layouts; if that fails or is slow, in layouts that the
   library chooses, with conversions. */
static jfl_status onednn_conv(const jf_primitive_conv *c, jf_primitive_kind kind,
                              jf_primitive_make *make)
{
  int before = alone();
  jfl_status s = conv_try(c, kind, 0, make);
  if (s != JFL_OK && s != JFL_ENOMEM && !c->scaled) s = conv_try(c, kind, 1, make);
  not_alone(before);
  return s;
}

/* Whether the primitive wants its input in blocks of that many channels. */
static int wants_block(dnnl_primitive_desc_t pd, int64_t block)
{
  dnnl_dims_t x = { 1, 32, 14, 14 };
  onednn_layout l;
  memset(&l, 0, sizeof l);
  if (layout_new(&l, JFL_F32, 4, x, NULL, onednn_blocked(block)) != JFL_OK) return 0;
  layout_ref wanted = lib.primitive_desc_query_md(pd, dnnl_query_exec_arg_md, DNNL_ARG_SRC);
  int same = lib.memory_desc_equal(ref(&l), wanted);
  layout_free(&l);
  return same;
}

/* Finds the block that the library prefers by asking it for an ordinary convolution. */
static void find_block(void)
{
  const jf_primitive_conv c = {
    .batch = 1, .groups = 1, .in_channels = 32, .out_channels = 32, .in = { 1, 14, 14 },
    .out = { 1, 14, 14 }, .kernel = { 1, 3, 3 }, .stride = { 1, 1, 1 }, .dilation = { 1, 1, 1 },
    .before = { 0, 1, 1 }, .after = { 0, 1, 1 }, .axes = 2
  };
  problem p = { .kind = JF_UNIT_FORWARD };
  dnnl_primitive_desc_t pd;
  if (conv_operands(&c, 1, &p) == JFL_OK && !conv_describe(&c, &p, NULL, &pd)) {
    lib.block = wants_block(pd, 16) ? 16 : wants_block(pd, 8) ? 8 : 0;
    lib.primitive_desc_destroy(pd);
  }
  problem_free(&p);
}

static int64_t onednn_block(void) { return lib.block; }

static const jf_primitives functions = { onednn_matmul,   onednn_conv, execute,     onednn_release,
                                   onednn_ready, onednn_form, activates,   onednn_block, 0 };

const jf_primitives *jf_dnnl_open(void)
{
  pthread_once(&once, onednn_open_library);
  return lib.ready ? &functions : NULL;
}

#else

const jf_primitives *jf_dnnl_open(void) { return NULL; }

#endif

/* Whether the processor multiplies bfloat16, and both operands are that. */
static int onednn_bf16(const jf_kargs *k)
{
#if defined(__x86_64__)
  return k->n_in > 1 && k->in[1].dtype == JFL_BF16 && __builtin_cpu_supports("avx512bf16");
#else
  return (void)k, 0;
#endif
}

static int onednn_fits(const jf_kargs *k)
{
  for (int i = 0; i < k->n_in + k->n_out; i++)
    if (jf_numel(i < k->n_in ? &k->in[i].shape : &k->out[i - k->n_in].shape) > INT32_MAX) return 0;
  return jf_dnnl_open() != NULL;
}

int jf_dnnl_accepts(const jf_kargs *k)
{
  const int bf16 = k->in[0].dtype == JFL_BF16;
  return (k->in[0].dtype == JFL_F32 || (bf16 && onednn_bf16(k))) && onednn_fits(k);
}

int jf_dnnl_accepts_bytes(const jf_kargs *k)
{
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512vnni") && onednn_fits(k);
#else
  return (void)k, 0;
#endif
}
