/* The op change_view leads from a value of the whole, which is split along its first axis over the
   devices, to one of each device, and back. Nothing moves: each device has its part already. With
   one part, a value that all devices have becomes each device's own.

   The gradient of a value of each device is that of the device's own loss, and all of them count by
   their mean. A value of the whole has one loss. So a gradient is divided by the number of devices
   on its way from the devices to the whole, and multiplied by it on its way back. */
#include "op/attrs.h"
#include "op/constant.h"
#include "op/op.h"

JF_ATTRS(attrs,
  JF_FIELD(jf_change_view, mirrored, BOOL, NULL, "whether each device has a result of its own"),
  JF_FIELD(jf_change_view, parts, INT, NULL, "how many devices there are"))

static jfl_status change_view_infer(jf_infer *c)
{
  const jf_change_view *a = c->attr;
  jfl_shape *s = &c->shape[0];
  *s = c->in[0]->shape;
  c->dtype[0] = c->in[0]->dtype;
  if (s->n == 0 || (a->mirrored && s->d[0] % a->parts))
    return jf_fail_argument(JFL_ESHAPE, "x", "must have a first extent that %d devices can share "
                            "evenly, got shape %s", (int)a->parts,
                            jf_shape_str(s, (char[JF_SHAPE_STR]){0}));
  s->d[0] = a->mirrored ? s->d[0] / a->parts : s->d[0] * a->parts;
  return JFL_OK;
}

static void change_view_grad(jf_gradctx *c)
{
  jf_change_view a = *(const jf_change_view *)c->node->attr;
  const double factor = a.mirrored ? 1.0 / (double)a.parts : (double)a.parts;
  a.mirrored = !a.mirrored;
  jfl_value *dx = JF_EMIT(c->g, change_view, &a, c->dy[0]);
  if (dx) c->dx[0] = JF_EMIT(c->g, multiply, NULL, dx, jf_scalar(c->g, dx->dtype, factor));
}

static void change_view_signatures(jf_signatures *c)
{
  const jf_change_view *a = c->node->attr;
  const jfl_distribution own = { JFL_MIRRORED, 0 }, whole = a->parts == 1 ? JF_ON_ALL : JF_ALONG(0);
  jf_signature *s = jf_signature_add(c);
  s->in[0] = a->mirrored ? whole : own;
  s->out[0] = a->mirrored ? own : whole;
}

static jfl_distribution change_view_distribution(const void *attr)
{
  const int mirrored = ((const jf_change_view *)attr)->mirrored;
  return mirrored ? (jfl_distribution){ JFL_MIRRORED, 0 } : JF_ALONG(0);
}

static void change_view_share(jf_share *s) { ((jf_change_view *)s->attr)->parts = 1; }

JFL_OP(change_view, .doc = "x in the other view of several devices.", .in = {"x"}, .out = {"y"},
  JF_WITH(attrs, jf_change_view), .flags = JF_VIEW | JF_INTERNAL,
  .infer = change_view_infer, .grad = change_view_grad, .signatures = change_view_signatures,
  .share = change_view_share, .distribution = change_view_distribution)
