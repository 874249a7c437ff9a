/* src/text/trie.c: every word is found, and nothing else, however many words go on alike. */
#include <string.h>

#include "test.h"
#include "text/tokenizer.h"

enum { MOST = 256 };

static char text[MOST][4];
static jf_word words[MOST];

/* Words "aX", where X is each n-th byte; a word's id is X. */
static int take_words(int step)
{
  int n = 0;
  for (int x = MOST - 1; x >= 0; x -= step, n++) {
    text[n][0] = 'a';
    text[n][1] = (char)x;
    words[n] = (jf_word){ .s = text[n], .n = 2, .id = x };
  }
  return n;
}

static void each_word_is_found_beside_any_number_of_others(void)
{
  for (int step = 1; step <= MOST; step++) {
    jf_trie t = { 0 };
    CHECK(!jf_trie_new(&t, words, take_words(step)));
    const int32_t a = jf_trie_step(&t, 0, 'a');
    CHECK(a != JF_NO_ID && jf_trie_word(&t, a) == JF_NO_ID && jf_trie_step(&t, 0, 'b') == JF_NO_ID);
    for (int x = 0; x < MOST; x++) {
      const int32_t at = jf_trie_step(&t, a, (unsigned char)x);
      const int there = (MOST - 1 - x) % step == 0;
      CHECK_MSG(there ? at != JF_NO_ID && jf_trie_word(&t, at) == x : at == JF_NO_ID,
                "byte %d, every %d-th", x, step);
    }
    jf_trie_free(&t);
  }
}

/* Of each word all beginnings are words; the first of two that are the same counts. */
static void words_lie_within_words(void)
{
  static const char *const list[] = { "abc", "a", "ab", "ab", "abcd", "" };
  jf_word some[6];
  jf_trie t = { 0 };
  for (int i = 0; i < 6; i++)
    some[i] = (jf_word){ .s = list[i], .n = (uint32_t)strlen(list[i]), .id = i };
  CHECK(!jf_trie_new(&t, some, 6));
  int32_t at = 0, found[5];
  found[0] = jf_trie_word(&t, 0);
  for (int i = 0; i < 4; i++) found[i + 1] = jf_trie_word(&t, at = jf_trie_step(&t, at, "abcd"[i]));
  CHECK(found[0] == 5 && found[1] == 1 && found[3] == 0 && found[4] == 4);
  CHECK_MSG(found[2] == 2 || found[2] == 3, "%d", found[2]);
  CHECK(jf_trie_step(&t, at, 'e') == JF_NO_ID);
  jf_trie_free(&t);
}

int main(void)
{
  RUN(each_word_is_found_beside_any_number_of_others);
  RUN(words_lie_within_words);
  return test_done();
}
