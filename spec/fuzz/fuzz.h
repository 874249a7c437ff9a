/* What fuzz.c, which makes inputs, and targets.c, which reads them, share. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>

enum { FUZZ_MAX = 8192 };      /* bytes of an input */

typedef struct fuzz_target {
  const char *name;
  void (*run)(const unsigned char *data, size_t n);
  const char *const *words;    /* what occurs in such inputs, for mutations; ends with NULL */
} fuzz_target;
extern const fuzz_target fuzz_targets[];
extern const int fuzz_n_targets;

/* Reports what is wrong with the present input, which is kept in a file, and ends the process. */
_Noreturn void fuzz_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void fuzz_set_up(void);
/* A target that is more than a few lines (world.c). */
void fuzz_world(const unsigned char *data, size_t n);
/* Tells that the run came to a place in the code; what was reached before it counts too. */
void fuzz_reach(uintptr_t place);

#endif
