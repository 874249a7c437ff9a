/* Saves a checkpoint while the disk fails, memory runs out, or the process or the machine ends:
   afterwards either the old checkpoint or the new one is complete. Each call that writes can be the
   last one or one that fails (faults.h), and what a crash of the machine may leave is tried too
   (replay.h). JFL_CUTS=200 tries that in so many ways. */
#include "replay.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "scratch.h"
#include "test.h"

enum { MAX_STEPS = 1000 };

/* The calls that write, of which one fails, or is the last. Writes are made in small pieces, as a
   full or slow disk may do. */
static const char writers[] = "owfdnmc";
static int fails_at;

static void watch(int kill_at, int fail_at, int error)
{
  fails_at = fail_at;
  faults->pieces = FAULTS_PIECE;
  faults_begin(scratch, writers, kill_at ? kill_at : fail_at, 1,
               kill_at ? FAULTS_KILL : fail_at ? error : FAULTS_NONE);
}

static int reached(void)
{
  return faults_end() >= fails_at;
}

/* The letters of the calls; a series of writes is one. */
static const char *steps(void)
{
  static char text[FAULTS_LOG];
  size_t n = 0;
  for (const char *p = faults_letters(); *p; p++)
    if (*p != 'w' || !n || text[n - 1] != 'w') text[n++] = *p;
  text[n] = '\0';
  return text;
}

/* Whether there is an unfinished model file under `path` or beside it. */
static int leftovers(const char *path)
{
  char p[PATH_MAX];
  snprintf(p, sizeof p, "%s.saving", path);
  int beside = exists(p);
  snprintf(p, sizeof p, "%s/model.safetensors.saving", path);
  return beside || exists(p);
}

/* ---- the order of calls ---- */

/* The file must be synced before it gets its name, and its folder after. */
static void syncs_before_and_after_the_rename(void)
{
  watch(0, 0, 0);
  CHECK(save_value(1, in_scratch("a/order"), 0) == JFL_OK);
  CHECK_MSG(!strcmp(steps(), "mdmowfdnd"), "%s", steps());
  watch(0, 0, 0);
  CHECK(save_value(2, in_scratch("a/order"), 1) == JFL_OK);
  CHECK_MSG(!strcmp(steps(), "owcfnd"), "%s", steps());
  faults_end();
}

/* ---- failures of the disk ---- */

/* Saves 2 with the n-th call failing, for every n. If only the last sync failed, the checkpoint in
   place is the new one, else the old one. */
static void fail_every_call(const char *path, int error, double old)
{
  for (int n = 1; n < MAX_STEPS; n++) {
    if (old < 0) scratch_clear(path);
    else if (save_value(1, path, 1)) abort();
    watch(0, n, error);
    jfl_status r = save_value(2, path, 1);
    if (!reached()) {
      CHECK(r == JFL_OK && n > 5);
      return;
    }
    CHECK_MSG(r == JFL_EIO, "call %d, %s", n, steps());
    CHECK_MSG(strstr(jfl_errmsg(), scratch) && strstr(jfl_errmsg(), strerror(error)), "%s",
              jfl_errmsg());
    CHECK_MSG(!leftovers(path), "call %d, %s", n, steps());
    int renamed = strstr(steps(), "nd") != NULL;
    CHECK_MSG(load_value(path) == (renamed ? 2 : old), "call %d, %s", n, steps());
  }
  CHECK_MSG(0, "the calls do not end");
}

static void a_full_disk_keeps_the_old_checkpoint(void)
{
  fail_every_call(in_scratch("full"), ENOSPC, 1);
}

static void a_full_disk_leaves_no_half_checkpoint(void)
{
  fail_every_call(in_scratch("full_new"), EDQUOT, -1);
}

/* The same for a file of the host's own: the old one stays, or the new one is there. */
static void a_full_disk_keeps_the_old_file(void)
{
  const char *path = in_scratch("outputs/file");
  if (mkdir(in_scratch("outputs"), 0700)) abort();
  for (int n = 1; n < MAX_STEPS; n++) {
    size_t size;
    if (put_output(path, "old")) abort();
    watch(0, n, ENOSPC);
    jfl_status r = put_output(path, "new");
    int done = !reached(), renamed = strstr(steps(), "nd") != NULL;
    char *text = get_file(path, &size);
    CHECK_MSG(r == (done ? JFL_OK : JFL_EIO), "call %d, %s", n, steps());
    CHECK_MSG(!strncmp(text, renamed ? "new" : "old", 3), "call %d, %s", n, steps());
    free(text);
    if (!done) continue;
    CHECK_MSG(!strcmp(steps(), "owcfnd"), "%s", steps());
    CHECK(!unlink(path) && !rmdir(in_scratch("outputs")));
    return;
  }
  CHECK_MSG(0, "the calls do not end");
}

/* Past the limit the system sends SIGXFSZ, which would end a process that does not handle it. */
static void a_limit_of_file_sizes_is_an_error(void)
{
  struct rlimit before, low;
  const char *path = in_scratch("limit");
  sigset_t waiting;
  CHECK(save_value(1, path, 0) == JFL_OK);
  getrlimit(RLIMIT_FSIZE, &before);
  low = (struct rlimit){ 8, before.rlim_max };
  setrlimit(RLIMIT_FSIZE, &low);
  CHECK(save_value(2, path, 1) == JFL_EIO);
  setrlimit(RLIMIT_FSIZE, &before);
  CHECK(strstr(jfl_errmsg(), "File too large"));
  sigpending(&waiting);
  CHECK(!sigismember(&waiting, SIGXFSZ));
  CHECK(load_value(path) == 1);
}

static void an_interrupted_write_goes_on(void)
{
  CHECK(save_value(1, in_scratch("signal"), 0) == JFL_OK);
  for (int n = 3; n < 8; n++) {
    watch(0, n, EINTR);
    CHECK_MSG(save_value(n, in_scratch("signal"), 1) == JFL_OK, "%s", jfl_errmsg());
    CHECK(reached() && steps()[1] == 'w' && load_value(in_scratch("signal")) == n);
  }
}

/* ---- kills ---- */

/* Saves the value in a child process that is killed at its n-th call, or that saves over and over
   until it is killed after `usec`. Returns whether it was killed. */
static int saver_is_killed(int value, const char *path, int n, unsigned usec)
{
  int status;
  pid_t pid = fork();
  if (!pid) {
    watch(n, 0, 0);
    jfl_status r;
    do r = save_value(value, path, 1);
    while (r == JFL_OK && usec);
    _exit(r);
  }
  if (usec) {
    usleep(usec);
    kill(pid, SIGKILL);
  }
  if (pid < 0 || waitpid(pid, &status, 0) != pid) abort();
  CHECK_MSG(WIFSIGNALED(status) || !WEXITSTATUS(status), "the save failed at step %d", n);
  return WIFSIGNALED(status);
}

static void a_kill_at_any_call_leaves_one_whole(void)
{
  const char *path = in_scratch("killed");
  int olds = 0, news = 0, n = 1;
  do {
    CHECK(save_value(1, path, 1) == JFL_OK);
    int killed = saver_is_killed(2, path, n, 0);
    double v = load_value(path);
    CHECK_MSG(v == 1 || v == 2, "step %d: %g: %s", n, v, jfl_errmsg());
    olds += v == 1;
    news += v == 2;
    if (!killed) break;
  } while (++n < MAX_STEPS);
  CHECK_MSG(olds > 5 && news == 2, "%d old, %d new", olds, news);
}

static void a_kill_at_any_call_of_a_first_save_can_be_repeated(void)
{
  const char *path = in_scratch("first");
  int nones = 0, n = 1;
  do {
    int killed = saver_is_killed(2, path, n, 0);
    double v = load_value(path);
    CHECK_MSG(v == 2 || (v == -1 && strstr(jfl_errmsg(), "no such directory")), "%s", jfl_errmsg());
    nones += v == -1;
    CHECK(save_value(3, path, v == 2) == JFL_OK && load_value(path) == 3 && !leftovers(path));
    scratch_clear(path);
    if (!killed) break;
  } while (++n < MAX_STEPS);
  CHECK_MSG(nones > 5, "%d", nones);
}

static void a_kill_at_any_moment_leaves_one_whole(void)
{
  const char *path = in_scratch("moment");
  CHECK(save_value(1, path, 1) == JFL_OK);
  for (uint64_t i = 0; i < 60; i++) {
    saver_is_killed(1 + (int)i % 2, path, 0, 300 + jf_philox_at(3, 0, i).w[0] % 3000);
    double v = load_value(path);
    CHECK_MSG(v == 1 || v == 2, "round %d: %s", (int)i, jfl_errmsg());
  }
}

static void a_kill_at_any_call_leaves_one_file_whole(void)
{
  const char *path = in_scratch("output");
  int news = 0, n = 1, status;
  for (int killed = 1; killed && n < MAX_STEPS; n++) {
    size_t size;
    CHECK(put_output(path, "old") == JFL_OK);
    pid_t pid = fork();
    if (!pid) {
      watch(n, 0, 0);
      _exit(put_output(path, "new") != JFL_OK);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    killed = WIFSIGNALED(status);
    char *text = get_file(path, &size);
    CHECK_MSG(size == 3 && (!strncmp(text, "old", 3) || !strncmp(text, "new", 3)), "step %d", n);
    news += text[0] == 'n';
    free(text);
  }
  CHECK_MSG(n > 6 && news == 2, "%d steps, %d new", n, news);
}

/* ---- crashes of the machine ---- */

enum { CRASHES = 4 };

/* Tries what may be left after each change that was recorded: is_whole() gives whether that is the
   old or the new one, and whether the new one is there after the last change. */
static int crash_everywhere(int (*is_whole)(const char *path, int done, int *is_new))
{
  const int n = replay_end(), tries = atoi(getenv("JFL_CUTS") ? getenv("JFL_CUTS") : "0");
  const int most = REPLAY_ANY + (tries > CRASHES ? tries : CRASHES);
  char folder[PATH_MAX], it[PATH_MAX];
  int news = 0;
  strcpy(folder, in_scratch("after"));
  strcpy(it, in_scratch("after/it"));
  for (int i = 0; i <= n; i++)
    for (int t = 0; t < most; t++) {
      int is_new = 0;
      if (mkdir(folder, 0700)) abort();
      replay_crash(folder, i, t < REPLAY_ANY ? t : REPLAY_ANY, (uint64_t)(t * MAX_STEPS + i));
      CHECK_MSG(is_whole(it, i == n, &is_new), "after %d of %d changes, try %d: %s", i, n, t,
                jfl_errmsg());
      news += is_new;
      scratch_clear(folder);
    }
  CHECK_MSG(n > 4 && news > 0, "%d of %d", news, n);
  return n;
}

/* A save after the crash goes well, and nothing is left over. */
static int saves_again(const char *path)
{
  return save_value(3, path, 1) == JFL_OK && load_value(path) == 3 && !leftovers(path);
}

static int is_one_of_two(const char *path, int done, int *is_new)
{
  const double v = load_value(path);
  *is_new = v == 2;
  return (v == 2 || (v == 1 && !done)) && saves_again(path);
}

static int is_none_or_new(const char *path, int done, int *is_new)
{
  char inner[PATH_MAX];
  snprintf(inner, sizeof inner, "%s/inner", path);
  const double v = load_value(inner);
  *is_new = v == 2;
  return (v == 2 || (v == -1 && !done && strstr(jfl_errmsg(), "no such directory"))) &&
         saves_again(inner);
}

static int is_one_of_two_texts(const char *path, int done, int *is_new)
{
  size_t n;
  char *text = get_file(path, &n);
  *is_new = n == 3 && !memcmp(text, "new", 3);
  const int is_old = n == 3 && !memcmp(text, "old", 3);
  free(text);
  return *is_new || (is_old && !done);
}

static void a_crash_leaves_the_old_or_the_new_checkpoint(void)
{
  CHECK(!mkdir(in_scratch("crash"), 0700) && save_value(1, in_scratch("crash/it"), 0) == JFL_OK);
  replay_begin(in_scratch("crash"));
  CHECK(save_value(2, in_scratch("crash/it"), 1) == JFL_OK);
  crash_everywhere(is_one_of_two);
}

static void a_crash_of_a_first_save_leaves_none_or_the_new(void)
{
  CHECK(!mkdir(in_scratch("crash_first"), 0700));
  replay_begin(in_scratch("crash_first"));
  CHECK(save_value(2, in_scratch("crash_first/it/inner"), 0) == JFL_OK);
  crash_everywhere(is_none_or_new);
}

static void a_crash_leaves_the_old_or_the_new_file(void)
{
  CHECK(!mkdir(in_scratch("crash_file"), 0700) && !put_output(in_scratch("crash_file/it"), "old"));
  replay_begin(in_scratch("crash_file"));
  CHECK(put_output(in_scratch("crash_file/it"), "new") == JFL_OK);
  crash_everywhere(is_one_of_two_texts);
}

/* What these tests stand on: a crash is seen to lose what was not synced. */
static int lost;
static int is_text_or_lost(const char *path, int done, int *is_new)
{
  (void)done;
  size_t n;
  char *text = exists(path) ? get_file(path, &n) : NULL;
  *is_new = text && n == 4 && !memcmp(text, "text", 4);
  lost += !*is_new;
  free(text);
  return 1;
}

static void a_crash_loses_what_was_not_synced(void)
{
  CHECK(!mkdir(in_scratch("crash_lost"), 0700));
  replay_begin(in_scratch("crash_lost"));
  const int folder = open(in_scratch("crash_lost"), O_RDONLY | O_DIRECTORY);
  const int fd = openat(folder, "new", O_WRONLY | O_CREAT | O_EXCL, 0600);
  CHECK(write(fd, "te", 2) == 2 && write(fd, "xt", 2) == 2);
  CHECK(!renameat(folder, "new", folder, "it") && !fsync(folder));
  close(fd);
  close(folder);
  lost = 0;
  CHECK(crash_everywhere(is_text_or_lost) == 5 && lost > 5);
}

/* ---- several processes ---- */

static void save_often(int value, const char *path)
{
  for (int i = 0; i < 40; i++) {
    jfl_status r = save_value(value, path, 1);
    if (r != JFL_OK && r != JFL_ESTATE) _exit(r);
  }
  _exit(0);
}

/* If another process is saving, a save is refused or waits, and a load finds a complete
   checkpoint. */
static void saves_at_once_do_not_mix(void)
{
  enum { SAVERS = 3 };
  const char *path = in_scratch("shared");
  pid_t pid[SAVERS];
  int status;
  for (int i = 0; i < SAVERS; i++)
    if (!(pid[i] = fork())) save_often(1 + i, path);
  for (int i = 0, seen = 0; i < 200; i++) {
    double v = load_value(path);
    CHECK_MSG((v >= 1 && v <= SAVERS) || (!seen && v == -1), "%g: %s", v, jfl_errmsg());
    seen |= v > 0;
  }
  for (int i = 0; i < SAVERS; i++)
    CHECK_MSG(waitpid(pid[i], &status, 0) == pid[i] && !status, "saver %d: %x", i,
              (unsigned)status);
  CHECK(load_value(path) > 0 && !leftovers(path));
}

/* A checkpoint in shards of the value; as such a save it takes no other's place. */
static jfl_status save_shards(int value, const char *path, int overwrite)
{
  (void)overwrite;
  jfl_session *s = full_session(value);
  const jfl_status r = jfl_checkpoint_save_shards(s, path, 64, NULL, 0);
  jfl_session_free(s);
  return r;
}

typedef jfl_status saver(int value, const char *path, int overwrite);

/* A process saves 1 and stops before its n-th call; 2 is saved meanwhile, and then it goes on.
   Gives whether it stopped. Either is refused, or both are made, one over the other. */
static int saves_meanwhile(saver *save, const char *path, int overwrite, int n)
{
  int status;
  const pid_t pid = fork();
  if (!pid) {
    faults_begin(scratch, "", n, 1, FAULTS_STOP);
    const jfl_status r = save(1, path, overwrite);
    if (r && r != JFL_ESTATE) fprintf(stderr, "%s\n", jfl_errmsg());
    _exit(r);
  }
  if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid) abort();
  const int stopped = WIFSTOPPED(status);
  const jfl_status second = stopped ? save(2, path, overwrite) : JFL_ESTATE;
  CHECK_MSG(!second || second == JFL_ESTATE, "step %d: %s", n, jfl_errmsg());
  if (stopped && (kill(pid, SIGCONT) || waitpid(pid, &status, 0) != pid)) abort();
  const jfl_status first = WIFEXITED(status) ? WEXITSTATUS(status) : JFL_EIO;
  CHECK_MSG(!first || (first == JFL_ESTATE && !second), "step %d: %d %d", n, first, second);
  CHECK_MSG(overwrite || !first + !second == 1, "step %d: %d %d", n, first, second);
  const double v = load_value(path);
  CHECK_MSG(((v == 1 && !first) || (v == 2 && !second)) && !leftovers(path),
            "step %d: %d %d: %g: %s", n, first, second, v, jfl_errmsg());
  return stopped;
}

static void a_save_meanwhile_at_any_call(void)
{
  static const struct { saver *save; int overwrite, there, left; } cases[] = {
    { save_value, 1, 0, 0 }, { save_value, 1, 1, 0 }, { save_value, 1, 0, 1 },
    { save_value, 0, 0, 0 }, { save_value, 0, 0, 1 },
    { save_shards, 0, 0, 0 }, { save_shards, 0, 0, 1 },
  };
  const char *path = in_scratch("meanwhile"), *beside = in_scratch("meanwhile.saving");
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    int n = 0;
    do {
      scratch_clear(path);
      if (cases[c].there && save_value(3, path, 0)) abort();
      if (cases[c].left && mkdir(beside, 0700)) abort();
    } while (saves_meanwhile(cases[c].save, path, cases[c].overwrite, ++n));
    CHECK_MSG(n > 10, "case %d: %d", (int)c, n);
  }
}

/* A save in shards, in a process of its own, that fails in its last step, the renaming of the
   directory, and is stopped before its n-th call of what follows. */
static pid_t fails_at_last(const char *path, int n)
{
  jf_stage st;
  const pid_t pid = fork();
  if (pid) return pid;
  int bad = jf_stage_open(path, 0, 64, &st) || jf_file_write(st.model.fd, st.file, "{}", 2);
  const int shard = bad ? -1 : openat(st.model.dir, "model-00001-of-00002.safetensors",
                                      O_CREAT | O_WRONLY, 0600);
  bad |= shard < 0 || jf_replacement_commit(&st.model);
  faults_begin(scratch, "", n, 1, FAULTS_STOP);
  _exit(bad || jf_stage_close(&st, JFL_EIO) != JFL_EIO);
}

/* What one removes must not be what the next one has written. */
static void a_save_beside_one_that_fails_stays_whole(void)
{
  const char *path = in_scratch("beside_failing");
  int status = 0, saved = 0, n = 0;
  do {
    scratch_clear(path);
    const pid_t pid = fails_at_last(path, ++n);
    if (pid < 0 || waitpid(pid, &status, WUNTRACED) != pid) abort();
    if (!WIFSTOPPED(status)) break;
    const jfl_status second = save_shards(2, path, 0);
    if (kill(pid, SIGCONT) || waitpid(pid, &status, 0) != pid) abort();
    CHECK_MSG(!second || second == JFL_ESTATE, "call %d: %s", n, jfl_errmsg());
    if (!second) CHECK_MSG(load_value(path) == 2, "call %d: %s", n, jfl_errmsg());
    CHECK(WIFEXITED(status) && !WEXITSTATUS(status) && !leftovers(path));
    saved += !second;
  } while (n < MAX_STEPS);
  CHECK_MSG(WIFEXITED(status) && !WEXITSTATUS(status) && saved && saved < n, "%d of %d", saved, n);
}

/* Of outputs to one file the last one stays, and it is whole. */
static void outputs_at_once_do_not_mix(void)
{
  enum { WRITERS = 3, SIZE = 5000 };
  const char *path = in_scratch("many");
  pid_t pid[WRITERS];
  int status;
  if (put_output(path, "a")) abort();
  for (int i = 0; i < WRITERS; i++) {
    if ((pid[i] = fork())) continue;
    char text[SIZE + 1] = "";
    memset(text, 'a' + i, SIZE - (size_t)i);
    for (int k = 0; k < 40; k++)
      if (put_output(path, text)) _exit(1);
    _exit(0);
  }
  for (int i = 0; i < 200; i++) {
    size_t n;
    char *text = get_file(path, &n);
    CHECK_MSG(n == 1 || n == SIZE - (size_t)(text[0] - 'a'), "%zu of %c", n, text[0]);
    for (size_t k = 0; k < n; k++) CHECK(text[k] == text[0]);
    free(text);
  }
  for (int i = 0; i < WRITERS; i++) CHECK(waitpid(pid[i], &status, 0) == pid[i] && !status);
}

/* ---- memory that runs out ---- */

static struct { int64_t live; int left; } memory = { 0, -1 };

static void *take(void *ud, size_t size)
{
  (void)ud;
  if (!memory.left || (memory.left > 0 && !--memory.left)) return NULL;
  memory.live++;
  return aligned_alloc(16, (size + 15) & ~(size_t)15);
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud, (void)size;
  memory.live -= p != NULL;
  free(p);
}

static void saving_without_memory_fails_cleanly(void)
{
  const char *path = in_scratch("starved");
  jfl_session *s = full_session(2);
  CHECK(save_value(1, path, 1) == JFL_OK);
  int64_t live = memory.live;
  jfl_status r;
  int n = 0;
  do {
    memory.left = ++n;
    r = jfl_checkpoint_save(s, path, 1);
    memory.left = -1;
    CHECK_MSG(r == JFL_OK || r == JFL_ENOMEM, "%s", jfl_errmsg());
    CHECK(memory.live == live && !leftovers(path));
    CHECK(load_value(path) == (r == JFL_OK ? 2 : 1));
  } while (r != JFL_OK && n < MAX_STEPS);
  CHECK_MSG(r == JFL_OK && n > 3, "%d", n);
  jfl_session_free(s);
}

static void loading_without_memory_changes_nothing(void)
{
  const char *path = in_scratch("hungry");
  jfl_session *s = full_session(2);
  jfl_report *report;
  CHECK(save_value(1, path, 1) == JFL_OK);
  int64_t live = memory.live;
  jfl_status r;
  int n = 0;
  do {
    memory.left = ++n;
    r = jfl_checkpoint_load(s, path, 1, &report);
    memory.left = -1;
    if (r == JFL_OK) jfl_report_free(report);
    CHECK_MSG(r == JFL_OK || r == JFL_ENOMEM, "%s", jfl_errmsg());
    CHECK(memory.live == live && filled_with(s) == (r == JFL_OK ? 1 : 2));
  } while (r != JFL_OK && n < MAX_STEPS);
  CHECK_MSG(r == JFL_OK && n > 8, "%d", n);
  jfl_session_free(s);
}

int main(void)
{
  jfl_set_allocator(&(jfl_allocator){ take, give, NULL });
  scratch_make();
  RUN(syncs_before_and_after_the_rename);
  RUN(a_full_disk_keeps_the_old_checkpoint);
  RUN(a_full_disk_leaves_no_half_checkpoint);
  RUN(a_full_disk_keeps_the_old_file);
  RUN(a_limit_of_file_sizes_is_an_error);
  RUN(an_interrupted_write_goes_on);
  RUN(a_kill_at_any_call_leaves_one_whole);
  RUN(a_kill_at_any_call_leaves_one_file_whole);
  RUN(a_kill_at_any_call_of_a_first_save_can_be_repeated);
  RUN(a_kill_at_any_moment_leaves_one_whole);
  RUN(a_crash_loses_what_was_not_synced);
  RUN(a_crash_leaves_the_old_or_the_new_checkpoint);
  RUN(a_crash_of_a_first_save_leaves_none_or_the_new);
  RUN(a_crash_leaves_the_old_or_the_new_file);
  RUN(saves_at_once_do_not_mix);
  RUN(a_save_meanwhile_at_any_call);
  RUN(a_save_beside_one_that_fails_stays_whole);
  RUN(outputs_at_once_do_not_mix);
  RUN(saving_without_memory_fails_cleanly);
  RUN(loading_without_memory_changes_nothing);
  return test_done();
}
