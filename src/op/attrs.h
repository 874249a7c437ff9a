/* The attributes of ops that need nothing else of their own in a header. */
#ifndef JF_OP_ATTRS_H
#define JF_OP_ATTRS_H

#include "dev/kernel.h"

typedef struct jf_argmax { int64_t axis; } jf_argmax;           /* argmax, argmin */
typedef struct jf_array { const jfl_array *value; } jf_array;   /* data that is part of a graph */
typedef struct jf_broadcast { jf_ints shape; } jf_broadcast;    /* broadcast_to */
typedef struct jf_dim_gather { int64_t dim; } jf_dim_gather;    /* dim_gather, dim_scatter_add */
typedef struct jf_moving_average { double momentum; } jf_moving_average;
typedef struct jf_softmax { int64_t axis; } jf_softmax;         /* infer makes axis count from 0 */

/* ---- activations and clipping ---- */

typedef struct jf_leaky { double alpha; } jf_leaky;             /* leaky_relu, elu */
typedef struct jf_clip { double min_value, max_value; } jf_clip;
typedef struct jf_hardtanh { double min_val, max_val; } jf_hardtanh;
typedef struct jf_shrink { double lambd; } jf_shrink;           /* softshrink, hardshrink */
typedef struct jf_swish { double beta; } jf_swish;

/* ---- larger ones ---- */

typedef struct jf_bias_add {
  const char *data_format;
  int axis;                  /* set by infer: the axis of value that bias runs along */
} jf_bias_add;

typedef struct jf_change_view {
  int mirrored;              /* what the result is */
  int64_t parts;             /* how many devices the values lie on */
} jf_change_view;

/* cumsum, cumprod, cumprod_grad. exclusive: a result does not count the element at its own place.
   reverse: results count from the end. */
typedef struct jf_cumulate { int64_t axis; int exclusive, reverse; } jf_cumulate;

/* Texts of distributions (jf_distribution_read). */
typedef struct jf_parallel_cast { const char *distribute, *gradient_distribute; } jf_parallel_cast;

typedef struct jf_sort { int64_t axis; const char *direction; } jf_sort;
typedef struct jf_top_k { int64_t axis, k; int sorted; } jf_top_k;
/* Whether a sort with these attributes begins with the largest. */
static inline int jf_sort_falls(const jf_sort *a) { return a->direction[0] == 'D'; }

/* non_max_suppression */
typedef struct jf_suppress {
  int64_t max_output;
  double iou_threshold, score_threshold;
} jf_suppress;

/* The last diagonal that tril keeps, or the first one of triu, counted from the main one up; scale
   is 1 but for fused_scale_tril. */
typedef struct jf_tril { int64_t diagonal; double fill_value, scale; } jf_tril;

#endif
