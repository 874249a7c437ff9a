/* What ranks agree on: every byte of what each gave counts, whoever gave it and wherever it is. */
#include <string.h>

#include "ranks.h"
#include "run/run.h"
#include "test.h"
#include "world/world.h"

enum { SIZE = 3 };

/* ---- bytes ---- */

static unsigned char byte_at(size_t i) { return (unsigned char)(31 * i + 7); }

/* Rank `who` gives another byte at `at`; all get what each gave. */
static int gather(int rank, size_t size, int who, size_t at)
{
  unsigned char mine[JF_WORLD_MESSAGE], all[SIZE * JF_WORLD_MESSAGE];
  for (size_t i = 0; i < size; i++) mine[i] = byte_at(i);
  if (rank == who) mine[at] ^= 1;
  RANK_NEEDS(!jf_world_agree(mine, size, all));
  for (int r = 0; r < SIZE; r++)
    for (size_t i = 0; i < size; i++)
      RANK_NEEDS(all[(size_t)r * size + i] == (byte_at(i) ^ (r == who && i == at)));
  return 0;
}

static int gather_all(int rank, int size)
{
  static const size_t sizes[] = { 1, 2, 7, 8, 9, 64, 170, 171, 172, 224, 256, 257, 511, 512 };
  (void)size;
  RANK_NEEDS(!jf_world_join());
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const size_t n = sizes[k], at[] = { 0, n / 2, n > 1 ? n - 2 : 0, n - 1 };
    for (int who = -1; who < SIZE; who++)
      for (int i = 0; i < (who < 0 ? 1 : 4); i++)
        if (gather(rank, n, who, at[i])) return 1;
  }
  return 0;
}

static void each_byte_of_each_rank_arrives(void) { CHECK(ranks_run(SIZE, gather_all) == 0); }

static int too_much(int rank, int size)
{
  char mine[JF_WORLD_MESSAGE + 1] = { 0 }, all[SIZE * sizeof mine];
  (void)size;
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(jf_world_agree(mine, sizeof mine, all) == JFL_EINVAL);
  RANK_NEEDS(!jf_world_agree(mine, JF_WORLD_MESSAGE, all) && !jf_world_trouble());
  return 0;
}

static void a_byte_too_many_is_refused_and_the_world_goes_on(void)
{
  CHECK(ranks_run(SIZE, too_much) == 0);
}

/* ---- what ranks do ---- */

/* All do the same, but for rank `who`, which differs in the letter at `at`. */
static int differ_in(int rank, jfl_session *s, int n, int who, int at)
{
  char doing[512];
  memset(doing, 'd', (size_t)n);
  doing[n] = '\0';
  if (rank == who) doing[at] = 'e';
  const jfl_status st = jf_session_agree(s, doing);
  if (who < 0) RANK_NEEDS(!st);
  else RANK_NEEDS(st == JFL_ESTATE && !jf_world_trouble());
  return 0;
}

static int do_others(int rank, int size)
{
  static const int lengths[] = { 1, 2, 100, 119, 120, 121, 214, 215, 216, 400 };
  jfl_session *s;
  (void)size;
  RANK_NEEDS(!jf_world_join() && !jfl_session_new(&s));
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const int n = lengths[k], at[] = { 0, n / 2, n - 1 };
    for (int who = -1; who < SIZE; who++)
      for (int i = 0; i < (who < 0 ? 1 : 3); i++)
        if (differ_in(rank, s, n, who, at[i])) return 1;
  }
  jfl_session_free(s);
  return 0;
}

/* A name is shown in part, and counts as a whole. */
static int name_others(int rank, int size)
{
  jfl_session *s;
  char name[301];
  (void)size;
  RANK_NEEDS(!jf_world_join() && !jfl_session_new(&s));
  memset(name, 'n', 300);
  for (int n = 1; n <= 300; n += n < 117 ? 29 : n < 123 ? 1 : 59)
    for (int who = 0; who < SIZE; who++) {
      name[n] = '\0';
      name[n - 1] = rank == who ? 'm' : 'n';
      RANK_NEEDS(jf_session_agree_to(s, "read", name) == JFL_ESTATE && !jf_world_trouble());
      name[n - 1] = 'n';
      RANK_NEEDS(!jf_session_agree_to(s, "read", name));
      RANK_NEEDS(jf_session_agree_to(s, rank == who ? "read" : "set", name) == JFL_ESTATE);
      name[n] = 'n';
    }
  jfl_session_free(s);
  return 0;
}

static void ranks_that_name_other_things_hear_of_it_however_long_the_names_are(void)
{
  CHECK(ranks_run(SIZE, name_others) == 0);
}

static void ranks_that_do_other_things_hear_of_it_wherever_the_texts_differ(void)
{
  CHECK(ranks_run(SIZE, do_others) == 0);
}

static int hash_otherwise(int rank, int size)
{
  jfl_session *s;
  (void)size;
  RANK_NEEDS(!jf_world_join() && !jfl_session_new(&s));
  for (int bit = 0; bit < 64; bit++)
    for (int who = 0; who < SIZE; who++) {
      const uint64_t hash = 5 ^ (uint64_t)(rank == who) << bit;
      RANK_NEEDS(jf_session_agree_on(s, "walk", hash) == JFL_ESTATE);
      RANK_NEEDS(strstr(jfl_errmsg(), "both walk, but it is not the same there"));
    }
  RANK_NEEDS(!jf_session_agree_on(s, "walk", 5));
  jfl_session_free(s);
  return 0;
}

static void ranks_whose_hashes_differ_in_a_bit_hear_of_it(void)
{
  CHECK(ranks_run(SIZE, hash_otherwise) == 0);
}

/* ---- hashes ---- */

static void a_hash_depends_on_every_byte(void)
{
  char text[600];
  for (int n = 1; n < (int)sizeof text; n += n < 70 ? 1 : 53) {
    memset(text, 'x', (size_t)n);
    text[n] = '\0';
    const uint64_t of_text = jf_hash_str(1, text), of_bytes = jf_hash(1, text, (size_t)n);
    CHECK(of_bytes != jf_hash(2, text, (size_t)n) && of_bytes != jf_hash(1, text, (size_t)n - 1));
    for (int i = 0; i < n; i++) {
      text[i] ^= 1;
      CHECK_MSG(jf_hash_str(1, text) != of_text, "%d of %d", i, n);
      CHECK_MSG(jf_hash(1, text, (size_t)n) != of_bytes, "%d of %d", i, n);
      text[i] ^= 1;
    }
  }
}

int main(void)
{
  RUN(each_byte_of_each_rank_arrives);
  RUN(a_byte_too_many_is_refused_and_the_world_goes_on);
  RUN(ranks_that_do_other_things_hear_of_it_wherever_the_texts_differ);
  RUN(ranks_that_name_other_things_hear_of_it_however_long_the_names_are);
  RUN(ranks_whose_hashes_differ_in_a_bit_hear_of_it);
  RUN(a_hash_depends_on_every_byte);
  return test_done();
}
