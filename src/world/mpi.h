/* The MPI that started this process. MPIs differ in their binary interface, so each has a shim: a
   small library that is built with its compiler (world/mpi/shim.c) and opened at run time. */
#ifndef JF_MPI_H
#define JF_MPI_H

#include "world/collective.h"

/* What a shim gives. Functions that return int give 0, or MPI's code of what failed, which `text`
   explains. Any thread may call them, one at a time. */
typedef struct jf_mpi {
  int (*init)(void);
  int (*rank)(void), (*size)(void);
  /* Gives every rank the n bytes of each, in the order of ranks. */
  int (*gather)(const void *mine, int n, void *all);
  /* To be called by all ranks or by none: it waits for all. */
  void (*end)(void);
  /* Begins sending and receiving; `test` says when all of that is done, and only then there may be
     another start. */
  int (*start)(const jf_mail *send, int n_send, const jf_mail *receive, int n_receive);
  int (*test)(int *done);
  void (*text)(int code, char *out, size_t size);
} jf_mpi;

/* The name under which a shim has it. */
#define JF_MPI_TABLE "jf_mpi_table"

/* Opens the shim of an MPI, "openmpi" or "mpich", whose mpirun started this process as one of
   `size`. */
jfl_status jf_mpi_open(const char *name, int size, const jf_mpi **out);
/* Fails for a code that is not 0; `doing` says what went wrong: "MPI_Init". */
jfl_status jf_mpi_check(const jf_mpi *m, int code, const char *doing);

#endif
