/* Attributes: reading them from arguments and defaults, and printing them. */
#include "dev/dev.h"
#include "ir/ir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
  [JF_ATTR_INT] = "integer", [JF_ATTR_NUM] = "number", [JF_ATTR_BOOL] = "boolean",
  [JF_ATTR_STR] = "string", [JF_ATTR_DTYPE] = "dtype", [JF_ATTR_INTS] = "integers",
  [JF_ATTR_NUMS] = "numbers", [JF_ATTR_PAD] = "padding", [JF_ATTR_TENSOR] = "array",
};

const char *jf_attr_type_name(jf_attr_type t) { return type_names[t]; }

int jf_attr_count(const jf_attr *attr)
{
  int n = 0;
  while (attr && attr[n].name) n++;
  return n;
}

/* Says what the attribute must be, and what was given. */
static jfl_status mismatch(const jf_attr *a, const jfl_arg *v)
{
  static const char *const want[] = {
    [JF_ATTR_INT] = "an integer", [JF_ATTR_NUM] = "a number", [JF_ATTR_BOOL] = "true or false",
    [JF_ATTR_STR] = "a string", [JF_ATTR_DTYPE] = "a dtype", [JF_ATTR_INTS] = "a list of integers",
    [JF_ATTR_NUMS] = "a list of numbers", [JF_ATTR_PAD] = "a word or a list of integers",
    [JF_ATTR_TENSOR] = "an array",
  };
  switch (v->kind) {
  case JFL_ARG_NUMBER:
    return jf_fail_argument(JFL_EINVAL, a->name, "must be %s, got %.14g", want[a->type], v->number);
  case JFL_ARG_STRING:
    return jf_fail_argument(JFL_EINVAL, a->name, "must be %s, got '%.60s'", want[a->type],
                            v->string);
  case JFL_ARG_BOOL:
    return jf_fail_argument(JFL_EINVAL, a->name, "must be %s, got %s", want[a->type],
                            v->number != 0 ? "true" : "false");
  case JFL_ARG_ARRAY:
    return jf_fail_argument(JFL_EINVAL, a->name, "must be %s, got an array", want[a->type]);
  case JFL_ARG_LIST: break;
  }
  return jf_fail_argument(JFL_EINVAL, a->name, "must be %s, got a list of %d", want[a->type],
                          v->n_list);
}

static int is_int(double v) { return v == floor(v) && fabs(v) <= 0x1p53; }

static jfl_status read_ints(jf_arena *arena, const jf_attr *a, const jfl_arg *v, jf_ints *out)
{
  const double *list = v->kind == JFL_ARG_LIST ? v->list : &v->number;
  jf_ints r = { .n = v->kind == JFL_ARG_LIST ? v->n_list : 1 };
  if (v->kind != JFL_ARG_LIST && v->kind != JFL_ARG_NUMBER) return mismatch(a, v);
  r.v = jf_alloc(arena, (size_t)r.n * sizeof *r.v);
  for (int i = 0; i < r.n; i++) {
    if (!is_int(list[i]))
      return jf_fail_argument(JFL_EINVAL, a->name, "must hold integers, got %.14g", list[i]);
    r.v[i] = (int64_t)list[i];
  }
  *out = r;
  return JFL_OK;
}

static jfl_status read_nums(jf_arena *arena, const jf_attr *a, const jfl_arg *v, jf_nums *out)
{
  if (v->kind != JFL_ARG_LIST && v->kind != JFL_ARG_NUMBER) return mismatch(a, v);
  int n = v->kind == JFL_ARG_LIST ? v->n_list : 1;
  double *copy = jf_alloc(arena, (size_t)n * sizeof *copy);
  if (n) memcpy(copy, v->kind == JFL_ARG_LIST ? v->list : &v->number, (size_t)n * sizeof *copy);
  *out = (jf_nums){ n, copy };
  return JFL_OK;
}

static jfl_status read_string(jf_arena *arena, const jf_attr *a, const jfl_arg *v,
                              const char **out)
{
  if (v->kind != JFL_ARG_STRING) return mismatch(a, v);
  if (a->words && !jf_has_word(a->words, v->string))
    return jf_fail_argument(JFL_EINVAL, a->name, "must be one of %s, got '%.60s'", a->words,
                            v->string);
  *out = jf_strdup(arena, v->string);
  return JFL_OK;
}

/* Whether a number is in a range as jf_attr has it. */
static int attr_within(const char *range, double v)
{
  static const char digits[] = "-0123456789";
  const char *low = strpbrk(range, digits);
  char *end = NULL;
  if (strstr(range, "number") && !isfinite(v)) return 0;
  const double least = low ? strtod(low, &end) : v;
  if (strstr(range, "above") ? !(v > least) : !(v >= least)) return 0;
  const char *high = end ? strpbrk(end, digits) : NULL;
  if (!high) return 1;
  return strchr(high, ')') ? v < strtod(high, NULL) : v <= strtod(high, NULL);
}

static jfl_status attr_check_range(const jf_attr *a, double v)
{
  if (!a->words || attr_within(a->words, v)) return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, a->name, "must be %s, got %.14g", a->words, v);
}

static jfl_status read_one(jf_arena *arena, const jf_attr *a, const jfl_arg *v, char *out)
{
  void *p = out + a->off;
  switch (a->type) {
  case JF_ATTR_INT:
    if (v->kind != JFL_ARG_NUMBER || !is_int(v->number)) return mismatch(a, v);
    *(int64_t *)p = (int64_t)v->number;
    return attr_check_range(a, v->number);
  case JF_ATTR_NUM:
    if (v->kind != JFL_ARG_NUMBER) return mismatch(a, v);
    *(double *)p = v->number;
    return attr_check_range(a, v->number);
  case JF_ATTR_BOOL:
    if (v->kind != JFL_ARG_BOOL) return mismatch(a, v);
    *(int *)p = v->number != 0;
    return JFL_OK;
  case JF_ATTR_STR: return read_string(arena, a, v, p);
  case JF_ATTR_DTYPE:
    if (v->kind != JFL_ARG_STRING) return mismatch(a, v);
    return jfl_dtype_parse(v->string, p);
  case JF_ATTR_INTS: return read_ints(arena, a, v, p);
  case JF_ATTR_NUMS: return read_nums(arena, a, v, p);
  case JF_ATTR_PAD:
    if (v->kind == JFL_ARG_STRING) return read_string(arena, a, v, &((jf_pad *)p)->word);
    ((jf_pad *)p)->word = NULL;
    return read_ints(arena, a, v, &((jf_pad *)p)->list);
  case JF_ATTR_TENSOR:
    if (v->kind != JFL_ARG_ARRAY || !v->array) return mismatch(a, v);
    *(const jfl_array **)p = v->array;
    return JFL_OK;
  }
  return JFL_EINVAL;
}

/* Reads a default, which the record states as text; "none" leaves the field zeroed. */
static jfl_status read_default(jf_arena *arena, const jf_attr *a, char *out)
{
  double list[2 * JFL_MAXDIM];
  jfl_arg v = { .name = a->name, .kind = JFL_ARG_NUMBER, .string = a->def, .list = list };
  if (!strcmp(a->def, "none")) return JFL_OK;
  if (a->def[0] == '{') {
    v.kind = JFL_ARG_LIST;
    for (const char *s = a->def + 1; *s && *s != '}' && v.n_list < 2 * JFL_MAXDIM;) {
      char *end;
      list[v.n_list++] = strtod(s, &end);
      for (s = end; *s == ',' || *s == ' '; s++) {}
    }
  } else if (a->type == JF_ATTR_BOOL) {
    v.kind = JFL_ARG_BOOL;
    v.number = !strcmp(a->def, "true");
  } else {
    char *end;
    v.number = strtod(a->def, &end);
    if (*end || end == a->def) v.kind = JFL_ARG_STRING;
  }
  return read_one(arena, a, &v, out);
}

static const jf_attr *attr_find(const jf_attr *attr, const char *name)
{
  for (; attr && attr->name; attr++)
    if (!strcmp(attr->name, name)) return attr;
  return NULL;
}

static jfl_status unknown(const jf_attr *attr, const char *name)
{
  char names[256] = "";
  size_t n = 0;
  for (; attr && attr->name && n < sizeof names; attr++)
    n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", attr->name);
  return jf_fail(JFL_ENAME, "unknown option '%.60s'; %s%s", name,
                 n ? "options are " : "it has no options", names);
}

static jfl_status attr_read_all(jf_arena *a, const jf_attr *attr, const jfl_arg *arg, int n_arg,
                                void *out)
{
  for (int i = 0; i < n_arg; i++)
    if (!attr_find(attr, arg[i].name)) return unknown(attr, arg[i].name);
  for (; attr && attr->name; attr++) {
    const jfl_arg *given = NULL;
    for (int i = 0; i < n_arg; i++)
      if (!strcmp(arg[i].name, attr->name)) given = &arg[i];
    if (given) JF_TRY(read_one(a, attr, given, out));
    else if (attr->def) JF_TRY(read_default(a, attr, out));
    else return jf_fail_argument(JFL_EINVAL, attr->name, "is missing: %s", attr->doc);
  }
  return JFL_OK;
}

jfl_status jf_attr_read(jf_arena *a, const char *who, const jf_attr *attr, const jfl_arg *arg,
                        int n_arg, void *out)
{
  return jf_fail_in(attr_read_all(a, attr, arg, n_arg, out), JFL_ERROR_OP, who);
}

static void print_ints(jf_text *t, const jf_ints *v)
{
  jf_text_add(t, "{");
  for (int i = 0; i < v->n; i++) jf_text_add(t, "%s%lld", i ? ", " : "", (long long)v->v[i]);
  jf_text_add(t, "}");
}

/* Prints the array's dtype, shape and first elements. */
static void print_array(jf_text *t, const jfl_array *a)
{
  enum { FIRST = 4 };
  char shape[JF_SHAPE_STR];
  const int64_t n = jfl_array_size(a);
  jf_text_add(t, "%s %s {", jfl_dtype_name(a->dtype), jf_shape_str(&a->shape, shape));
  for (int64_t i = 0; i < n && i < FIRST; i++)
    jf_text_add(t, "%s%.9g", i ? ", " : "", jfl_number_get(a->dtype, a->data, i));
  jf_text_add(t, n > FIRST ? ", ...}" : "}");
}

static void print_one(jf_text *t, const jf_attr *a, const void *p)
{
  const jf_nums *nums = p;
  const jf_pad *pad = p;
  switch (a->type) {
  case JF_ATTR_INT: jf_text_add(t, "%lld", (long long)*(const int64_t *)p); break;
  case JF_ATTR_NUM: jf_text_add(t, "%.9g", *(const double *)p); break;
  case JF_ATTR_BOOL: jf_text_add(t, *(const int *)p ? "true" : "false"); break;
  case JF_ATTR_STR:
    jf_text_add(t, "%s", *(const char *const *)p ? *(const char *const *)p : "none");
    break;
  case JF_ATTR_DTYPE: jf_text_add(t, "%s", jfl_dtype_name(*(const jfl_dtype *)p)); break;
  case JF_ATTR_INTS: print_ints(t, p); break;
  case JF_ATTR_NUMS:
    jf_text_add(t, "{");
    for (int i = 0; i < nums->n; i++) jf_text_add(t, "%s%.9g", i ? ", " : "", nums->v[i]);
    jf_text_add(t, "}");
    break;
  case JF_ATTR_PAD:
    if (pad->word) jf_text_add(t, "%s", pad->word);
    else print_ints(t, &pad->list);
    break;
  case JF_ATTR_TENSOR: print_array(t, *(const jfl_array *const *)p); break;
  }
}

void jf_attr_print(jf_text *t, const jf_attr *attr, const void *p)
{
  for (const jf_attr *a = attr; a && a->name; a++) {
    jf_text_add(t, "%s%s=", a == attr ? "" : " ", a->name);
    print_one(t, a, (const char *)p + a->off);
  }
}

/* ---- as arguments ---- */

/* The list of a field, or NULL where it is none: a word in place of a padding is none either. */
static const jf_ints *ints_of(const jf_attr *a, const char *p)
{
  const jf_pad *pad = (const void *)(p += a->off);
  if (a->type == JF_ATTR_PAD) return pad->word ? NULL : &pad->list;
  return a->type == JF_ATTR_INTS ? (const void *)p : NULL;
}

size_t jf_attr_numbers(const jf_attr *attr, const void *p)
{
  size_t n = 0;
  for (const jf_attr *a = attr; a && a->name; a++) {
    const jf_ints *ints = ints_of(a, p);
    if (ints) n += (size_t)ints->n;
  }
  return n;
}

/* Writes a field that is one value. */
static void write_one(const jf_attr *a, const void *p, jfl_arg *out)
{
  out->kind = JFL_ARG_NUMBER;
  switch (a->type) {
  case JF_ATTR_INT: out->number = (double)*(const int64_t *)p; break;
  case JF_ATTR_NUM: out->number = *(const double *)p; break;
  case JF_ATTR_BOOL:
    out->kind = JFL_ARG_BOOL;
    out->number = *(const int *)p != 0;
    break;
  case JF_ATTR_TENSOR:
    out->kind = JFL_ARG_ARRAY;
    out->array = *(const jfl_array *const *)p;
    break;
  default:
    out->kind = JFL_ARG_STRING;
    out->string = a->type == JF_ATTR_DTYPE ? jfl_dtype_name(*(const jfl_dtype *)p)
                : a->type == JF_ATTR_PAD   ? ((const jf_pad *)p)->word
                                           : *(const char *const *)p;
  }
}

void jf_attr_write(const jf_attr *attr, const void *p, jfl_arg *out, double *number)
{
  for (const jf_attr *a = attr; a && a->name; a++, out++) {
    const jf_ints *ints = ints_of(a, p);
    const jf_nums *nums = (const void *)((const char *)p + a->off);
    *out = (jfl_arg){ .name = a->name, .kind = JFL_ARG_LIST };
    if (ints) {
      out->list = number;
      out->n_list = ints->n;
      for (int i = 0; i < ints->n; i++) *number++ = (double)ints->v[i];
    } else if (a->type == JF_ATTR_NUMS) {
      out->list = nums->v;
      out->n_list = nums->n;
    } else {
      write_one(a, nums, out);
    }
  }
}

/* ---- copying ---- */

static void copy_list(jf_arena *arena, int n, size_t elem, const void *from, void *list)
{
  void *own = jf_alloc(arena, (size_t)n * elem);
  if (n) memcpy(own, from, (size_t)n * elem);
  memcpy(list, &own, sizeof own);
}

void *jf_attr_copy(jf_arena *arena, const jf_attr *attr, size_t size, const void *from)
{
  char *to = jf_alloc(arena, size);
  if (size && from) memcpy(to, from, size);
  for (; attr && attr->name; attr++) {
    void *p = to + attr->off;
    jf_ints *ints = attr->type == JF_ATTR_PAD ? &((jf_pad *)p)->list : p;
    jf_nums *nums = p;
    if (attr->type == JF_ATTR_INTS || attr->type == JF_ATTR_PAD)
      copy_list(arena, ints->n, sizeof *ints->v, ints->v, &ints->v);
    else if (attr->type == JF_ATTR_NUMS)
      copy_list(arena, nums->n, sizeof *nums->v, nums->v, &nums->v);
  }
  return to;
}

/* ---- comparing ---- */

static const size_t sizes[] = {
  [JF_ATTR_INT] = sizeof(int64_t), [JF_ATTR_NUM] = sizeof(double), [JF_ATTR_BOOL] = sizeof(int),
  [JF_ATTR_STR] = sizeof(char *), [JF_ATTR_DTYPE] = sizeof(jfl_dtype),
  [JF_ATTR_INTS] = sizeof(jf_ints), [JF_ATTR_NUMS] = sizeof(jf_nums),
  [JF_ATTR_PAD] = sizeof(jf_pad), [JF_ATTR_TENSOR] = sizeof(jfl_array *),
};

/* A piece of memory whose bytes tell whether two fields are equal. */
typedef struct attr_span { const void *p; size_t n; } attr_span;

static attr_span ints_span(const jf_ints *v)
{
  return (attr_span){ v->v, (size_t)v->n * sizeof *v->v };
}
static attr_span word_span(const char *s) { return (attr_span){ s, s ? strlen(s) + 1 : 0 }; }

/* Gives the bytes to compare for a field: two pieces for a padding, one for any other. Arrays are
   compared by address, since a graph keeps only one array of the same contents. */
static void spans_of(const jf_attr *a, const char *p, attr_span out[2])
{
  const jf_nums *nums = (const void *)(p += a->off);
  const jf_pad *pad = (const void *)p;
  out[1] = (attr_span){ NULL, 0 };
  switch (a->type) {
  case JF_ATTR_STR: out[0] = word_span(*(const char *const *)(const void *)p); break;
  case JF_ATTR_INTS: out[0] = ints_span((const void *)p); break;
  case JF_ATTR_NUMS: out[0] = (attr_span){ nums->v, (size_t)nums->n * sizeof *nums->v }; break;
  case JF_ATTR_PAD:
    out[0] = word_span(pad->word);
    out[1] = ints_span(&pad->list);
    break;
  default: out[0] = (attr_span){ p, sizes[a->type] };
  }
}

static int same_field(const jf_attr *attr, const void *a, const void *b)
{
  attr_span x[2], y[2];
  spans_of(attr, a, x);
  spans_of(attr, b, y);
  for (int i = 0; i < 2; i++)
    if (x[i].n != y[i].n || (x[i].n && memcmp(x[i].p, y[i].p, x[i].n))) return 0;
  return 1;
}

/* From byte `at` on, how many bytes belong to one described field (*described is set to 1), or to
   no described field (*described is set to 0). */
static size_t stretch(const jf_attr *attr, size_t size, size_t at, int *described)
{
  size_t end = size;
  *described = 0;
  for (; attr && attr->name; attr++) {
    size_t field_end = attr->off + sizes[attr->type];
    if (attr->off <= at && at < field_end) return *described = 1, field_end - at;
    if (attr->off > at && attr->off < end) end = attr->off;
  }
  return end - at;
}

int jf_attr_same(const jf_attr *attr, size_t size, const void *a, const void *b)
{
  int described;
  for (const jf_attr *f = attr; f && f->name; f++)
    if (!same_field(f, a, b)) return 0;
  for (size_t at = 0, n; at < size; at += n) {
    n = stretch(attr, size, at, &described);
    if (!described && memcmp((const char *)a + at, (const char *)b + at, n)) return 0;
  }
  return 1;
}

uint64_t jf_attr_hash(const jf_attr *attr, size_t size, const void *p)
{
  uint64_t h = 0;
  int described;
  for (const jf_attr *f = attr; f && f->name; f++) {
    attr_span s[2];
    spans_of(f, p, s);
    h = jf_hash(jf_hash(h, s[0].p, s[0].n), s[1].p, s[1].n);
  }
  for (size_t at = 0, n; at < size; at += n) {
    n = stretch(attr, size, at, &described);
    if (!described) h = jf_hash(h, (const char *)p + at, n);
  }
  return h;
}
