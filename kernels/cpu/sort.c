/* sort, argsort and top_k of numbers of 32 bits. An element becomes a word: above its key, which
   orders as the element does, and below its position. Words differ, so there is one order of them,
   however the work is shared out. */
#include "op/attrs.h"
#include "op/index.h"

#include "vector.h"

typedef struct order_job {
  const jf_tensor *x;
  void *y;                             /* the elements in order, or NULL */
  int32_t *at;                         /* their positions */
  jf_axes s;
  int64_t k;                           /* how many of each line are wanted */
  int is_float;
  uint32_t flip;                       /* what keys are combined with, so that order falls */
  uint64_t *room;                      /* 2 s.m words for each thread */
} order_job;

enum { ORDER_FEW = 48, ORDER_BLOCK = 256, ORDER_HALVES = 1 << 16 };

/* ---- keys ---- */

/* The key of an element's bits. 0 and -0 are the same, and a NaN is the largest. */
JF_BODY uint32_t order_key(uint32_t bits, int is_float)
{
  if (!is_float) return bits ^ 0x80000000u;
  const uint32_t size = bits & 0x7fffffffu;
  const uint32_t key = bits >> 31 && size ? ~bits : size | 0x80000000u;
  return size > 0x7f800000u ? 0xffffffffu : key;
}

JF_BODY void order_words(const order_job *j, const uint32_t *x, int64_t from, int64_t n,
                         uint64_t *word)
{
  const int64_t step = j->s.after;
  for (int64_t i = 0; i < n; i++) {
    const uint32_t key = order_key(x[(from + i) * step], j->is_float) ^ j->flip;
    word[i] = (uint64_t)key << 32 | (uint32_t)(from + i);
  }
}

/* ---- putting words in order ---- */

static void order_insert(uint64_t *v, int64_t n)
{
  for (int64_t i = 1; i < n; i++) {
    const uint64_t w = v[i];
    int64_t to = i;
    for (; to > 0 && v[to - 1] > w; to--) v[to] = v[to - 1];
    v[to] = w;
  }
}

/* Orders n words, whose positions rise, by their keys a byte at a time. `other` has room for as
   many; returns where they are then. */
static uint64_t *order_radix(uint64_t *v, uint64_t *other, int64_t n)
{
  uint32_t count[4][256] = { { 0 } };
  if (n <= ORDER_FEW) {
    order_insert(v, n);
    return v;
  }
  for (int64_t i = 0; i < n; i++)
    for (int b = 0; b < 4; b++) count[b][v[i] >> (32 + 8 * b) & 255]++;
  for (int b = 0; b < 4; b++) {
    uint32_t *c = count[b], sum = 0;
    if (c[v[0] >> (32 + 8 * b) & 255] == n) continue;
    for (int d = 0; d < 256; d++) {
      const uint32_t here = c[d];
      c[d] = sum;
      sum += here;
    }
    for (int64_t i = 0; i < n; i++) other[c[v[i] >> (32 + 8 * b) & 255]++] = v[i];
    uint64_t *was = v;
    v = other;
    other = was;
  }
  return v;
}

/* Writes n words in order as the results from number `from` of a line on. */
JF_BODY void order_write(const order_job *j, const uint32_t *x, int64_t to, const uint64_t *word,
                         int64_t from, int64_t n)
{
  const int64_t step = j->s.after;
  int32_t *at = j->at + to + from * step;
  uint32_t *y = (uint32_t *)j->y + to + from * step;
  for (int64_t i = 0; i < n; i++) at[i * step] = (int32_t)(uint32_t)word[i];
  for (int64_t i = 0; j->y && i < n; i++) y[i * step] = x[(int32_t)(uint32_t)word[i] * step];
}

/* Where line i begins in x, and in the results. */
static const uint32_t *order_line(const order_job *j, int64_t i, int64_t *to)
{
  *to = i / j->s.after * j->k * j->s.after + i % j->s.after;
  return (const uint32_t *)j->x->data + i / j->s.after * j->s.m * j->s.after + i % j->s.after;
}

static void order_one(void *ctx, int i, int worker)
{
  const order_job *j = ctx;
  uint64_t *v = j->room + (int64_t)worker * 2 * j->s.m;
  int64_t to;
  const uint32_t *x = order_line(j, i, &to);
  order_words(j, x, 0, j->s.m, v);
  order_write(j, x, to, order_radix(v, v + j->s.m, j->s.m), 0, j->k);
}

/* ---- one long line: two halves, then what both make together ---- */

typedef struct order_halves {
  const order_job *j;
  const uint32_t *x;
  int64_t to, cut;
  uint64_t *half[2];
} order_halves;

static void order_half(void *ctx, int i)
{
  order_halves *h = ctx;
  const int64_t from = i ? h->cut : 0, n = i ? h->j->s.m - h->cut : h->cut;
  uint64_t *v = h->j->room + from;
  order_words(h->j, h->x, from, n, v);
  h->half[i] = order_radix(v, v + h->j->s.m, n);
}

/* How many of the first `n` words of both halves together are of the first half. */
static int64_t order_share(const order_halves *h, int64_t n)
{
  const int64_t a = h->cut, b = h->j->s.m - h->cut;
  int64_t low = n > b ? n - b : 0, high = n < a ? n : a;
  while (low < high) {
    const int64_t middle = (low + high) / 2;
    if (h->half[0][middle] < h->half[1][n - middle - 1]) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Merges the i-th part of the results, ORDER_HALVES of them. */
static void order_merge(void *ctx, int i)
{
  const order_halves *h = ctx;
  const int64_t from = jf_from(i, ORDER_HALVES), end = jf_to(i, ORDER_HALVES, h->j->k);
  int64_t a = order_share(h, from), b = from - a;
  uint64_t some[ORDER_BLOCK];
  for (int64_t at = from, n; at < end; at += n) {
    for (n = 0; n < ORDER_BLOCK && at + n < end; n++) {
      const int first = b >= h->j->s.m - h->cut ||
                        (a < h->cut && h->half[0][a] < h->half[1][b]);
      some[n] = first ? h->half[0][a++] : h->half[1][b++];
    }
    order_write(h->j, h->x, h->to, some, at, n);
  }
}

static void order_long(const jf_kargs *k, const order_job *j)
{
  for (int64_t i = 0; i < j->s.before * j->s.after; i++) {
    order_halves h = { .j = j, .cut = j->s.m / 2 };
    h.x = order_line(j, i, &h.to);
    jf_parallel(k->threads, 2, order_half, &h);
    jf_run_parts(k, jf_parts(j->k, ORDER_HALVES), order_merge, &h);
  }
}

/* ---- the largest few ---- */

/* Orders v by heaps: the least word first. */
static void order_heap(uint64_t *v, int64_t n)
{
  for (int64_t end = n, root = n / 2; end > 1;) {
    uint64_t w;
    if (root > 0) w = v[--root];
    else {
      w = v[--end];
      v[end] = v[0];
    }
    int64_t at = root;
    for (int64_t child; (child = 2 * at + 1) < end; at = child) {
      if (child + 1 < end && v[child + 1] > v[child]) child++;
      if (v[child] <= w) break;
      v[at] = v[child];
    }
    v[at] = w;
  }
}

/* Puts the k least of n words in front. */
static void order_select(uint64_t *v, int64_t n, int64_t k)
{
  for (int64_t low = 0, high = n - 1; low < high;) {
    const uint64_t a = v[low], b = v[(low + high) / 2], c = v[high];
    const uint64_t p = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
    int64_t i = low, j = high;
    while (i <= j) {
      while (v[i] < p) i++;
      while (v[j] > p) j--;
      if (i > j) break;
      const uint64_t w = v[i];
      v[i++] = v[j];
      v[j--] = w;
    }
    if (k <= j) high = j;
    else if (k >= i) low = i;
    else return;
  }
}

/* Adds to v the words of up to ORDER_BLOCK elements that are less than `most`; returns how many
   words there are then. */
JF_BODY int64_t order_gather(const order_job *j, const uint32_t *x, int64_t from, int64_t n,
                             uint64_t most, uint64_t *v, int64_t count)
{
  uint32_t key[ORDER_BLOCK];
  const int64_t step = j->s.after;
  const uint32_t limit = (uint32_t)(most >> 32);
  uint32_t any = 0;
  if (step == 1)
    for (int64_t i = 0; i < n; i++) key[i] = order_key(x[from + i], j->is_float) ^ j->flip;
  else
    for (int64_t i = 0; i < n; i++) key[i] = order_key(x[(from + i) * step], j->is_float) ^ j->flip;
  for (int64_t i = 0; i < n; i++) any |= key[i] <= limit;
  for (int64_t i = 0; any && i < n; i++) {
    v[count] = (uint64_t)key[i] << 32 | (uint32_t)(from + i);
    count += v[count] < most;
  }
  return count;
}

/* Finds the first k of one line's order. v has room for more than 2 k + ORDER_BLOCK words. */
JF_BODY void order_top_body(const order_job *j, const uint32_t *x, int64_t to, uint64_t *v)
{
  const int64_t room = j->s.m, k = j->k;
  uint64_t most = UINT64_MAX;
  int64_t count = 0;
  for (int64_t i = 0; i < j->s.m; i += ORDER_BLOCK) {
    const int64_t n = j->s.m - i < ORDER_BLOCK ? j->s.m - i : ORDER_BLOCK;
    count = order_gather(j, x, i, n, most, v, count);
    if (count < 2 * k + 8 || (count < 4 * k && count + ORDER_BLOCK < room)) continue;
    order_select(v, count, k - 1);
    most = v[k - 1];
    count = k;
  }
  order_select(v, count, k - 1);
  order_heap(v, k);
  order_write(j, x, to, v, 0, k);
}
JF_DISPATCH(order_top, (const order_job *j, const uint32_t *x, int64_t to, uint64_t *v),
            (j, x, to, v))

static void order_few(void *ctx, int i, int worker)
{
  const order_job *j = ctx;
  int64_t to;
  const uint32_t *x = order_line(j, i, &to);
  order_top(j, x, to, j->room + (int64_t)worker * 2 * j->s.m);
}

/* ---- the rows ---- */

static int order_accepts(const jf_kargs *k)
{
  const jfl_dtype t = k->in[0].dtype;
  return (t == JFL_F32 || t == JFL_I32) && jf_numel(&k->in[0].shape) <= INT32_MAX;
}

static jfl_status order_prepare(jf_kargs *k)
{
  const int64_t axis = *(const int64_t *)k->attr;      /* both attribute structs begin with it */
  k->scratch_size = (size_t)k->threads * 2 * (size_t)k->in[0].shape.d[axis] * sizeof(uint64_t);
  return JFL_OK;
}

static order_job order_job_of(const jf_kargs *k, int64_t axis, int falls)
{
  return (order_job){ .x = &k->in[0], .y = k->n_out > 1 ? k->out[0].data : NULL,
                      .at = k->out[k->n_out - 1].data, .s = jf_axes_at(&k->in[0].shape, axis),
                      .is_float = k->in[0].dtype == JFL_F32, .flip = falls ? 0xffffffffu : 0,
                      .room = k->scratch };
}

static void order_all(const jf_kargs *k, order_job *j)
{
  const int64_t lines = j->s.before * j->s.after;
  if (lines < k->threads && j->s.m >= ORDER_HALVES) order_long(k, j);
  else jf_parallel_workers(k->threads, (int)lines, order_one, j);
}

static jfl_status order_sort(const jf_kargs *k)
{
  const jf_sort *a = k->attr;
  order_job j = order_job_of(k, a->axis, jf_sort_falls(a));
  j.k = j.s.m;
  order_all(k, &j);
  return JFL_OK;
}

static jfl_status order_top_k(const jf_kargs *k)
{
  const jf_top_k *a = k->attr;
  order_job j = order_job_of(k, a->axis, 1);
  j.k = a->k;
  if (8 * j.k + 4 * ORDER_BLOCK > j.s.m) order_all(k, &j);
  else jf_parallel_workers(k->threads, (int)(j.s.before * j.s.after), order_few, &j);
  return JFL_OK;
}

JFL_CPU(fast_sort, .op = "sort argsort", .accepts = order_accepts, .prepare = order_prepare,
        .run = order_sort)
JFL_CPU(fast_top_k, .op = "top_k", .accepts = order_accepts, .prepare = order_prepare,
        .run = order_top_k)
