/* Compiled kernels on disk. The library opens them for itself, not for a script, and so with no
   reach (system.h): the folder is told by the environment, and names are numbers. */
#include "dev/cuda/cache.h"
#include "file/replacement.h"
#include "system/system.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The head of a file; the image follows. `text` is a second hash of the source, which must agree as
   the key does, and `image` one of the image, so that a file cut short or damaged is not used. */
enum { CACHE_MAGIC = 0x316c666a };
typedef struct cache_head { uint32_t magic, version; uint64_t key, text, image, size; } cache_head;

enum { NAME = 64, MOST_BYTES = 256 << 20, SELDOM = 16 };
static const char suffix[] = ".cubin";

static cache_head cache_head_of(uint64_t key, const char *text, const void *image, size_t size)
{
  return (cache_head){ CACHE_MAGIC, 1, key, jf_hash_str(key, text), jf_hash(0, image, size), size };
}

static void cache_name(uint64_t key, char *to)
{
  snprintf(to, NAME, "%016llx%s", (unsigned long long)key, suffix);
}

/* ---- the folder ---- */

/* Opens a folder in another, making it if it is not there; -1: that cannot be. */
static int cache_enter(int in, const char *name)
{
  if (jf_folder_make(in, name, JF_PRIVATE) && errno != EEXIST) return -1;
  return jf_folder_open(in, name, 0);
}

/* Whether nobody else can put files there: an image is code. */
static int cache_is_ours(int folder)
{
  jf_info st;
  return !jf_info_of_folder(folder, &st) && st.mine && !(st.rights & 022);
}

static int cache_folder(void)
{
  const char *cache = getenv("XDG_CACHE_HOME"), *home = jf_home_folder();
  const int own = cache && *cache == '/';
  if (!own && (!home || *home != '/')) return -1;
  if (own) jf_folder_make(JF_HERE, cache, JF_PRIVATE);         /* it need not be there yet */
  int top = jf_folder_open(JF_HERE, own ? cache : home, 0);
  if (top >= 0 && !own) {
    const int below = cache_enter(top, ".cache");
    jf_folder_close(top);
    top = below;
  }
  if (top < 0) return -1;
  const int folder = cache_enter(top, "jfl");
  jf_folder_close(top);
  if (folder < 0 || cache_is_ours(folder)) return folder;
  jf_folder_close(folder);
  return -1;
}

/* ---- reading ---- */

static int cache_read_all(int fd, void *to, size_t size)
{
  return jf_read_all(fd, to, size) == (int64_t)size;
}

/* What the head says takes no more memory than the file has bytes. */
static int cache_read_head(int fd, cache_head *h)
{
  jf_info st;
  return !jf_info_of(fd, &st) && st.kind == JF_FILE && cache_read_all(fd, h, sizeof *h) &&
         h->size > 0 && h->size <= MOST_BYTES && (uint64_t)st.size == sizeof *h + h->size;
}

static int cache_read_image(int fd, uint64_t key, const char *text, void **image, size_t *size)
{
  cache_head h;
  if (!cache_read_head(fd, &h)) return 0;
  void *p = jf_new_raw(h.size);
  if (!p) return 0;
  if (cache_read_all(fd, p, h.size)) {
    const cache_head want = cache_head_of(key, text, p, h.size);
    if (!memcmp(&h, &want, sizeof h)) {
      jf_touch(fd);                 /* it was used now */
      *image = p;
      *size = h.size;
      return 1;
    }
  }
  jf_free(p);
  return 0;
}

static int cache_find(uint64_t key, const char *text, void **image, size_t *size)
{
  char name[NAME];
  const int folder = cache_folder();
  if (folder < 0) return 0;
  cache_name(key, name);
  const int fd = jf_open(folder, name, JF_READ | JF_NO_LINK);
  jf_folder_close(folder);
  if (fd < 0) return 0;
  const int found = cache_read_image(fd, key, text, image, size);
  jf_close(fd);
  return found;
}

int jf_cuda_cache_read(uint64_t key, const char *text, void **image, size_t *size)
{
  const jf_reach *own = jf_reach_set(NULL);
  const int found = cache_find(key, text, image, size);
  jf_reach_set(own);
  return found;
}

/* ---- keeping the folder small ---- */

typedef struct cache_entry { char name[NAME]; int64_t used; int64_t size; } cache_entry;

static int cache_older(const void *a, const void *b)
{
  const int64_t x = ((const cache_entry *)a)->used, y = ((const cache_entry *)b)->used;
  return (x > y) - (x < y);
}

/* Whether it is an image, or what a process left that ended before it was one. */
static int cache_is_entry(const char *name)
{
  const char *dot = strchr(name, '.');
  return dot && strlen(name) < NAME && !strncmp(dot, suffix, sizeof suffix - 1);
}

/* Lists the images; *n is how many there are, *sum their bytes. */
static cache_entry *cache_list(int folder, int *n, int64_t *sum)
{
  cache_entry *list = NULL;
  int cap = 0;
  jf_info st;
  jf_listing *d = jf_listing_open(folder);
  *n = 0;
  *sum = 0;
  for (const char *name; d && (name = jf_listing_next(d));) {
    if (!cache_is_entry(name) || jf_info_at(folder, name, JF_NO_LINK, &st)) continue;
    if (!JF_ROOM(list, *n, cap)) break;
    cache_entry *to = &list[(*n)++];
    memcpy(to->name, name, strlen(name) + 1);
    to->used = st.changed;
    to->size = st.size;
    *sum += st.size;
  }
  jf_listing_close(d);
  return list;
}

static void cache_trim(int folder)
{
  int n;
  int64_t sum;
  cache_entry *list = cache_list(folder, &n, &sum);
  if (sum > MOST_BYTES) {
    qsort(list, (size_t)n, sizeof *list, cache_older);
    for (int i = 0; i < n && sum > MOST_BYTES / 4 * 3; i++)
      if (!jf_file_remove(folder, list[i].name)) sum -= list[i].size;
  }
  jf_free(list);
}

/* ---- writing ---- */

static void cache_write_file(int folder, const cache_head *h, const void *image)
{
  jf_replacement f = { .dir = folder, .fd = -1, .how = JF_PRIVATE };
  cache_name(h->key, f.to);
  if (jf_replacement_begin(&f)) return;
  if (jf_write_all(f.fd, h, sizeof *h) || jf_write_all(f.fd, image, h->size) ||
      jf_replacement_commit(&f))
    jf_replacement_discard(&f);
  jf_close(f.fd);
}

static void cache_add(uint64_t key, const char *text, const void *image, size_t size)
{
  const int folder = cache_folder();
  if (folder < 0) return;
  const cache_head h = cache_head_of(key, text, image, size);
  if (size <= MOST_BYTES) cache_write_file(folder, &h, image);
  /* Looking at each of thousands of files takes as long as compiling one more. */
  if (key % SELDOM == 0) cache_trim(folder);
  jf_folder_close(folder);
}

void jf_cuda_cache_write(uint64_t key, const char *text, const void *image, size_t size)
{
  const jf_reach *own = jf_reach_set(NULL);
  cache_add(key, text, image, size);
  jf_reach_set(own);
}
