/* Large elementwise loops in parallel: the ops that training spends time in. */
#include "vector.h"

typedef struct operands {
  const float *a, *b;          /* b is a where there is one input */
  float *y;
  int64_t n;
} operands;

/* In EXPR a and b are elements of the inputs. */
#define LOOP(id, EXPR)                                                               \
  JF_BODY void id##_body(void *ctx, int i)                                           \
  {                                                                                  \
    const operands *o = ctx;                                                         \
    const int64_t to = jf_to(i, JF_PART, o->n);                                      \
    JF_ALONE for (int64_t j = jf_from(i, JF_PART); j < to; j++) {                    \
      const float a = o->a[j], b = o->b[j];                                          \
      (void)b;                                                                       \
      o->y[j] = EXPR;                                                                \
    }                                                                                \
  }                                                                                  \
  JF_VARIANTS(id)                                                                    \
  static jfl_status id##_run(const jf_kargs *k) { return run(k, id()); }

static jfl_status run(const jf_kargs *k, jf_part part)
{
  operands o = {
    .a = k->in[0].data, .b = k->in[k->n_in - 1].data, .y = k->out[0].data,
    .n = jf_numel(&k->out[0].shape)
  };
  jf_run_parts(k, jf_parts(o.n, JF_PART), part, &o);
  return JFL_OK;
}

LOOP(relu, a < 0 ? 0 : a)
LOOP(relu_grad, a > 0 ? b : 0)
LOOP(add, a + b)
LOOP(subtract, a - b)
LOOP(multiply, a * b)

static int accepts(const jf_kargs *k)
{
  for (int i = 0; i < k->n_in; i++)
    if (k->in[i].dtype != JFL_F32 || !jf_shape_eq(&k->in[i].shape, &k->out[0].shape)) return 0;
  return 1;
}

JFL_CPU(vec_relu, .op = "relu", .accepts = accepts, .run = relu_run, .priority = 10)
JFL_CPU(vec_relu_grad, .op = "relu_grad", .accepts = accepts, .run = relu_grad_run, .priority = 10)
JFL_CPU(vec_add, .op = "add", .accepts = accepts, .run = add_run, .priority = 10)
JFL_CPU(vec_subtract, .op = "subtract", .accepts = accepts, .run = subtract_run, .priority = 10)
JFL_CPU(vec_multiply, .op = "multiply", .accepts = accepts, .run = multiply_run, .priority = 10)

/* ---- cast ---- */

typedef struct bytes { const uint8_t *x; float *y; int64_t n; } bytes;

JF_BODY void widen_body(void *ctx, int i)
{
  const bytes *b = ctx;
  const int64_t to = jf_to(i, JF_PART, b->n);
  for (int64_t j = jf_from(i, JF_PART); j < to; j++) b->y[j] = b->x[j];
}
JF_VARIANTS(widen)

static int accepts_widen(const jf_kargs *k)
{
  return k->in[0].dtype == JFL_U8 && k->out[0].dtype == JFL_F32;
}

static jfl_status widen_run(const jf_kargs *k)
{
  bytes b = { k->in[0].data, k->out[0].data, jf_numel(&k->out[0].shape) };
  jf_run_parts(k, jf_parts(b.n, JF_PART), widen(), &b);
  return JFL_OK;
}

JFL_CPU(vec_cast_u8_f32, .op = "cast", .accepts = accepts_widen, .run = widen_run, .priority = 10)
