/* Files that take another's place, where owners cannot be given and locks are held by others. */
#include "file/replacement.h"

#include "scratch.h"
#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the system allows, in place of the C library's functions. */
static int gives_owner, gives_group, held;

int fchown(int file, uid_t owner, gid_t group)
{
  (void)file;
  (void)group;
  if (owner == (uid_t)-1 ? gives_group : gives_owner) return 0;
  errno = EPERM;
  return -1;
}

int flock(int file, int how)
{
  (void)file;
  if (!(how & LOCK_EX) || !held) return 0;
  held--;
  errno = EWOULDBLOCK;
  return -1;
}

/* The rights of a file that got these of another one, whose owner and group are off by so much. */
static unsigned inherited(unsigned rights, unsigned owner, unsigned group)
{
  jf_info info = { 0 };
  put_file(in_scratch("f"), "", 0);
  const int file = open(in_scratch("f"), O_RDWR);
  CHECK(file >= 0 && !jf_info_of(file, &info));
  jf_info from = { .rights = rights, .owner = info.owner + owner, .group = info.group + group };
  CHECK(!jf_inherit(file, &from) && !jf_info_of(file, &info));
  close(file);
  return info.rights & 0777;
}

/* Who has the group has its rights: without the group these go to nobody. */
static void rights_go_with_the_group(void)
{
  for (unsigned rights = 0600; rights <= 0777; rights++)
    for (int way = 0; way < 4; way++) {
      gives_owner = way & 1;
      gives_group = way >> 1;
      const unsigned want = gives_owner || gives_group ? rights : rights & 0707;
      CHECK(inherited(rights, 0, 0) == rights);
      CHECK(inherited(rights, 1, 0) == want);
      CHECK(inherited(rights, 0, 1) == want);
      CHECK(inherited(rights, 1, 1) == want);
    }
}

/* Begins a file where others hold the locks of the first n; gives what that gives. */
static int begun(jf_replacement *d, int n)
{
  held = n;
  *d = (jf_replacement){ .dir = open(scratch, O_RDONLY | O_DIRECTORY), .fd = -1, .to = "name" };
  const int r = jf_replacement_begin(d);
  held = 0;
  return r;
}

static void others_have_other_names(void)
{
  jf_replacement d;
  CHECK(!begun(&d, 0) && !strcmp(d.from, "name" JF_PART));
  jf_replacement_discard(&d);
  CHECK(!exists(in_scratch("name" JF_PART)));
  jf_replacement_close(&d);
  for (int n = 1; n < 4; n++) {
    CHECK(!begun(&d, 2 * n) && d.fd >= 0);
    CHECK(!strncmp(d.from, "name.", 5) && strcmp(d.from, "name" JF_PART));
    CHECK(exists(in_scratch(d.from)));
    jf_replacement_discard(&d);
    CHECK(!exists(in_scratch(d.from)));
    jf_replacement_close(&d);
  }
  errno = 0;
  CHECK(begun(&d, 1000) == -1 && errno == EEXIST && d.fd < 0 && !strcmp(d.step, "make the file"));
  jf_replacement_close(&d);
}

/* What is begun and given the rights of a program, before it is closed; gives its status. */
static int status_of_program(void)
{
  static const char text[] = "#!/bin/sh\nexit 7\n";
  jf_replacement d;
  jf_info rights = { 0 };
  CHECK(!begun(&d, 0) && !jf_info_of(d.fd, &rights));
  rights.rights = 0755;
  d.rights = &rights;
  CHECK(write(d.fd, text, sizeof text - 1) == sizeof text - 1);
  CHECK_MSG(!jf_replacement_commit(&d), "%s", d.step);
  const int status = system(in_scratch("name"));
  jf_replacement_close(&d);
  CHECK(WIFEXITED(status));
  return WEXITSTATUS(status);
}

/* The first, and one that takes its place. */
static void a_program_can_be_started_once_it_has_its_name(void)
{
  CHECK(status_of_program() == 7);
  CHECK(status_of_program() == 7);
  remove(in_scratch("name"));
}

int main(void)
{
  scratch_make();
  RUN(rights_go_with_the_group);
  RUN(others_have_other_names);
  RUN(a_program_can_be_started_once_it_has_its_name);
  return test_done();
}
