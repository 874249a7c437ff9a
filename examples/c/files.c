#include "check.h"

/* A file takes the place of another when it is whole, or not at all. */
static void file_that_replaces_another(void)
{
  jfl_output *o;
  check(jfl_output_open("scores.txt", &o));
  check(jfl_output_write(o, "3 : 1\n", 6));
  check(jfl_output_keep(o));                 /* now it is there */

  check(jfl_output_open("totals.txt", &o));
  check(jfl_output_write(o, "3 : 1 : 0\n", 10));
  check(jfl_output_rights(o, "scores.txt")); /* who may read the one may read the other */
  check(jfl_output_keep(o));

  check(jfl_output_open("scores.txt", &o));
  check(jfl_output_write(o, "4 :", 3));
  jfl_output_drop(o);                        /* the first one still is */

  char line[16] = "";
  FILE *f = fopen("scores.txt", "r");
  EXPECT(f && fgets(line, sizeof line, f) && !strcmp(line, "3 : 1\n"));
  fclose(f);
  remove("scores.txt");
  remove("totals.txt");
}

int main(void)
{
  file_that_replaces_another();
  return 0;
}
