/* What follows a product that a library made: bias, residual and activation in place, or the step
   along it. A thread works on lines of up to 16 bytes, which neighbours read side by side. */
#ifndef JF_DEVICE
#include "finish.h"
#include "formula.h"
#include "optim/matmul_update.h"
#endif

/* n lines, `across` in a row. */
typedef struct finish_args { struct jf_cuda_head head; int64_t n, across; } finish_args;

#ifdef JF_DEVICE

/* The source is given T, the elements' type; A, that in which act works; WIDTH, the elements of a
   line; Y, the result's place in data; BIAS and RESIDUAL, their places or 0; and act(a). */
struct alignas(sizeof(T) * WIDTH) finish_line { T v[WIDTH]; };

JF_KERNEL finish(const finish_args p)
{
  finish_line *y = (finish_line *)p.head.data[Y];
  JF_EACH(i, p.n) {
    finish_line to = y[i], bias = to, residual = to;
    if (BIAS) bias = ((const finish_line *)p.head.data[BIAS])[(uint32_t)i % (uint32_t)p.across];
    if (RESIDUAL) residual = ((const finish_line *)p.head.data[RESIDUAL])[i];
    for (int j = 0; j < WIDTH; j++) {
      A v = jf_load(to.v[j]);
      if (BIAS) v += (A)jf_load(bias.v[j]);
      if (RESIDUAL) v += (A)jf_load(residual.v[j]);
      jf_store(&to.v[j], act(v));
    }
    y[i] = to;
  }
}

/* Elements 0 and 1 of the numbers of a step are named by SCALE and RATE; the parameter is the first
   input, those numbers the fourth, and the product is in scratch. */
JF_KERNEL step(const finish_args p)
{
  finish_line *w = (finish_line *)p.head.data[0];
  const double *scalar = (const double *)p.head.data[3];
  if (jf_halted(p.head)) return;
  const A rate = (A)(scalar[RATE] * scalar[SCALE]);
  JF_EACH(i, p.n) {
    const finish_line g = ((const finish_line *)p.head.data[4])[i];
    finish_line to = w[i];
    for (int j = 0; j < WIDTH; j++)
      jf_store(&to.v[j], (A)((A)jf_load(to.v[j]) - rate * (A)jf_load(g.v[j])));
    w[i] = to;
  }
}

#else

extern const char jf_cuda_text_finish[];

enum { FINISH_LINE = 16 };

/* Prepares kernel `name` for the elements of y, given what its source is told of its tensors. */
static jfl_status finish_make(jf_kargs *k, const char *name, const char *act, const jf_tensor *y,
                              jf_text *define)
{
  const int64_t columns = y->shape.d[y->shape.n - 1];
  const int line = FINISH_LINE / (int)jfl_dtype_size(y->dtype);
  const int width = columns % line ? 1 : line;
  const finish_args a = { .n = jf_numel(&y->shape) / width, .across = columns / width };
  const jf_cuda_type types[] = { { "T", y->dtype }, { NULL, JFL_F32 } };
  char *text;
  jf_text_add(define, "#define WIDTH %d\n#define RATE %d\n#define SCALE %d\n", width, JF_RATE,
              JF_SCALE);
  jfl_status s = jf_formula_act(define, act, y->dtype);
  JF_TRY(jf_text_take(define, &text));
  if (!s && a.n > UINT32_MAX) s = JFL_ENOSYS;
  const jf_cuda_source source = { "finish", jf_cuda_text_finish, text };
  if (!s)
    s = jf_cuda_prepare(k, &source, types, name, jf_cuda_grid_of(k->device->state, a.n), &a,
                        sizeof a);
  jf_free(text);
  return s;
}

jfl_status jf_finish_prepare(jf_kargs *k, const jf_epilogue *e)
{
  jf_text define = { 0 };
  jf_text_add(&define, "#define Y %d\n#define BIAS %d\n#define RESIDUAL %d\n", k->n_in,
              e->bias ? 2 : 0, e->residual ? 2 + (e->bias != 0) : 0);
  return finish_make(k, "finish", e->act, &k->out[0], &define);
}

jfl_status jf_finish_prepare_step(jf_kargs *k)
{
  jf_text define = { 0 };
  jf_text_add(&define, "#define Y 0\n#define BIAS 0\n#define RESIDUAL 0\n");
  return finish_make(k, "step", NULL, &k->in[JF_STEP_PARAM], &define);
}

#endif
