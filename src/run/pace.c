/* Choosing between all threads and one. On a busy machine a second thread may cost its caller more
   than it gives: the system then moves other programs to the caller's core, or two cores starve
   each other of memory. That cannot be seen in a loop, only in how long runs take. So runs are
   timed in blocks; now and then a block goes on one thread, and the faster way is kept. Results are
   the same either way. */
#include "run/run.h"

/* BLOCK: seconds of runs that are timed together. SOON, LATER: blocks after which the other way is
   tried, the latter where it was much worse. DEAR: seconds that a run on one thread may take for a
   trial of it. */
static const double BLOCK = 0.02, DEAR = 0.2;
enum { SOON = 16, LATER = 48 };

/* Whether all threads give less than they should: less than on one thread's showing, or than at
   their best. */
static int pace_is_slow(const jf_pace *a, double all)
{
  return all > 0.7 * a->mean[1] || all > 1.25 * a->best;
}

/* What the block says about the way that it went. */
static void pace_learn(jf_pace *a, int way, double mean)
{
  a->mean[way] = a->mean[way] > 0 ? 0.5 * (a->mean[way] + mean) : mean;
  if (way) return;
  a->best = a->best > 0 && a->best < mean ? 1.001 * a->best : mean;
}

/* After the block of a trial. */
static void pace_judge(jf_pace *a, double mean)
{
  const double kept = a->mean[a->alone];
  a->trial = 0;
  a->blocks = mean > 1.3 * kept ? LATER : SOON;
  if (mean < 0.93 * kept) a->alone = !a->alone;
}

static void pace_block(jf_pace *a)
{
  const double mean = a->seconds / a->runs;
  const int way = a->alone != a->trial;
  a->seconds = a->runs = 0;
  /* The first block has what happens only once, and the second run on one thread is a trial. */
  if (!a->warm) {
    a->warm = 1;
    a->blocks = 2;
    return;
  }
  pace_learn(a, way, mean);
  /* One thread did better when it was last seen: it is tried again soon. */
  if (!a->alone && a->mean[0] > 1.15 * a->mean[1] && a->blocks > 4) a->blocks = 4;
  if (a->trial) pace_judge(a, mean);
  else if (a->blocks > 0) a->blocks--;
  else a->trial = a->alone || (mean * a->threads < DEAR && pace_is_slow(a, a->mean[0]));
}

int jf_pace_alone(const jf_pace *a) { return a->alone != a->trial; }

void jf_pace_ran(jf_pace *a, int threads, double seconds)
{
  a->threads = threads;
  a->seconds += seconds;
  a->runs++;
  if (a->seconds >= BLOCK) pace_block(a);
}
