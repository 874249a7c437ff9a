/* A file that is written under another name in the directory of the one whose place it takes. */
#include "file/replacement.h"
#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_NAMES = 16, SUFFIX_SIZE = 20, NUMBER = 12,
       PROGRAM = 0111 };       /* rights of a file that can be started */

static int files_same(const jf_info *mine, int at, const char *path, int how)
{
  jf_info other;
  return !jf_info_at(at, path, how, &other) && mine->id == other.id && mine->place == other.place;
}

int jf_file_same(int fd, int at, const char *path)
{
  jf_info mine;
  return !jf_info_of(fd, &mine) && files_same(&mine, at, path, JF_NO_LINK);
}

int jf_folder_same(int dir, int at, const char *path, int how)
{
  jf_info mine;
  return !jf_info_of_folder(dir, &mine) && files_same(&mine, at, path, how);
}

int jf_file_ours(const jf_info *i) { return i->kind == JF_FILE && i->names <= 1 && i->mine; }

static int replacement_fail(jf_replacement *d, const char *step)
{
  d->step = step;
  return -1;
}

/* Whether there is a file that it is to replace. */
static int replacement_replaces(const jf_replacement *d, jf_info *old)
{
  return !jf_info_at(d->dir, d->to, JF_NO_LINK, old) && old->kind == JF_FILE;
}

int jf_replacement_make(jf_replacement *d)
{
  jf_info old;
  const int mine = replacement_replaces(d, &old) ? JF_PRIVATE : d->how;
  d->forks = jf_forks();
  d->fd = jf_open(d->dir, d->from, JF_READ | JF_WRITE | JF_NEW | JF_NO_LINK | mine);
  return d->fd < 0 ? replacement_fail(d, "make the file") : 0;
}

/* Removes what a process that has ended left under the name: its lock is gone. */
static void replacement_clear(const jf_replacement *d)
{
  jf_info left;
  const int fd = jf_open(d->dir, d->from, JF_READ | JF_WRITE | JF_NO_LINK);
  if (fd < 0) return;
  if (!jf_info_of(fd, &left) && jf_file_ours(&left) && !jf_lock(fd) &&
      jf_file_same(fd, d->dir, d->from))
    jf_file_remove(d->dir, d->from);
  jf_close(fd);
}

/* Makes and locks the file; *held is 0 if somebody else takes it for one that was left. On a file
   system without locks nobody does. */
static int replacement_hold(jf_replacement *d, int *held)
{
  *held = 0;
  if (jf_replacement_make(d)) return errno == EEXIST ? 0 : -1;
  *held = (!jf_lock(d->fd) || errno != EWOULDBLOCK) && jf_file_same(d->fd, d->dir, d->from);
  if (!*held) {
    jf_close(d->fd);
    d->fd = -1;
  }
  return 0;
}

/* The name is cut where it would become too long. */
int jf_replacement_begin(jf_replacement *d)
{
  int held;
  char number[NUMBER] = "";
  for (int i = 0; i < MAX_NAMES; i++) {
    if (i > 1) snprintf(number, NUMBER, ".%u", (unsigned)jf_entropy());
    snprintf(d->from, sizeof d->from, "%.*s%s" JF_PART, JF_MOST_NAME - SUFFIX_SIZE, d->to,
             number);
    if (replacement_hold(d, &held)) return -1;
    if (held) return 0;
    if (i == 0) replacement_clear(d);
  }
  errno = EEXIST;
  return replacement_fail(d, "make the file");
}

static int replacement_inherit(const jf_replacement *d)
{
  jf_info old;
  if (d->rights) return jf_inherit(d->fd, d->rights);
  return strcmp(d->from, d->to) && replacement_replaces(d, &old) ? jf_inherit(d->fd, &old) : 0;
}

int jf_replacement_check(jf_replacement *d)
{
  jf_info there;
  if (d->fd < 0 || jf_file_same(d->fd, d->dir, d->to)) return 0;
  if (!jf_info_at(d->dir, d->to, JF_NO_LINK, &there) && jf_file_ours(&there)) return 0;
  errno = ESTALE;
  return replacement_fail(d, JF_LOST);
}

/* Systems start no program that somebody can write to: has the file open to be read alone before it
   gets its name. Who clears what others left may come in between two locks, which is told. */
static int replacement_release(jf_replacement *d)
{
  jf_info mine, now;
  const int fd = jf_open(d->dir, d->from, JF_READ | JF_NO_LINK);
  if (fd < 0) return replacement_fail(d, "open it");
  const int same = !jf_info_of(d->fd, &mine) && !jf_info_of(fd, &now) && mine.id == now.id &&
                   mine.place == now.place;
  jf_close(d->fd);
  d->fd = fd;
  const int held = !jf_lock(fd) || errno != EWOULDBLOCK;
  errno = ESTALE;
  return same && held && jf_file_same(fd, d->dir, d->from) ? 0 : replacement_fail(d, JF_LOST);
}

int jf_replacement_commit(jf_replacement *d)
{
  if (replacement_inherit(d)) return replacement_fail(d, "give it its rights");
  if (jf_sync(d->fd)) return replacement_fail(d, "sync it");
  errno = ESTALE;
  if (!jf_file_same(d->fd, d->dir, d->from)) return replacement_fail(d, JF_LOST);
  if (d->rights && d->rights->rights & PROGRAM && replacement_release(d)) return -1;
  if (strcmp(d->from, d->to)) {
    if (jf_file_rename(d->dir, d->from, d->to)) return replacement_fail(d, "rename it");
    if (jf_replacement_check(d)) return -1;
  }
  return jf_folder_sync(d->dir) ? replacement_fail(d, "sync the directory") : 0;
}

void jf_replacement_discard(const jf_replacement *d)
{
  if (d->forks == jf_forks() && jf_file_same(d->fd, d->dir, d->from))
    jf_file_remove(d->dir, d->from);
}

void jf_replacement_close(jf_replacement *d)
{
  if (d->fd >= 0) {
    if (d->forks == jf_forks()) jf_unlock(d->fd);
    jf_close(d->fd);
  }
  if (d->dir >= 0) jf_folder_close(d->dir);
  d->fd = d->dir = -1;
}
