/* Ops on a few numbers: one thread runs the functions whose text the op's record gives. */
#include "scalar.h"
#include "dev/cuda/cuda.h"

#include <stddef.h>
#include <string.h>

enum { SMALL_ATTR = 512 };
/* The parameter of the kernel. */
typedef struct small_args {
  jf_fault *fault;
  int64_t n;
  void *at[JF_SMALL_TENSORS];
  double attr[SMALL_ATTR / sizeof(double)];
} small_args;

typedef struct small_call { jf_cuda_kernel *kernel; small_args args; } small_call;

static int small_accepts(const jf_kargs *k)
{
  return k->op->small && k->n_in + k->n_out <= JF_SMALL_TENSORS;
}

/* Lists of numbers are host memory, so the source holds them. */
static void small_lists(jf_text *to, const jfl_op *op, const void *attr, const jf_scalar_op *s)
{
  const int own = s->attr == attr;
  for (const jf_attr *a = op->attr; own && a && a->name; a++) {
    if (a->type != JF_ATTR_NUMS) continue;
    const jf_nums *list = (const jf_nums *)(const void *)((const char *)attr + a->off);
    jf_text_add(to, "  const double list%zu[] = { ", a->off);
    for (int i = 0; i < list->n; i++) jf_text_add(to, "%.17g, ", list->v[i]);
    jf_text_add(to, "0 };\n  ((jf_nums *)((char *)attr + %zu))->v = list%zu;\n", a->off, a->off);
  }
}

void jf_scalar_source(jf_text *to, const jfl_op *op, const void *attr, const jf_scalar_op *s)
{
  jf_text_add(to, "#define JF_LOCAL JF_INLINE\n#define JF_GLOBAL JF_INLINE\n"
              "struct jf_nums { int n; const double *v; };\n");
  for (int i = 0; i < JF_SMALL_TEXTS && s->text[i]; i++) jf_text_add(to, "%s\n", s->text[i]);
  jf_text_add(to, "struct small_args {\n  jf_fault *fault;\n  int64_t n;\n  void *at[%d];\n"
              "  double attr[%d];\n};\nJF_KERNEL small(const small_args a)\n{\n", JF_SMALL_TENSORS,
              (int)(SMALL_ATTR / sizeof(double)));
  if (op->flags & JF_EFFECT)
    jf_text_add(to, "  if (a.fault && *(volatile int32_t *)&a.fault->what) return;\n");
  jf_text_add(to, "  double attr[%d];\n  for (int i = 0; i < %d; i++) attr[i] = a.attr[i];\n",
              (int)(SMALL_ATTR / sizeof(double)), (int)((s->attr_size + 7) / 8));
  small_lists(to, op, attr, s);
  jf_text_add(to, "  %s(attr, a.at, (int)a.n%s%s);\n}\n", s->run, s->more ? ", " : "",
              s->more ? s->more : "");
}

static jfl_status small_prepare(jf_kargs *k)
{
  small_call *c = jf_new(sizeof *c);
  jf_text text = { 0 };
  jf_scalar_op s;
  char *source;
  if (!c) return jf_fail(JFL_ENOMEM, "out of memory");
  k->op->small(k->op, k->attr, &s);
  c->args.n = k->n_in + k->n_out;
  if (s.attr_size > SMALL_ATTR) return jf_free(c), JFL_ENOSYS;
  if (s.attr_size) memcpy(c->args.attr, s.attr, s.attr_size);
  jf_scalar_source(&text, k->op, k->attr, &s);
  jfl_status e = jf_text_take(&text, &source);
  if (!e) {
    e = jf_cuda_find(k, &(jf_cuda_source){ .what = k->op->name, .text = source }, "small",
                     &c->kernel);
    jf_free(source);
  }
  if (e) jf_free(c);
  else k->state = c;
  return e;
}

static jfl_status small_run(const jf_kargs *k)
{
  small_args a = ((const small_call *)k->state)->args;
  a.fault = k->fault;
  jf_scalar_tensors(k, a.at);
  return jf_cuda_launch(k, ((const small_call *)k->state)->kernel, (jf_cuda_grid){ 1, 1, 0 }, &a);
}

JFL_CUDA(cuda_small, .accepts = small_accepts, .prepare = small_prepare, .run = small_run,
  .release = jf_free)
