/* cuBLASLt, opened at run time: its functions that jfl calls, with types of our own (cuBLAS
   documentation, "Using the cuBLASLt API", version 12 and later), and matrix products by it. */
#ifndef JF_CUDA_BLAS_H
#define JF_CUDA_BLAS_H

#include "dev/cuda/cuda.h"

typedef int jf_lt;                       /* a status; 0: it worked */
typedef struct jf_lt_handle jf_lt_handle;
typedef struct jf_lt_product jf_lt_product;
typedef struct jf_lt_layout jf_lt_layout;
typedef struct jf_lt_wishes jf_lt_wishes;
/* How a product is done; may be copied and kept as it is. */
typedef struct jf_lt_algorithm { uint64_t data[8]; } jf_lt_algorithm;
typedef struct jf_lt_candidate {
  jf_lt_algorithm algorithm;
  size_t workspace;
  jf_lt state;                           /* 0: the product can be done so */
  float waves;
  int reserved[4];
} jf_lt_candidate;

/* X(field, symbol, parameters). */
#define JF_CUDA_BLAS(X)                                                                            \
  X(create, cublasLtCreate, (jf_lt_handle **out))                                                  \
  X(destroy, cublasLtDestroy, (jf_lt_handle *h))                                                   \
  X(layout_new, cublasLtMatrixLayoutCreate, (jf_lt_layout **out, int type, uint64_t rows,          \
                                             uint64_t columns, int64_t step))                      \
  X(layout_free, cublasLtMatrixLayoutDestroy, (jf_lt_layout *l))                                   \
  X(layout_set, cublasLtMatrixLayoutSetAttribute, (jf_lt_layout *l, int name, const void *value,   \
                                                   size_t size))                                   \
  X(product_new, cublasLtMatmulDescCreate, (jf_lt_product **out, int compute, int scale))          \
  X(product_free, cublasLtMatmulDescDestroy, (jf_lt_product *p))                                   \
  X(product_set, cublasLtMatmulDescSetAttribute, (jf_lt_product *p, int name, const void *value,   \
                                                  size_t size))                                    \
  X(wishes_new, cublasLtMatmulPreferenceCreate, (jf_lt_wishes **out))                              \
  X(wishes_free, cublasLtMatmulPreferenceDestroy, (jf_lt_wishes *w))                               \
  X(wishes_set, cublasLtMatmulPreferenceSetAttribute, (jf_lt_wishes *w, int name,                  \
                                                       const void *value, size_t size))            \
  X(candidates, cublasLtMatmulAlgoGetHeuristic,                                                    \
    (jf_lt_handle *h, jf_lt_product *p, jf_lt_layout *a, jf_lt_layout *b, jf_lt_layout *c,         \
     jf_lt_layout *d, jf_lt_wishes *w, int most, jf_lt_candidate *out, int *n))                    \
  X(multiply, cublasLtMatmul,                                                                      \
    (jf_lt_handle *h, jf_lt_product *p, const void *alpha, const void *a, jf_lt_layout *al,        \
     const void *b, jf_lt_layout *bl, const void *beta, const void *c, jf_lt_layout *cl, void *d,  \
     jf_lt_layout *dl, const jf_lt_algorithm *algorithm, void *workspace, size_t workspace_size,   \
     jf_cu_stream *s))

typedef struct jf_cuda_blas_api {
#define JF_CUDA_BLAS_FIELD(field, symbol, parameters) jf_lt (*field) parameters;
  JF_CUDA_BLAS(JF_CUDA_BLAS_FIELD)
#undef JF_CUDA_BLAS_FIELD
  size_t (*version)(void);               /* cublasLtGetVersion: 130100 is 13.1.0 */
} jf_cuda_blas_api;

/* Numbers of the library's interface. */
enum {
  JF_LT_NO_MEMORY = 3,
  JF_LT_F32 = 0, JF_LT_F64 = 1, JF_LT_F16 = 2, JF_LT_BF16 = 14,          /* types of elements */
  JF_LT_IN_F32 = 68, JF_LT_IN_F64 = 70, JF_LT_IN_TF32 = 77,              /* how sums are made */
  JF_LT_BATCH = 5, JF_LT_BATCH_STEP = 6,                                 /* of layouts */
  JF_LT_TRANSPOSE_A = 3, JF_LT_TRANSPOSE_B = 4, JF_LT_EPILOGUE = 7, JF_LT_BIAS = 8,
  JF_LT_KEPT = 11, JF_LT_KEPT_STEP = 12,                                 /* the "auxiliary" one */
  JF_LT_MOST_WORKSPACE = 1, JF_LT_REDUCTIONS = 3, JF_LT_ALIGNMENT_A = 5, /* wishes; then b, c, d */
  JF_LT_IN_COMPUTED = 2, JF_LT_ANY_REDUCTION = 7,                        /* reductions */
  JF_LT_PLAIN = 1, JF_LT_WITH_RELU = 2, JF_LT_WITH_BIAS = 4, JF_LT_WITH_GELU = 32,  /* epilogues */
  JF_LT_TIMES_SLOPE = 64, JF_LT_WITH_KEPT = 128, JF_LT_SUMS_A = 256, JF_LT_SUMS_B = 512
};

/* An algorithm that was chosen for a product. */
typedef struct jf_cuda_known {
  struct jf_cuda_known *next;
  jf_lt_algorithm algorithm;
  size_t workspace;
  char work[];                           /* what the product is, as product_text writes it */
} jf_cuda_known;

/* The library, opened and started on the device at the first call; NULL: it cannot be used. It ends
   with jf_cuda_blas_free, which the device's end calls. */
typedef struct jf_cuda_blas {
  const jf_cuda_blas_api *api;
  jf_lt_handle *handle;                  /* NULL: the library does not start */
  pthread_mutex_t mu;                    /* guards known */
  jf_cuda_known *known;                  /* algorithms chosen so far */
} jf_cuda_blas;
jf_cuda_blas *jf_cuda_blas_open(jf_cuda *c);
void jf_cuda_blas_free(jf_cuda *c);

/* ---- products (product.c) ---- */

/* y = act(a b + bias + residual), for a batch of matrices in rows: a is m x k, b is k x n; if
   transposed they are stored as k x m and n x k. bias has n elements, residual is like y. */
typedef struct jf_cuda_product {
  int64_t batch, m, n, k;
  int transpose_a, transpose_b;
  jfl_dtype in, out;                     /* floats; out: in, or float32 for in of 16 bits */
  int tf32;
  int bias, residual;                    /* whether they are there */
  const char *act;                       /* "relu", "gelu_tanh" or NULL */
  int keeps;                             /* what act, gelu_tanh, reads is written as well */
  int slopes;                            /* y is a b times gelu_tanh's slope at what was kept */
  int sums;                              /* 1: the sums of a over k are written as well; 2: of b */
} jf_cuda_product;

/* Prepares a product; *scratch is how many bytes it needs. JFL_ENOSYS: the library is not there, or
   does no such product. The caller frees *out by jf_cuda_product_free. */
typedef struct jf_cuda_multiply jf_cuda_multiply;
jfl_status jf_cuda_product_new(jf_cuda *c, const jf_cuda_product *p, jf_cuda_multiply **out,
                               size_t *scratch);
void jf_cuda_product_free(void *multiply);
/* Queues it on the stream of k. Addresses are multiples of 16. */
typedef struct jf_cuda_factors {
  const void *a, *b, *bias, *residual;
  void *y, *kept, *sums, *scratch;       /* kept is like y; sums are of its dtype */
} jf_cuda_factors;
jfl_status jf_cuda_multiply_run(const jf_kargs *k, const jf_cuda_multiply *m,
                                const jf_cuda_factors *f);

#endif
