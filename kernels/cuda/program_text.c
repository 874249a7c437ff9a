/* Source text of the GPU's kernels for fused programs. For rows of 768 float32 and the program

       t2 = reduce_mean(t0); t3 = subtract(t0, t2); t4 = multiply(t3, t1); t5 = reduce_sum(t4)

   whose t2 is the mean of a row, t1 a line that is repeated and t5 a sum over all rows, the kernel
   is, but for names of constants,

       double s5[4] = { };
       for (I base = part * 1; base < lines; base += parts * 1) {
         const I line = base;
         float h0[4];
         float r2 = 0;
         // loop 0 over the line: group q of 4 elements is this thread's
         { jf_pack<float, 4> v0 = p0[line * 768 + q * 4 ...]
           for (int w = 0; w < 4; w++) { t0 = v0.v[w]; h0[w] = t0; r2 += t0; } }
         r2 = jf_line_sum<192>(r2);
         const float t2 = r2 / 768;
         // loop 1
         { for (int w = 0; w < 4; w++) { t0 = h0[w]; t3 = f1_0(t0, t2); ... s5[w] += t4; }
           p2[line * 768 + q * 4 ...] = v4; }
       }
       partial[part * 768 + q * 4 ...] = s5

   where f1_0 and so on are the formulas of the instructions. cut.h tells what the names mean. */
#include "cut.h"

#include "op/op.h"

#include <math.h>
#include <stdio.h>

typedef struct program {
  jf_text *to;
  const jf_cut *c;
  const jf_fused *f;
  int loop;                            /* which loop over a line is written */
  int n_number;                        /* how many numbers are arguments */
  jf_cut_values *is;
  unsigned char need[JF_CUT_SLOTS];    /* by slot: whether that loop needs it */
} program;

#define ADD(...) jf_text_add(p->to, __VA_ARGS__)

static const char *program_computed(const program *p, int s)
{
  return jf_cuda_ctypes[p->f->slot[s].dtype].computed;
}
/* The type in which slot s is added up. Few elements of a row may be added in float; partial sums
   would lose digits there. */
static const char *program_summed(const program *p, int s)
{
  const jfl_dtype t = p->f->slot[s].dtype;
  const int few = p->f->slot[s].kind == JF_SLOT_ROW && p->c->turns;
  if (!jf_is_float(t)) return "uint64_t";
  return few ? jf_cuda_ctypes[t].computed : "double";
}
/* The type of the elements of the input or output that slot s is. */
static const char *program_stored(const program *p, int s)
{
  return jf_cuda_ctypes[p->f->slot[s].dtype].stored;
}
/* The number of its pointer. */
static int program_pointer(const program *p, int s)
{
  const jf_fused_slot *slot = &p->f->slot[s];
  return slot->in >= 0 ? slot->in : p->f->n_in + slot->out;
}

/* ---- indices ---- */

/* Sets what divides numbers of 31 bits by the extent of an axis; nothing has an index along one
   without elements. */
static void program_axis_of(int64_t extent, jf_cut_axis *out)
{
  int log = 1;
  if (extent < 1) return;
  while (log < 31 && (int64_t)1 << log < extent) log++;
  const uint64_t power = (uint64_t)1 << (31 + log);
  *out = (jf_cut_axis){ extent, (uint32_t)((power + (uint64_t)extent - 1) / (uint64_t)extent),
                        (uint32_t)(log - 1) };
}

/* The index along each axis from `first` to `end` of the nest, of a place that is counted over all
   of them. The outermost needs no remainder. */
static void program_indices(program *p, int first, int end, const char *place)
{
  if (first == end) return;
  ADD("    const I e%d = %s; (void)e%d;\n", end, place, end);
  for (int a = end - 1; a > first; a--)
    ADD("    const I e%d = jf_over(e%d, a.is.axis[%d]), j%d = e%d - e%d * (I)a.is.axis[%d].extent;"
        " (void)j%d; (void)e%d;\n", a, a + 1, a, a, a + 1, a, a, a, a);
  ADD("    const I j%d = e%d; (void)j%d;\n", first, first + 1, first);
}

/* Writes the step of slot s along axis a. Arguments are counted over all slots and axes, so that
   their places do not depend on how large steps are. */
static void program_step(program *p, int s, int a)
{
  int place = 0;
  for (int i = 0; i <= s * JFL_MAXDIM + a; i++)
    place += p->c->step[i / JFL_MAXDIM][i % JFL_MAXDIM] > 1;
  const int64_t step = p->c->step[s][a];
  if (step <= 1 || place > JF_CUT_STEPS) {
    ADD("%lld", (long long)step);
    return;
  }
  p->is->step[place - 1] = step;
  ADD("(I)a.is.step[%d]", place - 1);
}

/* Where slot s, which is broadcast, has the element at the indices that are there. */
static void program_broadcast(program *p, int s)
{
  int any = 0;
  for (int a = 0; a < p->c->nest.n; a++) {
    if (!p->c->step[s][a]) continue;
    ADD("%s", any++ ? " + " : "");
    program_step(p, s, a);
    ADD(" * j%d", a);
  }
  if (!any) ADD("0");
}

/* ---- what is read ---- */

typedef enum program_access {
  ACCESS_NONE,          /* no memory, or none in loops over a line */
  ACCESS_LINE,          /* one element for a line */
  ACCESS_GROUP,         /* one element for a group */
  ACCESS_PACK,          /* a group side by side */
  ACCESS_ELEMENTS       /* elements that are apart */
} program_access;

static program_access program_access_of(const program *p, int s)
{
  const jf_fused_slot *slot = &p->f->slot[s];
  const jf_cut *c = p->c;
  const int last = c->nest.n - 1;
  int within = 0, aligned = 1;
  if (slot->in < 0) return ACCESS_NONE;
  if (slot->kind == JF_SLOT_EACH) return ACCESS_PACK;
  if (slot->kind == JF_SLOT_ROW) return ACCESS_LINE;
  for (int a = c->inner; a <= last; a++) within |= c->step[s][a] != 0;
  for (int a = 0; a < last; a++) aligned &= c->step[s][a] % c->vector == 0;
  if (!within) return ACCESS_LINE;
  if (c->step[s][last] == 0) return ACCESS_GROUP;
  return c->step[s][last] == 1 && aligned ? ACCESS_PACK : ACCESS_ELEMENTS;
}

static void program_line_loads(program *p)
{
  for (int s = 0; s < p->f->n_slot; s++) {
    if (program_access_of(p, s) != ACCESS_LINE) continue;
    ADD("    const %s t%d = jf_load(p%d[", program_computed(p, s), s, program_pointer(p, s));
    if (p->f->slot[s].kind == JF_SLOT_ROW) ADD("line");
    else program_broadcast(p, s);
    ADD("]); (void)t%d;\n", s);
  }
}

/* Whether this loop reads slot s from memory, or computes it. */
static int program_makes(const program *p, int s)
{
  return p->need[s] && !jf_cut_holds(p->c, s, p->loop);
}

static void program_group_loads(program *p)
{
  for (int s = 0; s < p->f->n_slot; s++) {
    const program_access access = program_makes(p, s) ? program_access_of(p, s) : ACCESS_NONE;
    const char *stored = program_stored(p, s);
    if (access == ACCESS_GROUP) {
      ADD("      const %s t%d = jf_load(p%d[", program_computed(p, s), s, program_pointer(p, s));
      program_broadcast(p, s);
      ADD("]);\n");
    } else if (access == ACCESS_ELEMENTS) {
      ADD("      const I b%d = ", s);
      program_broadcast(p, s);
      ADD(";\n");
    } else if (access == ACCESS_PACK) {
      ADD("      const jf_pack<%s, W> v%d = *(const jf_pack<%s, W> *)&p%d[", stored, s, stored,
          program_pointer(p, s));
      if (p->f->slot[s].kind == JF_SLOT_EACH) ADD("i");
      else program_broadcast(p, s);
      ADD("];\n");
    }
  }
}

static void program_element_loads(program *p)
{
  for (int s = 0; s < p->f->n_slot; s++) {
    const char *type = program_computed(p, s);
    if (!p->need[s]) continue;
    const program_access access = program_access_of(p, s);
    if (jf_cut_holds(p->c, s, p->loop))
      ADD("        const %s t%d = h%d[k * W + w];\n", type, s, s);
    else if (access == ACCESS_PACK)
      ADD("        const %s t%d = jf_load(v%d.v[w]);\n", type, s, s);
    else if (access == ACCESS_ELEMENTS) {
      ADD("        const %s t%d = jf_load(p%d[b%d + ", type, s, program_pointer(p, s), s);
      program_step(p, s, p->c->nest.n - 1);
      ADD(" * w]);\n");
    }
    if (access == ACCESS_PACK && p->c->held[s] && !jf_cut_holds(p->c, s, p->loop))
      ADD("        h%d[k * W + w] = t%d;\n", s, s);
  }
}

/* ---- what is computed ---- */

static int program_draws(const jf_instr *i) { return (i->op->flags & JF_RANDOM) != 0; }

/* Result `out` of instruction `number`. A float of 16 bits is rounded as if it were stored. */
static void program_result(program *p, int number, int out, const char *uniform)
{
  const jf_instr *i = &p->f->instr[number];
  const int s = i->out[out];
  const jfl_dtype t = p->f->slot[s].dtype;
  const int half = t == JFL_F16 || t == JFL_BF16;
  ADD("    const %s t%d = ", program_computed(p, s), s);
  if (half) ADD("jf_rounded<%s>(", program_stored(p, s));
  ADD("f%d_%d(", number, out);
  for (int k = 0; k < i->n_in; k++) ADD("t%d, ", i->in[k]);
  ADD("%s)%s;\n", program_draws(i) ? uniform : "0", half ? ")" : "");
}

/* Adds element t of slot `from` to the sum of slot s. */
static void program_add(program *p, int s, int from)
{
  const char *type = program_summed(p, s);
  if (p->c->sum[s] == JF_CUT_NO_SUM) {
    ADD("        r%d += (%s)t%d;\n", s, type, from);
    return;
  }
  ADD("        s%d%s += ", s, p->c->sum[s] == JF_CUT_COLUMNS ? "[k * W + w]" : "");
  if (p->c->down > 1) ADD("!on ? (%s)0 : ", type);
  ADD("(%s)t%d;\n", type, from);
}

/* The elements that this loop computes, from those of the slots that it needs. */
static void program_element(program *p)
{
  const int last = p->loop == p->c->loops - 1;
  program_element_loads(p);
  for (int n = 0; n < p->f->n_instr; n++) {
    const jf_instr *i = &p->f->instr[n];
    const jf_slot_kind kind = p->f->slot[i->out[0]].kind;
    for (int k = 0; k < i->n_out && kind == JF_SLOT_EACH; k++) {
      const int s = i->out[k];
      if (!program_makes(p, s)) continue;
      program_result(p, n, k, "u.v[w]");
      if (p->c->held[s]) ADD("        h%d[k * W + w] = t%d;\n", s, s);
    }
    const int sums = kind == JF_SLOT_SUM ? last : kind == JF_SLOT_ROW && jf_cut_adds(i)
                     && p->c->stage[i->in[0]] == p->loop;
    if (sums) program_add(p, i->out[0], i->in[0]);
  }
  for (int s = 0; s < p->f->n_slot && last; s++)
    if (p->f->slot[s].kind == JF_SLOT_EACH && p->f->slot[s].out >= 0)
      ADD("        jf_store(&o%d.v[w], t%d);\n", s, s);
}

/* ---- a loop over a line ---- */

static void program_group_stores(program *p, int declare)
{
  if (p->loop != p->c->loops - 1) return;
  for (int s = 0; s < p->f->n_slot; s++) {
    const char *stored = program_stored(p, s);
    if (p->f->slot[s].kind != JF_SLOT_EACH || p->f->slot[s].out < 0) continue;
    if (declare) ADD("      jf_pack<%s, W> o%d;\n", stored, s);
    else ADD("      %s*(jf_pack<%s, W> *)&p%d[i] = o%d;\n", p->c->down > 1 ? "if (on) " : "",
             stored, program_pointer(p, s), s);
  }
}

static int program_draws_each(const program *p)
{
  for (int n = 0; n < p->f->n_instr; n++) {
    const jf_instr *i = &p->f->instr[n];
    for (int k = 0; k < i->n_out && program_draws(i); k++)
      if (p->f->slot[i->out[k]].kind == JF_SLOT_EACH && program_makes(p, i->out[k])) return 1;
  }
  return 0;
}

static void program_loop(program *p)
{
  const jf_cut *c = p->c;
  jf_cut_needs(c, p->loop, p->need);
  if (c->turns) {
    ADD("#pragma unroll\n    for (int k = 0; k < %d; k++) {\n"
        "      const I q = (tile * %d + k) * %d + x;\n      if (q >= groups) break;\n", c->turns,
        c->turns, c->across);
  } else {
    ADD("    for (I q = tile * %d + x; q < groups; q += tiles * %d) {\n", c->across, c->across);
  }
  ADD("      const I at = q * W, i = %s; (void)i;\n",
      c->inner > 0 ? "line * groups * W + at" : "at");
  program_indices(p, c->inner, c->nest.n, "at");
  if (program_draws_each(p)) ADD("      const jf_draws<W> u(random, i);\n");
  program_group_loads(p);
  program_group_stores(p, 1);
  ADD("#pragma unroll\n      for (int w = 0; w < W; w++) {\n");
  program_element(p);
  ADD("      }\n");
  program_group_stores(p, 0);
  ADD("    }\n");
}

/* ---- a line ---- */

/* The instructions that have one element for each row and can be done before a loop. */
static void program_by_row(program *p)
{
  for (int n = 0; n < p->f->n_instr; n++) {
    const jf_instr *i = &p->f->instr[n];
    if (p->f->slot[i->out[0]].kind != JF_SLOT_ROW || jf_cut_adds(i)
        || p->c->stage[i->out[0]] != p->loop) continue;
    for (int k = 0; k < i->n_out; k++) {
      program_result(p, n, k, "jf_uniform(random, line)");
      ADD("    (void)t%d;\n", i->out[k]);
    }
  }
}

/* The sums of rows that this loop adds up: at first zero, and at its end complete. */
static void program_row_sums(program *p, int declare)
{
  for (int n = 0; n < p->f->n_instr; n++) {
    const jf_instr *i = &p->f->instr[n];
    const int s = i->out[0];
    if (p->f->slot[s].kind != JF_SLOT_ROW || !jf_cut_adds(i) || p->c->stage[i->in[0]] != p->loop)
      continue;
    if (declare) {
      ADD("    %s r%d = 0;\n", program_summed(p, s), s);
      continue;
    }
    ADD("    const %s t%d = (%s)(jf_line_sum<%d>(r%d)", program_computed(p, s), s,
        program_computed(p, s), p->c->across, s);
    if (i->count != 1) {
      ADD(" / (%s)", program_summed(p, s));
      jf_formula_number(p->to, i->count);
    }
    ADD("); (void)t%d;\n", s);
  }
}

/* Rows' results, and the partial sums of this line. */
static void program_line_stores(program *p)
{
  const char *first = p->c->down > 1 ? "on && x == 0" : "x == 0";
  int gather = 0;
  for (int s = 0; s < p->f->n_slot; s++) {
    const jf_fused_slot *slot = &p->f->slot[s];
    if (slot->kind == JF_SLOT_ROW && slot->out >= 0)
      ADD("    if (%s) jf_store(&p%d[line], t%d);\n", first, program_pointer(p, s), s);
    if (p->c->sum[s] == JF_CUT_LINES)
      ADD("    s%d = jf_line_sum<%d>(s%d);\n    if (%s) ((%s *)a.gather[%d].from)"
          "[line * tiles + tile] = s%d;\n", s, p->c->across, s, first, program_summed(p, s), gather,
          s);
    gather += p->c->sum[s] != JF_CUT_NO_SUM;
  }
}

static void program_lines(program *p)
{
  const jf_cut *c = p->c;
  ADD("  for (I base = part * %d; base < lines; base += parts * %d) {\n", c->down, c->down);
  if (c->down > 1)
    ADD("    const int on = base + y < lines; (void)on;\n"
        "    const I line = on ? base + y : lines - 1; (void)line;\n");
  else
    ADD("    const I line = base; (void)line;\n");
  program_indices(p, 0, c->inner, "line");
  program_line_loads(p);
  for (int s = 0; s < p->f->n_slot; s++) {
    if (c->held[s]) ADD("    %s h%d[%d];\n", program_computed(p, s), s, c->turns * c->vector);
    if (c->sum[s] == JF_CUT_LINES) ADD("    %s s%d = 0;\n", program_summed(p, s), s);
  }
  for (p->loop = 0; p->loop < c->loops; p->loop++) {
    program_by_row(p);
    program_row_sums(p, 1);
    program_loop(p);
    program_row_sums(p, 0);
  }
  program_by_row(p);
  program_line_stores(p);
  ADD("  }\n");
}

/* ---- the kernels ---- */

static int program_draws_any(const program *p)
{
  for (int n = 0; n < p->f->n_instr; n++)
    if (program_draws(&p->f->instr[n])) return 1;
  return 0;
}

/* Whether the kernel that reads the inputs has to do with that pointer: only the other one writes
   sums that are gathered. */
static int program_points(const program *p, int i)
{
  const int out = i - p->f->n_in;
  for (int s = 0; s < p->f->n_slot; s++)
    if (out >= 0 && p->f->slot[s].out == out && p->f->slot[s].kind == JF_SLOT_SUM) return 0;
  return 1;
}

static void program_pointers(program *p)
{
  for (int i = 0; i < p->f->n_in + p->f->n_out; i++) {
    const int out = i - p->f->n_in;
    const jfl_dtype t = out < 0 ? p->f->in[i].dtype : p->f->out[out].dtype;
    const char *type = jf_cuda_ctypes[t].stored, *fixed = out < 0 ? "const " : "";
    if (program_points(p, i))
      ADD("  %s%s *p%d = (%s%s *)a.data[%d]; (void)p%d;\n", fixed, type, i, fixed, type, i, i);
  }
}

/* Sums over the lines of a block begin at zero. */
static void program_sums_begin(program *p)
{
  for (int s = 0; s < p->f->n_slot; s++) {
    const char *type = program_summed(p, s);
    if (p->c->sum[s] == JF_CUT_TOTAL) ADD("  %s s%d = 0;\n", type, s);
    if (p->c->sum[s] == JF_CUT_COLUMNS)
      ADD("  %s s%d[%d] = { };\n", type, s, p->c->turns * p->c->vector);
  }
}

static void program_columns_end(program *p, int s, int gather)
{
  const jf_cut *c = p->c;
  ADD("#pragma unroll\n  for (int k = 0; k < %d; k++) {\n"
      "    const I q = (tile * %d + k) * %d + x;\n    jf_pack<%s, W> sum;\n#pragma unroll\n"
      "    for (int w = 0; w < W; w++) sum.v[w] = jf_down_sum<%d, %d>(s%d[k * W + w]);\n"
      "    if (y == 0 && q < groups)\n      ((jf_pack<%s, W> *)a.gather[%d].from)"
      "[part * groups + q] = sum;\n  }\n", c->turns, c->turns, c->across, program_summed(p, s),
      c->across, c->down, s, program_summed(p, s), gather);
}

static void program_sums_end(program *p)
{
  int gather = 0;
  for (int s = 0; s < p->f->n_slot; s++) {
    if (p->c->sum[s] == JF_CUT_TOTAL)
      ADD("  s%d = jf_line_sum<%d>(s%d);\n  if (threadIdx.x == 0) ((%s *)a.gather[%d].from)"
          "[blockIdx.x] = s%d;\n", s, p->c->across * p->c->down, s, program_summed(p, s), gather,
          s);
    if (p->c->sum[s] == JF_CUT_COLUMNS) program_columns_end(p, s, gather);
    gather += p->c->sum[s] != JF_CUT_NO_SUM;
  }
}

static void program_finish(program *p)
{
  int gather = 0;
  ADD("JF_KERNEL __launch_bounds__(256) finish(const jf_cut_args a)\n{\n"
      "  int64_t block = blockIdx.x;\n");
  for (int s = 0; s < p->f->n_slot; s++) {
    if (p->f->slot[s].kind != JF_SLOT_SUM) continue;
    ADD("  if (block < a.gather[%d].blocks) {\n    jf_gather<%s, %s>(a.gather[%d], block);\n"
        "    return;\n  }\n  block -= a.gather[%d].blocks;\n", gather, program_summed(p, s),
        program_stored(p, s), gather, gather);
    gather++;
  }
  ADD("}\n");
}

/* The number of slot s: an argument, unless it is small and whole and so may make formulas
   shorter. */
static void program_number(program *p, int s)
{
  const jf_fused_slot *slot = &p->f->slot[s];
  const int small = slot->number == floor(slot->number) && fabs(slot->number) <= 16;
  ADD("  const %s t%d = ", program_computed(p, s), s);
  if (!jf_is_float(slot->dtype) || small || p->n_number == JF_CUT_NUMBERS) {
    jf_formula_constant(p->to, slot);
  } else {
    ADD("(%s)a.is.number[%d]", program_computed(p, s), p->n_number);
    p->is->number[p->n_number++] = slot->number;
  }
  ADD("; (void)t%d;\n", s);
}

void jf_program_source(jf_text *to, const jf_cut *c, jf_cut_values *out)
{
  program state = { .to = to, .c = c, .f = c->f, .is = out }, *p = &state;
  const int wide = jf_numel(&c->f->space) > INT32_MAX / 2, one = c->inner == 0;
  char groups[24] = "a.groups";        /* rows of one length stay in registers as they are */
  if (c->f->row) snprintf(groups, sizeof groups, "%lld", (long long)c->groups);
  for (int a = 0; a < c->nest.n; a++) program_axis_of(c->nest.d[a], &out->axis[a]);
  for (int i = 0; i < c->f->n_instr; i++)
    if (!jf_cut_adds(&c->f->instr[i])) jf_formula_instruction(to, c->f, i);
  ADD("typedef %s I;\nenum { W = %d };\n"
      "JF_KERNEL __launch_bounds__(%d) fused(const jf_cut_args a)\n{\n"
      "  const I groups = (I)%s, lines = %s, parts = %s;\n"
      "  const I tiles = (I)a.tiles; (void)tiles;\n"
      "  const I tile = (I)%s, part = (I)%s;\n"
      "  const int x = threadIdx.x %% %d, y = threadIdx.x / %d; (void)y;\n",
      wide ? "int64_t" : "int32_t", c->vector, c->across * c->down, groups,
      one ? "1" : "(I)a.lines",
      one ? "1" : "(I)a.parts", one ? "blockIdx.x" : "(blockIdx.x % (unsigned)tiles)",
      one ? "0" : "(blockIdx.x / (unsigned)tiles)", c->across, c->across);
  if (program_draws_any(p)) ADD("  const jf_random random = jf_random_of(a.head);\n");
  program_pointers(p);
  for (int s = 0; s < p->f->n_slot; s++)
    if (p->f->slot[s].kind == JF_SLOT_NUMBER) program_number(p, s);
  program_sums_begin(p);
  program_lines(p);
  program_sums_end(p);
  ADD("}\n");
  if (c->n_sum) program_finish(p);
}
