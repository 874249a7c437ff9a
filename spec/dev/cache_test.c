/* The cache of compiled kernels while each call on its files fails, does a part of its work, or is
   the last one: an image is read whole or not at all, and nothing is left beside it. */
#include "faults.h"

#include <sys/wait.h>

#include "dev/cuda/cache.h"
#include "scratch.h"
#include "test.h"

static const char source[] = "a kernel", image[] = "what a compiler made of it";

static void keep(void) { jf_cuda_cache_write(7, source, image, sizeof image); }

static void faulty_keep(int at, int times, int what)
{
  const pid_t pid = fork();
  if (!pid) {
    faults_begin(scratch, "", at, times, what);
    keep();
    _exit(0);
  }
  CHECK(waitpid(pid, NULL, 0) == pid);
}

/* Whether the image is there; what is there is right. */
static int is_kept(void)
{
  void *got;
  size_t size;
  if (!jf_cuda_cache_read(7, source, &got, &size)) return 0;
  CHECK(size == sizeof image && !memcmp(got, image, size));
  jf_free(got);
  return 1;
}

static int files(void)
{
  int n = 0;
  DIR *d = opendir(in_scratch("jfl"));
  while (d && readdir(d)) n++;
  if (d) closedir(d);
  return n - 2;
}

static void try(int at, int times, int what)
{
  scratch_clear(in_scratch("jfl"));
  faulty_keep(at, times, what);
  const int was_kept = is_kept();
  keep();
  CHECK_MSG(is_kept(), "%d at %d, kept: %d", what, at, was_kept);
  CHECK_MSG(files() == 1, "%d at %d: %d files", what, at, files());
}

static void images_are_kept_whole(void)
{
  faults_begin(scratch, "", 0, 0, FAULTS_NONE);
  keep();
  const int n = faults_end();
  CHECK(n > 5 && is_kept() && files() == 1);
  for (int at = 1; at <= n; at++) {
    try(at, 1, EIO);
    try(at, 0, FAULTS_SHORT);
    try(at, 1, FAULTS_KILL);
  }
}

int main(void)
{
  scratch_make();
  setenv("XDG_CACHE_HOME", scratch, 1);
  RUN(images_are_kept_whole);
  return test_done();
}
