/* What the kernels of ctc_loss agree on. */
#ifndef JF_OP_CTC_LOSS_H
#define JF_OP_CTC_LOSS_H

#include "dev/kernel.h"

typedef struct jf_ctc { int64_t blank; int zero_infinity; } jf_ctc;

/* The inputs. */
enum { JF_CTC_LOG_PROBS, JF_CTC_TARGETS, JF_CTC_INPUT_LENGTHS, JF_CTC_TARGET_LENGTHS };

/* The most places of a path: labels with a blank before, between and behind them. */
int64_t jf_ctc_places(const jf_kargs *k);

#endif
