/* Variables over several processes: values, checkpoints and errors are the same on all, wherever
   their parts are. */
#include "ranks.h"
#include "scratch.h"
#include "test.h"
#include "world/world.h"

#include <signal.h>
#include <sys/resource.h>

enum { ROWS = 7, N = 7 * 5 * 6 };

/* How a variable lies in a test. */
typedef struct lying { const char *devices; jfl_distribution d; } lying;

static const lying ways[] = {
  { "cpu 0-1:0", { JFL_BROADCAST, 0 } }, { "cpu 0-1:0", { JFL_SPLIT, 0 } },
  { "cpu 0-1:0", { JFL_SPLIT, 1 } },     { "cpu 1:0", { JFL_BROADCAST, 0 } },
  { "sim 0-1:0-1", { JFL_SPLIT, 2 } },   { "cpu 0:0", { JFL_SPLIT, 0 } },
  { "cpu:0", { JFL_BROADCAST, 0 } },
};
enum { N_WAYS = sizeof ways / sizeof *ways };

static const jfl_variable_spec normal = { .name = "w", .shape = { 3, { ROWS, 5, 6 } },
                                          .init = JFL_INIT_NORMAL, .b = 1, .trainable = 1 };

static jf_var *lay(jfl_session *s, const lying *l)
{
  jf_var *v;
  int place;
  if (jf_session_group(s, l->devices, &place) || jf_var_new(s, &normal, place, l->d, &v) ||
      jf_session_add_var(s, v))
    return NULL;
  return v;
}

/* Whether the variable has these values, as every process is told. */
static int has(jfl_session *s, const float *want)
{
  jfl_array *a;
  if (jfl_variable_get(s, "w", &a)) return 0;
  const int same = !memcmp(jfl_array_data(a), want, N * sizeof *want);
  jfl_array_unref(a);
  return same;
}

static void fill(float *values, int from)
{
  for (int i = 0; i < N; i++) values[i] = (float)(from + i);
}

static jfl_status set(jfl_session *s, float *values)
{
  jfl_array *a;
  JF_TRY(jfl_array_new(JFL_F32, &normal.shape, &a));
  memcpy(jfl_array_data(a), values, N * sizeof *values);
  jfl_status st = jfl_variable_set(s, "w", a);
  jfl_array_unref(a);
  return st;
}

/* Initial values come from one seed; what rank 0 sets is set everywhere. */
static int read_and_set(int rank, int size)
{
  float first[N], values[N];
  (void)size;
  for (int i = 0; i < N_WAYS; i++) {
    jfl_session *s;
    jfl_array *a;
    RANK_NEEDS(!jfl_session_new(&s));
    s->seed = 5;
    RANK_NEEDS(lay(s, &ways[i]));
    RANK_NEEDS(!jfl_variable_get(s, "w", &a));
    if (!i) memcpy(first, jfl_array_data(a), sizeof first);
    RANK_NEEDS(!memcmp(first, jfl_array_data(a), sizeof first));
    jfl_array_unref(a);
    fill(values, 100 * rank);
    RANK_NEEDS(!set(s, values));
    fill(values, 0);
    RANK_NEEDS(has(s, values));
    jfl_session_free(s);
  }
  return 0;
}

static void variables_are_read_and_set_by_all(void)
{
  CHECK(ranks_run(2, read_and_set) == 0);
  CHECK(ranks_run(3, read_and_set) == 0);
}

/* Rank 0 alone has the files: the others name a directory that they do not have. */
static int save_and_load(int rank, int size)
{
  float values[N], other[N];
  (void)size;
  for (int i = 0; i < N_WAYS; i++) {
    jfl_session *s, *t;
    jfl_report *r = NULL;
    char name[32];
    snprintf(name, sizeof name, "way%d-%d", size, i);
    RANK_NEEDS(!jfl_session_new(&s) && !jfl_session_new(&t));
    RANK_NEEDS(lay(s, &ways[i]) && lay(t, &ways[(i + 3) % N_WAYS]));
    fill(values, i);
    fill(other, 1000);
    RANK_NEEDS(!set(s, values) && !set(t, other));
    RANK_NEEDS(!jfl_checkpoint_save(s, in_scratch(name), 0));
    RANK_NEEDS(jfl_checkpoint_save(s, in_scratch(name), 0) == JFL_ESTATE);
    if (rank) RANK_NEEDS(strstr(jfl_errmsg(), "rank 0 (") && strstr(jfl_errmsg(), "not empty"));
    RANK_NEEDS(!jfl_checkpoint_load(t, in_scratch(name), 1, &r));
    RANK_NEEDS(jfl_report_count(r) == 1 && has(t, values));
    jfl_report_free(r);
    jfl_session_free(s);
    jfl_session_free(t);
  }
  return 0;
}

static void checkpoints_are_written_and_read_by_rank_0(void)
{
  CHECK(ranks_run(2, save_and_load) == 0);
  CHECK(ranks_run(3, save_and_load) == 0);
}

/* Checkpoints of another shape, and damaged, which rank 0 alone has. */
static int write_bad_ones(int rank)
{
  const char *name = "w";
  jfl_array *a;
  size_t n;
  RANK_NEEDS(!jfl_array_new(JFL_F32, &(jfl_shape){ 1, { 3 } }, &a));
  RANK_NEEDS(!jfl_checkpoint_write(in_scratch("other"), 0, &name, &a, 1));
  RANK_NEEDS(!jfl_checkpoint_write(in_scratch("damaged"), 0, &name, &a, 1));
  char *text = get_file(in_scratch("damaged/" JF_MODEL_FILE), &n);
  put_file(in_scratch("damaged/" JF_MODEL_FILE), text, n - 4);
  free(text);
  jfl_array_unref(a);
  return 0;
}

/* A file that cannot be written is an error on all, and so is one that cannot be loaded. */
static int fail_together(int rank, int size)
{
  float values[N];
  jfl_session *s;
  jfl_report *r;
  (void)size;
  RANK_NEEDS(!jfl_session_new(&s) && lay(s, &ways[1]));
  fill(values, 3);
  RANK_NEEDS(!set(s, values) && (rank || !write_bad_ones(rank)));
  RANK_NEEDS(jfl_checkpoint_save(s, "/dev/null/model", 1) == JFL_EIO);
  if (rank) RANK_NEEDS(strstr(jfl_errmsg(), "rank 0 ("));
  RANK_NEEDS(jfl_checkpoint_load(s, in_scratch("none"), 0, &r) == JFL_EIO);
  RANK_NEEDS(strstr(jfl_errmsg(), "no such directory"));
  RANK_NEEDS(jfl_checkpoint_load(s, in_scratch("other"), 0, &r) == JFL_ESHAPE);
  RANK_NEEDS(strstr(jfl_errmsg(), "variable w must be"));
  RANK_NEEDS(jfl_checkpoint_load(s, in_scratch("damaged"), 0, &r) == JFL_EDATA);
  RANK_NEEDS(has(s, values));
  jfl_session_free(s);
  return 0;
}

static void what_fails_on_one_fails_on_all(void) { CHECK(ranks_run(2, fail_together) == 0); }

/* A disk that fills up in mid-write: all go on in step. */
static int fill_disk(int rank, int size)
{
  const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY }, small = { 1500, RLIM_INFINITY };
  jfl_session *s;
  jf_var *v;
  int place;
  (void)size;
  signal(SIGXFSZ, SIG_IGN);
  RANK_NEEDS(!jfl_session_new(&s) && !jf_session_group(s, "cpu 0-1:0", &place));
  for (int i = 0; i < 6; i++) {
    char name[8];
    jfl_variable_spec spec = normal;
    snprintf(name, sizeof name, "w%d", i);
    spec.name = name;
    RANK_NEEDS(!jf_var_new(s, &spec, place, i % 3 ? JF_ALONG(0) : JF_ON_ALL, &v));
    RANK_NEEDS(!jf_session_add_var(s, v));
  }
  if (!rank) RANK_NEEDS(!setrlimit(RLIMIT_FSIZE, &small));
  RANK_NEEDS(jfl_checkpoint_save(s, in_scratch("full"), 0) == JFL_EIO);
  RANK_NEEDS(strstr(jfl_errmsg(), "cannot write") && !exists(in_scratch("full")));
  if (!rank) RANK_NEEDS(!setrlimit(RLIMIT_FSIZE, &none));
  RANK_NEEDS(!jfl_checkpoint_save(s, in_scratch("full"), 0));
  jfl_session_free(s);
  return 0;
}

static void a_disk_that_fills_up_is_full_on_all(void) { CHECK(ranks_run(2, fill_disk) == 0); }

/* One rank saves while another one loads: both hear of it, and can go on. */
static int differ(int rank, int size)
{
  jfl_session *s;
  jfl_report *r;
  float values[N];
  (void)size;
  RANK_NEEDS(!jfl_session_new(&s) && lay(s, &ways[1]));
  fill(values, 3);
  jfl_status st = rank ? jfl_checkpoint_load(s, in_scratch("none"), 0, &r)
                       : jfl_checkpoint_save(s, in_scratch("none"), 0);
  RANK_NEEDS(st == JFL_ESTATE && strstr(jfl_errmsg(), "all ranks must do the same"));
  RANK_NEEDS(!set(s, values) && has(s, values));
  jfl_session_free(s);
  return 0;
}

static void ranks_that_differ_are_told(void) { CHECK(ranks_run(2, differ) == 0); }

/* A rank that ends instead of saving is named. */
static int leave(int rank, int size)
{
  jfl_session *s;
  (void)size;
  RANK_NEEDS(!jfl_session_new(&s) && lay(s, &ways[1]));
  if (rank) _exit(0);
  RANK_NEEDS(jfl_checkpoint_save(s, in_scratch("left"), 0) == JFL_EIO);
  RANK_NEEDS(strstr(jfl_errmsg(), "rank 1 ("));
  RANK_NEEDS(!exists(in_scratch("left")) && !exists(in_scratch("left.saving")));
  jfl_session_free(s);
  return 0;
}

static void a_rank_that_ends_is_named(void) { CHECK(ranks_run(2, leave) == 0); }

/* Texts of rank 0, of any length. */
static int hand_out(int rank, int size)
{
  jfl_session *s;
  char *text, *long_text = calloc(1, 100001);
  (void)size;
  memset(long_text, 'a' + rank, 100000);
  RANK_NEEDS(!jfl_session_new(&s));
  RANK_NEEDS(!jfl_session_hand_out(s, "agree", rank ? "theirs" : "ours", &text));
  RANK_NEEDS(!strcmp(text, "ours"));
  jfl_text_free(text);
  RANK_NEEDS(!jfl_session_hand_out(s, "agree", rank ? "" : long_text, &text));
  RANK_NEEDS(strlen(text) == 100000 && text[99999] == 'a');
  jfl_text_free(text);
  free(long_text);
  jfl_session_free(s);
  return 0;
}

static void texts_are_handed_out(void)
{
  CHECK(ranks_run(1, hand_out) == 0);
  CHECK(ranks_run(2, hand_out) == 0);
  CHECK(ranks_run(5, hand_out) == 0);
}

int main(void)
{
  scratch_make();
  RUN(variables_are_read_and_set_by_all);
  RUN(checkpoints_are_written_and_read_by_rank_0);
  RUN(what_fails_on_one_fails_on_all);
  RUN(a_disk_that_fills_up_is_full_on_all);
  RUN(ranks_that_differ_are_told);
  RUN(a_rank_that_ends_is_named);
  RUN(texts_are_handed_out);
  return test_done();
}
