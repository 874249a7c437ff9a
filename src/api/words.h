/* Options as a text, "ksize=2 padding=SAME name=pool", which jfl_apply and jfl_train take. */
#ifndef JF_WORDS_H
#define JF_WORDS_H

#include "base/need.h"

enum { JF_MOST_WORDS = 32 };
typedef struct jf_words {
  jfl_arg arg[JF_MOST_WORDS];
  int n;
  char *text;                  /* the copy that arg points into */
  double *numbers;             /* of lists */
} jf_words;

/* Reads a text, NULL being an empty one. What jf_words_free frees is there even where it fails. */
jfl_status jf_words_read(const char *text, jf_words *w);
void jf_words_free(jf_words *w);
/* Takes an option out, which must be of that kind; *v stays as it is where it is not there. */
jfl_status jf_words_number(jf_words *w, const char *name, double *v);
jfl_status jf_words_flag(jf_words *w, const char *name, int *v);
void jf_words_string(jf_words *w, const char *name, const char **v);
/* Takes a whole number of at least `least` out. */
jfl_status jf_words_whole(jf_words *w, const char *name, int64_t least, int64_t *v);

#endif
