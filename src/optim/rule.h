/* The formula of a step, written once: the CPU's loops are compiled from it, and its text is kept
   for devices that compile their own.

   An optimizer's file lists what the formula names, then states it:

     #define heavy_slots(S) S(velocity, LIKE, 0)
     #define heavy_scalars(S) S(beta)
     JF_RULE(heavy, 0, velocity = beta * velocity - lr * g; w += velocity)

   A slot has a name, a dtype (LIKE: the parameter's, F32 or F64) and an initial value. In the
   formula w is an element of the parameter, g of its gradient, already scaled, and slots and
   scalars go by their names; lr is the rate. All but slots of a dtype of their own are of the
   parameter's C type T. The second argument says whether the formula is w -= lr * g. */
#ifndef JF_OPTIM_RULE_H
#define JF_OPTIM_RULE_H

#include <math.h>
#include <tgmath.h>   /* sqrt and the like choose their type by their argument */

#include "dev/variants.h"
#include "op/elementwise.h"
#include "optim/optim.h"

/* The dtype and the C type of a slot. */
#define JF_SLOT_LIKE JFL_N_DTYPE
#define JF_SLOT_F32 JFL_F32
#define JF_SLOT_F64 JFL_F64
#define JF_SLOT_C_LIKE T
#define JF_SLOT_C_F32 float
#define JF_SLOT_C_F64 double

#define JF_SLOT_ROW(name, TYPE, init) { #name, JF_SLOT_##TYPE, init },
#define JF_SLOT_AT(name, TYPE, init) \
  JF_SLOT_C_##TYPE *restrict name##_at = (JF_SLOT_C_##TYPE *)(slot++)->data + u->from;
#define JF_SLOT_GET(name, TYPE, init) JF_SLOT_C_##TYPE name = name##_at[i];
#define JF_SLOT_PUT(name, TYPE, init) name##_at[i] = name;
#define JF_SCALAR_NAME(name) #name,
#define JF_SCALAR_GET(name) const T name = (T)*scalar++;

#define JF_RULE_BODY(id, D, T_, ...)                                          \
  JF_BODY void id##_best_##D##_body(const jf_update_args *u)                  \
  {                                                                           \
    typedef T_ T;                                                             \
    const jf_tensor *slot = u->tensor + JF_FIRST_SLOT;                        \
    const double *scalar = u->scalar + JF_FIRST_SCALAR;                       \
    const T scale_of_g = (T)u->scalar[JF_SCALE], lr = (T)u->scalar[JF_RATE];  \
    T *restrict w_at = (T *)u->tensor[JF_PARAM].data + u->from;               \
    const T *restrict g_at = (const T *)u->tensor[JF_GRAD].data + u->from;    \
    id##_slots(JF_SLOT_AT)                                                    \
    id##_scalars(JF_SCALAR_GET)                                               \
    (void)slot, (void)scalar, (void)lr;                                       \
    JF_EACH_ALONE for (int64_t i = 0; i < u->n; i++) {                        \
      T w = w_at[i]; const T g = g_at[i] * scale_of_g;                        \
      id##_slots(JF_SLOT_GET)                                                 \
      __VA_ARGS__;                                                            \
      id##_slots(JF_SLOT_PUT)                                                 \
      w_at[i] = w; } }

/* Defines the loop twice: compiled for every processor, and dispatched to the best build for this
   one. */
#define JF_RULE_LOOPS(id, D)                                                         \
  static void id##_plain_##D(const jf_update_args *u) { id##_best_##D##_body(u); }   \
  JF_DISPATCH_OF(D)(id##_best_##D, (const jf_update_args *u), (u))

/* Defines id_rule for parameters of float32 and float64. */
#define JF_RULE(id, DESCENDS, ...)                                                       \
  JF_RULE_BODY(id, F32, float, __VA_ARGS__)                                              \
  JF_RULE_BODY(id, F64, double, __VA_ARGS__)                                             \
  JF_RULE_LOOPS(id, F32)                                                                 \
  JF_RULE_LOOPS(id, F64)                                                                 \
  static const jf_update_loop id##_plain[JFL_N_DTYPE] = {                                \
    [JFL_F32] = id##_plain_F32, [JFL_F64] = id##_plain_F64 };                            \
  static const jf_update_loop id##_best[JFL_N_DTYPE] = {                                 \
    [JFL_F32] = id##_best_F32, [JFL_F64] = id##_best_F64 };                              \
  static const jf_slot id##_slot_rows[] = { id##_slots(JF_SLOT_ROW) { 0 } };             \
  static const char *const id##_scalar_names[] = { id##_scalars(JF_SCALAR_NAME) NULL };  \
  enum { id##_n_slot = sizeof id##_slot_rows / sizeof *id##_slot_rows - 1,               \
         id##_n_scalar = sizeof id##_scalar_names / sizeof *id##_scalar_names - 1 };     \
  static const jf_rule id##_rule = {                                                     \
    .formula = #__VA_ARGS__, .plain = id##_plain, .best = id##_best,                     \
    .slot = id##_slot_rows, .n_slot = id##_n_slot,                                       \
    .scalar = id##_scalar_names, .n_scalar = id##_n_scalar, .descends = DESCENDS };

#endif
