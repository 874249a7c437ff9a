/* What PyTorch's save writes since 1.6: a zip archive with a pickle, data.pkl, and the bytes of
   each storage as a member. */
#include "checkpoint/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PICKLE = 100000000, MOST_DEPTH = 32, MOST_PATH_OF_KEYS = 512 };

#define TORCH_FILE "pytorch_model.bin"
#define TORCH_PICKLE "data.pkl"

/* What files of 1.5 and before begin with: a pickle of a number that stands for the format. */
static const unsigned char old_head[] = {
  0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e
};
static const unsigned char zip_head[] = { 'P', 'K', 3, 4 };

typedef struct torch_loader {
  jf_source *s;
  uint64_t size;               /* of the file */
  jf_zip zip;
  char folder[JF_MOST_NAME + 1];       /* in the archive; ends with a slash, or is empty */
  jf_pickle pickle;
  int looks;                   /* how many more values may be looked at */
  int plain;                   /* what is said of names that the weights have, not all there is */
  char name[MOST_PATH_OF_KEYS]; size_t n_name;
  jf_text names;               /* of all tensors, each with its end */
} torch_loader;

/* ---- the archive ---- */

/* Reads a whole member; *out is for the caller to free. */
static jfl_status torch_member(torch_loader *l, const char *name, char **out, size_t *n)
{
  char path[JF_MOST_NAME + 32];
  uint64_t begin;
  *out = NULL;
  *n = 0;
  snprintf(path, sizeof path, "%s%s", l->folder, name);
  const jf_zip_member *m = jf_zip_find(&l->zip, path);
  if (!m) return JFL_OK;
  JF_TRY(jf_zip_place(l->s->fd, l->s->path, l->size, m, &begin));
  if (m->size > MOST_PICKLE)
    return jf_fail(JFL_EDATA, "checkpoint %s: %s must have at most %d bytes, got %llu", l->s->path,
                   m->name, MOST_PICKLE, (unsigned long long)m->size);
  *n = (size_t)m->size;
  if (!(*out = jf_new_raw(*n))) return jf_checkpoint_memory(l->s->path);
  return jf_file_read(l->s->fd, l->s->path, *out, *n, begin);
}

/* The folder of the archive that has the pickle. */
static jfl_status torch_find_folder(torch_loader *l)
{
  const size_t k = strlen(TORCH_PICKLE);
  for (int i = 0; i < l->zip.n; i++) {
    const char *name = l->zip.v[i].name;
    const size_t n = strlen(name);
    if (n < k || strcmp(name + n - k, TORCH_PICKLE) || n - k >= sizeof l->folder) continue;
    if (n > k && name[n - k - 1] != '/') continue;
    memcpy(l->folder, name, n - k);
    l->folder[n - k] = '\0';
    return JFL_OK;
  }
  return jf_fail(JFL_EDATA, "checkpoint %s: the zip archive must have a " TORCH_PICKLE ", as those "
                 "of PyTorch's save do", l->s->path);
}

static jfl_status torch_check_order(torch_loader *l)
{
  char *order;
  size_t n;
  jfl_status r = torch_member(l, "byteorder", &order, &n);
  if (r == JFL_OK && n == 3 && !memcmp(order, "big", 3))
    r = jf_fail(JFL_ENOSYS, "checkpoint %s: its numbers must be little endian, got big endian ones",
                l->s->path);
  jf_free(order);
  return r;
}

/* ---- tensors ---- */

static jfl_status torch_bad(const torch_loader *l, const char *what)
{
  return jf_fail(JFL_EDATA, "checkpoint %s: damaged: tensor %.*s: %s", l->s->path, (int)l->n_name,
                 l->name, what);
}

/* Whether all elements lie within the storage. A tensor has no more elements than that, so that
   what it takes is in the file. */
static int torch_is_within(const jf_pickled_tensor *t)
{
  uint64_t last = 0, far, n = 1;
  for (int i = 0; i < t->shape.n; i++) n *= (uint64_t)t->shape.d[i];    /* at most 2^47 */
  if (!n) return 1;
  for (int i = 0; i < t->shape.n; i++) {
    if (__builtin_mul_overflow((uint64_t)t->shape.d[i] - 1, (uint64_t)t->step[i], &far)) return 0;
    if (__builtin_add_overflow(last, far, &last)) return 0;
  }
  if (__builtin_add_overflow(last, (uint64_t)t->offset, &last)) return 0;
  return last < (uint64_t)t->n_storage && n <= (uint64_t)t->n_storage;
}

/* Where the storage lies, which must have the bytes that are told. */
static jfl_status torch_storage(const torch_loader *l, const jf_pickled_tensor *t, uint64_t *begin)
{
  char path[JF_MOST_NAME + 64];
  uint64_t want;
  if (t->n_key > 32) return torch_bad(l, "the key of its storage is too long");
  snprintf(path, sizeof path, "%sdata/%.*s", l->folder, (int)t->n_key, t->key);
  const jf_zip_member *m = jf_zip_find(&l->zip, path);
  if (!m) return torch_bad(l, "its storage is not in the archive");
  if (__builtin_mul_overflow((uint64_t)t->n_storage, (uint64_t)t->type->size, &want) ||
      want > m->size)
    return torch_bad(l, "its storage is smaller than told");
  return jf_zip_place(l->s->fd, l->s->path, l->size, m, begin);
}

static void torch_strides(const jf_pickled_tensor *from, jf_entry *t)
{
  int64_t plain[JFL_MAXDIM];
  jf_entry_plain(t, plain);
  memcpy(t->step, from->step, sizeof t->step);
  for (int i = 0; i < t->shape.n; i++)
    t->strided |= t->shape.d[i] > 1 && t->step[i] != plain[i];
}

static jfl_status torch_add(torch_loader *l, const jf_pickled_tensor *from)
{
  jf_source *s = l->s;
  jf_entry t = { .shape = from->shape, .dtype = from->type->dtype, .dtype_name = from->type->name,
                 .state = !l->plain };
  uint64_t begin;
  if (jf_shape_check(&from->shape, "shape"))
    return torch_bad(l, "its shape must have at most 2^47 elements");
  if (!torch_is_within(from)) return torch_bad(l, "its elements do not lie within its storage");
  JF_TRY(torch_storage(l, from, &begin));
  const uint64_t size = (uint64_t)from->type->size;
  t.begin = begin + (uint64_t)from->offset * size;
  t.size = (uint64_t)jf_numel(&t.shape) * size;
  if (!t.size) t.begin = begin;
  else torch_strides(from, &t);
  if (!JF_ROOM(s->tensor, s->n_tensor, s->cap_tensor)) return jf_checkpoint_memory(s->path);
  s->tensor[s->n_tensor++] = t;
  jf_text_put(&l->names, l->name, l->n_name);
  jf_text_put(&l->names, "", 1);
  return JFL_OK;
}

/* ---- names ---- */

static int torch_is_text(const jf_pickled *v, const char *text)
{
  return v->kind == JF_PICKLED_TEXT && v->n == strlen(text) && !memcmp(v->text, text, v->n);
}

/* Adds a key, or a number in a list, to the name; other keys lead to nothing that is read. */
static jfl_status torch_name(torch_loader *l, const jf_pickled *key, int at, int *is_one)
{
  char digits[24];
  const char *text = digits;
  size_t n;
  *is_one = !key || key->kind == JF_PICKLED_TEXT || key->kind == JF_PICKLED_WHOLE;
  if (!*is_one) return JFL_OK;
  if (key && key->kind == JF_PICKLED_TEXT) text = key->text, n = key->n;
  else n = (size_t)snprintf(digits, sizeof digits, "%lld", key ? (long long)key->whole : at);
  if (n > sizeof l->name - 2 - l->n_name)
    return torch_bad(l, "a name below this one is longer than 510 bytes");
  if (memchr(text, 0, n)) return torch_bad(l, "a name below this one has a zero byte");
  if (l->n_name) l->name[l->n_name++] = '.';
  memcpy(l->name + l->n_name, text, n);
  l->n_name += n;
  l->name[l->n_name] = '\0';
  if (jf_utf8_valid(l->name)) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: damaged: a name is no UTF-8", l->s->path);
}

/* Adds all tensors below a value, except below `but`. */
static jfl_status torch_walk(torch_loader *l, int value, int depth, int but)
{
  const jf_pickle *p = &l->pickle;
  const jf_pickled *v = &p->v[value];
  const size_t n_name = l->n_name;
  if (v->kind == JF_PICKLED_TENSOR) return torch_add(l, &p->tensor[v->first]);
  if (v->kind != JF_PICKLED_LIST && v->kind != JF_PICKLED_DICT) return JFL_OK;
  if (depth == MOST_DEPTH) return torch_bad(l, "its containers nest too deep");
  int at = 0, is_one = 0;
  for (int c = v->first; c >= 0; c = p->cell[c].next, at++) {
    if (l->looks-- <= 0)
      return jf_fail(JFL_EDATA, "checkpoint %s: damaged: its containers hold each other",
                     l->s->path);
    JF_TRY(jf_time_at(l->looks));
    const jf_pickled *key = v->kind == JF_PICKLED_DICT ? &p->v[p->cell[c].value] : NULL;
    if (key) c = p->cell[c].next;
    if (c < 0) break;
    if (p->cell[c].value == but) continue;
    JF_TRY(torch_name(l, key, at, &is_one));
    if (is_one) JF_TRY(torch_walk(l, p->cell[c].value, depth + 1, -1));
    l->name[l->n_name = n_name] = '\0';
  }
  return JFL_OK;
}

/* What a training program keeps beside other things under a name of its own, -1: there is none. */
static int torch_weights(const jf_pickle *p)
{
  static const char *const names[] = { "state_dict", "model_state_dict", "model" };
  if (p->v[p->root].kind != JF_PICKLED_DICT) return -1;
  for (int i = 0; i < 3; i++)
    for (int c = p->v[p->root].first; c >= 0;) {
      const int key = p->cell[c].value, next = p->cell[c].next;
      if (next < 0) break;
      const int value = p->cell[next].value;
      if (torch_is_text(&p->v[key], names[i]) && p->v[value].kind == JF_PICKLED_DICT) return value;
      c = p->cell[next].next;
    }
  return -1;
}

static jfl_status torch_add_all(torch_loader *l)
{
  const int weights = torch_weights(&l->pickle);
  l->looks = 2 * l->pickle.n_cell + 1;
  if (weights >= 0) {
    l->plain = 1;
    JF_TRY(torch_walk(l, weights, 1, -1));
  }
  l->plain = weights < 0;
  return torch_walk(l, l->pickle.root, 0, weights);
}

/* ---- the format ---- */

static jfl_status torch_probe(jf_source *s, int is_folder, int *may_be)
{
  unsigned char head[sizeof old_head] = {0};
  char path[JF_MOST_PATH];
  jf_info st;
  *may_be = 0;
  if (is_folder) {
    JF_TRY(jf_file_path(s->path, "/", TORCH_FILE, path));
    *may_be = !jf_info_at(JF_HERE, path, 0, &st) || errno != ENOENT;
    if (*may_be) strcpy(s->path, path);
    return JFL_OK;
  }
  int fd = jf_open(JF_HERE, s->path, JF_READ);
  if (fd < 0 || jf_info_of(fd, &st) || st.kind != JF_FILE) {
    if (fd >= 0) jf_close(fd);
    return JFL_OK;
  }
  *may_be = jf_read_all(fd, head, sizeof head) > 0 &&
            (!memcmp(head, zip_head, sizeof zip_head) || !memcmp(head, old_head, sizeof head));
  jf_close(fd);
  return JFL_OK;
}

static jfl_status torch_check_head(const jf_source *s, uint64_t size)
{
  unsigned char head[sizeof old_head] = {0};
  JF_TRY(jf_file_read(s->fd, s->path, head, size < sizeof head ? (size_t)size : sizeof head, 0));
  if (!memcmp(head, zip_head, sizeof zip_head)) return JFL_OK;
  if (!memcmp(head, old_head, sizeof head))
    return jf_fail(JFL_ENOSYS, "checkpoint %s: PyTorch wrote it in the format of 1.5 and before, "
                   "which is not read; write it again: torch.save(torch.load(path), path)",
                   s->path);
  return jf_fail(JFL_EDATA, "checkpoint %s: it must be a zip archive, as PyTorch's save writes, "
                 "got something else", s->path);
}

static jfl_status torch_load(torch_loader *l, char **pickle)
{
  size_t n;
  jf_source *s = l->s;
  JF_TRY(torch_check_head(s, l->size));
  JF_TRY(jf_zip_open(s->fd, s->path, l->size, &l->zip));
  JF_TRY(torch_find_folder(l));
  JF_TRY(torch_check_order(l));
  JF_TRY(torch_member(l, TORCH_PICKLE, pickle, &n));
  jfl_status r = jf_pickle_read(*pickle, n, &l->pickle);
  if (r != JFL_OK) return jf_blame(r, "checkpoint %s: ", s->path);
  JF_TRY(torch_add_all(l));
  if (l->names.failed) return jf_checkpoint_memory(s->path);
  s->text = l->names.s;
  l->names = (jf_text){0};
  const char *name = s->text;
  for (int i = 0; i < s->n_tensor; i++, name += strlen(name) + 1)
    s->tensor[i].name = s->tensor[i].own = name;
  r = jf_source_sort(s);
  return r == JFL_OK ? r : jf_blame(r, "checkpoint %s: ", s->path);
}

static jfl_status torch_open(jf_source *s, int *is_it)
{
  torch_loader l = { .s = s };
  char *pickle = NULL;
  *is_it = 1;
  JF_TRY(jf_source_open_file(s, &l.size));
  const jfl_status r = torch_load(&l, &pickle);
  jf_zip_close(&l.zip);
  jf_pickle_free(&l.pickle);
  jf_free(l.names.s);
  jf_free(pickle);
  return r;
}

const jf_format jf_format_torch = {
  .holds = TORCH_FILE, .probe = torch_probe, .open = torch_open
};
