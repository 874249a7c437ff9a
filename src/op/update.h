/* Update ops: param, grad, lr, slots..., [scale]. All change param and slots in place; lr and scale
   are float64 (1). An op states what happens to one element; its loops and its plain kernel come
   from that. */
#ifndef JF_OP_UPDATE_H
#define JF_OP_UPDATE_H

#include "dev/variants.h"
#include "op/elementwise.h"

/* What an update op keeps for each parameter: its inputs 3 and on, but for scale. */
int jf_update_slots(const jfl_op *op);

jfl_status jf_infer_update(jf_infer *c);
/* Whether v is a float64 (1), as lr and scale are; `what` is its name in messages. */
jfl_status jf_infer_rate(const jfl_value *v, const char *what);

/* Runs a loop over the inputs of an update op with that many slots. */
jfl_status jf_update_plain(const jf_kargs *k, int slots, jf_update_loop loop);

/* In a formula w is an element of the parameter, g of the scaled gradient, s[] of the slots; lr is
   the rate, p the attributes, T the C type of them all. */
#define JF_UPDATE_BODY(id, D, T_, ATTR, SLOTS, ...)                                        \
  JF_BODY void id##_best_##D##_body(const jf_update_args *u)                               \
  {                                                                                        \
    typedef T_ T; const ATTR p = *(const ATTR *)u->attr;                                   \
    const T lr = (T)u->lr, scale = (T)u->scale; T s[SLOTS + 1], *slot[SLOTS + 1];          \
    T *restrict x = u->param; const T *restrict dx = u->grad;                              \
    for (int j = 0; j < SLOTS; j++) slot[j] = u->slot[j];                                  \
    JF_EACH_ALONE for (int64_t i = 0; i < u->n; i++) {                                     \
      T w = x[i]; const T g = dx[i] * scale;                                               \
      for (int j = 0; j < SLOTS; j++) s[j] = slot[j][i];                                   \
      __VA_ARGS__; x[i] = w;                                                               \
      for (int j = 0; j < SLOTS; j++) slot[j][i] = s[j]; } }

/* The loop in the build that runs on all processors, and in the best one for this. */
#define JF_UPDATE_LOOPS(id, D)                                                             \
  static void id##_base_##D(const jf_update_args *u) { id##_best_##D##_body(u); }          \
  JF_DISPATCH(id##_best_##D, (const jf_update_args *u), (u))

#define JF_UPDATE_TYPE(id, D, T, ATTR, SLOTS, ...)             \
  JF_UPDATE_BODY(id, D, T, ATTR, SLOTS, __VA_ARGS__)           \
  JF_UPDATE_LOOPS(id, D)                                       \
  static jfl_status id##_plain_##D(const jf_kargs *k)          \
  {                                                            \
    return jf_update_plain(k, SLOTS, id##_base_##D);           \
  }

/* All of it for float32 and float64; id is the op's name, ATTR its attribute struct. */
#define JF_UPDATE_RULE(id, ATTR, SLOTS, ...)                                               \
  JF_UPDATE_TYPE(id, F32, float, ATTR, SLOTS, __VA_ARGS__)                                 \
  JF_UPDATE_TYPE(id, F64, double, ATTR, SLOTS, __VA_ARGS__)                                \
  static const jf_update_loop id##_loop[JFL_N_DTYPE] = {                                   \
    [JFL_F32] = id##_best_F32, [JFL_F64] = id##_best_F64 };                                \
  static const jf_kernel id##_cpu[JFL_N_DTYPE] = {                                         \
    [JFL_F32] = id##_plain_F32, [JFL_F64] = id##_plain_F64 };
#define JF_UPDATE(id) .flags = JF_EFFECT | JF_OPTIONAL | JF_POINTWISE, \
  .infer = jf_infer_update, .cpu = id##_cpu, .update = id##_loop

#endif
