/* Messages between ranks, and sums over them, by sockets. */
#include <stdint.h>
#include <string.h>

#include "ranks.h"
#include "test.h"
#include "world/collective.h"
#include "world/world.h"

static void add_float(void *to, const void *more, int64_t n)
{
  float *y = to;
  const float *x = more;
  for (int64_t i = 0; i < n; i++) y[i] += x[i];
}
static void add_byte(void *to, const void *more, int64_t n)
{
  unsigned char *y = to;
  const unsigned char *x = more;
  for (int64_t i = 0; i < n; i++) y[i] = (unsigned char)(y[i] + x[i]);
}
static const jf_addition floats = { sizeof(float), add_float }, bytes = { 1, add_byte };

static const int64_t everyone[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

/* Fractions whose sums are rounded, so that the order of additions can be seen. */
static float number(int rank, int64_t i)
{
  return (float)((i * 2654435761u + (uint32_t)rank * 40503u) % 1000003u) / 997.0f;
}

/* ---- sums ---- */

static int is_near_sum(const jf_ranks *team, const float *x, int64_t n)
{
  for (int64_t i = 0; i < n; i++) {
    double sum = 0;
    for (int r = 0; r < team->n; r++) sum += (double)number((int)team->rank[r], i);
    if (!(x[i] > sum * (1 - 1e-5) - 1e-5 && x[i] < sum * (1 + 1e-5) + 1e-5)) return 0;
  }
  return 1;
}

static int sum_once(int rank, const jf_ranks *team, float *x, int64_t n)
{
  for (int64_t i = 0; i < n; i++) x[i] = number(rank, i);
  x[n] = 77;
  RANK_NEEDS(!jf_world_all_reduce(team, x, n, &floats));
  RANK_NEEDS(is_near_sum(team, x, n) && x[n] == 77);
  return 0;
}

/* All ranks come to the same bits, in each of two runs. */
static int sums(int rank, int size)
{
  static const int64_t lengths[] = { 0, 1, 7, 1000, 65537, 300001, 1000000 };
  const jf_ranks team = { size, everyone };
  uint64_t mine, again, all[RANKS_MOST];
  RANK_NEEDS(!jf_world_join());
  for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
    const int64_t n = lengths[k];
    float *x = malloc((size_t)(n + 1) * sizeof *x);
    if (sum_once(rank, &team, x, n)) return 1;
    mine = jf_hash(1, x, (size_t)n * sizeof *x);
    if (sum_once(rank, &team, x, n)) return 1;
    again = jf_hash(1, x, (size_t)n * sizeof *x);
    free(x);
    RANK_NEEDS(!jf_world_agree(&mine, sizeof mine, all));
    for (int r = 0; r < size; r++) RANK_NEEDS(all[r] == mine && mine == again);
  }
  return 0;
}

static void all_ranks_get_the_same_sum(void)
{
  for (int n = 1; n <= 5; n++) CHECK(ranks_run(n, sums) == 0);
  CHECK(ranks_run(8, sums) == 0);
}

/* Large sums go in pieces, each of which holds so many floats (world/collective.c). */
enum { PIECE = 1 << 17 };

/* The part of a rank is as long as one piece or two, or differs by one element. */
static int sums_by_pieces(int rank, int size)
{
  const jf_ranks team = { size, everyone };
  float *x = malloc((2 * PIECE * (size_t)size + 2) * sizeof *x);
  RANK_NEEDS(!jf_world_join());
  for (int64_t pieces = 1; pieces <= 2; pieces++)
    for (int64_t more = -1; more <= 1; more++)
      if (sum_once(rank, &team, x, pieces * PIECE * size + more)) return 1;
  free(x);
  return 0;
}

static void sums_end_where_pieces_do(void)
{
  CHECK(ranks_run(2, sums_by_pieces) == 0);
  CHECK(ranks_run(3, sums_by_pieces) == 0);
}

/* Teams without common ranks sum at the same time, and one that is part of both after that. */
static int teams(int rank, int size)
{
  static const int64_t one[] = { 0, 2 }, other[] = { 1, 3 }, third[] = { 1, 2, 3 };
  const jf_ranks own = rank % 2 ? (jf_ranks){ 2, other } : (jf_ranks){ 2, one };
  float *x = malloc(200001 * sizeof *x);
  (void)size;
  RANK_NEEDS(!jf_world_join());
  if (sum_once(rank, &own, x, 200000) || sum_once(rank, &own, x, 3)) return 1;
  if (rank && sum_once(rank, &(jf_ranks){ 3, third }, x, 200000)) return 1;
  free(x);
  return 0;
}

static void teams_sum_what_their_ranks_have(void) { CHECK(ranks_run(4, teams) == 0); }

static int other_types(int rank, int size)
{
  unsigned char x[70001];
  RANK_NEEDS(!jf_world_join());
  for (int i = 0; i < 70001; i++) x[i] = (unsigned char)(i * 31 + rank * 101);
  RANK_NEEDS(!jf_world_all_reduce(&(jf_ranks){ size, everyone }, x, 70001, &bytes));
  for (int i = 0; i < 70001; i++)
    RANK_NEEDS(x[i] == (unsigned char)(size * i * 31 + size * (size - 1) / 2 * 101));
  return 0;
}

static void elements_of_any_size_are_summed(void) { CHECK(ranks_run(3, other_types) == 0); }

static int scatter(int rank, int size, const int64_t *count)
{
  const jf_ranks team = { size, everyone };
  int64_t n = 0, begin = 0;
  for (int r = 0; r < size; r++) n += count[r];
  for (int r = 0; r < rank; r++) begin += count[r];
  float *x = malloc((size_t)n * sizeof *x), *part = malloc((size_t)(count[rank] + 1) * sizeof *x);
  for (int64_t i = 0; i < n; i++) x[i] = (float)(i % 1000 + rank);
  part[count[rank]] = 77;
  RANK_NEEDS(!jf_world_reduce_scatter(&team, x, part, count, &floats));
  for (int64_t i = 0; i < count[rank]; i++)
    RANK_NEEDS(part[i] == (float)((begin + i) % 1000 * size + size * (size - 1) / 2));
  RANK_NEEDS(part[count[rank]] == 77);
  free(x);
  free(part);
  return 0;
}

/* Parts of different sizes, some of nothing, some of as much as a piece holds or one more. */
static int parts(int rank, int size)
{
  static const int64_t count[][4] = {
    { 5, 0, 100003, 1 }, { PIECE, PIECE + 1, PIECE - 1, 0 }, { 0, 2 * PIECE + 1, 1, PIECE },
    { 2 * PIECE, 0, 0, 0 }, { 0, 0, 0, 2 * PIECE - 1 }, { 0, 0, 0, 0 },
  };
  RANK_NEEDS(!jf_world_join());
  for (size_t i = 0; i < sizeof count / sizeof *count; i++)
    if (scatter(rank, size, count[i])) return 1;
  return 0;
}

static void each_rank_gets_its_part_of_a_sum(void)
{
  for (int n = 1; n <= 4; n++) CHECK(ranks_run(n, parts) == 0);
}

/* ---- messages ---- */

/* How many bytes the k-th message from one rank to another has; the last three are about as long as
   the shortest one that is copied from memory (world/by_socket.c). */
static size_t length_of(int from, int to, int k)
{
  if (k > 2) return (size_t)(32768 + k - 4);
  return k == 1 ? 0 : k == 2 ? 3000000u + (size_t)(from * 17 + to) : (size_t)(from * 5 + to + 1);
}

static char letter(int from, int to, int k, size_t i)
{
  return (char)(from * 7 + to * 3 + k + (int)(i % 251));
}

/* Every rank sends some messages to every other one, all at once. */
static int messages(int rank, int size)
{
  enum { EACH = 6 };
  jf_mail out[RANKS_MOST * EACH], in[RANKS_MOST * EACH];
  int n = 0;
  RANK_NEEDS(!jf_world_join());
  for (int other = 0; other < size; other++) {
    for (int k = 0; k < EACH && other != rank; k++, n++) {
      out[n] = (jf_mail){ other, malloc(length_of(rank, other, k) + 1), length_of(rank, other, k) };
      in[n] = (jf_mail){ other, malloc(length_of(other, rank, k) + 1), length_of(other, rank, k) };
      for (size_t i = 0; i < out[n].size; i++) ((char *)out[n].data)[i] = letter(rank, other, k, i);
    }
  }
  for (int times = 0; times < 3; times++) {
    for (int i = 0; i < n; i++) memset(in[i].data, 99, in[i].size);
    RANK_NEEDS(!jf_world_exchange(out, n, in, n));
    for (int m = 0; m < n; m++)
      for (size_t i = 0; i < in[m].size; i++)
        RANK_NEEDS(((char *)in[m].data)[i] == letter(in[m].rank, rank, m % EACH, i));
  }
  for (int i = 0; i < n; i++) {
    free(out[i].data);
    free(in[i].data);
  }
  return 0;
}

static void messages_arrive_in_their_order(void)
{
  for (int n = 2; n <= 4; n++) CHECK(ranks_run(n, messages) == 0);
}

/* A chain: rank 0 only sends, the last one only receives; and rank 0 is late. */
static int chain(int rank, int size)
{
  int64_t word = 40;
  RANK_NEEDS(!jf_world_join());
  if (!rank) usleep(200000);
  const jf_mail in = { rank - 1, &word, sizeof word }, out = { rank + 1, &word, sizeof word };
  RANK_NEEDS(!jf_world_exchange(NULL, 0, &in, rank > 0));
  word++;
  RANK_NEEDS(!jf_world_exchange(&out, rank < size - 1, NULL, 0));
  RANK_NEEDS(word == 41 + rank);
  int64_t all[RANKS_MOST];
  RANK_NEEDS(!jf_world_agree(&word, sizeof word, all));
  return 0;
}

static void a_chain_of_messages_arrives(void) { CHECK(ranks_run(4, chain) == 0); }

/* ---- ends ---- */

/* Rank 1 ends while the others sum with it. */
static int is_left(int rank, int size)
{
  const jf_ranks team = { size, everyone };
  float *x = calloc(500000, sizeof *x);
  jfl_status s = JFL_OK;
  RANK_NEEDS(!jf_world_join());
  for (int i = 0; i < 1000 && !s; i++) {
    if (rank == 1 && i == 20) _exit(0);
    s = jf_world_all_reduce(&team, x, i % 2 ? 500000 : 5, &floats);
  }
  RANK_NEEDS(s == JFL_EIO && strstr(jfl_errmsg(), "rank 1 ("));
  RANK_NEEDS(jf_world_all_reduce(&team, x, 5, &floats) == JFL_EIO);
  free(x);
  return 0;
}

static void a_sum_with_a_rank_that_ends_fails(void)
{
  CHECK(ranks_run(2, is_left) == 0);
  CHECK(ranks_run(4, is_left) == 0);
}

static void run_all(void)
{
  RUN(all_ranks_get_the_same_sum);
  RUN(sums_end_where_pieces_do);
  RUN(teams_sum_what_their_ranks_have);
  RUN(elements_of_any_size_are_summed);
  RUN(each_rank_gets_its_part_of_a_sum);
  RUN(messages_arrive_in_their_order);
  RUN(a_chain_of_messages_arrives);
  RUN(a_sum_with_a_rank_that_ends_fails);
}

/* Once through each other's memory, and once by sockets alone, as between hosts. */
int main(void)
{
  run_all();
  setenv("JFL_PEEK", "0", 1);
  run_all();
  return test_done();
}
