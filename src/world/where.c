/* Who this process is among the ranks, and where rank 0 is: from what the host said, or from the
   environment that a launcher made. */
#include "world/meet.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/need.h"

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

static const char *where_text(const char *name)
{
  const char *text = getenv(name);
  return text && *text ? text : NULL;
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

/* Rank and size of variables with these names; size 1 where the first one is not set. */
static jfl_status where_pair(const char *rank, const char *size, jf_meeting *m)
{
  JF_TRY(where_number(size, 1, MOST_RANKS, &m->size));
  if (m->size < 0) return m->size = 1, JFL_OK;
  JF_TRY(where_number(rank, 0, m->size - 1, &m->rank));
  if (m->rank >= 0 || m->size == 1) return JFL_OK;
  return jf_fail(JFL_EINVAL, "%s says that there are %d ranks, so %s must say which one this is",
                 size, m->size, rank);
}

static void where_one(jf_meeting *m, const char *address, size_t n)
{
  snprintf(m->address[0], JF_HOST, "%.*s", (int)(n < JF_HOST ? n : JF_HOST - 1), address);
  m->n_address = 1;
}

/* ---- the launcher of the jfl command ---- */

/* JFL_MASTER is "host:port"; JFL_LISTEN a descriptor that rank 0 inherits. */
static jfl_status where_ours(jf_meeting *m)
{
  const char *master = where_text("JFL_MASTER"), *colon = master ? strrchr(master, ':') : NULL;
  char *end;
  if (m->size == 1) return JFL_OK;
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

static jfl_status where_told(jf_meeting *m)
{
  if (told.n < 2) return JFL_OK;
  m->size = told.n;
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
static int where_is_batch(void)
{
  const char *kind = where_text("ENVIRONMENT");
  return kind && !strcmp(kind, "BATCH") && !where_text("SLURM_STEP_NUM_TASKS");
}

/* Jobs of one machine get different ports, and are there alone. */
static jfl_status where_slurm(jf_meeting *m)
{
  const char *step = where_text("SLURM_STEP_NODELIST"), *job = where_text("SLURM_JOB_ID");
  const char *list = step ? step : where_text("SLURM_NODELIST"), *of = where_text("SLURM_STEP_ID");
  if (!where_text("SLURM_PROCID") || where_is_batch()) return JFL_OK;
  JF_TRY(where_pair("SLURM_PROCID",
                    where_text("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS",
                    m));
  if (m->size == 1) return JFL_OK;
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

static jfl_status where_mpi(const jf_mpi *mpi, jf_meeting *m)
{
  JF_TRY(jf_mpi_check(mpi, mpi->init(), "MPI_Init"));
  m->mpi = mpi;
  m->rank = mpi->rank();
  m->size = mpi->size();
  return m->size > 1 ? where_door(mpi, m) : JFL_OK;
}

/* ---- all of them ---- */

static double where_seconds(void)
{
  const char *text = where_text("JFL_JOIN_SECONDS");
  const double v = text ? strtod(text, NULL) : 0;
  return v > 0 && v < 1e6 ? v : 60;
}

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

jfl_status jf_meeting_find(jf_meeting *m)
{
  *m = (jf_meeting){ .size = 1, .listener = -1, .until = jf_now() + where_seconds() };
  if (where_text("JFL_RANKS")) {
    JF_TRY(where_pair("JFL_RANK", "JFL_RANKS", m));
    JF_TRY(where_ours(m));
  } else {
    const jf_mpi *mpi;
    const jfl_status s = jf_mpi_open(&mpi);
    /* Slurm sets variables of MPICH, too. */
    if (s && !where_text("SLURM_PROCID")) return s;
    if (!s && mpi) return where_mpi(mpi, m);
    JF_TRY(told.n > 1 ? where_told(m) : where_slurm(m));
  }
  return where_secret(m);
}
