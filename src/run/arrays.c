/* The arrays that a run of a plan reads and writes. */
#include "run/run.h"

jfl_status jf_plan_outputs_new(const jfl_plan *p, jfl_array **out)
{
  int n = p->graph->n_output;
  for (int i = 0; i < n; i++) {
    const jfl_value *v = p->graph->output[i];
    jfl_status s = jf_array_new_raw(v->dtype, &v->shape, &out[i]);
    if (!s) continue;
    jf_arrays_drop(out, i);
    return jf_fail_in(s, JFL_ERROR_JOB, p->graph->name);
  }
  return JFL_OK;
}

jfl_status jf_check_input(const char *name, jfl_dtype t, const jfl_shape *s, const jfl_array *in)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  if (!jf_shape_eq(&in->shape, s))
    return jf_fail_argument(JFL_ESHAPE, name, "must be of shape %s, got %s", jf_shape_str(s, a),
                            jf_shape_str(&in->shape, b));
  if (in->dtype != t)
    return jf_fail_argument(JFL_EDTYPE, name, "must be %s, got %s", jfl_dtype_name(t),
                            jfl_dtype_name(in->dtype));
  return JFL_OK;
}

jfl_status jf_plan_check_inputs(const jfl_plan *p, jfl_array *const *in)
{
  for (int i = 0; i < p->graph->n_input; i++) {
    const jfl_value *v = p->graph->input[i];
    JF_TRY(jf_fail_in(jf_check_input(v->name, v->dtype, &v->shape, in[i]), JFL_ERROR_JOB,
                      p->graph->name));
  }
  return JFL_OK;
}
