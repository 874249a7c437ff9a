/* A file that takes another's place in one step, written under another name in its folder. */
#ifndef JF_SUCCESSOR_H
#define JF_SUCCESSOR_H

#include "system/system.h"

/* Whether the path, which starts at the directory `at`, is the open file, and no link to it; and
   whether it leads to the open directory, with JF_NO_LINK without being one. */
int jf_file_same(int fd, int at, const char *path);
int jf_folder_same(int dir, int at, const char *path, int how);
/* Whether it is a file as a save of this user leaves it: no link, nor under another name too. */
int jf_file_ours(const jf_info *i);

/* It is made anew, as `from` in the directory dir, and becomes `to` there when it is whole; the two
   may be one. All is done relative to the open directory, so it does not matter what becomes of its
   path. */
typedef struct jf_successor {
  int dir, fd;                 /* -1: not open; both are closed by jf_successor_close */
  char from[JF_MOST_NAME + 1], to[JF_MOST_NAME + 1];
  int how;                     /* JF_PRIVATE: for its owner alone */
  const jf_info *rights;       /* whose rights it gets; NULL: those of the one it replaces */
  const char *step;            /* what could not be done */
} jf_successor;
/* Each gives 0, or -1 with errno and step. What exists as `from` is EEXIST, links too. A file that
   replaces one which is not for everybody is not for everybody either while it is written. */
int jf_successor_make(jf_successor *d);
/* Names it after `to`, with JF_PART behind, makes it and locks it until it is closed. What a
   process that has ended left under that name is removed; while another one writes the same file,
   the name has a number too. */
int jf_successor_begin(jf_successor *d);
#define JF_PART ".jfl.part"
/* Gives the file its rights, syncs it, renames it and syncs the
   directory. ESTALE: another file was found in its place. */
int jf_successor_keep(jf_successor *d);
/* After a renaming: whether `to` is the file. Somebody else may get in between a look at a name and
   its renaming; a later save of this user's may have replaced it. Nothing is said where the system
   had the file closed. */
int jf_successor_check(jf_successor *d);
#define JF_LOST "find what was written, as something else took its place"
/* Removes `from` if it is still this file. */
void jf_successor_drop(const jf_successor *d);
void jf_successor_close(jf_successor *d);

#endif
