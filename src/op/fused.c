/* The op fused: a program of elementwise ops and sums that the pass fuse makes. */
#include "op/fused.h"
#include "op/move.h"

/* Checks that the inputs are those for which the program was made. */
static jfl_status fused_infer(jf_infer *c)
{
  const jf_fused *f = c->attr;
  char s[JF_SHAPE_STR], t[JF_SHAPE_STR];
  if (!f->n_instr || c->n_in != f->n_in)
    return jf_fail(JFL_EINVAL, "takes %d inputs, got %d", f->n_in, c->n_in);
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i]->dtype != f->in[i].dtype || !jf_shape_eq(&c->in[i]->shape, &f->in[i].shape))
      return jf_fail(JFL_ESHAPE, "input %d must be %s %s, got %s %s", i + 1,
                     jfl_dtype_name(f->in[i].dtype), jf_shape_str(&f->in[i].shape, s),
                     jfl_dtype_name(c->in[i]->dtype), jf_shape_str(&c->in[i]->shape, t));
  c->n_out = f->n_out;
  for (int i = 0; i < f->n_out; i++) {
    c->dtype[i] = f->out[i].dtype;
    c->shape[i] = f->out[i].shape;
  }
  return JFL_OK;
}

/* fused_reader gives the last instruction that reads slot s, writer the one that writes it. */
static int fused_reader(const jf_fused *f, int s)
{
  int last = -1;
  for (int i = 0; i < f->n_instr; i++)
    for (int k = 0; k < f->instr[i].n_in; k++)
      if (f->instr[i].in[k] == s) last = i;
  return last;
}
static int writer(const jf_fused *f, int s)
{
  for (int i = 0; i < f->n_instr; i++)
    for (int k = 0; k < f->instr[i].n_out; k++)
      if (f->instr[i].out[k] == s) return i;
  return f->n_instr;
}

/* Output 0 may be written into the memory of an input of as many elements, provided that no later
   instruction than the one that writes it reads the input. */
static unsigned inplace(const jf_node *n)
{
  const jf_fused *f = n->attr;
  unsigned bits = 0, other = 0;
  int to = 0;
  while (f->slot[to].out != 0) to++;
  for (int s = 0; s < f->n_slot && f->slot[to].kind == JF_SLOT_EACH; s++) {
    const jf_fused_slot *slot = &f->slot[s];
    if (slot->in < 0 || slot->in >= JF_MAXIN) continue;
    const int fits = slot->kind == JF_SLOT_EACH && fused_reader(f, s) <= writer(f, to)
      && jfl_dtype_size(slot->dtype) == jfl_dtype_size(f->slot[to].dtype);
    *(fits ? &bits : &other) |= 1u << slot->in;
  }
  return bits & ~other;
}

static double fused_flop(const jf_kargs *k)
{
  const jf_fused *f = k->attr;
  double n = 0;
  for (int i = 0; i < f->n_instr; i++) n += f->instr[i].flop;
  return n;
}

static const char *title(const void *attr) { return ((const jf_fused *)attr)->title; }

_Static_assert(JF_FUSED_OUTS == 6, "outputs are named below");
JF_ATTRS(attrs,
  JF_FIELD(jf_fused, program, STR, NULL, "what is computed, t0 and on being the inputs"))

static int fused_draws(const void *attr)
{
  const jf_fused *f = attr;
  for (int i = 0; i < f->n_instr; i++)
    if (f->instr[i].op && f->instr[i].op->flags & JF_RANDOM) return 1;
  return 0;
}

JFL_OP(fused, .doc = "Elementwise ops and sums in one sweep over their inputs.",
  .in = {"x"}, .out = {"a", "b", "c", "d", "e", "f"}, .key = -1, JF_WITH(attrs, jf_fused),
  .flags = JF_VARIADIC | JF_OPTIONAL | JF_RANDOM | JF_INTERNAL | JF_HALVES, .inplace_of = inplace,
  .infer = fused_infer, .cpu = JF_KERNELS(JF_EVERY_DTYPE(jf_fused_plain)),
  .scratch = jf_fused_plain_scratch, .title = title, .flop = fused_flop, .draws = fused_draws)
