/* Attention in tiles (Dao, Fu, Ermon, Rudra and Re, FlashAttention, 2022): scores of some queries
   for some keys at a time, whose largest score and sum are kept up as keys go by. Queries lie along
   the lanes of vectors, so that these are kept without sums over lanes.

   A key that is hidden has the weight 0. Where its vectors are not finite, products with 0 would be
   nan: so what gave a result that is not finite is done once more with products that leave those
   out. */
#include "dev/number.h"
#include "op/attention.h"
#include "op/index.h"

#include "philox.h"
#include "tiles.h"

#include <math.h>

/* Queries and keys of a tile. */
enum { QUERIES = 64, KEYS = 64, VECTORS = QUERIES / JF_LANES };

typedef struct attention_job {
  const jf_kargs *k;
  jf_attention_dims d;
  jf_attention_mask mask;
  jf_attention_drop drop;
  float scale;
  int causal, cached;          /* cached: the op is cached_attention */
  int64_t tiles;               /* of queries in a head */
  int64_t parts, part;         /* of the gradient's keys in a group, and their size */
  size_t room;                 /* floats of scratch that a lane needs */
  size_t widened;              /* which of them is the first of KEYS keys or values of 16 bits */
  float *dq;                   /* where each part puts its gradients of q */
} attention_job;

/* Some queries of a head, and keys and values of its group. */
typedef struct attention_tile {
  const attention_job *j;
  int careful;                 /* whether products leave weights of 0 out */
  int causal;                  /* whether query i sees keys 0 to i only */
  const float *key, *value;
  jfl_dtype dtype;             /* of these */
  float *room;                 /* where some of them become floats, if that is of 16 bits */
  int64_t batch, head, first;  /* the first query */
  int64_t row;                 /* its number among all queries of all heads */
  int64_t n, vectors;          /* how many queries there are, and vectors for them */
} attention_tile;

/* What runs on a lane: piece i of the job, with the lane's scratch. */
typedef struct attention_piece { const attention_job *j; float *scratch; } attention_piece;

static int64_t attention_least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t padded(int64_t n) { return (n + JF_LANES - 1) / JF_LANES * JF_LANES; }

/* Tile `tile` of a head, which is numbered among all heads. */
static attention_tile attention_tile_at(const attention_job *j, int64_t head, int64_t tile,
                                        int careful)
{
  const jf_attention_dims *d = &j->d;
  attention_tile t = { .j = j, .careful = careful, .causal = j->causal };
  t.batch = head / d->heads;
  t.head = head % d->heads;
  const int64_t kv = (t.batch * d->groups + t.head / d->shared) * d->k_len;
  t.first = tile * QUERIES;
  t.row = head * d->q_len + t.first;
  t.n = attention_least(d->q_len - t.first, QUERIES);
  t.vectors = (t.n + JF_LANES - 1) / JF_LANES;
  t.key = (const float *)j->k->in[JF_ATTENTION_K].data + kv * d->size;
  t.value = (const float *)j->k->in[JF_ATTENTION_V].data + kv * d->v_size;
  t.dtype = JFL_F32;
  return t;
}

/* Rows key .. key + keys - 1, of that size, of the tile's keys or values: of 16 bits they are made
   floats, until the next ones are. */
static const float *attention_floats(const attention_tile *t, const float *rows, int64_t key,
                                   int64_t keys, int64_t size)
{
  if (t->dtype == JFL_F32) return rows + key * size;
  jf_halves_get(t->dtype, (const uint16_t *)(const void *)rows + key * size, t->room,
                keys * size);
  return t->room;
}

/* How many keys the tile's queries may see. */
static int64_t attention_keys(const attention_tile *t)
{
  return jf_attention_seen(t->j->k, &t->j->d, t->first + t->n - 1);
}

/* Adds to a key's scores what the mask has for it, which is the same for all queries. */
JF_BODY void attention_add_alike(float *score, int64_t vectors, float more)
{
  const jf_vec all = (jf_vec){ 0 } + more;
  for (int64_t v = 0; v < vectors; v++) {
    const jf_vec s = JF_LOAD(score + v * JF_LANES);
    JF_STORE(score + v * JF_LANES, more == -INFINITY ? all : s + all);
  }
}

/* Adds the mask to scores of keys from `key` on, a line for each. */
JF_BODY void attention_add_mask(const attention_tile *t, int64_t key, int64_t keys, float *score)
{
  const jf_attention_mask *m = &t->j->mask;
  const int is_alike = !m->step[2];
  for (int64_t i = 0; i < (is_alike ? 1 : t->n); i++) {
    int64_t at = jf_attention_mask_row(m, t->batch, t->head, t->first + i) + key * m->step[3];
    for (int64_t k = 0; k < keys; k++, at += m->step[3]) {
      const float more = (float)jf_attention_mask_at(m, at);
      float *s = score + k * QUERIES + i;
      if (is_alike) attention_add_alike(s, t->vectors, more);
      else *s = more == -INFINITY ? more : *s + more;
    }
  }
}

/* Adds the mask, if there is one, and hides keys behind a query. */
JF_BODY void attention_hide(const attention_tile *t, int64_t key, int64_t keys, float *score)
{
  if (t->j->mask.tensor) attention_add_mask(t, key, keys, score);
  if (!t->causal) return;
  for (int64_t k = 0; k < keys; k++)
    for (int64_t i = 0; i < attention_least(key + k - t->first, t->n); i++)
      score[k * QUERIES + i] = -INFINITY;
}

/* score[k][i] = <key k, query i>, where q has queries in lanes. */
JF_BODY void attention_scores(const attention_tile *t, int64_t key, int64_t keys, const float *q,
                              float *score)
{
  const int64_t size = t->j->d.size;
  jf_tile_product(&(jf_tile){ .a = attention_floats(t, t->key, key, keys, size), .a_row = size,
                              .a_next = 1, .b = q, .b_row = QUERIES, .c = score,
                              .c_row = QUERIES, .depth = size },
                  keys, t->vectors);
  attention_hide(t, key, keys, score);
}

/* Replaces scores by exp(score - max), where max goes with the queries, and adds these to sum. All
   are of one vector of queries; a query that sees no key so far has no max. */
JF_BODY void attention_weights(float *score, int64_t keys, jf_vec *max, jf_vec *sum,
                               jf_vec *factor)
{
  const jf_vec none = (jf_vec){ 0 } - INFINITY;
  jf_vec most = *max, total = { 0 };
  for (int64_t k = 0; k < keys; k++) {
    const jf_vec s = JF_LOAD(score + k * QUERIES);
    most = JF_SELECT(s > most, s, most);
  }
  const jf_vec base = JF_SELECT(most == none, (jf_vec){ 0 }, most);
  for (int64_t k = 0; k < keys; k++) {
    jf_vec p = JF_LOAD(score + k * QUERIES) - base;
    jf_exp_low(&p);
    JF_STORE(score + k * QUERIES, p);
    total += p;
  }
  *factor = *max - base;
  jf_exp_low(factor);
  *sum = *sum * *factor + total;
  *max = most;
}

/* What dropout multiplies the weights of keys from `key` on by, a multiple of four. */
JF_BODY void attention_keep_body(const attention_tile *t, int64_t key, int64_t keys, float *keep)
{
  enum { DRAWN = 8 * JF_PHILOX_CHAINS };
  const jf_attention_drop *d = &t->j->drop;
  const jf_random_source source = { d->seed, 0, 0 };
  const float by = (float)d->keep;
  uint32_t bits;
  memcpy(&bits, &by, sizeof bits);
  for (int64_t k = 0; k < keys; k += 4)
    for (int64_t from = 0; from < t->n; from += DRAWN) {
      jf_philox_words w[4][JF_PHILOX_CHAINS] = { { { 0 } } };
      const int64_t at = (key + k) / 4 * d->rows + d->first + t->row + from;
      jf_philox_draw(&source, (uint64_t)at, w);
      for (int i = 0; i < 4; i++)
        for (int q = 0; q < JF_PHILOX_CHAINS; q++) {
          const jf_philox_words kept = (jf_philox_words)(w[i][q] >> 8 >= d->threshold);
          const jf_philox_halves h = __builtin_convertvector(kept, jf_philox_halves) & bits;
          memcpy(keep + (k + i) * QUERIES + from + 8 * q, &h, sizeof h);
        }
    }
}
JF_DISPATCH_VECTOR(attention_keep,
                 (const attention_tile *t, int64_t key, int64_t keys, float *keep),
                 (t, key, keys, keep))

/* Multiplies weights by what dropout makes of them, where a weight that is dropped becomes 0 even
   if it is not a number. */
JF_BODY void attention_drop(const attention_tile *t, const float *keep, int64_t keys, float *weight)
{
  for (int64_t at = 0; t->j->drop.threshold && at < keys * QUERIES; at += JF_LANES) {
    const jf_vec by = JF_LOAD(keep + at);
    JF_STORE(weight + at, JF_SELECT(by == 0, by, by * JF_LOAD(weight + at)));
  }
}

/* Whether n floats are finite; where their sum is not, it may say no. */
JF_BODY int attention_is_finite(const float *x, int64_t n) { return jf_sum(x, n) * 0 == 0; }

/* What a tile of queries has of the keys that it has read: their largest score, the sum of weights
   relative to that, and the sums of weighted values. */
typedef struct attention_sums {
  float *q, *score, *keep, *weighted;
  int any;                     /* whether it has read some */
  jf_vec max[VECTORS], sum[VECTORS];
} attention_sums;

/* Writes y and the logarithms of sums, of weights that were taken relative to max. */
JF_BODY void attention_finish(const attention_tile *t, const attention_sums *s)
{
  const jf_attention_dims *d = &t->j->d;
  float *y = (float *)t->j->k->out[0].data + t->row * d->v_size;
  float *lse = t->j->k->n_out > 1 ? (float *)t->j->k->out[1].data + t->row : NULL;
  float most[QUERIES], all[QUERIES];
  memcpy(most, s->max, sizeof most);
  memcpy(all, s->sum, sizeof all);
  for (int64_t i = 0; i < t->n; i++) {
    const float by = all[i] == 0 ? 0 : 1 / all[i];
    if (lse) lse[i] = all[i] == 0 ? INFINITY : most[i] + logf(all[i]);
    for (int64_t l = 0; l < d->v_size; l++)
      y[i * d->v_size + l] = all[i] == 0 ? 0 : by * s->weighted[l * QUERIES + i];
  }
}

/* Adds the values of some keys, times their weights. */
JF_BODY void attention_add(const attention_tile *t, int64_t key, int64_t keys, attention_sums *s)
{
  const int64_t wide = t->j->d.v_size;
  if (t->j->drop.threshold) attention_keep(t, key, keys, s->keep);
  attention_drop(t, s->keep, keys, s->score);
  jf_tile_product(&(jf_tile){ .a = attention_floats(t, t->value, key, keys, wide), .a_row = 1,
                              .a_next = wide, .b = s->score, .b_row = QUERIES, .c = s->weighted,
                              .c_row = QUERIES, .depth = keys, .add = s->any,
                              .zeros = t->careful ? JF_ZEROS_OF_B : 0 },
                  wide, t->vectors);
  s->any = 1;
}

JF_BODY void attention_start(const attention_tile *t, attention_sums *s, float *scratch)
{
  const attention_job *j = t->j;
  const int64_t size = j->d.size;
  s->q = scratch;
  s->score = s->q + size * QUERIES;
  s->keep = s->score + KEYS * QUERIES;
  s->weighted = s->keep + KEYS * QUERIES;
  s->any = 0;
  for (int64_t v = 0; v < VECTORS; v++) {
    s->max[v] = (jf_vec){ 0 } - INFINITY;
    s->sum[v] = (jf_vec){ 0 };
  }
  jf_tile_turn((const float *)j->k->in[JF_ATTENTION_Q].data + t->row * size, size, t->n, size,
               j->scale, s->q, QUERIES);
  memset(s->weighted, 0, (size_t)(j->d.v_size * QUERIES) * sizeof *s->weighted);
}

/* Reads the tile's first keys, of which there are `seen`. */
JF_BODY void attention_read(const attention_tile *t, attention_sums *s, int64_t seen)
{
  const int64_t wide = t->j->d.v_size;
  jf_vec factor;
  for (int64_t key = 0, keys; key < seen; key += keys) {
    keys = attention_least(seen - key, KEYS);
    attention_scores(t, key, keys, s->q, s->score);
    for (int64_t v = 0; v < t->vectors; v++) {
      attention_weights(s->score + v * JF_LANES, keys, &s->max[v], &s->sum[v], &factor);
      for (int64_t l = 0; s->any && l < wide; l++) {
        float *x = s->weighted + l * QUERIES + v * JF_LANES;
        JF_STORE(x, JF_SELECT(factor == 0, factor, JF_LOAD(x) * factor));
      }
    }
    attention_add(t, key, keys, s);
  }
}

static const float *attention_part_of(const jf_tensor *t, int64_t at)
{
  return (const float *)(const void *)((const char *)t->data +
                                       (size_t)at * jfl_dtype_size(t->dtype));
}

/* The same queries, whose keys are those that a cache has; gives how many these are. */
static attention_tile attention_past(const attention_tile *t, float *scratch, int64_t *seen)
{
  const jf_attention_dims *d = &t->j->d;
  const jf_tensor *key = &t->j->k->in[JF_ATTENTION_PAST_K];
  const jf_tensor *value = &t->j->k->in[JF_ATTENTION_PAST_V];
  const int64_t row = (t->batch * d->groups + t->head / d->shared) * key->shape.d[2];
  attention_tile past = *t;
  past.causal = 0;
  past.dtype = key->dtype;
  past.room = scratch + t->j->widened;
  past.key = attention_part_of(key, row * d->size);
  past.value = attention_part_of(value, row * d->v_size);
  *seen = jf_index_at(&t->j->k->in[JF_ATTENTION_LENGTH], t->batch);
  return past;
}

JF_BODY void attention_try(const attention_tile *t, float *scratch)
{
  attention_sums s;
  attention_start(t, &s, scratch);
  if (t->j->cached) {
    int64_t seen;
    const attention_tile past = attention_past(t, scratch, &seen);
    attention_read(&past, &s, seen);
  }
  attention_read(t, &s, attention_keys(t));
  attention_finish(t, &s);
}

/* ---- one query ---- */

/* A single query, with the elements of rows along the lanes. */
typedef struct attention_single {
  const float *q;
  float *weighted;
  float max, sum;
} attention_single;

/* Scores of some keys; behind them -infinity up to whole vectors. */
JF_BODY void single_scores(const attention_tile *t, const attention_single *s, int64_t key,
                           int64_t keys, float *score)
{
  const int64_t size = t->j->d.size;
  const float *rows = attention_floats(t, t->key, key, keys, size);
  for (int64_t k = 0; k < keys; k++) {
    const float *x = rows + k * size;
    jf_vec sum = { 0 };
    for (int64_t l = 0; l < size; l += JF_LANES) sum += JF_LOAD(s->q + l) * JF_LOAD(x + l);
    score[k] = t->j->scale * jf_lane_sum(&sum);
  }
  for (int64_t k = keys; k < padded(keys); k++) score[k] = -INFINITY;
}

/* Makes weights of scores, as attention_weights does; gives what earlier sums are multiplied by. */
JF_BODY float single_weights(attention_single *s, float *score, int64_t keys)
{
  float most = s->max;
  jf_vec total = { 0 }, factor;
  for (int64_t k = 0; k < keys; k++) most = score[k] > most ? score[k] : most;
  const float base = most == -INFINITY ? 0 : most;
  for (int64_t k = 0; k < keys; k += JF_LANES) {
    jf_vec p = JF_LOAD(score + k) - base;
    jf_exp_low(&p);
    JF_STORE(score + k, p);
    total += p;
  }
  factor = (jf_vec){ 0 } + (s->max - base);
  jf_exp_low(&factor);
  s->sum = s->sum * factor[0] + jf_lane_sum(&total);
  s->max = most;
  return factor[0];
}

/* Adds some vectors of columns of values, from column v on; a weight of 0 takes nothing. */
JF_BODY void single_add(const attention_tile *t, attention_single *s, const float *weight,
                        const float *rows, int64_t keys, int64_t v, float factor)
{
  enum { AT_ONCE = 4 };
  const int64_t wide = t->j->d.v_size, left = (wide - v) / JF_LANES;
  const int n = left < AT_ONCE ? (int)left : AT_ONCE;
  jf_vec sum[AT_ONCE] = { { 0 } };
  for (int i = 0; i < n && factor != 0; i++)
    sum[i] = factor * JF_LOAD(s->weighted + v + i * JF_LANES);
  for (int64_t k = 0; k < keys; k++) {
    const float *x = rows + k * wide + v, w = weight[k];
    for (int i = 0; i < n && w != 0; i++) sum[i] += w * JF_LOAD(x + i * JF_LANES);
  }
  for (int i = 0; i < n; i++) JF_STORE(s->weighted + v + i * JF_LANES, sum[i]);
}

JF_BODY void single_read(const attention_tile *t, attention_single *s, int64_t seen)
{
  float score[KEYS];
  for (int64_t key = 0, keys; key < seen; key += keys) {
    keys = attention_least(seen - key, KEYS);
    single_scores(t, s, key, keys, score);
    const float factor = single_weights(s, score, keys);
    const float *rows = attention_floats(t, t->value, key, keys, t->j->d.v_size);
    for (int64_t v = 0; v < t->j->d.v_size; v += 4 * JF_LANES)
      single_add(t, s, score, rows, keys, v, factor);
  }
}

/* Whether a tile is one query whose rows are whole vectors. */
static int attention_is_single(const attention_tile *t)
{
  const jf_attention_dims *d = &t->j->d;
  return t->j->cached && t->n == 1 && d->size % JF_LANES == 0 && d->v_size % JF_LANES == 0;
}

JF_BODY void attention_single_do(const attention_tile *t, float *scratch)
{
  const attention_job *j = t->j;
  attention_single s = { .q = (const float *)j->k->in[JF_ATTENTION_Q].data + t->row * j->d.size,
                         .weighted = scratch, .max = -INFINITY };
  float *y = (float *)j->k->out[0].data + t->row * j->d.v_size;
  int64_t seen;
  const attention_tile past = attention_past(t, scratch, &seen);
  memset(scratch, 0, (size_t)j->d.v_size * sizeof *scratch);
  single_read(&past, &s, seen);
  single_read(t, &s, attention_keys(t));
  for (int64_t l = 0; l < j->d.v_size; l++) y[l] = s.sum == 0 ? 0 : scratch[l] / s.sum;
}

/* ---- tiles ---- */

JF_BODY void attention_body(void *ctx, int i)
{
  const attention_piece *piece = ctx;
  const attention_job *j = piece->j;
  const attention_tile first = attention_tile_at(j, i / j->tiles, i % j->tiles, 0);
  if (attention_is_single(&first)) {
    attention_single_do(&first, piece->scratch);
    return;
  }
  for (int careful = 0; careful < 2; careful++) {
    const attention_tile t = attention_tile_at(j, i / j->tiles, i % j->tiles, careful);
    attention_try(&t, piece->scratch);
    const float *y = (const float *)j->k->out[0].data + t.row * j->d.v_size;
    if (attention_is_finite(y, t.n * j->d.v_size)) return;
  }
}
JF_VECTOR_VARIANTS(attention)

/* ---- gradients ---- */

/* What a tile of queries needs: q (scaled) and dy with queries in lanes and with queries in lines,
   and of each query lse and <dy, y>. */
typedef struct attention_back {
  float *q_lanes, *dy_lanes, *q, *dy, *p, *dp, *keep, *dq, *dk, *dv;
  jf_vec lse[VECTORS], dot[VECTORS];
} attention_back;

static size_t attention_back_room(const attention_job *j)
{
  const int64_t q = padded(j->d.size), v = padded(j->d.v_size);
  return (size_t)(QUERIES * (3 * q + 2 * v) + 3 * KEYS * QUERIES + j->part * (q + v));
}

static attention_back attention_back_in(const attention_job *j, float *at)
{
  const int64_t q = padded(j->d.size), v = padded(j->d.v_size);
  attention_back b = { .q_lanes = at };
  b.q = b.q_lanes + QUERIES * q;
  b.dq = b.q + QUERIES * q;
  b.dy_lanes = b.dq + QUERIES * q;
  b.dy = b.dy_lanes + QUERIES * v;
  b.p = b.dy + QUERIES * v;
  b.dp = b.p + KEYS * QUERIES;
  b.keep = b.dp + KEYS * QUERIES;
  b.dk = b.keep + KEYS * QUERIES;
  b.dv = b.dk + j->part * q;
  return b;
}

/* Copies n lines of `size` floats, times scale, to lines that end in zeros. */
JF_BODY void attention_copy(const float *from, int64_t n, int64_t size, float scale, float *to)
{
  const int64_t wide = padded(size);
  for (int64_t i = 0; i < n; i++) {
    for (int64_t l = 0; l < size; l++) to[i * wide + l] = scale * from[i * size + l];
    for (int64_t l = size; l < wide; l++) to[i * wide + l] = 0;
  }
}

JF_BODY void attention_gather(const attention_tile *t, attention_back *b)
{
  const attention_job *j = t->j;
  const jf_tensor *in = j->k->in;
  const int64_t size = j->d.size, wide = j->d.v_size;
  const float *q = (const float *)in[JF_ATTENTION_Q].data + t->row * size;
  const float *dy = (const float *)in[JF_ATTENTION_DY].data + t->row * wide;
  const float *y = (const float *)in[JF_ATTENTION_Y].data + t->row * wide;
  float lse[QUERIES], dot[QUERIES];
  jf_tile_turn(q, size, t->n, size, j->scale, b->q_lanes, QUERIES);
  jf_tile_turn(dy, wide, t->n, wide, 1, b->dy_lanes, QUERIES);
  attention_copy(q, t->n, size, j->scale, b->q);
  attention_copy(dy, t->n, wide, 1, b->dy);
  for (int64_t i = 0; i < QUERIES; i++) {
    lse[i] = i < t->n ? ((const float *)in[JF_ATTENTION_LSE].data)[t->row + i] : INFINITY;
    dot[i] = 0;
    for (int64_t l = 0; i < t->n && l < wide; l++) dot[i] += dy[i * wide + l] * y[i * wide + l];
  }
  memcpy(b->lse, lse, sizeof lse);
  memcpy(b->dot, dot, sizeof dot);
}

/* Makes weights of the scores in p, and of the products in dp the gradients of scores. */
JF_BODY void attention_slopes(const attention_tile *t, attention_back *b, int64_t key, int64_t keys)
{
  if (t->j->drop.threshold) attention_keep(t, key, keys, b->keep);
  attention_drop(t, b->keep, keys, b->dp);
  for (int64_t v = 0; v < t->vectors; v++)
    for (int64_t k = 0; k < keys; k++) {
      float *p = b->p + k * QUERIES + v * JF_LANES, *dp = b->dp + k * QUERIES + v * JF_LANES;
      const jf_vec none = { 0 }, score = JF_LOAD(p);
      jf_vec w = JF_SELECT(score == -INFINITY, score, score - b->lse[v]);
      w = JF_SELECT(w > 0, none, w);
      jf_exp_low(&w);
      JF_STORE(p, w);
      JF_STORE(dp, JF_SELECT(w == 0, none, w * (JF_LOAD(dp) - b->dot[v])));
    }
  attention_drop(t, b->keep, keys, b->p);
}

/* Adds what the tile's queries give keys `key` .. `key + keys`, and to dq what those give. */
JF_BODY void attention_give(const attention_tile *t, attention_back *b, int64_t from, int64_t key,
                            int64_t keys, int add)
{
  const jf_attention_dims *d = &t->j->d;
  const int64_t size = padded(d->size), wide = padded(d->v_size);
  const jf_tile_zeros a = t->careful ? JF_ZEROS_OF_A : 0;
  attention_scores(t, key, keys, b->q_lanes, b->p);
  jf_tile_product(&(jf_tile){ .a = t->value + key * d->v_size, .a_row = d->v_size, .a_next = 1,
                              .b = b->dy_lanes, .b_row = QUERIES, .c = b->dp, .c_row = QUERIES,
                              .depth = d->v_size }, keys, t->vectors);
  attention_slopes(t, b, key, keys);
  jf_tile_product(&(jf_tile){ .a = t->key + key * d->size, .a_row = 1, .a_next = d->size,
                              .b = b->dp, .b_row = QUERIES, .c = b->dq, .c_row = QUERIES,
                              .depth = keys, .add = add, .zeros = t->careful ? JF_ZEROS_OF_B : 0 },
                  d->size, t->vectors);
  jf_tile_product(&(jf_tile){ .a = b->p, .a_row = QUERIES, .a_next = 1, .b = b->dy, .b_row = wide,
                              .c = b->dv + (key - from) * wide, .c_row = wide, .depth = t->n,
                              .add = 1, .zeros = a }, keys, wide / JF_LANES);
  jf_tile_product(&(jf_tile){ .a = b->dp, .a_row = QUERIES, .a_next = 1, .b = b->q,
                              .b_row = size, .c = b->dk + (key - from) * size, .c_row = size,
                              .depth = t->n, .add = 1, .zeros = a }, keys, size / JF_LANES);
}

/* The gradients that one tile of queries gives keys from .. to, and gets from them. */
JF_BODY void attention_back_tile(const attention_tile *t, attention_back *b, int64_t from,
                                 int64_t to, float *dq)
{
  const int64_t size = t->j->d.size, end = attention_least(to, attention_keys(t));
  attention_gather(t, b);
  if (from >= end) memset(b->dq, 0, (size_t)(size * QUERIES) * sizeof *b->dq);
  for (int64_t key = from, keys; key < end; key += keys) {
    keys = attention_least(end - key, KEYS);
    attention_give(t, b, from, key, keys, key > from);
  }
  for (int64_t i = 0; i < t->n; i++)
    for (int64_t l = 0; l < size; l++)
      dq[(t->row + i) * size + l] = t->j->scale * b->dq[l * QUERIES + i];
}

/* Copies n padded lines back. */
JF_BODY void attention_put(const float *from, int64_t n, int64_t size, float *to)
{
  for (int64_t i = 0; i < n; i++)
    memcpy(to + i * size, from + i * padded(size), (size_t)size * sizeof *to);
}

/* Does piece i; returns whether all that it wrote is finite. */
JF_BODY int attention_grad_try(const attention_job *j, int i, float *scratch, int careful)
{
  const jf_attention_dims *d = &j->d;
  const int64_t group = i / j->parts, part = i % j->parts;
  const int64_t from = part * j->part, to = attention_least(from + j->part, d->k_len);
  const int64_t row = group * d->k_len + from, queries = d->shared * d->q_len;
  float *dq = j->dq + part * d->batch * d->heads * d->q_len * d->size;
  float *dk = (float *)j->k->out[1].data + row * d->size;
  float *dv = (float *)j->k->out[2].data + row * d->v_size;
  attention_back b = attention_back_in(j, scratch);
  memset(b.dk, 0, (size_t)(j->part * padded(d->size)) * sizeof *b.dk);
  memset(b.dv, 0, (size_t)(j->part * padded(d->v_size)) * sizeof *b.dv);
  for (int64_t h = group * d->shared; h < (group + 1) * d->shared; h++)
    for (int64_t tile = 0; tile < j->tiles && !jf_loop_ends(); tile++) {
      const attention_tile t = attention_tile_at(j, h, tile, careful);
      attention_back_tile(&t, &b, from, to, dq);
    }
  attention_put(b.dk, to - from, d->size, dk);
  attention_put(b.dv, to - from, d->v_size, dv);
  return attention_is_finite(dk, (to - from) * d->size) &&
         attention_is_finite(dv, (to - from) * d->v_size) &&
         attention_is_finite(dq + group * queries * d->size, queries * d->size);
}

/* Piece i: part i % parts of the keys of group i / parts, with all queries that read them. */
JF_BODY void attention_grad_body(void *ctx, int i)
{
  const attention_piece *piece = ctx;
  for (int careful = 0; careful < 2; careful++)
    if (attention_grad_try(piece->j, i, piece->scratch, careful)) return;
}
JF_VECTOR_VARIANTS(attention_grad)

/* Adds up the gradients of q by the parts of keys, in their order. */
JF_BODY void attention_sum_body(void *ctx, int i)
{
  const attention_job *j = ctx;
  const int64_t n = jf_numel(&j->k->out[0].shape);
  float *dq = j->k->out[0].data;
  for (int64_t at = jf_from(i, JF_PART), to = jf_to(i, JF_PART, n); at < to; at++) {
    float sum = j->dq[at];
    for (int64_t p = 1; p < j->parts; p++) sum += j->dq[p * n + at];
    dq[at] = sum;
  }
}
JF_VECTOR_VARIANTS(attention_sum)

/* ---- rows ---- */

static attention_job attention_job_of(const jf_kargs *k, int mask)
{
  const jf_attention *a = k->attr;
  attention_job j = { .k = k, .d = jf_attention_dims_of(k), .scale = (float)a->scale };
  j.mask = jf_attention_mask_of(k, mask);
  j.causal = a->causal;
  j.tiles = (j.d.q_len + QUERIES - 1) / QUERIES;
  return j;
}

static attention_job attention_forward_job(const jf_kargs *k)
{
  attention_job j = attention_job_of(k, JF_ATTENTION_MASK);
  j.room = (size_t)(QUERIES * (j.d.size + j.d.v_size + 2 * KEYS));
  return j;
}

/* Groups of keys are enough pieces unless they are few, as in one image with one head; then keys
   are divided too. */
static attention_job attention_backward_job(const jf_kargs *k)
{
  enum { FEW = 8, LONG = 4 * KEYS };
  attention_job j = attention_job_of(k, JF_ATTENTION_GRAD_MASK);
  const int64_t groups = j.d.batch * j.d.groups, most = (j.d.k_len + LONG - 1) / LONG;
  j.parts = groups && groups < FEW ? attention_least((FEW + groups - 1) / groups, most) : 1;
  if (j.parts < 1) j.parts = 1;
  j.part = ((j.d.k_len + j.parts - 1) / j.parts + KEYS - 1) / KEYS * KEYS;
  j.parts = j.part ? (j.d.k_len + j.part - 1) / j.part : 1;
  j.room = attention_back_room(&j);
  return j;
}

static int attention_fits(const jf_kargs *k, const attention_job *j)
{
  const int64_t pieces = j->d.batch * j->d.heads * (j->tiles + j->parts);
  const int64_t n = jf_numel(&k->out[0].shape);
  return jf_has_vectors() && k->in[0].dtype == JFL_F32 && n && j->d.k_len && j->d.size &&
         j->d.v_size && pieces <= INT32_MAX && !((const jf_attention *)k->attr)->by_length;
}

static int attention_accepts(const jf_kargs *k)
{
  const attention_job j = attention_forward_job(k);
  return attention_fits(k, &j);
}

/* ---- with a cache ---- */

static attention_job attention_cached_job(const jf_kargs *k)
{
  attention_job j = { .k = k, .d = jf_attention_dims_of(k), .causal = 1, .cached = 1 };
  const int64_t wider = j.d.size > j.d.v_size ? j.d.size : j.d.v_size;
  j.scale = (float)((const jf_attention *)k->attr)->scale;
  j.tiles = (j.d.q_len + QUERIES - 1) / QUERIES;
  j.widened = (size_t)(QUERIES * (j.d.size + j.d.v_size + 2 * KEYS));
  j.room = j.widened + (size_t)(KEYS * wider);
  return j;
}

static int cached_attention_accepts(const jf_kargs *k)
{
  const attention_job j = attention_cached_job(k);
  return attention_fits(k, &j) &&
         k->in[JF_ATTENTION_PAST_K].dtype == k->in[JF_ATTENTION_PAST_V].dtype;
}

static jfl_status cached_attention_prepare(jf_kargs *k)
{
  k->scratch_size = (size_t)k->threads * attention_cached_job(k).room * sizeof(float);
  return JFL_OK;
}

static int attention_grad_accepts(const jf_kargs *k)
{
  const attention_job j = attention_backward_job(k);
  return attention_fits(k, &j);
}

static jfl_status attention_prepare(jf_kargs *k)
{
  k->scratch_size = (size_t)k->threads * attention_forward_job(k).room * sizeof(float);
  return JFL_OK;
}

static size_t attention_partial(const attention_job *j)
{
  return j->parts > 1 ? (size_t)(j->parts * jf_numel(&j->k->out[0].shape)) : 0;
}

static jfl_status attention_grad_prepare(jf_kargs *k)
{
  const attention_job j = attention_backward_job(k);
  k->scratch_size = ((size_t)k->threads * j.room + attention_partial(&j)) * sizeof(float);
  return JFL_OK;
}

static void attention_lane(void *ctx, int i, int worker)
{
  const attention_job *j = ctx;
  attention_piece p = { j, (float *)j->k->scratch + (size_t)worker * j->room };
  attention()(&p, i);
}

static void attention_grad_lane(void *ctx, int i, int worker)
{
  const attention_job *j = ctx;
  attention_piece p = { j, (float *)j->k->scratch + (size_t)worker * j->room };
  attention_grad()(&p, i);
}

static jfl_status attention_run(const jf_kargs *k)
{
  attention_job j = attention_forward_job(k);
  j.drop = jf_attention_drop_of(k);
  jf_parallel_workers(k->threads, (int)(j.d.batch * j.d.heads * j.tiles), attention_lane, &j);
  return JFL_OK;
}

static jfl_status cached_attention_run(const jf_kargs *k)
{
  attention_job j = attention_cached_job(k);
  JF_TRY(jf_cached_check(k));
  jf_parallel_workers(k->threads, (int)(j.d.batch * j.d.heads * j.tiles), attention_lane, &j);
  return JFL_OK;
}

static jfl_status attention_grad_run(const jf_kargs *k)
{
  attention_job j = attention_backward_job(k);
  j.drop = jf_attention_drop_of(k);
  j.dq = j.parts > 1 ? (float *)k->scratch + (size_t)k->threads * j.room : k->out[0].data;
  jf_parallel_workers(k->threads, (int)(j.d.batch * j.d.groups * j.parts), attention_grad_lane, &j);
  if (j.parts > 1)
    jf_run_parts(k, jf_parts(jf_numel(&k->out[0].shape), JF_PART), attention_sum(), &j);
  return JFL_OK;
}

JFL_CPU(vec_attention, .op = "scaled_dot_product_attention", .accepts = attention_accepts,
        .prepare = attention_prepare, .run = attention_run)
JFL_CPU(vec_attention_grad, .op = "scaled_dot_product_attention_grad",
        .accepts = attention_grad_accepts, .prepare = attention_grad_prepare,
        .run = attention_grad_run)
JFL_CPU(vec_cached_attention, .op = "cached_attention", .accepts = cached_attention_accepts,
        .prepare = cached_attention_prepare, .run = cached_attention_run)
