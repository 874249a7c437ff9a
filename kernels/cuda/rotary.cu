/* Rotary position embedding. A thread has one pair of a position and turns it in some of the
   tensors that lie over each other, so that it computes one angle for all. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/rotary.h"
#endif

/* Units of a row are its pairs, then the numbers that are not turned. `parts`: how many threads
   share the outer extent. */
enum { ROTARY_MOST = 128 };            /* frequencies that are given one by one */
typedef struct rotary_args {
  struct jf_cuda_head head;
  int64_t outer, length, size, pairs, next, apart, parts, n_frequency;
  double base, dims, offset, sign, scale, frequency[ROTARY_MOST];
} rotary_args;

#ifdef JF_DEVICE

/* T is the elements' type, A that in which they are computed. Angles are computed in double: those
   of late positions are large. */
JF_KERNEL rotary(const rotary_args p)
{
  const int64_t units = p.size - p.pairs, step = p.length * p.size;
  JF_EACH(i, p.parts * p.length * units) {
    const int64_t unit = i % units, row = i / units % p.length, part = i / units / p.length;
    const int64_t from = p.outer * part / p.parts, to = p.outer * (part + 1) / p.parts;
    const int turns = unit < p.pairs;
    const int64_t at = row * p.size + (turns ? unit * p.next : unit + p.pairs);
    const T *x = (const T *)p.head.data[0] + from * step + at;
    T *y = (T *)p.head.data[1] + from * step + at;
    const double each = !turns ? 0 : p.n_frequency ? p.frequency[unit]
                                   : pow(p.base, -2 * (double)unit / p.dims);
    const double angle = ((double)row + p.offset) * each;
    const A c = (A)(p.scale * cos(angle)), s = (A)(p.scale * p.sign * sin(angle));
    for (int64_t o = from; o < to; o++, x += step, y += step) {
      const A u = (A)jf_load(x[0]), v = turns ? (A)jf_load(x[p.apart]) : (A)0;
      jf_store(&y[0], turns ? u * c - v * s : u);
      if (turns) jf_store(&y[p.apart], u * s + v * c);
    }
  }
}

#else

extern const char jf_cuda_text_rotary[];

static int rotary_accepts(const jf_kargs *k)
{
  const jf_rotary *r = k->attr;
  return (k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64)
         && r->frequencies.n <= ROTARY_MOST;
}

static jfl_status rotary_prepare(jf_kargs *k)
{
  enum { ENOUGH = 1 << 18 };           /* threads that keep any GPU busy */
  const jf_rotary *r = k->attr;
  const jf_rotary_dims d = jf_rotary_dims_of(k);
  const char *type = jf_cuda_stored(k->in[0].dtype);
  const jf_cuda_source s = { "rotary embedding", jf_cuda_text_rotary, NULL,
                             { JF_AS_TYPE("T", type), JF_AS_TYPE("A", type) } };
  rotary_args a = { .outer = d.outer, .length = d.length, .size = d.size, .pairs = d.pairs,
                    .next = d.next, .apart = d.apart, .parts = 1, .base = r->base,
                    .dims = (double)r->dims, .offset = (double)r->offset,
                    .sign = r->inverse ? -1 : 1, .scale = r->scale,
                    .n_frequency = r->frequencies.n };
  const int64_t one = d.length * (d.size - d.pairs);
  for (int i = 0; i < r->frequencies.n; i++) a.frequency[i] = r->frequencies.v[i];
  if (!jf_numel(&k->in[0].shape)) return JFL_OK;
  while (a.parts < d.outer && a.parts * one < ENOUGH) a.parts *= 2;
  if (a.parts > d.outer) a.parts = d.outer;
  return jf_cuda_each(k, &s, "rotary", a.parts * one, &a, sizeof a);
}

JFL_CUDA(cuda_rotary_embedding,
  JF_CUDA_LAUNCHED("rotary_embedding", rotary_accepts, rotary_prepare))

#endif
