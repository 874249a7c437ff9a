/* Pickles as PyTorch's save writes them, read without running anything: containers, texts, numbers,
   and what makes tensors. Any other class or function is an error that names it. The operations are
   those of Python's pickletools module. */
#include "checkpoint/checkpoint.h"

#include <string.h>

/* ---- what may be called ---- */

static const jf_torch_type types[] = {
  { "float32", "FloatStorage", JFL_F32, 4 }, { "float64", "DoubleStorage", JFL_F64, 8 },
  { "float16", "HalfStorage", JFL_F16, 2 }, { "bfloat16", "BFloat16Storage", JFL_BF16, 2 },
  { "int8", "CharStorage", JFL_I8, 1 }, { "uint8", "ByteStorage", JFL_U8, 1 },
  { "int32", "IntStorage", JFL_I32, 4 }, { "int64", "LongStorage", JFL_I64, 8 },
  { "int16", "ShortStorage", JFL_N_DTYPE, 2 }, { "bool", "BoolStorage", JFL_N_DTYPE, 1 },
  { "complex64", "ComplexFloatStorage", JFL_N_DTYPE, 8 },
  { "complex128", "ComplexDoubleStorage", JFL_N_DTYPE, 16 },
  { "uint16", NULL, JFL_N_DTYPE, 2 }, { "uint32", NULL, JFL_N_DTYPE, 4 },
  { "uint64", NULL, JFL_N_DTYPE, 8 }, { "float8_e4m3fn", NULL, JFL_N_DTYPE, 1 },
  { "float8_e5m2", NULL, JFL_N_DTYPE, 1 }, { "float8_e4m3fnuz", NULL, JFL_N_DTYPE, 1 },
  { "float8_e5m2fnuz", NULL, JFL_N_DTYPE, 1 }, { "float8_e8m0fnu", NULL, JFL_N_DTYPE, 1 },
};

typedef enum role {
  MAKES_DICT, MAKES_LIST, MAKES_TENSOR, MAKES_PARAMETER, IS_STORAGE, IS_DTYPE
} role;

/* n: how many arguments stand before what is of no matter here. */
static const struct { const char *module, *name; role role; int n; } globals[] = {
  { "collections", "OrderedDict", MAKES_DICT, 0 }, { "torch", "Size", MAKES_LIST, 1 },
  { "torch._utils", "_rebuild_tensor", MAKES_TENSOR, 4 },
  { "torch._utils", "_rebuild_tensor_v2", MAKES_TENSOR, 4 },
  { "torch._utils", "_rebuild_tensor_v3", MAKES_TENSOR, 7 },
  { "torch._utils", "_rebuild_parameter", MAKES_PARAMETER, 1 },
  { "torch._utils", "_rebuild_parameter_with_state", MAKES_PARAMETER, 1 },
  { "torch.storage", "UntypedStorage", IS_STORAGE, 0 },
  { "torch", "UntypedStorage", IS_STORAGE, 0 },
};
enum { N_TYPES = sizeof types / sizeof *types, N_GLOBALS = sizeof globals / sizeof *globals };

typedef struct reader {
  jf_pickle *p;
  const char *start, *at, *end;
  int *stack, n_stack, cap_stack;
  int *memo, n_memo, cap_memo;   /* values, -1: none */
  int done;
} reader;

static jfl_status pickle_wrong(const reader *r, const char *what)
{
  return jf_fail(JFL_EDATA, "its pickle: byte %zu: %s", (size_t)(r->at - r->start), what);
}

static jfl_status pickle_no_memory(void)
{
  return jf_fail(JFL_ENOMEM, "its pickle: out of memory");
}

static int pickle_is(const char *text, size_t n, const char *name)
{
  return strlen(name) == n && !memcmp(text, name, n);
}

/* ---- bytes ---- */

static jfl_status pickle_take(reader *r, uint64_t n, const char **out)
{
  if (n > (uint64_t)(r->end - r->at)) return pickle_wrong(r, "cut");
  *out = r->at;
  r->at += n;
  return JFL_OK;
}

static jfl_status pickle_number(reader *r, int n, uint64_t *out)
{
  const char *b = NULL;
  JF_TRY(pickle_take(r, (uint64_t)n, &b));
  *out = 0;
  for (int i = n; i--;) *out = *out << 8 | (unsigned char)b[i];
  return JFL_OK;
}

static jfl_status pickle_line(reader *r, const char **text, size_t *n)
{
  const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
  if (!end) return pickle_wrong(r, "cut");
  *text = r->at;
  *n = (size_t)(end - r->at);
  r->at = end + 1;
  return JFL_OK;
}

/* ---- values ---- */

static jfl_status pickle_push_old(reader *r, int value)
{
  if (!JF_ROOM(r->stack, r->n_stack, r->cap_stack)) return pickle_no_memory();
  r->stack[r->n_stack++] = value;
  return JFL_OK;
}

static jfl_status pickle_push(reader *r, jf_pickled value)
{
  jf_pickle *p = r->p;
  if (!JF_ROOM(p->v, p->n, p->cap)) return pickle_no_memory();
  p->v[p->n] = value;
  return pickle_push_old(r, p->n++);
}

static jfl_status pickle_push_kind(reader *r, int kind)
{
  return pickle_push(r, (jf_pickled){ .kind = (jf_pickled_kind)kind, .first = -1, .last = -1 });
}

static jfl_status pickle_push_whole(reader *r, int64_t v)
{
  return pickle_push(r, (jf_pickled){ .kind = JF_PICKLED_WHOLE, .whole = v, .first = -1 });
}

static jfl_status pickle_pop(reader *r, int *out)
{
  if (!r->n_stack || r->p->v[r->stack[r->n_stack - 1]].kind == JF_PICKLED_MARK)
    return pickle_wrong(r, "a value is missing");
  *out = r->stack[--r->n_stack];
  return JFL_OK;
}

/* Where the values begin that stand behind the last mark. */
static jfl_status pickle_mark(const reader *r, int *out)
{
  int i = r->n_stack;
  while (i && r->p->v[r->stack[i - 1]].kind != JF_PICKLED_MARK) i--;
  *out = i;
  return i ? JFL_OK : pickle_wrong(r, "a mark is missing");
}

static jfl_status pickle_add(reader *r, int container, int value)
{
  jf_pickle *p = r->p;
  /* Each item was put on the stack by a byte, or is one of a pair that was. */
  if (p->n_cell / 2 > r->end - r->start) return pickle_wrong(r, "more items than bytes");
  JF_TRY(jf_time_at(p->n_cell));
  if (!JF_ROOM(p->cell, p->n_cell, p->cap_cell)) return pickle_no_memory();
  p->cell[p->n_cell] = (jf_pickled_cell){ value, -1 };
  jf_pickled *c = &p->v[container];
  if (c->first < 0) c->first = p->n_cell;
  else p->cell[c->last].next = p->n_cell;
  c->last = p->n_cell++;
  return JFL_OK;
}

/* Moves the values from there on, up to the end of the stack, to a container. */
static jfl_status pickle_fill(reader *r, int container, int from)
{
  for (int i = from; i < r->n_stack; i++) JF_TRY(pickle_add(r, container, r->stack[i]));
  r->n_stack = from;
  return JFL_OK;
}

/* The i-th item of a list, -1: there is none. */
static int pickle_item(const jf_pickle *p, int list, int i)
{
  if (p->v[list].kind != JF_PICKLED_LIST) return -1;
  int c = p->v[list].first;
  while (c >= 0 && i--) c = p->cell[c].next;
  return c < 0 ? -1 : p->cell[c].value;
}

static const jf_pickled *pickle_item_of(const jf_pickle *p, int list, int i, jf_pickled_kind kind)
{
  const int v = pickle_item(p, list, i);
  return v >= 0 && p->v[v].kind == kind ? &p->v[v] : NULL;
}

/* ---- tensors ---- */

/* Whole numbers of a list, at most JFL_MAXDIM of them; -1: it is something else. */
static int pickle_wholes(const jf_pickle *p, int list, int64_t *out)
{
  int n = 0;
  if (list < 0 || p->v[list].kind != JF_PICKLED_LIST) return -1;
  for (int c = p->v[list].first; c >= 0; c = p->cell[c].next) {
    const jf_pickled *v = &p->v[p->cell[c].value];
    if (n == JFL_MAXDIM || v->kind != JF_PICKLED_WHOLE || v->whole < 0) return -1;
    out[n++] = v->whole;
  }
  return n;
}

static jfl_status pickle_make_tensor(reader *r, int args, int n)
{
  jf_pickle *p = r->p;
  const jf_pickled *s = pickle_item_of(p, args, 0, JF_PICKLED_STORAGE);
  const jf_pickled *offset = pickle_item_of(p, args, 1, JF_PICKLED_WHOLE);
  const jf_pickled *dtype = n > 6 ? pickle_item_of(p, args, 6, JF_PICKLED_GLOBAL) : NULL;
  jf_pickled_tensor t = { .type = dtype && dtype->type ? dtype->type : s ? s->type : NULL };
  t.shape.n = pickle_wholes(p, pickle_item(p, args, 2), t.shape.d);
  if (!s || !offset || offset->whole < 0 || !t.type || t.shape.n < 0 ||
      pickle_wholes(p, pickle_item(p, args, 3), t.step) != t.shape.n)
    return pickle_wrong(r, "a tensor must have a storage, a place in it, and at most 8 extents "
                        "with as many steps");
  t.key = s->text;
  t.n_key = s->n;
  t.n_storage = s->type ? s->whole : s->whole / t.type->size;
  t.offset = offset->whole;
  if (!JF_ROOM(p->tensor, p->n_tensor, p->cap_tensor)) return pickle_no_memory();
  p->tensor[p->n_tensor] = t;
  return pickle_push(r, (jf_pickled){ .kind = JF_PICKLED_TENSOR, .first = p->n_tensor++ });
}

/* ("storage", class, key, device, number of elements) */
static jfl_status pickle_storage(reader *r, int arg)
{
  int id = 0;
  (void)arg;
  JF_TRY(pickle_pop(r, &id));
  const jf_pickle *p = r->p;
  const jf_pickled *is = pickle_item_of(p, id, 0, JF_PICKLED_TEXT);
  const jf_pickled *class = pickle_item_of(p, id, 1, JF_PICKLED_GLOBAL);
  const jf_pickled *key = pickle_item_of(p, id, 2, JF_PICKLED_TEXT);
  const jf_pickled *n = pickle_item_of(p, id, 4, JF_PICKLED_WHOLE);
  if (!is || !pickle_is(is->text, is->n, "storage") || !class || class->whole != IS_STORAGE ||
      !key || !n || n->whole < 0)
    return pickle_wrong(r, "a storage must have a class, a key and a number of elements");
  return pickle_push(r, (jf_pickled){ .kind = JF_PICKLED_STORAGE, .text = key->text, .n = key->n,
                                      .whole = n->whole, .type = class->type });
}

/* ---- classes and functions ---- */

static jfl_status pickle_push_global(reader *r, const char *module, size_t n_module,
                                     const char *name, size_t n_name)
{
  jf_pickled v = { .kind = JF_PICKLED_GLOBAL, .first = -1, .last = -1 };
  for (int i = 0; i < N_GLOBALS; i++) {
    if (!pickle_is(module, n_module, globals[i].module) ||
        !pickle_is(name, n_name, globals[i].name)) continue;
    v.whole = globals[i].role;
    v.n = (size_t)globals[i].n;
    return pickle_push(r, v);
  }
  for (int i = 0; i < N_TYPES && pickle_is(module, n_module, "torch"); i++) {
    const int is_storage = types[i].storage && pickle_is(name, n_name, types[i].storage);
    if (!is_storage && !pickle_is(name, n_name, types[i].name)) continue;
    v.whole = is_storage ? IS_STORAGE : IS_DTYPE;
    v.type = &types[i];
    return pickle_push(r, v);
  }
  return jf_fail(JFL_EDATA, "its pickle: byte %zu: it asks for %.*s.%.*s, and only tensors, plain "
                 "containers, texts and numbers are read, nothing is run; save the weights alone: "
                 "torch.save(model.state_dict(), path)", (size_t)(r->at - r->start),
                 (int)(n_module < 80 ? n_module : 80), module, (int)(n_name < 80 ? n_name : 80),
                 name);
}

static jfl_status pickle_global(reader *r, int arg)
{
  const char *module = NULL, *name = NULL;
  size_t n_module = 0, n_name = 0;
  (void)arg;
  JF_TRY(pickle_line(r, &module, &n_module));
  JF_TRY(pickle_line(r, &name, &n_name));
  return pickle_push_global(r, module, n_module, name, n_name);
}

static jfl_status pickle_stack_global(reader *r, int arg)
{
  int name = 0, module = 0;
  (void)arg;
  JF_TRY(pickle_pop(r, &name));
  JF_TRY(pickle_pop(r, &module));
  const jf_pickled *m = &r->p->v[module], *n = &r->p->v[name];
  if (m->kind != JF_PICKLED_TEXT || n->kind != JF_PICKLED_TEXT)
    return pickle_wrong(r, "a class must be named by texts");
  return pickle_push_global(r, m->text, m->n, n->text, n->n);
}

/* OrderedDict(), or of a list of pairs, as Python 2 wrote it. */
static jfl_status pickle_make_dict(reader *r, int args)
{
  const int pairs = pickle_item(r->p, args, 0);
  JF_TRY(pickle_push_kind(r, JF_PICKLED_DICT));
  const int dict = r->stack[r->n_stack - 1];
  if (pairs < 0 || r->p->v[pairs].kind != JF_PICKLED_LIST) return JFL_OK;
  for (int c = r->p->v[pairs].first; c >= 0; c = r->p->cell[c].next) {
    const int pair = r->p->cell[c].value;
    const int key = pickle_item(r->p, pair, 0), value = pickle_item(r->p, pair, 1);
    if (key < 0 || value < 0) return pickle_wrong(r, "an OrderedDict must be made of pairs");
    JF_TRY(pickle_add(r, dict, key));
    JF_TRY(pickle_add(r, dict, value));
  }
  return JFL_OK;
}

static jfl_status pickle_call(reader *r, int arg)
{
  int args = 0, f = 0;
  (void)arg;
  JF_TRY(pickle_pop(r, &args));
  JF_TRY(pickle_pop(r, &f));
  const jf_pickled *g = &r->p->v[f];
  if (g->kind != JF_PICKLED_GLOBAL || r->p->v[args].kind != JF_PICKLED_LIST)
    return pickle_wrong(r, "a call of what is no function");
  const int first = pickle_item(r->p, args, 0);
  if (g->whole == MAKES_DICT) return pickle_make_dict(r, args);
  if (g->whole == MAKES_TENSOR) return pickle_make_tensor(r, args, (int)g->n);
  if (first < 0 || (g->whole != MAKES_LIST && g->whole != MAKES_PARAMETER))
    return pickle_wrong(r, "a call that makes nothing");
  return pickle_push_old(r, first);
}

/* ---- constants ---- */

static jfl_status pickle_truth(reader *r, int v) { return pickle_push_whole(r, v); }

static jfl_status pickle_small(reader *r, int n)
{
  uint64_t v = 0;
  JF_TRY(pickle_number(r, n, &v));
  return pickle_push_whole(r, n == 4 ? (int32_t)v : (int64_t)v);
}

/* A whole number of any size, of which those beyond 64 bits are of no matter. n: the bytes of its
   length. */
static jfl_status pickle_long(reader *r, int n)
{
  uint64_t size = 0, v = 0;
  const char *b = NULL;
  JF_TRY(pickle_number(r, n, &size));
  JF_TRY(pickle_take(r, size, &b));
  if (size > 8) return pickle_push_kind(r, JF_PICKLED_OTHER);
  if (size && b[size - 1] & 0x80) v = ~(uint64_t)0;
  for (uint64_t i = size; i--;) v = v << 8 | (unsigned char)b[i];
  return pickle_push_whole(r, (int64_t)v);
}

static jfl_status pickle_text(reader *r, int n)
{
  uint64_t size = 0;
  jf_pickled v = { .kind = JF_PICKLED_TEXT, .first = -1 };
  JF_TRY(pickle_number(r, n, &size));
  JF_TRY(pickle_take(r, size, &v.text));
  v.n = (size_t)size;
  return pickle_push(r, v);
}

static jfl_status pickle_float(reader *r, int n)
{
  const char *b = NULL;
  JF_TRY(pickle_take(r, (uint64_t)n, &b));
  return pickle_push_kind(r, JF_PICKLED_OTHER);
}

static jfl_status pickle_skip(reader *r, int n)
{
  const char *b = NULL;
  return pickle_take(r, (uint64_t)n, &b);
}

/* ---- containers ---- */

/* A list or dict of what stands behind the last mark. */
static jfl_status pickle_gather(reader *r, int kind)
{
  int from = 0;
  JF_TRY(pickle_mark(r, &from));
  if (kind == JF_PICKLED_DICT && (r->n_stack - from) % 2) return pickle_wrong(r, "a key alone");
  JF_TRY(pickle_push_kind(r, kind));
  const int made = r->stack[--r->n_stack];
  JF_TRY(pickle_fill(r, made, from));
  r->stack[from - 1] = made;                         /* in place of the mark */
  return JFL_OK;
}

/* A tuple of the last n. */
static jfl_status pickle_tuple(reader *r, int n)
{
  int from, mark;
  for (from = r->n_stack; from && r->n_stack - from < n; from--)
    if (r->p->v[r->stack[from - 1]].kind == JF_PICKLED_MARK) break;
  mark = r->n_stack - from;
  if (mark < n) return pickle_wrong(r, "a value is missing");
  JF_TRY(pickle_push_kind(r, JF_PICKLED_LIST));
  const int made = r->stack[--r->n_stack];
  JF_TRY(pickle_fill(r, made, from));
  return pickle_push_old(r, made);
}

/* Adds values from there on to the container before them. */
static jfl_status pickle_add_all(reader *r, int from, int before, jf_pickled_kind kind)
{
  if (before < 0 || r->p->v[r->stack[before]].kind != kind ||
      (kind == JF_PICKLED_DICT && (r->n_stack - from) % 2))
    return pickle_wrong(r, "items of what is no container");
  JF_TRY(pickle_fill(r, r->stack[before], from));
  r->n_stack = before + 1;
  return JFL_OK;
}

static jfl_status pickle_items(reader *r, int kind)
{
  int from = 0;
  JF_TRY(pickle_mark(r, &from));
  return pickle_add_all(r, from, from - 2, (jf_pickled_kind)kind);
}

static jfl_status pickle_one(reader *r, int kind)
{
  const int from = r->n_stack - (kind == JF_PICKLED_DICT ? 2 : 1);
  return pickle_add_all(r, from, from - 1, (jf_pickled_kind)kind);
}

/* ---- the stack and the memo ---- */

/* Also of BUILD: attributes of an object, such as the versions that a state dict notes, are of no
   matter here. */
static jfl_status pickle_drop(reader *r, int arg)
{
  int value = 0;
  (void)arg;
  return pickle_pop(r, &value);
}

static jfl_status pickle_drop_mark(reader *r, int arg)
{
  int from = 0;
  (void)arg;
  JF_TRY(pickle_mark(r, &from));
  r->n_stack = from - 1;
  return JFL_OK;
}

static jfl_status pickle_again(reader *r, int arg)
{
  int value = 0;
  (void)arg;
  JF_TRY(pickle_pop(r, &value));
  JF_TRY(pickle_push_old(r, value));
  return pickle_push_old(r, value);
}

/* A pickle has no more notes than bytes. */
static jfl_status pickle_note(reader *r, uint64_t at)
{
  int value = 0;
  JF_TRY(pickle_pop(r, &value));
  if (at >= (uint64_t)(r->end - r->start)) return pickle_wrong(r, "a note of too high a number");
  while ((uint64_t)r->n_memo <= at) {
    JF_TRY(jf_time_at(r->n_memo));
    if (!JF_ROOM(r->memo, r->n_memo, r->cap_memo)) return pickle_no_memory();
    r->memo[r->n_memo++] = -1;
  }
  r->memo[at] = value;
  return pickle_push_old(r, value);
}

static jfl_status pickle_put(reader *r, int n)
{
  uint64_t at = 0;
  JF_TRY(pickle_number(r, n, &at));
  return pickle_note(r, at);
}

static jfl_status pickle_memoize(reader *r, int arg)
{
  (void)arg;
  return pickle_note(r, (uint64_t)r->n_memo);
}

static jfl_status pickle_get(reader *r, int n)
{
  uint64_t at = 0;
  JF_TRY(pickle_number(r, n, &at));
  if (at >= (uint64_t)r->n_memo || r->memo[at] < 0) return pickle_wrong(r, "no such note");
  return pickle_push_old(r, r->memo[at]);
}

static jfl_status pickle_stop(reader *r, int arg)
{
  (void)arg;
  r->done = 1;
  return pickle_pop(r, &r->p->root);
}

static const struct { unsigned char op; int arg; jfl_status (*run)(reader *r, int arg); } ops[] = {
  { 0x80, 1, pickle_skip }, { 0x95, 8, pickle_skip }, { '.', 0, pickle_stop },
  { 'N', JF_PICKLED_OTHER, pickle_push_kind }, { 0x88, 1, pickle_truth },
  { 0x89, 0, pickle_truth }, { 'K', 1, pickle_small }, { 'M', 2, pickle_small },
  { 'J', 4, pickle_small }, { 0x8a, 1, pickle_long }, { 0x8b, 4, pickle_long },
  { 'G', 8, pickle_float }, { 'X', 4, pickle_text }, { 0x8c, 1, pickle_text },
  { 0x8d, 8, pickle_text }, { 'U', 1, pickle_text }, { 'T', 4, pickle_text },
  { 'C', 1, pickle_text }, { 'B', 4, pickle_text }, { 0x8e, 8, pickle_text },
  { '(', JF_PICKLED_MARK, pickle_push_kind }, { ')', JF_PICKLED_LIST, pickle_push_kind },
  { ']', JF_PICKLED_LIST, pickle_push_kind }, { '}', JF_PICKLED_DICT, pickle_push_kind },
  { 0x8f, JF_PICKLED_LIST, pickle_push_kind }, { 't', JF_PICKLED_LIST, pickle_gather },
  { 'l', JF_PICKLED_LIST, pickle_gather }, { 0x91, JF_PICKLED_LIST, pickle_gather },
  { 'd', JF_PICKLED_DICT, pickle_gather }, { 0x85, 1, pickle_tuple }, { 0x86, 2, pickle_tuple },
  { 0x87, 3, pickle_tuple }, { 'a', JF_PICKLED_LIST, pickle_one },
  { 'e', JF_PICKLED_LIST, pickle_items }, { 0x90, JF_PICKLED_LIST, pickle_items },
  { 's', JF_PICKLED_DICT, pickle_one }, { 'u', JF_PICKLED_DICT, pickle_items },
  { '0', 0, pickle_drop }, { '1', 0, pickle_drop_mark }, { '2', 0, pickle_again },
  { 'q', 1, pickle_put }, { 'r', 4, pickle_put }, { 0x94, 0, pickle_memoize },
  { 'h', 1, pickle_get }, { 'j', 4, pickle_get }, { 'c', 0, pickle_global },
  { 0x93, 0, pickle_stack_global }, { 'Q', 0, pickle_storage }, { 'R', 0, pickle_call },
  { 0x81, 0, pickle_call }, { 'b', 0, pickle_drop },
};

static jfl_status pickle_run(reader *r)
{
  for (int64_t k = 0; !r->done; k++) {
    const char *op = NULL;
    size_t i = 0;
    JF_TRY(jf_time_at(k));
    JF_TRY(pickle_take(r, 1, &op));
    while (i < sizeof ops / sizeof *ops && ops[i].op != (unsigned char)*op) i++;
    if (i == sizeof ops / sizeof *ops)
      return jf_fail(JFL_EDATA, "its pickle: byte %zu: operation 0x%02x is none of those that "
                     "weights are written with", (size_t)(op - r->start), (unsigned char)*op);
    JF_TRY(ops[i].run(r, ops[i].arg));
  }
  return JFL_OK;
}

jfl_status jf_pickle_read(const char *bytes, size_t n, jf_pickle *out)
{
  reader r = { .p = out, .start = bytes, .at = bytes, .end = bytes + n };
  *out = (jf_pickle){ .root = -1 };
  const jfl_status s = pickle_run(&r);
  jf_free(r.stack);
  jf_free(r.memo);
  return s;
}

void jf_pickle_free(jf_pickle *p)
{
  jf_free(p->v);
  jf_free(p->cell);
  jf_free(p->tensor);
  *p = (jf_pickle){0};
}
