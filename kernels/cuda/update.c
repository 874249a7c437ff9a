/* Optimizer updates: a kernel made of the rule's formula, launched for each parameter. */
#include "formula.h"
#include "optim/optim.h"

#include <string.h>

/* The parameter of the kernel: the tensors of one parameter, then the numbers of the step. */
typedef struct cuda_update_args { jf_cuda_head head; int64_t n; } cuda_update_args;

static jfl_dtype update_slot_dtype(const jf_rule *r, int slot, jfl_dtype param)
{
  return r->slot[slot].dtype == JFL_N_DTYPE ? param : r->slot[slot].dtype;
}

/* Rules that measure a whole parameter first, and moving averages, are left to the host. */
static int cuda_update_accepts(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  const jf_rule *r = a->choice.rule;
  return !r->n_sum && !a->averages && JF_FIRST_SLOT + r->n_slot < JF_CUDA_POINTERS &&
         (k->in[0].dtype == JFL_F32 || k->in[0].dtype == JFL_F64);
}

static void update_source(jf_text *to, const jf_rule *r, jfl_dtype param)
{
  const char *type = jf_cuda_computed(param);
  const int numbers = JF_FIRST_SLOT + r->n_slot;
  jf_text_add(to, "typedef %s T;\nstruct update_args { jf_cuda_head head; int64_t n; };\n"
              "JF_KERNEL update(const update_args a)\n{\n"
              "  const double *scalar = (const double *)a.head.data[%d];\n"
              "  if (jf_halted(a.head) || scalar[%d] < 0) return;\n"
              "  const T scale_of_g = (T)scalar[%d], lr = (T)scalar[%d];\n  (void)lr;\n", type,
              numbers, JF_SCALE, JF_SCALE, JF_RATE);
  for (int i = 0; i < r->n_scalar; i++)
    jf_text_add(to, "  const T %s = (T)scalar[%d]; (void)%s;\n", r->scalar[i],
                JF_FIRST_SCALAR + i, r->scalar[i]);
  jf_text_add(to, "  JF_EACH(i, a.n) {\n    T w = ((T *)a.head.data[%d])[i];\n"
              "    const T g = ((const T *)a.head.data[%d])[i] * scale_of_g; (void)g;\n", JF_PARAM,
              JF_GRAD);
  for (int i = 0; i < r->n_slot; i++) {
    const char *slot = jf_cuda_computed(update_slot_dtype(r, i, param));
    jf_text_add(to, "    %s %s = ((%s *)a.head.data[%d])[i];\n", slot, r->slot[i].name, slot,
                JF_FIRST_SLOT + i);
  }
  jf_text_add(to, "    %s;\n    ((T *)a.head.data[%d])[i] = w;\n", r->formula, JF_PARAM);
  for (int i = 0; i < r->n_slot; i++)
    jf_text_add(to, "    ((%s *)a.head.data[%d])[i] = %s;\n",
                jf_cuda_computed(update_slot_dtype(r, i, param)), JF_FIRST_SLOT + i,
                r->slot[i].name);
  jf_text_add(to, "  }\n}\n");
}

static jfl_status cuda_update_prepare(jf_kargs *k, size_t *scratch)
{
  const jf_update *a = k->attr;
  jf_cu_function **function = jf_new(sizeof *function);
  jf_text text = { 0 };
  char *source;
  (void)scratch;
  if (!function) return jf_fail(JFL_ENOMEM, "out of memory");
  update_source(&text, a->choice.rule, k->in[0].dtype);
  jfl_status s = jf_text_take(&text, &source);
  if (!s) {
    s = jf_cuda_function(k->device->state, &(jf_cuda_source){ "update", source, NULL }, "update",
                         function);
    jf_free(source);
  }
  if (s) jf_free(function);
  else k->state = function;
  return s;
}

static jfl_status cuda_update_run(const jf_kargs *k)
{
  const jf_update *a = k->attr;
  const int n_tensor = JF_FIRST_SLOT + a->choice.rule->n_slot;
  jf_cu_function **function = k->state;
  for (int i = 0; i < a->n; i++) {
    const jf_tensor *t = jf_update_tensors(k, i);
    cuda_update_args u = { .head = jf_cuda_head_of(k),
                           .n = jf_numel(&t->shape) };
    if (u.n == 0) continue;
    for (int j = 0; j < n_tensor; j++) u.head.data[j] = t[j].data;
    u.head.data[n_tensor] = k->in[k->n_in - 1].data;
    JF_TRY(jf_cuda_launch(k, *function, jf_cuda_grid_of(k->device->state, u.n), &u));
  }
  return JFL_OK;
}

JFL_CUDA(cuda_update, .op = "update", .accepts = cuda_update_accepts,
  .prepare = cuda_update_prepare, .run = cuda_update_run, .release = jf_free, .priority = 10)
