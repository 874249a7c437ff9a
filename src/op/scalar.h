/* Ops on a few numbers, such as counters and rates. What such an op computes is written once, as
   functions that are compiled for the CPU, and whose text is kept for devices that compile their
   own:

     JF_TWICE(jf_halve_text,
     JF_LOCAL void halve_run(const void *attr, void *const *at, int n)
     {
       ((double *)at[1])[0] = ((const double *)at[0])[0] / 2;
     })
     JF_SCALAR_OP(halve, jf_halve_text)

   `at` are the addresses of all n tensors, inputs first. The text must be C and C++: pointers are
   cast, no field is named in an initializer. JF_SCALAR_OP defines halve_plain, the CPU's kernel,
   and halve_small, what a record's field `small` is; what it lists are the texts that halve_run
   needs, in their order. The attributes are the same struct everywhere, but words have no text on a
   device: infer must set a number for them. */
#ifndef JF_OP_SCALAR_H
#define JF_OP_SCALAR_H

#include "op/op.h"

#define JF_LOCAL static
#define JF_GLOBAL
/* Keeps the text of what it declares under the name id. */
#define JF_TWICE(id, ...)      \
  __VA_ARGS__                  \
  extern const char id[];      \
  const char id[] = #__VA_ARGS__;
/* The text of a list of declarations that is a macro. */
#define JF_QUOTED(...) JF_QUOTED_OF(__VA_ARGS__)
#define JF_QUOTED_OF(...) #__VA_ARGS__

enum { JF_SMALL_TEXTS = 8, JF_SMALL_TENSORS = 200 };
typedef struct jf_scalar_op {
  const char *text[JF_SMALL_TEXTS];    /* ended by NULL */
  const char *run;                     /* the function of them to call with attr, at, n */
  const char *more;                    /* text of another argument, or NULL */
  const void *attr;                    /* the attributes that it reads */
  size_t attr_size;
} jf_scalar_op;

/* The addresses of all tensors; gives how many there are. */
int jf_scalar_tensors(const jf_kargs *k, void **at);
/* Fails if a variadic op has more tensors than fit. */
jfl_status jf_scalar_check(const jf_infer *c);

#define JF_SCALAR_OP(id, ...)                                                       \
  static jfl_status id##_plain(const jf_kargs *k)                               \
  {                                                                             \
    void *at[JF_SMALL_TENSORS];                                                 \
    id##_run(k->attr, at, jf_scalar_tensors(k, at));                             \
    return JFL_OK;                                                              \
  }                                                                             \
  static void id##_small(const jfl_op *op, const void *attr, jf_scalar_op *s)       \
  {                                                                             \
    *s = (jf_scalar_op){ { __VA_ARGS__ }, #id "_run", NULL, attr, op->attr_size };  \
  }

#endif
