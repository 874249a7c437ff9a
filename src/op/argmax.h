/* Attributes of argmax and argmin. */
#ifndef JF_OP_ARGMAX_H
#define JF_OP_ARGMAX_H

#include <stdint.h>

typedef struct jf_argmax { int64_t axis; } jf_argmax;

#endif
