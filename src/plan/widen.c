/* The kernel for a call, whatever its floats. Those of 16 bits whose op has kernels for float32
   alone get a kernel that converts, runs one of those, and converts back. In jobs the pass widen
   has made most of these nodes of float32 already, with conversions that other passes see. */
#include "dev/half.h"
#include "dev/number.h"
#include "op/cast.h"
#include "plan/plan.h"

#include <string.h>

/* A conversion by a device's kernel of the op cast. */
typedef struct wide_cast {
  jf_kargs k;
  jf_choice kernel;
  jf_tensor from, to;
  jf_cast attr;
} wide_cast;

/* The call of float32 tensors. at[i] is where tensor i, the inputs first, lies in scratch; those
   that are no floats of 16 bits stay where they are. cast[i] converts it, on devices whose memory
   only their own kernels can touch. */
typedef struct wide_call {
  jf_kargs k;
  jf_choice kernel;
  size_t scratch, *at;
  wide_cast *cast;
  int n_cast;
} wide_call;

static jf_tensor *wide_tensor(const jf_kargs *k, int i)
{
  return i < k->n_in ? &k->in[i] : &k->out[i - k->n_in];
}

static size_t wide_reserve(size_t *scratch, size_t size)
{
  const size_t at = *scratch;
  *scratch += (size + 63) & ~(size_t)63;
  return at;
}

/* Tensors of the call are copied, with float32 for floats of 16 bits. */
static wide_call *wide_new(const jfl_op *op, const jf_kargs *k, size_t *scratch)
{
  const size_t n = (size_t)(k->n_in + k->n_out);
  wide_call *w = jf_new(sizeof *w + n * (sizeof(jf_tensor) + sizeof *w->at) + op->attr_size);
  if (!w) return NULL;
  jf_tensor *tensor = (jf_tensor *)(w + 1);
  w->at = (size_t *)(tensor + n);
  w->k = *k;
  w->k.in = tensor;
  w->k.out = tensor + k->n_in;
  w->k.attr = op->attr_size ? memcpy(w->at + n, k->attr, op->attr_size) : NULL;
  if (op->attr_size) jf_attr_widen(op, w->at + n);
  for (size_t i = 0; i < n; i++) {
    tensor[i] = *wide_tensor(k, (int)i);
    tensor[i].layout.kind = JF_LAYOUT_PLAIN;
    if (!jf_is_half(tensor[i].dtype)) continue;
    tensor[i].dtype = JFL_F32;
    w->at[i] = wide_reserve(scratch, (size_t)jf_numel(&tensor[i].shape) * sizeof(float));
  }
  return w;
}

/* Converts from one tensor to another, of which one is of float32. */
enum { WIDE_CHUNK = 1 << 14 };
typedef struct wide_move { const jf_tensor *from, *to; int64_t n; } wide_move;

static void wide_chunk(void *ctx, int i)
{
  const wide_move *m = ctx;
  const int64_t at = (int64_t)i * WIDE_CHUNK, n = m->n - at < WIDE_CHUNK ? m->n - at : WIDE_CHUNK;
  const jfl_dtype t = m->from->dtype;
  if (jf_is_half(t)) jf_halves_get(t, (uint16_t *)m->from->data + at, (float *)m->to->data + at, n);
  else jf_halves_put(m->to->dtype, (uint16_t *)m->to->data + at, (float *)m->from->data + at, n);
}

static void wide_convert(const jf_kargs *k, const jf_tensor *from, const jf_tensor *to)
{
  wide_move m = { from, to, jf_numel(&from->shape) };
  jf_parallel(k->threads, (int)((m.n + WIDE_CHUNK - 1) / WIDE_CHUNK), wide_chunk, &m);
}

/* Converts tensor i from or to its copy of float32, as part of the call k. */
static jfl_status wide_pass(const wide_call *w, const jf_kargs *k, int i, const jf_tensor *from,
                            const jf_tensor *to)
{
  if (!w->n_cast) {
    wide_convert(k, from, to);
    return JFL_OK;
  }
  jf_kargs c = w->cast[i].k;
  jf_tensor in = *from, out = *to;
  c.in = &in;
  c.out = &out;
  c.stream = k->stream;
  c.fault = k->fault;
  c.step = k->step;
  return w->cast[i].kernel.run(&c);
}

/* Makes the call with tensors that are copies of the state's. */
static jfl_status wide_run_on(const wide_call *w, const jf_kargs *k, jf_tensor *tensor)
{
  jf_kargs inner = w->k;
  inner.in = tensor;
  inner.out = tensor + k->n_in;
  inner.scratch = (char *)k->scratch + w->scratch;
  inner.random = k->random;
  inner.stream = k->stream;
  inner.fault = k->fault;
  inner.step = k->step;
  for (int i = 0; i < k->n_in + k->n_out; i++) {
    const jf_tensor *own = wide_tensor(k, i);
    jf_tensor *wide = &tensor[i];
    const int differs = own->dtype != wide->dtype;
    wide->data = differs ? (char *)k->scratch + w->at[i] : own->data;
    if (differs && i < k->n_in) JF_TRY(wide_pass(w, k, i, own, wide));
  }
  JF_TRY(w->kernel.run(&inner));
  for (int i = k->n_in; i < k->n_in + k->n_out; i++) {
    const jf_tensor *own = wide_tensor(k, i), *wide = &tensor[i];
    if (own->dtype != wide->dtype) JF_TRY(wide_pass(w, k, i, wide, own));
  }
  return JFL_OK;
}

static jfl_status wide_run(const jf_kargs *k)
{
  enum { FEW = 16 };
  const wide_call *w = k->state;
  const size_t n = (size_t)(k->n_in + k->n_out);
  jf_tensor few[FEW], *tensor = n > FEW ? jf_new_raw(n * sizeof *tensor) : few;
  if (!tensor) return jf_fail(JFL_ENOMEM, "out of memory");
  memcpy(tensor, w->k.in, n * sizeof *tensor);
  const jfl_status s = wide_run_on(w, k, tensor);
  if (tensor != few) jf_free(tensor);
  return s;
}

static void wide_let_go(const jf_choice *kernel, void *state)
{
  if (kernel->row && kernel->row->release && state) kernel->row->release(state);
}

static void wide_release(void *state)
{
  wide_call *w = state;
  wide_let_go(&w->kernel, w->k.state);
  for (int i = 0; i < w->n_cast; i++) wide_let_go(&w->cast[i].kernel, w->cast[i].k.state);
  jf_free(w->cast);
  jf_free(w);
}

static const jf_kernel_row wide_row = {
  .name = "in_float32", .run = wide_run, .release = wide_release
};

/* Finds the device's kernel for the conversion of tensor i; there may be none. */
static jfl_status wide_find_cast(const jf_device *dev, int flags, const jf_kargs *k, int i,
                                 wide_cast *c)
{
  const jf_tensor *own = wide_tensor(k, i);
  const int enters = i < k->n_in;
  size_t scratch;
  c->from = c->to = *own;
  c->attr.dtype = enters ? JFL_F32 : own->dtype;
  (enters ? &c->to : &c->from)->dtype = JFL_F32;
  c->k = (jf_kargs){ .in = &c->from, .n_in = 1, .out = &c->to, .n_out = 1, .attr = &c->attr,
                     .threads = 1 };
  JF_TRY(jf_choose_as_is(dev, jf_converter(), flags, &c->k, &scratch, &c->kernel));
  if (c->kernel.run && !scratch) return JFL_OK;
  return jf_fail(JFL_ENOSYS, "cast: device %s does not convert %s", dev->name,
                 jfl_dtype_name(own->dtype));
}

static jfl_status wide_find_casts(const jf_device *dev, int flags, const jf_kargs *k, wide_call *w)
{
  const int n = k->n_in + k->n_out;
  if (dev->kind->plain) return JFL_OK;
  w->cast = jf_new((size_t)n * sizeof *w->cast);
  if (!w->cast) return jf_fail(JFL_ENOMEM, "out of memory");
  w->n_cast = n;
  for (int i = 0; i < n; i++)
    if (jf_is_half(wide_tensor(k, i)->dtype))
      JF_TRY(wide_find_cast(dev, flags, k, i, &w->cast[i]));
  return JFL_OK;
}

/* Leaves *out as it was where the device has no kernel for float32 either. */
static jfl_status wide_choose(const jf_device *dev, const jfl_op *op, int flags, jf_kargs *k,
                              size_t *scratch, jf_choice *out)
{
  size_t own = 0, inner = 0;
  wide_call *w = wide_new(op, k, &own);
  if (!w) return jf_fail(JFL_ENOMEM, "out of memory while preparing %s", op->name);
  jfl_status s = jf_choose_as_is(dev, op, flags, &w->k, &inner, &w->kernel);
  if (!s && w->kernel.run) s = wide_find_casts(dev, flags, k, w);
  if (s || !w->kernel.run) {
    wide_release(w);
    return s;
  }
  k->state = w;
  w->scratch = own;
  *scratch = own + inner;
  *out = (jf_choice){ wide_run, &wide_row };
  return JFL_OK;
}

jfl_status jf_choose(const jf_device *dev, const jfl_op *op, int flags, jf_kargs *k,
                     size_t *scratch, jf_choice *out)
{
  JF_TRY(jf_choose_as_is(dev, op, flags, k, scratch, out));
  if (out->run) return JFL_OK;
  if (jf_widens(op, k)) JF_TRY(wide_choose(dev, op, flags, k, scratch, out));
  if (out->run) return JFL_OK;
  return jf_fail(JFL_ENOSYS, "%s: device %s has no kernel for %s", op->name, dev->name,
                 jfl_dtype_name(jf_call_key(op, k)));
}
