/* A checkpoint directory opened for reading, whichever layout it has. */
#include "checkpoint/checkpoint.h"
#include "optim/update.h"
#include "run/run.h"
#include "world/world.h"

#include <errno.h>
#include <string.h>

/* Whether it is what optimizers, ours or OneFlow's, name after their variable: "w-momentum". */
static int is_slot(const jf_source *s, const char *name)
{
  char base[JF_MOST_NAME + 1];
  const char *dash = strrchr(name, '-');
  const size_t n = dash ? (size_t)(dash - name) : 0;
  if (!n || n > JF_MOST_NAME) return 0;
  if (!jf_is_slot(dash + 1) && strcmp(dash, "-beta1_t") && strcmp(dash, "-beta2_t")) return 0;
  memcpy(base, name, n);
  base[n] = '\0';
  return jf_source_find(s, base) != NULL;
}

static jfl_status is_state(const jf_source *s, jf_entry *t)
{
  jf_text key = {0};
  jf_text_add(&key, "state.%s", t->name);
  if (key.failed) return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory", s->path);
  /* A checkpoint with a seed was saved by a session, whose metadata says which names are state. */
  t->state = jf_source_meta(s, key.s) != NULL || !strncmp(t->name, "System-", 7) ||
             (!jf_source_meta(s, "seed") && is_slot(s, t->name));
  jf_free(key.s);
  return JFL_OK;
}

/* The error for a path at which there is no checkpoint. */
static jfl_status absent(const char *path)
{
  char staged[JF_MOST_PATH];
  jf_info st;
  if (errno != ENOENT) return jf_file_fail(path, "look up");
  JF_TRY(jf_file_path(path, JF_STAGE_SUFFIX, "", staged));
  if (!jf_info_at(JF_HERE, staged, 0, &st))
    return jf_fail(JFL_EIO, "checkpoint %s: no such directory; a save to it was cut short", path);
  return jf_fail(JFL_EIO, "checkpoint %s: no such directory", path);
}

/* Opens the file s->path; *there 0: there is none. */
static jfl_status open_file(jf_source *s, int *there)
{
  s->fd = jf_open(JF_HERE, s->path, JF_READ);
  *there = s->fd >= 0 || errno != ENOENT;
  return s->fd >= 0 ? jf_safetensors_open(s) : *there ? jf_file_fail(s->path, "open") : JFL_OK;
}

static int ends_with(const char *s, const char *end)
{
  size_t n = strlen(s), k = strlen(end);
  return n >= k && !strcmp(s + n - k, end);
}

static jfl_status open_path(const char *path, jf_source *s)
{
  jf_info st;
  int there = 0;
  if (jf_info_at(JF_HERE, path, 0, &st)) return absent(path);
  int is_dir = st.kind == JF_FOLDER;
  if (!is_dir && !ends_with(path, ".safetensors"))
    return jf_fail(JFL_EIO, "checkpoint %s: the path must be a directory, got a file", path);
  JF_TRY(jf_file_path(path, is_dir ? "/" : "", is_dir ? JF_MODEL_FILE : "", s->path));
  JF_TRY(open_file(s, &there));
  if (there) return JFL_OK;
  strcpy(s->path, path);
  JF_TRY(jf_oneflow_open(s));
  if (s->n_tensor) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: the directory must hold " JF_MODEL_FILE " or one "
                 "directory for each variable, got neither", path);
}

jfl_status jf_source_open(const char *path, jf_source *out)
{
  char dir[JF_MOST_PATH];
  *out = (jf_source){ .fd = -1, .dir = -1 };
  JF_TRY(jf_file_trim(path, dir));
  jfl_status r = open_path(dir, out);
  for (int i = 0; r == JFL_OK && i < out->n_tensor; i++) r = is_state(out, &out->tensor[i]);
  if (r != JFL_OK) jf_source_close(out);
  return r;
}

jfl_status jf_source_read(const jf_source *s, const jf_entry *t, void *out)
{
  if (s->fd < 0) return jf_oneflow_read(s, t, out);
  return jf_file_read(s->fd, s->path, out, (size_t)t->size, t->begin);
}

jfl_status jf_source_fetch(const jf_source *s, const jf_entry *t, void *out, jfl_status st)
{
  if (!st && (!s->shared || !jf_world_rank())) st = jf_source_read(s, t, out);
  if (!s->shared) return st;
  st = jf_session_agree_status(s->shared, st);
  return st ? st : jf_hand_out(out, (size_t)t->size);
}

void jf_source_close(jf_source *s)
{
  if (s->fd >= 0) jf_close(s->fd);
  if (s->dir >= 0) jf_folder_close(s->dir);
  for (int i = 0; !s->text && i < s->n_tensor; i++) jf_free((char *)s->tensor[i].name);
  jf_free(s->tensor);
  jf_free(s->meta);
  jf_free(s->text);
  *s = (jf_source){ .fd = -1, .dir = -1 };
}
