/* One chooser answers passes and the plan alike, and prepares each kernel once. */
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "op/op.h"
#include "plan/plan.h"
#include "test.h"

/* ---- a device with two rows ---- */

static struct { jfl_status answer; int prepared, released, threads; } seen;

static jfl_status toy_prepare(jf_kargs *k)
{
  seen.prepared++;
  seen.threads = k->threads;
  k->scratch_size = 128;
  if (seen.answer) return jf_fail(seen.answer, "no");
  k->state = &seen;
  return JFL_OK;
}

static void toy_release(void *state)
{
  CHECK(state == &seen);
  seen.released++;
}

static jfl_status toy_run(const jf_kargs *k)
{
  (void)k;
  return JFL_OK;
}

static const jf_kernel_row *const *toy_rows(void)
{
  static const jf_kernel_row first = { .name = "first", .op = "add", .prepare = toy_prepare,
                                       .run = toy_run, .release = toy_release, .priority = 2 };
  static const jf_kernel_row second = { .name = "second", .op = "add", .run = toy_run,
                                        .priority = 1 };
  static const jf_kernel_row *const all[] = { &first, &second, NULL };
  return all;
}

static const jf_kind kind = { .name = "toy", .host = 1, .rows = toy_rows };
static jf_device toy = { .kind = &kind, .name = "toy:0" };
static jf_device *const devices[] = { &toy, &toy };

/* A chooser and an addition of two arrays of n numbers. */
typedef struct toy_call {
  jf_arena arena;
  jmp_buf out;
  jf_chooser c;
  jf_tensor t[3];
  jf_kargs k;
} toy_call;

static void begin(toy_call *w, jfl_status answer)
{
  const jf_tensor four = { .dtype = JFL_F32, .shape = { 1, { 4 } } };
  memset(w, 0, sizeof *w);
  memset(&seen, 0, sizeof seen);
  seen.answer = answer;
  w->arena.unwind = &w->out;
  w->c = (jf_chooser){ .device = devices, .n_device = 2, .threads = 3, .tells = 1,
                         .arena = &w->arena };
  for (int i = 0; i < 3; i++) w->t[i] = four;
  w->k = (jf_kargs){ .in = w->t, .n_in = 2, .out = &w->t[2], .n_out = 1 };
}

static void end(toy_call *w)
{
  jf_chooser_end(&w->c);
  jf_arena_free(&w->arena);
}

static const jf_choice *ahead(toy_call *w)
{
  const jf_choice *c = NULL;
  CHECK(!jf_choose_ahead(&w->c, 0, &jf_op_add, &w->k, &c));
  return c;
}

static jf_choice chosen(toy_call *w, int place)
{
  jf_choice c;
  CHECK(!jf_choose(&w->c, place, &jf_op_add, &w->k, &c));
  return c;
}

static void what_was_prepared_ahead_is_taken(void)
{
  toy_call w;
  begin(&w, JFL_OK);
  CHECK(ahead(&w) == ahead(&w) && seen.prepared == 1);
  jf_choice c = chosen(&w, 0);
  CHECK(!strcmp(c.row->name, "first") && c.scratch == 128 && w.k.state == &seen);
  CHECK(seen.prepared == 1 && w.k.op == &jf_op_add && w.k.device == &toy && w.k.in == w.t);
  c = chosen(&w, 0);               /* another call like it has a state of its own */
  CHECK(!strcmp(c.row->name, "first") && seen.prepared == 2);
  end(&w);
  CHECK(seen.released == 0);       /* both have been taken */
}

static void what_nobody_takes_is_released(void)
{
  toy_call w;
  begin(&w, JFL_OK);
  CHECK(!strcmp(ahead(&w)->row->name, "first"));
  end(&w);
  CHECK(seen.prepared == 1 && seen.released == 1);
}

static void only_the_same_call_takes_it(void)
{
  toy_call w;
  begin(&w, JFL_OK);
  ahead(&w);
  chosen(&w, 1);
  CHECK(seen.prepared == 2);
  w.t[0].shape.d[0] = 1;
  chosen(&w, 0);
  CHECK(seen.prepared == 3);
  w.t[0].shape.d[0] = 4;
  w.t[1].dtype = JFL_I32;
  chosen(&w, 0);
  CHECK(seen.prepared == 4);
  w.t[1].dtype = JFL_F32;
  w.t[0].layout.kind = JF_LAYOUT_ANY;
  chosen(&w, 0);
  CHECK(seen.prepared == 5);
  w.t[0].layout.kind = JF_LAYOUT_PLAIN;
  chosen(&w, 0);
  CHECK(seen.prepared == 5);
  end(&w);
}

/* Passes ask with tensors of their own; what runs is to see those of the step. */
static void who_takes_it_has_the_tensors_of_the_step(void)
{
  toy_call w;
  begin(&w, JFL_OK);
  ahead(&w);
  jf_tensor own[3] = { w.t[0], w.t[1], w.t[2] };
  w.k.in = own;
  w.k.out = &own[2];
  w.k.step = 7;
  chosen(&w, 0);
  CHECK(seen.prepared == 1 && w.k.in == own && w.k.out == &own[2] && w.k.step == 7);
  end(&w);
}

/* A row that accepts a call and then cannot serve it is no answer. */
static void who_asks_ahead_hears_what_the_plan_will(void)
{
  toy_call w;
  begin(&w, JFL_ENOSYS);
  CHECK(!strcmp(ahead(&w)->row->name, "second"));
  const jf_choice c = chosen(&w, 0);
  CHECK(!strcmp(c.row->name, "second") && seen.prepared == 1);
  CHECK_MSG(c.refused && !strcmp(c.refused, "first: no"), "%s", c.refused ? c.refused : "");
  end(&w);
  const jf_choice *none = NULL;
  begin(&w, JFL_ENOMEM);
  CHECK(jf_choose_ahead(&w.c, 0, &jf_op_add, &w.k, &none) == JFL_ENOMEM && !none);
  end(&w);
  CHECK(seen.released == 0);
}

static int never(const jf_kargs *k)
{
  (void)k;
  return 0;
}

static const jf_kernel_row *const *picky_rows(void)
{
  static const jf_kernel_row high = { .name = "high", .op = "add", .accepts = never,
                                      .run = toy_run, .priority = 3 };
  static const jf_kernel_row middle = { .name = "middle", .op = "add", .prepare = toy_prepare,
                                        .run = toy_run, .priority = 2 };
  static const jf_kernel_row other = { .name = "other", .op = "exp", .accepts = never,
                                       .run = toy_run, .priority = 2 };
  static const jf_kernel_row low = { .name = "low", .op = "add", .accepts = never,
                                     .run = toy_run, .priority = 1 };
  static const jf_kernel_row *const all[] = { &low, &other, &middle, &high, NULL };
  return all;
}

/* Rows above the one that serves say why they do not, and all of them where none serves. */
static void each_row_of_the_op_says_why_it_does_not_serve(void)
{
  static const jf_kind picky = { .name = "picky", .host = 1, .rows = picky_rows };
  static jf_device device = { .kind = &picky, .name = "picky:0" };
  static jf_device *const picky_devices[] = { &device, &device };
  static const char *const want[] = {
    "high: it does not take such calls",
    "high: it does not take such calls; middle: no; low: it does not take such calls"
  };
  for (int i = 0; i < 2; i++) {
    const jf_choice *c = NULL;
    toy_call w;
    begin(&w, i ? JFL_ENOSYS : JFL_OK);
    w.c.device = picky_devices;
    jf_choose_ahead(&w.c, 0, &jf_op_add, &w.k, &c);
    CHECK(c && (c->run == NULL) == i && c->refused);
    if (c && c->refused) CHECK_MSG(!strcmp(c->refused, want[i]), "%s", c->refused);
    end(&w);
  }
}

/* A byte is a unit, and of ops that compute much eight. */
static void costly_ops_are_worth_more_threads(void)
{
  toy_call w;
  begin(&w, JFL_OK);
  for (int i = 0; i < 3; i++) w.t[i].shape.d[0] = 1 << 17;
  w.k.n_in = 1;
  w.k.out = &w.t[1];
  CHECK(jf_call_bytes(&w.k) == 1 << 20);
  CHECK(jf_work(&jf_op_negative, &w.k) == 1 << 20 && jf_work(&jf_op_gelu, &w.k) == 8 << 20);
  CHECK(jf_worth_threads(&jf_op_negative, &w.k, 16) == 2);
  CHECK(jf_worth_threads(&jf_op_gelu, &w.k, 16) == 9);
  CHECK(jf_worth_threads(&jf_op_gelu, &w.k, 3) == 3);
  w.t[1].shape.d[0] = (1 << 17) - 1;
  CHECK(jf_worth_threads(&jf_op_negative, &w.k, 16) == 1);
  end(&w);
}

/* ---- what a pass has found holds in the plan ---- */

static jfl_status plan_with(const jf_kernel_row *tentative)
{
  jfl_graph *g;
  jmp_buf out;
  jfl_plan *p = NULL;
  jfl_value *x, *y;
  jf_node *n;
  const jfl_shape four = { 1, { 4 } };
  memset(&seen, 0, sizeof seen);
  if (jfl_graph_new("job", JFL_PREDICT, &g)) abort();
  g->arena->unwind = &out;
  if (setjmp(out)) abort();
  CHECK(!jf_graph_input(g, "x", JFL_F32, &four, &x));
  CHECK(!jf_graph_node(g, &jf_op_add, NULL, JF_IN(x, x), "sum", &n));
  y = n->out[0];
  x->place = y->place = n->place = 0;
  n->tentative = tentative;
  jf_graph_output(g, y);
  jf_chooser c = { .device = devices, .n_device = 1, .threads = 1, .arena = g->arena };
  const jfl_status s = jf_plan_new(g, &c, &p);
  jf_chooser_end(&c);
  jf_plan_release(p);
  jfl_graph_unref(g);
  return s;
}

static void a_plan_says_where_a_pass_was_misled(void)
{
  CHECK(!plan_with(NULL) && !plan_with(toy_rows()[0]));
  CHECK(plan_with(toy_rows()[1]) == JFL_ESTATE);
  CHECK_MSG(strstr(jfl_errmsg(), "'sum' must be second, as passes took it for, got first"), "%s",
            jfl_errmsg());
  CHECK(seen.released == 1);
}

/* ---- rows of all kinds ---- */

/* Of two rows of one priority the second would never be asked once the first was refused. */
static void no_two_rows_of_an_op_have_one_priority(void)
{
  int pairs = 0;
  for (const jf_kind *const *k = jf_kinds; *k; k++)
    for (const jf_kernel_row *const *a = (*k)->rows ? (*k)->rows() : NULL; a && *a; a++)
      for (const jf_kernel_row *const *b = a + 1; *b; b++) {
        if (!(*a)->op || !(*b)->op || strcmp((*a)->op, (*b)->op)) continue;
        pairs++;
        CHECK_MSG((*a)->priority != (*b)->priority, "%s and %s of %s", (*a)->name, (*b)->name,
                  (*k)->name);
      }
  CHECK(pairs > 10);
}

int main(void)
{
  RUN(what_was_prepared_ahead_is_taken);
  RUN(what_nobody_takes_is_released);
  RUN(only_the_same_call_takes_it);
  RUN(who_takes_it_has_the_tensors_of_the_step);
  RUN(each_row_of_the_op_says_why_it_does_not_serve);
  RUN(costly_ops_are_worth_more_threads);
  RUN(who_asks_ahead_hears_what_the_plan_will);
  RUN(a_plan_says_where_a_pass_was_misled);
  RUN(no_two_rows_of_an_op_have_one_priority);
  return test_done();
}
