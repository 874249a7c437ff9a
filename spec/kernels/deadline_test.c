/* kernels/cpu: a part of a fast kernel that takes long asks for the deadline within. The time here
   is a number of looks at it, after which there is none left: a kernel that looks once a part has
   fewer parts than that. */
#include "op/op.h"
#include "run/run.h"
#include "test.h"

#include <stdatomic.h>
#include <string.h>

enum { LOOKS = 100, MOST_IN = 6 };

static atomic_int looks;

static double left(void *ctx)
{
  (void)ctx;
  return atomic_fetch_add(&looks, 1) < LOOKS ? 1e9 : 0;
}

static const double window[] = { 60, 60 }, wide[] = { 40, 260 }, one[] = { 1, 1 },
                    cells[] = { 200, 200 }, many[] = { 140, 400 };
#define NUMBERS(n, v) { .name = n, .kind = JFL_ARG_LIST, .list = v, .n_list = 2 }
#define TEXT(n, v) { .name = n, .kind = JFL_ARG_STRING, .string = v }
#define POOL(k, format) NUMBERS("ksize", k), NUMBERS("strides", one), TEXT("padding", "VALID"), \
                        TEXT("data_format", format)

static const struct {
  const char *what;
  const jfl_op *op;
  jfl_dtype dtype;
  jfl_shape in[MOST_IN]; int n_in;
  jfl_arg arg[6]; int n_arg;
} calls[] = {
  { "maxima of lines", &jf_op_max_pool2d, JFL_F32, { { 4, { 1, 1, 200, 200 } } }, 1,
    { POOL(window, "NCHW") }, 4 },
  { "means of lines", &jf_op_avg_pool2d, JFL_F32, { { 4, { 1, 1, 200, 200 } } }, 1,
    { POOL(window, "NCHW") }, 4 },
  { "maxima of wide windows", &jf_op_max_pool2d, JFL_F32, { { 4, { 1, 1, 140, 400 } } }, 1,
    { POOL(wide, "NCHW") }, 4 },
  { "means of wide windows", &jf_op_avg_pool2d, JFL_F32, { { 4, { 1, 1, 140, 400 } } }, 1,
    { POOL(wide, "NCHW") }, 4 },
  { "maxima of channels", &jf_op_max_pool2d, JFL_F32, { { 4, { 1, 240, 120, 8 } } }, 1,
    { POOL(window, "NHWC") }, 4 },
  { "maxima of bytes", &jf_op_max_pool2d, JFL_U8, { { 4, { 1, 100, 100, 16 } } }, 1,
    { POOL(window, "NHWC") }, 4 },
  { "the gradient of means of lines", &jf_op_avg_pool2d_grad, JFL_F32,
    { { 4, { 1, 1, 141, 141 } } }, 1, { POOL(window, "NCHW"), NUMBERS("size", cells) }, 5 },
  { "the gradient of means of wide windows", &jf_op_avg_pool2d_grad, JFL_F32,
    { { 4, { 1, 1, 101, 141 } } }, 1, { POOL(wide, "NCHW"), NUMBERS("size", many) }, 5 },
  { "the gradient of maxima of lines", &jf_op_max_pool2d_grad, JFL_F32,
    { { 4, { 1, 1, 200, 200 } }, { 4, { 1, 1, 141, 141 } }, { 4, { 1, 1, 141, 141 } } }, 3,
    { POOL(window, "NCHW") }, 4 },
  { "the gradient of attention", &jf_op_scaled_dot_product_attention_grad, JFL_F32,
    { { 4, { 1, 1, 2000, 16 } }, { 4, { 1, 1, 2000, 16 } }, { 4, { 1, 1, 2000, 16 } },
      { 4, { 1, 1, 2000, 16 } }, { 3, { 1, 1, 2000 } }, { 4, { 1, 1, 2000, 16 } } }, 6, { { 0 } },
    0 },
  { "the steps of an LSTM", &jf_op_recurrent, JFL_F32,
    { { 3, { 2000, 1, 256 } }, { 2, { 256, 64 } }, { 2, { 1, 64 } }, { 2, { 1, 64 } } }, 4,
    { TEXT("cell", "lstm") }, 1 },
};

static jfl_status call(jfl_session *s, int i)
{
  jfl_array *in[MOST_IN] = { NULL }, *out[MOST_IN] = { NULL };
  for (int k = 0; k < calls[i].n_in; k++) {
    CHECK(!jfl_array_new(calls[i].dtype, &calls[i].in[k], &in[k]));
    memset(in[k]->data, 0, (size_t)jfl_array_size(in[k]) * jfl_dtype_size(calls[i].dtype));
  }
  const jfl_status st = jfl_eager(s, calls[i].op, in, calls[i].n_in, calls[i].arg, calls[i].n_arg,
                                  out);
  for (int k = 0; k < MOST_IN; k++) {
    jfl_array_unref(in[k]);
    jfl_array_unref(out[k]);
  }
  return st;
}

static void a_long_part_ends_with_the_time(void)
{
  jfl_session *s = NULL;
  CHECK(!jfl_session_new(&s));
  for (int threads = 1; threads <= 2; threads++) {
    CHECK(!jfl_session_set(s, &(jfl_arg){ .name = "threads", .kind = JFL_ARG_NUMBER,
                                          .number = threads }));
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
      jf_budget *b = jf_budget_new(0);
      jf_budget_limit(b, left, NULL);
      atomic_store(&looks, 0);
      jf_budget *before = jf_memory_charge(b);
      const jfl_status st = call(s, (int)i);
      jf_memory_charge(before);
      jf_budget_drop(b);
      CHECK_MSG(st == JFL_ELIMIT, "%s: status %d after %d looks: %s", calls[i].what, (int)st,
                atomic_load(&looks), jfl_errmsg());
    }
  }
  jfl_session_free(s);
}

int main(void)
{
  RUN(a_long_part_ends_with_the_time);
  return test_done();
}
