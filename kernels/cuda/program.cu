/* Runs fused programs, and single elementwise ops as programs of one instruction. */
#ifndef JF_DEVICE
#include "cut.h"
#include "op/broadcast.h"
#include "op/op.h"

#include <string.h>
#endif

/* Partial sums that become `results` sums: each of `count` of them, divided by `divisor`. A block
   finishes `across` results. Partial sums are a nest of axes, some kept and some gone. */
typedef struct jf_cut_gather {
  int64_t blocks, results, count, across;
  double divisor;
  void *from, *to;
  int64_t n_kept, n_gone, kept[9], kept_step[9], gone[9], gone_step[9];
} jf_cut_gather;

/* The parameter of a program's kernels; cut.h tells what the names mean. */
typedef struct jf_cut_args {
  struct jf_cuda_head head;
  int64_t groups, lines, tiles, parts;
  void *data[64];                      /* inputs, then outputs */
  jf_cut_gather gather[4];             /* of each slot of kind SUM */
} jf_cut_args;

#ifdef JF_DEVICE

/* Elements side by side, which are read and written at once. */
template <class T, int N> struct alignas(sizeof(T) * N) jf_pack { T v[N]; };

/* The random numbers of N elements from number i on, which is a multiple of N. */
template <int N> struct jf_draws {
  double v[N];
  JF_INLINE jf_draws(jf_random random, int64_t i)
  {
    for (int w = 0; w < N; w += 4) {
      const jf_words p = jf_philox(random, (uint64_t)(i + w) / 4);
      for (int k = 0; k < 4 && w + k < N; k++)
        v[w + k] = (double)(p.w[(i + w + k) & 3] >> 8) * 5.9604644775390625e-8;
    }
  }
};

/* What is left of a number that is stored in T. */
template <class T> JF_INLINE float jf_rounded(float v)
{
  T stored;
  jf_store(&stored, v);
  return jf_load(stored);
}

struct jf_plus {
  template <class A> static JF_INLINE A of(A a, A b) { return a + b; }
};

/* The sum over N threads side by side: some lanes of a warp, or else all of a block. */
template <int N, class A> JF_INLINE A jf_line_sum(A v)
{
  if (N > 32) return jf_block_join<jf_plus>(v, (A)0);
  for (int lane = N / 2; lane; lane >>= 1) v += __shfl_xor_sync(0xffffffffu, v, lane);
  return v;
}

/* The sum over the DOWN threads of a block that are ACROSS threads apart; the first ones get it. */
template <int ACROSS, int DOWN, class A> JF_INLINE A jf_down_sum(A v)
{
  __shared__ A part[ACROSS * DOWN];
  if (DOWN == 1) return v;
  __syncthreads();
  part[threadIdx.x] = v;
  __syncthreads();
  for (int y = 1; y < DOWN && threadIdx.x < ACROSS; y++) v += part[y * ACROSS + threadIdx.x];
  return v;
}

JF_INLINE int64_t jf_gather_offset(int64_t index, int64_t n, const int64_t *d, const int64_t *step)
{
  int64_t at = 0;
  for (int k = (int)n - 1; k > 0; k--) {
    at += index % d[k] * step[k];
    index /= d[k];
  }
  return n > 0 ? at + index * step[0] : 0;
}

/* Finishes some results. Partial sums of type A are added in D, which a T is made of. */
template <class A, class D, class T> JF_INLINE void jf_gather(const jf_cut_gather &g, int64_t block)
{
  __shared__ D part[256];
  const int across = (int)g.across, x = threadIdx.x % across, down = 256 / across;
  const int64_t i = block * across + x;
  D sum = 0;
  if (i < g.results) {
    const A *from = (const A *)g.from + jf_gather_offset(i, g.n_kept, g.kept, g.kept_step);
    for (int64_t j = threadIdx.x / across; j < g.count; j += down)
      sum += (D)from[jf_gather_offset(j, g.n_gone, g.gone, g.gone_step)];
  }
  part[threadIdx.x] = sum;
  for (int n = 128; n >= across; n /= 2) {
    __syncthreads();
    if (threadIdx.x < n) part[threadIdx.x] += part[threadIdx.x + n];
  }
  if (threadIdx.x >= across || i >= g.results) return;
  jf_store((T *)g.to + i, (decltype(jf_load(T())))(part[threadIdx.x] / (D)g.divisor));
}

#else

extern const char jf_cuda_text_program[];

/* A kernel that is ready to be launched, and the one that finishes its sums. */
typedef struct fused_call {
  jf_cu_function *function, *finish;
  jf_cuda_grid grid, finish_grid;
  int n_gather;
  size_t at[JF_FUSED_OUTS];            /* by gathered sum: where partial sums are in scratch, */
  int out[JF_FUSED_OUTS];              /* and which output the sums are */
  jf_cut_args args;
} fused_call;

/* ---- sums ---- */

static void fused_axis(int64_t *n, int64_t *d, int64_t *step, int64_t extent, int64_t by)
{
  d[*n] = extent;
  step[(*n)++] = by;
}

/* Says how partial sums lie: by part or line, then by tile or element. */
static void fused_gather_axes(jf_cut_gather *g, const jf_cut *c, int s)
{
  const int lines = c->sum[s] == JF_CUT_LINES;
  const int first = lines ? 0 : c->inner, end = lines ? c->inner : c->nest.n;
  int64_t dense[JFL_MAXDIM];
  g->n_kept = g->n_gone = 0;
  if (c->sum[s] == JF_CUT_TOTAL) {
    fused_axis(&g->n_gone, g->gone, g->gone_step, c->tiles * c->parts, 1);
    return;
  }
  jf_dense_steps(end - first, c->nest.d + first, lines ? c->tiles : 1, dense);
  if (!lines) fused_axis(&g->n_gone, g->gone, g->gone_step, c->parts, c->line);
  for (int a = first; a < end; a++) {
    if (c->step[s][a]) fused_axis(&g->n_kept, g->kept, g->kept_step, c->nest.d[a], dense[a - first]);
    else fused_axis(&g->n_gone, g->gone, g->gone_step, c->nest.d[a], dense[a - first]);
  }
  if (lines) fused_axis(&g->n_gone, g->gone, g->gone_step, c->tiles, 1);
}

static double fused_divisor(const jf_fused *f, int s)
{
  int i = 0;
  while (f->instr[i].out[0] != s || !jf_cut_adds(&f->instr[i])) i++;
  return f->instr[i].count;
}

static void fused_gathers(fused_call *call, const jf_cut *c, size_t *scratch)
{
  enum { ACROSS = 32, ALIGNMENT = 64 };
  for (int s = 0; s < c->f->n_slot; s++) {
    if (c->f->slot[s].kind != JF_SLOT_SUM) continue;
    const int n = call->n_gather++;
    jf_cut_gather *g = &call->args.gather[n];
    const size_t size = jf_is_float(c->f->slot[s].dtype) && c->f->slot[s].dtype != JFL_F64 ? 4 : 8;
    fused_gather_axes(g, c, s);
    g->results = jf_cut_results(c, s);
    g->count = jf_cut_partials(c, s) / g->results;
    g->divisor = fused_divisor(c->f, s);
    for (g->across = 1; g->across < ACROSS && g->across < g->results;) g->across *= 2;
    g->blocks = (g->results + g->across - 1) / g->across;
    call->finish_grid.blocks += g->blocks;
    call->at[n] = *scratch;
    call->out[n] = c->f->slot[s].out;
    *scratch += ((size_t)jf_cut_partials(c, s) * size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}

/* ---- programs ---- */

static jfl_status fused_compile(fused_call *call, jf_cuda *cuda, const jf_cut *c)
{
  jf_text text = { 0 };
  char *source;
  jf_text_add(&text, "%s", jf_cuda_text_program);
  jf_program_source(&text, c);
  JF_TRY(jf_text_take(&text, &source));
  const jf_cuda_source s = { c->f->title, source, NULL };
  jfl_status e = jf_cuda_function(cuda, &s, "fused", &call->function);
  if (!e && c->n_sum) e = jf_cuda_function(cuda, &s, "finish", &call->finish);
  jf_free(source);
  return e;
}

static jfl_status fused_make(jf_kargs *k, const jf_fused *f, size_t *scratch)
{
  jf_cuda *cuda = k->device->state;
  jf_cut c;
  if (!jf_cut_make(&c, f)) return JFL_ENOSYS;
  fused_call *call = jf_new(sizeof *call);
  if (!call) return jf_fail(JFL_ENOMEM, "out of memory");
  jf_cut_grid(&c, cuda->multiprocessors);
  call->args = (jf_cut_args){ .groups = c.groups, .lines = c.lines, .tiles = c.tiles,
                              .parts = c.parts };
  call->grid = (jf_cuda_grid){ c.tiles * c.parts, c.across * c.down, 0 };
  call->finish_grid.threads = 256;
  fused_gathers(call, &c, scratch);
  jfl_status s = fused_compile(call, cuda, &c);
  if (s) jf_free(call);
  else k->state = call;
  return s;
}

static jfl_status cuda_fused_prepare(jf_kargs *k, size_t *scratch)
{
  return fused_make(k, k->attr, scratch);
}

static jfl_status cuda_fused_run(const jf_kargs *k)
{
  const fused_call *call = k->state;
  jf_cut_args a = call->args;
  a.head = jf_cuda_head_of(k);
  for (int i = 0; i < k->n_in; i++) a.data[i] = k->in[i].data;
  for (int i = 0; i < k->n_out; i++) a.data[k->n_in + i] = k->out[i].data;
  for (int i = 0; i < call->n_gather; i++) {
    a.gather[i].from = (char *)k->scratch + call->at[i];
    a.gather[i].to = k->out[call->out[i]].data;
  }
  JF_TRY(jf_cuda_launch(k, call->function, call->grid, &a));
  return call->n_gather ? jf_cuda_launch(k, call->finish, call->finish_grid, &a) : JFL_OK;
}

JFL_CUDA(cuda_fused, .op = "fused", .prepare = cuda_fused_prepare, .run = cuda_fused_run,
  .release = jf_free, .priority = 10)

static int fused_fits(const struct jf_fused *f)
{
  jf_cut c;
  return jf_cut_make(&c, f);
}

const jf_fused_limits jf_cuda_fused_limits = {
  .slots = JF_CUT_SLOTS, .instrs = 32, .outputs = JF_FUSED_OUTS, .row = 1 << 14, .sums = 1 << 15,
  .fits = fused_fits
};

/* ---- a single op ---- */

/* Any elementwise op whose dtypes it serves. */
static int each_accepts(const jf_kargs *k)
{
  const jfl_op *op = k->op;
  return op->expr && op->loop && op->loop[jf_call_key(op, k)] && k->n_in <= 3 && k->n_out <= 2;
}

/* A program of one instruction, with what it consists of. */
typedef struct each_program {
  jf_fused f;
  jf_fused_slot slot[5];
  jf_instr instr;
  jf_fused_arg in[3];
} each_program;

static void each_input(each_program *p, const jf_kargs *k, int i)
{
  const jf_tensor *x = &k->in[i];
  jf_fused_slot *s = &p->slot[i];
  const int whole = jf_shape_eq(&x->shape, &k->out[0].shape);
  *s = (jf_fused_slot){ .kind = whole ? JF_SLOT_EACH : JF_SLOT_BROADCAST, .dtype = x->dtype,
                        .in = i, .out = -1 };
  if (!whole) jf_broadcast_steps(&x->shape, &k->out[0].shape, 1, s->step);
  p->in[i] = (jf_fused_arg){ x->dtype, x->shape };
  p->instr.in[i] = i;
}

static void each_output(each_program *p, const jf_kargs *k, int i)
{
  const int slot = k->n_in + i;
  p->slot[slot] = (jf_fused_slot){ .kind = JF_SLOT_EACH, .dtype = k->out[i].dtype, .in = -1,
                                   .out = i };
  p->f.out[i] = (jf_fused_arg){ k->out[i].dtype, k->out[i].shape };
  p->instr.out[i] = slot;
}

static void each_program_of(each_program *p, const jf_kargs *k)
{
  *p = (each_program){ .instr = { .name = k->op->name, .op = k->op, .key = jf_call_key(k->op, k),
                                  .attr = k->attr, .shape = k->out[0].shape, .n_in = k->n_in,
                                  .n_out = k->n_out } };
  for (int i = 0; i < k->n_in; i++) each_input(p, k, i);
  for (int i = 0; i < k->n_out; i++) each_output(p, k, i);
  p->f = (jf_fused){ .program = k->op->name, .title = k->op->name, .space = k->out[0].shape,
                     .n_slot = k->n_in + k->n_out, .n_instr = 1, .n_in = k->n_in,
                     .n_out = k->n_out, .slot = p->slot, .instr = &p->instr, .in = p->in,
                     .out = { p->f.out[0], p->f.out[1] } };
}

static jfl_status each_prepare(jf_kargs *k, size_t *scratch)
{
  each_program p;
  each_program_of(&p, k);
  return fused_make(k, &p.f, scratch);
}

JFL_CUDA(cuda_each, .accepts = each_accepts, .prepare = each_prepare, .run = cuda_fused_run,
  .release = jf_free, .priority = 5)

#endif
