/* A file that is written under another name in the directory of the one whose place it takes. */
#include "checkpoint/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int successor_fail(jf_successor *d, const char *step)
{
  d->step = step;
  return -1;
}

/* Whether there is a file that it is to replace. */
static int successor_replaces(const jf_successor *d, jf_info *old)
{
  return !jf_info_at(d->dir, d->to, JF_NO_LINK, old) && old->kind == JF_FILE;
}

int jf_successor_make(jf_successor *d)
{
  jf_info old;
  const int mine = successor_replaces(d, &old) ? JF_PRIVATE : 0;
  d->fd = jf_open(d->dir, d->from, JF_READ | JF_WRITE | JF_NEW | JF_NO_LINK | mine);
  return d->fd < 0 ? successor_fail(d, "make the file") : 0;
}

static int successor_inherit(const jf_successor *d)
{
  jf_info old;
  return strcmp(d->from, d->to) && successor_replaces(d, &old) ? jf_inherit(d->fd, &old) : 0;
}

int jf_successor_check(jf_successor *d)
{
  jf_info there;
  if (d->fd < 0 || jf_file_same(d->fd, d->dir, d->to)) return 0;
  if (!jf_info_at(d->dir, d->to, JF_NO_LINK, &there) && jf_file_ours(&there)) return 0;
  errno = ESTALE;
  return successor_fail(d, JF_LOST);
}

int jf_successor_keep(jf_successor *d)
{
  if (successor_inherit(d)) return successor_fail(d, "give it the rights of what it replaces");
  if (jf_sync(d->fd)) return successor_fail(d, "sync it");
  errno = ESTALE;
  if (!jf_file_same(d->fd, d->dir, d->from)) return successor_fail(d, JF_LOST);
  if (strcmp(d->from, d->to)) {
    if (jf_file_rename(d->dir, d->from, d->to)) return successor_fail(d, "rename it");
    if (jf_successor_check(d)) return -1;
  }
  return jf_folder_sync(d->dir) ? successor_fail(d, "sync the directory") : 0;
}

void jf_successor_drop(const jf_successor *d)
{
  if (jf_file_same(d->fd, d->dir, d->from)) jf_file_remove(d->dir, d->from);
}

void jf_successor_close(jf_successor *d)
{
  if (d->fd >= 0) jf_close(d->fd);
  if (d->dir >= 0) jf_folder_close(d->dir);
  d->fd = d->dir = -1;
}
