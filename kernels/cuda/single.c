/* Runs fused programs, and single elementwise ops and sums as programs of one instruction. */
#include "op/attrs.h"
#include "op/op.h"
#include "op/reduce.h"
#include "program.h"

static jfl_status fused_make(jf_kargs *k, const jf_fused *f)
{
  jf_program *p;
  JF_TRY(jf_program_new(k, f, &p));
  k->state = p;
  return JFL_OK;
}

static jfl_status cuda_fused_prepare(jf_kargs *k)
{
  return fused_make(k, k->attr);
}

static jfl_status cuda_fused_run(const jf_kargs *k)
{
  void *data[JF_CUT_SLOTS];
  if (!k->state) return JFL_OK;
  for (int i = 0; i < k->n_in; i++) data[i] = k->in[i].data;
  for (int i = 0; i < k->n_out; i++) data[k->n_in + i] = k->out[i].data;
  return jf_program_run(k->state, k, data, k->n_in + k->n_out);
}

JFL_CUDA(cuda_fused, .op = "fused", .prepare = cuda_fused_prepare, .run = cuda_fused_run,
  .release = jf_free)

static int single_fits(const struct jf_fused *f)
{
  jf_cut c;
  return jf_cut_make(&c, f) && !jf_cut_wastes(&c);
}

const jf_fused_limits jf_cuda_fused_limits = {
  .slots = JF_CUT_SLOTS, .instrs = 32, .outputs = JF_FUSED_OUTS, .row = 1 << 14, .sums = 1 << 15,
  .expands = 1, .fits = single_fits
};

/* ---- a single op ---- */

/* The op whose formula a call computes. */
static const jfl_op *each_op(const jf_kargs *k) { return k->op->line ? k->op->line->op : k->op; }

/* Any elementwise op whose dtypes it serves. */
static int each_accepts(const jf_kargs *k)
{
  const jfl_op *op = each_op(k);
  return op->expr && op->loop && op->loop[jf_call_key(op, k)] && k->n_in <= 3 && k->n_out <= 2;
}

/* A program of one instruction, with what it consists of. */
typedef struct each_program {
  jf_fused f;
  jf_fused_slot slot[5];
  jf_instr instr;
  jf_fused_arg in[3];
} each_program;

/* The axis along which the second input of such an op lies. */
static int each_axis(const jf_kargs *k)
{
  return *(const int *)(const void *)((const char *)k->attr + k->op->line->axis);
}

static void each_input(each_program *p, const jf_kargs *k, int i)
{
  const jf_tensor *x = &k->in[i];
  jf_fused_slot *s = &p->slot[i];
  const int whole = jf_shape_eq(&x->shape, &k->out[0].shape);
  *s = (jf_fused_slot){ .kind = whole ? JF_SLOT_EACH : JF_SLOT_BROADCAST, .dtype = x->dtype,
                        .in = i, .out = -1 };
  if (i == 1 && k->op->line)
    s->kind = JF_SLOT_BROADCAST, s->step[each_axis(k)] = 1;
  else if (!whole)
    jf_broadcast_steps(&x->shape, &k->out[0].shape, 1, s->step);
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
  const jfl_op *op = each_op(k);
  *p = (each_program){ .instr = { .name = op->name, .op = op, .key = jf_call_key(op, k),
                                  .attr = k->attr, .shape = k->out[0].shape, .n_in = k->n_in,
                                  .n_out = k->n_out } };
  for (int i = 0; i < k->n_in; i++) each_input(p, k, i);
  for (int i = 0; i < k->n_out; i++) each_output(p, k, i);
  p->f = (jf_fused){ .program = k->op->name, .title = k->op->name, .space = k->out[0].shape,
                     .n_slot = k->n_in + k->n_out, .n_instr = 1, .n_in = k->n_in,
                     .n_out = k->n_out, .slot = p->slot, .instr = &p->instr, .in = p->in,
                     .out = { p->f.out[0], p->f.out[1] } };
}

static jfl_status each_prepare(jf_kargs *k)
{
  each_program p;
  each_program_of(&p, k);
  return fused_make(k, &p.f);
}

JFL_CUDA(cuda_each, .accepts = each_accepts, .prepare = each_prepare, .run = cuda_fused_run,
  .release = jf_free, .priority = JF_LAST)

/* ---- sums and means ---- */

static int sum_accepts(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  return t == JFL_F32 || t == JFL_F64 || t == JFL_I32 || t == JFL_I64;
}

/* The steps of the result along the axes of x; gives how many elements become one. */
static int64_t sum_steps(const jf_kargs *k, int64_t *step)
{
  const jf_ints *axis = &((const jf_reduce *)k->attr)->axis;
  const jfl_shape *s = &k->in[0].shape;
  int64_t size = 1;
  int64_t count = 1;
  for (int i = s->n - 1, j = axis->n - 1; i >= 0; i--) {
    const int gone = j >= 0 && axis->v[j] == i;
    step[i] = gone ? 0 : size;
    j -= gone;
    if (gone) count *= s->d[i];
    else size *= s->d[i];
  }
  return count;
}

static jfl_status sum_prepare(jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  int64_t step[JFL_MAXDIM] = { 0 };
  const int64_t gone = sum_steps(k, step);
  const double count = k->op->flags & JF_MEANS ? (double)jf_mean_count(k->attr, gone) : 1;
  jf_recipe r;
  jf_cut c;
  if (!jf_numel(&k->out[0].shape)) return JFL_OK;
  jf_recipe_begin(&r, k->op->name, &k->in[0].shape, 0);
  const int x = jf_recipe_in(&r, 0, t, JF_SLOT_EACH, NULL);
  jf_recipe_sum(&r, x, step, t, count, 1);
  if (!jf_cut_make(&c, &r.f) || jf_cut_wastes(&c)) return JFL_ENOSYS;
  return fused_make(k, &r.f);
}

JFL_CUDA(cuda_sum, .op = "reduce_sum reduce_mean", .accepts = sum_accepts, .prepare = sum_prepare,
  .run = cuda_fused_run, .release = jf_free, .priority = JF_OWN_FIRST)
