/* Each allocation of a tokenizer's life fails once: each failure is JFL_ENOMEM, nothing leaks, and
   the tokenizer makes what it made before. */
#include <stdlib.h>
#include <string.h>

#include "jfl.h"
#include "test.h"

static long left, held;      /* allocations until one fails; bytes in use */

static void *take(void *ud, size_t size)
{
  (void)ud;
  CHECK_MSG(size < 1 << 26, "%zu bytes", size);
  void *p = left-- == 0 ? NULL : malloc(size);
  if (p) held += (long)size;
  return p;
}

static void give(void *ud, void *p, size_t size)
{
  (void)ud;
  held -= (long)size;
  free(p);
}

#define TRY(e) do { jfl_status s_ = (e); if (s_) return s_; } while (0)

/* Long enough that lists grow while they are filled. */
enum { WORDS = 300 };
static char words[8 * WORDS + 1];
static const jfl_text texts[] = { { words, 8 * WORDS - 1 }, { "the the end", 11 } };

/* The first life, in which nothing fails, says how many tokens there are. */
static int64_t wanted;

static void check_tokens(int64_t n)
{
  if (!wanted) wanted = n;
  CHECK_MSG(n == wanted && n > WORDS, "%lld tokens, expected %lld", (long long)n,
            (long long)wanted);
}

static jfl_status use(jfl_tokenizer *t)
{
  const jfl_token *token;
  jfl_encoding *e;
  jfl_batch b;
  int32_t ids[8];
  char *text;
  size_t size;
  TRY(jfl_tokenizer_encode(t, &texts[0], &texts[1], NULL, &e));
  const int64_t n = jfl_encoding_tokens(e, &token);
  check_tokens(n);
  for (int i = 0; i < 8; i++) ids[i] = token[i].id;
  jfl_encoding_free(e);
  TRY(jfl_tokenizer_decode(t, ids, 8, 1, &text, &size));
  CHECK_MSG(size > 4 && !strncmp(text, words, size), "%s", text);
  jfl_text_free(text);
  TRY(jfl_tokenizer_batch(t, texts, NULL, 2, &(jfl_encode_spec){ .length = -1 }, &b));
  jfl_array_unref(b.ids);
  jfl_array_unref(b.mask);
  jfl_array_unref(b.types);
  return JFL_OK;
}

static jfl_status learned(void)
{
  const jfl_text special[] = { { "<end>", 5 } };
  const jfl_bpe_spec spec = { .size = 290, .special = special, .n_special = 1 };
  jfl_tokenizer *t;
  TRY(jfl_tokenizer_train(texts, 2, &spec, &t));
  const jfl_status s = use(t);
  jfl_tokenizer_free(t);
  return s;
}

/* Of other steps: normalizers, an expression, added tokens, byte fallback, a template. */
static const char steps[] =
  "{\"added_tokens\":[{\"id\":2,\"content\":\"End\",\"normalized\":true,\"lstrip\":true},"
  "{\"id\":3,\"content\":\" \",\"normalized\":true}],"      /* nothing of which is left */
  "\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":"
  "\"Lowercase\"},{\"type\":\"Replace\",\"pattern\":{\"Regex\":\"x+\"},\"content\":\"y\"},"
  "{\"type\":\"Strip\",\"strip_left\":true,\"strip_right\":true}]},"
  "\"pre_tokenizer\":{\"type\":\"Split\",\"pattern\":{\"Regex\":\" ?(?:\\\\w|-)+?\"},"
  "\"behavior\":\"Isolated\"},"
  "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"a\",1],\"cls\":[\"?\",0]},"
  "\"decoder\":{\"type\":\"Replace\",\"pattern\":\"q\",\"content\":\"\"},"
  "\"model\":{\"type\":\"%s\",%s}}";

static jfl_status read_and_used(const char *type, const char *members)
{
  char json[2000];
  const jfl_token *token;
  jfl_tokenizer *t;
  jfl_encoding *e;
  char *text;
  size_t size;
  const int n = snprintf(json, sizeof json, steps, type, members);
  TRY(jfl_tokenizer_parse(json, (size_t)n, &t));
  jfl_status s = jfl_tokenizer_encode(t, &texts[0], NULL, NULL, &e);
  if (!s) {
    const int64_t tokens = jfl_encoding_tokens(e, &token);
    const int32_t ids[] = { token[0].id, token[1].id, 1 };
    check_tokens(tokens);
    s = jfl_tokenizer_decode(t, ids, 3, 0, &text, &size);
    if (!s) jfl_text_free(text);
    jfl_encoding_free(e);
  }
  jfl_tokenizer_free(t);
  return s;
}

static jfl_status unigram(void)
{
  return read_and_used("Unigram", "\"unk_id\":0,\"vocab\":[[\"?\",0],[\"a\",-1]]");
}

static jfl_status wordpiece(void)
{
  return read_and_used("WordPiece", "\"unk_token\":\"?\",\"vocab\":{\"?\":0,\"a\":1}");
}

/* A text that grows so that what is copied behind the places has no room any more. */
static jfl_status grown(void)
{
  char text[3040], y[101] = "", json[400];
  jfl_tokenizer *t;
  jfl_encoding *e;
  memset(text, 'w', sizeof text);
  for (int i = 0; i < 20; i++) memcpy(text + 2 * i, "x-", 2);
  memset(y, 'y', sizeof y - 1);
  const int n = snprintf(json, sizeof json, "{\"normalizer\":{\"type\":\"Replace\",\"pattern\":"
                         "{\"String\":\"x\"},\"content\":\"%s\"},\"model\":{\"type\":\"Unigram\","
                         "\"unk_id\":0,\"vocab\":[[\"w\",0]]}}", y);
  TRY(jfl_tokenizer_parse(json, (size_t)n, &t));
  const jfl_status s = jfl_tokenizer_encode(t, &(jfl_text){ text, sizeof text }, NULL, NULL, &e);
  if (!s) jfl_encoding_free(e);
  jfl_tokenizer_free(t);
  return s;
}

/* Fails the first allocation, then the second, and so on until none fails. */
static void fail_each(jfl_status (*life)(void))
{
  jfl_status s = JFL_ENOMEM;
  long n = 0;
  wanted = 0;
  left = -1;
  CHECK(!life());
  for (; s == JFL_ENOMEM && n < 100000; n++) {
    left = n;
    s = life();
    CHECK_MSG(held == 0, "%ld bytes stay behind after failure %ld", held, n);
  }
  CHECK_MSG(!s && n > 30, "status %d at allocation %ld: %s", (int)s, n, jfl_errmsg());
}

static void a_tokenizer_that_learns(void) { fail_each(learned); }
static void a_unigram_model(void) { fail_each(unigram); }
static void a_wordpiece_model(void) { fail_each(wordpiece); }
static void a_text_that_grows(void) { fail_each(grown); }

int main(void)
{
  for (int i = 0; i < WORDS; i++) sprintf(words + 8 * i, "w%c%cen-%d ", 'a' + i % 26,
                                          'a' + i / 26, i % 10);
  jfl_set_allocator(&(jfl_allocator){ take, give, NULL });
  RUN(a_tokenizer_that_learns);
  RUN(a_unigram_model);
  RUN(a_wordpiece_model);
  RUN(a_text_that_grows);
  return test_done();
}
