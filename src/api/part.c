/* Public entries about how a call of an op is shared among devices. */
#include "api/api.h"
#include "ir/distribution.h"

#include <string.h>

/* A call as a node, with its signatures. */
typedef struct api_shared {
  jfl_graph *g;
  jf_infer inf;
  jf_node node;
  jf_signatures all;
} api_shared;

/* Checks the call and collects its signatures. */
static jfl_status api_part_begin(const jf_api_call *c, int parts, api_shared *p)
{
  JF_TRY(jf_api_infer(c, p->g, &p->inf));
  JF_ENTER(p->g);
  const jf_infer *made = &p->inf;
  jfl_value *v = jf_alloc(p->g->arena, (size_t)made->n_out * sizeof *v);
  p->node = (jf_node){ .op = made->op, .attr = made->attr, .n_in = made->n_in,
                       .n_out = made->n_out, .in = (jfl_value **)made->in,
                       .out = jf_alloc(p->g->arena, (size_t)made->n_out * sizeof *p->node.out) };
  for (int i = 0; i < made->n_out; i++) {
    v[i] = (jfl_value){ .graph = p->g, .dtype = made->dtype[i], .shape = made->shape[i] };
    p->node.out[i] = &v[i];
  }
  p->all = (jf_signatures){ .arena = p->g->arena, .node = &p->node, .parts = parts };
  jf_signatures_of(&p->all);
  return JFL_OK;
}

static jfl_status api_part_list(const jf_api_call *c, int parts, jfl_graph *g, jf_text *t)
{
  api_shared p = { .g = g };
  JF_TRY(api_part_begin(c, parts, &p));
  for (int i = 0; i < p.all.n; i++) {
    jf_signature_print(t, &p.node, &p.all.signature[i]);
    jf_text_add(t, "\n");
  }
  return JFL_OK;
}

/* How many devices may share a call. */
enum { MOST_PARTS = 1 << 16 };

jfl_status jfl_op_signatures(const jfl_op *op, jfl_array *const *in, int n_in, const jfl_arg *arg,
                             int n_arg, int parts, char **out)
{
  jf_api_call c = { .op = op, .in = in, .n_in = n_in, .arg = arg, .n_arg = n_arg };
  jf_text t = { 0 };
  jfl_graph *g;
  JF_NEED(OP, op);
  JF_NEED_EACH(ARRAY, in, n_in);
  JF_NEED_ARGS(arg, n_arg);
  JF_NEED_FROM(parts, 1, MOST_PARTS);
  JF_NEED_POINTER(out);
  JF_TRY(jf_graph_new(JFL_PREDICT, &g));
  jfl_status s = api_part_list(&c, parts, g, &t);
  jfl_graph_unref(g);
  if (!s) return jf_text_take(&t, out);
  jfl_text_free(t.s);
  return s;
}

/* The attributes of the part, and the number of its first random element. */
static jfl_status api_part_attr(api_shared *p, const jfl_share *part, jf_api_call *own,
                                int64_t *first)
{
  const jf_node *n = &p->node;
  JF_ENTER(p->g);
  if (part->signature < 0) jf_signature_add(&p->all);
  const int which = part->signature < 0 ? p->all.n - 1 : part->signature;
  const jf_share s = jf_share_make(p->g->arena, n, &p->all.signature[which], part->parts,
                                   part->member);
  for (int i = 0; i < n->n_in; i++)
    if (!jf_shape_eq(&own->in[i]->shape, &s.in[i]))
      return jf_fail_argument(JFL_ESHAPE, "own", "must have the shapes of the device's parts");
  own->attr = s.attr;
  *first = n->n_out ? jf_share_first(&s) : 0;
  return JFL_OK;
}

static jfl_status api_part_run(const jf_api_call *c, const jfl_share *part, jfl_array *const *own,
                               jfl_graph *g)
{
  api_shared p = { .g = g };
  jf_api_call mine = *c;
  jf_random_source random = jf_api_random(c->session, c->session->eager_calls - 1);
  JF_TRY(api_part_begin(c, part->parts, &p));
  if (part->signature != -1)
    JF_TRY(jf_need_below("jfl_eager_part", "part->signature", part->signature, p.all.n));
  mine.in = own;
  mine.random = &random;
  JF_TRY(api_part_attr(&p, part, &mine, &random.first));
  return jf_api_call_run(&mine, g);
}

jfl_status jfl_eager_part(jfl_session *s, const jfl_op *op, jfl_array *const *in, int n_in,
                          const jfl_arg *arg, int n_arg, const jfl_share *part,
                          jfl_array *const *own, jfl_array **out)
{
  jfl_graph *g;
  JF_NEED(SESSION, s);
  JF_NEED(OP, op);
  JF_NEED_EACH(ARRAY, in, n_in);
  JF_NEED_ARGS(arg, n_arg);
  JF_NEED_POINTER(part);
  JF_NEED_EACH(ARRAY, own, n_in);
  JF_NEED_POINTER(out);
  JF_TRY(jf_need_from(__func__, "parts", part->parts, 1, MOST_PARTS));
  JF_TRY(jf_need_below(__func__, "part->member", part->member, part->parts));
  const jf_api_call c = { .session = s, .op = op, .in = in, .n_in = n_in, .arg = arg,
                          .n_arg = n_arg, .out = out };
  JF_TRY(jf_graph_new(JFL_PREDICT, &g));
  jfl_status st = api_part_run(&c, part, own, g);
  jfl_graph_unref(g);
  return st;
}
