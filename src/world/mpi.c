/* Finding and opening the shim of the MPI that started this process. */
#include "world/mpi.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MPI_PATH = 4096, MPI_UP = 4 };

/* The MPIs for which shims are built, and the package to build the shim with. */
static const struct { const char *name, *title, *package; } mpi_known[] = {
  { "openmpi", "Open MPI", "libopenmpi-dev" },
  { "mpich", "MPICH", "libmpich-dev" },
};

/* The folder of the file that this code was loaded from: the module's, or else the program's. */
static void mpi_folder(char *out)
{
  Dl_info here;
  char *end = NULL;
  *out = '\0';
  const int known = dladdr(mpi_known, &here) && here.dli_fname && strchr(here.dli_fname, '/');
  if (!known || !realpath(here.dli_fname, out)) {
    const ssize_t n = readlink("/proc/self/exe", out, MPI_PATH - 1);
    out[n < 0 ? 0 : n] = '\0';
  }
  if ((end = strrchr(out, '/'))) *end = '\0';
}

/* Writes the path of a shim in a folder below another; gives whether it is there. */
static int mpi_try(int which, const char *folder, const char *below, char *path)
{
  snprintf(path, MPI_PATH + 64, "%s%s/jfl-mpi-%s.so", folder, below, mpi_known[which].name);
  return !access(path, F_OK);
}

/* Writes where the shim is: beside this code, as it is built, or in jfl or lib/jfl of a folder
   above, as /usr/lib/jfl is for /usr/bin/jfl and for /usr/lib/x86_64-linux-gnu/lua/5.1/jfl.so. */
static void mpi_find(int which, char *path)
{
  char folder[MPI_PATH];
  mpi_folder(folder);
  if (mpi_try(which, folder, "", path)) return;
  for (int up = 0; up < MPI_UP; up++) {
    if (mpi_try(which, folder, "/jfl", path) || mpi_try(which, folder, "/lib/jfl", path)) return;
    char *end = strrchr(folder, '/');
    if (end) *end = '\0';
  }
  mpi_folder(folder);
  mpi_try(which, folder, "", path);
}

/* MPI's own modules look for its symbols among those that all can see. */
static void *mpi_load(int which)
{
  char path[MPI_PATH + 64];
  const char *given = getenv("JFL_MPI_SHIM");
  mpi_find(which, path);
  return dlopen(given ? given : path, RTLD_NOW | RTLD_GLOBAL);
}

jfl_status jf_mpi_open(const char *name, int size, const jf_mpi **out)
{
  int which = 0;
  while (strcmp(mpi_known[which].name, name)) which++;
  void *so = mpi_load(which);
  const char *why = so ? NULL : dlerror();
  *out = so ? dlsym(so, JF_MPI_TABLE) : NULL;
  if (*out) return JFL_OK;
  return jf_fail(JFL_EIO, "mpirun of %s started this process as one of %d, but what connects jfl "
                 "to it cannot be used (%s); install %s and build jfl again, or start it by "
                 "jfl --ranks",
                 mpi_known[which].title, size, why ? why : "it has no " JF_MPI_TABLE,
                 mpi_known[which].package);
}

jfl_status jf_mpi_check(const jf_mpi *m, int code, const char *doing)
{
  char text[256];
  if (!code) return JFL_OK;
  m->text(code, text, sizeof text);
  return jf_fail(JFL_EIO, "%s failed: %s", doing, text);
}
