/* Launches the kernels of programs; what their source consists of besides. */
#ifndef JF_DEVICE
#include "program.h"

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

#if defined(JF_DEVICE)
struct jf_cut_axis { int64_t extent; uint32_t times, shift; };
struct jf_cut_values { jf_cut_axis axis[8]; int64_t step[32]; double number[16]; };

#endif
/* The parameter of a program's kernels; cut.h tells what the names mean. */
typedef struct jf_cut_args {
  struct jf_cuda_head head;
  int64_t groups, lines, tiles, parts;
  void *data[64];                      /* inputs, then outputs */
  jf_cut_gather gather[6];             /* of each slot of kind SUM */
  jf_cut_values is;
} jf_cut_args;

#ifdef JF_DEVICE

/* i divided by the extent of an axis: i of 32 bits by a product (Granlund and Montgomery, "Division
   by Invariant Integers using Multiplication", 1994). */
JF_INLINE int32_t jf_over(int32_t i, const jf_cut_axis &a)
{
  return (int32_t)(__umulhi((uint32_t)i, a.times) >> a.shift);
}
JF_INLINE int64_t jf_over(int64_t i, const jf_cut_axis &a) { return i / a.extent; }

/* Elements side by side, which are read and written at once. */
template <class T, int N> struct alignas(sizeof(T) * N) jf_pack { T v[N]; };

/* The random numbers of N elements from number i on, which is a multiple of N. */
template <int N> struct jf_draws {
  double v[N];
  JF_INLINE jf_draws(jf_random random, int64_t i)
  {
    if (random.first & 3) {
      for (int w = 0; w < N; w++) v[w] = jf_uniform(random, i + w);
      return;
    }
    i += random.first;
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
  if constexpr (N > 32) {
    return jf_block_join<jf_plus>(v, (A)0);
  } else {
    for (int lane = N / 2; lane; lane >>= 1) v += __shfl_xor_sync(0xffffffffu, v, lane);
    return v;
  }
}

/* The sum over the DOWN threads of a block that are ACROSS threads apart; the first ones get it. */
template <int ACROSS, int DOWN, class A> JF_INLINE A jf_down_sum(A v)
{
  if constexpr (DOWN > 1) {
    __shared__ A part[ACROSS * DOWN];
    __syncthreads();
    part[threadIdx.x] = v;
    __syncthreads();
    for (int y = 1; y < DOWN && threadIdx.x < ACROSS; y++) v += part[y * ACROSS + threadIdx.x];
  }
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

/* Finishes some results, of type T, from partial sums of type D. */
template <class D, class T> JF_INLINE void jf_gather(const jf_cut_gather &g, int64_t block)
{
  __shared__ D part[256];
  const int across = (int)g.across, x = threadIdx.x % across, down = 256 / across;
  const int64_t i = block * across + x;
  D sum = 0;
  if (i < g.results) {
    const D *from = (const D *)g.from + jf_gather_offset(i, g.n_kept, g.kept, g.kept_step);
    for (int64_t j = threadIdx.x / across; j < g.count; j += down)
      sum += from[jf_gather_offset(j, g.n_gone, g.gone, g.gone_step)];
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
struct jf_program {
  jf_cuda_kernel *work, *finish;
  jf_cuda_grid grid, finish_grid;
  int n_in, n_gather;
  size_t at[JF_FUSED_OUTS];            /* by gathered sum: where partial sums are in scratch, */
  int out[JF_FUSED_OUTS];              /* and which output the sums are */
  jf_cut_args args;
};

/* ---- sums ---- */

static void program_axis(int64_t *n, int64_t *d, int64_t *step, int64_t extent, int64_t by)
{
  d[*n] = extent;
  step[(*n)++] = by;
}

/* Says how partial sums lie: by part or line, then by tile or element. */
static void program_gather_axes(jf_cut_gather *g, const jf_cut *c, int s)
{
  const int lines = c->sum[s] == JF_CUT_LINES;
  const int first = lines ? 0 : c->inner, end = lines ? c->inner : c->nest.n;
  int64_t dense[JFL_MAXDIM];
  g->n_kept = g->n_gone = 0;
  if (c->sum[s] == JF_CUT_TOTAL) {
    program_axis(&g->n_gone, g->gone, g->gone_step, c->tiles * c->parts, 1);
    return;
  }
  jf_dense_steps(end - first, c->nest.d + first, lines ? c->tiles : 1, dense);
  if (!lines) program_axis(&g->n_gone, g->gone, g->gone_step, c->parts, c->line);
  for (int a = first; a < end; a++) {
    const int64_t d = c->nest.d[a], by = dense[a - first];
    if (c->step[s][a]) program_axis(&g->n_kept, g->kept, g->kept_step, d, by);
    else program_axis(&g->n_gone, g->gone, g->gone_step, d, by);
  }
  if (lines) program_axis(&g->n_gone, g->gone, g->gone_step, c->tiles, 1);
}

static double program_divisor(const jf_fused *f, int s)
{
  int i = 0;
  while (f->instr[i].out[0] != s || !jf_cut_adds(&f->instr[i])) i++;
  return f->instr[i].count;
}

static void program_gathers(jf_program *call, const jf_cut *c, size_t *scratch)
{
  enum { ACROSS = 32, ALIGNMENT = 64 };
  for (int s = 0; s < c->f->n_slot; s++) {
    if (c->f->slot[s].kind != JF_SLOT_SUM) continue;
    const int n = call->n_gather++;
    jf_cut_gather *g = &call->args.gather[n];
    program_gather_axes(g, c, s);
    g->results = jf_cut_results(c, s);
    g->count = jf_cut_partials(c, s) / g->results;
    g->divisor = program_divisor(c->f, s);
    for (g->across = 1; g->across < ACROSS && g->across < g->results;) g->across *= 2;
    g->blocks = (g->results + g->across - 1) / g->across;
    call->finish_grid.blocks += g->blocks;
    call->at[n] = *scratch;
    call->out[n] = c->f->slot[s].out;
    const size_t partials = (size_t)jf_cut_partials(c, s) * sizeof(double);
    *scratch += (partials + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  }
}

/* ---- programs ---- */

static jfl_status program_find(jf_kargs *k, const jf_cut *c, jf_program *call)
{
  jf_text text = { 0 };
  char *source;
  jf_text_add(&text, "%s", jf_cuda_text_program);
  jf_program_source(&text, c, &call->args.is);
  JF_TRY(jf_text_take(&text, &source));
  const jf_cuda_source s = { .what = c->f->title, .text = source };
  jfl_status e = jf_cuda_find(k, &s, "fused", &call->work);
  if (!e && c->n_sum) e = jf_cuda_find(k, &s, "finish", &call->finish);
  jf_free(source);
  return e;
}

jfl_status jf_program_new(jf_kargs *k, const jf_fused *f, jf_program **out)
{
  jf_cut c;
  if (!jf_cut_make(&c, f)) return JFL_ENOSYS;
  jf_program *call = jf_new(sizeof *call);
  if (!call) return jf_fail(JFL_ENOMEM, "out of memory");
  jf_cut_grid(&c, ((const jf_cuda *)k->device->state)->multiprocessors);
  call->args = (jf_cut_args){ .groups = c.groups, .lines = c.lines, .tiles = c.tiles,
                              .parts = c.parts };
  call->grid = (jf_cuda_grid){ c.tiles * c.parts, c.across * c.down, 0 };
  call->finish_grid.threads = 256;
  call->n_in = f->n_in;
  program_gathers(call, &c, &k->scratch_size);
  jfl_status s = program_find(k, &c, call);
  if (s) jf_free(call);
  else *out = call;
  return s;
}

jfl_status jf_program_run(const jf_program *call, const jf_kargs *k, void *const *data, int n)
{
  jf_cut_args a = call->args;
  a.head = jf_cuda_head_of(k);
  memcpy(a.data, data, (size_t)n * sizeof *data);
  for (int i = 0; i < call->n_gather; i++) {
    a.gather[i].from = (char *)k->scratch + call->at[i];
    a.gather[i].to = data[call->n_in + call->out[i]];
  }
  JF_TRY(jf_cuda_launch(k, call->work, call->grid, &a));
  return call->n_gather ? jf_cuda_launch(k, call->finish, call->finish_grid, &a) : JFL_OK;
}

#endif
