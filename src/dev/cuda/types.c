/* The types of the GPU's kernels. */
#include "dev/cuda/cuda.h"

const jf_cuda_ctype jf_cuda_ctypes[JFL_N_DTYPE] = {
  [JFL_F32] = { "float", "float", "float", NULL, NULL },
  [JFL_F64] = { "double", "double", "double", NULL, NULL },
  [JFL_F16] = { "jf_f16", "float", "float", NULL, NULL },
  [JFL_BF16] = { "jf_bf16", "float", "float", NULL, NULL },
  [JFL_I8] = { "int8_t", "int8_t", "uint8_t", "INT8_MIN", "INT8_MAX" },
  [JFL_U8] = { "uint8_t", "uint8_t", "uint8_t", "0", "UINT8_MAX" },
  [JFL_I32] = { "int32_t", "int32_t", "uint32_t", "INT32_MIN", "INT32_MAX" },
  [JFL_I64] = { "int64_t", "int64_t", "uint64_t", "INT64_MIN", "INT64_MAX" },
};

const char *jf_cuda_stored(jfl_dtype t) { return jf_cuda_ctypes[t].stored; }
const char *jf_cuda_computed(jfl_dtype t) { return jf_cuda_ctypes[t].computed; }
