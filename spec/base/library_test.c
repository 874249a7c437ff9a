/* A library that cannot be opened is told of in the plans that do without it. */
#include "base/base.h"
#include "base/library.h"
#include "models.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>
#ifndef _WIN32
#include <sys/resource.h>
#endif

static void a_missing_library_is_kept_once(void)
{
  const int before = jf_library_missing(0) != NULL;
  CHECK(jf_library_open("libnowhere.so.9", NULL, 0) == NULL);
  CHECK(jf_library_open("libnowhere.so.9", NULL, 0) == NULL);
  const char *text = jf_library_missing(before);
  CHECK(text && !strncmp(text, "libnowhere.so.9: ", 17));
  CHECK(jf_library_missing(before + 1) == NULL && jf_library_missing(-1) == NULL);
}

static void a_library_wants_room(void)
{
  CHECK(jf_library_room(1 << 20));
  CHECK(!jf_library_room((size_t)1 << 62));
  CHECK(jf_library_open("libz.so.1", NULL, (size_t)1 << 62) == NULL);
  CHECK(!strcmp(jf_library_missing(1), "libz.so.1: too little memory is free for it"));
}

static int opened;
static int open_later(void) { return ++opened == 2; }

static void a_library_that_failed_is_opened_at_the_next_need(void)
{
  jf_library_state state = {0};
  CHECK(!jf_library_ready(&state, open_later) && jf_library_ready(&state, open_later));
  CHECK(jf_library_ready(&state, open_later) && opened == 2);
}

#ifndef _WIN32

/* Whether a library may be opened while the process may have so many bytes. */
static int safe_within(rlim_t bytes)
{
  struct rlimit before;
  CHECK(!getrlimit(RLIMIT_AS, &before));
  CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){ bytes, before.rlim_max }));
  const int safe = jf_library_safe("libends.so");
  CHECK(!setrlimit(RLIMIT_AS, &before));
  return safe;
}

/* Whether limits of memory are kept here: QEMU's emulation of other processors ignores them. */
static int limits_are_kept(void)
{
  struct rlimit before, now;
  CHECK(!getrlimit(RLIMIT_AS, &before));
  CHECK(!setrlimit(RLIMIT_AS, &(struct rlimit){ (rlim_t)1 << 40, before.rlim_max }));
  CHECK(!getrlimit(RLIMIT_AS, &now) && !setrlimit(RLIMIT_AS, &before));
  return now.rlim_cur == (rlim_t)1 << 40;
}

/* A run within such a limit is in spec/plan/room_spec.lua. */
static void a_limit_of_memory_leaves_it_out(void)
{
  struct rlimit now;
  CHECK(!getrlimit(RLIMIT_AS, &now));
  unsetenv("JFL_LIBRARIES");
  if (now.rlim_cur == RLIM_INFINITY) CHECK(jf_library_safe("libends.so"));
  CHECK(!safe_within(256 << 20));
  CHECK(!setenv("JFL_LIBRARIES", "all", 1));
  CHECK(safe_within(256 << 20));
  unsetenv("JFL_LIBRARIES");
  CHECK(strstr(jf_library_missing(2), "libends.so: left out") &&
        strstr(jf_library_missing(2), "256 MiB"));
}

#endif

static void a_plan_tells_of_it(void)
{
  jfl_session *s;
  jfl_plan *p;
  char *text;
  CHECK(jfl_session_new(&s) == JFL_OK);
  CHECK(model_plan(s, "train", model_linear, 4, 0, &p) == JFL_OK);
  CHECK(jfl_plan_text(p, &text) == JFL_OK);
  CHECK(strstr(text, "without a library, so slower kernels serve: libnowhere.so.9: "));
  jfl_text_free(text);
  jfl_session_free(s);
}

int main(void)
{
  RUN(a_missing_library_is_kept_once);
  RUN(a_library_wants_room);
  RUN(a_library_that_failed_is_opened_at_the_next_need);
#ifndef _WIN32
  if (limits_are_kept()) RUN(a_limit_of_memory_leaves_it_out);
#endif
  RUN(a_plan_tells_of_it);
  return test_done();
}
