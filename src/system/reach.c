/* What a thread may open. Whoever opens, makes, removes or looks at files by their paths comes
   here, so a script that nobody trusts gets nowhere else, whichever function of the library it
   calls and whatever that function does with the paths that it is given. */
#include "system/raw.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Folders are open from the beginning, so that it does not matter what becomes of their paths.
   -1: none. Changed by its owner alone, after all other threads have left it. */
struct jf_reach { atomic_uint keepers; int read, write; };

/* NULL: the thread opens what the process may. */
static _Thread_local const jf_reach *mine;

/* ---- reaches ---- */

jf_reach *jf_reach_new(void)
{
  jf_reach *r = malloc(sizeof *r);
  if (!r) return NULL;
  atomic_init(&r->keepers, 1);
  r->read = r->write = -1;
  return r;
}

int jf_reach_open(jf_reach *r, const char *path, int how)
{
  int *folder = how & JF_WRITE ? &r->write : &r->read;
  *folder = jf_folder_open(JF_HERE, path, how | JF_PINNED);
  return *folder < 0 ? -1 : 0;
}

jf_reach *jf_reach_keep(jf_reach *r)
{
  if (r) atomic_fetch_add(&r->keepers, 1);
  return r;
}

void jf_reach_drop(jf_reach *r)
{
  if (r && atomic_fetch_sub(&r->keepers, 1) == 1) free(r);
}

void jf_reach_close(jf_reach *r)
{
  if (!r) return;
  if (r->read >= 0) jf_folder_close(r->read);
  if (r->write >= 0) jf_folder_close(r->write);
  r->read = r->write = -1;
}

const jf_reach *jf_reach_set(const jf_reach *r)
{
  const jf_reach *before = mine;
  mine = r;
  return before;
}

int jf_open_within(const char *folder, const char *path)
{
  jf_reach *r = jf_reach_new();
  if (!r) return errno = ENOMEM, -1;
  int fd = jf_reach_open(r, folder, JF_READ);
  if (!fd) {
    const jf_reach *before = jf_reach_set(r);
    fd = jf_open(JF_HERE, path, JF_READ);
    jf_reach_set(before);
  }
  const int e = errno;
  jf_reach_close(r);
  jf_reach_drop(r);
  return errno = e, fd;
}

/* What EACCES means to a thread that may open any file; NULL: what the system says. */
static const char *refusals;

void jf_trouble_set(const char *says) { refusals = says; }

const char *jf_trouble(int e)
{
  static const char *const says[2][2] = {
    { "Permission denied: this script may open no file",
      "Permission denied: this script may write files below its folder alone, by paths without "
      "'..' and links, and read none" },
    { "Permission denied: this script may read files below its folder alone, by paths without "
      "'..' and links, and write none",
      "Permission denied: this script may read and write files below its folders alone, by paths "
      "without '..' and links" }
  };
  if (e != EACCES || (!mine && !refusals)) return strerror(e);
  return mine ? says[mine->read >= 0][mine->write >= 0] : refusals;
}

/* ---- where a path leads ---- */

/* The folder in which the last part of a path is, that part, and how it is opened. */
typedef struct place {
  int folder;
  const char *name;
  int how;
  int owned;                   /* the folder was opened to get there */
} place;

static int place_refuse(void)
{
  errno = EACCES;
  return -1;
}

static void place_leave(const place *p)
{
  const int e = errno;
  if (p->owned) jf_folder_close(p->folder);
  errno = e;
}

static int place_has_link(const place *p, const char *name)
{
  jf_info info;
  return !jf_raw_info_at(p->folder, name, JF_NO_LINK, &info) && info.kind == JF_LINK;
}

/* Goes on to a folder in the one that was reached. */
static int place_enter(place *p, const char *part, size_t n)
{
  char name[JF_MOST_NAME + 1];
  if (n > JF_MOST_NAME) return errno = ENAMETOOLONG, -1;
  memcpy(name, part, n);
  name[n] = '\0';
  const int next = jf_raw_folder_open(p->folder, name, JF_NO_LINK);
  if (next < 0) return place_has_link(p, name) ? place_refuse() : -1;
  place_leave(p);
  p->folder = next;
  p->owned = 1;
  return 0;
}

/* Whether a path can only lead down, but for links. */
static int place_is_below(const char *path)
{
  if (*path == '/' || strpbrk(path, JF_RAW_SIGNS)) return 0;
  for (size_t n; *path; path += n + (path[n] == '/')) {
    n = strcspn(path, "/");
    if (n == 2 && !strncmp(path, "..", n)) return 0;
  }
  return 1;
}

/* Where a path leads that starts at the folder. For a thread with a reach that is below the
   folder, which is never left: each part is looked up in the one before, and none may be a link. */
static int place_find(int folder, const char *path, int how, place *out)
{
  *out = (place){ folder, path, how, 0 };
  if (!mine) return 0;
  if (folder == JF_HERE)
    out->folder = how & (JF_WRITE | JF_NEW | JF_ADD) ? mine->write : mine->read;
  if (out->folder < 0 || !place_is_below(path)) return place_refuse();
  for (size_t n; path[n = strcspn(path, "/")]; path += n + 1) {
    if (!n || (n == 1 && *path == '.') || !place_enter(out, path, n)) continue;
    place_leave(out);
    return -1;
  }
  out->name = *path || path == out->name ? path : ".";       /* "a/" is the folder a */
  out->how = (how | JF_NO_LINK) & ~JF_WAIT;
  return 0;
}

/* Leaves the place, where r came of an attempt; a link there is refused as any other that leads
   elsewhere, unless the caller looks for links. */
static int place_done(const place *p, int how, int r)
{
  const int e = errno, looks = r < 0 && mine && !(how & JF_NO_LINK) && (e == ELOOP || e == ENOTDIR);
  errno = looks && place_has_link(p, p->name) ? EACCES : e;
  place_leave(p);
  return r;
}

/* ---- what the rest of the library calls ---- */

/* With a reach nothing but files is opened: pipes and devices may keep a script waiting. */
int jf_open(int folder, const char *path, int how)
{
  place p;
  jf_info info;
  if (place_find(folder, path, how, &p)) return -1;
  const int file = place_done(&p, how, jf_raw_open(p.folder, p.name, p.how));
  if (file < 0 || !mine) return file;
  if (!jf_info_of(file, &info) && info.kind == JF_FILE) return file;
  jf_close(file);
  return info.kind == JF_FOLDER ? (errno = EISDIR, -1) : place_refuse();
}

int jf_info_at(int folder, const char *path, int how, jf_info *out)
{
  place p;
  if (place_find(folder, path, how, &p)) return -1;
  const int r = jf_raw_info_at(p.folder, p.name, p.how, out);
  place_leave(&p);
  return !r && mine && !(how & JF_NO_LINK) && out->kind == JF_LINK ? place_refuse() : r;
}

int jf_folder_open(int folder, const char *path, int how)
{
  place p;
  if (place_find(folder, path, how, &p)) return -1;
  return place_done(&p, how, jf_raw_folder_open(p.folder, p.name, p.how));
}

int jf_folder_make(int folder, const char *path, int how)
{
  place p;
  if (place_find(folder, path, how | JF_WRITE, &p)) return -1;
  return place_done(&p, JF_NO_LINK, jf_raw_folder_make(p.folder, p.name, p.how));
}

int jf_folder_remove(int folder, const char *name)
{
  place p;
  if (place_find(folder, name, JF_WRITE, &p)) return -1;
  return place_done(&p, JF_NO_LINK, jf_raw_folder_remove(p.folder, p.name));
}

int jf_file_remove(int folder, const char *name)
{
  place p;
  if (place_find(folder, name, JF_WRITE, &p)) return -1;
  return place_done(&p, JF_NO_LINK, jf_raw_file_remove(p.folder, p.name));
}

/* Whether a thread with a reach may give something in the folder this other name there. */
static int place_renames(int folder, const char *from, const char *to)
{
  if (!mine) return 1;
  return folder != JF_HERE && place_is_below(from) && place_is_below(to) && !strchr(from, '/') &&
         !strchr(to, '/');
}

int jf_file_rename(int folder, const char *from, const char *to)
{
  return place_renames(folder, from, to) ? jf_raw_file_rename(folder, from, to) : place_refuse();
}

int jf_folder_rename(int folder, const char *from, const char *to, int *inside)
{
  if (!place_renames(folder, from, to)) return place_refuse();
  return jf_raw_folder_rename(folder, from, to, inside);
}

/* With a reach links lead nowhere. */
int64_t jf_link_read(int folder, const char *name, char *to, size_t size)
{
  place p;
  if (place_find(folder, name, JF_WRITE, &p)) return -1;
  const int64_t n = jf_raw_link_read(p.folder, p.name, to, size);
  place_leave(&p);
  return n >= 0 && mine ? place_refuse() : n;
}
