/* How ranks meet: all others connect to rank 0, twice, prove that they know the secret, and say who
   they are. */
#include "world/meet.h"

#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void meet_close(int *fd)
{
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* ---- rank 0 ---- */

static int *meet_channel(jf_peer *p, int channel)
{
  return channel == JF_WORD ? &p->word : &p->life;
}

/* Whether there is no connection, or one that its rank has given up, which is forgotten: that rank
   may come again. */
static int meet_is_free(int *fd)
{
  if (*fd >= 0 && jf_socket_is_over(*fd)) meet_close(fd);
  return *fd < 0;
}

/* Why one that knows the secret cannot be a rank here, so that the ranks cannot meet; or NULL. */
static const char *meet_objection(const jf_meeting *m, const jf_call *c, jf_peer *peer, jf_text *t)
{
  if (c->version != JF_DOOR_VERSION || strncmp(c->program, jfl_version(), sizeof c->program - 1))
    jf_text_add(t, "it is of version %.*s of jfl, rank 0 of %s", (int)sizeof c->program - 1,
                c->program, jfl_version());
  else if (c->size != m->size)
    jf_text_add(t, "it counts another number of ranks: %d, rank 0 counts %d", (int)c->size,
                m->size);
  else if (c->from < 1 || c->from >= m->size || c->to ||
           (c->channel != JF_WORD && c->channel != JF_LIFE))
    jf_text_add(t, "its number is not that of a rank");
  else if (!meet_is_free(meet_channel(&peer[c->from], c->channel)))
    jf_text_add(t, "two processes have its number");
  else return NULL;
  return t->failed ? "out of memory" : t->s;
}

/* Takes in a rank. Only what one says that knows the secret can keep the ranks from meeting. */
static jfl_status meet_greet(const jf_meeting *m, const jf_door *d, const jf_caller *c,
                             const jf_answer *answer, jf_peer *peer)
{
  jf_text t = { 0 };
  const char *why = meet_objection(m, &c->call, peer, &t);
  const int stays = jf_door_answer(d, c, *answer, why);
  const jfl_status s = why ? jf_fail(JFL_EIO, "rank %d: %s", (int)c->call.from, why) : JFL_OK;
  if (stays) *meet_channel(&peer[c->call.from], c->call.channel) = c->fd;
  jf_free(t.s);
  return s;
}

/* Whether a rank has come, on both connections, and not gone again. */
static int meet_came(jf_peer *p)
{
  const int lacks_word = meet_is_free(&p->word), lacks_life = meet_is_free(&p->life);
  return !lacks_word && !lacks_life;
}

static int meet_all_came(const jf_meeting *m, jf_peer *peer)
{
  int i = 1;
  while (i < m->size && meet_came(&peer[i])) i++;
  return i == m->size;
}

/* Names the ranks that are not there: "rank 1, 3 and 5 more". */
static jfl_status meet_lacks(const jf_meeting *m, const jf_door *d, jf_peer *peer)
{
  jf_text t = { 0 };
  int n = 0;
  for (int i = 1; i < m->size; i++) {
    if (meet_came(&peer[i])) continue;
    if (++n <= 8) jf_text_add(&t, "%s%d", n > 1 ? ", " : "", i);
  }
  if (n > 8) jf_text_add(&t, " and %d more", n - 8);
  jf_text_add(&t, " of %d did not come to rank 0 at port %d in time", m->size, m->port);
  if (d->strangers)
    jf_text_add(&t, "; %d calls did not prove that they know its JFL_SECRET", d->strangers);
  const jfl_status s = jf_fail(JFL_EIO, "rank%s %s", n > 1 ? "s" : "", t.failed ? "?" : t.s);
  jf_free(t.s);
  return s;
}

static jfl_status meet_all(const jf_meeting *m, jf_door *d, const jf_answer *answer, jf_peer *peer)
{
  const jf_wait w = { .until = m->until, .wake = -1 };
  while (!meet_all_came(m, peer)) {
    jf_caller c;
    const jfl_status s = jf_door_hear(d, &w, &c);
    if (s == JFL_ESTATE) return meet_lacks(m, d, peer);
    JF_TRY(s);
    JF_TRY(meet_greet(m, d, &c, answer, peer));
  }
  return JFL_OK;
}

static jfl_status meet_as_first(jf_meeting *m, jf_peer *peer)
{
  jf_answer answer = { .is_welcome = 1 };
  if (m->listener < 0) {
    JF_TRY(jf_socket_listen(m->is_near ? m->address[0] : NULL, &m->port, &m->listener));
  } else {
    fcntl(m->listener, F_SETFD, FD_CLOEXEC);
    fcntl(m->listener, F_SETFL, O_NONBLOCK);
  }
  jf_door *d = jf_door_new(m->listener, m->key);
  if (!d) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_status s = jf_key_draw(answer.session);
  if (!s) s = meet_all(m, d, &answer, peer);
  jf_door_free(d);
  jf_key_from(m->key, sizeof m->key, answer.session, sizeof answer.session, m->key);
  return s;
}

/* ---- the other ranks ---- */

/* Seconds that one of several addresses is tried, and that pass between two tries. */
static const double meet_try_for = 4;
static const struct timespec meet_pause = { .tv_nsec = 50 * 1000 * 1000 };

/* Says who this is; *final where rank 0 refuses it. Where rank 0 has one address alone, what takes
   the call there is rank 0, however late it comes. */
static jfl_status meet_say(const jf_meeting *m, int fd, jf_channel channel, jf_answer *a,
                           int *final)
{
  const jf_wait w = { .until = m->n_address > 1 ? jf_now() + meet_try_for : m->until, .wake = -1 };
  const jf_call call = { .channel = (int32_t)channel, .from = m->rank, .size = m->size };
  JF_TRY(jf_door_call(fd, m->key, call, &w, a));
  *final = !a->is_welcome;
  return a->is_welcome ? JFL_OK : jf_fail(JFL_EIO, "rank 0 refuses rank %d: %s", m->rank, a->why);
}

static jfl_status meet_at(const jf_meeting *m, int i, jf_channel channel, int *fd, jf_answer *a,
                          int *final)
{
  const double soon = jf_now() + meet_try_for;
  const jf_wait w = { .until = soon < m->until ? soon : m->until, .wake = -1 };
  JF_TRY(jf_socket_connect(m->address[i], m->port, &w, fd));
  const jfl_status s = meet_say(m, *fd, channel, a, final);
  if (s) meet_close(fd);
  return s;
}

/* Why rank 0 was not reached: what its last answer was, if there was one. */
static jfl_status meet_in_vain(const jf_meeting *m, int at, jf_error *why)
{
  if (why) jf_error_restore(JFL_EIO, why);
  jf_free(why);
  return jf_blame(JFL_EIO, "rank 0 cannot be reached at %s, port %d: ", m->address[at], m->port);
}

/* Tries the addresses in turn until rank 0 answers, first the one that answered last. */
static jfl_status meet_first(const jf_meeting *m, jf_channel channel, int *at, int *fd,
                             jf_answer *a)
{
  jf_error *why = NULL;
  int final = 0;
  for (;; *at = (*at + 1) % m->n_address) {
    const jfl_status s = meet_at(m, *at, channel, fd, a, &final);
    if (!s || final) return jf_free(why), s;
    if (s != JFL_ESTATE) {
      jf_free(why);
      why = jf_error_copy();
    }
    if (jf_now() >= m->until) return meet_in_vain(m, *at, why);
    nanosleep(&meet_pause, NULL);
  }
}

/* Both connections are of one meeting, also where another rank 0 has come meanwhile. */
static jfl_status meet_as_other(jf_meeting *m, jf_peer *first)
{
  jf_answer word, life;
  int at = 0;
  do {
    meet_close(&first->word);
    meet_close(&first->life);
    JF_TRY(meet_first(m, JF_WORD, &at, &first->word, &word));
    JF_TRY(meet_first(m, JF_LIFE, &at, &first->life, &life));
  } while (memcmp(word.session, life.session, sizeof word.session));
  jf_key_from(m->key, sizeof m->key, word.session, sizeof word.session, m->key);
  return JFL_OK;
}

jfl_status jf_meeting_hold(jf_meeting *m, jf_peer *peer)
{
  return m->rank ? meet_as_other(m, &peer[0]) : meet_as_first(m, peer);
}
