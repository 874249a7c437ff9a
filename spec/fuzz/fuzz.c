/* fuzz TARGET SECONDS CORPUS FOUND: gives the target every file of the two directories, then
   changes them at random for so many seconds. Inputs that reach new places in the code are changed
   further, and kept in FOUND; so is an input that does harm, as FOUND/harmful. Compiled with
   -fsanitize-coverage=trace-pc,trace-cmp, the code tells which places it reaches, and what it
   compares with what. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

enum { POOL = 4096, PLACES = 1 << 16, COMPARED = 256 };
enum { CPU_SECONDS = 10, REAL_SECONDS = 600, MAX_CHANGES = 6 };

static unsigned char input[FUZZ_MAX];
static size_t input_size;
static char harmful[PATH_MAX];

/* ---- random numbers ---- */

static uint64_t random_state = 1;

/* Xorshift (Marsaglia, "Xorshift RNGs", 2003). */
static uint64_t random_bits(void)
{
  random_state ^= random_state << 13;
  random_state ^= random_state >> 7;
  random_state ^= random_state << 17;
  return random_state;
}

static size_t below(size_t n) { return n ? (size_t)(random_bits() % n) : 0; }

/* ---- what the code reaches and compares ---- */

static _Alignas(8) unsigned char reached[PLACES];
static unsigned char known[PLACES];
static uintptr_t place_before;
static struct { uint64_t a, b; } compared[COMPARED];
static size_t n_compared;
static int n_known;

void fuzz_reach(uintptr_t place)
{
  place = place * 0x9e3779b97f4a7c15u >> 40;
  unsigned char *r = &reached[(place ^ place_before) % PLACES];
  *r = (unsigned char)(*r + (*r < UCHAR_MAX));
  place_before = place >> 1;
}

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) { fuzz_reach((uintptr_t)__builtin_return_address(0)); }

static void compare(uint64_t a, uint64_t b)
{
  if (a == b) return;
  size_t i = n_compared < COMPARED ? n_compared++ : below(COMPARED);
  compared[i].a = a;
  compared[i].b = b;
}

#define COMPARE(bits) \
  void __sanitizer_cov_trace_cmp##bits(uint64_t a, uint64_t b); \
  void __sanitizer_cov_trace_cmp##bits(uint64_t a, uint64_t b) \
  { \
    const uint64_t mask = UINT64_MAX >> (64 - 8 * bits); \
    compare(a & mask, b & mask); \
  } \
  void __sanitizer_cov_trace_const_cmp##bits(uint64_t a, uint64_t b); \
  void __sanitizer_cov_trace_const_cmp##bits(uint64_t a, uint64_t b) \
  { \
    __sanitizer_cov_trace_cmp##bits(b, a); \
  }
COMPARE(1)
COMPARE(2)
COMPARE(4)
COMPARE(8)

void __sanitizer_cov_trace_cmpf(float a, float b);
void __sanitizer_cov_trace_cmpf(float a, float b) { (void)a, (void)b; }
void __sanitizer_cov_trace_cmpd(double a, double b);
void __sanitizer_cov_trace_cmpd(double a, double b) { (void)a, (void)b; }

/* cases: how many, their width in bits, and the values. */
void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases);
void __sanitizer_cov_trace_switch(uint64_t value, uint64_t *cases)
{
  for (uint64_t i = 0; i < cases[0]; i++) compare(value, cases[2 + i]);
}

/* A count of 1, 2, 3, 4 to 7, 8 to 15, ... as one bit. */
static unsigned char bucket(unsigned count)
{
  const unsigned bit = count < 4 ? count - 1 : count < 8 ? 3 : count < 16 ? 4 : count < 32 ? 5
                     : count < 128 ? 6 : 7;
  return (unsigned char)(1u << bit);
}

static int is_new_at(int i)
{
  if (!reached[i]) return 0;
  const unsigned char b = bucket(reached[i]), news = !(known[i] & b);
  n_known += !known[i];
  known[i] |= b;
  return news;
}

/* Whether the last run did what none before did. A run reaches few of the places, so eight are
   looked at together. */
static int is_new(void)
{
  int news = 0;
  uint64_t eight;
  for (int i = 0; i < PLACES; i += 8) {
    memcpy(&eight, reached + i, sizeof eight);
    for (int k = 0; eight && k < 8; k++) news |= is_new_at(i + k);
  }
  return news;
}

/* ---- harm ---- */

static void write_file(const char *path, const void *data, size_t n)
{
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (fd < 0 || write(fd, data, n) != (ssize_t)n) fprintf(stderr, "fuzz: cannot write %s\n", path);
  if (fd >= 0) close(fd);
}

static void keep_harmful(void)
{
  write_file(harmful, input, input_size);
  fprintf(stderr, "fuzz: the input is in %s\n", harmful);
}

/* Sanitizers call it before they end the process. */
extern void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

static void on_signal(int signal)
{
  if (signal == SIGPROF) fprintf(stderr, "fuzz: a run took over %d s of a CPU\n", CPU_SECONDS);
  if (signal == SIGALRM) fprintf(stderr, "fuzz: a run took over %d s\n", REAL_SECONDS);
  keep_harmful();
  _exit(1);
}

void fuzz_wrong(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  fprintf(stderr, "fuzz: ");
  vfprintf(stderr, fmt, ap);
  fputc('\n', stderr);
  va_end(ap);
  keep_harmful();
  _exit(1);
}

static void catch_harm(void)
{
  if (__sanitizer_set_death_callback) __sanitizer_set_death_callback(keep_harmful);
  else signal(SIGSEGV, on_signal), signal(SIGBUS, on_signal), signal(SIGFPE, on_signal);
  signal(SIGABRT, on_signal);
  signal(SIGALRM, on_signal);
  signal(SIGPROF, on_signal);
}

/* ---- inputs ---- */

static struct { unsigned char *data; size_t n; } pool[POOL];
static int n_pool;

static void add_to_pool(const void *data, size_t n)
{
  int i = n_pool < POOL ? n_pool++ : (int)below(POOL);
  free(pool[i].data);
  pool[i].data = memcpy(malloc(n + 1), data, n);
  pool[i].n = n;
}

static void run(const fuzz_target *t)
{
  memset(reached, 0, sizeof reached);
  place_before = 0;
  n_compared = 0;
  setitimer(ITIMER_PROF, &(struct itimerval){ .it_value.tv_sec = CPU_SECONDS }, NULL);
  alarm(REAL_SECONDS);
  t->run(input, input_size);
}

/* Runs each file of a directory; returns how many. */
static int run_files(const fuzz_target *t, const char *path)
{
  char file[PATH_MAX];
  int n = 0;
  DIR *d = opendir(path);
  for (const struct dirent *e; d && (e = readdir(d));) {
    if (e->d_name[0] == '.' || !strcmp(e->d_name, "harmful")) continue;
    snprintf(file, sizeof file, "%s/%s", path, e->d_name);
    FILE *f = fopen(file, "rb");
    if (!f) continue;
    input_size = fread(input, 1, sizeof input, f);
    fclose(f);
    run(t);
    is_new();
    add_to_pool(input, input_size);
    n++;
  }
  if (d) closedir(d);
  return n;
}

/* ---- changes ---- */

static void take_out(size_t at, size_t n)
{
  memmove(input + at, input + at + n, input_size - at - n);
  input_size -= n;
}

static void put_in(size_t at, const void *data, size_t n)
{
  unsigned char copy[FUZZ_MAX];
  if (n > FUZZ_MAX - input_size) n = FUZZ_MAX - input_size;
  memcpy(copy, data, n);
  memmove(input + at + n, input + at, input_size - at);
  memcpy(input + at, copy, n);
  input_size += n;
}

/* Writes the lowest bytes of v, either end first, over what is there. */
static void put_number(size_t at, uint64_t v, size_t width)
{
  int big = random_bits() % 4 == 0;
  for (size_t i = 0; i < width && at + i < input_size; i++)
    input[at + i] = (unsigned char)(v >> 8 * (big ? width - 1 - i : i));
}

/* A number at which code tends to be wrong. */
static uint64_t edge(void)
{
  uint64_t v = (uint64_t)1 << below(64);
  return v + below(3) - 1;
}

/* Replaces a number that the code compared by what it was compared with. */
static void change_compared(void)
{
  size_t k = below(n_compared), width = (size_t)1 << below(4), from = below(input_size);
  uint64_t a = compared[k].a, b = compared[k].b + below(3) - 1;
  for (size_t i = 0; n_compared && i < input_size; i++) {
    size_t at = (from + i) % input_size;
    uint64_t v = 0;
    if (at + width > input_size) continue;
    for (size_t j = width; j--;) v = v << 8 | input[at + j];
    if (v != a) continue;
    put_number(at, b, width);
    return;
  }
}

/* Changes a decimal number in text. */
static void change_digits(void)
{
  char digits[24];
  size_t at = below(input_size), end;
  while (at < input_size && (input[at] < '0' || input[at] > '9')) at++;
  for (end = at; end < input_size && input[end] >= '0' && input[end] <= '9';) end++;
  if (at == end) return;
  take_out(at, end - at);
  snprintf(digits, sizeof digits, "%llu", (unsigned long long)(below(2) ? edge() : below(20)));
  put_in(at, digits, strlen(digits));
}

static void put_word(const fuzz_target *t)
{
  size_t n = 0;
  while (t->words && t->words[n]) n++;
  const char *word = n ? t->words[below(n)] : "";
  put_in(below(input_size + 1), word, strlen(word));
}

static void change(const fuzz_target *t)
{
  const size_t n = input_size, at = below(n), most = n - at;
  const size_t some = 1 + below(most < 32 ? most : 32);
  unsigned char byte = (unsigned char)random_bits();
  const int other = (int)below((size_t)n_pool);
  const size_t from = below(pool[other].n);
  switch (n ? below(12) : 11) {
  case 0: input[at] ^= (unsigned char)(1u << below(8)); break;
  case 1: input[at] = byte; break;
  case 2: put_number(at, edge(), (size_t)1 << below(4)); break;
  case 3: input[at] = (unsigned char)(input[at] + below(9) - 4); break;
  case 4: take_out(at, some < most ? some : most); break;
  case 5: put_in(below(n), input + at, some < most ? some : most); break;
  case 6: put_in(at, &byte, 1); break;
  case 7: change_digits(); break;
  case 8: put_word(t); break;
  case 9: input_size = at; break;
  case 10: change_compared(); break;
  default: put_in(at, pool[other].data + from, below(pool[other].n - from));
  }
}

static void keep_found(const char *found)
{
  char path[PATH_MAX];
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < input_size; i++) h = (h ^ input[i]) * 0x100000001b3u;
  snprintf(path, sizeof path, "%s/%016llx", found, (unsigned long long)h);
  write_file(path, input, input_size);
  add_to_pool(input, input_size);
}

static double now(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void change_for(const fuzz_target *t, double seconds, const char *found)
{
  const double end = now() + seconds;
  long runs = 0;
  for (; now() < end; runs++) {
    const int i = (int)below((size_t)n_pool);
    memcpy(input, pool[i].data, input_size = pool[i].n);
    for (size_t k = 1 + below(MAX_CHANGES); k--;) change(t);
    run(t);
    if (is_new()) keep_found(found);
  }
  fprintf(stderr, "%s: %ld runs, %d inputs kept, %d places reached\n", t->name, runs, n_pool,
          n_known);
}

int main(int argc, char **argv)
{
  const fuzz_target *t = NULL;
  for (int i = 0; argc == 5 && i < fuzz_n_targets; i++)
    if (!strcmp(argv[1], fuzz_targets[i].name)) t = &fuzz_targets[i];
  if (!t) {
    fprintf(stderr, "usage: fuzz TARGET SECONDS CORPUS FOUND; the targets are:");
    for (int i = 0; i < fuzz_n_targets; i++) fprintf(stderr, " %s", fuzz_targets[i].name);
    fputc('\n', stderr);
    return 2;
  }
  snprintf(harmful, sizeof harmful, "%s/harmful", argv[4]);
  if (mkdir(argv[4], 0777) && errno != EEXIST) return perror(argv[4]), 2;
  catch_harm();
  fuzz_set_up();
  int n = run_files(t, argv[3]);
  if (atof(argv[2]) > 0) {
    run_files(t, argv[4]);
    random_state += (uint64_t)n_pool;
    change_for(t, atof(argv[2]), argv[4]);
  }
  printf("%d passed, 0 failed\n", n);
  return n ? 0 : 1;
}
