/* OpenBLAS, opened at run time. */
#ifndef JF_BLAS_H
#define JF_BLAS_H

/* c (m, n) = alpha a b + beta c of row-major matrices with leading dimensions; a is stored (k, m)
   when trans_a. */
typedef struct jf_gemm {
  int trans_a, trans_b, m, n, k, lda, ldb, ldc;
  const void *a, *b;
  void *c;
  double alpha, beta;
} jf_gemm;

/* Products on the calling thread; several threads may call at once. */
typedef struct jf_blas { void (*f32)(const jf_gemm *g), (*f64)(const jf_gemm *g); } jf_blas;

/* NULL where the library is not there; opens it the first time. */
const jf_blas *jf_blas_open(void);

#endif
