/* What the system is asked to keep a process from, for jfl --sandbox. */
#ifndef JF_WALLS_H
#define JF_WALLS_H

#include <stddef.h>
#include <stdint.h>

enum { JF_MOST_FOLDERS = 16 };

typedef struct jf_folders { const char *at[JF_MOST_FOLDERS]; int n; } jf_folders;

typedef struct jf_walls {
  jf_folders read, write;
  const char *script;          /* a file that may be read, or NULL */
  uint64_t memory, disk;       /* bytes: that it has, and that it writes in all */
  double seconds;
} jf_walls;

/* Puts this process behind them, for good. 0: all of them stand; else says in `why` which does not,
   and the process must not run what they are for. */
int jf_walls_raise(const jf_walls *w, char *why, size_t size);

#endif
