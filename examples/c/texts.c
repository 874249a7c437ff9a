#include "check.h"

static jfl_text text_of(const char *s) { return (jfl_text){ s, strlen(s) }; }

/* A vocabulary is learnt from texts, and makes numbers of others. */
static void learn_a_vocabulary(void)
{
  const jfl_text texts[] = { text_of("low lower low lowest"), text_of("new newer") };
  const jfl_text special = text_of("<end>");
  const jfl_bpe_spec spec = { .size = 262, .special = &special, .n_special = 1 };
  jfl_tokenizer *t;
  const char *json, *token;
  char *back;
  size_t n;
  check(jfl_tokenizer_train(texts, 2, &spec, &t));
  EXPECT(jfl_tokenizer_id(t, "<end>", 5) == 0 && jfl_tokenizer_size(t) <= 262);

  const jfl_text text = text_of("lower");
  const jfl_token *tokens;
  jfl_encoding *e;
  int32_t ids[8];
  check(jfl_tokenizer_encode(t, &text, NULL, NULL, &e));
  const int64_t count = jfl_encoding_tokens(e, &tokens);
  for (int64_t i = 0; i < count; i++) ids[i] = tokens[i].id;
  check(jfl_tokenizer_token(t, ids[0], &token, &n));
  EXPECT(n == 3 && !memcmp(token, "low", 3) && tokens[0].to == 3);
  check(jfl_tokenizer_decode(t, ids, count, 1, &back, &n));
  EXPECT(n == 5 && !memcmp(back, "lower", 5));
  jfl_text_free(back);
  jfl_encoding_free(e);

  jfl_tokenizer *same;                       /* its file is what Hugging Face's tokenizers reads */
  check(jfl_tokenizer_json(t, &json, &n));
  check(jfl_tokenizer_parse(json, n, &same));
  jfl_tokenizer_free(t);
  FILE *f = fopen("tokenizer.json", "wb");
  check(jfl_tokenizer_json(same, &json, &n));
  must(f && fwrite(json, 1, n, f) == n && !fclose(f), "a file can be written here");
  jfl_tokenizer_free(same);
}

/* Several texts become arrays that a job takes. */
static void read_a_tokenizer(void)
{
  const jfl_text texts[] = { text_of("low low low"), text_of("new") };
  jfl_tokenizer *t;
  jfl_batch batch;
  check(jfl_tokenizer_read("tokenizer.json", &t));
  check(jfl_tokenizer_batch(t, texts, NULL, 2, NULL, &batch));
  EXPECT(jfl_array_shape(batch.ids)->d[0] == 2);
  const int64_t length = jfl_array_shape(batch.ids)->d[1];
  EXPECT(((int32_t *)jfl_array_data(batch.mask))[2 * length - 1] == 0);      /* padding */
  jfl_array_unref(batch.ids);
  jfl_array_unref(batch.mask);
  jfl_array_unref(batch.types);
  jfl_tokenizer_free(t);
  remove("tokenizer.json");
}

int main(void)
{
  learn_a_vocabulary();
  read_a_tokenizer();
  return 0;
}
