/* For checkpoint tests: a scratch directory, reading and writing whole files, and a small
   session. */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checkpoint/checkpoint.h"
#include "run/run.h"

static char scratch[PATH_MAX / 4];

static inline int scratch_remove(const char *path, const struct stat *st, int flag, struct FTW *f)
{
  (void)st;
  (void)flag;
  (void)f;
  return remove(path);
}

/* Removes a whole directory; a missing one is fine. */
static inline void scratch_clear(const char *path)
{
  nftw(path, scratch_remove, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void scratch_drop(void) { scratch_clear(scratch); }

/* Makes the directory, which is removed when the program ends. */
static inline void scratch_make(void)
{
  const char *tmp = getenv("TMPDIR");
  snprintf(scratch, sizeof scratch, "%s/jfl-test-XXXXXX", tmp ? tmp : "/tmp");
  if (!mkdtemp(scratch)) exit(1);
  atexit(scratch_drop);
}

/* A path in the scratch directory, valid until the 128th call after this one. */
static inline const char *in_scratch(const char *name)
{
  static char ring[128][PATH_MAX];
  static unsigned at;
  char *p = ring[at++ % 128];
  snprintf(p, PATH_MAX, "%s/%s", scratch, name);
  return p;
}

static inline int exists(const char *path)
{
  struct stat st;
  return !lstat(path, &st);
}

/* Writes a text through jfl's own files, which take the place of an old one at the end. */
static inline jfl_status put_output(const char *path, const char *text)
{
  jfl_output *o;
  JF_TRY(jfl_output_open(path, &o));
  jfl_status r = jfl_output_write(o, text, strlen(text));
  if (r == JFL_OK) return jfl_output_keep(o);
  jfl_output_drop(o);
  return r;
}

static inline void put_file(const char *path, const void *data, size_t n)
{
  unlink(path);       /* a file that is cut to nothing and written anew waits for the disk */
  FILE *f = fopen(path, "wb");
  if (!f || fwrite(data, 1, n, f) != n || fclose(f)) abort();
}

/* Reads the whole file; the caller frees it. */
static inline char *get_file(const char *path, size_t *n)
{
  struct stat st;
  FILE *f = fopen(path, "rb");
  if (!f || fstat(fileno(f), &st)) abort();
  *n = (size_t)st.st_size;
  char *p = malloc(*n + 1);
  if (fread(p, 1, *n, f) != *n || fclose(f)) abort();
  return p;
}

/* ---- a session of four variables filled with `value`, its seed and its runs too ---- */

static const jfl_variable_spec scratch_vars[] = {
  { .name = "dense1-weight", .dtype = JFL_F32, .shape = { 2, { 3, 5 } }, .trainable = 1 },
  { .name = "wide", .dtype = JFL_F64, .shape = { 1, { 7 } } },
  { .name = "dense1-weight-momentum", .dtype = JFL_F32, .shape = { 2, { 3, 5 } }, .state = 1 },
  { .name = "System-Train-TrainStep-train", .dtype = JFL_I64, .shape = { 1, { 1 } }, .state = 1 },
};
enum { N_VARS = sizeof scratch_vars / sizeof *scratch_vars };

static inline jfl_session *new_session(void)
{
  jfl_session *s;
  if (jfl_session_new(&s)) abort();
  return s;
}

static inline void add_var(jfl_session *s, jfl_variable_spec v, double value)
{
  jf_var *var;
  v.init = JFL_INIT_CONSTANT;
  v.a = value;
  if (jf_var_new(s, &v, JF_HOST_PLACE, JF_ON_ALL, &var) || jf_session_add_var(s, var)) abort();
}

static inline jfl_session *full_session(int value)
{
  jfl_session *s = new_session();
  jfl_job *j;
  for (int i = 0; i < N_VARS; i++) add_var(s, scratch_vars[i], value);
  if (jfl_job_new(s, "train", JFL_TRAIN, &j)) abort();
  s->seed = (uint64_t)value;
  j->run = (uint64_t)value;
  return s;
}

/* A variable's elements as an array of numbers. */
static inline jfl_array *numbers_of(jfl_session *s, const char *name)
{
  jfl_array *a, *d;
  if (jfl_variable_get(s, name, &a) || jfl_array_cast(a, JFL_F64, 0, &d)) abort();
  jfl_array_unref(a);
  return d;
}

/* The variable's first element. */
static inline double first_of(jfl_session *s, const char *name)
{
  jfl_array *d = numbers_of(s, name);
  double v = *(const double *)jfl_array_data(d);
  jfl_array_unref(d);
  return v;
}

/* The value that all of a session's variables are filled with; -1 if they differ. */
static inline double filled_with(jfl_session *s)
{
  double all = -1;
  for (int i = 0; i < s->n_var; i++) {
    jfl_array *d = numbers_of(s, s->var[i]->spec.name);
    const double *v = jfl_array_data(d);
    int same = 1;
    for (int64_t k = 0; k < jfl_array_size(d); k++) same &= v[k] == (i || k ? all : (all = v[0]));
    jfl_array_unref(d);
    if (!same) return -1;
  }
  return all;
}

static inline jfl_status save_value(int value, const char *path, int overwrite)
{
  jfl_session *s = full_session(value);
  jfl_status r = jfl_checkpoint_save(s, path, overwrite);
  jfl_session_free(s);
  return r;
}

/* The value saved by save_value; -1 if the checkpoint cannot be loaded or is not complete. */
static inline double load_value(const char *path)
{
  jfl_report *report;
  jfl_session *s = full_session(0);
  double v = -1;
  if (jfl_checkpoint_load(s, path, 1, &report) == JFL_OK) {
    v = filled_with(s);
    if ((double)s->jobs->run != v || (double)s->seed != v) v = -1;
    jfl_report_free(report);
  }
  jfl_session_free(s);
  return v;
}

#endif
