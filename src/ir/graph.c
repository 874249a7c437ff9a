/* Building a graph: values, nodes, names. */
#include "dev/dev.h"
#include "ir/ir.h"

#include <string.h>

/* A graph and the arena that holds everything it owns, in one block. */
typedef struct owner { jfl_graph graph; jf_arena arena; } owner;

jfl_status jf_graph_new(jfl_mode mode, jfl_graph **out)
{
  owner *o = jf_new(sizeof *o);
  if (!o) return jf_fail(JFL_ENOMEM, "out of memory");
  o->graph.tag = JF_TAG_GRAPH;
  o->graph.refs = 1;
  o->graph.arena = &o->arena;
  o->graph.mode = mode;
  o->graph.name = "";
  o->graph.place = JF_DEFAULT_PLACE;
  *out = &o->graph;
  return JFL_OK;
}

jfl_graph *jfl_graph_ref(jfl_graph *g)
{
  if (!JF_IS(GRAPH, g)) return NULL;
  atomic_fetch_add(&g->refs, 1);
  return g;
}

void jfl_graph_unref(jfl_graph *g)
{
  if (!g || !JF_IS(GRAPH, g) || atomic_fetch_sub(&g->refs, 1) != 1) return;
  g->tag = JF_TAG_FREED;
  for (jfl_value *v = g->newest; v; v = v->older) v->tag = JF_TAG_FREED;
  for (int i = 0; i < g->n_array; i++) jfl_array_unref(g->array[i].array);
  jf_arena_free(g->arena);
  jf_free(g->traced);
  jf_free(g);
}

static jfl_value *add_value(jfl_graph *g, jf_origin origin, jfl_dtype t, const jfl_shape *s,
                            const char *name)
{
  jfl_value *v = jf_alloc(g->arena, sizeof *v);
  *v = (jfl_value){ .tag = JF_TAG_VALUE, .graph = g, .id = g->n_value, .origin = origin,
                    .dtype = t, .shape = *s, .name = name, .line = g->source.line,
                    .place = g->served ? g->served->place : g->place, .older = g->newest };
  g->newest = v;
  g->value = jf_grow(g->arena, g->value, g->n_value, &g->cap_value, sizeof *g->value);
  return g->value[g->n_value++] = v;
}

static jfl_status claim_name(jfl_graph *g, const char *name, void *owner_of_name)
{
  if (jf_map_get(&g->names, name))
    return jf_fail_in(jf_fail(JFL_ENAME, "the name '%s' is taken; names must be unique within a "
                              "job", name), JFL_ERROR_JOB, g->name);
  jf_map_put(g->arena, &g->names, name, owner_of_name);
  return JFL_OK;
}

jfl_status jf_graph_input(jfl_graph *g, const char *name, jfl_dtype t, const jfl_shape *s,
                          jfl_value **out)
{
  JF_TRY(jf_shape_check(s, name));
  JF_TRY(claim_name(g, name, g));
  jfl_value *v = add_value(g, JF_INPUT, t, s, jf_strdup(g->arena, name));
  v->index = g->n_input;
  g->input = jf_grow(g->arena, g->input, g->n_input, &g->cap_input, sizeof *g->input);
  g->input[g->n_input++] = v;
  *out = v;
  return JFL_OK;
}

void jf_graph_output(jfl_graph *g, jfl_value *v)
{
  g->output = jf_grow(g->arena, g->output, g->n_output, &g->cap_output, sizeof *g->output);
  g->output[g->n_output++] = v;
}

static jfl_status same_variable(const jfl_value *v, const jfl_variable_spec *spec)
{
  char a[JF_SHAPE_STR], b[JF_SHAPE_STR];
  const jfl_shape *s = &v->variable->shape;
  if (jf_shape_eq(s, &spec->shape) && v->dtype == spec->dtype) return JFL_OK;
  return jf_fail(JFL_ESHAPE, "variable '%s' must be %s %s, as which it exists, got %s %s", v->name,
                 jfl_dtype_name(v->dtype), jf_shape_str(s, a), jfl_dtype_name(spec->dtype),
                 jf_shape_str(&spec->shape, b));
}

jfl_status jf_graph_variable(jfl_graph *g, const jfl_variable_spec *spec, jfl_value **out)
{
  jfl_value *v = jf_map_get(&g->variables, spec->name);
  JF_TRY(jf_shape_check(&spec->shape, spec->name));
  if (v) {
    JF_TRY(same_variable(v, spec));
    return *out = v, JFL_OK;
  }
  jfl_variable_spec *own = jf_alloc(g->arena, sizeof *own);
  *own = *spec;
  own->name = jf_strdup(g->arena, spec->name);
  v = add_value(g, JF_VARIABLE, spec->dtype, &spec->shape, own->name);
  v->variable = own;
  jf_map_put(g->arena, &g->variables, own->name, v);
  *out = v;
  return JFL_OK;
}

jfl_value *jf_state_variable(jfl_graph *g, const jfl_variable_spec *spec)
{
  jfl_value *v;
  if (g->err || (g->err = jf_graph_variable(g, spec, &v))) return NULL;
  return v;
}

static size_t graph_bytes_of(const jfl_array *a)
{
  return (size_t)jfl_array_size(a) * jfl_dtype_size(a->dtype);
}

static int holds_same(const jf_graph_array *k, const jfl_array *a, uint64_t hash)
{
  return k->hash == hash && k->array->dtype == a->dtype &&
         jf_shape_eq(&k->array->shape, &a->shape) &&
         !memcmp(k->array->data, a->data, graph_bytes_of(a));
}

/* Copies an array into the graph, where it lives as long as the graph does. If the graph has one of
   the same dtype, shape and contents, that is returned. On failure returns NULL and sets g->err. */
static const jfl_array *graph_keep(jfl_graph *g, const jfl_array *a)
{
  for (int i = 0; i < g->n_array; i++)
    if (g->array[i].array == a) return a;
  const uint64_t hash = jf_hash((uint64_t)a->dtype, a->data, graph_bytes_of(a));
  for (int i = 0; i < g->n_array; i++)
    if (holds_same(&g->array[i], a, hash)) return g->array[i].array;
  jf_graph_array k = { .hash = hash };
  g->array = jf_grow(g->arena, g->array, g->n_array, &g->cap_array, sizeof *g->array);
  if (g->err || (g->err = jfl_array_cast(a, a->dtype, 0, &k.array))) return NULL;
  g->array[g->n_array++] = k;
  return k.array;
}

/* Names an unnamed node "relu_1", "relu_2", ...: counted by op, skipping names that the user
   took. */
static const char *ir_graph_number(jfl_graph *g, const jfl_op *op)
{
  int *last = jf_map_get(&g->counters, op->name);
  if (!last) jf_map_put(g->arena, &g->counters, op->name, last = jf_alloc(g->arena, sizeof *last));
  const char *name;
  do name = jf_sprintf(g->arena, "%s_%d", op->name, ++*last);
  while (jf_map_get(&g->names, name));
  return name;
}

/* Output 0 has the node's name. The others add their declared name to it, or their number if they
   have none. */
static const char *output_name(jfl_graph *g, const jf_node *node, int i)
{
  if (i == 0) return node->name;
  if (i >= jf_op_n_out(node->op)) return jf_sprintf(g->arena, "%s/%d", node->name, i);
  return jf_sprintf(g->arena, "%s/%s", node->name, node->op->out[i]);
}

/* Whether each device has outputs of the node of its own, where it has such inputs. */
static int ir_graph_is_mirrored(const jfl_graph *g, const jf_node *node)
{
  for (int i = 0; i < node->n_in; i++)
    if (node->in[i]->distribution.kind == JFL_MIRRORED) return 1;
  return g->mirrored && !node->n_in && node->op->flags & JF_RANDOM;
}

static void ir_graph_add_outputs(jfl_graph *g, jf_node *node, const jf_infer *c)
{
  const int mirrored = ir_graph_is_mirrored(g, node);
  node->n_out = c->n_out;
  node->out = jf_alloc(g->arena, (size_t)c->n_out * sizeof *node->out);
  for (int i = 0; i < c->n_out; i++) {
    const char *name = output_name(g, node, i);
    jfl_value *v = add_value(g, JF_RESULT, c->dtype[i], &c->shape[i], name);
    v->node = node;
    v->index = i;
    v->place = node->place;
    if (mirrored) v->distribution = (jfl_distribution){ JFL_MIRRORED, 0 };
    node->out[i] = v;
  }
  /* Notes how output 0 lies where the op says that. */
  jfl_distribution d = { 0 };
  if (node->op->distribution) d = node->op->distribution(node->attr);
  if (d.kind != JFL_AUTO) node->out[0]->distribution = d;
  int at = g->n_node;
  g->node = jf_grow(g->arena, g->node, g->n_node, &g->cap_node, sizeof *g->node);
  if (!g->updating && !(node->op->flags & JF_EFFECT))
    while (at > 0 && g->node[at - 1]->op->flags & JF_EFFECT) at--;
  memmove(g->node + at + 1, g->node + at, (size_t)(g->n_node++ - at) * sizeof *g->node);
  g->node[at] = node;
}

static jfl_status ir_graph_check_inputs(const jfl_graph *g, const jfl_op *op, jfl_value *const *in,
                                        size_t n)
{
  for (size_t i = 0; i < n; i++)
    if (in[i]->graph != g)
      return jf_fail_in(jf_fail(JFL_ESTATE, "blob '%s' belongs to job '%s', not to '%s'; blobs can "
                                "only be used inside the body that made them", in[i]->name,
                                in[i]->graph->name, g->name), JFL_ERROR_OP, op->name);
  return JFL_OK;
}

/* Adds to an error about shapes that some inputs are mirrored, whose shapes are those of each
   device's own, and others are not. */
static jfl_status ir_graph_blame(jfl_status s, const jf_node *node)
{
  const jfl_value *mirrored = NULL, *whole = NULL;
  for (int i = 0; i < node->n_in; i++) {
    const jfl_value *v = node->in[i];
    if (v->distribution.kind == JFL_MIRRORED) mirrored = v;
    else if (v->origin != JF_VARIABLE) whole = v;
  }
  if (s != JFL_ESHAPE || !mirrored || !whole) return s;
  return jf_blame(s, "with '%s' mirrored, the shape being each device's own, and '%s' not, ",
                  mirrored->name, whole->name);
}

static jfl_status ir_graph_build(jfl_graph *g, jf_node *node, const char *name)
{
  jf_infer c = { .op = node->op, .arena = g->arena, .in = node->in, .n_in = node->n_in,
                 .attr = node->attr };
  JF_TRY(ir_graph_check_inputs(g, node->op, node->in, (size_t)node->n_in));
  JF_TRY(ir_graph_blame(jf_op_infer(&c), node));
  node->name = name ? jf_strdup(g->arena, name) : ir_graph_number(g, node->op);
  JF_TRY(claim_name(g, node->name, node));
  ir_graph_add_outputs(g, node, &c);
  return JFL_OK;
}

jf_node_source jf_source_for(const jf_node *n)
{
  jf_node_source s = n->source;
  if (!s.serves) s.serves = n->name;
  return s;
}

int jf_micro_batch(jfl_value *const *in, size_t n)
{
  int last = 0;
  for (size_t i = 0; i < n; i++)
    if (in[i]->node && in[i]->node->source.micro_batch > last)
      last = in[i]->node->source.micro_batch;
  return last;
}

/* The source of a node that is added now. What reads weights alone is of no micro-batch, whatever
   it is made for. */
static jf_node_source graph_source(const jfl_graph *g, jfl_value *const *in, size_t n_in)
{
  jf_node_source s = g->served ? jf_source_for(g->served) : g->source;
  if (g->source.purpose > s.purpose) s.purpose = g->source.purpose;
  if (n_in) s.micro_batch = jf_micro_batch(in, n_in);
  return s;
}

static int graph_place_for(const jfl_graph *g, jfl_value *const *in, size_t n_in)
{
  if (g->placing == JF_PLACED && n_in) return in[0]->place;
  if (g->served) return g->served->place;
  return g->placing != JF_TRACED && n_in ? in[0]->place : g->place;
}

jfl_status jf_graph_node(jfl_graph *g, const jfl_op *op, const void *attr, jfl_value *const *in,
                         size_t n_in, const char *name, jf_node **out)
{
  jf_node *node = jf_alloc(g->arena, sizeof *node);
  node->op = op;
  node->source = graph_source(g, in, n_in);
  node->place = graph_place_for(g, in, n_in);
  node->n_in = (int)n_in;
  node->in = jf_alloc(g->arena, n_in * sizeof *in);
  if (n_in) memcpy(node->in, in, n_in * sizeof *in);
  node->attr = jf_attr_copy(g->arena, op->attr, op->attr_size, attr);
  /* Makes the graph keep the arrays in a node's attributes. */
  for (const jf_attr *a = node->op->attr; a && a->name; a++) {
    if (a->type != JF_ATTR_TENSOR) continue;
    const jfl_array **p = (const jfl_array **)(void *)((char *)node->attr + a->off);
    if (!(*p = graph_keep(g, *p))) return g->err;
  }
  JF_TRY(ir_graph_build(g, node, name));
  *out = node;
  return JFL_OK;
}

jfl_value *jf_emit(jfl_graph *g, const jfl_op *op, const void *attr, jfl_value *const *in, size_t n)
{
  jf_node *node;
  for (size_t i = 0; i < n && !g->err; i++)
    if (!in[i]) g->err = jf_fail(JFL_EINVAL, "a pass gave %s no input %d", op->name, (int)i);
  if (g->err || (g->err = jf_graph_node(g, op, attr, in, n, NULL, &node))) return NULL;
  return node->n_out ? node->out[0] : NULL;
}

void jf_serve(jfl_graph *g, const jf_node *n) { g->served = n; }

jfl_status jf_fail_node(jfl_status s, const jf_node *n)
{
  jf_fail_in(s, JFL_ERROR_OP, n->op->name);
  jf_fail_in(s, JFL_ERROR_NODE, n->name);
  return jf_fail_in(s, JFL_ERROR_LINE, n->source.line);
}

void jf_stand_for(jf_node *n, const jf_node *other)
{
  n->name = n->out[0]->name = other->name;
  n->source = other->source;
}

void jf_at(jfl_graph *g, int place) { g->place = place; }
