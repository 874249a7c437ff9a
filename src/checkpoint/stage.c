/* Checkpoints that are being written beside their target, and checkpoints that are removed. */
#include "checkpoint/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TRIES = 16 };

#define STAGED_FILE JF_MODEL_FILE JF_STAGE_SUFFIX
#define INDEX_FILE JF_MODEL_FILE JF_INDEX_ENDING

/* ---- the files of a checkpoint ---- */

static int stage_is_staged(const char *name) { return !strcmp(name, STAGED_FILE); }

static int stage_is_shard(const char *name)
{
  return !strcmp(name, INDEX_FILE) || jf_shard_number(name, ".safetensors");
}

static int stage_is_ours(const char *name)
{
  return !strcmp(name, JF_MODEL_FILE) || stage_is_staged(name) || stage_is_shard(name);
}

/* ---- parents ---- */

static jfl_status stage_sync_parent(const char *path)
{
  char parent[JF_MOST_PATH];
  jf_file_parent(path, parent);
  int fd = jf_folder_open(JF_HERE, parent, JF_WRITE);
  if (fd < 0) return jf_file_fail(parent, "open");
  jfl_status r = jf_folder_sync(fd) ? jf_file_fail(parent, "sync") : JFL_OK;
  jf_folder_close(fd);
  return r;
}

static jfl_status stage_make_parents(const char *target)
{
  char part[JF_MOST_PATH];
  jf_info st;
  for (const char *p = strchr(target + 1, '/'); p; p = strchr(p + 1, '/')) {
    size_t n = (size_t)(p - target);
    memcpy(part, target, n);
    part[n] = '\0';
    if (!jf_info_at(JF_HERE, part, JF_WRITE, &st) || errno != ENOENT) continue;
    if (jf_folder_make(JF_HERE, part, 0) && errno != EEXIST)
      return jf_file_fail(part, "make the directory");
    JF_TRY(stage_sync_parent(part));
  }
  return JFL_OK;
}

/* Opens the directory that holds path, whose last part goes to name; -1 with errno. */
static int stage_open_parent(const char *path, char *name)
{
  char dir[JF_MOST_PATH];
  const char *slash = strrchr(path, '/'), *last = slash ? slash + 1 : path;
  if (strlen(last) > JF_MOST_NAME) return errno = ENAMETOOLONG, -1;
  strcpy(name, last);
  jf_file_parent(path, dir);
  return jf_folder_open(JF_HERE, dir, JF_WRITE);
}

/* ---- what is in the way ---- */

static jfl_status stage_refuse(const char *target)
{
  return jf_fail(JFL_ESTATE, "checkpoint %s: the directory exists and is not empty; choose "
                 "another, or save with overwrite to replace the checkpoint", target);
}

static jfl_status stage_in_the_way(const jf_stage *st, const char *what)
{
  return jf_fail(JFL_ESTATE, "checkpoint %s: %s must be %s that an earlier save of yours left, got "
                 "something else; remove it, or save elsewhere", st->target,
                 st->parent < 0 ? STAGED_FILE : st->staged, what);
}

static jfl_status stage_busy(const char *target)
{
  return jf_fail(JFL_ESTATE, "checkpoint %s: another save to it is in progress", target);
}

/* Whether the directory that is staged, if there is one, still has that name. */
static int stage_is_beside(const jf_stage *st)
{
  return st->parent < 0 || jf_folder_same(st->model.dir, st->parent, st->staged, JF_NO_LINK);
}

/* Removes the staged file that a crashed save left, which is not locked. Nothing else is touched:
   what is planted there leads elsewhere or belongs to somebody else, and in a directory that has
   its name by now the file is that of a save that has ended. */
static jfl_status stage_clear_file(const jf_stage *st, int fd)
{
  jf_info info;
  if (jf_info_of(fd, &info)) return jf_file_fail(st->file, "look up");
  if (!jf_file_ours(&info)) return stage_in_the_way(st, "a file");
  if (jf_lock(fd) && errno == EWOULDBLOCK) return stage_busy(st->target);
  if (!jf_file_same(fd, st->model.dir, st->model.from) || !stage_is_beside(st)) return JFL_OK;
  return jf_file_remove(st->model.dir, st->model.from) ? jf_file_fail(st->file, "remove") : JFL_OK;
}

/* Opens a file to lock it: over a network that takes the right to write. -1 with errno. */
static int stage_open_to_lock(int dir, const char *name)
{
  int fd = jf_open(dir, name, JF_READ | JF_WRITE | JF_NO_LINK);
  return fd < 0 && errno == EACCES ? jf_open(dir, name, JF_READ | JF_NO_LINK) : fd;
}

static jfl_status stage_clear(const jf_stage *st)
{
  int fd = stage_open_to_lock(st->model.dir, st->model.from);
  if (fd < 0 && errno == ENOENT) return JFL_OK;
  if (fd < 0 && (errno == ELOOP || errno == EISDIR)) return stage_in_the_way(st, "a file");
  if (fd < 0) return jf_file_fail(st->file, "open");
  jfl_status r = stage_clear_file(st, fd);
  jf_close(fd);
  return r;
}

/* ---- where it is staged ---- */

/* Opens the directory that is staged, which mkdir found to exist if `old`; *held is 0 if another
   save has removed it, or given it its name. */
static jfl_status stage_enter(jf_stage *st, int old, int *held)
{
  jf_info info;
  int empty = 1;
  st->model.dir = jf_folder_open(st->parent, st->staged, JF_NO_LINK);
  *held = st->model.dir >= 0 || errno != ENOENT;
  if (!*held) return JFL_OK;
  if (st->model.dir < 0)
    return errno == ENOTDIR || errno == ELOOP ? stage_in_the_way(st, "a directory")
                                              : jf_file_fail(st->file, "open");
  if (!old) return JFL_OK;
  if (jf_info_of_folder(st->model.dir, &info)) return jf_file_fail(st->file, "look up");
  if (info.mine)
    JF_TRY(jf_dir_empty(st->model.dir, st->file, stage_is_ours, &empty));
  return info.mine && empty ? JFL_OK : stage_in_the_way(st, "a directory");
}

/* For a target that is missing; *held is 0 if another save interfered. */
static jfl_status stage_beside(jf_stage *st, int *held)
{
  jf_info info;
  st->parent = stage_open_parent(st->target, st->name);
  if (st->parent < 0) return jf_file_fail(st->target, "open the directory of");
  if (snprintf(st->staged, sizeof st->staged, "%s" JF_STAGE_SUFFIX, st->name) > JF_MOST_NAME)
    return errno = ENAMETOOLONG, jf_file_fail(st->target, "make the directory");
  JF_TRY(jf_file_path(st->target, JF_STAGE_SUFFIX, "/" JF_MODEL_FILE, st->file));
  *held = jf_info_at(st->parent, st->name, JF_NO_LINK, &info) != 0;
  if (!*held && info.kind == JF_LINK)
    return jf_fail(JFL_ESTATE, "checkpoint %s: the path is a link to something that is missing; "
                   "make the directory that it leads to, or remove the link", st->target);
  if (!*held) return JFL_OK;
  int old = jf_folder_make(st->parent, st->staged, 0) != 0;
  if (old && errno != EEXIST) return jf_file_fail(st->target, "make the directory");
  strcpy(st->model.from, JF_MODEL_FILE);
  jfl_status r = stage_enter(st, old, held);
  if (r != JFL_OK && !old) jf_folder_remove(st->parent, st->staged);
  return r;
}

static jfl_status stage_place(jf_stage *st, int *held)
{
  st->model = (jf_replacement){ .dir = jf_folder_open(JF_HERE, st->target, JF_WRITE), .fd = -1 };
  st->parent = -1;
  st->moved = 0;
  strcpy(st->model.to, st->shard_bytes ? INDEX_FILE : JF_MODEL_FILE);
  *held = 1;
  if (st->model.dir < 0 && errno == ENOENT) return stage_beside(st, held);
  if (st->shard_bytes)
    return jf_fail(JFL_ESTATE, "checkpoint %s: the path must be free, as a checkpoint in shards "
                   "takes no other's place; choose another, or remove what is there", st->target);
  strcpy(st->model.from, STAGED_FILE);
  JF_TRY(jf_file_path(st->target, "/", STAGED_FILE, st->file));
  if (st->model.dir >= 0) return JFL_OK;
  if (errno != ENOTDIR) return jf_file_fail(st->target, "look up");
  jf_info info;
  if (jf_info_at(JF_HERE, st->target, JF_WRITE, &info)) return jf_file_fail(st->target, "look up");
  return jf_fail(JFL_ESTATE, "checkpoint %s: the path must be a directory, got a file", st->target);
}

/* Whether the target is still what it was found to be; fails if it must not be filled. */
static jfl_status stage_still(const jf_stage *st, int overwrite, int *held)
{
  jf_info info;
  int empty = 1;
  if (st->parent >= 0) {
    *held = jf_info_at(st->parent, st->name, JF_NO_LINK, &info) && errno == ENOENT &&
            stage_is_beside(st);
    return JFL_OK;
  }
  *held = jf_folder_same(st->model.dir, JF_HERE, st->target, JF_WRITE);
  if (*held && !overwrite)
    JF_TRY(jf_dir_empty(st->model.dir, st->target, stage_is_staged, &empty));
  return empty ? JFL_OK : stage_refuse(st->target);
}

/* Refuses where a save in shards has named its index, which it keeps locked, and is about to name
   the directory too. */
static jfl_status stage_check_index(const jf_stage *st)
{
  jf_info info;
  if (st->parent < 0 || jf_info_at(st->model.dir, INDEX_FILE, JF_NO_LINK, &info)) return JFL_OK;
  const int fd = stage_open_to_lock(st->model.dir, INDEX_FILE);
  if (fd < 0) return errno == ENOENT ? JFL_OK : jf_file_fail(st->file, "look beside");
  const int busy = jf_lock(fd) && errno == EWOULDBLOCK;
  jf_close(fd);
  return busy ? stage_busy(st->target) : JFL_OK;
}

/* Makes and locks the staged file. On a file system without locks it is used without one. Whoever
   else has locked it takes it for one that was left, and removes it. */
static jfl_status stage_make(jf_stage *st, int *held)
{
  *held = 0;
  if (jf_replacement_make(&st->model)) {
    if (errno == EEXIST) return stage_clear(st);
    return errno == ENOENT ? JFL_OK : jf_file_fail(st->file, st->model.step);
  }
  *held = (!jf_lock(st->model.fd) || errno != EWOULDBLOCK) &&
          jf_file_same(st->model.fd, st->model.dir, st->model.from);
  if (*held) return stage_check_index(st);
  jf_close(st->model.fd);
  st->model.fd = -1;
  return JFL_OK;
}

static void stage_close_all(jf_stage *st)
{
  jf_replacement_close(&st->model);
  if (st->parent >= 0) jf_folder_close(st->parent);
  st->parent = -1;
}

/* Removes the shards of a staged directory, and their index: those of a save that fails, or that a
   crashed one left. Gives 0, or -1 with errno. The index is the last: it may be what is locked, and
   once it is gone the directory belongs to the next save. */
static int stage_sweep(const jf_stage *st)
{
  const char *name = "";
  while (name) {                       /* a listing may not see what is left after a removal */
    jf_listing *l = jf_listing_open(st->model.dir);
    if (!l) return -1;
    while ((name = jf_listing_next(l)) && !jf_shard_number(name, ".safetensors")) continue;
    const int e = name && jf_file_remove(st->model.dir, name) ? errno : 0;
    jf_listing_close(l);
    if (e) return errno = e, -1;
  }
  return jf_file_remove(st->model.dir, INDEX_FILE) && errno != ENOENT ? -1 : 0;
}

/* Removes what is staged but shards, while it is still locked. */
static void stage_drop(jf_stage *st)
{
  if (st->model.fd >= 0) jf_replacement_discard(&st->model);
  if (st->parent >= 0 && st->model.dir >= 0) jf_folder_remove(st->parent, st->staged);
  stage_close_all(st);
}

/* Makes one attempt. *held is 0 if another save interfered, and the caller is to try again. Only
   the holder of the lock renames, so what is found out about the target under the lock stays
   true. */
static jfl_status stage_try(jf_stage *st, int overwrite, int *held)
{
  jfl_status r = stage_place(st, held);
  if (r == JFL_OK && *held) r = stage_still(st, overwrite, held);
  if (r == JFL_OK && *held) r = stage_make(st, held);
  if (r == JFL_OK && *held) r = stage_still(st, overwrite, held);
  if (r == JFL_OK && *held && st->parent >= 0 && stage_sweep(st))
    r = jf_file_fail(st->file, "remove what a save left beside");
  if (r != JFL_OK || !*held) stage_drop(st);
  return r;
}

jfl_status jf_stage_open(const char *path, int overwrite, uint64_t shard_bytes, jf_stage *out)
{
  out->shard_bytes = shard_bytes;
  JF_TRY(jf_file_trim(path, out->target));
  JF_TRY(stage_make_parents(out->target));
  int held = 0;
  for (int i = 0; !held && i < MAX_TRIES; i++) JF_TRY(stage_try(out, overwrite, &held));
  if (held) return JFL_OK;
  return jf_fail(JFL_ESTATE, "checkpoint %s: other saves to it are in progress", out->target);
}

/* Gives a directory that was staged its name. */
static jfl_status stage_rename(jf_stage *st)
{
  errno = ESTALE;
  if (!stage_is_beside(st)) return jf_file_fail(st->target, JF_LOST);
  if (jf_folder_rename(st->parent, st->staged, st->name, &st->model.fd))
    return errno == ENOTEMPTY || errno == EEXIST ? stage_refuse(st->target)
                                                 : jf_file_fail(st->target, "rename to it");
  st->moved = 1;
  if (jf_replacement_check(&st->model)) return jf_file_fail(st->target, st->model.step);
  return jf_folder_sync(st->parent) ? jf_file_fail(st->target, "sync the directory of") : JFL_OK;
}

static jfl_status stage_commit(jf_stage *st)
{
  if (jf_replacement_commit(&st->model)) return jf_file_fail(st->file, st->model.step);
  if (st->parent >= 0) JF_TRY(stage_rename(st));
  if (jf_folder_same(st->model.dir, JF_HERE, st->target, JF_WRITE)) return JFL_OK;
  return jf_fail(JFL_ESTATE, "checkpoint %s: the directory was moved away or replaced during the "
                 "save; what was saved is where that directory is now", st->target);
}

jfl_status jf_stage_close(jf_stage *st, jfl_status s)
{
  if (s == JFL_OK) s = stage_commit(st);
  if (s == JFL_OK || st->moved) {
    stage_close_all(st);
  } else {
    if (st->parent >= 0 && st->model.fd >= 0) stage_sweep(st);
    stage_drop(st);
  }
  return s;
}

/* ---- removing ---- */

/* Removes a file of the directory, which a live save keeps locked; a missing one is fine. */
static jfl_status stage_remove_file(int dir, const char *path, const char *name)
{
  int fd = stage_open_to_lock(dir, name);
  if (fd < 0) return errno == ENOENT ? JFL_OK : jf_file_fail(path, "open what is in it");
  int busy = jf_lock(fd) && errno == EWOULDBLOCK;
  jfl_status r = busy ? jf_fail(JFL_ESTATE, "checkpoint %s: a save to it is in progress", path)
               : jf_file_remove(dir, name) ? jf_file_fail(path, "remove what is in it") : JFL_OK;
  jf_close(fd);
  return r;
}

static jfl_status stage_remove_files(int dir, const char *path)
{
  int ours = 0;
  JF_TRY(jf_dir_empty(dir, path, stage_is_ours, &ours));
  if (!ours)
    return jf_fail(JFL_ESTATE, "checkpoint %s: not removed, as it holds more than a checkpoint",
                   path);
  JF_TRY(stage_remove_file(dir, path, STAGED_FILE));
  JF_TRY(stage_remove_file(dir, path, JF_MODEL_FILE));
  if (stage_sweep(&(jf_stage){ .model.dir = dir })) return jf_file_fail(path, "remove a shard");
  return JFL_OK;
}

/* Removes the checkpoint `name` of the directory parent; a missing one is fine. */
static jfl_status stage_remove(int parent, const char *path, const char *name)
{
  int dir = jf_folder_open(parent, name, JF_NO_LINK);
  if (dir < 0 && errno == ENOENT) return JFL_OK;
  if (dir < 0 && (errno == ENOTDIR || errno == ELOOP))
    return jf_fail(JFL_ESTATE, "checkpoint %s: not removed, as it is not a directory", path);
  if (dir < 0) return jf_file_fail(path, "open");
  jfl_status r = stage_remove_files(dir, path);
  if (r == JFL_OK && jf_folder_remove(parent, name))
    r = jf_file_fail(path, "remove the directory");
  jf_folder_close(dir);
  return r;
}

static jfl_status stage_remove_both(int parent, const char *path, const char *name)
{
  char staged[JF_MOST_NAME + sizeof JF_STAGE_SUFFIX];
  jf_info st;
  snprintf(staged, sizeof staged, "%s" JF_STAGE_SUFFIX, name);
  if (!jf_info_at(parent, staged, JF_NO_LINK, &st) && st.kind == JF_FOLDER)
    JF_TRY(stage_remove(parent, path, staged));
  return stage_remove(parent, path, name);
}

jfl_status jfl_checkpoint_remove(const char *path)
{
  char dir[JF_MOST_PATH], name[JF_MOST_NAME + 1];
  JF_NEED_POINTER(path);
  JF_TRY(jf_file_trim(path, dir));
  int parent = stage_open_parent(dir, name);
  if (parent < 0) return errno == ENOENT ? JFL_OK : jf_file_fail(dir, "look up");
  jfl_status r = stage_remove_both(parent, dir, name);
  jf_folder_close(parent);
  return r;
}
