/* Ops that run at once: what serves a call is kept for others like it, and for no others. */
#include <string.h>

#include "op/op.h"
#include "run/run.h"
#include "test.h"

static jfl_session *session(void)
{
  jfl_session *s = NULL;
  CHECK(!jfl_session_new(&s));
  return s;
}

static jfl_array *numbers(int n, double first)
{
  jfl_array *a = NULL;
  CHECK(!jfl_array_new(JFL_F32, &(jfl_shape){ 1, { n } }, &a));
  for (int i = 0; i < n; i++) ((float *)a->data)[i] = (float)(first + i);
  return a;
}

static void set_text(jfl_session *s, const char *name, const char *v)
{
  CHECK(!jfl_session_set(s, &(jfl_arg){ .name = name, .kind = JFL_ARG_STRING, .string = v }));
}

static int kept(const jfl_session *s)
{
  int n = 0;
  for (int i = 0; i < JF_READY; i++) n += s->ready[i] != NULL;
  return n;
}

static const jf_ready *kept_of(const jfl_session *s, const jfl_op *op)
{
  for (int i = 0; i < JF_READY; i++)
    if (s->ready[i] && s->ready[i]->k.op == op) return s->ready[i];
  return NULL;
}

/* Adds up a call's last element; shows whether the result is new and right. */
static double last_sum(jfl_session *s, int n, double first)
{
  jfl_array *in[2] = { numbers(n, first), numbers(n, 1) }, *out = NULL;
  CHECK(!jfl_eager(s, &jf_op_add, in, 2, NULL, 0, &out));
  const double v = out ? ((float *)out->data)[n - 1] : 0;
  for (int i = 0; i < 2; i++) jfl_array_unref(in[i]);
  if (out) jfl_array_unref(out);
  return v;
}

static void calls_alike_share_what_serves_them(void)
{
  jfl_session *s = session();
  CHECK(last_sum(s, 4, 10) == 13 + 4);
  const jf_ready *r = kept_of(s, &jf_op_add);
  CHECK(r && kept(s) == 1);
  CHECK(last_sum(s, 4, 20) == 23 + 4 && kept_of(s, &jf_op_add) == r && kept(s) == 1);
  jfl_session_free(s);
}

/* More shapes than are kept, and again: each call has what its shape wants. */
static void other_shapes_are_other_calls(void)
{
  jfl_session *s = session();
  for (int round = 0; round < 2; round++)
    for (int n = 1; n <= 4 * JF_READY; n++) CHECK(last_sum(s, n, 10) == 10 + n - 1 + n);
  CHECK(kept(s) > JF_READY / 2);
  jfl_session_free(s);
}

static void other_settings_are_other_calls(void)
{
  jfl_session *s = session();
  jfl_array *in[2] = { NULL, NULL }, *out = NULL;
  for (int i = 0; i < 2; i++) CHECK(!jfl_array_new(JFL_F32, &(jfl_shape){ 2, { 8, 8 } }, &in[i]));
  for (int i = 0; i < 4; i++) {
    set_text(s, "kernels", i % 2 ? "reference" : "fast");
    CHECK(!jfl_eager(s, &jf_op_matmul, in, 2, NULL, 0, &out));
    const jf_ready *r = kept_of(s, &jf_op_matmul);
    CHECK_MSG(r && (r->choice.row == NULL) == i % 2, "call %d", i);
    jfl_array_unref(out);
  }
  for (int i = 0; i < 2; i++) jfl_array_unref(in[i]);
  jfl_session_free(s);
}

/* The results and the attributes are those of the call, not of one before. */
static void other_arguments_are_other_calls(void)
{
  jfl_session *s = session();
  jfl_array *x = numbers(4, -4), *out = NULL;
  for (int i = 0; i < 6; i++) {
    const double slope = i % 3;
    const jfl_arg arg = { .name = "alpha", .kind = JFL_ARG_NUMBER, .number = slope };
    CHECK(!jfl_eager(s, jfl_op_find("leaky_relu"), &x, 1, &arg, 1, &out));
    CHECK(((float *)out->data)[0] == (float)(-4 * slope));
    jfl_array_unref(out);
  }
  jfl_array_unref(x);
  jfl_session_free(s);
}

/* Whether it is the same array with other contents, or another one, maybe where one was before. */
static void an_array_among_the_attributes_is_read_in_each_call(void)
{
  jfl_session *s = session();
  jfl_array *x = numbers(4, 0), *out = NULL;
  for (int i = 1; i < 9; i++) {
    if (i % 3) {
      jfl_array_unref(x);
      x = numbers(i % 2 ? 4 : 64, 0);
    }
    ((float *)x->data)[3] = (float)i;
    const jfl_arg arg = { .name = "value", .kind = JFL_ARG_ARRAY, .array = x };
    CHECK(!jfl_eager(s, &jf_op_array, NULL, 0, &arg, 1, &out));
    CHECK(jf_numel(&out->shape) == jf_numel(&x->shape) && ((float *)out->data)[3] == (float)i);
    jfl_array_unref(out);
  }
  jfl_array_unref(x);
  jfl_session_free(s);
}

/* Each call draws other bits, whether what serves it is new or was kept. */
static void draws_differ_from_call_to_call(void)
{
  jfl_session *s = session();
  jfl_array *a[2];
  const double four = 4;
  const jfl_arg shape = { .name = "shape", .kind = JFL_ARG_LIST, .list = &four, .n_list = 1 };
  for (int i = 0; i < 2; i++)
    CHECK(!jfl_eager(s, jfl_op_find("random_normal"), NULL, 0, &shape, 1, &a[i]));
  CHECK(memcmp(a[0]->data, a[1]->data, 4 * sizeof(float)));
  for (int i = 0; i < 2; i++) jfl_array_unref(a[i]);
  jfl_session_free(s);
}

/* Floats of 16 bits are converted, and the result is rounded once. */
static void floats_of_16_bits_are_computed_in_float32(void)
{
  jfl_session *s = session();
  jfl_array *x = numbers(64, -32), *brief, *wide, *y, *z, *want;
  const jfl_arg bf16 = { .name = "dtype", .kind = JFL_ARG_STRING, .string = "bfloat16" };
  const jfl_arg f32 = { .name = "dtype", .kind = JFL_ARG_STRING, .string = "float32" };
  CHECK(!jfl_eager(s, &jf_op_cast, &x, 1, &bf16, 1, &brief));
  CHECK(!jfl_eager(s, &jf_op_cast, &brief, 1, &f32, 1, &wide));
  for (int i = 0; i < 2; i++) {
    CHECK(!jfl_eager(s, jfl_op_find("softmax"), &brief, 1, NULL, 0, &y));
    CHECK(!jfl_eager(s, jfl_op_find("softmax"), &wide, 1, NULL, 0, &z));
    CHECK(!jfl_eager(s, &jf_op_cast, &z, 1, &bf16, 1, &want));
    CHECK(y->dtype == JFL_BF16 && !memcmp(y->data, want->data, 64 * sizeof(uint16_t)));
    jfl_array_unref(y);
    jfl_array_unref(z);
    jfl_array_unref(want);
  }
  jfl_array_unref(x);
  jfl_array_unref(brief);
  jfl_array_unref(wide);
  jfl_session_free(s);
}

int main(void)
{
  RUN(calls_alike_share_what_serves_them);
  RUN(other_shapes_are_other_calls);
  RUN(other_settings_are_other_calls);
  RUN(other_arguments_are_other_calls);
  RUN(an_array_among_the_attributes_is_read_in_each_call);
  RUN(draws_differ_from_call_to_call);
  RUN(floats_of_16_bits_are_computed_in_float32);
  return test_done();
}
