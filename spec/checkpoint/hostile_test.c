/* A rank 0 that knows the secret and yet says of a checkpoint what cannot be: the others get an
   error that names it, and nothing beyond what it said is read. */
#include <string.h>

#include "checkpoint/checkpoint.h"
#include "ranks.h"
#include "run/run.h"
#include "test.h"
#include "world/world.h"

/* What rank 0 hands out, as src/checkpoint/shared.c lays it out. */
typedef struct head { int n_tensor, n_meta, about; char path[JF_MOST_PATH]; } head;

typedef struct block {
  head h;
  jf_entry entry;
  char texts[16];              /* name and dtype of the tensor, key and value */
} block;

static const char path[] = "a checkpoint";

static block right(void)
{
  block b = { .h = { .n_tensor = 1, .n_meta = 1 },
              .entry = { .dtype = JFL_F32, .shape = { 2, { 2, 3 } }, .size = 24 } };
  strcpy(b.h.path, path);
  memcpy(b.texts, "w\0float\0key\0val", sizeof b.texts);
  return b;
}

enum { CASES = 14, MOST = sizeof(block) };

/* As bytes, of which none lies between the three; gives how many. */
static size_t lay(const block *b, char out[MOST])
{
  memcpy(out, &b->h, sizeof b->h);
  memcpy(out + sizeof b->h, &b->entry, sizeof b->entry);
  memcpy(out + sizeof b->h + sizeof b->entry, b->texts, sizeof b->texts);
  return sizeof b->h + sizeof b->entry + sizeof b->texts;
}

/* Makes a block wrong in way i; gives how many of its n bytes are said. 0: it is right. */
static size_t spoil(int i, block *b, size_t n)
{
  switch (i) {
  case 0: break;
  case 1: return 0;
  case 2: return 3;
  case 3: return sizeof b->h - 1;
  case 4: memset(b->h.path, 'x', sizeof b->h.path); break;
  case 5: b->h.n_tensor = -1; break;
  case 6: b->h.n_tensor = 1 << 30; break;
  case 7: b->h.n_meta = 2; break;
  case 8: b->entry.dtype = (jfl_dtype)99; break;
  case 9: b->entry.shape.n = JFL_MAXDIM + 1; break;
  case 10: b->entry.shape.d[0] = -2; break;
  case 11: b->entry.size = 1 << 20; break;
  case 12: return n - 1;                   /* the last text has no end */
  case 13: b->h.n_meta = 0; break;         /* and so something is left */
  }
  return n;
}

/* Rank 0's part of jfl_checkpoint_open_shared, with bytes of its own. */
static jfl_status hand_out(jfl_session *s, void *bytes, size_t size)
{
  JF_TRY(jf_session_agree_to(s, "read checkpoint", path));
  JF_TRY(jf_session_agree_status(s, JFL_OK));
  JF_TRY(jf_session_agree_status(s, JFL_OK));
  JF_TRY(jf_hand_out_block(s, &bytes, &size));
  return jf_session_agree_status(s, JFL_OK);
}

static int reads(int rank, int size)
{
  jfl_session *s;
  (void)size;
  RANK_NEEDS(!jf_world_join() && !jfl_session_new(&s));
  for (int i = 0; i < CASES; i++) {
    block b = right();
    char bytes[MOST];
    jfl_checkpoint *c;
    const size_t n = spoil(i, &b, lay(&b, bytes));
    lay(&b, bytes);
    if (rank == 0) jf_session_acquire(s);
    const jfl_status st = rank ? jfl_checkpoint_open_shared(s, path, &c) : hand_out(s, bytes, n);
    if (rank == 0) jf_session_release(s);
    if (!i) RANK_NEEDS(!st);
    else RANK_NEEDS(st == JFL_EDATA && strstr(jfl_errmsg(), "makes no sense") &&
                    strstr(jfl_errmsg(), "rank 0 ("));
    if (rank && !st) jfl_checkpoint_close(c);
  }
  jfl_session_free(s);
  return 0;
}

static void what_makes_no_sense_is_refused(void) { CHECK(ranks_run(2, reads) == 0); }

/* ---- texts and errors ---- */

static int hears(int rank, int size)
{
  jfl_session *s;
  char *text, end[4] = "abcd";
  void *bytes = end;
  size_t n = sizeof end;
  (void)size;
  RANK_NEEDS(!jf_world_join() && !jfl_session_new(&s));
  if (rank == 0) {
    jf_session_acquire(s);
    RANK_NEEDS(!jf_session_agree(s, "say") && !jf_hand_out_block(s, &bytes, &n));
    jf_session_release(s);
  } else {
    RANK_NEEDS(jfl_session_hand_out(s, "say", "", &text) == JFL_EDATA);
    RANK_NEEDS(strstr(jfl_errmsg(), "hands out a text that has no end"));
  }
  /* Another status than there is, of an error that would change the terminal. */
  if (rank == 0) jf_fail(JFL_EIO, "gone");
  const jfl_status st = jf_session_agree_status(s, rank ? JFL_OK : (jfl_status)12345);
  if (rank) RANK_NEEDS(st == JFL_EDATA && strstr(jfl_errmsg(), "rank 0 ("));
  if (rank == 0) jf_world_end("\033[2J\a");
  for (int i = 0; i < 1000 && !jf_world_trouble(); i++) jf_world_agree(&rank, 1, end);
  RANK_NEEDS(jf_world_agree(&rank, 1, end) && !strcmp(jfl_errmsg(), "\\x1b[2J\\x07"));
  jfl_session_free(s);
  return 0;
}

static void texts_have_ends_and_no_control_characters(void) { CHECK(ranks_run(2, hears) == 0); }

int main(void)
{
  RUN(what_makes_no_sense_is_refused);
  RUN(texts_have_ends_and_no_control_characters);
  return test_done();
}
