/* Packs lifetimes into memory, where no two buffers that live at the same time may overlap, and
   makes plans for a device. */
#include <stdlib.h>
#include <string.h>

#include "counter.h"
#include "pass/pass.h"
#include "plan/plan.h"
#include "test.h"

enum { MOST = 200 };

static jf_arena arena;

static size_t padded(size_t n) { return (n + 63) & ~(size_t)63; }

static int together(const jf_life *a, const jf_life *b)
{
  return a->first <= b->last && b->first <= a->last;
}

static void check_layout(const jf_life *l, int n, size_t total)
{
  for (int i = 0; i < n; i++) {
    CHECK(l[i].offset % 64 == 0);
    CHECK(l[i].offset + l[i].size <= total);
    for (int j = 0; j < i; j++)
      CHECK_MSG(!together(&l[i], &l[j]) || l[i].offset + l[i].size <= l[j].offset ||
                  l[j].offset + l[j].size <= l[i].offset, "buffers %d and %d overlap", i, j);
  }
}

static void random_lifetimes_do_not_overlap(void)
{
  srand(1);
  for (int round = 0; round < 300; round++) {
    jf_life l[MOST];
    int n = 1 + rand() % MOST;
    for (int i = 0; i < n; i++) {
      int first = rand() % 100;
      l[i] = (jf_life){ .size = (size_t)(1 + rand() % 5000), .first = first,
                        .last = first + rand() % 20 };
    }
    size_t total = jf_pack(&arena, l, n), bound = jf_pack_bound(&arena, l, n);
    check_layout(l, n, total);
    CHECK(total >= bound);
    CHECK_MSG((double)total <= 1.15 * (double)bound, "%zu bytes where %zu is a bound", total,
              bound);
  }
}

/* First few enough to compare every pair, then so many that they are packed in sweeps. */
static void many_lifetimes_do_not_overlap(void)
{
  enum { MANY = 3000, STEPS = 1500 };
  static jf_life l[MANY];
  srand(2);
  for (int round = 0; round < 4; round++) {
    for (int i = 0; i < MANY; i++) {
      const int first = rand() % STEPS, last = first + rand() % (round % 2 ? STEPS : 20);
      l[i] = (jf_life){ .size = (size_t)(round < 2 ? 1 + rand() % 5000 : 64 << rand() % 8),
                        .first = first, .last = last < STEPS ? last : STEPS - 1 };
    }
    size_t total = jf_pack(&arena, l, MANY), bound = jf_pack_bound(&arena, l, MANY);
    check_layout(l, MANY, total);
    CHECK(total >= bound);
    CHECK_MSG((double)total <= 1.15 * (double)bound, "%zu bytes where %zu is a bound", total,
              bound);
    for (int backward = 0; backward < 2; backward++)
      check_layout(l, MANY, jf_sweep(&arena, l, MANY, backward));
  }
}

/* As in training: what a layer gives lives until its gradient is computed. */
static void nested_lifetimes_take_no_more_than_they_must(void)
{
  enum { LAYERS = 40000 };
  jf_life *l = malloc(2 * LAYERS * sizeof *l);
  for (int i = 0; i < LAYERS; i++) {
    l[i] = (jf_life){ .size = (size_t)(100 + i % 3 * 1000), .first = i, .last = 2 * LAYERS - i };
    l[LAYERS + i] = (jf_life){ .size = 3000, .first = LAYERS + i, .last = LAYERS + i + 1 };
  }
  const size_t bound = jf_pack_bound(&arena, l, 2 * LAYERS), total = jf_pack(&arena, l, 2 * LAYERS);
  CHECK_MSG((double)total <= 1.001 * (double)bound, "%zu bytes where %zu is a bound", total, bound);
  free(l);
}

static void buffers_without_bytes_fit_anywhere(void)
{
  enum { MANY = 4000 };
  static jf_life l[MANY];
  for (int i = 0; i < MANY; i++)
    l[i] = (jf_life){ .size = i % 2 ? 64 : 0, .first = i, .last = i + 3 };
  size_t total = jf_pack(&arena, l, MANY);
  check_layout(l, MANY, total);
  CHECK(total == 2 * 64);
}

/* Each buffer dies when the next but one is born, as along a chain of layers. */
static void a_chain_needs_two_buffers(void)
{
  jf_life l[10];
  for (int i = 0; i < 10; i++) l[i] = (jf_life){ .size = 100, .first = i, .last = i + 1 };
  size_t total = jf_pack(&arena, l, 10);
  check_layout(l, 10, total);
  CHECK(total == 2 * padded(100));
}

static void buffers_that_never_meet_share(void)
{
  jf_life l[] = { { .size = 64, .first = 0, .last = 1 }, { .size = 1000, .first = 2, .last = 3 } };
  CHECK(jf_pack(&arena, l, 2) == padded(1000));
  CHECK(l[0].offset == 0 && l[1].offset == 0);
}

static void a_gap_is_filled(void)
{
  jf_life l[] = {
    { .size = 256, .first = 0, .last = 9 }, { .size = 128, .first = 0, .last = 2 },
    { .size = 64, .first = 0, .last = 9 }, { .size = 128, .first = 3, .last = 9 },
  };
  size_t total = jf_pack(&arena, l, 4);
  check_layout(l, 4, total);
  CHECK(total == 256 + 128 + 64);
}

static void nothing_needs_nothing(void)
{
  CHECK(jf_pack(&arena, NULL, 0) == 0);
  CHECK(jf_pack_bound(&arena, NULL, 0) == 0);
}

/* A train job's plan uses the kernels of the device for which it is made: those of the null device,
   which need no memory, or the plain ones of the CPU. Both have the same memory layout. */
static jfl_plan *plan_for(jf_device *d, jfl_graph **g)
{
  jmp_buf out;
  jfl_plan *p = NULL;
  CHECK(!jfl_graph_new("job", JFL_TRAIN, g));
  CHECK(!counter_body(*g));
  (*g)->arena->unwind = &out;
  if (setjmp(out)) return NULL;
  jf_chooser c = { .device = &d, .n_device = 1, .flags = JF_REFERENCE, .threads = 1,
                   .arena = (*g)->arena };
  jf_target t = { .device = &d, .n_device = 1, .chooser = &c };
  CHECK(!jf_run_passes(*g, &t));
  CHECK(!jf_plan_new(*g, &c, &p));
  return p;
}

static void the_null_device_plans_and_runs_nothing(void)
{
  jfl_graph *g, *h;
  jf_device *null;
  CHECK(!jf_device_new(jf_kind_find("null"), 0, &null));
  jfl_plan *p = plan_for(null, &g), *q = plan_for(jf_host(), &h);
  CHECK(p->n_step == q->n_step && p->n_step > 5);
  CHECK(p->arena_size == q->arena_size && p->arena_size >= p->arena_bound);
  for (int i = 0; i < p->n_step; i++) {
    CHECK(!p->step[i].kernel.run(&p->step[i].k));
    CHECK(p->step[i].kernel.run != q->step[i].kernel.run);
  }
  jf_plan_release(p);
  jf_plan_release(q);
  jfl_graph_unref(g);
  jfl_graph_unref(h);
  jf_device_free(null);
}

static int parses(const char *text, const char *kind, int index)
{
  const jf_kind *k = NULL;
  int at = -1;
  return !jf_device_parse(text, &k, &at) && !strcmp(k->name, kind) && at == index;
}

static void devices_are_found_by_name(void)
{
  const jf_kind *k;
  int at;
  CHECK(parses("cpu", "cpu", 0) && parses("cpu:0", "cpu", 0) && parses("null:3", "null", 3));
  CHECK(jf_kind_find("cpu") == jf_host()->kind && !jf_kind_find("abacus"));
  const char *const bad[] = {
    "", ":", "abacus", "cpu:", "cpu:x", "cpu:-1", "cpu:0x", "cpu0", "cpu:0:0"
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    CHECK(jf_device_parse(bad[i], &k, &at) == JFL_ENAME && strstr(jfl_errmsg(), "as in cpu:0"));
  CHECK(jf_device_parse("cpu:1", &k, &at) == JFL_ENAME);
  CHECK(!strcmp(jfl_errmsg(), "device must be one of the 1 that cpu has, got 'cpu:1'"));
}

int main(void)
{
  jmp_buf out;
  arena.unwind = &out;
  if (setjmp(out)) return 2;
  RUN(random_lifetimes_do_not_overlap);
  RUN(many_lifetimes_do_not_overlap);
  RUN(nested_lifetimes_take_no_more_than_they_must);
  RUN(buffers_without_bytes_fit_anywhere);
  RUN(a_chain_needs_two_buffers);
  RUN(buffers_that_never_meet_share);
  RUN(a_gap_is_filled);
  RUN(nothing_needs_nothing);
  RUN(the_null_device_plans_and_runs_nothing);
  RUN(devices_are_found_by_name);
  jf_arena_free(&arena);
  return test_done();
}
