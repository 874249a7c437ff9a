/* Runs fused programs, and single elementwise ops as programs of one instruction. */
#include "formula.h"
#include "op/broadcast.h"
#include "op/op.h"

#include "base/walk.h"

#include <string.h>

/* A kernel that is ready to be launched. */
typedef struct fused_call { jf_cu_function *function; jf_cuda_grid grid; int64_t n; } fused_call;

static jfl_status fused_make(jf_kargs *k, const jf_fused *f)
{
  jf_cuda *c = k->device->state;
  jf_text text = { 0 };
  char *source;
  fused_call *call = jf_new(sizeof *call);
  if (!call) return jf_fail(JFL_ENOMEM, "out of memory");
  call->n = jf_numel(&f->space);
  call->grid = jf_cuda_grid_of(c, call->n);
  jf_formula_source(&text, f);
  jfl_status s = jf_text_take(&text, &source);
  if (!s) {
    s = jf_cuda_function(c, &(jf_cuda_source){ f->title, source, NULL }, "fused", &call->function);
    jf_free(source);
  }
  if (s) jf_free(call);
  else k->state = call;
  return s;
}

static jfl_status cuda_fused_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return fused_make(k, k->attr);
}

static jfl_status cuda_fused_run(const jf_kargs *k)
{
  const fused_call *call = k->state;
  jf_formula_args a = { .n = call->n, .key = k->random.key, .fault = k->fault };
  for (int i = 0; i < k->n_in; i++) a.data[i] = k->in[i].data;
  for (int i = 0; i < k->n_out; i++) a.data[k->n_in + i] = k->out[i].data;
  return jf_cuda_launch(k, call->function, call->grid, &a);
}

JFL_CUDA(cuda_fused, .op = "fused", .prepare = cuda_fused_prepare, .run = cuda_fused_run,
  .release = jf_free, .priority = 10)

/* Programs have no sums yet, so reductions are steps of their own. */
const jf_fused_limits jf_cuda_fused_limits = {
  .slots = JF_FORMULA_POINTERS, .instrs = 32, .outputs = JF_FUSED_OUTS, .row = 0, .sums = 0,
};

/* ---- a single op ---- */

/* Any elementwise op whose dtypes it serves. */
static int each_accepts(const jf_kargs *k)
{
  const jfl_op *op = k->op;
  return op->expr && op->loop && op->loop[jf_call_key(op, k)] && k->n_in <= 3 && k->n_out <= 2;
}

/* A program of one instruction, with what it consists of. */
typedef struct each_program {
  jf_fused f;
  jf_fused_slot slot[5];
  jf_instr instr;
  jf_fused_arg in[3];
} each_program;

static void each_input(each_program *p, const jf_kargs *k, int i)
{
  const jf_tensor *x = &k->in[i];
  jf_fused_slot *s = &p->slot[i];
  const int whole = jf_shape_eq(&x->shape, &k->out[0].shape);
  *s = (jf_fused_slot){ .kind = whole ? JF_SLOT_EACH : JF_SLOT_BROADCAST, .dtype = x->dtype,
                        .in = i, .out = -1 };
  if (!whole) jf_broadcast_steps(&x->shape, &k->out[0].shape, 1, s->step);
  p->in[i] = (jf_fused_arg){ x->dtype, x->shape };
  p->instr.in[i] = i;
}

static void each_output(each_program *p, const jf_kargs *k, int i)
{
  const int slot = k->n_in + i;
  p->slot[slot] = (jf_fused_slot){ .kind = JF_SLOT_EACH, .dtype = k->out[i].dtype, .in = -1,
                                   .out = i };
  p->f.out[i] = (jf_fused_arg){ k->out[i].dtype, k->out[i].shape };
  p->instr.out[i] = slot;
}

static void each_program_of(each_program *p, const jf_kargs *k)
{
  *p = (each_program){ .instr = { .name = k->op->name, .op = k->op, .key = jf_call_key(k->op, k),
                                  .attr = k->attr, .shape = k->out[0].shape, .n_in = k->n_in,
                                  .n_out = k->n_out } };
  for (int i = 0; i < k->n_in; i++) each_input(p, k, i);
  for (int i = 0; i < k->n_out; i++) each_output(p, k, i);
  p->f = (jf_fused){ .program = k->op->name, .title = k->op->name, .space = k->out[0].shape,
                     .n_slot = k->n_in + k->n_out, .n_instr = 1, .n_in = k->n_in,
                     .n_out = k->n_out, .slot = p->slot, .instr = &p->instr, .in = p->in,
                     .out = { p->f.out[0], p->f.out[1] } };
}

static jfl_status each_prepare(jf_kargs *k, size_t *scratch)
{
  each_program p;
  (void)scratch;
  each_program_of(&p, k);
  return fused_make(k, &p.f);
}

JFL_CUDA(cuda_each, .accepts = each_accepts, .prepare = each_prepare, .run = cuda_fused_run,
  .release = jf_free, .priority = 5)
