/* The door of a world: who proves that it knows the secret comes in; what anybody else says, in
   whatever form, changes nothing. */
#include <pthread.h>

#include "calls.h"
#include "test.h"

static jf_key key, other_key;
static jf_door *door;
static int port;

static void open_door(void)
{
  int listener;
  port = 0;
  if (jf_socket_listen("127.0.0.1", &port, &listener)) abort();
  if (!(door = jf_door_new(listener, key))) abort();
}

static void close_door(void) { jf_door_free(door); }

/* Lets the door do what can be done without waiting. Gives whether somebody came in. */
static int hear(jf_caller *c)
{
  const jf_wait at_once = { .until = jf_now() + 0.001, .wake = -1 };
  return !jf_door_hear(door, &at_once, c);
}

/* Lets the door go on until it has challenged a new caller; gives the connection. */
static int call_door(jf_challenge *c)
{
  jf_caller none;
  const int fd = calls_connect(port), before = door->n;
  while (door->n == before) if (hear(&none)) abort();
  if (fd < 0 || calls_receive(fd, c, sizeof *c) != sizeof *c) abort();
  return fd;
}

/* Whether the door lets in who says this, and nothing more. */
static int lets_in(int fd, const void *said, size_t n, jf_caller *c)
{
  const int before = door->n;
  if (!calls_send(fd, said, n)) abort();
  shutdown(fd, SHUT_WR);
  while (door->n == before) if (hear(c)) return 1;
  return 0;
}

/* ---- who is called ---- */

static void who_knows_the_secret_comes_in(void)
{
  jf_challenge c;
  jf_caller in;
  jf_answer a;
  open_door();
  const int fd = call_door(&c);
  jf_call call = calls_new(JF_LIFE, 3, 5);
  calls_sign(key, &c, &call);
  CHECK(lets_in(fd, &call, sizeof call, &in));
  CHECK(in.call.channel == JF_LIFE && in.call.from == 3 && in.call.size == 5 && !door->strangers);
  CHECK(jf_door_answer(door, &in, (jf_answer){ .is_near = 1 }, NULL));
  CHECK(calls_receive(fd, &a, sizeof a) == sizeof a && a.is_welcome && a.is_near);
  close(in.fd);
  close(fd);
  close_door();
}

/* Each bit of a call that is right, changed. */
static void no_changed_call_comes_in(void)
{
  open_door();
  for (size_t bit = 0; bit < 8 * sizeof(jf_call); bit++) {
    jf_challenge c;
    jf_caller in;
    jf_answer a;
    const int fd = call_door(&c);
    jf_call call = calls_new(JF_WORD, 1, 2);
    calls_sign(key, &c, &call);
    ((unsigned char *)&call)[bit / 8] ^= (unsigned char)(1u << bit % 8);
    CHECK_MSG(!lets_in(fd, &call, sizeof call, &in), "bit %zu", bit);
    CHECK(calls_receive(fd, &a, sizeof a) == sizeof a && !a.is_welcome);
    for (size_t i = 0; i < sizeof a.proof; i++) CHECK(!a.proof[i]);
    close(fd);
  }
  CHECK(door->strangers == 8 * sizeof(jf_call) && door->n == 0);
  close_door();
}

/* A call that ends at any byte. */
static void no_part_of_a_call_comes_in(void)
{
  open_door();
  for (size_t n = 0; n < sizeof(jf_call); n++) {
    jf_challenge c;
    jf_caller in;
    const int fd = call_door(&c);
    jf_call call = calls_new(JF_WORD, 1, 2);
    calls_sign(key, &c, &call);
    CHECK_MSG(!lets_in(fd, &call, n, &in), "%zu bytes", n);
    close(fd);
  }
  CHECK(door->strangers == sizeof(jf_call) && door->n == 0);
  close_door();
}

static void a_call_may_come_byte_by_byte(void)
{
  jf_challenge c;
  jf_caller in;
  open_door();
  const int fd = call_door(&c);
  jf_call call = calls_new(JF_WORD, 1, 2);
  calls_sign(key, &c, &call);
  for (size_t i = 0; i + 1 < sizeof call; i++) {
    CHECK(calls_send(fd, (char *)&call + i, 1));
    CHECK(!hear(&in) && door->n == 1);
  }
  CHECK(lets_in(fd, (char *)&call + sizeof call - 1, 1, &in));
  close(in.fd);
  close(fd);
  close_door();
}

/* A call that came in once, said again on another connection; and one with another key. */
static void a_call_counts_once_and_with_its_own_key(void)
{
  jf_challenge c;
  jf_caller in;
  open_door();
  int fd = call_door(&c);
  jf_call call = calls_new(JF_WORD, 1, 2);
  calls_sign(key, &c, &call);
  CHECK(lets_in(fd, &call, sizeof call, &in));
  close(in.fd);
  close(fd);
  fd = call_door(&c);
  CHECK(!lets_in(fd, &call, sizeof call, &in));
  close(fd);
  fd = call_door(&c);
  calls_sign(other_key, &c, &call);
  CHECK(!lets_in(fd, &call, sizeof call, &in));
  close(fd);
  close_door();
}

/* Many more than there is room for, of which none says anything, and one that does. */
static void the_oldest_go_where_there_are_too_many(void)
{
  enum { MANY = JF_CALLERS + 50 };
  static int fd[MANY];
  jf_challenge c;
  jf_caller in;
  open_door();
  for (int i = 0; i < MANY; i++) fd[i] = calls_connect(port);
  const int last = calls_connect(port);
  while (door->strangers < MANY + 1 - JF_CALLERS) CHECK(!hear(&in) && door->n <= JF_CALLERS);
  CHECK(calls_receive(last, &c, sizeof c) == sizeof c);
  jf_call call = calls_new(JF_WORD, 1, 2);
  calls_sign(key, &c, &call);
  CHECK(lets_in(last, &call, sizeof call, &in));
  for (int i = 0; i < MANY; i++) close(fd[i]);
  close(in.fd);
  close(last);
  close_door();
}

/* ---- who calls ---- */

typedef struct caller { int fd; jfl_status status; jf_answer answer; pthread_t thread; } caller;

static void *call_by_thread(void *arg)
{
  caller *c = arg;
  const jf_wait w = { .until = jf_now() + 300, .wake = -1 };
  c->status = jf_door_call(c->fd, key, (jf_call){ .from = 2, .size = 3 }, &w, &c->answer);
  close(c->fd);
  return NULL;
}

/* A caller gets an answer with one bit changed, -1: none, or the first n bytes of it. */
static jfl_status call_and_hear(int bit, size_t n, const char *label)
{
  int fd[2];
  caller by;
  jf_challenge c = { .version = JF_DOOR_VERSION };
  jf_call call;
  jf_answer a = { .is_welcome = 1 };
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) abort();
  by.fd = fd[0];
  if (pthread_create(&by.thread, NULL, call_by_thread, &by)) abort();
  memcpy(c.magic, "jflworld", 8);
  memcpy(a.magic, "jflworld", 8);
  if (!calls_send(fd[1], &c, sizeof c)) abort();
  if (calls_receive(fd[1], &call, sizeof call) != sizeof call) abort();
  calls_sign_answer(key, &c, &call, label, &a);
  if (bit >= 0) ((unsigned char *)&a)[bit / 8] ^= (unsigned char)(1u << bit % 8);
  if (!calls_send(fd[1], &a, n)) abort();
  close(fd[1]);
  pthread_join(by.thread, NULL);
  return by.status;
}

static void no_changed_answer_is_believed(void)
{
  CHECK(!call_and_hear(-1, sizeof(jf_answer), "jfl answer"));
  for (int bit = 0; bit < 8 * (int)sizeof(jf_answer); bit++)
    CHECK_MSG(call_and_hear(bit, sizeof(jf_answer), "jfl answer") == JFL_EIO, "bit %d", bit);
  for (size_t n = 0; n < sizeof(jf_answer); n++)
    CHECK_MSG(call_and_hear(-1, n, "jfl answer") == JFL_EIO, "%zu bytes", n);
  CHECK(call_and_hear(-1, sizeof(jf_answer), "jfl call") == JFL_EIO);
}

/* One that does not know the secret hands a caller its own call back, to its own door. */
static void a_call_turned_round_is_no_answer(void)
{
  int fd[2];
  caller by;
  jf_challenge c;
  jf_call call;
  jf_caller in;
  jf_answer a;
  open_door();
  const int own = call_door(&c);
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) abort();
  by.fd = fd[0];
  if (pthread_create(&by.thread, NULL, call_by_thread, &by)) abort();
  CHECK(calls_send(fd[1], &c, sizeof c) && calls_receive(fd[1], &call, sizeof call) == sizeof call);
  CHECK(lets_in(own, &call, sizeof call, &in));        /* a call to rank 0 of one from rank 2 */
  CHECK(in.call.to == 0 && in.call.from == 2);         /* which says that it is rank 2's */
  memset(&a, 0, sizeof a);
  memcpy(&a, &call, sizeof call);
  memcpy(a.proof, call.proof, sizeof a.proof);
  CHECK(calls_send(fd[1], &a, sizeof a));
  pthread_join(by.thread, NULL);
  CHECK(by.status == JFL_EIO);
  close(in.fd);
  close(own);
  close(fd[1]);
  close_door();
}

int main(void)
{
  calls_key("secret", key);
  calls_key("other", other_key);
  RUN(who_knows_the_secret_comes_in);
  RUN(no_changed_call_comes_in);
  RUN(no_part_of_a_call_comes_in);
  RUN(a_call_may_come_byte_by_byte);
  RUN(a_call_counts_once_and_with_its_own_key);
  RUN(the_oldest_go_where_there_are_too_many);
  RUN(no_changed_answer_is_believed);
  RUN(a_call_turned_round_is_no_answer);
  return test_done();
}
