/* Races in shared memory: two threads of a block touch the same bytes, one of them writes, and
   nothing has put them in order: no barrier of the block, no exchange of their warp in which the
   second took part behind the first's access. Each byte has a shadow: who wrote it last, and who
   read it since. Atomics are in order with one another. */
#include "emulated.h"

enum { NOBODY = -1, SEVERAL = -2, LANES = 32 };

/* `thread` is one thread, SEVERAL of the warp of `lane`, or SEVERAL of several warps where lane is
   NOBODY. */
typedef struct access { unsigned epoch, meeting; int thread, lane, is_atomic; } access;
typedef struct shadow { access write, read; } shadow;

static shadow shadows[2][MOST_SHARED];

/* Whether what was done there is in order with what `who` does now. */
static int race_is_ordered(const access *a, emulated_place who)
{
  if (a->epoch != who.epoch || a->thread == who.thread) return 1;
  return a->lane >= 0 && a->lane / LANES == who.thread / LANES && who.meeting > a->meeting;
}

/* Adds a reader to those of this epoch. */
static void race_add_reader(access *a, emulated_place who, int is_atomic)
{
  const access now = { who.epoch, who.meeting, who.thread, who.thread, is_atomic };
  if (race_is_ordered(a, who)) {
    *a = now;
    return;
  }
  a->thread = SEVERAL;
  if (a->lane < 0 || a->lane / LANES != who.thread / LANES) a->lane = NOBODY;
  if (who.meeting > a->meeting) a->meeting = who.meeting;
}

static void race_byte(shadow *s, emulated_place who, int how, size_t at)
{
  const access now = { who.epoch, who.meeting, who.thread, who.thread, how == TOUCH_ATOMIC };
  const access *other = NULL;
  if (!race_is_ordered(&s->write, who) && !(now.is_atomic && s->write.is_atomic)) other = &s->write;
  if (how != TOUCH_READ && !race_is_ordered(&s->read, who)) other = &s->read;
  if (other)
    emulated_blame(CU_LAUNCH_FAILED,
                   "thread %d %s byte %zu of shared memory, which thread %d %s, with no barrier "
                   "between", who.thread, how == TOUCH_READ ? "reads" : "writes", at,
                   other->thread < 0 ? other->lane : other->thread,
                   other == &s->read ? "read" : "wrote");
  if (how == TOUCH_READ) race_add_reader(&s->read, who, 0);
  else s->write = now;
}

void emulated_race_touch(const emulated_piece *piece, emulated_place who, const char *at, int size,
                         int how)
{
  for (int p = 0; p < 2; p++) {
    if (at < piece[p].at || at >= piece[p].at + piece[p].size) continue;
    const size_t first = (size_t)(at - piece[p].at);
    for (size_t i = first; i < first + (size_t)size && i < MOST_SHARED; i++)
      race_byte(&shadows[p][i], who, how, i);
  }
}
