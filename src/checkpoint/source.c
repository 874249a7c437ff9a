/* A checkpoint opened for reading, whichever format it has. */
#include "checkpoint/checkpoint.h"
#include "optim/update.h"
#include "run/run.h"
#include "world/world.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The formats, in the order in which they are tried. */
#define SOURCE_FORMATS(X) X(shards) X(safetensors) X(gguf) X(torch) X(oneflow)

#define X(name) extern const jf_format jf_format_##name;
SOURCE_FORMATS(X)
#undef X
#define X(name) &jf_format_##name,
static const jf_format *const formats[] = { SOURCE_FORMATS(X) };
#undef X
enum { N_FORMATS = sizeof formats / sizeof *formats };

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
  if (key.failed) return jf_checkpoint_memory(s->path);
  /* A checkpoint with a seed was saved by a session, whose metadata says which names are state. */
  t->state = jf_source_meta(s, key.s) != NULL || !strncmp(t->name, "System-", 7) ||
             (!jf_source_meta(s, "seed") && is_slot(s, t->name)) || t->state;
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

/* The error for a path at which there is something else. */
static jfl_status source_no_format(const char *path, int is_folder)
{
  char holds[400] = "";
  size_t n = 0;
  if (!is_folder)
    return jf_fail(JFL_EIO, "checkpoint %s: it must be a .safetensors or .gguf file, what "
                   "PyTorch's save writes, the index of shards or the directory of a checkpoint, "
                   "got a file of another kind; programs that write such files can save weights as "
                   ".safetensors, too, and onnx.load reads .onnx", path);
  for (int i = 0; i < N_FORMATS; i++)
    if (formats[i]->holds)
      n += (size_t)snprintf(holds + n, sizeof holds - n, "%s%s", n ? " or " : "",
                            formats[i]->holds);
  return jf_fail(JFL_EDATA, "checkpoint %s: the directory must hold %s, got none of them", path,
                 holds);
}

static jfl_status open_path(const char *path, jf_source *s)
{
  jf_info st;
  if (jf_info_at(JF_HERE, path, 0, &st)) return absent(path);
  const int is_folder = st.kind == JF_FOLDER;
  for (int i = 0, is_it = 0; i < N_FORMATS; i++) {
    strcpy(s->path, path);
    JF_TRY(formats[i]->probe(s, is_folder, &is_it));
    if (!is_it) continue;
    s->format = formats[i];
    JF_TRY(formats[i]->open(s, &is_it));
    if (is_it) return JFL_OK;
    jf_source_close(s);
  }
  return source_no_format(path, is_folder);
}

jfl_status jf_source_open(const char *path, jf_source *out)
{
  char dir[JF_MOST_PATH];
  *out = (jf_source){ .fd = -1 };
  JF_TRY(jf_file_trim(path, dir));
  jfl_status r = open_path(dir, out);
  for (int i = 0; r == JFL_OK && i < out->n_tensor; i++) {
    r = jf_time_at(i);
    if (r == JFL_OK) r = is_state(out, &out->tensor[i]);
  }
  if (r != JFL_OK) jf_source_close(out);
  return r;
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
  if (s->format && s->format->close) s->format->close(s);
  if (s->fd >= 0) jf_close(s->fd);
  jf_free(s->text);
  jf_mapping_drop(s->map);
  jf_free(s->tensor);
  jf_free(s->meta);
  jf_free(s->taken);
  *s = (jf_source){ .fd = -1 };
}
