/* oneDNN, opened at run time. dnnl.c hides the library's versions and types. */
#ifndef JF_DNNL_H
#define JF_DNNL_H

#include "primitives.h"

/* Opens the library the first time; returns NULL if it is not installed. */
const jf_primitives *jf_dnnl_open(void);
/* For rows: whether the library is there, and the call's tensors are float32, or all that it reads
   are bfloat16 on a processor that multiplies these, and small enough for it. It counts in ints,
   and would divide by a number that overflowed. */
int jf_dnnl_accepts(const jf_kargs *k);
/* For rows: whether the call's tensors are of 8 bits, and the processor adds up their products in
   one instruction, without overflow. */
int jf_dnnl_accepts_bytes(const jf_kargs *k);

#endif
