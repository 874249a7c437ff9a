/* Memory of the emulated GPU. The host cannot touch a device's blocks while no work is done; freed
   blocks and what lies behind a block can never be touched. Bytes of a block's pages that are not
   its own end the program if they have changed when it is given back. JFL_EMULATED_REUSE=1 hands
   out first what was freed last, with what it holds, as a device's pool does. */
#include "emulated.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What memory holds at first is not zero, as a device's is not, and no number. */
enum { PAGE = 4096, ALIGNMENT = 256, UNWRITTEN = 0xff };
/* The bytes of a device. */
static size_t memory_all(void) { return (size_t)(emulated_is_hollow() ? 1024 : 4) << 30; }

/* A block's pages, and where it begins in them: as near to their end as its alignment allows. */
typedef struct block {
  char *page;
  size_t pages;
  emulated_address at;
  size_t size;
  int device;
} block;
typedef struct pin { void *p; size_t size; } pin;

static pthread_mutex_t mu = PTHREAD_MUTEX_INITIALIZER;
static block *blocks;
static int n_block, cap_block, open_windows;
enum { MOST_FREED = 64 };
static block freed[MOST_FREED];                          /* to be used again, the last first */
static int n_freed, reuses;
static pin *pins;
static int n_pin, cap_pin;
static size_t used[MOST_DEVICES];

static void memory_protect(const block *b)
{
  mprotect(b->page, b->pages * PAGE, open_windows ? PROT_READ | PROT_WRITE : PROT_NONE);
}

__attribute__((constructor)) static void memory_read_settings(void)
{
  const char *given = getenv("JFL_EMULATED_REUSE");
  reuses = given && atoi(given);
}

/* Makes new pages, which hold no numbers; 0 if there are none. */
static int memory_map(block *b)
{
  /* One page more, which stays out of reach. */
  b->page = mmap(NULL, (b->pages + 1) * PAGE, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (b->page == MAP_FAILED || emulated_is_hollow()) return b->page != MAP_FAILED;
  /* Pages that differ in more than their protection stay apart from the one behind them, which
     makes it several times as quick to change that. */
  if (madvise(b->page, b->pages * PAGE, MADV_DONTDUMP) ||
      mprotect(b->page, b->pages * PAGE, PROT_READ | PROT_WRITE)) return 0;
  memset(b->page, UNWRITTEN, b->pages * PAGE);
  return 1;
}

/* Takes the block's pages from what was freed; 0 if nothing there is large enough. */
static int memory_reuse(block *b)
{
  int i = n_freed - 1;
  while (i >= 0 && (freed[i].device != b->device || freed[i].pages < b->pages)) i--;
  if (i < 0) return 0;
  b->page = freed[i].page;
  b->pages = freed[i].pages;
  memmove(&freed[i], &freed[i + 1], (size_t)(--n_freed - i) * sizeof *freed);
  return !mprotect(b->page, b->pages * PAGE, PROT_READ | PROT_WRITE);
}

/* Sets where the block lies in its pages; what is beside it holds no numbers. */
static void memory_lay(block *b, size_t whole)
{
  char *const end = b->page + b->pages * PAGE, *const at = end - whole;
  b->at = (emulated_address)at;
  if (emulated_is_hollow()) return;
  memset(b->page, UNWRITTEN, (size_t)(at - b->page));
  memset(at + b->size, UNWRITTEN, whole - b->size);
}

int emulated_take(int device, size_t size, emulated_address *out)
{
  const size_t whole = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  block b = { .pages = (whole + PAGE - 1) / PAGE, .size = size, .device = device };
  if (size == 0) return CU_INVALID_VALUE;
  pthread_mutex_lock(&mu);
  const int ok = used[device] + whole <= memory_all() && (memory_reuse(&b) || memory_map(&b));
  if (ok && n_block == cap_block) {
    cap_block = cap_block ? 2 * cap_block : 64;
    blocks = realloc(blocks, (size_t)cap_block * sizeof *blocks);
  }
  if (ok) {
    memory_lay(&b, whole);
    used[device] += whole;
    memory_protect(&b);
    blocks[n_block++] = b;
    *out = b.at;
  }
  pthread_mutex_unlock(&mu);
  return ok ? CU_OK : CU_OUT_OF_MEMORY;
}

static int memory_find(emulated_address at)
{
  for (int i = 0; i < n_block; i++)
    if (at >= blocks[i].at && at < blocks[i].at + blocks[i].size) return i;
  return -1;
}

/* Ends the program if something was written beside the block. */
static void memory_check(const block *b)
{
  const emulated_address from = (emulated_address)b->page, end = from + b->pages * PAGE;
  if (emulated_is_hollow()) return;
  mprotect(b->page, b->pages * PAGE, PROT_READ | PROT_WRITE);
  for (emulated_address p = from; p < end; p++) {
    if (p == b->at) p += b->size;
    if (p == end || *(unsigned char *)p == UNWRITTEN) continue;
    fprintf(stderr, "emulated GPU: byte %lld of a block of %zu was written\n",
            (long long)(p - b->at), b->size);
    abort();
  }
}

/* Puts a block that was freed out of reach. Its addresses stay taken, so that nothing else is found
   there before it is used again. New pages are one mapping with those around them; a process may
   have only so many. */
static void memory_give_up(block b)
{
  if (reuses) {
    const block last = b;
    mprotect(b.page, b.pages * PAGE, PROT_NONE);
    b = freed[0];
    if (n_freed == MOST_FREED) memmove(freed, freed + 1, (size_t)--n_freed * sizeof *freed);
    else b.page = NULL;
    freed[n_freed++] = last;
  }
  if (b.page)
    mmap(b.page, b.pages * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
}

int emulated_drop(int device, emulated_address at)
{
  emulated_order_forget(at);
  pthread_mutex_lock(&mu);
  const int i = memory_find(at);
  const int known = i >= 0 && blocks[i].at == at && blocks[i].device == device;
  if (known) {
    used[device] -= (blocks[i].size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    memory_check(&blocks[i]);
    memory_give_up(blocks[i]);
    blocks[i] = blocks[--n_block];
  }
  pthread_mutex_unlock(&mu);
  return known ? CU_OK : CU_INVALID_VALUE;
}

emulated_address emulated_block_around(emulated_address at)
{
  pthread_mutex_lock(&mu);
  const int i = memory_find(at);
  const emulated_address begin = i < 0 ? 0 : blocks[i].at;
  pthread_mutex_unlock(&mu);
  return begin;
}

int emulated_holds(int device, emulated_address at, size_t size)
{
  pthread_mutex_lock(&mu);
  const int i = memory_find(at);
  const int holds = i >= 0 && (device < 0 || blocks[i].device == device) &&
                    size <= blocks[i].size - (at - blocks[i].at);
  pthread_mutex_unlock(&mu);
  return holds;
}

void emulated_memory_info(int device, size_t *unused, size_t *all)
{
  pthread_mutex_lock(&mu);
  *all = memory_all();
  *unused = *all - used[device];
  pthread_mutex_unlock(&mu);
}

static void memory_protect_all(void)
{
  for (int i = 0; i < n_block; i++) memory_protect(&blocks[i]);
}

void emulated_memory_open(void)
{
  pthread_mutex_lock(&mu);
  if (open_windows++ == 0) memory_protect_all();
  pthread_mutex_unlock(&mu);
}

void emulated_memory_close(void)
{
  pthread_mutex_lock(&mu);
  if (--open_windows == 0) memory_protect_all();
  pthread_mutex_unlock(&mu);
}

/* ---- pinned host memory ---- */

int emulated_pin(size_t size, void **out)
{
  void *p = NULL;
  if (size == 0) return CU_INVALID_VALUE;
  if (posix_memalign(&p, PAGE, size)) return CU_OUT_OF_MEMORY;
  pthread_mutex_lock(&mu);
  if (n_pin == cap_pin) {
    cap_pin = cap_pin ? 2 * cap_pin : 16;
    pins = realloc(pins, (size_t)cap_pin * sizeof *pins);
  }
  pins[n_pin++] = (pin){ p, size };
  pthread_mutex_unlock(&mu);
  *out = p;
  return CU_OK;
}

int emulated_unpin(void *p)
{
  pthread_mutex_lock(&mu);
  int i = 0;
  while (i < n_pin && pins[i].p != p) i++;
  const int known = i < n_pin;
  if (known) pins[i] = pins[--n_pin];
  pthread_mutex_unlock(&mu);
  if (!known) return CU_INVALID_VALUE;
  free(p);
  return CU_OK;
}

int emulated_is_pinned(const void *p, size_t size)
{
  pthread_mutex_lock(&mu);
  int is = 0;
  for (int i = 0; i < n_pin; i++) {
    const char *from = pins[i].p, *at = p;
    is |= at >= from && at < from + pins[i].size && size <= pins[i].size - (size_t)(at - from);
  }
  pthread_mutex_unlock(&mu);
  return is;
}

int emulated_blocks_left(void)
{
  pthread_mutex_lock(&mu);
  const int n = n_block + n_pin;
  pthread_mutex_unlock(&mu);
  return n;
}
