/* The processes that run one script together: how they find each other, agree, and learn that one
   of them has ended.

   Each process is a rank, 0 .. size - 1. Rank 0 has two connections with each other rank. One
   carries what jf_world_agree says. A thread of its own watches the other one: both sides send a
   beat twice a second there, and rank 0 passes on what it learns. So no rank needs connections with
   all others, a thousand ranks are two thousand sockets of one process, and a rank that ended,
   stopped or was cut off is known to all within seconds, whatever they wait for. The world is then
   over: nothing more is done together, but each process lives on.

   There is one world in a process, as there is one environment that says which process it is. */
#ifndef JF_WORLD_H
#define JF_WORLD_H

#include "base/base.h"

enum { JF_WORLD_MESSAGE = 512, JF_WORLD_NAME = 64 };

/* How many ranks there are, and which one this is; 1 and 0 before jf_world_join. */
int jf_world_size(void);
int jf_world_rank(void);
/* Joins the world that the environment or jfl_world_set says; later calls give what the first one
   gave. Where that is none, nothing is opened or started. */
jfl_status jf_world_join(void);
/* The name of a rank's host, "node3". */
const char *jf_world_host(int rank);
/* The next of some numbers that all ranks have, as rank 0 drew the first one. */
uint64_t jf_world_seed(void);
/* How many ranks share the cores of this host that this one may use, itself counted. */
int jf_world_neighbours(void);

/* Gives `size` bytes, at most JF_WORLD_MESSAGE, to all ranks and gets what each gave, in order of
   the ranks. It waits for all of them. Fails on all ranks alike if they do not give the same number
   of bytes; then the world goes on. */
jfl_status jf_world_agree(const void *mine, size_t size, void *all);
/* As jf_world_agree, but the wait ends once stop(ctx) gives other than 0, and the world with it. */
jfl_status jf_world_agree_unless(const void *mine, size_t size, void *all, int (*stop)(void *ctx),
                                 void *ctx);

/* What ended the world, "rank 2 (node3) has ended", or NULL while all is well. Any thread may ask,
   at any time. */
const char *jf_world_trouble(void);
/* Fails with that text. */
jfl_status jf_world_fail(void);
/* A descriptor that is readable once there is trouble, for polls; -1 where there is one rank. */
int jf_world_trouble_fd(void);
/* Seconds that a rank may be silent: JFL_PATIENCE. */
double jf_world_patience(void);
/* Says what this rank is about to do with the others, "save checkpoint 'x'", for what these are
   told where it does not come to it; and when it is in a run with them. */
void jf_world_does(const char *what);
void jf_world_run_begins(void);
void jf_world_run_ends(void);
/* Ends the world, with a text for all ranks; the first text counts. */
void jf_world_end(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* After trouble: from here on this process is alone, rank 0 of 1. Sessions that were made before do
   nothing more, so this is for when one has ended. */
void jf_world_be_alone(void);
/* Says that the connection with a rank broke: ends the world if nobody who has patience knows
   better. Fails with the text that counts. */
jfl_status jf_world_lost(int rank);
/* Says that what carries data between ranks failed, which in most cases is the sign of a rank that
   ended: ends the world with that unless the watch tells more. Fails with the text that counts. */
jfl_status jf_world_broke(const char *doing, const char *text);

#endif
