/* OneFlow's own checkpoint layout: a directory for each variable with the raw bytes in `out`, and
   mostly a text `meta` such as "shape { dim: 512 dim: 784 } data_type: kFloat". */
#include "checkpoint/checkpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
  int over = jf_shape_check(&t->shape, "shape") != JFL_OK;
  for (int i = 0; i < t->shape.n; i++)
    over |= __builtin_mul_overflow(want, (uint64_t)t->shape.d[i], &want);
  if (!over && (t->dtype == JFL_N_DTYPE || want == t->size)) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: %s %s does not fill the %llu bytes of %s/out", path,
                 t->dtype == JFL_N_DTYPE ? t->dtype_name : jfl_dtype_name(t->dtype),
                 jf_shape_str(&t->shape, buf), (unsigned long long)t->size, t->name);
}

/* The error for a file of a variable that cannot be opened. */
static jfl_status oneflow_no_file(const char *dir, const char *file)
{
  if (errno != ELOOP)
    return jf_fail(JFL_EIO, "checkpoint %s/%s: cannot open: %s", dir, file, jf_trouble(errno));
  return jf_fail(JFL_EDATA, "checkpoint %s/%s: must be a file, got a link; links in a checkpoint "
                 "are not followed", dir, file);
}

static int oneflow_open_file(int dir, const char *file)
{
  return jf_open(dir, file, JF_READ | JF_NO_LINK);
}

/* dir is the variable's directory, and path its path. */
static jfl_status oneflow_read_meta(int dir, const char *path, jf_entry *t)
{
  char text[MAX_META + 1];
  int fd = oneflow_open_file(dir, "meta");
  if (fd < 0) return errno == ENOENT ? JFL_OK : oneflow_no_file(path, "meta");
  const int64_t n = jf_read_all(fd, text, MAX_META);
  jfl_status r = n < 0 ? jf_file_fail(path, "read the meta of") : JFL_OK;
  jf_close(fd);
  JF_TRY(r);
  text[n] = '\0';
  if (parse_meta(text, t)) return check_meta(path, t);
  return jf_fail(JFL_EDATA, "checkpoint %s/meta: the meta must have a shape and a data_type", path);
}

/* ---- directories ---- */

/* Looks at a file that may be missing; fails where it cannot be told whether it is. */
static jfl_status oneflow_look(int dir, const char *path, const char *file, int how, jf_info *out,
                               int *there)
{
  *there = !jf_info_at(dir, file, how, out);
  if (*there || errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return JFL_OK;
  return jf_fail(JFL_EIO, "checkpoint %s/%s: cannot look up: %s", path, file, jf_trouble(errno));
}

/* A directory with a file `out` is a variable's. In one with only a meta, `out` was lost. */
static jfl_status find_out(int dir, const char *path, uint64_t *size, int *found)
{
  jf_info st;
  int there;
  JF_TRY(oneflow_look(dir, path, "out", JF_NO_LINK, &st, &there));
  *found = there && st.kind == JF_FILE;
  if (*found) *size = (uint64_t)st.size;
  if (there && st.kind == JF_LINK) return errno = ELOOP, oneflow_no_file(path, "out");
  if (*found) return JFL_OK;
  JF_TRY(oneflow_look(dir, path, "meta", 0, &st, &there));
  if (!there || st.kind != JF_FILE) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: has a meta, but the file out is missing", path);
}

static jfl_status oneflow_add(jf_source *s, int dir, const char *path, uint64_t size)
{
  const char *name = path + strlen(s->path) + 1;
  const int fits = JF_ROOM(s->tensor, s->n_tensor, s->cap_tensor);
  char *copy = fits ? jf_new_raw(strlen(name) + 1) : NULL;
  if (!copy) return jf_checkpoint_memory(s->path);
  strcpy(copy, name);
  jf_entry *t = &s->tensor[s->n_tensor++];
  *t = (jf_entry){ .name = copy, .own = copy, .dtype = JFL_N_DTYPE, .shape = { .n = -1 },
                   .size = size };
  return oneflow_read_meta(dir, path, t);
}

static jfl_status oneflow_walk(jf_source *s, int dir, const char *path, int depth);

/* Opens a directory of the tree; -1 with errno. */
static int oneflow_open_dir(int parent, const char *name)
{
  return jf_folder_open(parent, name, JF_NO_LINK);
}

/* Variables whose names have slashes lie in directories further down. */
static jfl_status oneflow_visit(jf_source *s, int dir, const char *path, int depth)
{
  uint64_t size = 0;
  int found = 0;
  JF_TRY(find_out(dir, path, &size, &found));
  if (found) JF_TRY(oneflow_add(s, dir, path, size));
  return depth < MAX_DEPTH ? oneflow_walk(s, dir, path, depth + 1) : JFL_OK;
}

static jfl_status oneflow_enter(jf_source *s, int parent, const char *path, const char *name,
                                int depth)
{
  char below[JF_MOST_PATH];
  JF_TRY(jf_file_path(path, "/", name, below));
  int dir = oneflow_open_dir(parent, name);
  if (dir < 0 && (errno == ENOTDIR || errno == ELOOP || errno == ENOENT)) return JFL_OK;
  if (dir < 0) return jf_file_fail(below, "list the directory");
  jfl_status r = oneflow_visit(s, dir, below, depth);
  jf_folder_close(dir);
  return r;
}

static jfl_status oneflow_walk(jf_source *s, int dir, const char *path, int depth)
{
  jf_listing *l = jf_listing_open(dir);
  jfl_status r = l ? JFL_OK : jf_file_fail(path, "list the directory");
  for (const char *name; r == JFL_OK && (name = jf_listing_next(l));)
    r = oneflow_enter(s, dir, path, name, depth);
  if (r == JFL_OK && errno) r = jf_file_fail(path, "list the directory");
  jf_listing_close(l);
  return r;
}

/* The variable whose directory s->path is. */
static jfl_status open_single(jf_source *s, uint64_t size)
{
  char whole[JF_MOST_PATH], path[JF_MOST_PATH];
  const char *slash = strrchr(s->path, '/');
  JF_TRY(jf_file_path(s->path, "", "", whole));
  jf_file_parent(whole, s->path);
  JF_TRY(jf_file_path(s->path, "/", slash ? whole + (slash - s->path) + 1 : whole, path));
  s->about = JFL_SINGLE;
  return oneflow_add(s, s->fd, path, size);
}

static jfl_status oneflow_probe(jf_source *s, int is_folder, int *may_be)
{
  (void)s;
  *may_be = is_folder;
  return JFL_OK;
}

/* If the path is a variable's own directory, it becomes the one above, and s has that variable
   alone. Links are not followed, so that nothing outside of it is read. */
static jfl_status oneflow_open(jf_source *s, int *is_it)
{
  uint64_t size = 0;
  int single = 0, finished;
  s->fd = jf_folder_open(JF_HERE, s->path, 0);
  if (s->fd < 0) return jf_file_fail(s->path, "open");
  JF_TRY(find_out(s->fd, s->path, &size, &single));
  *is_it = single;
  if (single) return open_single(s, size);
  jf_info done;
  JF_TRY(oneflow_look(s->fd, s->path, "snapshot_done", 0, &done, &finished));
  if (!finished) s->about = JFL_UNFINISHED;
  JF_TRY(oneflow_walk(s, s->fd, s->path, 0));
  *is_it = s->n_tensor > 0;
  return jf_source_sort(s);
}

/* Opens the file `out` of the variable, part by part of its name, so that no link is followed. */
static int oneflow_open_out(const jf_source *s, const char *name)
{
  char part[JF_MOST_NAME + 1];
  int dir = s->fd;
  while (*name && dir >= 0 && s->about != JFL_SINGLE) {
    size_t n = strcspn(name, "/");
    memcpy(part, name, n);
    part[n] = '\0';
    int below = oneflow_open_dir(dir, part);
    if (dir != s->fd) jf_folder_close(dir);
    dir = below;
    name += n + (name[n] == '/');
  }
  int fd = dir >= 0 ? oneflow_open_file(dir, "out") : -1, e = errno;
  if (dir >= 0 && dir != s->fd) jf_folder_close(dir);
  errno = e;
  return fd;
}

static jfl_status oneflow_read(const jf_source *s, const jf_entry *t, void *out, size_t n)
{
  char path[JF_MOST_PATH];
  JF_TRY(jf_file_path(s->path, "/", t->own, path));
  int fd = oneflow_open_out(s, t->own);
  if (fd < 0) return oneflow_no_file(path, "out");
  jfl_status r = jf_file_read(fd, path, out, n, 0);
  jf_close(fd);
  return r;
}

static void oneflow_close(jf_source *s)
{
  if (s->fd >= 0) jf_folder_close(s->fd);
  s->fd = -1;
  for (int i = 0; i < s->n_tensor; i++) jf_free((char *)s->tensor[i].own);
}

const jf_format jf_format_oneflow = {
  .holds = "one directory for each variable", .probe = oneflow_probe, .open = oneflow_open,
  .read = oneflow_read, .close = oneflow_close,
};
