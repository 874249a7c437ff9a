/* Attributes of the update ops. All change param (and slots) in place; lr is float64 (1).
     sgd_update(param, grad, lr):                 param -= lr (grad + weight_decay param)
     momentum_update(param, grad, lr, momentum):  momentum = beta momentum - lr grad
                                                  param += momentum - lr weight_decay param */
#ifndef JF_OP_SGD_H
#define JF_OP_SGD_H

#include "dev/kernel.h"

typedef struct jf_sgd_update { double weight_decay; } jf_sgd_update;
typedef struct jf_momentum_update { double beta, weight_decay; } jf_momentum_update;

#endif
