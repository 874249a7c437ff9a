/* Public entries of the op table. */
#include "api/api.h"
#include "op/op.h"

#include <string.h>

/* The first op that hosts see, from o on. */
static const jfl_op *const *api_op_seen(const jfl_op *const *o)
{
  while (*o && (*o)->flags & JF_INTERNAL) o++;
  return o;
}

int jfl_op_count(void)
{
  int n = 0;
  for (const jfl_op *const *o = api_op_seen(jf_ops); *o; o = api_op_seen(o + 1)) n++;
  return n;
}

const jfl_op *jfl_op_at(int i)
{
  const jfl_op *const *o = api_op_seen(jf_ops);
  if (i < 0) return NULL;
  while (*o && i--) o = api_op_seen(o + 1);
  return *o;
}

const jfl_op *jfl_op_find(const char *name)
{
  if (!name) return jf_need_pointer(__func__, "name", name), NULL;
  for (const jfl_op *const *o = api_op_seen(jf_ops); *o; o = api_op_seen(o + 1))
    if (!strcmp((*o)->name, name)) return *o;
  return NULL;
}

jfl_status jfl_op_describe(const jfl_op *op, jfl_op_info *info)
{
  JF_NEED(OP, op);
  JF_NEED_POINTER(info);
  *info = (jfl_op_info){
    .name = op->name,
    .doc = op->doc,
    .path = op->flags & JF_SCHEDULE ? NULL : op->path,
    .schedule = op->flags & JF_SCHEDULE ? op->path : NULL,
    .in = op->in,
    .out = op->out,
    .n_in = jf_op_n_in(op),
    .n_out = jf_op_n_out(op),
    .variadic = (op->flags & (JF_VARIADIC | JF_OPTIONAL)) != 0,
    .optional = (op->flags & JF_OPTIONAL) != 0,
    .many = (op->flags & JF_MANY) != 0,
    .n_public = op->n_public ? op->n_public : jf_op_n_out(op),
    .differentiable = op->grad != NULL,
    .elementwise = op->loop != NULL,
    .random = (op->flags & JF_RANDOM) != 0,
    .effect = (op->flags & JF_EFFECT) != 0,
    .key = op->in[0] ? op->key : -1,
    .dtypes = jf_op_dtypes(op),
  };
  info->n_param = jf_attr_count(op->attr);
  return JFL_OK;
}

jfl_status jfl_op_param(const jfl_op *op, int i, jfl_param *out)
{
  JF_NEED(OP, op);
  JF_NEED_BELOW(i, jf_attr_count(op->attr));
  JF_NEED_POINTER(out);
  const jf_attr *a = &op->attr[i];
  *out = (jfl_param){ a->name, jf_attr_type_name(a->type), a->def, a->doc };
  return JFL_OK;
}
