/* Vocabulary every layer shares: errors, memory, shapes, text, hashing, random bits, threads.
   C++-clean. */
#ifndef JF_BASE_H
#define JF_BASE_H

#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

#include "jfl.h"
#include "system/clock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors (status.c) ---- */

/* Records an error for this thread and returns s, so a check is one return statement. */
jfl_status jf_fail(jfl_status s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Records that an argument, attribute or result is wrong: its name, then "must be ..., got ...". */
jfl_status jf_fail_argument(jfl_status s, const char *argument, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* Unless s is JFL_OK, adds the job, node or op in which this thread's error happened. A part that
   the error has already stays. Returns s. */
jfl_status jf_fail_in(jfl_status s, jfl_part part, const char *name);
/* Puts a prefix before the text of this thread's error; returns s. */
jfl_status jf_blame(jfl_status s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Forgets this thread's last error. */
void jf_error_clear(void);
/* An error on its way from one thread to another: a copy of this thread's last one, which jf_free
   frees, or NULL without memory; and a copy made this thread's last one, or "out of memory" for
   NULL. Returns s. */
typedef struct jf_error jf_error;
jf_error *jf_error_copy(void);
jfl_status jf_error_restore(jfl_status s, const jf_error *e);
#define JF_TRY(e) do { jfl_status s_ = (e); if (s_ != JFL_OK) return s_; } while (0)

/* ---- what hosts hear of (hooks.c) ---- */

/* Called by each thread that the library starts, first and last. */
void jf_thread_begins(const char *what);
void jf_thread_ends(const char *what);

/* ---- memory (memory.c) ---- */

/* Sets the host's allocator; NULL: malloc and free. */
void jf_memory_from(const jfl_allocator *a);
int jf_memory_is_given(void);      /* whether the host has set one */
/* Zeroed, 64-byte aligned, from the host's allocator; NULL when there is none. n may be 0. */
void *jf_new(size_t n);
/* Memory as from jf_new, but not zeroed. */
void *jf_new_raw(size_t n);
void jf_free(void *p);

/* What a state with limits may have: so much memory, with a reach (system.h) so many files, and
   with an end so much time. Any thread may count. */
typedef struct jf_budget jf_budget;
struct jf_reach;
jf_budget *jf_budget_new(uint64_t most);       /* 0: any number of bytes; NULL without memory */
/* It lives until all blocks that it counts are free. */
void jf_budget_drop(jf_budget *b);
/* Whether n bytes more are within it; then they count. NULL has room for all. */
int jf_budget_take(jf_budget *b, size_t n);
void jf_budget_give(jf_budget *b, size_t n);
uint64_t jf_budget_used(const jf_budget *b);
uint64_t jf_budget_most(const jf_budget *b);
/* Before a thread is charged: keeps the reach that such threads have. */
void jf_budget_confine(jf_budget *b, struct jf_reach *reach);
/* Before a thread is charged: how many seconds are left, asked on any such thread; INFINITY: no
   end. It is asked no more once the threads are done. */
void jf_budget_limit(jf_budget *b, double (*left)(void *ctx), void *ctx);
double jf_budget_left(const jf_budget *b);     /* seconds */
/* From here on this thread works for b: blocks that it gets count there, and it opens files within
   its reach. NULL: it works for nobody with limits. Gives the one before. */
jf_budget *jf_memory_charge(jf_budget *b);
jf_budget *jf_memory_budget(void);             /* that of this thread, or NULL */

/* ---- time (time.c) ---- */

/* Called by loops whose length a script or a file chooses, and before work that takes long: fails
   with JFL_ELIMIT where this thread has no time left, or surely too little for so many steps, of
   which a processor does at most JF_STEPS_A_SECOND. */
#define JF_STEPS_A_SECOND 4e11
jfl_status jf_time_for(double steps);
/* Of the small steps of a loop, of which this is the i-th, some look at whether time is left. */
static inline jfl_status jf_time_at(int64_t i) { return i & 0xfff ? JFL_OK : jf_time_for(0); }
/* Of a loop over bytes, of which `at` are done: looks at the time now and then, which *looked
   tells. */
static inline jfl_status jf_time_along(size_t at, size_t *looked)
{
  if (at - *looked < 1 << 16) return JFL_OK;
  *looked = at;
  return jf_time_for(0);
}
jfl_status jf_time_is_over(void);              /* fails so */
/* Fails where this thread has too little time left for a call of a library, which nothing ends
   until it is done: it may take a second for JF_SLOWEST operations. */
#define JF_SLOWEST 2e10
jfl_status jf_time_for_call(double operations);
/* As qsort does, in time; what v has after a failure is not told. */
jfl_status jf_sort_in_time(void *v, size_t n, size_t each,
                           int (*order)(const void *a, const void *b));

/* An arena: everything a graph and its plan own dies with it. */
typedef struct jf_arena {
  struct jf_block *head;
  jmp_buf *unwind;            /* where an arena that cannot grow goes; set by the API entry */
  int late;                   /* it went there since the thread has no time left */
} jf_arena;
void jf_arena_free(jf_arena *a);
/* Zeroed. Unwinds to a->unwind when memory or time is out, so callers need no check. */
void *jf_alloc(jf_arena *a, size_t n);
/* What the arena has given so far, and giving back what was taken since: as much of it as lies in
   one block. */
typedef struct jf_arena_mark { struct jf_block *head; size_t used; } jf_arena_mark;
jf_arena_mark jf_arena_now(const jf_arena *a);
void jf_arena_back(jf_arena *a, jf_arena_mark mark);
/* Unwinds where time is out, as jf_alloc does after some bytes: for long work that takes none. */
void jf_arena_ask(jf_arena *a);
char *jf_strdup(jf_arena *a, const char *s);
char *jf_sprintf(jf_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Room for one more in an array of n: returns v, or a copy of twice the capacity. */
void *jf_grow(jf_arena *a, void *v, int n, int *cap, size_t elem);
/* Makes room for one more in an array of n, from jf_new or NULL, which a copy of twice the capacity
   replaces where it is full; 0, and all as it was, where memory is out. */
#define JF_ROOM(v, n, cap) ((n) < (cap) || jf_make_room(&(v), (n), &(cap), sizeof *(v)))
int jf_make_room(void *v, int n, int *cap, size_t elem);

/* ---- maps from strings to pointers (map.c) ---- */

typedef struct jf_map { struct jf_map_slot *slot; int n, cap; } jf_map;
/* The value, or NULL. */
void *jf_map_get(const jf_map *m, const char *key);
/* Adds or replaces in a map that lies in an arena; the key is copied. */
void jf_map_put(jf_arena *a, jf_map *m, const char *key, void *value);
/* Adds a key that is new to a map which jf_map_free frees; the key must live as long as the map. */
jfl_status jf_map_add(jf_map *m, const char *key, void *value);
/* Takes a key out of such a map, if it has it. */
void jf_map_remove(jf_map *m, const char *key);
void jf_map_free(jf_map *m);

/* ---- dtypes and shapes (shape.c) ---- */

/* Instantiation lists for kernels: X(dtype id, C type). */
#define JF_EACH_FLOAT(X) X(F32, float) X(F64, double)
#define JF_EACH_INT(X) X(I32, int32_t) X(I64, int64_t)
#define JF_EACH_SMALL(X) X(I8, int8_t) X(U8, uint8_t)
#define JF_EACH_NUM(X) JF_EACH_FLOAT(X) JF_EACH_INT(X)
#define JF_EACH_TYPE(X) JF_EACH_NUM(X) JF_EACH_SMALL(X)

int jf_is_float(jfl_dtype t);
/* Whether elements are blocks of several numbers (JFL_BLOCK_DTYPES). */
int jf_is_block(jfl_dtype t);
/* The shape in numbers of one in elements; and the other way, which fails where `what` cannot be
   cut into blocks along its last axis. Both are s itself for dtypes whose elements are numbers. */
jfl_shape jf_shape_numbers(jfl_dtype t, const jfl_shape *s);
jfl_status jf_shape_blocks(jfl_dtype t, const jfl_shape *s, const char *what, jfl_shape *out);
/* v, or for integer dtypes the nearest number within their range that a double can be; then
   not-a-number becomes 0. */
double jf_clamp(jfl_dtype t, double v);
/* Whether t has the number v: whole and within range, or any for float dtypes. */
int jf_holds(jfl_dtype t, double v);
/* How many elements; 1 for a scalar. */
int64_t jf_numel(const jfl_shape *s);
/* The bytes of what has a shape and a dtype, by its address. */
#define JF_BYTES_OF(x) ((size_t)jf_numel(&(x)->shape) * jfl_dtype_size((x)->dtype))
int jf_shape_eq(const jfl_shape *a, const jfl_shape *b);
/* "(2, 3)"; buf of JF_SHAPE_STR bytes fits any shape. Returns buf. */
enum { JF_SHAPE_STR = 8 * 22 + 4 };
const char *jf_shape_str(const jfl_shape *s, char *buf);
/* No extent negative, at most JFL_MAXDIM of them, and the product of those that are not 0 at most
   2^47, so that neither the element count nor the step of an axis overflows; what: whose shape it
   is. */
jfl_status jf_shape_check(const jfl_shape *s, const char *what);

/* ---- text (text.c) ---- */

/* Growable text; once memory is out, or where it would have more than `most` bytes (0: any number),
   it stays empty and failed, which is then JF_TOO_LONG. */
typedef struct jf_text { char *s; size_t n, cap; int failed; size_t most; } jf_text;
enum { JF_TOO_LONG = 2 };
void jf_text_add(jf_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void jf_text_put(jf_text *t, const char *s, size_t n);
/* Hands the text to *out (freed with jfl_text_free), or fails with JFL_ENOMEM. */
jfl_status jf_text_take(jf_text *t, char **out);
/* Orders pointers to texts, for qsort. */
int jf_by_text(const void *a, const void *b);
/* Whether `word` is one of the words in a list separated by spaces. */
int jf_has_word(const char *words, const char *word);

/* ---- UTF-8 (utf8.c); jfl_printable is there too ---- */

/* Bytes of the sequence at s, of n bytes left; 0 if there is none. Refuses overlong forms,
   surrogates and what lies beyond U+10FFFF (The Unicode Standard, table 3-7). */
size_t jf_utf8_step(const char *s, size_t n);
int jf_utf8_valid(const char *s);

/* ---- hashing and random bits (rng.c) ---- */

uint64_t jf_hash(uint64_t seed, const void *p, size_t n);
uint64_t jf_hash_str(uint64_t seed, const char *s);

/* Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): four
   random words that depend on key and counter alone. */
typedef struct jf_philox { uint32_t w[4]; } jf_philox;
jf_philox jf_philox_at(uint64_t key, uint64_t hi, uint64_t lo);
/* In [0, 1), 24 bits. */
static inline float jf_unit(uint32_t w) { return (float)(w >> 8) * 0x1p-24f; }
uint64_t jf_entropy(void);

/* ---- shared libraries (library.c) ---- */

/* Opens a shared library, or gives NULL, as it does where not even `room` bytes are free (see
   jf_library_room). env is NULL or a list of up to eight names, each followed
   by a value, and a NULL. These variables are in the environment while the library loads, since
   some settings can be made in no other way. Variables that the user set are left alone, and none
   is set once the process has several threads, which might be reading the environment. */
void *jf_library_open(const char *name, const char *const *env, size_t room);
/* Opens a library that most machines lack: sets no variables, asks for no memory, and notes nothing
   where it is missing. */
void *jf_library_try(const char *name);
/* Whether so many bytes are free now. oneDNN ends the process, and OpenBLAS waits for ever, where
   memory fails within them: so they are asked for nothing when little is left. */
int jf_library_room(size_t bytes);
/* Libraries such as oneDNN end the process where memory fails within them. One that is guarded gets
   then what jf_library_spare keeps aside, which is called before each use; 0: there is too little
   for that, so it must not be used. NULL is fine. */
void jf_library_guard(void *so);
int jf_library_spare(void);
/* Whether a library that ends the process where memory fails may be opened: not where the process
   is to get less than the machine has, unless JFL_LIBRARIES is all. Notes that it is missing. */
int jf_library_safe(const char *name);
void jf_library_close(void *so);
/* Sets the function pointer at fn to the library's function, or to NULL; returns whether it is
   there. */
int jf_library_find(void *so, const char *name, void *fn);
/* Whether a library is open, which `load` gives: that is called at the first need, and again at the
   next while it gives 0, as memory may have failed within it. Zeroed at first. */
typedef struct jf_library_state { atomic_int ready; } jf_library_state;
int jf_library_ready(jf_library_state *state, int (*load)(void));

/* ---- parallel loops (crew.c) ---- */

/* Calls fn(ctx, i) for i in 0..n-1 on the caller and up to threads - 1 helpers. fn must not fail; a
   loop within fn runs on its caller alone. Once the caller has no time left, further calls are left
   out, and so are those of its later loops until jf_loops_whole is asked: who runs kernels does so
   behind them, and drops what they computed. */
void jf_parallel(int threads, int n, void (*fn)(void *ctx, int i), void *ctx);
/* Calls fn(ctx, i, worker), for loops that need memory for each thread: `worker` is below
   `threads`, and no two calls with the same worker run at the same time. */
typedef void (*jf_worker_fn)(void *ctx, int i, int worker);
void jf_parallel_workers(int threads, int n, jf_worker_fn fn, void *ctx);
/* Asked by loops of kernels that jf_parallel does not run: whether the rest is to be left out. The
   second is for many short rounds: before round i of those that take m elements each, it asks once
   for some 2^14 elements. */
int jf_loop_ends(void);
static inline int jf_loop_ends_at(int64_t i, int64_t m)
{
  return i * m >> 14 != (i - 1) * m >> 14 && jf_loop_ends();
}
/* What a kernel has come to that gave s: JFL_ELIMIT where a loop of this thread has left something
   out since this was asked last, whatever the kernel made of that, else s. */
jfl_status jf_loops_whole(jfl_status s);
/* Sets how the calling thread's later loops run: on at most so many threads (0: as many as they ask
   for), and whether with helpers of the lowest priority. */
void jf_loops_set(int most, int low);
void jf_loops_get(int *most, int *low);

/* ---- stacks (stack.c) ---- */

/* Calls fn(ctx) and gives its status: on the calling thread, or while that waits on a thread made
   for it where the caller has little stack left, as in hosts with threads of 64 kB. */
jfl_status jf_with_stack(jfl_status (*fn)(void *ctx), void *ctx);

/* ---- conditions, forks, cores (threads.c) ---- */

/* What threads wait for under a mutex, as with pthread_cond_t. There a broadcast may wait until
   threads that were woken before have run, which with the lowest priority takes as long as others
   want the cores: here it never waits. Zeroed at first, also in a forked child. */
typedef struct jf_condition {
  atomic_uint turn;
  int asleep;                  /* how many threads wait; guarded by the mutex */
} jf_condition;
/* With the mutex, which it leaves meanwhile. It may return early. The second waits at most until
   that time on the clock of jf_now, and gives whether it is later. */
void jf_condition_wait(jf_condition *c, pthread_mutex_t *mu);
int jf_condition_wait_until(jf_condition *c, pthread_mutex_t *mu, double until);
/* With the mutex: wakes all that wait. */
void jf_condition_tell(jf_condition *c);

/* How often this process was forked since it first asked. */
unsigned jf_forks(void);
int jf_cpu_count(void);
/* Between two looks at what has to happen: lets other threads run, in later rounds for longer. */
void jf_give_way(int round);

#ifdef __cplusplus
}
#endif
#endif
