/* Ops that run at once: finding what serves a call, keeping it for the next one like it, and making
   the call with operands in host memory, on any device. */
#include "run/run.h"

enum { CALL_ALIGN = 64 };

static size_t call_round(size_t size) { return (size + CALL_ALIGN - 1) / CALL_ALIGN * CALL_ALIGN; }

/* A call whose tensors are in one block of the device's memory. */
typedef struct call_away {
  jf_site *site;
  jf_kargs k;
  const jf_kargs *host;        /* where they are in host memory */
  char *block;
} call_away;

/* Queues the copies, the kernel between them, and the record of what it finds wrong. */
static jfl_status call_queue(call_away *c, jf_kernel run)
{
  /* what passes would ask about the call */
  const jf_node node = { .op = c->k.op, .attr = (void *)c->k.attr, .n_in = c->k.n_in };
  jf_device *d = c->site->device;
  void *stream = c->site->stream;
  JF_TRY(jf_site_begin(c->site, c->site->record, c->k.random.run));
  for (int i = 0; i < c->k.n_in; i++)
    JF_TRY(d->kind->put(d, stream, c->k.in[i].data, c->host->in[i].data, JF_BYTES_OF(&c->k.in[i])));
  JF_TRY(jf_loops_whole(d->kind->launch ? d->kind->launch(d, stream, run, &c->k)
                                        : jf_kernel_run(run, &c->k)));
  for (int i = 0; i < c->k.n_in; i++)
    if (jf_mutates(&node, i))
      JF_TRY(d->kind->get(d, stream, c->host->in[i].data, c->k.in[i].data,
                          JF_BYTES_OF(&c->k.in[i])));
  for (int i = 0; i < c->k.n_out; i++)
    JF_TRY(d->kind->get(d, stream, c->host->out[i].data, c->k.out[i].data,
                        JF_BYTES_OF(&c->k.out[i])));
  return JFL_OK;
}

/* Points the tensors and the scratch into the block. */
static void call_lay_out(call_away *c, size_t scratch)
{
  char *at = c->block;
  for (int i = 0; i < c->k.n_in + c->k.n_out; i++) {
    jf_tensor *t = i < c->k.n_in ? &c->k.in[i] : &c->k.out[i - c->k.n_in];
    t->data = at;
    at += call_round(JF_BYTES_OF(t));
  }
  c->k.scratch = scratch ? at : NULL;
  c->k.stream = c->site->stream;
  c->k.fault = &c->site->record->fault;
}

/* Memory for the operands of a call: a block that the site keeps for the next one, or a large one
   for this call alone. */
static jfl_status call_take(jf_site *t, size_t size, void **out)
{
  enum { LEAST = 1 << 16, MOST = 1 << 26 };
  const char *what = "the operands of the op";
  if (size > MOST) return jf_device_take(t->device, size, what, NULL, out);
  if (size > t->block_size || !t->block) {
    size_t room = LEAST;
    while (room < size) room *= 2;
    void *block;
    JF_TRY(jf_device_take(t->device, room, what, NULL, &block));
    t->device->kind->free(t->device, t->block);
    t->block = block;
    t->block_size = room;
  }
  *out = t->block;
  return JFL_OK;
}

static jfl_status call_run_away(jf_site *site, const jf_ready *r)
{
  const jf_kargs *k = &r->k;
  call_away c = { .site = site, .k = *k, .host = k };
  jf_device *d = site->device;
  size_t size = r->choice.scratch, n = (size_t)(k->n_in + k->n_out);
  jf_tensor *t = jf_new_raw(n * sizeof *t);
  if (!t) return jf_fail(JFL_ENOMEM, "out of memory");
  for (size_t i = 0; i < n; i++) {
    t[i] = i < (size_t)k->n_in ? k->in[i] : k->out[i - (size_t)k->n_in];
    size += call_round(JF_BYTES_OF(&t[i]));
  }
  c.k.in = t;
  c.k.out = t + k->n_in;
  void *block = NULL;
  jfl_status s = call_take(site, size, &block);
  c.block = block;
  if (!s) {
    call_lay_out(&c, r->choice.scratch);
    s = call_queue(&c, r->choice.run);
    jfl_status done = jf_site_settle(site, site->record);
    if (!s) s = done;
  }
  if (c.block != site->block) d->kind->free(d, c.block);
  jf_free(t);
  return s;
}

jfl_status jf_ready_run(jfl_session *s, const jf_ready *r)
{
  jf_site *site = jf_session_own_site(s);
  if (!site->device->kind->host) return call_run_away(site, r);
  jf_kargs here = r->k;
  JF_TRY(jf_time_for(r->work / r->threads));
  here.scratch = jf_new_raw(r->choice.scratch);
  if (!here.scratch) return jf_fail(JFL_ENOMEM, "out of memory");
  const jfl_status st = jf_loops_whole(jf_kernel_run(r->choice.run, &here));
  jf_free(here.scratch);
  return st;
}

/* ---- what serves a call ---- */

static void ready_drop(jf_ready **at)
{
  jf_ready *r = *at;
  if (!r) return;
  *at = NULL;
  jf_choice_release(&r->choice, &r->k);
  jfl_graph_unref(r->graph);
}

void jf_ready_free(jfl_session *s)
{
  for (int i = 0; i < JF_READY; i++) ready_drop(&s->ready[i]);
}

/* Makes an answer for the call in g's arena, whose other contents stay with it. */
static jfl_status ready_make(jf_chooser *c, jfl_graph *g, const jfl_op *op, const jf_kargs *k,
                             jf_ready **out)
{
  jf_ready *r = jf_alloc(g->arena, sizeof *r);
  int failed;
  *r = (jf_ready){ .graph = g, .device = c->device[0], .flags = c->flags, .threads = c->threads,
                   .k = *k, .work = jf_work(op, k) };
  JF_TRY(jf_choose(c, 0, op, &r->k, &r->choice));
  const jfl_status s = jf_make_ready((jf_kargs *[]){ &r->k }, 1, c->threads, &failed);
  if (s) {
    jf_choice_release(&r->choice, &r->k);
    return s;
  }
  jfl_graph_ref(g);
  *out = r;
  return JFL_OK;
}

/* An array among the attributes is told by its address, and read when the call runs: what is kept
   for one that is gone serves no call. */
static int ready_serves(const jf_ready *r, const jf_chooser *c, const jfl_op *op,
                        const jf_kargs *k)
{
  return r && r->device == c->device[0] && r->flags == c->flags && r->threads == c->threads &&
         jf_is_call(&r->k, op, k);
}

jfl_status jf_ready_for(jfl_session *s, jfl_graph *g, const jfl_op *op, const jf_kargs *k,
                        jf_ready **out)
{
  jf_device *device = jf_session_own_site(s)->device;
  jf_chooser c = { .device = &device, .n_device = 1, .threads = s->settings.threads,
                   .flags = s->settings.kernels | s->settings.tf32, .arena = g->arena };
  jf_ready **at = &s->ready[jf_call_hash(op, k) % JF_READY];
  if (!ready_serves(*at, &c, op, k)) {
    ready_drop(at);
    JF_TRY(ready_make(&c, g, op, k, at));
  }
  *out = *at;
  return JFL_OK;
}
