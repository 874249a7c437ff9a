/* Work that needs stack, on threads that have much of it or little. */
#include "base/base.h"
#include "system/system.h"
#include "test.h"

#include <string.h>

/* What ran where, and what the caller heard of it. */
typedef struct trial {
  int fails;
  pthread_t ran_on;
  size_t left;
  jfl_status status;
  char message[64];
  int same_thread;
  jf_budget *budget, *charged; /* of the caller, and that it ran with */
} trial;

static jfl_status work(void *ctx)
{
  trial *t = ctx;
  t->ran_on = pthread_self();
  t->left = jf_stack_left();
  t->charged = jf_memory_budget();
  return t->fails ? jf_fail_in(jf_fail(JFL_EINVAL, "it went wrong"), JFL_ERROR_JOB, "train")
                  : JFL_OK;
}

static void *try_it(void *ctx)
{
  trial *t = ctx;
  jf_memory_charge(t->budget);
  t->status = jf_with_stack(work, t);
  jf_memory_charge(NULL);
  if (t->status) snprintf(t->message, sizeof t->message, "%s", jfl_errmsg());
  t->same_thread = pthread_equal(pthread_self(), t->ran_on);
  return NULL;
}

static void try_on(trial *t, size_t stack)
{
  pthread_t thread;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  pthread_attr_setstacksize(&attr, stack);
  CHECK(!pthread_create(&thread, &attr, try_it, t));
  pthread_join(thread, NULL);
  pthread_attr_destroy(&attr);
}

static void a_caller_with_room_does_it_itself(void)
{
  trial t = { 0 };
  try_on(&t, 1 << 20);
  CHECK(t.status == JFL_OK);
  CHECK(t.same_thread);
  CHECK_MSG(t.left > 512 << 10 && t.left < 1 << 20, "%zu", t.left);
  try_it(&t);
  CHECK(t.same_thread);
}

static void hear(void *count, const char *what)
{
  if (!strcmp(what, "stack")) ++*(int *)count;
}

static void a_caller_without_room_has_it_done(void)
{
  trial t = { 0 };
  int heard = 0;
  CHECK(!jfl_set_thread_hooks(&(jfl_thread_hooks){ hear, hear, &heard }));
  try_on(&t, 128 << 10);
  CHECK(heard == 2 && !jfl_set_thread_hooks(NULL));
  CHECK(t.status == JFL_OK);
  CHECK(!t.same_thread);
  CHECK_MSG(t.left > 1 << 20, "%zu", t.left);
}

static void an_error_comes_back_to_the_caller(void)
{
  trial t = { .fails = 1 };
  try_on(&t, 128 << 10);
  CHECK(t.status == JFL_EINVAL);
  CHECK_MSG(!strcmp(t.message, "train: it went wrong"), "%s", t.message);
}

static void memory_counts_for_the_caller(void)
{
  trial t = { .budget = jf_budget_new(0) };
  try_on(&t, 128 << 10);
  CHECK(!t.same_thread);
  CHECK(t.budget && t.charged == t.budget);
  jf_budget_drop(t.budget);
}

int main(void)
{
  RUN(a_caller_with_room_does_it_itself);
  RUN(a_caller_without_room_has_it_done);
  RUN(an_error_comes_back_to_the_caller);
  RUN(memory_counts_for_the_caller);
  return test_done();
}
