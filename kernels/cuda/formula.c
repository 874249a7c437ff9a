/* Source text of the GPU's elementwise kernels. For the program

       t2 = subtract(t0, t1); t3 = multiply(t2, t0)

   with an input that is broadcast the kernel's loop reads

       for (I i = ...; i < n; i += ...) {
         const I j0 = i % 768;
         const float t0 = jf_load(p0[i]);
         const float t1 = jf_load(p1[j0]);
         const float t2 = f0(t0, t1, 0);
         const float t3 = f1(t2, t0, 0);
         jf_store(&p2[i], t3);
       }

   where f0 and f1 are the formulas of subtract and multiply. */
#include "formula.h"

#include "base/walk.h"
#include "op/op.h"

#include <math.h>
#include <string.h>

typedef struct formula_type {
  const char *stored, *computed, *wrapping, *least, *most;
} formula_type;
static const formula_type types[JFL_N_DTYPE] = {
  [JFL_F32] = { "float", "float", "float", NULL, NULL },
  [JFL_F64] = { "double", "double", "double", NULL, NULL },
  [JFL_F16] = { "jf_f16", "float", "float", NULL, NULL },
  [JFL_BF16] = { "jf_bf16", "float", "float", NULL, NULL },
  [JFL_I8] = { "int8_t", "int8_t", "uint8_t", "INT8_MIN", "INT8_MAX" },
  [JFL_U8] = { "uint8_t", "uint8_t", "uint8_t", "0", "UINT8_MAX" },
  [JFL_I32] = { "int32_t", "int32_t", "uint32_t", "INT32_MIN", "INT32_MAX" },
  [JFL_I64] = { "int64_t", "int64_t", "uint64_t", "INT64_MIN", "INT64_MAX" },
};

const char *jf_cuda_stored(jfl_dtype t) { return types[t].stored; }
const char *jf_cuda_computed(jfl_dtype t) { return types[t].computed; }

/* ---- numbers ---- */

static void formula_number(jf_text *to, double v)
{
  if (v != v) jf_text_add(to, "(0.0 / 0.0)");
  else if (isinf(v)) jf_text_add(to, v < 0 ? "(-1.0 / 0.0)" : "(1.0 / 0.0)");
  else jf_text_add(to, "%.17g%s", v, v == floor(v) && fabs(v) < 1e15 ? ".0" : "");
}

/* The constant of a slot, as it is in the slot's dtype. */
static void formula_constant(jf_text *to, const jf_fused_slot *s)
{
  const formula_type *t = &types[s->dtype];
  _Alignas(8) char bytes[8];
  jf_fused_number(s, bytes);
  int64_t whole = 0;
  if (!t->least) {
    jf_text_add(to, "(%s)", t->computed);
    formula_number(to, s->number);
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
    formula_number(to, *(const double *)(const void *)((const char *)p->attr + a->off));
    jf_text_add(to, "; (void)%s;\n", a->name);
  }
}

/* The function that the op's formula calls, if it has one. */
static void formula_called(jf_text *to, const jf_instr *p, const formula_type *o, int number)
{
  const char *body = p->op->define[o->least != NULL];
  if (!body) return;
  jf_text_add(to, "JF_INLINE O g%d(T a%s) { %s }\n#define jf_%s g%d\n", number,
              p->n_in > 1 ? ", T b" : "", body, p->op->name, number);
}

static void formula_result(jf_text *to, const jf_fused *f, const jf_instr *p, int number, int out)
{
  static const char letters[] = "abc";
  const formula_type *o = &types[f->slot[p->out[out]].dtype];
  jf_text_add(to, "JF_INLINE %s f%d_%d(", o->computed, number, out);
  for (int i = 0; i < p->n_in; i++)
    jf_text_add(to, "const %s %c, ", types[f->slot[p->in[i]].dtype].computed, letters[i]);
  jf_text_add(to, "const double uniform)\n{\n  (void)uniform;\n");
  for (int i = 0; i < p->n_in; i++) jf_text_add(to, "  (void)%c;\n", letters[i]);
  formula_attributes(to, p);
  jf_text_add(to, "  return (%s)(%s);\n}\n", o->computed, out ? p->op->second : p->op->expr);
}

static void formula_instruction(jf_text *to, const jf_fused *f, int number)
{
  const jf_instr *p = &f->instr[number];
  const formula_type *t = &types[p->key], *o = &types[f->slot[p->out[0]].dtype];
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
  jf_text_add(to, "typedef %s A;\n", types[t].computed);
  if (!op) jf_text_add(to, "JF_INLINE A act(const A a) { return a; }\n");
  for (const jfl_op *const *o = jf_ops; op && *o; o++)
    if (!strcmp((*o)->name, op)) return formula_act_of(to, *o), JFL_OK;
  return op ? JFL_ENOSYS : JFL_OK;
}

/* ---- indices ---- */

typedef struct formula_space {
  jf_nest nest;
  int64_t step[JF_FORMULA_POINTERS][JFL_MAXDIM];
} formula_space;

static void formula_space_of(formula_space *s, const jf_fused *f)
{
  s->nest = (jf_nest){ .n = f->space.n, .n_op = f->n_slot, .step = s->step };
  memcpy(s->nest.d, f->space.d, sizeof s->nest.d);
  for (int i = 0; i < f->n_slot; i++) memcpy(s->step[i], f->slot[i].step, sizeof s->step[i]);
  for (int i = 0; i < f->n_slot; i++)
    if (f->slot[i].kind == JF_SLOT_EACH)
      jf_dense_steps(f->space.n, f->space.d, 1, s->step[i]);
  jf_nest_join(&s->nest, 0);
}

static int formula_broadcasts(const jf_fused *f)
{
  for (int i = 0; i < f->n_slot; i++)
    if (f->slot[i].kind == JF_SLOT_BROADCAST) return 1;
  return 0;
}

/* The index along each axis of the joined space. The outermost needs no remainder, so the source
   does not depend on its extent. */
static void formula_indices(jf_text *to, const formula_space *s)
{
  int64_t below = 1;
  for (int a = s->nest.n - 1; a >= 0; below *= s->nest.d[a--]) {
    jf_text_add(to, "    const I j%d = i", a);
    if (below > 1) jf_text_add(to, " / %lld", (long long)below);
    if (a > 0) jf_text_add(to, " %% %lld", (long long)s->nest.d[a]);
    jf_text_add(to, "; (void)j%d;\n", a);
  }
}

static void formula_element(jf_text *to, const jf_fused *f, const formula_space *s, int slot)
{
  const int each = f->slot[slot].kind == JF_SLOT_EACH;
  int any = each;
  if (each) jf_text_add(to, "i");
  for (int a = 0; a < s->nest.n; a++) {
    if (each || !s->step[slot][a]) continue;
    jf_text_add(to, "%s%lld * j%d", any++ ? " + " : "", (long long)s->step[slot][a], a);
  }
  if (!any) jf_text_add(to, "0");
}

/* ---- the kernel ---- */

static void formula_load(jf_text *to, const jf_fused *f, const formula_space *s)
{
  for (int i = 0; i < f->n_slot; i++) {
    const jf_fused_slot *slot = &f->slot[i];
    if (slot->kind == JF_SLOT_NUMBER) {
      jf_text_add(to, "    const %s t%d = ", types[slot->dtype].computed, i);
      formula_constant(to, slot);
      jf_text_add(to, ";\n");
    } else if (slot->in >= 0) {
      jf_text_add(to, "    const %s t%d = jf_load(p%d[", types[slot->dtype].computed, i, slot->in);
      formula_element(to, f, s, i);
      jf_text_add(to, "]);\n");
    }
  }
}

static void formula_compute(jf_text *to, const jf_fused *f)
{
  for (int i = 0; i < f->n_instr; i++) {
    const jf_instr *p = &f->instr[i];
    const int random = (p->op->flags & JF_RANDOM) != 0;
    if (random) jf_text_add(to, "    const double u%d = jf_uniform(random, i);\n", i);
    for (int o = 0; o < p->n_out; o++) {
      const jf_fused_slot *slot = &f->slot[p->out[o]];
      jf_text_add(to, "    const %s t%d = f%d_%d(", types[slot->dtype].computed, p->out[o], i, o);
      for (int k = 0; k < p->n_in; k++) jf_text_add(to, "t%d, ", p->in[k]);
      if (random) jf_text_add(to, "u%d);\n", i);
      else jf_text_add(to, "0);\n");
      /* A float of 16 bits is rounded where a program that is not fused would have stored it. */
      if (slot->out >= 0)
        jf_text_add(to, "    jf_store(&p%d[i], t%d);\n", f->n_in + slot->out, p->out[o]);
    }
  }
}

static int formula_draws(const jf_fused *f)
{
  for (int i = 0; i < f->n_instr; i++)
    if (f->instr[i].op->flags & JF_RANDOM) return 1;
  return 0;
}

void jf_formula_source(jf_text *to, const jf_fused *f)
{
  formula_space s;
  formula_space_of(&s, f);
  for (int i = 0; i < f->n_instr; i++) formula_instruction(to, f, i);
  const int wide = jf_numel(&f->space) > INT32_MAX / 2;
  jf_text_add(to, "typedef %s I;\nstruct args { int64_t n; uint64_t key; const jf_fault *fault; "
              "void *data[%d]; };\nJF_KERNEL fused(const args a)\n{\n", wide ? "int64_t" : "int32_t",
              JF_FORMULA_POINTERS);
  if (formula_draws(f))
    jf_text_add(to, "  const jf_random random = jf_random_with(a.key, a.fault);\n");
  for (int i = 0; i < f->n_in; i++)
    jf_text_add(to, "  const %s *p%d = (const %s *)a.data[%d];\n", types[f->in[i].dtype].stored, i,
                types[f->in[i].dtype].stored, i);
  for (int i = 0; i < f->n_out; i++)
    jf_text_add(to, "  %s *p%d = (%s *)a.data[%d];\n", types[f->out[i].dtype].stored, f->n_in + i,
                types[f->out[i].dtype].stored, f->n_in + i);
  jf_text_add(to, "  for (I i = (I)blockIdx.x * (I)blockDim.x + (I)threadIdx.x; i < (I)a.n;\n"
              "       i += (I)gridDim.x * (I)blockDim.x) {\n");
  if (formula_broadcasts(f)) formula_indices(to, &s);
  formula_load(to, f, &s);
  formula_compute(to, f);
  jf_text_add(to, "  }\n}\n");
}
