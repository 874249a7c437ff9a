#include "check.h"

/* Processes that a launcher started together meet, and tell each other a number. Started alone, the
   process is rank 0 of 1. */
static void ranks_that_meet(void)
{
  int rank, size;
  check(jfl_world_join(&rank, &size));
  printf("rank %d of %d on %s\n", rank, size, jfl_world_host(rank));
  double mine = rank, *all = calloc((size_t)size, sizeof *all);
  EXPECT(all != NULL);
  check(jfl_world_gather(&mine, sizeof mine, all));
  EXPECT(all[size - 1] == size - 1);
  free(all);
  EXPECT(jfl_world_trouble() == NULL);       /* else a text that names the rank that has ended */
}

/* Where no launcher tells them, hosts can be named before the ranks meet; not afterwards. */
static void hosts_by_name(void)
{
  static const char *const host[] = { "node1", "node2" };
  EXPECT(jfl_world_set(host, 2, 0, -1) == JFL_ESTATE);
  printf("%s\n", jfl_errmsg());
}

/* All ranks get the text that the first one has read. */
static void text_for_all_ranks(void)
{
  jfl_session *s;
  char *text;
  check(jfl_session_new(&s));
  check(jfl_session_hand_out(s, "read the settings", "rate = 0.1", &text));
  EXPECT(!strcmp(text, "rate = 0.1"));
  jfl_text_free(text);
  jfl_session_free(s);
}

/* A rank that cannot go on tells the others why; one that has done its part leaves with NULL. */
static void end_of_the_work(void)
{
  jfl_world_leave(NULL);
}

int main(void)
{
  ranks_that_meet();
  hosts_by_name();
  text_for_all_ranks();
  end_of_the_work();
  return 0;
}
