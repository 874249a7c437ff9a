/* Sums over ranks, made of messages: so they are the same, bit for bit, whatever carries these.

   Small tensors are summed by recursive doubling: in each round a rank swaps what it has with a
   partner, and both add. Large ones go around a ring twice: first each rank gets the sum of one
   part, then the parts are handed on (Thakur, Rabenseifner, Gropp, "Optimization of Collective
   Communication Operations in MPICH", 2005, sections 4.4 and 4.5). A sum of two numbers does not
   depend on which is first, so partners get the same bits. */
#include "world/collective.h"

#include <string.h>

#include "world/meet.h"
#include "world/transport.h"

/* How many bytes are received before they are added: few enough to be in the cache still. */
enum { DATA_PIECE = 1 << 19 };
/* Used by the one thread that is in these functions. */
static _Alignas(64) char data_room[DATA_PIECE];
static const jf_transport *data_via = &jf_transport_by_socket;

jfl_status jf_world_open_data(const jf_mpi *mpi)
{
  data_via = mpi ? &jf_transport_by_mpi : &jf_transport_by_socket;
  jf_transport_use_mpi(mpi);
  return data_via->open ? data_via->open() : JFL_OK;
}

jfl_status jf_world_exchange(const jf_mail *send, int n_send, const jf_mail *receive, int n_receive)
{
  if (jf_world_trouble()) return jf_world_fail();
  atomic_fetch_add(&jf_the_world.waits, 1);
  const jfl_status s = data_via->exchange(send, n_send, receive, n_receive);
  atomic_fetch_sub(&jf_the_world.waits, 1);
  atomic_fetch_add(&jf_the_world.moved, 1);
  /* Others wait for what it did not send, so the world is over. */
  if (s && !jf_world_trouble())
    jf_world_end("rank %d (%s) cannot exchange data: %s", jf_world_rank(),
                 jf_world_host(jf_world_rank()), jfl_errmsg());
  return s;
}

static jfl_status data_swap(int to, const void *out, size_t n_out, int from, void *in, size_t n_in)
{
  const jf_mail send = { to, (void *)out, n_out }, receive = { from, in, n_in };
  return jf_world_exchange(&send, n_out > 0, &receive, n_in > 0);
}

/* Where this rank is in a team. */
static int data_seat(const jf_ranks *team)
{
  const int me = jf_world_rank();
  int i = 0;
  while (i < team->n && team->rank[i] != me) i++;
  return i;
}

/* ---- recursive doubling ---- */

/* Elements that are summed in one go, and with whom. */
typedef struct data_sum {
  const jf_ranks *team;
  int me;
  char *data;
  int64_t n;
  const jf_addition *t;
} data_sum;

/* Both partners get the sum of what they have. */
static jfl_status data_join(const data_sum *s, int seat)
{
  const int rank = (int)s->team->rank[seat];
  const size_t bytes = (size_t)s->n * s->t->size;
  JF_TRY(data_swap(rank, s->data, bytes, rank, data_room, bytes));
  s->t->add(s->data, data_room, s->n);
  return JFL_OK;
}

/* Of a team that is no power of two, the first few ranks join in pairs, and one of each pair takes
   part for both. */
static jfl_status data_double(const data_sum *s)
{
  int power = 1;
  while (2 * power <= s->team->n) power *= 2;
  const int paired = 2 * (s->team->n - power), idle = s->me < paired && s->me % 2;
  const int me = s->me < paired ? s->me / 2 : s->me - paired / 2;
  const int rank = s->me < paired ? (int)s->team->rank[s->me ^ 1] : -1;
  const size_t bytes = (size_t)s->n * s->t->size;
  if (s->me < paired) JF_TRY(data_join(s, s->me ^ 1));
  for (int step = 1; step < power && !idle; step *= 2) {
    const int other = me ^ step;
    JF_TRY(data_join(s, other < paired / 2 ? 2 * other : other + paired / 2));
  }
  if (s->me >= paired) return JFL_OK;
  return idle ? data_swap(rank, NULL, 0, rank, s->data, bytes)
              : data_swap(rank, s->data, bytes, rank, NULL, 0);
}

/* ---- the ring ---- */

/* Elements in parts, one for each rank of the team: part i begins at begin(i). */
typedef struct data_ring {
  data_sum sum;
  const int64_t *count;        /* of the parts; NULL: they are equal but for the first ones, which
                                  may have one more */
  int next, before;            /* ranks */
} data_ring;

static int data_wrap(const data_ring *r, int seat)
{
  const int n = r->sum.team->n;
  return (seat % n + n) % n;
}

/* The bytes of a part, and in *data where they are. */
static size_t data_part(const data_ring *r, int seat, char **data)
{
  const data_sum *s = &r->sum;
  const int64_t least = s->n / s->team->n, more = s->n % s->team->n;
  int64_t begin = seat * least + (seat < more ? seat : more), count = least + (seat < more);
  if (r->count) {
    begin = 0;
    for (int i = 0; i < seat; i++) begin += r->count[i];
    count = r->count[seat];
  }
  *data = s->data + (size_t)begin * s->t->size;
  return (size_t)count * s->t->size;
}

static size_t data_piece(size_t size, size_t at, size_t most)
{
  const size_t left = size > at ? size - at : 0;
  return left < most ? left : most;
}

/* Hands a part on and adds what comes to another one. */
static jfl_status data_add_part(const data_ring *r, int out, int in)
{
  char *from, *to;
  const jf_addition *t = r->sum.t;
  const size_t n_out = data_part(r, out, &from), n_in = data_part(r, in, &to);
  const size_t most = DATA_PIECE / t->size * t->size;
  for (size_t at = 0; at < n_out || at < n_in; at += most) {
    const size_t send = data_piece(n_out, at, most), get = data_piece(n_in, at, most);
    JF_TRY(data_swap(r->next, from + at, send, r->before, data_room, get));
    if (get) t->add(to + at, data_room, (int64_t)(get / t->size));
  }
  return JFL_OK;
}

/* Part i becomes the sum over all ranks at the i-th one. It begins at the rank after that, and each
   adds its own. */
static jfl_status data_scatter(const data_ring *r)
{
  const int me = r->sum.me;
  for (int s = 1; s < r->sum.team->n; s++)
    JF_TRY(data_add_part(r, data_wrap(r, me - s), data_wrap(r, me - s - 1)));
  return JFL_OK;
}

/* Hands a part on that is summed, and puts another one in its place. */
static jfl_status data_pass_part(const data_ring *r, int out, int in)
{
  char *from, *to;
  const size_t n_out = data_part(r, out, &from), n_in = data_part(r, in, &to);
  for (size_t at = 0; at < n_out || at < n_in; at += DATA_PIECE)
    JF_TRY(data_swap(r->next, from + at, data_piece(n_out, at, DATA_PIECE), r->before, to + at,
                     data_piece(n_in, at, DATA_PIECE)));
  return JFL_OK;
}

static jfl_status data_hand_on(const data_ring *r)
{
  const int me = r->sum.me;
  for (int s = 0; s < r->sum.team->n - 1; s++)
    JF_TRY(data_pass_part(r, data_wrap(r, me - s), data_wrap(r, me - s - 1)));
  return JFL_OK;
}

static data_ring data_ring_of(const data_sum *s, const int64_t *count)
{
  const int n = s->team->n;
  return (data_ring){ *s, count, (int)s->team->rank[(s->me + 1) % n],
                      (int)s->team->rank[(s->me + n - 1) % n] };
}

/* ---- choosing ---- */

/* Seconds until a message arrives, per byte that is sent, and per byte that is added: rough ones,
   for ranks on one host or on a network of 10 Gbit/s. */
static const double data_latency = 20e-6, data_sent = 0.5e-9, data_added = 0.1e-9;

static int data_doubling_is_faster(int ranks, double bytes)
{
  double rounds = 0, sums = 0;
  for (int p = 1; p < ranks; p *= 2) rounds++;
  sums = rounds;
  if (ranks & (ranks - 1)) rounds++;
  const double each = bytes / ranks;
  return rounds * (data_latency + bytes * data_sent) + sums * bytes * data_added <
         (ranks - 1) * (2 * data_latency + 2 * each * data_sent + each * data_added);
}

/* Doubling receives as much at once as there is room for. */
static jfl_status data_double_all(data_sum s)
{
  const int64_t most = DATA_PIECE / (int64_t)s.t->size, n = s.n;
  for (int64_t at = 0; at < n; at += most, s.data += (size_t)most * s.t->size) {
    s.n = n - at < most ? n - at : most;
    JF_TRY(data_double(&s));
  }
  return JFL_OK;
}

jfl_status jf_world_all_reduce(const jf_ranks *team, void *data, int64_t n, const jf_addition *t)
{
  const data_sum s = { team, data_seat(team), data, n, t };
  if (team->n < 2 || n < 1) return JFL_OK;
  if (data_doubling_is_faster(team->n, (double)n * (double)t->size)) return data_double_all(s);
  const data_ring r = data_ring_of(&s, NULL);
  JF_TRY(data_scatter(&r));
  return data_hand_on(&r);
}

jfl_status jf_world_reduce_scatter(const jf_ranks *team, void *in, void *out, const int64_t *count,
                                   const jf_addition *t)
{
  const data_sum s = { team, data_seat(team), in, 0, t };
  const data_ring r = data_ring_of(&s, count);
  char *mine;
  const size_t size = data_part(&r, s.me, &mine);
  JF_TRY(data_scatter(&r));
  if (size) memcpy(out, mine, size);
  return JFL_OK;
}
