/* The formula of a step, written once: the CPU's loops are compiled from it, and its text is kept
   for devices that compile their own.

   An optimizer's file lists what the formula names, then states it:

     #define heavy_slots(S) S(velocity, LIKE, 0)
     #define heavy_scalars(S) S(beta, a->momentum)
     JF_RULE(heavy, sgd, 0, velocity = beta * velocity - lr * g; w += velocity)

   A slot has a name, a dtype (LIKE: the parameter's, F32 or F64) and an initial value. A scalar has
   a name and its value in a step, a double, from the options `a`, the number t of the step, counted
   from 1, and the rate lr. In the formula w is an element of the parameter, g of its gradient,
   already scaled, and slots and scalars go by their names; lr is the rate. All but slots of a dtype
   of their own are of the parameter's C type T. The second argument is the type of the options, the
   third says whether the formula is w -= lr * g.

   Scalars are computed on devices, too: what their values call stands in a JF_TWICE (op/scalar.h)
   that the optimizer's record lists in `text`. They must not call functions of math.h themselves.

   A step may need norms of whole tensors. Such a rule goes through the elements twice:

     #define normed_slots(S) S(mean, LIKE, 0)
     #define normed_measured(S) normed_slots(S)      the slots that the first pass changes,
     #define normed_stepped(S)                       and those that the second does
     #define normed_scalars(S) S(beta, a->beta)
     #define normed_sums(S) S(squares)
     JF_MEASURED_RULE(normed, options, mean = beta * mean + g; squares += (double)mean * mean,
       const T size = (T)sqrt(squares / elements),
       w -= lr * mean / size)

   The first pass adds to sums, which are doubles. What stands second is computed once for each
   parameter, from the sums, the scalars and `elements`, how many there are, as a double. Both must
   do without commas outside of parentheses. */
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
#define JF_SLOT_GET(name, TYPE, init) \
  JF_SLOT_C_##TYPE name = name##_at[i]; (void)name;
#define JF_SLOT_PUT(name, TYPE, init) name##_at[i] = name;
#define JF_SCALAR_NAME(name, value) #name,
#define JF_SCALAR_GET(name, value) const T name = (T)*scalar++; (void)name;
#define JF_SCALAR_SET(name, value) *next++ = value;

/* Sums are kept in lanes, so that elements of a block do not wait for each other. */
enum { JF_RULE_LANES = 64 };
#define JF_SUM_LANES(name) double name##_lane[JF_RULE_LANES] = { 0 };
#define JF_SUM_GET(name) double name = name##_lane[l];
#define JF_SUM_PUT(name) name##_lane[l] = name;
#define JF_SUM_NAME(name) #name,
#define JF_SUM_ADD(name) \
  for (int l = 0; l < JF_RULE_LANES; l++) *next_sum += name##_lane[l]; \
  next_sum++;
#define JF_SUM_READ(name) const double name = *next_sum++;
#define JF_NO_SUMS(S)

/* What the loops of a rule begin with. */
#define JF_RULE_OPEN(id, T_)                                                  \
  typedef T_ T;                                                               \
  const jf_tensor *slot = u->tensor + JF_FIRST_SLOT;                          \
  const double *scalar = u->scalar + JF_FIRST_SCALAR;                         \
  const T scale_of_g = (T)u->scalar[JF_SCALE], lr = (T)u->scalar[JF_RATE];    \
  T *restrict w_at = (T *)u->tensor[JF_PARAM].data + u->from;                 \
  const T *restrict g_at = (const T *)u->tensor[JF_GRAD].data + u->from;      \
  id##_slots(JF_SLOT_AT)                                                      \
  id##_scalars(JF_SCALAR_GET)                                                 \
  (void)slot, (void)scalar, (void)lr, (void)scale_of_g, (void)g_at;

/* `stepped` and `sums` are the lists of the slots that the formula changes and of what it reads of
   the first pass. */
#define JF_RULE_BODY(id, D, T_, stepped, sums, DERIVE, ...)                   \
  JF_BODY void id##_best_##D##_body(const jf_update_args *u)                  \
  {                                                                           \
    JF_RULE_OPEN(id, T_)                                                      \
    const double *next_sum = u->sum;                                          \
    const double elements = (double)jf_numel(&u->tensor->shape);                 \
    sums(JF_SUM_READ)                                                         \
    (void)next_sum, (void)elements;                                                   \
    DERIVE;                                                                   \
    JF_EACH_ALONE for (int64_t i = 0; i < u->n; i++) {                        \
      T w = w_at[i]; const T g = g_at[i] * scale_of_g;                        \
      id##_slots(JF_SLOT_GET) (void)g;                                        \
      __VA_ARGS__; stepped(JF_SLOT_PUT) w_at[i] = w; } }

#define JF_MEASURE_BODY(id, D, T_, MEASURE)                                          \
  JF_BODY void id##_measure_best_##D##_body(const jf_update_args *u)                 \
  {                                                                                  \
    JF_RULE_OPEN(id, T_)                                                             \
    double *next_sum = u->sum;                                                         \
    id##_sums(JF_SUM_LANES)                                                          \
    for (int64_t from = 0; from < u->n; from += JF_RULE_LANES) {                     \
      const int n = (int)(u->n - from < JF_RULE_LANES ? u->n - from : JF_RULE_LANES); \
      JF_EACH_ALONE for (int l = 0; l < n; l++) {                                    \
        const int64_t i = from + l;                                                  \
        JF_MEASURE_ELEMENT(id, MEASURE) } }                                          \
    id##_sums(JF_SUM_ADD) }
#define JF_MEASURE_ELEMENT(id, MEASURE)                       \
  const T w = w_at[i], g = g_at[i] * scale_of_g;              \
  id##_slots(JF_SLOT_GET) id##_sums(JF_SUM_GET) (void)w;      \
  MEASURE;                                                    \
  id##_measured(JF_SLOT_PUT) id##_sums(JF_SUM_PUT)

/* Defines the loop twice: compiled for every processor, and dispatched to the best build for this
   one. */
#define JF_RULE_LOOPS(id, D)                                                         \
  static void id##_plain_##D(const jf_update_args *u) { id##_best_##D##_body(u); }   \
  JF_DISPATCH_OF(D)(id##_best_##D, (const jf_update_args *u), (u))
#define JF_RULE_TABLES(id)                                                           \
  JF_RULE_LOOPS(id, F32)                                                             \
  JF_RULE_LOOPS(id, F64)                                                             \
  static const jf_update_loop id##_plain[JFL_N_DTYPE] = {                            \
    [JFL_F32] = id##_plain_F32, [JFL_F64] = id##_plain_F64 };                        \
  static const jf_update_loop id##_best[JFL_N_DTYPE] = {                             \
    [JFL_F32] = id##_best_F32, [JFL_F64] = id##_best_F64 };

#define JF_RULE_NAMES(id)                                                                \
  static const jf_slot id##_slot_rows[] = { id##_slots(JF_SLOT_ROW) { 0 } };             \
  extern const jf_slot *const jf_slots_of_##id;                                          \
  const jf_slot *const jf_slots_of_##id = id##_slot_rows;                                \
  static const char *const id##_scalar_names[] = { id##_scalars(JF_SCALAR_NAME) NULL };  \
  enum { id##_n_slot = sizeof id##_slot_rows / sizeof *id##_slot_rows - 1,               \
         id##_n_scalar = sizeof id##_scalar_names / sizeof *id##_scalar_names - 1 };
#define JF_RULE_FIELDS(id)                                \
  .plain = id##_plain, .best = id##_best,                 \
  .slot = id##_slot_rows, .n_slot = id##_n_slot,          \
  .scalar = id##_scalar_names, .n_scalar = id##_n_scalar, \
  .scalars = id##_set_scalars, .scalars_name = #id "_set_scalars", .scalars_text = id##_scalars_text

/* Sets the scalars of a step, on the CPU and as text. */
#define JF_SET_SCALARS(id, OPTIONS) \
  (const void *attr, int64_t t, double *scalar)                                          \
  {                                                                                      \
    const OPTIONS *a = (const OPTIONS *)attr;                                            \
    const double lr = scalar[JF_RATE];                                                   \
    double *next = scalar + JF_FIRST_SCALAR;                                             \
    (void)a, (void)t, (void)lr;                                                          \
    id##_scalars(JF_SCALAR_SET)                                                          \
    (void)next;                                                                          \
  }
#define JF_RULE_SCALARS(id, OPTIONS)                                                     \
  static void id##_set_scalars JF_SET_SCALARS(id, OPTIONS)                               \
  static const char id##_scalars_text[] =                                                \
    "JF_LOCAL void " #id "_set_scalars" JF_QUOTED(JF_SET_SCALARS(id, OPTIONS));

/* Defines id_rule for parameters of float32 and float64. The build collects these lines, so they
   start in column 0. */
#define JF_RULE(id, OPTIONS, DESCENDS, ...)                                              \
  JF_RULE_BODY(id, F32, float, id##_slots, JF_NO_SUMS, , __VA_ARGS__)                    \
  JF_RULE_BODY(id, F64, double, id##_slots, JF_NO_SUMS, , __VA_ARGS__)                   \
  JF_RULE_TABLES(id)                                                                     \
  JF_RULE_NAMES(id)                                                                      \
  JF_RULE_SCALARS(id, OPTIONS)                                                           \
  static const jf_rule id##_rule = {                                                     \
    .formula = #__VA_ARGS__, JF_RULE_FIELDS(id), .descends = DESCENDS };

/* Makes the record of a rule that measures the parameter first. */
#define JF_MEASURED_RULE(id, OPTIONS, MEASURE, DERIVE, ...)                              \
  JF_MEASURE_BODY(id, F32, float, MEASURE)                                               \
  JF_MEASURE_BODY(id, F64, double, MEASURE)                                              \
  JF_RULE_BODY(id, F32, float, id##_stepped, id##_sums, DERIVE, __VA_ARGS__)             \
  JF_RULE_BODY(id, F64, double, id##_stepped, id##_sums, DERIVE, __VA_ARGS__)            \
  JF_RULE_TABLES(id)                                                                     \
  JF_RULE_TABLES(id##_measure)                                                           \
  JF_RULE_NAMES(id)                                                                      \
  JF_RULE_SCALARS(id, OPTIONS)                                                           \
  static const char *const id##_sum_names[] = { id##_sums(JF_SUM_NAME) NULL };        \
  static const jf_rule id##_rule = {                                                     \
    .formula = #__VA_ARGS__, JF_RULE_FIELDS(id), .measure = #MEASURE, .derive = #DERIVE, \
    .measure_plain = id##_measure_plain, .measure_best = id##_measure_best,              \
    .sum = id##_sum_names, .n_sum = sizeof id##_sum_names / sizeof *id##_sum_names - 1 };

#endif
