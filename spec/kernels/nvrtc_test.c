/* The source of the GPU's elementwise kernels compiles by NVIDIA's own compiler, where that is
   installed, for every architecture that is served, without a warning. */
#include "dev/cuda/cuda.h"
#include "cuda/blocks.cuh"
#include "cuda/cut.h"
#include "cuda/order.cuh"
#include "cuda/recurrent.h"
#include "cuda/scalar.h"
#include "cuda/update.h"
#include "op/op.h"
#include "test.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { N = 1000 };

static const int archs[] = { 75, 80, 90, 100, 120 };
enum { N_ARCH = sizeof archs / sizeof *archs };

/* A program of one op over three axes, of which the first input has all and the others the last. */
typedef struct one_op {
  jf_fused f;
  jf_fused_slot slot[5];
  jf_instr instr;
  jf_fused_arg in[3];
  jfl_dtype key;
  _Alignas(8) char attr[64];
} one_op;

static const jfl_shape whole = { 3, { 5, 7, 11 } }, line = { 1, { 11 } };

/* Infers what the op gives for inputs of that dtype, or of int8 for input `odd`; 0: it refuses. */
static int one_op_infer(one_op *p, const jfl_op *op, jfl_dtype t, int odd)
{
  jfl_value in[3] = { { 0 } }, *list[3];
  static jf_arena arena;       /* freed with the process */
  const int n_in = jf_op_n_in(op);
  jf_infer c = { .op = op, .arena = &arena, .in = list, .n_in = n_in, .attr = p->attr };
  for (int i = 0; i < n_in; i++) {
    p->in[i] = (jf_fused_arg){ i == odd ? JFL_I8 : t, whole };
    in[i].dtype = p->in[i].dtype;
    in[i].shape = whole;
    list[i] = &in[i];
  }
  for (const jf_attr *a = op->attr; a && a->name; a++) {
    if (a->type == JF_ATTR_NUM) *(double *)(void *)(p->attr + a->off) = 0.5;
    if (a->type == JF_ATTR_DTYPE) *(jfl_dtype *)(void *)(p->attr + a->off) = JFL_F16;
  }
  if (jf_op_infer(&c)) return 0;
  for (int i = 0; i < c.n_out; i++) p->f.out[i] = (jf_fused_arg){ c.dtype[i], whole };
  p->f.n_out = c.n_out;
  p->key = op->key < 0 ? c.dtype[0] : p->in[op->key].dtype;
  return op->loop[p->key] != NULL;
}

static int one_op_make(one_op *p, const jfl_op *op, jfl_dtype t, int odd)
{
  *p = (one_op){ .f = { .space = whole, .slot = p->slot, .instr = &p->instr, .in = p->in } };
  if (!one_op_infer(p, op, t, odd)) return 0;
  const int n_in = jf_op_n_in(op);
  for (int i = 0; i < n_in; i++) {
    p->slot[i] = (jf_fused_slot){ .kind = i ? JF_SLOT_BROADCAST : JF_SLOT_EACH, .in = i, .out = -1,
                                  .dtype = p->in[i].dtype, .step = { 0, 0, 1 } };
    if (i) p->in[i].shape = line;
    p->instr.in[i] = i;
  }
  for (int i = 0; i < p->f.n_out; i++) {
    p->slot[n_in + i] = (jf_fused_slot){ .kind = JF_SLOT_EACH, .in = -1, .out = i,
                                         .dtype = p->f.out[i].dtype };
    p->instr.out[i] = n_in + i;
  }
  p->f.title = p->f.program = op->name;
  p->f.n_instr = 1;
  p->f.n_in = n_in;
  p->f.n_slot = n_in + p->f.n_out;
  p->instr = (jf_instr){ .name = op->name, .op = op, .key = p->key, .attr = p->attr,
                         .shape = whole, .n_in = n_in, .n_out = p->f.n_out,
                         .in = { 0, 1, 2 }, .out = { n_in, n_in + 1 } };
  return 1;
}

/* Compiles a text, with `define` before it unless that is NULL; returns whether it could. */
static int compiles(const char *what, const char *text, const char *define, int arch)
{
  void *image;
  size_t size;
  const jf_cuda_source s = { .what = what, .text = text, .define = define };
  const jfl_status e = jf_cuda_compile(arch, &s, 0, &image, &size);
  CHECK_MSG(!e, "%s for sm_%d: %s\n%s", what, arch, jfl_errmsg(), text);
  if (!e) jf_free(image);
  return !e;
}

extern const char jf_cuda_text_program[];
static int compiled;

static void compile_for(const one_op *p, int arch)
{
  jf_text text = { 0 };
  char *source;
  jf_cut c;
  CHECK(jf_cut_make(&c, &p->f));
  jf_text_add(&text, "%s", jf_cuda_text_program);
  jf_program_source(&text, &c, &(jf_cut_values){ 0 });
  CHECK(!jf_text_take(&text, &source));
  compiled += compiles(p->f.title, source, NULL, arch);
  jf_free(source);
}

/* Each op for some architecture, all architectures in turn. */
static void every_elementwise_op_compiles(void)
{
  static const jfl_dtype types[] = { JFL_F32, JFL_F16, JFL_F64, JFL_I32, JFL_I64, JFL_I8 };
  one_op p;
  int turn = 0;
  for (const jfl_op *const *o = jf_ops; *o; o++) {
    if (!(*o)->expr || !(*o)->loop) continue;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
      for (int odd = -1; odd < 2; odd++)
        if (one_op_make(&p, *o, types[t], odd)) {
          compile_for(&p, archs[turn++ % N_ARCH]);
          break;
        }
  }
  printf("%d programs\n", compiled);
}

/* ---- the sources of kernels/cuda ---- */

extern const char jf_cuda_text_matmul[], jf_cuda_text_move[], jf_cuda_text_reduce[],
  jf_cuda_text_softmax[], jf_cuda_text_clip_scale[], jf_cuda_text_argmax[],
  jf_cuda_text_conv[], jf_cuda_text_pool[],
  jf_cuda_text_conv_ends[], jf_cuda_text_random[], jf_cuda_text_assign[];
extern const char jf_cuda_text_gather[], jf_cuda_text_sort[], jf_cuda_text_scatter[],
  jf_cuda_text_fill[], jf_cuda_text_pad[], jf_cuda_text_cumulate[];
extern const char jf_cuda_text_attention[], jf_cuda_text_rotary[], jf_cuda_text_ctc[],
  jf_cuda_text_recurrent[], jf_cuda_text_quantized[];
extern const char jf_cuda_text_crop[], jf_cuda_text_resize[], jf_cuda_text_scale_filters[];

/* What a product is given that keeps, scales and sums nothing. */
#define NOTHING_KEPT \
  "typedef O K;\n#define KEEP 0\n#define KEPT 0\n#define SUMS 0\n#define OF_B 0\n"

/* What each is given besides its types, as its C half gives it. */
static const struct { const char *what, *text, *define; } sources[] = {
  { "move", jf_cuda_text_move, "typedef uint4 T;\n" },
  { "fill", jf_cuda_text_fill, "typedef uint16_t T;\n" },
  { "pad", jf_cuda_text_pad, "typedef uint4 V;\n" },
  { "scale_filters", jf_cuda_text_scale_filters, "typedef double T;\n" },
  { "crop", jf_cuda_text_crop, "typedef uint16_t V;\n" },
  { "resize", jf_cuda_text_resize, "typedef float A;\ntypedef uint8_t T;\n" },
  { "gradient of pad", jf_cuda_text_pad, "#define NUMBERS\n#define AXES 3\n"
    "typedef float T;\n" },
  { "running sums", jf_cuda_text_cumulate, "#define SUM\ntypedef uint64_t A;\n"
    "typedef int32_t T;\n" },
  { "gradient of running products", jf_cuda_text_cumulate, "#define BACK\ntypedef double A;\n"
    "typedef float T;\n" },
  { "reduce", jf_cuda_text_reduce, "typedef float T;\ntypedef double A;\n#define INIT 0\n"
    "#define STEP(a, v) ((a) + (v))\n#define FINISH(a, n) ((a) / (double)(n))\n" },
  { "clip_scale", jf_cuda_text_clip_scale, NULL },
  { "argmax", jf_cuda_text_argmax, "typedef jf_f16 T;\ntypedef float V;\n#define BETTER >\n" },
  { "softmax", jf_cuda_text_softmax,
    "typedef float T;\ntypedef jf_bf16 X;\ntypedef jf_bf16 G;\ntypedef int64_t L;\n"
    "enum { V = 4 };\n" },
  { "pool", jf_cuda_text_pool, "typedef double A;\ntypedef double T;\n" },
  { "conv_ends", jf_cuda_text_conv_ends, "typedef jf_bf16 T;\ntypedef float O;\ntypedef float A;\n"
    "#define V 4\n#define BIAS 2\n#define RESIDUAL 3\n#define Y 4\n#define FROM 1\n"
    "typedef O K;\n#define KEPT 0\n"
    "JF_INLINE A act(A a) { return tanh(a); }\n" },
  { "conv", jf_cuda_text_conv, "typedef float T;\ntypedef float O;\ntypedef float A;\n"
    "#define X 0\n#define F 1\n#define Y 4\n#define BIAS 2\n#define RESIDUAL 3\n"
    "JF_INLINE A act(A a) { return tanh(a); }\n" },
  { "matmul", jf_cuda_text_matmul, "typedef jf_f16 T;\ntypedef float P;\ntypedef float O;\n"
    "typedef float A;\n#define A_AT 0\n#define B_AT 1\n#define Y 3\n#define BIAS 2\n"
    "#define RESIDUAL 0\n#define STEP 0\n#define RATE 1\n#define SCALE 0\n"
    NOTHING_KEPT "JF_INLINE A act(A a) { return a > 0 ? a : 0; }\n" },
  { "step along a matmul", jf_cuda_text_matmul, "typedef double T;\ntypedef double P;\n"
    "typedef double O;\ntypedef double A;\n#define A_AT 1\n#define B_AT 2\n#define Y 0\n"
    "#define BIAS 0\n#define RESIDUAL 0\n#define STEP 3\n#define RATE 1\n#define SCALE 0\n"
    NOTHING_KEPT "JF_INLINE A act(A a) { return a; }\n" },
  { "matmul of integers", jf_cuda_text_matmul, "typedef int32_t T;\ntypedef uint64_t P;\n"
    "typedef int32_t O;\ntypedef int32_t A;\n#define A_AT 0\n#define B_AT 1\n#define Y 2\n"
    "#define BIAS 0\n#define RESIDUAL 0\n#define STEP 0\n#define RATE 1\n#define SCALE 0\n"
    NOTHING_KEPT "JF_INLINE A act(A a) { return a; }\n" },
  { "random", jf_cuda_text_random, "typedef float T;\n" },
  { "permutation", jf_cuda_text_random, "typedef int64_t T;\n" },
  { "assign", jf_cuda_text_assign, "typedef double T;\n" },
  { "ctc", jf_cuda_text_ctc, "typedef float T;\n" },
  { "rotary", jf_cuda_text_rotary, "typedef double T;\ntypedef double A;\n" },
  { "attention", jf_cuda_text_attention, "typedef jf_bf16 T;\ntypedef float O;\ntypedef float L;\n"
    "typedef float M;\ntypedef float A;\n"
    "enum { R = 4, COLUMNS = 8 };\n#define MAKES_attention\n#define MAKES_attention_dot\n"
    "#define MAKES_attention_dq\n#define MAKES_attention_dk\n#define MAKES_attention_dv\n"
    "#define MAKES_attention_mask\n" },
  { "gather", jf_cuda_text_gather, "typedef uint4 V;\ntypedef int32_t I;\n" },
};

static void every_source_compiles(void)
{
  for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
    for (int a = 0; a < N_ARCH; a++)
      compiles(sources[i].what, sources[i].text, sources[i].define, archs[a]);
}

/* The sources that put words in order. */
static void every_ordering_compiles(void)
{
  static const struct { const char *what, *text, *define; } ordered[] = {
    { "sort", jf_cuda_text_sort, "typedef float T;\ntypedef uint32_t K;\n#define FLIP -1\n" },
    { "sort", jf_cuda_text_sort, "typedef int64_t T;\ntypedef uint64_t K;\n#define FLIP 0\n" },
    { "scatter", jf_cuda_text_scatter,
      "typedef float T;\ntypedef int32_t I;\ntypedef uint32_t K;\n#define SUMS\n"
      "typedef float A;\n" },
    { "scatter", jf_cuda_text_scatter,
      "typedef double T;\ntypedef int64_t I;\ntypedef uint32_t K;\n#define SUMS\n#define STEPS\n"
      "typedef double A;\n" },
    { "scatter", jf_cuda_text_scatter,
      "typedef jf_f16 T;\ntypedef int64_t I;\ntypedef uint64_t K;\n" },
  };
  for (size_t i = 0; i < sizeof ordered / sizeof *ordered; i++) {
    jf_text define = { 0 };
    char *text;
    jf_text_add(&define, "%s%s", ordered[i].define, jf_cuda_order);
    CHECK(!jf_text_take(&define, &text));
    compiles(ordered[i].what, ordered[i].text, text, archs[i % N_ARCH]);
    jf_free(text);
  }
}

/* The sources that read weights in few bits. */
static void every_form_of_weights_compiles(void)
{
  static const struct { const char *what, *text, *define; } readers[] = {
    { "quantized", jf_cuda_text_quantized, "enum { ROWS = 8, AT_ONCE = 4 };\n" },
    { "gather", jf_cuda_text_gather, "typedef float V;\ntypedef int64_t I;\n" },
    { "matmul", jf_cuda_text_matmul, "typedef float T;\ntypedef float P;\ntypedef float O;\n"
      "typedef float A;\n#define A_AT 0\n#define B_AT 1\n#define Y 2\n#define BIAS 0\n"
      "#define RESIDUAL 0\n#define STEP 0\n#define RATE 1\n#define SCALE 0\n"
      NOTHING_KEPT "JF_INLINE A act(A a) { return a; }\n" },
  };
  static const jfl_dtype forms[] = { JFL_Q8_0, JFL_Q4_0, JFL_Q4_K, JFL_Q6_K, JFL_F16, JFL_BF16 };
  for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
    for (size_t f = 0; f < sizeof forms / sizeof *forms; f++) {
      jf_text text = { 0 };
      char *define;
      jf_text_add(&text, "%s", readers[i].define);
      jf_blocks_define(&text, forms[f]);
      CHECK(!jf_text_take(&text, &define));
      compiles(readers[i].what, readers[i].text, define, archs[(i + f) % N_ARCH]);
      jf_free(define);
    }
}

/* ---- ops on a few numbers ---- */

/* Frees the source. */
static void compile_source(const char *what, char *source, int arch)
{
  compiles(what, source, NULL, arch);
  jf_free(source);
}

static void compile_small(const jfl_op *op, const void *attr, int arch)
{
  jf_text text = { 0 };
  jf_scalar_op s;
  char *source;
  op->small(op, attr, &s);
  jf_scalar_source(&text, op, attr, &s);
  CHECK(!jf_text_take(&text, &source));
  compile_source(op->name, source, arch);
}

/* Also the numbers of each optimizer's step. */
static void every_small_op_compiles(void)
{
  static const double none[64];
  int turn = 0;
  for (const jfl_op *const *o = jf_ops; *o; o++)
    if ((*o)->small && *o != &jf_op_optimizer_scalars)
      compile_small(*o, none, archs[turn++ % N_ARCH]);
  for (const jfl_optimizer *const *o = jf_optims; *o; o++)
    compile_small(&jf_op_optimizer_scalars,
                  &(jf_optim_choice){ .optimizer = (*o)->name, .optim = *o, .attr = none,
                                      .rule = jf_optim_rule(*o, none) },
                  archs[turn++ % N_ARCH]);
  CHECK(turn > 20);
}

static void every_cell_compiles(void)
{
  for (int kind = JF_RNN_TANH; kind <= JF_GRU; kind++) {
    const jf_recurrent a = { .kind = kind };
    const jf_recurrent_dims d = jf_recurrent_dims_of(&a, &whole, &whole);
    jf_text text = { 0 };
    char *source;
    jf_recurrent_define(&text, kind % 2 ? JFL_F64 : JFL_F32, kind, &d);
    jf_text_add(&text, "%s", jf_cuda_text_recurrent);
    CHECK(!jf_text_take(&text, &source));
    compile_source("recurrent layer", source, archs[kind]);
  }
}

static void every_rule_compiles(void)
{
  static const double none[64];
  char *source;
  int turn = 0;
  for (const jfl_optimizer *const *o = jf_optims; *o; o++, turn++) {
    jf_update a = { .choice = { .optimizer = (*o)->name, .rule = jf_optim_rule(*o, none) },
                    .averages = turn % 2 };
    a.stride = JF_FIRST_SLOT + a.choice.rule->n_slot + a.averages;
    CHECK(!jf_update_source(&a, JFL_F32, &source));
    compile_source((*o)->name, source, archs[turn % N_ARCH]);
  }
}

/* NVRTC keeps memory of its own for good, which the leak check would report. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static int has_compiler(void)
{
  if (SANITIZED) return 0;
  return dlopen("libnvrtc.so.13", RTLD_NOW) || dlopen("libnvrtc.so.12", RTLD_NOW);
}

static void without_it_that_is_what_is_said(void)
{
  void *image;
  size_t size;
  const jf_cuda_source s = { .what = "nothing", .text = "" };
  const jfl_status e = jf_cuda_compile(90, &s, 0, &image, &size);
  if (!e) jf_free(image);
  CHECK_MSG(!e || strstr(jfl_errmsg(), "NVIDIA's compiler of kernels is not installed"), "%s",
            jfl_errmsg());
}

int main(void)
{
  if (has_compiler()) {
    RUN(every_elementwise_op_compiles);
    RUN(every_source_compiles);
    RUN(every_ordering_compiles);
    RUN(every_form_of_weights_compiles);
    RUN(every_small_op_compiles);
    RUN(every_rule_compiles);
    RUN(every_cell_compiles);
  } else {
    printf("left out: NVRTC is not installed, or a sanitizer is there\n");
  }
  if (!SANITIZED) RUN(without_it_that_is_what_is_said);
  return test_done();
}
