/* Optimizer updates. A kernel made of the rule's formula updates many parameters in one launch: its
   parameter is a table of them, and each block takes a chunk of one. For the rule of momentum the
   source reads

       typedef float T;
       struct part { void *data[3]; int64_t n, first; };
       struct args { jf_cuda_head head; int64_t n, chunk; part of[98]; };
       struct numbers { T scale_of_g, lr, beta; };
       JF_INLINE void element(const numbers k, T &w, const T grad, float &momentum) { ... }
       JF_KERNEL update(const args a) { ... }

   where `of` has a part for each parameter, and `first` is its first block. */
#include "formula.h"
#include "optim/optim.h"

#include <string.h>

/* PARAMETER: the most bytes that a kernel's parameter has. LANES: how many elements a thread takes
   at once; plans align tensors to more bytes than that. */
enum { PARAMETER = 4096, THREADS = 256, LANES = 4, WAVES = 8, LEAST_CHUNK = THREADS * LANES,
       MOST_CHUNK = 64 * LEAST_CHUNK };

/* What the kernel's parameter begins with; parts follow. Each has its tensors' addresses, then its
   elements and its first block. data[0] of the head are the numbers of the step. */
typedef struct update_args { jf_cuda_head head; int64_t n, chunk; } update_args;
enum { PART_REST = 2 };

typedef struct update_call {
  jf_cu_function *function;
  int n_tensor;                        /* of a parameter */
  int64_t chunk;                       /* elements */
} update_call;

static int update_most_parts(int n_tensor)
{
  return (int)((PARAMETER - sizeof(update_args)) / (8 * (size_t)(n_tensor + PART_REST)));
}

/* Rules that measure a whole parameter first, and moving averages, are left to the host. */
static int cuda_update_accepts(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  return !a->choice.rule->n_sum && !a->averages &&
         (k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64);
}

/* ---- the source ---- */

static const char *update_slot_type(const jf_rule *r, int slot, jfl_dtype param)
{
  const jfl_dtype own = r->slot[slot].dtype;
  return jf_cuda_computed(own == JFL_N_DTYPE ? param : own);
}

static void update_types(jf_text *to, const jf_rule *r, jfl_dtype param)
{
  const int n = JF_FIRST_SLOT + r->n_slot;
  jf_text_add(to, "typedef %s T;\n"
              "struct part { void *data[%d]; int64_t n, first; };\n"
              "struct args { jf_cuda_head head; int64_t n, chunk; part of[%d]; };\n"
              "template <class U> struct __align__(16) lanes { U v[%d]; };\n"
              "struct numbers { T scale_of_g, lr", jf_cuda_computed(param), n,
              update_most_parts(n), LANES);
  for (int i = 0; i < r->n_scalar; i++) jf_text_add(to, ", %s", r->scalar[i]);
  jf_text_add(to, "; };\n");
}

/* What the step does to one element. */
static void update_element(jf_text *to, const jf_rule *r, jfl_dtype param)
{
  jf_text_add(to, "JF_INLINE void element(const numbers k, T &w, const T grad");
  for (int i = 0; i < r->n_slot; i++)
    jf_text_add(to, ", %s &%s", update_slot_type(r, i, param), r->slot[i].name);
  jf_text_add(to, ")\n{\n  const T lr = k.lr, g = grad * k.scale_of_g;\n  (void)lr, (void)g;\n");
  for (int i = 0; i < r->n_scalar; i++)
    jf_text_add(to, "  const T %s = k.%s; (void)%s;\n", r->scalar[i], r->scalar[i], r->scalar[i]);
  jf_text_add(to, "  %s;\n}\n", r->formula);
}

/* Finds the block's part, and its elements `from` to `end` - 1. */
static void update_find(jf_text *to, const jf_rule *r, jfl_dtype param)
{
  jf_text_add(to, "  int part = 0;\n"
              "  for (int end = (int)a.n; end - part > 1;) {\n"
              "    const int middle = (part + end) / 2;\n"
              "    if (a.of[middle].first <= blockIdx.x) part = middle;\n"
              "    else end = middle;\n  }\n"
              "  const int64_t from = (blockIdx.x - a.of[part].first) * a.chunk;\n"
              "  const int64_t n = a.of[part].n, end = from + a.chunk < n ? from + a.chunk : n;\n"
              "  T *w = (T *)a.of[part].data[%d];\n"
              "  const T *g = (const T *)a.of[part].data[%d];\n", JF_PARAM, JF_GRAD);
  for (int i = 0; i < r->n_slot; i++) {
    const char *type = update_slot_type(r, i, param);
    jf_text_add(to, "  %s *s%d = (%s *)a.of[part].data[%d];\n", type, i, type, JF_FIRST_SLOT + i);
  }
}

/* Several elements at once, while there are so many. */
static void update_many(jf_text *to, const jf_rule *r, jfl_dtype param)
{
  jf_text_add(to, "  int64_t i = from + %d * threadIdx.x;\n"
              "  for (; i + %d <= end; i += %d * blockDim.x) {\n"
              "    lanes<T> w_ = *(lanes<T> *)(w + i);\n"
              "    const lanes<T> g_ = *(const lanes<T> *)(g + i);\n", LANES, LANES, LANES);
  for (int i = 0; i < r->n_slot; i++) {
    const char *type = update_slot_type(r, i, param);
    jf_text_add(to, "    lanes<%s> s%d_ = *(lanes<%s> *)(s%d + i);\n", type, i, type, i);
  }
  jf_text_add(to, "    for (int l = 0; l < %d; l++) element(k, w_.v[l], g_.v[l]", LANES);
  for (int i = 0; i < r->n_slot; i++) jf_text_add(to, ", s%d_.v[l]", i);
  jf_text_add(to, ");\n    *(lanes<T> *)(w + i) = w_;\n");
  for (int i = 0; i < r->n_slot; i++)
    jf_text_add(to, "    *(lanes<%s> *)(s%d + i) = s%d_;\n", update_slot_type(r, i, param), i, i);
  jf_text_add(to, "  }\n");
}

static void update_kernel(jf_text *to, const jf_rule *r, jfl_dtype param)
{
  jf_text_add(to, "JF_KERNEL update(const args a)\n{\n"
              "  const double *scalar = (const double *)a.head.data[0];\n"
              "  if (jf_halted(a.head) || scalar[%d] < 0) return;\n"
              "  const numbers k = { (T)scalar[%d], (T)scalar[%d]", JF_SCALE, JF_SCALE, JF_RATE);
  for (int i = 0; i < r->n_scalar; i++) jf_text_add(to, ", (T)scalar[%d]", JF_FIRST_SCALAR + i);
  jf_text_add(to, " };\n");
  update_find(to, r, param);
  update_many(to, r, param);
  jf_text_add(to, "  for (; i < end; i++) element(k, w[i], g[i]");
  for (int i = 0; i < r->n_slot; i++) jf_text_add(to, ", s%d[i]", i);
  jf_text_add(to, ");\n}\n");
}

static jfl_status update_source(const jf_rule *r, jfl_dtype param, char **out)
{
  jf_text text = { 0 };
  update_types(&text, r, param);
  update_element(&text, r, param);
  update_kernel(&text, r, param);
  return jf_text_take(&text, out);
}

/* ---- the call ---- */

/* Small parameters get a block each; large ones so many that the device is busy. */
static int64_t update_chunk(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  const jf_cuda *c = k->device->state;
  int64_t all = 0;
  for (int i = 0; i < a->n; i++) all += jf_numel(&jf_update_tensors(k, i)->shape);
  const int64_t share = all / ((int64_t)c->multiprocessors * WAVES * LEAST_CHUNK) * LEAST_CHUNK;
  return share < LEAST_CHUNK ? LEAST_CHUNK : share < MOST_CHUNK ? share : MOST_CHUNK;
}

static jfl_status cuda_update_prepare(jf_kargs *k, size_t *scratch)
{
  const jf_rule *r = ((const jf_update *)k->attr)->choice.rule;
  update_call *call = jf_new(sizeof *call);
  char *source;
  (void)scratch;
  if (!call) return jf_fail(JFL_ENOMEM, "out of memory");
  *call = (update_call){ .n_tensor = JF_FIRST_SLOT + r->n_slot, .chunk = update_chunk(k) };
  jfl_status s = update_source(r, k->in[0].dtype, &source);
  if (!s) {
    s = jf_cuda_function(k->device->state, &(jf_cuda_source){ "update", source, NULL }, "update",
                         &call->function);
    jf_free(source);
  }
  if (s) jf_free(call);
  else k->state = call;
  return s;
}

/* Writes the part of parameter i at `to`, from that block on; gives the number of its blocks. */
static int64_t update_part(const jf_kargs *k, int i, int64_t first, uint64_t *to)
{
  const update_call *call = k->state;
  const jf_tensor *t = jf_update_tensors(k, i);
  const int64_t n = jf_numel(&t->shape);
  for (int j = 0; j < call->n_tensor; j++) *to++ = (uintptr_t)t[j].data;
  *to++ = (uint64_t)n;
  *to = (uint64_t)first;
  return (n + call->chunk - 1) / call->chunk;
}

static jfl_status cuda_update_run(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  const update_call *call = k->state;
  const int words = call->n_tensor + PART_REST, most = update_most_parts(call->n_tensor);
  union { update_args a; uint64_t word[PARAMETER / 8]; } args = { .a = { jf_cuda_head_of(k), 0,
                                                                         call->chunk } };
  uint64_t *part = args.word + sizeof args.a / 8;
  args.a.head.data[0] = k->in[k->n_in - 1].data;
  for (int i = 0; i < a->n;) {
    int64_t blocks = 0;
    for (args.a.n = 0; i < a->n && args.a.n < most; i++) {
      const int64_t own = update_part(k, i, blocks, part + args.a.n * words);
      args.a.n += own > 0;
      blocks += own;
    }
    if (blocks) JF_TRY(jf_cuda_launch(k, call->function, (jf_cuda_grid){ blocks, THREADS, 0 },
                                      &args));
  }
  return JFL_OK;
}

JFL_CUDA(cuda_update, .op = "update", .accepts = cuda_update_accepts,
  .prepare = cuda_update_prepare, .run = cuda_update_run, .release = jf_free, .priority = 10)
