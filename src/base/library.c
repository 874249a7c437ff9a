/* Opening shared libraries at run time. */
#include "base/base.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/single_threaded.h>

void *jf_library_open(const char *name, const char *const *env)
{
  int set[8] = {0};
  for (int i = 0; i < 8 && env && env[2 * i]; i++)
    set[i] =
        __libc_single_threaded && !getenv(env[2 * i]) && !setenv(env[2 * i], env[2 * i + 1], 1);
  void *so = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  for (int i = 0; i < 8; i++)
    if (set[i]) unsetenv(env[2 * i]);
  return so;
}

int jf_library_find(void *so, const char *name, void *fn)
{
  void *f = so ? dlsym(so, name) : NULL;
  *(void **)fn = f;          /* POSIX: a function pointer has the size of void * */
  return f != NULL;
}
