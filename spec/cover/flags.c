/* Keeps in files which places of the library and the command are reached. With `make COVER=1` the
   compiler gives each place a flag, which its code sets, and calls the functions below before main
   with all flags of a program or shared library and with what places they stand for. A file shared
   among processes takes the flags' place in memory, so that what children, threads and processes
   that are killed reach counts too.

   JFL_COVER names the folder of these files; each program or library has its own, of a name that
   its places make. Below ../../modules stands once what its flags mean: its path, then the offset
   of each place. Without JFL_COVER nothing is kept. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cover.h"

enum { PAGE = 4096, MOST_PATH = 1024 };

void *cover_share(const char *name, size_t size)
{
  const char *folder = getenv("JFL_COVER");
  char path[MOST_PATH];
  struct stat st;
  if (!folder || !*folder) return NULL;
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return NULL;
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (fd < 0) return NULL;
  /* A process that may write no files yet finds it in its full size. */
  const int sized = !fstat(fd, &st) && ((size_t)st.st_size == size || !ftruncate(fd, (off_t)size));
  void *p = sized ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
  close(fd);
  return p == MAP_FAILED ? NULL : p;
}

/* Pairs of an address and what the compiler says of it. */
typedef struct cover_place { uintptr_t pc, kind; } cover_place;

/* Of this program or library alone: each has these functions once. */
static char *flags, *flags_end;

static void name_module(char *to, size_t size, const cover_place *place, size_t n)
{
  uint64_t hash = 14695981039346656037u;             /* FNV-1a */
  for (size_t i = 0; i < n; i++) hash = (hash ^ (place[i].pc - place->pc)) * 1099511628211u;
  snprintf(to, size, "%016llx", (unsigned long long)hash);
}

static void describe(const char *name, const cover_place *place, size_t n)
{
  char path[MOST_PATH], fresh[MOST_PATH + 32];
  const char *folder = getenv("JFL_COVER");
  Dl_info info;
  if (!folder || !dladdr(place, &info)) return;
  snprintf(path, sizeof path, "%s/../../modules/%s", folder, name);
  if (!access(path, F_OK)) return;
  snprintf(fresh, sizeof fresh, "%s.%d", path, (int)getpid());
  FILE *f = fopen(fresh, "w");
  if (!f) return;
  char *real = realpath(info.dli_fname, NULL);
  fprintf(f, "%s\n", real ? real : info.dli_fname);
  free(real);
  for (size_t i = 0; i < n; i++)
    fprintf(f, "0x%llx\n", (unsigned long long)(place[i].pc - (uintptr_t)info.dli_fbase));
  if (fclose(f) || rename(fresh, path)) unlink(fresh);
}

/* The compiler's code calls these two once for each object that was linked, always with all. */
void __sanitizer_cov_bool_flag_init(char *begin, char *end);
void __sanitizer_cov_bool_flag_init(char *begin, char *end)
{
  flags = begin;
  flags_end = end;
}

void __sanitizer_cov_pcs_init(const cover_place *begin, const cover_place *end);
void __sanitizer_cov_pcs_init(const cover_place *begin, const cover_place *end)
{
  static int is_done;
  const size_t n = (size_t)(end - begin), size = (n + PAGE - 1) / PAGE * PAGE;
  char name[32];
  if (is_done++) return;
  /* A program that a test links by itself, without cover.ld, has no pages of flags. */
  if ((uintptr_t)flags % PAGE || (size_t)(flags_end - flags) < size) return;
  name_module(name, sizeof name, begin, n);
  char *shared = cover_share(name, size);
  if (!shared) return;
  for (size_t i = 0; i < n; i++)
    if (flags[i]) shared[i] = 1;
  if (mremap(shared, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, flags) == MAP_FAILED) return;
  describe(name, begin, n);
}
