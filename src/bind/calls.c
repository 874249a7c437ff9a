/* The calls whose functions have not run, in the order in which they were made. */
#include "bind/queue.h"

/* A finished run makes the descriptor readable; once its results are taken, it must no longer be.
   It is cleared first, as another run may finish meanwhile. */
void jf_tell_due(lua_State *L, const jf_queue *q)
{
  jfl_session *s = q->watched ? jf_state_of(L)->session : NULL;
  if (!s) return;
  const jf_lrequest *next = q->head;
  while (next && next->behind && !jf_is_over(next)) next = next->next;
  jfl_session_due(s, 0);
  if (jf_has_errors(q) || (next && jf_is_over(next))) jfl_session_due(s, 1);
}

/* Pushes the last request before that number; the queue begins with an older one. */
static void push_before(lua_State *L, jf_queue *q, uint64_t number)
{
  if (q->tail->number < number) {
    jf_push_anchor(L, q, TAIL);
    return;
  }
  jf_push_anchor(L, q, HEAD);
  for (jf_lrequest *r = q->head; r->next && r->next->number < number; r = r->next) {
    jf_get_slot(L, -1, REQUEST_NEXT);
    lua_replace(L, -2);
  }
}

static void insert_first(lua_State *L, jf_queue *q, int i, jf_lrequest *r)
{
  if (q->head) {
    jf_push_anchor(L, q, HEAD);
    jf_set_slot(L, i, REQUEST_NEXT);
  }
  lua_pushvalue(L, i);
  jf_set_anchor(L, q, HEAD);
  r->next = q->head;
  q->head = r;
}

static void insert_after(lua_State *L, jf_queue *q, int i, jf_lrequest *r)
{
  push_before(L, q, r->number);
  int at = lua_gettop(L);
  jf_lrequest *before = lua_touserdata(L, at);
  jf_get_slot(L, at, REQUEST_NEXT);
  jf_set_slot(L, i, REQUEST_NEXT);
  lua_pushvalue(L, i);
  jf_set_slot(L, at, REQUEST_NEXT);
  lua_pop(L, 1);
  r->next = before->next;
  before->next = r;
}

void jf_enqueue(lua_State *L, int i)
{
  jf_queue *q = jf_queue_of(L);
  jf_lrequest *r = lua_touserdata(L, i);
  if (!r->number) r->number = ++q->calls;
  if (!q->head || r->number < q->head->number) insert_first(L, q, i, r);
  else insert_after(L, q, i, r);
  if (!r->next) {
    lua_pushvalue(L, i);
    jf_set_anchor(L, q, TAIL);
    q->tail = r;
  }
  r->queued = 1;
  q->length++;
  jf_tell_due(L, q);
}

void jf_dequeue(lua_State *L, jf_queue *q)
{
  jf_lrequest *r = q->head;
  if (r->next) {
    jf_push_anchor(L, q, HEAD);
    jf_get_slot(L, -1, REQUEST_NEXT);
    jf_set_anchor(L, q, HEAD);
    lua_pushboolean(L, 0);
    jf_set_slot(L, -2, REQUEST_NEXT);
    lua_pop(L, 1);
  } else {
    lua_pushboolean(L, 0);
    jf_set_anchor(L, q, HEAD);
    lua_pushboolean(L, 0);
    jf_set_anchor(L, q, TAIL);
    q->tail = NULL;
  }
  q->head = r->next;
  r->next = NULL;
  r->queued = 0;
  if (!--q->length) q->told_length = 0;
  jf_tell_due(L, q);
}

void jf_postpone(lua_State *L, jf_queue *q, uint64_t last)
{
  if (last > q->calls) last = q->calls;
  for (jf_lrequest *r = q->head; r && r->next && r->behind && r->number <= last && !jf_is_over(r);
       r = q->head) {
    jf_push_anchor(L, q, HEAD);
    jf_dequeue(L, q);
    r->number = 0;
    jf_enqueue(L, lua_gettop(L));
    lua_pop(L, 1);
  }
}

void jf_refuse(lua_State *L, int i)
{
  jf_lrequest *r = lua_touserdata(L, i);
  jf_keep_failure(L, i);
  r->number = ++jf_queue_of(L)->calls;
  r->told = 1;
}

void jf_wait_for_files(lua_State *L)
{
  for (const jf_lrequest *r = jf_queue_of(L)->head; r; r = r->next)
    if (r->behind && !jf_is_over(r)) jf_wait(L, jf_run_of(r), -1);
}

int jf_is_full(lua_State *L, const jf_lplan *p)
{
  int n = 0;
  if (p->width <= 0) return 0;
  for (const jf_lrequest *r = jf_queue_of(L)->head; r; r = r->next)
    n += r->plan->job == p->job && !jf_is_over(r);
  return n >= p->width;
}
