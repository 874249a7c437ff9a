/* NCCL, opened at run time: its functions that jfl calls, with types of our own (NCCL API
   reference, version 2.14 and later), and the teams of GPUs that exchange data by it. */
#ifndef JF_CUDA_NCCL_H
#define JF_CUDA_NCCL_H

#include "dev/cuda/cuda.h"

typedef int jf_nccl_status;              /* 0: it worked */
typedef struct jf_nccl_comm jf_nccl_comm;
typedef struct jf_nccl_id { char bytes[JF_INVITATION]; } jf_nccl_id;
/* The settings of 2.14, which later versions take, too. */
typedef struct jf_nccl_settings { size_t size; unsigned magic, version; int blocking; }
  jf_nccl_settings;

/* X(field, symbol, parameters). */
#define JF_CUDA_NCCL(X)                                                                           \
  X(version, ncclGetVersion, (int *out))                                                          \
  X(id_new, ncclGetUniqueId, (jf_nccl_id *out))                                                   \
  X(comm_new, ncclCommInitRankConfig, (jf_nccl_comm **out, int n, jf_nccl_id id, int rank,        \
                                       jf_nccl_settings *settings))                               \
  X(comm_state, ncclCommGetAsyncError, (jf_nccl_comm *c, jf_nccl_status *out))                    \
  X(comm_abort, ncclCommAbort, (jf_nccl_comm *c))                                                 \
  X(comm_finish, ncclCommFinalize, (jf_nccl_comm *c))                                             \
  X(comm_free, ncclCommDestroy, (jf_nccl_comm *c))                                                \
  X(group_start, ncclGroupStart, (void))                                                          \
  X(group_end, ncclGroupEnd, (void))                                                              \
  X(all_reduce, ncclAllReduce, (const void *from, void *to, size_t n, int type, int sum,          \
                                jf_nccl_comm *c, jf_cu_stream *s))                                \
  X(reduce, ncclReduce, (const void *from, void *to, size_t n, int type, int sum, int root,       \
                         jf_nccl_comm *c, jf_cu_stream *s))                                       \
  X(reduce_scatter, ncclReduceScatter, (const void *from, void *to, size_t n, int type, int sum,  \
                                        jf_nccl_comm *c, jf_cu_stream *s))                        \
  X(send, ncclSend, (const void *from, size_t n, int type, int rank, jf_nccl_comm *c,             \
                     jf_cu_stream *s))                                                            \
  X(receive, ncclRecv, (void *to, size_t n, int type, int rank, jf_nccl_comm *c, jf_cu_stream *s))

typedef struct jf_nccl_api {
#define JF_CUDA_NCCL_FIELD(field, symbol, parameters) jf_nccl_status (*field) parameters;
  JF_CUDA_NCCL(JF_CUDA_NCCL_FIELD)
#undef JF_CUDA_NCCL_FIELD
  const char *(*error_text)(jf_nccl_status e);           /* ncclGetErrorString */
} jf_nccl_api;

/* Numbers of the library's interface. */
enum {
  JF_NCCL_IN_PROGRESS = 7, JF_NCCL_OLDEST = 21400, JF_NCCL_SUM = 0, JF_NCCL_BYTES = 0,
  JF_NCCL_I8 = 0, JF_NCCL_U8 = 1, JF_NCCL_I32 = 2, JF_NCCL_I64 = 4, JF_NCCL_F16 = 6,
  JF_NCCL_F32 = 7, JF_NCCL_F64 = 8, JF_NCCL_BF16 = 9
};

/* Whether a call failed: one that is in progress did not. */
static inline int jf_nccl_failed(jf_nccl_status e) { return e && e != JF_NCCL_IN_PROGRESS; }

/* A GPU of each of some ranks. */
typedef struct jf_cuda_team {
  struct jf_cuda_team *next;
  const jf_nccl_api *api;
  jf_cuda *cuda;
  int number, n;
  int64_t *rank;
  jf_nccl_comm *comm;                    /* NULL once it was given up */
} jf_cuda_team;
/* Where a rank is in the team. */
int jf_cuda_team_seat(const jf_cuda_team *t, int64_t rank);

/* What a kernel of the kind nccl does: makes calls on a team, as one group, and queues them on a
   stream. A failure ends the world, as the other ranks of the team wait for them. */
typedef jf_nccl_status (*jf_nccl_calls)(const jf_cuda_team *t, const jf_kargs *k, jf_cu_stream *s);
jfl_status jf_nccl_queue(jf_cuda *c, jf_cu_stream *s, int64_t team, jf_nccl_calls calls,
                         const jf_kargs *k);

/* ---- for the kind (device.c) ---- */

int jf_nccl_ability(void);
const char *jf_nccl_absence(void);
jfl_status jf_nccl_invite(jf_device *d, void *invitation);
jfl_status jf_nccl_join(jf_device *d, int team, const int64_t *rank, int n,
                        const void *invitation);
void jf_nccl_leave(jf_device *d, int team);
/* Ends the teams of a device, which the caller has entered. */
void jf_nccl_end(jf_cuda *c);

#endif
