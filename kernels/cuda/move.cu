/* Ops that move elements without looking at them, as copies between boxes of tensors. */
#ifndef JF_DEVICE
#include "base/walk.h"
#include "dev/cuda/cuda.h"
#include "op/broadcast.h"
#include "op/op.h"
#include "op/roll.h"
#include "op/slice.h"
#include "op/split.h"
#include "op/strided.h"
#include "op/transpose.h"

#include <stdio.h>
#include <string.h>
#endif

enum { MOVE_TILE = 32, MOVE_ROWS = 8 };

/* One copy: of `count` elements, over a nest of axes, from data[0] to data[1]. Offsets and steps
   are in elements. Where the copy goes by tiles, those lie over the last two axes, count is that of
   tiles, and across and down are how many there are along the last axis and the one before. */
typedef struct move_args {
  struct jf_cuda_head head;
  int64_t count, n, from, to, across, down;
  int64_t d[8], from_step[8], to_step[8];
} move_args;

#ifdef JF_DEVICE

/* Where both tensors are at an index of the first n axes. */
struct move_place { int64_t from, to; };
JF_INLINE move_place move_place_of(const move_args &a, int n, int64_t index)
{
  move_place p = { a.from, a.to };
  for (int k = n - 1; k >= 0; k--) {
    int64_t at;
    index = jf_divide(index, a.d[k], &at);
    p.from += at * a.from_step[k];
    p.to += at * a.to_step[k];
  }
  return p;
}

JF_KERNEL move(const move_args a)
{
  const T *x = (const T *)a.head.data[0];
  T *y = (T *)a.head.data[1];
  JF_EACH(i, a.count) {
    const move_place p = move_place_of(a, (int)a.n, i);
    y[p.to] = x[p.from];
  }
}

/* Elements are neighbours along the last axis in y, and along the one before in x: a tile goes
   through shared memory, so that neighbouring threads read and write neighbours. */
JF_KERNEL move_tiles(const move_args a)
{
  __shared__ T tile[MOVE_TILE][MOVE_TILE + 1];
  const int lane = threadIdx.x % MOVE_TILE, first = threadIdx.x / MOVE_TILE, n = (int)a.n;
  const int64_t wide = a.d[n - 1], high = a.d[n - 2];
  for (int64_t b = blockIdx.x; b < a.count; b += gridDim.x) {
    int64_t column, row;
    const int64_t outer = jf_divide(jf_divide(b, a.across, &column), a.down, &row);
    const move_place p = move_place_of(a, n - 2, outer);
    const T *x = (const T *)a.head.data[0] + p.from;
    T *y = (T *)a.head.data[1] + p.to;
    column *= MOVE_TILE;
    row *= MOVE_TILE;
    __syncthreads();
    for (int r = first; r < MOVE_TILE; r += MOVE_ROWS)
      if (column + r < wide && row + lane < high)
        tile[r][lane] = x[(column + r) * a.from_step[n - 1] + row + lane];
    __syncthreads();
    for (int r = first; r < MOVE_TILE; r += MOVE_ROWS)
      if (row + r < high && column + lane < wide)
        y[(row + r) * a.to_step[n - 2] + column + lane] = tile[lane][r];
  }
}

#else

extern const char jf_cuda_text_move[];

/* Elements are moved as integers of their size, several at once as vectors. */
static jfl_status move_function(const jf_kargs *k, const char *name, size_t size,
                                jf_cu_function **out)
{
  char define[32];
  snprintf(define, sizeof define, "typedef %s T;\n", jf_cuda_moved(size));
  const jf_cuda_source s = { "move", jf_cuda_text_move, define };
  return jf_cuda_function(k->device->state, &s, name, out);
}

/* ---- copies ---- */

/* What output 0 is before the copies: anything, zeros, or what input 0 is. */
typedef enum move_begin { MOVE_NOTHING, MOVE_ZEROS, MOVE_INPUT } move_begin;

/* The copies of a call, each from an input to an output. */
typedef struct move_one {
  int in, out;
  jf_cu_function *function;
  jf_cuda_grid grid;
  move_args args;
} move_one;
typedef struct moves {
  move_begin begin;
  int n;
  move_one one[];
} moves;

/* Where a box lies in a tensor: its steps there and its first element. */
typedef struct move_place { int64_t at, step[JFL_MAXDIM]; } move_place;

static move_place move_whole(const jfl_shape *s)
{
  move_place p = { 0 };
  jf_dense_steps(s->n, s->d, 1, p.step);
  return p;
}

/* step NULL: all are 1. */
static move_place move_box(const jfl_shape *whole, const jf_ints *begin, const jf_ints *step)
{
  move_place p = move_whole(whole);
  for (int i = 0; i < whole->n; i++) {
    p.at += begin->v[i] * p.step[i];
    if (step) p.step[i] *= step->v[i];
  }
  return p;
}

/* Whether vectors of twice the elements can be moved: both tensors run on along the last axis. */
static int move_widens(const move_args *a)
{
  const int last = (int)a->n - 1;
  int odd = (a->d[last] | a->from | a->to) & 1;
  if (a->from_step[last] != 1 || a->to_step[last] != 1) return 0;
  for (int i = 0; i < last; i++) odd |= (a->from_step[i] | a->to_step[i]) & 1;
  return !odd;
}

static size_t move_widen(move_args *a, size_t size)
{
  enum { VECTOR = 16 };
  for (; size < VECTOR && move_widens(a); size *= 2) {
    a->d[a->n - 1] /= 2;
    a->count /= 2;
    a->from /= 2;
    a->to /= 2;
    for (int i = 0; i < a->n - 1; i++) {
      a->from_step[i] /= 2;
      a->to_step[i] /= 2;
    }
  }
  return size;
}

/* Moves the axis along which x runs on before the last one, along which y does. 0: there are no
   such two axes, or they are too short for tiles. */
static int move_turns(move_args *a)
{
  enum { SHORT = MOVE_TILE / 2 };
  const int last = (int)a->n - 1;
  if (a->to_step[last] != 1 || a->from_step[last] == 1 || a->d[last] < SHORT) return 0;
  for (int i = last - 1; i >= 0; i--) {
    if (a->from_step[i] != 1 || a->d[i] < SHORT) continue;
    int64_t *const list[] = { a->d, a->from_step, a->to_step };
    for (int l = 0; l < 3; l++) {
      const int64_t v = list[l][i];
      memmove(list[l] + i, list[l] + i + 1, (size_t)(last - 1 - i) * sizeof v);
      list[l][last - 1] = v;
    }
    return 1;
  }
  return 0;
}

/* Chooses the kernel of a copy. */
static jfl_status move_choose(const jf_kargs *k, move_one *o)
{
  enum { WAVES = 32 };
  const jf_cuda *c = k->device->state;
  move_args *a = &o->args;
  const size_t size = jfl_dtype_size(k->out[0].dtype);
  if (move_turns(a)) {
    const int64_t *d = a->d + a->n - 2, most = (int64_t)c->multiprocessors * WAVES;
    a->down = (d[0] + MOVE_TILE - 1) / MOVE_TILE;
    a->across = (d[1] + MOVE_TILE - 1) / MOVE_TILE;
    a->count = a->count / d[0] / d[1] * a->down * a->across;
    o->grid = (jf_cuda_grid){ a->count < most ? a->count : most, MOVE_TILE * MOVE_ROWS, 0 };
    return move_function(k, "move_tiles", size, &o->function);
  }
  const size_t vector = move_widen(a, size);
  o->grid = jf_cuda_grid_of(c, a->count);
  return move_function(k, "move", vector, &o->function);
}

/* Adds a copy of a box between two places. */
static jfl_status moves_add(moves *m, const jf_kargs *k, int in, int out, const jfl_shape *box,
                            const move_place *from, const move_place *to)
{
  int64_t step[2][JFL_MAXDIM];
  jf_nest nest = { .n = box->n, .n_op = 2, .step = step };
  move_one *o = &m->one[m->n];
  const int64_t count = jf_numel(box);
  if (count == 0) return JFL_OK;
  memcpy(nest.d, box->d, sizeof nest.d);
  memcpy(step[0], from->step, sizeof step[0]);
  memcpy(step[1], to->step, sizeof step[1]);
  jf_nest_join(&nest, 0);
  *o = (move_one){ .in = in, .out = out, .args = { .count = count, .n = nest.n,
                                                   .from = from->at, .to = to->at } };
  memcpy(o->args.d, nest.d, sizeof o->args.d);
  memcpy(o->args.from_step, step[0], sizeof step[0]);
  memcpy(o->args.to_step, step[1], sizeof step[1]);
  m->n++;
  return move_choose(k, o);
}

/* ---- the ops: what each copies ---- */

/* Input 0 as it lies at `from`, to all of output 0. */
static jfl_status moves_take(moves *m, const jf_kargs *k, const move_place *from)
{
  const move_place to = move_whole(&k->out[0].shape);
  return moves_add(m, k, 0, 0, &k->out[0].shape, from, &to);
}

/* All of an input to `to` in output 0. */
static jfl_status moves_give(moves *m, const jf_kargs *k, int in, const move_place *to)
{
  const move_place from = move_whole(&k->in[in].shape);
  return moves_add(m, k, in, 0, &k->in[in].shape, &from, to);
}

static jfl_status move_identity(moves *m, const jf_kargs *k)
{
  const move_place from = move_whole(&k->out[0].shape);
  return moves_take(m, k, &from);
}

static jfl_status move_broadcast(moves *m, const jf_kargs *k)
{
  move_place from = { 0 };
  jf_broadcast_steps(&k->in[0].shape, &k->out[0].shape, 1, from.step);
  return moves_take(m, k, &from);
}

static jfl_status move_transpose(moves *m, const jf_kargs *k)
{
  const jf_ints *perm = &((const jf_transpose *)k->attr)->perm;
  const move_place x = move_whole(&k->in[0].shape);
  move_place from = { 0 };
  for (int i = 0; i < perm->n; i++) from.step[i] = x.step[perm->v[i]];
  return moves_take(m, k, &from);
}

static jfl_status move_slice(moves *m, const jf_kargs *k)
{
  const jf_slice *a = k->attr;
  const move_place from = move_box(&k->in[0].shape, &a->begin, NULL);
  return moves_take(m, k, &from);
}

static jfl_status move_slice_grad(moves *m, const jf_kargs *k)
{
  const jf_slice_grad *a = k->attr;
  const move_place to = move_box(&k->out[0].shape, &a->begin, NULL);
  return moves_give(m, k, 0, &to);
}

static jfl_status move_strided(moves *m, const jf_kargs *k)
{
  const jf_strided *a = k->attr;
  const move_place from = move_box(&k->in[0].shape, &a->begin, &a->step);
  return moves_take(m, k, &from);
}

static jfl_status move_strided_grad(moves *m, const jf_kargs *k)
{
  const jf_strided_grad *a = k->attr;
  const move_place to = move_box(&k->out[0].shape, &a->begin, &a->step);
  return moves_give(m, k, 0, &to);
}

static jfl_status move_strided_update(moves *m, const jf_kargs *k)
{
  const jf_strided_update *a = k->attr;
  const move_place to = move_box(&k->out[0].shape, &a->begin, &a->step);
  return moves_give(m, k, 1, &to);
}

/* Both parts of a roll: what stays in front of the axis's end, and what comes back. */
static jfl_status move_roll(moves *m, const jf_kargs *k)
{
  const jf_roll *a = k->attr;
  const jfl_shape *s = &k->in[0].shape;
  const move_place whole = move_whole(s);
  move_place later = whole;
  jfl_shape head = *s, tail = *s;
  tail.d[a->axis] = a->shift;
  head.d[a->axis] -= a->shift;
  later.at = a->shift * whole.step[a->axis];
  JF_TRY(moves_add(m, k, 0, 0, &head, &whole, &later));
  later.at = head.d[a->axis] * whole.step[a->axis];
  return moves_add(m, k, 0, 0, &tail, &later, &whole);
}

/* The parts of the inputs that follow each other along an axis; parts NULL: all of each. A stack
   has one axis more than its inputs, along which each has one index. */
static jfl_status move_parts(moves *m, const jf_kargs *k, int64_t axis, const jf_join *parts)
{
  const jfl_shape *y = &k->out[0].shape;
  const move_place whole = move_whole(y);
  move_place to = { 0 };
  for (int i = 0; i < k->n_in; i++) {
    jfl_shape x = k->in[i].shape;
    move_place from = move_whole(&x);
    const int is_stack = x.n < y->n;
    for (int j = 0; j < x.n; j++) to.step[j] = whole.step[j + (is_stack && j >= axis)];
    if (parts) {
      from.at = parts->begin.v[i] * from.step[axis];
      x.d[axis] = parts->size.v[i];
    }
    JF_TRY(moves_add(m, k, i, 0, &x, &from, &to));
    to.at += (is_stack ? 1 : x.d[axis]) * whole.step[axis];
  }
  return JFL_OK;
}

static jfl_status move_concat(moves *m, const jf_kargs *k)
{
  return move_parts(m, k, ((const jf_concat *)k->attr)->axis, NULL);
}

static jfl_status move_join(moves *m, const jf_kargs *k)
{
  const jf_join *a = k->attr;
  return move_parts(m, k, a->axis, a);
}

static jfl_status move_split(moves *m, const jf_kargs *k)
{
  const int64_t axis = ((const jf_split *)k->attr)->axis;
  move_place from = move_whole(&k->in[0].shape);
  for (int i = 0; i < k->n_out; i++) {
    const move_place to = move_whole(&k->out[i].shape);
    JF_TRY(moves_add(m, k, 0, i, &k->out[i].shape, &from, &to));
    from.at += k->out[i].shape.d[axis] * from.step[axis];
  }
  return JFL_OK;
}

static const struct move_op {
  const char *name;
  jfl_status (*describe)(moves *m, const jf_kargs *k);
  move_begin begin;
} move_ops[] = {
  { "identity", move_identity, MOVE_NOTHING },
  { "broadcast_to", move_broadcast, MOVE_NOTHING },
  { "transpose", move_transpose, MOVE_NOTHING },
  { "slice", move_slice, MOVE_NOTHING },
  { "slice_grad", move_slice_grad, MOVE_ZEROS },
  { "strided_slice", move_strided, MOVE_NOTHING },
  { "strided_slice_grad", move_strided_grad, MOVE_ZEROS },
  { "strided_slice_update", move_strided_update, MOVE_INPUT },
  { "roll", move_roll, MOVE_NOTHING },
  { "concat", move_concat, MOVE_NOTHING },
  { "stack", move_concat, MOVE_NOTHING },
  { "join", move_join, MOVE_NOTHING },
  { "split", move_split, MOVE_NOTHING },
};

static jfl_status moves_prepare(jf_kargs *k, size_t *scratch)
{
  const struct move_op *op = move_ops;
  const size_t most = (size_t)(k->n_in + k->n_out);
  moves *m = jf_new(sizeof *m + most * sizeof *m->one);
  (void)scratch;
  if (!m) return jf_fail(JFL_ENOMEM, "out of memory");
  while (strcmp(op->name, k->op->name)) op++;
  m->begin = op->begin;
  const jfl_status s = op->describe(m, k);
  if (s) jf_free(m);
  else k->state = m;
  return s;
}

/* Makes output 0 what it is before the copies. */
static jfl_status moves_begin(const jf_kargs *k, move_begin begin)
{
  const jf_tensor *y = &k->out[0];
  const size_t size = (size_t)jf_numel(&y->shape) * jfl_dtype_size(y->dtype);
  if (begin == MOVE_ZEROS) return jf_cuda_clear(k, y->data, size);
  return begin == MOVE_INPUT ? jf_cuda_copy(k, y->data, k->in[0].data, size) : JFL_OK;
}

static jfl_status moves_run(const jf_kargs *k)
{
  const moves *m = k->state;
  JF_TRY(moves_begin(k, m->begin));
  for (int i = 0; i < m->n; i++) {
    const move_one *o = &m->one[i];
    move_args a = o->args;
    a.head.data[0] = k->in[o->in].data;
    a.head.data[1] = k->out[o->out].data;
    JF_TRY(jf_cuda_launch(k, o->function, o->grid, &a));
  }
  return JFL_OK;
}

#define MOVES(op_) \
  .op = op_, .prepare = moves_prepare, .run = moves_run, .release = jf_free, .priority = 10
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

#endif
