/* Tables in text files (CSV): a column of numbers becomes an array, one of other texts a list.

   Which kind a column is of is told by its first lines, while a later cell that is no number makes
   it one of texts, and then the file is read once more. */
#include "data/csv.h"
#include "base/need.h"
#include "data/data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKS = 1000, MOST_COLUMNS = 1 << 16, FIRST_ROWS = 8, MOST_NAME = 60, SHOWN = 40,
       SOME = 1 << 12 };       /* comparisons between two looks at the time */

typedef struct csv_text { const char *s; size_t n, doubled; } csv_text;

/* Cells are numbers of one kind or texts, of which `cell` is a list. */
typedef struct csv_column {
  char *name;
  jfl_csv_type type;           /* as asked for, or told by what is there */
  int asked, has_missing;
  jfl_dtype dtype;             /* of its array, where asked */
  jf_cell_kind kind;           /* of the numbers */
  void *cell; int64_t cap;     /* jf_cell_number or csv_text */
} csv_column;

struct jfl_csv {
  jf_tag tag;
  char *text; size_t size;
  const char *start;           /* behind the header */
  int64_t start_line;
  const jfl_csv_spec *spec;    /* while it is read */
  csv_column *column; int n_column;
  int64_t n_row;
  int again;                   /* a column turned out to be one of texts */
};

/* ---- the file ---- */

static jfl_status csv_text_room(void *table, int64_t size, void **out)
{
  jfl_csv *t = table;
  *out = t->text = jf_new_raw((size_t)size + 1);
  return t->text ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory: it has %lld bytes",
                                    (long long)size);
}

static jfl_status csv_load(jfl_csv *t, const char *path)
{
  JF_TRY(jf_input_read(path, csv_text_room, t, &t->size));
  t->text[t->size] = '\0';
  return JFL_OK;
}

static jf_cells csv_from(const jfl_csv *t, const char *at, int64_t line)
{
  return (jf_cells){ at, t->text + t->size, t->spec->separator, line };
}

/* ---- columns ---- */

/* Adds a column with that name; one that is empty, or that a file without a header lacks, is called
   by its number. */
static jfl_status csv_add(jfl_csv *t, int *cap, const char *s, size_t n)
{
  if (!JF_ROOM(t->column, t->n_column, *cap)) return jf_fail(JFL_ENOMEM, "out of memory");
  csv_column *c = &t->column[t->n_column];
  *c = (csv_column){ .kind = JF_WHOLE };
  c->name = jf_new(n + 24);
  if (!c->name) return jf_fail(JFL_ENOMEM, "out of memory");
  t->n_column++;
  if (n) c->name[jf_cells_undouble(c->name, s, n)] = '\0';
  else snprintf(c->name, 24, "column_%d", t->n_column);
  if (n && memchr(s, '\0', n))
    return jf_fail(JFL_EDATA, "line %lld: the name of column %d must hold no zero byte",
                   (long long)t->start_line, t->n_column);
  if (t->n_column > MOST_COLUMNS)
    return jf_fail(JFL_EDATA, "line %lld: columns must be at most %d, got more",
                   (long long)t->start_line, MOST_COLUMNS);
  if (t->spec->n_typed) JF_TRY(jf_time_for(0));
  for (int i = 0; i < t->spec->n_typed; i++)
    if (!strcmp(t->spec->typed[i], c->name)) {
      c->asked = 1;
      c->type = t->spec->type[i];
      c->dtype = t->spec->dtype[i];
    }
  return JFL_OK;
}

/* They are sorted, as hashes can be made to collide. */
static jfl_status csv_check_names(const jfl_csv *t)
{
  const char **name = jf_new_raw((size_t)t->n_column * sizeof *name);
  jfl_status r = name ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
  for (int i = 0; !r && i < t->n_column; i++) name[i] = t->column[i].name;
  if (!r) r = jf_sort_in_time(name, (size_t)t->n_column, sizeof *name, jf_by_text);
  for (int i = 1; !r && i < t->n_column; i++)
    if (!strcmp(name[i - 1], name[i]))
      r = jf_fail(JFL_EDATA, "line %lld: columns must have names that differ, got '%.*s' twice",
                  (long long)t->start_line, MOST_NAME, name[i]);
  jf_free(name);
  return r;
}

/* Reads the first line: names, or with no header how many cells there are. */
static jfl_status csv_head(jfl_csv *t)
{
  const int skips = t->size >= 3 && !memcmp(t->text, "\xef\xbb\xbf", 3) ? 3 : 0;
  jf_cells c = csv_from(t, t->text + skips, 1);
  jf_csv_cell cell = { 0 };
  int cap = 0;
  if (!jf_cells_more(&c)) return jf_fail(JFL_EDATA, "it has no lines");
  t->start = c.at;
  t->start_line = c.line;
  while (!cell.last) {
    JF_TRY(jf_cells_next(&c, &cell));
    JF_TRY(csv_add(t, &cap, cell.s, t->spec->header ? cell.n : 0));
  }
  JF_TRY(csv_check_names(t));
  if (!t->spec->header) return JFL_OK;
  t->start = c.at;
  t->start_line = c.line;
  return JFL_OK;
}

static int csv_is_missing(const jfl_csv_spec *spec, const jf_csv_cell *cell)
{
  for (int i = 0; i < spec->n_missing; i++)
    if (strlen(spec->missing[i]) == cell->n && !memcmp(spec->missing[i], cell->s, cell->n))
      return 1;
  return 0;
}

/* ---- cells ---- */

static jfl_status csv_room(csv_column *c, int64_t row)
{
  const size_t size = c->type == JFL_CSV_TEXT ? sizeof(csv_text) : sizeof(jf_cell_number);
  if (row < c->cap) return JFL_OK;
  const int64_t cap = c->cap ? 2 * c->cap : FIRST_ROWS;
  void *cell = jf_new_raw((size_t)cap * size);
  if (!cell) return jf_fail(JFL_ENOMEM, "out of memory");
  if (row) memcpy(cell, c->cell, (size_t)row * size);
  jf_free(c->cell);
  c->cell = cell;
  c->cap = cap;
  return JFL_OK;
}

/* Makes doubles of the whole numbers of `rows` rows. */
static void csv_make_real(csv_column *c, int64_t rows)
{
  jf_cell_number *v = c->cell;
  if (c->kind == JF_REAL) return;
  for (int64_t i = 0; i < rows; i++) v[i].d = (double)v[i].i;
  c->kind = JF_REAL;
}

static jfl_status csv_no_number(const csv_column *c, const jf_csv_cell *cell, int64_t line)
{
  const int n = cell->n < SHOWN ? (int)cell->n : SHOWN;
  return jf_fail(JFL_EDATA, "line %lld, column '%.*s': a number must stand there, got '%.*s'",
                 (long long)line, MOST_NAME, c->name, n, cell->s);
}

static jfl_status csv_put_number(jfl_csv *t, csv_column *c, const jf_csv_cell *cell, int64_t line)
{
  jf_cell_number *to = (jf_cell_number *)c->cell + t->n_row, v = { 0 };
  jf_cell_kind kind = jf_decimal(cell->s, cell->n, &v);
  if (kind == JF_NO_NUMBER) {
    if (!csv_is_missing(t->spec, cell)) {
      if (c->asked) return csv_no_number(c, cell, line);
      c->type = JFL_CSV_TEXT;      /* what is there so far is read once more */
      t->again = 1;
      return JFL_OK;
    }
    kind = JF_REAL;
    v.d = NAN;
    c->has_missing = 1;
  }
  if (kind == JF_REAL) csv_make_real(c, t->n_row);
  if (kind == JF_WHOLE && c->kind == JF_REAL) v.d = (double)v.i;
  *to = v;
  return JFL_OK;
}

static jfl_status csv_put(jfl_csv *t, csv_column *c, const jf_csv_cell *cell, int64_t line)
{
  if (t->again && c->type == JFL_CSV_TEXT) return JFL_OK;
  JF_TRY(csv_room(c, t->n_row));
  if (c->type == JFL_CSV_NUMBER) return csv_put_number(t, c, cell, line);
  ((csv_text *)c->cell)[t->n_row] = (csv_text){ cell->s, cell->n, (size_t)cell->doubled };
  return JFL_OK;
}

/* Takes a cell of a column, and the number of its line. */
typedef jfl_status csv_taker(jfl_csv *t, csv_column *c, const jf_csv_cell *cell, int64_t line);

/* Goes through the lines, at most so many (0: all), with the cells that put takes. */
static jfl_status csv_lines(jfl_csv *t, int64_t most, csv_taker *put)
{
  jf_cells c = csv_from(t, t->start, t->start_line);
  const int64_t each = 1 + t->spec->n_missing, some = each < SOME ? SOME / each : 1;
  int64_t cells = 0;
  t->n_row = 0;
  while (jf_cells_more(&c) && (!most || t->n_row < most)) {
    const int64_t line = c.line;
    jf_csv_cell cell = { 0 };
    int i = 0;
    for (; !cell.last && i < t->n_column; i++) {
      const int64_t own = c.line;      /* behind line ends in quotes it is another */
      if (cells++ % some == 0) JF_TRY(jf_time_for(0));
      JF_TRY(jf_cells_next(&c, &cell));
      JF_TRY(put(t, &t->column[i], &cell, own));
    }
    if (i < t->n_column || !cell.last)
      return jf_fail(JFL_EDATA, "line %lld must have %d cells, got %s", (long long)line,
                     t->n_column, i < t->n_column ? "fewer" : "more");
    t->n_row++;
  }
  return JFL_OK;
}

/* A column of which all that stands there are numbers is one of numbers. */
static jfl_status csv_look(jfl_csv *t, csv_column *c, const jf_csv_cell *cell, int64_t line)
{
  jf_cell_number v;
  (void)line;
  if (c->asked || c->type == JFL_CSV_TEXT || csv_is_missing(t->spec, cell)) return JFL_OK;
  if (jf_decimal(cell->s, cell->n, &v) == JF_NO_NUMBER) c->type = JFL_CSV_TEXT;
  return JFL_OK;
}

static void csv_forget(jfl_csv *t)
{
  for (int i = 0; i < t->n_column; i++) {
    csv_column *c = &t->column[i];
    jf_free(c->cell);
    c->cell = NULL;
    c->cap = 0;
    c->kind = JF_WHOLE;
    c->has_missing = 0;
  }
  t->again = 0;
}

/* Makes one quote of two in the texts. */
static void csv_undouble(jfl_csv *t)
{
  for (int i = 0; i < t->n_column; i++) {
    csv_text *v = t->column[i].cell;
    for (int64_t row = 0; t->column[i].type == JFL_CSV_TEXT && row < t->n_row; row++)
      if (v[row].doubled) v[row].n = jf_cells_undouble(t->text + (v[row].s - t->text), v[row].s,
                                                       v[row].n);
  }
}

static jfl_status csv_body(jfl_csv *t)
{
  JF_TRY(csv_lines(t, LOOKS, csv_look));
  JF_TRY(csv_lines(t, 0, csv_put));
  if (t->again) {
    csv_forget(t);
    JF_TRY(csv_lines(t, 0, csv_put));
  }
  if (!t->n_row) return jf_fail(JFL_EDATA, "it has no lines%s", t->spec->header ? " behind the "
                                                                "names of the columns" : "");
  csv_undouble(t);
  return JFL_OK;
}

static jfl_status csv_check_typed(const jfl_csv *t)
{
  for (int i = 0; i < t->spec->n_typed; i++) {
    int k = 0;
    JF_TRY(jf_time_for(0));
    while (k < t->n_column && strcmp(t->column[k].name, t->spec->typed[i])) k++;
    if (k == t->n_column)
      return jf_fail(JFL_ENAME, "types must name columns, got '%.*s', which is none", MOST_NAME,
                     t->spec->typed[i]);
  }
  return JFL_OK;
}

/* ---- the interface ---- */

void jfl_csv_free(jfl_csv *t)
{
  if (!JF_IS_LAST(CSV, t)) return;
  for (int i = 0; i < t->n_column; i++) {
    jf_free(t->column[i].name);
    jf_free(t->column[i].cell);
  }
  jf_free(t->column);
  jf_free(t->text);
  jf_free(t);
}

static jfl_status csv_check_spec(const jfl_csv_spec *s)
{
  const unsigned char c = (unsigned char)s->separator;
  if (!c || c == '"' || c == '\n' || c == '\r' || c >= 128)
    return jf_fail_argument(JFL_EINVAL, "separator", "must be one ASCII character that is no quote "
                            "and ends no line");
  JF_TRY(jf_need_list("jfl_csv_read", "missing", s->missing, s->n_missing));
  JF_TRY(jf_need_list("jfl_csv_read", "typed", s->typed, s->n_typed));
  JF_TRY(jf_need_list("jfl_csv_read", "type", s->type, s->n_typed));
  JF_TRY(jf_need_list("jfl_csv_read", "dtype", s->dtype, s->n_typed));
  for (int i = 0; i < s->n_typed; i++)
    if ((unsigned)s->type[i] > JFL_CSV_TEXT || (unsigned)s->dtype[i] >= JFL_N_DTYPE)
      return jf_fail_argument(JFL_EINVAL, "type", "must be a type and a dtype for each column");
  return JFL_OK;
}

jfl_status jfl_csv_read(const char *path, const jfl_csv_spec *spec, jfl_csv **out)
{
  JF_NEED_POINTERS(path, spec);
  JF_NEED_POINTER(out);
  JF_TRY(jf_need_told(__func__, csv_check_spec(spec)));
  jfl_csv *t = jf_new(sizeof *t);
  if (!t) return jf_fail(JFL_ENOMEM, "out of memory");
  t->tag = JF_TAG_CSV;
  t->spec = spec;
  jfl_status r = csv_load(t, path);
  if (r == JFL_OK) r = csv_head(t);
  if (r == JFL_OK) r = csv_check_typed(t);
  if (r == JFL_OK) r = csv_body(t);
  t->spec = NULL;
  if (r == JFL_OK) *out = t;
  else jfl_csv_free(t);
  return r == JFL_OK ? r : jf_blame(r, "%s: ", path);
}

int jfl_csv_columns(const jfl_csv *t) { return JF_IS(CSV, t) ? t->n_column : 0; }
int64_t jfl_csv_rows(const jfl_csv *t) { return JF_IS(CSV, t) ? t->n_row : 0; }

const char *jfl_csv_name(const jfl_csv *t, int column)
{
  if (!JF_IS(CSV, t) || column < 0 || column >= t->n_column) return NULL;
  return t->column[column].name;
}

int jfl_csv_is_text(const jfl_csv *t, int column)
{
  if (!JF_IS(CSV, t) || column < 0 || column >= t->n_column) return 0;
  return t->column[column].type == JFL_CSV_TEXT;
}

jfl_status jfl_csv_text(const jfl_csv *t, int column, int64_t row, const char **text, size_t *n)
{
  JF_NEED(CSV, t);
  JF_NEED_POINTERS(text, n);
  JF_NEED_BELOW(column, t->n_column);
  JF_NEED_BELOW(row, t->n_row);
  const csv_column *c = &t->column[column];
  if (c->type != JFL_CSV_TEXT)
    return jf_need_told(__func__, jf_fail_argument(JFL_EDTYPE, "column", "must have texts, got one "
                                                   "of numbers"));
  JF_TRY(jf_time_at(row));     /* whoever reads one row reads all of them */
  *text = ((const csv_text *)c->cell)[row].s;
  *n = ((const csv_text *)c->cell)[row].n;
  return JFL_OK;
}

/* The dtype that holds all of a column's numbers. */
static jfl_dtype csv_dtype(const csv_column *c, int64_t rows)
{
  const jf_cell_number *v = c->cell;
  if (c->asked) return c->dtype;
  if (c->kind == JF_REAL) return JFL_F32;
  for (int64_t i = 0; i < rows; i++)
    if (v[i].i < INT32_MIN || v[i].i > INT32_MAX) return JFL_I64;
  return JFL_I32;
}

static jfl_status csv_column_lossless(const jfl_csv *t, const csv_column *c, jfl_dtype dtype)
{
  const jf_cell_number *v = c->cell;
  if (jf_is_float(dtype)) return JFL_OK;
  for (int64_t i = 0; i < t->n_row; i++) {
    const double d = c->kind == JF_REAL ? v[i].d : (double)v[i].i;
    if (jf_holds(dtype, d)) continue;
    return jf_fail(JFL_EDATA, "column '%.*s': row %lld must fit %s, got %g", MOST_NAME, c->name,
                   (long long)i + 1, jfl_dtype_name(dtype), d);
  }
  return JFL_OK;
}

jfl_status jfl_csv_column(const jfl_csv *t, int column, jfl_array **out)
{
  JF_NEED(CSV, t);
  JF_NEED_POINTER(out);
  JF_NEED_BELOW(column, t->n_column);
  const csv_column *c = &t->column[column];
  jfl_array *a;
  if (c->type == JFL_CSV_TEXT)
    return jf_need_told(__func__, jf_fail_argument(JFL_EDTYPE, "column", "must have numbers, got "
                                                   "one of texts"));
  const jfl_dtype dtype = csv_dtype(c, t->n_row);
  JF_TRY(csv_column_lossless(t, c, dtype));
  const jfl_dtype from = c->kind == JF_REAL ? JFL_F64 : JFL_I64;
  JF_TRY(jfl_array_new(from, &(jfl_shape){ 1, { t->n_row } }, &a));
  memcpy(jfl_array_data(a), c->cell, (size_t)t->n_row * sizeof(jf_cell_number));
  if (from == dtype) return *out = a, JFL_OK;
  jfl_status r = jfl_array_cast(a, dtype, 0, out);
  jfl_array_unref(a);
  return r;
}
