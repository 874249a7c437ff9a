/* What follows a product that a library made: bias, residual and activation, in place. A thread
   works on lines of up to 16 bytes, which neighbours read side by side. */
#ifndef JF_DEVICE
#include "finish.h"
#include "formula.h"
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

#else

extern const char jf_cuda_text_finish[];

enum { FINISH_LINE = 16 };

jfl_status jf_finish_prepare(jf_kargs *k, const jf_epilogue *e)
{
  const jf_tensor *y = &k->out[0];
  const int64_t columns = y->shape.d[y->shape.n - 1];
  const int line = FINISH_LINE / (int)jfl_dtype_size(y->dtype);
  const int width = columns % line ? 1 : line;
  const finish_args a = { .n = jf_numel(&y->shape) / width, .across = columns / width };
  const jf_cuda_type types[] = { { "T", y->dtype }, { NULL, JFL_F32 } };
  jf_text define = { 0 };
  char *text;
  jf_text_add(&define, "#define Y %d\n#define BIAS %d\n#define RESIDUAL %d\n#define WIDTH %d\n",
              k->n_in, e->bias ? 2 : 0, e->residual ? 2 + (e->bias != 0) : 0, width);
  jfl_status s = jf_formula_act(&define, e->act, y->dtype);
  JF_TRY(jf_text_take(&define, &text));
  if (a.n > UINT32_MAX) s = JFL_ENOSYS;
  const jf_cuda_source source = { "finish", jf_cuda_text_finish, text };
  if (!s)
    s = jf_cuda_prepare(k, &source, types, "finish", jf_cuda_grid_of(k->device->state, a.n), &a,
                        sizeof a);
  jf_free(text);
  return s;
}

#endif
