/* The emulated cuDNN: descriptors with what the real library refuses of them, and engines that run
   graphs of convolutions and pointwise ops on the CPU. Of graphs its engines take a convolution
   alone, and y = act(conv + residual + bias), where the residual and relu may be missing, and
   attention of 16 bits and its gradients: such as the engines of cuDNN 9.19 for an H200 take.
   Numbers are those of cudnn_graph.h.

   JFL_EMULATED_CUDNN=single makes the engines refuse all but single ops, =none all graphs;
   =start lets cuDNN not start, =slow lets engines that read all bits take some milliseconds,
   =packs refuses the first, third, ... list of where tensors are. */
#include "emulated.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cudnn.h"

enum {
  OK = 0, NOT_INITIALIZED = 1001, BAD_PARAM = 2000, BAD_NULL = 2002, BAD_ALIGNMENT = 2003,
  BAD_NOT_FINAL = 2004, BAD_SIZE = 2006, BAD_SHAPE = 2008, BAD_TYPE = 2010, BAD_SORT = 2012,
  UNSUPPORTED = 3000, NO_MEMORY = 4003, FAILED_DRIVER = 5001
};
#define NEEDS(condition, error) do { if (!(condition)) return (error); } while (0)

/* ---- descriptors ---- */

enum { MOST_ATTRIBUTES = 12, MOST_BYTES = 512 };
typedef struct attribute { int name, type; int64_t n; char bytes[MOST_BYTES]; } attribute;
typedef struct descriptor {
  int sort, final, n;
  int engine;                          /* of an engine or what is made of one */
  struct descriptor *graph;
  attribute at[MOST_ATTRIBUTES];
} descriptor;
typedef struct handle { int device; emulated_stream *stream; } handle;

/* What a sort of descriptor may be told: attributes, their types, how many values at least and at
   most; `needed`: finalizing fails without it. */
enum { TENSOR = 17, CONV = 1, POINTWISE = 0, FORWARD = 10, FILTER = 11, DATA = 12, POINT = 13,
       MATMUL = 18, PRODUCT = 19, REDUCTION = 21, REDUCE = 22, RESHAPE = 31,
       GRAPH = 15, HEURISTICS = 4, CONFIG = 3, ENGINE = 2, PLAN = 5, PACK = 16 };
enum { T_HANDLE, T_DTYPE, T_BOOL, T_INT, T_FLOAT, T_DOUBLE, T_POINTER, T_CONV_MODE, T_HEURISTICS,
       T_NOTE = 11, T_POINT_MODE = 14, T_DESC = 15, T_REDUCTION = 18 };
enum { T_FACTOR = -1 };                /* a float or a double */
typedef struct rule { int sort, name, type, least, most, needed; } rule;
static const rule rules[] = {
  { TENSOR, 900, T_INT, 1, 1, 1 }, { TENSOR, 901, T_DTYPE, 1, 1, 1 },
  { TENSOR, 902, T_INT, 1, 8, 1 }, { TENSOR, 903, T_INT, 1, 8, 1 },
  { TENSOR, 906, T_INT, 1, 1, 1 },
  { TENSOR, 907, T_BOOL, 1, 1, 0 }, { TENSOR, 908, T_BOOL, 1, 1, 0 },
  { CONV, 100, T_DTYPE, 1, 1, 1 }, { CONV, 101, T_CONV_MODE, 1, 1, 1 },
  { CONV, 102, T_INT, 1, 6, 1 }, { CONV, 103, T_INT, 1, 6, 1 }, { CONV, 104, T_INT, 1, 6, 1 },
  { CONV, 105, T_INT, 1, 6, 1 }, { CONV, 106, T_INT, 1, 1, 1 },
  { POINTWISE, 0, T_POINT_MODE, 1, 1, 1 }, { POINTWISE, 1, T_DTYPE, 1, 1, 1 },
  { FORWARD, 700, T_FACTOR, 1, 1, 1 }, { FORWARD, 701, T_FACTOR, 1, 1, 1 },
  { FORWARD, 702, T_DESC, 1, 1, 1 }, { FORWARD, 703, T_DESC, 1, 1, 1 },
  { FORWARD, 704, T_DESC, 1, 1, 1 }, { FORWARD, 705, T_DESC, 1, 1, 1 },
  { DATA, 706, T_FACTOR, 1, 1, 1 }, { DATA, 707, T_FACTOR, 1, 1, 1 },
  { DATA, 708, T_DESC, 1, 1, 1 }, { DATA, 709, T_DESC, 1, 1, 1 }, { DATA, 710, T_DESC, 1, 1, 1 },
  { DATA, 711, T_DESC, 1, 1, 1 },
  { FILTER, 712, T_FACTOR, 1, 1, 1 }, { FILTER, 713, T_FACTOR, 1, 1, 1 },
  { FILTER, 714, T_DESC, 1, 1, 1 }, { FILTER, 715, T_DESC, 1, 1, 1 },
  { FILTER, 716, T_DESC, 1, 1, 1 }, { FILTER, 717, T_DESC, 1, 1, 1 },
  { POINT, 750, T_DESC, 1, 1, 1 }, { POINT, 751, T_DESC, 1, 1, 1 },
  { POINT, 752, T_DESC, 1, 1, 0 }, { POINT, 753, T_DESC, 1, 1, 1 },
  { POINTWISE, 9, T_INT, 1, 1, 0 }, { POINT, 758, T_DESC, 1, 1, 0 },
  { MATMUL, 1500, T_DTYPE, 1, 1, 1 }, { PRODUCT, 1520, T_DESC, 1, 1, 1 },
  { PRODUCT, 1521, T_DESC, 1, 1, 1 }, { PRODUCT, 1522, T_DESC, 1, 1, 1 },
  { PRODUCT, 1523, T_DESC, 1, 1, 1 }, { REDUCTION, 1600, T_REDUCTION, 1, 1, 1 },
  { REDUCTION, 1601, T_DTYPE, 1, 1, 1 }, { REDUCTION, 1602, T_BOOL, 1, 1, 0 },
  { REDUCE, 1610, T_DESC, 1, 1, 1 }, { REDUCE, 1611, T_DESC, 1, 1, 1 },
  { REDUCE, 1612, T_DESC, 1, 1, 1 }, { RESHAPE, 2200, T_DESC, 1, 1, 1 },
  { RESHAPE, 2201, T_DESC, 1, 1, 1 },
  { GRAPH, 800, T_HANDLE, 1, 1, 1 }, { GRAPH, 801, T_DESC, 1, EMULATED_OPS, 1 },
  { HEURISTICS, 200, T_HEURISTICS, 1, 1, 1 }, { HEURISTICS, 201, T_DESC, 1, 1, 1 },
  { PLAN, 400, T_HANDLE, 1, 1, 1 }, { PLAN, 401, T_DESC, 1, 1, 1 },
  { PACK, 1000, T_INT, 1, 16, 1 }, { PACK, 1001, T_POINTER, 1, 16, 1 },
  { PACK, 1003, T_POINTER, 1, 1, 1 },
};
enum { N_RULES = sizeof rules / sizeof *rules };

static size_t cudnn_type_size(int type)
{
  switch (type) {
  case T_INT: case T_DOUBLE: case T_HANDLE: case T_POINTER: case T_DESC: return 8;
  case T_BOOL: return 1;
  default: return 4;
  }
}

static const attribute *cudnn_find(const descriptor *d, int name)
{
  for (int i = 0; i < d->n; i++)
    if (d->at[i].name == name) return &d->at[i];
  return NULL;
}

static const int64_t *cudnn_ints(const descriptor *d, int name)
{
  return (const int64_t *)(const void *)cudnn_find(d, name)->bytes;
}
static int cudnn_mode(const descriptor *d, int name)
{
  int v;
  memcpy(&v, cudnn_find(d, name)->bytes, sizeof v);
  return v;
}
static descriptor *cudnn_desc(const descriptor *d, int name, int i)
{
  descriptor *v = NULL;
  const attribute *a = cudnn_find(d, name);
  if (a) memcpy(&v, a->bytes + 8 * i, sizeof v);
  return v;
}

EMULATED_ENTRY int cudnnBackendCreateDescriptor(int sort, descriptor **out)
{
  NEEDS(out, BAD_NULL);
  NEEDS(!emulated_injected(), NO_MEMORY);
  int known = sort == CONFIG || sort == ENGINE;
  for (int i = 0; i < N_RULES; i++) known |= rules[i].sort == sort;
  NEEDS(known, BAD_SORT);
  *out = calloc(1, sizeof **out);
  NEEDS(*out, NO_MEMORY);
  (*out)->sort = sort;
  return OK;
}

EMULATED_ENTRY int cudnnBackendDestroyDescriptor(descriptor *d)
{
  NEEDS(d, BAD_NULL);
  free(d);
  return OK;
}

EMULATED_ENTRY int cudnnBackendSetAttribute(descriptor *d, int name, int type, int64_t n,
                                            const void *values)
{
  const rule *r = NULL;
  NEEDS(d && values, BAD_NULL);
  NEEDS(!emulated_injected(), NO_MEMORY);
  NEEDS(!d->final, BAD_PARAM);
  for (int i = 0; i < N_RULES; i++)
    if (rules[i].sort == d->sort && rules[i].name == name) r = &rules[i];
  NEEDS(r, BAD_PARAM);
  const int factor = type == T_FLOAT || type == T_DOUBLE;
  NEEDS(r->type == type || (r->type == T_FACTOR && factor), BAD_TYPE);
  NEEDS(n >= r->least && n <= r->most, BAD_SIZE);
  attribute *a = (attribute *)cudnn_find(d, name);
  if (!a) a = &d->at[d->n++];
  *a = (attribute){ .name = name, .type = type, .n = n };
  memcpy(a->bytes, values, (size_t)n * cudnn_type_size(type));
  if (type == T_DESC)
    for (int i = 0; i < n; i++)
      NEEDS(cudnn_desc(d, name, i) && cudnn_desc(d, name, i)->final, BAD_NOT_FINAL);
  return OK;
}

/* ---- finalizing ---- */

static int tensor_check(const descriptor *d)
{
  const attribute *extent = cudnn_find(d, 902);
  NEEDS(extent->n >= 3 && extent->n == cudnn_find(d, 903)->n, BAD_SHAPE);
  for (int i = 0; i < extent->n; i++)
    NEEDS(cudnn_ints(d, 902)[i] > 0 && cudnn_ints(d, 903)[i] > 0, BAD_PARAM);
  const int64_t alignment = *cudnn_ints(d, 900);
  const int t = cudnn_mode(d, 901);
  NEEDS(alignment > 0 && !(alignment & (alignment - 1)), BAD_PARAM);
  NEEDS(!cudnn_find(d, 907) || !cudnn_find(d, 908), BAD_PARAM);
  if (cudnn_find(d, 907) && (t == TI32 || t == TBOOL)) return OK;
  NEEDS(t == T32 || t == T64 || t == T16 || t == TB16, UNSUPPORTED);
  return OK;
}

static int conv_check(const descriptor *d)
{
  const int64_t axes = *cudnn_ints(d, 106);
  for (int name = 102; name <= 105; name++) NEEDS(cudnn_find(d, name)->n == axes, BAD_SIZE);
  for (int i = 0; i < axes; i++) {
    NEEDS(cudnn_ints(d, 102)[i] > 0 && cudnn_ints(d, 103)[i] > 0, BAD_PARAM);
    NEEDS(cudnn_ints(d, 104)[i] >= 0 && cudnn_ints(d, 105)[i] >= 0, BAD_PARAM);
  }
  return OK;
}

/* The attributes of the convolutions, from alpha on, in the order conv, w, x, y. */
static void conv_names(int sort, int *alpha, int *name)
{
  static const int of[3][4] = { { 702, 703, 704, 705 }, { 714, 715, 716, 717 },
                                { 708, 709, 710, 711 } };
  *alpha = sort == FORWARD ? 700 : sort == DATA ? 706 : 712;
  memcpy(name, of[sort - FORWARD], sizeof of[0]);
}

static int conv_op_check(const descriptor *d)
{
  int alpha, name[4];
  conv_names(d->sort, &alpha, name);
  const descriptor *c = cudnn_desc(d, name[0], 0), *w = cudnn_desc(d, name[1], 0);
  const descriptor *x = cudnn_desc(d, name[2], 0), *y = cudnn_desc(d, name[3], 0);
  NEEDS(c->sort == CONV && w->sort == TENSOR && x->sort == TENSOR && y->sort == TENSOR, BAD_TYPE);
  const int64_t n = *cudnn_ints(c, 106) + 2;
  NEEDS(cudnn_find(x, 902)->n == n && cudnn_find(w, 902)->n == n && cudnn_find(y, 902)->n == n,
        BAD_SHAPE);
  const int64_t *xd = cudnn_ints(x, 902), *wd = cudnn_ints(w, 902), *yd = cudnn_ints(y, 902);
  NEEDS(xd[0] == yd[0] && yd[1] == wd[0] && xd[1] % wd[1] == 0, BAD_SHAPE);
  NEEDS(wd[0] % (xd[1] / wd[1]) == 0, BAD_SHAPE);
  for (int i = 0; i < n - 2; i++) {
    const int64_t reach = (wd[2 + i] - 1) * cudnn_ints(c, 102)[i] + 1;
    const int64_t room = xd[2 + i] + cudnn_ints(c, 104)[i] + cudnn_ints(c, 105)[i];
    NEEDS(room >= reach && (room - reach) / cudnn_ints(c, 103)[i] + 1 == yd[2 + i], BAD_SHAPE);
  }
  const int wide = cudnn_mode(c, 100) == T64;
  NEEDS(cudnn_find(d, alpha)->type == (wide ? T_DOUBLE : T_FLOAT), BAD_TYPE);
  return OK;
}

/* Whether each extent of x is y's or 1. */
static int broadcasts(const descriptor *x, const descriptor *y)
{
  if (x->sort != TENSOR || y->sort != TENSOR) return 0;
  if (cudnn_find(x, 902)->n != cudnn_find(y, 902)->n) return 0;
  for (int i = 0; i < cudnn_find(y, 902)->n; i++) {
    const int64_t a = cudnn_ints(x, 902)[i];
    if (a != 1 && a != cudnn_ints(y, 902)[i]) return 0;
  }
  return 1;
}

static int point_check(const descriptor *d)
{
  static const struct { int mode, n; } known[] = {
    { MODE_ADD, 2 }, { MODE_SUB, 2 }, { MODE_MUL, 2 }, { MODE_DIV, 2 }, { MODE_EXP, 1 },
    { MODE_LOG, 1 }, { MODE_RELU, 1 }, { MODE_AT_LEAST, 2 }, { MODE_INDEX, 1 }, { MODE_SELECT, 3 },
  };
  const descriptor *p = cudnn_desc(d, 750, 0), *x = cudnn_desc(d, 751, 0);
  const descriptor *b = cudnn_desc(d, 752, 0), *y = cudnn_desc(d, 753, 0);
  const descriptor *t = cudnn_desc(d, 758, 0);
  int n = 0;
  NEEDS(p->sort == POINTWISE, BAD_TYPE);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (known[i].mode == cudnn_mode(p, 0)) n = known[i].n;
  NEEDS(n, UNSUPPORTED);
  NEEDS((n > 1) == (b != NULL) && (n > 2) == (t != NULL), BAD_PARAM);
  NEEDS((cudnn_mode(p, 0) == MODE_INDEX) == (cudnn_find(p, 9) != NULL), BAD_PARAM);
  NEEDS(broadcasts(x, y) && broadcasts(y, x) && (!b || broadcasts(b, y)), BAD_SHAPE);
  return OK;
}

static int product_check(const descriptor *d)
{
  const descriptor *a = cudnn_desc(d, 1520, 0), *b = cudnn_desc(d, 1521, 0);
  const descriptor *c = cudnn_desc(d, 1522, 0);
  NEEDS(cudnn_desc(d, 1523, 0)->sort == MATMUL, BAD_TYPE);
  NEEDS(a->sort == TENSOR && b->sort == TENSOR && c->sort == TENSOR, BAD_TYPE);
  const int64_t n = cudnn_find(c, 902)->n;
  const int64_t *x = cudnn_ints(a, 902), *y = cudnn_ints(b, 902), *z = cudnn_ints(c, 902);
  NEEDS(cudnn_find(a, 902)->n == n && cudnn_find(b, 902)->n == n, BAD_SHAPE);
  NEEDS(x[n - 1] == y[n - 2] && x[n - 2] == z[n - 2] && y[n - 1] == z[n - 1], BAD_SHAPE);
  for (int i = 0; i < n - 2; i++) NEEDS(x[i] == z[i] && y[i] == z[i], BAD_SHAPE);
  return OK;
}

static int reduce_check(const descriptor *d)
{
  NEEDS(cudnn_desc(d, 1612, 0)->sort == REDUCTION, BAD_TYPE);
  NEEDS(broadcasts(cudnn_desc(d, 1611, 0), cudnn_desc(d, 1610, 0)), BAD_SHAPE);
  const int mode = cudnn_mode(cudnn_desc(d, 1612, 0), 1600);
  return mode == MODE_SUM || mode == MODE_MAX ? OK : UNSUPPORTED;
}

static int is_handle(const descriptor *d, int name)
{
  handle *h;
  memcpy(&h, cudnn_find(d, name)->bytes, sizeof h);
  return h != NULL;
}

static int pack_check(const descriptor *d)
{
  NEEDS(cudnn_find(d, 1000)->n == cudnn_find(d, 1001)->n, BAD_SIZE);
  return OK;
}

static int cudnn_setting(const char *word)
{
  const char *s = getenv("JFL_EMULATED_CUDNN");
  return s && !strcmp(s, word);
}

static atomic_int n_pack;               /* lists of places that were to be finished */

EMULATED_ENTRY int cudnnBackendFinalize(descriptor *d)
{
  int e = OK;
  NEEDS(d, BAD_NULL);
  NEEDS(!emulated_injected(), NO_MEMORY);
  for (int i = 0; i < N_RULES; i++)
    if (rules[i].sort == d->sort && rules[i].needed) NEEDS(cudnn_find(d, rules[i].name), BAD_PARAM);
  if (d->sort == TENSOR) e = tensor_check(d);
  if (d->sort == CONV) e = conv_check(d);
  if (d->sort == FORWARD || d->sort == DATA || d->sort == FILTER) e = conv_op_check(d);
  if (d->sort == POINT) e = point_check(d);
  if (d->sort == PRODUCT) e = product_check(d);
  if (d->sort == REDUCE) e = reduce_check(d);
  if (d->sort == GRAPH) e = is_handle(d, 800) ? OK : BAD_NULL;
  if (d->sort == HEURISTICS) e = cudnn_desc(d, 201, 0)->sort == GRAPH ? OK : BAD_TYPE;
  if (d->sort == PLAN) {
    e = is_handle(d, 400) && cudnn_desc(d, 401, 0)->sort == CONFIG ? OK : BAD_PARAM;
    d->graph = cudnn_desc(d, 401, 0)->graph;
    d->engine = cudnn_desc(d, 401, 0)->engine;
  }
  if (d->sort == PACK)
    e = cudnn_setting("packs") && atomic_fetch_add(&n_pack, 1) % 2 == 0 ? NO_MEMORY : pack_check(d);
  d->final = e == OK;
  return e;
}

/* ---- engines ---- */

/* Two exact engines; one that reads 10 bits of float32 mantissas, one whose results differ. The
   likely fastest are first. */
enum { ENGINE_TF32, ENGINE_VARIES, ENGINE_PLAIN, ENGINE_OTHER, N_ENGINE };
static const int note[N_ENGINE] = { 0, 4, -1, -1 };

/* Whether op i of a graph is pointwise of that mode. */
static int is_point(const descriptor *g, int i, int mode)
{
  const attribute *ops = cudnn_find(g, 801);
  if (i >= ops->n || cudnn_desc(g, 801, i)->sort != POINT) return 0;
  return cudnn_mode(cudnn_desc(cudnn_desc(g, 801, i), 750, 0), 0) == mode;
}

static int adds_channels(const descriptor *g, int i)
{
  if (!is_point(g, i, MODE_ADD)) return 0;
  const descriptor *b = cudnn_desc(cudnn_desc(g, 801, i), 752, 0);
  for (int k = 0; k < cudnn_find(b, 902)->n; k++)
    if (k != 1 && cudnn_ints(b, 902)[k] != 1) return 0;
  return 1;
}

/* Engines read and write one type; what lies nowhere may be of another. */
static int cudnn_types_agree(const descriptor *conv)
{
  int alpha, name[4], type = -1, agree = 1;
  conv_names(conv->sort, &alpha, name);
  for (int i = 1; i < 4; i++) {
    const descriptor *t = cudnn_desc(conv, name[i], 0);
    if (cudnn_find(t, 907)) continue;
    agree &= type < 0 || type == cudnn_mode(t, 901);
    type = cudnn_mode(t, 901);
  }
  return agree;
}

/* A letter for an op. */
static char op_letter(const descriptor *op)
{
  if (op->sort == PRODUCT) return 'm';
  if (op->sort == RESHAPE) return 'r';
  if (op->sort == REDUCE) return cudnn_mode(cudnn_desc(op, 1612, 0), 1600) == MODE_MAX ? 'X' : 'S';
  if (op->sort != POINT) return 'c';
  switch (cudnn_mode(cudnn_desc(op, 750, 0), 0)) {
  case MODE_ADD: return '+';
  case MODE_SUB: return '-';
  case MODE_MUL: return '*';
  case MODE_DIV: return '/';
  case MODE_EXP: return 'e';
  case MODE_LOG: return 'l';
  case MODE_INDEX: return 'i';
  case MODE_AT_LEAST: return '>';
  case MODE_SELECT: return '?';
  default: return 'R';
  }
}

/* Whether a graph is attention or its gradients: heads of a multiple of 8 numbers of 16 bits. */
static int is_attention(const descriptor *g)
{
  static const char *const known[] = {
    "m*X-eSl+/m", "m*ii>?X-eSl+/m", "*Sm*-ermm-**mrm", "*Sm*ii>?-ermm-**mrm",
  };
  char all[EMULATED_OPS + 1] = "";
  const int64_t n = cudnn_find(g, 801)->n;
  for (int i = 0; i < n; i++) all[i] = op_letter(cudnn_desc(g, 801, i));
  const descriptor *last = cudnn_desc(g, 801, (int)n - 1);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (strcmp(all, known[i])) continue;
    const descriptor *c = cudnn_desc(last, 1522, 0);
    const int type = cudnn_mode(c, 901);
    return (type == T16 || type == TB16) && cudnn_ints(c, 902)[3] % 8 == 0;
  }
  return 0;
}

static int cudnn_supports(const descriptor *g)
{
  const int64_t n = cudnn_find(g, 801)->n;
  int i = 1;
  if (cudnn_setting("none")) return 0;
  if (op_letter(cudnn_desc(g, 801, 0)) != 'c') return is_attention(g);
  if (!cudnn_types_agree(cudnn_desc(g, 801, 0))) return 0;
  if (n == 1) return 1;
  if (cudnn_setting("single")) return 0;
  if (is_point(g, i, MODE_ADD) && !adds_channels(g, i)) i++;
  if (!adds_channels(g, i++)) return 0;
  if (is_point(g, i, MODE_RELU)) i++;
  return i == n;
}

static int64_t workspace_of(int engine) { return engine == ENGINE_PLAIN ? 0 : 128 * (engine + 1); }

EMULATED_ENTRY int cudnnBackendGetAttribute(descriptor *d, int name, int type, int64_t room,
                                            int64_t *n, void *values)
{
  NEEDS(d && n && values, BAD_NULL);
  NEEDS(!emulated_injected(), NO_MEMORY);
  NEEDS(d->final, BAD_NOT_FINAL);
  if (d->sort == HEURISTICS && name == 202 && type == T_DESC) {
    descriptor **out = values, *g = cudnn_desc(d, 201, 0);
    const int fallback = cudnn_mode(d, 200) == 2, from = fallback ? ENGINE_PLAIN : 0;
    *n = cudnn_supports(g) ? N_ENGINE - from : 0;
    for (int64_t i = 0; i < *n && i < room; i++) {
      NEEDS(out[i] && out[i]->sort == CONFIG, BAD_TYPE);
      out[i]->graph = g;
      out[i]->engine = from + (int)i;
      out[i]->final = 1;
    }
    return OK;
  }
  if (d->sort == CONFIG && name == 300 && type == T_DESC && room == 1) {
    descriptor *e = *(descriptor **)values;
    NEEDS(e && e->sort == ENGINE, BAD_TYPE);
    e->engine = d->engine;
    e->final = 1;
    return *n = 1, OK;
  }
  if (d->sort == ENGINE && name == 1303 && type == T_NOTE) {
    *n = note[d->engine] >= 0;
    if (*n && room) *(int *)values = note[d->engine];
    return OK;
  }
  if (d->sort == PLAN && name == 402 && type == T_INT && room == 1)
    return *(int64_t *)values = workspace_of(d->engine), *n = 1, OK;
  return BAD_PARAM;
}

/* ---- running ---- */

static emulated_tensor tensor_of(const descriptor *d)
{
  emulated_tensor t = { .id = *cudnn_ints(d, 906), .n = (int)cudnn_find(d, 902)->n,
                        .type = cudnn_mode(d, 901), .alignment = *cudnn_ints(d, 900) };
  memcpy(t.extent, cudnn_ints(d, 902), (size_t)t.n * sizeof *t.extent);
  memcpy(t.step, cudnn_ints(d, 903), (size_t)t.n * sizeof *t.step);
  t.is_virtual = cudnn_find(d, 907) && *cudnn_find(d, 907)->bytes;
  t.by_value = cudnn_find(d, 908) && *cudnn_find(d, 908)->bytes;
  return t;
}

/* Gives the number of the tensor in the run, which is told where it lies. One tensor may be seen
   with its axes in several orders. */
static int run_tensor(emulated_run_args *r, const descriptor *d, const descriptor *pack)
{
  emulated_tensor t = tensor_of(d);
  for (int i = 0; i < r->n_tensor; i++)
    if (r->tensor[i].id == t.id && !memcmp(r->tensor[i].step, t.step, sizeof t.step)) return i;
  for (int i = 0; i < cudnn_find(pack, 1000)->n; i++)
    if (cudnn_ints(pack, 1000)[i] == t.id) memcpy(&t.at, cudnn_find(pack, 1001)->bytes + 8 * i, 8);
  if (t.by_value && t.at) memcpy(&t.value, t.at, sizeof t.value);
  r->tensor[r->n_tensor] = t;
  return r->n_tensor++;
}

static int run_desc(emulated_run_args *r, const descriptor *op, int name, const descriptor *pack)
{
  const descriptor *d = cudnn_desc(op, name, 0);
  return d ? run_tensor(r, d, pack) : -1;
}

/* An op that is no convolution: its tensors are these attributes. */
static void run_other(emulated_run_args *r, emulated_op *o, const descriptor *op,
                      const descriptor *pack)
{
  static const struct { int sort, x, b, t, y; } names[] = {
    { POINT, 751, 752, 758, 753 }, { PRODUCT, 1520, 1521, 0, 1522 }, { REDUCE, 1610, 0, 0, 1611 },
    { RESHAPE, 2200, 0, 0, 2201 },
  };
  const descriptor *p = cudnn_desc(op, 750, 0);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (names[i].sort != op->sort) continue;
    o->x = run_desc(r, op, names[i].x, pack);
    o->b = run_desc(r, op, names[i].b, pack);
    o->t = run_desc(r, op, names[i].t, pack);
    o->y = run_desc(r, op, names[i].y, pack);
  }
  if (op->sort == REDUCE) o->mode = cudnn_mode(cudnn_desc(op, 1612, 0), 1600);
  if (p) o->mode = cudnn_mode(p, 0);
  if (p && cudnn_find(p, 9)) o->axis = (int)*cudnn_ints(p, 9);
}

static void run_op(emulated_run_args *r, const descriptor *op, const descriptor *pack)
{
  emulated_op *o = &r->op[r->n_op++];
  int alpha, name[4];
  *o = (emulated_op){ .sort = op->sort, .b = -1, .t = -1 };
  if (op->sort != FORWARD && op->sort != DATA && op->sort != FILTER) {
    run_other(r, o, op, pack);
    return;
  }
  conv_names(op->sort, &alpha, name);
  const descriptor *c = cudnn_desc(op, name[0], 0);
  o->b = run_tensor(r, cudnn_desc(op, name[1], 0), pack);
  o->x = run_tensor(r, cudnn_desc(op, name[2], 0), pack);
  o->y = run_tensor(r, cudnn_desc(op, name[3], 0), pack);
  const int axes = (int)*cudnn_ints(c, 106);
  for (int i = 0; i < 3; i++) {
    const int k = i - (3 - axes);
    o->stride[i] = k < 0 ? 1 : cudnn_ints(c, 103)[k];
    o->dilation[i] = k < 0 ? 1 : cudnn_ints(c, 102)[k];
    o->before[i] = k < 0 ? 0 : cudnn_ints(c, 105)[k];
  }
}

/* Whether every tensor that is somewhere lies in memory of the stream's device, aligned. */
static int run_check(const emulated_run_args *r, emulated_stream *s)
{
  for (int i = 0; i < r->n_tensor; i++) {
    const emulated_tensor *t = &r->tensor[i];
    int64_t last = 0;
    if (t->is_virtual) continue;
    NEEDS(t->at, BAD_NULL);
    if (t->by_value) continue;
    NEEDS((uintptr_t)t->at % (uintptr_t)t->alignment == 0, BAD_ALIGNMENT);
    for (int k = 0; k < t->n; k++) last += (t->extent[k] - 1) * t->step[k];
    NEEDS(emulated_reaches(s, t->at, (size_t)(last + 1) * emulated_type_size(t->type)), BAD_PARAM);
  }
  return OK;
}

EMULATED_ENTRY int cudnnBackendExecute(handle *h, const descriptor *plan, const descriptor *pack)
{
  void *scratch;
  NEEDS(h && plan && pack, BAD_NULL);
  NEEDS(!emulated_injected(), FAILED_DRIVER);
  NEEDS(plan->sort == PLAN && pack->sort == PACK, BAD_SORT);
  NEEDS(plan->final && pack->final, BAD_NOT_FINAL);
  emulated_run_args *r = calloc(1, sizeof *r);
  NEEDS(r, NO_MEMORY);
  r->tf32 = plan->engine == ENGINE_TF32;
  r->slow = !r->tf32 && cudnn_setting("slow");
  r->spoil = plan->engine == ENGINE_VARIES;
  for (int i = 0; i < cudnn_find(plan->graph, 801)->n; i++)
    run_op(r, cudnn_desc(plan->graph, 801, i), pack);
  memcpy(&scratch, cudnn_find(pack, 1003)->bytes, sizeof scratch);
  int e = run_check(r, h->stream);
  const int64_t needs = workspace_of(plan->engine);
  if (!e && needs && !emulated_reaches(h->stream, scratch, (size_t)needs)) e = BAD_PARAM;
  if (!e && emulated_work(h->stream, emulated_graph_run, r, sizeof *r)) e = FAILED_DRIVER;
  free(r);
  return e;
}

/* ---- handles ---- */

EMULATED_ENTRY int cudnnCreate(handle **out)
{
  const emulated_context *c = emulated_here();
  NEEDS(out, BAD_NULL);
  NEEDS(c && !cudnn_setting("start") && !emulated_injected(), NOT_INITIALIZED);
  *out = calloc(1, sizeof **out);
  NEEDS(*out, NO_MEMORY);
  (*out)->device = c->device;
  return OK;
}

EMULATED_ENTRY int cudnnDestroy(handle *h)
{
  NEEDS(h, BAD_NULL);
  free(h);
  return OK;
}

EMULATED_ENTRY int cudnnSetStream(handle *h, emulated_stream *s)
{
  NEEDS(h, BAD_NULL);
  h->stream = s;
  return OK;
}

EMULATED_ENTRY size_t cudnnGetVersion(void) { return 91900; }

EMULATED_ENTRY const char *cudnnGetErrorString(int e)
{
  switch (e) {
  case OK: return "CUDNN_STATUS_SUCCESS";
  case NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
  case NO_MEMORY: return "CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED";
  case FAILED_DRIVER: return "CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER";
  case UNSUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
  default: return "CUDNN_STATUS_BAD_PARAM";
  }
}
