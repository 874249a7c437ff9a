/* Source text of the formulas in the records of ops: a function for each result of an instruction,
   and the constants and types that kernels made of them need. */
#include "formula.h"

#include "op/op.h"

#include <math.h>
#include <string.h>

/* ---- numbers ---- */

void jf_formula_number(jf_text *to, double v)
{
  if (v != v) jf_text_add(to, "(0.0 / 0.0)");
  else if (isinf(v)) jf_text_add(to, v < 0 ? "(-1.0 / 0.0)" : "(1.0 / 0.0)");
  else jf_text_add(to, "%.17g%s", v, v == floor(v) && fabs(v) < 1e15 ? ".0" : "");
}

void jf_formula_constant(jf_text *to, const jf_fused_slot *s)
{
  const jf_cuda_ctype *t = &jf_cuda_ctypes[s->dtype];
  _Alignas(8) char bytes[8];
  jf_fused_number(s, bytes);
  int64_t whole = 0;
  if (!t->least) {
    jf_text_add(to, "(%s)", t->computed);
    jf_formula_number(to, s->number);
    return;
  }
  if (s->dtype == JFL_I8) whole = *(int8_t *)bytes;
  else if (s->dtype == JFL_U8) whole = *(uint8_t *)bytes;
  else if (s->dtype == JFL_I32) memcpy(&whole, bytes, 4), whole = (int32_t)whole;
  else memcpy(&whole, bytes, 8);
  if (whole == INT64_MIN) jf_text_add(to, "INT64_MIN");
  else jf_text_add(to, "(%s)%lldLL", t->computed, (long long)whole);
}

/* ---- one instruction as a function ---- */

static void formula_attributes(jf_text *to, const jf_instr *p)
{
  for (const jf_attr *a = p->op->attr; a && a->name; a++) {
    if (a->type != JF_ATTR_NUM) continue;
    jf_text_add(to, "  const double %s = ", a->name);
    jf_formula_number(to, *(const double *)(const void *)((const char *)p->attr + a->off));
    jf_text_add(to, "; (void)%s;\n", a->name);
  }
}

/* The function that the op's formula calls, if it has one. */
static void formula_called(jf_text *to, const jf_instr *p, const jf_cuda_ctype *o, int number)
{
  const char *body = p->op->define[o->least != NULL];
  if (!body) return;
  jf_text_add(to, "JF_INLINE O g%d(T a%s) { %s }\n#define jf_%s g%d\n", number,
              p->n_in > 1 ? ", T b" : "", body, p->op->name, number);
}

static void formula_result(jf_text *to, const jf_fused *f, const jf_instr *p, int number, int out)
{
  static const char letters[] = "abc";
  const jf_cuda_ctype *o = &jf_cuda_ctypes[f->slot[p->out[out]].dtype];
  jf_text_add(to, "JF_INLINE %s f%d_%d(", o->computed, number, out);
  for (int i = 0; i < p->n_in; i++)
    jf_text_add(to, "const %s %c, ", jf_cuda_ctypes[f->slot[p->in[i]].dtype].computed, letters[i]);
  jf_text_add(to, "const double uniform)\n{\n  (void)uniform;\n");
  for (int i = 0; i < p->n_in; i++) jf_text_add(to, "  (void)%c;\n", letters[i]);
  formula_attributes(to, p);
  jf_text_add(to, "  return (%s)(%s);\n}\n", o->computed, out ? p->op->second : p->op->expr);
}

void jf_formula_instruction(jf_text *to, const jf_fused *f, int number)
{
  const jf_instr *p = &f->instr[number];
  const jf_cuda_ctype *t = &jf_cuda_ctypes[p->key], *o = &jf_cuda_ctypes[f->slot[p->out[0]].dtype];
  jf_text_add(to, "#define T %s\n#define U %s\n#define O %s\n", t->computed, t->wrapping,
              o->computed);
  if (o->least) jf_text_add(to, "#define LEAST %s\n#define MOST %s\n", o->least, o->most);
  formula_called(to, p, o, number);
  for (int i = 0; i < p->n_out; i++) formula_result(to, f, p, number, i);
  jf_text_add(to, "#undef T\n#undef U\n#undef O\n#undef LEAST\n#undef MOST\n#undef jf_%s\n",
              p->op->name);
}

static void formula_act_of(jf_text *to, const jfl_op *op)
{
  jf_text_add(to, "#define T A\n#define U A\n#define O A\n");
  if (op->define[0])
    jf_text_add(to, "JF_INLINE O act_inner(T a) { %s }\n#define jf_%s act_inner\n", op->define[0],
                op->name);
  jf_text_add(to, "JF_INLINE O act(const T a) { return (O)(%s); }\n#undef T\n#undef U\n#undef O\n"
              "#undef jf_%s\n", op->expr, op->name);
}

jfl_status jf_formula_act(jf_text *to, const char *op, jfl_dtype t)
{
  jf_text_add(to, "typedef %s A;\n", jf_cuda_ctypes[t].computed);
  if (!op) jf_text_add(to, "JF_INLINE A act(const A a) { return a; }\n");
  for (const jfl_op *const *o = jf_ops; op && *o; o++)
    if (!strcmp((*o)->name, op)) return formula_act_of(to, *o), JFL_OK;
  return op ? JFL_ENOSYS : JFL_OK;
}
