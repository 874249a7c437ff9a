/* Reading of tensors, from files that lie in memory or piece by piece: in plain order, and as other
   dtypes. */
#include "checkpoint/checkpoint.h"
#include "dev/half.h"
#include "dev/number.h"

#include <string.h>

/* ---- files in memory ---- */

jfl_status jf_source_open_file(jf_source *s, uint64_t *size)
{
  jf_info st;
  s->fd = jf_open(JF_HERE, s->path, JF_READ);
  if (s->fd < 0) return jf_file_fail(s->path, "open");
  if (jf_info_of(s->fd, &st)) return jf_file_fail(s->path, "look up");
  if (st.kind != JF_FILE)
    return jf_fail(JFL_EDATA, "checkpoint %s: the path must be a regular file", s->path);
  *size = s->size = (uint64_t)st.size;
  /* Where memory is scarce, addresses are too. */
  if (*size <= SIZE_MAX / 4 && !jf_memory_limit()) s->map = jf_mapping_new(s->fd, (size_t)*size);
  return JFL_OK;
}

jfl_status jf_source_still(const jf_source *s)
{
  jf_info st;
  for (int i = 0; i < s->n_shard; i++) JF_TRY(jf_source_still(s->shard[i]));
  if (!s->map || jf_mapping_is_whole(s->map)) return JFL_OK;
  if (jf_info_of(s->fd, &st)) return jf_file_fail(s->path, "look up");
  if ((uint64_t)st.size < s->size)
    return jf_fail(JFL_EDATA, "checkpoint %s: cut at byte %lld while it was read", s->path,
                   (long long)st.size);
  return jf_fail(JFL_EDATA, "checkpoint %s: it was changed while it was read, or cannot be read",
                 s->path);
}

const void *jf_entry_mapped(const jf_source *s, const jf_entry *t)
{
  const jf_source *in = t->in ? t->in : s;
  return in->map && !t->blocks ? jf_mapping_data(in->map) + t->begin : NULL;
}

/* ---- elements ---- */

enum { MOST_RUN = 512 };       /* elements that are gathered before they are converted */

int jf_dtype_widens(jfl_dtype from, jfl_dtype to)
{
  if (jf_is_half(from)) return to == JFL_F32 || to == JFL_F64;
  return from == JFL_F32 && to == JFL_F64;
}

void jf_entry_plain(const jf_entry *t, int64_t *step)
{
  int64_t n = 1;
  for (int i = t->shape.n; i--;) {
    step[i] = n;
    n *= t->shape.d[i];
  }
}

/* Writes n elements that lie one behind the other. */
static void read_convert(jfl_dtype is, const char *from, jfl_dtype as, char *out, int64_t n)
{
  double v[MOST_RUN];
  if (is == as) {
    memcpy(out, from, (size_t)n * jfl_dtype_size(is));
  } else if (jf_is_half(is) && as == JFL_F32 && !((uintptr_t)from % sizeof(uint16_t))) {
    jf_halves_get(is, (const void *)from, (void *)out, n);
  } else {
    const size_t size = jfl_dtype_size(is);
    char run[MOST_RUN * sizeof(double)];             /* where they are aligned */
    for (int64_t at = 0; at < n; at += MOST_RUN) {
      const int k = (int)(n - at < MOST_RUN ? n - at : MOST_RUN);
      memcpy(run, from + (size_t)at * size, (size_t)k * size);
      jf_numbers_get(is, run, 0, k, v);
      jf_numbers_put(as, out, at, k, v);
    }
  }
}

/* Copies n elements to where they lie one behind the other. */
static void read_gather(size_t size, const char *from, int64_t step, char *out, int n)
{
#define GATHER(type) \
  for (int i = 0; i < n; i++) memcpy(out + (size_t)i * sizeof(type), \
                                     from + (int64_t)i * step * (int64_t)sizeof(type), sizeof(type))
  if (size == 8) GATHER(uint64_t);
  else if (size == 4) GATHER(uint32_t);
  else if (size == 2) GATHER(uint16_t);
  else GATHER(uint8_t);
#undef GATHER
}

/* Writes a row of n elements. */
static void read_row(const jf_entry *t, const char *from, int64_t step, jfl_dtype as, char *out,
                     int64_t n)
{
  _Alignas(double) char run[MOST_RUN * sizeof(double)];
  const size_t size = jfl_dtype_size(t->dtype), to = jfl_dtype_size(as);
  if (step == 1) {
    read_convert(t->dtype, from, as, out, n);
    return;
  }
  for (int64_t at = 0; at < n; at += MOST_RUN) {
    const int k = (int)(n - at < MOST_RUN ? n - at : MOST_RUN);
    read_gather(size, from + at * step * (int64_t)size, step, run, k);
    read_convert(t->dtype, run, as, out + (size_t)at * to, k);
  }
}

void jf_entry_copy(const jf_entry *t, const void *from, jfl_dtype as, void *out)
{
  if (!t->strided && (t->dtype == JFL_N_DTYPE || t->dtype == as || t->shape.n < 0)) {
    memcpy(out, from, (size_t)t->size);
    return;
  }
  const int64_t n = jf_numel(&t->shape), inner = t->shape.n - 1;
  if (!n) return;
  if (!t->strided || inner < 0) {
    read_convert(t->dtype, from, as, out, n);
    return;
  }
  const int64_t row = t->shape.d[inner], size = (int64_t)jfl_dtype_size(t->dtype);
  int64_t index[JFL_MAXDIM] = {0}, at = 0;
  for (int64_t done = 0; done < n; done += row) {
    read_row(t, (const char *)from + at * size, t->step[inner], as,
             (char *)out + (size_t)done * jfl_dtype_size(as), row);
    for (int64_t k = inner; k--;) {                  /* to the next row */
      at += t->step[k];
      if (++index[k] < t->shape.d[k]) break;
      at -= t->step[k] * t->shape.d[k];
      index[k] = 0;
    }
  }
}

/* ---- whole tensors ---- */

/* The bytes from the first element to the last. */
static uint64_t read_span(const jf_entry *t)
{
  uint64_t last = 0;
  if (!t->strided || !jf_numel(&t->shape)) return t->size;
  for (int i = 0; i < t->shape.n; i++) last += (uint64_t)(t->shape.d[i] - 1) * (uint64_t)t->step[i];
  return (last + 1) * jfl_dtype_size(t->dtype);
}

static jfl_status source_bytes(const jf_source *in, const jf_entry *t, void *out, uint64_t n)
{
  if (in->format->read) return in->format->read(in, t, out, (size_t)n);
  return jf_file_read(in->fd, in->path, out, (size_t)n, t->begin);
}

jfl_status jf_source_read(const jf_source *s, const jf_entry *t, void *out)
{
  const jf_source *in = t->in ? t->in : s;
  const void *from = jf_entry_mapped(s, t);
  if (from) {
    JF_TRY(jf_source_still(in));
    jf_entry_copy(t, from, t->dtype, out);
    return JFL_OK;
  }
  const uint64_t span = read_span(t);
  if (!t->strided) return source_bytes(in, t, out, span);
  void *all = jf_new_raw((size_t)span);
  if (!all)
    return jf_fail(JFL_ENOMEM, "checkpoint %s: out of memory for %llu bytes of %s", in->path,
                   (unsigned long long)span, t->own);
  const jfl_status r = source_bytes(in, t, all, span);
  if (r == JFL_OK) jf_entry_copy(t, all, t->dtype, out);
  jf_free(all);
  return r;
}
