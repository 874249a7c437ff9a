/* src/checkpoint/safetensors.c: reads files that are complete, cut, and wrong in every way in which
   a header can be. */
#include "scratch.h"
#include "test.h"

static int says(const char *what) { return strstr(jfl_errmsg(), what) != NULL; }

static const char *dir_of_file(void) { return in_scratch("format"); }
static const char *file(void) { return in_scratch("format/model.safetensors"); }

/* Writes a file with that header and n bytes of data, where byte i is i. */
static void put_model(const char *header, size_t n)
{
  char buf[4096];
  size_t h = strlen(header);
  for (int i = 0; i < 8; i++) buf[i] = (char)(h >> 8 * i);
  memcpy(buf + 8, header, h);
  for (size_t i = 0; i < n; i++) buf[8 + h + i] = (char)i;
  mkdir(dir_of_file(), 0700);
  put_file(file(), buf, 8 + h + n);
}

static jfl_status load_into(jfl_session *s)
{
  jfl_report *r;
  jfl_status st = jfl_checkpoint_load(s, dir_of_file(), 0, &r);
  if (st == JFL_OK) jfl_report_free(r);
  return st;
}

/* Loads into a session that has the int32 (3) variable x. */
static jfl_status load_x(void)
{
  jfl_session *s = new_session();
  add_var(s, (jfl_variable_spec){ .name = "x", .dtype = JFL_I32, .shape = { 1, { 3 } } }, 1);
  jfl_status st = load_into(s);
  if (st != JFL_OK && filled_with(s) != 1) abort();
  jfl_session_free(s);
  return st;
}

#define GOOD "\"x\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[0,12]}"

static void takes_files_of_others(void)
{
  static const struct { const char *header; size_t n; } good[] = {
    { "{" GOOD "}", 12 }, { "{" GOOD "}   ", 12 }, { "{}", 0 },
    { "{\"__metadata__\":{\"format\":\"pt\",\"seed\":\"none\"}," GOOD "}", 12 },
    { "{\"x\":{\"data_offsets\":[4,16],\"shape\":[3],\"extra\":[{}],\"dtype\":\"I32\"},"
      "\"y\":{\"dtype\":\"BOOL\",\"shape\":[2,2],\"data_offsets\":[0,4]}}", 16 },
    { "{" GOOD ",\"none\":{\"dtype\":\"F32\",\"shape\":[0,4],\"data_offsets\":[12,12]}}", 12 },
    { "{" GOOD ",\"scalar\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[12,13]}}", 13 },
    { "{" GOOD ",\"___metadata__\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[12,13]}}", 13 },
  };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    put_model(good[i].header, good[i].n);
    CHECK_MSG(load_x() == JFL_OK, "%s: %s", good[i].header, jfl_errmsg());
  }
}

static void a_scalar_loads_as_one_element(void)
{
  jfl_session *s = new_session();
  add_var(s, (jfl_variable_spec){ .name = "x", .dtype = JFL_U8, .shape = { 1, { 1 } } }, 1);
  put_model("{\"x\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]}}", 1);
  CHECK(load_into(s) == JFL_OK && filled_with(s) == 0);
  jfl_session_free(s);
}

static void refuses_headers_that_lie(void)
{
#define T(name, fields) "{\"" name "\":{" fields "}}"
#define D "\"dtype\":\"I32\","
#define S "\"shape\":[3],"
#define O "\"data_offsets\":[0,12]"
  static const struct { const char *header; size_t n; const char *text; } bad[] = {
    { "", 0, "no safetensors file, or one cut at byte 8" },
    { "[]", 0, "no safetensors file, or a damaged one" },
    { "{}x", 0, "byte 10: the end of the text must follow" },
    { "{" GOOD "}", 11, "cut at byte 74: tensor x ends 1 bytes further" },
    { "{" GOOD "}", 13, "byte 75: 1 bytes after the last tensor" },
    { "{" GOOD "," GOOD "}", 12, "tensor x overlaps the one before" },
    { "{" GOOD ",\"x\":{" D S "\"data_offsets\":[12,24]}}", 24, "tensor x occurs twice" },
    { "{" GOOD ",\"y\":{" D S "\"data_offsets\":[11,23]}}", 23,
      "tensor y overlaps the one before" },
    { "{" GOOD ",\"y\":{" D S "\"data_offsets\":[13,25]}}", 25, "tensor y leaves a gap before it" },
    { T("x", S O), 12, "tensor x must have dtype, shape and data_offsets" },
    { T("x", D O), 12, "tensor x must have dtype, shape and data_offsets" },
    { T("x", D "\"shape\":[3]"), 12, "tensor x must have dtype, shape and data_offsets" },
    { T("x", D D S O), 12, "tensor x: dtype occurs twice" },
    { T("x", D "\"shape\":[4]," O), 12, "tensor x: 12 bytes do not hold int32 (4)" },
    { T("x", D "\"shape\":[3,0]," O), 12, "tensor x: 12 bytes do not hold int32 (3, 0)" },
    { T("x", D "\"shape\":[4611686018427387904,4,3]," O), 12, "do not hold" },
    { T("x", D "\"shape\":[9223372036854775808]," O), 12, "shape must have at most 8 dimensions" },
    { T("x", D "\"shape\":[4611686018427387904,4611686018427387904,0],\"data_offsets\":[0,0]"), 0,
      "shape must have at most 2^47 elements, got (4611686018427387904, 4611686018427387904, 0)" },
    { T("x", "\"dtype\":\"C64\",\"shape\":[4611686018427387904,4611686018427387904]," O), 12,
      "shape must have at most 2^47 elements" },
    { T("x", D "\"shape\":[1,1,1,1,1,1,1,1,3]," O), 12, "shape must have at most 8 dimensions" },
    { T("x", D "\"shape\":[-3]," O), 12, "a whole number must follow, got '-'" },
    { T("x", D "\"shape\":3," O), 12, "an array must follow, got '3'" },
    { T("x", "\"dtype\":4," S O), 12, "a string must follow, got '4'" },
    { T("x", D S "\"data_offsets\":[12,0]"), 12, "data_offsets must be [first, last]" },
    { T("x", D S "\"data_offsets\":[0,12,12]"), 12, "data_offsets must be [first, last]" },
    { T("x", D S "\"data_offsets\":[0]"), 12, "a whole number must follow" },
    { T("x", D S "\"data_offsets\":[18446744073709551604,18446744073709551615]"), 12,
      "cut at byte" },
    { "{\"x\":[]}", 0, "an object must follow, got '['" },
    { "{\"__metadata__\":{\"a\":1}}", 0, "a string must follow, got '1'" },
    { "{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}", 0, "metadata a occurs twice" },
    { "{\"__metadata__\":{\"format\":\"jfl\",\"seed\":\"-1\"}," GOOD "}", 12,
      "metadata seed must be a whole number, got \"-1\"" },
    { "{\"__metadata__\":{\"format\":\"jfl\",\"eager_calls\":\"99999999999999999999\"}," GOOD "}",
      12, "metadata eager_calls must be a whole number" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    put_model(bad[i].header, bad[i].n);
    CHECK_MSG(load_x() == JFL_EDATA && says(bad[i].text), "%s: %s", bad[i].header, jfl_errmsg());
    CHECK_MSG(says("format/model.safetensors: ") || says("format: metadata"), "%s", jfl_errmsg());
  }
}

static void refuses_a_newer_version(void)
{
  put_model("{\"__metadata__\":{\"format\":\"jfl\",\"version\":\"2\"}," GOOD "}", 12);
  CHECK_MSG(load_x() == JFL_ENOSYS && says("its version must be at most 1, got 2"), "%s",
            jfl_errmsg());
}

static void refuses_lengths_beyond_the_file(void)
{
  static const unsigned char cases[][9] = {
    { 2, 0, 0, 0, 0, 0, 0, 0, '{' }, { 255, 255, 255, 255, 255, 255, 255, 255, '{' },
    { 0, 225, 245, 5, 0, 0, 0, 0, '{' }, { 1, 225, 245, 5, 0, 0, 0, 0, '{' },
  };
  static const char *const texts[] = {
    "damaged: cut at byte 9: the header ends at byte 10", "no safetensors file, or a damaged one",
    "the header ends at byte 100000008",
    "it must begin with 8 bytes that hold a length of at most 100000000",
  };
  mkdir(dir_of_file(), 0700);
  for (int i = 0; i < 4; i++) {
    put_file(file(), cases[i], sizeof cases[i]);
    CHECK_MSG(load_x() == JFL_EDATA && says(texts[i]), "%s", jfl_errmsg());
  }
}

static void refuses_what_is_no_file(void)
{
  scratch_clear(dir_of_file());
  mkdir(dir_of_file(), 0700);
  mkdir(file(), 0700);
  CHECK_MSG(load_x() == JFL_EDATA && says("must be a regular file"), "%s", jfl_errmsg());
  rmdir(file());
  CHECK(!mkfifo(file(), 0600));
  CHECK_MSG(load_x() == JFL_EDATA && says("must be a regular file"), "%s", jfl_errmsg());
  unlink(file());
}

/* ---- files of our own, damaged ---- */

static char *own_file(size_t *n)
{
  scratch_clear(dir_of_file());
  if (save_value(1, dir_of_file(), 0)) abort();
  return get_file(file(), n);
}

static void aligns_what_it_writes(void)
{
  size_t n;
  char *text = own_file(&n);
  jf_source s;
  CHECK(jf_source_open(dir_of_file(), &s) == JFL_OK && s.n_tensor == N_VARS);
  for (int i = 0; i < s.n_tensor; i++)
    CHECK(s.tensor[i].begin % jfl_dtype_size(s.tensor[i].dtype) == 0);
  CHECK(n > 8 && text[0] % 8 == 0 && text[8] == '{');
  jf_source_close(&s);
  free(text);
}

static void refuses_a_file_cut_at_any_byte(void)
{
  size_t n;
  char *text = own_file(&n);
  jfl_session *s = full_session(9);
  for (size_t i = 0; i < n; i++) {
    put_file(file(), text, i);
    CHECK_MSG(load_into(s) == JFL_EDATA && says("cut at byte"), "%zu: %s", i, jfl_errmsg());
  }
  CHECK(filled_with(s) == 9 && s->jobs->run == 9);
  put_file(file(), text, n);
  CHECK(load_into(s) == JFL_OK && filled_with(s) == 1);
  jfl_session_free(s);
  free(text);
}

/* Either the whole file is refused and nothing changes, or the file still makes sense. */
static void survives_random_bytes(void)
{
  enum { ROUNDS = 5000 };
  size_t n;
  char *text = own_file(&n), *bad = malloc(n);
  size_t header = 8 + (size_t)(unsigned char)text[0] + 256 * (size_t)(unsigned char)text[1];
  jfl_session *s = full_session(9);
  int loaded = 0;
  for (uint64_t i = 0; i < ROUNDS; i++) {
    jf_philox r = jf_philox_at(7, 0, i);
    memcpy(bad, text, n);
    for (uint32_t k = 0; k <= r.w[0] % 3; k++) bad[r.w[k + 1] % header] = (char)(r.w[k + 1] >> 24);
    put_file(file(), bad, n);
    if (load_into(s) != JFL_OK) {
      CHECK_MSG(filled_with(s) == 9, "round %llu", (unsigned long long)i);
      continue;
    }
    loaded++;
    jfl_session_free(s);
    s = full_session(9);
  }
  CHECK_MSG(loaded > 0 && loaded < ROUNDS, "%d loaded", loaded);
  jfl_session_free(s);
  free(bad);
  free(text);
}

int main(void)
{
  scratch_make();
  RUN(takes_files_of_others);
  RUN(a_scalar_loads_as_one_element);
  RUN(refuses_headers_that_lie);
  RUN(refuses_a_newer_version);
  RUN(refuses_lengths_beyond_the_file);
  RUN(refuses_what_is_no_file);
  RUN(aligns_what_it_writes);
  RUN(refuses_a_file_cut_at_any_byte);
  RUN(survives_random_bytes);
  return test_done();
}
