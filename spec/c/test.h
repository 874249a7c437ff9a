/* C tests. main() runs its tests with RUN and returns test_done(), which prints the summary. A test
   is a function without arguments that calls CHECK; it goes on after a failed check. */
#ifndef TEST_H
#define TEST_H

#include <stdarg.h>
#include <stdio.h>

/* AddressSanitizer asks for these. The suppressions of leaks need the whole stack of an allocation,
   which the fast unwinder does not see. */
#ifndef TEST_UNWINDER
#define TEST_UNWINDER "0"
#endif
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
  return "allocator_may_return_null=1:fast_unwind_on_malloc=" TEST_UNWINDER;
}

static struct { int passed, failed, bad_checks; const char *name; } test_state;

#define RUN(f) test_run(#f, f)
#define CHECK(ok) test_check((ok) != 0, __FILE__, __LINE__, #ok, "%s", "")
/* The same with a formatted note on what was found. */
#define CHECK_MSG(ok, ...) test_check((ok) != 0, __FILE__, __LINE__, #ok, __VA_ARGS__)

static inline void test_run(const char *name, void (*f)(void))
{
  test_state.name = name;
  test_state.bad_checks = 0;
  f();
  if (test_state.bad_checks)
    test_state.failed++;
  else
    test_state.passed++;
}

/* If every check in a loop fails, the first five are printed and the rest are counted. */
__attribute__((format(printf, 5, 6))) static inline void test_check(
  int ok, const char *file, int line, const char *text, const char *fmt, ...)
{
  if (ok || ++test_state.bad_checks > 5)
    return;
  va_list ap;
  va_start(ap, fmt);
  fflush(stdout);
  fprintf(stderr, "%s:%d: %s: not true: %s ", file, line, test_state.name, text);
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
}

/* Prints the summary, which scripts/test.sh adds up, and gives the exit status. */
static inline int test_done(void)
{
  printf("%d passed, %d failed\n", test_state.passed, test_state.failed);
  return test_state.failed != 0;
}

#endif
