/* The GGUF format of llama.cpp, versions 2 and 3: metadata by keys, what tensors there are, then
   their numbers, each from a multiple of the alignment on. See
   https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Metadata become a note in JSON. */
#include "checkpoint/checkpoint.h"
#include "dev/blocks.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  GGUF_BUFFER = 1 << 16, GGUF_MOST_HEADER = 100000000, GGUF_MOST_KEY = 255, GGUF_MOST_DEPTH = 8,
  GGUF_ALIGN = 32, GGUF_MOST_ALIGN = 1 << 20, GGUF_UNPACKED = 1024,
  GGUF_LEAST_KEY = 13, GGUF_LEAST_TENSOR = 24       /* bytes that each takes at least */
};

static const unsigned char gguf_magic[] = { 'G', 'G', 'U', 'F' };

/* numbers, bytes: of a block of a type that jfl lacks, whose tensors must lie in the file too. */
typedef struct gguf_type {
  const char *name;
  jfl_dtype dtype, blocks;
  int numbers, bytes;
} gguf_type;

#define PLAIN(name, dtype) { name, JFL_##dtype, 0, 0, 0 }
#define BLOCKS(name) { #name, JFL_F32, JFL_##name, 0, 0 }
#define LACKS(name, numbers, bytes) { name, JFL_N_DTYPE, 0, numbers, bytes }
/* By the numbers that the format gives them. */
static const gguf_type gguf_types[] = {
  PLAIN("F32", F32), PLAIN("F16", F16), BLOCKS(Q4_0), LACKS("Q4_1", 32, 20), { 0 }, { 0 },
  LACKS("Q5_0", 32, 22), LACKS("Q5_1", 32, 24), BLOCKS(Q8_0), LACKS("Q8_1", 32, 36),
  LACKS("Q2_K", 256, 84), LACKS("Q3_K", 256, 110), BLOCKS(Q4_K), LACKS("Q5_K", 256, 176),
  BLOCKS(Q6_K), LACKS("Q8_K", 256, 292), LACKS("IQ2_XXS", 256, 66), LACKS("IQ2_XS", 256, 74),
  LACKS("IQ3_XXS", 256, 98), LACKS("IQ1_S", 256, 50), LACKS("IQ4_NL", 32, 18),
  LACKS("IQ3_S", 256, 110), LACKS("IQ2_S", 256, 82), LACKS("IQ4_XS", 256, 136), PLAIN("I8", I8),
  LACKS("I16", 1, 2), PLAIN("I32", I32), PLAIN("I64", I64), PLAIN("F64", F64),
  LACKS("IQ1_M", 256, 56), PLAIN("BF16", BF16), { 0 }, { 0 }, { 0 }, LACKS("TQ1_0", 256, 54),
  LACKS("TQ2_0", 256, 66), { 0 }, { 0 }, { 0 }, LACKS("MXFP4", 32, 17),
};
enum { GGUF_N_TYPES = sizeof gguf_types / sizeof *gguf_types };

typedef struct gguf_reader {
  jf_source *s;
  uint64_t at, size;           /* in the file */
  int64_t n_read;              /* numbers so far, for looks at the time that a script has */
  unsigned char *buffer;
  uint64_t from; size_t have;  /* what of the file is in it */
  char what[GGUF_MOST_KEY + 32];       /* what is being read, for messages */
  uint64_t align;
  jf_text word;                /* the text that was read last */
  jf_text json, names;         /* the note; those of tensors, each with its end */
} gguf_reader;

static jfl_status gguf_bad(const gguf_reader *r, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));

static jfl_status gguf_bad(const gguf_reader *r, const char *fmt, ...)
{
  char text[300];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return jf_fail(JFL_EDATA, "checkpoint %s: damaged: byte %" PRIu64 ": %s%s", r->s->path, r->at,
                 r->what, text);
}

/* ---- bytes ---- */

static jfl_status gguf_fill(gguf_reader *r)
{
  const uint64_t left = r->size - r->at;
  r->from = r->at;
  r->have = left < GGUF_BUFFER ? (size_t)left : GGUF_BUFFER;
  return jf_file_read(r->s->fd, r->s->path, r->buffer, r->have, r->from);
}

static jfl_status gguf_bytes(gguf_reader *r, void *out, size_t n)
{
  char *to = out;
  if (n > r->size - r->at)
    return gguf_bad(r, "the file is cut short: it ends at byte %" PRIu64, r->size);
  if (r->at > GGUF_MOST_HEADER)
    return gguf_bad(r, "what is before the tensors must have at most %d bytes", GGUF_MOST_HEADER);
  while (n) {
    if (r->at < r->from || r->at - r->from >= r->have) JF_TRY(gguf_fill(r));
    const size_t skip = (size_t)(r->at - r->from);
    const size_t k = n < r->have - skip ? n : r->have - skip;
    memcpy(to, r->buffer + skip, k);
    to += k;
    n -= k;
    r->at += k;
  }
  return JFL_OK;
}

static jfl_status gguf_whole(gguf_reader *r, size_t n, uint64_t *out)
{
  unsigned char b[8];
  *out = 0;
  JF_TRY(jf_time_at(r->n_read++));
  JF_TRY(gguf_bytes(r, b, n));
  for (size_t i = n; i--;) *out = *out << 8 | b[i];
  return JFL_OK;
}

/* How many follow, each of `least` bytes or more, so that the file can have them. */
static jfl_status gguf_count(gguf_reader *r, const char *what, uint64_t least, uint64_t *out)
{
  JF_TRY(gguf_whole(r, 8, out));
  if (*out <= (r->size - r->at) / least) return JFL_OK;
  return gguf_bad(r, "%" PRIu64 " %s do not fit the %" PRIu64 " bytes that are left", *out, what,
                  r->size - r->at);
}

/* Reads a text to r->word. */
static jfl_status gguf_text(gguf_reader *r)
{
  char part[256];
  uint64_t n;
  JF_TRY(gguf_count(r, "bytes of a text", 1, &n));
  r->word.n = 0;
  jf_text_put(&r->word, "", 0);
  while (n) {
    const size_t k = n < sizeof part ? (size_t)n : sizeof part;
    JF_TRY(gguf_bytes(r, part, k));
    jf_text_put(&r->word, part, k);
    n -= k;
  }
  return r->word.failed ? jf_checkpoint_memory(r->s->path) : JFL_OK;
}

static int gguf_is_plain(const jf_text *t) { return strlen(t->s) == t->n && jf_utf8_valid(t->s); }

/* Reads a name, which errors from now on have with `kind`. */
static jfl_status gguf_name(gguf_reader *r, const char *kind)
{
  r->what[0] = '\0';
  JF_TRY(gguf_text(r));
  if (!r->word.n || r->word.n > GGUF_MOST_KEY)
    return gguf_bad(r, "the name of a %s must have 1 to %d bytes, got %zu", kind, GGUF_MOST_KEY,
                    r->word.n);
  if (!gguf_is_plain(&r->word)) return gguf_bad(r, "the name of a %s is no UTF-8", kind);
  snprintf(r->what, sizeof r->what, "%s %s: ", kind, r->word.s);
  return JFL_OK;
}

/* ---- metadata ---- */

static void gguf_put_text(gguf_reader *r)
{
  if (gguf_is_plain(&r->word)) {
    jf_json_put(&r->json, r->word.s);
    return;
  }
  jf_text_add(&r->json, "{\"\\tbytes\":\"");
  for (size_t i = 0; i < r->word.n; i++)
    jf_text_add(&r->json, "%02x", (unsigned char)r->word.s[i]);
  jf_text_add(&r->json, "\"}");
}

static void gguf_put_number(gguf_reader *r, double v, int digits)
{
  if (isfinite(v)) jf_text_add(&r->json, "%.*g", digits, v);
  else jf_text_add(&r->json, "{\"\\tnumber\":\"%s\"}", isnan(v) ? "nan" : v > 0 ? "inf" : "-inf");
}

enum { GGUF_F32 = 6, GGUF_BOOL, GGUF_STRING, GGUF_ARRAY, GGUF_U64, GGUF_I64, GGUF_F64,
       GGUF_N_VALUES };
/* The bytes that a value of each type takes, of texts and lists at least. */
static const unsigned char gguf_sizes[GGUF_N_VALUES] = { 1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8 };

static jfl_status gguf_number(gguf_reader *r, unsigned type)
{
  const size_t size = gguf_sizes[type];
  uint64_t v;
  float f;
  double d;
  JF_TRY(gguf_whole(r, size, &v));
  const uint32_t low = (uint32_t)v;
  memcpy(&f, &low, sizeof f);
  memcpy(&d, &v, sizeof d);
  const int is_signed = type == 1 || type == 3 || type == 5 || type == GGUF_I64;
  if (type == GGUF_F32) gguf_put_number(r, (double)f, 9);
  else if (type == GGUF_F64) gguf_put_number(r, d, 17);
  else if (type == GGUF_BOOL) jf_text_add(&r->json, v ? "true" : "false");
  else if (is_signed && v >> (8 * size - 1))
    jf_text_add(&r->json, "-%" PRIu64, (~v + 1) & UINT64_MAX >> (64 - 8 * size));
  else jf_text_add(&r->json, "%" PRIu64, v);
  return JFL_OK;
}

static jfl_status gguf_value(gguf_reader *r, unsigned type, int depth);

static jfl_status gguf_list(gguf_reader *r, int depth)
{
  uint64_t type, n;
  if (depth == GGUF_MOST_DEPTH) return gguf_bad(r, "lists nest too deep");
  JF_TRY(gguf_whole(r, 4, &type));
  if (type >= GGUF_N_VALUES) return gguf_bad(r, "there is no type %" PRIu64 " of values", type);
  JF_TRY(gguf_count(r, "items", gguf_sizes[type], &n));
  jf_text_put(&r->json, "[", 1);
  for (uint64_t i = 0; i < n; i++) {
    if (i) jf_text_put(&r->json, ",", 1);
    JF_TRY(gguf_value(r, (unsigned)type, depth + 1));
  }
  jf_text_put(&r->json, "]", 1);
  return JFL_OK;
}

static jfl_status gguf_value(gguf_reader *r, unsigned type, int depth)
{
  if (type == GGUF_ARRAY) return gguf_list(r, depth);
  if (type != GGUF_STRING) return gguf_number(r, type);
  JF_TRY(gguf_text(r));
  gguf_put_text(r);
  return JFL_OK;
}

/* Tensors begin at multiples of it. */
static jfl_status gguf_alignment(gguf_reader *r, uint64_t type, const char *value)
{
  const uint64_t align = strtoull(value, NULL, 10);
  if (type != 4 || !align || align > GGUF_MOST_ALIGN || (align & (align - 1)))
    return gguf_bad(r, "it must be a power of two from 1 to %d, got %.40s", GGUF_MOST_ALIGN, value);
  r->align = align;
  return JFL_OK;
}

static jfl_status gguf_pair(gguf_reader *r)
{
  uint64_t type;
  JF_TRY(gguf_name(r, "key"));
  const int is_alignment = !strcmp(r->word.s, "general.alignment");
  gguf_put_text(r);
  jf_text_put(&r->json, ":", 1);
  const size_t begin = r->json.n;
  JF_TRY(gguf_whole(r, 4, &type));
  if (type >= GGUF_N_VALUES) return gguf_bad(r, "there is no type %" PRIu64 " of values", type);
  JF_TRY(gguf_value(r, (unsigned)type, 0));
  if (r->json.failed) return jf_checkpoint_memory(r->s->path);
  return is_alignment ? gguf_alignment(r, type, r->json.s + begin) : JFL_OK;
}

/* ---- tensors ---- */

/* Extents, which the file has with the fastest first. */
static jfl_status gguf_shape(gguf_reader *r, jfl_shape *out)
{
  uint64_t n, d;
  char text[JF_SHAPE_STR];
  JF_TRY(gguf_whole(r, 4, &n));
  if (n > JFL_MAXDIM)
    return gguf_bad(r, "it must have at most %d dimensions, got %" PRIu64, JFL_MAXDIM, n);
  *out = (jfl_shape){ .n = (int)n };
  for (int i = (int)n; i--;) {
    JF_TRY(gguf_whole(r, 8, &d));
    if (!d || d > INT64_MAX)
      return gguf_bad(r, "a dimension must be from 1 to 2^63, got %" PRIu64, d);
    out->d[i] = (int64_t)d;
  }
  if (jf_shape_check(out, "shape") == JFL_OK) return JFL_OK;
  return gguf_bad(r, "it must have at most 2^47 elements, got %s", jf_shape_str(out, text));
}

static jfl_status gguf_form(gguf_reader *r, jf_entry *t)
{
  uint64_t type;
  JF_TRY(gguf_whole(r, 4, &type));
  if (type >= GGUF_N_TYPES || !gguf_types[type].name)
    return gguf_bad(r, "there is no type %" PRIu64 " of tensors", type);
  t->dtype_name = gguf_types[type].name;
  t->dtype = gguf_types[type].dtype;
  t->blocks = gguf_types[type].blocks;
  const int64_t row = t->shape.n ? t->shape.d[t->shape.n - 1] : 1;
  const gguf_type *form = &gguf_types[type];
  t->size = t->dtype != JFL_N_DTYPE ? JF_BYTES_OF(t)
            : (uint64_t)(jf_numel(&t->shape) / form->numbers) * (uint64_t)form->bytes;
  if (!t->blocks || row % jfl_dtype_numbers(t->blocks) == 0) return JFL_OK;
  return gguf_bad(r, "rows of %s must be a multiple of %d, got %lld", t->dtype_name,
                  jfl_dtype_numbers(t->blocks), (long long)row);
}

/* The bytes that the tensor takes in the file. */
static uint64_t gguf_size(const jf_entry *t)
{
  if (!t->blocks) return t->size;
  return (uint64_t)(jf_numel(&t->shape) / jfl_dtype_numbers(t->blocks)) * jfl_dtype_size(t->blocks);
}

static jfl_status gguf_tensor(gguf_reader *r)
{
  jf_source *s = r->s;
  jf_entry t = { 0 };
  JF_TRY(gguf_name(r, "tensor"));
  jf_text_put(&r->names, r->word.s, r->word.n + 1);
  jf_text_put(&r->json, "{\"name\":", 8);
  gguf_put_text(r);
  JF_TRY(gguf_shape(r, &t.shape));
  JF_TRY(gguf_form(r, &t));
  JF_TRY(gguf_whole(r, 8, &t.begin));
  if (t.begin % r->align)
    return gguf_bad(r, "its offset must be a multiple of the alignment %" PRIu64 ", got %" PRIu64,
                    r->align, t.begin);
  jf_text_add(&r->json, ",\"type\":\"%s\",\"shape\":[", t.dtype_name);
  for (int i = 0; i < t.shape.n; i++)
    jf_text_add(&r->json, "%s%lld", i ? "," : "", (long long)t.shape.d[i]);
  jf_text_put(&r->json, "]}", 2);
  if (!JF_ROOM(s->tensor, s->n_tensor, s->cap_tensor)) return jf_checkpoint_memory(s->path);
  s->tensor[s->n_tensor++] = t;
  return JFL_OK;
}

static int gguf_by_place(const void *a, const void *b)
{
  const jf_entry *x = a, *y = b;
  return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Finds where tensors lie, each within the file and none within another. */
static jfl_status gguf_place(gguf_reader *r)
{
  jf_source *s = r->s;
  const uint64_t data = (r->at + r->align - 1) / r->align * r->align;
  const uint64_t room = data < r->size ? r->size - data : 0;
  uint64_t end = 0;
  JF_TRY(jf_sort_in_time(s->tensor, (size_t)s->n_tensor, sizeof *s->tensor, gguf_by_place));
  for (int i = 0; i < s->n_tensor; i++) {
    jf_entry *t = &s->tensor[i];
    const uint64_t size = gguf_size(t);
    snprintf(r->what, sizeof r->what, "tensor %s: ", t->name);
    r->at = data + t->begin;
    if (t->begin > room || size > room - t->begin)
      return gguf_bad(r, "its %" PRIu64 " bytes do not lie within the file, which has %" PRIu64,
                      size, r->size);
    if (t->begin < end) return gguf_bad(r, "it overlaps the one before");
    end = t->begin + size;
    t->begin = r->at;
  }
  return JFL_OK;
}

/* ---- the format ---- */

static jfl_status gguf_version(gguf_reader *r)
{
  unsigned char magic[sizeof gguf_magic] = { 0 };
  uint64_t version;
  if (r->size >= sizeof magic) JF_TRY(gguf_bytes(r, magic, sizeof magic));
  if (memcmp(magic, gguf_magic, sizeof magic))
    return jf_fail(JFL_EDATA, "checkpoint %s: no GGUF file: it must begin with \"GGUF\"",
                   r->s->path);
  JF_TRY(gguf_whole(r, 4, &version));
  jf_text_add(&r->json, "{\"version\":%" PRIu64 ",\"metadata\":{", version);
  if (version == 2 || version == 3) return JFL_OK;
  return jf_fail(JFL_EDATA, "checkpoint %s: it must be of version 2 or 3 of GGUF, got %s%" PRIu64,
                 r->s->path, version && !(version & 0xffff) ? "one with big endian numbers, " : "",
                 version);
}

static jfl_status gguf_header(gguf_reader *r)
{
  uint64_t n_tensor, n_pair;
  JF_TRY(gguf_version(r));
  JF_TRY(gguf_count(r, "tensors", GGUF_LEAST_TENSOR, &n_tensor));
  JF_TRY(gguf_count(r, "keys", GGUF_LEAST_KEY, &n_pair));
  for (uint64_t i = 0; i < n_pair; i++) {
    if (i) jf_text_put(&r->json, ",", 1);
    JF_TRY(gguf_pair(r));
  }
  jf_text_add(&r->json, "},\"tensors\":[");
  for (uint64_t i = 0; i < n_tensor; i++) {
    if (i) jf_text_put(&r->json, ",", 1);
    JF_TRY(gguf_tensor(r));
  }
  jf_text_put(&r->json, "]}", 3);              /* with its end */
  return JFL_OK;
}

/* Gives the source the texts that were read: the note, and names. */
static jfl_status gguf_texts(gguf_reader *r)
{
  static const char key[] = JF_GGUF_NOTE;
  jf_source *s = r->s;
  const size_t note = r->json.n;
  jf_text_put(&r->json, r->names.n ? r->names.s : "", r->names.n);
  if (r->json.failed || r->names.failed) return jf_checkpoint_memory(s->path);
  s->meta = jf_new(sizeof *s->meta);
  if (!s->meta) return jf_checkpoint_memory(s->path);
  s->text = r->json.s;
  r->json = (jf_text){ 0 };
  s->meta[0] = (jf_meta){ key, s->text };
  s->n_meta = s->cap_meta = 1;
  const char *name = s->text + note;
  for (int i = 0; i < s->n_tensor; i++, name += strlen(name) + 1)
    s->tensor[i].name = s->tensor[i].own = name;
  return JFL_OK;
}

static jfl_status gguf_parse(gguf_reader *r)
{
  JF_TRY(gguf_header(r));
  JF_TRY(gguf_texts(r));
  JF_TRY(gguf_place(r));
  const jfl_status s = jf_source_sort(r->s);
  return s == JFL_OK ? s : jf_blame(s, "checkpoint %s: damaged: ", r->s->path);
}

static jfl_status gguf_open(jf_source *s, int *is_it)
{
  gguf_reader r = { .s = s, .align = GGUF_ALIGN };
  *is_it = 1;
  JF_TRY(jf_source_open_file(s, &r.size));
  r.buffer = jf_new_raw(GGUF_BUFFER);
  const jfl_status st = r.buffer ? gguf_parse(&r) : jf_checkpoint_memory(s->path);
  jf_free(r.buffer);
  jf_free(r.word.s);
  jf_free(r.json.s);
  jf_free(r.names.s);
  return st;
}

static jfl_status gguf_probe(jf_source *s, int is_folder, int *may_be)
{
  static const char ending[] = ".gguf";
  const size_t n = strlen(s->path), k = sizeof ending - 1;
  *may_be = !is_folder && n >= k && !strcmp(s->path + n - k, ending);
  return JFL_OK;
}

/* Unpacks some blocks at a time. */
static jfl_status gguf_read_blocks(const jf_source *s, const jf_entry *t, float *out)
{
  const int numbers = jfl_dtype_numbers(t->blocks);
  const size_t size = jfl_dtype_size(t->blocks);
  void *part = jf_new_raw(GGUF_UNPACKED * size);
  jfl_status st = part ? JFL_OK : jf_checkpoint_memory(s->path);
  const int64_t n = jf_numel(&t->shape) / numbers;
  for (int64_t at = 0; st == JFL_OK && at < n; at += GGUF_UNPACKED) {
    const int64_t k = n - at < GGUF_UNPACKED ? n - at : GGUF_UNPACKED;
    st = jf_file_read(s->fd, s->path, part, (size_t)k * size, t->begin + (uint64_t)at * size);
    if (st == JFL_OK) jf_blocks_get(t->blocks, part, k, out + at * numbers);
  }
  jf_free(part);
  return st;
}

static jfl_status gguf_read(const jf_source *s, const jf_entry *t, void *out, size_t n)
{
  return t->blocks ? gguf_read_blocks(s, t, out) : jf_file_read(s->fd, s->path, out, n, t->begin);
}

const jf_format jf_format_gguf = {
  .probe = gguf_probe, .open = gguf_open, .read = gguf_read
};
