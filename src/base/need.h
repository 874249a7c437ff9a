/* What the functions of jfl.h ask of their arguments before they use them. Each check records an
   error that names the function and the argument. */
#ifndef JF_NEED_H
#define JF_NEED_H

#include "base/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- objects that hosts hold ---- */

#define JF_TAGS(X)                                                                           \
  X(ARRAY, "an array") X(OP, "an op") X(OPTIMIZER, "an optimizer") X(GRAPH, "a graph")       \
  X(VALUE, "a value") X(SESSION, "a session") X(JOB, "a job") X(PLAN, "a plan")              \
  X(REQUEST, "a request") X(REPORT, "a report") X(CHECKPOINT, "a checkpoint")                \
  X(PROFILE, "a profile") X(OUTPUT, "a file to write") X(LOADER, "a loader")             \
  X(PACK, "an archive") X(CSV, "a table") X(TOKENIZER, "a tokenizer")                    \
  X(ENCODING, "an encoding") X(SCRIPT, "a script") X(SCRIPT_JOB, "a script's job")

/* An object of the library begins with its tag, so that one of another kind is told from it; so is
   one that was freed, for as long as nothing else has got its memory. */
typedef enum jf_tag {
  JF_TAG_FREED = 0x6a664c00,
#define X(id, text) JF_TAG_##id,
  JF_TAGS(X)
#undef X
  JF_TAG_END
} jf_tag;

jfl_status jf_need_failed(const char *function, const char *argument, const void *p, jf_tag tag);
static inline jfl_status jf_need(const char *function, const char *argument, const void *p,
                                 jf_tag tag)
{
  return p && *(const jf_tag *)p == tag ? JFL_OK : jf_need_failed(function, argument, p, tag);
}
/* Checks an object that is freed now, whose tag says so from here on: of several threads that
   free it one gets JFL_OK. */
jfl_status jf_need_last(const char *function, const char *argument, void *p, jf_tag tag);
/* Checks each of n objects. */
jfl_status jf_need_each(const char *function, const char *argument, const void *list, int n,
                        jf_tag tag);

/* Return from a function, whose variable p is the argument of that name, unless that is an object
   of the kind; JF_IS is for functions without a status. */
#define JF_NEED(id, p) JF_TRY(jf_need(__func__, #p, p, JF_TAG_##id))
#define JF_NEED_LAST(id, p) JF_TRY(jf_need_last(__func__, #p, p, JF_TAG_##id))
#define JF_IS(id, p) (!jf_need(__func__, #p, p, JF_TAG_##id))
/* Whether p, which may be NULL, is to be freed by the caller. */
#define JF_IS_LAST(id, p) ((p) && !jf_need_last(__func__, #p, p, JF_TAG_##id))
#define JF_NEED_EACH(id, list, n) JF_TRY(jf_need_each(__func__, #list, list, n, JF_TAG_##id))

/* ---- all else ---- */

/* Adds the function's name to an error; returns s. */
jfl_status jf_need_told(const char *function, jfl_status s);
jfl_status jf_need_pointer(const char *function, const char *argument, const void *p);
/* A list of n things. */
jfl_status jf_need_list(const char *function, const char *argument, const void *list, int n);
/* v from least to most; from 0 to n - 1. */
jfl_status jf_need_from(const char *function, const char *argument, int64_t v, int64_t least,
                        int64_t most);
jfl_status jf_need_below(const char *function, const char *argument, int64_t v, int64_t n);
jfl_status jf_need_args(const char *function, const char *argument, const jfl_arg *arg, int n);

/* Check the arguments of these names. */
#define JF_NEED_POINTER(p) JF_TRY(jf_need_pointer(__func__, #p, p))
#define JF_NEED_POINTERS(p, q)     \
  do {                             \
    JF_NEED_POINTER(p);            \
    JF_NEED_POINTER(q);            \
  } while (0)
#define JF_NEED_LIST(list, n) JF_TRY(jf_need_list(__func__, #list, list, n))
#define JF_NEED_FROM(v, least, most) JF_TRY(jf_need_from(__func__, #v, v, least, most))
#define JF_NEED_BELOW(v, n) JF_TRY(jf_need_below(__func__, #v, v, n))
#define JF_NEED_ARGS(arg, n) JF_TRY(jf_need_args(__func__, #arg, arg, n))
#define JF_NEED_DTYPE(t) JF_NEED_BELOW(t, JFL_N_DTYPE)

/* ---- names ---- */

/* what: as for jfl_name_check. */
#define JF_NEED_NAME(what, name)                      \
  do {                                                \
    JF_NEED_POINTER(name);                            \
    JF_TRY(jfl_name_check(what, name));               \
  } while (0)

#ifdef __cplusplus
}
#endif
#endif
