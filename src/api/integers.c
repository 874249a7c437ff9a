/* Public entries that say what a graph reads as integers. */
#include "api/api.h"
#include "op/integers.h"
#include "pass/pass.h"

jfl_status jfl_graph_product_input(jfl_graph *g, jfl_value *factor, int i, jfl_value **out)
{
  jf_integer_product p;
  JF_NEED(GRAPH, g);
  JF_NEED(VALUE, factor);
  JF_NEED_POINTER(out);
  *out = NULL;
  for (int k = 0; k < g->n_node && !*out; k++)
    if (jf_integer_product_of(g->node[k], &p) && p.factor == factor && i-- == 0) *out = p.x;
  return JFL_OK;
}

static jfl_status check_rounding(const jfl_graph *g, const jfl_value *v, const jfl_value *scale,
                                 jfl_dtype to)
{
  if (v->graph != g || scale->graph != g)
    return jf_fail_argument(JFL_EINVAL, "v", "must be a value of this graph, and scale too");
  if (to != JFL_I8 && to != JFL_U8)
    return jf_fail_argument(JFL_EDTYPE, "to", "must be int8 or uint8, got %s", jfl_dtype_name(to));
  if (v->dtype != JFL_F32)
    return jf_fail_argument(JFL_EDTYPE, "v", "must be float32, got %s", jfl_dtype_name(v->dtype));
  if (scale->origin == JF_VARIABLE && scale->dtype == JFL_F32 && jf_numel(&scale->shape) == 1)
    return JFL_OK;
  return jf_fail_argument(JFL_EINVAL, "scale", "must be a variable with one number of float32");
}

static jfl_status round_value(jfl_graph *g, jfl_value *v, jfl_value *scale, jfl_dtype to)
{
  jf_rewrite r;
  JF_ENTER(g);
  jf_rewrite_begin(g, &r);
  jfl_value *rounded = v->origin == JF_RESULT ? NULL : jf_emit_rounded(g, v, scale, to);
  if (rounded) jf_replace(&r, v, rounded);
  for (jf_node *n; (n = jf_rewrite_next(&r));) {
    jf_rewrite_keep(&r, n);
    if (n != v->node) continue;
    rounded = jf_emit_rounded(g, v, scale, to);
    if (rounded) jf_replace(&r, v, rounded);
  }
  jf_rewrite_end(&r);
  jf_serve(g, NULL);
  return g->err;
}

jfl_status jfl_graph_round(jfl_graph *g, jfl_value *v, jfl_value *scale, jfl_dtype to)
{
  jfl_value *known;
  int zero;
  JF_NEED(GRAPH, g);
  JF_NEED(VALUE, v);
  JF_NEED(VALUE, scale);
  JF_TRY(jf_api_check_open(g));
  const jfl_status s = check_rounding(g, v, scale, to);
  if (s) return jf_need_told(__func__, s);
  return jf_integers_of(v, &known, &zero) ? JFL_OK : round_value(g, v, scale, to);
}
