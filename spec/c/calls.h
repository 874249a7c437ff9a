/* Calls at the door of a world, said word by word by a test. */
#ifndef CALLS_H
#define CALLS_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world/door.h"

/* The key of a world whose ranks have this secret. */
static inline void calls_key(const char *secret, jf_key out)
{
  jf_key_from(secret, strlen(secret), "jfl world", 9, out);
}

/* A call as a rank makes it, but for its proof. */
static inline jf_call calls_new(int channel, int from, int size)
{
  jf_call call = { .version = JF_DOOR_VERSION, .channel = channel, .from = from, .size = size };
  memcpy(call.magic, "jflworld", sizeof call.magic);
  snprintf(call.program, sizeof call.program, "%s", jfl_version());
  if (jf_key_draw(call.number)) abort();
  return call;
}

static inline void calls_sign(const jf_key key, const jf_challenge *c, jf_call *call)
{
  jf_hmac m;
  jf_hmac_begin(&m, key, sizeof(jf_key));
  jf_hmac_add(&m, "jfl call", 8);
  jf_hmac_add(&m, c, sizeof *c);
  jf_hmac_add(&m, call, offsetof(jf_call, proof));
  jf_hmac_end(&m, call->proof);
}

/* The label of what rank 0 signs is "jfl answer". */
static inline void calls_sign_answer(const jf_key key, const jf_challenge *c, const jf_call *call,
                                     const char *label, jf_answer *a)
{
  jf_hmac m;
  jf_hmac_begin(&m, key, sizeof(jf_key));
  jf_hmac_add(&m, label, strlen(label));
  jf_hmac_add(&m, c, sizeof *c);
  jf_hmac_add(&m, call, sizeof *call);
  jf_hmac_add(&m, a, offsetof(jf_answer, proof));
  jf_hmac_end(&m, a->proof);
}

static inline int calls_connect(int port)
{
  struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port),
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof a)) return fd < 0 ? -1 : (close(fd), -1);
  return fd;
}

/* Receives n bytes; gives how many came. */
static inline size_t calls_receive(int fd, void *to, size_t n)
{
  size_t at = 0;
  for (ssize_t some; at < n && (some = recv(fd, (char *)to + at, n - at, 0)) > 0;)
    at += (size_t)some;
  return at;
}

static inline int calls_send(int fd, const void *data, size_t n)
{
  return send(fd, data, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* The port of the listener that this process has, or 0; *is_wide: other hosts can reach it. */
static inline int calls_listener(int *is_wide)
{
  struct sockaddr_storage a;
  int port = 0, is;
  *is_wide = 0;
  for (int fd = 3; fd < 1024; fd++) {
    socklen_t n = sizeof is;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &n) || !is) continue;
    n = sizeof a;
    getsockname(fd, (struct sockaddr *)&a, &n);
    const struct sockaddr_in *four = (const void *)&a;
    const struct sockaddr_in6 *six = (const void *)&a;
    port = ntohs(four->sin_port);
    *is_wide |= a.ss_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 != IN_LOOPBACKNET
                                       : !IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
  }
  return port;
}

#endif
