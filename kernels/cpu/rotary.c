/* Rotary embedding with angles computed when the plan is made. */
#include "op/rotary.h"

#include "vector.h"

typedef struct rotary_job { const jf_kargs *k; jf_rotary_dims d; int64_t span; } rotary_job;

/* A part is `span` rows. The state has, for each position, the cosines of all pairs and then their
   sines. */
JF_BODY void rotary_body(void *ctx, int part)
{
  const rotary_job *j = ctx;
  const jf_rotary_dims *d = &j->d;
  const int64_t to = jf_to(part, j->span, d->outer * d->length), pairs = d->pairs;
  for (int64_t r = jf_from(part, j->span); r < to; r++) {
    const float *c = (const float *)j->k->state + r % d->length * 2 * pairs, *s = c + pairs;
    const float *x = (const float *)j->k->in[0].data + r * d->size;
    float *y = (float *)j->k->out[0].data + r * d->size;
    if (d->next == 1)
      JF_EACH_ALONE for (int64_t i = 0; i < pairs; i++) {
        const float a = x[i], b = x[i + pairs];
        y[i] = a * c[i] - b * s[i];
        y[i + pairs] = a * s[i] + b * c[i];
      }
    else
      JF_EACH_ALONE for (int64_t i = 0; i < pairs; i++) {
        const float a = x[2 * i], b = x[2 * i + 1];
        y[2 * i] = a * c[i] - b * s[i];
        y[2 * i + 1] = a * s[i] + b * c[i];
      }
    if (x != y)
      memcpy(y + 2 * pairs, x + 2 * pairs, (size_t)(d->size - 2 * pairs) * sizeof *y);
  }
}
JF_VARIANTS(rotary)

/* Larger tables than this are left to the plain kernel, which needs none. */
enum { MOST_ANGLES = 1 << 23 };

static int rotary_accepts(const jf_kargs *k)
{
  const jf_rotary_dims d = jf_rotary_dims_of(k);
  return k->in[0].dtype == JFL_F32 && jf_numel(&k->in[0].shape) && d.pairs > 0
         && d.pairs <= MOST_ANGLES / d.length;
}

static jfl_status rotary_prepare(jf_kargs *k)
{
  const jf_rotary_dims d = jf_rotary_dims_of(k);
  float *table = jf_new_raw((size_t)(d.length * 2 * d.pairs) * sizeof *table);
  if (!table) return jf_fail(JFL_ENOMEM, "out of memory");
  for (int64_t p = 0; p < d.length; p++)
    for (int64_t i = 0; i < d.pairs; i++) {
      double c, s;
      jf_rotary_angle(k->attr, p, i, &c, &s);
      table[p * 2 * d.pairs + i] = (float)c;
      table[(p * 2 + 1) * d.pairs + i] = (float)s;
    }
  k->state = table;
  return JFL_OK;
}

static jfl_status rotary_run(const jf_kargs *k)
{
  rotary_job j = { k, jf_rotary_dims_of(k), 1 };
  if (j.d.size < JF_PART) j.span = JF_PART / j.d.size;
  jf_run_parts(k, jf_parts(j.d.outer * j.d.length, j.span), rotary(), &j);
  return JFL_OK;
}

JFL_CPU(vec_rotary, .op = "rotary_embedding", .accepts = rotary_accepts, .prepare = rotary_prepare,
        .run = rotary_run, .release = jf_free)
