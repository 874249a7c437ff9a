/* What a crash of the machine may leave: all changes of a folder are recorded (faults.h), and a
   prefix of them is made again elsewhere, as a file system may have kept it. What was written to a
   file after its last sync may be there, be lost, or be there in part, and what became of the names
   of a folder after its last sync too, each by itself. */
#ifndef REPLAY_H
#define REPLAY_H

#include "faults.h"

#include "base/base.h"

enum { REPLAY_OPS = 1000, REPLAY_NODES = 200, REPLAY_NAMES = 100 };

/* A file or folder, which keeps its number where the system gives its inode to another one. */
typedef struct replay_node { ino_t inode; int is_folder; char *data; size_t n; } replay_node;
typedef struct replay_name { int folder, node; char name[NAME_MAX + 1]; } replay_name;

/* kind: of faults_change. What is written is `n` bytes at `at`. */
typedef struct replay_op {
  char kind;
  int node, folder;
  char name[NAME_MAX + 1], to[NAME_MAX + 1];
  char *data;
  size_t n, at;
} replay_op;

static struct {
  int n_node, n_name, n_op;
  replay_node node[REPLAY_NODES];    /* the first is the folder itself */
  replay_name name[REPLAY_NAMES];    /* before the first change */
  replay_op op[REPLAY_OPS];
} replay;

static inline void *replay_copy(const void *data, size_t n)
{
  void *p = malloc(n + 1);
  if (!p) abort();
  return n ? memcpy(p, data, n) : p;
}

static inline int replay_add(ino_t inode, int is_folder)
{
  if (replay.n_node == REPLAY_NODES) abort();
  replay.node[replay.n_node] = (replay_node){ .inode = inode, .is_folder = is_folder };
  return replay.n_node++;
}

/* The last node with this inode: earlier ones are gone. */
static inline int replay_find(ino_t inode)
{
  for (int i = replay.n_node - 1; i >= 0; i--)
    if (replay.node[i].inode == inode) return i;
  abort();
}

static inline int replay_of(int fd)
{
  struct stat st;
  if (fstat(fd, &st)) abort();
  return replay_find(st.st_ino);
}

/* The node of the folder that a path from `dir` leads through; its last part goes to name. */
static inline int replay_folder(int dir, const char *path, char *name)
{
  struct stat st;
  char parent[PATH_MAX];
  const char *slash = strrchr(path, '/');
  snprintf(name, NAME_MAX + 1, "%s", slash ? slash + 1 : path);
  snprintf(parent, sizeof parent, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
  if (fstatat(dir, parent, &st, 0)) abort();
  return replay_find(st.st_ino);
}

/* What a call did, in the record; what is outside of the folder never comes here. */
static inline void replay_record(const faults_change *c)
{
  char path[PATH_MAX];
  struct stat st;
  const int by_name = strchr("onumR", c->kind) != NULL, from = c->kind == 'o' ? c->to_fd : c->fd;
  if (by_name && *c->name == '/' ? !faults_is_below(c->name)
      : from == AT_FDCWD || !faults_target(from, path) || !faults_is_below(path)) return;
  if (replay.n_op == REPLAY_OPS) abort();
  replay_op *o = &replay.op[replay.n_op++];
  *o = (replay_op){ .kind = c->kind };
  if (by_name) o->folder = replay_folder(from, c->name, o->name);
  if (c->kind == 'o' || c->kind == 'm') {
    if (fstatat(from, c->name, &st, AT_SYMLINK_NOFOLLOW)) abort();
    o->node = replay_add(st.st_ino, c->kind == 'm');
  } else if (c->kind == 'n') {
    if (replay_folder(c->to_fd, c->to, o->to) != o->folder) abort();
    if (fstatat(c->to_fd, c->to, &st, AT_SYMLINK_NOFOLLOW)) abort();
    o->node = replay_find(st.st_ino);
  } else if (!by_name) {
    o->node = replay_of(c->fd);
  }
  if (c->kind != 'w') return;
  o->at = (size_t)lseek(c->fd, 0, SEEK_CUR) - c->n;
  o->data = replay_copy(c->data, o->n = c->n);
}

/* What is in a folder before. */
static inline void replay_read(int at, int folder)
{
  DIR *d = fdopendir(at);
  struct stat st;
  for (struct dirent *e; d && (e = readdir(d));) {
    if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
    const int fd = openat(dirfd(d), e->d_name, O_RDONLY);
    if (fd < 0 || fstat(fd, &st) || replay.n_name == REPLAY_NAMES) abort();
    const int node = replay_add(st.st_ino, S_ISDIR(st.st_mode));
    replay_name *to = &replay.name[replay.n_name++];
    to->folder = folder;
    to->node = node;
    snprintf(to->name, sizeof to->name, "%s", e->d_name);
    if (S_ISDIR(st.st_mode)) {
      replay_read(fd, node);
      continue;
    }
    replay_node *file = &replay.node[node];
    file->data = replay_copy(NULL, 0);
    file->data = realloc(file->data, (size_t)st.st_size + 1);
    if (!file->data || pread(fd, file->data, (size_t)st.st_size, 0) != st.st_size) abort();
    file->n = (size_t)st.st_size;
    close(fd);
  }
  if (d) closedir(d);
}

/* Records what becomes of a folder from now on. */
static inline void replay_begin(const char *folder)
{
  struct stat st;
  for (int i = 0; i < replay.n_node; i++) free(replay.node[i].data);
  for (int i = 0; i < replay.n_op; i++) free(replay.op[i].data);
  replay.n_node = replay.n_name = replay.n_op = 0;
  if (stat(folder, &st)) abort();
  replay_add(st.st_ino, 1);
  replay_read(open(folder, O_RDONLY | O_DIRECTORY), 0);
  faults_recorder = replay_record;
  faults_begin(folder, "-", 0, 0, FAULTS_NONE);
  faults->pieces = FAULTS_PIECE;
}

/* Gives how many changes there were. */
static inline int replay_end(void)
{
  faults_end();
  faults->pieces = 0;
  faults_recorder = NULL;
  return replay.n_op;
}

/* ---- again ---- */

/* What chance decides about changes that were not synced. */
typedef enum replay_fate { REPLAY_LOST, REPLAY_KEPT, REPLAY_ANY, REPLAY_FATES } replay_fate;

static inline uint32_t replay_dice(uint64_t seed, int i)
{
  return jf_philox_at(seed, 1, (uint64_t)i).w[0];
}

/* Whether a change was synced by the first n. */
static inline int replay_synced(int i, int n)
{
  const replay_op *o = &replay.op[i];
  for (int k = i + 1; k < n; k++) {
    const replay_op *s = &replay.op[k];
    if (o->kind == 'w' ? s->kind == 'f' && s->node == o->node
                       : s->kind == 'd' && s->node == o->folder) return 1;
  }
  return 0;
}

typedef struct replay_disk {
  int n_name;
  replay_name name[REPLAY_NAMES + REPLAY_OPS];
  replay_node file[REPLAY_NODES];
} replay_disk;

static inline void replay_unname(replay_disk *d, int folder, const char *name)
{
  for (int i = 0; i < d->n_name; i++)
    if (d->name[i].folder == folder && !strcmp(d->name[i].name, name))
      d->name[i--] = d->name[--d->n_name];
}

static inline void replay_give_name(replay_disk *d, int folder, const char *name, int node)
{
  replay_unname(d, folder, name);
  replay_name *to = &d->name[d->n_name++];
  to->folder = folder;
  to->node = node;
  snprintf(to->name, sizeof to->name, "%s", name);
}

/* The first `part` of the bytes; zeros fill what was never written before them. */
static inline void replay_write(replay_node *f, const replay_op *o, size_t part)
{
  if (o->at + part > f->n) {
    char *p = realloc(f->data, o->at + part + 1);
    if (!p) abort();
    memset(p + f->n, 0, o->at + part - f->n);
    f->data = p;
    f->n = o->at + part;
  }
  if (part) memcpy(f->data + o->at, o->data, part);
}

static inline void replay_apply(replay_disk *d, const replay_op *o, size_t part)
{
  switch (o->kind) {
  case 'w': replay_write(&d->file[o->node], o, part); break;
  case 'o': case 'm': replay_give_name(d, o->folder, o->name, o->node); break;
  case 'u': case 'R': replay_unname(d, o->folder, o->name); break;
  case 'n':
    replay_unname(d, o->folder, o->name);
    replay_give_name(d, o->folder, o->to, o->node);
    break;
  default: break;
  }
}

static inline void replay_make(const replay_disk *d, int folder, int at)
{
  for (int i = 0; i < d->n_name; i++) {
    const replay_name *name = &d->name[i];
    if (name->folder != folder) continue;
    if (replay.node[name->node].is_folder) {
      if (mkdirat(at, name->name, 0777)) abort();
      const int inside = openat(at, name->name, O_RDONLY | O_DIRECTORY);
      replay_make(d, name->node, inside);
      close(inside);
      continue;
    }
    const replay_node *f = &d->file[name->node];
    const int fd = openat(at, name->name, O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (fd < 0 || (f->n && write(fd, f->data, f->n) != (ssize_t)f->n)) abort();
    close(fd);
  }
}

/* Makes in an empty folder what the first n changes may have left. */
static inline void replay_crash(const char *folder, int n, replay_fate fate, uint64_t seed)
{
  static replay_disk d;
  d.n_name = replay.n_name;
  memcpy(d.name, replay.name, sizeof replay.name);
  for (int i = 0; i < replay.n_node; i++) {
    d.file[i] = replay.node[i];
    d.file[i].data = replay_copy(replay.node[i].data, replay.node[i].n);
  }
  for (int i = 0; i < n; i++) {
    const replay_op *o = &replay.op[i];
    const uint32_t dice = replay_dice(seed, i);
    const int synced = replay_synced(i, n);
    if (!synced && (fate == REPLAY_LOST || (fate == REPLAY_ANY && dice % 3 == 0))) continue;
    replay_apply(&d, o, synced || dice % 3 == 1 || fate == REPLAY_KEPT ? o->n
                        : o->n ? dice % o->n : 0);
  }
  const int at = open(folder, O_RDONLY | O_DIRECTORY);
  replay_make(&d, 0, at);
  close(at);
  for (int i = 0; i < replay.n_node; i++) free(d.file[i].data);
}

#endif
