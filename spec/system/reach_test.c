/* What threads with a reach open: nothing but what is below their folders. */
#include "system/system.h"

#include "scratch.h"
#include "test.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* in and out are the folders; outside has what nobody may get at: a file, a folder with one. */
static void begin(void)
{
  const char *folders[] = { "in", "in/deep", "out", "outside", "outside/deep" };
  scratch_clear(scratch);
  CHECK(!mkdir(scratch, 0700));
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    CHECK(!mkdir(in_scratch(folders[i]), 0700));
  const char *files[] = { "in/f", "in/deep/f", "outside/f", "outside/deep/f" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    put_file(in_scratch(files[i]), files[i], strlen(files[i]));
  CHECK(!symlink("../outside/f", in_scratch("in/link")) &&
        !symlink("deep", in_scratch("in/inner")) &&
        !symlink("../outside", in_scratch("in/folder")) &&
        !symlink("../outside/new", in_scratch("out/link")) &&
        !symlink("../outside", in_scratch("out/folder")));
  CHECK(!mkfifo(in_scratch("in/pipe"), 0600) && !mkfifo(in_scratch("out/pipe"), 0600));
}

static jf_reach *reach_of(const char *read, const char *write)
{
  jf_reach *r = jf_reach_new();
  CHECK(r && (!read || !jf_reach_open(r, in_scratch(read), JF_READ)) &&
        (!write || !jf_reach_open(r, in_scratch(write), JF_WRITE)));
  return r;
}

static void leave(jf_reach *r)
{
  jf_reach_set(NULL);
  jf_reach_close(r);
  jf_reach_drop(r);
}

static int reads(int folder, const char *path, const char *text)
{
  char got[100] = "";
  const int f = jf_open(folder, path, JF_READ);
  if (f < 0) return 0;
  const int64_t n = jf_read(f, got, sizeof got);
  jf_close(f);
  return n == (int64_t)strlen(text) && !memcmp(got, text, (size_t)n);
}

static int refused(int r) { return r < 0 && errno == EACCES; }

/* Whether nothing opens, makes, removes or tells of what is there. */
static int is_closed(int folder, const char *path)
{
  jf_info info;
  char to[10];
  const int in = folder == JF_HERE ? jf_folder_open(JF_HERE, ".", JF_WRITE) : folder;
  const int is = refused(jf_open(folder, path, JF_READ)) &&
    refused(jf_open(folder, path, JF_WRITE)) &&
    refused(jf_open(folder, path, JF_READ | JF_WRITE)) &&
    refused(jf_open(folder, path, JF_WRITE | JF_NEW)) && refused(jf_open(folder, path, JF_ADD)) &&
    refused(jf_info_at(folder, path, 0, &info)) && refused(jf_folder_open(folder, path, 0)) &&
    refused(jf_folder_open(folder, path, JF_WRITE)) && refused(jf_folder_make(folder, path, 0)) &&
    refused(jf_folder_remove(folder, path)) && refused(jf_file_remove(folder, path)) &&
    refused(jf_file_rename(in, path, "x")) && refused(jf_file_rename(in, "x", path)) &&
    refused((int)jf_link_read(folder, path, to, sizeof to));
  if (in != folder) jf_folder_close(in);
  return is;
}

static void paths_do_not_leave_the_folders(void)
{
  static const char *const paths[] = {
    "..", "../outside/f", "../outside/new", "deep/../../outside/f", "deep/..", "deep/../f",
    "./../in/f", "folder/f", "folder/new", "folder/deep/f", "folder/", "folder/.",
    "/", "//", "/etc/passwd", "/proc/self/cwd", "/proc/self/fd/0", "/nowhere/at/all"
  };
  begin();
  jf_reach *r = reach_of("in", "in");
  jf_reach_set(r);
  const int folder = jf_folder_open(JF_HERE, ".", JF_WRITE);
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    CHECK_MSG(is_closed(JF_HERE, paths[i]), "%s", paths[i]);
    CHECK_MSG(is_closed(folder, paths[i]), "%s", paths[i]);
  }
  CHECK(refused(jf_open(JF_HERE, in_scratch("in/f"), JF_READ)));
  jf_folder_close(folder);
  leave(r);
  CHECK(reads(JF_HERE, in_scratch("outside/f"), "outside/f"));
  CHECK(!exists(in_scratch("outside/new")));
}

static void links_are_not_followed(void)
{
  jf_info info;
  begin();
  jf_reach *r = reach_of("in", "out");
  jf_reach_set(r);
  CHECK(refused(jf_open(JF_HERE, "link", JF_READ)));
  CHECK(refused(jf_open(JF_HERE, "inner/f", JF_READ)));
  CHECK(refused(jf_info_at(JF_HERE, "link", 0, &info)));
  CHECK(!jf_info_at(JF_HERE, "link", JF_NO_LINK, &info) && info.kind == JF_LINK);
  CHECK(jf_open(JF_HERE, "link", JF_READ | JF_NO_LINK) < 0 && errno == ELOOP);
  CHECK(refused(jf_folder_open(JF_HERE, "folder", 0)));
  CHECK(refused(jf_open(JF_HERE, "link", JF_WRITE)) && refused(jf_open(JF_HERE, "link", JF_ADD)));
  CHECK(jf_open(JF_HERE, "link", JF_WRITE | JF_NEW) < 0 && errno == EEXIST);
  CHECK(refused(jf_folder_make(JF_HERE, "folder/new", 0)));
  CHECK(refused(jf_file_remove(JF_HERE, "folder/f")));
  leave(r);
  CHECK(!exists(in_scratch("outside/new")) && exists(in_scratch("outside/f")));
}

static void what_is_below_is_served(void)
{
  jf_info info;
  begin();
  jf_reach *r = reach_of("in", "out");
  jf_reach_set(r);
  CHECK(reads(JF_HERE, "f", "in/f") && reads(JF_HERE, "deep/f", "in/deep/f"));
  CHECK(reads(JF_HERE, "./deep//f", "in/deep/f") && reads(JF_HERE, ".//f", "in/f"));
  CHECK(jf_open(JF_HERE, "none", JF_READ) < 0 && errno == ENOENT);
  CHECK(jf_open(JF_HERE, "", JF_READ) < 0 && errno == ENOENT);
  CHECK(jf_open(JF_HERE, "f/", JF_READ) < 0 && errno == ENOTDIR);
  CHECK(jf_open(JF_HERE, "deep/", JF_READ) < 0 && errno == EISDIR);
  CHECK(!jf_info_at(JF_HERE, "deep/", 0, &info) && info.kind == JF_FOLDER);
  CHECK(!jf_folder_make(JF_HERE, "made", 0) && exists(in_scratch("out/made")));
  const int d = jf_folder_open(JF_HERE, "made", JF_WRITE);
  const int f = jf_open(d, "g", JF_READ | JF_WRITE | JF_NEW | JF_NO_LINK);
  CHECK(d >= 0 && f >= 0 && !jf_write_all(f, "g", 1) && !jf_close(f));
  CHECK(!jf_file_rename(d, "g", "h") && reads(d, "h", "g"));
  jf_folder_close(d);
  CHECK(jf_open(JF_HERE, "made/h", JF_READ) < 0 && errno == ENOENT);   /* of the one to read */
  CHECK(!jf_info_at(JF_HERE, "made/h", JF_WRITE, &info));
  CHECK(!jf_file_remove(JF_HERE, "made/h") && !jf_folder_remove(JF_HERE, "made"));
  leave(r);
}

static void pipes_and_devices_are_refused_at_once(void)
{
  begin();
  jf_reach *r = reach_of("in", "out");
  jf_reach_set(r);
  CHECK(refused(jf_open(JF_HERE, "pipe", JF_READ | JF_WAIT)));
  CHECK(jf_open(JF_HERE, "pipe", JF_WRITE | JF_WAIT) < 0 && errno == ENXIO);
  CHECK(refused(jf_open(JF_HERE, "pipe", JF_READ | JF_WRITE | JF_WAIT)));
  leave(r);
}

static void folders_stay_what_they_were(void)
{
  begin();
  jf_reach *r = reach_of("in", "out");
  jf_reach_set(r);
  const int deep = jf_folder_open(JF_HERE, "deep", 0);
  CHECK(!rename(in_scratch("in"), in_scratch("in.old")) && !symlink("outside", in_scratch("in")));
  CHECK(!rename(in_scratch("out"), in_scratch("out.old")));
  CHECK(!symlink("outside", in_scratch("out")));
  CHECK(reads(JF_HERE, "f", "in/f"));
  const int f = jf_open(JF_HERE, "new", JF_WRITE | JF_NEW);
  CHECK(f >= 0 && !jf_close(f) && exists(in_scratch("out.old/new")));
  CHECK(!exists(in_scratch("outside/new")));
  CHECK(!rename(in_scratch("in.old/deep"), in_scratch("in.old/moved")) &&
        !symlink("../outside/deep", in_scratch("in.old/deep")));
  CHECK(reads(deep, "f", "in/deep/f") && refused(jf_open(JF_HERE, "deep/f", JF_READ)));
  jf_folder_close(deep);
  leave(r);
}

static void without_folders_nothing_is_opened(void)
{
  jf_info info;
  begin();
  jf_reach *r = reach_of(NULL, NULL);
  jf_reach_set(r);
  CHECK(refused(jf_open(JF_HERE, "f", JF_READ)) && refused(jf_info_at(JF_HERE, ".", 0, &info)));
  CHECK(refused(jf_open(JF_HERE, "f", JF_ADD)) && refused(jf_folder_make(JF_HERE, "f", 0)));
  CHECK_MSG(strstr(jf_trouble(EACCES), "may open no file"), "%s", jf_trouble(EACCES));
  leave(r);
  CHECK_MSG(!strcmp(jf_trouble(EACCES), "Permission denied"), "%s", jf_trouble(EACCES));
  r = reach_of("in", NULL);
  jf_reach_set(r);
  CHECK(reads(JF_HERE, "f", "in/f") && refused(jf_open(JF_HERE, "f", JF_WRITE)));
  CHECK(strstr(jf_trouble(EACCES), "may read files below its folder alone") &&
        strstr(jf_trouble(EACCES), "and write none"));
  jf_reach_close(r);
  CHECK(refused(jf_open(JF_HERE, "f", JF_READ)));
  leave(r);
}

/* One that is made within another leads no further. */
static void a_reach_within_another_is_smaller(void)
{
  begin();
  jf_reach *r = reach_of("in", NULL), *inner = jf_reach_new();
  jf_reach_set(r);
  CHECK(refused(jf_reach_open(inner, in_scratch("outside"), JF_READ)));
  CHECK(refused(jf_reach_open(inner, "folder", JF_READ)));
  CHECK(refused(jf_reach_open(inner, ".", JF_WRITE)));
  CHECK(!jf_reach_open(inner, "deep", JF_READ));
  CHECK(jf_reach_set(inner) == r && reads(JF_HERE, "f", "in/deep/f"));
  leave(inner);
  leave(r);
}

static void *other_thread(void *arg)
{
  *(int *)arg = reads(JF_HERE, in_scratch("outside/f"), "outside/f");
  return NULL;
}

static void other_threads_open_as_ever(void)
{
  pthread_t thread;
  int ok = 0;
  begin();
  jf_reach *r = reach_of("in", "out");
  jf_reach_set(r);
  CHECK(!pthread_create(&thread, NULL, other_thread, &ok) && !pthread_join(thread, NULL) && ok);
  leave(r);
}

int main(void)
{
  scratch_make();
  RUN(paths_do_not_leave_the_folders);
  RUN(links_are_not_followed);
  RUN(what_is_below_is_served);
  RUN(pipes_and_devices_are_refused_at_once);
  RUN(folders_stay_what_they_were);
  RUN(without_folders_nothing_is_opened);
  RUN(a_reach_within_another_is_smaller);
  RUN(other_threads_open_as_ever);
  return test_done();
}
