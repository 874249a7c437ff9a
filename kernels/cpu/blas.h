/* OpenBLAS, opened at run time. */
#ifndef JF_BLAS_H
#define JF_BLAS_H

/* c (m, n) = alpha a b + beta c. The matrices are row-major and have leading dimensions; with
   trans_a, a is stored as (k, m). */
typedef struct jf_gemm {
  int trans_a, trans_b, m, n, k, lda, ldb, ldc;
  const void *a, *b;
  void *c;
  double alpha, beta;
} jf_gemm;

/* Matrix products on the calling thread. Several threads may call at once. */
typedef struct jf_blas { void (*f32)(const jf_gemm *g), (*f64)(const jf_gemm *g); } jf_blas;

/* Opens the library the first time; returns NULL if it is not installed. */
const jf_blas *jf_blas_open(void);

#endif
