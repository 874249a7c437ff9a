/* Which version of a library this one is, by its file's name: a copy of it may be another one. */
#ifndef EMULATED_VERSION_H
#define EMULATED_VERSION_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* 13 for libnvrtc.so.13, of which `own` is a function. */
static inline int emulated_major(const void *own)
{
  Dl_info info;
  const char *dot = dladdr(own, &info) ? strrchr(info.dli_fname, '.') : NULL;
  return dot ? atoi(dot + 1) : 0;
}

#endif
