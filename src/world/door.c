/* Callers that prove who they are, and strangers that cannot. */
#include "world/door.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "system/system.h"

static const char MAGIC[8] = "jflworld";

/* Seconds that a caller may take, and that it has even where others wait for its place. */
static const double manners = 10, least = 0.2;

/* ---- proofs ---- */

void jf_key_from(const void *secret, size_t n_secret, const void *more, size_t n_more, jf_key out)
{
  jf_hmac m;
  jf_hmac_begin(&m, secret, n_secret);
  jf_hmac_add(&m, more, n_more);
  jf_hmac_end(&m, out);
}

/* What a caller signs: the challenge and all that it says. */
static void door_sign_call(const jf_key key, const jf_challenge *c, const jf_call *call, jf_key out)
{
  jf_hmac m;
  jf_hmac_begin(&m, key, sizeof(jf_key));
  jf_hmac_add(&m, "jfl call", 8);
  jf_hmac_add(&m, c, sizeof *c);
  jf_hmac_add(&m, call, offsetof(jf_call, proof));
  jf_hmac_end(&m, out);
}

/* What is signed in an answer: all that was said before, and itself. */
static void door_sign_answer(const jf_key key, const jf_challenge *c, const jf_call *call,
                             const jf_answer *a, jf_key out)
{
  jf_hmac m;
  jf_hmac_begin(&m, key, sizeof(jf_key));
  jf_hmac_add(&m, "jfl answer", 10);
  jf_hmac_add(&m, c, sizeof *c);
  jf_hmac_add(&m, call, sizeof *call);
  jf_hmac_add(&m, a, offsetof(jf_answer, proof));
  jf_hmac_end(&m, out);
}

jfl_status jf_key_draw(jf_key out)
{
  if (!jf_secret(out, sizeof(jf_key))) return JFL_OK;
  return jf_fail(JFL_EIO, "the system has no random numbers: %s", strerror(errno));
}

/* ---- who is called ---- */

jf_door *jf_door_new(int listener, const jf_key key)
{
  jf_door *d = jf_new(sizeof *d);
  if (!d) return close(listener), NULL;
  d->listener = listener;
  d->most = JF_CALLERS;
  memcpy(d->key, key, sizeof d->key);
  return d;
}

void jf_door_shut(jf_door *d)
{
  for (int i = 0; i < d->n; i++) jf_socket_drop(&d->caller[i].fd);
  jf_socket_drop(&d->listener);
}

void jf_door_free(jf_door *d)
{
  if (!d) return;
  jf_door_shut(d);
  jf_free(d);
}

static void door_take_out(jf_door *d, int i)
{
  memmove(&d->caller[i], &d->caller[i + 1], (size_t)(--d->n - i) * sizeof *d->caller);
}

static void door_drop(jf_door *d, int i)
{
  close(d->caller[i].fd);
  door_take_out(d, i);
  d->strangers++;
}

/* Sends what fits into the buffers of a connection that has sent nothing yet. */
static int door_send(int fd, const void *data, size_t size)
{
  return send(fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

/* Whether another one can be taken in, where need be in the place of the oldest. */
static int door_has_room(const jf_door *d, double now)
{
  return d->n < d->most || now >= d->caller[0].since + least;
}

/* Where the system gives this process no more connections, there are as many callers as now. */
static jfl_status door_take_in(jf_door *d)
{
  jf_caller c = { .challenge = { .version = JF_DOOR_VERSION } };
  memcpy(c.challenge.magic, MAGIC, sizeof MAGIC);
  JF_TRY(jf_key_draw(c.challenge.number));
  if (d->n == d->most) door_drop(d, 0);
  const jfl_status s = jf_socket_accept(d->listener, &c.fd);
  if (s && d->n) return d->most = d->n, JFL_OK;
  if (s || c.fd < 0) return s;
  c.since = jf_now();
  d->caller[d->n++] = c;
  if (!door_send(c.fd, &c.challenge, sizeof c.challenge)) door_drop(d, d->n - 1);
  return JFL_OK;
}

/* Reads what there is of a call; gives 0 where no more of it will come. */
static int door_read(jf_caller *c)
{
  while (c->n < sizeof c->call) {
    const ssize_t n = recv(c->fd, (char *)&c->call + c->n, sizeof c->call - c->n, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    if (n == 0) return 0;
    c->n += (size_t)n;
  }
  return 1;
}

static int door_believes(const jf_door *d, const jf_caller *c)
{
  jf_key proof;
  door_sign_call(d->key, &c->challenge, &c->call, proof);
  return !memcmp(c->call.magic, MAGIC, sizeof MAGIC) &&
         jf_same_secret(proof, c->call.proof, sizeof proof);
}

/* One that has another secret is told that it is not welcome, without a proof. */
static void door_send_away(jf_door *d, int i)
{
  jf_answer a = { .is_welcome = 0 };
  memcpy(a.magic, MAGIC, sizeof MAGIC);
  door_send(d->caller[i].fd, &a, sizeof a);
  door_drop(d, i);
}

/* Hears callers from the i-th on, until one of them has proved that it knows the secret; gives
   whether one has. What they sent before their time was over counts. */
static int door_hear_some(jf_door *d, double now, jf_caller *out)
{
  for (int i = 0; i < d->n;) {
    jf_caller *c = &d->caller[i];
    if (!door_read(c)) door_drop(d, i);
    else if (c->n < sizeof c->call && now > c->since + manners) door_drop(d, i);
    else if (c->n < sizeof c->call) i++;
    else if (!door_believes(d, c)) door_send_away(d, i);
    else return *out = *c, door_take_out(d, i), 1;
  }
  return 0;
}

/* When the next thing must be done if nobody says anything. */
static double door_until(const jf_door *d, const jf_wait *w, int has_room)
{
  double until = w->until > 0 ? w->until : 1e300;
  const double next = d->n ? d->caller[0].since + (has_room ? manners : least) : until;
  return next < until ? next : until;
}

/* Waits until somebody calls or says something, or there is something to do; *came: it is a
   call. */
static jfl_status door_wait(jf_door *d, const jf_wait *w, int *came)
{
  const double now = jf_now();
  const int has_room = door_has_room(d, now);
  const double left = 1e3 * (door_until(d, w, has_room) - now);
  d->wait[0] = (struct pollfd){ .fd = w->wake, .events = POLLIN };
  d->wait[1] = (struct pollfd){ .fd = has_room ? d->listener : -1, .events = POLLIN };
  for (int i = 0; i < d->n; i++)
    d->wait[2 + i] = (struct pollfd){ .fd = d->caller[i].fd, .events = POLLIN };
  const int pause = left < 0 ? 0 : left < 1e6 ? (int)left + 1 : 1000000;
  const int n = poll(d->wait, (nfds_t)(2 + d->n), pause);
  if (n < 0 && errno != EINTR) return jf_fail(JFL_EIO, "poll: %s", strerror(errno));
  *came = n > 0 && d->wait[1].revents;
  if (n > 0 && d->wait[0].revents) return jf_fail(JFL_ESTATE, "the wait was ended");
  return JFL_OK;
}

jfl_status jf_door_hear(jf_door *d, const jf_wait *w, jf_caller *out)
{
  for (int came = 0;;) {
    if (door_hear_some(d, jf_now(), out)) return JFL_OK;
    if (w->until > 0 && jf_now() >= w->until) return jf_fail(JFL_ESTATE, "no answer in time");
    if (came) JF_TRY(door_take_in(d));
    JF_TRY(door_wait(d, w, &came));
  }
}

int jf_door_answer(const jf_door *d, const jf_caller *c, jf_answer a, const char *why)
{
  memcpy(a.magic, MAGIC, sizeof MAGIC);
  a.is_welcome = !why;
  if (why) snprintf(a.why, sizeof a.why, "%s", why);
  door_sign_answer(d->key, &c->challenge, &c->call, &a, a.proof);
  if (door_send(c->fd, &a, sizeof a) && !why) return 1;
  close(c->fd);
  return 0;
}

/* ---- who calls ---- */

jfl_status jf_door_call(int fd, const jf_key key, jf_call call, const jf_wait *w, jf_answer *out)
{
  jf_challenge c;
  jf_answer a;
  jf_key proof;
  JF_TRY(jf_socket_receive(fd, &c, sizeof c, w));
  if (memcmp(c.magic, MAGIC, sizeof MAGIC)) return jf_fail(JFL_EIO, "another program answers");
  memcpy(call.magic, MAGIC, sizeof MAGIC);
  call.version = JF_DOOR_VERSION;
  snprintf(call.program, sizeof call.program, "%s", jfl_version());
  JF_TRY(jf_key_draw(call.number));
  door_sign_call(key, &c, &call, call.proof);
  JF_TRY(jf_socket_send(fd, &call, sizeof call, w));
  JF_TRY(jf_socket_receive(fd, &a, sizeof a, w));
  door_sign_answer(key, &c, &call, &a, proof);
  if (!jf_same_secret(proof, a.proof, sizeof proof))
    return jf_fail(JFL_EIO, "what answers there has another JFL_SECRET, or is of another run");
  a.why[sizeof a.why - 1] = '\0';
  *out = a;
  return JFL_OK;
}
