/* Estimates how much work a step is, and how many threads that is worth. */
#include "choose/choose.h"

/* One unit of work is a byte of an operand or an addition. A thread does some 1e11 of either in a
   second while operands are in its cache. A step has a thread more for each GRAIN units, some 10 us
   of work: with less, handing out parts and moving cache lines costs more than the other threads
   save (scripts/bench/threads.c). COSTLY is how many units an exponential or random bits take. */
enum { GRAIN = 1 << 20, COSTLY = 8 };

double jf_call_bytes(const jf_kargs *k)
{
  double n = 0;
  for (int i = 0; i < k->n_in + k->n_out; i++) {
    const jf_tensor *t = i < k->n_in ? &k->in[i] : &k->out[i - k->n_in];
    n += (double)jf_numel(&t->shape) * (double)jfl_dtype_size(t->dtype);
  }
  return n;
}

double jf_work(const jfl_op *op, const jf_kargs *k)
{
  double bytes = jf_call_bytes(k);
  if (op->flop) return bytes + op->flop(k);
  return op->flags & (JF_COSTLY | JF_RANDOM) ? COSTLY * bytes : bytes;
}

int jf_worth_threads(const jfl_op *op, const jf_kargs *k, int most)
{
  const double n = jf_work(op, k) / GRAIN + 1;
  return n < most ? (int)n : most;
}
