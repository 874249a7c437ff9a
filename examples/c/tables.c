#include "check.h"

/* A table of text and numbers gives a column at a time. */
static void table_of_comma_separated_values(void)
{
  static const char text[] = "name,weight,age\nAda,61.5,36\nBob,?,42\n";
  FILE *f = fopen("people.csv", "w");
  must(f && fputs(text, f) >= 0 && !fclose(f), "a file can be written here");

  static const char *const missing[] = { "?" };
  const jfl_csv_spec spec = { .separator = ',', .header = 1, .missing = missing, .n_missing = 1 };
  jfl_csv *table;
  jfl_array *weights;
  const char *name;
  size_t n;
  check(jfl_csv_read("people.csv", &spec, &table));
  EXPECT(jfl_csv_columns(table) == 3 && jfl_csv_rows(table) == 2);
  EXPECT(!strcmp(jfl_csv_name(table, 1), "weight") && jfl_csv_is_text(table, 0));
  check(jfl_csv_column(table, 1, &weights));           /* float32; Bob's is not-a-number */
  EXPECT(((float *)jfl_array_data(weights))[0] == 61.5f);
  check(jfl_csv_text(table, 0, 1, &name, &n));
  EXPECT(n == 3 && !memcmp(name, "Bob", 3));
  jfl_array_unref(weights);
  jfl_csv_free(table);
  remove("people.csv");
}

int main(void)
{
  table_of_comma_separated_values();
  return 0;
}
