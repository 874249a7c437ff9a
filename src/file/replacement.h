/* A file that takes another's place in one step, written under another name in its folder. */
#ifndef JF_REPLACEMENT_H
#define JF_REPLACEMENT_H

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
typedef struct jf_replacement {
  int dir, fd;                 /* -1: not open; both are closed by jf_replacement_close */
  char from[JF_MOST_NAME + 1], to[JF_MOST_NAME + 1];
  unsigned forks;              /* jf_forks() when it was made: a forked child neither removes it nor
                                  gives its lock back, as both are the parent's */
  int how;                     /* JF_PRIVATE: for its owner alone */
  const jf_info *rights;       /* whose rights it gets; NULL: those of the one it replaces */
  const char *step;            /* what could not be done */
} jf_replacement;
/* Each gives 0, or -1 with errno and step. What exists as `from` is EEXIST, links too. A file that
   replaces one which is not for everybody is not for everybody either while it is written. */
int jf_replacement_make(jf_replacement *d);
/* Names it after `to`, with JF_PART behind, makes it and locks it until it is closed. What a
   process that has ended left under that name is removed; while another one writes the same file,
   the name has a number too. */
int jf_replacement_begin(jf_replacement *d);
#define JF_PART ".jfl.part"
/* Gives the file its rights, syncs it, renames it and syncs the
   directory. ESTALE: another file was found in its place. */
int jf_replacement_commit(jf_replacement *d);
/* After a renaming: whether `to` is the file. Somebody else may get in between a look at a name and
   its renaming; a later save of this user's may have replaced it. Nothing is said where the system
   had the file closed. */
int jf_replacement_check(jf_replacement *d);
#define JF_LOST "find what was written, as something else took its place"
/* Removes `from` if it is still this file. */
void jf_replacement_discard(const jf_replacement *d);
void jf_replacement_close(jf_replacement *d);

#endif
