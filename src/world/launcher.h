/* What programs that start the processes of a run, launchers, told this one by its environment. The
   world asks where the ranks meet, and the command, which sees no more of this room, whether
   this one prints: both get the same answer (where.c). */
#ifndef JF_LAUNCHER_H
#define JF_LAUNCHER_H

/* What jfl --ranks tells the processes that it starts; where.c has the list of such variables. */
void jf_launched_tell(const char *name, const char *value);

/* Which of how many processes this is; 0 of 1 where no launcher says so, or what it says cannot be.
   Nobody has been met yet. */
int jf_launched_rank(int *size);
/* A program that a rank starts inherits its environment, but is no rank, and what jfl --ranks told
   that one counts for nothing here. This takes it out, while the process has one thread. */
void jf_launched_forget(void);
/* The descriptor by which the launcher hears the error that ends this process; -1: none. */
int jf_launched_report(void);
/* Seconds that a rank may be silent, and that the others get to end by themselves once one has
   failed: JFL_PATIENCE. */
double jf_launched_patience(void);
/* Seconds that JFL_STALL_SECONDS says; 0: nothing. */
double jf_launched_stall(void);

#endif
