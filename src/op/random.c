/* Tensors of random numbers, drawn anew on every run. */
#include "op/random.h"
#include "op/move.h"
#include "op/op.h"

#include <math.h>

JF_ATTRS(uniform_attrs,
  JF_FIELD(jf_random_uniform, shape, INTS, NULL,
           "the extents of the result; numpy takes them last"),
  JF_FIELD(jf_random_uniform, minval, NUM, "0", "the least number"),
  JF_FIELD(jf_random_uniform, maxval, NUM, "1", "the bound, which is not reached"),
  JF_FIELD(jf_random_uniform, dtype, DTYPE, "float32", "its dtype"))
JF_ATTRS(normal_attrs,
  JF_FIELD(jf_random_normal, shape, INTS, NULL,
           "the extents of the result; numpy takes them last"),
  JF_FIELD(jf_random_normal, mean, NUM, "0", "the mean"),
  JF_FIELD(jf_random_normal, stddev, NUM, "1", "the standard deviation"),
  JF_FIELD(jf_random_normal, dtype, DTYPE, "float32", "its dtype"))

JF_ATTRS(randint_attrs,
  JF_FIELD(jf_random_randint, low, NUM, NULL, "the least number"),
  JF_FIELD(jf_random_randint, high, NUM, NULL, "the bound, which is not reached"),
  JF_FIELD(jf_random_randint, shape, INTS, "1", "the extents of the result"),
  JF_FIELD(jf_random_randint, dtype, DTYPE, "int32", "int32 or int64"))
JF_ATTRS(permutation_attrs,
  JF_RANGE(jf_random_permutation, n, INT, NULL, "from 0 to 2147483647",
           "how many numbers there are"),
  JF_FIELD(jf_random_permutation, dtype, DTYPE, "int32", "int32 or int64"))

static jfl_status random_infer(jf_infer *c, const jf_ints *shape, jfl_dtype dtype)
{
  if (!jf_is_float(dtype))
    return jf_fail_argument(JFL_EDTYPE, "dtype", "must be one of float32, float64, float16, "
                            "bfloat16, got %s", jfl_dtype_name(dtype));
  c->dtype[0] = dtype;
  return jf_shape_from(shape, &c->shape[0]);
}

static jfl_status uniform_infer(jf_infer *c)
{
  const jf_random_uniform *a = c->attr;
  if (!isfinite(a->minval) || !isfinite(a->maxval) || a->minval > a->maxval)
    return jf_fail_argument(JFL_EINVAL, "minval", "must be at most maxval, and both finite, got "
                            "%g and %g; shape comes before both", a->minval, a->maxval);
  return random_infer(c, &a->shape, a->dtype);
}

static jfl_status normal_infer(jf_infer *c)
{
  const jf_random_normal *a = c->attr;
  if (!isfinite(a->mean) || !isfinite(a->stddev) || a->stddev < 0)
    return jf_fail_argument(JFL_EINVAL, "mean", "must be finite and stddev at least 0, got %g and "
                            "%g", a->mean, a->stddev);
  return random_infer(c, &a->shape, a->dtype);
}

static jfl_status whole_infer(jf_infer *c, const jf_ints *shape, jfl_dtype dtype)
{
  if (dtype != JFL_I32 && dtype != JFL_I64)
    return jf_fail_argument(JFL_EDTYPE, "dtype", "must be int32 or int64, got %s",
                            jfl_dtype_name(dtype));
  c->dtype[0] = dtype;
  return jf_shape_from(shape, &c->shape[0]);
}

static jfl_status randint_infer(jf_infer *c)
{
  const jf_random_randint *a = c->attr;
  const double most = 0x1p53;
  if (!(a->low < a->high) || floor(a->low) != a->low || floor(a->high) != a->high)
    return jf_fail_argument(JFL_EINVAL, "low", "must be below high, and both whole, got %.17g and "
                            "%.17g", a->low, a->high);
  if (a->low < -most || a->high > most || a->high - a->low > most ||
      (a->dtype == JFL_I32 && (a->low < INT32_MIN || a->high > 0x1p31)))
    return jf_fail_argument(JFL_EINVAL, "high", "must fit %s, and so must low, within 2^53, got "
                            "%.17g and %.17g", jfl_dtype_name(a->dtype), a->high, a->low);
  return whole_infer(c, &a->shape, a->dtype);
}

static jfl_status permutation_infer(jf_infer *c)
{
  const jf_random_permutation *a = c->attr;
  return whole_infer(c, &JF_INTS(a->n), a->dtype);
}

/* A number in [0, 1) of 53 bits, made of half a block of random words: half 0 or 1. */
static double random_unit(const jf_philox *r, int i)
{
  uint64_t w = (uint64_t)r->w[2 * i] << 32 | r->w[2 * i + 1];
  return (double)(w >> 11) * 0x1p-53;
}

/* Goes through the blocks of random words, each of which serves two elements: those of numbers i
   and i + 1, of which one may be another part's. */
#define RANDOM_PAIRS                                                                     \
  const int64_t n = jf_numel(&k->out[0].shape), first = k->random.first;                 \
  for (int64_t i = -(first % 2); i < n && !jf_loop_ends_at(i / 2, 2); i += 2) {          \
    const jf_philox r = jf_philox_at(k->random.key, k->random.run, (uint64_t)(first + i) / 2);

/* A result that rounds up to maxval becomes minval. */
#define UNIFORM(D, T)                                                                  \
  static jfl_status uniform_##D(const jf_kargs *k)                                     \
  {                                                                                    \
    const jf_random_uniform *a = k->attr;                                                        \
    T *y = k->out[0].data;                                                             \
    RANDOM_PAIRS                                                                       \
      for (int j = i < 0; j < 2 && i + j < n; j++) {                                   \
        const T v = (T)(a->minval + (a->maxval - a->minval) * random_unit(&r, j));     \
        y[i + j] = v < (T)a->maxval ? v : (T)a->minval;                                \
      }                                                                                \
    }                                                                                  \
    return JFL_OK;                                                                     \
  }

/* Box and Muller's transform, which needs two uniform numbers; 1 - u keeps the logarithm finite. */
#define NORMAL(D, T)                                                                   \
  static jfl_status normal_##D(const jf_kargs *k)                                      \
  {                                                                                    \
    const jf_random_normal *a = k->attr;                                                  \
    T *y = k->out[0].data;                                                             \
    RANDOM_PAIRS                                                                       \
      const double radius = a->stddev * sqrt(-2 * log(1 - random_unit(&r, 0)));        \
      const double angle = 6.283185307179586 * random_unit(&r, 1);                     \
      if (i >= 0) y[i] = (T)(a->mean + radius * cos(angle));                           \
      if (i + 1 < n) y[i + 1] = (T)(a->mean + radius * sin(angle));                    \
    }                                                                                  \
    return JFL_OK;                                                                     \
  }

#define RANDINT(D, T)                                                                  \
  static jfl_status randint_##D(const jf_kargs *k)                                     \
  {                                                                                    \
    const jf_random_randint *a = k->attr;                                                        \
    const double range = a->high - a->low;                                             \
    T *y = k->out[0].data;                                                             \
    RANDOM_PAIRS                                                                       \
      for (int j = i < 0; j < 2 && i + j < n; j++)                                     \
        y[i + j] = (T)((int64_t)a->low + (int64_t)(range * random_unit(&r, j)));       \
    }                                                                                  \
    return JFL_OK;                                                                     \
  }

/* Fisher and Yates' shuffle: number i changes places with one of those up to i. */
#define PERMUTATION(D, T)                                                              \
  static jfl_status permutation_##D(const jf_kargs *k)                                 \
  {                                                                                    \
    T *y = k->out[0].data;                                                             \
    for (int64_t i = 0, n = jf_numel(&k->out[0].shape); i < n && !jf_loop_ends_at(i, 1); i++) { \
      const jf_philox r = jf_philox_at(k->random.key, k->random.run, (uint64_t)i);     \
      const int64_t j = (int64_t)((double)(i + 1) * random_unit(&r, 0));               \
      y[i] = y[j];                                                                     \
      y[j] = (T)i;                                                                     \
    }                                                                                  \
    return JFL_OK;                                                                     \
  }
JF_EACH_INT(RANDINT)
JF_EACH_INT(PERMUTATION)
JF_EACH_FLOAT(UNIFORM)
JF_EACH_FLOAT(NORMAL)

#define RANDOM_SHARE(T)                                   \
  static void share_##T(jf_share *s)                       \
  {                                                        \
    ((T *)s->attr)->shape = jf_ints_from(&s->out[0]);      \
  }
RANDOM_SHARE(jf_random_uniform)
RANDOM_SHARE(jf_random_normal)
RANDOM_SHARE(jf_random_randint)
#define SHARED(T) .signatures = jf_signatures_drawn, .share = share_##T

JFL_OP(random_uniform, .doc = "Uniform random numbers in [minval, maxval).",
  .path = "random.uniform", .out = {"y"}, .key = -1, JF_WITH(uniform_attrs, jf_random_uniform),
  .flags = JF_RANDOM, .infer = uniform_infer, .cpu = JF_KERNELS(JF_FLOATS(uniform_)),
  SHARED(jf_random_uniform))

JFL_OP(random_normal, .doc = "Normal random numbers.", .path = "random.normal", .out = {"y"},
  .key = -1, JF_WITH(normal_attrs, jf_random_normal), .flags = JF_RANDOM,
  .infer = normal_infer, .cpu = JF_KERNELS(JF_FLOATS(normal_)), SHARED(jf_random_normal))

JFL_OP(random_randint, .doc = "Random whole numbers from low to below high, all equally likely.",
  .path = "random.randint", .out = {"y"}, .key = -1, JF_WITH(randint_attrs, jf_random_randint),
  .flags = JF_RANDOM, .infer = randint_infer, .cpu = JF_KERNELS(JF_INTEGERS(randint_)),
  SHARED(jf_random_randint))

JFL_OP(random_permutation, .doc = "The numbers from 0 to below n in random order.",
  .path = "random.permutation", .out = {"y"}, .key = -1,
  JF_WITH(permutation_attrs, jf_random_permutation), .flags = JF_RANDOM, .infer = permutation_infer,
  .cpu = JF_KERNELS(JF_INTEGERS(permutation_)))
