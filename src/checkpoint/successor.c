/* A file that is written under another name in the directory of the one whose place it takes. */
#include "checkpoint/checkpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int successor_fail(jf_successor *d, const char *step)
{
  d->step = step;
  return -1;
}

/* Whether there is a file that it is to replace. */
static int successor_replaces(const jf_successor *d, struct stat *old)
{
  return !fstatat(d->dir, d->to, old, AT_SYMLINK_NOFOLLOW) && S_ISREG(old->st_mode);
}

int jf_successor_make(jf_successor *d)
{
  struct stat old;
  mode_t mode = successor_replaces(d, &old) ? 0600 : 0666;
  d->fd = openat(d->dir, d->from, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
  return d->fd < 0 ? successor_fail(d, "make the file") : 0;
}

/* Whether a file system that keeps no rights said so. */
static int successor_lacks_rights(void)
{
  return errno == EPERM || errno == ENOTSUP || errno == ENOSYS;
}

/* Who may not give files away cannot keep the owner. A group that the file cannot have gets no
   rights to it. */
static int successor_inherit(const jf_successor *d)
{
  struct stat old, mine;
  if (!strcmp(d->from, d->to) || !successor_replaces(d, &old)) return 0;
  if (fstat(d->fd, &mine)) return -1;
  mode_t mode = old.st_mode & 0777;
  if (old.st_uid != mine.st_uid || old.st_gid != mine.st_gid)
    if (fchown(d->fd, old.st_uid, old.st_gid) && fchown(d->fd, (uid_t)-1, old.st_gid))
      mode &= ~(mode_t)070;
  return fchmod(d->fd, mode) && !successor_lacks_rights() ? -1 : 0;
}

int jf_successor_keep(jf_successor *d)
{
  if (successor_inherit(d)) return successor_fail(d, "give it the rights of what it replaces");
  if (fsync(d->fd)) return successor_fail(d, "sync it");
  errno = ESTALE;
  if (!jf_file_same(d->fd, d->dir, d->from, AT_SYMLINK_NOFOLLOW))
    return successor_fail(d, "find what was written, as something else took its place");
  if (strcmp(d->from, d->to) && renameat(d->dir, d->from, d->dir, d->to))
    return successor_fail(d, "rename it");
  return jf_dir_sync(d->dir) ? successor_fail(d, "sync the directory") : 0;
}

void jf_successor_drop(const jf_successor *d)
{
  if (jf_file_same(d->fd, d->dir, d->from, AT_SYMLINK_NOFOLLOW)) unlinkat(d->dir, d->from, 0);
}

void jf_successor_close(jf_successor *d)
{
  if (d->fd >= 0) close(d->fd);
  if (d->dir >= 0) close(d->dir);
  d->fd = d->dir = -1;
}
