/* Loaders of pictures: what they give does not depend on their threads, also after a fork, and they
   may be freed at any time. */
#include "scratch.h"
#include "test.h"

#include <sys/wait.h>

enum { FILES = 24, BATCH = 6 };
static char name[FILES][32];
static const char *path[FILES];
static uint64_t seed[FILES];
static const jfl_picture_spec spec = { .channels = 3, .fit = JFL_RANDOM, .height = 9, .width = 7,
                                       .area = { 0.2, 1 }, .aspect = { 0.5, 2 }, .flip = 1 };

static void make_files(void)
{
  jfl_array *a, *jpeg;
  for (int i = 0; i < FILES; i++) {
    const jfl_shape s = { 3, { 20 + i, 40 - i, 3 } };
    if (jfl_array_new(JFL_U8, &s, &a)) abort();
    unsigned char *p = jfl_array_data(a);
    for (int64_t k = 0; k < jfl_array_size(a); k++) p[k] = (unsigned char)(k * (i + 1) / 16);
    if (jfl_jpeg_encode(a, 90, &jpeg)) abort();
    snprintf(name[i], sizeof name[i], "%d.jpg", i);
    FILE *f = fopen(name[i], "wb");
    fwrite(jfl_array_data(jpeg), 1, (size_t)jfl_array_size(jpeg), f);
    fclose(f);
    jfl_array_unref(a);
    jfl_array_unref(jpeg);
    path[i] = name[i];
    seed[i] = (uint64_t)i * 77;
  }
}

static jfl_loader *with(int workers, int batches)
{
  jfl_loader *l = NULL;
  CHECK(jfl_loader_new(&spec, workers, &l) == JFL_OK);
  for (int i = 0; i < batches; i++)
    CHECK(jfl_loader_want(l, path + i * BATCH, seed + i * BATCH, BATCH) == JFL_OK);
  return l;
}

/* The checksum of the next batch, or 0. */
static uint32_t next(jfl_loader *l)
{
  jfl_array *a = NULL;
  if (jfl_loader_take(l, &a)) return 0;
  const uint32_t sum = jfl_crc32(jfl_array_data(a), (size_t)jfl_array_size(a));
  jfl_array_unref(a);
  return sum;
}

static uint32_t want[FILES / BATCH];

static void gives_the_same_on_any_number_of_threads(void)
{
  for (int workers = 0; workers < 5; workers++) {
    jfl_loader *l = with(workers, FILES / BATCH);
    for (int i = 0; i < FILES / BATCH; i++) {
      const uint32_t sum = next(l);
      if (!workers) want[i] = sum;
      CHECK(sum != 0 && sum == want[i]);
    }
    CHECK(next(l) == 0 && jfl_error_code() == JFL_ESTATE);
    jfl_loader_free(l);
  }
}

static void can_be_freed_at_any_time(void)
{
  for (int i = 0; i < 40; i++) {
    jfl_loader *l = with(i % 4, FILES / BATCH);
    for (int k = 0; k < i % 5; k++) next(l);
    jfl_loader_free(l);
  }
}

static void names_the_file_and_goes_on(void)
{
  for (int workers = 0; workers < 3; workers++) {
    jfl_loader *l = with(workers, 1);
    path[3] = "nowhere.jpg";
    CHECK(jfl_loader_want(l, path, seed, BATCH) == JFL_OK);
    path[3] = name[3];
    CHECK(jfl_loader_want(l, path + BATCH, seed + BATCH, BATCH) == JFL_OK);
    CHECK(next(l) == want[0]);
    CHECK(next(l) == 0 && strstr(jfl_errmsg(), "nowhere.jpg: No such file"));
    CHECK(next(l) == want[1]);
    jfl_loader_free(l);
  }
}

#ifndef __SANITIZE_ADDRESS__      /* its allocator does not survive a fork beside threads */
/* A forked child has no threads, but all that was wanted. */
static void works_in_a_forked_child(void)
{
  for (int i = 0; i < 10; i++) {
    jfl_loader *l = with(3, FILES / BATCH);
    if (i % 2) CHECK(next(l) == want[0]);
    const pid_t child = fork();
    if (!child) {
      int good = 1;
      for (int k = i % 2; k < FILES / BATCH; k++) good &= next(l) == want[k];
      jfl_loader_free(l);
      _exit(good ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int k = i % 2; k < FILES / BATCH; k++) CHECK(next(l) == want[k]);
    jfl_loader_free(l);
  }
}
#endif

int main(void)
{
  scratch_make();
  if (chdir(scratch)) return 1;
  make_files();
  RUN(gives_the_same_on_any_number_of_threads);
  RUN(can_be_freed_at_any_time);
  RUN(names_the_file_and_goes_on);
#ifndef __SANITIZE_ADDRESS__
  RUN(works_in_a_forked_child);
#endif
  return test_done();
}
