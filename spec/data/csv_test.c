/* A script's time is asked for while its table is read and while texts are taken from it. The clock
   here goes on by one second with each question. */
#include "base/base.h"
#include "jfl.h"
#include "scratch.h"
#include "test.h"

enum { ROWS = 20000 };

static double seconds;

static double left(void *ctx)
{
  (void)ctx;
  return seconds-- > 0 ? 1 : 0;
}

static void make_table(void)
{
  FILE *f = fopen("table.csv", "w");
  if (!f) abort();
  fprintf(f, "name\n");
  for (int i = 0; i < ROWS; i++) fprintf(f, "a%d\n", i);
  fclose(f);
}

static jfl_status read_within(double most, jfl_csv **t)
{
  const jfl_csv_spec spec = { .separator = ',', .header = 1 };
  seconds = most;
  return jfl_csv_read("table.csv", &spec, t);
}

static void asks_for_the_time(void)
{
  const char *text;
  size_t n;
  jfl_csv *t = NULL;
  jf_budget *b = jf_budget_new(0);
  jf_budget_limit(b, left, NULL);
  jf_budget *before = jf_memory_charge(b);

  CHECK(read_within(5, &t) == JFL_ELIMIT);
  CHECK(!t);
  CHECK(read_within(1e9, &t) == JFL_OK);
  CHECK(jfl_csv_rows(t) == ROWS);

  seconds = 2;
  jfl_status s = JFL_OK;
  for (int i = 0; i < ROWS && !s; i++) s = jfl_csv_text(t, 0, i, &text, &n);
  CHECK(s == JFL_ELIMIT);
  jfl_csv_free(t);

  jf_memory_charge(before);
  jf_budget_limit(b, NULL, NULL);
  jf_budget_drop(b);
}

/* Texts that stand for nothing are compared with each cell: with many of them each row counts. */
static void asks_more_often_for_more_comparisons(void)
{
  static const char *missing[1000];
  const jfl_csv_spec spec = { .separator = ',', .header = 1, .missing = missing,
                              .n_missing = 1000 };
  jfl_csv *t = NULL;
  jf_budget *b = jf_budget_new(0);
  jf_budget_limit(b, left, NULL);
  jf_budget *before = jf_memory_charge(b);
  for (int i = 0; i < 1000; i++) missing[i] = "no number";
  seconds = ROWS / 10;
  CHECK(jfl_csv_read("table.csv", &spec, &t) == JFL_ELIMIT);
  seconds = 1e9;
  CHECK(jfl_csv_read("table.csv", &spec, &t) == JFL_OK);
  jfl_csv_free(t);
  jf_memory_charge(before);
  jf_budget_limit(b, NULL, NULL);
  jf_budget_drop(b);
}

int main(void)
{
  scratch_make();
  if (chdir(scratch)) return 1;
  make_table();
  RUN(asks_for_the_time);
  RUN(asks_more_often_for_more_comparisons);
  return test_done();
}
