/* What differs from one operating system to the next, named by what callers want of it: threads,
   cores, signals that can be waited for, files, libraries, the environment. Each function has one
   meaning on all systems, or the nearest to it that is there, which is told here. What every
   system's C library has with the same meaning is called directly.

   Nothing else in the sources calls these parts of a system. C++-clean. */
#ifndef JF_SYSTEM_H
#define JF_SYSTEM_H

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "system/clock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- threads (thread.c) ---- */

/* Starts a thread with every signal blocked but SIGBUS, which belongs to what a thread reads
   (jf_mapping_new), so that handlers run on the host's threads; and with 2 MB of stack, whatever
   the system's default is; it rounds as is usual. 0, or an errno. */
int jf_thread_start(pthread_t *out, void *(*run)(void *arg), void *arg);
/* Has the calling thread compute floats as C begins, whatever its host set: to the nearest, without
   traps, with numbers close to 0. Gives how it was, for jf_float_restore (float.c). */
unsigned jf_float_usual(void);
void jf_float_restore(unsigned mode);
/* The bytes of stack that the calling thread has left; 0 where they are not known, such as on a
   stack of the host's own making. */
size_t jf_stack_left(void);
/* Whether the thread has ended; it is joined then. */
int jf_thread_has_ended(pthread_t thread);
/* Seconds of processor time that it took; -1: unknown. A system that counts too coarsely to tell
   whether a thread just ran gives the time that passed instead. */
double jf_thread_seconds(pthread_t thread);
/* Gives the calling thread the lowest priority, for good: the system may refuse to give it back. */
void jf_thread_lower(void);
/* Calls child() in each process that this one forks into; not at all where there are no forks. */
void jf_at_fork(void (*child)(void));

/* Locks that are free at each fork: whoever forks takes them before, so that what they guard is
   whole in the child, and gives them back in both processes. They are taken in the reverse of the
   order in which they were added, which is how a thread may hold one while it takes another. */
typedef struct jf_fork_lock {
  pthread_mutex_t *mu;
  struct jf_fork_lock *before, *after;         /* in the list of all */
} jf_fork_lock;
void jf_fork_lock_add(jf_fork_lock *l, pthread_mutex_t *mu);
void jf_fork_lock_remove(jf_fork_lock *l);

/* Sleeps while the atomic_uint at `at` is `seen`, at most so long, NULL: for ever; it may also
   return early. And wakes all that sleep on it. */
void jf_sleep_on(const void *at, unsigned seen, const struct timespec *most);
void jf_wake_all(const void *at);

/* ---- cores (thread.c) ---- */

enum { JF_MOST_CORES = 1024 };
typedef struct jf_cores { uint64_t word[JF_MOST_CORES / 64]; } jf_cores;
/* The cores that the process may use; gives how many, or 0 where that is not known, or where
   threads are not told on which cores to run. */
int jf_cores_mine(jf_cores *out);
/* How many cores the process may use, at least 1. */
int jf_cores_count(void);
/* The core on which the caller runs now; -1: unknown. */
int jf_core_here(void);
void jf_cores_only(jf_cores *c, int core);
/* Takes a core out; gives how many are left. */
int jf_cores_without(jf_cores *c, int core);
void jf_thread_keep_to(pthread_t thread, const jf_cores *c);

/* ---- signals between threads that a host can wait for beside its own things (wait.c) ---- */

/* A descriptor for poll; on Windows the HANDLE of an event, for WaitForMultipleObjects, as an int.
   -1: it cannot be made. Once set it stays so until it is cleared. */
int jf_signal_new(void);
void jf_signal_set(int s);
/* Gives whether it was set. */
int jf_signal_clear(int s);
/* Parts it, in a forked child, from that of the parent, which is the same one; as if newly made. */
void jf_signal_renew(int s);
void jf_signal_free(int s);

/* ---- memory (memory.c) ---- */

/* Asks for large pages in a block, which make it faster to touch for the first time. */
void jf_pages_large(char *base, size_t size);
/* Takes addresses that nothing may be read from or written to; NULL: there are none. */
void *jf_pages_reserve(size_t size);
void jf_pages_give_back(void *p, size_t size);
/* How many bytes the process may take where it is to get less than the machine has, so that asking
   for more fails; 0: there is no such limit. */
uint64_t jf_memory_limit(void);

/* ---- memory kept aside for libraries (reserve.c) ---- */

/* A library that ends the process, or uses what it did not get, where it is refused memory gets
   from here on some that is kept aside, as far as that reaches. What links to it is not changed.
   Only where libraries are ELF's, on x86-64 and 64-bit ARM. */
void jf_reserve_for(void *so);
/* Keeps it aside, 4 MB in blocks of the heap and 4 MB in pages; whether all of it is there. Cheap
   where nothing was taken since. */
int jf_reserve_fill(void);

/* ---- libraries, the environment, the process (process.c) ---- */

/* NULL: it cannot be opened, for the reason that jf_so_trouble gives, or NULL. */
void *jf_so_open(const char *name);
const char *jf_so_trouble(void);
void *jf_so_find(void *so, const char *name);
void jf_so_close(void *so);

/* Sets a variable that is not set, while the process has one thread; whether it did. */
int jf_environment_lend(const char *name, const char *value);
void jf_environment_take(const char *name);
/* The folder of the user's own; NULL: unknown. */
const char *jf_home_folder(void);

/* Random bytes for what need not be secret; whether there were as many now. */
int jf_random(void *p, size_t n);
/* Random bytes that nobody can guess; waits until the system has them. 0 or -1. */
int jf_secret(void *p, size_t n);
/* Calls fn at the end of the process, once in all; it gets the status, or 0 where no system tells
   it. Not on Windows. */
void jf_at_exit(void (*fn)(int status));
long jf_process(void);
/* To be called first by a program: where arguments come in another encoding they become UTF-8, and
   what it prints is shown as that. Standard descriptors that are closed are no file's from here
   on. */
void jf_begin(int *argc, char ***argv);
/* The path of the program that runs: 0, or -1 where the system does not tell. */
int jf_program(char *out, size_t size);
/* The system and the kind of processor, "Linux, x86_64"; the name of the machine. Both are cut to
   fit. */
void jf_system_name(char *out, size_t size);
void jf_machine(char *out, size_t size);
/* The width of the terminal that the descriptor writes to; 0: it is no terminal. */
int jf_terminal_columns(int fd);
/* Reads a number as strtod does in the C locale, whatever locale the host has set. */
double jf_number_read(const char *s, char **end);

/* ---- files (file.c, folder.c) ---- */

#ifndef ESTALE
#define ESTALE EIO             /* Windows has no name for a file that became another one */
#endif

/* Paths are UTF-8, with slashes. Files and folders are open under a number; what fails gives -1
   with errno. Links are symbolic ones. */
enum { JF_MOST_PATH = 4096, JF_MOST_NAME = 255 };
/* The folder from which relative paths start where none is named. */
enum { JF_HERE = -100 };

typedef enum jf_how {
  JF_READ = 1, JF_WRITE = 2,
  JF_NEW = 4,                  /* it must not be there: EEXIST, also for a link */
  JF_PRIVATE = 8,              /* where it is made, for its owner alone */
  JF_NO_LINK = 16,             /* a link is ELOOP */
  JF_ADD = 32,                 /* writes go to its end; it is made where it is not there */
  JF_WAIT = 64,                /* for who else has a pipe or device, or until a signal comes, which
                                  is EINTR; never without it */
  JF_PINNED = 128              /* a folder: nobody moves it, on systems that find it by its path */
} jf_how;
int jf_open(int folder, const char *path, int how);
int jf_close(int file);
int64_t jf_read(int file, void *to, size_t n);
/* Waits until reading the file need not wait, for so many seconds or until a signal comes; whether
   that is so. */
int jf_is_ready(int file, double seconds);
int64_t jf_read_at(int file, void *to, size_t n, uint64_t at);
/* The first n bytes of a file as memory (mapping.c), counted; NULL: it cannot be had so. What is
   written there stays in memory. What the file no longer has, or what cannot be read of it, becomes
   zeros: from then on the process has a handler for SIGBUS, which leaves other addresses to the one
   before. */
typedef struct jf_mapping jf_mapping;
jf_mapping *jf_mapping_new(int file, size_t n);
jf_mapping *jf_mapping_keep(jf_mapping *m);
void jf_mapping_drop(jf_mapping *m);
char *jf_mapping_data(const jf_mapping *m);
/* Whether the file is as it was in the beginning, and could be read wherever it was. */
int jf_mapping_is_whole(jf_mapping *m);
/* Between these the calling thread can have SIGBUS: where a host's thread blocks it, the system
   ends the process. The first gives what the second takes. */
int jf_mapping_begin(void);
void jf_mapping_end(int was_blocked);
/* Gives back the memory of n bytes that nobody wrote to; who reads them has them again. */
void jf_mapping_rest(const jf_mapping *m, const void *from, size_t n);
/* Reads n bytes, or up to the end (read.c). Gives how many, or -1. */
int64_t jf_read_all(int file, void *to, size_t n);
/* Writes all: 0 or -1. A limit of file sizes is the error EFBIG and no signal. */
int jf_write_all(int file, const void *from, size_t n);
/* From there on is read and written. */
int jf_seek(int file, uint64_t at);
int jf_sync(int file);
/* Locks the file until it is closed; EWOULDBLOCK: another one has locked it. A file system without
   locks fails otherwise. */
int jf_lock(int file);
/* Gives the lock back before the file is closed: a forked process may have the file too, and would
   keep it. */
void jf_unlock(int file);
/* Says that it was used now. */
void jf_touch(int file);

typedef enum jf_file_kind { JF_FILE, JF_FOLDER, JF_LINK, JF_SPECIAL } jf_file_kind;
/* What is known of a file. id and place tell it from all others. Owner, group and rights are those
   of POSIX; where a system has none, `mine` is 1 and rights are 0600. */
typedef struct jf_info {
  jf_file_kind kind;
  int64_t size;
  int64_t changed;             /* when, in nanoseconds */
  uint64_t id, place;
  unsigned owner, group, rights;
  unsigned names;              /* hard links */
  int mine;                    /* its owner is who runs this */
} jf_info;
int jf_info_of(int file, jf_info *out);
/* Of what a path leads to, or of the link itself with JF_NO_LINK; the folder may be JF_HERE.
   JF_WRITE: of what is to be written, where that is elsewhere for the thread. */
int jf_info_at(int folder, const char *path, int how, jf_info *out);
int jf_info_of_folder(int folder, jf_info *out);
/* Gives the file these owner, group and rights, as far as the caller may; a group that cannot be
   given gets no rights. Fails where the rights cannot be given on a file system that has some. */
int jf_inherit(int file, const jf_info *from);

/* Opens a folder, one that may be used but not listed too. JF_WRITE: to change what is in it. */
int jf_folder_open(int folder, const char *path, int how);
void jf_folder_close(int folder);
/* Makes the names in the folder durable, where its file system can do that. */
int jf_folder_sync(int folder);
int jf_folder_make(int folder, const char *path, int how);
int jf_folder_remove(int folder, const char *name);
int jf_file_remove(int folder, const char *name);
/* Gives a file another name in its folder, in one step; what had that name is gone. */
int jf_file_rename(int folder, const char *from, const char *to);
/* Renames a folder; what has that name is an empty folder, or EEXIST or ENOTEMPTY. A system
   that moves no folder with an open file in it closes *inside first, and sets it to -1. */
int jf_folder_rename(int folder, const char *from, const char *to, int *inside);
/* Where a link leads; EINVAL: it is none. Gives the length, without a 0 behind it. */
int64_t jf_link_read(int folder, const char *name, char *to, size_t size);

/* Goes through the names in a folder but "." and "..". NULL: there are no more, and errno is 0, or
   it cannot be read. */
typedef struct jf_listing jf_listing;
jf_listing *jf_listing_open(int folder);
const char *jf_listing_next(jf_listing *l);
void jf_listing_close(jf_listing *l);

/* ---- what a thread may open (reach.c) ---- */

/* What a state opens in which scripts run that nobody trusts: files below one folder to read, and
   below one to write; they may be the same. A thread that has a reach opens, looks at, makes,
   renames and removes no others by the functions above: JF_HERE is the one of both folders that
   `how` asks for, no path leaves the folder where it starts, by "..", from a root or through a
   link, and nothing is opened but files and folders. All else is EACCES. What is open already can
   be used; two threads may have the same. What the library opens for itself, it opens with none:
   libraries (jf_so_open) and compiled kernels, whose paths come from the environment and from
   tables of its own, never from a script. */
typedef struct jf_reach jf_reach;
/* One with neither folder; NULL: memory ran out. */
jf_reach *jf_reach_new(void);
/* Gives it a folder, JF_READ or JF_WRITE; -1 with errno. */
int jf_reach_open(jf_reach *r, const char *path, int how);
jf_reach *jf_reach_keep(jf_reach *r);
void jf_reach_drop(jf_reach *r);
/* From here on it opens nothing: the folders are closed, once nobody uses it. */
void jf_reach_close(jf_reach *r);
/* Gives the thread that reach, NULL: none, and returns the one before. */
const jf_reach *jf_reach_set(const jf_reach *r);
/* Opens a file below a folder to read it, by a path that a stranger wrote: one that leads out of
   the folder, through a link too, is EACCES. */
int jf_open_within(const char *folder, const char *path);
/* What errno means, as a text; of EACCES also what the thread may open. */
const char *jf_trouble(int e);
/* Sets what EACCES means to threads that may open any file, where a wall keeps the process from
   some. To be called before there are threads. */
void jf_trouble_set(const char *says);

#ifdef __cplusplus
}
#endif

#endif
