/* The table of functions of NVIDIA GPUs, which plans and sessions call, and their memory. */
#include "dev/cuda/blas.h"
#include "dev/cuda/dnn.h"
#include "dev/cuda/nccl.h"
#include "world/world.h"

#include <string.h>

extern const jf_kind jf_kind_nccl;

/* ---- opening ---- */

/* Memory that is given back stays reserved for the next to take it, where the device has pools,
   which virtual GPUs and some systems lack. */
static jfl_status device_keep_memory(jf_cuda *c)
{
  int has = 0;
  uint64_t all = UINT64_MAX;
  if (c->api->device_attribute(&has, JF_CU_HAS_POOLS, c->ordinal) || !has) return JFL_OK;
  JF_TRY(jf_cuda_check(c, c->api->default_pool(&c->pool, c->ordinal), "opening it"));
  return jf_cuda_check(c, c->api->pool_set(c->pool, JF_CU_KEEP, &all), "opening it");
}

static jfl_status device_ask(jf_cuda *c)
{
  int major, minor;
  JF_TRY(jf_cuda_check(c, c->api->device_attribute(&major, JF_CU_MAJOR, c->ordinal), "opening it"));
  JF_TRY(jf_cuda_check(c, c->api->device_attribute(&minor, JF_CU_MINOR, c->ordinal), "opening it"));
  c->arch = 10 * major + minor;
  if (c->arch < 75)
    return jf_fail(JFL_ENOSYS, "%s: it has compute capability %d.%d; 7.5 or newer is needed",
                   c->name, major, minor);
  return jf_cuda_check(c, c->api->device_attribute(&c->multiprocessors, JF_CU_MULTIPROCESSORS,
                                                   c->ordinal), "opening it");
}

static jfl_status device_start(jf_cuda *c, int index)
{
  JF_TRY(jf_cuda_check(c, c->api->device(&c->ordinal, index), "opening it"));
  JF_TRY(device_ask(c));
  JF_TRY(device_keep_memory(c));
  JF_TRY(jf_cuda_check(c, c->api->context_retain(&c->context, c->ordinal), "opening it"));
  jfl_status s = jf_cuda_enter(c);
  if (!s) {
    s = jf_cuda_check(c, c->api->stream_new(&c->own, JF_CU_NON_BLOCKING), "opening it");
    jf_cuda_leave(c);
  }
  if (s) c->api->context_release(c->ordinal);
  return s;
}

static jfl_status device_open(jf_device *d)
{
  jf_cuda *c = jf_new(sizeof *c);
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  c->api = jf_cuda_driver_open();
  c->forks = jf_forks();
  memcpy(c->name, d->name, sizeof c->name);
  pthread_mutex_init(&c->mu, NULL);
  pthread_mutex_init(&c->pinned_mu, NULL);
  pthread_cond_init(&c->made, NULL);
  jfl_status s = device_start(c, d->index);
  if (s) jf_free(c);
  else d->state = c;
  return s;
}

/* A forked process cannot give pinned memory back, and still knows of it. */
static void device_forget_pinned(jf_cuda *c)
{
  for (jf_cuda_pinned *b = c->pinned, *next; b; b = next) {
    next = b->next;
    jf_free(b);
  }
}

static void device_close(jf_device *d)
{
  jf_cuda *c = d->state;
  if (jf_cuda_enter_to_end(c)) {
    jf_nccl_end(c);
    jf_cuda_blas_free(c);
    jf_dnn_close(c);
    jf_cuda_images_free(c);
    c->api->stream_free(c->own);
    jf_cuda_leave(c);
    c->api->context_release(c->ordinal);
  }
  pthread_cond_destroy(&c->made);
  pthread_mutex_destroy(&c->mu);
  pthread_mutex_destroy(&c->pinned_mu);
  device_forget_pinned(c);
  jf_free(c);
}

/* ---- memory ---- */

/* Takes zeroed memory; the caller has entered. Nothing may be 0 bytes. */
static jf_cu device_take(jf_cuda *c, size_t size, jf_cu_address *out)
{
  jf_cu e = jf_cuda_take(c, size, out);
  if (e) return e;
  e = c->api->fill(*out, 0, size, c->own);
  if (!e) e = c->api->stream_wait(c->own);
  if (e) jf_cuda_drop(c, *out);
  return e;
}

static void *device_alloc(jf_device *d, size_t size)
{
  jf_cuda *c = d->state;
  jf_cu_address at = 0;
  if (jf_cuda_enter(c)) return NULL;
  const jf_cu e = device_take(c, size ? size : 1, &at);
  if (e) jf_cuda_check(c, e, "taking memory");
  jf_cuda_leave(c);
  return e ? NULL : (void *)(uintptr_t)at;
}

static jfl_status device_memory(jf_device *d, size_t *unused, size_t *all)
{
  jf_cuda *c = d->state;
  JF_TRY(jf_cuda_enter(c));
  const jfl_status s = jf_cuda_check(c, c->api->memory_info(unused, all), "asking for its memory");
  jf_cuda_leave(c);
  return s;
}

static void device_free(jf_device *d, void *p)
{
  jf_cuda *c = d->state;
  if (!p || !jf_cuda_enter_to_end(c)) return;
  jf_cuda_drop(c, (jf_cu_address)(uintptr_t)p);
  jf_cuda_leave(c);
}

/* What cuBLASLt and cuDNN do at the end of a product or convolution. */
static int device_activates(const char *act, jfl_dtype t)
{
  (void)t;
  return !strcmp(act, "relu") || !strcmp(act, "gelu_tanh");
}

#define DEVICE_OF_GPU                                                                      \
  .open = device_open, .close = device_close, .rows = jf_cuda_rows, .ready = jf_cuda_ready,  \
  .alloc = device_alloc,                                                                   \
  .free = device_free, .memory = device_memory, .stream_new = jf_cuda_stream_new,          \
  .stream_free = jf_cuda_stream_free, .put = jf_cuda_put, .get = jf_cuda_get,              \
  .move = jf_cuda_move, .wait = jf_cuda_wait, .capture = jf_cuda_capture,                  \
  .captured = jf_cuda_captured, .replay = jf_cuda_replay, .work_free = jf_cuda_work_free,  \
  .pin = jf_cuda_pin, .unpin = jf_cuda_unpin, .reads_record = 1, .reach = jf_cuda_reach,   \
  .event_new = jf_cuda_event_new, .event_free = jf_cuda_event_free,                        \
  .record = jf_cuda_record, .await = jf_cuda_await

JFL_DEVICE(gpu, DEVICE_OF_GPU, .count = jf_cuda_device_count, .absence = jf_cuda_absence,
  .activates = device_activates, .updates_together = 1, .fused = &jf_cuda_fused_limits,
  .link = &jf_kind_nccl)

/* ---- GPUs as they exchange data with those of other ranks, beside what else they do ---- */

static int device_count_linked(void)
{
  return jf_world_size() > 1 && jf_nccl_ability() ? jf_cuda_device_count() : 0;
}

JFL_DEVICE(nccl, DEVICE_OF_GPU, .count = device_count_linked, .absence = jf_nccl_absence,
  .ability = jf_nccl_ability, .invite = jf_nccl_invite, .join = jf_nccl_join,
  .leave = jf_nccl_leave)
