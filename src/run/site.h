/* What a session has of a device: memory, streams, staging buffers. */
#ifndef JF_RUN_SITE_H
#define JF_RUN_SITE_H

#include "plan/plan.h"

/* Memory through which the inputs of a run come to a device and its results go from there, and what
   happens when they are there (plan/staging.c). The executions of all plans share it. */
typedef struct jf_staging {
  char *device, *host;
  void *event;
  void *arrived;               /* its inputs are there; made when it is first needed */
  int busy;                    /* a run that was sent has it; guarded by mu */
} jf_staging;

/* A device that the session uses, and what all plans share there. */
typedef struct jf_site {
  jf_device *device;
  int place;                   /* its number in the session */
  void *stream;                /* NULL on the host */
  void *copies;                /* the stream of inputs that need not wait for the run before; NULL:
                                  none has been needed */
  void *arena; size_t arena_size;              /* the temporaries of the plan that runs */
  void *block; size_t block_size;      /* for the operands of ops that run at once; or NULL */
  jf_run_record *record;       /* in the device's memory; NULL on the host */
  jf_run_record begin;         /* what it is at the beginning of the run */
  jf_fault found;              /* what was there when the device was last waited for */
  /* staging[1] is made when it is first needed; both are as big as any plan wants. */
  jf_staging staging[JF_STAGING_BUFFERS]; size_t staging_size;
  int is_alone;                /* there is no memory for staging[1] */
} jf_site;

/* ---- what is had of a device (device.c) ---- */

/* Takes a stream and a record for a site of which only the device is set; and frees all it has but
   the device. */
jfl_status jf_site_set_up(jf_site *t);
void jf_site_free(jf_site *t);
/* Another one of the same device, with a stream and memory of its own. */
jfl_status jf_site_beside(const jf_site *t, jf_site **out);
/* Queues the writing of the record that a run of that number begins with; not for the host. */
jfl_status jf_site_begin(jf_site *t, jf_run_record *to, uint64_t number);
/* Waits for all that was queued, and gives what went wrong, also what the record says; not for the
   host. */
jfl_status jf_site_settle(jf_site *t, const jf_run_record *r);
/* Copies between host memory and the device; done when they return. */
jfl_status jf_site_put(jf_site *t, void *to, const void *from, size_t size);
jfl_status jf_site_get(jf_site *t, void *to, const void *from, size_t size);

#endif
