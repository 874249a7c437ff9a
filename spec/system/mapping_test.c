/* Files as memory: what becomes of it when the file does. Windows has none. */
#include "system/system.h"

#include "test.h"

#ifdef _WIN32
int main(void) { return test_done(); }
#else

#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH "mapping_test.file"
enum { SIZE = 3 * 65536 + 100 };

/* A file of bytes that tell where they are. */
static int make(void)
{
  static char text[SIZE];
  unlink(PATH);
  for (int i = 0; i < SIZE; i++) text[i] = (char)(1 + i / 1000 % 100);
  const int f = jf_open(JF_HERE, PATH, JF_READ | JF_WRITE | JF_NEW);
  CHECK(f >= 0 && !jf_write_all(f, text, SIZE));
  return f;
}

static sigjmp_buf back;
static void come_back(int number) { (void)number; siglongjmp(back, 1); }

/* Whether reading a byte is a fault that comes to the program's own handler. */
static int faults(const volatile char *at)
{
  if (sigsetjmp(back, 1)) return 1;
  (void)*at;
  return 0;
}

static void a_file_is_there_as_memory_of_ones_own(void)
{
  const int f = make();
  jf_mapping *m = jf_mapping_new(f, SIZE);
  jf_close(f);
  CHECK(m && jf_mapping_is_whole(m));
  char *p = jf_mapping_data(m);
  CHECK(p[0] == 1 && p[99999] == 100);
  p[0] = 77;
  CHECK(jf_mapping_is_whole(m));
  jf_mapping_rest(m, p + 1, SIZE - 1);
  CHECK(p[0] == 77 && p[99999] == 100);
  p[100000] = 78;
  jf_mapping_rest(m, p, SIZE);               /* takes what was written with it */
  CHECK(p[100000] == 1);
  CHECK(jf_mapping_keep(m) == m);
  jf_mapping_drop(m);
  CHECK(p[99999] == 100);
  jf_mapping_drop(m);
  jf_mapping_drop(NULL);
  CHECK(!jf_mapping_new(f, SIZE) && !jf_mapping_new(-1, 0));
}

static void what_was_cut_off_becomes_zeros(void)
{
  const int f = make();
  jf_mapping *whole = jf_mapping_new(f, 65536), *m = jf_mapping_new(f, SIZE);
  const char *p = jf_mapping_data(m);
  CHECK(p[SIZE - 1]);
  CHECK(!ftruncate(f, 65536));
  CHECK(!p[65536] && !p[SIZE - 1] && p[65535]);
  CHECK(!ftruncate(f, SIZE));
  CHECK(!jf_mapping_is_whole(m));
  CHECK(jf_mapping_data(whole)[65535]);
  jf_mapping_drop(m);
  jf_mapping_drop(whole);
  m = jf_mapping_new(f, SIZE);
  CHECK(m && jf_mapping_is_whole(m) && jf_mapping_data(m)[65535]);
  jf_mapping_drop(m);
  jf_close(f);
}

static void *read_the_end(void *at)
{
  return *(const volatile char *)at ? at : NULL;
}

static void a_thread_of_ours_lives_through_it(void)
{
  pthread_t t;
  void *was = &t;
  const int f = make();
  jf_mapping *m = jf_mapping_new(f, SIZE);
  CHECK(!ftruncate(f, 65536));
  CHECK(!jf_thread_start(&t, read_the_end, jf_mapping_data(m) + SIZE - 1));
  CHECK(!pthread_join(t, &was) && !was);
  CHECK(!jf_mapping_is_whole(m));
  jf_mapping_drop(m);
  jf_close(f);
}

static void what_was_written_in_place_is_noticed(void)
{
  const int f = make();
  const struct timespec later[2] = { { .tv_sec = 5 }, { .tv_sec = 5 } };
  jf_mapping *m = jf_mapping_new(f, SIZE);
  CHECK(!futimens(f, later));
  CHECK(!jf_mapping_is_whole(m));
  jf_mapping_drop(m);
  jf_close(f);
}

/* A host's thread may block all signals; who reads lets it have this one meanwhile. */
static void a_thread_that_blocks_the_signal_can_have_it(void)
{
  sigset_t all, before, now;
  const int f = make();
  jf_mapping *m = jf_mapping_new(f, SIZE);
  CHECK(!ftruncate(f, 65536));
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int was = jf_mapping_begin();
  CHECK(was && !jf_mapping_begin() && !jf_mapping_data(m)[SIZE - 1]);
  jf_mapping_end(0);
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  CHECK(!sigismember(&now, SIGBUS));
  jf_mapping_end(was);
  pthread_sigmask(SIG_SETMASK, &before, &now);
  CHECK(sigismember(&now, SIGBUS));
  jf_mapping_drop(m);
  jf_close(f);
}

/* The host sets its handler after one file was mapped, and before another one is. */
static void a_later_handler_of_the_host_gets_other_faults_alone(void)
{
  const int f = make();
  jf_mapping *one = jf_mapping_new(f, 65536);
  signal(SIGBUS, come_back);
  jf_mapping *m = jf_mapping_new(f, SIZE);
  char *other = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, f, 0);
  CHECK(other != MAP_FAILED && !ftruncate(f, 65536));
  CHECK(!faults(jf_mapping_data(m) + SIZE - 1));
  CHECK(faults(other + SIZE - 1));
  jf_mapping_drop(m);
  jf_mapping_drop(one);
  munmap(other, SIZE);
  jf_close(f);
}

/* The last one, as the handler stays. */
static void what_the_host_ignores_is_ignored_where_others_send_it(void)
{
  const int f = make();
  signal(SIGBUS, SIG_IGN);
  jf_mapping *m = jf_mapping_new(f, SIZE);
  CHECK(!raise(SIGBUS) && !ftruncate(f, 65536) && !jf_mapping_data(m)[SIZE - 1]);
  jf_mapping_drop(m);
  jf_close(f);
}

static void other_faults_go_to_the_handler_before(void)
{
  const int f = make();
  jf_mapping *m = jf_mapping_new(f, SIZE);
  char *other = mmap(NULL, SIZE, PROT_READ, MAP_PRIVATE, f, 0);
  CHECK(other != MAP_FAILED && !ftruncate(f, 65536));
  CHECK(faults(other + SIZE - 1));
  CHECK(!faults(jf_mapping_data(m) + SIZE - 1));
  jf_mapping_drop(m);
  munmap(other, SIZE);
  jf_close(f);
}

int main(void)
{
  signal(SIGBUS, come_back);
  RUN(a_file_is_there_as_memory_of_ones_own);
  RUN(what_was_cut_off_becomes_zeros);
  RUN(a_thread_of_ours_lives_through_it);
  RUN(what_was_written_in_place_is_noticed);
  RUN(a_thread_that_blocks_the_signal_can_have_it);
  RUN(other_faults_go_to_the_handler_before);
  RUN(a_later_handler_of_the_host_gets_other_faults_alone);
  RUN(what_the_host_ignores_is_ignored_where_others_send_it);
  unlink(PATH);
  return test_done();
}
#endif
