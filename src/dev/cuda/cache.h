/* Compiled kernels on disk, in $XDG_CACHE_HOME/jfl or ~/.cache/jfl. It is a convenience: whatever
   goes wrong here only means that kernels are compiled again. */
#ifndef JF_CUDA_CACHE_H
#define JF_CUDA_CACHE_H

#include "base/base.h"

/* Gives what was kept under that key for that source, freed by jf_free; 0: there is nothing. */
int jf_cuda_cache_read(uint64_t key, const char *text, void **image, size_t *size);
/* Keeps an image; when the folder holds too much, the images that were used longest ago go. */
void jf_cuda_cache_write(uint64_t key, const char *text, const void *image, size_t size);

#endif
