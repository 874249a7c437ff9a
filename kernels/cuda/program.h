/* Programs that are ready to be launched (program.cu), and programs made by hand (recipe.c). */
#ifndef JF_CUDA_PROGRAM_H
#define JF_CUDA_PROGRAM_H

#include "cut.h"

/* A program for a device; jf_free frees it. */
typedef struct jf_program jf_program;
/* Writes the text of f, which need not stay, for the call that is prepared, which waits until it is
   compiled, and adds what it needs to k->scratch_size. JFL_ENOSYS: no cut of it is served. */
jfl_status jf_program_new(jf_kargs *k, const jf_fused *f, jf_program **out);
/* Runs it on its inputs, then its outputs: n pointers. */
jfl_status jf_program_run(const jf_program *p, const jf_kargs *k, void *const *data, int n);

/* ---- programs made by hand ---- */

/* A program of a kernel, whose inputs and outputs are tensors of a call, or places in scratch.
   Its slots are made by the functions below, which give their numbers. */
enum { JF_RECIPE_INSTRS = 24, JF_RECIPE_ARGS = 12 };
typedef struct jf_recipe {
  jf_fused f;
  jf_fused_slot slot[JF_CUT_SLOTS];
  jf_instr instr[JF_RECIPE_INSTRS];
  jf_fused_arg in[JF_RECIPE_ARGS];
  int from[JF_RECIPE_ARGS], to[JF_FUSED_OUTS];   /* which tensor of the call each is */
} jf_recipe;

/* Begins a program over a space, whose rows have `row` elements; 0: it has none. */
void jf_recipe_begin(jf_recipe *r, const char *title, const jfl_shape *space, int64_t row);
/* Tensor number `from` of the call, inputs before outputs: step is of kind BROADCAST alone. */
int jf_recipe_in(jf_recipe *r, int from, jfl_dtype t, jf_slot_kind kind, const int64_t *step);
int jf_recipe_number(jf_recipe *r, jfl_dtype t, double v);
/* What an op without attributes gives for two slots, b -1: for one; for each row if they are so,
   or numbers. */
int jf_recipe_op(jf_recipe *r, const struct jfl_op *op, int a, int b);
/* An element in another float type. */
int jf_recipe_cast(jf_recipe *r, int a, jfl_dtype t);
/* The mean of each row of slot a. */
int jf_recipe_row_mean(jf_recipe *r, int a);
/* Sums of slot a, as dtype t and divided by count, become tensor `to` of the call. */
void jf_recipe_sum(jf_recipe *r, int a, const int64_t *step, jfl_dtype t, double count, int to);
/* Slot a, which is no input, becomes tensor `to` of the call. */
void jf_recipe_out(jf_recipe *r, int a, int to);

/* Several programs, one after the other. Tensors of the call from JF_RECIPE_OWN on are in scratch:
   number JF_RECIPE_OWN + i is at byte at[i] there. The list is a call's state. */
enum { JF_RECIPE_OWN = 16, JF_RECIPE_LIST = 3, JF_RECIPE_ROOM = 4 };
typedef struct jf_recipes {
  int n;
  jf_program *program[JF_RECIPE_LIST];
  int n_data[JF_RECIPE_LIST], tensor[JF_RECIPE_LIST][JF_RECIPE_ARGS + JF_FUSED_OUTS];
  size_t at[JF_RECIPE_ROOM];
} jf_recipes;
/* Compiles r behind the others; a failure leaves the list as it was. */
jfl_status jf_recipes_add(jf_recipes *l, jf_kargs *k, const jf_recipe *r);
jfl_status jf_recipes_run(const jf_kargs *k);
void jf_recipes_free(void *list);

#endif
