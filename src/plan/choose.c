/* Choosing the kernel for one call of an op. */
#include "dev/half.h"
#include "ir/brief.h"
#include "plan/plan.h"

#include <string.h>

static jfl_status run_nothing(const jf_kargs *k)
{
  (void)k;
  return JFL_OK;
}

/* The row of the highest priority below `below` that accepts the call, or NULL. */
static const jf_kernel_row *choose_next_row(const jf_device *dev, const jfl_op *op, int flags,
                                     const jf_kargs *k, int below)
{
  const jf_kernel_row *best = NULL;
  for (const jf_kernel_row *const *r = dev->kind->rows(); *r; r++) {
    if (((*r)->op && strcmp((*r)->op, op->name)) || (*r)->priority >= below) continue;
    if ((flags & JF_DIRECT) && (*r)->indirect) continue;
    if (best && (*r)->priority <= best->priority) continue;
    if (!(*r)->accepts || (*r)->accepts(k)) best = *r;
  }
  return best;
}

/* Prepares row r for the call. If it turns out that the row cannot serve, *out stays as it was. */
static jfl_status take_row(const jf_kernel_row *r, jf_kargs *k, size_t *scratch, jf_choice *out)
{
  k->state = NULL;
  *scratch = 0;
  jfl_status s = r->prepare ? r->prepare(k, scratch) : JFL_OK;
  if (!s) *out = (jf_choice){ r->run, r };
  return s == JFL_ENOSYS ? JFL_OK : s;
}

int jf_widens(const jfl_op *op, const jf_kargs *k)
{
  int any = 0;
  if (jf_is_brief(op, k->attr)) return 0;
  for (int i = 0; i < k->n_in; i++) any |= jf_is_half(k->in[i].dtype);
  for (int i = 0; i < k->n_out; i++) any |= jf_is_half(k->out[i].dtype);
  return any && jf_is_widened(op, jf_call_key(op, k));
}

static int choose_is_empty(const jf_tensor *t) { return jf_numel(&t->shape) == 0; }

/* Whether all outputs of the call are empty. */
static int has_no_result(const jfl_op *op, const jf_kargs *k)
{
  for (int i = 0; i < k->n_out; i++)
    if (!choose_is_empty(&k->out[i])) return 0;
  return k->n_out > 0 && !(op->flags & (JF_EFFECT | JF_TOGETHER));
}

static int has_empty_operand(const jf_kargs *k)
{
  for (int i = 0; i < k->n_in + k->n_out; i++)
    if (choose_is_empty(i < k->n_in ? &k->in[i] : &k->out[i - k->n_in])) return 1;
  return 0;
}

/* Whether rows of the device may serve the call. Rows that use libraries need not handle empty
   tensors; the plain kernel does, if there is one. Rows look at the dtype that is the key, so where
   only other tensors are of 16 bits, they would take them for what they are not. */
static int may_use_rows(const jf_device *dev, const jfl_op *op, int flags, const jf_kargs *k)
{
  if (!dev->kind->rows || (dev->kind->plain && flags & JF_REFERENCE)) return 0;
  if (jf_widens(op, k) && !jf_is_half(jf_call_key(op, k))) return 0;
  const int plain =
      dev->kind->plain && op->cpu && (op->cpu[jf_call_key(op, k)] || jf_widens(op, k));
  return !plain || !has_empty_operand(k);
}

jfl_status jf_choose_as_is(const jf_device *dev, const jfl_op *op, int flags, jf_kargs *k,
                           size_t *scratch, jf_choice *out)
{
  *scratch = 0;
  *out = (jf_choice){ NULL, NULL };
  k->threads = jf_worth_threads(op, k, k->threads);
  k->op = op;
  k->device = (jf_device *)dev;
  k->tf32 = flags & JF_TF32 && !(flags & JF_REFERENCE);
  if ((!dev->kind->rows && !dev->kind->plain) || has_no_result(op, k)) {
    *out = (jf_choice){ run_nothing, NULL };
    return JFL_OK;
  }
  const jf_kernel_row *r = NULL;
  int below = INT32_MAX;
  const int rows = may_use_rows(dev, op, flags, k);
  while (rows && (r = choose_next_row(dev, op, flags, k, below))) {
    JF_TRY(take_row(r, k, scratch, out));
    if (out->run) return JFL_OK;
    below = r->priority;
  }
  const jfl_dtype key = jf_call_key(op, k);
  if (!dev->kind->plain || !op->cpu || !op->cpu[key] || jf_widens(op, k)) return JFL_OK;
  *scratch = op->scratch ? op->scratch(k) : 0;
  *out = (jf_choice){ op->cpu[key], NULL };
  return JFL_OK;
}
