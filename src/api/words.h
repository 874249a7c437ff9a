/* Options as a text, "units=32 activation=tanh name=hidden", which the layers of C hosts take. */
#ifndef JF_WORDS_H
#define JF_WORDS_H

#include "base/need.h"

enum { JF_MOST_WORDS = 32 };
typedef struct jf_words {
  jfl_arg arg[JF_MOST_WORDS];
  int n;
  const char *what;            /* whose options they are, for messages */
  char *text;                  /* the copy that arg points into */
  double *numbers;             /* of lists */
} jf_words;

/* Reads a text, NULL being an empty one. What jf_words_free frees is there even where it fails. */
jfl_status jf_words_read(const char *what, const char *text, jf_words *w);
void jf_words_free(jf_words *w);
/* Takes an option out; 0: it is not there. */
int jf_words_take(jf_words *w, const char *name, jfl_arg *out);
/* The same with a default, where the option must be of that kind. */
jfl_status jf_words_number(jf_words *w, const char *name, double *v);
jfl_status jf_words_flag(jf_words *w, const char *name, int *v);
jfl_status jf_words_string(jf_words *w, const char *name, const char **v);
/* The same for a whole number from `least` on, which must be there if *v is below that. */
jfl_status jf_words_whole(jf_words *w, const char *name, int64_t least, int64_t *v);
/* Fails if options are left. */
jfl_status jf_words_end(const jf_words *w);

#endif
