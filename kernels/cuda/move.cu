/* Ops that move elements without looking at them: the boxes that their records name are copied by
   vectors, or by tiles where axes change their order. */
#ifndef JF_DEVICE
#include "dev/cuda/cuda.h"
#include "op/move.h"

#include <stdio.h>
#include <string.h>
#endif

enum { MOVE_TILE = 32, MOVE_ROWS = 8, MOVE_PARTS = 12 };

/* One copy, of elements over a nest of axes. Offsets and steps are in elements. end: how many
   elements it and those before it in a launch have. */
typedef struct move_part {
  const void *x;
  void *y;
  int64_t end, n, from, to;
  int64_t d[8], from_step[8], to_step[8];
} move_part;

/* Kernels' parameters: several copies, or one, which may go by tiles over its last two axes. Of
   those there are `count`, across along the last axis, and down along the one before. */
typedef struct move_all { int64_t n, count, across, down; } move_all;
typedef struct move_several { move_all all; move_part part[MOVE_PARTS]; } move_several;
typedef struct move_single { move_all all; move_part part[1]; } move_single;

#ifdef JF_DEVICE

/* Where both tensors are at an index of the first n axes. */
struct move_place { int64_t from, to; };
JF_INLINE move_place move_place_of(const move_part &a, int n, int64_t index)
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

JF_INLINE void move_element(const move_part &a, int64_t i)
{
  const move_place p = move_place_of(a, (int)a.n, i);
  ((T *)a.y)[p.to] = ((const T *)a.x)[p.from];
}

JF_KERNEL move_one(const move_single a)
{
  JF_EACH(i, a.part[0].end) move_element(a.part[0], i);
}

JF_KERNEL move_parts(const move_several a)
{
  JF_EACH(i, a.part[a.all.n - 1].end) {
    int p = 0;
    while (i >= a.part[p].end) p++;
    move_element(a.part[p], p ? i - a.part[p - 1].end : i);
  }
}

/* Elements are neighbours along the last axis in y, and along the one before in x: a tile goes
   through shared memory, so that neighbouring threads read and write neighbours. */
JF_KERNEL move_tiles(const move_single s)
{
  __shared__ T tile[MOVE_TILE][MOVE_TILE + 1];
  const move_part &a = s.part[0];
  const int lane = threadIdx.x % MOVE_TILE, first = threadIdx.x / MOVE_TILE, n = (int)a.n;
  const int64_t wide = a.d[n - 1], high = a.d[n - 2];
  for (int64_t b = blockIdx.x; b < s.all.count; b += gridDim.x) {
    int64_t column, row;
    const int64_t outer = jf_divide(jf_divide(b, s.all.across, &column), s.all.down, &row);
    const move_place p = move_place_of(a, n - 2, outer);
    const T *x = (const T *)a.x + p.from;
    T *y = (T *)a.y + p.to;
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
static jfl_status move_find(jf_kargs *k, const char *name, size_t size,
                            jf_cuda_kernel **out)
{
  const jf_cuda_source s = { "move", jf_cuda_text_move, NULL,
                             { JF_AS_TYPE("T", jf_cuda_moved(size)) } };
  return jf_cuda_find(k, &s, name, out);
}

/* ---- copies ---- */

/* A copy of a call, from an input to an output; size: bytes of the elements that it moves. */
typedef struct move_copy { int in, out, turns; size_t size; move_part part; } move_copy;
/* Some of the copies, one behind the other. */
typedef struct move_launch {
  jf_cuda_kernel *kernel;
  jf_cuda_grid grid;
  int first;
  move_all all;
} move_launch;
/* What output 0 is before the copies: anything, zeros, or what input 0 is. */
typedef enum move_begin { MOVE_NOTHING, MOVE_ZEROS, MOVE_INPUT } move_begin;
typedef struct move_call {
  move_begin begin;
  int n, n_launch;
  move_launch *launch;
  move_copy copy[];
} move_call;

/* Whether vectors of twice the elements can be moved: both tensors run on along the last axis. */
static int move_widens(const move_part *a)
{
  const int last = (int)a->n - 1;
  int odd = (a->d[last] | a->from | a->to) & 1;
  if (a->from_step[last] != 1 || a->to_step[last] != 1) return 0;
  for (int i = 0; i < last; i++) odd |= (a->from_step[i] | a->to_step[i]) & 1;
  return !odd;
}

static size_t move_widen(move_part *a, size_t size)
{
  enum { VECTOR = 16 };
  for (; size < VECTOR && move_widens(a); size *= 2) {
    a->d[a->n - 1] /= 2;
    a->end /= 2;
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
static int move_turns(move_part *a)
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

/* Adds the copy of a box. */
static void move_add(move_call *m, const jf_kargs *k, const jf_move *move)
{
  move_copy *c = &m->copy[m->n];
  move_part *p = &c->part;
  jf_move_nest nest;
  jf_move_nest_of(k, move, 0, &nest);
  *c = (move_copy){ .in = move->in, .out = move->out,
                    .part = { .end = jf_move_count(move), .n = nest.n, .from = nest.at[0],
                              .to = nest.at[1] } };
  if (!p->end) return;
  memcpy(p->d, nest.d, sizeof p->d);
  memcpy(p->from_step, nest.step[0], sizeof p->from_step);
  memcpy(p->to_step, nest.step[1], sizeof p->to_step);
  c->turns = move_turns(p);
  c->size = jfl_dtype_size(k->out[move->out].dtype);
  if (!c->turns) c->size = move_widen(p, c->size);
  m->n++;
}

/* Fills in the launch of a copy by tiles. */
static void move_tile(const jf_kargs *k, const move_part *p, move_launch *l)
{
  enum { WAVES = 32 };
  const int64_t *d = p->d + p->n - 2;
  l->all.down = (d[0] + MOVE_TILE - 1) / MOVE_TILE;
  l->all.across = (d[1] + MOVE_TILE - 1) / MOVE_TILE;
  l->all.count = p->end / d[0] / d[1] * l->all.down * l->all.across;
  l->grid = jf_cuda_grid_within(k, l->all.count, MOVE_TILE * MOVE_ROWS, WAVES);
}

/* How many copies from number `first` on one launch makes; their ends count those before. */
static int move_gather(move_call *m, int first)
{
  move_copy *c = m->copy + first;
  int n = 1;
  while (first + n < m->n && n < MOVE_PARTS && !c[0].turns && !c[n].turns &&
         c[n].size == c[0].size) {
    c[n].part.end += c[n - 1].part.end;
    n++;
  }
  return n;
}

/* Chooses the kernels of the copies. */
static jfl_status moves_choose(jf_kargs *k, move_call *m)
{
  for (int i = 0; i < m->n; i += (int)m->launch[m->n_launch++].all.n) {
    const move_copy *one = &m->copy[i];
    move_launch *l = &m->launch[m->n_launch];
    const int n = move_gather(m, i);
    *l = (move_launch){ .first = i, .all = { .n = n } };
    if (one->turns) move_tile(k, &one->part, l);
    else l->grid = jf_cuda_grid_of(k, one[n - 1].part.end);
    JF_TRY(move_find(k, one->turns ? "move_tiles" : n > 1 ? "move_parts" : "move_one", one->size,
                     &l->kernel));
  }
  return JFL_OK;
}

/* Sorts the call's moves, of which there are n, into copies and what is before them. */
static jfl_status moves_sort(jf_kargs *k, int n, move_call *m)
{
  const int64_t all = k->n_out == 1 && n > 1 ? jf_numel(&k->out[0].shape) : -1;
  jf_move move;
  for (int i = 0; k->op->moves(k, i, &move); i++) {
    const int begins = i == 0 && jf_move_count(&move) == all;
    if (move.in < 0 && move.number != 0) return JFL_ENOSYS;
    if (move.in < 0) m->begin = MOVE_ZEROS;
    else if (begins) m->begin = MOVE_INPUT;
    else move_add(m, k, &move);
  }
  return moves_choose(k, m);
}

static jfl_status moves_prepare(jf_kargs *k)
{
  int n = 0;
  for (jf_move move; k->op->moves(k, n, &move);) n++;
  move_call *m = jf_new(sizeof *m + (size_t)n * (sizeof *m->copy + sizeof *m->launch));
  if (!m) return jf_fail(JFL_ENOMEM, "out of memory");
  m->launch = (move_launch *)(void *)(m->copy + n);
  const jfl_status s = moves_sort(k, n, m);
  if (s) jf_free(m);
  else k->state = m;
  return s;
}

static jfl_status moves_launch(const jf_kargs *k, const move_call *m, const move_launch *l)
{
  move_several a;
  a.all = l->all;
  for (int i = 0; i < l->all.n; i++) {
    const move_copy *c = &m->copy[l->first + i];
    a.part[i] = c->part;
    a.part[i].x = k->in[c->in].data;
    a.part[i].y = k->out[c->out].data;
  }
  return jf_cuda_launch(k, l->kernel, l->grid, &a);
}

static jfl_status moves_run(const jf_kargs *k)
{
  const move_call *m = k->state;
  const jf_tensor *y = &k->out[0];
  const size_t size = (size_t)jf_numel(&y->shape) * jfl_dtype_size(y->dtype);
  if (m->begin == MOVE_ZEROS) JF_TRY(jf_cuda_clear(k, y->data, size));
  if (m->begin == MOVE_INPUT) JF_TRY(jf_cuda_copy(k, y->data, k->in[0].data, size));
  for (int i = 0; i < m->n_launch; i++) JF_TRY(moves_launch(k, m, &m->launch[i]));
  return JFL_OK;
}

static int moves_accept(const jf_kargs *k)
{
  return k->op->moves && jfl_dtype_size(k->in[0].dtype) <= sizeof(uint64_t);
}

JFL_CUDA(cuda_moves, .accepts = moves_accept, .prepare = moves_prepare, .run = moves_run,
  .release = jf_free, .priority = JF_BY_RECORD)

#endif
