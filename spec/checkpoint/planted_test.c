/* Saving where somebody else has put something in the way: nothing outside the target is written,
   and success is reported only for what is under the path then. */
#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "scratch.h"
#include "test.h"

static int says(const char *what) { return strstr(jfl_errmsg(), what) != NULL; }
#define CHECK_SAYS(what) CHECK_MSG(says(what), "%s", jfl_errmsg())

static unsigned mode_of(const char *path)
{
  struct stat st;
  return lstat(path, &st) ? 0 : st.st_mode & 07777;
}

static int holds(const char *path, const char *text)
{
  size_t n;
  char *got = get_file(path, &n);
  int same = n == strlen(text) && !memcmp(got, text, n);
  free(got);
  return same;
}

/* Each puts something that is not a file of a crashed save at path; the victim is what a write
   through it would hit. */
static void plant_link(const char *path) { CHECK(!symlink(in_scratch("victim"), path)); }
static void plant_dangling(const char *path) { CHECK(!symlink(in_scratch("none"), path)); }
static void plant_hard(const char *path) { CHECK(!link(in_scratch("victim"), path)); }
static void plant_fifo(const char *path) { CHECK(!mkfifo(path, 0666)); }
static void plant_directory(const char *path) { CHECK(!mkdir(path, 0777)); }

/* Saves to `target` with each of them at `at`, which it must refuse. */
static void check_refused(const char *target, const char *at, double old)
{
  static void (*const plants[])(const char *path) = {
    plant_link, plant_dangling, plant_hard, plant_fifo, plant_directory
  };
  for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
    plants[i](at);
    CHECK_MSG(save_value(2, target, 1) == JFL_ESTATE, "plant %zu: %s", i, jfl_errmsg());
    CHECK_SAYS("that an earlier save of yours left, got something else; remove it");
    CHECK_MSG(holds(in_scratch("victim"), "precious"), "plant %zu", i);
    CHECK(exists(at) && !exists(in_scratch("none")));
    CHECK(load_value(target) == old);
    CHECK(!remove(at));
  }
  CHECK_MSG(save_value(3, target, 1) == JFL_OK && load_value(target) == 3, "%s", jfl_errmsg());
}

static void refuses_what_is_planted_in_the_target(void)
{
  put_file(in_scratch("victim"), "precious", 8);
  CHECK(save_value(1, in_scratch("model"), 0) == JFL_OK);
  check_refused(in_scratch("model"), in_scratch("model/model.safetensors.saving"), 1);
}

static void refuses_what_is_planted_in_the_staged_directory(void)
{
  put_file(in_scratch("victim"), "precious", 8);
  CHECK(!mkdir(in_scratch("new.saving"), 0700));
  check_refused(in_scratch("new"), in_scratch("new.saving/model.safetensors"), -1);
}

static void refuses_what_is_planted_as_the_staged_directory(void)
{
  const char *staged = in_scratch("fresh.saving");
  put_file(in_scratch("victim"), "precious", 8);
  CHECK(!mkdir(in_scratch("elsewhere"), 0700));
  CHECK(!symlink(in_scratch("elsewhere"), staged));
  CHECK(save_value(1, in_scratch("fresh"), 0) == JFL_ESTATE);
  CHECK_SAYS("fresh.saving must be a directory that an earlier save of yours left");
  CHECK(!exists(in_scratch("elsewhere/model.safetensors")));
  CHECK(!unlink(staged) && !mkfifo(staged, 0600));
  CHECK(save_value(1, in_scratch("fresh"), 0) == JFL_ESTATE);
  CHECK(!unlink(staged) && !mkdir(staged, 0700));
  put_file(in_scratch("fresh.saving/diary"), "mine", 4);
  CHECK(save_value(1, in_scratch("fresh"), 0) == JFL_ESTATE);
  CHECK(holds(in_scratch("fresh.saving/diary"), "mine"));
  CHECK(!unlink(in_scratch("fresh.saving/diary")));
  CHECK(save_value(1, in_scratch("fresh"), 0) == JFL_OK && load_value(in_scratch("fresh")) == 1);
}

/* What somebody else owns is not taken for what a crash of ours left. */
static void refuses_what_others_own(void)
{
  if (geteuid()) return;
  CHECK(save_value(1, in_scratch("ours"), 0) == JFL_OK);
  put_file(in_scratch("ours/model.safetensors.saving"), "x", 1);
  CHECK(!chown(in_scratch("ours/model.safetensors.saving"), 12345, 12345));
  CHECK(save_value(2, in_scratch("ours"), 1) == JFL_ESTATE && says("of yours left"));
  CHECK(!mkdir(in_scratch("theirs.saving"), 0777));
  CHECK(!chown(in_scratch("theirs.saving"), 12345, 12345));
  CHECK(save_value(2, in_scratch("theirs"), 0) == JFL_ESTATE && says("of yours left"));
}

/* ---- directories that are swapped in mid-save ---- */

static jfl_status write_some(jf_stage *st)
{
  return jf_file_write(st->model.fd, st->file, "0123456789", 10);
}

static void tells_of_a_target_that_was_swapped(void)
{
  jf_stage st;
  CHECK(save_value(1, in_scratch("live"), 0) == JFL_OK);
  CHECK(jf_stage_open(in_scratch("live"), 1, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  CHECK(!rename(in_scratch("live"), in_scratch("away")));
  CHECK(save_value(5, in_scratch("live"), 0) == JFL_OK);
  put_file(in_scratch("live/model.safetensors.saving"), "half", 4);
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_ESTATE);
  CHECK_SAYS("was moved away or replaced during the save");
  CHECK(load_value(in_scratch("live")) == 5);
  CHECK(holds(in_scratch("live/model.safetensors.saving"), "half"));
  CHECK(holds(in_scratch("away/model.safetensors"), "0123456789"));
}

static void tells_of_a_staged_file_that_was_swapped(void)
{
  jf_stage st;
  CHECK(save_value(1, in_scratch("keep"), 0) == JFL_OK);
  CHECK(jf_stage_open(in_scratch("keep"), 1, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  CHECK(!unlink(in_scratch("keep/model.safetensors.saving")));
  put_file(in_scratch("keep/model.safetensors.saving"), "half", 4);
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_EIO);
  CHECK_SAYS("something else took its place");
  CHECK(load_value(in_scratch("keep")) == 1);
  CHECK(holds(in_scratch("keep/model.safetensors.saving"), "half"));
}

static void tells_of_a_staged_directory_that_was_swapped(void)
{
  jf_stage st;
  CHECK(jf_stage_open(in_scratch("next"), 0, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  CHECK(!rename(in_scratch("next.saving"), in_scratch("taken")));
  CHECK(!mkdir(in_scratch("next.saving"), 0700));
  put_file(in_scratch("next.saving/model.safetensors"), "half", 4);
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_EIO && says("something else took its place"));
  CHECK(!exists(in_scratch("next")));
  CHECK(holds(in_scratch("next.saving/model.safetensors"), "half"));
}

static void tells_of_a_parent_that_was_swapped(void)
{
  jf_stage st;
  CHECK(!mkdir(in_scratch("models"), 0700));
  CHECK(jf_stage_open(in_scratch("models/a"), 0, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  CHECK(!rename(in_scratch("models"), in_scratch("moved")) && !mkdir(in_scratch("models"), 0700));
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_ESTATE && says("was moved away or replaced"));
  CHECK(holds(in_scratch("moved/a/model.safetensors"), "0123456789"));
}

static void tells_of_a_target_that_appeared(void)
{
  jf_stage st;
  CHECK(jf_stage_open(in_scratch("late"), 0, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  CHECK(!mkdir(in_scratch("late"), 0700));
  put_file(in_scratch("late/notes"), "mine", 4);
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_ESTATE && says("exists and is not empty"));
  CHECK(holds(in_scratch("late/notes"), "mine") && !exists(in_scratch("late.saving")));
}

static void tells_of_a_target_that_was_removed(void)
{
  jf_stage st;
  CHECK(save_value(1, in_scratch("lost"), 0) == JFL_OK);
  CHECK(jf_stage_open(in_scratch("lost"), 1, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  scratch_clear(in_scratch("lost"));
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_EIO && says("something else took its place"));
  CHECK(!exists(in_scratch("lost")));
  CHECK(jf_stage_open(in_scratch("lost"), 1, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  scratch_clear(in_scratch("lost.saving"));
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_EIO && !exists(in_scratch("lost")));
}

/* ---- what happens between the last look and a renaming ---- */

static void (*meanwhile)(void);

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
  void (*const now)(void) = meanwhile;
  meanwhile = NULL;
  if (now) now();
  return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

static void link_in_the_old(void)
{
  const char *path = in_scratch("settled/model.safetensors.saving");
  CHECK(!unlink(path) && !symlink(in_scratch("victim"), path));
}

static void hard_link_in_the_new(void)
{
  const char *path = in_scratch("unborn.saving/model.safetensors");
  CHECK(!unlink(path) && !link(in_scratch("victim"), path));
}

static void nothing_in_the_new(void)
{
  CHECK(!unlink(in_scratch("unborn.saving/model.safetensors")));
}

static void tells_of_a_file_that_was_swapped_before_its_renaming(void)
{
  static void (*const others[])(void) = { hard_link_in_the_new, nothing_in_the_new };
  put_file(in_scratch("victim"), "precious", 8);
  CHECK(save_value(1, in_scratch("settled"), 0) == JFL_OK);
  meanwhile = link_in_the_old;
  CHECK(save_value(2, in_scratch("settled"), 1) == JFL_EIO && !meanwhile);
  CHECK_SAYS("something else took its place");
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    meanwhile = others[i];
    CHECK(save_value(1, in_scratch("unborn"), 0) == JFL_EIO && !meanwhile);
    CHECK_SAYS("something else took its place");
    scratch_clear(in_scratch("unborn"));
  }
  CHECK(holds(in_scratch("victim"), "precious"));
  CHECK(save_value(3, in_scratch("settled"), 1) == JFL_OK);
  CHECK(load_value(in_scratch("settled")) == 3);
}

/* ---- an attacker who never sleeps ---- */

/* Puts links to the victim, and hard links, wherever saves stage something, over and over. */
static void attack(const char *victim, const char *const *at, int n)
{
  for (unsigned i = 0;; i++) {
    const char *path = at[i % (unsigned)n];
    if (i / (unsigned)n % 3 == 0) (void)!symlink(victim, path);
    else if (i / (unsigned)n % 3 == 1) (void)!link(victim, path);
    else unlink(path);
  }
}

/* Whether the attacker's link is there. */
static int is_planted(const char *path)
{
  struct stat st;
  return !lstat(path, &st) && (!S_ISREG(st.st_mode) || st.st_nlink > 1);
}

/* Whatever the moment, a save either fails or is whole, and the victim is never written to. Who may
   write in a directory can take an old model away, and what a save has just put there, but cannot
   make the save report success for something else. */
static void no_moment_lets_an_attacker_through(void)
{
  const char *victim = in_scratch("victim"), *old = in_scratch("raced"), *new = in_scratch("begun");
  const char *old_model = in_scratch("raced/model.safetensors");
  const char *new_model = in_scratch("begun/model.safetensors");
  const char *at[] = { in_scratch("raced/model.safetensors.saving"), in_scratch("begun.saving"),
                       in_scratch("begun.saving/model.safetensors") };
  put_file(victim, "precious", 8);
  CHECK(save_value(1, old, 0) == JFL_OK);
  int saved = 0, status;
  pid_t pid = fork();
  if (!pid) attack(victim, at, 3);
  for (int i = 0; i < 150 || (saved == i && i < 10000); i++) {
    jfl_status r = save_value(i, old, 1);
    if (r == JFL_OK) CHECK(load_value(old) == i);
    saved += r == JFL_OK;
    r = save_value(i, new, 0);
    if (r == JFL_OK) CHECK(load_value(new) == i || !exists(new_model));
    scratch_clear(new);
    CHECK(load_value(old) >= 0 || is_planted(old_model));
  }
  kill(pid, SIGKILL);
  CHECK(waitpid(pid, &status, 0) == pid && holds(victim, "precious"));
}

/* ---- processes that are forked in mid-save ---- */

/* What a child leaves behind unfinished its parent may still write. */
static void a_forked_child_leaves_what_its_parent_writes(void)
{
  jfl_output *o;
  int status;
  const char *path = in_scratch("shared_output");
  CHECK(jfl_output_open(path, &o) == JFL_OK && jfl_output_write(o, "whole", 5) == JFL_OK);
  const pid_t child = fork();
  if (!child) {
    jfl_output_drop(o);
    _exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(put_output(path, "other") == JFL_OK);      /* it finds the lock where it was */
  CHECK(jfl_output_keep(o) == JFL_OK);
  CHECK(holds(path, "whole"));
}

/* Such a child has the files of the save open for as long as it lives. */
static void a_forked_child_holds_no_lock(void)
{
  jf_stage st;
  int status;
  const char *path = in_scratch("forked");
  CHECK(save_value(1, path, 0) == JFL_OK);
  CHECK(jf_stage_open(path, 1, 0, &st) == JFL_OK && write_some(&st) == JFL_OK);
  const pid_t child = fork();
  if (!child) for (;;) pause();
  CHECK(jf_stage_close(&st, JFL_OK) == JFL_OK);
  CHECK(jfl_checkpoint_remove(path) == JFL_OK);
  kill(child, SIGKILL);
  CHECK(waitpid(child, &status, 0) == child);
}

/* ---- links that the user made ---- */

static void saves_through_a_link_to_a_directory(void)
{
  CHECK(save_value(1, in_scratch("v3"), 0) == JFL_OK);
  CHECK(!symlink("v3", in_scratch("latest")));
  CHECK_MSG(save_value(2, in_scratch("latest"), 1) == JFL_OK, "%s", jfl_errmsg());
  CHECK(load_value(in_scratch("v3")) == 2 && load_value(in_scratch("latest/")) == 2);
  struct stat st;
  CHECK(!lstat(in_scratch("latest"), &st) && S_ISLNK(st.st_mode));
  CHECK(!symlink("v4", in_scratch("next_one")));
  CHECK(save_value(2, in_scratch("next_one"), 1) == JFL_ESTATE);
  CHECK_SAYS("next_one: the path is a link to something that is missing");
  CHECK(!mkdir(in_scratch("v4"), 0700));
  CHECK(save_value(4, in_scratch("next_one"), 0) == JFL_OK && load_value(in_scratch("v4")) == 4);
  CHECK(jfl_checkpoint_remove(in_scratch("latest")) == JFL_ESTATE && says("not a directory"));
}

/* The file itself is replaced, and what it linked to stays. */
static void replaces_a_model_that_is_a_link(void)
{
  CHECK(!mkdir(in_scratch("linked"), 0700));
  put_file(in_scratch("shared_model"), "shared", 6);
  CHECK(!symlink("../shared_model", in_scratch("linked/model.safetensors")));
  CHECK(save_value(1, in_scratch("linked"), 1) == JFL_OK && load_value(in_scratch("linked")) == 1);
  CHECK(holds(in_scratch("shared_model"), "shared"));
}

/* ---- rights ---- */

static void keeps_the_rights_of_what_it_replaces(void)
{
  static const unsigned modes[] = { 0600, 0640, 0644, 0660, 0400 };
  const char *file = in_scratch("private/model.safetensors");
  mode_t before = umask(022);
  CHECK(save_value(1, in_scratch("private"), 0) == JFL_OK && mode_of(file) == 0644);
  for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
    CHECK(!chmod(file, modes[i]));
    CHECK(save_value(2, in_scratch("private"), 1) == JFL_OK);
    CHECK_MSG(mode_of(file) == modes[i], "%o", mode_of(file));
  }
  umask(077);
  CHECK(save_value(1, in_scratch("hidden"), 0) == JFL_OK);
  CHECK(mode_of(in_scratch("hidden")) == 0700);
  CHECK(mode_of(in_scratch("hidden/model.safetensors")) == 0600);
  umask(before);
}

/* While it is written nobody else may read what replaces a private file. */
static void is_private_from_the_beginning(void)
{
  jf_stage st;
  CHECK(save_value(1, in_scratch("secret"), 0) == JFL_OK);
  CHECK(!chmod(in_scratch("secret/model.safetensors"), 0600));
  CHECK(jf_stage_open(in_scratch("secret"), 1, 0, &st) == JFL_OK);
  CHECK(mode_of(in_scratch("secret/model.safetensors.saving")) == 0600);
  CHECK(jf_stage_close(&st, JFL_ESTATE) == JFL_ESTATE);
}

static void keeps_the_owner_where_it_may(void)
{
  struct stat st;
  if (geteuid()) return;
  CHECK(save_value(1, in_scratch("alice"), 0) == JFL_OK);
  CHECK(!chown(in_scratch("alice/model.safetensors"), 12345, 23456));
  CHECK(save_value(2, in_scratch("alice"), 1) == JFL_OK);
  CHECK(!stat(in_scratch("alice/model.safetensors"), &st));
  CHECK(st.st_uid == 12345 && st.st_gid == 23456);
}

/* ---- files of the host's own ---- */

static void an_output_takes_the_place_of_a_file(void)
{
  jfl_output *o;
  const char *path = in_scratch("out/file");
  CHECK(!mkdir(in_scratch("out"), 0700));
  CHECK_MSG(put_output(path, "one") == JFL_OK && holds(path, "one"), "%s", jfl_errmsg());
  CHECK(jfl_output_open(path, &o) == JFL_OK && jfl_output_write(o, "tw", 2) == JFL_OK);
  CHECK(holds(path, "one"));
  CHECK(jfl_output_write(o, "o", 1) == JFL_OK && jfl_output_keep(o) == JFL_OK);
  CHECK(holds(path, "two"));
  CHECK(jfl_output_open(path, &o) == JFL_OK && jfl_output_write(o, "three", 5) == JFL_OK);
  jfl_output_drop(o);
  CHECK(holds(path, "two"));
  DIR *d = opendir(in_scratch("out"));
  int n = 0;
  while (readdir(d)) n++;
  closedir(d);
  CHECK_MSG(n == 3, "%d names", n);
  CHECK(put_output("/dev/null", "gone") == JFL_OK && put_output("/dev/full", "x") == JFL_EIO);
  CHECK_SAYS("cannot write /dev/full: No space left");
  CHECK(put_output(in_scratch("out"), "x") == JFL_EIO && says("Is a directory"));
  CHECK(put_output(in_scratch("no/where"), "x") == JFL_EIO && says("No such file"));
}

static jfl_status put_trace(const char *path)
{
  jfl_profile *p;
  jfl_session *s = new_session();
  CHECK(!jfl_profile_start(s, 10) && !jfl_profile_stop(s, &p));
  const jfl_status r = jfl_profile_trace(p, path);
  jfl_profile_free(p);
  jfl_session_free(s);
  return r;
}

/* Another name of the file that it replaces still leads to what was there. */
static void a_trace_takes_the_place_of_a_file(void)
{
  const char *path = in_scratch("trace.json"), *other = in_scratch("other.json");
  put_file(path, "precious", 8);
  CHECK(!link(path, other));
  CHECK_MSG(put_trace(path) == JFL_OK, "%s", jfl_errmsg());
  CHECK(holds(other, "precious") && !holds(path, "precious"));
  CHECK(put_trace(in_scratch("no/where")) == JFL_EIO && says("profile: cannot write"));
  CHECK(put_trace("/dev/full") == JFL_EIO && says("No space left"));
}

/* As the kernel has it for open, where it may be switched off. */
static void an_output_follows_no_link_of_others_in_a_shared_directory(void)
{
  const char *link = in_scratch("tmp/link"), *victim = in_scratch("victim");
  put_file(victim, "precious", 8);
  CHECK(!mkdir(in_scratch("tmp"), 0700) && !chmod(in_scratch("tmp"), 01777));
  CHECK(!symlink("../victim", link));
  CHECK(put_output(link, "mine") == JFL_OK && holds(victim, "mine"));
  if (geteuid()) return;
  CHECK(!chown(in_scratch("tmp"), 23456, 23456) && !lchown(link, 12345, 12345));
  CHECK(put_output(link, "theirs") == JFL_EIO && holds(victim, "mine"));
  CHECK_SAYS("Permission denied");
  CHECK(put_trace(link) == JFL_EIO && holds(victim, "mine"));
  CHECK(!chmod(in_scratch("tmp"), 0755));
  CHECK(put_output(link, "again") == JFL_OK && holds(victim, "again"));
}

static void an_output_notices_that_it_was_swapped(void)
{
  jfl_output *o;
  char path[PATH_MAX];
  CHECK(!mkdir(in_scratch("race"), 0700) && put_output(in_scratch("race/file"), "old") == JFL_OK);
  CHECK(jfl_output_open(in_scratch("race/file"), &o) == JFL_OK);
  DIR *d = opendir(in_scratch("race"));
  for (const struct dirent *e; (e = readdir(d));)
    if (strstr(e->d_name, ".part"))
      snprintf(path, sizeof path, "%s/%s", in_scratch("race"), e->d_name);
  closedir(d);
  CHECK(!unlink(path) && !symlink(in_scratch("victim"), path));
  CHECK(jfl_output_keep(o) == JFL_EIO && holds(in_scratch("race/file"), "old"));
}

static void outputs_refuse_nothing_at_all(void)
{
  jfl_output *o;
  CHECK(jfl_output_open(NULL, &o) == JFL_EINVAL && jfl_output_open("x", NULL) == JFL_EINVAL);
  CHECK(jfl_output_write(NULL, "x", 1) == JFL_EINVAL && jfl_output_keep(NULL) == JFL_EINVAL);
  CHECK(jfl_output_open("", &o) == JFL_EIO);
  jfl_output_drop(NULL);
}

int main(void)
{
  scratch_make();
  RUN(refuses_what_is_planted_in_the_target);
  RUN(refuses_what_is_planted_in_the_staged_directory);
  RUN(refuses_what_is_planted_as_the_staged_directory);
  RUN(refuses_what_others_own);
  RUN(tells_of_a_target_that_was_swapped);
  RUN(tells_of_a_staged_file_that_was_swapped);
  RUN(tells_of_a_staged_directory_that_was_swapped);
  RUN(tells_of_a_parent_that_was_swapped);
  RUN(tells_of_a_target_that_appeared);
  RUN(tells_of_a_target_that_was_removed);
  RUN(tells_of_a_file_that_was_swapped_before_its_renaming);
  RUN(no_moment_lets_an_attacker_through);
  RUN(a_forked_child_leaves_what_its_parent_writes);
  RUN(a_forked_child_holds_no_lock);
  RUN(saves_through_a_link_to_a_directory);
  RUN(replaces_a_model_that_is_a_link);
  RUN(keeps_the_rights_of_what_it_replaces);
  RUN(is_private_from_the_beginning);
  RUN(keeps_the_owner_where_it_may);
  RUN(an_output_takes_the_place_of_a_file);
  RUN(a_trace_takes_the_place_of_a_file);
  RUN(an_output_follows_no_link_of_others_in_a_shared_directory);
  RUN(an_output_notices_that_it_was_swapped);
  RUN(outputs_refuse_nothing_at_all);
  return test_done();
}
