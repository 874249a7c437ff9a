/* cuDNN 9, opened when a plan first needs it: its functions that jfl calls, with types of our own,
   and graphs of operations (cuDNN documentation, graph API). */
#ifndef JF_CUDA_DNN_H
#define JF_CUDA_DNN_H

#include "dev/cuda/cuda.h"

typedef int jf_dnn_status;               /* 0: it worked */
typedef struct jf_dnn_handle jf_dnn_handle;
typedef struct jf_dnn_desc jf_dnn_desc;  /* what a graph is made of; all are made and set alike */

/* X(result, field, symbol, parameters). */
#define JF_DNN(X)                                                                                 \
  X(size_t, version, cudnnGetVersion, (void))                                                     \
  X(const char *, error_text, cudnnGetErrorString, (jf_dnn_status e))                             \
  X(jf_dnn_status, handle_new, cudnnCreate, (jf_dnn_handle **out))                                \
  X(jf_dnn_status, handle_free, cudnnDestroy, (jf_dnn_handle *h))                                 \
  X(jf_dnn_status, handle_stream, cudnnSetStream, (jf_dnn_handle *h, jf_cu_stream *s))            \
  X(jf_dnn_status, make, cudnnBackendCreateDescriptor, (int sort, jf_dnn_desc **out))             \
  X(jf_dnn_status, unmake, cudnnBackendDestroyDescriptor, (jf_dnn_desc *d))                       \
  X(jf_dnn_status, set, cudnnBackendSetAttribute, (jf_dnn_desc *d, int name, int type, int64_t n, \
                                                   const void *values))                           \
  X(jf_dnn_status, get, cudnnBackendGetAttribute, (const jf_dnn_desc *d, int name, int type,      \
                                                   int64_t room, int64_t *n, void *values))       \
  X(jf_dnn_status, finish, cudnnBackendFinalize, (jf_dnn_desc *d))                                \
  X(jf_dnn_status, execute, cudnnBackendExecute, (jf_dnn_handle *h, const jf_dnn_desc *plan,      \
                                                  const jf_dnn_desc *pack))

typedef struct jf_dnn_api {
#define JF_DNN_FIELD(result, field, symbol, parameters) result (*field) parameters;
  JF_DNN(JF_DNN_FIELD)
#undef JF_DNN_FIELD
} jf_dnn_api;

/* Numbers of cuDNN's interface (cudnn_graph.h). */
enum {                                   /* what can be made */
  JF_DNN_POINTWISE = 0, JF_DNN_CONVOLUTION = 1, JF_DNN_ENGINE = 2, JF_DNN_CONFIG = 3,
  JF_DNN_HEURISTICS = 4, JF_DNN_PLAN = 5, JF_DNN_OP_FORWARD = 10, JF_DNN_OP_FILTER = 11,
  JF_DNN_OP_DATA = 12, JF_DNN_OP_POINTWISE = 13, JF_DNN_GRAPH = 15, JF_DNN_PACK = 16,
  JF_DNN_TENSOR = 17, JF_DNN_MATMUL = 18, JF_DNN_OP_MATMUL = 19, JF_DNN_REDUCTION = 21,
  JF_DNN_OP_REDUCTION = 22, JF_DNN_OP_RESHAPE = 31, JF_DNN_DEVICE = 38
};
enum {                                   /* types of attributes */
  JF_DNN_T_HANDLE = 0, JF_DNN_T_DTYPE = 1, JF_DNN_T_BOOL = 2, JF_DNN_T_INT = 3,
  JF_DNN_T_FLOAT = 4, JF_DNN_T_DOUBLE = 5, JF_DNN_T_POINTER = 6, JF_DNN_T_CONV_MODE = 7,
  JF_DNN_T_HEURISTICS = 8, JF_DNN_T_NOTE = 11, JF_DNN_T_POINTWISE = 14, JF_DNN_T_DESC = 15,
  JF_DNN_T_REDUCTION = 18, JF_DNN_T_CHAR = 24
};
enum {                                   /* attributes */
  JF_DNN_POINTWISE_MODE = 0, JF_DNN_POINTWISE_TYPE = 1, JF_DNN_POINTWISE_AXIS = 9,
  JF_DNN_CONV_TYPE = 100, JF_DNN_CONV_MODE = 101, JF_DNN_CONV_DILATIONS = 102,
  JF_DNN_CONV_STRIDES = 103, JF_DNN_CONV_AFTER = 104, JF_DNN_CONV_BEFORE = 105,
  JF_DNN_CONV_AXES = 106, JF_DNN_HEURISTICS_MODE = 200, JF_DNN_HEURISTICS_GRAPH = 201,
  JF_DNN_HEURISTICS_RESULTS = 202, JF_DNN_HEURISTICS_DEVICE = 204, JF_DNN_CONFIG_ENGINE = 300,
  JF_DNN_PLAN_HANDLE = 400, JF_DNN_PLAN_CONFIG = 401, JF_DNN_PLAN_WORKSPACE = 402,
  JF_DNN_PLAN_DEVICE = 407, JF_DNN_FORWARD_ALPHA = 700, JF_DNN_FORWARD_BETA = 701,
  JF_DNN_FORWARD_CONV = 702, JF_DNN_FORWARD_W = 703, JF_DNN_FORWARD_X = 704,
  JF_DNN_FORWARD_Y = 705, JF_DNN_DATA_ALPHA = 706, JF_DNN_DATA_BETA = 707, JF_DNN_DATA_CONV = 708,
  JF_DNN_DATA_W = 709, JF_DNN_DATA_X = 710, JF_DNN_DATA_Y = 711, JF_DNN_FILTER_ALPHA = 712,
  JF_DNN_FILTER_BETA = 713, JF_DNN_FILTER_CONV = 714, JF_DNN_FILTER_W = 715,
  JF_DNN_FILTER_X = 716, JF_DNN_FILTER_Y = 717, JF_DNN_OP_POINTWISE_DESC = 750,
  JF_DNN_OP_POINTWISE_X = 751, JF_DNN_OP_POINTWISE_B = 752, JF_DNN_OP_POINTWISE_Y = 753,
  JF_DNN_OP_POINTWISE_T = 758, JF_DNN_GRAPH_HANDLE = 800, JF_DNN_GRAPH_OPS = 801,
  JF_DNN_TENSOR_ALIGNMENT = 900, JF_DNN_TENSOR_TYPE = 901, JF_DNN_TENSOR_EXTENTS = 902,
  JF_DNN_TENSOR_STEPS = 903, JF_DNN_TENSOR_ID = 906, JF_DNN_TENSOR_VIRTUAL = 907,
  JF_DNN_TENSOR_BY_VALUE = 908, JF_DNN_PACK_IDS = 1000, JF_DNN_PACK_POINTERS = 1001,
  JF_DNN_PACK_WORKSPACE = 1003, JF_DNN_ENGINE_NOTES = 1303, JF_DNN_MATMUL_TYPE = 1500,
  JF_DNN_OP_MATMUL_A = 1520, JF_DNN_OP_MATMUL_B = 1521, JF_DNN_OP_MATMUL_C = 1522,
  JF_DNN_OP_MATMUL_DESC = 1523, JF_DNN_REDUCTION_MODE = 1600, JF_DNN_REDUCTION_TYPE = 1601,
  JF_DNN_REDUCTION_SAME = 1602, JF_DNN_OP_REDUCTION_X = 1610, JF_DNN_OP_REDUCTION_Y = 1611,
  JF_DNN_OP_REDUCTION_DESC = 1612, JF_DNN_OP_RESHAPE_X = 2200, JF_DNN_OP_RESHAPE_Y = 2201,
  JF_DNN_DEVICE_JSON = 2702
};
enum {                                   /* modes: of convolutions, pointwise ops, reductions */
  JF_DNN_CROSS_CORRELATION = 1,
  JF_DNN_ADD = 0, JF_DNN_MUL = 1, JF_DNN_DIV = 6, JF_DNN_SUB = 9, JF_DNN_EXP = 13, JF_DNN_LOG = 15,
  JF_DNN_RELU = 100, JF_DNN_AT_LEAST = 303, JF_DNN_INDEX = 501, JF_DNN_SELECT = 601,
  JF_DNN_SUM = 0, JF_DNN_MAX = 3
};
enum { JF_DNN_FLOAT = 0, JF_DNN_INT32 = 4, JF_DNN_BOOL = 11 };    /* types of elements */
enum { JF_DNN_LIKELY = 3, JF_DNN_FALLBACK = 2 };                   /* modes of heuristics */
/* Notes of engines on how far their results are from exact ones, as bits of a set. */
enum {
  JF_DNN_TENSOR_CORE = 1 << 0, JF_DNN_NARROWS = 1 << 1, JF_DNN_NARROW_SUMS = 1 << 2,
  JF_DNN_FFT = 1 << 3, JF_DNN_VARIES = 1 << 4, JF_DNN_WINOGRAD = 0xf << 5
};

/* cuDNN for one device. */
typedef struct jf_dnn {
  const jf_dnn_api *api;
  jf_cuda *cuda;
  jf_dnn_handle *handle;                 /* NULL: graphs are only planned, for the device ... */
  jf_dnn_desc *device;                   /* ... of these properties, which need not be here */
  jf_dnn_status refused;                 /* why there is no handle */
  pthread_mutex_t mu;                    /* guards the handle, which works on one stream */
} jf_dnn;

/* The library; NULL: it is not installed. It is opened at the first call, and stays. */
const jf_dnn_api *jf_dnn_open(void);
/* Gives cuDNN for a device; JFL_ENOSYS: it cannot be used here. */
jfl_status jf_dnn_of(jf_cuda *c, jf_dnn **out);
/* Ends its use on the device; the caller has entered. */
void jf_dnn_close(jf_cuda *c);

/* ---- graphs ---- */

/* A graph, and all that was made for it. Once a call to cuDNN has failed, the others do nothing. */
enum { JF_DNN_OPS = 24, JF_DNN_TENSORS = 12 };
typedef struct jf_dnn_graph {
  jf_dnn *dnn;
  jf_dnn_status error;                   /* of the first call that failed; 0: none has */
  jf_dnn_desc **made, *op[JF_DNN_OPS], *graph, *plan;
  int n_made, cap_made, n_op;
  const float *number[JF_DNN_TENSORS];   /* see jf_dnn_number */
  size_t workspace;                      /* bytes that the plan needs */
  jf_dnn_desc *pack;                     /* the addresses of the last run, which were */
  void *at[JF_DNN_TENSORS], *scratch;
} jf_dnn_graph;

void jf_dnn_graph_free(jf_dnn_graph *g);
jf_dnn_desc *jf_dnn_make(jf_dnn_graph *g, int sort);
void jf_dnn_set(jf_dnn_graph *g, jf_dnn_desc *d, int name, int type, int64_t n, const void *values);
/* Set an attribute to one value of an enumeration, or to a descriptor. */
void jf_dnn_set_mode(jf_dnn_graph *g, jf_dnn_desc *d, int name, int type, int value);
void jf_dnn_set_desc(jf_dnn_graph *g, jf_dnn_desc *d, int name, jf_dnn_desc *value);
void jf_dnn_finish(jf_dnn_graph *g, jf_dnn_desc *d);
/* cuDNN's number of a dtype; -1: it has none. */
int jf_dnn_type(jfl_dtype t);

/* A tensor of n axes, whatever their order in memory; `id` tells it from others, from 1 to
   JF_DNN_TENSORS. */
enum { JF_DNN_AXES = 5 };
typedef struct jf_dnn_tensor {
  int64_t id, extent[JF_DNN_AXES], step[JF_DNN_AXES];
  int n, type;
} jf_dnn_tensor;
jf_dnn_desc *jf_dnn_tensor_make(jf_dnn_graph *g, const jf_dnn_tensor *t);
/* A tensor between two ops of the graph that lies nowhere, like t otherwise. */
jf_dnn_desc *jf_dnn_between(jf_dnn_graph *g, const jf_dnn_tensor *t, int type);
/* A number that broadcasts over tensors of four axes; it stays at that address. */
jf_dnn_desc *jf_dnn_number(jf_dnn_graph *g, int64_t id, const float *at);
/* Adds an op that was made and set. */
void jf_dnn_add(jf_dnn_graph *g, jf_dnn_desc *op);
/* Adds y = mode(x, b, t), computed in a type; b and t may be NULL. `axis` is JF_DNN_INDEX's. */
typedef struct jf_dnn_point {
  int mode, type, axis;
  jf_dnn_desc *x, *b, *t, *y;
} jf_dnn_point;
void jf_dnn_pointwise(jf_dnn_graph *g, const jf_dnn_point *p);
/* Adds c = a b, matrices of the last two axes, with sums of float32. */
void jf_dnn_matmul(jf_dnn_graph *g, jf_dnn_desc *a, jf_dnn_desc *b, jf_dnn_desc *c);
/* Adds y = the sum or maximum of x over the axes where y has one element, the same in each run. */
void jf_dnn_reduce(jf_dnn_graph *g, int mode, jf_dnn_desc *x, jf_dnn_desc *y);
/* Adds y = x, seen with other axes. */
void jf_dnn_reshape(jf_dnn_graph *g, jf_dnn_desc *x, jf_dnn_desc *y);

/* Chooses the plan of a graph to which all ops were added, of engines that have no note of the set
   `refused`; `work` tells it from others. `size` says how many bytes the tensors of ids 1 to n
   have. JFL_ENOSYS: no engine can do it. */
jfl_status jf_dnn_choose(jf_dnn_graph *g, const char *work, unsigned refused, int n,
                         const size_t *size);
/* Queues the plan on a stream; at[i] is where the tensor of id i + 1 is. */
jfl_status jf_dnn_run(jf_dnn_graph *g, jf_cu_stream *s, int n, void *const *at, void *scratch);

#endif
