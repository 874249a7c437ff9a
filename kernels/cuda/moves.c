/* Ops that move elements without looking at them: what each copies where. */
#include "move.h"
#include "op/broadcast.h"
#include "op/op.h"
#include "op/roll.h"
#include "op/slice.h"
#include "op/split.h"
#include "op/strided.h"
#include "op/transpose.h"

#include <string.h>

static jf_move_place move_whole(const jfl_shape *s)
{
  jf_move_place p = { 0 };
  jf_dense_steps(s->n, s->d, 1, p.step);
  return p;
}

/* step NULL: all are 1. */
static jf_move_place move_box(const jfl_shape *whole, const jf_ints *begin, const jf_ints *step)
{
  jf_move_place p = move_whole(whole);
  for (int i = 0; i < whole->n; i++) {
    p.at += begin->v[i] * p.step[i];
    if (step) p.step[i] *= step->v[i];
  }
  return p;
}

/* Input 0 as it lies at `from`, to all of output 0. */
static void moves_take(jf_moves *m, const jf_kargs *k, const jf_move_place *from)
{
  const jf_move_place to = move_whole(&k->out[0].shape);
  jf_moves_add(m, k, 0, 0, &k->out[0].shape, from, &to);
}

/* All of an input to `to` in output 0. */
static void moves_give(jf_moves *m, const jf_kargs *k, int in, const jf_move_place *to)
{
  const jf_move_place from = move_whole(&k->in[in].shape);
  jf_moves_add(m, k, in, 0, &k->in[in].shape, &from, to);
}

static void move_identity(jf_moves *m, const jf_kargs *k)
{
  const jf_move_place from = move_whole(&k->out[0].shape);
  moves_take(m, k, &from);
}

static void move_broadcast(jf_moves *m, const jf_kargs *k)
{
  jf_move_place from = { 0 };
  jf_broadcast_steps(&k->in[0].shape, &k->out[0].shape, 1, from.step);
  moves_take(m, k, &from);
}

static void move_transpose(jf_moves *m, const jf_kargs *k)
{
  const jf_ints *perm = &((const jf_transpose *)k->attr)->perm;
  const jf_move_place x = move_whole(&k->in[0].shape);
  jf_move_place from = { 0 };
  for (int i = 0; i < perm->n; i++) from.step[i] = x.step[perm->v[i]];
  moves_take(m, k, &from);
}

static void move_slice(jf_moves *m, const jf_kargs *k)
{
  const jf_slice *a = k->attr;
  const jf_move_place from = move_box(&k->in[0].shape, &a->begin, NULL);
  moves_take(m, k, &from);
}

static void move_slice_grad(jf_moves *m, const jf_kargs *k)
{
  const jf_slice_grad *a = k->attr;
  const jf_move_place to = move_box(&k->out[0].shape, &a->begin, NULL);
  moves_give(m, k, 0, &to);
}

static void move_strided(jf_moves *m, const jf_kargs *k)
{
  const jf_strided *a = k->attr;
  const jf_move_place from = move_box(&k->in[0].shape, &a->begin, &a->step);
  moves_take(m, k, &from);
}

static void move_strided_grad(jf_moves *m, const jf_kargs *k)
{
  const jf_strided_grad *a = k->attr;
  const jf_move_place to = move_box(&k->out[0].shape, &a->begin, &a->step);
  moves_give(m, k, 0, &to);
}

static void move_strided_update(jf_moves *m, const jf_kargs *k)
{
  const jf_strided_update *a = k->attr;
  const jf_move_place to = move_box(&k->out[0].shape, &a->begin, &a->step);
  moves_give(m, k, 1, &to);
}

/* Both parts of a roll: what stays in front of the axis's end, and what comes back. */
static void move_roll(jf_moves *m, const jf_kargs *k)
{
  const jf_roll *a = k->attr;
  const jfl_shape *s = &k->in[0].shape;
  const jf_move_place whole = move_whole(s);
  jf_move_place later = whole;
  jfl_shape head = *s, tail = *s;
  tail.d[a->axis] = a->shift;
  head.d[a->axis] -= a->shift;
  later.at = a->shift * whole.step[a->axis];
  jf_moves_add(m, k, 0, 0, &head, &whole, &later);
  later.at = head.d[a->axis] * whole.step[a->axis];
  jf_moves_add(m, k, 0, 0, &tail, &later, &whole);
}

/* The parts of the inputs that follow each other along an axis; parts NULL: all of each. A stack
   has one axis more than its inputs, along which each has one index. */
static void move_parts_of(jf_moves *m, const jf_kargs *k, int64_t axis, const jf_join *parts)
{
  const jfl_shape *y = &k->out[0].shape;
  const jf_move_place whole = move_whole(y);
  jf_move_place to = { 0 };
  for (int i = 0; i < k->n_in; i++) {
    jfl_shape x = k->in[i].shape;
    jf_move_place from = move_whole(&x);
    const int is_stack = x.n < y->n;
    for (int j = 0; j < x.n; j++) to.step[j] = whole.step[j + (is_stack && j >= axis)];
    if (parts) {
      from.at = parts->begin.v[i] * from.step[axis];
      x.d[axis] = parts->size.v[i];
    }
    jf_moves_add(m, k, i, 0, &x, &from, &to);
    to.at += (is_stack ? 1 : x.d[axis]) * whole.step[axis];
  }
}

static void move_concat(jf_moves *m, const jf_kargs *k)
{
  move_parts_of(m, k, ((const jf_concat *)k->attr)->axis, NULL);
}

static void move_join(jf_moves *m, const jf_kargs *k)
{
  const jf_join *a = k->attr;
  move_parts_of(m, k, a->axis, a);
}

static void move_split(jf_moves *m, const jf_kargs *k)
{
  const int64_t axis = ((const jf_split *)k->attr)->axis;
  jf_move_place from = move_whole(&k->in[0].shape);
  for (int i = 0; i < k->n_out; i++) {
    const jf_move_place to = move_whole(&k->out[i].shape);
    jf_moves_add(m, k, 0, i, &k->out[i].shape, &from, &to);
    from.at += k->out[i].shape.d[axis] * from.step[axis];
  }
}

static const struct move_op {
  const char *name;
  void (*describe)(jf_moves *m, const jf_kargs *k);
  jf_move_begin begin;
} move_ops[] = {
  { "identity", move_identity, JF_MOVE_NOTHING },
  { "broadcast_to", move_broadcast, JF_MOVE_NOTHING },
  { "transpose", move_transpose, JF_MOVE_NOTHING },
  { "slice", move_slice, JF_MOVE_NOTHING },
  { "slice_grad", move_slice_grad, JF_MOVE_ZEROS },
  { "strided_slice", move_strided, JF_MOVE_NOTHING },
  { "strided_slice_grad", move_strided_grad, JF_MOVE_ZEROS },
  { "strided_slice_update", move_strided_update, JF_MOVE_INPUT },
  { "roll", move_roll, JF_MOVE_NOTHING },
  { "concat", move_concat, JF_MOVE_NOTHING },
  { "stack", move_concat, JF_MOVE_NOTHING },
  { "join", move_join, JF_MOVE_NOTHING },
  { "split", move_split, JF_MOVE_NOTHING },
};

static jfl_status moves_prepare(jf_kargs *k, size_t *scratch)
{
  const struct move_op *op = move_ops;
  (void)scratch;
  while (strcmp(op->name, k->op->name)) op++;
  return jf_moves_prepare(k, op->begin, op->describe);
}

#define MOVES(op_) \
  .op = op_, .prepare = moves_prepare, .run = jf_moves_run, .release = jf_free, .priority = 10
JFL_CUDA(cuda_identity, MOVES("identity"))
JFL_CUDA(cuda_broadcast_to, MOVES("broadcast_to"))
JFL_CUDA(cuda_transpose, MOVES("transpose"))
JFL_CUDA(cuda_slice, MOVES("slice"))
JFL_CUDA(cuda_slice_grad, MOVES("slice_grad"))
JFL_CUDA(cuda_strided_slice, MOVES("strided_slice"))
JFL_CUDA(cuda_strided_slice_grad, MOVES("strided_slice_grad"))
JFL_CUDA(cuda_strided_slice_update, MOVES("strided_slice_update"))
JFL_CUDA(cuda_roll, MOVES("roll"))
JFL_CUDA(cuda_concat, MOVES("concat"))
JFL_CUDA(cuda_stack, MOVES("stack"))
JFL_CUDA(cuda_join, MOVES("join"))
JFL_CUDA(cuda_split, MOVES("split"))
