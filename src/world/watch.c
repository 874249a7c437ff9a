/* The watch over the ranks: a thread that sends beats, listens for those of others, and passes on
   what ended the world. It counts its own rounds, not seconds: on a busy machine, or after a pause
   of the whole process, they take longer, and so the others get more time. */
#include "world/meet.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>

/* ---- what comes from a rank ---- */

/* Two bytes, a kind and a length, and as many bytes: a text, which trouble must have, or what the
   rank is at, which rank 0 does not say. */
enum { BEAT, TROUBLE };

static void watch_understand(jf_peer *p)
{
  while (p->n_said >= 2 && p->n_said >= 2 + p->said[1]) {
    const int size = 2 + p->said[1];
    if (p->said[0] == TROUBLE && size > 2 && p->said[2])
      jf_world_end("%.*s", size - 2, (const char *)p->said + 2);
    if (p->said[0] == BEAT) jf_stall_hear(p, p->said + 2, (size_t)size - 2);
    p->n_said -= size;
    memmove(p->said, p->said + size, (size_t)p->n_said);
  }
}

int jf_watch_read(jf_peer *p, int64_t round)
{
  for (;;) {
    const size_t room = sizeof p->said - (size_t)p->n_said;
    const ssize_t n = recv(p->life, p->said + p->n_said, room, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return 0;
    if (n < 0) return 1;
    p->n_said += (int)n;
    p->heard = round;
    watch_understand(p);
  }
}

/* ---- beats ---- */

static void watch_beat(jf_world *w, const jf_card *mine)
{
  unsigned char beat[2 + sizeof *mine] = { BEAT, w->rank ? sizeof *mine : 0 };
  const size_t size = 2 + (size_t)beat[1];
  memcpy(beat + 2, mine, sizeof *mine);
  pthread_mutex_lock(&w->telling);
  for (int i = 0; i < w->size; i++)
    if (w->peer[i].life >= 0) send(w->peer[i].life, beat, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  pthread_mutex_unlock(&w->telling);
}

static void *watch_run(void *arg)
{
  jf_world *w = arg;
  const int n = w->size, rank = w->rank;
  struct pollfd *p = jf_new((size_t)n * sizeof *p);
  double next = 0;
  int64_t round = 0;
  jf_stall own = { .cpu = 0 };
  jf_thread_begins("watch");
  if (!p) jf_world_end("rank %d (%s) is out of memory", rank, jf_world_host(rank));
  for (int i = 0; p && i < n; i++) p[i] = (struct pollfd){ w->peer[i].life, POLLIN, 0 };
  while (p && !atomic_load(&w->trouble)) {
    const int came = poll(p, (nfds_t)n, (int)(1e3 * JF_ROUND));
    if (came > 0)
      for (int i = 0; i < n; i++)
        if (p[i].fd >= 0 && p[i].revents && !jf_watch_read(&w->peer[i], round))
          jf_world_end("rank %d (%s) has ended", i, jf_world_host(i));
    const double now = jf_now();
    if (now < next) continue;
    round++;
    for (int i = 0; i < n; i++)
      if (w->peer[i].life >= 0 && JF_ROUND * (double)(round - w->peer[i].heard) > w->patience)
        jf_world_end("rank %d (%s) does not answer", i, jf_world_host(i));
    jf_stall_look(w, round, &own);
    watch_beat(w, &own.card);
    w->peer[rank].card = own.card;
    if (!rank) jf_stall_judge(w, n);
    next = now + JF_ROUND;
  }
  jf_free(p);
  jf_thread_ends("watch");
  return NULL;
}

jfl_status jf_watch_start(jf_world *w)
{
  pthread_t thread;
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int e = pthread_create(&thread, NULL, watch_run, w);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  if (e) return jf_fail(JFL_ENOMEM, "cannot start the thread that watches the ranks: %s",
                        strerror(e));
  pthread_detach(thread);
  return JFL_OK;
}
