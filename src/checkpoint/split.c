/* Writing of a checkpoint that is staged: one file, or shards and their index. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"

#include <stdio.h>

enum { MOST_SHARDS = 99999, SHARD_NAME = 64 };

/* How many tensors from the first on are of one shard. */
static int split_next(const jf_entry *t, int n, uint64_t most)
{
  uint64_t size = 0;
  for (int i = 0; i < n; i++) {
    size += JF_BYTES_OF(&t[i]);
    if (i && size > most) return i;
  }
  return n;
}

/* Adds the tensors of a shard to the index. */
static void split_index(jf_text *index, const jf_entry *t, int n, const char *file)
{
  for (int i = 0; i < n; i++) {
    if (index->s[index->n - 1] != '{') jf_text_put(index, ",", 1);
    jf_json_put(index, t[i].name);
    jf_text_put(index, ":", 1);
    jf_json_put(index, file);
  }
}

/* The first shard says all that the metadata does, the others only which format they have. */
static jfl_status split_write_one(jfl_session *together, const jf_stage *st, const char *name,
                                  jf_entry *t, int n, const jf_text *meta)
{
  char path[JF_MOST_PATH];
  jf_text format = {0};
  const int writes = st->model.fd >= 0;
  jfl_status s = jf_file_path(st->target, "/", name, path);
  int fd = s || !writes ? -1 : jf_open(st->model.dir, name, JF_WRITE | JF_NEW | JF_NO_LINK);
  if (!s && writes && fd < 0) s = jf_file_fail(path, "make the file");
  if (together) s = jf_session_agree_status(together, s);
  jf_safetensors_format(&format);
  if (!s) s = jf_safetensors_write(together, fd, path, t, n, meta ? meta : &format);
  if (!s && writes && jf_sync(fd)) s = jf_file_fail(path, "sync");
  if (fd >= 0) jf_close(fd);
  jf_free(format.s);
  return together ? jf_session_agree_status(together, s) : s;
}

static jfl_status split_write(jfl_session *together, const jf_stage *st, jf_entry *t, int n,
                              const jf_text *meta, jf_text *index)
{
  int n_shard = 0, i = 0;
  char name[SHARD_NAME];
  uint64_t total = 0;
  for (int at = 0; at < n || !n_shard; n_shard++)
    at += split_next(&t[at], n - at, st->shard_bytes);
  if (n_shard > MOST_SHARDS)
    return jf_fail(JFL_EINVAL, "checkpoint %s: there must be at most %d shards, got %d; make them "
                   "larger", st->target, MOST_SHARDS, n_shard);
  for (int k = 0; k < n; k++) total += JF_BYTES_OF(&t[k]);
  jf_text_add(index, "{\"metadata\":{\"total_size\":%llu},\"weight_map\":{",
              (unsigned long long)total);
  for (int at = 0, size; i < n_shard; at += size) {
    size = split_next(&t[at], n - at, st->shard_bytes);
    snprintf(name, SHARD_NAME, "model-%05d-of-%05d.safetensors", ++i, n_shard);
    if (!index->failed) split_index(index, &t[at], size, name);
    JF_TRY(split_write_one(together, st, name, &t[at], size, i == 1 ? meta : NULL));
  }
  jf_text_put(index, "}}\n", 3);
  if (!index->failed) return JFL_OK;
  return jf_checkpoint_memory(st->target);
}

jfl_status jf_stage_write(jfl_session *together, const jf_stage *st, jf_entry *t, int n,
                          const jf_text *meta)
{
  jf_text index = {0};
  if (!st->shard_bytes) return jf_safetensors_write(together, st->model.fd, st->file, t, n, meta);
  jfl_status s = jf_source_order(&(jf_source){ .tensor = t, .n_tensor = n });
  if (together) s = jf_session_agree_status(together, s);
  if (!s) s = split_write(together, st, t, n, meta, &index);
  if (!s && st->model.fd >= 0) s = jf_file_write(st->model.fd, st->file, index.s, index.n);
  jf_free(index.s);
  return s;
}
