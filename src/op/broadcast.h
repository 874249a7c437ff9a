/* Attributes of broadcast_to. */
#ifndef JF_OP_BROADCAST_H
#define JF_OP_BROADCAST_H

#include "dev/kernel.h"

typedef struct jf_broadcast { jf_ints shape; } jf_broadcast;

#endif
