/* Optimizer updates. A kernel made of the rule's formula updates many parameters in one launch: its
   parameter is a table of them, and each block takes a chunk of one. For the rule of momentum the
   source reads

       typedef float T;
       struct part { void *data[3]; int64_t n, first; };
       struct args { jf_cuda_head head; int64_t n, chunk; part of[98]; };
       JF_KERNEL update(const args a)
       {
         const double *scalar_ = ...;
         const T scale_of_g = (T)scalar_[0], lr = (T)scalar_[1];
         const T beta = (T)scalar_[2];
         ...
         auto element = [&](T &w, const T grad, float &momentum) {
           const T g = grad * scale_of_g;
           momentum = beta * momentum - lr * g; w += momentum;
         };
         for (...) element(w[i_], g[i_], s0[i_]);
       }

   where `of` has a part for each parameter, and `first` is its first block. A rule that measures
   parameters has a kernel `measure` too: each of its blocks writes its share of the sums, which all
   blocks of `update` add up in the same order. */
#include "formula.h"
#include "update.h"

#include <ctype.h>
#include <string.h>

/* PARAMETER: the most bytes that a kernel's parameter has. LANES: how many elements a thread takes
   at once; plans align tensors to more bytes than that. */
enum { PARAMETER = 4096, THREADS = 256, LANES = 4, WAVES = 8, LEAST_CHUNK = THREADS * LANES,
       MOST_CHUNK = 64 * LEAST_CHUNK };

/* What the kernel's parameter begins with; parts follow. Each has its tensors' addresses, then its
   elements and its first block. data of the head: the numbers of the step, the share of averages,
   the sums of blocks. */
typedef struct update_args { jf_cuda_head head; int64_t n, chunk; } update_args;
enum { PART_REST = 2 };
enum { UPDATE_NUMBERS, UPDATE_SHARE, UPDATE_SUMS };

typedef struct update_call {
  jf_cuda_kernel *change;
  jf_cuda_kernel *measure;             /* or NULL */
  int n_tensor;                        /* of a parameter */
  int64_t chunk;                       /* elements */
} update_call;

static int update_most_parts(int n_tensor)
{
  return (int)((PARAMETER - sizeof(update_args)) / (8 * (size_t)(n_tensor + PART_REST)));
}

static int cuda_update_accepts(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64;
}

/* ---- the source ---- */

/* A source that is being written: for which update, of parameters of which dtype. */
typedef struct update_text { jf_text text; const jf_update *a; jfl_dtype param; } update_text;

/* The slots of a parameter, and its average behind them. */
static int update_n_slot(const update_text *t) { return t->a->stride - JF_FIRST_SLOT; }

static const jf_slot *update_slot_of(const update_text *t, int i)
{
  const jf_rule *r = t->a->choice.rule;
  return i < r->n_slot ? &r->slot[i] : jf_average->slot;
}

static const char *update_slot_type(const update_text *t, int i)
{
  const jfl_dtype own = update_slot_of(t, i)->dtype;
  return jf_cuda_computed(own == JFL_N_DTYPE ? t->param : own);
}

static void update_types(update_text *t)
{
  jf_text_add(&t->text, "typedef %s T;\n"
              "struct part { void *data[%d]; int64_t n, first; };\n"
              "struct args { jf_cuda_head head; int64_t n, chunk; part of[%d]; };\n"
              "template <class U> struct __align__(16) lanes { U v[%d]; };\n"
              "struct update_sum {\n"
              "  static JF_INLINE double of(double a, double b) { return a + b; }\n};\n",
              jf_cuda_computed(t->param), t->a->stride, update_most_parts(t->a->stride), LANES);
}

/* Begins a kernel: reads the numbers of the step; finds the block's part, and its elements from_ to
   end_ - 1. Names of our own end in _, so that formulas may have the others. */
static void update_open(update_text *t, const char *name)
{
  const jf_rule *r = t->a->choice.rule;
  jf_text_add(&t->text, "JF_KERNEL %s(const args a)\n{\n"
              "  const double *scalar_ = (const double *)a.head.data[%d];\n"
              "  if (jf_halted(a.head) || scalar_[%d] < 0) return;\n"
              "  const T scale_of_g = (T)scalar_[%d], lr = (T)scalar_[%d];\n  (void)lr;\n", name,
              UPDATE_NUMBERS, JF_SCALE, JF_SCALE, JF_RATE);
  for (int i = 0; i < r->n_scalar; i++)
    jf_text_add(&t->text, "  const T %s = (T)scalar_[%d]; (void)%s;\n", r->scalar[i],
                JF_FIRST_SCALAR + i, r->scalar[i]);
  jf_text_add(&t->text, "  int part_ = 0;\n"
              "  for (int end_ = (int)a.n; end_ - part_ > 1;) {\n"
              "    const int middle_ = (part_ + end_) / 2;\n"
              "    if (a.of[middle_].first <= blockIdx.x) part_ = middle_;\n"
              "    else end_ = middle_;\n  }\n"
              "  const int64_t first_ = a.of[part_].first, n_ = a.of[part_].n;\n"
              "  const int64_t from_ = (blockIdx.x - first_) * a.chunk;\n"
              "  const int64_t end_ = from_ + a.chunk < n_ ? from_ + a.chunk : n_;\n"
              "  T *w = (T *)a.of[part_].data[%d];\n"
              "  const T *g = (const T *)a.of[part_].data[%d];\n", JF_PARAM, JF_GRAD);
  for (int i = 0; i < update_n_slot(t); i++)
    jf_text_add(&t->text, "  %s *s%d = (%s *)a.of[part_].data[%d];\n", update_slot_type(t, i), i,
                update_slot_type(t, i), JF_FIRST_SLOT + i);
}

/* What is done to one element. */
static void update_element(update_text *t, const char *formula, const char *then)
{
  jf_text_add(&t->text, "  auto element = [&](T &w, const T grad");
  for (int i = 0; i < update_n_slot(t); i++)
    jf_text_add(&t->text, ", %s &%s", update_slot_type(t, i), update_slot_of(t, i)->name);
  jf_text_add(&t->text, ") {\n    const T g = grad * scale_of_g;\n    (void)g;\n    %s;\n    %s;\n"
              "  };\n", formula, then);
}

static int update_in_word(char c) { return c == '_' || isalnum((unsigned char)c); }

/* Whether the text sets a variable of that name. */
static int update_sets(const char *text, const char *name)
{
  const size_t n = strlen(name);
  for (const char *p = text; (p = strstr(p, name)) != NULL; p += n) {
    const char *q = p + n;
    if ((p > text && update_in_word(p[-1])) || update_in_word(*q)) continue;
    q += strspn(q, " ");
    q += strcspn(q, "+-*/=") == 0 && *q != '=' ? 1 : 0;
    if (q[0] == '=' && q[1] != '=') return 1;
  }
  return 0;
}

/* Goes through the elements, several at once while there are so many, and stores what the texts
   set. */
static void update_loops(update_text *t, const char *formula, const char *then)
{
  const int n = update_n_slot(t);
  jf_text *to = &t->text;
  jf_text_add(to, "  int64_t i_ = from_ + %d * threadIdx.x;\n"
              "  for (; i_ + %d <= end_; i_ += %d * blockDim.x) {\n"
              "    lanes<T> w_ = *(lanes<T> *)(w + i_);\n"
              "    const lanes<T> g_ = *(const lanes<T> *)(g + i_);\n", LANES, LANES, LANES);
  for (int i = 0; i < n; i++)
    jf_text_add(to, "    lanes<%s> s%d_ = *(lanes<%s> *)(s%d + i_);\n", update_slot_type(t, i), i,
                update_slot_type(t, i), i);
  jf_text_add(to, "    for (int l = 0; l < %d; l++) element(w_.v[l], g_.v[l]", LANES);
  for (int i = 0; i < n; i++) jf_text_add(to, ", s%d_.v[l]", i);
  jf_text_add(to, ");\n");
  if (update_sets(formula, "w")) jf_text_add(to, "    *(lanes<T> *)(w + i_) = w_;\n");
  for (int i = 0; i < n; i++) {
    const char *name = update_slot_of(t, i)->name;
    if (update_sets(formula, name) || update_sets(then, name))
      jf_text_add(to, "    *(lanes<%s> *)(s%d + i_) = s%d_;\n", update_slot_type(t, i), i, i);
  }
  jf_text_add(to, "  }\n  for (; i_ < end_; i_++) element(w[i_], g[i_]");
  for (int i = 0; i < n; i++) jf_text_add(to, ", s%d[i_]", i);
  jf_text_add(to, ");\n");
}

/* The kernel that measures: its blocks write their shares of sums. */
static void update_measure(update_text *t)
{
  const jf_rule *r = t->a->choice.rule;
  jf_text *to = &t->text;
  update_open(t, "measure");
  for (int i = 0; i < r->n_sum; i++) jf_text_add(to, "  double %s = 0;\n", r->sum[i]);
  update_element(t, r->measure, "");
  update_loops(t, r->measure, "");
  jf_text_add(to, "  double *share_ = (double *)a.head.data[%d] + %d * (int64_t)blockIdx.x;\n",
              UPDATE_SUMS, r->n_sum);
  for (int i = 0; i < r->n_sum; i++)
    jf_text_add(to, "  %s = jf_block_join<update_sum>(%s, 0.0);\n"
                "  if (threadIdx.x == 0) share_[%d] = %s;\n", r->sum[i], r->sum[i], i, r->sum[i]);
  jf_text_add(to, "}\n");
}

/* Adds up the sums of the part's blocks, and computes what the rule derives of them. */
static void update_derive(update_text *t)
{
  const jf_rule *r = t->a->choice.rule;
  jf_text *to = &t->text;
  jf_text_add(to, "  const double elements = (double)n_;\n  (void)elements;\n"
              "  const double *share_ = (const double *)a.head.data[%d] + %d * first_;\n"
              "  const int64_t shares_ = (n_ + a.chunk - 1) / a.chunk;\n", UPDATE_SUMS, r->n_sum);
  for (int i = 0; i < r->n_sum; i++)
    jf_text_add(to, "  double %s = 0;\n"
                "  for (int64_t b_ = threadIdx.x; b_ < shares_; b_ += blockDim.x)\n"
                "    %s += share_[%d * b_ + %d];\n"
                "  %s = jf_block_join<update_sum>(%s, 0.0);\n", r->sum[i], r->sum[i], r->n_sum, i,
                r->sum[i], r->sum[i]);
  jf_text_add(to, "  %s;\n", r->derive);
}

jfl_status jf_update_source(const jf_update *a, jfl_dtype param, char **out)
{
  update_text t = { .a = a, .param = param };
  const jf_rule *r = a->choice.rule;
  const char *then = a->averages ? jf_average->formula : "";
  update_types(&t);
  if (r->n_sum) update_measure(&t);
  update_open(&t, "update");
  if (r->n_sum) update_derive(&t);
  if (a->averages)
    jf_text_add(&t.text, "  const T %s = (T)*(const double *)a.head.data[%d];\n",
                jf_average->scalar[0], UPDATE_SHARE);
  update_element(&t, r->formula, then);
  update_loops(&t, r->formula, then);
  jf_text_add(&t.text, "}\n");
  return jf_text_take(&t.text, out);
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

static int64_t update_blocks(const update_call *call, const jf_tensor *t)
{
  return (jf_numel(&t->shape) + call->chunk - 1) / call->chunk;
}

static jfl_status update_find(jf_kargs *k, update_call *call)
{
  const jf_update *a = k->attr;
  char *source;
  JF_TRY(jf_update_source(a, k->in[0].dtype, &source));
  const jf_cuda_source s = { .what = "update", .text = source };
  jfl_status e = jf_cuda_find(k, &s, "update", &call->change);
  if (!e && a->choice.rule->n_sum)
    e = jf_cuda_find(k, &s, "measure", &call->measure);
  jf_free(source);
  return e;
}

static jfl_status cuda_update_prepare(jf_kargs *k)
{
  const jf_update *a = k->attr;
  update_call *call = jf_new(sizeof *call);
  if (!call) return jf_fail(JFL_ENOMEM, "out of memory");
  *call = (update_call){ .n_tensor = a->stride, .chunk = update_chunk(k) };
  jfl_status e = update_find(k, call);
  if (e) return jf_free(call), e;
  for (int i = 0; i < a->n; i++)
    k->scratch_size += (size_t)update_blocks(call, jf_update_tensors(k, i)) *
                (size_t)a->choice.rule->n_sum * sizeof(double);
  k->state = call;
  return JFL_OK;
}

/* Writes the part of parameter i at `to`, from that block on; gives the number of its blocks. */
static int64_t update_write_part(const jf_kargs *k, int i, int64_t first, uint64_t *to)
{
  const update_call *call = k->state;
  const jf_tensor *t = jf_update_tensors(k, i);
  for (int j = 0; j < call->n_tensor; j++) *to++ = (uintptr_t)t[j].data;
  *to++ = (uint64_t)jf_numel(&t->shape);
  *to = (uint64_t)first;
  return update_blocks(call, t);
}

static jfl_status cuda_update_run(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  const update_call *call = k->state;
  const int words = call->n_tensor + PART_REST, most = update_most_parts(call->n_tensor);
  union { update_args a; uint64_t word[PARAMETER / 8]; } args = { .a = { jf_cuda_head_of(k), 0,
                                                                         call->chunk } };
  uint64_t *part = args.word + sizeof args.a / 8;
  args.a.head.data[UPDATE_NUMBERS] = k->in[k->n_in - 1].data;
  if (a->averages) args.a.head.data[UPDATE_SHARE] = k->in[k->n_in - 2].data;
  args.a.head.data[UPDATE_SUMS] = k->scratch;
  for (int i = 0; i < a->n;) {
    int64_t blocks = 0;
    for (args.a.n = 0; i < a->n && args.a.n < most; i++) {
      const int64_t own = update_write_part(k, i, blocks, part + args.a.n * words);
      args.a.n += own > 0;
      blocks += own;
    }
    const jf_cuda_grid grid = { blocks, THREADS, 0 };
    if (blocks && call->measure) JF_TRY(jf_cuda_launch(k, call->measure, grid, &args));
    if (blocks) JF_TRY(jf_cuda_launch(k, call->change, grid, &args));
  }
  return JFL_OK;
}

JFL_CUDA(cuda_update, .op = "update", .accepts = cuda_update_accepts,
  .prepare = cuda_update_prepare, .run = cuda_update_run, .release = jf_free)
