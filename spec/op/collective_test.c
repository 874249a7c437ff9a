/* Ops in which several ranks take part: what they refuse, and what they give, for every dtype. */
#include <string.h>

#include "dev/dev.h"
#include "op/collective.h"
#include "op/op.h"
#include "ranks.h"
#include "test.h"
#include "world/world.h"

static int64_t everyone[] = { 0, 1, 2, 3 };
static jf_arena arena;         /* until the process ends */

static void *room(int64_t elements) { return jf_alloc(&arena, (size_t)(elements + 1) * 8); }

/* ---- values ---- */

static void put(jfl_dtype t, void *to, int64_t i, double v)
{
  switch (t) {
  case JFL_F32: ((float *)to)[i] = (float)v; break;
  case JFL_F64: ((double *)to)[i] = v; break;
  case JFL_I32: ((int32_t *)to)[i] = (int32_t)v; break;
  case JFL_I64: ((int64_t *)to)[i] = (int64_t)v; break;
  case JFL_I8: ((int8_t *)to)[i] = (int8_t)v; break;
  case JFL_U8: ((uint8_t *)to)[i] = (uint8_t)v; break;
  /* 1, 2 and 3 as halves, by their bits (IEEE 754; the upper half of a float). */
  case JFL_F16: ((uint16_t *)to)[i] = (uint16_t[]){ 0, 0x3c00, 0x4000, 0x4200 }[(int)v]; break;
  default: ((uint16_t *)to)[i] = (uint16_t[]){ 0, 0x3f80, 0x4000, 0x4040 }[(int)v]; break;
  }
}

static int same(jfl_dtype t, const void *a, int64_t i, double v)
{
  char want[8];
  const size_t n = jfl_dtype_size(t);
  put(t, want, 0, v);
  return !memcmp((const char *)a + (size_t)i * n, want, n);
}

/* ---- calls ---- */

/* Calls the op's plain kernel, after infer has looked at the call and allocated the results. */
static jfl_status call(const jfl_op *op, void *attr, jf_tensor *in, int n_in, jf_tensor *out)
{
  jfl_value value[8], *pointer[8];
  for (int i = 0; i < n_in; i++) {
    value[i] = (jfl_value){ .dtype = in[i].dtype, .shape = in[i].shape };
    pointer[i] = &value[i];
  }
  jf_infer c = { .op = op, .arena = &arena, .in = pointer, .n_in = n_in, .attr = attr };
  JF_TRY(jf_op_infer(&c));
  jf_kargs k = { .in = in, .out = out, .n_in = n_in, .n_out = c.n_out, .attr = attr };
  for (int i = 0; i < c.n_out; i++) {
    out[i] = (jf_tensor){ .dtype = c.dtype[i], .shape = c.shape[i] };
    out[i].data = room(jf_numel(&c.shape[i]));
  }
  k.scratch = room(op->scratch ? (int64_t)op->scratch(&k) : 0);
  return op->cpu[n_in ? in[0].dtype : out[0].dtype](&k);
}

static jf_tensor tensor(jfl_dtype t, int64_t rows, int64_t columns, double v)
{
  jf_tensor x = { .data = room(rows * columns), .dtype = t, .shape = { 2, { rows, columns } } };
  for (int64_t i = 0; i < rows * columns; i++) put(t, x.data, i, v);
  return x;
}

/* ---- sums ---- */

static int sum_of(int rank, int size, jfl_dtype t)
{
  jf_all_reduce a = { .ranks = { size, everyone } };
  jf_tensor in[] = { tensor(t, 3, 5, 1), tensor(t, 0, 4, 1), tensor(t, 1, 1, rank ? 0 : 2) };
  jf_tensor out[3];
  RANK_NEEDS(!call(&jf_op_all_reduce, &a, in, 3, out));
  for (int i = 0; i < 15; i++) RANK_NEEDS(same(t, out[0].data, i, size));
  RANK_NEEDS(out[1].shape.d[0] == 0 && out[1].shape.d[1] == 4 && same(t, out[2].data, 0, 2));
  RANK_NEEDS(!call(&jf_op_all_reduce, &a, in, 1, out));
  for (int i = 0; i < 15; i++) RANK_NEEDS(same(t, out[0].data, i, size));
  return 0;
}

static int sums(int rank, int size)
{
  RANK_NEEDS(!jf_world_join());
  for (int t = 0; t < JFL_N_DTYPE; t++)
    if (jf_op_all_reduce.cpu[t] && sum_of(rank, size, (jfl_dtype)t)) return 1;
  return 0;
}

static void tensors_are_summed_in_every_dtype(void)
{
  CHECK(ranks_run(2, sums) == 0);
  CHECK(ranks_run(3, sums) == 0);
}

/* Rank 0 gets nothing of 7 rows or columns, rank 1 gets 4 and rank 2 gets 3. */
static int part_of(int rank, jfl_dtype t, int axis)
{
  static int64_t sizes[] = { 0, 4, 3 };
  const int64_t begin = rank == 2 ? 4 : 0, other = 5;
  jf_reduce_scatter a = { { 3, everyone }, { 3, sizes }, rank, axis - 2, 0 };
  jf_tensor in = tensor(t, axis ? other : 7, axis ? 7 : other, 0), out;
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 7; j++) put(t, in.data, axis ? i * 7 + j : j * 5 + i, (i + j) % 2);
  RANK_NEEDS(!call(&jf_op_reduce_scatter, &a, &in, 1, &out));
  RANK_NEEDS(out.shape.d[axis] == sizes[rank] && out.shape.d[1 - axis] == other);
  for (int64_t i = 0; i < 5; i++)
    for (int64_t j = 0; j < sizes[rank]; j++)
      RANK_NEEDS(same(t, out.data, axis ? i * sizes[rank] + j : j * 5 + i,
                      (double)(3 * ((i + j + begin) % 2))));
  return 0;
}

static int parts(int rank, int size)
{
  (void)size;
  RANK_NEEDS(!jf_world_join());
  for (int t = 0; t < JFL_N_DTYPE; t++)
    if (jf_op_reduce_scatter.cpu[t] && (part_of(rank, t, 0) || part_of(rank, t, 1))) return 1;
  return 0;
}

static void parts_of_sums_are_along_an_axis(void) { CHECK(ranks_run(3, parts) == 0); }

/* ---- messages ---- */

/* Rank 0 sends two tensors to rank 1 and one to rank 2, which sends one back. */
static int messages(int rank, int size)
{
  const jfl_dtype t = JFL_I32;
  int64_t to0[] = { 1, 2, 1 }, from0[] = { 2 }, from1[] = { 0, 0 }, to2[] = { 0 }, from2[] = { 0 };
  int64_t two[] = { 2, 2, 3, 2, 1, 1 }, one[] = { 2, 4, 1 }, back[] = { 2, 1, 2 };
  jf_exchange a[] = { { { 3, to0 }, { 1, from0 }, { 3, back }, t, 0 },
                      { { 0, NULL }, { 2, from1 }, { 6, two }, t, 0 },
                      { { 1, to2 }, { 1, from2 }, { 3, one }, t, 0 } };
  jf_tensor in[3] = { tensor(t, 2, 3, 11), tensor(t, 4, 1, 12), tensor(t, 1, 1, 13) }, out[2];
  (void)size;
  if (rank == 2) in[0] = tensor(t, 1, 2, 14);
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(!call(&jf_op_exchange, &a[rank], in, a[rank].to.n, out));
  static const int want[] = { 14, 11, 12 }, many[] = { 2, 6, 4 };
  for (int i = 0; i < many[rank]; i++) RANK_NEEDS(same(t, out[0].data, i, want[rank]));
  if (rank == 1) RANK_NEEDS(same(t, out[1].data, 0, 13));
  return 0;
}

/* Rank 0 only sends, and has an empty result. */
static int one_way(int rank, int size)
{
  int64_t other[] = { !rank }, shape[] = { 1, 3 };
  jf_exchange a = { .dtype = JFL_F32 };
  jf_tensor in = tensor(JFL_F32, 3, 1, 5), out[1];
  (void)size;
  if (rank) a.from = (jf_ints){ 1, other }, a.shapes = (jf_ints){ 2, shape };
  else a.to = (jf_ints){ 1, other };
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(!call(&jf_op_exchange, &a, &in, !rank, out));
  RANK_NEEDS(out[0].shape.n == 1 && out[0].shape.d[0] == (rank ? 3 : 0));
  RANK_NEEDS(!rank || same(JFL_F32, out[0].data, 2, 5));
  return 0;
}

static void who_receives_nothing_has_an_empty_result(void) { CHECK(ranks_run(2, one_way) == 0); }

static void tensors_are_sent_and_received(void) { CHECK(ranks_run(3, messages) == 0); }

/* ---- wrong calls ---- */

static int says(jfl_status s, const char *text) { return s && strstr(jfl_errmsg(), text); }

static void wrong_calls_are_refused(void)
{
  int64_t falling[] = { 1, 0 }, sizes[] = { 1, 3 }, short_of[] = { 1, 1 }, shape[] = { 2, 1 };
  jf_tensor in[] = { tensor(JFL_F32, 4, 1, 0), tensor(JFL_I32, 4, 1, 0) }, out[2];
  jf_all_reduce sum = { .ranks = { 2, falling } };
  CHECK(says(call(&jf_op_all_reduce, &sum, in, 1, out), "ranks must be"));
  sum.ranks.v = everyone;
  CHECK(says(call(&jf_op_all_reduce, &sum, in, 2, out), "input 2 must be float32"));
  jf_reduce_scatter part = { { 2, everyone }, { 2, short_of }, 0, 0, 0 };
  CHECK(says(call(&jf_op_reduce_scatter, &part, in, 1, out), "sizes must add up"));
  part.sizes.n = 1;
  CHECK(says(call(&jf_op_reduce_scatter, &part, in, 1, out), "sizes must have one number"));
  part = (jf_reduce_scatter){ { 2, everyone }, { 2, sizes }, 2, 0, 0 };
  CHECK(says(call(&jf_op_reduce_scatter, &part, in, 1, out), "member must be below 2"));
  jf_exchange swap = { { 2, everyone }, { 0, NULL }, { 0, NULL }, JFL_F32, 0 };
  CHECK(says(call(&jf_op_exchange, &swap, in, 1, out), "to must have a rank"));
  CHECK(says(call(&jf_op_exchange, &swap, in, 2, out), "input 2 must be float32"));
  swap = (jf_exchange){ { 0, NULL }, { 1, everyone }, { 2, shape }, JFL_F32, 0 };
  CHECK(says(call(&jf_op_exchange, &swap, in, 0, out), "shapes must have"));
}

/* ---- the device ---- */

static int has_net(int rank, int size)
{
  jf_device *d;
  const jf_kind *kind = jf_kind_find("net");
  (void)size;
  RANK_NEEDS(jfl_device_count("net") == 0);
  RANK_NEEDS(!jf_world_join());
  RANK_NEEDS(jfl_device_count("net") == 1 && !jf_device_new(kind, 0, &d));
  jf_device_free(d);
  return 0;
}

static void ranks_have_a_device_for_what_they_do_together(void)
{
  CHECK(ranks_run(2, has_net) == 0);
}

int main(void)
{
  RUN(ranks_have_a_device_for_what_they_do_together);
  RUN(wrong_calls_are_refused);
  RUN(tensors_are_summed_in_every_dtype);
  RUN(parts_of_sums_are_along_an_axis);
  RUN(tensors_are_sent_and_received);
  RUN(who_receives_nothing_has_an_empty_result);
  return test_done();
}
