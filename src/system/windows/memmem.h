/* A function of string.h that mingw-w64 lacks, for the sources that call it. */
#ifndef JF_MEMMEM_H
#define JF_MEMMEM_H

#include <stddef.h>

void *memmem(const void *text, size_t n, const void *part, size_t n_part);

#endif
