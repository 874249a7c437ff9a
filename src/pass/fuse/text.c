/* Fused programs as text, and as attributes of a node. */
#include "pass/fuse/draft.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A text of limited length; the rest is cut off. */
typedef struct line { char s[2048]; size_t n; } line;

__attribute__((format(printf, 2, 3))) static void text_add(line *t, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  const int n = vsnprintf(t->s + t->n, sizeof t->s - t->n, fmt, ap);
  va_end(ap);
  t->n += n > 0 ? (size_t)n : 0;
  if (t->n >= sizeof t->s) t->n = sizeof t->s - 1;
}

/* Names a slot: inputs have the first numbers, then outputs. */
static void add_slot_name(line *t, const jf_fused *f, int s)
{
  int number = f->n_in;
  for (int i = 0; i < s; i++) number += f->slot[i].in < 0 && f->slot[i].kind != JF_SLOT_NUMBER;
  if (f->slot[s].kind == JF_SLOT_NUMBER) text_add(t, "%.9g", f->slot[s].number);
  else text_add(t, "t%d", f->slot[s].in >= 0 ? f->slot[s].in : number);
}

static void add_list(line *t, const jf_fused *f, const int *slot, int n)
{
  for (int k = 0; k < n; k++) {
    if (k) text_add(t, ", ");
    add_slot_name(t, f, slot[k]);
  }
}

/* Writes the program as text, such as "t2 = relu_grad(t0, t1); t3 = reduce_sum(t2)". */
static void write_program(line *t, const jf_fused *f)
{
  for (int i = 0; i < f->n_instr; i++) {
    const jf_instr *p = &f->instr[i];
    if (i) text_add(t, "; ");
    add_list(t, f, p->out, p->n_out);
    text_add(t, " = %s(", p->name);
    add_list(t, f, p->in, p->n_in);
    text_add(t, ")");
  }
}

/* Writes the title, such as "fused(relu_grad, reduce_sum)"; it names only some of many
   instructions. */
static void write_title(line *t, const jf_fused *f)
{
  enum { SOME = 4 };
  const int n = f->n_instr, shown = n > SOME ? SOME - 1 : n;
  text_add(t, "fused(");
  for (int i = 0; i < shown; i++) text_add(t, "%s%s", i ? ", " : "", f->instr[i].name);
  if (n > shown) text_add(t, ", %d more", n - shown);
  text_add(t, ")");
}

static const char *text_of(const jf_fused *f, jf_arena *a,
                           void (*write)(line *t, const jf_fused *f))
{
  line t = { "", 0 };
  write(&t, f);
  return jf_strdup(a, t.s);
}

static void *text_copy(jf_arena *a, const void *p, size_t n)
{
  return memcpy(jf_alloc(a, n), p, n);
}

jf_fused *jf_draft_keep(const jf_draft *d, jf_arena *a)
{
  jf_fused *f = text_copy(a, &d->f, sizeof d->f);
  f->slot = text_copy(a, d->slot, (size_t)f->n_slot * sizeof *f->slot);
  f->instr = text_copy(a, d->instr, (size_t)f->n_instr * sizeof *f->instr);
  f->in = text_copy(a, d->arg, (size_t)f->n_in * sizeof *f->in);
  f->program = text_of(f, a, write_program);
  f->title = text_of(f, a, write_title);
  return f;
}
