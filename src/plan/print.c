/* Plans as text: one line for each step, with its kernel and where its memory is. */
#include "base/library.h"
#include "plan/plan.h"

#include <string.h>

static void print_bytes(jf_text *t, size_t n)
{
  if (n < 10000) jf_text_add(t, "%zu B", n);
  else if (n < 10000000) jf_text_add(t, "%.1f KB", (double)n / 1e3);
  else jf_text_add(t, "%.1f MB", (double)n / 1e6);
}

static void print_place(jf_text *t, const jfl_value *v, const jf_where *w)
{
  static const char *const names[] = { "?", "arena", "input", "result", "variable",
                                        "constant", "staged", "prologue" };
  jf_text_add(t, "%s[%s", v->name, names[w->memory]);
  if (w->memory == JF_AT_ARENA) jf_text_add(t, "+%zu", w->offset);
  jf_text_add(t, "]");
}

const char *jf_step_kernel(const jf_step *st)
{
  if (st->node->op->flags & JF_TRANSFER) return "copy";
  return st->kernel.row ? st->kernel.row->name : "plain";
}

/* Widths of the columns for op names, kernel names and devices; `device` is 0 if there is only
   one. */
typedef struct widths { int op, kernel, device; } widths;

static int plan_print_devices(const jfl_plan *p)
{
  int n = 0;
  for (int i = 0; i < p->n_part; i++) n += p->part[i].n_step > 0;
  return n;
}

static widths plan_print_measure(const jfl_plan *p)
{
  widths w = { 0, 0, 0 };
  for (int i = 0; i < p->n_part && plan_print_devices(p) > 1; i++) {
    int device = (int)strlen(p->part[i].device->name);
    if (p->part[i].n_step && device > w.device) w.device = device;
  }
  for (int s = 0; s < p->n_step; s++) {
    int op = (int)strlen(jf_node_title(p->step[s].node));
    int kernel = (int)strlen(jf_step_kernel(&p->step[s]));
    if (op > w.op) w.op = op;
    if (kernel > w.kernel) w.kernel = kernel;
  }
  return w;
}

static void print_step(jf_text *t, const jfl_plan *p, int index, widths w)
{
  const jf_step *st = &p->step[index];
  const jf_node *n = st->node;
  jf_text_add(t, "%4d  ", index);
  if (w.device) jf_text_add(t, "%-*s  ", w.device, p->part[st->place].device->name);
  jf_text_add(t, "%-*s  %-*s ", w.op, jf_node_title(n), w.kernel, jf_step_kernel(st));
  for (int i = 0; i < n->n_in; i++) {
    jf_text_add(t, i ? ", " : " ");
    print_place(t, n->in[i], &st->in[i]);
  }
  jf_text_add(t, " ->");
  for (int i = 0; i < n->n_out; i++) {
    jf_text_add(t, i ? ", " : " ");
    print_place(t, n->out[i], &st->out[i]);
  }
  if (n->source.sharing) jf_text_add(t, "  | %s", n->source.sharing);
  jf_text_add(t, "\n");
}

void jf_plan_print(const jfl_plan *p, jf_text *t)
{
  size_t variables = 0;
  for (int i = 0; i < p->n_variable; i++)
    variables += JF_BYTES_OF(p->variable[i]);
  jf_text_add(t, "plan of %s on ", p->graph->name);
  /* Lists the devices that have steps; if none has, the one that would have them. */
  if (!plan_print_devices(p)) jf_text_add(t, "%s", p->part[p->graph->place].device->name);
  for (int i = 0, n = 0; i < p->n_part; i++)
    if (p->part[i].n_step) jf_text_add(t, n++ ? ", %s" : "%s", p->part[i].device->name);
  jf_text_add(t, ": %d steps, %d variables of ", p->n_step, p->n_variable);
  print_bytes(t, variables);
  jf_text_add(t, ", temporaries of ");
  print_bytes(t, p->arena_size);
  jf_text_add(t, " (no layout needs less than ");
  print_bytes(t, p->arena_bound);
  jf_text_add(t, ")\n");
  const char *missing;
  for (int i = 0; (missing = jf_library_missing(i)); i++)
    jf_text_add(t, "without a library, so slower kernels serve: %s\n", missing);
  widths w = plan_print_measure(p);
  for (int s = 0; s < p->n_step; s++) print_step(t, p, s, w);
}

void jf_plan_print_refused(const jfl_plan *p, jf_text *t)
{
  jf_map told = { 0 };
  for (int s = 0; s < p->n_step; s++) {
    const jf_step *st = &p->step[s];
    if (!st->kernel.refused || jf_map_get(&told, st->kernel.refused)) continue;
    if (!told.n) jf_text_add(t, "kernels that would have come before these:\n");
    jf_text_add(t, "%4d  %s by %s, not %s\n", s, jf_node_title(st->node), jf_step_kernel(st),
                st->kernel.refused);
    if (jf_map_add(&told, st->kernel.refused, (void *)st)) break;
  }
  jf_map_free(&told);
}
