/* Formulas in the records of ops and optimizers: C source made of nothing but their texts is
   compiled here and gives what the plain kernels give, bit for bit. So a device that compiles
   source can make its loops from the records alone. The source is compiled as C++ too, as CUDA
   would. */
#include "dev/half.h"
#include "optim/optim.h"
#include "test.h"

#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_CASES = 1024, POOL = 45, N = POOL * POOL };

/* An op with dtypes that it takes; `odd` is the input that is int8 whatever the others are, or
   -1. */
typedef struct formula_case {
  const jfl_op *op;
  int n_in, odd;
  jfl_dtype in[3], out, key;
  _Alignas(8) char attr[64];
} formula_case;
static formula_case cases[MOST_CASES];
static int n_case;

/* A rule of an optimizer, for parameters of one dtype. */
enum { MOST_RULES = 64, MOST_SLOTS = 8, MOST_SCALARS = 16 };
typedef struct rule_case { const jf_rule *rule; jfl_dtype type; } rule_case;
static rule_case rules[MOST_RULES];
static int n_rule;

/* ---- which cases there are ---- */

/* Gives each number attribute a value of its own, and dtype attributes the dtype `to`. */
static void set_attributes(formula_case *c, jfl_dtype to)
{
  double next = 0.3;
  for (const jf_attr *a = c->op->attr; a && a->name; a++) {
    if (a->type == JF_ATTR_NUM) *(double *)(void *)(c->attr + a->off) = next;
    else if (a->type == JF_ATTR_DTYPE) *(jfl_dtype *)(void *)(c->attr + a->off) = to;
    else CHECK_MSG(0, "%s: attribute %s", c->op->name, a->name);
    next += 0.7;
  }
}

static int is_accepted(formula_case *c)
{
  jfl_value in[3] = { { 0 } }, *list[3];
  static jf_arena arena;       /* freed with the process */
  jf_infer f = { .op = c->op, .arena = &arena, .in = list, .n_in = c->n_in, .attr = c->attr };
  for (int i = 0; i < c->n_in; i++) {
    in[i].dtype = c->in[i];
    in[i].shape = (jfl_shape){ 1, { N } };
    list[i] = &in[i];
  }
  if (jf_op_infer(&f)) return 0;
  c->out = f.dtype[0];
  c->key = c->op->key < 0 ? c->out : c->in[c->op->key];
  return c->op->loop[c->key] != NULL;
}

static void add_case(const jfl_op *op, jfl_dtype t, int odd, jfl_dtype to)
{
  formula_case *c = &cases[n_case];
  *c = (formula_case){ .op = op, .n_in = jf_op_n_in(op), .odd = odd };
  if (odd >= c->n_in || (odd >= 0 && t == JFL_I8)) return;
  if (jf_is_half(t) || jf_is_half(to)) return;         /* devices load and store them as floats */
  for (int i = 0; i < c->n_in; i++) c->in[i] = i == odd ? JFL_I8 : t;
  set_attributes(c, to);
  if (is_accepted(c) && n_case < MOST_CASES - 1) n_case++;
}

static int takes_dtype(const jfl_op *op)
{
  for (const jf_attr *a = op->attr; a && a->name; a++)
    if (a->type == JF_ATTR_DTYPE) return 1;
  return 0;
}

static void every_elementwise_op_takes_some_dtypes(void)
{
  for (const jfl_op *const *o = jf_ops; *o; o++) {
    const int before = n_case;
    if (!(*o)->loop) continue;
    for (int t = 0; t < JFL_N_DTYPE; t++)
      for (int odd = -1; odd < 2; odd++)
        for (int to = 0; to < (takes_dtype(*o) ? JFL_N_DTYPE : 1); to++)
          add_case(*o, (jfl_dtype)t, odd, (jfl_dtype)to);
    CHECK_MSG(n_case > before, "no case of %s", (*o)->name);
  }
}

static void add_rule(const jf_rule *rule)
{
  for (int i = 0; i < n_rule; i++)
    if (rules[i].rule == rule) return;
  CHECK(rule->n_slot <= MOST_SLOTS && rule->n_scalar + JF_FIRST_SCALAR <= MOST_SCALARS);
  for (int t = 0; t < JFL_N_DTYPE && n_rule < MOST_RULES; t++)
    if (rule->plain[t]) rules[n_rule++] = (rule_case){ rule, (jfl_dtype)t };
}

/* Optimizers choose rules by their attributes, so each is tried with attributes of 0 and of
   others. */
static void every_optimizer_has_rules(void)
{
  for (const jfl_optimizer *const *o = jf_optims; *o; o++) {
    _Alignas(8) char attr[256] = { 0 };
    CHECK((*o)->attr_size <= sizeof attr);
    add_rule(jf_optim_rule(*o, attr));
    for (const jf_attr *a = (*o)->attr; a && a->name; a++)
      if (a->type == JF_ATTR_NUM) *(double *)(void *)(attr + a->off) = 0.5;
    add_rule(jf_optim_rule(*o, attr));
    for (const jf_attr *a = (*o)->attr; a && a->name; a++)
      if (a->type == JF_ATTR_BOOL) *(int *)(void *)(attr + a->off) = 1;
    add_rule(jf_optim_rule(*o, attr));
  }
  CHECK(n_rule > 0);
}

/* ---- the source ---- */

typedef struct c_type { const char *name, *wrapping, *least, *most; } c_type;
static const c_type types[JFL_N_DTYPE] = {
  [JFL_F32] = { "float", "float", NULL, NULL }, [JFL_F64] = { "double", "double", NULL, NULL },
  [JFL_I8] = { "int8_t", "uint8_t", "INT8_MIN", "INT8_MAX" },
  [JFL_U8] = { "uint8_t", "uint8_t", "0", "UINT8_MAX" },
  [JFL_I32] = { "int32_t", "uint32_t", "INT32_MIN", "INT32_MAX" },
  [JFL_I64] = { "int64_t", "uint64_t", "INT64_MIN", "INT64_MAX" },
};

static void write_function(FILE *to, const formula_case *c, int number)
{
  const char *body = c->op->define[types[c->out].least != NULL];
  if (!body) return;
  fprintf(to, "static inline O function_%d(T a%s) { %s }\n", number, c->n_in > 1 ? ", T b" : "",
          body);
  fprintf(to, "#define jf_%s function_%d\n", c->op->name, number);
}

static void write_case(FILE *to, const formula_case *c, int number)
{
  const c_type *o = &types[c->out];
  fprintf(to, "#define T %s\n#define U %s\n#define O %s\n", types[c->key].name,
          types[c->key].wrapping, o->name);
  if (o->least) fprintf(to, "#define LEAST %s\n#define MOST %s\n", o->least, o->most);
  write_function(to, c, number);
  fprintf(to, "void case_%d(const void *const *in, const double *u, void *out, void *second)\n{\n"
          "  O *y = (O *)out; int8_t *z = (int8_t *)second;\n", number);
  for (const jf_attr *a = c->op->attr; a && a->name; a++)
    if (a->type == JF_ATTR_NUM)
      fprintf(to, "  const double %s = %.17g;\n", a->name,
              *(const double *)(const void *)(c->attr + a->off));
  fprintf(to, "  for (int i = 0; i < %d; i++) {\n    const double uniform = u[i];\n", N);
  for (int i = 0; i < c->n_in; i++)
    fprintf(to, "    const %s %c = ((const %s *)in[%d])[i];\n", types[c->in[i]].name, 'a' + i,
            types[c->in[i]].name, i);
  fprintf(to, "    y[i] = (O)(%s);\n    if (z) z[i] = (int8_t)(%s);\n    (void)uniform;\n  }\n}\n",
          c->op->expr, c->op->second ? c->op->second : "0");
  fprintf(to, "#undef T\n#undef U\n#undef O\n#undef LEAST\n#undef MOST\n#undef jf_%s\n",
          c->op->name);
}

static jfl_dtype slot_type(const rule_case *c, int slot)
{
  const jfl_dtype own = c->rule->slot[slot].dtype;
  return own == JFL_N_DTYPE ? c->type : own;
}

/* Writes a loop that does what a formula says to each element. */
static void write_loop(FILE *to, const rule_case *c, const char *formula)
{
  const jf_rule *r = c->rule;
  fprintf(to, "  for (int i = 0; i < %d; i++) {\n"
          "    T w = ((T *)tensor[0])[i]; const T g = ((const T *)tensor[1])[i] * scale;\n", N);
  for (int i = 0; i < r->n_slot; i++)
    fprintf(to, "    %s %s = ((const %s *)tensor[%d])[i];\n", types[slot_type(c, i)].name,
            r->slot[i].name, types[slot_type(c, i)].name, JF_FIRST_SLOT + i);
  fprintf(to, "    %s;\n    ((T *)tensor[0])[i] = w;\n", formula);
  for (int i = 0; i < r->n_slot; i++)
    fprintf(to, "    ((%s *)tensor[%d])[i] = %s;\n", types[slot_type(c, i)].name,
            JF_FIRST_SLOT + i, r->slot[i].name);
  fputs("  }\n", to);
}

/* Writes a function that takes gradients and slots and changes w and slots. */
static void write_rule(FILE *to, const rule_case *c, int number)
{
  const jf_rule *r = c->rule;
  fprintf(to, "#define T %s\nvoid rule_%d(void *const *tensor, const double *scalar)\n{\n"
          "  const T scale = (T)scalar[%d], lr = (T)scalar[%d];\n  const double elements = %d;\n",
          types[c->type].name, number, JF_SCALE, JF_RATE, N);
  for (int i = 0; i < r->n_scalar; i++)
    fprintf(to, "  const T %s = (T)scalar[%d];\n", r->scalar[i], JF_FIRST_SCALAR + i);
  for (int i = 0; i < r->n_sum; i++) fprintf(to, "  double %s = 0;\n", r->sum[i]);
  if (r->measure) write_loop(to, c, r->measure);
  if (r->derive) fprintf(to, "  %s;\n", r->derive);
  write_loop(to, c, r->formula);
  fputs("}\n#undef T\n", to);
}

static void write_source(const char *path)
{
  FILE *to = fopen(path, "w");
  CHECK(to != NULL);
  if (!to) return;
  fputs("#include <stdint.h>\n#ifdef __cplusplus\n#include <math.h>\nextern \"C\" {\n#else\n"
        "#include <tgmath.h>\n#endif\n", to);
  for (int i = 0; i < n_case; i++) write_case(to, &cases[i], i);
  for (int i = 0; i < n_rule; i++) write_rule(to, &rules[i], i);
  fputs("#ifdef __cplusplus\n}\n#endif\n", to);
  fclose(to);
}

/* ---- inputs: numbers, infinities and the ends of types, in all combinations ---- */

static const double floats[POOL] = {
  0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 0.25, 0.3, 0.29999999, 1.5, 2.5, -2.5, 3.5, 7, -7, 10.1,
  -10.1, 88.7, -88.7, 104, 127.4, 127.9, 128, -128.9, -129, 255.5, 256, 1e-3, -1e-3, 1e-30, 1e-42,
  1e30, -1e30, 2147483520, 2147483648, -2147483648.0, 9.2e18, 1e19, INFINITY, -INFINITY, NAN
};
static const int64_t ints[POOL] = {
  0, 1, -1, 2, -2, 3, -3, 5, -5, 7, -7, 10, 11, 31, 32, 63, 64, 100, -100, 126, 127, 128, -127,
  -128, -129, 255, 256, 32767, 65535, 46340, 46341, -46341, 1000003, INT32_MAX - 1, INT32_MAX,
  INT32_MIN,
  (int64_t)INT32_MIN + 1, (int64_t)INT32_MAX + 1, (int64_t)INT32_MIN - 1, INT64_MAX, INT64_MIN,
  INT64_MAX - 100, INT64_MIN + 1, 3037000499, 3037000500
};

static double uniform[N];
static _Alignas(64) char input[3][N * 8], want[N * 8], got[N * 8];
static int8_t want_second[N], got_second[N];
static const jf_random_source source = { 0x1234567812345678, 7, 0 };

static void fill(char *to, jfl_dtype t, int which)
{
  for (int i = 0; i < N; i++) {
    const int at = which == 0 ? i % POOL : which == 1 ? i / POOL : i * 7 % POOL;
#define SET_FLOAT(D, T) case JFL_##D: ((T *)(void *)to)[i] = (T)floats[at]; break;
#define SET_INT(D, T) case JFL_##D: ((T *)(void *)to)[i] = (T)ints[at]; break;
    switch (t) {
    JF_EACH_FLOAT(SET_FLOAT)
    JF_EACH_INT(SET_INT)
    JF_EACH_SMALL(SET_INT)
    default: break;
    }
  }
}

static int same(jfl_dtype t, const char *a, const char *b)
{
  const float *fa = (const void *)a, *fb = (const void *)b;
  const double *da = (const void *)a, *db = (const void *)b;
  if (t == JFL_F32 && isnan(*fa)) return isnan(*fb);
  if (t == JFL_F64 && isnan(*da)) return isnan(*db);
  return !memcmp(a, b, jfl_dtype_size(t));
}

typedef void (*formula_loop)(const void *const *in, const double *u, void *out, void *second);

static void run_case(const formula_case *c, formula_loop loop)
{
  const jfl_shape shape = { 1, { N } };
  const void *in[3] = { input[0], input[1], input[2] };
  jf_tensor x[3], y[2] = { { .data = want, .dtype = c->out, .shape = shape },
                           { .data = want_second, .dtype = JFL_I8, .shape = shape } };
  const int n_out = jf_op_n_out(c->op);
  jf_kargs k = { .in = x, .out = y, .n_in = c->n_in, .n_out = n_out, .attr = c->attr,
                 .random = source, .threads = 1 };
  for (int i = 0; i < c->n_in; i++) {
    fill(input[i], c->in[i], i);
    x[i] = (jf_tensor){ .data = input[i], .dtype = c->in[i], .shape = shape };
  }
  CHECK(!c->op->cpu[c->key](&k));
  loop(in, uniform, got, n_out > 1 ? got_second : NULL);
  const size_t size = jfl_dtype_size(c->out);
  for (int i = 0; i < N; i++)
    CHECK_MSG(same(c->out, want + (size_t)i * size, got + (size_t)i * size),
              "%s of %s: element %d differs", c->op->name, jfl_dtype_name(c->in[0]), i);
  for (int i = 0; i < N && n_out > 1; i++)
    CHECK_MSG(want_second[i] == got_second[i], "%s: element %d of the second", c->op->name, i);
}

/* Gives each element of each tensor a number of its own. None is negative, for the sake of
   roots. */
static void fill_tensor(char *to, jfl_dtype t, int which)
{
  for (int i = 0; i < N; i++) {
    const double v = (i * 7 + which * 13) % 1009 / 1009.0;
    if (t == JFL_F32) ((float *)(void *)to)[i] = (float)v;
    else ((double *)(void *)to)[i] = v;
  }
}

/* Sums are added in another order, so what follows from them may differ by roundings. */
static int near(jfl_dtype t, const void *a, const void *b)
{
  if (t == JFL_F32) return fabsf(*(const float *)a - *(const float *)b) <= 1e-6f;
  return fabs(*(const double *)a - *(const double *)b) <= 1e-12;
}

typedef void (*rule_loop)(void *const *tensor, const double *scalar);

static void run_rule(const rule_case *c, rule_loop loop)
{
  enum { MOST = JF_FIRST_SLOT + MOST_SLOTS };
  static _Alignas(64) char mine[MOST][N * 8], theirs[MOST][N * 8];
  const int n = JF_FIRST_SLOT + c->rule->n_slot;
  double scalar[MOST_SCALARS];
  jf_tensor tensor[MOST];
  void *data[MOST];
  for (int i = 0; i < MOST_SCALARS; i++) scalar[i] = 0.9 - 0.05 * i;
  for (int i = 0; i < n; i++) {
    const jfl_dtype t = i < JF_FIRST_SLOT ? c->type : slot_type(c, i - JF_FIRST_SLOT);
    fill_tensor(mine[i], t, i);
    fill_tensor(theirs[i], t, i);
    tensor[i] = (jf_tensor){ .data = mine[i], .dtype = t, .shape = { 1, { N } } };
    data[i] = theirs[i];
  }
  double sum[JF_MOST_SUMS] = { 0 };
  const jf_update_args u = { .tensor = tensor, .n = N, .scalar = scalar, .sum = sum };
  if (c->rule->n_sum) c->rule->measure_plain[c->type](&u);
  c->rule->plain[c->type](&u);
  loop(data, scalar);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < N; j++) {
      const size_t size = jfl_dtype_size(tensor[i].dtype), at = (size_t)j * size;
      const int agree = c->rule->n_sum ? near(tensor[i].dtype, mine[i] + at, theirs[i] + at)
                                       : same(tensor[i].dtype, mine[i] + at, theirs[i] + at);
      CHECK_MSG(agree, "%s: tensor %d, element %d", c->rule->formula, i, j);
    }
}

/* ---- compiling it ---- */

static char folder[] = "/tmp/jfl_formula_XXXXXX";

static void run_with(const char *compiler, const char *options)
{
  char command[1024], name[64];
  snprintf(command, sizeof command, "command -v %s >/dev/null", compiler);
  if (system(command)) return;
  snprintf(command, sizeof command,
           "%s %s -O1 -w -ffp-contract=off -fPIC -shared -o %s/%s.so %s/all.c -lm", compiler,
           options, folder, compiler, folder);
  CHECK_MSG(!system(command), "%s", command);
  snprintf(command, sizeof command, "%s/%s.so", folder, compiler);
  void *library = dlopen(command, RTLD_NOW);
  CHECK_MSG(library != NULL, "%s", dlerror());
  for (int i = 0; library && i < n_case; i++) {
    formula_loop loop;
    snprintf(name, sizeof name, "case_%d", i);
    *(void **)&loop = dlsym(library, name);
    CHECK_MSG(loop != NULL, "%s", name);
    if (loop) run_case(&cases[i], loop);
  }
  for (int i = 0; library && i < n_rule; i++) {
    rule_loop loop;
    snprintf(name, sizeof name, "rule_%d", i);
    *(void **)&loop = dlsym(library, name);
    CHECK_MSG(loop != NULL, "%s", name);
    if (loop) run_rule(&rules[i], loop);
  }
  if (library) dlclose(library);
}

static void each_elementwise_op_has_a_text(void)
{
  for (const jfl_op *const *o = jf_ops; *o; o++) {
    if (!(*o)->loop) continue;
    CHECK_MSG((*o)->expr != NULL, "%s", (*o)->name);
    CHECK_MSG(jf_op_n_out(*o) < 2 || (*o)->second, "%s", (*o)->name);
    CHECK_MSG(!(*o)->expr || !strstr((*o)->expr, "->"), "%s: %s", (*o)->name, (*o)->expr);
  }
}

static void texts_compiled_as_c_give_what_kernels_give(void) { run_with("cc", "-std=c11"); }
static void texts_compiled_as_cpp_give_what_kernels_give(void) { run_with("c++", "-x c++"); }

int main(void)
{
  char path[64];
  for (int i = 0; i < N; i++) {
    const jf_philox r = jf_philox_at(source.key, source.run, (uint64_t)i / 4);
    uniform[i] = (double)(r.w[i % 4] >> 8) * 0x1p-24;
  }
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/all.c", folder);
  RUN(every_elementwise_op_takes_some_dtypes);
  RUN(each_elementwise_op_has_a_text);
  RUN(every_optimizer_has_rules);
  write_source(path);
  RUN(texts_compiled_as_c_give_what_kernels_give);
  RUN(texts_compiled_as_cpp_give_what_kernels_give);
  unlink(path);
  snprintf(path, sizeof path, "%s/cc.so", folder);
  unlink(path);
  snprintf(path, sizeof path, "%s/c++.so", folder);
  unlink(path);
  rmdir(folder);
  return test_done();
}
