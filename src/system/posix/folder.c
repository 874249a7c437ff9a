/* Folders, and the names in them. */
#include "system/raw.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int jf_raw_folder_open(int folder, const char *path, int how)
{
  const int flags = O_DIRECTORY | O_CLOEXEC | (how & JF_NO_LINK ? O_NOFOLLOW : 0);
  int fd = openat(folder, path, O_RDONLY | flags);
  if (fd >= 0 || errno != EACCES) return fd;
  return openat(folder, path, O_PATH | flags);
}

void jf_folder_close(int folder) { close(folder); }

/* EBADF: opened by O_PATH, as it may not be read. */
int jf_folder_sync(int folder)
{
  return jf_sync(folder) && errno != EINVAL && errno != EBADF ? -1 : 0;
}

int jf_raw_folder_make(int folder, const char *path, int how)
{
  return mkdirat(folder, path, how & JF_PRIVATE ? 0700 : 0777);
}

int jf_raw_folder_remove(int folder, const char *name)
{
  return unlinkat(folder, name, AT_REMOVEDIR);
}

int jf_raw_file_remove(int folder, const char *name) { return unlinkat(folder, name, 0); }

int jf_raw_file_rename(int folder, const char *from, const char *to)
{
  return renameat(folder, from, folder, to);
}

int jf_raw_folder_rename(int folder, const char *from, const char *to, int *inside)
{
  (void)inside;
  return renameat(folder, from, folder, to);
}

int64_t jf_raw_link_read(int folder, const char *name, char *to, size_t size)
{
  return readlinkat(folder, name, to, size);
}

/* A listing is the system's own. */
static DIR *folder_of(jf_listing *l) { return (DIR *)(void *)l; }

jf_listing *jf_listing_open(int folder)
{
  int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
  if (!d && fd >= 0) close(fd);
  return (jf_listing *)(void *)d;
}

const char *jf_listing_next(jf_listing *l)
{
  const struct dirent *e;
  while (errno = 0, e = readdir(folder_of(l)))
    if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) return e->d_name;
  return NULL;
}

void jf_listing_close(jf_listing *l)
{
  if (l) closedir(folder_of(l));
}
