/* Convolutions on blocked channels and packed filters: plain kernels and fast rows give what the
   plain kernels give on plain tensors. Also tests the conversions between forms. */
#include "dev/cpu/cpu.h"
#include "dev/dev.h"
#include "op/conv.h"
#include "op/layout.h"
#include "op/op.h"
#include "test.h"

#include <math.h>
#include <string.h>

static size_t bytes_of(const jf_tensor *t)
{
  return (size_t)jf_numel(&t->shape) * jfl_dtype_size(t->dtype);
}

static jf_tensor tensor(jfl_dtype t, const jfl_shape *s)
{
  jf_tensor r = { .dtype = t, .shape = *s };
  r.data = jf_new(bytes_of(&r));
  return r;
}

static void set(const jf_tensor *t, int64_t i, double v)
{
  if (t->dtype == JFL_F32) ((float *)t->data)[i] = (float)v;
  else ((double *)t->data)[i] = v;
}

static double get(const jf_tensor *t, int64_t i)
{
  return t->dtype == JFL_F32 ? (double)((float *)t->data)[i] : ((double *)t->data)[i];
}

/* Numbers in -1..1 from a seed. */
static jf_tensor fill(jfl_dtype t, const jfl_shape *s, uint64_t seed)
{
  jf_tensor r = tensor(t, s);
  for (int64_t i = 0; i < jf_numel(s); i++)
    set(&r, i, (double)jf_philox_at(seed, 0, (uint64_t)i).w[0] * 0x1p-31 - 1);
  return r;
}

/* A copy of t in that form. */
static jf_tensor formed(const jf_tensor *t, jf_form form, int64_t block)
{
  jf_relayout r;
  if (form == JF_PLAIN) {
    jf_tensor c = tensor(t->dtype, &t->shape);
    memcpy(c.data, t->data, bytes_of(t));
    return c;
  }
  CHECK(jf_relayout_to(&(jf_packing){ form, block }, &t->shape, &r));
  const jf_tensor y = tensor(t->dtype, &r.to);
  jf_pack_tensor(&(jf_packing){ form, block }, t->dtype, &t->shape, t->data, y.data);
  return y;
}

/* The largest difference between a tensor in a form and a plain one, relative to the largest
   magnitude. */
static double difference(const jf_tensor *t, jf_form form, int64_t block, const jf_tensor *plain)
{
  jf_tensor want = formed(plain, form, block);
  double worst = 0, scale = 1e-30;
  CHECK(jf_shape_eq(&t->shape, &want.shape));
  for (int64_t i = 0; i < jf_numel(&want.shape); i++) {
    double d = fabs(get(t, i) - get(&want, i));
    scale = fmax(scale, fabs(get(&want, i)));
    worst = d <= worst ? worst : d;         /* a NaN stays */
  }
  jf_free(want.data);
  return worst / scale;
}

/* A convolution: the extents of x and filters, and how they are combined. */
typedef struct problem {
  jfl_dtype dtype;
  int64_t n, c, h, w, o, u, v, groups, stride, dilation, pad, block;
  int block_x, block_y, packed;
} problem;

enum { FORWARD, FUSED, DATA, FILTER, MAX = 4 };
static const jfl_op *const op_of[] = {
  [FORWARD] = &jf_op_conv2d, [FUSED] = &jf_op_conv2d_fused, [DATA] = &jf_op_conv2d_data_grad,
  [FILTER] = &jf_op_conv2d_filter_grad
};

/* A call: plain operands and results, and the form that each one is tested in. */
typedef struct call {
  int kind, n_in, n_out;
  jf_tensor in[MAX], out[2];
  jf_form in_form[MAX], out_form[2];
} call;

/* Makes the attributes; their lists lie in p and at `size`. */
static jf_conv attr_of(problem *p, int kind, int64_t size[2])
{
  jf_conv a = {
    .strides = { 1, &p->stride }, .padding = { NULL, { 1, &p->pad } }, .data_format = "NCHW",
    .dilations = { 1, &p->dilation }, .groups = p->groups, .size = { 2, size }, .block = p->block,
    .block_x = p->block_x, .block_y = p->block_y, .packed = p->packed
  };
  size[0] = kind == DATA ? p->h : p->u;
  size[1] = kind == DATA ? p->w : p->v;
  if (kind != DATA && kind != FILTER) a.size.n = 0;
  if (kind == FILTER) a.epilogue.bias = 1;
  if (kind == FUSED) a.epilogue = (jf_epilogue){ .bias = 1, .residual = 1, .act = "tanh" };
  return a;
}

/* Completes the attributes and makes the outputs; returns how many there are. */
static int complete(const jfl_op *op, jf_conv *a, const jf_tensor *in, int n_in, jf_tensor *out)
{
  jfl_value value[MAX], *list[MAX];
  jf_arena arena = { 0 };
  for (int i = 0; i < n_in; i++) {
    value[i] = (jfl_value){ .dtype = in[i].dtype, .shape = in[i].shape };
    list[i] = &value[i];
  }
  jf_infer f = { .op = op, .arena = &arena, .in = list, .n_in = n_in, .attr = a };
  jfl_status s = jf_op_infer(&f);
  CHECK_MSG(s == JFL_OK, "%s", jfl_errmsg());
  for (int i = 0; !s && i < f.n_out; i++) out[i] = tensor(f.dtype[i], &f.shape[i]);
  jf_arena_free(&arena);
  return s ? 0 : f.n_out;
}

/* Runs the row if it takes the call; returns whether it did. */
static int run_row(const jf_kernel_row *row, jf_kargs *k)
{
  k->state = NULL;
  if (!row->accepts(k) || row->prepare(k)) return 0;
  k->scratch = jf_new(k->scratch_size);
  CHECK_MSG(row->run(k) == JFL_OK, "%s", jfl_errmsg());
  jf_free(k->scratch);
  if (row->release) row->release(k->state);
  return 1;
}

static const char *say(const problem *p)
{
  static char s[256];
  snprintf(s, sizeof s, "n %d c %d h %d w %d o %d u %d v %d groups %d stride %d dilation %d pad %d "
           "block %d x %d y %d packed %d", (int)p->n, (int)p->c, (int)p->h, (int)p->w, (int)p->o,
           (int)p->u, (int)p->v, (int)p->groups, (int)p->stride, (int)p->dilation, (int)p->pad,
           (int)p->block, p->block_x, p->block_y, p->packed);
  return s;
}

static void check_outputs(const problem *p, const call *c, const jf_tensor *out, const char *who)
{
  double tolerance = p->dtype == JFL_F32 ? 2e-5 : 1e-12;
  for (int i = 0; i < c->n_out; i++) {
    double d = difference(&out[i], c->out_form[i], p->block, &c->out[i]);
    CHECK_MSG(d <= tolerance, "%s, output %d, %s: %g", who, i, say(p), d);
    memset(out[i].data, 0xFF, bytes_of(&out[i]));
  }
}

/* Runs the call in its forms, with the plain kernel and with every row that takes it. */
static void check_call(const problem *p, const call *c, int fast)
{
  const jfl_op *op = op_of[c->kind];
  problem own = *p;
  int64_t size[2];
  jf_conv a = attr_of(&own, c->kind, size);
  jf_tensor in[MAX], out[2];
  for (int i = 0; i < c->n_in; i++) in[i] = formed(&c->in[i], c->in_form[i], p->block);
  int n_out = complete(op, &a, in, c->n_in, out);
  CHECK(n_out == c->n_out);
  if (n_out == c->n_out) {
    jf_kargs k = { .in = in, .out = out, .n_in = c->n_in, .n_out = n_out, .attr = &a,
                   .threads = 2 };
    CHECK(op->cpu[p->dtype](&k) == JFL_OK);
    check_outputs(p, c, out, op->name);
    for (const jf_kernel_row *const *r = jf_cpu_rows(); fast && *r; r++)
      if ((*r)->op && jf_has_word((*r)->op, op->name) && run_row(*r, &k))
        check_outputs(p, c, out, (*r)->name);
  }
  for (int i = 0; i < n_out; i++) jf_free(out[i].data);
  for (int i = 0; i < c->n_in; i++) jf_free(in[i].data);
}

/* Computes the results with the plain kernel on plain operands. */
static void compute(const problem *p, call *c)
{
  problem plain = *p;
  plain.block = plain.block_x = plain.block_y = plain.packed = 0;
  int64_t size[2];
  jf_conv a = attr_of(&plain, c->kind, size);
  c->n_out = complete(op_of[c->kind], &a, c->in, c->n_in, c->out);
  CHECK(op_of[c->kind]->cpu[p->dtype](&(jf_kargs){
    .in = c->in, .out = c->out, .n_in = c->n_in, .n_out = c->n_out, .attr = &a }) == JFL_OK);
}

static void check(const problem *p, int fast)
{
  const jf_form x = p->block_x ? JF_BLOCKED : JF_PLAIN, y = p->block_y ? JF_BLOCKED : JF_PLAIN;
  const jf_form f = p->packed ? JF_PACKED : JF_PLAIN;
  jf_tensor in = fill(p->dtype, &(jfl_shape){ 4, { p->n, p->c, p->h, p->w } }, 1);
  jf_tensor filters = fill(p->dtype, &(jfl_shape){ 4, { p->o, p->c / p->groups, p->u, p->v } }, 2);
  jf_tensor bias = fill(p->dtype, &(jfl_shape){ 1, { p->o } }, 4);
  call forward = { FORWARD, 2, 0, { in, filters }, .in_form = { x, f }, .out_form = { y } };
  compute(p, &forward);
  jf_tensor dy = fill(p->dtype, &forward.out[0].shape, 3);
  call others[] = {
    { FUSED, 4, 0, { in, filters, bias, dy }, .in_form = { x, f, JF_PLAIN, y }, .out_form = { y } },
    { DATA, 2, 0, { filters, dy }, .in_form = { f, y }, .out_form = { x } },
    { FILTER, 2, 0, { in, dy }, .in_form = { x, y }, .out_form = { f, JF_PLAIN } }
  };
  check_call(p, &forward, fast);
  jf_free(forward.out[0].data);
  for (int i = 0; i < 3; i++) {
    compute(p, &others[i]);
    check_call(p, &others[i], fast);
    for (int k = 0; k < others[i].n_out; k++) jf_free(others[i].out[k].data);
  }
  jf_tensor *all[] = { &in, &filters, &bias, &dy };
  for (int i = 0; i < 4; i++) jf_free(all[i]->data);
}

/* Checks every combination of forms that the extents allow. */
static void check_forms(problem p, int fast)
{
  for (int i = 0; i < 8; i++) {
    p.block_x = i & 1, p.block_y = i >> 1 & 1, p.packed = i >> 2;
    int whole = p.c % p.block == 0;
    if (p.block_x && !whole) continue;
    if ((p.block_y || p.packed) && p.o % p.block) continue;
    if (p.packed && p.groups > 1) continue;
    check(&p, fast);
  }
}

static void any_form_convolves_alike(void)
{
  static const problem list[] = {
    { JFL_F64, 2, 4, 5, 6, 4, 3, 2, 1, 1, 1, 1, 2, 0, 0, 0 },
    { JFL_F64, 1, 3, 6, 5, 4, 3, 3, 1, 2, 1, 1, 2, 0, 0, 0 },
    { JFL_F64, 2, 4, 7, 5, 8, 2, 3, 2, 1, 2, 2, 2, 0, 0, 0 },
    { JFL_F32, 2, 6, 5, 70, 3, 3, 3, 1, 1, 1, 1, 3, 0, 0, 0 },
    { JFL_F32, 1, 3, 1, 1, 3, 1, 1, 3, 1, 1, 0, 1, 0, 0, 0 },
  };
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) check_forms(list[i], 0);
}

/* Channels that make one block, several blocks or none, and few channels as in a first layer. */
static void fast_rows_agree(void)
{
  int64_t block = jf_cpu_channel_block();
  static const problem list[] = {
    { JFL_F32, 3, 1, 12, 9, 32, 5, 5, 1, 1, 1, 2, 0, 0, 0, 0 },
    { JFL_F32, 2, 3, 13, 13, 16, 7, 7, 1, 2, 1, 3, 0, 0, 0, 0 },
    { JFL_F32, 2, 7, 8, 8, 16, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0 },
    { JFL_F32, 2, 24, 8, 8, 48, 3, 3, 1, 1, 1, 1, 0, 0, 0, 0 },
    { JFL_F32, 3, 32, 14, 14, 64, 5, 5, 1, 1, 1, 2, 0, 0, 0, 0 },
    { JFL_F32, 2, 32, 9, 7, 16, 3, 1, 1, 2, 1, 0, 0, 0, 0, 0 },
    { JFL_F32, 2, 16, 11, 11, 32, 3, 3, 1, 1, 2, 2, 0, 0, 0, 0 },
    { JFL_F32, 1, 64, 1, 1, 32, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0 },
    { JFL_F32, 2, 16, 6, 6, 10, 3, 3, 1, 1, 1, 0, 0, 0, 0, 0 },
    { JFL_F32, 2, 64, 6, 6, 64, 3, 3, 2, 1, 1, 1, 0, 0, 0, 0 },
    { JFL_F32, 2, 32, 6, 6, 32, 3, 3, 32, 1, 1, 1, 0, 0, 0, 0 },
    { JFL_F32, 1, 16, 5, 5, 16, 5, 5, 1, 3, 1, 4, 0, 0, 0, 0 },
  };
  for (size_t i = 0; block && i < sizeof list / sizeof *list; i++) {
    problem p = list[i];
    p.block = block;
    check_forms(p, 1);
  }
}

/* A row may find blocks that another library asked for. */
static void fast_rows_take_no_other_blocks_for_theirs(void)
{
  for (int64_t block = 4; block <= 32; block *= 2)
    check_forms((problem){ JFL_F32, 1, 32, 5, 4, 32, 3, 3, 1, 1, 1, 1, block, 0, 0, 0 }, 1);
}

static void forms_come_back(void)
{
  static const jfl_shape shape[] = {
    { 4, { 2, 8, 3, 5 } }, { 4, { 8, 4, 1, 1 } }, { 4, { 4, 3, 2, 2 } }, { 4, { 4, 1, 1, 1 } },
    { 4, { 8, 2, 3, 12 } }, { 1, { 12 } }
  };
  for (size_t i = 0; i < sizeof shape / sizeof *shape; i++)
    for (int f = JF_BLOCKED; f < JF_N_FORM; f++) {
      jf_relayout r;
      jfl_shape again;
      const jf_packing p = { (jf_form)f, 4 };
      if (!jf_relayout_to(&p, &shape[i], &r)) continue;
      CHECK(jf_numel(&r.to) == jf_numel(&shape[i]) && jf_numel(&r.split) == jf_numel(&r.to));
      if (f == JF_BLOCKED || f == JF_PACKED)
        CHECK(jf_plain_shape(&p, &r.to, &again) && jf_shape_eq(&again, &shape[i]));
      if (!jf_form_keeps(p.form)) continue;
      jf_tensor plain = fill(JFL_F32, &shape[i], 5), packed = tensor(JFL_F32, &r.to);
      jf_tensor back = tensor(JFL_F32, &shape[i]);
      jf_pack_tensor(&p, JFL_F32, &shape[i], plain.data, packed.data);
      CHECK(difference(&packed, p.form, 4, &plain) == 0);
      jf_unpack_tensor(&p, JFL_F32, &shape[i], packed.data, back.data);
      CHECK(difference(&back, JF_PLAIN, 4, &plain) == 0);
      jf_free(plain.data);
      jf_free(packed.data);
      jf_free(back.data);
    }
}

static void filters_lie_alike_wherever_their_channels_are(void)
{
  static const int64_t extent[][4] = { { 8, 12, 3, 2 }, { 8, 3, 3, 2 }, { 4, 8, 1, 1 } };
  for (size_t i = 0; i < sizeof extent / sizeof *extent; i++) {
    const int64_t o = extent[i][0], c = extent[i][1], u = extent[i][2], v = extent[i][3];
    const jfl_shape first = { 4, { o, c, u, v } }, last = { 4, { o, u, v, c } };
    jf_tensor x = fill(JFL_F32, &first, 6), turned = tensor(JFL_F32, &last);
    for (int64_t k = 0; k < jf_numel(&first); k++) {
      const int64_t cell = k % (u * v), of_one = k / (u * v) % c, filter = k / (u * v * c);
      set(&turned, (filter * u * v + cell) * c + of_one, get(&x, k));
    }
    jf_tensor packed = formed(&x, JF_PACKED, 4);
    CHECK(difference(&packed, JF_PACKED_LAST, 4, &turned) == 0);
    jf_free(x.data);
    jf_free(turned.data);
    jf_free(packed.data);
  }
}

int main(void)
{
  RUN(filters_lie_alike_wherever_their_channels_are);
  RUN(forms_come_back);
  RUN(any_form_convolves_alike);
  RUN(fast_rows_agree);
  RUN(fast_rows_take_no_other_blocks_for_theirs);
  return test_done();
}
