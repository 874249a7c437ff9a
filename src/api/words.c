/* Reads options that are given as a text. */
#include "api/words.h"
#include "system/system.h"

#include <string.h>

/* One number, or several between commas, into w->numbers from *used on. */
static int words_numbers(jf_words *w, char *value, jfl_arg *a, int *used)
{
  const int first = *used;
  char *end = value;
  do {
    if (end != value) end++;
    const char *from = end;
    w->numbers[*used] = jf_number_read(from, &end);
    if (end == from) return *used = first, 0;
    ++*used;
  } while (*end == ',' && end[1]);
  if (*end) return *used = first, 0;
  a->number = w->numbers[first];
  a->list = w->numbers + first;
  a->n_list = *used - first;
  a->kind = a->n_list > 1 ? JFL_ARG_LIST : JFL_ARG_NUMBER;
  return 1;
}

static jfl_status words_add(jf_words *w, char *word, int *used)
{
  char *equals = strchr(word, '=');
  if (!equals || equals == word || !equals[1])
    return jf_fail_argument(JFL_EINVAL, "options", "must be written as name=value, got '%.60s'",
                            word);
  if (w->n == JF_MOST_WORDS)
    return jf_fail_argument(JFL_EINVAL, "options", "must be at most %d, got more", JF_MOST_WORDS);
  *equals = '\0';
  for (int i = 0; i < w->n; i++)
    if (!strcmp(w->arg[i].name, word))
      return jf_fail_argument(JFL_EINVAL, "options", "must have each name once, got '%.60s' twice",
                              word);
  jfl_arg *a = &w->arg[w->n++];
  *a = (jfl_arg){ .name = word };
  char *value = equals + 1;
  const int is_true = !strcmp(value, "true");
  a->string = value;
  if (is_true || !strcmp(value, "false")) {
    a->kind = JFL_ARG_BOOL;
    a->number = is_true;
  } else if (!words_numbers(w, value, a, used)) {
    a->kind = JFL_ARG_STRING;
  }
  return JFL_OK;
}

jfl_status jf_words_read(const char *text, jf_words *w)
{
  static const char blank[] = " \t\n";
  const size_t n = text ? strlen(text) : 0;
  int used = 0;
  w->n = 0;
  w->text = jf_new(n + 1);
  w->numbers = jf_new((n + 1) * sizeof *w->numbers);
  if (!w->text || !w->numbers) return jf_fail(JFL_ENOMEM, "out of memory for options");
  if (n) memcpy(w->text, text, n);
  for (char *word = w->text; word += strspn(word, blank), *word;) {
    char *end = word + strcspn(word, blank);
    const int last = !*end;
    *end = '\0';
    JF_TRY(words_add(w, word, &used));
    word = last ? end : end + 1;
  }
  return JFL_OK;
}

void jf_words_free(jf_words *w)
{
  jf_free(w->text);
  jf_free(w->numbers);
}

/* Takes an option out; 0: it is not there. */
static int words_take(jf_words *w, const char *name, jfl_arg *out)
{
  for (int i = 0; i < w->n; i++) {
    if (strcmp(w->arg[i].name, name)) continue;
    *out = w->arg[i];
    memmove(&w->arg[i], &w->arg[i + 1], (size_t)(--w->n - i) * sizeof *w->arg);
    return 1;
  }
  return 0;
}

static jfl_status words_wrong(const char *name, const char *kind, const jfl_arg *a)
{
  return jf_fail_argument(JFL_EINVAL, name, "must be %s, got '%.60s'", kind, a->string);
}

jfl_status jf_words_number(jf_words *w, const char *name, double *v)
{
  jfl_arg a;
  if (!words_take(w, name, &a)) return JFL_OK;
  if (a.kind != JFL_ARG_NUMBER) return words_wrong(name, "a number", &a);
  *v = a.number;
  return JFL_OK;
}

jfl_status jf_words_flag(jf_words *w, const char *name, int *v)
{
  jfl_arg a;
  if (!words_take(w, name, &a)) return JFL_OK;
  if (a.kind != JFL_ARG_BOOL) return words_wrong(name, "true or false", &a);
  *v = a.number != 0;
  return JFL_OK;
}

void jf_words_string(jf_words *w, const char *name, const char **v)
{
  jfl_arg a;
  if (words_take(w, name, &a)) *v = a.string;
}

jfl_status jf_words_whole(jf_words *w, const char *name, int64_t least, int64_t *v)
{
  jfl_arg a;
  if (!words_take(w, name, &a)) return JFL_OK;
  if (a.kind != JFL_ARG_NUMBER || !jf_holds(JFL_I64, a.number) || a.number < (double)least)
    return jf_fail_argument(JFL_EINVAL, name, "must be a whole number of at least %lld, got "
                            "'%.60s'", (long long)least, a.string);
  *v = (int64_t)a.number;
  return JFL_OK;
}
