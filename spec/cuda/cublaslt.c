/* The emulated cuBLASLt: descriptors, proposals of algorithms, and products on the CPU, in columns
   as the real one has them. What the real one refuses is refused (cuBLAS documentation, "Using the
   cuBLASLt API"). */
#define _GNU_SOURCE
#include "emulated.h"
#include "version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_INITIALIZED = 1, NO_MEMORY = 3, INVALID = 7, FAILED = 13, UNSUPPORTED = 15 };
enum { F32 = 0, F64 = 1, F16 = 2, BF16 = 14 };
enum { IN_F32 = 68, IN_F64 = 70, IN_TF32 = 77 };
enum { RELU = 2, BIAS = 4, GELU = 32, SLOPE = 64, KEPT = 128, SUMS_A = 256, SUMS_B = 512 };
enum { HAS_BIAS = BIAS | SUMS_A | SUMS_B };
enum { HANDLE = 0x4c740001, LAYOUT, PRODUCT, WISHES, ALGORITHM };

typedef struct lt_handle { int sort, device; } lt_handle;
typedef struct lt_layout {
  int32_t sort, type, order, batch;
  uint64_t rows, columns;
  int64_t step, batch_step;
} lt_layout;
typedef struct lt_product {
  int32_t sort, compute, scale, pointer_mode, transpose[3], epilogue;
  int64_t kept_step;
  void *bias, *kept;
} lt_product;
typedef struct lt_wishes {
  int32_t sort, mode;
  uint64_t room;
  uint32_t reductions, alignment[4];
} lt_wishes;
typedef struct lt_algorithm {
  uint64_t sort, problem, number, workspace, alignment[4];
} lt_algorithm;
typedef struct lt_candidate {
  lt_algorithm algorithm;
  size_t workspace;
  int state;
  float waves;
  int reserved[4];
} lt_candidate;

#define NEEDS(condition, error) do { if (!(condition)) return (error); } while (0)
#define IS(p, s) ((p) && (p)->sort == (s))

/* ---- descriptors ---- */

EMULATED_ENTRY size_t cublasLtGetVersion(void)
{
  return 10000 * (size_t)emulated_major((void *)cublasLtGetVersion);
}

EMULATED_ENTRY int cublasLtCreate(lt_handle **out)
{
  NEEDS(out, INVALID);
  NEEDS(emulated_current(), NOT_INITIALIZED);
  NEEDS(cublasLtGetVersion() / 10000 <= (size_t)emulated_version() / 1000, NOT_INITIALIZED);
  const int error = emulated_injected();
  if (error) return error == CU_OUT_OF_MEMORY ? NO_MEMORY : NOT_INITIALIZED;
  *out = malloc(sizeof **out);
  NEEDS(*out, NO_MEMORY);
  **out = (lt_handle){ HANDLE, emulated_current()->device };
  return OK;
}

EMULATED_ENTRY int cublasLtDestroy(lt_handle *h)
{
  NEEDS(IS(h, HANDLE), INVALID);
  h->sort = 0;
  free(h);
  return OK;
}

#define FREES(name, type, what)                                  \
  EMULATED_ENTRY int name(type *p)                               \
  {                                                              \
    NEEDS(!p || p->sort == (what), INVALID);                     \
    if (p) p->sort = 0;                                          \
    free(p);                                                     \
    return OK;                                                   \
  }
FREES(cublasLtMatrixLayoutDestroy, lt_layout, LAYOUT)
FREES(cublasLtMatmulDescDestroy, lt_product, PRODUCT)
FREES(cublasLtMatmulPreferenceDestroy, lt_wishes, WISHES)

EMULATED_ENTRY int cublasLtMatrixLayoutCreate(lt_layout **out, int type, uint64_t rows,
                                              uint64_t columns, int64_t step)
{
  NEEDS(out, INVALID);
  *out = malloc(sizeof **out);
  NEEDS(*out, NO_MEMORY);
  **out = (lt_layout){ .sort = LAYOUT, .type = type, .batch = 1, .rows = rows, .columns = columns,
                       .step = step };
  return OK;
}

EMULATED_ENTRY int cublasLtMatmulDescCreate(lt_product **out, int compute, int scale)
{
  NEEDS(out, INVALID);
  *out = malloc(sizeof **out);
  NEEDS(*out, NO_MEMORY);
  **out = (lt_product){ .sort = PRODUCT, .compute = compute, .scale = scale, .epilogue = 1 };
  return OK;
}

EMULATED_ENTRY int cublasLtMatmulPreferenceCreate(lt_wishes **out)
{
  NEEDS(out, INVALID);
  *out = malloc(sizeof **out);
  NEEDS(*out, NO_MEMORY);
  **out = (lt_wishes){ .sort = WISHES, .reductions = 7, .alignment = { 256, 256, 256, 256 } };
  return OK;
}

/* Where the attribute of that number lies in a descriptor, and its bytes. */
typedef struct lt_field { int number; size_t at, size; } lt_field;
#define FIELD(number, type, member) { number, offsetof(type, member), sizeof(((type *)0)->member) }

static int lt_set(void *p, const lt_field *f, size_t n, int number, const void *from, size_t size)
{
  for (size_t i = 0; i < n; i++)
    if (f[i].number == number) {
      NEEDS(from && f[i].size == size, INVALID);
      memcpy((char *)p + f[i].at, from, size);
      return OK;
    }
  return INVALID;
}

#define SETS(name, type, what, ...)                                                      \
  EMULATED_ENTRY int name(type *p, int number, const void *from, size_t size)            \
  {                                                                                      \
    static const lt_field fields[] = { __VA_ARGS__ };                                    \
    NEEDS(IS(p, what), INVALID);                                                         \
    return lt_set(p, fields, sizeof fields / sizeof *fields, number, from, size);        \
  }
SETS(cublasLtMatrixLayoutSetAttribute, lt_layout, LAYOUT, FIELD(0, lt_layout, type),
     FIELD(1, lt_layout, order), FIELD(2, lt_layout, rows), FIELD(3, lt_layout, columns),
     FIELD(4, lt_layout, step), FIELD(5, lt_layout, batch), FIELD(6, lt_layout, batch_step))
SETS(cublasLtMatmulDescSetAttribute, lt_product, PRODUCT, FIELD(0, lt_product, compute),
     FIELD(1, lt_product, scale), FIELD(2, lt_product, pointer_mode),
     FIELD(3, lt_product, transpose[0]), FIELD(4, lt_product, transpose[1]),
     FIELD(5, lt_product, transpose[2]), FIELD(7, lt_product, epilogue),
     FIELD(8, lt_product, bias), FIELD(11, lt_product, kept), FIELD(12, lt_product, kept_step))
SETS(cublasLtMatmulPreferenceSetAttribute, lt_wishes, WISHES, FIELD(0, lt_wishes, mode),
     FIELD(1, lt_wishes, room), FIELD(3, lt_wishes, reductions), FIELD(5, lt_wishes, alignment[0]),
     FIELD(6, lt_wishes, alignment[1]), FIELD(7, lt_wishes, alignment[2]),
     FIELD(8, lt_wishes, alignment[3]))

/* ---- what can be multiplied ---- */

/* A whole product: its descriptors, then what lt_check finds in them. */
typedef struct lt_problem {
  const lt_product *product;
  const lt_layout *layout[4];            /* a, b, c, d */
  int64_t m, n, k;                       /* d is m x n */
} lt_problem;

static size_t lt_size(int type) { return type == F64 ? 8 : type == F32 ? 4 : 2; }

static int lt_types_go(const lt_problem *p)
{
  const int t = p->layout[0]->type, out = p->layout[3]->type, compute = p->product->compute;
  if (p->layout[1]->type != t || p->layout[2]->type != out) return 0;
  if (t == F64) return out == F64 && compute == IN_F64 && p->product->scale == F64;
  if (p->product->scale != F32) return 0;
  if (t == F32) return out == F32 && (compute == IN_F32 || compute == IN_TF32);
  return (t == F16 || t == BF16) && (out == t || out == F32) && compute == IN_F32;
}

/* The batch of every layout must be one number of matrices, which do not overlap in d. */
static int lt_batches_go(const lt_problem *p)
{
  const int n = p->layout[0]->batch;
  for (int i = 0; i < 4; i++)
    if (p->layout[i]->batch != n || p->layout[i]->batch_step < 0) return 0;
  const lt_layout *d = p->layout[3];
  return n >= 1 && (n == 1 || d->batch_step >= d->step * (int64_t)d->columns);
}

/* Of the epilogues those that jfl asks for: one of sums, or of the slope, stands alone. */
static int lt_epilogue_goes(const lt_problem *p)
{
  const int e = p->product->epilogue;
  NEEDS(e == 1 || e == (SLOPE | KEPT) || e == SUMS_A || e == SUMS_B ||
        (e & ~(RELU | BIAS | GELU | KEPT)) == 0, UNSUPPORTED);
  NEEDS((e & (RELU | GELU)) != (RELU | GELU), INVALID);
  if (!(e & KEPT)) return OK;
  NEEDS(e & (GELU | SLOPE) && p->layout[0]->batch == 1, UNSUPPORTED);
  NEEDS(p->product->kept_step >= p->m && p->product->kept_step % 8 == 0, INVALID);
  return OK;
}

static int lt_check(lt_problem *p)
{
  const int32_t *t = p->product->transpose;
  for (int i = 0; i < 4; i++) {
    const lt_layout *l = p->layout[i];
    NEEDS(IS(l, LAYOUT), INVALID);
    NEEDS(l->rows && l->columns && l->step >= (int64_t)l->rows && l->order == 0, INVALID);
  }
  NEEDS(t[0] >= 0 && t[0] <= 1 && t[1] >= 0 && t[1] <= 1 && t[2] == 0, INVALID);
  const lt_layout *a = p->layout[0], *b = p->layout[1], *c = p->layout[2], *d = p->layout[3];
  p->m = (int64_t)d->rows;
  p->n = (int64_t)d->columns;
  p->k = (int64_t)(t[0] ? a->rows : a->columns);
  NEEDS((int64_t)(t[0] ? a->columns : a->rows) == p->m, INVALID);
  NEEDS((int64_t)(t[1] ? b->rows : b->columns) == p->n, INVALID);
  NEEDS((int64_t)(t[1] ? b->columns : b->rows) == p->k, INVALID);
  NEEDS(c->rows == d->rows && c->columns == d->columns && lt_batches_go(p), INVALID);
  const int error = lt_epilogue_goes(p);
  NEEDS(!error, error);
  NEEDS(p->product->pointer_mode == 0 && lt_types_go(p), UNSUPPORTED);
  return p->layout[0]->type == F64 && p->product->epilogue != 1 ? UNSUPPORTED : OK;
}

/* A number for all that an algorithm is made for; addresses do not count. */
static uint64_t lt_number(const lt_problem *p)
{
  lt_product product = *p->product;
  uint64_t h = 14695981039346656037u;
  product.bias = product.kept = NULL;
  for (int i = 0; i < 5; i++) {
    const void *from = i < 4 ? (const void *)p->layout[i] : &product;
    const size_t size = i < 4 ? sizeof(lt_layout) : sizeof product;
    for (size_t j = 0; j < size; j++) h = (h ^ ((const unsigned char *)from)[j]) * 1099511628211u;
  }
  return h;
}

/* ---- proposals ---- */

EMULATED_ENTRY int cublasLtMatmulAlgoGetHeuristic(lt_handle *h, lt_product *product, lt_layout *a,
                                                  lt_layout *b, lt_layout *c, lt_layout *d,
                                                  lt_wishes *w, int most, lt_candidate *out, int *n)
{
  static const uint64_t workspaces[] = { 0, 1 << 16 };
  lt_problem p = { .product = product, .layout = { a, b, c, d } };
  NEEDS(n && out && most > 0, INVALID);
  *n = 0;
  NEEDS(IS(h, HANDLE) && IS(product, PRODUCT) && IS(w, WISHES) && w->mode == 0, INVALID);
  if (emulated_injected()) return FAILED;
  const int error = lt_check(&p);
  NEEDS(!error, error);
  const size_t size = lt_size(d->type);
  NEEDS(!(product->epilogue & HAS_BIAS) || (uintptr_t)product->bias % size == 0, INVALID);
  NEEDS(!(product->epilogue & KEPT) || (uintptr_t)product->kept % size == 0, INVALID);
  for (int i = 0; i < 2 && *n < most; i++) {
    if (workspaces[i] > w->room) continue;
    lt_candidate *to = &out[(*n)++];
    *to = (lt_candidate){ .algorithm = { ALGORITHM, lt_number(&p), (uint64_t)i, workspaces[i],
                                         { 0 } },
                          .workspace = workspaces[i], .waves = 1 };
    for (int j = 0; j < 4; j++) to->algorithm.alignment[j] = w->alignment[j];
  }
  return *n ? OK : UNSUPPORTED;
}

/* ---- products ---- */

/* What the device does later. */
typedef struct lt_job {
  lt_problem problem;
  lt_product product;
  lt_layout layout[4];
  const char *a, *b, *c;
  char *d;
  double alpha, beta;
} lt_job;

static float lt_tf32(float v)
{
  uint32_t u;
  memcpy(&u, &v, sizeof u);
  if (v == v) u = (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu;
  memcpy(&v, &u, sizeof v);
  return v;
}

static double lt_load(const void *at, int type, int tf32)
{
  if (type == F64) return *(const double *)at;
  if (type == F32) return tf32 ? lt_tf32(*(const float *)at) : *(const float *)at;
  if (type == F16) return *(const _Float16 *)at;
  const uint32_t u = (uint32_t)*(const uint16_t *)at << 16;
  float v;
  memcpy(&v, &u, sizeof v);
  return v;
}

static void lt_store(void *at, int type, double v)
{
  if (type == F64) *(double *)at = v;
  else if (type == F32) *(float *)at = (float)v;
  else if (type == F16) *(_Float16 *)at = (_Float16)v;
  else {
    const float f = (float)v;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    *(uint16_t *)at = (uint16_t)(v != v ? u >> 16 | 0x40 : (u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
}

static double lt_tanh(double v)
{
  return tanh(0.79788456080286535588 * (v + 0.044715 * v * v * v));
}

static double lt_slope(double v)
{
  const double t = lt_tanh(v);
  return (1 + t) / 2 + v / 2 * (1 - t * t) * 0.79788456080286535588 * (1 + 0.134145 * v * v);
}

static double lt_finish(int epilogue, double v)
{
  if (epilogue & RELU) return v > 0 || v != v ? v : 0;
  if (epilogue & GELU) return 0.5 * v * (1 + lt_tanh(v));
  return v;
}

enum { ROWS = 256, COLUMNS = 4 };

/* Adds to sum[j][i] the products of `k` packed rows of a with COLUMNS packed columns of b. */
#ifdef __x86_64__
__attribute__((target_clones("avx512f", "avx2", "default")))
#endif
static void lt_add_up(double sum[COLUMNS][ROWS], const double *a, const double *b, int64_t k)
{
  for (int64_t l = 0; l < k; l++)
    for (int j = 0; j < COLUMNS; j++) {
      const double factor = b[l * COLUMNS + j];
      for (int i = 0; i < ROWS; i++) sum[j][i] += a[l * ROWS + i] * factor;
    }
}

/* Copies lines from..from+n-1 of a factor, each of k elements, to to[l * width + line]. A line is a
   row of a or a column of b; `along` says that its elements lie side by side. */
static void lt_pack(double *to, const char *matrix, const lt_layout *l, int along, int64_t from,
                    int64_t n, int64_t k, int width, int tf32)
{
  const size_t size = lt_size(l->type);
  memset(to, 0, (size_t)(k * width) * sizeof *to);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < k; j++) {
      const int64_t at = along ? (from + i) * l->step + j : j * l->step + from + i;
      to[j * width + i] = lt_load(matrix + (size_t)at * size, l->type, tf32);
    }
}

static void lt_write(const lt_job *w, int64_t batch, int64_t row, int64_t column, double sum)
{
  const lt_layout *c = &w->layout[2], *d = &w->layout[3];
  const size_t size = lt_size(d->type);
  double v = w->alpha * sum;
  if (w->beta != 0)
    v += w->beta * lt_load(w->c + (size_t)(batch * c->batch_step + column * c->step + row) *
                           lt_size(c->type), c->type, 0);
  if (w->product.epilogue & BIAS)
    v += lt_load((const char *)w->product.bias + (size_t)row * size, d->type, 0);
  if (w->product.epilogue & KEPT) {
    char *kept = (char *)w->product.kept + (size_t)(column * w->product.kept_step + row) * size;
    if (w->product.epilogue & SLOPE) v *= lt_slope(lt_load(kept, d->type, 0));
    else lt_store(kept, d->type, v);
  }
  lt_store(w->d + (size_t)(batch * d->batch_step + column * d->step + row) * size, d->type,
           lt_finish(w->product.epilogue, v));
}

static void lt_multiply_matrix(const lt_job *w, int64_t batch, double *a_packed, double *b_packed)
{
  const lt_layout *a = &w->layout[0], *b = &w->layout[1];
  const int64_t m = w->problem.m, n = w->problem.n, k = w->problem.k;
  const int tf32 = w->product.compute == IN_TF32;
  const char *am = w->a + (size_t)(batch * a->batch_step) * lt_size(a->type);
  const char *bm = w->b + (size_t)(batch * b->batch_step) * lt_size(b->type);
  for (int64_t row = 0; row < m; row += ROWS) {
    const int64_t rows = m - row < ROWS ? m - row : ROWS;
    lt_pack(a_packed, am, a, w->product.transpose[0], row, rows, k, ROWS, tf32);
    for (int64_t column = 0; column < n; column += COLUMNS) {
      const int64_t columns = n - column < COLUMNS ? n - column : COLUMNS;
      double sum[COLUMNS][ROWS] = { { 0 } };
      lt_pack(b_packed, bm, b, !w->product.transpose[1], column, columns, k, COLUMNS, tf32);
      lt_add_up(sum, a_packed, b_packed, k);
      for (int64_t j = 0; j < columns; j++)
        for (int64_t i = 0; i < rows; i++) lt_write(w, batch, row + i, column + j, sum[j][i]);
    }
  }
}

/* The sums of a factor over what the product sums over: of rows of a, or of columns of b. */
static void lt_sum(const lt_job *w)
{
  const int of_a = w->product.epilogue == SUMS_A, type = w->layout[3].type;
  const lt_layout *l = &w->layout[!of_a];
  const int along = of_a ? w->product.transpose[0] : !w->product.transpose[1];
  const int64_t n = of_a ? w->problem.m : w->problem.n;
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int64_t j = 0; j < w->problem.k; j++)
      sum += lt_load((of_a ? w->a : w->b) + (size_t)(along ? i * l->step + j : j * l->step + i) *
                     lt_size(l->type), l->type, 0);
    lt_store((char *)w->product.bias + (size_t)i * lt_size(type), type, sum);
  }
}

static void lt_work(void *arg)
{
  const lt_job *w = arg;
  if (w->product.epilogue & (SUMS_A | SUMS_B)) lt_sum(w);
  double *a = malloc((size_t)w->problem.k * ROWS * sizeof *a);
  double *b = malloc((size_t)w->problem.k * COLUMNS * sizeof *b);
  if (a && b)
    for (int64_t i = 0; i < w->layout[0].batch; i++) lt_multiply_matrix(w, i, a, b);
  free(a);
  free(b);
}

/* Whether all of a layout's elements from `at` on are in the stream's memory. */
static int lt_reaches(emulated_stream *s, const void *at, const lt_layout *l)
{
  const int64_t n = (l->batch - 1) * l->batch_step + (int64_t)(l->columns - 1) * l->step +
                    (int64_t)l->rows;
  if (emulated_reaches(s, at, (size_t)n * lt_size(l->type))) return 1;
  fprintf(stderr, "emulated cuBLASLt: a matrix is not in the device's memory\n");
  return 0;
}

/* Whether the algorithm is one for that product, and goes with these addresses. */
static int lt_algorithm_goes(const lt_algorithm *g, const lt_problem *p, const void *const *at,
                             const void *workspace, size_t room)
{
  if (!IS(g, ALGORITHM) || g->problem != lt_number(p) || room < g->workspace) return 0;
  if (g->workspace && (!workspace || (uintptr_t)workspace % 256)) return 0;
  for (int i = 0; i < 4; i++)
    if ((uintptr_t)at[i] % g->alignment[i]) return 0;
  return 1;
}

EMULATED_ENTRY int cublasLtMatmul(lt_handle *h, lt_product *product, const void *alpha,
                                  const void *a, lt_layout *al, const void *b, lt_layout *bl,
                                  const void *beta, const void *c, lt_layout *cl, void *d,
                                  lt_layout *dl, const lt_algorithm *algorithm, void *workspace,
                                  size_t room, emulated_stream *s)
{
  lt_problem p = { .product = product, .layout = { al, bl, cl, dl } };
  const void *at[] = { a, b, c, d };
  NEEDS(IS(h, HANDLE) && emulated_current(), NOT_INITIALIZED);
  NEEDS(IS(product, PRODUCT) && alpha && beta && a && b && d, INVALID);
  if (emulated_injected()) return FAILED;
  const int error = lt_check(&p);
  NEEDS(!error, error);
  NEEDS(lt_algorithm_goes(algorithm, &p, at, workspace, room), INVALID);
  NEEDS(!(product->epilogue & HAS_BIAS) || product->bias, INVALID);
  NEEDS(!(product->epilogue & KEPT) || product->kept, INVALID);
  lt_job w = { .problem = p, .product = *product, .a = a, .b = b, .c = c, .d = d,
               .alpha = lt_load(alpha, product->scale, 0),
               .beta = lt_load(beta, product->scale, 0) };
  NEEDS(c || w.beta == 0, INVALID);
  for (int i = 0; i < 4; i++) w.layout[i] = *p.layout[i];
  for (int i = 0; i < 4; i++)
    NEEDS((i == 2 && w.beta == 0) || lt_reaches(s, at[i], p.layout[i]), FAILED);
  const size_t size = lt_size(dl->type);
  const int64_t n_bias = product->epilogue & SUMS_B ? p.n : p.m;
  NEEDS(!(product->epilogue & HAS_BIAS) ||
        emulated_reaches(s, product->bias, (size_t)n_bias * size), FAILED);
  NEEDS(!(product->epilogue & KEPT) ||
        emulated_reaches(s, product->kept, (size_t)(p.n * product->kept_step) * size), FAILED);
  NEEDS(!algorithm->workspace || emulated_reaches(s, workspace, algorithm->workspace), FAILED);
  return emulated_work(s, lt_work, &w, sizeof w) ? FAILED : OK;
}
