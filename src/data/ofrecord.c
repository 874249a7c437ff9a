/* OneFlow's records: a map from names to lists of bytes or numbers, as protobuf encodes it. Sizes
   are checked against what is left before anything is read. */
#include "data/data.h"

#include <string.h>

/* Wire types of protobuf, and the fields that are read. */
enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };
enum { RECORD_ENTRY = 1, ENTRY_KEY = 1, ENTRY_VALUE = 2, LIST_VALUE = 1 };
enum { SHOWN = 60 };

typedef struct proto { const uint8_t *at, *end; } proto;
/* A field of a message: its number, its wire type, and its bytes or number. */
typedef struct proto_field { uint64_t number; int type; uint64_t value; proto bytes; } proto_field;

static jfl_status proto_broken(void)
{
  return jf_fail(JFL_EDATA, "the record is damaged: it is cut short or no OFRecord");
}

static int proto_varint(proto *p, uint64_t *out)
{
  uint64_t v = 0;
  for (int shift = 0; shift < 64 && p->at < p->end; shift += 7) {
    const uint8_t byte = *p->at++;
    v |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return *out = v, 1;
  }
  return 0;
}

static int proto_take(proto *p, uint64_t n, proto *out)
{
  if (n > (uint64_t)(p->end - p->at)) return 0;
  *out = (proto){ p->at, p->at + n };
  p->at += n;
  return 1;
}

/* Reads the next field; 0: it is damaged. */
static int proto_next(proto *p, proto_field *f)
{
  uint64_t tag, n = 0;
  *f = (proto_field){ 0 };
  if (!proto_varint(p, &tag)) return 0;
  f->number = tag >> 3;
  f->type = (int)(tag & 7);
  if (f->type == VARINT) return proto_varint(p, &f->value);
  if (f->type == FIXED64) return proto_take(p, 8, &f->bytes);
  if (f->type == FIXED32) return proto_take(p, 4, &f->bytes);
  return f->type == BYTES && proto_varint(p, &n) && proto_take(p, n, &f->bytes);
}

/* The name and the value of an entry of the map. */
static int feature_entry(proto p, proto *key, proto *value)
{
  proto_field f;
  *key = *value = (proto){ p.at, p.at };
  while (p.at < p.end) {
    if (!proto_next(&p, &f)) return 0;
    if (f.type == BYTES && f.number == ENTRY_KEY) *key = f.bytes;
    if (f.type == BYTES && f.number == ENTRY_VALUE) *value = f.bytes;
  }
  return 1;
}

static jfl_status feature_kind(proto value, const char *name, jf_feature *out)
{
  proto_field f;
  jf_feature found = { 0 };
  while (value.at < value.end) {
    if (!proto_next(&value, &f)) return proto_broken();
    if (f.type != BYTES || f.number < JF_FEATURE_BYTES || f.number > JF_FEATURE_I64) continue;
    found = (jf_feature){ (jf_feature_kind)f.number, f.bytes.at,
                          (size_t)(f.bytes.end - f.bytes.at) };
  }
  if (!found.kind) return jf_fail(JFL_EDATA, "the feature '%.*s' has no list", SHOWN, name);
  *out = found;
  return JFL_OK;
}

/* The error of a name that the record has not, with those that it has. */
static jfl_status feature_missing(proto p, const char *name)
{
  jf_text has = { 0 };
  proto_field f;
  proto key, value;
  while (p.at < p.end && has.n < 3 * SHOWN && proto_next(&p, &f))
    if (f.type == BYTES && f.number == RECORD_ENTRY && feature_entry(f.bytes, &key, &value)) {
      const int n = key.end - key.at < SHOWN ? (int)(key.end - key.at) : SHOWN;
      jf_text_add(&has, "%s'%.*s'", has.n ? ", " : "", n, (const char *)key.at);
    }
  jfl_status r = jf_fail(JFL_EDATA, "the record must have a feature '%.*s', got %s", SHOWN, name,
                         has.n ? has.s : "none");
  jfl_text_free(has.s);
  return r;
}

jfl_status jf_feature_find(const void *record, size_t n, const char *name, jf_feature *out)
{
  const size_t length = strlen(name);
  const proto all = { record, (const uint8_t *)record + n };
  proto p = all, key, value, found = { 0 };
  proto_field f;
  while (p.at < p.end) {
    if (!proto_next(&p, &f)) return proto_broken();
    if (f.type != BYTES || f.number != RECORD_ENTRY) continue;
    if (!feature_entry(f.bytes, &key, &value)) return proto_broken();
    if ((size_t)(key.end - key.at) == length && !memcmp(key.at, name, length)) found = value;
  }
  if (!found.at) return feature_missing(all, name);
  return feature_kind(found, name, out);
}

jfl_status jf_feature_bytes(const jf_feature *feature, const void **data, size_t *n)
{
  proto p = { feature->data, feature->data + feature->n };
  proto_field f;
  if (feature->kind != JF_FEATURE_BYTES)
    return jf_fail(JFL_EDATA, "the feature must be a list of bytes, got one of numbers");
  while (p.at < p.end) {
    if (!proto_next(&p, &f)) return proto_broken();
    if (f.type != BYTES || f.number != LIST_VALUE) continue;
    *data = f.bytes.at;
    *n = (size_t)(f.bytes.end - f.bytes.at);
    return JFL_OK;
  }
  return jf_fail(JFL_EDATA, "the feature must have bytes, got an empty list");
}

/* ---- numbers ---- */

/* Where numbers go: at most `most` of them, of which n have been put there. */
typedef struct sink { jfl_dtype dtype; void *out; int64_t n, most; } sink;

#define PUT(D, T) case JFL_##D: ((T *)s->out)[at] = (T)jf_clamp(JFL_##D, v); break;
static void sink_real(sink *s, double v)
{
  const int64_t at = s->n++;
  if (at >= s->most) return;
  switch (s->dtype) {
    JF_EACH_TYPE(PUT)
    default: break;
  }
}

static void sink_whole(sink *s, int64_t v)
{
  if (s->dtype != JFL_I64 || s->n >= s->most) sink_real(s, (double)v);
  else ((int64_t *)s->out)[s->n++] = v;
}
#undef PUT

/* Bytes are signed numbers, as OneFlow has them, but for uint8, which keeps them as they are. */
static void sink_bytes(sink *s, proto p)
{
  const int plain = s->dtype == JFL_U8;
  for (; p.at < p.end; p.at++) sink_whole(s, plain ? *p.at : (int8_t)*p.at);
}

static double real_at(const uint8_t *at, size_t size)
{
  uint64_t bits = 0;
  float f;
  double d;
  for (size_t i = size; i-- > 0;) bits = bits << 8 | at[i];
  if (size == 8) return memcpy(&d, &bits, 8), d;
  const uint32_t half = (uint32_t)bits;
  return memcpy(&f, &half, 4), (double)f;
}

static int sink_reals(sink *s, proto p, size_t size)
{
  for (; (size_t)(p.end - p.at) >= size; p.at += size) sink_real(s, real_at(p.at, size));
  return p.at == p.end;
}

static int sink_varints(sink *s, proto p, int narrow)
{
  uint64_t v;
  while (p.at < p.end) {
    if (!proto_varint(&p, &v)) return 0;
    sink_whole(s, narrow ? (int32_t)(uint32_t)v : (int64_t)v);
  }
  return 1;
}

/* One field of a list, which may be packed; 0: it is damaged. */
static int sink_field(sink *s, jf_feature_kind kind, const proto_field *f)
{
  const size_t size = kind == JF_FEATURE_FLOAT ? 4 : 8;
  if (f->number != LIST_VALUE) return 1;
  if (kind == JF_FEATURE_BYTES) return f->type == BYTES ? (sink_bytes(s, f->bytes), 1) : 0;
  if (kind == JF_FEATURE_I32 || kind == JF_FEATURE_I64) {
    const int narrow = kind == JF_FEATURE_I32;
    if (f->type == BYTES) return sink_varints(s, f->bytes, narrow);
    if (f->type != VARINT) return 0;
    return sink_whole(s, narrow ? (int32_t)(uint32_t)f->value : (int64_t)f->value), 1;
  }
  if (f->type != BYTES && f->type != (size == 4 ? FIXED32 : FIXED64)) return 0;
  return sink_reals(s, f->bytes, size);
}

jfl_status jf_feature_numbers(const jf_feature *feature, const jfl_numbers_spec *spec, void *out)
{
  proto p = { feature->data, feature->data + feature->n };
  proto_field f;
  sink s = { spec->dtype, out, 0, jf_numel(&spec->shape) };
  while (p.at < p.end)
    if (!proto_next(&p, &f) || !sink_field(&s, feature->kind, &f)) return proto_broken();
  if (s.n > s.most || (s.n < s.most && !spec->pads)) {
    char text[JF_SHAPE_STR];
    return jf_fail(JFL_EDATA, "the feature must have %s%lld numbers, as its shape %s has, got %lld",
                   spec->pads ? "at most " : "", (long long)s.most,
                   jf_shape_str(&spec->shape, text), (long long)s.n);
  }
  const size_t size = jfl_dtype_size(spec->dtype);
  memset((char *)out + (size_t)s.n * size, 0, (size_t)(s.most - s.n) * size);
  return JFL_OK;
}
