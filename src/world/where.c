/* Who this process is among the ranks, and where rank 0 is: from what the host said, or from the
   environment that a launcher made. */
#include "world/meet.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "base/need.h"
#include "world/launcher.h"

enum { PORT = 9988, MOST_RANKS = 1 << 16 };

/* What jfl_world_set said. */
static struct { char (*host)[JF_HOST]; int n, port, rank; } told;

jfl_status jfl_world_set(const char *const *host, int n, int port, int rank)
{
  JF_NEED_POINTER(host);
  if (n < 1 || n > MOST_RANKS)
    return jf_fail_argument(JFL_EINVAL, "n", "must be from 1 to %d, got %d", MOST_RANKS, n);
  if (port < 0 || port > 65535)
    return jf_fail_argument(JFL_EINVAL, "port", "must be from 0 to 65535, got %d", port);
  if (rank >= n)
    return jf_fail_argument(JFL_EINVAL, "rank", "must be from 0 to %d, got %d", n - 1, rank);
  for (int i = 0; i < n; i++)
    if (!host[i] || !*host[i])
      return jf_fail_argument(JFL_EINVAL, "host", "must be a list of names, got none at %d", i);
  pthread_mutex_lock(&jf_the_world.joining);
  const int late = jf_the_world.is_joined && (n > 1 || jf_the_world.size > 1);
  char (*copy)[JF_HOST] = late ? NULL : jf_new((size_t)n * sizeof *copy);
  if (copy) {
    for (int i = 0; i < n; i++) snprintf(copy[i], JF_HOST, "%s", host[i]);
    jf_free(told.host);
    told.host = copy;
    told.n = n;
    told.port = port;
    told.rank = rank;
  }
  pthread_mutex_unlock(&jf_the_world.joining);
  if (late) return jf_fail(JFL_ESTATE, "the ranks have met already; machines must be named before");
  return copy ? JFL_OK : jf_fail(JFL_ENOMEM, "out of memory");
}

/* ---- reading variables ---- */

/* What jfl --ranks tells the processes that it starts. */
static const char *const ours[] = { "JFL_LAUNCHER", "JFL_LISTEN", "JFL_MASTER", "JFL_RANK",
                                    "JFL_RANKS", "JFL_REPORT", "JFL_RESTARTS", "JFL_SECRET" };
enum { N_OURS = sizeof ours / sizeof *ours };

/* Whether it told that to another process, from which this one inherited it. */
static int where_is_inherited(void)
{
  const char *launcher = getenv("JFL_LAUNCHER");
  return launcher && strtol(launcher, NULL, 10) != (long)getppid();
}

static int where_is_ours(const char *name)
{
  int i = 0;
  while (i < N_OURS && strcmp(name, ours[i])) i++;
  return i < N_OURS;
}

static const char *where_text(const char *name)
{
  const char *text = getenv(name);
  return text && *text && !(where_is_ours(name) && where_is_inherited()) ? text : NULL;
}

void jf_launched_tell(const char *name, const char *value)
{
  assert(where_is_ours(name));
  setenv(name, value, 1);
}

void jf_launched_forget(void)
{
  if (!where_is_inherited()) return;
  for (int i = 0; i < N_OURS; i++) unsetenv(ours[i]);
}

/* The number in a variable, from lo to hi; -1 where it is not set. */
static jfl_status where_number(const char *name, long lo, long hi, int *out)
{
  const char *text = where_text(name);
  char *end;
  *out = -1;
  if (!text) return JFL_OK;
  const long v = strtol(text, &end, 10);
  if (*end || v < lo || v > hi)
    return jf_fail(JFL_EINVAL, "%s must be a number from %ld to %ld, got '%.60s'", name, lo, hi,
                   text);
  *out = (int)v;
  return JFL_OK;
}

/* A program that starts the processes of a run: how it tells each of them which one it is. */
typedef struct launcher {
  const char *rank, *size;     /* the variables; NULL: the script names all of them itself */
  const char *size_of_part;    /* says the size instead where it is set, or NULL */
  const char *mpi;             /* the MPI whose mpirun it is, or NULL: that tells all else */
  int is_final;                /* who was told that it is alone asks no other */
  int (*is_told)(void);        /* whether the variables are about this process; NULL: if set */
  jfl_status (*meet)(const struct launcher *l, jf_meeting *m);         /* finds where rank 0 is */
} launcher;

/* Sets m's rank and size, which is 1 where this launcher did not start this process as one of
   several. */
static jfl_status where_ask(const launcher *l, jf_meeting *m)
{
  const char *name = l->size_of_part && where_text(l->size_of_part) ? l->size_of_part : l->size;
  m->size = !name && told.n > 1 ? told.n : 1;
  if (!name || (l->is_told && !l->is_told())) return JFL_OK;
  JF_TRY(where_number(name, 1, MOST_RANKS, &m->size));
  if (m->size <= 1) return m->size = 1, JFL_OK;
  JF_TRY(where_number(l->rank, 0, m->size - 1, &m->rank));
  if (m->rank >= 0 || l->mpi) return JFL_OK;
  return jf_fail(JFL_EINVAL, "%s says that there are %d ranks, so %s must say which one this is",
                 name, m->size, l->rank);
}

static void where_one(jf_meeting *m, const char *address, size_t n)
{
  snprintf(m->address[0], JF_HOST, "%.*s", (int)(n < JF_HOST ? n : JF_HOST - 1), address);
  m->n_address = 1;
}

/* ---- the launcher of the jfl command ---- */

/* JFL_MASTER is "host:port"; JFL_LISTEN a descriptor that rank 0 inherits. */
static jfl_status where_ours(const launcher *l, jf_meeting *m)
{
  const char *master = where_text("JFL_MASTER"), *colon = master ? strrchr(master, ':') : NULL;
  char *end;
  (void)l;
  if (!colon)
    return jf_fail(JFL_EINVAL, "JFL_RANKS is set, so JFL_MASTER must be rank 0's address, "
                   "host:port, got '%.60s'", master ? master : "");
  const long port = strtol(colon + 1, &end, 10);
  if (*end || port < 1 || port > 65535)
    return jf_fail(JFL_EINVAL, "JFL_MASTER must end in a port, got '%.60s'", master);
  where_one(m, master, (size_t)(colon - master));
  m->port = (int)port;
  return m->rank ? JFL_OK : where_number("JFL_LISTEN", 3, 1 << 20, &m->listener);
}

/* ---- machines that the script names ---- */

static jfl_status where_own(int *rank)
{
  JF_TRY(where_number("JFL_RANK", 0, told.n - 1, rank));
  if (*rank < 0) *rank = told.rank;
  if (*rank >= 0) return JFL_OK;
  int n = 0;
  for (int i = 0; i < told.n; i++)
    if (jf_socket_is_mine(told.host[i]) && !n++) *rank = i;
  if (n == 1) return JFL_OK;
  return jf_fail(JFL_EINVAL, "%s of the %d machines %s this one; set JFL_RANK to its number, "
                 "0 to %d", n ? "more than one" : "none", told.n, n ? "are" : "is", told.n - 1);
}

static jfl_status where_told(const launcher *l, jf_meeting *m)
{
  (void)l;
  m->port = told.port ? told.port : PORT;
  where_one(m, told.host[0], strlen(told.host[0]));
  return where_own(&m->rank);
}

/* ---- Slurm ---- */

int jf_slurm_first(const char *list, char out[JF_HOST])
{
  size_t n = strcspn(list, "[,");
  if (n > JF_HOST - 1) n = JF_HOST - 1;
  memcpy(out, list, n);
  out[n] = '\0';
  if (list[n] != '[') return !list[n];
  const char *digits = list + n + 1;
  const size_t k = strspn(digits, "0123456789");
  snprintf(out + n, JF_HOST - n, "%.*s", (int)(k < 32 ? k : 32), digits);
  return digits[k] == ']' && !digits[k + 1];
}

/* A batch script has the variables of its first task, but is none of them. */
static int where_is_task(void)
{
  const char *kind = where_text("ENVIRONMENT");
  const int is_batch = kind && !strcmp(kind, "BATCH") && !where_text("SLURM_STEP_NUM_TASKS");
  return where_text("SLURM_PROCID") && !is_batch;
}

/* Jobs of one machine get different ports, and are there alone. */
static jfl_status where_slurm(const launcher *l, jf_meeting *m)
{
  const char *step = where_text("SLURM_STEP_NODELIST"), *job = where_text("SLURM_JOB_ID");
  const char *list = step ? step : where_text("SLURM_NODELIST"), *of = where_text("SLURM_STEP_ID");
  (void)l;
  if (!list || !job)
    return jf_fail(JFL_EINVAL, "SLURM_NTASKS says that there are %d ranks, so SLURM_NODELIST and "
                   "SLURM_JOB_ID must be set", m->size);
  if (jf_slurm_first(list, m->address[0])) snprintf(m->address[0], JF_HOST, "localhost");
  m->n_address = 1;
  JF_TRY(where_number("JFL_PORT", 1, 65535, &m->port));
  const uint64_t hash = jf_hash_str(jf_hash_str(0, job), of ? of : "");
  if (m->port < 0) m->port = 15000 + (int)(hash % 15000);
  return JFL_OK;
}

/* ---- MPI ---- */

/* What rank 0 tells by MPI, so that the others can connect to it. */
typedef struct where_card {
  char address[JF_ADDRESSES][JF_ADDRESS];
  int32_t n_address, port;
  jf_key key;
} where_card;

static jfl_status where_door(const jf_mpi *mpi, jf_meeting *m)
{
  where_card mine = { .port = 0 }, *all;
  if (!m->rank) {
    JF_TRY(jf_key_draw(mine.key));
    JF_TRY(jf_socket_listen(NULL, &m->port, &m->listener));
    mine.n_address = jf_socket_addresses(mine.address);
    mine.port = m->port;
  }
  all = jf_new((size_t)m->size * sizeof *all);
  if (!all) return jf_fail(JFL_ENOMEM, "out of memory");
  const jfl_status s = jf_mpi_check(mpi, mpi->gather(&mine, sizeof mine, all), "MPI_Allgather");
  m->n_address = all->n_address < JF_ADDRESSES ? all->n_address : JF_ADDRESSES;
  m->port = all->port;
  memcpy(m->key, all->key, sizeof m->key);
  for (int i = 0; i < m->n_address; i++)
    snprintf(m->address[i], JF_HOST, "%.*s", JF_ADDRESS - 1, all->address[i]);
  jf_free(all);
  if (!s && m->n_address < 1) return jf_fail(JFL_EIO, "the host of rank 0 has no network address");
  return s;
}

static jfl_status where_mpi(const launcher *l, jf_meeting *m)
{
  const jf_mpi *mpi;
  JF_TRY(jf_mpi_open(l->mpi, m->size, &mpi));
  m->mpi = mpi;
  JF_TRY(jf_mpi_check(mpi, mpi->init(), "MPI_Init"));
  m->rank = mpi->rank();
  m->size = mpi->size();
  return m->size > 1 ? where_door(mpi, m) : JFL_OK;
}

/* ---- all of them ---- */

/* In the order in which they are asked: Slurm sets variables of MPICH, too. The last one is the
   script, for processes that were started by hand. */
static const launcher launchers[] = {
  { .rank = "JFL_RANK", .size = "JFL_RANKS", .is_final = 1, .meet = where_ours },
  { .rank = "OMPI_COMM_WORLD_RANK", .size = "OMPI_COMM_WORLD_SIZE", .mpi = "openmpi",
    .meet = where_mpi },
  { .rank = "PMI_RANK", .size = "PMI_SIZE", .mpi = "mpich", .meet = where_mpi },
  { .rank = "SLURM_PROCID", .size = "SLURM_NTASKS", .size_of_part = "SLURM_STEP_NUM_TASKS",
    .is_told = where_is_task, .meet = where_slurm },
  { .meet = where_told },
};
enum { N_LAUNCHERS = sizeof launchers / sizeof *launchers };

/* The first of them from *l on that started this process as one of several; NULL: none did. */
static jfl_status where_find(const launcher **l, jf_meeting *m)
{
  for (; *l < launchers + N_LAUNCHERS; ++*l) {
    JF_TRY(where_ask(*l, m));
    if (m->size > 1) return JFL_OK;
    if ((*l)->is_final && where_text((*l)->size)) break;
  }
  return *l = NULL, JFL_OK;
}

int jf_launched_rank(int *size)
{
  const launcher *l = launchers;
  jf_meeting m = { .size = 1 };
  const int failed = where_find(&l, &m) != JFL_OK;
  *size = failed ? 1 : m.size;
  return failed || m.rank < 0 ? 0 : m.rank;
}

/* The seconds in a variable, if there are at least so many, else `usual`. */
static double where_seconds(const char *name, double least, double usual)
{
  const char *text = where_text(name);
  const double v = text ? strtod(text, NULL) : 0;
  return v >= least && v < 1e6 ? v : usual;
}

int jf_launched_report(void)
{
  int fd;
  return where_number("JFL_REPORT", 3, 1 << 20, &fd) ? -1 : fd;
}

double jf_launched_patience(void) { return where_seconds("JFL_PATIENCE", 1, 6); }
double jf_launched_stall(void) { return where_seconds("JFL_STALL_SECONDS", 1, 0); }

/* The secret is a word that all processes of a run were given. Where none but users of this host
   can call, there may be none; the number of a job of Slurm then tells it from others. */
static jfl_status where_secret(jf_meeting *m)
{
  const char *word = where_text("JFL_SECRET"), *job = where_text("SLURM_JOB_ID");
  m->is_near = jf_socket_is_loopback(m->address[0]);
  if (m->size > 1 && !word && !m->is_near)
    return jf_fail(JFL_EINVAL, "ranks on several hosts (rank 0 is on '%.60s') need a secret, or "
                   "strangers could be ranks: set JFL_SECRET on all of them to the same long "
                   "random word, such as \"openssl rand -hex 16\" prints", m->address[0]);
  if (!word) word = job ? job : "";
  jf_key_from(word, strlen(word), "jfl world", 9, m->key);
  return JFL_OK;
}

/* Where an MPI cannot be used but another launcher says the same, that one's word is taken. */
jfl_status jf_meeting_find(jf_meeting *m)
{
  const launcher *l = launchers;
  *m = (jf_meeting){ .size = 1, .listener = -1,
                     .until = jf_now() + where_seconds("JFL_JOIN_SECONDS", 1e-9, 60) };
  JF_TRY(where_find(&l, m));
  jfl_status s = l ? l->meet(l, m) : JFL_OK;
  if (s && l->mpi && !m->mpi) {
    l++;
    JF_TRY(where_find(&l, m));
    if (l) s = l->meet(l, m);
  }
  return s || m->mpi ? s : where_secret(m);
}
