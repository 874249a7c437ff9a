/* Weights in several files: an index in JSON beside them says which has what, as Hugging Face's
   programs write it. */
#include "checkpoint/checkpoint.h"

#include <ctype.h>
#include <string.h>

enum { MOST_INDEX = 100000000, MOST_SHARDS = 10000 };

/* A tensor's name, and the shard that is told to have it. */
typedef struct shards_place { const char *name, *file; } shards_place;

typedef struct shards_loader {
  jf_source *s;
  jf_json json;
  shards_place *v; int n, cap;
  int seen;                    /* there is a map of weights */
} shards_loader;

/* ---- the index ---- */

/* A file of the index's own folder: its plain name, which leads nowhere else on any system. */
static int shards_is_name(const char *file)
{
  if (!*file || strlen(file) > JF_MOST_NAME || !strcmp(file, ".") || !strcmp(file, "..")) return 0;
  return !strpbrk(file, "/\\:");
}

static jfl_status shards_read_map(shards_loader *l)
{
  JF_TRY(jf_json_enter(&l->json, '{'));
  l->seen = 1;
  for (int more;;) {
    shards_place p;
    JF_TRY(jf_json_next(&l->json, '}', &more));
    if (!more) return JFL_OK;
    JF_TRY(jf_json_key(&l->json, &p.name));
    JF_TRY(jf_json_string(&l->json, &p.file));
    if (!shards_is_name(p.file))
      return jf_fail(JFL_EDATA, "tensor %s: its file must be a name in the folder of the index, "
                     "got \"%.80s\"", p.name, p.file);
    if (!JF_ROOM(l->v, l->n, l->cap)) return jf_fail(JFL_ENOMEM, "out of memory");
    l->v[l->n++] = p;
  }
}

static jfl_status shards_read_index(shards_loader *l)
{
  const char *key;
  JF_TRY(jf_json_enter(&l->json, '{'));
  for (int more;;) {
    JF_TRY(jf_json_next(&l->json, '}', &more));
    if (!more) break;
    JF_TRY(jf_json_key(&l->json, &key));
    JF_TRY(!strcmp(key, "weight_map") && !l->seen ? shards_read_map(l) : jf_json_skip(&l->json));
  }
  JF_TRY(jf_json_end(&l->json));
  return l->seen ? JFL_OK : jf_fail(JFL_EDATA, "it must have a weight_map");
}

static jfl_status shards_fetch(shards_loader *l)
{
  jf_source *s = l->s;
  jf_info st;
  s->fd = jf_open(JF_HERE, s->path, JF_READ);
  if (s->fd < 0) return jf_file_fail(s->path, "open");
  if (jf_info_of(s->fd, &st)) return jf_file_fail(s->path, "look up");
  if (st.kind != JF_FILE || st.size > MOST_INDEX)
    return jf_fail(JFL_EDATA, "checkpoint %s: the index must be a regular file of at most %d bytes",
                   s->path, MOST_INDEX);
  if (!(s->text = jf_new_raw((size_t)st.size))) return jf_checkpoint_memory(s->path);
  JF_TRY(jf_file_read(s->fd, s->path, s->text, (size_t)st.size, 0));
  jf_json_open(&l->json, s->text, (size_t)st.size, 0);
  const jfl_status r = shards_read_index(l);
  return r == JFL_OK ? r : jf_blame(r, "checkpoint %s: %s", s->path,
                                    r == JFL_EDATA ? "damaged: " : "");
}

/* ---- the files ---- */

static int shards_by_file(const void *a, const void *b)
{
  const shards_place *x = a, *y = b;
  const int c = strcmp(x->file, y->file);
  return c ? c : strcmp(x->name, y->name);
}

static int shards_ends(const char *name, const char *ending)
{
  const size_t n = strlen(name), k = strlen(ending);
  return n >= k && !strcmp(name + n - k, ending);
}

static jfl_status shards_open_one(jf_source *s, const char *file)
{
  char folder[JF_MOST_PATH];
  int is_it;
  jf_source *one = jf_new(sizeof *one);
  if (!one) return jf_checkpoint_memory(s->path);
  *one = (jf_source){ .fd = -1 };
  one->format = shards_ends(file, ".safetensors") ? &jf_format_safetensors : &jf_format_torch;
  s->shard[s->n_shard++] = one;
  jf_file_parent(s->path, folder);
  JF_TRY(jf_file_path(folder, "/", file, one->path));
  const jfl_status r = one->format->open(one, &is_it);
  return r == JFL_OK ? r : jf_blame(r, "checkpoint %s: ", s->path);
}

/* Opens each file once, the first of them with the metadata of all. */
static jfl_status shards_open_all(shards_loader *l)
{
  jf_source *s = l->s;
  int n = 0;
  JF_TRY(jf_sort_in_time(l->v, (size_t)l->n, sizeof *l->v, shards_by_file));
  for (int i = 0; i < l->n; i++) n += !i || strcmp(l->v[i].file, l->v[i - 1].file);
  if (n > MOST_SHARDS)
    return jf_fail(JFL_EDATA, "checkpoint %s: it must have at most %d shards, got %d", s->path,
                   MOST_SHARDS, n);
  if (!(s->shard = jf_new((size_t)n * sizeof *s->shard))) return jf_checkpoint_memory(s->path);
  for (int i = 0; i < l->n; i++)
    if (!i || strcmp(l->v[i].file, l->v[i - 1].file)) JF_TRY(shards_open_one(s, l->v[i].file));
  return JFL_OK;
}

/* ---- what they have ---- */

static jfl_status shards_join(jf_source *s)
{
  int n = 0;
  for (int i = 0; i < s->n_shard; i++) n += s->shard[i]->n_tensor;
  if (!(s->tensor = jf_new((size_t)n * sizeof *s->tensor))) return jf_checkpoint_memory(s->path);
  for (int i = 0; i < s->n_shard; i++)
    for (int k = 0; k < s->shard[i]->n_tensor; k++) {
      jf_entry *t = &s->tensor[s->n_tensor++];
      *t = s->shard[i]->tensor[k];
      t->in = s->shard[i];
    }
  const int n_meta = s->n_shard ? s->shard[0]->n_meta : 0;
  if (!(s->meta = jf_new((size_t)n_meta * sizeof *s->meta))) return jf_checkpoint_memory(s->path);
  if (n_meta) memcpy(s->meta, s->shard[0]->meta, (size_t)n_meta * sizeof *s->meta);
  s->n_meta = n_meta;
  const jfl_status r = jf_source_sort(s);
  return r == JFL_OK ? r : jf_blame(r, "checkpoint %s: damaged: ", s->path);
}

/* Each name of the index is in the file that it tells. */
static jfl_status shards_check(const shards_loader *l)
{
  for (int i = 0; i < l->n; i++) {
    const shards_place *p = &l->v[i];
    const jf_entry *t = jf_source_find(l->s, p->name);
    const char *slash = t ? strrchr(t->in->path, '/') : NULL;
    if (!t || !slash || strcmp(slash + 1, p->file))
      return jf_fail(JFL_EDATA, "checkpoint %s: damaged: tensor %s is not in %s, as the index says",
                     l->s->path, p->name, p->file);
  }
  return JFL_OK;
}

/* ---- the format ---- */

/* Replaces the ending of s->path, of n bytes from its end, by another one. */
static jfl_status shards_swap(const jf_source *s, size_t n, const char *ending, char *out)
{
  char whole[JF_MOST_PATH];
  strcpy(whole, s->path);
  whole[strlen(whole) - n] = '\0';
  return jf_file_path(whole, ending, JF_INDEX_ENDING, out);
}

/* "model-00001-of-00003.safetensors" is a shard of what model.safetensors.index.json says. */
size_t jf_shard_number(const char *path, const char *ending)
{
  static const char form[] = "-00000-of-00000";
  const size_t n = strlen(path), k = strlen(ending), f = sizeof form - 1;
  if (n < k + f || strcmp(path + n - k, ending)) return 0;
  const char *at = path + n - k - f;
  for (size_t i = 0; i < f; i++)
    if (form[i] == '0' ? !isdigit((unsigned char)at[i]) : at[i] != form[i]) return 0;
  return k + f;
}

/* Whether there is an index at the path; s->path becomes that. */
static int shards_there(jf_source *s, const char *path)
{
  jf_info st;
  if (jf_info_at(JF_HERE, path, 0, &st) || st.kind != JF_FILE) return 0;
  strcpy(s->path, path);
  return 1;
}

static jfl_status shards_probe(jf_source *s, int is_folder, int *may_be)
{
  static const char *const endings[] = { ".safetensors", ".bin" };
  static const char *const whole[] = { "/" JF_MODEL_FILE, "/pytorch_model.bin" };
  char path[JF_MOST_PATH];
  jf_info st;
  *may_be = !is_folder && shards_ends(s->path, JF_INDEX_ENDING);
  for (int i = 0; i < 2 && !*may_be; i++) {
    const size_t n = is_folder ? 0 : jf_shard_number(s->path, endings[i]);
    if (!is_folder && !n) continue;
    if (is_folder) {
      JF_TRY(jf_file_path(s->path, whole[i], "", path));
      if (!jf_info_at(JF_HERE, path, 0, &st)) return JFL_OK;     /* one file has all */
    }
    JF_TRY(shards_swap(s, n, is_folder ? whole[i] : endings[i], path));
    *may_be = shards_there(s, path);
  }
  return JFL_OK;
}

static jfl_status shards_open(jf_source *s, int *is_it)
{
  shards_loader l = { .s = s };
  *is_it = 1;
  jfl_status r = shards_fetch(&l);
  if (r == JFL_OK) r = shards_open_all(&l);
  if (r == JFL_OK) r = shards_join(s);
  if (r == JFL_OK) r = shards_check(&l);
  jf_free(l.v);
  return r;
}

static void shards_close(jf_source *s)
{
  for (int i = 0; i < s->n_shard; i++) {
    jf_source_close(s->shard[i]);
    jf_free(s->shard[i]);
  }
  jf_free(s->shard);
}

const jf_format jf_format_shards = {
  .holds = JF_MODEL_FILE JF_INDEX_ENDING " with its shards", .probe = shards_probe,
  .open = shards_open, .close = shards_close,
};
