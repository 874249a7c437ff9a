/* Checks of what hosts pass in. */
#include "base/need.h"

#include <stdio.h>
#include <string.h>

enum { NAME_SIZE = 1000 };     /* the longest name, in bytes */

jfl_status jf_need_told(const char *function, jfl_status s)
{
  return jf_fail_in(s, JFL_ERROR_OP, function);
}

static const char *need_kind(jf_tag tag)
{
  static const char *const kinds[] = {
    "one that was freed",
#define X(id, text) text,
    JF_TAGS(X)
#undef X
  };
  return tag >= JF_TAG_FREED && tag < JF_TAG_END ? kinds[tag - JF_TAG_FREED] : "something else";
}

jfl_status jf_need_failed(const char *function, const char *argument, const void *p, jf_tag tag)
{
  const char *got = p ? need_kind(*(const jf_tag *)p) : "NULL";
  return jf_need_told(function, jf_fail_argument(JFL_EINVAL, argument, "must be %s, got %s",
                                                 need_kind(tag), got));
}

jfl_status jf_need_last(const char *function, const char *argument, void *p, jf_tag tag)
{
  jf_tag was = tag;
  JF_TRY(jf_need(function, argument, p, tag));       /* records of ops lie where nobody may write */
  if (__atomic_compare_exchange_n((jf_tag *)p, &was, JF_TAG_FREED, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_RELAXED))
    return JFL_OK;
  return jf_need_failed(function, argument, p, tag);
}

jfl_status jf_need_pointer(const char *function, const char *argument, const void *p)
{
  if (p) return JFL_OK;
  return jf_need_told(function, jf_fail_argument(JFL_EINVAL, argument, "must be given, got NULL"));
}

jfl_status jf_need_list(const char *function, const char *argument, const void *list, int n)
{
  if (n < 0)
    return jf_need_told(function, jf_fail_argument(JFL_EINVAL, argument,
                                                   "must be a list of 0 or more, got %d", n));
  return n ? jf_need_pointer(function, argument, list) : JFL_OK;
}

jfl_status jf_need_each(const char *function, const char *argument, const void *list, int n,
                        jf_tag tag)
{
  const void *const *p = list;
  char element[64];
  JF_TRY(jf_need_list(function, argument, list, n));
  for (int i = 0; i < n; i++) {
    if (p[i] && *(const jf_tag *)p[i] == tag) continue;
    snprintf(element, sizeof element, "%s[%d]", argument, i);
    return jf_need_failed(function, element, p[i], tag);
  }
  return JFL_OK;
}

jfl_status jf_need_from(const char *function, const char *argument, int64_t v, int64_t least,
                        int64_t most)
{
  if (v >= least && v <= most) return JFL_OK;
  return jf_need_told(function, jf_fail_argument(JFL_EINVAL, argument, "must be from %lld to %lld, "
                                                 "got %lld", (long long)least, (long long)most,
                                                 (long long)v));
}

jfl_status jf_need_below(const char *function, const char *argument, int64_t v, int64_t n)
{
  return jf_need_from(function, argument, v, 0, n - 1);
}

/* What is wrong with an attribute, or NULL. */
static const char *need_flaw(const jfl_arg *a)
{
  if (!a->name) return "must have a name, got NULL";
  switch (a->kind) {
  case JFL_ARG_NUMBER:
  case JFL_ARG_BOOL: return NULL;
  case JFL_ARG_STRING:
    return a->string ? NULL : "must have a string, got NULL";
  case JFL_ARG_LIST:
    if (a->n_list < 0) return "must have a list of 0 or more, got fewer";
    return a->list || !a->n_list ? NULL : "must have a list, got NULL";
  case JFL_ARG_ARRAY:
    return a->array && *(const jf_tag *)a->array == JF_TAG_ARRAY ? NULL
                                                                 : "must have an array, got none";
  }
  return "must be of a known kind, got another";
}

jfl_status jf_need_args(const char *function, const char *argument, const jfl_arg *arg, int n)
{
  char element[64];
  JF_TRY(jf_need_list(function, argument, arg, n));
  for (int i = 0; i < n; i++) {
    const char *flaw = need_flaw(&arg[i]);
    if (!flaw) continue;
    snprintf(element, sizeof element, "%s[%d]", argument, i);
    return jf_need_told(function, jf_fail_argument(JFL_EINVAL, element, "%s", flaw));
  }
  return JFL_OK;
}

jfl_status jfl_fail(jfl_status code, const char *text)
{
  JF_NEED_BELOW(code, JFL_N_STATUS);
  JF_NEED_POINTER(text);
  return jf_fail(code, "%s", text);
}

jfl_status jfl_name_check(const char *what, const char *name)
{
  JF_NEED_POINTERS(what, name);
  size_t n = strlen(name);
  if (!n) return jf_fail_argument(JFL_ENAME, what, "must be a string that is not empty, got an "
                                  "empty one");
  if (n > NAME_SIZE)
    return jf_fail_argument(JFL_ENAME, what, "must have at most %d bytes, got %zu: '%.40s...'",
                            NAME_SIZE, n, name);
  if (jf_utf8_valid(name)) return JFL_OK;
  return jf_fail_argument(JFL_ENAME, what, "must be UTF-8, got '%.100s'", name);
}
