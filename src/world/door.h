/* How two processes prove to each other that they know the secret of their world, before anything
   that the other one says counts. Neither sends the secret: who was called sends a number that was
   never used before, the caller says with a number of its own who it is, and both sign what was
   said with the secret (HMAC-SHA-256). So nothing of it can be said again to another process, in
   another place or by the other side. Whoever cannot do that is nobody: it is dropped, and that is
   all that it can bring about.

   The signature shows who is there at the beginning. What is sent then is neither signed nor
   encrypted. */
#ifndef JF_DOOR_H
#define JF_DOOR_H

#include <poll.h>

#include "base/sha256.h"
#include "world/socket.h"

/* Whether a connection carries agreements, beats or data. */
typedef enum jf_channel { JF_WORD, JF_LIFE, JF_DATA } jf_channel;

/* These three messages are the same in all versions: so ranks of different ones hear that they
   are. All that is sent is of fixed size. */
enum { JF_DOOR_VERSION = 2, JF_WHY = 124 };
typedef struct jf_challenge {
  char magic[8];
  uint32_t version;
  unsigned char number[JF_SHA256];
} jf_challenge;
typedef struct jf_call {
  char magic[8];
  uint32_t version;
  int32_t channel, from, to, size;
  char program[20];            /* the version of jfl */
  unsigned char number[JF_SHA256], proof[JF_SHA256];
} jf_call;
typedef struct jf_answer {
  char magic[8];
  uint32_t is_welcome, is_near;
  unsigned char session[JF_SHA256];    /* of rank 0: which meeting this is */
  char why[JF_WHY];            /* it is not welcome */
  unsigned char proof[JF_SHA256];
} jf_answer;

typedef unsigned char jf_key[JF_SHA256];
/* Makes a key of one that is known and some bytes that need not be secret. */
void jf_key_from(const void *secret, size_t n_secret, const void *more, size_t n_more, jf_key out);
/* Draws a key, or a number that was never used before. */
jfl_status jf_key_draw(jf_key out);

/* ---- who is called ---- */

/* A caller. Once it has proved that it knows the secret, its call is true. */
typedef struct jf_caller {
  int fd;
  double since;                /* as jf_now counts */
  size_t n;                    /* bytes of its call that have come */
  jf_challenge challenge;
  jf_call call;
} jf_caller;

/* A listener and those that called and are not known yet, the oldest first. */
enum { JF_CALLERS = 256 };
typedef struct jf_door {
  int listener;
  jf_key key;
  int n, most;                 /* callers; how many there can be at once */
  int strangers;               /* how many could not prove anything */
  jf_caller caller[JF_CALLERS];
  struct pollfd wait[JF_CALLERS + 2];
} jf_door;
/* Takes the listener. NULL: out of memory. */
jf_door *jf_door_new(int listener, const jf_key key);
void jf_door_free(jf_door *d);
/* Closes all that it has open. */
void jf_door_shut(jf_door *d);
/* Waits for the next caller that has proved that it knows the secret, and takes it out of the door:
   jf_door_answer must follow. All are heard at once. One that has said nothing for long is dropped,
   and the oldest where there are too many. */
jfl_status jf_door_hear(jf_door *d, const jf_wait *w, jf_caller *out);
/* Answers it, and closes the connection where `why` tells why it is not welcome. Gives whether the
   answer is on its way and the connection open. */
int jf_door_answer(const jf_door *d, const jf_caller *c, jf_answer a, const char *why);

/* ---- who calls ---- */

/* Says on a new connection who this is, and hears what a rank that knows the secret answers, which
   is in *out then; JFL_EIO: the one that answers does not. */
jfl_status jf_door_call(int fd, const jf_key key, jf_call call, const jf_wait *w, jf_answer *out);

#endif
