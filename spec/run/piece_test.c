/* Variables that lie in shards on several devices: what each device has, that whole tensors go in
   and come out, and that checkpoints do not tell how they lay. */
#include "scratch.h"
#include "test.h"

/* How a variable lies in a test. */
typedef struct lying { const char *devices; jfl_distribution d; } lying;

static const lying ways[] = {
  { "sim 0:0-1", { JFL_BROADCAST, 0 } }, { "sim 0:0-1", { JFL_SPLIT, 0 } },
  { "sim 0:0-2", { JFL_SPLIT, 0 } },     { "sim 0:0-2", { JFL_SPLIT, 1 } },
  { "sim 0:0-3", { JFL_SPLIT, 2 } },     { "sim:1", { JFL_BROADCAST, 0 } },
};
enum { N_WAYS = sizeof ways / sizeof *ways, N = 7 * 5 * 6 };

static const jfl_variable_spec normal = { .name = "w", .shape = { 3, { 7, 5, 6 } },
                                          .init = JFL_INIT_NORMAL, .b = 1, .trainable = 1 };

static jf_var *lay(jfl_session *s, const lying *l, const jfl_variable_spec *spec)
{
  jf_var *v;
  int place;
  if (jf_session_group(s, l->devices, &place) || jf_var_new(s, spec, place, l->d, &v) ||
      jf_session_add_var(s, v))
    abort();
  return v;
}

static jfl_session *seeded(void)
{
  jfl_session *s = new_session();
  s->seed = 5;
  return s;
}

/* The variable as it is on one device. */
static void alone(float *out)
{
  jfl_session *s = seeded();
  jf_var *v = lay(s, &(lying){ "cpu:0", { JFL_BROADCAST, 0 } }, &normal);
  CHECK(v->n_shard == 1 && jf_var_data(v) && !jf_var_read(v, out));
  jfl_session_free(s);
}

static void initial_values_are_those_of_one_device(void)
{
  float want[N], got[N];
  alone(want);
  for (int i = 0; i < N_WAYS; i++) {
    jfl_session *s = seeded();
    const jf_var *v = lay(s, &ways[i], &normal);
    memset(got, 0, sizeof got);
    CHECK(!jf_var_read(v, got));
    CHECK_MSG(!memcmp(got, want, sizeof got), "way %d", i);
    jfl_session_free(s);
  }
}

static void each_device_has_its_part(void)
{
  float values[N], part[N];
  jfl_session *s = new_session();
  jf_var *v = lay(s, &ways[3], &normal);      /* 5 on 3 devices: 2, 2 and 1 */
  for (int i = 0; i < N; i++) values[i] = (float)i;
  CHECK(v->n_shard == 3 && !jf_var_write(v, values));
  for (int m = 0; m < 3; m++) {
    const jf_var_shard *p = jf_var_shard_of(v, -1, m);
    const int n = m < 2 ? 2 : 1;
    CHECK(p->shape.d[0] == 7 && p->shape.d[1] == n && p->shape.d[2] == 6);
    CHECK(p->site->device->index == m);
    CHECK(!jf_site_get(p->site, part, p->storage->data, (size_t)(7 * n * 6) * sizeof *part));
    for (int i = 0; i < 7 * n * 6; i++) {
      const int row = i / (n * 6), rest = i % (n * 6);
      CHECK(part[i] == values[row * 30 + m * 12 + rest]);
    }
  }
  jfl_session_free(s);
}

static void what_is_written_is_read(void)
{
  for (int i = 0; i < N_WAYS; i++) {
    float values[N], got[N] = { 0 };
    jfl_session *s = new_session();
    jf_var *v = lay(s, &ways[i], &normal);
    for (int k = 0; k < N; k++) values[k] = (float)k;
    void *contents = jf_new_raw(sizeof values);
    CHECK(!jf_var_write(v, values) && !jf_var_read(v, got));
    CHECK_MSG(!memcmp(got, values, sizeof got), "way %d", i);
    for (int k = 0; k < N; k++) values[k] = (float)-k;
    memcpy(contents, values, sizeof values);
    CHECK(!jf_var_pack(v, &contents) && !jf_var_store(v, contents) && !jf_var_read(v, got));
    CHECK_MSG(!memcmp(got, values, sizeof got), "way %d", i);
    jf_free(contents);
    jfl_session_free(s);
  }
}

/* Pieces of a filter may be in different forms, as devices want them. */
static void pieces_are_packed_each_in_its_form(void)
{
  enum { FILTERS = 32 * 16 * 3 * 3 };
  static float values[FILTERS], got[FILTERS];
  const jfl_variable_spec filter = { .name = "filter", .shape = { 4, { 32, 16, 3, 3 } } };
  const jfl_distribution each[] = { { JFL_BROADCAST, 0 }, { JFL_SPLIT, 0 }, { JFL_SPLIT, 1 } };
  for (int i = 0; i < FILTERS; i++) values[i] = (float)i;
  for (int k = 0; k < 6; k++) {
    jfl_session *s = new_session();
    jf_var *v;
    int place;
    CHECK(!jf_session_group(s, "sim 0:0-1", &place));
    CHECK(!jf_var_new(s, &filter, place, each[k % 3], &v));
    v->shard[0].packing = (jf_packing){ JF_PACKED, 8 };
    if (k >= 3) v->shard[1].packing = v->shard[0].packing;
    CHECK(!jf_session_add_var(s, v) && !jf_var_write(v, values));
    memset(got, 0, sizeof got);
    CHECK(!jf_var_read(v, got));
    CHECK_MSG(!memcmp(got, values, sizeof got), "%d", k);
    jfl_session_free(s);
  }
}

static void devices_that_occur_twice_share_what_is_whole(void)
{
  jfl_session *s = new_session();
  jf_site *a, *b;
  jf_var *v;
  int place;
  CHECK(!jf_session_site(s, "sim:0", &a) && !jf_session_site(s, "sim:1", &b));
  const jf_group_member four[] = { { 0, a->place }, { 0, a->place }, { 0, b->place },
                                   { 0, b->place } };
  CHECK(!jf_session_group_of(s, "twice", a->device->kind, four, 4, &place));
  CHECK(!jf_var_new(s, &normal, place, JF_ON_ALL, &v));
  CHECK(v->n_shard == 2 && jf_var_shard_of(v, b->place, 3) == &v->shard[1]);
  jf_var_free(v);
  CHECK(!jf_var_new(s, &normal, place, JF_ALONG(0), &v));
  CHECK(v->n_shard == 4 && jf_var_shard_of(v, b->place, 3)->site == b);
  jf_var_free(v);
  jfl_session_free(s);
}

/* The file is the same, and so is what is loaded on other devices. */
static void checkpoints_do_not_tell_how_variables_lie(void)
{
  float want[N], got[N];
  size_t n = 0, n_first = 0;
  char *first = NULL;
  alone(want);
  for (int i = 0; i < N_WAYS; i++) {
    char path[32], file[64];
    jfl_session *s = seeded(), *t = new_session();
    jfl_report *r;
    snprintf(path, sizeof path, "way%d", i);
    snprintf(file, sizeof file, "way%d/" JF_MODEL_FILE, i);
    lay(s, &ways[i], &normal);
    const jf_var *other = lay(t, &ways[(i + 2) % N_WAYS], &normal);
    CHECK_MSG(!jfl_checkpoint_save(s, in_scratch(path), 0), "%s", jfl_errmsg());
    char *text = get_file(in_scratch(file), &n);
    if (first) CHECK_MSG(n == n_first && !memcmp(text, first, n), "way %d", i);
    if (first) free(text);
    else first = text, n_first = n;
    CHECK_MSG(!jfl_checkpoint_load(t, in_scratch(path), 1, &r), "%s", jfl_errmsg());
    jfl_report_free(r);
    CHECK(!jf_var_read(other, got) && !memcmp(got, want, sizeof got));
    jfl_session_free(s);
    jfl_session_free(t);
  }
  free(first);
}

/* A load that fails leaves every shard as it was. */
static void a_load_that_fails_changes_no_piece(void)
{
  float want[N], got[N];
  jfl_report *r;
  jfl_session *s = seeded(), *t = new_session();
  jfl_variable_spec wrong = { .name = "z", .shape = { 1, { 3 } } };
  lay(s, &ways[1], &normal);
  lay(s, &(lying){ "sim 0:0-1", { JFL_SPLIT, 0 } }, &wrong);
  CHECK(!jfl_checkpoint_save(s, in_scratch("wrong"), 0));
  jf_var *v = lay(t, &ways[2], &normal);
  wrong.shape.d[0] = 4;
  lay(t, &(lying){ "sim 0:0-1", { JFL_SPLIT, 0 } }, &wrong);
  CHECK(!jf_var_read(v, want));
  CHECK(jfl_checkpoint_load(t, in_scratch("wrong"), 0, &r) == JFL_ESHAPE);
  CHECK(!jf_var_read(v, got) && !memcmp(got, want, sizeof got));
  jfl_session_free(s);
  jfl_session_free(t);
}

int main(void)
{
  scratch_make();
  RUN(initial_values_are_those_of_one_device);
  RUN(each_device_has_its_part);
  RUN(what_is_written_is_read);
  RUN(pieces_are_packed_each_in_its_form);
  RUN(devices_that_occur_twice_share_what_is_whole);
  RUN(checkpoints_do_not_tell_how_variables_lie);
  RUN(a_load_that_fails_changes_no_piece);
  return test_done();
}
