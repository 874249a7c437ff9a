/* Sessions: their life, their settings, and the run token. */
#include "pass/pass.h"
#include "run/run.h"
#include "world/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Waking a worker takes 8 to 56 us; this much work takes less. */
enum { INLINE_LIMIT = 1 << 16 };

/* The values of the setting kernels: what they are as numbers, and as flags of a plan. */
static const struct { const char *name; int flags; } kernels[] = {
  { "fast", 0 }, { "direct", JF_DIRECT }, { "reference", JF_REFERENCE },
};
enum { N_KERNELS = sizeof kernels / sizeof *kernels };

static jfl_status find_kernels(const char *name, int *out)
{
  for (int i = 0; i < N_KERNELS; i++)
    if (!strcmp(kernels[i].name, name)) return *out = i, JFL_OK;
  return jf_fail(JFL_EINVAL, "kernels must be fast, direct or reference, got '%.60s'", name);
}

/* One line per setting: its name, its range, and where it is kept. */
typedef struct setting {
  const char *name;
  double lo, hi;
  void (*set)(jfl_session *s, double v);
  double (*get)(const jfl_session *s);
} setting;

static void set_threads(jfl_session *s, double v) { s->settings.threads = (int)v; }
static double get_threads(const jfl_session *s) { return s->settings.threads; }
/* One core is left to others, and a worker of the lowest priority ends with that. */
static void set_background(jfl_session *s, double v)
{
  const int cores = jf_cpu_count();
  if (v == 0 && s->settings.background) jf_queue_end_worker(s);
  s->settings.background = v == 0 ? 0 : cores > 2 ? cores - 1 : 1;
}
static double get_background(const jfl_session *s) { return s->settings.background != 0; }
/* Who draws frames says when callbacks run. */
static void set_callback_seconds(jfl_session *s, double v) { s->settings.callback_seconds = v; }
static double get_callback_seconds(const jfl_session *s)
{
  const double v = s->settings.callback_seconds;
  return v >= 0 ? v : s->settings.background ? 0 : INFINITY;
}
static void set_max_inflight(jfl_session *s, double v) { s->settings.max_inflight = (int)v; }
static double get_max_inflight(const jfl_session *s) { return s->settings.max_inflight; }
static void set_memory_limit(jfl_session *s, double v) { s->settings.memory_limit = v; }
static double get_memory_limit(const jfl_session *s) { return s->settings.memory_limit; }
static void set_inline_limit(jfl_session *s, double v) { s->settings.inline_limit = v; }
static double get_inline_limit(const jfl_session *s) { return s->settings.inline_limit; }
static void set_check_finite(jfl_session *s, double v) { s->settings.check_finite = v != 0; }
static double get_check_finite(const jfl_session *s) { return s->settings.check_finite; }
static void set_kernels(jfl_session *s, double v) { s->settings.kernels = kernels[(int)v].flags; }
static double get_kernels(const jfl_session *s)
{
  int i = 0;
  while (kernels[i].flags != s->settings.kernels) i++;
  return i;
}
static void set_tf32(jfl_session *s, double v) { s->settings.tf32 = v != 0 ? JF_TF32 : 0; }
static double get_tf32(const jfl_session *s) { return s->settings.tf32 != 0; }
static void set_passes(jfl_session *s, double v) { s->settings.passes_off = (uint64_t)v; }
static double get_passes(const jfl_session *s)
{
  return (double)s->settings.passes_off;
}
static void set_device(jfl_session *s, double v)
{
  s->settings.place = (int)v;
  s->settings.is_placed = 1;
}
static double get_device(const jfl_session *s) { return s->settings.place; }
static void set_cpu_devices(jfl_session *s, double v) { s->settings.cpu_devices = (int)v; }
static double get_cpu_devices(const jfl_session *s) { return s->settings.cpu_devices; }
static uint64_t seed_of(double v) { return jf_hash(0, &v, sizeof v); }
static double get_seed(const jfl_session *s) { return (double)s->seed; }
static void set_seed(jfl_session *s, double v)
{
  s->seed = seed_of(v);
  s->seeded = 1;
  s->eager_calls = 0;
}

static const setting settings[] = {
  { "threads", 1, JF_MAX_THREADS, set_threads, get_threads },
  { "background", 0, 1, set_background, get_background },
  { "callback_seconds", 0, INFINITY, set_callback_seconds, get_callback_seconds },
  { "max_inflight", 1, 1 << 20, set_max_inflight, get_max_inflight },
  { "memory_limit", 0, 0x1p62, set_memory_limit, get_memory_limit },
  { "inline_limit", 0, 0x1p62, set_inline_limit, get_inline_limit },
  { "check_finite", 0, 1, set_check_finite, get_check_finite },
  { "kernels", 0, N_KERNELS - 1, set_kernels, get_kernels },
  { "tf32", 0, 1, set_tf32, get_tf32 },
  { "passes", 0, (double)((int64_t)1 << 53), set_passes, get_passes },
  { "device", 0, INT32_MAX, set_device, get_device },
  { "cpu_devices", 1, JF_MAX_CPU_DEVICES, set_cpu_devices, get_cpu_devices },
  { "seed", -0x1p53, 0x1p53, set_seed, get_seed },
};

static jfl_status run_session_find(const char *name, const setting **out)
{
  enum { N = sizeof settings / sizeof *settings };
  char names[512] = "";
  for (int i = 0; i < N; i++)
    if (!strcmp(settings[i].name, name)) return *out = &settings[i], JFL_OK;
  for (int i = 0, at = 0; i < N; i++)
    at += snprintf(names + at, sizeof names - (size_t)at, "%s%s", i ? ", " : "", settings[i].name);
  return jf_fail(JFL_ENAME, "unknown setting '%.60s'; settings are %s", name, names);
}

/* Reads a whole number that an environment variable has for a setting; leaves *out where it has
   none. */
static jfl_status session_number(const char *variable, const char *name, double *out)
{
  const char *text = getenv(variable);
  const setting *t = NULL;
  char *end;
  if (!text || !*text) return JFL_OK;
  JF_TRY(run_session_find(name, &t));
  const long long n = strtoll(text, &end, 10);
  if (*end || n < (long long)t->lo || n > (long long)t->hi)
    return jf_fail(JFL_EINVAL, "%s: %s must be a whole number from %.0f to %.0f, got '%.60s'",
                   variable, name, t->lo, t->hi, text);
  return *out = (double)n, JFL_OK;
}

/* Gives a flag that an environment variable sets or clears, or what holds where there is none. */
static jfl_status session_switch(const char *variable, const char *what, int flag, int given,
                                 int *out)
{
  const char *text = getenv(variable);
  const int is_on = text && !strcmp(text, "1");
  *out = text && *text ? is_on * flag : given;
  if (!text || !*text || is_on || !strcmp(text, "0")) return JFL_OK;
  return jf_fail(JFL_EINVAL, "%s: %s must be 0 or 1, got '%.60s'", variable, what, text);
}

/* The host is site 0. */
static jfl_status session_open_devices(jfl_session *s)
{
  const char *name = getenv("JFL_DEVICE");
  jf_site *host;
  JF_TRY(jf_session_site(s, jf_host()->name, &host));
  s->settings.is_placed = name && *name;
  if (!s->settings.is_placed) return jf_session_place_jobs(s);
  jfl_status bad = jf_session_group(s, name, &s->settings.place);
  return bad ? jf_blame(bad, "JFL_DEVICE: ") : JFL_OK;
}

jfl_status jfl_session_new(jfl_session **out)
{
  const char *which = getenv("JFL_KERNELS"), *passes = getenv("JFL_PASSES");
  uint64_t off = 0;
  int chosen = 0, tf32, zones;
  double seed = NAN, cpu_devices = 1;
  JF_NEED_POINTER(out);
  jfl_status bad = which && *which ? find_kernels(which, &chosen) : JFL_OK;
  if (bad) return jf_blame(bad, "JFL_KERNELS: ");
  bad = passes ? jf_passes_off(passes, &off) : JFL_OK;
  if (bad) return jf_blame(bad, "JFL_PASSES: ");
  JF_TRY(session_switch("JFL_TF32", "tf32", JF_TF32, JF_TF32, &tf32));
  JF_TRY(session_switch("JFL_RED_ZONES", "red_zones", JF_ZONES, 0, &zones));
  JF_TRY(session_number("JFL_CPU_DEVICES", "cpu_devices", &cpu_devices));
  JF_TRY(session_number("JFL_SEED", "seed", &seed));
  JF_TRY(jf_world_join());
  if (jf_world_size() > 1 && jf_world_trouble()) return jf_world_fail();
  jfl_session *s = jf_new(sizeof *s);
  if (!s) return jf_fail(JFL_ENOMEM, "out of memory");
  s->tag = JF_TAG_SESSION;
  s->id = jf_entropy() | 1;
  s->budget = jf_memory_budget();
  s->fd = -1;
  s->changes = s->arenas = 1;
  s->seed = !isnan(seed) ? seed_of(seed) : jf_world_size() > 1 ? jf_world_seed() : jf_entropy();
  /* Ranks on one host share its cores, unless their launcher gave each of them some. */
  const int cores = jf_cpu_count(), ranks = jf_world_neighbours();
  s->settings = (jf_settings){ .threads = cores > ranks ? cores / ranks : 1,
                               .max_inflight = 2,
                               .cpu_devices = (int)cpu_devices,
                               .inline_limit = INLINE_LIMIT,
                               .callback_seconds = -1,
                               .passes_off = off,
                               .kernels = kernels[chosen].flags,
                               .tf32 = tf32,
                               .zones = zones };
  jf_session_init_locks(s);
  jfl_status st = session_open_devices(s);
  if (st) jfl_session_free(s);
  else *out = s;
  return st;
}

jfl_status jfl_session_stop_when(jfl_session *s, int (*asked)(void *ctx), void *ctx)
{
  JF_NEED(SESSION, s);
  jf_session_acquire(s);
  s->stop_asked = asked;
  s->stop_ctx = ctx;
  jf_session_release(s);
  return JFL_OK;
}

void jfl_session_free(jfl_session *s)
{
  if (jf_world_trouble()) jf_world_be_alone();
  if (!JF_IS_LAST(SESSION, s)) return;
  jf_queue_stop(s);
  jfl_profile_free(s->profile);
  for (jfl_job *j = s->jobs, *next; j; j = next) {
    next = j->next;
    jf_job_free(j);
  }
  for (int i = 0; i < s->n_var; i++) jf_var_free(s->var[i]);
  jf_free(s->var);
  jf_map_free(&s->var_names);
  jf_map_free(&s->job_names);
  jf_map_free(&s->derived);
  jf_runs_free(s->ahead, s->n_ahead);
  jf_groups_free(s);
  jf_ready_free(s);
  jf_sites_free(s);
  jf_free(s);
}

/* The values of kernels and devices have names, and passes are a list; all else are numbers. */
static jfl_status number_of(jfl_session *s, const jfl_arg *a, double *out)
{
  if (!strcmp(a->name, "device")) {
    int place;
    if (a->kind != JFL_ARG_STRING) return jf_fail(JFL_EINVAL, "device must be a name");
    JF_TRY(jf_session_group(s, a->string, &place));
    return *out = place, JFL_OK;
  }
  if (a->kind == JFL_ARG_STRING && !strcmp(a->name, "passes")) {
    uint64_t off;
    JF_TRY(jf_passes_off(a->string, &off));
    return *out = (double)off, JFL_OK;
  }
  if (a->kind == JFL_ARG_STRING && !strcmp(a->name, "kernels")) {
    int i = 0;
    JF_TRY(find_kernels(a->string, &i));
    return *out = i, JFL_OK;
  }
  if (a->kind != JFL_ARG_NUMBER || a->number != a->number)
    return jf_fail(JFL_EINVAL, "%s must be a number", a->name);
  *out = a->number;
  return JFL_OK;
}

jfl_status jfl_session_set(jfl_session *s, const jfl_arg *a)
{
  const setting *t = NULL;
  double v = 0;
  JF_NEED(SESSION, s);
  JF_TRY(jf_need_args(__func__, "setting", a, 1));
  JF_TRY(run_session_find(a->name, &t));
  JF_TRY(number_of(s, a, &v));
  if (v < t->lo || v > t->hi)
    return jf_fail(JFL_EINVAL, "%s must be from %.0f to %.0f, got %.14g", t->name, t->lo, t->hi, v);
  const double before = t->get(s);
  if (t->set == set_callback_seconds) return t->set(s, v), JFL_OK;      /* no run reads it */
  jf_session_acquire(s);
  t->set(s, v);
  jf_session_release(s);
  if (t->set != set_cpu_devices) return JFL_OK;
  jfl_status st = jf_session_place_jobs(s);
  if (st) t->set(s, before);
  return st;
}

const char *jfl_session_pass(const jfl_session *s, int i, int *on)
{
  uint64_t bits = 0;
  if (!JF_IS(SESSION, s)) return NULL;
  if (i < 0) return NULL;
  if (!on) return jf_need_pointer(__func__, "on", on), NULL;
  const char *name = jf_pass_optional(i, &bits);
  if (name) *on = !(s->settings.passes_off & bits);
  return name;
}

jfl_status jfl_session_get(jfl_session *s, const char *name, double *out)
{
  const setting *t = NULL;
  JF_NEED(SESSION, s);
  JF_TRY(jf_need_pointer(__func__, "setting", name));
  JF_NEED_POINTER(out);
  JF_TRY(run_session_find(name, &t));
  *out = t->get(s);
  return JFL_OK;
}

jfl_status jfl_profile_start(jfl_session *s, size_t max_events)
{
  JF_NEED(SESSION, s);
  if (s->profile) return jf_fail(JFL_ESTATE, "a profile is being made already");
  jfl_profile *f = jf_profile_new(max_events);
  if (!f) return jf_fail(JFL_ENOMEM, "out of memory: a profile of %zu steps", max_events);
  jf_session_acquire(s);
  s->profile = f;
  jf_session_release(s);
  return JFL_OK;
}

jfl_status jfl_profile_stop(jfl_session *s, jfl_profile **out)
{
  JF_NEED(SESSION, s);
  JF_NEED_POINTER(out);
  if (!s->profile) return jf_fail(JFL_ESTATE, "no profile was started");
  jf_session_acquire(s);
  *out = s->profile;
  s->profile = NULL;
  jf_session_release(s);
  return JFL_OK;
}
