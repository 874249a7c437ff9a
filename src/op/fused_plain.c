/* The plain kernel of fused programs. It computes whole tensors, one instruction after another, by
   the plain kernels of their ops. Faster kernels are checked against it. */
#include "base/walk.h"
#include "op/fused.h"
#include "op/op.h"

#include <string.h>

static int64_t space_size(const jf_fused *f) { return jf_numel(&f->space); }

/* The number of elements of slot s. */
static int64_t slot_size(const jf_fused *f, int s)
{
  const jf_fused_slot *slot = &f->slot[s];
  if (slot->in >= 0) return jf_numel(&f->in[slot->in].shape);
  if (slot->out >= 0) return jf_numel(&f->out[slot->out].shape);
  if (slot->kind == JF_SLOT_NUMBER) return 1;
  return slot->kind == JF_SLOT_ROW ? space_size(f) / f->row : space_size(f);
}

static size_t plain_padded(int64_t n, size_t size) { return ((size_t)n * size + 63) / 64 * 64; }

/* Scratch holds the slots that are neither inputs nor outputs, one after another, then room for the
   operands of one instruction. This gives the bytes of slot s there. */
static size_t inside_bytes(const jf_fused *f, int s)
{
  if (f->slot[s].in >= 0 || f->slot[s].out >= 0) return 0;
  return plain_padded(slot_size(f, s), jfl_dtype_size(f->slot[s].dtype));
}

/* The memory of slot s; for s = n_slot, the start of the room for operands. */
static char *place_of(const jf_kargs *k, int s)
{
  const jf_fused *f = k->attr;
  char *at = k->scratch;
  if (s < f->n_slot && f->slot[s].in >= 0) return k->in[f->slot[s].in].data;
  if (s < f->n_slot && f->slot[s].out >= 0) return k->out[f->slot[s].out].data;
  for (int i = 0; i < s; i++) at += inside_bytes(f, i);
  return at;
}

/* Bytes of room to expand input i of an instruction to an element for each of the space; 0 if the
   instruction can read the slot as it is. */
static size_t input_room(const jf_fused *f, const jf_instr *p, int i)
{
  const jf_fused_slot *in = &f->slot[p->in[i]], *out = &f->slot[p->out[0]];
  if (in->kind == JF_SLOT_EACH || out->kind == JF_SLOT_ROW) return 0;
  return plain_padded(space_size(f), jfl_dtype_size(in->dtype));
}

size_t jf_fused_plain_scratch(const jf_kargs *k)
{
  const jf_fused *f = k->attr;
  size_t inside = 0, most = 0;
  for (int s = 0; s < f->n_slot; s++) inside += inside_bytes(f, s);
  for (int i = 0; i < f->n_instr; i++) {
    size_t room = 0;
    for (int j = 0; j < f->instr[i].n_in; j++) room += input_room(f, &f->instr[i], j);
    if (room > most) most = room;
  }
  return inside + most;
}

void jf_fused_number(const jf_fused_slot *s, void *to)
{
  jfl_number_put(s->dtype, to, 0, s->number);
}

/* The element of slot s that belongs to element i of the space. The nest's only operand is slot
   s. */
static int64_t element_of(const jf_fused *f, const jf_fused_slot *s, const jf_nest *space,
                          int64_t i)
{
  if (s->kind == JF_SLOT_EACH) return i;
  if (s->kind == JF_SLOT_ROW) return i / f->row;
  return s->kind == JF_SLOT_NUMBER ? 0 : jf_nest_offset(space, 0, space->n, i);
}

/* Copies slot s to `to`, repeating elements so that there is one for each of the space. */
static void expand(const jf_kargs *k, int s, char *to)
{
  const jf_fused *f = k->attr;
  const size_t size = jfl_dtype_size(f->slot[s].dtype);
  const char *from = place_of(k, s);
  jf_nest space = { .n = f->space.n, .n_op = 1, .step = &f->slot[s].step };
  memcpy(space.d, f->space.d, sizeof space.d);
  for (int64_t i = 0; i < space_size(f) && !jf_loop_ends_at(i, 1); i++) {
    const int64_t at = element_of(f, &f->slot[s], &space, i);
    memcpy(to + (size_t)i * size, from + (size_t)at * size, size);
  }
}

static void apply(const jf_kargs *k, const jf_instr *p)
{
  const jf_fused *f = k->attr;
  const int by_row = f->slot[p->out[0]].kind == JF_SLOT_ROW;
  char *room = place_of(k, f->n_slot);
  jf_loop_args t = { .n = slot_size(f, p->out[0]), .attr = p->attr, .random = k->random,
                     .out = place_of(k, p->out[0]) };
  if (p->n_out > 1) t.second = place_of(k, p->out[1]);
  for (int i = 0; i < p->n_in; i++) {
    const size_t bytes = input_room(f, p, i);
    if (bytes) expand(k, p->in[i], room);
    t.in[i] = bytes ? room : place_of(k, p->in[i]);
    t.step[i] = !by_row || f->slot[p->in[i]].kind == JF_SLOT_ROW;
    room += bytes;
  }
  p->op->loop[p->key](&t);
}

static jfl_status plain_add_up(const jf_kargs *k, const jf_instr *p)
{
  const jf_fused *f = k->attr;
  const jfl_dtype type = f->slot[p->out[0]].dtype;
  jf_tensor x = { .data = place_of(k, p->in[0]), .dtype = type,
                  .shape = p->shape };
  jf_tensor y = { .data = place_of(k, p->out[0]), .dtype = type,
                  .shape = { 1, { slot_size(f, p->out[0]) } } };
  jf_kargs sum = { .in = &x, .out = &y, .n_in = 1, .n_out = 1, .attr = p->attr, .threads = 1 };
  return p->op->cpu[p->key](&sum);
}

jfl_status jf_fused_plain(const jf_kargs *k)
{
  const jf_fused *f = k->attr;
  for (int s = 0; s < f->n_slot; s++)
    if (f->slot[s].kind == JF_SLOT_NUMBER) jf_fused_number(&f->slot[s], place_of(k, s));
  for (int i = 0; i < f->n_instr; i++) {
    if (f->instr[i].op->loop) apply(k, &f->instr[i]);
    else JF_TRY(plain_add_up(k, &f->instr[i]));
  }
  return JFL_OK;
}
