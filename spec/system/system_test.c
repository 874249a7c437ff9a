/* What src/system promises on every system. */
#include "system/system.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

#define FOLDER "system_test \303\274ml\303\244ut"

static int put(int folder, const char *name, const char *text)
{
  const int f = jf_open(folder, name, JF_READ | JF_WRITE | JF_NEW | JF_NO_LINK);
  if (f < 0) return -1;
  const int r = jf_write_all(f, text, strlen(text)) || jf_sync(f);
  return jf_close(f) || r ? -1 : 0;
}

static int holds(int folder, const char *name, const char *text)
{
  char got[100];
  const int f = jf_open(folder, name, JF_READ);
  if (f < 0) return 0;
  const size_t size = strlen(text);
  int is_it = jf_read_all(f, got, sizeof got) == (int64_t)size && !memcmp(got, text, size);
  is_it = is_it && !jf_seek(f, 0) && jf_read_all(f, got, size / 2) == (int64_t)(size / 2);
  jf_close(f);
  return is_it;
}

static int n_names(int folder)
{
  int n = 0;
  jf_listing *l = jf_listing_open(folder);
  while (l && jf_listing_next(l)) n++;
  jf_listing_close(l);
  return n;
}

static void files_are_what_was_written(void)
{
  jf_info i, there;
  CHECK(!jf_folder_make(JF_HERE, FOLDER, 0));
  CHECK(jf_folder_make(JF_HERE, FOLDER, 0) && errno == EEXIST);
  const int d = jf_folder_open(JF_HERE, FOLDER, JF_NO_LINK);
  CHECK(d >= 0);
  CHECK(!put(d, "one \342\202\254", "first"));
  CHECK(put(d, "one \342\202\254", "again") && errno == EEXIST);
  CHECK(holds(JF_HERE, FOLDER "/one \342\202\254", "first"));
  CHECK(!jf_info_at(d, "one \342\202\254", 0, &i) && i.kind == JF_FILE && i.size == 5 && i.mine);
  CHECK(!jf_info_of_folder(d, &there) && there.kind == JF_FOLDER && there.id != i.id);
  CHECK(jf_info_at(d, "none", 0, &i) && errno == ENOENT);
  CHECK(jf_open(d, "none", JF_READ) < 0 && errno == ENOENT);
  CHECK(jf_folder_open(d, "one \342\202\254", 0) < 0 && errno == ENOTDIR);
  CHECK(jf_folder_remove(JF_HERE, FOLDER) && (errno == ENOTEMPTY || errno == EEXIST));
  CHECK(n_names(d) == 1);
  CHECK(!jf_file_remove(d, "one \342\202\254") && n_names(d) == 0);
  jf_folder_close(d);
  CHECK(!jf_folder_remove(JF_HERE, FOLDER));
}

/* A file takes another's place although both are open, and the name always leads to one of them. */
static void a_file_takes_anothers_place(void)
{
  char got[3];
  CHECK(!jf_folder_make(JF_HERE, FOLDER, 0));
  const int d = jf_folder_open(JF_HERE, FOLDER, 0);
  CHECK(!put(d, "old", "old") && !put(d, "new", "new"));
  const int reads = jf_open(d, "new", JF_READ | JF_WRITE);
  CHECK(!jf_file_rename(d, "new", "old"));
  CHECK(holds(d, "old", "new") && n_names(d) == 1);
  CHECK(jf_read_at(reads, got, 3, 0) == 3 && !memcmp(got, "new", 3));
  jf_close(reads);
  CHECK(!jf_file_remove(d, "old"));
  jf_folder_close(d);
  CHECK(!jf_folder_remove(JF_HERE, FOLDER));
}

static void a_folder_gets_a_name_with_what_is_in_it(void)
{
  jf_info i, there;
  const int here = jf_folder_open(JF_HERE, ".", 0);
  CHECK(!jf_folder_make(here, FOLDER ".saving", 0));
  const int d = jf_folder_open(here, FOLDER ".saving", 0);
  CHECK(!put(d, "a", "text"));
  int inside = jf_open(d, "a", JF_READ);
  CHECK(!jf_folder_rename(here, FOLDER ".saving", FOLDER, &inside));
  if (inside >= 0) jf_close(inside);
  CHECK(holds(here, FOLDER "/a", "text") && holds(d, "a", "text"));
  CHECK(!jf_info_of_folder(d, &i) && !jf_info_at(here, FOLDER, 0, &there) && i.id == there.id);
  CHECK(!jf_folder_make(here, FOLDER ".saving", 0));
  inside = -1;
  CHECK(jf_folder_rename(here, FOLDER ".saving", FOLDER, &inside));
  CHECK(errno == ENOTEMPTY || errno == EEXIST);
  CHECK(!jf_folder_remove(here, FOLDER ".saving") && !jf_file_remove(d, "a"));
  jf_folder_close(d);
  CHECK(!jf_folder_remove(here, FOLDER));
  jf_folder_close(here);
}

/* A lock holds against whoever opens the file anew, while it can be read and written. */
static void a_lock_holds_until_it_is_closed(void)
{
  CHECK(!put(JF_HERE, "system_test.lock", "text"));
  const int a = jf_open(JF_HERE, "system_test.lock", JF_READ | JF_WRITE);
  const int b = jf_open(JF_HERE, "system_test.lock", JF_READ | JF_WRITE);
  CHECK(!jf_lock(a));
  CHECK(jf_lock(b) && errno == EWOULDBLOCK);
  CHECK(!jf_write_all(b, "TEXT", 4) && holds(JF_HERE, "system_test.lock", "TEXT"));
  jf_close(a);
  CHECK(!jf_lock(b));
  jf_close(b);
  CHECK(!jf_file_remove(JF_HERE, "system_test.lock"));
}

static void a_signal_stays_set_until_it_is_cleared(void)
{
  const int s = jf_signal_new();
  CHECK(s >= 0 && !jf_signal_clear(s));
  jf_signal_set(s);
  jf_signal_set(s);
  CHECK(jf_signal_clear(s) && !jf_signal_clear(s));
  jf_signal_free(s);
}

static unsigned turn;

static void *wake(void *none)
{
  __atomic_store_n(&turn, 1, __ATOMIC_SEQ_CST);
  jf_wake_all(&turn);
  return none;
}

static void threads_sleep_until_they_are_woken(void)
{
  pthread_t t;
  const struct timespec moment = { .tv_nsec = 20000000 };
  jf_sleep_on(&turn, 0, &moment);
  CHECK(!jf_thread_start(&t, wake, NULL));
  while (!__atomic_load_n(&turn, __ATOMIC_SEQ_CST)) jf_sleep_on(&turn, 0, NULL);
  while (!jf_thread_has_ended(t)) jf_sleep_on(&turn, 1, &moment);
  CHECK(jf_cores_count() >= 1);
}

static void a_process_knows_itself(void)
{
  char *end, name[64];
  CHECK(jf_number_read("1.5e3x", &end) == 1500 && *end == 'x');
  CHECK(jf_number_read("-inf", &end) < 0 && !*end);
  uint64_t a = 0, b = 0;
  CHECK(jf_random(&a, sizeof a) && jf_random(&b, sizeof b) && a != b);
  jf_system_name(name, sizeof name);
  CHECK(*name);
  jf_machine(name, 4);
  CHECK(*name && strlen(name) < 4);
  CHECK(!jf_so_open("no such library"));
  CHECK(strstr(jf_so_trouble(), "no such library") != NULL);
}

int main(void)
{
  RUN(files_are_what_was_written);
  RUN(a_file_takes_anothers_place);
  RUN(a_folder_gets_a_name_with_what_is_in_it);
  RUN(a_lock_holds_until_it_is_closed);
  RUN(a_signal_stays_set_until_it_is_cleared);
  RUN(threads_sleep_until_they_are_woken);
  RUN(a_process_knows_itself);
  return test_done();
}
