/* The cells of a text with separated values, and what they may stand for. */
#ifndef JF_CSV_H
#define JF_CSV_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- cells (cells.c) ---- */

/* Where reading is in the text, which ends with a zero byte at `end`. */
typedef struct jf_cells {
  const char *at, *end;
  char separator;
  int64_t line;                /* of `at`, counted from 1 */
} jf_cells;

/* A cell's text; last: it ends its line; doubled: quotes in it are doubled. */
typedef struct jf_csv_cell { const char *s; size_t n; int last, doubled; } jf_csv_cell;

/* Moves past empty lines; returns 0 at the end of the text. */
int jf_cells_more(jf_cells *c);
jfl_status jf_cells_next(jf_cells *c, jf_csv_cell *out);
/* Copies a text with one quote for each two; `to` may be the text. Returns how many bytes it has
   then. */
size_t jf_cells_undouble(char *to, const char *s, size_t n);

/* ---- numbers (decimal.c) ---- */

typedef enum jf_cell_kind { JF_NO_NUMBER, JF_WHOLE, JF_REAL } jf_cell_kind;
typedef union jf_cell_number { int64_t i; double d; } jf_cell_number;
/* Reads all of n bytes, but for spaces around, as a number: a whole one that int64 holds, or the
   nearest double. A byte that ends a number follows. */
jf_cell_kind jf_decimal(const char *s, size_t n, jf_cell_number *out);

#ifdef __cplusplus
}
#endif
#endif
