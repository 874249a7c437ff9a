/* What jfl.h lets several threads do at once: each has objects of its own, which share the
   library's tables, other libraries and devices at the first use; arrays and requests cross. */
#include "lua_test.h"
#include "models.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, BATCH = 8, RUNS = 3 };
#define MUST(e) do { if (e) { fprintf(stderr, "%s\n", jfl_errmsg()); abort(); } } while (0)

static pthread_barrier_t gate;

/* Calls fn(i) on all threads, which begin together. */
static void together(void *(*fn)(void *i))
{
  pthread_t t[THREADS];
  pthread_barrier_init(&gate, NULL, THREADS);
  for (intptr_t i = 0; i < THREADS; i++)
    if (pthread_create(&t[i], NULL, fn, (void *)i)) abort();
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  pthread_barrier_destroy(&gate);
}

/* ---- sessions ---- */

static jfl_array *input[2];
static float loss[THREADS];

static void train_once(jfl_plan *p, jfl_session *s, int i)
{
  jfl_array *out;
  jfl_request *r;
  MUST(jfl_run(p, input, &out));
  jfl_array_unref(out);
  MUST(jfl_submit(p, input, &r));
  MUST(jfl_session_wait(s, r, -1));
  MUST(jfl_request_status(r));
  loss[i] = *(const float *)jfl_array_data(jfl_request_output(r, 0));
  jfl_request_unref(r);
}

static void *train(void *arg)
{
  const int i = (int)(intptr_t)arg;
  const jfl_arg seed = { .name = "seed", .number = 7 };
  jfl_session *s;
  jfl_plan *p;
  pthread_barrier_wait(&gate);
  MUST(jfl_session_new(&s));
  MUST(jfl_session_set(s, &seed));
  MUST(model_plan(s, "train", model_lenet, BATCH, 0.9, &p));
  for (int k = 0; k < RUNS; k++) train_once(p, s, i);
  jfl_session_free(s);
  return NULL;
}

static void sessions_train_on_the_same_arrays(void)
{
  MUST(model_inputs(BATCH, input));
  together(train);
  for (int i = 1; i < THREADS; i++) CHECK_MSG(loss[i] == loss[0], "%g %g", loss[i], loss[0]);
  model_drop(input);
}

/* ---- readers, tokenizers, scripts: their tables and libraries are made at the first use ---- */

static const char words[] =
  "{\"version\":\"1.0\",\"normalizer\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"Split\","
  "\"pattern\":{\"Regex\":\"\\\\p{L}+\"},\"behavior\":\"Isolated\",\"invert\":false},"
  "\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},\"merges\":[\"a b\"]}}";
static const unsigned char png[] = {
  137, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I', 'H', 'D', 'R', 0, 0, 0, 1, 0, 0, 0, 1, 8,
  0, 0, 0, 0, 0x3a, 0x7e, 0x9b, 0x55, 0, 0, 0, 10, 'I', 'D', 'A', 'T', 0x78, 0x9c, 0x63, 0x60, 0,
  0, 0, 2, 0, 1, 0x48, 0xaf, 0xa4, 0x71, 0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xae, 0x42, 0x60, 0x82 };

static void use_tokenizer(void)
{
  jfl_tokenizer *t;
  jfl_encoding *e;
  const jfl_token *token;
  MUST(jfl_tokenizer_parse(words, sizeof words - 1, &t));
  MUST(jfl_tokenizer_encode(t, &(jfl_text){ "\xef\xbd\x81" "b", 4 }, NULL, NULL, &e));
  CHECK(jfl_encoding_tokens(e, &token) == 1 && token->id == 2);
  jfl_encoding_free(e);
  jfl_tokenizer_free(t);
}

static void use_pictures(void)
{
  jfl_array *a = NULL, *jpeg, *pixels;
  MUST(jfl_picture_decode(png, sizeof png, &(jfl_picture_spec){ .fit = JFL_WHOLE }, 0, &a));
  jfl_array_unref(a);
  MUST(jfl_array_new(JFL_U8, &(jfl_shape){ 3, { 8, 8, 3 } }, &pixels));
  MUST(jfl_jpeg_encode(pixels, 90, &jpeg));
  jfl_array_unref(jpeg);
  jfl_array_unref(pixels);
}

static void use_script(void)
{
  static const char text[] =
    "local flow = require 'jfl'\n"
    "local job = flow.global_function { name = 'f', returns = flow.typing.Numpy, inputs = { {\n"
    "  'x', flow.typing.Numpy.Placeholder { 2, 3 } } }, body = function(x)\n"
    "    return flow.matmul(x, flow.math.exp(x), { transpose_b = true }) end }\n"
    "got = job(flow.ndarray.ones { 2, 3 }):sum()\n";
  jfl_script *s;
  jfl_script_value got = { 0 };
  MUST(jfl_script_new(&(jfl_script_options){ .size = sizeof(jfl_script_options) }, &s));
  MUST(jfl_script_run(s, text, sizeof text - 1, "=text"));
  MUST(jfl_script_get(s, "got", &got));
  CHECK_MSG(got.number > 32.61 && got.number < 32.63, "%.17g", got.number);
  jfl_script_free(s);
}

static void *use_all(void *arg)
{
  static void (*const all[])(void) = { use_tokenizer, use_pictures, use_script };
  char *text = NULL;
  for (int k = 0; k < 3; k++) {
    pthread_barrier_wait(&gate);
    all[k]();
  }
  pthread_barrier_wait(&gate);
  MUST(jfl_build_text(&text));
  jfl_text_free(text);
  return arg;
}

static void first_uses_meet(void) { together(use_all); }

/* ---- requests and arrays cross ---- */

static jfl_request *_Atomic crossing;
static atomic_int looked;

/* Looks at a request whose session, on another thread, goes on and ends. */
static void *look(void *arg)
{
  jfl_request *r;
  while (!(r = atomic_load(&crossing))) { }
  jfl_request_ref(r);
  atomic_fetch_add(&looked, 1);
  while (!jfl_request_done(r)) { }
  if (jfl_request_status(r) == JFL_OK) {
    jfl_array *a = jfl_array_ref(jfl_request_output(r, 0));
    CHECK(*(const float *)jfl_array_data(a) > 0);
    jfl_request_unref(r);
    jfl_array_unref(a);
  } else {
    jfl_request_unref(r);
  }
  return arg;
}

static void requests_outlive_their_session_on_other_threads(void)
{
  const jfl_arg never = { .name = "inline_limit", .number = 0 };
  for (int round = 0; round < 8; round++) {
    pthread_t t[THREADS];
    jfl_session *s;
    jfl_plan *p;
    jfl_request *r;
    atomic_store(&crossing, NULL);
    atomic_store(&looked, 0);
    for (int i = 0; i < THREADS; i++) if (pthread_create(&t[i], NULL, look, NULL)) abort();
    MUST(jfl_session_new(&s));
    MUST(jfl_session_set(s, &never));
    MUST(model_plan(s, "train", model_linear, BATCH, 0, &p));
    MUST(model_inputs(BATCH, input));
    MUST(jfl_submit(p, input, &r));
    atomic_store(&crossing, r);
    while (atomic_load(&looked) < THREADS) { }
    jfl_request_unref(r);
    jfl_session_free(s);
    model_drop(input);
    for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  }
}

/* ---- interruptions ---- */

static jfl_script *looping;
static atomic_int over;

static void *interrupt(void *arg)
{
  while (!atomic_load(&over)) jfl_script_interrupt(looping);
  return arg;
}

static void a_script_is_interrupted_from_other_threads(void)
{
  static const char text[] = "while true do end";
  pthread_t t[THREADS];
  MUST(jfl_script_new(&(jfl_script_options){ .size = sizeof(jfl_script_options), .seconds = 600 },
                      &looping));
  for (int i = 0; i < THREADS; i++) if (pthread_create(&t[i], NULL, interrupt, NULL)) abort();
  for (int i = 0; i < 20; i++) {
    CHECK(jfl_script_run(looping, text, sizeof text - 1, "=text") == JFL_ESCRIPT);
    CHECK_MSG(strstr(jfl_errmsg(), "interrupted"), "%s", jfl_errmsg());
  }
  atomic_store(&over, 1);
  for (int i = 0; i < THREADS; i++) pthread_join(t[i], NULL);
  jfl_script_free(looping);
}

int main(void)
{
  RUN(first_uses_meet);
  RUN(sessions_train_on_the_same_arrays);
  RUN(requests_outlive_their_session_on_other_threads);
  RUN(a_script_is_interrupted_from_other_threads);
  return test_done();
}
