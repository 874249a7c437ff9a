/* The one closure that all ops are in Lua: reads its arguments by the op's record, then appends to
   the traced graph (blobs) or runs at once (arrays). */
#include "bind/bind.h"

#include <assert.h>
#include <string.h>

/* Inputs and attributes of an op; inputs or outputs on the C stack. */
enum { MAX_SLOT = 48, FEW = 16 };

/* Upvalue 2 of the closure. */
typedef struct record {
  const jfl_op *op;
  jfl_op_info info;
  jfl_param param[MAX_SLOT];
} record;

/* One call. Inputs lie at stack indices first .. first+n_in-1. */
typedef struct bind_op_call {
  const record *r;
  int slot[MAX_SLOT];          /* stack index of each input, then each attribute; 0: not given */
  const char *node;            /* the node's name or NULL */
  int first, n_in, given;      /* given: how many there are by position */
  jfl_arg arg[MAX_SLOT];
  int n_arg;
} bind_op_call;

static int n_slots(const record *r) { return r->info.n_in + r->info.n_param; }

static const char *slot_name(const record *r, int k)
{
  return k < r->info.n_in ? r->info.in[k] : r->param[k - r->info.n_in].name;
}

/* Pushes "add: argument 2 'b'", for input k. */
static const char *bind_op_push_who(lua_State *L, const record *r, int k)
{
  if (k >= r->info.n_in) k = r->info.n_in - 1;      /* of a list of inputs */
  return lua_pushfstring(L, "%s: argument %d '%s'", r->info.name, k + 1, r->info.in[k]);
}

/* ---- reading the arguments ---- */

/* How many keys the table at i has; *named: whether there is a string among them. */
static int count_keys(lua_State *L, int i, int *named)
{
  int n = 0;
  *named = 0;
  for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1), n++)
    if (lua_type(L, -2) == LUA_TSTRING) *named = 1;
  return n;
}

/* Whether an empty table may be what slot k takes: an input, or an attribute that is a list. */
static int takes_list(const record *r, int k)
{
  if (k >= n_slots(r)) return 0;
  const char *type = k < r->info.n_in ? "" : r->param[k - r->info.n_in].type;
  return strcmp(type, "integer") && strcmp(type, "number") && strcmp(type, "boolean")
         && strcmp(type, "string") && strcmp(type, "dtype");
}

/* Whether the last argument, at i, is the options table: it has names and is no list, or is empty
   and its place takes no list. */
static int is_options(lua_State *L, int i, const record *r)
{
  int named;
  if (i == 0 || !lua_istable(L, i)) return 0;
  lua_rawgeti(L, i, 1);
  int list = !lua_isnil(L, -1);
  lua_pop(L, 1);
  if (list) return 0;
  return count_keys(L, i, &named) == 0 ? !takes_list(r, i - 1) : named;
}

static int find_slot(const record *r, const char *name)
{
  for (int k = 0; k < n_slots(r); k++)
    if (!strcmp(slot_name(r, k), name)) return k;
  return -1;
}

/* Pushes what the front end, if it is there, suggests in place of the option `key`: the end of a
   message. */
static const char *push_suggestion(lua_State *L, const record *r, const char *key)
{
  lua_getfield(L, LUA_REGISTRYINDEX, "_LOADED");
  lua_getfield(L, -1, "jfl.base.names");
  if (!lua_istable(L, -1)) return "";
  lua_getfield(L, -1, "suggest");
  lua_pushstring(L, key);
  lua_newtable(L);
  for (int k = 0; k < n_slots(r); k++) jf_set_flag(L, slot_name(r, k), 1);
  lua_call(L, 2, 1);
  return lua_tostring(L, -1);
}

/* Pushes "axis, keepdims, name": the slots of an op from one on, in their order. */
static const char *push_names(lua_State *L, const record *r, int first)
{
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  for (int k = first; k < n_slots(r); k++) {
    luaL_addstring(&b, slot_name(r, k));
    luaL_addstring(&b, ", ");
  }
  luaL_addstring(&b, "name");
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static int unknown_option(lua_State *L, const record *r, const char *key)
{
  const char *options = push_names(L, r, r->info.n_in);
  return jf_raise(L, "%s: unknown option '%s'; options are %s%s", r->info.name, key, options,
                  push_suggestion(L, r, key));
}

/* Takes the option whose key and value are on top; the value stays below the key. */
static void take_option(lua_State *L, bind_op_call *c)
{
  const char *who = c->r->info.name;
  if (lua_type(L, -2) != LUA_TSTRING)
    jf_raise(L, "%s: options must have names, got one under a %s", who, luaL_typename(L, -2));
  const char *key = lua_tostring(L, -2);
  if (!strcmp(key, "name")) {
    c->node = jf_need_string(L, -1, who, "name");
    lua_pop(L, 1);
    return;
  }
  int k = find_slot(c->r, key);
  if (k < 0) unknown_option(L, c->r, key);
  if (c->slot[k]) jf_raise(L, "%s: '%s' is given both by position and by name", who, key);
  lua_insert(L, -2);
  c->slot[k] = lua_gettop(L) - 1;
}

/* Fails if the op was called with a colon: its first argument is then the table that holds it. */
static void check_dot(lua_State *L, const record *r)
{
  if (!lua_istable(L, 1) || !luaL_getmetafield(L, 1, "namespace")) return;
  jf_raise(L, "%s: is called with a dot, not a colon: %s.%s(...)", r->info.name,
           lua_tostring(L, -1), r->info.name);
}

/* Room on the stack for n more results. */
static void need_room(lua_State *L, const record *r, int n)
{
  if (lua_checkstack(L, n + 16)) return;
  lua_settop(L, 1);
  jf_raise(L, "%s: results must be fewer, as Lua returns several thousand at most", r->info.name);
}

/* Whether slot k takes a list of numbers. */
static int takes_numbers(const record *r, int k)
{
  return k >= r->info.n_in && takes_list(r, k);
}

/* Pushes "; shape is one list: {2, 3}" where the n arguments give such a list as several of them,
   one after another up to the last; else nothing. */
static const char *push_list_hint(lua_State *L, const record *r, int n)
{
  luaL_Buffer b;
  int first = n + 1;
  while (first > 1 && lua_type(L, first - 1) == LUA_TNUMBER) first--;
  while (first < n && first <= n_slots(r) && !takes_numbers(r, first - 1)) first++;
  if (first >= n || first > n_slots(r)) return lua_pushliteral(L, ""), "";
  if (first < n_slots(r) && takes_numbers(r, first))
    return lua_pushfstring(L, "; %s and %s are lists", slot_name(r, first - 1),
                           slot_name(r, first));
  luaL_buffinit(L, &b);
  lua_pushfstring(L, "; %s is one list: {", slot_name(r, first - 1));
  luaL_addvalue(&b);
  for (int i = first; i <= n; i++) {
    lua_pushvalue(L, i);
    luaL_addvalue(&b);
    luaL_addstring(&b, i < n ? ", " : "}");
  }
  luaL_pushresult(&b);
  return lua_tostring(L, -1);
}

static void too_many(lua_State *L, const record *r, int n)
{
  int most = n_slots(r);
  check_dot(L, r);
  const char *hint = push_list_hint(L, r, n);
  jf_raise(L, "%s: takes at most %d argument%s and options, got %d%s", r->info.name, most,
           most == 1 ? "" : "s", n, hint);
}

/* Fails unless what a variadic op takes as input k, if it is given, is a list. */
static void check_list(lua_State *L, const bind_op_call *c, int k)
{
  int list = c->slot[k];
  if (list && !lua_istable(L, list))
    jf_raise(L, "%s must be a list such as {x, y}, got %s", bind_op_push_who(L, c->r, k),
             jf_type_name(L, list));
}

/* Finds where each input and attribute is on the stack. */
static void bind_op_find_slots(lua_State *L, bind_op_call *c)
{
  int top = lua_gettop(L), options = is_options(L, top, c->r), n = top - options;
  c->given = n;
  while (n > 0 && lua_isnil(L, n)) n--;
  if (n > n_slots(c->r)) too_many(L, c->r, n);
  for (int k = 0; k < n; k++) c->slot[k] = lua_isnil(L, k + 1) ? 0 : k + 1;
  if (c->r->info.variadic) check_list(L, c, c->r->info.n_in - 1);
  if (!options) return;
  for (lua_pushnil(L); lua_next(L, top);) take_option(L, c);
}

/* Pushes the elements of the list that a variadic op takes as input k. */
static void bind_op_push_list(lua_State *L, bind_op_call *c, int k)
{
  int list = c->slot[k];
  check_list(L, c, k);
  int n = (int)lua_objlen(L, list);
  if (n == 0)
    jf_raise(L, "%s must be a list of one or more, got none", bind_op_push_who(L, c->r, k));
  luaL_checkstack(L, n + 32, "too many inputs");
  for (int i = 1; i <= n; i++) lua_rawgeti(L, list, i);
}

static void push_inputs(lua_State *L, bind_op_call *c)
{
  const jfl_op_info *info = &c->r->info;
  c->first = lua_gettop(L) + 1;
  for (int k = 0; k < info->n_in; k++) {
    int last = k == info->n_in - 1;
    if (!c->slot[k] && last && info->optional) break;
    if (!c->slot[k])
      jf_raise(L, k < c->given ? "%s is nil: is a name misspelled?" : "%s is missing",
               bind_op_push_who(L, c->r, k));
    if (info->variadic && last) bind_op_push_list(L, c, k);
    else lua_pushvalue(L, c->slot[k]);
  }
  c->n_in = lua_gettop(L) + 1 - c->first;
}

/* Fails where a list lies in the place of an attribute that is one number: it belongs elsewhere, as
   a shape that is given last. */
static void check_order(lua_State *L, const bind_op_call *c, int i, int at)
{
  const record *r = c->r;
  const int whole = !strcmp(r->param[i].type, "integer");
  if (at > c->given || !lua_istable(L, at)) return;
  if (!whole && strcmp(r->param[i].type, "number")) return;
  jf_raise(L, "%s: %s must be %s, got a list of %d; the order of arguments is %s", r->info.name,
           r->param[i].name, whole ? "an integer" : "a number", (int)lua_objlen(L, at),
           push_names(L, r, 0));
}

/* Fails where a number stands in the place of an attribute that is none, behind others that are
   meant as a list with it: zeros(2, 3). */
static void check_numbers(lua_State *L, const bind_op_call *c, int i, int at)
{
  const record *r = c->r;
  const char *type = r->param[i].type;
  if (at > c->given || lua_type(L, at) != LUA_TNUMBER || takes_list(r, r->info.n_in + i)) return;
  if (!strcmp(type, "integer") || !strcmp(type, "number")) return;
  const char *hint = push_list_hint(L, r, c->given);
  if (*hint)
    jf_raise(L, "%s: %s must be %s, got %s%s", r->info.name, r->param[i].name,
             !strcmp(type, "dtype") ? "a dtype" : !strcmp(type, "string") ? "a string"
             : "true or false", lua_tostring(L, at), hint);
  lua_pop(L, 1);
}

static void read_attributes(lua_State *L, bind_op_call *c)
{
  const record *r = c->r;
  for (int i = 0; i < r->info.n_param; i++) {
    int at = c->slot[r->info.n_in + i];
    if (!at) continue;
    check_order(L, c, i, at);
    check_numbers(L, c, i, at);
    jf_read_arg(L, at, r->info.name, r->param[i].name, &c->arg[c->n_arg++]);
  }
}

/* The input whose dtype numbers among the inputs get: the one that chooses the kernel if it is of
   that kind, else the last that is; -1: none is. */
static int find_kind(lua_State *L, const bind_op_call *c, jf_object_kind kind)
{
  int key = c->r->info.key, k = c->n_in - 1;
  if (key >= 0 && key < c->n_in && jf_test(L, c->first + key, kind)) return key;
  while (k >= 0 && !jf_test(L, c->first + k, kind)) k--;
  return k;
}

/* Room for n pointers, in `few` or a userdata. */
static void *room(lua_State *L, void *few, int n)
{
  return n <= FEW ? few : lua_newuserdata(L, (size_t)n * sizeof(void *));
}

/* The dtype of the number v beside one of dtype t. What comparisons give is int8, which arithmetic
   does not compute in: there a number is int32 if it is whole, and float32 otherwise. */
static jfl_dtype bind_op_number_dtype(const bind_op_call *c, jfl_dtype t, double v)
{
  if ((t != JFL_I8 && t != JFL_U8) || c->r->info.dtypes >> t & 1) return t;
  return jfl_number_fits(JFL_I32, v) ? JFL_I32 : JFL_F32;
}

/* ---- running at once ---- */

/* Replaces input k, a number or a table, by an array of like's dtype; a number is of shape (1), or
   beside a scalar one itself. */
static void number_to_array(lua_State *L, const bind_op_call *c, int k, const jf_larray *like)
{
  const char *who = bind_op_push_who(L, c->r, k);
  int at = c->first + k;
  if (!jf_is_number(L, at) && !lua_istable(L, at))
    jf_raise(L, "%s must be an array, a table or a number, got %s", who, jf_type_name(L, at));
  const double v = jf_is_number(L, at) ? jf_to_number(L, at) : 0;
  const jfl_dtype t = bind_op_number_dtype(c, like->dtype, v);
  if (jf_is_number(L, at) && like->array && like->shape->n == 0) {
    const jfl_shape scalar = { 0 };
    jf_fill(L, jf_push_new(L, t, &scalar), 0, 1, v, who);
  } else {
    jf_to_array(L, at, t, who);
  }
  lua_replace(L, at);
  lua_pop(L, 1);
}

static void gather_arrays(lua_State *L, const bind_op_call *c, jfl_array **in)
{
  for (int k = 0; k < c->n_in; k++) {
    jf_larray *b = lua_touserdata(L, c->first + k);
    if (!b->array) jf_raise(L, "%s was freed", bind_op_push_who(L, c->r, k));
    in[k] = b->array;
  }
}

static int run_now(lua_State *L, bind_op_call *c, int like)
{
  const record *r = c->r;
  void *few_in[FEW], *few_out[FEW], *few_box[FEW];
  int n = 0, n_out = r->info.n_out, n_public = r->info.n_public;
  for (int k = 0; k < c->n_in; k++)
    if (!jf_test(L, c->first + k, JF_ARRAY))
      number_to_array(L, c, k, lua_touserdata(L, c->first + like));
  read_attributes(L, c);
  jfl_array **in = room(L, few_in, c->n_in);
  jfl_session *s = jf_session(L);
  gather_arrays(L, c, in);
  if (r->info.many) {
    jf_check(L, jfl_op_outputs(r->op, in, c->n_in, c->arg, c->n_arg, &n_out));
    n_public = n_out;
  }
  need_room(L, r, n_out);
  jfl_array **out = memset(room(L, few_out, n_out), 0, (size_t)n_out * sizeof *out);
  jf_larray **box = room(L, few_box, n_out);
  for (int i = 0; i < n_public; i++) box[i] = jf_push_array(L);
  gather_arrays(L, c, in);
  jf_check(L, jfl_eager(s, r->op, in, c->n_in, c->arg, c->n_arg, out));
  for (int i = n_public; i < n_out; i++) jfl_array_unref(out[i]);
  for (; n < n_public && out[n]; n++) jf_set_array(box[n], out[n]);
  for (int i = 0; i < n; i++) jf_account(L, box[i]);
  lua_pop(L, n_public - n);
  return n;
}

/* ---- describing a job ---- */

static void check_blob(lua_State *L, const bind_op_call *c, int k)
{
  const jf_state *st = jf_state_of(L);
  const jf_lblob *b = lua_touserdata(L, c->first + k);
  const char *who = c->r->info.name;
  if (!b->owner->graph) jf_raise(L, "%s: blob is no longer there", who);
  if (!st->traced)
    jf_raise(L, "%s: ops on blobs describe a job and must be called inside a job function's body; "
             "the body of job '%s', which made blob '%s', is over", who, b->owner->job,
             jfl_value_name(b->value));
  if (b->owner != st->traced)
    jf_raise(L, "%s: blob '%s' belongs to job '%s'; blobs can only be used inside the body that "
             "made them", who, jfl_value_name(b->value), b->owner->job);
}

/* Replaces the number that is input k by a constant, of shape (1), or beside a scalar one
   itself. */
static void number_to_blob(lua_State *L, const bind_op_call *c, int k, const jfl_value *like,
                           int env)
{
  static const double one = 1;
  const jfl_op *constant = jfl_op_find("constant");
  int at = c->first + k;
  const char *who = bind_op_push_who(L, c->r, k);
  if (!jf_is_number(L, at))
    jf_raise(L, "%s must be a blob or a number, got %s", who, jf_type_name(L, at));
  const double v = jf_to_number(L, at);
  const jfl_dtype t = bind_op_number_dtype(c, jfl_value_dtype(like), v);
  if (!jfl_number_fits(t, v)) jf_raise(L, "%s must fit %s, got %f", who, jfl_dtype_name(t), v);
  jfl_arg arg[] = {
    { .name = "value", .kind = JFL_ARG_NUMBER, .number = v },
    { .name = "dtype", .kind = JFL_ARG_STRING, .string = jfl_dtype_name(t) },
    { .name = "shape", .kind = JFL_ARG_LIST, .list = &one,
      .n_list = jfl_value_shape(like)->n > 0 },
  };
  assert(constant);
  jf_lblob *b = jf_push_blob(L, env);
  jf_check(L, jfl_graph_op(jf_state_of(L)->traced->graph, constant, NULL, 0, arg, 3, NULL,
                           &b->value));
  lua_replace(L, at);
  lua_pop(L, 1);
}

/* The dtype that an array of dtype t has beside a blob: float64 is what computing with integers
   gives, as Lua's own numbers are, so it says of floats no more than a number does. */
static jfl_dtype beside(jfl_dtype t, jfl_dtype blob)
{
  const int narrows = t == JFL_F64 && (blob == JFL_F32 || blob == JFL_F16 || blob == JFL_BF16);
  return narrows || (t == JFL_F32 && blob == JFL_F64) ? blob : t;
}

/* Replaces the array that is input k by a constant of the job. */
static void array_to_blob(lua_State *L, const bind_op_call *c, int k, const jfl_value *like,
                          int env)
{
  const jfl_op *array = jfl_op_find("array");
  const int at = c->first + k, top = lua_gettop(L);
  const char *who = bind_op_push_who(L, c->r, k);
  const jf_larray *a = jf_need_array(L, at, who);
  a = jf_to_array(L, at, beside(a->dtype, jfl_value_dtype(like)), who);
  const jfl_arg arg = { .name = "value", .kind = JFL_ARG_ARRAY, .array = a->array };
  assert(array);
  jf_lblob *b = jf_push_blob(L, env);
  jf_check(L, jfl_graph_op(jf_state_of(L)->traced->graph, array, NULL, 0, &arg, 1, NULL,
                           &b->value));
  lua_replace(L, at);
  lua_settop(L, top);
}

/* Checks all blobs before the first constant is made, so that an error leaves no node behind. */
static void prepare_blobs(lua_State *L, bind_op_call *c, int like, int env)
{
  for (int k = 0; k < c->n_in; k++)
    if (jf_test(L, c->first + k, JF_BLOB)) check_blob(L, c, k);
  jf_set_line(L, jf_state_of(L)->traced->graph);
  for (int k = 0; k < c->n_in; k++) {
    if (jf_test(L, c->first + k, JF_BLOB)) continue;
    const jf_lblob *b = lua_touserdata(L, c->first + like);
    if (jf_test(L, c->first + k, JF_ARRAY)) array_to_blob(L, c, k, b->value, env);
    else number_to_blob(L, c, k, b->value, env);
  }
}

/* Where the body describes one device alone, fails if the op draws what all devices have alike. */
static void check_part(lua_State *L, const record *r, const jfl_value *out)
{
  const int part = jf_state_of(L)->traced->part;
  if (!part || !r->info.random || jfl_value_distribution(out).kind == JFL_MIRRORED) return;
  jf_raise(L, "%s: draws the same random bits for all devices, which it cannot where they get "
           "arrays of different sizes; in flow.scope.mirrored_view each draws its own",
           r->info.name);
}

/* The name of the op's node, to which the number of the device is added that it is for. It stays on
   the stack. */
static const char *name_node(lua_State *L, const bind_op_call *c)
{
  const int part = jf_state_of(L)->traced->part;
  if (part && c->r->info.effect)
    jf_raise(L, "%s: changes a variable of all devices, which one cannot do alone where they get "
             "arrays of different sizes", c->r->info.name);
  return c->node && part ? lua_pushfstring(L, "%s@%d", c->node, part - 1) : c->node;
}

static int bind_op_append(lua_State *L, bind_op_call *c, int like)
{
  const record *r = c->r;
  jfl_value *few[FEW], *out[FEW] = {0};
  int n = 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, jf_state_of(L)->traced_ref);
  int env = lua_gettop(L);
  prepare_blobs(L, c, like, env);
  read_attributes(L, c);
  jfl_value **in = room(L, few, c->n_in);
  luaL_checkstack(L, FEW + 8, NULL);
  const char *name = name_node(L, c);
  int top = lua_gettop(L);
  for (int i = 0; i < r->info.n_public; i++) jf_push_blob(L, env);
  for (int k = 0; k < c->n_in; k++) in[k] = ((jf_lblob *)lua_touserdata(L, c->first + k))->value;
  jf_check(L, jfl_graph_op(jf_state_of(L)->traced->graph, r->op, in, c->n_in, c->arg, c->n_arg,
                           name, out));
  if (r->info.n_public) check_part(L, r, out[0]);
  for (; n < r->info.n_public && out[n]; n++)
    ((jf_lblob *)lua_touserdata(L, top + 1 + n))->value = out[n];
  lua_settop(L, top + n);
  for (jfl_value *v; r->info.many && (v = jfl_value_output(out[0], n)); n++) {
    need_room(L, r, 1);
    jf_push_blob(L, env)->value = v;
  }
  return n;
}

/* ---- the closure ---- */

static int call_op(lua_State *L)
{
  bind_op_call c;
  c.r = lua_touserdata(L, lua_upvalueindex(2));
  c.node = NULL;
  c.n_arg = 0;
  memset(c.slot, 0, (size_t)n_slots(c.r) * sizeof *c.slot);
  luaL_checkstack(L, 2 * MAX_SLOT + 32, NULL);
  bind_op_find_slots(L, &c);
  push_inputs(L, &c);
  int blob = find_kind(L, &c, JF_BLOB);
  if (blob >= 0 || (c.n_in == 0 && jf_state_of(L)->traced)) return bind_op_append(L, &c, blob);
  int array = find_kind(L, &c, JF_ARRAY);
  if (array < 0) check_dot(L, c.r);
  if (array < 0 && c.n_in > 0)
    jf_raise(L, "%s must be a blob or an array, got %s%s", bind_op_push_who(L, c.r, 0),
             jf_type_name(L, c.first),
             lua_istable(L, c.first) ? "; ndarray.array(table) makes an array" : "");
  return run_now(L, &c, array);
}

/* op(name): the closure, made once. */
JF_LUA(op)
{
  const char *name = jf_need_string(L, 1, "op", "name");
  lua_rawgeti(L, LUA_REGISTRYINDEX, jf_state_of(L)->ops_ref);
  lua_getfield(L, -1, name);
  if (!lua_isnil(L, -1)) return 1;
  const jfl_op *op = jfl_op_find(name);
  if (!op) jf_raise(L, "unknown op '%s'", name);
  lua_pushlightuserdata(L, jf_state_of(L));
  record *r = memset(lua_newuserdata(L, sizeof *r), 0, sizeof *r);
  r->op = op;
  jfl_op_describe(op, &r->info);
  assert(n_slots(r) <= MAX_SLOT && r->info.n_out <= FEW);
  for (int i = 0; i < r->info.n_param; i++) jfl_op_param(op, i, &r->param[i]);
  lua_pushcclosure(L, call_op, 2);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, name);
  return 1;
}
