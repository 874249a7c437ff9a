/* Profiles: how long each step of the plans that ran took. */
#include "base/json.h"
#include "run/run.h"

#include <string.h>

/* The steps of one plan. The reference to its graph keeps the arena that plan and steps lie in. */
typedef struct account {
  const jfl_plan *plan;
  jfl_graph *graph;            /* counted */
  double *seconds;             /* of each step */
  int64_t runs;
  double waited;               /* for other ranks, besides the steps */
  int first;                   /* the row of its first step: the number of steps of those before */
} account;

/* worker: whether the step ran on the worker, not on the caller. */
typedef struct event {
  const jfl_graph *graph;
  const jf_step *step;
  int worker;
  double start, seconds;
} event;

struct jfl_profile {
  jf_tag tag;
  account *account; int n_account, cap_account;
  event *event; size_t n_event, max_event;
  double start, at;            /* at: when the last step ended */
};

jfl_profile *jf_profile_new(size_t max_events)
{
  jfl_profile *f = jf_new(sizeof *f);
  if (f) f->event = max_events < SIZE_MAX / sizeof *f->event
                      ? jf_new_raw(max_events * sizeof *f->event) : NULL;
  if (!f || !f->event) {
    jf_free(f);
    return NULL;
  }
  f->tag = JF_TAG_PROFILE;
  f->max_event = max_events;
  f->start = jf_now();
  return f;
}

void jfl_profile_free(jfl_profile *f)
{
  if (!JF_IS_LAST(PROFILE, f)) return;
  for (int i = 0; i < f->n_account; i++) {
    jf_free(f->account[i].seconds);
    jfl_graph_unref(f->account[i].graph);
  }
  jf_free(f->account);
  jf_free(f->event);
  jf_free(f);
}

static jfl_status run_profile_find(jfl_profile *f, jf_execution *e, account **out)
{
  const jfl_plan *p = e->plan;
  if (e->account < f->n_account && f->account[e->account].plan == p)
    return *out = &f->account[e->account], JFL_OK;
  if (!JF_ROOM(f->account, f->n_account, f->cap_account))
    return jf_fail(JFL_ENOMEM, "out of memory");
  account a = { p, p->graph, jf_new((size_t)p->n_step * sizeof *a.seconds), 0, 0,
                jfl_profile_count(f) };
  if (!a.seconds) return jf_fail(JFL_ENOMEM, "out of memory");
  jfl_graph_ref(p->graph);
  f->account[f->n_account] = a;
  *out = &f->account[e->account = f->n_account++];
  return JFL_OK;
}

jfl_status jf_profile_begin(jfl_profile *f, jf_execution *e)
{
  account *a;
  JF_TRY(run_profile_find(f, e, &a));
  f->at = jf_now();
  return JFL_OK;
}

/* The seconds since this was last asked. */
static double profile_lap(jfl_profile *f)
{
  const double before = f->at;
  f->at = jf_now();
  return f->at - before;
}

static jfl_status profile_after(jf_execution *e, int step)
{
  jfl_profile *f = e->session->profile;
  const jfl_plan *p = e->plan;
  const double start = f->at;
  if (p->is_async) JF_TRY(jf_async_finish_step(e, step));
  const double seconds = profile_lap(f);
  f->account[e->account].seconds[step] += seconds;
  if (f->n_event < f->max_event)
    f->event[f->n_event++] = (event){ p->graph, &p->step[step],
                                      e->session->current != NULL, start - f->start, seconds };
  return JFL_OK;
}

const jf_observer jf_watch_profile = { .after = profile_after };

void jf_profile_ready(jfl_profile *f) { f->at = jf_now(); }

void jf_profile_waited(jfl_profile *f, const jf_execution *e)
{
  f->account[e->account].waited += profile_lap(f);
}

void jf_profile_end(jfl_profile *f, const jf_execution *e) { f->account[e->account].runs++; }

jfl_status jfl_profile_waiting(const jfl_profile *p, double *computing, double *waiting)
{
  JF_NEED(PROFILE, p);
  JF_NEED_POINTERS(computing, waiting);
  *computing = *waiting = 0;
  for (int i = 0; i < p->n_account; i++) {
    const account *a = &p->account[i];
    if (!a->plan->is_shared) continue;
    *waiting += a->waited;
    for (int s = 0; s < a->plan->n_step; s++)
      *(a->plan->step[s].node->op->flags & JF_TOGETHER ? waiting : computing) += a->seconds[s];
  }
  return JFL_OK;
}

int jfl_profile_count(const jfl_profile *p)
{
  if (!JF_IS(PROFILE, p) || !p->n_account) return 0;
  const account *last = &p->account[p->n_account - 1];
  return last->first + last->plan->n_step;
}

/* The account that has a row. */
static const account *account_of(const jfl_profile *p, int row)
{
  const account *a = p->account;
  for (int n = p->n_account; n > 1;) {
    const int half = n / 2;
    if (a[half].first <= row) a += half, n -= half;
    else n = half;
  }
  return a;
}

jfl_status jfl_profile_at(const jfl_profile *p, int i, jfl_profile_row *out)
{
  JF_NEED(PROFILE, p);
  JF_NEED_BELOW(i, jfl_profile_count(p));
  JF_NEED_POINTER(out);
  const account *a = account_of(p, i);
  const jf_step *st = &a->plan->step[i -= a->first];
  const jfl_op *op = st->node->op;
  *out = (jfl_profile_row){
    .job = a->graph->name, .op = jf_node_title(st->node), .name = st->node->name,
    .kernel = jf_step_kernel(st), .serves = st->node->source.serves,
    .seconds = a->seconds[i], .runs = a->runs, .flop = op->flop ? op->flop(&st->k) : 0,
    .bytes = jf_call_bytes(&st->k), .device = a->plan->part[st->place].name,
  };
  return JFL_OK;
}

const char *jfl_profile_line(const jfl_profile *p, int i)
{
  if (!JF_IS(PROFILE, p) || i < 0 || i >= jfl_profile_count(p)) return NULL;
  const account *a = account_of(p, i);
  return a->plan->step[i - a->first].node->source.line;
}

/* The rows of the trace: what Perfetto calls threads. */
enum { CALLER = 1, WORKER = 2 };

static void add_track(jf_text *t, int tid, const char *name)
{
  jf_text_add(t, ",\n{\"ph\":\"M\",\"pid\":1,\"tid\":%d,\"name\":\"thread_name\",\"args\":"
              "{\"name\":\"%s\"}}", tid, name);
}

static void add_head(jf_text *t)
{
  jf_text_add(t, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n"
              "{\"ph\":\"M\",\"pid\":1,\"name\":\"process_name\",\"args\":{\"name\":\"jfl\"}}");
  add_track(t, CALLER, "calls");
  add_track(t, WORKER, "worker");
}

static void add_event(jf_text *t, const event *e)
{
  const jf_node *n = e->step->node;
  jf_text_add(t, ",\n{\"ph\":\"X\",\"pid\":1,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":",
              e->worker ? WORKER : CALLER, e->start * 1e6, e->seconds * 1e6);
  jf_json_put(t, n->name);
  jf_text_add(t, ",\"cat\":");
  jf_json_put(t, jf_node_title(n));
  jf_text_add(t, ",\"args\":{\"job\":");
  jf_json_put(t, e->graph->name);
  if (n->source.serves) {
    jf_text_add(t, ",\"serves\":");
    jf_json_put(t, n->source.serves);
  }
  if (n->source.line) {
    jf_text_add(t, ",\"line\":");
    jf_json_put(t, n->source.line);
  }
  jf_text_add(t, ",\"kernel\":\"%s\",\"threads\":%d,\"flop\":%.0f,\"bytes\":%.0f}}",
              jf_step_kernel(e->step), e->step->k.threads,
              n->op->flop ? n->op->flop(&e->step->k) : 0, jf_call_bytes(&e->step->k));
}

enum { PIECE = 64 << 10 };         /* bytes that are handed on at once */

/* Hands on what t holds and empties it, where that is more than so many bytes. */
static jfl_status flush(jf_text *t, size_t least, jf_put put, void *to)
{
  if (t->failed) return jf_fail(JFL_ENOMEM, "out of memory");
  if (t->n <= least) return JFL_OK;
  const size_t n = t->n;
  t->n = 0;
  return put(to, t->s, n);
}

jfl_status jf_profile_tell(const jfl_profile *p, jf_put put, void *to)
{
  jf_text t = {0};
  jfl_status r = JFL_OK;
  add_head(&t);
  for (size_t i = 0; i < p->n_event && r == JFL_OK; i++) {
    add_event(&t, &p->event[i]);
    r = flush(&t, PIECE, put, to);
  }
  jf_text_add(&t, "\n]}\n");
  if (r == JFL_OK) r = flush(&t, 0, put, to);
  jfl_text_free(t.s);
  return r;
}

jfl_status jfl_machine_peak(int threads, double *flop, double *bytes)
{
  JF_NEED_FROM(threads, 1, JF_MAX_THREADS);
  JF_NEED_POINTERS(flop, bytes);
  jf_host()->kind->peak(threads, flop, bytes);
  return JFL_OK;
}
