/* Saving and loading checkpoints: what they keep, what they refuse, and what they say then. */
#include "scratch.h"
#include "test.h"

static int says(const char *what) { return strstr(jfl_errmsg(), what) != NULL; }
#define CHECK_SAYS(what) CHECK_MSG(says(what), "%s", jfl_errmsg())

static const char *find(const jfl_report *r, const char *name, jfl_loaded want, int want_state)
{
  for (int i = 0; i < jfl_report_count(r); i++) {
    jfl_loaded what;
    int state;
    const char *found = jfl_report_name(r, i, &what, &state);
    if (!strcmp(found, name) && what == want && state == want_state) return found;
  }
  return NULL;
}

static void keeps_variables_and_counters(void)
{
  jfl_session *a = full_session(3), *b = full_session(1);
  jfl_report *r;
  a->eager_calls = 12;
  CHECK(jfl_checkpoint_save(a, in_scratch("kept"), 0) == JFL_OK);
  CHECK_MSG(jfl_checkpoint_load(b, in_scratch("kept"), 1, &r) == JFL_OK, "%s", jfl_errmsg());
  CHECK(filled_with(b) == 3 && b->jobs->run == 3 && b->eager_calls == 12 && b->seed == 3);
  CHECK(jfl_report_count(r) == N_VARS);
  CHECK(find(r, "dense1-weight", JFL_LOADED, 0) && find(r, "wide", JFL_LOADED, 0));
  CHECK(find(r, "dense1-weight-momentum", JFL_LOADED, 1));
  CHECK(find(r, "System-Train-TrainStep-train", JFL_LOADED, 1));
  jfl_report_free(r);
  jfl_session_free(a);
  jfl_session_free(b);
}

static void keeps_a_seed_that_the_user_chose(void)
{
  jfl_session *s = full_session(1);
  jfl_report *r;
  jfl_arg seed = { .name = "seed", .kind = JFL_ARG_NUMBER, .number = 5 };
  CHECK(save_value(2, in_scratch("seeded"), 0) == JFL_OK);
  CHECK(jfl_session_set(s, &seed) == JFL_OK);
  uint64_t chosen = s->seed;
  CHECK(jfl_checkpoint_load(s, in_scratch("seeded"), 1, &r) == JFL_OK && s->seed == chosen);
  jfl_report_free(r);
  jfl_session_free(s);
}

static void keeps_any_name(void)
{
  static const char *const names[] = {
    "", "a b", "quote\"back\\slash", "line\nfeed\ttab\x01", "\xc3\xa9t\xc3\xa9 \xf0\x9f\x98\x80",
    "__metadata__", "___metadata__", "____metadata__", "a/b", "..", "dtype",
  };
  enum { N = sizeof names / sizeof *names };
  jfl_session *a = new_session(), *b = new_session();
  jfl_report *r = NULL;
  for (int i = 0; i < N; i++) {
    jfl_variable_spec v = { .name = names[i], .dtype = JFL_I32, .shape = { 1, { 1 } } };
    add_var(a, v, 100 + i);
    add_var(b, v, 0);
  }
  CHECK(jfl_checkpoint_save(a, in_scratch("names"), 0) == JFL_OK);
  CHECK_MSG(jfl_checkpoint_load(b, in_scratch("names"), 1, &r) == JFL_OK, "%s", jfl_errmsg());
  for (int i = 0; i < N; i++) {
    double v = first_of(b, names[i]);
    CHECK_MSG(v == 100 + i, "%s is %g", names[i], v);
  }
  jfl_report_free(r);
  jfl_session_free(a);
  jfl_session_free(b);
}

static void refuses_a_name_that_is_not_utf8(void)
{
  jfl_session *s = new_session();
  add_var(s, (jfl_variable_spec){ .name = "\xff", .dtype = JFL_I32, .shape = { 1, { 1 } } }, 1);
  CHECK(jfl_checkpoint_save(s, in_scratch("bytes"), 0) == JFL_ENAME);
  CHECK(!exists(in_scratch("bytes")) && !exists(in_scratch("bytes.saving")));
  jfl_session_free(s);
}

/* ---- notes, and checkpoints without a session ---- */

static jfl_checkpoint *open_scratch(const char *name)
{
  jfl_checkpoint *c = NULL;
  if (jfl_checkpoint_open(in_scratch(name), &c)) {
    fprintf(stderr, "%s\n", jfl_errmsg());
    abort();
  }
  return c;
}

static void keeps_notes(void)
{
  jfl_session *s = full_session(3);
  jfl_note notes[] = { { "random", "1 2" }, { "loop.a\"b", "" } }, note, bad = { "x", "\xff" };
  jfl_report *r;
  const char *path = in_scratch("notes");
  CHECK(jfl_checkpoint_save_notes(s, path, 0, notes, 2) == JFL_OK);
  jfl_checkpoint *c = open_scratch("notes");
  CHECK(jfl_checkpoint_note(c, 0, &note) && !strcmp(note.key, "loop.a\"b") && !*note.value);
  CHECK(jfl_checkpoint_note(c, 1, &note) && !strcmp(note.key, "random"));
  CHECK(!strcmp(note.value, "1 2") && !jfl_checkpoint_note(c, 2, &note));
  jfl_checkpoint_close(c);
  CHECK(load_value(path) == 3);
  CHECK(jfl_checkpoint_save_notes(s, path, 1, &bad, 1) == JFL_ENAME);
  CHECK_SAYS("note x must be UTF-8");
  notes[1].key = notes[0].key;
  CHECK(jfl_checkpoint_save_notes(s, path, 1, notes, 2) == JFL_ENAME);
  CHECK_SAYS("note random must occur once, got two");
  CHECK(jfl_checkpoint_load(s, path, 1, &r) == JFL_OK);
  jfl_report_free(r);
  jfl_session_free(s);
}

static void reads_without_a_session(void)
{
  uint64_t size;
  jfl_dtype dtype;
  const jfl_shape *shape;
  jfl_array *a;
  CHECK(save_value(7, in_scratch("alone"), 0) == JFL_OK);
  jfl_checkpoint *c = open_scratch("alone/model.safetensors");
  CHECK(jfl_checkpoint_count(c) == N_VARS);
  CHECK(!jfl_checkpoint_tensor(c, N_VARS, &size, &dtype, &shape));
  CHECK(!strcmp(jfl_checkpoint_tensor(c, 1, &size, &dtype, &shape), "dense1-weight"));
  CHECK(size == 60 && dtype == JFL_F32 && shape->n == 2 && shape->d[0] == 3 && shape->d[1] == 5);
  CHECK(save_value(8, in_scratch("alone"), 1) == JFL_OK);      /* what is open does not change */
  CHECK(jfl_checkpoint_read(c, 1, JFL_F32, shape, &a) == JFL_OK);
  CHECK(((float *)jfl_array_data(a))[14] == 7);
  jfl_array_unref(a);
  jfl_checkpoint_close(c);
}

static void writes_arrays(void)
{
  jfl_session *s = full_session(2);
  jfl_report *r;
  jfl_array *a;
  const char *const names[] = { "dense1-weight" }, *const twice[] = { "x", "x" };
  CHECK(jfl_variable_get(s, "dense1-weight", &a) == JFL_OK);
  *(float *)jfl_array_data(a) = 9;
  jfl_array *both[] = { a, a };
  CHECK(jfl_checkpoint_write(in_scratch("some"), 0, names, &a, 1) == JFL_OK);
  CHECK(jfl_checkpoint_write(in_scratch("some"), 0, names, &a, 1) == JFL_ESTATE);
  s->jobs->run = 5;
  CHECK(jfl_checkpoint_load(s, in_scratch("some"), 0, &r) == JFL_OK);
  CHECK(jfl_report_count(r) == N_VARS);
  CHECK(first_of(s, s->var[0]->spec.name) == 9 && s->jobs->run == 5 && s->seed == 2);
  jfl_report_free(r);
  CHECK(jfl_checkpoint_write(in_scratch("double"), 0, twice, both, 2) == JFL_EDATA);
  CHECK_SAYS("double: tensor x occurs twice");
  CHECK(!exists(in_scratch("double")) && !exists(in_scratch("double.saving")));
  jfl_array_unref(a);
  jfl_session_free(s);
}

static void loads_what_begins_with_a_prefix(void)
{
  jfl_session *s = full_session(1);
  jfl_report *r;
  const char *const only[] = { "dense1-weight", "nothing" };
  CHECK(save_value(4, in_scratch("part"), 0) == JFL_OK);
  jfl_checkpoint *c = open_scratch("part");
  CHECK(jfl_checkpoint_apply(s, c, 1, only, 2, &r) == JFL_OK && jfl_report_count(r) == 2);
  CHECK(find(r, "dense1-weight", JFL_LOADED, 0));
  CHECK(find(r, "dense1-weight-momentum", JFL_LOADED, 1));
  CHECK(first_of(s, s->var[0]->spec.name) == 4);
  CHECK(first_of(s, s->var[1]->spec.name) == 1);
  CHECK(s->jobs->run == 1 && s->seed == 1);
  jfl_report_free(r);
  jfl_checkpoint_close(c);
  jfl_session_free(s);
}

static void removes_what_it_wrote(void)
{
  jf_stage st;
  CHECK(save_value(1, in_scratch("gone"), 0) == JFL_OK);
  put_file(in_scratch("gone/model.safetensors.saving"), "left over", 9);
  CHECK(!mkdir(in_scratch("gone.saving"), 0700));
  put_file(in_scratch("gone.saving/model.safetensors"), "left over", 9);
  CHECK_MSG(jfl_checkpoint_remove(in_scratch("gone/")) == JFL_OK, "%s", jfl_errmsg());
  CHECK(!exists(in_scratch("gone")) && !exists(in_scratch("gone.saving")));
  CHECK(jfl_checkpoint_remove(in_scratch("gone")) == JFL_OK);
  CHECK(save_value(1, in_scratch("more"), 0) == JFL_OK);
  put_file(in_scratch("more/notes.txt"), "x", 1);
  CHECK(jfl_checkpoint_remove(in_scratch("more")) == JFL_ESTATE);
  CHECK_SAYS("holds more than a checkpoint");
  CHECK(load_value(in_scratch("more")) == 1);
  CHECK(jfl_checkpoint_remove(in_scratch("more/notes.txt")) == JFL_ESTATE);
  CHECK(jf_stage_open(in_scratch("busy2"), 0, 0, &st) == JFL_OK);
  CHECK(jfl_checkpoint_remove(in_scratch("busy2")) == JFL_ESTATE && says("is in progress"));
  CHECK(exists(in_scratch("busy2.saving/model.safetensors")));
  CHECK(jf_stage_close(&st, JFL_ESTATE) == JFL_ESTATE);
}

/* ---- where it saves ---- */

static void makes_missing_parents(void)
{
  CHECK_MSG(save_value(1, in_scratch("deep/er/still//"), 0) == JFL_OK, "%s", jfl_errmsg());
  CHECK(load_value(in_scratch("deep/er/still")) == 1);
  CHECK(load_value(in_scratch("deep/er/still/")) == 1);
  CHECK(!exists(in_scratch("deep/er/still.saving")));
}

static void fills_an_empty_directory(void)
{
  CHECK(!mkdir(in_scratch("empty"), 0700));
  CHECK(save_value(1, in_scratch("empty"), 0) == JFL_OK && load_value(in_scratch("empty")) == 1);
  CHECK(!exists(in_scratch("empty/model.safetensors.saving")));
}

static void replaces_only_when_told(void)
{
  CHECK(save_value(1, in_scratch("twice"), 0) == JFL_OK);
  CHECK(save_value(2, in_scratch("twice"), 0) == JFL_ESTATE);
  CHECK_SAYS("twice: the directory exists and is not empty");
  CHECK_SAYS("overwrite");
  CHECK(load_value(in_scratch("twice")) == 1);
  CHECK(!exists(in_scratch("twice/model.safetensors.saving")));
  CHECK(save_value(2, in_scratch("twice"), 1) == JFL_OK && load_value(in_scratch("twice")) == 2);
}

static void leaves_a_file_in_the_way(void)
{
  put_file(in_scratch("file"), "x", 1);
  CHECK(save_value(1, in_scratch("file"), 1) == JFL_ESTATE);
  CHECK_SAYS("the path must be a directory, got a file");
  CHECK(save_value(1, in_scratch("file/below"), 0) == JFL_EIO);
  CHECK_SAYS("Not a directory");
  CHECK(save_value(1, "", 0) == JFL_EINVAL);
}

static void refuses_a_second_save_at_once(void)
{
  jf_stage st;
  for (int round = 0; round < 2; round++) {
    CHECK(jf_stage_open(in_scratch("busy"), 1, 0, &st) == JFL_OK);
    CHECK(save_value(2, in_scratch("busy"), 1) == JFL_ESTATE);
    CHECK_SAYS("another save to it is in progress");
    CHECK(jf_stage_close(&st, JFL_ESTATE) == JFL_ESTATE);
    CHECK(!exists(in_scratch("busy.saving")));
    CHECK(!exists(in_scratch("busy/model.safetensors.saving")));
    CHECK(save_value(3 + round, in_scratch("busy"), 1) == JFL_OK);
    CHECK(load_value(in_scratch("busy")) == 3 + round);
  }
}

static void reuses_what_a_crash_left(void)
{
  CHECK(!mkdir(in_scratch("stale.saving"), 0700));
  put_file(in_scratch("stale.saving/model.safetensors"), "left over", 9);
  CHECK(save_value(1, in_scratch("stale"), 0) == JFL_OK && load_value(in_scratch("stale")) == 1);
  CHECK(!exists(in_scratch("stale.saving")));
  CHECK(!mkdir(in_scratch("stale2"), 0700));
  put_file(in_scratch("stale2/model.safetensors.saving"), "left over", 9);
  CHECK(save_value(1, in_scratch("stale2"), 0) == JFL_OK && load_value(in_scratch("stale2")) == 1);
}

/* ---- what it loads ---- */

static void reports_names_that_differ(void)
{
  jfl_session *s = new_session();
  jfl_report *r;
  add_var(s, scratch_vars[0], 0);
  add_var(s, (jfl_variable_spec){ .name = "new", .dtype = JFL_F32, .shape = { 1, { 2 } } }, 9);
  CHECK(save_value(4, in_scratch("other"), 0) == JFL_OK);
  CHECK(jfl_checkpoint_load(s, in_scratch("other"), 0, &r) == JFL_OK);
  CHECK(jfl_report_count(r) == 5);
  CHECK(find(r, "dense1-weight", JFL_LOADED, 0) && find(r, "new", JFL_MISSING, 0));
  CHECK(find(r, "wide", JFL_UNEXPECTED, 0));
  CHECK(find(r, "dense1-weight-momentum", JFL_UNEXPECTED, 1));
  CHECK(find(r, "System-Train-TrainStep-train", JFL_UNEXPECTED, 1));
  CHECK(first_of(s, s->var[0]->spec.name) == 4);
  CHECK(first_of(s, s->var[1]->spec.name) == 9);
  jfl_report_free(r);
  jfl_session_free(s);
}

static void counts_runs_of_jobs_that_come_later(void)
{
  jfl_session *a = full_session(3), *b = new_session(), *c = new_session();
  jfl_job *job;
  jfl_report *r = NULL;
  CHECK(jfl_job_new(a, "later", JFL_TRAIN, &job) == JFL_OK);
  job->run = 77;
  CHECK(jfl_checkpoint_save(a, in_scratch("first"), 0) == JFL_OK);
  CHECK(jfl_checkpoint_load(b, in_scratch("first"), 0, &r) == JFL_OK);
  jfl_report_free(r);
  CHECK(jfl_checkpoint_save(b, in_scratch("second"), 0) == JFL_OK);
  CHECK(jfl_checkpoint_load(c, in_scratch("second"), 0, &r) == JFL_OK);
  jfl_report_free(r);
  CHECK(jfl_job_new(c, "later", JFL_TRAIN, &job) == JFL_OK && job->run == 77);
  CHECK(jfl_job_new(c, "other", JFL_TRAIN, &job) == JFL_OK && job->run == 0);
  jfl_session_free(a);
  jfl_session_free(b);
  jfl_session_free(c);
}

static void strict_loading_lets_optimizer_state_be(void)
{
  jfl_session *a = full_session(3), *b = new_session();
  jfl_report *r = NULL;
  for (int i = 0; i < a->n_var; i++)
    if (!a->var[i]->spec.state) add_var(b, a->var[i]->spec, 1);
  CHECK(a->n_var > b->n_var);
  CHECK(jfl_checkpoint_save(a, in_scratch("trained"), 0) == JFL_OK);
  CHECK_MSG(jfl_checkpoint_load(b, in_scratch("trained"), 1, &r) == JFL_OK, "%s", jfl_errmsg());
  jfl_report_free(r);
  jfl_session_free(a);
  jfl_session_free(b);
}

static void strict_loading_lists_names(void)
{
  jfl_session *s = full_session(1);
  jfl_report *r;
  char name[16];
  for (int i = 0; i < 7; i++) {
    snprintf(name, sizeof name, "new%d", i);
    add_var(s, (jfl_variable_spec){ .name = name, .dtype = JFL_F32, .shape = { 1, { 2 } } }, 1);
  }
  jfl_session *a = full_session(2);
  add_var(a, (jfl_variable_spec){ .name = "old", .dtype = JFL_F32, .shape = { 1, { 2 } } }, 2);
  CHECK(jfl_checkpoint_save(a, in_scratch("strict"), 0) == JFL_OK);
  CHECK(jfl_checkpoint_load(s, in_scratch("strict"), 1, &r) == JFL_ENAME);
  CHECK_SAYS("it lacks new0, new1, new2, new3, new4 and 2 more; no job knows old");
  CHECK(filled_with(s) == 1 && s->jobs->run == 1);
  jfl_session_free(a);
  jfl_session_free(s);
}

static void check_mismatch(jfl_variable_spec v, jfl_status want, const char *text)
{
  jfl_session *s = new_session();
  jfl_report *r;
  add_var(s, scratch_vars[0], 1);
  add_var(s, v, 1);
  CHECK(jfl_checkpoint_load(s, in_scratch("mismatch"), 0, &r) == want);
  CHECK_SAYS(text);
  CHECK(filled_with(s) == 1);
  jfl_session_free(s);
}

static void a_mismatch_changes_nothing(void)
{
  CHECK(save_value(2, in_scratch("mismatch"), 0) == JFL_OK);
  check_mismatch((jfl_variable_spec){ .name = "wide", .dtype = JFL_F64, .shape = { 2, { 7, 1 } } },
                 JFL_ESHAPE,
                 "variable wide must be float64 (7, 1), got float64 (7) in the file");
  check_mismatch((jfl_variable_spec){ .name = "wide", .dtype = JFL_I64, .shape = { 1, { 7 } } },
                 JFL_EDTYPE,
                 "variable wide must be int64 (7), got float64 (7) in the file");
}

static void a_missing_directory_is_named(void)
{
  jfl_session *s = full_session(1);
  jfl_report *r;
  CHECK(jfl_checkpoint_load(s, in_scratch("nowhere"), 0, &r) == JFL_EIO);
  CHECK_SAYS("nowhere: no such directory");
  CHECK(!says("cut short"));
  CHECK(!mkdir(in_scratch("nowhere.saving"), 0700));
  CHECK(jfl_checkpoint_load(s, in_scratch("nowhere/"), 0, &r) == JFL_EIO && says("cut short"));
  CHECK(!mkdir(in_scratch("nothing"), 0700));
  CHECK(jfl_checkpoint_load(s, in_scratch("nothing"), 0, &r) == JFL_EDATA);
  CHECK_SAYS("got none of them");
  put_file(in_scratch("plain"), "x", 1);
  CHECK(jfl_checkpoint_load(s, in_scratch("plain"), 0, &r) == JFL_EIO && says("got a file"));
  jfl_session_free(s);
}

/* ---- OneFlow's layout ---- */

static void put_oneflow(const char *dir, const char *meta, float value)
{
  float data[15];
  char path[PATH_MAX];
  for (int i = 0; i < 15; i++) data[i] = value;
  mkdir(dir, 0700);
  snprintf(path, sizeof path, "%s/out", dir);
  put_file(path, data, sizeof data);
  snprintf(path, sizeof path, "%s/meta", dir);
  if (meta) put_file(path, meta, strlen(meta));
}

static void reads_oneflow(void)
{
  jfl_session *s = new_session();
  jfl_report *r;
  jfl_variable_spec nested = { .name = "a/b", .dtype = JFL_F32, .shape = { 1, { 15 } } };
  add_var(s, scratch_vars[0], 0);
  add_var(s, nested, 0);
  mkdir(in_scratch("of"), 0700);
  mkdir(in_scratch("of/a"), 0700);
  put_file(in_scratch("of/snapshot_done"), "", 0);
  put_oneflow(in_scratch("of/dense1-weight"), "shape {\n  dim: 3\n  dim: 5\n}\ndata_type: kFloat\n",
              6);
  put_oneflow(in_scratch("of/dense1-weight-momentum"), "shape { dim: 15 } data_type: kFloat", 1);
  put_oneflow(in_scratch("of/tensor-m"), NULL, 1);
  put_oneflow(in_scratch("of/a/b"), NULL, 6);
  CHECK_MSG(jfl_checkpoint_load(s, in_scratch("of"), 0, &r) == JFL_OK, "%s", jfl_errmsg());
  CHECK(filled_with(s) == 6 && jfl_report_count(r) == 4);
  CHECK(find(r, "dense1-weight-momentum", JFL_UNEXPECTED, 1));
  CHECK(find(r, "tensor-m", JFL_UNEXPECTED, 0));
  jfl_report_free(r);
  jfl_session_free(s);
}

static void reads_one_variable_of_oneflow(void)
{
  jfl_array *a;
  mkdir(in_scratch("single"), 0700);
  mkdir(in_scratch("single/w"), 0700);
  put_oneflow(in_scratch("single/w"), "shape { dim: 5 dim: 3 } data_type: kFloat", 2);
  put_oneflow(in_scratch("single/v"), "nonsense", 2);
  jfl_checkpoint *c = open_scratch("single/w");
  CHECK(jfl_checkpoint_about(c) == JFL_SINGLE && jfl_checkpoint_count(c) == 1);
  CHECK(jfl_checkpoint_read(c, 0, JFL_F32, NULL, &a) == JFL_OK);
  CHECK(jfl_array_shape(a)->d[0] == 5 && *(float *)jfl_array_data(a) == 2);
  jfl_array_unref(a);
  jfl_checkpoint_close(c);
}

static void tells_an_unfinished_oneflow(void)
{
  mkdir(in_scratch("half"), 0700);
  put_oneflow(in_scratch("half/w"), NULL, 2);
  jfl_checkpoint *c = open_scratch("half");
  CHECK(jfl_checkpoint_about(c) == JFL_UNFINISHED);
  jfl_checkpoint_close(c);
  put_file(in_scratch("half/snapshot_done"), "", 0);
  c = open_scratch("half");
  CHECK(jfl_checkpoint_about(c) == 0);
  jfl_checkpoint_close(c);
  unlink(in_scratch("half/w/out"));
  put_file(in_scratch("half/w/meta"), "x", 1);
  CHECK(jfl_checkpoint_open(in_scratch("half"), &c) == JFL_EDATA);
  CHECK_SAYS("half/w: has a meta, but the file out is missing");
}

/* Neither what a link leads to nor what is swapped in for a directory after it was opened is
   read. */
static void follows_no_link_out_of_oneflow(void)
{
  jfl_checkpoint *c;
  jfl_array *a;
  const jfl_shape shape = { 1, { 15 } };
  const char *w = in_scratch("links/w");
  mkdir(in_scratch("links"), 0700);
  mkdir(in_scratch("links/a"), 0700);
  put_oneflow(w, NULL, 2);
  put_oneflow(in_scratch("links/a/b"), NULL, 3);
  put_oneflow(in_scratch("outside"), "shape { dim: 15 } data_type: kFloat", 9);
  CHECK(!symlink("../outside", in_scratch("links/linked")));
  c = open_scratch("links");
  CHECK(jfl_checkpoint_count(c) == 2);
  CHECK(jfl_checkpoint_read(c, 0, JFL_F32, &shape, &a) == JFL_OK);
  CHECK(*(float *)jfl_array_data(a) == 3);
  jfl_array_unref(a);
  CHECK(!rename(in_scratch("links/a"), in_scratch("links/old")));
  CHECK(!mkdir(in_scratch("hidden"), 0700) && !symlink("../hidden", in_scratch("links/a")));
  put_oneflow(in_scratch("hidden/b"), NULL, 9);
  CHECK(jfl_checkpoint_read(c, 0, JFL_F32, &shape, &a) == JFL_EIO);
  jfl_checkpoint_close(c);
  CHECK(!symlink("../../outside/meta", in_scratch("links/w/meta")));
  CHECK(jfl_checkpoint_open(in_scratch("links"), &c) == JFL_EDATA);
  CHECK_SAYS("links/w/meta: must be a file, got a link");
  CHECK(!unlink(in_scratch("links/w/meta")) && !unlink(in_scratch("links/w/out")));
  CHECK(!symlink("../../outside/out", in_scratch("links/w/out")));
  CHECK(jfl_checkpoint_open(in_scratch("links"), &c) == JFL_EDATA);
  CHECK_SAYS("links/w/out: must be a file, got a link; links in a checkpoint are not followed");
}

/* The directory that the user names may be a link. */
static void a_link_to_oneflow_is_followed(void)
{
  jfl_array *a;
  mkdir(in_scratch("real"), 0700);
  put_oneflow(in_scratch("real/w"), "shape { dim: 15 } data_type: kFloat", 2);
  CHECK(!symlink("real", in_scratch("to_all")) && !symlink("real/w", in_scratch("to_one")));
  jfl_checkpoint *c = open_scratch("to_all");
  CHECK(jfl_checkpoint_count(c) == 1);
  jfl_checkpoint_close(c);
  c = open_scratch("to_one");
  CHECK(jfl_checkpoint_about(c) == JFL_SINGLE);
  CHECK(jfl_checkpoint_read(c, 0, JFL_F32, NULL, &a) == JFL_OK);
  CHECK(*(float *)jfl_array_data(a) == 2);
  jfl_array_unref(a);
  jfl_checkpoint_close(c);
}

static void names_a_dtype_that_it_lacks(void)
{
  jfl_array *a;
  mkdir(in_scratch("odd"), 0700);
  put_oneflow(in_scratch("odd/w"), "shape { dim: 60 } data_type: kChar", 2);
  jfl_checkpoint *c = open_scratch("odd");
  CHECK(jfl_checkpoint_read(c, 0, JFL_F32, &(jfl_shape){ 1, { 60 } }, &a) == JFL_EDTYPE);
  CHECK_SAYS("w is of dtype kChar, which jfl does not have");
  jfl_checkpoint_close(c);
}

static void check_oneflow(const char *meta, jfl_status want, const char *text)
{
  jfl_session *s = new_session();
  jfl_report *r;
  add_var(s, scratch_vars[0], 1);
  mkdir(in_scratch("bad_of"), 0700);
  put_oneflow(in_scratch("bad_of/dense1-weight"), meta, 2);
  CHECK(jfl_checkpoint_load(s, in_scratch("bad_of"), 0, &r) == want);
  CHECK_SAYS(text);
  CHECK(filled_with(s) == 1);
  jfl_session_free(s);
}

static void refuses_oneflow_that_does_not_fit(void)
{
  check_oneflow("shape { dim: 5 dim: 3 } data_type: kFloat", JFL_ESHAPE,
                "got float32 (5, 3) in the file");
  check_oneflow("shape { dim: 15 } data_type: kInt32", JFL_EDTYPE, "got int32 (15) in the file");
  check_oneflow("shape { dim: 15 } data_type: kOFRecord", JFL_EDTYPE,
                "must be float32 (3, 5)");
  check_oneflow("shape { dim: 14 } data_type: kFloat", JFL_EDATA, "does not fill the 60 bytes");
  check_oneflow("shape { dim: 4611686018427387904 dim: 4611686018427387904 } data_type: kChar",
                JFL_EDATA, "does not fill the 60 bytes");
  check_oneflow("shape { dim: 0 dim: 4611686018427387904 dim: 4611686018427387904 } data_type: "
                "kFloat", JFL_EDATA, "does not fill the 60 bytes");
  check_oneflow("shape { dim: 15 }", JFL_EDATA, "must have a shape and a data_type");
  check_oneflow("shape { dim: x } data_type: kFloat", JFL_EDATA,
                "must have a shape and a data_type");
  put_file(in_scratch("bad_of/dense1-weight/out"), "1234", 4);
  unlink(in_scratch("bad_of/dense1-weight/meta"));
  jfl_session *s = new_session();
  jfl_report *r;
  add_var(s, scratch_vars[0], 1);
  CHECK(jfl_checkpoint_load(s, in_scratch("bad_of"), 0, &r) == JFL_ESHAPE);
  CHECK_SAYS("got 4 bytes in the file");
  jfl_session_free(s);
}

int main(void)
{
  scratch_make();
  RUN(keeps_variables_and_counters);
  RUN(keeps_a_seed_that_the_user_chose);
  RUN(keeps_any_name);
  RUN(refuses_a_name_that_is_not_utf8);
  RUN(keeps_notes);
  RUN(reads_without_a_session);
  RUN(writes_arrays);
  RUN(loads_what_begins_with_a_prefix);
  RUN(removes_what_it_wrote);
  RUN(makes_missing_parents);
  RUN(fills_an_empty_directory);
  RUN(replaces_only_when_told);
  RUN(leaves_a_file_in_the_way);
  RUN(refuses_a_second_save_at_once);
  RUN(reuses_what_a_crash_left);
  RUN(reports_names_that_differ);
  RUN(counts_runs_of_jobs_that_come_later);
  RUN(strict_loading_lets_optimizer_state_be);
  RUN(strict_loading_lists_names);
  RUN(a_mismatch_changes_nothing);
  RUN(a_missing_directory_is_named);
  RUN(reads_oneflow);
  RUN(reads_one_variable_of_oneflow);
  RUN(tells_an_unfinished_oneflow);
  RUN(follows_no_link_out_of_oneflow);
  RUN(a_link_to_oneflow_is_followed);
  RUN(names_a_dtype_that_it_lacks);
  RUN(refuses_oneflow_that_does_not_fit);
  return test_done();
}
