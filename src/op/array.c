/* The op array: data that is part of a job. On a device whose memory is the host's nothing is
   copied: readers find the data where the graph keeps it. */
#include "dev/dev.h"
#include "ir/facts.h"
#include "op/attrs.h"
#include "op/constant.h"
#include "op/move.h"

#include <string.h>

JF_ATTRS(attrs,
  JF_FIELD(jf_array, value, TENSOR, NULL, "the array; what it holds later does not matter"))

static const jfl_array *array_of(const void *attr) { return ((const jf_array *)attr)->value; }

static jfl_status array_infer(jf_infer *c)
{
  const jfl_array *a = array_of(c->attr);
  c->dtype[0] = a->dtype;
  c->shape[0] = a->shape;
  return JFL_OK;
}

/* An array whose elements are all one number becomes a constant, if a double holds the number. */
static jfl_value *array_fold(jf_foldctx *c)
{
  const jfl_array *a = array_of(c->node->attr);
  const size_t size = jfl_dtype_size(a->dtype), n = (size_t)jf_numel(&a->shape);
  const char *data = a->data;
  char back[8] = { 0 };
  if (!n || jf_is_block(a->dtype)) return NULL;
  if (memcmp(data, data + size, (n - 1) * size)) return NULL;
  const double v = jfl_number_get(a->dtype, data, 0);
  jfl_number_put(a->dtype, back, 0, v);
  return memcmp(back, data, size) ? NULL : jf_emit_number(c->g, a->dtype, &a->shape, v);
}

static jfl_status array_copy(const jf_kargs *k)
{
  const jfl_array *a = array_of(k->attr);
  memcpy(k->out[0].data, a->data, JF_BYTES_OF(a));
  return JFL_OK;
}

JFL_OP(array, .doc = "The data of an array, as it is when the op is called.", .out = {"y"},
  .key = -1, JF_WITH(attrs, jf_array), .flags = JF_STORED | JF_BLOCKS,
  .infer = array_infer, .fold = array_fold, .cpu = JF_KERNELS(JF_EVERY_ELEMENT(array_copy)))
