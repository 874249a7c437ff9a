/* NVIDIA's driver, opened at run time: its functions that jfl calls, with types of our own, so that
   nothing of CUDA is needed to build (CUDA driver API reference, version 12 and later). */
#ifndef JF_CUDA_DRIVER_H
#define JF_CUDA_DRIVER_H

#include "base/base.h"

typedef int jf_cu;                       /* a result; 0: it worked */
typedef uint64_t jf_cu_address;          /* in a device's memory */
typedef struct jf_cu_context jf_cu_context;
typedef struct jf_cu_module jf_cu_module;
typedef struct jf_cu_function jf_cu_function;
typedef struct jf_cu_stream jf_cu_stream;
typedef struct jf_cu_event jf_cu_event;
typedef struct jf_cu_graph jf_cu_graph;
typedef struct jf_cu_replay jf_cu_replay;
typedef struct jf_cu_pool jf_cu_pool;

/* X(field, symbol, parameters). */
#define JF_CUDA_DRIVER(X)                                                                         \
  X(init, cuInit, (unsigned flags))                                                               \
  X(version, cuDriverGetVersion, (int *out))                                                      \
  X(error_text, cuGetErrorString, (jf_cu e, const char **out))                                    \
  X(device_count, cuDeviceGetCount, (int *out))                                                   \
  X(device, cuDeviceGet, (int *out, int ordinal))                                                 \
  X(device_name, cuDeviceGetName, (char *to, int size, int device))                               \
  X(device_attribute, cuDeviceGetAttribute, (int *out, int attribute, int device))                \
  X(context_retain, cuDevicePrimaryCtxRetain, (jf_cu_context **out, int device))                  \
  X(context_release, cuDevicePrimaryCtxRelease_v2, (int device))                                  \
  X(push, cuCtxPushCurrent_v2, (jf_cu_context *c))                                                \
  X(pop, cuCtxPopCurrent_v2, (jf_cu_context **out))                                               \
  X(memory_info, cuMemGetInfo_v2, (size_t *unused, size_t *all))                                  \
  X(default_pool, cuDeviceGetDefaultMemPool, (jf_cu_pool **out, int device))                      \
  X(pool_access, cuMemPoolSetAccess, (jf_cu_pool *pool, const void *access, size_t n))            \
  X(can_peer, cuDeviceCanAccessPeer, (int *out, int device, int other))                           \
  X(peer, cuCtxEnablePeerAccess, (jf_cu_context *other, unsigned flags))                          \
  X(pool_trim, cuMemPoolTrimTo, (jf_cu_pool *pool, size_t keep))                                  \
  X(pool_set, cuMemPoolSetAttribute, (jf_cu_pool *pool, int attribute, void *value))              \
  X(alloc, cuMemAllocAsync, (jf_cu_address *out, size_t size, jf_cu_stream *s))                   \
  X(free, cuMemFreeAsync, (jf_cu_address at, jf_cu_stream *s))                                    \
  X(plain_alloc, cuMemAlloc_v2, (jf_cu_address *out, size_t size))                                \
  X(plain_free, cuMemFree_v2, (jf_cu_address at))                                                 \
  X(host_alloc, cuMemHostAlloc, (void **out, size_t size, unsigned flags))                        \
  X(host_free, cuMemFreeHost, (void *p))                                                          \
  X(put, cuMemcpyHtoDAsync_v2, (jf_cu_address to, const void *from, size_t n, jf_cu_stream *s))   \
  X(get, cuMemcpyDtoHAsync_v2, (void *to, jf_cu_address from, size_t n, jf_cu_stream *s))         \
  X(move, cuMemcpyPeerAsync, (jf_cu_address to, jf_cu_context *there, jf_cu_address from,         \
                              jf_cu_context *here, size_t n, jf_cu_stream *s))                    \
  X(copy, cuMemcpyDtoDAsync_v2, (jf_cu_address to, jf_cu_address from, size_t n,                  \
                                 jf_cu_stream *s))                                                \
  X(fill, cuMemsetD8Async, (jf_cu_address to, unsigned char byte, size_t n, jf_cu_stream *s))     \
  X(stream_new, cuStreamCreate, (jf_cu_stream **out, unsigned flags))                             \
  X(stream_free, cuStreamDestroy_v2, (jf_cu_stream *s))                                           \
  X(stream_wait, cuStreamSynchronize, (jf_cu_stream *s))                                          \
  X(stream_query, cuStreamQuery, (jf_cu_stream *s))                                               \
  X(stream_await, cuStreamWaitEvent, (jf_cu_stream *s, jf_cu_event *e, unsigned flags))           \
  X(event_new, cuEventCreate, (jf_cu_event **out, unsigned flags))                                \
  X(event_free, cuEventDestroy_v2, (jf_cu_event *e))                                              \
  X(event_record, cuEventRecord, (jf_cu_event *e, jf_cu_stream *s))                               \
  X(event_wait, cuEventSynchronize, (jf_cu_event *e))                                             \
  X(event_query, cuEventQuery, (jf_cu_event *e))                                                  \
  X(event_elapsed, cuEventElapsedTime, (float *ms, jf_cu_event *from, jf_cu_event *to))           \
  X(module_load, cuModuleLoadData, (jf_cu_module **out, const void *image))                       \
  X(module_free, cuModuleUnload, (jf_cu_module *m))                                               \
  X(function, cuModuleGetFunction, (jf_cu_function **out, jf_cu_module *m, const char *name))     \
  X(function_set, cuFuncSetAttribute, (jf_cu_function *f, int attribute, int value))              \
  X(launch, cuLaunchKernel, (jf_cu_function *f, unsigned gx, unsigned gy, unsigned gz,            \
                             unsigned bx, unsigned by, unsigned bz, unsigned shared,              \
                             jf_cu_stream *s, void **parameter, void **extra))                    \
  X(capture, cuStreamBeginCapture_v2, (jf_cu_stream *s, int mode))                                \
  X(captured, cuStreamEndCapture, (jf_cu_stream *s, jf_cu_graph **out))                           \
  X(graph_ready, cuGraphInstantiateWithFlags, (jf_cu_replay **out, jf_cu_graph *g,                \
                                               unsigned long long flags))                         \
  X(graph_launch, cuGraphLaunch, (jf_cu_replay *g, jf_cu_stream *s))                              \
  X(graph_free, cuGraphDestroy, (jf_cu_graph *g))                                                 \
  X(replay_free, cuGraphExecDestroy, (jf_cu_replay *g))

typedef struct jf_cuda_driver {
#define JF_CUDA_FIELD(field, symbol, parameters) jf_cu (*field) parameters;
  JF_CUDA_DRIVER(JF_CUDA_FIELD)
#undef JF_CUDA_FIELD
} jf_cuda_driver;

/* Numbers of the driver's interface. */
enum {
  JF_CU_NO_PEER = 217, JF_CU_PEER_ALREADY = 704, JF_CU_MANY_PEERS = 711,
  JF_CU_OUT_OF_MEMORY = 2, JF_CU_STUB = 34, JF_CU_NO_DEVICE = 100,
  JF_CU_INVALID_IMAGE = 200, JF_CU_OTHER_IMAGE = 209,  /* images that the driver does not take: */
  JF_CU_INVALID_PTX = 218, JF_CU_NEWER_PTX = 222,      /* damaged, of other devices, of newer PTX */
  JF_CU_NOT_READY = 600,
  JF_CU_MULTIPROCESSORS = 16, JF_CU_MAJOR = 75, JF_CU_MINOR = 76,    /* attributes of devices */
  JF_CU_MOST_SHARED = 97, JF_CU_HAS_POOLS = 115,
  JF_CU_DYNAMIC_SHARED = 8,                            /* of functions */
  JF_CU_KEEP = 4,                                      /* of pools: bytes that stay reserved */
  JF_CU_NON_BLOCKING = 1, JF_CU_NO_TIMING = 2,         /* flags of streams and of events */
  JF_CU_RELAXED = 2                                    /* how others may call while one captures */
};

/* The driver; NULL if none can be used here. It is opened at the first call, and stays. */
const jf_cuda_driver *jf_cuda_driver_open(void);
/* How many devices it has; 0 without one. */
int jf_cuda_device_count(void);
/* The major versions of CUDA whose libraries jfl can use, in the order in which to try them: the
   driver's own first, then older ones, which it serves too, at last newer ones, which it may. */
enum { JF_CUDA_OLDEST = 12, JF_CUDA_NEWEST = 13, JF_CUDA_MAJORS = 2 };
void jf_cuda_majors(int major[JF_CUDA_MAJORS]);
/* Why there are none, as a sentence without an end: "no NVIDIA driver is installed (...)". Valid
   once jf_cuda_device_count has given 0. */
const char *jf_cuda_absence(void);

#endif
