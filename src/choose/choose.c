/* Choosing the kernel for one call of an op. */
#include "choose/choose.h"

#include "dev/half.h"
#include "ir/halves.h"

#include <string.h>

static jfl_status run_nothing(const jf_kargs *k)
{
  (void)k;
  return JFL_OK;
}

/* The row of the highest priority below `below` that accepts the call, or NULL. */
static const jf_kernel_row *choose_next_row(const jf_device *dev, const jfl_op *op, int flags,
                                     const jf_kargs *k, int below)
{
  const jf_kernel_row *best = NULL;
  for (const jf_kernel_row *const *r = dev->kind->rows(); *r; r++) {
    if (((*r)->op && !jf_has_word((*r)->op, op->name)) || (*r)->priority >= below) continue;
    if ((flags & JF_DIRECT) && (*r)->indirect) continue;
    if (best && (*r)->priority <= best->priority) continue;
    if (!(*r)->accepts || (*r)->accepts(k)) best = *r;
  }
  return best;
}

/* Adds to out->refused that a row does not serve. */
static void choose_note(const jf_chooser *c, jf_choice *out, const jf_kernel_row *r,
                        const char *why)
{
  const char *before = out->refused;
  if (!c->tells) return;
  out->refused = jf_sprintf(c->arena, "%s%s%s: %s", before ? before : "", before ? "; " : "",
                            r->name, why);
}

/* Notes the rows for op between those of two priorities that were passed over. */
static void choose_note_between(const jf_chooser *c, const jf_device *dev, const jfl_op *op,
                                int below, int above, jf_choice *out)
{
  if (!c->tells) return;
  for (const jf_kernel_row *const *r = dev->kind->rows(); *r; r++) {
    if (!(*r)->op || !jf_has_word((*r)->op, op->name)) continue;
    if ((*r)->priority >= below || (*r)->priority <= above) continue;
    const int indirect = c->flags & JF_DIRECT && (*r)->indirect;
    choose_note(c, out, *r, indirect ? "only direct sums are wanted"
                                     : "it does not take such calls");
  }
}

/* Prepares row r for the call. If it turns out that the row cannot serve, out->run stays as it was,
   and where the chooser tells, the error says why. */
static jfl_status take_row(const jf_chooser *c, const jf_kernel_row *r, jf_kargs *k,
                           jf_choice *out)
{
  k->state = k->waits = NULL;
  k->scratch_size = 0;
  if (c->tells) jf_fail(JFL_ENOSYS, "it cannot be prepared for this call");
  jfl_status s = r->prepare ? r->prepare(k) : JFL_OK;
  if (!s) {
    *out = (jf_choice){ r->run, r, k->scratch_size, out->refused };
    return JFL_OK;
  }
  jf_free(k->waits);
  k->waits = NULL;
  return s == JFL_ENOSYS ? JFL_OK : s;
}

int jf_widens(const jfl_op *op, const jf_kargs *k)
{
  int any = 0;
  if (jf_has_halves(op, k->attr)) return 0;
  for (int i = 0; i < k->n_in; i++) any |= jf_is_half(k->in[i].dtype);
  for (int i = 0; i < k->n_out; i++) any |= jf_is_half(k->out[i].dtype);
  return any && jf_is_widened(op, jf_call_key(op, k));
}

static int choose_is_empty(const jf_tensor *t) { return jf_numel(&t->shape) == 0; }

/* Whether all outputs of the call are empty. */
static int has_no_result(const jfl_op *op, const jf_kargs *k)
{
  for (int i = 0; i < k->n_out; i++)
    if (!choose_is_empty(&k->out[i])) return 0;
  return k->n_out > 0 && !(op->flags & (JF_EFFECT | JF_TOGETHER));
}

static int has_empty_operand(const jf_kargs *k)
{
  for (int i = 0; i < k->n_in + k->n_out; i++)
    if (choose_is_empty(i < k->n_in ? &k->in[i] : &k->out[i - k->n_in])) return 1;
  return 0;
}

/* Whether rows of the device may serve the call. Rows that use libraries need not handle empty
   tensors; the plain kernel does, if there is one. Rows look at the dtype that is the key, so where
   only other tensors are of 16 bits, they would take them for what they are not. */
static int may_use_rows(const jf_device *dev, const jfl_op *op, int flags, const jf_kargs *k)
{
  if (!dev->kind->rows || (dev->kind->plain && flags & JF_REFERENCE)) return 0;
  if (jf_widens(op, k) && !jf_is_half(jf_call_key(op, k))) return 0;
  const int plain =
      dev->kind->plain && op->cpu && (op->cpu[jf_call_key(op, k)] || jf_widens(op, k));
  return !plain || !has_empty_operand(k);
}

/* Takes the first row that serves, if one does. */
static jfl_status choose_row(const jf_chooser *c, const jf_device *dev, const jfl_op *op,
                             jf_kargs *k, jf_choice *out)
{
  const jf_kernel_row *r = NULL;
  int below = INT32_MAX;
  while ((r = choose_next_row(dev, op, c->flags, k, below))) {
    choose_note_between(c, dev, op, below, r->priority, out);
    JF_TRY(take_row(c, r, k, out));
    if (out->run) return JFL_OK;
    choose_note(c, out, r, jfl_error_part(JFL_ERROR_TEXT));
    below = r->priority;
  }
  choose_note_between(c, dev, op, below, INT32_MIN, out);
  return JFL_OK;
}

static void choose_begin(const jf_chooser *c, const jf_device *dev, const jfl_op *op, jf_kargs *k)
{
  k->op = op;
  k->device = (jf_device *)dev;
  k->tf32 = c->flags & JF_TF32 && !(c->flags & JF_REFERENCE);
}

int jf_accepts(const jf_chooser *c, int place, const jfl_op *op, jf_kargs *k)
{
  const jf_device *dev = c->device[place];
  choose_begin(c, dev, op, k);
  return may_use_rows(dev, op, c->flags, k) && choose_next_row(dev, op, c->flags, k, INT32_MAX);
}

static jfl_status choose_anew(const jf_chooser *c, const jf_device *dev, const jfl_op *op,
                              jf_kargs *k, jf_choice *out)
{
  const int flags = c->flags;
  *out = (jf_choice){ .run = NULL };
  choose_begin(c, dev, op, k);
  if ((!dev->kind->rows && !dev->kind->plain) || has_no_result(op, k)) {
    *out = (jf_choice){ .run = run_nothing };
    return JFL_OK;
  }
  if (may_use_rows(dev, op, flags, k)) JF_TRY(choose_row(c, dev, op, k, out));
  const jfl_dtype key = jf_call_key(op, k);
  if (out->run || !dev->kind->plain || !op->cpu || !op->cpu[key] || jf_widens(op, k)) return JFL_OK;
  out->run = op->cpu[key];
  out->scratch = op->scratch ? op->scratch(k) : 0;
  return JFL_OK;
}

/* ---- calls that are the same ---- */

uint64_t jf_call_hash(const jfl_op *op, const jf_kargs *k)
{
  uint64_t h = jf_hash_str(0, op->name);
  for (int i = 0; i < k->n_in + k->n_out; i++) {
    const jf_tensor *t = i < k->n_in ? &k->in[i] : &k->out[i - k->n_in];
    h = jf_hash(jf_hash(h, &t->dtype, sizeof t->dtype), t->shape.d,
                (size_t)t->shape.n * sizeof *t->shape.d);
  }
  return h;
}

/* Whether a call with layout b would be prepared as one that has become a: what may have any layout
   has that of the row then. */
static int choose_may_lie(jf_layout_kind a, jf_layout_kind b)
{
  return a == b || (a == JF_LAYOUT_PACKED && b == JF_LAYOUT_ANY);
}

static int choose_are_alike(const jf_tensor *a, const jf_tensor *b, int n)
{
  for (int i = 0; i < n; i++)
    if (a[i].dtype != b[i].dtype || !choose_may_lie(a[i].layout.kind, b[i].layout.kind) ||
        !jf_shape_eq(&a[i].shape, &b[i].shape)) return 0;
  return 1;
}

int jf_is_call(const jf_kargs *prepared, const jfl_op *op, const jf_kargs *k)
{
  return prepared->op == op && prepared->n_in == k->n_in && prepared->n_out == k->n_out &&
         choose_are_alike(prepared->in, k->in, k->n_in) &&
         choose_are_alike(prepared->out, k->out, k->n_out) &&
         (!op->attr_size || jf_attr_same(op->attr, op->attr_size, prepared->attr, k->attr));
}

/* ---- answers that wait for who makes the call ---- */

typedef struct jf_awaited jf_awaited;
struct jf_awaited {
  jf_awaited *next;
  int place;
  jf_kargs k;                  /* the call, prepared; of its own, since passes change their nodes */
  jf_choice choice;
};

/* Where the chooser refers to its answer to a call, or would. */
static jf_awaited **answer_at(jf_chooser *c, int place, const jfl_op *op, const jf_kargs *k)
{
  jf_awaited **at = &c->answer[jf_call_hash(op, k) % JF_ANSWERS];
  while (*at && ((*at)->place != place || !jf_is_call(&(*at)->k, op, k))) at = &(*at)->next;
  return at;
}

static jf_tensor *answer_tensors(jf_arena *a, const jf_tensor *from, int n)
{
  jf_tensor *t = jf_alloc(a, (size_t)n * sizeof *t);
  for (int i = 0; i < n; i++) t[i] = from[i];
  return t;
}

static jf_awaited *answer_new(jf_arena *arena, int place, const jfl_op *op, const jf_kargs *k)
{
  jf_awaited *a = jf_alloc(arena, sizeof *a);
  *a = (jf_awaited){ .place = place, .k = *k };
  a->k.in = answer_tensors(arena, k->in, k->n_in);
  a->k.out = answer_tensors(arena, k->out, k->n_out);
  a->k.attr = jf_attr_copy(arena, op->attr, op->attr_size, k->attr);
  return a;
}

static jfl_status choose_call(const jf_chooser *c, int place, const jfl_op *op, jf_kargs *k,
                              jf_choice *out)
{
  const jf_device *dev = c->device[place];
  /* The most threads that a call on the device may have. */
  const int shares = dev->kind->host_memory && c->shares ? c->shares : 1;
  k->threads = jf_worth_threads(op, k, (c->threads + shares - 1) / shares);
  return choose_anew(c, dev, op, k, out);
}

jfl_status jf_choose_ahead(jf_chooser *c, int place, const jfl_op *op, const jf_kargs *k,
                           const jf_choice **out)
{
  jf_awaited **at = answer_at(c, place, op, k);
  if (!*at) {
    jf_awaited *a = answer_new(c->arena, place, op, k);
    JF_TRY(choose_call(c, place, op, &a->k, &a->choice));
    *at = a;
  }
  *out = &(*at)->choice;
  return JFL_OK;
}

jfl_status jf_choose(jf_chooser *c, int place, const jfl_op *op, jf_kargs *k, jf_choice *out)
{
  jf_awaited **at = answer_at(c, place, op, k), *a = *at;
  if (!a) return choose_call(c, place, op, k, out);
  *at = a->next;
  *out = a->choice;
  for (int i = 0; i < k->n_in; i++) k->in[i].layout = a->k.in[i].layout;
  a->k.in = k->in;
  a->k.out = k->out;
  a->k.step = k->step;
  *k = a->k;
  return JFL_OK;
}

void jf_choice_release(const jf_choice *choice, const jf_kargs *k)
{
  if (choice->row && choice->row->release && k->state) choice->row->release(k->state);
  jf_free(k->waits);
}

void jf_chooser_end(jf_chooser *c)
{
  for (int i = 0; i < JF_ANSWERS; i++) {
    for (const jf_awaited *a = c->answer[i]; a; a = a->next)
      jf_choice_release(&a->choice, &a->k);
    c->answer[i] = NULL;
  }
}

/* ---- making calls ready ---- */

/* Makes the first calls ready, up to one on a device of another kind; *done is how many. */
static jfl_status choose_make_ready(jf_kargs *const *k, int n, int threads, int *done, int *failed)
{
  jfl_status (*const ready)(jf_kargs *const *, int, int, int *) = k[0]->device->kind->ready;
  for (*done = 1; *done < n && k[*done]->device->kind->ready == ready;) ++*done;
  if (ready) JF_TRY(ready(k, *done, threads, failed));
  for (int i = 0; i < *done; i++) {
    jf_free(k[i]->waits);
    k[i]->waits = NULL;
  }
  return JFL_OK;
}

jfl_status jf_make_ready(jf_kargs *const *k, int n, int threads, int *failed)
{
  for (int i = 0, done; i < n; i += done) {
    const jfl_status s = choose_make_ready(k + i, n - i, threads, &done, failed);
    if (s) return *failed += i, s;
  }
  return JFL_OK;
}

jfl_status jf_fail_kernel(const jf_device *d, const jfl_op *op, const jf_kargs *k)
{
  return jf_fail(JFL_ENOSYS, "%s: device %s has no kernel for %s", op->name, d->name,
                 jfl_dtype_name(jf_call_key(op, k)));
}
