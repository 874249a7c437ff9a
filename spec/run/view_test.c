/* Inputs that are views of a larger array are read where they are, at any address. */
#include <stdlib.h>
#include <string.h>

#include "models.h"
#include "test.h"

static long calls;

static void *take(void *ud, size_t n)
{
  (void)ud;
  calls++;
  return malloc(n);
}

static void give(void *ud, void *p, size_t n)
{
  (void)ud;
  (void)n;
  free(p);
}

static jfl_session *session;

/* Makes a train step anew, with the same weights each time. */
static jfl_plan *fresh_plan(model_net net, int64_t batch, int threads)
{
  jfl_plan *p = NULL;
  jfl_arg arg[] = { { .name = "threads", .kind = JFL_ARG_NUMBER, .number = threads },
                    { .name = "seed", .kind = JFL_ARG_NUMBER, .number = 7 } };
  CHECK(!jfl_session_new(&session));
  for (int i = 0; i < 2; i++) CHECK(!jfl_session_set(session, &arg[i]));
  CHECK_MSG(!model_plan(session, "train", net, batch, 0, &p), "%s", jfl_errmsg());
  return p;
}

/* A view of a copy of a, from element `at` of a larger array on. */
static jfl_array *view_of(const jfl_array *a, int64_t at)
{
  int64_t n = jfl_array_size(a);
  jfl_array *flat = NULL, *part = NULL, *view = NULL;
  CHECK(!jfl_array_new(jfl_array_dtype(a), &(jfl_shape){ 1, { n + at + 1 } }, &flat));
  CHECK(!jfl_array_rows(flat, at, n, &part));
  CHECK(!jfl_array_reshape(part, jfl_array_shape(a), &view));
  memcpy(jfl_array_data(view), jfl_array_data(a), (size_t)n * jfl_dtype_size(jfl_array_dtype(a)));
  jfl_array_unref(flat);
  jfl_array_unref(part);
  return view;
}

/* The losses of three steps, and the weights of the first layer after them. */
typedef struct outcome { jfl_array *loss[3], *weight; } outcome;

static outcome train(model_net net, const char *weight, int64_t batch, int threads,
                     jfl_array *const *in)
{
  outcome o;
  jfl_plan *p = fresh_plan(net, batch, threads);
  for (int i = 0; i < 3; i++) {
    long before = calls;
    CHECK_MSG(!jfl_run(p, in, &o.loss[i]), "%s", jfl_errmsg());
    CHECK_MSG(calls - before == 1, "the result takes 1 allocation, this run took %ld",
              calls - before);
  }
  CHECK(!jfl_variable_get(session, weight, &o.weight));
  jfl_session_free(session);
  return o;
}

static int same(const jfl_array *a, const jfl_array *b)
{
  return !memcmp(jfl_array_data(a), jfl_array_data(b), (size_t)jfl_array_size(a) * sizeof(float));
}

static void drop(outcome *o)
{
  for (int i = 0; i < 3; i++) jfl_array_unref(o->loss[i]);
  jfl_array_unref(o->weight);
}

static void compare(model_net net, const char *weight, int64_t batch, int threads, int64_t at)
{
  jfl_array *in[2];
  CHECK(!model_inputs(batch, in));
  jfl_array *view[] = { view_of(in[0], at), view_of(in[1], at) };
  outcome a = train(net, weight, batch, threads, in), b = train(net, weight, batch, threads, view);
  for (int i = 0; i < 3; i++)
    CHECK_MSG(same(a.loss[i], b.loss[i]), "losses of step %d from offset %d", i, (int)at);
  CHECK_MSG(same(a.weight, b.weight), "weights from offset %d", (int)at);
  drop(&a);
  drop(&b);
  model_drop(in);
  model_drop(view);
}

/* The results must be those of a batch of its own, bit for bit, with no more memory. */
static void a_batch_anywhere_is_read_in_place(void)
{
  static const int64_t at[] = { 1, 3, 8, 15 };
  for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
    compare(model_linear, "linear-weight", 5, 1, at[i]);
    compare(model_mlp, "hidden-weight", 1, 2, at[i]);
    compare(model_mlp, "hidden-weight", 32, 1, at[i]);
    compare(model_lenet, "conv1-weight", 1, 1, at[i]);
    compare(model_lenet, "conv1-weight", 7, 2, at[i]);
  }
}

static void a_row_of_the_caller_is_not_written_to(void)
{
  jfl_array *in[2], *out[1];
  CHECK(!model_inputs(8, in));
  jfl_array *view[] = { view_of(in[0], 5), view_of(in[1], 5) };
  jfl_plan *p = fresh_plan(model_lenet, 8, 2);
  CHECK(!jfl_run(p, view, out));
  CHECK(same(in[0], view[0]) && same(in[1], view[1]));
  jfl_array_unref(out[0]);
  jfl_session_free(session);
  model_drop(in);
  model_drop(view);
}

int main(void)
{
  jfl_set_allocator(&(jfl_allocator){ take, give, NULL });
  RUN(a_batch_anywhere_is_read_in_place);
  RUN(a_row_of_the_caller_is_not_written_to);
  return test_done();
}
