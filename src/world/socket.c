/* Sockets that never block: each wait is a poll, which more than one thing can end. */
#include "world/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union any_address {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
  struct sockaddr_storage room;
} any_address;

static jfl_status socket_fail(const char *what)
{
  return jf_fail(JFL_EIO, "%s: %s", what, strerror(errno));
}

/* ---- waiting ---- */

enum { ASK_EVERY = 100 };      /* ms */

static int socket_patience(const jf_wait *w)
{
  double left = w->until > 0 ? 1e3 * (w->until - jf_now()) : 1e9;
  const double most = w->stop ? ASK_EVERY : 1e6;
  if (left < 0) left = 0;
  return (int)(left < most ? left + 0.999 : most);
}

/* Waits until one of `events` happens on fd. */
static jfl_status socket_await(int fd, short events, const jf_wait *w)
{
  struct pollfd p[] = { { .fd = fd, .events = events }, { .fd = w->wake, .events = POLLIN } };
  for (;;) {
    if (w->stop && w->stop(w->ctx)) return jf_fail(JFL_ESTATE, "the wait was stopped");
    const int n = poll(p, 2, socket_patience(w));
    if (n < 0 && errno != EINTR) return socket_fail("poll");
    if (n > 0 && p[0].revents) return JFL_OK;
    if (n > 0) return jf_fail(JFL_ESTATE, "the wait was ended");
    if (!n && w->until > 0 && jf_now() >= w->until) return jf_fail(JFL_ESTATE, "no answer in time");
  }
}

static int socket_later(void) { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

jfl_status jf_socket_send(int fd, const void *data, size_t size, const jf_wait *w)
{
  for (size_t at = 0; at < size;) {
    const ssize_t n = send(fd, (const char *)data + at, size - at, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && !socket_later()) return socket_fail("the connection is broken");
    if (n < 0) JF_TRY(socket_await(fd, POLLOUT, w));
    else at += (size_t)n;
  }
  return JFL_OK;
}

jfl_status jf_socket_receive(int fd, void *data, size_t size, const jf_wait *w)
{
  for (size_t at = 0; at < size;) {
    const ssize_t n = recv(fd, (char *)data + at, size - at, MSG_DONTWAIT);
    if (n == 0) return jf_fail(JFL_EIO, "the connection was closed");
    if (n < 0 && !socket_later()) return socket_fail("the connection is broken");
    if (n < 0) JF_TRY(socket_await(fd, POLLIN, w));
    else at += (size_t)n;
  }
  return JFL_OK;
}

/* ---- connections ---- */

/* What is small is sent at once. */
static void socket_hurry(int fd)
{
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static jfl_status socket_find(const char *address, const char *port, struct addrinfo **out)
{
  const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
  const int e = getaddrinfo(address, port, &want, out);
  return e ? jf_fail(JFL_EIO, "%s: %s", address, gai_strerror(e)) : JFL_OK;
}

/* JFL_ESTATE: the port is taken. Then no other address will do, of IPv4 in place of IPv6: those
   that call the first would reach another. */
static jfl_status socket_listen_at(const struct sockaddr *at, socklen_t size, int *port, int *fd)
{
  const int one = 1, none = 0;
  any_address a;
  socklen_t room = sizeof a;
  const int s = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s < 0) return socket_fail("socket");
  setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (at->sa_family == AF_INET6) setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &none, sizeof none);
  if (bind(s, at, size) || listen(s, SOMAXCONN) || getsockname(s, &a.any, &room)) {
    const int e = errno, taken = e == EADDRINUSE;
    close(s);
    return jf_fail(taken ? JFL_ESTATE : JFL_EIO, "cannot listen at port %d: %s%s", *port,
                   strerror(e), taken ? "; other ranks may be meeting there" : "");
  }
  *port = ntohs(a.any.sa_family == AF_INET6 ? a.six.sin6_port : a.four.sin_port);
  *fd = s;
  return JFL_OK;
}

static jfl_status socket_listen_everywhere(int *port, int *fd)
{
  const any_address six = { .six = { .sin6_family = AF_INET6,
                                     .sin6_port = htons((uint16_t)*port) } };
  const any_address four = { .four = { .sin_family = AF_INET,
                                       .sin_port = htons((uint16_t)*port) } };
  const jfl_status s = socket_listen_at(&six.any, sizeof six.six, port, fd);
  return s && s != JFL_ESTATE ? socket_listen_at(&four.any, sizeof four.four, port, fd) : s;
}

jfl_status jf_socket_listen(const char *address, int *port, int *fd)
{
  char service[16];
  struct addrinfo *all;
  if (!address) return socket_listen_everywhere(port, fd);
  snprintf(service, sizeof service, "%d", *port);
  JF_TRY(socket_find(address, service, &all));
  jfl_status st = JFL_EIO;
  for (const struct addrinfo *a = all; a && st && st != JFL_ESTATE; a = a->ai_next)
    st = socket_listen_at(a->ai_addr, a->ai_addrlen, port, fd);
  freeaddrinfo(all);
  return st;
}

jfl_status jf_socket_accept(int listener, int *fd)
{
  *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (*fd >= 0) socket_hurry(*fd);
  else if (errno == EMFILE || errno == ENFILE) return socket_fail("accept");
  return JFL_OK;
}

void jf_socket_drop(int *fd)
{
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

int jf_socket_is_over(int fd)
{
  struct pollfd p = { .fd = fd, .events = POLLRDHUP };
  return poll(&p, 1, 0) > 0;
}

static jfl_status socket_try(const struct addrinfo *a, const jf_wait *w, int *fd)
{
  int error = 0;
  socklen_t size = sizeof error;
  const int s = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (s < 0) return socket_fail("socket");
  jfl_status st = JFL_OK;
  if (connect(s, a->ai_addr, a->ai_addrlen)) {
    if (errno != EINPROGRESS && errno != EINTR) st = socket_fail("connect");
    if (!st) st = socket_await(s, POLLOUT, w);
    if (!st) getsockopt(s, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error) st = jf_fail(JFL_EIO, "%s", strerror(error));
  }
  if (st) return close(s), st;
  socket_hurry(s);
  *fd = s;
  return JFL_OK;
}

jfl_status jf_socket_connect(const char *address, int port, const jf_wait *w, int *fd)
{
  char service[16];
  struct addrinfo *all;
  snprintf(service, sizeof service, "%d", port);
  JF_TRY(socket_find(address, service, &all));
  jfl_status st = JFL_EIO;
  for (const struct addrinfo *a = all; a && st; a = a->ai_next) st = socket_try(a, w, fd);
  freeaddrinfo(all);
  return st;
}

/* ---- addresses ---- */

/* Interfaces that are up and have an address that others could use. */
static int socket_serves(const struct ifaddrs *i)
{
  if (!i->ifa_addr || !(i->ifa_flags & IFF_UP)) return 0;
  if (i->ifa_addr->sa_family == AF_INET) return 1;
  const any_address *a = (const any_address *)(const void *)i->ifa_addr;
  return i->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&a->six.sin6_addr);
}

static int socket_print(const struct sockaddr *a, char out[JF_ADDRESS])
{
  const socklen_t size = a->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                 : sizeof(struct sockaddr_in6);
  return !getnameinfo(a, size, out, JF_ADDRESS, NULL, 0, NI_NUMERICHOST);
}

int jf_socket_addresses(char address[JF_ADDRESSES][JF_ADDRESS])
{
  struct ifaddrs *all;
  int n = 0;
  if (getifaddrs(&all)) return 0;
  for (int loopback = 0; loopback < 2; loopback++)
    for (const struct ifaddrs *i = all; i && n < JF_ADDRESSES; i = i->ifa_next)
      if (socket_serves(i) && !(i->ifa_flags & IFF_LOOPBACK) == !loopback &&
          socket_print(i->ifa_addr, address[n]))
        n++;
  freeifaddrs(all);
  return n;
}

static int socket_has(const struct ifaddrs *all, const struct sockaddr *a)
{
  char want[JF_ADDRESS], have[JF_ADDRESS];
  const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)a;
  if (a->sa_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET) return 1;
  if (!socket_print(a, want)) return 0;
  for (const struct ifaddrs *i = all; i; i = i->ifa_next)
    if (socket_serves(i) && i->ifa_addr->sa_family == a->sa_family &&
        socket_print(i->ifa_addr, have) && !strcmp(want, have))
      return 1;
  return 0;
}

int jf_socket_is_loopback(const char *address)
{
  any_address a;
  if (!strcmp(address, "localhost")) return 1;
  if (inet_pton(AF_INET, address, &a.four.sin_addr) == 1)
    return ntohl(a.four.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
  return inet_pton(AF_INET6, address, &a.six.sin6_addr) == 1 &&
         IN6_IS_ADDR_LOOPBACK(&a.six.sin6_addr);
}

int jf_socket_is_mine(const char *address)
{
  struct addrinfo *found;
  struct ifaddrs *all;
  int mine = 0;
  if (socket_find(address, NULL, &found)) return 0;
  if (!getifaddrs(&all)) {
    for (const struct addrinfo *a = found; a && !mine; a = a->ai_next)
      mine = socket_has(all, a->ai_addr);
    freeifaddrs(all);
  }
  freeaddrinfo(found);
  return mine;
}
