/* Makes programs by hand, for kernels that several of them make up. */
#include "program.h"

#include "op/cast.h"
#include "op/op.h"

#include <string.h>

void jf_recipe_begin(jf_recipe *r, const char *title, const jfl_shape *space, int64_t row)
{
  memset(r, 0, sizeof *r);
  r->f = (jf_fused){ .program = title, .title = title, .space = *space, .row = row,
                     .slot = r->slot, .instr = r->instr, .in = r->in };
}

static int recipe_slot(jf_recipe *r, jf_slot_kind kind, jfl_dtype t)
{
  r->slot[r->f.n_slot] = (jf_fused_slot){ .kind = kind, .dtype = t, .in = -1, .out = -1 };
  return r->f.n_slot++;
}

int jf_recipe_in(jf_recipe *r, int from, jfl_dtype t, jf_slot_kind kind, const int64_t *step)
{
  const int s = recipe_slot(r, kind, t);
  if (kind == JF_SLOT_BROADCAST)
    memcpy(r->slot[s].step, step, (size_t)r->f.space.n * sizeof *step);
  r->slot[s].in = r->f.n_in;
  r->in[r->f.n_in].dtype = t;
  r->from[r->f.n_in++] = from;
  return s;
}

int jf_recipe_number(jf_recipe *r, jfl_dtype t, double v)
{
  const int s = recipe_slot(r, JF_SLOT_NUMBER, t);
  r->slot[s].number = v;
  return s;
}

static jf_instr *recipe_instr(jf_recipe *r, const jfl_op *op, jfl_dtype key, int out)
{
  jf_instr *p = &r->instr[r->f.n_instr++];
  *p = (jf_instr){ .name = op->name, .op = op, .key = key, .n_out = 1, .out = { out }, .count = 1 };
  return p;
}

static int recipe_is_of_row(const jf_recipe *r, int s)
{
  return s < 0 || r->slot[s].kind == JF_SLOT_ROW || r->slot[s].kind == JF_SLOT_NUMBER;
}

int jf_recipe_op(jf_recipe *r, const jfl_op *op, int a, int b)
{
  const jfl_dtype t = r->slot[a].dtype;
  const int by_row = recipe_is_of_row(r, a) && recipe_is_of_row(r, b);
  const int out = recipe_slot(r, by_row ? JF_SLOT_ROW : JF_SLOT_EACH, t);
  jf_instr *p = recipe_instr(r, op, t, out);
  p->n_in = b < 0 ? 1 : 2;
  p->in[0] = a;
  p->in[1] = b;
  return out;
}

int jf_recipe_cast(jf_recipe *r, int a, jfl_dtype t)
{
  static const jf_cast as[JFL_N_DTYPE] = { [JFL_F32] = { JFL_F32 }, [JFL_F64] = { JFL_F64 },
                                          [JFL_BF16] = { JFL_BF16 } };
  if (r->slot[a].dtype == t) return a;
  const int out = recipe_slot(r, JF_SLOT_EACH, t);
  jf_instr *p = recipe_instr(r, &jf_op_cast, r->slot[a].dtype, out);
  p->attr = &as[t];
  p->n_in = 1;
  p->in[0] = a;
  return out;
}

int jf_recipe_row_mean(jf_recipe *r, int a)
{
  const int out = recipe_slot(r, JF_SLOT_ROW, r->slot[a].dtype);
  jf_instr *p = recipe_instr(r, &jf_op_reduce_mean, r->slot[a].dtype, out);
  p->n_in = 1;
  p->in[0] = a;
  p->count = (double)r->f.row;
  return out;
}

void jf_recipe_sum(jf_recipe *r, int a, const int64_t *step, jfl_dtype t, double count, int to)
{
  const int out = recipe_slot(r, JF_SLOT_SUM, t);
  jf_instr *p = recipe_instr(r, &jf_op_reduce_sum, r->slot[a].dtype, out);
  memcpy(r->slot[out].step, step, (size_t)r->f.space.n * sizeof *step);
  p->n_in = 1;
  p->in[0] = a;
  p->count = count;
  jf_recipe_out(r, out, to);
}

void jf_recipe_out(jf_recipe *r, int a, int to)
{
  r->slot[a].out = r->f.n_out;
  r->f.out[r->f.n_out].dtype = r->slot[a].dtype;
  r->to[r->f.n_out++] = to;
}

/* ---- lists ---- */

jfl_status jf_recipes_add(jf_recipes *l, jf_kargs *k, const jf_recipe *r)
{
  int n = 0;
  JF_TRY(jf_program_new(k, &r->f, &l->program[l->n]));
  for (int i = 0; i < r->f.n_in; i++) l->tensor[l->n][n++] = r->from[i];
  for (int i = 0; i < r->f.n_out; i++) l->tensor[l->n][n++] = r->to[i];
  l->n_data[l->n++] = n;
  return JFL_OK;
}

static void *recipes_data(const jf_recipes *l, const jf_kargs *k, int tensor)
{
  if (tensor >= JF_RECIPE_OWN) return (char *)k->scratch + l->at[tensor - JF_RECIPE_OWN];
  return tensor < k->n_in ? k->in[tensor].data : k->out[tensor - k->n_in].data;
}

jfl_status jf_recipes_run(const jf_kargs *k)
{
  const jf_recipes *l = k->state;
  void *data[JF_RECIPE_ARGS + JF_FUSED_OUTS];
  for (int i = 0; i < l->n; i++) {
    for (int j = 0; j < l->n_data[i]; j++) data[j] = recipes_data(l, k, l->tensor[i][j]);
    JF_TRY(jf_program_run(l->program[i], k, data, l->n_data[i]));
  }
  return JFL_OK;
}

void jf_recipes_free(void *list)
{
  jf_recipes *l = list;
  for (int i = 0; i < l->n; i++) jf_free(l->program[i]);
  jf_free(l);
}
