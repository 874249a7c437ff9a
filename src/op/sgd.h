/* Attributes of the update ops of SGD; lr and scale are float64 (1).
     sgd_update(param, grad, lr, [scale]):   param -= lr (scale grad + weight_decay param)
     momentum_update(param, grad, lr, momentum, [scale]):
       momentum = beta momentum - lr scale grad;  param += momentum - lr weight_decay param */
#ifndef JF_OP_SGD_H
#define JF_OP_SGD_H

typedef struct jf_sgd_update { double weight_decay; } jf_sgd_update;
typedef struct jf_momentum_update { double beta, weight_decay; } jf_momentum_update;

#endif
