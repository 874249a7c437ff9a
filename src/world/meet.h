/* Inside the room: how the ranks find each other, and the watch over them. */
#ifndef JF_MEET_H
#define JF_MEET_H

#include <pthread.h>
#include <stdatomic.h>

#include "world/door.h"
#include "world/mpi.h"
#include "world/world.h"

/* Where a process finds rank 0, and who it is. */
enum { JF_HOST = 256 };
typedef struct jf_meeting {
  int rank, size;
  char address[JF_ADDRESSES][JF_HOST]; int n_address;  /* of rank 0, to be tried in turn */
  int port;
  int listener;                /* rank 0's, if it was opened before, or -1 */
  int is_near;                 /* that address is on the loopback interface */
  jf_key key;                  /* what callers must prove to know: made of the secret */
  const jf_mpi *mpi;           /* the MPI that started this process, or NULL */
  double until;                /* as jf_now counts: when joining has failed */
} jf_meeting;

/* Reads the environment, or what jfl_world_set was told (where.c); size 1: this process is
   alone. */
jfl_status jf_meeting_find(jf_meeting *m);
/* The first host of Slurm's list: "node[03-05,9],x" -> "node03". Gives whether it is the only
   one. */
int jf_slurm_first(const char *list, char out[JF_HOST]);

/* What a rank is at, as far as others may wait for it (stall.c). */
#define JF_ROUND 0.5                   /* seconds that a round of the watch takes, or more */
typedef enum jf_pursuit { JF_ELSEWHERE, JF_RUNS, JF_WAITS } jf_pursuit;
typedef struct jf_card {
  int32_t at, rounds;          /* a jf_pursuit; rounds of its watch in which it made no headway */
  int32_t awaited;             /* the rank that it waits for */
  char what[120];              /* it is to do or did last with others: "make run 3 of job 'x'" */
} jf_card;

/* The two connections of a pair of ranks. */
typedef struct jf_peer {
  int word, life;              /* -1: none */
  int64_t heard;               /* the round of the watch in which it last said something there */
  unsigned char said[512]; int n_said;         /* read from `life`, not yet understood */
  jf_card card;                /* as it last said; rank 0 has those of all */
} jf_peer;

/* Connects this rank with rank 0, or rank 0 with all: peer[rank] (meet.c). m->key becomes one of
   this meeting alone. */
jfl_status jf_meeting_hold(jf_meeting *m, jf_peer *peer);

typedef char jf_host_name[JF_WORLD_NAME];

/* The world of this process. All but what is atomic is set by jf_world_join, for good. */
typedef struct jf_world {
  pthread_mutex_t joining;     /* guards the rest of this line */
  int is_joined; jfl_status failed; jf_error *error;
  atomic_int rank, size, neighbours;   /* changed by who is left alone, while the watch goes on */
  uint64_t seed;
  unsigned forks;              /* fork generation that it belongs to */
  _Atomic(jf_host_name *) host;        /* by rank; NULL: not known yet */
  jf_peer *peer;               /* by rank; `word` belongs to who holds `agreeing`, the rest of an
                                  entry to the watch, but for sending on `life` */
  pthread_mutex_t agreeing;
  const jf_mpi *mpi;           /* what started this process, or NULL */
  jf_key key;                  /* what only its ranks know */
  char near[JF_ADDRESS];       /* where all of it listens, or "": everywhere */
  uint64_t number;             /* of agreements; guarded by agreeing */
  char *room;                  /* for what all ranks say; guarded by agreeing */
  pthread_mutex_t telling;     /* guards sending on `life`, and the first text of trouble */
  char text[256];
  _Atomic(const char *) trouble;       /* the text, once it is complete */
  int trouble_fd;
  _Atomic double patience;     /* seconds without a beat after which a rank counts as lost; so long
                                  others have to say why, or who they are */
  double stall;                /* seconds without headway of any rank that end the world */
  int stalls_elsewhere;        /* also where one is in its script */
  pthread_mutex_t saying;      /* guards the next line */
  char what[sizeof ((jf_card *)0)->what];
  atomic_int runs, waits;      /* of this rank with others, at this moment */
  atomic_int awaited;          /* the rank for which it waits */
  _Atomic uint64_t moved;      /* changes when something came or went between ranks */
} jf_world;
extern jf_world jf_the_world;

enum { JF_STALL = 600 };       /* seconds, where JFL_STALL_SECONDS says nothing */
/* What a rank's watch knows of the rank itself. */
typedef struct jf_stall {
  jf_card card;
  uint64_t moved; double cpu; int64_t since;   /* as of the last headway */
} jf_stall;
/* Sees what this rank is at, in that round of its watch. */
void jf_stall_look(jf_world *w, int64_t round, jf_stall *s);
/* Takes what a rank says of itself. */
void jf_stall_hear(jf_peer *p, const void *said, size_t n);
/* Rank 0: ends the world of n ranks if it stands still. */
void jf_stall_judge(const jf_world *w, int n);

/* Starts the thread that watches the connections (watch.c). */
jfl_status jf_watch_start(jf_world *w);
/* Reads what there is on `life` in that round of the watch; gives 0 at the end of the
   connection. */
int jf_watch_read(jf_peer *p, int64_t round);

#endif
