/* Jobs whose nodes are on several devices: each step waits for the steps of other streams that it
   depends on, and results are those of one device. Also tests rows that cannot serve a call. */
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "op/op.h"
#include "pass/pass.h"
#include "run/run.h"
#include "test.h"

enum { BATCH = 3, STEPS = 4, TRIALS = 40, PLACES = 4 };

static uint64_t dice = 1;

static int roll(int n)
{
  dice = dice * 6364136223846793005u + 1442695040888963407u;
  return (int)((dice >> 33) % (uint64_t)n);
}

/* Opens a session with the host, at place 0, and simulated devices. */
static jfl_session *open_session(void)
{
  static const char *const names[PLACES] = { "cpu:0", "sim:0", "sim:1", "sim:2" };
  const jfl_arg plain = { .name = "kernels", .kind = JFL_ARG_STRING, .string = "reference" };
  jfl_session *s;
  jf_site *site;
  if (jfl_session_new(&s) || jfl_session_set(s, &plain)) abort();
  for (int i = 0; i < PLACES; i++)
    if (jf_session_site(s, names[i], &site) || site->place != i) abort();
  s->seed = 11;
  s->settings.place = 0;
  return s;
}

/* Puts each node and variable of a body on some device. */
static void scatter(jfl_graph *g)
{
  for (int i = 0; i < g->n_node; i++) {
    jf_node *n = g->node[i];
    n->place = roll(PLACES);
    for (int k = 0; k < n->n_out; k++) n->out[k]->place = n->place;
  }
  for (int i = 0; i < g->n_value; i++)
    if (g->value[i]->origin == JF_VARIABLE) g->value[i]->place = roll(PLACES);
}

static jfl_plan *compile(jfl_session *s, model_net net, int scattered)
{
  model m = { NULL, JFL_OK };
  jfl_job *j;
  jfl_plan *p = NULL;
  if (jfl_graph_new("net", JFL_TRAIN, &m.g) || model_body(&m, net, BATCH, 0.9)) abort();
  if (scattered) scatter(m.g);
  if (jfl_job_new(s, "net", JFL_TRAIN, &j)) abort();
  CHECK_MSG(!jfl_job_compile(j, m.g, &p), "%s", jfl_errmsg());
  jfl_graph_unref(m.g);
  return p;
}

/* ---- the order that steps depend on ---- */

/* The bytes that a step reads or writes: of an arena, or of a variable. */
typedef struct touched { const jf_where *where; size_t offset, size; int is_written; } touched;

static int touches(const jf_step *st, touched *out)
{
  int n = 0;
  for (int i = 0; i < st->k.n_in; i++)
    out[n++] = (touched){ &st->in[i], st->in[i].offset, st->in[i].size, jf_mutates(st->node, i) };
  for (int i = 0; i < st->k.n_out; i++)
    out[n++] = (touched){ &st->out[i], st->out[i].offset, st->out[i].size, 1 };
  return n;
}

static int clash(const touched *a, const touched *b)
{
  const jf_where *x = a->where, *y = b->where;
  if (x->memory != y->memory || x->place != y->place) return 0;
  if (!a->is_written && !b->is_written) return 0;
  if (x->memory == JF_AT_ARENA)
    return a->offset < b->offset + b->size && b->offset < a->offset + a->size;
  return x->memory == JF_AT_VARIABLE && x->index == y->index;
}

static int steps_clash(const jf_step *a, const jf_step *b)
{
  touched x[64], y[64];
  int n = touches(a, x), m = touches(b, y);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < m; k++)
      if (clash(&x[i], &y[k])) return 1;
  return 0;
}

/* Computes known[s][i]: the last step of stream i that is done before step s begins. */
static void follow(const jfl_plan *p, int (*known)[PLACES])
{
  int stream[PLACES][PLACES], last[PLACES];
  memset(stream, -1, sizeof stream);
  memset(last, -1, sizeof last);
  for (int s = 0; s < p->n_step; s++) {
    const jf_step *st = &p->step[s];
    int *own = stream[st->place];
    for (int i = 0; i < PLACES; i++) {
      if (own[i] < stream[0][i]) own[i] = stream[0][i];     /* the host has waited for these */
      if (s == p->barrier && last[i] > own[i]) own[i] = stream[0][i] = last[i];
    }
    for (int a = 0; a < st->n_await; a++) {
      int other = st->await[a];
      for (int i = 0; i < PLACES; i++)
        if (own[i] < known[other][i]) own[i] = known[other][i];
      if (own[p->step[other].place] < other) own[p->step[other].place] = other;
    }
    memcpy(known[s], own, sizeof known[s]);
    own[st->place] = last[st->place] = s;
  }
}

/* Two steps that touch the same bytes, one of them writing, must be ordered: both on one stream, or
   the later one waits. */
static void check_waits(const jfl_plan *p)
{
  int (*known)[PLACES] = calloc((size_t)p->n_step + 1u, sizeof *known);
  if (!known) abort();
  follow(p, known);
  for (int b = 0; b < p->n_step; b++)
    for (int a = 0; a < b; a++)
      CHECK_MSG(!steps_clash(&p->step[a], &p->step[b]) || known[b][p->step[a].place] >= a,
                "step %d does not wait for step %d", b, a);
  free(known);
}

static int streams_of(const jfl_plan *p)
{
  int n = 0;
  for (int i = 0; i < p->n_part; i++) n += p->part[i].n_step > 0;
  return n;
}

static void steps_wait_for_what_they_need(void)
{
  int waits = 0, streams = 0;
  for (int t = 0; t < TRIALS; t++) {
    jfl_session *s = open_session();
    jfl_plan *p = compile(s, t % 2 ? model_lenet : model_mlp, 1);
    for (int i = 0; p && i < p->n_step; i++) waits += p->step[i].n_await;
    if (p) streams += streams_of(p);
    if (p) check_waits(p);
    jfl_session_free(s);
  }
  CHECK_MSG(waits > TRIALS && streams > 3 * TRIALS, "%d waits, %d streams", waits, streams);
}

/* ---- results ---- */

/* Trains for some steps; returns a hash of the losses, and one of the variables after them. */
static uint64_t train(int scattered, uint64_t *variables)
{
  jfl_session *s = open_session();
  jfl_plan *p = compile(s, model_mlp, scattered);
  jfl_array *in[2], *loss, *value;
  uint64_t sum = 0;
  if (model_inputs(BATCH, in)) abort();
  for (int i = 0; p && i < STEPS; i++) {
    jfl_status st = jfl_run(p, in, &loss);
    CHECK_MSG(!st, "%s", jfl_errmsg());
    if (st) break;
    sum = jf_hash(sum, loss->data, BATCH * sizeof(float));
    jfl_array_unref(loss);
  }
  *variables = 0;
  for (int i = 0; i < s->n_var; i++) {
    const char *name = s->var[i]->spec.name;
    CHECK(!jfl_variable_get(s, name, &value));
    size_t size = (size_t)jfl_array_size(value) * jfl_dtype_size(jfl_array_dtype(value));
    *variables += jf_hash(jf_hash_str(0, name), jfl_array_data(value), size);
    jfl_array_unref(value);
  }
  model_drop(in);
  jfl_session_free(s);
  return sum;
}

static void places_change_no_bit(void)
{
  uint64_t variables, others;
  const uint64_t losses = train(0, &variables);
  for (int t = 0; t < TRIALS / 4; t++) {
    CHECK(train(1, &others) == losses);
    CHECK(others == variables);
  }
}

/* ---- work that a device repeats ---- */

/* Runs p with labels counted from `first` on; a hash of the losses, 0 where it fails. */
static uint64_t run_once(jfl_plan *p, jfl_array *in[2], int first)
{
  jfl_array *loss;
  for (int i = 0; i < BATCH; i++) ((int32_t *)jfl_array_data(in[1]))[i] = first + i;
  if (jfl_run(p, in, &loss)) return 0;
  uint64_t sum = jf_hash(1, loss->data, BATCH * sizeof(float));
  jfl_array_unref(loss);
  return sum;
}

static jfl_plan *another(jfl_session *s, int64_t batch)
{
  jfl_plan *p = NULL;
  CHECK_MSG(!model_plan(s, "bigger", model_lenet, batch, 0.9, &p), "%s", jfl_errmsg());
  return p;
}

/* The same on the host and on a device: runs, one that fails, runs after temporaries were moved. */
static void repeated_work_is_the_same_work(void)
{
  jfl_session *s[2] = { open_session(), open_session() };
  jfl_plan *p[2];
  jfl_array *in[2];
  s[1]->settings.place = 1;
  if (model_inputs(BATCH, in)) abort();
  for (int i = 0; i < 2; i++) p[i] = compile(s[i], model_mlp, 0);
  for (int t = 0; t < 12; t++) {
    const int bad = t == 5;
    if (t == 8) CHECK(another(s[1], 2 * BATCH));
    uint64_t want = run_once(p[0], in, bad ? 8 : t % 7), got = run_once(p[1], in, bad ? 8 : t % 7);
    CHECK_MSG(want == got && (want == 0) == bad, "run %d", t);
    CHECK(!bad || strstr(jfl_errmsg(), "label at position 2 must be from 0 to 9"));
    CHECK(!p[0]->execution[0]->work[0] && (p[1]->execution[0]->work[0] != NULL) == (t > 0));
  }
  model_drop(in);
  for (int i = 0; i < 2; i++) jfl_session_free(s[i]);
}

/* ---- choosing rows ---- */

static jfl_status answer;

static jfl_status prepare(jf_kargs *k)
{
  (void)k;
  return answer ? jf_fail(answer, "no") : JFL_OK;
}

static jfl_status run_row(const jf_kargs *k)
{
  (void)k;
  return JFL_OK;
}

static const jf_kernel_row *const *rows(void)
{
  static const jf_kernel_row first = { .name = "first", .op = "add", .prepare = prepare,
                                       .run = run_row, .priority = 2 };
  static const jf_kernel_row second = { .name = "second", .op = "add", .run = run_row,
                                        .priority = 1 };
  static const jf_kernel_row sum = { .name = "sum", .op = "reduce_sum", .prepare = prepare,
                                     .run = run_row, .priority = 1 };
  static const jf_kernel_row *const all[] = { &first, &second, &sum, NULL };
  return all;
}

static const jf_kind kind = { .name = "toy", .host = 1, .rows = rows };
static jf_device toy = { .kind = &kind, .name = "toy:0" };

/* The name of the row that is chosen for an addition, or NULL if none is. */
static const char *chosen(jfl_status *s)
{
  const jf_tensor four = { .dtype = JFL_F32, .shape = { 1, { 4 } } };
  jf_tensor t[3] = { four, four, four };
  jf_kargs k = { .in = t, .n_in = 2, .out = &t[2], .n_out = 1 };
  jf_device *device = &toy;
  jf_arena arena = { 0 };
  jf_chooser c = { .device = &device, .n_device = 1, .threads = 1, .arena = &arena };
  jf_choice chosen = { NULL };
  *s = jf_choose(&c, 0, &jf_op_add, &k, &chosen);
  CHECK(!chosen.refused || !strcmp(chosen.refused, "first: no"));
  jf_arena_free(&arena);
  return *s || !chosen.row ? NULL : chosen.row->name;
}

static void a_row_that_cannot_serve_a_call_leaves_it_to_the_next(void)
{
  jfl_status s;
  const char *name;
  answer = JFL_OK;
  CHECK((name = chosen(&s)) && !strcmp(name, "first"));
  answer = JFL_ENOSYS;
  CHECK((name = chosen(&s)) && !strcmp(name, "second"));
  answer = JFL_ENOMEM;
  CHECK(!chosen(&s) && s == JFL_ENOMEM);
  answer = JFL_EDATA;
  CHECK(!chosen(&s) && s == JFL_EDATA && !strcmp(jfl_errmsg(), "no"));
}

/* Plans, on the toy device, a model that needs kernels which it lacks. */
static jfl_status plan_on_toy(void)
{
  model m = { NULL, JFL_OK };
  jf_device *device = &toy;
  jfl_plan *p = NULL;
  jmp_buf out;
  jf_chooser c = { .device = &device, .n_device = 1, .threads = 1 };
  jf_target t = { .device = &device, .n_device = 1, .chooser = &c };
  if (jfl_graph_new("net", JFL_TRAIN, &m.g) || model_body(&m, model_mlp, BATCH, 0.9)) abort();
  m.g->arena->unwind = &out;
  c.arena = m.g->arena;
  if (setjmp(out)) abort();
  CHECK(!jf_run_passes(m.g, &t));
  const jfl_status s = jf_plan_new(m.g, &c, &p);
  jf_plan_release(p);
  jfl_graph_unref(m.g);
  return s;
}

static void all_kernels_that_a_device_lacks_are_told(void)
{
  answer = JFL_OK;
  CHECK(plan_on_toy() == JFL_ENOSYS);
  const char *first = "there is no kernel for matmul_fused (float32) on toy:0, ";
  CHECK_MSG(!strncmp(jfl_errmsg(), first, strlen(first)) &&
            strstr(jfl_errmsg(), ", relu (float32) on toy:0") &&
            strstr(jfl_errmsg(), "sparse_softmax_cross_entropy_grad (float32) on toy:0"), "%s",
            jfl_errmsg());
}

static void a_plan_tells_which_op_cannot_be_prepared(void)
{
  answer = JFL_ENOMEM;
  CHECK(plan_on_toy() == JFL_ENOMEM);
  CHECK_MSG(!strcmp(jfl_errmsg(), "reduce_sum: no"), "%s", jfl_errmsg());
}

static void a_graph_has_the_places_of_one_session(void)
{
  const char *want = " s must be the session that places were asked of before";
  const jfl_shape one = { 1, { 1 } };
  jfl_session *first, *other;
  jfl_members members;
  jfl_value *x;
  jfl_graph *g;
  CHECK(!jfl_session_new(&first) && !jfl_session_new(&other));
  CHECK(!jfl_graph_new("job", JFL_PREDICT, &g) && !jfl_graph_input(g, "x", JFL_F32, &one, &x));
  CHECK(!jfl_graph_members(g, first, &members) && members.n == 1);
  CHECK(jfl_graph_members(g, other, &members) == JFL_EINVAL);
  CHECK_MSG(!strncmp(jfl_errmsg(), "jfl_graph_members:", 18) && strstr(jfl_errmsg(), want), "%s",
            jfl_errmsg());
  CHECK(jfl_graph_change_view(g, other, x, 1, &x) == JFL_EINVAL);
  CHECK_MSG(!strncmp(jfl_errmsg(), "jfl_graph_change_view:", 22), "%s", jfl_errmsg());
  CHECK(jfl_graph_place(g, other, "cpu:0") == JFL_EINVAL);
  CHECK_MSG(!strncmp(jfl_errmsg(), "jfl_graph_place:", 16), "%s", jfl_errmsg());
  jfl_graph_unref(g);
  jfl_session_free(other);
  jfl_session_free(first);
}

int main(void)
{
  RUN(steps_wait_for_what_they_need);
  RUN(places_change_no_bit);
  RUN(repeated_work_is_the_same_work);
  RUN(all_kernels_that_a_device_lacks_are_told);
  RUN(a_plan_tells_which_op_cannot_be_prepared);
  RUN(a_row_that_cannot_serve_a_call_leaves_it_to_the_next);
  RUN(a_graph_has_the_places_of_one_session);
  return test_done();
}
