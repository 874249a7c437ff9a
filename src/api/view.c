/* Public entries about the devices that values of a graph lie on, and about the mirrored view. */
#include "api/api.h"
#include "op/attrs.h"
#include "op/op.h"

/* The place where things are added to g now. */
static int api_view_place(const jfl_graph *g, const jfl_session *s)
{
  return g->place == JF_DEFAULT_PLACE ? s->settings.place : g->place;
}

static const jf_group *api_view_group(const jfl_session *s, int place)
{
  return jf_is_group(place) ? s->group[place - JF_GROUPS] : NULL;
}

static int api_view_local(const jf_group *group)
{
  int n = 0;
  for (int i = 0; i < group->n; i++) n += group->member[i].place >= 0;
  return n;
}

static jfl_status api_view_begin(const char *function, jfl_graph *g, jfl_session *s)
{
  JF_TRY(jf_api_check_session(function, g, s));
  JF_TRY(jf_fail_in(jf_session_place_jobs(s), JFL_ERROR_JOB, g->name));
  g->session = s->id;
  return JFL_OK;
}

jfl_status jfl_graph_members(jfl_graph *g, jfl_session *s, jfl_members *out)
{
  JF_NEED(GRAPH, g);
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(out);
  JF_TRY(api_view_begin(__func__, g, s));
  const int place = api_view_place(g, s);
  const jf_group *group = api_view_group(s, place);
  *out = (jfl_members){ jfl_session_device(s, place), group ? group->n : 1,
                        group ? api_view_local(group) : 1 };
  return JFL_OK;
}

jfl_status jfl_graph_mirror(jfl_graph *g, int on)
{
  JF_NEED(GRAPH, g);
  g->mirrored = on != 0;
  return JFL_OK;
}

static jfl_status api_view_change(jfl_graph *g, const jfl_session *s, jfl_value *v, int mirrored,
                                  jfl_value **out)
{
  jf_node *node;
  const jf_group *group = api_view_group(s, api_view_place(g, s));
  if (!group || mirrored == (v->distribution.kind == JFL_MIRRORED)) return *out = v, JFL_OK;
  jf_change_view a = { mirrored, group->n };
  JF_ENTER(g);
  JF_TRY(jf_graph_node(g, &jf_op_change_view, &a, &v, 1, NULL, &node));
  *out = node->out[0];
  return JFL_OK;
}

jfl_status jfl_graph_change_view(jfl_graph *g, jfl_session *s, jfl_value *v, int mirrored,
                                 jfl_value **out)
{
  JF_NEED(GRAPH, g);
  JF_NEED(SESSION, s);
  JF_NEED(VALUE, v);
  JF_NEED_POINTER(out);
  if (v->graph != g)
    return jf_fail_in(jf_fail(JFL_ESTATE, "'%s' must be of this job, got one of job '%s'", v->name,
                              v->graph->name), JFL_ERROR_JOB, g->name);
  JF_TRY(api_view_begin(__func__, g, s));
  return jf_fail_in(api_view_change(g, s, v, mirrored != 0, out), JFL_ERROR_JOB, g->name);
}

const char *jfl_value_place(const jfl_value *v, const jfl_session *s)
{
  if (!JF_IS(VALUE, v) || !JF_IS(SESSION, s)) return NULL;
  return jfl_session_device(s, v->place == JF_DEFAULT_PLACE ? s->settings.place : v->place);
}
