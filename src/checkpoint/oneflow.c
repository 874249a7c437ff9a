/* OneFlow's own checkpoint layout: a directory for each variable with the raw bytes in `out`, and
   mostly a text `meta` such as "shape { dim: 512 dim: 784 } data_type: kFloat". */
#include "checkpoint/checkpoint.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 2, MAX_META = 4096 };

static const struct { const char *name; jfl_dtype dtype; } types[] = {
  { "kFloat", JFL_F32 }, { "kDouble", JFL_F64 }, { "kFloat16", JFL_F16 }, { "kInt8", JFL_I8 },
  { "kUInt8", JFL_U8 }, { "kInt32", JFL_I32 }, { "kInt64", JFL_I64 }, { "kChar", JFL_N_DTYPE },
  { "kOFRecord", JFL_N_DTYPE }, { "kTensorBuffer", JFL_N_DTYPE },
};

/* ---- meta ---- */

/* The next word of letters, digits and underscores, or the next other character; 0 at the end. */
static int oneflow_word(const char **at, char *out, size_t size)
{
  const char *p = *at;
  while (isspace((unsigned char)*p)) p++;
  size_t n = 0;
  while (isalnum((unsigned char)p[n]) || p[n] == '_') n++;
  if (!n && *p) n = 1;
  *at = p + n;
  size_t kept = n < size ? n : size - 1;
  memcpy(out, p, kept);
  out[kept] = '\0';
  return n > 0;
}

/* The word behind the colon. */
static int value(const char **at, char *out, size_t size)
{
  return oneflow_word(at, out, size) && !strcmp(out, ":") && oneflow_word(at, out, size);
}

static int add_dim(jfl_shape *s, const char *digits)
{
  char *end;
  errno = 0;
  long long d = strtoll(digits, &end, 10);
  if (errno || *end || d < 0 || s->n == JFL_MAXDIM) return 0;
  s->d[s->n++] = d;
  return 1;
}

/* Gives 0 if the text cannot be read. */
static int parse_meta(const char *text, jf_entry *t)
{
  char w[32];
  int typed = 0;
  t->shape.n = 0;
  while (oneflow_word(&text, w, sizeof w)) {
    if (!strcmp(w, "dim") && !(value(&text, w, sizeof w) && add_dim(&t->shape, w))) return 0;
    if (strcmp(w, "data_type")) continue;
    if (!value(&text, w, sizeof w)) return 0;
    typed = 1;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
      if (strcmp(w, types[i].name)) continue;
      t->dtype = types[i].dtype;
      t->dtype_name = types[i].name;
    }
    if (!t->dtype_name) t->dtype_name = "a dtype of OneFlow's own";
  }
  if (!t->shape.n) t->shape = (jfl_shape){ 1, { 1 } };
  return typed;
}

static jfl_status check_meta(const char *path, const jf_entry *t)
{
  char buf[JF_SHAPE_STR];
  uint64_t want = jfl_dtype_size(t->dtype);
  int over = 0;
  for (int i = 0; i < t->shape.n; i++)
    over |= __builtin_mul_overflow(want, (uint64_t)t->shape.d[i], &want);
  if (!over && want == t->size) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: %s %s does not fill the %llu bytes of %s/out", path,
                 jfl_dtype_name(t->dtype), jf_shape_str(&t->shape, buf),
                 (unsigned long long)t->size, t->name);
}

static jfl_status oneflow_read_meta(const char *dir, jf_entry *t)
{
  char path[PATH_MAX], text[MAX_META + 1];
  JF_TRY(jf_file_path(dir, "/", "meta", path));
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT ? JFL_OK : jf_file_fail(path, "open");
  ssize_t n = read(fd, text, MAX_META);
  jfl_status r = n < 0 ? jf_file_fail(path, "read") : JFL_OK;
  close(fd);
  JF_TRY(r);
  text[n] = '\0';
  if (!parse_meta(text, t))
    return jf_fail(JFL_EDATA, "checkpoint %s: the meta must have a shape and a data_type", path);
  return t->dtype == JFL_N_DTYPE ? JFL_OK : check_meta(path, t);
}

/* ---- directories ---- */

/* A directory with a file `out` is a variable's. In one with only a meta, `out` was lost. */
static jfl_status find_out(const char *dir, uint64_t *size, int *found)
{
  char path[PATH_MAX];
  struct stat st;
  JF_TRY(jf_file_path(dir, "/", "out", path));
  *found = !stat(path, &st) && S_ISREG(st.st_mode);
  if (*found) *size = (uint64_t)st.st_size;
  JF_TRY(jf_file_path(dir, "/", "meta", path));
  if (*found || stat(path, &st) || !S_ISREG(st.st_mode)) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: has a meta, but the file out is missing", dir);
}

static jfl_status oneflow_add(jf_source *s, const char *dir, uint64_t size)
{
  const char *name = dir + strlen(s->path) + 1;
  jf_entry *v = jf_regrow(s->tensor, s->n_tensor, &s->cap_tensor, sizeof *v);
  if (v) s->tensor = v;
  char *copy = v ? jf_new_raw(strlen(name) + 1) : NULL;
  if (!copy) return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory", s->path);
  strcpy(copy, name);
  jf_entry *t = &v[s->n_tensor++];
  *t = (jf_entry){ .name = copy, .dtype = JFL_N_DTYPE, .shape = { .n = -1 }, .size = size };
  return oneflow_read_meta(dir, t);
}

static jfl_status oneflow_walk(jf_source *s, const char *dir, int depth);

/* Variables whose names have slashes lie in directories further down. Links are not followed. */
static jfl_status oneflow_visit(jf_source *s, const char *parent, const char *name, int depth)
{
  char dir[PATH_MAX];
  struct stat st;
  uint64_t size = 0;
  int found = 0;
  JF_TRY(jf_file_path(parent, "/", name, dir));
  if (lstat(dir, &st) || !S_ISDIR(st.st_mode)) return JFL_OK;
  JF_TRY(find_out(dir, &size, &found));
  if (found) JF_TRY(oneflow_add(s, dir, size));
  return depth < MAX_DEPTH ? oneflow_walk(s, dir, depth + 1) : JFL_OK;
}

static jfl_status oneflow_walk(jf_source *s, const char *dir, int depth)
{
  DIR *d = opendir(dir);
  if (!d) return jf_file_fail(dir, "list the directory");
  jfl_status r = JFL_OK;
  for (const struct dirent *e; r == JFL_OK && (e = readdir(d));)
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
      r = oneflow_visit(s, dir, e->d_name, depth);
  closedir(d);
  return r;
}

/* The variable whose directory s->path is. */
static jfl_status open_single(jf_source *s, uint64_t size)
{
  char whole[PATH_MAX], dir[PATH_MAX];
  const char *slash = strrchr(s->path, '/');
  JF_TRY(jf_file_path(s->path, "", "", whole));
  jf_file_parent(whole, s->path);
  JF_TRY(jf_file_path(s->path, "/", slash ? whole + (slash - s->path) + 1 : whole, dir));
  s->about = JFL_SINGLE;
  return oneflow_add(s, dir, size);
}

jfl_status jf_oneflow_open(jf_source *s)
{
  char done[PATH_MAX];
  uint64_t size = 0;
  int single = 0;
  JF_TRY(find_out(s->path, &size, &single));
  if (single) return open_single(s, size);
  JF_TRY(jf_file_path(s->path, "/", "snapshot_done", done));
  if (access(done, F_OK)) s->about = JFL_UNFINISHED;
  JF_TRY(oneflow_walk(s, s->path, 0));
  return jf_source_sort(s);
}

jfl_status jf_oneflow_read(const jf_source *s, const jf_entry *t, void *out)
{
  char dir[PATH_MAX], path[PATH_MAX];
  JF_TRY(jf_file_path(s->path, "/", t->name, dir));
  JF_TRY(jf_file_path(dir, "/", "out", path));
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return jf_file_fail(path, "open");
  jfl_status r = jf_file_read(fd, path, out, (size_t)t->size, 0);
  close(fd);
  return r;
}
