/* Attributes: lists of any length, which belong to whoever copied them, and arrays, which belong to
   the graph. */
#include <math.h>
#include <string.h>

#include "dev/dev.h"
#include "op/attrs.h"
#include "op/op.h"
#include "test.h"

typedef struct lists { jf_ints ints; jf_nums nums; jf_pad pad; int64_t filled; } lists;

static const jf_attr attrs[] = {
  JF_FIELD(lists, ints, INTS, "{3, -4}", "integers"),
  JF_FIELD(lists, nums, NUMS, "none", "numbers"),
  JF_FIELD(lists, pad, PAD, "VALID", "a word or integers"),
  {0},
};

enum { LONG = 1000 };

static int says(const char *text) { return strstr(jfl_errmsg(), text) != NULL; }

static int same(const lists *a, const lists *b) { return jf_attr_same(attrs, sizeof *a, a, b); }

static uint64_t hash(const lists *a) { return jf_attr_hash(attrs, sizeof *a, a); }

/* Reads lists of `n` numbers into all fields. */
static jfl_status read_all(jf_arena *arena, int n, lists *out)
{
  static double v[LONG];
  jfl_arg arg[] = {
    { .name = "ints", .kind = JFL_ARG_LIST, .list = v, .n_list = n },
    { .name = "nums", .kind = JFL_ARG_LIST, .list = v, .n_list = n },
    { .name = "pad", .kind = JFL_ARG_LIST, .list = v, .n_list = n },
  };
  for (int i = 0; i < n; i++) v[i] = 2 * i;
  jfl_status s = jf_attr_read(arena, "op", attrs, arg, 3, out);
  memset(v, 0, sizeof v);        /* the lists that were read are no longer the caller's */
  return s;
}

static void lists_may_be_long(void)
{
  jf_arena arena = { 0 };
  lists a = { 0 };
  CHECK(!read_all(&arena, LONG, &a));
  CHECK(a.ints.n == LONG && a.nums.n == LONG && a.pad.list.n == LONG && !a.pad.word);
  CHECK(a.ints.v[LONG - 1] == 2 * (LONG - 1) && a.nums.v[LONG - 1] == 2 * (LONG - 1));
  CHECK(a.pad.list.v[LONG - 1] == 2 * (LONG - 1));
  CHECK(!read_all(&arena, 0, &a) && a.ints.n == 0 && a.nums.n == 0 && a.pad.list.n == 0);
  jf_arena_free(&arena);
}

static void defaults_are_lists_too(void)
{
  jf_arena arena = { 0 };
  lists a = { 0 };
  CHECK(!jf_attr_read(&arena, "op", attrs, NULL, 0, &a));
  CHECK(a.ints.n == 2 && a.ints.v[0] == 3 && a.ints.v[1] == -4 && a.nums.n == 0);
  CHECK(a.pad.word && !strcmp(a.pad.word, "VALID"));
  jf_arena_free(&arena);
}

/* Whether the attributes, written as arguments and read again, are the same. */
static int returns(const lists *a)
{
  jf_arena arena = { 0 };
  jfl_arg arg[3];
  double *number = jf_new(jf_attr_numbers(attrs, a) * sizeof *number);
  lists b = { 0 };
  jf_attr_write(attrs, a, arg, number);
  jfl_status s = jf_attr_read(&arena, "op", attrs, arg, 3, &b);
  const int is_same = !s && same(a, &b);
  jf_arena_free(&arena);
  jf_free(number);
  return is_same;
}

static void what_is_written_reads_the_same(void)
{
  jf_arena arena = { 0 };
  lists a = { 0 };
  CHECK(!jf_attr_read(&arena, "op", attrs, NULL, 0, &a) && returns(&a));
  CHECK(jf_attr_numbers(attrs, &a) == 2);      /* the padding is a word */
  CHECK(!read_all(&arena, LONG, &a) && returns(&a));
  CHECK(jf_attr_numbers(attrs, &a) == 2 * LONG);
  CHECK(!read_all(&arena, 0, &a) && returns(&a));
  jf_arena_free(&arena);
}

static void what_is_no_integer_is_refused(void)
{
  jf_arena arena = { 0 };
  lists a = { 0 };
  const double half[] = { 1, 0.5 };
  jfl_arg arg = { .name = "ints", .kind = JFL_ARG_LIST, .list = half, .n_list = 2 };
  CHECK(jf_attr_read(&arena, "op", attrs, &arg, 1, &a) == JFL_EINVAL && says("got 0.5"));
  jf_arena_free(&arena);
}

typedef struct ranged { double open, closed, least, above, any; int64_t count; } ranged;
static const jf_attr ranges[] = {
  JF_RANGE(ranged, open, NUM, "0", JF_BELOW_ONE, "from 0 to below 1"),
  JF_RANGE(ranged, closed, NUM, "0", "from -1.5 to 1", "between two numbers"),
  JF_RANGE(ranged, least, NUM, "0", "at least 0", "infinity too"),
  JF_RANGE(ranged, above, NUM, "1", "a finite number above 0", "no infinity"),
  JF_RANGE(ranged, any, NUM, "0", "a finite number", "no bound"),
  JF_RANGE(ranged, count, INT, "1", "at least 1", "an integer"),
  {0},
};

static void numbers_are_in_their_ranges(void)
{
  static const struct { const char *name; double v; int fits; } row[] = {
    { "open", 0, 1 }, { "open", 0.99, 1 }, { "open", 1, 0 }, { "open", -1e-9, 0 },
    { "open", NAN, 0 }, { "closed", -1.5, 1 }, { "closed", 1, 1 }, { "closed", 1.01, 0 },
    { "closed", -1.51, 0 }, { "closed", NAN, 0 }, { "least", 0, 1 }, { "least", INFINITY, 1 },
    { "least", -1, 0 }, { "least", NAN, 0 }, { "above", 1e-300, 1 }, { "above", 0, 0 },
    { "above", INFINITY, 0 }, { "any", -1e300, 1 }, { "any", NAN, 0 }, { "any", -INFINITY, 0 },
    { "count", 1, 1 }, { "count", 0, 0 }, { "count", -3, 0 }
  };
  jf_arena arena = { 0 };
  ranged to;
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    const jfl_arg arg = { .name = row[i].name, .kind = JFL_ARG_NUMBER, .number = row[i].v };
    const jfl_status s = jf_attr_read(&arena, "op", ranges, &arg, 1, &to);
    CHECK_MSG((s == JFL_OK) == row[i].fits, "%s %g", row[i].name, row[i].v);
  }
  CHECK(says("count must be at least 1, got -3"));
  jf_arena_free(&arena);
}

static void copies_have_lists_of_their_own(void)
{
  jf_arena arena = { 0 }, other = { 0 };
  lists a = { .filled = 7 };
  CHECK(!read_all(&arena, LONG, &a));
  lists *b = jf_attr_copy(&other, attrs, sizeof a, &a);
  CHECK(b->ints.v != a.ints.v && b->nums.v != a.nums.v && b->pad.list.v != a.pad.list.v);
  CHECK(same(&a, b) && hash(&a) == hash(b) && b->filled == 7);
  b->ints.v[LONG / 2]++;
  CHECK(!same(&a, b) && hash(&a) != hash(b));
  jf_arena_free(&arena);
  CHECK(b->nums.v[5] == 10 && b->pad.list.v[5] == 10);
  jf_arena_free(&other);
}

static jfl_array *array_of(jfl_dtype t, int64_t n, float first)
{
  jfl_array *a = NULL;
  CHECK(!jfl_array_new(t, &(jfl_shape){ 1, { n } }, &a));
  if (t == JFL_F32) *(float *)a->data = first;
  return a;
}

/* The value of an op array that holds a. */
static jfl_value *stored(jfl_graph *g, jfl_array *a)
{
  jfl_value *v = NULL;
  jfl_arg arg = { .name = "value", .kind = JFL_ARG_ARRAY, .array = a };
  CHECK(!jfl_graph_op(g, &jf_op_array, NULL, 0, &arg, 1, NULL, &v));
  return v;
}

static const jfl_array *held(const jfl_value *v)
{
  return ((const jf_array *)v->node->attr)->value;
}

static void graphs_keep_one_copy_of_an_array(void)
{
  jfl_graph *g = NULL;
  jfl_array *a = array_of(JFL_F32, 3, 5), *same = array_of(JFL_F32, 3, 5);
  jfl_array *wider = array_of(JFL_F32, 4, 5), *whole = array_of(JFL_I32, 3, 0);
  CHECK(!jfl_graph_new("g", JFL_PREDICT, &g));
  jfl_value *v = stored(g, a), *w = stored(g, same);
  CHECK(held(v) != a && held(v) == held(w));
  CHECK(held(stored(g, wider)) != held(v) && held(stored(g, whole)) != held(v));
  *(float *)a->data = 6;
  CHECK(*(const float *)held(v)->data == 5 && held(stored(g, a)) != held(v) && g->n_array == 4);
  jfl_array_unref(a);
  jfl_array_unref(same);
  jfl_array_unref(wider);
  jfl_array_unref(whole);
  CHECK(*(const float *)held(w)->data == 5);
  char *text = NULL;
  CHECK(!jfl_graph_text(g, &text) && strstr(text, "value=float32 (3) {5, 0, 0}"));
  jfl_text_free(text);
  jfl_graph_unref(g);
}

static void arrays_stand_only_for_arrays(void)
{
  jf_arena arena = { 0 };
  jf_array a;
  lists l = { 0 };
  jfl_array *some = array_of(JFL_F32, 3, 5);
  jfl_arg number = { .name = "value", .kind = JFL_ARG_NUMBER, .number = 2 };
  jfl_arg none = { .name = "value", .kind = JFL_ARG_ARRAY };
  jfl_arg array = { .name = "ints", .kind = JFL_ARG_ARRAY, .array = some };
  CHECK(jf_attr_read(&arena, "op", jf_op_array.attr, &number, 1, &a) == JFL_EINVAL);
  CHECK(says("value must be an array, got 2"));
  CHECK(jf_attr_read(&arena, "op", jf_op_array.attr, &none, 1, &a) == JFL_EINVAL);
  CHECK(jf_attr_read(&arena, "op", attrs, &array, 1, &l) == JFL_EINVAL && says("got an array"));
  jfl_array_unref(some);
  jf_arena_free(&arena);
}

int main(void)
{
  RUN(lists_may_be_long);
  RUN(defaults_are_lists_too);
  RUN(what_is_written_reads_the_same);
  RUN(what_is_no_integer_is_refused);
  RUN(numbers_are_in_their_ranges);
  RUN(copies_have_lists_of_their_own);
  RUN(graphs_keep_one_copy_of_an_array);
  RUN(arrays_stand_only_for_arrays);
  return test_done();
}
