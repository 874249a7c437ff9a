/* Sockets between ranks: addresses, connections, and whole messages within a time. */
#ifndef JF_SOCKET_H
#define JF_SOCKET_H

#include "base/base.h"

/* What ends a wait besides what it waits for. */
typedef struct jf_wait {
  double until;                /* as jf_now counts; 0: no end */
  int wake;                    /* a descriptor that ends it once it is readable, or -1 */
  int (*stop)(void *ctx);      /* ends it where it gives other than 0; asked a few times a second,
                                  and at signals; or NULL */
  void *ctx;
} jf_wait;

/* The numeric addresses of this host, loopback last. Gives how many. */
enum { JF_ADDRESS = 48, JF_ADDRESSES = 8 };
int jf_socket_addresses(char address[JF_ADDRESSES][JF_ADDRESS]);
/* Whether a name or numeric address is this host's. */
int jf_socket_is_mine(const char *address);

/* Whether this is a name of the loopback interface, which no other host reaches. */
int jf_socket_is_loopback(const char *address);

/* Listens at an address of this host, NULL: at all of them, and at a port, 0: any; *port becomes
   the one it is. */
jfl_status jf_socket_listen(const char *address, int *port, int *fd);
/* Accepts a connection that is waiting; *fd is -1 if there is none any more. Fails where this
   process has too many files. */
jfl_status jf_socket_accept(int listener, int *fd);
/* Closes one, if *fd is not -1, which it becomes. */
void jf_socket_drop(int *fd);
/* Whether the other side has closed a connection, or it broke. */
int jf_socket_is_over(int fd);
/* Connects to a host by name or numeric address. */
jfl_status jf_socket_connect(const char *address, int port, const jf_wait *w, int *fd);
/* Sends or receives all of `size` bytes. JFL_EIO: the connection is over or broken; JFL_ESTATE: the
   wait was ended. */
jfl_status jf_socket_send(int fd, const void *data, size_t size, const jf_wait *w);
jfl_status jf_socket_receive(int fd, void *data, size_t size, const jf_wait *w);

#endif
