/* Ops that move elements without looking at them, as copies between boxes of tensors, and ops that
   fill a tensor. */
#ifndef JF_DEVICE
#include "base/walk.h"
#include "dev/cuda/cuda.h"
#include "op/broadcast.h"
#include "op/constant.h"
#include "op/slice.h"
#include "op/split.h"
#include "op/strided.h"
#include "op/transpose.h"

#include <string.h>
#endif

/* One copy: of `count` elements, over a nest of axes, from data[0] to data[1]. Offsets and steps
   are in elements. */
typedef struct move_args {
  struct jf_cuda_head head;
  int64_t count, n, from, to;
  int64_t d[8], from_step[8], to_step[8];
} move_args;

/* One filling of data[0] with an element of these bytes. */
typedef struct fill_args { struct jf_cuda_head head; int64_t count; uint64_t bytes; } fill_args;

#ifdef JF_DEVICE

JF_KERNEL move(const move_args a)
{
  const T *x = (const T *)a.head.data[0] + a.from;
  T *y = (T *)a.head.data[1] + a.to;
  JF_EACH(i, a.count) {
    int64_t rest = i, u = 0, v = 0;
    for (int k = (int)a.n - 1; k >= 0; k--) {
      const int64_t at = rest % a.d[k];
      rest /= a.d[k];
      u += at * a.from_step[k];
      v += at * a.to_step[k];
    }
    y[v] = x[u];
  }
}

JF_KERNEL fill(const fill_args a)
{
  T *y = (T *)a.head.data[0];
  JF_EACH(i, a.count) y[i] = (T)a.bytes;
}

#else

extern const char jf_cuda_text_move[];

/* Elements are moved as integers of their size. */
static jfl_status move_function(const jf_kargs *k, const char *name, jf_cu_function **out)
{
  static const char *const define[] = { [1] = "#define T uint8_t\n", [2] = "#define T uint16_t\n",
                                        [4] = "#define T uint32_t\n",
                                        [8] = "#define T uint64_t\n" };
  const jf_cuda_source s = { "move", jf_cuda_text_move, define[jfl_dtype_size(k->out[0].dtype)] };
  return jf_cuda_function(k->device->state, &s, name, out);
}

/* ---- copies ---- */

/* The copies of a call, each from an input to an output; before them output 0 may be cleared. */
typedef struct move_one { int in, out; jf_cuda_grid grid; move_args args; } move_one;
typedef struct moves {
  jf_cu_function *function, *fill;
  int clears, n;
  move_one one[];
} moves;

static jfl_status moves_new(jf_kargs *k, int n, int clears, moves **out)
{
  moves *m = jf_new(sizeof *m + (size_t)n * sizeof *m->one);
  if (!m) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status s = move_function(k, "move", &m->function);
  if (!s) s = move_function(k, "fill", &m->fill);
  if (s) return jf_free(m), s;
  m->clears = clears;
  k->state = *out = m;
  return JFL_OK;
}

/* Adds a copy over the axes of `box`, with steps in the tensors that it goes between. */
static void moves_add(moves *m, const jf_kargs *k, int in, int out, const jfl_shape *box,
                      const int64_t *from, const int64_t *to, int64_t from_at, int64_t to_at)
{
  int64_t step[2][JFL_MAXDIM];
  jf_nest nest = { .n = box->n, .n_op = 2, .step = step };
  move_one *o = &m->one[m->n];
  const int64_t count = jf_numel(box);
  if (count == 0) return;
  memcpy(nest.d, box->d, sizeof nest.d);
  memcpy(step[0], from, sizeof step[0]);
  memcpy(step[1], to, sizeof step[1]);
  jf_nest_join(&nest, 0);
  *o = (move_one){ .in = in, .out = out, .grid = jf_cuda_grid_of(k->device->state, count),
                   .args = { .count = count, .n = nest.n, .from = from_at, .to = to_at } };
  memcpy(o->args.d, nest.d, sizeof o->args.d);
  memcpy(o->args.from_step, step[0], sizeof step[0]);
  memcpy(o->args.to_step, step[1], sizeof step[1]);
  m->n++;
}

static jfl_status move_clear(const jf_kargs *k, jf_cu_function *f, int64_t count, uint64_t bytes)
{
  fill_args a = { .count = count, .bytes = bytes };
  if (count == 0) return JFL_OK;
  a.head.data[0] = k->out[0].data;
  return jf_cuda_launch(k, f, jf_cuda_grid_of(k->device->state, count), &a);
}

static jfl_status moves_run(const jf_kargs *k)
{
  const moves *m = k->state;
  if (m->clears) JF_TRY(move_clear(k, m->fill, jf_numel(&k->out[0].shape), 0));
  for (int i = 0; i < m->n; i++) {
    const move_one *o = &m->one[i];
    move_args a = o->args;
    a.head.data[0] = k->in[o->in].data;
    a.head.data[1] = k->out[o->out].data;
    JF_TRY(jf_cuda_launch(k, m->function, o->grid, &a));
  }
  return JFL_OK;
}

static void dense(const jfl_shape *s, int64_t *step) { jf_dense_steps(s->n, s->d, 1, step); }

/* ---- the ops ---- */

static jfl_status identity_prepare(jf_kargs *k, size_t *scratch)
{
  moves *m = NULL;
  int64_t step[JFL_MAXDIM];
  (void)scratch;
  JF_TRY(moves_new(k, 1, 0, &m));
  dense(&k->out[0].shape, step);
  moves_add(m, k, 0, 0, &k->out[0].shape, step, step, 0, 0);
  return JFL_OK;
}

static jfl_status broadcast_prepare(jf_kargs *k, size_t *scratch)
{
  moves *m = NULL;
  int64_t from[JFL_MAXDIM], to[JFL_MAXDIM];
  const jfl_shape *y = &k->out[0].shape;
  (void)scratch;
  JF_TRY(moves_new(k, 1, 0, &m));
  jf_broadcast_steps(&k->in[0].shape, y, 1, from);
  dense(y, to);
  moves_add(m, k, 0, 0, y, from, to, 0, 0);
  return JFL_OK;
}

static jfl_status cuda_transpose_prepare(jf_kargs *k, size_t *scratch)
{
  moves *m = NULL;
  int64_t x[JFL_MAXDIM], from[JFL_MAXDIM], to[JFL_MAXDIM];
  const jf_ints *perm = &((const jf_transpose *)k->attr)->perm;
  (void)scratch;
  JF_TRY(moves_new(k, 1, 0, &m));
  dense(&k->in[0].shape, x);
  dense(&k->out[0].shape, to);
  for (int i = 0; i < perm->n; i++) from[i] = x[perm->v[i]];
  moves_add(m, k, 0, 0, &k->out[0].shape, from, to, 0, 0);
  return JFL_OK;
}

/* Where a box lies in a tensor: its steps there and its first element. step NULL: all are 1. */
static int64_t move_box(const jfl_shape *whole, const jf_ints *begin, const jf_ints *step,
                        int64_t *out)
{
  int64_t at = 0;
  dense(whole, out);
  for (int i = 0; i < whole->n; i++) {
    at += begin->v[i] * out[i];
    if (step) out[i] *= step->v[i];
  }
  return at;
}

static jfl_status move_take(jf_kargs *k, const jf_ints *begin, const jf_ints *step)
{
  moves *m = NULL;
  int64_t from[JFL_MAXDIM], to[JFL_MAXDIM];
  JF_TRY(moves_new(k, 1, 0, &m));
  const int64_t at = move_box(&k->in[0].shape, begin, step, from);
  dense(&k->out[0].shape, to);
  moves_add(m, k, 0, 0, &k->out[0].shape, from, to, at, 0);
  return JFL_OK;
}

static jfl_status move_give(jf_kargs *k, const jf_ints *begin, const jf_ints *step)
{
  moves *m = NULL;
  int64_t from[JFL_MAXDIM], to[JFL_MAXDIM];
  JF_TRY(moves_new(k, 1, 1, &m));
  const int64_t at = move_box(&k->out[0].shape, begin, step, to);
  dense(&k->in[0].shape, from);
  moves_add(m, k, 0, 0, &k->in[0].shape, from, to, 0, at);
  return JFL_OK;
}

static jfl_status slice_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return move_take(k, &((const jf_slice *)k->attr)->begin, NULL);
}

static jfl_status slice_grad_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return move_give(k, &((const jf_slice_grad *)k->attr)->begin, NULL);
}

static jfl_status strided_prepare(jf_kargs *k, size_t *scratch)
{
  const jf_strided *a = k->attr;
  (void)scratch;
  return move_take(k, &a->begin, &a->step);
}

static jfl_status strided_grad_prepare(jf_kargs *k, size_t *scratch)
{
  const jf_strided_grad *a = k->attr;
  (void)scratch;
  return move_give(k, &a->begin, &a->step);
}

/* The steps of y along the axes of part i of a split or of input i of a concat. A stack has one
   axis more than its inputs, along which each has one index. */
static void part_steps(const jfl_shape *whole, const jfl_shape *part, int64_t axis, int64_t *out)
{
  int64_t step[JFL_MAXDIM];
  dense(whole, step);
  for (int i = 0; i < part->n; i++)
    out[i] = step[i + (whole->n > part->n && i >= axis)];
}

static jfl_status concat_prepare(jf_kargs *k, size_t *scratch)
{
  moves *m = NULL;
  const jfl_shape *y = &k->out[0].shape;
  int64_t axis = ((const jf_concat *)k->attr)->axis, step[JFL_MAXDIM], at = 0;
  (void)scratch;
  JF_TRY(moves_new(k, k->n_in, 0, &m));
  dense(y, step);
  const int64_t along = step[axis];
  for (int i = 0; i < k->n_in; i++) {
    const jfl_shape *x = &k->in[i].shape;
    int64_t from[JFL_MAXDIM], to[JFL_MAXDIM];
    dense(x, from);
    part_steps(y, x, axis, to);
    moves_add(m, k, i, 0, x, from, to, 0, at * along);
    at += x->n < y->n ? 1 : x->d[axis];
  }
  return JFL_OK;
}

static jfl_status split_prepare(jf_kargs *k, size_t *scratch)
{
  moves *m = NULL;
  const jfl_shape *x = &k->in[0].shape;
  int64_t axis = ((const jf_split *)k->attr)->axis, from[JFL_MAXDIM], at = 0;
  (void)scratch;
  JF_TRY(moves_new(k, k->n_out, 0, &m));
  dense(x, from);
  for (int i = 0; i < k->n_out; i++) {
    const jfl_shape *y = &k->out[i].shape;
    int64_t to[JFL_MAXDIM];
    dense(y, to);
    moves_add(m, k, 0, i, y, from, to, at * from[axis], 0);
    at += y->d[axis];
  }
  return JFL_OK;
}

#define MOVES(op_, prepare_) \
  .op = op_, .prepare = prepare_, .run = moves_run, .release = jf_free, .priority = 10
JFL_CUDA(cuda_identity, MOVES("identity", identity_prepare))
JFL_CUDA(cuda_broadcast_to, MOVES("broadcast_to", broadcast_prepare))
JFL_CUDA(cuda_transpose, MOVES("transpose", cuda_transpose_prepare))
JFL_CUDA(cuda_slice, MOVES("slice", slice_prepare))
JFL_CUDA(cuda_slice_grad, MOVES("slice_grad", slice_grad_prepare))
JFL_CUDA(cuda_strided_slice, MOVES("strided_slice", strided_prepare))
JFL_CUDA(cuda_strided_slice_grad, MOVES("strided_slice_grad", strided_grad_prepare))
JFL_CUDA(cuda_concat, MOVES("concat", concat_prepare))
JFL_CUDA(cuda_stack, MOVES("stack", concat_prepare))
JFL_CUDA(cuda_split, MOVES("split", split_prepare))

/* ---- fillings ---- */

typedef struct cuda_fill { jf_cu_function *function; uint64_t bytes; } cuda_fill;

static jfl_status fill_prepare(jf_kargs *k, double value)
{
  cuda_fill *f = jf_new(sizeof *f);
  if (!f) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_number_put(k->out[0].dtype, &f->bytes, 0, value);
  jfl_status s = move_function(k, "fill", &f->function);
  if (s) jf_free(f);
  else k->state = f;
  return s;
}

static jfl_status constant_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return fill_prepare(k, ((const jf_constant *)k->attr)->value);
}

static jfl_status zeros_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return fill_prepare(k, 0);
}

static jfl_status ones_prepare(jf_kargs *k, size_t *scratch)
{
  (void)scratch;
  return fill_prepare(k, 1);
}

static jfl_status fill_run(const jf_kargs *k)
{
  const cuda_fill *f = k->state;
  return move_clear(k, f->function, jf_numel(&k->out[0].shape), f->bytes);
}

#define FILLS(op_, prepare_) \
  .op = op_, .prepare = prepare_, .run = fill_run, .release = jf_free, .priority = 10
JFL_CUDA(cuda_constant, FILLS("constant", constant_prepare))
JFL_CUDA(cuda_zeros, FILLS("zeros", zeros_prepare))
JFL_CUDA(cuda_ones, FILLS("ones", ones_prepare))
JFL_CUDA(cuda_zeros_like, FILLS("zeros_like", zeros_prepare))
JFL_CUDA(cuda_ones_like, FILLS("ones_like", ones_prepare))

#endif
