/* Work that needs more stack than a host's thread may have: kernels keep tiles of arrays there, and
   so do the libraries that compute. */
#include "base/base.h"
#include "system/system.h"

/* What any work here needs, about twice over. */
enum { ENOUGH = 256 << 10 };

typedef struct errand {
  jfl_status (*fn)(void *ctx);
  void *ctx;
  jf_budget *budget;           /* that of the thread which waits */
  jfl_status status;
  jf_error *error;
} errand;

static void *stack_errand(void *ctx)
{
  errand *e = ctx;
  jf_thread_begins("stack");
  jf_memory_charge(e->budget);
  e->status = e->fn(e->ctx);
  jf_memory_charge(NULL);
  if (e->status) e->error = jf_error_copy();
  jf_thread_ends("stack");
  return NULL;
}

jfl_status jf_with_stack(jfl_status (*fn)(void *ctx), void *ctx)
{
  errand e = { .fn = fn, .ctx = ctx, .budget = jf_memory_budget() };
  pthread_t thread;
  if (jf_stack_left() >= ENOUGH) return fn(ctx);
  if (jf_thread_start(&thread, stack_errand, &e))
    return jf_fail(JFL_ENOMEM, "this thread has less than %d kB of stack left, and the system "
                   "gives no other thread; give it a larger stack", ENOUGH >> 10);
  pthread_join(thread, NULL);
  if (e.status) jf_error_restore(e.status, e.error);
  jf_free(e.error);
  return e.status;
}
