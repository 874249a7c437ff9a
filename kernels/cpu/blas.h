/* OpenBLAS, opened at run time. */
#ifndef JF_BLAS_H
#define JF_BLAS_H

/* c (m, n) = alpha a b + beta c, of float64. The matrices are row-major and have leading
   dimensions; with trans_a, a is stored as (k, m). */
typedef struct jf_gemm {
  int trans_a, trans_b, m, n, k, lda, ldb, ldc;
  const double *a, *b;
  double *c;
  double alpha, beta;
} jf_gemm;

/* Computes a product on the calling thread. Several threads may call at once. */
typedef void (*jf_blas)(const jf_gemm *g);

/* Opens the library the first time; returns NULL if it is not installed. */
jf_blas jf_blas_open(void);

#endif
