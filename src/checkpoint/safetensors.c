/* The safetensors format: eight bytes of length, a JSON header, then the tensors without a gap. See
   https://github.com/huggingface/safetensors. */
#include "checkpoint/checkpoint.h"
#include "run/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors data are little endian, and are read and written as they lie in memory"
#endif

enum { LENGTH_SIZE = 8, MAX_HEADER = 100000000, ALIGN = 8 };

/* The format spells dtypes as our ids are spelled. It has none of blocks: these are written as
   bytes, U8, whose last extent is that of a row, and the metadata say what they are: of "w" it has
   "blocks.w": "q4_0". */
#define BLOCKS "blocks."
#define X(id, text, ctype) [JFL_##id] = #id,
static const char *const dtype_names[JFL_N_DTYPE] = { JFL_DTYPES(X) };
#undef X

/* "__metadata__" is a key of the format. A variable that has this name, or this name behind further
   underscores, gets one underscore more in the file. Returns the number of leading underscores of
   such a name, 0 for others. */
static size_t reserved(const char *name)
{
  size_t n = strspn(name, "_");
  return n >= 2 && !strcmp(name + n, "metadata__") ? n : 0;
}

/* ---- reading ---- */

typedef struct safetensors_loader {
  jf_json json;
  jf_source *source;
  uint64_t data, size;         /* where the tensors begin, and the file's size */
} safetensors_loader;

static jfl_status read_dtype(jf_json *j, jf_entry *t)
{
  JF_TRY(jf_json_string(j, &t->dtype_name));
  t->dtype = JFL_N_DTYPE;
  for (int i = 0; i < JFL_N_DTYPE; i++)
    if (dtype_names[i] && !strcmp(t->dtype_name, dtype_names[i])) t->dtype = (jfl_dtype)i;
  return JFL_OK;
}

static jfl_status read_shape(jf_json *j, jf_entry *t)
{
  uint64_t d;
  size_t at = jf_json_where(j);
  JF_TRY(jf_json_enter(j, '['));
  for (int more;;) {
    JF_TRY(jf_json_next(j, ']', &more));
    if (!more) break;
    JF_TRY(jf_json_whole(j, &d));
    if (d > INT64_MAX || t->shape.n == JFL_MAXDIM)
      return jf_fail(JFL_EDATA, "byte %zu: tensor %s: shape must have at most %d dimensions below "
                     "2^63", at, t->name, JFL_MAXDIM);
    t->shape.d[t->shape.n++] = (int64_t)d;
  }
  return JFL_OK;
}

static jfl_status read_offsets(safetensors_loader *l, jf_entry *t)
{
  uint64_t first, last, room = l->size - l->data;
  int more;
  size_t at = jf_json_where(&l->json);
  JF_TRY(jf_json_enter(&l->json, '['));
  JF_TRY(jf_json_next(&l->json, ']', &more));
  JF_TRY(jf_json_whole(&l->json, &first));
  JF_TRY(jf_json_next(&l->json, ']', &more));
  JF_TRY(jf_json_whole(&l->json, &last));
  JF_TRY(jf_json_next(&l->json, ']', &more));
  if (more || first > last)
    return jf_fail(JFL_EDATA, "byte %zu: tensor %s: data_offsets must be [first, last]", at,
                   t->name);
  if (last > room)
    return jf_fail(JFL_EDATA, "cut at byte %llu: tensor %s ends %llu bytes further",
                   (unsigned long long)l->size, t->name, (unsigned long long)(last - room));
  t->begin = l->data + first;
  t->size = last - first;
  return JFL_OK;
}

static jfl_status read_field(safetensors_loader *l, const char *key, jf_entry *t, unsigned *seen)
{
  static const char *const keys[] = { "dtype", "shape", "data_offsets" };
  for (unsigned i = 0; i < 3; i++) {
    if (strcmp(key, keys[i])) continue;
    if (*seen >> i & 1)
      return jf_fail(JFL_EDATA, "byte %zu: tensor %s: %s occurs twice", jf_json_where(&l->json),
                     t->name, key);
    *seen |= 1u << i;
    return i == 0 ? read_dtype(&l->json, t) : i == 1 ? read_shape(&l->json, t) : read_offsets(l, t);
  }
  return jf_json_skip(&l->json);
}

/* An extent of 0 makes the others free, whose product must not overflow. */
static jfl_status check_shape(const jf_entry *t, size_t at)
{
  char buf[JF_SHAPE_STR];
  if (jf_shape_check(&t->shape, "shape") == JFL_OK) return JFL_OK;
  return jf_fail(JFL_EDATA, "byte %zu: tensor %s: shape must have at most 2^47 elements, got %s",
                 at, t->name, jf_shape_str(&t->shape, buf));
}

/* The size of a tensor whose dtype jfl lacks cannot be checked. */
static jfl_status check_size(const jf_entry *t, size_t at)
{
  char buf[JF_SHAPE_STR];
  if (t->dtype == JFL_N_DTYPE) return JFL_OK;
  uint64_t want = jfl_dtype_size(t->dtype);
  int over = 0, zero = 0;
  for (int i = 0; i < t->shape.n; i++) {
    zero |= !t->shape.d[i];
    over |= __builtin_mul_overflow(want, (uint64_t)t->shape.d[i], &want);
  }
  if (zero ? !t->size : !over && want == t->size) return JFL_OK;
  return jf_fail(JFL_EDATA, "byte %zu: tensor %s: %llu bytes do not hold %s %s", at, t->name,
                 (unsigned long long)t->size, jfl_dtype_name(t->dtype),
                 jf_shape_str(&t->shape, buf));
}

static jfl_status read_tensor(safetensors_loader *l, const char *name)
{
  jf_source *s = l->source;
  jf_entry t = { .name = name, .own = name };
  const char *key;
  unsigned seen = 0;
  size_t at = jf_json_where(&l->json);
  JF_TRY(jf_json_enter(&l->json, '{'));
  for (int more;;) {
    JF_TRY(jf_json_next(&l->json, '}', &more));
    if (!more) break;
    JF_TRY(jf_json_key(&l->json, &key));
    JF_TRY(read_field(l, key, &t, &seen));
  }
  if (seen != 7)
    return jf_fail(JFL_EDATA, "byte %zu: tensor %s must have dtype, shape and data_offsets", at,
                   name);
  JF_TRY(check_size(&t, at));
  JF_TRY(check_shape(&t, at));
  if (!JF_ROOM(s->tensor, s->n_tensor, s->cap_tensor))
    return jf_fail(JFL_ENOMEM, "out of memory for the list of tensors");
  s->tensor[s->n_tensor++] = t;
  return JFL_OK;
}

static jfl_status safetensors_read_meta(safetensors_loader *l)
{
  jf_source *s = l->source;
  jf_meta m;
  JF_TRY(jf_json_enter(&l->json, '{'));
  for (int more;;) {
    JF_TRY(jf_json_next(&l->json, '}', &more));
    if (!more) return JFL_OK;
    JF_TRY(jf_json_key(&l->json, &m.key));
    JF_TRY(jf_json_string(&l->json, &m.value));
    if (!JF_ROOM(s->meta, s->n_meta, s->cap_meta))
      return jf_fail(JFL_ENOMEM, "out of memory for the metadata");
    s->meta[s->n_meta++] = m;
  }
}

static jfl_status read_header(safetensors_loader *l)
{
  const char *key;
  JF_TRY(jf_json_enter(&l->json, '{'));
  for (int more;;) {
    JF_TRY(jf_json_next(&l->json, '}', &more));
    if (!more) return jf_json_end(&l->json);
    JF_TRY(jf_json_key(&l->json, &key));
    JF_TRY(!strcmp(key, "__metadata__") ? safetensors_read_meta(l) : read_tensor(l, key));
  }
}

static int by_place(const void *a, const void *b)
{
  const jf_entry *x = a, *y = b;
  if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
  return x->size < y->size ? -1 : x->size > y->size;
}

/* The tensors fill the file, in any order, without a gap and without sharing a byte. */
static jfl_status check_places(const safetensors_loader *l)
{
  const jf_source *s = l->source;
  uint64_t at = l->data;
  JF_TRY(jf_sort_in_time(s->tensor, (size_t)s->n_tensor, sizeof *s->tensor, by_place));
  for (int i = 0; i < s->n_tensor; i++) {
    const jf_entry *t = &s->tensor[i];
    if (t->begin != at)
      return jf_fail(JFL_EDATA, "byte %llu: tensor %s %s", (unsigned long long)t->begin, t->name,
                     t->begin < at ? "overlaps the one before" : "leaves a gap before it");
    at += t->size;
  }
  if (at == l->size) return JFL_OK;
  return jf_fail(JFL_EDATA, "byte %llu: %llu bytes after the last tensor", (unsigned long long)at,
                 (unsigned long long)(l->size - at));
}

/* In files that jfl wrote: drops the underscore that names like the reserved one have got. */
static void restore_names(jf_source *s)
{
  const char *format = jf_source_meta(s, "format");
  if (!format || strcmp(format, "jfl")) return;
  for (int i = 0; i < s->n_tensor; i++)
    if (reserved(s->tensor[i].name) > 2) s->tensor[i].name++;
}

/* Makes bytes the blocks that the metadata say they are. */
static jfl_status restore_blocks(const jf_source *s)
{
  for (int i = 0; i < s->n_meta; i++) {
    const char *key = s->meta[i].key;
    jfl_dtype t;
    if (strncmp(key, BLOCKS, sizeof BLOCKS - 1)) continue;
    jf_entry *e = (jf_entry *)jf_source_find(s, key + sizeof BLOCKS - 1);
    if (!e || e->dtype != JFL_U8 || !e->shape.n) continue;
    const jfl_status status = jfl_dtype_parse(s->meta[i].value, &t);
    int64_t *last = &e->shape.d[e->shape.n - 1];
    if (status || !jf_is_block(t) || *last % (int64_t)jfl_dtype_size(t))
      return jf_fail(JFL_EDATA, "tensor %s: rows of %lld bytes are no blocks of '%.20s'", e->name,
                     (long long)*last, s->meta[i].value);
    *last /= (int64_t)jfl_dtype_size(t);
    e->dtype = t;
    e->dtype_name = jfl_dtype_name(t);
  }
  return JFL_OK;
}

static jfl_status safetensors_parse(safetensors_loader *l)
{
  JF_TRY(read_header(l));
  JF_TRY(check_places(l));
  JF_TRY(jf_source_sort(l->source));
  JF_TRY(restore_blocks(l->source));
  restore_names(l->source);
  return jf_source_sort(l->source);
}

/* Reads the header's length. If the length is out of range, or the next byte does not begin a
   header, the file is most likely of another kind. */
static jfl_status fetch_length(const jf_source *s, const safetensors_loader *l, uint64_t *out)
{
  unsigned char b[LENGTH_SIZE + 1];
  uint64_t n = 0;
  size_t have = l->size < sizeof b ? (size_t)l->size : sizeof b;
  if (have < sizeof b)
    return jf_fail(JFL_EDATA, "checkpoint %s: no safetensors file, or one cut at byte %zu", s->path,
                   have);
  JF_TRY(jf_file_read(s->fd, s->path, b, sizeof b, 0));
  for (int i = LENGTH_SIZE; i--;) n = n << 8 | b[i];
  if (n > MAX_HEADER || b[LENGTH_SIZE] != '{')
    return jf_fail(JFL_EDATA, "checkpoint %s: no safetensors file, or a damaged one: it must "
                   "begin with 8 bytes that hold a length of at most %d, and then '{'", s->path,
                   MAX_HEADER);
  *out = n;
  return JFL_OK;
}

/* Reads the header's text. */
static jfl_status safetensors_fetch(jf_source *s, safetensors_loader *l)
{
  uint64_t n = 0;
  JF_TRY(fetch_length(s, l, &n));
  l->data = LENGTH_SIZE + n;
  if (l->data > l->size)
    return jf_fail(JFL_EDATA, "checkpoint %s: damaged: cut at byte %llu: the header ends at byte "
                   "%llu", s->path, (unsigned long long)l->size, (unsigned long long)l->data);
  s->text = jf_new_raw((size_t)n);
  if (!s->text)
    return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory for a header of %llu bytes", s->path,
                   (unsigned long long)n);
  jf_json_open(&l->json, s->text, (size_t)n, LENGTH_SIZE);
  return jf_file_read(s->fd, s->path, s->text, (size_t)n, LENGTH_SIZE);
}

/* A file of any name that ends so, or a folder with the one that jfl writes. */
static jfl_status safetensors_probe(jf_source *s, int is_folder, int *may_be)
{
  static const char ending[] = ".safetensors";
  const size_t n = strlen(s->path), k = sizeof ending - 1;
  char path[JF_MOST_PATH];
  jf_info st;
  *may_be = is_folder || (n >= k && !strcmp(s->path + n - k, ending));
  if (!is_folder) return JFL_OK;
  JF_TRY(jf_file_path(s->path, "/", JF_MODEL_FILE, path));
  *may_be = !jf_info_at(JF_HERE, path, 0, &st) || errno != ENOENT;
  if (*may_be) strcpy(s->path, path);
  return JFL_OK;
}

static jfl_status safetensors_open(jf_source *s, int *is_it)
{
  safetensors_loader l = { .source = s };
  *is_it = 1;
  JF_TRY(jf_source_open_file(s, &l.size));
  JF_TRY(safetensors_fetch(s, &l));
  jfl_status r = safetensors_parse(&l);
  return r == JFL_OK ? r : jf_blame(r, "checkpoint %s: %s", s->path,
                                    r == JFL_EDATA ? "damaged: " : "");
}

const jf_format jf_format_safetensors = {
  .holds = JF_MODEL_FILE, .probe = safetensors_probe, .open = safetensors_open
};

/* ---- writing ---- */

void jf_safetensors_meta(jf_text *meta, const char *key, const char *value)
{
  if (meta->n) jf_text_put(meta, ",", 1);
  jf_json_put(meta, key);
  jf_text_put(meta, ":", 1);
  jf_json_put(meta, value);
}

void jf_safetensors_format(jf_text *meta)
{
  char version[24];
  snprintf(version, sizeof version, "%d", JF_CHECKPOINT_VERSION);
  jf_safetensors_meta(meta, "format", "jfl");
  jf_safetensors_meta(meta, "version", version);
}

/* To how many bytes a tensor is to be aligned: blocks to none. */
static size_t width_of(const jf_entry *t)
{
  return jf_is_block(t->dtype) ? 1 : jfl_dtype_size(t->dtype);
}

/* Widest elements first: this aligns each tensor to its elements, without gaps. */
static int by_width(const void *a, const void *b)
{
  const jf_entry *x = a, *y = b;
  size_t m = width_of(x), n = width_of(y);
  return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

static void put_tensor(jf_text *h, const jf_entry *t)
{
  jf_text_put(h, ",", 1);
  if (reserved(t->name)) jf_text_add(h, "\"_%s\"", t->name);
  else jf_json_put(h, t->name);
  const int is_block = jf_is_block(t->dtype);
  jf_text_add(h, ":{\"dtype\":\"%s\",\"shape\":[", dtype_names[is_block ? JFL_U8 : t->dtype]);
  for (int i = 0; i < t->shape.n; i++) {
    const size_t each = is_block && i == t->shape.n - 1 ? jfl_dtype_size(t->dtype) : 1;
    jf_text_add(h, "%s%lld", i ? "," : "", (long long)t->shape.d[i] * (long long)each);
  }
  jf_text_add(h, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)t->begin,
              (unsigned long long)(t->begin + t->size));
}

/* What the metadata say of a tensor of blocks, behind others if there are any. */
static void put_blocks(jf_text *h, const jf_entry *t, int any)
{
  jf_text key = {0};
  jf_text_add(&key, "%s%s%s", BLOCKS, reserved(t->name) ? "_" : "", t->name);
  if (any) jf_text_put(h, ",", 1);
  if (key.failed) h->failed = 1;
  else jf_json_put(h, key.s);
  jf_text_add(h, ":\"%s\"", jfl_dtype_name(t->dtype));
  jf_free(key.s);
}

/* Makes what stands before the tensors: the length, then the header with blanks up to a multiple of
   eight bytes. */
static void put_header(jf_text *h, const jf_entry *t, int n, const jf_text *meta)
{
  jf_text_put(h, "\0\0\0\0\0\0\0\0", LENGTH_SIZE);
  jf_text_add(h, "{\"__metadata__\":{%s", meta->n ? meta->s : "");
  for (int i = 0, any = meta->n > 0; i < n; i++)
    if (jf_is_block(t[i].dtype)) put_blocks(h, &t[i], any++);
  jf_text_put(h, "}", 1);
  for (int i = 0; i < n; i++) put_tensor(h, &t[i]);
  jf_text_put(h, "}", 1);
  while (h->n % ALIGN && !h->failed) jf_text_put(h, " ", 1);
  for (int i = 0; i < LENGTH_SIZE && !h->failed; i++)
    h->s[i] = (char)((uint64_t)(h->n - LENGTH_SIZE) >> 8 * i);
}

/* A file that is written. Of processes that write together, rank 0 alone has it open; on the others
   fd is -1. */
typedef struct safetensors_writer {
  jfl_session *together;
  int fd, over;                /* over: all of them know that one has failed */
  const char *path;
} safetensors_writer;

static int safetensors_is_sharded(const safetensors_writer *w, const jf_entry *t)
{
  return w->together && t->variable && jf_var_is_sharded(t->variable, 0);
}

/* The contents of a variable, which other processes have a part of if it lies apart. They come here
   too, each with the status that it has come to. */
static jfl_status safetensors_write_variable(safetensors_writer *w, const jf_entry *t,
                                             jfl_status s)
{
  const int writes = w->fd >= 0;
  void *plain = writes && !s ? jf_new_raw((size_t)t->size) : NULL;
  if (writes && !s && !plain)
    s = jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory for %s", w->path, t->name);
  if (safetensors_is_sharded(w, t)) {
    s = jf_var_gather(w->together, t->variable, 0, plain, s);
    w->over = s != JFL_OK;
  } else if (!s && writes) {
    s = jf_var_read(t->variable, plain);
  }
  if (!s && writes) s = jf_file_write(w->fd, w->path, plain, (size_t)t->size);
  jf_free(plain);
  return s;
}

static jfl_status safetensors_write_tensor(safetensors_writer *w, const jf_entry *t,
                                           jfl_status s)
{
  if (!t->data || safetensors_is_sharded(w, t)) return safetensors_write_variable(w, t, s);
  return s || w->fd < 0 ? s : jf_file_write(w->fd, w->path, t->data, (size_t)t->size);
}

/* After a failure on one process all go on up to the next tensor of which they meet. */
static jfl_status safetensors_write_all(safetensors_writer *w, const jf_entry *t, int n,
                                        const jf_text *h)
{
  jfl_status s = JFL_OK;
  if (h->n - LENGTH_SIZE > MAX_HEADER)
    s = jf_fail(JFL_EDATA, "checkpoint %s: the header must have at most %d bytes, got %zu", w->path,
                MAX_HEADER, h->n - LENGTH_SIZE);
  if (!s && w->fd >= 0) s = jf_file_write(w->fd, w->path, h->s, h->n);
  for (int i = 0; i < n && (!s || w->together) && !w->over; i++)
    s = safetensors_write_tensor(w, &t[i], s);
  return s;
}

/* Where each tensor will lie, in the order of the file. */
static jfl_status safetensors_lay(jf_entry *t, int n, const char *path)
{
  uint64_t at = 0;
  if (n) qsort(t, (size_t)n, sizeof *t, by_width);
  for (int i = 0; i < n; i++) {
    t[i].begin = at;
    t[i].size = JF_BYTES_OF(&t[i]);
    at += t[i].size;
    if (!jf_utf8_valid(t[i].name))
      return jf_fail(JFL_ENAME, "checkpoint %s: variable %s: the name must be UTF-8", path,
                     t[i].name);
  }
  return JFL_OK;
}

jfl_status jf_safetensors_write(jfl_session *together, int fd, const char *path, jf_entry *t, int n,
                                const jf_text *meta)
{
  jf_text h = {0};
  safetensors_writer w = { .together = together, .fd = fd, .path = path };
  jfl_status s = safetensors_lay(t, n, path);
  if (!s) put_header(&h, t, n, meta);
  if (!s && (h.failed || meta->failed))
    s = jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory for the header", path);
  if (together) s = jf_session_agree_status(together, s);
  if (!s) s = safetensors_write_all(&w, t, n, &h);
  jf_free(h.s);
  return s;
}
