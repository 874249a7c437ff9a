/* Rotary position embedding (Su et al., RoFormer, 2021): pair i of numbers of a row is turned by
   the angle position * base^(-2 i / dims), so that products of two rows depend on how far apart
   they are. */
#include "op/rotary.h"
#include "op/move.h"

#include <math.h>
#include <string.h>

JF_ATTRS(attrs,
  JF_RANGE(jf_rotary, base, NUM, "10000", "a finite number above 0",
           "how much slower each pair turns than the one before"),
  JF_RANGE(jf_rotary, offset, INT, "0", "from 0 to 2147483647", "the position of the first row"),
  JF_FIELD(jf_rotary, dims, INT, "0", "how many numbers of a row are turned; 0: all"),
  JF_FIELD(jf_rotary, interleaved, BOOL, "false",
           "pairs are numbers 2 i and 2 i + 1; else i and i + dims / 2"),
  JF_FIELD(jf_rotary, inverse, BOOL, "false", "turns back"),
  JF_FIELD(jf_rotary, frequencies, NUMS, "{}",
           "the angle of each pair from a position to the next, in place of what base gives"),
  JF_RANGE(jf_rotary, scale, NUM, "1", "a finite number", "what is turned is multiplied by it"))

static jfl_status rotary_infer(jf_infer *c)
{
  jf_rotary *a = c->attr;
  const jfl_shape *s = &c->in[0]->shape;
  char text[JF_SHAPE_STR];
  JF_TRY(jf_infer_same(c));
  if (s->n < 2)
    return jf_fail_argument(JFL_ESHAPE, "x", "must have two or more axes (..., length, size), "
                            "got %s", jf_shape_str(s, text));
  if (a->dims == 0) a->dims = s->d[s->n - 1];
  if (a->dims < 0 || a->dims % 2 || a->dims > s->d[s->n - 1])
    return jf_fail_argument(JFL_EINVAL, "dims", "must be even and at most the size %lld, got %lld",
                            (long long)s->d[s->n - 1], (long long)a->dims);
  if (a->frequencies.n && a->frequencies.n != a->dims / 2)
    return jf_fail_argument(JFL_EINVAL, "frequencies", "must be one for each of the %lld pairs, "
                            "got %d", (long long)a->dims / 2, a->frequencies.n);
  for (int i = 0; i < a->frequencies.n; i++)
    if (!isfinite(a->frequencies.v[i]))
      return jf_fail_argument(JFL_EINVAL, "frequencies", "must be finite numbers, got %g",
                              a->frequencies.v[i]);
  return JFL_OK;
}

jf_rotary_dims jf_rotary_dims_of(const jf_kargs *k)
{
  const jf_rotary *a = k->attr;
  const jfl_shape *s = &k->in[0].shape;
  jf_rotary_dims d = { 1, s->d[s->n - 2], s->d[s->n - 1], a->dims / 2, 1, a->dims / 2 };
  for (int i = 0; i < s->n - 2; i++) d.outer *= s->d[i];
  if (a->interleaved) d.next = 2;
  if (a->interleaved) d.apart = 1;
  return d;
}

/* The angle by which pair i is turned from a position to the next. */
static double rotary_frequency(const jf_rotary *a, int64_t i)
{
  if (a->frequencies.n) return a->frequencies.v[i];
  return pow(a->base, -2 * (double)i / (double)a->dims);
}

void jf_rotary_angle(const jf_rotary *a, int64_t position, int64_t i, double *cosine,
                     double *sine)
{
  const double angle = (double)(position + a->offset) * rotary_frequency(a, i);
  *cosine = a->scale * cos(angle);
  *sine = a->scale * (a->inverse ? -sin(angle) : sin(angle));
}

/* (x, y) -> (x cos - y sin, x sin + y cos) */
#define ROTARY(D, T)                                                              \
  static jfl_status rotary_##D(const jf_kargs *k)                                 \
  {                                                                               \
    const jf_rotary_dims d = jf_rotary_dims_of(k);                                \
    const T *x = k->in[0].data;                                                   \
    T *y = k->out[0].data;                                                        \
    double c, s;                                                                  \
    memmove(y, x, (size_t)jf_numel(&k->out[0].shape) * sizeof *y);                \
    for (int64_t p = 0; d.outer && p < d.length && !jf_loop_ends_at(p, d.pairs * d.outer); p++) \
      for (int64_t i = 0; i < d.pairs; i++) {                                     \
        jf_rotary_angle(k->attr, p, i, &c, &s);                                   \
        for (int64_t o = 0; o < d.outer; o++) {                                   \
          T *a = y + (o * d.length + p) * d.size + i * d.next, *b = a + d.apart;  \
          const double u = (double)*a, v = (double)*b;                            \
          *a = (T)(u * c - v * s);                                                \
          *b = (T)(u * s + v * c);                                                \
        }                                                                         \
      }                                                                           \
    return JFL_OK;                                                                \
  }
JF_EACH_FLOAT(ROTARY)

/* The gradient is turned back. */
static void rotary_grad(jf_gradctx *c)
{
  jf_rotary a = *(const jf_rotary *)c->node->attr;
  a.inverse = !a.inverse;
  c->dx[0] = JF_EMIT(c->g, rotary_embedding, &a, c->dy[0]);
}

/* All axes but those of the rows. */
static void rotary_signatures(jf_signatures *c)
{
  jf_signatures_but(c, 3u << (c->node->in[0]->shape.n - 2));
  jf_signature_say(c, "P->P");
}

JFL_OP(rotary_embedding, .doc = "x (..., length, size), whose rows are turned by angles that grow "
       "with their position, so that products of two rows depend on how far apart they are.",
       .path = "nn.rotary_embedding", .in = { "x" }, .out = { "y" }, JF_WITH(attrs, jf_rotary),
       .infer = rotary_infer, .inplace = 1, .grad = rotary_grad,
       .cpu = JF_KERNELS(JF_FLOATS(rotary_)), .signatures = rotary_signatures)
