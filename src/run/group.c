/* Groups of devices, the texts that name them, and where jobs run that say nothing. */
#include "run/run.h"
#include "world/world.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- members ---- */

enum { GROUP_MOST = 1 << 16, GROUP_NUMBER = 1000000 };

typedef struct group_list { jf_group_member *v; int n, cap; } group_list;

static jfl_status group_add(group_list *l, int rank, int device)
{
  if (!JF_ROOM(l->v, l->n, l->cap)) return jf_fail(JFL_ENOMEM, "out of memory");
  l->v[l->n++] = (jf_group_member){ rank, device };
  return JFL_OK;
}

static int group_compare(const void *a, const void *b)
{
  const jf_group_member *x = a, *y = b;
  return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                            : (x->place > y->place) - (x->place < y->place);
}

/* Sorts the members and takes away those that are there twice. */
static void group_sort(group_list *l)
{
  int n = 0;
  qsort(l->v, (size_t)l->n, sizeof *l->v, group_compare);
  for (int i = 0; i < l->n; i++)
    if (!n || group_compare(&l->v[n - 1], &l->v[i])) l->v[n++] = l->v[i];
  l->n = n;
}

/* The end of the members that are of the same process as member i. */
static int group_end_of_rank(const group_list *l, int i)
{
  int end = i;
  while (end < l->n && l->v[end].rank == l->v[i].rank) end++;
  return end;
}

/* ---- reading texts ---- */

/* A text while it is read: its kind, and where in it the reader is. */
typedef struct group_text { const char *text, *at; char kind[16]; } group_text;

static jfl_status group_fail(const group_text *t)
{
  return jf_fail(JFL_ENAME, "device must be a kind and numbers, as in cpu:0, gpu:0-3 or "
                 "gpu 0:0-3,1:0-3, got '%.60s'", t->text);
}

/* Reads "2" or "0-3". */
static jfl_status group_range(group_text *t, int *first, int *last)
{
  char *end;
  if (!isdigit((unsigned char)*t->at)) return group_fail(t);
  const long a = strtol(t->at, &end, 10);
  long b = a;
  if (*end == '-') {
    if (!isdigit((unsigned char)end[1])) return group_fail(t);
    b = strtol(end + 1, &end, 10);
  }
  if (a > b || b > GROUP_NUMBER) return group_fail(t);
  t->at = end;
  *first = (int)a;
  *last = (int)b;
  return JFL_OK;
}

/* Fails unless process `rank`, and its device if that is this process, are there. */
static jfl_status group_check(const jfl_session *s, const group_text *t, const jf_kind *kind,
                              int rank, int device)
{
  const int ranks = jf_world_size();
  if (rank >= ranks && ranks == 1)
    return jf_fail(JFL_ENAME, "device '%.60s' is of machine %d, but this process, machine 0, is "
                   "the only one; jfl --ranks or mpirun starts several", t->text, rank);
  if (rank >= ranks)
    return jf_fail(JFL_ENAME, "device '%.60s' is of machine %d, but the %d processes are machines "
                   "0 to %d", t->text, rank, ranks, ranks - 1);
  const int shares = kind == jf_host()->kind && kind->parts;
  const int n = shares ? s->settings.cpu_devices : jf_kind_count(kind);
  if (rank != jf_world_rank() || device < n) return JFL_OK;
  if (!n && kind->absence)
    return jf_fail(JFL_ENAME, "device must be one that is here, got '%.60s': %s", t->text,
                   kind->absence());
  if (shares)
    return jf_fail(JFL_ENAME, "device must be one of the %d that the setting cpu_devices asks for, "
                   "got '%.60s'", n, t->text);
  return jf_fail(JFL_ENAME, "device must be one of the %d that %s has, got '%.60s'", n, kind->name,
                 t->text);
}

/* Reads "0-3:0-7", or ":0-7", which is of every process. */
static jfl_status group_read_one(const jfl_session *s, group_text *t, const jf_kind *kind,
                                 group_list *l)
{
  int rank[2] = { 0, jf_world_size() - 1 }, device[2];
  if (*t->at != ':') JF_TRY(group_range(t, &rank[0], &rank[1]));
  if (*t->at++ != ':') return group_fail(t);
  JF_TRY(group_range(t, &device[0], &device[1]));
  JF_TRY(group_check(s, t, kind, rank[1], 0));
  for (int r = rank[0]; r <= rank[1]; r++)
    for (int d = device[0]; d <= device[1]; d++) {
      JF_TRY(group_check(s, t, kind, r, d));
      if (l->n == GROUP_MOST)
        return jf_fail(JFL_ENAME, "device '%.60s' has more than %d members", t->text, GROUP_MOST);
      JF_TRY(group_add(l, r, d));
    }
  return JFL_OK;
}

static jfl_status group_check_even(const group_text *t, const group_list *l)
{
  const int each = group_end_of_rank(l, 0);
  for (int i = 0; i < l->n; i = group_end_of_rank(l, i)) {
    const int n = group_end_of_rank(l, i) - i;
    if (n != each)
      return jf_fail(JFL_ENAME, "device '%.60s' must have as many devices on every machine, got %d "
                     "on machine %d and %d on machine %d", t->text, each, l->v[0].rank, n,
                     l->v[i].rank);
  }
  return JFL_OK;
}

/* Reads a text; the places of the members are the numbers of their devices. */
static jfl_status group_read(const jfl_session *s, group_text *t, const jf_kind **kind,
                             group_list *l)
{
  const size_t n = strcspn(t->text, ": ");
  if (n < sizeof t->kind) memcpy(t->kind, t->text, n);
  const jf_kind *k = *kind = n < sizeof t->kind ? jf_kind_find(t->kind) : NULL;
  if (!k) return group_fail(t);
  t->at = t->text + n;
  if (!*t->at) t->at = ":0";
  t->at += *t->at == ' ';
  JF_TRY(group_read_one(s, t, k, l));
  while (*t->at == ',') {
    t->at += 1 + (t->at[1] == ' ');
    JF_TRY(group_read_one(s, t, k, l));
  }
  if (*t->at) return group_fail(t);
  group_sort(l);
  return group_check_even(t, l);
}

/* ---- naming ---- */

/* Whether two processes have the same devices in the list. */
static int group_is_alike(const group_list *l, int a, int b)
{
  const int n = group_end_of_rank(l, a) - a;
  if (group_end_of_rank(l, b) - b != n) return 0;
  for (int i = 0; i < n; i++)
    if (l->v[a + i].place != l->v[b + i].place) return 0;
  return 1;
}

static void group_put_range(jf_text *t, int first, int last)
{
  jf_text_add(t, last > first ? "%d-%d" : "%d", first, last);
}

/* Appends the devices of members i..end-1, which the processes first..last have. */
static void group_put(jf_text *t, const group_list *l, int i, int end, int first, int last)
{
  while (i < end) {
    int next = i + 1;
    while (next < end && l->v[next].place == l->v[next - 1].place + 1) next++;
    jf_text_add(t, t->s && t->s[t->n - 1] != ' ' ? "," : "");
    group_put_range(t, first, last);
    jf_text_add(t, ":");
    group_put_range(t, l->v[i].place, l->v[next - 1].place);
    i = next;
  }
}

/* The one name of those members: "gpu 0-1:0-3", whatever text they came from. */
static char *group_name(const jf_kind *kind, const group_list *l)
{
  jf_text t = { 0 };
  jf_text_add(&t, "%s ", kind->name);
  for (int i = 0; i < l->n;) {
    const int first = i, end = group_end_of_rank(l, i);
    int last = i;
    for (i = end; i < l->n; i = group_end_of_rank(l, i)) {
      if (l->v[i].rank != l->v[last].rank + 1 || !group_is_alike(l, i, first)) break;
      last = i;
    }
    group_put(&t, l, first, end, l->v[first].rank, l->v[last].rank);
  }
  return t.s;
}

/* ---- groups of a session ---- */

static void group_free(jf_group *g)
{
  if (!g) return;
  jf_free((char *)g->name);
  jf_free(g->member);
  jf_free(g);
}

void jf_groups_free(jfl_session *s)
{
  for (int i = 0; i < s->n_group; i++) group_free(s->group[i]);
  jf_free(s->group);
}

static jf_group *group_new(const char *name, const jf_kind *kind, const jf_group_member *member,
                           int n)
{
  jf_group *g = jf_new(sizeof *g);
  if (!g) return NULL;
  g->name = jf_name_copy(name);
  g->kind = kind;
  g->member = jf_new((size_t)n * sizeof *g->member);
  g->n = n;
  if (g->name && g->member) return memcpy(g->member, member, (size_t)n * sizeof *member), g;
  group_free(g);
  return NULL;
}

static int group_find(const jfl_session *s, const char *name, const jf_group_member *member, int n)
{
  for (int i = 0; i < s->n_group; i++) {
    const jf_group *g = s->group[i];
    if (g->n == n && !strcmp(g->name, name) &&
        !memcmp(g->member, member, (size_t)n * sizeof *member))
      return i;
  }
  return -1;
}

jfl_status jf_session_group_of(jfl_session *s, const char *name, const jf_kind *kind,
                               const jf_group_member *member, int n, int *place)
{
  const int there = group_find(s, name, member, n);
  if (there >= 0) return *place = JF_GROUPS + there, JFL_OK;
  const int fits = JF_ROOM(s->group, s->n_group, s->cap_group);
  jf_group *g = fits ? group_new(name, kind, member, n) : NULL;
  if (!g) return jf_fail(JFL_ENOMEM, "out of memory");
  s->group[s->n_group] = g;
  return *place = JF_GROUPS + s->n_group++, JFL_OK;
}

/* Opens the devices that this process has, and puts their places in the place of their numbers. */
static jfl_status group_open(jfl_session *s, const jf_kind *kind, group_list *l)
{
  char name[32];
  if (kind == jf_host()->kind && kind->parts && s->settings.cpu_devices > 1) kind = kind->parts;
  for (int i = 0; i < l->n; i++) {
    jf_group_member *m = &l->v[i];
    jf_site *site = NULL;
    snprintf(name, sizeof name, "%s:%d", kind->name, m->place);
    if (m->rank == jf_world_rank()) JF_TRY(jf_session_site(s, name, &site));
    m->place = site ? site->place : -1;
  }
  return JFL_OK;
}

jfl_status jf_session_group(jfl_session *s, const char *text, int *place)
{
  jf_compiles_wait(s);                 /* which look at groups */
  group_text t = { .text = text };
  group_list l = { 0 };
  const jf_kind *kind;
  char *name = NULL;
  jfl_status st = group_read(s, &t, &kind, &l);
  if (!st && !(name = group_name(kind, &l))) st = jf_fail(JFL_ENOMEM, "out of memory");
  if (!st) st = group_open(s, kind, &l);
  if (!st && l.n == 1 && jf_world_size() == 1) *place = l.v[0].place;
  else if (!st) st = jf_session_group_of(s, name, kind, l.v, l.n, place);
  jfl_text_free(name);
  jf_free(l.v);
  return st;
}

jfl_status jf_session_place_jobs(jfl_session *s)
{
  char text[32];
  if (s->settings.is_placed) return JFL_OK;
  if (s->settings.cpu_devices == 1 && jf_world_size() == 1)
    return s->settings.place = JF_HOST_PLACE, JFL_OK;
  snprintf(text, sizeof text, "%s:0-%d", jf_host()->kind->name, s->settings.cpu_devices - 1);
  return jf_session_group(s, text, &s->settings.place);
}

jf_site *jf_session_own_site(const jfl_session *s)
{
  int place = s->settings.place;
  if (jf_is_group(place)) {
    const jf_group *g = s->group[place - JF_GROUPS];
    place = JF_HOST_PLACE;
    for (int i = g->n; i-- > 0;)
      if (g->member[i].place >= 0) place = g->member[i].place;
  }
  const jf_kind *k = s->site[place]->device->kind;
  return s->site[k == jf_host()->kind->parts ? JF_HOST_PLACE : place];
}

const char *jfl_session_device(const jfl_session *s, int i)
{
  if (!JF_IS(SESSION, s) || i < 0) return NULL;
  if (jf_is_group(i)) return i - JF_GROUPS < s->n_group ? s->group[i - JF_GROUPS]->name : NULL;
  return i < s->n_site ? s->site[i]->device->name : NULL;
}
