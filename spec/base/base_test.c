/* src/base: messages, memory, shapes, text, random bits, the parallel loop. */
#include "base/base.h"
#include "test.h"

#include <pthread.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The host's memory: bytes in use, and how many more blocks it gives (-1: no limit). */
static struct { size_t live; int left; } host = { 0, -1 };

static void *host_alloc(void *ud, size_t size)
{
  (void)ud;
  if (!host.left) return NULL;
  if (host.left > 0) host.left--;
  void *p = malloc(size);
  if (p) host.live += size;
  return p;
}

static void host_free(void *ud, void *p, size_t size)
{
  (void)ud;
  host.live -= size;
  free(p);
}

static int says(const char *text) { return strstr(jfl_errmsg(), text) != NULL; }

static void messages_are_kept_and_prefixed(void)
{
  CHECK(jf_fail(JFL_ESHAPE, "x: got %d", 3) == JFL_ESHAPE);
  CHECK(!strcmp(jfl_errmsg(), "x: got 3"));
  CHECK(jf_blame(JFL_ESHAPE, "job '%s': ", "a") == JFL_ESHAPE);
  CHECK(!strcmp(jfl_errmsg(), "job 'a': x: got 3"));
  CHECK(jf_fail(JFL_EINVAL, "again: %s", jfl_errmsg()) == JFL_EINVAL);
  CHECK(!strcmp(jfl_errmsg(), "again: job 'a': x: got 3"));
}

/* Whether that part of this thread's error is the text; with NULL, whether there is no such
   part. */
static int part_is(jfl_part part, const char *text)
{
  const char *got = jfl_error_part(part);
  return text && got ? !strcmp(got, text) : text == got;
}

static void an_error_is_told_in_parts(void)
{
  CHECK(jf_fail_argument(JFL_EDTYPE, "x", "must be %s, got %s", "int8", "int32") == JFL_EDTYPE);
  CHECK(jfl_error_code() == JFL_EDTYPE && part_is(JFL_ERROR_ARGUMENT, "x"));
  CHECK(part_is(JFL_ERROR_TEXT, "must be int8, got int32"));
  CHECK(part_is(JFL_ERROR_JOB, NULL) && part_is(JFL_ERROR_NODE, NULL) &&
        part_is(JFL_ERROR_OP, NULL));
  CHECK(!strcmp(jfl_errmsg(), "x must be int8, got int32"));
  CHECK(jf_fail_in(JFL_EDTYPE, JFL_ERROR_OP, "add") == JFL_EDTYPE);
  CHECK(!strcmp(jfl_errmsg(), "add: x must be int8, got int32"));
  jf_fail_in(JFL_EDTYPE, JFL_ERROR_NODE, "add_1");
  jf_fail_in(JFL_EDTYPE, JFL_ERROR_JOB, "train");
  CHECK(!strcmp(jfl_errmsg(), "train: add_1: x must be int8, got int32"));
  CHECK(part_is(JFL_ERROR_OP, "add") && part_is(JFL_ERROR_NODE, "add_1"));
  CHECK(part_is(JFL_ERROR_LINE, NULL));
  CHECK(jf_fail_in(JFL_EDTYPE, JFL_ERROR_LINE, NULL) == JFL_EDTYPE);
  jf_fail_in(JFL_EDTYPE, JFL_ERROR_LINE, "net.lua:7");
  jf_fail_in(JFL_EDTYPE, JFL_ERROR_LINE, "main.lua:9");
  CHECK(!strcmp(jfl_errmsg(), "train: add_1: x must be int8, got int32; see net.lua:7"));
  CHECK(part_is(JFL_ERROR_LINE, "net.lua:7") &&
        part_is(JFL_ERROR_TEXT, "must be int8, got int32"));
}

static void what_is_known_of_an_error_stays(void)
{
  jf_fail_in(jf_fail(JFL_EINVAL, "no"), JFL_ERROR_JOB, "inner");
  CHECK(jf_fail_in(JFL_EINVAL, JFL_ERROR_JOB, "outer") == JFL_EINVAL);
  CHECK(jf_fail_in(JFL_OK, JFL_ERROR_OP, "none") == JFL_OK);
  CHECK(!strcmp(jfl_errmsg(), "inner: no"));
  jf_fail_argument(JFL_EINVAL, "x", "is missing");
  jf_blame(JFL_EINVAL, "tensor %d: ", 2);
  CHECK(!strcmp(jfl_errmsg(), "tensor 2: x is missing") && part_is(JFL_ERROR_ARGUMENT, NULL));
  jf_fail(JFL_EIO, "new");
  CHECK(!strcmp(jfl_errmsg(), "new") && part_is(JFL_ERROR_JOB, NULL));
}

static void *restore(void *error)
{
  jf_error_restore(JFL_EDATA, error);
  return part_is(JFL_ERROR_JOB, "train") && !strcmp(jfl_errmsg(), "train: late") ? error : NULL;
}

static void an_error_keeps_its_parts_across_threads(void)
{
  pthread_t other;
  void *seen = NULL;
  jf_fail_in(jf_fail(JFL_EDATA, "late"), JFL_ERROR_JOB, "train");
  jf_error *e = jf_error_copy();
  CHECK(!pthread_create(&other, NULL, restore, e) && !pthread_join(other, &seen));
  CHECK(seen == e);
  jf_free(e);
  CHECK(jf_error_restore(JFL_EDATA, NULL) == JFL_EDATA && says("out of memory"));
}

static void a_long_message_is_cut(void)
{
  char text[5000];
  memset(text, 'a', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  jf_fail(JFL_EINVAL, "%s", text);
  size_t n = strlen(jfl_errmsg());
  CHECK_MSG(n > 500 && n < sizeof text && strspn(jfl_errmsg(), "a") == n, "%zu bytes", n);
  jf_blame(JFL_EINVAL, "%s", text);
  jf_fail_in(JFL_EINVAL, JFL_ERROR_JOB, text);
  CHECK(strlen(jfl_errmsg()) < sizeof text && says("a: aaaa"));
}

static void *fail_elsewhere(void *ud)
{
  jf_fail(JFL_EIO, "elsewhere");
  return says("elsewhere") ? ud : NULL;
}

static void messages_belong_to_a_thread(void)
{
  pthread_t t;
  void *said = NULL;
  jf_fail(JFL_EINVAL, "here");
  CHECK(!pthread_create(&t, NULL, fail_elsewhere, &host));
  pthread_join(t, &said);
  CHECK(said == &host && says("here"));
}

static void every_status_has_a_text(void)
{
  for (int s = 0; s < JFL_N_STATUS; s++)
    for (int t = 0; t < s; t++)
      CHECK_MSG(strcmp(jfl_status_name((jfl_status)s), jfl_status_name((jfl_status)t)), "%d %d", s,
                t);
  CHECK(jfl_status_name((jfl_status)-1) && jfl_status_name(JFL_N_STATUS));
}

static void blocks_are_zeroed_aligned_and_given_back(void)
{
  static const size_t sizes[] = { 0, 1, 63, 64, 65, 4096, 100000 };
  size_t before = host.live;
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    unsigned char *p = jf_new(sizes[i]);
    CHECK(p && (uintptr_t)p % 64 == 0);
    for (size_t k = 0; k < sizes[i]; k++)
      if (p[k]) CHECK_MSG(0, "byte %zu of %zu", k, sizes[i]);
    jf_free(p);
  }
  jf_free(NULL);
  CHECK(host.live == before);
  CHECK(!jf_new(SIZE_MAX) && !jf_new(SIZE_MAX - 70) && !jf_new_raw(SIZE_MAX / 2));
}

static void arenas_give_zeroed_memory_and_all_of_it_back(void)
{
  jmp_buf unwind;
  jf_arena a = { .unwind = &unwind };
  size_t before = host.live;
  if (setjmp(unwind)) {
    CHECK_MSG(0, "unwound");
    return;
  }
  unsigned char *last = NULL;
  for (size_t n = 0; n < 3000; n++) {
    unsigned char *p = jf_alloc(&a, n);
    CHECK((uintptr_t)p % 16 == 0 && p != last);
    for (size_t k = 0; k < n; k++)
      if (p[k]) CHECK_MSG(0, "byte %zu of %zu", k, n);
    memset(p, 0xff, n);
    last = p;
  }
  CHECK(!strcmp(jf_sprintf(&a, "%s-%d", "conv", 1), "conv-1"));
  CHECK(host.live > before);
  jf_arena_free(&a);
  CHECK(host.live == before);
}

/* Without the sanitizer nothing tells. */
static void arenas_let_sanitizers_see_what_is_beside(void)
{
#ifdef __SANITIZE_ADDRESS__
  jmp_buf unwind;
  jf_arena a = { .unwind = &unwind };
  if (setjmp(unwind)) abort();
  const jf_arena_mark before = jf_arena_now(&a);
  for (size_t n = 1; n < 3000; n++) {
    char *p = jf_alloc(&a, n);
    CHECK(!__asan_region_is_poisoned(p, n) && __asan_address_is_poisoned(p + n));
    jf_arena_back(&a, before);
    CHECK(__asan_address_is_poisoned(p));
  }
  jf_arena_free(&a);
#endif
}

static void arenas_take_back_what_was_taken_last(void)
{
  jmp_buf unwind;
  jf_arena a = { .unwind = &unwind };
  if (setjmp(unwind)) abort();
  jf_arena_back(&a, jf_arena_now(&a));
  char *kept = jf_alloc(&a, 100);
  memset(kept, 1, 100);
  const jf_arena_mark before = jf_arena_now(&a);
  for (size_t n = 100; n < 100000; n *= 10) {
    char *p = jf_alloc(&a, n);
    memset(p, 2, n);
    jf_arena_back(&a, before);
    const char *again = jf_alloc(&a, n);
    for (size_t i = 0; i < n; i++) CHECK(again[i] == 0);
    CHECK(again == p || n > 1000);
    jf_arena_back(&a, before);
  }
  for (int i = 0; i < 100; i++) CHECK(kept[i] == 1);
  jf_arena_free(&a);
}

static void an_arena_without_memory_unwinds(void)
{
  jmp_buf unwind;
  jf_arena a = { .unwind = &unwind };
  volatile int unwound = 0;
  for (volatile int size = 10; size < 100000000; size *= 10) {
    host.left = 0;
    if (setjmp(unwind)) unwound = unwound + 1;
    else jf_alloc(&a, (size_t)size);
    host.left = -1;
  }
  CHECK_MSG(unwound == 7, "%d", unwound);
  if (setjmp(unwind)) unwound = -1;
  else jf_alloc(&a, SIZE_MAX - 100);
  CHECK(unwound == -1);
  jf_arena_free(&a);
}

static void arrays_grow_with_their_contents(void)
{
  jmp_buf unwind;
  jf_arena a = { .unwind = &unwind };
  static int *v, cap;
  if (setjmp(unwind)) return;
  for (int i = 0; i < 1000; i++) {
    v = jf_grow(&a, v, i, &cap, sizeof *v);
    CHECK(cap > i);
    v[i] = i;
  }
  for (int i = 0; i < 1000; i++) CHECK(v[i] == i);
  jf_arena_free(&a);
}

static void arrays_on_the_heap_grow_or_stay(void)
{
  size_t before = host.live;
  int *v = NULL, cap = 0, n = 0;
  for (; n < 1000; n++) {
    CHECK(JF_ROOM(v, n, cap) && cap > n);
    v[n] = n;
  }
  host.left = 0;
  while (n < cap) v[n] = n, n++;
  CHECK(!JF_ROOM(v, n, cap) && cap == n);
  host.left = -1;
  for (int i = 0; i < n; i++) CHECK(v[i] == i);
  jf_free(v);
  CHECK(host.live == before);
}

static void maps_keep_every_key(void)
{
  jmp_buf unwind;
  jf_arena a = { .unwind = &unwind };
  jf_map m = {0};
  static int values[2000];
  char key[32];
  if (setjmp(unwind)) return;
  CHECK(!jf_map_get(&m, "absent"));
  for (int i = 0; i < 2000; i++) {
    snprintf(key, sizeof key, "name-%d", i);
    jf_map_put(&a, &m, key, &values[i]);
  }
  jf_map_put(&a, &m, "name-7", &values[8]);
  CHECK(m.n == 2000);
  for (int i = 0; i < 2000; i++) {
    snprintf(key, sizeof key, "name-%d", i);
    CHECK(jf_map_get(&m, key) == &values[i == 7 ? 8 : i]);
  }
  CHECK(!jf_map_get(&m, "name-2000") && !jf_map_get(&m, ""));
  jf_arena_free(&a);
}

static void maps_lose_the_keys_that_are_removed_and_no_others(void)
{
  enum { N = 300 };
  static char keys[N][16], in[N];
  jf_map m = {0};
  srand(3);
  for (int i = 0; i < N; i++) snprintf(keys[i], sizeof keys[i], "key-%d", i);
  jf_map_remove(&m, keys[0]);
  for (int round = 0; round < 5000; round++) {
    const int i = rand() % N;
    if (in[i]) jf_map_remove(&m, keys[i]);
    else CHECK(!jf_map_add(&m, keys[i], keys[i]));
    in[i] = !in[i];
    for (int k = i % 7; k < N; k += 7)
      CHECK_MSG(jf_map_get(&m, keys[k]) == (in[k] ? keys[k] : NULL), "key %d", k);
  }
  int n = 0;
  for (int i = 0; i < N; i++) n += in[i];
  CHECK(m.n == n);
  jf_map_free(&m);
}

static void maps_on_the_heap_keep_their_keys_when_memory_is_out(void)
{
  static char keys[1000][16];
  size_t before = host.live;
  jf_map m = {0};
  int n = 0;
  for (; n < 1000; n++) {
    snprintf(keys[n], sizeof keys[n], "%d", n);
    if (n == 500) host.left = 0;
    if (jf_map_add(&m, keys[n], keys[n])) break;
  }
  host.left = -1;
  CHECK_MSG(n > 500 && n < 1000 && m.n == n, "%d keys", m.n);
  for (int i = 0; i < n; i++) CHECK(jf_map_get(&m, keys[i]) == keys[i]);
  CHECK(!jf_map_get(&m, keys[n]));
  jf_map_free(&m);
  CHECK(host.live == before && !jf_map_get(&m, "1"));
}

static void dtypes_have_names_and_sizes(void)
{
  static const size_t size[JFL_N_DTYPE] = { 4, 8, 2, 2, 1, 1, 4, 8, 34, 18, 144, 210 };
  for (int t = 0; t < JFL_N_DTYPE; t++) {
    jfl_dtype back = JFL_N_DTYPE;
    CHECK(jfl_dtype_parse(jfl_dtype_name((jfl_dtype)t), &back) == JFL_OK && (int)back == t);
    CHECK(jfl_dtype_size((jfl_dtype)t) == size[t] && jf_is_float((jfl_dtype)t) == (t < 4));
  }
  jfl_dtype t = JFL_I8;
  CHECK(jfl_dtype_parse("float", &t) == JFL_OK && t == JFL_F32);
  CHECK(jfl_dtype_parse("double", &t) == JFL_OK && t == JFL_F64);
  CHECK(jfl_dtype_parse("float31", &t) == JFL_EDTYPE && t == JFL_F64);
  CHECK(says("float31") && says("int64"));
}

static void shapes_are_checked_and_printed(void)
{
  char buf[JF_SHAPE_STR];
  jfl_shape s = { 3, { 2, 3, 4 } }, other = { 2, { 2, 3 } };
  CHECK(jf_numel(&s) == 24 && jf_shape_eq(&s, &s) && !jf_shape_eq(&s, &other));
  CHECK(!strcmp(jf_shape_str(&s, buf), "(2, 3, 4)"));
  jfl_shape wide = { JFL_MAXDIM, { 0 } };
  for (int i = 0; i < wide.n; i++) wide.d[i] = INT64_MIN;
  CHECK(strlen(jf_shape_str(&wide, buf)) < sizeof buf);
  CHECK(jf_shape_check(&s, "x") == JFL_OK);
  CHECK(!jf_shape_check(&(jfl_shape){ 0 }, "x") && jf_numel(&(jfl_shape){ 0 }) == 1);
  CHECK(jf_shape_check(&(jfl_shape){ -1, { 0 } }, "x") == JFL_ESHAPE && says("x must have"));
  CHECK(jf_shape_check(&(jfl_shape){ JFL_MAXDIM + 1, { 1 } }, "x") == JFL_ESHAPE);
  const jfl_shape none = { 2, { 3, 0 } }, vast = { 3, { INT64_MAX, 0, INT64_MAX } };
  CHECK(!jf_shape_check(&none, "x") && jf_numel(&none) == 0);
  CHECK(jf_shape_check(&vast, "x") == JFL_ESHAPE && says("at most 2^47 elements"));
  CHECK(jf_shape_check(&(jfl_shape){ 2, { 3, -1 } }, "x") == JFL_ESHAPE && says("got -1"));
  CHECK(jf_shape_check(&(jfl_shape){ 2, { INT64_MAX, INT64_MAX } }, "x") == JFL_ESHAPE);
  const jfl_shape huge = { 4, { 1 << 16, 1 << 16, 1 << 16, 1 << 16 } };
  CHECK(jf_shape_check(&huge, "x") == JFL_ESHAPE);
}

static void text_grows_until_memory_is_out(void)
{
  jf_text t = {0};
  char *out = NULL;
  for (int i = 0; i < 1000; i++) jf_text_add(&t, "%d,", i % 10);
  CHECK(jf_text_take(&t, &out) == JFL_OK && strlen(out) == 2000 && !strncmp(out, "0,1,2,", 6));
  jfl_text_free(out);
  CHECK(jf_text_take(&t, &out) == JFL_OK && !*out);
  jfl_text_free(out);
  jf_text_add(&t, "kept");
  host.left = 0;
  for (int i = 0; i < 100; i++) jf_text_add(&t, "%064d", i);
  out = NULL;
  CHECK(jf_text_take(&t, &out) == JFL_ENOMEM && !out);
  host.left = -1;
}

/* Known answers of Random123's philox4x32-10. */
static void philox_gives_the_published_words(void)
{
  static const struct { uint64_t key, hi, lo; uint32_t want[4]; } known[] = {
    { 0, 0, 0, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
    { UINT64_MAX, UINT64_MAX, UINT64_MAX, { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
    { 0x299f31d0a4093822, 0x0370734413198a2e, 0x85a308d3243f6a88,
      { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
  };
  for (int i = 0; i < 3; i++) {
    jf_philox p = jf_philox_at(known[i].key, known[i].hi, known[i].lo);
    CHECK_MSG(!memcmp(p.w, known[i].want, sizeof p.w), "case %d", i);
  }
  CHECK(jf_unit(0) == 0 && jf_unit(UINT32_MAX) < 1);
}

static void hashes_depend_on_every_byte_and_the_seed(void)
{
  CHECK(jf_hash_str(0, "conv1") == jf_hash(0, "conv1", 5));
  CHECK(jf_hash_str(0, "conv1") != jf_hash_str(0, "conv2"));
  CHECK(jf_hash_str(0, "conv1") != jf_hash_str(1, "conv1"));
  CHECK(jf_hash(0, "a\0b", 3) != jf_hash(0, "a\0c", 3));
}

static void count(void *ctx, int i) { atomic_fetch_add((atomic_int *)ctx + i, 1); }

static void loops_visit_each_index_once(void)
{
  static atomic_int seen[1000];
  for (int threads = 0; threads <= 4; threads++) {
    memset(seen, 0, sizeof seen);
    jf_parallel(threads, 1000, count, seen);
    for (int i = 0; i < 1000; i++)
      if (seen[i] != 1) CHECK_MSG(0, "%d threads: index %d %d times", threads, i, seen[i]);
    jf_parallel(threads, 0, count, NULL);
  }
  CHECK(jf_cpu_count() >= 1);
}

/* ---- time ---- */

/* How often a thread is still told that it has time. */
static atomic_int looks;

static double left_of(void *ctx)
{
  (void)ctx;
  return atomic_fetch_sub(&looks, 1) > 0;
}

static int loop_of(int threads, int looks_left)
{
  static atomic_int seen[1000];
  int n = 0;
  memset(seen, 0, sizeof seen);
  atomic_store(&looks, looks_left);
  jf_parallel(threads, 1000, count, seen);
  for (int i = 0; i < 1000; i++) n += seen[i];
  return n;
}

/* And so are later ones, though there be time again, until somebody asks. */
static void loops_are_left_where_time_ends(void)
{
  jf_budget *b = jf_budget_new(0);
  jf_budget_limit(b, left_of, NULL);
  jf_budget *const before = jf_memory_charge(b);
  for (int threads = 1; threads <= 4; threads += 3) {
    const int n = loop_of(threads, 50);
    CHECK_MSG(n <= 50, "%d", n);
    CHECK(loop_of(threads, 10000) == 0 && jf_loop_ends());
    CHECK(jf_loops_whole(JFL_OK) == JFL_ELIMIT && jf_loops_whole(JFL_OK) == JFL_OK);
    CHECK(loop_of(threads, 10000) == 1000 && jf_loops_whole(JFL_OK) == JFL_OK);
  }
  jf_memory_charge(before);
  jf_budget_drop(b);
}

/* What a kernel finds wrong may be in elements that a loop has left out. */
static void time_that_ended_is_the_error_whatever_else_failed(void)
{
  jf_budget *b = jf_budget_new(0);
  jf_budget_limit(b, left_of, NULL);
  jf_budget *const before = jf_memory_charge(b);
  CHECK(loop_of(1, 50) <= 50);
  CHECK(jf_loops_whole(jf_fail(JFL_EDATA, "gather: index 7")) == JFL_ELIMIT);
  CHECK(!strcmp(jfl_errmsg(), "the script's time is over"));
  CHECK(jf_loops_whole(jf_fail(JFL_EDATA, "gather: index 8")) == JFL_EDATA);
  CHECK(!strcmp(jfl_errmsg(), "gather: index 8"));
  jf_memory_charge(before);
  jf_budget_drop(b);
}

static void loops_over_elements_look_now_and_then(void)
{
  static const int64_t sizes[] = { 1, 7, 1 << 10, 1 << 14, 1 << 20 };
  jf_budget *b = jf_budget_new(0);
  jf_budget_limit(b, left_of, NULL);
  jf_budget *const before = jf_memory_charge(b);
  for (int k = 0; k < 5; k++) {
    const int64_t m = sizes[k], n = (1 << 22) / m, most = n < 256 ? n : 256;
    atomic_store(&looks, 1000000);
    for (int64_t i = 0; i < n && !jf_loop_ends_at(i, m); i++) continue;
    const int64_t asked = 1000000 - atomic_load(&looks);
    CHECK_MSG(asked >= most && asked <= most + 1, "%lld of %lld", (long long)asked,
              (long long)most);
  }
  jf_memory_charge(before);
  jf_budget_drop(b);
}

/* Gives whether it unwound since the time is over. */
static int takes_without_end(int allocates)
{
  jmp_buf out;
  jf_arena a = { .unwind = &out };
  atomic_store(&looks, 10);
  if (!setjmp(out))
    for (;;) {
      if (allocates) jf_alloc(&a, 1000);
      else jf_arena_ask(&a);
    }
  const int late = a.late;
  jf_arena_free(&a);
  return late;
}

static void work_on_a_graph_is_left_where_time_ends(void)
{
  jf_budget *b = jf_budget_new(1 << 26);
  jf_budget_limit(b, left_of, NULL);
  jf_budget *const before = jf_memory_charge(b);
  CHECK(takes_without_end(1) && takes_without_end(0));
  jf_memory_charge(before);
  jf_budget_drop(b);
}

/* ---- sorting ---- */

typedef struct sorted { int32_t key, place; } sorted;

static int by_key_of(const void *a, const void *b)
{
  const sorted *x = a, *y = b;
  return (x->key > y->key) - (x->key < y->key);
}

/* Fills v with n keys of which few differ, and gives how often they are in order once sorted; equal
   ones must be there still, each once. */
static int sorted_pairs(sorted *v, int n)
{
  int in_order = 0;
  int64_t places = 0;
  for (int i = 0; i < n; i++)
    v[i] = (sorted){ (int32_t)(jf_philox_at(7, 0, (uint64_t)i).w[0] % 1000), i };
  if (jf_sort_in_time(v, (size_t)n, sizeof *v, by_key_of)) return -1;
  for (int i = 0; i < n; i++) places += v[i].place;
  for (int i = 1; i < n; i++) in_order += v[i - 1].key <= v[i].key;
  return places == (int64_t)n * (n - 1) / 2 ? in_order + (n > 0) : -1;
}

static void what_is_sorted_is_in_order_and_all_there(void)
{
  static const int sizes[] = { 0, 1, 2, 4095, 4096, 4097, 8192, 12289, 100000 };
  sorted *v = malloc(100000 * sizeof *v);
  for (size_t k = 0; v && k < sizeof sizes / sizeof *sizes; k++)
    CHECK_MSG(sorted_pairs(v, sizes[k]) == sizes[k], "of %d", sizes[k]);
  CHECK(jf_sort_in_time(NULL, 0, 1, by_key_of) == JFL_OK);
  free(v);
}

static void sorting_is_left_where_time_ends(void)
{
  sorted *v = calloc(100000, sizeof *v);
  jf_budget *b = jf_budget_new(0);
  jf_budget_limit(b, left_of, NULL);
  jf_budget *const before = jf_memory_charge(b);
  for (int n = 0; v && n < 60; n += 20) {
    atomic_store(&looks, n);
    CHECK(jf_sort_in_time(v, 100000, sizeof *v, by_key_of) == JFL_ELIMIT);
    CHECK(atomic_load(&looks) == -1);
  }
  jf_memory_charge(before);
  jf_budget_drop(b);
  free(v);
}

enum { LANES = 4 };

/* A loop whose lanes must not be shared, with a loop inside. */
typedef struct lanes { atomic_int busy[LANES], seen[300], shared, inner; } lanes;

static void count_one(void *ctx, int i)
{
  (void)i;
  atomic_fetch_add((atomic_int *)ctx, 1);
}

static void use_lane(void *ctx, int i, int lane)
{
  lanes *l = ctx;
  if (lane < 0 || lane >= LANES || atomic_exchange(&l->busy[lane], 1)) atomic_store(&l->shared, 1);
  atomic_fetch_add(&l->seen[i], 1);
  jf_parallel(LANES, 3, count_one, &l->inner);
  if (lane >= 0 && lane < LANES) atomic_store(&l->busy[lane], 0);
}

/* Whether such loops go well on the calling thread. */
static void *loop_often(void *out)
{
  for (int round = 0; round < 50; round++) {
    lanes l = { 0 };
    jf_parallel_workers(LANES, 300, use_lane, &l);
    int bad = l.shared || l.inner != 900;
    for (int i = 0; i < 300; i++) bad |= l.seen[i] != 1;
    if (bad) return out;
  }
  return NULL;
}

static void each_lane_is_one_thread_at_a_time(void) { CHECK(!loop_often("bad")); }

/* More callers at once than there are crews. */
static void loops_of_several_threads_do_not_mix(void)
{
  pthread_t thread[6];
  void *bad;
  for (int i = 0; i < 6; i++) CHECK(!pthread_create(&thread[i], NULL, loop_often, thread));
  for (int i = 0; i < 6; i++) CHECK(!pthread_join(thread[i], &bad) && !bad);
}

/* Counts the elements that each lane runs at the lowest priority, and takes its time. */
static void see_priority(void *ctx, int i, int lane)
{
  atomic_int *low = ctx;
  (void)i;
  if (sched_getscheduler(0) == SCHED_IDLE) atomic_fetch_add(&low[lane], 1);
  for (double end = jf_now() + 1e-4; jf_now() < end;) { }
}

/* Where other programs have the cores, a helper of low priority may take a while to get one. */
static void helpers_have_the_lowest_priority_in_the_background(void)
{
  const double end = jf_now() + 20;
  for (int round = 0; round < 3; round++) {
    atomic_int low[LANES] = { 0 };
    jf_loops_set(round == 1 ? 2 : 0, round == 1);
    do jf_parallel_workers(LANES, 100, see_priority, low);
    while (round == 1 && !low[1] && jf_now() < end);
    CHECK_MSG(low[0] == 0 && low[2] == 0 && low[3] == 0 && (low[1] > 0) == (round == 1),
              "round %d: %d, %d, %d, %d", round, low[0], low[1], low[2], low[3]);
  }
  jf_loops_set(0, 0);
}

static void a_forked_child_has_helpers_of_its_own(void)
{
  int status = 1;
  CHECK(!loop_often(&status));
  pid_t pid = fork();
  if (pid == 0) {
    alarm(300);
    _exit(loop_often(&status) != NULL);
  }
  waitpid(pid, &status, 0);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(!loop_often(&status));
}

static atomic_int is_opening;

static int open_slowly(void)
{
  atomic_store(&is_opening, 1);
  usleep(50000);
  return 1;
}

static int open_at_once(void) { return 1; }

static void *open_library(void *state)
{
  return jf_library_ready(state, open_slowly) ? state : NULL;
}

/* ---- conditions ---- */

static struct {
  pthread_mutex_t mu;
  jf_condition changed;
  int round, awake;            /* guarded by mu */
  atomic_int is_held, is_free;
} gate = { .mu = PTHREAD_MUTEX_INITIALIZER };

/* Keeps the thread that gets the signal from running on, as a busy machine does. */
static void hold(int signal)
{
  (void)signal;
  atomic_store(&gate.is_held, 1);
  for (int round = 0; !atomic_load(&gate.is_free); round++) jf_give_way(round);
}

/* Waits for a round, which it is given. */
static void *wait_for_round(void *round)
{
  pthread_mutex_lock(&gate.mu);
  while (gate.round < *(int *)round) jf_condition_wait(&gate.changed, &gate.mu);
  gate.awake++;
  pthread_mutex_unlock(&gate.mu);
  return NULL;
}

static int count_asleep(void)
{
  pthread_mutex_lock(&gate.mu);
  const int n = gate.changed.asleep;
  pthread_mutex_unlock(&gate.mu);
  return n;
}

static void begin_round(int round)
{
  pthread_mutex_lock(&gate.mu);
  gate.round = round;
  jf_condition_tell(&gate.changed);
  pthread_mutex_unlock(&gate.mu);
}

/* pthread_cond_broadcast would not return from the second round before the first thread runs. */
static void who_tells_waits_for_no_thread_that_was_woken(void)
{
  pthread_t first, second;
  signal(SIGUSR1, hold);
  CHECK(!pthread_create(&first, NULL, wait_for_round, &(int){ 1 }));
  while (count_asleep() < 1) jf_give_way(0);
  pthread_kill(first, SIGUSR1);
  while (!atomic_load(&gate.is_held)) jf_give_way(0);
  begin_round(1);
  CHECK(!pthread_create(&second, NULL, wait_for_round, &(int){ 2 }));
  while (count_asleep() < 2) jf_give_way(0);
  alarm(100);
  begin_round(2);
  alarm(0);
  CHECK(!pthread_join(second, NULL) && gate.awake == 1);
  atomic_store(&gate.is_free, 1);
  CHECK(!pthread_join(first, NULL) && gate.awake == 2 && !gate.changed.asleep);
  signal(SIGUSR1, SIG_DFL);
}

static void a_wait_ends_at_its_time(void)
{
  pthread_mutex_lock(&gate.mu);
  const double until = jf_now() + 0.01;
  while (!jf_condition_wait_until(&gate.changed, &gate.mu, until)) CHECK(!gate.changed.asleep);
  CHECK(jf_now() >= until && jf_condition_wait_until(&gate.changed, &gate.mu, 0));
  pthread_mutex_unlock(&gate.mu);
}

/* Else the child would wait for a thread that it does not have. */
static void a_fork_waits_for_a_library_that_another_thread_opens(void)
{
  static jf_library_state slow, quick;
  pthread_t thread;
  int status = 1;
  CHECK(!pthread_create(&thread, NULL, open_library, &slow));
  while (!atomic_load(&is_opening)) usleep(100);
  const pid_t pid = fork();
  if (pid == 0) {
    alarm(300);
    _exit(!jf_library_ready(&quick, open_at_once));
  }
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status));
  CHECK(!pthread_join(thread, NULL));
}

static void all_memory_came_back(void) { CHECK_MSG(!host.live, "%zu bytes", host.live); }

/* A text as it is shown, in room for `size` bytes. */
static const char *shown(const char *text, size_t size)
{
  static char room[64];
  memset(room, '?', sizeof room);
  size_t need = jfl_printable(text, strlen(text), room, size);
  CHECK(need == jfl_printable(text, strlen(text), NULL, 0));
  CHECK(size == 0 || strlen(room) <= size - 1);
  return room;
}

static void texts_are_shown_without_harm(void)
{
  CHECK(!strcmp(shown("plain, \xc3\xa9\n\t\xe2\x82\xac", 64), "plain, \xc3\xa9\n\t\xe2\x82\xac"));
  CHECK(!strcmp(shown("a\x1b[31m\x7f\r", 64), "a\\x1b[31m\\x7f\\x0d"));
  CHECK(!strcmp(shown("\xc2\x9b", 64), "\\xc2\\x9b"));            /* ESC [ in one character */
  CHECK(!strcmp(shown("\xe2\x80\xae" "x", 64), "\\xe2\\x80\\xaex"));
  CHECK(!strcmp(shown("\xff\xc3", 64), "\\xff\\xc3"));
  CHECK(!strcmp(shown("\\x1b", 64), "\\x1b"));                   /* twice is as once */
  CHECK(!strcmp(shown("abc\xe2\x82\xac", 6), "abc"));           /* no half character */
  CHECK(!strcmp(shown("abc\x1b", 7), "abc"));
  CHECK(!strcmp(shown("abc", 1), ""));
}

static void messages_are_without_harm(void)
{
  jf_fail_argument(JFL_EINVAL, "a\x1b]0;b", "must be a name, got '%s'", "\x1b[2J\xff");
  jf_fail_in(JFL_EINVAL, JFL_ERROR_JOB, "\x9b");
  jf_blame(JFL_EINVAL, "%s: ", "\x07");
  CHECK(!strcmp(jfl_errmsg(), "\\x9b: \\x07: a\\x1b]0;b must be a name, got '\\x1b[2J\\xff'"));
}

static void names_fit_files(void)
{
  char name[1200];
  memset(name, 'x', sizeof name);
  name[1000] = '\0';
  CHECK(jfl_name_check("the name", name) == JFL_OK);
  name[1000] = 'x';
  name[1001] = '\0';
  CHECK(jfl_name_check("the name", name) == JFL_ENAME);
  CHECK(strstr(jfl_errmsg(), "the name must have at most 1000 bytes, got 1001: 'xxxx"));
  CHECK(jfl_name_check("the name", "") == JFL_ENAME);
  CHECK(jfl_name_check("the name", "\xed\xa0\x80") == JFL_ENAME);
  CHECK(!strcmp(jfl_errmsg(), "the name must be UTF-8, got '\\xed\\xa0\\x80'"));
  CHECK(jfl_name_check("the name", "Gewicht \xc3\xbc") == JFL_OK);
}

int main(void)
{
  jfl_set_allocator(&(jfl_allocator){ host_alloc, host_free, NULL });
  RUN(messages_are_kept_and_prefixed);
  RUN(an_error_is_told_in_parts);
  RUN(what_is_known_of_an_error_stays);
  RUN(an_error_keeps_its_parts_across_threads);
  RUN(a_long_message_is_cut);
  RUN(messages_belong_to_a_thread);
  RUN(every_status_has_a_text);
  RUN(blocks_are_zeroed_aligned_and_given_back);
  RUN(arenas_give_zeroed_memory_and_all_of_it_back);
  RUN(arenas_let_sanitizers_see_what_is_beside);
  RUN(arenas_take_back_what_was_taken_last);
  RUN(an_arena_without_memory_unwinds);
  RUN(arrays_grow_with_their_contents);
  RUN(arrays_on_the_heap_grow_or_stay);
  RUN(maps_keep_every_key);
  RUN(maps_lose_the_keys_that_are_removed_and_no_others);
  RUN(maps_on_the_heap_keep_their_keys_when_memory_is_out);
  RUN(dtypes_have_names_and_sizes);
  RUN(shapes_are_checked_and_printed);
  RUN(text_grows_until_memory_is_out);
  RUN(philox_gives_the_published_words);
  RUN(hashes_depend_on_every_byte_and_the_seed);
  RUN(loops_visit_each_index_once);
  RUN(loops_are_left_where_time_ends);
  RUN(time_that_ended_is_the_error_whatever_else_failed);
  RUN(loops_over_elements_look_now_and_then);
  RUN(work_on_a_graph_is_left_where_time_ends);
  RUN(what_is_sorted_is_in_order_and_all_there);
  RUN(sorting_is_left_where_time_ends);
  RUN(each_lane_is_one_thread_at_a_time);
  RUN(loops_of_several_threads_do_not_mix);
  RUN(helpers_have_the_lowest_priority_in_the_background);
  RUN(a_forked_child_has_helpers_of_its_own);
  RUN(who_tells_waits_for_no_thread_that_was_woken);
  RUN(a_wait_ends_at_its_time);
  RUN(a_fork_waits_for_a_library_that_another_thread_opens);
  RUN(all_memory_came_back);
  RUN(texts_are_shown_without_harm);
  RUN(messages_are_without_harm);
  RUN(names_fit_files);
  return test_done();
}
