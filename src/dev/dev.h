/* Devices, their memory and kernel rows, and arrays. */
#ifndef JF_DEV_H
#define JF_DEV_H

#include <stdatomic.h>

#include "dev/kernel.h"

/* One kind of device; optional members are NULL. */
typedef struct jf_device {
  const char *name;                                   /* "cpu" */
  void *(*alloc)(size_t size);                        /* zeroed, 64-byte aligned, or NULL */
  void (*free)(void *p);
  /* NULL-terminated rows, or NULL: this device has none of its own. */
  const jf_kernel_row *const *(*rows)(void);
  int plain;                                          /* plain CPU kernels of op records may serve */
  int64_t (*channel_block)(void);     /* how many channels its convolutions want side by side; 0: any */
  /* Whether products and convolutions gain by ending in that op; NULL: none does. */
  int (*activates)(const char *act);
  const jf_fused_limits *fused;                       /* NULL: it runs no fused programs */
} jf_device;

extern const jf_device jf_dev_cpu;
/* Allocates nothing and computes nothing; plans for it show that shapes and memory work out. */
extern const jf_device jf_dev_null;
extern const jf_device *const jf_devices[];           /* NULL-terminated */
const jf_device *jf_device_find(const char *name);

/* Memory that arrays share. */
typedef struct jf_storage { atomic_int refs; size_t size; void *data; } jf_storage;

struct jfl_array {
  atomic_int refs;
  jf_storage *storage;
  void *data;              /* inside storage */
  jfl_dtype dtype;
  jfl_shape shape;
};

/* Like jfl_array_new, with contents left as they are. */
jfl_status jf_array_new_raw(jfl_dtype t, const jfl_shape *s, jfl_array **out);

#endif
