/* Opening NVIDIA's driver. */
#include "dev/cuda/driver.h"

#include <pthread.h>
#include <stdio.h>

/* Stream-ordered pools that graphs may use, and lazy loading of modules. */
enum { OLDEST = 1000 * JF_CUDA_OLDEST };

static struct { int n_device, version; jf_cuda_driver api; char absence[256]; } opened;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Says why there is no driver; returns 0. */
static int driver_is_absent(const char *why)
{
  snprintf(opened.absence, sizeof opened.absence, "%s", why);
  return 0;
}

static int driver_find(void *so)
{
  jf_cuda_driver *a = &opened.api;
#define FIND(field, symbol, parameters)                                                     \
  if (!jf_library_find(so, #symbol, &a->field)) {                                           \
    snprintf(opened.absence, sizeof opened.absence, "the NVIDIA driver is too old: it has " \
             "no %s; it must serve CUDA 12.0 or newer", #symbol);                           \
    return 0;                                                                               \
  }
  JF_CUDA_DRIVER(FIND)
#undef FIND
  return 1;
}

static int driver_refused(jf_cu e)
{
  const char *text = NULL;
  if (e == JF_CU_STUB) return driver_is_absent("no NVIDIA driver is installed (libcuda.so.1 is the "
                                               "stub that programs are linked with)");
  if (e == JF_CU_NO_DEVICE) return driver_is_absent("the NVIDIA driver finds no GPU");
  if (opened.api.error_text(e, &text)) text = "unknown error";
  snprintf(opened.absence, sizeof opened.absence, "the NVIDIA driver does not start: %s (CUDA "
           "error %d)", text, e);
  return 0;
}

/* Gives the number of devices; 0: none can be used. */
static int driver_start(void)
{
  void *so = jf_library_try("libcuda.so.1");
  int n = 0;
  if (!so) return driver_is_absent("no NVIDIA driver is installed (there is no libcuda.so.1)");
  if (!driver_find(so)) return 0;
  jf_cu e = opened.api.init(0);
  if (!e) e = opened.api.version(&opened.version);
  if (!e) e = opened.api.device_count(&n);
  if (e) return driver_refused(e);
  if (n == 0) return driver_refused(JF_CU_NO_DEVICE);
  if (opened.version < OLDEST) {
    snprintf(opened.absence, sizeof opened.absence, "the NVIDIA driver is too old: it serves CUDA "
             "%d.%d; it must serve CUDA 12.0 or newer", opened.version / 1000,
             opened.version % 1000 / 10);
    return 0;
  }
  return n;
}

static void driver_start_once(void) { opened.n_device = driver_start(); }

const jf_cuda_driver *jf_cuda_driver_open(void)
{
  pthread_once(&once, driver_start_once);
  return opened.n_device ? &opened.api : NULL;
}

int jf_cuda_device_count(void) { return jf_cuda_driver_open() ? opened.n_device : 0; }

void jf_cuda_majors(int major[JF_CUDA_MAJORS])
{
  const int newest = jf_cuda_device_count() ? opened.version / 1000 : JF_CUDA_NEWEST;
  const int own = newest < JF_CUDA_NEWEST ? newest : JF_CUDA_NEWEST;
  int n = 0;
  for (int i = own; i >= JF_CUDA_OLDEST; i--) major[n++] = i;
  for (int i = own + 1; i <= JF_CUDA_NEWEST; i++) major[n++] = i;
}

const char *jf_cuda_absence(void) { return opened.absence; }
